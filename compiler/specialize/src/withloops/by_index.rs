//! With-loops executed index by index: those with a single index, and those over small known index sets that make short vectors.

use crate::literal::is_tuple;
use crate::spec::{Frame, Spec};
use crate::value::{MAX_TUPLE, Sc, Val};
use crate::withloops::generator::{IndexBox, IndexSet};
use crate::withloops::withloop::Operation;
use ravel_core::ir;
use ravel_types::Basic;

/// Most copies of a cell, where such with-loops are nested: two indices each would be a million copies for twenty of them.
const MAX_NESTED_CELLS: usize = 256;
/// A body that emits more instructions than this per index is not repeated per index.
const MAX_UNROLLED_BODY: usize = 12;

impl Spec<'_> {
    /// Executes a with-loop index by index if it has one index without axes, or makes short vectors.
    pub fn by_index(
        &mut self,
        frame: &mut Frame,
        with: &ir::With,
        operations: &[Operation<'_>],
        sets: &[IndexSet],
        frame_shape: Option<&Val>,
    ) -> Option<Vec<Val>> {
        let [operation] = operations else {
            return self.single_index(frame, with, operations, sets);
        };
        let boxes: Vec<&IndexBox> = sets
            .iter()
            .map(|s| match s {
                IndexSet::Box(b) => Some(b),
                IndexSet::Dyn { .. } => None,
            })
            .collect::<Option<_>>()?;
        if boxes.iter().any(|b| b.rank() == 0) {
            return self.single_index(frame, with, operations, sets);
        }
        let lists: Vec<Vec<Vec<i32>>> = boxes.iter().map(|b| b.indices(MAX_TUPLE)).collect::<Option<_>>()?;
        let cells = self.nested_cells;
        self.nested_cells *= lists.iter().map(Vec::len).sum::<usize>().max(1);
        let values = match self.nested_cells <= MAX_NESTED_CELLS {
            true => self.few_cells(frame, with, operation, &lists, frame_shape),
            false => None,
        };
        self.nested_cells = cells;
        values
    }

    fn few_cells(
        &mut self,
        frame: &mut Frame,
        with: &ir::With,
        operation: &Operation<'_>,
        lists: &[Vec<Vec<i32>>],
        frame_shape: Option<&Val>,
    ) -> Option<Vec<Val>> {
        match operation {
            Operation::Genarray { default, .. } => {
                let Some(Val::Tup(_, extents)) = frame_shape else {
                    return None;
                };
                let [n] = extents.as_slice() else { return None };
                let n = usize::try_from(n.as_int()?).ok().filter(|n| *n <= MAX_TUPLE)?;
                let fill = match default {
                    None => None,
                    Some(Val::Sc(b, s)) if is_tuple(*b, n) => Some((*b, s.clone())),
                    Some(_) => return None,
                };
                self.vector_by_index(frame, with, lists, n, fill, None)
            }
            Operation::Modarray { array: Val::Tup(b, old) } => {
                self.vector_by_index(frame, with, lists, old.len(), None, Some((*b, old)))
            }
            Operation::Modarray { .. } => None,
            Operation::Fold { fun, args, neutral, stop: None } => {
                let small =
                    matches!(neutral, Val::Sc(Basic::Int | Basic::Bool, _) | Val::Tup(Basic::Int | Basic::Bool, _));
                let key = self.key_of(with);
                let many = lists.iter().map(Vec::len).sum::<usize>() > MAX_TUPLE;
                if !small || many || self.repeats.is_not_by_index(&key) {
                    return self.fold_over_axes(frame, with, lists, (fun, args), neutral).map(|v| vec![v]);
                }
                let mark = self.em.mark();
                let mut acc = neutral.clone();
                let mut first = true;
                for (i, list) in lists.iter().enumerate() {
                    for index in list {
                        let cell = self.cell_at(frame, with, i, index, 1).into_iter().next()?;
                        let mut argv = args.clone();
                        argv.extend([acc, cell]);
                        acc = self.call_set(fun.set, argv, 1, fun.span).into_iter().next()?;
                        if std::mem::take(&mut first) && self.em.since(mark) > MAX_UNROLLED_BODY {
                            self.em.truncate(mark);
                            self.repeats.keep_not_by_index(key);
                            self.repeats.again();
                            return self.fold_over_axes(frame, with, lists, (fun, args), neutral).map(|v| vec![v]);
                        }
                    }
                }
                Some(vec![acc])
            }
            Operation::Fold { .. } | Operation::Propagate { .. } => None,
        }
    }

    fn vector_by_index(
        &mut self,
        frame: &mut Frame,
        with: &ir::With,
        lists: &[Vec<Vec<i32>>],
        n: usize,
        mut fill: Option<(Basic, Sc)>,
        old: Option<(Basic, &Vec<Sc>)>,
    ) -> Option<Vec<Val>> {
        let key = self.key_of(with);
        if self.repeats.is_not_by_index(&key) {
            return None;
        }
        let mark = self.em.mark();
        let mut slots: Vec<Option<Sc>> = vec![None; n];
        let mut basic = fill.as_ref().map(|f| f.0).or(old.map(|o| o.0));
        let mut first = true;
        for (i, list) in lists.iter().enumerate() {
            for index in list {
                let at = usize::try_from(index[0]).ok()?;
                if slots.get(at)?.is_some() {
                    continue;
                }
                let cell = self.cell_at(frame, with, i, index, 1).into_iter().next()?;
                let scalar = match cell {
                    Val::Sc(b, s) if is_tuple(b, n) && basic.is_none_or(|known| known == b) => Some((b, s)),
                    _ => None,
                };
                let is_large = std::mem::take(&mut first) && self.em.since(mark) > MAX_UNROLLED_BODY;
                let Some((b, s)) = scalar.filter(|_| !is_large) else {
                    self.em.truncate(mark);
                    self.repeats.keep_not_by_index(key);
                    self.repeats.again();
                    return None;
                };
                basic = Some(b);
                slots[at] = Some(s);
            }
        }
        let basic = basic?;
        let fill = fill.take().map_or(crate::literal::zero(basic), |f| f.1);
        let scalars = slots
            .into_iter()
            .enumerate()
            .map(|(i, s)| s.or_else(|| old.map(|o| o.1[i].clone())).unwrap_or_else(|| fill.clone()))
            .collect();
        Some(vec![Val::Tup(basic, scalars)])
    }

    /// The only index of parts without axes: the first part is the result of every genarray and modarray.
    fn single_index(
        &mut self,
        frame: &mut Frame,
        with: &ir::With,
        operations: &[Operation<'_>],
        sets: &[IndexSet],
    ) -> Option<Vec<Val>> {
        if operations.iter().any(|op| matches!(op, Operation::Fold { stop: Some(_), .. })) {
            return None;
        }
        let no_axes = |s: &IndexSet| matches!(s, IndexSet::Box(b) if b.rank() == 0);
        if sets.is_empty() || !sets.iter().all(no_axes) {
            return None;
        }
        let whole = operations.iter().all(|op| match op {
            Operation::Genarray { shape, .. } => matches!(shape, Val::Tup(_, s) if s.is_empty()),
            _ => true,
        });
        if !whole {
            return None;
        }
        let folds = operations.iter().any(|op| matches!(op, Operation::Fold { .. }));
        let mut results: Vec<Option<Val>> = operations
            .iter()
            .map(|op| match op {
                Operation::Fold { neutral, .. } => Some(neutral.clone()),
                Operation::Propagate { state, .. } => Some(state.clone()),
                _ => None,
            })
            .collect();
        let parts = if folds { sets.len() } else { 1 };
        for i in 0..parts {
            let cells = self.cell_at(frame, with, i, &[], operations.len());
            for ((op, result), cell) in operations.iter().zip(&mut results).zip(cells) {
                match op {
                    Operation::Fold { fun, args, .. } => {
                        let acc = result.take().unwrap_or(Val::Bottom);
                        let mut argv = args.clone();
                        argv.extend([acc, cell]);
                        *result = self.call_set(fun.set, argv, 1, fun.span).into_iter().next();
                    }
                    Operation::Modarray { array } => {
                        self.require_same_shape(array, &cell, "the array and its replacement");
                        result.get_or_insert(cell);
                    }
                    Operation::Genarray { .. } => {
                        result.get_or_insert(cell);
                    }
                    Operation::Propagate { .. } => {}
                }
            }
        }
        Some(results.into_iter().map(|r| r.unwrap_or(Val::Bottom)).collect())
    }

    /// The cells of one part at a constant index, executed in the current region.
    pub fn cell_at(&mut self, frame: &Frame, with: &ir::With, part: usize, index: &[i32], n: usize) -> Vec<Val> {
        let scalars: Vec<Sc> = index.iter().map(|i| Sc::int(*i)).collect();
        let iv = Val::Tup(Basic::Int, scalars);
        self.conditional += 1;
        let cells = self.cells(frame, &with.parts[part], iv, n);
        self.conditional -= 1;
        cells
    }
}
