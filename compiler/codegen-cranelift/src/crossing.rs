//! Results of loops that are needed behind a later call.
//!
//! No call keeps a register of reals. A value that lives across one is spilled where it is defined, which for the result of a loop is in every
//! iteration: each would store it, and load what it carries. Such results get a definition of their own behind the loop.

use cranelift_entity::SecondaryMap;
use ravel_nest::ir::{Func, Op, Prim, Region, Ty, Value};

/// The results of loops that are reals and live across a call.
pub(crate) type Crossing = SecondaryMap<Value, bool>;

/// Finds them.
pub(crate) fn find(func: &Func) -> Crossing {
    let mut walk = Walk {
        func,
        number: 0,
        ends: Vec::new(),
        around: Vec::new(),
        made: SecondaryMap::new(),
        last: SecondaryMap::new(),
        results: Vec::new(),
        calls: Vec::new(),
    };
    let mut crossing = Crossing::new();
    walk.region(&func.body);
    if walk.calls.is_empty() {
        return crossing;
    }
    for &(value, end) in &walk.results {
        let last = match walk.last[value] {
            Last::At(number) => number,
            Last::Loop(id) => walk.ends[id as usize],
        };
        let next = walk.calls.partition_point(|call| *call <= end);
        crossing[value] = walk.calls.get(next).is_some_and(|call| *call < last);
    }
    crossing
}

/// Where a value is used last.
#[derive(Clone, Copy)]
enum Last {
    /// At the instruction of this number.
    At(u32),
    /// In a loop that it is made in front of, whose iterations all need it.
    Loop(u32),
}

impl Default for Last {
    fn default() -> Last {
        Last::At(0)
    }
}

struct Walk<'a> {
    func: &'a Func,
    /// Instructions are numbered as they are written down.
    number: u32,
    /// By loop, the number behind it.
    ends: Vec<u32>,
    /// The loops around: number in front, and which.
    around: Vec<(u32, u32)>,
    made: SecondaryMap<Value, u32>,
    last: SecondaryMap<Value, Last>,
    /// Results of loops that are reals, and the number behind the loop.
    results: Vec<(Value, u32)>,
    /// In order.
    calls: Vec<u32>,
}

impl Walk<'_> {
    fn region(&mut self, region: &Region) {
        for param in &region.params {
            self.made[*param] = self.number;
        }
        for inst in &region.insts {
            self.number += 1;
            let number = self.number;
            inst.op.for_each_operand(|value| self.uses(value));
            let is_call = |op: &Op| {
                matches!(op, Op::Call(..) | Op::CallExtern(..) | Op::CallIndirect { .. } | Op::RcDec(..) | Op::Math(..))
            };
            if is_call(&inst.op) {
                self.calls.push(number);
            }
            match &inst.op {
                Op::For { body, .. } | Op::Loop { body, .. } => {
                    let id = self.ends.len() as u32;
                    self.ends.push(0);
                    self.around.push((number, id));
                    self.region(body);
                    self.around.pop();
                    self.number += 1;
                    self.ends[id as usize] = self.number;
                    let reals = inst.results.iter().filter(|value| is_real(self.func.values[**value]));
                    let end = self.number;
                    self.results.extend(reals.map(|value| (*value, end)));
                }
                op => op.regions().into_iter().for_each(|nested| self.region(nested)),
            }
            if matches!(inst.op, Op::ParFor { .. }) {
                // What its body needs is given to the call.
                self.number += 1;
                self.calls.push(self.number);
            }
            for result in &inst.results {
                self.made[*result] = self.number;
            }
        }
        self.number += 1;
        region.exit.operands().iter().for_each(|value| self.uses(*value));
    }

    fn uses(&mut self, value: Value) {
        let made = self.made[value];
        self.last[value] = match self.around.iter().find(|(start, _)| *start > made) {
            Some((_, id)) => Last::Loop(*id),
            None => Last::At(self.number),
        };
    }
}

fn is_real(ty: Ty) -> bool {
    ty.is_vector() || matches!(ty.prim, Prim::F32 | Prim::F64)
}
