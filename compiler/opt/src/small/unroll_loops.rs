//! Unrolling of loops: a short loop of constant length inside a with-loop becomes straight-line code.
//!
//! ```text
//!    %y, %n = loop (%p = 0.0, %k = 0) { %q = p * x + c[%k]  %m = %k + 1  yield %m < 8, %q, %m }
//! => %q0 = 0.0 * x + c[0]  %q1 = %q0 * x + c[1]  ...
//! ```
//!
//! A polynomial, some steps of an iteration: written out, it runs in lanes whatever it loads, and selections at the counter become
//! selections at constants.
//!
//! Loops in loops are played through, the inner ones with the counters of the outer: a sorting network on an array of nine
//! elements is a few comparisons.
//!
//! Before: simplified, so that the counter's start, step and end are constants. After: no such loop whose code is short.
//! In the body of another loop only what is very short is written out, for the sake of what its iterations have in common: sums over a few
//! elements, and loops of up to three iterations; longer ones that update an array may become with-loops (`parallelize-loops`).
//!
//! Leaves alone: loops outside of with-loops and loops, which gain nothing, and those with with-loops or calls inside.
//! Worth: tests/survey/small/medians (25 with Cranelift, 115 with LLVM).

use crate::edit::{Copier, Defs, Renames, replace_inst};
use crate::pass::{Context, Pass};
use ravel_types::{HashMap, Scalar, eval_bin, eval_un};
use ravel_wir::{Func, Inst, Op, Region, Value};

pub const PASS: Pass = Pass::of("unroll-loops", "write out short loops inside with-loops", unroll_loops);

/// Most iterations.
const MAX_TRIPS: usize = 16;
/// Most instructions that all iterations have together, without those that the counters decide.
const MAX_CODE: usize = 160;
/// The same where all that is carried is scalars then: arrays in memory are what keeps the with-loop around it from lanes.
const MAX_SCALAR_CODE: usize = 512;
/// The same of a loop in another one: iterations, iterations of one that updates an array, and instructions.
const MAX_TRIPS_IN_LOOPS: usize = 8;
const MAX_UPDATES_IN_LOOPS: usize = 3;
const MAX_CODE_IN_LOOPS: usize = 120;
/// Largest array whose elements are scalars once all indices are constants.
const MAX_ELEMENTS: usize = 16;
/// Most instructions that a loop is played through for.
const FUEL: usize = 4000;

/// Why a loop of a with-loop's body stays.
const TOO_LONG: &str = "a loop in its body runs a known number of times, but written out it would be too much code";

pub fn unroll_loops(func: &mut Func, cx: &mut Context) -> bool {
    let defs = Defs::new(func);
    let mut found = Vec::new();
    find(func, &defs, func.body, Inside::Nothing, &mut found, cx);
    let changed = !found.is_empty();
    let mut renames = Renames::default();
    for Found { region, inst, trips } in found {
        let Op::Loop { init, body } = func.insts[inst].op.clone() else { continue };
        let results = func.insts[inst].results.clone();
        let params = func.regions[body].params.clone();
        let mut out = Vec::new();
        let mut carried = init;
        for _ in 0..trips {
            let mut copier = Copier::within(func, body);
            copier.values.extend(params.iter().copied().zip(carried));
            let yields = copier.splice(func, body, &mut out);
            carried = yields.into_iter().skip(1).collect();
        }
        replace_inst(func, region, inst, out);
        for (old, new) in results.into_iter().zip(carried) {
            renames.set(old, new);
        }
    }
    renames.apply(func);
    changed
}

/// A loop to write out.
struct Found {
    region: Region,
    inst: Inst,
    trips: usize,
}

/// What a loop stands in.
#[derive(Clone, Copy)]
enum Inside {
    Nothing,
    Loop,
    With(Inst),
}

/// The outermost loops inside with-loops that are short, and the short ones inside loops.
fn find(func: &Func, defs: &Defs, region: Region, inside: Inside, found: &mut Vec<Found>, cx: &mut Context) {
    for &inst in &func.regions[region].insts {
        let op = &func.insts[inst].op;
        match (op, inside) {
            (Op::Loop { .. }, Inside::With(with)) => match short_trips(func, defs, inst, most_code(func, inst)) {
                Ok(trips) => {
                    found.push(Found { region, inst, trips });
                    cx.applied(func.insts[with].span, "a loop in its body is written out");
                    continue;
                }
                Err(Some(why)) => cx.refused(func.insts[with].span, why),
                Err(None) => {}
            },
            (Op::Loop { .. }, Inside::Loop) => {
                let updates = func.insts[inst].results.iter().any(|v| !func.ty(*v).is_scalar());
                let most = if updates { MAX_UPDATES_IN_LOOPS } else { MAX_TRIPS_IN_LOOPS };
                if let Ok(trips) = short_trips(func, defs, inst, MAX_CODE_IN_LOOPS)
                    && trips <= most
                {
                    found.push(Found { region, inst, trips });
                    cx.applied(func.insts[inst].span, "the loop is written out");
                    continue;
                }
            }
            _ => {}
        }
        let inside = match (op, inside) {
            (Op::With(_), _) => Inside::With(inst),
            (Op::Loop { .. }, Inside::Nothing) => Inside::Loop,
            (_, inside) => inside,
        };
        op.regions().into_iter().for_each(|nested| find(func, defs, nested, inside, found, cx));
    }
}

