//! Safe views of objects: [`Array`] owns a reference, [`ArrayRef`] borrows one.
//!
//! Rust code outside `buffer.rs` and this file never follows an object's pointers itself.

use std::any::TypeId;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::abi::{ArrayHeader, ElemTag, ObjectKind};
use crate::fault::Fault;
use crate::{buffer, device};

/// Machine types that array elements are read and written as. `u8` serves `ubyte`, `bool` (0 or 1) and `char`.
///
/// # Safety
/// Every bit pattern of the size of `Self` is a value, and `admits` accepts only tags of elements of that size.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The tag given to new arrays of this type.
    const TAG: ElemTag;
    /// Whether elements with this tag may be accessed as `Self`.
    fn admits(tag: ElemTag) -> bool {
        tag == Self::TAG
    }
}

macro_rules! elements {
    ($($ty:ty => $tag:ident),* $(,)?) => {$(
        // SAFETY: a primitive number without invalid bit patterns, of the size the tag states.
        unsafe impl Element for $ty {
            const TAG: ElemTag = ElemTag::$tag;
        }
    )*};
}
elements!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

// SAFETY: `bool` and `char` elements are one byte, and any byte is a `u8`.
unsafe impl Element for u8 {
    const TAG: ElemTag = ElemTag::U8;
    fn admits(tag: ElemTag) -> bool {
        matches!(tag, ElemTag::U8 | ElemTag::Bool | ElemTag::Char)
    }
}

/// A borrowed object.
#[derive(Clone, Copy)]
pub struct ArrayRef<'a> {
    object: NonNull<ArrayHeader>,
    lifetime: PhantomData<&'a ArrayHeader>,
}

// SAFETY: shared objects are immutable (writers need the only reference), and opaque values are `Send`; natives with effects,
// the only ones that touch opaque values, run one at a time.
unsafe impl Send for ArrayRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for ArrayRef<'_> {}

