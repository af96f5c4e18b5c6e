//! Calls: which instance is meant, what its head binds and demands, and what is said where none fits.

pub mod bind;
pub mod by_array;
pub mod call;
pub mod conditions;
pub mod dispatch;
pub mod fieldwise;
pub mod fits;
pub mod habits;
pub mod instance;
pub mod looks;
mod mismatch;
mod trace;
pub mod weak;
