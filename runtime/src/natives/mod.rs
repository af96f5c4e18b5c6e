//! Natives: functions that SaC's standard library declares as `external`.
//!
//! Each native is written once, as a safe Rust function from arguments to `Result<_, Fault>`. The [`natives!`] macro makes three
//! things of it: the `extern "C"` symbol that compiled code calls, a wrapper over [`Value`]s that the interpreter calls, and an
//! entry of the table that the compiler looks names up in.

mod bench;
mod binary;
mod chars;
mod class;
mod clock;
mod colors;
mod columns;
mod command_line;
mod convert;
mod csv;
mod data_files;
mod define;
mod fibre;
mod files;
pub mod foreign;
mod format;
pub mod gradients;
mod hide;
mod idx;
mod image;
mod layout;
mod list;
mod math;
mod npy;
mod npz;
mod number;
mod passing;
mod plot;
mod print;
mod random;
mod scan;
mod streams;
mod string_array;
mod strings;
mod system;
pub mod table;
mod trace;
mod variadic;

use std::ffi::c_void;

use crate::abi::ElemTag;
use crate::array::Array;
use crate::fault::Fault;
use class::class;
use convert::{AnyArray, Arg, ArgType, ArrayArg, Char, Chars, FileRef, Handle, Object, Of, Results, Ret, Str, Text};
use define::{native_symbol, natives};

pub use class::Class;
pub use clock::wall_clock;
pub(crate) use files::flush_open_files;
pub use image::png_image;
pub use plot::{Line, Lines, base64, marks};
pub use print::array_text;
pub(crate) use streams::checked;

/// Type of a native's argument or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    /// A machine scalar or, for `Handle`, an opaque object.
    Scalar(ElemTag),
    /// A string object.
    String,
    /// An array of this element type and any rank.
    Array(ElemTag),
    /// An array of any element type and rank.
    AnyArray,
}

/// The type in SaC words.
impl std::fmt::Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ty::Scalar(tag) => f.write_str(tag.name()),
            Ty::String => f.write_str("string"),
            Ty::Array(tag) => write!(f, "{}[*]", tag.name()),
            Ty::AnyArray => f.write_str("A[*]"),
        }
    }
}

impl Ty {
    /// Whether the value travels as an object pointer.
    pub fn is_pointer(self) -> bool {
        !matches!(self, Ty::Scalar(tag) if tag != ElemTag::Handle)
    }
}

/// Which end of a native's signature is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variadic {
    /// Neither.
    No,
    /// Further arguments follow: `args: *const VarArg, n: i64`.
    Arguments,
    /// Further results follow: `tags: *const u64, out: *mut u64, n: i64`.
    Results,
}

/// Address of a native, for JIT symbol tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address(pub *const c_void);

// SAFETY: the address of a function; calling it is the business of compiled code.
unsafe impl Sync for Address {}
// SAFETY: as above.
unsafe impl Send for Address {}

/// What the compiler knows of a native.
pub struct Native {
    /// Symbol, the `linkname` of the declaration.
    pub name: &'static str,
    /// Meaning, from the source.
    pub doc: &'static str,
    /// Names and types of the fixed arguments.
    pub params: &'static [(&'static str, Ty)],
    /// Names and types of the fixed results. One is returned; two or more go through trailing out-pointers.
    pub results: &'static [(&'static str, Ty)],
    /// Open end of the signature.
    pub variadic: Variadic,
    /// Who runs it, when there are several ranks.
    pub class: Class,
    /// The C symbol's address.
    pub address: Address,
    /// Calls it with values. For [`Variadic::Results`] the tags say which further results are wanted.
    pub call: DynamicCall,
}

impl Native {
    /// Whether calls are ordered with other effects. Pure natives may be folded, moved and run in parallel.
    pub fn has_effect(&self) -> bool {
        self.class != Class::Pure
    }
}

/// A native's wrapper over values: arguments and tags of wanted further results to results.
pub type DynamicCall = fn(&[Value], &[ElemTag]) -> Result<Vec<Value>, Fault>;

/// A value as the interpreter passes it. Scalars by tag; everything else is an object.
#[derive(Clone, Debug)]
pub enum Value {
    /// `bool`.
    Bool(bool),
    /// `char`.
    Char(u8),
    /// `byte`.
    I8(i8),
    /// `short`.
    I16(i16),
    /// `int`.
    I32(i32),
    /// `long`.
    I64(i64),
    /// `ubyte`.
    U8(u8),
    /// `ushort`.
    U16(u16),
    /// `uint`.
    U32(u32),
    /// `ulong`.
    U64(u64),
    /// `float`.
    F32(f32),
    /// `double`.
    F64(f64),
    /// An array or a handle.
    Object(Array),
}

impl Value {
    /// A string value.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn string(text: &[u8]) -> Result<Value, Fault> {
        Array::string(text).map(Value::Object)
    }

    /// The value in a machine word, signed integers extended; of an object the address, with its reference.
    fn into_bits(self) -> u64 {
        match self {
            Value::Bool(value) => u64::from(value),
            Value::Char(value) | Value::U8(value) => u64::from(value),
            Value::I8(value) => i64::from(value).cast_unsigned(),
            Value::I16(value) => i64::from(value).cast_unsigned(),
            Value::I32(value) => i64::from(value).cast_unsigned(),
            Value::I64(value) => value.cast_unsigned(),
            Value::U16(value) => u64::from(value),
            Value::U32(value) => u64::from(value),
            Value::U64(value) => value,
            Value::F32(value) => u64::from(value.to_bits()),
            Value::F64(value) => value.to_bits(),
            Value::Object(object) => object.into_raw().as_ptr() as usize as u64,
        }
    }

    /// The tag of a scalar; `Handle` for objects.
    pub fn tag(&self) -> ElemTag {
        match self {
            Value::Bool(_) => ElemTag::Bool,
            Value::Char(_) => ElemTag::Char,
            Value::I8(_) => ElemTag::I8,
            Value::I16(_) => ElemTag::I16,
            Value::I32(_) => ElemTag::I32,
            Value::I64(_) => ElemTag::I64,
            Value::U8(_) => ElemTag::U8,
            Value::U16(_) => ElemTag::U16,
            Value::U32(_) => ElemTag::U32,
            Value::U64(_) => ElemTag::U64,
            Value::F32(_) => ElemTag::F32,
            Value::F64(_) => ElemTag::F64,
            Value::Object(_) => ElemTag::Handle,
        }
    }
}

/// Checks the number of values a dynamic call passes.
fn check_arity(name: &str, expected: usize, found: usize) -> Result<(), Fault> {
    if expected == found {
        return Ok(());
    }
    Err(Fault::new(format!("{name} takes {expected} arguments but was given {found}")))
}
