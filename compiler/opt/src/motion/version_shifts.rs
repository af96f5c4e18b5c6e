//! Versions of stretches of code for extents that are longer than the distances by which their arrays are shifted.
//!
//! ```text
//!    t = genarray { [0 <= i < n - 2] -> a[i + 2], [n - 2 <= i < n] -> 0 };  u = genarray { [0 <= i < n] -> t[i] + a[i] }
//! => u = if 16 <= n <= 2^29 then (t = ...; genarray { ... t[i] + a[i] }) else (t = ...; genarray { ... t[i] + a[i] })
//! ```
//!
//! Where only the run knows `n`, `n - 2` may lie below zero, and two cuts `2` and `n - 2` may lie in either order, so that `fold-with-loops` cannot
//! tell which partition an index falls in and leaves every shifted array in memory. In a version for larger extents the cuts are in order.
//!
//! Before: folding, whose work is undone, since it may have taken in what stands around the arrays that it left alone. After: stretches with arrays that it
//! left for that reason, and does not leave in such a version, stand in both branches of one test. Stretches lie outside of with-loops and loops as far as their extents are known there.
//! Leaves alone: what such a test does not help, extents that are short for certain, stretches that are much code, and more than a few of them; and all if there is a device, since
//! borders of single cells would be made by the host, which fetches elements for them in every iteration of a loop.
//!
//! Whether a version helps is tried on a copy, and not asked of an analysis: its bounds are `min` and `max` of each other until `simplify` has seen the
//! test, equal extents have several names until `cse` has, and which cuts folding then makes of its consumers is decided one after the other.
//! Worth: tests/survey/with-loops/shifts (1.1 with Cranelift, 1.1 to 1.5 with LLVM, extents hidden).

