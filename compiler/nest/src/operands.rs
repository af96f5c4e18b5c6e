//! The values and regions that operations and exits use.

use smallvec::SmallVec;

use crate::ir::{Exit, Op, Region, Value};

/// Hands the operands of `$op` to `$visit` in order, as references of the kind that `$iter` and, of a loop's declarations, `$shared` gives.
macro_rules! visit_operands {
    ($op:expr, $visit:ident, $iter:ident, $shared:ident) => {
        match $op {
            Op::Const { .. }
            | Op::StackSlot { .. }
            | Op::LocalSlot { .. }
            | Op::Barrier
            | Op::DataAddr(_)
            | Op::GlobalAddr(_)
            | Op::FuncAddr(_)
            | Op::ExternAddr(_) => {}
            Op::Unary(_, a)
            | Op::Convert(_, a, _)
            | Op::Splat(a, _)
            | Op::Extract(a, _)
            | Op::Reduce(_, a)
            | Op::Any(a)
            | Op::RcInc(a, _)
            | Op::RcDec(a, _)
            | Op::RcUnique(a) => $visit(a),
            Op::Binary(_, a, b)
            | Op::IntCmp(_, a, b)
            | Op::FloatCmp(_, a, b)
            | Op::Shuffle(a, b, _)
            | Op::PtrAdd(a, b) => [a, b].into_iter().for_each($visit),
            Op::Fma(a, b, c) => [a, b, c].into_iter().for_each($visit),
            Op::Select { cond, on_true, on_false } => [cond, on_true, on_false].into_iter().for_each($visit),
            Op::Insert { vector, scalar, .. } => [vector, scalar].into_iter().for_each($visit),
            Op::Math(_, args) => args.$iter().for_each($visit),
            Op::Load { ptr, .. } => $visit(ptr),
            Op::Gather { ptr, index, mask, .. } => [ptr, index].into_iter().chain(mask).for_each($visit),
            Op::Store { value, ptr, .. } => [value, ptr].into_iter().for_each($visit),
            Op::Call(_, args) | Op::CallExtern(_, args) => args.$iter().for_each($visit),
            Op::CallIndirect { callee, args, .. } => [callee].into_iter().chain(args).for_each($visit),
            Op::If { cond, .. } => $visit(cond),
            Op::For { lo, hi, step, inits, .. } => [lo, hi, step].into_iter().chain(inits).for_each($visit),
            Op::Loop { inits, .. } => inits.$iter().for_each($visit),
            Op::ParFor { n, chunk, late, shared, .. } => {
                [n, chunk].into_iter().chain(late).for_each(&mut $visit);
                shared.$iter().flat_map(|shared| shared.$shared()).for_each($visit)
            }
            Op::Launch { grid, .. } => grid.$iter().for_each($visit),
        }
    };
}

impl Op {
    /// Calls `visit` with every operand of the operation itself, in order; not with those inside its regions.
    pub fn for_each_operand(&self, mut visit: impl FnMut(Value)) {
        let mut visit = |value: &Value| visit(*value);
        visit_operands!(self, visit, iter, values)
    }

    /// Like [`Op::for_each_operand`], but `visit` may replace the operand.
    pub fn for_each_operand_mut(&mut self, mut visit: impl FnMut(&mut Value)) {
        visit_operands!(self, visit, iter_mut, values_mut)
    }

    /// Does it compute scalars and vectors from others, and nothing else? Mathematical functions and addresses do not count.
    pub fn is_arithmetic(&self) -> bool {
        matches!(
            self,
            Op::Const { .. }
                | Op::Unary(..)
                | Op::Binary(..)
                | Op::Fma(..)
                | Op::IntCmp(..)
                | Op::FloatCmp(..)
                | Op::Select { .. }
                | Op::Convert(..)
                | Op::Splat(..)
                | Op::Extract(..)
                | Op::Insert { .. }
                | Op::Shuffle(..)
                | Op::Reduce(..)
                | Op::Any(_)
                | Op::PtrAdd(..)
        )
    }

    /// The regions of the operation, in the order they are printed.
    pub fn regions(&self) -> SmallVec<[&Region; 2]> {
        match self {
            Op::If { then_region, else_region, .. } => SmallVec::from_slice(&[then_region, else_region]),
            Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } | Op::Launch { body, .. } => {
                SmallVec::from_slice(&[body])
            }
            _ => SmallVec::new(),
        }
    }
}

impl Exit {
    /// The values used by the exit, in order, to be replaced.
    pub fn operands_mut(&mut self) -> &mut [Value] {
        match self {
            Exit::Open => &mut [],
            Exit::Yield(values) | Exit::Return(values) => values,
            Exit::Fault { args, .. } => args,
        }
    }

    /// The values used by the exit, in order.
    pub fn operands(&self) -> &[Value] {
        match self {
            Exit::Open => &[],
            Exit::Yield(values) | Exit::Return(values) => values,
            Exit::Fault { args, .. } => args,
        }
    }
}
