//! Columns of packed tiles that run through several axes.
//!
//! ```text
//!    y[n, k, i, j] = sum over c, u, v of w[k, c, u, v] * x[n, c, i + u, j + v]
//! => y[n, k, i, j] = sum over m of w'[k, m] * x'[m, (n, i, j)]
//! ```
//!
//! Rows of seven elements fill no vector, and windows overlap, so that no axis of the data is one of a product. But each element that a cell
//! needs lies at the sum of two offsets, one of the index of the fold and one of the cell's. So a panel of columns is packed by a table of
//! the offsets of its cells; from there on a convolution is a product of matrices, and so are the gradients of its weights and data.
//! The matrix of all windows is never stored: a panel is packed for a block of the fold and stays in the caches.
//!
//! A tile's cells need not be neighbours in the result, so accumulators rest in memory of their own, and the cells are made at the end of the
//! last block: as vectors where a tile lies within rows that lie end to end, else one by one.
//!
//! Declined: rows that fill vectors by themselves, subscripts that are no sums, data that depend on an index of the columns otherwise.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_wir::{Generator, Inst, Op, Value};

use crate::Result;
use crate::facts::{Cell, Ext, Grid, Offset, Val, prim_of};
use crate::lower::Lower;
use crate::plan::collapse::Collapsed;
use crate::plan::tile::LEAST_VECTOR;
use crate::tile::nest::Nest;
use crate::tile::pack::{Digit, FoldBlock};

impl Lower<'_, '_> {
    /// Binds the indices of a column.
    pub fn bind_collapsed(&mut self, nest: &Nest<'_>, collapsed: &Collapsed, column: Val) {
        let Generator::Known { lower, upper, .. } = &nest.part.generator else { return };
        let func = self.func;
        let params = &func.regions[nest.part.body].params;
        let mut digits: Vec<Digit> = collapsed
            .axes
            .iter()
            .map(|&axis| {
                let range = self.axis_range(nest.with, lower[axis], upper[axis]);
                Digit { param: params[axis], lower: lower[axis], upper: upper[axis], range }
            })
            .collect();
        if let Some(last) = digits.last_mut() {
            // Vectors run on behind a row.
            last.range.1 = last.range.1.saturating_add(nest.plan.columns.width as i64);
        }
        self.bind_row_major(&digits, column);
    }

    /// Do all columns of the tile that begins at one lie end to end? Nothing if those of every tile do.
    pub fn is_end_to_end(&mut self, nest: &Nest<'_>, collapsed: &Collapsed, first: Val) -> Option<Val> {
        let outer = collapsed.axes.len() - collapsed.run;
        (outer > 0).then(|| self.lie_in_one(nest, &collapsed.axes[outer..], first, nest.plan.columns.width))
    }

    /// Do so many columns from one on have the same indices outside of these innermost axes?
    fn lie_in_one(&mut self, nest: &Nest<'_>, axes: &[usize], first: Val, columns: usize) -> Val {
        let Generator::Known { lower, upper, .. } = &nest.part.generator else { return self.b.bool(false) };
        let extents: Vec<Ext> = axes.iter().map(|axis| self.axis_extent(lower[*axis], upper[*axis])).collect();
        let run = self.product(&extents);
        let run = self.extent_val(run);
        let above = self.b.binary(NestBin::SDiv, first, run);
        let above = self.b.mul(above, run);
        let place = self.b.sub(first, above);
        let columns = self.b.i64(columns as i64);
        let end = self.b.add(place, columns);
        self.b.icmp(IntCmp::Sle, end, run)
    }

