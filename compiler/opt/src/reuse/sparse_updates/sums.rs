//! Sums of an array and one that is neutral but for a few places are updates of the array.
//!
//! ```text
//!    %c = %z with [%p] = %v   with { [%j] { %a[%j] + %c[%j] } } genarray      with zeros everywhere in %z
//! => %o = %a[%p]  %s = %o + %v  %a with [%p] = %s
//! ```
//!
//! `h = h + one_hot(v[i])` in a loop, also as a comparison of the index with a place. The same cells as in folds.
//!
//! Before: folding and fusion have ended, since updates are harder to fold. After: no such sum with an array that is not needed any more.
//! Leaves alone: reals that might be -0.0, which adding zero changes: sums that began with other zeros are not; minima and maxima of reals, for
//! the sake of NaN.
//! Worth: tests/survey/reductions/one-hot-updates (270 with Cranelift, 120 with LLVM).

use super::Cell;
use super::nest::Nest;
use super::search::{LEAST_ELEMENTS, LEAST_INSIDE, Search, elements, same_bits};
use crate::edit::{Copier, Def, substitute};
use crate::facts::{Use, covers_frame, rewrite_withs};
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, HashSet, Scalar};
use ravel_wir::{Frame, Func, Inst, Op, Region, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("sparse-sums", "make updates of sums with arrays that are neutral but for a few places", sparse_sums);

/// A sum that is an update.
struct Sum {
    array: Value,
    op: BinOp,
    cell: Cell,
}

pub fn sparse_sums(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_withs(func, |func, defs, places, (home, inst)| {
        let sum = sum((&Search { func, defs, places, cx }, home), inst)?;
        let span = func.insts[inst].span;
        let mut out = Vec::new();
        let mut same = Copier::default();
        let new = Nest { func, defs, span, op: sum.op }.combine(&mut out, sum.array, &sum.cell, &mut same);
        substitute(func, home, inst, out, [new]);
        cx.applied(span, "updates the array that is not neutral");
        Some(())
    })
}

fn sum((search, home): (&Search<'_>, Region), inst: Inst) -> Option<Sum> {
    let (func, defs) = (search.func, search.defs);
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return None };
    let ([part], [WithOp::Genarray { frame: Frame::Known(frame), .. }]) = (&parts[..], &ops[..]) else { return None };
    let result = func.insts[inst].results[0];
    let ty = func.ty(result);
    let data = &func.regions[part.body];
    let [cell] = data.yields[..] else { return None };
    let Some(&Op::Bin(op, a, b)) = defs.op(func, cell) else { return None };
    if !covers_frame(func, defs, part, frame) || !search.is_plain(part, result) {
        return None;
    }
    let own = |v: Value| match defs.op(func, v) {
        Some(Op::Sel { array, index }) if *index == data.params && func.ty(*array) == ty => Some(*array),
        _ => None,
    };
    let few = |changed: u64| {
        let small = elements(ty) < LEAST_INSIDE && search.places.is_inside_with(func, inst);
        search.cx.eager || changed * LEAST_ELEMENTS <= elements(ty) && !small
    };
    for (x, y) in [(a, b), (b, a)] {
        let Some(array) = own(x).filter(|array| search.fill(*array).is_none()) else { continue };
        if (op == BinOp::Sub && y == a) || !(op == BinOp::Sub || op.regroups()) || !ends_here(search, inst, array) {
            continue;
        }
        let found = match own(y) {
            Some(u) => {
                let Some(unit) = search.unit(op, u) else { continue };
                let mut changed = 0;
                let cell = search.cell(op, home, u, unit, &mut changed);
                cell.filter(|cell| matches!(cell, Cell::Updates(_) | Cell::Parts(_) | Cell::Compared { .. }))
                    .map(|cell| (cell, unit, changed))
            }
            None => neutral(op, ty.elem).into_iter().find_map(|unit| {
                search.compared(part, y, ty, unit, LEAST_ELEMENTS).map(|(cell, free)| (cell, unit, free))
            }),
        };
        let Some((cell, unit, changed)) = found else { continue };
        if few(changed) && absorbs(search, op, array, unit) {
            return Some(Sum { array, op, cell });
        }
    }
    None
}

/// What leaves elements as they are, or does so where none is -0.0.
fn neutral(op: BinOp, elem: Elem) -> Vec<Scalar> {
    match op {
        BinOp::Sub => Scalar::from_i64(elem, 0).into_iter().collect(),
        _ => op.identity(elem).into_iter().collect(),
    }
}

/// Whether `x op unit` is `x` for all elements of an array.
fn absorbs(search: &Search<'_>, op: BinOp, array: Value, unit: Scalar) -> bool {
    let fits = neutral(op, unit.elem()).into_iter().any(|n| same_bits(n, unit));
    fits && match op {
        _ if !unit.elem().is_float() => true,
        BinOp::Mul | BinOp::Sub => true,
        BinOp::Add => Zeros { search, assumed: HashSet::default() }.array(array),
        _ => false,
    }
}

/// Whether nothing needs the array behind the with-loop but other ways through a branch.
fn ends_here(search: &Search<'_>, inst: Inst, array: Value) -> bool {
    let places = search.places;
    let Some(home) = places.home(inst) else { return false };
    let mut around = vec![home];
    while let Some(next) = places.parent(around[around.len() - 1]) {
        around.push(next);
    }
    // Loops around the with-loop would need it again.
    let defined = places.made_in(search.defs, array);
    let Some(depth) = defined.and_then(|region| around.iter().position(|r| *r == region)) else { return false };
    let is_branch = |region: &Region| {
        places.owner_of(*region).is_some_and(|owner| matches!(search.func.insts[owner].op, Op::If { .. }))
    };
    around[..depth].iter().all(is_branch)
        && places.uses(array).iter().all(|used| match *used {
            Use::Operand(user) => {
                let extent = matches!(search.func.insts[user].op, Op::Extent { .. });
                extent || places.owners(user).any(|owner| owner == inst)
            }
            Use::Yield(region) => {
                let owner = places.owner_of(region);
                let both = around.iter().any(|r| places.owner_of(*r) == owner);
                both && !around.contains(&region) && is_branch(&region)
            }
        })
}

/// Asks whether elements of arrays are never -0.0: a sum is not unless both of its parts are.
struct Zeros<'a> {
    search: &'a Search<'a>,
    /// What loops carry, if it holds at first.
    assumed: HashSet<Value>,
}

