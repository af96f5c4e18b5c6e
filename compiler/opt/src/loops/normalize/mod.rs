//! Loops are brought into the form that the passes of this room know: one that counts below or above an end, and stores an element once.
//!
//! ```text
//!    loop (%a = %x, %j = %s) { %b = if %c { %u = update %a, [%j], %v  yield %u } else { yield %a }  yield %j + 1 <= %m, %b, %j + 1 }
//! => %e = %m + 1  loop (%a = %x, %j = %s) { %o = sel %a, [%j]  %w = select %c, %v, %o  %b = update %a, [%j], %w  yield %j + 1 < %e, %b, %j + 1 }
//! ```
//!
//! - [`bounds`]: a loop that goes on while its counter is at most a bound, or at least one, compares it with the number behind the bound.
//! - [`updates`]: updates of one element that follow each other, or that a branch makes or does not, become one.
//!
//! Before: simplified, checks proven. After: no loop that counts by one compares with `<=` or `>=`, if its bound is not the last integer; no two such updates in a loop that
//! carries the array and whose counter is part of the index.
//! Worth: tests/survey/loops/floyd-warshall (2.9 with Cranelift, 7.5 with LLVM).

pub mod bounds;
pub mod updates;

use crate::pass::{Context, Pass};
use ravel_wir::Func;

pub const PASS: Pass =
    Pass::of("normalize-loops", "let loops count below an end, and store an element once", normalize);

pub fn normalize(func: &mut Func, cx: &mut Context) -> bool {
    let counts = bounds::strict(func);
    updates::merge(func, cx) | counts
}
