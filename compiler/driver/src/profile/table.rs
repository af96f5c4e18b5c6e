//! The table: a line for each site, the one that took longest first; what waiting, memory and the device took; advice.

use super::{Peaks, Place};
use ravel_runtime::profile::{DeviceWork, Node, Profile, ROOT};
use ravel_schedule::Numbers;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Lines of the table.
const MOST_ROWS: usize = 30;
/// Share of a peak from which on that limits.
const LIMIT: f64 = 0.25;
/// Operations or bytes per second from which on a rate is worth a line: the last digit that is shown.
const LITTLE: f64 = 1e7;
/// Share of the time from which on a line gets advice, and lines that get it.
const WORTH_ADVICE: f64 = 0.05;
const MOST_ADVICE: usize = 3;

/// All that is known of one line, function and kind of site.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub own: f64,
    pub calls: u64,
    cells: f64,
    operations: f64,
    bytes: f64,
    busy: f64,
    available: f64,
    threads: usize,
    arrays: u64,
    allocated: f64,
    allocating: f64,
    copies: u64,
    launches: u64,
    device: f64,
}

impl Row {
    fn add(&mut self, node: &Node) {
        self.own += node.own;
        self.calls += node.calls;
        self.cells += node.cells;
        self.operations += node.operations;
        self.bytes += node.bytes;
        self.busy += node.busy;
        self.available += node.available;
        self.threads = self.threads.max(node.threads);
        self.arrays += node.arrays;
        self.allocated += node.allocated;
        self.allocating += node.allocating;
        self.copies += node.copies;
        self.launches += node.launches;
        self.device += node.device;
    }

    /// The time that it took here or on the device, which work at the same time.
    fn longest(&self) -> f64 {
        self.own.max(self.device)
    }

    /// The time that its threads waited for each other.
    fn idle(&self) -> f64 {
        (self.available - self.busy) / self.threads.max(1) as f64
    }
}

/// The rows of a profile by the number of the first site that is there, longest first.
pub(super) fn rows(profile: &Profile, places: &[Place]) -> Vec<(usize, Row)> {
    let mut first: BTreeMap<(String, String, bool), usize> = BTreeMap::new();
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    let mut row_of = |site: usize| {
        let place = places.get(site)?;
        Some(*first.entry((place.at(), place.function.clone(), place.is_loop)).or_insert(site))
    };
    for node in profile.nodes.iter().skip(1) {
        let Some(number) = row_of(node.site) else { continue };
        rows.entry(number).or_default().add(node);
    }
    for (site, &calls) in profile.counts.iter().enumerate().filter(|(_, calls)| **calls > 0) {
        if let Some(number) = row_of(site) {
            rows.entry(number).or_default().calls += calls;
        }
    }
    let mut rows: Vec<(usize, Row)> = rows.into_iter().collect();
    rows.sort_by(|a, b| b.1.longest().total_cmp(&a.1.longest()).then(b.1.calls.cmp(&a.1.calls)));
    rows
}

/// `0.84 s`, `12 ms`, `3.1 us`.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 0.1 => format!("{s:.2} s"),
        s if s >= 1e-4 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}

/// `1.25 G`.
fn amount(n: f64) -> String {
    match n {
        n if n >= 1e9 => format!("{:.3} G", n / 1e9),
        n if n >= 1e6 => format!("{:.3} M", n / 1e6),
        n if n >= 1e3 => format!("{:.3} k", n / 1e3),
        n => format!("{n:.0} "),
    }
}

/// What limits a row: share of the peaks of operations and of memory.
fn shares(row: &Row, place: &Place, peaks: &Peaks) -> (f64, f64) {
    let peak = match place.numbers {
        Numbers::F32 => peaks.f32,
        Numbers::F64 => peaks.f64,
        Numbers::Integers => f64::INFINITY,
    };
    (row.operations / row.own / peak, row.bytes / row.own / peaks.bytes)
}

/// Whether there is so little to compute and to move that rates say nothing, as in a loop around with-loops.
fn does_little(row: &Row) -> bool {
    row.operations.max(row.bytes) < LITTLE * row.own
}

/// What is said of a row without operations that is far from the peak of memory.
const MOVES: &str = "only moves data";

