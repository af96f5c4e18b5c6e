//! Natives: functions that SaC's standard library declares as `external`.
//!
//! Each native is written once, as a safe Rust function from arguments to `Result<_, Fault>`. The [`natives!`] macro makes three
//! things of it: the `extern "C"` symbol that compiled code calls, a wrapper over [`Value`]s that the interpreter calls, and an
//! entry of the table that the compiler looks names up in.

mod bench;
mod binary;
mod chars;
mod clock;
mod command_line;
mod fibre;
mod files;
mod format;
mod hide;
mod idx;
mod layout;
mod list;
mod math;
mod number;
mod print;
mod random;
mod scan;
mod streams;
mod strings;
mod system;
pub mod table;
mod variadic;

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::abi::{ArrayHeader, ElemTag};
use crate::array::{Array, ArrayRef};
use crate::fault::Fault;
use crate::stream::Stream;

pub(crate) use files::flush_open_files;
pub use print::array_text;

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
    /// Whether calls are ordered with other effects. Pure natives may be folded, moved and run in parallel.
    pub effect: bool,
    /// The C symbol's address.
    pub address: Address,
    /// Calls it with values. For [`Variadic::Results`] the tags say which further results are wanted.
    pub call: fn(&[Value], &[ElemTag]) -> Result<Vec<Value>, Fault>,
}

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

fn wrong_argument(expected: Ty, found: &Value) -> Fault {
    Fault::new(format!("a native expects {expected} but was given {found:?}"))
}

/// Argument types of natives as compiled code sees them.
trait ArgType {
    /// What compiled code passes.
    type Abi;
    const TY: Ty;
}

/// Argument types of natives.
trait Arg<'a>: ArgType + Sized {
    /// # Safety
    /// Pointers are valid objects that stay alive and unchanged for `'a`.
    unsafe fn from_abi(abi: Self::Abi) -> Result<Self, Fault>;
    fn from_value(value: &'a Value) -> Result<Self, Fault>;
}

/// Result types of natives.
trait Ret {
    /// What compiled code receives.
    type Abi;
    const TY: Ty;
    fn into_abi(self) -> Self::Abi;
    fn into_value(self) -> Value;
}

macro_rules! scalars {
    ($($ty:ty => $tag:ident),* $(,)?) => {$(
        impl ArgType for $ty {
            type Abi = $ty;
            const TY: Ty = Ty::Scalar(ElemTag::$tag);
        }
        impl Arg<'_> for $ty {
            unsafe fn from_abi(abi: $ty) -> Result<$ty, Fault> {
                Ok(abi)
            }
            fn from_value(value: &Value) -> Result<$ty, Fault> {
                match value {
                    Value::$tag(scalar) => Ok(*scalar),
                    other => Err(wrong_argument(<$ty as ArgType>::TY, other)),
                }
            }
        }
        impl Ret for $ty {
            type Abi = $ty;
            const TY: Ty = Ty::Scalar(ElemTag::$tag);
            fn into_abi(self) -> $ty {
                self
            }
            fn into_value(self) -> Value {
                Value::$tag(self)
            }
        }
    )*};
}
scalars!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

impl ArgType for bool {
    type Abi = u8;
    const TY: Ty = Ty::Scalar(ElemTag::Bool);
}

impl Arg<'_> for bool {
    unsafe fn from_abi(abi: u8) -> Result<bool, Fault> {
        Ok(abi != 0)
    }
    fn from_value(value: &Value) -> Result<bool, Fault> {
        match value {
            Value::Bool(scalar) => Ok(*scalar),
            other => Err(wrong_argument(<bool as ArgType>::TY, other)),
        }
    }
}

impl Ret for bool {
    type Abi = u8;
    const TY: Ty = Ty::Scalar(ElemTag::Bool);
    fn into_abi(self) -> u8 {
        u8::from(self)
    }
    fn into_value(self) -> Value {
        Value::Bool(self)
    }
}

