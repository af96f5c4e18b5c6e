//! Generators: bounds of with-loop parts, their index facts, and making overlapping parts disjoint.

use crate::check::{axes, coded};
use crate::spec::{Frame, Spec};
use crate::value::{Sc, Val};
use crate::withloops::select::IndexVector;
use ravel_core::ir::{Bound, Part};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_types::{Affine, Basic, BinOp, Scalar};
use ravel_wir::{Generator, Value};

/// More pieces than this and overlapping parts are guarded instead of split.
const MAX_PIECES: usize = 12;

/// An index set with one scalar per axis; the upper bound is exclusive.
#[derive(Clone, Debug)]
pub struct IndexBox {
    pub lower: Vec<Sc>,
    pub upper: Vec<Sc>,
    pub step: Option<Vec<Sc>>,
    pub width: Option<Vec<Sc>>,
}

/// The index set of a part.
#[derive(Clone, Debug)]
pub enum IndexSet {
    Box(IndexBox),
    /// Vectors whose length is unknown.
    Dyn {
        lower: Val,
        upper: Val,
        step: Option<Val>,
        width: Option<Val>,
    },
}

impl IndexSet {
    /// Whether it certainly has no index.
    pub fn is_empty(&self) -> bool {
        let IndexSet::Box(set) = self else { return false };
        let is_empty =
            |(lower, upper): (&Sc, &Sc)| matches!((lower.as_int(), upper.as_int()), (Some(l), Some(u)) if u <= l);
        set.lower.iter().zip(&set.upper).any(is_empty)
    }
}

impl IndexBox {
    pub fn rank(&self) -> usize {
        self.lower.len()
    }

    /// All indices in row-major order, if the bounds are constants and there are at most `limit`.
    pub fn indices(&self, limit: usize) -> Option<Vec<Vec<i32>>> {
        let ints = |s: &[Sc]| s.iter().map(Sc::as_int).collect::<Option<Vec<i32>>>();
        let (lower, upper) = (ints(&self.lower)?, ints(&self.upper)?);
        let ones = vec![1; lower.len()];
        let step = self.step.as_deref().map_or(Some(ones.clone()), ints)?;
        let width = self.width.as_deref().map_or(Some(ones), ints)?;
        let mut count = 1usize;
        for (l, u) in lower.iter().zip(&upper) {
            count = count.checked_mul((*u as i64 - *l as i64).max(0) as usize)?;
        }
        if count > limit * 4 {
            return None;
        }
        // One empty axis is enough, however long those before it are.
        if count == 0 {
            return Some(Vec::new());
        }
        let mut all = vec![Vec::new()];
        for axis in 0..lower.len() {
            let taken = |i: &i32| (i - lower[axis]) % step[axis].max(1) < width[axis];
            all = all
                .into_iter()
                .flat_map(|prefix| {
                    (lower[axis]..upper[axis]).filter(taken).map(move |i| {
                        let mut index = prefix.clone();
                        index.push(i);
                        index
                    })
                })
                .collect();
        }
        (all.len() <= limit).then_some(all)
    }
}

