//! `--warn`, `--allow` and `--deny`.

use crate::args::Warnings;
use ravel_diagnostics::{Level, Levels, lints};

/// The levels of all warnings; what is not named is as `levels` has it. Gives the exit status if there is no such warning.
pub fn levels(mut levels: Levels, given: &Warnings) -> Result<Levels, i32> {
    let lists = [(&given.allow, Level::Allow), (&given.warn, Level::Warn), (&given.deny, Level::Deny)];
    for (names, level) in lists {
        for name in names {
            if let Err(why) = levels.set(name.trim(), level) {
                let all: Vec<String> = lints().iter().map(|lint| lint.name()).collect();
                say!("ravel: {why}\nThe warnings are {}; groups are all, default and perf.", all.join(", "));
                return Err(2);
            }
        }
    }
    Ok(levels)
}
