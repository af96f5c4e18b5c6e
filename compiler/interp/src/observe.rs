//! What a run tells those who watch it.

use crate::array::Val;
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::FuncId;

/// The index set of a partition, as numbers.
pub struct Bounds<'a> {
    pub lower: &'a [i64],
    pub upper: &'a [i64],
    pub step: &'a [i64],
    pub width: &'a [i64],
}

/// Something that happens. What begins ends in reverse order, unless the run ends early.
pub enum Event<'a> {
    /// A function is called.
    Call { func: FuncId, name: &'a str, arguments: &'a [Val] },
    /// The call that is at work ends.
    Return { results: &'a [Val] },
    /// A with-loop begins.
    With,
    /// It comes to a partition.
    Partition(Bounds<'a>),
    /// It ends.
    WithEnd { results: &'a [Val] },
    /// An array gets memory of its own.
    Allocation { elem: Elem, shape: &'a [i64], bytes: usize },
}

/// Who is told what a run does, and where in the source.
pub trait Observer: Send {
    fn event(&mut self, event: Event<'_>, span: Span);
}
