//! Choosing a schedule for a kernel: lanes first ([`crate::plan::lanes`]), then the register block, then how folds that differ by lanes are done.

pub mod append;
pub mod blocks;
pub mod border_fusion;
pub mod chunks;
pub mod collapse;
pub mod collapsed_rows;
pub mod dead_stores;
pub mod device;
pub mod find_epilogue;
pub mod lanes;
pub mod masked_bounds;
pub mod partials;
pub mod reduction_chains;
pub mod row_crossing;
pub mod rows_in_place;
pub mod shifted_accumulators;
pub mod skip;
pub mod strategy;
pub mod tile;
pub mod work_sharing;

use ravel_wir::{Generator, Inst, Part, Value, With, WithOp};

use crate::facts::{Facts, Grid, Measures, Refusal, Shift, Sink, folds_along};
use crate::plan::collapsed_rows::Flat;
use crate::plan::lanes::{CLEARLY_LESS, Cells, Lanes};

/// Vectors along an axis for which the bounds of folds differ: each is treated by itself.
const UNEVEN_VECTORS: i64 = 12;
/// Cells times cycles below which a kernel is not worth its set-up.
pub(crate) const LEAST_WORK: f64 = 24.0;

/// Vectors per step at most where cells go to folds and to arrays: what is stored stays in registers until all of a step are added.
const MIXED_VECTORS: usize = 4;

/// How many times as large another partition is beside which one is a border.
const BORDER_CELLS: i64 = 8;

/// Where lanes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VecChoice {
    /// Along an axis of the partition, in steps of `u` vectors.
    Axis { axis: usize, u: usize },
    /// Along the last axis of the folds in the body.
    Fold { u: usize },
}

/// A schedule for one partition.
#[derive(Clone, Debug)]
pub(crate) struct KernelPlan {
    pub vec: VecChoice,
    pub lanes: u8,
    /// Width of packed elements.
    pub bytes: usize,
    /// Axes with several copies per step, and how many, outermost first.
    pub jams: Vec<(usize, usize)>,
    /// Whether the steps along the vector axis are written one by one, so that all indices are known in each.
    pub separate: bool,
    /// Where the bounds of folds vary over the vector axis: the indices along it that have the same.
    pub even: Option<(i64, i64)>,
    /// Accumulators at shifted places instead of masks.
    pub shift: Option<Shift>,
    /// Rows that are walked as one axis.
    pub flat: Option<Flat>,
    pub measures: Measures,
}

impl KernelPlan {
    fn new(vec: VecChoice, (lanes, bytes): (u8, usize), measures: Measures) -> KernelPlan {
        let (jams, separate) = (Vec::new(), false);
        KernelPlan { vec, lanes, bytes, jams, separate, even: None, shift: None, flat: None, measures }
    }

    /// For `--explain`.
    pub fn describe(&self) -> String {
        let (place, u) = match self.vec {
            VecChoice::Axis { axis, u } => match self.flat {
                Some(flat) if axis > flat.rows => (format!("axes {} to {axis} as one", flat.rows), u),
                _ => (format!("axis {axis}"), u),
            },
            VecChoice::Fold { u } => ("the last axis of the fold".to_string(), u),
        };
        let vectors = if u == 1 { "vector" } else { "vectors" };
        let mut text = format!("{} lanes along {place}, {u} {vectors} per step", self.lanes);
        for (axis, copies) in &self.jams {
            text.push_str(&format!(", {copies} copies of axis {axis} jammed"));
        }
        if self.shift.is_some() {
            text.push_str(", sums shifted where folds are shorter");
        } else if self.even.is_some() {
            text.push_str(", masks where folds are shorter");
        }
        if !self.measures.guards.is_empty() {
            text.push_str(", checks made before");
        }
        if !self.measures.by_lanes.is_empty() {
            text.push_str(", checks made by lanes");
        }
        if !self.measures.masked.is_empty() {
            text.push_str(", loads under masks");
        }
        text
    }

    /// One copy of a body, with what holds for all steps of the kernel.
    pub fn grid(&self) -> Grid {
        let mut g =
            Grid { shift: self.shift.clone(), masked: self.measures.masked.clone(), ..Grid::scalar(self.bytes) };
        if let VecChoice::Fold { u } = self.vec {
            (g.fold_u, g.fold_lanes) = (u, self.lanes);
        }
        g
    }

    /// Do the steps along an axis depend on where it begins?
    pub fn is_fixed_along(&self, axis: usize) -> bool {
        let lanes = matches!(self.vec, VecChoice::Axis { axis: k, .. } if k == axis);
        lanes && (self.separate || self.even.is_some() || self.shift.is_some())
    }
}

