//! Kernels: the loops around a [`Grid`].
//!
//! A kernel computes scalar cells of genarray and modarray partitions, or the results of a fold. One of its axes is cut into
//! steps of `u` vectors, up to two others into steps of several copies; the rest are plain loops. The remainder of the vector axis is
//! covered by fewer vectors, the last of which may overlap the one before (cells are pure, so that computing one twice is
//! harmless), or by scalars.
//!
//! Kernels become functions of their own, compiled in the order written here: see [`crate::post::outline`].

pub mod access;
pub mod collapsed_rows;
pub mod divergent;
pub mod gathers;
pub mod grid;
pub mod guarded;
pub mod guards;
pub mod lane_checks;
pub mod map_reduce;
pub mod masked_bounds;
pub mod reduce;
pub mod remainders;
pub mod row_sums;
pub mod shifted_accumulators;
pub mod state;
pub mod strided_lanes;
pub mod widen;
pub mod widths;

use ravel_nest::ir::{BinOp as NestBin, IntCmp};
use ravel_types::Elem;
use ravel_wir::{Generator, Inst, Op, Part, Region, Value, With, WithOp};

use crate::Result;
use crate::facts::sink::functions;
use crate::facts::{Accumulate, Chunk, Comb, Facts, Grid, Jam, LONG_CHAIN, Sink, Val, Walk, folds_along};
use crate::kernel::collapsed_rows::FlatBounds;
use crate::kernel::remainders::Stretch;
use crate::lower::{Lower, scalars};
use crate::plan::strategy::Case;
use crate::plan::work_sharing::SharedPlan;
use crate::plan::{KernelPlan, VecChoice};

/// Copies whose cells are computed side by side.
const TOGETHER: usize = 4;

impl Facts<'_> {
    /// Whether all elements that a body reads and makes fill a lane of this many bytes.
    fn has_one_width(&self, part: &Part, bytes: usize) -> bool {
        let mut fits = self.func.regions[part.body].yields.iter().all(|v| self.elem(*v).bytes() == bytes);
        ravel_wir::traverse::walk(self.func, part.body, &mut |_, inst| {
            let data = &self.func.insts[inst];
            let whole = |v: &Value| matches!(self.elem(*v), Elem::I32 | Elem::Bool) || self.elem(*v).bytes() == bytes;
            fits &= match data.op {
                Op::Sel { .. } => data.results.iter().all(|v| self.elem(*v).bytes() == bytes),
                Op::With(_) | Op::Loop { .. } => false,
                _ => data.results.iter().all(whole),
            };
        });
        fits
    }

    /// How many copies of a body are computed side by side rather than one after the other. What a body does after its folds is a chain of
    /// operations that wait for each other; a long one leaves the machine idle.
    fn copies_together(&self, g: &mut Grid, body: Region) -> usize {
        let folds: f64 = self.func.regions[body]
            .insts
            .iter()
            .map(|inst| match &self.func.insts[*inst].op {
                Op::With(with) => self.fold_cost(g, with),
                _ => 0.0,
            })
            .sum();
        if g.vec.is_some() && g.lanes > 1 && self.region_cost(g, body) - folds > LONG_CHAIN { TOGETHER } else { 1 }
    }

    /// Does a kernel store past the caches?
    fn streams_with(&self, inst: Inst, part: &Part, sinks: &[Sink], plan: &KernelPlan, chunk: Option<Chunk>) -> bool {
        let short_rows = match plan.vec {
            VecChoice::Axis { axis, .. } if chunk.is_none_or(|chunk| chunk.axis != axis) => {
                self.has_short_rows(part, sinks, axis)
            }
            _ => false,
        };
        // What lies between steps is read.
        let gaps = self
            .combs(part)
            .is_none_or(|combs| matches!(plan.vec, VecChoice::Axis { axis, .. } if !combs[axis].is_dense()));
        !short_rows && !gaps && self.streams(inst, sinks)
    }
}

impl Lower<'_, '_> {
    /// Lowers a partition as a kernel, or a chunk of it; `shared` if idle threads help.
    pub fn kernel(
        &mut self,
        case: &Case,
        plan: &KernelPlan,
        chunk: Option<Chunk>,
        shared: Option<&SharedPlan>,
    ) -> Result<()> {
        let Case { inst, with, part, sinks, .. } = *case;
        let span = self.func.insts[inst].span;
        self.cx.remark(span, plan.describe());
        let streams = self.streams_with(inst, part, sinks, plan, chunk);
        if streams {
            self.cx.remark(span, "stores past the caches");
        }
        let in_operand = sinks.iter().any(|sink| matches!(sink, Sink::Slice { reused: Some(_), .. }));
        self.kernel_or_scalars(
            plan,
            in_operand,
            |lower| {
                match shared {
                    Some(shared) => lower.shared_kernel(case, shared, streams)?,
                    None => lower.kernel_loops(with, part, sinks, plan, (chunk, streams))?,
                }
                Ok(Vec::new())
            },
            |_| Vec::new(),
            |lower| {
                lower.open(part.body);
                lower.axis(inst, with, part, sinks, 0, Vec::new(), chunk)?;
                lower.close();
                Ok(Vec::new())
            },
        )?;
        Ok(())
    }

