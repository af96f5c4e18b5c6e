//! `ravel fmt`: over every SaC file of the repository and every program of its pages nothing changes but the layout, and the command harms no file.
//!
//! `RAVEL_SAC_CORPUS` names a folder with more SaC files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use ravel_tests::layout::{blocks, check, read, type_names};
use ravel_tests::{Failed, Finished, files_below, finish, ravel, repository};

type Tested = Result<(), Failed>;

/// Files that are wrong, or stay as they are for another reason: what is wrong there cannot be laid out.
const MAY_HAVE_NOTES: [&str; 2] = ["tests/diagnostics", "tests/fixes"];

fn library() -> Vec<String> {
    files_below(&repository().join("stdlib"), "sac").iter().map(|file| read(file)).collect()
}

/// Checks all files of a folder; how many have a tree.
fn check_files(folder: &Path, strict: bool) -> Result<(usize, usize), Failed> {
    let names = type_names(&library());
    let files = files_below(folder, "sac");
    let (mut wrong, mut parsed) = (Vec::new(), 0);
    for file in &files {
        let name = file.strip_prefix(repository()).unwrap_or(file).display().to_string();
        match check(&read(file), &names) {
            Err(why) => wrong.push(format!("{name}: {why}")),
            Ok(done) => {
                parsed += usize::from(done.parsed);
                let noted = done.unreadable || !done.left.is_empty();
                if strict && noted && !MAY_HAVE_NOTES.iter().any(|folder| name.starts_with(folder)) {
                    wrong.push(format!("{name}: {:?}", done.left));
                }
            }
        }
    }
    if wrong.is_empty() { Ok((files.len(), parsed)) } else { Err(wrong.join("\n").into()) }
}

#[test]
fn files_of_the_repository_keep_tokens_comments_and_trees() -> Tested {
    for folder in ["stdlib", "examples", "tests", "docs"] {
        let (files, parsed) = check_files(&repository().join(folder), true)?;
        println!("{folder}: {files} files, {parsed} trees");
        // Without trees the test would show less than it says; some files are wrong, or use types of modules beside them.
        if parsed * 10 < files * 7 {
            return Err(format!("{folder}: only {parsed} of {files} files were parsed").into());
        }
    }
    Ok(())
}

#[test]
fn the_library_and_the_examples_are_formatted() -> Tested {
    let run =
        finish(Command::new(ravel()).current_dir(repository()).args(["fmt", "--check", "stdlib", "examples"]), b"")?;
    demand(run.status == 0, &run, "no names: `ravel fmt stdlib examples` lays them out")
}

#[test]
fn programs_of_pages_keep_tokens_comments_and_trees() -> Tested {
    let names = type_names(&library());
    let (mut wrong, mut all) = (Vec::new(), 0);
    for page in files_below(&repository().join("docs"), "md").iter().chain([&repository().join("README.md")]) {
        for block in blocks(&read(page)) {
            all += 1;
            if let Err(why) = check(&block, &names) {
                wrong.push(format!("{}: {why}\n{block}", page.display()));
            }
        }
    }
    if all < 10 {
        return Err("the pages have no programs".into());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

#[test]
fn programs_of_its_page_show_the_rules() -> Tested {
    for block in blocks(&read(&repository().join("docs/tools/fmt.md"))) {
        let run = finish(Command::new(ravel()).args(["fmt", "--diff", "-"]), block.as_bytes())?;
        demand(run.status == 0 && run.stdout.is_empty(), &run, "a page that follows its rules")?;
    }
    Ok(())
}

#[test]
fn files_elsewhere_keep_tokens_comments_and_trees() -> Tested {
    let Some(folder) = std::env::var_os("RAVEL_SAC_CORPUS") else { return Ok(()) };
    let (files, parsed) = check_files(Path::new(&folder), false)?;
    println!("{files} files, {parsed} trees");
    Ok(())
}

// The command.

const UNTIDY: &str = "int main( ) {\n  x=1 ;   // one\n  return( x) ;\n}\n";
const TIDY: &str = "int main()\n{\n    x = 1; // one\n    return (x);\n}\n";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Result<Place, Failed> {
        let place = Place(tempfile::tempdir()?);
        fs::write(place.path("a.sac"), UNTIDY)?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn fmt(&self, arguments: &[&str], input: &str) -> Result<Finished, Failed> {
        finish(Command::new(ravel()).arg("fmt").args(arguments).current_dir(self.0.path()), input.as_bytes())
    }

    /// What is in the folder; nothing may be left behind there.
    fn names(&self) -> Result<Vec<String>, Failed> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.0.path())? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }
}

