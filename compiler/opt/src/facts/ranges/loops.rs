//! What holds of the values that loops carry.

use super::{MAX, MIN, Ranges};
use crate::edit::{Def, Defs};
use crate::facts::linear::{Atom, Lin};
use ravel_types::{BinOp, Elem, Scalar};
use ravel_wir::{Func, Inst, Op, Region, Value};

/// Loops and branches in each other that are looked into for the bounds of one result.
const MAX_DEPTH: u32 = 3;
/// Iterations in which the bounds of a carried value may grow before nothing is said of it.
const MAX_WIDENINGS: usize = 3;
/// Values that a carried one may be replaced by.
const MAX_CHOICES: usize = 8;

impl Ranges {
    /// The body of a loop is entered. A parameter that only grows by a constant, and is tested against a bound before each
    /// further iteration, stays within its first value and the bound.
    pub fn enter_loop(&mut self, func: &Func, defs: &Defs, init: &[Value], body: Region) {
        let data = &func.regions[body];
        data.params.iter().for_each(|v| self.see(func, *v));
        let Some((go_on, next)) = data.yields.split_first() else { return };
        let mut others = Vec::new();
        for ((param, init), next) in data.params.iter().zip(init).zip(next) {
            if func.ty(*param).elem != Elem::I32 || !func.ty(*param).is_scalar() {
                continue;
            }
            let step = match defs.op(func, *next) {
                Some(Op::Bin(BinOp::Add, p, k)) if p == param => defs.int(func, *k),
                _ => None,
            };
            let first = self.form(func, defs, *init);
            let Some(step) = step.filter(|k| *k != 0) else {
                others.push((*param, first, *next));
                continue;
            };
            let mut tests = vec![*go_on];
            let mut bound = None;
            while let Some(test) = tests.pop() {
                match defs.op(func, test) {
                    Some(Op::Bin(BinOp::And, a, b)) => tests.extend([*a, *b]),
                    // `a && b`, where `b` is only computed if `a` holds.
                    Some(Op::If { cond, els, .. }) if is_false_at(func, defs, *els, test) => tests.push(*cond),
                    Some(Op::Bin(op, a, b)) if a == next && is_outside(func, defs, body, *b) => {
                        let limit = self.form(func, defs, *b);
                        bound = match (op, step > 0) {
                            (BinOp::Lt, true) => Some(limit.plus(-1)),
                            (BinOp::Le, true) => Some(limit),
                            (BinOp::Gt, false) => Some(limit.plus(1)),
                            (BinOp::Ge, false) => Some(limit),
                            _ => bound,
                        };
                    }
                    _ => {}
                }
            }
            let Some(bound) = bound else { continue };
            // The first value must respect the bound too, and the step after the last one must not wrap.
            let (op, last) = if step > 0 { (BinOp::Le, self.upper(&bound)) } else { (BinOp::Ge, self.lower(&bound)) };
            let steps_on = last.saturating_add(i64::from(step));
            if self.compare(op, &first, &bound) == Some(true) && (MIN..=MAX).contains(&steps_on) {
                let (low, high) = if step > 0 { (first, bound) } else { (bound, first) };
                self.bound(Atom::Value(*param), Some(low), Some(high));
            }
        }
        for (param, first, next) in others {
            self.tested(func, defs, (param, &first, next), *go_on, body);
            self.induction(func, defs, param, &first, next);
            self.chosen(func, defs, (param, &first, next), body);
        }
    }

    /// A parameter whose next value is compared with a constant before each further iteration: so is the parameter then, unless it has its first value.
    fn tested(
        &mut self,
        func: &Func,
        defs: &Defs,
        (param, first, next): (Value, &Lin, Value),
        go_on: Value,
        body: Region,
    ) {
        let mut tests = vec![go_on];
        while let Some(test) = tests.pop() {
            match defs.op(func, test) {
                Some(Op::Bin(BinOp::And, a, b)) => tests.extend([*a, *b]),
                Some(Op::If { cond, els, .. }) if is_false_at(func, defs, *els, test) => tests.push(*cond),
                Some(Op::Bin(op, a, b)) if *a == next && is_outside(func, defs, body, *b) => {
                    let limit = self.form(func, defs, *b);
                    let (low, high) = (self.lower(&limit), self.upper(&limit));
                    let (least, most) = match op {
                        BinOp::Gt => (Some(low.saturating_add(1)), None),
                        BinOp::Ge => (Some(low), None),
                        BinOp::Lt => (None, Some(high.saturating_sub(1))),
                        BinOp::Le => (None, Some(high)),
                        _ => continue,
                    };
                    let (start, end) = (self.lower(first), self.upper(first));
                    let constant = |k: i64| Lin::constant(k.clamp(MIN, MAX));
                    let (least, most) = (least.map(|k| constant(k.min(start))), most.map(|k| constant(k.max(end))));
                    self.bound(Atom::Value(param), least, most);
                }
                _ => {}
            }
        }
    }