impl Spec<'_> {
    /// Reports a number that stands for a bound of an index vector. `other` is the other bound, if it is a vector.
    fn scalar_bound(&mut self, part: &Part, frame_shape: Option<&Val>, other: Option<(Span, Val)>) {
        let site = self.here;
        let report = Diagnostic::error(Code::IndexNotInts, "a bound of an index vector is a vector, found int")
            .at(site, "this is int")
            .with_note("numbers are not repeated to bounds: each axis has its own");
        let text = self.quotable(site).map(str::to_string);
        let report = match text.filter(|_| self.user_site() == site) {
            Some(text) => {
                let known = |v: &Val| match v {
                    Val::Tup(_, parts) => Some(parts.len()),
                    _ => None,
                };
                let scalars = part.scalars.as_ref().map(Vec::len);
                let axes = scalars.or(other.as_ref().and_then(|(_, v)| known(v))).or(frame_shape.and_then(known));
                let other = other.as_ref().and_then(|(span, _)| self.quotable(*span));
                let vector = match (axes, other) {
                    (Some(axes), _) => Some(format!("[{}]", vec![text.as_str(); axes].join(", "))),
                    (None, Some(other)) => Some(format!("genarray(shape({other}), {text})")),
                    (None, None) => None,
                };
                match vector {
                    Some(vector) => report.with_safe_edit(format!("`{vector}`"), site, vector),
                    None => report.with_help(format!("`[{text}]` for one axis, `[{text}, {text}]` for two")),
                }
            }
            None => report,
        };
        self.report_from_here(report, site);
    }

    /// Evaluates the bounds of a part. `frame_shape` is what `.` refers to; a fold alone has none.
    pub fn index_set(&mut self, frame: &mut Frame, part: &Part, frame_shape: Option<&Val>) -> Option<IndexSet> {
        let mut vector = |spec: &mut Self, e: &ravel_core::ir::Expr| {
            let v = spec.expr(frame, e);
            if matches!(&part.upper, Bound::Expr(upper) if std::ptr::eq(upper, e)) {
                spec.note_bound(part.span, &v);
            }
            spec.at(e.span);
            match v {
                Val::Bottom => None,
                Val::Sc(Basic::Int, _) => {
                    let others = [&part.lower, &part.upper].into_iter().filter_map(|bound| match bound {
                        Bound::Expr(other) if !std::ptr::eq(other, e) => Some((other.span, spec.expr(frame, other))),
                        _ => None,
                    });
                    let other = others.collect::<Vec<_>>().into_iter().find(|(_, v)| !matches!(v, Val::Sc(..)));
                    spec.at(e.span);
                    spec.scalar_bound(part, frame_shape, other);
                    None
                }
                v => spec.index_vector(&v),
            }
        };
        let mut bound = |spec: &mut Self, b: &Bound| match b {
            Bound::Dot => Some(None),
            Bound::Expr(e) => vector(spec, e).map(Some),
        };
        let lower = bound(self, &part.lower)?;
        let upper = bound(self, &part.upper)?;
        let step = match &part.step {
            Some(e) => Some(vector(self, e)?),
            None => None,
        };
        let width = match &part.width {
            Some(e) if step.is_some() => Some(vector(self, e)?),
            _ => None,
        };
        self.at(part.span);
        let known = [&lower, &upper]
            .into_iter()
            .flatten()
            .chain(&step)
            .chain(&width)
            .all(|v| matches!(v, IndexVector::Scalars(_)));
        let frame_rank = match frame_shape {
            Some(Val::Tup(_, s)) => Some(s.len()),
            _ => None,
        };
        let length = |v: &Option<IndexVector>| match v {
            Some(IndexVector::Scalars(s)) => Some(s.len()),
            _ => None,
        };
        let rank = part
            .scalars
            .as_ref()
            .map(Vec::len)
            .or_else(|| length(&lower))
            .or_else(|| length(&upper))
            .or_else(|| length(&step))
            .or(if lower.is_none() && upper.is_none() { frame_rank } else { None });
        let needs_frame = lower.is_none() && rank.is_none() || upper.is_none();
        if needs_frame && frame_shape.is_none() {
            self.error(
                Code::DotBoundOfFold,
                "`.` as a bound of a fold",
                "there is no array whose shape `.` could mean",
            );
            return None;
        }
        match rank {
            Some(rank) if known && (upper.is_some() || frame_rank.is_some()) => {
                self.known_set(part, rank, lower, upper, step, width, frame_shape)
            }
            Some(rank) => {
                // Bounds of unknown length for an index of known length.
                let lower = lower.map(|v| self.fixed_length(v, rank));
                let upper = upper.map(|v| self.fixed_length(v, rank));
                let step = step.map(|v| self.fixed_length(v, rank));
                let width = width.map(|v| self.fixed_length(v, rank));
                self.known_set(part, rank, lower, upper, step, width, frame_shape)
            }
            None => Some(self.dyn_set(part, lower, upper, step, width, frame_shape)),
        }
    }

    /// A vector as `rank` scalars; its length is checked at run time.
    fn fixed_length(&mut self, v: IndexVector, rank: usize) -> IndexVector {
        match v {
            IndexVector::Dyn(value) => {
                let narrowed = self.narrow_outer(&Val::Arr(Basic::Int, value), &[Some(rank as i32)]);
                IndexVector::Scalars(self.elements(&narrowed).unwrap_or_default())
            }
            known => known,
        }
    }

    /// The index behind a bound, which is not the largest `int`.
    fn next_index(&mut self, bound: &Sc, which: &str) -> Sc {
        if self.em.range(bound).1 >= i32::MAX as i64 {
            let ok = self.em.bin(BinOp::Lt, Basic::Int, bound, &Sc::int(i32::MAX));
            let text = beyond_bounds(which);
            let fault = coded(Code::BadGenerator, &text, Vec::new());
            if ok.as_bool() == Some(false) {
                self.certain_fault(Code::BadGenerator, text, fault);
            } else {
                self.emit_check(&ok, fault);
                self.em.set_checked(bound, (i32::MIN as i64, i32::MAX as i64 - 1), None);
            }
        }
        self.em.add(bound, &Sc::int(1))
    }

    #[expect(clippy::too_many_arguments, reason = "the six features of a generator")]
    fn known_set(
        &mut self,
        part: &Part,
        rank: usize,
        lower: Option<IndexVector>,
        upper: Option<IndexVector>,
        step: Option<IndexVector>,
        width: Option<IndexVector>,
        frame_shape: Option<&Val>,
    ) -> Option<IndexSet> {
        let scalars = |v: IndexVector| match v {
            IndexVector::Scalars(s) => s,
            IndexVector::Dyn(_) => Vec::new(),
        };
        let mut lower = match lower {
            Some(v) => scalars(v),
            None => vec![Sc::int(0); rank],
        };
        // `.` is the last legal index, so `< .` excludes it.
        let (mut upper, upper_inclusive) = match upper {
            Some(v) => (scalars(v), part.upper_inclusive),
            None => {
                let shape = frame_shape?;
                if !self.has_axes_for(rank, shape) {
                    return None;
                }
                let last: Vec<Sc> = (0..rank)
                    .map(|i| {
                        let extent = self.vector_element(shape, &Sc::int(i as i32));
                        if part.upper_inclusive { extent } else { self.em.sub(&extent, &Sc::int(1)) }
                    })
                    .collect();
                (last, false)
            }
        };
        for (v, what) in [(Some(&lower), "lower bound"), (Some(&upper), "upper bound")] {
            if let Some(v) = v
                && v.len() != rank
            {
                self.error(
                    Code::IndexLengthsDiffer,
                    format!("the {what} has {} components, the index {rank}", v.len()),
                    "lengths must agree",
                );
                return None;
            }
        }
        if !part.lower_inclusive {
            lower = lower.iter().map(|l| self.next_index(l, "lower")).collect();
        }
        if upper_inclusive {
            upper = upper.iter().map(|u| self.next_index(u, "upper")).collect();
        }
        let step = step.map(scalars);
        let mut width = width.map(scalars);
        for v in step.iter().chain(&width) {
            if v.len() != rank {
                self.error(
                    Code::IndexLengthsDiffer,
                    format!("step or width has {} components, the index {rank}", v.len()),
                    "lengths must agree",
                );
                return None;
            }
        }
        if let Some(step) = &step {
            for (axis, s) in step.iter().enumerate() {
                let low = self.em.bin(BinOp::Ge, Basic::Int, s, &Sc::int(1));
                let w = width.as_ref().map_or(Sc::int(1), |w| w[axis].clone());
                let wide = self.em.bin(BinOp::Ge, Basic::Int, &w, &Sc::int(1));
                let ok = self.em.and(&low, &wide);
                if ok.as_bool() == Some(false) {
                    let site = self.user_site();
                    let title = match (s.as_int(), w.as_int()) {
                        (Some(n), _) if n < 1 => format!("a step is at least 1, not {n}"),
                        (_, Some(n)) if n < 1 => format!("a width is at least 1, not {n}"),
                        _ => format!("step and width of axis {axis} do not fit"),
                    };
                    let report = Diagnostic::error(Code::BadGenerator, title)
                        .at(site, "a step is at least 1, and so is a width");
                    let report = match s.as_int() {
                        Some(n) if n < 0 => report.with_help(
                            "indices have no order; from the end count `v[n - 1 - i]`, or `reverse(0, v)` of ArrayAxes",
                        ),
                        _ => report,
                    };
                    self.report_from_here(report, site);
                    return None;
                }
                if ok.as_bool().is_none() {
                    let operands = vec![self.em.value(s), self.em.value(&w)];
                    let text = format!("step and width of axis {axis} of a generator do not fit");
                    self.emit_check(&ok, coded(Code::BadGenerator, text, operands));
                }
                // A width beyond the step takes every index.
                if let Some(width) = &mut width {
                    width[axis] = self.em.bin(BinOp::Min, Basic::Int, &w, s);
                }
            }
        }
        let dense = step.as_ref().is_none_or(|s| {
            s.iter().enumerate().all(|(axis, s)| s.as_int() == Some(1) || width.as_ref().is_some_and(|w| w[axis] == *s))
        });
        let (step, width) = if dense { (None, None) } else { (step, width) };
        Some(IndexSet::Box(IndexBox { lower, upper, step, width }))
    }

    fn dyn_set(
        &mut self,
        part: &Part,
        lower: Option<IndexVector>,
        upper: Option<IndexVector>,
        step: Option<IndexVector>,
        width: Option<IndexVector>,
        frame_shape: Option<&Val>,
    ) -> IndexSet {
        let as_val = |spec: &mut Self, v: IndexVector| Val::Arr(Basic::Int, spec.dyn_vector(&v));
        let upper = match upper {
            Some(v) => {
                let v = as_val(self, v);
                if part.upper_inclusive { self.next_indices(&v, "upper") } else { v }
            }
            None => {
                let whole = frame_shape.cloned().unwrap_or(Val::Tup(Basic::Int, Vec::new()));
                self.shifted(&whole, if part.upper_inclusive { 0 } else { -1 })
            }
        };
        let lower = match lower {
            Some(v) => as_val(self, v),
            None => {
                let n = self.vector_length(&upper);
                self.make_vector(Basic::Int, &n, |_, _| Sc::int(0))
            }
        };
        let mut lengths = vec![self.vector_length(&lower)];
        let step = step.map(|v| as_val(self, v));
        let width = width.map(|v| as_val(self, v));
        for v in step.iter().chain(&width) {
            lengths.push(self.vector_length(v));
        }
        let n = self.vector_length(&upper);
        for length in lengths {
            let same = self.em.bin(BinOp::Eq, Basic::Int, &length, &n);
            let text = "the bounds of a generator differ in length";
            let operands = vec![self.em.value(&length), self.em.value(&n)];
            self.emit_check(&same, coded(Code::IndexLengthsDiffer, text, operands));
        }
        let lower = if part.lower_inclusive { lower } else { self.next_indices(&lower, "lower") };
        for v in step.iter().chain(&width) {
            let n = self.vector_length(v);
            let positive = self.fold_vector(BinOp::And, Scalar::Bool(true), Basic::Bool, &n, |spec, i| {
                let e = spec.vector_element(v, i);
                spec.em.bin(BinOp::Ge, Basic::Int, &e, &Sc::int(1))
            });
            self.emit_explained_check(&positive, |spec| {
                let mut operands = Vec::new();
                let shown = spec.show_value(v, &mut operands).unwrap_or_default();
                coded(
                    Code::BadGenerator,
                    format!("the step or width of a generator is not positive: {shown}"),
                    operands,
                )
            });
        }
        IndexSet::Dyn { lower, upper, step, width }
    }

    /// The indices behind a bound that is a vector.
    fn next_indices(&mut self, bound: &Val, which: &str) -> Val {
        let n = self.vector_length(bound);
        let ok = self.fold_vector(BinOp::And, Scalar::Bool(true), Basic::Bool, &n, |spec, i| {
            let e = spec.vector_element(bound, i);
            spec.em.bin(BinOp::Lt, Basic::Int, &e, &Sc::int(i32::MAX))
        });
        self.emit_check(&ok, coded(Code::BadGenerator, beyond_bounds(which), Vec::new()));
        self.shifted(bound, 1)
    }

    fn shifted(&mut self, v: &Val, by: i32) -> Val {
        if by == 0 {
            return v.clone();
        }
        let n = self.vector_length(v);
        self.make_vector(Basic::Int, &n, |spec, i| {
            let e = spec.vector_element(v, i);
            spec.em.add(&e, &Sc::int(by))
        })
    }

    /// Whether the array may have as many axes as its index has components; if it certainly has not, that is reported.
    fn has_axes_for(&mut self, rank: usize, frame_shape: &Val) -> bool {
        let length = self.vector_length(frame_shape);
        let Some(n) = length.as_int().filter(|n| (*n as usize) < rank) else { return true };
        self.error(
            Code::IndexLengthsDiffer,
            format!("the index has {rank} components but the array has {}", axes(n as usize)),
            "too many components",
        );
        false
    }

    /// Checks that the index set lies within `0 .. frame` unless it is empty. False if its indices are too long for the frame.
    pub fn require_within(&mut self, set: &IndexSet, frame_shape: &Val) -> bool {
        let (inside, empty) = match set {
            IndexSet::Box(b) => {
                if !self.has_axes_for(b.rank(), frame_shape) {
                    return false;
                }
                let mut inside = Sc::bool(true);
                let mut empty = Sc::bool(false);
                for axis in 0..b.rank() {
                    let extent = self.vector_element(frame_shape, &Sc::int(axis as i32));
                    let low = self.em.bin(BinOp::Ge, Basic::Int, &b.lower[axis], &Sc::int(0));
                    let high = self.em.bin(BinOp::Le, Basic::Int, &b.upper[axis], &extent);
                    let both = self.em.and(&low, &high);
                    inside = self.em.and(&inside, &both);
                }
                if inside.as_bool() != Some(true) {
                    for axis in 0..b.rank() {
                        let none = self.em.bin(BinOp::Ge, Basic::Int, &b.lower[axis], &b.upper[axis]);
                        empty = self.em.or(&empty, &none);
                    }
                }
                (inside, empty)
            }
            IndexSet::Dyn { lower, upper, .. } => {
                let n = self.vector_length(upper);
                let axes = self.vector_length(frame_shape);
                let few = self.em.bin(BinOp::Le, Basic::Int, &n, &axes);
                let text = "the index of a with-loop has more components than the array has axes";
                let operands = vec![self.em.value(&n), self.em.value(&axes)];
                self.emit_check(&few, coded(Code::IndexLengthsDiffer, text, operands));
                let inside = self.fold_vector(BinOp::And, Scalar::Bool(true), Basic::Bool, &n, |spec, i| {
                    let (l, u) = (spec.vector_element(lower, i), spec.vector_element(upper, i));
                    let extent = spec.vector_element(frame_shape, i);
                    let low = spec.em.bin(BinOp::Ge, Basic::Int, &l, &Sc::int(0));
                    let high = spec.em.bin(BinOp::Le, Basic::Int, &u, &extent);
                    spec.em.and(&low, &high)
                });
                let empty = self.fold_vector(BinOp::Or, Scalar::Bool(false), Basic::Bool, &n, |spec, i| {
                    let (l, u) = (spec.vector_element(lower, i), spec.vector_element(upper, i));
                    spec.em.bin(BinOp::Ge, Basic::Int, &l, &u)
                });
                (inside, empty)
            }
        };
        let ok = self.em.or(&inside, &empty);
        let title = "a generator of the with-loop reaches outside of the array";
        let fault = |spec: &mut Self| {
            let (lower, upper) = match set {
                IndexSet::Box(b) => (Val::Tup(Basic::Int, b.lower.clone()), Val::Tup(Basic::Int, b.upper.clone())),
                IndexSet::Dyn { lower, upper, .. } => (lower.clone(), upper.clone()),
            };
            let mut operands = Vec::new();
            let mut show = |v: &Val| spec.show_value(v, &mut operands).unwrap_or_default();
            let (lower, upper, shape) = (show(&lower), show(&upper), show(frame_shape));
            let text = format!("{title}: from {lower} to before {upper} in the shape {shape}");
            (text, operands)
        };
        if ok.as_bool() == Some(false) {
            let (text, operands) = fault(self);
            let known = if operands.is_empty() { text.clone() } else { title.to_string() };
            self.certain_fault(Code::OutsideResult, known, coded(Code::OutsideResult, text, operands));
        } else if let IndexSet::Box(_) = set {
            let (text, operands) = fault(self);
            self.emit_check(&ok, coded(Code::OutsideResult, text, operands));
        } else {
            self.emit_explained_check(&ok, |spec| {
                let (text, operands) = fault(spec);
                coded(Code::OutsideResult, text, operands)
            });
        }
        true
    }

    /// Whether two boxes certainly share no index.
    pub fn disjoint(&mut self, a: &IndexBox, b: &IndexBox) -> bool {
        (0..a.rank().min(b.rank())).any(|axis| {
            let before = |spec: &mut Self, upper: &Sc, lower: &Sc| {
                let difference = spec.em.form(upper).sub(&spec.em.form(lower));
                difference.as_const() == Some(0) || spec.em.range(upper).1 <= spec.em.range(lower).0
            };
            if before(self, &a.upper[axis], &b.lower[axis]) || before(self, &b.upper[axis], &a.lower[axis]) {
                return true;
            }
            let empty =
                |spec: &mut Self, x: &IndexBox| spec.em.range(&x.upper[axis]).1 <= spec.em.range(&x.lower[axis]).0;
            if empty(self, a) || empty(self, b) {
                return true;
            }
            self.residues_disjoint(a, b, axis)
        })
    }

    /// Equal steps, with residues that do not meet.
    fn residues_disjoint(&mut self, a: &IndexBox, b: &IndexBox, axis: usize) -> bool {
        let part = |x: &IndexBox| {
            let step = x.step.as_ref()?[axis].as_int()?;
            let width = x.width.as_ref().map_or(Some(1), |w| w[axis].as_int())?;
            Some((step, width))
        };
        let (Some((s, wa)), Some((t, wb))) = (part(a), part(b)) else {
            return false;
        };
        let offset = self.em.form(&b.lower[axis]).sub(&self.em.form(&a.lower[axis]));
        match offset.as_const() {
            Some(d) if s == t && s > 0 => d.rem_euclid(s) >= wa && (-d).rem_euclid(s) >= wb,
            _ => false,
        }
    }

    /// The part of `a` outside of `b`, as disjoint boxes; nothing if strides or the number of pieces forbid it.
    pub fn subtract(&mut self, a: Vec<IndexBox>, b: &IndexBox) -> Option<Vec<IndexBox>> {
        let mut pieces = Vec::new();
        for mut rest in a {
            if self.disjoint(&rest, b) {
                pieces.push(rest);
                continue;
            }
            if rest.step.is_some() || b.step.is_some() {
                return None;
            }
            for axis in 0..rest.rank() {
                let clamp = |spec: &mut Self, v: &Sc| {
                    let v = spec.em.bin(BinOp::Max, Basic::Int, v, &rest.lower[axis]);
                    spec.em.bin(BinOp::Min, Basic::Int, &v, &rest.upper[axis])
                };
                let from = clamp(self, &b.lower[axis]);
                let upto = clamp(self, &b.upper[axis]);
                let upto = self.em.bin(BinOp::Max, Basic::Int, &upto, &from);
                let mut below = rest.clone();
                below.upper[axis] = from.clone();
                let mut above = rest.clone();
                above.lower[axis] = upto.clone();
                for piece in [below, above] {
                    let empty = self.em.bin(BinOp::Ge, Basic::Int, &piece.lower[axis], &piece.upper[axis]);
                    if empty.as_bool() != Some(true) {
                        pieces.push(piece);
                    }
                }
                rest.lower[axis] = from;
                rest.upper[axis] = upto;
            }
            if pieces.len() > MAX_PIECES {
                return None;
            }
        }
        Some(pieces)
    }

    /// Whether an index vector belongs to an index set.
    pub fn covers(&mut self, set: &IndexSet, iv: &Val) -> Sc {
        let pick = |v: &Vec<Sc>| Val::Tup(Basic::Int, v.clone());
        let (lower, upper, step, width) = match set {
            IndexSet::Box(b) => (pick(&b.lower), pick(&b.upper), b.step.as_ref().map(pick), b.width.as_ref().map(pick)),
            IndexSet::Dyn { lower, upper, step, width } => (lower.clone(), upper.clone(), step.clone(), width.clone()),
        };
        let n = self.vector_length(&upper);
        self.fold_vector(BinOp::And, Scalar::Bool(true), Basic::Bool, &n, |spec, i| {
            let x = spec.vector_element(iv, i);
            let (l, u) = (spec.vector_element(&lower, i), spec.vector_element(&upper, i));
            let low = spec.em.bin(BinOp::Ge, Basic::Int, &x, &l);
            let high = spec.em.bin(BinOp::Lt, Basic::Int, &x, &u);
            let mut inside = spec.em.and(&low, &high);
            if let Some(step) = &step {
                let s = spec.vector_element(step, i);
                let w = width.as_ref().map_or(Sc::int(1), |w| spec.vector_element(w, i));
                let offset = spec.em.sub(&x, &l);
                let residue = spec.em.bin(BinOp::Mod, Basic::Int, &offset, &s);
                let taken = spec.em.bin(BinOp::Lt, Basic::Int, &residue, &w);
                inside = spec.em.and(&inside, &taken);
            }
            inside
        })
    }

    /// The WIR generator of an index set.
    pub fn wir_generator(&mut self, set: &IndexSet) -> Generator {
        match set {
            IndexSet::Box(b) => Generator::Known {
                lower: self.em.values(&b.lower),
                upper: self.em.values(&b.upper),
                step: b.step.as_ref().map(|s| self.em.values(s)),
                width: match (&b.step, &b.width) {
                    (Some(_), Some(w)) => Some(self.em.values(w)),
                    _ => None,
                },
            },
            IndexSet::Dyn { lower, upper, step, width } => {
                let mut value = |v: &Val| self.em.boxed(v).expect("index vectors are arrays");
                Generator::Dyn {
                    lower: value(lower),
                    upper: value(upper),
                    step: step.as_ref().map(&mut value),
                    width: width.as_ref().map(&mut value),
                }
            }
        }
    }

    /// Notes what is known of the index `v` of a box along an axis.
    pub fn set_index_facts(&mut self, v: Value, b: &IndexBox, axis: usize, frame_shape: Option<&Val>) {
        let (lo, _) = self.em.range(&b.lower[axis]);
        let (_, hi) = self.em.range(&b.upper[axis]);
        let lo = if frame_shape.is_some() { lo.max(0) } else { lo };
        self.em.set_range(v, (lo, hi.max(i32::MIN as i64 + 1) - 1));
        if lo >= 0 {
            let upper: Affine = self.em.form(&b.upper[axis]);
            self.em.set_below(v, upper);
            if let Some(Val::Tup(_, extents)) = frame_shape
                && let Some(extent) = extents.get(axis)
            {
                let extent = self.em.form(extent);
                self.em.set_below(v, extent);
            }
        }
    }

    /// Parameters of a body that runs over the index set, with what is known of them; the index vector.
    pub fn index_params(&mut self, region: ravel_wir::Region, set: &IndexSet, frame_shape: Option<&Val>) -> Val {
        use crate::value::{LeafShape, ShapeKind};
        match set {
            IndexSet::Box(b) => {
                let mut index = Vec::with_capacity(b.rank());
                for axis in 0..b.rank() {
                    let v: Value = self.em.params_for(region, &[(ravel_types::Elem::I32, LeafShape::Scalar)])[0];
                    self.set_index_facts(v, b, axis, frame_shape);
                    index.push(Sc::Val(v));
                }
                Val::Tup(Basic::Int, index)
            }
            IndexSet::Dyn { upper, .. } => {
                let n = self.vector_length(upper);
                let n = self.em.form(&n);
                let leaf = (ravel_types::Elem::I32, LeafShape::Array(ShapeKind::Known(vec![Some(n)])));
                Val::Arr(Basic::Int, self.em.params_for(region, &[leaf])[0])
            }
        }
    }
}

/// What is wrong with a bound that includes the largest `int`, or excludes it below.
fn beyond_bounds(which: &str) -> String {
    let relation = if which == "upper" { "`<=`" } else { "`<`" };
    format!("the {which} bound of a generator with {relation} is 2147483647, and there is no index behind it")
}