impl Facts<'_> {
    /// Whether a partition is small beside another one of the with-loop.
    pub fn is_border(&self, with: &With, part: &Part) -> bool {
        let most = with.parts.iter().map(|part| self.constant_cells(part)).max().flatten();
        self.constant_cells(part).zip(most).is_some_and(|(cells, most)| cells.saturating_mul(BORDER_CELLS) <= most)
    }

    /// Cells of a partition with constant bounds.
    pub fn constant_cells(&self, part: &Part) -> Option<i64> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        lower
            .iter()
            .zip(upper)
            .try_fold(1i64, |n, (l, u)| n.checked_mul((self.const_i32(*u)? - self.const_i32(*l)?).max(0)))
    }

    /// The stretch of the vector axis where folds need no masks, if masks are possible elsewhere and the rest is short.
    pub fn uneven_plan(&self, g: &mut Grid, part: &Part, axis: usize, extent: Option<i64>) -> Option<(i64, i64)> {
        let Generator::Known { lower, .. } = &part.generator else { return None };
        let param = self.func.regions[part.body].params[axis];
        let (low, lanes) = (self.const_i32(lower[axis])?, i64::from(g.lanes));
        let high = low + extent?;
        if !self.can_mask(g, part.body, param, (low, high - 1)) {
            return None;
        }
        let even = self.even_run(g, part.body, param, low, high)?;
        let vectors = |n: i64| (n + lanes - 1) / lanes;
        let uneven = vectors(even.0 - low) + vectors(high - even.1);
        (uneven.min(vectors(high - low)) <= UNEVEN_VECTORS).then_some(even)
    }

    /// Plans a partition of scalar cells, in chunks along an axis or whole.
    pub fn plan_kernel(
        &self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        chunked: Option<usize>,
    ) -> Result<KernelPlan, Refusal> {
        self.plan_examined(&self.examine_cells(with, part, sinks, chunked)?)
    }

    /// Plans a partition of scalar cells, in chunks of elements.
    pub fn plan_elements(
        &self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        extents: &[i64],
    ) -> Result<KernelPlan, Refusal> {
        self.plan_examined(&self.examine_elements(with, part, sinks, extents)?)
    }

    fn plan_examined(&self, cells: &Cells) -> Result<KernelPlan, Refusal> {
        let mut g = Grid { masked: cells.measures.masked.clone(), ..Grid::scalar(cells.bytes) };
        let Lanes { vec, lanes, separate, .. } = self.choose_lanes(&mut g, cells)?;
        let measures = cells.measures.clone();
        let mut plan =
            KernelPlan { separate, flat: cells.flat, ..KernelPlan::new(vec, (lanes, cells.bytes), measures) };
        self.choose_block(&mut g, cells, &mut plan);
        Ok(plan)
    }

    /// The register block of a step with given lanes, and how it treats folds whose bounds vary over them.
    fn choose_block(&self, g: &mut Grid, cells: &Cells, plan: &mut KernelPlan) {
        let part = cells.part;
        let mut spanned = cells.extents.clone();
        if let VecChoice::Axis { axis, u: grain } = plan.vec {
            g.set_vec(Some(cells.params[axis]), plan.lanes, 1);
            if self.bounds_dep(g, part.body).vec {
                plan.even = self.uneven_plan(g, part, axis, cells.extents[axis]);
            }
            g.walk = cells.walk(axis, plan.lanes, grain, plan.separate);
            if cells.combs[axis].width == 1 {
                spanned[axis] = spanned[axis].map(|n| n * cells.combs[axis].step);
            }
        }
        if !cells.is_border {
            self.size_blocks(g, part, &spanned, plan);
        }
        // Loads under masks are shared by copies that take the same branches only.
        if cells.is_in_order() || !plan.measures.masked.is_empty() {
            plan.jams.clear();
        }
        if !cells.is_border && plan.measures.by_lanes.is_empty() && cells.combs.iter().all(|comb| comb.is_dense()) {
            self.plan_shift(g, part, &spanned, plan);
        }
    }

    /// Plans a with-loop of scalar folds.
    pub fn plan_fold(&self, inst: Inst, with: &With) -> Result<KernelPlan, Refusal> {
        self.plan_scalar_folds(inst, with, &with.parts, 8)
    }

    /// Plans a partition whose cells go to scalar folds and to arrays.
    pub fn plan_mixed(&self, inst: Inst, with: &With, part: &Part, sinks: &[Sink]) -> Result<KernelPlan, Refusal> {
        let cells = self.func.regions[part.body].yields.iter();
        for (sink, cell) in sinks.iter().zip(cells) {
            if matches!(sink, Sink::Slice { .. }) && !self.is_kernel_cell(part.body, sink, *cell) {
                return Err(Refusal::BuildsArrays);
            }
        }
        self.plan_scalar_folds(inst, with, std::slice::from_ref(part), MIXED_VECTORS)
    }

    /// Plans lanes for the scalar folds of some partitions, in steps of so many vectors at most.
    fn plan_scalar_folds(&self, inst: Inst, with: &With, parts: &[Part], most: usize) -> Result<KernelPlan, Refusal> {
        let func = self.func;
        let folds: Vec<(&WithOp, Value)> =
            with.ops.iter().zip(func.insts[inst].results.iter().copied()).filter(|(op, _)| is_fold(op)).collect();
        if folds.iter().any(|(op, _)| folds_along(op).is_none()) {
            return Err(Refusal::OrderedFold);
        }
        if folds.iter().any(|(_, v)| !func.ty(*v).is_scalar() || self.is_object(*v)) {
            return Err(Refusal::ArrayAccumulator);
        }
        let mut measures = self.measures_for(parts);
        self.supported_folds(with.ordered, folds.iter().map(|fold| fold.0), parts, &mut measures)?;
        let bytes = parts.iter().map(|p| self.kernel_width(p.body)).max().unwrap_or(4);
        let mut refusal = Refusal::NoVectors;
        let mut best: Option<(f64, KernelPlan)> = None;
        for lanes in self.lane_sizes(bytes) {
            match self.plan_fold_lanes(&folds, parts, &measures, (bytes, lanes, most)) {
                Ok((cost, plan)) if best.as_ref().is_none_or(|(least, _)| cost < least * CLEARLY_LESS) => {
                    best = Some((cost, plan))
                }
                Ok(_) => {}
                Err(reason) => refusal = reason,
            }
        }
        match best {
            Some((_, plan)) => Ok(plan),
            None => Err(refusal),
        }
    }

    /// Plans lanes along the last axis of folds, with a given number of them; also the estimated cycles.
    fn plan_fold_lanes(
        &self,
        folds: &[(&WithOp, Value)],
        parts: &[Part],
        measures: &Measures,
        (bytes, lanes, most): (usize, u8, usize),
    ) -> Result<(f64, KernelPlan), Refusal> {
        let func = self.func;
        let (mut scalar, mut vector, mut steps) = (0.0, 0.0, 0i64);
        let checks = &measures.by_lanes;
        let mut g = Grid { masked: measures.masked.clone(), ..Grid::scalar(bytes) };
        for part in parts {
            let Some(&param) = func.regions[part.body].params.last() else {
                return Err(Refusal::SingleCell);
            };
            let elem_packs = folds.iter().all(|(_, v)| g.packs(self.elem(*v)));
            if !elem_packs {
                return Err(Refusal::NarrowAccumulator);
            }
            if !self.can_run_along(&mut g, part.body, param) {
                return Err(Refusal::VaryingInnerBounds);
            }
            let (outer, n) = self.trips(part);
            g.set_vec(None, 1, 1);
            let one = self.region_cost(&mut g, part.body) + 1.0 + self.checks_cost(checks, false);
            scalar += outer as f64 * n as f64 * one;
            g.set_vec(Some(param), lanes, 1);
            let cost = self.region_cost(&mut g, part.body) + 1.0 + self.checks_cost(checks, true);
            let whole = n / i64::from(lanes);
            vector += outer as f64 * (whole as f64 * cost + (n % i64::from(lanes)) as f64 * one);
            steps = steps.saturating_add(whole);
        }
        if scalar < LEAST_WORK {
            return Err(Refusal::LittleWorkForLanes);
        }
        if vector + 8.0 > scalar {
            let divides = parts.iter().any(|part| self.is_slow_in_lanes(part.body));
            return Err(if divides { Refusal::AsLongDivisions } else { Refusal::AsLong });
        }
        let limit = (self.target.vector_registers.saturating_sub(4) as usize / folds.len()).clamp(1, most);
        let copies = parts.iter().filter_map(|part| self.loop_copies(&mut g, part.body)).min();
        let limit = limit.min(copies.unwrap_or(limit));
        let mut u = limit.min(steps.max(1) as usize).min(most);
        while u > 2 && steps > 0 && steps < 32 && steps % u as i64 != 0 {
            u -= 1;
        }
        Ok((vector, KernelPlan::new(VecChoice::Fold { u }, (lanes, bytes), measures.clone())))
    }
}

fn is_fold(op: &WithOp) -> bool {
    matches!(op, WithOp::Fold { .. })
}
