//! Chunks of with-loops and folds on threads, and what is done together for them.

pub mod combine;
pub mod company;
pub mod fold_chunks;
pub mod fold_runs;
pub mod joined;
pub mod parallel;
pub mod shared;
pub mod state;
