//! Memory accesses of kernels: addresses of copies and lanes, vector loads and stores, gathers.

use ravel_nest::ir::{Access, BinOp as NestBin, ConvOp, Prim, Ty};
use ravel_types::Elem;
use ravel_wir::{Op, Region, Value};

use crate::Result;
use crate::facts::pattern::{Cover, Division, MAX_DEPTH, Place, cover, cover_together, is_atom, is_contiguous, pieces};
use crate::facts::{Cell, Dep, Facts, Grid, Offset, Term, Val, prim_of};
use crate::lower::Lower;
use crate::lower::emit::Key;

/// Bytes of a short load.
const PIECE_BYTES: i64 = 16;

impl Facts<'_> {
    /// How far other elements of an array are, in elements, that the same code selects, checked as one of them is: where one may be read, all may.
    fn loads_beside(&self, v: Value, array: Value, index: &[Value]) -> Vec<i64> {
        let (Some(own), Some(scope)) = (self.live.def(v), self.scopes.last()) else { return Vec::new() };
        let insts = &self.func.regions[scope.region].insts;
        let is_check = |inst: &ravel_wir::Inst| matches!(self.func.insts[*inst].op, Op::Check { .. });
        let Some(stretch) = insts.split(is_check).find(|stretch| stretch.contains(&own)) else { return Vec::new() };
        let extents = self.func.ty(array).shape.extents().unwrap_or_default();
        let distance = |other: &[Value]| {
            let mut elements = Some(1i64);
            let mut sum = 0i64;
            for axis in (0..index.len()).rev() {
                let (here, there) = (self.form(index[axis]), self.form(*other.get(axis)?));
                if here.terms != there.terms {
                    return None;
                }
                if here.constant != there.constant {
                    sum = sum.checked_add((there.constant - here.constant).checked_mul(elements?)?)?;
                }
                elements = elements.and_then(|n| n.checked_mul(i64::from(extents.get(axis)?.as_const()?)));
            }
            Some(sum)
        };
        let beside = stretch.iter().filter_map(|inst| match &self.func.insts[*inst].op {
            Op::Sel { array: from, index: other } if *from == array && other.len() == index.len() => distance(other),
            _ => None,
        });
        beside.collect()
    }

    /// Are the lanes of one copy neighbours in memory?
    pub fn is_contiguous(&self, g: &mut Grid, offset: &Offset, elem: Elem, j: usize, u: usize) -> bool {
        self.lane_offsets(g, offset, elem, j, u).is_some_and(|lanes| is_contiguous(&lanes))
    }
}

