//! The worker pool behind parallel with-loops.
//!
//! An index range is cut into chunks of a fixed size that the compiler chose from the shape alone, so partial results, one per
//! chunk, do not depend on the number of threads. Each thread starts on its own stretch of chunks (the same stretch every time,
//! which keeps its cache warm) and then helps the others. Late chunks are nobody's: whoever finds none of the others left takes the next. Workers spin for a short while between jobs, then sleep.
//!
//! Protocol: `state` holds the epoch of the current job and whether it is open for joining. The caller publishes a job by storing
//! the next epoch. A worker raises a flag of its own, works if the job is still open then, and lowers the flag. When no chunk
//! is left the caller closes the job and waits for the flags that are up. Sequential consistency makes the worker see that the job is
//! closed or the caller see the flag. Nobody writes a cache line that all others write, and workers that slept through a job
//! cost nothing.
//!
//! Starting and ending a job is a chain of cache misses. So the job lies beside the state that announces it, the flag of a worker apart from the chunks
//! it has taken, at which others look, and they look only until one of them has found no chunk left. What is taken bears the number of its job, so
//! that nobody has to reset it.

mod share;
#[cfg(test)]
mod tests;

use std::cell::{Cell, UnsafeCell};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::abi::{ParallelFn, Shared};
use crate::{forked, profile, ranks, stack, stop};
pub use share::ravel_has_idle_threads;
use share::{Inside, Offer, within};

/// How long an idle worker spins before it sleeps: longer than the gap between two with-loops of one computation and than one
/// chunk of another thread, shorter than a time slice. Waking all workers of a large machine takes as long as many a with-loop.
const SPIN_TIME: Duration = Duration::from_micros(1000);
/// Spin iterations between two looks at the clock.
const SPINS_PER_LOOK: u32 = 64;
/// Spin iterations of a caller that waits for the last workers before it yields its core to them.
const SPINS_BEFORE_YIELD: u32 = 4000;
/// Upper bound of the thread count that may be asked for.
pub const MAX_THREADS: usize = 1024;

const OPEN: u64 = 1;
const EPOCH: u64 = 2;

/// Keeps what different threads write on different cache lines.
#[repr(align(128))]
struct Apart<T>(T);

/// Chunks in a row, of which every thread may take the next.
struct Stretch {
    next: AtomicI64,
    end: AtomicI64,
}

impl Stretch {
    const fn new() -> Self {
        Stretch { next: AtomicI64::new(0), end: AtomicI64::new(0) }
    }

    fn set(&self, first: i64, end: i64) {
        self.next.store(first, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
    }

    fn has_chunks(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.end.load(Ordering::Relaxed)
    }

    /// Takes chunks until none is left.
    fn work(&self, job: &Job, slot: usize) {
        while self.has_chunks() {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            if chunk >= self.end.load(Ordering::Relaxed) {
                break;
            }
            job.run_chunk(chunk, slot);
        }
    }
}

/// How many chunks of a job each thread has taken of those it starts with, or others from it.
struct Taken(AtomicU64);

impl Taken {
    /// How many chunks of the job with this number are taken, of what was seen. What was taken of another job counts as nothing.
    fn of(seen: u64, number: u32) -> u32 {
        if (seen >> 32) as u32 == number { seen as u32 } else { 0 }
    }

    fn has(&self, number: u32, count: u32) -> bool {
        Taken::of(self.0.load(Ordering::Relaxed), number) < count
    }

    /// Takes the next of `count` chunks of the job with this number.
    fn take(&self, number: u32, count: u32) -> Option<i64> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let taken = Taken::of(seen, number);
            if taken >= count {
                return None;
            }
            let next = u64::from(number) << 32 | u64::from(taken + 1);
            match self.0.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(i64::from(taken)),
                Err(now) => seen = now,
            }
        }
    }
}

/// A thread's part in the jobs.
struct Slot {
    /// May the worker be reading the job? That of the caller, whose slot is 0, stays down.
    present: Apart<Presence>,
    taken: Taken,
}

struct Presence {
    is_up: AtomicBool,
    /// How long it works, for a profile: on the line that the caller reads anyway.
    share: profile::Share,
}

#[derive(Clone, Copy)]
struct Job {
    work: ParallelFn,
    ctx: *mut u8,
    n: i64,
    chunk: i64,
    session: u64,
}

