//! What ranks computed, moved and waited for: counted while statistics are on, gathered by rank 0 at the end.
//!
//! Who exchanges something times it with a [`Watch`] and says so with [`note`]; without statistics both cost a look at a flag. Loops that could be
//! shared and are not are noted as well, also in a program of one rank: from such a trace the simulator knows what there would be to share.
//!
//! Only the thread that runs the program notes anything. All ranks note the same exchanges in the same order, for they all meet at them.

mod report;
mod trace;

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::World;
use super::plan::Costs;
use crate::fault::Fault;
use report::Record;

/// What was exchanged, or why nothing was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// Rows of arrays, so that every rank has all.
    Gather,
    /// Partial results of folds.
    Partials,
    /// Results of natives that rank 0 ran.
    Broadcast,
    /// Rows that ranks need beside their own: results stay where they are computed.
    Interval,
    /// Every rank's rows for every other.
    Exchange,
    /// Nothing: every rank computed the whole loop.
    Whole(Why),
}

/// Why a loop that ranks could share was not shared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Why {
    /// Gathering costs more than the work.
    Costs,
    /// It has one chunk.
    OneChunk,
    /// `RAVEL_RANKS_SHARE=never` says so.
    Never,
    /// There is one rank.
    OneRank,
}

/// A parallel loop with what ranks exchanged behind it, as one of them saw it. Of a loop with several exchanges the first has the loop's cycles,
/// chunks and seconds of computing, the others have none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub kind: Kind,
    pub place: Place,
    /// Estimated cycles of the whole loop, of all ranks together.
    pub cycles: f64,
    /// Chunks of the whole loop.
    pub chunks: i64,
    /// Bytes that a rank has afterwards, its own included: those of the whole result. Of a loop that is not shared, those that would be gathered. Of
    /// an interval, those that the rank gets that gets most.
    pub bytes: i64,
    /// Seconds that this rank took for its chunks.
    pub seconds_computing: f64,
    /// Seconds until all ranks had met: with the time of what is small, and travels then.
    pub seconds_waiting: f64,
    /// Seconds in which the rest moved.
    pub seconds_moving: f64,
}

impl Exchange {
    /// One without a loop, of no bytes and no time.
    pub(crate) fn of(kind: Kind) -> Exchange {
        Exchange {
            kind,
            place: Place::NONE,
            cycles: 0.0,
            chunks: 0,
            bytes: 0,
            seconds_computing: 0.0,
            seconds_waiting: 0.0,
            seconds_moving: 0.0,
        }
    }
}

/// The position of a loop in its source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(*const c_char);

impl Place {
    /// What is exchanged outside of loops has none.
    pub(crate) const NONE: Place = Place(std::ptr::null());

    /// # Safety
    /// The text is NUL-terminated and stays until the program ends, or this is null.
    pub(crate) unsafe fn at(text: *const c_char) -> Place {
        Place(text)
    }

    /// The position alone, without the source line that stands below it.
    pub(super) fn text(self) -> String {
        if self.0.is_null() {
            return String::new();
        }
        // SAFETY: not null, so a NUL-terminated text, by contract of `at`.
        let text = unsafe { CStr::from_ptr(self.0) }.to_string_lossy();
        text.lines().next().unwrap_or_default().to_string()
    }
}

/// Takes the times of what is noted. Reads no clock without statistics.
pub(crate) struct Watch(Option<Instant>);

impl Watch {
    pub(crate) fn start() -> Watch {
        Watch(is_on().then(Instant::now))
    }

    /// Seconds since the start or the last lap; 0 without statistics.
    pub(crate) fn lap(&mut self) -> f64 {
        self.0.as_mut().map_or(0.0, |since| {
            let now = Instant::now();
            (now - std::mem::replace(since, now)).as_secs_f64()
        })
    }
}

/// Whether exchanges are noted: on all ranks, or on none.
pub(crate) fn is_on() -> bool {
    COUNTING.load(Ordering::Relaxed)
}

/// Whether a trace is written. Then loops that could be shared are noted in a program of one rank, too.
pub(crate) fn is_tracing() -> bool {
    TRACING.load(Ordering::Relaxed)
}

/// Counts an exchange, or a loop without one. Call it when it is over.
pub(crate) fn note(exchange: &Exchange) {
    if is_on()
        && let Some(notes) = &mut *notes()
    {
        notes.add(exchange);
    }
}

/// Counts a broadcast. Other ranks than 0 wait for what it does before: that cannot be told from moving.
pub(crate) fn note_broadcast(bytes: usize, seconds: f64, is_root: bool) {
    let (waiting, moving) = if is_root { (0.0, seconds) } else { (seconds, 0.0) };
    note(&Exchange {
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        seconds_waiting: waiting,
        seconds_moving: moving,
        ..Exchange::of(Kind::Broadcast)
    });
}

