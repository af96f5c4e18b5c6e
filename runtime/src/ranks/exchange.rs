//! What ranks have computed of a loop goes to all of them.
//!
//! One collective operation carries a few words of each rank and what is small, packed. Large outputs follow, one by one: in place where the part of a
//! rank is one piece of memory, packed elsewhere. Only bytes are moved; sums are left to compiled code, which adds them in one order everywhere.

use std::cell::RefCell;
use std::ffi::c_int;

use super::World;
use super::intervals::{Interval, own_rows};
use super::mpi::{MOST_BYTES, Message};
use super::plan::{Loop, Part};
use super::rows::Place;
use super::stats::Watch;
use crate::abi::Output;
use crate::fault::{self, Fault};

/// An output of at most so many bytes goes with the words.
const SMALL: i64 = 64 << 10;

thread_local! {
    /// Memory for what is packed, kept from one exchange to the next.
    static PACKED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What came out of an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathered {
    /// The least word of all ranks.
    pub least: i64,
    /// Seconds until all ranks had come, and until all bytes had; 0 unless somebody wants to know.
    pub waiting: f64,
    pub moving: f64,
}

/// What ranks leave of a loop, and where.
pub(super) struct Exchange<'a> {
    world: &'a World,
    given: Loop,
    outputs: Vec<Output>,
    parts: Vec<Part>,
    /// Bytes of each rank, by output.
    lengths: Vec<Vec<i64>>,
}

impl<'a> Exchange<'a> {
    pub fn new(world: &'a World, given: Loop, outputs: Vec<Output>) -> Exchange<'a> {
        let parts: Vec<Part> = (0..world.count).map(|rank| given.part(rank, world.count)).collect();
        let lengths =
            outputs.iter().map(|output| parts.iter().map(|part| given.bytes(part, output)).collect()).collect();
        Exchange { world, given, outputs, parts, lengths }
    }

    pub fn world(&self) -> &'a World {
        self.world
    }

    /// Sends the word of this rank and what it has computed. Unless the words of all are [`Self::GO_ON`], large outputs stay as they are.
    ///
    /// # Safety
    /// The outputs are live memory that nothing else uses, and this rank's part of them is computed.
    pub unsafe fn gather(&self, word: i64, watch: &mut Watch) -> Result<Gathered, Fault> {
        let is_small = |k: &usize| self.lengths[*k].iter().sum::<i64>() <= SMALL;
        let (small, large): (Vec<usize>, Vec<usize>) = (0..self.outputs.len()).partition(is_small);
        // SAFETY: by contract.
        let words = unsafe { self.packed(&small, Some(word)) }?;
        let least = words.into_iter().min().unwrap_or(Self::GO_ON);
        let mut gathered = Gathered { least, waiting: watch.lap(), moving: 0.0 };
        if least != Self::GO_ON {
            return Ok(gathered);
        }
        for k in large {
            // SAFETY: by contract.
            unsafe {
                if self.given.is_contiguous(&self.outputs[k]) {
                    self.world.gather_in_place(self.outputs[k].base, &self.lengths[k])?;
                } else {
                    self.packed(&[k], None)?;
                }
            }
        }
        gathered.moving = watch.lap();
        Ok(gathered)
    }

    /// The word of a rank that has nothing to say.
    pub const GO_ON: i64 = i64::MAX;

    /// Some outputs, and a word of each rank, by way of one packed piece of memory.
    ///
    /// # Safety
    /// As for [`Self::gather`].
    unsafe fn packed(&self, outputs: &[usize], word: Option<i64>) -> Result<Vec<i64>, Fault> {
        let words = if word.is_some() { size_of::<i64>() } else { 0 };
        let length = |rank: usize| words + outputs.iter().map(|k| self.lengths[*k][rank]).sum::<i64>() as usize;
        let lengths: Vec<i64> = (0..self.world.count).map(|rank| length(rank) as i64).collect();
        let total = lengths.iter().sum::<i64>() as usize;
        PACKED.with_borrow_mut(|packed| {
            packed.clear();
            packed.try_reserve_exact(total).map_err(|_| super::out_of_memory(total))?;
            packed.resize(total, 0);
            let mut at = lengths[..self.world.rank].iter().sum::<i64>() as usize;
            if let Some(word) = word {
                packed[at..at + words].copy_from_slice(&word.to_ne_bytes());
            }
            at += words;
            self.each_piece(self.world.rank, outputs, |piece, length| {
                // SAFETY: pieces of outputs are live memory.
                let piece = unsafe { std::slice::from_raw_parts(piece, length) };
                packed[at..at + length].copy_from_slice(piece);
                at += length;
            });
            // SAFETY: the parts of all ranks lie in `packed`.
            unsafe { self.world.gather_in_place(packed.as_mut_ptr(), &lengths) }?;
            let (mut at, mut found) = (0, Vec::new());
            for rank in 0..self.world.count {
                if words > 0 {
                    found.push(i64::from_ne_bytes(packed[at..at + words].try_into().unwrap_or_default()));
                    at += words;
                }
                if rank == self.world.rank {
                    at += length(rank) - words;
                    continue;
                }
                self.each_piece(rank, outputs, |piece, length| {
                    // SAFETY: pieces of outputs are live memory that nothing else uses, and `packed` is apart from it.
                    unsafe { std::ptr::copy_nonoverlapping(packed[at..at + length].as_ptr(), piece, length) };
                    at += length;
                });
            }
            Ok(found)
        })
    }

