//! Loops that change several arrays become a loop for each, where that lets iterations be independent.
//!
//! ```text
//!    loop (%r = %r0, %a = %a0, %j = 0) { %s = loop { ... %a[%i, %j] ... }  %r1 = %r with [%j] = %s
//!                                        %a1 = modarray %a { [0, %j] <= [%i, %k] < [m, %j + 1] -> %a[%i, %j] - %s }  yield ..., %r1, %a1, %j + 1 }
//! => %R = loop (%r = %r0, %j = 0) { %s = loop { ... %a0[%i, %j] ... }  yield ..., %r with [%j] = %s, %j + 1 }
//!    %A = loop (%a = %a0, %j = 0) { yield ..., modarray %a { ... %a[%i, %j] - %R[%j] }, %j + 1 }
//! ```
//!
//! Loop distribution: each statement of a nest gets a nest of its own, in an order that its operands allow, and the nests can be interchanged.
//! Where every iteration touches only a slice of its own of an array, other loops may read that array as it was before its loop, or as it
//! is behind it. Elements that one loop stores are loaded by the others, unless they are computed again easily. Values that
//! depend on each other in a circle stay in one loop. So do those that go from iteration to iteration, with what needs them.
//!
//! Vectors that are updated at one index stay together, in a with-loop with several results ([`crate::loops::parallelize`]); so do other arrays
//! that need each other. Numbers that an iteration computes by loops, to change a slice of an array, become elements of a vector before ([`super::expand`]).
//!
//! Before: `parallelize-loops` has made with-loops of inner loops. After: loops are split where at least one of the parts is a with-loop then.
//! Leaves alone: loops with effects or checks that remain, since the first fault must be reported; loops inside of with-loops, where
//! lanes run around them.

use crate::edit::{Copier, Def, Defs, Emitter, Renames, replace_inst};
use crate::facts::places::Places;
use crate::facts::sums::Sum;
use crate::loops::distribute::expand::expand_scalars;
use crate::loops::nest::LoopNest;
use crate::loops::nest::Trip;
use crate::loops::nest::is_pure;
use crate::loops::parallelize::make_parallel;
use ravel_types::{Elem, Ty};
use ravel_types::{HashMap, HashSet};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Func, Generator, Inst, Op, Region, RegionData, Value, With, WithOp};

/// Most values that a loop may carry beside its counter.
const MAX_ITEMS: usize = 8;
/// For `--explain`.
const JOINT: &str = "the loop is a with-loop with several results, for its iterations do not depend on each other";
const SPLIT: &str = "the loop is split, for the iterations of its parts do not depend on each other";
/// Operations up to which a stored element is computed again for another loop.
const MAX_AGAIN: usize = 2;

/// Puts several loops in the place of one where some of them become with-loops, and says so; nothing if it stays.
pub fn make(func: &mut Func, region: Region, inst: Inst, eager: bool) -> Option<&'static str> {
    let Some((mut split, parts)) = try_split(func, region, inst) else {
        if make_parallel(func, region, inst, true, eager) {
            return Some(JOINT);
        }
        *func = split_expanded(func, region, inst, eager)?;
        return Some(SPLIT);
    };
    let mut parallel = false;
    for &part in parts.iter().rev() {
        parallel |= make_parallel(&mut split, region, part, true, eager);
    }
    parallel.then(|| {
        *func = split;
        SPLIT
    })
}

/// The function with a loop split into with-loops, one of which makes vectors of the scalars that the other needs.
fn split_expanded(func: &Func, region: Region, inst: Inst, eager: bool) -> Option<Func> {
    let (mut split, parts) = try_split(&expand_scalars(func, region, inst)?, region, inst)?;
    parts.iter().rev().all(|part| make_parallel(&mut split, region, *part, true, eager)).then_some(split)
}