/// The most code that a loop of a with-loop is written out to.
fn most_code(func: &Func, inst: Inst) -> usize {
    let carries_arrays = func.insts[inst].results.iter().any(|v| !func.ty(*v).is_scalar());
    if carries_arrays { MAX_SCALAR_CODE } else { MAX_CODE }
}

/// How often a loop runs, if that is known and its code may be written out; why not, if it is known.
fn short_trips(func: &Func, defs: &Defs, inst: Inst, most: usize) -> Result<usize, Option<&'static str>> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return Err(None) };
    let data = &func.regions[*body];
    // Every iteration must have values of the types that the results have.
    let fixed = func.insts[inst].results.iter().zip(&data.yields[1..]).zip(init).all(|((result, next), first)| {
        let ty = func.ty(*result);
        ty == func.ty(*next) && ty == func.ty(*first) && ty.shape.constants().is_some()
    });
    if !fixed {
        return Err(None);
    }
    let mut play = Play { func, defs, known: HashMap::default(), code: 0, most, steps: 0 };
    match play.iterations(inst) {
        Ok(trips) => Ok(trips),
        Err(Stop::Long) => Err(Some(TOO_LONG)),
        Err(Stop::Unknown) => Err(None),
    }
}

/// Why a loop cannot be played through.
enum Stop {
    /// Its end depends on more than counters, or it has with-loops, calls or too many iterations.
    Unknown,
    Long,
}

/// A loop that is run with what is known of its scalars, and the code that it would be.
struct Play<'a> {
    func: &'a Func,
    defs: &'a Defs,
    known: HashMap<Value, Scalar>,
    code: usize,
    /// Instructions that are too many.
    most: usize,
    steps: usize,
}

impl Play<'_> {
    fn value(&self, v: Value) -> Option<Scalar> {
        self.known.get(&v).copied().or_else(|| self.defs.constant(self.func, v))
    }

    fn set(&mut self, v: Value, value: Option<Scalar>) {
        match value {
            Some(value) => self.known.insert(v, value),
            None => self.known.remove(&v),
        };
    }

    /// The number of iterations of a loop.
    fn iterations(&mut self, inst: Inst) -> Result<usize, Stop> {
        let Op::Loop { init, body } = &self.func.insts[inst].op else { return Err(Stop::Unknown) };
        let data = &self.func.regions[*body];
        let mut carried: Vec<Option<Scalar>> = init.iter().map(|v| self.value(*v)).collect();
        for trips in 1..=MAX_TRIPS {
            for (param, value) in data.params.iter().zip(carried) {
                self.set(*param, value);
            }
            self.region(*body)?;
            let again = self.value(data.yields[0]);
            carried = data.yields[1..].iter().map(|v| self.value(*v)).collect();
            match again {
                Some(Scalar::Bool(true)) => {}
                Some(Scalar::Bool(false)) => {
                    for (result, value) in self.func.insts[inst].results.iter().zip(carried) {
                        self.set(*result, value);
                    }
                    return Ok(trips);
                }
                _ => return Err(Stop::Unknown),
            }
        }
        Err(Stop::Unknown)
    }

    fn region(&mut self, region: Region) -> Result<(), Stop> {
        self.func.regions[region].insts.iter().try_for_each(|inst| self.inst(*inst))
    }

    fn inst(&mut self, inst: Inst) -> Result<(), Stop> {
        let data = &self.func.insts[inst];
        self.steps += 1;
        if self.steps > FUEL {
            return Err(Stop::Long);
        }
        let mut is_free = false;
        let value = match &data.op {
            Op::With(_) | Op::Call { .. } => return Err(Stop::Unknown),
            Op::Loop { .. } => return self.iterations(inst).map(|_| ()),
            Op::If { cond, then, els } => match self.value(*cond) {
                Some(Scalar::Bool(truth)) => {
                    let branch = if truth { *then } else { *els };
                    self.region(branch)?;
                    for (result, v) in data.results.iter().zip(&self.func.regions[branch].yields) {
                        self.set(*result, self.value(*v));
                    }
                    return Ok(());
                }
                _ => {
                    self.region(*then)?;
                    self.region(*els)?;
                    None
                }
            },
            Op::Const(v) => Some(*v),
            Op::Bin(op, a, b) => self.value(*a).zip(self.value(*b)).and_then(|(a, b)| eval_bin(*op, a, b).ok()),
            Op::Un(op, a) => self.value(*a).and_then(|a| eval_un(*op, a).ok()),
            Op::Select { cond, then, els } => match self.value(*cond) {
                Some(Scalar::Bool(truth)) => {
                    is_free = true;
                    self.value(if truth { *then } else { *els })
                }
                _ => None,
            },
            // Elements of small arrays at known places are scalars.
            Op::Sel { array, index } | Op::Update { array, index, .. } => {
                let is_small = self.func.ty(*array).shape.count().is_some_and(|n| n <= MAX_ELEMENTS);
                let is_known = index.iter().all(|i| self.value(*i).is_some());
                is_free = is_small && is_known;
                // Carried arrays that do not become scalars.
                if !is_free && (is_small || matches!(data.op, Op::Update { .. })) {
                    self.most = MAX_CODE;
                }
                None
            }
            Op::Check { cond, .. } => {
                is_free = self.value(*cond) == Some(Scalar::Bool(true));
                None
            }
            _ => None,
        };
        self.code += usize::from(value.is_none() && !is_free);
        for result in &data.results {
            self.set(*result, value);
        }
        if self.code > self.most {
            return Err(Stop::Long);
        }
        Ok(())
    }
}
