//! Fusion: independent with-loops over one index set become one with-loop with several operators.
//!
//! ```text
//!    %x = with { part G { f } } fold add   %y = with { part G { g } } fold add
//! => %x, %y = with { part G { f, g } } fold add fold add
//! ```
//!
//! What the bodies have in common is then computed once (`cse`), and each element of a shared input is loaded once.
//!
//! Before: the cycle of folding has ended, for several operators stand in its way. After: no two folds, and no two array
//! makers with a common input, over equal index sets in one region, unless one depends on the other.
//! Leaves alone: sums of products that run in tiles, effects, changes of arrays that the other with-loop reads, folds that may stop early, and with-loops between which a value would have to move past a check.
//! Worth: tests/survey/with-loops/moments-of-columns (1.8 with Cranelift, 2.6 with LLVM).

use crate::edit::{Copier, Def, Defs, all_insts, any_inside, lower_to, raise_to, reads_of, with_of};
use crate::facts::{Places, is_speculatable, region_has_effect, same_int};
use crate::fusion::fold_kinds::runs_in_tiles;
use crate::fusion::split_operators::checks_of;
use crate::pass::{Context, Pass};
use ravel_types::{HashMap, HashSet};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Region, Value, With, WithOp};
use std::collections::BTreeMap;

pub const PASS: Pass = Pass::of("fuse", "merge independent with-loops over one index set", fuse);

/// More accumulators or results than this would not stay in registers.
pub const MAX_OPERATORS: usize = 8;

pub fn fuse(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    let mut places = Places::new(func);
    let mut defs = Defs::new(func);
    let mut regions: Vec<Region> = vec![func.body];
    walk(func, func.body, &mut |_, inst| regions.extend(func.insts[inst].op.regions()));
    for region in regions {
        loop {
            match find_pair(func, &places, &defs, region, cx) {
                Ok((first, second, order)) => {
                    for inst in [first, second] {
                        cx.applied(func.insts[inst].span, "fused with another one over the same index set");
                    }
                    merge(func, region, first, second, &order);
                    places = Places::new(func);
                    defs = Defs::new(func);
                    changed = true;
                }
                Err(refusals) => {
                    for (inst, why) in refusals {
                        cx.refused(func.insts[inst].span, why);
                    }
                    break;
                }
            }
        }
    }
    changed
}

