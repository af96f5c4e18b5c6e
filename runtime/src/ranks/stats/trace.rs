//! The trace of exchanges that `RAVEL_STATS=ranks` writes, for `tests/bench/ranks/simulate.py`.
//!
//! docs/internals/runtime.md has the format.

use std::fmt::Write;
use std::path::PathBuf;

use super::{Event, Kind, Notes, World, gather as gather_bytes};
use crate::fault::Fault;
use crate::{outputs, pool};

/// Exchanges whose times travel at once.
const BLOCK: usize = 4096;

/// The file that the trace goes to; without one it goes to stderr.
fn file() -> Option<PathBuf> {
    std::env::var_os("RAVEL_RANKS_TRACE").filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// Asks before the program runs whether there can be a trace.
///
/// # Errors
/// No file can stand where it is wanted.
pub(super) fn check() -> Result<(), Fault> {
    file().map_or(Ok(()), |path| outputs::destination(&path).map(drop).map_err(|why| fault(&path, &why)))
}

fn fault(path: &std::path::Path, why: &outputs::Refusal) -> Fault {
    Fault::new(format!("the trace of ranks cannot be written to {}: {why}", path.display()))
}

/// Replaces the times of events by those of all ranks: the sum of what they computed, of whole loops the mean, and means of what they waited and
/// moved. Hands back the longest that a rank computed.
///
/// # Errors
/// The ranks do not answer, or have met at different exchanges.
pub(super) fn gather(world: Option<&World>, events: &mut [Event]) -> Result<Vec<f64>, Fault> {
    let Some(world) = world else { return Ok(events.iter().map(|event| event.computing).collect()) };
    let count = (events.len() as u64).to_le_bytes();
    if gather_bytes(world, &count)?.chunks(8).any(|other| other != count) {
        return Err(Fault::new("ranks noted different numbers of exchanges; this is a bug in Ravel"));
    }
    let mut slowest = Vec::with_capacity(events.len());
    for block in events.chunks_mut(BLOCK) {
        let own: Vec<u8> = block
            .iter()
            .flat_map(|event| [event.computing, event.waiting, event.moving])
            .flat_map(f64::to_le_bytes)
            .collect();
        let all = gather_bytes(world, &own)?;
        let all: Vec<f64> = all.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        for (at, event) in block.iter_mut().enumerate() {
            let of_ranks = |field| all.chunks(own.len() / 8).map(move |times| times[3 * at + field]);
            let ranks = world.count() as f64;
            let computing: f64 = of_ranks(0).sum();
            event.computing = if matches!(event.kind, Kind::Whole(_)) { computing / ranks } else { computing };
            // The last to come does not wait: it sees how long meeting takes.
            let meeting = of_ranks(1).fold(f64::INFINITY, f64::min);
            event.waiting = of_ranks(1).sum::<f64>() / ranks - meeting;
            event.moving = match event.kind {
                // Only rank 0 knows it.
                Kind::Broadcast => of_ranks(2).fold(0.0, f64::max),
                _ => of_ranks(2).sum::<f64>() / ranks + meeting,
            };
            slowest.push(of_ranks(0).fold(0.0, f64::max));
        }
    }
    Ok(slowest)
}

/// # Errors
/// The file cannot be written.
pub(super) fn write(
    notes: &Notes,
    slowest: &[f64],
    world: Option<&World>,
    seconds: f64,
    rest: f64,
) -> Result<(), Fault> {
    let (ranks, library) = world.map_or((1, ""), |world| (world.count(), &world.mpi.version));
    let mut text =
        format!("ravel-ranks 1\nranks {ranks}\nthreads {}\nlibrary {library}\nseconds {seconds:.9}\n", pool::threads());
    if let Some(costs) = notes.costs {
        let _ = writeln!(text, "network {:e} {:e}", costs.latency, costs.bandwidth);
    }
    for (number, site) in notes.sites.iter().enumerate() {
        let _ = writeln!(text, "site {number} {}", site.text);
    }
    for (event, slowest) in notes.events.iter().zip(slowest) {
        let _ = write_event(&mut text, event, *slowest);
    }
    let _ = writeln!(text, "end {} {}", nanoseconds(rest), notes.left_out);
    match file() {
        Some(path) => outputs::write(&path, text.as_bytes()).map_err(|why| fault(&path, &why)),
        None => {
            eprint!("{text}");
            Ok(())
        }
    }
}

fn write_event(out: &mut String, event: &Event, slowest: f64) -> std::fmt::Result {
    let Event { site, cycles, chunks, bytes, .. } = event;
    let [replicated, computing, slowest, waiting, moving] =
        [event.replicated, event.computing, slowest, event.waiting, event.moving].map(nanoseconds);
    let kind = event.kind.name();
    writeln!(out, "{kind} {site} {cycles:.0} {chunks} {bytes} {replicated} {computing} {slowest} {waiting} {moving}")
}

fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line_of_numbers() {
        let event = Event {
            kind: Kind::Partials,
            site: 2,
            cycles: 3e6,
            chunks: 27,
            bytes: 425_000,
            replicated: 1e-6,
            computing: 1.3e-3,
            waiting: 5e-6,
            moving: 24e-6,
        };
        let mut line = String::new();
        write_event(&mut line, &event, 7e-4).expect("strings can be written");
        assert_eq!(line, "partials 2 3000000 27 425000 1000 1300000 700000 5000 24000\n");
    }
}
