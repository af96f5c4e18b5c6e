//! Loops that only count, add up integers or look for extremes become folds.
//!
//! ```text
//!    loop (%s = %s0, %k = 0) { %x = %a[%k]  %c = %x == 3  %t = %s + 1  %u = select %c, %t, %s  yield ..., %u, %k + 1 }
//! => %f = with { [0] <= [%k] < [n] { %x = %a[%k]  %c = %x == 3  yield select %c, 1, 0 } } fold add 0
//!    %s0 + %f
//! ```
//!
//! Programs written as in C: `for` loops that count, that add up or multiply integers, that look for the least or greatest element, that ask whether
//! something holds for any or for all. What these combine comes out the same in any order, so that folds of them run in lanes and on
//! threads. An iteration that leaves a total as it is combines it with the neutral element. Where the run decides how many iterations there are, few of them are
//! left to the loop.
//!
//! Extremes of reals depend on the order where one is no number, and between zeros of both signs. The fold takes infinity for the
//! former, and where it comes to that, or to zero, the loop decides after all.
//!
//! Before: checks that need not stay are gone; branches that choose are selections. After: no such loop of more than a few iterations.
//! Leaves alone: sums and products of reals, whose order counts; totals that the iterations use on the way; loops with effects or checks; loops
//! inside of with-loops, where lanes run around them; long bodies, and loops around loops, where there would have to be two of them.

use crate::edit::{Copier, Def, Defs, Emitter, drop_inst, size_of, substitute};
use crate::facts::places::Places;
use crate::loops::Site;
use crate::loops::nest::Trip;
use crate::loops::nest::is_pure;
use ravel_source::Span;
use ravel_types::HashSet;
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Combine, Func, Generator, Inst, InstData, Op, Part, Region, RegionData, Value, With, WithOp};

/// Fewer iterations stay as they are.
const LEAST_ITERATIONS: i32 = 16;
/// Most instructions of a body of which there will be two.
const MAX_CODE: usize = 80;

/// What an iteration makes of a total.
enum Term {
    /// What it was.
    Kept,
    /// A truth value that decides the total, whatever it was.
    Decided(Value),
    Combined {
        rest: Box<Term>,
        by: Value,
        is_less: bool,
    },
    Chosen {
        cond: Value,
        arms: Box<[Term; 2]>,
    },
    /// A result of a branch, and what its two sides yield for it.
    Branch {
        inst: Inst,
        result: usize,
        arms: Box<[Term; 2]>,
    },
}

/// A total that a loop carries.
struct Total {
    /// Position among the carried values.
    carried: usize,
    term: Term,
    op: BinOp,
    unit: Scalar,
}

struct Found {
    trip: Trip,
    /// It is certain that the counter begins before the end.
    is_ordered: bool,
    /// The number of iterations that are worth a fold, if only the run knows whether there are so many.
    least: Option<i32>,
    totals: Vec<Total>,
    /// Instructions that took the totals of the iteration before.
    dead: HashSet<Inst>,
}

/// Puts folds in the place of a loop, and says so; nothing if it stays.
pub fn make(site: &mut Site) -> Option<&'static str> {
    let (region, inst) = (site.region, site.inst);
    let found = examine(site.func, site.defs, site.places, inst, site.eager)?;
    rewrite(site.func, site.defs, site.places, (region, inst), &found);
    Some("the loop is a fold, for what it combines comes out the same in any order")
}

