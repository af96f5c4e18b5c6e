//! Folds over rows, for all columns at once.
//!
//! ```text
//!    genarray { [j < n] -> g(fold add { [i < m] -> f(a[i, j]) }) }
//! => s = fold add { [c < m / K] -> genarray { [j < n] -> fold add { [r < K] -> f(a[K*c + r, j]) } } }
//!    genarray { [j < n] -> g(fold add from s[j] { [K * (m / K) <= i < m] -> f(a[i, j]) }) }
//! ```
//!
//! Column by column the rows lie far from each other, so that every step of the fold touches another page; block by block they are read once, in
//! the order of memory, and blocks of rows run on threads where there are too few columns for that. Where rows are shorter than a few vectors,
//! `R` of them are one row of `R * n` partial sums, index `t` of which is about column `t % n`; they are added up at the end.
//!
//! Before: folding and fusion have ended, for these bring folds of arrays into the first form. After: the only long folds over rows are those of
//! arrays.
//! Leaves alone: folds inside other with-loops; operands that other columns read again (products, which are tiled) or that lie along
//! the fold (rows that are folded); small arrays, and rows that do not stay in a cache.

use crate::edit::{Copier, Defs, Emitter, Renames, region_has_effect};
use crate::interleave::identity;
use crate::pass::{Context, Pass, Run};
use crate::places::{Places, covers_frame};
use ravel_source::Span;
use ravel_types::{Affine, BinOp, Elem, Scalar, Shape, Ty};
use ravel_wir::traverse::free_values;
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};
use std::collections::{HashMap, HashSet};

pub const PASS: Pass =
    Pass { name: "row-folds", summary: "fold rows for all columns at once, block by block", run: Run::Func(row_folds) };

/// Elements of a block of rows, about: it stays in the first-level cache.
const BLOCK: i64 = 8192;
/// Rows, or groups of short ones, that are folded before the columns take their sums, at least and at most.
const ROWS: (i64, i64) = (4, 128);
/// The same where the length of a row is not known.
const ROWS_UNKNOWN: i64 = 16;
/// Bytes of a row at most: its sums stay in a cache.
const LONGEST_ROW: i64 = 1 << 16;
/// Bytes of an array that stays in the first-level cache anyway.
const SMALL: i64 = 1 << 16;
/// Bytes of rows that are folded side by side at most, as many as accumulators fit registers, and a number that these must be a multiple of: the
/// widest vector.
const SIDE_BY_SIDE: (i64, i64) = (512, 64);

/// A fold over rows in a with-loop over columns.
struct Sweep {
    with: Inst,
    fold: Inst,
    part: Part,
    /// The partition of the fold.
    rows: Part,
    folds: Vec<(BinOp, Scalar)>,
    /// Extents of the index set over columns, as values outside of it and as types have them.
    frame: Vec<(Value, Affine)>,
    /// Instructions of the body over columns that the fold needs, in order.
    captured: Vec<Inst>,
    /// Bounds of the rows: constants, or values from outside of the body over columns.
    bounds: (Value, Value),
    /// Rows of a block, and how many of them lie side by side.
    block: (i64, i64),
}

pub fn row_folds(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    let mut facts = None;
    for with in Places::new(func).withs {
        let Op::With(outer) = &func.insts[with].op else { continue };
        let [part] = &outer.parts[..] else { continue };
        let inside = func.regions[part.body].insts.clone();
        for fold in inside {
            if !matches!(func.insts[fold].op, Op::With(_)) {
                continue;
            }
            let (places, defs) = facts.get_or_insert_with(|| (Places::new(func), Defs::new(func)));
            let span = func.insts[with].span;
            match sweep(func, places, defs, with, fold, cx) {
                Err(None) => {}
                Err(Some(why)) => cx.refused(span, why),
                Ok(sweep) => {
                    let Some(home) = places.region_of[with].expand() else { continue };
                    let Some((_, mut defs)) = facts.take() else { continue };
                    let (rows, beside) = sweep.block;
                    let which = if beside > 1 { format!("{rows} times {beside} rows") } else { format!("{rows} rows") };
                    cx.applied(span, format!("folds rows for all columns at once, in blocks of {which}"));
                    rewrite(func, &mut defs, home, &sweep);
                    changed = true;
                }
            }
        }
    }
    changed
}

