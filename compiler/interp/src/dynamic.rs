//! Operations that check rank and shape at run time.

use crate::array::{Arr, Val};
use crate::eval::{boxed, position};
use ravel_runtime::buffer::count_of;
use ravel_runtime::fault::{self, Fault};
use ravel_types::{Shape, Ty};
use std::sync::Arc;

/// The array behind a value; a scalar counts as an array of rank 0.
fn array_of(val: &Val) -> Arc<Arr> {
    match boxed(val.clone()) {
        Val::Array(a) => a,
        Val::Scalar(_) | Val::Handle(_) => unreachable!("boxed() gives arrays"),
    }
}

fn place(array: &Arr, index: &[i64]) -> Result<(usize, usize), Fault> {
    position(array, index).map(|(at, count, _)| (at, count))
}

pub fn select(array: &Val, index: &[i64], ty: &Ty) -> Result<Val, Fault> {
    let array = array_of(array);
    let (at, count) = place(&array, index)?;
    let cell = array.slice(at, count, array.shape[index.len()..].to_vec());
    narrow(Val::Array(Arc::new(cell)), ty)
}

pub fn update(array: Val, index: &[i64], value: &Val) -> Result<Val, Fault> {
    let Val::Array(mut array) = boxed(array) else { unreachable!("boxed() gives arrays") };
    let (at, _) = place(&array, index)?;
    let expected = &array.shape[index.len()..];
    if value.shape() != expected {
        return Err(fault::shapes("modarray", expected, value.shape()));
    }
    Arc::make_mut(&mut array).put(at, value);
    Ok(Val::Array(array))
}

pub fn reshape(array: &Val, shape: &[i64], ty: &Ty) -> Result<Val, Fault> {
    let array = array_of(array);
    let count = count_of(shape)?;
    if count != array.count() as i64 {
        return Err(fault::reshape(array.count() as i64, count));
    }
    narrow(Val::Array(Arc::new(array.slice(0, array.count(), shape.to_vec()))), ty)
}

/// The value at a more specific type.
pub fn narrow(val: Val, ty: &Ty) -> Result<Val, Fault> {
    let Shape::Known(extents) = &ty.shape else { return Ok(boxed(val)) };
    let shape = val.shape();
    let fits = shape.len() == extents.len()
        && extents.iter().zip(shape).all(|(e, n)| e.as_const().is_none_or(|c| i64::from(c) == *n));
    if !fits {
        let wanted: Vec<i64> = extents.iter().map(|e| e.as_const().map_or(-1, i64::from)).collect();
        return Err(fault::narrow(&wanted, shape));
    }
    Ok(match &val {
        Val::Array(a) if extents.is_empty() => a.element(0),
        _ => val,
    })
}
