//! Documentation comments: where they stand, and their parts.

/// The lines of a comment without what marks it as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comment {
    lines: Vec<String>,
}

/// A line `call is value.`
#[derive(Debug, PartialEq)]
pub struct Example<'a> {
    pub call: &'a str,
    pub value: &'a str,
}

/// The comment that ends on the line before `start`, or on the same line: `/* .. */` or lines `// ..`.
pub fn before(text: &str, start: usize) -> Option<Comment> {
    let head = text.get(..start)?;
    let trimmed = head.trim_end();
    if head[trimmed.len()..].matches('\n').count() > 1 {
        return None;
    }
    if let Some(body) = trimmed.strip_suffix("*/") {
        let open = body.rfind("/*")?;
        // What stands behind something else on its line is about that.
        let line = &body[..open];
        let line = &line[line.rfind('\n').map_or(0, |at| at + 1)..];
        return line.trim().is_empty().then(|| Comment::of(&body[open + 2..]));
    }
    let lines = trimmed.lines().rev().map_while(line_comment).collect::<Vec<_>>();
    (!lines.is_empty()).then(|| Comment::of(&lines.into_iter().rev().collect::<Vec<_>>().join("\n")))
}

/// The comment that a text begins with, behind lines `//! ..` for the compiler.
pub fn first(text: &str) -> Option<Comment> {
    let mut rest = text.trim_start();
    while rest.starts_with("//!") {
        rest = rest.split_once('\n')?.1.trim_start();
    }
    if let Some(body) = rest.strip_prefix("/*") {
        return Some(Comment::of(body.split_once("*/")?.0));
    }
    let lines: Vec<String> = rest.lines().map_while(line_comment).collect();
    (!lines.is_empty()).then(|| Comment::of(&lines.join("\n")))
}

/// What stands behind `//` on a line of its own.
fn line_comment(line: &str) -> Option<String> {
    let text = line.trim_start().strip_prefix("//")?;
    // As a line of the other kind of comment.
    (!text.starts_with('!')).then(|| format!("*{}", text.trim_start_matches('/')))
}

/// Whether a line only decorates.
fn is_rule(line: &str) -> bool {
    line.len() > 2 && line.chars().all(|c| "*-=#_".contains(c))
}

/// The tags of public SaC as sentences and a list: `@param n the number` is `- \`n\`: the number`. Lines of `@fn` and `@file` say what the
/// code says.
fn without_tags(lines: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut dropping = false;
    for line in lines {
        let Some(tagged) = line.trim_start().strip_prefix('@') else {
            dropping &= !line.is_empty();
            if !dropping {
                kept.push(line);
            }
            continue;
        };
        let (tag, text) = tagged.split_once(char::is_whitespace).unwrap_or((tagged, ""));
        let text = text.trim();
        dropping = ["fn", "file", "author", "defgroup", "ingroup"].contains(&tag);
        let item = match tag {
            _ if dropping => continue,
            "param" => {
                let (name, about) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
                format!("- `{name}`: {}", about.trim_start_matches([' ', '-', ':', '\t']))
            }
            "return" | "returns" | "result" => format!("- gives: {text}"),
            "see" | "sa" => format!("- see also: {text}"),
            _ => {
                kept.push(text.to_string());
                continue;
            }
        };
        if kept.last().is_some_and(|last| !last.is_empty() && !last.starts_with("- ")) {
            kept.push(String::new());
        }
        kept.push(item);
    }
    kept
}

impl Comment {
    /// The lines of a body, without stars in front of them and without rules.
    fn of(body: &str) -> Comment {
        // Lines without stars keep what they are indented more than the others.
        let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
        let least = body.lines().skip(1).filter(|line| !line.trim().is_empty()).map(|line| indent(&line)).min();
        let lines = body.trim_end_matches('*').lines().enumerate().map(|(k, line)| {
            let bare = line.trim_start();
            let cut = if k == 0 { indent(&line) } else { least.unwrap_or(0) };
            let plain = || line.get(cut.min(indent(&line))..).unwrap_or(bare);
            let text = bare.strip_prefix('*').map_or_else(plain, |rest| rest.strip_prefix(' ').unwrap_or(rest));
            text.trim_end().to_string()
        });
        let mut lines = without_tags(lines.filter(|line| !is_rule(line)).collect());
        lines.dedup_by(|a, b| a.is_empty() && b.is_empty());
        while lines.first().is_some_and(String::is_empty) {
            lines.remove(0);
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Comment { lines }
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether it says that what follows is for the library's other modules only.
    pub fn is_internal(&self) -> bool {
        self.lines.first().is_some_and(|line| line.starts_with(INTERNAL))
    }

    /// The first sentence.
    pub fn first_sentence(&self) -> String {
        let mut text = String::new();
        for line in self.lines.iter().take_while(|line| !line.is_empty() && example(line).is_none() && !is_keys(line)) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line);
        }
        let end = text.match_indices(". ").map(|(at, _)| at).find(|at| !text[..*at].ends_with("e.g"));
        match end {
            Some(at) => text[..=at].to_string(),
            None => text,
        }
    }

