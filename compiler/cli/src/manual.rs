//! `ravel completions` and `ravel man`: what shells and `man` know of the command line, made from its own description.

use crate::args::Cli;
use crate::print;
use clap::{Command, CommandFactory};
use ravel_runtime::outputs;
use std::path::Path;

/// Writes the completions of a shell; the exit status.
pub fn completions(shell: clap_complete::Shell) -> i32 {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ravel", &mut text);
    i32::from(!print(&String::from_utf8_lossy(&text)))
}

/// Writes the manual pages into a folder, which is made if it is not there; the exit status.
pub fn pages(folder: &Path) -> i32 {
    if let Err(error) = std::fs::create_dir_all(folder) {
        say!("ravel: cannot make the folder {}: {error}", folder.display());
        return 1;
    }
    let whole = Cli::command();
    let commands = whole.get_subcommands().filter(|command| !command.is_hide_set());
    let one_each = commands.map(|command| {
        command.clone().name(format!("ravel-{}", command.get_name())).bin_name(format!("ravel {}", command.get_name()))
    });
    for command in std::iter::once(whole.clone()).chain(one_each) {
        if let Err(why) = page(folder, command) {
            say!("ravel: {why}");
            return 1;
        }
    }
    0
}

fn page(folder: &Path, command: Command) -> Result<(), String> {
    let path = folder.join(format!("{}.1", command.get_name()));
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut text);
    rendered.map_err(|error| format!("cannot make {}: {error}", path.display()))?;
    outputs::write(&path, &text).map_err(|why| format!("cannot write {}: {why}", path.display()))
}
