//! What partitions leave uncovered: whether they leave anything, and how it is filled.

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_source::Span;
use ravel_types::Elem;
use ravel_wir::{Generator, Part, Value, With};

use crate::Result;
use crate::facts::coverage::FEW;
use crate::facts::{Ext, Val, prim_of};
use crate::lower::Lower;
use crate::lower::emit::{Border, Rest};

impl Lower<'_, '_> {
    /// A new array for a modarray whose operand stays alive, which gets the operand's elements wherever the only partition does not
    /// write ([`Border`]), or outside of the largest box that several make up; nothing if the operand could be updated in place or there is no box.
    pub fn copy_around(&mut self, with: &With, array: Value, span: Span) -> Result<Option<Val>> {
        let Some((lower, upper)) = self.largest_box(with) else { return Ok(None) };
        let elem = self.elem(array);
        if self.is_last_use(array)
            || elem == Elem::Handle
            || self.func.ty(array).rank().is_none_or(|r| r < lower.len() || r == 0)
        {
            return Ok(None);
        }
        let extents = self.extents(array);
        let cell = self.product(&extents[lower.len()..]);
        let strides = self.strides_of(&extents[..lower.len()], cell);
        let object = self.allocate(elem, &extents, span);
        let old = self.val(array);
        self.rows_like(object, old);
        let (to, from) = (self.target_of(object), self.source_of(old));
        self.leave_border(elem, (Rest::Copy { to, from }, Some(old)), (&lower, &upper), (&extents, &strides));
        // Other partitions may write in it.
        if with.parts.len() > 1
            && let Some(border) = self.emit.borders.pop()
        {
            self.whole_border(&border);
        }
        Ok(Some(object))
    }

    /// Has what the only partition leaves filled, if that is a box; false otherwise.
    pub fn fill_around(
        &mut self,
        with: &With,
        elem: Elem,
        to: Val,
        value: Val,
        extents: &[Ext],
        strides: &[Ext],
    ) -> bool {
        let [Part { generator: Generator::Known { lower, upper, step: None, .. }, .. }] = &with.parts[..] else {
            return false;
        };
        if elem == Elem::Handle || lower.is_empty() || lower.len() != extents.len() {
            return false;
        }
        self.leave_border(elem, (Rest::Fill { to, value }, None), (lower, upper), (extents, strides));
        true
    }

    /// Notes a border for the with-loop in hand: who computes rows does their ends, too. On a machine with a device it is made at once.
    fn leave_border(
        &mut self,
        elem: Elem,
        (what, of): (Rest, Option<Val>),
        (lower, upper): (&[Value], &[Value]),
        (extents, strides): (&[Ext], &[Ext]),
    ) {
        let (lower, upper) = (lower.to_vec(), upper.to_vec());
        let border = Border { elem, what, of, lower, upper, extents: extents.to_vec(), strides: strides.to_vec() };
        if self.cx.options.device.is_some() {
            self.whole_border(&border);
        } else {
            self.emit.borders.push(border);
        }
    }

    /// Copies or fills a border.
    pub fn whole_border(&mut self, border: &Border) {
        let start = self.b.i64(0);
        // What is computed inside loops is not there behind them.
        let cache = self.emit.cache.clone();
        self.outside_of_box(border, 0, start);
        self.emit.cache = cache;
    }

    /// The rows that lie wholly outside of the box.
    pub fn outer_border(&mut self, border: &Border) {
        let start = self.b.i64(0);
        let cache = self.emit.cache.clone();
        self.sides(border, 0, start);
        self.emit.cache = cache;
    }

    /// What lies outside of the box in rows that cross it.
    pub fn border_of_rows(&mut self, border: &Border, low: Val, high: Val) {
        let start = self.b.i64(0);
        let cache = self.emit.cache.clone();
        // Rows of a box that is empty along another axis may lie anywhere.
        let extent = self.extent_val(border.extents[0]);
        let low = self.b.binary(NestBin::SMax, low, start);
        let high = self.b.binary(NestBin::SMin, high, extent);
        self.inner_borders(border, 0, start, (low, high));
        self.emit.cache = cache;
    }

    /// Copies or fills what lies outside of a box, from an axis inwards. `start` is the offset of the sub-array, in elements.
    fn outside_of_box(&mut self, border: &Border, axis: usize, start: Val) {
        if axis < border.lower.len() {
            let inside = self.sides(border, axis, start);
            self.inner_borders(border, axis, start, inside);
        }
    }

    /// The sub-arrays of an axis from `low` to `high`, which cross the box.
    fn inner_borders(&mut self, border: &Border, axis: usize, start: Val, (low, high): (Val, Val)) {
        if axis + 1 < border.lower.len() {
            let one = self.b.i64(1);
            let (i, _) = self.b.begin_for(low, high, one, &[]);
            let stride = self.extent_val(border.strides[axis]);
            let skipped = self.b.mul(i, stride);
            let inner = self.b.add(start, skipped);
            self.outside_of_box(border, axis + 1, inner);
            self.b.end_for(&[]);
        }
    }

