//! Tuning: which of several ways to launch a kernel is the fastest on a device.
//!
//! With `RAVEL_TUNE=1` every launch of a kernel takes the way that was measured least, and the device says how long it took. What was measured
//! goes to the cache folder, from where later runs take the fastest way. Records are kept per device and driver; one is found by the kernel's
//! text (not its name, which changes with the program around it) and the class of its grid: extents up to the same power of two are alike.
//!
//! Results depend on nothing that a record says: one that was cut off or changed, or is another device's, is not read, and of one that was
//! made for other ways than those at hand nothing is taken.
//!
//! A way is a list of numbers: the sizes of a group along the axes for kernels whose groups the runtime chooses. Where the compiler offers several
//! kernels for one purpose, such as tiles of several sizes, it is the number of one of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::cache;
use super::context::Listed;
use crate::outputs;

/// Measurements of each way.
const RUNS: u32 = 3;
/// A way must be this much faster than the usual one to take its place.
const GAIN: f64 = 0.97;
/// Grids of up to this many axes.
const AXES: usize = 3;

/// First bytes of a file of records. The number changes with their form.
const MAGIC: &[u8] = b"ravel tuned 2\n";

/// Name of the records that choose between kernels of the compiler, before what they are for.
const VARIANTS: &str = "tiles:";

/// Powers of two that the extents of a grid reach.
pub(super) type Class = [u32; AXES];

/// One way and what it takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    pub way: Vec<usize>,
    pub runs: u32,
    /// Nanoseconds of a work-item, at best; infinite for a way that the device refuses.
    pub time: f64,
}

/// What is known of one kernel on one class of grids. The first trial is of the usual way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Of the kernel, when it was last measured.
    pub name: String,
    pub(super) class: Class,
    pub(super) trials: Vec<Trial>,
}

impl Record {
    /// The fastest way; the usual one if others are hardly faster.
    fn best(&self) -> Option<&Trial> {
        let usual = self.trials.first()?;
        let measured = self.trials.iter().filter(|trial| trial.runs > 0 && trial.time.is_finite());
        let fastest = measured.min_by(|a, b| a.time.total_cmp(&b.time))?;
        Some(if usual.runs > 0 && fastest.time > usual.time * GAIN { usual } else { fastest })
    }

    /// Whether the record is about these ways.
    fn is_about(&self, ways: &[Vec<usize>]) -> bool {
        self.trials.len() == ways.len() && ways.iter().all(|way| self.trials.iter().any(|trial| trial.way == *way))
    }

    /// Whether every way was measured often enough.
    pub fn is_settled(&self) -> bool {
        self.trials.iter().all(|trial| trial.runs >= RUNS)
    }

    /// Measurements so far.
    pub fn runs(&self) -> u32 {
        self.trials.iter().fold(0, |sum, trial| sum.saturating_add(trial.runs))
    }

    /// For people: the way that is taken, and how much faster than the usual one it is.
    pub fn summary(&self) -> String {
        if let Some(purpose) = self.name.strip_prefix(VARIANTS) {
            let Some((usual, best)) = self.trials.first().zip(self.best()) else { return purpose.to_string() };
            let words = if best.way == usual.way {
                "the usual one".to_string()
            } else {
                format!("{:.2} times as fast as the usual one", usual.time / best.time)
            };
            return format!(
                "tiles, {}: number {} of {}, {words}",
                purpose.replace('_', " "),
                text_of(&best.way),
                self.trials.len()
            );
        }
        let extents: Vec<String> =
            self.class.iter().rev().skip_while(|bits| **bits == 0).map(|bits| (1u64 << bits).to_string()).collect();
        let grid = if extents.is_empty() { "1".to_string() } else { extents.join(" x ") };
        let Some((usual, best)) = self.trials.first().zip(self.best()) else {
            return format!("{}, grids up to {grid}: not measured", self.name);
        };
        let words = if best.way == usual.way {
            "the usual one".to_string()
        } else {
            format!("{:.2} times as fast as {}", usual.time / best.time, text_of(&usual.way))
        };
        format!("{}, grids up to {grid}: {}, {words}", self.name, text_of(&best.way))
    }
}