/// Two with-loops to be fused, and the instructions of their region in an order in which they are neighbors.
type Pair = (Inst, Inst, Vec<Inst>);
/// Why with-loops over one index set are not fused.
type Refusals = Vec<(Inst, &'static str)>;

/// The next pair of the region.
fn find_pair(func: &Func, places: &Places, defs: &Defs, region: Region, cx: &Context) -> Result<Pair, Refusals> {
    let insts = &func.regions[region].insts;
    let candidates: Vec<usize> = (0..insts.len())
        .filter(|at| with_of(func, insts[*at]).is_some_and(|with| is_fusible(func, with, cx)))
        .collect();
    let inputs: Vec<HashSet<Value>> = candidates
        .iter()
        .map(|at| with_of(func, insts[*at]).map_or_else(HashSet::default, |with| inputs(func, with)))
        .collect();
    // One reason each, the first.
    let mut refusals: BTreeMap<Inst, &'static str> = BTreeMap::new();
    for (k, &p) in candidates.iter().enumerate() {
        for (n, &q) in candidates.iter().enumerate().skip(k + 1) {
            let (first, second) = (insts[p], insts[q]);
            let Some(operators) = same_indices(func, defs, first, second) else { continue };
            // Nothing to gain, and so nothing to say.
            if inputs[k].is_disjoint(&inputs[n]) {
                continue;
            }
            if [(first, second), (second, first)]
                .iter()
                .any(|(a, b)| is_written_out(func, *a) && makes_arrays(func, *b))
            {
                refusals.entry(second).or_insert("another one over the same index set writes out its cells, for lanes");
            } else if [first, second]
                .iter()
                .any(|inst| with_of(func, *inst).is_some_and(|with| runs_in_tiles(func, defs, places, with)))
            {
                refusals.entry(second).or_insert(
                    "its sums, or those of another one over the same index set, run in tiles, one at a time",
                );
            } else if operators > MAX_OPERATORS {
                refusals
                    .entry(second)
                    .or_insert("with another one over the same index set it would have too many results");
            } else if let Some(order) = raised(func, defs, insts, (p, q), reads_of(func, second))
                .or_else(|| lowered(func, places, insts, (p, q), q + 1))
            {
                return Ok((first, second, order));
            } else {
                refusals
                    .entry(second)
                    .or_insert("another one over the same index set has results or checks that it needs first");
            }
        }
    }
    Err(refusals.into_iter().collect())
}

pub fn is_fusible(func: &Func, with: &With, cx: &Context) -> bool {
    let plain = with
        .parts
        .iter()
        .all(|p| matches!(p.generator, Generator::Known { .. }) && !region_has_effect(func, p.body, cx));
    let may_stop = with.ops.iter().any(|op| matches!(op, WithOp::Fold { stop: Some(_), .. }));
    plain && !with.ordered && !may_stop && !with.parts.is_empty()
}

/// The number of results that two with-loops of one kind and one index set have together.
fn same_indices(func: &Func, defs: &Defs, first: Inst, second: Inst) -> Option<usize> {
    let (a, b) = (with_of(func, first)?, with_of(func, second)?);
    let is_fold = |with: &With| with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. }));
    let makes_arrays = |with: &With| with.ops.iter().all(|op| matches!(op, WithOp::Genarray { .. }));
    let changes = |with: &With| with.ops.iter().all(|op| matches!(op, WithOp::Modarray { .. }));
    let apart = |with: &With, other: &With| {
        let read = inputs(func, with);
        other.ops.iter().all(|op| !matches!(op, WithOp::Modarray { array } if read.contains(array)))
    };
    let kinds = (is_fold(a) && is_fold(b))
        || (makes_arrays(a) && makes_arrays(b))
        || (changes(a) && changes(b) && apart(a, b) && apart(b, a));
    (kinds && same_parts(func, defs, first, second)).then_some(a.ops.len() + b.ops.len())
}

/// Whether two with-loops have the same index sets in the same order.
pub fn same_parts(func: &Func, defs: &Defs, first: Inst, second: Inst) -> bool {
    let (Some(a), Some(b)) = (with_of(func, first), with_of(func, second)) else { return false };
    a.parts.len() == b.parts.len()
        && a.parts.iter().zip(&b.parts).all(|(p, q)| same_generator(func, defs, &p.generator, &q.generator))
}

fn same_generator(func: &Func, defs: &Defs, a: &Generator, b: &Generator) -> bool {
    let same =
        |x: &[Value], y: &[Value]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_int(func, defs, *x, *y));
    let same_option = |x: &Option<Vec<Value>>, y: &Option<Vec<Value>>| match (x, y) {
        (None, None) => true,
        (Some(x), Some(y)) => same(x, y),
        _ => false,
    };
    match (a, b) {
        (
            Generator::Known { lower: l, upper: u, step: s, width: w },
            Generator::Known { lower: l2, upper: u2, step: s2, width: w2 },
        ) => same(l, l2) && same(u, u2) && same_option(s, s2) && same_option(w, w2),
        _ => false,
    }
}

/// Whether cells are arrays whose elements the bodies compute as scalars.
fn is_written_out(func: &Func, inst: Inst) -> bool {
    let Some(with) = with_of(func, inst) else { return false };
    let is_array = |v: &Value| !func.ty(*v).is_scalar();
    with.parts.iter().any(|p| func.regions[p.body].yields.iter().any(is_array)) && !makes_arrays(func, inst)
}

/// Whether with-loops in the bodies make arrays.
fn makes_arrays(func: &Func, inst: Inst) -> bool {
    let makes = |op: &WithOp| matches!(op, WithOp::Genarray { .. } | WithOp::Modarray { .. });
    any_inside(func, inst, |inner| with_of(func, inner).is_some_and(|with| with.ops.iter().any(makes)))
}

