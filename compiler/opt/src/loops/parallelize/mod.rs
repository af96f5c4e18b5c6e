//! Loops whose iterations do not depend on each other become with-loops.
//!
//! ```text
//!    loop (%a = %x, %j = 0) { %l = %a[%i - 1, %j]  %v = %l + %a[%i, %j]  %b = %a with [%i, %j] = %v  yield %j + 1 < n, %b, %j + 1 }
//! => modarray(%x) { [%i, 0] <= [%k, %j] < [%i + 1, n] -> %x[%i - 1, %j] + %x[%i, %j] }
//! ```
//!
//! Programs written as in C: `for` loops that fill or change arrays element by element. As with-loops they run in lanes and on threads. A loop becomes
//! one of these, the first that its iterations allow:
//!
//! - [`cells`]: each stores one cell of each array. A loop around a with-loop of this kind joins it.
//! - [`rows`]: each stores one column of several rows of an array. The with-loop makes the rows.
//! - [`sweeps`]: each works on one row, in order. The with-loop goes over the rows.
//!
//! An iteration of the first kind along a row may also read what iterations behind it write, `v[j + 1]`: it finds the old element there. The with-loop is `ordered`
//! then, so that it happens in place, on one thread, with lanes that load before they store.
//!
//! Before: normalized, simplified, checks proven. After: no such loop of more than a few iterations.
//! Refuses: what [`verdict`](crate::loops::verdict) says; few iterations; loops inside of with-loops where lanes run around them (several arrays, rows, sweeps).
//! Worth: tests/survey/loops/pair-distances (2.3 with Cranelift, 6.5 with LLVM).

pub mod cells;
pub mod rows;
pub mod sweeps;

use crate::edit::Defs;
use crate::facts::places::Places;
use crate::loops::{Site, rewrite_loops};
use crate::pass::{Context, Pass};
use ravel_wir::{Func, Inst, Region};

pub const PASS: Pass =
    Pass::of("parallelize-loops", "make with-loops of loops whose iterations are independent", parallelize);

pub fn parallelize(func: &mut Func, cx: &mut Context) -> bool {
    let changed = rewrite_loops(func, cx, true, &[|site| cells::make(site, false), rows::make]);
    // Outer ones first: a row is as long as may be.
    rewrite_loops(func, cx, false, &[sweeps::make]) | changed
}

/// Makes a with-loop of one loop, if its iterations store cells of their own. `any_rank` or vectors alone, where they change several arrays?
pub fn make_parallel(func: &mut Func, region: Region, inst: Inst, any_rank: bool, eager: bool) -> bool {
    let (defs, places) = (&mut Defs::new(func), &Places::new(func));
    cells::make(&mut Site { func, defs, places, region, inst, eager }, any_rank).is_some()
}
