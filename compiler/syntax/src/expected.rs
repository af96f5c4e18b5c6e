//! Words for a failed parse: what was found, what would have fitted, and what was probably meant.

use crate::classify::Classified;
use crate::errors::{SyntaxError, quoted};
use crate::habits::{self, View};
use crate::parse::Failure;
use crate::split::Chunk;
use crate::tokens::{Kind, Token};
use ravel_diagnostics::{Code, Diagnostic, did_you_mean};
use ravel_source::Span;

/// Words that may stand in front of a name, for slips of the fingers.
const LEADING_WORDS: [&str; 32] = [
    "bool",
    "char",
    "byte",
    "short",
    "int",
    "long",
    "longlong",
    "ubyte",
    "ushort",
    "uint",
    "ulong",
    "ulonglong",
    "float",
    "double",
    "return",
    "use",
    "import",
    "export",
    "provide",
    "external",
    "inline",
    "noinline",
    "specialize",
    "typedef",
    "struct",
    "objdef",
    "module",
    "class",
    "void",
    "while",
    "do",
    "with",
];

/// Types of other languages.
const TYPES_ELSEWHERE: [(&str, &str); 14] = [
    ("integer", "int"),
    ("Int", "int"),
    ("Int32", "int"),
    ("int32", "int"),
    ("int32_t", "int"),
    ("i32", "int"),
    ("int64_t", "long"),
    ("i64", "long"),
    ("float64", "double"),
    ("Float64", "double"),
    ("f64", "double"),
    ("real", "double"),
    ("boolean", "bool"),
    ("Bool", "bool"),
];

/// Words that start a statement.
const STATEMENT_WORDS: [&str; 6] = ["return", "while", "for", "do", "with", "else"];

/// Whether nothing but the end of the block would have fitted, as behind a `return`.
pub(crate) fn only_closing_brace(failure: &Failure) -> bool {
    matches!(failure.expected.as_slice(), [only] if only == "\"}\"")
}

/// The report of a failure.
pub(crate) fn report(tokens: &Classified, chunk: Chunk, failure: &Failure) -> Diagnostic {
    let list = &tokens.list;
    let wanted: Vec<&str> = failure.expected.iter().map(|name| name.trim_matches('"')).collect();
    let found = list.get(failure.at);
    let previous = failure.at.checked_sub(1).filter(|at| *at >= chunk.from).map(|at| &list[at]);
    if only_closing_brace(failure)
        && let Some(report) = early_return(tokens, chunk, failure.at)
    {
        return report;
    }
    let view = View { tokens, chunk, at: failure.at, wanted: &wanted };
    if let Some(report) = habits::report(&view) {
        return report;
    }
    if let Some(name) = unknown_type(list, chunk, failure.at, &wanted) {
        let text = spelling(tokens, name);
        let report = Diagnostic::error(Code::UnexpectedToken, format!("{text} is not a type here"))
            .at(name.span, "stands where a type is expected");
        let word = tokens.texts.get(name.text);
        let elsewhere = TYPES_ELSEWHERE.iter().find(|(theirs, _)| *theirs == &**word).map(|(_, own)| *own);
        return match elsewhere.or_else(|| did_you_mean(word, LEADING_WORDS)) {
            Some(near) if elsewhere.is_some() => report.with_safe_edit(format!("`{near}`"), name.span, near),
            Some(near) => report.with_name_meant(name.span, word, near),
            None if &**word == "string" => match view.use_edit("String", "string") {
                Some(Some((at, text))) => report.with_safe_edit("`use String: { string };`", at, text),
                _ => report.with_help("add `string` to the names of `use String`"),
            },
            None => report.with_help("is a `use` or `import` missing?"),
        };
    }
    if let Some(report) = record(&view, &wanted) {
        return report;
    }
    let expected = describe(&wanted, found.map(|token| token.kind));
    let Some(found) = found else {
        return SyntaxError::UnexpectedEnd { expected }.at(tokens.end);
    };
    let text = spelling(tokens, found);
    if let Some(report) = open_bracket(&view, (&expected, &text), found, previous) {
        return report;
    }
    if let (Kind::Genarray | Kind::Modarray | Kind::Fold, true, Some(previous)) =
        (found.kind, wanted.contains(&":"), previous)
        && previous.kind == Kind::RBrace
        && previous.span.file == found.span.file
    {
        let place = Span { start: previous.span.end, ..previous.span };
        return SyntaxError::Unexpected { found: text, expected, help: None }.at(found.span).with_safe_edit(
            "add `:` in front of the operation",
            place,
            " :",
        );
    }
    let help = help(tokens, chunk, failure.at, &wanted);
    // Where a name is declared, a keyword was meant as one.
    let word = tokens.texts.get(found.text);
    if help.is_none()
        && wanted.contains(&"ID")
        && !wanted.contains(&"(")
        && crate::classify::keyword(word) == found.kind
        && found.kind != Kind::Id
        && !found.first_on_line
    {
        let help =
            Some(format!("`{word}` is a word of the language, and no name: another name, like `{word}_`, would do"));
        return SyntaxError::Unexpected { found: text, expected, help }.at(found.span);
    }
    if let (None, Some((word, near))) = (&help, slipped_word(tokens, chunk, failure.at)) {
        let report = SyntaxError::Unexpected { found: text, expected, help: None }.at(found.span);
        return report.with_name_meant(word.span, tokens.texts.get(word.text), near);
    }
    // A missing `;` or bracket is missing behind the line before, not in front of the next one.
    if let Some(previous) = previous
        && help.is_none()
        && found.first_on_line
        && previous.span.file == found.span.file
        && matches!(wanted_closer(&wanted), Some(";" | ")" | "]"))
    {
        return Diagnostic::error(Code::UnexpectedToken, format!("expected {expected}, found {text}"))
            .at(previous.span, format!("expected {expected} behind this"))
            .with_label(found.span, "found this instead");
    }
    SyntaxError::Unexpected { found: text, expected, help }.at(found.span)
}

