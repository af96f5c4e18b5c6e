//! Versions of with-loops of unknown rank that take arrays element by element: one axis goes through all elements.
//!
//! ```text
//!    fold add { dyn lower <= iv < upper -> a[iv] }
//! => if lower is zero, upper is the shape of a, n = its product fits an index
//!    then (b = reshape(a, [n]); fold add { [0] <= [i] < [n] -> b[i] })
//!    else fold add { dyn lower <= iv < upper -> a[iv] }
//! ```
//!
//! An index of unknown rank is a vector in memory that the runtime counts up, and every selection calls it. One axis has lanes and threads, and sums
//! of reals are added up there as they are for known ranks. Row-major order stays, so that any operation may be folded so.
//!
//! Before: the cycle of folding has ended, for branches stand in its way. After: such with-loops stand in branches of a test.
//! Leaves alone: bodies that use the index for anything but whole selections of scalars, that hold much code or with-loops of their own; generators with steps.
//! Worth: tests/survey/reductions/open-rank-sum (120 with Cranelift).

use crate::edit::{Copier, Defs, Emitter, insts_where, size_of, version_of};
use crate::facts::{Places, rewrite_withs};
use crate::pass::{Context, Pass};
use ravel_types::{Affine, BinOp, Elem, Scalar, Shape, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("version-open-ranks", "one axis through all elements of arrays of unknown rank", version_open_ranks);

/// Most instructions of a body that is copied.
const MAX_CODE: usize = 60;
/// Most with-loops of a function that have a version.
const MAX_VERSIONS: usize = 16;

/// What is to hold, and what goes through all elements then.
struct Plan {
    lower: Value,
    upper: Value,
    /// The arrays that are read at the index, and the selections.
    arrays: Vec<Value>,
    selections: Vec<Inst>,
    /// Shapes that are made, where they are not the upper bound itself.
    frames: Vec<Value>,
}

pub fn version_open_ranks(func: &mut Func, cx: &mut Context) -> bool {
    let mut made = 0;
    rewrite_withs(func, |func, defs, places, (home, inst)| {
        let plan = match plan(func, defs, places, inst) {
            Ok(plan) if made < MAX_VERSIONS => plan,
            Ok(_) => return None,
            Err(why) => {
                if let Some(why) = why {
                    cx.refused(func.insts[inst].span, why);
                }
                return None;
            }
        };
        made += 1;
        apply(func, defs, (home, inst), &plan);
        cx.applied(
            func.insts[inst].span,
            "made in two versions: one axis goes through all elements where it reads whole arrays",
        );
        Some(())
    })
}

fn plan(func: &Func, defs: &Defs, places: &Places, inst: Inst) -> Result<Plan, Option<&'static str>> {
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return Err(None) };
    let [Part { generator: Generator::Dyn { lower, upper, step, width }, body }] = &parts[..] else { return Err(None) };
    if step.is_some() || width.is_some() {
        return Err(Some("its generator of unknown rank has steps"));
    }
    // What runs for every index of another with-loop is small, and tests cost time.
    if places.is_inside_with(func, inst) {
        return Err(None);
    }
    let mut frames = Vec::new();
    for (op, result) in ops.iter().zip(&func.insts[inst].results) {
        match op {
            WithOp::Fold { neutral, stop: None, combine }
                if func.ty(*neutral).is_scalar() && func.ty(*result).is_scalar() =>
            {
                if matches!(combine, Combine::Region(region) if size_of(func, *region) > MAX_CODE) {
                    return Err(None);
                }
            }
            WithOp::Genarray { frame: Frame::Dyn(frame), cell: Some(cell), .. } if cell.is_empty() => {
                if frame != upper {
                    frames.push(*frame);
                }
            }
            _ => return Err(None),
        }
    }
    let index = func.regions[*body].params[0];
    let selections: Vec<Inst> =
        insts_where(func, *body, |op| matches!(op, Op::SelDyn { index: at, .. } if *at == index))
            .into_iter()
            .map(|(_, inst)| inst)
            .collect();
    if selections.is_empty() {
        return Err(None);
    }
    let mut uses = 0;
    let mut nested = false;
    ravel_wir::traverse::walk(func, *body, &mut |_, inst| {
        let op = &func.insts[inst].op;
        nested |= matches!(op, Op::With(_) | Op::Loop { .. });
        op.for_each_operand(|v| uses += usize::from(v == index));
    });
    uses += func.regions[*body].yields.iter().filter(|v| **v == index).count();
    if uses > selections.len() {
        return Err(Some("its index of unknown rank is used for more than to read elements"));
    }
    if nested || size_of(func, *body) > MAX_CODE {
        return Err(Some("its body of unknown rank is too large for a second version"));
    }
    let mut arrays = Vec::new();
    let mut outside = true;
    for &selection in &selections {
        let Op::SelDyn { array, .. } = func.insts[selection].op else { continue };
        outside &= func.ty(func.insts[selection].results[0]).is_scalar() && !func.ty(array).is_scalar();
        outside &= !defs.inst(array).is_some_and(|maker| places.owners(maker).any(|owner| owner == inst));
        if !arrays.contains(&array) {
            arrays.push(array);
        }
    }
    if !outside {
        return Err(Some("it selects more than elements of whole arrays"));
    }
    Ok(Plan { lower: *lower, upper: *upper, arrays, selections, frames })
}