fn examine(func: &Func, defs: &Defs, places: &Places, inst: Inst, eager: bool) -> Option<Found> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let trip = Trip::upward(func, defs, inst)?;
    let counter = trip.counter;
    if init.len() < 2 || places.is_inside_with(func, inst) || !is_pure(func, *body) {
        return None;
    }
    let least = if eager { 2 } else { LEAST_ITERATIONS };
    if trip.is_short(func, defs, least) {
        return None;
    }
    let data = &func.regions[*body];
    let (mut totals, mut dead) = (Vec::new(), HashSet::default());
    for carried in (0..init.len()).filter(|k| *k != counter) {
        let param = data.params[carried];
        let ty = func.ty(param);
        if !ty.is_scalar() || ty.elem == Elem::Handle {
            return None;
        }
        let mut chain =
            Chain { func, defs, places, param, touched: HashSet::from_iter([param]), op: None, dead: &mut dead };
        chain.touch(*body);
        let mut kept = 0;
        let term = chain.term(data.yields[carried + 1], &mut kept)?;
        let op = chain.op?;
        // What the iterations use otherwise is more than a fold gives.
        if kept != places.uses(param).len() {
            return None;
        }
        totals.push(Total { carried, term, op, unit: op.identity(ty.elem)? });
    }
    let is_ordered = trip.is_ordered(func, defs, &mut places.ranges_at(func, defs, inst));
    let is_open = trip.iterations(func, defs).is_none();
    let found = Found { trip, is_ordered, least: is_open.then_some(least), totals, dead };
    let mut innermost = true;
    walk(func, *body, &mut |_, i| innermost &= !matches!(func.insts[i].op, Op::Loop { .. } | Op::With(_)));
    (!found.keeps_loop() || (innermost && size_of(func, *body) <= MAX_CODE)).then_some(found)
}

impl Total {
    fn is_real(&self) -> bool {
        self.unit.elem().is_float()
    }

    /// What the fold takes for what is no number: the infinity that no other number exceeds.
    fn suspect(&self) -> Scalar {
        let opposite = if self.op == BinOp::Max { BinOp::Min } else { BinOp::Max };
        opposite.identity(self.unit.elem()).unwrap_or(self.unit)
    }
}

impl Found {
    /// Does the loop stay as the other case?
    fn keeps_loop(&self) -> bool {
        self.least.is_some() || self.totals.iter().any(Total::is_real)
    }
}

/// How a total comes about in an iteration.
struct Chain<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
    param: Value,
    /// What depends on the total of the iteration before.
    touched: HashSet<Value>,
    /// How the total is combined.
    op: Option<BinOp>,
    dead: &'a mut HashSet<Inst>,
}

