//! The pages of `docs/errors`: every code has one, and each page is true. Its first program is reported with the page's code
//! and no other, its mended one is not reported at all and runs. Where a page shows what a fault says, its program says that. How a
//! page is written stands in `docs/errors/README.md`, whose rows are made of the table of codes: `RAVEL_BLESS=1` writes them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, ravel, repository};

/// Pages are read in terminals.
const WIDTH: usize = 100;

/// What a program is given to.
#[derive(Clone, Copy, Default, PartialEq)]
enum Way {
    #[default]
    Check,
    Run,
    Prompt,
}

/// A program of a page: its files by name.
#[derive(Clone, Default)]
struct Program {
    files: BTreeMap<String, String>,
    /// The file that `ravel` is given.
    root: String,
    way: Way,
    options: Vec<String>,
    /// Codes that come with the page's own.
    others: BTreeSet<String>,
}

/// The words behind the backticks of a block; blanks in quotes do not separate.
fn words(info: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in info.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().expect("there is one from the start").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The part of a page below a heading.
fn section<'a>(page: &'a str, heading: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n"))?;
    Some(rest.split_once("\n## ").map_or(rest, |(inside, _)| inside))
}

/// The programs of a section: what each block is for, and its text. Blocks of TOML are manifests.
fn blocks(section: &str) -> impl Iterator<Item = (String, &str)> {
    let fenced = section.split("\n```").skip(1).step_by(2);
    fenced.filter_map(|block| {
        let (info, text) = block.split_once('\n')?;
        match info.strip_prefix("toml") {
            Some(info) if info.contains("file=") => Some((info.trim().to_string(), text)),
            Some(info) => Some((format!("file=ravel.toml {}", info.trim()), text)),
            None => Some((info.strip_prefix('c')?.trim().to_string(), text)),
        }
    })
}

impl Program {
    /// Adds the blocks of a section. What it does not show again stays as it was.
    fn extend(&mut self, section: &str) -> Result<(), Failed> {
        for (info, text) in blocks(section) {
            let mut text = format!("{text}\n");
            let mut name = None;
            for word in words(&info) {
                match word.split_once('=').unwrap_or((&word, "")) {
                    ("module", module) => name = Some(format!("{module}.sac")),
                    ("file", file) => name = Some(file.to_string()),
                    ("length", length) => {
                        let missing = length.parse::<usize>()?.saturating_sub(text.len());
                        text.push_str(&" ".repeat(missing));
                    }
                    ("options", options) => self.options = options.split(' ').map(str::to_string).collect(),
                    ("also", code) => drop(self.others.insert(code.to_string())),
                    ("run", "") => self.way = Way::Run,
                    ("prompt", "") => self.way = Way::Prompt,
                    _ => return Err(format!("a block with the unknown word `{word}`").into()),
                }
            }
            let name = name.unwrap_or_else(|| {
                let module = text.strip_prefix("module ").and_then(|rest| rest.split(';').next());
                self.root = format!("{}.sac", module.unwrap_or("program"));
                self.root.clone()
            });
            self.files.insert(name, text);
        }
        if self.root.is_empty() { Err("there is no program".into()) } else { Ok(()) }
    }

    fn try_out(&self, way: Way) -> Result<Finished, Failed> {
        let folder = tempfile::tempdir()?;
        for (name, text) in &self.files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
            fs::write(path, text)?;
        }
        let mut command = Command::new(ravel());
        command.current_dir(folder.path());
        let input = match way {
            Way::Check => command.arg("check").args(&self.options).arg(&self.root),
            Way::Run => command.arg("run").args(&self.options).arg(&self.root),
            Way::Prompt => command.arg("repl").args(&self.options),
        };
        let typed = if way == Way::Prompt { self.files[&self.root].as_bytes() } else { b"" };
        let run = finish(input, typed)?;
        if run.crashed() { Err(run.describe().into()) } else { Ok(run) }
    }

    /// The codes that are reported, and all that was written of them.
    fn reports(&self, way: Way) -> Result<(BTreeSet<String>, String), Failed> {
        let run = self.try_out(way)?;
        // What only a run can know is said by a fault.
        let named = |line| match way {
            Way::Run => str::strip_prefix(line, '[').or_else(|| Some(line.split_once(": fault [")?.1)),
            _ => line.strip_prefix('['),
        };
        let found = run.stderr.lines().filter_map(|line| code(named(line)?)).collect();
        let is_silent = run.status == 0 && run.stderr.is_empty();
        Ok((found, if is_silent { String::new() } else { run.describe() }))
    }
}

/// The code at the start of a text: a letter and four digits.
fn code(text: &str) -> Option<String> {
    let code = text.get(..5)?;
    let is_code = code.starts_with(['E', 'W']) && code[1..].bytes().all(|byte| byte.is_ascii_digit());
    let ends = text[5..].chars().next().is_none_or(|next| !next.is_alphanumeric() && next != '_');
    (is_code && ends).then(|| code.to_string())
}

