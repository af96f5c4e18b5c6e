//! Choosing a schedule for a kernel: the axis for lanes by estimated cycles per cell, then the size of register blocks.

use ravel_types::Elem;
use ravel_wir::{Generator, Inst, Op, Part, Region, Value, With};

use crate::cost::UNKNOWN_EXTENT;
use crate::grid::{Dep, Grid};
use crate::guards::Guard;
use crate::lower::Lower;
use crate::reduce::folds_along;
use crate::support::Refusal;
use crate::withloop::Sink;

/// Latency of an accumulation, in cycles: a block with fewer independent accumulations waits for it.
const ACCUMULATE_LATENCY: f64 = 4.0;
/// Vectors along an axis on which the bounds of folds depend: each is treated by itself.
const MASKED_VECTORS: i64 = 6;
/// Bytes of the narrowest vector that is used.
const LEAST_VECTOR: usize = 16;
/// Cells times cycles below which a kernel is not worth its set-up.
const LEAST_WORK: f64 = 24.0;

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
    pub jam: Option<usize>,
    pub j: usize,
    /// What must hold before the kernel runs.
    pub guards: Vec<Guard>,
}

impl KernelPlan {
    /// For `--explain`.
    pub fn describe(&self) -> String {
        let (place, u) = match self.vec {
            VecChoice::Axis { axis, u } => (format!("axis {axis}"), u),
            VecChoice::Fold { u } => ("the last axis of the fold".to_string(), u),
        };
        let vectors = if u == 1 { "vector" } else { "vectors" };
        let mut text = format!("{} lanes along {place}, {u} {vectors} per step", self.lanes);
        if let Some(jam) = self.jam {
            text.push_str(&format!(", {} copies of axis {jam} jammed", self.j));
        }
        if !self.guards.is_empty() {
            text.push_str(", checks made before");
        }
        text
    }
}

/// A load inside a fold: does it vary over lanes, and over a jam axis?
struct FoldLoad {
    vec: bool,
    jam: bool,
}

impl Lower<'_, '_> {
    /// Plans a partition of scalar cells.
    pub fn plan_kernel(&mut self, with: &With, part: &Part, sinks: &[Sink], chunked: bool) -> Result<KernelPlan, Refusal> {
        let func = self.func;
        let Generator::Known { lower, upper, step, .. } = &part.generator else {
            return Err("the rank is not known".to_string());
        };
        let params = &func.regions[part.body].params;
        if params.is_empty() {
            return Err("there is a single cell".to_string());
        }
        if step.as_ref().is_some_and(|s| s.iter().any(|v| self.const_i32(*v) != Some(1))) {
            return Err("the generator has steps".to_string());
        }
        self.set_ranges(with);
        let mut guards = Vec::new();
        self.supported(part.body, &mut guards)?;
        let bytes = self.kernel_width(part.body);
        let sizes = self.lane_sizes(bytes);
        if sizes.is_empty() {
            return Err("the target has no vectors".to_string());
        }
        let extents: Vec<Option<i64>> = (0..params.len())
            .map(|k| match (self.const_i32(lower[k]), self.const_i32(upper[k])) {
                (Some(l), Some(u)) if !(chunked && k == 0) => Some((u - l).max(0)),
                _ => None,
            })
            .collect();
        let cells = extents.iter().try_fold(1i64, |n, e| n.checked_mul((*e)?));
        let mut g = Grid::scalar(bytes);
        let scalar = self.region_cost(&mut g, part.body) + 1.0;
        if cells.is_some_and(|n| n as f64 * scalar < LEAST_WORK) {
            return Err("there is too little work".to_string());
        }
        let mut best = (scalar, None, 1);
        let choices = sizes.iter().flat_map(|lanes| params.iter().enumerate().map(|(axis, param)| (*lanes, axis, *param)));
        for (lanes, axis, param) in choices {
            if extents[axis].is_some_and(|n| n < i64::from(lanes)) {
                continue;
            }
            g.set_vec(Some(param), lanes, 1);
            if self.bounds_dep(&mut g, part.body).vec
                && !(extents[axis].is_some_and(|n| n <= MASKED_VECTORS * i64::from(lanes))
                    && self.can_mask(&mut g, part.body, param, (self.range[param]).unwrap_or((0, 0))))
            {
                continue;
            }
            let mut cost = self.region_cost(&mut g, part.body);
            for sink in sinks {
                if let Sink::Slice { elem, strides, .. } = sink {
                    let offset = self.slice_offset(part, *elem, strides);
                    let unit = g.packs(*elem) && *elem != Elem::Bool && self.lane_stride(&mut g, &offset, *elem) == Some(1);
                    cost += if unit { 1.0 } else { 2.0 * f64::from(lanes) };
                }
            }
            let n = extents[axis].unwrap_or(UNKNOWN_EXTENT);
            let steps = (n + i64::from(lanes) - 1) / i64::from(lanes);
            let per_cell = cost * steps as f64 / n as f64;
            if per_cell < best.0 * 0.95 {
                best = (per_cell, Some(VecChoice::Axis { axis, u: 1 }), lanes);
            }
        }
        g.set_vec(None, 1, 1);
        if self.folds_can_run_along(&mut g, part.body) && self.bounds_dep(&mut g, part.body) == Dep::default() {
            g.fold_u = 1;
            for &lanes in &sizes {
                g.fold_lanes = lanes;
                let cost = self.region_cost(&mut g, part.body) + 1.0;
                if cost < best.0 * 0.95 {
                    best = (cost, Some(VecChoice::Fold { u: 1 }), lanes);
                }
            }
            (g.fold_lanes, g.fold_u) = (0, 0);
        }
        let (_, Some(vec), lanes) = best else {
            return Err("no axis suits vector lanes".to_string());
        };
        let mut plan = self.size_blocks(&mut g, part, params, &extents, vec, lanes);
        plan.guards = guards;
        Ok(plan)
    }

