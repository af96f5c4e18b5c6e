//! Lanes: splitting vectors into scalars and building them again, shuffles and reductions.

use cranelift_codegen::ir::{self, InstBuilder, types};
use ravel_nest::ir::{BinOp, Prim, ReduceOp, Ty, Value};
use smallvec::SmallVec;

use crate::translate::Translator;
use crate::types::{Pieces, live_lanes, piece_count, piece_type, register_lanes};

impl Translator<'_, '_> {
    /// Applies `f` lane by lane (once for scalars) to arguments of type `from`; the results make a vector of type `to`.
    pub fn lanewise(
        &mut self,
        from: Ty,
        to: Ty,
        args: &[Value],
        mut f: impl FnMut(&mut Self, &[ir::Value]) -> ir::Value,
    ) -> Pieces {
        let pieces: SmallVec<[Pieces; 2]> = args.iter().map(|&arg| self.pieces(arg)).collect();
        let mut results = Vec::with_capacity(usize::from(to.lanes));
        for lane in 0..to.lanes {
            let lanes: SmallVec<[ir::Value; 2]> = pieces.iter().map(|pieces| self.lane(from, pieces, lane)).collect();
            results.push(f(self, &lanes));
        }
        self.build(to, &results)
    }

    /// One lane of a value of type `ty`.
    pub fn lane(&mut self, ty: Ty, pieces: &[ir::Value], lane: u8) -> ir::Value {
        if !ty.is_vector() {
            return pieces[0];
        }
        let (piece, at) = place(ty.prim, lane);
        self.b.ins().extractlane(pieces[piece], at)
    }

    /// A value of type `ty` from its lanes.
    pub fn build(&mut self, ty: Ty, lanes: &[ir::Value]) -> Pieces {
        if !ty.is_vector() {
            return Pieces::from_slice(lanes);
        }
        lanes
            .chunks(register_lanes(ty.prim))
            .map(|lanes| {
                let mut piece = self.first_lane(ty.prim, lanes[0]);
                for (at, &lane) in lanes.iter().enumerate().skip(1) {
                    piece = self.b.ins().insertlane(piece, lane, at as u8);
                }
                piece
            })
            .collect()
    }

    /// A register whose first lane is `lane`.
    fn first_lane(&mut self, prim: Prim, lane: ir::Value) -> ir::Value {
        let register = piece_type(Ty::vector(prim, 16));
        match prim {
            Prim::I8 | Prim::I16 => self.b.ins().splat(register, lane),
            _ => self.b.ins().scalar_to_vector(register, lane),
        }
    }

    /// A scalar in all lanes.
    pub fn splat(&mut self, a: Value, lanes: u8) -> Pieces {
        let ty = self.ty(a).with_lanes(lanes);
        let scalar = self.scalar(a);
        let piece = match self.neighbours[a] {
            // All of the neighbours are in the register that stands for one.
            Some(neighbour) => self.gather(ty.prim, &vec![(scalar, neighbour.lane); register_lanes(ty.prim)]),
            None => self.b.ins().splat(piece_type(ty), scalar),
        };
        Pieces::from_elem(piece, piece_count(ty))
    }

    /// One lane.
    pub fn extract(&mut self, a: Value, lane: u8) -> Pieces {
        let pieces = self.pieces(a);
        Pieces::from_slice(&[self.lane(self.ty(a), &pieces, lane)])
    }

    /// One lane replaced.
    pub fn insert(&mut self, vector: Value, lane: u8, scalar: Value) -> Pieces {
        let (piece, at) = place(self.ty(vector).prim, lane);
        let mut pieces = self.pieces(vector);
        let scalar = self.scalar(scalar);
        pieces[piece] = self.b.ins().insertlane(pieces[piece], scalar, at);
        pieces
    }

    /// Lanes picked from two vectors.
    pub fn shuffle(&mut self, a: Value, b: Value, lanes: &[u8]) -> Pieces {
        let from = self.ty(a);
        let to = from.with_lanes(lanes.len() as u8);
        let (xs, ys) = (self.pieces(a), self.pieces(b));
        lanes
            .chunks(register_lanes(to.prim))
            .map(|lanes| {
                let sources: Vec<(ir::Value, u8)> = lanes
                    .iter()
                    .map(|&lane| {
                        let (pieces, lane) = if lane < from.lanes { (&xs, lane) } else { (&ys, lane - from.lanes) };
                        let (piece, at) = place(from.prim, lane);
                        (pieces[piece], at)
                    })
                    .collect();
                self.gather(to.prim, &sources)
            })
            .collect()
    }