fn check_page(page: &Path, title: &str) -> Result<(), Failed> {
    let code = page.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(page)?;
    if !text.starts_with(&format!("# {code}: {title}\n\n## What it means\n")) {
        return Err(format!("the page does not begin with `# {code}: {title}` and `## What it means`").into());
    }
    if let Some(line) = text.lines().find(|line| line.chars().count() > WIDTH) {
        return Err(format!("a line of more than {WIDTH} characters:\n{line}").into());
    }
    let explained = finish(Command::new(ravel()).args(["explain", &code]), b"")?;
    if explained.stdout != text {
        return Err(format!("`ravel explain {code}` does not print the page: {}", explained.describe()).into());
    }
    let wrong = section(&text, "A program that has it").ok_or("the page has no program")?;
    let right = section(&text, "Mended").ok_or("the page has no mended program")?;
    let mut program = Program::default();
    program.extend(wrong)?;
    if let Some(section) = section(&text, "At run time") {
        check_fault(section, &code)?;
    }
    program.others.insert(code);
    let (found, written) = program.reports(program.way)?;
    if found != program.others {
        return Err(format!("the program gives {found:?}, expected {:?}: {written}", program.others).into());
    }
    program.extend(right)?;
    let is_program = program.files[&program.root].contains("int main()");
    let ways: &[Way] = match program.way {
        Way::Prompt => &[Way::Prompt],
        // `check` has not all options of `run`.
        Way::Run if !program.options.is_empty() => &[Way::Run],
        _ if is_program => &[Way::Check, Way::Run],
        _ => &[Way::Check],
    };
    for way in ways {
        let (_, written) = program.reports(*way)?;
        if !written.is_empty() {
            return Err(format!("the mended program: {written}").into());
        }
    }
    Ok(())
}

/// Whether the program of a section says what its block `text` has, when it runs.
fn check_fault(section: &str, code: &str) -> Result<(), Failed> {
    let says = section.split("\n```").skip(1).step_by(2).find_map(|block| block.strip_prefix("text\n"));
    let says = says.ok_or("nothing tells what the fault says")?;
    if !says.contains(&format!(": fault [{code}]: ")) {
        return Err(format!("this is no fault of {code}: {says}").into());
    }
    let mut program = Program::default();
    program.extend(section)?;
    let (_, reported) = program.reports(Way::Check)?;
    if !reported.is_empty() {
        return Err(format!("the program that faults: {reported}").into());
    }
    let run = program.try_out(Way::Run)?;
    if run.stderr.trim_end() == says.trim_end() {
        return Ok(());
    }
    Err(format!("expected the fault\n{says}\ngot {}", run.describe()).into())
}

/// The rows of the index: codes with their titles.
fn index() -> Result<BTreeMap<String, String>, Failed> {
    let text = fs::read_to_string(repository().join("docs/errors/README.md"))?;
    let mut rows = BTreeMap::new();
    for row in text.lines().filter(|line| line.starts_with("| [")) {
        let mut cells = row.trim_matches('|').split(" | ");
        let (link, title) = (cells.next().unwrap_or_default().trim(), cells.next().unwrap_or_default().trim());
        let code = link.get(1..6).unwrap_or_default();
        if link != format!("[{code}]({code}.md)") {
            return Err(format!("not a row of the index: {row}").into());
        }
        if rows.insert(code.to_string(), title.to_string()).is_some() {
            return Err(format!("{code} has two rows").into());
        }
    }
    Ok(rows)
}

/// The codes of the compiler with their titles, as `ravel explain` lists them.
fn codes() -> Result<BTreeMap<String, String>, Failed> {
    let listed = finish(Command::new(ravel()).arg("explain"), b"")?;
    let rows: Option<_> = listed.stdout.lines().map(|line| line.split_once("  ")).collect();
    let rows: Vec<(&str, &str)> = rows.ok_or_else(|| listed.describe())?;
    if rows.len() < 100 {
        return Err(format!("`ravel explain` lists few codes: {}", listed.describe()).into());
    }
    Ok(rows.into_iter().map(|(code, title)| (code.to_string(), title.to_string())).collect())
}

/// The index with the titles of the table, and with a row for every code: below the one before it.
fn made_anew(codes: &BTreeMap<String, String>) -> Result<String, Failed> {
    let text = fs::read_to_string(repository().join("docs/errors/README.md"))?;
    let code_of = |line: &str| line.strip_prefix("| [").and_then(|rest| rest.get(..5)).map(String::from);
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    lines.retain(|line| code_of(line).is_none_or(|code| codes.contains_key(&code)));
    for (code, title) in codes {
        let row = format!("| [{code}]({code}.md) | {title} |");
        match lines.iter().position(|line| code_of(line).as_ref() == Some(code)) {
            Some(at) => lines[at] = row,
            None => {
                let before = lines.iter().rposition(|line| code_of(line).is_some_and(|other| other < *code));
                lines.insert(before.ok_or("the index has no rows")? + 1, row);
            }
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// Codes, pages and rows of the index belong together.
fn every_code_has_a_page(codes: &BTreeMap<String, String>, pages: &BTreeSet<String>) -> Result<(), Failed> {
    if std::env::var_os("RAVEL_BLESS").is_some() {
        fs::write(repository().join("docs/errors/README.md"), made_anew(codes)?)?;
    }
    let rows = index()?;
    let mut faults = Vec::new();
    for (code, title) in codes {
        if !pages.contains(code) {
            faults.push(format!("{code} has no page"));
        }
        if rows.get(code) != Some(title) {
            faults.push(format!("the index does not have {code} with the title `{title}`"));
        }
    }
    for code in pages.iter().chain(rows.keys()) {
        if !codes.contains_key(code) {
            faults.push(format!("there is no code {code}"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

fn main() -> ExitCode {
    let folder = repository().join("docs/errors");
    let mut files = files_below(&folder, "md");
    files.retain(|path| !path.ends_with("README.md"));
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let pages: BTreeSet<String> = files.iter().map(stem).collect();
    let codes = codes();
    let titles = codes.clone().unwrap_or_default();
    let mut trials = vec![Trial::test("every code has a page", move || every_code_has_a_page(&codes?, &pages))];
    for page in files {
        let name = stem(&page);
        let title = titles.get(&name).cloned().unwrap_or_default();
        trials.push(Trial::test(name, move || check_page(&page, &title)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
