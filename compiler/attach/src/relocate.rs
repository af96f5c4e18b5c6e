//! Relocations of ELF object files for x86-64, by their numbers in the System V ABI.

use object::elf;

/// What is written at the place of a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The target's address, in so many bytes.
    Absolute { bytes: usize, is_signed: bool },
    /// The distance from the place to the target, in so many bytes.
    Distance { bytes: usize },
    /// The distance to a call target, which may be a jump to it near by.
    Call,
    /// The distance to a word that holds the target's address.
    Word,
}

/// What a relocation of this number writes; nothing for those that compiled programs do not have.
pub(crate) fn what(number: u32) -> Option<What> {
    Some(match number {
        elf::R_X86_64_64 => What::Absolute { bytes: 8, is_signed: false },
        elf::R_X86_64_32 => What::Absolute { bytes: 4, is_signed: false },
        elf::R_X86_64_32S => What::Absolute { bytes: 4, is_signed: true },
        elf::R_X86_64_PC32 => What::Distance { bytes: 4 },
        elf::R_X86_64_PC64 => What::Distance { bytes: 8 },
        elf::R_X86_64_PLT32 => What::Call,
        elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX => What::Word,
        _ => return None,
    })
}

/// The bytes of a value, if it fits.
pub(crate) fn bytes_of(value: i128, bytes: usize, is_signed: bool) -> Option<Vec<u8>> {
    let fits = match (bytes, is_signed) {
        (4, true) => i32::try_from(value).is_ok(),
        (4, false) => u32::try_from(value).is_ok(),
        _ => i64::try_from(value).is_ok() || u64::try_from(value).is_ok(),
    };
    fits.then(|| value.to_le_bytes()[..bytes].to_vec())
}

/// `jmp [rip]` and the address behind it: a jump to anywhere.
pub(crate) const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_must_fit() {
        assert_eq!(bytes_of(-2, 4, true), Some(vec![0xfe, 0xff, 0xff, 0xff]));
        assert_eq!(bytes_of(-2, 4, false), None);
        assert_eq!(bytes_of(1 << 31, 4, true), None);
        assert_eq!(bytes_of(1 << 31, 4, false), Some(vec![0, 0, 0, 0x80]));
        assert_eq!(bytes_of(-1, 8, true), Some(vec![0xff; 8]));
        assert_eq!(what(elf::R_X86_64_TLSGD), None);
    }
}
