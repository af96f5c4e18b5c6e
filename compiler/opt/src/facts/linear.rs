//! Linear forms over integers that do not wrap: `3*i + n - 1`.

use ravel_types::Sym;
use ravel_wir::Value;
use smallvec::{SmallVec, smallvec};

/// An integer of the program that a form treats as a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    Value(Value),
    /// The exact integer that a symbol of the types stands for.
    Sym(Sym),
    /// An extent whose affine form may wrap, by number.
    Form(u32),
}

/// Atoms with their coefficients; most forms have few, which need no memory of their own.
type Terms = SmallVec<[(Atom, i64); 4]>;

/// `c + sum of coefficient * atom`, exact integers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lin {
    pub c: i64,
    /// Sorted by atom, no zero coefficient.
    pub terms: Terms,
}

/// Coefficients and constants stay below this, so that sums never overflow.
const LIMIT: i64 = 1 << 40;

impl Lin {
    pub fn constant(c: i64) -> Lin {
        Lin { c, terms: Terms::new() }
    }

    pub fn atom(atom: Atom) -> Lin {
        Lin { c: 0, terms: smallvec![(atom, 1)] }
    }

    pub fn as_const(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.c)
    }

    /// The atom, if the form is just one.
    pub fn as_atom(&self) -> Option<Atom> {
        match self.terms[..] {
            [(a, 1)] if self.c == 0 => Some(a),
            _ => None,
        }
    }

    pub fn mentions(&self, atom: Atom) -> bool {
        self.terms.iter().any(|(a, _)| *a == atom)
    }

    pub fn plus(&self, c: i64) -> Lin {
        Lin { c: self.c.saturating_add(c), terms: self.terms.clone() }
    }

    /// `self + k * other`; none if numbers grow too large to be of use.
    pub fn add_scaled(&self, other: &Lin, k: i64) -> Option<Lin> {
        let mut terms = Terms::new();
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let (atom, coefficient) = match (a.peek(), b.peek()) {
                (Some(&&(x, c)), Some(&&(y, d))) if x == y => {
                    a.next();
                    b.next();
                    (x, c.checked_add(d.checked_mul(k)?)?)
                }
                (Some(&&(x, c)), other) if other.is_none_or(|(y, _)| x < *y) => {
                    a.next();
                    (x, c)
                }
                (_, Some(&&(y, d))) => {
                    b.next();
                    (y, d.checked_mul(k)?)
                }
                (_, None) => break,
            };
            if coefficient.abs() > LIMIT {
                return None;
            }
            if coefficient != 0 {
                terms.push((atom, coefficient));
            }
        }
        let c = self.c.checked_add(other.c.checked_mul(k)?)?;
        (c.abs() <= LIMIT).then_some(Lin { c, terms })
    }

    pub fn add(&self, other: &Lin) -> Option<Lin> {
        self.add_scaled(other, 1)
    }

    pub fn sub(&self, other: &Lin) -> Option<Lin> {
        self.add_scaled(other, -1)
    }

    pub fn scale(&self, k: i64) -> Option<Lin> {
        Lin::constant(0).add_scaled(self, k)
    }

    /// The form with `atom` replaced.
    pub fn substitute(&self, atom: Atom, by: &Lin) -> Option<Lin> {
        let at = self.terms.binary_search_by_key(&atom, |(a, _)| *a).ok()?;
        let mut rest = self.clone();
        let (_, k) = rest.terms.remove(at);
        rest.add_scaled(by, k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_add_and_substitute() {
        let (a, b) = (Atom::Form(0), Atom::Form(1));
        let x = Lin::atom(a).add_scaled(&Lin::atom(b), 3).and_then(|l| l.add(&Lin::constant(2))).expect("small");
        let y = x.substitute(b, &Lin::atom(a).plus(1)).expect("b occurs");
        assert_eq!(y, Lin { c: 5, terms: smallvec![(a, 4)] });
        assert_eq!(x.sub(&x), Some(Lin::constant(0)));
        assert_eq!(x.scale(i64::MAX), None);
    }
}
