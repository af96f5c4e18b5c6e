//! Rows abreast: sequential loops in the body of a with-loop, for several indices at once.
//!
//! ```text
//! for r = lo to hi { loop (j, y) { y' = f(x[r,j], y); .. } }
//! => for r = lo to mid step 4 { loop (j, y0, y1, y2, y3) { y0' = f(x[r,j], y0); y1' = f(x[r+1,j], y1); .. } }
//!    for r = mid to hi { loop (j, y) { .. } }
//! ```
//!
//! A recurrence waits for its own last value: three cycles for a sum, thirteen for a quotient, while the processor could begin two
//! operations in each of them. Indices of a with-loop do not depend on each other, so the recurrences of several of them fill that time,
//! on every target and without vectors. Loops run abreast if they end together, that is if what they compare is the same for all indices; everything
//! else in the body is done for one index after the other.
//!
//! Before: the function is lowered, memory is not planned. After: the loops in question have a version for several indices and the old one
//! for those that are left over; each index does what it did, in its order, so no result changes. Leaves alone: loops that do not
//! wait for themselves ([`cost`]), or that end at different times, or that have checks, since the first index at fault must be the one
//! reported ([`plan`]); kernels.

pub mod cost;
pub mod plan;

use cranelift_entity::PrimaryMap;
use ravel_nest::ir::{BinOp, Exit, Func, Inst, Module, Op, Region, Ty, Value};
use ravel_source::Span;
use ravel_types::{HashMap, HashSet};
use ravel_wir as wir;

use crate::post::outer_unroll::plan::Fate;

/// A loop over an axis of a with-loop whose indices may run in any order.
pub(crate) struct Rows {
    /// The index of the loop.
    pub index: Value,
    /// The with-loop, for the remark.
    pub span: Span,
    pub with: Option<wir::Inst>,
    pub part: Option<usize>,
    /// Nothing is said about it.
    pub silent: bool,
}

/// What became of one of them.
pub(crate) struct Outcome {
    /// Which.
    pub rows: usize,
    pub text: String,
}

/// Runs the loops over `rows` abreast where that pays; copies of loops in `kernels` become kernels, too.
pub(crate) fn jam(module: &Module, func: &mut Func, rows: &[Rows], kernels: &mut HashSet<Value>) -> Vec<Outcome> {
    let numbers: HashMap<Value, usize> = rows.iter().enumerate().map(|(n, rows)| (rows.index, n)).collect();
    let mut body = std::mem::take(&mut func.body);
    let constants = plan::constants(&body);
    let mut pass = Jam { module, values: &mut func.values, numbers, kernels, constants, outcomes: Vec::new() };
    pass.visit(&mut body);
    let outcomes = pass.outcomes;
    func.body = body;
    outcomes
}

struct Jam<'a> {
    module: &'a Module,
    values: &'a mut PrimaryMap<Value, Ty>,
    numbers: HashMap<Value, usize>,
    kernels: &'a mut HashSet<Value>,
    constants: HashMap<Value, i64>,
    outcomes: Vec<Outcome>,
}