fn apply(func: &mut Func, defs: &mut Defs, (home, inst): (Region, Inst), plan: &Plan) {
    let span = func.insts[inst].span;
    let mut before = Vec::new();
    let mut e = Emitter { func, defs, out: &mut before, span };
    let rank = e.emit(Op::Extent { array: plan.upper, axis: 0 }, Ty::scalar(Elem::I32));
    let zero = e.int(0);
    let yes = Scalar::Bool(true);
    let mut holds = over_axes(&mut e, rank, BinOp::And, yes, |e, k| {
        let low = e.emit(Op::Sel { array: plan.lower, index: vec![k] }, Ty::scalar(Elem::I32));
        e.emit(Op::Bin(BinOp::Eq, low, zero), Ty::scalar(Elem::Bool))
    });
    let mut both =
        |e: &mut Emitter, more: Value| holds = e.emit(Op::Bin(BinOp::And, holds, more), Ty::scalar(Elem::Bool));
    // Reals do not wrap; up to the largest index they are exact.
    let real = over_axes(&mut e, rank, BinOp::Mul, Scalar::F64(1.0), |e, k| {
        let extent = e.emit(Op::Sel { array: plan.upper, index: vec![k] }, Ty::scalar(Elem::I32));
        e.emit(Op::Convert(extent), Ty::scalar(Elem::F64))
    });
    let most = e.constant(Scalar::F64(f64::from(i32::MAX)));
    let fits = e.emit(Op::Bin(BinOp::Le, real, most), Ty::scalar(Elem::Bool));
    both(&mut e, fits);
    let shapes: Vec<Value> = plan
        .arrays
        .iter()
        .map(|array| {
            let sym = Affine::sym(e.func.fresh_sym());
            e.emit(Op::ShapeVec(*array), Ty::new(Elem::I32, Shape::Known(vec![sym])))
        })
        .collect();
    for shape in shapes.into_iter().chain(plan.frames.iter().copied()) {
        let length = e.emit(Op::Extent { array: shape, axis: 0 }, Ty::scalar(Elem::I32));
        let as_long = e.emit(Op::Bin(BinOp::Eq, length, rank), Ty::scalar(Elem::Bool));
        both(&mut e, as_long);
        let common = e.int_op(BinOp::Min, length, rank);
        let same = over_axes(&mut e, common, BinOp::And, yes, |e, k| {
            let [x, y] =
                [shape, plan.upper].map(|array| e.emit(Op::Sel { array, index: vec![k] }, Ty::scalar(Elem::I32)));
            e.emit(Op::Bin(BinOp::Eq, x, y), Ty::scalar(Elem::Bool))
        });
        both(&mut e, same);
    }
    let n = over_axes(&mut e, rank, BinOp::Mul, Scalar::I32(1), |e, k| {
        e.emit(Op::Sel { array: plan.upper, index: vec![k] }, Ty::scalar(Elem::I32))
    });
    let fast = flat(func, defs, inst, plan, n);
    version_of(func, home, inst, (holds, fast), before);
}

