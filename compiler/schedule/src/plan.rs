//! Choosing a schedule for a kernel: the axis for lanes by estimated cycles per cell, then the size of register blocks.

use std::collections::HashSet;

use ravel_wir::{Generator, Inst, Part, With};

use crate::cost::UNKNOWN_EXTENT;
use crate::crossing::crossing_cycles;
use crate::flat::Flat;
use crate::grid::{Dep, Grid};
use crate::guards::Guard;
use crate::lower::Lower;
use crate::reduce::folds_along;
use crate::shifted::Shift;
use crate::support::Refusal;
use crate::walk::Walk;
use crate::withloop::Sink;

/// Vectors along an axis for which the bounds of folds differ: each is treated by itself.
const UNEVEN_VECTORS: i64 = 12;
/// Vectors per step, or multiples of them, that may be needed for steps to begin where an index expression repeats its pattern.
const GRAINS: [usize; 3] = [1, 2, 4];
/// Indices of an axis at most whose steps may be written one by one.
const SEPARATE: i64 = 128;
/// Cycles of a store that leaves some lanes as they are, more than of another.
const BLEND: f64 = 1.5;
/// Lanes of the longest vector that the nest has.
const MOST_LANES: usize = 16;
/// Bytes of the narrowest vector that is used.
const LEAST_VECTOR: usize = 16;
/// Cells times cycles below which a kernel is not worth its set-up.
const LEAST_WORK: f64 = 24.0;

/// How many times as large another partition is beside which one is a border.
const BORDER_CELLS: i64 = 8;
/// What lanes may take of the cycles of scalar code there: a kernel is much code for few cells.
const BORDER_SHARE: f64 = 0.5;

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
    /// What must hold before the kernel runs.
    pub guards: Vec<Guard>,
    /// What lanes check in every step.
    pub checks: Vec<Inst>,
    /// Selections that lanes make under masks.
    pub masked: HashSet<Inst>,
}

impl KernelPlan {
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
        if !self.guards.is_empty() {
            text.push_str(", checks made before");
        }
        if !self.checks.is_empty() {
            text.push_str(", checks made by lanes");
        }
        if !self.masked.is_empty() {
            text.push_str(", loads under masks");
        }
        text
    }

    /// Do the steps along an axis depend on where it begins?
    pub fn is_fixed_along(&self, axis: usize) -> bool {
        let lanes = matches!(self.vec, VecChoice::Axis { axis: k, .. } if k == axis);
        lanes && (self.separate || self.even.is_some() || self.shift.is_some())
    }
}

impl Lower<'_, '_> {
    /// Plans a partition of scalar cells, in chunks along an axis or whole.
    pub fn plan_kernel(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        chunked: Option<usize>,
    ) -> Result<KernelPlan, Refusal> {
        let plan = self.plan_cells(with, part, sinks, chunked);
        self.masked_loads.clear();
        plan
    }