    /// The loops of a partition as planned.
    pub fn kernel_loops(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        plan: &KernelPlan,
        (chunk, streams): (Option<Chunk>, bool),
    ) -> Result<()> {
        let mut g = plan.grid();
        g.streams = streams;
        self.open(part.body);
        self.kernel_axis(&mut g, plan, with, part, sinks, 0, chunk)?;
        self.close();
        Ok(())
    }

    /// Lowers a with-loop of scalar folds with lanes along its last axis, or a chunk of it; the results.
    pub fn fold_lanes(&mut self, inst: Inst, with: &With, plan: &KernelPlan, chunk: Option<Chunk>) -> Result<Vec<Val>> {
        let func = self.func;
        self.cx.remark(func.insts[inst].span, plan.describe());
        for part in &with.parts {
            self.preload(part.body);
        }
        let cache = self.emit.cache.clone();
        let short = if chunk.is_none() { self.is_short_fold(with, plan) } else { None };
        if let Some(short) = short {
            self.b.begin_if(short);
            let starts = self.fold_starts(with, &func.insts[inst].results, false);
            let values = self
                .silently(|lower: &mut Self| lower.scalar_folds(inst, with, starts.clone(), functions(with), None))?;
            self.emit.cache.clone_from(&cache);
            self.b.begin_else(&values);
        }
        let mut g = plan.grid();
        let results = func.insts[inst].results.clone();
        let starts = |lower: &mut Self| lower.fold_starts(with, &results, chunk.is_some());
        let values = self.kernel_or_scalars(
            plan,
            false,
            |lower| {
                lower.fold_cells(&mut g, inst, chunk)?;
                results.iter().map(|v| lower.scalar_of(&mut g, *v, 0, 0)).collect()
            },
            starts,
            |lower| {
                let starts = starts(lower);
                lower.scalar_folds(inst, with, starts, functions(with), chunk)
            },
        )?;
        if short.is_some() {
            self.emit.cache = cache;
            return Ok(self.b.end_if(&values));
        }
        Ok(values)
    }

    /// Whether a fold in a loop, of a length that the run decides, has fewer indices than a vector has lanes: rows of sparse matrices, neighbours in a
    /// graph. Accumulators in lanes, which have to be begun and added up, take longer than these indices then.
    fn is_short_fold(&mut self, with: &With, plan: &KernelPlan) -> Option<Val> {
        let [part] = &with.parts[..] else { return None };
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
        let ([lower], [upper], VecChoice::Fold { .. }) = (&lower[..], &upper[..], plan.vec) else { return None };
        let is_constant = self.const_i32(*lower).is_some() && self.const_i32(*upper).is_some();
        if is_constant || !self.b.in_loop() {
            return None;
        }
        let (low, high) = (self.wide(*lower), self.wide(*upper));
        let length = self.b.sub(high, low);
        let lanes = self.b.i64(i64::from(plan.lanes));
        Some(self.b.icmp(IntCmp::Slt, length, lanes))
    }

    /// What scalar accumulators start from: the neutral elements, or the identities in a chunk of a parallel loop.
    fn fold_starts(&mut self, with: &With, results: &[Value], chunked: bool) -> Vec<Val> {
        let mut starts = Vec::new();
        for (op, &result) in with.ops.iter().zip(results) {
            let WithOp::Fold { neutral, .. } = op else { continue };
            let identity = folds_along(op).and_then(|op| op.identity(self.elem(result)));
            starts.push(match identity {
                Some(identity) if chunked => scalars::constant(&mut self.b, identity, 1),
                _ => self.val(*neutral),
            });
        }
        starts
    }

