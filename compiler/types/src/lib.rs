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

/// A map without an order. Its iteration depends on the keys and on how they came in alone, not on the process: code that walks one
/// compiles a program the same way each time.
pub type HashMap<K, V> = rustc_hash::FxHashMap<K, V>;
/// A set of which the same is true.
pub type HashSet<T> = rustc_hash::FxHashSet<T>;
