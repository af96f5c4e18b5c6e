//! The layout of runtime objects, as every stage of the compiler sees it.
//!
//! An object is a header, extents behind it, and elements. The fields of the header stand where C puts them; numbers of eight bytes are aligned to
//! eight. So the offsets are the same for pointers of four and of eight bytes, and only lists of pointers depend on
//! [`Capabilities::pointer_bytes`](crate::target::Capabilities::pointer_bytes). `ravel-codegen` holds all this against the runtime's own definition
//! when it is compiled.

/// Sizes of the fields of the header in their order, with pointers of so many bytes: count of references, pointer to the elements, number of
/// elements, rank, element tag, kind, marks.
const fn sizes(pointer_bytes: i32) -> [i32; 7] {
    [8, pointer_bytes, 8, 4, 1, 1, 2]
}

/// Where a field stands; the one behind the last is the first extent, of eight bytes.
const fn offset(field: usize, pointer_bytes: i32) -> i32 {
    let sizes = sizes(pointer_bytes);
    let mut at = 0;
    let mut k = 0;
    loop {
        let size = if k < sizes.len() { sizes[k] } else { EXTENT_BYTES };
        at = (at + size - 1) / size * size;
        if k == field {
            return at;
        }
        at += size;
        k += 1;
    }
}

/// Byte offset of the reference count (`i64`).
pub const OFFSET_RC: i32 = offset(0, 8);
/// Byte offset of the pointer to the elements.
pub const OFFSET_DATA: i32 = offset(1, 8);
/// Byte offset of the number of elements (`i64`).
pub const OFFSET_COUNT: i32 = offset(2, 8);
/// Byte offset of the rank (`u32`).
pub const OFFSET_RANK: i32 = offset(3, 8);
/// Byte offset of the element tag (`u8`).
pub const OFFSET_ELEM: i32 = offset(4, 8);
/// Byte offset of the object kind (`u8`).
pub const OFFSET_KIND: i32 = offset(5, 8);
/// Byte offset of the device's marks (`u16`): zero for objects that live on the host alone.
pub const OFFSET_MARKS: i32 = offset(6, 8);
/// Byte offset of the first extent (`i64`).
pub const OFFSET_SHAPE: i32 = offset(7, 8);

/// Bytes of an extent.
pub const EXTENT_BYTES: i32 = 8;
/// Alignment of objects and of element data.
pub const DATA_ALIGN: usize = 64;

/// Object kind of arrays.
pub const KIND_ARRAY: u8 = 0;
/// Object kind of strings.
pub const KIND_STRING: u8 = 1;

const _: () = {
    let mut field = 0;
    while field < 8 {
        assert!(offset(field, 4) == offset(field, 8), "the header does not depend on the width of pointers");
        field += 1;
    }
};
