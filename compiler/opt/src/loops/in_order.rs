//! Why a loop of an optimised function takes its rounds one after the other, in words: for `--explain`.

use crate::edit::{Def, Defs, loops_of};
use crate::facts::places::Places;
use crate::loops::rounds::Rounds;
use ravel_source::Span;
use ravel_types::BinOp;
use ravel_types::HashMap;
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Inst, Op, Region, Value};

/// What keeps the rounds of a loop in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InOrder {
    pub why: String,
    /// Places of the checks that remain in it.
    pub checks: Vec<Span>,
}

/// The loops outside of with-loops.
pub fn loops_in_order(func: &Func) -> HashMap<Inst, InOrder> {
    let (defs, places) = (Defs::new(func), Places::new(func));
    let outside = loops_of(func).into_iter().map(|(_, inst)| inst).filter(|inst| !places.is_inside_with(func, *inst));
    outside.filter_map(|inst| Some((inst, in_order(func, &defs, inst)?))).collect()
}

/// The first reason, in the order in which a programmer could do something about it; `None` if the instruction is no loop.
fn in_order(func: &Func, defs: &Defs, inst: Inst) -> Option<InOrder> {
    let Op::Loop { body, .. } = func.insts[inst].op else { return None };
    let mut checks = Vec::new();
    let (mut effects, mut calls) = (false, false);
    walk(func, body, &mut |_, inner| match &func.insts[inner].op {
        Op::Check { .. } => checks.push(func.insts[inner].span),
        Op::Call { .. } => calls = true,
        op => effects |= op.is_anchored(),
    });
    checks.sort();
    checks.dedup();
    let rounds = Rounds::of(func, defs, inst)?;
    let why = if effects {
        "its rounds print, read, or do something else in order".to_string()
    } else if !is_counted(func, &rounds) {
        "after each round a condition decides whether there is another one".to_string()
    } else {
        carried(func, defs, &rounds, body).unwrap_or_else(|| {
            match (checks.is_empty(), calls) {
                (false, _) => "the first of its checks that fails is reported",
                (true, true) => "its rounds call a function",
                (true, false) => "rounds of this kind, or so few, do not become a with-loop",
            }
            .to_string()
        })
    };
    Some(InOrder { why, checks })
}

/// Does the loop go on while a counter, which moves by a constant, compares with what no round changes?
fn is_counted(func: &Func, rounds: &Rounds) -> bool {
    let data = &func.regions[rounds.body];
    let Some(Op::Bin(op, a, b)) = data.yields.first().and_then(|v| rounds.defs.op(func, *v)) else { return false };
    let is_counter = |v: &Value| {
        let sum = rounds.sum(*v);
        sum.is_some_and(|sum| rounds.step(&sum) != 0 && sum.terms.keys().all(|v| rounds.steps.contains_key(v)))
    };
    let is_fixed = |v: &Value| !rounds.inside.contains(v) || rounds.defs.int(func, *v).is_some();
    op.is_comparison() && ((is_counter(a) && is_fixed(b)) || (is_counter(b) && is_fixed(a)))
}

/// What a round takes from the one before.
fn carried(func: &Func, defs: &Defs, rounds: &Rounds, body: Region) -> Option<String> {
    let data = &func.regions[body];
    for (&param, &next) in data.params.iter().zip(&data.yields[1..]) {
        if !func.ty(param).is_scalar() || rounds.steps.contains_key(&param) || next == param {
            continue;
        }
        let is_total = matches!(defs.op(func, next), Some(Op::Bin(BinOp::Add | BinOp::Mul | BinOp::Min | BinOp::Max, a, b))
            if *a == param || *b == param);
        // A total that is used on the way is more than a fold gives.
        let is_kept = uses(func, body, param) > 1 || uses(func, body, next) > 0;
        return Some(match (is_total, is_kept) {
            (true, false) => "it adds up, or otherwise combines, in this order; a with-loop with fold may do so in lanes and on threads",
            (true, true) => "each round needs the running total of the one before",
            (false, _) => "each round needs a number that the one before computed",
        }
        .to_string());
    }
    for (&param, &next) in data.params.iter().zip(&data.yields[1..]) {
        if func.ty(param).is_scalar() || next == param {
            continue;
        }
        let why = match writes(func, defs, rounds, param, next) {
            Writes::Other => "each round works on the array that the one before made",
            Writes::Anywhere => "where a round writes is known only to data, so two may write to one place",
            Writes::Moving if is_read(func, body, param) => "a round may read what another one writes",
            Writes::Moving => continue,
        };
        return Some(why.to_string());
    }
    None
}

/// How often instructions of a body take a value.
fn uses(func: &Func, body: Region, v: Value) -> usize {
    let mut n = 0;
    walk(func, body, &mut |_, inst| func.insts[inst].op.for_each_operand(|operand| n += usize::from(operand == v)));
    n
}

/// How a loop changes an array.
enum Writes {
    /// By updates at indices that are sums of counters and of what no round changes.
    Moving,
    /// By updates at other indices.
    Anywhere,
    /// As a whole.
    Other,
}

fn writes(func: &Func, defs: &Defs, rounds: &Rounds, param: Value, next: Value) -> Writes {
    let (mut at, mut anywhere) = (next, false);
    while at != param {
        let Def::Inst(inst, k) = defs.get(at) else { return Writes::Other };
        match &func.insts[inst].op {
            Op::Update { array, index, .. } => {
                anywhere |= index.iter().any(|v| rounds.sum(*v).is_none());
                at = *array;
            }
            // What a loop inside, or a branch, makes of it.
            Op::Loop { init, body } if init.get(k as usize).is_some() => {
                let inner = func.regions[*body].params[k as usize];
                match writes(func, defs, rounds, inner, func.regions[*body].yields[k as usize + 1]) {
                    Writes::Other => return Writes::Other,
                    Writes::Anywhere => {
                        // Counters of the loop inside are no sums of those of this one.
                        let own = Rounds::of(func, defs, inst);
                        let inside =
                            own.map(|own| writes(func, defs, &own, inner, func.regions[*body].yields[k as usize + 1]));
                        anywhere |= matches!(inside, Some(Writes::Anywhere) | None);
                    }
                    Writes::Moving => {}
                }
                at = init[k as usize];
            }
            Op::If { then, els, .. } => {
                for arm in [*then, *els] {
                    match writes(func, defs, rounds, param, func.regions[arm].yields[k as usize]) {
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
