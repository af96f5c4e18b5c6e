//! Loads that walk across the rows of their array.
//!
//! `{ [i,j] -> a[j,i] }`: the innermost loop takes an element of another cache line in every step, and has forgotten the line when the next `i`
//! wants the element beside it. Lanes along the axis that walks along the rows take the whole line at once.

use ravel_wir::{Op, Part};

use crate::facts::Facts;

/// Cycles of a load from a line that only the second-level cache has.
const LINE: f64 = 4.0;
/// Steps across rows after which the first-level cache has forgotten the first line.
const MANY_LINES: i64 = 256;

impl Facts<'_> {
    /// The axes along the rows of arrays that the innermost axis walks across, one for each load.
    pub fn crossing_loads(&self, part: &Part, extents: &[Option<i64>]) -> Vec<usize> {
        let func = self.func;
        let params = &func.regions[part.body].params;
        let Some((inner, outer)) = params.split_last() else { return Vec::new() };
        if extents[outer.len()].is_some_and(|n| n < MANY_LINES) {
            return Vec::new();
        }
        let insts = func.regions[part.body].insts.iter();
        let axis_of = |op: &Op| {
            let Op::Sel { array, index } = op else { return None };
            let (column, rows) = index.split_last()?;
            if func.ty(*array).rank() != Some(index.len()) {
                return None;
            }
            let has = |form: crate::facts::Form, v| form.terms.iter().find(|term| term.0 == v).map(|term| term.1);
            let crosses = rows.iter().any(|v| has(self.form(*v), *inner).is_some());
            let column = self.form(*column);
            if !crosses || has(column.clone(), *inner).is_some() {
                return None;
            }
            outer.iter().position(|param| has(column.clone(), *param) == Some(1))
        };
        insts.filter_map(|inst| axis_of(&func.insts[*inst].op)).collect()
    }
}

/// Cycles that such loads cost beyond their instructions, with so many lanes along an axis or none.
pub(crate) fn crossing_cycles(crossing: &[usize], lanes: Option<(usize, u8)>) -> f64 {
    let lines = |along: &usize| match lanes {
        Some((axis, lanes)) if axis != *along => f64::from(lanes),
        _ => 1.0,
    };
    LINE * crossing.iter().map(lines).sum::<f64>()
}
