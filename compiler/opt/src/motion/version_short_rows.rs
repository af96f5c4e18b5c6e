//! Versions of array-making with-loops for rows of one, two and four indices.
//!
//! ```text
//!    loop (m = n) { s = n / m; genarray [m] { [p] -> genarray [s] { [q] -> f(p, q) } }; m / 2 }
//! => loop (m = n) { s = n / m; if s == 1 then genarray [m] { [p] -> genarray [1] { [q] -> f(p, q) } } else if s == 2 ... }
//! ```
//!
//! A row is a loop of its own, with lanes along it, which costs more than a few indices do: iterations of a Fourier transform whose rows are
//! shorter than a vector take two to four times as long as others. Rows of known length are written out, and lanes run along the
//! axis around them. That rows are short at all is likely where their length changes from iteration to iteration of a loop.
//!
//! Before: the cycle of folding has ended, for branches stand in its way; invariant scalars are outside of loops. After: such with-loops
//! stand in the branches of tests, all but one with rows of constant length.
//! Leaves alone: rows of a length that no loop changes, that differs from index to index, or that is not known to be the only one in the
//! body; with-loops with few rows; large bodies.
//! Worth: tests/survey/tables/hadamard-stockham (1.1 with Cranelift, 2.0 with LLVM).

use crate::edit::{Copier, Defs, Emitter, collect_values, size_of, substitute, syms_of};
use crate::facts::{Places, rewrite_withs};
use crate::pass::{Context, Pass};
use ravel_types::{Affine, BinOp, Elem, HashSet, Shape, Sym, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("version-short-rows", "versions of with-loops for rows of one, two and four indices", version_short_rows);

/// Lengths that have a version.
const LENGTHS: [i32; 3] = [1, 2, 4];
/// Most instructions of a body that is copied.
const MAX_CODE: usize = 120;
/// Rows at least, if their number is constant.
const LEAST_ROWS: i32 = 32;

pub fn version_short_rows(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_withs(func, |func, defs, places, (home, inst)| {
        let length = row_length(func, places, defs, inst)?;
        let span = func.insts[inst].span;
        let code: usize = func.insts[inst].op.regions().iter().map(|r| size_of(func, *r)).sum();
        if code > MAX_CODE {
            cx.refused(span, format!("a version for short rows would take {code} more instructions"));
            return None;
        }
        branch(func, defs, (home, inst), length);
        cx.applied(span, "made in four versions: for rows of one, two and four indices, and of any number");
        Some(())
    })
}

/// The number of indices of the rows that a with-loop's body makes or adds up, or that it has itself, if a loop around it may change that.
fn row_length(func: &Func, places: &Places, defs: &Defs, inst: Inst) -> Option<Value> {
    let Op::With(with) = &func.insts[inst].op else { return None };
    let known = |op: &WithOp| matches!(op, WithOp::Genarray { frame: Frame::Known(_), cell: Some(_), .. });
    let [part] = &with.parts[..] else { return None };
    if with.ordered || places.is_inside_with(func, inst) || !with.ops.iter().all(known) {
        return None;
    }
    let rows = *bounds_from_zero(func, defs, part)?.first()?;
    if defs.int(func, rows).is_some_and(|n| n < LEAST_ROWS) {
        return None;
    }
    let mut lengths = Vec::new();
    let mut plain = true;
    own_row(func, defs, part, &mut lengths);
    walk(func, part.body, &mut |_, at| match &func.insts[at].op {
        Op::With(inner) => match &inner.parts[..] {
            [part] if bounds_from_zero(func, defs, part).is_some() => lengths.extend(row_of(func, defs, part)),
            _ => plain = false,
        },
        Op::Loop { .. } | Op::Call { .. } => plain = false,
        _ => {}
    });
    lengths.dedup();
    let [length] = lengths[..] else { return None };
    (plain && length != rows && changes(func, places, defs, inst, length)).then_some(length)
}

/// The row of a with-loop with several axes.
fn own_row(func: &Func, defs: &Defs, part: &Part, lengths: &mut Vec<Value>) {
    if matches!(&part.generator, Generator::Known { lower, .. } if lower.len() > 1) {
        lengths.extend(row_of(func, defs, part));
    }
}

/// The number of indices along the last axis of a partition, if it is not a constant.
fn row_of(func: &Func, defs: &Defs, part: &Part) -> Option<Value> {
    let last = *bounds_from_zero(func, defs, part)?.last()?;
    defs.int(func, last).is_none().then_some(last)
}

/// The upper bounds of a partition that begins at zero and has every index below them.
fn bounds_from_zero<'f>(func: &'f Func, defs: &Defs, part: &'f Part) -> Option<&'f [Value]> {
    match &part.generator {
        Generator::Known { lower, upper, step: None, .. } if lower.iter().all(|l| defs.int(func, *l) == Some(0)) => {
            Some(upper)
        }
        _ => None,
    }
}

/// Is a value made in a loop around an instruction, outside of the instruction?
fn changes(func: &Func, places: &Places, defs: &Defs, inst: Inst, value: Value) -> bool {
    let Some(at) = places.made_in(defs, value).and_then(|region| places.within(region, inst)) else { return false };
    places.owners(at).any(|owner| matches!(func.insts[owner].op, Op::Loop { .. }))
}

/// Puts the with-loop and copies of it into the branches of tests.
fn branch(func: &mut Func, defs: &mut Defs, (home, inst): (Region, Inst), length: Value) {
    let span = func.insts[inst].span;
    let results = func.insts[inst].results.clone();
    let types: Vec<Ty> = results.iter().map(|v| func.ty(*v).clone()).collect();
    let row_syms = syms_of_rows(func, inst, length);
    let general = func.regions.push(RegionData { params: Vec::new(), insts: vec![inst], yields: results.clone() });
    let (mut els, mut out) = (general, Vec::new());
    for n in LENGTHS.into_iter().rev() {
        if !out.is_empty() {
            let yields = last_results(func, &out);
            els = func.regions.push(RegionData { params: Vec::new(), insts: std::mem::take(&mut out), yields });
        }
        let then = version(func, defs, inst, length, n, &row_syms);
        let mut e = Emitter { func, defs, out: &mut out, span };
        let known = e.int(n);
        let cond = e.int_op(BinOp::Eq, length, known);
        out.push(func.make_inst(Op::If { cond, then, els }, types.clone(), span));
    }
    let made = last_results(func, &out);
    substitute(func, home, inst, out, made);
    // Its branch keeps the names.
    func.regions[general].yields = results;
}

fn last_results(func: &Func, insts: &[Inst]) -> Vec<Value> {
    insts.last().map(|inst| func.insts[*inst].results.to_vec()).unwrap_or_default()
}

/// The symbols that are the length of rows in the types of what the with-loop makes.
fn syms_of_rows(func: &Func, inst: Inst, length: Value) -> Vec<Sym> {
    let mut found = Vec::new();
    let mut note = |with: &With, results: &[Value]| {
        for (op, result) in with.ops.iter().zip(results) {
            let WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. } = op else { continue };
            let extents = func.ty(*result).shape.extents().unwrap_or_default();
            let of_length = frame.iter().chain(cell).zip(extents).filter(|(v, _)| **v == length);
            found.extend(of_length.filter_map(|(_, extent)| extent.as_sym()));
        }
    };
    let mut visit = |at: Inst| {
        if let Op::With(with) = &func.insts[at].op {
            note(with, &func.insts[at].results);
        }
    };
    visit(inst);
    func.insts[inst].op.regions().into_iter().for_each(|region| walk(func, region, &mut |_, at| visit(at)));
    found.sort();
    found.dedup();
    found
}

