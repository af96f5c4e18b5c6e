//! Two ranks by MPICH, whose constants and handles differ from Open MPI's. It polls busily where ranks outnumber cores, so that is all.

use std::fs;

use ravel_tests::ranks::{self, Launcher};
use ravel_tests::ways::{Way, of_processor};
use ravel_tests::{Failed, Trial, repository};

fn two_ranks() -> Result<(), Failed> {
    let built = tempfile::tempdir()?;
    let backend = of_processor().first().copied().unwrap_or("cranelift");
    for name in ["types", "folds"] {
        let source = repository().join("tests/ranks").join(name).with_extension("sac");
        let alone = ravel_tests::finish(&mut Way::Executable { backend }.command(&source, [], built.path())?, b"")?;
        let run = ranks::finish(&mut Launcher::Mpich.command(2, &built.path().join("program")), b"", built.path())?;
        if run.stdout != alone.stdout || run.stderr != alone.stderr || run.status != alone.status {
            return Err(format!("{name}, alone: {}--- on ranks: {}", alone.describe(), run.describe()).into());
        }
    }
    Ok(())
}

/// A fault comes once, with its status.
fn a_fault() -> Result<(), Failed> {
    let built = tempfile::tempdir()?;
    let source = built.path().join("fault.sac");
    fs::write(
        &source,
        "use StdIO: all; use Array: all; use Hiding: all;
         int main() { a = iota(hideValue(10)); printf(\"before %d\\n\", a[3]); x = a[sum(a)]; printf(\"%d\\n\", x); return 0; }\n",
    )?;
    let backend = of_processor().first().copied().unwrap_or("cranelift");
    let alone = ravel_tests::finish(&mut Way::Executable { backend }.command(&source, [], built.path())?, b"")?;
    let run = ranks::finish(&mut Launcher::Mpich.command(2, &built.path().join("program")), b"", built.path())?;
    if run.stdout != alone.stdout || run.stderr != alone.stderr || run.status != alone.status || run.status != 1 {
        return Err(format!("alone: {}--- on ranks: {}", alone.describe(), run.describe()).into());
    }
    Ok(())
}

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("mpich/two-ranks", two_ranks), Trial::test("mpich/a-fault", a_fault)]
}
