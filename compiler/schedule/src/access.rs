//! Memory accesses of kernels: addresses of copies and lanes, vector loads and stores, gathers.

use ravel_nest::ir::{Access, BinOp as NestBin, ConvOp, Prim, Ty};
use ravel_types::{BinOp, Elem};
use ravel_wir::{Op, Region, Value};

use crate::Result;
use crate::grid::{Cell, Grid};
use crate::index::{Offset, Term};
use crate::lower::{Key, Lower, Val};
use crate::scalars::prim_of;

impl Lower<'_, '_> {
    pub fn load(&mut self, g: &mut Grid, v: Value, array: Value, index: &[Value], j: usize, u: usize) -> Result<Cell> {
        let elem = self.elem(v);
        let ty = Ty::scalar(prim_of(elem));
        let offset = self.element_offset(array, index);
        let object = self.val(array);
        let data = self.data_of(object);
        if !self.is_vector(g, v) {
            let (ptr, bytes) = self.copy_address(g, data, &offset, j, u, 0)?;
            return Ok(Cell::One(self.b.load(ty, ptr, bytes, Access::ALIGNED)));
        }
        let stride = self.lane_stride(g, &offset, elem);
        if g.packs(elem) && elem != Elem::Bool {
            let vector = ty.with_lanes(g.lanes);
            if stride == Some(1) {
                let (ptr, bytes) = self.copy_address(g, data, &offset, j, u, 0)?;
                return Ok(Cell::Packed(self.b.load(vector, ptr, bytes, Access::ANY)));
            }
            if stride == Some(2) {
                // Two vectors that overlap in one element hold every other element, and nothing beyond the last one is read.
                let (ptr, bytes) = self.copy_address(g, data, &offset, j, u, 0)?;
                let low = self.b.load(vector, ptr, bytes, Access::ANY);
                let skip = (i32::from(g.lanes) - 1) * elem.bytes() as i32;
                let high = self.b.load(vector, ptr, bytes + skip, Access::ANY);
                let half = g.lanes / 2;
                let picks: Vec<u8> = (0..half).map(|k| 2 * k).chain((0..half).map(|k| g.lanes + 2 * k + 1)).collect();
                return Ok(Cell::Packed(self.b.shuffle(low, high, &picks)));
            }
        }
        let mut lanes: Vec<Val> = Vec::new();
        let mut places = Vec::new();
        for lane in 0..usize::from(g.lanes) {
            let place = self.copy_address(g, data, &offset, j, u, lane)?;
            let same = places.iter().position(|p| *p == place);
            lanes.push(match same {
                Some(first) => lanes[first],
                None => self.b.load(ty, place.0, place.1, Access::ALIGNED),
            });
            places.push(place);
        }
        Ok(if g.packs(elem) { Cell::Packed(self.pack(g, elem, &lanes)) } else { Cell::Split(lanes) })
    }

    /// Elements from one lane to the next, if that is constant.
    pub fn lane_stride(&self, g: &mut Grid, offset: &Offset, elem: Elem) -> Option<i64> {
        let mut stride = 0;
        for term in &offset.terms {
            let Some(v) = term.atom else { continue };
            if g.vec == Some(v) {
                if term.stride.is_some() || term.bytes % elem.bytes() as i64 != 0 {
                    return None;
                }
                stride += term.bytes / elem.bytes() as i64;
            } else if self.dep(g, v).vec {
                return None;
            }
        }
        Some(stride)
    }

    /// Address of one lane of one copy.
    pub fn copy_address(
        &mut self,
        g: &mut Grid,
        base: Val,
        offset: &Offset,
        j: usize,
        u: usize,
        lane: usize,
    ) -> Result<(Val, i32)> {
        let mut constant = offset.constant;
        let mut address = base;
        for term in &offset.terms {
            let along = self.copies_along(g, term, j, u, lane);
            match term.stride {
                None => constant += along * term.bytes,
                Some(_) if along == 0 => {}
                Some(_) => {
                    address = self.step_address(address, &Term { atom: None, bytes: along * term.bytes, stride: term.stride });
                }
            }
        }
        for term in &offset.terms {
            match term.atom {
                Some(v) if !self.is_bound(v) => {
                    if term.stride.is_none()
                        && let Some((first, more)) = self.lane_quotient(g, v, u, lane)
                    {
                        let bytes = self.scaled(first, term.bytes, None);
                        address = self.cached(Key::Address(address, bytes), |lower| lower.b.ptr_add(address, bytes));
                        constant += more * term.bytes;
                        continue;
                    }
                    let index = if self.is_vector(g, v) {
                        self.lanes_of(g, v, j, u)?[lane]
                    } else {
                        self.scalar_of(g, v, j, u)?
                    };
                    let wide = self.b.convert(ConvOp::SExt, index, Prim::I64);
                    let mut bytes = self.times(wide, term.bytes);
                    if let Some(stride) = term.stride {
                        bytes = self.b.mul(bytes, stride);
                    }
                    address = self.b.ptr_add(address, bytes);
                }
                _ => address = self.step_address(address, term),
            }
        }
        match i32::try_from(constant) {
            Ok(bytes) => Ok((address, bytes)),
            Err(_) => {
                let bytes = self.b.i64(constant);
                Ok((self.b.ptr_add(address, bytes), 0))
            }
        }
    }