    /// Plans a with-loop of scalar folds.
    pub fn plan_fold(&mut self, inst: Inst, with: &With) -> Result<KernelPlan, Refusal> {
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
        self.supported_fold(with, &mut guards)?;
        let bytes = with.parts.iter().map(|p| self.kernel_width(p.body)).max().unwrap_or(4);
        let mut refusal = "the target has no vectors".to_string();
        let mut best: Option<(f64, KernelPlan)> = None;
        for lanes in self.lane_sizes(bytes) {
            match self.plan_fold_lanes(inst, with, bytes, lanes) {
                Ok((cost, plan)) if best.as_ref().is_none_or(|(least, _)| cost < least * 0.95) => best = Some((cost, plan)),
                Ok(_) => {}
                Err(reason) => refusal = reason,
            }
        }
        match best {
            Some((_, plan)) => Ok(KernelPlan { guards, ..plan }),
            None => Err(refusal),
        }
    }

    /// Numbers of lanes worth considering for elements of this width, the largest first.
    fn lane_sizes(&self, bytes: usize) -> Vec<u8> {
        let most = self.cx.target.vector_bytes as usize / bytes;
        let least = LEAST_VECTOR / bytes;
        std::iter::successors(Some(most), |n| Some(n / 2)).take_while(|n| *n >= least).map(|n| n as u8).collect()
    }

