//! What the generator knows of values beyond their types.

use super::Dim;
use ravel_types::{BinOp, Elem, Scalar};

/// Bounds of a value, or of all elements of an array.
#[derive(Clone, Debug)]
pub(super) enum Ghost {
    /// A number of `lo ..= hi`, and below an extent. Bools are 0 and 1.
    Int { lo: i128, hi: i128, below: Option<Dim> },
    /// At most `2^mag` in magnitude and, if `exact`, a multiple of `2^-scale` without rounding so far. Never NaN or infinite
    /// if exact.
    Real { mag: u32, scale: u32, exact: bool },
}

/// Magnitudes beyond this are clamped.
pub(super) const MOST_MAG: u32 = 10;

/// Smallest and largest value of an integer type.
pub(super) fn int_range(elem: Elem) -> Option<(i128, i128)> {
    Some(match elem {
        Elem::Bool => (0, 1),
        Elem::Char | Elem::U8 => (0, u8::MAX.into()),
        Elem::I8 => (i8::MIN.into(), i8::MAX.into()),
        Elem::I16 => (i16::MIN.into(), i16::MAX.into()),
        Elem::I32 => (i32::MIN.into(), i32::MAX.into()),
        Elem::I64 => (i64::MIN.into(), i64::MAX.into()),
        Elem::U16 => (0, u16::MAX.into()),
        Elem::U32 => (0, u32::MAX.into()),
        Elem::U64 => (0, u64::MAX.into()),
        Elem::F32 | Elem::F64 | Elem::Handle => return None,
    })
}

/// The bits that a sum may need and still be exact in any order.
fn exact_bits(elem: Elem) -> u32 {
    if elem == Elem::F32 { 20 } else { 46 }
}

fn bits(v: i128) -> u32 {
    128 - v.unsigned_abs().leading_zeros()
}

impl Ghost {
    /// Nothing is known.
    pub(super) fn any(elem: Elem) -> Ghost {
        match int_range(elem) {
            Some((lo, hi)) => Ghost::Int { lo, hi, below: None },
            None => Ghost::Real { mag: MOST_MAG, scale: 0, exact: false },
        }
    }

    pub(super) fn int(lo: i128, hi: i128) -> Ghost {
        Ghost::Int { lo, hi, below: None }
    }

    pub(super) fn of(scalar: Scalar) -> Ghost {
        match scalar {
            Scalar::F32(v) => Ghost::of_real(f64::from(v)),
            Scalar::F64(v) => Ghost::of_real(v),
            Scalar::U64(v) => Ghost::int(v.into(), v.into()),
            other => other.as_i64().map_or(Ghost::int(0, 0), |v| Ghost::int(v.into(), v.into())),
        }
    }

    fn of_real(v: f64) -> Ghost {
        if !v.is_finite() {
            return Ghost::Real { mag: MOST_MAG, scale: 0, exact: false };
        }
        let scale = (0..60).find(|s| (v * 2f64.powi(*s)).fract() == 0.0).unwrap_or(60) as u32;
        Ghost::Real { mag: bits(v.abs().ceil() as i128), scale, exact: true }
    }

    /// Interval of an integer.
    pub(super) fn interval(&self) -> Option<(i128, i128)> {
        match self {
            Ghost::Int { lo, hi, .. } => Some((*lo, *hi)),
            Ghost::Real { .. } => None,
        }
    }

    /// Whether a small difference cannot grow into a large one: integers, and reals without rounding.
    pub(super) fn is_exact(&self) -> bool {
        match self {
            Ghost::Int { .. } => true,
            Ghost::Real { exact, .. } => *exact,
        }
    }

    pub(super) fn mag(&self) -> u32 {
        match self {
            Ghost::Int { lo, hi, .. } => bits(*lo).max(bits(*hi)),
            Ghost::Real { mag, .. } => *mag,
        }
    }

    /// Either of two.
    pub(super) fn join(&self, other: &Ghost) -> Ghost {
        match (self, other) {
            (Ghost::Int { lo, hi, below }, Ghost::Int { lo: l, hi: h, below: b }) => {
                Ghost::Int { lo: *lo.min(l), hi: *hi.max(h), below: if below == b { *below } else { None } }
            }
            (Ghost::Real { mag, scale, exact }, Ghost::Real { mag: m, scale: s, exact: e }) => {
                Ghost::Real { mag: *mag.max(m), scale: *scale.max(s), exact: *exact && *e }
            }
            _ => self.clone(),
        }
    }

    /// Whether every value that `self` admits is one that `other` admits.
    pub(super) fn within(&self, other: &Ghost) -> bool {
        match (self, other) {
            (Ghost::Int { lo, hi, .. }, Ghost::Int { lo: l, hi: h, .. }) => lo >= l && hi <= h,
            (Ghost::Real { mag, scale, exact }, Ghost::Real { mag: m, scale: s, exact: e }) => {
                mag <= m && (!e || (*exact && scale <= s))
            }
            _ => false,
        }
    }

