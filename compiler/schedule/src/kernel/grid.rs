//! A body evaluated for many indices at once: copies along a vector axis and along jam axes.
//!
//! A [`Grid`] stands for `j x u` copies of a body, where copy `u` covers `lanes` consecutive indices of the vector axis and copy `j`
//! is a place in the box of copies along all jam axes. Each value is computed when it is first needed, once per copy that it varies
//! over: a load that does not depend on a jam axis is shared by all copies along it, a value that does not depend on the vector
//! axis stays a scalar until it meets a vector. Evaluation on demand keeps few values alive at a time, which matters because
//! kernels are compiled in this order.
//!
//! Elements of all widths are packed, a narrow one in a part of a register, a wide one in several (`widths`).

use ravel_nest::ir::{Access, ConvOp, IntCmp, Prim, Ty};
use ravel_types::Elem;
use ravel_wir::{Op, Region, Value};

use crate::Result;
use crate::facts::{Cell, Grid, Val};
use crate::lower::{Lower, scalars};

impl Lower<'_, '_> {
    /// One copy of a value.
    pub fn cell_of(&mut self, g: &mut Grid, v: Value, j: usize, u: usize) -> Result<Cell> {
        let dep = self.dep(g, v);
        let (j, u) = g.shared(dep, j, u);
        let key = (v, j, u);
        if let Some(cell) = g.memo.get(&key) {
            return Ok(cell.clone());
        }
        let cell = self.compute(g, v, j, u)?;
        g.memo.insert(key, cell.clone());
        Ok(cell)
    }

    /// A copy that is a scalar.
    pub fn scalar_of(&mut self, g: &mut Grid, v: Value, j: usize, u: usize) -> Result<Val> {
        match self.cell_of(g, v, j, u)? {
            Cell::One(val) => Ok(val),
            _ => self.unsupported(ravel_source::Span::NONE, "a vector where a kernel needs a scalar"),
        }
    }

    /// A copy as a vector, or the scalar itself if the grid has one lane.
    pub fn packed_of(&mut self, g: &mut Grid, v: Value, j: usize, u: usize) -> Result<Val> {
        let elem = self.elem(v);
        match self.cell_of(g, v, j, u)? {
            Cell::Packed(val) => Ok(val),
            Cell::One(val) if g.lanes == 1 => Ok(val),
            Cell::One(val) => {
                let dep = self.dep(g, v);
                let (j, u) = g.shared(dep, j, u);
                let key = (v, j, u);
                if let Some(&splat) = g.splats.get(&key) {
                    return Ok(splat);
                }
                let splat = match self.live.def(v).map(|inst| &self.func.insts[inst].op) {
                    Some(Op::Const(scalar)) if elem != Elem::Bool => {
                        let ty = g.packed_type(elem);
                        self.b.bits(ty, scalar.bits())
                    }
                    _ => self.splat_cell(g, elem, val),
                };
                g.splats.insert(key, splat);
                Ok(splat)
            }
            Cell::Split(lanes) => Ok(self.pack(g, elem, &lanes)),
        }
    }

    pub fn splat_cell(&mut self, g: &Grid, elem: Elem, val: Val) -> Val {
        let val = if elem == Elem::Bool { self.mask_word(g, val) } else { val };
        self.b.splat(val, g.lanes)
    }

    /// A scalar boolean as a word of all ones or zero.
    fn mask_word(&mut self, g: &Grid, val: Val) -> Val {
        let wide = self.b.convert(ConvOp::ZExt, val, g.mask_prim());
        self.b.unary(ravel_nest::ir::UnOp::INeg, wide)
    }

    pub fn pack(&mut self, g: &Grid, elem: Elem, lanes: &[Val]) -> Val {
        let lanes: Vec<Val> =
            lanes.iter().map(|&lane| if elem == Elem::Bool { self.mask_word(g, lane) } else { lane }).collect();
        let mut vector = self.b.splat(lanes[0], g.lanes);
        for (k, &lane) in lanes.iter().enumerate().skip(1) {
            vector = self.b.insert(vector, k as u8, lane);
        }
        vector
    }

    /// A copy as one scalar per lane.
    pub fn lanes_of(&mut self, g: &mut Grid, v: Value, j: usize, u: usize) -> Result<Vec<Val>> {
        let elem = self.elem(v);
        Ok(match self.cell_of(g, v, j, u)? {
            Cell::One(val) => vec![val; usize::from(g.lanes)],
            Cell::Split(lanes) => lanes,
            Cell::Packed(vector) => (0..g.lanes)
                .map(|lane| {
                    let word = self.b.extract(vector, lane);
                    if elem != Elem::Bool {
                        return word;
                    }
                    let zero = self.b.iconst(Ty::scalar(g.mask_prim()), 0);
                    self.b.icmp(IntCmp::Ne, word, zero)
                })
                .collect(),
        })
    }

