//! Arrays that callers own: what calls give, and what is handed on to other calls.

use crate::element::{Element, ElementType, Stored, extents};
use crate::{Error, View};
use ravel_driver::repl::host::Given;
use ravel_driver::repl::value::Value;
use ravel_driver::tag;
use ravel_runtime::abi::{ElemTag, ObjectKind};
use ravel_runtime::array::Array as Object;
use ravel_types::Scalar;

/// An array of numbers, a scalar as an array of rank 0, or a text. Clones share the elements, which nobody changes.
#[derive(Clone)]
pub struct Array {
    object: Object,
    shape: Vec<usize>,
}

impl Array {
    /// A copy of elements in row-major order.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn new<T: Element>(shape: &[usize], elements: &[T]) -> Result<Array, Error> {
        let extents = extents(shape, elements.len()).map_err(Error::Argument)?;
        let made = Object::from_slice_as(T::TYPE.tag(), &extents, T::words(elements));
        made.map(Array::of).map_err(|fault| Error::Argument(fault.message))
    }

    fn of(object: Object) -> Array {
        let view = object.view();
        let extent = |n: &i64| usize::try_from(*n).unwrap_or(0);
        // A text is a scalar in SaC.
        let shape = match view.kind() {
            ObjectKind::String => Vec::new(),
            _ => view.shape().iter().map(extent).collect(),
        };
        Array { object, shape }
    }

    /// A result of a call; nothing for values that do not leave SaC.
    pub(crate) fn result(value: Value) -> Option<Array> {
        match value {
            Value::Scalar(basic, scalar) => scalar_object(tag(basic.elem()), scalar).map(Array::of),
            Value::Array(_, object) => Some(Array::of(object)),
            Value::Object(_, object) if object.view().kind() == ObjectKind::String => Some(Array::of(object)),
            Value::Object(..) | Value::Typedef { .. } | Value::Class { .. } | Value::Record { .. } => None,
        }
    }

    /// The array as an argument. Its elements are shared, not copied.
    pub fn view(&self) -> View<'_> {
        View::of_array(self)
    }

    pub(crate) fn given(&self) -> Given {
        let view = self.object.view();
        match view.kind() {
            ObjectKind::String => Given::Text(self.object.clone()),
            _ => match (self.shape.is_empty(), view.elem()) {
                (true, elem) => self.bits().map_or(Given::Array(self.object.clone()), |bits| Given::Scalar(elem, bits)),
                (false, _) => Given::Array(self.object.clone()),
            },
        }
    }

    /// The bits of a scalar.
    fn bits(&self) -> Option<u64> {
        fn of<T: Stored<Word = T> + ravel_runtime::array::Element>(object: &Object) -> Option<u64> {
            object.view().as_slice::<T>()?.first().map(|scalar| scalar.bits())
        }
        let object = &self.object;
        match object.view().elem() {
            ElemTag::Bool | ElemTag::Char | ElemTag::U8 => of::<u8>(object),
            ElemTag::I8 => of::<i8>(object),
            ElemTag::I16 => of::<i16>(object),
            ElemTag::I32 => of::<i32>(object),
            ElemTag::I64 => of::<i64>(object),
            ElemTag::U16 => of::<u16>(object),
            ElemTag::U32 => of::<u32>(object),
            ElemTag::U64 => of::<u64>(object),
            ElemTag::F32 => of::<f32>(object),
            ElemTag::F64 => of::<f64>(object),
            ElemTag::Handle => None,
        }
    }

    /// Extents, the outermost axis first; none for scalars and texts.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The type of the elements; [`ElementType::Char`] for texts.
    pub fn element_type(&self) -> ElementType {
        ElementType::of(self.object.view().elem()).unwrap_or(ElementType::U8)
    }

    /// The elements in row-major order, if they are of this type. `u8` also reads `char`.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        let is_type =
            self.element_type() == T::TYPE || T::TYPE == ElementType::U8 && self.element_type() == ElementType::Char;
        if is_type { self.object.view().as_slice::<T::Word>().and_then(T::from_words) } else { None }
    }

    /// The value of a scalar of this type.
    pub fn scalar<T: Element>(&self) -> Option<T> {
        let is_scalar = self.shape.is_empty() && self.object.view().kind() == ObjectKind::Array;
        if is_scalar { self.as_slice::<T>()?.first().copied() } else { None }
    }

    /// The text, if it is one, and UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        let is_text = self.object.view().kind() == ObjectKind::String;
        if is_text { std::str::from_utf8(self.object.view().text()?).ok() } else { None }
    }
}

fn scalar_object(elem: ElemTag, scalar: Scalar) -> Option<Object> {
    let bits = scalar.bits();
    let made = match elem {
        ElemTag::Bool | ElemTag::Char | ElemTag::U8 => Object::from_slice_as(elem, &[], &[bits as u8]),
        ElemTag::I8 => Object::from_slice(&[], &[bits as i8]),
        ElemTag::I16 => Object::from_slice(&[], &[bits as i16]),
        ElemTag::I32 => Object::from_slice(&[], &[bits as i32]),
        ElemTag::I64 => Object::from_slice(&[], &[bits as i64]),
        ElemTag::U16 => Object::from_slice(&[], &[bits as u16]),
        ElemTag::U32 => Object::from_slice(&[], &[bits as u32]),
        ElemTag::U64 => Object::from_slice(&[], &[bits]),
        ElemTag::F32 => Object::from_slice(&[], &[f32::from_bits(bits as u32)]),
        ElemTag::F64 => Object::from_slice(&[], &[f64::from_bits(bits)]),
        ElemTag::Handle => return None,
    };
    made.ok()
}

/// `double[2,3]`
impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.as_str() {
            Some(text) => write!(f, "string {text:?}"),
            None if self.shape.is_empty() => write!(f, "{}", self.element_type()),
            None => {
                let extents: Vec<String> = self.shape.iter().map(usize::to_string).collect();
                write!(f, "{}[{}]", self.element_type(), extents.join(","))
            }
        }
    }
}

/// The same type, shape and elements, as `==` of the elements has it.
impl PartialEq for Array {
    fn eq(&self, other: &Array) -> bool {
        fn same<T: Element + PartialEq>(one: &Array, other: &Array) -> bool {
            one.as_slice::<T>() == other.as_slice::<T>()
        }
        use ElementType::*;
        self.element_type() == other.element_type()
            && self.shape == other.shape
            && match self.element_type() {
                Bool => same::<bool>(self, other),
                Char | U8 => same::<u8>(self, other),
                I8 => same::<i8>(self, other),
                I16 => same::<i16>(self, other),
                I32 => same::<i32>(self, other),
                I64 => same::<i64>(self, other),
                U16 => same::<u16>(self, other),
                U32 => same::<u32>(self, other),
                U64 => same::<u64>(self, other),
                F32 => same::<f32>(self, other),
                F64 => same::<f64>(self, other),
            }
    }
}
