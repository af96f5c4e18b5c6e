//! SaC functions in Rust programs: a text is compiled in this process, and its functions are called with arrays.
//!
//! ```
//! use ravel::{Array, Module};
//!
//! let m = Module::new(
//!     "use Array: all;
//!      float[d:r] conv(float[d:s] a, float[d:t] w)
//!      {
//!          return { iv -> sum({ ov -> w[ov] * a[iv + ov] }) | iv < s - t + 1 };
//!      }",
//! )?;
//! let a = Array::new(&[2, 3], &[1f32, 2., 3., 4., 5., 6.])?;
//! let w = Array::new(&[2, 2], &[1f32, 0., 0., 1.])?;
//! let y = m.call("conv", &[a.view(), w.view()])?;
//! assert_eq!(y.shape(), [1, 2]);
//! assert_eq!(y.as_slice::<f32>(), Some(&[6.0, 8.0][..]));
//! # Ok::<(), ravel::Error>(())
//! ```
//!
//! Arguments are [`View`]s: elements that the caller lends, scalars and texts. Slices convert by themselves:
//!
//! ```
//! # let m = ravel::Module::new("use Array: all; double scaled_sum(double[.] a, double f) { return f * sum(a); }")?;
//! let measured = vec![1.5, 2.5];
//! let y = m.call("scaled_sum", &[measured.as_slice().into(), 2.0.into()])?;
//! assert_eq!(y.scalar::<f64>(), Some(8.0));
//! # Ok::<(), ravel::Error>(())
//! ```
//!
//! # Types
//!
//! | Rust | SaC |
//! | --- | --- |
//! | `f64` `f32` | `double` `float` |
//! | `i8` `i16` `i32` `i64` | `byte` `short` `int` `long` |
//! | `u8` `u16` `u32` `u64` | `ubyte` `ushort` `uint` `ulong` |
//! | `bool`, `&str` | `bool`, `string` |
//!
//! Nothing converts: an `i32` where `double` belongs is an [`Error::Source`], whose help names `tod`.
//!
//! # Threads
//!
//! [`Module`], [`Array`], [`View`], [`Interrupter`] and [`Error`] are `Send` and `Sync`. A module works on one call at a time; calls of other threads
//! wait for it, and several modules work side by side. Each call has all processors, or as many threads as [`set_threads`] says. A call
//! may not be made from C code that SaC code has called: it would wait for itself. A copy of the process made by `fork` needs modules of
//! its own.
//!
//! # Memory
//!
//! Elements of a [`View`] are read where they are, or copied if they lie unaligned or at the end of a page. The loan ends with the call: results
//! never refer to them. So an interrupted call returns only when all its threads have stopped.
//!
//! # Stability
//!
//! Of all crates of Ravel this one and `ravel-build` keep their interface within a major version; the others are parts of the compiler and
//! change at any time.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks, missing_docs)]

mod array;
mod element;
mod error;
mod module;
mod view;

pub use array::Array;
pub use element::{Element, ElementType};
pub use error::{Diagnostic, Error, Fault, Fix, Label, Position, Severity};
pub use module::{Interrupter, Module, set_threads};
pub use view::View;

const _: () = {
    const fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Module>();
    is_shared::<Array>();
    is_shared::<Interrupter>();
    is_shared::<Error>();
    is_shared::<View<'static>>();
};
