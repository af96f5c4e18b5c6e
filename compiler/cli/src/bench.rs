//! `ravel bench`: what the command line asks for, and the report.

use crate::args_bench::Bench;
use crate::project;
use crate::table::table;
use crate::test::{places, source};
use ravel_driver::Backend;
use ravel_driver::bench::{self, BATCHES, Change, Measured, QUICK_BATCHES, Settings, Work, store};
use ravel_driver::profile::Peaks;
use ravel_driver::testing::{self, Kind, Outcome};
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub fn run(bench: &Bench) -> i32 {
    if let Some(folder) = &bench.worker {
        return work(bench, folder);
    }
    let package =
        match project::open(bench.files.first().map_or(Path::new("."), PathBuf::as_path), bench.source.network) {
            Ok(package) => package,
            Err(status) => return status,
        };
    let root = package.as_ref().map_or(Path::new(""), |package| &package.manifest.folder);
    let files = testing::files_with(&places(&bench.files, root, &["bench", "tests", "src"]), &["bench_"]);
    let files = match files {
        Ok(files) => files,
        Err(why) => {
            say!("ravel: {why}");
            return 1;
        }
    };
    let threads =
        bench.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let settings = Settings {
        source: source(&bench.source, package.is_some()),
        backend: backend(bench),
        threads,
        most: bench.limits.most(),
        filter: bench.filter.clone(),
        quick: bench.quick,
        list: bench.list,
    };
    match measure(bench, &settings, &files) {
        Ok(status) => status,
        Err(why) => {
            say!("ravel: {why}");
            1
        }
    }
}

fn backend(bench: &Bench) -> Backend {
    bench.backend.unwrap_or_else(|| if bench.optimize { Backend::fastest() } else { Backend::default() })
}

/// The part of the child process.
fn work(bench: &Bench, folder: &Path) -> i32 {
    let mut options = bench.source.options();
    options.backend = backend(bench);
    if let Some(threads) = bench.threads {
        ravel_runtime::pool::set_threads(usize::from(threads));
    }
    let Some(file) = bench.files.first() else { return 2 };
    if let Err(status) = project::enter(&mut options, file, bench.source.network) {
        return status;
    }
    let arguments = [b"ravel".to_vec()];
    if let Err(fault) = ravel_runtime::start::set_arguments(arguments.to_vec()) {
        ravel_runtime::fault::raise(fault);
    }
    if let Err(status) = crate::devices::settle(&mut options, &arguments) {
        return status;
    }
    let work = Work {
        folder: folder.to_path_buf(),
        from: bench.from,
        filter: bench.filter.clone(),
        batches: if bench.quick { QUICK_BATCHES } else { BATCHES },
        list: bench.list,
    };
    match bench::work(options, file, &work) {
        Ok(()) => 0,
        Err(error) => {
            say!("ravel: cannot report: {error}");
            70
        }
    }
}

fn measure(bench: &Bench, settings: &Settings, files: &[PathBuf]) -> Result<i32, String> {
    let machine = store::machine(settings.threads);
    let backend = settings.backend.name();
    let save = bench.save.as_deref().map(store::place).transpose()?;
    let earlier = match &bench.compare {
        None => None,
        Some(name) => Some((name.as_str(), store::Kept::read(&store::place(name)?)?)),
    };
    if let Some((name, kept)) = &earlier
        && let Some(difference) = kept.differs(&machine, backend)
    {
        say!("ravel: warning: `{name}` {difference}");
    }
    let Found { results, failed, seen } = all(bench, settings, files)?;
    let rows: Vec<Row> =
        results.iter().map(|one| Row::of(one, earlier.as_ref().map(|(name, kept)| (*name, kept)))).collect();
    let mut written = true;
    if bench.format == "json" {
        written &= crate::print(&store::text(&store::json(&results, &machine, backend)));
    } else if !rows.is_empty() {
        let peaks = Peaks::of_machine(settings.threads);
        let heads = ["benchmark", "median", "95 % of medians", "GFLOP/s", "GB/s", "of peak", ""].map(String::from);
        let cells = rows.iter().zip(&results).map(|(row, one)| row.cells(share(one, &peaks)));
        written &= crate::print(&table(&std::iter::once(heads).chain(cells).collect::<Vec<_>>()));
    }
    if let Some(path) = &save {
        store::save(path, &store::json(&results, &machine, backend))?;
    }
    if seen == 0 {
        say!(
            "ravel: there are no benchmarks{}",
            if bench.filter.is_some() { " that the filter admits" } else { " here" }
        );
        return Ok(1);
    }
    let slower = rows.iter().any(|row| matches!(row.change, Some(Change::Slower(_))));
    let denied = slower && bench.deny.is_some();
    Ok(i32::from(failed > 0 || denied || !written))
}