    /// A parameter that an iteration leaves as it is or replaces by one of some values: what bounds its first value and all of these bounds it, too.
    fn chosen(&mut self, func: &Func, defs: &Defs, (param, first, next): (Value, &Lin, Value), body: Region) {
        let mut values = Vec::new();
        let mut open = vec![next];
        while let Some(v) = open.pop() {
            match defs.op(func, v) {
                _ if v == param => {}
                Some(Op::Select { then, els, .. }) if values.len() + open.len() < MAX_CHOICES => {
                    open.extend([*then, *els])
                }
                _ => values.push(v),
            }
        }
        if values.is_empty() || values == [next] {
            return;
        }
        let forms: Vec<Lin> = values.iter().map(|v| self.form(func, defs, *v)).collect();
        // What bounds a counter is the same in all iterations.
        let counters = &func.regions[body].params;
        let (mut lower, mut upper) = (vec![first.clone()], vec![first.clone()]);
        for form in &forms {
            if let [(atom @ Atom::Value(v), 1)] = form.terms[..]
                && counters.contains(&v)
                && let Some(bounds) = self.bounds.get(&atom)
            {
                lower.extend(bounds.lower.iter().map(|bound| bound.plus(form.c)));
                upper.extend(bounds.upper.iter().map(|bound| bound.plus(form.c)));
            }
        }
        for (op, bounds) in [(BinOp::Ge, lower), (BinOp::Le, upper)] {
            for bound in bounds {
                let mut all = forms.iter().chain([first]);
                if all.all(|form| self.compare(op, form, &bound) == Some(true)) {
                    let (low, high) = if op == BinOp::Ge { (Some(bound), None) } else { (None, Some(bound)) };
                    self.bound(Atom::Value(param), low, high);
                }
            }
        }
    }

    /// Constant bounds of a result of a loop or a branch: those of what is yielded, where it is yielded.
    pub(super) fn outcome(&mut self, func: &Func, defs: &Defs, inst: Inst, k: usize) -> Option<(i64, i64)> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let mut bounds_of = |enter: &dyn Fn(&mut Self), yielded: Value| {
            let mark = self.mark();
            enter(self);
            let form = self.form(func, defs, yielded);
            let bounds = (self.lower(&form), self.upper(&form));
            self.undo(mark);
            bounds
        };
        let bounds = match &func.insts[inst].op {
            Op::Loop { init, body } => {
                Some(bounds_of(&|ranges| ranges.enter_loop(func, defs, init, *body), func.regions[*body].yields[k + 1]))
            }
            Op::If { cond, then, els } => {
                let [a, b] = [(*then, true), (*els, false)].map(|(region, truth)| {
                    bounds_of(&|ranges| ranges.assume(func, defs, *cond, truth), func.regions[region].yields[k])
                });
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
            _ => None,
        };
        self.depth -= 1;
        bounds
    }

    /// Constant bounds of a parameter that hold for its first value, and for each next one if they hold for the last.
    fn induction(&mut self, func: &Func, defs: &Defs, param: Value, first: &Lin, next: Value) {
        let (mut low, mut high) = (self.lower(first), self.upper(first));
        for _ in 0..MAX_WIDENINGS {
            if low < MIN || high > MAX || (low == MIN && high == MAX) {
                return;
            }
            let mark = self.mark();
            self.bound(Atom::Value(param), Some(Lin::constant(low)), Some(Lin::constant(high)));
            let after = self.form(func, defs, next);
            let (next_low, next_high) = (self.lower(&after), self.upper(&after));
            if next_low >= low && next_high <= high {
                // The bounds stay, what was derived from them is derived again in the body.
                return;
            }
            self.undo(mark);
            (low, high) = (low.min(next_low), high.max(next_high));
        }
    }
}

/// Whether a value is defined outside the body of a loop (a constant counts).
fn is_outside(func: &Func, defs: &Defs, body: Region, value: Value) -> bool {
    match defs.get(value) {
        Def::Inst(inst, _) => matches!(func.insts[inst].op, Op::Const(_)) || !func.regions[body].insts.contains(&inst),
        Def::Param(region, _) => region != body,
        Def::None => false,
    }
}

/// Does the branch that is taken where a condition fails give false for a result of the `if`?
fn is_false_at(func: &Func, defs: &Defs, els: Region, result: Value) -> bool {
    let position = defs.inst(result).and_then(|inst| func.insts[inst].results.iter().position(|v| *v == result));
    position.is_some_and(|k| defs.constant(func, func.regions[els].yields[k]) == Some(Scalar::Bool(false)))
}
