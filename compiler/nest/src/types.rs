//! Machine types: a primitive and a number of lanes.

use std::fmt;

/// A primitive machine type. Signedness is not here: it lives on the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Prim {
    /// 8 bits: SaC bytes, characters and booleans (0 or 1).
    I8,
    /// 16 bits.
    I16,
    /// 32 bits: SaC `int`.
    I32,
    /// 64 bits: every offset and loop counter.
    I64,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// An address; as wide as [`Prim::I64`], never in a vector.
    Ptr,
}

impl Prim {
    /// Size in bytes; also the natural alignment.
    pub fn bytes(self) -> u32 {
        match self {
            Prim::I8 => 1,
            Prim::I16 => 2,
            Prim::I32 | Prim::F32 => 4,
            Prim::I64 | Prim::F64 | Prim::Ptr => 8,
        }
    }

    /// Size in bits.
    pub fn bits(self) -> u32 {
        self.bytes() * 8
    }

    /// Is this one of the four integer types (`Ptr` is not)?
    pub fn is_int(self) -> bool {
        matches!(self, Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64)
    }

    /// Is this `F32` or `F64`?
    pub fn is_float(self) -> bool {
        matches!(self, Prim::F32 | Prim::F64)
    }

    /// The integer type of the same width.
    pub fn as_int(self) -> Prim {
        match self {
            Prim::F32 => Prim::I32,
            Prim::F64 | Prim::Ptr => Prim::I64,
            int => int,
        }
    }

    /// The spelling used in nest text.
    pub fn name(self) -> &'static str {
        match self {
            Prim::I8 => "i8",
            Prim::I16 => "i16",
            Prim::I32 => "i32",
            Prim::I64 => "i64",
            Prim::F32 => "f32",
            Prim::F64 => "f64",
            Prim::Ptr => "ptr",
        }
    }

    /// Every primitive, in declaration order.
    pub const ALL: [Prim; 7] = [Prim::I8, Prim::I16, Prim::I32, Prim::I64, Prim::F32, Prim::F64, Prim::Ptr];
}

/// The type of a value: `lanes` copies of `prim`. One lane is a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ty {
    /// What each lane holds.
    pub prim: Prim,
    /// 1, 2, 4, 8 or 16.
    pub lanes: u8,
}

impl Ty {
    /// Scalar 8-bit integer; also the scalar boolean (0 or 1).
    pub const I8: Ty = Ty::scalar(Prim::I8);
    /// Scalar 16-bit integer.
    pub const I16: Ty = Ty::scalar(Prim::I16);
    /// Scalar 32-bit integer.
    pub const I32: Ty = Ty::scalar(Prim::I32);
    /// Scalar 64-bit integer.
    pub const I64: Ty = Ty::scalar(Prim::I64);
    /// Scalar binary32.
    pub const F32: Ty = Ty::scalar(Prim::F32);
    /// Scalar binary64.
    pub const F64: Ty = Ty::scalar(Prim::F64);
    /// Address.
    pub const PTR: Ty = Ty::scalar(Prim::Ptr);

    /// One lane of `prim`.
    pub const fn scalar(prim: Prim) -> Ty {
        Ty { prim, lanes: 1 }
    }

    /// `lanes` lanes of `prim`.
    pub const fn vector(prim: Prim, lanes: u8) -> Ty {
        Ty { prim, lanes }
    }

    /// The same primitive with another number of lanes.
    pub const fn with_lanes(self, lanes: u8) -> Ty {
        Ty { prim: self.prim, lanes }
    }

    /// Another primitive with the same number of lanes.
    pub const fn with_prim(self, prim: Prim) -> Ty {
        Ty { prim, lanes: self.lanes }
    }

    /// The type of one lane.
    pub const fn lane(self) -> Ty {
        Ty::scalar(self.prim)
    }

    /// More than one lane?
    pub const fn is_vector(self) -> bool {
        self.lanes > 1
    }

    /// Size in bytes, all lanes together.
    pub fn bytes(self) -> u32 {
        self.prim.bytes() * u32::from(self.lanes)
    }

    /// Result type of a comparison of two values of this type: `I8` for scalars, a mask for vectors.
    ///
    /// A mask is the integer vector of the same lane width; each lane is all ones (true) or zero (false).
    pub fn truth(self) -> Ty {
        if self.is_vector() { self.with_prim(self.prim.as_int()) } else { Ty::I8 }
    }

    /// Is the lane count one of 1, 2, 4, 8, 16, and 1 for `ptr`?
    pub fn is_well_formed(self) -> bool {
        matches!(self.lanes, 1 | 2 | 4 | 8 | 16) && (self.prim != Prim::Ptr || self.lanes == 1)
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prim.name())?;
        if self.is_vector() { write!(f, "x{}", self.lanes) } else { Ok(()) }
    }
}