fn demand(condition: bool, run: &Finished, wanted: &str) -> Tested {
    if condition && !run.crashed() { Ok(()) } else { Err(format!("expected {wanted}: {}", run.describe()).into()) }
}

#[test]
fn a_file_is_formatted_and_keeps_its_permissions() -> Tested {
    let place = Place::new()?;
    fs::set_permissions(place.path("a.sac"), fs::Permissions::from_mode(0o640))?;
    symlink("a.sac", place.path("link.sac"))?;
    let run = place.fmt(&["link.sac"], "")?;
    demand(run.status == 0 && run.stdout.is_empty() && run.stderr.is_empty(), &run, "silence")?;
    demand(place.read("a.sac") == TIDY && place.path("link.sac").is_symlink(), &run, "a formatted file")?;
    demand(fs::metadata(place.path("a.sac"))?.permissions().mode() & 0o777 == 0o640, &run, "the old permissions")?;
    // What is formatted is not written again.
    let before = fs::metadata(place.path("a.sac"))?.modified()?;
    let run = place.fmt(&["a.sac"], "")?;
    demand(run.status == 0 && fs::metadata(place.path("a.sac"))?.modified()? == before, &run, "no change")?;
    demand(place.names()? == ["a.sac", "link.sac"], &run, "nothing else")
}

#[test]
fn checking_lists_and_the_difference_is_shown() -> Tested {
    let place = Place::new()?;
    fs::create_dir(place.path("sub"))?;
    fs::create_dir(place.path(".hidden"))?;
    fs::write(place.path("sub/b.sac"), UNTIDY)?;
    fs::write(place.path("sub/c.sac"), TIDY)?;
    fs::write(place.path(".hidden/d.sac"), UNTIDY)?;
    fs::write(place.path("sub/e.txt"), UNTIDY)?;
    let run = place.fmt(&["--check", "."], "")?;
    demand(run.status == 1 && run.stdout == "./a.sac\n./sub/b.sac\n" && run.stderr.is_empty(), &run, "two names")?;
    let run = place.fmt(&["--diff", "a.sac"], "")?;
    demand(run.status == 0 && run.stdout.starts_with("--- a.sac\n+++ a.sac\n@@ -1,4 +1,5 @@\n"), &run, "a difference")?;
    demand(
        run.stdout.contains("\n-  x=1 ;   // one\n") && run.stdout.contains("\n+    x = 1; // one\n"),
        &run,
        "lines",
    )?;
    let run = place.fmt(&["--diff", "--check", "a.sac"], "")?;
    demand(run.status == 1 && run.stdout.starts_with("--- a.sac\n"), &run, "both")?;
    demand(place.read("a.sac") == UNTIDY, &run, "the old text")?;
    let run = place.fmt(&["."], "")?;
    demand(run.status == 0 && place.read("sub/b.sac") == TIDY && place.read(".hidden/d.sac") == UNTIDY, &run, "all")?;
    let run = place.fmt(&["--check", "."], "")?;
    demand(run.status == 0 && run.stdout.is_empty(), &run, "nothing to do")
}

#[test]
fn standard_input_goes_to_standard_output() -> Tested {
    let place = Place::new()?;
    for arguments in [&["-"][..], &[]] {
        let run = place.fmt(arguments, UNTIDY)?;
        demand(run.status == 0 && run.stdout == TIDY, &run, "the formatted text")?;
    }
    let run = place.fmt(&["--check", "-"], UNTIDY)?;
    demand(run.status == 1 && run.stdout == "<stdin>\n", &run, "its name")?;
    let run = place.fmt(&["-"], "int main() { return 'x; }\n")?;
    demand(run.status == 1 && run.stdout.is_empty() && run.stderr.contains("<stdin>:1:21: error: "), &run, "a place")?;
    let run = place.fmt(&["-", "a.sac"], UNTIDY)?;
    demand(run.status == 2, &run, "a wrong use")
}

