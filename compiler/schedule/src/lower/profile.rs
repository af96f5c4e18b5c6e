//! `--profile`: what sequential code runs is marked for the runtime, with what it costs as far as that is known.
//!
//! A site is an outermost with-loop, or several that run together, or a loop: one that is not inside another, or has loops or with-loops in it.
//! Cells, operations and bytes are computed in front of it from extents; what threads and bodies of with-loops run belongs to the site around.
//! With-loops that take less than a fraction of a microsecond are counted in place, without a call.
//! Without the option nothing here emits anything.

use ravel_nest::ir::{Access, BinOp as NestBin, Ty};
use ravel_types::{BinOp, Elem, HashSet};
use ravel_wir::{Combine, FuncId, Generator, Inst, Module, Op, Part, Region, Value, With, WithOp};

use crate::facts::cost::Counter;
use crate::facts::{Ext, Facts, Form, Grid, UNKNOWN_EXTENT, any_op};
use crate::lower::Lower;
use crate::plan::strategy::RunPlan;
use crate::{Numbers, Site};

/// Estimated cycles below which a with-loop is only counted.
const SMALL: f64 = 1000.0;
/// Bounds that depend on bounds that depend on others.
const MAX_DEPTH: usize = 4;

/// What is counted at run time.
struct Measure {
    cells: Ext,
    operations: Ext,
    bytes: Ext,
}

/// A site that is open.
pub(crate) struct Entered {
    measure: Option<Measure>,
    is_loop: bool,
}

/// Functions that are called from outside of with-loops.
pub(crate) fn outer_functions(module: &Module) -> HashSet<FuncId> {
    fn visit(module: &Module, id: FuncId, region: Region, found: &mut HashSet<FuncId>) {
        let func = &module.funcs[id];
        for &inst in &func.regions[region].insts {
            match &func.insts[inst].op {
                Op::With(_) => {}
                Op::Call { func: callee, .. } => {
                    if found.insert(*callee) {
                        visit(module, *callee, module.funcs[*callee].body, found);
                    }
                }
                op => op.regions().into_iter().for_each(|nested| visit(module, id, nested, found)),
            }
        }
    }
    let mut found = HashSet::default();
    if let Some(entry) = module.entry {
        found.insert(entry);
        visit(module, entry, module.funcs[entry].body, &mut found);
    }
    found
}

impl Facts<'_> {
    fn is_inner_site(&self, op: &Op) -> bool {
        match op {
            Op::Loop { body, .. } => any_op(self.func, *body, |op| matches!(op, Op::Loop { .. } | Op::With(_))),
            Op::With(with) => !self.is_small(with),
            _ => false,
        }
    }

    fn is_small(&self, with: &With) -> bool {
        let cycles = |part: &Part| Some(self.constant_cells(part)? as f64 * self.work(part.body));
        with.parts.iter().map(cycles).sum::<Option<f64>>().is_some_and(|cycles| cycles < SMALL)
    }

    /// The numbers that regions compute with.
    fn numbers(&self, regions: &[Region]) -> Numbers {
        let computes = |elem: Elem| {
            let is_one = |op: &Op| {
                match op {
                Op::Bin(op, a, _) => !op.is_comparison() && self.elem(*a) == elem,
                Op::Un(_, a) => self.elem(*a) == elem,
                Op::With(with) => with.ops.iter().any(
                    |op| matches!(op, WithOp::Fold { neutral, combine: Combine::Op(_), .. } if self.elem(*neutral) == elem),
                ),
                _ => false,
            }
            };
            regions.iter().any(|region| any_op(self.func, *region, is_one))
        };
        match (computes(Elem::F64), computes(Elem::F32)) {
            (true, _) => Numbers::F64,
            (false, true) => Numbers::F32,
            _ => Numbers::Integers,
        }
    }
}

