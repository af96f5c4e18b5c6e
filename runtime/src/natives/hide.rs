//! Identities that the compiler does not see through, for tests and benchmarks.

use super::{AnyArray, Char, natives};
use crate::array::ArrayRef;

macro_rules! identities {
    ($($name:ident $ty:ty;)*) => {
        natives! { HIDE;
            $(
                /// The argument.
                same fn $name(x: $ty) -> (y: $ty) {
                    Ok(x)
                }
            )*

            /// A copy of the argument.
            same fn ravel_hide_array(a: ArrayRef<'_>) -> (b: AnyArray) {
                // A copy, because results of natives are unshared.
                a.to_owned().deep_copy().map(AnyArray)
            }
        }
    };
}
identities! {
    ravel_hide_bool bool;
    ravel_hide_char Char;
    ravel_hide_byte i8;
    ravel_hide_short i16;
    ravel_hide_int i32;
    ravel_hide_long i64;
    ravel_hide_ubyte u8;
    ravel_hide_ushort u16;
    ravel_hide_uint u32;
    ravel_hide_ulong u64;
    ravel_hide_float f32;
    ravel_hide_double f64;
}