impl Chain<'_> {
    fn touch(&mut self, region: Region) {
        for &inst in &self.func.regions[region].insts {
            let data = &self.func.insts[inst];
            let mut all = false;
            data.op.for_each_operand(|v| all |= self.touched.contains(&v));
            for nested in data.op.regions() {
                self.touch(nested);
            }
            for (k, result) in data.results.iter().enumerate() {
                let yields = data.op.regions().into_iter().any(|r| {
                    let yields = &self.func.regions[r].yields;
                    match data.op {
                        Op::If { .. } => self.touched.contains(&yields[k]),
                        _ => yields.iter().any(|v| self.touched.contains(v)),
                    }
                });
                if all || yields {
                    self.touched.insert(*result);
                }
            }
        }
    }

    /// All parts must be combined in one way.
    fn combines(&mut self, op: BinOp) -> Option<()> {
        (*self.op.get_or_insert(op) == op).then_some(())
    }

    fn term(&mut self, v: Value, kept: &mut usize) -> Option<Term> {
        if v == self.param {
            *kept += 1;
            return Some(Term::Kept);
        }
        if !self.touched.contains(&v) {
            let Some(Scalar::Bool(truth)) = self.defs.constant(self.func, v) else { return None };
            self.combines(if truth { BinOp::Or } else { BinOp::And })?;
            return Some(Term::Decided(v));
        }
        let Def::Inst(inst, result) = self.defs.get(v) else { return None };
        if self.places.uses(v).len() != 1 {
            return None;
        }
        let elem = self.func.ty(v).elem;
        let (is_bool, is_real) = (elem == Elem::Bool, elem.is_float());
        match self.func.insts[inst].op {
            Op::Bin(op, a, b) => {
                let (rest, by, is_less) = match (self.touched.contains(&a), self.touched.contains(&b)) {
                    (true, false) => (a, b, op == BinOp::Sub),
                    (false, true) if op != BinOp::Sub => (b, a, false),
                    _ => return None,
                };
                let op = match op {
                    BinOp::And | BinOp::Or | BinOp::Xor => op,
                    BinOp::Ne if is_bool && self.func.ty(by).elem == Elem::Bool => BinOp::Xor,
                    BinOp::Sub if !is_bool && !is_real => BinOp::Add,
                    BinOp::Add | BinOp::Mul if !is_bool && !is_real => op,
                    BinOp::Min | BinOp::Max if !is_bool => op,
                    _ => return None,
                };
                self.combines(op)?;
                self.dead.insert(inst);
                let rest = Box::new(self.term(rest, kept)?);
                Some(Term::Combined { rest, by, is_less })
            }
            Op::Select { cond, then, els } if self.touched.contains(&cond) => {
                let (op, by) = self.extreme(cond, then, els)?;
                self.combines(op)?;
                self.dead.extend([inst, self.defs.inst(cond)?]);
                *kept += 2;
                Some(Term::Combined { rest: Box::new(Term::Kept), by, is_less: false })
            }
            Op::Select { cond, then, els } => {
                self.dead.insert(inst);
                Some(Term::Chosen { cond, arms: Box::new([self.term(then, kept)?, self.term(els, kept)?]) })
            }
            Op::If { cond, then, els } if !self.touched.contains(&cond) => {
                let result = result as usize;
                let [then, els] = [then, els].map(|arm| self.func.regions[arm].yields[result]);
                let arms = Box::new([self.term(then, kept)?, self.term(els, kept)?]);
                Some(Term::Branch { inst, result, arms })
            }
            _ => None,
        }
    }

    /// `x < total ? x : total` and the like.
    fn extreme(&self, cond: Value, then: Value, els: Value) -> Option<(BinOp, Value)> {
        let Some(Op::Bin(op, a, b)) = self.defs.op(self.func, cond) else { return None };
        let least = match op {
            BinOp::Lt | BinOp::Le => true,
            BinOp::Gt | BinOp::Ge => false,
            _ => return None,
        };
        // Whether the smaller one is chosen.
        let takes_least = match (then, els) {
            _ if (then, els) == (*a, *b) => least,
            _ if (then, els) == (*b, *a) => !least,
            _ => return None,
        };
        let by = if *a == self.param { *b } else { *a };
        let is_plain = (*a == self.param) != (*b == self.param) && !self.touched.contains(&by);
        (is_plain && self.places.uses(cond).len() == 1)
            .then_some((if takes_least { BinOp::Min } else { BinOp::Max }, by))
    }
}

