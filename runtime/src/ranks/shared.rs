//! Parallel loops that ranks share.
//!
//! A rank computes its part of the indices with all of its threads. Then either ranks exchange what these left, and the program goes on everywhere with the
//! same memory; or large results stay in rows with those who have computed them ([`super::rows`]). Before, ranks get what their indices read of arrays in rows;
//! they begin with indices that need nothing of that, while it is under way. Whether a loop is shared follows from its shape and from costs that all ranks
//! have agreed on.
//!
//! A chunk may find a fault. Its rank then computes the chunks before it, which may find an earlier one, and tells the others the first index of the first that
//! did. The rank with the least index reports; so it is the same fault for any number of ranks.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::exchange::{Exchange, Gathered};
use super::intervals::Interval;
use super::mpi::Pending;
use super::plan::{Loop, Pieces};
use super::rows::{self, Fetch, Kept, Maker, Moved};
use super::stats::{Exchange as Note, Kind, Watch, Why};
use super::{Share, World, check, here, stats};
use crate::abi::{Output, ParallelFn, Read, Shared};
use crate::fault::{self, Fault, Report, Speaker};
use crate::pool;

/// A loop under way.
struct Sharing<'a> {
    exchange: Exchange<'a>,
    work: ParallelFn,
    ctx: *mut u8,
    pieces: Pieces,
    /// Rows that are under way.
    pending: Mutex<Option<Pending>>,
    /// The first index of the least chunk that found a fault.
    least: AtomicI64,
    found: Mutex<Option<Report>>,
}

/// The first index of the chunk that a thread is computing.
#[derive(Clone, Copy)]
struct Current {
    sharing: *const Sharing<'static>,
    first: i64,
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
    // SAFETY: compiled code passes a declaration with what it counts behind it.
    let (declared, reads, outputs) = unsafe {
        let declared = *shared;
        let count = |count: i64| usize::try_from(count).unwrap_or(0);
        let reads = std::slice::from_raw_parts(shared.add(1).cast::<Read>(), count(declared.reads));
        let outputs = std::slice::from_raw_parts(reads.as_ptr_range().end.cast::<Output>(), count(declared.count));
        (declared, reads, outputs)
    };
    let given = Loop { n, chunk, late: late.max(0), in_turn: declared.uneven != 0 };
    let mut note = Note {
        // SAFETY: compiled code passes a position that stays.
        place: unsafe { stats::Place::at(declared.site) },
        cycles: declared.work as f64 * n as f64,
        chunks: given.chunks(),
        ..Note::of(if declared.partials != 0 { Kind::Partials } else { Kind::Gather })
    };
    let mut watch = Watch::start();
    let why = match here() {
        None => {
            let all = |outputs: &[Output]| outputs.iter().map(|output| given.bytes(&given.part(0, 1), output)).sum();
            note.bytes = all(outputs);
            // SAFETY: declarations are true.
            let kept = if given.late == 0 { unsafe { rows::kept(n, outputs, 2, Share::Auto) } } else { None };
            if let Some(kept) = kept {
                // A trace tells what several ranks would do.
                (note.kind, note.bytes) = match (given.in_turn, kept.others.is_empty()) {
                    (true, _) => (Kind::Exchange, note.bytes),
                    // SAFETY: as above.
                    (false, true) => (Kind::Interval, unsafe { rows::beside(reads) }),
                    (false, false) => (note.kind, all(&kept.others)),
                };
                whole();
                return stats::note(&Note { seconds_computing: watch.lap(), ..note });
            }
            Why::OneRank
        }
        Some(world) => {
            // SAFETY: declarations are true.
            let way = unsafe { Way::of(world, given, (work as Maker, outputs), reads) };
            note.bytes = way.exchange.bytes() + way.handed;
            if world.settings.check > 0 {
                let stays = way.kept.as_ref().map_or(0, |kept| kept.outputs.len() as i64);
                let sizes = [n, chunk, late, declared.work, note.bytes, stays, way.moved.needed];
                world.check_place(&note.place.text(), &sizes).unwrap_or_else(|fault| fault::raise(fault));
            }
            match world.pays(&note, &way) {
                // SAFETY: by contract.
                Ok(()) => return unsafe { way.run((work, ctx), given, watch, note) },
                Err(why) => {
                    // SAFETY: declarations are true.
                    reads.iter().for_each(|read| unsafe { rows::gather(read.object, note.place) });
                    why
                }
            }
        }
    };
    whole();
    note.kind = Kind::Whole(why);
    note.seconds_computing = watch.lap();
    stats::note(&note);
}

/// How ranks would share a loop.
struct Way {
    /// What is gathered.
    exchange: Exchange<'static>,
    /// What stays in rows.
    kept: Option<Kept>,
    /// Ranks compute chunks and hand the rows that stay to their owners, who else would compute them: chunks are taken in turn, or leave more than rows.
    by_chunks: bool,
    /// Bytes of those rows.
    handed: i64,
    /// Bytes of what stays that will be gathered later, to go by what became of it before.
    later: f64,
    reads: Vec<Read>,
    /// The indices of each rank, if they lie side by side.
    indices: Vec<Option<Interval>>,
    moved: Moved,
}