impl<'a> ArrayRef<'a> {
    /// Borrows an object that compiled code passed.
    ///
    /// # Safety
    /// The object is valid, and is neither released nor written to during `'a`.
    pub unsafe fn from_raw(object: NonNull<ArrayHeader>) -> ArrayRef<'a> {
        ArrayRef { object, lifetime: PhantomData }
    }

    fn header(self) -> &'a ArrayHeader {
        // SAFETY: valid for `'a` by the contract of `from_raw`.
        unsafe { self.object.as_ref() }
    }

    /// The object's address; the reference stays with its owner.
    pub fn as_ptr(self) -> NonNull<ArrayHeader> {
        self.object
    }

    /// Extents, outermost axis first.
    pub fn shape(self) -> &'a [i64] {
        // SAFETY: valid for `'a`.
        unsafe { buffer::shape_of(self.object.as_ptr()) }
    }

    /// Number of axes.
    pub fn rank(self) -> usize {
        self.shape().len()
    }

    /// Number of elements.
    pub fn count(self) -> usize {
        usize::try_from(self.header().count).unwrap_or(0)
    }

    /// Element type.
    pub fn elem(self) -> ElemTag {
        ElemTag::from_u8(self.header().elem).unwrap_or(ElemTag::U8)
    }

    /// What the object is.
    pub fn kind(self) -> ObjectKind {
        match self.header().kind {
            0 => ObjectKind::Array,
            1 => ObjectKind::String,
            2 => ObjectKind::File,
            _ => ObjectKind::Other,
        }
    }

    /// The elements in row-major order, if they are of type `T`.
    pub fn as_slice<T: Element>(self) -> Option<&'a [T]> {
        // SAFETY: valid by contract.
        unsafe { device::settle(self.object.as_ptr()) };
        let plain = matches!(self.kind(), ObjectKind::Array | ObjectKind::String);
        // SAFETY: the data holds `count` elements of a type that `T` admits, valid and unchanged for `'a`.
        (plain && T::admits(self.elem()))
            .then(|| unsafe { std::slice::from_raw_parts(self.header().data.cast::<T>(), self.count()) })
    }

    /// The elements as bytes, unless they are objects.
    pub fn bytes(self) -> Option<&'a [u8]> {
        // SAFETY: valid by contract.
        unsafe { device::settle(self.object.as_ptr()) };
        let plain = matches!(self.kind(), ObjectKind::Array | ObjectKind::String) && self.elem() != ElemTag::Handle;
        // SAFETY: the data holds `count` elements of this size, valid and unchanged for `'a`.
        plain.then(|| unsafe { std::slice::from_raw_parts(self.header().data, self.count() * self.elem().size()) })
    }

    /// The text of a string object, or the bytes of a character array.
    pub fn text(self) -> Option<&'a [u8]> {
        if self.elem() == ElemTag::Char { self.as_slice::<u8>() } else { None }
    }

    /// The elements of an array of handles; `None` entries have not been written yet.
    pub fn handles(self) -> Option<Vec<Option<ArrayRef<'a>>>> {
        if self.elem() != ElemTag::Handle {
            return None;
        }
        // SAFETY: the data holds `count` pointers, each null or a reference that this object owns.
        let pointers =
            unsafe { std::slice::from_raw_parts(self.header().data.cast::<*mut ArrayHeader>(), self.count()) };
        // SAFETY: valid as long as this object, which is borrowed for `'a`.
        Some(
            pointers
                .iter()
                .map(|&object| NonNull::new(object).map(|object| unsafe { Self::from_raw(object) }))
                .collect(),
        )
    }

    /// The Rust value of an opaque object, if it is a `T`.
    ///
    /// The pointer is valid as long as the object. Callers must not create two references to the value at a time; natives with
    /// effects never run concurrently, which makes that a local matter.
    pub fn opaque<T: 'static>(self) -> Option<NonNull<T>> {
        if !matches!(self.kind(), ObjectKind::File | ObjectKind::Other) {
            return None;
        }
        // SAFETY: objects of these kinds are made by `Array::opaque`, which stores a `Tagged`.
        let tagged = unsafe { buffer::opaque_value(self.object) }.cast::<Tagged<()>>();
        // SAFETY: the type id is the first field of every `Tagged`.
        let id = unsafe { (*tagged).id };
        if id != TypeId::of::<T>() {
            return None;
        }
        // SAFETY: the id says that the value is a `Tagged<T>`.
        NonNull::new(unsafe { &raw mut (*tagged.cast::<Tagged<T>>()).value })
    }

    /// Element type and shape, as in `int[2,3]`.
    pub fn description(self) -> String {
        match self.kind() {
            ObjectKind::String => "a string".to_string(),
            ObjectKind::Array if self.rank() == 0 => self.elem().name().to_string(),
            ObjectKind::Array => format!("{}{}", self.elem().name(), crate::fault::shape_text(self.shape())),
            ObjectKind::File | ObjectKind::Other => "an object".to_string(),
        }
    }

    /// A further owned reference.
    pub fn to_owned(self) -> Array {
        // SAFETY: the object is valid, so a reference may be added.
        unsafe {
            buffer::ravel_rc_inc(self.object.as_ptr());
            Array::from_raw(self.object)
        }
    }
}

/// Opaque values carry their type, so that a native given the wrong handle faults instead of misreading memory.
#[repr(C)]
struct Tagged<T> {
    id: TypeId,
    value: T,
}

/// An owned reference to an object; cloning shares, dropping gives it up.
pub struct Array {
    object: NonNull<ArrayHeader>,
}

// SAFETY: see `ArrayRef`; counts are atomic and opaque values are `Send`.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

impl Array {
    /// Takes over an owned reference.
    ///
    /// # Safety
    /// The object is valid and the caller owns the reference.
    pub unsafe fn from_raw(object: NonNull<ArrayHeader>) -> Array {
        Array { object }
    }

    /// Hands the reference to compiled code.
    pub fn into_raw(self) -> NonNull<ArrayHeader> {
        let object = self.object;
        std::mem::forget(self);
        object
    }

    /// An array with all elements zero (null for handles).
    ///
    /// # Errors
    /// The shape is invalid or memory is exhausted.
    pub fn zeroed(elem: ElemTag, shape: &[i64]) -> Result<Array, Fault> {
        Array::zeroed_as(ObjectKind::Array, elem, shape)
    }

