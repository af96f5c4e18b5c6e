//! What a backend offers on this host.

use crate::ir::Prim;

/// What the scheduler may count on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Bytes of a vector register; 0 without vectors. Wider nest vectors work and take several registers.
    pub vector_bytes: u32,
    /// Number of vector registers.
    pub vector_registers: u32,
    /// Is `fma` one instruction? Sums of products in folds are then fused, which rounds once instead of twice.
    pub has_fma: bool,
    /// Does `fma` leave its result in the register of a factor? A factor that is used again is copied first, so that blocks of
    /// accumulators which need nearly every register are spilled.
    pub fma_takes_factor: bool,
    /// Are lanes of 4 and 8 bytes at any places loaded by one instruction?
    pub has_gather: bool,
}

impl Capabilities {
    /// Scalars only.
    pub const SCALAR: Capabilities = Capabilities {
        vector_bytes: 0,
        vector_registers: 0,
        has_fma: false,
        fma_takes_factor: false,
        has_gather: false,
    };

    /// Lanes of `prim` in one vector register.
    pub fn lanes(&self, prim: Prim) -> u8 {
        (self.vector_bytes / prim.bytes()) as u8
    }
}
