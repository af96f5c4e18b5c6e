//! Passes that save copies of arrays: updates in place, copies that nobody needs, arrays made again instead of kept.

pub mod drop_copies;
pub mod fold_updates;
pub mod refill;
pub mod reread;
pub mod sum_updates;
pub mod update_parts;
pub mod update_rows;
