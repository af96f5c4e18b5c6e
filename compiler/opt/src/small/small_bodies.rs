//! Bodies that compute with small arrays alone, a product or an inverse of matrices for each cell: with these in scalars, lanes run
//! along an axis around them.

use crate::edit::{Def, Defs, with_of};
use crate::facts::{Places, Use, cost_of_region, total_trips, trips};
use crate::small::sroa_folds::MAX_FOLDED;
use ravel_types::HashMap;
use ravel_wir::traverse::walk;
use ravel_wir::{Combine, Func, Inst, Op, Region, Value, With, WithOp};

/// Largest array that is held in scalars.
const MAX_ELEMENTS: usize = 16;
/// Indices of a with-loop that are worth lanes.
const LEAST_INDICES: u64 = 32;
/// Most instructions of an array that something else makes scalars of: a product or an inverse of small matrices.
pub const MAX_SCALAR_CODE: u64 = 1600;
/// Most instructions that the with-loops of a body become together.
const MAX_CODE: u64 = 4000;
/// Operations per element that lanes gather or weave together.
const MIN_INTENSITY: f64 = 4.0;
/// Iterations that [`crate::facts::cost`] takes loops to have.
const ITERATIONS: f64 = 1000.0;

/// Whether an array that a with-loop makes is handed on as one by what makes scalars of it: a fold that `sroa-folds` takes, a loop that `sroa`
/// takes, or the with-loop around, if its body is small.
pub fn becomes_scalars(func: &Func, defs: &Defs, places: &Places, inst: Inst, used: &Use) -> bool {
    let Use::Yield(region) = used else { return false };
    let Some(owner) = places.owner_of(*region) else { return false };
    if places.home(inst) != Some(*region) {
        return false;
    }
    match &func.insts[owner].op {
        Op::With(with) if !with.parts.iter().any(|p| p.body == *region) => false,
        Op::With(with) => match &with.ops[..] {
            [WithOp::Fold { combine: Combine::Op(_), stop: None, .. } | WithOp::Genarray { .. }] => {
                is_small(func, defs, places, owner)
            }
            _ => false,
        },
        Op::Loop { .. } => stands_in_small_body(func, defs, places, owner),
        _ => false,
    }
}

/// Whether the innermost with-loop around an instruction has a small body.
pub fn stands_in_small_body(func: &Func, defs: &Defs, places: &Places, inst: Inst) -> bool {
    let outer = places.owners(inst).find(|outer| matches!(func.insts[*outer].op, Op::With(_)));
    outer.is_some_and(|outer| is_small(func, defs, places, outer))
}

/// Whether all arrays that the body of a with-loop makes are small, and enough is computed with them.
fn is_small(func: &Func, defs: &Defs, places: &Places, inst: Inst) -> bool {
    let Op::With(with) = &func.insts[inst].op else { return false };
    let [part] = &with.parts[..] else { return false };
    if with.ordered || !has_many_indices(func, defs, places, inst) {
        return false;
    }
    let holds = |v: &Value, most: usize| func.ty(*v).shape.count().is_some_and(|n| n <= most);
    let is_held = |v: &Value| holds(v, MAX_ELEMENTS);
    let is_fold = matches!(with.ops[..], [WithOp::Fold { .. }]);
    let most = if is_fold { MAX_FOLDED } else { MAX_ELEMENTS };
    let (mut fits, mut code) = (func.regions[part.body].yields.iter().all(|v| holds(v, most)), 0);
    walk(func, part.body, &mut |_, inst| {
        let data = &func.insts[inst];
        fits &= match &data.op {
            Op::With(inner) => {
                let own = code_of(func, defs, inner);
                code += own;
                let has_cells =
                    inner.parts.iter().any(|p| func.regions[p.body].yields.iter().any(|v| !func.ty(*v).is_scalar()));
                let most = if has_cells || is_fold { MAX_FOLDED } else { MAX_ELEMENTS };
                own <= MAX_SCALAR_CODE && data.results.iter().all(|v| holds(v, most))
            }
            Op::Loop { .. } | Op::Update { .. } => data.results.iter().all(is_held),
            // Lanes might not do without them.
            Op::Check { .. } => false,
            Op::Call { .. } | Op::Native { .. } | Op::UpdateDyn { .. } | Op::ReshapeDyn { .. } | Op::SelDyn { .. } => {
                false
            }
            _ => true,
        };
    });
    fits && code <= MAX_CODE && is_worth_moving(func, defs, part.body)
}

