//! Folds inside kernels: accumulators of all copies in registers.
//!
//! Where lanes run along an axis outside of the fold, each lane is an accumulator of its own and cells are added in the order of
//! the program. Where lanes run along the fold's last axis (`Grid::fold_u` vectors per step), each lane starts from the identity
//! of the operation; at the end vectors are combined first to last, then lanes as [`ravel_nest::ir::ReduceOp`] says, then the
//! neutral element and the scalar remainder. Only operations that regroup are treated so.

use ravel_types::{BinOp, Elem};
use ravel_wir::{Combine, Generator, Inst, Op, Part, Value, With, WithOp};

use crate::Result;
use crate::grid::{Cell, Grid, reduce_op};
use crate::kernel::Chunk;
use crate::lower::{Lower, Val};
use crate::scalars;

/// Inner loops whose trip count is at most this are unrolled, so that addresses become constants.
const UNROLL_TRIPS: i64 = 36;
/// Bound on unrolled copies of a body, those of folds around it included.
const UNROLL_COPIES: i64 = 600;

/// One accumulator variable of a fold.
#[derive(Clone, Copy)]
struct Acc {
    op: BinOp,
    elem: Elem,
    /// Copies along the jam axis.
    j: usize,
    /// Copies along the vector axis.
    u: usize,
    /// Where its copies start in the carried values; jam copies outermost.
    first: usize,
    /// Where its scalar accumulators start, if lanes run along the fold.
    scalars: usize,
}

/// The accumulators of one fold.
struct Accs {
    accs: Vec<Acc>,
    vals: Vec<Val>,
    along: bool,
    /// Bounds of the first axis, if this is a chunk of a parallel loop. Scalar accumulators then start from the identity.
    chunk: Option<Chunk>,
}

impl Lower<'_, '_> {
    /// Computes all copies of a fold's results.
    pub fn fold_cells(&mut self, g: &mut Grid, inst: Inst, chunk: Option<Chunk>) -> Result<()> {
        let func = self.func;
        let Op::With(with) = &func.insts[inst].op else {
            return self.unsupported(func.insts[inst].span, "not a with-loop");
        };
        let results = &func.insts[inst].results;
        let along = g.vec.is_none() && g.fold_u > 0 && with.ops.iter().all(|op| folds_along(op).is_some());
        let mut accs = Accs { accs: Vec::new(), vals: Vec::new(), along, chunk };
        for (op, &result) in with.ops.iter().zip(results) {
            let WithOp::Fold { neutral, combine: Combine::Op(op), .. } = op else {
                return self.unsupported(func.insts[inst].span, "a fold function in a kernel");
            };
            let (dep, elem) = (self.dep(g, result), self.elem(result));
            let (j, first) = (if dep.jam { g.j } else { 1 }, accs.vals.len());
            if along {
                let Some(identity) = scalars::identity(*op, elem) else {
                    return self.unsupported(func.insts[inst].span, "a fold without identity in a kernel");
                };
                let u = g.fold_u;
                g.lanes = g.fold_lanes;
                for _ in 0..j * u {
                    let start = self.constant_of(g, identity);
                    accs.vals.push(start);
                }
                g.lanes = 1;
                accs.accs.push(Acc { op: *op, elem, j, u, first, scalars: 0 });
            } else {
                let u = if dep.vec { g.u } else { 1 };
                for j in 0..j {
                    for u in 0..u {
                        let start = if dep.vec { self.packed_of(g, *neutral, j, u)? } else { self.scalar_of(g, *neutral, j, u)? };
                        accs.vals.push(start);
                    }
                }
                accs.accs.push(Acc { op: *op, elem, j, u, first, scalars: 0 });
            }
        }
        if along {
            for (k, op) in with.ops.iter().enumerate() {
                let WithOp::Fold { neutral, .. } = op else { continue };
                accs.accs[k].scalars = accs.vals.len();
                let acc = accs.accs[k];
                for j in 0..acc.j {
                    let start = match scalars::identity(acc.op, acc.elem) {
                        Some(identity) if chunk.is_some() => scalars::constant(&mut self.b, identity, 1),
                        _ => self.scalar_of(g, *neutral, j, 0)?,
                    };
                    accs.vals.push(start);
                }
            }
        }
        for part in &with.parts {
            self.force_captured(g, part.body)?;
            let mark = g.mark();
            self.open(part.body);
            self.prepare_copies(g, part.body);
            self.fold_axis(g, with, part, 0, &mut accs)?;
            self.close();
            g.release(mark);
        }
        for (k, &result) in results.iter().enumerate() {
            self.finish_acc(g, &accs, accs.accs[k], result);
        }
        Ok(())
    }

