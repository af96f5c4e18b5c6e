//! Rows that lie end to end in memory: which axes a kernel may walk as one.

use ravel_types::{BinOp, HashSet};
use ravel_wir::{Generator, Inst, Op, Part, Region, Value};

use crate::facts::{Ext, Facts, Sink};

/// How many times as many lanes as elements the vectors of a row must have, so that rows are walked as one; or they have fewer vectors than this.
const WASTE: f64 = 1.25;

const SHORT: i64 = 4;

/// Do so many elements fill vectors of so many lanes well, and several of them?
pub(crate) fn fills_vectors(elements: i64, lanes: usize) -> bool {
    let vectors = (elements + lanes as i64 - 1) / lanes as i64;
    (vectors * lanes as i64) as f64 <= WASTE * elements as f64 && vectors >= SHORT
}

/// The inner axes of a partition that are walked as one with the axis around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flat {
    /// The axis of the rows.
    pub rows: usize,
    /// Elements per row.
    pub length: i64,
    /// Chunks are of elements instead of whole rows.
    pub cut: bool,
}

impl Flat {
    /// Is this one of the axes within a row, other than the last?
    pub fn is_within(self, axis: usize, last: usize) -> bool {
        axis > self.rows && axis < last
    }
}

/// The indices of rows, those within a row from the outermost, and the extents of these.
struct Indices<'a> {
    rows: HashSet<Value>,
    within: &'a [Value],
    lengths: &'a [i64],
    /// What is not looked at.
    skipped: &'a HashSet<Inst>,
}

impl Indices<'_> {
    fn has(&self, v: Value) -> bool {
        self.rows.contains(&v) || self.within.contains(&v)
    }
}