    /// Without the relation to an extent, which only one scope knows.
    pub(super) fn unrelated(&self) -> Ghost {
        match self {
            Ghost::Int { lo, hi, .. } => Ghost::int(*lo, *hi),
            real => real.clone(),
        }
    }

    /// The result of an operation.
    pub(super) fn bin(op: BinOp, elem: Elem, a: &Ghost, b: &Ghost) -> Ghost {
        if op.is_comparison() {
            return Ghost::int(0, 1);
        }
        match (a, b) {
            (Ghost::Int { lo: a, hi: b, .. }, Ghost::Int { lo: c, hi: d, .. }) => int_bin(op, elem, (*a, *b), (*c, *d)),
            (Ghost::Real { mag, scale, exact }, Ghost::Real { mag: m, scale: s, exact: e }) => {
                let exact = *exact && *e;
                let (mag, scale) = match op {
                    BinOp::Add | BinOp::Sub => (mag.max(m) + 1, *scale.max(s)),
                    BinOp::Mul => (mag + m, scale + s),
                    BinOp::Min | BinOp::Max => (*mag.max(m), *scale.max(s)),
                    _ => return Ghost::Real { mag: mag + m + 1, scale: 0, exact: false },
                };
                Ghost::Real { mag, scale, exact: exact && mag + scale <= exact_bits(elem) }
            }
            _ => Ghost::any(elem),
        }
    }

    /// The result of folding at most `n` cells.
    pub(super) fn fold(op: BinOp, elem: Elem, neutral: &Ghost, cell: &Ghost, n: i64) -> Ghost {
        let n = n.max(0);
        match (neutral, cell) {
            (Ghost::Int { .. }, Ghost::Int { .. }) => match op {
                BinOp::Min | BinOp::Max => neutral.join(cell).unrelated(),
                _ => Ghost::any(elem),
            },
            (Ghost::Real { mag, scale, exact }, Ghost::Real { mag: m, scale: s, exact: e }) => {
                let exact = *exact && *e;
                let (mag, scale) = match op {
                    BinOp::Add | BinOp::Sub => (mag.max(m) + bits(n.into()) + 1, *scale.max(s)),
                    BinOp::Mul => (mag + m * n as u32, scale + s * n as u32),
                    _ => (*mag.max(m), *scale.max(s)),
                };
                Ghost::Real { mag, scale, exact: exact && mag + scale <= exact_bits(elem) }
            }
            _ => Ghost::any(elem),
        }
    }

    /// Whether the product of `n` such reals may be too large for their type.
    pub(super) fn may_overflow(&self, elem: Elem, n: i64) -> bool {
        let most = if elem == Elem::F32 { 127 } else { 1023 };
        matches!(self, Ghost::Real { mag, .. } if i64::from(*mag).saturating_mul(n) > most)
    }

    /// The result of a conversion.
    pub(super) fn convert(&self, to: Elem) -> Ghost {
        match (self, int_range(to)) {
            (_, Some(_)) if to == Elem::Bool => Ghost::int(0, 1),
            (Ghost::Int { lo, hi, .. }, Some((l, h))) => {
                if *lo >= l && *hi <= h {
                    Ghost::int(*lo, *hi)
                } else {
                    Ghost::any(to)
                }
            }
            (Ghost::Real { mag, .. }, Some((l, h))) => {
                let most = 1i128 << (*mag).min(100);
                Ghost::int((-most).max(l), most.min(h))
            }
            (Ghost::Int { lo, hi, .. }, None) => {
                let mag = bits(*lo).max(bits(*hi));
                Ghost::Real { mag, scale: 0, exact: mag <= exact_bits(to) }
            }
            (Ghost::Real { mag, scale, exact }, None) => {
                Ghost::Real { mag: *mag, scale: *scale, exact: *exact && mag + scale <= exact_bits(to) }
            }
        }
    }
}

fn int_bin(op: BinOp, elem: Elem, (a, b): (i128, i128), (c, d): (i128, i128)) -> Ghost {
    let (lo, hi) = match op {
        _ if elem == Elem::Bool => (0, 1),
        BinOp::Add => (a + c, b + d),
        BinOp::Sub => (a - d, b - c),
        BinOp::Mul => {
            let products = [a.saturating_mul(c), a.saturating_mul(d), b.saturating_mul(c), b.saturating_mul(d)];
            (products.into_iter().min().unwrap_or(0), products.into_iter().max().unwrap_or(0))
        }
        BinOp::Min => (a.min(c), b.min(d)),
        BinOp::Max => (a.max(c), b.max(d)),
        BinOp::Mod if c > 0 && a >= 0 => (0, (d - 1).min(b)),
        BinOp::Mod if c > 0 => ((1 - d).max(a), (d - 1).min(b.max(0))),
        BinOp::AplMod if c > 0 => (0, d - 1),
        BinOp::Div if c > 0 && a >= 0 => (a / d, b / c),
        BinOp::And if a >= 0 && c >= 0 => (0, b.min(d)),
        _ => return Ghost::any(elem),
    };
    match int_range(elem) {
        Some((l, h)) if lo >= l && hi <= h => Ghost::int(lo, hi),
        _ => Ghost::any(elem),
    }
}