    fn compute(&mut self, g: &mut Grid, v: Value, j: usize, u: usize) -> Result<Cell> {
        let func = self.func;
        if let Some(panel) = g.panels.get(&v).copied() {
            return Ok(self.unpack(g, v, panel, j, u));
        }
        if g.vec == Some(v) {
            return Ok(self.vector_index(g, v, u));
        }
        if let Some(axis) = g.jams.iter().position(|jam| jam.index == v) {
            let base = self.wide(v);
            let k = self.b.i64(g.digit(axis, j) as i64);
            let index = self.b.add(base, k);
            return Ok(Cell::One(self.b.convert(ConvOp::Narrow, index, Prim::I32)));
        }
        if let Some(same) = self.alias[v].filter(|_| !self.is_bound(v)) {
            return self.cell_of(g, same, j, u);
        }
        if self.is_bound(v) {
            return Ok(Cell::One(self.val(v)));
        }
        let Some(inst) = self.live.def(v) else {
            return self.unsupported(ravel_source::Span::NONE, "an unbound value in a kernel");
        };
        let arith = self.arith();
        let elem = self.elem(v);
        let mask = g.mask_prim();
        match &func.insts[inst].op {
            Op::Const(scalar) => Ok(Cell::One(scalars::constant(&mut self.b, *scalar, 1))),
            Op::Extent { array, axis } => {
                let extent = self.extent(*array, *axis as usize);
                let extent = self.extent_val(extent);
                Ok(Cell::One(self.b.convert(ConvOp::Narrow, extent, Prim::I32)))
            }
            Op::Opaque(a) => self.cell_of(g, *a, j, u),
            // Truths are masks of the kernel's width, not what a conversion of bytes makes.
            Op::Convert(a) if self.elem(*a) == elem => self.cell_of(g, *a, j, u),
            Op::Un(op, a) => {
                let from = self.elem(*a);
                let op = *op;
                self.apply(g, v, j, u, &[*a], g.packs(from) && g.packs(elem), move |lower, x| {
                    let value = scalars::unary(&mut lower.b, arith, op, from, x[0]);
                    if elem == Elem::Bool { lower.mask_as(value, mask) } else { value }
                })
            }
            Op::Native { symbol, args, .. } => {
                let Some(op) = crate::facts::vector_forms::math_op(symbol) else {
                    return self.unsupported(func.insts[inst].span, "a native in a kernel");
                };
                self.apply(g, v, j, u, args, g.packs(elem), move |lower, x| {
                    scalars::unary(&mut lower.b, arith, op, elem, x[0])
                })
            }
            Op::Bin(op, a, b) => {
                let (from, op) = (self.elem(*a), *op);
                let divisor = self.constant_divisor(from, *b).filter(|_| op.divides());
                self.apply(g, v, j, u, &[*a, *b], g.packs(from) && g.packs(elem), move |lower, x| {
                    if let Some(k) = divisor {
                        return lower.divide_lanes(op, from, x[0], x[1], k);
                    }
                    let value = scalars::binary(&mut lower.b, arith, op, from, x[0], x[1]);
                    if elem == Elem::Bool { lower.mask_as(value, mask) } else { value }
                })
            }
            Op::Convert(a) => {
                if let Some(truths) = self.load_truths(g, *a, j, u)? {
                    return Ok(Cell::Packed(scalars::convert(&mut self.b, Elem::U8, elem, truths)));
                }
                let from = self.elem(*a);
                let packed = g.packs(from) && g.packs(elem);
                self.apply(g, v, j, u, &[*a], packed, move |lower, x| lower.convert_lanes(from, elem, mask, x[0]))
            }
            Op::Select { cond, then, els } => self.choose(g, v, j, u, *cond, *then, *els),
            Op::Loop { .. } => {
                self.loop_cells(g, inst)?;
                self.remembered(g, v, j, u)
            }
            Op::If { then, els, .. } if !self.is_plain(g, *then) || !self.is_plain(g, *els) => {
                self.branch_cells(g, inst)?;
                self.remembered(g, v, j, u)
            }
            Op::If { cond, then, els } => {
                let position = func.insts[inst].results.iter().position(|r| *r == v).unwrap_or(0);
                let (x, y) = (func.regions[*then].yields[position], func.regions[*els].yields[position]);
                self.choose(g, v, j, u, *cond, x, y)
            }
            Op::Sel { array, index } => self.load(g, v, *array, index, j, u),
            Op::With(_) => {
                self.fold_cells(g, inst, None)?;
                self.remembered(g, v, j, u)
            }
            _ => self.unsupported(func.insts[inst].span, "an operation in a kernel"),
        }
    }

