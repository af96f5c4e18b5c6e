//! What a run spends its time on, for `ravel run --profile`.
//!
//! The compiler numbers the with-loops and loops that sequential code runs, the *sites*, and calls [`ravel_profile_enter`] in front of each and
//! [`ravel_profile_leave`] behind it, with the cells, operations and bytes that it knows of. Here a tree grows from that: a node is a site as it is
//! reached by way of the sites around it. A site that takes less than a microsecond is mostly counted: only one call in [`SAMPLE`] is timed, and
//! stands for the others.
//!
//! Only the thread that begins the program has a tree, and not while it works on a chunk of a parallel loop: what threads do is part of the
//! site that starts them. Without [`watch`] nothing is recorded, and compiled code does not ask.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::time::Instant;

/// Calls of a node that are all timed, before it is known whether it is short.
const FIRST: u64 = 32;
/// Of short calls one in so many is timed.
const SAMPLE: u64 = 64;
/// A call that takes less is short.
const SHORT_NANOSECONDS: f64 = 1000.0;
/// Events that are kept for a time line; later ones are counted only.
const MOST_EVENTS: usize = 1 << 20;
/// The node of what is not in any site.
pub const ROOT: usize = 0;
/// What [`Event::node`] says of a thread's share of a parallel loop.
pub const NO_NODE: u32 = u32::MAX;
/// What [`Event::thread`] says of a kernel.
pub const DEVICE: u32 = u32::MAX;
/// Bytes from which on it is worth knowing how long an array took to get.
const TIMED_BYTES: usize = 4096;

/// A site as it is reached from the one around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// The site's number; nothing counts for the root.
    pub site: usize,
    /// The node around it.
    pub parent: usize,
    pub calls: u64,
    /// Calls whose time was taken.
    pub timed: u64,
    /// Seconds between enter and leave, with what is inside.
    pub total: f64,
    /// The same without what nodes inside it took.
    pub own: f64,
    pub cells: f64,
    pub operations: f64,
    pub bytes: f64,
    /// Seconds that threads worked on its parallel loops, of all threads together.
    pub busy: f64,
    /// Seconds that they could have worked.
    pub available: f64,
    /// Threads that its parallel loops had.
    pub threads: usize,
    /// Arrays that the thread which begins the program made, their bytes, and seconds until it had the memory.
    pub arrays: u64,
    pub allocated: f64,
    pub allocating: f64,
    /// Arrays copied because somebody else held them.
    pub copies: u64,
    /// Kernels started, and seconds that the device worked on them.
    pub launches: u64,
    pub device: f64,
}

/// A kernel's work, all of its launches together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    pub name: String,
    pub launches: u64,
    pub seconds: f64,
}

/// What a device did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceWork {
    /// Of the device.
    pub name: String,
    /// The one that took longest first.
    pub kernels: Vec<Kernel>,
    pub sent: u64,
    pub fetched: u64,
}

/// A launch as the device tells of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    /// The node that was open.
    pub node: u32,
    /// When it was queued, and nanoseconds from then until it began and ended.
    pub queued: u64,
    pub start: u64,
    pub end: u64,
}

/// A stretch of time, in seconds since the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// [`NO_NODE`] if a thread worked on a chunk.
    pub node: u32,
    /// The thread's number; 0 is the one that begins, [`DEVICE`] is none.
    pub thread: u32,
    pub start: f64,
    pub end: f64,
}

/// What was found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The first is the root; parents stand before what is inside.
    pub nodes: Vec<Node>,
    /// Calls of sites that are only counted, by number.
    pub counts: Vec<u64>,
    pub seconds: f64,
    pub threads: usize,
    pub events: Vec<Event>,
    /// Events that were too many to keep.
    pub lost_events: u64,
    /// Nothing if no device was used.
    pub device: Option<DeviceWork>,
}

/// A node while the program runs; times in ticks.
#[derive(Default)]
struct Growing {
    site: u32,
    parent: u32,
    /// The child that was entered last, which is likely the next one as well.
    last: u32,
    is_short: bool,
    calls: u64,
    timed: u64,
    timed_ticks: u64,
    total: u64,
    inside: u64,
    cells: f64,
    operations: f64,
    bytes: f64,
    busy: u64,
    available: u64,
    threads: usize,
    arrays: u64,
    allocated: u64,
    allocating: u64,
    copies: u64,
    launches: u64,
    /// Nanoseconds.
    device: u64,
    /// How often it is open: more than once in a recursion.
    open: u32,
    children: Vec<u32>,
}

/// A site that was entered.
struct Frame {
    node: u32,
    timed: bool,
    start: u64,
}

