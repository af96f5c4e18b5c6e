//! Passes that make scalars of small arrays, and straight code of short loops.

pub mod small_bodies;
pub mod sroa;
pub mod sroa_folds;
pub mod unroll_arrays;
pub mod unroll_loops;
pub mod unroll_small;
