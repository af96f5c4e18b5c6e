//! With-loops: executed index by index where they make short vectors, emitted as WIR `with` otherwise.

use crate::spec::{Frame, Spec};
use crate::value::{Kind, Sc, Val};
use crate::withloops::generator::IndexSet;
use crate::withloops::in_order::Evaluated;
use crate::withloops::select::IndexVector;
use ravel_core::ir::{self, ExprKind, FoldFun, LocalId};
use ravel_diagnostics::Code;
use ravel_types::Basic;
use ravel_wir::Region;

/// An operation with its operands evaluated.
pub enum Operation<'a> {
    Genarray {
        /// The whole shape, also the axes that belong to the cell.
        shape: Val,
        default: Option<Val>,
    },
    Modarray {
        array: Val,
    },
    Fold {
        fun: &'a FoldFun,
        args: Vec<Val>,
        neutral: Val,
        stop: Option<Val>,
    },
    Propagate {
        state: Val,
        slot: Option<LocalId>,
    },
}

/// One elaborated body: its index set, region and cells, one per operation.
pub struct Body {
    pub set: IndexSet,
    pub region: Region,
    pub cells: Vec<Val>,
}

impl<'p> Spec<'p> {
    /// The results of a with-loop, as many as it has operations.
    pub fn with_loop(&mut self, frame: &mut Frame, with: &ir::With, wanted: usize) -> Vec<Val> {
        let around = self.repeats.begin();
        let values = self.with_loop_at(frame, with, wanted);
        self.repeats.end(around);
        values
    }

    fn with_loop_at(&mut self, frame: &mut Frame, with: &ir::With, wanted: usize) -> Vec<Val> {
        let lost = vec![Val::Bottom; wanted.max(with.ops.len())];
        let span = with.span;
        self.at(span);
        let Some(operations) = self.operations(frame, with) else {
            return lost;
        };
        let frame_shape = self.frame_shape(&operations);
        let Some(sets) = self.part_sets(frame, with, frame_shape.as_ref()) else {
            return lost;
        };
        self.at(span);
        if let Some(shape) = &frame_shape {
            for set in &sets {
                if !self.require_within(set, shape) {
                    return lost;
                }
            }
        }
        let hands_on = operations.iter().any(|op| matches!(op, Operation::Propagate { .. }));
        let all = Evaluated { frame, with, operations: &operations, sets: &sets, frame_shape: frame_shape.as_ref() };
        if hands_on {
            let changes = self.state_changes(all);
            self.repeats.again();
            if changes {
                return self.in_order(all, None);
            }
        }
        if let Some(values) = self.by_index(frame, with, &operations, &sets, frame_shape.as_ref()) {
            return values;
        }
        let pieces = match self.disjoint_pieces(&operations, &sets) {
            Some(pieces) => pieces,
            None => return self.layered(frame, with, operations, &sets, frame_shape),
        };
        let mut bodies = Vec::with_capacity(pieces.len());
        for (i, set) in pieces {
            bodies.push(self.body(frame, with, i, set, frame_shape.as_ref(), &[]));
        }
        self.at(span);
        self.assemble(frame, with, operations, bodies, frame_shape)
    }

    /// The index set of every part.
    pub fn part_sets(
        &mut self,
        frame: &mut Frame,
        with: &ir::With,
        frame_shape: Option<&Val>,
    ) -> Option<Vec<IndexSet>> {
        with.parts.iter().map(|part| self.index_set(frame, part, frame_shape)).collect()
    }