impl Way {
    /// # Safety
    /// The declaration is true.
    unsafe fn of(world: &'static World, given: Loop, (maker, outputs): (Maker, &[Output]), reads: &[Read]) -> Way {
        let (n, ranks, share) = (given.n, world.count, world.settings.share);
        // SAFETY: by contract.
        let kept = if given.late == 0 { unsafe { rows::kept(n, outputs, ranks, share) } } else { None };
        let gathered = kept.as_ref().map_or(outputs, |kept| &kept.others).to_vec();
        let by_chunks = kept.is_some() && (given.in_turn || !gathered.is_empty());
        let exchange = Exchange::new(world, given, gathered);
        let of_chunks = || exchange.parts().iter().map(|part| given.indices(part)).collect();
        let (mut reads, mut handed) = (reads.to_vec(), 0);
        let indices: Vec<Option<Interval>> = match &kept {
            None => of_chunks(),
            Some(kept) if !by_chunks => world.indices(n, kept.place).into_iter().map(Some).collect(),
            Some(Kept { place, outputs, .. }) => {
                let indices: Vec<Option<Interval>> = of_chunks();
                let strange = |(indices, own): (&Option<Interval>, &Interval)| match indices {
                    Some(indices) => indices.len() - indices.and(*own).len(),
                    None => n / ranks as i64,
                };
                let rows: i64 = indices.iter().zip(&world.indices(n, *place)).map(strange).sum();
                handed = rows * outputs.iter().map(|output| output.stride).sum::<i64>();
                if !given.in_turn {
                    // Whole rows are sent, also what the loop leaves as it is in them.
                    let (low, high) = (place.first, place.first);
                    reads.extend(outputs.iter().map(|output| Read { object: output.object, factor: 1, low, high }));
                }
                indices
            }
        };
        // SAFETY: by contract.
        let moved = unsafe { rows::moved(&reads, &indices) };
        let later = kept.as_ref().map_or(0.0, |kept| kept.bytes() as f64 * rows::part_gathered(maker));
        Way { exchange, kept, by_chunks, handed, later, reads, indices, moved }
    }

    /// Runs the loop so.
    ///
    /// # Safety
    /// As for [`pool::ravel_parallel`]; the declaration is true.
    unsafe fn run(self, (work, ctx): (ParallelFn, *mut u8), given: Loop, mut watch: Watch, mut note: Note) {
        let Way { exchange, kept, by_chunks, reads, indices, moved, .. } = self;
        let world = exchange.world();
        let stays: &[Output] = kept.as_ref().map_or(&[], |kept| &kept.outputs);
        // Ranks are going to send each other whole rows of these, also what the loop leaves as it is in them.
        let sent = exchange.outputs().iter().chain(stays.iter().filter(|_| given.in_turn)).map(|output| output.object);
        // SAFETY: declarations are true.
        sent.filter(|object| !object.is_null()).for_each(|object| unsafe { rows::gather(object, note.place) });
        let (own, part) = (indices[world.rank], exchange.parts()[world.rank]);
        let is_changed = |read: &Read| stays.iter().any(|output| output.object == read.object);
        // SAFETY: declarations are true.
        let changes = reads.iter().any(|read| is_changed(read) && unsafe { rows::is_in_rows(read.object) });
        // SAFETY: declarations are true, and the loop ends after the rows have come.
        let mut fetch = unsafe { world.fetch(&reads, &indices) }.unwrap_or_else(|fault| fault::raise(fault));
        if let Some(Fetch { inner, .. }) = &mut fetch {
            if changes {
                // What is changed in place must have been sent.
                *inner = Interval::default();
            } else if kept.is_none() || by_chunks {
                *inner = inner.of_whole_chunks(given.chunk, given.n);
            }
        }
        let pieces = match own {
            Some(own) => Pieces::Indices([own, Interval::default()], given.chunk),
            None => Pieces::Chunks(given, part),
        };
        let (least, found) = (AtomicI64::new(Exchange::GO_ON), Mutex::new(None));
        let mut sharing = Sharing { exchange, work, ctx, pieces, pending: Mutex::new(None), least, found };
        // SAFETY: by contract.
        let before = (world.settings.check > 1 && kept.is_none()).then(|| unsafe { sharing.exchange.copied() });
        if let Some(fetch) = fetch {
            let arriving = Note { place: note.place, bytes: moved.needed, ..Note::of(Kind::Interval) };
            // SAFETY: by contract.
            note.seconds_waiting += unsafe { sharing.compute_while(fetch, own, &mut watch, &mut note) };
            if kept.is_none() || by_chunks {
                stats::note(&arriving);
            }
        }
        // SAFETY: by contract.
        unsafe { sharing.compute() };
        note.seconds_computing += watch.lap();
        // SAFETY: the part is computed, and no thread works on the loop any more.
        let gathered = unsafe { sharing.meet(&mut watch) };
        note.seconds_waiting += gathered.waiting;
        note.seconds_moving += gathered.moving;
        if let Some(Kept { place, outputs, .. }) = kept {
            // SAFETY: declarations are true, and this rank has computed its part.
            unsafe {
                if by_chunks {
                    note.kind = if given.in_turn { Kind::Exchange } else { note.kind };
                    note.bytes = sharing.exchange.bytes() + sharing.exchange.hand_over(place, &outputs);
                    note.seconds_moving += watch.lap();
                } else {
                    (note.kind, note.bytes) = (Kind::Interval, moved.needed);
                }
                world.keep(&outputs, work as Maker);
            }
        }
        if let Some(before) = before {
            // SAFETY: declarations are true. Outputs have their old bytes, so that the loop can run again.
            let differs = unsafe {
                reads.iter().for_each(|read| rows::gather(read.object, note.place));
                sharing.pieces = Pieces::Chunks(given, given.part(0, 1));
                let together = sharing.exchange.copied();
                sharing.exchange.restore(&before);
                sharing.compute();
                check::differs(&before, &sharing.exchange.copied(), &together, &sharing.exchange.memory())
            };
            let what = format!("ranks have computed something else than each of them would at {}", note.place.text());
            sharing.exchange.all_agree(!differs, &what).unwrap_or_else(|fault| fault::raise(fault));
        }
        stats::note(&note);
    }
}

