//! Declarations as C writes them: with values, with shapes behind names, and of pointers.

use super::error;
use super::view::{View, behind};
use crate::tokens::Kind;
use ravel_diagnostics::Diagnostic;
use ravel_source::Span;

/// The type in front of a declaration's names, in a body.
struct Declared {
    /// Its tokens.
    from: usize,
    upto: usize,
    /// `int`, or the name of a struct.
    name: String,
    is_struct: bool,
    /// Whether it has a shape.
    is_array: bool,
}

/// The declaration around a token, whose first name begins where its type ends.
fn declared(view: &View<'_>, at: usize) -> Option<Declared> {
    view.opener(at).filter(|open| view.kind(*open) == Some(Kind::LBrace))?;
    let from = view.start_of(at, |kind| matches!(kind, Kind::Semi | Kind::RBrace));
    let is_struct = view.kind(from) == Some(Kind::Struct);
    let base = if is_struct { from + 1 } else { from };
    if !matches!(view.kind(base), Some(Kind::BaseType | Kind::TypeName | Kind::SName)) {
        return None;
    }
    let is_array = view.kind(base + 1) == Some(Kind::LBracket);
    let upto = if is_array { view.closer(base + 1)? + 1 } else { base + 1 };
    (upto < at).then(|| Declared { from, upto, name: view.word(base).to_string(), is_struct, is_array })
}

/// `int n = 3;`, outside of functions.
pub(super) fn global(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Assign)?;
    let (name, ty) = (view.name(view.at.checked_sub(1)?)?, view.at.checked_sub(2)?);
    if view.opener(view.at).is_some() || view.kind(ty) != Some(Kind::BaseType) {
        return None;
    }
    let report = error("variables live in functions")
        .at(found.span, "no value is given here")
        .with_note(format!("a function gives a value that is computed: `int {name}() {{ return ...; }}`"));
    let end = view.end_of(view.at, |kind| kind == Kind::Semi)?;
    let whole = view.whole(ty, end + 1).filter(|_| view.token(ty).is_some_and(|token| token.first_on_line));
    let is_number = end == view.at + 2 && matches!(view.kind(view.at + 1), Some(Kind::Num | Kind::OtherNum));
    Some(match (whole, view.text(view.at + 1, end)) {
        (Some(whole), Some(value)) if is_number => {
            let text = format!("#define {name} {value}");
            report.with_edit(format!("`{text}` names a number"), whole, text)
        }
        _ => report.with_help(format!("`#define {name} ...` names a number")),
    })
}

/// `unsigned int x;`
pub(super) fn unsigned(view: &View<'_>) -> Option<Diagnostic> {
    let at = view.at.checked_sub(1).filter(|at| matches!(view.name(*at), Some("unsigned" | "signed")))?;
    let plain = view.token(view.at).filter(|token| token.kind == Kind::BaseType).map(|_| view.word(view.at))?;
    let own = match (view.word(at), plain) {
        ("unsigned", "char" | "byte") => "ubyte",
        ("unsigned", "short") => "ushort",
        ("unsigned", "int") => "uint",
        ("unsigned", "long") => "ulong",
        ("signed", "char") => "byte",
        ("signed", plain) => plain,
        _ => return None,
    };
    let whole = view.whole(at, view.at + 1)?;
    let report = error("types are one word").at(whole, "not possible here");
    Some(report.with_safe_edit(format!("`{own}`"), whole, own))
}

/// `int x = 1;`
pub(super) fn value(view: &View<'_>) -> Option<Diagnostic> {
    let found = view.token(view.at).filter(|token| token.kind == Kind::Assign)?;
    if !view.has(";") || !view.has(",") {
        return None;
    }
    let ty = declared(view, view.at)?;
    let report = error("a declaration gives no value").at(found.span, "a value is given by an assignment");
    let report = report.with_note("variables need no declaration: an assignment makes them");
    let end = view.end_of(view.at, |kind| kind == Kind::Semi)?;
    if view.kind(end) != Some(Kind::Semi) {
        return Some(report.with_help("drop the type"));
    }
    let mut plain: Vec<String> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let mut safe = true;
    let mut joined = false;
    for (from, upto) in view.parts(ty.upto, end, |kind| kind == Kind::Comma) {
        let Some(name) = view.name(from) else { return Some(report.with_help("drop the type")) };
        match view.kind(from + 1) {
            _ if from + 1 == upto => plain.push(name.to_string()),
            Some(Kind::Assign) => {
                let Some((text, sure, calls)) = initial(view, &ty, from + 2, upto) else {
                    return Some(report.with_help("drop the type"));
                };
                safe &= sure;
                joined |= calls;
                texts.push(format!("{name} = {text};"));
            }
            _ => return Some(report.with_help("drop the type")),
        }
    }
    if !plain.is_empty() {
        texts.insert(0, format!("{} {};", view.text(ty.from, ty.upto)?, plain.join(", ")));
    }
    let (span, text) = (view.whole(ty.from, end + 1)?, texts.join(" "));
    Some(if joined {
        view.with_library_edit(report.with_note("strings have no `+`"), (span, text), ("String", "strcat"), safe)
    } else if safe {
        report.with_safe_edit(format!("`{text}`"), span, text)
    } else {
        report.with_edit(format!("`{text}`"), span, text)
    })
}