/// The fold as one over rows; `Err(None)` if it is not of the kind that this is about.
fn sweep(
    func: &Func,
    places: &Places,
    defs: &Defs,
    with: Inst,
    fold: Inst,
    cx: &Context,
) -> Result<Sweep, Option<&'static str>> {
    let (Op::With(outer), Op::With(inner)) = (&func.insts[with].op, &func.insts[fold].op) else { return Err(None) };
    let ([part], [rows]) = (&outer.parts[..], &inner.parts[..]) else { return Err(None) };
    let Generator::Known { lower: first, upper: end, step: None, .. } = &part.generator else { return Err(None) };
    let Generator::Known { lower, upper, step: None, .. } = &rows.generator else { return Err(None) };
    if outer.ordered || inner.ordered || first.is_empty() || lower.is_empty() || places.is_inside_with(func, with) {
        return Err(None);
    }
    let frame = frame_of(func, outer).ok_or(None)?;
    if region_has_effect(func, part.body, cx) {
        return Err(None);
    }
    let mut folds = Vec::new();
    for (op, result) in inner.ops.iter().zip(&func.insts[fold].results) {
        let ty = func.ty(*result);
        let WithOp::Fold { combine: Combine::Op(op), .. } = op else { return Err(None) };
        let identity = identity(*op, ty.elem).filter(|_| op.regroups() && ty.is_scalar()).ok_or(None)?;
        folds.push((*op, identity));
    }
    // The body runs through the rows of something once, whatever else it reads.
    let straight = |inst: &Inst| func.insts[*inst].op.regions().is_empty();
    if folds.is_empty() || !func.regions[rows.body].insts.iter().all(straight) {
        return Err(None);
    }
    let bytes = streamed(func, defs, part, rows).ok_or(None)?;
    let captured = captured(func, part, rows, fold).ok_or(None)?;
    let local: HashSet<Value> = local_values(func, part);
    let outside = |v: &Value| defs.int(func, *v).is_some() || !local.contains(v);
    if !outside(&lower[0]) || !outside(&upper[0]) {
        return Err(None);
    }
    // Extents of the columns.
    let whole = covers_frame(func, defs, part, frame);
    let result = func.ty(func.insts[with].results[0]);
    let mut extents = Vec::new();
    for axis in 0..first.len() {
        let (low, high) = (defs.int(func, first[axis]), defs.int(func, end[axis]));
        match (low, high, result.shape.extents()) {
            (Some(low), Some(high), _) if low < high => {
                extents.push((end[axis], Affine::constant(high.checked_sub(low).ok_or(None)?)));
            }
            (None | Some(_), None, Some(of)) if whole => {
                extents.push((frame[axis], of.get(axis).cloned().ok_or(None)?))
            }
            _ => return Err(None),
        }
    }
    let columns = extents.iter().try_fold(1i64, |n, (_, e)| n.checked_mul(i64::from(e.as_const()?)));
    let number = match (defs.int(func, lower[0]), defs.int(func, upper[0])) {
        (Some(low), Some(high)) => Some((i64::from(high) - i64::from(low)).max(0)),
        _ => None,
    };
    let others = (1..lower.len()).try_fold(1i64, |n, axis| {
        n.checked_mul(i64::from(defs.int(func, upper[axis])?) - i64::from(defs.int(func, lower[axis])?))
    });
    if columns.is_some_and(|n| n < 2) {
        return Err(None);
    }
    if columns.is_some_and(|n| n * bytes > LONGEST_ROW) {
        return Err(Some("its rows are too long for sums of all columns to stay in a cache"));
    }
    let total =
        columns.zip(number).and_then(|(c, n)| c.checked_mul(n)?.checked_mul(others.unwrap_or(1))?.checked_mul(bytes));
    if !cx.eager && total.is_some_and(|n| n <= SMALL) {
        return Err(Some("what it folds stays in a cache"));
    }
    let beside = columns.filter(|_| first.len() == 1 && others == Some(1)).map_or(1, |n| rows_beside(n * bytes));
    let row = columns.unwrap_or(BLOCK / ROWS_UNKNOWN) * others.unwrap_or(1).max(1);
    let rows_of_block = (BLOCK / (row * beside).max(1)).clamp(ROWS.0, ROWS.1);
    if number.is_some_and(|n| n < 2 * rows_of_block * beside) {
        return Err(Some("it has too few rows"));
    }
    Ok(Sweep {
        with,
        fold,
        part: part.clone(),
        rows: rows.clone(),
        folds,
        frame: extents,
        captured,
        bounds: (lower[0], upper[0]),
        block: (rows_of_block, beside),
    })
}