impl Zeros<'_> {
    fn array(&mut self, v: Value) -> bool {
        let (func, defs) = (self.search.func, self.search.defs);
        match defs.get(v) {
            Def::Param(region, k) => {
                let Some(Op::Loop { init, body }) = defs.loops.get(&region).map(|i| &func.insts[*i].op) else {
                    return false;
                };
                !self.assumed.insert(v)
                    || (self.array(init[k as usize]) && self.array(func.regions[*body].yields[k as usize + 1]))
            }
            Def::Inst(inst, k) => match &func.insts[inst].op {
                Op::ConstArray(data) => !data.values.iter().any(|x| is_negative_zero(*x)),
                Op::Update { array, value, .. } => {
                    let made = if func.ty(*value).is_scalar() { self.element(*value) } else { self.array(*value) };
                    made && self.array(*array)
                }
                Op::If { then, els, .. } => {
                    let (then, els) = (func.regions[*then].yields[k as usize], func.regions[*els].yields[k as usize]);
                    self.array(then) && self.array(els)
                }
                Op::Loop { body, .. } => {
                    self.array(func.regions[*body].params[k as usize])
                        && self.array(func.regions[*body].yields[k as usize + 1])
                }
                Op::With(With { parts, ops, .. }) if ops.len() == 1 => {
                    let rest = match &ops[0] {
                        WithOp::Genarray { default, .. } => default.is_none_or(|v| self.element(v)),
                        WithOp::Modarray { array } => self.array(*array),
                        WithOp::Fold { .. } => false,
                    };
                    rest && parts.iter().all(|part| {
                        let v = func.regions[part.body].yields[0];
                        if func.ty(v).is_scalar() { self.element(v) } else { self.array(v) }
                    })
                }
                _ => false,
            },
            Def::None => false,
        }
    }

    fn element(&mut self, v: Value) -> bool {
        let (func, defs) = (self.search.func, self.search.defs);
        match defs.op(func, v) {
            Some(Op::Const(x)) => !is_negative_zero(*x),
            Some(Op::Bin(BinOp::Add, a, b)) => self.element(*a) || self.element(*b),
            Some(Op::Sel { array, .. }) => self.array(*array),
            Some(Op::Select { then, els, .. }) => self.element(*then) && self.element(*els),
            _ => false,
        }
    }
}

fn is_negative_zero(x: Scalar) -> bool {
    match x {
        Scalar::F64(x) => x == 0.0 && x.is_sign_negative(),
        Scalar::F32(x) => x == 0.0 && x.is_sign_negative(),
        _ => false,
    }
}
