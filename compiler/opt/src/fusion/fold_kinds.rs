//! What the folds in the bodies of a partition compute, as far as it decides how they run.

use crate::edit::{Def, Defs};
use crate::facts::{Places, total_trips, trips};
use ravel_types::HashSet;
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Inst, Op, Part, Value, With, WithOp};

/// Sums that are shorter, and partitions of fewer than its square indices, do not run in tiles.
const LEAST_TILED: u64 = 24;

#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// No load varies over both of two axes of the partition, and some vary over either: a product of matrices or its kin, which runs in tiles.
    Contraction,
    Other,
    /// Some index mixes axes with those of the fold.
    Window,
}

/// The folds in the body of a partition.
pub struct Folds<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
    part: &'a Part,
}

impl<'a> Folds<'a> {
    pub fn new(func: &'a Func, defs: &'a Defs, places: &'a Places, part: &'a Part) -> Folds<'a> {
        Folds { func, defs, places, part }
    }

    /// Is an instruction part of the body?
    pub fn has(&self, inst: Inst) -> bool {
        self.places
            .home(inst)
            .is_some_and(|region| region == self.part.body || self.places.path(region, self.part.body).is_some())
    }

    pub fn kind(&self, with: &With) -> Kind {
        let axes = &self.func.regions[self.part.body].params;
        let mut loads: Vec<HashSet<usize>> = Vec::new();
        let mut window = false;
        for part in &with.parts {
            let own = &self.func.regions[part.body].params;
            walk(self.func, part.body, &mut |_, inst| {
                let Op::Sel { index, .. } = &self.func.insts[inst].op else { return };
                let mut seen = HashSet::default();
                for i in index {
                    let mut mentioned = HashSet::default();
                    self.mentioned(*i, &mut mentioned);
                    let of_part: HashSet<usize> = (0..axes.len()).filter(|k| mentioned.contains(&axes[*k])).collect();
                    window |= !of_part.is_empty() && own.iter().any(|v| mentioned.contains(v));
                    seen.extend(of_part);
                }
                loads.push(seen);
            });
        }
        let varies = |axis: usize| loads.iter().any(|load| load.contains(&axis));
        let apart = |p: usize, q: usize| !loads.iter().any(|load| load.contains(&p) && load.contains(&q));
        let pairs = || (0..axes.len()).flat_map(|p| (0..p).map(move |q| (p, q)));
        match () {
            () if window => Kind::Window,
            () if pairs().any(|(p, q)| varies(p) && varies(q) && apart(p, q)) => Kind::Contraction,
            () => Kind::Other,
        }
    }

    /// The parameters that a value is computed from.
    fn mentioned(&self, v: Value, out: &mut HashSet<Value>) {
        match self.defs.get(v) {
            Def::Param(..) => {
                out.insert(v);
            }
            Def::Inst(inst, _) if self.has(inst) => {
                self.func.insts[inst].op.for_each_operand(|v| self.mentioned(v, out));
            }
            _ => {}
        }
    }
}

/// Whether a with-loop makes an array whose cells are long sums of products: tiles speed them up many times, if it has no other results and
/// its cells stay cells of an array.
pub fn runs_in_tiles(func: &Func, defs: &Defs, places: &Places, with: &With) -> bool {
    let is_fold = |op: &WithOp| matches!(op, WithOp::Fold { .. });
    let is_long_sum =
        |sum: &With| sum.ops.iter().all(is_fold) && total_trips(func, defs, sum).is_none_or(|n| n >= LEAST_TILED);
    let sums = |part: &Part| {
        func.regions[part.body].insts.iter().filter_map(|inst| match &func.insts[*inst].op {
            Op::With(sum) if is_long_sum(sum) => Some(sum),
            _ => None,
        })
    };
    !with.ops.iter().any(is_fold)
        && with.parts.iter().any(|part| {
            let folds = Folds::new(func, defs, places, part);
            trips(func, defs, part).is_none_or(|n| n >= LEAST_TILED * LEAST_TILED)
                && sums(part).any(|sum| folds.kind(sum) == Kind::Contraction)
        })
}
