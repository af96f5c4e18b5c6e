//! The command line of `ravel bench`.

use crate::args::BackendNames;
use crate::args::Sources;
use crate::args_test::Limits;
use clap::Args;
use ravel_driver::Backend;
use std::path::PathBuf;

pub const BENCH_HELP: &str = "\
Without FILES the folders bench, tests and src are searched, or the current folder where none is there.
`float[.,.] bench_x(float[n,n] a)` is timed; `//! n = 28, 224` above it gives values to the names in its patterns.
Each file has a process of its own.
Results that are saved lie in .ravel/bench, beside ravel.toml or in the current folder. A change counts if the intervals are disjoint
and it is more than 5 %. Exit status: 0, or 1 if a benchmark fails, or one is slower under `--deny slower`.";

#[derive(Args)]
pub struct Bench {
    #[command(flatten)]
    pub source: Sources,
    /// What runs the benchmarks; cranelift by default
    #[arg(long, value_parser = BackendNames)]
    pub backend: Option<Backend>,
    /// Compile for speed, with LLVM if this `ravel` was built with it
    #[arg(short = 'O', conflicts_with = "backend")]
    pub optimize: bool,
    /// Number of threads; all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub limits: Limits,
    /// Only benchmarks whose `file:name` holds TEXT
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Only list the benchmarks
    #[arg(long)]
    pub list: bool,
    /// Fewer batches: less time, less certainty
    #[arg(long)]
    pub quick: bool,
    /// Keep the results under this name
    #[arg(long, value_name = "NAME", conflicts_with = "list")]
    pub save: Option<String>,
    /// Say what changed since results that were kept
    #[arg(long, value_name = "NAME", conflicts_with = "list")]
    pub compare: Option<String>,
    /// With --compare: exit with 1 if something is slower
    #[arg(long, value_name = "CHANGE", value_parser = ["slower"], requires = "compare")]
    pub deny: Option<String>,
    /// How results are written: human, or json (all samples, machine and version)
    #[arg(long, default_value = "human", value_parser = ["human", "json"])]
    pub format: String,
    /// Files and folders
    #[arg(value_name = "FILES")]
    pub files: Vec<PathBuf>,
    /// For the child processes
    #[arg(long, hide = true)]
    pub worker: Option<PathBuf>,
    #[arg(long, hide = true, default_value_t = 0)]
    pub from: usize,
}
