//! The element at an index that a loop carries and sometimes replaces is carried with it.
//!
//! ```text
//!    loop (%b = 0, %j = 1) { %x = %a[%j]  %y = %a[%b]  %c = %x < %y  %n = select %c, %j, %b  yield ..., %n, %j + 1 }
//! => %e0 = %a[0]
//!    loop (%b = 0, %j = 1, %e = %e0) { %x = %a[%j]  %c = %x < %e  %n = select %c, %j, %b  %f = select %c, %x, %e
//!                                      yield ..., %n, %j + 1, %f }
//! ```
//!
//! Searches for the place of the least or greatest element. The load at a place that only the loop knows waits for the comparison before it,
//! and keeps lanes from the loop.
//!
//! Before: branches that choose are selections; simplified. After: such elements are scalars of the loop.
//! Leaves alone: arrays that the loop changes, indices that are replaced by others than those of elements that the iteration has loaded,
//! selections in branches.
//! Worth: tests/survey/reductions/place-only (6.2 with Cranelift, 5.1 with LLVM).

use crate::edit::{Defs, Emitter, Renames, collect_values, insert_before, loops_of};
use crate::loops::promote::{load, loads_first, remove};
use crate::pass::{Context, Pass};
use ravel_types::HashSet;
use ravel_types::{Elem, Scalar, Ty};
use ravel_wir::{Func, Inst, Op, Region, Value};

pub const PASS: Pass =
    Pass::of("scalar-replacement", "carry the element at an index that a loop carries", scalar_replace);

/// Choices between one index and the next.
const MAX_CHOICES: u32 = 4;

/// What the element at the next index is.
enum Next {
    /// That of this iteration.
    Kept,
    /// One that the iteration has loaded.
    Loaded(Value),
    Choice {
        cond: Value,
        then: Box<Next>,
        els: Box<Next>,
    },
}

impl Next {
    fn is_kept(&self) -> bool {
        match self {
            Next::Kept => true,
            Next::Loaded(_) => false,
            Next::Choice { then, els, .. } => then.is_kept() && els.is_kept(),
        }
    }

    fn emit(&self, e: &mut Emitter, elem: Elem, kept: Value) -> Value {
        match self {
            Next::Kept => kept,
            Next::Loaded(v) => *v,
            Next::Choice { cond, then, els } => {
                let (then, els) = (then.emit(e, elem, kept), els.emit(e, elem, kept));
                e.emit(Op::Select { cond: *cond, then, els }, Ty::scalar(elem))
            }
        }
    }
}

/// A loop and the selections in its body.
struct Search<'a> {
    func: &'a Func,
    defs: &'a Defs,
    init: &'a [Value],
    body: Region,
    inside: HashSet<Value>,
    /// Arrays from outside, indices and elements.
    selections: Vec<(Value, &'a [Value], Value)>,
}

pub fn scalar_replace(func: &mut Func, cx: &mut Context) -> bool {
    let loops = loops_of(func);
    let mut defs = Defs::new(func);
    let mut changed = false;
    for (region, inst) in loops {
        // One at a time: each changes what the loop carries.
        while let Some((array, index, element, next)) = Search::of(func, &defs, inst).and_then(|search| search.chosen())
        {
            cx.applied(func.insts[inst].span, "the loop carries the element at an index that it carries");
            rewrite(func, &mut defs, (region, inst), (array, index, element), &next);
            changed = true;
        }
    }
    changed
}