fn limit(row: &Row, place: &Place, peaks: &Peaks) -> &'static str {
    if row.own <= 0.0 || place.guessed {
        return "";
    }
    let (operations, memory) = shares(row, place, peaks);
    match operations.max(memory) {
        _ if row.launches > 0 => "",
        _ if does_little(row) => "",
        most if most < LIMIT && row.operations <= 0.0 => MOVES,
        most if most < LIMIT => "neither peak is near",
        _ if operations >= memory => "compute-bound",
        _ => "memory-bound",
    }
}

fn speed(row: &Row, place: &Place, peaks: &Peaks) -> String {
    if row.own <= 0.0 || place.guessed || row.launches > 0 || does_little(row) {
        return String::new();
    }
    let (operations, memory) = shares(row, place, peaks);
    let (rate, unit, share) = match place.numbers {
        _ if memory > operations && row.bytes > 0.0 || row.operations <= 0.0 => (row.bytes, "GB/s", memory),
        Numbers::Integers => (row.operations, "Gop/s", 0.0),
        _ => (row.operations, "GFLOP/s", operations),
    };
    let percent = if share > 0.0 { format!("{:3.0} % of peak", 100.0 * share) } else { String::new() };
    format!("{:7.2} {unit:<7}  {percent:<13}", rate / row.own / 1e9)
}

/// The table with its advice.
pub(super) fn render(profile: &Profile, places: &[Place], peaks: &Peaks) -> String {
    let mut out = String::new();
    let all = profile.seconds.max(1e-12);
    let rows = rows(profile, places);
    let _ = writeln!(
        out,
        "profile: {} in all, {} thread{}; peaks: {:.1} GFLOP/s float, {:.1} double, {:.1} GB/s",
        time(all),
        profile.threads,
        if profile.threads == 1 { "" } else { "s" },
        peaks.f32 / 1e9,
        peaks.f64 / 1e9,
        peaks.bytes / 1e9
    );
    let shown = || rows.iter().take(MOST_ROWS).map(|(site, row)| (&places[*site], row));
    let width = |of: &dyn Fn(&Place) -> usize| shown().map(|(place, _)| of(place)).max().unwrap_or(0);
    let (names, lines) = (width(&|p| p.function.len()), width(&|p| p.at().len()));
    for (place, row) in shown() {
        let kind = if place.is_loop { "loop" } else { "with" };
        let head = format!("{:<names$}  {:<lines$}  {kind}  {:>9} calls", place.function, place.at(), row.calls);
        if row.own <= 0.0 {
            let _ = writeln!(out, "   <            {head}  less than 1 us each: part of what is around");
            continue;
        }
        let mut line = format!("{:4.0} %  {:>8}  {head}", 100.0 * row.own / all, time(row.own));
        if !place.guessed {
            let unit = if place.numbers == Numbers::Integers { "op" } else { "FLOP" };
            let operations = match row.operations {
                n if n > 0.0 => format!("{:>10}{unit:<4}", amount(n)),
                _ => format!("{:14}", ""),
            };
            let _ = write!(line, "  {operations}  {:>10}B", amount(row.bytes));
        }
        let _ = write!(line, "  {}", speed(row, place, peaks));
        if row.available > 0.0 {
            let _ = write!(line, "  {} threads, {:.0} % busy", row.threads, 100.0 * row.busy / row.available);
        }
        if row.launches > 0 {
            let _ = write!(line, "  device: {} in {}", time(row.device), several(row.launches, "launch", "launches"));
        }
        let limit = limit(row, place, peaks);
        let _ = writeln!(out, "{}", format!("{line}  {limit}").trim_end());
    }
    if rows.len() > MOST_ROWS {
        let own: f64 = rows[MOST_ROWS..].iter().map(|(_, row)| row.own).sum();
        let _ = writeln!(out, "{:4.0} %  {:>8}  {} more", 100.0 * own / all, time(own), rows.len() - MOST_ROWS);
    }
    let other = profile.nodes.get(ROOT).map_or(0.0, |root| root.own);
    let _ = writeln!(out, "{:4.0} %  {:>8}  outside of with-loops and loops", 100.0 * other / all, time(other));
    waiting(&mut out, profile, places, &rows);
    if let Some(device) = profile.device.as_ref().filter(|device| !device.kernels.is_empty()) {
        kernels(&mut out, device);
    }
    for (site, row) in rows.iter().filter(|(_, row)| row.longest() / all >= WORTH_ADVICE).take(MOST_ADVICE) {
        let place = &places[*site];
        let _ = writeln!(out, "Advice: {}: {} (--explain {})", place.function, advice(row, place, peaks), place.at());
    }
    out
}

