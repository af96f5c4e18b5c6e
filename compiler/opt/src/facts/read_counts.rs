//! How often consumers read the elements of a with-loop, and from where: what `fold_with_loops` weighs against the work of a cell.

use crate::edit::{Def, Defs};
use crate::facts::places::{Places, Use, total_trips, trips};
use ravel_types::BinOp;
use ravel_wir::traverse::free_values;
use ravel_wir::{Func, Op, Region, Value, With};

/// Operations in each other that a distance from an index may consist of.
const MAX_FREE_DEPTH: u32 = 4;

/// How often, on average, an element of the producer is read by a selection in `region`.
pub fn reads_per_element(
    func: &Func,
    places: &Places,
    defs: &Defs,
    producer: &With,
    home: Region,
    region: Region,
    index: &[Value],
) -> f64 {
    let Some(path) = places.path(region, home) else { return f64::INFINITY };
    let mut evaluations = Some(1u64);
    let mut indices: Vec<Value> = Vec::new();
    let mut repeats = false;
    // For every loop on the way, what has another value in each of its iterations.
    let mut counters: Vec<Vec<Value>> = Vec::new();
    for at in path {
        let Some(owner) = places.owner_of(at) else { return f64::INFINITY };
        match &func.insts[owner].op {
            Op::If { .. } => {}
            Op::With(with) => {
                let part = with.parts.iter().find(|p| p.body == at);
                let n = match part {
                    Some(part) => trips(func, defs, part),
                    None => total_trips(func, defs, with),
                };
                evaluations = evaluations.zip(n).and_then(|(a, b)| a.checked_mul(b));
                match part {
                    Some(_) => indices.extend(func.regions[at].params.iter().filter(|_| n != Some(1))),
                    None => repeats = true,
                }
            }
            Op::Loop { .. } => {
                evaluations = None;
                counters.push(counters_of(func, defs, at));
            }
            _ => return f64::INFINITY,
        }
    }
    let counted = |own: &Vec<Value>| index.iter().any(|i| shifted_index(func, defs, *i, own).is_some());
    repeats |= !counters.iter().all(counted);
    // Different evaluations read different elements if every enclosing index is one of the components, shifted at most.
    let components: Vec<Option<Value>> = index.iter().map(|i| shifted_index(func, defs, *i, &indices)).collect();
    if !repeats && indices.iter().all(|i| components.contains(&Some(*i))) {
        return 1.0;
    }
    let count = total_trips(func, defs, producer);
    match (evaluations, count) {
        (Some(n), Some(count)) if count > 0 => n as f64 / count as f64,
        _ => f64::INFINITY,
    }
}

/// What a loop adds a constant to in every iteration.
fn counters_of(func: &Func, defs: &Defs, body: Region) -> Vec<Value> {
    let data = &func.regions[body];
    let is_counter = |(param, next): &(&Value, &Value)| match defs.op(func, **next) {
        Some(Op::Bin(BinOp::Add, a, b)) => [(a, b), (b, a)]
            .into_iter()
            .any(|(base, step)| base == *param && defs.int(func, *step).is_some_and(|step| step != 0)),
        _ => false,
    };
    data.params.iter().zip(&data.yields[1..]).filter(is_counter).map(|(param, _)| *param).collect()
}

/// Is a region inside a loop that `home` is not in?
pub fn is_in_loop(func: &Func, places: &Places, region: Region, home: Region) -> bool {
    let owner = |at: Region| places.owner_of(at);
    let is_loop = |at: &Region| owner(*at).is_some_and(|o| matches!(func.insts[o].op, Op::Loop { .. }));
    places.path(region, home).is_some_and(|path| path.iter().any(is_loop))
}

/// Whether nobody may change the arrays that the producer reads: all that happens to them are selections.
pub fn reads_only_what_stays(func: &Func, places: &Places, producer: &With) -> bool {
    let selects = |u: &Use| match u {
        Use::Operand(inst) => matches!(func.insts[*inst].op, Op::Sel { .. } | Op::Extent { .. }),
        Use::Yield(_) => false,
    };
    let bodies = producer.parts.iter().map(|p| p.body);
    bodies
        .flat_map(|body| free_values(func, body))
        .all(|v| func.ty(v).is_scalar() || places.uses(v).iter().all(selects))
}

/// The one index of `indices` that `value` is, up to the addition or subtraction of something that none of them enters.
fn shifted_index(func: &Func, defs: &Defs, value: Value, indices: &[Value]) -> Option<Value> {
    if indices.contains(&value) {
        return Some(value);
    }
    match defs.op(func, value) {
        Some(Op::Bin(BinOp::Add | BinOp::Sub, a, b)) => {
            let sides = [shifted_index(func, defs, *a, indices), shifted_index(func, defs, *b, indices)];
            match sides {
                [Some(i), None] if is_free_of(func, defs, *b, indices) => Some(i),
                [None, Some(i)] if is_free_of(func, defs, *a, indices) => Some(i),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether the value is a constant, a parameter other than the indices, or a sum or quotient of such.
fn is_free_of(func: &Func, defs: &Defs, value: Value, indices: &[Value]) -> bool {
    is_free(func, defs, value, indices, MAX_FREE_DEPTH)
}

fn is_free(func: &Func, defs: &Defs, value: Value, indices: &[Value], depth: u32) -> bool {
    match defs.get(value) {
        Def::Param(..) => !indices.contains(&value),
        Def::Inst(inst, _) => match &func.insts[inst].op {
            Op::Const(_) | Op::Extent { .. } => true,
            Op::Bin(_, a, b) if depth > 0 => [a, b].into_iter().all(|v| is_free(func, defs, *v, indices, depth - 1)),
            Op::Un(_, a) if depth > 0 => is_free(func, defs, *a, indices, depth - 1),
            _ => false,
        },
        Def::None => false,
    }
}
