//! Runtime objects: what the fields and the data of static ones hold. Where fields stand says [`ravel_nest::object`].

use ravel_nest::ir::Prim;
use ravel_types::Elem;

pub(crate) use ravel_nest::object::*;

/// Reference count of static objects: far from one and from zero, whatever a program counts.
pub(crate) const IMMORTAL: i64 = 1 << 40;

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
    (OFFSET_SHAPE as usize + EXTENT_BYTES as usize * rank).next_multiple_of(DATA_ALIGN) as i64
}

/// The word at [`OFFSET_RANK`] of an array: rank, element tag and kind.
pub(crate) fn kinds(elem: Elem, rank: usize) -> i64 {
    rank as i64 | i64::from(elem.tag()) << 32 | i64::from(KIND_ARRAY) << 40
}

/// Byte offset of the extent of an axis.
pub(crate) fn extent_offset(axis: usize) -> i32 {
    OFFSET_SHAPE + EXTENT_BYTES * axis as i32
}

/// A static object: header, shape, padding, elements. The data pointer (at [`OFFSET_DATA`]) is left zero for the caller to patch with
/// the second result, the offset of the elements.
pub(crate) fn static_object(elem: Elem, kind: u8, shape: &[i64], count: i64, elements: &[u8]) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    bytes.extend(IMMORTAL.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend((shape.len() as u32).to_le_bytes());
    bytes.extend([elem.tag(), kind, 0, 0]);
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

/// The machine type that holds an element.
pub(crate) fn prim_of(elem: Elem) -> Prim {
    match elem {
        Elem::Bool | Elem::Char | Elem::I8 | Elem::U8 => Prim::I8,
        Elem::I16 | Elem::U16 => Prim::I16,
        Elem::I32 | Elem::U32 => Prim::I32,
        Elem::I64 | Elem::U64 => Prim::I64,
        Elem::F32 => Prim::F32,
        Elem::F64 => Prim::F64,
        Elem::Handle => Prim::Ptr,
    }
}
