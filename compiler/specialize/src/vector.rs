//! Vectors during specialisation: shape vectors, index vectors, and the small loops and branches that unknown ranks need.

use crate::spec::Spec;
use crate::value::{Kind, MAX_TUPLE, Sc, Val};
use ravel_diagnostics::Code;
use ravel_source::Span;
use ravel_types::{Affine, Basic, BinOp, Elem, Scalar, Shape, Ty};
use ravel_wir::{Combine, Frame as WirFrame, Generator, Op, Part, Region, Value, With, WithOp};

/// Longest vector of known length that is taken apart into scalars when an index or a shape is needed.
const MAX_EXPLODE: usize = 64;

impl Spec<'_> {
    /// The elements of a vector of known length.
    pub fn elements(&mut self, v: &Val) -> Option<Vec<Sc>> {
        match v {
            Val::Tup(_, s) => Some(s.clone()),
            Val::Arr(b, value) => {
                let extents = self.em.extents(*value)?;
                match extents[..] {
                    [ref n] => {
                        let n = usize::try_from(n.as_const()?).ok().filter(|n| *n <= MAX_EXPLODE)?;
                        Some(self.em.explode(*b, *value, n))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The WIR value of the first leaf of an array value.
    fn carrier(&mut self, v: &Val) -> Option<Value> {
        match v {
            Val::Arr(_, v) => Some(*v),
            Val::Wrapped(_, v) => self.carrier(v),
            Val::Struct(_, fields) => self.carrier(fields.first()?),
            _ => None,
        }
    }

    fn hidden_axes(&mut self, v: &Val) -> usize {
        match v {
            Val::Wrapped(u, inner) => {
                let here = match &self.program.user_types[u.index()].kind {
                    ravel_core::ir::UserTypeKind::Typedef { shape, .. } => shape.len(),
                    _ => 0,
                };
                here + self.hidden_axes(inner)
            }
            Val::Struct(s, fields) => {
                let here =
                    self.program.structs[s.index()].fields.first().and_then(|f| f.shape.as_ref()).map_or(0, Vec::len);
                here + fields.first().map_or(0, |f| self.hidden_axes(f))
            }
            _ => 0,
        }
    }

    /// Rank of a value as the program sees it.
    pub fn rank_of(&mut self, v: &Val) -> Sc {
        if let Some(rank) = self.outer_rank(v) {
            return Sc::int(rank as i32);
        }
        let Some(carrier) = self.carrier(v) else {
            return Sc::int(0);
        };
        let rank = self.em.inst1(Op::Rank(carrier), Ty::scalar(Elem::I32));
        self.em.set_range(rank, (0, i32::MAX.into()));
        let hidden = self.hidden_axes(v);
        self.em.sub(&Sc::Val(rank), &Sc::int(hidden as i32))
    }

    /// Shape vector of a value as the program sees it: scalars where the rank is known.
    pub fn shape_vector(&mut self, v: &Val) -> Val {
        if let Some(shape) = self.outer_shape(v) {
            return Val::Tup(Basic::Int, shape);
        }
        let Some(carrier) = self.carrier(v) else {
            return Val::Tup(Basic::Int, Vec::new());
        };
        let whole = self.em.inst1(Op::Rank(carrier), Ty::scalar(Elem::I32));
        self.em.set_range(whole, (0, i32::MAX.into()));
        let length = self.em.form(&Sc::Val(whole));
        let vector = self.em.inst1(Op::ShapeVec(carrier), Ty::new(Elem::I32, Shape::Known(vec![length])));
        match self.hidden_axes(v) {
            0 => Val::Arr(Basic::Int, vector),
            n => {
                let length = self.em.sub(&Sc::Val(whole), &Sc::int(n as i32));
                self.slice(&Val::Arr(Basic::Int, vector), &Sc::int(0), &length)
            }
        }
    }

    pub fn vector_length(&mut self, v: &Val) -> Sc {
        match v {
            Val::Tup(_, s) => Sc::int(s.len() as i32),
            other => self.outer_shape(other).and_then(|s| s.into_iter().next()).unwrap_or(Sc::int(0)),
        }
    }

    /// Element `i` of a vector, which is in range.
    pub fn vector_element(&mut self, v: &Val, i: &Sc) -> Sc {
        if let (Val::Tup(_, s), Some(i)) = (v, i.as_int())
            && let Some(s) = usize::try_from(i).ok().and_then(|i| s.get(i))
        {
            return s.clone();
        }
        let (basic, array) = match v {
            Val::Tup(b, s) => (*b, self.em.vector(*b, s)),
            Val::Arr(b, v) => (*b, *v),
            _ => return Sc::int(0),
        };
        if let (Some(data), Some(i)) = (self.em.const_data(array), i.as_int())
            && let Some(c) = usize::try_from(i).ok().and_then(|i| data.values.get(i))
        {
            return Sc::Const(*c);
        }
        let index = self.em.value(i);
        Sc::Val(self.em.inst1(Op::Sel { array, index: vec![index] }, Ty::scalar(basic.elem())))
    }

    /// The vector of `cell(0) .. cell(n-1)`.
    pub fn make_vector(&mut self, basic: Basic, n: &Sc, mut cell: impl FnMut(&mut Self, &Sc) -> Sc) -> Val {
        if let Some(n) = n.as_int().filter(|n| *n <= MAX_TUPLE as i32) {
            return Val::Tup(basic, (0..n).map(|i| cell(self, &Sc::int(i))).collect());
        }
        let length = self.em.form(n);
        let opened = self.em.open();
        let index = self.index_param(opened.region, &length);
        let value = cell(self, &Sc::Val(index));
        let value = self.em.value(&value);
        self.em.set_yields(opened.region, vec![value]);
        let body = self.em.close(opened);
        let upper = self.em.value(n);
        let zero = self.em.constant(Scalar::I32(0));
        let with = With {
            parts: vec![Part {
                generator: Generator::Known { lower: vec![zero], upper: vec![upper], step: None, width: None },
                body,
            }],
            ops: vec![WithOp::Genarray { frame: WirFrame::Known(vec![upper]), cell: Some(Vec::new()), default: None }],
            ordered: false,
        };
        Val::Arr(basic, self.em.inst1(Op::With(with), Ty::new(basic.elem(), Shape::Known(vec![length]))))
    }

    /// An index parameter `0 <= i < bound` of a with-loop body.
    pub fn index_param(&mut self, region: ravel_wir::Region, bound: &Affine) -> Value {
        let index = self.em.params_for(region, &[(Elem::I32, crate::value::LeafShape::Scalar)])[0];
        self.em.set_range(index, (0, bound.as_const().map_or(i32::MAX as i64 - 1, |n| n as i64 - 1)));
        self.em.set_below(index, bound.clone());
        index
    }

    /// Fold of `cell(0) .. cell(n-1)` with a regrouping operation.
    pub fn fold_vector(
        &mut self,
        op: BinOp,
        neutral: Scalar,
        basic: Basic,
        n: &Sc,
        mut cell: impl FnMut(&mut Self, &Sc) -> Sc,
    ) -> Sc {
        if let Some(n) = n.as_int().filter(|n| *n <= MAX_TUPLE as i32) {
            let mut acc = Sc::Const(neutral);
            for i in 0..n {
                let c = cell(self, &Sc::int(i));
                acc = match basic {
                    Basic::Bool if op == BinOp::And => self.em.and(&acc, &c),
                    Basic::Bool if op == BinOp::Or => self.em.or(&acc, &c),
                    _ => self.em.bin(op, basic, &acc, &c),
                };
            }
            return acc;
        }
        let length = self.em.form(n);
        let opened = self.em.open();
        let index = self.index_param(opened.region, &length);
        let value = cell(self, &Sc::Val(index));
        let value = self.em.value(&value);
        self.em.set_yields(opened.region, vec![value]);
        let body = self.em.close(opened);
        let upper = self.em.value(n);
        let zero = self.em.constant(Scalar::I32(0));
        let neutral = self.em.constant(neutral);
        let with = With {
            parts: vec![Part {
                generator: Generator::Known { lower: vec![zero], upper: vec![upper], step: None, width: None },
                body,
            }],
            ops: vec![WithOp::Fold { neutral, combine: Combine::Op(op), stop: None }],
            ordered: false,
        };
        Sc::Val(self.em.inst1(Op::With(with), Ty::scalar(basic.elem())))
    }

    /// `len` elements of a vector from `from` on; they are in range.
    pub fn slice(&mut self, v: &Val, from: &Sc, len: &Sc) -> Val {
        let basic = match v {
            Val::Tup(b, _) | Val::Arr(b, _) => *b,
            _ => Basic::Int,
        };
        self.make_vector(basic, len, |spec, i| {
            let at = spec.em.add(from, i);
            spec.vector_element(v, &at)
        })
    }

    /// Whether two int vectors are equal.
    pub fn vectors_equal(&mut self, a: &Val, b: &Val) -> Sc {
        let (n, m) = (self.vector_length(a), self.vector_length(b));
        let same = self.em.bin(BinOp::Eq, Basic::Int, &n, &m);
        let equal = self.branch(
            &same,
            |spec| {
                let all = spec.fold_vector(BinOp::And, Scalar::Bool(true), Basic::Bool, &n, |spec, i| {
                    let (x, y) = (spec.vector_element(a, i), spec.vector_element(b, i));
                    spec.em.bin(BinOp::Eq, Basic::Int, &x, &y)
                });
                vec![Val::Sc(Basic::Bool, all)]
            },
            |_| vec![Val::Sc(Basic::Bool, Sc::bool(false))],
        );
        match equal.into_iter().next() {
            Some(Val::Sc(_, s)) => s,
            _ => Sc::bool(false),
        }
    }

    /// Runs one of two branches; both give the same number of values, which are merged.
    pub fn branch(
        &mut self,
        cond: &Sc,
        then: impl FnOnce(&mut Self) -> Vec<Val>,
        els: impl FnOnce(&mut Self) -> Vec<Val>,
    ) -> Vec<Val> {
        match cond.as_bool() {
            Some(true) => return then(self),
            Some(false) => return els(self),
            None => {}
        }
        let (then_region, then_values) = self.arm(then);
        let (els_region, els_values) = self.arm(els);
        self.join_arms(cond, (then_region, &then_values), (els_region, &els_values))
    }

    /// Executes one branch in a region of its own.
    pub fn arm<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> (Region, T) {
        self.conditional += 1;
        let opened = self.em.open();
        let values = run(self);
        let region = self.em.close(opened);
        self.conditional -= 1;
        (region, values)
    }

    /// Emits the `if` over two executed branches.
    pub fn join_arms(&mut self, cond: &Sc, then: (Region, &[Val]), els: (Region, &[Val])) -> Vec<Val> {
        let cond = self.em.value(cond);
        let kinds: Vec<Kind> = then
            .1
            .iter()
            .zip(els.1)
            .map(|(a, b)| {
                let (x, y) = (self.em.visible_kind(a), self.em.visible_kind(b));
                x.join(&y).unwrap_or_else(|| {
                    let (a, b) = (self.show_value_type(a), self.show_value_type(b));
                    self.error(
                        Code::BranchesDiffer,
                        format!("the branches of a conditional give different types: {a} and {b}"),
                        "these must have one element type",
                    );
                    Kind::Bottom
                })
            })
            .collect();
        for (region, values) in [then, els] {
            let opened = self.em.reopen(region);
            let mut yields = Vec::new();
            for (v, k) in values.iter().zip(&kinds) {
                self.em.flatten(v, k, &mut yields);
            }
            self.em.set_yields(region, yields);
            self.em.close(opened);
        }
        let mut leaves = Vec::new();
        kinds.iter().for_each(|k| k.leaves(&mut leaves));
        let values = self.em.inst_leaves(Op::If { cond, then: then.0, els: els.0 }, &leaves);
        let mut values = values.into_iter();
        kinds.iter().map(|k| self.em.instantiate(k, &mut values)).collect()
    }

    /// The span of the construct being elaborated becomes that of new instructions.
    pub fn at(&mut self, span: Span) {
        self.here = span;
        self.em.span = self.user_site();
    }
}

impl Spec<'_> {
    /// The vector `a ++ b` of `total` elements, `n` of them from `a`, as one with-loop with two partitions.
    pub fn two_part_vector(&mut self, basic: Basic, n: &Sc, total: &Sc, a: &Val, b: &Val) -> Val {
        let (split, length) = (self.em.form(n), self.em.form(total));
        let second = self.em.sub(total, n);
        let rest = self.em.form(&second);
        let opened = self.em.open();
        let i = self.index_param(opened.region, &split);
        let v = self.vector_element(a, &Sc::Val(i));
        let v = self.em.value(&v);
        self.em.set_yields(opened.region, vec![v]);
        let first_body = self.em.close(opened);
        let opened = self.em.open();
        let i = self.index_param(opened.region, &length);
        let at = self.em.sub(&Sc::Val(i), n);
        if let Sc::Val(at) = at {
            self.em.set_below(at, rest);
        }
        let v = self.vector_element(b, &at);
        let v = self.em.value(&v);
        self.em.set_yields(opened.region, vec![v]);
        let second_body = self.em.close(opened);
        let zero = self.em.constant(Scalar::I32(0));
        let (mid, end) = (self.em.value(n), self.em.value(total));
        let part = |lower, upper, body| Part {
            generator: Generator::Known { lower: vec![lower], upper: vec![upper], step: None, width: None },
            body,
        };
        let with = With {
            parts: vec![part(zero, mid, first_body), part(mid, end, second_body)],
            ops: vec![WithOp::Genarray { frame: WirFrame::Known(vec![end]), cell: Some(Vec::new()), default: None }],
            ordered: false,
        };
        Val::Arr(basic, self.em.inst1(Op::With(with), Ty::new(basic.elem(), Shape::Known(vec![length]))))
    }
}
