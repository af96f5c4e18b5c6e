//! What can be wrong with a text, and how that is said.
//!
//! Codes: E0101 characters, E0102 literals, E0103 nesting, E0104 directives, E0105 macros, E0106 `#error`, E0107
//! includes, E0110 unexpected tokens, E0111 brackets, E0112 to E0119 trees that the grammar accepts and
//! [`crate::check`] does not, E0120 pragmas.

use crate::habits::header_module;
use crate::literal::{LiteralError, in_double_quotes};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;

/// One cause of a syntax error. Texts are quoted from the source, already shortened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SyntaxError {
    StrayCharacters {
        text: String,
        /// The characters themselves, where they are known.
        written: String,
    },
    OpenString,
    OpenChar,
    OpenComment,
    Literal {
        text: String,
        cause: LiteralError,
    },
    TooDeep {
        limit: usize,
    },
    /// A directive that cannot be understood; the message is complete.
    Directive {
        message: String,
        help: Option<&'static str>,
    },
    /// A line that begins with `#` and is no directive: a comment of another language.
    HashComment {
        word: String,
    },
    Macro {
        name: String,
        message: String,
    },
    UserError {
        text: String,
    },
    UserWarning {
        text: String,
    },
    Include {
        name: String,
    },
    IncludeDepth {
        limit: usize,
    },
    Unexpected {
        found: String,
        expected: String,
        help: Option<String>,
    },
    UnexpectedEnd {
        expected: String,
    },
    OpenBrace,
    StrayBrace,
    MisplacedTuple {
        nested: bool,
    },
    MisplacedDots,
    ManyTargets {
        operator: String,
    },
    ForbiddenBody {
        name: String,
        attribute: &'static str,
    },
    VariadicDefinition {
        name: String,
    },
    RepeatedDots,
    /// The constraint of a comprehension does not bound the partition's index.
    ForeignConstraint {
        index: String,
        index_span: Span,
    },
    SmallestWithoutMinus {
        text: String,
    },
    /// `--1`: two signs to some, the function `--` to others.
    StepOfNumber {
        operator: String,
        number: String,
    },
    /// A byte of a string that was no UTF-8 when the file was read.
    BadByte,
    Pragma {
        name: String,
        message: &'static str,
    },
    QualifiedNothing {
        module: String,
    },
    TooManyErrors,
    NotText,
    FileTooLarge,
}

