//! Arguments and results as C sees them.

use ravel_driver::repl::host::Given;
use ravel_driver::repl::value::Value;
use ravel_driver::tag;
use ravel_runtime::abi::{ArrayHeader, ElemTag, ObjectKind};
use ravel_runtime::array::{Array, ArrayRef};
use std::ptr::NonNull;

const SCALAR: i32 = 0;
const ARRAY: i32 = 1;
const TEXT: i32 = 2;
const TRUTH: i32 = 3;
const WHOLE: i32 = 4;
const REAL: i32 = 5;

/// `ravel_value`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CValue {
    form: i32,
    elem: i32,
    bits: u64,
}

/// A further reference to the object that a value names.
///
/// # Safety
/// `bits` is null or the address of a live object.
unsafe fn object(bits: u64, at: usize) -> Result<Array, String> {
    let object = NonNull::new(bits as *mut ArrayHeader).ok_or_else(|| format!("argument {at} is a null array"))?;
    // SAFETY: by contract.
    Ok(unsafe { ArrayRef::from_raw(object) }.to_owned())
}

impl CValue {
    /// What a caller passes at a position, from 1.
    ///
    /// # Errors
    /// The value is none.
    ///
    /// # Safety
    /// Arrays and texts are live objects, or null.
    pub unsafe fn given(self, at: usize) -> Result<Given, String> {
        let elem = || {
            let tag = u8::try_from(self.elem).ok().and_then(ElemTag::from_u8);
            tag.filter(|tag| *tag != ElemTag::Handle).ok_or_else(|| format!("argument {at} has no type"))
        };
        match self.form {
            SCALAR => Ok(Given::Scalar(elem()?, self.bits)),
            ARRAY => {
                // SAFETY: by contract.
                let array = unsafe { object(self.bits, at)? };
                match array.view().kind() {
                    ObjectKind::Array if array.view().elem() != ElemTag::Handle => Ok(Given::Array(array)),
                    _ => Err(format!("argument {at} is no array of numbers")),
                }
            }
            TEXT => {
                // SAFETY: by contract.
                let text = unsafe { object(self.bits, at)? };
                let bytes = text.view().text().ok_or_else(|| format!("argument {at} is no text"))?;
                match text.view().kind() {
                    ObjectKind::String => Ok(Given::Text(text)),
                    _ => Array::string(bytes).map(Given::Text).map_err(|fault| fault.message),
                }
            }
            TRUTH => Ok(Given::Truth(self.bits != 0)),
            WHOLE => Ok(Given::Whole(self.bits as i64)),
            REAL => Ok(Given::Real(f64::from_bits(self.bits))),
            form => Err(format!("argument {at} has the unknown form {form}")),
        }
    }

    /// A result; whoever gets it owns its array. Nothing for values that calls do not give.
    pub fn of(value: Value) -> Option<CValue> {
        let of_object = |form: i32, elem: ElemTag, object: Array| CValue {
            form,
            elem: elem as i32,
            bits: object.into_raw().as_ptr() as u64,
        };
        match value {
            Value::Scalar(basic, scalar) => {
                Some(CValue { form: SCALAR, elem: tag(basic.elem()) as i32, bits: scalar.bits() })
            }
            Value::Array(basic, array) => Some(of_object(ARRAY, tag(basic.elem()), array)),
            Value::Object(_, text) if text.view().kind() == ObjectKind::String => {
                Some(of_object(TEXT, ElemTag::Char, text))
            }
            Value::Object(..) | Value::Typedef { .. } | Value::Class { .. } | Value::Record { .. } => None,
        }
    }
}
