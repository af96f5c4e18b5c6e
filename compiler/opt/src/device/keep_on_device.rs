//! Scalars that a loop gathers from with-loops become arrays of one element, for devices.
//!
//! ```text
//!    loop (%total: f64 = %z, ...) { %g: f32[9], %s: f32 = with {...} fold ... fold add neutral %n
//!                                   %c: f64 = convert %s   %t: f64 = add %total, %c   yield %go, %t, ... }
//! => loop (%total: f64[1] = [%z], ...) { %g: f32[9], %s: f32[1] = with {...} fold ... fold add neutral [%n]
//!                                   %t: f64[1] = with { [0] <= [%k] < [1] { %total[%k] + convert %s[%k] } } genarray [1]   ... }
//! ```
//!
//! Before: optimised, for a device that keeps arrays between launches; a scalar that the host computes with would have to be fetched in
//! every iteration, and the host would wait for it. After: what a with-loop with arrays among its results folds to scalars, and the loop only
//! gathers, stays with the arrays.
//! Leaves alone: scalars that anything else needs within the loop, folds with functions of their own.
//! Worth: examples/mnist/zhang (with a device: a scalar less to fetch in every iteration).

use std::collections::BTreeSet;

use crate::edit::{insert_after, insert_before, loops_of};
use crate::facts::places::{Places, Use};
use crate::pass::{Context, Pass};
use ravel_source::Span;
use ravel_types::{Elem, Scalar, Shape, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, InstData, Op, Part, Region, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("keep-on-device", "gather scalars of with-loops in arrays of one element", keep_on_device);

/// What becomes a with-loop of one index.
struct Gathered {
    region: Region,
    the_loop: Inst,
    with: Inst,
    /// Which operator's result is the scalar.
    op: usize,
    /// The computations that follow it, in program order.
    chain: BTreeSet<Inst>,
    /// Positions of the carried values that the loop gathers.
    carried: BTreeSet<usize>,
}

pub fn keep_on_device(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    while let Some(found) = find(func) {
        cx.applied(func.insts[found.with].span, "a scalar that the loop around gathers stays on the device");
        rewrite(func, &found);
        changed = true;
    }
    changed
}

fn find(func: &Func) -> Option<Gathered> {
    let places = Places::new(func);
    let loops = loops_of(func);
    for (region, the_loop) in loops {
        let Op::Loop { body, .. } = func.insts[the_loop].op else { continue };
        for &with in &func.regions[body].insts {
            let Op::With(w) = &func.insts[with].op else { continue };
            let results = &func.insts[with].results;
            if w.ordered || results.iter().all(|v| func.ty(*v).is_scalar()) {
                continue;
            }
            for (op, &scalar) in results.iter().enumerate() {
                let plain = matches!(&w.ops[op], WithOp::Fold { combine: Combine::Op(_), stop: None, neutral } if func.ty(*neutral).is_scalar());
                if !plain || !func.ty(scalar).is_scalar() || func.ty(scalar).elem == Elem::Handle {
                    continue;
                }
                let mut gathered =
                    Gathered { region, the_loop, with, op, chain: BTreeSet::new(), carried: BTreeSet::new() };
                if follow(func, &places, body, scalar, &mut gathered) && !gathered.carried.is_empty() {
                    return Some(gathered);
                }
            }
        }
    }
    None
}

/// Does every use of a scalar end in a carried value that nothing else uses?
fn follow(func: &Func, places: &Places, body: Region, scalar: Value, found: &mut Gathered) -> bool {
    let mut waiting = vec![scalar];
    while let Some(v) = waiting.pop() {
        for used in places.uses(v) {
            match *used {
                Use::Operand(user) => {
                    let data = &func.insts[user];
                    let pure = matches!(data.op, Op::Bin(..) | Op::Un(..) | Op::Convert(_));
                    let scalars =
                        data.results.iter().all(|r| func.ty(*r).is_scalar() && func.ty(*r).elem != Elem::Handle);
                    if !pure || !scalars || places.home(user) != Some(body) {
                        return false;
                    }
                    if found.chain.insert(user) {
                        waiting.extend(&data.results);
                    }
                }
                Use::Yield(region) if region == body => {
                    for (k, _) in func.regions[body].yields.iter().enumerate().filter(|(_, y)| **y == v) {
                        let Some(k) = k.checked_sub(1) else { return false };
                        let param = func.regions[body].params[k];
                        if func.ty(param) != func.ty(v) {
                            return false;
                        }
                        if found.carried.insert(k) {
                            waiting.push(param);
                        }
                    }
                }
                Use::Yield(_) => return false,
            }
        }
    }
    // A carried value must be gathered, not handed on unchanged or the fold's result itself.
    found.carried.iter().all(|k| {
        let next = func.regions[body].yields[k + 1];
        found.chain.iter().any(|inst| func.insts[*inst].results.contains(&next))
    })
}

fn one_element(elem: Elem) -> Ty {
    Ty::new(elem, Shape::of(&[1]))
}

fn rewrite(func: &mut Func, found: &Gathered) {
    let Op::Loop { body, .. } = func.insts[found.the_loop].op else { return };
    let span = func.insts[found.with].span;
    let order: Vec<Inst> = func.regions[body].insts.iter().copied().filter(|inst| found.chain.contains(inst)).collect();
    // The with-loop folds to an array of one element.
    let scalar = func.insts[found.with].results[found.op];
    let kept = func.new_value(one_element(func.ty(scalar).elem));
    let Op::With(mut with) = func.insts[found.with].op.clone() else { return };
    if let WithOp::Fold { neutral, .. } = &mut with.ops[found.op] {
        let (made, array) = array_of(func, *neutral, span);
        insert_before(func, body, found.with, [made]);
        *neutral = array;
    }
    for part in &with.parts {
        let cell = func.regions[part.body].yields[found.op];
        let (made, cell) = array_of(func, cell, span);
        func.regions[part.body].insts.push(made);
        func.regions[part.body].yields[found.op] = cell;
    }
    func.insts[found.with].op = Op::With(with);
    func.insts[found.with].results[found.op] = kept;
    // Carried values do too; what they come to is read when the loop has ended.
    let mut arrays = vec![(scalar, kept)];
    for &k in &found.carried {
        let param = func.regions[body].params[k];
        let array = func.new_value(one_element(func.ty(param).elem));
        func.regions[body].params[k] = array;
        arrays.push((param, array));
        if let Op::Loop { init, .. } = func.insts[found.the_loop].op.clone() {
            let (made, start) = array_of(func, init[k], span);
            insert_before(func, found.region, found.the_loop, [made]);
            if let Op::Loop { init, .. } = &mut func.insts[found.the_loop].op {
                init[k] = start;
            }
        }
        let result = func.insts[found.the_loop].results[k];
        let array = func.new_value(one_element(func.ty(result).elem));
        func.insts[found.the_loop].results[k] = array;
        let zero = func.make_inst(Op::Const(Scalar::I32(0)), vec![Ty::scalar(Elem::I32)], span);
        let index = vec![func.insts[zero].results[0]];
        let read = func.insts.push(InstData { op: Op::Sel { array, index }, results: vec![result], span });
        insert_after(func, found.region, found.the_loop, [zero, read]);
    }
    // The chain moves into a with-loop of one index.
    let cell = func.new_region();
    let index = func.add_param(cell, Ty::scalar(Elem::I32));
    for (old, array) in arrays {
        let read = func.insts.push(InstData { op: Op::Sel { array, index: vec![index] }, results: vec![old], span });
        func.regions[cell].insts.push(read);
    }
    func.regions[cell].insts.extend(&order);
    let bound = |func: &mut Func, k: i32| func.make_inst(Op::Const(Scalar::I32(k)), vec![Ty::scalar(Elem::I32)], span);
    let (zero, one) = (bound(func, 0), bound(func, 1));
    let (low, high) = (func.insts[zero].results[0], func.insts[one].results[0]);
    let mut ops = Vec::new();
    let mut types = Vec::new();
    for &k in &found.carried {
        let next = func.regions[body].yields[k + 1];
        func.regions[cell].yields.push(next);
        types.push(one_element(func.ty(next).elem));
        ops.push(WithOp::Genarray { frame: Frame::Known(vec![high]), cell: Some(Vec::new()), default: None });
    }
    let generator = Generator::Known { lower: vec![low], upper: vec![high], step: None, width: None };
    let with = With { parts: vec![Part { generator, body: cell }], ops, ordered: false };
    let gather = func.make_inst(Op::With(with), types, span);
    let results = func.insts[gather].results.clone();
    for (&k, result) in found.carried.iter().zip(results) {
        func.regions[body].yields[k + 1] = result;
    }
    if let Some(last) = order.last() {
        insert_after(func, body, *last, [zero, one, gather]);
    }
    func.regions[body].insts.retain(|inst| !found.chain.contains(inst));
}

/// An array of one element.
fn array_of(func: &mut Func, v: Value, span: Span) -> (Inst, Value) {
    let ty = one_element(func.ty(v).elem);
    let inst = func.make_inst(Op::Array(vec![v]), vec![ty], span);
    (inst, func.insts[inst].results[0])
}
