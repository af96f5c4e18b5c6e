//! What came of tests, for people and for programs.

use super::Outcome;
use serde_json::json;
use std::fmt::Write;
use std::time::Duration;

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A line for each file, and what failed.
    #[default]
    Human,
    /// An object a line.
    Json,
}

impl Format {
    pub const ALL: [(&'static str, Format); 2] = [("human", Format::Human), ("json", Format::Json)];
}

/// What people read of the tests of one file.
pub fn human(outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    for outcome in outcomes.iter().filter(|outcome| !outcome.passed) {
        let place = outcome.file.display();
        match outcome.line {
            0 => _ = writeln!(out, "FAILED {place}"),
            line => _ = writeln!(out, "FAILED {place}:{line}: {}", outcome.name),
        }
        indent(&mut out, &outcome.message);
        if !outcome.output.is_empty() {
            out.push_str("  it wrote\n");
            indent(&mut out, &outcome.output);
        }
        out.push('\n');
    }
    if let Some(file) = outcomes.first().map(|outcome| outcome.file.display()) {
        let time: Duration = outcomes.iter().map(|outcome| outcome.time).sum();
        let _ = writeln!(out, "{file}: {} ({:.0} ms)", counts(outcomes), time.as_secs_f64() * 1e3);
    }
    out
}

fn indent(out: &mut String, text: &str) {
    for line in text.trim_end().lines() {
        match line.is_empty() {
            true => out.push('\n'),
            false => _ = writeln!(out, "  {line}"),
        }
    }
}

fn counts(outcomes: &[Outcome]) -> String {
    let passed = outcomes.iter().filter(|outcome| outcome.passed).count();
    match outcomes.len() - passed {
        0 => format!("{passed} passed"),
        failed => format!("{passed} passed, {failed} failed"),
    }
}

/// The last line.
pub fn summary(passed: usize, failed: usize) -> String {
    format!("{passed} passed, {failed} failed\n")
}

/// An object for each test.
pub fn json(outcomes: &[Outcome]) -> String {
    let line = |outcome: &Outcome| {
        let value = json!({
            "file": outcome.file.display().to_string(),
            "line": outcome.line,
            "name": outcome.name,
            "kind": outcome.kind.name(),
            "passed": outcome.passed,
            "seconds": outcome.time.as_secs_f64(),
            "message": outcome.message,
            "output": outcome.output,
        });
        format!("{value}\n")
    };
    outcomes.iter().map(line).collect()
}

/// All results as XML in the form that began with JUnit: a suite for each file.
pub fn junit(files: &[Vec<Outcome>]) -> String {
    let all = files.iter().flatten();
    let failed = all.clone().filter(|outcome| !outcome.passed).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ =
        writeln!(out, "<testsuites tests=\"{}\" failures=\"{failed}\" time=\"{}\">", all.clone().count(), time(all));
    for outcomes in files.iter().filter(|outcomes| !outcomes.is_empty()) {
        let name = escaped(&outcomes[0].file.display().to_string());
        let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
        let (count, time) = (outcomes.len(), time(outcomes.iter()));
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{count}\" failures=\"{failed}\" errors=\"0\" time=\"{time}\">"
        );
        for outcome in outcomes {
            let test = if outcome.name.is_empty() { outcome.kind.name() } else { &outcome.name };
            let _ = write!(
                out,
                "    <testcase name=\"{}\" classname=\"{name}\" file=\"{name}\" line=\"{}\" time=\"{:.6}\"",
                escaped(test),
                outcome.line,
                outcome.time.as_secs_f64()
            );
            if outcome.passed && outcome.output.is_empty() {
                out.push_str("/>\n");
                continue;
            }
            out.push_str(">\n");
            if !outcome.passed {
                let first = escaped(outcome.message.lines().next().unwrap_or_default());
                let _ = writeln!(out, "      <failure message=\"{first}\">{}</failure>", escaped(&outcome.message));
            }
            if !outcome.output.is_empty() {
                let _ = writeln!(out, "      <system-out>{}</system-out>", escaped(&outcome.output));
            }
            out.push_str("    </testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn time<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> String {
    format!("{:.6}", outcomes.map(|outcome| outcome.time.as_secs_f64()).sum::<f64>())
}

/// A text as XML has it. Characters that XML 1.0 cannot name become question marks.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Kind;

    fn outcome(name: &str, passed: bool, message: &str) -> Outcome {
        Outcome {
            file: "a&b.sac".into(),
            name: name.to_string(),
            kind: Kind::Unit,
            line: 3,
            passed,
            time: Duration::from_millis(2),
            message: message.to_string(),
            output: String::new(),
            measured: None,
        }
    }

    #[test]
    fn xml_escapes_what_it_cannot_hold() {
        let text = junit(&[vec![outcome("test_a", true, ""), outcome("test_b", false, "1 < 2\u{1}\n\"x\"")], vec![]]);
        assert!(text.contains("<testsuites tests=\"2\" failures=\"1\""), "{text}");
        assert!(text.contains("message=\"1 &lt; 2?\">1 &lt; 2?&#10;&quot;x&quot;</failure>"), "{text}");
        assert!(text.contains("name=\"a&amp;b.sac\""), "{text}");
    }

    #[test]
    fn people_see_what_failed_and_counts() {
        let text = human(&[outcome("test_a", true, ""), outcome("test_b", false, "no\n\nwhy\n")]);
        assert_eq!(text, "FAILED a&b.sac:3: test_b\n  no\n\n  why\n\na&b.sac: 1 passed, 1 failed (4 ms)\n");
        assert_eq!(human(&[]), "");
    }
}
