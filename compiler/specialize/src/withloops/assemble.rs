//! Emission of a WIR `with` from elaborated bodies: the common cell, frames, defaults, yields and result kinds.

use crate::spec::{Frame, Spec};
use crate::value::{Kind, LeafShape, Sc, ScKind, ShapeKind, Val};
use crate::withloops::generator::IndexSet;
use crate::withloops::in_order::Evaluated;
use crate::withloops::withloop::{Body, Operation};
use ravel_core::ir;
use ravel_diagnostics::Code;
use ravel_types::{Affine, Basic, Elem};
use ravel_wir::{Frame as WirFrame, Op, Part, With, WithOp};

impl<'p> Spec<'p> {
    /// Emits the `with` for elaborated bodies.
    pub fn assemble(
        &mut self,
        frame: &mut Frame,
        with: &ir::With,
        operations: Vec<Operation<'_>>,
        mut bodies: Vec<Body>,
        frame_shape: Option<Val>,
    ) -> Vec<Val> {
        let lost = vec![Val::Bottom; operations.len()];
        if bodies.iter().any(|b| b.cells.iter().any(|c| matches!(c, Val::Bottom))) {
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
        // Results that the `with` does not have, and how many of these are folds.
        let mut others: Vec<(usize, Val)> = Vec::new();
        let mut by_loop = 0;
        for (k, operation) in operations.iter().enumerate() {
            let kind = match operation {
                Operation::Genarray { shape, default } => {
                    self.genarray(k, shape, default.as_ref(), index_rank, &mut bodies, &mut yields, &mut wir_ops)
                }
                Operation::Modarray { array } => {
                    self.modarray(k, array, index_rank, &mut bodies, &mut yields, &mut wir_ops)
                }
                Operation::Fold { fun, args, neutral, stop } => {
                    match self.fold(k, fun, args, neutral, stop.as_ref(), &mut bodies, &mut yields, &mut wir_ops) {
                        Some(kind) => Some(kind),
                        None if self.diagnostics.iter().any(|d| d.is_error()) => None,
                        None => {
                            by_loop += 1;
                            others.push((k, Val::Bottom));
                            Some(Kind::Bottom)
                        }
                    }
                }
                // A state that changes is none for a `with`.
                Operation::Propagate { state, .. } => {
                    others.push((k, state.clone()));
                    Some(Kind::Bottom)
                }
            };
            match kind {
                Some(kind) => result_kinds.push(kind),
                None => return lost,
            }
        }
        if by_loop > 0 {
            self.repeats.again();
            let Some(sets) = self.part_sets(frame, with, frame_shape.as_ref()) else {
                return lost;
            };
            // Effects happen once, so everything is in one loop then.
            let effects = bodies.iter().any(|b| self.region_has_io(&self.em.func, b.region));
            let all =
                Evaluated { frame, with, operations: &operations, sets: &sets, frame_shape: frame_shape.as_ref() };
            if effects {
                return self.in_order(all, None);
            }
            for (k, value) in others.iter_mut().filter(|(_, value)| matches!(value, Val::Bottom)) {
                let only = self.in_order(all, Some(*k));
                *value = only.into_iter().next().unwrap_or(Val::Bottom);
            }
            if others.len() == operations.len() {
                return others.into_iter().map(|(_, v)| v).collect();
            }
        }
        let mut parts = Vec::with_capacity(bodies.len());
        let mut ordered = false;
        for (body, values) in bodies.iter().zip(yields) {
            self.em.set_yields(body.region, values);
            ordered |= self.region_has_io(&self.em.func, body.region);
            let generator = self.wir_generator(&body.set);
            parts.push(Part { generator, body: body.region });
        }
        for op in &wir_ops {
            if let Some(region) = op.region() {
                ordered |= self.region_has_io(&self.em.func, region);
            }
        }
        let mut leaves = Vec::new();
        result_kinds.iter().for_each(|k| k.leaves(&mut leaves));
        let op = Op::With(With { parts, ops: wir_ops, ordered });
        let mut values = self.em.inst_leaves(op, &leaves).into_iter();
        let mut others = others.into_iter().peekable();
        result_kinds
            .iter()
            .enumerate()
            .map(|(k, kind)| match others.next_if(|(i, _)| *i == k) {
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
        // Cells over no index are never computed, and take the kind of the others.
        let (empty, filled): (Vec<&mut Body>, Vec<&mut Body>) = bodies.iter_mut().partition(|body| body.set.is_empty());
        for body in filled.into_iter().chain(empty) {
            if body.set.is_empty() && !matches!(common, Kind::Bottom) && !self.is_open(&common) {
                let opened = self.em.reopen(body.region);
                body.cells[k] = self.undefined(&common);
                self.em.close(opened);
                continue;
            }
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
                    let a = crate::report::show_kind(self.program, &common);
                    let b = crate::report::show_kind(self.program, &found);
                    self.error(
                        Code::CellTypesDiffer,
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
                    Kind::Sc(_, ScKind::Form(form)) => Some(self.em.scalar_of(&form)),
                    _ => None,
                }
            })
            .collect()
    }

    /// Adds the cells of operation `k`, seen through `kind`, to the yields.
    fn yield_cells(&mut self, k: usize, kind: &Kind, bodies: &[Body], yields: &mut [Vec<ravel_wir::Value>]) {
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
    pub fn genarray(
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
            (Val::Tup(_, s), Some(rank)) if rank <= s.len() => (Some(s[..rank].to_vec()), s[rank..].to_vec()),
            (Val::Tup(_, s), None) => (Some(s.clone()), Vec::new()),
            (Val::Tup(_, s), Some(rank)) => {
                self.error(
                    Code::IndexLengthsDiffer,
                    format!("the index has {rank} components but the shape {} axes", s.len()),
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
                Code::UnknownCells,
                "a with-loop without parts and default has no element type",
                "give a default",
            );
            return None;
        }
        if self.is_open(&cell) {
            self.open_elements();
            return None;
        }
        if contains_handle(&cell) {
            self.error(
                Code::NotAnElement,
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
            ops.push(WithOp::Genarray { frame: wir_frame.clone(), cell, default: defaults.get(i).copied() });
        }
        let frame_kind = match &frame {
            Some(extents) => ShapeKind::Known(extents.iter().map(|e| Some(self.em.form(e))).collect()),
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
        let ranks = (bodies.first().map(|b| self.outer_rank(&b.cells[k])), default.map(|v| self.outer_rank(v)));
        let below = match ranks {
            (Some(Some(cell)), Some(Some(default))) => cell.saturating_sub(default),
            _ => 0,
        };
        let vector = Val::Arr(Basic::Int, *vector);
        let vector = self.narrow_outer(&vector, &[Some((rank + below) as i32)]);
        self.elements(&vector).map_or(shape.clone(), |s| Val::Tup(Basic::Int, s))
    }

    /// The array of shape `shape ++ shape(v)` filled with `v`.
    pub fn array_of(&mut self, shape: &Val, v: Option<&Val>) -> Val {
        let Some(v) = v else {
            self.error(
                Code::UnknownCells,
                "a with-loop without parts and default has no element type",
                "give a default",
            );
            return Val::Bottom;
        };
        match shape {
            Val::Tup(_, extents) => self.replicate(extents, v),
            _ => {
                let mut ops = Vec::new();
                let Some(kind) = self.genarray(0, shape, Some(v), None, &mut [], &mut [], &mut ops) else {
                    return Val::Bottom;
                };
                let with = With { parts: Vec::new(), ops, ordered: false };
                let mut leaves = Vec::new();
                kind.leaves(&mut leaves);
                let mut values = self.em.inst_leaves(Op::With(with), &leaves).into_iter();
                self.em.instantiate(&kind, &mut values)
            }
        }
    }

    /// The array of shape `extents ++ shape(v)` filled with `v`.
    fn replicate(&mut self, extents: &[Sc], v: &Val) -> Val {
        match v {
            Val::Wrapped(u, inner) => Val::Wrapped(*u, Box::new(self.replicate(extents, inner))),
            Val::Struct(s, fields) => Val::Struct(*s, fields.iter().map(|f| self.replicate(extents, f)).collect()),
            Val::Bottom | Val::Handle(..) => v.clone(),
            Val::Sc(..) | Val::Tup(..) | Val::Arr(..) => {
                let cell = cell_kind(&self.em.visible_kind(v));
                let mut default = Vec::new();
                self.em.flatten(v, &cell, &mut default);
                let mut leaves = Vec::new();
                cell.leaves(&mut leaves);
                let cells = self.cell_extents(&leaves);
                let frame: Vec<Option<Affine>> = extents.iter().map(|e| Some(self.em.form(e))).collect();
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
                    let scalars: Vec<Sc> = extents?.iter().map(|e| self.em.scalar_of(e)).collect();
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
                    Code::IndexLengthsDiffer,
                    format!("the index has {rank} components but the array {} axes", s.len()),
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
            let (a, b) = (self.show_value_type(array), self.show_value_type(&bodies[0].cells[k]));
            self.error(
                Code::CellTypesDiffer,
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
        Kind::Tup(b, s) => Kind::Arr(*b, ShapeKind::Known(vec![Some(Affine::constant(s.len() as i32))])),
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
                (ShapeKind::Known(f), ShapeKind::Known(s)) => ShapeKind::Known(f.iter().chain(s).cloned().collect()),
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
