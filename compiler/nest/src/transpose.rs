//! Gathers of neighbours as transposed loads.
//!
//! Lanes that each work on a small array of their own, a matrix per lane say, gather its elements one after the other: as many
//! gathers as elements, from the same places but for constant offsets. Where four or more elements are neighbours, each lane's are one load
//! here, and the vectors are transposed in registers: for 16 lanes and 16 elements 16 loads and 64 shuffles instead of 16 gathers of 16
//! loads each.
//!
//! Before: the function verifies and constant offsets are part of accesses (`simplify`). After: it verifies, and computes the same.
//! Leaves alone: gathers under masks, from indices that are not evenly spaced, of fewer than four neighbours, and those with effects,
//! branches or stores between them, for only what is gathered in any case is loaded.

use rustc_hash::FxHashMap as HashMap;

use cranelift_entity::{PrimaryMap, SecondaryMap};

use crate::ir::{Access, BinOp, ConvOp, Data, DataId, Func, Inst, Module, Op, Prim, Region, Ty, Value};
use crate::simplify::is_pure;

/// Neighbours that are worth it.
const FEWEST: usize = 4;
/// Bytes of the widest register.
const WIDEST: u32 = 64;

/// Replaces the gathers of all functions.
pub fn transpose_gathers(module: &mut Module) {
    let Module { funcs, data, .. } = module;
    for func in funcs.values_mut().filter(|func| func.is_defined()) {
        let Func { values, body, .. } = func;
        Pass { data, values, forms: SecondaryMap::new() }.region(body);
    }
}

/// Integer lanes, or an address: lane `k` is `base factor + step k + constant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Lanes { base: Option<(Value, i64)>, step: i64, constant: i64 },
    Address(DataId),
}

/// What gathers share that differ by a constant offset.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Places {
    ty: Ty,
    ptr: Value,
    /// A scalar and how many bytes it counts.
    base: Option<(Value, i64)>,
    /// Bytes from lane to lane.
    step: i64,
}

/// A gather: its offset in bytes, where it stands, its result.
type Member = (i64, usize, Value);

/// Neighbours that replace what stands at these positions.
struct Block {
    places: Places,
    members: Vec<Member>,
}

struct Pass<'a> {
    data: &'a PrimaryMap<DataId, Data>,
    values: &'a mut PrimaryMap<Value, Ty>,
    forms: SecondaryMap<Value, Option<Form>>,
}

