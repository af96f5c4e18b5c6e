//! The examples do what they say, and so do the commands of the README.

use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::ranks::{self, Launcher};
use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, ravel, repository, test_name};

/// One training run of `examples/mnist/zhang.sac` and `examples/digits/digits.sac`, and what PyTorch computes for it in single precision.
#[derive(Clone, Copy)]
struct Reference {
    name: &'static str,
    arguments: &'static str,
    /// The same run of `digits.sac`.
    digits: &'static str,
    epoch_errors: &'static [f64],
    /// Relative; single precision with another order of additions stays far below it.
    tolerance: f64,
    /// Norms of k1, b1, k2, b2, fc, b at the end; empty where rounding is amplified too much to compare.
    norms: &'static [f64],
    /// Correct ones of the 10,000 test images at the end.
    correct: Option<i64>,
}

const REFERENCES: [Reference; 3] = [
    Reference {
        name: "paper",
        arguments: "",
        digits: "-raw -equal -b 100 -r 0.05 -e 10",
        epoch_errors: PAPER,
        tolerance: 1e-6,
        norms: &[0.490154, 0.406982, 0.397427, 0.297051, 0.673704, 0.228765],
        correct: Some(1135),
    },
    Reference {
        name: "paper at rate 0.5",
        arguments: "-r 0.5 -e 7",
        digits: "-raw -equal -b 100 -r 0.5 -e 7",
        epoch_errors: PAPER_RATE_HALF,
        tolerance: 1e-5,
        norms: &[],
        correct: None,
    },
    Reference {
        name: "seeded",
        arguments: "-seeded -scaled -b 20 -r 2 -e 6 -test",
        digits: "",
        epoch_errors: SEEDED,
        tolerance: 1e-4,
        norms: &[8.025_619, 3.505_356, 12.092_070, 0.373_758, 17.981_006, 1.987_471],
        correct: Some(9269),
    },
];

const PAPER: &[f64] = &[
    0.490_289_299,
    0.449_844_798,
    0.449_802_479,
    0.449_759_871,
    0.449_716_837,
    0.449_673_238,
    0.449_628_931,
    0.449_583_772,
    0.449_537_615,
    0.449_490_313,
];
const PAPER_RATE_HALF: &[f64] =
    &[0.468_196_340, 0.449_771_734, 0.449_304_643, 0.448_560_841, 0.447_169_358, 0.443_753_995, 0.418_631_070];
const SEEDED: &[f64] = &[0.460_724_788, 0.450_144_976, 0.268_006_664, 0.107_789_117, 0.087_121_513, 0.073_180_670];

fn train(program: &str, arguments: &str, reference: &Reference) -> Result<(), Failed> {
    let arguments = arguments.split_whitespace();
    let run = in_repository(&mut Command::new(ravel()), ["run", program].into_iter().chain(arguments))?;
    let numbers = |marker: &str| -> Vec<f64> {
        let lines = run.stdout.lines().filter(|line| line.contains(marker));
        lines.filter_map(|line| number_after(line, marker)).collect()
    };
    let errors: Vec<f64> =
        run.stdout.lines().filter(|l| l.starts_with("epoch")).filter_map(|l| number_after(l, "error ")).collect();
    close("epoch errors", &errors, reference.epoch_errors, reference.tolerance, &run)?;
    if !reference.norms.is_empty() {
        let norms: Vec<f64> =
            ["k1 ", "b1 ", "k2 ", "b2 ", "fc ", " b "].iter().flat_map(|marker| numbers(marker)).collect();
        close("norms", &norms, reference.norms, 1e-4, &run)?;
    }
    if let Some(correct) = reference.correct {
        let found = numbers("test: ");
        // A digit on the border between two answers may fall to either side.
        if found.len() != 1 || (found[0] - correct as f64).abs() > 5.0 {
            return Err(format!("expected {correct} correct test images: {}", run.describe()).into());
        }
    }
    Ok(())
}