/// A record's name without `struct`.
fn record(view: &View<'_>, wanted: &[&str]) -> Option<Diagnostic> {
    let list = &view.tokens.list;
    let is_record = |at: usize| view.kind(at) == Some(Kind::SName);
    let (at, name) = [Some(view.at), view.at.checked_sub(1)]
        .into_iter()
        .flatten()
        .find(|at| is_record(*at))
        .map(|at| (at, view.tokens.texts.get(list[at].text)))?;
    let own = view.span(at, at + 1)?;
    let is_typed = at.checked_sub(1).is_some_and(|at| view.kind(at) == Some(Kind::Struct));
    if is_typed
        || !matches!(view.kind(at + 1), Some(Kind::Id | Kind::LBracket))
        || wanted.contains(&"{") && at != view.at
    {
        return None;
    }
    let place = Span { end: own.start, ..own };
    let report = Diagnostic::error(Code::UnexpectedToken, format!("the type of a record is `struct {name}`"))
        .at(own, "`struct` is missing in front of this");
    Some(report.with_safe_edit(format!("`struct {name}`"), place, "struct "))
}

/// A token as messages show it.
fn spelling(tokens: &Classified, token: &Token) -> String {
    match token.kind {
        Kind::Str => "a string".to_string(),
        Kind::Pragma => "a #pragma".to_string(),
        _ => {
            let name = tokens.texts.get(token.text);
            let module = tokens.texts.get(token.module);
            if module.is_empty() { quoted(name) } else { quoted(&format!("{module}::{name}")) }
        }
    }
}

/// The report of a bracket that is open where what stands in it has ended.
fn open_bracket(
    view: &View<'_>,
    (expected, text): (&str, &str),
    found: &Token,
    previous: Option<&Token>,
) -> Option<Diagnostic> {
    let open = view.opener(view.at)?;
    let (opening, closing, closer) = match view.kind(open)? {
        Kind::LParen => ("(", ")", Kind::RParen),
        Kind::LBracket => ("[", "]", Kind::RBracket),
        _ => return None,
    };
    let previous = previous.filter(|previous| previous.span.file == found.span.file)?;
    let is_closed = view.closer(open).and_then(|close| view.kind(close)) == Some(closer);
    let ends = matches!(found.kind, Kind::Semi | Kind::LBrace | Kind::RBrace | Kind::RParen | Kind::RBracket);
    // Within brackets that are closed something else is wrong, most often a comma.
    if !view.wanted.contains(&closing) || !(ends || found.first_on_line && !is_closed) {
        return None;
    }
    let place = Span { start: previous.span.end, end: previous.span.end, ..previous.span };
    let mut report = Diagnostic::error(Code::UnexpectedToken, format!("expected {expected}, found {text}"));
    report = match found.first_on_line {
        true => report
            .at(previous.span, format!("expected {expected} behind this"))
            .with_label(found.span, "found this instead"),
        false => report.at(found.span, format!("{text} is not possible here")),
    };
    let report = report.with_label(view.span(open, open + 1)?, format!("this `{opening}` is open"));
    Some(report.with_safe_edit(format!("add `{closing}`"), place, closing))
}