/// A SaC `char`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Char(u8);

impl ArgType for Char {
    type Abi = u8;
    const TY: Ty = Ty::Scalar(ElemTag::Char);
}

impl Arg<'_> for Char {
    unsafe fn from_abi(abi: u8) -> Result<Char, Fault> {
        Ok(Char(abi))
    }
    fn from_value(value: &Value) -> Result<Char, Fault> {
        match value {
            Value::Char(scalar) => Ok(Char(*scalar)),
            other => Err(wrong_argument(<Char as ArgType>::TY, other)),
        }
    }
}

impl Ret for Char {
    type Abi = u8;
    const TY: Ty = Ty::Scalar(ElemTag::Char);
    fn into_abi(self) -> u8 {
        self.0
    }
    fn into_value(self) -> Value {
        Value::Char(self.0)
    }
}

/// # Safety
/// `object` is null or a valid object, alive and unchanged for `'a`.
unsafe fn object_argument<'a>(object: *mut ArrayHeader) -> Result<ArrayRef<'a>, Fault> {
    match NonNull::new(object) {
        // SAFETY: by contract.
        Some(object) => Ok(unsafe { ArrayRef::from_raw(object) }),
        None => Err(Fault::new("a native was given an object that does not exist")),
    }
}

fn object_value(value: &Value, expected: Ty) -> Result<ArrayRef<'_>, Fault> {
    match value {
        Value::Object(array) => Ok(array.view()),
        other => Err(wrong_argument(expected, other)),
    }
}

macro_rules! object_arguments {
    ($($ty:ident: $sac:expr => $convert:expr;)*) => {$(
        impl ArgType for $ty<'_> {
            type Abi = *mut ArrayHeader;
            const TY: Ty = $sac;
        }
        impl<'a> Arg<'a> for $ty<'a> {
            unsafe fn from_abi(abi: *mut ArrayHeader) -> Result<Self, Fault> {
                // SAFETY: by contract.
                unsafe { object_argument(abi) }.and_then($convert)
            }
            fn from_value(value: &'a Value) -> Result<Self, Fault> {
                object_value(value, Self::TY).and_then($convert)
            }
        }
    )*};
}

/// Text of a string argument.
#[derive(Clone, Copy)]
struct Text<'a>(&'a [u8]);

/// Elements of a character array.
#[derive(Clone, Copy)]
struct Chars<'a>(&'a [u8]);

/// Any opaque object.
#[derive(Clone, Copy)]
struct Object<'a>(ArrayRef<'a>);

object_arguments! {
    ArrayRef: Ty::AnyArray => |view| Ok(view);
    Text: Ty::String => |view| match view.text() {
        Some(text) => Ok(Text(text)),
        None => Err(Fault::new("a native expects a string")),
    };
    Chars: Ty::Array(ElemTag::Char) => |view| match view.text() {
        Some(text) => Ok(Chars(text)),
        None => Err(Fault::new("a native expects a character array")),
    };
    Object: Ty::Scalar(ElemTag::Handle) => |view| Ok(Object(view));
}

/// Elements of an array argument of one type, in row-major order.
#[derive(Clone, Copy)]
struct ArrayArg<'a, T>(&'a [T]);

impl<T: crate::array::Element> ArgType for ArrayArg<'_, T> {
    type Abi = *mut ArrayHeader;
    const TY: Ty = Ty::Array(T::TAG);
}

impl<'a, T: crate::array::Element> ArrayArg<'a, T> {
    fn of(view: ArrayRef<'a>) -> Result<Self, Fault> {
        match view.as_slice::<T>() {
            Some(elements) => Ok(ArrayArg(elements)),
            None => Err(Fault::new(format!("a native expects an array of {}", T::TAG.name()))),
        }
    }
}