impl Lower<'_, '_> {
    pub fn load(&mut self, g: &mut Grid, v: Value, array: Value, index: &[Value], j: usize, u: usize) -> Result<Cell> {
        let elem = self.elem(v);
        let ty = Ty::scalar(prim_of(elem));
        let offset = self.element_offset(array, index);
        let object = self.val(array);
        let data = self.data_of(object);
        if !self.is_vector(g, v) {
            let (ptr, bytes) = self.copy_address(g, data, &offset, j, u, 0)?;
            // Copies of a window, and steps of an unrolled fold, meet at the same elements.
            let key = (ptr, bytes, Vec::new());
            if let Some(&same) = g.loads.get(&key).filter(|_| self.site.in_launch) {
                return Ok(Cell::One(same));
            }
            let value = match self.masked_by(g, v, j, u).filter(|_| g.u > 1 && self.dep(g, v).vec) {
                Some(taking_part) => self.load_if(taking_part, ty, ptr, bytes),
                None => self.b.load(ty, ptr, bytes, Access::ALIGNED),
            };
            if self.site.in_launch {
                g.loads.insert(key, value);
            }
            return Ok(Cell::One(value));
        }
        if let Some(taking_part) = self.masked_by(g, v, j, u) {
            return self.load_masked(g, (array, index, data), &offset, (j, u), taking_part);
        }
        if elem == Elem::Bool && self.is_contiguous(g, &offset, elem, j, u) {
            let (ptr, bytes) = self.copy_address(g, data, &offset, j, u, 0)?;
            return Ok(Cell::Packed(self.load_mask(g, ptr, bytes)));
        }
        if g.packs(elem) && elem != Elem::Bool {
            let lanes = self.lane_offsets(g, &offset, elem, j, u);
            if let Some((lanes, cover)) = lanes.and_then(|lanes| cover(&lanes).map(|cover| (lanes, cover))) {
                let (ptr, bytes) = self.copy_address(g, data, &offset, j, u, 0)?;
                let together = match cover.starts.len() {
                    2 => cover_together(&lanes, &self.loads_beside(v, array, index)),
                    _ => None,
                };
                let cover = together.unwrap_or(cover);
                return Ok(Cell::Packed(self.load_lanes(g, elem, (ptr, bytes), &lanes, &cover)));
            }
        }
        if self.gathers(elem) {
            return Ok(Cell::Packed(self.gather(g, (array, index, data), &offset, (j, u), None)?));
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

    /// Booleans that become numbers, as the bytes of consecutive indices.
    pub fn load_truths(&mut self, g: &mut Grid, v: Value, j: usize, u: usize) -> Result<Option<Val>> {
        let Some(Op::Sel { array, index }) = self.live.def(v).map(|inst| &self.func.insts[inst].op) else {
            return Ok(None);
        };
        if self.elem(v) != Elem::Bool || !self.is_vector(g, v) || self.is_bound(v) || !self.has_val(*array) {
            return Ok(None);
        }
        let offset = self.element_offset(*array, index);
        if self.masked_by(g, v, j, u).is_some() || !self.is_contiguous(g, &offset, Elem::Bool, j, u) {
            return Ok(None);
        }
        let object = self.val(*array);
        let data = self.data_of(object);
        let (ptr, bytes) = self.copy_address(g, data, &offset, j, u, 0)?;
        Ok(Some(self.b.load(Ty::vector(Prim::I8, g.lanes), ptr, bytes, Access::ANY)))
    }

    /// One vector whose lanes lie at constant distances from an address: contiguous loads, then shuffles.
    fn load_lanes(&mut self, g: &mut Grid, elem: Elem, first: (Val, i32), lanes: &[i64], cover: &Cover) -> Val {
        let key = (first.0, first.1, lanes.to_vec());
        if let Some(&same) = g.loads.get(&key) {
            return same;
        }
        let short = PIECE_BYTES / elem.bytes() as i64;
        if cover.starts.len() > 2
            && let Some(pieces) = pieces(lanes, i64::from(first.1) / elem.bytes() as i64, short)
        {
            let vector = self.load_pieces(g, elem, first, lanes, &pieces);
            g.loads.insert(key, vector);
            return vector;
        }
        let ty = Ty::scalar(prim_of(elem));
        let in_order: Vec<i64> = (0..i64::from(cover.width)).collect();
        let mut loaded = Vec::new();
        for start in &cover.starts {
            let (ptr, bytes) = self.displaced(first.0, i64::from(first.1) + *start * elem.bytes() as i64);
            let key = (ptr, bytes, in_order.clone());
            let known = g.loads.get(&key).copied().filter(|_| cover.width > 1);
            let vector = known.unwrap_or_else(|| {
                let access = if cover.width == 1 || g.aligned { Access::ALIGNED } else { Access::ANY };
                self.b.load(ty.with_lanes(cover.width), ptr, bytes, access)
            });
            g.loads.insert(key, vector);
            loaded.push(vector);
        }
        let vector = self.arrange(g.lanes, &loaded, lanes, cover);
        g.loads.insert(key, vector);
        vector
    }

    /// One vector from some short loads that are joined first.
    fn load_pieces(&mut self, g: &Grid, elem: Elem, first: (Val, i32), lanes: &[i64], cover: &Cover) -> Val {
        let (ty, width) = (Ty::scalar(prim_of(elem)).with_lanes(cover.width), i64::from(cover.width));
        let mut joined: Vec<Val> = Vec::new();
        for start in &cover.starts {
            let (ptr, bytes) = self.displaced(first.0, i64::from(first.1) + *start * elem.bytes() as i64);
            joined.push(self.b.load(ty, ptr, bytes, Access::ANY));
        }
        joined.resize(joined.len().next_power_of_two(), joined[0]);
        let mut wide = cover.width;
        while joined.len() > 1 {
            wide *= 2;
            let all: Vec<u8> = (0..wide).collect();
            joined = joined.chunks(2).map(|pair| self.b.shuffle(pair[0], pair[1], &all)).collect();
        }
        let pick = |offset: &i64| {
            let at = cover.starts.iter().position(|start| (*start..start + width).contains(offset)).unwrap_or(0);
            (at as i64 * width + offset - cover.starts[at]) as u8
        };
        let picks: Vec<u8> = lanes.iter().map(pick).collect();
        let in_order = wide == g.lanes && picks.iter().enumerate().all(|(lane, pick)| lane == usize::from(*pick));
        if in_order { joined[0] } else { self.b.shuffle(joined[0], joined[0], &picks) }
    }

    /// Picks the lanes from the loads of a cover.
    fn arrange(&mut self, n: u8, loaded: &[Val], lanes: &[i64], cover: &Cover) -> Val {
        let width = i64::from(cover.width);
        let within = |k: usize, offset: i64| {
            (0..width).contains(&(offset - cover.starts[k])).then(|| (offset - cover.starts[k]) as u8)
        };
        if width == 1 {
            return self.b.splat(loaded[0], n);
        }
        let [first, rest @ ..] = loaded else { unreachable!("a cover has loads") };
        let Some((second, more)) = rest.split_first() else {
            if cover.width == n && is_contiguous(lanes) {
                return *first;
            }
            let picks: Vec<u8> = lanes.iter().map(|&offset| within(0, offset).unwrap_or(0)).collect();
            return self.b.shuffle(*first, *first, &picks);
        };
        let pick = |offset: i64| within(0, offset).or_else(|| within(1, offset).map(|lane| cover.width + lane));
        let picks: Vec<u8> = lanes.iter().map(|&offset| pick(offset).unwrap_or(0)).collect();
        let mut vector = self.b.shuffle(*first, *second, &picks);
        for (k, load) in more.iter().enumerate() {
            // Lanes that are there already stay.
            let there = |offset: i64| (0..k + 2).any(|k| within(k, offset).is_some());
            let picks: Vec<u8> = lanes
                .iter()
                .enumerate()
                .map(|(lane, &offset)| match within(k + 2, offset).filter(|_| !there(offset)) {
                    Some(from) => n + from,
                    None => lane as u8,
                })
                .collect();
            vector = self.b.shuffle(vector, *load, &picks);
        }
        vector
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
        let at = Place { j, u, lane };
        let distances: Vec<Option<i64>> =
            offset.terms.iter().map(|term| term.atom.map_or(Some(0), |v| self.distance(g, v, at))).collect();
        for (term, distance) in offset.terms.iter().zip(&distances) {
            let Some(along) = *distance else { continue };
            match term.stride {
                None => constant += along * term.bytes,
                Some(_) if along == 0 => {}
                Some(_) => {
                    address = self
                        .step_address(address, &Term { atom: None, bytes: along * term.bytes, stride: term.stride });
                }
            }
        }
        for (term, distance) in offset.terms.iter().zip(&distances) {
            match term.atom {
                Some(v) if distance.is_some() => address = self.uniform_address(g, address, term, v)?,
                Some(v) => {
                    let wide = self.wide_lane(g, v, j, u, lane)?;
                    let bytes = self.scaled(wide, term.bytes, term.stride);
                    address = self.cached(Key::Address(address, bytes), |lower| lower.b.ptr_add(address, bytes));
                }
                None => address = self.step_address(address, term),
            }
        }
        Ok(self.displaced(address, constant))
    }

    /// One lane of an index in 64 bits, computed once for all loads that it is part of.
    pub fn wide_lane(&mut self, g: &mut Grid, v: Value, j: usize, u: usize, lane: usize) -> Result<Val> {
        let dep = self.dep(g, v);
        let (j, u) = g.shared(dep, j, u);
        let key = (v, j, u, if self.is_vector(g, v) { lane } else { 0 });
        if let Some(&wide) = g.wide_lanes.get(&key) {
            return Ok(wide);
        }
        let index = match self.cell_of(g, v, j, u)? {
            Cell::One(val) => val,
            Cell::Split(lanes) => lanes[lane],
            Cell::Packed(vector) => self.b.extract(vector, lane as u8),
        };
        let wide = self.b.convert(ConvOp::SExt, index, Prim::I64);
        g.wide_lanes.insert(key, wide);
        Ok(wide)
    }

    fn displaced(&mut self, address: Val, constant: i64) -> (Val, i32) {
        match i32::try_from(constant) {
            Ok(bytes) => (address, bytes),
            Err(_) => {
                let bytes = self.b.i64(constant);
                (self.b.ptr_add(address, bytes), 0)
            }
        }
    }

    /// Adds the value of a term at the first place to an address.
    fn uniform_address(&mut self, g: &mut Grid, address: Val, term: &Term, v: Value) -> Result<Val> {
        let value = self.uniform(g, v)?;
        let bytes = self.scaled(value, term.bytes, term.stride);
        Ok(self.cached(Key::Address(address, bytes), |lower| lower.b.ptr_add(address, bytes)))
    }

    /// Computes, where a loop is about to begin, what of the addresses inside it is known.
    pub fn prepare_copies(&mut self, g: &mut Grid, region: Region) -> Result<()> {
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
                self.prepare_offset(g, data, &offset)?;
            }
            for nested in op.regions() {
                self.prepare_copies(g, nested)?;
            }
        }
        Ok(())
    }

