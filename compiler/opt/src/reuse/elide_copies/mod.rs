//! With-loops that copy an array in part become updates of it, which happen in place where nobody else needs the array.
//!
//! ```text
//!    genarray { [i, j] -> if j == p { f(i) } else { a[i, j] } }       =>   modarray(a) { [i, p] -> f(i) }
//!    genarray [n] { [0 <= i < k] -> f(i), [k <= i < n] -> a[i] }      =>   modarray(a) { [0 <= i < k] -> f(i) }
//! ```
//!
//! First cells that choose between the array and something else (`choices`), then partitions that copy (`boxes`).
//!
//! Before: folding and fusion have ended, since updates are harder to fold than arrays that are made; simplified. After: see the two modules.
//! Leaves alone: copies whose place is no box that is known before the with-loop.
//! Worth: tests/survey/sorting/tournament (3.9 with Cranelift, 2.6 with LLVM).

mod boxes;
mod choices;

use crate::pass::{Context, Pass};
use ravel_wir::Func;

pub const PASS: Pass =
    Pass::of("elide-copies", "make updates of with-loops that copy an array but for some boxes", elide_copies);

pub fn elide_copies(func: &mut Func, cx: &mut Context) -> bool {
    let updated = choices::update_parts(func, cx);
    boxes::drop_copies(func, cx) || updated
}
