//! What is computed before a clock is read stays before it, and what comes after stays after it.
//!
//! ```text
//!    %x = with { ... } genarray   %s = native ravel_clock_monotonic   %y = with { ... sel %x ... } genarray
//! => %x = with { ... } genarray   %s = native ravel_clock_monotonic   %h = opaque %x   %y = with { ... sel %h ... } genarray
//! ```
//!
//! Pure code has no order, so that a program that measures itself would see nothing where its with-loops have moved into later ones, or out of the
//! loop that repeats them. Arrays are hidden where the clock stands; what is computed of numbers alone stays in its loop by `licm`.
//!
//! Before: functions are inlined. After: behind a clock no array is known for what made it.
//! A call of a function that reads a clock counts as one. Leaves alone: scalars and their arithmetic.
//! Worth: tests/golden/library/stop-watches (no speed: programs that time themselves would read zero).

use crate::edit::{Renames, insert_after, place_of, reads_of};
use crate::pass::{Context, Pass};
use ravel_types::{Elem, HashSet};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Inst, Op, Region, Value};

pub const PASS: Pass =
    Pass::of("pin-clocks", "keep what is computed on its side of the reading of a clock", pin_clocks);

pub fn pin_clocks(func: &mut Func, cx: &mut Context) -> bool {
    let mut regions = Vec::new();
    walk(func, func.body, &mut |region, inst| {
        if cx.is_clock(&func.insts[inst].op) && !regions.contains(&region) {
            regions.push(region);
        }
    });
    let mut changed = false;
    for region in regions {
        let clocks = func.regions[region].insts.iter().copied().filter(|inst| cx.is_clock(&func.insts[*inst].op));
        for clock in clocks.collect::<Vec<_>>() {
            changed |= pin(func, region, clock);
        }
    }
    changed
}

/// Hides the arrays that are there when a clock is read, and needed after it.
fn pin(func: &mut Func, region: Region, clock: Inst) -> bool {
    let after = func.regions[region].insts[place_of(func, region, clock) + 1..].to_vec();
    let (mut used, mut made): (Vec<Value>, HashSet<Value>) = (func.regions[region].yields.clone(), HashSet::default());
    for &inst in &after {
        used.extend(reads_of(func, inst));
        made.extend(&func.insts[inst].results);
    }
    used.retain(|v| !func.ty(*v).is_scalar() && func.ty(*v).elem != Elem::Handle && !made.contains(v));
    used.sort();
    used.dedup();
    let span = func.insts[clock].span;
    let (mut renames, mut hidden) = (Renames::default(), Vec::new());
    for v in used {
        let inst = func.make_inst(Op::Opaque(v), vec![func.ty(v).clone()], span);
        renames.set(v, func.insts[inst].results[0]);
        hidden.push(inst);
    }
    for inst in after {
        renames.apply_inst(func, inst);
        for nested in func.insts[inst].op.regions() {
            renames.apply_region(func, nested);
        }
    }
    for v in &mut func.regions[region].yields {
        *v = renames.get(*v);
    }
    let changed = !hidden.is_empty();
    insert_after(func, region, clock, hidden);
    changed
}