fn rewrite(func: &mut Func, defs: &mut Defs, places: &Places, (region, inst): (Region, Inst), found: &Found) {
    let Op::Loop { init, body } = func.insts[inst].op.clone() else { return };
    let InstData { span, results: old, .. } = func.insts[inst].clone();
    let types: Vec<Ty> = old.iter().map(|v| func.ty(*v).clone()).collect();
    let whole = found.keeps_loop().then(|| Copier::within(func, body).region(func, body));
    let is_real = found.totals.iter().any(Total::is_real);

    let mut fold = Vec::new();
    let mut e = Emitter { func, defs, out: &mut fold, span };
    let end = found.trip.emit_last(&mut e, found.is_ordered || found.least.is_some());
    let results = make_fold(&mut e, places, (body, found.trip.start, end), found);
    // By position among the carried values.
    let mut made = old.clone();
    made[found.trip.counter] = end;
    for (total, result) in found.totals.iter().zip(results) {
        made[total.carried] = result;
    }

    let mut out = Vec::new();
    // What is no extreme of reals is combined with the first value behind everything, so that a loop around sees what is added.
    let mut sound = None;
    if is_real {
        let mut e = Emitter { func, defs, out: &mut fold, span };
        for total in &found.totals {
            let k = total.carried;
            made[k] = e.emit(Op::Bin(total.op, init[k], made[k]), types[k].clone());
            if total.is_real() {
                let holds = is_sound(&mut e, total, init[k], made[k]);
                sound = Some(match sound {
                    Some(all) => e.emit(Op::Bin(BinOp::And, all, holds), Ty::scalar(Elem::Bool)),
                    None => holds,
                });
            }
        }
    }
    if let Some(least) = found.least {
        let mut e = Emitter { func, defs, out: &mut out, span };
        let cond = found.trip.emit_is_long(&mut e, least);
        let mut few = Vec::new();
        let mut e = Emitter { func, defs, out: &mut few, span };
        let mut first = init.clone();
        for total in &found.totals {
            first[total.carried] = e.constant(total.unit);
        }
        let (mut thens, mut types) = (made.clone(), types.clone());
        let elses = match (sound, whole) {
            (None, Some(whole)) => emit_loop(&mut e, first, whole, &types),
            (sound, _) => {
                let never = e.constant(Scalar::Bool(false));
                first.push(never);
                thens.extend(sound);
                types.push(Ty::scalar(Elem::Bool));
                first
            }
        };
        made = emit_if(func, defs, &mut out, cond, [(fold, thens), (few, elses)], (&types, span));
        if sound.is_some() {
            sound = made.pop();
        }
    } else {
        out = fold;
    }
    match (sound, whole) {
        (Some(sound), Some(whole)) => {
            let mut again = Vec::new();
            let results = emit_loop(&mut Emitter { func, defs, out: &mut again, span }, init, whole, &types);
            made = emit_if(func, defs, &mut out, sound, [(Vec::new(), made), (again, results)], (&types, span));
        }
        _ => {
            let mut e = Emitter { func, defs, out: &mut out, span };
            for total in &found.totals {
                let k = total.carried;
                made[k] = e.emit(Op::Bin(total.op, init[k], made[k]), types[k].clone());
            }
        }
    }
    substitute(func, region, inst, out, made);
}

/// Makes a loop's body that of a fold over the indices from `start` below `end`; gives the totals without their first values.
fn make_fold(
    e: &mut Emitter,
    places: &Places,
    (body, start, end): (Region, Value, Value),
    found: &Found,
) -> Vec<Value> {
    let span = e.span;
    let yields = found.totals.iter();
    let yields = yields.map(|total| Terms { func: e.func, defs: e.defs, total, span }.emit(body, &total.term));
    let yields = yields.collect();
    for &dead in &found.dead {
        if let Some(region) = places.region_of[dead].expand() {
            drop_inst(e.func, region, dead);
        }
    }
    let data = &mut e.func.regions[body];
    data.params = vec![data.params[found.trip.counter]];
    data.yields = yields;
    let (mut ops, mut types) = (Vec::new(), Vec::new());
    for total in &found.totals {
        let neutral = e.constant(total.unit);
        ops.push(WithOp::Fold { neutral, combine: Combine::Op(total.op), stop: None });
        types.push(Ty::scalar(total.unit.elem()));
    }
    let generator = Generator::Known { lower: vec![start], upper: vec![end], step: None, width: None };
    let with = With { parts: vec![Part { generator, body }], ops, ordered: false };
    emit_results(e, Op::With(with), types)
}

fn emit_loop(e: &mut Emitter, init: Vec<Value>, body: Region, types: &[Ty]) -> Vec<Value> {
    emit_results(e, Op::Loop { init, body }, types.to_vec())
}

fn emit_results(e: &mut Emitter, op: Op, types: Vec<Ty>) -> Vec<Value> {
    let inst = e.func.make_inst(op, types, e.span);
    e.defs.add_inst(e.func, inst);
    e.out.push(inst);
    e.func.insts[inst].results.clone()
}

