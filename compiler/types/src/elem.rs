//! Element types: those that a SaC program can name, and those that compiled code computes with.

use std::fmt;

/// A built-in element type of SaC. All are distinct; nothing converts implicitly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basic {
    Bool,
    Char,
    Byte,
    Short,
    Int,
    Long,
    Longlong,
    Ubyte,
    Ushort,
    Uint,
    Ulong,
    Ulonglong,
    Float,
    Double,
}

impl Basic {
    /// What stands behind the digits of a literal of the type; none where literals have no suffix.
    pub fn suffix(self) -> Option<&'static str> {
        Some(match self {
            Basic::Double => "d",
            Basic::Float => "f",
            Basic::Byte => "b",
            Basic::Short => "s",
            Basic::Long => "l",
            Basic::Longlong => "ll",
            Basic::Ubyte => "ub",
            Basic::Ushort => "us",
            Basic::Uint => "u",
            Basic::Ulong => "ul",
            Basic::Ulonglong => "ull",
            Basic::Bool | Basic::Char | Basic::Int => return None,
        })
    }

    pub const ALL: [Basic; 14] = [
        Basic::Bool,
        Basic::Char,
        Basic::Byte,
        Basic::Short,
        Basic::Int,
        Basic::Long,
        Basic::Longlong,
        Basic::Ubyte,
        Basic::Ushort,
        Basic::Uint,
        Basic::Ulong,
        Basic::Ulonglong,
        Basic::Float,
        Basic::Double,
    ];

    /// The spelling in SaC.
    pub fn name(self) -> &'static str {
        match self {
            Basic::Bool => "bool",
            Basic::Char => "char",
            Basic::Byte => "byte",
            Basic::Short => "short",
            Basic::Int => "int",
            Basic::Long => "long",
            Basic::Longlong => "longlong",
            Basic::Ubyte => "ubyte",
            Basic::Ushort => "ushort",
            Basic::Uint => "uint",
            Basic::Ulong => "ulong",
            Basic::Ulonglong => "ulonglong",
            Basic::Float => "float",
            Basic::Double => "double",
        }
    }

    pub fn from_name(name: &str) -> Option<Basic> {
        Basic::ALL.into_iter().find(|b| b.name() == name)
    }

    /// The machine representation.
    pub fn elem(self) -> Elem {
        match self {
            Basic::Bool => Elem::Bool,
            Basic::Char => Elem::Char,
            Basic::Byte => Elem::I8,
            Basic::Short => Elem::I16,
            Basic::Int => Elem::I32,
            Basic::Long | Basic::Longlong => Elem::I64,
            Basic::Ubyte => Elem::U8,
            Basic::Ushort => Elem::U16,
            Basic::Uint => Elem::U32,
            Basic::Ulong | Basic::Ulonglong => Elem::U64,
            Basic::Float => Elem::F32,
            Basic::Double => Elem::F64,
        }
    }
}

impl fmt::Display for Basic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An element type of the with-loop IR and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Elem {
    Bool,
    Char,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// Pointer to a reference-counted object of the runtime: a string, a file, a foreign value.
    Handle,
}

impl Elem {
    pub const ALL: [Elem; 13] = [
        Elem::Bool,
        Elem::Char,
        Elem::I8,
        Elem::I16,
        Elem::I32,
        Elem::I64,
        Elem::U8,
        Elem::U16,
        Elem::U32,
        Elem::U64,
        Elem::F32,
        Elem::F64,
        Elem::Handle,
    ];

    /// The number that the runtime knows it by.
    pub fn tag(self) -> u8 {
        Elem::ALL.iter().position(|elem| *elem == self).unwrap_or_default() as u8
    }

    /// The spelling in IR text.
    pub fn name(self) -> &'static str {
        match self {
            Elem::Bool => "bool",
            Elem::Char => "char",
            Elem::I8 => "i8",
            Elem::I16 => "i16",
            Elem::I32 => "i32",
            Elem::I64 => "i64",
            Elem::U8 => "u8",
            Elem::U16 => "u16",
            Elem::U32 => "u32",
            Elem::U64 => "u64",
            Elem::F32 => "f32",
            Elem::F64 => "f64",
            Elem::Handle => "handle",
        }
    }

    pub fn from_name(name: &str) -> Option<Elem> {
        Elem::ALL.into_iter().find(|e| e.name() == name)
    }

    /// Size of one element in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Elem::Bool | Elem::Char | Elem::I8 | Elem::U8 => 1,
            Elem::I16 | Elem::U16 => 2,
            Elem::I32 | Elem::U32 | Elem::F32 => 4,
            Elem::I64 | Elem::U64 | Elem::F64 | Elem::Handle => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Elem::F32 | Elem::F64)
    }

    pub fn is_signed_int(self) -> bool {
        matches!(self, Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64)
    }

    pub fn is_unsigned_int(self) -> bool {
        matches!(self, Elem::U8 | Elem::U16 | Elem::U32 | Elem::U64)
    }

    pub fn is_int(self) -> bool {
        self.is_signed_int() || self.is_unsigned_int()
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