/// What was measured, and how many could not be.
struct Found {
    results: Vec<Measured>,
    failed: usize,
    seen: usize,
}

fn all(bench: &Bench, settings: &Settings, files: &[PathBuf]) -> Result<Found, String> {
    let mut found = Found { results: Vec::new(), failed: 0, seen: 0 };
    for file in files {
        // Children do not ask the network.
        if project::open(file, bench.source.network).is_err() {
            (found.failed, found.seen) = (found.failed + 1, found.seen + 1);
            continue;
        }
        for outcome in bench::run(settings, file)? {
            found.seen += 1;
            match outcome.measured.as_ref().and_then(store::measured) {
                _ if !outcome.passed => {
                    complain(&outcome);
                    found.failed += 1;
                }
                Some(measured) => found.results.push(measured),
                None if bench.list => {
                    crate::print(&format!("{}:{}: {}\n", file.display(), outcome.line, outcome.name));
                }
                None => return Err(format!("{} was run, and said nothing", outcome.name)),
            }
        }
    }
    Ok(found)
}

/// Says why a benchmark, or a file as a whole, could not be run.
fn complain(outcome: &Outcome) {
    let message = outcome.message.trim_end();
    if outcome.kind == Kind::File {
        say!("{message}");
        return;
    }
    say!("FAILED {}:{}: {}\n{message}", outcome.file.display(), outcome.line, outcome.name);
    if !outcome.output.is_empty() {
        say!("it wrote");
        let _ = writeln!(std::io::stderr(), "{}", outcome.output.trim_end());
    }
}

/// Bytes that do not stay in caches from one call to the next: only then they move as memory lets them.
const FROM_MEMORY: f64 = 16e6;

/// How much of what the machine can do: operations, or bytes if these come from memory and are nearer to their peak.
fn share(one: &Measured, peaks: &Peaks) -> String {
    let (counts, time) = (&one.counts, one.estimate.median);
    let operations = counts.operations.map_or(0.0, |all| {
        let singles = counts.singles.unwrap_or(0.0);
        // What the operations would take at least.
        (singles / peaks.f32 + (all - singles) / peaks.f64) / time
    });
    let bytes = counts.bytes.filter(|bytes| *bytes >= FROM_MEMORY).map_or(0.0, |bytes| bytes / peaks.bytes / time);
    match operations.max(bytes) {
        0.0 => "-".to_string(),
        share if bytes > operations => format!("{:.0} % of GB/s", share * 100.0),
        share => format!("{:.0} % of GFLOP/s", share * 100.0),
    }
}

/// A line of the report.
struct Row {
    name: String,
    time: String,
    interval: String,
    operations: String,
    bytes: String,
    change: Option<Change>,
    said: String,
}

impl Row {
    fn of(one: &Measured, earlier: Option<(&str, &store::Kept)>) -> Row {
        let estimate = &one.estimate;
        let rate = |count: Option<f64>| match count {
            Some(count) if count > 0.0 => format!("{:.3}", count / estimate.median * 1e-9),
            _ => "-".to_string(),
        };
        let before = earlier.map(|(name, kept)| (name, kept.estimate(&one.file, &one.name, &one.arguments)));
        let (change, said) = match before {
            None => (None, String::new()),
            Some((name, None)) => (None, format!("not in {name}")),
            Some((name, Some(before))) => {
                let change = estimate.since(&before);
                let part = |part: f64| format!("{:.1} %", part * 100.0);
                let said = match change {
                    Change::None => format!("as {name}"),
                    Change::Slower(by) => format!("{} slower than {name} ({})", part(by), time(before.median)),
                    Change::Faster(by) => format!("{} faster than {name} ({})", part(by), time(before.median)),
                };
                (Some(change), said)
            }
        };
        let name = match one.arguments.is_empty() {
            true => one.name.clone(),
            false => format!("{}({})", one.name, one.arguments),
        };
        Row {
            name,
            time: time(estimate.median),
            interval: format!("{} to {}", time(estimate.low), time(estimate.high)),
            operations: rate(one.counts.operations),
            bytes: rate(one.counts.bytes),
            change,
            said,
        }
    }

    fn cells(&self, share: String) -> [String; 7] {
        let [name, time, interval, operations, bytes, said] =
            [&self.name, &self.time, &self.interval, &self.operations, &self.bytes, &self.said].map(String::clone);
        [name, time, interval, operations, bytes, share, said]
    }
}

/// A time with three or more digits.
fn time(seconds: f64) -> String {
    let (scaled, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if scaled < 10.0 { 2 } else { usize::from(scaled < 100.0) };
    format!("{scaled:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_unit() {
        let cases = [(1.234e-8, "12.3 ns"), (2.5e-6, "2.50 us"), (0.1234, "123 ms"), (3.0, "3.00 s")];
        for (seconds, text) in cases {
            assert_eq!(time(seconds), text);
        }
    }
}