/// How many rows of some bytes each are folded side by side: as many as fill whole vectors, or one.
fn rows_beside(row: i64) -> i64 {
    let (most, unit) = SIDE_BY_SIDE;
    (2..=most / row).rev().find(|n| n * row % unit == 0).unwrap_or(1)
}

/// The frame of a with-loop that makes arrays of scalars.
fn frame_of<'f>(func: &Func, with: &'f With) -> Option<&'f [Value]> {
    let mut first = None;
    for op in &with.ops {
        let WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. } = op else { return None };
        if !cell.is_empty() {
            return None;
        }
        first.get_or_insert(&frame[..]);
    }
    let params = func.regions[with.parts.first()?.body].params.len();
    first.filter(|frame| frame.len() == params)
}

/// Values of a body that are not known outside of it.
fn local_values(func: &Func, part: &Part) -> HashSet<Value> {
    let body = &func.regions[part.body];
    body.params.iter().copied().chain(body.insts.iter().flat_map(|i| func.insts[*i].results.iter().copied())).collect()
}

/// Bytes per element of an array that the fold reads once, row by row, with the last axis over columns along its last axis; nothing if there is
/// none, or if something else is read along the rows.
fn streamed(func: &Func, defs: &Defs, part: &Part, rows: &Part) -> Option<i64> {
    let columns = &func.regions[part.body].params;
    let indices = &func.regions[rows.body].params;
    let row = *indices.first()?;
    let mut found = None;
    for &inst in &func.regions[rows.body].insts {
        let Op::Sel { array, index } = &func.insts[inst].op else { continue };
        let mentions: Vec<HashSet<Value>> = index.iter().map(|v| mentioned(func, defs, *v)).collect();
        let last = mentions.last()?;
        if index.len() != func.ty(*array).rank()? || func.ty(*array).shape.extents().is_none() {
            return None;
        }
        let over_columns = columns.iter().any(|c| mentions.iter().any(|m| m.contains(c)));
        let along = indices.iter().any(|i| last.contains(i));
        if along && (index.len() > 1 || over_columns) {
            return None;
        }
        let all = columns.iter().all(|c| mentions.iter().any(|m| m.contains(c)));
        let first_row = mentions.iter().position(|m| m.contains(&row));
        let first_column = mentions.iter().position(|m| columns.iter().any(|c| m.contains(c)));
        let next_to = |v: Value| {
            match defs.op(func, v) {
                Some(Op::Bin(BinOp::Add | BinOp::Sub, a, b)) => {
                    *a == *columns.last()? && mentioned(func, defs, *b).is_empty()
                        || *b == *columns.last()? && mentioned(func, defs, *a).is_empty()
                }
                _ => Some(&v) == columns.last(),
            }
            .then_some(())
        };
        if all
            && first_row.zip(first_column).is_some_and(|(r, c)| r < c)
            && index.last().is_some_and(|v| next_to(*v).is_some())
        {
            found = found.max(Some(func.ty(*array).elem.bytes() as i64));
        }
    }
    found
}

/// Parameters of regions that a value depends on.
fn mentioned(func: &Func, defs: &Defs, v: Value) -> HashSet<Value> {
    let (mut seen, mut params, mut left) = (HashSet::new(), HashSet::new(), vec![v]);
    while let Some(v) = left.pop() {
        if !seen.insert(v) {
            continue;
        }
        match defs.inst(v) {
            None => {
                params.insert(v);
            }
            Some(inst) => {
                func.insts[inst].op.for_each_operand(|v| left.push(v));
                left.extend(func.insts[inst].op.regions().into_iter().flat_map(|r| free_values(func, r)));
            }
        }
    }
    params
}

/// The instructions of a body, without loops, that a fold in it needs; nothing if it needs others.
fn captured(func: &Func, part: &Part, rows: &Part, fold: Inst) -> Option<Vec<Inst>> {
    let mut needed: HashSet<Value> = free_values(func, rows.body).into_iter().collect();
    let Generator::Known { lower, upper, .. } = &rows.generator else { return None };
    needed.extend(lower[1..].iter().chain(&upper[1..]));
    let insts = &func.regions[part.body].insts;
    let at = insts.iter().position(|i| *i == fold)?;
    let mut list = Vec::new();
    for &inst in insts[..at].iter().rev() {
        if !func.insts[inst].results.iter().any(|v| needed.contains(v)) {
            continue;
        }
        if !func.insts[inst].op.regions().is_empty() {
            return None;
        }
        func.insts[inst].op.for_each_operand(|v| {
            needed.insert(v);
        });
        list.push(inst);
    }
    list.reverse();
    Some(list)
}