    fn each_piece(&self, rank: usize, outputs: &[usize], mut visit: impl FnMut(*mut u8, usize)) {
        for output in outputs.iter().map(|k| &self.outputs[*k]) {
            self.given.pieces(&self.parts[rank], output, |offset, length| {
                visit(output.base.wrapping_offset(offset as isize), length as usize);
            });
        }
    }

    /// Calls `visit` with every piece of memory of all outputs.
    pub fn each_output(&self, mut visit: impl FnMut(*mut u8, usize)) {
        let all: Vec<usize> = (0..self.outputs.len()).collect();
        (0..self.world.count).for_each(|rank| self.each_piece(rank, &all, &mut visit));
    }

    /// Every rank has computed its part of the rows of arrays, and sends each row to the rank that owns it. Returns the bytes that the rank gets that gets
    /// most.
    ///
    /// # Safety
    /// The outputs are live memory that nothing else uses, and this rank's part of them is computed.
    pub unsafe fn hand_over(&self, place: Place, outputs: &[Output]) -> i64 {
        let (me, count) = (self.world.rank, self.world.count);
        let own: Vec<Interval> = (0..count).map(|rank| own_rows(place.rows, rank, count)).collect();
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        let mut bytes = vec![0; count];
        for output in outputs {
            for (rank, part) in self.parts.iter().enumerate() {
                self.given.pieces(part, output, |offset, length| {
                    let first = place.first + offset / output.stride;
                    let rows = Interval::new(first, first + length / output.stride);
                    for to in (0..count).filter(|to| *to != rank) {
                        let rows = rows.and(own[to]);
                        if rows.is_empty() {
                            continue;
                        }
                        let length = rows.len() * output.stride;
                        bytes[to] += length;
                        let memory = output.base.wrapping_offset(((rows.low - place.first) * output.stride) as isize);
                        let message = |rank| Message { rank, memory, length: length as usize };
                        if rank == me {
                            sent.push(message(to));
                        } else if to == me {
                            received.push(message(rank));
                        }
                    }
                });
            }
        }
        // SAFETY: by contract; rows that this rank owns are no others'.
        let pending = unsafe { self.world.mpi.begin(&sent, &received) };
        let finished = pending.and_then(|pending| self.world.mpi.finish(pending));
        finished.unwrap_or_else(|why| fault::raise(Fault::new(why)));
        bytes.into_iter().max().unwrap_or(0)
    }

    /// What is gathered.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// The parts of all ranks.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The bytes of all outputs.
    pub fn bytes(&self) -> i64 {
        self.lengths.iter().flatten().sum()
    }
}

impl World {
    /// Memory that consists of a part of each rank, end to end.
    ///
    /// # Safety
    /// So much memory is live, and nothing else uses it.
    pub(super) unsafe fn gather_in_place(&self, base: *mut u8, lengths: &[i64]) -> Result<(), Fault> {
        let mpi = &self.mpi;
        if lengths.iter().sum::<i64>() <= MOST_BYTES as i64 {
            let counts: Vec<c_int> = lengths.iter().map(|length| *length as c_int).collect();
            let starts: Vec<c_int> = (0..counts.len()).map(|rank| counts[..rank].iter().sum()).collect();
            // SAFETY: by contract.
            return unsafe { mpi.all_gather_in_place(base, &counts, &starts) }.map_err(Fault::new);
        }
        // Displacements are too narrow for more.
        let mut start = 0;
        for (rank, length) in lengths.iter().enumerate() {
            // SAFETY: by contract.
            let part = unsafe { std::slice::from_raw_parts_mut(base.add(start), *length as usize) };
            for piece in part.chunks_mut(MOST_BYTES) {
                mpi.broadcast(piece, rank).map_err(Fault::new)?;
            }
            start += *length as usize;
        }
        Ok(())
    }
}
