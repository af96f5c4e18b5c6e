//! Checks that can be made once before a kernel, because they are affine in its indices.

use ravel_types::{BinOp, Elem, HashSet};
use ravel_wir::{Fault, Inst, Op, Part, Region, Value};

use crate::facts::Facts;
use crate::facts::vector_forms::is_speculable;

/// A comparison of two `i32` scalars that has to hold for all indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub op: BinOp,
    pub left: Value,
    pub right: Bound,
}

/// What a scalar is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    Scalar(Value),
    Zero,
    Extent(Value, usize),
}

/// What a kernel sees to, so that the checks and selections of its body do no harm.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measures {
    /// What must hold before it runs.
    pub guards: Vec<Guard>,
    /// Checks that lanes make in every step.
    pub by_lanes: Vec<Inst>,
    /// Selections in branches, which lanes that do not take part must not make.
    pub masked: HashSet<Inst>,
}

impl Measures {
    pub fn is_empty(&self) -> bool {
        self.guards.is_empty() && self.by_lanes.is_empty() && self.masked.is_empty()
    }
}

impl Facts<'_> {
    /// What lanes see to in the bodies of partitions.
    pub fn measures_for(&self, parts: &[Part]) -> Measures {
        let by_lanes = parts.iter().flat_map(|part| self.undecided_checks(part.body)).collect();
        let masked = parts.iter().flat_map(|part| self.loads_under_masks(part.body)).collect();
        Measures { guards: Vec::new(), by_lanes, masked }
    }

    /// Adds the comparisons that imply a condition; false if it does not consist of such.
    pub fn guards_of(&self, cond: Value, guards: &mut Vec<Guard>, depth: u32) -> bool {
        if self.proven(cond, 8) {
            return true;
        }
        let Some(inst) = self.live.def(cond).filter(|_| depth > 0) else { return false };
        match &self.func.insts[inst].op {
            Op::Bin(BinOp::And | BinOp::Mul, a, b) if self.elem(*a) == Elem::Bool => {
                self.guards_of(*a, guards, depth - 1) && self.guards_of(*b, guards, depth - 1)
            }
            Op::Bin(op @ (BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge), left, right)
                if self.elem(*left) == Elem::I32 =>
            {
                let known = |v: &Value| {
                    self.exact_form(*v).is_some_and(|form| form.terms.iter().all(|(v, _)| self.has_extremes(*v)))
                };
                if !known(left) || !known(right) {
                    return false;
                }
                guards.push(Guard { op: *op, left: *left, right: Bound::Scalar(*right) });
                true
            }
            _ => false,
        }
    }

    /// Can an element be read at every index of the kernel, needed or not? Adds what has to be asked for that.
    pub fn readable_everywhere(&self, array: Value, index: &[Value], guards: &mut Vec<Guard>) -> bool {
        let Some(extents) = self.func.ty(array).shape.extents() else { return false };
        for (axis, i) in index.iter().enumerate() {
            let Some(form) = self.exact_form(*i) else { return false };
            let (low, high) = form.range();
            // Where all that it consists of begins, or ends, at a constant, that index occurs.
            let is_const = |bound: Option<Value>| bound.is_some_and(|bound| self.const_i32(bound).is_some());
            let occurs = |bound_of: &dyn Fn(Value) -> Option<Value>| {
                form.terms.iter().all(|(v, factor)| *factor > 0 && is_const(bound_of(*v)))
            };
            if low < 0 {
                if !form.terms.iter().all(|(v, _)| self.has_extremes(*v)) || occurs(&|v| self.lower_of[v]) {
                    return false;
                }
                guards.push(Guard { op: BinOp::Ge, left: *i, right: Bound::Zero });
            }
            if extents[axis].as_const().is_none_or(|n| high >= i64::from(n)) && !self.ends_with(*i, array, axis) {
                if !form.terms.iter().all(|(v, _)| self.has_extremes(*v))
                    || extents[axis].as_const().is_some() && occurs(&|v| self.upper_of[v])
                {
                    return false;
                }
                guards.push(Guard { op: BinOp::Lt, left: *i, right: Bound::Extent(array, axis) });
            }
        }
        true
    }

    /// Is this the index of a partition that ends where the axis of the array does?
    fn ends_with(&self, index: Value, array: Value, axis: usize) -> bool {
        let Some(upper) = self.upper_of[index].and_then(|upper| self.live.def(upper)) else { return false };
        let Op::Extent { array: other, axis: k } = self.func.insts[upper].op else { return false };
        let extent = |array: Value, axis: usize| self.func.ty(array).shape.extents().and_then(|e| e.get(axis)).cloned();
        extent(other, k as usize).is_some_and(|n| Some(n) == extent(array, axis))
    }

    /// Are the least and the greatest value of an atom at hand in front of the kernel?
    fn has_extremes(&self, v: Value) -> bool {
        let outside = |v: Value| self.is_bound(v) || self.const_i32(v).is_some();
        outside(v) || self.lower_of[v].zip(self.upper_of[v]).is_some_and(|(low, high)| outside(low) && outside(high))
    }

    /// The checks of a body, and of the folds in it, that have to be made for each index.
    pub fn undecided_checks(&self, region: Region) -> Vec<Inst> {
        let mut found = Vec::new();
        for &inst in &self.func.regions[region].insts {
            match &self.func.insts[inst].op {
                Op::Check { fault, .. } if self.options.unchecked && !matches!(fault, Fault::Division) => {}
                Op::Check { cond, .. } if !self.site.checked_before && !self.guards_of(*cond, &mut Vec::new(), 8) => {
                    found.push(inst);
                }
                Op::With(with) => found.extend(with.parts.iter().flat_map(|part| self.undecided_checks(part.body))),
                _ => {}
            }
        }
        found
    }

    /// Estimated cycles of these checks for one step of one vector, or of one index.
    pub fn checks_cost(&self, checks: &[Inst], vector: bool) -> f64 {
        let each = match (vector, self.target.vector_bytes <= 16) {
            (false, _) => SCALAR_CHECK,
            (true, false) => VECTOR_CHECK,
            (true, true) => SHORT_VECTOR_CHECK,
        };
        checks.len() as f64 * each
    }

    /// Does a condition need something that must not be computed unless the checks before it hold?
    pub fn relies_on(&self, before: &[Inst], cond: Value) -> bool {
        let (mut open, mut seen) = (vec![cond], HashSet::default());
        while let Some(v) = open.pop() {
            let Some(inst) = self.live.def(v).filter(|_| seen.insert(v)) else { continue };
            let op = &self.func.insts[inst].op;
            let harmless = is_speculable(op) || matches!(op, Op::Native { .. } | Op::Opaque(_));
            if !harmless && before.contains(&inst) {
                return true;
            }
            op.for_each_operand(|v| open.push(v));
            open.extend(op.regions().into_iter().flat_map(|region| self.live.free(region).iter().copied()));
        }
        false
    }
}

/// Cycles of a check of one index in scalar code: a comparison and a branch.
const SCALAR_CHECK: f64 = 0.7;

/// Cycles of a check of a vector of indices, where comparisons of any width give bits, and where they give masks that have to be as wide as
/// the kernel's elements.
const VECTOR_CHECK: f64 = 1.5;

const SHORT_VECTOR_CHECK: f64 = 4.0;
