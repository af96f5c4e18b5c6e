//! Who carries out the steps of a formula: a function under construction (in `schedule`), or [`Evaluator`], on numbers.

use crate::MathOp;

/// What a value is, apart from its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    F32,
    F64,
    I32,
    I64,
    /// The truth of a comparison.
    Truth,
}

/// A value of a machine, which alone knows what `raw` says.
#[derive(Clone, Copy, Debug)]
pub struct Val {
    pub raw: u64,
    pub kind: Kind,
}

/// Operations on one float.
#[derive(Clone, Copy, Debug)]
pub enum UnOp {
    Neg,
    Abs,
    Sqrt,
    /// To the nearest integer, ties to even.
    Nearest,
    Floor,
    Trunc,
}

/// Operations on two values of one kind.
#[derive(Clone, Copy, Debug)]
pub enum BinOp {
    FAdd,
    FSub,
    FMul,
    FDiv,
    /// The lesser, NaN if one is.
    FMin,
    /// The greater, NaN if one is.
    FMax,
    /// Wrapping sum of words.
    IAdd,
    /// Logical shift right.
    UShr,
    Shl,
    And,
    Or,
    Xor,
}

/// Comparisons, of floats or of words as signed integers.
#[derive(Clone, Copy, Debug)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
}

/// Conversions.
#[derive(Clone, Copy, Debug)]
pub enum Conv {
    /// The same bits.
    Bits,
    /// Between floats.
    Float,
    /// A signed word to a float.
    Signed,
}

/// The steps of formulas.
pub trait Machine {
    /// A number, rounded to the type of `like`.
    fn constant(&self, like: Val, value: f64) -> Val;
    /// A word of the type of `like`.
    fn bits(&self, like: Val, bits: u64) -> Val;
    fn unary(&self, op: UnOp, x: Val) -> Val;
    fn binary(&self, op: BinOp, x: Val, y: Val) -> Val;
    fn compare(&self, cmp: Cmp, x: Val, y: Val) -> Val;
    /// `x * y + z`, rounded once.
    fn fma(&self, x: Val, y: Val, z: Val) -> Val;
    fn convert(&self, how: Conv, x: Val, to: Kind) -> Val;
    fn select(&self, truth: Val, x: Val, y: Val) -> Val;
    fn not(&self, truth: Val) -> Val;
    /// The function of the C library.
    fn library(&self, op: MathOp, x: Val) -> Val;
    /// What `rare` makes if `when` holds in any lane, else `usual`.
    fn rarely(&self, when: Val, usual: &[Val], rare: &mut dyn FnMut() -> Vec<Val>) -> Vec<Val>;
}

/// Computes at once.
pub struct Evaluator;

impl Val {
    pub fn of_f64(x: f64) -> Val {
        Val { raw: x.to_bits(), kind: Kind::F64 }
    }

    pub fn of_f32(x: f32) -> Val {
        Val { raw: u64::from(x.to_bits()), kind: Kind::F32 }
    }

    pub fn as_f64(self) -> f64 {
        f64::from_bits(self.raw)
    }

    pub fn as_f32(self) -> f32 {
        f32::from_bits(self.raw as u32)
    }

    fn truth(holds: bool) -> Val {
        Val { raw: u64::from(holds), kind: Kind::Truth }
    }

    fn word(bits: u64, kind: Kind) -> Val {
        Val { raw: if kind == Kind::I32 { u64::from(bits as u32) } else { bits }, kind }
    }

    fn signed(self) -> i64 {
        if self.kind == Kind::I32 { i64::from(self.raw as i32) } else { self.raw as i64 }
    }
}

macro_rules! on_floats {
    ($like:expr, $wrapped:ident => $value:expr) => {
        if $like.kind == Kind::F32 {
            let $wrapped = Val::as_f32;
            Val::of_f32($value)
        } else {
            let $wrapped = Val::as_f64;
            Val::of_f64($value)
        }
    };
}

impl Machine for Evaluator {
    fn constant(&self, like: Val, value: f64) -> Val {
        if like.kind == Kind::F32 { Val::of_f32(value as f32) } else { Val::of_f64(value) }
    }

