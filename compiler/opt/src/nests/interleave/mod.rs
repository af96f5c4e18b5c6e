//! Interleaving: an outer with-loop whose body makes small arrays does four iterations at once, in lanes.
//!
//! ```text
//!    fold add { [i] -> t = genarray { [j, k] -> f(a[i, j, k]) };  genarray { [m] -> g(t[m, 0]) } }
//! => n = extent / 4
//!    fold add { [b] -> p = genarray { [j, q] -> a[4*b + q % 4, j, q / 4] }
//!                      t = genarray { [j, q] -> f(p[j, q]) }
//!                      genarray { [m] -> fold add { [l] -> g(t[m, l]) } } }
//!    and the original with-loop for the last (extent % 4) indices
//! ```
//!
//! Arrays made in the body have extents such as 24 or 8, which do not fill wide vectors. With the lanes as part of their last axis
//! (module `lane`) the with-loops in the body run over four times as many indices, neighbors of which do the same work on
//! neighboring elements. The number of lanes is the same for all targets, and blocks are made of fixed indices, so results do not
//! depend on threads. The last of a few heavy iterations are done in blocks of two (module `taper`).
//!
//! Before: folding and fusion have ended. After: temporaries of such bodies are interleaved. The pass runs once; it declines blocks of four.
//! Leaves alone: bodies without arrays, with long rows, or with little work per element of their inputs (module `profit`); arrays
//! without constant shape; folds with functions that do not regroup.
//! Worth: tests/survey/with-loops/small-networks (1.0, hidden 0.2 with Cranelift, 1.6, 0.4 with LLVM).

mod body;
mod lane;
mod outer;
mod profit;
mod taper;

use crate::edit::Defs;
use crate::facts::Places;
use crate::pass::{Context, Pass};
use ravel_wir::{Func, Op, Region};

pub const PASS: Pass = Pass::of(
    "interleave",
    "run four iterations of an outer with-loop in lanes, with interleaved temporaries",
    interleave,
);

/// Iterations per block.
const LANES: i32 = 4;

pub fn interleave(func: &mut Func, cx: &mut Context) -> bool {
    let body = func.body;
    visit(func, body, cx, &mut None)
}

/// Outer with-loops first; what is inside of one that was interleaved stays as it is.
///
/// `facts` are valid until something changes.
fn visit(func: &mut Func, region: Region, cx: &mut Context, facts: &mut Option<(Defs, Places)>) -> bool {
    let mut changed = false;
    for inst in func.regions[region].insts.clone() {
        if let Op::With(with) = &func.insts[inst].op {
            let (with, span) = (with.clone(), func.insts[inst].span);
            let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
            match outer::interleave_with(func, defs, places, inst, region, &with, cx.eager) {
                Ok(()) => {
                    *facts = None;
                    cx.applied(span, format!("{LANES} iterations are done at once, in lanes"));
                    changed = true;
                    continue;
                }
                Err(Some(why)) => cx.refused(span, why),
                Err(None) => {}
            }
        }
        for nested in func.insts[inst].op.regions() {
            changed |= visit(func, nested, cx, facts);
        }
    }
    changed
}