#[test]
fn what_cannot_be_formatted_stays_as_it_is() -> Tested {
    let place = Place::new()?;
    let stays = |name: &str, content: &[u8], why: &str| -> Tested {
        fs::write(place.path(name), content)?;
        let run = place.fmt(&[name], "")?;
        demand(run.status == 1 && run.stderr.contains(why) && run.stdout.is_empty(), &run, why)?;
        demand(fs::read(place.path(name))? == content, &run, "the old bytes")?;
        fs::remove_file(place.path(name))?;
        Ok(())
    };
    stays("b.sac", b"int main()\n{ return \"x; }\n", "b.sac:2:10: error: the closing quote is missing")?;
    stays("b.sac", b"int main() {\n\n  /* return 0; }\n", "b.sac:3:3: error: the comment is not closed")?;
    stays("b.sac", b"int x$y;\n", "b.sac:1:6: error: no token starts with this character")?;
    stays("b.sac", b"int main() {\n return 0; // \xff\n}\n", "b.sac:2: error: the text is not UTF-8")?;
    let missing = place.fmt(&["missing.sac"], "")?;
    demand(missing.status == 1 && missing.stderr.contains("cannot format missing.sac"), &missing, "a message")?;
    // Others are formatted all the same.
    fs::write(place.path("b.sac"), "'")?;
    let run = place.fmt(&["b.sac", "a.sac"], "")?;
    demand(run.status == 1 && place.read("a.sac") == TIDY, &run, "the other file")?;
    // What has no layout is noted, and the rest is formatted.
    fs::write(
        place.path("b.sac"),
        "int f( ) { return( 1); }\n#if X\nint g() {\n#else\nint g( int x) {\n#endif\n return 1; }\n",
    )?;
    let run = place.fmt(&["b.sac"], "")?;
    demand(run.status == 0 && run.stderr.contains("b.sac:3:1: note: stays as it is"), &run, "a note")?;
    demand(
        place.read("b.sac").starts_with("int f() { return (1); }\n#if X\nint g() {\n#else\nint g( int x) {\n"),
        &run,
        "f",
    )
}

#[test]
fn files_that_must_not_be_replaced_are_not() -> Tested {
    let place = Place::new()?;
    let before = place.names()?;
    fs::set_permissions(place.path("a.sac"), fs::Permissions::from_mode(0o444))?;
    let run = place.fmt(&["a.sac"], "")?;
    demand(run.status == 1 && place.read("a.sac") == UNTIDY, &run, "a read-only file that stays")?;
    demand(run.stderr.contains("read-only") || run.stderr.contains("denied"), &run, "why")?;
    fs::set_permissions(place.path("a.sac"), fs::Permissions::from_mode(0o644))?;
    let made = Command::new("mkfifo").arg(place.path("pipe.sac")).status()?.success();
    if made {
        let run = place.fmt(&["pipe.sac"], "")?;
        demand(run.status == 1 && run.stderr.contains("it is no file"), &run, "no waiting for a pipe")?;
        fs::remove_file(place.path("pipe.sac"))?;
    }
    let run = place.fmt(&["/dev/null"], "")?;
    demand(run.status == 1 && run.stderr.contains("it is no file"), &run, "a device that stays")?;
    // A full disk: as much as a file may hold ends in the middle of the text.
    let long = UNTIDY.repeat(400);
    fs::write(place.path("a.sac"), &long)?;
    let limited = format!("ulimit -f 1; trap '' XFSZ; exec '{}' fmt a.sac", ravel().display());
    let run = finish(Command::new("bash").args(["-c", &limited]).current_dir(place.0.path()), b"")?;
    demand(run.status == 1 && run.stderr.contains("cannot format a.sac"), &run, "a message")?;
    demand(place.read("a.sac") == long && place.names()? == before, &run, "the old file, and nothing beside it")
}

#[test]
fn an_unreadable_folder_is_reported() -> Tested {
    let place = Place::new()?;
    fs::create_dir(place.path("closed"))?;
    fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o000))?;
    // The administrator reads it all the same.
    let is_closed = fs::read_dir(place.path("closed")).is_err();
    let run = place.fmt(&["."], "")?;
    fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o755))?;
    demand(place.read("a.sac") == TIDY, &run, "what can be read")?;
    let said = run.status == 1 && run.stderr.contains("cannot read ./closed");
    demand(said || !is_closed && run.status == 0, &run, "a message about the folder")
}

#[test]
fn two_at_once_leave_a_whole_file() -> Tested {
    let place = Place::new()?;
    let long = UNTIDY.repeat(500).replace("main", "f");
    let formatted = TIDY.repeat(500).replace("main", "f");
    for _ in 0..5 {
        fs::write(place.path("a.sac"), &long)?;
        let start = || Command::new(ravel()).args(["fmt", "a.sac"]).current_dir(place.0.path()).spawn();
        let mut running = vec![start()?, start()?, start()?];
        for child in &mut running {
            if !child.wait()?.success() {
                return Err("one of them could not format the file".into());
            }
        }
        if place.read("a.sac") != formatted || place.names()? != ["a.sac"] {
            return Err("the file is not what formatting makes of it".into());
        }
    }
    Ok(())
}
