//! Cells that are short arrays written out, `[re, im]` or `[red, green, blue]`, in lanes.
//!
//! Each element of the cell is a vector with one lane per index. In memory the elements of a cell are neighbours, so that `c` vectors
//! are woven together before they are stored: lane `l` of element `k` goes to place `l * c + k`. Loads of such arrays are the same in
//! reverse (`access`).

use ravel_nest::ir::Access;
use ravel_types::Elem;
use ravel_wir::Value;

use crate::Result;
use crate::facts::interleaved_cells::stages;
use crate::facts::{Grid, Offset, Val};
use crate::lower::Lower;

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
