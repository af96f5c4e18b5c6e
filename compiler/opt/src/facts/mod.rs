//! What passes ask about a function: where values stand and are used, what integers can be, what code costs.
//!
//! Nothing here changes a function.

pub mod cost;
pub mod effects;
pub mod index_sets;
pub mod keys;
pub mod linear;
pub mod places;
pub mod ranges;
pub mod read_counts;
pub mod speculation;
pub mod stats;
pub mod sums;
