//! The state of memory operations in the function at work.

use crate::facts::Val;

#[derive(Default)]
pub(crate) struct MemoryState {
    /// Where the loop at work keeps objects for its next iteration.
    pub spares: Option<Spares>,
}

/// The words of the loop at work.
#[derive(Clone, Copy)]
pub(crate) struct Spares {
    pub slots: Val,
    pub n: i64,
    /// Whether the loop is part of a chunk: the words of a loop around the chunks are not for all of them at once.
    pub in_chunk: bool,
}
