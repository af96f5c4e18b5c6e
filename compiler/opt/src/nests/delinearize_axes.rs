//! Axes that bodies take apart by division become two.
//!
//! ```text
//!    genarray { [k, t] < [n, 16] -> x[k, t / 4] * y[k, t % 4] }
//! => reshape [n, 16] genarray { [k, q, r] < [n, 4, 4] -> x[k, q] * y[k, r] }
//! ```
//!
//! Quotient and remainder are then indices, whose loads are vectors or single elements instead of gathers. Digits of an index
//! (`t / 16`, `t / 4 % 4`, `t % 4`) become an axis each.
//!
//! Before: the cycle of folding has ended. After: no index of an outermost with-loop that makes arrays has quotients and remainders by a
//! divisor of its extent that selections depend on, where vectors of one remainder axis are worth more than gathers.
//! Leaves alone: folds, several partitions, extents that only the run knows, and what `interleave` makes.
//! Worth: tests/survey/with-loops/grouped-scales (2.4 with Cranelift, 1.0 with LLVM).

use crate::edit::{Defs, Renames, drop_inst, prepend, push_op, replace_inst};
use crate::facts::{Places, cost_of_region, covers_frame};
use crate::pass::{Context, Pass};
use ravel_source::Span;
use ravel_types::{Affine, BinOp, Elem, HashSet, Scalar, Shape, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Region, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("delinearize-axes", "make two axes of one whose index is divided by a constant", delinearize_axes);

/// Bytes of the widest vectors.
const VECTOR_BYTES: i32 = 64;
/// Cycles per lane of a gather, where a vector operation takes one.
const GATHERED_LANE: f64 = 0.7;
/// Most axes that one is made into.
const MOST: usize = 4;

/// An axis to be split.
struct Plan {
    axis: usize,
    /// The extent of the new second axis, and of the first.
    inner: i32,
    outer: i32,
    /// Quotients and remainders of the index, with their divisors.
    taken: Vec<(Inst, BinOp, i32)>,
}

pub fn delinearize_axes(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    for inst in Places::new(func).withs {
        let span = func.insts[inst].span;
        // The last axis first, then what is left of it.
        let (mut at, mut axis) = (inst, None);
        for round in 0..MOST {
            let (defs, places) = (Defs::new(func), Places::new(func));
            match plan(func, &defs, &places, at, axis) {
                Err(None) => break,
                Err(Some(why)) => {
                    cx.refused(span, why);
                    break;
                }
                Ok(plan) => {
                    axis = Some(plan.axis);
                    at = split(func, &places, at, &plan);
                    changed = true;
                    if round == 0 {
                        let (outer, inner) = (plan.outer, plan.inner);
                        cx.applied(span, format!("its last axis is {outer} by {inner}, for quotients and remainders of the index by {inner}"));
                    }
                }
            }
        }
    }
    changed
}

/// How an axis, the last one unless it is given, is to be split; `Err(None)` if nothing divides its index.
fn plan(func: &Func, defs: &Defs, places: &Places, inst: Inst, axis: Option<usize>) -> Result<Plan, Option<String>> {
    let Op::With(with) = &func.insts[inst].op else { return Err(None) };
    let [part] = &with.parts[..] else { return Err(None) };
    let scalars = |op: &WithOp| {
        matches!(op, WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. }
        if cell.is_empty() && covers_frame(func, defs, part, frame))
    };
    if with.ordered || places.is_inside_with(func, inst) || with.ops.is_empty() || !with.ops.iter().all(scalars) {
        return Err(None);
    }
    let body = &func.regions[part.body];
    let is_last = axis.is_none();
    let axis = axis.or(body.params.len().checked_sub(1)).ok_or(None)?;
    let Some(&index) = body.params.get(axis) else { return Err(None) };
    let Digits { taken, gathers, loads, .. } = digits(func, defs, part.body, index);
    let inner = taken.iter().map(|(.., by)| *by).min().ok_or(None)?;
    if gathers == 0 || taken.iter().any(|(.., by)| by % inner != 0) {
        return Err(None);
    }
    let ty = func.ty(func.insts[inst].results[0]);
    let extent = ty.shape.extents().and_then(|extents| extents[axis].as_const());
    let Some(extent) = extent.filter(|n| n % inner == 0) else {
        return Err(Some(match extent {
            Some(n) => format!("its index is divided by {inner}, which does not divide the extent {n}"),
            None => format!("its index is divided by {inner}, but only the run knows whether that divides the extent"),
        }));
    };
    if extent <= inner {
        return Err(None);
    }
    let lanes = f64::from((VECTOR_BYTES / ty.elem.bytes() as i32).max(1));
    let work = cost_of_region(func, defs, part.body).arithmetic + f64::from(loads) + 1.0;
    let shorter = (lanes / f64::from(inner) - 1.0).max(0.0);
    if is_last && work * shorter > GATHERED_LANE * lanes * f64::from(gathers) {
        return Err(Some(format!(
            "its index is divided by {inner}, but rows of {inner} would not fill vectors, which {work:.0} operations per element need"
        )));
    }
    Ok(Plan { axis, inner, outer: extent / inner, taken })
}

/// Quotients and remainders of an index by constants.
pub struct Digits {
    /// With their divisors.
    pub taken: Vec<(Inst, BinOp, i32)>,
    /// Selections at places that they enter.
    pub gathers: i32,
    /// Selections at the index itself, or at a distance from it.
    pub direct: i32,
    /// All selections.
    pub loads: i32,
}

