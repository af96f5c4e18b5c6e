//! What goes wrong with devices, in words.

use opencl3::error_codes::ClError;

/// Lines of a compiler's log that a message shows.
const LOG_LINES: usize = 12;
/// Characters of such a line.
const LOG_COLUMNS: usize = 200;

/// OpenCL's codes with a meaning of their own here; `opencl.h` and the ICD extension number them.
const DEVICE_NOT_AVAILABLE: i32 = -2;
const OBJECT_ALLOCATION_FAILURE: i32 = -4;
const OUT_OF_RESOURCES: i32 = -5;
const OUT_OF_HOST_MEMORY: i32 = -6;
const FAILED_COMMAND_IN_WAIT_LIST: i32 = -14;
const INVALID_CONTEXT: i32 = -34;
const INVALID_COMMAND_QUEUE: i32 = -36;
const INVALID_BUFFER_SIZE: i32 = -61;
const PLATFORM_NOT_FOUND: i32 = -1001;
pub(super) const LIBRARY_NOT_LOADED: i32 = -2000;
pub(super) const FUNCTION_NOT_LOADED: i32 = -2001;
/// NVIDIA's code for a kernel that touched memory that is not its own.
const ILLEGAL_ACCESS: i32 = -9999;

/// Why no devices can be listed.
pub(super) fn no_platforms(e: ClError) -> String {
    match e.0 {
        LIBRARY_NOT_LOADED | FUNCTION_NOT_LOADED => {
            "OpenCL is not installed on this machine (libOpenCL.so.1 cannot be loaded); the other backends need none"
                .to_string()
        }
        PLATFORM_NOT_FOUND => NO_DRIVER.to_string(),
        _ => format!("OpenCL cannot be used: {e}"),
    }
}

/// The library is there and finds nothing.
pub(super) const NO_DRIVER: &str = "OpenCL is installed, but no driver of a device is";

/// Why something could not be done: `what` is `the kernel f_k0 could not be started` or the like.
pub(super) fn failed(device: &str, what: &str, e: ClError) -> String {
    match e.0 {
        OBJECT_ALLOCATION_FAILURE | OUT_OF_HOST_MEMORY => format!("{what}: the device {device} is out of memory"),
        OUT_OF_RESOURCES => {
            format!("{what}: the device {device} is out of memory or of other resources, or a kernel before it failed")
        }
        DEVICE_NOT_AVAILABLE | INVALID_CONTEXT | INVALID_COMMAND_QUEUE => {
            format!("{what}: the device {device} is lost ({e})")
        }
        FAILED_COMMAND_IN_WAIT_LIST => format!("{what}: a kernel before it failed on the device {device}"),
        ILLEGAL_ACCESS => format!(
            "{what}: a kernel before it was stopped on the device {device}; this is a bug in Ravel, please report it with the program"
        ),
        _ => format!("{what}: {e}"),
    }
}

/// There is no room for a buffer.
pub(super) fn no_room(device: &str, bytes: usize, in_use: u64, most: u64, e: ClError) -> String {
    match e.0 {
        INVALID_BUFFER_SIZE => format!(
            "an array of {bytes} bytes is too large for the device {device}, whose arrays have {most} bytes at most"
        ),
        OBJECT_ALLOCATION_FAILURE | OUT_OF_RESOURCES | OUT_OF_HOST_MEMORY => {
            format!("the device {device} is out of memory: {bytes} bytes are wanted besides the {in_use} in use")
        }
        _ => failed(device, &format!("a buffer of {bytes} bytes could not be made"), e),
    }
}

/// The device's compiler refused a program; its log, shortened.
pub(super) fn refused(device: &str, log: &str) -> String {
    format!(
        "the device {device} refused the kernels of this program; this is a bug in Ravel or in the driver\n{}",
        shortened(log)
    )
}

/// The lines of a log that say what is wrong.
fn shortened(log: &str) -> String {
    let lines: Vec<&str> = log.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    // What stands before the first error are warnings, as a rule.
    let first = lines.iter().position(|line| line.contains("error")).unwrap_or(0);
    let shown = &lines[first..lines.len().min(first + LOG_LINES)];
    let mut text: String =
        shown.iter().map(|line| format!("  {}\n", line.chars().take(LOG_COLUMNS).collect::<String>())).collect();
    let left = lines.len() - first - shown.len();
    if left > 0 {
        text.push_str(&format!("  ... {left} more lines\n"));
    }
    text.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_starts_with_its_first_error() {
        let log =
            (0..30).map(|n| format!("{} number {n}\n\n", if n < 3 { "warning" } else { "error" })).collect::<String>();
        let short = shortened(&log);
        assert!(short.starts_with("  error number 3\n  error number 4"), "{short}");
        assert!(short.ends_with("error number 14\n  ... 15 more lines"), "{short}");
        assert_eq!(shortened("all is lost\n"), "  all is lost");
        assert_eq!(shortened(""), "");
    }

    /// Every status that a driver may answer with becomes a message that names the device or shows the status.
    #[test]
    fn no_status_is_swallowed() {
        let whole = (-72..=-1).chain([-1001, -2000, -2001, ILLEGAL_ACCESS, -12345]);
        for code in whole {
            let text = failed("the H999", "the kernel f_k0 could not be started", ClError(code));
            let known = text.contains("the H999") || text.contains(&ClError(code).to_string());
            assert!(known && text.starts_with("the kernel f_k0 could not be started: "), "{code}: {text}");
            let text = no_room("the H999", 4096, 0, 1 << 30, ClError(code));
            assert!(text.contains("4096 bytes"), "{code}: {text}");
            assert!(no_platforms(ClError(code)).starts_with("OpenCL "));
        }
        for (code, words) in [
            (-5, "or a kernel before it failed"),
            (-14, "a kernel before it failed"),
            (-34, "is lost"),
            (-2, "is lost"),
            (-9999, "please report it"),
        ] {
            assert!(failed("d", "x", ClError(code)).contains(words), "{code}");
        }
    }

    #[test]
    fn a_device_says_that_an_array_does_not_fit() {
        let Ok(mut device) = super::super::Device::open("") else { return };
        let why = device.piece(1 << 60).err().unwrap_or_default();
        assert!(
            why.contains(&device.context.device.name) && (why.contains("too large") || why.contains("out of memory")),
            "{why}"
        );
        // It goes on after that.
        assert!(device.piece(1 << 10).is_ok());
    }

    #[test]
    fn errors_have_words() {
        assert!(no_platforms(ClError(-2000)).contains("not installed"));
        assert!(no_platforms(ClError(-1001)).contains("no driver"));
        assert!(failed("d", "x", ClError(-36)).contains("is lost"));
        assert!(failed("d", "x", ClError(-4)).contains("out of memory"));
        assert!(failed("d", "x", ClError(-52)).starts_with("x: "));
        assert!(no_room("d", 8, 16, 4, ClError(-61)).contains("4 bytes at most"));
        assert!(no_room("d", 8, 16, 4, ClError(-4)).contains("besides the 16 in use"));
    }
}
