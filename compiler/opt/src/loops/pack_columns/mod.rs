//! Columns of a matrix that are read again and again are put side by side before the loop or with-loop that reads them.
//!
//! ```text
//!    modarray(a) { [i, j] -> a[i, j] - a[i, k] * a[j, k] }
//! => t = genarray { [j] -> a[j, k] }   modarray(a) { [i, j] -> a[i, j] - a[i, k] * t[j] }
//! ```
//!
//! Lanes run along the last axis. A load that they make far apart takes an instruction and a line of the cache for each lane, again in every
//! row; from a vector it is one load, and the vector stays in the cache.
//!
//! - [`of_loops`]: the iterations of a loop share the column, as steps of factorisations over a triangle do.
//! - [`of_rows`]: the rows of a with-loop do.
//!
//! Before: folding has ended, or it would undo this; invariant motion follows.
//! Refuses: columns that may not be there, or lie close together; few or short rows.
//! Worth: tests/survey/loops/cholesky-of-squares (1.3 with Cranelift, 2.8 with LLVM).

pub mod of_loops;
pub mod of_rows;

use crate::loops::rewrite_loops;
use crate::pass::{Context, Pass};
use ravel_wir::Func;

pub const PASS: Pass = Pass::of("pack-columns", "put columns that are read again and again side by side before", pack);

pub fn pack(func: &mut Func, cx: &mut Context) -> bool {
    let changed = rewrite_loops(func, cx, false, &[of_loops::make]);
    of_rows::make(func, cx) | changed
}
