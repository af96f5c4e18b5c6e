//! With-loops as loop nests: partitions, results, defaults.
//!
//! Results are written where they belong: a genarray or modarray result is one buffer, each cell goes to its slice, and a cell
//! that the body builds by a with-loop or an array constructor of its own is built in that slice. Results whose shape or rank only
//! the run knows ([`Sink::Late`]) are kept in a stack slot and addressed by the runtime.

use ravel_nest::ir::{Access, IntCmp, Ty};
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{Combine, Frame, Generator, Inst, Op, Part, Value, With, WithOp};

use crate::Result;
use crate::index::{Ext, Form};
use crate::kernel::Chunk;
use crate::layout;
use crate::lower::{Dest, Lower, Val};

/// Where the cells of one operator go.
#[derive(Clone)]
pub(crate) enum Sink {
    /// Into a buffer with this address; strides (in elements) of the frame axes, and elements per cell.
    Slice { elem: Elem, data: Val, object: Option<Val>, strides: Vec<Ext>, cell: Ext },
    /// Into the object that a stack slot holds, null until the first cell is known.
    Late { elem: Elem, slot: Val },
    /// Into a carried value.
    Carried { position: usize, elem: Elem, combine: Accumulate },
}

/// How a carried value takes a cell.
#[derive(Clone, Debug)]
pub(crate) enum Accumulate {
    /// By the function of a fold.
    Fold(Combine),
    /// It becomes the cell: an array without axes.
    Replace,
}

/// The index at which a body runs.
enum Index {
    /// One scalar per axis.
    Known(Vec<Value>),
    /// The state of an odometer.
    Dyn(Val),
}

