//! `ravel tune`: runs a program until its kernels were launched in every way that is worth trying.

use crate::args::{Network, Tune};
use ravel_runtime::device::{self, tune};
use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Tunes a program; the exit status.
pub fn run(tune: &Tune) -> i32 {
    let mut program = tune.program.clone();
    if program.is_dir() {
        match crate::project::root(&program, Network { offline: false, locked: false }) {
            Ok((_, root)) => program = root,
            Err(status) => return status,
        }
    }
    if let Some(device) = &tune.device {
        device::set_wish(device);
    }
    let device = match device::find() {
        Ok(device) => device,
        Err(why) => {
            say!("ravel: {why}");
            return 1;
        }
    };
    if device::cache::folder().is_none() {
        say!("ravel: there is no cache folder to keep results in; RAVEL_CACHE can name one");
        return 1;
    }
    if let Some(file) = tune::damaged(&device) {
        say!(
            "ravel: {} is damaged, or of another version: what it says is not used and is measured again",
            file.display()
        );
    }
    // Every run reads the same input.
    let mut input = Vec::new();
    if !std::io::stdin().is_terminal() && std::io::stdin().read_to_end(&mut input).is_err() {
        input.clear();
    }
    let before = tune::records(&device);
    let mut known = before.clone();
    for _ in 0..tune.runs {
        match run_once(tune, &program, &input) {
            Ok(0) => {}
            // The program has said why.
            Ok(status) => return status,
            Err(error) => {
                say!("ravel: cannot run {}: {error}", program.display());
                return 1;
            }
        }
        let now = tune::records(&device);
        let measured = now != known;
        known = now;
        if !measured {
            break;
        }
    }
    let changed = known.iter().filter(|(key, record)| before.get(*key) != Some(record));
    let lines: Vec<String> = changed
        .map(|(_, record)| {
            format!(
                "{}{}\n",
                record.summary(),
                if record.is_settled() { "" } else { " (not everything was measured: --runs)" }
            )
        })
        .collect();
    if lines.is_empty() {
        say!(
            "ravel: nothing to measure: the program launches no kernels whose groups can be chosen, or all were measured before"
        );
    }
    i32::from(!crate::print(&lines.concat()))
}

/// One run that measures; its exit status.
fn run_once(tune: &Tune, program: &Path, input: &[u8]) -> std::io::Result<i32> {
    let mut command = if is_source(program) {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["run", "--backend", "opencl"]);
        command.args(tune.define.iter().flat_map(|definition| ["-D", definition]));
        for folder in &tune.include {
            command.arg("-I").arg(folder);
        }
        if let Some(edition) = tune.stdlib {
            command.args(["--stdlib", edition.name()]);
        }
        if let Some(cycles) = tune.launch_work {
            command.args(["--launch-work", &cycles.to_string()]);
        }
        command.arg(program);
        command
    } else {
        // A name without a folder is no command of the system.
        Command::new(program.canonicalize()?)
    };
    if let Some(device) = &tune.device {
        command.env("RAVEL_DEVICE", device);
    }
    command.args(&tune.arguments).env("RAVEL_TUNE", "1").stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input closes the pipe early.
        let _ = stdin.write_all(input);
    }
    Ok(child.wait()?.code().unwrap_or(1))
}

fn is_source(program: &Path) -> bool {
    program.extension().is_some_and(|extension| extension == "sac")
}
