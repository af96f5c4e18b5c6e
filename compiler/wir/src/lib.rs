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
//! # Derivatives
//! `derive` is for `differentiate`, which replaces it before anything else is optimised; nothing below WIR knows it.
//! - It runs its region once, with the arguments as parameters, effects and faults included. Its results are what the region yields, and then
//!   derivatives there: of each real result in the direction of the seeds (`forward`), or of the seeds' product with the real results by each
//!   argument (`reverse`), of the argument's shape. Seeds have the shapes of what they belong to: the region checks those of its results.
//! - Parameters are the variables. All other values from outside of the region are constants, whatever they were computed from.
//! - Integers, bools, comparisons, extents, `detach`, `floor`, `ceil`, `rint` and `trunc` have the derivative zero. That of `sqrt` at 0 is infinite.
//! - A value that is not chosen (by `select`, `if`, `min`, `max`) contributes nothing, even if its own derivative is not finite. `min` and `max` of
//!   equal operands halve it; folds by them choose the first extreme in row-major order, and the neutral element before any cell. `abs` has 0 at 0.
//! - `pow(x, 0)` has 0 in x; `pow(0, 0)` has 0 in both; `atan2` and `hypot` have 0 at the origin; `fmod(a, b)` has 1 and `-trunc(a / b)`;
//!   `copysign` has the ratio of the signs in its first operand.
//! - A function may have [`Rules`]: a call of it whose arguments depend on a parameter has the derivatives that the rule of this mode gives. Other
//!   calls, and those in derivatives of the other mode, are as if there were no rule. No argument but those of the rule may depend on a parameter.
//!   What they say of memory, `recompute` and `checkpoint`, changes no value.
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
