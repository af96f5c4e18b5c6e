//! Threads.

use ravel_wir::{Inst, Part, With};

use crate::Result;
use crate::lower::Lower;
use crate::withloop::Sink;

impl Lower<'_, '_> {
    pub fn try_parallel(&mut self, _inst: Inst, _with: &With, _part: &Part, _sinks: &[Sink]) -> Result<bool> {
        Ok(false)
    }

    pub fn try_parallel_fold(&mut self, _inst: Inst, _with: &With) -> Result<bool> {
        Ok(false)
    }
}
