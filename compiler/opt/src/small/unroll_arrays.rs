//! Folds of a few arrays whose index sets depend on the index become one with-loop over the elements.
//!
//! ```text
//!    fold add { [k] -> genarray { [i] < [k] -> a[i + 4 - k];  [k] <= [i] < [4] -> a[i - k] } }  over [0] <= [k] < [2]
//! => genarray { [i] -> neutral[i] + x0[i] + x1[i] }     // x0 and x1 are the arrays for 0 and 1
//! ```
//!
//! Sums of rotated or shifted arrays, as programs in APL's style write their stencils: with constants for the index the partitions are known,
//! folding takes them in, and a stencil with its borders is what remains. No array is added to another one.
//!
//! Before: scalarised, so that folds whose cells have the same indices throughout are folds of elements. After: no such fold that is short.
//! Leaves alone: small arrays, which become scalars elsewhere; bodies with checks or effects; and folds that would be too much code.
//! Worth: tests/survey/tables/life-rotations (38 with Cranelift, 38 with LLVM).

use crate::edit::{Copier, Defs, Emitter, insert_before, size_of};
use crate::facts::{region_has_effect, rewrite_withs, total_trips};
use crate::pass::{Context, Pass};
use crate::small::unroll_small::indices;
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, RegionData, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("unroll-arrays", "write out folds of a few arrays whose index sets depend on the index", unroll_arrays);

/// Most arrays: the neighbours in three dimensions.
const MAX_ARRAYS: u64 = 27;
/// Most instructions that all bodies have together.
const MAX_CODE: u64 = 1500;
/// Arrays of no more elements are not worth a with-loop of their own.
const MIN_ELEMENTS: usize = 64;

pub fn unroll_arrays(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_withs(func, |func, defs, _, (region, inst)| {
        let Op::With(with) = func.insts[inst].op.clone() else { return None };
        let [WithOp::Fold { neutral, combine: Combine::Op(op), stop: None }] = with.ops[..] else { return None };
        let span = func.insts[inst].span;
        if !examine(func, defs, cx, inst, &with).map_err(|why| cx.refused(span, why)).ok()? {
            return None;
        }
        let before = write_out(func, defs, inst, &with, (neutral, op));
        insert_before(func, region, inst, before);
        cx.applied(span, "its arrays are written out, and one with-loop combines their elements");
        Some(())
    })
}

/// Is it a fold of arrays that with-loops of its bodies make, each for indices of its own?
fn examine(func: &Func, defs: &Defs, cx: &Context, inst: Inst, with: &With) -> Result<bool, &'static str> {
    let ty = func.ty(func.insts[inst].results[0]);
    let Some(extents) = ty.shape.extents().filter(|extents| !extents.is_empty()) else { return Ok(false) };
    let elements = extents.iter().map(|n| n.as_const()).try_fold(1usize, |all, n| all.checked_mul(n? as usize));
    let is_small = !cx.eager && elements.is_some_and(|n| n <= MIN_ELEMENTS);
    if with.ordered || with.parts.is_empty() || ty.elem == Elem::Handle || is_small {
        return Ok(false);
    }
    for part in &with.parts {
        let body = &func.regions[part.body];
        let made = defs.inst(body.yields[0]).filter(|made| body.insts.contains(made));
        let Some(Op::With(cell)) = made.map(|made| &func.insts[made].op) else { return Ok(false) };
        let whole = matches!(&cell.ops[..], [WithOp::Genarray { frame: Frame::Known(frame), .. }] if frame.len() == extents.len());
        let known = |p: &Part| matches!(p.generator, Generator::Known { .. });
        if !whole || !cell.parts.iter().all(known) {
            return Ok(false);
        }
    }
    let Some(trips) = total_trips(func, defs, with) else { return Ok(false) };
    let code = with.parts.iter().map(|p| size_of(func, p.body) as u64).max().unwrap_or(0);
    if with.parts.iter().any(|part| region_has_effect(func, part.body, cx)) {
        Err("its arrays have index sets of their own, and checks or effects stand before them")
    } else if trips > MAX_ARRAYS || trips * code > MAX_CODE {
        Err("its arrays have index sets of their own, and there are too many of them to write them out")
    } else {
        Ok(true)
    }
}

/// Makes the with-loop one over the elements, and gives the instructions that make the arrays.
fn write_out(func: &mut Func, defs: &mut Defs, inst: Inst, with: &With, (neutral, op): (Value, BinOp)) -> Vec<Inst> {
    let span = func.insts[inst].span;
    let ty = func.ty(func.insts[inst].results[0]).clone();
    let extents = ty.shape.extents().map(<[_]>::to_vec).unwrap_or_default();
    let mut out = Vec::new();
    let mut arrays = Vec::new();
    for part in &with.parts {
        let params = func.regions[part.body].params.clone();
        for index in indices(func, defs, part) {
            let mut e = Emitter { func: &mut *func, defs: &mut *defs, out: &mut out, span };
            let constants: Vec<Value> = index.iter().map(|i| e.int(*i)).collect();
            let mut copier = Copier::within(func, part.body);
            copier.values.extend(params.iter().copied().zip(constants));
            arrays.extend(copier.splice(func, part.body, &mut out));
        }
    }
    let mut e = Emitter { func: &mut *func, defs: &mut *defs, out: &mut out, span };
    let frame: Vec<Value> = (0u32..)
        .zip(&extents)
        .map(|(axis, extent)| match extent.as_const() {
            Some(n) => e.int(n),
            None => e.emit(Op::Extent { array: neutral, axis }, Ty::scalar(Elem::I32)),
        })
        .collect();
    let zeros = frame.iter().map(|_| e.int(0)).collect();
    let params: Vec<Value> = frame.iter().map(|_| func.new_value(Ty::scalar(Elem::I32))).collect();
    let mut insts = Vec::new();
    let mut e = Emitter { func: &mut *func, defs: &mut *defs, out: &mut insts, span };
    let elem = Ty::scalar(ty.elem);
    let mut total = e.emit(Op::Sel { array: neutral, index: params.clone() }, elem.clone());
    for array in arrays {
        let element = e.emit(Op::Sel { array, index: params.clone() }, elem.clone());
        total = e.emit(Op::Bin(op, total, element), elem.clone());
    }
    let body = func.regions.push(RegionData { params, insts, yields: vec![total] });
    let generator = Generator::Known { lower: zeros, upper: frame.clone(), step: None, width: None };
    let ops = vec![WithOp::Genarray { frame: Frame::Known(frame), cell: Some(Vec::new()), default: None }];
    func.insts[inst].op = Op::With(With { parts: vec![Part { generator, body }], ops, ordered: false });
    out
}