/// Arrays that the bodies select from.
fn inputs(func: &Func, with: &With) -> HashSet<Value> {
    let insts = with.parts.iter().flat_map(|part| all_insts(func, part.body));
    insts.filter_map(|inst| if let Op::Sel { array, .. } = func.insts[inst].op { Some(array) } else { None }).collect()
}

/// The order in which the second with-loop, and what it `needs`, stand right after the first one.
pub fn raised(
    func: &Func,
    defs: &Defs,
    insts: &[Inst],
    (p, q): (usize, usize),
    needs: Vec<Value>,
) -> Option<Vec<Inst>> {
    // What the body of the second one selects may be in range because a check in between holds.
    let checks = insts[p + 1..q].iter().any(|i| match &func.insts[*i].op {
        Op::Check { .. } => true,
        // See `split-checks`.
        Op::With(with) => with.parts.iter().any(|part| !checks_of(func, part.body).is_empty()),
        _ => false,
    });
    if checks && !is_speculatable_inside(func, insts[q]) {
        return None;
    }
    let position: HashMap<Inst, usize> = insts.iter().enumerate().map(|(at, i)| (*i, at)).collect();
    let mut needed = HashSet::default();
    let mut work = needs;
    while let Some(v) = work.pop() {
        let Def::Inst(inst, _) = defs.get(v) else { continue };
        let Some(at) = position.get(&inst).copied().filter(|at| *at >= p) else { continue };
        // Nothing that may fault, or that a check must precede, moves up.
        if at == p || !func.insts[inst].op.regions().is_empty() || !is_speculatable(func, inst) {
            return None;
        }
        if needed.insert(at) {
            work.extend(reads_of(func, inst));
        }
    }
    Some(raise_to(insts, (p, q), &needed))
}

/// Whether nothing in the bodies of a with-loop needs a check before it.
fn is_speculatable_inside(func: &Func, inst: Inst) -> bool {
    let holds = |inst: Inst| matches!(func.insts[inst].op, Op::With(_) | Op::If { .. }) || is_speculatable(func, inst);
    !any_inside(func, inst, |inst| !holds(inst))
}

/// The order in which the first with-loop stands right before the second one, if nothing between it and `end` reads it.
pub fn lowered(func: &Func, places: &Places, insts: &[Inst], (p, q): (usize, usize), end: usize) -> Option<Vec<Inst>> {
    let made: HashSet<Value> = func.insts[insts[p]].results.iter().copied().collect();
    if made.iter().all(|v| places.uses(*v).is_empty()) {
        return None;
    }
    let is_read = insts[p + 1..end].iter().any(|i| reads_of(func, *i).iter().any(|v| made.contains(v)));
    (!is_read).then(|| lower_to(insts, (p, q)))
}

/// Gives the second with-loop the operators of the first one too; the first one goes.
fn merge(func: &mut Func, region: Region, first: Inst, second: Inst, order: &[Inst]) {
    let (Some(a), Some(b)) = (with_of(func, first).cloned(), with_of(func, second).cloned()) else { return };
    let mut parts = Vec::new();
    for (part, other) in a.parts.iter().zip(&b.parts) {
        let mut copier = Copier::within(func, other.body);
        let params = func.regions[part.body].params.clone();
        let theirs = func.regions[other.body].params.clone();
        copier.values.extend(theirs.into_iter().zip(params));
        let mut insts = std::mem::take(&mut func.regions[part.body].insts);
        let cells = copier.splice(func, other.body, &mut insts);
        func.regions[part.body].insts = insts;
        func.regions[part.body].yields.extend(cells);
        parts.push(part.clone());
    }
    let ops = a.ops.into_iter().chain(b.ops).collect();
    let results = func.insts[first].results.iter().chain(&func.insts[second].results).copied().collect();
    func.insts[second].op = Op::With(With { parts, ops, ordered: false });
    func.insts[second].results = results;
    func.regions[region].insts = order.iter().copied().filter(|i| *i != first).collect();
}
