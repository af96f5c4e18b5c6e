//! Transposed convolutions: folds whose masks would waste lanes, with accumulators at shifted places instead.
//!
//! In `y[x] = sum(w[t] * d[x - s t])`, over those `t` for which `x - s t` is inside `d`, vectors along `x` take part in every product with
//! some lanes only, near both ends of the row. Lanes along `p = x - s t` always take part: a vector of `d` is multiplied by each
//! weight and added to an accumulator for the places `p + s t` of the row. These accumulators overlap; they are added up once the fold has
//! ended. There are more of them than vectors of the row, which leaves registers for fewer copies of other axes.
//!
//! Products are added in another order than that of the program, so this is for operations that regroup.

use ravel_types::{BinOp, Elem};
use ravel_wir::Value;

use crate::Result;
use crate::facts::{Cell, Grid, Shift, Val};
use crate::kernel::reduce::Accs;
use crate::lower::{Lower, scalars};

impl Lower<'_, '_> {
    /// The innermost axis of a fold with shifted accumulators: all products of some vectors and weights.
    pub fn fold_shifted(&mut self, g: &mut Grid, shift: &Shift, tap: Value, accs: &mut Accs) -> Result<()> {
        let lanes = i64::from(g.lanes);
        // With tap 0 lanes along the row are lanes along the data.
        let mark = g.mark();
        self.bind_fixed(tap, 0);
        let data = (0..shift.loads).map(|q| self.packed_of(g, shift.data, 0, q)).collect::<Result<Vec<Val>>>()?;
        self.unfix(tap);
        g.release(mark);
        for t in 0..shift.taps {
            let mark = g.mark();
            self.bind_fixed(tap, t);
            for j in 0..g.j() {
                let weight = self.packed_of(g, shift.weight, j, 0)?;
                for (q, &data) in data.iter().enumerate() {
                    let Some(place) = shift.place(q, t, lanes) else { continue };
                    let place = j * shift.places.len() + place;
                    accs.vals[place] = self.b.fma(weight, data, accs.vals[place]);
                }
            }
            self.unfix(tap);
            g.release(mark);
        }
        Ok(())
    }

    /// The vectors of the row, from the accumulators of one copy and the neutral element in all lanes.
    fn add_shifted(
        &mut self,
        shift: &Shift,
        elem: Elem,
        accumulators: &[Val],
        neutral: Val,
        identity: Val,
    ) -> Vec<Val> {
        let arith = self.arith();
        let lanes = i64::from(self.b.ty(neutral).lanes);
        let mut row = vec![neutral; shift.vectors];
        let at = |place: i64| shift.places.binary_search(&place).ok().map(|k| accumulators[k]);
        for phase in 0..lanes {
            // Lanes before the phase belong to the accumulator that begins in the vector before.
            let picks: Vec<u8> = (0..lanes).map(|lane| (lanes - phase + lane) as u8).collect();
            for (u, sum) in row.iter_mut().enumerate() {
                let here = shift.start(u, lanes) + phase;
                let part = match (at(here - lanes), at(here)) {
                    (None, None) => continue,
                    (_, Some(value)) if phase == 0 => value,
                    (Some(_), None) if phase == 0 => continue,
                    (before, value) => self.b.shuffle(before.unwrap_or(identity), value.unwrap_or(identity), &picks),
                };
                *sum = scalars::binary(&mut self.b, arith, BinOp::Add, elem, *sum, part);
            }
        }
        row
    }

    /// Makes cells of the accumulators of a fold's copies.
    pub fn finish_shifted(
        &mut self,
        g: &mut Grid,
        shift: &Shift,
        accs: &Accs,
        result: Value,
        neutral: Value,
    ) -> Result<()> {
        let elem = self.elem(result);
        let identity = match BinOp::Add.identity(elem) {
            Some(identity) => self.constant_of(g, identity),
            None => return self.unsupported(ravel_source::Span::NONE, "a fold without identity in a kernel"),
        };
        let places = shift.places.len();
        for j in 0..g.j() {
            let neutral = self.packed_of(g, neutral, j, 0)?;
            let row = self.add_shifted(shift, elem, &accs.vals[j * places..(j + 1) * places], neutral, identity);
            for (u, value) in row.into_iter().enumerate() {
                g.remember(result, j, u, Cell::Packed(value));
            }
        }
        Ok(())
    }
}