/// How many chunks each thread starts with, and how many threads have one more.
#[derive(Clone, Copy)]
struct Shares {
    each: u32,
    extra: u32,
    /// Chunks behind those that belong to threads.
    late: u32,
    number: u32,
}

impl Shares {
    /// The first chunk of a slot of so many. Those with one more are spread evenly: however finely a loop is cut, a thread has the same
    /// part of its indices, and neighbours, which may share a core, are not all busy to the end.
    fn first(self, slot: usize, count: usize) -> i64 {
        let before = u64::from(self.extra) * slot as u64 / count as u64;
        i64::from(self.each) * slot as i64 + before as i64
    }
}

/// What the caller announces, in one cache line.
#[repr(C, align(128))]
struct Board {
    state: AtomicU64,
    job: UnsafeCell<Option<(Job, Shares)>>,
}

const _: () = assert!(size_of::<Option<(Job, Shares)>>() + size_of::<AtomicU64>() <= 64);

struct Pool {
    board: Board,
    slots: Box<[Apart<Slot>]>,
    /// How many late chunks are taken.
    late: Apart<Taken>,
    /// The last job of which a thread found no chunk left.
    hungry: Apart<AtomicU64>,
    /// The threads, by slot, that offer a loop inside their chunk.
    offering: Apart<AtomicU64>,
    offers: Box<[Apart<Offer>]>,
    busy: AtomicBool,
    quit: AtomicBool,
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    alarm: Condvar,
    spin_time: Duration,
}

// SAFETY: the job on the board is written only by the thread that holds `busy`, while no worker is present; workers read it only after joining,
// which reads the store that opened the job. The context pointer is the caller's promise (`ravel_parallel`).
unsafe impl Sync for Pool {}
// SAFETY: as above; nothing in a pool belongs to the thread that made it.
unsafe impl Send for Pool {}

static CURRENT: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());
static CREATE: Mutex<()> = Mutex::new(());
static REQUESTED: AtomicUsize = AtomicUsize::new(0);
/// Somebody has set the number.
static GIVEN: AtomicBool = AtomicBool::new(false);

thread_local! {
    static SLOT: Cell<i64> = const { Cell::new(0) };
}

/// Sets the number of threads of the parallel sections that start from now on, the calling thread included.
///
/// Call it between runs; sections that are running keep their threads.
pub fn set_threads(threads: usize) {
    REQUESTED.store(threads.clamp(1, MAX_THREADS), Ordering::SeqCst);
    GIVEN.store(true, Ordering::SeqCst);
    abandon();
}

/// The number of threads that somebody has asked for: [`set_threads`], else `RAVEL_THREADS`.
pub(crate) fn asked_for() -> Option<usize> {
    (GIVEN.load(Ordering::SeqCst) || std::env::var_os("RAVEL_THREADS").is_some()).then(threads)
}

