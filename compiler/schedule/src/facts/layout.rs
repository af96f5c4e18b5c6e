//! The binary layout of runtime objects, as the runtime's `abi` module defines it.

use ravel_types::Elem;

/// Byte offset of the reference count (`i64`).
pub(crate) const OFFSET_RC: i32 = 0;
/// Byte offset of the pointer to the elements.
pub(crate) const OFFSET_DATA: i32 = 8;
/// Byte offset of the number of elements (`i64`).
pub(crate) const OFFSET_COUNT: i32 = 16;
/// Byte offset of the rank (`u32`).
pub(crate) const OFFSET_RANK: i32 = 24;
/// Byte offset of the element tag (`u8`).
pub(crate) const OFFSET_ELEM: i32 = 28;
/// Byte offset of the first extent (`i64`).
pub(crate) const OFFSET_SHAPE: i32 = 32;
/// Marks of the device (`u16`): zero for objects that live on the host alone.
pub(crate) const OFFSET_MARKS: i32 = 30;
/// Alignment of objects and of element data.
pub(crate) const DATA_ALIGN: usize = 64;
/// Object kind of arrays.
pub(crate) const KIND_ARRAY: u8 = 0;
/// Object kind of strings.
pub(crate) const KIND_STRING: u8 = 1;
/// Reference count of static objects: far from one and from zero, whatever a program counts.
pub(crate) const IMMORTAL: i64 = 1 << 40;

/// Element tag.
pub(crate) fn tag(elem: Elem) -> u8 {
    match elem {
        Elem::Bool => 0,
        Elem::Char => 1,
        Elem::I8 => 2,
        Elem::I16 => 3,
        Elem::I32 => 4,
        Elem::I64 => 5,
        Elem::U8 => 6,
        Elem::U16 => 7,
        Elem::U32 => 8,
        Elem::U64 => 9,
        Elem::F32 => 10,
        Elem::F64 => 11,
        Elem::Handle => 12,
    }
}

/// Bytes of an element with this tag; nothing for handles, which are counted references.
pub(crate) fn plain_bytes(tag: u8) -> Option<i64> {
    match tag {
        0 | 1 | 2 | 6 => Some(1),
        3 | 7 => Some(2),
        4 | 8 | 10 => Some(4),
        5 | 9 | 11 => Some(8),
        _ => None,
    }
}

/// Bytes from the header of an object of this rank to its elements.
pub(crate) fn data_offset(rank: usize) -> i64 {
    (OFFSET_SHAPE as usize + 8 * rank).next_multiple_of(DATA_ALIGN) as i64
}

/// The word at [`OFFSET_RANK`] of an array: rank, element tag and kind.
pub(crate) fn kinds(elem: Elem, rank: usize) -> i64 {
    rank as i64 | i64::from(tag(elem)) << 32 | i64::from(KIND_ARRAY) << 40
}

/// Byte offset of the extent of an axis.
pub(crate) fn extent_offset(axis: usize) -> i32 {
    OFFSET_SHAPE + 8 * axis as i32
}

/// A static object: header, shape, padding, elements. The data pointer (at [`OFFSET_DATA`]) is left zero for the caller to patch with
/// the second result, the offset of the elements.
pub(crate) fn static_object(elem: Elem, kind: u8, shape: &[i64], count: i64, elements: &[u8]) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    bytes.extend(IMMORTAL.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend((shape.len() as u32).to_le_bytes());
    bytes.extend([tag(elem), kind, 0, 0]);
    for extent in shape {
        bytes.extend(extent.to_le_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(DATA_ALIGN), 0);
    let start = bytes.len();
    bytes.extend(elements);
    // Vector loads may touch the padding of an object.
    bytes.resize(bytes.len().next_multiple_of(DATA_ALIGN) + DATA_ALIGN, 0);
    (bytes, start)
}