impl Jam<'_> {
    /// Innermost loops first; true if one of the region runs abreast now.
    fn visit(&mut self, region: &mut Region) -> bool {
        let mut any = false;
        let mut insts = Vec::new();
        for mut inst in std::mem::take(&mut region.insts) {
            let inside = match &mut inst.op {
                Op::If { then_region, else_region, .. } => self.visit(then_region) | self.visit(else_region),
                Op::For { body, .. } if body.params.first().is_some_and(|index| self.kernels.contains(index)) => false,
                Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } => self.visit(body),
                _ => false,
            };
            any |= inside;
            if inside || !self.rows_abreast(&inst, &mut insts) {
                insts.push(inst);
            } else {
                any = true;
            }
        }
        region.insts = insts;
        any
    }

    /// Writes the loop for several indices and for the rest to `out`, if that pays.
    fn rows_abreast(&mut self, inst: &Inst, out: &mut Vec<Inst>) -> bool {
        let Op::For { lo, hi, step, inits, body } = &inst.op else { return false };
        let Some(&number) = body.params.first().and_then(|index| self.numbers.get(index)) else { return false };
        if !inits.is_empty() || self.constants.get(step) != Some(&1) {
            return false;
        }
        let extent = match (self.constants.get(lo), self.constants.get(hi)) {
            (Some(lo), Some(hi)) => Some(hi - lo),
            _ => None,
        };
        let plan = match plan::plan(self.module, self.values, &self.constants, self.kernels, body, extent) {
            Ok(plan) => plan,
            Err(why) => {
                self.outcomes.extend(why.map(|text| Outcome { rows: number, text }));
                return false;
            }
        };
        let copies = plan.copies;
        self.outcomes.push(Outcome { rows: number, text: format!("{copies} indices abreast in sequential loops") });
        let whole = |v: &mut PrimaryMap<Value, Ty>| v.push(Ty::I64);
        let mut push = |op: Op| {
            let result = whole(self.values);
            out.push(Inst { results: [result].into_iter().collect(), op });
            result
        };
        let constant = |value: i64| Op::Const { ty: Ty::I64, bits: value as u64 };
        let difference = push(Op::Binary(BinOp::ISub, *hi, *lo));
        let zero = push(constant(0));
        let count = push(Op::Binary(BinOp::SMax, difference, zero));
        let mask = push(constant(-(copies as i64)));
        let steps = push(Op::Binary(BinOp::And, count, mask));
        let middle = push(Op::Binary(BinOp::IAdd, *lo, steps));
        let by = push(constant(copies as i64));
        let index = whole(self.values);
        let mut copier = Copier {
            values: self.values,
            kernels: self.kernels,
            once: HashMap::default(),
            each: vec![HashMap::default(); copies],
        };
        let mut insts = Vec::new();
        for c in 0..copies {
            let place = match c {
                0 => index,
                _ => {
                    let (offset, sum) = (whole(copier.values), whole(copier.values));
                    insts.push(Inst { results: [offset].into_iter().collect(), op: constant(c as i64) });
                    let op = Op::Binary(BinOp::IAdd, index, offset);
                    insts.push(Inst { results: [sum].into_iter().collect(), op });
                    sum
                }
            };
            copier.each[c].insert(body.params[0], place);
        }
        copier.region(&body.insts, &plan.fates, &mut insts);
        let abreast = Region { params: vec![index], insts, exit: Exit::Yield(Vec::new()) };
        let op = Op::For { lo: *lo, hi: middle, step: by, inits: Vec::new(), body: abreast };
        out.push(Inst { results: Default::default(), op });
        let rest = Op::For { lo: middle, hi: *hi, step: *step, inits: Vec::new(), body: body.clone() };
        out.push(Inst { results: Default::default(), op: rest });
        true
    }
}

/// Copies instructions for all indices.
struct Copier<'a> {
    values: &'a mut PrimaryMap<Value, Ty>,
    kernels: &'a mut HashSet<Value>,
    /// Values that are the same for all indices.
    once: HashMap<Value, Value>,
    /// The others, by copy.
    each: Vec<HashMap<Value, Value>>,
}

