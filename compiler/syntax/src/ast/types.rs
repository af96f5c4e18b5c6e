//! Types and shape patterns.

use super::{Ident, QName};
use ravel_source::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BasicType {
    Bool,
    Char,
    Byte,
    Short,
    Int,
    Long,
    LongLong,
    UByte,
    UShort,
    UInt,
    ULong,
    ULongLong,
    Float,
    Double,
}

impl BasicType {
    /// Every basic type, in the order of the language reference.
    pub const ALL: [BasicType; 14] = [
        BasicType::Bool,
        BasicType::Char,
        BasicType::Byte,
        BasicType::Short,
        BasicType::Int,
        BasicType::Long,
        BasicType::LongLong,
        BasicType::UByte,
        BasicType::UShort,
        BasicType::UInt,
        BasicType::ULong,
        BasicType::ULongLong,
        BasicType::Float,
        BasicType::Double,
    ];

    /// The keyword that names the type.
    pub fn keyword(self) -> &'static str {
        match self {
            BasicType::Bool => "bool",
            BasicType::Char => "char",
            BasicType::Byte => "byte",
            BasicType::Short => "short",
            BasicType::Int => "int",
            BasicType::Long => "long",
            BasicType::LongLong => "longlong",
            BasicType::UByte => "ubyte",
            BasicType::UShort => "ushort",
            BasicType::UInt => "uint",
            BasicType::ULong => "ulong",
            BasicType::ULongLong => "ulonglong",
            BasicType::Float => "float",
            BasicType::Double => "double",
        }
    }

    pub fn from_keyword(text: &str) -> Option<BasicType> {
        BasicType::ALL.into_iter().find(|ty| ty.keyword() == text)
    }
}

/// An element type and, unless scalar, a shape pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    pub base: TypeBase,
    /// `None` for `int`, `Some([])` for `int[]`; both are scalars.
    pub dims: Option<Vec<Dim>>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeBase {
    Basic(BasicType),
    /// A typedef, a class or a family variable.
    Named(QName),
    /// `struct Name`
    Struct(QName),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Dim {
    pub kind: DimKind,
    pub span: Span,
}

/// One feature of a type pattern. Any name may be `_`, which matches without binding.
#[derive(Clone, Debug, PartialEq)]
pub enum DimKind {
    /// One axis of exactly this length.
    Num(i64),
    /// `.`
    Dot,
    /// `+`
    Plus,
    /// `*`
    Star,
    /// `n`: one axis whose length is `n`.
    Name(Ident),
    /// `2:s`, `d:s` or `d>0:s`: several axes whose lengths are the vector `shape`.
    Axes { count: AxisCount, shape: Ident },
}

#[derive(Clone, Debug, PartialEq)]
pub enum AxisCount {
    Num(i64),
    /// `d` or `d>k`: the number of axes, more than `more_than` if that is given.
    Name {
        name: Ident,
        more_than: Option<i64>,
    },
}
