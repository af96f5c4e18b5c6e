//! Results in the buffers of operands that are used for the last time.
//!
//! A genarray with-loop may build its result where an operand is if every cell reads that operand at its own index only, and is
//! written once, after all it reads; its body has no with-loops. So `k = k - rate * g` happens in place. Whether the operand is the only reference is asked at run
//! time unless it is known (`fresh`); if it is not, the result gets memory of its own. Several results may be built in an operand each.

use ravel_nest::ir::IntCmp;
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{Generator, Inst, Op, Part, Region, Value, With, WithOp};

use crate::facts::{Ext, Facts, Reused, any_op};
use crate::lower::Lower;

impl Facts<'_> {
    fn operand_to_reuse(&self, with: &With, result: Value) -> Option<Value> {
        if !self.may_build_in_operands(with) || self.elem(result) == Elem::Handle {
            return None;
        }
        let scope = self.scopes.last()?;
        let data = &self.func.regions[scope.region];
        let handed_on = data.yields.iter().position(|v| *v == result);
        let constant = self.func.ty(result).shape.constants().is_some();
        let mut best: Option<(u32, Value)> = None;
        for part in &with.parts {
            for &v in self.live.free(part.body) {
                if self.is_view(v) || !self.dies_in(with, v) || !self.has_room_for(v, with, result) {
                    continue;
                }
                let carried = data.params.iter().position(|p| *p == v);
                let rank = match (handed_on, carried, self.references.fresh.contains(&v)) {
                    // The next iteration finds its value where this one found it.
                    (Some(to), Some(from), _) if to == from + 1 => 4,
                    (Some(_), Some(_), _) => 3,
                    (_, _, true) => 2,
                    (Some(_), None, false) => 1,
                    // An array that stays here costs nothing: a question at run time would cost more.
                    (None, _, false) if constant => continue,
                    (None, _, false) => 1,
                };
                if best.is_none_or(|(other, _)| rank > other) {
                    best = Some((rank, v));
                }
            }
        }
        best.map(|(_, v)| v)
    }

    /// May a with-loop build results in operands, as far as it alone decides that?
    pub(crate) fn may_build_in_operands(&self, with: &With) -> bool {
        let makes_scalars = |op: &WithOp| matches!(op, WithOp::Genarray { cell: Some(cell), .. } if cell.is_empty());
        if with.ordered || !with.ops.iter().all(makes_scalars) {
            return false;
        }
        // Work-items store one result after the other, and the host repeats what failed on a device, from operands that must still be there.
        if self.options.device.is_some()
            && (with.ops.len() > 1 || with.parts.iter().any(|part| self.has_check(part.body)))
        {
            return false;
        }
        // A fold inside of a cell may be cut into pieces that go through memory, or be computed for some cells twice.
        !with.parts.iter().any(|part| self.has_with_loop(part.body))
    }

    /// Does an array that dies in a with-loop have the layout of a result, and do all cells read it at their own index only?
    pub(crate) fn has_room_for(&self, array: Value, with: &With, result: Value) -> bool {
        self.same_layout(array, result) && with.parts.iter().all(|part| self.reads_own_index(part, array))
    }

    pub(crate) fn has_with_loop(&self, region: Region) -> bool {
        any_op(self.func, region, |op| matches!(op, Op::With(_)))
    }

    fn has_check(&self, region: Region) -> bool {
        any_op(self.func, region, |op| matches!(op, Op::Check { .. }))
    }

    /// Arrays of one element type and one shape, whatever the shape is.
    fn same_layout(&self, a: Value, b: Value) -> bool {
        let (a, b) = (self.func.ty(a), self.func.ty(b));
        match (a.shape.extents(), b.shape.extents()) {
            (Some(x), Some(y)) => a.elem == b.elem && !x.is_empty() && x == y,
            _ => false,
        }
    }

    /// Does every cell of a partition read the array at its own index only?
    fn reads_own_index(&self, part: &Part, array: Value) -> bool {
        let Generator::Known { .. } = part.generator else { return false };
        self.only_reads_at(part.body, &self.func.regions[part.body].params, array)
    }

    fn only_reads_at(&self, region: Region, own: &[Value], array: Value) -> bool {
        let extents = self.func.ty(array).shape.extents().unwrap_or_default();
        let data = &self.func.regions[region];
        let reads_well = |inst: &Inst| {
            let op = &self.func.insts[*inst].op;
            let fine = match op {
                Op::Sel { array: from, index } if *from == array => {
                    let at_own = |(axis, i): (usize, &Value)| *i == own[axis] || extents[axis].as_const() == Some(1);
                    index.len() == own.len() && extents.len() == own.len() && index.iter().enumerate().all(at_own)
                }
                Op::Extent { .. } => true,
                op => {
                    let mut named = false;
                    op.for_each_operand(|v| named |= v == array);
                    !named
                }
            };
            fine && op.regions().into_iter().all(|below| self.only_reads_at(below, own, array))
        };
        !data.yields.contains(&array) && data.insts.iter().all(reads_well)
    }
}

impl Lower<'_, '_> {
    /// Builds a result of a with-loop in an operand, if one offers itself that no other result is built in.
    pub fn reuse_operand(&mut self, with: &With, result: Value, extents: &[Ext], span: Span) -> Option<Reused> {
        let operand = self.operand_to_reuse(with, result)?;
        let known = self.facts.references.fresh.contains(&operand);
        let unless = if known { "" } else { ", if nothing else holds that" };
        self.cx.remark(span, format!("in the memory of an array that it is the last to read{unless}"));
        let object = self.hand_over(operand);
        if known {
            return Some(Reused { of: operand, operand: object, object });
        }
        // The reference was handed over above: a count of one stays one.
        let unique = self.b.rc_unique(object);
        let cache = self.emit.cache.clone();
        self.b.begin_if(unique);
        self.b.begin_else(&[object]);
        let new = self.allocate(self.elem(result), extents, span);
        let chosen = self.b.end_if(&[new])[0];
        self.emit.cache = cache;
        Some(Reused { of: operand, operand: object, object: chosen })
    }

    /// Drops an operand whose buffer was not taken over after all.
    pub fn drop_unless_reused(&mut self, reused: Reused) {
        if reused.operand != reused.object {
            let other = self.b.icmp(IntCmp::Ne, reused.operand, reused.object);
            self.b.begin_if(other);
            self.release(reused.of, reused.operand);
            self.b.end_if(&[]);
        }
    }
}