impl Lower<'_, '_> {
    pub fn with_loop(&mut self, inst: Inst, with: &With) -> Result<()> {
        let func = self.func;
        let span = func.insts[inst].span;
        let results = &func.insts[inst].results;
        self.set_ranges(with);
        if self.try_parallel_fold(inst, with)? {
            return Ok(());
        }
        if let Some(values) = self.try_fold_kernel(inst, with, None)? {
            for (&result, value) in results.iter().zip(values) {
                self.bind(result, value);
            }
            return Ok(());
        }
        let (sinks, carried) = self.prepare(with, results, span)?;
        if with.ordered {
            self.sequential += 1;
        }
        let mut carried = carried;
        for part in &with.parts {
            carried = self.part(inst, with, part, &sinks, carried)?;
        }
        if with.ordered {
            self.sequential -= 1;
        }
        for ((sink, op), &result) in sinks.iter().zip(&with.ops).zip(results) {
            match sink {
                Sink::Slice { object, .. } => {
                    if let Some(object) = *object {
                        self.bind(result, object);
                    }
                }
                Sink::Late { elem, slot } => {
                    let object = self.finish_late(op, *elem, *slot, span)?;
                    if func.ty(result).is_scalar() {
                        let data = self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED);
                        let value = self.load_element(*elem, (data, 0));
                        self.b.rc_dec(object);
                        self.bind(result, value);
                    } else {
                        self.bind(result, object);
                    }
                }
                Sink::Carried { position, .. } => self.bind(result, carried[*position]),
            }
        }
        Ok(())
    }

    // Results before the loops.

    fn prepare(&mut self, with: &With, results: &[Value], span: Span) -> Result<(Vec<Sink>, Vec<Val>)> {
        let known = with.parts.iter().all(|p| matches!(p.generator, Generator::Known { .. }));
        let mut carried = Vec::new();
        let mut sinks = Vec::new();
        for (op, &result) in with.ops.iter().zip(results) {
            let elem = self.elem(result);
            let scalar = self.func.ty(result).is_scalar();
            let sink = match op {
                WithOp::Genarray { frame: Frame::Known(frame), cell: Some(_), default } if scalar && known && frame.is_empty() => {
                    let initial = match default {
                        Some(default) => self.take(*default),
                        None => self.zero_element(elem),
                    };
                    carried.push(initial);
                    Sink::Carried { position: carried.len() - 1, elem, combine: Accumulate::Replace }
                }
                WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), default } if known && !scalar => {
                    self.genarray_sink(with, result, frame, cell, *default, span)?
                }
                WithOp::Genarray { frame, cell, default } => {
                    let slot = self.b.stack_slot(8, 8);
                    let object = match cell {
                        Some(cell) => {
                            let cell: Vec<Ext> = cell.iter().map(|v| self.scalar_extent(*v)).collect();
                            let shape = if cell.is_empty() { self.b.null() } else { self.shape_memory(&cell) };
                            let rank = self.b.i64(cell.len() as i64);
                            let object = self.allocate_frame(frame, elem, shape, rank, span)?;
                            self.fill_late(object, frame, elem, *default, span);
                            object
                        }
                        None => self.b.null(),
                    };
                    self.b.store(object, slot, 0, Access::ALIGNED);
                    Sink::Late { elem, slot }
                }
                WithOp::Modarray { array } => {
                    let axes = with.parts.first().map(|p| match &p.generator {
                        Generator::Known { lower, .. } => lower.len(),
                        Generator::Dyn { .. } => 0,
                    });
                    let object = match self.copy_around(with, *array, span)? {
                        Some(object) => object,
                        None => {
                            let object = if self.func.ty(*array).is_scalar() { self.boxed(*array) } else { self.take(*array) };
                            self.make_unique(object)
                        }
                    };
                    match self.func.ty(*array).rank() {
                        Some(rank) if known && rank > 0 && axes.unwrap_or(0) <= rank => {
                            let extents: Vec<Ext> = self.extents(*array);
                            let axes = axes.unwrap_or(0);
                            let cell = self.product(&extents[axes..]);
                            let strides = self.strides_of(&extents[..axes], cell);
                            let data = self.data_of(object);
                            Sink::Slice { elem, data, object: Some(object), strides, cell }
                        }
                        _ => {
                            let slot = self.b.stack_slot(8, 8);
                            self.b.store(object, slot, 0, Access::ALIGNED);
                            Sink::Late { elem, slot }
                        }
                    }
                }
                WithOp::Fold { neutral, combine, .. } => {
                    let mut initial = self.take(*neutral);
                    if matches!(combine, Combine::Op(_)) && !self.func.ty(*neutral).is_scalar() {
                        initial = self.make_unique(initial);
                    }
                    carried.push(initial);
                    Sink::Carried { position: carried.len() - 1, elem, combine: Accumulate::Fold(combine.clone()) }
                }
            };
            sinks.push(sink);
        }
        Ok((sinks, carried))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one operator")]
    fn genarray_sink(
        &mut self,
        with: &With,
        result: Value,
        frame: &[Value],
        cell: &[Value],
        default: Option<Value>,
        span: Span,
    ) -> Result<Sink> {
        let elem = self.elem(result);
        let frame_extents: Vec<Ext> = frame.iter().map(|v| self.scalar_extent(*v)).collect();
        let cell_extents: Vec<Ext> = cell.iter().map(|v| self.scalar_extent(*v)).collect();
        let (object, data) = match self.dests.remove(&result) {
            Some(dest) => (None, dest.data),
            None => {
                let extents: Vec<Ext> = frame_extents.iter().chain(&cell_extents).copied().collect();
                let object = self.allocate(elem, &extents, span);
                (Some(object), self.data_of(object))
            }
        };
        let cell_count = self.product(&cell_extents);
        let strides = self.strides_of(&frame_extents, cell_count);
        if !self.covers(with, frame) {
            let cells = self.product(&frame_extents);
            match default {
                Some(default) if self.func.ty(default).is_scalar() => {
                    let total = self.extent_product(cells, cell_count);
                    let value = self.val(default);
                    self.fill(elem, data, total, value);
                }
                Some(default) => self.fill_cells(elem, data, cells, cell_count, default),
                None if elem == Elem::Handle => {}
                None => {
                    let total = self.extent_product(cells, cell_count);
                    let zero = self.zero_element(elem);
                    self.fill(elem, data, total, zero);
                }
            }
        }
        Ok(Sink::Slice { elem, data, object, strides, cell: cell_count })
    }

    /// A new array for a modarray whose operand stays alive, with the operand's elements wherever the only partition does not
    /// write; nothing if the operand could be updated in place or the partition is not a box.
    fn copy_around(&mut self, with: &With, array: Value, span: Span) -> Result<Option<Val>> {
        let [Part { generator: Generator::Known { lower, upper, step: None, .. }, .. }] = &with.parts[..] else { return Ok(None) };
        let elem = self.elem(array);
        if self.is_last_use(array) || elem == Elem::Handle || self.func.ty(array).rank().is_none_or(|r| r < lower.len() || r == 0) {
            return Ok(None);
        }
        let extents = self.extents(array);
        let cell = self.product(&extents[lower.len()..]);
        let strides = self.strides_of(&extents[..lower.len()], cell);
        let object = self.allocate(elem, &extents, span);
        let old = self.val(array);
        let (to, from) = (self.data_of(object), self.data_of(old));
        let start = self.b.i64(0);
        let cache = self.cache.clone();
        self.copy_rest(elem, [to, from], start, lower, upper, &extents, &strides);
        self.cache = cache;
        Ok(Some(object))
    }

    /// Copies what lies outside of a box, from its first axis inwards. `start` is the offset of the sub-array, in elements.
    #[expect(clippy::too_many_arguments, reason = "one sub-array and the box in it")]
    fn copy_rest(
        &mut self,
        elem: Elem,
        data: [Val; 2],
        start: Val,
        lower: &[Value],
        upper: &[Value],
        extents: &[Ext],
        strides: &[Ext],
    ) {
        let (Some(&first), Some(&last)) = (lower.first(), upper.first()) else { return };
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let extent = self.extent_val(extents[0]);
        let low = self.wide(first);
        // An empty box leaves everything.
        let high = self.wide(last);
        let high = self.b.binary(ravel_nest::ir::BinOp::SMax, low, high);
        for (from, to) in [(zero, low), (high, extent)] {
            let length = self.b.sub(to, from);
            let some = self.b.icmp(IntCmp::Sgt, length, zero);
            self.b.begin_if(some);
            let stride = self.extent_val(strides[0]);
            let skipped = self.b.mul(from, stride);
            let first = self.b.add(start, skipped);
            let bytes = self.times(first, elem.bytes() as i64);
            let (to, from) = (self.b.ptr_add(data[0], bytes), self.b.ptr_add(data[1], bytes));
            let count = self.b.mul(length, stride);
            let bytes = self.times(count, elem.bytes() as i64);
            self.helper("ravel_copy_bytes", &[to, from, bytes], None);
            self.b.end_if(&[]);
        }
        if lower.len() > 1 {
            let (i, _) = self.b.begin_for(low, high, one, &[]);
            let stride = self.extent_val(strides[0]);
            let skipped = self.b.mul(i, stride);
            let inner = self.b.add(start, skipped);
            self.copy_rest(elem, data, inner, &lower[1..], &upper[1..], &extents[1..], &strides[1..]);
            self.b.end_for(&[]);
        }
    }

    /// Copies an array to consecutive cells.
    fn fill_cells(&mut self, elem: Elem, data: Val, cells: Ext, cell: Ext, default: Value) {
        let object = self.val(default);
        let from = self.data_of(object);
        let bytes = self.extent_product(cell, Ext::Const(elem.bytes() as i64));
        let (bytes, cells) = (self.extent_val(bytes), self.extent_val(cells));
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let (i, _) = self.b.begin_for(zero, cells, one, &[]);
        let skipped = self.b.mul(i, bytes);
        let to = self.b.ptr_add(data, skipped);
        let name = if elem == Elem::Handle { "ravel_copy_handles" } else { "ravel_copy_bytes" };
        self.helper(name, &[to, from, bytes], None);
        self.b.end_for(&[]);
    }

    /// Do the partitions reach every index of the frame, provably?
    fn covers(&self, with: &With, frame: &[Value]) -> bool {
        let zero = |v: &Value| self.const_i32(*v) == Some(0);
        if let [Part { generator: Generator::Known { lower, upper, step, width }, .. }] = &with.parts[..] {
            let dense = match (step, width) {
                (None, _) => true,
                (Some(step), Some(width)) => step.iter().zip(width).all(|(s, w)| self.same_scalar(*s, *w)),
                (Some(step), None) => step.iter().all(|s| self.const_i32(*s) == Some(1)),
            };
            if dense
                && lower.len() == frame.len()
                && lower.iter().all(zero)
                && upper.iter().zip(frame).all(|(u, f)| self.same_scalar(*u, *f))
            {
                return true;
            }
        }
        // Disjoint partitions within the frame cover it when they have as many indices.
        let total = frame.iter().try_fold(1i64, |n, v| n.checked_mul(self.const_i32(*v)?));
        let parts = with.parts.iter().try_fold(0i64, |n, p| n.checked_add(self.const_count(p)?));
        total.is_some() && total == parts
    }

    /// Number of indices of a partition with constant bounds.
    pub fn const_count(&self, part: &Part) -> Option<i64> {
        let Generator::Known { lower, upper, step, width } = &part.generator else { return None };
        let mut count = 1i64;
        for axis in 0..lower.len() {
            let length = (self.const_i32(upper[axis])? - self.const_i32(lower[axis])?).max(0);
            let step = step.as_ref().map_or(Some(1), |s| self.const_i32(s[axis]))?.max(1);
            let width = width.as_ref().map_or(Some(1), |w| self.const_i32(w[axis]))?;
            let along = length / step * width.min(step) + (length % step).min(width);
            count = count.checked_mul(along)?;
        }
        Some(count)
    }

    /// Are two scalars certainly equal?
    pub fn same_scalar(&self, a: Value, b: Value) -> bool {
        if a == b {
            return true;
        }
        match (self.const_i32(a), self.const_i32(b)) {
            (Some(x), Some(y)) => return x == y,
            (None, None) => {}
            _ => return false,
        }
        match (self.live.def(a), self.live.def(b)) {
            (Some(a), Some(b)) => match (&self.func.insts[a].op, &self.func.insts[b].op) {
                (Op::Extent { array: x, axis: i }, Op::Extent { array: y, axis: j }) => x == y && i == j,
                (Op::Bin(p, a, b), Op::Bin(q, c, d)) => p == q && self.same_scalar(*a, *c) && self.same_scalar(*b, *d),
                _ => false,
            },
            _ => false,
        }
    }

    // Loops.

    fn part(&mut self, inst: Inst, with: &With, part: &Part, sinks: &[Sink], carried: Vec<Val>) -> Result<Vec<Val>> {
        self.preload(part.body);
        match &part.generator {
            Generator::Known { .. } => {
                if carried.is_empty() && self.try_parallel(inst, with, part, sinks)? {
                    return Ok(carried);
                }
                if carried.is_empty() && self.try_kernel(inst, with, part, sinks, None)? {
                    return Ok(carried);
                }
                self.axis(inst, with, part, sinks, 0, carried, None)
            }
            Generator::Dyn { lower, upper, step, width } => {
                self.odometer(with, part, [Some(*lower), Some(*upper), *step, *width], sinks, carried)
            }
        }
    }

    /// Proven bounds of the index of an axis.
    pub fn axis_range(&self, with: &With, lower: Value, upper: Value) -> (i64, i64) {
        let inside = with.ops.iter().any(|op| !matches!(op, WithOp::Fold { .. }));
        let low = self.bounds(lower).0.max(if inside { 0 } else { i64::from(i32::MIN) });
        let high = self.bounds(upper).1.min(i64::from(i32::MAX)) - 1;
        (low, high.max(low))
    }

    /// The loops from an axis inwards; a chunk replaces the bounds of this axis.
    #[expect(clippy::too_many_arguments, reason = "the state of one loop nest")]
    pub fn axis(
        &mut self,
        inst: Inst,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        axis: usize,
        carried: Vec<Val>,
        chunk: Option<Chunk>,
    ) -> Result<Vec<Val>> {
        let func = self.func;
        let params = &func.regions[part.body].params;
        let Generator::Known { lower, upper, step, width } = &part.generator else {
            return self.unsupported(func.insts[inst].span, "a partition of unknown rank among others");
        };
        let Some(&param) = params.get(axis) else {
            return self.cell(with, part, sinks, &Index::Known(params.clone()), carried);
        };
        let range = self.axis_range(with, lower[axis], upper[axis]);
        if step.is_none()
            && chunk.is_none()
            && let (Some(low), Some(high)) = (self.const_i32(lower[axis]), self.const_i32(upper[axis]))
            && high == low + 1
        {
            self.open(part.body);
            let low = self.b.i64(low);
            self.bind_wide(param, low, range);
            let carried = self.axis(inst, with, part, sinks, axis + 1, carried, None)?;
            self.close();
            return Ok(carried);
        }
        let (low, high) = match chunk {
            Some(chunk) => (chunk.low, chunk.high),
            None => (self.wide(lower[axis]), self.wide(upper[axis])),
        };
        let one = self.b.i64(1);
        let step = match step {
            Some(step) => self.wide(step[axis]),
            None => one,
        };
        let width = width.as_ref().filter(|w| self.const_i32(w[axis]) != Some(1)).map(|w| w[axis]);
        let width = match width {
            Some(width) => Some(self.wide(width)),
            None => None,
        };
        let (block, outer) = self.b.begin_for(low, high, step, &carried);
        self.open(part.body);
        let next = match width {
            None => {
                self.bind_wide(param, block, range);
                self.prepare_inner(part, sinks);
                self.axis(inst, with, part, sinks, axis + 1, outer, None)?
            }
            Some(width) => {
                let end = self.b.add(block, width);
                let end = self.b.binary(ravel_nest::ir::BinOp::SMin, end, high);
                let (i, inner) = self.b.begin_for(block, end, one, &outer);
                self.open(part.body);
                self.bind_wide(param, i, range);
                self.prepare_inner(part, sinks);
                let next = self.axis(inst, with, part, sinks, axis + 1, inner, None)?;
                self.close();
                self.b.end_for(&next)
            }
        };
        self.close();
        Ok(self.b.end_for(&next))
    }

    /// Computes what inner loops need and an index bound just now decides.
    pub fn prepare_inner(&mut self, part: &Part, sinks: &[Sink]) {
        self.prepare_body(part.body);
        for sink in sinks {
            if let Sink::Slice { elem, data, strides, .. } = sink {
                let offset = self.slice_offset(part, *elem, strides);
                self.prepare_address(*data, &offset);
            }
        }
    }

    /// Offset of the cell of a partition's index.
    pub fn slice_offset(&mut self, part: &Part, elem: Elem, strides: &[Ext]) -> crate::index::Offset {
        let params = &self.func.regions[part.body].params;
        let forms: Vec<Form> = params.iter().map(|v| self.form(*v)).collect();
        self.offset(&forms, strides, elem.bytes() as i64)
    }

    fn odometer(
        &mut self,
        with: &With,
        part: &Part,
        vectors: [Option<Value>; 4],
        sinks: &[Sink],
        carried: Vec<Val>,
    ) -> Result<Vec<Val>> {
        let func = self.func;
        let position = self.position(Span::NONE);
        let mut args = vec![position];
        for v in vectors {
            args.push(match v {
                Some(v) => self.val(v),
                None => self.b.null(),
            });
        }
        let state = self.helper("ravel_odometer_start", &args, Some(Ty::PTR)).expect("called with a result type");
        let null = self.b.null();
        let some = self.b.icmp(IntCmp::Ne, state, null);
        self.b.begin_if(some);
        let inner = self.b.begin_loop(&carried);
        self.open(part.body);
        if let Some(&param) = func.regions[part.body].params.first() {
            let vector = self.helper("ravel_odometer_index", &[state], Some(Ty::PTR)).expect("called with a result type");
            self.bind(param, vector);
            self.own(param);
        }
        self.drop_unused();
        let next = self.cell_in_scope(with, part, sinks, &Index::Dyn(state), inner)?;
        self.close();
        let more = self.helper("ravel_odometer_next", &[state], Some(Ty::I8)).expect("called with a result type");
        let last = self.b.end_loop(more, &next);
        self.b.begin_else(&last);
        Ok(self.b.end_if(&carried))
    }

    // Cells.

    fn cell(&mut self, with: &With, part: &Part, sinks: &[Sink], index: &Index, carried: Vec<Val>) -> Result<Vec<Val>> {
        self.open(part.body);
        let next = self.cell_in_scope(with, part, sinks, index, carried)?;
        self.close();
        Ok(next)
    }

    /// Runs the body in the open scope and hands its cells to the sinks.
    fn cell_in_scope(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        index: &Index,
        mut carried: Vec<Val>,
    ) -> Result<Vec<Val>> {
        let func = self.func;
        let yields = &func.regions[part.body].yields;
        let mut built = vec![false; yields.len()];
        for ((built, &v), sink) in built.iter_mut().zip(yields).zip(sinks) {
            if let Sink::Slice { elem, data, strides, .. } = sink
                && self.can_build_in_place(part, v)
            {
                let offset = self.slice_offset(part, *elem, strides);
                let address = self.address(*data, &offset);
                let data = self.pointer(address);
                self.dests.insert(v, Dest { data });
                *built = true;
            }
        }
        self.insts(part.body)?;
        self.start_yields();
        for ((sink, &v), built) in sinks.iter().zip(yields).zip(built) {
            match sink {
                Sink::Slice { .. } if built => {}
                Sink::Slice { elem, data, strides, cell, .. } => {
                    let offset = self.slice_offset(part, *elem, strides);
                    let address = self.address(*data, &offset);
                    self.put(*elem, v, address, *cell);
                }
                Sink::Late { elem, slot } => self.put_late(with, sinks, sink, *elem, *slot, v, index)?,
                Sink::Carried { position, elem, combine } => {
                    carried[*position] = self.accumulate(combine, *elem, carried[*position], v)?;
                }
            }
        }
        self.drop_rest();
        Ok(carried)
    }

    /// May the value be built directly in its slice of the result?
    fn can_build_in_place(&self, part: &Part, v: Value) -> bool {
        let func = self.func;
        let ty = func.ty(v);
        if ty.is_scalar() || ty.rank().is_none() || self.live.uses(v) != 1 {
            return false;
        }
        let Some(inst) = self.live.def(v).filter(|inst| func.regions[part.body].insts.contains(inst)) else {
            return false;
        };
        match &func.insts[inst].op {
            Op::Array(cells) => cells.first().is_none_or(|c| func.ty(*c).rank().is_some()),
            Op::With(with) => {
                let position = func.insts[inst].results.iter().position(|r| *r == v);
                let known = with.parts.iter().all(|p| matches!(p.generator, Generator::Known { .. }));
                known
                    && matches!(
                        position.map(|p| &with.ops[p]),
                        Some(WithOp::Genarray { frame: Frame::Known(_), cell: Some(_), .. })
                    )
            }
            _ => false,
        }
    }

    /// Writes a cell to its place.
    fn put(&mut self, elem: Elem, v: Value, address: (Val, i32), count: Ext) {
        if self.func.ty(v).is_scalar() {
            let value = self.take(v);
            self.store_element(elem, value, address);
            return;
        }
        let object = self.val(v);
        if self.func.ty(v).rank().is_none() {
            let position = self.position(Span::NONE);
            let expected = self.extent_val(count);
            self.helper("ravel_check_count", &[position, object, expected], None);
        }
        let from = self.data_of(object);
        let to = self.pointer(address);
        self.copy_elements(elem, to, from, count);
    }

    // Results whose shape the run decides.

    fn allocate_frame(&mut self, frame: &Frame, elem: Elem, cell: Val, cell_rank: Val, span: Span) -> Result<Val> {
        let position = self.position(span);
        let tag = self.b.iconst(Ty::I8, i64::from(layout::tag(elem)));
        let (vector, made) = match frame {
            Frame::Dyn(v) => (self.val(*v), false),
            Frame::Known(extents) => {
                let vector = self.allocate(Elem::I32, &[Ext::Const(extents.len() as i64)], span);
                let data = self.b.load(Ty::PTR, vector, layout::OFFSET_DATA, Access::ALIGNED);
                for (axis, &extent) in extents.iter().enumerate() {
                    let extent = self.val(extent);
                    self.b.store(extent, data, 4 * axis as i32, Access::ALIGNED);
                }
                (vector, true)
            }
        };
        let args = [position, tag, vector, cell, cell_rank];
        let object = self.helper("ravel_alloc_frame", &args, Some(Ty::PTR)).expect("called with a result type");
        if made {
            self.b.rc_dec(vector);
        }
        Ok(object)
    }

    /// Number of frame axes.
    fn frame_axes(&mut self, frame: &Frame) -> Val {
        match frame {
            Frame::Known(extents) => self.b.i64(extents.len() as i64),
            Frame::Dyn(v) => {
                let vector = self.val(*v);
                self.count_of(vector)
            }
        }
    }

    fn fill_late(&mut self, object: Val, frame: &Frame, elem: Elem, default: Option<Value>, span: Span) {
        if let Some(default) = default
            && self.func.ty(default).is_scalar()
        {
            let data = self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED);
            let count = self.count_of(object);
            let value = self.val(default);
            self.fill(elem, data, Ext::Val(count), value);
            return;
        }
        let (position, axes) = (self.position(span), self.frame_axes(frame));
        let default = match default {
            Some(default) => self.val(default),
            None => self.b.null(),
        };
        self.helper("ravel_fill_cells", &[position, object, axes, default], None);
    }

    #[expect(clippy::too_many_arguments, reason = "one cell and all that is known of its place")]
    fn put_late(
        &mut self,
        with: &With,
        sinks: &[Sink],
        sink: &Sink,
        elem: Elem,
        slot: Val,
        v: Value,
        index: &Index,
    ) -> Result<()> {
        let which = sinks.iter().position(|s| std::ptr::eq(s, sink)).expect("the sink is one of these");
        let cache = self.cache.clone();
        let scalar = self.func.ty(v).is_scalar();
        if let WithOp::Genarray { frame, cell: None, default } = &with.ops[which] {
            let object = self.b.load(Ty::PTR, slot, 0, Access::ALIGNED);
            let null = self.b.null();
            let first = self.b.icmp(IntCmp::Eq, object, null);
            self.b.begin_if(first);
            let (shape, rank) = if scalar {
                (self.b.null(), self.b.i64(0))
            } else {
                let cell = self.val(v);
                let offset = self.b.i64(i64::from(layout::OFFSET_SHAPE));
                let shape = self.b.ptr_add(cell, offset);
                let rank = self.b.load(Ty::I32, cell, layout::OFFSET_RANK, Access::ALIGNED);
                (shape, self.b.convert(ravel_nest::ir::ConvOp::ZExt, rank, ravel_nest::ir::Prim::I64))
            };
            let object = self.allocate_frame(frame, elem, shape, rank, Span::NONE)?;
            self.fill_late(object, frame, elem, *default, Span::NONE);
            self.b.store(object, slot, 0, Access::ALIGNED);
            self.b.end_if(&[]);
            self.cache = cache.clone();
        }
        let object = self.b.load(Ty::PTR, slot, 0, Access::ALIGNED);
        let (axes, place) = match index {
            Index::Known(params) => {
                let memory = self.b.stack_slot(8 * params.len().max(1) as u32, 8);
                for (axis, &param) in params.iter().enumerate() {
                    let i = self.wide(param);
                    self.b.store(i, memory, 8 * axis as i32, Access::ALIGNED);
                }
                (self.b.i64(params.len() as i64), memory)
            }
            Index::Dyn(state) => {
                let axes = self.helper("ravel_odometer_axes", &[*state], Some(Ty::I64)).expect("called with a result type");
                let place = self.helper("ravel_odometer_position", &[*state], Some(Ty::PTR)).expect("called with a result type");
                (axes, place)
            }
        };
        let position = self.position(Span::NONE);
        let offset = self.helper("ravel_cell_offset", &[position, object, axes, place], Some(Ty::I64));
        let offset = offset.expect("called with a result type");
        if scalar {
            let data = self.b.load(Ty::PTR, object, layout::OFFSET_DATA, Access::ALIGNED);
            let bytes = self.times(offset, elem.bytes() as i64);
            let address = self.b.ptr_add(data, bytes);
            let value = self.take(v);
            self.store_element(elem, value, (address, 0));
        } else {
            let cell = self.val(v);
            self.helper("ravel_put_cell", &[position, object, axes, offset, cell], None);
        }
        self.cache = cache;
        Ok(())
    }

    /// The result of a late sink once all cells are there: without any cell the default decides the shape.
    fn finish_late(&mut self, op: &WithOp, elem: Elem, slot: Val, span: Span) -> Result<Val> {
        let object = self.b.load(Ty::PTR, slot, 0, Access::ALIGNED);
        let WithOp::Genarray { frame, cell: None, default } = op else { return Ok(object) };
        let cache = self.cache.clone();
        let null = self.b.null();
        let none = self.b.icmp(IntCmp::Eq, object, null);
        self.b.begin_if(none);
        let (shape, rank) = match default {
            Some(default) if !self.func.ty(*default).is_scalar() => {
                let object = self.val(*default);
                let offset = self.b.i64(i64::from(layout::OFFSET_SHAPE));
                let shape = self.b.ptr_add(object, offset);
                let rank = self.b.load(Ty::I32, object, layout::OFFSET_RANK, Access::ALIGNED);
                (shape, self.b.convert(ravel_nest::ir::ConvOp::ZExt, rank, ravel_nest::ir::Prim::I64))
            }
            _ => (self.b.null(), self.b.i64(0)),
        };
        let made = self.allocate_frame(frame, elem, shape, rank, span)?;
        self.fill_late(made, frame, elem, *default, span);
        self.b.begin_else(&[made]);
        let object = self.b.end_if(&[object])[0];
        self.cache = cache;
        Ok(object)
    }
}