impl<'a, T: crate::array::Element> Arg<'a> for ArrayArg<'a, T> {
    unsafe fn from_abi(abi: *mut ArrayHeader) -> Result<Self, Fault> {
        // SAFETY: by contract.
        unsafe { object_argument(abi) }.and_then(Self::of)
    }
    fn from_value(value: &'a Value) -> Result<Self, Fault> {
        object_value(value, Self::TY).and_then(Self::of)
    }
}

/// A stream argument.
#[derive(Clone, Copy)]
struct FileRef<'a>(&'a files::FileCell);

object_arguments! {
    FileRef: Ty::Scalar(ElemTag::Handle) => files::file_of;
}

impl FileRef<'_> {
    /// Runs `work` with the stream. `work` must not call a native.
    fn with<R>(self, work: impl FnOnce(&mut Stream) -> R) -> R {
        // SAFETY: natives with effects run one at a time, and `work` is this crate's own code.
        unsafe { self.0.with_stream(work) }
    }

    /// Waits for the command behind a pipe; does nothing for other streams.
    fn wait(self) {
        // SAFETY: as in `with`.
        unsafe { self.0.wait() }
    }
}

/// A string result.
struct Str(Array);

impl Str {
    fn new(text: &[u8]) -> Result<Str, Fault> {
        Array::string(text).map(Str)
    }
}

/// A handle result.
struct Handle(Array);

/// An array result whose elements are `E`.
struct Of<E>(Array, std::marker::PhantomData<E>);

impl<E> Of<E> {
    fn new(array: Array) -> Of<E> {
        Of(array, std::marker::PhantomData)
    }
}

macro_rules! object_results {
    ($([$($generics:tt)*] $ty:ty: $sac:expr;)*) => {$(
        impl $($generics)* Ret for $ty {
            type Abi = *mut ArrayHeader;
            const TY: Ty = $sac;
            fn into_abi(self) -> *mut ArrayHeader {
                self.0.into_raw().as_ptr()
            }
            fn into_value(self) -> Value {
                Value::Object(self.0)
            }
        }
    )*};
}
object_results! {
    [] Str: Ty::String;
    [] Handle: Ty::Scalar(ElemTag::Handle);
    [] Of<Char>: Ty::Array(ElemTag::Char);
    [<E: crate::array::Element>] Of<E>: Ty::Array(E::TAG);
}

/// An array result of the same element type as an argument.
struct AnyArray(Array);

object_results! {
    [] AnyArray: Ty::AnyArray;
}

/// Several results, delivered through out-pointers.
trait Results {
    /// The out-pointers.
    type Out;
    /// # Safety
    /// The pointers are writable.
    unsafe fn write(self, out: Self::Out);
}

impl<A: Ret, B: Ret> Results for (A, B) {
    type Out = (*mut A::Abi, *mut B::Abi);
    unsafe fn write(self, out: Self::Out) {
        // SAFETY: by contract.
        unsafe {
            out.0.write(self.0.into_abi());
            out.1.write(self.1.into_abi());
        }
    }
}