impl<'a> Search<'a> {
    fn of(func: &'a Func, defs: &'a Defs, inst: Inst) -> Option<Search<'a>> {
        let Op::Loop { init, body } = &func.insts[inst].op else { return None };
        let is_selection = |i: &&Inst| matches!(func.insts[**i].op, Op::Sel { .. });
        if func.regions[*body].insts.iter().filter(is_selection).count() < 2 {
            return None;
        }
        let mut inside = HashSet::default();
        collect_values(func, *body, &mut inside);
        let selections = func.regions[*body].insts.iter().filter_map(|i| match &func.insts[*i].op {
            Op::Sel { array, index } if func.ty(func.insts[*i].results[0]).is_scalar() && !inside.contains(array) => {
                Some((*array, &index[..], func.insts[*i].results[0]))
            }
            _ => None,
        });
        let selections = selections.collect();
        Some(Search { func, defs, init, body: *body, inside, selections })
    }

    /// An array, an index that is carried, the element there, and what it is in the next iteration.
    fn chosen(&self) -> Option<(Value, Vec<Value>, Value, Next)> {
        let data = &self.func.regions[self.body];
        self.selections.iter().find_map(|&(array, index, element)| {
            let next: Vec<Value> = index
                .iter()
                .map(|v| match data.params.iter().position(|p| p == v) {
                    Some(k) => Some(data.yields[k + 1]),
                    None => self.is_fixed(*v).then_some(*v),
                })
                .collect::<Option<_>>()?;
            Scalar::zero(self.func.ty(element).elem)?;
            let next = self.next(array, index, &next, MAX_CHOICES).filter(|next| !next.is_kept())?;
            // A counter's element is loaded anew in every iteration.
            matches!(next, Next::Choice { .. }).then(|| (array, index.to_vec(), element, next))
        })
    }

    fn next(&self, array: Value, index: &[Value], next: &[Value], choices: u32) -> Option<Next> {
        if self.are_same(next, index) {
            return Some(Next::Kept);
        }
        if let Some(loaded) = self.selections.iter().find(|s| s.0 == array && self.are_same(s.1, next)) {
            return Some(Next::Loaded(loaded.2));
        }
        let choices = choices.checked_sub(1)?;
        let select = |v: Value| match self.defs.op(self.func, v) {
            Some(Op::Select { cond, then, els }) if self.inside.contains(&v) => Some((*cond, *then, *els)),
            _ => None,
        };
        let (cond, ..) = next.iter().find_map(|v| select(*v))?;
        let side = |of: fn((Value, Value, Value)) -> Value| -> Vec<Value> {
            next.iter().map(|v| select(*v).filter(|s| s.0 == cond).map_or(*v, of)).collect()
        };
        let then = self.next(array, index, &side(|s| s.1), choices)?;
        let els = self.next(array, index, &side(|s| s.2), choices)?;
        Some(Next::Choice { cond, then: Box::new(then), els: Box::new(els) })
    }

    /// Is this the same in all iterations?
    fn is_fixed(&self, v: Value) -> bool {
        !self.inside.contains(&v) || self.defs.int(self.func, v).is_some()
    }

    fn are_same(&self, a: &[Value], b: &[Value]) -> bool {
        let int = |v: Value| self.defs.int(self.func, v);
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || int(*a).is_some_and(|n| int(*b) == Some(n)))
    }

    /// The index of the first iteration: values from before the loop, or constants.
    fn first(&self, index: &[Value]) -> Vec<Result<Value, i32>> {
        let params = &self.func.regions[self.body].params;
        let value = |v: &Value| match params.iter().position(|p| p == v) {
            Some(k) => Ok(self.init[k]),
            None => self.defs.int(self.func, *v).map_or(Ok(*v), Err),
        };
        index.iter().map(value).collect()
    }
}

fn rewrite(
    func: &mut Func,
    defs: &mut Defs,
    (region, inst): (Region, Inst),
    (array, index, element): (Value, Vec<Value>, Value),
    next: &Next,
) {
    let Some(search) = Search::of(func, defs, inst) else { return };
    let (body, first) = (search.body, search.first(&index));
    let mut init = search.init.to_vec();
    let span = func.insts[inst].span;
    let elem = func.ty(element).elem;
    let zero = Scalar::zero(elem).expect("only such elements are carried");
    let is_safe = loads_first(func, body, |v| v == element);
    let (mut before, mut last) = (Vec::new(), Vec::new());
    let mut e = Emitter { func, defs, out: &mut before, span };
    let first: Vec<Value> = first.into_iter().map(|v| v.unwrap_or_else(|n| e.int(n))).collect();
    init.push(load(func, defs, &mut before, (array, &first, zero), is_safe, span));
    let carried = func.add_param(body, Ty::scalar(elem));
    let mut e = Emitter { func, defs, out: &mut last, span };
    let next = next.emit(&mut e, elem, carried);
    func.regions[body].insts.extend(last);
    func.regions[body].yields.push(next);
    let mut renames = Renames::default();
    renames.set(element, carried);
    renames.apply_region(func, body);
    remove(func, body, &HashSet::from_iter([element]));
    let result = func.new_value(Ty::scalar(elem));
    func.insts[inst].results.push(result);
    func.insts[inst].op = Op::Loop { init, body };
    insert_before(func, region, inst, before);
    defs.add_region(func, region);
}