impl Lower<'_, '_> {
    /// Marks what begins at a position of a region, if that is a site.
    pub fn enter_site(&mut self, region: Region, position: usize) -> Option<Entered> {
        self.cx.options.profile?;
        let inst = self.func.regions[region].insts[position];
        let data = &self.func.insts[inst];
        let is_loop = matches!(data.op, Op::Loop { .. });
        if !is_loop && !matches!(data.op, Op::With(_)) {
            return None;
        }
        let inside = self.facts.site.profiled_withs > 0
            || self.b.is_run_by_threads()
            || self.facts.site.in_launch
            || !self.cx.outer.contains(&self.cx.func)
            || is_loop && self.facts.site.profiled_loops > 0 && !self.facts.is_inner_site(&data.op);
        let measure = if inside { None } else { self.start_site(region, position, inst) };
        *self.profiled(is_loop) += 1;
        Some(Entered { measure, is_loop })
    }

    fn profiled(&mut self, is_loop: bool) -> &mut u32 {
        if is_loop { &mut self.facts.site.profiled_loops } else { &mut self.facts.site.profiled_withs }
    }

    /// The site ends here.
    pub fn leave_site(&mut self, site: Option<Entered>) {
        let Some(site) = site else { return };
        *self.profiled(site.is_loop) -= 1;
        if let Some(measure) = site.measure {
            let numbers = [measure.cells, measure.operations, measure.bytes].map(|n| self.extent_val(n));
            self.helper("ravel_profile_leave", &numbers, None);
        }
    }

    fn start_site(&mut self, region: Region, position: usize, inst: Inst) -> Option<Measure> {
        let func = self.func;
        let mut withs = Vec::new();
        let mut loops = None;
        match &func.insts[inst].op {
            Op::With(_) => {
                let end = match self.facts.choose_run(region, position).plan {
                    RunPlan::Epilogue(plan) => plan.end,
                    RunPlan::Reductions(folds) => folds.last().map_or(position, |(last, _)| *last) + 1,
                    RunPlan::Launches(run, _) => run.end,
                    RunPlan::Alone => position + 1,
                };
                for &inst in &func.regions[region].insts[position..end] {
                    if let Op::With(with) = &func.insts[inst].op {
                        self.facts.set_ranges(with);
                        withs.push((inst, with));
                    }
                }
            }
            Op::Loop { init, body } => loops = Some((init, *body)),
            _ => return None,
        }
        let bodies: Vec<Region> = match loops {
            Some((_, body)) => vec![body],
            None => withs.iter().flat_map(|(_, with)| with.parts.iter().map(|part| part.body)).collect(),
        };
        let numbers = self.facts.numbers(&bodies);
        let only_counted = loops.is_none() && withs.iter().all(|(_, with)| self.facts.is_small(with));
        self.emit.guesses = 0;
        self.emit.in_loop_site = loops.is_some();
        let measure = match loops {
            _ if only_counted => None,
            Some((init, body)) => Some(self.measure_loop(init, body, numbers)),
            None => Some(self.measure_withs(&withs, numbers)),
        };
        let site = Site {
            span: func.insts[inst].span,
            function: func.name.clone(),
            is_loop: loops.is_some(),
            numbers,
            only_counted,
            guessed: self.emit.guesses > 0,
        };
        let number = self.cx.add_site(site);
        match measure {
            Some(measure) => {
                let number = self.b.i64(number);
                self.helper("ravel_profile_enter", &[number], None);
                Some(measure)
            }
            None => {
                self.count_call(number);
                None
            }
        }
    }

    /// Counts a call of a site in place.
    fn count_call(&mut self, number: i64) {
        let table = self.cx.site_counts();
        let table = self.b.data_addr(table);
        let Ok(place) = i32::try_from(8 * number) else { return };
        let count = self.b.load(Ty::I64, table, place, Access::ALIGNED);
        let one = self.b.i64(1);
        let count = self.b.add(count, one);
        self.b.store(count, table, place, Access::ALIGNED);
    }

