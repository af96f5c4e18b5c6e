//! What the parts of a text are, for colours: a look at tokens alone, so that it works on every text, also on one that is being typed.

use crate::lossless::{self, Kind};
use std::ops::Range;

/// What a part of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Keyword,
    Type,
    Number,
    /// A string or a character.
    Quoted,
    Comment,
    /// A line of the preprocessor.
    Directive,
    /// The name in front of the brackets of a call or a definition.
    Function,
}

const KEYWORDS: [&str; 30] = [
    "class",
    "classtype",
    "cond",
    "default",
    "do",
    "else",
    "except",
    "export",
    "external",
    "fold",
    "foldfix",
    "for",
    "genarray",
    "if",
    "import",
    "inline",
    "modarray",
    "module",
    "noinline",
    "objdef",
    "propagate",
    "provide",
    "return",
    "specialize",
    "step",
    "struct",
    "typedef",
    "use",
    "while",
    "with",
];
const TYPES: [&str; 17] = [
    "bool",
    "byte",
    "char",
    "complex",
    "double",
    "float",
    "int",
    "long",
    "longlong",
    "short",
    "string",
    "ubyte",
    "uint",
    "ulong",
    "ulonglong",
    "ushort",
    "void",
];

/// The classified parts of a text, in order; what stands between them is nothing particular. Behind something that is no token nothing is classified.
pub fn classes(text: &str) -> Vec<(Range<usize>, Class)> {
    let lexed = match lossless::lex(text) {
        Ok(lexed) => lexed,
        // Mostly a string or a comment whose end is still to be typed.
        Err((at, why)) => {
            let mut parts = classes(&text[..at]);
            match why {
                lossless::NoToken::Character => {}
                lossless::NoToken::String => parts.push((at..text.len(), Class::Quoted)),
                lossless::NoToken::Comment => parts.push((at..text.len(), Class::Comment)),
            }
            return parts;
        }
    };
    let mut parts: Vec<(Range<usize>, Class)> =
        lexed.comments.iter().map(|comment| (comment.start..comment.end, Class::Comment)).collect();
    for (at, token) in lexed.tokens.iter().enumerate() {
        let opens = |token: &lossless::Token| &text[token.start..token.end] == "(";
        let class = match token.kind {
            Kind::Number => Class::Number,
            Kind::Quoted => Class::Quoted,
            Kind::Directive => Class::Directive,
            Kind::Word => match lexed.text_of(at) {
                "true" | "false" => Class::Number,
                word if KEYWORDS.contains(&word) => Class::Keyword,
                word if TYPES.contains(&word) => Class::Type,
                _ if lexed.tokens.get(at + 1).is_some_and(opens) => Class::Function,
                _ => continue,
            },
            _ => continue,
        };
        parts.push((token.start..token.end, class));
    }
    parts.sort_by_key(|(range, _)| range.start);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(&str, Class)> {
        classes(text).into_iter().map(|(range, class)| (&text[range], class)).collect()
    }

    #[test]
    fn parts_of_a_text_have_classes() {
        use Class::*;
        assert_eq!(
            shown("int f(int x) /* why */ { return g (x, 1.5f); }"),
            [
                ("int", Type),
                ("f", Function),
                ("int", Type),
                ("/* why */", Comment),
                ("return", Keyword),
                ("g", Function),
                ("1.5f", Number)
            ]
        );
        assert_eq!(shown("x = true; // no"), [("true", Number), ("// no", Comment)]);
        assert_eq!(shown("#define N 3\nN"), [("#define N 3", Directive)]);
    }

    #[test]
    fn what_is_being_typed_has_classes_as_far_as_it_goes() {
        assert_eq!(shown("printf(\"%d"), [("printf", Class::Function), ("\"%d", Class::Quoted)]);
        assert_eq!(shown("if /* a"), [("if", Class::Keyword), ("/* a", Class::Comment)]);
        assert_eq!(shown("if $ if"), [("if", Class::Keyword)]);
        assert_eq!(shown(""), []);
    }
}
