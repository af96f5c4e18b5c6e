//! The lines of `--stats` about ranks.

use std::fmt::Write;

use super::{Kind, Site, Totals, Why};
use crate::{pool, stats};

/// Loops that are listed.
const MOST_LOOPS: usize = 12;
/// Columns of a line that may be told in two.
const COLUMNS: usize = 80;
/// Bytes of a machine's name.
const NAME: usize = 64;
const NUMBERS: usize = 4 + 7 * Kind::COUNT;

/// What one rank says of itself at the end.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Record {
    machine: String,
    threads: f64,
    /// Bytes of memory that the process had at most, and those of arrays among them.
    memory: f64,
    arrays: f64,
    seconds: f64,
    totals: [Totals; Kind::COUNT],
}

impl Record {
    pub const BYTES: usize = NAME + 8 * NUMBERS;

    pub fn own(seconds: f64, totals: [Totals; Kind::COUNT]) -> Record {
        let arrays = stats::snapshot().peak_bytes as f64;
        Record { machine: machine(), threads: pool::threads() as f64, memory: memory(), arrays, seconds, totals }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.machine.clone().into_bytes();
        bytes.resize(NAME, 0);
        let own = [self.threads, self.memory, self.arrays, self.seconds];
        let totals =
            self.totals.iter().flat_map(|t| [t.times, t.loops, t.bytes, t.asked, t.computing, t.waiting, t.moving]);
        bytes.extend(own.into_iter().chain(totals).flat_map(f64::to_le_bytes));
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Record {
        let (name, numbers) = bytes.split_at(NAME);
        let mut numbers = numbers.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        let mut next = || numbers.next().unwrap_or_default();
        Record {
            machine: String::from_utf8_lossy(name).trim_end_matches('\0').to_string(),
            threads: next(),
            memory: next(),
            arrays: next(),
            seconds: next(),
            totals: std::array::from_fn(|_| Totals {
                times: next(),
                loops: next(),
                bytes: next(),
                asked: next(),
                computing: next(),
                waiting: next(),
                moving: next(),
            }),
        }
    }

    fn sum(&self, value: impl Fn(&Totals) -> f64) -> f64 {
        self.totals.iter().map(value).sum()
    }

    /// Seconds of its parts of loops that are shared.
    fn computing(&self) -> f64 {
        SHARED.map(|kind| self.totals[kind.number()].computing).iter().sum()
    }
}

/// What follows loops that are shared.
const SHARED: [Kind; 4] = [Kind::Gather, Kind::Partials, Kind::Interval, Kind::Exchange];

/// The name of this machine.
fn machine() -> String {
    let mut name = [0u8; NAME];
    // SAFETY: the buffer is as long as said; the last byte stays 0.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), NAME - 1) };
    String::from_utf8_lossy(&name).trim_end_matches('\0').chars().take(NAME / 4).collect()
}

/// Bytes of memory that this process had at most.
fn memory() -> f64 {
    // SAFETY: all zeros are a `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is one to be written.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_maxrss as f64 * 1024.0
}

/// The lines, from what all ranks said and where loops of rank 0 are.
pub(super) fn text(records: &[Record], sites: &[Site], library: &str) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_text(&mut text, records, sites, library);
    text
}

fn write_text(out: &mut String, records: &[Record], sites: &[Site], library: &str) -> std::fmt::Result {
    let Some(root) = records.first() else { return Ok(()) };
    let mut machines: Vec<&str> = records.iter().map(|record| record.machine.as_str()).collect();
    machines.sort_unstable();
    machines.dedup();
    let threads = root.threads;
    writeln!(
        out,
        "ranks: {} on {}, {} each, {library}",
        records.len(),
        several(machines.len() as f64, "machine"),
        several(threads, "thread")
    )?;
    for kind in Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Whole(_))) {
        let totals = root.totals[kind.number()];
        if totals.times > 0.0 {
            let mean = |value: fn(&Totals) -> f64| {
                records.iter().map(|record| value(&record.totals[kind.number()])).sum::<f64>() / records.len() as f64
            };
            // Of a broadcast rank 0 alone knows how long it took: others wait for what it does before.
            let moving = if kind == Kind::Broadcast { totals.moving } else { mean(|totals| totals.moving) };
            writeln!(
                out,
                "  {}: {}, {}, moving {}, waiting {}",
                kind.name(),
                several(totals.times, "time"),
                bytes(totals.bytes),
                seconds(moving),
                seconds(mean(|totals| totals.waiting))
            )?;
        }
    }
    write_loops(out, root, sites)?;
    write_slowest(out, records)?;
    let by_memory = |a: &&Record, b: &&Record| a.memory.total_cmp(&b.memory);
    if let (Some(most), Some(least)) = (records.iter().max_by(by_memory), records.iter().min_by(by_memory)) {
        let (most, least) = (bytes(most.memory), bytes(least.memory));
        let arrays = bytes(records.iter().map(|record| record.arrays).fold(0.0, f64::max));
        writeln!(out, "  memory per rank: {least} to {most}, arrays at most {arrays}")?;
    }
    Ok(())
}

