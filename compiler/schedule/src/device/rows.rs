//! Cells that take much work, on a device: a group of work-items for each.
//!
//! ```text
//!    { [i] -> sum(a[i]) }          the work-items of group i stride over row i, a tree in local memory adds their sums
//!    { [i] -> a[i] / sum(a[i]) }   and then over the elements of the cell
//! ```
//!
//! Scalars of the body are computed by all work-items of a group alike. Reads of a row by one work-item each would go to as many
//! places at once as there are rows; a group reads a row in order.
//!
//! Leaves alone: bodies that make other arrays than their cell, and folds that read no rows: there a work-item per cell is better.

use ravel_nest::ir::IntCmp;
use ravel_wir::{Frame, Generator, Inst, Op, Part, Region, With, WithOp};

use crate::Result;
use crate::facts::{Ext, Facts, Index, Refusal, Sink, Val};
use crate::lower::{Lower, scalars};
use crate::plan::device::fold::GROUP;

/// A group does not pay for folds that are shorter.
const LEAST_TRIPS: i64 = 64;

impl Facts<'_> {
    /// Is a with-loop one for groups of work-items, one per cell?
    pub fn check_device_rows(&self, with: &With, sinks: &[Sink]) -> std::result::Result<(), Refusal> {
        self.check_device_results(with, sinks)?;
        let arrays = sinks.iter().any(|s| !matches!(s, Sink::Slice { cell: Ext::Const(1), .. }));
        let mut reads_rows = false;
        for part in &with.parts {
            self.check_grid(part)?;
            self.check_row_body(part)?;
            reads_rows |= self.func.regions[part.body].params.len() == 1 && self.reads_rows(part.body);
        }
        if !arrays && !reads_rows {
            return Err(Refusal::ReadsNoRows);
        }
        if self.device_guards(with).is_none() {
            return Err(Refusal::LateChecks);
        }
        Ok(())
    }

    fn check_row_body(&self, part: &Part) -> std::result::Result<(), Refusal> {
        let func = self.func;
        let region = &func.regions[part.body];
        for &inst in &region.insts {
            let data = &func.insts[inst];
            let Op::With(inner) = &data.op else {
                self.check_device_inst(inst)?;
                continue;
            };
            if inner.ops.iter().all(|op| matches!(op, WithOp::Fold { .. })) && !inner.ops.is_empty() {
                self.group_folds(inner, &data.results)?;
                continue;
            }
            let built = data.results.iter().all(|v| region.yields.contains(v) && self.can_build_in_place(part, *v));
            let scalars = inner.ops.iter().all(|op| match op {
                WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. } => {
                    cell.is_empty() && self.covers(inner, frame)
                }
                _ => false,
            });
            if !built || !scalars || inner.ordered {
                return Err(Refusal::BuildsArrays);
            }
            for part in &inner.parts {
                if !matches!(&part.generator, Generator::Known { lower, width: None, .. } if !lower.is_empty()) {
                    return Err(Refusal::InnerWidthsOrRank);
                }
                self.check_device_body(part.body)?;
            }
        }
        let cells = |v| {
            func.ty(v).is_scalar()
                || self.can_build_in_place(part, v)
                    && self.live.def(v).is_some_and(|i| matches!(func.insts[i].op, Op::With(_)))
        };
        if !region.yields.iter().all(|v| cells(*v)) {
            return Err(Refusal::BuildsArrays);
        }
        Ok(())
    }

    /// Does a fold of the body read arrays at its own index on the last axis and at the cell's on another one?
    fn reads_rows(&self, body: Region) -> bool {
        let func = self.func;
        let outer = &func.regions[body].params;
        let mut found = false;
        for &inst in &func.regions[body].insts {
            let Op::With(inner) = &func.insts[inst].op else { continue };
            for part in &inner.parts {
                let Generator::Known { lower, upper, .. } = &part.generator else { continue };
                let Some(&last) = func.regions[part.body].params.last() else { continue };
                let n = lower.len() - 1;
                let trips = self.const_i32(upper[n]).zip(self.const_i32(lower[n])).map(|(u, l)| u - l);
                if trips.is_some_and(|trips| trips < LEAST_TRIPS) {
                    return false;
                }
                for &inst in &func.regions[part.body].insts {
                    let Op::Sel { index, .. } = &func.insts[inst].op else { continue };
                    let Some((along, others)) = index.split_last() else { continue };
                    let mentions = |v: &ravel_wir::Value, of: &[ravel_wir::Value]| {
                        self.form(*v).terms.iter().any(|(w, _)| of.contains(w))
                    };
                    found |= mentions(along, &[last]) && others.iter().any(|v| mentions(v, outer));
                }
            }
        }
        found
    }
}