fn number_after(line: &str, marker: &str) -> Option<f64> {
    let rest = &line[line.find(marker)? + marker.len()..];
    let end = rest.find([' ', ',', '%']).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn close(what: &str, found: &[f64], expected: &[f64], tolerance: f64, run: &Finished) -> Result<(), Failed> {
    let near = |(f, e): (&f64, &f64)| (f - e).abs() <= tolerance * e.abs();
    if found.len() == expected.len() && found.iter().zip(expected).all(near) {
        Ok(())
    } else {
        Err(format!("{what} {found:?} are not {expected:?}: {}", run.describe()).into())
    }
}

fn in_repository<'a>(command: &mut Command, arguments: impl IntoIterator<Item = &'a str>) -> Result<Finished, Failed> {
    let run = finish(command.args(arguments).current_dir(repository()), b"")?;
    if run.status == 0 { Ok(run) } else { Err(run.describe().into()) }
}

/// The `ravel` command lines of the README, without what runs them from a checkout.
fn readme_commands() -> Vec<String> {
    let text = std::fs::read_to_string(repository().join("README.md")).expect("the README is readable");
    text.lines().filter_map(|line| line.strip_prefix("cargo run --release -- ")).map(String::from).collect()
}

/// The lines of the README that are about some `program.sac`, or nothing, without what needs a device or waits for input, or ranks where
/// no launcher is installed.
fn readme_lines() -> Vec<String> {
    let text = std::fs::read_to_string(repository().join("README.md")).expect("the README is readable");
    let command = |line: &str| {
        let command = line.strip_prefix("ravel ")?.split('#').next()?.trim();
        let alone = ["doc ", "explain ", "-e ", "doctor", "new "].iter().any(|start| command.starts_with(start));
        let is_tried = alone || command.contains("program.sac") && !command.contains("opencl");
        let is_tried = is_tried && (!command.contains("--ranks") || !Launcher::all().is_empty());
        is_tried.then(|| command.to_string())
    };
    text.lines().filter_map(command).collect()
}

/// Runs such a line where `program.sac` is a program.
fn run_readme_line(line: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let source = "use Array: all;\nuse StdIO: all;\nint main() { print(sum(iota(9) * iota(9))); return 0; }\n";
    std::fs::write(folder.path().join("program.sac"), source)?;
    // As a shell takes it.
    let words = line.split_whitespace().map(|word| word.trim_matches('\''));
    let mut command = Command::new(ravel());
    if line.contains("--ranks") {
        ranks::prepare(&mut command, folder.path());
    }
    let run = finish(command.args(words).current_dir(folder.path()), b"")?;
    if run.status == 0 { Ok(()) } else { Err(run.describe().into()) }
}

/// The programs of the tour with the outputs that the page promises.
fn tour_programs() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(repository().join("docs/tour.md")).expect("the tour is readable");
    let mut programs = Vec::new();
    for part in text.split("\n```c\n").skip(1) {
        let (source, rest) = part.split_once("```\n").expect("a code block ends");
        let output = rest.strip_prefix("```text\n").and_then(|rest| rest.split_once("```"));
        let (output, _) = output.expect("the output of a program follows it");
        programs.push((source.to_string(), output.to_string()));
    }
    programs
}

fn run_tour_program(source: &str, output: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tour.sac");
    std::fs::write(&path, source)?;
    // Some of them write files.
    let run = finish(Command::new(ravel()).arg("run").arg(&path).current_dir(folder.path()), b"")?;
    if run.status == 0 && run.stdout == output {
        Ok(())
    } else {
        Err(format!("expected\n{output}--- but got {}", run.describe()).into())
    }
}

/// What an example prints: a file `.out` beside it begins with the command, behind `$ `, or has it from the example without arguments.
fn run_recorded(recorded: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(recorded)?;
    let example = format!("run {}", recorded.with_extension("sac").display());
    let (command, output) = match text.strip_prefix("$ ravel ") {
        Some(rest) => rest.split_once('\n').ok_or("nothing behind the command")?,
        None => (example.as_str(), text.as_str()),
    };
    let run = in_repository(&mut Command::new(ravel()), command.split_whitespace())?;
    if run.stdout == output { Ok(()) } else { Err(format!("expected\n{output}--- but got {}", run.describe()).into()) }
}