    /// Scalar loops of a with-loop that has nothing but folds; `hows` says how each takes its cells.
    pub fn scalar_folds(
        &mut self,
        inst: Inst,
        with: &With,
        starts: Vec<Val>,
        hows: Vec<Accumulate>,
        chunk: Option<Chunk>,
    ) -> Result<Vec<Val>> {
        let results = &self.func.insts[inst].results;
        let elems = results.iter().map(|result| self.elem(*result));
        let sinks: Vec<Sink> = elems
            .zip(hows)
            .enumerate()
            .map(|(position, (elem, combine))| Sink::Carried { position, elem, combine })
            .collect();
        let mut carried = starts;
        for part in &with.parts {
            carried = self.axis(inst, with, part, &sinks, 0, carried, chunk)?;
        }
        Ok(carried)
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one loop nest")]
    fn kernel_axis(
        &mut self,
        g: &mut Grid,
        plan: &KernelPlan,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        axis: usize,
        chunk: Option<Chunk>,
    ) -> Result<()> {
        let func = self.func;
        let Some(&param) = func.regions[part.body].params.get(axis) else {
            return self.kernel_step(g, with, part, sinks);
        };
        let Generator::Known { lower, upper, .. } = &part.generator else {
            return self.unsupported(
                func.regions[part.body].insts.first().map_or(ravel_source::Span::NONE, |i| func.insts[*i].span),
                "a kernel of unknown rank",
            );
        };
        let mut range = self.axis_range(with, lower[axis], upper[axis]);
        let chunk_here = chunk.filter(|chunk| chunk.axis == axis);
        let is_vec = matches!(plan.vec, VecChoice::Axis { axis: k, .. } if k == axis);
        let jam = plan.jams.iter().find(|jam| jam.0 == axis).map(|jam| jam.1);
        // A cell that is built in an operand must not be computed twice.
        let overlap = !sinks.iter().any(|sink| matches!(sink, Sink::Slice { reused: Some(_), .. }));
        let comb = self.combs(part).map_or(Comb::DENSE, |combs| combs[axis]);
        let last = func.regions[part.body].params.len() - 1;
        let flat = plan.flat.filter(|flat| axis >= flat.rows);
        if let Some(flat) = flat.filter(|_| axis == last) {
            let rows = self.axis_range(with, lower[flat.rows], upper[flat.rows]);
            range = (0, (rows.1 - rows.0 + 1).saturating_mul(flat.length) - 1);
        }
        let stretches = match (plan.vec, plan.even, jam) {
            _ if flat.is_some_and(|flat| axis == flat.rows || flat.is_within(axis, last)) => {
                let rows = chunk_here.filter(|_| flat.is_some_and(|flat| !flat.cut));
                let low = rows.map_or_else(|| self.wide(lower[axis]), |chunk| chunk.low);
                vec![Stretch::new((low, low), 1, 1, Walk { trips: Some(1), ..Walk::ANY })]
            }
            _ if flat.is_some() => {
                let (lanes, u) = match plan.vec {
                    VecChoice::Axis { u, .. } if is_vec => (plan.lanes, u),
                    _ => (1, jam.unwrap_or(1)),
                };
                let bounds = flat.map_or(FlatBounds::Const(0), |flat| self.flat_bounds(flat, part, chunk));
                self.flat_stretches((lower[axis], upper[axis]), bounds, lanes, u, is_vec && overlap)
            }
            (VecChoice::Axis { u, .. }, ..) if is_vec && !comb.is_dense() => {
                self.comb_stretches((lower[axis], upper[axis]), chunk_here, (plan.lanes, u), comb, overlap)
            }
            _ if !comb.is_dense() => {
                let (low, high) = chunk_here
                    .map_or_else(|| (self.wide(lower[axis]), self.wide(upper[axis])), |chunk| (chunk.low, chunk.high));
                vec![Stretch::singles(low, high)]
            }
            (VecChoice::Axis { u, .. }, Some(even), _) if is_vec => {
                let last = plan.shift.as_ref().and_then(|shift| shift.last);
                let (low, high) = (self.const_i32(lower[axis]), self.const_i32(upper[axis]));
                let (low, high) = (low.unwrap_or(0), high.unwrap_or(0));
                match last {
                    Some(_) => vec![Stretch { last, ..self.const_stretch(low, 1, plan.lanes, u) }],
                    None => self.uneven_stretches(low, high, even, plan.lanes, u),
                }
            }
            (VecChoice::Axis { u, .. }, None, _) if is_vec => {
                let first = self.const_i32(lower[axis]);
                let peel = first.and_then(|low| self.indices_to_alignment(g, part, sinks, axis, plan.lanes, low));
                let mut stretches =
                    self.stretches((lower[axis], upper[axis]), chunk_here, plan.lanes, u, overlap, peel);
                if !overlap && self.has_one_width(part, plan.bytes) {
                    self.narrow_rest(&mut stretches, plan.lanes, plan.bytes);
                }
                if plan.separate { self.separated(stretches) } else { stretches }
            }
            (.., copies) => self.stretches((lower[axis], upper[axis]), chunk_here, 1, copies.unwrap_or(1), false, None),
        };
        for stretch in stretches {
            let mut outer = None;
            let mut index = stretch.low;
            if !stretch.is_single() {
                let distance = if stretch.lanes == 1 { comb.step } else { 1 };
                let step = self.b.i64(stretch.u as i64 * i64::from(stretch.lanes) * distance);
                let (i, _) = self.b.begin_for(stretch.low, stretch.high, step, &[]);
                outer = Some(self.enter_kernel_loop(i));
                index = match stretch.latest {
                    Some(latest) => self.b.binary(NestBin::SMin, i, latest),
                    None => i,
                };
            }
            let mark = g.mark();
            self.open(part.body);
            if is_vec {
                g.set_vec(Some(param), stretch.lanes, stretch.u);
                (g.walk, g.last, g.streamed) = (stretch.walk, stretch.last, stretch.streamed);
                g.comb = Some(Comb { phase: stretch.phase, ..comb }).filter(|comb| !comb.is_dense());
            } else if jam.is_some() {
                g.push_jam(Jam { index: param, copies: stretch.u, walk: stretch.walk });
            }
            self.bind_wide(param, index, range);
            self.prepare_copies(g, part.body)?;
            self.prepare_slices(g, part, sinks)?;
            self.kernel_axis(g, plan, with, part, sinks, axis + 1, chunk)?;
            if is_vec {
                g.set_vec(None, 1, 1);
                g.comb = None;
            } else if jam.is_some() {
                g.pop_jam();
            }
            self.close();
            g.release(mark);
            if let Some(outer) = outer {
                self.b.end_for(&[]);
                self.leave_kernel_loop(outer);
            }
        }
        Ok(())
    }

    /// Computes and stores the cells of all copies.
    pub fn kernel_cells(&mut self, g: &mut Grid, part: &Part, sinks: &[Sink]) -> Result<()> {
        let yields = &self.func.regions[part.body].yields;
        let together = self.copies_together(g, part.body);
        if together > 1 {
            self.force_folds(g, part.body)?;
        }
        let in_operand = sinks.iter().any(|sink| matches!(sink, Sink::Slice { reused: Some(_), .. }));
        if in_operand && sinks.len() > 1 {
            return self.cells_in_operands(g, part, sinks);
        }
        for (sink, &v) in sinks.iter().zip(yields) {
            let Sink::Slice { elem, data, strides, .. } = sink else { continue };
            let offset = self.slice_offset(part, *elem, strides);
            let copies: Vec<(usize, usize)> = (0..g.j()).flat_map(|j| (0..g.u).map(move |u| (j, u))).collect();
            if let Some((_, elements)) = self.tuple_of(part.body, v) {
                let elements = elements.to_vec();
                for (j, u) in copies {
                    self.store_tuple(g, *elem, &elements, *data, &offset, j, u)?;
                }
                continue;
            }
            for group in copies.chunks(together) {
                let mut starts = Vec::new();
                for &(j, u) in group {
                    starts.push(self.b.position());
                    self.store_copy(g, *elem, v, *data, &offset, j, u)?;
                }
                if together > 1 {
                    self.b.interleave(&starts);
                }
            }
        }
        Ok(())
    }

    /// The same of several results in operands: what one stores another one might still have to load, for the same cell.
    fn cells_in_operands(&mut self, g: &mut Grid, part: &Part, sinks: &[Sink]) -> Result<()> {
        let yields = &self.func.regions[part.body].yields;
        let copies = (g.j(), g.u);
        for (j, u) in (0..copies.0).flat_map(|j| (0..copies.1).map(move |u| (j, u))) {
            for &v in yields {
                self.cell_of(g, v, j, u)?;
            }
            for (sink, &v) in sinks.iter().zip(yields) {
                let Sink::Slice { elem, data, strides, .. } = sink else { continue };
                let offset = self.slice_offset(part, *elem, strides);
                self.store_copy(g, *elem, v, *data, &offset, j, u)?;
            }
        }
        Ok(())
    }

    /// Computes the folds of a body for all copies.
    fn force_folds(&mut self, g: &mut Grid, body: Region) -> Result<()> {
        let func = self.func;
        for &inst in &func.regions[body].insts {
            if let (Op::With(_), Some(&result)) = (&func.insts[inst].op, func.insts[inst].results.first()) {
                self.cell_of(g, result, 0, 0)?;
            }
        }
        Ok(())
    }

    /// Notes a loop as one to outline unless it is inside such a loop; returns what to hand to [`Lower::leave_kernel_loop`].
    pub fn enter_kernel_loop(&mut self, index: Val) -> bool {
        let outermost = !self.kernel.in_kernel_loop;
        if outermost {
            self.kernel.kernel_loops.insert(index);
            self.kernel.in_kernel_loop = true;
        }
        outermost
    }

    pub fn leave_kernel_loop(&mut self, outermost: bool) {
        if outermost {
            self.kernel.in_kernel_loop = false;
        }
    }
}
