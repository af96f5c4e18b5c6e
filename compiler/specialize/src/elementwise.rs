//! Primitives that choose or reach single elements: masks, the number of elements, places in row-major order.

use crate::check::Agree;
use crate::spec::Spec;
use crate::value::{Sc, Val};
use crate::withloops::select::IndexVector;
use ravel_core::ir::{ElemTy, UserTypeKind};
use ravel_diagnostics::Code;
use ravel_types::{Basic, BinOp, Scalar};

impl Spec<'_> {
    /// In the file of a class, primitives see the representation of its values.
    pub fn open_own_class(&self, arg: &mut Val) {
        let Val::Wrapped(class, inner) = arg else { return };
        let class = &self.program.user_types[class.index()];
        let module = self.stack.last().map(|site| &self.fun(site.fun).module);
        if matches!(class.kind, UserTypeKind::Class { .. }) && module == Some(&class.module) {
            *arg = std::mem::replace(&mut **inner, Val::Bottom);
            self.open_own_class(arg);
        }
    }

    /// `p ? a : b` element by element; scalars stand for as many elements as the others have.
    pub fn mask(&mut self, p: &Val, a: &Val, b: &Val) -> Val {
        let types = [p, a, b].map(|v| self.elem_of(v));
        let basic = match types {
            [Some(ElemTy::Basic(Basic::Bool)), Some(ElemTy::Basic(x)), Some(ElemTy::Basic(y))] if x == y => x,
            _ => {
                let [p, a, b] = [p, a, b].map(|v| self.show_value_type(v));
                let title = format!("`mask` takes bools and two values of one type, found {p}, {a} and {b}");
                self.error(Code::PrimitiveArgument, title, "types differ");
                return Val::Bottom;
            }
        };
        if let (Val::Sc(_, c), Val::Sc(_, x), Val::Sc(_, y)) = (p, a, b) {
            return Val::Sc(basic, self.choose_scalar(c, basic, x, y));
        }
        let mut length: Option<Sc> = None;
        for v in [p, a, b] {
            if matches!(v, Val::Sc(..)) {
                continue;
            }
            let own = self.vector_length(v);
            match &length {
                None => length = Some(own),
                Some(left) => {
                    let agree = Agree { left: left.clone(), right: own, axis: 0 };
                    if !self.require_agreement(&[agree], "arguments of a vector primitive", Some("length")) {
                        return Val::Bottom;
                    }
                }
            }
        }
        let n = length.unwrap_or(Sc::int(0));
        self.make_vector(basic, &n, |spec, i| {
            let [c, x, y] = [p, a, b].map(|v| spec.scalar_or_element(v, i));
            spec.choose_scalar(&c, basic, &x, &y)
        })
    }

    /// The product of the extents.
    pub fn size_of(&mut self, a: &Val) -> Sc {
        let shape = self.shape_vector(a);
        let n = self.vector_length(&shape);
        self.fold_vector(BinOp::Mul, Scalar::I32(1), Basic::Int, &n, |spec, i| spec.vector_element(&shape, i))
    }

    /// The elements in row-major order, and a place among them as an index.
    fn flat(&mut self, place: &Val, a: &Val) -> Option<(IndexVector, Val)> {
        let (_, place) = self.scalar_arg(place)?;
        let size = self.size_of(a);
        let elements = self.reshape(&IndexVector::Scalars(vec![size]), a);
        Some((IndexVector::Scalars(vec![place]), elements))
    }

    pub fn select_flat(&mut self, place: &Val, a: &Val) -> Val {
        match self.flat(place, a) {
            Some((index, elements)) => self.select(&index, &elements, true),
            None => Val::Bottom,
        }
    }

    pub fn update_flat(&mut self, a: &Val, place: &Val, element: &Val) -> Val {
        let Some((index, elements)) = self.flat(place, a) else { return Val::Bottom };
        let elements = self.update(&elements, &index, element);
        let shape = self.shape_vector(a);
        match self.index_vector(&shape) {
            Some(shape) => self.reshape(&shape, &elements),
            None => Val::Bottom,
        }
    }
}
