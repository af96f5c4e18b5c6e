//! What keeps the iterations of a loop in order, if anything does: what passes act on, and `--explain` shows.

use crate::edit::{Def, Defs, loops_of};
use crate::facts::places::Places;
use crate::loops::accesses::{Cells, Proof};
use crate::loops::nest::{LoopNest, Trip};
use ravel_source::Span;
use ravel_types::{BinOp, HashMap};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Inst, Op, Region, Value};
use std::fmt;

/// Whether iterations depend on each other.
pub enum Verdict {
    /// They do not: each writes cells of its own.
    Parallel(Cells),
    /// Each may read what later ones write, and nothing that earlier ones wrote.
    Ordered(Cells),
    Blocked(Reason),
}

/// Why the iterations of a loop keep their order; the first in the order in which a programmer could do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// They print, read, or do something else in order.
    Effects,
    /// Something else than a counter decides whether there is another one.
    Condition,
    /// They combine a total of reals, say, and use it for nothing else.
    Total,
    /// They use a total on the way.
    RunningTotal,
    /// They carry another scalar.
    Scalar,
    /// They make arrays by more than updates.
    WholeArray,
    /// They update arrays at indices that are no sums of counters.
    Scatter,
    /// They may read what others write.
    Flow,
    /// Checks remain in them.
    Checks,
    /// They call functions.
    Calls,
    /// None of these: their cells have a form that no transformation takes.
    Form,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Effects => "its iterations print, read, or do something else in order",
            Reason::Condition => "after each iteration a condition decides whether there is another one",
            Reason::Total => "it adds up, or otherwise combines, in this order; a with-loop with fold may do so in lanes and on threads",
            Reason::RunningTotal => "each iteration needs the running total of the one before",
            Reason::Scalar => "each iteration needs a number that the one before computed",
            Reason::WholeArray => "each iteration works on the array that the one before made",
            Reason::Scatter => "where an iteration writes is known only to data, so two may write to one place",
            Reason::Flow => "an iteration may read what another one writes",
            Reason::Checks => "the first of its checks that fails is reported",
            Reason::Calls => "its iterations call a function",
            Reason::Form => "iterations of this kind, or so few, do not become a with-loop",
        })
    }
}

/// A loop that stays, for `--explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InOrder {
    pub why: Reason,
    /// Places of the checks that remain in it.
    pub checks: Vec<Span>,
}

/// The loops outside of with-loops.
pub fn loops_in_order(func: &Func) -> HashMap<Inst, InOrder> {
    let (defs, places) = (Defs::new(func), Places::new(func));
    let outside = loops_of(func).into_iter().map(|(_, inst)| inst).filter(|inst| !places.is_inside_with(func, *inst));
    let in_order = |inst: Inst| {
        let nest = LoopNest::of(func, &defs, inst)?;
        let checks = Contents::of(func, nest.body).checks;
        // One that could be a with-loop and is none has too few iterations, or two uses for its cells.
        let why = match verdict(nest, &places, (Proof::Constants, true)) {
            Verdict::Blocked(reason) => reason,
            Verdict::Parallel(_) | Verdict::Ordered(_) => Reason::Form,
        };
        Some((inst, InOrder { why, checks }))
    };
    outside.filter_map(in_order).collect()
}

/// Do the iterations of a loop depend on each other? `ahead` lets them read what later ones write.
pub fn verdict(mut nest: LoopNest, places: &Places, (proof, ahead): (Proof, bool)) -> Verdict {
    let contents = Contents::of(nest.func, nest.body);
    if contents.effects {
        return Verdict::Blocked(Reason::Effects);
    }
    if !nest.is_counted() {
        return Verdict::Blocked(Reason::Condition);
    }
    if let Some(reason) = nest.scalars() {
        return Verdict::Blocked(reason);
    }
    match Cells::of(&mut nest, places, (proof, ahead)) {
        Some(cells) if cells.reads_ahead => Verdict::Ordered(cells),
        Some(cells) => Verdict::Parallel(cells),
        None => Verdict::Blocked(nest.arrays().unwrap_or(match (contents.checks.is_empty(), contents.calls) {
            (false, _) => Reason::Checks,
            (true, true) => Reason::Calls,
            (true, false) => Reason::Form,
        })),
    }
}

/// What keeps an order whatever arrays a body changes.
struct Contents {
    effects: bool,
    calls: bool,
    checks: Vec<Span>,
}

impl Contents {
    fn of(func: &Func, body: Region) -> Contents {
        let mut contents = Contents { effects: false, calls: false, checks: Vec::new() };
        walk(func, body, &mut |_, inner| match &func.insts[inner].op {
            Op::Check { .. } => contents.checks.push(func.insts[inner].span),
            Op::Call { .. } => contents.calls = true,
            op => contents.effects |= op.is_anchored(),
        });
        contents.checks.sort();
        contents.checks.dedup();
        contents
    }
}

