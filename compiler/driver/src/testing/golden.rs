//! Programs with a recorded output: `NAME.out` beside `NAME.sac`, perhaps with `.in`, `.args` and `.status`.

use super::child::{self, Limits};
use super::follow::file_outcome;
use super::{Kind, Outcome, Settings};
use crate::backend::Backend;
use ravel_runtime::inputs;
use ravel_runtime::outputs::{self, Folder};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Runs the program of a file and compares what it writes.
///
/// # Errors
/// It cannot be started.
pub fn run(settings: &Settings, program: &Path, file: &Path, backend: Backend) -> Result<Vec<Outcome>, String> {
    let name = file.file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let mut outcome = Outcome { name, kind: Kind::Golden, line: 1, passed: true, ..file_outcome(file, String::new()) };
    if !super::admits(settings.filter.as_deref(), file, &outcome.name) {
        return Ok(Vec::new());
    }
    if settings.list {
        return Ok(vec![outcome]);
    }
    let folder = Folder::temporary().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    let companion = |extension| inputs::read(&file.with_extension(extension)).unwrap_or_default();
    let mut command = Command::new(program);
    command.arg("run").args(&settings.source).args(["--backend", backend.name()]);
    command.args(["--threads", &settings.threads.to_string()]).arg(file);
    command.args(String::from_utf8_lossy(&companion("args")).split_whitespace());
    let start = Instant::now();
    let limits = Limits { most: settings.most, input: &companion("in"), folder: folder.path(), together: false };
    let finished = child::finish(&mut command, &limits).map_err(|error| format!("cannot start a child: {error}"))?;
    outcome.time = start.elapsed();
    let wanted_status: i32 = String::from_utf8_lossy(&companion("status")).trim().parse().unwrap_or(0);
    let wanted = companion("out");
    let why = match finished.status {
        Err(why) => Some(why),
        // Who blesses means the output; a program that does not compile has none.
        Ok(status) if status != wanted_status => {
            Some(format!("exit status {status}, expected {wanted_status} (what stands in .status, or 0)\n"))
        }
        Ok(_) if settings.bless && wanted == finished.output => None,
        Ok(_) if settings.bless => {
            let path = file.with_extension("out");
            let written = outputs::write(&path, &finished.output);
            written.err().map(|why| format!("cannot write {}: {why}\n", path.display()))
        }
        Ok(_) => {
            let (wanted, found) = (String::from_utf8_lossy(&wanted), String::from_utf8_lossy(&finished.output));
            difference(&wanted, &found, settings.tolerance)
        }
    };
    if let Some(why) = why {
        outcome.passed = false;
        outcome.message = why;
        outcome.output = String::from_utf8_lossy(&finished.errors).into_owned();
    }
    Ok(vec![outcome])
}

/// The first line that differs, if any. With a tolerance, numbers may differ by so much in relation to what is expected.
fn difference(wanted: &str, found: &str, tolerance: Option<f64>) -> Option<String> {
    if wanted == found {
        return None;
    }
    let (mut left, mut right) = (wanted.lines(), found.lines());
    for line in 1.. {
        let (want, have) = (left.next(), right.next());
        match (want, have) {
            (None, None) => break,
            (Some(want), Some(have)) if want == have || tolerance.is_some_and(|t| near(want, have, t)) => {}
            _ => {
                let shown = |text: Option<&str>| text.map_or("(the end)".to_string(), str::to_string);
                return Some(format!(
                    "line {line} of the output\nexpected {}\n   found {}\n",
                    shown(want),
                    shown(have)
                ));
            }
        }
    }
    let ends = |text: &str| if text.ends_with('\n') { "with" } else { "without" };
    let differs = ends(wanted) != ends(found) && tolerance.is_none();
    differs.then(|| format!("the output ends {} a line break, expected {} it\n", ends(found), ends(wanted)))
}

/// Whether two lines are equal but for numbers that are close.
fn near(wanted: &str, found: &str, tolerance: f64) -> bool {
    let pieces = |text: &str| -> Vec<String> {
        let is_split = |c: char| c.is_whitespace() || "[](){},:;=".contains(c);
        text.split_inclusive(is_split)
            .flat_map(|piece| {
                let body = piece.trim_end_matches(is_split);
                [body.to_string(), piece[body.len()..].trim().to_string()]
            })
            .filter(|piece| !piece.is_empty())
            .collect()
    };
    let (wanted, found) = (pieces(wanted), pieces(found));
    let is_near = |(want, have): (&String, &String)| match (want.parse::<f64>(), have.parse::<f64>()) {
        (Ok(want), Ok(have)) => want == have || (want - have).abs() <= tolerance * want.abs().max(f64::MIN_POSITIVE),
        _ => want == have,
    };
    wanted.len() == found.len() && wanted.iter().zip(&found).all(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_may_differ_by_the_tolerance() {
        let differs = |wanted, found, tolerance| difference(wanted, found, tolerance).is_some();
        assert!(!differs("a 1.5\n", "a 1.5\n", None) && differs("a 1.5\n", "a 1.50001\n", None));
        assert!(!differs("x=[1.5,2]\n", "x=[1.50001, 2]\n", Some(1e-4)) && differs("1.5\n", "1.6\n", Some(1e-4)));
        assert!(differs("a\n", "b\n", Some(1.0)) && differs("1\n2\n", "1\n", Some(1.0)) && differs("a\n", "a", None));
        let why = difference("1\n2\n", "1\n3\n", None);
        assert_eq!(why.as_deref(), Some("line 2 of the output\nexpected 2\n   found 3\n"));
    }
}
