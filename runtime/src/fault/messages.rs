//! What faults say, and with which codes. The compiler foresees some of them; what it says then has the same codes.

use std::borrow::Cow;
use std::fmt::{self, Display};

use super::{Fault, labels};

/// The code of a fault, as `ravel explain` takes it: a letter and four digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Code([u8; 5]);

impl Code {
    /// No instance of a function takes the arguments.
    pub const NO_INSTANCE: Code = Code(*b"E0310");
    /// Shapes, extents or ranks that had to be equal.
    pub const SHAPES_DIFFER: Code = Code(*b"E0312");
    /// A value that a type pattern does not admit.
    pub const PATTERN_MISMATCH: Code = Code(*b"E0321");
    /// A value of another shape than its place admits.
    pub const DECLARED_SHAPE: Code = Code(*b"E0322");
    /// An index beyond an axis.
    pub const INDEX_OUT_OF_RANGE: Code = Code(*b"E0330");
    /// An index with other components than the array has axes.
    pub const INDEX_LENGTH: Code = Code(*b"E0332");
    /// Integer division or remainder by zero.
    pub const DIVISION_BY_ZERO: Code = Code(*b"E0333");
    /// A negative extent.
    pub const NEGATIVE_EXTENT: Code = Code(*b"E0334");
    /// A shape of another number of elements.
    pub const RESHAPE_COUNT: Code = Code(*b"E0335");
    /// A format and its arguments.
    pub const FORMAT_MISMATCH: Code = Code(*b"E0347");
    /// Bounds of a generator that differ in length.
    pub const INDEX_LENGTHS_DIFFER: Code = Code(*b"E0363");
    /// Bounds, step or width of a generator that are impossible.
    pub const BAD_GENERATOR: Code = Code(*b"E0364");

    /// All of these.
    pub const ALL: [Code; 12] = [
        Code::NO_INSTANCE,
        Code::SHAPES_DIFFER,
        Code::PATTERN_MISMATCH,
        Code::DECLARED_SHAPE,
        Code::INDEX_OUT_OF_RANGE,
        Code::INDEX_LENGTH,
        Code::DIVISION_BY_ZERO,
        Code::NEGATIVE_EXTENT,
        Code::RESHAPE_COUNT,
        Code::FORMAT_MISMATCH,
        Code::INDEX_LENGTHS_DIFFER,
        Code::BAD_GENERATOR,
    ];

    /// Takes the code off a text of the compiler, `[E0324] condition ...`.
    pub fn split(text: &str) -> (Option<Code>, &str) {
        let code = |text: &str| {
            let (code, rest) = text.strip_prefix('[')?.split_once("] ")?;
            let code: [u8; 5] = code.as_bytes().try_into().ok()?;
            let [letter, digits @ ..] = code;
            let is_code = letter.is_ascii_uppercase() && digits.iter().all(u8::is_ascii_digit);
            is_code.then_some((Code(code), rest.len()))
        };
        match code(text) {
            Some((code, length)) => (Some(code), &text[text.len() - length..]),
            None => (None, text),
        }
    }
}

