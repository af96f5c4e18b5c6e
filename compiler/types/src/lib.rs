//! What the stages from core to nest share about values: element types, scalars and the operations on them,
//! symbolic extents, shapes, and the table of primitive functions.
#![forbid(unsafe_code)]

mod elem;
mod ops;
mod prims;
mod scalar;
mod shape;

pub use elem::{Basic, Elem};
pub use ops::{BinOp, UnOp};
pub use prims::{Prim, Ranks, prim_by_name, prim_names};
pub use scalar::{EvalFault, Scalar, eval_bin, eval_convert, eval_un};
pub use shape::{Affine, Shape, Sym, Ty};
