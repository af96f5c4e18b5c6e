//! Passes that save copies of arrays: updates in place, copies that nobody needs, arrays made again instead of kept.

pub mod break_anti_dependences;
pub mod elide_copies;
pub mod rematerialize_fills;
pub mod sparse_updates;
