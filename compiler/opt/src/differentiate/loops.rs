//! Adjoints of loops.

use crate::differentiate::adjoint::Adjoints;
use crate::differentiate::reverse::Reverse;
use crate::differentiate::state::Result;
use ravel_wir::{Inst, Region};

impl Reverse<'_> {
    pub fn counted(&mut self, _at: Region, _inst: Inst, _adjoints: &mut Adjoints) -> Result<()> {
        self.state.refuse("a loop has no derivative in reverse mode yet")
    }
}
