//! Loops that share work become one loop.
//!
//! ```text
//!    %m, %c = loop (%a = %x, %i = 0) { f(%a, %i) ... }   %n, %p, %d = loop (%b = %x, %q = 0, %j = 0) { f(%b, %j) ... }
//! => %m, %c, %p = loop (%a = %x, %i = 0, %q = 0) { f(%a, %i) ... }
//! ```
//!
//! Folding a with-loop with two results into different with-loops leaves a loop for each of them where its body has one, say for
//! the greatest number of a row and its place; when the consumers are fused, both stand beside each other. Two loops end after the same number of iterations
//! if what decides this is the same computation, and they share work if a result of one is a result of the other. Branches on
//! one condition become one where such loops stand in them, as they do if a loop may have no iteration.
//!
//! Before: with-loops are fused, and equal loops are one. After: `cse` makes the common part of a merged body one.
//! Leaves alone: loops with effects or checks; loops that have nothing in common but their counter; loops between which a value would have
//! to move.
//! Worth: tests/survey/loops/greatest-of-rows (5.1, 1.9 with Cranelift, 1.8 with LLVM).

use crate::edit::{Renames, drop_inst, insert_before};
use crate::facts::effects::region_has_effect;
use crate::facts::keys::{Key, key_of_part};
use crate::pass::{Context, Pass};
use ravel_types::HashSet;
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Func, Inst, InstData, Op, Region, Value};

pub const PASS: Pass = Pass::of("fuse-loops", "make one loop of loops that share work", fuse_loops);

/// More carried values would not stay in registers.
const MAX_CARRIED: usize = 16;

pub fn fuse_loops(func: &mut Func, cx: &mut Context) -> bool {
    let mut regions: Vec<Region> = vec![func.body];
    walk(func, func.body, &mut |_, inst| regions.extend(func.insts[inst].op.regions()));
    let mut changed = false;
    for region in regions {
        while let Some(pair) = find_branches(func, region, cx) {
            merge_branches(func, region, pair);
            changed = true;
        }
        while let Some((pair, common)) = find_loops(func, region, cx) {
            cx.applied(func.insts[pair.second].span, "its loop is one with another loop that does part of its work");
            merge(func, region, pair, &common);
            changed = true;
        }
    }
    changed
}

/// Two loops or branches of a region, by place.
#[derive(Clone, Copy)]
struct Pair {
    first: Inst,
    second: Inst,
    /// Whether the second one moves to the place of the first, or the first to that of the second.
    early: bool,
}

/// Carried values of one loop for those of another.
type Common = Vec<Option<usize>>;

fn has_effect(func: &Func, inst: Inst, cx: &Context) -> bool {
    func.insts[inst].op.regions().iter().any(|body| region_has_effect(func, *body, cx))
}

fn find_loops(func: &Func, region: Region, cx: &Context) -> Option<(Pair, Common)> {
    let insts = &func.regions[region].insts;
    let is_loop = |inst: &Inst| matches!(func.insts[*inst].op, Op::Loop { .. });
    if insts.iter().filter(|inst| is_loop(inst)).count() < 2 {
        return None;
    }
    let mut earlier: Vec<(usize, Key)> = Vec::new();
    for (at, &second) in insts.iter().enumerate().filter(|(_, inst)| is_loop(inst)) {
        if has_effect(func, second, cx) {
            continue;
        }
        let Some((rounds, _)) = key_of_part(func, cx, second, None) else { continue };
        for (place, _) in earlier.iter().filter(|(_, key)| *key == rounds) {
            let first = insts[*place];
            if let Some(common) = common(func, cx, first, second)
                && let Some(early) = where_to(func, &insts[*place..=at])
            {
                return Some((Pair { first, second, early }, common));
            }
        }
        earlier.push((at, rounds));
    }
    None
}

/// Branches on one condition with loops that share work.
fn find_branches(func: &Func, region: Region, cx: &Context) -> Option<Pair> {
    let insts = &func.regions[region].insts;
    let mut earlier: Vec<(usize, Value)> = Vec::new();
    for (at, &second) in insts.iter().enumerate() {
        let Op::If { cond, .. } = &func.insts[second].op else { continue };
        if has_effect(func, second, cx) {
            continue;
        }
        for (place, _) in earlier.iter().filter(|(_, of_first)| of_first == cond) {
            let first = insts[*place];
            if share_loops(func, cx, first, second)
                && let Some(early) = where_to(func, &insts[*place..=at])
            {
                return Some(Pair { first, second, early });
            }
        }
        earlier.push((at, *cond));
    }
    None
}