/// What a body takes its index apart into.
pub fn digits(func: &Func, defs: &Defs, body: Region, index: Value) -> Digits {
    let mut found = Digits { taken: Vec::new(), gathers: 0, direct: 0, loads: 0 };
    let (mut digits, mut shifted) = (HashSet::default(), HashSet::from_iter([index]));
    walk(func, body, &mut |_, at| match &func.insts[at].op {
        Op::Bin(op @ (BinOp::Div | BinOp::Mod | BinOp::AplMod), a, b) if *a == index => {
            if let Some(by) = defs.int(func, *b).filter(|by| *by > 1) {
                found.taken.push((at, *op, by));
                digits.insert(func.insts[at].results[0]);
            }
        }
        Op::Bin(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Mod), a, b) => {
            let result = func.insts[at].results[0];
            if digits.contains(a) || digits.contains(b) {
                digits.insert(result);
            }
            if matches!(op, BinOp::Add | BinOp::Sub) && (shifted.contains(a) || shifted.contains(b)) {
                shifted.insert(result);
            }
        }
        Op::Sel { index, .. } => {
            found.loads += 1;
            found.gathers += i32::from(index.iter().any(|i| digits.contains(i)));
            found.direct += i32::from(index.iter().any(|i| shifted.contains(i)));
        }
        _ => {}
    });
    found
}

/// Instructions under construction, in front of others.
struct Made<'a> {
    func: &'a mut Func,
    list: Vec<Inst>,
    span: Span,
}

impl Made<'_> {
    fn emit(&mut self, op: Op, ty: Ty) -> Value {
        push_op(self.func, &mut self.list, op, ty, self.span)
    }

    fn int(&mut self, k: i32) -> Value {
        self.emit(Op::Const(Scalar::I32(k)), Ty::scalar(Elem::I32))
    }

    fn with(&mut self, op: BinOp, a: Value, k: i32) -> Value {
        let k = self.int(k);
        self.emit(Op::Bin(op, a, k), Ty::scalar(Elem::I32))
    }

    fn add(&mut self, a: Value, b: Value) -> Value {
        self.emit(Op::Bin(BinOp::Add, a, b), Ty::scalar(Elem::I32))
    }
}

/// Puts the with-loop with one axis more in the place of the one it was, and gives it.
fn split(func: &mut Func, places: &Places, inst: Inst, plan: &Plan) -> Inst {
    let Some(region) = places.home(inst) else { return inst };
    let span = func.insts[inst].span;
    let Op::With(With { mut parts, mut ops, ordered }) = func.insts[inst].op.clone() else { return inst };
    let mut made = Made { func, list: Vec::new(), span };
    let (zero, outer, inner) = (made.int(0), made.int(plan.outer), made.int(plan.inner));
    let axes = plan.axis..=plan.axis;
    if let Generator::Known { lower, upper, .. } = &mut parts[0].generator {
        lower.splice(axes.clone(), [zero, zero]);
        upper.splice(axes.clone(), [outer, inner]);
    }
    let mut shapes = Vec::new();
    for op in &mut ops {
        if let WithOp::Genarray { frame: Frame::Known(frame), default, .. } = op {
            shapes.push(frame.clone());
            frame.splice(axes.clone(), [outer, inner]);
            *default = None;
        }
    }
    let (before, func) = (made.list, made.func);
    let results = func.insts[inst].results.clone();
    let types = results.iter().map(|v| {
        let ty = func.ty(*v);
        let mut extents = ty.shape.extents().unwrap_or_default().to_vec();
        extents.splice(axes.clone(), [Affine::constant(plan.outer), Affine::constant(plan.inner)]);
        Ty::new(ty.elem, Shape::Known(extents))
    });
    let types: Vec<Ty> = types.collect();

    let body = parts[0].body;
    let (q, r) = (func.new_value(Ty::scalar(Elem::I32)), func.new_value(Ty::scalar(Elem::I32)));
    let old = func.regions[body].params[plan.axis];
    func.regions[body].params.splice(axes, [q, r]);
    let mut head = Made { func, list: Vec::new(), span };
    let mut renames = Renames::default();
    let scaled = head.with(BinOp::Mul, q, plan.inner);
    let whole = head.add(scaled, r);
    renames.set(old, whole);
    for (at, op, by) in &plan.taken {
        let rest = by / plan.inner;
        let new = match op {
            BinOp::Div if rest == 1 => q,
            BinOp::Div => head.with(BinOp::Div, q, rest),
            _ if rest == 1 => r,
            _ => {
                let digit = head.with(BinOp::Mod, q, rest);
                let digit = head.with(BinOp::Mul, digit, plan.inner);
                head.add(digit, r)
            }
        };
        renames.set(head.func.insts[*at].results[0], new);
    }
    let (head, func) = (head.list, head.func);
    // Divisions that are left would look like work to other passes.
    for (at, ..) in &plan.taken {
        if let Some(home) = places.home(*at) {
            drop_inst(func, home, *at);
        }
    }
    prepend(func, body, head);
    renames.apply_region(func, body);

    let new = func.make_inst(Op::With(With { parts, ops, ordered }), types, span);
    let arrays = func.insts[new].results.clone();
    let reshapes = results.into_iter().zip(arrays).zip(shapes);
    let reshapes: Vec<Inst> = reshapes
        .map(|((result, array), shape)| {
            let op = Op::Reshape { array, shape };
            func.insts.push(ravel_wir::InstData { op, results: vec![result], span })
        })
        .collect();
    replace_inst(func, region, inst, [before, vec![new], reshapes].concat());
    new
}
