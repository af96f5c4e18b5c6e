//! With-loops that copy an array but for some rows, columns or halves become updates of it.
//!
//! ```text
//!    genarray { [0 <= i < m, 0 <= j < n] -> if j == p { f(i) } else { a[i, j] } }
//! => modarray(a) { [0 <= i < m, max(p, 0) <= j < min(n, p + 1)] -> f(i) }
//! ```
//!
//! An update of an array that nobody else needs happens in place: replacing a row costs no more than the row. Of several choices, one in the
//! other, each that computes something becomes an update, with the body as it was but for the conditions that its box settles. So each
//! gives the right elements wherever it is. What reads the array comes first, so that it may happen in place; if several do, they stay together.
//!
//! After: no with-loop over a
//! whole frame of scalar cells that are, outside of boxes known before it, those of an array of the same shape.
//! Leaves alone: conditions that are no comparison of an index with something invariant, and several results at once.

use crate::edit::{Copier, Def, Defs, Emitter, Renames, all_insts, insert_before, mirrored, prepend, push_op};
use crate::facts::{covers_frame, region_has_effect, rewrite_withs};
use crate::pass::Context;
use ravel_types::{BinOp, Elem, HashSet, Scalar, Ty};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

/// Most choices that compute something.
const MAX_BOXES: usize = 4;

/// `index op bound` for an axis of the with-loop.
#[derive(Clone, Copy)]
struct Side {
    axis: usize,
    op: BinOp,
    bound: Value,
}

/// A box in which something is computed.
#[derive(Clone, Default)]
struct Chosen {
    /// Conditions that have an outcome in it.
    known: Vec<(Value, bool)>,
    sides: Vec<Side>,
    /// Whether elements of the array are read for it.
    reads: bool,
}

pub fn update_parts(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_withs(func, |func, defs, _, (region, inst)| {
        let (array, boxes) = recognize(func, defs, inst, cx)?;
        let new = rewrite(func, defs, inst, region, array, &boxes);
        Renames::from_iter([(func.insts[inst].results[0], new)]).apply(func);
        cx.applied(func.insts[inst].span, "only what differs from the array that it copies is computed");
        Some(())
    })
}

/// The array that is copied, and where it is not.
fn recognize(func: &Func, defs: &Defs, inst: Inst, cx: &Context) -> Option<(Value, Vec<Chosen>)> {
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return None };
    let ([part], [WithOp::Genarray { frame: Frame::Known(frame), .. }]) = (&parts[..], &ops[..]) else { return None };
    let [cell] = func.regions[part.body].yields[..] else { return None };
    if frame.is_empty()
        || !func.ty(cell).is_scalar()
        || !covers_frame(func, defs, part, frame)
        || region_has_effect(func, part.body, cx)
    {
        return None;
    }
    let body = Body {
        func,
        defs,
        region: part.body,
        inside: regions_below(func, part.body),
        ty: func.ty(func.insts[inst].results[0]),
    };
    let array = body.first_copied(cell)?;
    let mut boxes = Vec::new();
    body.boxes(cell, array, &Chosen::default(), &mut boxes)?;
    // The first update has the array to itself if the others do not read it.
    boxes.sort_by_key(|chosen| !chosen.reads);
    if boxes.get(1).is_some_and(|second| second.reads) {
        let shared = body.shared(&boxes);
        if !shared.sides.is_empty() {
            boxes = vec![shared];
        }
    }
    (!boxes.is_empty()).then_some((array, boxes))
}

/// The body of a with-loop that may become an update.
struct Body<'a> {
    func: &'a Func,
    defs: &'a Defs,
    region: Region,
    /// It and the regions in it.
    inside: Vec<Region>,
    /// Type of the result.
    ty: &'a Ty,
}

