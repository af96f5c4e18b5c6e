//! Cells that are short arrays written out, `[re, im]` or `[red, green, blue]`, in lanes.
//!
//! Each element of the cell is a vector with one lane per index. In memory the elements of a cell are neighbours, so that `c` vectors
//! are woven together before they are stored: lane `l` of element `k` goes to place `l * c + k`. Loads of such arrays are the same in
//! reverse (`access`).

use ravel_nest::ir::Access;
use ravel_types::Elem;
use ravel_wir::{Inst, Op, Region, Value};

use crate::Result;
use crate::grid::Grid;
use crate::index::{Ext, Offset};
use crate::lower::{Lower, Val};
use crate::withloop::Sink;

/// Elements of a cell up to which vectors are woven together; every further one takes shuffles of all others.
const MOST_ELEMENTS: usize = 4;

impl Lower<'_, '_> {
    /// The elements of a cell that is written out in the body.
    pub fn tuple_of(&self, body: Region, cell: Value) -> Option<(Inst, &[Value])> {
        let inst = self.live.def(cell)?;
        let Op::Array(elements) = &self.func.insts[inst].op else { return None };
        let fits = (2..=MOST_ELEMENTS).contains(&elements.len())
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

    /// Stores one copy of a cell that is written out.
    #[expect(clippy::too_many_arguments, reason = "one copy and its place")]
    pub fn store_tuple(
        &mut self,
        g: &mut Grid,
        elem: Elem,
        elements: &[Value],
        base: Val,
        offset: &Offset,
        j: usize,
        u: usize,
    ) -> Result<()> {
        let (count, size) = (elements.len(), elem.bytes() as i64);
        if !self.weaves(g, elem, offset, count, j, u) {
            for (k, &v) in elements.iter().enumerate() {
                let place = Offset { constant: offset.constant + k as i64 * size, ..offset.clone() };
                self.store_copy(g, elem, v, base, &place, j, u)?;
            }
            return Ok(());
        }
        let vectors = elements.iter().map(|v| self.packed_of(g, *v, j, u)).collect::<Result<Vec<Val>>>()?;
        let lanes = usize::from(g.lanes);
        let (ptr, bytes) = self.copy_address(g, base, offset, j, u, 0)?;
        for part in 0..count {
            let place = |lane: usize| part * lanes + lane;
            let from = |k: usize, lane: usize| (place(lane) % count == k).then_some((place(lane) / count) as u8);
            // The first two elements, and then each further one where it belongs.
            let picks: Vec<u8> =
                (0..lanes).map(|lane| from(0, lane).or(from(1, lane).map(|l| l + g.lanes)).unwrap_or(0)).collect();
            let mut woven = self.b.shuffle(vectors[0], vectors[1], &picks);
            for (k, &vector) in vectors.iter().enumerate().skip(2) {
                let picks: Vec<u8> = (0..lanes).map(|lane| from(k, lane).map_or(lane as u8, |l| l + g.lanes)).collect();
                woven = self.b.shuffle(woven, vector, &picks);
            }
            let at = bytes + (part * lanes) as i32 * size as i32;
            self.b.store(woven, ptr, at, Access::ANY);
        }
        Ok(())
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
