//! Parallel loops inside chunks.
//!
//! The last chunks of a job are often fewer than the threads, and a job may have fewer chunks from the start. A thread that finds
//! none left says so (`Pool::hungry`), and from then on a parallel loop that another thread meets in its chunk is *offered*: who is idle
//! takes chunks of it. As long as nobody is, the thread that meets it computes one chunk after the other. Loops inside those
//! inner chunks are not offered.
//!
//! Protocol: the owner fills its [`Offer`], opens it and raises its bit. A helper announces itself (`helpers`), takes chunks if the offer is
//! still open then, and withdraws. When no chunk is left the owner closes the offer and waits for the helpers that are there.
//! Sequential consistency makes the helper see that the offer is closed or the owner see the helper.

use std::cell::{Cell, UnsafeCell};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{Apart, EPOCH, Job, Pool, SPINS_BEFORE_YIELD, Stretch};
use crate::stop;

/// Slots that can offer: one bit each.
const OWNERS: usize = 64;
/// Chunks of a loop that is long enough to wake others for: the compiler cuts shorter ones into fewer.
const LONG: i64 = 6;

/// A parallel loop of one thread's chunk.
pub(super) struct Offer {
    job: UnsafeCell<Option<Job>>,
    chunks: Stretch,
    open: AtomicBool,
    helpers: AtomicUsize,
}

impl Offer {
    pub(super) const fn new() -> Self {
        Offer {
            job: UnsafeCell::new(None),
            chunks: Stretch::new(),
            open: AtomicBool::new(false),
            helpers: AtomicUsize::new(0),
        }
    }

    fn has_chunks(&self) -> bool {
        self.open.load(Ordering::SeqCst) && self.chunks.has_chunks()
    }
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    Nothing,
    /// A chunk of a pool's job.
    Chunk(*const Pool),
    /// A chunk of a loop inside such a chunk.
    InnerChunk,
}

thread_local! {
    static INSIDE: Cell<Inside> = const { Cell::new(Inside::Nothing) };
}

pub(super) fn inside() -> Inside {
    INSIDE.get()
}

/// Runs `work` as code inside something.
pub(super) fn within<T>(inside: Inside, work: impl FnOnce() -> T) -> T {
    let outside = INSIDE.replace(inside);
    let result = work();
    INSIDE.set(outside);
    result
}

impl Pool {
    /// May a loop inside a chunk find helpers?
    pub(super) fn has_idle_threads(&self) -> bool {
        self.hungry.0.load(Ordering::Relaxed) == self.epoch()
    }

    /// Number of the job at hand.
    fn epoch(&self) -> u64 {
        self.board.state.load(Ordering::Relaxed) / EPOCH
    }

    /// Says that a thread has nothing to do. Written once per job, for all read it.
    pub(super) fn is_idle(&self) {
        let epoch = self.epoch();
        if self.hungry.0.load(Ordering::Relaxed) != epoch {
            self.hungry.0.store(epoch, Ordering::Relaxed);
        }
    }

    /// Runs a loop inside a chunk of the thread with this slot, from when on there are any with idle threads.
    pub(super) fn run_inner(&self, job: Job, chunks: i64, slot: usize) {
        within(Inside::InnerChunk, || {
            for chunk in 0..chunks {
                if self.has_idle_threads() && slot < OWNERS {
                    return self.share(job, chunk, chunks, slot);
                }
                job.run_chunk(chunk, slot);
            }
        });
    }

    /// Runs the chunks `first .. end` with whoever helps.
    fn share(&self, job: Job, first: i64, end: i64, slot: usize) {
        let offer = &self.offers[slot].0;
        // SAFETY: the offer is closed and its last helper has left; who comes now finds it closed.
        unsafe { *offer.job.get() = Some(job) };
        offer.chunks.set(first, end);
        offer.open.store(true, Ordering::SeqCst);
        self.offering.0.fetch_or(1 << slot, Ordering::SeqCst);
        if end - first >= LONG {
            self.wake();
        }
        offer.chunks.work(&job, slot);
        self.offering.0.fetch_and(!(1 << slot), Ordering::SeqCst);
        offer.open.store(false, Ordering::SeqCst);
        let mut spins = 0;
        while offer.helpers.load(Ordering::SeqCst) > 0 {
            spins += 1;
            if spins < SPINS_BEFORE_YIELD {
                spin_loop();
            } else {
                stop::check();
                std::thread::yield_now();
            }
        }
    }

    /// Does some thread offer chunks?
    pub(super) fn is_offering(&self) -> bool {
        self.offering.0.load(Ordering::SeqCst) != 0 && self.offers.iter().any(|Apart(offer)| offer.has_chunks())
    }

    /// Helps one thread that offers a loop; false if none does.
    pub(super) fn help(&self, slot: usize) -> bool {
        let offering = self.offering.0.load(Ordering::Relaxed);
        if offering == 0 {
            return false;
        }
        // Helpers look from different places, so that they spread.
        (0..OWNERS)
            .map(|step| (slot + step) % OWNERS)
            .filter(|owner| offering >> owner & 1 == 1)
            .any(|owner| self.help_with(&self.offers[owner].0, slot))
    }

    fn help_with(&self, offer: &Offer, slot: usize) -> bool {
        if !offer.has_chunks() {
            return false;
        }
        offer.helpers.fetch_add(1, Ordering::SeqCst);
        let open = offer.open.load(Ordering::SeqCst);
        // SAFETY: the owner writes the job of a closed offer only, and does not return before this thread has left.
        if open && let Some(job) = unsafe { *offer.job.get() } {
            let work = || within(Inside::InnerChunk, || offer.chunks.work(&job, slot));
            self.working_for(&job, || self.time_of(slot).working(work));
        }
        offer.helpers.fetch_sub(1, Ordering::SeqCst);
        open
    }
}

/// Is some thread without work, so that a loop inside the chunk that the calling thread computes may be shared? 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_has_idle_threads() -> i8 {
    match inside() {
        // SAFETY: pools are leaked on creation.
        Inside::Chunk(pool) => i8::from(unsafe { &*pool }.has_idle_threads()),
        Inside::Nothing | Inside::InnerChunk => 0,
    }
}