use crate::edit::{Copier, Defs, Emitter, Renames, size_of, slice};
use crate::facts::{Places, Use, divides_by_constant, is_speculatable, same_int};
use crate::fusion::fold_with_loops::fold_these;
use crate::motion::version_no_wrap::{ORDINARY, visible_before};
use crate::pass::{Context, Pass, Run, Undecided};
use crate::scalar::{cse, prove_checks, simplify};
use ravel_types::{BinOp, Elem, HashMap, HashSet, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass = Pass {
    name: "version-shifts",
    summary: "versions of stretches of code for extents above the distances of shifts",
    run: Run::AfterFold(version_shifts),
};

/// What extents are at least in a version, in the order of trial: a few shifts by small distances, and large ones.
const LEAST: [i32; 2] = [16, 128];
/// Most extents of one test.
const MAX_EXTENTS: usize = 8;
/// Most instructions of a stretch, which is copied.
const MAX_CODE: usize = 1_500;
/// Most stretches of a function.
const MAX_STRETCHES: usize = 4;
/// Scalar instructions that are computed again in front of a stretch, one for the other.
const MAX_DEPTH: usize = 6;

/// Instructions of one region, side by side.
struct Stretch {
    region: Region,
    first: usize,
    last: usize,
    /// What is to be larger than distances.
    extents: Vec<Value>,
    /// The with-loops that the version is for.
    wanting: Vec<Inst>,
}

pub fn version_shifts(func: &mut Func, Undecided { before, with_loops }: Undecided, cx: &mut Context) -> bool {
    let wanting = candidates(&before, &with_loops);
    if wanting.is_empty() || cx.for_device {
        return false;
    }
    let mut new = before;
    let mut changed = false;
    // From the last to the first, so that places stay what they are.
    for stretch in stretches(&new, &wanting).into_iter().rev() {
        let span = new.insts[new.regions[stretch.region].insts[stretch.first]].span;
        let code = code_of(&new, &stretch);
        if code > MAX_CODE || stretch.extents.len() > MAX_EXTENTS {
            cx.refused(
                span,
                format!("a version for extents above the distances of shifts would take {code} instructions more"),
            );
            continue;
        }
        let most = shortest(&new, &stretch);
        let made = LEAST.into_iter().filter(|least| i64::from(*least) <= most).find_map(|least| {
            let mut version = new.clone();
            let copies = branch(&mut version, &stretch, least)?;
            helps(&version, &stretch, &copies, cx).then_some((least, version))
        });
        let Some((least, version)) = made else { continue };
        new = version;
        cx.applied(
            span,
            format!("made in two versions: for extents from {least} to {ORDINARY} its shifts are decided"),
        );
        changed = true;
    }
    // Folding begins again there, for what it has taken in by now would stand in the way; and before the passes behind it see what it would take.
    if changed {
        *func = new;
        decide_cuts(func, cx);
        let producers = Places::new(func).withs;
        fold_these(func, &producers, cx);
    }
    changed
}

/// What folding needs to know of a version: where its cuts lie.
fn decide_cuts(func: &mut Func, cx: &mut Context) {
    for pass in [&simplify::PASS, &cse::PASS, &prove_checks::PASS, &simplify::PASS] {
        if let Run::Func(run) = pass.run {
            run(func, cx);
        }
    }
}

/// Whether there are with-loops that a version may help.
pub fn may_gain(func: &Func) -> bool {
    !candidates(func, &Places::new(func).withs).is_empty()
}

/// What the shortest of the extents is at most.
fn shortest(func: &Func, stretch: &Stretch) -> i64 {
    let (places, defs) = (Places::new(func), Defs::new(func));
    let mut ranges = places.ranges_at(func, &defs, func.regions[stretch.region].insts[stretch.first]);
    let mut most = |v: Value| {
        let form = ranges.form(func, &defs, v);
        ranges.upper(&form)
    };
    stretch.extents.iter().map(|v| most(*v)).min().unwrap_or(0)
}

/// Those of some with-loops whose partitions are cut along axes whose extents only the run knows, and that have no version yet.
fn candidates(func: &Func, among: &[Inst]) -> Vec<Inst> {
    let (places, defs) = (Places::new(func), Defs::new(func));
    let is_open = |inst: &Inst| {
        let extents = cut_extents(func, &defs, *inst);
        !extents.is_empty()
            && extents.iter().all(|v| defs.int(func, *v).is_none())
            && !has_version(func, &places, &defs, *inst)
    };
    among.iter().copied().filter(is_open).collect()
}

/// Whether the instruction stands in a branch of a test that this pass has made.
fn has_version(func: &Func, places: &Places, defs: &Defs, inst: Inst) -> bool {
    let is_test = |op: &Op| matches!(op, Op::If { cond, .. } if tests_extents(func, defs, *cond));
    places.owners(inst).any(|owner| is_test(&func.insts[owner].op))
}

fn tests_extents(func: &Func, defs: &Defs, cond: Value) -> bool {
    match defs.op(func, cond) {
        Some(Op::Bin(BinOp::And, a, b)) => tests_extents(func, defs, *a) || tests_extents(func, defs, *b),
        Some(Op::Bin(BinOp::Ge, _, least)) => defs.int(func, *least).is_some_and(|n| LEAST.contains(&n)),
        _ => false,
    }
}

/// Does something to code that is thrown away: what passes say of it holds for no code that stays.
fn quietly(cx: &mut Context, work: impl FnOnce(&mut Context) -> bool) -> bool {
    let remarks = cx.remarks.clone();
    let result = work(cx);
    cx.remarks = remarks;
    result
}

/// Whether an array of the stretch is folded in its new version.
fn helps(func: &Func, stretch: &Stretch, copies: &HashMap<Value, Value>, cx: &mut Context) -> bool {
    let mut trial = func.clone();
    leave_out_others(&mut trial, stretch);
    quietly(cx, |cx| {
        decide_cuts(&mut trial, cx);
        let defs = Defs::new(&trial);
        let results = stretch.wanting.iter().flat_map(|inst| &func.insts[*inst].results);
        let made = results.filter_map(|v| defs.inst(*copies.get(v)?));
        let producers: Vec<Inst> = made.filter(|inst| matches!(trial.insts[*inst].op, Op::With(_))).collect();
        fold_these(&mut trial, &producers, cx).changed
    })
}

/// Takes out what neither the versions of a stretch need nor checks, so that a trial costs what these cost and not what the function does.
fn leave_out_others(func: &mut Func, stretch: &Stretch) {
    let all = &func.regions[stretch.region].insts;
    let both = (stretch.first..all.len()).find(|at| matches!(func.insts[all[*at]].op, Op::If { .. }));
    let Some(both) = both.filter(|_| stretch.region == func.body) else { return };
    let results = func.insts[all[both]].results.clone();
    let needed =
        slice(func, &all[..=both], results.iter().copied(), |inst| matches!(func.insts[inst].op, Op::Check { .. }));
    func.regions[stretch.region].insts = needed;
    func.regions[stretch.region].yields = results;
}

/// The stretches around arrays, in program order. None has a part of another one.
fn stretches(func: &Func, wanting: &[Inst]) -> Vec<Stretch> {
    let (places, defs) = (Places::new(func), Defs::new(func));
    let mut found: Vec<Stretch> = Vec::new();
    for &inst in wanting {
        let extents = cut_extents(func, &defs, inst);
        let Some((region, anchor)) = outermost(func, &places, &defs, inst, &extents) else { continue };
        let Some(first) = func.regions[region].insts.iter().position(|i| *i == anchor) else { continue };
        let last = last_reader(func, &places, region, first, inst);
        let mut new = Stretch { region, first, last, extents, wanting: vec![inst] };
        // One test does for stretches that meet, if it can be made before them.
        found.retain(|old| {
            let meets = old.region == region && old.first <= new.last && new.first <= old.last;
            let first = new.first.min(old.first);
            let all: Vec<Value> = old.extents.iter().chain(&new.extents).copied().collect();
            if !meets || !can_test(func, &places, &defs, region, func.regions[region].insts[first], &all) {
                return true;
            }
            new.last = new.last.max(old.last);
            new.first = first;
            new.wanting.extend(&old.wanting);
            for v in &old.extents {
                if !new.extents.iter().any(|known| same_int(func, &defs, *known, *v)) {
                    new.extents.push(*v);
                }
            }
            false
        });
        found.push(new);
    }
    disjoint(func, &places, found)
}

/// Takes out stretches that have a part in common with an earlier or larger one.
fn disjoint(func: &Func, places: &Places, mut found: Vec<Stretch>) -> Vec<Stretch> {
    let depth = |s: &Stretch| places.path(s.region, func.body).map_or(usize::MAX, |path| path.len());
    found.sort_by_key(|s| (depth(s), s.region, s.first));
    let mut kept: Vec<Stretch> = Vec::new();
    for new in found {
        let within = |old: &Stretch| {
            let (mut region, mut range) = (new.region, (new.first, new.last));
            loop {
                if region == old.region {
                    return range.0 <= old.last && old.first <= range.1;
                }
                let Some(owner) = places.owner_of(region) else { return false };
                let Some(outer) = places.home(owner) else { return false };
                let Some(at) = func.regions[outer].insts.iter().position(|i| *i == owner) else { return false };
                (region, range) = (outer, (at, at));
            }
        };
        if kept.len() < MAX_STRETCHES && !kept.iter().any(within) {
            kept.push(new);
        }
    }
    kept
}

/// The extents of a with-loop's frame along axes where its partitions are cut, or begin late or end early; one of each.
fn cut_extents(func: &Func, defs: &Defs, inst: Inst) -> Vec<Value> {
    let Op::With(With { parts, ops, .. }) = &func.insts[inst].op else { return Vec::new() };
    let mut found: Vec<Value> = Vec::new();
    for op in ops {
        let WithOp::Genarray { frame: Frame::Known(frame), .. } = op else { continue };
        for (axis, extent) in frame.iter().enumerate() {
            let is_cut = parts.iter().any(|part| match &part.generator {
                Generator::Known { lower, upper, .. } => {
                    defs.int(func, lower[axis]) != Some(0) || !same_int(func, defs, upper[axis], *extent)
                }
                Generator::Dyn { .. } => false,
            });
            if is_cut && !found.iter().any(|v| same_int(func, defs, *v, *extent)) {
                found.push(*extent);
            }
        }
    }
    found
}

/// The outermost region in which the extents can be tested before the instruction that is or contains the with-loop, and this instruction.
fn outermost(func: &Func, places: &Places, defs: &Defs, inst: Inst, extents: &[Value]) -> Option<(Region, Inst)> {
    let (mut region, mut anchor) = (places.home(inst)?, inst);
    while let Some(owner) = places.owner_of(region) {
        let outer = places.home(owner)?;
        if !can_test(func, places, defs, outer, owner, extents) {
            break;
        }
        (region, anchor) = (outer, owner);
    }
    Some((region, anchor))
}

fn can_test(func: &Func, places: &Places, defs: &Defs, region: Region, before: Inst, extents: &[Value]) -> bool {
    let visible = visible_before(func, places, region, before);
    extents.iter().all(|v| can_compute(func, defs, &visible, *v, MAX_DEPTH))
}

/// Whether a scalar is one of these values, or could be computed from them again.
fn can_compute(func: &Func, defs: &Defs, visible: &HashSet<Value>, value: Value, depth: usize) -> bool {
    if visible.contains(&value) {
        return true;
    }
    let Some(inst) = defs.inst(value).filter(|_| depth > 0) else { return false };
    let is_plain = is_speculatable(func, inst) || divides_by_constant(func, defs, inst);
    let mut can = is_plain && func.insts[inst].op.regions().is_empty();
    func.insts[inst].op.for_each_operand(|v| can = can && can_compute(func, defs, visible, v, depth - 1));
    can
}

/// The last instruction of a region that reads what a with-loop inside its instruction `first` makes, or what with-loops make of that.
fn last_reader(func: &Func, places: &Places, region: Region, first: usize, inst: Inst) -> usize {
    let insts = &func.regions[region].insts;
    if insts[first] != inst {
        return first;
    }
    let position = |user: Inst| places.within(region, user).and_then(|at| insts.iter().position(|i| *i == at));
    let (mut last, mut seen) = (first, HashSet::from_iter([first]));
    let mut work = vec![first];
    while let Some(at) = work.pop() {
        for result in &func.insts[insts[at]].results {
            for user in places.uses(*result) {
                let user = match user {
                    Use::Operand(inst) => Some(*inst),
                    Use::Yield(home) => places.owner_of(*home).filter(|_| *home != region),
                };
                let Some(at) = user.and_then(position) else { continue };
                if seen.insert(at) {
                    last = last.max(at);
                    if matches!(func.insts[insts[at]].op, Op::With(_)) {
                        work.push(at);
                    }
                }
            }
        }
    }
    last
}

fn code_of(func: &Func, stretch: &Stretch) -> usize {
    let insts = &func.regions[stretch.region].insts[stretch.first..=stretch.last];
    let nested = |inst: &Inst| func.insts[*inst].op.regions().iter().map(|r| size_of(func, *r)).sum::<usize>();
    insts.iter().map(|inst| 1 + nested(inst)).sum()
}

/// Makes the test, and the stretch in both of its branches. Gives what values are called in the version.
fn branch(func: &mut Func, stretch: &Stretch, least: i32) -> Option<HashMap<Value, Value>> {
    let (places, mut defs) = (Places::new(func), Defs::new(func));
    let Stretch { region, first, last, .. } = *stretch;
    let all = func.regions[region].insts.clone();
    let span = func.insts[all[first]].span;
    let mut visible = visible_before(func, &places, region, all[first]);
    // Scalars that need nothing of the stretch stay what they are for everything behind it.
    let (mut before, mut insts) = (Vec::new(), Vec::new());
    for &inst in &all[first..=last] {
        let plain = is_speculatable(func, inst) || divides_by_constant(func, &defs, inst);
        let mut stays = !plain || !func.insts[inst].op.regions().is_empty();
        stays |= !func.insts[inst].results.iter().all(|v| func.ty(*v).is_scalar());
        func.insts[inst].op.for_each_operand(|v| stays |= !visible.contains(&v));
        if stays {
            insts.push(inst);
        } else {
            visible.extend(func.insts[inst].results.iter().copied());
            before.push(inst);
        }
    }
    let mut e = Emitter { func, defs: &mut defs, out: &mut before, span };
    let (low, high) = (e.int(least), e.int(ORDINARY));
    let mut tests = Vec::new();
    for &extent in &stretch.extents {
        let extent = compute(&mut e, &visible, extent);
        tests.extend([e.int_op(BinOp::Ge, extent, low), e.int_op(BinOp::Le, extent, high)]);
    }
    let cond = tests.into_iter().reduce(|a, b| e.emit(Op::Bin(BinOp::And, a, b), Ty::scalar(Elem::Bool)));
    let cond = cond?;
    let results = read_outside(func, &places, &insts);
    let types = results.iter().map(|v| func.ty(*v).clone()).collect();
    let mut copier = Copier::of(func, &insts);
    let copies: Vec<Inst> = insts.iter().map(|inst| copier.inst(func, *inst)).collect();
    let yields = results.iter().map(|v| copier.value(*v)).collect();
    let then = func.regions.push(RegionData { params: Vec::new(), insts: copies, yields });
    let els = func.regions.push(RegionData { params: Vec::new(), insts, yields: results.clone() });
    let both = func.make_inst(Op::If { cond, then, els }, types, span);
    let renames = Renames::from_iter(results.iter().copied().zip(func.insts[both].results.iter().copied()));
    // The branches, which are no part of the function yet, keep their own names.
    func.regions[region].insts.splice(first..=last, before.iter().copied());
    renames.apply(func);
    func.regions[region].insts.insert(first + before.len(), both);
    Some(copier.values)
}

/// A scalar from before the stretch, or its computation again.
fn compute(e: &mut Emitter<'_>, visible: &HashSet<Value>, value: Value) -> Value {
    let Some(inst) = e.defs.inst(value).filter(|_| !visible.contains(&value)) else { return value };
    let (mut op, ty) = (e.func.insts[inst].op.clone(), e.func.ty(value).clone());
    op.for_each_operand_mut(|v| *v = compute(e, visible, *v));
    e.emit(op, ty)
}

/// The values of instructions that others use.
fn read_outside(func: &Func, places: &Places, insts: &[Inst]) -> Vec<Value> {
    let mut own: HashSet<Inst> = insts.iter().copied().collect();
    let mut regions = HashSet::default();
    for region in insts.iter().flat_map(|inst| func.insts[*inst].op.regions()) {
        regions.insert(region);
        walk(func, region, &mut |home, inst| {
            own.insert(inst);
            regions.extend(std::iter::once(home).chain(func.insts[inst].op.regions()));
        });
    }
    let is_outside = |u: &Use| match u {
        Use::Operand(inst) => !own.contains(inst),
        Use::Yield(region) => !regions.contains(region),
    };
    let results = insts.iter().flat_map(|inst| func.insts[*inst].results.iter().copied());
    results.filter(|v| places.uses(*v).iter().any(is_outside)).collect()
}
