//! Which operations lanes may do, and which the machine has for vectors.

use ravel_nest::ir::ReduceOp;
use ravel_types::{BinOp, Elem, UnOp};
use ravel_wir::{Op, Value};

use crate::facts::Facts;
use crate::facts::layout::prim_of;
use crate::math;

/// May the operation be evaluated where its value turns out not to be needed?
pub(crate) fn is_speculable(op: &Op) -> bool {
    match op {
        Op::Bin(op, ..) => !op.divides(),
        Op::Const(_) | Op::Un(..) | Op::Convert(_) | Op::Select { .. } | Op::Extent { .. } => true,
        _ => false,
    }
}

/// The machine's own reduction over lanes, if the operation has one.
pub(crate) fn reduce_op(op: BinOp, elem: Elem) -> Option<ReduceOp> {
    use ReduceOp as R;
    let signed = elem.is_signed_int();
    Some(match (op, elem.is_float()) {
        (BinOp::Add, true) => R::FAdd,
        (BinOp::Mul, true) => R::FMul,
        (BinOp::Min, true) => R::FMin,
        (BinOp::Max, true) => R::FMax,
        (BinOp::Add | BinOp::Max | BinOp::Or, false) if elem == Elem::Bool => R::Or,
        (BinOp::Mul | BinOp::Min | BinOp::And, false) if elem == Elem::Bool => R::And,
        (BinOp::Add, false) => R::IAdd,
        (BinOp::Mul, false) => R::IMul,
        (BinOp::Min, false) => {
            if signed {
                R::SMin
            } else {
                R::UMin
            }
        }
        (BinOp::Max, false) => {
            if signed {
                R::SMax
            } else {
                R::UMax
            }
        }
        (BinOp::And, false) => R::And,
        (BinOp::Or, false) => R::Or,
        (BinOp::Xor, false) => R::Xor,
        _ => return None,
    })
}

/// Does a unary operation have vector instructions or an expansion (and is not a call per lane)?
pub(crate) fn has_vector_form(op: UnOp) -> bool {
    if let Some(function) = math::of_unary(op) {
        return math::is_expanded(function);
    }
    matches!(
        op,
        UnOp::Neg
            | UnOp::Not
            | UnOp::Abs
            | UnOp::Reciproc
            | UnOp::Sqrt
            | UnOp::Floor
            | UnOp::Ceil
            | UnOp::Rint
            | UnOp::Trunc
            | UnOp::IsNan
            | UnOp::IsInf
            | UnOp::Finite
    )
}

/// Natives of this family are pure arithmetic and never fault.
pub(crate) const MATH_PREFIX: &str = "ravel_math_";

/// The scalar operation that a native computes, if it is one: `ravel_math_exp_double` and its like.
pub(crate) fn math_op(symbol: &str) -> Option<UnOp> {
    let name = symbol.strip_prefix(MATH_PREFIX)?;
    let name = name.strip_suffix("_double").or(name.strip_suffix("_float"))?;
    let op = match name {
        "fabs" => UnOp::Abs,
        other => UnOp::from_name(other)?,
    };
    (!matches!(op, UnOp::Neg | UnOp::Not | UnOp::Reciproc)).then_some(op)
}

impl Facts<'_> {
    /// The factors of a product that is added to an accumulator and used for nothing else, where the target fuses.
    pub fn fused_product(&self, op: BinOp, elem: Elem, cell: Value) -> Option<(Value, Value)> {
        if !self.target.has_fma || op != BinOp::Add || !elem.is_float() || self.live.untraced_uses(cell) != 1 {
            return None;
        }
        match &self.func.insts[self.live.def(cell)?].op {
            Op::Bin(BinOp::Mul, x, y) => Some((*x, *y)),
            _ => None,
        }
    }

    /// Lanes of a vector of this element type; 1 if the target has none or the elements are not fit for it.
    pub fn lanes(&self, elem: Elem) -> u8 {
        match elem {
            Elem::F32 | Elem::F64 => (self.target.vector_bytes / prim_of(elem).bytes()).max(1) as u8,
            _ => 1,
        }
    }
}
