//! With-loops: executed index by index where they make short vectors, emitted as WIR `with` otherwise.

use crate::generator::{IndexBox, IndexSet};
use crate::literal::is_tuple;
use crate::prim::IndexVector;
use crate::spec::{Frame, Spec};
use crate::value::{Kind, LeafShape, MAX_TUPLE, Sc, ScKind, ShapeKind, Val};
use ravel_core::ir::{self, ExprKind, FoldFun};
use ravel_types::{Affine, Basic, Elem};
use ravel_wir::{Frame as WirFrame, Op, Part, Region, With, WithOp};

/// A body that emits more instructions than this per index is not repeated per index.
const MAX_UNROLLED_BODY: usize = 12;

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
        let lost = vec![Val::Bottom; wanted.max(with.ops.len())];
        let span = with.span;
        self.at(span);
        let Some(operations) = self.operations(frame, with) else {
            return lost;
        };
        let frame_shape = self.frame_shape(&operations);
        let mut sets = Vec::with_capacity(with.parts.len());
        for part in &with.parts {
            let Some(set) = self.index_set(frame, part, frame_shape.as_ref()) else {
                return lost;
            };
            sets.push(set);
        }
        self.at(span);
        if let Some(shape) = &frame_shape {
            for set in &sets {
                self.require_within(set, shape);
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

    fn operations<'a>(
        &mut self,
        frame: &mut Frame,
        with: &'a ir::With,
    ) -> Option<Vec<Operation<'a>>> {
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
                                self.require_extent(n, axis);
                            }
                            Val::Tup(Basic::Int, s)
                        }
                        IndexVector::Dyn(v) => Val::Arr(Basic::Int, v),
                    };
                    let default = match default {
                        Some(e) if !matches!(e.kind, ExprKind::ZeroCell) => {
                            match self.expr(frame, e) {
                                Val::Bottom => return None,
                                v => Some(v),
                            }
                        }
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
                    Operation::Fold {
                        fun,
                        args,
                        neutral,
                        stop,
                    }
                }
            });
            self.at(with.span);
        }
        Some(operations)
    }

    fn require_extent(&mut self, n: &Sc, axis: usize) {
        if self.em.range(n).0 >= 0 {
            return;
        }
        let ok = self
            .em
            .bin(ravel_types::BinOp::Ge, Basic::Int, n, &Sc::int(0));
        let operands = vec![self.em.value(n)];
        let text = format!("axis {axis} of a with-loop's shape is negative");
        let fault = ravel_wir::Fault::Message {
            text: text.clone().into(),
            operands,
        };
        if ok.as_bool() == Some(false) {
            self.certain_fault("E0334", text, fault);
        } else {
            self.emit_check(&ok, fault);
            self.em.set_checked(n, (0, i32::MAX as i64), None);
        }
    }

    /// What `.` means: the shape of the first operation that has one.
    fn frame_shape(&mut self, operations: &[Operation<'_>]) -> Option<Val> {
        for op in operations {
            match op {
                Operation::Genarray { shape, .. } => return Some(shape.clone()),
                Operation::Modarray { array } => return Some(self.shape_vector(array)),
                Operation::Fold { .. } => {}
            }
        }
        None
    }

    /// Executes a with-loop index by index if it has one index without axes, or makes short vectors.
    fn by_index(
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
        let lists: Vec<Vec<Vec<i32>>> = boxes
            .iter()
            .map(|b| b.indices(MAX_TUPLE))
            .collect::<Option<_>>()?;
        match operation {
            Operation::Genarray { default, .. } => {
                let Some(Val::Tup(_, extents)) = frame_shape else {
                    return None;
                };
                let [n] = extents.as_slice() else { return None };
                let n = usize::try_from(n.as_int()?)
                    .ok()
                    .filter(|n| *n <= MAX_TUPLE)?;
                let fill = match default {
                    None => None,
                    Some(Val::Sc(b, s)) if is_tuple(*b, n) => Some((*b, s.clone())),
                    Some(_) => return None,
                };
                self.vector_by_index(frame, with, &lists, n, fill, None)
            }
            Operation::Modarray {
                array: Val::Tup(b, old),
            } => self.vector_by_index(frame, with, &lists, old.len(), None, Some((*b, old))),
            Operation::Modarray { .. } => None,
            Operation::Fold {
                fun,
                args,
                neutral,
                stop: None,
            } => {
                let small = match neutral {
                    Val::Sc(Basic::Int | Basic::Bool, _) => true,
                    Val::Tup(Basic::Int | Basic::Bool, _) => true,
                    _ => false,
                };
                if !small || lists.iter().map(Vec::len).sum::<usize>() > MAX_TUPLE {
                    return None;
                }
                let mark = self.em.mark();
                let mut acc = neutral.clone();
                let mut first = true;
                for (i, list) in lists.iter().enumerate() {
                    for index in list {
                        let cell = self.cell_at(frame, with, i, index, 1).into_iter().next()?;
                        let mut argv = args.clone();
                        argv.extend([acc, cell]);
                        acc = self
                            .call_set(fun.set, argv, 1, fun.span)
                            .into_iter()
                            .next()?;
                        if std::mem::take(&mut first) && self.em.since(mark) > MAX_UNROLLED_BODY {
                            self.em.truncate(mark);
                            return None;
                        }
                    }
                }
                Some(vec![acc])
            }
            Operation::Fold { .. } => None,
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
                let Val::Sc(b, s) = cell else {
                    self.em.truncate(mark);
                    return None;
                };
                let fits = is_tuple(b, n) && basic.is_none_or(|known| known == b);
                if !fits
                    || (std::mem::take(&mut first) && self.em.since(mark) > MAX_UNROLLED_BODY)
                {
                    self.em.truncate(mark);
                    return None;
                }
                basic = Some(b);
                slots[at] = Some(s);
            }
        }
        let basic = basic?;
        let fill = fill.take().map_or(crate::literal::zero(basic), |f| f.1);
        let scalars = slots
            .into_iter()
            .enumerate()
            .map(|(i, s)| {
                s.or_else(|| old.map(|o| o.1[i].clone()))
                    .unwrap_or_else(|| fill.clone())
            })
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
        let folds = operations
            .iter()
            .any(|op| matches!(op, Operation::Fold { .. }));
        let mut results: Vec<Option<Val>> = operations
            .iter()
            .map(|op| match op {
                Operation::Fold { neutral, .. } => Some(neutral.clone()),
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
                }
            }
        }
        Some(
            results
                .into_iter()
                .map(|r| r.unwrap_or(Val::Bottom))
                .collect(),
        )
    }

    /// The cells of one part at a constant index, executed in the current region.
    fn cell_at(
        &mut self,
        frame: &Frame,
        with: &ir::With,
        part: usize,
        index: &[i32],
        n: usize,
    ) -> Vec<Val> {
        let scalars: Vec<Sc> = index.iter().map(|i| Sc::int(*i)).collect();
        let iv = Val::Tup(Basic::Int, scalars);
        self.conditional += 1;
        let cells = self.cells(frame, &with.parts[part], iv, n);
        self.conditional -= 1;
        cells
    }

    /// The cells of part `i` at an index vector, executed in the current region.
    pub fn part_cells(&mut self, frame: &Frame, with: &ir::With, i: usize, iv: Val) -> Vec<Val> {
        self.cells(frame, &with.parts[i], iv, with.ops.len())
    }

    fn cells(&mut self, frame: &Frame, part: &ir::Part, iv: Val, n: usize) -> Vec<Val> {
        let mut inner = frame.fork();
        if let (Some(locals), Val::Tup(_, scalars)) = (&part.scalars, &iv) {
            for (local, s) in locals.iter().zip(scalars) {
                inner.env[local.index()] = Some(Val::Sc(Basic::Int, s.clone()));
            }
        }
        if let Some(local) = part.index {
            inner.env[local.index()] = Some(iv);
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
                "E0361",
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
        self.conditional += 1;
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
            let cells = self.branch(
                &covered,
                |spec| {
                    kinds
                        .iter()
                        .map(|k| spec.zero_of_kind(&k.forget_values(false)))
                        .collect()
                },
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
        Body { set, region, cells }
    }

    /// Pairwise disjoint index sets, each with the part it belongs to; nothing if that needs layers.
    fn disjoint_pieces(
        &mut self,
        operations: &[Operation<'_>],
        sets: &[IndexSet],
    ) -> Option<Vec<(usize, IndexSet)>> {
        let overlay = operations
            .iter()
            .any(|op| !matches!(op, Operation::Fold { .. }));
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
                        "E0363",
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
        if operations
            .iter()
            .any(|op| matches!(op, Operation::Fold { .. }))
        {
            self.error(
                "E0366",
                "a with-loop with a fold beside other operations has overlapping strided parts",
                "make the parts disjoint",
            );
            return vec![Val::Bottom; operations.len()];
        }
        let mut current = operations;
        for i in (0..sets.len()).rev() {
            let body = self.body(
                frame,
                with,
                i,
                sets[i].clone(),
                frame_shape.as_ref(),
                &sets[..i],
            );
            let results = self.assemble(frame, with, current, vec![body], frame_shape.clone());
            if results.iter().any(|r| matches!(r, Val::Bottom)) {
                return results;
            }
            current = results
                .into_iter()
                .map(|array| Operation::Modarray { array })
                .collect();
        }
        current
            .into_iter()
            .map(|op| match op {
                Operation::Modarray { array } => array,
                _ => Val::Bottom,
            })
            .collect()
    }

    /// Emits the `with` for elaborated bodies.
    fn assemble(
        &mut self,
        frame: &mut Frame,
        with: &ir::With,
        operations: Vec<Operation<'_>>,
        mut bodies: Vec<Body>,
        frame_shape: Option<Val>,
    ) -> Vec<Val> {
        let lost = vec![Val::Bottom; operations.len()];
        if bodies
            .iter()
            .any(|b| b.cells.iter().any(|c| matches!(c, Val::Bottom)))
        {
            return lost;
        }
        let index_rank = bodies.iter().find_map(|b| match &b.set {
            IndexSet::Box(b) => Some(b.rank()),
            IndexSet::Dyn { .. } => None,
        });
        let mut wir_ops: Vec<WithOp> = Vec::new();
        let mut result_kinds: Vec<Kind> = Vec::new();
        // Values yielded by each body, for all operations so far.
        let mut yields: Vec<Vec<ravel_wir::Value>> = vec![Vec::new(); bodies.len()];
        let mut by_loop: Vec<(usize, Val)> = Vec::new();
        for (k, operation) in operations.iter().enumerate() {
            let kind = match operation {
                Operation::Genarray { shape, default } => self.genarray(
                    k,
                    shape,
                    default.as_ref(),
                    index_rank,
                    &mut bodies,
                    &mut yields,
                    &mut wir_ops,
                ),
                Operation::Modarray { array } => {
                    self.modarray(k, array, index_rank, &mut bodies, &mut yields, &mut wir_ops)
                }
                Operation::Fold {
                    fun,
                    args,
                    neutral,
                    stop,
                } => {
                    match self.fold(
                        k,
                        fun,
                        args,
                        neutral,
                        stop.as_ref(),
                        &mut bodies,
                        &mut yields,
                        &mut wir_ops,
                    ) {
                        Some(kind) => Some(kind),
                        None if self.diagnostics.iter().any(|d| d.is_error()) => None,
                        None => {
                            let value = self.fold_by_loop(
                                frame,
                                with,
                                k,
                                fun,
                                args,
                                neutral,
                                frame_shape.as_ref(),
                            );
                            by_loop.push((k, value));
                            Some(Kind::Bottom)
                        }
                    }
                }
            };
            match kind {
                Some(kind) => result_kinds.push(kind),
                None => return lost,
            }
        }
        if by_loop.len() == operations.len() && !operations.is_empty() {
            return by_loop.into_iter().map(|(_, v)| v).collect();
        }
        let mut parts = Vec::with_capacity(bodies.len());
        let mut ordered = false;
        for (body, values) in bodies.iter().zip(yields) {
            self.em.set_yields(body.region, values);
            ordered |= self.region_has_io(&self.em.func, body.region);
            let generator = self.wir_generator(&body.set);
            parts.push(Part {
                generator,
                body: body.region,
            });
        }
        for op in &wir_ops {
            if let Some(region) = op.region() {
                ordered |= self.region_has_io(&self.em.func, region);
            }
        }
        let mut leaves = Vec::new();
        result_kinds.iter().for_each(|k| k.leaves(&mut leaves));
        let op = Op::With(With {
            parts,
            ops: wir_ops,
            ordered,
        });
        let mut values = self.em.inst_leaves(op, &leaves).into_iter();
        let mut by_loop = by_loop.into_iter().peekable();
        result_kinds
            .iter()
            .enumerate()
            .map(|(k, kind)| match by_loop.next_if(|(i, _)| *i == k) {
                Some((_, v)) => v,
                None => self.em.instantiate(kind, &mut values),
            })
            .collect()
    }

    /// Cells made to fit `expected` extents where these are known; the kind that all of them (and `default`) share.
    fn common_cell(
        &mut self,
        k: usize,
        expected: Option<&[Sc]>,
        default: Option<&Val>,
        bodies: &mut [Body],
    ) -> Option<Kind> {
        let mut common = match default {
            Some(v) => cell_kind(&self.em.visible_kind(v)),
            None => Kind::Bottom,
        };
        let mut expected: Option<Vec<Sc>> = expected.map(<[Sc]>::to_vec);
        for body in bodies.iter_mut() {
            if let Some(extents) = &expected {
                let opened = self.em.reopen(body.region);
                self.conditional += 1;
                let cell = self.fit_cell(extents, &body.cells[k], "the cells of a with-loop");
                self.conditional -= 1;
                self.em.close(opened);
                body.cells[k] = cell?;
            }
            let found = cell_kind(&self.em.visible_kind(&body.cells[k]));
            if expected.is_none() {
                expected = self.visible_extents(&body.cells[k]);
            }
            common = match common.join(&found) {
                Some(kind) => kind,
                None => {
                    let a = crate::report::show_kind(self, &common);
                    let b = crate::report::show_kind(self, &found);
                    self.error(
                        "E0361",
                        format!("the cells of a with-loop differ in type: {a} and {b}"),
                        "all cells and the default have one type",
                    );
                    return None;
                }
            };
        }
        Some(common)
    }

    /// Extents of a cell that are known outside of its body.
    fn visible_extents(&mut self, cell: &Val) -> Option<Vec<Sc>> {
        let shape = self.outer_shape(cell)?;
        shape
            .iter()
            .map(|s| {
                let form = self.em.form(s);
                let kind = self.em.visible(&Kind::Sc(Basic::Int, ScKind::Form(form)));
                match kind {
                    Kind::Sc(_, ScKind::Form(form)) => Some(self.em.from_form(&form)),
                    _ => None,
                }
            })
            .collect()
    }

    /// Adds the cells of operation `k`, seen through `kind`, to the yields.
    fn yield_cells(
        &mut self,
        k: usize,
        kind: &Kind,
        bodies: &[Body],
        yields: &mut [Vec<ravel_wir::Value>],
    ) {
        for (body, out) in bodies.iter().zip(yields) {
            let opened = self.em.reopen(body.region);
            self.em.flatten(&body.cells[k], kind, out);
            self.em.close(opened);
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the operands of the operation and what the loop has gathered so far"
    )]
    fn genarray(
        &mut self,
        k: usize,
        shape: &Val,
        default: Option<&Val>,
        index_rank: Option<usize>,
        bodies: &mut [Body],
        yields: &mut [Vec<ravel_wir::Value>],
        ops: &mut Vec<WithOp>,
    ) -> Option<Kind> {
        let shape = &self.ranked_frame(k, shape, default, index_rank, bodies);
        let (frame, tail) = match (shape, index_rank) {
            (Val::Tup(_, s), Some(rank)) if rank <= s.len() => {
                (Some(s[..rank].to_vec()), s[rank..].to_vec())
            }
            (Val::Tup(_, s), None) => (Some(s.clone()), Vec::new()),
            (Val::Tup(_, s), Some(rank)) => {
                self.error(
                    "E0363",
                    format!(
                        "the index has {rank} components but the shape {} axes",
                        s.len()
                    ),
                    "too many components",
                );
                return None;
            }
            _ => (None, Vec::new()),
        };
        let replicated = default.filter(|_| !tail.is_empty()).map(|v| self.replicate(&tail, v));
        let default = replicated.as_ref().or(default);
        let expected = match default {
            Some(v) => self.outer_shape(v),
            _ if !tail.is_empty() => Some(tail.clone()),
            _ => None,
        };
        let cell = self.common_cell(k, expected.as_deref(), default, bodies)?;
        if matches!(cell, Kind::Bottom) {
            self.error(
                "E0367",
                "a with-loop without parts and default has no element type",
                "give a default",
            );
            return None;
        }
        if contains_handle(&cell) {
            self.error(
                "E0304",
                "values of an external type cannot be elements of an array",
                "external types are scalar",
            );
            return None;
        }
        self.yield_cells(k, &cell, bodies, yields);
        let wir_frame = match &frame {
            Some(extents) => WirFrame::Known(self.em.values(extents)),
            None => WirFrame::Dyn(self.em.boxed(shape).expect("a shape is a vector")),
        };
        let mut defaults = Vec::new();
        if let Some(v) = default {
            self.em.flatten(v, &cell, &mut defaults);
        }
        let mut leaves = Vec::new();
        cell.leaves(&mut leaves);
        let cells = self.cell_extents(&leaves);
        for (i, cell) in cells.into_iter().enumerate() {
            ops.push(WithOp::Genarray {
                frame: wir_frame.clone(),
                cell,
                default: defaults.get(i).copied(),
            });
        }
        let frame_kind = match &frame {
            Some(extents) => {
                ShapeKind::Known(extents.iter().map(|e| Some(self.em.form(e))).collect())
            }
            None => ShapeKind::Unknown,
        };
        Some(array_kind(&cell, &frame_kind))
    }

    /// A shape vector of unknown length under an index of known length: as long as the index and the cells make it.
    fn ranked_frame(
        &mut self,
        k: usize,
        shape: &Val,
        default: Option<&Val>,
        index_rank: Option<usize>,
        bodies: &[Body],
    ) -> Val {
        let (Val::Arr(_, vector), Some(rank)) = (shape, index_rank) else {
            return shape.clone();
        };
        let ranks = (
            bodies.first().map(|b| self.outer_rank(&b.cells[k])),
            default.map(|v| self.outer_rank(v)),
        );
        let below = match ranks {
            (Some(Some(cell)), Some(Some(default))) => cell.saturating_sub(default),
            _ => 0,
        };
        let vector = Val::Arr(Basic::Int, *vector);
        let vector = self.narrow_outer(&vector, &[Some((rank + below) as i32)]);
        self.elements(&vector).map_or(shape.clone(), |s| Val::Tup(Basic::Int, s))
    }

    /// The array of shape `extents ++ shape(v)` filled with `v`.
    fn replicate(&mut self, extents: &[Sc], v: &Val) -> Val {
        match v {
            Val::Wrapped(u, inner) => Val::Wrapped(*u, Box::new(self.replicate(extents, inner))),
            Val::Struct(s, fields) => {
                Val::Struct(*s, fields.iter().map(|f| self.replicate(extents, f)).collect())
            }
            Val::Bottom | Val::Handle(..) => v.clone(),
            Val::Sc(..) | Val::Tup(..) | Val::Arr(..) => {
                let cell = cell_kind(&self.em.visible_kind(v));
                let mut default = Vec::new();
                self.em.flatten(v, &cell, &mut default);
                let mut leaves = Vec::new();
                cell.leaves(&mut leaves);
                let cells = self.cell_extents(&leaves);
                let frame: Vec<Option<Affine>> =
                    extents.iter().map(|e| Some(self.em.form(e))).collect();
                let ops = vec![WithOp::Genarray {
                    frame: WirFrame::Known(self.em.values(extents)),
                    cell: cells.into_iter().next().flatten(),
                    default: default.first().copied(),
                }];
                let with = With { parts: Vec::new(), ops, ordered: false };
                let kind = array_kind(&cell, &ShapeKind::Known(frame));
                let mut leaves = Vec::new();
                kind.leaves(&mut leaves);
                let mut values = self.em.inst_leaves(Op::With(with), &leaves).into_iter();
                self.em.instantiate(&kind, &mut values)
            }
        }
    }

    /// Extents of each leaf of a cell as values, where all are known here.
    fn cell_extents(&mut self, leaves: &[(Elem, LeafShape)]) -> Vec<Option<Vec<ravel_wir::Value>>> {
        leaves
            .iter()
            .map(|(_, shape)| match shape {
                LeafShape::Scalar => Some(Vec::new()),
                LeafShape::Array(ShapeKind::Known(extents)) => {
                    let extents: Option<Vec<Affine>> = extents.iter().cloned().collect();
                    let scalars: Vec<Sc> = extents?.iter().map(|e| self.em.from_form(e)).collect();
                    Some(self.em.values(&scalars))
                }
                LeafShape::Array(ShapeKind::Unknown) => None,
            })
            .collect()
    }

    fn modarray(
        &mut self,
        k: usize,
        array: &Val,
        index_rank: Option<usize>,
        bodies: &mut [Body],
        yields: &mut [Vec<ravel_wir::Value>],
        ops: &mut Vec<WithOp>,
    ) -> Option<Kind> {
        let shape = self.outer_shape(array);
        let expected = match (&shape, index_rank) {
            (Some(s), Some(rank)) if rank <= s.len() => Some(s[rank..].to_vec()),
            (Some(s), Some(rank)) => {
                self.error(
                    "E0363",
                    format!(
                        "the index has {rank} components but the array {} axes",
                        s.len()
                    ),
                    "too many components",
                );
                return None;
            }
            _ => None,
        };
        if bodies.is_empty() {
            // Without parts the result is the array itself; the node keeps operations and results in step.
            let whole = cell_kind(&self.em.kind_of(array));
            let mut arrays = Vec::new();
            self.em.flatten(array, &whole, &mut arrays);
            ops.extend(arrays.into_iter().map(|array| WithOp::Modarray { array }));
            return Some(whole);
        }
        let cell = self.common_cell(k, expected.as_deref(), None, bodies)?;
        let whole = cell_kind(&self.em.kind_of(array));
        if self.elem_of(array) != self.elem_of(&bodies[0].cells[k]) {
            let (a, b) = (
                self.show_value_type(array),
                self.show_value_type(&bodies[0].cells[k]),
            );
            self.error(
                "E0361",
                format!("cells of type {b} cannot replace parts of {a}"),
                "element types differ",
            );
            return None;
        }
        self.yield_cells(k, &cell, bodies, yields);
        let mut arrays = Vec::new();
        self.em.flatten(array, &whole, &mut arrays);
        ops.extend(arrays.into_iter().map(|array| WithOp::Modarray { array }));
        Some(whole)
    }
}

/// The kind of a value stored as part of an array: known scalar values are forgotten, tuples are vectors.
pub fn cell_kind(kind: &Kind) -> Kind {
    match kind {
        Kind::Sc(b, _) => Kind::Sc(*b, ScKind::Any),
        Kind::Tup(b, s) => Kind::Arr(
            *b,
            ShapeKind::Known(vec![Some(Affine::constant(s.len() as i32))]),
        ),
        Kind::Wrapped(u, k) => Kind::Wrapped(*u, Box::new(cell_kind(k))),
        Kind::Struct(s, ks) => Kind::Struct(*s, ks.iter().map(cell_kind).collect()),
        other => other.clone(),
    }
}

/// The kind of an array with this frame and these cells.
fn array_kind(cell: &Kind, frame: &ShapeKind) -> Kind {
    match cell {
        Kind::Sc(b, _) if frame.rank() == Some(0) => Kind::Sc(*b, ScKind::Any),
        Kind::Sc(b, _) => Kind::Arr(*b, frame.clone()),
        Kind::Arr(b, shape) => Kind::Arr(
            *b,
            match (frame, shape) {
                (ShapeKind::Known(f), ShapeKind::Known(s)) => {
                    ShapeKind::Known(f.iter().chain(s).cloned().collect())
                }
                _ => ShapeKind::Unknown,
            },
        ),
        Kind::Wrapped(u, k) => Kind::Wrapped(*u, Box::new(array_kind(k, frame))),
        Kind::Struct(s, ks) => Kind::Struct(*s, ks.iter().map(|k| array_kind(k, frame)).collect()),
        other => other.clone(),
    }
}

fn contains_handle(kind: &Kind) -> bool {
    match kind {
        Kind::Handle(_) => true,
        Kind::Wrapped(_, k) => contains_handle(k),
        Kind::Struct(_, ks) => ks.iter().any(contains_handle),
        _ => false,
    }
}