impl Pass<'_> {
    fn region(&mut self, region: &mut Region) {
        let mut blocks = Vec::new();
        let mut groups: HashMap<Places, Vec<Member>> = HashMap::default();
        for (at, inst) in region.insts.iter_mut().enumerate() {
            match &mut inst.op {
                Op::If { then_region, else_region, .. } => {
                    self.region(then_region);
                    self.region(else_region);
                }
                Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } => self.region(body),
                _ => {}
            }
            if let &[result] = inst.results.as_slice() {
                self.forms[result] = self.form(&inst.op, self.values[result]);
                if let Some((places, offset)) = self.places(&inst.op) {
                    groups.entry(places).or_default().push((offset, at, result));
                }
            }
            if !is_pure(&inst.op) && !matches!(inst.op, Op::Load { .. } | Op::Gather { .. }) {
                groups.drain().for_each(|(places, members)| blocks.extend(runs(places, members)));
            }
        }
        groups.drain().for_each(|(places, members)| blocks.extend(runs(places, members)));
        if blocks.is_empty() {
            return;
        }
        // A block stands where its first gather stood.
        let first = |block: &Block| block.members.iter().map(|m| m.1).min();
        blocks.sort_by_key(first);
        let gone: rustc_hash::FxHashSet<usize> = blocks.iter().flat_map(|b| b.members.iter().map(|m| m.1)).collect();
        let mut blocks = blocks.into_iter().peekable();
        for (at, inst) in std::mem::take(&mut region.insts).into_iter().enumerate() {
            while let Some(block) = blocks.next_if(|block| first(block) == Some(at)) {
                self.emit(&block, &mut region.insts);
            }
            if !gone.contains(&at) {
                region.insts.push(inst);
            }
        }
    }

    /// How the lanes of a result are spaced, if that is known.
    fn form(&self, op: &Op, ty: Ty) -> Option<Form> {
        let lanes = |v: Value| match self.forms[v] {
            Some(Form::Lanes { base, step, constant }) => Some((base, step, constant)),
            _ => None,
        };
        let known = |v: Value| match lanes(v) {
            Some((None, 0, constant)) => Some(constant),
            _ => None,
        };
        match *op {
            Op::DataAddr(data) => Some(Form::Address(data)),
            Op::Const { ty, bits } if matches!(ty.prim, Prim::I32 | Prim::I64) => {
                let unused = 64 - ty.prim.bits();
                Some(Form::Lanes { base: None, step: 0, constant: ((bits << unused) as i64) >> unused })
            }
            Op::Splat(scalar, _) if matches!(ty.prim, Prim::I32 | Prim::I64) => {
                let known = known(scalar);
                let base = if known.is_some() { None } else { Some((scalar, 1)) };
                Some(Form::Lanes { base, step: 0, constant: known.unwrap_or(0) })
            }
            Op::Load { ptr, offset: 0, .. } if ty.prim == Prim::I32 && ty.is_vector() => match self.forms[ptr] {
                Some(Form::Address(data)) if counts(&self.data[data], ty) => {
                    Some(Form::Lanes { base: None, step: 1, constant: 0 })
                }
                _ => None,
            },
            // Indices of 32 bits that wrapped would lie outside of every array.
            Op::Convert(ConvOp::SExt, x, Prim::I64) if ty.is_vector() => self.forms[x],
            Op::Binary(BinOp::IAdd, x, y) if ty.is_vector() => {
                let ((base, step, constant), (other, more, rest)) = (lanes(x)?, lanes(y)?);
                if base.is_some() && other.is_some() {
                    return None;
                }
                Some(Form::Lanes {
                    base: base.or(other),
                    step: step.checked_add(more)?,
                    constant: constant.checked_add(rest)?,
                })
            }
            Op::Binary(op @ (BinOp::IMul | BinOp::Shl), x, y) if ty.is_vector() => {
                let (x, y) = if op == BinOp::IMul && known(y).is_none() { (y, x) } else { (x, y) };
                let ((base, step, constant), factor) = (lanes(x)?, known(y)?);
                let factor = if op == BinOp::Shl { 1i64.checked_shl(u32::try_from(factor).ok()?)? } else { factor };
                let base = match base {
                    Some((value, times)) => Some((value, times.checked_mul(factor)?)),
                    None => None,
                };
                Some(Form::Lanes { base, step: step.checked_mul(factor)?, constant: constant.checked_mul(factor)? })
            }
            _ => None,
        }
    }

    /// Where a gather that could be part of a block finds its lanes, and its constant offset.
    fn places(&self, op: &Op) -> Option<(Places, i64)> {
        let &Op::Gather { ty, ptr, offset, index, scale, mask: None } = op else { return None };
        let Some(Form::Lanes { base, step, constant }) = self.forms[index] else { return None };
        let scale = i64::from(scale);
        let step = step.checked_mul(scale)?;
        let farthest = step.checked_mul(i64::from(ty.lanes))?;
        if ty.bytes() > WIDEST || i32::try_from(farthest).is_err() {
            return None;
        }
        let base = base.map(|(value, times)| (value, times.wrapping_mul(scale)));
        Some((Places { ty, ptr, base, step }, constant.checked_mul(scale)?.checked_add(i64::from(offset))?))
    }

    fn push(&mut self, out: &mut Vec<Inst>, ty: Ty, op: Op) -> Value {
        let result = self.values.push(ty);
        out.push(Inst { results: [result].into_iter().collect(), op });
        result
    }

    /// Loads the neighbours of each lane and transposes them.
    fn emit(&mut self, block: &Block, out: &mut Vec<Inst>) {
        let Places { ty, ptr, base, step } = block.places;
        let (n, lanes) = (block.members.len(), usize::from(ty.lanes));
        let ptr = match base {
            None => ptr,
            Some((value, bytes)) => {
                let wide = if self.values[value].prim == Prim::I64 {
                    value
                } else {
                    self.push(out, Ty::I64, Op::Convert(ConvOp::SExt, value, Prim::I64))
                };
                let bytes = self.push(out, Ty::I64, Op::Const { ty: Ty::I64, bits: bytes as u64 });
                let distance = self.push(out, Ty::I64, Op::Binary(BinOp::IMul, wide, bytes));
                self.push(out, Ty::PTR, Op::PtrAdd(ptr, distance))
            }
        };
        let piece = ty.with_lanes(n as u8);
        let pieces: Vec<Value> = (0..lanes)
            .map(|lane| {
                // In range: `places` and `runs` ask for it.
                let offset = (block.members[0].0 + step * lane as i64) as i32;
                self.push(out, piece, Op::Load { ty: piece, ptr, offset, access: Access::ANY })
            })
            .collect();
        // Row j has the pieces of lanes j, j + n, j + 2n, ..
        let mut rows: Vec<Value> = (0..n)
            .map(|j| {
                let mut parts: Vec<Value> = pieces.iter().copied().skip(j).step_by(n).collect();
                let mut width = n;
                while parts.len() > 1 {
                    width *= 2;
                    let joined: Vec<u8> = (0..width as u8).collect();
                    let wide = ty.with_lanes(width as u8);
                    parts = parts
                        .chunks(2)
                        .map(|pair| self.push(out, wide, Op::Shuffle(pair[0], pair[1], joined.clone())))
                        .collect();
                }
                parts[0]
            })
            .collect();
        // Each stage exchanges one bit of the number of a row with that of the place in it.
        let mut bit = 1;
        while bit < n {
            let last = bit * 2 == n;
            for low in (0..n).filter(|j| j & bit == 0) {
                let high = low + bit;
                let (x, y) = (rows[low], rows[high]);
                let pick = |upper: usize| -> Vec<u8> {
                    (0..lanes).map(|i| (if i & bit == 0 { i + upper } else { lanes + i - bit + upper }) as u8).collect()
                };
                for (row, upper) in [(low, 0), (high, bit)] {
                    let op = Op::Shuffle(x, y, pick(upper));
                    rows[row] = if last {
                        let result = block.members[row].2;
                        out.push(Inst { results: [result].into_iter().collect(), op });
                        result
                    } else {
                        self.push(out, ty, op)
                    };
                }
            }
            bit *= 2;
        }
    }
}

