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
//! The same for few cells of any other long folds ([`few`]): covariances, moments, sums of what belongs to each of some groups. There are not cells
//! enough for all threads, and blocks of products of tall matrices stay in a cache.
//!
//! Before: folding and fusion have ended, for these bring folds of arrays into the first form. After: the only long folds over rows are those of
//! arrays.
//! Leaves alone: folds inside other with-loops; of those that are not over rows, long rows that are folded and products of many cells, for which
//! other passes do better, and cells that are enough for threads and read what a cache holds; small arrays, and rows that do not stay in a cache.
//! Worth: tests/survey/with-loops/moments-of-columns (3.1 with Cranelift, 6.4 with LLVM).

mod few;
mod rewrite;

use crate::edit::{Defs, operands_of, reads_of};
use crate::facts::{Places, covers_frame, region_has_effect};
use crate::pass::{Context, Pass};
use ravel_types::{Affine, BinOp, HashSet, Scalar};
use ravel_wir::traverse::free_values;
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("block-reductions", "fold rows for all columns at once, block by block", block_reductions);

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
    /// Are these rows of an array?
    streams: bool,
    /// Rows of a block, and how many of them lie side by side.
    block: (i64, i64),
}

/// How much is folded, as far as known.
struct Amount {
    /// Cells of the result.
    columns: Option<i64>,
    /// Indices along the first axis of the fold, and along the others together.
    rows: Option<i64>,
    others: Option<i64>,
}

pub fn block_reductions(func: &mut Func, cx: &mut Context) -> bool {
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
                    let Some(home) = places.home(with) else { continue };
                    let Some((_, mut defs)) = facts.take() else { continue };
                    let (rows, beside) = sweep.block;
                    let what = match (sweep.streams, beside) {
                        (false, _) => format!("folds for all cells at once, in blocks of {rows} indices"),
                        (true, 1) => format!("folds rows for all columns at once, in blocks of {rows} rows"),
                        _ => format!("folds rows for all columns at once, in blocks of {rows} times {beside} rows"),
                    };
                    cx.applied(span, what);
                    rewrite::rewrite(func, &mut defs, home, &sweep);
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
        let identity = op.identity(ty.elem).filter(|_| op.regroups() && ty.is_scalar()).ok_or(None)?;
        folds.push((*op, identity));
    }
    // The body runs through the rows of something once, whatever else it reads.
    let straight = |inst: &Inst| func.insts[*inst].op.regions().is_empty();
    if folds.is_empty() || !func.regions[rows.body].insts.iter().all(straight) {
        return Err(None);
    }
    let bytes = streamed(func, defs, part, rows);
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
    let amount = Amount { columns, rows: number, others };
    let block = match bytes {
        Some(bytes) => block_of_rows(&amount, bytes, first.len() == 1, cx)?,
        None => few::block(func, defs, part, rows, &amount, cx)?,
    };
    Ok(Sweep {
        with,
        fold,
        part: part.clone(),
        rows: rows.clone(),
        folds,
        frame: extents,
        captured,
        bounds: (lower[0], upper[0]),
        streams: bytes.is_some(),
        block,
    })
}

/// Rows of a block, with columns along one axis or not, and how many of them lie side by side.
fn block_of_rows(
    amount: &Amount,
    bytes: i64,
    one_axis: bool,
    cx: &Context,
) -> Result<(i64, i64), Option<&'static str>> {
    let &Amount { columns, rows, others } = amount;
    if columns.is_some_and(|n| n < 2) {
        return Err(None);
    }
    if columns.is_some_and(|n| n * bytes > LONGEST_ROW) {
        return Err(Some("its rows are too long for sums of all columns to stay in a cache"));
    }
    let total =
        columns.zip(rows).and_then(|(c, n)| c.checked_mul(n)?.checked_mul(others.unwrap_or(1))?.checked_mul(bytes));
    if !cx.eager && total.is_some_and(|n| n <= SMALL) {
        return Err(Some("what it folds stays in a cache"));
    }
    let beside = columns.filter(|_| one_axis && others == Some(1)).map_or(1, |n| rows_beside(n * bytes));
    let row = columns.unwrap_or(BLOCK / ROWS_UNKNOWN) * others.unwrap_or(1).max(1);
    let rows_of_block = (BLOCK / (row * beside).max(1)).clamp(ROWS.0, ROWS.1);
    if rows.is_some_and(|n| n < 2 * rows_of_block * beside) {
        return Err(Some("it has too few rows"));
    }
    Ok((rows_of_block, beside))
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
    let (mut seen, mut params, mut left) = (HashSet::default(), HashSet::default(), vec![v]);
    while let Some(v) = left.pop() {
        if !seen.insert(v) {
            continue;
        }
        match defs.inst(v) {
            None => {
                params.insert(v);
            }
            Some(inst) => left.extend(reads_of(func, inst)),
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
        needed.extend(operands_of(func, inst));
        list.push(inst);
    }
    list.reverse();
    Some(list)
}
