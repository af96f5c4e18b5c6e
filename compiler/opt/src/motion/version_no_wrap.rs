//! Versions of array-making with-loops for extents of ordinary size, in which sums of indices and extents do not wrap.
//!
//! ```text
//!    genarray { [0 <= i < n] -> t = (i + n - 1) mod n; check 0 <= t < n; a[t] }
//! => if n <= 2^29 then genarray { ... } else genarray { ... }
//! ```
//!
//! SaC's integers wrap, so that for `n` above `2^30` the sum in a wrapped index may be negative and the check may fail. Where
//! it is known that `n` is not that large, `split-index-sets` and `prove-checks` remove the remainder and the check.
//!
//! Before: the cycle of folding has ended, for branches stand in its way. After: with-loops outside of others whose checks hold
//! for all but huge extents stand in both branches of a test, and one of them needs fewer checks.
//! Leaves alone: with-loops whose checks hold anyway, or do not hold for ordinary extents either; folds and updates, which would
//! lose the place they are computed in; and large bodies.
//! Worth: tests/survey/with-loops/pixel-shuffle (4.5 with Cranelift, 1.3 with LLVM, extents hidden).

use crate::edit::{Defs, Emitter, size_of, version_by_copy};
use crate::facts::{Atom, Places, Ranges, rewrite_withs};
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, HashSet, Ty};
use ravel_wir::{Func, Inst, Op, Region, Value, WithOp};

pub const PASS: Pass =
    Pass::of("version-no-wrap", "versions of with-loops for extents whose sums do not wrap", version_no_wrap);

/// What an extent of ordinary size is at most: sums of three do not wrap.
pub const ORDINARY: i32 = 1 << 29;
/// Most instructions in the bodies of a with-loop that is copied.
const MAX_CODE: usize = 400;
/// Most extents that are tested.
const MAX_EXTENTS: usize = 4;

pub fn version_no_wrap(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_withs(func, |func, defs, places, (home, inst)| {
        if places.is_inside_with(func, inst) || !makes_arrays(func, inst) {
            return None;
        }
        let extents = candidates(func, places, defs, inst);
        let Op::With(with) = &func.insts[inst].op else { return None };
        if extents.is_empty() || !settles(func, places, defs, inst, &extents) {
            return None;
        }
        let span = func.insts[inst].span;
        let code: usize = with.parts.iter().map(|p| size_of(func, p.body)).sum();
        if code > MAX_CODE || extents.len() > MAX_EXTENTS {
            cx.refused(
                span,
                format!("a version for extents whose sums do not wrap would take {code} more instructions"),
            );
            return None;
        }
        branch(func, defs, (home, inst), &extents);
        cx.applied(span, format!("made in two versions: for extents up to {ORDINARY} sums do not wrap"));
        Some(())
    })
}

fn makes_arrays(func: &Func, inst: Inst) -> bool {
    let Op::With(with) = &func.insts[inst].op else { return false };
    !with.ordered && with.ops.iter().all(|op| matches!(op, WithOp::Genarray { .. }))
}

/// Values from before the with-loop that take part in sums which may wrap, and that may be large.
fn candidates(func: &Func, places: &Places, defs: &Defs, inst: Inst) -> Vec<Value> {
    let mut found = Vec::new();
    let Op::With(with) = &func.insts[inst].op else { return found };
    let Some(home) = places.home(inst) else { return found };
    let visible = visible_before(func, places, home, inst);
    for part in &with.parts {
        let mut ranges = places.ranges_at(func, defs, inst);
        ranges.enter_part(func, defs, part);
        let mut bounds = Vec::new();
        part.generator.for_each(&mut |v| bounds.push(v));
        let sums = func.regions[part.body].insts.iter().flat_map(|i| func.insts[*i].results.iter().copied());
        for value in sums.chain(bounds) {
            let Some(Op::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul, a, b)) = defs.op(func, value) else { continue };
            if func.ty(value).elem != Elem::I32 || ranges.form(func, defs, value).as_atom() != Some(Atom::Value(value))
            {
                continue;
            }
            for v in [*a, *b] {
                let form = ranges.form(func, defs, v);
                let is_unit = form.as_atom().is_some();
                let may_be_large = ranges.lower(&form) >= 0 && ranges.upper(&form) > i64::from(ORDINARY);
                let is_huge = ranges.lower(&form) > i64::from(ORDINARY);
                if is_unit && may_be_large && !is_huge && visible.contains(&v) && !found.contains(&v) {
                    found.push(v);
                }
            }
        }
    }
    found
}

/// The scalars that stand before the with-loop.
pub fn visible_before(func: &Func, places: &Places, home: Region, inst: Inst) -> HashSet<Value> {
    let mut visible = HashSet::default();
    let (mut region, mut stop) = (home, inst);
    loop {
        visible.extend(func.regions[region].params.iter().copied());
        let before = func.regions[region].insts.iter().take_while(|i| **i != stop);
        visible.extend(before.flat_map(|i| func.insts[*i].results.iter().copied()));
        let Some(owner) = places.owner_of(region) else { return visible };
        let Some(outer) = places.home(owner) else { return visible };
        (region, stop) = (outer, owner);
    }
}

/// Whether a check that may fail holds if the extents are of ordinary size.
fn settles(func: &Func, places: &Places, defs: &Defs, inst: Inst, extents: &[Value]) -> bool {
    let Op::With(with) = &func.insts[inst].op else { return false };
    with.parts.iter().any(|part| {
        let mut plain = places.ranges_at(func, defs, inst);
        let mut bounded = places.ranges_at(func, defs, inst);
        for v in extents {
            bounded.assume_at_most(func, defs, *v, i64::from(ORDINARY));
        }
        plain.enter_part(func, defs, part);
        bounded.enter_part(func, defs, part);
        func.regions[part.body].insts.iter().any(|&site| {
            let settled = match &func.insts[site].op {
                Op::Check { cond, .. } => {
                    holds(&mut bounded, func, defs, *cond) && !holds(&mut plain, func, defs, *cond)
                }
                _ => false,
            };
            plain.learn(func, defs, site);
            bounded.learn(func, defs, site);
            settled
        })
    })
}

fn holds(ranges: &mut Ranges, func: &Func, defs: &Defs, cond: Value) -> bool {
    ranges.decide(func, defs, cond) == Some(true)
}

/// Makes the test, and the with-loop in both of its branches.
fn branch(func: &mut Func, defs: &mut Defs, (home, inst): (Region, Inst), extents: &[Value]) {
    let span = func.insts[inst].span;
    let mut out = Vec::new();
    let mut e = Emitter { func, defs, out: &mut out, span };
    let most = e.int(ORDINARY);
    let tests: Vec<Value> = extents.iter().map(|v| e.int_op(BinOp::Le, *v, most)).collect();
    let cond = tests.into_iter().reduce(|a, b| e.emit(Op::Bin(BinOp::And, a, b), Ty::scalar(Elem::Bool)));
    if let Some(cond) = cond {
        version_by_copy(func, home, inst, cond, out);
    }
}