impl Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// A text of others as a terminal may be given it: control characters but line ends and tabulators are escaped, `\x1b`.
pub fn visible(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c {
        '\r' => "\\r".to_string(),
        c if acts(c) => format!("\\x{:02x}", c as u32),
        c => c.to_string(),
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// `[2,3]`.
pub fn shape_text(shape: &[i64]) -> String {
    let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
    format!("[{}]", extents.join(","))
}

/// An index out of range.
pub fn index(index: i64, axis: i64, extent: i64) -> Fault {
    let text = format!("index {index} is out of range for axis {axis} of extent {extent}");
    let extents = labels::indexed(axis).map(|slot| (slot, extent)).into_iter().collect();
    Fault { extents, ..Fault::coded(Code::INDEX_OUT_OF_RANGE, text) }
}

/// Two shapes had to be equal; `what` names the operation.
pub fn shapes(what: &str, first: &[i64], second: &[i64]) -> Fault {
    let text = format!("{what}: the shapes {} and {} differ", shape_text(first), shape_text(second));
    Fault::coded(Code::SHAPES_DIFFER, text)
}

/// A division by zero.
pub fn division() -> Fault {
    Fault::coded(Code::DIVISION_BY_ZERO, "division by zero")
}

/// There is no memory for an array.
pub fn memory(shape: &[i64]) -> Fault {
    Fault::here(format!("out of memory for an array of shape {}", shape_text(shape)))
}

/// A reshape to another number of elements.
pub fn reshape(found: i64, expected: i64) -> Fault {
    let text = format!("reshape: {found} elements do not fill a shape of {expected} elements");
    Fault::coded(Code::RESHAPE_COUNT, text)
}

/// A value of another shape than its place admits; negative extents admit any.
pub fn narrow(wanted: &[i64], shape: &[i64]) -> Fault {
    let extents = wanted.iter().map(|extent| if *extent < 0 { ".".to_string() } else { extent.to_string() });
    let place = match wanted {
        [] => "a scalar belongs".to_string(),
        _ => format!("one of shape [{}] belongs", extents.collect::<Vec<_>>().join(",")),
    };
    Fault::coded(Code::DECLARED_SHAPE, format!("a value of shape {} where {place}", shape_text(shape)))
}

/// A value whose shape does not conform to a declared type or pattern.
pub fn conformity(pattern: &str, shape: &[i64]) -> Fault {
    let text = format!("{pattern} does not admit a value of shape {}", shape_text(shape));
    Fault::coded(Code::PATTERN_MISMATCH, text)
}

/// Message with numbers at the last marks of its text: `{}` is a whole number, `{:36}` one that also fills this slot of a label (several
/// have commas), `{d}` the bits of a double, `{b}` a bool, `{e}` an extent that is negative; `{[8]}`, `{[8]d}` and
/// `{[8]b}` are vectors, given by their length and as many components as the mark says, whether they are there or not. Without enough marks
/// the numbers stand behind the text: `text: 1, 2`.
pub fn numbers_message(text: &str, numbers: &[i64]) -> String {
    marked_message(text, numbers).0
}

/// [`numbers_message`], with the numbers that fill slots.
fn marked_message(text: &str, numbers: &[i64]) -> (String, Vec<(u32, i64)>) {
    let mut slots = Vec::new();
    let (mut front, mut behind, mut left) = (text, String::new(), numbers);
    while !left.is_empty() {
        let Some((start, mark)) = Mark::last(front) else { break };
        let Some(at) = left.len().checked_sub(mark.numbers()) else { break };
        let end = start + mark.text.len();
        behind = format!("{}{}{behind}", mark.shown(&left[at..]), &front[end..]);
        slots.extend(mark.slots().map(|slot| (slot, left[at])));
        (front, left) = (&front[..start], &left[..at]);
    }
    if left.is_empty() {
        return (format!("{front}{behind}"), slots);
    }
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    (format!("{text}: {}", numbers.join(", ")), Vec::new())
}

/// An extent less than this is rather one that is too large: sums and products of extents wrap around.
const WRAPPED: i64 = -(1 << 24);

/// A negative extent.
pub fn extent_text(extent: i64) -> String {
    if extent < WRAPPED { format!("{extent} (beyond 2147483647 an extent wraps around)") } else { extent.to_string() }
}

/// A place for numbers in a message.
struct Mark<'a> {
    text: &'a str,
    /// Components, for a vector.
    components: Option<usize>,
    letter: &'a str,
}

impl<'a> Mark<'a> {
    /// The last mark of a text, and where it begins.
    fn last(text: &'a str) -> Option<(usize, Mark<'a>)> {
        let mut end = text.len();
        while let Some(start) = text[..end].rfind('{') {
            if let Some(mark) = Mark::first(&text[start..]) {
                return Some((start, mark));
            }
            end = start;
        }
        None
    }

    /// The mark with which a text begins.
    fn first(text: &'a str) -> Option<Mark<'a>> {
        let inner = &text[1..text.find('}')?];
        let (components, letter) = match inner.strip_prefix('[') {
            Some(vector) => {
                let (components, letter) = vector.split_once(']')?;
                (Some(components.parse().ok()?), letter)
            }
            None => (None, inner),
        };
        let mark = Mark { text: &text[..inner.len() + 2], components, letter };
        let has_slots = letter.len() > 1 && mark.slots().count() == letter.split(',').count() && components.is_none();
        (has_slots || matches!(letter, "" | "d" | "b" | "e")).then_some(mark)
    }

    fn slots(&self) -> impl Iterator<Item = u32> {
        let list = self.letter.strip_prefix(':').unwrap_or_default();
        list.split(',').filter_map(|slot| slot.parse().ok())
    }

    fn numbers(&self) -> usize {
        self.components.map_or(1, |components| components + 1)
    }

    fn shown(&self, numbers: &[i64]) -> String {
        let one = |number: &i64| match self.letter {
            "d" => format!("{:?}", f64::from_bits(*number as u64)),
            "b" => (*number != 0).to_string(),
            "e" => extent_text(*number),
            _ => number.to_string(),
        };
        let (Some(_), [length, components @ ..]) = (self.components, numbers) else {
            return numbers.iter().map(one).collect::<Vec<_>>().join(",");
        };
        let length = usize::try_from(*length).unwrap_or(0);
        let mut shown: Vec<String> = components.iter().take(length).map(one).collect();
        if length > shown.len() {
            shown.push("..".to_string());
        }
        format!("[{}]", shown.join(","))
    }
}

/// Conditions that were violated together; what they are violated by (`arguments of f: `) is said once, and so is a code that they share.
pub fn several(faults: impl IntoIterator<Item = Fault>) -> Fault {
    let mut faults = faults.into_iter();
    let Some(mut all) = faults.next() else { return Fault::new("") };
    let whose = all.message.find(": ").map(|end| all.message[..end + 2].to_string());
    for Fault { code, message, extents, .. } in faults {
        all.extents = all.extents.iter().chain(&extents).copied().collect();
        all.message.push_str("; ");
        if let (Some(code), true) = (code, code != all.code) {
            all.message.push_str(&format!("[{code}] "));
        }
        let rest = whose.as_ref().and_then(|whose| message.strip_prefix(whose.as_str()));
        all.message.push_str(rest.unwrap_or(&message));
    }
    all
}

/// [`several`] as compiled code hands them over: a line of text for each condition, and for each line one number that says whether
/// the condition holds, how many numbers belong into the text, and these numbers.
pub fn several_from(text: &str, mut numbers: &[i64]) -> Fault {
    let mut faults = Vec::new();
    for line in text.split('\n') {
        let [holds, count, rest @ ..] = numbers else { break };
        let (shown, rest) = rest.split_at(usize::try_from(*count).unwrap_or(0).min(rest.len()));
        if *holds == 0 {
            faults.push(in_words(line, shown));
        }
        numbers = rest;
    }
    several(faults)
}

/// A text of the compiler, which may begin with a code, with numbers at its marks.
pub fn in_words(text: &str, numbers: &[i64]) -> Fault {
    let (code, text) = Code::split(text);
    let (message, extents) = marked_message(text, numbers);
    Fault { code, extents: extents.into(), ..Fault::new(message) }
}

/// An extent that had to be another one.
pub fn extent(what: &str, axis: i64, expected: i64, found: i64) -> Fault {
    Fault::coded(Code::SHAPES_DIFFER, format!("{what}: axis {axis} has extent {found}, expected {expected}"))
}

/// A rank that had to be another one.
pub fn rank(what: &str, expected: i64, found: i64) -> Fault {
    Fault::coded(Code::SHAPES_DIFFER, format!("{what}: rank {found}, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_at_their_marks() {
        assert_eq!(numbers_message("a {} is {} in {}", &[1, 2]), "a {} is 1 in 2");
        assert_eq!(numbers_message("too many", &[1, 2]), "too many: 1, 2");
        assert_eq!(numbers_message("`{x}` {d} {b}", &[0.5f64.to_bits() as i64, 1]), "`{x}` 0.5 true");
        assert_eq!(numbers_message("v is {[3]}, w is {[2]d}", &[2, 7, 8, 9, 0, 0, 0]), "v is [7,8], w is []");
        assert_eq!(numbers_message("v is {[2]b}", &[5, 1, 0]), "v is [true,false,..]");
        assert_eq!(numbers_message("{e}", &[-1]), "-1");
        assert_eq!(numbers_message("`{:}` `{:x}` {:1,y}", &[]), "`{:}` `{:x}` {:1,y}");
        let slots = in_words("{:7,9} on the left, {} on the right {:8}", &[4, 6, 5]);
        assert_eq!(
            (slots.message.as_str(), &slots.extents[..]),
            ("4 on the left, 6 on the right 5", &[(8, 5), (7, 4), (9, 4)][..])
        );
        assert!(numbers_message("{e}", &[-694_967_296]).ends_with("wraps around)"));
    }

    #[test]
    fn codes_are_taken_off_texts() {
        let (code, text) = Code::split("[E0324] condition `[n] == m` does not hold");
        assert_eq!(code.map(|code| code.to_string()).as_deref(), Some("E0324"));
        assert_eq!(text, "condition `[n] == m` does not hold");
        for plain in ["[E032] x", "[E03244] x", "[E0324]x", "[e0324] x", "[2,3] x", "E0324 x", "", "["] {
            assert_eq!(Code::split(plain), (None, plain));
        }
    }

    #[test]
    fn several_have_each_its_code() {
        let all = several_from(
            "[E0324] f: a is {}\n[E0324] f: b is {}\n[E0312] f: c\nf: d\n[E0330] no",
            &[0, 1, 7, 0, 1, 8, 0, 0, 0, 0, 1, 0],
        );
        assert_eq!(all.code, Code::split("[E0324] ").0);
        assert_eq!(all.message, "f: a is 7; b is 8; [E0312] c; d");
    }
}
