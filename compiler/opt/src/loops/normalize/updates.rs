//! Updates of one element that follow each other, or that a branch makes or does not, become one.
//!
//! ```text
//!    %b = update %a, [%i], %x   %c = update %b, [%i], %y           =>  %c = update %a, [%i], %y
//!    %x = sel %a, [%i]          %b = update %a, [%i], %x           =>  %a
//!    %b = if %c { %u = update %a, [%i], %x  yield %u } else { yield %a }
//! => %o = sel %a, [%i]   %v = if %c { yield %x } else { yield %o }   %b = update %a, [%i], %v
//! ```
//!
//! An iteration that writes its element once, whatever happens, is independent of others (`parallelize-loops`), and lanes can choose what they write.
//! Refuses: arrays between two updates that something else needs; branches with loops, effects or checks, outside of loops, or whose other
//! arm has no element there, or that make scalars as well; and elements at places that do not move with the loop, which might rarely be written.

use crate::edit::{Defs, has_loop, insert_after, insert_before};
use crate::facts::effects::region_has_effect;
use crate::facts::linear::Lin;
use crate::facts::places::{Places, Use, same_int};
use crate::pass::Context;
use ravel_types::BinOp;
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Inst, Op, Region, Value};

/// Merges updates; whether there were any to merge.
pub fn merge(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    loop {
        let (mut updates, mut branches) = (Vec::new(), Vec::new());
        walk(func, func.body, &mut |_, inst| match &func.insts[inst].op {
            Op::Update { .. } => updates.push(inst),
            Op::If { .. } => branches.push(inst),
            _ => {}
        });
        if updates.is_empty() {
            return changed;
        }
        let (defs, places) = (Defs::new(func), Places::new(func));
        let merged = updates.iter().any(|inst| overwrite(func, &defs, &places, *inst))
            || updates.iter().any(|inst| keep(func, &defs, *inst))
            // Inner branches come behind those around them.
            || branches.iter().rev().any(|inst| {
                let Some(found) = conditional(func, &defs, &places, *inst, cx) else { return false };
                cx.applied(func.insts[*inst].span, "an element that a branch may replace is written once");
                write_once(func, *inst, found);
                true
            });
        if !merged {
            return changed;
        }
        changed = true;
    }
}

fn same_place(func: &Func, defs: &Defs, a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y || same_int(func, defs, *x, *y))
}

/// An update whose element the next one replaces, and that nothing else needs, is passed over.
fn overwrite(func: &mut Func, defs: &Defs, places: &Places, inst: Inst) -> bool {
    let Op::Update { array, index, .. } = &func.insts[inst].op else { return false };
    let Some(Op::Update { array: source, index: before, .. }) = defs.op(func, *array) else { return false };
    if places.uses(*array).len() != 1 || !same_place(func, defs, index, before) {
        return false;
    }
    // The array may have been carried to another iteration or branch in between.
    if defs.inst(*array).is_none_or(|first| places.region_of[first] != places.region_of[inst]) {
        return false;
    }
    let source = *source;
    if let Op::Update { array, .. } = &mut func.insts[inst].op {
        *array = source;
    }
    true
}

/// An update that writes what is there is the array itself.
fn keep(func: &mut Func, defs: &Defs, inst: Inst) -> bool {
    let Op::Update { array, index, value } = &func.insts[inst].op else { return false };
    let Some(Op::Sel { array: from, index: read }) = defs.op(func, *value) else { return false };
    let (array, result) = (*array, func.insts[inst].results[0]);
    if *from != array || !same_place(func, defs, index, read) || func.ty(array) != func.ty(result) {
        return false;
    }
    let mut places = Places::new(func);
    if places.uses(result).is_empty() {
        return false;
    }
    places.rename(func, result, array);
    true
}

/// An element that the arms of a branch leave as it is or replace.
struct Conditional {
    /// Which result of the branch is the array.
    result: usize,
    array: Value,
    index: Vec<Value>,
    /// What each arm writes; nothing if it leaves the element.
    values: [Option<Value>; 2],
}