/// Records by digest of the kernel and class.
pub type Records = BTreeMap<String, Record>;

/// Sizes, outermost axis first, as people write them.
fn text_of(way: &[usize]) -> String {
    way.iter().rev().map(usize::to_string).collect::<Vec<_>>().join("x")
}

fn key_of(digest: &str, class: Class) -> String {
    format!("{digest} {},{},{}", class[0], class[1], class[2])
}

/// The class of a grid, innermost axis first.
pub(super) fn class_of(grid: &[i64]) -> Class {
    let mut class = [0; AXES];
    for (bits, &extent) in class.iter_mut().zip(grid.iter().rev()) {
        *bits = u64::try_from(extent).unwrap_or(1).max(1).next_power_of_two().trailing_zeros();
    }
    class
}

/// The file with a device's records; none without a cache folder.
fn file(device: &Listed) -> Option<PathBuf> {
    let folder = cache::folder()?.join("tuned");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join(cache::name_of(&[&device.name, &device.driver, &device.platform].map(|text| text.as_bytes()))))
}

/// What is known of a device.
pub fn records(device: &Listed) -> Records {
    file(device).and_then(|file| read(&file)).unwrap_or_default()
}

/// The file with a device's records, if it is there but nothing that Ravel wrote for this device.
pub fn damaged(device: &Listed) -> Option<PathBuf> {
    file(device).filter(|file| std::fs::symlink_metadata(file).is_ok() && read(file).is_none())
}

/// The records of a file, if every byte is as it was written.
fn read(file: &Path) -> Option<Records> {
    String::from_utf8(cache::unsealed(MAGIC, file)?).ok().map(|text| parse(&text))
}

fn write(file: &Path, records: &Records) -> Result<(), outputs::Refusal> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    outputs::write(file, &cache::sealed(MAGIC, name, print(records).as_bytes()))
}

