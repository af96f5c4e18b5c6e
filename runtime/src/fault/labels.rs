//! Labels below the source line of a fault: ``a is double[3,1000]``, with the extents that the fault found.
//!
//! They are made while compiling. An extent that only the run knows is a slot in the text, and the fault brings those that it has found: an
//! index that of its axis, a message the numbers at marks like `{:36}`. Slots that nothing fills show a dot, as in types.

use std::fmt::Write as _;

/// Stand around the number of a slot. Excerpts of source show no control characters.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

/// Slots below are axes of the array that is indexed; the compiler gives the others.
const OF_INDEX: i64 = 64;

/// The slot of an axis of the array that is indexed.
pub fn indexed(axis: i64) -> Option<u32> {
    u32::try_from(axis).ok().filter(|_| axis < OF_INDEX)
}

/// A slot, as labels have it.
pub fn slot(number: u32) -> String {
    format!("{OPEN}{number}{CLOSE}")
}

/// The text with extents in its slots.
pub fn filled(text: &str, extents: &[(u32, i64)]) -> String {
    let mut parts = text.split(OPEN);
    let mut shown = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (number, rest) = part.split_once(CLOSE).unwrap_or(("", part));
        let number: Option<u32> = number.parse().ok();
        match extents.iter().find(|(slot, _)| Some(*slot) == number) {
            Some((_, extent)) => _ = write!(shown, "{extent}"),
            None => shown.push('.'),
        }
        shown.push_str(rest);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_show_what_the_fault_has_found() {
        let axis = |axis| slot(indexed(axis).expect("few axes"));
        let text = format!("`a` is double[{},{},7]\n", axis(0), axis(1));
        assert_eq!(filled(&text, &[(1, 1000)]), "`a` is double[.,1000,7]\n");
        assert_eq!(filled(&text, &[]), "`a` is double[.,.,7]\n");
        assert_eq!(filled("none", &[(0, 1)]), "none");
        assert_eq!(filled("\u{1}x", &[(0, 1)]), ".x");
        assert_eq!((indexed(-1), indexed(64)), (None, None));
        assert_eq!(filled(&slot(82), &[(82, 5)]), "5");
    }
}