fn conditional(func: &Func, defs: &Defs, places: &Places, inst: Inst, cx: &Context) -> Option<Conditional> {
    let Op::If { then, els, .. } = &func.insts[inst].op else { return None };
    let arms = [*then, *els];
    if arms.iter().any(|arm| has_loop(func, *arm) || region_has_effect(func, *arm, cx)) {
        return None;
    }
    // A scalar that the branch makes as well is carried, as a count is, and keeps the iterations in order: then a jump costs less.
    let results = &func.insts[inst].results;
    if results.iter().any(|v| func.ty(*v).is_scalar() && !places.uses(*v).is_empty()) {
        return None;
    }
    (0..results.len()).find_map(|result| {
        let used = places.uses(func.insts[inst].results[result]);
        if !matches!(used, [Use::Yield(region)] if places.region_of[inst].expand() == Some(*region)) {
            return None;
        }
        let written = arms.map(|arm| written(func, defs, places, arm, func.regions[arm].yields[result]));
        let (array, index) = match &written {
            [Some(w), _] | [None, Some(w)] => (w.0, w.1.clone()),
            [None, None] => return None,
        };
        let mut values = [None; 2];
        for (n, arm) in arms.iter().enumerate() {
            match &written[n] {
                Some((of, at, value)) if *of == array && same_place(func, defs, at, &index) => values[n] = Some(*value),
                None if func.regions[*arm].yields[result] == array => {}
                _ => return None,
            }
        }
        let walks = walks_along(func, places, inst, array, &index);
        let exists = values.iter().all(Option::is_some) || has_element(func, defs, places, inst, array, &index);
        (walks && exists).then_some(Conditional { result, array, index, values })
    })
}

/// The update of one scalar that an arm ends with: array and index, which are from outside the arm, and value.
fn written(func: &Func, defs: &Defs, places: &Places, arm: Region, array: Value) -> Option<(Value, Vec<Value>, Value)> {
    let inst = defs.inst(array).filter(|inst| places.region_of[*inst].expand() == Some(arm))?;
    let Op::Update { array: source, index, value } = &func.insts[inst].op else { return None };
    let inside = |v: &Value| {
        defs.inst(*v).is_some_and(|made| {
            places.region_of[made].expand().is_none_or(|region| region == arm || places.path(region, arm).is_some())
        })
    };
    let plain = places.uses(array).len() == 1
        && func.ty(*value).is_scalar()
        && func.ty(*source) == func.ty(array)
        && !inside(source)
        && !index.iter().any(inside);
    plain.then(|| (*source, index.clone(), *value))
}

/// Does the loop around a branch carry the array, and is its counter part of the index?
fn walks_along(func: &Func, places: &Places, inst: Inst, array: Value, index: &[Value]) -> bool {
    let mut at = inst;
    while let Some(owner) = places.region_of[at].expand().and_then(|region| places.owner[region].expand()) {
        match &func.insts[owner].op {
            Op::If { .. } => at = owner,
            Op::Loop { body, .. } => {
                let params = &func.regions[*body].params;
                return params.contains(&array) && index.iter().any(|i| params.contains(i));
            }
            _ => return false,
        }
    }
    false
}

/// Is it certain before a branch that the array has an element there?
fn has_element(func: &Func, defs: &Defs, places: &Places, inst: Inst, array: Value, index: &[Value]) -> bool {
    let Some(extents) = func.ty(array).shape.extents() else { return false };
    let mut ranges = places.ranges_at(func, defs, inst);
    extents.len() == index.len()
        && index.iter().zip(extents).all(|(i, extent)| {
            let (extent, i) = (ranges.extent(extent), ranges.form(func, defs, *i));
            ranges.compare(BinOp::Ge, &i, &Lin::constant(0)) == Some(true)
                && ranges.compare(BinOp::Lt, &i, &extent) == Some(true)
        })
}

fn write_once(func: &mut Func, inst: Inst, found: Conditional) {
    let Conditional { result, array, index, values } = found;
    let Op::If { then, els, .. } = func.insts[inst].op else { return };
    let span = func.insts[inst].span;
    let region = region_of(func, inst);
    let value = func.insts[inst].results[result];
    let (whole, cell) = (func.ty(array).clone(), ravel_types::Ty::scalar(func.ty(array).elem));
    let read = func.make_inst(Op::Sel { array, index: index.clone() }, vec![cell.clone()], span);
    let old = func.insts[read].results[0];
    for (arm, written) in [then, els].into_iter().zip(values) {
        func.regions[arm].yields[result] = written.unwrap_or(old);
    }
    func.values[value].ty = cell;
    let write = func.make_inst(Op::Update { array, index, value }, vec![whole], span);
    let new = func.insts[write].results[0];
    for used in &mut func.regions[region].yields {
        if *used == value {
            *used = new;
        }
    }
    insert_after(func, region, inst, [write]);
    if values.iter().any(Option::is_none) {
        insert_before(func, region, inst, [read]);
    }
}

fn region_of(func: &Func, inst: Inst) -> Region {
    Places::new(func).region_of[inst].expand().expect("every instruction is in a region")
}
