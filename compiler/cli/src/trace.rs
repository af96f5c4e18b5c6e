//! `ravel run --trace`.

use crate::args::Run;
use ravel_driver::{Backend, Kind, Options};

/// What is traced.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum Of {
    Calls,
    Allocs,
    Withs,
}

/// Sets the options for a trace, if one is asked for: only the interpreter has it.
pub fn prepare(options: &mut Options, run: &Run) {
    if run.trace.is_empty() {
        return;
    }
    let wants = |of| run.trace.contains(&of);
    options.trace.calls = wants(Of::Calls);
    options.trace.allocations = wants(Of::Allocs);
    options.trace.with_loops = wants(Of::Withs);
    if options.backend.kind() != Kind::Interpreter
        && let Some(interpreter) = Backend::all().find(|backend| backend.kind() == Kind::Interpreter)
    {
        say!("ravel: --trace runs the program in the interpreter, as `--backend {}` does", interpreter.name());
        options.backend = interpreter;
    }
}
