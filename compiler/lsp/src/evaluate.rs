//! Comments that are inputs: `// > f(3)`, with what comes of them in lines `// = ...` below.
//!
//! A session in a process of its own takes the file's definitions, the inputs above, and then the one that is asked for.

use serde_json::{Value, json};
use std::ops::Range;

/// What a session may take.
pub const SECONDS: u64 = 10;
pub const MEMORY: u64 = 1 << 30;

/// What an input begins with, behind `//`.
const INPUT: &str = ">";
/// What a line of a result begins with.
const RESULT: &str = "=";
/// Lines of a result.
const MOST_LINES: usize = 30;
/// Characters of a line of a result.
const MOST_CHARACTERS: usize = 160;

/// An input, from 0 in lines of the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub lines: Range<usize>,
    /// Of its result so far.
    pub results: Range<usize>,
    pub code: String,
    /// The white space in front of the comment.
    pub indent: String,
}

/// What stands behind `//` and a sign, if a line is that.
fn behind<'t>(line: &'t str, sign: &str) -> Option<&'t str> {
    let rest = line.trim_start().strip_prefix("//")?.trim_start_matches([' ', '\t']).strip_prefix(sign)?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim())
}

/// The inputs of a text. Lines that follow each other are one.
pub fn inputs(text: &str) -> Vec<Input> {
    let mut found: Vec<Input> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let next = found.last_mut().filter(|last| last.results.end == number);
        if let Some(code) = behind(line, INPUT) {
            match next.filter(|last| last.results.is_empty()) {
                Some(last) => {
                    last.code.push_str(&format!("\n{code}"));
                    last.lines.end = number + 1;
                    last.results = number + 1..number + 1;
                }
                None => found.push(Input {
                    lines: number..number + 1,
                    results: number + 1..number + 1,
                    code: code.to_string(),
                    indent: line[..line.len() - line.trim_start().len()].to_string(),
                }),
            }
        } else if behind(line, RESULT).is_some()
            && let Some(last) = next
        {
            last.results.end = number + 1;
        }
    }
    found
}

/// What a session is sent: definitions, what is above, and the input itself with the last number.
pub fn requests(definitions: &str, inputs: &[Input]) -> String {
    let codes = std::iter::once(definitions).chain(inputs.iter().map(|input| input.code.as_str()));
    let lines = codes.enumerate().map(|(id, code)| format!("{}\n", json!({ "id": id, "do": "execute", "code": code })));
    lines.collect()
}

/// What is wrong with the definitions, which nothing below can do without.
pub fn broken(answers: &str) -> Option<String> {
    let mut answers = answers.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let error = answers.find(|answer| answer["id"] == 0 && answer["type"] == "error")?;
    Some(error["text"].as_str().unwrap_or_default().to_string())
}

/// What a session said to the input of this number, or why it never got there.
pub fn outcome(answers: &str, last: usize) -> Result<String, String> {
    let (mut text, mut is_done, mut above) = (String::new(), false, None);
    let answers = answers.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for answer in answers {
        let is_last = answer["id"] == last;
        let part = match answer["type"].as_str() {
            Some("stdout" | "stderr") => answer["text"].as_str(),
            Some("display") => answer["data"]["text/plain"].as_str(),
            Some("error") => answer["title"].as_str(),
            Some("done") => {
                is_done |= is_last;
                None
            }
            _ => None,
        };
        let Some(part) = part else { continue };
        if is_last {
            // A value begins on a line of its own.
            if answer["type"] != "stdout" && !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(part);
        } else if answer["type"] == "error" {
            above.get_or_insert_with(|| part.to_string());
        }
    }
    match (is_done, above) {
        (true, _) => Ok(text),
        (false, Some(why)) => Err(format!("an input above fails: {why}")),
        (false, None) => Err("the session ended too early".to_string()),
    }
}

/// A result as lines behind its input.
pub fn lines(input: &Input, result: &str) -> String {
    let all: Vec<&str> = result.trim_end().lines().collect();
    let mut shown: Vec<String> = Vec::new();
    for line in all.iter().take(MOST_LINES) {
        let short: String = line.chars().take(MOST_CHARACTERS).collect();
        let rest = if short.len() < line.len() { " ..." } else { "" };
        shown.push(format!("{short}{rest}"));
    }
    if all.len() > MOST_LINES {
        shown.push(format!("... {} more lines", all.len() - MOST_LINES));
    }
    let comments = shown.iter().map(|line| format!("{}// {RESULT} {line}", input.indent).trim_end().to_string() + "\n");
    comments.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "int x;\n// > a = 1;\n// > a + 1\n// = int: 2\n// = old\n// > a\n  //> b\nint y; // > no\n  // >c\n// >\n";

    #[test]
    fn inputs_are_comments_with_their_results() {
        let found = inputs(TEXT);
        let shown: Vec<_> =
            found.iter().map(|one| (one.code.as_str(), one.lines.clone(), one.results.clone())).collect();
        assert_eq!(shown, [("a = 1;\na + 1", 1..3, 3..5), ("a\nb", 5..7, 7..7), ("", 9..10, 10..10)]);
    }

    #[test]
    fn results_are_comments() {
        let input = Input { lines: 0..1, results: 1..1, code: String::new(), indent: "  ".to_string() };
        assert_eq!(lines(&input, "a\n\nb\n"), "  // = a\n  // =\n  // = b\n");
        assert_eq!(lines(&input, ""), "");
        let long = lines(&input, &"x\n".repeat(100));
        assert_eq!(long.lines().last(), Some("  // = ... 70 more lines"));
        assert!(lines(&input, &"x".repeat(500)).ends_with("x ...\n"));
    }

    #[test]
    fn a_session_is_read() {
        let answers = "{\"type\":\"stdout\",\"text\":\"hi\",\"id\":2}\n\
                       {\"type\":\"display\",\"data\":{\"text/plain\":\"int: 2\"},\"id\":2}\n\
                       {\"type\":\"done\",\"id\":2}\nrubbish\n";
        assert_eq!(outcome(answers, 2), Ok("hi\nint: 2".to_string()));
        assert_eq!(outcome(answers, 3), Err("the session ended too early".to_string()));
        let broken = "{\"type\":\"error\",\"title\":\"t\",\"text\":\"t\\nmore\",\"id\":0}\n";
        assert_eq!(super::broken(broken), Some("t\nmore".to_string()));
    }
}