/// Begins to count, if rank 0 has been asked to.
///
/// # Errors
/// A trace is wanted where no file can stand.
pub(super) fn start(world: Option<&World>) -> Result<(), Fault> {
    let is_wanted = std::env::var_os("RAVEL_STATS").is_some_and(|value| value == "ranks");
    let mut wishes = [u8::from(crate::stats::enabled()), u8::from(is_wanted)];
    match world {
        // Launchers need not hand on variables: all ranks do what rank 0 was told.
        Some(world) => world.broadcast(&mut wishes)?,
        None if !is_wanted => return Ok(()),
        None => {}
    }
    let [counts, traces] = wishes.map(|wish| wish != 0);
    if !counts && !traces {
        return Ok(());
    }
    if traces && super::is_root() {
        trace::check()?;
    }
    crate::stats::enable();
    COUNTING.store(true, Ordering::Relaxed);
    TRACING.store(traces, Ordering::Relaxed);
    *notes() = Some(Notes::new(world.map(|world| world.settings.costs), traces));
    Ok(())
}

/// Gathers what all ranks have noted, and writes the trace.
///
/// # Errors
/// The trace cannot be written, or the ranks do not answer.
pub(super) fn finish(world: Option<&World>) -> Result<(), Fault> {
    let Some(mut notes) = notes().take() else { return Ok(()) };
    let seconds = notes.began.elapsed().as_secs_f64();
    let rest = notes.last.elapsed().as_secs_f64();
    if let Some(world) = world {
        let own = Record::own(seconds, notes.totals);
        let records = gather(world, &own.to_bytes())?;
        let records: Vec<Record> = records.chunks(Record::BYTES).map(Record::from_bytes).collect();
        if world.rank() == 0 {
            *report() = Some(report::text(&records, &notes.sites, &world.mpi.version));
        }
    }
    if !notes.traces {
        return Ok(());
    }
    let slowest = trace::gather(world, &mut notes.events)?;
    if super::is_root() { trace::write(&notes, &slowest, world, seconds, rest) } else { Ok(()) }
}

/// As many bytes of each rank, in their order.
fn gather(world: &World, own: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut all = vec![0; own.len() * world.count()];
    world.all_gather(own, &mut all)?;
    Ok(all)
}

/// What statistics say of ranks, if there were any: lines for stderr.
pub(crate) fn summary() -> Option<String> {
    report().take()
}

static REPORT: Mutex<Option<String>> = Mutex::new(None);

fn report() -> MutexGuard<'static, Option<String>> {
    REPORT.lock().unwrap_or_else(PoisonError::into_inner)
}

static COUNTING: AtomicBool = AtomicBool::new(false);
static TRACING: AtomicBool = AtomicBool::new(false);
static NOTES: Mutex<Option<Notes>> = Mutex::new(None);

fn notes() -> MutexGuard<'static, Option<Notes>> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Exchanges of which a trace tells; later ones are counted only.
const MOST_EVENTS: usize = 1 << 20;

/// What this rank has noted.
struct Notes {
    /// When the program began, and when the last exchange was over.
    began: Instant,
    last: Instant,
    /// What a network takes, as ranks have measured it.
    costs: Option<Costs>,
    /// Whether events are kept.
    traces: bool,
    sites: Vec<Site>,
    /// The number of the site whose text lies at an address.
    numbers: HashMap<usize, usize>,
    totals: [Totals; Kind::COUNT],
    events: Vec<Event>,
    /// Exchanges that are not among the events.
    left_out: u64,
}

/// A loop, with how often it was shared and how often not.
struct Site {
    text: String,
    totals: [Totals; Kind::COUNT],
}

/// All exchanges of a kind.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Totals {
    times: f64,
    /// Those that are the only or the first one of a loop.
    loops: f64,
    bytes: f64,
    /// Those of arrays in rows that were gathered for somebody who is no shared loop.
    asked: f64,
    computing: f64,
    waiting: f64,
    moving: f64,
}

/// An exchange in a trace.
struct Event {
    kind: Kind,
    site: usize,
    cycles: f64,
    chunks: i64,
    bytes: i64,
    /// Seconds since the end of the exchange before that are not the loop's: what every rank does.
    replicated: f64,
    computing: f64,
    waiting: f64,
    moving: f64,
}

impl Kind {
    const ALL: [Kind; 9] = [
        Kind::Gather,
        Kind::Partials,
        Kind::Broadcast,
        Kind::Interval,
        Kind::Exchange,
        Kind::Whole(Why::Costs),
        Kind::Whole(Why::OneChunk),
        Kind::Whole(Why::Never),
        Kind::Whole(Why::OneRank),
    ];
    const COUNT: usize = Kind::ALL.len();

    fn number(self) -> usize {
        Kind::ALL.iter().position(|kind| *kind == self).unwrap_or(0)
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Gather => "gather",
            Kind::Partials => "partials",
            Kind::Broadcast => "broadcast",
            Kind::Interval => "interval",
            Kind::Exchange => "exchange",
            Kind::Whole(_) => "whole",
        }
    }
}

