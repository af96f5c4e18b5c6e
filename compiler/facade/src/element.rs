//! The types that elements of arrays have.

use ravel_runtime::abi::ElemTag;
use std::fmt;

/// The type of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType {
    /// `bool`
    Bool,
    /// `char`: a byte of text, in Rust a `u8`.
    Char,
    /// `byte`
    I8,
    /// `short`
    I16,
    /// `int`
    I32,
    /// `long`
    I64,
    /// `ubyte`
    U8,
    /// `ushort`
    U16,
    /// `uint`
    U32,
    /// `ulong`
    U64,
    /// `float`
    F32,
    /// `double`
    F64,
}

use ElementType::*;

/// Each type with its tag in the runtime, and its name in SaC.
const TYPES: [(ElementType, ElemTag, &str); 12] = [
    (Bool, ElemTag::Bool, "bool"),
    (Char, ElemTag::Char, "char"),
    (I8, ElemTag::I8, "byte"),
    (I16, ElemTag::I16, "short"),
    (I32, ElemTag::I32, "int"),
    (I64, ElemTag::I64, "long"),
    (U8, ElemTag::U8, "ubyte"),
    (U16, ElemTag::U16, "ushort"),
    (U32, ElemTag::U32, "uint"),
    (U64, ElemTag::U64, "ulong"),
    (F32, ElemTag::F32, "float"),
    (F64, ElemTag::F64, "double"),
];

impl ElementType {
    pub(crate) fn of(tag: ElemTag) -> Option<ElementType> {
        TYPES.iter().find(|(_, other, _)| *other == tag).map(|(ty, ..)| *ty)
    }

    pub(crate) fn tag(self) -> ElemTag {
        TYPES.iter().find(|(ty, ..)| *ty == self).map_or(ElemTag::U8, |(_, tag, _)| *tag)
    }
}

/// The name in SaC.
impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TYPES.iter().find(|(ty, ..)| ty == self).map_or("", |(.., name)| name))
    }
}

mod sealed {
    /// What an array stores for elements of a type.
    pub trait Stored: Copy + Send + Sync + 'static {
        /// As the runtime reads it.
        type Word: ravel_runtime::array::Element;
        /// The bits of an element, zero above it.
        fn bits(self) -> u64;
        /// The elements, if all words are such.
        fn from_words(words: &[Self::Word]) -> Option<&[Self]>;
        /// The words of elements.
        fn words(elements: &[Self]) -> &[Self::Word];
    }
}

pub(crate) use sealed::Stored;

/// A type of elements. Nobody else implements it.
pub trait Element: Stored {
    /// The type in SaC.
    const TYPE: ElementType;
}

macro_rules! numbers {
    ($($ty:ty => $name:ident, $bits:expr;)*) => {$(
        impl Stored for $ty {
            type Word = $ty;
            fn bits(self) -> u64 {
                ($bits)(self)
            }
            fn from_words(words: &[$ty]) -> Option<&[$ty]> {
                Some(words)
            }
            fn words(elements: &[$ty]) -> &[$ty] {
                elements
            }
        }
        impl Element for $ty {
            const TYPE: ElementType = $name;
        }
    )*};
}
numbers! {
    i8 => I8, |n: i8| u64::from(n as u8);
    i16 => I16, |n: i16| u64::from(n as u16);
    i32 => I32, |n: i32| u64::from(n as u32);
    i64 => I64, |n: i64| n as u64;
    u8 => U8, u64::from;
    u16 => U16, u64::from;
    u32 => U32, u64::from;
    u64 => U64, |n: u64| n;
    f32 => F32, |n: f32| u64::from(n.to_bits());
    f64 => F64, f64::to_bits;
}

impl Stored for bool {
    type Word = u8;

    fn bits(self) -> u64 {
        u64::from(self)
    }

    fn from_words(words: &[u8]) -> Option<&[bool]> {
        // C code could have written others.
        // SAFETY: all bytes are 0 or 1, and `bool` has the size of a byte.
        let bools = || unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<bool>(), words.len()) };
        words.iter().all(|word| *word <= 1).then(bools)
    }

    fn words(elements: &[bool]) -> &[u8] {
        // SAFETY: every `bool` is a byte.
        unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), elements.len()) }
    }
}

impl Element for bool {
    const TYPE: ElementType = Bool;
}

/// The extents of an array as the runtime has them.
///
/// # Errors
/// An extent is larger than an `int` of SaC, there are too many axes, or the elements are not as many.
pub(crate) fn extents(shape: &[usize], n_elements: usize) -> Result<Vec<i64>, String> {
    let most = ravel_runtime::buffer::MAX_RANK;
    if shape.len() > most {
        return Err(format!("an array has at most {most} axes, not {}", shape.len()));
    }
    let extent = |n: &usize| {
        i32::try_from(*n)
            .map(i64::from)
            .map_err(|_| format!("{n} is too large for an extent: SaC counts indices by `int`"))
    };
    let extents = shape.iter().map(extent).collect::<Result<Vec<i64>, String>>()?;
    let count = shape.iter().try_fold(1usize, |count, n| count.checked_mul(*n));
    // An axis without indices makes an empty array of the others, however large they are.
    let count = if shape.contains(&0) { Some(0) } else { count };
    if count != Some(n_elements) {
        let count = count.map_or("more than the machine can address".to_string(), |n| n.to_string());
        return Err(format!("the shape {shape:?} needs {count} elements, not {n_elements}"));
    }
    Ok(extents)
}
