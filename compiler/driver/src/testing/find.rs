//! Which functions of a file are tests.

use super::Kind;
use ravel_core::ir::{Fun, FunBody, FunId, Program};
use ravel_diagnostics::Code;
use ravel_source::{FileId, SourceMap};
use std::collections::HashMap;

/// A function that is a test.
#[derive(Clone, Debug)]
pub struct Test {
    pub fun: FunId,
    pub name: String,
    pub kind: Kind,
    pub line: usize,
    /// The code of the error that it is to give, or why there is none of that name.
    pub code: Option<Result<Code, String>>,
}

/// What the names of tests begin with.
pub const PREFIXES: [&str; 3] = ["test_", "prop_", "fails_"];
const KINDS: [Kind; 3] = [Kind::Unit, Kind::Property, Kind::Fails];

/// The kind that a function's name stands for.
pub fn kind_of(name: &str) -> Option<Kind> {
    PREFIXES.iter().zip(KINDS).find(|(prefix, _)| name.starts_with(**prefix)).map(|(_, kind)| kind)
}

/// The functions of a file whose names `is_meant` knows, in the order of the text, each with a name of its own.
pub fn functions<'p>(
    program: &'p Program,
    file: FileId,
    is_meant: &dyn Fn(&str) -> bool,
) -> Vec<(FunId, &'p Fun, String)> {
    let all = program.funs.iter().enumerate().map(|(at, fun)| (FunId(at as u32), fun));
    let mut found: Vec<_> = all
        .filter(|(_, fun)| fun.span.file == file && matches!(fun.body, FunBody::Sac { .. }) && is_meant(&fun.name))
        .collect();
    found.sort_by_key(|(id, fun)| (fun.span.start, id.0));
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let named = found.into_iter().map(|(id, fun)| {
        let count = seen.entry(&fun.name).or_default();
        *count += 1;
        let name = if *count == 1 { fun.name.clone() } else { format!("{}#{count}", fun.name) };
        (id, fun, name)
    });
    named.collect()
}

/// The tests of a file.
pub fn tests(program: &Program, map: &SourceMap, file: FileId) -> Vec<Test> {
    let text = map.get(file).map_or("", |file| &*file.text);
    let found = functions(program, file, &|name| kind_of(name).is_some());
    found
        .into_iter()
        .filter_map(|(fun, function, name)| {
            let notes = notes_above(text, function.span.start as usize);
            let wanted = notes.iter().find_map(|note| note.strip_prefix("code "));
            let code = wanted.map(|text| Code::from_text(text).ok_or_else(|| text.trim().to_string()));
            let line = map.line_col(function.span).map_or(0, |at| at.line);
            Some(Test { fun, name, kind: kind_of(&function.name)?, line, code })
        })
        .collect()
}

/// What the comments `//! ...` right above a definition say, the upper ones first. Other comments may stand between.
pub fn notes_above(text: &str, start: usize) -> Vec<&str> {
    let head = text.get(..start).unwrap_or_default();
    let before = &head[..head.rfind('\n').map_or(0, |at| at + 1)];
    let comments = before.lines().rev().take_while(|line| line.trim_start().starts_with("//"));
    let mut notes: Vec<&str> = comments.filter_map(|line| line.trim().strip_prefix("//!").map(str::trim)).collect();
    notes.reverse();
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_stand_right_above() {
        let text = "//! allow x\n\n//! code E0324\n// why\n  //! n = 3 \nvoid f() { }\n";
        let start = text.find("void").expect("it is there");
        assert_eq!(notes_above(text, start), ["code E0324", "n = 3"]);
        assert_eq!(notes_above("void f", 0), [""; 0]);
        assert_eq!(notes_above("//! a\nint x; void f", 14), ["a"]);
        assert_eq!(notes_above("x", 100), [""; 0]);
    }

    #[test]
    fn names_tell_the_kind() {
        assert_eq!(kind_of("test_a"), Some(Kind::Unit));
        assert_eq!(kind_of("prop_a"), Some(Kind::Property));
        assert_eq!(kind_of("fails_a"), Some(Kind::Fails));
        assert_eq!(kind_of("tests"), None);
    }
}
