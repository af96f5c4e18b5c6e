//! Folds whose bounds vary over the vector axis, like those of a convolution's gradient near the edges.
//!
//! All indices that any lane takes are run, each under a constant mask of the lanes that take it; a vector without such a lane is left
//! out. The vector axis is cut where the bounds change ([`crate::plan::masked_bounds`]): in between, steps need no masks and share one loop.

use ravel_wir::{Generator, Part, With};

use crate::Result;
use crate::facts::{Grid, Val, Walk};
use crate::kernel::reduce::Accs;
use crate::lower::Lower;
use crate::plan::masked_bounds::MAX_DEPTH;

impl Lower<'_, '_> {
    /// A constant mask.
    pub fn mask_constant(&mut self, ty: ravel_nest::ir::Ty, mask: &[bool]) -> Val {
        let truth = ty.truth();
        let bytes = (truth.bytes() / u32::from(truth.lanes)) as usize;
        let word = |taken: &bool| if *taken { u64::MAX } else { 0 }.to_le_bytes()[..bytes].to_vec();
        let bytes: Vec<u8> = mask.iter().flat_map(word).collect();
        let data = self.cx.vector_constant(bytes);
        let address = self.b.data_addr(data);
        self.b.load(truth, address, 0, ravel_nest::ir::Access::ALIGNED)
    }

    /// An axis whose bounds vary over the lanes: all indices that any lane takes, each under a constant mask.
    pub fn fold_masked(&mut self, g: &mut Grid, with: &With, part: &Part, axis: usize, accs: &mut Accs) -> Result<()> {
        let func = self.func;
        let (Generator::Known { lower, upper, .. }, Some(vec)) = (&part.generator, g.vec) else {
            return self.unsupported(ravel_source::Span::NONE, "a fold whose bounds vary over lanes");
        };
        let param = func.regions[part.body].params[axis];
        let lanes = i64::from(g.lanes);
        let indices = lanes * g.u as i64;
        let (Walk { start: Some(start), trips: Some(trips), grain }, true) = (g.walk, g.lanes > 1) else {
            return self.unsupported(ravel_source::Span::NONE, "a fold whose bounds vary over lanes");
        };
        let mut bounds = Vec::new();
        for index in (0..trips).flat_map(|trip| (0..indices).map(move |k| start + trip * grain + k)) {
            let low = self.evaluate(lower[axis], (vec, index), MAX_DEPTH);
            let Some((low, high)) = low.zip(self.evaluate(upper[axis], (vec, index), MAX_DEPTH)) else {
                return self.unsupported(ravel_source::Span::NONE, "a fold whose bounds vary over lanes");
            };
            bounds.push((low, high));
        }
        // All steps of a loop are alike; where lanes of a step differ there is one step.
        bounds.truncate(indices as usize);
        let first = bounds.iter().map(|b| b.0).min().unwrap_or(0);
        let last = bounds.iter().map(|b| b.1).max().unwrap_or(0);
        let outer = g.masks.clone();
        let outside = g.unrolled;
        g.unrolled *= (last - first).max(1);
        for index in first..last {
            g.masks = bounds
                .chunks(lanes as usize)
                .enumerate()
                .map(|(u, of_lanes)| {
                    let taken = of_lanes.iter().map(|(low, high)| (*low..*high).contains(&index));
                    match outer.get(u) {
                        Some(mask) => taken.zip(mask).map(|(a, b)| a && *b).collect(),
                        None => taken.collect(),
                    }
                })
                .collect();
            if g.masks.iter().flatten().any(|taken| *taken) {
                let mark = g.mark();
                self.bind_fixed(param, index);
                self.fold_axis(g, with, part, axis + 1, accs)?;
                self.unfix(param);
                g.release(mark);
            }
        }
        g.masks = outer;
        g.unrolled = outside;
        Ok(())
    }
}
