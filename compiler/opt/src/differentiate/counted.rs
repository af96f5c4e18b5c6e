//! Loops that go on as long as their counter is at most, or at least, a number: they are counted as those with strict bounds are.
//!
//! ```text
//!    loop (%i = 1) { ..  yield %j <= %n, %j }
//! => %m = add %n, 1  loop (%i = 1) { ..  yield %j < %m, %j }
//! ```
//!
//! How often a loop runs is then known in front of it, and what it keeps has the room that it takes. No counter is beyond the greatest number.

use crate::differentiate::state::State;
use crate::edit::{collect_values, insert_before, insts_where};
use ravel_types::{BinOp, Elem, HashSet};

use ravel_wir::{Inst, Op, Region, Value};

impl State<'_> {
    /// Gives the counted loops of a region strict bounds.
    pub fn make_bounds_strict(&mut self, region: Region) {
        for (home, inst) in insts_where(self.func, region, |op| matches!(op, Op::Loop { .. })) {
            let Op::Loop { body, .. } = self.func.insts[inst].op else { continue };
            let cond = self.func.regions[body].yields[0];
            let (strict, next, end, by) = match self.defs.op(self.func, cond) {
                Some(Op::Bin(BinOp::Le, next, end)) => (BinOp::Lt, *next, *end, 1),
                Some(Op::Bin(BinOp::Ge, next, end)) => (BinOp::Gt, *next, *end, -1),
                _ => continue,
            };
            let is_outside = !self.is_made_inside(end, body);
            if self.func.ty(end).elem != Elem::I32 || !is_outside && self.defs.int(self.func, end).is_none() {
                continue;
            }
            let front = self.branch();
            let end = match self.defs.int(self.func, end) {
                Some(k) => self.int(front, k),
                None => end,
            };
            let one = self.int(front, by);
            let beyond = self.bin(front, BinOp::Add, end, one);
            let more = self.branch();
            let strict = self.bin(more, strict, next, beyond);
            let (before, last) = (self.taken(front), self.taken(more));
            insert_before(self.func, home, inst, before);
            self.func.regions[body].insts.extend(last);
            self.func.regions[body].yields[0] = strict;
        }
    }

    fn taken(&mut self, region: Region) -> Vec<Inst> {
        std::mem::take(&mut self.func.regions[region].insts)
    }

    fn is_made_inside(&self, v: Value, body: Region) -> bool {
        let mut inside = HashSet::default();
        collect_values(self.func, body, &mut inside);
        inside.contains(&v)
    }
}
