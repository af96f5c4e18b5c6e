//! The prompt, driven through a pipe: transcripts in `repl/*.txt` and in the pages of `docs`, hostile input, and programs
//! that read what follows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, ravel, repository};

fn repl(input: &str) -> Result<Finished, Failed> {
    repl_with(input, "xterm", &repository().join("tests/repl"))
}

/// The prompt on this kind of terminal, in a folder.
fn repl_with(input: &str, term: &str, folder: &Path) -> Result<Finished, Failed> {
    // One stream for both, so that reports stand where they were written.
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" repl 2>&1"]).arg(ravel()).current_dir(folder);
    command.env("TERM", term).env_remove("COLUMNS").env_remove("RAVEL_PICTURES");
    finish(&mut command, input.as_bytes())
}

/// Runs the transcripts of a file as `ravel test` does, on this kind of terminal.
fn check_transcript(file: &Path, term: &str) -> Result<(), Failed> {
    let mut command = Command::new(ravel());
    command.arg("test").arg(file).current_dir(repository().join("tests/repl"));
    command.env("TERM", term).env_remove("COLUMNS").env_remove("RAVEL_PICTURES");
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

/// What the session prints, and its lines without those of reports.
fn prints(input: &str, expected: &str) -> Result<(), Failed> {
    let run = repl(input)?;
    match run.stdout == expected {
        true => Ok(()),
        false => Err(format!("{input}--- expected\n{expected}--- but got\n{}", run.stdout).into()),
    }
}

fn inputs_can_be_undone() -> Result<(), Failed> {
    prints(
        "a = 1; b = 2;\na = [3, 4]\nint twice(int x) { return 2 * x; }\n:undo\n:undo\na\n:undo\n:undo\n:vars\n:undo\n",
        "undone: int twice(int x) { return 2 * x; }\nundone: a = [3, 4]\nint: 1\nundone: a\nundone: a = 1; b = 2;\n\
         there is nothing that can be undone\n",
    )?;
    // Definitions come back, and variables that went with a type.
    prints(
        "int f(int x) { return x; }\nint f(int x) { return 2 * x; }\n:undo\nf(3)\n\
         typedef int[2] two;\nt = (two) [1, 2];\ntypedef int[3] two;\n:undo\nt\n",
        "undone: int f(int x) { return 2 * x; }\nint: 3\nt is gone: its type was defined again\n\
         undone: typedef int[3] two;\ntwo: [1, 2]\n",
    )
}

/// A saved session is a program that prints what the prompt showed; errors and what was undone are left out.
fn a_session_becomes_a_program() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("saved.sac");
    let save = format!(":save {}\n", file.display());
    let session = format!(
        "use Array: all;\na = iota(4)\nint thrice(int x)\n{{ return 3 * x; }}\nsum(a) + unknown\na = 0\n:undo\n\
         thrice(sum(a))\nit + 1\nprintf(\"%d\\n\", it)\n{save}{save}"
    );
    let run = repl(&session)?;
    let written = format!("{}: ", file.display());
    if run.status != 0 || run.stdout.matches(&written).count() != 2 {
        return Err(run.describe().into());
    }
    let mut program = Command::new(ravel());
    let run = finish(program.arg("run").arg(&file), b"")?;
    let numbers: Vec<&str> = run.stdout.split_whitespace().filter(|word| word.len() == 2).collect();
    match (run.status, numbers.as_slice()) {
        (0, ["18", "19", "19"]) => Ok(()),
        _ => Err(format!("{}{}", fs::read_to_string(&file)?, run.describe()).into()),
    }
}

fn an_unfinished_input_is_reported_at_the_end() -> Result<(), Failed> {
    let run = repl("1\n[1,\n2")?;
    match run.status == 0 && run.stdout.starts_with("int: 1\n[E0190] ") {
        true => Ok(()),
        false => Err(run.describe().into()),
    }
}

