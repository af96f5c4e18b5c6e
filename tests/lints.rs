//! Warnings by name: the options that set them, and fixes of programs.
//!
//! `fixes/NAME.sac` becomes `fixes/NAME.fixed.sac` by `check --fix`, or `--fix --unsafe` if its first line is `//! unsafe`, and that has
//! nothing to report. Where there is a `fixes/NAME.out` it writes that.

use std::fs;
use std::path::Path;
use std::process::Command;

use ravel_tests::{Failed, Finished, files_below, finish, ravel, repository, test_name};

/// Has an unused variable, and a division that is certainly wrong.
const PROGRAM: &str = "use Array: all;\nint main() { x = 3; return toi(tod(1 / 2)); }\n";

fn with(text: &str, arguments: &[&str]) -> Result<Finished, Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("program.sac");
    fs::write(&path, text)?;
    finish(Command::new(ravel()).args(arguments).arg(&path), b"")
}

#[test]
fn options_set_levels() -> Result<(), Failed> {
    let check = |options: &[&str]| with(PROGRAM, &[&["check", "--format", "short"], options].concat());
    let plain = check(&[])?;
    assert!(plain.status == 0 && plain.stderr.contains("warning[W0401]"), "{}", plain.describe());
    let allowed = check(&["--allow", "unused-variable,W0408"])?;
    assert!(allowed.status == 0 && allowed.stderr.is_empty(), "{}", allowed.describe());
    let denied = check(&["--deny", "unused-variable"])?;
    assert!(denied.status == 1 && denied.stderr.contains("error[W0401]"), "{}", denied.describe());
    assert!(denied.stderr.contains("warning[W0408]"), "{}", denied.describe());
    let nearer = check(&["--deny", "default", "--allow", "all", "--warn", "unused-variable"])?;
    assert!(nearer.status == 1 && nearer.stderr.contains("warning[W0401]"), "{}", nearer.describe());
    let asked = check(&["--warn", "all"])?;
    assert!(asked.status == 0, "{}", asked.describe());
    Ok(())
}

#[test]
fn unknown_names_are_told() -> Result<(), Failed> {
    for (command, option) in [("check", "--warn"), ("run", "--deny"), ("build", "--allow")] {
        let run = with(PROGRAM, &[command, option, "unused-varible"])?;
        assert!(run.status == 2 && run.stderr.contains("did you mean `unused-variable`?"), "{}", run.describe());
        assert!(run.stderr.contains("dead-assignment, "), "{}", run.describe());
    }
    Ok(())
}

#[test]
fn a_file_may_allow_what_options_deny() -> Result<(), Failed> {
    let run = with(&format!("//! allow unused-variable\n{PROGRAM}"), &["check", "--deny", "default"])?;
    assert!(run.status == 1 && !run.stderr.contains("W0401") && run.stderr.contains("W0408"), "{}", run.describe());
    Ok(())
}

#[test]
fn programs_run_quietly() -> Result<(), Failed> {
    let run = with(PROGRAM, &["run"])?;
    assert!(run.status == 0 && !run.stderr.contains("W0401") && run.stderr.contains("W0408"), "{}", run.describe());
    let denied = with(PROGRAM, &["run", "--deny", "unused-variable"])?;
    assert!(denied.status == 1 && denied.stderr.contains("W0401"), "{}", denied.describe());
    Ok(())
}

#[test]
fn the_library_and_what_macros_make_are_not_looked_at() -> Result<(), Failed> {
    let text = "#define UNUSED z = 3;\nuse Array: all;\nuse MathArray: all;\nint main() { UNUSED return toi(sum(sin([0.0]))); }\n";
    let run = with(text, &["check", "--warn", "all", "--allow", "perf"])?;
    assert!(run.status == 0 && run.stderr.is_empty(), "{}", run.describe());
    Ok(())
}

fn fixed(source: &Path, expected: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join(source.file_name().ok_or("a file has a name")?);
    fs::copy(source, &copy)?;
    let options: &[&str] = match fs::read_to_string(source)?.starts_with("//! unsafe") {
        true => &["check", "--fix", "--unsafe"],
        false => &["check", "--fix"],
    };
    let run = finish(Command::new(ravel()).args(options).arg(&copy), b"")?;
    if run.status != 0 || fs::read_to_string(&copy)? != fs::read_to_string(expected)? {
        return Err(format!("{}\n{}", fs::read_to_string(&copy)?, run.describe()).into());
    }
    let run = finish(Command::new(ravel()).arg("check").arg(&copy), b"")?;
    if run.status != 0 || !run.stderr.is_empty() {
        return Err(run.describe().into());
    }
    let output = source.with_extension("out");
    if !output.exists() {
        return Ok(());
    }
    let run = finish(Command::new(ravel()).args(["run", "--backend", "interp"]).arg(&copy), b"")?;
    match run.status == 0 && run.stdout == fs::read_to_string(output)? {
        true => Ok(()),
        false => Err(run.describe().into()),
    }
}

#[test]
fn fixes_give_what_they_should() {
    let folder = repository().join("tests/fixes");
    let files = files_below(&folder, "sac");
    let mut count = 0;
    for source in files.iter().filter(|file| !file.to_string_lossy().ends_with(".fixed.sac")) {
        let expected = source.with_extension("fixed.sac");
        count += 1;
        if let Err(why) = fixed(source, &expected) {
            panic!("{}: {why:?}", test_name(&folder, source));
        }
    }
    assert!(count > 2, "the programs are not there");
}
