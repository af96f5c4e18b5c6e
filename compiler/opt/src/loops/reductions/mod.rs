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

use crate::loops::rewrite_loops;
use crate::pass::{Context, Pass};
use ravel_wir::Func;

pub const PASS: Pass = Pass::of(
    "recognize-reductions",
    "make folds of loops that combine, or look for an extreme and where it is",
    recognize,
);

pub fn recognize(func: &mut Func, cx: &mut Context) -> bool {
    // Inner ones first: what an outer loop combines may be what an inner one has found.
    rewrite_loops(func, cx, true, &[folds::make, argmin::make])
}
