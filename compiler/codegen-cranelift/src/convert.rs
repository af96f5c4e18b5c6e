//! Conversions between primitive types.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use ravel_nest::ir::{BinOp, ConvOp, Prim, Ty, Value};

use crate::translate::Translator;
use crate::types::{Pieces, live_lanes, piece_count, piece_type, scalar_type};

impl Translator<'_, '_> {
    /// Any conversion.
    pub fn convert(&mut self, op: ConvOp, a: Value, to: Prim) -> Pieces {
        let from = self.ty(a);
        let result = from.with_prim(to);
        if !from.is_vector() {
            let x = self.scalar(a);
            return Pieces::from_slice(&[self.convert_scalar(op, from.prim, to, x)]);
        }
        let xs = self.pieces(a);
        match (op, from.prim, to) {
            (ConvOp::Bits, ..) => xs.into_iter().map(|x| self.bitcast(piece_type(result), x)).collect(),
            (ConvOp::SExt | ConvOp::ZExt, ..) => self.widen(op, from, result, xs),
            (ConvOp::Narrow, ..) => self.narrow(from, result, xs),
            (ConvOp::SToF, Prim::I32, Prim::F32) => {
                xs.into_iter().map(|x| self.b.ins().fcvt_from_sint(types::F32X4, x)).collect()
            }
            (ConvOp::SToF, Prim::I8 | Prim::I16, _) => {
                let middle = from.with_prim(Prim::I32);
                let wide = self.widen(ConvOp::SExt, from, middle, xs);
                self.ints_to_floats(wide, result)
            }
            (ConvOp::UToF, Prim::I8 | Prim::I16, _) => {
                let middle = from.with_prim(Prim::I32);
                let wide = self.widen(ConvOp::ZExt, from, middle, xs);
                self.ints_to_floats(wide, result)
            }
            (ConvOp::SToF, Prim::I32, _) => self.ints_to_floats(xs, result),
            (ConvOp::FToS, Prim::F32, Prim::I32) => {
                xs.into_iter().map(|x| self.b.ins().fcvt_to_sint_sat(types::I32X4, x)).collect()
            }
            (ConvOp::FToS, Prim::F64, Prim::I32) => self.doubles_to_ints(from, result, xs),
            (ConvOp::FConv, Prim::F32, _) => self.promote(xs, result),
            (ConvOp::FConv, Prim::F64, _) => self.demote(xs),
            _ => self.lanewise(from, result, &[a], |t, args| t.convert_scalar(op, from.prim, to, args[0])),
        }
    }

    /// Signed 32-bit lanes to floats.
    fn ints_to_floats(&mut self, xs: Pieces, result: Ty) -> Pieces {
        if result.prim == Prim::F32 {
            return xs.into_iter().map(|x| self.b.ins().fcvt_from_sint(types::F32X4, x)).collect();
        }
        let halves = self.halves(Prim::I32, &xs, piece_count(result));
        halves
            .into_iter()
            .map(|x| {
                let wide = self.b.ins().swiden_low(x);
                self.b.ins().fcvt_from_sint(types::F64X2, wide)
            })
            .collect()
    }

    /// `f32` lanes to `f64`.
    fn promote(&mut self, xs: Pieces, result: Ty) -> Pieces {
        let halves = self.halves(Prim::F32, &xs, piece_count(result));
        halves.into_iter().map(|x| self.b.ins().fvpromote_low(x)).collect()
    }

    /// `f64` lanes to `f32`.
    fn demote(&mut self, xs: Pieces) -> Pieces {
        let low: Pieces = xs.into_iter().map(|x| self.b.ins().fvdemote(x)).collect();
        low.chunks(2).map(|pair| self.join(Prim::F32, pair)).collect()
    }

    /// `f64` lanes to 32-bit integers: NaN becomes zero, numbers are limited to the range and cut, and the sum with 1.5 times the
    /// weight of the last place has the integer in its low bits.
    fn doubles_to_ints(&mut self, from: Ty, result: Ty, xs: Pieces) -> Pieces {
        let mut number = |value: f64| self.constant(from, value.to_bits())[0];
        let (least, greatest) = (number(f64::from(i32::MIN)), number(f64::from(i32::MAX)));
        let magic = number(6_755_399_441_055_744.0);
        let wide = from.with_prim(Prim::I64);
        let words = xs
            .into_iter()
            .map(|x| {
                let ordered = self.b.ins().fcmp(FloatCC::Equal, x, x);
                let bits = self.bitcast(types::I64X2, x);
                let kept = self.b.ins().band(bits, ordered);
                let x = self.bitcast(types::F64X2, kept);
                let x = self.float_extremum(BinOp::FMin, from, x, greatest);
                let x = self.float_extremum(BinOp::FMax, from, x, least);
                let x = self.b.ins().trunc(x);
                let sum = self.b.ins().fadd(x, magic);
                self.bitcast(types::I64X2, sum)
            })
            .collect();
        self.narrow(wide, result, words)
    }

    /// The low and, moved down, the high half of each register, `count` in all.
    fn halves(&mut self, prim: Prim, xs: &[ir::Value], count: usize) -> Pieces {
        let lanes = (8 / prim.bytes()) as u8;
        (0..count)
            .map(|n| {
                let x = xs[n / 2];
                if n % 2 == 0 {
                    return x;
                }
                let upper: Vec<(ir::Value, u8)> = (0..lanes).map(|lane| (x, lane + lanes)).collect();
                self.gather(prim, &upper)
            })
            .collect()
    }

