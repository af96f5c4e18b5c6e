//! Transcripts as tests: a session of the prompt goes through them, in the folder that `ravel test` was started in.

use super::child::{self, Limits};
use super::follow::file_outcome;
use super::transcript::{self, Block};
use super::{Kind, Outcome, Settings};
use ravel_runtime::outputs::Folder;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The transcripts of a file, as sessions. Those of a page are one, and so are those in the comments of a SaC file: they are read from top to
/// bottom, and a later one uses what an earlier one has made.
pub fn sessions(file: &Path, text: &str) -> Vec<Vec<Block>> {
    let sessions = match file.extension().and_then(|extension| extension.to_str()) {
        Some("md") => vec![transcript::of_page(text)],
        Some("sac") => vec![transcript::of_comments(text)],
        Some("txt") => vec![transcript::of_text(text).into_iter().collect()],
        _ => Vec::new(),
    };
    sessions.into_iter().filter(|blocks: &Vec<Block>| !blocks.is_empty()).collect()
}

/// Runs the transcripts of a file.
///
/// # Errors
/// The prompt cannot be started.
pub fn run(settings: &Settings, program: &Path, file: &Path) -> Result<Vec<Outcome>, String> {
    let text = match crate::files::read_text(file) {
        Ok(text) => text,
        Err(why) => return Ok(vec![file_outcome(file, format!("it cannot be read: {why}\n"))]),
    };
    let mut outcomes = Vec::new();
    for blocks in sessions(file, &text) {
        outcomes.extend(session(settings, program, file, &text, &blocks)?);
    }
    Ok(outcomes)
}

fn session(
    settings: &Settings,
    program: &Path,
    file: &Path,
    text: &str,
    blocks: &[Block],
) -> Result<Vec<Outcome>, String> {
    let name = |block: &Block| format!("example_{}", block.line);
    let is_meant = |block: &Block| super::admits(settings.filter.as_deref(), file, &name(block));
    if !blocks.iter().any(is_meant) {
        return Ok(Vec::new());
    }
    let outcome = |block: &Block| Outcome {
        name: name(block),
        kind: Kind::Example,
        line: block.line,
        passed: true,
        ..file_outcome(file, String::new())
    };
    let mut outcomes: Vec<Outcome> = blocks.iter().map(outcome).collect();
    if !settings.list {
        let folder = Folder::temporary().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
        let mut command = Command::new(program);
        // The prompt has no options for packages.
        let source = settings.source.iter().filter(|option| *option != "--offline" && *option != "--locked");
        command.arg("repl").args(source).args(["--threads", &settings.threads.to_string()]);
        let input = format!("{}{}", before(file, text, &mut command), transcript::session(blocks));
        let start = Instant::now();
        let limits = Limits { most: settings.most, input: input.as_bytes(), folder: folder.path(), together: true };
        let finished =
            child::finish(&mut command, &limits).map_err(|error| format!("cannot start a child: {error}"))?;
        let written = String::from_utf8_lossy(&finished.output).into_owned();
        let judged = transcript::compare(blocks, &written);
        for (outcome, wrong) in outcomes.iter_mut().zip(judged) {
            outcome.time = start.elapsed() / u32::try_from(blocks.len()).unwrap_or(1);
            outcome.passed = wrong.is_none();
            outcome.message = wrong.unwrap_or_default();
            if let Err(why) = &finished.status
                && !outcome.passed
            {
                outcome.message.push_str(why);
            }
        }
    }
    Ok(outcomes.into_iter().zip(blocks).filter(|(_, block)| is_meant(block)).map(|(outcome, _)| outcome).collect())
}

/// What a session has to be told before the examples of a SaC file work: its module, or its definitions.
fn before(file: &Path, text: &str, command: &mut Command) -> String {
    if file.extension().is_none_or(|extension| extension != "sac") {
        return String::new();
    }
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        command.arg("-I").arg(folder);
    }
    match crate::files::module_of(text) {
        Some(module) => format!("use {module}: all;\n"),
        None => format!(":load {}\n", file.display()),
    }
}
