//! Random programs, run in every way that Ravel knows, against the reference interpreter.
//!
//! `cargo run -p ravel-fuzz -- --seed S --count N` runs the cases of N seeds and shows the first failures, made smaller.
#![forbid(unsafe_code)]

pub mod derive;
pub mod jits;
pub mod mutate;
pub mod outcome;
pub mod rng;
pub mod run;
pub mod sac;
pub mod shrink;
pub mod wir;
