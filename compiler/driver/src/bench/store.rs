//! Results of benchmarks in files, to be compared with later.

use super::{Counts, Measured, statistics::Estimate};
use ravel_runtime::outputs;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Where results are kept: below the folder of the nearest `ravel.toml` above, or else below this one.
pub fn place(name: &str) -> Result<PathBuf, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(format!("`{name}` is no name for results: letters, digits, - and _"));
    }
    let here = std::env::current_dir().map_err(|error| format!("there is no current folder: {error}"))?;
    let root = here.ancestors().find(|folder| folder.join("ravel.toml").is_file()).unwrap_or(&here);
    Ok(root.join(".ravel").join("bench").join(format!("{name}.json")))
}

/// What ran the benchmarks: the processor, and how many of its threads.
pub fn machine(threads: usize) -> Value {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let processor = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    json!({ "processor": processor, "threads": threads, "system": std::env::consts::OS })
}

/// Everything about a benchmark, with all samples.
pub fn result(one: &Measured) -> Value {
    json!({
        "file": one.file.display().to_string(),
        "name": one.name,
        "arguments": one.arguments,
        "median": one.estimate.median,
        "low": one.estimate.low,
        "high": one.estimate.high,
        "operations": one.counts.operations,
        "singles": one.counts.singles,
        "bytes": one.counts.bytes,
        "calls": one.calls,
        "samples": one.samples,
    })
}

/// The same, read; nothing if it is something else.
pub fn measured(value: &Value) -> Option<Measured> {
    let text = |key: &str| value[key].as_str().map(str::to_string);
    let samples: Vec<f64> = value["samples"].as_array()?.iter().filter_map(Value::as_f64).collect();
    Some(Measured {
        file: PathBuf::from(text("file")?),
        name: text("name")?,
        arguments: text("arguments")?,
        estimate: Estimate::of(&samples)?,
        counts: Counts {
            operations: value["operations"].as_f64(),
            singles: value["singles"].as_f64(),
            bytes: value["bytes"].as_f64(),
        },
        calls: usize::try_from(value["calls"].as_u64()?).ok()?,
        samples,
    })
}

/// Everything about a run.
pub fn json(results: &[Measured], machine: &Value, backend: &str) -> Value {
    let results: Vec<Value> = results.iter().map(result).collect();
    json!({ "version": env!("CARGO_PKG_VERSION"), "backend": backend, "machine": machine, "results": results })
}

/// The same as text.
pub fn text(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Writes results, whole or not at all.
///
/// # Errors
/// Why that is not possible.
pub fn save(path: &Path, value: &Value) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    outputs::write(path, text(value).as_bytes()).map_err(|why| format!("cannot write {}: {why}", path.display()))
}

/// Results that were kept.
pub struct Kept(Value);

impl Kept {
    /// # Errors
    /// There is no such file, or it holds something else.
    pub fn read(path: &Path) -> Result<Kept, String> {
        let text = crate::files::read_text(path).map_err(|why| format!("cannot read {}: {why}", path.display()))?;
        let value: Value = serde_json::from_str(&text).map_err(|why| format!("{}: {why}", path.display()))?;
        let is_whole = value["results"].is_array();
        is_whole.then_some(Kept(value)).ok_or_else(|| format!("{} holds no results of benchmarks", path.display()))
    }

    /// What was found for a benchmark.
    pub fn estimate(&self, file: &Path, name: &str, arguments: &str) -> Option<Estimate> {
        let is_it = |one: &&Value| {
            one["file"] == file.display().to_string() && one["name"] == name && one["arguments"] == arguments
        };
        let one = self.0["results"].as_array()?.iter().find(is_it)?;
        measured(one).map(|one| one.estimate)
    }

    /// What is different about how they came to be.
    pub fn differs(&self, machine: &Value, backend: &str) -> Option<String> {
        if self.0["machine"] != *machine {
            return Some(format!("was measured on another machine or with other threads: {}", self.0["machine"]));
        }
        let other = self.0["backend"].as_str().filter(|other| *other != backend)?;
        Some(format!("was measured with the backend {other}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_they_were_written() {
        let samples = vec![1.0, 0.1 + 0.2, 3e-9];
        let counts = Counts { operations: Some(7.0), singles: None, bytes: Some(0.5) };
        let estimate = Estimate::of(&samples).expect("there are samples");
        let (name, arguments) = ("bench_a".to_string(), "n = 3".to_string());
        let one = Measured { file: "a.sac".into(), name, arguments, estimate, counts, calls: 5, samples };
        let read = measured(&result(&one)).expect("it is one");
        assert_eq!((result(&read), read.samples), (result(&one), one.samples));
        assert!(measured(&json!({ "name": "bench_a" })).is_none());
    }
}