/// The function with a loop split, and the parts; nothing if it cannot be split.
fn try_split(func: &Func, region: Region, inst: Inst) -> Option<(Func, Vec<Inst>)> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    if init.len() < 3 || init.len() > MAX_ITEMS + 1 || !is_pure(func, *body) {
        return None;
    }
    let defs = Defs::new(func);
    let Trip { counter, .. } = Trip::upward(func, &defs, inst)?;
    if Places::new(func).is_inside_with(func, inst) {
        return None;
    }
    let nest = LoopNest::of(func, &defs, inst)?;
    let top: HashSet<Inst> = func.regions[*body].insts.iter().copied().collect();
    let mut split = Split { nest, top, counter, slices: Vec::new() };
    split.slices = (0..init.len()).map(|k| (k != counter).then(|| split.slice(k)).flatten()).collect();
    let groups = split.groups();
    if groups.len() < 2 || split.slices.iter().flatten().count() == 0 {
        return None;
    }
    let mut new = func.clone();
    let parts = split.rewrite(&mut new, region, &groups);
    Some((new, parts))
}

/// An array of which every iteration touches a slice of its own.
struct Slice {
    /// An element that is stored in each iteration, and where; not if it is computed again easily.
    stored: Option<(Value, Vec<Value>)>,
}

struct Split<'a> {
    nest: LoopNest<'a>,
    /// Instructions of the body, without those inside of others.
    top: HashSet<Inst>,
    counter: usize,
    /// By position among the carried values.
    slices: Vec<Option<Slice>>,
}

/// What a part of an iteration is made of.
#[derive(Default)]
struct Needs {
    insts: HashSet<Inst>,
    /// Positions of carried values as the iteration finds them.
    before: HashSet<usize>,
    /// Positions of arrays as the iteration leaves them.
    after: HashSet<usize>,
}

