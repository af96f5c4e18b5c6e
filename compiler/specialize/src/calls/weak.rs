//! Dispatch types: what is left of the shape pattern of a parameter where overloads are compared.

use ravel_core::ir::{DimPat, RankPat};

/// A shape pattern weakened for dispatch (language reference 2.3, rule 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weak {
    /// Known rank, some extents fixed.
    Ranked(Vec<Option<i32>>),
    /// Rank at least 1.
    NonScalar,
    Any,
}

/// The dispatch type of a pattern.
pub fn weaken(dims: &[DimPat]) -> Weak {
    let mut axes = Vec::new();
    let (mut variable, mut at_least_one) = (false, false);
    for dim in dims {
        match dim {
            DimPat::Num(n) => axes.push(Some(*n)),
            DimPat::Any | DimPat::Name(_) => axes.push(None),
            DimPat::Rank { rank: RankPat::Num(n), .. } => axes.extend(vec![None; (*n).max(0) as usize]),
            DimPat::Star => variable = true,
            DimPat::Plus => (variable, at_least_one) = (true, true),
            DimPat::Rank { min, .. } => {
                variable = true;
                at_least_one |= *min > 0;
            }
        }
    }
    match (variable, at_least_one || !axes.is_empty()) {
        (false, _) => Weak::Ranked(axes),
        (true, true) => Weak::NonScalar,
        (true, false) => Weak::Any,
    }
}

/// How many axes a value has at least that fits a pattern.
pub fn least_axes(dims: &[DimPat]) -> usize {
    let of = |dim: &DimPat| match dim {
        DimPat::Num(_) | DimPat::Any | DimPat::Name(_) | DimPat::Plus => 1,
        DimPat::Rank { rank: RankPat::Num(n), .. } => usize::try_from(*n).unwrap_or(0),
        DimPat::Rank { min, .. } => usize::try_from(*min).unwrap_or(0),
        DimPat::Star => 0,
    };
    dims.iter().map(of).sum()
}

impl Weak {
    /// Whether every shape of `self` is one of `other`.
    pub fn within(&self, other: &Weak) -> bool {
        match (self, other) {
            (_, Weak::Any) => true,
            (Weak::Any, _) => false,
            (Weak::Ranked(a), Weak::NonScalar) => !a.is_empty(),
            (Weak::NonScalar, Weak::NonScalar) => true,
            (Weak::NonScalar, Weak::Ranked(_)) => false,
            (Weak::Ranked(a), Weak::Ranked(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| y.is_none() || x == y)
            }
        }
    }
}

/// Whether there are shapes of arguments that both have.
pub fn overlap(a: &[Weak], b: &[Weak]) -> bool {
    a.iter().zip(b).all(|(x, y)| match (x, y) {
        (Weak::Ranked(p), Weak::Ranked(q)) => {
            p.len() == q.len() && p.iter().zip(q).all(|(m, n)| m.is_none() || n.is_none() || m == n)
        }
        (Weak::Ranked(p), Weak::NonScalar) | (Weak::NonScalar, Weak::Ranked(p)) => !p.is_empty(),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_weaken_to_dispatch_types() {
        let rank = |min| DimPat::Rank { rank: RankPat::Anon, min, shape: None };
        assert_eq!(weaken(&[]), Weak::Ranked(vec![]));
        assert_eq!(weaken(&[DimPat::Num(3), DimPat::Any]), Weak::Ranked(vec![Some(3), None]));
        assert_eq!(weaken(&[rank(0)]), Weak::Any);
        assert_eq!(weaken(&[rank(1)]), Weak::NonScalar);
        assert_eq!(weaken(&[DimPat::Any, rank(0)]), Weak::NonScalar);
        let two = DimPat::Rank { rank: RankPat::Num(2), min: 0, shape: None };
        assert_eq!(weaken(&[two]), Weak::Ranked(vec![None, None]));
    }

    #[test]
    fn scalars_lie_below_any_but_not_below_non_scalar() {
        let scalar = Weak::Ranked(vec![]);
        assert!(scalar.within(&Weak::Any));
        assert!(!scalar.within(&Weak::NonScalar));
        assert!(Weak::Ranked(vec![Some(3)]).within(&Weak::Ranked(vec![None])));
        assert!(!Weak::Ranked(vec![None]).within(&Weak::Ranked(vec![Some(3)])));
    }
}
