//! The front end from text to tree and back, through its public functions only.

mod common;
mod grammar;
mod habits;
mod preprocessor;
mod robustness;
mod round_trip;
