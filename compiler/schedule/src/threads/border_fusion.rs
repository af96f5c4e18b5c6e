//! Thin partitions that the threads of a thick one compute.
//!
//! ```text
//!    interior: parfor rows { ... }          parfor rows { interior of these rows
//!    left face:  for rows { ... }     =>                  left face of these rows
//!    right face: for rows { ... }                         right face of these rows }
//! ```
//!
//! The faces of a box are too small for threads of their own. If the calling thread computed them, it would write next to, and often into,
//! cache lines that other threads wrote last and read next; each of those moves twice then, which takes longer than the
//! elements take. So whoever computes rows of the interior computes what lies beside them, too.
//!
//! Leaves alone: with-loops that change an array in place, whose partitions may need an order, and folds that keep theirs.

use ravel_wir::With;

use crate::Result;
use crate::facts::{Chunk, Sink, Val};
use crate::lower::Lower;

impl Lower<'_, '_> {
    /// What thin partitions read outside of the loop over chunks.
    pub fn preload_company(&mut self, with: &With, thin: &[usize]) {
        for &m in thin {
            self.preload(with.parts[m].body);
        }
    }

    /// The indices of thin partitions that belong to a chunk, from accumulators on; the accumulators behind them.
    pub fn run_company(
        &mut self,
        inst: ravel_wir::Inst,
        with: &With,
        (sinks, thin): (&[Sink], &[usize]),
        chunk: Chunk,
        mut carried: Vec<Val>,
    ) -> Result<Vec<Val>> {
        let number = self.cx.part;
        for &m in thin {
            let part = &with.parts[m];
            self.cx.part = Some(m);
            self.cx.remark(
                self.func.insts[inst].span,
                format!("with the threads' rows of partition {}", number.unwrap_or(0) + 1),
            );
            self.open(part.body);
            carried = self.choose_chunk(inst, with, part, sinks, chunk, carried)?;
            self.close();
        }
        self.cx.part = number;
        Ok(carried)
    }
}
