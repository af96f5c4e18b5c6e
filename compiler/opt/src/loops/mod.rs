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
