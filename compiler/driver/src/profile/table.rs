//! The table: a line for each site, the one that took longest first, and advice.

use super::{Peaks, Place};
use ravel_runtime::profile::{Profile, ROOT};
use ravel_schedule::Numbers;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Lines of the table.
const MOST_ROWS: usize = 30;
/// Share of a peak from which on that limits.
const LIMIT: f64 = 0.25;
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
        let row = rows.entry(number).or_default();
        row.own += node.own;
        row.calls += node.calls;
        row.cells += node.cells;
        row.operations += node.operations;
        row.bytes += node.bytes;
        row.busy += node.busy;
        row.available += node.available;
        row.threads = row.threads.max(node.threads);
    }
    for (site, &calls) in profile.counts.iter().enumerate().filter(|(_, calls)| **calls > 0) {
        if let Some(number) = row_of(site) {
            rows.entry(number).or_default().calls += calls;
        }
    }
    let mut rows: Vec<(usize, Row)> = rows.into_iter().collect();
    rows.sort_by(|a, b| b.1.own.total_cmp(&a.1.own).then(b.1.calls.cmp(&a.1.calls)));
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

fn limit(row: &Row, place: &Place, peaks: &Peaks) -> &'static str {
    if row.own <= 0.0 || place.guessed {
        return "";
    }
    let (operations, memory) = shares(row, place, peaks);
    match operations.max(memory) {
        most if most < LIMIT => "neither peak is near",
        _ if operations >= memory => "compute-bound",
        _ => "memory-bound",
    }
}

fn speed(row: &Row, place: &Place, peaks: &Peaks) -> String {
    if row.own <= 0.0 || place.guessed {
        return String::new();
    }
    let (operations, memory) = shares(row, place, peaks);
    let (rate, unit, share) = match place.numbers {
        _ if memory > operations && row.bytes > 0.0 => (row.bytes, "GB/s", memory),
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
            let _ = write!(line, "  {:>10}{unit:<4}  {:>10}B", amount(row.operations), amount(row.bytes));
        }
        let _ = write!(line, "  {}", speed(row, place, peaks));
        if row.available > 0.0 {
            let _ = write!(line, "  {} threads, {:.0} % busy", row.threads, 100.0 * row.busy / row.available);
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
    let idle: f64 = rows.iter().map(|(_, row)| (row.available - row.busy) / row.threads.max(1) as f64).sum();
    if idle > 0.0 {
        let _ = writeln!(out, "{:4.0} %  {:>8}  of these: waiting for threads", 100.0 * idle / all, time(idle));
    }
    for (site, row) in rows.iter().filter(|(_, row)| row.own / all >= WORTH_ADVICE).take(MOST_ADVICE) {
        let place = &places[*site];
        let _ = writeln!(out, "Advice: {}: {} (--explain {})", place.function, advice(row, place, peaks), place.at());
    }
    out
}

fn advice(row: &Row, place: &Place, peaks: &Peaks) -> String {
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
        _ => "neither operations nor memory are near their peaks: see whether it runs in lanes and on threads",
    }
    .to_string()
}
