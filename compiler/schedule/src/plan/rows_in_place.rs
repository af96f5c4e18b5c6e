//! Which with-loops make rows in the arrays that these are put into ([`crate::memory::rows_in_place`]).

use ravel_types::{Affine, Elem, HashSet};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

use crate::facts::{Facts, Refusal};
use crate::plan::strategy::WithPlan;

/// An array, and the updates that put rows into it.
pub(crate) struct Rows {
    pub array: Value,
    /// The axes of the array that the rows run along, in order.
    pub along: Vec<usize>,
    /// For each result of the with-loop: its update, and the index of its first element, or of as many axes as are not zero.
    pub updates: Vec<(Inst, Vec<Value>)>,
}

/// How an update takes a row.
struct Put<'f> {
    array: Value,
    row: Value,
    along: Vec<usize>,
    first: &'f [Value],
    /// The part of the row, if it is not the whole one.
    part: Option<(&'f [Value], &'f [Value])>,
}

impl Facts<'_> {
    /// Does an update take all that a with-loop makes of a row, and nothing else?
    fn puts_all(&self, with: &With, result: usize, put: &Put<'_>) -> bool {
        match (put.part, &with.parts[0].generator, &with.ops[result]) {
            (Some((first, end)), Generator::Known { lower, upper, step: None, .. }, _) => {
                let same = |(a, b): (&Value, &Value)| self.same_scalar(*a, *b);
                lower.len() == first.len() && lower.iter().zip(first).all(same) && upper.iter().zip(end).all(same)
            }
            (None, _, WithOp::Genarray { frame: Frame::Known(frame), .. }) => self.covers(with, frame),
            _ => false,
        }
    }

    /// What an instruction puts into which rows of an array, if it does just that.
    fn put_of(&self, inst: Inst) -> Option<Put<'_>> {
        let func = self.func;
        match &func.insts[inst].op {
            Op::Update { array, index, value } => {
                let rank = func.ty(*array).rank()?;
                (!index.is_empty()).then(|| Put {
                    array: *array,
                    row: *value,
                    along: (index.len()..rank).collect(),
                    first: index,
                    part: None,
                })
            }
            Op::With(With { parts, ops, ordered: false }) => {
                let ([part], [WithOp::Modarray { array }]) = (&parts[..], &ops[..]) else { return None };
                let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
                let RegionData { params, insts, yields } = &func.regions[part.body];
                let (&[load], &[cell]) = (&insts[..], &yields[..]) else { return None };
                let Op::Sel { array: row, index } = &func.insts[load].op else { return None };
                let (from, to) = (func.ty(*row).shape.extents()?, func.ty(*array).shape.extents()?);
                let along: Vec<usize> =
                    (0..params.len()).filter(|k| !self.is_successor(lower[*k], upper[*k])).collect();
                let whole = |(k, extent): (&usize, &Affine)| {
                    let covers = self.const_i32(upper[*k]).is_some_and(|n| extent.as_const() == i32::try_from(n).ok());
                    self.const_i32(lower[*k]) == Some(0) && covers && to[*k] == *extent
                };
                // A part of a row along the last axes begins where the row does, for indices count from there.
                let cut = *along.first()?;
                let is_whole = along.iter().zip(from).all(whole);
                let is_tail = along.iter().copied().eq(cut..lower.len());
                let fits = along.iter().zip(from).all(|(k, extent)| to[*k] == *extent);
                let is_put = lower.len() == to.len()
                    && func.insts[load].results[0] == cell
                    && along.len() < params.len()
                    && index.len() == along.len()
                    && from.len() == along.len()
                    && along.iter().zip(index).all(|(k, v)| params[*k] == *v)
                    && (is_whole || (is_tail && fits));
                let (first, part) = match is_whole {
                    true => (&lower[..], None),
                    false => (&lower[..cut], Some((&lower[cut..], &upper[cut..]))),
                };
                is_put.then_some(Put { array: *array, row: *row, along, first, part })
            }
            _ => None,
        }
    }

    pub fn plan_rows_in_place(&self, inst: Inst, with: &With) -> Result<WithPlan, Refusal> {
        let (With { parts, ops, ordered: false }, func) = (with, self.func) else { return Err(Refusal::OtherKind) };
        let ([part], results) = (&parts[..], &func.insts[inst].results) else { return Err(Refusal::OtherKind) };
        let is_row = |op: &WithOp| match op {
            WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. } => {
                cell.is_empty() && !frame.is_empty()
            }
            _ => false,
        };
        let scope = self.scopes.last().ok_or(Refusal::OtherKind)?;
        let (insts, here) = (&func.regions[scope.region].insts, scope.position);
        let is_put = |next: &Inst| self.put_of(*next).is_some_and(|put| results.first() == Some(&put.row));
        if ops.is_empty()
            || self.options.device.is_some()
            || !ops.iter().all(is_row)
            || results.iter().any(|v| self.live.uses(*v) != 1 || self.dests.contains_key(v))
            || self.has_with_loop(part.body)
            || insts.get(here) != Some(&inst)
            || !insts[here + 1..].iter().any(is_put)
        {
            return Err(Refusal::OtherKind);
        }
        let mut updates: Vec<(Inst, Vec<Value>)> = Vec::new();
        let (mut array, mut along, mut current) = (None, Vec::new(), None);
        // What is made behind the with-loop is not there yet.
        let mut late: HashSet<Value> = HashSet::default();
        for (at, &next) in insts.iter().enumerate().skip(here + 1) {
            let data = &func.insts[next];
            let is_next = |put: &Put| put.row == results[updates.len()] && self.puts_all(with, updates.len(), put);
            match self.put_of(next).filter(is_next) {
                Some(put) => {
                    if put.first.iter().any(|v| late.contains(v)) {
                        return Err(Refusal::LateIndex);
                    }
                    if array.is_none() {
                        if !self.dies_at(put.array, at) || names(func, &insts[here + 1..at], put.array) {
                            return Err(Refusal::UsedAgain);
                        }
                        (array, along, current) = (Some(put.array), put.along.clone(), Some(put.array));
                    }
                    if current != Some(put.array) || put.along != along {
                        return Err(Refusal::RowsApart);
                    }
                    current = Some(data.results[0]);
                    updates.push((next, put.first.to_vec()));
                    if updates.len() == results.len() {
                        break;
                    }
                    if self.live.uses(data.results[0]) != 1 {
                        return Err(Refusal::UsedAgain);
                    }
                }
                None if matches!(data.op, Op::Check { .. } | Op::Call { .. } | Op::Native { .. }) => {
                    return Err(Refusal::FaultsBetween);
                }
                None if matches!(data.op, Op::Const(_)) => {}
                None => late.extend(&data.results),
            }
        }
        let array = array.filter(|_| updates.len() == results.len()).ok_or(Refusal::RowsApart)?;
        if along.len() != func.regions[part.body].params.len() || func.ty(array).elem == Elem::Handle {
            return Err(Refusal::RowsApart);
        }
        match reads_own_places(func, part, array, &along) {
            true => Ok(WithPlan::RowsInPlace(Rows { array, along, updates })),
            false => Err(Refusal::ReadsElsewhere),
        }
    }
}

/// Does a value appear in instructions, or inside of them?
fn names(func: &Func, insts: &[Inst], v: Value) -> bool {
    insts.iter().any(|inst| {
        let op = &func.insts[*inst].op;
        let mut named = false;
        op.for_each_operand(|operand| named |= operand == v);
        named || op.regions().into_iter().any(|region: Region| free_values(func, region).contains(&v))
    })
}

/// Does a body read an array at its own place in rows along some axes alone, if at all?
fn reads_own_places(func: &Func, part: &Part, array: Value, along: &[usize]) -> bool {
    let params = &func.regions[part.body].params;
    let rank = func.ty(array).rank().unwrap_or(0);
    let mut own = !func.regions[part.body].yields.contains(&array);
    walk(func, part.body, &mut |_, inst| {
        let op = &func.insts[inst].op;
        match op {
            Op::Sel { array: from, index } if *from == array => {
                own &= index.len() == rank && along.iter().zip(params).all(|(axis, own)| index[*axis] == *own);
            }
            Op::Extent { .. } => {}
            op => op.for_each_operand(|v| own &= v != array),
        }
        own &= op.regions().iter().all(|r| !func.regions[*r].yields.contains(&array));
    });
    own
}