    /// The same for one offset.
    pub fn prepare_offset(&mut self, g: &mut Grid, base: Val, offset: &Offset) -> Result<()> {
        let strided =
            offset.terms.iter().any(|t| t.stride.is_some() && t.atom.is_some_and(|v| self.dep(g, v).jams != 0));
        for j in 0..if strided { g.j() } else { 1 } {
            let mut address = base;
            let at = Place { j, u: 0, lane: 0 };
            for term in &offset.terms {
                let along = term.atom.and_then(|v| self.distance(g, v, at)).unwrap_or(0);
                if term.stride.is_some() && along != 0 {
                    address = self
                        .step_address(address, &Term { atom: None, bytes: along * term.bytes, stride: term.stride });
                }
            }
            for term in &offset.terms {
                match term.atom {
                    Some(v) if self.level_within(v).is_none() || self.distance(g, v, at).is_none() => break,
                    Some(v) => address = self.uniform_address(g, address, term, v)?,
                    None => address = self.step_address(address, term),
                }
            }
        }
        Ok(())
    }

    /// Stores one copy of a cell.
    #[expect(clippy::too_many_arguments, reason = "one copy and its place")]
    pub fn store_copy(
        &mut self,
        g: &mut Grid,
        elem: Elem,
        v: Value,
        base: Val,
        offset: &Offset,
        j: usize,
        u: usize,
    ) -> Result<()> {
        if g.vec.is_none() || g.lanes == 1 {
            let value = self.scalar_of(g, v, j, u)?;
            let (ptr, bytes) = self.copy_address(g, base, offset, j, u, 0)?;
            self.b.store(value, ptr, bytes, Access::ALIGNED);
            return Ok(());
        }
        let teeth = g.comb.map(|comb| comb.mask(g.start_of(u), g.lanes));
        let chosen = |lane: usize| teeth.as_ref().is_none_or(|teeth| teeth[lane]);
        if !(0..usize::from(g.lanes)).any(chosen) {
            return Ok(());
        }
        if g.packs(elem) && self.is_contiguous(g, offset, elem, j, u) {
            let mut value = self.packed_of(g, v, j, u)?;
            let (ptr, bytes) = self.copy_address(g, base, offset, j, u, 0)?;
            if let Some(teeth) = &teeth {
                let old = match elem {
                    Elem::Bool => self.load_mask(g, ptr, bytes),
                    _ => self.b.load(g.packed_type(elem), ptr, bytes, Access::ANY),
                };
                let mask = self.mask_constant(g.packed_type(elem), teeth);
                value = self.b.select(mask, value, old);
            }
            if elem == Elem::Bool {
                self.store_mask(value, ptr, bytes);
                return Ok(());
            }
            let streams = g.streams && teeth.is_none() && u < g.streamed && self.is_whole_vector(g, elem, offset, u);
            let access = if streams { Access::STREAMING } else { Access { aligned: g.aligned, ..Access::ANY } };
            self.b.store(value, ptr, bytes, access);
            return Ok(());
        }
        for (lane, value) in self.lanes_of(g, v, j, u)?.into_iter().enumerate().filter(|(lane, _)| chosen(*lane)) {
            let (ptr, bytes) = self.copy_address(g, base, offset, j, u, lane)?;
            self.b.store(value, ptr, bytes, Access::ALIGNED);
        }
        Ok(())
    }