/// Number of threads of a parallel section: what [`set_threads`] said, else `RAVEL_THREADS`, else the cores of the machine.
pub fn threads() -> usize {
    let requested = REQUESTED.load(Ordering::Relaxed);
    if requested != 0 {
        return requested;
    }
    let from_environment = std::env::var("RAVEL_THREADS").ok().and_then(|text| text.trim().parse::<usize>().ok());
    let threads = from_environment.filter(|&threads| threads > 0).unwrap_or_else(cores).min(MAX_THREADS);
    // Remembered so that the environment is asked once; a concurrent `set_threads` wins.
    let _ = REQUESTED.compare_exchange(0, threads, Ordering::SeqCst, Ordering::SeqCst);
    REQUESTED.load(Ordering::Relaxed)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// Detaches the current pool: idle workers end, the next parallel section starts fresh ones.
pub(crate) fn abandon() {
    let old = CURRENT.swap(std::ptr::null_mut(), Ordering::SeqCst);
    if old.is_null() {
        return;
    }
    // SAFETY: pools are leaked on creation, so the pointer is valid forever.
    let old = unsafe { &*old };
    old.quit.store(true, Ordering::SeqCst);
    if let Ok(_bed) = old.bed.lock() {
        old.alarm.notify_all();
    }
}

/// Nobody makes a pool meanwhile.
pub(crate) fn hold() -> MutexGuard<'static, ()> {
    CREATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads of the pool are not in this process: the next parallel section starts others.
pub(crate) fn forget(_held: MutexGuard<'static, ()>) {
    CURRENT.store(std::ptr::null_mut(), Ordering::SeqCst);
}

/// The current pool, created on first use. Pools are leaked: one per change of the thread count.
fn current() -> &'static Pool {
    let pool = CURRENT.load(Ordering::Acquire);
    if !pool.is_null() {
        // SAFETY: leaked on creation.
        return unsafe { &*pool };
    }
    let _guard = CREATE.lock();
    let pool = CURRENT.load(Ordering::Acquire);
    if !pool.is_null() {
        // SAFETY: leaked on creation.
        return unsafe { &*pool };
    }
    forked::watch();
    let threads = threads();
    let pool: &'static Pool = Box::leak(Box::new(Pool {
        board: Board { state: AtomicU64::new(0), job: UnsafeCell::new(None) },
        slots: (0..threads)
            .map(|_| Apart(Slot { present: Apart(Presence::new()), taken: Taken(AtomicU64::new(0)) }))
            .collect(),
        late: Apart(Taken(AtomicU64::new(0))),
        hungry: Apart(AtomicU64::new(0)),
        offering: Apart(AtomicU64::new(0)),
        offers: (0..threads).map(|_| Apart(Offer::new())).collect(),
        busy: AtomicBool::new(false),
        quit: AtomicBool::new(false),
        sleepers: AtomicUsize::new(0),
        bed: Mutex::new(()),
        alarm: Condvar::new(),
        // With more threads than cores a spinning worker only takes the core from a working one.
        spin_time: if threads * ranks::sharing_cores() <= cores() { SPIN_TIME } else { Duration::ZERO },
    }));
    for slot in 1..threads {
        // A worker that cannot be started is missing, not fatal: the others take its chunks.
        let _ = stack::spawn("ravel-worker", stack::WORKER_STACK, move || pool.serve(slot));
    }
    CURRENT.store(std::ptr::from_ref(pool).cast_mut(), Ordering::Release);
    pool
}

impl Presence {
    const fn new() -> Presence {
        Presence { is_up: AtomicBool::new(false), share: profile::Share::new() }
    }
}

impl Pool {
    fn time_of(&self, slot: usize) -> &profile::Share {
        &self.slots[slot].0.present.0.share
    }

    /// A worker's life.
    fn serve(&self, slot: usize) {
        SLOT.set(i64::try_from(slot).unwrap_or(0));
        let mut seen = 0;
        loop {
            let Some(epoch) = self.await_job(seen, slot) else { return };
            seen = epoch;
            // SAFETY: this worker is present, so the caller neither writes the job nor returns until it leaves.
            if let Some((job, shares)) = unsafe { *self.board.job.get() } {
                self.working_for(&job, || {
                    let work = || within(Inside::Chunk(self), || self.work(&job, shares, slot));
                    self.time_of(slot).working(work);
                    self.is_idle();
                });
            }
            self.slots[slot].0.present.0.is_up.store(false, Ordering::Release);
        }
    }

    /// Works for the session of a job, unless the pool is abandoned: the session may be over then, and its memory gone. Who stops a
    /// session has abandoned its pool before: either this thread sees that, or it is seen to work for the session.
    fn working_for(&self, job: &Job, work: impl FnOnce()) {
        let before = stop::enter_session(job.session);
        if !self.quit.load(Ordering::SeqCst) {
            work();
        }
        stop::enter_session(before);
    }

    /// Joins the next open job after `seen` and returns its epoch; `None` when the pool ends. Helps others meanwhile.
    fn await_job(&self, seen: u64, slot: usize) -> Option<u64> {
        loop {
            if let Some(epoch) = self.spin(seen, slot) {
                return Some(epoch);
            }
            let Ok(mut bed) = self.bed.lock() else { return None };
            // The caller stores the state and then reads `sleepers`; this thread does the reverse. Sequential consistency makes
            // one of the two see the other, and the lock keeps the alarm from ringing between the check and the wait.
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            let woken = loop {
                if self.quit.load(Ordering::SeqCst) {
                    break None;
                }
                if let Some(epoch) = self.try_join(seen, slot) {
                    break Some(Some(epoch));
                }
                if self.is_offering() {
                    break Some(None);
                }
                match self.alarm.wait(bed) {
                    Ok(guard) => bed = guard,
                    Err(_) => break None,
                }
            };
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
            match woken {
                None => return None,
                Some(Some(epoch)) => return Some(epoch),
                Some(None) => {}
            }
        }
    }

