//! The state of parallel loops in the function at work.

use ravel_nest::ir::Value as Val;
use ravel_types::{BinOp, Elem};
use ravel_wir::Inst;

use crate::facts::Sink;
use crate::plan::KernelPlan;

#[derive(Default)]
pub(crate) struct ThreadState {
    /// The fold in hand, if its arrays are combined later.
    pub postponed: Option<Postponed>,
}

/// A with-loop that is computed in pieces of elements.
pub(crate) struct Member {
    pub inst: Inst,
    pub sinks: Vec<Sink>,
    pub plan: KernelPlan,
}

/// Partial results in memory: those of chunk `c` begin at `first + c * stride`.
#[derive(Clone, Copy)]
pub(crate) struct Partials {
    pub first: Val,
    pub chunks: Val,
    pub stride: i64,
}

/// Partial results of one array.
pub(crate) struct Source {
    pub op: BinOp,
    pub partials: Partials,
    /// Offset of the elements among the partial results of a chunk.
    pub offset: i64,
}

/// An array whose elements are combined by threads.
pub(crate) struct Shared {
    pub elem: Elem,
    /// Elements of the total, which begin as the neutral array.
    pub total: Val,
    pub elements: i64,
    pub sources: Vec<Source>,
    /// With-loops that compute the same elements before and behind it.
    pub before: Vec<Member>,
    pub after: Vec<Member>,
}

impl Shared {
    pub fn pieces(&self, per_piece: i64) -> i64 {
        (self.elements + per_piece - 1) / per_piece
    }

    /// The total goes on to a fold that has these partial results.
    pub fn go_on(&mut self, next: Shared) {
        self.sources.extend(next.sources);
    }
}

/// A fold whose arrays are combined later.
pub(crate) struct Postponed {
    pub inst: Inst,
    /// Its arrays by operator, once the chunks are there.
    pub arrays: Option<Vec<(usize, Shared)>>,
}
