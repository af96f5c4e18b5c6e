//! What the compiler believes of the runtime's objects, held against the runtime while this is compiled.

use std::mem::{offset_of, size_of};

use ravel_nest::object;
use ravel_runtime::abi::{self, ArrayHeader, ElemTag, ObjectKind};

const _: () = assert!(offset_of!(ArrayHeader, rc) == object::OFFSET_RC as usize);
const _: () = assert!(offset_of!(ArrayHeader, data) == object::OFFSET_DATA as usize);
const _: () = assert!(offset_of!(ArrayHeader, count) == object::OFFSET_COUNT as usize);
const _: () = assert!(offset_of!(ArrayHeader, rank) == object::OFFSET_RANK as usize);
const _: () = assert!(offset_of!(ArrayHeader, elem) == object::OFFSET_ELEM as usize);
const _: () = assert!(offset_of!(ArrayHeader, kind) == object::OFFSET_KIND as usize);
const _: () = assert!(offset_of!(ArrayHeader, pad) == object::OFFSET_MARKS as usize);
const _: () = assert!(size_of::<ArrayHeader>() == object::OFFSET_SHAPE as usize);
const _: () = assert!(abi::OFFSET_SHAPE == object::OFFSET_SHAPE && size_of::<i64>() == object::EXTENT_BYTES as usize);
const _: () = assert!(abi::DATA_ALIGN == object::DATA_ALIGN);
const _: () = assert!(ObjectKind::Array as u8 == object::KIND_ARRAY);
const _: () = assert!(ObjectKind::String as u8 == object::KIND_STRING);

/// Elements that are handles take as many bytes in arrays as a pointer does.
const _: () = assert!(ElemTag::Handle.size() == size_of::<*mut ArrayHeader>());

#[cfg(test)]
mod tests {
    use ravel_runtime::abi::ElemTag;
    use ravel_types::Elem;

    #[test]
    fn elements_have_the_tags_and_sizes_that_the_runtime_gives_them() {
        for elem in Elem::ALL {
            let tag = ElemTag::from_u8(elem.tag()).expect("the runtime knows the tag");
            assert_eq!((format!("{tag:?}"), tag.size()), (format!("{elem:?}"), elem.bytes()));
        }
    }
}
