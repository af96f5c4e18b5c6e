//! Primitive functions on abstract values.

use crate::check::Agree;
use crate::literal::zero;
use crate::spec::Spec;
use crate::value::{Kind, Sc, ShapeKind, Val};
use ravel_core::ir::UserTypeKind;
use ravel_types::{
    Affine, Basic, BinOp, Elem, EvalFault, Prim, Ranks, Scalar, Shape, Ty, UnOp, eval_bin,
    eval_convert, eval_un,
};
use ravel_wir::{Fault, Op, Value};

/// An index or shape vector.
pub enum IndexVector {
    Scalars(Vec<Sc>),
    /// Of unknown length.
    Dyn(Value),
}

impl Spec<'_> {
    pub fn prim(&mut self, prim: Prim, args: Vec<Val>) -> Val {
        if args.iter().any(|a| matches!(a, Val::Bottom)) {
            return Val::Bottom;
        }
        if args.len() != prim.arity() {
            self.error(
                "E0309",
                format!(
                    "a primitive with {} arguments is given {}",
                    prim.arity(),
                    args.len()
                ),
                "called here",
            );
            return Val::Bottom;
        }
        match prim {
            Prim::Bin(op, ranks) => self.prim_bin(op, ranks, &args),
            Prim::Un(op, ranks) => self.prim_un(op, ranks, &args[0]),
            Prim::Convert(to) => match self.scalar_arg(&args[0]) {
                Some((from, s)) => Val::Sc(to, self.convert(from, to, &s)),
                None => Val::Bottom,
            },
            Prim::Dim => Val::Sc(Basic::Int, self.rank_of(&args[0])),
            Prim::Shape => self.shape_vector(&args[0]),
            Prim::Sel => match self.index_vector(&args[0]) {
                Some(iv) => self.select(&iv, &args[1], true),
                None => Val::Bottom,
            },
            Prim::SelCell => match self.index_vector(&args[0]) {
                Some(iv) => self.select(&iv, &args[1], false),
                None => Val::Bottom,
            },
            Prim::Modarray | Prim::ModCell => match self.index_vector(&args[1]) {
                Some(iv) => self.update(&args[0], &iv, &args[2]),
                None => Val::Bottom,
            },
            Prim::Reshape => match self.index_vector(&args[0]) {
                Some(shape) => self.reshape(&shape, &args[1]),
                None => Val::Bottom,
            },
            Prim::Cat => self.catenate(&args[0], &args[1]),
            Prim::Take | Prim::Drop => self.take_drop(prim == Prim::Take, &args[0], &args[1]),
            Prim::All => {
                let n = self.vector_length(&args[0]);
                let all = self.fold_vector(
                    BinOp::And,
                    Scalar::Bool(true),
                    Basic::Bool,
                    &n,
                    |spec, i| spec.vector_element(&args[0], i),
                );
                Val::Sc(Basic::Bool, all)
            }
            Prim::Mask => self.mask(&args[0], &args[1], &args[2]),
            Prim::HideValue | Prim::HideShape | Prim::HideDim => self.hide(prim, args[1].clone()),
            Prim::Zero | Prim::One | Prim::MaxVal | Prim::MinVal => self.extreme(prim, &args[0]),
        }
    }

    /// A scalar argument of a primitive; an unknown rank is narrowed at run time.
    fn scalar_arg(&mut self, v: &Val) -> Option<(Basic, Sc)> {
        match v {
            Val::Sc(b, s) => Some((*b, s.clone())),
            Val::Arr(..) if self.outer_rank(v).is_none() => match self.narrow_outer(v, &[]) {
                Val::Sc(b, s) => Some((b, s)),
                _ => None,
            },
            other => {
                let shown = self.show_value_type(other);
                self.error(
                    "E0307",
                    format!("this primitive takes a scalar, found {shown}"),
                    format!("an argument is {shown}"),
                );
                None
            }
        }
    }

    fn defined(&mut self, basic: Basic, test: Result<Scalar, EvalFault>, op: &str) -> bool {
        if test == Err(EvalFault::Undefined) {
            self.error(
                "E0307",
                format!("`{op}` is not defined on {basic}"),
                format!("the arguments are {basic}"),
            );
            return false;
        }
        true
    }

    /// A binary operation on scalars of one type, division checked.
    pub fn scalar_bin(&mut self, op: BinOp, basic: Basic, a: &Sc, b: &Sc) -> Option<(Basic, Sc)> {
        let one = Scalar::from_i64(basic.elem(), 1)?;
        if !self.defined(basic, eval_bin(op, one, one), op.name()) {
            return None;
        }
        if op.needs_nonzero() && basic.elem().is_int() {
            match b {
                Sc::Const(c) if c.as_i64() == Some(0) => {
                    self.certain_fault("E0333", "division by zero".to_string(), Fault::Division);
                    return Some((basic, b.clone()));
                }
                Sc::Const(_) => {}
                _ => {
                    let range = self.em.range(b);
                    if basic != Basic::Int || (range.0 <= 0 && range.1 >= 0) {
                        let none = Sc::Const(Scalar::from_i64(basic.elem(), 0)?);
                        let nonzero = self.em.bin(BinOp::Ne, basic, b, &none);
                        self.emit_check(&nonzero, Fault::Division);
                    }
                }
            }
        }
        let result = if op.is_comparison() {
            Basic::Bool
        } else {
            basic
        };
        let v = self.em.bin(op, basic, a, b);
        self.remainder_bounds(op, basic, a, b, &v);
        Some((result, v))
    }

    /// A remainder of a divisor that is not negative (and not zero, as was checked) lies below it.
    fn remainder_bounds(&mut self, op: BinOp, basic: Basic, a: &Sc, b: &Sc, remainder: &Sc) {
        let Sc::Val(v) = remainder else { return };
        let non_negative = match op {
            BinOp::AplMod => true,
            BinOp::Mod => self.em.range(a).0 >= 0,
            _ => false,
        };
        if basic == Basic::Int && non_negative && self.em.range(b).0 >= 0 {
            let high = self.em.range(remainder).1.min(self.em.range(b).1 - 1);
            self.em.set_range(*v, (0, high.max(0)));
            let bound = self.em.form(b);
            self.em.set_below(*v, bound);
        }
    }

    fn prim_bin(&mut self, op: BinOp, ranks: Ranks, args: &[Val]) -> Val {
        let (a, b) = (&args[0], &args[1]);
        let (Some(x), Some(y)) = (self.elem_of(a), self.elem_of(b)) else {
            return Val::Bottom;
        };
        if x != y {
            let (p, q) = (self.show_value_type(a), self.show_value_type(b));
            self.error(
                "E0307",
                format!("`{op}` takes two arguments of one type, found {p} and {q}"),
                "types differ",
            );
            return Val::Bottom;
        }
        if ranks == Ranks::SxS {
            let (Some((basic, x)), Some((_, y))) = (self.scalar_arg(a), self.scalar_arg(b)) else {
                return Val::Bottom;
            };
            return self
                .scalar_bin(op, basic, &x, &y)
                .map_or(Val::Bottom, |(b, s)| Val::Sc(b, s));
        }
        let ravel_core::ir::ElemTy::Basic(basic) = x else {
            return Val::Bottom;
        };
        let n = match ranks {
            Ranks::SxV => self.vector_length(b),
            Ranks::VxS => self.vector_length(a),
            _ => {
                let (left, right) = (self.vector_length(a), self.vector_length(b));
                self.require_agreement(
                    &[Agree {
                        left: left.clone(),
                        right,
                        axis: 0,
                    }],
                    "arguments of a vector primitive",
                    "length",
                );
                left
            }
        };
        let result = if op.is_comparison() {
            Basic::Bool
        } else {
            basic
        };
        self.make_vector(result, &n, |spec, i| {
            let x = spec.scalar_or_element(a, i);
            let y = spec.scalar_or_element(b, i);
            spec.scalar_bin(op, basic, &x, &y)
                .map_or(zero(result), |(_, s)| s)
        })
    }

    fn scalar_or_element(&mut self, v: &Val, i: &Sc) -> Sc {
        match v {
            Val::Sc(_, s) => s.clone(),
            other => self.vector_element(other, i),
        }
    }

    fn scalar_un(&mut self, op: UnOp, basic: Basic, s: &Sc) -> Option<(Basic, Sc)> {
        let one = Scalar::from_i64(basic.elem(), 1)?;
        if !self.defined(basic, eval_un(op, one), op.name()) {
            return None;
        }
        let result = if op.is_predicate() {
            Basic::Bool
        } else {
            basic
        };
        if let Sc::Const(c) = s
            && let Ok(v) = eval_un(op, *c)
        {
            return Some((result, Sc::Const(v)));
        }
        if basic == Basic::Int && op == UnOp::Neg {
            return Some((basic, self.em.sub(&Sc::int(0), s)));
        }
        if op == UnOp::Reciproc && basic.elem().is_int() {
            let one = Sc::Const(one);
            return self.scalar_bin(BinOp::Div, basic, &one, s);
        }
        let v = self.em.value(s);
        Some((
            result,
            Sc::Val(self.em.inst1(Op::Un(op, v), Ty::scalar(result.elem()))),
        ))
    }

    fn prim_un(&mut self, op: UnOp, ranks: Ranks, a: &Val) -> Val {
        if ranks == Ranks::S {
            let Some((basic, s)) = self.scalar_arg(a) else {
                return Val::Bottom;
            };
            return self
                .scalar_un(op, basic, &s)
                .map_or(Val::Bottom, |(b, s)| Val::Sc(b, s));
        }
        let (Val::Tup(basic, _) | Val::Arr(basic, _)) = a else {
            return Val::Bottom;
        };
        let result = if op.is_predicate() {
            Basic::Bool
        } else {
            *basic
        };
        let n = self.vector_length(a);
        self.make_vector(result, &n, |spec, i| {
            let x = spec.vector_element(a, i);
            spec.scalar_un(op, *basic, &x)
                .map_or(zero(result), |(_, s)| s)
        })
    }

    fn convert(&mut self, from: Basic, to: Basic, s: &Sc) -> Sc {
        if from.elem() == to.elem() {
            return s.clone();
        }
        if let Sc::Const(c) = s
            && let Some(v) = eval_convert(*c, to.elem())
        {
            return Sc::Const(v);
        }
        let v = self.em.value(s);
        Sc::Val(self.em.inst1(Op::Convert(v), Ty::scalar(to.elem())))
    }

    /// `cond ? a : b` on scalars already computed.
    pub fn choose_scalar(&mut self, cond: &Sc, basic: Basic, a: &Sc, b: &Sc) -> Sc {
        match cond.as_bool() {
            Some(true) => a.clone(),
            Some(false) => b.clone(),
            None if a == b => a.clone(),
            None => {
                let (cond, then, els) = (self.em.value(cond), self.em.value(a), self.em.value(b));
                Sc::Val(
                    self.em
                        .inst1(Op::Select { cond, then, els }, Ty::scalar(basic.elem())),
                )
            }
        }
    }

    /// An index or shape vector; reports anything that is not an int vector.
    pub fn index_vector(&mut self, v: &Val) -> Option<IndexVector> {
        let v = match v {
            Val::Arr(Basic::Int, _) if self.outer_rank(v).is_none() => {
                self.narrow_outer(v, &[None])
            }
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
                    "E0331",
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
                if matches!(
                    self.program.user_types[u.index()].kind,
                    UserTypeKind::Typedef { .. }
                ) =>
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
                if fields.iter().any(|f| matches!(f, Val::Bottom)) {
                    Val::Bottom
                } else {
                    Val::Struct(*s, fields)
                }
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
                    self.error(
                        "E0332",
                        format!("{shown} has no axes to select on"),
                        "selected here",
                    );
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
        let (n, shown) = (index.len(), self.show_value_type(a));
        if n > rank || (full && n < rank) {
            if self.speculative == 0 {
                let how = if n > rank {
                    "has more components than"
                } else {
                    "does not cover"
                };
                self.error(
                    "E0332",
                    format!("an index of length {n} {how} the axes of {shown}"),
                    format!("selecting from {shown}"),
                );
            }
            return false;
        }
        true
    }

    fn select_scalars(&mut self, index: &[Sc], a: &Val, full: bool) -> Val {
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
                        Val::Sc(
                            *basic,
                            Sc::Val(
                                self.em
                                    .inst1(Op::Sel { array, index }, Ty::scalar(basic.elem())),
                            ),
                        )
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
                let v = self.em.inst1(
                    Op::Sel {
                        array: *array,
                        index: values,
                    },
                    ty,
                );
                if scalar {
                    Val::Sc(*basic, Sc::Val(v))
                } else {
                    Val::Arr(*basic, v)
                }
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
        Val::Arr(
            *basic,
            self.em.inst1(op, Ty::new(basic.elem(), Shape::Unknown)),
        )
    }

    /// `a` with the element or cell at an index vector replaced.
    pub fn update(&mut self, a: &Val, iv: &IndexVector, cell: &Val) -> Val {
        if self.elem_of(a) != self.elem_of(cell) {
            let (x, y) = (self.show_value_type(a), self.show_value_type(cell));
            self.error(
                "E0301",
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
                let fields: Vec<Val> = fields
                    .iter()
                    .zip(cells)
                    .map(|(f, c)| self.update(f, iv, c))
                    .collect();
                if fields.iter().any(|f| matches!(f, Val::Bottom)) {
                    Val::Bottom
                } else {
                    Val::Struct(*s, fields)
                }
            }
            (Val::Sc(..) | Val::Tup(..) | Val::Arr(..), _) => self.update_basic(a, iv, cell),
            _ => cell.clone(),
        }
    }

    fn update_basic(&mut self, a: &Val, iv: &IndexVector, cell: &Val) -> Val {
        let extents = self.outer_shape(a);
        let (Some(extents), IndexVector::Scalars(index)) = (extents, iv) else {
            let index = self.dyn_vector(iv);
            let (Some(array), Val::Sc(basic, _) | Val::Tup(basic, _) | Val::Arr(basic, _)) =
                (self.em.boxed(a), a)
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
            return Val::Arr(
                *basic,
                self.em.inst1(
                    Op::UpdateDyn {
                        array,
                        index,
                        value,
                    },
                    ty,
                ),
            );
        };
        for (axis, (i, n)) in index.iter().zip(&extents).enumerate() {
            let n = self.em.form(n);
            self.require_index(i, &n, axis as u32);
        }
        let Some(cell) = self.fit_cell(
            &extents[index.len()..],
            cell,
            "the replaced cell and its new value",
        ) else {
            return Val::Bottom;
        };
        if index.is_empty() {
            return cell;
        }
        if let (Val::Tup(basic, scalars), Some(i), Val::Sc(_, new)) = (a, index[0].as_int(), &cell)
        {
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
        Val::Arr(
            *basic,
            self.em.inst1(
                Op::Update {
                    array,
                    index,
                    value,
                },
                ty,
            ),
        )
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
            if self.speculative == 0 {
                self.error(
                    "E0312",
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
            .map(|(axis, (left, right))| Agree {
                left: left.clone(),
                right,
                axis: axis as u32,
            })
            .collect();
        self.require_agreement(&pairs, what, "cell");
        Some(cell)
    }

    fn reshape(&mut self, shape: &IndexVector, a: &Val) -> Val {
        match a {
            Val::Wrapped(u, inner) => {
                let tail = match &self.program.user_types[u.index()].kind {
                    UserTypeKind::Typedef { shape, .. } => shape.clone(),
                    _ => return a.clone(),
                };
                let IndexVector::Scalars(s) = shape else {
                    return a.clone();
                };
                let full = s
                    .iter()
                    .cloned()
                    .chain(tail.into_iter().map(Sc::int))
                    .collect();
                match self.reshape(&IndexVector::Scalars(full), inner) {
                    Val::Bottom => Val::Bottom,
                    v => Val::Wrapped(*u, Box::new(v)),
                }
            }
            Val::Struct(s, fields) => {
                let defs: Vec<Vec<i32>> = self.program.structs[s.index()]
                    .fields
                    .iter()
                    .map(|f| f.shape.clone())
                    .collect();
                let IndexVector::Scalars(shape) = shape else {
                    return a.clone();
                };
                let fields = fields
                    .iter()
                    .zip(defs)
                    .map(|(f, tail)| {
                        let full = shape
                            .iter()
                            .cloned()
                            .chain(tail.into_iter().map(Sc::int))
                            .collect();
                        self.reshape(&IndexVector::Scalars(full), f)
                    })
                    .collect();
                Val::Struct(*s, fields)
            }
            Val::Sc(basic, _) | Val::Tup(basic, _) | Val::Arr(basic, _) => {
                self.reshape_basic(*basic, shape, a)
            }
            other => other.clone(),
        }
    }

    fn reshape_basic(&mut self, basic: Basic, shape: &IndexVector, a: &Val) -> Val {
        let IndexVector::Scalars(new) = shape else {
            let vector = self.dyn_vector(shape);
            let Some(array) = self.em.boxed(a) else {
                return Val::Bottom;
            };
            return Val::Arr(
                basic,
                self.em.inst1(
                    Op::ReshapeDyn {
                        array,
                        shape: vector,
                    },
                    Ty::new(basic.elem(), Shape::Unknown),
                ),
            );
        };
        for (axis, n) in new.iter().enumerate() {
            if self.em.range(n).0 < 0 {
                let ok = self.em.bin(BinOp::Ge, Basic::Int, n, &Sc::int(0));
                let operand = self.em.value(n);
                if ok.as_bool() == Some(false) {
                    self.error(
                        "E0334",
                        format!("axis {axis} of a shape is negative"),
                        "shapes have extents of at least 0",
                    );
                }
                self.emit_check(
                    &ok,
                    Fault::Message {
                        text: "a shape has a negative extent".into(),
                        operands: vec![operand],
                    },
                );
            }
        }
        let forms: Vec<Affine> = new.iter().map(|n| self.em.form(n)).collect();
        let Some(old) = self.outer_shape(a) else {
            let vector = self.dyn_vector(shape);
            let Some(array) = self.em.boxed(a) else {
                return Val::Bottom;
            };
            let ty = Ty::new(basic.elem(), Shape::Known(forms));
            let scalar = ty.is_scalar();
            let op = Op::ReshapeDyn {
                array,
                shape: vector,
            };
            if scalar {
                let v = self.em.inst1(op, Ty::new(basic.elem(), Shape::Unknown));
                return self.narrow_outer(&Val::Arr(basic, v), &[]);
            }
            return Val::Arr(basic, self.em.inst1(op, ty));
        };
        if old.len() == new.len() && old.iter().zip(&forms).all(|(o, n)| self.em.form(o) == *n) {
            return a.clone();
        }
        self.require_counts(new, &old);
        if let Val::Arr(_, v) = a
            && let (Some(data), Some(shape)) = (
                self.em.const_data(*v).cloned(),
                Shape::Known(forms.clone()).constants(),
            )
            && !shape.is_empty()
        {
            return Val::Arr(
                basic,
                self.em
                    .const_array(basic.elem(), &shape, data.values.clone()),
            );
        }
        if new.is_empty() {
            let index = vec![Sc::int(0); old.len()];
            return self.select_scalars(&index, a, true);
        }
        if let (Val::Sc(_, s), [_]) = (a, new.as_slice()) {
            return Val::Tup(basic, vec![s.clone()]);
        }
        let array = match a {
            Val::Sc(_, s) => self.em.vector(basic, std::slice::from_ref(s)),
            other => match self.em.boxed(other) {
                Some(v) => v,
                None => return Val::Bottom,
            },
        };
        let shape = self.em.values(new);
        Val::Arr(
            basic,
            self.em.inst1(
                Op::Reshape { array, shape },
                Ty::new(basic.elem(), Shape::Known(forms)),
            ),
        )
    }

    /// Checks that two shapes have equally many elements.
    fn require_counts(&mut self, new: &[Sc], old: &[Sc]) {
        let constants = |s: &[Sc]| {
            s.iter()
                .map(|s| s.as_int().map(i64::from))
                .product::<Option<i64>>()
        };
        if let (Some(n), Some(o)) = (constants(new), constants(old)) {
            if n != o {
                let show = |s: &[Sc]| {
                    s.iter()
                        .filter_map(Sc::as_int)
                        .map(|n| n.to_string())
                        .collect::<Vec<_>>()
                        .join(",")
                };
                let text = format!(
                    "an array of {o} elements (shape [{}]) cannot be reshaped to [{}], which has {n}",
                    show(old),
                    show(new)
                );
                self.certain_fault(
                    "E0335",
                    text.clone(),
                    Fault::Message {
                        text: text.into(),
                        operands: Vec::new(),
                    },
                );
            }
            return;
        }
        // Products are compared in 64 bits, so that no overflow hides a difference.
        let count = |spec: &mut Self, s: &[Sc]| {
            s.iter().fold(Sc::Const(Scalar::I64(1)), |product, n| {
                let n = spec.convert(Basic::Int, Basic::Long, n);
                spec.em.bin(BinOp::Mul, Basic::Long, &product, &n)
            })
        };
        let (n, o) = (count(self, new), count(self, old));
        let same = self.em.bin(BinOp::Eq, Basic::Long, &n, &o);
        let operands = vec![self.em.value(&o), self.em.value(&n)];
        let text = "reshape changes the number of elements (old, new)".into();
        self.emit_check(&same, Fault::Message { text, operands });
    }

    fn catenate(&mut self, a: &Val, b: &Val) -> Val {
        let (x, y) = (self.elem_of(a), self.elem_of(b));
        // An empty literal joins vectors of any type.
        if let Val::Tup(_, s) = a
            && s.is_empty()
        {
            return b.clone();
        }
        if let Val::Tup(_, s) = b
            && s.is_empty()
        {
            return a.clone();
        }
        let (Some(ravel_core::ir::ElemTy::Basic(basic)), true) = (x, x == y) else {
            let (p, q) = (self.show_value_type(a), self.show_value_type(b));
            self.error(
                "E0307",
                format!("vectors of different types: {p} and {q}"),
                "types differ",
            );
            return Val::Bottom;
        };
        let (n, m) = (self.vector_length(a), self.vector_length(b));
        let total = self.em.add(&n, &m);
        if let (Val::Tup(_, s), Val::Tup(_, t)) = (a, b) {
            let both: Vec<Sc> = s.iter().chain(t).cloned().collect();
            if crate::literal::is_tuple(basic, both.len()) {
                return Val::Tup(basic, both);
            }
        }
        self.two_part_vector(basic, &n, &total, a, b)
    }

    fn take_drop(&mut self, take: bool, n: &Val, v: &Val) -> Val {
        let Some((Basic::Int, n)) = self.scalar_arg(n) else {
            return Val::Bottom;
        };
        let len = self.vector_length(v);
        let positive = self.em.bin(BinOp::Ge, Basic::Int, &n, &Sc::int(0));
        let (zero, minus) = (Sc::int(0), self.em.sub(&Sc::int(0), &n));
        let from_end = self.em.add(&len, &n);
        let rest = self.em.sub(&len, &n);
        let (from, count) = if take {
            (
                self.choose_scalar(&positive, Basic::Int, &zero, &from_end),
                self.choose_scalar(&positive, Basic::Int, &n, &minus),
            )
        } else {
            (
                self.choose_scalar(&positive, Basic::Int, &n, &zero),
                self.choose_scalar(&positive, Basic::Int, &rest, &from_end),
            )
        };
        let low = self.em.bin(BinOp::Ge, Basic::Int, &count, &Sc::int(0));
        let high = self.em.bin(BinOp::Le, Basic::Int, &count, &len);
        let both = self.em.and(&low, &high);
        let what = if take { "take" } else { "drop" };
        let operands = vec![self.em.value(&n), self.em.value(&len)];
        let fault = Fault::Message {
            text: format!("{what} of more elements than there are (wanted, present)").into(),
            operands,
        };
        if both.as_bool() == Some(false) {
            self.certain_fault(
                "E0336",
                format!("{what} of more elements than there are"),
                fault,
            );
            return Val::Bottom;
        }
        self.emit_check(&both, fault);
        self.slice(v, &from, &count)
    }

    fn mask(&mut self, p: &Val, a: &Val, b: &Val) -> Val {
        let (Val::Sc(basic, _) | Val::Tup(basic, _) | Val::Arr(basic, _)) = a else {
            return Val::Bottom;
        };
        let basic = *basic;
        if let (Val::Sc(_, c), Val::Sc(_, x), Val::Sc(_, y)) = (p, a, b) {
            return Val::Sc(basic, self.choose_scalar(c, basic, x, y));
        }
        let n = self.vector_length(p);
        self.make_vector(basic, &n, |spec, i| {
            let c = spec.vector_element(p, i);
            let (x, y) = (spec.scalar_or_element(a, i), spec.scalar_or_element(b, i));
            spec.choose_scalar(&c, basic, &x, &y)
        })
    }

    /// The same value with knowledge removed.
    fn hide(&mut self, prim: Prim, v: Val) -> Val {
        match v {
            Val::Sc(b, s) if prim != Prim::HideDim => {
                let v = self.em.value(&s);
                Val::Sc(
                    b,
                    Sc::Val(self.em.inst1(Op::Opaque(v), Ty::scalar(b.elem()))),
                )
            }
            Val::Sc(..) | Val::Tup(..) | Val::Arr(..) => {
                let (Some(ravel_core::ir::ElemTy::Basic(basic)), Some(array)) =
                    (self.elem_of(&v), self.em.boxed(&v))
                else {
                    return v;
                };
                let shape = match (prim, self.em.extents(array)) {
                    (Prim::HideValue, Some(e)) => {
                        ShapeKind::Known(e.into_iter().map(Some).collect())
                    }
                    (Prim::HideShape, Some(e)) => ShapeKind::Known(vec![None; e.len()]),
                    _ => ShapeKind::Unknown,
                };
                let mut flat = Vec::new();
                self.em.flatten(
                    &Val::Arr(basic, array),
                    &Kind::Arr(basic, shape.clone()),
                    &mut flat,
                );
                let leaf = (basic.elem(), crate::value::LeafShape::Array(shape));
                Val::Arr(basic, self.em.inst_leaves(Op::Opaque(flat[0]), &[leaf])[0])
            }
            Val::Wrapped(u, inner) if prim == Prim::HideValue => {
                Val::Wrapped(u, Box::new(self.hide(prim, *inner)))
            }
            Val::Struct(s, fields) if prim == Prim::HideValue => {
                Val::Struct(s, fields.into_iter().map(|f| self.hide(prim, f)).collect())
            }
            other => other,
        }
    }

    fn extreme(&mut self, prim: Prim, a: &Val) -> Val {
        match a {
            Val::Sc(b, _) | Val::Tup(b, _) | Val::Arr(b, _) => {
                let elem = b.elem();
                let value = match prim {
                    Prim::Zero => Scalar::zero(elem),
                    Prim::One => Scalar::from_i64(elem, 1),
                    Prim::MaxVal => Some(largest(elem)),
                    _ => Some(smallest(elem)),
                };
                value.map_or(Val::Bottom, |v| Val::Sc(*b, Sc::Const(v)))
            }
            Val::Wrapped(..) | Val::Struct(..) if prim == Prim::Zero => {
                let frame = crate::spec::Frame {
                    fun: ravel_core::ir::FunId(0),
                    families: Vec::new(),
                    env: Vec::new(),
                };
                let Some(elem) = self.elem_of(a) else {
                    return Val::Bottom;
                };
                let kind = self.kind_of_elem(&frame, elem, &ShapeKind::Known(Vec::new()));
                self.zero_of_kind(&kind)
            }
            other => {
                let shown = self.show_value_type(other);
                self.error(
                    "E0307",
                    format!("{shown} has no such value"),
                    "asked for here",
                );
                Val::Bottom
            }
        }
    }
}

fn largest(elem: Elem) -> Scalar {
    match elem {
        Elem::Bool => Scalar::Bool(true),
        Elem::Char => Scalar::Char(u8::MAX),
        Elem::I8 => Scalar::I8(i8::MAX),
        Elem::I16 => Scalar::I16(i16::MAX),
        Elem::I32 => Scalar::I32(i32::MAX),
        Elem::I64 => Scalar::I64(i64::MAX),
        Elem::U8 => Scalar::U8(u8::MAX),
        Elem::U16 => Scalar::U16(u16::MAX),
        Elem::U32 => Scalar::U32(u32::MAX),
        Elem::U64 | Elem::Handle => Scalar::U64(u64::MAX),
        Elem::F32 => Scalar::F32(f32::MAX),
        Elem::F64 => Scalar::F64(f64::MAX),
    }
}

fn smallest(elem: Elem) -> Scalar {
    match elem {
        Elem::Bool => Scalar::Bool(false),
        Elem::Char => Scalar::Char(0),
        Elem::I8 => Scalar::I8(i8::MIN),
        Elem::I16 => Scalar::I16(i16::MIN),
        Elem::I32 => Scalar::I32(i32::MIN),
        Elem::I64 => Scalar::I64(i64::MIN),
        Elem::U8 => Scalar::U8(0),
        Elem::U16 => Scalar::U16(0),
        Elem::U32 => Scalar::U32(0),
        Elem::U64 | Elem::Handle => Scalar::U64(0),
        Elem::F32 => Scalar::F32(f32::MIN),
        Elem::F64 => Scalar::F64(f64::MIN),
    }
}
