//! Passes that make scalars of small arrays, and straight code of short loops.

pub mod compose_updates;
pub mod small_bodies;
pub mod split_arrays;
pub mod split_folds;
pub mod unroll_arrays;
pub mod unroll_loops;
pub mod unroll_small;
