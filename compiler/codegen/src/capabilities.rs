//! What a backend offers on this host.

use ravel_nest::ir::Prim;

/// What the scheduler may count on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Is `fma` one instruction (otherwise write multiply and add)?
    pub has_fma: bool,
    /// Are lanes of 4 and 8 bytes at any places loaded by one instruction?
    pub has_gather: bool,
    /// Width of a vector register in bytes. Wider nest vectors work and take several registers.
    pub vector_bytes: u32,
    /// Number of vector registers.
    pub vector_registers: u32,
}

impl Capabilities {
    /// Lanes of `prim` in one vector register.
    pub fn lanes(&self, prim: Prim) -> u8 {
        (self.vector_bytes / prim.bytes()) as u8
    }
}