    /// `index / k` along the vector axis, as a scalar for the vector and a constant for the lane. This needs vectors to begin at
    /// multiples of `k`.
    fn lane_quotient(&mut self, g: &mut Grid, v: Value, u: usize, lane: usize) -> Option<(Val, i64)> {
        let Op::Bin(BinOp::Div, a, b) = &self.func.insts[self.live.def(v)?].op else { return None };
        let k = self.const_i32(*b).filter(|k| *k > 0)?;
        let form = self.form(*a);
        let whole = form.terms.len() == 1 && form.terms[0] == (g.vec?, 1) && form.range().0 >= 0;
        let step = (u * usize::from(g.lanes)) as i64;
        let aligned = g.vec_align.is_some_and(|align| align % k == 0) && step % k == 0 && form.constant % k == 0;
        if !whole || !aligned {
            return None;
        }
        let more = (form.constant + step + lane as i64) / k;
        if let Some(&first) = g.quotients.get(&v) {
            return Some((first, more));
        }
        let base = self.wide(g.vec?);
        let first = match k.count_ones() {
            1 => {
                let shift = self.b.i64(i64::from(k.trailing_zeros()));
                self.b.binary(NestBin::SShr, base, shift)
            }
            _ => {
                let k = self.b.i64(k);
                self.b.binary(NestBin::SDiv, base, k)
            }
        };
        g.quotients.insert(v, first);
        Some((first, more))
    }

    /// How far a copy is along the axis of a term.
    fn copies_along(&self, g: &Grid, term: &Term, j: usize, u: usize, lane: usize) -> i64 {
        if term.atom.is_some() && term.atom == g.vec {
            (u * usize::from(g.lanes) + lane) as i64
        } else if term.atom.is_some() && term.atom == g.jam {
            j as i64
        } else {
            0
        }
    }

    /// Computes, where a loop is about to begin, what of the addresses inside it is known.
    pub fn prepare_copies(&mut self, g: &mut Grid, region: Region) {
        let func = self.func;
        for &inst in &func.regions[region].insts {
            let op = &func.insts[inst].op;
            if let Op::Sel { array, index } = op
                && self.has_val(*array)
                && self.func.ty(*array).rank().is_some_and(|rank| index.len() <= rank)
            {
                let offset = self.element_offset(*array, index);
                let object = self.val(*array);
                let data = self.data_of(object);
                self.prepare_offset(g, data, &offset);
            }
            for nested in op.regions() {
                self.prepare_copies(g, nested);
            }
        }
    }

    /// The same for one offset.
    pub fn prepare_offset(&mut self, g: &Grid, base: Val, offset: &Offset) {
        let varies = g.jam.is_some() && offset.terms.iter().any(|t| t.atom == g.jam && t.stride.is_some());
        for j in 0..if varies { g.j } else { 1 } {
            let mut address = base;
            for term in &offset.terms {
                let along = self.copies_along(g, term, j, 0, 0);
                if term.stride.is_some() && along != 0 {
                    address = self.step_address(address, &Term { atom: None, bytes: along * term.bytes, stride: term.stride });
                }
            }
            for term in &offset.terms {
                if term.atom.is_some_and(|v| !self.is_bound(v)) {
                    break;
                }
                address = self.step_address(address, term);
            }
        }
    }

    /// Stores one copy of a cell.
    #[expect(clippy::too_many_arguments, reason = "one copy and its place")]
    pub fn store_copy(&mut self, g: &mut Grid, elem: Elem, v: Value, base: Val, offset: &Offset, j: usize, u: usize) -> Result<()> {
        if g.vec.is_none() || g.lanes == 1 {
            let value = self.scalar_of(g, v, j, u)?;
            let (ptr, bytes) = self.copy_address(g, base, offset, j, u, 0)?;
            self.b.store(value, ptr, bytes, Access::ALIGNED);
            return Ok(());
        }
        if g.packs(elem) && elem != Elem::Bool && self.lane_stride(g, offset, elem) == Some(1) {
            let value = self.packed_of(g, v, j, u)?;
            let (ptr, bytes) = self.copy_address(g, base, offset, j, u, 0)?;
            self.b.store(value, ptr, bytes, Access::ANY);
            return Ok(());
        }
        for (lane, value) in self.lanes_of(g, v, j, u)?.into_iter().enumerate() {
            let (ptr, bytes) = self.copy_address(g, base, offset, j, u, lane)?;
            self.b.store(value, ptr, bytes, Access::ALIGNED);
        }
        Ok(())
    }

    /// A cached address computation, for callers outside of [`crate::index`].
    pub fn step_address(&mut self, address: Val, term: &Term) -> Val {
        let bytes = self.term(term);
        self.cached(Key::Address(address, bytes), |lower| lower.b.ptr_add(address, bytes))
    }
}
