//! Arenas: one stack of untyped memory per thread, for arrays that live no longer than the code that makes them.
//!
//! Compiled code enters an arena where it needs buffers of known size and leaves it at the end of that region, last in, first out.
//! The memory stays with the thread, so that a loop, or the chunks of a parallel section, find it ready. A thread that faults never
//! leaves its arenas: they go when it ends. The objects that it held are lost.

use std::cell::RefCell;

use crate::abi::DATA_ALIGN;
use crate::blocks;
use crate::fault::{self, Fault};

/// Vector loads may touch this many bytes before the first and behind the last buffer.
const MARGIN: usize = DATA_ALIGN;
/// The first segment of a thread has at least this many bytes.
const FIRST: usize = 64 << 10;
/// A thread that is in no arena keeps at most this many bytes.
const KEPT: usize = 64 << 20;

/// A stretch of memory, filled from its start.
struct Segment {
    start: *mut u8,
    size: usize,
    used: usize,
}

/// The segments of a thread. The last one in use is being filled; there is more than one only until the stack is empty
/// again.
struct Stack {
    segments: Vec<Segment>,
}

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack { segments: Vec::new() }) };
}

/// What one arena takes of a segment.
fn rounded(bytes: usize) -> Option<usize> {
    bytes.checked_add(2 * MARGIN + DATA_ALIGN - 1).map(|bytes| bytes / DATA_ALIGN * DATA_ALIGN)
}

impl Stack {
    fn enter(&mut self, bytes: usize) -> Option<*mut u8> {
        let bytes = rounded(bytes)?;
        let fits = self.segments.last().is_some_and(|last| last.size - last.used >= bytes);
        if !fits {
            // An empty segment that is too small makes room for a larger one.
            if self.segments.last().is_some_and(|last| last.used == 0) {
                self.segments.pop();
            }
            let held: usize = self.segments.iter().map(|segment| segment.size).sum();
            let size = bytes.max(FIRST).max(held.min(KEPT));
            let start = blocks::allocate(size)?;
            self.segments.push(Segment { start, size, used: 0 });
        }
        let last = self.segments.last_mut()?;
        // SAFETY: `used + bytes <= size`, so the address is inside the segment.
        let place = unsafe { last.start.add(last.used + MARGIN) };
        last.used += bytes;
        Some(place)
    }

    fn leave(&mut self, bytes: usize) {
        let filled = self.segments.iter_mut().rev().find(|segment| segment.used > 0);
        let (Some(bytes), Some(filled)) = (rounded(bytes), filled) else { return };
        filled.used -= bytes.min(filled.used);
        if filled.used > 0 || self.segments.iter().any(|segment| segment.used > 0) {
            return;
        }
        // The next time one segment should do.
        self.segments.sort_by_key(|segment| segment.size);
        while self.segments.len() > 1 {
            self.segments.remove(0);
        }
        if self.segments.last().is_some_and(|last| last.size > KEPT) {
            self.segments.pop();
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the segment came from `blocks::allocate(size)`, and whoever drops it is done with its memory.
        unsafe { blocks::free(self.start, self.size) }
    }
}

/// Memory of `bytes` bytes, aligned to 64, until the matching [`ravel_arena_leave`]; ends the program when memory is exhausted.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_arena_enter(bytes: i64) -> *mut u8 {
    let place = usize::try_from(bytes).ok().and_then(|bytes| STACK.with(|stack| stack.borrow_mut().enter(bytes)));
    match place {
        Some(place) => place,
        None => fault::raise(Fault::here(format!("out of memory for {bytes} bytes of temporary values"))),
    }
}

/// Gives back what this thread entered last.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_arena_leave(bytes: i64) {
    if let Ok(bytes) = usize::try_from(bytes) {
        STACK.with(|stack| stack.borrow_mut().leave(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arenas_are_a_stack_that_keeps_its_memory() {
        let first = ravel_arena_enter(1000);
        let second = ravel_arena_enter(5000);
        assert_eq!(first as usize % DATA_ALIGN, 0);
        assert!(second as usize >= first as usize + 1000 + MARGIN);
        ravel_arena_leave(5000);
        assert_eq!(ravel_arena_enter(7), second);
        ravel_arena_leave(7);
        ravel_arena_leave(1000);
        assert_eq!(ravel_arena_enter(64), first);
        ravel_arena_leave(64);
    }

    #[test]
    fn a_full_segment_is_followed_by_another() {
        let mut places = Vec::new();
        for round in 0..3 {
            for k in 0..6 {
                let place = ravel_arena_enter(40_000);
                // SAFETY: entered just now, with as many bytes.
                unsafe { place.write_bytes(k, 40_000) };
                places.push(place);
            }
            for k in (0..6u8).rev() {
                let place = places.pop().expect("as many as were entered");
                // SAFETY: not left yet.
                assert_eq!(unsafe { (place.read(), place.add(39_999).read()) }, (k, k), "round {round}");
                ravel_arena_leave(40_000);
            }
        }
        STACK.with(|stack| assert_eq!(stack.borrow().segments.len(), 1));
    }

    #[test]
    fn large_arenas_are_given_back() {
        let bytes = 100 << 20;
        ravel_arena_enter(bytes);
        ravel_arena_leave(bytes);
        STACK.with(|stack| assert!(stack.borrow().segments.is_empty()));
    }
}