    fn measure_withs(&mut self, withs: &[(Inst, &With)], numbers: Numbers) -> Measure {
        let func = self.func;
        let zero = Ext::Const(0);
        let mut measure = Measure { cells: zero, operations: zero, bytes: zero };
        let mut read: Vec<Value> = Vec::new();
        for &(inst, with) in withs {
            for part in &with.parts {
                let cells = self.cells(part);
                measure.cells = self.sum(measure.cells, cells);
                for (k, op) in with.ops.iter().enumerate() {
                    let result = func.insts[inst].results[k];
                    if !matches!(op, WithOp::Fold { .. }) {
                        let cell = func.regions[part.body].yields.get(k).map_or(1, |v| self.count_known(*v));
                        let written = self.extent_product(cells, Ext::Const(cell * self.elem(result).bytes() as i64));
                        measure.bytes = self.sum(measure.bytes, written);
                    }
                }
                for &v in self.facts.live.free(part.body).to_vec().iter() {
                    if !func.ty(v).is_scalar() && !read.contains(&v) {
                        read.push(v);
                    }
                }
            }
            let operations = self
                .executed_with(func.body, inst, with, &|lower, region, inst| lower.operation(region, inst, numbers));
            measure.operations = self.sum(measure.operations, operations);
        }
        for array in read {
            let mut selected = Ext::Const(0);
            for &(inst, with) in withs {
                let reads =
                    self.executed_with(func.body, inst, with, &|lower, _, inst| match &lower.func.insts[inst].op {
                        Op::Sel { array: from, .. } if *from == array => {
                            lower.func.insts[inst].results.first().map_or(1, |v| lower.count_known(*v))
                        }
                        _ => 0,
                    });
                selected = self.sum(selected, reads);
            }
            let elements = match self.elements(array) {
                Some(all) => self.lesser(all, selected),
                None => selected,
            };
            let bytes = self.extent_product(elements, Ext::Const(self.elem(array).bytes() as i64));
            measure.bytes = self.sum(measure.bytes, bytes);
        }
        measure
    }

    fn measure_loop(&mut self, init: &[Value], body: Region, numbers: Numbers) -> Measure {
        let iterations = self.iterations(init, body);
        let one = self.executed(body, &|lower, region, inst| lower.operation(region, inst, numbers));
        let operations = self.extent_product(iterations, one);
        let touched = self.executed(body, &|lower, _, inst| match &lower.func.insts[inst].op {
            Op::Sel { array: v, .. } => {
                let result = lower.func.insts[inst].results.first().map_or(1, |v| lower.count_known(*v));
                result * lower.elem(*v).bytes() as i64
            }
            Op::Update { value, .. } => lower.count_known(*value) * lower.elem(*value).bytes() as i64,
            _ => 0,
        });
        let bytes = self.extent_product(iterations, touched);
        Measure { cells: iterations, operations, bytes }
    }

    /// Operations of one cell that go into combining.
    fn fold_operations(&self, op: &WithOp, numbers: Numbers) -> i64 {
        match op {
            WithOp::Fold { neutral, combine: Combine::Op(_), .. } if numbers.has(self.elem(*neutral)) => {
                self.count_known(*neutral)
            }
            _ => 0,
        }
    }

    /// 1 for what computes with numbers of the kind, not for index arithmetic; of a with-loop what each cell takes to be folded.
    fn operation(&self, region: Region, inst: Inst, numbers: Numbers) -> i64 {
        let data = &self.func.insts[inst];
        let of = match &data.op {
            Op::With(with) => return with.ops.iter().map(|op| self.fold_operations(op, numbers)).sum(),
            Op::Bin(op, a, _) if !op.is_comparison() && !matches!(op, BinOp::And | BinOp::Or) => *a,
            Op::Un(_, a) => *a,
            _ => return 0,
        };
        if !numbers.has(self.elem(of)) {
            return 0;
        }
        if numbers == Numbers::Integers {
            let computed = self.facts.computed(&mut Grid::scalar(4), region);
            return i64::from(data.results.iter().any(|v| computed.contains(v)));
        }
        1
    }

