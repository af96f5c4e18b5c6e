//! The book in `docs`, as mdBook renders it: its table of contents has every page, and every program of its chapters runs.
//!
//! A block of SaC is a program if it has `main`: it runs, and prints what the block of text right behind it shows. Other blocks are modules or
//! definitions, which `ravel check` accepts, or parts of programs: statements and functions that stand elsewhere as a whole. Sessions at the prompt
//! are tested with the prompt (`repl.rs`), the pages of errors in `errors.rs`, links in `pages.rs`. `RAVEL_BLESS=1` writes the generated lines of the
//! table of contents and the outputs of programs anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Trial, files_below, finish, ravel, repository};

/// Pages whose blocks have tests of their own, or show parts of programs that stand elsewhere as a whole and run there.
const OTHERWISE: [(&str, &str); 6] = [
    ("errors/", "errors.rs"),
    ("library/", "made by `ravel doc`"),
    ("tour.md", "examples.rs"),
    ("ARCHITECTURE.md", "pages.rs"),
    ("examples/", "parts of examples, which examples.rs runs"),
    ("tools/fmt.md", "format.rs"),
];

/// Lines of the table of contents: depth, title, page.
fn summary() -> Result<Vec<(usize, String, String)>, Failed> {
    let text = fs::read_to_string(repository().join("docs/SUMMARY.md"))?;
    let mut entries = Vec::new();
    for line in text.lines().filter(|line| line.contains("](")) {
        let inside = line.trim_start().trim_start_matches("- ");
        let parts = inside.strip_prefix('[').and_then(|rest| rest.strip_suffix(')')?.split_once("]("));
        let (title, page) = parts.ok_or_else(|| format!("not a line of a table of contents: {line}"))?;
        entries.push(((line.len() - line.trim_start().len()) / 2, title.to_string(), page.to_string()));
    }
    Ok(entries)
}

/// The lines below the library and the errors, which are made of their indices.
fn made() -> Result<(String, String), Failed> {
    let list = |index: &str, folder: &str, title: &dyn Fn(&str, &str) -> String| -> Result<String, Failed> {
        let text = fs::read_to_string(repository().join(index))?;
        let rows = text.lines().filter_map(|line| line.strip_prefix("| [")?.split_once(']'));
        let line = |(name, rest): (&str, &str)| -> Option<String> {
            let page = rest.strip_prefix('(')?.split(')').next()?;
            let about = rest.split('|').nth(1).unwrap_or_default().trim();
            (page == format!("{name}.md")).then(|| format!("  - [{}]({folder}/{page})\n", title(name, about)))
        };
        Ok(rows.filter_map(line).collect())
    };
    let library = list("docs/library/index.md", "library", &|name, _| name.to_string())?;
    let errors = list("docs/errors/README.md", "errors", &|name, about| {
        // Titles must not hold what ends a link.
        format!("{name} {}", about.replace(['[', ']', '(', ')', '`', '\\'], ""))
    })?;
    Ok((library, errors))
}

/// A table of contents with the pages that it lacks, behind the last one of their folder.
fn with_new_pages(text: &str) -> Result<String, Failed> {
    let docs = repository().join("docs");
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for page in files_below(&docs, "md") {
        let name = page.strip_prefix(&docs).unwrap_or(&page).display().to_string();
        if name == "SUMMARY.md" || lines.iter().any(|line| line.ends_with(&format!("]({name})"))) {
            continue;
        }
        let (folder, _) = name.rsplit_once('/').unwrap_or(("", ""));
        let is_near =
            |line: &String| line.rsplit_once("](").is_some_and(|(_, to)| to.starts_with(&format!("{folder}/")));
        // A page that is alone in its place has to be put somewhere by hand.
        let Some(near) = lines.iter().rposition(is_near) else { continue };
        let indent: String = lines[near].chars().take_while(|c| *c == ' ').collect();
        let title = fs::read_to_string(&page)?.lines().next().unwrap_or_default().trim_start_matches("# ").to_string();
        lines.insert(near + 1, format!("{indent}- [{title}]({name})"));
    }
    Ok(lines.join("\n") + "\n")
}

