//! Tiles that no cell needs: the other side of a diagonal.
//!
//! ```text
//!    { [i,j] -> j <= i ? sum(a[i] * b[j]) : 0 }
//! ```
//!
//! Where all uses of a fold stand under a comparison of indices, a tile in which no cell can meet it skips the fold: its cells are made
//! of accumulators that nobody looks at. The comparison is judged at the corner of the tile where its sides are furthest apart.

use ravel_nest::ir::{BinOp as NestBin, IntCmp};

use crate::facts::Val;
use crate::lower::Lower;
use crate::plan::skip::Comparison;
use crate::plan::tile::TilePlan;

impl Lower<'_, '_> {
    /// Whether some cell of the tile whose first one is `i, j` may need the fold; nothing if all tiles do.
    pub fn tile_is_needed(&mut self, plan: &TilePlan, i: Val, j: Val) -> Option<Val> {
        let mut needed = None;
        for Comparison { form } in plan.needed.clone() {
            let mut least = self.b.i64(form.constant);
            for (v, factor) in form.terms {
                let side = [(&plan.rows, i), (&plan.columns, j)].into_iter().find(|(side, _)| side.param == v);
                let term = match side {
                    Some((side, first)) if factor < 0 => {
                        let last = self.b.i64(side.width as i64 - 1);
                        self.b.add(first, last)
                    }
                    Some((_, first)) => first,
                    None => self.wide(v),
                };
                let term = self.times(term, factor);
                least = self.b.add(least, term);
            }
            let zero = self.b.i64(0);
            let holds = self.b.icmp(IntCmp::Sle, least, zero);
            needed = Some(match needed {
                Some(all) => self.b.binary(NestBin::And, all, holds),
                None => holds,
            });
        }
        needed
    }
}
