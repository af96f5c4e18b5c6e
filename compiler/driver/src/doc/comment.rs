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

/// The comment that ends on the line before `start`, or on the same line.
pub fn before(text: &str, start: usize) -> Option<Comment> {
    let head = text.get(..start)?;
    let gap = head.len() - head.trim_end().len();
    let between = &head[head.len() - gap..];
    let body = head.trim_end().strip_suffix("*/")?;
    if between.matches('\n').count() > 1 {
        return None;
    }
    let body = &body[body.rfind("/*")? + 2..];
    let lines = body.lines().map(|line| {
        let line = line.trim_start();
        line.strip_prefix('*').map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest)).trim_end().to_string()
    });
    let mut lines: Vec<String> = lines.collect();
    while lines.first().is_some_and(String::is_empty) {
        lines.remove(0);
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    Some(Comment { lines })
}

impl Comment {
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
    fn examples_are_whole_lines() {
        assert!(example("take([2], [1,2,3]) is [1,2], take([-2], [1,2,3]) is [2,3].").is_none());
        assert!(example("f(x) is what it is.").is_none());
        assert!(example("where(x) is a choice.").is_none());
        assert!(example("f(x) is 1, its shape [2].").is_none());
        assert_eq!(example("g(\"a is b\") is -1.5.").map(|e| e.value), Some("-1.5"));
    }
}
