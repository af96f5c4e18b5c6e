//! Launches with several cells per work-item: vectors.
//!
//! ```text
//!    a * x + y over arrays of any rank
//! => work-item i computes elements 4*i to 4*i + 3 as one vector of 16 bytes
//! ```
//!
//! An element-wise body whose results fill a whole array, and which reads arrays of the same shape at its own index alone, sees elements in the
//! order of memory: the axes are one. A work-item then loads and stores 16 bytes at once, which is what devices are built for. What is left
//! at the end is computed by the last work-item, one element after the other.
//!
//! Leaves alone: anything but floats of one type, bodies with branches, and arrays that are known to be small, whose work-items
//! would be too few.

use ravel_nest::ir::IntCmp;
use ravel_types::{BinOp, Elem, UnOp};
use ravel_wir::{Frame, Generator, Op, Part, Value, With, WithOp};

use crate::Result;
use crate::device::columns::LEAST_ITEMS;
use crate::device::tile_nest::is_forced;
use crate::facts::{Ext, Facts, Grid, Index, Sink, Val};
use crate::lower::Lower;

/// Bytes of a vector.
const BYTES: usize = 16;

impl Facts<'_> {
    /// The type of all elements, if a partition can run with vectors.
    fn elem_of_lanes(&self, with: &With, part: &Part, targets: &[Sink]) -> Option<Elem> {
        let func = self.func;
        let region = &func.regions[part.body];
        let Generator::Known { lower, step: None, width: None, .. } = &part.generator else { return None };
        let whole = |op: &WithOp| matches!(op, WithOp::Genarray { frame: Frame::Known(frame), .. } if frame.len() == lower.len() && self.covers(with, frame));
        if with.parts.len() != 1 || !with.ops.iter().all(whole) || !lower.iter().all(|v| self.const_i32(*v) == Some(0))
        {
            return None;
        }
        let elem = *targets.iter().find_map(|sink| match sink {
            Sink::Slice { elem, .. } => Some(elem),
            _ => None,
        })?;
        let alike = |sink: &Sink| matches!(sink, Sink::Slice { elem: of, cell: Ext::Const(1), .. } if *of == elem);
        if !matches!(elem, Elem::F32 | Elem::F64) || !targets.iter().all(alike) {
            return None;
        }
        if lower.len() > 1 && !self.reads_in_order(part) || region.params.iter().any(|v| self.alias[*v].is_some()) {
            return None;
        }
        let params = &region.params;
        let compares = |op: &Op| matches!(op, Op::Bin(op, ..) if op.is_comparison());
        let computes = |op: &Op| match op {
            Op::Const(_) | Op::Extent { .. } | Op::Opaque(_) => true,
            Op::Un(op, _) => !matches!(op, UnOp::Not | UnOp::IsNan | UnOp::IsInf | UnOp::Finite),
            Op::Bin(op, ..) => !matches!(op, BinOp::Copysign | BinOp::AplMod),
            Op::Select { cond, .. } => {
                self.live.def(*cond).is_some_and(|inst| region.insts.contains(&inst) && compares(&func.insts[inst].op))
            }
            Op::Native { symbol, .. } => crate::facts::vector_forms::math_op(symbol).is_some(),
            Op::Sel { index, .. } => index == params,
            _ => false,
        };
        let mut loads = false;
        for &inst in &region.insts {
            let data = &func.insts[inst];
            let mut elems = data.results.iter().map(|v| self.elem(*v));
            let apart = matches!(data.op, Op::Const(_) | Op::Extent { .. }) || compares(&data.op);
            if !computes(&data.op) || !apart && !elems.all(|of| of == elem) {
                return None;
            }
            // Indices are no data: only elements are in the order of memory.
            if let Op::Sel { .. } = &data.op {
                loads = true;
                continue;
            }
            let mask = match &data.op {
                Op::Select { cond, .. } => Some(*cond),
                _ => None,
            };
            let mut clean = true;
            data.op.for_each_operand(|v| clean &= !params.contains(&v) && (self.elem(v) == elem || mask == Some(v)));
            if !clean && !matches!(data.op, Op::Extent { .. }) {
                return None;
            }
        }
        let data = |v: &Value| !params.contains(v) && self.elem(*v) == elem;
        (loads && region.yields.iter().all(data)).then_some(elem)
    }
}

impl Lower<'_, '_> {
    /// Runs a partition with a vector per work-item, if that pays; `false` if nothing was emitted.
    pub fn launch_lanes(&mut self, with: &With, part: &Part, targets: &[Sink]) -> Result<bool> {
        let Some(elem) = self.elem_of_lanes(with, part, targets) else { return Ok(false) };
        let lanes = (BYTES / elem.bytes()) as i64;
        let least = if is_forced(self.cx.options.device) { 1 } else { LEAST_ITEMS };
        let known = self.const_count(part);
        if known.is_some_and(|cells| cells / lanes < least) {
            return Ok(false);
        }
        let lengths = self.grid_of(part);
        let count = lengths.iter().skip(1).fold(lengths[0], |n, e| self.b.mul(n, *e));
        self.launch_remark(format!("in vectors: a work-item computes {lanes} cells"));
        self.lane_launch(with, part, targets, elem, count, known.is_some_and(|n| n % lanes == 0))?;
        Ok(true)
    }

    fn lane_launch(
        &mut self,
        with: &With,
        part: &Part,
        targets: &[Sink],
        elem: Elem,
        count: Val,
        whole: bool,
    ) -> Result<()> {
        let func = self.func;
        let lanes = (BYTES / elem.bytes()) as i64;
        let items = self.ceil_div(count, lanes);
        let params = func.regions[part.body].params.clone();
        let Some((&last, outer)) = params.split_last() else { return Ok(()) };
        let positions = (0, i64::from(i32::MAX));
        let cache = self.emit.cache.clone();
        let place = self.begin_groups(&[items], &[]);
        self.facts.site.sequential += 1;
        self.open(part.body);
        let first = self.times(place[0], lanes);
        for &param in outer {
            let zero = self.b.i64(0);
            self.bind_wide(param, zero, (0, 0));
        }
        self.bind_wide(last, first, positions);
        if !whole {
            let end = self.b.i64(lanes);
            let end = self.b.add(first, end);
            let inside = self.b.icmp(IntCmp::Sle, end, count);
            self.b.begin_if(inside);
        }
        let outside = self.emit.cache.clone();
        let mut g = Grid::scalar(elem.bytes());
        g.set_vec(Some(last), lanes as u8, 1);
        g.aligned = true;
        for &cell in &func.regions[part.body].yields {
            self.packed_of(&mut g, cell, 0, 0)?;
        }
        self.kernel_cells(&mut g, part, targets)?;
        self.emit.cache = outside.clone();
        if !whole {
            self.b.begin_else(&[]);
            let one = self.b.i64(1);
            let (index, _) = self.b.begin_for(first, count, one, &[]);
            self.open(part.body);
            self.bind_wide(last, index, positions);
            self.cell_in_scope(with, part, targets, &Index::Known(params), Vec::new())?;
            self.close();
            self.b.end_for(&[]);
            self.b.end_if(&[]);
            self.emit.cache = outside;
        }
        self.close();
        self.facts.site.sequential -= 1;
        self.end_launch();
        self.emit.cache = cache;
        Ok(())
    }
}
