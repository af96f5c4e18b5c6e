//! Elements of arguments: drawn at random, made simpler, and as SaC has them.

use crate::repl::show::escaped;
use crate::repl::value::{Value, element};
use ravel_types::{Basic, Elem, Scalar};

/// A sequence of random numbers, the same for the same seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n.max(1) as u64) as usize
    }

    pub fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// How wild the elements of one array are.
#[derive(Clone, Copy, Debug)]
pub enum Mood {
    /// 0, 1, 2 and -1.
    Tiny,
    /// Up to 10, reals with eighths.
    Small,
    /// The edges of the type among small ones.
    Edges,
}

/// The mood of an array.
pub fn mood(random: &mut Random) -> Mood {
    random.choose(&[Mood::Tiny, Mood::Small, Mood::Edges, Mood::Edges])
}

/// Letters, digits, and what texts end or break at.
const CHARACTERS: &[u8] = b"abzAZ019 _-.,\n\t\0\x7f\xff";

/// Real numbers at which programs go wrong. Neither NaN nor infinity, nor what differs in size so much that sums lose the smaller one:
/// hardly anything holds for these.
const REALS: &[f64] = &[0.0, -0.0, 1.0, -1.0, 0.5, 0.1, 1e-3, 64.0, -64.0, 1.0 / 3.0, 1e-7];

/// An element of a type.
pub fn draw(basic: Basic, mood: Mood, random: &mut Random) -> Scalar {
    let is_edge = matches!(mood, Mood::Edges) && random.below(2) == 0;
    match basic.elem() {
        Elem::Bool => return Scalar::Bool(random.below(2) == 1),
        Elem::Char => return Scalar::Char(random.choose(CHARACTERS)),
        Elem::F32 | Elem::F64 => {
            let value = match mood {
                _ if is_edge => random.choose(REALS),
                Mood::Tiny => random.choose(&[0.0, 1.0, 2.0, -1.0]),
                Mood::Small | Mood::Edges => (random.below(161) as f64 - 80.0) / 8.0,
            };
            return if basic == Basic::Float { Scalar::F32(value as f32) } else { Scalar::F64(value) };
        }
        _ => {}
    }
    let (least, most) = range(basic.elem());
    let wanted = match mood {
        _ if is_edge => random.choose(&[least, most, least + 1, most - 1]),
        Mood::Tiny => random.choose(&[0, 1, 2, -1]),
        Mood::Small | Mood::Edges => random.below(21) as i128 - 10,
    };
    let value = if wanted < least { -wanted } else { wanted };
    integer(basic.elem(), value.clamp(least, most))
}