    /// What all indices of a with-loop together have of something that instructions have; what the with-loop itself has, each cell has.
    fn executed_with(&mut self, region: Region, inst: Inst, with: &With, weight: &Weight<'_>) -> Ext {
        let own = weight(self, region, inst);
        let mut total = Ext::Const(0);
        for part in &with.parts {
            let mut one = self.executed(part.body, weight);
            for op in &with.ops {
                if let WithOp::Fold { combine: Combine::Region(region), .. } = op {
                    let combining = self.executed(*region, weight);
                    one = self.sum(one, combining);
                }
            }
            let one = self.sum(one, Ext::Const(own));
            let cells = self.cells(part);
            let more = self.extent_product(cells, one);
            total = self.sum(total, more);
        }
        total
    }

    /// The same of a region; sites inside of it count for themselves.
    fn executed(&mut self, region: Region, weight: &Weight<'_>) -> Ext {
        let func = self.func;
        let mut total = Ext::Const(0);
        for &inst in &func.regions[region].insts {
            let op = &func.insts[inst].op;
            let more = match op {
                Op::With(with) if self.emit.in_loop_site && !self.facts.is_small(with) => Ext::Const(0),
                Op::With(with) => {
                    self.facts.set_ranges(with);
                    self.executed_with(region, inst, with, weight)
                }
                Op::Loop { .. } if self.emit.in_loop_site && self.facts.is_inner_site(op) => Ext::Const(0),
                Op::Loop { init, body } => {
                    let iterations = self.iterations(init, *body);
                    let one = self.executed(*body, weight);
                    self.extent_product(iterations, one)
                }
                Op::If { then, els, .. } => match (self.executed(*then, weight), self.executed(*els, weight)) {
                    (Ext::Const(a), Ext::Const(b)) => Ext::Const(a.max(b)),
                    (a, b) => self.sum(a, b),
                },
                _ => Ext::Const(weight(self, region, inst)),
            };
            total = self.sum(total, more);
        }
        total
    }

    /// Cells of a partition.
    fn cells(&mut self, part: &Part) -> Ext {
        let Generator::Known { lower, upper, step, width } = &part.generator else {
            self.emit.guesses += 1;
            return Ext::Const(UNKNOWN_EXTENT);
        };
        let mut cells = Ext::Const(1);
        for (axis, (&low, &high)) in lower.iter().zip(upper).enumerate() {
            let extent = self.distance(low, high, 0);
            let of = |bounds: &Option<Vec<Value>>| bounds.as_ref().and_then(|bounds| self.const_i32(bounds[axis]));
            let extent = match (extent, of(step), of(width).unwrap_or(1)) {
                (Ext::Const(n), Some(step), width) if step > 0 => Ext::Const((n * width + step - 1) / step),
                (Ext::Val(n), Some(step), width) if step > 0 => {
                    let step = self.b.i64(step);
                    let n = self.times(n, width.max(1));
                    Ext::Val(self.b.binary(NestBin::UDiv, n, step))
                }
                (extent, _, _) => extent,
            };
            cells = self.extent_product(cells, extent);
        }
        cells
    }

    /// Iterations of a loop that counts by one.
    fn iterations(&mut self, init: &[Value], body: Region) -> Ext {
        match self.counter(body) {
            Some(Counter { position, step, end }) => match self.distance(init[position], end, 0) {
                Ext::Const(n) => Ext::Const(n / step),
                Ext::Val(n) if step > 1 => {
                    let step = self.b.i64(step);
                    Ext::Val(self.b.binary(NestBin::SDiv, n, step))
                }
                n => n,
            },
            None => {
                self.emit.guesses += 1;
                Ext::Const(UNKNOWN_EXTENT)
            }
        }
    }