/// Whether a with-loop and those around it have indices for lanes.
fn has_many_indices(func: &Func, defs: &Defs, places: &Places, inst: Inst) -> bool {
    let withs = std::iter::once(inst).chain(places.owners(inst)).filter_map(|inst| with_of(func, inst));
    let indices = withs.map(|with| total_trips(func, defs, with)).try_fold(1u64, |all, n| Some(all.saturating_mul(n?)));
    indices.is_none_or(|n| n >= LEAST_INDICES)
}

/// Instructions of a with-loop that is written out with all that it contains; folds of unknown length stay.
fn code_of(func: &Func, defs: &Defs, with: &With) -> u64 {
    let is_fold = with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. }));
    let parts = with.parts.iter().map(|part| match trips(func, defs, part) {
        Some(n) => n.saturating_mul(code_of_region(func, defs, part.body)),
        None if is_fold => code_of_region(func, defs, part.body),
        None => MAX_CODE + 1,
    });
    parts.fold(0, u64::saturating_add)
}

fn code_of_region(func: &Func, defs: &Defs, region: Region) -> u64 {
    let insts = func.regions[region].insts.iter().map(|inst| match &func.insts[*inst].op {
        Op::With(with) => code_of(func, defs, with),
        op => 1 + op.regions().into_iter().map(|r| code_of_region(func, defs, r)).sum::<u64>(),
    });
    insts.fold(1, u64::saturating_add)
}

/// Whether enough is computed per element that lanes find at a distance: those of cells, and of slices of arrays at the body's index.
fn is_worth_moving(func: &Func, defs: &Defs, body: Region) -> bool {
    let params = &func.regions[body].params;
    let mut moved: f64 = func.regions[body].yields.iter().map(|v| func.ty(*v).shape.count().unwrap_or(0) as f64).sum();
    // A slice that differs from iteration to iteration counts as often as the work in the loop.
    let mut slices: HashMap<(Value, Vec<Value>, Vec<i32>), f64> = HashMap::default();
    walk(func, body, &mut |_, at| {
        let Op::Sel { array, index } = &func.insts[at].op else { return };
        let Some(lead) = index.iter().rposition(|i| params.contains(i)).map(|k| k + 1) else { return };
        let rest = &index[lead..];
        let counters: Vec<Value> = rest.iter().copied().take_while(|i| is_counter(func, defs, *i)).collect();
        let places: Vec<i32> = rest[counters.len()..].iter().map_while(|i| defs.int(func, *i)).collect();
        let iterations = if counters.is_empty() { 1.0 } else { ITERATIONS };
        let extents = func.ty(*array).shape.extents().unwrap_or_default();
        let inner = extents.iter().skip(lead + counters.len() + places.len());
        let elements: f64 = inner.map(|e| e.as_const().map_or(ITERATIONS, f64::from)).product();
        slices.insert((*array, counters, places), elements * iterations);
    });
    moved += slices.values().sum::<f64>();
    cost_of_region(func, defs, body).arithmetic >= MIN_INTENSITY * moved
}

/// Whether an index is what a loop carries.
fn is_counter(func: &Func, defs: &Defs, index: Value) -> bool {
    match defs.get(index) {
        Def::Param(region, _) => defs.loops.contains_key(&region),
        Def::Inst(inst, _) => match &func.insts[inst].op {
            Op::Bin(_, a, b) => is_counter(func, defs, *a) || is_counter(func, defs, *b),
            _ => false,
        },
        Def::None => false,
    }
}
