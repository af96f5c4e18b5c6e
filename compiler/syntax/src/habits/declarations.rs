//! Declarations as C writes them: with values, with shapes behind names, and of pointers.

use super::error;
use super::view::{View, behind};
use crate::tokens::Kind;
use ravel_diagnostics::Diagnostic;
use ravel_source::Span;
use ravel_types::Basic;

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
    let mut needs = None;
    let shape = if ty.is_array { extents_in(view, ty.from + 1 + usize::from(ty.is_struct))? } else { Vec::new() };
    for (from, upto) in view.parts(ty.upto, end, |kind| kind == Kind::Comma) {
        let Some(name) = view.name(from) else { return Some(report.with_help("drop the type")) };
        match view.kind(from + 1) {
            _ if from + 1 == upto => plain.push(name.to_string()),
            Some(Kind::Assign) => {
                let Some(initial) = initial(view, &ty, &shape, from + 2, upto) else {
                    return Some(report.with_help("drop the type"));
                };
                safe &= initial.is_sure;
                needs = needs.or(initial.needs);
                texts.push(format!("{name} = {};", initial.text));
            }
            _ => return Some(report.with_help("drop the type")),
        }
    }
    if !plain.is_empty() {
        texts.insert(0, format!("{} {};", view.text(ty.from, ty.upto)?, plain.join(", ")));
    }
    let (span, text) = (view.whole(ty.from, end + 1)?, texts.join(" "));
    Some(with_initial(view, report, (span, text), needs, safe))
}

/// The report with the assignment that takes the place of a declaration.
fn with_initial(
    view: &View<'_>,
    report: Diagnostic,
    (span, text): (Span, String),
    needs: Option<(&'static str, &'static str)>,
    safe: bool,
) -> Diagnostic {
    match needs {
        Some(needs @ ("String", _)) => {
            view.with_library_edit(report.with_note("strings have no `+`"), (span, text), needs, safe)
        }
        Some(needs) => {
            let report = report.with_note("C drops the fraction of what it gives to an `int`");
            view.with_library_edit(report, (span, text), needs, safe)
        }
        None if safe => report.with_safe_edit(format!("`{text}`"), span, text),
        None => report.with_edit(format!("`{text}`"), span, text),
    }
}

/// The value that a declaration gives.
struct Initial {
    text: String,
    /// Whether it has the declared type and shape.
    is_sure: bool,
    /// The function that it calls, with its module.
    needs: Option<(&'static str, &'static str)>,
}

impl Initial {
    fn new(text: String, is_sure: bool) -> Initial {
        Initial { text, is_sure, needs: None }
    }
}

/// `extents` are those behind the name or the type.
fn initial(view: &View<'_>, ty: &Declared, extents: &[String], from: usize, upto: usize) -> Option<Initial> {
    let text = view.text(from, upto)?;
    let is_list = matches!(view.kind(from), Some(Kind::LBrace | Kind::LBracket)) && view.closer(from) == Some(upto - 1);
    if is_list && view.kind(from) == Some(Kind::LBrace) && (ty.is_struct || view.kind(ty.upto - 1) == Some(Kind::SName))
    {
        return Some(Initial::new(format!("{}{text}", ty.name), true));
    }
    if is_list {
        return list(view, ty, extents, from, upto);
    }
    let strings = (from..upto)
        .all(|at| view.kind(at) == Some(if (at - from).is_multiple_of(2) { Kind::Str } else { Kind::Plus }));
    if strings && upto == from + 3 {
        let text = format!("strcat({}, {})", view.word(from), view.word(from + 2));
        return Some(Initial { text, is_sure: true, needs: Some(("String", "strcat")) });
    }
    if from + 1 == upto && view.is_written_number(from) {
        let (text, is_sure) = number(&text, &ty.name);
        let needs = text.starts_with("toi(").then_some(("Array", "toi"));
        return Some(Initial { text, is_sure, needs });
    }
    // A real among the operands makes the whole a real, which the declaration would have cut.
    let has_real = (from..upto).any(|at| view.kind(at) == Some(Kind::OtherNum));
    let is_sure = match ty.name.as_str() {
        "int" => !has_real,
        "bool" | "char" | "string" => true,
        _ => false,
    };
    Some(Initial::new(text, is_sure && !ty.is_array || ty.is_struct))
}

