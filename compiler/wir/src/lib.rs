//! WIR, the with-loop IR: SSA values in structured regions, and one `with` node for all with-loops.
//!
//! # Semantics
//! - A function is a region; its parameters are the region's parameters, its results what the region yields. A region is run
//!   from its first instruction to its last. Values of enclosing regions are visible in nested ones.
//! - A value has an element type and a shape ([`ravel_types::Ty`]). Known rank 0 is a scalar. Symbols in shapes are *facts*
//!   (equal forms are equal extents), never inputs: every operation that needs an extent has it as an operand, so no value
//!   has to be kept alive for the sake of a type.
//! - Index vectors do not exist where ranks are known: an index is a list of `i32` scalars. Only the `*Dyn` forms, for values
//!   of unknown rank, take index vectors.
//! - Everything is a value; `update` and `modarray` make new arrays. Memory is decided below WIR.
//! - `check` faults with a source position unless its condition holds. Selections, updates, reshapes, divisions and generators
//!   rely on the checks that stand before them in the same region or an enclosing one, or in a with-loop there; the `*Dyn` forms and `narrow` check themselves.
//! - Effects (`native` marked `effect`, `globalget`, `globalset`, checks, calls of functions with effects) happen in program order.
//!
//! # With-loops
//! - `with` evaluates each partition's body once for each index of its generator. Bodies are pure unless the loop is `ordered`;
//!   the order of evaluation is then row-major, partition after partition, and otherwise unspecified.
//! - A generator with `lower >= upper` on some axis is empty; one without axes has exactly one index. A body yields one value, the
//!   *cell*, per operator.
//! - `genarray`: result shape is frame ++ cell; uncovered positions are the default. `modarray`: uncovered positions are the
//!   array's. Partitions are disjoint and lie within the frame: the producer of the IR ensured it.
//! - `fold`: `combine(...combine(combine(neutral, c0), c1)..., cn)` over the cells in row-major order, partition after
//!   partition. A [`Combine::Op`] that [`ravel_types::BinOp::regroups`] may be regrouped in a way fixed by the index set alone;
//!   anything else is applied in order. An accumulator may change shape unless its type says otherwise.
//!
//! # Text
//! `print` and `parse` are inverse; the form is shown in `tests/ir`.
#![forbid(unsafe_code)]

pub mod compact;
pub mod dependence;
pub mod ir;
pub mod parse;
pub mod print;
pub mod rows;
pub mod slots;
mod tokens;
pub mod traverse;
pub mod verify;

pub use ir::*;
