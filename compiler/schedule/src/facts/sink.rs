//! Where the cells of a with-loop go, and the index and bounds at which they are made.

use ravel_source::Span;
use ravel_types::{BinOp, Elem};
use ravel_wir::{Combine, Value, With, WithOp};

use crate::facts::Val;
use crate::facts::index::Ext;

/// Where the cells of one operator go.
#[derive(Clone)]
pub(crate) enum Sink {
    /// Into a buffer with this address; strides (in elements) of the frame axes, and elements per cell.
    /// With `reused` the buffer may be that of an operand: each cell is to be computed once, and written after all that it reads.
    Slice { elem: Elem, data: Val, object: Option<Val>, strides: Vec<Ext>, cell: Ext, reused: Option<Reused> },
    /// Into the object that a stack slot holds, null until the first cell is known.
    Late { elem: Elem, slot: Val, span: Span },
    /// Into a carried value.
    Carried { position: usize, elem: Elem, combine: Accumulate },
}

/// How a carried value takes a cell.
#[derive(Clone, Debug)]
pub(crate) enum Accumulate {
    /// By the function of a fold.
    Fold(Combine),
    /// By an operation, element by element: accumulator and cells are arrays of so many rows, of so many elements each.
    Elements { op: BinOp, rows: i64, row: i64 },
    /// The same, where the first cell of a chunk becomes the accumulator.
    FromFirst(FromFirst),
    /// It becomes the cell: an array without axes.
    Replace,
}

/// The index at which a body runs.
pub(crate) enum Index {
    /// One scalar per axis.
    Known(Vec<Value>),
    /// The state of an odometer.
    Dyn(Val),
}

/// How an accumulator takes the cells of a chunk, the first of which it is.
#[derive(Clone, Debug)]
pub(crate) struct FromFirst {
    pub op: BinOp,
    pub elements: i64,
    /// The first index of the chunk, in 64 bits, by axis; nothing where there is one index.
    pub lows: Vec<Option<Val>>,
}

/// An operand whose buffer a result took over, if it could.
#[derive(Clone, Copy)]
pub(crate) struct Reused {
    pub of: Value,
    pub operand: Val,
    /// The result: the operand, or a new array.
    pub object: Val,
}

/// Bounds of an axis that replace those of the generator: a chunk of a parallel loop.
#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    pub axis: usize,
    pub low: Val,
    pub high: Val,
    /// A number that the distances between the lower bounds of chunks are multiples of.
    pub grain: i64,
}

/// The functions by which the folds of a with-loop that has nothing else take their cells.
pub(crate) fn functions(with: &With) -> Vec<Accumulate> {
    let function = |op: &WithOp| match op {
        WithOp::Fold { combine, .. } => Some(Accumulate::Fold(combine.clone())),
        _ => None,
    };
    with.ops.iter().filter_map(function).collect()
}

/// Where a value is to be built instead of in an object of its own.
#[derive(Clone, Copy)]
pub(crate) struct Dest {
    /// First element of the place.
    pub data: Val,
}