    /// A constant mask.
    fn mask_constant(&mut self, ty: ravel_nest::ir::Ty, mask: &[bool]) -> Val {
        let truth = ty.truth();
        let bytes = (truth.bytes() / u32::from(truth.lanes)) as usize;
        let word = |taken: &bool| if *taken { u64::MAX } else { 0 }.to_le_bytes()[..bytes].to_vec();
        let bytes: Vec<u8> = mask.iter().flat_map(word).collect();
        let data = self.cx.vector_constant(bytes);
        let address = self.b.data_addr(data);
        self.b.load(truth, address, 0, ravel_nest::ir::Access::ALIGNED)
    }

    /// Makes cells of an accumulator's copies.
    fn finish_acc(&mut self, g: &mut Grid, accs: &Accs, acc: Acc, result: Value) {
        let arith = self.arith();
        for j in 0..acc.j {
            if !accs.along {
                for u in 0..acc.u {
                    let val = accs.vals[acc.first + j * acc.u + u];
                    let vector = self.b.ty(val).is_vector();
                    g.remember(result, j, u, if vector { Cell::Packed(val) } else { Cell::One(val) });
                }
                continue;
            }
            let first = acc.first + j * acc.u;
            let mut total = accs.vals[first];
            for &val in &accs.vals[first + 1..first + acc.u] {
                total = scalars::binary(&mut self.b, arith, acc.op, acc.elem, total, val);
            }
            if self.b.ty(total).is_vector() {
                total = match reduce_op(acc.op, acc.elem) {
                    Some(op) => self.b.reduce(op, total),
                    None => self.b.extract(total, 0),
                };
                if acc.elem == Elem::Bool {
                    let ty = self.b.ty(total);
                    let zero = self.b.iconst(ty, 0);
                    total = self.b.icmp(ravel_nest::ir::IntCmp::Ne, total, zero);
                }
            }
            let start = accs.vals[acc.scalars + j];
            let total = scalars::binary(&mut self.b, arith, acc.op, acc.elem, start, total);
            g.remember(result, j, 0, Cell::One(total));
        }
    }

