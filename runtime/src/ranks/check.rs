//! `RAVEL_RANKS_CHECK`: do ranks meet at the same places, with the same values?
//!
//! Ranks that took different ways would wait for each other for ever, or take what is meant for another place. With 1, each says where it is before they
//! exchange anything. With 2, a shared loop is computed once more, whole, on every rank, and what ranks have sent each other is compared with that.

use std::ops::Range;

use super::World;
use super::exchange::Exchange;
use crate::fault::Fault;

/// Bytes of what a rank says: the number of a meeting, sizes, and the begin of a text.
const WORDS: usize = 256;

impl World {
    /// Says that this rank is at `place` and has come with `numbers`; it is a fault on all ranks if some are elsewhere.
    pub(super) fn check_place(&self, place: &str, numbers: &[i64]) -> Result<(), Fault> {
        let text = if numbers.is_empty() { place.to_string() } else { format!("{place} with {numbers:?}") };
        let mut own = text.into_bytes();
        own.resize(WORDS, 0);
        let mut all = vec![0; WORDS * self.count];
        self.mpi.all_gather(&own, &mut all).map_err(Fault::new)?;
        let said: Vec<&[u8]> = all.chunks(WORDS).collect();
        let Some(other) = (1..self.count).find(|rank| said[*rank] != said[0]) else { return Ok(()) };
        let text = |rank: usize| String::from_utf8_lossy(said[rank]).trim_end_matches('\0').to_string();
        Err(Fault::new(format!(
            "ranks have come to different places: rank 0 to {}, and rank {other} to {}",
            text(0),
            text(other)
        )))
    }
}

/// Does what ranks have sent each other differ from what a rank has computed alone? Bytes that a loop did not change are whatever they were. Partial results
/// that are arrays have addresses in their headers, each rank its own: words that lead to `memory` say nothing.
pub(super) fn differs(before: &[u8], alone: &[u8], together: &[u8], memory: &Range<usize>) -> bool {
    let words = before.chunks(WORD).zip(alone.chunks(WORD)).zip(together.chunks(WORD));
    words.into_iter().any(|((before, alone), together)| {
        let address = <[u8; WORD]>::try_from(alone).map_or(0, usize::from_ne_bytes);
        let mut bytes = before.iter().zip(alone).zip(together);
        !memory.contains(&address) && bytes.any(|((before, alone), together)| alone != before && alone != together)
    })
}

const WORD: usize = size_of::<usize>();

impl Exchange<'_> {
    /// It is a fault on all ranks if some of them say no.
    pub fn all_agree(&self, yes: bool, otherwise: &str) -> Result<(), Fault> {
        let world = self.world();
        let mut all = vec![0; world.count];
        world.mpi.all_gather(&[u8::from(yes)], &mut all).map_err(Fault::new)?;
        match all.iter().position(|yes| *yes == 0) {
            Some(rank) => Err(Fault::new(format!("{otherwise} (rank {rank})"))),
            None => Ok(()),
        }
    }

    /// The addresses from the first to the last of all outputs.
    pub fn memory(&self) -> Range<usize> {
        let (mut first, mut end) = (usize::MAX, 0);
        self.each_output(|piece, length| {
            let piece = piece as usize;
            (first, end) = (first.min(piece), end.max(piece + length));
        });
        first..end
    }

    /// A copy of all outputs.
    ///
    /// # Safety
    /// The outputs are live memory that nothing writes.
    pub unsafe fn copied(&self) -> Vec<u8> {
        let mut copy = Vec::new();
        self.each_output(|piece, length| {
            // SAFETY: by contract.
            copy.extend_from_slice(unsafe { std::slice::from_raw_parts(piece, length) });
        });
        copy
    }

    /// Gives all outputs the bytes of a copy.
    ///
    /// # Safety
    /// The outputs are live memory that nothing else uses.
    pub unsafe fn restore(&self, copy: &[u8]) {
        let mut rest = copy;
        self.each_output(|piece, length| {
            let (own, others) = rest.split_at(length);
            // SAFETY: by contract; a copy is apart from what it was made of.
            unsafe { std::ptr::copy_nonoverlapping(own.as_ptr(), piece, length) };
            rest = others;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::differs;

    #[test]
    fn only_changed_bytes_are_compared() {
        let differs = |before, alone, together| differs(before, alone, together, &(0..0));
        assert!(!differs(b"abc", b"axc", b"zxz"));
        assert!(differs(b"abc", b"axc", b"abc"));
        assert!(!differs(b"", b"", b""));
    }

    #[test]
    fn addresses_of_the_memory_itself_say_nothing() {
        let word = |k: usize| k.to_ne_bytes();
        assert!(!differs(&word(0), &word(4112), &word(77), &(4096..8192)));
        assert!(differs(&word(0), &word(9000), &word(77), &(4096..8192)));
    }
}
