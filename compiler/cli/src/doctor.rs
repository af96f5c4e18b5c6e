//! `ravel doctor`: what of this machine Ravel will use; and `ravel --version`.

use crate::print;
use crate::table::table;
use ravel_driver::Backend;
use ravel_runtime::device;
use std::io::IsTerminal;
use std::process::Command;

/// What `ravel --version` says.
pub fn version() -> String {
    let backends: Vec<&str> = Backend::all().map(Backend::name).collect();
    format!(
        "{}\nbackends: {}\nmachine: {} {}",
        env!("CARGO_PKG_VERSION"),
        backends.join(", "),
        std::env::consts::ARCH,
        std::env::consts::OS
    )
}

/// Looks at everything; the exit status.
pub fn run() -> i32 {
    let mut missing = false;
    let mut rows: Vec<[String; 2]> = vec![["ravel".to_string(), env!("CARGO_PKG_VERSION").to_string()]];
    let mut row = |name: &str, found: Result<String, String>, is_needed: bool| {
        missing |= is_needed && found.is_err();
        let text = found.unwrap_or_else(|why| format!("{}{why}", if is_needed { "MISSING: " } else { "" }));
        for (k, line) in text.lines().enumerate() {
            rows.push([if k == 0 { name.to_string() } else { String::new() }, line.to_string()]);
        }
    };
    let backends = Backend::all().map(|backend| format!("{}: {}", backend.name(), backend.description()));
    row("backends", Ok(backends.collect::<Vec<_>>().join("\n")), true);
    row("processor", processor(), true);
    row("threads", Ok(ravel_runtime::pool::threads().to_string()), false);
    row("C compiler", c_compiler(), true);
    row("runtime library", ravel_driver::link::runtime_library().map(|path| path.display().to_string()), true);
    row("OpenCL", devices(), false);
    row("MPI", crate::ranks::found(), false);
    row("kernel cache", cache(), false);
    row("terminal", Ok(terminal()), false);
    let shown = print(&table(&rows));
    i32::from(!shown || missing)
}

fn processor() -> Result<String, String> {
    let target = Backend::default().capabilities().map_err(|error| error.to_string())?;
    let fma = if target.has_fma { ", fused multiply-add" } else { "" };
    Ok(format!("{}, vectors of {} bits{fma}", std::env::consts::ARCH, 8 * target.vector_bytes))
}

/// The first line that the compiler says of itself.
fn c_compiler() -> Result<String, String> {
    let command = std::env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
    let run = Command::new(&command).arg("--version").output();
    let run =
        run.map_err(|error| format!("`{}` does not start ({error}); `ravel build` links by it", command.display()))?;
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    Ok(format!("{}: {}", command.display(), text.lines().next().unwrap_or("says nothing of itself")))
}

fn devices() -> Result<String, String> {
    let names: Vec<String> = device::list()?.iter().map(|one| format!("{} ({})", one.name, one.driver)).collect();
    if names.is_empty() { Err("no device".to_string()) } else { Ok(names.join("\n")) }
}

fn cache() -> Result<String, String> {
    let folder = device::cache::folder().ok_or("none: RAVEL_CACHE can name a folder")?;
    Ok(folder.display().to_string())
}

fn terminal() -> String {
    let is = |terminal: bool| if terminal { "a terminal" } else { "no terminal" };
    let color = if crate::use_color() { "colours" } else { "no colours" };
    format!(
        "input {}, output {}, reports {} with {color}",
        is(std::io::stdin().is_terminal()),
        is(std::io::stdout().is_terminal()),
        is(std::io::stderr().is_terminal())
    )
}
