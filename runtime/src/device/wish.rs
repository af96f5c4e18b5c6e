//! Which device is wanted, and what a program needs of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::context::Listed;
use crate::start;

/// The wish that `--device` stated.
static WISH: Mutex<String> = Mutex::new(String::new());
/// Whether the program that runs has kernels with 64-bit floats.
static NEEDS_DOUBLES: AtomicBool = AtomicBool::new(false);

/// States which device is wanted: a number of `ravel devices`, or a part of a name. Without a wish the first GPU is taken, or else the first
/// device of any kind.
pub fn set_wish(text: &str) {
    *WISH.lock().unwrap_or_else(PoisonError::into_inner) = text.to_string();
}

/// The wish: that of `-device` among the program's arguments, of [`set_wish`], or of `RAVEL_DEVICE`; empty without one.
///
/// # Errors
/// `-device` is followed by nothing.
pub fn wish() -> Result<String, String> {
    for n in 1..start::argument_count() {
        if start::argument(n).is_some_and(|argument| argument == b"-device") {
            let value = start::argument(n + 1)
                .ok_or("-device must be followed by the number of a device or a part of its name")?;
            return Ok(String::from_utf8_lossy(&value).into_owned());
        }
    }
    let stated = WISH.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(if stated.is_empty() { std::env::var("RAVEL_DEVICE").unwrap_or_default() } else { stated })
}

/// States that the program that runs has kernels with 64-bit floats.
pub(super) fn need_doubles() {
    NEEDS_DOUBLES.store(true, Ordering::Relaxed);
}

/// The device has what the program needs.
pub(super) fn suits(device: &Listed) -> Result<(), String> {
    if NEEDS_DOUBLES.load(Ordering::Relaxed) && !device.doubles {
        return Err(no_doubles(&device.name));
    }
    Ok(())
}

/// Kernels with 64-bit floats cannot run.
pub(super) fn no_doubles(device: &str) -> String {
    format!(
        "the device {device} has no double precision, which this program computes with; use `float` instead of `double`, another device (`ravel devices` lists them), or another backend"
    )
}
