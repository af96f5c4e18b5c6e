//! Few cells of long folds: blocks of the indices that are folded, for all cells.

use super::{Amount, mentioned};
use crate::edit::Defs;
use crate::pass::Context;
use ravel_wir::{Func, Op, Part};

/// Steps of a block, of all cells together, about: some tens of microseconds.
const STEPS: i64 = 1 << 20;
/// Indices of a block, at least and at most: cells are added up once per block (in products of 128 x 128 that cost a quarter with 256 indices,
/// and nothing with 1024), and operands of a block stay in a cache.
const INDICES: (i64, i64) = (1024, 4096);
/// Fewer blocks are not worth their sums, and fewer steps of all cells together not worth threads.
const LEAST_BLOCKS: i64 = 8;
const LEAST_STEPS: i64 = 1 << 18;
/// Cells that leave threads without work if each stays with one thread.
const FEW: i64 = 32;
/// Cells that share operands: products of tall matrices.
const FEW_OF_PRODUCTS: i64 = 1 << 16;

/// Cells that are enough for all threads, and bytes that stay in the second-level cache: products of such a size have nothing to gain.
const ENOUGH: i64 = 1024;
const CACHED: i64 = 1 << 18;

/// Indices of a block along the first axis of the fold; nothing if the cells are many or the folds short.
pub fn block(
    func: &Func,
    defs: &Defs,
    part: &Part,
    folded: &Part,
    amount: &Amount,
    cx: &Context,
) -> Result<(i64, i64), Option<&'static str>> {
    let Amount { columns: Some(cells), rows, others: Some(others) } = *amount else { return Err(None) };
    let most = if shares_operands(func, defs, part, folded) { FEW_OF_PRODUCTS } else { FEW };
    if !(1..=most).contains(&cells) || others < 1 {
        return Err(None);
    }
    if !cx.eager && cells >= ENOUGH && bytes_read(func, folded).is_some_and(|bytes| bytes <= CACHED) {
        return Err(Some("its cells are enough for threads, and what they read stays in a cache"));
    }
    let (least, most) = INDICES;
    let indices = match cx.eager {
        true => 2,
        false => ((STEPS / cells).clamp(least, most) / others).max(1),
    };
    let is_short = |n: i64| n.saturating_mul(cells.saturating_mul(others)) < LEAST_STEPS && !cx.eager;
    if rows.is_some_and(|n| n < LEAST_BLOCKS * indices || is_short(n)) {
        return Err(None);
    }
    Ok((indices, 1))
}

/// Bytes of the arrays that the cells read, all together.
fn bytes_read(func: &Func, folded: &Part) -> Option<i64> {
    let mut arrays = Vec::new();
    for inst in &func.regions[folded.body].insts {
        if let Op::Sel { array, .. } = &func.insts[*inst].op
            && !arrays.contains(array)
        {
            arrays.push(*array);
        }
    }
    arrays.into_iter().try_fold(0i64, |bytes, array| {
        let ty = func.ty(array);
        let elements =
            ty.shape.constants()?.into_iter().try_fold(1i64, |n, extent| n.checked_mul(i64::from(extent)))?;
        bytes.checked_add(elements.checked_mul(ty.elem.bytes() as i64)?)
    })
}

/// Do cells read what other cells read, too?
fn shares_operands(func: &Func, defs: &Defs, part: &Part, folded: &Part) -> bool {
    let columns = &func.regions[part.body].params;
    let insts = &func.regions[folded.body].insts;
    let mut reads = insts.iter().filter_map(|inst| match &func.insts[*inst].op {
        Op::Sel { index, .. } => Some(index),
        _ => None,
    });
    reads.any(|index| {
        let mentions: Vec<_> = index.iter().map(|v| mentioned(func, defs, *v)).collect();
        !columns.iter().all(|c| mentions.iter().any(|m| m.contains(c)))
    })
}