impl World {
    /// Do ranks share a loop in such a way? Or why do they not?
    fn pays(&self, of: &Note, way: &Way) -> Result<(), Why> {
        let results = way.exchange.bytes() as f64 + way.handed as f64 / self.count as f64 + way.later;
        let moved = (way.moved.needed as f64, results, way.moved.gathered as f64);
        match self.settings.share {
            Share::Never => Err(Why::Never),
            _ if of.chunks < 2 && way.moved.gathered == 0 => Err(Why::OneChunk),
            Share::Auto if !self.settings.costs.pays(of.cycles, moved, self.count) => Err(Why::Costs),
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
    let Interval { low, high } = sharing.pieces.indices(k);
    // What comes behind a fault is not reported.
    if low > sharing.least.load(Ordering::Relaxed) {
        return;
    }
    sharing.poke();
    CURRENT.set(Some(Current { sharing, first: low }));
    // SAFETY: the caller of the loop promises that its function may run on any thread with its context.
    unsafe { (sharing.work)(sharing.ctx, low, high, slot) };
    CURRENT.set(None);
}

/// Whether this thread computes a chunk that ranks share.
pub(crate) fn is_in_chunk() -> bool {
    CURRENT.get().is_some()
}

/// A chunk that ranks share has found a fault, and this thread cannot return into it. The program ends where ranks meet.
pub(crate) fn end_in_chunk(report: Report) -> ! {
    let Some(Current { sharing, first }) = CURRENT.take() else { fault::end_process(report) };
    // SAFETY: the loop is under way.
    let sharing = unsafe { &*sharing };
    let mut found = sharing.found.lock().unwrap_or_else(PoisonError::into_inner);
    if first < sharing.least.load(Ordering::Relaxed) {
        sharing.least.store(first, Ordering::Relaxed);
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
    /// Computes what needs none of the rows that are under way, and waits for them; returns the seconds of waiting. The rest is still to be computed.
    ///
    /// # Safety
    /// As for [`Self::compute`].
    unsafe fn compute_while(&mut self, fetch: Fetch, own: Option<Interval>, watch: &mut Watch, note: &mut Note) -> f64 {
        let Fetch { pending, inner } = fetch;
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = Some(pending);
        if let (Pieces::Indices(stretches, _), Some(own)) = (&mut self.pieces, own)
            && !inner.is_empty()
        {
            stretches[0] = inner;
            // SAFETY: by contract.
            unsafe { self.compute() };
            if let Pieces::Indices(stretches, _) = &mut self.pieces {
                *stretches = own.without(inner);
            }
        }
        note.seconds_computing += watch.lap();
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(pending) = pending {
            self.exchange.world().finish(pending).unwrap_or_else(|fault| fault::raise(fault));
        }
        watch.lap()
    }

    /// Lets rows that are under way move on, on the thread that may talk to other ranks.
    fn poke(&self) {
        if let Some(world) = here()
            && let Ok(mut pending) = self.pending.try_lock()
            && let Some(pending) = &mut *pending
        {
            world.poke(pending);
        }
    }

    /// Computes the pieces with all threads.
    ///
    /// # Safety
    /// The loop's function may run on any thread with its context.
    unsafe fn compute(&self) {
        let (count, late) = (self.pieces.count(), self.pieces.late());
        // SAFETY: `chunk_of_part` may run on any thread, as the loop's function may, and `self` outlives the loop.
        unsafe { pool::run_part(chunk_of_part, std::ptr::from_ref(self).cast_mut().cast(), count, late) };
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
