//! The pages that say how Ravel is made: their links lead somewhere, and every crate and every room has a page, a short one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravel_tests::{Failed, finish, ravel, repository};

/// A page of a crate or a room is read as a whole.
const LONGEST: usize = 60;

/// Crates whose modules stand in rooms: folders of `src` with a topic each.
const WITH_ROOMS: [&str; 3] = ["specialize", "opt", "schedule"];

/// Folders whose pages are not the project's, or are written by what runs there.
const NOT_OURS: [&str; 3] = ["target", "out", ".git"];

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if !NOT_OURS.iter().any(|other| name == *other) {
                pages(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The lines of a page outside of fenced code, without code between backticks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            kept.extend(line.split('`').step_by(2));
            kept.push('\n');
        }
    }
    kept
}

/// The targets of `[text](target)`.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '\n']).next())
}

/// What a heading is called in links, as GitHub and the usual renderers have it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_anchor(page: &Path, wanted: &str) -> bool {
    let text = fs::read_to_string(page).unwrap_or_default();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    text.contains(&format!("id=\"{wanted}\""))
        || headings.into_iter().any(|h| anchor(h.trim_start_matches('#')) == wanted)
}

#[test]
fn links_lead_to_files() {
    let root = repository();
    let mut all = Vec::new();
    pages(&root, &mut all);
    assert!(all.len() > 40, "the pages are not there");
    let mut broken = Vec::new();
    for page in all {
        let text = fs::read_to_string(&page).unwrap_or_default();
        let folder = page.parent().unwrap_or(&root);
        for link in links(&prose(&text)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, wanted) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { folder.join(path) };
            let is_whole =
                wanted.is_empty() || target.extension().is_none_or(|e| e != "md") || has_anchor(&target, wanted);
            if !target.exists() || !is_whole {
                broken.push(format!("{}: {link}", page.strip_prefix(&root).unwrap_or(&page).display()));
            }
        }
    }
    broken.sort();
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn crates_and_rooms_have_a_short_page() {
    let root = repository();
    let folders = |of: &Path| -> Vec<PathBuf> {
        let mut all: Vec<_> = fs::read_dir(of).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        all.retain(|path| path.is_dir());
        all.sort();
        all
    };
    let compiler = root.join("compiler");
    let mut wanted = folders(&compiler);
    wanted.retain(|folder| folder.join("Cargo.toml").exists());
    assert!(wanted.len() > 15, "the crates are not there");
    wanted.push(root.join("runtime"));
    for name in WITH_ROOMS {
        let mut rooms = folders(&compiler.join(name).join("src"));
        rooms.retain(|folder| folder.join("mod.rs").exists());
        assert!(!rooms.is_empty(), "{name} has no rooms");
        wanted.append(&mut rooms);
    }
    let mut wrong = Vec::new();
    for folder in wanted {
        let shown = folder.strip_prefix(&root).unwrap_or(&folder).display().to_string();
        match fs::read_to_string(folder.join("README.md")) {
            Err(_) => wrong.push(format!("{shown} has no README.md")),
            Ok(text) if text.lines().count() > LONGEST => {
                wrong.push(format!("{shown}/README.md has {} lines, more than {LONGEST}", text.lines().count()));
            }
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The text with every run of white space as one blank.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_example_of_the_architecture_is_what_ravel_prints() -> Result<(), Failed> {
    let page = fs::read_to_string(repository().join("docs/ARCHITECTURE.md"))?;
    let block = |head: &str| -> Option<&str> {
        let (_, rest) = page.split_once(head)?;
        let (_, rest) = rest.split_once("```")?;
        let (_, rest) = rest.split_once('\n')?;
        Some(rest.split_once("```")?.0)
    };
    let function = block("## One parameter").ok_or("the page has no program")?;
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("scaled.sac");
    let main = "int main() { print(scaled(tod(iota(1000)), 2.5)); return 0; }";
    fs::write(&program, format!("use StdIO: all;\nuse Array: all;\n{function}\n{main}\n"))?;
    for stage in ["wir", "wir-opt", "schedule"] {
        let shown = block(&format!("(`{stage}`)")).ok_or_else(|| format!("the page has no {stage}"))?;
        let output = finish(Command::new(ravel()).args(["build", "--emit", stage]).arg(&program), b"")?;
        let printed = words(&output.stdout);
        for line in shown.lines() {
            if !printed.contains(&words(line)) {
                return Err(format!("--emit {stage} does not print\n{line}\nbut\n{}", output.stdout).into());
            }
        }
    }
    Ok(())
}

/// Every page that shows a function of WIR shows one that `ravel` reads.
#[test]
fn texts_of_wir_are_read() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("page.wir");
    for page in ["docs/internals/wir.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(repository().join(page))?;
        let function = text.split("```").find(|block| block.contains("\nfunc @")).ok_or("the page has no function")?;
        let body = function.split_once("func @").map_or("", |(_, body)| body);
        let body = body.split("\n====").next().unwrap_or_default();
        fs::write(&file, format!("func @{body}\n"))?;
        let read = finish(Command::new(ravel()).args(["opt", "--passes", "dce"]).arg(&file), b"")?;
        if read.status != 0 {
            return Err(format!("{page}: {}", read.describe()).into());
        }
    }
    Ok(())
}