fn int() -> Ty {
    Ty::scalar(Elem::I32)
}

/// What new code is made in.
struct Build<'a> {
    func: &'a mut Func,
    defs: &'a mut Defs,
    span: Span,
}

impl Build<'_> {
    /// Appends to a list.
    fn at<'b>(&'b mut self, out: &'b mut Vec<Inst>) -> Emitter<'b> {
        Emitter { func: self.func, defs: self.defs, out, span: self.span }
    }

    /// Appends a with-loop of one partition to a list.
    fn with(&mut self, out: &mut Vec<Inst>, part: Part, ops: Vec<WithOp>, types: &[Ty]) -> Vec<Value> {
        let op = Op::With(With { parts: vec![part], ops, ordered: false });
        let inst = self.func.make_inst(op, types.to_vec(), self.span);
        self.defs.add_inst(self.func, inst);
        out.push(inst);
        self.func.insts[inst].results.clone()
    }

    fn constant_of(&self, v: Value) -> Option<i32> {
        self.defs.int(self.func, v)
    }
}

/// The indices from zero to these bounds.
fn up_to(zero: Value, upper: Vec<Value>) -> Generator {
    Generator::Known { lower: vec![zero; upper.len()], upper, step: None, width: None }
}

/// Blocks of rows, and what they leave.
struct Cut {
    /// How many blocks.
    blocks: Value,
    low: Value,
    /// The first row that is not in a block.
    rest: Value,
    no_rest: bool,
}

fn rewrite(func: &mut Func, defs: &mut Defs, home: Region, sweep: &Sweep) {
    let span = func.insts[sweep.fold].span;
    let mut before = Vec::new();
    let mut b = Build { func, defs, span };
    let cut = cut(&mut b.at(&mut before), sweep);
    let sums = blocks(&mut b, &mut before, sweep, &cut);
    finish(&mut b, sweep, &cut, &sums);
    let insts = &mut b.func.regions[home].insts;
    let at = insts.iter().position(|i| *i == sweep.with).unwrap_or(insts.len());
    insts.splice(at..at, before);
}

fn cut(e: &mut Emitter<'_>, sweep: &Sweep) -> Cut {
    let (low, high) = sweep.bounds;
    let known = |e: &mut Emitter<'_>, v: Value| match e.defs.int(e.func, v) {
        Some(k) => e.int(k),
        None => v,
    };
    let (low, high) = (known(e, low), known(e, high));
    let block = (sweep.block.0 * sweep.block.1) as i32;
    let (zero, size) = (e.int(0), e.int(block));
    // Where the difference wraps it is negative, and everything is left to the rest.
    let high = e.int_op(BinOp::Max, high, low);
    let n = e.int_op(BinOp::Sub, high, low);
    let n = e.int_op(BinOp::Max, n, zero);
    let blocks = e.int_op(BinOp::Div, n, size);
    let done = e.int_op(BinOp::Mul, blocks, size);
    let rest = e.int_op(BinOp::Add, low, done);
    let no_rest = e.defs.int(e.func, n).is_some_and(|n| n % block == 0);
    Cut { blocks, low, rest, no_rest }
}

