//! Vector kernels.

use ravel_wir::{Inst, Part, With};

use crate::Result;
use crate::lower::{Lower, Val};
use crate::withloop::Sink;

impl Lower<'_, '_> {
    pub fn try_kernel(
        &mut self,
        _inst: Inst,
        _with: &With,
        _part: &Part,
        _sinks: &[Sink],
        _axis: usize,
        _carried: &[Val],
    ) -> Result<Option<Vec<Val>>> {
        Ok(None)
    }
}
