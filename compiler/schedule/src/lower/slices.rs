//! Arrays that are written out of larger cells, `[with {...}, with {...}]`, and built in place: so are their cells.

use ravel_wir::{Frame, Op, Part, Value, WithOp};

use crate::facts::{Dest, Ext, Val};
use crate::lower::Lower;

impl Lower<'_, '_> {
    /// If `v`, which the body of `part` builds at `data`, is an array that is written out, its cells get their places in it.
    pub fn place_cells(&mut self, part: &Part, v: Value, data: Val) {
        let func = self.func;
        let Some(inst) = self.live.def(v) else { return };
        let Op::Array(cells) = &func.insts[inst].op else { return };
        let bytes = self.elem(v).bytes() as i64;
        for (k, &cell) in (0i64..).zip(cells) {
            if func.ty(cell).is_scalar() || !self.can_build_in_place(part, cell) {
                continue;
            }
            let Some(count) = self.count_in_advance(cell) else { continue };
            let skipped = self.extent_product(count, Ext::Const(k * bytes));
            let skipped = self.extent_val(skipped);
            let to = self.b.ptr_add(data, skipped);
            self.facts.dests.insert(cell, Dest { data: to });
            self.emit.placed.insert(cell);
            self.place_cells(part, cell, to);
        }
    }

    /// Number of elements of an array that is yet to be built, if its shape is known at this point of the code.
    pub fn count_in_advance(&mut self, v: Value) -> Option<Ext> {
        let func = self.func;
        if let Some(count) = func.ty(v).shape.count() {
            return Some(Ext::Const(count as i64));
        }
        let inst = self.live.def(v)?;
        let Op::With(with) = &func.insts[inst].op else { return None };
        let result = func.insts[inst].results.iter().position(|r| *r == v)?;
        let WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. } = &with.ops[result] else {
            return None;
        };
        let shape: Vec<Value> = frame.iter().chain(cell).copied().collect();
        if !shape.iter().all(|v| self.const_i32(*v).is_some() || self.is_bound(*v)) {
            return None;
        }
        let extents: Vec<Ext> = shape.iter().map(|v| self.scalar_extent(*v)).collect();
        Some(self.product(&extents))
    }
}
