//! What a schedule is decided by: where values live, how accesses move, what code costs, what kernels support.

pub mod alike;
pub mod cost;
pub mod liveness;
pub mod pattern;
pub mod pressure;
pub mod support;
pub mod walk;