    /// Packs the panel of the columns from the first of two on, of which the other is the end of all.
    pub fn pack_collapsed(
        &mut self,
        nest: &Nest<'_>,
        collapsed: &Collapsed,
        block: FoldBlock,
        (first, high): (Val, Val),
        to: Val,
    ) -> Result<()> {
        let side = &nest.plan.columns;
        let bytes = nest.plan.bytes;
        let func = self.func;
        let params = &func.regions[nest.part.body].params;
        let columns: Vec<Value> = collapsed.axes.iter().map(|axis| params[*axis]).collect();
        let place = Ty::scalar(ravel_nest::ir::Prim::I64);
        let offsets = self.b.stack_slot((collapsed.loads.len() * side.width * 8) as u32, 64);
        let at = |load: usize, column: usize| ((load * side.width + column) * 8) as i32;

        let group = self.columns_together(nest, collapsed);
        let groups = group.map_or(0, |group| side.width / group);
        let flags = self.b.stack_slot((groups.max(1) * 8) as u32, 64);

        // Columns beyond the last one are the last one.
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let width = self.b.i64(side.width as i64);
        let last = self.b.sub(high, one);
        let (column, _) = self.b.begin_for(zero, width, one, &[]);
        self.open(nest.part.body);
        let index = self.b.add(first, column);
        let index = self.b.binary(NestBin::SMin, index, last);
        self.bind_collapsed(nest, collapsed, index);
        let moved = self.times(column, 8);
        let slot = self.b.ptr_add(offsets, moved);
        for (n, &load) in collapsed.loads.iter().enumerate() {
            let (_, offset) = self.load_offset(load, &columns);
            let mut sum = zero;
            for term in &offset.terms {
                let term = self.term(term);
                sum = self.b.add(sum, term);
            }
            self.b.store(sum, slot, at(n, 0), Access::ALIGNED);
        }
        self.close();
        self.b.end_for(&[]);
        let step = group.unwrap_or(1);
        for k in 0..groups {
            let begin = self.b.i64((k * step) as i64);
            let begin = self.b.add(first, begin);
            let in_row = self.lie_in_one(nest, &[side.axis], begin, step);
            let columns = self.b.i64(step as i64);
            let end = self.b.add(begin, columns);
            let exist = self.b.icmp(IntCmp::Sle, end, high);
            let holds = self.b.binary(NestBin::And, in_row, exist);
            let flag = self.b.select(holds, one, zero);
            self.b.store(flag, flags, (k * 8) as i32, Access::ALIGNED);
        }

        let mut g = Grid::scalar(bytes);
        let mark = g.mark();
        self.open(nest.part.body);
        let to = self.begin_rows(nest, side, block, (zero, block.count), 1, to)?;
        let mut bases = Vec::new();
        for &load in &collapsed.loads {
            let (array, mut offset) = self.load_offset(load, &[]);
            offset.terms.retain(|term| term.atom.is_none_or(|v| !columns.contains(&v)));
            let object = self.val(array);
            let data = self.data_of(object);
            bases.push(self.address(data, &offset));
        }
        // The packed values of some columns from one on, as vectors or one by one.
        let pack = |lower: &mut Self, g: &mut Grid, column: usize, lanes: u8| -> Result<()> {
            let inside = g.mark();
            g.set_vec(columns.last().copied().filter(|_| lanes > 1), lanes, 1);
            for (n, (&load, &(base, constant))) in collapsed.loads.iter().zip(&bases).enumerate() {
                let v = func.insts[load].results[0];
                let offset = lower.b.load(place, offsets, at(n, column), Access::ALIGNED);
                let address = lower.b.ptr_add(base, offset);
                let ty = Ty::scalar(prim_of(lower.elem(v)));
                g.remember(
                    v,
                    0,
                    0,
                    match lanes {
                        1 => Cell::One(lower.b.load(ty, address, constant, Access::ALIGNED)),
                        _ => Cell::Packed(lower.b.load(ty.with_lanes(lanes), address, constant, Access::ANY)),
                    },
                );
            }
            for packed in &side.values {
                let at = ((packed.at + column) * bytes) as i32;
                let (value, access) = match lanes {
                    1 => (lower.scalar_of(g, packed.value, 0, 0)?, Access::ALIGNED),
                    _ => (lower.packed_of(g, packed.value, 0, 0)?, Access::ANY),
                };
                lower.b.store(value, to, at, access);
            }
            g.set_vec(None, 1, 1);
            g.release(inside);
            Ok(())
        };
        for column in (0..side.width).step_by(step) {
            if step > 1 {
                let flag = self.b.load(place, flags, (column / step * 8) as i32, Access::ALIGNED);
                let together = self.b.icmp(IntCmp::Ne, flag, zero);
                self.b.begin_if(together);
                self.open(nest.inner.body);
                pack(self, &mut g, column, step as u8)?;
                self.close();
                self.b.begin_else(&[]);
                self.open(nest.inner.body);
            }
            for column in column..column + step {
                pack(self, &mut g, column, 1)?;
            }
            if step > 1 {
                self.close();
                self.b.end_if(&[]);
            }
        }
        self.close();
        self.b.end_for(&[]);
        self.close();
        g.release(mark);
        Ok(())
    }

    /// How many columns a vector may load together where they lie in one row; nothing if they are no neighbours there, or too few.
    fn columns_together(&mut self, nest: &Nest<'_>, collapsed: &Collapsed) -> Option<usize> {
        let Generator::Known { lower, upper, .. } = &nest.part.generator else { return None };
        let axis = nest.plan.columns.axis;
        let row = self.axis_extent(lower[axis], upper[axis]).as_const()? as usize;
        let func = self.func;
        let last = func.regions[nest.part.body].params[axis];
        for &load in &collapsed.loads {
            let bytes = self.elem(func.insts[load].results[0]).bytes();
            let (_, offset) = self.load_offset(load, &[last]);
            let is_unit = bytes == nest.plan.bytes
                && matches!(offset.terms[..], [term] if term.stride.is_none() && term.bytes == bytes as i64);
            if !is_unit {
                return None;
            }
        }
        let lanes = usize::from(nest.plan.lanes);
        std::iter::successors(Some(lanes), |n| Some(n / 2))
            .take_while(|n| *n * nest.plan.bytes >= LEAST_VECTOR)
            .find(|n| 3 * n <= 2 * row)
    }

    /// The array that a load reads and the offset of its element; only the terms of some indices, if any are named.
    fn load_offset(&mut self, load: Inst, only: &[Value]) -> (Value, Offset) {
        let func = self.func;
        let Op::Sel { array, index } = &func.insts[load].op else { unreachable!("only loads are noted") };
        let mut offset = self.element_offset(*array, index);
        if !only.is_empty() {
            offset.terms.retain(|term| term.atom.is_some_and(|v| only.contains(&v)));
        }
        (*array, offset)
    }
}
