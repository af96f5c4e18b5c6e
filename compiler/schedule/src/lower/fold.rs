//! Folds: how a carried accumulator takes a cell.

use ravel_nest::ir::{Access, Ty};
use ravel_source::Span;
use ravel_types::{BinOp, Elem};
use ravel_wir::{Combine, Value, With};

use crate::Result;
use crate::facts::{Accumulate, Val, prim_of};
use crate::lower::{Lower, scalars};

/// Accumulators of at most this many elements are combined without a loop.
pub(crate) const WRITTEN_ELEMENTS: i64 = 64;

impl Lower<'_, '_> {
    /// The next accumulator. Accumulators are owned; arrays combined by a scalar operation are the only reference.
    pub fn accumulate(&mut self, how: &Accumulate, elem: Elem, acc: Val, cell: Value) -> Result<Val> {
        match how {
            Accumulate::Replace => {
                if elem == Elem::Handle {
                    self.b.rc_dec(acc);
                }
                Ok(self.take(cell))
            }
            Accumulate::Fold(Combine::Region(region)) => {
                let cell_value = self.take(cell);
                let func = self.func;
                let params = &func.regions[*region].params;
                self.open(*region);
                for (&param, value) in params.iter().zip([acc, cell_value]) {
                    self.bind(param, value);
                    self.own(param);
                }
                self.drop_unused();
                let next = self.body(*region)?;
                self.close();
                match next.first() {
                    Some(&next) => Ok(next),
                    None => self.unsupported(Span::NONE, "a fold function without a result"),
                }
            }
            Accumulate::Fold(Combine::Op(op)) if self.func.ty(cell).is_scalar() => {
                if let Some((x, y)) = self.fused_product(*op, elem, cell) {
                    let (x, y) = (self.val(x), self.val(y));
                    return Ok(self.b.fma(x, y, acc));
                }
                let (cell, arith) = (self.val(cell), self.arith());
                Ok(scalars::binary(&mut self.b, arith, *op, elem, acc, cell))
            }
            Accumulate::Elements { op, rows, row } => {
                let object = self.val(cell);
                self.combine_elements(*op, elem, acc, object, (*rows, *row));
                Ok(acc)
            }
            Accumulate::Fold(Combine::Op(op)) => {
                let object = self.val(cell);
                self.combine_arrays(*op, elem, acc, object);
                Ok(acc)
            }
            Accumulate::FromFirst(_) => self.unsupported(Span::NONE, "a first cell outside of a chunk"),
        }
    }

    /// How operator `k` of a with-loop, a fold, takes its cells: without a question about their number where types say it.
    pub fn accumulation(
        &mut self,
        with: &With,
        (k, result): (usize, Value),
        combine: &Combine,
        span: Span,
    ) -> Accumulate {
        let func = self.func;
        let shape = &func.ty(result).shape;
        let same = with.parts.iter().all(|part| func.ty(func.regions[part.body].yields[k]).shape == *shape);
        match (combine, shape.constants().as_deref()) {
            (Combine::Op(op), Some([outer @ .., row])) if same => {
                let [row, rows] = [&[*row][..], outer].map(|extents| extents.iter().map(|n| i64::from(*n)).product());
                if rows * row > WRITTEN_ELEMENTS {
                    return Accumulate::Fold(combine.clone());
                }
                self.cx.remark(span, format!("cells of {} elements are combined without a loop", rows * row));
                Accumulate::Elements { op: *op, rows, row }
            }
            _ => Accumulate::Fold(combine.clone()),
        }
    }

    /// [`Lower::combine_arrays`] for a few rows, in the longest vectors that these fill: cells were just stored row by row, and longer loads
    /// would wait for the stores to reach the cache.
    fn combine_elements(&mut self, op: BinOp, elem: Elem, acc: Val, cell: Val, (rows, row): (i64, i64)) {
        self.host_writes(acc);
        self.host_reads(cell);
        let to = self.b.load(Ty::PTR, acc, crate::facts::layout::OFFSET_DATA, Access::ALIGNED);
        let from = self.b.load(Ty::PTR, cell, crate::facts::layout::OFFSET_DATA, Access::ALIGNED);
        let (prim, arith) = (prim_of(elem), self.arith());
        let bytes = i64::from(prim.bytes());
        for first in (0..rows).map(|k| k * row) {
            let (mut lanes, mut at) = (self.lanes(elem), 0);
            while at < row {
                while i64::from(lanes) > row - at {
                    lanes /= 2;
                }
                let ty = Ty::vector(prim, lanes);
                let place = ((first + at) * bytes) as i32;
                let x = self.b.load(ty, to, place, Access::ANY);
                let y = self.b.load(ty, from, place, Access::ANY);
                let sum = scalars::binary(&mut self.b, arith, op, elem, x, y);
                self.b.store(sum, to, place, Access::ANY);
                at += i64::from(lanes);
            }
        }
    }

    /// `acc[i] = op(acc[i], cell[i])` for all elements. Both are objects of one shape.
    pub fn combine_arrays(&mut self, op: BinOp, elem: Elem, acc: Val, cell: Val) {
        let count = self.count_of(acc);
        let position = self.position(Span::NONE);
        self.helper("ravel_check_count", &[position, cell, count], None);
        self.host_writes(acc);
        self.host_reads(cell);
        let to = self.b.load(Ty::PTR, acc, crate::facts::layout::OFFSET_DATA, Access::ALIGNED);
        let from = self.b.load(Ty::PTR, cell, crate::facts::layout::OFFSET_DATA, Access::ALIGNED);
        self.combine_memory(op, elem, to, from, count);
    }

    /// `to[i] = op(to[i], from[i])` for so many elements.
    pub fn combine_memory(&mut self, op: BinOp, elem: Elem, to: Val, from: Val, count: Val) {
        let prim = prim_of(elem);
        let lanes = self.lanes(elem);
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let mut loops = vec![(1, zero, count)];
        if lanes > 1 {
            let mask = self.b.i64(-i64::from(lanes));
            let whole = self.b.binary(ravel_nest::ir::BinOp::And, count, mask);
            loops = vec![(lanes, zero, whole), (1, whole, count)];
        }
        let arith = self.arith();
        for (lanes, low, high) in loops {
            let step = if lanes == 1 { one } else { self.b.i64(i64::from(lanes)) };
            let (i, _) = self.b.begin_for(low, high, step, &[]);
            let bytes = self.times(i, i64::from(prim.bytes()));
            let (to, from) = (self.b.ptr_add(to, bytes), self.b.ptr_add(from, bytes));
            let ty = Ty::vector(prim, lanes);
            let x = self.b.load(ty, to, 0, Access::ANY);
            let y = self.b.load(ty, from, 0, Access::ANY);
            let sum = scalars::binary(&mut self.b, arith, op, elem, x, y);
            self.b.store(sum, to, 0, Access::ANY);
            self.b.end_for(&[]);
        }
    }
}