    /// A copy that the instruction defining the value has just computed with all others.
    fn remembered(&mut self, g: &mut Grid, v: Value, j: usize, u: usize) -> Result<Cell> {
        let dep = self.dep(g, v);
        let (j, u) = g.shared(dep, j, u);
        match g.memo.get(&(v, j, u)) {
            Some(cell) => Ok(cell.clone()),
            None => self.unsupported(ravel_source::Span::NONE, "a result in a kernel"),
        }
    }

    /// The indices of copy `u` along the vector axis, as data.
    fn vector_index(&mut self, g: &Grid, v: Value, u: usize) -> Cell {
        let base = self.wide(v);
        let step = |lower: &mut Self, k: usize| {
            let k = lower.b.i64(k as i64);
            let index = lower.b.add(base, k);
            lower.b.convert(ConvOp::Narrow, index, Prim::I32)
        };
        let lanes = usize::from(g.lanes);
        if lanes == 1 {
            return Cell::One(step(self, u));
        }
        let first = step(self, g.start_of(u));
        let first = self.b.splat(first, g.lanes);
        let iota = self.cx.iota(g.lanes);
        let iota = self.b.data_addr(iota);
        let iota = self.b.load(Ty::vector(Prim::I32, g.lanes), iota, 0, Access::ALIGNED);
        Cell::Packed(self.b.add(first, iota))
    }

    /// Applies an operation to a copy: on scalars, on vectors, or lane by lane.
    #[expect(clippy::too_many_arguments, reason = "one copy of one operation")]
    fn apply(
        &mut self,
        g: &mut Grid,
        v: Value,
        j: usize,
        u: usize,
        args: &[Value],
        packed: bool,
        f: impl Fn(&mut Self, &[Val]) -> Val,
    ) -> Result<Cell> {
        if !self.is_vector(g, v) {
            let args = args.iter().map(|a| self.scalar_of(g, *a, j, u)).collect::<Result<Vec<Val>>>()?;
            return Ok(Cell::One(f(self, &args)));
        }
        if packed {
            let args = args.iter().map(|a| self.packed_of(g, *a, j, u)).collect::<Result<Vec<Val>>>()?;
            return Ok(Cell::Packed(f(self, &args)));
        }
        let args = args.iter().map(|a| self.lanes_of(g, *a, j, u)).collect::<Result<Vec<Vec<Val>>>>()?;
        let lanes = (0..usize::from(g.lanes))
            .map(|lane| {
                let of_lane: Vec<Val> = args.iter().map(|a| a[lane]).collect();
                f(self, &of_lane)
            })
            .collect();
        Ok(Cell::Split(lanes))
    }

    #[expect(clippy::too_many_arguments, reason = "one copy of one operation")]
    fn choose(&mut self, g: &mut Grid, v: Value, j: usize, u: usize, cond: Value, x: Value, y: Value) -> Result<Cell> {
        let elem = self.elem(v);
        let packed = g.packs(elem);
        if self.is_vector(g, v) && !self.is_vector(g, cond) && packed {
            let c = self.scalar_of(g, cond, j, u)?;
            let (x, y) = (self.packed_of(g, x, j, u)?, self.packed_of(g, y, j, u)?);
            return Ok(Cell::Packed(self.b.select(c, x, y)));
        }
        self.apply(g, v, j, u, &[cond, x, y], packed, |lower, x| lower.select_lanes(x[0], x[1], x[2]))
    }

    /// Computes, before a loop, the values that its body takes from the kernel's body around it.
    pub fn force_captured(&mut self, g: &mut Grid, body: Region) -> Result<()> {
        for v in self.live.free(body).to_vec() {
            if self.is_bound(v) || !self.func.ty(v).is_scalar() || self.live.def(v).is_none() {
                continue;
            }
            if self.live.def(v).is_some_and(|inst| matches!(self.func.insts[inst].op, Op::Const(_))) {
                continue;
            }
            let dep = self.dep(g, v);
            for j in g.jam_copies(dep) {
                for u in 0..if dep.vec { g.u } else { 1 } {
                    self.cell_of(g, v, j, u)?;
                }
            }
        }
        Ok(())
    }

    /// Identity or any other constant of a fold, in every lane.
    pub fn constant_of(&mut self, g: &Grid, scalar: ravel_types::Scalar) -> Val {
        match scalar {
            ravel_types::Scalar::Bool(truth) if g.lanes > 1 => {
                let ty = g.packed_type(Elem::Bool);
                self.b.bits(ty, if truth { u64::MAX } else { 0 })
            }
            other => scalars::constant(&mut self.b, other, g.lanes),
        }
    }
}