/// The folds of all blocks, as arrays over columns: of constant length `R * n` where rows lie side by side.
fn blocks(b: &mut Build<'_>, out: &mut Vec<Inst>, sweep: &Sweep, cut: &Cut) -> Vec<Value> {
    let beside = sweep.block.1 as i32;
    let extents: Vec<Affine> = sweep.frame.iter().map(|(_, extent)| extent.scale(beside)).collect();
    let mut frame = Vec::new();
    for ((v, _), extent) in sweep.frame.iter().zip(&extents) {
        frame.push(extent.as_const().map_or(*v, |n| b.at(out).int(n)));
    }
    let elems = || sweep.folds.iter().map(|(_, identity)| identity.elem());
    let scalars: Vec<Ty> = elems().map(Ty::scalar).collect();
    let arrays: Vec<Ty> = elems().map(|elem| Ty::new(elem, Shape::Known(extents.clone()))).collect();
    let zero = b.at(out).int(0);
    let (mut identities, mut neutrals) = (Vec::new(), Vec::new());
    for ((_, identity), ty) in sweep.folds.iter().zip(&arrays) {
        let one = b.at(out).constant(*identity);
        let op = WithOp::Genarray { frame: Frame::Known(frame.clone()), cell: Some(Vec::new()), default: Some(one) };
        neutrals.push(b.at(out).emit(Op::With(With { parts: Vec::new(), ops: vec![op], ordered: false }), ty.clone()));
        identities.push(one);
    }
    let fold = |neutral: &Value, op: BinOp| WithOp::Fold { neutral: *neutral, combine: Combine::Op(op), stop: None };
    // The body over columns, and the one over rows in it.
    let c = b.func.new_value(int());
    let (mut of_columns, mut of_rows) = (Vec::new(), Vec::new());
    let mut copier = Copier { source: None, values: HashMap::new(), syms: HashMap::new() };
    let (indices, among) = columns(b, &mut of_columns, sweep, &mut copier);
    for &inst in &sweep.captured {
        let copy = copier.inst(b.func, inst);
        b.defs.add_inst(b.func, copy);
        of_columns.push(copy);
    }
    let params = b.func.regions[sweep.rows.body].params.clone();
    let fresh: Vec<Value> = params.iter().map(|_| b.func.new_value(int())).collect();
    let row = row(&mut b.at(&mut of_rows), sweep, cut, (c, fresh[0]), among);
    copier.values.insert(params[0], row);
    copier.values.extend(params[1..].iter().copied().zip(fresh[1..].iter().copied()));
    let yields = copier.splice(b.func, sweep.rows.body, &mut of_rows);
    let body = b.func.regions.push(RegionData { params: fresh, insts: of_rows, yields });
    let Generator::Known { lower, upper, .. } = &sweep.rows.generator else { unreachable!("checked before") };
    let number = b.at(&mut of_columns).int(sweep.block.0 as i32);
    let generator = Generator::Known {
        lower: std::iter::once(zero).chain(lower[1..].iter().map(|v| copier.value(*v))).collect(),
        upper: std::iter::once(number).chain(upper[1..].iter().map(|v| copier.value(*v))).collect(),
        step: None,
        width: None,
    };
    let ops = identities.iter().zip(&sweep.folds).map(|(v, (op, _))| fold(v, *op)).collect();
    let yields = b.with(&mut of_columns, Part { generator, body }, ops, &scalars);
    let body = b.func.regions.push(RegionData { params: indices, insts: of_columns, yields });
    let cells = sweep
        .folds
        .iter()
        .map(|_| WithOp::Genarray { frame: Frame::Known(frame.clone()), cell: Some(Vec::new()), default: None })
        .collect();
    let mut of_blocks = Vec::new();
    let yields = b.with(&mut of_blocks, Part { generator: up_to(zero, frame.clone()), body }, cells, &arrays);
    let body = b.func.regions.push(RegionData { params: vec![c], insts: of_blocks, yields });
    let ops = neutrals.iter().zip(&sweep.folds).map(|(v, (op, _))| fold(v, *op)).collect();
    b.with(out, Part { generator: up_to(zero, vec![cut.blocks]), body }, ops, &arrays)
}

/// Indices of the sums, what the columns are called in terms of them, and which of the rows side by side an index is about.
fn columns(
    b: &mut Build<'_>,
    out: &mut Vec<Inst>,
    sweep: &Sweep,
    copier: &mut Copier<'_>,
) -> (Vec<Value>, Option<Value>) {
    let Generator::Known { lower, .. } = &sweep.part.generator else { unreachable!("checked before") };
    let old = b.func.regions[sweep.part.body].params.clone();
    let indices: Vec<Value> = old.iter().map(|_| b.func.new_value(int())).collect();
    let mut among = None;
    for (axis, &index) in indices.iter().enumerate() {
        let low = b.constant_of(lower[axis]);
        let mut e = b.at(out);
        let mut index = index;
        if sweep.block.1 > 1 {
            let n = e.int(sweep.frame[axis].1.as_const().unwrap_or(1));
            among = Some(e.int_op(BinOp::Div, index, n));
            index = e.int_op(BinOp::Mod, index, n);
        }
        if low != Some(0) {
            let low = low.map_or(lower[axis], |k| e.int(k));
            index = e.int_op(BinOp::Add, index, low);
        }
        copier.values.insert(old[axis], index);
    }
    (indices, among)
}

