//! Cells that are short arrays written out, `[re, im]` or `[red, green, blue]`, in lanes.
//!
//! Each element of the cell is a vector with one lane per index. In memory the elements of a cell are neighbours, so that `c` vectors
//! are woven together before they are stored: lane `l` of element `k` goes to place `l * c + k`. Loads of such arrays are the same in
//! reverse (`access`).

use ravel_nest::ir::Access;
use ravel_types::Elem;
use ravel_wir::{Inst, Op, Region, Value};

use crate::Result;
use crate::facts::{Facts, Val};
use crate::kernel::grid::Grid;
use crate::lower::Lower;
use crate::lower::index::{Ext, Offset};
use crate::lower::withloop::Sink;

/// Elements of a cell up to which lanes are used: a 4x4 matrix of complex numbers. Their vectors wait for each other to be woven together.
const MOST_ELEMENTS: usize = 32;

/// The stages in which streams are woven together: how many of them become one in each. Their product is `count`.
fn stages(count: usize) -> Vec<usize> {
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

impl Lower<'_, '_> {
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
        // In each stage streams that are `count / by` apart become one, so that the last one has the elements in order.
        let mut streams: Vec<Vec<Val>> = vectors.into_iter().map(|v| vec![v]).collect();
        for by in stages(count) {
            let apart = streams.len() / by;
            streams = (0..apart)
                .map(|k| {
                    let woven: Vec<&[Val]> = (0..by).map(|n| &streams[k + n * apart][..]).collect();
                    self.weave(&woven, lanes)
                })
                .collect();
        }
        for (part, woven) in streams.concat().into_iter().enumerate() {
            let at = bytes + (part * lanes) as i32 * size as i32;
            self.b.store(woven, ptr, at, Access::ANY);
        }
        Ok(())
    }

    /// One stream of vectors with an element of each of the given streams in turn.
    fn weave(&mut self, streams: &[&[Val]], lanes: usize) -> Vec<Val> {
        let (count, length) = (streams.len(), streams[0].len());
        let mut out = Vec::new();
        for part in 0..count * length {
            // Where lane `lane` of the vector comes from: a stream and a place in it.
            let source = |lane: usize| ((part * lanes + lane) % count, (part * lanes + lane) / count);
            let from = |k: usize, vector: usize, lane: usize| {
                let (stream, at) = source(lane);
                (stream == k && at / lanes == vector).then_some((at % lanes) as u8)
            };
            let mut sources: Vec<(usize, usize)> =
                (0..lanes).map(|lane| (source(lane).0, source(lane).1 / lanes)).collect();
            sources.sort_unstable();
            sources.dedup();
            // The first two vectors, and then each further one where it belongs.
            let (k, n) = sources[0];
            let (k1, n1) = *sources.get(1).unwrap_or(&sources[0]);
            let picks: Vec<u8> = (0..lanes)
                .map(|lane| from(k, n, lane).or(from(k1, n1, lane).map(|l| l + lanes as u8)).unwrap_or(0))
                .collect();
            let mut woven = self.b.shuffle(streams[k][n], streams[k1][n1], &picks);
            for &(k, n) in sources.iter().skip(2) {
                let picks: Vec<u8> =
                    (0..lanes).map(|lane| from(k, n, lane).map_or(lane as u8, |l| l + lanes as u8)).collect();
                woven = self.b.shuffle(woven, streams[k][n], &picks);
            }
            out.push(woven);
        }
        out
    }
}
