//! Selection and update: index vectors on arrays, vectors held as scalars, user types and records.

use crate::check::Agree;
use crate::literal::zero;
use crate::spec::Spec;
use crate::value::{Sc, Val};
use ravel_core::ir::UserTypeKind;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_types::{Affine, Basic, Scalar, Shape, Ty};
use ravel_wir::{Op, Value};

/// An index or shape vector.
pub enum IndexVector {
    Scalars(Vec<Sc>),
    /// Of unknown length.
    Dyn(Value),
}

impl Spec<'_> {
    /// An index or shape vector; reports anything that is not an int vector.
    pub fn index_vector(&mut self, v: &Val) -> Option<IndexVector> {
        let v = match v {
            Val::Arr(Basic::Int, _) if self.outer_rank(v).is_none() => self.narrow_outer(v, &[None]),
            other => other.clone(),
        };
        let rank = self.outer_rank(&v);
        match &v {
            Val::Tup(Basic::Int, s) => Some(IndexVector::Scalars(s.clone())),
            // The empty literal has a type of its own choosing.
            Val::Tup(_, s) if s.is_empty() => Some(IndexVector::Scalars(Vec::new())),
            Val::Arr(Basic::Int, value) if rank == Some(1) => Some(match self.elements(&v) {
                Some(s) => IndexVector::Scalars(s),
                None => IndexVector::Dyn(*value),
            }),
            other => {
                let shown = self.show_value_type(other);
                self.error(
                    Code::IndexNotInts,
                    format!("an index or shape must be an int vector, found {shown}"),
                    format!("this is {shown}"),
                );
                None
            }
        }
    }

    pub fn dyn_vector(&mut self, iv: &IndexVector) -> Value {
        match iv {
            IndexVector::Scalars(s) => self.em.vector(Basic::Int, s),
            IndexVector::Dyn(v) => *v,
        }
    }

    /// The element or cell at an index vector. With `full` the index has as many components as there are axes.
    pub fn select(&mut self, iv: &IndexVector, a: &Val, full: bool) -> Val {
        match a {
            Val::Wrapped(u, inner)
                if matches!(self.program.user_types[u.index()].kind, UserTypeKind::Typedef { .. }) =>
            {
                if !self.index_fits(iv, a, full) {
                    return Val::Bottom;
                }
                match self.select(iv, inner, false) {
                    Val::Bottom => Val::Bottom,
                    v => Val::Wrapped(*u, Box::new(v)),
                }
            }
            Val::Struct(s, fields) => {
                if !self.index_fits(iv, a, full) {
                    return Val::Bottom;
                }
                let fields: Vec<Val> = fields.iter().map(|f| self.select(iv, f, false)).collect();
                if fields.iter().any(|f| matches!(f, Val::Bottom)) { Val::Bottom } else { Val::Struct(*s, fields) }
            }
            Val::Sc(..) | Val::Tup(..) | Val::Arr(..) => {
                if !self.index_fits(iv, a, full) {
                    return Val::Bottom;
                }
                match iv {
                    IndexVector::Scalars(index) => self.select_scalars(index, a, full),
                    IndexVector::Dyn(_) => self.select_dyn(iv, a, full),
                }
            }
            other => match iv {
                IndexVector::Scalars(s) if s.is_empty() => other.clone(),
                _ => {
                    let shown = self.show_value_type(other);
                    self.error(Code::IndexLength, format!("{shown} has no axes to select on"), "selected here");
                    Val::Bottom
                }
            },
        }
    }

    /// Reports an index that is too long (or, with `full`, too short) for the rank.
    fn index_fits(&mut self, iv: &IndexVector, a: &Val, full: bool) -> bool {
        let (IndexVector::Scalars(index), Some(rank)) = (iv, self.outer_rank(a)) else {
            return true;
        };
        let n = index.len();
        if n > rank || (full && n < rank) {
            self.note_doubt();
            if self.speculative == 0 {
                let shown = self.show_value_type(a);
                let how = if n > rank { "has more components than" } else { "does not cover" };
                let site = self.user_site();
                let title = format!("an index of length {n} {how} the axes of {shown}");
                let report = Diagnostic::error(Code::IndexLength, title).at(site, format!("selecting from {shown}"));
                let report = if n > rank && rank > 0 { self.with_gather(report) } else { report };
                self.report_from_here(report, site);
            }
            return false;
        }
        true
    }

    pub fn select_scalars(&mut self, index: &[Sc], a: &Val, full: bool) -> Val {
        if index.is_empty() && (!full || matches!(a, Val::Sc(..))) {
            return a.clone();
        }
        match a {
            Val::Tup(basic, scalars) => {
                self.require_index(&index[0], &Affine::constant(scalars.len() as i32), 0);
                match index[0].as_int() {
                    Some(i) => match usize::try_from(i).ok().and_then(|i| scalars.get(i)) {
                        Some(s) => Val::Sc(*basic, s.clone()),
                        // A fault was emitted; what follows is never reached.
                        None => Val::Sc(*basic, zero(*basic)),
                    },
                    None => {
                        let array = self.em.vector(*basic, scalars);
                        let index = self.em.values(index);
                        Val::Sc(*basic, Sc::Val(self.em.inst1(Op::Sel { array, index }, Ty::scalar(basic.elem()))))
                    }
                }
            }
            Val::Arr(basic, array) => {
                let Some(extents) = self.em.extents(*array) else {
                    return self.select_dyn(&IndexVector::Scalars(index.to_vec()), a, full);
                };
                for (axis, (i, n)) in index.iter().zip(&extents).enumerate() {
                    self.require_index(i, n, axis as u32);
                }
                if let Some(v) = self.select_constant(index, *array, &extents) {
                    return Val::Sc(*basic, Sc::Const(v));
                }
                let values = self.em.values(index);
                let ty = ravel_wir::cell_type(self.em.func.ty(*array), index.len());
                let scalar = ty.is_scalar();
                let v = self.em.inst1(Op::Sel { array: *array, index: values }, ty);
                if scalar { Val::Sc(*basic, Sc::Val(v)) } else { Val::Arr(*basic, v) }
            }
            other => other.clone(),
        }
    }

    fn select_constant(&self, index: &[Sc], array: Value, extents: &[Affine]) -> Option<Scalar> {
        let data = self.em.const_data(array)?;
        if index.len() != extents.len() {
            return None;
        }
        let mut offset = 0i64;
        for (i, n) in index.iter().zip(extents) {
            let (i, n) = (i.as_int()?, n.as_const()?);
            if i < 0 || i >= n {
                return None;
            }
            offset = offset * n as i64 + i as i64;
        }
        data.values.get(usize::try_from(offset).ok()?).copied()
    }

    fn select_dyn(&mut self, iv: &IndexVector, a: &Val, full: bool) -> Val {
        let index = self.dyn_vector(iv);
        let (Val::Sc(basic, _) | Val::Tup(basic, _) | Val::Arr(basic, _)) = a else {
            return Val::Bottom;
        };
        let Some(array) = self.em.boxed(a) else {
            return Val::Bottom;
        };
        let op = Op::SelDyn { array, index };
        if full {
            return Val::Sc(*basic, Sc::Val(self.em.inst1(op, Ty::scalar(basic.elem()))));
        }
        Val::Arr(*basic, self.em.inst1(op, Ty::new(basic.elem(), Shape::Unknown)))
    }

    /// `a` with the element or cell at an index vector replaced.
    pub fn update(&mut self, a: &Val, iv: &IndexVector, cell: &Val) -> Val {
        if self.elem_of(a) != self.elem_of(cell) {
            let (x, y) = (self.show_value_type(a), self.show_value_type(cell));
            self.error(
                Code::WrongType,
                format!("elements of {x} cannot be replaced by {y}"),
                format!("the new value is {y}"),
            );
            return Val::Bottom;
        }
        if !self.index_fits(iv, a, false) {
            return Val::Bottom;
        }
        match (a, cell) {
            (Val::Wrapped(u, inner), Val::Wrapped(_, cell)) => match self.update(inner, iv, cell) {
                Val::Bottom => Val::Bottom,
                v => Val::Wrapped(*u, Box::new(v)),
            },
            (Val::Struct(s, fields), Val::Struct(_, cells)) => {
                let fields: Vec<Val> = fields.iter().zip(cells).map(|(f, c)| self.update(f, iv, c)).collect();
                if fields.iter().any(|f| matches!(f, Val::Bottom)) { Val::Bottom } else { Val::Struct(*s, fields) }
            }
            (Val::Sc(..) | Val::Tup(..) | Val::Arr(..), _) => self.update_basic(a, iv, cell),
            _ => cell.clone(),
        }
    }

    fn update_basic(&mut self, a: &Val, iv: &IndexVector, cell: &Val) -> Val {
        let extents = self.outer_shape(a);
        let (Some(extents), IndexVector::Scalars(index)) = (extents, iv) else {
            let index = self.dyn_vector(iv);
            let (Some(array), Val::Sc(basic, _) | Val::Tup(basic, _) | Val::Arr(basic, _)) = (self.em.boxed(a), a)
            else {
                return Val::Bottom;
            };
            let value = match cell {
                Val::Sc(_, s) => self.em.value(s),
                other => match self.em.boxed(other) {
                    Some(v) => v,
                    None => return Val::Bottom,
                },
            };
            let ty = self.em.func.ty(array).clone();
            return Val::Arr(*basic, self.em.inst1(Op::UpdateDyn { array, index, value }, ty));
        };
        for (axis, (i, n)) in index.iter().zip(&extents).enumerate() {
            let n = self.em.form(n);
            self.require_index(i, &n, axis as u32);
        }
        let Some(cell) = self.fit_cell(&extents[index.len()..], cell, "the replaced cell and its new value") else {
            return Val::Bottom;
        };
        if index.is_empty() {
            return cell;
        }
        if let (Val::Tup(basic, scalars), Some(i), Val::Sc(_, new)) = (a, index[0].as_int(), &cell) {
            let mut scalars = scalars.clone();
            if let Some(slot) = usize::try_from(i).ok().and_then(|i| scalars.get_mut(i)) {
                *slot = new.clone();
            }
            return Val::Tup(*basic, scalars);
        }
        let (Some(array), Val::Tup(basic, _) | Val::Arr(basic, _)) = (self.em.boxed(a), a) else {
            return Val::Bottom;
        };
        let index = self.em.values(index);
        let value = match &cell {
            Val::Sc(_, s) => self.em.value(s),
            other => match self.em.boxed(other) {
                Some(v) => v,
                None => return Val::Bottom,
            },
        };
        let ty = self.em.func.ty(array).clone();
        Val::Arr(*basic, self.em.inst1(Op::Update { array, index, value }, ty))
    }

    /// A value of the given outer shape; checks what is not known.
    pub fn fit_cell(&mut self, extents: &[Sc], cell: &Val, what: &str) -> Option<Val> {
        let cell = match self.outer_rank(cell) {
            None => {
                let axes: Vec<Option<i32>> = extents.iter().map(Sc::as_int).collect();
                self.narrow_outer(cell, &axes)
            }
            Some(_) => cell.clone(),
        };
        let shape = self.outer_shape(&cell)?;
        if shape.len() != extents.len() {
            let found = self.show_value_type(&cell);
            let (m, n) = (extents.len(), shape.len());
            self.note_doubt();
            if self.speculative == 0 {
                self.error(
                    Code::ShapesDiffer,
                    format!("{what} differ in rank: {m} and {n}"),
                    format!("this is {found}"),
                );
            }
            return None;
        }
        let pairs: Vec<Agree> = extents
            .iter()
            .zip(shape)
            .enumerate()
            .map(|(axis, (left, right))| Agree { left: left.clone(), right, axis: axis as u32 })
            .collect();
        self.require_agreement(&pairs, what, Some("cell"));
        Some(cell)
    }
}