    /// Joins the next open job if it comes before it is time to sleep.
    fn spin(&self, seen: u64, slot: usize) -> Option<u64> {
        let mut started = Instant::now();
        loop {
            for _ in 0..SPINS_PER_LOOK {
                if let Some(epoch) = self.try_join(seen, slot) {
                    return Some(epoch);
                }
                if self.help(slot) {
                    started = Instant::now();
                }
                spin_loop();
            }
            if self.quit.load(Ordering::Relaxed) || started.elapsed() >= self.spin_time {
                return None;
            }
        }
    }

    /// Wakes the workers that sleep.
    fn wake(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0
            && let Ok(_bed) = self.bed.lock()
        {
            self.alarm.notify_all();
        }
    }

    fn try_join(&self, seen: u64, slot: usize) -> Option<u64> {
        let state = self.board.state.load(Ordering::SeqCst);
        if state & OPEN == 0 || state / EPOCH == seen {
            return None;
        }
        let present = &self.slots[slot].0.present.0.is_up;
        present.store(true, Ordering::SeqCst);
        // By now another job may be open; that one is joined then.
        let state = self.board.state.load(Ordering::SeqCst);
        if state & OPEN != 0 {
            return Some(state / EPOCH);
        }
        present.store(false, Ordering::Release);
        None
    }

    /// Takes chunks until none is left, first those that the thread starts with, then those of others, then late ones.
    fn work(&self, job: &Job, shares: Shares, slot: usize) {
        let count = self.slots.len();
        // No thread has more. To know that none is left takes no division then.
        let most = shares.each + u32::from(shares.extra > 0);
        for victim in (slot..count).chain(0..slot) {
            if victim != slot && self.has_idle_threads() {
                return;
            }
            if !self.slots[victim].0.taken.has(shares.number, most) {
                continue;
            }
            let (first, end) = (shares.first(victim, count), shares.first(victim + 1, count));
            let chunks = u32::try_from(end - first).unwrap_or(0);
            while let Some(taken) = self.slots[victim].0.taken.take(shares.number, chunks) {
                job.run_chunk(first + taken, slot);
            }
        }
        if shares.late > 0 {
            let first = shares.first(count, count);
            while let Some(taken) = self.late.0.take(shares.number, shares.late) {
                job.run_chunk(first + taken, slot);
            }
        }
    }

    /// Runs a job of so many chunks, and so many late ones, with all threads; the caller holds `busy`.
    fn run(&self, job: Job, chunks: u32, late: u32) {
        let count = u32::try_from(self.slots.len()).unwrap_or(1);
        let epoch = (self.board.state.load(Ordering::Relaxed) / EPOCH + 1) * EPOCH;
        let shares = Shares { each: chunks / count, extra: chunks % count, late, number: (epoch / EPOCH) as u32 };
        if shares.number == 0 {
            // Numbers begin anew.
            let slots = self.slots.iter().map(|Apart(slot)| &slot.taken);
            slots.chain([&self.late.0]).for_each(|taken| taken.0.store(0, Ordering::Relaxed));
        }
        // SAFETY: the caller holds `busy` and the last job ended with no worker present; who comes now finds it closed.
        unsafe { *self.board.job.get() = Some((job, shares)) };
        self.board.state.store(epoch | OPEN, Ordering::SeqCst);
        self.wake();
        self.time_of(0).working(|| within(Inside::Chunk(self), || self.work(&job, shares, 0)));
        self.end();
    }

    /// Closes the job and waits until all have left it; the caller holds `busy`, and no chunk is left.
    fn end(&self) {
        self.is_idle();
        self.board.state.fetch_and(!OPEN, Ordering::SeqCst);
        let mut spins = 0;
        for Apart(slot) in &self.slots {
            while slot.present.0.is_up.load(Ordering::SeqCst) {
                if self.help(0) {
                    continue;
                }
                spins += 1;
                if spins < SPINS_BEFORE_YIELD {
                    spin_loop();
                } else {
                    // The worker may have found a fault.
                    stop::check();
                    std::thread::yield_now();
                }
            }
        }
    }
}

impl Job {
    /// Runs all chunks on all threads, unless there is one chunk or the threads are busy.
    fn run(self, chunks: i64, late: i64) {
        if !run_on_threads(self, chunks, late) {
            self.run_alone(chunks, 0);
        }
    }

    /// Runs all chunks, one after the other, on this thread.
    fn run_alone(self, chunks: i64, slot: usize) {
        for number in 0..chunks {
            self.run_chunk(number, slot);
        }
    }

