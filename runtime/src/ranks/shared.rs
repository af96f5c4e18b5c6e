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
use super::stats::{self, Kind, Place, Watch, Why};
use super::{Share, World};
use crate::abi::{Output, ParallelFn, Shared};
use crate::fault::{self, Report};
use crate::pool;

/// A loop under way.
struct Sharing<'a> {
    world: &'a World,
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
    let (declared, outputs) = unsafe { declaration(shared) };
    let given = Loop { n, chunk, late: late.max(0), in_turn: declared.uneven != 0 };
    // SAFETY: by contract.
    let whole = |why| stats::is_on() && unsafe { run_whole(why, (work, ctx), (n, chunk, late), shared) };
    if given.chunks() < 2 {
        return whole(Why::OneChunk);
    }
    if world.settings.share == Share::Never {
        return whole(Why::Never);
    }
    let (exchange, cycles) = (Exchange::new(world, given, outputs), declared.work as f64 * n as f64);
    let pays = || world.settings.costs.pays(cycles, exchange.bytes() as f64, world.count);
    if world.settings.share == Share::Auto && !pays() {
        return whole(Why::Costs);
    }
    let part = exchange.own();
    let (least, found) = (AtomicI64::new(Exchange::GO_ON), Mutex::new(None));
    let sharing = Sharing { world, exchange, work, ctx, given, part, least, found };
    let mut watch = Watch::start();
    // SAFETY: `chunk_of_part` may run on any thread, as `work` may, and `sharing` outlives the loop.
    unsafe { pool::run_part(chunk_of_part, std::ptr::from_ref(&sharing).cast_mut().cast(), part.count(), part.late()) };
    let seconds_computing = watch.lap();
    // SAFETY: the part is computed, and no thread works on the loop any more.
    let [seconds_waiting, seconds_moving] = unsafe { sharing.meet() };
    if stats::is_on() {
        // SAFETY: positions are constants of compiled code.
        let place = unsafe { Place::at(declared.site) };
        let (chunks, bytes) = (given.chunks(), sharing.exchange.bytes());
        let kind = kind_of(given, outputs);
        stats::note(&stats::Exchange {
            kind,
            place,
            cycles,
            chunks,
            bytes,
            seconds_computing,
            seconds_waiting,
            seconds_moving,
        });
    }
    true
}

/// What a loop leaves more of, rows or partial results. Partial results are there once for each chunk.
fn kind_of(given: Loop, outputs: &[Output]) -> Kind {
    let bytes = |output: &Output| (output.end - output.first) * output.bytes * output.pieces;
    let (partials, rows): (Vec<&Output>, Vec<&Output>) =
        outputs.iter().partition(|output| given.chunk > 1 && output.per == given.chunk);
    let sum = |outputs: Vec<&Output>| outputs.into_iter().map(bytes).sum::<i64>();
    if sum(partials) > sum(rows) { Kind::Partials } else { Kind::Gather }
}

/// # Safety
/// Compiled code has passed it.
unsafe fn declaration<'a>(shared: *const Shared) -> (Shared, &'a [Output]) {
    // SAFETY: a declaration has its outputs behind it.
    unsafe {
        let declared = *shared;
        let count = usize::try_from(declared.count).unwrap_or(0);
        (declared, std::slice::from_raw_parts(shared.add(1).cast::<Output>(), count))
    }
}

/// Runs all of a loop that ranks could share, and notes how long that took.
///
/// # Safety
/// As for [`pool::ravel_parallel`].
pub(crate) unsafe fn run_whole(
    why: Why,
    (work, ctx): (ParallelFn, *mut u8),
    (n, chunk, late): (i64, i64, i64),
    shared: *const Shared,
) -> bool {
    // SAFETY: by contract.
    let (declared, outputs) = unsafe { declaration(shared) };
    let given = Loop { n, chunk, late: late.max(0), in_turn: declared.uneven != 0 };
    let mut watch = Watch::start();
    // SAFETY: by contract; without a declaration nothing is shared.
    unsafe { pool::ravel_parallel(work, ctx, n, chunk, late, std::ptr::null()) };
    let seconds = watch.lap();
    let all = given.part(0, 1);
    stats::note(&stats::Exchange {
        kind: Kind::Whole(why),
        // SAFETY: positions are constants of compiled code.
        place: unsafe { Place::at(declared.site) },
        cycles: declared.work as f64 * n as f64,
        chunks: given.chunks(),
        bytes: outputs.iter().map(|output| given.bytes(&all, output)).sum(),
        seconds_computing: seconds,
        seconds_waiting: 0.0,
        seconds_moving: 0.0,
    });
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
    let _ = unsafe { sharing.meet() };
    wait_for_the_end()
}

/// Waits for another rank to end the program.
fn wait_for_the_end() -> ! {
    std::thread::sleep(std::time::Duration::from_secs(5));
    std::process::exit(1)
}

impl Sharing<'_> {
    /// Exchanges what ranks have computed; does not return if one of them has found a fault. Returns the seconds of waiting and of moving.
    ///
    /// # Safety
    /// As for [`Exchange::gather`].
    unsafe fn meet(&self) -> [f64; 2] {
        let mut watch = Watch::start();
        if let Err(fault) = stats::wait(self.world) {
            fault::raise(fault);
        }
        let waiting = watch.lap();
        let own = self.least.load(Ordering::Relaxed);
        // SAFETY: by contract.
        let least = match unsafe { self.exchange.gather(own) } {
            Ok(words) => words.into_iter().min().unwrap_or(Exchange::GO_ON),
            Err(fault) => fault::raise(fault),
        };
        if least == Exchange::GO_ON {
            return [waiting, watch.lap()];
        }
        let report = if own == least { self.found.lock().ok().and_then(|mut found| found.take()) } else { None };
        match report {
            Some(report) => fault::end_process(report),
            None => wait_for_the_end(),
        }
    }
}