/// Are the bytes those of 0, 1, 2, ... as lanes of `i32`?
fn counts(data: &Data, ty: Ty) -> bool {
    let numbers = (0..i32::from(ty.lanes)).flat_map(i32::to_le_bytes);
    !data.writable && data.relocs.is_empty() && data.bytes.iter().copied().eq(numbers)
}

/// Neighbours among gathers from the same places, as many as a vector has lanes, or half as many, or a quarter.
fn runs(places: Places, mut members: Vec<Member>) -> Vec<Block> {
    members.sort_unstable();
    members.dedup_by_key(|member| member.0);
    let bytes = i64::from(places.ty.lane().bytes());
    let farthest = places.step * i64::from(places.ty.lanes);
    members.retain(|(offset, ..)| i32::try_from(offset + farthest).is_ok() && i32::try_from(*offset).is_ok());
    let mut blocks = Vec::new();
    for run in members.chunk_by(|a, b| b.0 - a.0 == bytes) {
        let mut rest = run;
        while rest.len() >= FEWEST && usize::from(places.ty.lanes) >= FEWEST {
            let n = 1 << rest.len().min(usize::from(places.ty.lanes)).ilog2();
            let (block, more) = rest.split_at(n);
            blocks.push(Block { places, members: block.to_vec() });
            rest = more;
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_module;
    use crate::verify::verify;

    /// Gathers and shuffles that are left of the body of `(v0: i32, v1: ptr, v2: ptr)`, lanes four floats, places 5 floats apart.
    fn left(gathers: &str) -> (usize, usize) {
        let text = format!(
            "data data0 align 16 \"\\00\\00\\00\\00\\01\\00\\00\\00\\02\\00\\00\\00\\03\\00\\00\\00\"
             func fn0 \"f\"(v0: i32, v1: ptr, v2: ptr) -> () private keep {{
               v3: i32x4 = splat v0 v4: ptr = data_addr data0 v5: i32x4 = load v4 + 0 aligned v6: i32x4 = iadd v3, v5
               v7: i32x4 = const 5 v8: i32x4 = imul v6, v7
               v9: i64x4 = sext v6 v10: i64x4 = const 5 v11: i64x4 = imul v9, v10 {gathers} return }}"
        );
        let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        assert_eq!(verify(&module), Ok(()), "{text}");
        transpose_gathers(&mut module);
        assert_eq!(verify(&module), Ok(()), "{module}");
        let text = module.to_string();
        (text.matches("= gather ").count(), text.matches("= shuffle ").count())
    }

    fn gathers(offsets: &[i32], between: &str) -> String {
        let each = offsets.iter().enumerate().map(|(k, offset)| {
            let v = 20 + 2 * k;
            format!("v{v}: f32x4 = gather v1 + {offset} [v8 * 4] {between} ")
        });
        each.collect()
    }

    #[test]
    fn four_neighbours_are_four_loads_and_a_transposition() {
        assert_eq!(left(&gathers(&[0, 4, 8, 12], "")), (0, 8));
        assert_eq!(left(&gathers(&[12, 0, 20, 4, 8, 16], "")), (2, 8));
        assert_eq!(left(&gathers(&[0, 4, 8, 12], "").replace("v8 *", "v11 *")), (0, 8));
    }

    #[test]
    fn fewer_neighbours_and_stores_between_decline() {
        assert_eq!(left(&gathers(&[0, 4, 8], "")), (3, 0));
        assert_eq!(left(&gathers(&[0, 4, 8, 16], "")), (4, 0));
        assert_eq!(left(&gathers(&[0, 4, 8, 12], "store v3, v2 + 0")), (4, 0));
    }
}
