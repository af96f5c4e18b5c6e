//! Derivatives against recorded figures of JAX: `gradients/<name>.sac` reports values and gradients, `<name>.ref` holds the references with their
//! tolerances, written by `<name>.py`. Every program runs in all ways that the golden programs run: the interpreter has dual numbers, the
//! others what the pass `differentiate` makes.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use ravel_tests::ways::{self, Way};
use ravel_tests::{Arguments, Failed, Trial, figures, files_below, finish, repository, test_name};

/// Programs of so few kernels that a processor's OpenCL has them after some seconds; with `RAVEL_MANY_KERNELS` set, a device runs all.
const FEW_KERNELS: [&str; 8] =
    ["bodies", "constants", "hessians", "newton", "products", "ranks", "scalar-singular", "sum-prod"];

fn run(source: &Path, way: Way) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    // The module `Cases`, from which inputs come.
    let modules = repository().join("tests/library").to_string_lossy().into_owned();
    let mut command = way.command(source, ["-I".to_string(), modules], folder.path())?;
    let run = finish(command.current_dir(folder.path()), b"")?;
    if run.status != 0 {
        return Err(run.describe().into());
    }
    let references = fs::read_to_string(source.with_extension("ref"))?;
    figures::compare(&run.stdout, &references, matches!(way, Way::Device))
}

fn main() -> ExitCode {
    let folder = repository().join("tests/gradients");
    let mut trials = Vec::new();
    for reference in files_below(&folder, "ref") {
        let name = test_name(&folder, &reference);
        let is_long = !FEW_KERNELS.contains(&name.as_str()) && std::env::var_os("RAVEL_MANY_KERNELS").is_none();
        for (label, way) in ways::all() {
            if is_long && matches!(way, Way::Device) {
                continue;
            }
            let source = reference.with_extension("sac");
            trials.push(Trial::test(format!("{name} [{label}]"), move || run(&source, way)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
