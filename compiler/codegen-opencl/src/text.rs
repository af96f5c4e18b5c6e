//! Names inside texts of expressions.

/// The summand of a sum of two whose first one is this variable.
pub(crate) fn added<'t>(target: &str, text: &'t str) -> Option<&'t str> {
    let rest = text.strip_prefix(target)?.strip_prefix(" + ")?;
    let mut depth = 0i32;
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            // Binary operators stand between spaces; products bind more tightly than the sum.
            ' ' if depth == 0
                && !rest[at + 1..].starts_with(['*', '/', '%'])
                && !rest[..at].ends_with(['*', '/', '%']) =>
            {
                return None;
            }
            _ => {}
        }
    }
    Some(rest)
}

pub(crate) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Occurrences of a name in an expression, as byte ranges.
fn occurrences<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(name).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

pub(crate) fn mentions(text: &str, name: &str) -> bool {
    occurrences(text, name).next().is_some()
}

pub(crate) fn replace_name(text: &str, name: &str, new: &str) -> String {
    let mut result = String::new();
    let mut from = 0;
    for at in occurrences(text, name) {
        result.push_str(&text[from..at]);
        result.push_str(new);
        from = at + name.len();
    }
    result.push_str(&text[from..]);
    result
}
