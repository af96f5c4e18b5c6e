//! Transcripts of the prompt: inputs behind `ravel> ` and `   ..> `, and between them what they write to either stream.
//!
//! A line that ends in `...` accepts any rest, one that is only `...` accepts any further lines. Transcripts stand in text files, in fenced
//! blocks of Markdown that begin with a prompt, and in comments of SaC files.

/// What prompts write in front of inputs, and of their further lines.
pub const PROMPT: &str = "ravel> ";
const CONTINUED: &str = "   ..> ";

/// An input that shows where the output of the one before it ends, and that output.
pub const MARK: &str = "\"end of the output\"";
pub const MARK_SHOWN: &str = "string: \"end of the output\"\n";

/// An input and the lines that it should write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange {
    /// Where it stands, from 1.
    pub line: usize,
    pub input: String,
    pub expected: Vec<String>,
}

/// Exchanges without a gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    pub line: usize,
    pub exchanges: Vec<Exchange>,
}

/// The exchanges in lines, each with its number.
fn exchanges<'t>(lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (number, line) in lines {
        if let Some(input) = line.strip_prefix(PROMPT) {
            exchanges.push(Exchange { line: number, input: format!("{input}\n"), expected: Vec::new() });
        } else if let Some(last) = exchanges.last_mut() {
            match line.strip_prefix(CONTINUED) {
                Some(input) => last.input.push_str(&format!("{input}\n")),
                None => last.expected.push(line.to_string()),
            }
        }
    }
    exchanges
}

fn block(exchanges: Vec<Exchange>) -> Option<Block> {
    Some(Block { line: exchanges.first()?.line, exchanges })
}

/// A text that is a transcript as a whole: it begins with a prompt.
pub fn of_text(text: &str) -> Option<Block> {
    let is_transcript = text.starts_with(PROMPT);
    is_transcript.then(|| exchanges((1..).zip(text.lines()))).and_then(block)
}

/// The fenced blocks of a page that begin with a prompt.
pub fn of_page(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((_, line)) = lines.next() {
        let Some(fence) = line.trim_start().strip_prefix("```").map(|_| line.len() - line.trim_start().len()) else {
            continue;
        };
        let inside: Vec<(usize, &str)> =
            lines.by_ref().take_while(|(_, line)| !line.trim_start().starts_with("```")).collect();
        let shown = inside.iter().map(|(number, line)| (*number, line.get(fence..).unwrap_or_default()));
        if inside.first().is_some_and(|(_, line)| line.trim_start().starts_with(PROMPT)) {
            blocks.extend(block(exchanges(shown)));
        }
    }
    blocks
}

/// The prompts in the comments of a SaC file: from one to the next empty line.
pub fn of_comments(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut rest = 0;
    while let Some((start, end)) = comment_at(text, rest) {
        rest = end;
        let first = text[..start].matches('\n').count() + 1;
        let mut lines = (first..).zip(text[start..end].lines().map(plain)).peekable();
        while let Some((_, line)) = lines.peek() {
            let blanks = line.len() - line.trim_start().len();
            if !line[blanks..].starts_with(PROMPT) {
                lines.next();
                continue;
            }
            let mut paragraph = Vec::new();
            while let Some((number, line)) = lines.next_if(|(_, line)| !line.is_empty()) {
                // The lines of an indented transcript are all indented.
                let shown = line.get(blanks..).filter(|_| line[..blanks].trim().is_empty());
                paragraph.push((number, shown.unwrap_or(line)));
            }
            blocks.extend(block(exchanges(paragraph.into_iter())));
        }
    }
    blocks
}

/// The bytes of the first comment `/* ... */` behind `from`, outside of strings, characters and comments of one line.
fn comment_at(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'*')) => {
                let end = text[at + 2..].find("*/").map_or(text.len(), |end| at + 2 + end + 2);
                return Some((at, end));
            }
            (b'/', Some(b'/')) => at = text[at..].find('\n').map_or(text.len(), |end| at + end),
            (quote @ (b'"' | b'\''), _) => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\n' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    None
}

/// A line of a comment without what marks it as one.
fn plain(line: &str) -> &str {
    let line = line.trim_start();
    let line = line.strip_prefix("/*").or_else(|| line.strip_prefix('*')).unwrap_or(line);
    let line = line.strip_suffix("*/").or_else(|| line.strip_suffix('/')).unwrap_or(line);
    line.trim_end()
}

