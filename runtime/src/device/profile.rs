//! The time that kernels take on the device, for `--stats` and `--profile`.
//!
//! The queue measures every kernel if statistics or a profile were asked for before the device was opened. Measuring costs: times of whole programs are to be
//! taken without.

use std::collections::VecDeque;
use std::fmt::Write;

use opencl3::error_codes::ClError;
use opencl3::event::Event;

use crate::profile::{self, Kernel, Launch};
use crate::stats;

/// Launches whose times were not asked for yet; more than that wait for the oldest.
const MOST_WAITING: usize = 1024;
/// Launches that a profile keeps.
const MOST_LAUNCHES: usize = 1 << 20;
/// Rows of the table.
const MOST_ROWS: usize = 24;

/// Is somebody going to ask?
pub(super) fn wanted() -> bool {
    stats::enabled() || profile::is_on()
}

/// Nanoseconds that a kernel took. Waits for it.
pub(super) fn time_of(event: Option<&Event>) -> Result<u64, ClError> {
    let Some(event) = event else { return Ok(0) };
    event.wait()?;
    Ok(event.profiling_command_end()?.saturating_sub(event.profiling_command_start()?))
}

/// What is known of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row {
    name: String,
    launches: u64,
    nanoseconds: u64,
}

/// A launch whose times were not asked for yet.
struct Waiting {
    row: usize,
    event: Event,
    /// The site that started it, and when, if a profile is made.
    site: Option<(u32, u64)>,
}

/// Times of all kernels.
pub(super) struct Profile {
    on: bool,
    rows: Vec<Row>,
    waiting: VecDeque<Waiting>,
    launches: Vec<Launch>,
}

impl Profile {
    pub fn new(on: bool) -> Profile {
        Profile { on, rows: Vec::new(), waiting: VecDeque::new(), launches: Vec::new() }
    }

    pub fn on(&self) -> bool {
        self.on
    }

    /// The row of a kernel.
    pub fn row(&mut self, name: &str) -> usize {
        self.rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            self.rows.push(Row { name: name.to_string(), ..Row::default() });
            self.rows.len() - 1
        })
    }

    /// A kernel was launched.
    pub fn started(&mut self, row: usize, event: Option<Event>) {
        let Some(event) = event else { return };
        self.waiting.push_back(Waiting { row, event, site: profile::open_site() });
        if self.waiting.len() > MOST_WAITING {
            self.settle(MOST_WAITING / 2);
        }
    }

    /// Takes the times of all but the last `left` launches.
    fn settle(&mut self, left: usize) {
        while self.waiting.len() > left
            && let Some(Waiting { row, event, site }) = self.waiting.pop_front()
        {
            let row = &mut self.rows[row];
            row.launches += 1;
            // A device without clocks has no times.
            row.nanoseconds += time_of(Some(&event)).unwrap_or(0);
            if let Some((node, queued)) = site.filter(|_| self.launches.len() < MOST_LAUNCHES)
                && let (Ok(from), Ok(start), Ok(end)) =
                    (event.profiling_command_queued(), event.profiling_command_start(), event.profiling_command_end())
            {
                let since = |at: u64| at.saturating_sub(from);
                self.launches.push(Launch { node, queued, start: since(start), end: since(end) });
            }
        }
    }

    /// All kernels, the one that took longest first, and launches by site.
    pub fn work(&mut self) -> (Vec<Kernel>, Vec<Launch>) {
        self.settle(0);
        let kernel = |row: &Row| Kernel {
            name: row.name.clone(),
            launches: row.launches,
            seconds: row.nanoseconds as f64 * 1e-9,
        };
        let mut kernels: Vec<Kernel> = self.rows.iter().filter(|row| row.launches > 0).map(kernel).collect();
        kernels.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.name.cmp(&b.name)));
        (kernels, std::mem::take(&mut self.launches))
    }

    /// A row per kernel, the one that took longest first; empty if nothing was measured.
    pub fn table(&mut self) -> String {
        self.settle(0);
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| row.launches > 0).collect();
        if rows.is_empty() {
            return String::new();
        }
        rows.sort_by(|a, b| b.nanoseconds.cmp(&a.nanoseconds).then_with(|| a.name.cmp(&b.name)));
        let total: u64 = rows.iter().map(|row| row.nanoseconds).sum();
        let width = rows.iter().take(MOST_ROWS).map(|row| row.name.len()).max().unwrap_or(0).max("all kernels".len());
        let mut text =
            format!("  {:width$}  {:>9}  {:>10}  {:>9}  {:>5}\n", "kernel", "launches", "total ms", "mean us", "share");
        let mut line = |name: &str, launches: u64, nanoseconds: u64| {
            let (ms, mean) = (nanoseconds as f64 / 1e6, nanoseconds as f64 / 1e3 / launches.max(1) as f64);
            let share = 100.0 * nanoseconds as f64 / total.max(1) as f64;
            let _ = writeln!(text, "  {name:width$}  {launches:>9}  {ms:>10.3}  {mean:>9.2}  {share:>4.0}%");
        };
        for row in rows.iter().take(MOST_ROWS) {
            line(&row.name, row.launches, row.nanoseconds);
        }
        let sum = |rows: &[&Row]| rows.iter().fold((0, 0), |(n, t), row| (n + row.launches, t + row.nanoseconds));
        if let Some(others) = rows.get(MOST_ROWS..).filter(|others| !others.is_empty()) {
            let (launches, nanoseconds) = sum(others);
            line("others", launches, nanoseconds);
        }
        let (launches, nanoseconds) = sum(&rows);
        line("all kernels", launches, nanoseconds);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_kernel_comes_first() {
        let mut profile = Profile::new(true);
        assert_eq!(profile.table(), "");
        let (a, b) = (profile.row("f_k0"), profile.row("relax_k1"));
        assert_eq!(profile.row("f_k0"), a);
        profile.rows[a] = Row { launches: 2, nanoseconds: 1_000_000, ..profile.rows[a].clone() };
        profile.rows[b] = Row { launches: 1, nanoseconds: 3_000_000, ..profile.rows[b].clone() };
        let table = profile.table();
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["relax_k1", "1", "3.000", "3000.00", "75%"]);
        assert_eq!(lines[2], ["f_k0", "2", "1.000", "500.00", "25%"]);
        assert_eq!(lines[3], ["all", "kernels", "3", "4.000", "1333.33", "100%"]);
    }

    #[test]
    fn kernels_beyond_the_table_are_added_up() {
        let mut profile = Profile::new(true);
        for n in 0..MOST_ROWS + 3 {
            let row = profile.row(&format!("k{n}"));
            profile.rows[row].launches = 1;
        }
        let table = profile.table();
        assert_eq!(table.lines().count(), MOST_ROWS + 3);
        assert!(table.lines().any(|line| line.split_whitespace().take(2).eq(["others", "3"])), "{table}");
    }
}
