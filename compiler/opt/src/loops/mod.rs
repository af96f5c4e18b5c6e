//! Passes over counted loops: which iterations depend on which, and what a loop becomes then - a with-loop, several loops, one with its loops
//! exchanged, one that carries scalars instead of elements.

pub mod accesses;
pub mod distribute;
pub mod fuse_loops;
pub mod interchange;
pub mod nest;
pub mod normalize;
pub mod pack_columns;
pub mod parallelize;
pub mod privatize;
pub mod promote;
pub mod reassociate;
pub mod reductions;
pub mod scalar_replace;
pub mod slices;
pub mod strip_mine;
pub mod unroll_and_jam;
pub mod unroll_scatters;
pub mod verdict;

use crate::edit::{Defs, loops_of};
use crate::facts::Places;
use crate::pass::Context;
use ravel_wir::{Func, Inst, Region};

/// A loop, and what is known of its function.
pub struct Site<'a> {
    pub func: &'a mut Func,
    pub defs: &'a mut Defs,
    pub places: &'a Places,
    pub region: Region,
    pub inst: Inst,
    pub eager: bool,
}

/// What puts something else in the place of a loop, and says so; nothing if the loop stays as it is.
pub type Make = fn(&mut Site) -> Option<&'static str>;

/// The loops of a function, each to the first of several that takes it; whether any did. `inner_first`, or outer ones?
pub fn rewrite_loops(func: &mut Func, cx: &mut Context, inner_first: bool, makes: &[Make]) -> bool {
    let (mut facts, mut changed) = (None, false);
    let mut loops = loops_of(func);
    if inner_first {
        loops.reverse();
    }
    for (region, inst) in loops {
        let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
        let span = func.insts[inst].span;
        let mut site = Site { func, defs, places, region, inst, eager: cx.eager };
        if let Some(what) = makes.iter().find_map(|make| make(&mut site)) {
            cx.applied(span, what);
            (facts, changed) = (None, true);
        }
    }
    changed
}