/// The input of a session that goes through blocks.
pub fn session(blocks: &[Block]) -> String {
    let exchanges = blocks.iter().flat_map(|block| &block.exchanges);
    exchanges.map(|exchange| format!("{}{MARK}\n", exchange.input)).collect()
}

/// What does not fit of what a session wrote, for each block; nothing where all does.
pub fn compare(blocks: &[Block], written: &str) -> Vec<Option<String>> {
    let mut outputs = written.split(MARK_SHOWN);
    let mut judge = |block: &Block| {
        let wrong = block.exchanges.iter().filter_map(|exchange| {
            let found: Vec<&str> = outputs.next().unwrap_or_default().lines().collect();
            (!fits(&exchange.expected, &found)).then(|| {
                let (input, expected, found) = (&exchange.input, exchange.expected.join("\n"), found.join("\n"));
                format!("line {}: {PROMPT}{input}expected\n{}\nfound\n{found}\n", exchange.line, expected.trim_end())
            })
        });
        // All are looked at, so that the next block begins where it should.
        wrong.collect::<Vec<String>>().into_iter().next()
    };
    blocks.iter().map(&mut judge).collect()
}

fn fits(expected: &[String], found: &[&str]) -> bool {
    // Reports end in an empty line, transcripts need not.
    let trimmed =
        |n: usize, is_empty: &dyn Fn(usize) -> bool| (0..n).rev().find(|i| !is_empty(*i)).map_or(0, |i| i + 1);
    let expected = &expected[..trimmed(expected.len(), &|i| expected[i].is_empty())];
    let found = &found[..trimmed(found.len(), &|i| found[i].is_empty())];
    let any_rest = expected.last().is_some_and(|line| line == "...");
    let expected = &expected[..expected.len() - usize::from(any_rest)];
    let line_fits = |(expected, found): (&String, &&str)| match expected.strip_suffix("...") {
        Some(start) => found.starts_with(start),
        None => expected == found,
    };
    (found.len() == expected.len() || any_rest && found.len() > expected.len())
        && expected.iter().zip(found).all(line_fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(blocks: &[Block]) -> Vec<(usize, String)> {
        blocks
            .iter()
            .flat_map(|block| &block.exchanges)
            .map(|e| (e.line, e.input.clone() + &e.expected.join("|")))
            .collect()
    }

    #[test]
    fn transcripts_stand_in_texts_pages_and_comments() {
        let text = "ravel> 1\nint: 1\nravel> f(\n   ..> 2)\n";
        let block = of_text(text).expect("it is one");
        assert_eq!(inputs(&[block]), [(1, "1\nint: 1".to_string()), (3, "f(\n2)\n".to_string())]);
        assert_eq!(of_text("x\nravel> 1\n"), None);
        let page = "# P\n\n```text\nravel> 1\nint: 1\n```\n\n```c\nint f();\n```\n\nravel> no\n\n  ```\n  ravel> 2\n  int: 2\n  ```\n";
        assert_eq!(inputs(&of_page(page)), [(4, "1\nint: 1".to_string()), (15, "2\nint: 2".to_string())]);
        let file = "/* A module. */\nmodule M;\n/*\n * f.\n *     ravel> f(1)\n *     int: 1\n *     ravel> f(2)\n *     int: 2\n *\n * More.\n */\nint f(int x) { return x; }\n/* ravel> 3 */ // ravel> 4\n\"/* ravel> 5\"";
        let all = inputs(&of_comments(file));
        let wanted = [(5, "f(1)\nint: 1"), (7, "f(2)\nint: 2"), (13, "3\n")];
        assert_eq!(all, wanted.map(|(line, text)| (line, text.to_string())));
    }

    #[test]
    fn each_block_is_judged_for_itself() {
        let blocks = of_page("```\nravel> 1\nint: 1\nravel> 2\nint: 3\n```\n```\nravel> x\nan err...\n...\n```\n");
        assert_eq!(session(&blocks).matches(MARK).count(), 3);
        let judged =
            compare(&blocks, &format!("int: 1\n{MARK_SHOWN}int: 2\n{MARK_SHOWN}an error\nmore\n\n{MARK_SHOWN}"));
        assert_eq!(judged, [Some("line 4: ravel> 2\nexpected\nint: 3\nfound\nint: 2\n".to_string()), None]);
        // A session that ended early.
        assert!(compare(&blocks, &format!("int: 1\n{MARK_SHOWN}")).iter().all(Option::is_some));
    }
}