    fn operations<'a>(&mut self, frame: &mut Frame, with: &'a ir::With) -> Option<Vec<Operation<'a>>> {
        let mut operations = Vec::with_capacity(with.ops.len());
        for op in &with.ops {
            operations.push(match op {
                ir::WithOp::Genarray { shape, default } => {
                    let v = self.expr(frame, shape);
                    self.at(shape.span);
                    if matches!(v, Val::Bottom) {
                        return None;
                    }
                    let shape = match self.index_vector(&v)? {
                        IndexVector::Scalars(s) => {
                            for (axis, n) in s.iter().enumerate() {
                                if !self.require_extent(n, axis, "a with-loop's shape") {
                                    if self.is_certain() {
                                        return None;
                                    }
                                    self.note_doubt();
                                }
                            }
                            Val::Tup(Basic::Int, s)
                        }
                        IndexVector::Dyn(v) => Val::Arr(Basic::Int, v),
                    };
                    let default = match default {
                        Some(e) if !matches!(e.kind, ExprKind::ZeroCell) => match self.expr(frame, e) {
                            Val::Bottom => return None,
                            v => Some(v),
                        },
                        _ => None,
                    };
                    Operation::Genarray { shape, default }
                }
                ir::WithOp::Modarray { array } => match self.expr(frame, array) {
                    Val::Bottom => return None,
                    array => Operation::Modarray { array },
                },
                ir::WithOp::Fold { fun, neutral, stop } => {
                    let mut args = Vec::with_capacity(fun.args.len());
                    for a in &fun.args {
                        let v = self.expr(frame, a);
                        args.push(v);
                    }
                    let neutral = self.expr(frame, neutral);
                    let stop = stop.as_ref().map(|e| self.expr(frame, e));
                    if matches!(neutral, Val::Bottom) {
                        return None;
                    }
                    Operation::Fold { fun, args, neutral, stop }
                }
                ir::WithOp::Propagate { object, slot } => match self.expr(frame, object) {
                    Val::Bottom => return None,
                    state => Operation::Propagate { state, slot: *slot },
                },
            });
            self.at(with.span);
        }
        Some(operations)
    }

    /// What `.` means: the shape of the first operation that has one.
    fn frame_shape(&mut self, operations: &[Operation<'_>]) -> Option<Val> {
        for op in operations {
            match op {
                Operation::Genarray { shape, .. } => return Some(shape.clone()),
                Operation::Modarray { array } => return Some(self.shape_vector(array)),
                Operation::Fold { .. } | Operation::Propagate { .. } => {}
            }
        }
        None
    }

    /// The cells of part `i` at an index vector, executed in the current region.
    pub fn part_cells(&mut self, frame: &Frame, with: &ir::With, i: usize, iv: Val) -> Vec<Val> {
        self.cells(frame, &with.parts[i], iv, with.ops.len())
    }

    pub fn cells(&mut self, frame: &Frame, part: &ir::Part, iv: Val, n: usize) -> Vec<Val> {
        self.around.push(iv.clone());
        let cells = self.cells_at(frame, part, iv, n);
        self.around.pop();
        cells
    }

    fn cells_at(&mut self, frame: &Frame, part: &ir::Part, iv: Val, n: usize) -> Vec<Val> {
        let mut inner = frame.fork();
        if let (Some(locals), Val::Tup(_, scalars)) = (&part.scalars, &iv) {
            for (local, s) in locals.iter().zip(scalars) {
                inner.env[local.index()] = Some(Val::Sc(Basic::Int, s.clone()));
                self.note_index(&inner, *local);
            }
        }
        if let Some(local) = part.index {
            inner.env[local.index()] = Some(iv);
            self.note_index(&inner, local);
        }
        self.block(&mut inner, &part.body);
        if part.values.len() == 1 && n != 1 {
            return self.exprs(&mut inner, &part.values[0], n);
        }
        let mut cells: Vec<Val> = Vec::with_capacity(n);
        for e in part.values.iter().take(n) {
            let v = self.expr(&mut inner, e);
            cells.push(v);
        }
        if cells.len() < n {
            self.at(part.span);
            self.error(
                Code::CellTypesDiffer,
                format!("a part gives {} values for {n} operations", cells.len()),
                "one value per operation",
            );
            cells.resize(n, Val::Bottom);
        }
        cells
    }

    /// Elaborates the body of part `i` over an index set, in a region of its own. Where `except` covers the index the cells
    /// are not evaluated; another layer provides them.
    fn body(
        &mut self,
        frame: &Frame,
        with: &ir::With,
        i: usize,
        set: IndexSet,
        frame_shape: Option<&Val>,
        except: &[IndexSet],
    ) -> Body {
        let n = with.ops.len();
        let never = u32::from(set.is_empty());
        self.conditional += 1;
        self.branches += never;
        self.in_bodies += 1;
        let opened = self.em.open();
        let iv = self.index_params(opened.region, &set, frame_shape);
        let cells = if except.is_empty() {
            self.cells(frame, &with.parts[i], iv, n)
        } else {
            let mut covered = Sc::bool(false);
            for earlier in except {
                let one = self.covers(earlier, &iv);
                covered = self.em.or(&covered, &one);
            }
            let part = &with.parts[i];
            let mut lost = None;
            let (inner, index) = (frame.fork(), iv.clone());
            // The branch that is not evaluated gives zeros of the kind that the other one turns out to have.
            let mark = self.em.mark();
            let probe = self.cells(&inner, part, index.clone(), n);
            let kinds: Vec<Kind> = probe.iter().map(|c| self.em.visible_kind(c)).collect();
            self.em.truncate(mark);
            self.repeats.again();
            let cells = self.branch(
                &covered,
                |spec| kinds.iter().map(|k| spec.zero_of_kind(&k.forget_values(false))).collect(),
                |spec| {
                    let cells = spec.cells(&inner, part, index, n);
                    lost = Some(cells.len());
                    cells
                },
            );
            debug_assert!(lost.is_none_or(|len| len == cells.len()));
            cells
        };
        let region = self.em.close(opened);
        self.conditional -= 1;
        self.branches -= never;
        self.in_bodies -= 1;
        Body { set, region, cells }
    }

    /// Pairwise disjoint index sets, each with the part it belongs to; nothing if that needs layers.
    fn disjoint_pieces(&mut self, operations: &[Operation<'_>], sets: &[IndexSet]) -> Option<Vec<(usize, IndexSet)>> {
        let overlay = operations.iter().any(|op| matches!(op, Operation::Genarray { .. } | Operation::Modarray { .. }));
        let mut pieces: Vec<(usize, IndexSet)> = Vec::new();
        for (i, set) in sets.iter().enumerate() {
            if !overlay || i == 0 {
                pieces.push((i, set.clone()));
                continue;
            }
            let IndexSet::Box(whole) = set else {
                return None;
            };
            let mut rest = vec![whole.clone()];
            for earlier in &sets[..i] {
                let IndexSet::Box(earlier) = earlier else {
                    return None;
                };
                if earlier.rank() != whole.rank() {
                    self.error(
                        Code::IndexLengthsDiffer,
                        "the parts of a with-loop have indices of different lengths",
                        "lengths must agree",
                    );
                    return Some(pieces);
                }
                rest = self.subtract(rest, earlier)?;
            }
            pieces.extend(rest.into_iter().map(|b| (i, IndexSet::Box(b))));
        }
        Some(pieces)
    }

    /// Overlapping parts that cannot be split: the last part makes the array, each earlier one overwrites it.
    fn layered(
        &mut self,
        frame: &mut Frame,
        with: &ir::With,
        operations: Vec<Operation<'_>>,
        sets: &[IndexSet],
        frame_shape: Option<Val>,
    ) -> Vec<Val> {
        if operations.iter().any(|op| matches!(op, Operation::Fold { .. } | Operation::Propagate { .. })) {
            let all = Evaluated { frame, with, operations: &operations, sets, frame_shape: frame_shape.as_ref() };
            return self.in_order(all, None);
        }
        let mut current = operations;
        for i in (0..sets.len()).rev() {
            let body = self.body(frame, with, i, sets[i].clone(), frame_shape.as_ref(), &sets[..i]);
            let results = self.assemble(frame, with, current, vec![body], frame_shape.clone());
            if results.iter().any(|r| matches!(r, Val::Bottom)) {
                return results;
            }
            current = results.into_iter().map(|array| Operation::Modarray { array }).collect();
        }
        current
            .into_iter()
            .map(|op| match op {
                Operation::Modarray { array } => array,
                _ => Val::Bottom,
            })
            .collect()
    }
}
