//! Start of a program: arguments, thread count, statistics, exit status. Used by executables and by the JIT.

use std::ffi::{CStr, c_char};
use std::sync::Mutex;

use crate::abi::EntryFn;
use crate::fault::{self, Fault};
use crate::{device, pool, profile, ranks, signals, stack, standard, stats, stream};

static ARGUMENTS: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Stores the arguments that the program sees (the first is its own name) and obeys `-mt N`, which stays visible.
///
/// # Errors
/// `-mt` is followed by something else than a positive number.
pub fn set_arguments(arguments: Vec<Vec<u8>>) -> Result<(), Fault> {
    let requested = threads_argument(&arguments)?;
    if let Some(threads) = requested {
        pool::set_threads(threads);
    }
    if let Ok(mut stored) = ARGUMENTS.lock() {
        *stored = arguments;
    }
    Ok(())
}

fn threads_argument(arguments: &[Vec<u8>]) -> Result<Option<usize>, Fault> {
    let Some(position) = arguments.iter().skip(1).position(|argument| argument == b"-mt") else { return Ok(None) };
    // `position` counts from the second argument, the value follows the switch.
    let Some(value) = arguments.get(position + 2) else {
        return Err(Fault::new("-mt must be followed by a number of threads"));
    };
    let text = String::from_utf8_lossy(value);
    match text.parse::<usize>() {
        Ok(threads) if threads > 0 => Ok(Some(threads)),
        _ => Err(Fault::new(format!("-mt must be followed by a number of threads, not '{text}'"))),
    }
}

/// Looks at the variables that a program obeys.
///
/// # Errors
/// `RAVEL_THREADS` is no positive number, or `RAVEL_STACK` no number of mebibytes.
pub fn check_environment() -> Result<(), Fault> {
    stack::asked()?;
    match std::env::var("RAVEL_THREADS") {
        Ok(text) if !text.trim().parse::<usize>().is_ok_and(|threads| threads > 0) => {
            Err(Fault::new(format!("RAVEL_THREADS must be a number of threads, not '{text}'")))
        }
        _ => Ok(()),
    }
}

/// Argument `n`, if there is one.
pub fn argument(n: usize) -> Option<Vec<u8>> {
    ARGUMENTS.lock().ok().and_then(|arguments| arguments.get(n).cloned())
}

/// Number of arguments, the program's name included.
pub fn argument_count() -> usize {
    ARGUMENTS.lock().map_or(0, |arguments| arguments.len())
}

/// Runs a program on a thread with a large stack and returns its status after flushing all output.
///
/// A fault inside ends the process, as in an executable. For a run that survives faults see [`fault::run_session`].
pub fn run_main(program: impl FnOnce() -> i32 + Send) -> i32 {
    let status = std::thread::scope(|scope| {
        stack::spawn_scoped(scope, "ravel-main", stack::main_stack(), program).map(std::thread::ScopedJoinHandle::join)
    });
    let status = match status {
        Ok(Ok(status)) => status,
        Ok(Err(_)) => fault::raise(Fault::new("the runtime failed; this is a bug in Ravel")),
        Err(error) => fault::raise(Fault::new(format!("cannot start a thread: {error}"))),
    };
    device::finish();
    if let Err(fault) = stream::finish() {
        fault::raise(fault);
    }
    status
}

/// [`run_main`] for compiled code.
///
/// # Safety
/// `entry` is compiled code that obeys the interface of [`crate::abi`].
pub unsafe fn run_program(entry: EntryFn) -> i32 {
    run_main(|| {
        if let Err(fault) = ranks::start() {
            fault::raise(fault);
        }
        profile::begin();
        // SAFETY: by contract.
        let status = unsafe { entry() };
        if ranks::world().is_some() {
            // What cannot be written is said while there is somebody to be told.
            device::finish();
            if let Err(fault) = stream::finish() {
                fault::raise(fault);
            }
        }
        if let Err(fault) = ranks::finish(status) {
            fault::raise(fault);
        }
        status
    })
}

/// `main` of an executable: sets up, runs `entry`, prints statistics if `RAVEL_STATS` is set (to anything but 0), flushes.
///
/// # Safety
/// `argv` holds `argc` NUL-terminated strings; `entry` obeys the interface of [`crate::abi`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_main_start(argc: i32, argv: *const *const c_char, entry: EntryFn) -> i32 {
    standard::fill_closed();
    signals::watch();
    if let Err(fault) = ranks::look() {
        fault::raise(fault);
    }
    let mut arguments: Vec<Vec<u8>> = (0..usize::try_from(argc).unwrap_or(0))
        // SAFETY: the C start-up code provides `argc` strings.
        .map(|position| unsafe { CStr::from_ptr(*argv.add(position)) }.to_bytes().to_vec())
        .collect();
    if let (Some(name), Some(first)) = (ranks::streams::program(), arguments.first_mut()) {
        *first = name;
    }
    if let Err(fault) = check_environment().and_then(|()| set_arguments(arguments)) {
        fault::raise(fault);
    }
    let with_stats = std::env::var_os("RAVEL_STATS").is_some_and(|value| !value.is_empty() && value != "0");
    if with_stats {
        stats::enable();
    }
    // SAFETY: by contract.
    let status = unsafe { run_program(entry) };
    if with_stats {
        stats::print();
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Vec<Vec<u8>> {
        words.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn the_thread_switch_is_found_and_checked() {
        assert_eq!(threads_argument(&arguments(&["p", "-mt", "3", "x"])), Ok(Some(3)));
        assert_eq!(threads_argument(&arguments(&["p", "x"])), Ok(None));
        assert!(threads_argument(&arguments(&["p", "-mt"])).is_err());
        assert!(threads_argument(&arguments(&["p", "-mt", "0"])).is_err());
        assert!(threads_argument(&arguments(&["p", "-mt", "two"])).is_err());
    }
}
