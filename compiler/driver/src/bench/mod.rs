//! `ravel bench`: functions `bench_...` are timed in batches of calls.
//!
//! A line `//! n = 28, 224` above a function gives values to a name of its patterns; several lines are combined. Arguments are drawn before the
//! clock starts. A batch has so many calls that it takes 5 ms; once two batches agree, the ones that count follow.
//!
//! Each file has a process of its own, as tests have; how processes are followed is the same, too.

mod children;
pub mod clock;
mod counts;
pub mod statistics;
pub mod store;
mod worker;

pub use children::{Settings, run};
pub use counts::Counts;
pub use statistics::{Change, Estimate};
pub use worker::{Work, work};

use crate::pipeline::Options;
use crate::testing::machine::{Called, Compiled, Machine};
use crate::testing::{Case, Patterns, Random, SEED, find_functions, notes_above};
use ravel_core::ir::FunId;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Shortest time of a batch: clocks and interrupts do not matter then.
const BATCH: Duration = Duration::from_millis(5);

/// Batches agree within this part; and how long that is waited for.
const AGREEMENT: f64 = 0.02;
const WARM_UP: Duration = Duration::from_secs(3);

/// How often whoever waits is told that batches go on.
const TELL: Duration = Duration::from_millis(500);

/// Batches that count, and fewer of them where it has to be quick.
pub const BATCHES: usize = 30;
pub const QUICK_BATCHES: usize = 10;

/// Most combinations of values for one function.
const MOST_CASES: usize = 100;

/// A function with the values of names.
#[derive(Clone, Debug)]
pub struct Bench {
    fun: FunId,
    pub name: String,
    pub line: usize,
    values: Vec<(String, i64)>,
}

impl Bench {
    /// `n = 28, k = 5`.
    pub fn arguments(&self) -> String {
        let each: Vec<String> = self.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        each.join(", ")
    }

    /// `bench_conv(n = 28, k = 5)`.
    pub fn title(&self) -> String {
        match self.arguments() {
            none if none.is_empty() => self.name.clone(),
            arguments => format!("{}({arguments})", self.name),
        }
    }
}

/// What was found out about a benchmark.
#[derive(Clone, Debug)]
pub struct Measured {
    pub file: PathBuf,
    pub name: String,
    pub arguments: String,
    pub estimate: Estimate,
    pub counts: Counts,
    /// Calls in each batch.
    pub calls: usize,
    /// Seconds for one call, one of each batch.
    pub samples: Vec<f64>,
}

/// A file with its benchmarks.
pub struct Suite {
    machine: Machine,
    file: PathBuf,
    pub benches: Vec<Bench>,
}

impl Suite {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, or with what it says of values.
    pub fn open(options: Options, file: &Path) -> Result<Suite, String> {
        let machine = Machine::open(options, file, |_| {})?;
        let mut benches = Vec::new();
        let map = &machine.compilation.map;
        let text = map.get(machine.file).map_or("", |file| &*file.text);
        for (fun, function, name) in find_functions(&machine.program, machine.file, &|name| name.starts_with("bench_"))
        {
            let line = map.line_col(function.span).map_or(0, |at| at.line);
            let notes = notes_above(text, function.span.start as usize);
            let values = combinations(&notes).map_err(|why| format!("{}:{line}: {name}: {why}\n", file.display()))?;
            benches.extend(values.into_iter().map(|values| Bench { fun, name: name.clone(), line, values }));
        }
        Ok(Suite { machine, file: file.to_path_buf(), benches })
    }

    /// Times one of the benchmarks; `alive` hears that it gets on.
    ///
    /// # Errors
    /// Why that is not possible.
    pub fn measure(&mut self, bench: &Bench, batches: usize, alive: &mut dyn FnMut()) -> Result<Measured, String> {
        let patterns = Patterns::of(&self.machine.program, &self.machine.program.funs[bench.fun.index()])?;
        let missing = patterns.without_value(&bench.values);
        if !missing.is_empty() {
            return Err(format!("{} without a value: write `//! n = 100` above the function", missing.join(", ")));
        }
        let case: Case = patterns.with_extents(&bench.values, &mut Random::new(SEED));
        let values = patterns.values(&case).ok_or("there is no memory for the arguments")?;
        let kinds: Option<Vec<_>> = values.iter().map(|value| value.kind(&self.machine.program)).collect();
        let kinds = kinds.ok_or("the arguments have no types")?;
        let mut counted = Counts::default();
        let compiled = self.machine.compile_and(bench.fun, kinds, &mut |module| counted = counts::count(module));
        let compiled = compiled.map_err(|refused| self.machine.refusal_text(&refused))?;
        let mut told = Instant::now();
        let mut run = |calls: usize| {
            // Not in front of every batch, which is to find the caches as the last one left them.
            if told.elapsed() > TELL {
                alive();
                told = Instant::now();
            }
            self.batch(&compiled, &values, calls)
        };
        let calls = enough(&mut run)?;
        warm(&mut run, calls)?;
        let samples: Result<Vec<f64>, String> =
            (0..batches).map(|_| run(calls).map(|time| per_call(time, calls))).collect();
        let samples = samples?;
        Ok(Measured {
            file: self.file.clone(),
            name: bench.name.clone(),
            arguments: bench.arguments(),
            estimate: Estimate::of(&samples).ok_or("there are no batches")?,
            counts: counted,
            calls,
            samples,
        })
    }

