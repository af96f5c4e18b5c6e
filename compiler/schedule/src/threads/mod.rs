//! Chunks of with-loops and folds on threads, and what is done together for them.

pub mod border_fusion;
pub mod combine;
pub mod declare;
pub mod epilogue;
pub mod fold_chunks;
pub mod parallel;
pub mod reach;
pub mod reduction_chains;
pub mod rows;
pub mod state;
pub mod work_sharing;