    /// A cached address computation, for callers outside of [`crate::lower::index`].
    pub fn step_address(&mut self, address: Val, term: &Term) -> Val {
        let bytes = self.term(term);
        self.cached(Key::Address(address, bytes), |lower| lower.b.ptr_add(address, bytes))
    }

    /// The value of an index expression at the first lane of the first copy, in 64 bits.
    pub fn uniform(&mut self, g: &mut Grid, v: Value) -> Result<Val> {
        if g.vec == Some(v)
            || g.jams.iter().any(|jam| jam.index == v)
            || self.is_bound(v)
            || self.const_i32(v).is_some()
        {
            return Ok(self.wide(v));
        }
        if let Some(&known) = g.uniforms.get(&v) {
            return Ok(known);
        }
        let form = self.form(v);
        let value = if self.dep(g, v) == Dep::default() {
            let scalar = self.scalar_of(g, v, 0, 0)?;
            self.b.convert(ConvOp::SExt, scalar, Prim::I64)
        } else if !is_atom(&form, v) {
            let mut sum = self.b.i64(form.constant);
            for (w, factor) in form.terms {
                let term = self.uniform(g, w)?;
                let term = self.times(term, factor);
                sum = self.b.add(sum, term);
            }
            sum
        } else {
            match self.division(v) {
                Some((Division::Quotient, a, k)) => {
                    let a = self.uniform(g, a)?;
                    match k.count_ones() {
                        1 => {
                            let shift = self.b.i64(i64::from(k.trailing_zeros()));
                            self.b.binary(NestBin::SShr, a, shift)
                        }
                        _ => {
                            let k = self.b.i64(k);
                            self.b.binary(NestBin::SDiv, a, k)
                        }
                    }
                }
                Some((Division::Remainder, a, k)) => match self.residue(g, a, k, MAX_DEPTH) {
                    Some(residue) => self.b.i64(residue),
                    None => return self.unsupported(ravel_source::Span::NONE, "a remainder of unaligned lanes"),
                },
                None => return self.unsupported(ravel_source::Span::NONE, "an index without a common part"),
            }
        };
        g.uniforms.insert(v, value);
        Ok(value)
    }
}
