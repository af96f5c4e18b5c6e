//! The command line of `ravel test`.

use crate::args::Sources;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ravel_driver::Options;
use ravel_driver::testing::{Format, MEMORY, Most};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub const TEST_HELP: &str = "\
Without FILES the folders tests and src are searched, or the current folder where neither is there.
`void test_x()` passes if it returns, `bool prop_x(...)` if it is true for all arguments that are drawn, `fails_x()` if it faults
or does not compile (`//! code E0324` above it names the error). The library's module Test says what is expected.
NAME.sac with NAME.out beside it is a program and what it writes; .in, .args and .status are its input, its arguments and its exit
status. Transcripts of the prompt in comments and in Markdown are tests as well.
Each file has a process of its own. Exit status: 0, or 1 if a test failed or there is none.";

impl Sources {
    /// As options of a compilation, without what the package of a file has.
    pub fn options(&self) -> Options {
        let mut options = crate::options(&self.include, &self.define, &self.undefine, false, true);
        options.edition = self.stdlib;
        options
    }

    /// As they stand on the command line. What the network has was asked for before.
    pub fn arguments(&self) -> Vec<OsString> {
        let define = self.define.iter().flat_map(|text| ["-D".into(), text.into()]);
        let undefine = self.undefine.iter().flat_map(|text| ["-U".into(), text.into()]);
        let include = self.include.iter().flat_map(|folder| ["-I".into(), folder.into()]);
        let edition = self.stdlib.iter().flat_map(|edition| ["--stdlib".into(), edition.name().into()]);
        let locked = self.network.locked.then(|| "--locked".into());
        define.chain(undefine).chain(include).chain(edition).chain(locked).chain(["--offline".into()]).collect()
    }
}

/// What each child process may take.
#[derive(Args)]
pub struct Limits {
    /// Seconds after which a test, or a batch of calls of a benchmark, has failed
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    timeout: f64,
    /// Memory that a process may use, such as 512M or 8G; 4G by default
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
}

impl Limits {
    pub fn most(&self) -> Most {
        Most { time: Duration::from_secs_f64(self.timeout), memory: self.memory.unwrap_or(MEMORY) }
    }
}

#[derive(Args)]
pub struct Test {
    #[command(flatten)]
    pub source: Sources,
    /// What runs the tests: a backend, or `all`, which must agree; cranelift by default
    #[arg(long)]
    pub backend: Option<String>,
    /// Threads of each test; as many files run at once as that leaves cores for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub limits: Limits,
    /// Only tests whose `file:name` holds TEXT
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Only list the tests
    #[arg(long)]
    pub list: bool,
    /// Test again whenever a file changes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["list", "bless"])]
    pub watch: bool,
    /// Draw the arguments of properties from this number
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// How many times arguments are drawn for a property (100)
    #[arg(long, value_name = "N")]
    pub cases: Option<usize>,
    /// Take what programs write for what they should write: rewrite NAME.out
    #[arg(long)]
    pub bless: bool,
    /// How far numbers in the output of programs may be from those in NAME.out, in relation to these
    #[arg(long, value_name = "PART", value_parser = part)]
    pub tolerance: Option<f64>,
    /// Also write the results to FILE, as XML in JUnit's form
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// How results are written: human, or json (an object a line)
    #[arg(long, default_value = "human", value_parser = formats())]
    pub format: Format,
    /// Files and folders
    #[arg(value_name = "FILES")]
    pub files: Vec<PathBuf>,
    /// For the child processes
    #[arg(long, hide = true)]
    pub worker: Option<PathBuf>,
    #[arg(long, hide = true, default_value_t = 0)]
    pub from: usize,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(|(name, _)| name)).map(|name| {
        Format::ALL.into_iter().find(|(known, _)| *known == name).map_or(Format::default(), |(_, format)| format)
    })
}

/// A part that numbers may be off by.
fn part(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(part) if (0.0..1.0).contains(&part) => Ok(part),
        _ => Err("it is no number from 0 to 1".to_string()),
    }
}

/// A number of seconds that can be waited for.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds < 1e9 => Ok(seconds),
        _ => Err("it is no number of seconds above 0".to_string()),
    }
}

/// A number of bytes: 512M, 4G, 1.5GiB. Units are powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || "it is no size such as 512M or 4G".to_string();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u32 = match text[digits.len()..].to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    let bytes = digits.trim().parse::<f64>().map_err(|_| wrong())? * 2f64.powi(unit as i32);
    if bytes >= 1.0 && bytes < 2f64.powi(62) { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [("4G", 4 << 30), ("512M", 512 << 20), ("1.5gib", 3 << 29), ("100", 100), ("2 KB", 2048)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "G", "-1G", "0", "4X", "1e99T", "nanG", "infG", "1.2.3"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