impl Split<'_> {
    fn param(&self, k: usize) -> Value {
        self.nest.func.regions[self.nest.body].params[k]
    }

    fn next(&self, k: usize) -> Value {
        self.nest.func.regions[self.nest.body].yields[k + 1]
    }

    /// The slice of an array that an iteration updates once and touches nowhere else.
    fn slice(&self, k: usize) -> Option<Slice> {
        let (func, nest) = (self.nest.func, &self.nest);
        let (param, next) = (self.param(k), self.next(k));
        let ty = func.ty(param);
        let rank = ty.rank().filter(|rank| *rank > 0)?;
        let Def::Inst(write, _) = nest.defs.get(next) else { return None };
        if !nest.keeps_type(k) || ty.elem == Elem::Handle || !self.top.contains(&write) {
            return None;
        }
        let moves = |v: Value| {
            let sum = nest.sum(v)?;
            (sum.terms.get(&self.param(self.counter)).is_some_and(|k| k.abs() == 1) && nest.step(&sum) != 0)
                .then_some(sum)
        };
        let (axis, sum, own, stored) = match &func.insts[write].op {
            Op::Update { array, index, value } if *array == param && index.len() == rank => {
                let (axis, sum) = index.iter().enumerate().find_map(|(k, v)| Some((k, moves(*v)?)))?;
                (axis, sum, None, func.ty(*value).is_scalar().then(|| (*value, index.clone())))
            }
            Op::With(With { parts, ops, ordered: false }) => {
                let ([part], [WithOp::Modarray { array }]) = (&parts[..], &ops[..]) else { return None };
                let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
                let one = Sum::constant(1);
                let is_one =
                    |k: &usize| moves(lower[*k]).is_some_and(|sum| nest.sum(upper[*k]) == Some(sum.add(&one, 1)));
                let axis = (0..lower.len()).find(is_one).filter(|_| *array == param)?;
                (axis, nest.sum(lower[axis])?, Some(func.regions[part.body].params[axis]), None)
            }
            _ => return None,
        };
        let mut alone = true;
        walk(func, nest.body, &mut |_, inst| match &func.insts[inst].op {
            Op::Extent { .. } => {}
            Op::Sel { array, index } if *array == param || *array == next => {
                let is_own = |v: &Value| Some(*v) == own || nest.sum(*v).as_ref() == Some(&sum);
                alone &= index.get(axis).is_some_and(is_own);
            }
            op => {
                op.for_each_operand(|v| alone &= (v != param && v != next) || (inst == write && v == param));
                for nested in op.regions() {
                    alone &= !func.regions[nested].yields.iter().any(|v| *v == param || *v == next);
                }
            }
        });
        let yields = &func.regions[nest.body].yields;
        alone &= !yields.contains(&param) && yields.iter().filter(|v| **v == next).count() == 1;
        alone.then(|| Slice { stored: stored.filter(|(value, _)| self.is_dear(*value, param)) })
    }

    /// Takes a value longer to compute than to load, or is it computed of what the array was before?
    fn is_dear(&self, value: Value, array: Value) -> bool {
        let func = self.nest.func;
        let needs = self.needs(&[value], None);
        let reads = func.regions[self.nest.body].params.iter().position(|v| *v == array);
        let is_op = |inst: &&Inst| !matches!(func.insts[**inst].op, Op::Const(_));
        let nests = needs.insts.iter().any(|inst| !func.insts[*inst].op.regions().is_empty());
        let is_computed = self.nest.defs.inst(value).is_some_and(|inst| needs.insts.contains(&inst));
        let again = needs.insts.iter().filter(is_op).count();
        is_computed && (nests || again > MAX_AGAIN || reads.is_some_and(|k| needs.before.contains(&k)))
    }

    /// What some values of an iteration need. A part for the carried values `group` loads what other parts store.
    fn needs(&self, roots: &[Value], group: Option<&[usize]>) -> Needs {
        let (func, defs) = (self.nest.func, self.nest.defs);
        let mut needs = Needs::default();
        let mut work = roots.to_vec();
        let mut seen = HashSet::default();
        while let Some(v) = work.pop() {
            if !seen.insert(v) {
                continue;
            }
            if let Def::Param(region, k) = defs.get(v)
                && region == self.nest.body
            {
                needs.before.insert(k as usize);
                continue;
            }
            if let Some(group) = group
                && let Some(k) = self.made_elsewhere(v, group)
            {
                needs.after.insert(k);
                if let Some((value, index)) = &self.slices[k].as_ref().and_then(|slice| slice.stored.as_ref())
                    && *value == v
                {
                    work.extend(index);
                }
                continue;
            }
            let Some(inst) = defs.inst(v).filter(|inst| self.top.contains(inst)) else { continue };
            needs.insts.insert(inst);
            func.insts[inst].op.for_each_operand(|v| work.push(v));
            for nested in func.insts[inst].op.regions() {
                work.extend(free_values(func, nested));
            }
        }
        needs
    }

    /// The array, not of a group, that an iteration leaves as `v`, or that it stores `v` in.
    fn made_elsewhere(&self, v: Value, group: &[usize]) -> Option<usize> {
        let makes = |k: &usize| {
            let stored = self.slices[*k].as_ref().map(|slice| slice.stored.as_ref().map(|(value, _)| *value));
            stored.is_some_and(|stored| stored == Some(v) || self.next(*k) == v)
        };
        // What several arrays get belongs to the first of them.
        (0..self.slices.len()).find(makes).filter(|k| !group.contains(k))
    }

    /// Carried values that stay together, in the order of their loops.
    fn groups(&self) -> Vec<Vec<usize>> {
        let count = self.slices.len();
        let items = || (0..count).filter(|k| *k != self.counter);
        let mut before = vec![vec![false; count]; count];
        for k in items() {
            let needs = self.needs(&[self.next(k)], Some(&[k]));
            for l in needs.before.into_iter().filter(|l| *l != k && *l != self.counter) {
                before[k][l] = true;
                before[l][k] |= self.slices[l].is_none();
            }
            for l in needs.after {
                before[l][k] = true;
            }
        }
        for via in items() {
            for a in items() {
                for b in items() {
                    before[a][b] |= before[a][via] && before[via][b];
                }
            }
        }
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut left: Vec<usize> = items().collect();
        while let Some(&first) = left.iter().find(|k| left.iter().all(|l| !before[*l][**k] || before[**k][*l])) {
            let group: Vec<usize> =
                left.iter().copied().filter(|k| *k == first || (before[*k][first] && before[first][*k])).collect();
            left.retain(|k| !group.contains(k));
            groups.push(group);
        }
        groups
    }

    /// Puts a loop for each group in the place of the loop.
    fn rewrite(&self, func: &mut Func, region: Region, groups: &[Vec<usize>]) -> Vec<Inst> {
        let old = self.nest.inst;
        let (span, results) = (func.insts[old].span, func.insts[old].results.clone());
        let mut defs = Defs::new(func);
        let mut made: HashMap<usize, Value> = HashMap::default();
        let mut renames = Renames::default();
        let mut parts = Vec::new();
        for group in groups {
            let mut copier = Copier::within(func, self.nest.body);
            let carried: Vec<usize> = group.iter().copied().chain([self.counter]).collect();
            let mut params = Vec::new();
            for k in 0..self.slices.len() {
                let (param, init) = (self.param(k), self.nest.init[k]);
                copier.values.insert(param, init);
                if carried.contains(&k) {
                    let ty = func.ty(param).clone();
                    copier.values.insert(param, func.new_value(ty));
                }
                if let Some(array) = made.get(&k).filter(|_| self.slices[k].is_some()) {
                    copier.values.insert(self.next(k), *array);
                }
            }
            params.extend(carried.iter().map(|k| copier.values[&self.param(*k)]));
            let yields = &self.nest.func.regions[self.nest.body].yields;
            let roots: Vec<Value> = std::iter::once(yields[0]).chain(carried.iter().map(|k| yields[k + 1])).collect();
            let needs = self.needs(&roots, Some(group));
            let mut insts = Vec::new();
            for &inst in &self.nest.func.regions[self.nest.body].insts {
                if needs.insts.contains(&inst) {
                    insts.push(copier.inst(func, inst));
                }
                self.load_stored(func, &mut defs, &mut copier, (inst, &needs), &made, &mut insts);
            }
            let yields = roots.iter().map(|v| copier.value(*v)).collect();
            let types: Vec<Ty> = carried.iter().map(|k| func.ty(results[*k]).clone()).collect();
            let body = func.regions.push(RegionData { params, insts, yields });
            let init = carried.iter().map(|k| self.nest.init[*k]).collect();
            let part = func.make_inst(Op::Loop { init, body }, types, span);
            for (k, v) in carried.iter().zip(func.insts[part].results.clone()) {
                made.insert(*k, v);
            }
            parts.push(part);
        }
        for (k, old) in results.iter().enumerate() {
            renames.set(*old, made[&k]);
        }
        replace_inst(func, region, old, parts.iter().copied());
        renames.apply(func);
        parts
    }

    /// Where the original stores an element that a part needs: loads it from what another part has made.
    fn load_stored(
        &self,
        func: &mut Func,
        defs: &mut Defs,
        copier: &mut Copier<'_>,
        (inst, needs): (Inst, &Needs),
        made: &HashMap<usize, Value>,
        out: &mut Vec<Inst>,
    ) {
        let span = func.insts[inst].span;
        for &k in &needs.after {
            let Some((value, index)) = self.slices[k].as_ref().and_then(|slice| slice.stored.as_ref()) else {
                continue;
            };
            let defined = self.nest.defs.inst(*value) == Some(inst);
            let Some(array) = made.get(&k).filter(|_| defined) else { continue };
            // The index may be computed behind the value.
            let mut late = Vec::new();
            for v in index {
                self.copy_index(func, copier, *v, &mut late);
            }
            out.extend(late);
            let index = index.iter().map(|v| copier.value(*v)).collect();
            let ty = func.ty(*value).clone();
            let loaded = Emitter { func, defs, out, span }.emit(Op::Sel { array: *array, index }, ty);
            copier.values.insert(*value, loaded);
        }
    }

    /// Copies what an index is made of, if that has no copy yet.
    fn copy_index(&self, func: &mut Func, copier: &mut Copier<'_>, v: Value, out: &mut Vec<Inst>) {
        let Some(inst) = self.nest.defs.inst(v).filter(|inst| self.top.contains(inst)) else { return };
        if copier.values.contains_key(&v) {
            return;
        }
        let mut operands = Vec::new();
        func.insts[inst].op.for_each_operand(|v| operands.push(v));
        for v in operands {
            self.copy_index(func, copier, v, out);
        }
        out.push(copier.inst(func, inst));
    }
}
