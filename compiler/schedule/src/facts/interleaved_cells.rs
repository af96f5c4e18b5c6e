//! Cells that are short arrays, written out element by element.

use ravel_types::Elem;
use ravel_wir::{Inst, Op, Region, Value};

use crate::facts::Facts;
use crate::facts::grid::Grid;
use crate::facts::index::{Ext, Offset};
use crate::facts::sink::Sink;

/// Elements of a cell up to which lanes are used: a 4x4 matrix of complex numbers. Their vectors wait for each other to be woven together.
const MOST_ELEMENTS: usize = 32;

/// The stages in which streams are woven together: how many of them become one in each. Their product is `count`.
pub(crate) fn stages(count: usize) -> Vec<usize> {
    let (mut rest, mut stages) = (count, Vec::new());
    for by in 2..=count {
        while rest % by == 0 {
            stages.push(by);
            rest /= by;
        }
    }
    stages
}

/// Shuffles per vector that is stored.
pub fn weaving_cost(count: usize) -> f64 {
    stages(count).into_iter().map(|by| by as f64 - 1.0).sum::<f64>().max(1.0)
}

impl Facts<'_> {
    /// The elements of a cell that is written out in the body.
    pub fn tuple_of(&self, body: Region, cell: Value) -> Option<(Inst, &[Value])> {
        let inst = self.live.def(cell)?;
        let Op::Array(elements) = &self.func.insts[inst].op else { return None };
        let fits = (1..=MOST_ELEMENTS).contains(&elements.len())
            && self.elem(cell) != Elem::Handle
            && self.live.uses(cell) == 1
            && elements.iter().all(|v| self.func.ty(*v).is_scalar())
            && self.func.regions[body].insts.contains(&inst);
        fits.then_some((inst, elements))
    }

    /// Does a kernel compute this cell: a scalar, or a few that are written out?
    pub fn is_kernel_cell(&self, body: Region, sink: &Sink, cell: Value) -> bool {
        match sink {
            Sink::Slice { cell: Ext::Const(1), .. } if self.func.ty(cell).is_scalar() => true,
            Sink::Slice { cell: Ext::Const(count), .. } => {
                self.tuple_of(body, cell).is_some_and(|tuple| tuple.1.len() as i64 == *count)
            }
            _ => false,
        }
    }

    /// Are the cells of a copy neighbours in memory, so that its vectors can be woven together?
    pub fn weaves(&self, g: &mut Grid, elem: Elem, offset: &Offset, count: usize, j: usize, u: usize) -> bool {
        g.vec.is_some()
            && g.lanes > 1
            && elem != Elem::Bool
            && g.packs(elem)
            && self
                .lane_offsets(g, offset, elem, j, u)
                .is_some_and(|lanes| lanes.iter().enumerate().all(|(lane, at)| *at == (lane * count) as i64))
    }
}
