//! Between abstract values and WIR values: the kind of a value, the WIR values that carry it, and back.

use super::Emitter;
use crate::value::{Kind, Sc, ScKind, ShapeKind, Val};
use ravel_types::{Basic, Scalar, Shape, Ty};
use ravel_wir::{Op, Value};

impl Emitter {
    pub fn sc_kind(&self, basic: Basic, s: &Sc) -> ScKind {
        match s {
            Sc::Const(c) => ScKind::Const(*c),
            Sc::Form(a) => ScKind::Form(a.clone()),
            Sc::Val(v) if basic == Basic::Int => self.forms.get(v).map_or(ScKind::Any, |a| match a.as_const() {
                Some(c) => ScKind::Const(Scalar::I32(c)),
                None => ScKind::Form(a.clone()),
            }),
            Sc::Val(_) => ScKind::Any,
        }
    }

    pub fn kind_of(&self, v: &Val) -> Kind {
        match v {
            Val::Bottom => Kind::Bottom,
            Val::Sc(b, s) => Kind::Sc(*b, self.sc_kind(*b, s)),
            Val::Tup(b, s) => Kind::Tup(*b, s.iter().map(|s| self.sc_kind(*b, s)).collect()),
            Val::Arr(b, v) => Kind::Arr(
                *b,
                match self.extents(*v) {
                    Some(e) => ShapeKind::Known(e.into_iter().map(Some).collect()),
                    None => ShapeKind::Unknown,
                },
            ),
            Val::Handle(u, _) => Kind::Handle(*u),
            Val::Wrapped(u, v) => Kind::Wrapped(*u, Box::new(self.kind_of(v))),
            Val::Struct(s, fields) => Kind::Struct(*s, fields.iter().map(|f| self.kind_of(f)).collect()),
        }
    }

    /// WIR values that carry `v` as seen through `kind`, which must lie above it. A missing value (bottom) is carried by
    /// undefined values: the code is unreachable, or will be thrown away.
    pub fn flatten(&mut self, v: &Val, kind: &Kind, out: &mut Vec<Value>) {
        match (v, kind) {
            (Val::Bottom, _) => {
                let mut leaves = Vec::new();
                kind.leaves(&mut leaves);
                for (elem, shape) in leaves {
                    let (ty, _) = self.type_of_leaf(elem, &shape);
                    out.push(self.func.new_value(ty));
                }
            }
            (_, Kind::Sc(_, ScKind::Const(_))) | (_, Kind::Bottom) => {}
            (Val::Sc(_, s), Kind::Sc(..)) => {
                let v = self.value(s);
                out.push(v);
            }
            (Val::Tup(_, s), Kind::Tup(_, ks)) => {
                for (s, k) in s.iter().zip(ks) {
                    if !matches!(k, ScKind::Const(_)) {
                        let v = self.value(s);
                        out.push(v);
                    }
                }
            }
            (Val::Wrapped(_, v), Kind::Wrapped(_, k)) => self.flatten(v, k, out),
            (Val::Struct(_, vs), Kind::Struct(_, ks)) => vs.iter().zip(ks).for_each(|(v, k)| self.flatten(v, k, out)),
            (Val::Handle(_, v), _) => out.push(*v),
            (_, Kind::Arr(_, shape)) => {
                let v = self.array_as(v, shape);
                out.push(v);
            }
            (Val::Arr(b, v), Kind::Tup(_, ks)) => {
                let scalars = self.explode(*b, *v, ks.len());
                self.flatten(&Val::Tup(*b, scalars), kind, out);
            }
            (other, _) => {
                debug_assert!(false, "{other:?} is not below {kind:?}");
            }
        }
    }

    /// The elements of a vector of known length as scalars.
    pub fn explode(&mut self, basic: Basic, v: Value, n: usize) -> Vec<Sc> {
        if let Some(data) = self.const_data(v) {
            return data.values.iter().map(|c| Sc::Const(*c)).collect();
        }
        (0..n)
            .map(|i| {
                let index = self.constant(Scalar::I32(i as i32));
                Sc::Val(self.inst1(Op::Sel { array: v, index: vec![index] }, Ty::scalar(basic.elem())))
            })
            .collect()
    }

    /// A value of built-in element type as an array of the given knowledge.
    fn array_as(&mut self, v: &Val, shape: &ShapeKind) -> Value {
        let (array, basic) = match v {
            Val::Arr(b, v) => (*v, *b),
            Val::Tup(b, s) => (self.vector(*b, s), *b),
            Val::Sc(b, s) => (self.value(s), *b),
            _ => unreachable!("only values of built-in element type have array kinds"),
        };
        if *shape == ShapeKind::Unknown && self.func.ty(array).rank().is_some() {
            return self.inst1(Op::Widen(array), Ty::new(basic.elem(), Shape::Unknown));
        }
        array
    }

    /// The array object of a value of built-in element type; scalars are boxed.
    pub fn boxed(&mut self, v: &Val) -> Option<Value> {
        match v {
            Val::Sc(..) => Some(self.array_as(v, &ShapeKind::Unknown)),
            Val::Tup(b, s) => Some(self.vector(*b, s)),
            Val::Arr(_, v) => Some(*v),
            _ => None,
        }
    }

    /// A value of this kind, carried by `values` (as many as the kind has leaves).
    pub fn instantiate(&mut self, kind: &Kind, values: &mut impl Iterator<Item = Value>) -> Val {
        match kind {
            Kind::Bottom => Val::Bottom,
            Kind::Sc(b, k) => Val::Sc(*b, self.instantiate_scalar(k, values)),
            Kind::Tup(b, ks) => Val::Tup(*b, ks.iter().map(|k| self.instantiate_scalar(k, values)).collect()),
            Kind::Arr(b, _) => Val::Arr(*b, values.next().expect("a value per leaf")),
            Kind::Handle(u) => Val::Handle(*u, values.next().expect("a value per leaf")),
            Kind::Wrapped(u, k) => Val::Wrapped(*u, Box::new(self.instantiate(k, values))),
            Kind::Struct(s, ks) => Val::Struct(*s, ks.iter().map(|k| self.instantiate(k, values)).collect()),
        }
    }

    fn instantiate_scalar(&mut self, kind: &ScKind, values: &mut impl Iterator<Item = Value>) -> Sc {
        match kind {
            ScKind::Const(c) => Sc::Const(*c),
            ScKind::Form(a) => {
                let v = values.next().expect("a value per leaf");
                self.set_form(v, a.clone());
                Sc::Val(v)
            }
            ScKind::Any => Sc::Val(values.next().expect("a value per leaf")),
        }
    }
}
