//! Strides of the arrays that a group shares.
//!
//! Local memory lies in 32 banks, and items of a warp that read different words of one bank wait for each other. Rows and planes of even
//! length, such as 24 or 576, put the same column of many rows or planes into few banks. With odd strides any 32 neighbours along an axis are
//! in different ones.
//!
//! Leaves alone: arrays that are used as a whole, whose elements must lie without gaps.

use ravel_types::HashMap;
use ravel_wir::{Op, Region, Value, With, WithOp};

use crate::facts::Facts;

/// Strides, in elements, of arrays with gaps.
pub(crate) type Padded = HashMap<Value, Vec<i64>>;

/// Odd strides for these extents.
fn odd_strides(extents: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; extents.len()];
    for axis in (1..extents.len()).rev() {
        strides[axis - 1] = (extents[axis] * strides[axis]) | 1;
    }
    strides
}

/// Elements of memory for an array with these extents and strides.
pub(crate) fn padded_count(extents: &[i64], strides: &[i64]) -> i64 {
    extents.first().zip(strides.first()).map_or(1, |(extent, stride)| extent * stride)
}

impl Facts<'_> {
    /// The arrays of a group's body that may have gaps, and their strides.
    pub fn padded_of(&self, body: Region, padded: &mut Padded) {
        for &inst in &self.func.regions[body].insts {
            let data = &self.func.insts[inst];
            if let Op::With(With { ops, .. }) = &data.op {
                for (op, &v) in ops.iter().zip(&data.results) {
                    let Some(extents) = self.func.ty(v).shape.constants() else { continue };
                    let extents: Vec<i64> = extents.into_iter().map(i64::from).collect();
                    let selected = || self.selections(body, v, extents.len()) == self.live.uses(v);
                    if matches!(op, WithOp::Genarray { .. }) && extents.len() > 1 && selected() {
                        padded.insert(v, odd_strides(&extents));
                    }
                }
            }
        }
    }

    /// Selections of single elements of an array with `rank` axes, in a region and those nested in it.
    fn selections(&self, region: Region, v: Value, rank: usize) -> u32 {
        let of = |inst: &ravel_wir::Inst| {
            let op = &self.func.insts[*inst].op;
            let own = matches!(op, Op::Sel { array, index } if *array == v && index.len() == rank);
            u32::from(own) + op.regions().into_iter().map(|r| self.selections(r, v, rank)).sum::<u32>()
        };
        self.func.regions[region].insts.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_odd_and_elements_do_not_meet() {
        assert_eq!(odd_strides(&[6, 24, 24]), [601, 25, 1]);
        assert_eq!(odd_strides(&[12, 1, 8, 8]), [73, 73, 9, 1]);
        assert_eq!(odd_strides(&[3, 5]), [5, 1]);
        assert_eq!(padded_count(&[6, 24, 24], &[601, 25, 1]), 3606);
    }
}