    /// [`Array::zeroed`] for a string or an array.
    pub(crate) fn zeroed_as(kind: ObjectKind, elem: ElemTag, shape: &[i64]) -> Result<Array, Fault> {
        let object = buffer::allocate(elem, kind, shape)?;
        // SAFETY: the new object has `count * size` data bytes.
        unsafe {
            let header = object.as_ref();
            header.data.write_bytes(0, usize::try_from(header.count).unwrap_or(0) * elem.size());
            Ok(Array::from_raw(object))
        }
    }

    /// An array of `T::TAG` with these elements in row-major order.
    ///
    /// # Errors
    /// The shape is invalid or has another number of elements, or memory is exhausted.
    pub fn from_slice<T: Element>(shape: &[i64], elements: &[T]) -> Result<Array, Fault> {
        Array::from_slice_as(T::TAG, shape, elements)
    }

    /// [`Array::from_slice`] with another tag that `T` admits: `u8` elements as `bool` or `char`.
    ///
    /// # Errors
    /// As [`Array::from_slice`]; also if `T` does not admit the tag.
    pub fn from_slice_as<T: Element>(elem: ElemTag, shape: &[i64], elements: &[T]) -> Result<Array, Fault> {
        if !T::admits(elem) || usize::try_from(buffer::count_of(shape)?) != Ok(elements.len()) {
            return Err(Fault::new("the elements do not fit the array's type or shape"));
        }
        let object = buffer::allocate(elem, ObjectKind::Array, shape)?;
        // SAFETY: the new object has room for exactly these elements.
        unsafe {
            object.as_ref().data.cast::<T>().copy_from_nonoverlapping(elements.as_ptr(), elements.len());
            Ok(Array::from_raw(object))
        }
    }

    /// An array of handles that shares the given objects.
    ///
    /// # Errors
    /// As [`Array::from_slice`].
    pub fn from_handles(shape: &[i64], handles: Vec<Array>) -> Result<Array, Fault> {
        if usize::try_from(buffer::count_of(shape)?) != Ok(handles.len()) {
            return Err(Fault::new("the elements do not fit the array's shape"));
        }
        let object = buffer::allocate(ElemTag::Handle, ObjectKind::Array, shape)?;
        for (position, handle) in handles.into_iter().enumerate() {
            // SAFETY: the position is in range; the new array takes over the reference.
            unsafe {
                object.as_ref().data.cast::<*mut ArrayHeader>().add(position).write(handle.into_raw().as_ptr());
            }
        }
        // SAFETY: a fresh reference.
        Ok(unsafe { Array::from_raw(object) })
    }

