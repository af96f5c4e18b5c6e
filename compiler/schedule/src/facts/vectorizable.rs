//! What kernels can compute: which bodies, under which checks, with which bounds of inner folds.

use ravel_types::{BinOp, Elem};
use ravel_wir::{Combine, Generator, Op, Part, Region, Value, With, WithOp};

use crate::facts::Facts;
use crate::facts::grid::{Dep, Grid};
use crate::facts::guards::Measures;
use crate::facts::refusal::Refusal;

/// Bytes that a vector load may touch beyond either end of an array of ours: headers and padding have at least these.
const OVERREAD_BYTES: i64 = 64;
/// The same before an array of somebody else. What lies behind it is looked at where it is lent.
pub const LENT_REACH: i64 = 16;

impl Facts<'_> {
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
            self.set_counters(part.body);
            for &inst in &self.func.regions[part.body].insts {
                if let Op::With(inner) = &self.func.insts[inst].op {
                    self.set_ranges(inner);
                }
            }
        }
    }

    pub fn supported(&self, region: Region, measures: &mut Measures) -> Result<(), Refusal> {
        self.supported_yields(region, false, measures)
    }

    /// The same for the body of a kernel, whose cells may be written out ([`crate::lower::interleaved_cells`]).
    pub fn supported_cells(&self, region: Region, measures: &mut Measures) -> Result<(), Refusal> {
        self.supported_yields(region, true, measures)
    }

    fn supported_yields(&self, region: Region, tuples: bool, measures: &mut Measures) -> Result<(), Refusal> {
        let func = self.func;
        let mut written_out = Vec::new();
        for v in &func.regions[region].yields {
            if func.ty(*v).is_scalar() && !self.is_object(*v) {
                continue;
            }
            match self.tuple_of(region, *v).filter(|_| tuples) {
                Some((inst, _)) => written_out.push(inst),
                None => return Err(Refusal::ArrayCells),
            }
        }
        for &inst in func.regions[region].insts.iter().filter(|inst| !written_out.contains(inst)) {
            let data = &func.insts[inst];
            match &data.op {
                Op::Const(_) | Op::Un(..) | Op::Bin(..) | Op::Convert(_) => {}
                Op::Opaque(v) if func.ty(*v).is_scalar() && !self.is_object(*v) => {}
                Op::Select { then, .. } if func.ty(*then).is_scalar() && !self.is_object(*then) => {}
                Op::Extent { array, .. } if self.has_val(*array) => {}
                Op::Native { symbol, args, .. }
                    if args.len() == 1 && crate::facts::vector_forms::math_op(symbol).is_some() => {}
                Op::Sel { array, index } => {
                    if !self.has_val(*array) {
                        return Err(Refusal::BuildsOrCalls);
                    }
                    if func.ty(*array).rank() != Some(index.len()) || self.elem(*array) == Elem::Handle {
                        return Err(Refusal::SubArrays);
                    }
                }
                Op::If { then, els, .. } => {
                    self.supported_inside(*then, measures, false)?;
                    self.supported_inside(*els, measures, false)?;
                }
                Op::Loop { init, body } => self.supported_inside(*body, measures, self.runs_alike(init, *body))?,
                Op::With(with) => self.supported_fold(with, measures)?,
                Op::Check { .. } if self.site.checked_before || measures.by_lanes.contains(&inst) => {}
                Op::Check { .. }
                    if self.options.unchecked
                        && !matches!(&data.op, Op::Check { fault: ravel_wir::Fault::Division, .. }) => {}
                Op::Check { cond, .. } if self.guards_of(*cond, &mut measures.guards, 8) => {}
                Op::Check { .. } => return Err(Refusal::UnprovenChecks),
                _ => return Err(Refusal::BuildsOrCalls),
            }
        }
        Ok(())
    }

    pub fn supported_fold(&self, with: &With, measures: &mut Measures) -> Result<(), Refusal> {
        self.supported_folds(with.ordered, with.ops.iter(), &with.parts, measures)
    }

    /// The same for some operators and partitions of a with-loop.
    pub fn supported_folds<'a>(
        &self,
        ordered: bool,
        ops: impl Iterator<Item = &'a WithOp>,
        parts: &[Part],
        measures: &mut Measures,
    ) -> Result<(), Refusal> {
        if ordered {
            return Err(Refusal::Effects);
        }
        for op in ops {
            match op {
                WithOp::Fold { combine: Combine::Op(op), neutral, .. } => {
                    if op.is_comparison() || op.divides() && !self.elem(*neutral).is_float() {
                        return Err(Refusal::UnusualFold);
                    }
                }
                WithOp::Fold { .. } => return Err(Refusal::FoldFunction),
                _ => return Err(Refusal::BuildsArrays),
            }
        }
        for part in parts {
            let Generator::Known { step, .. } = &part.generator else {
                return Err(Refusal::FoldRankUnknown);
            };
            if step.as_ref().is_some_and(|s| s.iter().any(|v| self.const_i32(*v) != Some(1))) {
                return Err(Refusal::FoldSteps);
            }
            self.supported(part.body, measures)?;
        }
        Ok(())
    }

    /// May lanes run along the last axis of every fold of the body?
    pub fn folds_can_run_along(&self, g: &mut Grid, region: Region) -> bool {
        let mut any = false;
        for &inst in &self.func.regions[region].insts {
            let Op::With(with) = &self.func.insts[inst].op else { continue };
            any = true;
            let ranked = with.parts.iter().all(|p| {
                self.func.regions[p.body]
                    .params
                    .last()
                    .is_some_and(|last| self.alias[*last].is_none() && self.can_run_along(g, p.body, *last))
            });
            if !ranked || !with.ops.iter().all(|op| folds_along(op).is_some()) {
                return false;
            }
        }
        any
    }

    /// Are the bounds of folds inside of a body the same for all lanes along its last index?
    pub fn can_run_along(&self, g: &mut Grid, body: Region, last: Value) -> bool {
        let (vec, lanes, u) = (g.vec, g.lanes, g.u);
        g.set_vec(Some(last), 2, 1);
        let uniform = !self.bounds_dep(g, body).vec;
        g.set_vec(vec, lanes, u);
        uniform
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
    pub fn bounds_dep(&self, g: &mut Grid, region: Region) -> Dep {
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
    pub fn can_mask(&self, g: &mut Grid, region: Region, param: Value, range: (i64, i64)) -> bool {
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
                        let known =
                            |i: i64| [lower[k], upper[k]].iter().all(|v| self.evaluate(*v, (param, i), 12).is_some());
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

    /// Do masked indices occur on last axes only, and leave the extent by no more than may be read?
    fn loads_stay_near(&self, region: Region, masked: &[Value]) -> bool {
        let mut near = true;
        let most_before = if self.options.lent { LENT_REACH } else { OVERREAD_BYTES };
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
                let is_near = extent.is_some_and(|n| {
                    -low * bytes <= most_before && (high - (i64::from(n) - 1)) * bytes <= OVERREAD_BYTES
                });
                near &= axis + 1 == index.len() && is_near;
            }
        });
        near
    }

    /// Does an index expression depend on one of these?
    pub fn mentions(&self, v: Value, masked: &[Value], depth: u32) -> bool {
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
}

/// The operation of a fold that lanes may run along.
pub(crate) fn folds_along(op: &WithOp) -> Option<BinOp> {
    match op {
        WithOp::Fold { combine: Combine::Op(op), .. } if op.regroups() => Some(*op),
        _ => None,
    }
}
