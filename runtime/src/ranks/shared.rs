//! Parallel loops whose chunks ranks share.
//!
//! A rank computes its part of the chunks with all of its threads, then ranks exchange what these left, and the program goes on everywhere with the same
//! memory. Whether a loop is shared follows from its shape and from costs that all ranks have agreed on.
//!
//! A chunk may find a fault. Its rank then computes the chunks before it, which may find an earlier one, and goes to the exchange with the number of the
//! first that did. The rank with the least number reports; so it is the same fault for any number of ranks.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use super::exchange::Exchange;
use super::plan::{Loop, Part};
use super::{Share, World};
use crate::abi::{Output, ParallelFn, Shared};
use crate::fault::{self, Report};
use crate::pool;

/// A loop under way.
struct Sharing<'a> {
    exchange: Exchange<'a>,
    work: ParallelFn,
    ctx: *mut u8,
    given: Loop,
    part: Part,
    /// The least chunk that found a fault.
    least: AtomicI64,
    found: Mutex<Option<Report>>,
}

/// The chunk that a thread is computing.
#[derive(Clone, Copy)]
struct Current {
    sharing: *const Sharing<'static>,
    chunk: i64,
}

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

/// What ranks share of a parallel loop, if they do.
///
/// # Safety
/// As for [`pool::ravel_parallel`].
pub(crate) unsafe fn run(
    world: &World,
    (work, ctx): (ParallelFn, *mut u8),
    (n, chunk, late): (i64, i64, i64),
    shared: *const Shared,
) -> bool {
    // SAFETY: compiled code passes a declaration with its outputs behind it.
    let (declared, outputs) = unsafe {
        let declared = *shared;
        let count = usize::try_from(declared.count).unwrap_or(0);
        (declared, std::slice::from_raw_parts(shared.add(1).cast::<Output>(), count))
    };
    let given = Loop { n, chunk, late: late.max(0), in_turn: declared.uneven != 0 };
    if given.chunks() < 2 || world.settings.share == Share::Never {
        return false;
    }
    let exchange = Exchange::new(world, given, outputs);
    if world.settings.share == Share::Auto {
        let cycles = declared.work as f64 * n as f64;
        if !world.settings.costs.pays(cycles, exchange.bytes() as f64, world.count) {
            return false;
        }
    }
    let part = exchange.own();
    let sharing =
        Sharing { exchange, work, ctx, given, part, least: AtomicI64::new(Exchange::GO_ON), found: Mutex::new(None) };
    // SAFETY: `chunk_of_part` may run on any thread, as `work` may, and `sharing` outlives the loop.
    unsafe { pool::run_part(chunk_of_part, std::ptr::from_ref(&sharing).cast_mut().cast(), part.count(), part.late()) };
    // SAFETY: the part is computed, and no thread works on the loop any more.
    unsafe { sharing.meet() };
    true
}

/// Computes one chunk of a part.
///
/// # Safety
/// `ctx` is a [`Sharing`].
unsafe extern "C" fn chunk_of_part(ctx: *mut u8, k: i64, _end: i64, slot: i64) {
    // SAFETY: by contract.
    let sharing = unsafe { &*ctx.cast::<Sharing<'static>>() };
    let chunk = sharing.part.chunk(k);
    // What comes behind a fault is not reported.
    if chunk > sharing.least.load(Ordering::Relaxed) {
        return;
    }
    CURRENT.set(Some(Current { sharing, chunk }));
    let Loop { n, chunk: length, .. } = sharing.given;
    let low = chunk * length;
    // SAFETY: the caller of the loop promises that its function may run on any thread with its context.
    unsafe { (sharing.work)(sharing.ctx, low, n.min(low.saturating_add(length)), slot) };
    CURRENT.set(None);
}

/// Whether this thread computes a chunk that ranks share.
pub(crate) fn is_in_chunk() -> bool {
    CURRENT.get().is_some()
}

/// A chunk that ranks share has found a fault, and this thread cannot return into it. The program ends where ranks meet.
pub(crate) fn end_in_chunk(report: Report) -> ! {
    let Some(Current { sharing, chunk }) = CURRENT.take() else { fault::end_process(report) };
    // SAFETY: the loop is under way.
    let sharing = unsafe { &*sharing };
    if let Ok(mut found) = sharing.found.lock()
        && chunk < sharing.least.load(Ordering::Relaxed)
    {
        sharing.least.store(chunk, Ordering::Relaxed);
        *found = Some(report);
    }
    pool::leave_chunk();
    // SAFETY: this is the thread that began the loop, and no other works on it any more.
    unsafe { sharing.meet() };
    wait_for_the_end()
}

/// Waits for another rank to end the program.
fn wait_for_the_end() -> ! {
    std::thread::sleep(std::time::Duration::from_secs(5));
    std::process::exit(1)
}

impl Sharing<'_> {
    /// Exchanges what ranks have computed; does not return if one of them has found a fault.
    ///
    /// # Safety
    /// As for [`Exchange::gather`].
    unsafe fn meet(&self) {
        let own = self.least.load(Ordering::Relaxed);
        // SAFETY: by contract.
        let least = match unsafe { self.exchange.gather(own) } {
            Ok(words) => words.into_iter().min().unwrap_or(Exchange::GO_ON),
            Err(fault) => fault::raise(fault),
        };
        if least == Exchange::GO_ON {
            return;
        }
        let report = if own == least { self.found.lock().ok().and_then(|mut found| found.take()) } else { None };
        match report {
            Some(report) => fault::end_process(report),
            None => wait_for_the_end(),
        }
    }
}
