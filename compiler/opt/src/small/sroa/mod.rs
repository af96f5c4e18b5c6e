//! Scalar replacement of aggregates: small arrays that are put together element by element are scalars.
//!
//! ```text
//!    %b = update %a, [0], %x   %c = update %b, [1], %y                           =>   %c = array [%x, %y]
//!    %r = loop (%z = %c) { ... %n = array [%x, %y] yield %go, %n }               =>   %r0, %r1 = loop (...) { ... yield %go, %x, %y }
//! ```
//!
//! First chains of updates become arrays that are put together at once (`compose`); then loops and branches hand such arrays on element by element (`split`).
//!
//! Before: simplified, short loops written out. After: see the two modules.
//! Leaves alone: arrays with more than [`MAX_ELEMENTS`] elements, and those that are used as a whole.
//! Worth: tests/survey/small/hadamard-rows (1.7 with Cranelift, 2.3 with LLVM).

mod compose;
mod split;

pub use split::elements;

use crate::pass::{Context, Pass};
use ravel_wir::Func;

pub const PASS: Pass = Pass::of("sroa", "hold small arrays in scalars", sroa);

/// Largest array that is held in scalars.
const MAX_ELEMENTS: usize = 16;

pub fn sroa(func: &mut Func, _: &mut Context) -> bool {
    let composed = compose::compose_updates(func);
    split::split_carried(func) || composed
}
