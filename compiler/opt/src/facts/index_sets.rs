//! Boxes of indices, by the bounds of partitions without steps, and whether some cover another one.

use crate::edit::Defs;
use crate::facts::places::same_int;
use ravel_wir::{Func, Generator, Part, Value};

/// Most partitions that are looked at: covering is found by trying all cuts.
pub const MAX_PARTS: usize = 8;

/// A box by axis: lower and upper bounds.
pub type Bounds = Vec<(Value, Value)>;

/// The box of a partition without steps.
pub fn bounds(part: &Part) -> Option<Bounds> {
    match &part.generator {
        Generator::Known { lower, upper, step: None, .. } => {
            Some(lower.iter().copied().zip(upper.iter().copied()).collect())
        }
        _ => None,
    }
}

/// Whether boxes cover a box: one of them is it, or both sides of a cut are covered. That holds wherever the cut is, for an index is on one
/// of its sides.
pub fn covers(func: &Func, defs: &Defs, whole: &Bounds, parts: &[Bounds]) -> bool {
    let same = |a: Value, b: Value| same_int(func, defs, a, b);
    let is_whole =
        |part: &Bounds| part.iter().zip(whole).all(|((l, u), (low, high))| same(*l, *low) && same(*u, *high));
    if parts.iter().any(is_whole) {
        return true;
    }
    for axis in 0..whole.len() {
        let (low, high) = whole[axis];
        let cut = parts
            .iter()
            .map(|p| p[axis].1)
            .find(|u| !same(*u, high) && parts.iter().any(|p| same(p[axis].0, low) && same(p[axis].1, *u)));
        let Some(cut) = cut else { continue };
        let (mut below, mut above) = (Vec::new(), Vec::new());
        for part in parts {
            let (l, u) = part[axis];
            let clipped = |bounds: (Value, Value)| {
                let mut part = part.clone();
                part[axis] = bounds;
                part
            };
            match (same(l, low), same(u, high)) {
                (true, true) => {
                    below.push(clipped((low, cut)));
                    above.push(clipped((cut, high)));
                }
                (true, false) if same(u, cut) => below.push(part.clone()),
                (false, _) => above.push(part.clone()),
                (true, false) => {}
            }
        }
        let side = |bounds: (Value, Value)| {
            let mut side = whole.clone();
            side[axis] = bounds;
            side
        };
        if covers(func, defs, &side((low, cut)), &below) && covers(func, defs, &side((cut, high)), &above) {
            return true;
        }
    }
    false
}
