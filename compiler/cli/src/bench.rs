//! `ravel bench`: what the command line asks for, and the report.

use crate::args_bench::Bench;
use crate::project;
use crate::table::table;
use crate::test::places;
use ravel_driver::bench::{BATCHES, Change, Measured, QUICK_BATCHES, Suite, store};
use ravel_driver::testing;
use ravel_driver::{Backend, Options};
use std::path::{Path, PathBuf};

pub fn run(bench: &Bench) -> i32 {
    let mut options = bench.source.options();
    let package =
        match project::open(bench.files.first().map_or(Path::new("."), PathBuf::as_path), bench.source.network) {
            Ok(package) => package,
            Err(status) => return status,
        };
    let root = package.map_or(PathBuf::new(), |package| package.manifest.folder);
    let files = testing::files_with(&places(&bench.files, &root, &["bench", "tests", "src"]), &["bench_"]);
    let files = match files {
        Ok(files) => files,
        Err(why) => {
            say!("ravel: {why}");
            return 1;
        }
    };
    // Benchmarks use the modules of the project, which a package finds by itself.
    if root.as_os_str().is_empty() && Path::new("src").is_dir() {
        options.folders.push(PathBuf::from("src"));
    }
    options.backend =
        bench.backend.unwrap_or_else(|| if bench.optimize { Backend::fastest() } else { Backend::default() });
    let threads =
        bench.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    ravel_runtime::pool::set_threads(threads);
    if let Err(fault) = ravel_runtime::start::set_arguments(vec![b"ravel".to_vec()]) {
        ravel_runtime::fault::raise(fault);
    }
    if let Err(status) = crate::devices::settle(&mut options, &[b"ravel".to_vec()]) {
        return status;
    }
    match measure(bench, &options, &files, threads) {
        Ok(status) => status,
        Err(why) => {
            say!("ravel: {why}");
            1
        }
    }
}

fn measure(bench: &Bench, options: &Options, files: &[PathBuf], threads: usize) -> Result<i32, String> {
    let machine = store::machine(threads);
    let backend = options.backend.name();
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
    let Found { results, failed, seen } = all(bench, options, files)?;
    let rows: Vec<Row> =
        results.iter().map(|one| Row::of(one, earlier.as_ref().map(|(name, kept)| (*name, kept)))).collect();
    let mut written = true;
    if bench.format == "json" {
        written &= crate::print(&store::text(&store::json(&results, &machine, backend)));
    } else if !rows.is_empty() {
        let heads = ["benchmark", "median", "95 % of medians", "GFLOP/s", "GB/s", ""].map(String::from);
        written &= crate::print(&table(&std::iter::once(heads).chain(rows.iter().map(Row::cells)).collect::<Vec<_>>()));
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

fn all(bench: &Bench, options: &Options, files: &[PathBuf]) -> Result<Found, String> {
    let mut found = Found { results: Vec::new(), failed: 0, seen: 0 };
    let batches = if bench.quick { QUICK_BATCHES } else { BATCHES };
    for file in files {
        let mut options = options.clone();
        if project::enter(&mut options, file, bench.source.network).is_err() {
            (found.failed, found.seen) = (found.failed + 1, found.seen + 1);
            continue;
        }
        let mut suite = match Suite::open(options, file) {
            Ok(suite) => suite,
            Err(why) => {
                say!("{}", why.trim_end());
                (found.failed, found.seen) = (found.failed + 1, found.seen + 1);
                continue;
            }
        };
        let is_meant =
            |name: &str| bench.filter.as_ref().is_none_or(|part| format!("{}:{name}", file.display()).contains(part));
        for one in suite.benches.clone().into_iter().filter(|one| is_meant(&one.name)) {
            found.seen += 1;
            if bench.list {
                let arguments = one.arguments();
                let values = if arguments.is_empty() { String::new() } else { format!(" ({arguments})") };
                crate::print(&format!("{}:{}: {}{values}\n", file.display(), one.line, one.name));
                continue;
            }
            match suite.measure(&one, batches) {
                Ok(measured) => found.results.push(measured),
                Err(why) => {
                    say!("FAILED {}:{}: {}\n{}", file.display(), one.line, one.name, why.trim_end());
                    found.failed += 1;
                }
            }
        }
    }
    Ok(found)
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

    fn cells(&self) -> [String; 6] {
        [&self.name, &self.time, &self.interval, &self.operations, &self.bytes, &self.said].map(String::clone)
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