impl Body<'_> {
    /// A value that is defined outside.
    fn is_outside(&self, v: Value) -> bool {
        match self.defs.get(v) {
            Def::Param(region, _) => !self.inside.contains(&region),
            Def::Inst(inst, _) => !self.inside.iter().any(|r| self.func.regions[*r].insts.contains(&inst)),
            Def::None => false,
        }
    }

    /// Invariant, and computed in front of the with-loop if need be.
    fn is_invariant(&self, v: Value) -> bool {
        self.is_outside(v)
            || match self.defs.op(self.func, v) {
                Some(Op::Const(_)) => true,
                Some(Op::Bin(BinOp::Add | BinOp::Sub, a, b)) => self.is_invariant(*a) && self.is_invariant(*b),
                _ => false,
            }
    }

    /// The array from outside whose element at the index a value is.
    fn copied(&self, v: Value) -> Option<Value> {
        let Some(Op::Sel { array, index }) = self.defs.op(self.func, v) else { return None };
        let ty = self.func.ty(*array);
        let same = ty.elem == self.ty.elem && ty.shape == self.ty.shape && ty.rank().is_some();
        (same && *index == self.func.regions[self.region].params && self.is_outside(*array)).then_some(*array)
    }

    /// The same, for the first one among choices.
    fn first_copied(&self, v: Value) -> Option<Value> {
        self.copied(v).or_else(|| {
            let (_, then, els) = self.choice(v)?;
            self.first_copied(then).or_else(|| self.first_copied(els))
        })
    }

    /// Gathers where something else than the elements of `array` is computed; nothing if that may be anywhere.
    fn boxes(&self, v: Value, array: Value, around: &Chosen, found: &mut Vec<Chosen>) -> Option<()> {
        if self.copied(v) == Some(array) {
            return Some(());
        }
        if self.first_copied(v) == Some(array)
            && let Some((cond, then, els)) = self.choice(v)
        {
            for (branch, truth) in [(then, true), (els, false)] {
                let mut inner = around.clone();
                // Other conditions stay in the body.
                if let Some(sides) = self.sides(cond, truth) {
                    inner.known.push((cond, truth));
                    inner.sides.extend(sides);
                }
                self.boxes(branch, array, &inner, found)?;
            }
            return Some(());
        }
        found.push(Chosen { reads: self.reads(v, array), ..around.clone() });
        (!around.sides.is_empty() && found.len() <= MAX_BOXES).then_some(())
    }

    /// Whether elements of `array` are needed for a value.
    fn reads(&self, v: Value, array: Value) -> bool {
        let mut seen = HashSet::default();
        let mut work = vec![v];
        while let Some(v) = work.pop() {
            let Def::Inst(inst, _) = self.defs.get(v) else { continue };
            if v == array || self.is_outside(v) || !seen.insert(inst) {
                continue;
            }
            let op = &self.func.insts[inst].op;
            let mut found = false;
            op.for_each_operand(|operand| {
                found |= operand == array && !matches!(op, Op::Extent { .. });
                work.push(operand);
            });
            for region in op.regions() {
                let free = free_values(self.func, region);
                found |= free.contains(&array);
                work.extend(free);
            }
            if found {
                return true;
            }
        }
        false
    }

    /// The box of the conditions that all have.
    fn shared(&self, boxes: &[Chosen]) -> Chosen {
        let mut shared = Chosen { reads: true, ..Chosen::default() };
        for &(cond, truth) in &boxes[0].known {
            if boxes.iter().all(|chosen| chosen.known.contains(&(cond, truth)))
                && let Some(sides) = self.sides(cond, truth)
            {
                shared.known.push((cond, truth));
                shared.sides.extend(sides);
            }
        }
        shared
    }

    /// `if cond { then } else { els }`.
    fn choice(&self, v: Value) -> Option<(Value, Value, Value)> {
        let Def::Inst(inst, k) = self.defs.get(v) else { return None };
        match &self.func.insts[inst].op {
            Op::Select { cond, then, els } => Some((*cond, *then, *els)),
            Op::If { cond, then, els } => {
                let yielded = |region: Region| self.func.regions[region].yields.get(k as usize).copied();
                Some((*cond, yielded(*then)?, yielded(*els)?))
            }
            _ => None,
        }
    }

    /// The comparisons that make up a condition with this outcome.
    fn sides(&self, cond: Value, truth: bool) -> Option<Vec<Side>> {
        match self.defs.op(self.func, cond)? {
            Op::Bin(BinOp::And, a, b) if truth => {
                let mut sides = self.sides(*a, true)?;
                sides.extend(self.sides(*b, true)?);
                Some(sides)
            }
            Op::Bin(op, a, b) if op.is_comparison() && self.func.ty(*a).elem == Elem::I32 => {
                let axis = |v: Value| self.func.regions[self.region].params.iter().position(|p| *p == v);
                let (axis, op, bound) = match (axis(*a), axis(*b)) {
                    (Some(axis), None) => (axis, *op, *b),
                    (None, Some(axis)) => (axis, mirrored(*op), *a),
                    _ => return None,
                };
                let op = if truth { op } else { negated(op) };
                (op != BinOp::Ne && self.is_invariant(bound)).then(|| vec![Side { axis, op, bound }])
            }
            _ => None,
        }
    }
}

