//! Passes over loop nests: outer loops that are unrolled, divisions by constants, bodies that become functions.

pub mod float_reciprocal;
pub mod outer_unroll;
pub mod outline;
