//! What this machine can do at most, measured once and kept by processor.

use ravel_runtime::peaks;
use std::fs;
use std::path::PathBuf;

/// Per second, of all threads that a run has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    pub f32: f64,
    pub f64: f64,
    /// Bytes from and to memory.
    pub bytes: f64,
}

impl Peaks {
    /// The peaks of so many threads.
    pub fn of_machine(threads: usize) -> Peaks {
        let key = format!("{} | {threads}", processor());
        let file = cache_file();
        let known = file.as_deref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        if let Some(peaks) = known.lines().find_map(|line| read(line, &key)) {
            return peaks;
        }
        let measured = peaks::measure(threads);
        let peaks = Peaks { f32: measured.f32, f64: measured.f64, bytes: measured.bytes };
        if let Some(file) = file {
            let others = known.lines().filter(|line| !line.starts_with(&format!("{key} = ")));
            let line = format!("{key} = {:e} {:e} {:e}\n", peaks.f32, peaks.f64, peaks.bytes);
            let text: String = others.map(|other| format!("{other}\n")).chain([line]).collect();
            // What cannot be kept is measured again.
            let _ = file.parent().map(fs::create_dir_all);
            let _ = ravel_runtime::outputs::write(&file, text.as_bytes());
        }
        peaks
    }
}

fn read(line: &str, key: &str) -> Option<Peaks> {
    let numbers = line.strip_prefix(key)?.strip_prefix(" = ")?;
    let numbers: Vec<f64> = numbers.split(' ').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    match numbers[..] {
        [f32, f64, bytes] if numbers.iter().all(|n| n.is_finite() && *n > 0.0) => Some(Peaks { f32, f64, bytes }),
        _ => None,
    }
}

fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    model.unwrap_or(std::env::consts::ARCH).to_string()
}

fn cache_file() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let below = || folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    Some(folder("RAVEL_CACHE").or_else(|| Some(below()?.join("ravel")))?.join("peaks-2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_cut_off_or_changed_are_not_read() {
        let good = "cpu | 2 = 1e10 5e9 2e10";
        assert_eq!(read(good, "cpu | 2"), Some(Peaks { f32: 1e10, f64: 5e9, bytes: 2e10 }));
        for bad in ["cpu | 2 = 1e10 5e9", "cpu | 2 = 1e10 5e9 x", "cpu | 2 = 1e10 5e9 -1", "cpu | 21 = 1 1 1", ""] {
            assert_eq!(read(bad, "cpu | 2"), None, "{bad}");
        }
    }
}