/// An IDX file of unsigned bytes.
fn idx(extents: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, extents.len() as u8];
    extents.iter().for_each(|extent| bytes.extend(extent.to_be_bytes()));
    bytes.extend(data);
    bytes
}

/// Trains on a folder whose training labels are `labels`: the run must end with a message about that file.
fn refuse_labels(labels: Option<Vec<u8>>, word: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes);
    for (prefix, good_labels) in [("train", labels), ("t10k", Some(idx(&[4], &[1, 2, 3, 4])))] {
        write(&format!("{prefix}-images-idx3-ubyte.gz"), &idx(&[4, 28, 28], &[7; 4 * 784]))?;
        if let Some(bytes) = good_labels {
            write(&format!("{prefix}-labels-idx1-ubyte.gz"), &bytes)?;
        }
    }
    let run = finish(
        Command::new(ravel())
            .args(["run", "examples/mnist/zhang.sac", "-e", "1", "-b", "2", "-tr", "4", "-te", "4", "-d"])
            .arg(folder.path())
            .current_dir(repository()),
        b"",
    )?;
    let named = run.stderr.contains("train-labels-idx1-ubyte.gz") && run.stderr.contains(word);
    if run.crashed() || run.status == 0 || !named {
        return Err(format!("expected `{word}` about the labels: {}", run.describe()).into());
    }
    Ok(())
}

/// A name, the training labels, and a word that the refusal must contain.
type BadLabels = (&'static str, fn() -> Option<Vec<u8>>, &'static str);

const BAD_LABELS: [BadLabels; 6] = [
    ("missing file", || None, ""),
    ("truncated file", || Some(idx(&[4], &[1, 2])), ""),
    ("wrong magic number", || Some([&[1, 2, 3, 4][..], &idx(&[4], &[1; 4])].concat()), ""),
    ("empty file", || Some(Vec::new()), ""),
    ("label out of range", || Some(idx(&[4], &[1, 2, 10, 4])), "10"),
    ("too few labels", || Some(idx(&[3], &[1, 2, 3])), "3 labels"),
];

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for source in files_below(&repository().join("examples"), "sac") {
        let name = test_name(&repository(), &source);
        trials.push(Trial::test(format!("check {name}"), move || {
            let path = source.to_string_lossy().into_owned();
            // The comparison of gradients is with the modules of examples/mnist.
            in_repository(&mut Command::new(ravel()), ["check", "-I", "examples/mnist", path.as_str()]).map(drop)
        }));
    }
    for recorded in files_below(&repository().join("examples"), "out") {
        let name = test_name(&repository(), &recorded);
        trials.push(Trial::test(format!("output of {name}"), move || run_recorded(&recorded)));
    }
    for reference in REFERENCES {
        trials.push(Trial::test(format!("train as in {}", reference.name), move || {
            train("examples/mnist/zhang.sac", reference.arguments, &reference)
        }));
        trials.push(Trial::test(format!("digits train as in {}", reference.name), move || {
            train("examples/digits/digits.sac", reference.digits, &reference)
        }));
    }
    trials.push(Trial::test("derived gradients train as those by hand", || {
        let [.., seeded] = REFERENCES;
        train("examples/mnist/derived.sac", seeded.arguments, &seeded)
    }));
    trials.push(Trial::test("digits have the gradients of mnist", || {
        let arguments = ["run", "-I", "examples/mnist", "examples/digits/gradients.sac"];
        in_repository(&mut Command::new(ravel()), arguments).map(drop)
    }));
    for (number, (source, output)) in tour_programs().into_iter().enumerate() {
        let name = format!("tour program {}", number + 1);
        trials.push(Trial::test(name, move || run_tour_program(&source, &output)));
    }
    for (name, labels, word) in BAD_LABELS {
        trials.push(Trial::test(format!("refuses data: {name}"), move || refuse_labels(labels(), word)));
    }
    for command in readme_commands() {
        trials.push(Trial::test(format!("README: ravel {command}"), move || {
            in_repository(&mut Command::new(ravel()), command.split_whitespace()).map(drop)
        }));
    }
    for line in readme_lines() {
        trials.push(Trial::test(format!("README: ravel {line}"), move || run_readme_line(&line)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