    /// The sub-arrays of an axis below the box and above it; returns the bounds of the others.
    fn sides(&mut self, border: &Border, axis: usize, start: Val) -> (Val, Val) {
        let (first, last) = (border.lower[axis], border.upper[axis]);
        let zero = self.b.i64(0);
        let extent = self.extent_val(border.extents[axis]);
        // An empty box leaves everything, wherever it lies.
        let low = self.wide(first);
        let low = self.within(first, low, extent);
        let high = self.wide(last);
        let high = self.within(last, high, extent);
        let high = self.b.binary(NestBin::SMax, low, high);
        let known = self.lengths_outside(first, last, border.extents[axis]);
        for (side, (from, to)) in [(zero, low), (high, extent)].into_iter().enumerate() {
            let known = known.map(|lengths| lengths[side]);
            if known == Some(0) {
                continue;
            }
            let length = self.b.sub(to, from);
            let some = self.b.icmp(IntCmp::Sgt, length, zero);
            self.b.begin_if(some);
            let stride = self.extent_val(border.strides[axis]);
            let skipped = self.b.mul(from, stride);
            let first = self.b.add(start, skipped);
            let offset = self.times(first, border.elem.bytes() as i64);
            let count = self.b.mul(length, stride);
            match border.what {
                Rest::Copy { to, from } => {
                    let (to, from) = (self.b.ptr_add(to, offset), self.b.ptr_add(from, offset));
                    let stride = border.strides[axis];
                    let known = known.zip(stride.as_const()).map(|(length, stride)| length * stride);
                    self.copy_some(border.elem, to, from, (count, known), stride == Ext::Const(1));
                }
                Rest::Fill { to, value } => {
                    let to = self.b.ptr_add(to, offset);
                    self.fill(border.elem, to, Ext::Val(count), value);
                }
            }
            self.b.end_if(&[]);
        }
        (low, high)
    }

    /// Copies neighbouring elements, `count` of them. A few are copied one by one: a call for the ends of every row would take longer than the
    /// row. `may_be_few` says whether to ask for that at run time where the number is not known.
    fn copy_some(&mut self, elem: Elem, to: Val, from: Val, (count, known): (Val, Option<i64>), may_be_few: bool) {
        let ty = Ty::scalar(prim_of(elem));
        let size = elem.bytes() as i64;
        if let Some(n) = known.filter(|n| *n <= FEW) {
            return self.copy_few(elem, to, from, n);
        }
        let ask = may_be_few && known.is_none();
        if ask {
            let (zero, one, few) = (self.b.i64(0), self.b.i64(1), self.b.i64(FEW));
            let is_few = self.b.icmp(IntCmp::Sle, count, few);
            self.b.begin_if(is_few);
            let (k, _) = self.b.begin_for(zero, count, one, &[]);
            let skipped = self.times(k, size);
            let (to, from) = (self.b.ptr_add(to, skipped), self.b.ptr_add(from, skipped));
            let value = self.b.load(ty, from, 0, Access::ALIGNED);
            self.b.store(value, to, 0, Access::ALIGNED);
            self.b.end_for(&[]);
            self.b.begin_else(&[]);
        }
        let bytes = self.times(count, size);
        self.helper("ravel_copy_bytes", &[to, from, bytes], None);
        if ask {
            self.b.end_if(&[]);
        }
    }

    /// A bound of a box, between zero and the extent.
    fn within(&mut self, bound: Value, wide: Val, extent: Val) -> Val {
        let zero = self.b.i64(0);
        let wide = if self.bounds(bound).0 >= 0 { wide } else { self.b.binary(NestBin::SMax, wide, zero) };
        self.b.binary(NestBin::SMin, wide, extent)
    }

    /// Copies an array to consecutive cells.
    pub fn fill_cells(&mut self, elem: Elem, data: Val, cells: Ext, cell: Ext, default: Value) {
        let object = self.val(default);
        let from = self.data_of(object);
        let bytes = self.extent_product(cell, Ext::Const(elem.bytes() as i64));
        let (bytes, cells) = (self.extent_val(bytes), self.extent_val(cells));
        let (zero, one) = (self.b.i64(0), self.b.i64(1));
        let (i, _) = self.b.begin_for(zero, cells, one, &[]);
        let skipped = self.b.mul(i, bytes);
        let to = self.b.ptr_add(data, skipped);
        let name = if elem == Elem::Handle { "ravel_copy_handles" } else { "ravel_copy_bytes" };
        self.helper(name, &[to, from, bytes], None);
        self.b.end_for(&[]);
    }
}