    /// Number of indices from an axis inwards, if constant.
    fn const_trips(&self, part: &Part, axis: usize) -> Option<i64> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        let params = &self.func.regions[part.body].params;
        (axis..lower.len()).try_fold(1i64, |n, k| {
            if self.alias[params[k]].is_some() {
                return Some(n);
            }
            n.checked_mul((self.const_i32(upper[k])? - self.const_i32(lower[k])?).max(0))
        })
    }

    fn fold_axis(&mut self, g: &mut Grid, with: &With, part: &Part, axis: usize, accs: &mut Accs) -> Result<()> {
        let func = self.func;
        let Generator::Known { lower, upper, .. } = &part.generator else {
            return self.unsupported(ravel_source::Span::NONE, "a fold of unknown rank in a kernel");
        };
        let params = &func.regions[part.body].params;
        let Some(&param) = params.get(axis) else {
            return self.add_cells(g, part, accs);
        };
        if self.alias[param].is_some() && accs.chunk.is_none() {
            return self.fold_axis(g, with, part, axis + 1, accs);
        }
        if g.lanes > 1 && g.vec.is_some() {
            let (low, high) = (self.dep(g, lower[axis]), self.dep(g, upper[axis]));
            if low.vec || high.vec {
                return self.fold_masked(g, with, part, axis, accs);
            }
        }
        if accs.along && axis + 1 == params.len() {
            return self.fold_last(g, with, part, axis, accs);
        }
        let range = self.axis_range(with, lower[axis], upper[axis]);
        let copies = accs.accs.iter().map(|a| a.j * a.u).sum::<usize>() as i64;
        let inner = if accs.along || accs.chunk.is_some() { None } else { self.const_trips(part, axis) };
        let whole = self.const_i32(lower[axis]).zip(self.const_i32(upper[axis]));
        if let (Some(trips), Some((low, high))) = (inner, whole)
            && trips <= UNROLL_TRIPS
            && trips * copies * g.unrolled <= UNROLL_COPIES
        {
            let outside = g.unrolled;
            g.unrolled *= (high - low).max(1);
            for index in low..high {
                let mark = g.mark();
                self.bind_fixed(param, index);
                self.fold_axis(g, with, part, axis + 1, accs)?;
                self.unfix(param);
                g.release(mark);
            }
            g.unrolled = outside;
            return Ok(());
        }
        let (low, high) = match accs.chunk.filter(|_| axis == 0) {
            Some(chunk) => (chunk.low, chunk.high),
            None => (self.kernel_wide(g, lower[axis])?, self.kernel_wide(g, upper[axis])?),
        };
        let one = self.b.i64(1);
        let (i, carried) = self.b.begin_for(low, high, one, &accs.vals);
        let outer = self.enter_kernel_loop(i);
        let mark = g.mark();
        self.open(part.body);
        self.bind_wide(param, i, range);
        self.prepare_copies(g, part.body);
        accs.vals = carried;
        self.fold_axis(g, with, part, axis + 1, accs)?;
        self.close();
        g.release(mark);
        accs.vals = self.b.end_for(&accs.vals);
        self.leave_kernel_loop(outer);
        Ok(())
    }

    /// A bound of a fold in 64 bits; it may be computed in the kernel.
    fn kernel_wide(&mut self, g: &mut Grid, v: Value) -> Result<Val> {
        if self.is_bound(v) || self.const_i32(v).is_some() {
            return Ok(self.wide(v));
        }
        let scalar = self.scalar_of(g, v, 0, 0)?;
        Ok(self.b.convert(ravel_nest::ir::ConvOp::SExt, scalar, ravel_nest::ir::Prim::I64))
    }

    /// An axis whose bounds vary over the lanes: all indices that any lane takes, each under a constant mask.
    fn fold_masked(&mut self, g: &mut Grid, with: &With, part: &Part, axis: usize, accs: &mut Accs) -> Result<()> {
        let func = self.func;
        let (Generator::Known { lower, upper, .. }, Some(base), Some(vec)) = (&part.generator, g.vec_base, g.vec) else {
            return self.unsupported(ravel_source::Span::NONE, "a fold whose bounds vary over lanes");
        };
        let param = func.regions[part.body].params[axis];
        let lanes = i64::from(g.lanes);
        let mut bounds = Vec::new();
        for index in base..base + lanes * g.u as i64 {
            let low = self.evaluate(lower[axis], (vec, index), 12);
            let Some((low, high)) = low.zip(self.evaluate(upper[axis], (vec, index), 12)) else {
                return self.unsupported(ravel_source::Span::NONE, "a fold whose bounds vary over lanes");
            };
            bounds.push((low, high));
        }
        let first = bounds.iter().map(|b| b.0).min().unwrap_or(0);
        let last = bounds.iter().map(|b| b.1).max().unwrap_or(0);
        let outer = g.masks.clone();
        let outside = g.unrolled;
        g.unrolled *= (last - first).max(1);
        for index in first..last {
            g.masks = bounds
                .chunks(lanes as usize)
                .enumerate()
                .map(|(u, of_lanes)| {
                    let taken = of_lanes.iter().map(|(low, high)| (*low..*high).contains(&index));
                    match outer.get(u) {
                        Some(mask) => taken.zip(mask).map(|(a, b)| a && *b).collect(),
                        None => taken.collect(),
                    }
                })
                .collect();
            if g.masks.iter().flatten().any(|taken| *taken) {
                let mark = g.mark();
                self.bind_fixed(param, index);
                self.fold_axis(g, with, part, axis + 1, accs)?;
                self.unfix(param);
                g.release(mark);
            }
        }
        g.masks = outer;
        g.unrolled = outside;
        Ok(())
    }

    /// The last axis of a fold with lanes along it: whole steps, single vectors, then scalars.
    fn fold_last(&mut self, g: &mut Grid, with: &With, part: &Part, axis: usize, accs: &mut Accs) -> Result<()> {
        let func = self.func;
        let Generator::Known { lower, upper, .. } = &part.generator else {
            return self.unsupported(ravel_source::Span::NONE, "a fold of unknown rank in a kernel");
        };
        let param = func.regions[part.body].params[axis];
        let range = self.axis_range(with, lower[axis], upper[axis]);
        let mut chunk = accs.chunk.filter(|_| axis == 0);
        if chunk.is_none() && (self.const_i32(lower[axis]).is_none() || self.const_i32(upper[axis]).is_none()) {
            let (low, high) = (self.kernel_wide(g, lower[axis])?, self.kernel_wide(g, upper[axis])?);
            chunk = Some(Chunk { low, high });
        }
        let stretches = self.stretches(lower[axis], upper[axis], chunk, g.fold_lanes, g.fold_u, false);
        for stretch in stretches {
            let one_step = stretch.trips == Some(1);
            let step = self.b.i64(stretch.u as i64 * i64::from(stretch.lanes));
            let mut outer = None;
            let mut index = stretch.low;
            if !one_step {
                let (i, carried) = self.b.begin_for(stretch.low, stretch.high, step, &accs.vals);
                outer = Some(self.enter_kernel_loop(i));
                index = i;
                accs.vals = carried;
            }
            let mark = g.mark();
            self.open(part.body);
            self.bind_wide(param, index, range);
            g.set_vec(Some(param), stretch.lanes, stretch.u);
            self.prepare_copies(g, part.body);
            self.add_cells(g, part, accs)?;
            g.set_vec(None, 1, 1);
            self.close();
            g.release(mark);
            if let Some(outer) = outer {
                accs.vals = self.b.end_for(&accs.vals);
                self.leave_kernel_loop(outer);
            }
        }
        Ok(())
    }

    /// Adds the cells of all copies at the index at hand.
    fn add_cells(&mut self, g: &mut Grid, part: &Part, accs: &mut Accs) -> Result<()> {
        let yields = &self.func.regions[part.body].yields;
        let arith = self.arith();
        let along = accs.along;
        let steps = if along { g.u } else { accs.accs.iter().map(|a| a.u).max().unwrap_or(1) };
        let jams = accs.accs.iter().map(|a| a.j).max().unwrap_or(1);
        // The shorter side is kept in registers while the longer one streams by.
        let order: Vec<(usize, usize)> = match steps <= jams {
            true => (0..jams).flat_map(|j| (0..steps).map(move |u| (u, j))).collect(),
            false => (0..steps).flat_map(|u| (0..jams).map(move |j| (u, j))).collect(),
        };
        for (u, j) in order {
            {
                for (k, acc) in accs.accs.clone().into_iter().enumerate() {
                    if j >= acc.j || (!along && u >= acc.u) {
                        continue;
                    }
                    // In the scalar remainder of a fold with lanes along it the scalar accumulators take over.
                    let place = if along && g.lanes == 1 { acc.scalars + j } else { acc.first + j * acc.u + u };
                    let old = accs.vals[place];
                    let vector = self.b.ty(old).is_vector();
                    let mask = g.masks.get(u).filter(|_| vector && !along).cloned();
                    if mask.as_ref().is_some_and(|mask| !mask.contains(&true)) {
                        continue;
                    }
                    let new = if let Some((x, y)) = self.fused_product(acc.op, acc.elem, yields[k]) {
                        let (x, y) = if vector {
                            (self.packed_of(g, x, j, u)?, self.packed_of(g, y, j, u)?)
                        } else {
                            (self.scalar_of(g, x, j, u)?, self.scalar_of(g, y, j, u)?)
                        };
                        self.b.fma(x, y, old)
                    } else {
                        let cell = if vector { self.packed_of(g, yields[k], j, u)? } else { self.scalar_of(g, yields[k], j, u)? };
                        scalars::binary(&mut self.b, arith, acc.op, acc.elem, old, cell)
                    };
                    accs.vals[place] = match mask {
                        Some(mask) if mask.contains(&false) => {
                            let ty = self.b.ty(new);
                            let mask = self.mask_constant(ty, &mask);
                            self.b.select(mask, new, old)
                        }
                        _ => new,
                    };
                }
            }
        }
        Ok(())
    }
}

/// The operation of a fold that lanes may run along.
pub(crate) fn folds_along(op: &WithOp) -> Option<BinOp> {
    match op {
        WithOp::Fold { combine: Combine::Op(op), .. } if op.regroups() => Some(*op),
        _ => None,
    }
}