/// A fold over the axes of a shape of so many.
fn over_axes(
    e: &mut Emitter,
    rank: Value,
    op: BinOp,
    neutral: Scalar,
    cell: impl FnOnce(&mut Emitter, Value) -> Value,
) -> Value {
    let neutral_value = e.constant(neutral);
    let zero = e.int(0);
    let k = e.func.new_value(Ty::scalar(Elem::I32));
    let mut insts = Vec::new();
    let mut inner = Emitter { func: &mut *e.func, defs: &mut *e.defs, out: &mut insts, span: e.span };
    let value = cell(&mut inner, k);
    let body = e.func.regions.push(RegionData { params: vec![k], insts, yields: vec![value] });
    let generator = Generator::Known { lower: vec![zero], upper: vec![rank], step: None, width: None };
    let with = With {
        parts: vec![Part { generator, body }],
        ops: vec![WithOp::Fold { neutral: neutral_value, combine: Combine::Op(op), stop: None }],
        ordered: false,
    };
    e.emit(Op::With(with), Ty::scalar(neutral.elem()))
}

/// The with-loop over all `n` elements, with results like those of `inst`.
fn flat(func: &mut Func, defs: &mut Defs, inst: Inst, plan: &Plan, n: Value) -> RegionData {
    let span = func.insts[inst].span;
    let mut insts = Vec::new();
    let mut e = Emitter { func, defs, out: &mut insts, span };
    let zero = e.int(0);
    let vector = |func: &mut Func, like: Value| {
        let (elem, sym) = (func.ty(like).elem, Affine::sym(func.fresh_sym()));
        Ty::new(elem, Shape::Known(vec![sym]))
    };
    let mut flat_arrays = Vec::new();
    for &array in &plan.arrays {
        let ty = vector(e.func, array);
        flat_arrays.push(e.emit(Op::Reshape { array, shape: vec![n] }, ty));
    }
    let Op::With(with) = e.func.insts[inst].op.clone() else { unreachable!("planned for a with-loop") };
    let body = with.parts[0].body;
    let mut copier = Copier::within(e.func, body);
    let i = e.func.new_value(Ty::scalar(Elem::I32));
    // The selections are the only ones that read the index.
    let mut of_selection = Vec::new();
    for &selection in &plan.selections {
        let Op::SelDyn { array, .. } = e.func.insts[selection].op else { continue };
        let at = plan.arrays.iter().position(|a| *a == array).expect("planned");
        of_selection.push((selection, flat_arrays[at]));
    }
    let before: Vec<(Inst, Op)> = of_selection
        .iter()
        .map(|&(selection, array)| {
            let element = Op::Sel { array, index: vec![i] };
            (selection, std::mem::replace(&mut e.func.insts[selection].op, element))
        })
        .collect();
    let mut inside = Vec::new();
    let yields = copier.splice(e.func, body, &mut inside);
    for (selection, op) in before {
        e.func.insts[selection].op = op;
    }
    let body = e.func.regions.push(RegionData { params: vec![i], insts: inside, yields });
    let generator = Generator::Known { lower: vec![zero], upper: vec![n], step: None, width: None };
    let mut types = Vec::new();
    let mut frames = Vec::new();
    let mut ops = Vec::new();
    for (op, result) in with.ops.iter().zip(e.func.insts[inst].results.clone()) {
        match op {
            WithOp::Genarray { frame: Frame::Dyn(frame), .. } => {
                types.push(vector(e.func, result));
                frames.push(Some(*frame));
                ops.push(WithOp::Genarray { frame: Frame::Known(vec![n]), cell: Some(Vec::new()), default: None });
            }
            other => {
                let mut op = other.clone();
                if let WithOp::Fold { combine: Combine::Region(region), .. } = &mut op {
                    *region = Copier::within(e.func, *region).region(e.func, *region);
                }
                types.push(e.func.ty(result).clone());
                frames.push(None);
                ops.push(op);
            }
        }
    }
    let with = With { parts: vec![Part { generator, body }], ops, ordered: false };
    let made = e.func.make_inst(Op::With(with), types, span);
    e.defs.add_inst(e.func, made);
    e.out.push(made);
    let mut yields = Vec::new();
    for ((value, frame), result) in
        e.func.insts[made].results.clone().into_iter().zip(frames).zip(e.func.insts[inst].results.clone())
    {
        yields.push(match frame {
            Some(shape) => {
                let ty = e.func.ty(result).clone();
                e.emit(Op::ReshapeDyn { array: value, shape }, ty)
            }
            None => value,
        });
    }
    RegionData { params: Vec::new(), insts, yields }
}
