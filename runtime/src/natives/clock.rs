//! Clocks, stop-watches and calendar time.

use std::cell::Cell;
use std::ffi::CString;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Handle, Object, Str, Text, natives};
use crate::abi::ObjectKind;
use crate::array::Array;
use crate::fault::Fault;
use crate::stop;

/// Zero point of the monotonic clock: the first time anybody looks.
fn origin() -> Instant {
    static ORIGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

fn seconds_and_nanoseconds(time: Duration) -> (i64, i64) {
    (i64::try_from(time.as_secs()).unwrap_or(i64::MAX), i64::from(time.subsec_nanos()))
}

/// Nanoseconds on the monotonic clock; never 0 twice, so that differences are never negative.
pub(super) fn now() -> Duration {
    origin().elapsed()
}

/// A stop-watch that accumulates.
#[derive(Default)]
struct Watch {
    total: Cell<Duration>,
    running_since: Cell<Option<Duration>>,
}

impl Watch {
    fn elapsed(&self) -> Duration {
        let running = self.running_since.get().map_or(Duration::ZERO, |start| now().saturating_sub(start));
        self.total.get() + running
    }
}

fn watch<'a>(object: Object<'a>) -> Result<&'a Watch, Fault> {
    match object.0.opaque::<Watch>() {
        // SAFETY: the value lives as long as the object, and its cells are used by one native at a time.
        Some(watch) => Ok(unsafe { watch.as_ref() }),
        None => Err(Fault::new("a native expects a timer")),
    }
}

/// Broken-down local time.
fn local(time: i64) -> libc::tm {
    // SAFETY: `tm` is plain data for which zero is a value, and both pointers are valid during the call.
    unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        libc::localtime_r(&time, &mut parts);
        parts
    }
}

/// Seconds since 1970 as the wall clock shows them here, so that dividing them gives the local date and time.
pub fn wall_clock() -> i64 {
    let time = seconds_and_nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()).0;
    time.saturating_add(local(time).tm_gmtoff)
}

natives! { CLOCKS;
    /// Seconds and nanoseconds of a clock that only moves forward.
    root fn ravel_clock_monotonic() -> (s: i64, ns: i64) {
        Ok(seconds_and_nanoseconds(now()))
    }

    /// Seconds and nanoseconds since 1970.
    root fn ravel_clock_realtime() -> (s: i64, ns: i64) {
        Ok(seconds_and_nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()))
    }

    /// An ordering marker: does nothing, but nothing moves across it.
    same fn ravel_clock_touch() -> () {
        Ok(())
    }

    /// A stop-watch at zero.
    same fn ravel_rtimer_create() -> (t: Handle) {
        Array::opaque(ObjectKind::Other, Watch::default()).map(Handle)
    }

    /// Starts a stop-watch.
    write fn ravel_rtimer_start(t: Object<'_>) -> () {
        watch(t)?.running_since.set(Some(now()));
        Ok(())
    }

    /// Stops a stop-watch and adds the time to its total.
    write fn ravel_rtimer_stop(t: Object<'_>) -> () {
        let watch = watch(t)?;
        watch.total.set(watch.elapsed());
        watch.running_since.set(None);
        Ok(())
    }

    /// Sets a stop-watch to zero.
    write fn ravel_rtimer_reset(t: Object<'_>) -> () {
        let watch = watch(t)?;
        watch.total.set(Duration::ZERO);
        watch.running_since.set(None);
        Ok(())
    }

    /// The total in seconds.
    root fn ravel_rtimer_double(t: Object<'_>) -> (s: f64) {
        Ok(watch(t)?.elapsed().as_secs_f64())
    }

    /// The total in seconds and nanoseconds.
    root fn ravel_rtimer_long(t: Object<'_>) -> (s: i64, ns: i64) {
        Ok(seconds_and_nanoseconds(watch(t)?.elapsed()))
    }

    /// Seconds since 1970.
    root fn ravel_time_now() -> (t: i64) {
        Ok(seconds_and_nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()).0)
    }

    /// Field `k` of the local time: 0 second, 1 minute, 2 hour, 3 day of month, 4 month from 0, 5 year since 1900, 6 day of week, 7 day of year, 8 daylight saving.
    pure fn ravel_time_field(t: i64, k: i32) -> (value: i32) {
        let parts = local(t);
        match k {
            0 => Ok(parts.tm_sec),
            1 => Ok(parts.tm_min),
            2 => Ok(parts.tm_hour),
            3 => Ok(parts.tm_mday),
            4 => Ok(parts.tm_mon),
            5 => Ok(parts.tm_year),
            6 => Ok(parts.tm_wday),
            7 => Ok(parts.tm_yday),
            8 => Ok(parts.tm_isdst),
            other => Err(Fault::new(format!("a time has no field {other}"))),
        }
    }

    /// Seconds since 1970 of a local time, as C's `mktime`.
    pure fn ravel_time_make(sec: i32, min: i32, hour: i32, mday: i32, mon: i32, year: i32) -> (t: i64) {
        let mut parts = local(0);
        (parts.tm_sec, parts.tm_min, parts.tm_hour) = (sec, min, hour);
        (parts.tm_mday, parts.tm_mon, parts.tm_year, parts.tm_isdst) = (mday, mon, year, -1);
        // SAFETY: the structure is valid and exclusively ours.
        Ok(unsafe { libc::mktime(&mut parts) })
    }

    /// A time as text, as C's `strftime` in local time.
    pure fn ravel_time_format(format: Text<'_>, t: i64) -> (s: Str) {
        // A blank in front tells an empty result from one that does not fit.
        let pattern = CString::new([b" ", format.0].concat()).map_err(|_| Fault::new("a time format contains a NUL"))?;
        let parts = local(t);
        let mut size = 256;
        while size <= 1 << 20 {
            let mut text = vec![0u8; size];
            // SAFETY: the buffer has the stated size, the pattern is NUL-terminated, the time is valid.
            let length = unsafe { libc::strftime(text.as_mut_ptr().cast(), size, pattern.as_ptr(), &parts) };
            if length > 0 {
                return Str::new(&text[1..length]);
            }
            size *= 4;
        }
        Err(Fault::new("a formatted time is too long"))
    }

    /// The time that a text says in local time, as C's `strptime`, and the rest of the text; 0 and "" if it does not fit.
    pure fn ravel_time_parse(s: Text<'_>, format: Text<'_>) -> (t: i64, rest: Str) {
        let no_nul = |_| Fault::new("a time or its format contains a NUL");
        let (text, pattern) = (CString::new(s.0).map_err(no_nul)?, CString::new(format.0).map_err(no_nul)?);
        // SAFETY: `tm` is plain data for which zero is a value, and both texts are NUL-terminated.
        let (mut parts, end) = unsafe {
            let mut parts: libc::tm = std::mem::zeroed();
            let end = libc::strptime(text.as_ptr(), pattern.as_ptr(), &mut parts);
            (parts, end)
        };
        if end.is_null() {
            return Ok((0, Str::new(b"")?));
        }
        // SAFETY: the result points into the text.
        let read = unsafe { end.offset_from(text.as_ptr()) };
        let rest = usize::try_from(read).ok().and_then(|read| s.0.get(read..)).unwrap_or_default();
        // SAFETY: the structure is valid and exclusively ours.
        Ok((unsafe { libc::mktime(&mut parts) }, Str::new(rest)?))
    }

    /// Waits.
    same fn ravel_time_sleep(s: i32) -> () {
        stop::sleep(Duration::from_secs(u64::try_from(s).unwrap_or(0)));
        Ok(())
    }
}
