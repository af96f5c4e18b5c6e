//! Calls of the runtime's natives: interpreter values to runtime values and back.

use crate::array::{Arr, Data, Val};
use ravel_runtime::abi::{ElemTag, ObjectKind};
use ravel_runtime::array::{Array, ArrayRef};
use ravel_runtime::fault::Fault;
use ravel_runtime::natives::{Native, Value, foreign};
use ravel_types::{Elem, Scalar, Ty};
use std::sync::Arc;

/// Calls `native`; the first `fixed` arguments are the declared ones. The results have the given types.
pub fn call(native: &Native, args: Vec<Val>, fixed: usize, results: &[Ty]) -> Result<Vec<Val>, Fault> {
    let args: Vec<Value> = args.into_iter().map(to_runtime).collect::<Result<_, _>>()?;
    debug_assert!(fixed <= args.len());
    let wanted = results.get(native.results.len()..).unwrap_or_default();
    let tags: Vec<ElemTag> = wanted.iter().map(|ty| tag(ty.elem)).collect();
    let values = (native.call)(&args, &tags)?;
    values.into_iter().zip(results).map(|(v, ty)| from_runtime(v, ty)).collect()
}

/// Calls a C function of the program, if the driver has loaded an adapter of this name.
pub fn call_foreign(symbol: &str, args: Vec<Val>, results: &[Ty]) -> Option<Result<Vec<Val>, Fault>> {
    let args: Vec<Value> = match args.into_iter().map(to_runtime).collect() {
        Ok(args) => args,
        Err(fault) => return Some(Err(fault)),
    };
    let tags: Vec<Option<ElemTag>> = results.iter().map(|ty| ty.is_scalar().then(|| tag(ty.elem))).collect();
    let values = foreign::call(symbol, &args, &tags)?;
    Some(values.into_iter().zip(results).map(|(v, ty)| from_runtime(v, ty)).collect())
}

/// The tag of an element type in objects.
pub fn tag(elem: Elem) -> ElemTag {
    match elem {
        Elem::Bool => ElemTag::Bool,
        Elem::Char => ElemTag::Char,
        Elem::I8 => ElemTag::I8,
        Elem::I16 => ElemTag::I16,
        Elem::I32 => ElemTag::I32,
        Elem::I64 => ElemTag::I64,
        Elem::U8 => ElemTag::U8,
        Elem::U16 => ElemTag::U16,
        Elem::U32 => ElemTag::U32,
        Elem::U64 => ElemTag::U64,
        Elem::F32 => ElemTag::F32,
        Elem::F64 => ElemTag::F64,
        Elem::Handle => ElemTag::Handle,
    }
}

fn elem(tag: ElemTag) -> Elem {
    Elem::ALL.into_iter().find(|e| self::tag(*e) == tag).unwrap_or(Elem::U8)
}

fn to_runtime(val: Val) -> Result<Value, Fault> {
    Ok(match val {
        Val::Scalar(s) => match s {
            Scalar::Bool(v) => Value::Bool(v),
            Scalar::Char(v) => Value::Char(v),
            Scalar::I8(v) => Value::I8(v),
            Scalar::I16(v) => Value::I16(v),
            Scalar::I32(v) => Value::I32(v),
            Scalar::I64(v) => Value::I64(v),
            Scalar::U8(v) => Value::U8(v),
            Scalar::U16(v) => Value::U16(v),
            Scalar::U32(v) => Value::U32(v),
            Scalar::U64(v) => Value::U64(v),
            Scalar::F32(v) => Value::F32(v),
            Scalar::F64(v) => Value::F64(v),
        },
        Val::Handle(h) => Value::Object(h.ok_or_else(missing_object)?),
        Val::Array(a) => Value::Object(object_of(&a)?),
    })
}

fn missing_object() -> Fault {
    Fault::new("a native was given an object that does not exist")
}

/// A copy of the array as a runtime object.
fn object_of(a: &Arr) -> Result<Array, Fault> {
    match &a.data {
        Data::Handles(handles) => {
            let handles = handles.iter().map(|h| h.clone().ok_or_else(missing_object)).collect::<Result<_, _>>()?;
            Array::from_handles(&a.shape, handles)
        }
        Data::Bytes(bytes) => {
            macro_rules! words {
                ($ty:ty) => {{
                    let words: Vec<$ty> = bytes
                        .chunks_exact(size_of::<$ty>())
                        .map(|c| <$ty>::from_ne_bytes(c.try_into().expect("chunks have this size")))
                        .collect();
                    Array::from_slice_as(tag(a.elem), &a.shape, &words)
                }};
            }
            match a.elem {
                Elem::Bool | Elem::Char | Elem::U8 | Elem::Handle => words!(u8),
                Elem::I8 => words!(i8),
                Elem::I16 => words!(i16),
                Elem::U16 => words!(u16),
                Elem::I32 => words!(i32),
                Elem::U32 => words!(u32),
                Elem::I64 => words!(i64),
                Elem::U64 => words!(u64),
                Elem::F32 => words!(f32),
                Elem::F64 => words!(f64),
            }
        }
    }
}

fn from_runtime(value: Value, ty: &Ty) -> Result<Val, Fault> {
    let object = match value {
        Value::Bool(v) => return Ok(Val::Scalar(Scalar::Bool(v))),
        Value::Char(v) => return Ok(Val::Scalar(Scalar::Char(v))),
        Value::I8(v) => return Ok(Val::Scalar(Scalar::I8(v))),
        Value::I16(v) => return Ok(Val::Scalar(Scalar::I16(v))),
        Value::I32(v) => return Ok(Val::Scalar(Scalar::I32(v))),
        Value::I64(v) => return Ok(Val::Scalar(Scalar::I64(v))),
        Value::U8(v) => return Ok(Val::Scalar(Scalar::U8(v))),
        Value::U16(v) => return Ok(Val::Scalar(Scalar::U16(v))),
        Value::U32(v) => return Ok(Val::Scalar(Scalar::U32(v))),
        Value::U64(v) => return Ok(Val::Scalar(Scalar::U64(v))),
        Value::F32(v) => return Ok(Val::Scalar(Scalar::F32(v))),
        Value::F64(v) => return Ok(Val::Scalar(Scalar::F64(v))),
        Value::Object(object) => object,
    };
    if ty.elem == Elem::Handle && (ty.is_scalar() || object.view().kind() != ObjectKind::Array) {
        return Ok(Val::Handle(Some(object)));
    }
    Ok(Val::Array(Arc::new(array_of(object.view()))))
}

/// A copy of a runtime array.
fn array_of(view: ArrayRef<'_>) -> Arr {
    let elem = elem(view.elem());
    let data = match view.handles() {
        Some(handles) => Data::Handles(handles.into_iter().map(|h| h.map(ArrayRef::to_owned)).collect()),
        None => {
            macro_rules! bytes {
                ($ty:ty) => {
                    view.as_slice::<$ty>().unwrap_or_default().iter().flat_map(|v| v.to_ne_bytes()).collect()
                };
            }
            Data::Bytes(match elem {
                Elem::Bool | Elem::Char | Elem::U8 | Elem::Handle => bytes!(u8),
                Elem::I8 => bytes!(i8),
                Elem::I16 => bytes!(i16),
                Elem::U16 => bytes!(u16),
                Elem::I32 => bytes!(i32),
                Elem::U32 => bytes!(u32),
                Elem::I64 => bytes!(i64),
                Elem::U64 => bytes!(u64),
                Elem::F32 => bytes!(f32),
                Elem::F64 => bytes!(f64),
            })
        }
    };
    Arr::new(elem, view.shape().to_vec(), data)
}