    /// The low halves of one or two registers in one.
    fn join(&mut self, prim: Prim, pair: &[ir::Value]) -> ir::Value {
        let &[low, high] = pair else { return pair[0] };
        let lanes = (8 / prim.bytes()) as u8;
        let sources: Vec<(ir::Value, u8)> =
            (0..lanes).map(|lane| (low, lane)).chain((0..lanes).map(|lane| (high, lane))).collect();
        self.gather(prim, &sources)
    }

    /// Extends integer lanes, doubling their width until it fits.
    fn widen(&mut self, op: ConvOp, from: Ty, to: Ty, xs: Pieces) -> Pieces {
        let (mut ty, mut xs) = (from, xs);
        while ty.prim != to.prim {
            let next = ty.with_prim(double(ty.prim));
            let count = piece_count(next);
            xs = (0..count)
                .map(|n| {
                    let x = xs[n / 2];
                    match (op, n % 2) {
                        (ConvOp::SExt, 0) => self.b.ins().swiden_low(x),
                        (ConvOp::SExt, _) => self.b.ins().swiden_high(x),
                        (_, 0) => self.b.ins().uwiden_low(x),
                        (_, _) => self.b.ins().uwiden_high(x),
                    }
                })
                .collect();
            ty = next;
        }
        xs
    }

    /// Keeps the low bits of integer lanes, by picking the low part of each.
    fn narrow(&mut self, from: Ty, to: Ty, xs: Pieces) -> Pieces {
        let ratio = (from.prim.bytes() / to.prim.bytes()) as u8;
        let (per_source, per_result) = (live_lanes(from), live_lanes(to));
        let register = piece_type(to);
        let xs: Pieces = xs.into_iter().map(|x| self.bitcast(register, x)).collect();
        // Two registers at a time: gather() takes lanes from at most two.
        let pick = |t: &mut Self, xs: &[ir::Value], width: usize| -> ir::Value {
            let sources: Vec<(ir::Value, u8)> =
                xs.iter().flat_map(|&x| (0..width).map(move |lane| (x, lane as u8 * ratio))).collect();
            t.gather(to.prim, &sources)
        };
        xs.chunks(per_result / per_source)
            .map(|group| {
                let mut level: Vec<(ir::Value, usize)> =
                    group.chunks(2).map(|pair| (pick(self, pair, per_source), pair.len() * per_source)).collect();
                while level.len() > 1 {
                    level = level
                        .chunks(2)
                        .map(|pair| {
                            let sources: Vec<(ir::Value, u8)> = pair
                                .iter()
                                .flat_map(|&(x, width)| (0..width).map(move |lane| (x, lane as u8)))
                                .collect();
                            (self.gather(to.prim, &sources), sources.len())
                        })
                        .collect();
                }
                level[0].0
            })
            .collect()
    }

    fn convert_scalar(&mut self, op: ConvOp, from: Prim, to: Prim, x: ir::Value) -> ir::Value {
        let ty = scalar_type(to);
        match op {
            ConvOp::Narrow => self.b.ins().ireduce(ty, x),
            ConvOp::SExt => self.b.ins().sextend(ty, x),
            ConvOp::ZExt => self.b.ins().uextend(ty, x),
            ConvOp::FConv if to == Prim::F64 => self.b.ins().fpromote(ty, x),
            ConvOp::FConv => self.b.ins().fdemote(ty, x),
            ConvOp::SToF => {
                let x = if from.bits() < 32 { self.b.ins().sextend(types::I32, x) } else { x };
                self.b.ins().fcvt_from_sint(ty, x)
            }
            ConvOp::UToF => match from.bits() {
                8 | 16 => {
                    let x = self.b.ins().uextend(types::I32, x);
                    self.b.ins().fcvt_from_sint(ty, x)
                }
                32 => {
                    let x = self.b.ins().uextend(types::I64, x);
                    self.b.ins().fcvt_from_sint(ty, x)
                }
                _ => self.b.ins().fcvt_from_uint(ty, x),
            },
            ConvOp::FToS if to.bits() >= 32 => self.b.ins().fcvt_to_sint_sat(ty, x),
            ConvOp::FToU if to.bits() >= 32 => self.b.ins().fcvt_to_uint_sat(ty, x),
            ConvOp::FToS => {
                let limit = 1i64 << (to.bits() - 1);
                self.saturate(ty, x, -limit, limit - 1)
            }
            ConvOp::FToU => self.saturate(ty, x, 0, (1i64 << to.bits()) - 1),
            ConvOp::Bits => self.bitcast(ty, x),
        }
    }

    /// A float to a narrow integer, by way of 32 bits.
    fn saturate(&mut self, ty: ir::Type, x: ir::Value, least: i64, greatest: i64) -> ir::Value {
        let wide = self.b.ins().fcvt_to_sint_sat(types::I32, x);
        let least = self.b.ins().iconst(types::I32, i64::from(least as u32));
        let greatest = self.b.ins().iconst(types::I32, greatest);
        let wide = self.b.ins().smax(wide, least);
        let wide = self.b.ins().smin(wide, greatest);
        self.b.ins().ireduce(ty, wide)
    }
}

/// The integer of twice the width.
fn double(prim: Prim) -> Prim {
    match prim {
        Prim::I8 => Prim::I16,
        Prim::I16 => Prim::I32,
        _ => Prim::I64,
    }
}
