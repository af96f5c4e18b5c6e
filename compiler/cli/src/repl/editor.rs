//! The line editor of the prompt: where an input goes on, its colours, and what a tab completes.

use super::commands::COMMANDS;
use ravel_driver::repl::Session;
use ravel_format::{Class, classes};
use rustyline::completion::{Completer, Pair};
use rustyline::config::{BellStyle, CompletionType};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// The editor with what it knows of SaC.
pub type Editor = rustyline::Editor<Helper, FileHistory>;

/// Longer texts, which nobody types, keep their colours to themselves: every key would colour them anew.
const COLOURED: usize = 20_000;

/// An editor for the inputs of a session.
///
/// # Errors
/// The terminal cannot be used.
pub fn new(session: Rc<RefCell<Session>>) -> rustyline::Result<Editor> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .bell_style(BellStyle::None)
        .build();
    let mut editor = Editor::with_config(config)?;
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    editor.set_helper(Some(Helper { session, colours }));
    Ok(editor)
}

/// What the editor asks while somebody types.
pub struct Helper {
    session: Rc<RefCell<Session>>,
    colours: bool,
}

impl rustyline::Helper for Helper {}

impl Validator for Helper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let goes_on = !text.trim_start().starts_with(':') && self.session.borrow_mut().wants_more(text);
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for Helper {
    type Hint = String;
}

impl Highlighter for Helper {
    fn highlight<'l>(&self, line: &'l str, at: usize) -> Cow<'l, str> {
        if !self.colours || line.len() > COLOURED {
            return Cow::Borrowed(line);
        }
        let partner = partner(line, at);
        let mut out = String::with_capacity(2 * line.len());
        let mut end = 0;
        let command = if line.starts_with(':') { line.find(char::is_whitespace).unwrap_or(line.len()) } else { 0 };
        let mut put = |from: usize, to: usize, colour: Option<&str>| match colour {
            Some(colour) => out.push_str(&format!("\x1b[{colour}m{}\x1b[0m", &line[from..to])),
            None => out.push_str(&line[from..to]),
        };
        let mut parts: Vec<(std::ops::Range<usize>, &str)> = classes(&line[command..])
            .into_iter()
            .map(|(r, c)| (r.start + command..r.end + command, colour(c)))
            .collect();
        parts.extend(partner.into_iter().flatten().map(|at| (at..at + 1, "1;36")));
        if command > 0 {
            parts.push((0..command, "1"));
        }
        parts.sort_by_key(|(range, _)| range.start);
        for (range, colour) in parts.into_iter().filter(|(range, _)| range.end <= line.len()) {
            if range.start < end {
                continue;
            }
            put(end, range.start, None);
            put(range.start, range.end, Some(colour));
            end = range.end;
        }
        put(end, line.len(), None);
        Cow::Owned(out)
    }

    fn highlight_char(&self, _line: &str, _at: usize, kind: CmdKind) -> bool {
        self.colours && kind != CmdKind::ForcedRefresh
    }
}

/// As terminals number colours; those that can be read on dark and on light ones.
fn colour(class: Class) -> &'static str {
    match class {
        Class::Keyword => "35",
        Class::Type => "36",
        Class::Number => "33",
        Class::Quoted => "32",
        Class::Comment => "2",
        Class::Directive => "35",
        Class::Function => "34",
    }
}

/// The bracket at the cursor, or in front of it, and its partner.
fn partner(line: &str, at: usize) -> Option<[usize; 2]> {
    let bytes = line.as_bytes();
    let is_bracket = |at: usize| bytes.get(at).is_some_and(|b| b"()[]{}".contains(b));
    let place = Some(at).filter(|&at| is_bracket(at)).or_else(|| at.checked_sub(1).filter(|&at| is_bracket(at)))?;
    // Brackets in strings and comments are none.
    let inside = classes(line);
    let is_code = |at: usize| {
        !inside.iter().any(|(range, class)| range.contains(&at) && matches!(class, Class::Quoted | Class::Comment))
    };
    if !is_code(place) {
        return None;
    }
    let mut depth = 0i64;
    let step = |byte: u8| match byte {
        b'(' | b'[' | b'{' => 1,
        b')' | b']' | b'}' => -1,
        _ => 0,
    };
    let places: Box<dyn Iterator<Item = usize>> =
        if step(bytes[place]) > 0 { Box::new(place..bytes.len()) } else { Box::new((0..=place).rev()) };
    for at in places {
        if is_bracket(at) && is_code(at) {
            depth += step(bytes[at]);
            if depth == 0 {
                return Some([place.min(at), place.max(at)]);
            }
        }
    }
    None
}

impl Completer for Helper {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..at];
        if before.starts_with(':') {
            let Some((command, rest)) = before.split_once(char::is_whitespace) else {
                let names = COMMANDS.iter().filter(|command| command.name.starts_with(before));
                let pair = |name: &str| Pair { display: name.to_string(), replacement: format!("{name} ") };
                return Ok((0, names.map(|command| pair(command.name)).collect()));
            };
            match command {
                ":load" | ":save" | ":cd" => return Ok(files(rest.trim_start(), at)),
                ":set" => return Ok(words(before, at, &["threads", "backend", "width", "digits"])),
                ":emit" if !rest.trim_start().contains(char::is_whitespace) => {
                    let stages: Vec<&str> = ravel_driver::emit::Stage::all().map(|(name, _)| name).collect();
                    return Ok(words(before, at, &stages));
                }
                _ => {}
            }
        }
        let (start, candidates) = self.session.borrow_mut().candidates(line, at);
        let pair =
            |candidate: ravel_driver::repl::Candidate| Pair { display: candidate.shown, replacement: candidate.text };
        Ok((start, candidates.into_iter().map(pair).collect()))
    }
}

/// Those of the words that go on what stands in front of the cursor.
fn words(before: &str, at: usize, words: &[&str]) -> (usize, Vec<Pair>) {
    let begun = before.rsplit(char::is_whitespace).next().unwrap_or("");
    let pair = |word: &&str| Pair { display: word.to_string(), replacement: format!("{word} ") };
    (at - begun.len(), words.iter().filter(|word| word.starts_with(begun)).map(pair).collect())
}

/// Files and folders whose path begins like this.
fn files(begun: &str, at: usize) -> (usize, Vec<Pair>) {
    let (folder, name) = begun.rsplit_once('/').map_or(("", begun), |(folder, name)| (folder, name));
    let place = match (folder, begun.starts_with('/')) {
        ("", true) => Path::new("/"),
        ("", false) => Path::new("."),
        _ => Path::new(folder),
    };
    let mut found: Vec<Pair> = std::fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let hidden = file.starts_with('.') && !name.starts_with('.');
            let is_folder = entry.path().is_dir();
            let suits = file.starts_with(name) && !hidden;
            let shown = if is_folder { format!("{file}/") } else { file };
            suits.then(|| Pair { display: shown.clone(), replacement: shown })
        })
        .collect();
    found.sort_by(|a, b| a.display.cmp(&b.display));
    (at - name.len(), found)
}