    /// A string object.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn string(text: &[u8]) -> Result<Array, Fault> {
        let length = i64::try_from(text.len()).map_err(|_| Fault::new("a string is too long"))?;
        let object = buffer::allocate(ElemTag::Char, ObjectKind::String, &[length])?;
        // SAFETY: the new object has room for exactly this text.
        unsafe {
            object.as_ref().data.copy_from_nonoverlapping(text.as_ptr(), text.len());
            Ok(Array::from_raw(object))
        }
    }

    /// An opaque object around a Rust value, which is dropped with it.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn opaque<T: Send + 'static>(kind: ObjectKind, value: T) -> Result<Array, Fault> {
        let object = buffer::allocate_opaque(kind, Tagged { id: TypeId::of::<T>(), value })?;
        // SAFETY: a fresh reference.
        Ok(unsafe { Array::from_raw(object) })
    }

    /// A borrowed view.
    pub fn view(&self) -> ArrayRef<'_> {
        // SAFETY: this value owns a reference; writers need `&mut self`.
        unsafe { ArrayRef::from_raw(self.object) }
    }

    /// The elements for writing, if they are of type `T` and nobody else holds the array.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        let view = self.view();
        let (count, writable) = (view.count(), view.kind() == ObjectKind::Array && T::admits(view.elem()));
        // SAFETY: the object is valid; a count of 1 means that this value holds the only reference.
        if !writable || unsafe { buffer::ravel_unique(self.object.as_ptr()) } == 0 {
            return None;
        }
        // SAFETY: valid, and this value holds the only reference.
        unsafe { device::ravel_device_host_writes(self.object.as_ptr()) };
        // SAFETY: exclusive access through `&mut self`, `count` elements of a type that `T` admits.
        Some(unsafe { std::slice::from_raw_parts_mut(self.object.as_ref().data.cast::<T>(), count) })
    }

    /// The elements of an array or a string as bytes for writing, unless they are objects or somebody else holds it. Strings are written by
    /// who makes them.
    pub(crate) fn as_mut_bytes(&mut self) -> Option<&mut [u8]> {
        let length = self.view().bytes()?.len();
        // SAFETY: the object is valid; a count of 1 means that this value holds the only reference.
        if unsafe { buffer::ravel_unique(self.object.as_ptr()) } == 0 {
            return None;
        }
        // SAFETY: valid, and this value holds the only reference.
        unsafe { device::ravel_device_host_writes(self.object.as_ptr()) };
        // SAFETY: exclusive access through `&mut self` to this many bytes.
        Some(unsafe { std::slice::from_raw_parts_mut(self.object.as_ref().data, length) })
    }

    /// A deep copy with a count of 1.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn deep_copy(&self) -> Result<Array, Fault> {
        // SAFETY: the object is valid, and `copy` returns an owned reference.
        unsafe {
            let copied = buffer::copy(self.object.as_ptr())?;
            NonNull::new(copied).map(|object| Array::from_raw(object)).ok_or_else(|| Fault::here("out of memory"))
        }
    }
}

impl Clone for Array {
    fn clone(&self) -> Array {
        self.view().to_owned()
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: this value owns a reference and gives it up here.
        unsafe { buffer::ravel_rc_dec(self.object.as_ptr()) }
    }
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let view = self.view();
        match view.kind() {
            ObjectKind::String => write!(f, "{:?}", String::from_utf8_lossy(view.text().unwrap_or_default())),
            ObjectKind::Array => write!(f, "{}{}", view.elem().name(), crate::fault::shape_text(view.shape())),
            ObjectKind::File => f.write_str("<stream>"),
            ObjectKind::Other => f.write_str("<object>"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_seen_only_at_their_type() {
        let array = Array::from_slice(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0]).expect("small");
        assert_eq!(array.view().as_slice::<f32>(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
        assert!(array.view().as_slice::<i32>().is_none());
        assert_eq!(array.view().shape(), [2, 2]);
        assert!(Array::from_slice(&[3], &[1i32]).is_err());
    }

    #[test]
    fn only_unshared_arrays_are_writable() {
        let mut array = Array::from_slice(&[2], &[1i32, 2]).expect("small");
        array.as_mut_slice::<i32>().expect("unshared")[0] = 9;
        let shared = array.clone();
        assert!(array.as_mut_slice::<i32>().is_none());
        drop(shared);
        assert_eq!(array.as_mut_slice::<i32>().expect("unshared again"), [9, 2]);
    }

    #[test]
    fn opaque_values_are_typed() {
        let object = Array::opaque(ObjectKind::Other, 5u32).expect("small");
        assert!(object.view().opaque::<i64>().is_none());
        let value = object.view().opaque::<u32>().expect("it is one");
        // SAFETY: the only reference to the value in this test.
        assert_eq!(unsafe { *value.as_ptr() }, 5);
        assert!(object.view().as_slice::<u64>().is_none());
    }

    #[test]
    fn arrays_of_handles_own_their_elements() {
        let text = Array::string(b"hi").expect("small");
        let list = Array::from_handles(&[2], vec![text.clone(), text.clone()]).expect("small");
        let handles = list.view().handles().expect("handles");
        assert_eq!(handles[1].and_then(ArrayRef::text), Some(&b"hi"[..]));
        let copy = list.deep_copy().expect("small");
        drop(list);
        assert_eq!(copy.view().handles().expect("handles").len(), 2);
    }
}