/// Whether there are loops that share work in the same arm of two branches.
fn share_loops(func: &Func, cx: &Context, first: Inst, second: Inst) -> bool {
    let loops = |region: Region| {
        let insts = func.regions[region].insts.iter().copied();
        insts.filter(|inst| matches!(func.insts[*inst].op, Op::Loop { .. }))
    };
    let [a, b] = [first, second].map(|inst| func.insts[inst].op.regions());
    a.into_iter().zip(b).any(|(a, b)| {
        loops(a).any(|first| {
            loops(b).any(|second| {
                let [one, other] = [first, second].map(|inst| key_of_part(func, cx, inst, None).map(|(key, _)| key));
                one.is_some() && one == other && common(func, cx, first, second).is_some()
            })
        })
    })
}

/// Which carried values of two loops that run equally long are the same, if any result that decides nothing is.
fn common(func: &Func, cx: &Context, first: Inst, second: Inst) -> Option<Common> {
    let [a, b] = [first, second].map(|inst| &func.insts[inst]);
    let (Op::Loop { body: of_a, .. }, Op::Loop { body: of_b, .. }) = (&a.op, &b.op) else { return None };
    let [in_a, in_b] = [of_a, of_b].map(|body| &func.regions[*body].params);
    let keys: Vec<_> = (0..in_a.len()).map(|k| Some(key_of_part(func, cx, first, Some(k))?.0)).collect();
    let same_type = |x: Value, y: Value| func.ty(x) == func.ty(y);
    let equal = |j: usize| {
        let (key, _) = key_of_part(func, cx, second, Some(j))?;
        let found = |k: &usize| {
            keys[*k].as_ref() == Some(&key) && same_type(in_a[*k], in_b[j]) && same_type(a.results[*k], b.results[j])
        };
        (0..in_a.len()).find(found)
    };
    let common: Common = (0..in_b.len()).map(equal).collect();
    let (_, deciding) = key_of_part(func, cx, second, None)?;
    let shares = (0..in_b.len()).any(|j| common[j].is_some() && !deciding.contains(&j));
    let more = common.iter().filter(|k| k.is_none()).count();
    (shares && in_a.len() + more <= MAX_CARRIED).then_some(common)
}

/// Whether what stands at the two ends of a list may be one at its beginning, else at its end.
fn where_to(func: &Func, insts: &[Inst]) -> Option<bool> {
    let [first, between @ .., second] = insts else { return None };
    let made = |insts: &[Inst]| -> HashSet<Value> {
        insts.iter().flat_map(|inst| func.insts[*inst].results.iter().copied()).collect()
    };
    let uses = |inst: Inst, made: &HashSet<Value>| {
        let op = &func.insts[inst].op;
        let mut found = false;
        op.for_each_operand(|v| found |= made.contains(&v));
        found || op.regions().into_iter().any(|r| free_values(func, r).iter().any(|v| made.contains(v)))
    };
    let of_first = made(&[*first]);
    if uses(*second, &of_first) {
        return None;
    }
    if !uses(*second, &made(between)) {
        return Some(true);
    }
    (!between.iter().any(|inst| uses(*inst, &of_first))).then_some(false)
}

/// One loop carries what the other does, too; the common part is there twice until `cse`.
fn merge(func: &mut Func, region: Region, pair: Pair, common: &Common) {
    let InstData { op: Op::Loop { init: init_b, body: of_b }, results: results_b, .. } =
        func.insts[pair.second].clone()
    else {
        return;
    };
    let body_b = std::mem::take(&mut func.regions[of_b]);
    let Op::Loop { init, body: of_a } = &mut func.insts[pair.first].op else { return };
    let of_a = *of_a;
    let added: Vec<usize> = (0..init_b.len()).filter(|k| common[*k].is_none()).collect();
    init.extend(added.iter().map(|k| init_b[*k]));
    let mut renames = Renames::default();
    for (k, same) in common.iter().enumerate() {
        if let Some(same) = *same {
            renames.set(body_b.params[k], func.regions[of_a].params[same]);
            renames.set(results_b[k], func.insts[pair.first].results[same]);
        }
    }
    let body = &mut func.regions[of_a];
    body.params.extend(added.iter().map(|k| body_b.params[*k]));
    body.insts.extend(body_b.insts);
    body.yields.extend(added.iter().map(|k| body_b.yields[k + 1]));
    func.insts[pair.first].results.extend(added.iter().map(|k| results_b[*k]));
    place(func, region, pair);
    renames.apply(func);
}

/// One branch has the results of both.
fn merge_branches(func: &mut Func, region: Region, pair: Pair) {
    let InstData { op, results, .. } = func.insts[pair.second].clone();
    for (to, from) in func.insts[pair.first].op.regions().into_iter().zip(op.regions()) {
        let from = std::mem::take(&mut func.regions[from]);
        func.regions[to].insts.extend(from.insts);
        func.regions[to].yields.extend(from.yields);
    }
    func.insts[pair.first].results.extend(results);
    place(func, region, pair);
}

/// Leaves the first of a pair at one of the two places.
fn place(func: &mut Func, region: Region, pair: Pair) {
    if !pair.early {
        drop_inst(func, region, pair.first);
        insert_before(func, region, pair.second, [pair.first]);
    }
    drop_inst(func, region, pair.second);
}
