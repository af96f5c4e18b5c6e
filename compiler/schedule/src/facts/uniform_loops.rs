//! Loops inside kernels that run equally often for all indices, and what they count.

use ravel_types::{BinOp, Elem, HashSet};
use ravel_wir as wir;
use ravel_wir::{Op, Region, Value};

use crate::facts::{Facts, any_op};

impl Facts<'_> {
    /// Does the condition of a loop depend on nothing but constants, values from outside of the with-loop, and carried values of which
    /// that is true?
    pub fn runs_alike(&self, init: &[Value], body: Region) -> bool {
        let data = &self.func.regions[body];
        let mut seen = HashSet::default();
        let mut open: Vec<Value> = data.yields.first().copied().into_iter().collect();
        while let Some(v) = open.pop() {
            if !seen.insert(v) || self.is_bound(v) {
                continue;
            }
            if let Some(k) = data.params.iter().position(|param| *param == v) {
                let Some((start, next)) = init.get(k).zip(data.yields.get(k + 1)) else { return false };
                open.extend([*start, *next]);
                continue;
            }
            let Some(inst) = self.live.def(v) else { return false };
            match &self.func.insts[inst].op {
                Op::Extent { array, .. } if self.has_val(*array) => {}
                op @ (Op::Const(_) | Op::Un(..) | Op::Bin(..) | Op::Convert(_) | Op::Select { .. }) => {
                    op.for_each_operand(|operand| open.push(operand));
                }
                _ => return false,
            }
        }
        true
    }

    /// Ranges of what loops in a body count by constants, from a constant up to one: where any lane is in an iteration, all lanes' counters,
    /// which are one, are in the range.
    pub fn set_counters(&mut self, body: Region) {
        let func = self.func;
        let mut loops = Vec::new();
        ravel_wir::traverse::walk(func, body, &mut |_, inst| {
            if let Op::Loop { init, body } = &func.insts[inst].op {
                loops.push((init, *body));
            }
        });
        for (init, body) in loops {
            let data = &func.regions[body];
            for (k, &param) in data.params.iter().enumerate() {
                let (Some(first), Some(end)) = (self.const_i32(init[k]), self.end_of(body, k)) else { continue };
                // The first iteration runs whatever the end is.
                self.range[param] = Some((first, first.max(end - 1)));
            }
        }
    }

    /// What a counter that grows by a constant must be less than for the loop to go on, if that is a constant.
    fn end_of(&self, body: Region, k: usize) -> Option<i64> {
        let data = &self.func.regions[body];
        let next = data.yields[k + 1];
        let bin = |v: Value| match self.live.def(v).map(|inst| &self.func.insts[inst].op) {
            Some(Op::Bin(op, a, b)) => Some((*op, *a, *b)),
            _ => None,
        };
        let (BinOp::Add, counter, step) = bin(next)? else { return None };
        let step = self.const_i32(step).filter(|step| *step > 0)?;
        if counter != data.params[k] {
            return None;
        }
        // The step behind the last iteration must not wrap.
        let end = |v: Value| self.const_i32(v).filter(|end| end + step <= i64::from(i32::MAX));
        let mut tests = vec![data.yields[0]];
        while let Some(test) = tests.pop() {
            match bin(test) {
                Some((BinOp::And, a, b)) => tests.extend([a, b]),
                Some((BinOp::Lt, a, b)) if a == next => return end(b),
                _ => {}
            }
        }
        None
    }

    /// Is this one element of an array that is there before the kernel?
    pub fn is_element(&self, array: Value, index: &[Value]) -> bool {
        self.has_val(array) && self.func.ty(array).rank() == Some(index.len()) && self.elem(array) != Elem::Handle
    }

    /// Has the body of a with-loop an innermost loop that carries more than a counter, and no checks? What chunks are made of has to be known
    /// before the loop is.
    pub fn may_run_abreast(&self, body: wir::Region) -> bool {
        let func = self.func;
        let outer = |op: &Op| matches!(op, Op::Loop { .. } | Op::With(_) | Op::Check { .. } | Op::Call { .. });
        any_op(func, body, |op| match op {
            Op::Loop { init, body } => {
                init.iter().filter(|v| func.ty(**v).is_scalar()).count() > 1 && !any_op(func, *body, outer)
            }
            _ => false,
        })
    }

    /// Selections that a body always makes from arrays with the extents of its frame at its own index: array and result.
    pub fn own_reads<'s>(&'s self, body: Region, extents: &'s [i64]) -> impl Iterator<Item = (Value, Value)> + 's {
        let region = &self.func.regions[body];
        region.insts.iter().filter_map(move |inst| {
            let data = &self.func.insts[*inst];
            let (Op::Sel { array, index }, &[result]) = (&data.op, &data.results[..]) else { return None };
            let shape = self.func.ty(*array).shape.constants()?;
            let alike = shape.len() == extents.len() && shape.iter().zip(extents).all(|(a, b)| i64::from(*a) == *b);
            let at_own = |(k, v): (usize, &Value)| *v == region.params[k] || extents[k] == 1;
            (alike && index.len() == extents.len() && index.iter().enumerate().all(at_own)).then_some((*array, result))
        })
    }
}