/// `1 array`, `3 arrays`.
fn several(n: u64, one: &str, more: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {more}") }
}

/// What went into waiting for threads and into getting memory; nothing if neither happened.
fn waiting(out: &mut String, profile: &Profile, places: &[Place], rows: &[(usize, Row)]) {
    let all = profile.seconds.max(1e-12);
    let idle: f64 = rows.iter().map(|(_, row)| row.idle()).sum();
    let mut sum = Row::default();
    profile.nodes.iter().for_each(|node| sum.add(node));
    if idle <= 0.0 && sum.arrays == 0 {
        return;
    }
    let lost = idle.max(0.0) + sum.allocating;
    let _ = write!(out, "{:4.0} %  {:>8}  of these: waiting for threads", 100.0 * lost / all, time(lost));
    if sum.arrays > 0 {
        let _ = write!(
            out,
            " {} and for memory {}: {}B in {}, {}",
            time(idle.max(0.0)),
            time(sum.allocating),
            amount(sum.allocated),
            several(sum.arrays, "array", "arrays"),
            several(sum.copies, "copy", "copies"),
        );
        let most = rows.iter().filter(|(_, row)| row.arrays > 0).max_by(|a, b| a.1.allocated.total_cmp(&b.1.allocated));
        if let Some((site, row)) = most.filter(|(_, row)| row.allocated > 0.0) {
            let place = &places[*site];
            let each = amount(row.allocated / row.calls.max(1) as f64);
            let _ = write!(out, " (most in {} {}: {each}B a call)", place.function, place.at());
        }
    }
    out.push('\n');
}

/// What the device did, a line for each kernel.
fn kernels(out: &mut String, device: &DeviceWork) {
    let launches: u64 = device.kernels.iter().map(|kernel| kernel.launches).sum();
    let seconds: f64 = device.kernels.iter().map(|kernel| kernel.seconds).sum();
    let _ = writeln!(
        out,
        "Device {}: {} in {}, {}B sent, {}B fetched",
        device.name,
        time(seconds),
        several(launches, "launch", "launches"),
        amount(device.sent as f64),
        amount(device.fetched as f64)
    );
    let shown = &device.kernels[..device.kernels.len().min(MOST_ROWS)];
    let width = shown.iter().map(|kernel| kernel.name.len()).max().unwrap_or(0);
    for kernel in shown {
        let share = 100.0 * kernel.seconds / seconds.max(1e-12);
        let each = time(kernel.seconds / kernel.launches.max(1) as f64);
        let calls = several(kernel.launches, "launch", "launches");
        let _ =
            writeln!(out, "{share:4.0} %  {:>8}  {:<width$}  {calls}, {each} each", time(kernel.seconds), kernel.name);
    }
    if device.kernels.len() > MOST_ROWS {
        let _ = writeln!(out, "                and {} more", device.kernels.len() - MOST_ROWS);
    }
}

fn advice(row: &Row, place: &Place, peaks: &Peaks) -> String {
    if row.launches > 0 {
        return match row.device > row.own {
            true => "the device works on it: fewer bytes and operations, or with-loops that fuse, would help",
            false => "it waits for what the device was given before, or for transfers: keep arrays there",
        }
        .to_string();
    }
    if row.available > 0.0 && row.busy < 0.75 * row.available {
        return "threads wait for each other: its parts are uneven or too short".to_string();
    }
    if row.own / (row.calls.max(1) as f64) < 5e-6 {
        return "many short calls: one with-loop over all of them would pay its beginning once".to_string();
    }
    if place.is_loop {
        return "a loop runs in order, in one thread: see what keeps it from being a with-loop".to_string();
    }
    match limit(row, place, peaks) {
        "compute-bound" => "it computes near the peak: only fewer operations would help",
        "memory-bound" => "it waits for memory: smaller elements, or with-loops that fuse, would help",
        MOVES => "it only moves data: let it fuse with what makes or uses the array, or see whether it runs in lanes and on threads",
        _ => "neither operations nor memory are near their peaks: see whether it runs in lanes and on threads",
    }
    .to_string()
}
