//! Parallel loops whose chunks ranks share.
//!
//! A rank computes its part of the chunks with all of its threads, then ranks exchange what these left, and the program goes on everywhere with the same
//! memory. Whether a loop is shared follows from its shape and from costs that all ranks have agreed on.
//!
//! A chunk may find a fault. Its rank then computes the chunks before it, which may find an earlier one, and goes to the exchange with the number of the
//! first that did. The rank with the least number reports; so it is the same fault for any number of ranks.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::exchange::{Exchange, Gathered};
use super::plan::{Loop, Part};
use super::stats::{Exchange as Note, Kind, Place, Watch, Why};
use super::{Share, World, check, here, stats};
use crate::abi::{Output, ParallelFn, Shared};
use crate::fault::{self, Fault, Report, Speaker};
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

/// Runs a parallel loop: ranks share it, or each of them computes the whole.
///
/// # Safety
/// As for [`pool::ravel_parallel`]; `whole` computes the loop.
pub(crate) unsafe fn run(
    (work, ctx): (ParallelFn, *mut u8),
    (n, chunk, late): (i64, i64, i64),
    shared: *const Shared,
    whole: impl FnOnce(),
) {
    // SAFETY: compiled code passes a declaration with its outputs behind it.
    let (declared, outputs) = unsafe {
        let declared = *shared;
        let count = usize::try_from(declared.count).unwrap_or(0);
        (declared, std::slice::from_raw_parts(shared.add(1).cast::<Output>(), count))
    };
    let given = Loop { n, chunk, late: late.max(0), in_turn: declared.uneven != 0 };
    let bytes = outputs.iter().map(|output| given.bytes(&given.part(0, 1), output)).sum();
    let mut note = Note {
        kind: if declared.partials != 0 { Kind::Partials } else { Kind::Gather },
        // SAFETY: compiled code passes a position that stays.
        place: unsafe { Place::at(declared.site) },
        cycles: declared.work as f64 * n as f64,
        chunks: given.chunks(),
        bytes,
        seconds_computing: 0.0,
        seconds_waiting: 0.0,
        seconds_moving: 0.0,
    };
    let mut watch = Watch::start();
    match here().ok_or(Why::OneRank).and_then(|world| world.pays(&note).map(|()| world)) {
        Ok(world) => {
            let exchange = Exchange::new(world, given, outputs);
            if world.settings.check > 0 {
                let sizes = [n, chunk, late, declared.work, bytes];
                world.check_place(&note.place.text(), &sizes).unwrap_or_else(|fault| fault::raise(fault));
            }
            let (least, found) = (AtomicI64::new(Exchange::GO_ON), Mutex::new(None));
            let sharing = Sharing { part: exchange.own(), exchange, work, ctx, given, least, found };
            // SAFETY: by contract.
            unsafe { sharing.run(&mut watch, &mut note) };
        }
        Err(why) => {
            whole();
            note.kind = Kind::Whole(why);
            note.seconds_computing = watch.lap();
        }
    }
    stats::note(&note);
}

impl World {
    /// Do ranks share a loop? Or why do they not?
    fn pays(&self, of: &Note) -> Result<(), Why> {
        match self.settings.share {
            _ if of.chunks < 2 => Err(Why::OneChunk),
            Share::Never => Err(Why::Never),
            Share::Auto if !self.settings.costs.pays(of.cycles, of.bytes as f64, self.count) => Err(Why::Costs),
            Share::Auto | Share::Always => Ok(()),
        }
    }
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
    let mut found = sharing.found.lock().unwrap_or_else(PoisonError::into_inner);
    if chunk < sharing.least.load(Ordering::Relaxed) {
        sharing.least.store(chunk, Ordering::Relaxed);
        *found = Some(report.clone());
    }
    drop(found);
    pool::leave_chunk();
    // SAFETY: this is the thread that began the loop, and no other works on it any more.
    let _ = unsafe { sharing.meet(&mut Watch::start()) };
    // Not reached: this rank has said that it cannot go on.
    fault::end_process(report)
}

impl Sharing<'_> {
    /// Computes this rank's part, and has those of the others.
    ///
    /// # Safety
    /// The outputs are live memory that nothing but the loop uses, and the loop's function may run on any thread.
    unsafe fn run(mut self, watch: &mut Watch, note: &mut Note) {
        // SAFETY: by contract.
        let before = (self.exchange.checks() > 1).then(|| unsafe { self.exchange.copied() });
        // SAFETY: by contract.
        unsafe { self.compute() };
        note.seconds_computing = watch.lap();
        // SAFETY: the part is computed, and no thread works on the loop any more.
        let gathered = unsafe { self.meet(watch) };
        (note.seconds_waiting, note.seconds_moving) = (gathered.waiting, gathered.moving);
        let Some(before) = before else { return };
        self.part = self.given.part(0, 1);
        // SAFETY: as above. Outputs have their old bytes, so that the loop can run again.
        let differs = unsafe {
            let together = self.exchange.copied();
            self.exchange.restore(&before);
            self.compute();
            check::differs(&before, &self.exchange.copied(), &together)
        };
        let what = format!("ranks have computed something else than each of them would at {}", note.place.text());
        self.exchange.all_agree(!differs, &what).unwrap_or_else(|fault| fault::raise(fault));
    }

    /// Computes the chunks of the part with all threads.
    ///
    /// # Safety
    /// The loop's function may run on any thread with its context.
    unsafe fn compute(&self) {
        let Sharing { part, .. } = self;
        // SAFETY: `chunk_of_part` may run on any thread, as the loop's function may, and `self` outlives the loop.
        unsafe { pool::run_part(chunk_of_part, std::ptr::from_ref(self).cast_mut().cast(), part.count(), part.late()) };
    }

    /// Exchanges what ranks have computed; does not return if one of them has found a fault.
    ///
    /// # Safety
    /// As for [`Exchange::gather`].
    unsafe fn meet(&self, watch: &mut Watch) -> Gathered {
        let own = self.least.load(Ordering::Relaxed);
        // SAFETY: by contract.
        let gathered = unsafe { self.exchange.gather(own, watch) }.unwrap_or_else(|fault| fault::raise(fault));
        if gathered.least == Exchange::GO_ON {
            return gathered;
        }
        let found = self.found.lock().ok().and_then(|mut found| found.take());
        let (mut report, speaker) = match found.filter(|_| own == gathered.least) {
            Some(report) => (report, Speaker::This),
            None => (Report::new(None, Fault::new("another rank has found a fault")), Speaker::Other),
        };
        report.fault.speaker = speaker;
        fault::end_process(report)
    }
}