    fn bits(&self, like: Val, bits: u64) -> Val {
        Val::word(bits, like.kind)
    }

    fn unary(&self, op: UnOp, x: Val) -> Val {
        on_floats!(x, of => match op {
            UnOp::Neg => -of(x),
            UnOp::Abs => of(x).abs(),
            UnOp::Sqrt => of(x).sqrt(),
            UnOp::Nearest => of(x).round_ties_even(),
            UnOp::Floor => of(x).floor(),
            UnOp::Trunc => of(x).trunc(),
        })
    }

    fn binary(&self, op: BinOp, x: Val, y: Val) -> Val {
        match op {
            BinOp::FAdd => on_floats!(x, of => of(x) + of(y)),
            BinOp::FSub => on_floats!(x, of => of(x) - of(y)),
            BinOp::FMul => on_floats!(x, of => of(x) * of(y)),
            BinOp::FDiv => on_floats!(x, of => of(x) / of(y)),
            BinOp::FMin => on_floats!(x, of => if of(x) < of(y) || of(x).is_nan() { of(x) } else { of(y) }),
            BinOp::FMax => on_floats!(x, of => if of(x) > of(y) || of(x).is_nan() { of(x) } else { of(y) }),
            BinOp::IAdd => Val::word(x.raw.wrapping_add(y.raw), x.kind),
            BinOp::UShr => Val::word(x.raw >> y.raw, x.kind),
            BinOp::Shl => Val::word(x.raw << y.raw, x.kind),
            BinOp::And => Val::word(x.raw & y.raw, x.kind),
            BinOp::Or => Val::word(x.raw | y.raw, x.kind),
            BinOp::Xor => Val::word(x.raw ^ y.raw, x.kind),
        }
    }

    fn compare(&self, cmp: Cmp, x: Val, y: Val) -> Val {
        let order = match x.kind {
            Kind::F32 => x.as_f32().partial_cmp(&y.as_f32()),
            Kind::F64 => x.as_f64().partial_cmp(&y.as_f64()),
            Kind::I32 | Kind::I64 | Kind::Truth => Some(x.signed().cmp(&y.signed())),
        };
        Val::truth(match cmp {
            Cmp::Eq => order.is_some_and(|o| o.is_eq()),
            Cmp::Ne => order.is_none_or(|o| o.is_ne()),
            Cmp::Lt => order.is_some_and(|o| o.is_lt()),
            Cmp::Le => order.is_some_and(|o| o.is_le()),
            Cmp::Gt => order.is_some_and(|o| o.is_gt()),
        })
    }

    fn fma(&self, x: Val, y: Val, z: Val) -> Val {
        on_floats!(x, of => of(x).mul_add(of(y), of(z)))
    }

    fn convert(&self, how: Conv, x: Val, to: Kind) -> Val {
        match (how, x.kind, to) {
            (Conv::Float, Kind::F32, Kind::F64) => Val::of_f64(f64::from(x.as_f32())),
            (Conv::Float, Kind::F64, Kind::F32) => Val::of_f32(x.as_f64() as f32),
            (Conv::Signed, _, Kind::F32) => Val::of_f32(x.signed() as f32),
            (Conv::Signed, _, Kind::F64) => Val::of_f64(x.signed() as f64),
            _ => Val { kind: to, ..x },
        }
    }

    fn select(&self, truth: Val, x: Val, y: Val) -> Val {
        if truth.raw != 0 { x } else { y }
    }

    fn not(&self, truth: Val) -> Val {
        Val::truth(truth.raw == 0)
    }

    fn library(&self, op: MathOp, x: Val) -> Val {
        on_floats!(x, of => match op {
            MathOp::Cos => of(x).cos(),
            MathOp::Tan => of(x).tan(),
            // Only angles that are too large to be reduced go to the library.
            _ => of(x).sin(),
        })
    }

    fn rarely(&self, when: Val, usual: &[Val], rare: &mut dyn FnMut() -> Vec<Val>) -> Vec<Val> {
        if when.raw != 0 { rare() } else { usual.to_vec() }
    }
}