impl SyntaxError {
    /// The report of this error at `span`.
    pub(crate) fn at(self, span: Span) -> Diagnostic {
        use SyntaxError::*;
        match self {
            StrayCharacters { text, written } => {
                let many = span.end - span.start > 4;
                let title = format!("unknown character{} {text}", if many { "s" } else { "" });
                let report = Diagnostic::error(Code::BadToken, title).at(span, "no token starts with this");
                let meant: Option<String> = written.chars().map(|c| meant_by(c).map(|(new, _)| new)).collect();
                let names: Vec<&str> = written.chars().filter_map(|c| meant_by(c).map(|(_, name)| name)).collect();
                match (meant, names.first()) {
                    (Some(meant), Some(name)) => {
                        let report = report.with_note(format!("this is a {name}, as editors for texts write it"));
                        let title = match meant.trim() {
                            "" if meant.is_empty() => "drop it".to_string(),
                            "" => "a plain blank".to_string(),
                            meant => format!("`{meant}`"),
                        };
                        report.with_safe_edit(title, span, meant)
                    }
                    _ => report,
                }
            }
            OpenString => Diagnostic::error(Code::BadToken, "string is not closed on its line")
                .at(span, "starts here")
                .with_help("close it with \", or end the line with \\ to continue it"),
            OpenChar => Diagnostic::error(Code::BadToken, "character literal is not closed")
                .at(span, "starts here")
                .with_note("a character literal holds one character, as in 'a' or '\\n'"),
            OpenComment => Diagnostic::error(Code::BadToken, "comment is not closed")
                .at(Span { end: span.start + 2, ..span }, "starts here")
                .with_help("close it with */"),
            Literal { text, cause } => literal(&text, cause, span),
            TooDeep { limit } => Diagnostic::error(Code::NestedTooDeeply, "nested too deeply")
                .at(span, format!("more than {limit} levels are open here"))
                .with_help("give parts of it a name, or split it into functions"),
            Directive { message, help } => {
                let report = Diagnostic::error(Code::BadPreprocessorLine, message).at(span, "");
                match help {
                    Some(help) => report.with_help(help),
                    None => report,
                }
            }
            HashComment { word } => {
                let hash = Span { end: span.start + 1, ..span };
                Diagnostic::error(Code::BadPreprocessorLine, format!("unknown directive #{word}"))
                    .at(span, "no directive begins like this")
                    .with_safe_edit("comments begin with `//`", hash, "//")
            }
            Macro { name, message } => {
                Diagnostic::error(Code::BadMacroUse, format!("macro `{name}`: {message}")).at(span, "")
            }
            UserError { text } => Diagnostic::error(Code::ErrorLine, format!("#error {text}")).at(span, ""),
            UserWarning { text } => Diagnostic::warning(Code::ErrorLine, format!("#warning {text}")).at(span, ""),
            Include { name } => {
                let bare = name.trim_matches(['<', '>', '"']);
                if let Some(module) = header_module(bare) {
                    return Diagnostic::error(Code::IncludeFailed, format!("{name} is a header of C"))
                        .at(span, "SaC has modules")
                        .with_safe_edit(format!("`use {module}: all;`"), span, format!("use {module}: all;"));
                }
                Diagnostic::error(Code::IncludeFailed, format!("cannot read the included file {name}"))
                    .at(span, "wanted here")
                    .with_note("files are looked for beside the file that includes them and in the -I folders")
            }
            IncludeDepth { limit } => {
                Diagnostic::error(Code::IncludeFailed, format!("#include goes more than {limit} files deep"))
                    .at(span, "this file probably includes itself")
                    .with_help("guard it with #ifndef NAME, #define NAME, ... #endif")
            }
            Unexpected { found, expected, help } => {
                let report = Diagnostic::error(Code::UnexpectedToken, format!("expected {expected}, found {found}"))
                    .at(span, format!("{found} is not possible here"));
                match help {
                    Some(help) => report.with_help(help),
                    None => report,
                }
            }
            UnexpectedEnd { expected } => {
                Diagnostic::error(Code::UnexpectedToken, format!("expected {expected}, found the end of the file"))
                    .at(span, "the file ends here")
            }
            OpenBrace => Diagnostic::error(Code::UnbalancedBrace, "`{` is never closed").at(span, "opened here"),
            StrayBrace => {
                Diagnostic::error(Code::UnbalancedBrace, "`}` closes nothing").at(span, "no `{` is open here")
            }
            MisplacedTuple { nested } => {
                let report =
                    Diagnostic::error(Code::ListIsNoValue, "a list in parentheses is not a value").at(span, "");
                if nested {
                    report.with_note("results cannot be nested: a function returns a flat list of values")
                } else {
                    report
                        .with_note("several values stand only behind `return` and as the value of a with-loop part")
                        .with_help("for a vector write [a, b]")
                }
            }
            MisplacedDots => Diagnostic::error(Code::MisplacedDots, "`.` and `...` select axes only inside a[...]")
                .at(span, "not an array element"),
            ManyTargets { operator } => {
                Diagnostic::error(Code::CompoundTargets, format!("`{operator}=` takes one target"))
                    .at(span, "several targets")
            }
            ForbiddenBody { name, attribute } => {
                Diagnostic::error(Code::BodyMismatch, format!("`{attribute}` function `{name}` cannot have a body"))
                    .at(span, "body")
                    .with_help("end the declaration with ; after its parameters")
            }
            VariadicDefinition { name } => {
                Diagnostic::error(Code::VariadicDefinition, format!("function `{name}` cannot take or return `...`"))
                    .at(span, "")
                    .with_note("only external functions are variadic")
            }
            RepeatedDots => {
                Diagnostic::error(Code::RepeatedDots, "`...` stands at most once in a list").at(span, "second one")
            }
            ForeignConstraint { index, index_span } => {
                Diagnostic::error(Code::ConstraintOfOther, format!("the constraint must bound `{index}`"))
                    .at(span, "bounds something else")
                    .with_label(index_span, "index of this partition")
                    .with_note("a constraint repeats the index without its dots: lower <= index < upper")
                    .with_help(
                        "bounds are vectors, with a component for each axis: `[i] < [n]`, `[0, 0] <= [i, j] < [m, n]`",
                    )
            }
            SmallestWithoutMinus { text } => {
                Diagnostic::error(Code::BadLiteral, format!("{text} does not fit its type")).at(span, "one too large")
            }
            StepOfNumber { operator, number } => {
                let sign = &operator[1..];
                let new = if sign == "-" { format!("-(-{number})") } else { number.clone() };
                Diagnostic::error(Code::UnexpectedToken, format!("`{operator}` in front of a number"))
                    .at(
                        span,
                        format!(
                            "as a value, `{operator}x` is `x {sign} 1`, and two signs of {number} are written apart"
                        ),
                    )
                    .with_edit(format!("`{new}`, or `{number} {sign} 1` for the next number"), span, new)
            }
            BadByte => Diagnostic::error(Code::NotUtf8, "a string holds a byte that is not UTF-8")
                .at(span, "read as U+FFFD")
                .with_help("save the file as UTF-8, or write the character by its bytes, as `\\303\\244`"),
            Pragma { name, message } => {
                Diagnostic::error(Code::BadPragma, format!("#pragma {name} {message}")).at(span, "")
            }
            QualifiedNothing { module } => {
                Diagnostic::error(Code::UnexpectedToken, format!("expected a name or an operator after `{module}::`"))
                    .at(span, "")
            }
            TooManyErrors => Diagnostic::error(Code::LimitReached, "too many errors, the rest is not shown")
                .at(span, "last one shown"),
            NotText => Diagnostic::error(Code::BadToken, "this file is not SaC source text")
                .at(span, "")
                .with_note("most of its first bytes are no characters that a program can contain"),
            FileTooLarge => Diagnostic::error(Code::LimitReached, "source files are limited to 2 GiB").at(span, ""),
        }
    }
}

