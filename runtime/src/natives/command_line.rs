//! The program's arguments.

use super::{Str, natives};
use crate::start;

natives! { ARGUMENTS;
    /// Number of arguments, the program's name included.
    pure fn ravel_cmdline_argc() -> (n: i32) {
        Ok(i32::try_from(start::argument_count()).unwrap_or(i32::MAX))
    }

    /// Argument `n`, 0 being the program's name; "" out of range.
    pure fn ravel_cmdline_argv(n: i32) -> (s: Str) {
        Str::new(&usize::try_from(n).ok().and_then(start::argument).unwrap_or_default())
    }

    /// The whole command line, joined by blanks.
    pure fn ravel_cmdline_argv_all() -> (s: Str) {
        let words: Vec<Vec<u8>> = (0..start::argument_count()).filter_map(start::argument).collect();
        Str::new(&words.join(&b' '))
    }
}
