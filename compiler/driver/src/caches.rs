//! The caches of this machine.

use std::fs;
use std::path::Path;

/// Where Linux describes the caches of the first processor.
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// Bytes of the largest cache; `None` where the system does not say.
pub(crate) fn largest() -> Option<i64> {
    largest_below(Path::new(CACHES))
}

fn largest_below(folder: &Path) -> Option<i64> {
    let caches = fs::read_dir(folder).ok()?;
    caches.filter_map(|cache| bytes(fs::read_to_string(cache.ok()?.path().join("size")).ok()?.trim())).max()
}

/// `32768K`, `300M` or a plain number of bytes.
fn bytes(text: &str) -> Option<i64> {
    let (number, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    number.parse::<i64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            ["48K", "300M", "1G", "4096"].map(bytes),
            [Some(48 << 10), Some(300 << 20), Some(1 << 30), Some(4096)]
        );
        assert_eq!(["", "K", "-", "9999999999999M", "9\u{b5}"].map(bytes), [None; 5]);
    }

    #[test]
    fn a_machine_that_says_nothing_has_no_largest_cache() {
        assert_eq!(largest_below(Path::new("/no such folder")), None);
    }
}
