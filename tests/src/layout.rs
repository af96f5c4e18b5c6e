//! What must hold of every text that is formatted, whatever it is.

use ravel_format::{Reason, format, same};
use ravel_source::SourceMap;
use ravel_syntax::ast::File;
use ravel_syntax::{
    Interface, NoIncludes, PreprocessOptions, TypeNames, equal_modulo_spans, lex_and_preprocess, parse_file, prescan,
};
use std::path::Path;

/// How a text was formatted.
#[derive(Default)]
pub struct Formatted {
    pub changed: bool,
    /// It has a syntax tree, which was compared.
    pub parsed: bool,
    /// It has something that is no token.
    pub unreadable: bool,
    /// What stays as it is in it: line, column and why.
    pub left: Vec<(usize, usize, String)>,
}

/// The names of types that some texts define, for parsing others.
pub fn type_names(texts: &[String]) -> TypeNames {
    let mut names = TypeNames::default();
    for text in texts {
        let (_, interface, _) = parsed(text, &TypeNames::default());
        let class = interface.module.iter().filter(|_| interface.is_class);
        interface.types.iter().chain(class).for_each(|name| names.add_type(None, &name.name));
        for name in interface.structs {
            names.add_struct(None, &name.name);
        }
    }
    names
}

/// The tree of a text, its interface, and whether it has no errors.
fn parsed(text: &str, names: &TypeNames) -> (File, Interface, bool) {
    let mut sources = SourceMap::default();
    let id = sources.add("text.sac", text);
    let (tokens, lexical) = lex_and_preprocess(id, &mut sources, &PreprocessOptions::default(), &mut NoIncludes);
    let interface = prescan(&tokens);
    let (file, syntactic) = parse_file(&tokens, names);
    (file, interface, lexical.is_empty() && syntactic.is_empty())
}

/// Formats a text: tokens, comments and syntax tree stay the same, and the result is formatted already.
///
/// # Errors
/// Something of that does not hold.
pub fn check(text: &str, names: &TypeNames) -> Result<Formatted, String> {
    let Ok(once) = format(text) else { return Ok(Formatted { unreadable: true, ..Formatted::default() }) };
    if let Some(note) = once.notes.iter().find(|note| note.reason == Reason::WouldChange) {
        return Err(format!("{}:{}: tokens would change", note.line, note.column));
    }
    let unix = |text: &str| text.replace("\r\n", "\n");
    if !same(&unix(text), &unix(&once.text)) {
        return Err("tokens or comments differ".to_string());
    }
    let twice = format(&once.text).map_err(|wrong| format!("{}:{}: {}", wrong.line, wrong.column, wrong.what))?;
    if twice.text != once.text {
        return Err(format!("a second time changes it:\n{}", ravel_format::unified("once", &once.text, &twice.text)));
    }
    let (before, _, sound) = parsed(text, names);
    if sound {
        let (after, _, still_sound) = parsed(&once.text, names);
        if !still_sound || !equal_modulo_spans(&before, &after) {
            return Err("the syntax trees differ".to_string());
        }
    }
    let left = once.notes.iter().map(|note| (note.line, note.column, note.reason.to_string())).collect();
    Ok(Formatted { changed: once.text != text, parsed: sound, unreadable: false, left })
}

/// The blocks of SaC in a page.
pub fn blocks(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in page.lines() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) if language.trim() == "c" => open = Some(String::new()),
            // Another language: its end must not open anything.
            (None, Some(_)) => open = Some("#if 0\n".to_string()),
            (Some(_), Some(_)) => blocks.extend(open.take().filter(|block| !block.starts_with("#if 0"))),
            (Some(block), None) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// A file as text; bytes that are none are replaced, as nothing here asks for them.
pub fn read(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned()
}
