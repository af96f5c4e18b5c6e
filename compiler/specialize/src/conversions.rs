//! How numbers of one type are made those of another one, as messages suggest it.

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

/// How a literal of the type is written; none where literals have no suffix.
fn literal(ty: Basic) -> Option<&'static str> {
    Some(match ty {
        Basic::Double => "2d",
        Basic::Float => "2f",
        Basic::Byte => "2b",
        Basic::Short => "2s",
        Basic::Long => "2l",
        Basic::Longlong => "2ll",
        Basic::Ubyte => "2ub",
        Basic::Ushort => "2us",
        Basic::Uint => "2u",
        Basic::Ulong => "2ul",
        Basic::Ulonglong => "2ull",
        Basic::Bool | Basic::Char | Basic::Int => return None,
    })
}

/// How a value becomes one of this type.
pub fn help_to_convert(to: Basic) -> String {
    let convert = conversion(to);
    let literal = literal(to).map(|literal| format!(", or write literals as `{literal}`")).unwrap_or_default();
    format!("nothing converts implicitly: use `{convert}(...)`{literal}")
}

/// How operands of these types become two of one type.
pub fn help_to_agree(a: Basic, b: Basic) -> String {
    let both = [a, b];
    if both.contains(&Basic::Float) && both.contains(&Basic::Double) {
        let literals = "`2f` is a float, `2.0` and `2d` are doubles";
        return format!("nothing converts implicitly: use `tof(...)` or `tod(...)`; {literals}");
    }
    let real = [Basic::Double, Basic::Float].into_iter().find(|ty| both.contains(ty));
    help_to_convert(real.unwrap_or(Basic::Int))
}