/// A region with a copy of the with-loop whose rows have `n` indices; arrays from outside with such rows are views of that shape.
fn version(func: &mut Func, defs: &mut Defs, inst: Inst, length: Value, n: i32, row_syms: &[Sym]) -> Region {
    let span = func.insts[inst].span;
    let Op::With(with) = func.insts[inst].op.clone() else { return func.body };
    let to_known = |ty: &Ty| match &ty.shape {
        Shape::Known(extents) => {
            let known = |s: Sym| if row_syms.contains(&s) { Affine::constant(n) } else { Affine::sym(s) };
            Ty::new(ty.elem, Shape::Known(extents.iter().map(|e| e.map(known)).collect()))
        }
        _ => ty.clone(),
    };
    let captured = captured_with(func, inst, row_syms);
    let mut out = Vec::new();
    let mut copier = Copier::of(func, &[inst]);
    copier.syms.extend(row_syms.iter().map(|s| (*s, Affine::constant(n))));
    let mut e = Emitter { func, defs, out: &mut out, span };
    let known = e.int(n);
    copier.values.insert(length, known);
    for array in captured {
        let ty = to_known(e.func.ty(array));
        let extents = ty.shape.extents().unwrap_or_default().to_vec();
        let shape = extents.iter().enumerate().map(|(axis, extent)| match extent.as_const() {
            Some(extent) => e.int(extent),
            None => e.emit(Op::Extent { array, axis: axis as u32 }, Ty::scalar(Elem::I32)),
        });
        let shape = shape.collect();
        let view = e.emit(Op::Reshape { array, shape }, ty);
        copier.values.insert(array, view);
    }
    let copy = copier.inst(func, inst);
    out.push(copy);
    let mut yields = Vec::new();
    for (op, (made, original)) in
        with.ops.iter().zip(func.insts[copy].results.clone().into_iter().zip(&func.insts[inst].results.clone()))
    {
        let ty = func.ty(*original).clone();
        let WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. } = op else { continue };
        if *func.ty(made) == ty {
            yields.push(made);
            continue;
        }
        let shape = frame.iter().chain(cell).copied().collect();
        let mut e = Emitter { func, defs, out: &mut out, span };
        yields.push(e.emit(Op::Reshape { array: made, shape }, ty));
    }
    func.regions.push(RegionData { params: Vec::new(), insts: out, yields })
}

/// Arrays from outside of a with-loop whose types mention one of the symbols.
fn captured_with(func: &Func, inst: Inst, syms: &[Sym]) -> Vec<Value> {
    let mut inner = HashSet::default();
    let mut used = Vec::new();
    let op = &func.insts[inst].op;
    op.for_each_operand(|v| used.push(v));
    for region in op.regions() {
        collect_values(func, region, &mut inner);
        used.extend(&func.regions[region].yields);
        walk(func, region, &mut |_, at| {
            let op = &func.insts[at].op;
            op.for_each_operand(|v| used.push(v));
            used.extend(op.regions().into_iter().flat_map(|r| func.regions[r].yields.iter().copied()));
        });
    }
    used.retain(|v| !inner.contains(v) && syms_of(func.ty(*v)).iter().any(|s| syms.contains(s)));
    used.sort();
    used.dedup();
    used
}