/// The value that a declaration gives, whether that is what is meant, and whether it calls `strcat`.
fn initial(view: &View<'_>, ty: &Declared, from: usize, upto: usize) -> Option<(String, bool, bool)> {
    let text = view.text(from, upto)?;
    if view.kind(from) == Some(Kind::LBrace) && view.closer(from) == Some(upto - 1) {
        return Some(if ty.is_struct || view.token(ty.upto - 1)?.kind == Kind::SName {
            (format!("{}{text}", ty.name), true, false)
        } else {
            (text.replace('{', "[").replace('}', "]"), true, false)
        });
    }
    let strings = (from..upto)
        .all(|at| view.kind(at) == Some(if (at - from).is_multiple_of(2) { Kind::Str } else { Kind::Plus }));
    if strings && upto == from + 3 {
        return Some((format!("strcat({}, {})", view.word(from), view.word(from + 2)), true, true));
    }
    if from + 1 == upto && matches!(view.kind(from), Some(Kind::Num | Kind::OtherNum)) {
        // A number without suffix takes the declared type by one.
        let bare = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        return Some(match ty.name.as_str() {
            "double" if bare && !text.contains('.') => (format!("{text}d"), true, false),
            "float" if bare => (format!("{text}f"), true, false),
            "double" | "int" => (text, true, false),
            _ => (text, false, false),
        });
    }
    let sure = !ty.is_array && matches!(ty.name.as_str(), "int" | "bool" | "char" | "string") || ty.is_struct;
    Some((text, sure, false))
}

/// `int a[3];`
pub(super) fn array(view: &View<'_>) -> Option<Diagnostic> {
    if view.before(0) != Some(Kind::LBracket) || !view.has(";") || !view.has(",") {
        return None;
    }
    let ty = declared(view, view.at)?;
    let name = view.name(view.at.checked_sub(1)?)?;
    let (extents, after) = extents(view, view.at)?;
    let shape = format!("[{}]", extents.join(","));
    let report = error("the shape of an array stands behind its type")
        .at(view.span(view.at, after)?, format!("not behind `{name}`"));
    let whole = |end: usize| view.whole(ty.from, end + 1);
    if view.at != ty.upto + 1 || ty.is_array {
        return Some(report.with_help(format!("`{}{shape} {name}`", ty.name)));
    }
    let empty = extents.iter().any(|extent| extent == ".");
    match view.kind(after) {
        Some(Kind::Assign) => {
            let end =
                view.end_of(after, |kind| kind == Kind::Semi).filter(|end| view.kind(*end) == Some(Kind::Semi))?;
            let (value, _, _) = initial(view, &ty, after + 1, end)?;
            let text = format!("{name} = {value};");
            Some(report.with_safe_edit(format!("`{text}`"), whole(end)?, text))
        }
        Some(Kind::Semi) if !empty && !ty.is_struct => {
            let zero = match ty.name.as_str() {
                "int" => "0",
                "double" => "0d",
                "float" => "0f",
                "long" => "0l",
                "bool" => "false",
                "char" => "' '",
                _ => return Some(report.with_help(format!("`{}{shape} {name};`", ty.name))),
            };
            let text = format!("{name} = genarray({shape}, {zero});");
            Some(report.with_safe_edit(format!("`{text}`"), whole(after)?, text))
        }
        _ => Some(report.with_help(format!("`{}{shape} {name};`", ty.name))),
    }
}

/// The extents between pairs of brackets from `at` on, and the token behind them.
fn extents(view: &View<'_>, mut at: usize) -> Option<(Vec<String>, usize)> {
    let mut extents = Vec::new();
    while view.kind(at) == Some(Kind::LBracket) {
        let close = view.closer(at)?;
        extents.push(if close == at + 1 { ".".to_string() } else { view.text(at + 1, close)? });
        at = close + 1;
    }
    Some((extents, at))
}

/// `int f(int a[])`
pub(super) fn array_parameter(view: &View<'_>) -> Option<Diagnostic> {
    if view.before(0) != Some(Kind::LBracket) || view.has(";") || !view.has(")") {
        return None;
    }
    let name = view.name(view.at.checked_sub(1)?)?;
    let ty = view.at.checked_sub(2)?;
    if !matches!(view.kind(ty), Some(Kind::BaseType | Kind::TypeName | Kind::SName)) {
        return None;
    }
    let (extents, after) = extents(view, view.at)?;
    let shape = extents.join(",");
    let whole = behind(view.span(ty, ty + 1)?).to(view.span(after - 1, after)?);
    Some(
        error("the shape of an array stands behind its type")
            .at(view.span(view.at, after)?, format!("not behind `{name}`"))
            .with_safe_edit(format!("`{}[{shape}] {name}`", view.word(ty)), whole, format!("[{shape}] {name}")),
    )
}

/// `int *p`
pub(super) fn pointer(view: &View<'_>) -> Option<Diagnostic> {
    if view.before(0) != Some(Kind::Star) || view.has("+") {
        return None;
    }
    let ty = view.at.checked_sub(1)?;
    if !matches!(view.kind(ty), Some(Kind::BaseType | Kind::TypeName | Kind::SName | Kind::Void)) {
        return None;
    }
    let stars = (view.at..).take_while(|at| view.kind(*at) == Some(Kind::Star)).count();
    let after = view.at + stars;
    let report = error("types have no pointers").at(view.span(view.at, after)?, "not possible here");
    if view.kind(ty) == Some(Kind::Void) {
        return Some(
            report.with_help("a function takes and returns values of every type: name the type that is meant"),
        );
    }
    let blank = if view.token(after).is_some_and(|next| next.kind == Kind::Id) { " " } else { "" };
    let end = view.token(after)?.span.start;
    let own = view.span(ty, ty + 1)?;
    if view.word(ty) == "char" && stars == 1 {
        return Some(report.with_note("`string` is a type of module String").with_edit(
            "`string`",
            Span { end, ..own },
            format!("string{blank}"),
        ));
    }
    let shape = format!("[{}]", vec!["."; stars].join(","));
    let title = format!("`{}{shape}` is an array with any number of elements", view.word(ty));
    Some(report.with_safe_edit(title, Span { start: own.end, end, ..own }, format!("{shape}{blank}")))
}