/// How a loop changes an array.
enum Writes {
    /// By updates at indices that are sums of counters and of what no iteration changes.
    Moving,
    /// By updates at other indices.
    Anywhere,
    /// As a whole.
    Other,
}

impl LoopNest<'_> {
    /// Does the loop go on while a counter, which moves by a constant, compares with what no iteration changes?
    fn is_counted(&self) -> bool {
        if Trip::of(self.func, self.defs, self.inst).is_some() {
            return true;
        }
        let data = &self.func.regions[self.body];
        let Some(Op::Bin(op, a, b)) = data.yields.first().and_then(|v| self.defs.op(self.func, *v)) else {
            return false;
        };
        let is_counter = |v: &Value| {
            let sum = self.sum(*v);
            sum.is_some_and(|sum| self.step(&sum) != 0 && sum.terms.keys().all(|v| self.steps.contains_key(v)))
        };
        op.is_comparison() && ((is_counter(a) && self.is_fixed(*b)) || (is_counter(b) && self.is_fixed(*a)))
    }

    /// The scalars that an iteration takes from the one before.
    fn scalars(&self) -> Option<Reason> {
        let (func, body) = (self.func, self.body);
        (0..self.init.len()).find_map(|k| {
            let (param, next) = self.carried(k);
            if !func.ty(param).is_scalar() || self.steps.contains_key(&param) || next == param {
                return None;
            }
            let is_total = matches!(self.defs.op(func, next), Some(Op::Bin(BinOp::Add | BinOp::Mul | BinOp::Min | BinOp::Max, a, b))
                if *a == param || *b == param);
            // A total that is used on the way is more than a fold gives.
            let is_kept = uses(func, body, param) > 1 || uses(func, body, next) > 0;
            Some(match (is_total, is_kept) {
                (true, false) => Reason::Total,
                (true, true) => Reason::RunningTotal,
                (false, _) => Reason::Scalar,
            })
        })
    }

    /// The arrays that an iteration takes from the one before.
    fn arrays(&self) -> Option<Reason> {
        (0..self.init.len()).find_map(|k| {
            let (param, next) = self.carried(k);
            if self.func.ty(param).is_scalar() || next == param {
                return None;
            }
            match self.writes(param, next) {
                Writes::Other => Some(Reason::WholeArray),
                Writes::Anywhere => Some(Reason::Scatter),
                Writes::Moving => is_read(self.func, self.body, param).then_some(Reason::Flow),
            }
        })
    }

    fn writes(&self, param: Value, next: Value) -> Writes {
        let (func, defs) = (self.func, self.defs);
        let (mut at, mut anywhere) = (next, false);
        while at != param {
            let Def::Inst(inst, k) = defs.get(at) else { return Writes::Other };
            match &func.insts[inst].op {
                Op::Update { array, index, .. } => {
                    anywhere |= index.iter().any(|v| self.sum(*v).is_none());
                    at = *array;
                }
                // What a loop inside, or a branch, makes of it.
                Op::Loop { init, body } if init.get(k as usize).is_some() => {
                    let inner = func.regions[*body].params[k as usize];
                    let next = func.regions[*body].yields[k as usize + 1];
                    match self.writes(inner, next) {
                        Writes::Other => return Writes::Other,
                        Writes::Anywhere => {
                            // Counters of the loop inside are no sums of those of this one.
                            let inside = LoopNest::of(func, defs, inst).map(|own| own.writes(inner, next));
                            anywhere |= matches!(inside, Some(Writes::Anywhere) | None);
                        }
                        Writes::Moving => {}
                    }
                    at = init[k as usize];
                }
                Op::If { then, els, .. } => {
                    for arm in [*then, *els] {
                        match self.writes(param, func.regions[arm].yields[k as usize]) {
                            Writes::Other => return Writes::Other,
                            Writes::Anywhere => anywhere = true,
                            Writes::Moving => {}
                        }
                    }
                    break;
                }
                _ => return Writes::Other,
            }
        }
        if anywhere { Writes::Anywhere } else { Writes::Moving }
    }
}

/// How often instructions of a body take a value.
fn uses(func: &Func, body: Region, v: Value) -> usize {
    let mut n = 0;
    walk(func, body, &mut |_, inst| func.insts[inst].op.for_each_operand(|operand| n += usize::from(operand == v)));
    n
}

/// Is anything but an update made of the array?
fn is_read(func: &Func, body: Region, param: Value) -> bool {
    let mut read = false;
    let of_type = func.ty(param);
    walk(func, body, &mut |_, inst| {
        if let Op::Sel { array, .. } = &func.insts[inst].op {
            // Under whatever name it has by then.
            read |= *array == param || (func.ty(*array) == of_type && is_inside(func, body, *array));
        }
    });
    read
}

fn is_inside(func: &Func, body: Region, v: Value) -> bool {
    let mut found = false;
    walk(func, body, &mut |region, inst| {
        found |= func.regions[region].params.contains(&v) || func.insts[inst].results.contains(&v);
    });
    found
}
