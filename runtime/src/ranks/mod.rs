//! Ranks: processes that a launcher has started for one program, on one machine or on many.
//!
//! Every rank runs the whole program on the same values. Ranks share chunks of parallel loops; what has an effect outside of the program
//! is done by rank 0. All ranks meet at the same exchanges, because what they branch on is equal.
//!
//! Without a launcher nothing here does anything but ask whether there are ranks.

mod agree;
mod check;
#[cfg(target_os = "linux")]
mod components;
mod ending;
mod exchange;
mod intervals;
mod launch;
mod mpi;
mod plan;
pub(crate) mod rows;
mod settings;
pub(crate) mod shared;
pub(crate) mod stats;
pub mod streams;

use std::cell::Cell;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fault::Fault;
use crate::{pool, stack};
use agree::{RECORD, Record};
pub(crate) use ending::{abort, leave, take_turn};
use launch::{Launch, Launcher};
use mpi::{Found, MOST_BYTES, Mpi};
use settings::{Settings, Share};
pub(crate) use stats::{Place, summary};

/// The ranks of a program that has several.
pub(crate) struct World {
    mpi: &'static Mpi,
    rank: usize,
    count: usize,
    settings: Settings,
}

// SAFETY: MPI is called by the thread that started it (`here`), but for `abort`, which any may call.
unsafe impl Sync for Mpi {}
// SAFETY: as above.
unsafe impl Send for Mpi {}

static WORLD: OnceLock<World> = OnceLock::new();
/// The library, from when the ranks have met.
static JOINED: OnceLock<Mpi> = OnceLock::new();
/// What the launcher says, known before the ranks have met.
static PLACE: OnceLock<Option<Launch>> = OnceLock::new();
/// How many ranks share the cores of this one, itself included.
static SHARING: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    /// Whether this is the thread that started MPI.
    static STARTED_HERE: Cell<bool> = const { Cell::new(false) };
}

/// The ranks that this program has, if it has several.
pub(crate) fn world() -> Option<&'static World> {
    WORLD.get()
}

/// The ranks, on the thread that may talk to them.
pub(crate) fn here() -> Option<&'static World> {
    WORLD.get().filter(|_| STARTED_HERE.get())
}

/// What the launcher says of this process, if it has started several and was asked.
fn place() -> Option<&'static Launch> {
    PLACE.get().and_then(Option::as_ref)
}

/// Whether parallel loops concern this: there are ranks, or what they would share is written down.
pub(crate) fn are_there() -> bool {
    here().is_some() || stats::is_tracing()
}

/// Whether this process is the one that reads and writes: that of rank 0, or the only one.
pub fn is_root() -> bool {
    place().is_none_or(|place| place.rank == 0)
}

/// Whether a launcher has started several processes, if it was asked ([`look`]).
pub fn is_started() -> bool {
    place().is_some()
}

/// How many ranks share the cores of this one, itself included.
pub(crate) fn sharing_cores() -> usize {
    SHARING.load(Ordering::Relaxed)
}

/// Asks the launcher's variables whether there are several ranks, and takes the streams that `ravel run` offers them. No library is opened.
///
/// # Errors
/// They hold something else than a launcher says.
pub fn look() -> Result<bool, Fault> {
    if PLACE.get().is_none() {
        let variable = |name: &str| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned());
        let found = match launch::is_on(&variable) {
            Ok(true) => launch::look(&variable)?,
            Ok(false) => None,
            Err(fault) => {
                // One process says so.
                let _ = PLACE.set(launch::look(&variable).unwrap_or_default());
                return Err(fault);
            }
        };
        let _ = PLACE.set(found);
        streams::adopt();
    }
    Ok(place().is_some())
}

/// A command that the program starts is none of its ranks, although it inherits what the launcher has said.
pub(crate) fn set_apart(command: &mut Command) {
    if world().is_some() {
        command.env(launch::SWITCH, "off");
    }
}