impl Facts<'_> {
    /// The longest rows of a partition that may be walked as one axis, if its innermost ones fill vectors of so many lanes badly.
    /// Chunks are of whole rows.
    pub fn flat_rows(&self, part: &Part, sinks: &[Sink], lanes: usize, chunked: Option<usize>) -> Option<Flat> {
        let Generator::Known { lower, upper, .. } = &part.generator else { return None };
        let innermost = self.extent_from_zero(*lower.last()?, *upper.last()?)?;
        if innermost < 2 || fills_vectors(innermost, lanes) {
            return None;
        }
        self.rows_end_to_end(part, sinks, chunked, None)
    }

    /// The extent of an axis that is covered from zero on, if it is known.
    fn extent_from_zero(&self, lower: Value, upper: Value) -> Option<i64> {
        self.const_i32(upper).filter(|n| *n > 0 && self.const_i32(lower) == Some(0))
    }

    /// The longest rows of a partition that may be walked as one axis, whether that pays or not. The outermost axis that may be one of them is
    /// given, and a fold that finds its operands in another way.
    pub fn rows_end_to_end(
        &self,
        part: &Part,
        sinks: &[Sink],
        outermost: Option<usize>,
        fold: Option<Inst>,
    ) -> Option<Flat> {
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
        let params = &self.func.regions[part.body].params;
        let last = params.len().checked_sub(1).filter(|last| *last > 0)?;
        let lengths: Vec<Option<i64>> = lower.iter().zip(upper).map(|(l, u)| self.extent_from_zero(*l, *u)).collect();
        let skipped = fold.map(|fold| self.only_needed_by(part.body, fold)).unwrap_or_default();
        let mut found = None;
        let mut length = 1i64;
        for rows in (outermost.unwrap_or(0)..last).rev() {
            let Some(along) = lengths[rows + 1] else { break };
            length = length.checked_mul(along).filter(|n| *n <= i64::from(i32::MAX))?;
            let lengths: Vec<i64> = lengths[rows + 1..].iter().map(|n| n.unwrap_or(0)).collect();
            let mut indices = Indices {
                rows: HashSet::from_iter([params[rows]]),
                within: &params[rows + 1..],
                lengths: &lengths,
                skipped: &skipped,
            };
            if !rows_lie_end_to_end(sinks, rows, &lengths) || !self.is_flat(part.body, &mut indices) {
                break;
            }
            found = Some(Flat { rows, length, cut: false });
        }
        found
    }

    /// A fold of a body and the instructions that only it needs.
    fn only_needed_by(&self, body: Region, fold: Inst) -> HashSet<Inst> {
        let func = self.func;
        let mut needed = HashSet::default();
        let mut values: Vec<Value> = func.regions[body].yields.clone();
        while let Some(v) = values.pop() {
            let Some(inst) = self.live.def(v).filter(|inst| *inst != fold) else { continue };
            if func.regions[body].insts.contains(&inst) && needed.insert(inst) {
                let op = &func.insts[inst].op;
                op.for_each_operand(|v| values.push(v));
                for region in op.regions() {
                    values.extend(self.live.free(region).iter().copied());
                }
            }
        }
        func.regions[body].insts.iter().copied().filter(|inst| !needed.contains(inst)).collect()
    }

    /// Are the indices used for nothing but elements of rows of these lengths?
    fn is_flat(&self, region: Region, indices: &mut Indices<'_>) -> bool {
        let func = self.func;
        for &inst in &func.regions[region].insts {
            if indices.skipped.contains(&inst) {
                continue;
            }
            let data = &func.insts[inst];
            match &data.op {
                Op::Sel { array, index } if index.iter().any(|v| indices.has(*v)) => {
                    if indices.has(*array) || !self.selects_within(*array, index, indices) {
                        return false;
                    }
                }
                Op::Bin(BinOp::Add, a, b) if indices.has(*a) || indices.has(*b) => {
                    let (row, other) = if indices.has(*a) { (a, b) } else { (b, a) };
                    if !indices.rows.contains(row) || indices.has(*other) {
                        return false;
                    }
                    indices.rows.extend(&data.results);
                }
                Op::Bin(BinOp::Sub, a, b) if indices.rows.contains(a) && !indices.has(*b) => {
                    indices.rows.extend(&data.results);
                }
                op => {
                    let mut used = false;
                    op.for_each_operand(|v| used |= indices.has(v));
                    if used || op.regions().iter().any(|nested| !self.is_flat(*nested, indices)) {
                        return false;
                    }
                }
            }
        }
        !func.regions[region].yields.iter().any(|v| indices.has(*v))
    }

    /// Is this an element at an index within a row, of an array with such rows?
    fn selects_within(&self, array: Value, index: &[Value], indices: &Indices<'_>) -> bool {
        let Some(extents) = self.func.ty(array).shape.extents() else { return false };
        let Some(row) = index.len().checked_sub(indices.within.len() + 1) else { return false };
        extents.len() == index.len()
            && index[row + 1..] == *indices.within
            && indices.rows.contains(&index[row])
            && !index[..row].iter().any(|v| indices.has(*v))
            && extents[row + 1..].iter().zip(indices.lengths).all(|(e, n)| e.as_const().map(i64::from) == Some(*n))
    }
}

/// Does the result have a row of cells behind each row?
fn rows_lie_end_to_end(sinks: &[Sink], rows: usize, lengths: &[i64]) -> bool {
    sinks.iter().all(|sink| {
        let Sink::Slice { strides, cell: Ext::Const(1), .. } = sink else { return false };
        let mut expected = 1;
        (rows..strides.len()).rev().zip(lengths.iter().rev().chain([&1])).all(|(axis, length)| {
            let fits = strides[axis] == Ext::Const(expected);
            expected *= length;
            fits
        })
    })
}

#[cfg(test)]
mod tests {
    use super::Flat;

    #[test]
    fn axes_within_rows() {
        let flat = Flat { rows: 1, length: 12, cut: false };
        assert!(!flat.is_within(1, 3) && flat.is_within(2, 3) && !flat.is_within(3, 3));
    }
}
