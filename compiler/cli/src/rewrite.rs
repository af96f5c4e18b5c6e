//! Files of the user that `fmt` and `check --fix` write anew.

use ravel_runtime::{inputs, outputs};
use std::fs::OpenOptions;
use std::path::Path;

/// Replaces the text of a file, which must be what was read.
///
/// # Errors
/// Why it stays as it is.
pub fn rewrite(file: &Path, before: &str, after: &str) -> Result<(), String> {
    // A file that is replaced need not be writable for that; its owner wants it to stay.
    let writable = inputs::open_with(OpenOptions::new().write(true), file).and_then(|opened| opened.metadata());
    match writable {
        Ok(data) if data.permissions().readonly() => return Err("it is read-only".to_string()),
        Ok(_) => {}
        Err(error) => return Err(error.to_string()),
    }
    match inputs::read(file) {
        // By another process that does the same.
        Ok(now) if now == after.as_bytes() => return Ok(()),
        Ok(now) if now == before.as_bytes() => {}
        Ok(now) if std::str::from_utf8(&now).is_err() => return Err("it is not UTF-8".to_string()),
        _ => return Err("it has changed meanwhile".to_string()),
    }
    outputs::write(file, after.as_bytes()).map_err(|error| error.to_string())
}
