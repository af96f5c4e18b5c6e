//! With-loops as loop nests: partitions, results, defaults.
//!
//! Results are written where they belong: a genarray or modarray result is one buffer, each cell goes to its slice, and a cell
//! that the body builds by a with-loop or an array constructor of its own is built in that slice. Results whose shape or rank only
//! the run knows ([`Sink::Late`]) are kept in a stack slot and addressed by the runtime.

use ravel_nest::ir::{Access, Ty};
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{Combine, Frame, Generator, Inst, Op, Part, Value, With, WithOp};

use crate::Result;
use crate::facts::{Accumulate, Chunk, Dest, Ext, Facts, Form, Index, Reused, Sink, Val, any_op, layout};
use crate::lower::Lower;
use crate::lower::emit::Around;
use crate::plan::strategy::{Folds, Plan, WithPlan};

impl Facts<'_> {
    /// Whether the bodies do more than to compute cells.
    pub fn has_effects(&self, with: &With) -> bool {
        let has = |op: &Op| op.is_anchored() || matches!(op, Op::Call { .. } | Op::Native { .. });
        with.parts.iter().any(|part| any_op(self.func, part.body, has))
    }

    /// Proven bounds of the index of an axis.
    pub fn axis_range(&self, with: &With, lower: Value, upper: Value) -> (i64, i64) {
        let inside = with.ops.iter().any(|op| !matches!(op, WithOp::Fold { .. }));
        let low = self.bounds(lower).0.max(if inside { 0 } else { i64::from(i32::MIN) });
        let high = self.bounds(upper).1.min(i64::from(i32::MAX)) - 1;
        (low, high.max(low))
    }

    /// May the value be built directly in its slice of the result?
    pub fn can_build_in_place(&self, part: &Part, v: Value) -> bool {
        let func = self.func;
        let ty = func.ty(v);
        if ty.is_scalar() || ty.rank().is_none() || self.live.uses(v) != 1 {
            return false;
        }
        let Some(inst) = self.live.def(v).filter(|inst| func.regions[part.body].insts.contains(inst)) else {
            return false;
        };
        match &func.insts[inst].op {
            Op::Sel { array, .. } => func.ty(*array).rank().is_some(),
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

    /// Offset of the cell of a partition's index.
    pub fn slice_offset(&self, part: &Part, elem: Elem, strides: &[Ext]) -> crate::facts::Offset {
        let params = &self.func.regions[part.body].params;
        let forms: Vec<Form> = params.iter().map(|v| self.form(*v)).collect();
        self.offset(&forms, strides, elem.bytes() as i64)
    }
}

impl Lower<'_, '_> {
    pub fn with_loop(&mut self, inst: Inst, with: &With) -> Result<()> {
        self.facts.set_ranges(with);
        let choice = self.choose_with_loop(inst, with);
        self.cx.decided(inst, &choice);
        for text in choice.explained() {
            self.cx.remark(self.func.insts[inst].span, text);
        }
        match choice.plan {
            WithPlan::AnyOrder { ascends } => self.in_any_order(inst, with, ascends),
            WithPlan::DeadStores => self.without_elements(inst, with),
            WithPlan::MadeBefore => {
                if let Some(Some(object)) = self.made_update(inst) {
                    self.bind(self.func.insts[inst].results[0], object);
                }
                Ok(())
            }
            WithPlan::Append(plan) => self.append(inst, with, &plan),
            WithPlan::RowsInPlace(rows) => self.rows_in_place(inst, with, &rows),
            WithPlan::Groups(plan) => self.groups(inst, with, &plan),
            WithPlan::DeviceFold(plan) => self.device_fold(inst, with, plan),
            WithPlan::Parts => self.with_loop_on_host(inst, with),
        }
    }

    /// A with-loop whose order serves the array that it changes: if that cannot be changed in place, no order is needed.
    fn in_any_order(&mut self, inst: Inst, with: &With, ascends: bool) -> Result<()> {
        let before = std::mem::replace(&mut self.facts.site.ascending, ascends);
        self.facts.site.sequential += u32::from(ascends);
        let result = self.with_loop(inst, &With { ordered: false, ..with.clone() });
        self.facts.site.sequential -= u32::from(ascends);
        self.facts.site.ascending = before;
        result
    }

    /// An array whose first elements nobody sees.
    fn without_elements(&mut self, inst: Inst, with: &With) -> Result<()> {
        let (span, results) = (self.func.insts[inst].span, &self.func.insts[inst].results);
        self.cx.remark(span, "not computed: the loop behind it writes all elements");
        let (sinks, _) = self.prepare(with, results, span, false)?;
        self.emit.borders.clear();
        self.host_fills(&sinks);
        for (sink, &result) in sinks.iter().zip(results) {
            if let Sink::Slice { object: Some(object), reused, .. } = sink {
                if let Some(reused) = *reused {
                    self.drop_unless_reused(reused);
                }
                self.bind(result, *object);
            }
        }
        Ok(())
    }

    /// A with-loop that is no fold on the device: on the host, or its cells there.
    pub fn with_loop_on_host(&mut self, inst: Inst, with: &With) -> Result<()> {
        let func = self.func;
        let span = func.insts[inst].span;
        let results = &func.insts[inst].results;
        if with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. })) && self.folds_on_host(inst, with)? {
            return Ok(());
        }
        let order = self.in_place(with);
        if order.is_some() {
            self.cx.remark(span, "in place");
        }
        let (sinks, carried) = self.prepare(with, results, span, order.is_some())?;
        let borders = std::mem::take(&mut self.emit.borders);
        if with.ordered {
            self.facts.site.sequential += 1;
        }
        let mut carried = carried;
        let on_device = carried.is_empty() && self.try_device(inst, with, &sinks)?;
        if !on_device {
            self.host_fills(&sinks);
        }
        // The bodies read the array that they change.
        let mut before = Vec::new();
        for sink in sinks.iter().filter(|_| order.is_some()) {
            if let Sink::Slice { reused: Some(reused), .. } = sink {
                before.push((reused.of, self.replace(reused.of, reused.object)));
            }
        }
        let order = match order {
            Some(order) => order.into_iter().map(|n| (n, Vec::new())).collect(),
            None => {
                let mut order = self.companies(with);
                if self.has_rows() && !with.ordered {
                    self.thick_first(with, &mut order);
                }
                order
            }
        };
        for (n, thin) in order.into_iter().filter(|_| !on_device) {
            self.cx.part = (with.parts.len() > 1).then_some(n);
            let around = Around { borders: &borders, thin: &thin };
            carried = self.partition(inst, with, &with.parts[n], (&sinks, around), carried)?;
        }
        for (array, object) in before {
            self.replace(array, object);
        }
        if with.ordered {
            self.facts.site.sequential -= 1;
        }
        self.forget_filled(&sinks);
        for ((sink, op), &result) in sinks.iter().zip(&with.ops).zip(results) {
            match sink {
                Sink::Slice { object, reused, .. } => {
                    if let Some(reused) = *reused {
                        self.drop_unless_reused(reused);
                    }
                    if let Some(object) = *object {
                        self.bind(result, object);
                    }
                }
                Sink::Late { elem, slot, .. } => {
                    let object = self.finish_late(op, result, *slot, span)?;
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

    /// A with-loop that has nothing but folds, as a whole; false if each partition is for itself.
    fn folds_on_host(&mut self, inst: Inst, with: &With) -> Result<bool> {
        self.facts.set_ranges(with);
        let parts: Vec<_> = with.parts.iter().collect();
        self.reading_rows(with, &parts, &[], |lower| lower.sorted_folds(inst, with))
    }

    /// The same where it is known which arrays may be read in rows.
    fn sorted_folds(&mut self, inst: Inst, with: &With) -> Result<bool> {
        if let Some((part, _)) = self.folds_for_threads(inst, with) {
            self.preload(part.body);
        }
        let choice = self.choose_folds(&Folds::new(inst, with, false));
        self.cx.decided(inst, &choice);
        match choice.plan {
            Plan::FoldThreads(plan) => self.folds_on_threads(inst, with, plan)?,
            Plan::Lanes(plan) => {
                self.settle_rows();
                let values = self.fold_lanes(inst, with, &plan, None)?;
                self.bind_totals(inst, values);
            }
            _ => {
                self.explain_scalars(inst, &choice);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where the cells of a with-loop go, and the accumulators that it begins with.
    pub fn prepare(
        &mut self,
        with: &With,
        results: &[Value],
        span: Span,
        in_place: bool,
    ) -> Result<(Vec<Sink>, Vec<Val>)> {
        let known = with.parts.iter().all(|p| matches!(p.generator, Generator::Known { .. }));
        let mut carried = Vec::new();
        let mut sinks = Vec::new();
        for (k, (op, &result)) in with.ops.iter().zip(results).enumerate() {
            let elem = self.elem(result);
            let scalar = self.func.ty(result).is_scalar();
            let sink = match op {
                WithOp::Genarray { frame: Frame::Known(frame), cell: Some(_), default }
                    if scalar && known && frame.is_empty() =>
                {
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
                    Sink::Late { elem, slot, span }
                }
                WithOp::Modarray { array } => {
                    let axes = with.parts.first().map(|p| match &p.generator {
                        Generator::Known { lower, .. } => lower.len(),
                        Generator::Dyn { .. } => 0,
                    });
                    let object = if in_place {
                        self.take_to_update(*array)
                    } else if let Some(object) = self.copy_around(with, *array, span)? {
                        object
                    } else if self.func.ty(*array).is_scalar() {
                        self.boxed(*array)
                    } else {
                        self.take_unique(*array)
                    };
                    match self.func.ty(*array).rank() {
                        Some(rank) if known && rank > 0 && axes.unwrap_or(0) <= rank => {
                            let extents: Vec<Ext> = self.extents(*array);
                            let axes = axes.unwrap_or(0);
                            let cell = self.product(&extents[axes..]);
                            let strides = self.strides_of(&extents[..axes], cell);
                            let data = self.target_of(object);
                            let reused = in_place.then_some(Reused { of: *array, operand: object, object });
                            Sink::Slice { elem, data, object: Some(object), strides, cell, reused }
                        }
                        _ => {
                            self.host_writes(object);
                            let slot = self.b.stack_slot(8, 8);
                            self.b.store(object, slot, 0, Access::ALIGNED);
                            Sink::Late { elem, slot, span }
                        }
                    }
                }
                WithOp::Fold { neutral, combine, .. } => {
                    let array = matches!(combine, Combine::Op(_)) && !self.func.ty(*neutral).is_scalar();
                    let initial = if array { self.take_unique_for_host(*neutral) } else { self.take(*neutral) };
                    carried.push(initial);
                    let combine = self.accumulation(with, (k, result), combine, span);
                    Sink::Carried { position: carried.len() - 1, elem, combine }
                }
            };
            sinks.push(sink);
        }
        Ok((sinks, carried))
    }

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
        let covered = self.covers(with, frame);
        let mut reused = None;
        let (object, data) = match self.facts.dests.remove(&result) {
            Some(dest) => (None, dest.data),
            None => {
                let extents: Vec<Ext> = frame_extents.iter().chain(&cell_extents).copied().collect();
                if covered {
                    reused = self.reuse_operand(with, result, &extents, span);
                }
                let object = match reused {
                    Some(reused) => reused.object,
                    None => self.allocate(elem, &extents, span),
                };
                (Some(object), self.target_of(object))
            }
        };
        let cell_count = self.product(&cell_extents);
        let strides = self.strides_of(&frame_extents, cell_count);
        if !covered {
            let cells = self.product(&frame_extents);
            match default {
                Some(default) if self.func.ty(default).is_scalar() => {
                    let total = self.extent_product(cells, cell_count);
                    let value = self.val(default);
                    if !self.fill_around(with, elem, data, value, &frame_extents, &strides) {
                        self.fill(elem, data, total, value);
                    }
                }
                Some(default) => self.fill_cells(elem, data, cells, cell_count, default),
                None if elem == Elem::Handle => {}
                None => {
                    let total = self.extent_product(cells, cell_count);
                    let zero = self.zero_element(elem);
                    if !self.fill_around(with, elem, data, zero, &frame_extents, &strides) {
                        self.fill(elem, data, total, zero);
                    }
                }
            }
        }
        Ok(Sink::Slice { elem, data, object, strides, cell: cell_count, reused })
    }

    /// The loops from an axis inwards; a chunk replaces the bounds of its axis.
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
            && chunk.is_none_or(|chunk| chunk.axis != axis)
            && let (Some(low), Some(high)) = (self.const_i32(lower[axis]), self.const_i32(upper[axis]))
            && high == low + 1
        {
            self.open(part.body);
            let low = self.b.i64(low);
            self.bind_wide(param, low, range);
            let carried = self.axis(inst, with, part, sinks, axis + 1, carried, chunk)?;
            self.close();
            return Ok(carried);
        }
        let (low, high) = match chunk.filter(|chunk| chunk.axis == axis) {
            Some(chunk) => (chunk.low, chunk.high),
            None => (self.wide(lower[axis]), self.wide(upper[axis])),
        };
        let one = self.b.i64(1);
        let step = match step {
            Some(step) => self.wide(step[axis]),
            None => one,
        };
        let width = width.as_ref().filter(|w| self.const_i32(w[axis]) != Some(1)).map(|w| w[axis]);
        let width = width.map(|width| self.wide(width));
        let trips = self.const_i32(lower[axis]).zip(self.const_i32(upper[axis])).map(|(low, high)| high - low);
        let trips = trips.filter(|_| chunk.is_none_or(|chunk| chunk.axis != axis));
        let (sums, additions) = self.scalar_sums_of(with, part, sinks, axis, &carried);
        let (block, outer, blocks) = self.begin_block_sums((low, high, step), (trips, additions), &carried, sums);
        if !with.ordered {
            self.note_rows(block, func.insts[inst].span);
        }
        self.open(part.body);
        let next = match width {
            None => {
                self.bind_wide(param, block, range);
                self.prepare_inner(part, sinks);
                let mut outer = outer;
                let before = self.begin_scalar_row_sums(with, part, sinks, axis, &mut outer);
                let mut next = self.axis(inst, with, part, sinks, axis + 1, outer, chunk)?;
                self.end_row_sums(&mut next, before);
                next
            }
            Some(width) => {
                let end = self.b.add(block, width);
                let end = self.b.binary(ravel_nest::ir::BinOp::SMin, end, high);
                let (i, inner) = self.b.begin_for(block, end, one, &outer);
                self.open(part.body);
                self.bind_wide(param, i, range);
                self.prepare_inner(part, sinks);
                let next = self.axis(inst, with, part, sinks, axis + 1, inner, chunk)?;
                self.close();
                self.b.end_for(&next)
            }
        };
        self.close();
        Ok(self.end_block_sums(blocks, &next))
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

    /// Runs the body at an index and hands its cells to the sinks.
    pub fn cell(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        index: &Index,
        carried: Vec<Val>,
    ) -> Result<Vec<Val>> {
        self.open(part.body);
        let next = self.cell_in_scope(with, part, sinks, index, carried)?;
        self.close();
        Ok(next)
    }

    /// Runs the body in the open scope and hands its cells to the sinks.
    pub fn cell_in_scope(
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
            if let Sink::Slice { elem, data, strides, reused, .. } = sink
                && self.can_build_in_place(part, v)
            {
                let offset = self.slice_offset(part, *elem, strides);
                let address = self.address(*data, &offset);
                let data = self.pointer(address);
                self.facts.dests.insert(v, Dest { data });
                if reused.is_none() {
                    self.place_cells(part, v, data);
                }
                *built = true;
            }
        }
        let first = self.begin_first_cells(part, sinks, index, &carried);
        self.insts(part.body)?;
        self.start_yields();
        for (k, ((sink, &v), built)) in sinks.iter().zip(yields).zip(built).enumerate() {
            match sink {
                Sink::Slice { .. } if built => {}
                Sink::Carried { position, elem, combine: Accumulate::FromFirst(how) } => {
                    self.end_first_cell(how, *elem, carried[*position], v, first.as_ref().and_then(|f| f.cell(k)));
                }
                Sink::Slice { elem, data, strides, cell, .. } => {
                    let offset = self.slice_offset(part, *elem, strides);
                    let address = self.address(*data, &offset);
                    self.put(*elem, v, address, *cell);
                }
                Sink::Late { elem, slot, span } => self.put_late(with, sinks, sink, *elem, *slot, v, index, *span)?,
                Sink::Carried { position, elem, combine } => {
                    carried[*position] = self.accumulate(combine, *elem, carried[*position], v)?;
                }
            }
        }
        self.drop_rest();
        Ok(carried)
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
}