    pub fn examples(&self) -> Vec<Example<'_>> {
        self.lines.iter().filter_map(|line| example(line)).collect()
    }

    /// Lines that are neither examples nor keys; and which line each is.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// Names and texts of the keys.
    pub fn keys(&self) -> Vec<(&str, &str)> {
        self.lines.iter().filter(|line| is_keys(line)).flat_map(|line| keys_of(line)).collect()
    }
}

const INTERNAL: &str = "For the library itself";
const KEYS: [&str; 4] = ["Like", "Gradient", "Work", "Source"];

/// Whether a line consists of keys.
pub fn is_keys(line: &str) -> bool {
    line.split_once(':').is_some_and(|(name, _)| KEYS.contains(&name))
}

/// `Like: a, b.  Work: n.` as pairs.
fn keys_of(line: &str) -> Vec<(&str, &str)> {
    let starts: Vec<usize> = KEYS
        .iter()
        .flat_map(|key| line.match_indices(&format!("{key}:")).map(|(at, _)| at).collect::<Vec<_>>())
        .filter(|at| *at == 0 || line[..*at].ends_with("  "))
        .collect();
    let mut starts = starts;
    starts.sort_unstable();
    starts
        .iter()
        .enumerate()
        .filter_map(|(k, at)| {
            let end = starts.get(k + 1).copied().unwrap_or(line.len());
            let (name, text) = line[*at..end].split_once(':')?;
            Some((name, text.trim().trim_end_matches('.')))
        })
        .collect()
}

/// The example that a line is: it begins with a call, and all of it is ` call is value.`
pub fn example(line: &str) -> Option<Example<'_>> {
    let text = line.trim().strip_suffix('.')?;
    let name = text.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    if name == 0 || !text[name..].starts_with('(') {
        return None;
    }
    let mut depth = 0_i32;
    let mut quoted = false;
    let mut found = None;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => return None,
            ' ' if depth == 0 && text[at..].starts_with(" is ") => {
                if found.is_some() {
                    return None;
                }
                found = Some(at);
            }
            _ => {}
        }
    }
    let at = found?;
    let (call, value) = (text[..at].trim(), text[at + 4..].trim());
    let is_value = value.starts_with(|c: char| c.is_ascii_digit() || "[-(\"'".contains(c))
        || ["true", "false"].contains(&value)
        || value.split_once('(').is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
    (call.ends_with(')') && is_value && !value.contains(". ")).then_some(Example { call, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stand_right_before() {
        let text = "/*\n * A thing. More.\n *\n * f(1) is [2, 3].\n * Like: numpy.f, scipy.f.  Work: n^2.\n */\nint f";
        let comment = before(text, text.len() - 5).expect("there is one");
        assert_eq!(comment.first_sentence(), "A thing.");
        assert_eq!(comment.examples(), vec![Example { call: "f(1)", value: "[2, 3]" }]);
        assert_eq!(comment.keys(), vec![("Like", "numpy.f, scipy.f"), ("Work", "n^2")]);
        assert_eq!(before("/* x */\n\n\nint f", 10), None);
        assert_eq!(before("int f", 0), None);
    }

    #[test]
    fn lines_and_tags_are_understood() {
        let text = "int f; // of f\n// Is g,\n// with more.\nint g";
        let comment = before(text, text.len() - 5).expect("there is one");
        assert_eq!(comment.lines().collect::<Vec<_>>(), ["Is g,", "with more."]);
        assert_eq!(before("int f() { } /* of f */\nint g", 24), None);
        let text = "/*******\n *\n * @fn int f( int n)\n *   more of it\n *\n * @brief Is f.\n *\n * @param n   how many\n * @return it\n *\n *******/\nint f";
        let comment = before(text, text.len() - 5).expect("there is one");
        assert_eq!(comment.lines().collect::<Vec<_>>(), ["Is f.", "", "- `n`: how many", "- gives: it"]);
        assert_eq!(
            first("//! stdlib 2024\n\n// A program.\nint f").map(|c| c.first_sentence()),
            Some("A program.".into())
        );
    }

    #[test]
    fn examples_are_whole_lines() {
        assert!(example("take([2], [1,2,3]) is [1,2], take([-2], [1,2,3]) is [2,3].").is_none());
        assert!(example("f(x) is what it is.").is_none());
        assert!(example("where(x) is a choice.").is_none());
        assert!(example("f(x) is 1, its shape [2].").is_none());
        assert_eq!(example("g(\"a is b\") is -1.5.").map(|e| e.value), Some("-1.5"));
    }
}