    /// A register from lanes of other registers; at most one register full.
    pub fn gather(&mut self, prim: Prim, sources: &[(ir::Value, u8)]) -> ir::Value {
        let first = sources[0].0;
        let second = sources.iter().map(|source| source.0).find(|&source| source != first).unwrap_or(first);
        if sources.iter().any(|source| source.0 != first && source.0 != second) {
            let ty = Ty::vector(prim, register_lanes(prim) as u8);
            let lanes: Vec<ir::Value> =
                sources.iter().map(|&(piece, at)| self.b.ins().extractlane(piece, at)).collect();
            return self.build(ty, &lanes)[0];
        }
        let bytes = prim.bytes() as u8;
        let mut mask = [0u8; 16];
        for (slot, at) in mask.chunks_mut(usize::from(bytes)).zip(sources) {
            let base = if at.0 == first { 0 } else { 16 };
            for (k, byte) in slot.iter_mut().enumerate() {
                *byte = base + at.1 * bytes + k as u8;
            }
        }
        let mask = self.b.func.dfg.immediates.push(mask.as_slice().into());
        let (x, y) = (self.bitcast(types::I8X16, first), self.bitcast(types::I8X16, second));
        let picked = self.b.ins().shuffle(x, y, mask);
        self.bitcast(piece_type(Ty::vector(prim, 16)), picked)
    }

    /// 1 if some lane in use is not zero.
    pub fn any(&mut self, mask: Value) -> Pieces {
        let ty = self.ty(mask);
        let pieces = self.pieces(mask);
        let mut all = pieces[0];
        for &piece in &pieces[1..] {
            all = self.b.ins().bor(all, piece);
        }
        if ty.bytes() < 16 {
            // Lanes that are not in use hold rubbish: the lower half of the register takes their place, or its quarter.
            let lanes = live_lanes(ty) as u8;
            let sources: Vec<(ir::Value, u8)> =
                (0..register_lanes(ty.prim) as u8).map(|lane| (all, lane % lanes)).collect();
            all = self.gather(ty.prim, &sources);
        }
        Pieces::from_slice(&[self.b.ins().vany_true(all)])
    }

    /// Halves combined until one lane is left.
    pub fn reduce(&mut self, op: ReduceOp, a: Value) -> Pieces {
        let ty = self.ty(a);
        let op = op.combine();
        let mut pieces = self.pieces(a);
        while pieces.len() > 1 {
            let upper = pieces.split_off_half();
            pieces = pieces.iter().zip(upper).map(|(&x, y)| self.binary_piece(op, ty, x, y)).collect();
        }
        let mut piece = pieces[0];
        let mut lanes = live_lanes(ty) as u8;
        // Bytes have no good shuffles and no product; the last lanes are combined as scalars.
        let scalar_end = if op == BinOp::IMul && ty.prim == Prim::I8 { lanes } else { 2 };
        while lanes > scalar_end {
            lanes /= 2;
            let sources: Vec<(ir::Value, u8)> = (0..lanes).map(|lane| (piece, lane + lanes)).collect();
            let upper = self.gather(ty.prim, &sources);
            piece = self.binary_piece(op, ty, piece, upper);
        }
        let mut scalars: Vec<ir::Value> = (0..lanes).map(|lane| self.b.ins().extractlane(piece, lane)).collect();
        while scalars.len() > 1 {
            let upper = scalars.split_off(scalars.len() / 2);
            scalars = scalars.iter().zip(upper).map(|(&x, y)| self.binary_piece(op, ty.lane(), x, y)).collect();
        }
        Pieces::from_slice(&scalars)
    }
}

/// The piece and the lane in it where lane number `lane` of a vector lies.
fn place(prim: Prim, lane: u8) -> (usize, u8) {
    let lanes = register_lanes(prim) as u8;
    (usize::from(lane / lanes), lane % lanes)
}

/// Splitting a list of pieces in the middle.
trait SplitHalf {
    /// Removes and returns the upper half.
    fn split_off_half(&mut self) -> Self;
}

impl SplitHalf for Pieces {
    fn split_off_half(&mut self) -> Pieces {
        let upper = self[self.len() / 2..].into();
        self.truncate(self.len() / 2);
        upper
    }
}