impl<A: Ret, B: Ret, C: Ret> Results for (A, B, C) {
    type Out = (*mut A::Abi, *mut B::Abi, *mut C::Abi);
    unsafe fn write(self, out: Self::Out) {
        // SAFETY: by contract.
        unsafe {
            out.0.write(self.0.into_abi());
            out.1.write(self.1.into_abi());
            out.2.write(self.2.into_abi());
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

/// Defines natives; see the module header. Results are named: `-> ()`, `-> (x: i32)`, `-> (x: i32, y: Str)`.
macro_rules! natives {
    ($list:ident; $(
        $(#[doc = $doc:literal])+
        $effect:ident fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> ($($res:ident: $ret:ty),*) $body:block
    )*) => {
        $($crate::natives::native_symbol! { $name ($($arg: $ty),*) ($($res: $ret),*) [$(#[doc = $doc])+] $body })*

        /// The natives of this file.
        pub(super) static $list: &[$crate::natives::Native] = &[$($crate::natives::Native {
            name: stringify!($name),
            doc: concat!($($doc),+),
            params: &[$((stringify!($arg), <$ty as $crate::natives::ArgType>::TY)),*],
            results: &[$((stringify!($res), <$ret as $crate::natives::Ret>::TY)),*],
            variadic: $crate::natives::Variadic::No,
            effect: $crate::natives::has_effect!($effect),
            address: $crate::natives::Address($name::symbol as *const std::ffi::c_void),
            call: $name::call,
        }),*];
    };
}

/// `effect` or `pure`, as a boolean.
macro_rules! has_effect {
    (effect) => {
        true
    };
    (pure) => {
        false
    };
}

/// The module of one native: its body, its C symbol and its dynamic wrapper.
macro_rules! native_symbol {
    (@items $name:ident ($($arg:ident: $ty:ty),*) [$result:ty] [$(#[$doc:meta])+] $body:block
     extern ($($out:ident: $outty:ty),*) -> $abi:ty, $fault:ident => $deliver:expr; value $value:pat => $list:expr) => {
        #[allow(non_snake_case, clippy::module_inception)]
        pub(super) mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn body($($arg: $ty),*) -> Result<$result, $crate::fault::Fault> $body

            $(#[$doc])+
            ///
            /// # Safety
            /// Objects are valid and borrowed for the call; out-pointers are writable.
            #[unsafe(export_name = stringify!($name))]
            #[allow(clippy::too_many_arguments)]
            pub unsafe extern "C" fn symbol(
                $($arg: <$ty as $crate::natives::ArgType>::Abi,)* $($out: $outty,)*
            ) -> $abi {
                let run = || {
                    // SAFETY: compiled code passes valid objects that live through the call.
                    $(let $arg = unsafe { <$ty as $crate::natives::Arg<'_>>::from_abi($arg) }?;)*
                    body($($arg),*)
                };
                match run() {
                    Ok($fault) => $deliver,
                    Err(fault) => $crate::fault::raise(fault),
                }
            }

            pub fn call(
                values: &[$crate::natives::Value],
                _tags: &[$crate::abi::ElemTag],
            ) -> Result<Vec<$crate::natives::Value>, $crate::fault::Fault> {
                let names: &[&str] = &[$(stringify!($arg)),*];
                $crate::natives::check_arity(stringify!($name), names.len(), values.len())?;
                let mut _rest = values.iter();
                $(let $arg = match _rest.next() {
                    Some(value) => <$ty as $crate::natives::Arg<'_>>::from_value(value)?,
                    None => return $crate::natives::check_arity(stringify!($name), names.len(), 0).map(|()| Vec::new()),
                };)*
                body($($arg),*).map(|$value| $list)
            }
        }
    };
    ($name:ident $args:tt () $docs:tt $body:block) => {
        $crate::natives::native_symbol! { @items $name $args [()] $docs $body
            extern () -> (), unit => unit; value () => Vec::new() }
    };
    ($name:ident $args:tt ($res:ident: $ret:ty) $docs:tt $body:block) => {
        $crate::natives::native_symbol! { @items $name $args [$ret] $docs $body
            extern () -> <$ret as $crate::natives::Ret>::Abi, result => $crate::natives::Ret::into_abi(result);
            value result => vec![$crate::natives::Ret::into_value(result)] }
    };
    ($name:ident $args:tt ($($res:ident: $ret:ty),+) $docs:tt $body:block) => {
        $crate::natives::native_symbol! { @items $name $args [($($ret),+)] $docs $body
            extern ($($res: *mut <$ret as $crate::natives::Ret>::Abi),+) -> (), results => {
                // SAFETY: compiled code passes writable out-pointers.
                unsafe { $crate::natives::Results::write(results, ($($res),+)) }
            };
            value ($($res),+) => vec![$($crate::natives::Ret::into_value($res)),+] }
    };
}

pub(crate) use {has_effect, native_symbol, natives};
