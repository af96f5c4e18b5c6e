//! How numbers of one type are made those of another one, as messages suggest it.

use crate::value::Val;
use ravel_types::Basic;

/// The library function that converts to a type.
pub fn conversion(to: Basic) -> &'static str {
    match to {
        Basic::Int => "toi",
        Basic::Long => "tol",
        Basic::Longlong => "toll",
        Basic::Short => "tosh",
        Basic::Byte => "tob",
        Basic::Uint => "toui",
        Basic::Ulong => "toul",
        Basic::Ulonglong => "toull",
        Basic::Ushort => "tous",
        Basic::Ubyte => "toub",
        Basic::Float => "tof",
        Basic::Double => "tod",
        Basic::Bool => "tobool",
        Basic::Char => "tochar",
    }
}

/// The largest number that has a literal of every type.
const MOST_FOR_ALL: i32 = i8::MAX as i32;

/// The number that an `int` certainly is: where nothing was computed, it was written as a literal.
pub fn written(value: &Val) -> Option<i32> {
    match value {
        Val::Sc(Basic::Int, scalar) => scalar.as_int(),
        _ => None,
    }
}

/// How a value becomes one of this type; with its literal, if it is known to be this number.
pub fn help_to_convert(to: Basic, written: Option<i32>) -> String {
    let convert = conversion(to);
    let is_real = matches!(to, Basic::Float | Basic::Double);
    let written = written.filter(|n| is_real || (0..=MOST_FOR_ALL).contains(n));
    let literal = match (to.suffix(), written) {
        (None, _) => String::new(),
        (Some(suffix), Some(n)) => format!(", or write `{n}{suffix}`"),
        (Some(suffix), None) => format!(", or write literals as `2{suffix}`"),
    };
    format!("nothing converts implicitly: use `{convert}(...)`{literal}")
}

/// Whether a text is a literal that says nothing of its type.
pub fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_digit())
        && text.parse::<f64>().is_ok()
}

/// The text of an expression of another type, and whether its value is the same: a quotient of whole numbers has lost its fraction, so its
/// operands are converted.
pub fn converted(text: &str, to: Basic) -> (String, bool) {
    if !matches!(to, Basic::Float | Basic::Double) || !text.contains('/') {
        return (one_converted(text, to), true);
    }
    let operands: Vec<&str> = text.split('/').map(str::trim).collect();
    let is_plain = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    match operands[..] {
        [a, b] if is_plain(a) && is_plain(b) => (format!("{} / {}", one_converted(a, to), one_converted(b, to)), false),
        _ => (one_converted(text, to), false),
    }
}

/// The same of an expression as a whole.
fn one_converted(text: &str, to: Basic) -> String {
    match to.suffix() {
        Some(suffix) if is_number(text) && matches!(to, Basic::Float | Basic::Double) => format!("{text}{suffix}"),
        Some(suffix) if text.parse::<i8>().is_ok_and(|n| n >= 0) => format!("{text}{suffix}"),
        _ => format!("{}({text})", conversion(to)),
    }
}

/// The type that two operands of different types become.
pub fn agreed(a: Basic, b: Basic) -> Basic {
    [Basic::Double, Basic::Float].into_iter().find(|ty| [a, b].contains(ty)).unwrap_or(Basic::Int)
}

/// How operands of these types become two of one type. `written` is what an `int` among them certainly is.
pub fn help_to_agree(a: Basic, b: Basic, written: Option<i32>) -> String {
    let both = [a, b];
    if both.contains(&Basic::Float) && both.contains(&Basic::Double) {
        let literals = "`2f` is a float, `2.0` and `2d` are doubles";
        return format!("nothing converts implicitly: use `tof(...)` or `tod(...)`; {literals}");
    }
    help_to_convert(agreed(a, b), written)
}
