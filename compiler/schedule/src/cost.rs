//! Choosing a schedule: estimated cycles per cell for every axis that lanes could run along, then the size of register blocks.

use ravel_types::{BinOp, Elem, UnOp};
use ravel_wir::{Combine, Generator, Inst, InstData, Op, Part, Region, Value, With, WithOp};
use std::collections::HashSet;

use crate::grid::{Dep, Grid, has_vector_form, is_speculable};
use crate::guards::Guard;
use crate::lower::Lower;
use crate::reduce::folds_along;
use crate::scalars::prim_of;
use crate::withloop::Sink;

/// Extent assumed where none is known.
const UNKNOWN_EXTENT: i64 = 48;
/// Cycles of a function of the C library.
const LIBRARY_CALL: f64 = 30.0;
/// Latency of an accumulation, in cycles: a block with fewer independent accumulations waits for it.
const ACCUMULATE_LATENCY: f64 = 4.0;
/// Vectors along an axis on which the bounds of folds depend: each is treated by itself.
const MASKED_VECTORS: i64 = 6;
/// Bytes that a vector load may touch beyond either end of an array: headers and padding have at least these.
const OVERREAD_BYTES: i64 = 64;
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
        let mut text = format!("{} lanes along {place}, {u} vectors per step", self.lanes);
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

