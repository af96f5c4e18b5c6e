//! Derivatives against recorded figures of JAX: `gradients/<name>.sac` reports values and gradients, `<name>.ref` holds the references with their
//! tolerances, written by `<name>.py`. Every program runs on every backend: the interpreter has dual numbers, the others what the pass `differentiate`
//! makes.

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

/// A rule that is right in its first parameter and wrong in its second.
const RULES: &str = "\
use Array: all;
use AutoDiff: all;
use StdIO: all;
double[n] scaled(double[n] x, double by) { return x * by; }
#pragma derivative scaled_back
double[n], double scaled_back(double[n] x, double by, double[n] y, double[n] s) { return (s * by, sum(s)); }
int main()
{
    x = [1d, 2d, 3d];
    by = 2d;
    print(vjp(scaled(x, by), [x], x));
    gx, gb = vjp(scaled(x, by), [x, by], x);
    print(gx);
    print(gb);
    print(jvp(scaled(x, by), [x], x));
    return 0;
}
";

/// `--check-grad` says which derivative is wrong and which are right, wherever the program runs.
fn wrong_rules(way: Way) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("rules.sac");
    let run = |text: &str| -> Result<_, Failed> {
        fs::write(&source, text)?;
        let mut command = way.command(&source, ["--check-grad".to_string()], folder.path())?;
        finish(command.current_dir(folder.path()), b"")
    };
    let wrong = run(RULES)?;
    let lines: Vec<&str> = wrong.stderr.lines().collect();
    let of_place = |place: &str| lines.iter().filter(|line| line.contains(place)).copied().collect::<Vec<_>>();
    let told = matches!(of_place("rules.sac:12:14:")[..], [first, last]
        if first.contains("is off by") && last.contains("WRONG, off by"));
    let others = ["rules.sac:11:11:", "rules.sac:15:11:"];
    let agree = others.iter().all(|place| matches!(of_place(place)[..], [line] if line.contains("agrees")));
    if wrong.status != 1 || !told || !agree {
        return Err(wrong.describe().into());
    }
    let right = run(&RULES.replace("sum(s))", "sum(s * x))"))?;
    match right.status == 0 && !right.stderr.contains("off") {
        true => Ok(()),
        false => Err(right.describe().into()),
    }
}

/// A loop over arrays, whose pragma is to come.
const LOOP: &str = "\
use Array: all;
use MathArray: all;
use AutoDiff: all;
use StdIO: all;
double[n] turned(double[n] x, int steps)
{
    for (t = 0; t < steps; t++) { x = sin(x) + x; }
    return x;
}
int main() { x = [0.1, 0.2] ++ genarray([998], 0.3); print(sum(grad(sum(turned(x, 900)), x))); return 0; }
";

/// A loop that keeps 30 states of 900 needs a tenth of the memory, and gives the same numbers.
fn checkpoints_keep_little(way: Way) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("loop.sac");
    let run = |pragma: &str| -> Result<_, Failed> {
        fs::write(&source, LOOP.replace("int main", &format!("{pragma}\nint main")))?;
        let run = finish(&mut way.command(&source, ["--stats".to_string()], folder.path())?, b"")?;
        let peak = run.stderr.split_once("peak ").and_then(|(_, rest)| rest.split_once(' '));
        let peak = peak.and_then(|(bytes, _)| bytes.parse::<u64>().ok());
        Ok((run.stdout.clone(), peak.ok_or_else(|| run.describe())?))
    };
    let (all, few) = (run("")?, run("#pragma checkpoint 30")?);
    match all.0 == few.0 && few.1 * 10 < all.1 {
        true => Ok(()),
        false => Err(format!("{all:?}, with the pragma {few:?}").into()),
    }
}

fn main() -> ExitCode {
    let folder = repository().join("tests/gradients");
    let mut trials = Vec::new();
    for reference in files_below(&folder, "ref") {
        let name = test_name(&folder, &reference);
        let is_long = !FEW_KERNELS.contains(&name.as_str()) && std::env::var_os("RAVEL_MANY_KERNELS").is_none();
        for (label, way) in ways::few() {
            if is_long && matches!(way, Way::Device) {
                continue;
            }
            let source = reference.with_extension("sac");
            trials.push(Trial::test(format!("{name} [{label}]"), move || run(&source, way)));
        }
    }
    for (label, way) in ways::all() {
        if !matches!(way, Way::Executable { .. } | Way::Device) {
            trials.push(Trial::test(format!("wrong rules are found [{label}]"), move || wrong_rules(way)));
        }
        if matches!(way, Way::Jit { .. }) {
            trials
                .push(Trial::test(format!("checkpoints keep little [{label}]"), move || checkpoints_keep_little(way)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