/// The least and the greatest number of an integer type.
fn range(elem: Elem) -> (i128, i128) {
    match elem {
        Elem::I8 => (i8::MIN.into(), i8::MAX.into()),
        Elem::I16 => (i16::MIN.into(), i16::MAX.into()),
        Elem::I32 => (i32::MIN.into(), i32::MAX.into()),
        Elem::U8 => (0, u8::MAX.into()),
        Elem::U16 => (0, u16::MAX.into()),
        Elem::U32 => (0, u32::MAX.into()),
        Elem::U64 => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

fn integer(elem: Elem, value: i128) -> Scalar {
    match elem {
        Elem::I8 => Scalar::I8(value as i8),
        Elem::I16 => Scalar::I16(value as i16),
        Elem::I32 => Scalar::I32(value as i32),
        Elem::U8 => Scalar::U8(value as u8),
        Elem::U16 => Scalar::U16(value as u16),
        Elem::U32 => Scalar::U32(value as u32),
        Elem::U64 => Scalar::U64(value as u64),
        _ => Scalar::I64(value as i64),
    }
}

/// What an element may become while a counterexample is made simpler, the simplest first.
pub fn simpler(value: Scalar) -> Vec<Scalar> {
    let reals = |v: f64| [0.0, 1.0, v.trunc(), (v / 2.0).trunc()].into_iter().filter(move |w| w.abs() < v.abs());
    match value {
        Scalar::Bool(true) => vec![Scalar::Bool(false)],
        Scalar::Char(c) => b"a".iter().filter(|other| **other != c).map(|c| Scalar::Char(*c)).collect(),
        Scalar::Bool(false) => Vec::new(),
        Scalar::F32(v) => reals(f64::from(v)).map(|v| Scalar::F32(v as f32)).collect(),
        Scalar::F64(v) => reals(v).map(Scalar::F64).collect(),
        other => {
            let elem = other.elem();
            let value = match other {
                Scalar::U64(v) => i128::from(v),
                other => other.as_i64().map_or(0, i128::from),
            };
            let candidates = [0, 1, value / 2, value - value.signum()];
            let mut kept: Vec<i128> = candidates.into_iter().filter(|w| w.abs() < value.abs()).collect();
            kept.dedup();
            kept.into_iter().map(|value| integer(elem, value)).collect()
        }
    }
}

/// A scalar as a literal of its type.
pub fn literal(basic: Basic, value: Scalar) -> String {
    let number = |text: String, is_least: bool| match (basic.suffix().unwrap_or_default(), is_least) {
        // The least number has no literal of its own.
        (suffix, true) => format!("({text}{suffix} - 1{suffix})"),
        (suffix, false) => format!("{text}{suffix}"),
    };
    let real = |text: String| match text.as_str() {
        "NaN" => number("0.0".to_string(), false) + " / " + &number("0.0".to_string(), false),
        "inf" | "-inf" => format!("{}1.0{s} / 0.0{s}", text.trim_end_matches("inf"), s = basic.suffix().unwrap_or("")),
        // A real number without suffix is a double.
        _ if basic == Basic::Double => text,
        _ => number(text, false),
    };
    match value {
        Scalar::Bool(v) => v.to_string(),
        Scalar::Char(v) => format!("'{}'", escaped(&[v], '\'')),
        Scalar::F32(v) => real(format!("{v:?}")),
        Scalar::F64(v) => real(format!("{v:?}")),
        Scalar::U64(v) => number(v.to_string(), false),
        other => {
            let value = other.as_i64().unwrap_or_default();
            let is_least = value < 0 && i128::from(value) == range(other.elem()).0;
            number((value + i64::from(is_least)).to_string(), is_least)
        }
    }
}

/// Most elements of an array that is written out.
const MOST_WRITTEN: usize = 400;

/// A value as an expression of SaC, cut where it becomes too long.
pub fn expression(value: &Value) -> String {
    match value {
        Value::Scalar(basic, scalar) => literal(*basic, *scalar),
        Value::Array(basic, array) => {
            let elem = basic.elem();
            let shape = array.view().shape();
            let zero = Scalar::zero(elem).map_or_else(String::new, |zero| literal(*basic, zero));
            let count = array.view().count();
            let is_zero = |at| element(elem, array, at).is_some_and(|value| value.bits() == 0);
            if count == 0 || count > 8 && (0..count).all(is_zero) {
                let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
                return format!("genarray([{}], {zero})", extents.join(","));
            }
            let mut out = String::new();
            for at in 0..count.min(MOST_WRITTEN) {
                let opened = starting(shape, at);
                out.push_str(if at == 0 { "" } else { ", " });
                out.push_str(&"[".repeat(opened));
                out.push_str(&element(elem, array, at).map_or_else(String::new, |value| literal(*basic, value)));
                out.push_str(&"]".repeat(starting(shape, at + 1)));
            }
            if count > MOST_WRITTEN { format!("{out}, ...") } else { out }
        }
        Value::Typedef { ty, rep, .. } => format!("({}[*]) {}", ty.name, expression(rep)),
        other => crate::repl::show::line(other),
    }
}

/// How many axes begin at the row-major position `at`.
fn starting(shape: &[i64], at: usize) -> usize {
    let mut size = 1;
    let starts = |extent: &&i64| {
        size *= usize::try_from(**extent).unwrap_or(0).max(1);
        at.is_multiple_of(size)
    };
    shape.iter().rev().take_while(starts).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::value::array;

    #[test]
    fn literals_are_of_their_type() {
        let cases = [
            (Basic::Int, Scalar::I32(-3), "-3"),
            (Basic::Int, Scalar::I32(i32::MIN), "(-2147483647 - 1)"),
            (Basic::Byte, Scalar::I8(-128), "(-127b - 1b)"),
            (Basic::Ulong, Scalar::U64(u64::MAX), "18446744073709551615ul"),
            (Basic::Float, Scalar::F32(0.5), "0.5f"),
            (Basic::Double, Scalar::F64(-1e-7), "-1e-7"),
            (Basic::Double, Scalar::F64(f64::NEG_INFINITY), "-1.0d / 0.0d"),
            (Basic::Char, Scalar::Char(b'\''), "'\\''"),
            (Basic::Bool, Scalar::Bool(true), "true"),
        ];
        for (basic, value, text) in cases {
            assert_eq!(literal(basic, value), text);
        }
    }

    #[test]
    fn arrays_are_nested_brackets() {
        let text = |shape: &[i64], elements: &[i32]| {
            let elements: Vec<Scalar> = elements.iter().map(|v| Scalar::I32(*v)).collect();
            expression(&Value::Array(Basic::Int, array(Elem::I32, shape, &elements).expect("an array")))
        };
        assert_eq!(text(&[3], &[1, 2, 3]), "[1, 2, 3]");
        assert_eq!(text(&[2, 1, 2], &[1, 2, 3, 4]), "[[[1, 2]], [[3, 4]]]");
        assert_eq!(text(&[1], &[0]), "[0]");
        assert_eq!(text(&[2, 0], &[]), "genarray([2,0], 0)");
        assert_eq!(text(&[9], &[0; 9]), "genarray([9], 0)");
    }

    #[test]
    fn elements_are_of_their_type_and_become_simpler() {
        let mut random = Random::new(7);
        for basic in Basic::ALL {
            for mood in [Mood::Tiny, Mood::Small, Mood::Edges] {
                for _ in 0..200 {
                    let mut value = draw(basic, mood, &mut random);
                    assert_eq!(value.elem(), basic.elem());
                    let mut steps = 0;
                    while let Some(next) = simpler(value).pop() {
                        (value, steps) = (next, steps + 1);
                        if steps > 200 {
                            break;
                        }
                    }
                    assert!(simpler(value).is_empty() || steps > 200, "{basic}: {value:?}");
                }
            }
        }
    }
}