/// Lines that are no records are left out.
fn parse(text: &str) -> Records {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<(String, Record)> {
    let mut words = line.split(' ');
    let (digest, class, name) = (words.next()?, words.next()?, words.next()?);
    let mut bits = class.split(',').map(|bits| bits.parse::<u32>().ok().filter(|bits| *bits < 64));
    let class = [bits.next()??, bits.next()??, bits.next()??];
    let mut trials = Vec::new();
    while let Some(way) = words.next() {
        let way =
            way.split(',').map(|size| size.parse().ok().filter(|size| *size > 0)).collect::<Option<Vec<usize>>>()?;
        let (runs, time) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let is_new = trials.iter().all(|trial: &Trial| trial.way != way);
        // Nothing is done in less than no time.
        if !is_new || f64::is_nan(time) || time < 0.0 {
            return None;
        }
        trials.push(Trial { way, runs, time });
    }
    (!trials.is_empty()).then(|| (key_of(digest, class), Record { name: name.to_string(), class, trials }))
}

fn print(records: &Records) -> String {
    let mut text = String::new();
    for (key, record) in records {
        let _ = write!(text, "{key} {}", record.name);
        for trial in &record.trials {
            let way: Vec<String> = trial.way.iter().map(usize::to_string).collect();
            let _ = write!(text, " {} {} {}", way.join(","), trial.runs, trial.time);
        }
        text.push('\n');
    }
    text
}

/// A launch whose time is wanted.
pub(super) struct Measured {
    key: String,
    trial: usize,
}

/// What the present run knows and finds out.
pub(super) struct Tuner {
    records: Records,
    measures: bool,
    /// Digests of kernels, by address of their description.
    digests: HashMap<usize, String>,
    /// What was decided, by kernel and class.
    ways: HashMap<(usize, Class), Option<Vec<usize>>>,
    /// Records that this run has begun.
    begun: HashSet<String>,
}

impl Tuner {
    pub fn new(device: &Listed) -> Tuner {
        Tuner::of(records(device), measures())
    }

    fn of(records: Records, measures: bool) -> Tuner {
        Tuner { records, measures, digests: HashMap::new(), ways: HashMap::new(), begun: HashSet::new() }
    }

    /// Nothing is known, and nothing is to be found out.
    pub fn is_idle(&self) -> bool {
        !self.measures && self.records.is_empty()
    }

    /// The best way known for a kernel, found by the address of its description, and a class, if it is one of `ways`; counts the first time
    /// in `tuned`.
    pub fn way(
        &mut self,
        kernel: usize,
        class: Class,
        text: impl FnOnce() -> String,
        ways: impl FnOnce() -> Vec<Vec<usize>>,
        tuned: &mut u64,
    ) -> Option<&[usize]> {
        let (digests, records) = (&mut self.digests, &self.records);
        let decide = || {
            let digest = digests.entry(kernel).or_insert_with(|| cache::name_of(&[text().as_bytes()]));
            let best = records.get(&key_of(digest, class)).and_then(Record::best);
            let way = best.map(|best| best.way.clone()).filter(|way| ways().contains(way));
            *tuned += u64::from(way.is_some());
            way
        };
        self.ways.entry((kernel, class)).or_insert_with(decide).as_deref()
    }

    /// The way that was measured least, if it was not measured often enough; `ways` starts with the usual one.
    pub fn next(
        &mut self,
        kernel: usize,
        name: &str,
        class: Class,
        text: impl FnOnce() -> String,
        ways: impl FnOnce() -> Vec<Vec<usize>>,
    ) -> Option<(Measured, Vec<usize>)> {
        if !self.measures {
            return None;
        }
        let digest = self.digests.entry(kernel).or_insert_with(|| cache::name_of(&[text().as_bytes()]));
        let key = key_of(digest, class);
        let ways = ways();
        let record = self.records.entry(key.clone()).or_default();
        // A new record, or one of a compiler that had other ways. A grid of the same class may have another usual way.
        if !record.is_about(&ways) && self.begun.insert(key.clone()) {
            let trials = ways.into_iter().map(|way| Trial { way, runs: 0, time: f64::INFINITY }).collect();
            *record = Record { name: name.to_string(), class, trials };
        }
        let (trial, least) = record.trials.iter().enumerate().min_by_key(|(_, trial)| trial.runs)?;
        (least.runs < RUNS).then(|| (Measured { key, trial }, least.way.clone()))
    }

    /// The variant that was measured least, if one was not measured often enough. Ways count variants from 1.
    pub fn next_variant(&mut self, address: usize, key: &str, count: i64, usual: i64) -> Option<(Measured, i64)> {
        let usual = usual as usize + 1;
        let ways =
            || [usual].into_iter().chain((1..=count as usize).filter(|n| *n != usual)).map(|n| vec![n]).collect();
        let name = format!("{VARIANTS}{}", key.replace(' ', "_"));
        self.next(address, &name, [0; AXES], || key.to_string(), ways)
            .map(|(measured, way)| (measured, way[0] as i64 - 1))
    }

    /// The best of so many variants, counted from 0.
    pub fn variant(&self, key: &str, count: i64) -> Option<usize> {
        variant(&self.records, key).filter(|(_, of)| i64::try_from(*of) == Ok(count)).map(|(best, _)| best)
    }

    /// What a launch took; nothing if the device refused it, which it will do again.
    pub fn took(&mut self, measured: &Measured, time: Option<f64>) {
        if let Some(trial) =
            self.records.get_mut(&measured.key).and_then(|record| record.trials.get_mut(measured.trial))
        {
            match time {
                Some(time) => {
                    trial.runs += 1;
                    trial.time = trial.time.min(time);
                }
                None => trial.runs = RUNS,
            }
        }
    }

    /// Keeps what was measured, beside what others have kept.
    pub fn save(&self, device: &Listed) {
        let (true, Some(file)) = (self.measures, file(device)) else { return };
        let mut all = records(device);
        all.extend(self.records.iter().map(|(key, record)| (key.clone(), record.clone())));
        // Tuning for nothing is no error.
        let _ = write(&file, &all);
    }
}

/// Which variant is the fastest for a purpose, counted from 0, and of how many; none if that was not measured.
pub fn variant(records: &Records, key: &str) -> Option<(usize, usize)> {
    let record = records.get(&key_of(&cache::name_of(&[key.as_bytes()]), [0; AXES]))?;
    let count = record.trials.len();
    let all: Vec<Vec<usize>> = (1..=count).map(|number| vec![number]).collect();
    let best = record.best().filter(|_| record.is_about(&all))?;
    Some((best.way.first()?.checked_sub(1)?, count))
}

/// Whether anything was measured on this machine, on any device.
pub fn is_known() -> bool {
    cache::folder()
        .is_some_and(|folder| std::fs::read_dir(folder.join("tuned")).is_ok_and(|mut files| files.next().is_some()))
}

/// Whether this run measures.
pub fn measures() -> bool {
    std::env::var_os("RAVEL_TUNE").is_some_and(|value| value == "1")
}

/// The text of one kernel of a program, without its name.
pub(super) fn kernel_text<'s>(source: &'s str, name: &str) -> &'s str {
    let head = format!("{name}(");
    let Some(start) = source.find(&head) else { return source };
    let text = &source[start + name.len()..];
    text.find("\n}").map_or(text, |end| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuner(measures: bool, records: Records) -> Tuner {
        Tuner::of(records, measures)
    }

    const CLASS: Class = [10, 0, 0];

    fn ways() -> Vec<Vec<usize>> {
        vec![vec![64], vec![32], vec![1024]]
    }

    /// Measures until all is settled; a way takes one nanosecond per unit of its size, and 1024 is refused.
    fn settled() -> Tuner {
        let mut tuner = tuner(true, Records::new());
        let mut launches = 0;
        while let Some((measured, way)) = tuner.next(1, "f_k0", CLASS, || "text".into(), ways) {
            tuner.took(&measured, (way[0] != 1024).then_some(way[0] as f64));
            launches += 1;
        }
        assert_eq!(launches, 7);
        tuner
    }

    #[test]
    fn the_fastest_way_wins() {
        let records = settled().records;
        assert!(records.values().all(Record::is_settled));
        let mut later = tuner(false, parse(&print(&records)));
        let mut tuned = 0;
        assert_eq!(later.way(5, CLASS, || "text".into(), ways, &mut tuned), Some(&[32][..]));
        assert_eq!(later.way(5, CLASS, || "text".into(), ways, &mut tuned), Some(&[32][..]));
        assert_eq!(later.way(6, CLASS, || "another text".into(), ways, &mut tuned), None);
        assert_eq!(later.way(5, [11, 0, 0], || "text".into(), ways, &mut tuned), None);
        // The device has no such groups any more.
        assert_eq!(later.way(7, CLASS, || "text".into(), || vec![vec![64], vec![16]], &mut tuned), None);
        assert_eq!(tuned, 1);
        assert!(later.next(5, "f_k0", CLASS, || "text".into(), ways).is_none());
        let summary = records.values().next().map(Record::summary);
        assert_eq!(summary.as_deref(), Some("f_k0, grids up to 1024: 32, 2.00 times as fast as 64"));
    }

    #[test]
    fn variants_are_measured_and_found_by_their_purpose() {
        let mut tuner = tuner(true, Records::new());
        let mut seen = Vec::new();
        while let Some((measured, variant)) = tuner.next_variant(7, "a product", 3, 1) {
            tuner.took(&measured, Some([5.0, 9.0, 7.0][variant as usize]));
            seen.push(variant);
        }
        assert_eq!(seen, [1, 0, 2, 1, 0, 2, 1, 0, 2]);
        let records = parse(&print(&tuner.records));
        assert_eq!((variant(&records, "a product"), variant(&records, "another")), (Some((0, 3)), None));
        let summary = records.values().next().map(Record::summary);
        assert_eq!(summary.as_deref(), Some("tiles, a product: number 1 of 3, 1.80 times as fast as the usual one"));
    }

    #[test]
    fn records_of_other_ways_are_measured_anew() {
        let mut tuner = tuner(true, settled().records);
        assert!(tuner.next(1, "f_k0", CLASS, || "text".into(), ways).is_none());
        let others = || vec![vec![64], vec![16]];
        let (measured, way) = tuner.next(1, "f_k0", CLASS, || "text".into(), others).expect("nothing is known");
        assert_eq!(way, [64]);
        tuner.took(&measured, Some(1.0));
        assert_eq!(tuner.next(1, "f_k0", CLASS, || "text".into(), others).map(|(_, way)| way), Some(vec![16]));
        // Variants that are not there are no choice, nor are those of a compiler that had more of them.
        let of = |ways: &[usize]| {
            let trials = ways.iter().map(|&n| Trial { way: vec![n], runs: RUNS, time: n as f64 }).collect();
            let key = key_of(&cache::name_of(&[b"a product"]), [0; AXES]);
            Records::from([(key, Record { name: "f".into(), class: [0; AXES], trials })])
        };
        assert_eq!(variant(&of(&[3, 1, 2]), "a product"), Some((0, 3)));
        for wrong in [&[3, 1][..], &[7, 1, 2], &[2, 2, 1]] {
            assert_eq!(variant(&of(wrong), "a product"), None);
        }
        assert_eq!(Tuner::of(of(&[3, 1, 2]), false).variant("a product", 3), Some(0));
        assert_eq!(Tuner::of(of(&[3, 1, 2]), false).variant("a product", 4), None);
    }

    #[test]
    fn damaged_files_hold_no_records() {
        let folder = std::env::temp_dir().join(format!("ravel-tuned-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let (file, foreign) = (folder.join("device"), folder.join("another"));
        let records = settled().records;
        write(&file, &records).expect("the folder is writable");
        assert_eq!(read(&file), Some(records.clone()));
        let good = std::fs::read(&file).expect("just written");
        let put = |path: &Path, bytes: &[u8]| std::fs::write(path, bytes).expect("the folder is writable");
        for n in 0..good.len() {
            for bit in [1, 0x80] {
                let mut bad = good.clone();
                bad[n] ^= bit;
                put(&file, &bad);
                assert_eq!(read(&file), None, "byte {n}");
            }
            put(&file, &good[..n]);
            assert_eq!(read(&file), None, "{n} bytes");
        }
        // That of another device, and one of an older version.
        put(&foreign, &good);
        assert_eq!(read(&foreign), None);
        put(&file, print(&records).as_bytes());
        assert_eq!(read(&file), None);
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[test]
    fn a_small_gain_changes_nothing() {
        let trial = |size, time| Trial { way: vec![size], runs: RUNS, time };
        let record = Record { name: "f".into(), class: CLASS, trials: vec![trial(64, 100.0), trial(32, 98.0)] };
        assert_eq!(record.best().map(|best| best.way[0]), Some(64));
    }

    #[test]
    fn records_survive_being_written() {
        let records = settled().records;
        assert_eq!(parse(&print(&records)), records);
        assert_eq!(
            parse(
                "no record\nabc 1,2 f 64 1 1\nabc 1,2,3 f 64 1\nabc 1,2,3 f\nabc 1,2,3 f 0 1 1\nabc 1,2,3 f 64 1 -1\n\
                 abc 1,2,3 f 64 1 NaN\nabc 1,2,3 f 64 1 1 64 1 2\n"
            ),
            Records::new()
        );
    }

    #[test]
    fn grids_of_a_class_have_the_same_powers_of_two() {
        assert_eq!(class_of(&[3, 1000]), [10, 2, 0]);
        assert_eq!(class_of(&[4, 1024]), [10, 2, 0]);
        assert_eq!(class_of(&[1]), [0, 0, 0]);
    }

    #[test]
    fn kernels_are_told_from_each_other_by_their_text() {
        let source = "kernel void f_k1(int a)\n{\n  a;\n}\n\nkernel void f_k10(int b)\n{\n  b;\n}\n";
        assert_eq!(kernel_text(source, "f_k1"), "(int a)\n{\n  a;");
        assert_eq!(kernel_text(source, "f_k10"), "(int b)\n{\n  b;");
        assert_eq!(kernel_text(source, "g"), source);
    }
}