    fn run_chunk(&self, chunk: i64, slot: usize) {
        stop::check();
        let lo = chunk * self.chunk;
        let hi = self.n.min(lo.saturating_add(self.chunk));
        // SAFETY: the caller of `ravel_parallel` promises that the work function may run on any thread with this context.
        unsafe { (self.work)(self.ctx, lo, hi, i64::try_from(slot).unwrap_or(0)) }
    }
}

/// Runs the part of a loop that a rank has, so many chunks of which the last ones are late: `work(ctx, k, k + 1, slot)` for each. Ranks share no loop inside.
///
/// # Safety
/// As for [`ravel_parallel`].
pub(crate) unsafe fn run_part(work: ParallelFn, ctx: *mut u8, count: i64, late: i64) {
    let job = Job { work, ctx, n: count, chunk: 1, session: stop::session() };
    if !run_on_threads(job, count, late) {
        within(Inside::InnerChunk, || job.run_alone(count, 0));
    }
}

/// Runs the chunks of a job on all threads, unless there is only one or they are busy.
fn run_on_threads(job: Job, chunks: i64, late: i64) -> bool {
    if chunks < 2 || threads() < 2 {
        return false;
    }
    let pool = current();
    let Ok(chunks) = u32::try_from(chunks) else { return false };
    if pool.busy.swap(true, Ordering::Acquire) {
        return false;
    }
    let late = u32::try_from(late).unwrap_or(0).min(chunks);
    profile::parallel(pool.slots.len(), |slot| pool.time_of(slot), || pool.run(job, chunks - late, late));
    pool.busy.store(false, Ordering::Release);
    true
}

/// Goes on with the chunks of a job from inside one that cannot return. The thread that began the job comes back when all have left it, others do not.
pub(crate) fn leave_chunk() {
    let slot = usize::try_from(SLOT.get()).unwrap_or(0);
    let pool = CURRENT.load(Ordering::Acquire);
    // SAFETY: pools are leaked on creation.
    let Some(pool) = (unsafe { pool.as_ref() }).filter(|pool| pool.busy.load(Ordering::Relaxed)) else { return };
    // SAFETY: this thread is present, or began the job.
    if let Some((job, shares)) = unsafe { *pool.board.job.get() } {
        within(Inside::Chunk(pool), || pool.work(&job, shares, slot));
    }
    if slot == 0 {
        return pool.end();
    }
    pool.is_idle();
    pool.slots[slot].0.present.0.is_up.store(false, Ordering::Release);
    loop {
        std::thread::park();
    }
}

/// Runs `work(ctx, lo, hi, slot)` for the chunks `[0,chunk) [chunk,2*chunk) ...` of `0..n`, on all threads, and returns when all
/// are done. The last chunk may be shorter. The last `late` chunks are begun when all others have been. `slot` is in `0..ravel_threads()`; no two chunks run with the same slot of one call
/// at a time. A call from inside a chunk runs its chunks in order on the calling thread, unless other threads are idle and help; one from deeper
/// inside always does. Where `shared` says what chunks leave behind, ranks may share them.
///
/// # Safety
/// `work` may be called from any thread with `ctx`, concurrently for different chunks. `shared` is null, or a declaration that holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_parallel(
    work: ParallelFn,
    ctx: *mut u8,
    n: i64,
    chunk: i64,
    late: i64,
    shared: *const Shared,
) {
    if n <= 0 {
        return;
    }
    let chunk = chunk.clamp(1, n);
    let chunks = (n - 1) / chunk + 1;
    let job = Job { work, ctx, n, chunk, session: stop::session() };
    let slot = usize::try_from(SLOT.get()).unwrap_or(0);
    match share::inside() {
        Inside::Nothing if !shared.is_null() && ranks::are_there() => {
            // SAFETY: by contract.
            unsafe { ranks::shared::run((work, ctx), (n, chunk, late), shared, || job.run(chunks, late)) }
        }
        Inside::Nothing => job.run(chunks, late),
        Inside::Chunk(pool) if chunks > 1 => {
            // SAFETY: pools are leaked on creation.
            unsafe { &*pool }.run_inner(job, chunks, slot);
        }
        Inside::Chunk(_) | Inside::InnerChunk => job.run_alone(chunks, slot),
    }
}

/// Number of slots that parallel sections use.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_threads() -> i64 {
    i64::try_from(threads()).unwrap_or(1)
}