    fn batch(
        &self,
        compiled: &Compiled,
        values: &[crate::repl::value::Value],
        calls: usize,
    ) -> Result<Duration, String> {
        match self.machine.call_often(compiled, values, calls) {
            Ok(time) => Ok(time),
            Err(Called::Fault(report)) => Err(self.machine.fault_text(compiled, &report)),
            Err(Called::Exit(status)) => Err(format!("it called `exit` with status {status}")),
            Err(Called::Impossible(why)) => Err(why),
            Err(Called::Returned(_)) => Err("it did not run".to_string()),
        }
    }
}

fn per_call(time: Duration, calls: usize) -> f64 {
    time.as_secs_f64() / calls as f64
}

/// How many calls take as long as a batch should.
fn enough(run: &mut impl FnMut(usize) -> Result<Duration, String>) -> Result<usize, String> {
    let mut calls = 1;
    loop {
        let time = run(calls)?;
        if time >= BATCH {
            return Ok(calls);
        }
        let factor = BATCH.as_secs_f64() * 1.2 / time.as_secs_f64().max(1e-9);
        calls = ((calls as f64 * factor.clamp(1.5, 100.0)).ceil() as usize).min(100_000_000);
    }
}

/// Runs until two batches agree, or long enough.
fn warm(run: &mut impl FnMut(usize) -> Result<Duration, String>, calls: usize) -> Result<(), String> {
    let start = Instant::now();
    let mut last = run(calls)?.as_secs_f64();
    while start.elapsed() < WARM_UP {
        let time = run(calls)?.as_secs_f64();
        if (time / last - 1.0).abs() <= AGREEMENT {
            break;
        }
        last = time;
    }
    Ok(())
}

/// The values that lines `n = 1, 2` give to names, every one with every other.
fn combinations(notes: &[&str]) -> Result<Vec<Vec<(String, i64)>>, String> {
    let mut all: Vec<Vec<(String, i64)>> = vec![Vec::new()];
    for (name, list) in notes.iter().filter_map(|note| note.split_once('=')) {
        let name = name.trim();
        let values: Result<Vec<i64>, _> = list.split(',').map(|value| value.trim().parse::<i64>()).collect();
        let values = values.map_err(|_| format!("`{}` is no list of numbers", list.trim()))?;
        if let Some(value) = values.iter().find(|value| !(0..=i64::from(i32::MAX)).contains(*value)) {
            return Err(format!("{value} is no extent"));
        }
        let with = |one: &Vec<(String, i64)>| -> Vec<Vec<(String, i64)>> {
            let extended = |value: &i64| one.iter().cloned().chain([(name.to_string(), *value)]).collect();
            values.iter().map(extended).collect()
        };
        all = all.iter().flat_map(with).collect();
        if all.len() > MOST_CASES {
            return Err(format!("more than {MOST_CASES} combinations of values"));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_combined() {
        let text = |notes: &[&str]| {
            combinations(notes).map(|all| {
                all.iter()
                    .map(|one| one.iter().map(|(name, value)| format!("{name}{value}")).collect::<Vec<_>>().join(" "))
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(text(&[]), Ok(vec![String::new()]));
        assert_eq!(text(&["n = 1, 2", "allow x", "k=3"]), Ok(vec!["n1 k3".to_string(), "n2 k3".to_string()]));
        for wrong in [&["n = "][..], &["n = 1;2"], &["n = -1"], &["n = 3000000000"]] {
            assert!(text(wrong).is_err(), "{wrong:?}");
        }
        let many = "a = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11";
        assert!(text(&[many, many]).is_err());
    }

    #[test]
    fn batches_are_as_long_as_they_should() {
        let mut time = |calls: usize| Ok(Duration::from_micros(3) * u32::try_from(calls).unwrap_or(u32::MAX));
        let calls = enough(&mut time).expect("it ends");
        assert!((1667..5000).contains(&calls), "{calls}");
    }
}