    fn plan_cells(
        &mut self,
        with: &With,
        part: &Part,
        sinks: &[Sink],
        chunked: Option<usize>,
    ) -> Result<KernelPlan, Refusal> {
        let func = self.func;
        let Generator::Known { lower, upper, .. } = &part.generator else {
            return Err("the rank is not known".to_string());
        };
        let params = &func.regions[part.body].params;
        if params.is_empty() {
            return Err("there is a single cell".to_string());
        }
        let Some(combs) = self.combs(part) else {
            return Err("the generator has steps that are not constant".to_string());
        };
        // Wider teeth suit lanes alone.
        let wide: Vec<usize> = (0..combs.len()).filter(|axis| combs[*axis].width > 1).collect();
        if wide.len() > 1 {
            return Err("the generator has widths along several axes".to_string());
        }
        self.set_ranges(with);
        let mut guards = Vec::new();
        let checks = self.undecided_checks(part.body);
        let masked = self.loads_under_masks(part.body);
        self.by_lanes = checks.iter().copied().collect();
        self.masked_loads.clone_from(&masked);
        let supported = self.supported_cells(part.body, &mut guards);
        self.by_lanes.clear();
        supported?;
        let bytes = self.kernel_width(part.body);
        let sizes = self.lane_sizes(bytes);
        if sizes.is_empty() {
            return Err("the target has no vectors".to_string());
        }
        let extents: Vec<Option<i64>> = (0..params.len())
            .map(|k| match (self.const_i32(lower[k]), self.const_i32(upper[k])) {
                (Some(l), Some(u)) if chunked != Some(k) => Some(match combs[k] {
                    comb if comb.is_dense() || comb.width > 1 => (u - l).max(0),
                    comb => ((u - l).max(0) + comb.step - 1) / comb.step,
                }),
                _ if self.alias[params[k]].is_some() => Some(1),
                _ => None,
            })
            .collect();
        let last = params.len() - 1;
        let flat = self.flat_rows(part, sinks, usize::from(sizes[0]), chunked);
        let mut extents = extents;
        if let Some(flat) = flat {
            let rows = extents[flat.rows];
            extents[flat.rows..last].fill(Some(1));
            extents[last] = rows.map(|n| n * flat.length);
        }
        let extents = extents;
        let cells = extents.iter().try_fold(1i64, |n, e| n.checked_mul((*e)?));
        let mut g = Grid::scalar(bytes);
        let crossing = self.crossing_loads(part, &extents);
        let scalar = self.region_cost(&mut g, part.body) + 1.0 + self.checks_cost(&checks, false);
        let scalar = scalar + crossing_cycles(&crossing, None);
        if cells.is_some_and(|n| n as f64 * scalar < LEAST_WORK) {
            return Err("there is too little work".to_string());
        }
        let is_border = self.is_border(with, part);
        let mut best = (if is_border { scalar * BORDER_SHARE } else { scalar }, None, 1, false);
        let choices =
            sizes.iter().flat_map(|lanes| params.iter().enumerate().map(|(axis, param)| (*lanes, axis, *param)));
        // Cells that are built in an operand are computed once.
        let overlap = !sinks.iter().any(|sink| matches!(sink, Sink::Slice { reused: Some(_), .. }));
        // Steps whose checks fail must not have changed what they read.
        let in_order = !overlap && !checks.is_empty();
        let teeth = |axis: usize, lanes: u8| {
            Some(combs[axis])
                .filter(|comb| !comb.is_dense())
                .map(|comb| (comb.vectors(i64::from(lanes)) as usize, false))
        };
        let grains = |axis: usize, lanes: u8| {
            GRAINS
                .iter()
                .map(|grain| (*grain, false))
                .chain([(1, true)])
                .chain(teeth(axis, lanes).filter(|t| !GRAINS.contains(&t.0)))
        };
        let choices =
            choices.flat_map(|(lanes, axis, param)| grains(axis, lanes).map(move |grain| (lanes, axis, param, grain)));
        for (lanes, axis, param, (grain, separate)) in choices {
            let comb = combs[axis];
            let spanned = extents[axis].map(|n| if comb.width > 1 { comb.span(n) } else { n * comb.step });
            if in_order && axis + 1 < params.len() {
                continue;
            }
            if spanned.is_some_and(|n| n < i64::from(lanes) * grain as i64) || wide.iter().any(|other| *other != axis) {
                continue;
            }
            g.set_vec(Some(param), lanes, 1);
            if !comb.is_dense() {
                let simple = overlap && extents[axis].is_some() && chunked != Some(axis);
                if separate
                    || !checks.is_empty()
                    || !masked.is_empty()
                    || grain as i64 != comb.vectors(i64::from(lanes))
                    || !self.can_comb(&mut g, part, axis, comb, simple)
                    || self.waits_for_stores(part, axis, sinks)
                {
                    continue;
                }
            }
            let start = self.const_i32(lower[axis]).filter(|_| chunked != Some(axis));
            if separate
                && (flat.is_some()
                    || start.is_none()
                    || extents[axis].is_none_or(|n| n > SEPARATE || n % i64::from(lanes) != 0))
            {
                continue;
            }
            g.walk = Walk { start, grain: i64::from(lanes) * grain as i64, trips: separate.then_some(1) };
            if self.bounds_dep(&mut g, part.body).vec
                && (!checks.is_empty() || self.uneven_plan(&mut g, part, axis, extents[axis]).is_none())
            {
                continue;
            }
            let mut cost = self.region_cost(&mut g, part.body) + self.checks_cost(&checks, true);
            cost += crossing_cycles(&crossing, Some((axis, lanes)));
            for (sink, cell) in sinks.iter().zip(&func.regions[part.body].yields) {
                if let Sink::Slice { elem, strides, .. } = sink {
                    let offset = self.slice_offset(part, *elem, strides);
                    if let Some(count) = self.tuple_of(part.body, *cell).map(|tuple| tuple.1.len()) {
                        let woven = self.weaves(&mut g, *elem, &offset, count, 0, 0);
                        cost += count as f64 * if woven { count as f64 } else { 2.0 * f64::from(lanes) };
                        continue;
                    }
                    let unit = g.packs(*elem) && self.is_contiguous(&mut g, &offset, *elem, 0, 0);
                    let blended = if comb.is_dense() { 0.0 } else { BLEND };
                    cost += if unit { 1.0 + blended } else { 2.0 * f64::from(lanes) };
                }
            }
            let n = extents[axis].unwrap_or(UNKNOWN_EXTENT);
            let spanned = spanned.unwrap_or(UNKNOWN_EXTENT * comb.step);
            let steps = (spanned + i64::from(lanes) - 1) / i64::from(lanes);
            let mut per_cell = cost * steps as f64 / n as f64;
            if let (true, Some(l), Some(u)) =
                (chunked == Some(axis), self.const_i32(lower[axis]), self.const_i32(upper[axis]))
            {
                // What the last chunk has beyond whole vectors is computed one by one.
                let rest = (u - l).max(0) % i64::from(lanes);
                per_cell += scalar * rest as f64 / (u - l).max(1) as f64;
            }
            if per_cell < best.0 * 0.95 {
                best = (per_cell, Some(VecChoice::Axis { axis, u: grain }), lanes, separate);
            }
        }
        g.set_vec(None, 1, 1);
        if wide.is_empty()
            && self.folds_can_run_along(&mut g, part.body)
            && self.bounds_dep(&mut g, part.body) == Dep::default()
        {
            g.fold_u = 1;
            for &lanes in &sizes {
                g.fold_lanes = lanes;
                let cost = self.region_cost(&mut g, part.body) + 1.0 + self.checks_cost(&checks, true);
                if cost < best.0 * 0.95 {
                    best = (cost, Some(VecChoice::Fold { u: 1 }), lanes, false);
                }
            }
            (g.fold_lanes, g.fold_u) = (0, 0);
        }
        let (_, Some(vec), lanes, separate) = best else {
            return Err(if is_border {
                "it is a border, and no axis suits vector lanes well"
            } else {
                "no axis suits vector lanes"
            }
            .to_string());
        };
        let mut plan = KernelPlan {
            vec,
            lanes,
            bytes,
            jams: Vec::new(),
            separate,
            even: None,
            shift: None,
            flat,
            guards,
            checks,
            masked,
        };
        if let VecChoice::Axis { axis, u: grain } = vec {
            g.set_vec(Some(params[axis]), lanes, 1);
            if self.bounds_dep(&mut g, part.body).vec {
                plan.even = self.uneven_plan(&mut g, part, axis, extents[axis]);
            }
            let start = self.const_i32(lower[axis]).filter(|_| chunked != Some(axis));
            g.walk = Walk { start, grain: i64::from(lanes) * grain as i64, trips: separate.then_some(1) };
        }
        let mut spanned = extents;
        if let VecChoice::Axis { axis, .. } = vec
            && combs[axis].width == 1
        {
            spanned[axis] = spanned[axis].map(|n| n * combs[axis].step);
        }
        if !is_border {
            self.size_blocks(&mut g, part, &spanned, &mut plan);
        }
        // Loads under masks are shared by copies that take the same branches only.
        if in_order || !plan.masked.is_empty() {
            plan.jams.clear();
        }
        if !is_border && plan.checks.is_empty() && combs.iter().all(|comb| comb.is_dense()) {
            self.plan_shift(&mut g, part, &spanned, &mut plan);
        }
        Ok(plan)
    }

