//! Symbolic extents and shapes.
//!
//! A [`Sym`] names a 32-bit run-time integer of one function. An [`Affine`] form over symbols stands for an integer
//! modulo 2^32, the arithmetic of SaC's `int`: two forms that are equal as forms denote equal integers whatever
//! the symbols are. Forms prove *equality* of extents; they say nothing of order.

use crate::Elem;
use std::fmt;

/// A run-time `int` of a function, named `s0`, `s1`, ... in IR text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sym(pub u32);

impl fmt::Display for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// `constant + sum of coefficient * symbol`, with wrapped 32-bit numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Affine {
    constant: i32,
    /// Sorted by symbol, no zero coefficient.
    terms: Vec<(Sym, i32)>,
}

impl Affine {
    pub fn constant(v: i32) -> Affine {
        Affine { constant: v, terms: Vec::new() }
    }

    pub fn sym(s: Sym) -> Affine {
        Affine { constant: 0, terms: vec![(s, 1)] }
    }

    /// The value, if no symbol occurs.
    pub fn as_const(&self) -> Option<i32> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The symbol, if the form is just one.
    pub fn as_sym(&self) -> Option<Sym> {
        match self.terms[..] {
            [(s, 1)] if self.constant == 0 => Some(s),
            _ => None,
        }
    }

    pub fn constant_part(&self) -> i32 {
        self.constant
    }

    pub fn terms(&self) -> &[(Sym, i32)] {
        &self.terms
    }

    pub fn scale(&self, k: i32) -> Affine {
        Affine {
            constant: self.constant.wrapping_mul(k),
            terms: self.terms.iter().map(|(s, c)| (*s, c.wrapping_mul(k))).filter(|(_, c)| *c != 0).collect(),
        }
    }

    pub fn neg(&self) -> Affine {
        self.scale(-1)
    }

    pub fn add(&self, other: &Affine) -> Affine {
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        loop {
            match (a.peek(), b.peek()) {
                (Some(&&(s, c)), Some(&&(t, d))) if s == t => {
                    if c.wrapping_add(d) != 0 {
                        terms.push((s, c.wrapping_add(d)));
                    }
                    a.next();
                    b.next();
                }
                (Some(&&(s, c)), Some(&&(t, _))) if s < t => {
                    terms.push((s, c));
                    a.next();
                }
                (_, Some(&&(t, d))) => {
                    terms.push((t, d));
                    b.next();
                }
                (Some(&&(s, c)), None) => {
                    terms.push((s, c));
                    a.next();
                }
                (None, None) => break,
            }
        }
        Affine { constant: self.constant.wrapping_add(other.constant), terms }
    }

    pub fn sub(&self, other: &Affine) -> Affine {
        self.add(&other.neg())
    }

    /// The product, if one side is a constant.
    pub fn mul(&self, other: &Affine) -> Option<Affine> {
        match (self.as_const(), other.as_const()) {
            (Some(k), _) => Some(other.scale(k)),
            (_, Some(k)) => Some(self.scale(k)),
            _ => None,
        }
    }

    /// Replaces every symbol.
    pub fn map(&self, mut f: impl FnMut(Sym) -> Affine) -> Affine {
        self.terms.iter().fold(Affine::constant(self.constant), |sum, (s, c)| sum.add(&f(*s).scale(*c)))
    }

    /// The value under an assignment of the symbols.
    pub fn eval(&self, mut f: impl FnMut(Sym) -> i32) -> i32 {
        self.terms.iter().fold(self.constant, |sum, (s, c)| sum.wrapping_add(f(*s).wrapping_mul(*c)))
    }
}

impl From<i32> for Affine {
    fn from(v: i32) -> Affine {
        Affine::constant(v)
    }
}

