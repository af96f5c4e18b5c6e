//! Loops of functions that keep few states become loops over segments.
//!
//! ```text
//!    func @f checkpoint 10 .. loop (%x = %a, %i = 0) { .. yield %i' < %n, %x', %i' }
//! => loop (%x = %a, %i = 0, %s = 0) { %x', %i' = call @segment (%x, %i, %n / 10, ..)  yield %s' < 10, %x', %i', %s' }
//!    func @segment recompute .. loop .. { .. yield %i' < min(%n, %i + %n / 10), %x', %i' }
//! ```
//!
//! A segment runs again when its cotangents are there, so that the outer loop keeps what each of them begins with, and the tapes of one are there at a time.
//! A loop whose iterations nobody can count is cut after every `n` of them.
//!
//! Leaves alone: loops that change the shapes of what they carry, and those inside of with-loops and other loops.

use crate::edit::{Defs, Emitter, insert_before, syms_of};
use crate::loops::nest::Trip;
use ravel_types::{BinOp, Elem, HashSet, Scalar, Ty};
use ravel_wir::traverse::free_values;
use ravel_wir::{Func, FuncId, Inst, Module, Op, Region, RegionData, Rules, Value};

pub fn cut_loops(module: &mut Module) {
    for number in 0..module.funcs.len() {
        let id = FuncId::from_u32(number as u32);
        let Some(states) = module.funcs[id].rules.checkpoint.take() else { continue };
        let mut found = Vec::new();
        let func = &module.funcs[id];
        outermost(func, func.body, &mut found);
        for (home, inst) in found {
            let next = FuncId::from_u32(module.funcs.len() as u32);
            if let Some(segment) = cut(&mut module.funcs[id], next, (home, inst), states) {
                module.funcs.push(segment);
            }
        }
    }
}

fn outermost(func: &Func, region: Region, found: &mut Vec<(Region, Inst)>) {
    for &inst in &func.regions[region].insts {
        match &func.insts[inst].op {
            Op::Loop { .. } => found.push((region, inst)),
            Op::If { then, els, .. } => [then, els].into_iter().for_each(|branch| outermost(func, *branch, found)),
            _ => {}
        }
    }
}

/// Cuts a loop into so many segments, which the function that is given runs one at a time.
fn cut(func: &mut Func, segment: FuncId, (home, inst): (Region, Inst), states: u32) -> Option<Func> {
    let Op::Loop { init, body } = func.insts[inst].op.clone() else { return None };
    let trip = Trip::of(func, &Defs::new(func), inst);
    let mut captured: Vec<Value> = free_values(func, body).into_iter().collect();
    captured.sort();
    let params = func.regions[body].params.clone();
    let types: Vec<Ty> = params.iter().map(|v| func.ty(*v).clone()).collect();
    let around: HashSet<_> = init.iter().chain(&captured).flat_map(|v| syms_of(func.ty(*v))).collect();
    if !types.iter().flat_map(syms_of).all(|sym| around.contains(&sym)) {
        return None;
    }
    let made = run(func, body, &captured, trip);
    let span = func.insts[inst].span;
    let states = i32::try_from(states).unwrap_or(i32::MAX);
    let (mut defs, mut front) = (Defs::new(func), Vec::new());
    let mut e = Emitter { func, defs: &mut defs, out: &mut front, span };
    let (zero, one, states) = (e.int(0), e.int(1), e.int(states));
    // How many iterations a segment has, and how many segments there are.
    let (length, segments) = match trip {
        Some(trip) => {
            let last = e.distance(trip.start, &trip);
            let last = e.int_op(BinOp::Sub, last, one);
            let last = e.int_op(BinOp::Max, last, zero);
            let length = e.int_op(BinOp::Div, last, states);
            let length = e.int_op(BinOp::Add, length, one);
            let segments = e.int_op(BinOp::Div, last, length);
            (length, Some(e.int_op(BinOp::Add, segments, one)))
        }
        None => (states, None),
    };
    let outer = func.regions.push(RegionData::default());
    let carried: Vec<Value> = types.iter().map(|ty| func.add_param(outer, ty.clone())).collect();
    let number = func.add_param(outer, Ty::scalar(Elem::I32));
    let args = carried.iter().chain([&length]).chain(&captured).copied().collect();
    let mut results = types.clone();
    results.extend(segments.is_none().then(|| Ty::scalar(Elem::Bool)));
    let call = func.make_inst(Op::Call { func: segment, args }, results, span);
    let mut next = func.insts[call].results.clone();
    let mut insts = vec![call];
    let mut e = Emitter { func, defs: &mut defs, out: &mut insts, span };
    let one = e.int(1);
    let after = e.int_op(BinOp::Add, number, one);
    let more = match segments {
        Some(segments) => e.int_op(BinOp::Lt, after, segments),
        None => next.pop()?,
    };
    next.push(after);
    let yields = [more].into_iter().chain(next).collect();
    func.regions[outer].insts = insts;
    func.regions[outer].yields = yields;
    insert_before(func, home, inst, front);
    let counted = func.new_value(Ty::scalar(Elem::I32));
    let data = &mut func.insts[inst];
    data.op = Op::Loop { init: init.into_iter().chain([zero]).collect(), body: outer };
    data.results.push(counted);
    Some(made)
}