impl Totals {
    fn add(&mut self, exchange: &Exchange) {
        self.times += 1.0;
        self.loops += f64::from(u8::from(exchange.chunks > 0));
        self.bytes += exchange.bytes as f64;
        if exchange.kind == Kind::Gather && exchange.chunks == 0 {
            self.asked += exchange.bytes as f64;
        }
        self.computing += exchange.seconds_computing;
        self.waiting += exchange.seconds_waiting;
        self.moving += exchange.seconds_moving;
    }
}

impl Notes {
    fn new(costs: Option<Costs>, traces: bool) -> Notes {
        let now = Instant::now();
        Notes {
            began: now,
            last: now,
            costs,
            traces,
            sites: Vec::new(),
            numbers: HashMap::new(),
            totals: Default::default(),
            events: Vec::new(),
            left_out: 0,
        }
    }

    fn site(&mut self, place: Place) -> usize {
        let sites = &mut self.sites;
        *self.numbers.entry(place.0.addr()).or_insert_with(|| {
            let text = place.text();
            // Compiled code may have the same text in several places.
            sites.iter().position(|site| site.text == text).unwrap_or_else(|| {
                sites.push(Site { text, totals: Default::default() });
                sites.len() - 1
            })
        })
    }

    fn add(&mut self, exchange: &Exchange) {
        let Exchange { kind, cycles, chunks, bytes, .. } = *exchange;
        let Exchange { seconds_computing: computing, seconds_waiting: waiting, seconds_moving: moving, .. } = *exchange;
        let site = self.site(exchange.place);
        self.totals[kind.number()].add(exchange);
        self.sites[site].totals[kind.number()].add(exchange);
        if !self.traces {
            return;
        }
        let now = Instant::now();
        let between = (now - std::mem::replace(&mut self.last, now)).as_secs_f64();
        if self.events.len() == MOST_EVENTS {
            self.left_out += 1;
            return;
        }
        let replicated = (between - computing - waiting - moving).max(0.0);
        self.events.push(Event { kind, site, cycles, chunks, bytes, replicated, computing, waiting, moving });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(kind: Kind, text: &'static CStr, chunks: i64) -> Exchange {
        Exchange {
            kind,
            // SAFETY: the text is static.
            place: unsafe { Place::at(text.as_ptr()) },
            cycles: 3e6,
            chunks,
            bytes: 80,
            seconds_computing: 1.0,
            seconds_waiting: 0.25,
            seconds_moving: 0.5,
        }
    }

    #[test]
    fn totals_are_kept_by_kind_and_by_position() {
        let mut notes = Notes::new(None, false);
        // The same position in two pieces of compiled code; what follows its first line does not count.
        for text in [c"p.sac:1:2 in f", c"p.sac:1:2 in f\n 1 | text", c"p.sac:3:4 in f"] {
            notes.add(&exchange(Kind::Gather, text, 10));
        }
        notes.add(&Exchange { place: Place::NONE, ..exchange(Kind::Broadcast, c"", 0) });
        let texts: Vec<&str> = notes.sites.iter().map(|site| site.text.as_str()).collect();
        assert_eq!(texts, ["p.sac:1:2 in f", "p.sac:3:4 in f", ""]);
        let gathers =
            Totals { times: 3.0, loops: 3.0, bytes: 240.0, asked: 0.0, computing: 3.0, waiting: 0.75, moving: 1.5 };
        assert_eq!(notes.totals[Kind::Gather.number()], gathers);
        assert_eq!(notes.sites[0].totals[Kind::Gather.number()].times, 2.0);
        assert_eq!(notes.totals[Kind::Broadcast.number()].loops, 0.0);
        assert!(notes.events.is_empty());
    }

    #[test]
    fn a_trace_has_what_lay_between_exchanges() {
        let mut notes = Notes::new(None, true);
        let short = Exchange {
            seconds_computing: 0.0,
            seconds_waiting: 0.0,
            seconds_moving: 0.0,
            ..exchange(Kind::Whole(Why::OneRank), c"p", 2)
        };
        notes.add(&short);
        std::thread::sleep(std::time::Duration::from_millis(2));
        notes.add(&short);
        // No time is left between exchanges that are said to have taken longer than there was.
        notes.add(&exchange(Kind::Partials, c"p", 2));
        let between: Vec<f64> = notes.events.iter().map(|event| event.replicated).collect();
        assert!(between[1] >= 2e-3 && between[2] == 0.0, "{between:?}");
        assert_eq!(notes.events[2].kind.name(), "partials");
    }

    #[test]
    fn kinds_have_numbers_of_their_own() {
        assert!(Kind::ALL.iter().enumerate().all(|(number, kind)| kind.number() == number));
    }

    #[test]
    fn a_watch_reads_no_clock_without_statistics() {
        assert!(!is_on());
        assert_eq!((Watch::start().0, Watch::start().lap()), (None, 0.0));
    }
}