/// The closing token that fits, if one does.
fn wanted_closer<'a>(wanted: &[&'a str]) -> Option<&'a str> {
    [";", ")", "]", "}"].into_iter().find_map(|closer| wanted.iter().find(|name| **name == closer).copied())
}

/// "`;`", "an expression", "`,` or `)`", ...
fn describe(wanted: &[&str], found: Option<Kind>) -> String {
    let has = |name: &str| wanted.contains(&name);
    let mut words: Vec<String> = Vec::new();
    if wanted == ["PRAGMA"] {
        return "the next definition".to_string();
    }
    if has("use") && has("BASETYPE") {
        return "a definition".to_string();
    }
    let closers: Vec<&str> = [";", ",", ")", "]", "}", ":", "->", "="].into_iter().filter(|name| has(name)).collect();
    if has("NUM") && has("CHAR") {
        words.push("an expression".to_string());
        // `[` and `(` start expressions; of the closers only an empty list's is worth a word.
        words.extend(closers.iter().filter(|c| matches!(**c, ")" | "]" | "}")).map(|c| format!("`{c}`")));
        return join(&words);
    }
    if has("if") && has("while") {
        words.push("a statement".to_string());
        words.extend(closers.iter().filter(|c| **c == "}").map(|c| format!("`{c}`")));
        return join(&words);
    }
    words.extend(closers.iter().map(|closer| format!("`{closer}`")));
    if has("BASETYPE") {
        words.push("a type".to_string());
    }
    if has("ID") {
        words.push("a name".to_string());
    }
    if has("STRING") {
        words.push("a string".to_string());
    }
    // Behind a complete expression any operator would fit too, which nobody needs to hear.
    let complete = has("+") && !closers.is_empty();
    for keyword in ["genarray", "while", "else", "all", "classtype", "typedef", "{", "(", "[", "<", "<=", "|"] {
        // `genarray` stands for all operations of a with-loop; as a name it comes with `ID`.
        let named = keyword == "genarray" && has("ID");
        if has(keyword) && !named && !complete && words.len() < 4 {
            words.push(format!("`{keyword}`"));
        }
    }
    if words.is_empty() && has("+") {
        words.push("an operator".to_string());
    }
    if words.is_empty() {
        words.extend(wanted.iter().take(4).map(|name| format!("`{name}`")));
    }
    if words.is_empty() {
        // The lexer delivers tokens that no rule mentions, such as a lone `#`.
        words.push(if found.is_some() { "something else".to_string() } else { "more".to_string() });
    }
    join(&words)
}