/// IR text: `7`, `s0`, `2*s0+s1-3`.
impl fmt::Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (s, c)) in self.terms.iter().enumerate() {
            match (*c, i) {
                (1, 0) => write!(f, "{s}")?,
                (1, _) => write!(f, "+{s}")?,
                (-1, _) => write!(f, "-{s}")?,
                (c, 0) => write!(f, "{c}*{s}")?,
                (c, _) => write!(f, "{c:+}*{s}")?,
            }
        }
        match (self.constant, self.terms.is_empty()) {
            (c, true) => write!(f, "{c}"),
            (0, false) => Ok(()),
            (c, false) => write!(f, "{c:+}"),
        }
    }
}

/// What is known of a shape: the rank and a form per axis, or nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    Known(Vec<Affine>),
    Unknown,
}

impl Shape {
    pub fn scalar() -> Shape {
        Shape::Known(Vec::new())
    }

    pub fn of(extents: &[i32]) -> Shape {
        Shape::Known(extents.iter().map(|e| Affine::constant(*e)).collect())
    }

    pub fn rank(&self) -> Option<usize> {
        self.extents().map(<[Affine]>::len)
    }

    pub fn extents(&self) -> Option<&[Affine]> {
        match self {
            Shape::Known(extents) => Some(extents),
            Shape::Unknown => None,
        }
    }

    /// All extents, if every one is a constant.
    pub fn constants(&self) -> Option<Vec<i32>> {
        self.extents()?.iter().map(Affine::as_const).collect()
    }

    /// Number of elements, if all extents are constant and non-negative and the product fits.
    pub fn count(&self) -> Option<usize> {
        self.constants()?.iter().try_fold(1usize, |n, e| n.checked_mul(usize::try_from(*e).ok()?))
    }

    /// The shape `self ++ cell`, unknown if either is.
    pub fn concat(&self, cell: &Shape) -> Shape {
        match (self, cell) {
            (Shape::Known(a), Shape::Known(b)) => Shape::Known(a.iter().chain(b).cloned().collect()),
            _ => Shape::Unknown,
        }
    }
}

/// Type of a WIR value: element type and shape. A known rank of 0 is a machine scalar.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ty {
    pub elem: Elem,
    pub shape: Shape,
}

impl Ty {
    pub fn scalar(elem: Elem) -> Ty {
        Ty { elem, shape: Shape::scalar() }
    }

    pub fn new(elem: Elem, shape: Shape) -> Ty {
        Ty { elem, shape }
    }

    pub fn is_scalar(&self) -> bool {
        self.shape.rank() == Some(0)
    }

    pub fn rank(&self) -> Option<usize> {
        self.shape.rank()
    }
}

/// IR text: `f32`, `f32[6,s0]`, `f32[*]`.
impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.elem)?;
        match &self.shape {
            Shape::Unknown => write!(f, "[*]"),
            Shape::Known(e) if e.is_empty() => Ok(()),
            Shape::Known(e) => {
                write!(f, "[")?;
                for (i, x) in e.iter().enumerate() {
                    write!(f, "{}{x}", if i > 0 { "," } else { "" })?;
                }
                write!(f, "]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(n: u32) -> Affine {
        Affine::sym(Sym(n))
    }

    #[test]
    fn equal_forms_compare_equal_however_built() {
        let a = s(0).add(&s(1)).sub(&Affine::constant(4)).add(&Affine::constant(1));
        let b = s(1).sub(&Affine::constant(3)).add(&s(0));
        assert_eq!(a, b);
        assert_eq!(a.to_string(), "s0+s1-3");
        assert_eq!(s(0).sub(&s(0)).as_const(), Some(0));
    }

    #[test]
    fn forms_agree_with_wrapping_evaluation() {
        let form = s(0).scale(3).sub(&s(1)).add(&Affine::constant(i32::MAX));
        let at = |sym: Sym| if sym.0 == 0 { i32::MAX } else { -5 };
        assert_eq!(form.eval(at), i32::MAX.wrapping_mul(3).wrapping_add(5).wrapping_add(i32::MAX));
    }
}