    /// `high - low`, not less than 0.
    fn distance(&mut self, low: Value, high: Value, depth: usize) -> Ext {
        let (low, high) = (self.facts.form(low), self.facts.form(high));
        match high.plus(&low, -1).and_then(|form| self.evaluated(&form, depth)) {
            Some(Ext::Const(n)) => Ext::Const(n.max(0)),
            Some(Ext::Val(n)) => {
                let zero = self.b.i64(0);
                Ext::Val(self.b.binary(NestBin::SMax, n, zero))
            }
            None => {
                self.emit.guesses += 1;
                Ext::Const(UNKNOWN_EXTENT)
            }
        }
    }

    /// The value of a form here. An index that does not exist yet is taken to be in the middle of its range: sums over the range are then
    /// those of the middle, as long as no more than one bound depends on it.
    fn evaluated(&mut self, form: &Form, depth: usize) -> Option<Ext> {
        let mut total = Ext::Const(form.constant);
        for &(v, factor) in &form.terms {
            let value = match self.const_i32(v) {
                Some(k) => Ext::Const(k),
                None if self.facts.is_bound(v) => Ext::Val(self.wide(v)),
                None => self.middle(v, depth)?,
            };
            let term = self.extent_product(value, Ext::Const(factor));
            total = self.sum(total, term);
        }
        Some(total)
    }

    fn middle(&mut self, v: Value, depth: usize) -> Option<Ext> {
        if let Some(Op::Extent { array, axis }) = self.live.def(v).map(|inst| &self.func.insts[inst].op) {
            let (array, axis) = (*array, *axis as usize);
            return self.elements_known(array).then(|| self.extent(array, axis));
        }
        let (low, high) = (self.facts.lower_of[v]?, self.facts.upper_of[v]?);
        if depth >= MAX_DEPTH {
            return None;
        }
        let (low, high) = (self.facts.form(low), self.facts.form(high));
        let (low, high) = (self.evaluated(&low, depth + 1)?, self.evaluated(&high, depth + 1)?);
        Some(match self.sum(low, high) {
            Ext::Const(n) => Ext::Const(n / 2),
            Ext::Val(n) => {
                let one = self.b.i64(1);
                Ext::Val(self.b.binary(NestBin::SShr, n, one))
            }
        })
    }

    /// Can the extents of an array be asked for here?
    fn elements_known(&self, array: Value) -> bool {
        let constant = self.func.ty(array).shape.extents().is_some_and(|e| e.iter().all(|e| e.as_const().is_some()));
        self.func.ty(array).rank().is_some() && (constant || self.facts.has_val(array))
    }

    fn elements(&mut self, array: Value) -> Option<Ext> {
        if !self.elements_known(array) {
            return None;
        }
        let extents = self.extents(array);
        Some(self.product(&extents))
    }

    /// Elements of a value as far as its type tells.
    fn count_known(&self, v: Value) -> i64 {
        let extents = self.func.ty(v).shape.extents();
        extents.map_or(1, |e| e.iter().map(|e| e.as_const().map_or(1, i64::from)).product())
    }

    fn sum(&mut self, a: Ext, b: Ext) -> Ext {
        match (a, b) {
            (Ext::Const(a), Ext::Const(b)) => Ext::Const(a.saturating_add(b)),
            (Ext::Const(0), other) | (other, Ext::Const(0)) => other,
            (a, b) => {
                let (a, b) = (self.extent_val(a), self.extent_val(b));
                Ext::Val(self.b.add(a, b))
            }
        }
    }

    fn lesser(&mut self, a: Ext, b: Ext) -> Ext {
        match (a, b) {
            (Ext::Const(a), Ext::Const(b)) => Ext::Const(a.min(b)),
            (a, b) => {
                let (a, b) = (self.extent_val(a), self.extent_val(b));
                Ext::Val(self.b.binary(NestBin::SMin, a, b))
            }
        }
    }
}

/// How much an instruction has of something.
type Weight<'w> = dyn Fn(&Lower<'_, '_>, Region, Inst) -> i64 + 'w;