/// A branch whose sides are given by what they do and yield.
fn emit_if(
    func: &mut Func,
    defs: &mut Defs,
    out: &mut Vec<Inst>,
    cond: Value,
    sides: [(Vec<Inst>, Vec<Value>); 2],
    (types, span): (&[Ty], Span),
) -> Vec<Value> {
    let [then, els] = sides.map(|(insts, yields)| func.regions.push(RegionData { params: Vec::new(), insts, yields }));
    emit_results(&mut Emitter { func, defs, out, span }, Op::If { cond, then, els }, types.to_vec())
}

/// Whether the extreme of reals is what the loop would have found: nothing was no number, and it is not one of two zeros.
fn is_sound(e: &mut Emitter, total: &Total, first: Value, all: Value) -> Value {
    let truth = Ty::scalar(Elem::Bool);
    let zero = Scalar::from_i64(total.unit.elem(), 0).unwrap_or(total.unit);
    let zero = e.constant(zero);
    let bound = e.constant(total.suspect());
    let is_number = e.emit(Op::Bin(BinOp::Eq, first, first), truth.clone());
    let is_signed = e.emit(Op::Bin(BinOp::Ne, all, zero), truth.clone());
    let is_finite = e.emit(Op::Bin(BinOp::Ne, all, bound), truth.clone());
    let both = e.emit(Op::Bin(BinOp::And, is_number, is_signed), truth.clone());
    e.emit(Op::Bin(BinOp::And, both, is_finite), truth)
}

/// What the totals of a loop become in its body.
struct Terms<'a> {
    func: &'a mut Func,
    defs: &'a mut Defs,
    total: &'a Total,
    span: Span,
}

impl Terms<'_> {
    /// Adds an operation to the end of a region.
    fn push(&mut self, region: Region, op: Op) -> Value {
        let mut out = Vec::new();
        let elem = if matches!(op, Op::Bin(BinOp::Eq, ..)) { Elem::Bool } else { self.total.unit.elem() };
        let ty = Ty::scalar(elem);
        let v = Emitter { func: self.func, defs: self.defs, out: &mut out, span: self.span }.emit(op, ty);
        self.func.regions[region].insts.extend(out);
        v
    }

    /// Adds what an iteration combines the total with to the end of a region.
    fn emit(&mut self, region: Region, term: &Term) -> Value {
        match term {
            Term::Kept => self.push(region, Op::Const(self.total.unit)),
            Term::Decided(v) => *v,
            Term::Combined { rest, by, is_less } => {
                let by = if *is_less {
                    let zero = self.push(region, Op::Const(self.total.unit));
                    self.push(region, Op::Bin(BinOp::Sub, zero, *by))
                } else if self.total.is_real() {
                    let cond = self.push(region, Op::Bin(BinOp::Eq, *by, *by));
                    let els = self.push(region, Op::Const(self.total.suspect()));
                    self.push(region, Op::Select { cond, then: *by, els })
                } else {
                    *by
                };
                if matches!(**rest, Term::Kept) {
                    return by;
                }
                let rest = self.emit(region, rest);
                self.push(region, Op::Bin(self.total.op, rest, by))
            }
            Term::Chosen { cond, arms } => {
                let [then, els] = [0, 1].map(|k| self.emit(region, &arms[k]));
                self.push(region, Op::Select { cond: *cond, then, els })
            }
            Term::Branch { inst, result, arms } => {
                if let Op::If { then, els, .. } = self.func.insts[*inst].op {
                    for (arm, term) in [then, els].into_iter().zip(arms.iter()) {
                        let v = self.emit(arm, term);
                        self.func.regions[arm].yields[*result] = v;
                    }
                }
                self.func.insts[*inst].results[*result]
            }
        }
    }
}