/// Joins the ranks that a launcher has started, if it has started several. Called by the thread that runs the program.
///
/// # Errors
/// There is no MPI library, or it belongs to another launcher; or the ranks cannot work together.
pub fn start() -> Result<(), Fault> {
    look()?;
    let Some(Launch { launcher, rank, count }) = place().copied() else { return stats::start(None) };
    let named = std::env::var("RAVEL_MPI").ok().filter(|name| !name.is_empty());
    let library = Found::open(named.as_deref(), launcher).map_err(Fault::new)?;
    let mpi = library.join().map_err(Fault::new)?;
    // The network library of MPICH prints a backtrace for whatever goes wrong.
    stack::handle_again();
    let found = mpi.size();
    if count.is_none() && found == 1 {
        // PMIx has started a single process.
        mpi.finalize();
        return stats::start(None);
    }
    if let Some(started) = count.filter(|count| *count != found) {
        let sees = if found == 1 { "one".to_string() } else { found.to_string() };
        let fault = Fault::new(format!(
            "started as {started} ranks, but this MPI library sees {sees}: set RAVEL_MPI to a library of the launcher's kind (this one says '{}')",
            mpi.version
        ));
        mpi.finalize();
        return Err(fault);
    }
    if mpi.rank() != rank {
        let fault = Fault::new(format!("the launcher calls this process rank {rank}, but MPI rank {}", mpi.rank()));
        mpi.abort(fault.ending.status());
        return Err(fault);
    }
    let mpi = JOINED.get_or_init(|| mpi);
    STARTED_HERE.set(true);
    let agreed = agree::agree(&records(mpi, found)?, rank)?;
    SHARING.store(agreed.sharing, Ordering::Relaxed);
    pool::set_threads(agreed.threads);
    let settings = Settings::agree(mpi, found)?;
    let _ = WORLD.set(World { rank, count: found, settings, mpi });
    stats::start(here())
}

/// What all ranks say of themselves.
fn records(mpi: &Mpi, count: usize) -> Result<Vec<Record>, Fault> {
    let own = Record::own(pool::asked_for()).to_bytes();
    let mut all = vec![0; RECORD * count];
    mpi.all_gather(&own, &mut all).map_err(Fault::new)?;
    Ok(all.as_chunks::<RECORD>().0.iter().map(Record::from_bytes).collect())
}

fn out_of_memory(bytes: usize) -> Fault {
    Fault::here(format!("out of memory: {bytes} bytes are not available"))
}

/// The MPI library that programs would find here, by what it says of itself.
///
/// # Errors
/// There is none.
pub fn library() -> Result<String, String> {
    let named = std::env::var("RAVEL_MPI").ok().filter(|name| !name.is_empty());
    Found::open(named.as_deref(), Launcher::OpenMpi).map(|found| found.version())
}

/// Leaves the other ranks at the end of the program, which ends with this status on all of them.
///
/// # Errors
/// The trace of their exchanges cannot be written.
pub fn finish(status: i32) -> Result<(), Fault> {
    stats::finish(here())?;
    if world().is_some() {
        leave(status);
    }
    Ok(())
}

impl World {
    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are, at least two.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Makes these bytes, as many on every rank, those of rank 0.
    pub fn broadcast(&self, bytes: &mut [u8]) -> Result<(), Fault> {
        self.broadcast_from(bytes, 0)
    }

    /// Makes these bytes, as many on every rank, those of rank `owner`.
    fn broadcast_from(&self, bytes: &mut [u8], owner: usize) -> Result<(), Fault> {
        let (length, mut watch) = (bytes.len(), stats::Watch::start());
        bytes.chunks_mut(MOST_BYTES).try_for_each(|part| self.mpi.broadcast(part, owner)).map_err(Fault::new)?;
        stats::note_broadcast(length, watch.lap(), self.rank == owner);
        Ok(())
    }

    /// Fills `all` with the `own` bytes of each rank, which are as many everywhere and at most [`MOST_BYTES`], in the order of ranks.
    pub fn all_gather(&self, own: &[u8], all: &mut [u8]) -> Result<(), Fault> {
        self.mpi.all_gather(own, all).map_err(Fault::new)
    }
}
