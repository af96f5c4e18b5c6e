//! `ravel run --profile` and `--perf-map`: what is said before anything runs.

use ravel_driver::profile::Form;
use ravel_driver::{Compilation, Kind};
use std::path::Path;

/// Has the program marked for a profile, if there can be one.
pub fn prepare(compilation: &mut Compilation, program: &Path, output: Option<&Path>) -> Result<(), i32> {
    if compilation.options.backend.kind() == Kind::Interpreter {
        say!("ravel: the interpreter has no profile: its times say nothing about compiled code");
        return Err(2);
    }
    if let Some(path) = output {
        if Form::of(path).is_none() {
            say!("ravel: --profile={}: the name ends in .json, .folded, .html or .txt", path.display());
            return Err(2);
        }
        if let Err(error) = compilation.check_output(program, path) {
            say!("ravel: {error}");
            return Err(1);
        }
    }
    compilation.options.profile = true;
    Ok(())
}

/// Has the places of compiled functions written down for `perf`, if there will be any.
pub fn prepare_map(compilation: &mut Compilation) -> Result<(), i32> {
    if compilation.options.backend.kind() == Kind::Interpreter {
        say!("ravel: --perf-map: the interpreter compiles no functions that perf could name");
        return Err(2);
    }
    compilation.options.perf_map = true;
    Ok(())
}
