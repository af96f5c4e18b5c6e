//! Loops are split into loops of which some are with-loops: each statement of a nest gets a nest of its own, in an order that its operands allow.
//!
//! ```text
//!    loop (%r = %r0, %a = %a0, %j = 0) { %r1 = %r with [%j] = f(%a[%j])  %a1 = %a with [%j] = g(%r1[%j])  yield ..., %r1, %a1, %j + 1 }
//! => %R = modarray(%r0) { [0] <= [%j] < [n] -> f(%a0[%j]) }   %A = modarray(%a0) { [0] <= [%j] < [n] -> g(%R[%j]) }
//! ```
//!
//! - [`split`]: the values that a loop carries are divided among several loops. Scalars that only some of them make become vectors ([`expand`]).
//! - [`ahead`]: what iterations compute without earlier ones is computed for all of them before the loop, by a with-loop.
//!
//! Before: `parallelize-loops` has made with-loops of inner loops. After: no loop of which a part would be a with-loop.
//! Worth: tests/survey/loops/moved-bodies (2.0 with Cranelift, 7.7 with LLVM).

pub mod ahead;
pub mod expand;
pub mod split;

use crate::edit::loops_of;
use crate::pass::{Context, Pass};
use ravel_wir::Func;

pub const PASS: Pass =
    Pass::of("distribute-loops", "split loops, so that iterations of the parts are independent", distribute);

pub fn distribute(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    // Inner ones first: as with-loops they may be split off what is around them, and go ahead as a whole.
    for (region, inst) in loops_of(func).into_iter().rev() {
        if let Some(what) = split::make(func, region, inst, cx.eager) {
            cx.applied(func.insts[inst].span, what);
            changed = true;
        }
    }
    for (region, inst) in loops_of(func).into_iter().rev() {
        if let Some(what) = ahead::make(func, region, inst, cx) {
            cx.applied(func.insts[inst].span, what);
            changed = true;
        }
    }
    changed
}
