//! Sums of floats in the launches of tiles: blocks of the fold begin anew, and what is there is added behind.
//!
//! ```text
//!    for slice in fold { accumulators += ... }
//! => for block of 256 indices in fold {
//!      for slice in block { accumulators += ... }       (from zero)
//!      totals += accumulators
//!    }
//! ```
//!
//! One accumulator of `float` that takes 10^4 equal numbers is wrong from the fifth digit on. Totals of many accumulators stand in private memory: in
//! registers they would take the room of further groups, and the launch would last 1.7 times as long. Few of them stay in registers.

use ravel_nest::ir::{Access, BinOp as NestBin, Ty};
use ravel_types::{BinOp, Elem};
use ravel_wir::{Value, WithOp};

use crate::device::tile_nest::Tile;
use crate::facts::{Val, folds_along};
use crate::lower::block_sums::wants_blocks;
use crate::lower::{Lower, scalars};

/// Indices of a block: its error does not grow, and few blocks are added up.
const BLOCK: i64 = 256;
/// Accumulators whose totals stay in registers.
const FEW: usize = 32;

/// The loop over blocks, while it is open.
pub(crate) struct TileSums {
    /// Which of the carried values are such sums.
    sums: Vec<usize>,
    /// The carried values at the beginning of the block.
    outer: Vec<Val>,
    /// Private memory that has the totals.
    memory: Option<Val>,
}

impl Lower<'_, '_> {
    /// Begins a loop over blocks below `full` if the fold is long and has such sums. Where the loop over slices begins and ends then, and what it carries.
    pub fn begin_tile_sums(
        &mut self,
        tile: &Tile<'_>,
        (full, is_short): (Val, bool),
        copies: usize,
        mut carried: Vec<Val>,
    ) -> (Val, Val, Vec<Val>, Option<TileSums>) {
        let zero = self.b.i64(0);
        let sums = if is_short { Vec::new() } else { self.sums_in_tile(tile, copies) };
        if sums.is_empty() {
            return (zero, full, carried, None);
        }
        let memory = (sums.len() > FEW).then(|| self.b.stack_slot(sums.len() as u32 * Ty::F32.bytes(), 8));
        if let Some(memory) = memory {
            self.store_totals(memory, &sums, &carried);
            self.clear(&sums, &mut carried);
        }
        let length = self.b.i64(BLOCK.max(tile.plan.slice as i64));
        let (from, outer) = self.b.begin_for(zero, full, length, &carried);
        let to = self.b.add(from, length);
        let to = self.b.binary(NestBin::SMin, to, full);
        let mut inside = outer.clone();
        self.clear(&sums, &mut inside);
        (from, to, inside, Some(TileSums { sums, outer, memory }))
    }

    /// Ends the loop over blocks behind that over slices; the carried values behind it.
    pub fn end_tile_sums(&mut self, blocks: Option<TileSums>, mut carried: Vec<Val>) -> Vec<Val> {
        let Some(TileSums { sums, outer, memory }) = blocks else { return carried };
        let totals = match memory {
            Some(memory) => self.load_totals(memory, &sums),
            None => sums.iter().map(|k| outer[*k]).collect(),
        };
        let arith = self.arith();
        for (&k, total) in sums.iter().zip(totals) {
            carried[k] = scalars::binary(&mut self.b, arith, BinOp::Add, Elem::F32, total, carried[k]);
        }
        let Some(memory) = memory else { return self.b.end_for(&carried) };
        self.store_totals(memory, &sums, &carried);
        self.clear(&sums, &mut carried);
        let mut behind = self.b.end_for(&carried);
        for (&k, total) in sums.iter().zip(self.load_totals(memory, &sums)) {
            behind[k] = total;
        }
        behind
    }

    fn sums_in_tile(&self, tile: &Tile<'_>, copies: usize) -> Vec<usize> {
        let is_sum = |op: &WithOp, cell: Value| folds_along(op).is_some_and(|op| wants_blocks(op, self.elem(cell)));
        let results = &self.func.insts[tile.plan.fold].results;
        let folds = tile.fold.ops.iter().zip(results).enumerate().filter(|(_, (op, cell))| is_sum(op, **cell));
        folds.flat_map(|(n, _)| n * copies..(n + 1) * copies).collect()
    }

    fn clear(&mut self, sums: &[usize], carried: &mut [Val]) {
        let zero = self.zero_vector(Elem::F32, 1);
        sums.iter().for_each(|k| carried[*k] = zero);
    }

    fn store_totals(&mut self, memory: Val, sums: &[usize], values: &[Val]) {
        for (n, &k) in sums.iter().enumerate() {
            self.b.store(values[k], memory, offset(n), Access::ALIGNED);
        }
    }

    fn load_totals(&mut self, memory: Val, sums: &[usize]) -> Vec<Val> {
        (0..sums.len()).map(|n| self.b.load(Ty::F32, memory, offset(n), Access::ALIGNED)).collect()
    }
}

/// Bytes in front of total number `n`.
fn offset(n: usize) -> i32 {
    n as i32 * Ty::F32.bytes() as i32
}

/// Is a fold of so many indices one block?
pub(crate) fn is_one_block(trips: Option<i64>) -> bool {
    trips.is_some_and(|n| n <= BLOCK)
}