fn join(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

/// What was probably meant, for mistakes that people bring from other languages.
fn help(tokens: &Classified, chunk: Chunk, at: usize, wanted: &[&str]) -> Option<String> {
    let list = &tokens.list;
    let kind_at = |at: usize| list.get(at).map(|token| token.kind);
    let found = list.get(at)?;
    let has = |name: &str| wanted.contains(&name);
    let help = match found.kind {
        Kind::Assign if has("EQOP") => "to compare write ==",
        Kind::Comma if has("<") && has("<=") => "one constraint bounds all axes: `[i, j] < [m, n]`",
        Kind::Bar if has("<") && has("<=") => {
            "behind the first `|` stands the index set: a value that uses the operator `|` needs parentheses"
        }
        Kind::RParen if has("(") && has(",") && folds(list, chunk, at) => {
            "a fold needs its neutral element as well: fold(+, 0)"
        }
        Kind::Return if !has(";") => {
            "`return` stands once, as the last statement of a function; give the value a name in each branch"
        }
        Kind::BaseType | Kind::Struct if has("if") && has("while") => {
            "declarations stand at the start of the function body; most variables need none"
        }
        Kind::LBrace if has("if") && has("while") => "a block stands only behind if, else, while, do and for",
        Kind::Else if at > chunk.from && kind_at(at - 1) == Some(Kind::Semi) => {
            "`else` follows its `if` statement directly, without another `;`"
        }
        Kind::RBrace if has("NUM") && kind_at(at.wrapping_sub(1)) == Some(Kind::Arrow) => {
            "write the value of each index behind ->"
        }
        Kind::Semi if at > chunk.from && kind_at(at - 1) == Some(Kind::RBrace) && has("PRAGMA") => {
            "remove the `;`: a function ends with its `}`"
        }
        Kind::Semi if at > chunk.from && kind_at(at - 1) == Some(Kind::RBrace) && has("while") => {
            "remove the `;`: a block ends with its `}`"
        }
        Kind::Module | Kind::Class if has("use") => "the header of a file stands before everything else",
        Kind::Id if has("use") && !matches!(kind_at(at + 1), Some(Kind::Id | Kind::LBracket)) => {
            "statements stand inside of functions"
        }
        kind if has("use") && starts_statement(kind) => "statements stand inside of functions",
        Kind::Num | Kind::OtherNum | Kind::Str | Kind::LParen | Kind::LBracket | Kind::True | Kind::False
            if has("if") && has("while") =>
        {
            "a statement is an assignment, a call, a with-loop or a control structure; a value needs a name: x = ...;"
        }
        _ => return None,
    };
    Some(help.to_string())
}

/// A name in front of the failure that stands where a statement begins, and the word that was probably meant.
fn slipped_word(tokens: &Classified, chunk: Chunk, at: usize) -> Option<(&Token, &'static str)> {
    let list = &tokens.list;
    let previous = at.checked_sub(1).filter(|at| *at >= chunk.from).map(|at| &list[at])?;
    if previous.kind != Kind::Id || !statement_start(list, chunk, at - 1) {
        return None;
    }
    Some((previous, did_you_mean(tokens.texts.get(previous.text), STATEMENT_WORDS)?))
}

/// Whether the tokens in front of `at` are `fold(` and what it folds with.
fn folds(list: &[Token], chunk: Chunk, at: usize) -> bool {
    at >= chunk.from + 3 && list[at - 2].kind == Kind::LParen && list[at - 3].kind == Kind::Fold
}

/// The name that was probably meant as a type, if that explains the failure: `Foo x;`, `int f(Foo x)`, `Foo f()`.
fn unknown_type<'a>(list: &'a [Token], chunk: Chunk, at: usize, wanted: &[&str]) -> Option<&'a Token> {
    let has = |name: &str| wanted.contains(&name);
    let found = list.get(at).filter(|token| token.kind == Kind::Id)?;
    let next = list.get(at + 1).map(|token| token.kind);
    if has("BASETYPE") && !has("if") && !has("NUM") && matches!(next, Some(Kind::Id | Kind::LBracket | Kind::Amp)) {
        return Some(found);
    }
    let previous = at.checked_sub(1).filter(|at| *at > chunk.from)?;
    let is_name = list[previous].kind == Kind::Id && statement_start(list, chunk, previous);
    (is_name && !found.first_on_line).then(|| &list[previous])
}

fn starts_statement(kind: Kind) -> bool {
    matches!(kind, Kind::If | Kind::For | Kind::While | Kind::Do | Kind::Return | Kind::With)
}

fn statement_start(list: &[Token], chunk: Chunk, at: usize) -> bool {
    at > chunk.from && matches!(list[at - 1].kind, Kind::Semi | Kind::LBrace | Kind::RBrace)
}

/// A `return` with statements behind it.
fn early_return(tokens: &Classified, chunk: Chunk, at: usize) -> Option<Diagnostic> {
    let list = &tokens.list;
    let before = list.get(chunk.from..at)?;
    let offset = before.iter().rposition(|token| token.kind == Kind::Return)?;
    let found = list.get(at)?;
    let report = Diagnostic::error(Code::UnexpectedToken, "`return` is not the last statement of its function")
        .at(before[offset].span, "returns here")
        .with_label(found.span, "but the body goes on");
    Some(report.with_help("assign the result in each branch and return it at the end"))
}
