//! Cache tiles: folds whose operands are packed, block by block. Which profit is decided in [`crate::plan::tile`].
//!
//! A partition of scalar cells around one fold is a *contraction* if, for two of its axes, everything that the fold loads
//! varies over at most one of them:
//!
//! ```text
//!    c[b, i, j] = epilogue(fold over k of body(f(b, i, k), g(b, k, j)), b, i, j)
//! ```
//!
//! `f` and `g` stand for any pure expressions; they are the largest parts of the body that do not vary over both axes. Each value of `f` is
//! used once for every `j`, each value of `g` once for every `i`: so they are computed once per block of the
//! fold's index set and packed in the order in which the innermost loop reads them ([`crate::tile::pack`]). What remains of the body runs
//! in the micro-kernel ([`crate::tile::kernel`]), inside of loops over blocks that fit the caches ([`crate::tile::nest`]). The
//! loop nest is that of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008).
//!
//! Cells are added in the order of the program: between blocks of the fold's index set the accumulators rest in the result. So
//! tiles change no result, and neither does the number of threads.

pub mod collapse;
pub mod kernel;
pub mod nest;
pub mod pack;
pub mod skip;

use crate::Result;
use crate::facts::Chunk;
use crate::lower::Lower;
use crate::lower::emit::Around;
use crate::plan::strategy::Case;
use crate::plan::tile::TilePlan;

impl Lower<'_, '_> {
    /// Lowers a partition with cache tiles, or a chunk of it, and without them for where extents turn out to be small.
    pub fn tiles(&mut self, case: &Case, plan: &TilePlan, chunk: Option<Chunk>) -> Result<()> {
        let Case { inst, with, part, sinks, .. } = *case;
        self.cx.remark(self.func.insts[inst].span, plan.describe());
        let condition = self.tiles_condition(part, plan);
        if let Some(condition) = condition {
            self.b.begin_if(condition);
        }
        self.open(part.body);
        self.tile_nest(with, part, sinks, plan, chunk)?;
        self.close();
        if condition.is_some() {
            self.b.begin_else(&[]);
            self.open(part.body);
            self.facts.site.without_tiles = true;
            self.cx.silent += 1;
            match chunk {
                None => _ = self.partition(inst, with, part, (sinks, Around::NOTHING), Vec::new())?,
                Some(chunk) => _ = self.choose_chunk(inst, with, part, sinks, chunk, Vec::new())?,
            }
            self.facts.site.without_tiles = false;
            self.cx.silent -= 1;
            self.close();
            self.b.end_if(&[]);
        }
        Ok(())
    }
}