struct State {
    nodes: Vec<Growing>,
    stack: Vec<Frame>,
    started: u64,
    started_at: Instant,
    short_ticks: u64,
    with_events: bool,
    events: Vec<(u32, u32, u64, u64)>,
    lost_events: u64,
}

static ON: AtomicBool = AtomicBool::new(false);
static WITH_EVENTS: AtomicBool = AtomicBool::new(false);
static STATE: AtomicPtr<State> = AtomicPtr::new(null_mut());
static COUNTS: AtomicPtr<u64> = AtomicPtr::new(null_mut());
static COUNT: AtomicU64 = AtomicU64::new(0);
static AT_END: Mutex<Option<AtEnd>> = Mutex::new(None);

/// What becomes of a profile.
pub type AtEnd = Box<dyn FnOnce(Profile) + Send>;

thread_local! {
    /// The tree, on the thread that has it.
    static MINE: Cell<*mut State> = const { Cell::new(null_mut()) };
}

/// Records the program that begins next, with a time line if that is wanted. `at_end` gets the profile when the program ends, in whatever way.
pub fn watch(with_events: bool, at_end: AtEnd) {
    if let Ok(mut place) = AT_END.lock() {
        *place = Some(at_end);
    }
    WITH_EVENTS.store(with_events, Ordering::SeqCst);
    ON.store(true, Ordering::SeqCst);
}

