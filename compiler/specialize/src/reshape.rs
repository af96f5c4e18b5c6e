//! Reshape, and catenation, take and drop of vectors.

use crate::check::coded;
use crate::spec::{Argument, Spec};
use crate::value::{Kind, Sc, ShapeKind, Val};
use crate::withloops::select::IndexVector;
use ravel_core::ir::UserTypeKind;
use ravel_diagnostics::Code;
use ravel_types::{Affine, Basic, BinOp, Scalar, Shape, Ty};
use ravel_wir::Op;

impl Spec<'_> {
    pub fn reshape(&mut self, shape: &IndexVector, a: &Val) -> Val {
        match a {
            Val::Wrapped(u, inner) => {
                let tail = match &self.program.user_types[u.index()].kind {
                    UserTypeKind::Typedef { shape, .. } => shape.clone(),
                    _ => return a.clone(),
                };
                let IndexVector::Scalars(s) = shape else {
                    return a.clone();
                };
                let full = s.iter().cloned().chain(tail.into_iter().map(Sc::int)).collect();
                match self.reshape(&IndexVector::Scalars(full), inner) {
                    Val::Bottom => Val::Bottom,
                    v => Val::Wrapped(*u, Box::new(v)),
                }
            }
            Val::Struct(s, fields) => {
                if self.program.structs[s.index()].open {
                    self.open_elements();
                    return Val::Bottom;
                }
                let defs: Vec<Vec<i32>> =
                    self.program.structs[s.index()].fields.iter().flat_map(|f| f.shape.clone()).collect();
                let IndexVector::Scalars(shape) = shape else {
                    return a.clone();
                };
                let fields = fields
                    .iter()
                    .zip(defs)
                    .map(|(f, tail)| {
                        let full = shape.iter().cloned().chain(tail.into_iter().map(Sc::int)).collect();
                        self.reshape(&IndexVector::Scalars(full), f)
                    })
                    .collect();
                Val::Struct(*s, fields)
            }
            Val::Sc(basic, _) | Val::Tup(basic, _) | Val::Arr(basic, _) => self.reshape_basic(*basic, shape, a),
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
                self.em.inst1(Op::ReshapeDyn { array, shape: vector }, Ty::new(basic.elem(), Shape::Unknown)),
            );
        };
        let mut negative = false;
        for (axis, n) in new.iter().enumerate() {
            negative |= !self.require_extent(n, axis, "a shape");
        }
        let forms: Vec<Affine> = new.iter().map(|n| self.em.form(n)).collect();
        let Some(old) = self.outer_shape(a) else {
            let vector = self.dyn_vector(shape);
            let Some(array) = self.em.boxed(a) else {
                return Val::Bottom;
            };
            let ty = Ty::new(basic.elem(), Shape::Known(forms));
            let scalar = ty.is_scalar();
            let op = Op::ReshapeDyn { array, shape: vector };
            if scalar {
                let v = self.em.inst1(op, Ty::new(basic.elem(), Shape::Unknown));
                return self.narrow_outer(&Val::Arr(basic, v), &[]);
            }
            return Val::Arr(basic, self.em.inst1(op, ty));
        };
        if old.len() == new.len() && old.iter().zip(&forms).all(|(o, n)| self.em.form(o) == *n) {
            return a.clone();
        }
        if negative {
            // A count says nothing then; what was reported is not to be followed up.
            if self.is_certain() {
                return Val::Bottom;
            }
            self.note_doubt();
        } else {
            self.require_counts(new, &old);
        }
        if let Val::Arr(_, v) = a
            && let (Some(data), Some(shape)) =
                (self.em.const_data(*v).cloned(), Shape::Known(forms.clone()).constants())
            && !shape.is_empty()
        {
            return Val::Arr(basic, self.em.const_array(basic.elem(), &shape, data.values.clone()));
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
        Val::Arr(basic, self.em.inst1(Op::Reshape { array, shape }, Ty::new(basic.elem(), Shape::Known(forms))))
    }

    /// Reports, or checks at run time, that an extent is not negative; `what` has it. False if it certainly is.
    pub fn require_extent(&mut self, n: &Sc, axis: usize, what: &str) -> bool {
        if self.em.range(n).0 >= 0 {
            return true;
        }
        let ok = self.em.bin(BinOp::Ge, Basic::Int, n, &Sc::int(0));
        let text = format!("axis {axis} of {what} is negative: ");
        let fault = coded(Code::NegativeExtent, format!("{text}{{e}}"), vec![self.em.value(n)]);
        if ok.as_bool() == Some(false) {
            let shown = n.as_int().map_or(".".to_string(), |n| extent_text(n.into()));
            let before = self.diagnostics.len();
            self.certain_fault(Code::NegativeExtent, format!("{text}{shown}"), fault);
            if n.as_int() == Some(-1)
                && let Some(report) = self.diagnostics.get_mut(before)
            {
                report.notes.push("no extent is computed from the others".to_string());
                *report = report.clone().with_help(
                    "`flatten(a)` of ArrayAxes is the vector of all elements; else divide `prod(shape(a))` by the other extents",
                );
            }
            return false;
        }
        self.emit_check(&ok, fault);
        self.em.set_checked(n, (0, i32::MAX as i64), None);
        true
    }

    /// Adds to a new report on `reshape(a, [2,3])` the call with its arguments exchanged, if that keeps the number of elements.
    fn suggest_other_order(&mut self, before: usize) {
        let Some((call, [first, second])) = self.user_call().map(|(site, args)| (site.span, &args[..])) else { return };
        let numbers = |arg: &Argument| match &arg.kind {
            Kind::Tup(_, parts) => parts.iter().map(|part| part.form()?.as_const()).collect(),
            _ => None::<Vec<i32>>,
        };
        let count = match &first.kind {
            Kind::Tup(_, parts) => Some(parts.len() as i128),
            Kind::Arr(_, ShapeKind::Known(extents)) => {
                let extents: Option<Vec<i32>> = extents.iter().map(|extent| extent.as_ref()?.as_const()).collect();
                extents.map(|extents| elements(&extents))
            }
            _ => None,
        };
        let fits = count.is_some() && numbers(second).map(|extents| elements(&extents)) == count;
        let whole = self.quotable(call).and_then(|text| text.split_once('(')).map(|(name, _)| name.trim().to_string());
        if let (true, Some(name), Some(a), Some(shape)) =
            (fits, whole, self.quotable(first.span), self.quotable(second.span))
        {
            let text = format!("{name}({shape}, {a})");
            if let Some(report) = self.diagnostics.get_mut(before) {
                let new = report.clone().with_note("the new shape comes first");
                *report = new.with_edit(format!("`{text}`"), call, text);
            }
        }
    }

    /// Checks that two shapes have equally many elements.
    fn require_counts(&mut self, new: &[Sc], old: &[Sc]) {
        let constants = |s: &[Sc]| s.iter().map(|s| s.as_int()).collect::<Option<Vec<i32>>>().map(|s| elements(&s));
        if let (Some(n), Some(o)) = (constants(new), constants(old)) {
            if n != o {
                let show =
                    |s: &[Sc]| s.iter().filter_map(Sc::as_int).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
                let text = format!(
                    "an array of {o} elements (shape [{}]) cannot be reshaped to [{}], which has {n}",
                    show(old),
                    show(new)
                );
                let fault = coded(Code::ReshapeCount, &text, Vec::new());
                let before = self.diagnostics.len();
                self.certain_fault(Code::ReshapeCount, text, fault);
                self.suggest_other_order(before);
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
        if same.as_bool() != Some(true) {
            self.require_countable(new);
        }
        let operands = vec![self.em.value(&o), self.em.value(&n)];
        let text = "reshape changes the number of elements (old, new)";
        self.emit_check(&same, coded(Code::ReshapeCount, text, operands));
    }

    /// Checks that a new shape has no more elements than a `long` counts. An array that is there has not.
    fn require_countable(&mut self, new: &[Sc]) {
        let most: Vec<i32> = new.iter().map(|n| self.em.range(n).1.clamp(0, i32::MAX.into()) as i32).collect();
        if elements(&most) <= i128::from(i64::MAX) {
            return;
        }
        // Reals do not wrap.
        let count = new.iter().fold(Sc::Const(Scalar::F64(1.0)), |product, n| {
            let n = self.convert(Basic::Int, Basic::Double, n);
            self.em.bin(BinOp::Mul, Basic::Double, &product, &n)
        });
        let fits = self.em.bin(BinOp::Lt, Basic::Double, &count, &Sc::Const(Scalar::F64(2f64.powi(63))));
        let text = "reshape to a shape of more than 9223372036854775807 elements";
        self.emit_check(&fits, coded(Code::ReshapeCount, text, Vec::new()));
    }

    pub fn catenate(&mut self, a: &Val, b: &Val) -> Val {
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
            self.error(Code::PrimitiveArgument, format!("vectors of different types: {p} and {q}"), "types differ");
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

    pub fn take_drop(&mut self, take: bool, n: &Val, v: &Val) -> Val {
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
        let text = format!("{what} of more elements than there are (wanted, present)");
        let fault = coded(Code::SliceTooLong, text, operands);
        if both.as_bool() == Some(false) {
            self.certain_fault(Code::SliceTooLong, format!("{what} of more elements than there are"), fault);
            return Val::Bottom;
        }
        self.emit_check(&both, fault);
        self.slice(v, &from, &count)
    }
}

/// Elements of a shape; as many as can be counted if there are more.
fn elements(extents: &[i32]) -> i128 {
    if extents.contains(&0) {
        0
    } else {
        extents.iter().fold(1, |product: i128, n| product.saturating_mul((*n).into()))
    }
}

/// An extent less than this is rather one that is too large: sums and products of extents wrap around.
const WRAPPED: i64 = -(1 << 24);

/// A negative extent as the runtime shows it behind the mark `{e}`.
fn extent_text(extent: i64) -> String {
    if extent < WRAPPED { format!("{extent} (beyond 2147483647 an extent wraps around)") } else { extent.to_string() }
}
