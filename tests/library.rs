//! The library: its functions against recorded figures, the examples in its comments, and its reference pages.
//!
//! Figures: `library/<name>.sac` reports results line by line, `<name>.ref` holds
//! the references with their tolerances, written by `<name>.py` from NumPy, SciPy and PyTorch.
//!
//! How both are written is said in `src/figures.rs`. Every program runs in all ways that the golden programs run.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::figures;
use ravel_tests::ways::{self, Way};
use ravel_tests::{Arguments, Failed, Trial, files_below, finish, ravel, repository, test_name};

/// Programs of so many kernels that a processor's OpenCL compiles them for minutes: they run on a device if `RAVEL_MANY_KERNELS` is set.
const MANY_KERNELS: [&str; 30] = [
    "arrays-contract",
    "arrays-search",
    "complex",
    "linalg-eigen",
    "linalg-factor",
    "linalg-krylov",
    "linalg-more",
    "linalg-product",
    "linalg-scales",
    "linalg-schur",
    "linalg-sparse",
    "linalg-views",
    "nn-attention",
    "nn-layers",
    "nn-norm",
    "nn-recurrent",
    "numerical-curves",
    "numerical-polynomial",
    "parprop-networks",
    "parprop-systems",
    "signal-convolve",
    "signal-filters",
    "signal-fourier",
    "signal-gradients",
    "signal-spectra",
    "signal-wavelets",
    "stats-distributions",
    "stats-glm",
    "stats-models",
    "stats-tests",
];

/// Programs of so many elements that the interpreter takes ten seconds and more: it runs them if `RAVEL_MANY_ELEMENTS` is set.
const MANY_ELEMENTS: [&str; 5] = ["arrays-sort-long", "linalg-eigen", "linalg-factor", "linalg-views", "sampling"];

fn run(source: &Path, way: Way) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    // Files that the scripts of references made, for programs that read some.
    std::os::unix::fs::symlink(repository().join("tests/library/files"), folder.path().join("files"))?;
    let mut command = way.command(source, Vec::new(), folder.path())?;
    let run = finish(command.current_dir(folder.path()), b"")?;
    if run.status != 0 {
        return Err(run.describe().into());
    }
    let references = fs::read_to_string(source.with_extension("ref"))?;
    figures::compare(&run.stdout, &references, matches!(way, Way::Device))
}

/// Runs the examples in the comments of a module.
fn examples(module: &str) -> Result<(), Failed> {
    let made = finish(Command::new(ravel()).args(["doc", "--examples", module]), b"")?;
    if made.status != 0 {
        return if made.stderr.contains("there are no examples") { Ok(()) } else { Err(made.describe().into()) };
    }
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("examples.sac");
    fs::write(&program, made.stdout)?;
    let run = finish(Command::new(ravel()).arg("run").arg(&program), b"")?;
    if run.status == 0 { Ok(()) } else { Err(run.describe().into()) }
}

/// The pages in docs/library are those that `ravel doc` makes.
fn pages() -> Result<(), Failed> {
    let check =
        finish(Command::new(ravel()).args(["doc", "--check", "-o"]).arg(repository().join("docs/library")), b"")?;
    if check.status == 0 { Ok(()) } else { Err(check.describe().into()) }
}

/// The Python to ask, `RAVEL_PYTHON` or `python3`, if it has NumPy and Pillow.
fn python() -> Option<Command> {
    let name = std::env::var_os("RAVEL_PYTHON").unwrap_or_else(|| "python3".into());
    let found = Command::new(&name).args(["-c", "import numpy, PIL"]).output();
    found.is_ok_and(|answer| answer.status.success()).then(|| Command::new(name))
}

/// What a program writes is read by others.
fn read_by_others(mut python: Command, way: Way) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let library = repository().join("tests/library");
    let mut command = way.command(&library.join("written.sac"), Vec::new(), folder.path())?;
    let run = finish(command.current_dir(folder.path()), b"")?;
    if run.status != 0 {
        return Err(run.describe().into());
    }
    let run = finish(python.arg(library.join("written.py")).arg(folder.path()), b"")?;
    if run.status == 0 { Ok(()) } else { Err(run.describe().into()) }
}

fn main() -> ExitCode {
    let folder = repository().join("tests/library");
    let mut trials = vec![Trial::test("pages are up to date", pages)];
    for page in files_below(&repository().join("docs/library"), "md") {
        let module = page.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
        if module != "index" {
            trials.push(Trial::test(format!("examples of {module}"), move || examples(&module)));
        }
    }
    if python().is_some() {
        for (label, way) in ways::all() {
            let check = move || read_by_others(python().ok_or("Python has gone")?, way);
            trials.push(Trial::test(format!("written [{label}]"), check));
        }
    }
    for reference in files_below(&folder, "ref") {
        for (label, way) in ways::few() {
            let source = reference.with_extension("sac");
            let (slow, variable) = match way {
                Way::Device => (&MANY_KERNELS[..], "RAVEL_MANY_KERNELS"),
                Way::Interpreter => (&MANY_ELEMENTS[..], "RAVEL_MANY_ELEMENTS"),
                _ => (&[][..], ""),
            };
            let is_slow = slow.iter().any(|name| source.ends_with(format!("{name}.sac")));
            if is_slow && std::env::var_os(variable).is_none() {
                continue;
            }
            let name = format!("{} [{label}]", test_name(&folder, &reference));
            trials.push(Trial::test(name, move || run(&source, way)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
