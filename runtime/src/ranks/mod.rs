//! Ranks: processes that a launcher has started for one program, on one machine or on many.
//!
//! Every rank runs the whole program on the same values. Ranks share chunks of parallel loops ([`exchange`]); what has an effect outside of the program
//! is done by rank 0. All ranks meet at the same exchanges, because what they branch on is equal.
//!
//! Without a launcher nothing here does anything but ask whether there are ranks.

mod check;
mod exchange;
mod mpi;
mod plan;
mod settings;
pub(crate) mod shared;
pub(crate) mod stats;

use std::cell::Cell;
use std::process::Command;
use std::sync::OnceLock;

use crate::fault::Fault;
use mpi::{MOST_BYTES, Mpi};
use settings::{Settings, Share};
pub(crate) use stats::summary;

/// The ranks of a program that has several.
pub(crate) struct World {
    mpi: Mpi,
    rank: usize,
    count: usize,
    settings: Settings,
}

// SAFETY: MPI is called by the thread that started it (`Here`), but for `abort`, which any may call.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

static WORLD: OnceLock<World> = OnceLock::new();

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

/// Whether parallel loops concern this: there are ranks, or what they would share is written down.
pub(crate) fn are_there() -> bool {
    here().is_some() || stats::is_tracing()
}

/// Whether this process is the one that reads and writes: that of rank 0, or the only one.
pub fn is_root() -> bool {
    world().is_none_or(|world| world.rank == 0)
}

/// A command that the program starts is none of its ranks, although it inherits what the launcher has said.
pub(crate) fn set_apart(command: &mut Command) {
    if world().is_some() {
        command.env("RAVEL_RANKS", "off");
    }
}

/// Joins the ranks that a launcher has started, if it has started several. Called by the thread that runs the program.
///
/// # Errors
/// There is no MPI library, or it belongs to another launcher.
pub fn start() -> Result<(), Fault> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let Some(count) = number("OMPI_COMM_WORLD_SIZE").or_else(|| number("PMI_SIZE")).filter(|count| *count > 1) else {
        return stats::start(None);
    };
    let named = std::env::var("RAVEL_MPI").ok();
    let mpi = Mpi::start(named.as_deref()).map_err(Fault::new)?;
    let found = mpi.size();
    if found != count {
        return Err(Fault::new(format!("started as {count} ranks, but this MPI library sees {found}: set RAVEL_MPI")));
    }
    let settings = Settings::agree(&mpi, count)?;
    let world = World { rank: mpi.rank(), count, settings, mpi };
    STARTED_HERE.set(true);
    let _ = WORLD.set(world);
    stats::start(here())
}

fn out_of_memory(bytes: usize) -> Fault {
    Fault::new(format!("out of memory: {bytes} bytes are not available"))
}

/// Leaves the other ranks at the end of the program.
///
/// # Errors
/// The trace of their exchanges cannot be written.
pub fn finish() -> Result<(), Fault> {
    let noted = stats::finish(here());
    if let Some(world) = here() {
        world.mpi.finalize();
    }
    noted
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
        let (length, mut watch) = (bytes.len(), stats::Watch::start());
        bytes.chunks_mut(MOST_BYTES).try_for_each(|part| self.mpi.broadcast(part, 0)).map_err(Fault::new)?;
        stats::note_broadcast(length, watch.lap(), self.rank == 0);
        Ok(())
    }

    /// Fills `all` with the `own` bytes of each rank, which are as many everywhere and at most [`MOST_BYTES`], in the order of ranks.
    pub fn all_gather(&self, own: &[u8], all: &mut [u8]) -> Result<(), Fault> {
        self.mpi.all_gather(own, all).map_err(Fault::new)
    }

    /// Ends all ranks with this status.
    pub fn abort(&self, status: i32) {
        self.mpi.abort(status);
    }
}
