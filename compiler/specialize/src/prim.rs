//! Primitive functions on abstract values.

use crate::check::Agree;
use crate::literal::zero;
use crate::spec::Spec;
use crate::value::{Kind, Sc, ShapeKind, Val};
use ravel_diagnostics::Code;
use ravel_types::{Basic, BinOp, Elem, EvalFault, Prim, Ranks, Scalar, Ty, UnOp, eval_bin, eval_convert, eval_un};
use ravel_wir::{Fault, Op};

impl Spec<'_> {
    pub fn prim(&mut self, prim: Prim, mut args: Vec<Val>) -> Val {
        // A class stays one where only derivatives are concerned.
        if prim != Prim::StopGradient {
            args.iter_mut().for_each(|arg| self.open_own_class(arg));
        }
        if args.iter().any(|a| matches!(a, Val::Bottom)) {
            return Val::Bottom;
        }
        if args.len() != prim.arity() {
            self.error(
                Code::BadPrimitive,
                format!("a primitive with {} arguments is given {}", prim.arity(), args.len()),
                "called here",
            );
            return Val::Bottom;
        }
        for (arg, vector) in args.iter_mut().zip(prim.vectors()) {
            let fitting = match vector {
                true => self.vector_arg(arg),
                false => self.scalar_arg(arg).map(|(basic, s)| Val::Sc(basic, s)),
            };
            match fitting {
                Some(fitting) => *arg = fitting,
                None => return Val::Bottom,
            }
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
            Prim::Size => Val::Sc(Basic::Int, self.size_of(&args[0])),
            Prim::SelFlat => self.select_flat(&args[0], &args[1]),
            Prim::ModFlat => self.update_flat(&args[0], &args[1], &args[2]),
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
                let all = self.fold_vector(BinOp::And, Scalar::Bool(true), Basic::Bool, &n, |spec, i| {
                    spec.vector_element(&args[0], i)
                });
                Val::Sc(Basic::Bool, all)
            }
            Prim::Mask(_) => self.mask(&args[0], &args[1], &args[2]),
            Prim::HideValue | Prim::HideShape | Prim::HideDim => self.hide(prim, args[1].clone()),
            Prim::Zero | Prim::One | Prim::MaxVal | Prim::MinVal | Prim::Greatest | Prim::Least => {
                self.extreme(prim, &args[0])
            }
            Prim::StopGradient => self.stop_gradient(args.swap_remove(0)),
        }
    }

    /// A scalar argument of a primitive; an unknown rank is narrowed at run time.
    pub fn scalar_arg(&mut self, v: &Val) -> Option<(Basic, Sc)> {
        match v {
            Val::Sc(b, s) => Some((*b, s.clone())),
            Val::Arr(..) if self.outer_rank(v).is_none() => match self.narrow_outer(v, &[]) {
                Val::Sc(b, s) => Some((b, s)),
                _ => None,
            },
            other => {
                let shown = self.show_value_type(other);
                self.error(
                    Code::PrimitiveArgument,
                    format!("this primitive takes a scalar, found {shown}"),
                    format!("an argument is {shown}"),
                );
                None
            }
        }
    }

    /// A vector argument of a primitive; an unknown rank is narrowed at run time.
    fn vector_arg(&mut self, v: &Val) -> Option<Val> {
        match (v, self.outer_rank(v)) {
            (Val::Tup(..), _) | (Val::Arr(..), Some(1)) => Some(v.clone()),
            (Val::Arr(..), None) => Some(self.narrow_outer(v, &[None])),
            _ => {
                let shown = self.show_value_type(v);
                self.error(
                    Code::PrimitiveArgument,
                    format!("this primitive takes a vector, found {shown}"),
                    format!("an argument is {shown}"),
                );
                None
            }
        }
    }

    fn defined(&mut self, basic: Basic, test: Result<Scalar, EvalFault>, op: &str) -> bool {
        if test == Err(EvalFault::Undefined) {
            self.error(
                Code::PrimitiveArgument,
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
                    self.certain_fault(Code::DivisionByZero, "division by zero".to_string(), Fault::Division);
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
        let result = if op.is_comparison() { Basic::Bool } else { basic };
        let v = self.made_nan(op, basic, a, b).unwrap_or_else(|| self.em.bin(op, basic, a, b));
        if let (Basic::Int, Some(x), Some(y)) = (basic, a.as_int(), b.as_int()) {
            self.warn_of_wrap(op, x, y);
        }
        self.remainder_bounds(op, basic, a, b, &v);
        Some((result, v))
    }

    /// Arithmetic on constants that makes NaN, where the run is to meet it.
    fn made_nan(&mut self, op: BinOp, basic: Basic, a: &Sc, b: &Sc) -> Option<Sc> {
        let (Sc::Const(x), Sc::Const(y), true) = (a, b, self.options.keep_nan) else { return None };
        if !eval_bin(op, *x, *y).is_ok_and(Scalar::is_nan) {
            return None;
        }
        let (x, y) = (self.em.constant(*x), self.em.constant(*y));
        Some(Sc::Val(self.em.inst1(Op::Bin(op, x, y), Ty::scalar(basic.elem()))))
    }

    /// Warns of arithmetic on constants whose result no `int` holds, if the program itself asks for it, by an operator.
    fn warn_of_wrap(&mut self, op: BinOp, x: i32, y: i32) {
        let Some(wrap) = crate::wraps::of_constants(op, x, y) else { return };
        let is_library = self.options.is_library;
        let called_here = |site: &crate::spec::Site| {
            matches!(self.fun(site.fun).name.as_str(), "+" | "-" | "*" | "neg") && !is_library(site.span.file)
        };
        let own = !is_library(self.here.file) || self.stack.last().is_some_and(called_here);
        if own && self.is_certain() {
            self.report(wrap.report(self.user_site()));
        } else if own {
            self.note_doubt();
        }
    }

    /// A remainder of a positive divisor lies below it; that of `mod` was checked not to be zero.
    fn remainder_bounds(&mut self, op: BinOp, basic: Basic, a: &Sc, b: &Sc, remainder: &Sc) {
        let Sc::Val(v) = remainder else { return };
        let non_negative = match op {
            BinOp::AplMod => self.em.range(b).0 >= 1,
            BinOp::Mod => self.em.range(a).0 >= 0 && self.em.range(b).0 >= 0,
            _ => false,
        };
        if basic == Basic::Int && non_negative {
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
                Code::PrimitiveArgument,
                format!("`{op}` takes two arguments of one type, found {p} and {q}"),
                "types differ",
            );
            return Val::Bottom;
        }
        if ranks == Ranks::SxS {
            let (Some((basic, x)), Some((_, y))) = (self.scalar_arg(a), self.scalar_arg(b)) else {
                return Val::Bottom;
            };
            return self.scalar_bin(op, basic, &x, &y).map_or(Val::Bottom, |(b, s)| Val::Sc(b, s));
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
                    &[Agree { left: left.clone(), right, axis: 0 }],
                    "arguments of a vector primitive",
                    Some("length"),
                );
                left
            }
        };
        let result = if op.is_comparison() { Basic::Bool } else { basic };
        self.make_vector(result, &n, |spec, i| {
            let x = spec.scalar_or_element(a, i);
            let y = spec.scalar_or_element(b, i);
            spec.scalar_bin(op, basic, &x, &y).map_or(zero(result), |(_, s)| s)
        })
    }

    pub fn scalar_or_element(&mut self, v: &Val, i: &Sc) -> Sc {
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
        let result = if op.is_predicate() { Basic::Bool } else { basic };
        if let Sc::Const(c) = s
            && let Ok(v) = eval_un(op, *c)
            && !(self.options.keep_nan && v.is_nan())
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
        Some((result, Sc::Val(self.em.inst1(Op::Un(op, v), Ty::scalar(result.elem())))))
    }

    fn prim_un(&mut self, op: UnOp, ranks: Ranks, a: &Val) -> Val {
        if ranks == Ranks::S {
            let Some((basic, s)) = self.scalar_arg(a) else {
                return Val::Bottom;
            };
            return self.scalar_un(op, basic, &s).map_or(Val::Bottom, |(b, s)| Val::Sc(b, s));
        }
        let (Val::Tup(basic, _) | Val::Arr(basic, _)) = a else {
            return Val::Bottom;
        };
        let result = if op.is_predicate() { Basic::Bool } else { *basic };
        let n = self.vector_length(a);
        self.make_vector(result, &n, |spec, i| {
            let x = spec.vector_element(a, i);
            spec.scalar_un(op, *basic, &x).map_or(zero(result), |(_, s)| s)
        })
    }

    pub fn convert(&mut self, from: Basic, to: Basic, s: &Sc) -> Sc {
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
                Sc::Val(self.em.inst1(Op::Select { cond, then, els }, Ty::scalar(basic.elem())))
            }
        }
    }

    /// The same value with knowledge removed.
    fn hide(&mut self, prim: Prim, v: Val) -> Val {
        match v {
            Val::Sc(b, s) if prim != Prim::HideDim => {
                let v = self.em.value(&s);
                Val::Sc(b, Sc::Val(self.em.inst1(Op::Opaque(v), Ty::scalar(b.elem()))))
            }
            Val::Sc(..) | Val::Tup(..) | Val::Arr(..) => {
                let (Some(ravel_core::ir::ElemTy::Basic(basic)), Some(array)) = (self.elem_of(&v), self.em.boxed(&v))
                else {
                    return v;
                };
                let shape = match (prim, self.em.extents(array)) {
                    (Prim::HideValue, Some(e)) => ShapeKind::Known(e.into_iter().map(Some).collect()),
                    (Prim::HideShape, Some(e)) => ShapeKind::Known(vec![None; e.len()]),
                    _ => ShapeKind::Unknown,
                };
                let mut flat = Vec::new();
                self.em.flatten(&Val::Arr(basic, array), &Kind::Arr(basic, shape.clone()), &mut flat);
                let leaf = (basic.elem(), crate::value::LeafShape::Array(shape));
                Val::Arr(basic, self.em.inst_leaves(Op::Opaque(flat[0]), &[leaf])[0])
            }
            Val::Wrapped(u, inner) if prim == Prim::HideValue => Val::Wrapped(u, Box::new(self.hide(prim, *inner))),
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
                    Prim::Greatest => BinOp::Min.identity(elem).or(Some(largest(elem))),
                    Prim::Least => BinOp::Max.identity(elem).or(Some(smallest(elem))),
                    _ => Some(smallest(elem)),
                };
                value.map_or(Val::Bottom, |v| Val::Sc(*b, Sc::Const(v)))
            }
            Val::Wrapped(..) | Val::Struct(..) if prim == Prim::Zero => {
                let frame = crate::spec::Frame::new(ravel_core::ir::FunId(0), Vec::new(), 0);
                let Some(elem) = self.elem_of(a) else {
                    return Val::Bottom;
                };
                let kind = self.kind_of_elem(&frame, elem, &ShapeKind::Known(Vec::new()));
                self.zero_of_kind(&kind)
            }
            other => {
                let shown = self.show_value_type(other);
                self.error(Code::PrimitiveArgument, format!("{shown} has no such value"), "asked for here");
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