/// A number of a declared type, and whether it certainly is one: without a suffix it takes the type by one.
fn number(text: &str, ty: &str) -> (String, bool) {
    let is_whole = text.bytes().all(|b| b.is_ascii_digit());
    let is_bare = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    let basic = Basic::ALL.into_iter().find(|basic| basic.name() == ty);
    match (basic, basic.and_then(Basic::suffix)) {
        (Some(Basic::Int), _) if is_whole => (text.to_string(), text.parse::<i32>().is_ok()),
        (Some(Basic::Int), _) if is_bare => (format!("toi({text})"), true),
        (Some(Basic::Double), _) if is_bare && !is_whole => (text.to_string(), true),
        (Some(Basic::Double | Basic::Float), Some(suffix)) if is_bare => (format!("{text}{suffix}"), true),
        (Some(Basic::Long | Basic::Longlong), Some(suffix)) if is_whole => {
            (format!("{text}{suffix}"), text.parse::<i64>().is_ok())
        }
        (Some(Basic::Uint), Some(suffix)) if is_whole => (format!("{text}{suffix}"), text.parse::<u32>().is_ok()),
        (Some(Basic::Ulong | Basic::Ulonglong), Some(suffix)) if is_whole => {
            (format!("{text}{suffix}"), text.parse::<u64>().is_ok())
        }
        (Some(Basic::Byte), Some(suffix)) if is_whole => (format!("{text}{suffix}"), text.parse::<i8>().is_ok()),
        (Some(Basic::Ubyte), Some(suffix)) if is_whole => (format!("{text}{suffix}"), text.parse::<u8>().is_ok()),
        (Some(Basic::Short), Some(suffix)) if is_whole => (format!("{text}{suffix}"), text.parse::<i16>().is_ok()),
        (Some(Basic::Ushort), Some(suffix)) if is_whole => (format!("{text}{suffix}"), text.parse::<u16>().is_ok()),
        _ => (text.to_string(), false),
    }
}

/// `{1, 2}` or `[1, 2]` for an array: numbers get the declared type, and as in C zeros fill what the list leaves.
fn list(view: &View<'_>, ty: &Declared, extents: &[String], from: usize, upto: usize) -> Option<Initial> {
    let mut text = String::new();
    let mut is_sure = true;
    let mut needs = None;
    for piece in view.pieces(from, upto)? {
        if piece.is_apart && !text.ends_with('[') && !text.is_empty() {
            text.push(' ');
        }
        match piece.kind {
            Kind::LBrace | Kind::LBracket => text.push('['),
            Kind::RBrace | Kind::RBracket => text.push(']'),
            Kind::Comma => text.push(','),
            Kind::Minus => text.push('-'),
            Kind::Num | Kind::OtherNum if !piece.is_macro => {
                let (number, is_exact) = number(piece.text, &ty.name);
                is_sure &= is_exact;
                needs = needs.or_else(|| number.starts_with("toi(").then_some(("Array", "toi")));
                text.push_str(&number);
            }
            kind => {
                is_sure &=
                    matches!((kind, ty.name.as_str()), (Kind::True | Kind::False, "bool") | (Kind::Char, "char"))
                        && !piece.is_macro;
                text.push_str(piece.text);
            }
        }
    }
    let items = view.parts(from + 1, upto - 1, |kind| kind == Kind::Comma);
    let count = items.iter().filter(|(from, upto)| from < upto).count();
    let zero = zero_of(&ty.name);
    let shape = format!("[{}]", extents.join(","));
    let is_known = extents.iter().all(|extent| extent != ".");
    let is_zero = |(from, upto): &(usize, usize)| {
        from + 1 == *upto && view.is_written_number(*from) && view.word(*from).bytes().all(|b| b == b'0')
    };
    if let (Some(zero), true, true) = (&zero, is_known && !extents.is_empty(), items.iter().all(is_zero)) {
        return Some(Initial::new(format!("genarray({shape}, {zero})"), true));
    }
    let is_nested = items.iter().any(|(from, _)| matches!(view.kind(*from), Some(Kind::LBrace | Kind::LBracket)));
    let extent = |k: usize| extents.get(k).and_then(|extent| extent.parse::<usize>().ok());
    let wanted = extent(0);
    match (extents, wanted) {
        ([], _) => {}
        ([first], _) if first == "." => {}
        ([_], Some(wanted)) if count == wanted => {}
        ([_], Some(wanted)) if count < wanted => {
            text = format!("{text} ++ genarray([{}], {})", wanted - count, zero?);
        }
        // Each row must be whole.
        (_, Some(_)) if is_nested && extents.len() == 2 => {
            let rows = items
                .iter()
                .map(|(from, upto)| view.parts(from + 1, upto.saturating_sub(1), |kind| kind == Kind::Comma).len());
            is_sure &= wanted == Some(count) && rows.map(Some).all(|row| row == extent(1));
        }
        _ => is_sure = false,
    }
    Some(Initial { text, is_sure, needs })
}

/// The zero of a type.
fn zero_of(ty: &str) -> Option<String> {
    match Basic::ALL.into_iter().find(|basic| basic.name() == ty)? {
        Basic::Bool => Some("false".to_string()),
        Basic::Char => Some("' '".to_string()),
        basic => Some(format!("0{}", basic.suffix().unwrap_or_default())),
    }
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
            let initial = initial(view, &ty, &extents, after + 1, end)?;
            let text = format!("{name} = {};", initial.text);
            Some(with_initial(view, report, (whole(end)?, text), initial.needs, initial.is_sure))
        }
        Some(Kind::Semi) if !empty && !ty.is_struct => {
            let Some(zero) = zero_of(&ty.name) else {
                return Some(report.with_help(format!("`{}{shape} {name};`", ty.name)));
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

/// The extents within the brackets of a type.
fn extents_in(view: &View<'_>, open: usize) -> Option<Vec<String>> {
    let close = view.closer(open)?;
    view.parts(open + 1, close, |kind| kind == Kind::Comma).iter().map(|(from, upto)| view.text(*from, *upto)).collect()
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
