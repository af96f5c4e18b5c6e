//! What elaborating a piece of code has shown for elaborating it again.
//!
//! ```text
//! for (i = 0; i < n; i++) { for (j = 0; j < n; j++) { for (k = 0; k < n; k++) { ... } } }
//! ```
//!
//! The body of a loop is elaborated once with what is known before the loop, `i` is 0, and again with what every iteration knows. A with-loop
//! over few indices is tried at its first index, and again as a whole if that was too much. If each of `n` nested ones did so afresh, the
//! innermost would be elaborated 2 to the power of `n` times. So the second time begins where the first one ended: a loop with the kinds that
//! its fixed point had, a with-loop without the trial. The second time knows less than the first one, so nothing is lost by that.

use crate::spec::Spec;
use crate::value::{Kind, ScKind, ShapeKind};
use ravel_types::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// A construct by its address in the program, and the calls that led to it.
pub type Key = (usize, u64);

/// The kinds of the values that a loop carries, before the loop and in every iteration.
pub struct FixedPoint {
    pub before: Vec<Kind>,
    pub within: Vec<Kind>,
}

#[derive(Clone, Default)]
struct Findings {
    fixed_points: HashMap<Key, Rc<FixedPoint>>,
    /// With-loops that were tried index by index, in vain.
    not_by_index: HashSet<Key>,
}

/// What earlier times have shown, and what this time has shown so far.
#[derive(Default)]
pub struct Repeats {
    known: Rc<Findings>,
    found: Findings,
}

impl Repeats {
    /// Before something that may be elaborated more than once. What this returns is for [`Repeats::end`].
    pub fn begin(&mut self) -> Repeats {
        Repeats { known: self.known.clone(), found: std::mem::take(&mut self.found) }
    }

    /// Before it is elaborated again.
    pub fn again(&mut self) {
        let known = Rc::make_mut(&mut self.known);
        known.fixed_points.extend(self.found.fixed_points.iter().map(|(key, point)| (*key, point.clone())));
        known.not_by_index.extend(self.found.not_by_index.iter().copied());
    }

    /// Behind it: what was found is found by what is around it, too.
    pub fn end(&mut self, around: Repeats) {
        let found = std::mem::replace(self, around).found;
        self.found.fixed_points.extend(found.fixed_points);
        self.found.not_by_index.extend(found.not_by_index);
    }

    pub fn keep_fixed_point(&mut self, key: Key, point: FixedPoint) {
        self.found.fixed_points.insert(key, Rc::new(point));
    }

    pub fn keep_not_by_index(&mut self, key: Key) {
        self.found.not_by_index.insert(key);
    }

    pub fn is_not_by_index(&self, key: &Key) -> bool {
        self.known.not_by_index.contains(key)
    }

    /// Kinds for a loop to begin with, from those before the loop: what did not hold for all iterations last time is not assumed again.
    pub fn begin_with(&self, key: &Key, before: &[Kind]) -> Option<Vec<Kind>> {
        let last = self.known.fixed_points.get(key).filter(|last| last.before.len() == before.len())?;
        let kinds = before.iter().zip(last.before.iter().zip(&last.within));
        Some(kinds.map(|(now, (before, within))| without_lost(now, before, within)).collect())
    }
}

/// `now` without what `within` has lost of `before`. Symbols are others each time, so that only what was lost can be carried over.
fn without_lost(now: &Kind, before: &Kind, within: &Kind) -> Kind {
    match (now, before, within) {
        _ if before == within => now.clone(),
        (Kind::Sc(basic, _), Kind::Sc(..), Kind::Sc(..)) => Kind::Sc(*basic, ScKind::Any),
        (Kind::Tup(basic, now), Kind::Tup(_, before), Kind::Tup(_, within))
            if now.len() == before.len() && before.len() == within.len() =>
        {
            let pairs = before.iter().zip(within);
            let lost = |(now, (before, within)): (&ScKind, _)| if before == within { now.clone() } else { ScKind::Any };
            Kind::Tup(*basic, now.iter().zip(pairs).map(lost).collect())
        }
        (Kind::Arr(basic, ShapeKind::Known(now)), Kind::Arr(_, ShapeKind::Known(before)), Kind::Arr(_, shape)) => {
            let extents = match shape {
                ShapeKind::Known(within) if now.len() == before.len() && before.len() == within.len() => {
                    let pairs = before.iter().zip(within);
                    now.iter()
                        .zip(pairs)
                        .map(|(now, (before, within))| now.clone().filter(|_| before == within))
                        .collect()
                }
                ShapeKind::Known(_) => now.clone(),
                ShapeKind::Unknown => return Kind::Arr(*basic, ShapeKind::Unknown),
            };
            Kind::Arr(*basic, ShapeKind::Known(extents))
        }
        // Nothing was there before, so nothing is to be compared: what has symbols starts afresh.
        (Kind::Bottom, Kind::Bottom, within) => {
            let mut symbols = false;
            within.for_each_form(&mut |form| symbols |= form.as_const().is_none());
            if symbols { Kind::Bottom } else { within.clone() }
        }
        _ => now.clone(),
    }
}

impl Spec<'_> {
    /// What a construct is known by while the function is elaborated.
    pub fn key_of<T>(&self, construct: &T) -> Key {
        let mut calls = DefaultHasher::new();
        for site in &self.stack {
            site.span.hash(&mut calls);
        }
        (std::ptr::from_ref(construct).addr(), calls.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_types::{Affine, Basic, Scalar};

    #[test]
    fn only_what_was_lost_is_lost_again() {
        let of = |extents: &[Option<i32>]| {
            let extents = extents.iter().map(|n| n.map(Affine::constant)).collect();
            Kind::Arr(Basic::Int, ShapeKind::Known(extents))
        };
        let (before, within) = (of(&[Some(3), Some(4)]), of(&[Some(3), None]));
        assert_eq!(without_lost(&of(&[Some(7), Some(8)]), &before, &within), of(&[Some(7), None]));
        assert_eq!(without_lost(&of(&[Some(7), Some(8)]), &before, &before), of(&[Some(7), Some(8)]));
        let (zero, any) = (ScKind::Const(Scalar::I32(0)), ScKind::Any);
        let scalar = |kind: &ScKind| Kind::Sc(Basic::Int, kind.clone());
        assert_eq!(without_lost(&scalar(&zero), &scalar(&zero), &scalar(&any)), scalar(&any));
    }

    #[test]
    fn found_inside_is_known_when_the_outside_repeats() {
        let mut repeats = Repeats::default();
        let outer = repeats.begin();
        let inner = repeats.begin();
        repeats.keep_not_by_index((1, 0));
        assert!(!repeats.is_not_by_index(&(1, 0)));
        repeats.again();
        assert!(repeats.is_not_by_index(&(1, 0)));
        repeats.end(inner);
        assert!(!repeats.is_not_by_index(&(1, 0)));
        repeats.again();
        assert!(repeats.is_not_by_index(&(1, 0)));
        repeats.end(outer);
        assert!(!repeats.is_not_by_index(&(1, 0)));
    }
}