/// Pictures and plots in files, complete or not at all; nothing that is no picture is replaced.
fn pictures_are_written() -> Result<(), Failed> {
    const SOURCE: &str = "int seven() { return 7; }\n";
    let folder = tempfile::tempdir()?;
    let place = |name: &str| folder.path().join(name);
    fs::write(place("Seven.sac"), SOURCE)?;
    std::os::unix::fs::symlink("Seven.sac", place("link.png"))?;
    fs::create_dir(place("folder.png"))?;
    fs::write(place("old.png"), "an older picture")?;
    let made = Command::new("mkfifo").arg(place("pipe.png")).status()?;
    if !made.success() {
        return Err("no pipe".into());
    }
    let input = "a = reshape([2, 3], [0.0, 0.5, 1.0, 1.0, 0.5, 0.0])\n\
        :show a > \"a b.png\"\n:show a > old.png\n:plot a > lines.svg\n:plot a > lines.png\n\
        :show a > link.png\n:show a > folder.png\n:show a > pipe.png\n:show a > no/a.png\n:show a > a.svg\n:plot a > a.pdf\n\
        :show 1.0 > scalar.png\n:show a[5] > fault.png\n:show > nothing.png\n:plot sum(a\n";
    let run = repl_with(input, "xterm", folder.path())?;
    let expected = [
        "a b.png: 2 x 3, black 0, white 1",
        "old.png: 2 x 3, black 0, white 1",
        "lines.svg: written",
        "lines.png: written",
        "cannot write link.png: names with .sac are for source files",
        "cannot write folder.png: it is a folder; name a file in it",
        "cannot write pipe.png: it is a pipe; only files are replaced",
        "cannot write no/a.png: there is no folder no",
        "cannot write a.svg: its name should end with .png",
        "cannot write a.pdf: its name should end with .svg or .png",
        "a picture has two axes, or three with 3 channels in the last one; this is double",
        "[E0330] Error: index 5 is out of range for axis 0 of extent 2",
    ];
    let found: Vec<&str> = run.stdout.lines().take(expected.len()).collect();
    let rest = "\nthis is not an expression\nthis is not an expression\n";
    if run.status != 0 || found != expected || !run.stdout.ends_with(rest) {
        return Err(run.describe().into());
    }
    for name in ["a b.png", "old.png", "lines.png"] {
        if !fs::read(place(name))?.starts_with(b"\x89PNG\r\n") {
            return Err(format!("{name} is no picture").into());
        }
    }
    let svg = fs::read_to_string(place("lines.svg"))?;
    if !svg.starts_with("<svg") || !svg.ends_with("</svg>\n") || fs::read_to_string(place("Seven.sac"))? != SOURCE {
        return Err(svg.into());
    }
    let mut names: Vec<String> =
        fs::read_dir(folder.path())?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let all = ["Seven.sac", "a b.png", "folder.png", "lines.png", "lines.svg", "link.png", "old.png", "pipe.png"];
    if names != all { Err(format!("{names:?}").into()) } else { Ok(()) }
}

/// The sequences of terminals that show points, chosen by the setting.
fn a_setting_chooses_how_pictures_are_shown() -> Result<(), Failed> {
    let settings = [
        ("kitty", "\x1b_Ga=T"),
        ("iterm", "\x1b]1337;File="),
        ("sixel", "\x1bP"),
        ("ascii", "  @@\n"),
        ("blocks", " \u{2580}\n"),
    ];
    for (setting, start) in settings {
        let mut command = Command::new(ravel());
        command.args(["repl"]).env("TERM", "xterm").env("RAVEL_PICTURES", setting);
        let run = finish(&mut command, b":show reshape([1, 2], [false, true])\n")?;
        if run.status != 0
            || !run.stdout.starts_with(start)
            || !run.stdout.ends_with("1 x 2, black false, white true\n")
        {
            return Err(run.describe().into());
        }
    }
    let run = finish(Command::new(ravel()).arg("repl").env("RAVEL_PICTURES", "svga"), b":show [[1]]\n1 + 1\n")?;
    match run.stderr.starts_with("RAVEL_PICTURES is `svga`; it can be kitty") && run.stdout == "int: 2\n" {
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
            let term = if name.ends_with("-dumb") { "dumb" } else { "xterm" };
            Trial::test(format!("repl/{name}"), move || check_transcript(&file, term))
        })
        .collect();
    for page in pages {
        if has_transcripts(&page) {
            let name = page.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            trials.push(Trial::test(format!("docs/{name}"), move || check_transcript(&page, "xterm")));
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
    trials.push(Trial::test("inputs_can_be_undone", inputs_can_be_undone));
    trials.push(Trial::test("a_session_becomes_a_program", a_session_becomes_a_program));
    trials.push(Trial::test("pictures_are_written", pictures_are_written));
    trials.push(Trial::test("a_setting_chooses_how_pictures_are_shown", a_setting_chooses_how_pictures_are_shown));
    trials.push(Trial::test("programs_read_on", programs_read_on));
    trials.push(Trial::test("an_unfinished_input_is_reported_at_the_end", an_unfinished_input_is_reported_at_the_end));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