    /// Whether a partition is small beside another one of the with-loop.
    fn is_border(&self, with: &With, part: &Part) -> bool {
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
    fn uneven_plan(&self, g: &mut Grid, part: &Part, axis: usize, extent: Option<i64>) -> Option<(i64, i64)> {
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

    /// Plans a with-loop of scalar folds.
    pub fn plan_fold(&mut self, inst: Inst, with: &With) -> Result<KernelPlan, Refusal> {
        let plan = self.plan_scalar_folds(inst, with);
        self.masked_loads.clear();
        plan
    }

    fn plan_scalar_folds(&mut self, inst: Inst, with: &With) -> Result<KernelPlan, Refusal> {
        let func = self.func;
        if with.ops.is_empty() {
            return Err("it only checks".to_string());
        }
        self.set_ranges(with);
        if with.ops.iter().any(|op| folds_along(op).is_none()) {
            return Err("the fold must keep its order".to_string());
        }
        if func.insts[inst].results.iter().any(|v| !func.ty(*v).is_scalar() || self.is_object(*v)) {
            return Err("the accumulator is an array".to_string());
        }
        let mut guards = Vec::new();
        let checks: Vec<Inst> = with.parts.iter().flat_map(|part| self.undecided_checks(part.body)).collect();
        let masked: HashSet<Inst> = with.parts.iter().flat_map(|part| self.loads_under_masks(part.body)).collect();
        self.by_lanes = checks.iter().copied().collect();
        self.masked_loads.clone_from(&masked);
        let supported = self.supported_fold(with, &mut guards);
        self.by_lanes.clear();
        supported?;
        let bytes = with.parts.iter().map(|p| self.kernel_width(p.body)).max().unwrap_or(4);
        let mut refusal = "the target has no vectors".to_string();
        let mut best: Option<(f64, KernelPlan)> = None;
        for lanes in self.lane_sizes(bytes) {
            match self.plan_fold_lanes(inst, with, &checks, (bytes, lanes)) {
                Ok((cost, plan)) if best.as_ref().is_none_or(|(least, _)| cost < least * 0.95) => {
                    best = Some((cost, plan))
                }
                Ok(_) => {}
                Err(reason) => refusal = reason,
            }
        }
        match best {
            Some((_, plan)) => Ok(KernelPlan { guards, checks, masked, ..plan }),
            None => Err(refusal),
        }
    }

    /// Numbers of lanes worth considering for elements of this width, the largest first.
    fn lane_sizes(&self, bytes: usize) -> Vec<u8> {
        let most = (self.cx.target.vector_bytes as usize / bytes).min(MOST_LANES);
        let least = LEAST_VECTOR / bytes.max(4);
        std::iter::successors(Some(most), |n| Some(n / 2)).take_while(|n| *n >= least).map(|n| n as u8).collect()
    }

    /// Plans lanes along the last axis of folds, with a given number of them; also the estimated cycles.
    fn plan_fold_lanes(
        &mut self,
        inst: Inst,
        with: &With,
        checks: &[Inst],
        (bytes, lanes): (usize, u8),
    ) -> Result<(f64, KernelPlan), Refusal> {
        let func = self.func;
        let (mut scalar, mut vector, mut steps) = (0.0, 0.0, 0i64);
        let mut g = Grid::scalar(bytes);
        for part in &with.parts {
            let Some(&param) = func.regions[part.body].params.last() else {
                return Err("there is a single cell".to_string());
            };
            let elem_packs = func.insts[inst].results.iter().all(|v| g.packs(self.elem(*v)));
            if !elem_packs {
                return Err("the accumulator does not fill a lane".to_string());
            }
            if !self.can_run_along(&mut g, part.body, param) {
                return Err("the bounds of inner folds vary over the last axis".to_string());
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
        if scalar < LEAST_WORK || vector + 8.0 > scalar {
            return Err("there is too little work for vector lanes".to_string());
        }
        let limit = (self.cx.target.vector_registers.saturating_sub(4) as usize / with.ops.len()).clamp(1, 8);
        let copies = with.parts.iter().filter_map(|part| self.loop_copies(&mut g, part.body)).min();
        let limit = limit.min(copies.unwrap_or(limit));
        let mut u = limit.min(steps.max(1) as usize).min(8);
        while u > 2 && steps > 0 && steps < 32 && steps % u as i64 != 0 {
            u -= 1;
        }
        Ok((
            vector,
            KernelPlan {
                vec: VecChoice::Fold { u },
                lanes,
                bytes,
                jams: Vec::new(),
                separate: false,
                even: None,
                shift: None,
                flat: None,
                guards: Vec::new(),
                checks: Vec::new(),
                masked: HashSet::new(),
            },
        ))
    }
}