fn regions_below(func: &Func, body: Region) -> Vec<Region> {
    let mut found = vec![body];
    walk(func, body, &mut |_, inst| found.extend(func.insts[inst].op.regions()));
    found
}

fn negated(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Ge,
        BinOp::Le => BinOp::Gt,
        BinOp::Gt => BinOp::Le,
        BinOp::Ge => BinOp::Lt,
        BinOp::Eq => BinOp::Ne,
        BinOp::Ne => BinOp::Eq,
        other => other,
    }
}

/// Updates in front of the with-loop; gives the last one's result.
fn rewrite(func: &mut Func, defs: &mut Defs, inst: Inst, region: Region, array: Value, boxes: &[Chosen]) -> Value {
    let Op::With(with) = func.insts[inst].op.clone() else { return array };
    let part = &with.parts[0];
    let Generator::Known { lower, upper, .. } = &part.generator else { return array };
    let (span, ty) = (func.insts[inst].span, func.ty(func.insts[inst].results[0]).clone());
    let mut out = Vec::new();
    let mut current = array;
    for chosen in boxes {
        let (mut lower, mut upper) = (lower.clone(), upper.clone());
        for side in &chosen.sides {
            let mut e = Emitter { func, defs, out: &mut out, span };
            narrow(&mut e, part.body, side, &mut lower, &mut upper);
        }
        let body = body_with(func, part.body, chosen, span);
        let part = Part { generator: Generator::Known { lower, upper, step: None, width: None }, body };
        let op = Op::With(With { parts: vec![part], ops: vec![WithOp::Modarray { array: current }], ordered: false });
        current = push_op(func, &mut out, op, ty.clone(), span);
    }
    insert_before(func, region, inst, out);
    current
}

/// Narrows the bounds of one axis to a side of a comparison. They stay within those of before.
fn narrow(e: &mut Emitter<'_>, body: Region, side: &Side, lower: &mut [Value], upper: &mut [Value]) {
    let bound = outside(e, body, side.bound);
    let (low, high) = (lower[side.axis], upper[side.axis]);
    // One more than the bound, which may be the largest number: beyond the end it makes no difference.
    let after = |e: &mut Emitter<'_>| {
        let one = e.int(1);
        let last = e.int_op(BinOp::Sub, high, one);
        let capped = e.int_op(BinOp::Min, bound, last);
        let next = e.int_op(BinOp::Add, capped, one);
        e.int_op(BinOp::Max, next, low)
    };
    if matches!(side.op, BinOp::Eq | BinOp::Ge) {
        let capped = e.int_op(BinOp::Min, bound, high);
        lower[side.axis] = e.int_op(BinOp::Max, low, capped);
    }
    if side.op == BinOp::Gt {
        lower[side.axis] = after(e);
    }
    if matches!(side.op, BinOp::Eq | BinOp::Le) {
        upper[side.axis] = after(e);
    }
    if side.op == BinOp::Lt {
        let capped = e.int_op(BinOp::Max, bound, low);
        upper[side.axis] = e.int_op(BinOp::Min, high, capped);
    }
}

/// An invariant of the body in front of it.
fn outside(e: &mut Emitter<'_>, body: Region, v: Value) -> Value {
    let Def::Inst(inst, _) = e.defs.get(v) else { return v };
    let stands_inside = regions_below(e.func, body).iter().any(|r| e.func.regions[*r].insts.contains(&inst));
    match e.func.insts[inst].op.clone() {
        _ if !stands_inside => v,
        Op::Bin(op, a, b) => {
            let (a, b) = (outside(e, body, a), outside(e, body, b));
            e.int_op(op, a, b)
        }
        op => {
            let ty = e.func.ty(v).clone();
            e.emit(op, ty)
        }
    }
}

/// A copy of the body in which conditions have their outcomes.
fn body_with(func: &mut Func, body: Region, chosen: &Chosen, span: ravel_source::Span) -> Region {
    let mut copier = Copier::within(func, body);
    let copy = copier.region(func, body);
    let users = all_insts(func, copy);
    for &(cond, truth) in &chosen.known {
        let cond = copier.value(cond);
        let known = func.make_inst(Op::Const(Scalar::Bool(truth)), vec![Ty::scalar(Elem::Bool)], span);
        let outcome = func.insts[known].results[0];
        for &user in &users {
            func.insts[user].op.for_each_operand_mut(|v| {
                if *v == cond {
                    *v = outcome;
                }
            });
        }
        prepend(func, copy, [known]);
    }
    copy
}
