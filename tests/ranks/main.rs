//! Programs on several ranks do what they do in one process: the same bytes, the same status, the same message, once.
//!
//! Needs `mpirun` of Open MPI; without it, the tests are left out, but for those of ranks that the interpreter simulates. `RAVEL_TEST_RANKS=all` runs all golden programs on 1, 2, 3 and 4 ranks, not a choice of them on
//! 3, and `RAVEL_TEST_RANKS=all-mpich` does so by MPICH, which starts in two thirds of the time.

mod bits;
mod endings;
mod golden;
mod large;
mod mpich;
mod oracle;

use std::process::ExitCode;

use ravel_tests::ranks::Launcher;
use ravel_tests::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let launchers = Launcher::all();
    let mut trials: Vec<Trial> = Vec::new();
    if launchers.contains(&Launcher::OpenMpi) {
        trials.extend(bits::trials());
        trials.extend(endings::trials(&launchers));
        trials.extend(golden::trials(&launchers));
        trials.extend(large::trials());
    } else if !arguments.list {
        eprintln!("mpirun is not installed: the tests of ranks are left out (Debian: apt-get install openmpi-bin)");
    }
    trials.extend(oracle::trials());
    if launchers.contains(&Launcher::Mpich) {
        trials.extend(mpich::trials());
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