impl Copier<'_> {
    /// The value in a copy; any copy will do if it is the same in all.
    fn at(&self, copy: usize, v: Value) -> Value {
        self.each[copy].get(&v).or_else(|| self.once.get(&v)).copied().unwrap_or(v)
    }

    /// A new value in place of `v`, in one copy or for all of them.
    fn define(&mut self, copy: Option<usize>, v: Value) -> Value {
        let new = self.values.push(self.values[v]);
        match copy {
            Some(copy) => self.each[copy].insert(v, new),
            None => self.once.insert(v, new),
        };
        new
    }

    fn region(&mut self, insts: &[Inst], fates: &[Fate], out: &mut Vec<Inst>) {
        let mut waiting: Vec<&Inst> = Vec::new();
        for (inst, fate) in insts.iter().zip(fates) {
            match fate {
                Fate::Once => {
                    let copy = self.inst(None, inst);
                    out.push(copy);
                }
                Fate::Each => waiting.push(inst),
                Fate::Together { carried, inside } => {
                    self.one_by_one(&mut waiting, out);
                    let copy = self.together(inst, carried, inside);
                    out.push(copy);
                }
            }
        }
        self.one_by_one(&mut waiting, out);
    }

    fn one_by_one(&mut self, waiting: &mut Vec<&Inst>, out: &mut Vec<Inst>) {
        for copy in 0..self.each.len() {
            for inst in waiting.iter() {
                let made = self.inst(Some(copy), inst);
                out.push(made);
            }
        }
        waiting.clear();
    }

    /// `values` for all copies, where `carried` says which of them vary.
    fn all(&self, values: &[Value], carried: &[bool]) -> Vec<Value> {
        let copies = |varies: bool| if varies { 0..self.each.len() } else { 0..1 };
        values.iter().zip(carried).flat_map(|(&v, &varies)| copies(varies).map(move |c| self.at(c, v))).collect()
    }

    fn define_all(&mut self, values: &[Value], carried: &[bool]) -> Vec<Value> {
        let mut new = Vec::new();
        for (&v, &varies) in values.iter().zip(carried) {
            match varies {
                true => new.extend((0..self.each.len()).map(|c| self.define(Some(c), v)).collect::<Vec<_>>()),
                false => new.push(self.define(None, v)),
            }
        }
        new
    }

    /// A loop or branch that all indices go through at the same time. `carried` are the results that vary.
    fn together(&mut self, inst: &Inst, carried: &[bool], inside: &[Vec<Fate>]) -> Inst {
        let op = match &inst.op {
            Op::Loop { inits, body } => {
                let inits = self.all(inits, carried);
                let params = self.define_all(&body.params, carried);
                let mut insts = Vec::new();
                self.region(&body.insts, &inside[0], &mut insts);
                let yields = body.exit.operands();
                let mut next = vec![self.at(0, yields[0])];
                next.extend(self.all(&yields[1..], carried));
                Op::Loop { inits, body: Region { params, insts, exit: Exit::Yield(next) } }
            }
            Op::For { lo, hi, step, inits, body } => {
                let [lo, hi, step] = [lo, hi, step].map(|v| self.at(0, *v));
                let inits = self.all(inits, carried);
                let mut params = vec![self.define(None, body.params[0])];
                params.extend(self.define_all(&body.params[1..], carried));
                let mut insts = Vec::new();
                self.region(&body.insts, &inside[0], &mut insts);
                let next = self.all(body.exit.operands(), carried);
                Op::For { lo, hi, step, inits, body: Region { params, insts, exit: Exit::Yield(next) } }
            }
            Op::If { cond, then_region, else_region } => {
                let cond = self.at(0, *cond);
                let mut arm = |region: &Region, fates: &[Fate]| {
                    let mut insts = Vec::new();
                    self.region(&region.insts, fates, &mut insts);
                    let exit = match &region.exit {
                        Exit::Yield(values) => Exit::Yield(self.all(values, carried)),
                        // The first index comes here first.
                        other => self.exit(0, other),
                    };
                    Region { params: Vec::new(), insts, exit }
                };
                let (then_region, else_region) = (arm(then_region, &inside[0]), arm(else_region, &inside[1]));
                Op::If { cond, then_region, else_region }
            }
            _ => unreachable!("only loops and branches are done together"),
        };
        let results = self.define_all(&inst.results, carried);
        Inst { results: results.into_iter().collect(), op }
    }

    fn exit(&self, copy: usize, exit: &Exit) -> Exit {
        let mut exit = exit.clone();
        exit.operands_mut().iter_mut().for_each(|v| *v = self.at(copy, *v));
        exit
    }

    /// An instruction with all that is in it; without a copy it is the same for all.
    fn inst(&mut self, copy: Option<usize>, inst: &Inst) -> Inst {
        let mut op = inst.op.clone();
        op.for_each_operand_mut(|v| *v = self.at(copy.unwrap_or(0), *v));
        match &mut op {
            Op::If { then_region, else_region, .. } => {
                self.copy_region(copy, then_region);
                self.copy_region(copy, else_region);
            }
            Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } | Op::Launch { body, .. } => {
                self.copy_region(copy, body);
            }
            _ => {}
        }
        Inst { results: inst.results.iter().map(|&v| self.define(copy, v)).collect(), op }
    }

    fn copy_region(&mut self, copy: Option<usize>, region: &mut Region) {
        for param in &mut region.params {
            let kernel = self.kernels.contains(param);
            *param = self.define(copy, *param);
            if kernel {
                self.kernels.insert(*param);
            }
        }
        for inst in &mut region.insts {
            *inst = self.inst(copy, inst);
        }
        region.exit = self.exit(copy.unwrap_or(0), &region.exit);
    }
}