fn table_of_contents() -> Result<(), Failed> {
    let path = repository().join("docs/SUMMARY.md");
    let text = fs::read_to_string(&path)?;
    let (library, errors) = made()?;
    let mut wanted = String::new();
    for line in text.lines() {
        if line.starts_with("  - [") && ["](library/", "](errors/"].iter().any(|folder| line.contains(folder)) {
            continue;
        }
        wanted.push_str(line);
        wanted.push('\n');
        if line.ends_with("(library/index.md)") {
            wanted.push_str(&library);
        } else if line.ends_with("(errors/README.md)") {
            wanted.push_str(&errors);
        }
    }
    if std::env::var_os("RAVEL_BLESS").is_some() {
        fs::write(&path, with_new_pages(&wanted)?)?;
    } else if text != wanted {
        return Err("docs/SUMMARY.md does not have all modules and codes; RAVEL_BLESS=1 makes these lines anew".into());
    }
    let docs = repository().join("docs");
    let mut wrong = Vec::new();
    let mut listed = BTreeSet::new();
    for (_, title, page) in summary()? {
        if !docs.join(&page).is_file() {
            wrong.push(format!("{title}: there is no docs/{page}"));
        }
        if !listed.insert(docs.join(&page)) {
            wrong.push(format!("docs/{page} is listed twice"));
        }
    }
    for page in files_below(&docs, "md") {
        if !listed.contains(&page) && !page.ends_with("SUMMARY.md") {
            wrong.push(format!("{} is not in the table of contents", page.display()));
        }
    }
    let settings = fs::read_to_string(repository().join("book.toml"))?;
    if !settings.contains("src = \"docs\"") {
        wrong.push("book.toml does not name the folder docs".to_string());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// A block of SaC, and the block of text right behind it.
struct Block {
    source: String,
    output: Option<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    for part in page.split("\n```c\n").skip(1) {
        let Some((source, rest)) = part.split_once("\n```\n") else { continue };
        let output = rest.strip_prefix("```text\n").and_then(|rest| rest.split_once("```"));
        found.push(Block { source: format!("{source}\n"), output: output.map(|(output, _)| output.to_string()) });
    }
    found
}

fn run_block(block: &Block) -> Result<Option<String>, Failed> {
    let folder = tempfile::tempdir()?;
    let module = block.source.split("module ").nth(1).and_then(|rest| rest.split(';').next());
    let is_program = block.source.contains("int main()");
    let name = if is_program { "program.sac".to_string() } else { format!("{}.sac", module.unwrap_or("definitions")) };
    fs::write(folder.path().join(&name), &block.source)?;
    // For programs that read the data of examples.
    std::os::unix::fs::symlink(repository().join("examples"), folder.path().join("examples"))?;
    let has_tests = ["void test_", "bool prop_", "void fails_"].iter().any(|head| block.source.contains(head));
    let command = match (is_program, has_tests) {
        (true, _) => "run",
        (false, true) => "test",
        (false, false) => "check",
    };
    let run = finish(Command::new(ravel()).args([command, &name]).current_dir(folder.path()), b"")?;
    if run.status != 0 || is_program && !run.stderr.is_empty() {
        return Err(format!("{}\n{}", block.source, run.describe()).into());
    }
    Ok(is_program.then_some(run.stdout))
}

fn chapter(path: &Path) -> Result<(), Failed> {
    let mut page = fs::read_to_string(path)?;
    let mut wrong = Vec::new();
    for block in blocks(&page) {
        // A line for the compiler alone is a part of some file.
        if block.source.lines().all(|line| line.starts_with("//!")) {
            continue;
        }
        let Some(printed) = run_block(&block)? else { continue };
        let shown = block.output.clone().unwrap_or_default();
        if shown == printed {
            continue;
        }
        if std::env::var_os("RAVEL_BLESS").is_some() {
            let head = format!("{}```\n", block.source);
            let old = block.output.map_or(head.clone(), |output| format!("{head}```text\n{output}```\n"));
            if !page.contains(&old) {
                wrong.push(format!("{}--- prints\n{printed}--- but where to write that is not found", block.source));
                continue;
            }
            page = page.replacen(&old, &format!("{head}```text\n{printed}```\n"), 1);
            fs::write(path, &page)?;
        } else {
            wrong.push(format!("{}--- shows\n{shown}--- but prints\n{printed}", block.source));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn main() -> ExitCode {
    let docs = repository().join("docs");
    let mut trials = vec![Trial::test("table of contents", table_of_contents)];
    for page in files_below(&docs, "md") {
        let name = page.strip_prefix(&docs).unwrap_or(&page).display().to_string();
        if OTHERWISE.iter().any(|(start, _)| name.starts_with(start))
            || blocks(&fs::read_to_string(&page).unwrap_or_default()).is_empty()
        {
            continue;
        }
        trials.push(Trial::test(name, move || chapter(&page)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