type Refusal = String;

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
        let lanes = (self.cx.target.vector_bytes as usize / bytes).max(1) as u8;
        if lanes == 1 {
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
        let mut best = (scalar, None);
        for (axis, &param) in params.iter().enumerate() {
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
                best = (per_cell, Some(VecChoice::Axis { axis, u: 1 }));
            }
        }
        g.set_vec(None, 1, 1);
        if self.folds_can_run_along(part.body) && self.bounds_dep(&mut g, part.body) == Dep::default() {
            g.fold_lanes = lanes;
            g.fold_u = 1;
            let cost = self.region_cost(&mut g, part.body) + 1.0;
            if cost < best.0 * 0.95 {
                best = (cost, Some(VecChoice::Fold { u: 1 }));
            }
            (g.fold_lanes, g.fold_u) = (0, 0);
        }
        let Some(vec) = best.1 else {
            return Err("no axis suits vector lanes".to_string());
        };
        let mut plan = self.size_blocks(&mut g, part, params, &extents, vec, lanes);
        plan.guards = guards;
        Ok(plan)
    }

    /// Plans a with-loop of scalar folds.
    pub fn plan_fold(&mut self, inst: Inst, with: &With) -> Result<KernelPlan, Refusal> {
        let func = self.func;
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
        let lanes = (self.cx.target.vector_bytes as usize / bytes).max(1) as u8;
        if lanes == 1 {
            return Err("the target has no vectors".to_string());
        }
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
        Ok(KernelPlan { vec: VecChoice::Fold { u }, lanes, bytes, jam: None, j: 1, guards })
    }

    /// Index ranges of all partitions in a with-loop and below it, which forms and checks rely on.
    pub fn set_ranges(&mut self, with: &With) {
        for part in &with.parts {
            if let Generator::Known { lower, upper, .. } = &part.generator {
                for (k, &param) in self.func.regions[part.body].params.iter().enumerate() {
                    self.range[param] = Some(self.axis_range(with, lower[k], upper[k]));
                    self.lower_of[param] = Some(lower[k]);
                    self.upper_of[param] = Some(upper[k]);
                    if self.is_successor(lower[k], upper[k]) {
                        self.alias[param] = Some(lower[k]);
                    }
                }
            }
            for &inst in &self.func.regions[part.body].insts {
                if let Op::With(inner) = &self.func.insts[inst].op {
                    self.set_ranges(inner);
                }
            }
        }
    }

    /// Product of the outer extents and the extent of the last axis, guessed where unknown.
    fn trips(&self, part: &Part) -> (i64, i64) {
        let Generator::Known { lower, upper, .. } = &part.generator else { return (1, UNKNOWN_EXTENT) };
        let extents: Vec<i64> = lower
            .iter()
            .zip(upper)
            .map(|(l, u)| {
                if self.is_successor(*l, *u) {
                    return 1;
                }
                let widest = self.bounds(*u).1 - self.bounds(*l).0;
                if widest < 1 << 20 { widest.max(0) } else { UNKNOWN_EXTENT }
            })
            .collect();
        match extents.split_last() {
            Some((last, outer)) => (outer.iter().fold(1i64, |n, e| n.saturating_mul(*e)), *last),
            None => (1, 1),
        }
    }

    // What kernels can do.

    fn supported(&self, region: Region, guards: &mut Vec<Guard>) -> Result<(), Refusal> {
        let func = self.func;
        for v in &func.regions[region].yields {
            if !func.ty(*v).is_scalar() || self.is_object(*v) {
                return Err("cells are arrays".to_string());
            }
        }
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            match &data.op {
                Op::Const(_) | Op::Un(..) | Op::Bin(..) | Op::Convert(_) => {}
                Op::Opaque(v) if func.ty(*v).is_scalar() && !self.is_object(*v) => {}
                Op::Select { then, .. } if func.ty(*then).is_scalar() && !self.is_object(*then) => {}
                Op::Extent { array, .. } if self.has_val(*array) => {}
                Op::Native { symbol, args, .. } if args.len() == 1 && crate::natives::math_op(symbol).is_some() => {}
                Op::Sel { array, index } => {
                    if !self.has_val(*array) {
                        return Err("the body selects from an array of its own".to_string());
                    }
                    if func.ty(*array).rank() != Some(index.len()) || self.elem(*array) == Elem::Handle {
                        return Err("the body selects sub-arrays".to_string());
                    }
                }
                Op::If { then, els, .. } => {
                    for region in [*then, *els] {
                        let pure = func.regions[region].insts.iter().all(|inst| is_speculable(&func.insts[*inst].op));
                        let scalar = func.regions[region].yields.iter().all(|v| func.ty(*v).is_scalar() && !self.is_object(*v));
                        if !pure || !scalar {
                            return Err("the body branches around loads or loops".to_string());
                        }
                    }
                }
                Op::With(with) => self.supported_fold(with, guards)?,
                Op::Check { .. } if self.cx.options.unchecked && !matches!(&data.op, Op::Check { fault: ravel_wir::Fault::Division, .. }) => {}
                Op::Check { cond, .. } if self.guards_of(*cond, guards, 8) => {}
                Op::Check { .. } => return Err("the body has checks that are not proven".to_string()),
                _ => return Err("the body builds arrays or calls functions".to_string()),
            }
        }
        Ok(())
    }

    fn supported_fold(&self, with: &With, guards: &mut Vec<Guard>) -> Result<(), Refusal> {
        if with.ordered {
            return Err("the body has effects".to_string());
        }
        for op in &with.ops {
            match op {
                WithOp::Fold { combine: Combine::Op(op), neutral, .. } => {
                    if op.is_comparison() || op.needs_nonzero() && !self.elem(*neutral).is_float() {
                        return Err("an unusual fold".to_string());
                    }
                }
                WithOp::Fold { .. } => return Err("a fold has a function of its own".to_string()),
                _ => return Err("the body builds arrays".to_string()),
            }
        }
        for part in &with.parts {
            let Generator::Known { step, .. } = &part.generator else {
                return Err("the rank of a fold is not known".to_string());
            };
            if step.as_ref().is_some_and(|s| s.iter().any(|v| self.const_i32(*v) != Some(1))) {
                return Err("a fold has steps".to_string());
            }
            self.supported(part.body, guards)?;
        }
        Ok(())
    }

    /// May lanes run along the last axis of every fold of the body?
    fn folds_can_run_along(&self, region: Region) -> bool {
        let mut any = false;
        for &inst in &self.func.regions[region].insts {
            let Op::With(with) = &self.func.insts[inst].op else { continue };
            any = true;
            let ranked = with.parts.iter().all(|p| {
                self.func.regions[p.body].params.last().is_some_and(|last| self.alias[*last].is_none())
            });
            if !ranked || !with.ops.iter().all(|op| folds_along(op).is_some()) {
                return false;
            }
        }
        any
    }

    /// Width of the elements that fill the lanes.
    fn kernel_width(&self, region: Region) -> usize {
        let mut seen = [false; 3];
        ravel_wir::traverse::walk(self.func, region, &mut |_, inst| {
            for &v in &self.func.insts[inst].results {
                match self.elem(v) {
                    Elem::F64 => seen[0] = true,
                    Elem::F32 => seen[1] = true,
                    Elem::I64 | Elem::U64 => seen[2] = true,
                    _ => {}
                }
            }
        });
        if seen[0] || (!seen[1] && seen[2]) { 8 } else { 4 }
    }

    /// Does the condition of a check hold whatever the indices are?
    pub fn proven(&self, cond: Value, depth: u32) -> bool {
        let Some(inst) = self.live.def(cond).filter(|_| depth > 0) else { return false };
        match &self.func.insts[inst].op {
            Op::Const(scalar) => scalar.as_bool() == Some(true),
            Op::Bin(BinOp::And | BinOp::Mul, a, b) => self.proven(*a, depth - 1) && self.proven(*b, depth - 1),
            Op::Bin(op, a, b) if self.elem(*a) == Elem::I32 => {
                let ((low_a, high_a), (low_b, high_b)) = (self.bounds(*a), self.bounds(*b));
                match op {
                    BinOp::Ge => low_a >= high_b,
                    BinOp::Gt => low_a > high_b,
                    BinOp::Le => high_a <= low_b,
                    BinOp::Lt => high_a < low_b || self.index_below(*a, *b),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Is `index` a generator's index whose upper bound is at most `extent`?
    fn index_below(&self, index: Value, extent: Value) -> bool {
        self.upper_of[index].is_some_and(|upper| self.same_scalar(upper, extent))
    }

    /// What the bounds of folds in a body vary over.
    fn bounds_dep(&self, g: &mut Grid, region: Region) -> Dep {
        let mut dep = Dep::default();
        for &inst in &self.func.regions[region].insts {
            let Op::With(with) = &self.func.insts[inst].op else { continue };
            for part in &with.parts {
                if let Generator::Known { lower, upper, .. } = &part.generator {
                    for (k, &param) in self.func.regions[part.body].params.iter().enumerate() {
                        if self.alias[param].is_none() {
                            dep = dep.or(self.dep(g, lower[k])).or(self.dep(g, upper[k]));
                        }
                    }
                }
                dep = dep.or(self.bounds_dep(g, part.body));
            }
        }
        dep
    }

    /// May folds whose bounds vary over the vector axis be computed under masks? Their bounds must follow from the index alone, and
    /// what lanes outside of them load must not lie far outside of the array.
    fn can_mask(&self, g: &mut Grid, region: Region, param: Value, range: (i64, i64)) -> bool {
        for &inst in &self.func.regions[region].insts {
            let Op::With(with) = &self.func.insts[inst].op else { continue };
            for part in &with.parts {
                let Generator::Known { lower, upper, .. } = &part.generator else { return false };
                let mut masked = vec![param];
                for (k, &index) in self.func.regions[part.body].params.iter().enumerate() {
                    if self.alias[index].is_some() {
                        continue;
                    }
                    if self.dep(g, lower[k]).or(self.dep(g, upper[k])).vec {
                        let known = |i: i64| [lower[k], upper[k]].iter().all(|v| self.evaluate(*v, (param, i), 12).is_some());
                        if !(range.0..=range.1).all(known) {
                            return false;
                        }
                        masked.push(index);
                    }
                }
                if masked.len() > 1 && !self.loads_stay_near(part.body, &masked) {
                    return false;
                }
                if !self.can_mask(g, part.body, param, range) {
                    return false;
                }
            }
        }
        true
    }

    /// Do masked indices occur on last axes only, and leave the extent by less than the padding?
    fn loads_stay_near(&self, region: Region, masked: &[Value]) -> bool {
        let mut near = true;
        ravel_wir::traverse::walk(self.func, region, &mut |_, inst| {
            let Op::Sel { array, index } = &self.func.insts[inst].op else { return };
            for (axis, &i) in index.iter().enumerate() {
                let form = self.form(i);
                if !form.terms.iter().any(|(v, _)| masked.contains(v)) {
                    // Through a quotient or another expression the lanes could still be anywhere.
                    near &= !self.mentions(i, masked, 12);
                    continue;
                }
                let extent = self.func.ty(*array).shape.extents().and_then(|e| e[axis].as_const());
                let (low, high) = form.range();
                let bytes = self.elem(*array).bytes() as i64;
                let outside = extent.map(|n| (-low).max(high - (i64::from(n) - 1)) * bytes);
                near &= axis + 1 == index.len() && outside.is_some_and(|bytes| bytes <= OVERREAD_BYTES);
            }
        });
        near
    }

    /// Does an index expression depend on one of these?
    fn mentions(&self, v: Value, masked: &[Value], depth: u32) -> bool {
        if masked.contains(&v) || depth == 0 {
            return true;
        }
        if let Some(same) = self.alias[v] {
            return self.mentions(same, masked, depth - 1);
        }
        let Some(inst) = self.live.def(v) else { return false };
        // Terms that cancel do not count.
        let form = self.form(v);
        if form.terms.iter().all(|(w, _)| *w != v) {
            return form.terms.iter().any(|(w, _)| self.mentions(*w, masked, depth - 1));
        }
        let mut found = false;
        self.func.insts[inst].op.for_each_operand(|w| found |= self.mentions(w, masked, depth - 1));
        found
    }

    // Costs.

    /// Cycles of one copy of a body: of one index with one lane, of `lanes` indices otherwise.
    fn region_cost(&self, g: &mut Grid, region: Region) -> f64 {
        let func = self.func;
        let lanes = f64::from(g.lanes);
        let computed = self.computed(region);
        let mut total = 0.0;
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            let Some(&result) = data.results.iter().find(|v| computed.contains(v)) else { continue };
            let vector = g.lanes > 1 && self.dep(g, result).vec;
            let elem = self.elem(result);
            let widths = |packed: bool, cycles: f64| if vector && !packed { lanes * (cycles + 1.0) } else { cycles };
            total += match &data.op {
                Op::Un(op, a) => {
                    let packed = g.packs(elem) && g.packs(self.elem(*a));
                    if !has_vector_form(*op) {
                        if vector { lanes * LIBRARY_CALL } else { LIBRARY_CALL }
                    } else {
                        widths(packed, match op {
                            UnOp::Exp => 14.0,
                            UnOp::Sqrt | UnOp::Reciproc => 5.0,
                            _ => 0.7,
                        })
                    }
                }
                Op::Native { .. } => if vector { lanes * LIBRARY_CALL } else { LIBRARY_CALL },
                Op::Bin(op, a, _) => {
                    let from = self.elem(*a);
                    if from == Elem::I32 && !vector {
                        0.2
                    } else {
                        let packed = g.packs(elem) && g.packs(from);
                        match op {
                            BinOp::Div if from.is_float() => widths(packed, 4.0),
                            BinOp::Div | BinOp::Mod | BinOp::AplMod => widths(false, 15.0),
                            BinOp::Pow | BinOp::Atan2 | BinOp::Hypot => widths(false, LIBRARY_CALL),
                            _ => widths(packed, 0.6),
                        }
                    }
                }
                Op::Convert(a) => widths(g.packs(elem) && g.packs(self.elem(*a)), 1.0),
                Op::Select { .. } => widths(g.packs(elem), 1.0),
                Op::If { then, els, .. } => 1.0 + self.region_cost(g, *then) + self.region_cost(g, *els),
                Op::Sel { array, index } => {
                    let strides = self.const_strides(*array);
                    if !vector {
                        0.6
                    } else {
                        match self.sel_stride(g, index, strides.as_deref()) {
                            Some(1) if g.packs(elem) && elem != Elem::Bool => 0.6,
                            Some(2) if g.packs(elem) && elem != Elem::Bool => 2.0,
                            _ => 1.8 * lanes,
                        }
                    }
                }
                Op::With(with) => self.fold_cost(g, with),
                _ => 0.0,
            };
        }
        total
    }

    /// Values of a region that a kernel computes: not those that only checks or affine addresses use.
    fn computed(&self, region: Region) -> HashSet<Value> {
        let func = self.func;
        let data = &func.regions[region];
        let mut needed: HashSet<Value> = data.yields.iter().copied().collect();
        for &inst in data.insts.iter().rev() {
            let InstData { op, results, .. } = &func.insts[inst];
            if !results.iter().any(|v| needed.contains(v)) {
                continue;
            }
            if let Op::Sel { index, .. } = op {
                needed.extend(index.iter().flat_map(|i| self.form(*i).terms).map(|(v, _)| v));
                continue;
            }
            op.for_each_operand(|v| {
                needed.insert(v);
            });
            for nested in op.regions() {
                needed.extend(self.live.free(nested));
            }
        }
        needed
    }

    fn fold_cost(&self, g: &mut Grid, with: &With) -> f64 {
        let func = self.func;
        let mut total = 0.0;
        for part in &with.parts {
            let (outer, n) = self.trips(part);
            let accumulate = 0.5 * with.ops.len() as f64;
            if g.vec.is_none() && g.fold_u > 0 {
                let Some(&param) = func.regions[part.body].params.last() else { continue };
                let lanes = g.fold_lanes;
                let mut inner = g.clone();
                inner.set_vec(Some(param), lanes, 1);
                let vector = self.region_cost(&mut inner, part.body) + accumulate;
                inner.set_vec(None, 1, 1);
                (inner.fold_u, inner.fold_lanes) = (0, 0);
                let scalar = self.region_cost(&mut inner, part.body) + accumulate;
                let (whole, rest) = (n / i64::from(lanes), n % i64::from(lanes));
                total += outer as f64 * (whole as f64 * vector + rest as f64 * (scalar + 1.0)) + 6.0 * with.ops.len() as f64;
            } else {
                total += outer as f64 * n as f64 * (self.region_cost(g, part.body) + accumulate);
            }
        }
        total
    }

    /// Constant strides of an array, in elements; `None` entries where unknown, the last one always 1.
    fn const_strides(&self, array: Value) -> Option<Vec<Option<i64>>> {
        let extents = self.func.ty(array).shape.extents()?;
        let mut strides = vec![Some(1i64); extents.len()];
        for axis in (1..extents.len()).rev() {
            strides[axis - 1] = strides[axis].zip(extents[axis].as_const()).map(|(s, e)| s.saturating_mul(i64::from(e)));
        }
        Some(strides)
    }

    /// Elements from lane to lane of a selection.
    fn sel_stride(&self, g: &mut Grid, index: &[Value], strides: Option<&[Option<i64>]>) -> Option<i64> {
        let mut total = 0;
        for (k, &i) in index.iter().enumerate() {
            for (v, factor) in self.form(i).terms {
                if g.vec == Some(v) {
                    total += factor * strides.and_then(|s| s.get(k).copied().flatten())?;
                } else if self.dep(g, v).vec {
                    return None;
                }
            }
        }
        Some(total)
    }

    // Register blocks.

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
        let mut plan = KernelPlan { vec, lanes, bytes: g.bytes, jam: None, j: 1, guards: Vec::new() };
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

    /// Rough cycles of one index of a body, for the choice of threads. Bodies may hold anything.
    pub fn work(&self, region: Region) -> f64 {
        let func = self.func;
        let mut total = 1.0;
        for &inst in &func.regions[region].insts {
            total += match &func.insts[inst].op {
                Op::With(with) => with
                    .parts
                    .iter()
                    .map(|p| {
                        let (outer, n) = self.trips(p);
                        outer as f64 * n as f64 * self.work(p.body)
                    })
                    .sum(),
                Op::Loop { body, .. } => 20.0 * self.work(*body),
                Op::If { then, els, .. } => self.work(*then).max(self.work(*els)),
                Op::Call { .. } => 500.0,
                Op::Un(op, _) if !has_vector_form(*op) => LIBRARY_CALL,
                Op::Un(UnOp::Exp, _) => 5.0,
                Op::Native { .. } => LIBRARY_CALL,
                Op::Const(_) => 0.0,
                Op::Array(_) | Op::Update { .. } | Op::Reshape { .. } => 20.0,
                _ => 0.3 * f64::from(prim_of(Elem::F32).bytes()) / 4.0,
            };
        }
        total
    }
}