/// Whether a program is recorded.
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// The time: of the processor where it has a clock that is cheap to read.
#[inline]
pub(crate) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has the instruction.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    {
        use std::sync::OnceLock;
        static BEGIN: OnceLock<Instant> = OnceLock::new();
        u64::try_from(BEGIN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Ticks of a second, roughly: for the question of what is short.
fn ticks_per_second() -> f64 {
    let (clock, start) = (Instant::now(), ticks());
    while clock.elapsed().as_micros() < 500 {
        std::hint::spin_loop();
    }
    ticks().saturating_sub(start) as f64 / clock.elapsed().as_secs_f64()
}

/// The program begins on this thread.
pub(crate) fn begin() {
    if !is_on() || !STATE.load(Ordering::SeqCst).is_null() {
        return;
    }
    let short = SHORT_NANOSECONDS * 1e-9 * ticks_per_second();
    let state = Box::new(State {
        nodes: vec![Growing { calls: 1, ..Growing::default() }],
        stack: Vec::with_capacity(64),
        started: ticks(),
        started_at: Instant::now(),
        short_ticks: short as u64,
        with_events: WITH_EVENTS.load(Ordering::SeqCst),
        events: Vec::new(),
        lost_events: 0,
    });
    let state = Box::into_raw(state);
    STATE.store(state, Ordering::SeqCst);
    MINE.set(state);
}

/// The program is over: hands the profile on. Does nothing a second time.
///
/// The thread that has the tree must not be in [`ravel_profile_enter`] or [`ravel_profile_leave`]: it has ended, or calls this, or waits.
pub fn finish() {
    let Some(at_end) = AT_END.lock().ok().and_then(|mut place| place.take()) else { return };
    ON.store(false, Ordering::SeqCst);
    MINE.set(null_mut());
    let state = STATE.load(Ordering::SeqCst);
    if state.is_null() {
        return at_end(Profile { nodes: vec![Node::default()], ..Profile::default() });
    }
    // SAFETY: the state is leaked, and by contract nobody changes it.
    let state = unsafe { &mut *state };
    let (device, launches) = crate::device::profiled();
    at_end(Profile { device, ..state.profile(&launches) });
}

impl State {
    /// The node of a site inside the one that is open.
    fn child(&mut self, site: u32) -> u32 {
        let around = self.stack.last().map_or(0, |frame| frame.node);
        let parent = &self.nodes[around as usize];
        let last = parent.last;
        if last != 0 && self.nodes[last as usize].site == site {
            return last;
        }
        let known = parent.children.iter().copied().find(|&child| self.nodes[child as usize].site == site);
        // A site that calls itself by way of others is one node, or the tree would grow with the recursion.
        let found = known
            .or_else(|| self.stack.iter().map(|frame| frame.node).find(|&node| self.nodes[node as usize].site == site));
        let found = found.unwrap_or_else(|| {
            let node = self.nodes.len() as u32;
            self.nodes.push(Growing { site, parent: around, ..Growing::default() });
            self.nodes[around as usize].children.push(node);
            node
        });
        self.nodes[around as usize].last = found;
        found
    }

    fn enter(&mut self, site: u32) {
        let node = self.child(site);
        let data = &mut self.nodes[node as usize];
        data.calls += 1;
        data.open += 1;
        let timed = !data.is_short || data.calls.is_multiple_of(SAMPLE);
        let start = if timed { ticks() } else { 0 };
        self.stack.push(Frame { node, timed, start });
    }

    fn leave(&mut self, cells: i64, operations: i64, bytes: i64) {
        let Some(frame) = self.stack.pop() else { return };
        let data = &mut self.nodes[frame.node as usize];
        data.cells += cells as f64;
        data.operations += operations as f64;
        data.bytes += bytes as f64;
        let took = if frame.timed {
            let end = ticks();
            let took = end.saturating_sub(frame.start);
            data.timed += 1;
            data.timed_ticks += took;
            if data.timed == FIRST {
                data.is_short = data.timed_ticks < FIRST * self.short_ticks;
            }
            if self.with_events {
                self.note(frame.node, 0, frame.start, end);
            }
            took
        } else {
            data.timed_ticks / data.timed.max(1)
        };
        self.close(frame.node, took);
    }

    /// A call of a node took so long.
    fn close(&mut self, node: u32, took: u64) {
        // Of a site inside itself only the outermost call counts.
        let data = &mut self.nodes[node as usize];
        data.open -= 1;
        if data.open == 0 {
            data.total += took;
        }
        let around = self.stack.last().map_or(0, |frame| frame.node);
        if around != node {
            self.nodes[around as usize].inside += took;
        }
    }

    fn note(&mut self, node: u32, thread: u32, start: u64, end: u64) {
        if self.events.len() < MOST_EVENTS {
            self.events.push((node, thread, start, end));
        } else {
            self.lost_events += 1;
        }
    }

    /// Adds what the device tells of a launch; `per_nanosecond` are ticks.
    fn launched(&mut self, launch: &Launch, per_nanosecond: f64) {
        let Some(data) = self.nodes.get_mut(launch.node as usize) else { return };
        data.launches += 1;
        data.device += launch.end.saturating_sub(launch.start);
        if self.with_events {
            let at = |nanoseconds: u64| launch.queued + (nanoseconds as f64 * per_nanosecond) as u64;
            self.note(launch.node, DEVICE, at(launch.start), at(launch.end));
        }
    }

    /// What is known now; sites that are open end now.
    fn profile(&mut self, launches: &[Launch]) -> Profile {
        let now = ticks();
        while let Some(frame) = self.stack.last() {
            let start = frame.start;
            if frame.timed {
                let node = frame.node;
                self.nodes[node as usize].timed += 1;
                if self.with_events {
                    self.note(node, 0, start, now);
                }
                self.stack.pop();
                self.close(node, now.saturating_sub(start));
            } else {
                self.stack.pop();
            }
        }
        let seconds = self.started_at.elapsed().as_secs_f64();
        let all = now.saturating_sub(self.started).max(1);
        self.nodes[ROOT].total = all;
        let second = seconds / all as f64;
        launches.iter().for_each(|launch| self.launched(launch, 1e-9 / second));
        let time = |ticks: u64| ticks as f64 * second;
        let node = |node: &Growing| Node {
            site: node.site as usize,
            parent: node.parent as usize,
            calls: node.calls,
            timed: node.timed,
            total: time(node.total),
            own: time(node.total.saturating_sub(node.inside)),
            cells: node.cells,
            operations: node.operations,
            bytes: node.bytes,
            busy: time(node.busy),
            available: time(node.available),
            threads: node.threads,
            arrays: node.arrays,
            allocated: node.allocated as f64,
            allocating: time(node.allocating),
            copies: node.copies,
            launches: node.launches,
            device: node.device as f64 * 1e-9,
        };
        let since = |at: u64| time(at.saturating_sub(self.started));
        let event = |&(node, thread, start, end): &(u32, u32, u64, u64)| Event {
            node,
            thread,
            start: since(start),
            end: since(end),
        };
        Profile {
            nodes: self.nodes.iter().map(node).collect(),
            counts: counts(),
            seconds,
            threads: crate::pool::threads(),
            events: self.events.iter().map(event).collect(),
            lost_events: self.lost_events,
            device: None,
        }
    }
}

/// The node that is open on this thread; nothing if it has no tree.
fn open_node<'a>() -> Option<&'a mut Growing> {
    let state = MINE.get();
    if state.is_null() {
        return None;
    }
    // SAFETY: the state is leaked, and only this thread has it.
    let state = unsafe { &mut *state };
    let node = state.stack.last().map_or(0, |frame| frame.node);
    Some(&mut state.nodes[node as usize])
}

/// The number of the node that is open, and the time, if this thread has the tree.
pub(crate) fn open_site() -> Option<(u32, u64)> {
    let state = MINE.get();
    if !is_on() || state.is_null() {
        return None;
    }
    // SAFETY: as above.
    let state = unsafe { &*state };
    Some((state.stack.last().map_or(0, |frame| frame.node), ticks()))
}

/// Gets memory for an array of so many bytes, and takes the time.
#[inline]
pub(crate) fn allocating<T>(bytes: usize, allocate: impl FnOnce() -> T) -> T {
    if !is_on() {
        return allocate();
    }
    let timed = bytes >= TIMED_BYTES;
    let start = if timed { ticks() } else { 0 };
    let block = allocate();
    if let Some(node) = open_node() {
        node.arrays += 1;
        node.allocated += bytes as u64;
        if timed {
            node.allocating += ticks().saturating_sub(start);
        }
    }
    block
}

/// An array was copied because somebody else holds it.
pub(crate) fn on_copy() {
    if is_on()
        && let Some(node) = open_node()
    {
        node.copies += 1;
    }
}

fn counts() -> Vec<u64> {
    let (place, count) = (COUNTS.load(Ordering::SeqCst), COUNT.load(Ordering::SeqCst));
    if place.is_null() {
        return Vec::new();
    }
    // SAFETY: `ravel_profile_counts` was called with so many numbers, which live as long as the code. Others may count at this
    // moment: what is read is then the number before or after that.
    (0..count as usize).map(|n| unsafe { place.add(n).read_volatile() }).collect()
}

/// A parallel loop of the pool: how long its threads worked, and when each did last.
pub(crate) struct Share {
    busy: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
}

impl Share {
    pub const fn new() -> Share {
        Share { busy: AtomicU64::new(0), start: AtomicU64::new(0), end: AtomicU64::new(0) }
    }

    /// Runs a thread's part of a loop.
    pub fn working(&self, work: impl FnOnce()) {
        if !is_on() {
            return work();
        }
        let start = ticks();
        work();
        let end = ticks();
        self.busy.fetch_add(end.saturating_sub(start), Ordering::Relaxed);
        self.start.store(start, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
    }
}

/// Runs a parallel loop on threads whose shares are given by number.
pub(crate) fn parallel<'s>(threads: usize, shares: impl Fn(usize) -> &'s Share, run: impl FnOnce()) {
    let state = if is_on() { MINE.replace(null_mut()) } else { null_mut() };
    if state.is_null() {
        return run();
    }
    for thread in 0..threads {
        shares(thread).busy.store(0, Ordering::Relaxed);
    }
    let start = ticks();
    run();
    let end = ticks();
    // SAFETY: the state is leaked, and only this thread has it.
    let state = unsafe { &mut *state };
    let node = state.stack.last().map_or(0, |frame| frame.node);
    let busy: u64 = (0..threads).map(|thread| shares(thread).busy.load(Ordering::Relaxed)).sum();
    let available = end.saturating_sub(start) * threads as u64;
    let data = &mut state.nodes[node as usize];
    data.available += available;
    data.busy += busy.min(available);
    data.threads = data.threads.max(threads);
    if state.with_events {
        for thread in 0..threads {
            let share = shares(thread);
            let (first, last) = (share.start.load(Ordering::Relaxed), share.end.load(Ordering::Relaxed));
            if share.busy.load(Ordering::Relaxed) > 0 && first >= start {
                state.note(NO_NODE, thread as u32, first, last);
            }
        }
    }
    MINE.set(std::ptr::from_mut(state));
}

/// A site begins.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_profile_enter(site: i64) {
    let state = MINE.get();
    if !state.is_null() {
        // SAFETY: the state is leaked, and only this thread has it.
        unsafe { &mut *state }.enter(site as u32);
    }
}

/// The site that was entered last ends; it had so many cells, operations on numbers, and bytes that it had to read or write.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_profile_leave(cells: i64, operations: i64, bytes: i64) {
    let state = MINE.get();
    if !state.is_null() {
        // SAFETY: as above.
        unsafe { &mut *state }.leave(cells, operations, bytes);
    }
}

/// Where compiled code counts the calls of sites that are only counted: one number for each site.
///
/// # Safety
/// `counts` points to `n` numbers that live as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_profile_counts(counts: *mut u64, n: i64) {
    COUNT.store(u64::try_from(n).unwrap_or(0), Ordering::SeqCst);
    COUNTS.store(counts, Ordering::SeqCst);
}

#[cfg(test)]
mod tests;
