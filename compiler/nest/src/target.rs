//! What a backend offers on this host.

use crate::ir::Prim;

/// What the scheduler may count on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Bytes of an address in memory. Addresses are computed in 64 bits everywhere; the layout of objects does not depend on this (see [`crate::object`]).
    pub pointer_bytes: u32,
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
    /// Scalars only, on a machine of 64 bits.
    pub const SCALAR: Capabilities = Capabilities {
        pointer_bytes: 8,
        vector_bytes: 0,
        vector_registers: 0,
        has_fma: false,
        fma_takes_factor: false,
        has_gather: false,
    };

    /// Where item `k` of a list of pointers stands.
    pub fn pointer_offset(&self, k: usize) -> i32 {
        self.pointer_bytes as i32 * k as i32
    }

    /// Lanes of `prim` in one vector register.
    pub fn lanes(&self, prim: Prim) -> u8 {
        (self.vector_bytes / prim.bytes()) as u8
    }
}