/// A function that runs iterations of a loop: of what is carried, how many there are to be, and what the body reads beside that. It gives what is
/// carried then; and whether there are more, of a loop that does not count.
fn run(func: &Func, body: Region, captured: &[Value], trip: Option<Trip>) -> Func {
    let mut func = func.clone();
    let span = func.span;
    let params = func.regions[body].params.clone();
    let types: Vec<Ty> = params.iter().map(|v| func.ty(*v).clone()).collect();
    let outer = func.regions.push(RegionData::default());
    let mut init: Vec<Value> = types.iter().map(|ty| func.add_param(outer, ty.clone())).collect();
    let length = func.add_param(outer, Ty::scalar(Elem::I32));
    func.regions[outer].params.extend(captured);
    let (mut defs, mut front, mut end) = (Defs::new(&func), Vec::new(), Vec::new());
    let goes_on = func.regions[body].yields[0];
    let mut results = types;
    match trip {
        Some(trip) => {
            let mut e = Emitter { func: &mut func, defs: &mut defs, out: &mut front, span };
            let start = init[trip.counter];
            let rest = e.distance(start, &trip);
            let is_last = e.int_op(BinOp::Le, rest, length);
            let far = e.int_op(if trip.step > 0 { BinOp::Add } else { BinOp::Sub }, start, length);
            let last = e.here(trip.end);
            let stop = e.emit(Op::Select { cond: is_last, then: last, els: far }, Ty::scalar(Elem::I32));
            let next = func.regions[body].yields[trip.counter + 1];
            let mut e = Emitter { func: &mut func, defs: &mut defs, out: &mut end, span };
            let more = e.int_op(if trip.step > 0 { BinOp::Lt } else { BinOp::Gt }, next, stop);
            func.regions[body].yields[0] = more;
        }
        None => {
            let mut e = Emitter { func: &mut func, defs: &mut defs, out: &mut front, span };
            init.extend([e.constant(Scalar::Bool(true)), e.int(0)]);
            func.add_param(body, Ty::scalar(Elem::Bool));
            let number = func.add_param(body, Ty::scalar(Elem::I32));
            let mut e = Emitter { func: &mut func, defs: &mut defs, out: &mut end, span };
            let one = e.int(1);
            let after = e.int_op(BinOp::Add, number, one);
            let fits = e.int_op(BinOp::Lt, after, length);
            let more = e.emit(Op::Bin(BinOp::And, goes_on, fits), Ty::scalar(Elem::Bool));
            func.regions[body].yields[0] = more;
            func.regions[body].yields.extend([goes_on, after]);
            results.extend([Ty::scalar(Elem::Bool), Ty::scalar(Elem::I32)]);
        }
    }
    func.regions[body].insts.extend(end);
    let inst = func.make_inst(Op::Loop { init, body }, results, span);
    let mut yields = func.insts[inst].results.clone();
    if trip.is_none() {
        yields.pop();
    }
    front.push(inst);
    func.regions[outer].insts = front;
    func.regions[outer].yields = yields;
    func.body = outer;
    func.name.push_str("'segment");
    func.rules = Rules { recompute: true, ..Rules::default() };
    func
}

impl Emitter<'_> {
    /// How far the end of a loop is from a counter.
    fn distance(&mut self, counter: Value, trip: &Trip) -> Value {
        let (counter, end) = (self.here(counter), self.here(trip.end));
        let (low, high) = if trip.step > 0 { (counter, end) } else { (end, counter) };
        self.int_op(BinOp::Sub, high, low)
    }
}
