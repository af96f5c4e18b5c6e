//! Loops that only combine what their iterations compute become folds, which run in lanes and on threads.
//!
//! ```text
//!    loop (%s = %s0, %k = 0) { %x = %a[%k]  %t = %s + %x  yield %k + 1 < n, %t, %k + 1 }
//! => %f = with { [0] <= [%k] < [n] { %a[%k] } } fold add 0   %s0 + %f
//! ```
//!
//! - [`folds`]: counts, sums and products of integers, extremes, questions whether something holds for any or for all.
//! - [`argmin`]: extremes and where they are.
//!
//! Before: checks that need not stay are gone, branches that choose are selections. After: no such loop of more than a few iterations.
//! Refuses: sums and products of reals, whose order counts; loops inside of with-loops, where lanes run around them.
//! Worth: tests/survey/reductions/several-at-once (6.5 with Cranelift, 24 with LLVM).

pub mod argmin;
pub mod folds;

use crate::edit::{Defs, loops_of};
use crate::facts::places::Places;
use crate::pass::{Context, Pass};
use ravel_wir::Func;

pub const PASS: Pass = Pass::of(
    "recognize-reductions",
    "make folds of loops that combine, or look for an extreme and where it is",
    recognize,
);

pub fn recognize(func: &mut Func, cx: &mut Context) -> bool {
    let (mut facts, mut changed) = (None, false);
    // Inner ones first: what an outer loop combines may be what an inner one has found.
    for (region, inst) in loops_of(func).into_iter().rev() {
        let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
        let span = func.insts[inst].span;
        let applied = folds::make(func, defs, places, (region, inst), cx.eager)
            .or_else(|| argmin::make(func, defs, places, (region, inst), cx.eager));
        if let Some(what) = applied {
            cx.applied(span, what);
            (facts, changed) = (None, true);
        }
    }
    changed
}