fn literal(text: &str, cause: LiteralError, span: Span) -> Diagnostic {
    let error = |title: String| Diagnostic::error(Code::BadLiteral, title);
    match cause {
        LiteralError::Suffix(suffix) => error(format!("`{suffix}` is not a suffix of a number"))
            .at(span, "")
            .with_note("suffixes are i b s l ll, each also unsigned as u ub us ul ull, and f d for real numbers"),
        LiteralError::OctalDigit => error(format!("{text} is octal and has a digit above 7"))
            .at(span, "a leading 0 means octal")
            .with_help(text.trim_start_matches('0').to_string()),
        LiteralError::NoDigits => error(format!("{text} lacks digits")).at(span, ""),
        LiteralError::Range(ty) => {
            let report = error(format!("{text} does not fit type {ty}")).at(span, "");
            if ty == "int" { report.with_help(format!("for a 64-bit number write {text}l")) } else { report }
        }
        LiteralError::CharLength => {
            let string = in_double_quotes(text);
            error(format!("{text} is not one character"))
                .at(span, "single quotes stand around one character")
                .with_safe_edit(format!("strings stand in double quotes: `{string}`"), span, string)
        }
        LiteralError::WideChar => {
            error(format!("{text} does not fit type char")).at(span, "").with_note("char is one byte")
        }
        LiteralError::Escape => {
            error(format!("an escape in {text} is larger than one byte")).at(span, "").with_note("char is one byte")
        }
    }
}

/// Reports per phase and file; beyond this they help nobody.
pub(crate) const MAX_REPORTS: usize = 100;

/// Cuts an endless list of reports.
pub(crate) fn limit(reports: &mut Vec<Diagnostic>) {
    if reports.len() > MAX_REPORTS {
        reports.truncate(MAX_REPORTS);
        let place = reports.last().map_or(Span::NONE, Diagnostic::span);
        reports.push(SyntaxError::TooManyErrors.at(place));
    }
}

/// What stands here for a character of typeset texts, and its name.
fn meant_by(c: char) -> Option<(&'static str, &'static str)> {
    Some(match c {
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' => ("\"", "typographic quote"),
        '\u{2018}' | '\u{2019}' | '\u{201a}' => ("'", "typographic quote"),
        '\u{2212}' | '\u{2013}' | '\u{2014}' | '\u{2010}' | '\u{2011}' => ("-", "minus or dash of typeset texts"),
        '\u{d7}' => ("*", "sign of multiplication"),
        '\u{f7}' => ("/", "sign of division"),
        '\u{2264}' => ("<=", "sign of an inequality"),
        '\u{2265}' => (">=", "sign of an inequality"),
        '\u{2260}' => ("!=", "sign of an inequality"),
        '\u{a0}' | '\u{2007}' | '\u{202f}' => (" ", "blank at which lines do not break"),
        '\u{2002}'..='\u{200a}' | '\u{3000}' => (" ", "blank of typeset texts"),
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => ("", "character without width"),
        _ => return None,
    })
}

/// Text for a message: in backquotes, control characters as escapes, cut after some 30 characters.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("`");
    for (at, c) in text.chars().enumerate() {
        if at == 30 {
            out.push_str("...");
            break;
        }
        if c.is_control() || c == '\u{fffd}' {
            out.extend(c.escape_default());
        } else if meant_by(c).is_some_and(|(new, _)| new.trim().is_empty()) {
            // Nobody would see it.
            out.push_str(&format!("U+{:04X}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out.push('`');
    out
}
