//! Where blocks begin and end.
//!
//! Threads that share a fold of 100 heavy iterations have 25 blocks of four: of sixteen, seven wait for the nine that do a second one, or all for
//! a slow one that took it, and two do 13 and 12. So the last eight iterations of a few are done in four blocks of half the size, which take a little
//! more than half as long. A longer loop is cut into chunks of several blocks, where that does not matter.

use super::LANES;
use crate::edit::{Cut, Emitter};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Op, Value};

/// Iterations of a small block.
const FEW_LANES: i32 = 2;
/// So many of the last iterations are in small blocks,
const TAIL: i32 = 8;
/// if there are at least so many
const LEAST: i32 = 12;
/// and at most so many: threads take the blocks of more than 32 several at a time.
const MOST: i32 = 128;

/// The blocks of indices from `low` below `high`, with the iterations of each; the second cut goes on from the first.
pub fn cuts(emitter: &mut Emitter, low: Value, high: Value, taper: bool) -> Vec<(i32, Cut)> {
    let n = emitter.length(low, high);
    let tail = match emitter.defs.int(emitter.func, n) {
        Some(n) if taper && (LEAST..=MOST).contains(&n) => emitter.int(TAIL),
        Some(_) => return vec![(LANES, emitter.cut(low, high, LANES))],
        None if !taper => return vec![(LANES, emitter.cut(low, high, LANES))],
        None => {
            let [least, most, tail, none] = [LEAST, MOST, TAIL, 0].map(|k| emitter.int(k));
            let enough = emitter.int_op(BinOp::Ge, n, least);
            let few = emitter.int_op(BinOp::Le, n, most);
            let cond = emitter.emit(Op::Bin(BinOp::And, enough, few), Ty::scalar(Elem::Bool));
            emitter.emit(Op::Select { cond, then: tail, els: none }, Ty::scalar(Elem::I32))
        }
    };
    let early = emitter.int_op(BinOp::Sub, n, tail);
    let end = emitter.int_op(BinOp::Add, low, early);
    let blocks = emitter.cut(low, end, LANES);
    let small = emitter.cut(blocks.rest, high, FEW_LANES);
    vec![(LANES, blocks), (FEW_LANES, small)]
}