/// How many loops were shared and how many not, and the same by position.
fn write_loops(out: &mut String, root: &Record, sites: &[Site]) -> std::fmt::Result {
    writeln!(out, "  loops: {}", loops(&root.totals))?;
    let time = |site: &Site| site.totals.iter().map(|t| t.computing + t.waiting + t.moving).sum::<f64>();
    let mut listed: Vec<&Site> = sites.iter().filter(|site| !site.text.is_empty()).collect();
    listed.sort_by(|a, b| time(b).total_cmp(&time(a)).then_with(|| a.text.cmp(&b.text)));
    for site in listed.iter().take(MOST_LOOPS) {
        let loops = loops(&site.totals);
        let fits = site.text.chars().count() + loops.len() + 6 <= COLUMNS;
        writeln!(out, "    {}:{}{loops}", site.text, if fits { " " } else { "\n      " })?;
    }
    if let Some(more) = listed.len().checked_sub(MOST_LOOPS).filter(|more| *more > 0) {
        writeln!(out, "    and {} more", several(more as f64, "position"))?;
    }
    Ok(())
}

/// How many loops were shared and what that moved, and how many were not and why.
fn loops(totals: &[Totals; Kind::COUNT]) -> String {
    let shared = SHARED.map(|kind| totals[kind.number()]);
    let (times, moved) =
        shared.iter().fold((0.0, 0.0), |(times, moved), t| (times + t.loops, moved + t.bytes - t.asked));
    let mut parts = Vec::new();
    if times > 0.0 {
        parts.push(format!("{times} shared, {}", bytes(moved)));
    } else if moved > 0.0 {
        parts.push(format!("rows of others, {}", bytes(moved)));
    }
    let gather = totals[Kind::Gather.number()];
    if gather.asked > 0.0 {
        parts.push(format!("{} gathered, {}", several(gather.times - gather.loops, "array"), bytes(gather.asked)));
    }
    for why in [Why::Costs, Why::OneChunk, Why::Never] {
        let times = totals[Kind::Whole(why).number()].times;
        if times > 0.0 {
            parts.push(format!("{times} not, {}", why.words()));
        }
    }
    if parts.is_empty() { "none to share".to_string() } else { parts.join("; ") }
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Why::Costs => "gathering costs more than the work",
            Why::OneChunk => "there is one chunk",
            Why::Never => "by RAVEL_RANKS_SHARE",
            Why::OneRank => "there is one rank",
        }
    }
}

/// The rank for which others wait.
fn write_slowest(out: &mut String, records: &[Record]) -> std::fmt::Result {
    let by_computing = |a: &(usize, &Record), b: &(usize, &Record)| a.1.computing().total_cmp(&b.1.computing());
    let Some((rank, slowest)) = records.iter().enumerate().max_by(by_computing) else { return Ok(()) };
    let mean = records.iter().map(Record::computing).sum::<f64>() / records.len() as f64;
    if mean == 0.0 {
        return Ok(());
    }
    writeln!(
        out,
        "  slowest: rank {rank}, computing {} ({:.0} % above the mean), waiting {}, of {}",
        seconds(slowest.computing()),
        100.0 * (slowest.computing() / mean - 1.0),
        seconds(slowest.sum(|totals| totals.waiting)),
        seconds(slowest.seconds)
    )
}

fn several(n: f64, what: &str) -> String {
    if n == 1.0 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn bytes(n: f64) -> String {
    match n {
        _ if n < 1e4 => several(n, "byte"),
        _ if n < 1e6 => format!("{:.1} KB", n / 1e3),
        _ if n < 1e9 => format!("{:.1} MB", n / 1e6),
        _ => format!("{:.1} GB", n / 1e9),
    }
}

fn seconds(n: f64) -> String {
    match n {
        _ if n < 1e-3 => format!("{:.1} us", n * 1e6),
        _ if n < 1.0 => format!("{:.1} ms", n * 1e3),
        _ => format!("{n:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(machine: &str, computing: f64, memory: f64) -> Record {
        let mut totals = [Totals::default(); Kind::COUNT];
        totals[Kind::Gather.number()] =
            Totals { times: 3.0, loops: 2.0, bytes: 24e6, asked: 4e6, computing, waiting: 0.002, moving: 0.004 };
        totals[Kind::Broadcast.number()] = Totals { times: 1.0, bytes: 8.0, waiting: 1e-6, ..Totals::default() };
        totals[Kind::Whole(Why::Costs).number()] = Totals { times: 5.0, loops: 5.0, ..Totals::default() };
        Record { machine: machine.into(), threads: 1.0, memory, arrays: 8e6, seconds: 1.5, totals }
    }

    #[test]
    fn records_travel_as_bytes() {
        let record = record("a machine", 0.75, 3e7);
        let bytes = record.to_bytes();
        assert_eq!((bytes.len(), Record::from_bytes(&bytes)), (Record::BYTES, record));
    }

    #[test]
    fn the_lines_tell_of_kinds_loops_the_slowest_rank_and_memory() {
        let records = [record("a", 1.0, 3e7), record("b", 1.2, 4e7), record("a", 0.8, 2e7)];
        let site = Site { text: "p.sac:3:10 in main".into(), totals: records[0].totals };
        let lines = text(&records, &[Site { text: String::new(), totals: records[0].totals }, site], "Open MPI v4");
        let expected = "\
ranks: 3 on 2 machines, 1 thread each, Open MPI v4
  gather: 3 times, 24.0 MB, moving 4.0 ms, waiting 2.0 ms
  broadcast: 1 time, 8 bytes, moving 0.0 us, waiting 1.0 us
  loops: 2 shared, 20.0 MB; 1 array gathered, 4.0 MB; 5 not, gathering costs more than the work
    p.sac:3:10 in main:
      2 shared, 20.0 MB; 1 array gathered, 4.0 MB; 5 not, gathering costs more than the work
  slowest: rank 1, computing 1.20 s (20 % above the mean), waiting 2.0 ms, of 1.50 s
  memory per rank: 20.0 MB to 40.0 MB, arrays at most 8.0 MB
";
        assert_eq!(lines, expected);
    }
}
