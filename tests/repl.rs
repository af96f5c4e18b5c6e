//! The prompt, driven through a pipe: transcripts in `repl/*.txt` and in the pages of `docs`, hostile input, and programs
//! that read what follows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, ravel, repository};

fn repl(input: &str) -> Result<Finished, Failed> {
    // One stream for both, so that reports stand where they were written.
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" repl 2>&1"]).arg(ravel()).current_dir(repository().join("tests/repl"));
    finish(&mut command, input.as_bytes())
}

/// Runs the transcripts of a file as `ravel test` does.
fn check_transcript(file: &Path) -> Result<(), Failed> {
    let mut command = Command::new(ravel());
    command.arg("test").arg(file).current_dir(repository().join("tests/repl"));
    let run = finish(&mut command, b"")?;
    if run.status == 0 { Ok(()) } else { Err(run.describe().into()) }
}

/// Whether a page has transcripts: blocks that start with a prompt.
fn has_transcripts(page: &Path) -> bool {
    fs::read_to_string(page).is_ok_and(|text| text.contains("\n```text\nravel> "))
}

/// Input that no person would type: it is refused, and the prompt goes on unless the input never ends.
fn hostile(input: &[u8]) -> Result<(), Failed> {
    let mut all = input.to_vec();
    // Closes whatever may still be open.
    all.extend_from_slice(b"\n*/\n)]}\n1 + 1\n");
    let run = finish(Command::new(ravel()).arg("repl"), &all)?;
    let answered = run.stdout.ends_with("int: 2\n") || run.stderr.contains("[E0190]");
    if run.crashed() || run.status != 0 || !answered {
        return Err(run.describe().into());
    }
    Ok(())
}

fn random_bytes(count: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Programs read the lines that follow the input.
fn programs_read_on() -> Result<(), Failed> {
    let run = repl("int next() { int a; n, a = scanf(\"%d\"); return a; }\nnext() + next()\n20 22\nnext()\n7\n")?;
    match run.stdout.as_str() {
        "int: 42\nint: 7\n" => Ok(()),
        _ => Err(run.describe().into()),
    }
}

fn an_unfinished_input_is_reported_at_the_end() -> Result<(), Failed> {
    let run = repl("1\n[1,\n2")?;
    match run.status == 0 && run.stdout.starts_with("int: 1\n[E0190] ") {
        true => Ok(()),
        false => Err(run.describe().into()),
    }
}

fn main() -> ExitCode {
    let folder = repository().join("tests/repl");
    let pages: Vec<PathBuf> = files_below(&repository().join("docs"), "md");
    let mut trials: Vec<Trial> = files_below(&folder, "txt")
        .into_iter()
        .map(|file| {
            let name = ravel_tests::test_name(&folder, &file);
            Trial::test(format!("repl/{name}"), move || check_transcript(&file))
        })
        .collect();
    for page in pages {
        if has_transcripts(&page) {
            let name = page.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            trials.push(Trial::test(format!("docs/{name}"), move || check_transcript(&page)));
        }
    }
    let parentheses = "(".repeat(10_000);
    let hostile_inputs = [
        ("bytes", random_bytes(5_000)),
        ("parentheses", parentheses.into_bytes()),
        ("brackets", b"{[(".repeat(2_000)),
        ("directives", b"#if 1\n#include \"nothing\"\n#endif\n#else\n".to_vec()),
        ("closing-function", b"1; }\nvoid x() {\n} int y() { return 1;\n".to_vec()),
    ];
    for (name, input) in hostile_inputs {
        trials.push(Trial::test(format!("hostile/{name}"), move || hostile(&input)));
    }
    trials.push(Trial::test("programs_read_on", programs_read_on));
    trials.push(Trial::test("an_unfinished_input_is_reported_at_the_end", an_unfinished_input_is_reported_at_the_end));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
