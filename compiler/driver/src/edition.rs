//! Editions of the library: the current one, and older ones as layers of modules in front of it.
//!
//! A layer is a folder of the library, named after the year that it lasted until. Its modules stand in front of those of the
//! same name; one that loads a module of its own name gets the one behind.

use std::ops::Range;

/// An edition of the library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    #[default]
    Current,
    /// What SacBase's Stdlib had until 2024 and has no longer.
    Until2024,
}

impl Edition {
    pub const ALL: [(&'static str, Edition); 2] = [("2024", Edition::Until2024), ("2026", Edition::Current)];

    /// # Errors
    /// Which names there are.
    pub fn from_name(name: &str) -> Result<Edition, String> {
        let found = Edition::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, edition)| *edition).ok_or_else(|| {
            let names: Vec<&str> = Edition::ALL.iter().map(|(name, _)| *name).collect();
            format!("there is no library `{name}`; there are {}", names.join(" and "))
        })
    }

    pub fn name(self) -> &'static str {
        Edition::ALL.iter().find(|(_, edition)| *edition == self).map_or("", |(name, _)| name)
    }

    /// The folder of the library whose modules stand in front.
    pub fn layer(self) -> Option<&'static str> {
        match self {
            Edition::Current => None,
            Edition::Until2024 => Some("2024"),
        }
    }
}

/// What the head of a file asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub edition: Result<Edition, String>,
    /// Bytes of the line.
    pub line: Range<usize>,
}

/// The lines `//! ...` among the comments that a file begins with: what follows the mark, and the bytes of the line.
pub(crate) fn head(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        let from = start;
        start += line.len();
        (line.trim(), from..from + line.trim_end().len())
    });
    let head = lines.take_while(|(content, _)| content.is_empty() || content.starts_with("//"));
    head.filter_map(|(content, at)| Some((content.strip_prefix("//!")?, at)))
}

/// The line `//! stdlib EDITION` of a file, if it is among the comments that the file begins with.
pub fn wish(text: &str) -> Option<Wish> {
    head(text).find_map(|(content, line)| {
        let mut words = content.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("stdlib"), Some(name), None) => Some(Wish { edition: Edition::from_name(name), line }),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Compilation, Options};

    #[test]
    fn the_head_of_a_file_may_ask_for_an_edition() {
        let edition = |text: &str| wish(text).map(|wish| wish.edition.is_ok_and(|e| e == Edition::Until2024));
        assert_eq!(edition("//! stdlib 2024\nuse Array: all;\n"), Some(true));
        assert_eq!(edition("// A program.\n\n//!  stdlib   2024"), Some(true));
        assert_eq!(edition("//! stdlib 2026\n"), Some(false));
        assert_eq!(edition("//! stdlib 1066\n"), Some(false));
        for none in
            ["", "use Array: all;\n//! stdlib 2024\n", "//! stdlib\n", "//! stdlib 2024 or so\n", "// stdlib 2024"]
        {
            assert_eq!(edition(none), None, "{none}");
        }
        assert_eq!(wish("// x\n//! stdlib 2024  \n").map(|wish| wish.line), Some(5..20));
    }

    #[test]
    fn an_edition_that_does_not_help_is_not_advised() {
        let advised = |text: &str| {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("program.sac");
            std::fs::write(&path, text).expect("a file");
            let mut compilation = Compilation::new(Options::default());
            assert!(compilation.check(&path).is_err());
            // Behind a help of today's library it is a note.
            let advises =
                |d: &ravel_diagnostics::Diagnostic| d.help.iter().chain(&d.notes).any(|text| text.contains("2024"));
            compilation.diagnostics.iter().any(advises)
        };
        assert!(advised("use Array: all;\nint f(int x) { return to_bool(x) ? 1 : 0; }\nint main() { return 0; }\n"));
        assert!(!advised("use String: all;\nint f(string to_bool) { return to_bool; }\nint main() { return 0; }\n"));
    }

    #[test]
    fn options_decide_before_the_head_of_the_program() {
        let works = |edition: Option<Edition>, head: &str| {
            let mut compilation = Compilation::new(Options { edition, ..Options::default() });
            let text = format!("{head}use Bits: all;\nint main() {{ return BitAND(6, 3); }}\n");
            compilation.core_of_text("program.sac", text.into()).is_ok()
        };
        let head = "//! stdlib 2024\n";
        assert!(!works(None, "") && works(None, head));
        assert!(works(Some(Edition::Until2024), "") && works(Some(Edition::Until2024), "//! stdlib 2026\n"));
        assert!(!works(Some(Edition::Current), "") && !works(Some(Edition::Current), head));
    }

    #[test]
    fn every_edition_has_a_name() {
        for (name, edition) in Edition::ALL {
            assert_eq!(Edition::from_name(name), Ok(edition));
            assert_eq!(edition.name(), name);
        }
    }
}
