//! Allocation statistics of a running program, for `--stats`, `RAVEL_STATS` and leak checks.
//!
//! Counting is off until [`enable`] because shared counters would serialize worker threads that allocate.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::{device, ranks};

static ENABLED: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);
static LIVE: AtomicI64 = AtomicI64::new(0);
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);
static PEAK_BYTES: AtomicI64 = AtomicI64::new(0);
static COPIES: AtomicI64 = AtomicI64::new(0);

/// Counts since [`enable`] or the last [`reset`]. Bytes are element bytes, without headers and padding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Stats {
    /// Objects created.
    pub allocations: i64,
    /// Element bytes of all objects created.
    pub bytes: i64,
    /// Objects that exist now.
    pub live: i64,
    /// Element bytes that exist now.
    pub live_bytes: i64,
    /// Largest value that `live_bytes` had.
    pub peak_bytes: i64,
    /// Deep copies made because a value was shared.
    pub copies: i64,
}

/// Starts counting. Objects that exist already are not counted, so call it before the program starts.
pub fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// Whether allocations are counted.
pub fn enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Sets all counts to zero.
pub fn reset() {
    for counter in [&ALLOCATIONS, &BYTES, &LIVE, &LIVE_BYTES, &PEAK_BYTES, &COPIES] {
        counter.store(0, Ordering::Relaxed);
    }
}

/// The counts so far.
pub fn snapshot() -> Stats {
    Stats {
        allocations: ALLOCATIONS.load(Ordering::Relaxed),
        bytes: BYTES.load(Ordering::Relaxed),
        live: LIVE.load(Ordering::Relaxed),
        live_bytes: LIVE_BYTES.load(Ordering::Relaxed),
        peak_bytes: PEAK_BYTES.load(Ordering::Relaxed),
        copies: COPIES.load(Ordering::Relaxed),
    }
}

pub(crate) fn on_allocate(bytes: usize) {
    if !enabled() {
        return;
    }
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes, Ordering::Relaxed);
    LIVE.fetch_add(1, Ordering::Relaxed);
    let live = LIVE_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
}

pub(crate) fn on_free(bytes: usize) {
    if !enabled() {
        return;
    }
    LIVE.fetch_sub(1, Ordering::Relaxed);
    LIVE_BYTES.fetch_sub(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
}

/// An object has so many element bytes now instead of others.
pub(crate) fn on_resize(before: usize, after: usize) {
    if !enabled() {
        return;
    }
    let change = i64::try_from(after).unwrap_or(i64::MAX).saturating_sub(i64::try_from(before).unwrap_or(i64::MAX));
    let live = LIVE_BYTES.fetch_add(change, Ordering::Relaxed) + change;
    PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
}

pub(crate) fn on_copy() {
    if enabled() {
        COPIES.fetch_add(1, Ordering::Relaxed);
    }
}

/// Fills `out` with the counts so far.
///
/// # Safety
/// `out` points to writable memory for one [`Stats`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_stats(out: *mut Stats) {
    // SAFETY: the caller provides the destination.
    unsafe { out.write(snapshot()) }
}

/// Prints the counts on stderr: a line, what ranks exchanged if there are several, and if a device was used two more and its time by kernel.
/// Of several ranks the first prints.
pub fn print() {
    if !ranks::is_root() {
        return;
    }
    let stats = snapshot();
    eprintln!(
        "run time: {} allocations, {} bytes, peak {} bytes, {} copies, {} live objects",
        stats.allocations, stats.bytes, stats.peak_bytes, stats.copies, stats.live
    );
    if let Some(summary) = ranks::summary() {
        eprint!("{summary}");
    }
    if let Some((device, counters)) = device::counters() {
        eprint!("device: {device}\n  {counters}\n{}", device::kernel_times());
    }
}
