//! How arguments and results of natives travel: between machine words or [`Value`]s and the types that natives are written in.

use std::ptr::NonNull;

use super::{Ty, Value, files};
use crate::abi::{ArrayHeader, ElemTag};
use crate::array::{Array, ArrayRef};
use crate::fault::Fault;
use crate::stream::Stream;

fn wrong_argument(expected: Ty, found: &Value) -> Fault {
    Fault::new(format!("a native expects {expected} but was given {found:?}"))
}

/// Argument types of natives as compiled code sees them.
pub(super) trait ArgType {
    /// What compiled code passes.
    type Abi;
    const TY: Ty;
}

/// Argument types of natives.
pub(super) trait Arg<'a>: ArgType + Sized {
    /// # Safety
    /// Pointers are valid objects that stay alive and unchanged for `'a`.
    unsafe fn from_abi(abi: Self::Abi) -> Result<Self, Fault>;
    fn from_value(value: &'a Value) -> Result<Self, Fault>;
}

/// Result types of natives.
pub(super) trait Ret {
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
pub(super) struct Char(pub u8);

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
pub(super) struct Text<'a>(pub &'a [u8]);

/// Elements of a character array.
#[derive(Clone, Copy)]
pub(super) struct Chars<'a>(pub &'a [u8]);

/// Any opaque object.
#[derive(Clone, Copy)]
pub(super) struct Object<'a>(pub ArrayRef<'a>);

object_arguments! {
    ArrayRef: Ty::AnyArray => Ok;
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
pub(super) struct ArrayArg<'a, T>(pub &'a [T]);

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
pub(super) struct FileRef<'a>(pub &'a files::FileCell);

object_arguments! {
    FileRef: Ty::Scalar(ElemTag::Handle) => files::file_of;
}

impl FileRef<'_> {
    /// Runs `work` with the stream. `work` must not call a native.
    pub fn with<R>(self, work: impl FnOnce(&mut Stream) -> R) -> R {
        // SAFETY: natives with effects run one at a time, and `work` is this crate's own code.
        unsafe { self.0.with_stream(work) }
    }

    /// Waits for the command behind a pipe; does nothing for other streams.
    pub fn wait(self) {
        // SAFETY: as in `with`.
        unsafe { self.0.wait() }
    }
}

/// A string result.
pub(super) struct Str(pub Array);

impl Str {
    pub fn new(text: &[u8]) -> Result<Str, Fault> {
        Array::string(text).map(Str)
    }
}

/// A handle result.
pub(super) struct Handle(pub Array);

/// An array result whose elements are `E`.
pub(super) struct Of<E>(pub Array, std::marker::PhantomData<E>);

impl<E> Of<E> {
    pub fn new(array: Array) -> Of<E> {
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
    [] Of<bool>: Ty::Array(ElemTag::Bool);
    [<E: crate::array::Element>] Of<E>: Ty::Array(E::TAG);
}

/// An array result of the same element type as an argument.
pub(super) struct AnyArray(pub Array);

object_results! {
    [] AnyArray: Ty::AnyArray;
}

/// Several results, delivered through out-pointers.
pub(super) trait Results {
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