/// The row of a block and an index in it.
fn row(e: &mut Emitter<'_>, sweep: &Sweep, cut: &Cut, (c, index): (Value, Value), among: Option<Value>) -> Value {
    let (rows, beside) = (sweep.block.0 as i32, sweep.block.1 as i32);
    let size = e.int(rows * beside);
    let begin = e.int_op(BinOp::Mul, c, size);
    let mut row = index;
    if let Some(among) = among {
        let beside = e.int(beside);
        row = e.int_op(BinOp::Mul, row, beside);
        row = e.int_op(BinOp::Add, row, among);
    }
    row = e.int_op(BinOp::Add, begin, row);
    if e.defs.int(e.func, cut.low) == Some(0) { row } else { e.int_op(BinOp::Add, row, cut.low) }
}

/// The original fold begins with what the blocks made, and does the rest.
fn finish(b: &mut Build<'_>, sweep: &Sweep, cut: &Cut, sums: &[Value]) {
    let (Op::With(inner), Generator::Known { lower, .. }) =
        (b.func.insts[sweep.fold].op.clone(), &sweep.part.generator)
    else {
        return;
    };
    let neutrals: Vec<Value> = inner
        .ops
        .iter()
        .filter_map(|op| if let WithOp::Fold { neutral, .. } = op { Some(*neutral) } else { None })
        .collect();
    let mut list = Vec::new();
    let mut index = Vec::new();
    for (&v, &low) in b.func.regions[sweep.part.body].params.clone().iter().zip(lower) {
        index.push(match b.constant_of(low) {
            Some(0) => v,
            known => {
                let mut e = b.at(&mut list);
                let low = known.map_or(low, |k| e.int(k));
                e.int_op(BinOp::Sub, v, low)
            }
        });
    }
    let types: Vec<Ty> = sweep.folds.iter().map(|(_, identity)| Ty::scalar(identity.elem())).collect();
    let starts: Vec<Value> = if sweep.block.1 == 1 {
        let mut starts = Vec::new();
        for ((sum, neutral), (ty, (op, _))) in sums.iter().zip(&neutrals).zip(types.iter().zip(&sweep.folds)) {
            let mut e = b.at(&mut list);
            let sum = e.emit(Op::Sel { array: *sum, index: index.clone() }, ty.clone());
            starts.push(e.emit(Op::Bin(*op, *neutral, sum), ty.clone()));
        }
        starts
    } else {
        // Sums of rows that lie side by side.
        let (zero, beside) = (b.at(&mut list).int(0), b.at(&mut list).int(sweep.block.1 as i32));
        let n = b.at(&mut list).int(sweep.frame[0].1.as_const().unwrap_or(1));
        let q = b.func.new_value(int());
        let mut insts = Vec::new();
        let mut e = b.at(&mut insts);
        let at = e.int_op(BinOp::Mul, q, n);
        let at = e.int_op(BinOp::Add, at, index[0]);
        let yields = sums
            .iter()
            .zip(&types)
            .map(|(sum, ty)| e.emit(Op::Sel { array: *sum, index: vec![at] }, ty.clone()))
            .collect();
        let body = b.func.regions.push(RegionData { params: vec![q], insts, yields });
        let ops = neutrals.iter().zip(&sweep.folds).map(|(neutral, (op, _))| WithOp::Fold {
            neutral: *neutral,
            combine: Combine::Op(*op),
            stop: None,
        });
        let ops = ops.collect();
        b.with(&mut list, Part { generator: up_to(zero, vec![beside]), body }, ops, &types)
    };
    let body = sweep.part.body;
    let func = &mut *b.func;
    let insts = &mut func.regions[body].insts;
    let at = insts.iter().position(|i| *i == sweep.fold).unwrap_or(insts.len());
    if cut.no_rest {
        insts.splice(at..=at, list);
        let mut renames = Renames::default();
        for (old, new) in func.insts[sweep.fold].results.iter().zip(starts) {
            renames.set(*old, new);
        }
        renames.apply_region(func, body);
        return;
    }
    insts.splice(at..at, list);
    if let Op::With(with) = &mut func.insts[sweep.fold].op {
        for (op, start) in with.ops.iter_mut().zip(starts) {
            if let WithOp::Fold { neutral, .. } = op {
                *neutral = start;
            }
        }
        if let Generator::Known { lower, .. } = &mut with.parts[0].generator {
            lower[0] = cut.rest;
        }
    }
}
