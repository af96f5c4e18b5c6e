//! Elements of arrays as numbers, and numbers as short texts.

use ravel_runtime::array::Array;
use ravel_types::Elem;
use std::fmt::Display;

/// Digits of a number in a caption.
const DIGITS: i32 = 4;

/// Runs a body for the elements of an array as a slice of their machine type; bytes of truth values are `u8`.
macro_rules! with_elements {
    ($elem:expr, $array:expr, $slice:ident => $body:expr) => {{
        let view = $array.view();
        match $elem {
            Elem::Bool | Elem::U8 => view.as_slice::<u8>().map(|$slice| $body),
            Elem::I8 => view.as_slice::<i8>().map(|$slice| $body),
            Elem::I16 => view.as_slice::<i16>().map(|$slice| $body),
            Elem::I32 => view.as_slice::<i32>().map(|$slice| $body),
            Elem::I64 => view.as_slice::<i64>().map(|$slice| $body),
            Elem::U16 => view.as_slice::<u16>().map(|$slice| $body),
            Elem::U32 => view.as_slice::<u32>().map(|$slice| $body),
            Elem::U64 => view.as_slice::<u64>().map(|$slice| $body),
            Elem::F32 => view.as_slice::<f32>().map(|$slice| $body),
            Elem::F64 => view.as_slice::<f64>().map(|$slice| $body),
            Elem::Char | Elem::Handle => None,
        }
    }};
}

/// Calls a function with every element, in row-major order. `false` if the elements are no numbers.
pub fn each(elem: Elem, array: &Array, mut function: impl FnMut(f64)) -> bool {
    let bools = elem == Elem::Bool;
    with_elements!(elem, array, elements => elements.iter().for_each(|&x| {
        let x = Number::real(x);
        function(if bools && x != 0.0 { 1.0 } else { x });
    }))
    .is_some()
}

/// A machine number.
trait Number: Copy + PartialOrd + Display {
    fn real(self) -> f64;
    fn is_finite(self) -> bool {
        true
    }
    fn is_nan(self) -> bool {
        false
    }
    fn short(self) -> String {
        self.to_string()
    }
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn real(self) -> f64 {
                self as f64
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! reals {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn real(self) -> f64 {
                f64::from(self)
            }
            fn is_finite(self) -> bool {
                <$ty>::is_finite(self)
            }
            fn is_nan(self) -> bool {
                <$ty>::is_nan(self)
            }
            fn short(self) -> String {
                short(f64::from(self))
            }
        }
    )*};
}

reals!(f32, f64);

/// Range, mean and what is no number, in one line: `0 to 255, mean 33.4`. Nothing for characters, objects and empty arrays.
pub fn statistics(elem: Elem, array: &Array) -> Option<String> {
    if array.view().count() == 0 {
        return None;
    }
    if elem == Elem::Bool {
        let bytes = array.view().as_slice::<u8>()?;
        let holding = bytes.iter().filter(|&&byte| byte != 0).count();
        return Some(format!("{holding} of {} true", bytes.len()));
    }
    with_elements!(elem, array, elements => summary(elements))
}

fn summary<T: Number>(elements: &[T]) -> String {
    let mut range: Option<(T, T)> = None;
    let (mut sum, mut finite, mut nan) = (0f64, 0usize, 0usize);
    for &x in elements {
        if !x.is_finite() {
            nan += usize::from(x.is_nan());
            continue;
        }
        finite += 1;
        // The mean of large numbers is not larger than they are, even where their sum is.
        sum += (x.real() - sum) / finite as f64;
        range = Some(match range {
            None => (x, x),
            Some((low, high)) => (if x < low { x } else { low }, if x > high { x } else { high }),
        });
    }
    let mut text = match range {
        None => "no finite number".to_string(),
        Some((low, high)) if low == high => format!("all {}", low.short()),
        Some((low, high)) => format!("{} to {}, mean {}", low.short(), high.short(), short(sum)),
    };
    text.push_str(&exceptions(nan, elements.len() - finite - nan));
    text
}

/// How many elements are no finite numbers, behind something else.
pub fn exceptions(nan: usize, infinite: usize) -> String {
    let mut text = String::new();
    if nan > 0 {
        text.push_str(&format!(", {nan} NaN"));
    }
    if infinite > 0 {
        text.push_str(&format!(", {infinite} infinite"));
    }
    text
}

/// A number with four digits, and no more than it has.
pub fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".to_string();
    }
    if !x.is_finite() {
        return x.to_string();
    }
    // The exponent behind rounding: 9.9999 is 10.
    let rounded = format!("{x:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..9).contains(&exponent) {
        let decimals = (DIGITS - 1 - exponent).max(0);
        trimmed(&format!("{x:.*}", usize::try_from(decimals).unwrap_or(0))).to_string()
    } else {
        format!("{}e{exponent}", trimmed(mantissa))
    }
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures<T: ravel_runtime::array::Element>(elem: Elem, elements: &[T]) -> Option<String> {
        let array = Array::from_slice(&[elements.len() as i64], elements).expect("small");
        statistics(elem, &array)
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.1307, 0.1, -2.0, 9.99996, 123456.7, 1e9, -0.00012345, 1.5e-7, f64::MAX, f64::NAN];
        let short: Vec<String> = texts.into_iter().map(short).collect();
        assert_eq!(short, ["0.1307", "0.1", "-2", "10", "123457", "1e9", "-0.0001234", "1.5e-7", "1.798e308", "NaN"]);
    }

    #[test]
    fn figures_are_those_of_all_elements() {
        assert_eq!(figures(Elem::I32, &[1, -5, 7]).as_deref(), Some("-5 to 7, mean 1"));
        // Integers are not rounded.
        assert_eq!(
            figures(Elem::I64, &[i64::MAX, i64::MAX - 1, i64::MAX]).as_deref(),
            Some("9223372036854775806 to 9223372036854775807, mean 9.223e18")
        );
        assert_eq!(figures(Elem::F32, &[0.5f32, 0.25]).as_deref(), Some("0.25 to 0.5, mean 0.375"));
        assert_eq!(figures(Elem::F64, &[f64::MAX, f64::MAX]).as_deref(), Some("all 1.798e308"));
        assert_eq!(
            figures(Elem::F64, &[f64::NAN, 1.0, f64::INFINITY, 2.0, f64::NAN]).as_deref(),
            Some("1 to 2, mean 1.5, 2 NaN, 1 infinite")
        );
        assert_eq!(figures(Elem::F64, &[f64::NAN]).as_deref(), Some("no finite number, 1 NaN"));
        assert_eq!(figures::<f64>(Elem::F64, &[]), None);
    }

    #[test]
    fn truth_is_counted() {
        use ravel_runtime::abi::ElemTag;
        let array = Array::from_slice_as(ElemTag::Bool, &[4], &[1u8, 0, 1, 1]).expect("small");
        assert_eq!(statistics(Elem::Bool, &array).as_deref(), Some("3 of 4 true"));
        let text = Array::from_slice_as(ElemTag::Char, &[2], b"ab").expect("small");
        assert_eq!(statistics(Elem::Char, &text), None);
    }
}
