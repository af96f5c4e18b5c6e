//! What `--stats` shows of a device.

use std::fmt;

/// Counts since the device was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Kernels that were launched at least once.
    pub kernels: u64,
    /// Kernels started.
    pub launches: u64,
    /// Bytes sent to the device.
    pub sent: u64,
    /// Bytes fetched from it.
    pub fetched: u64,
    /// Kernels, on grids of one class, whose way of being launched was measured by `ravel tune`.
    pub tuned: u64,
    /// Programs that the device's compiler made from source.
    pub builds: u64,
    /// Programs that were taken from the cache folder.
    pub cache_hits: u64,
    /// Nanoseconds spent on both.
    pub build_ns: u64,
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernels: {}, tuned: {}, launches: {}, bytes sent: {}, bytes fetched: {}, programs built: {}, cache hits: {}, build time: {:.1} ms",
            self.kernels,
            self.tuned,
            self.launches,
            self.sent,
            self.fetched,
            self.builds,
            self.cache_hits,
            self.build_ns as f64 / 1e6
        )
    }
}
