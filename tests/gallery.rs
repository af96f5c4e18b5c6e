//! `docs/messages.md` shows what `ravel` says of the programs in `diagnostics`, by theme. `RAVEL_BLESS=1` makes it anew.
//!
//! The programs are given to `ravel` without the comments that say what is expected; of several reports the first is shown.

use std::fs;
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Trial, finish, ravel, repository};

/// Themes, and the programs of each.
const THEMES: [(&str, &str, &[&str]); 6] = [
    (
        "Shapes",
        "A label for each argument, and for the place where its shape comes from.",
        &[
            "shape-mismatch-static",
            "pattern-mismatch-static",
            "views-that-do-not-fit",
            "reshape-count-static",
            "index-out-of-range-static",
        ],
    ),
    (
        "From NumPy",
        "What one types by habit is answered in the words of that habit, with what to type here.",
        &[
            "newcomers/np-zeros",
            "newcomers/slice",
            "newcomers/broadcasting-row",
            "newcomers/matmul-operator",
            "newcomers/attribute-shape",
            "newcomers/negative-index",
            "newcomers/power-operator",
            "newcomers/for-in-range",
        ],
    ),
    (
        "From C",
        "",
        &[
            "newcomers/array-declarator",
            "newcomers/pointer",
            "newcomers/increment-in-expression",
            "newcomers/missing-semicolon",
            "newcomers/break",
            "newcomers/printf-conversion",
        ],
    ),
    (
        "Names and types",
        "",
        &[
            "missing-use-is-one-error",
            "unknown-variable",
            "conversion-help",
            "undefined-in-one-branch",
            "module-of-2024-is-named",
        ],
    ),
    (
        "Warnings",
        "[Lints](tools/lints.md) has the list.",
        &["lints/integer-division-to-real", "lints/shadowed-index", "lints/unused-variable", "int-wraps"],
    ),
    (
        "While it runs",
        "What cannot be known before is checked, and reported at its line.",
        &["run-index-out-of-range", "run-condition-fails", "run-shape-mismatch"],
    ),
];

const HEAD: &str = "# What messages look like

Each of these is what the compiler says of a program in `tests/diagnostics`, of several reports the first; a test keeps the page up to date. `ravel explain CODE`, or the
[page of the code](errors/README.md), has the rule, a program and the program mended. `[--fix]` marks what `ravel check --fix` does by itself.
";

/// A program without what its comments expect.
fn bare(text: &str) -> String {
    let line = |line: &str| {
        let end = line.find("//~").or_else(|| line.find("//?")).unwrap_or(line.len());
        line[..end].trim_end().to_string() + "\n"
    };
    text.lines().map(line).collect()
}

/// The first report about a program.
fn report(name: &str) -> Result<String, Failed> {
    let text = fs::read_to_string(repository().join(format!("tests/diagnostics/{name}.sac")))?;
    let folder = tempfile::tempdir()?;
    let file = format!("{}.sac", name.rsplit('/').next().unwrap_or(name));
    fs::write(folder.path().join(&file), bare(&text))?;
    let head = text.lines().next().unwrap_or_default();
    let mut command = Command::new(ravel());
    if head.starts_with("//! run") {
        command.arg("run");
    } else {
        let options = head.strip_prefix("//! accepted").unwrap_or_default();
        command.arg("check").args(options.split_whitespace());
    }
    let run = finish(command.arg(&file).current_dir(folder.path()), b"")?;
    // Errors before warnings, as the theme is about them.
    let reports: Vec<&str> = run.stderr.split("\n\n").map(str::trim).collect();
    let is_error = |report: &&&str| report.contains("] Error: ") || report.contains(": fault");
    let first = reports.iter().find(is_error).or(reports.first()).copied().unwrap_or_default();
    let first: Vec<&str> = first.lines().map(str::trim_end).collect();
    if run.crashed() || first.is_empty() {
        return Err(format!("{name}: {}", run.describe()).into());
    }
    Ok(first.join("\n"))
}

fn page() -> Result<String, Failed> {
    let mut page = HEAD.to_string();
    for (theme, about, names) in THEMES {
        page.push_str(&format!("\n## {theme}\n"));
        if !about.is_empty() {
            page.push_str(&format!("\n{about}\n"));
        }
        for name in names {
            page.push_str(&format!("\n```text\n{}\n```\n", report(name)?));
        }
    }
    Ok(page)
}

fn up_to_date() -> Result<(), Failed> {
    let path = repository().join("docs/messages.md");
    let made = page()?;
    if std::env::var_os("RAVEL_BLESS").is_some() {
        fs::write(&path, &made)?;
    }
    if fs::read_to_string(&path).is_ok_and(|there| there == made) {
        Ok(())
    } else {
        Err(format!("docs/messages.md is not what `ravel` says; RAVEL_BLESS=1 makes it anew:\n{made}").into())
    }
}

fn main() -> ExitCode {
    let trials = vec![Trial::test("messages are up to date", up_to_date)];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