impl Lower<'_, '_> {
    /// The body of a cell by the work-items of a group, in the open scope.
    pub fn row_cell(&mut self, part: &Part, sinks: &[Sink], item: Val) -> Result<()> {
        let func = self.func;
        let yields = &func.regions[part.body].yields;
        for (&v, sink) in yields.iter().zip(sinks) {
            if let Sink::Slice { elem, data, strides, .. } = sink
                && !func.ty(v).is_scalar()
            {
                let offset = self.slice_offset(part, *elem, strides);
                let address = self.address(*data, &offset);
                let data = self.pointer(address);
                self.facts.dests.insert(v, crate::facts::Dest { data });
            }
        }
        for (position, &inst) in func.regions[part.body].insts.iter().enumerate() {
            self.start_inst(position, inst);
            match &func.insts[inst].op {
                Op::With(inner) if inner.ops.iter().all(|op| matches!(op, WithOp::Fold { .. })) => {
                    self.row_folds(inst, inner, item)?
                }
                Op::With(inner) => self.row_elements(inst, inner, item)?,
                _ => self.inst(inst)?,
            }
            self.end_inst(inst);
        }
        self.start_yields();
        let scalar_cells: Vec<_> = sinks.iter().zip(yields).filter(|(_, v)| func.ty(**v).is_scalar()).collect();
        if !scalar_cells.is_empty() {
            let zero = self.b.i64(0);
            let is_first = self.b.icmp(IntCmp::Eq, item, zero);
            let cache = self.emit.cache.clone();
            self.b.begin_if(is_first);
            for (sink, &v) in scalar_cells {
                let Sink::Slice { elem, data, strides, .. } = sink else { continue };
                let offset = self.slice_offset(part, *elem, strides);
                let address = self.address(*data, &offset);
                let value = self.val(v);
                self.store_element(*elem, value, address);
            }
            self.b.begin_else(&[]);
            self.b.end_if(&[]);
            self.emit.cache = cache;
        }
        self.drop_rest();
        Ok(())
    }

    /// Folds of a body, by the group.
    fn row_folds(&mut self, inst: Inst, inner: &With, item: Val) -> Result<()> {
        let results = self.func.insts[inst].results.clone();
        let Ok(folds) = self.group_folds(inner, &results) else {
            return self.unsupported(self.func.insts[inst].span, "a fold in order by a group");
        };
        let arith = self.arith();
        let mut totals: Vec<Val> = folds.iter().map(|fold| self.val(fold.neutral)).collect();
        for part in &inner.parts {
            let walk = self.walk_of(inner, part);
            let zero = self.b.i64(0);
            let values = self.fold_in_group(inner, part, &folds, &walk, item, (zero, walk.count, walk.most))?;
            for ((total, value), fold) in totals.iter_mut().zip(values).zip(&folds) {
                let elem = self.elem(fold.result);
                *total = scalars::binary(&mut self.b, arith, fold.op, elem, *total, value);
            }
        }
        for (fold, total) in folds.iter().zip(totals) {
            self.bind(fold.result, total);
        }
        Ok(())
    }

    /// The elements of a cell, by the group.
    fn row_elements(&mut self, inst: Inst, inner: &With, item: Val) -> Result<()> {
        let func = self.func;
        let mut sinks = Vec::new();
        for (op, &result) in inner.ops.iter().zip(&func.insts[inst].results) {
            let (WithOp::Genarray { frame: Frame::Known(frame), .. }, Some(dest)) =
                (op, self.facts.dests.remove(&result))
            else {
                return self.unsupported(func.insts[inst].span, "an array of a cell without a place");
            };
            let extents: Vec<Ext> = frame.iter().map(|v| self.scalar_extent(*v)).collect();
            let strides = self.strides_of(&extents, Ext::Const(1));
            sinks.push(Sink::Slice {
                elem: self.elem(result),
                data: dest.data,
                object: None,
                strides,
                cell: Ext::Const(1),
                reused: None,
            });
        }
        for part in &inner.parts {
            let Generator::Known { lower, upper, step, .. } = &part.generator else { continue };
            let one = self.b.i64(1);
            let lengths = self.grid_of(part);
            let count = lengths.iter().skip(1).fold(lengths[0], |n, e| self.b.mul(n, *e));
            let group = self.b.i64(i64::from(GROUP));
            let (n, _) = self.b.begin_for(item, count, group, &[]);
            self.open(part.body);
            let position = self.position_of(n, &lengths);
            let params = func.regions[part.body].params.clone();
            for (axis, &param) in params.iter().enumerate() {
                let step = step.as_ref().map_or(one, |s| self.wide(s[axis]));
                let low = self.wide(lower[axis]);
                let scaled = self.b.mul(position[axis], step);
                let index = self.b.add(scaled, low);
                let range = self.axis_range(inner, lower[axis], upper[axis]);
                self.bind_wide(param, index, range);
            }
            self.cell_in_scope(inner, part, &sinks, &Index::Known(params), Vec::new())?;
            self.close();
            self.b.end_for(&[]);
        }
        Ok(())
    }
}