    /// Plans lanes along the last axis of folds, with a given number of them; also the estimated cycles.
    fn plan_fold_lanes(&mut self, inst: Inst, with: &With, bytes: usize, lanes: u8) -> Result<(f64, KernelPlan), Refusal> {
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
            let one = self.region_cost(&mut g, part.body) + 1.0;
            scalar += outer as f64 * n as f64 * one;
            g.set_vec(Some(param), lanes, 1);
            let cost = self.region_cost(&mut g, part.body) + 1.0;
            let whole = n / i64::from(lanes);
            vector += outer as f64 * (whole as f64 * cost + (n % i64::from(lanes)) as f64 * one);
            steps = steps.saturating_add(whole);
        }
        if scalar < LEAST_WORK || vector + 8.0 > scalar {
            return Err("there is too little work for vector lanes".to_string());
        }
        let limit = (self.cx.target.vector_registers.saturating_sub(4) as usize / with.ops.len()).clamp(1, 8);
        let mut u = limit.min(steps.max(1) as usize).min(8);
        while u > 2 && steps > 0 && steps < 32 && steps % u as i64 != 0 {
            u -= 1;
        }
        Ok((vector, KernelPlan {
            vec: VecChoice::Fold { u },
            lanes,
            bytes,
            jam: None,
            j: 1,
            guards: Vec::new(),
        }))
    }

    fn fold_loads(&self, g: &mut Grid, region: Region, inside: bool, loads: &mut Vec<FoldLoad>, accs: &mut usize) {
        for &inst in &self.func.regions[region].insts {
            match &self.func.insts[inst].op {
                Op::With(with) => {
                    *accs = (*accs).max(with.ops.len());
                    for part in &with.parts {
                        let along = g.vec.is_none() && g.fold_u > 0;
                        if along {
                            g.set_vec(self.func.regions[part.body].params.last().copied(), g.fold_lanes, 1);
                        }
                        self.fold_loads(g, part.body, true, loads, accs);
                        if along {
                            g.set_vec(None, 1, 1);
                        }
                    }
                }
                Op::Sel { .. } if inside => {
                    let dep = self.dep(g, self.func.insts[inst].results[0]);
                    loads.push(FoldLoad { vec: dep.vec, jam: dep.jam });
                }
                _ => {}
            }
        }
    }

    fn size_blocks(
        &self,
        g: &mut Grid,
        part: &Part,
        params: &[Value],
        extents: &[Option<i64>],
        vec: VecChoice,
        lanes: u8,
    ) -> KernelPlan {
        let mut plan = KernelPlan {
            vec,
            lanes,
            bytes: g.bytes,
            jam: None,
            j: 1,
            guards: Vec::new(),
        };
        let vec_axis = match vec {
            VecChoice::Axis { axis, .. } => {
                g.set_vec(Some(params[axis]), lanes, 1);
                Some(axis)
            }
            VecChoice::Fold { .. } => {
                g.set_vec(None, 1, 1);
                (g.fold_u, g.fold_lanes) = (1, lanes);
                None
            }
        };
        let vectors = match vec_axis {
            Some(axis) => extents[axis].map(|n| (n + i64::from(lanes) - 1) / i64::from(lanes)),
            None => self.fold_vectors(part.body, lanes),
        };
        let masked = matches!(vec, VecChoice::Axis { .. }) && self.bounds_dep(g, part.body).vec;
        let registers = self.cx.target.vector_registers as usize;
        let mut choices = vec![(None, 1usize, Vec::new())];
        let mut accs = 0;
        let mut loads = Vec::new();
        self.fold_loads(g, part.body, false, &mut loads, &mut accs);
        choices[0].2 = loads;
        if accs > 0 {
            for axis in (0..params.len()).filter(|k| Some(*k) != vec_axis) {
                g.set_jam(Some(params[axis]), 2);
                let mut loads = Vec::new();
                self.fold_loads(g, part.body, false, &mut loads, &mut accs);
                let uneven = self.bounds_dep(g, part.body).jam;
                g.set_jam(None, 1);
                if uneven {
                    continue;
                }
                choices.push((Some(axis), 12, loads));
            }
        }
        let set_u = |plan: &mut KernelPlan, size: usize| match &mut plan.vec {
            VecChoice::Axis { u, .. } | VecChoice::Fold { u } => *u = size,
        };
        if accs == 0 {
            let most = if self.region_cost(g, part.body) > 30.0 { 2 } else { 4 };
            let u = match vectors {
                Some(n) => (1..=most).rev().find(|u| n % *u as i64 == 0).filter(|u| *u > 1).unwrap_or(most.min(n.max(1) as usize)),
                None => most,
            };
            set_u(&mut plan, u);
            return plan;
        }
        if let Some(n) = vectors.filter(|_| masked) {
            set_u(&mut plan, n.max(1) as usize);
        }
        let mut best = f64::INFINITY;
        for (axis, most, loads) in &choices {
            let along = axis.map_or(Some(1), |k| extents[k]);
            for j in 1..=*most {
                if along.is_some_and(|n| j as i64 > n) {
                    break;
                }
                for u in 1..=8usize {
                    // Under masks every vector has a place of its own.
                    if masked && vectors.is_some_and(|n| u as i64 != n) {
                        continue;
                    }
                    if vectors.is_some_and(|n| u as i64 > n.max(1)) || u * j * accs + u.min(j) + 1 > registers.max(8) {
                        break;
                    }
                    let block = |u: usize, j: usize| {
                        let fma = 0.5 * (u * j * accs) as f64;
                        let load: f64 = loads
                            .iter()
                            .map(|l| 0.5 * (if l.vec { u } else { 1 } * if l.jam { j } else { 1 }) as f64)
                            .sum();
                        fma.max(ACCUMULATE_LATENCY).max(load) + 0.1 * load + 0.2
                    };
                    let (n_vec, n_jam) = (vectors.unwrap_or(64).max(1) as usize, along.unwrap_or(64).max(1) as usize);
                    let row = |j: usize| {
                        let rest = n_vec % u;
                        (n_vec / u) as f64 * block(u, j) + if rest > 0 { block(rest, j) } else { 0.0 }
                    };
                    let cost = (n_jam / j) as f64 * row(j) + (n_jam % j) as f64 * row(1);
                    let cost = cost / n_jam as f64;
                    if cost < best * 0.999 {
                        best = cost;
                        set_u(&mut plan, u);
                        (plan.jam, plan.j) = (axis.filter(|_| j > 1), j);
                    }
                }
            }
        }
        plan
    }

    /// Vectors along the last axis of the longest fold, if constant.
    fn fold_vectors(&self, region: Region, lanes: u8) -> Option<i64> {
        let mut most = Some(0);
        for &inst in &self.func.regions[region].insts {
            let Op::With(with) = &self.func.insts[inst].op else { continue };
            for part in &with.parts {
                let Generator::Known { lower, upper, .. } = &part.generator else { return None };
                let (Some(l), Some(u)) = (lower.last(), upper.last()) else { return None };
                let n = self.const_i32(*u).zip(self.const_i32(*l)).map(|(u, l)| (u - l) / i64::from(lanes));
                most = most.zip(n).map(|(a, b)| a.max(b));
            }
        }
        most.map(|n| n.max(1))
    }
}
