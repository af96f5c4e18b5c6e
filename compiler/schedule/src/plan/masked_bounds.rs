//! Folds whose bounds vary over the lanes: where along the vector axis they need no masks.

use ravel_wir::{Generator, Op, Region, Value};

use crate::facts::{Facts, Grid};

/// Expressions of bounds deeper than this are taken as unknown.
pub(crate) const MAX_DEPTH: u32 = 12;

impl Facts<'_> {
    /// The longest stretch of indices along a vector axis for which all folds of a body have the same bounds, within `low..high`.
    pub fn even_run(&self, g: &mut Grid, body: Region, vec: Value, low: i64, high: i64) -> Option<(i64, i64)> {
        let mut bounds = Vec::new();
        self.uneven_bounds(g, body, &mut bounds);
        let at = |index: i64| {
            bounds.iter().map(|v| self.evaluate(*v, (vec, index), MAX_DEPTH)).collect::<Option<Vec<i64>>>()
        };
        let mut best = (low, low);
        let mut run = (low, low);
        let mut current = at(low)?;
        for index in low..high {
            let here = at(index)?;
            if here != current {
                run.0 = index;
                current = here;
            }
            run.1 = index + 1;
            if run.1 - run.0 > best.1 - best.0 {
                best = run;
            }
        }
        Some(best)
    }

    /// Bounds of folds that vary over the vector axis.
    fn uneven_bounds(&self, g: &mut Grid, body: Region, bounds: &mut Vec<Value>) {
        for &inst in &self.func.regions[body].insts {
            let Op::With(with) = &self.func.insts[inst].op else { continue };
            for part in &with.parts {
                if let Generator::Known { lower, upper, .. } = &part.generator {
                    for &v in lower.iter().chain(upper) {
                        if self.dep(g, v).vec {
                            bounds.push(v);
                        }
                    }
                }
                self.uneven_bounds(g, part.body, bounds);
            }
        }
    }
}
