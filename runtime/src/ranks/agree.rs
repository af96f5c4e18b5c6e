//! What ranks tell each other when they have met, and what follows from it.
//!
//! Every rank runs the whole program and takes the same decisions: they need the same code, the same processor features and the same number of
//! threads. All ranks have the same table, so all come to the same verdict.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;

use crate::fault::Fault;

/// Bytes of a name; a longer one is cut.
const NAME: usize = 40;
/// Bytes of a record.
pub const RECORD: usize = 6 * 8 + 2 * NAME;

/// What a rank tells the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Of the file that runs.
    pub executable: u64,
    /// One bit for each of [`features`].
    pub features: u64,
    /// Which machine it is: the same for all processes of one.
    pub machine: u64,
    /// Which cores it may use.
    pub mask: u64,
    /// How many cores these are.
    pub cores: u64,
    /// How many threads were asked for; 0 if nobody did.
    pub threads: u64,
    /// Version of Ravel.
    pub version: String,
    /// Name of the machine.
    pub host: String,
}

impl Record {
    /// That of this process; `threads` is what was asked for.
    pub fn own(threads: Option<usize>) -> Record {
        let (mask, cores) = affinity();
        let host = host_name();
        // Kernels have a number of their own from start to stop, also where containers all have one name.
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_else(|_| host.clone());
        Record {
            executable: executable(),
            features: present(),
            machine: hash_of(&boot),
            mask,
            cores: cores as u64,
            threads: threads.unwrap_or(0) as u64,
            version: env!("CARGO_PKG_VERSION").to_string(),
            host,
        }
    }

    pub fn to_bytes(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        let numbers = [self.executable, self.features, self.machine, self.mask, self.cores, self.threads];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        for (place, name) in bytes[6 * 8..].chunks_exact_mut(NAME).zip([&self.version, &self.host]) {
            let length = name.len().min(NAME);
            place[..length].copy_from_slice(&name.as_bytes()[..length]);
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8; RECORD]) -> Record {
        let number = |k: usize| bytes[8 * k..8 * k + 8].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let name = |k: usize| {
            let place = &bytes[6 * 8 + k * NAME..6 * 8 + (k + 1) * NAME];
            String::from_utf8_lossy(place).trim_end_matches('\0').to_string()
        };
        Record {
            executable: number(0),
            features: number(1),
            machine: number(2),
            mask: number(3),
            cores: number(4),
            threads: number(5),
            version: name(0),
            host: name(1),
        }
    }
}

/// What follows from all records for one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// Threads of every rank.
    pub threads: usize,
    /// How many ranks share the cores of this one, itself included.
    pub sharing: usize,
}

/// What the ranks agree on, for rank `own`.
///
/// # Errors
/// They cannot work together.
pub fn agree(records: &[Record], own: usize) -> Result<Agreement, Fault> {
    let first = &records[0];
    let named = |rank: usize| format!("rank {rank} on {}", records[rank].host);
    for (rank, record) in records.iter().enumerate() {
        if record.version != first.version {
            let (this, that) = (&record.version, &first.version);
            return Err(Fault::new(format!("{} runs Ravel {this}, but {} runs {that}", named(rank), named(0))));
        }
        if record.executable != first.executable {
            return Err(Fault::new(format!(
                "{} and {} run different executables: all ranks must run the same one",
                named(0),
                named(rank)
            )));
        }
        if record.features != first.features {
            let (more, less) = if first.features & !record.features != 0 { (0, rank) } else { (rank, 0) };
            let missing = names_of(records[more].features & !records[less].features);
            return Err(Fault::new(format!(
                "the processor of {} has {missing}, but that of {} does not: results could differ; start ranks on machines with the same processors",
                named(more),
                named(less)
            )));
        }
    }
    let share = |rank: usize| {
        let own = &records[rank];
        records.iter().filter(|other| (other.machine, other.mask) == (own.machine, own.mask)).count()
    };
    let wanted = (0..records.len()).map(|rank| match records[rank].threads {
        0 => (usize::try_from(records[rank].cores).unwrap_or(1) / share(rank)).max(1),
        asked => usize::try_from(asked).unwrap_or(1),
    });
    Ok(Agreement { threads: wanted.min().unwrap_or(1), sharing: share(own) })
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A number for the content of the file that runs; 0 if it cannot be read.
fn executable() -> u64 {
    let Ok(mut file) = std::fs::File::open("/proc/self/exe") else { return 0 };
    let mut buffer = vec![0; 1 << 20];
    let mut sum = 0u64;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return sum,
            // As long as a number, zeros behind the end: a file has one length.
            Ok(length) => {
                buffer[length..].fill(0);
                for word in buffer[..length.next_multiple_of(8)].as_chunks::<8>().0 {
                    // The multiplier of FNV, and a rotation because its upper bits stay above.
                    sum = (sum.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(0x100_0000_01b3);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return 0,
        }
    }
}

fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the room is as long as said; the last byte stays a zero.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } != 0;
    let text = String::from_utf8_lossy(&name).trim_end_matches('\0').to_string();
    if failed || text.is_empty() { "localhost".to_string() } else { text }
}

/// A number for the cores that this process may use, and how many these are.
fn affinity() -> (u64, usize) {
    let most = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the set is filled by the call, which says whether it did.
        let (mask, found) = unsafe {
            let mut mask: libc::cpu_set_t = std::mem::zeroed();
            let found = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut mask) == 0;
            (mask, found)
        };
        if found {
            // SAFETY: only asks whether a core is in the set, for numbers that it has room for.
            let is_in = |core: usize| unsafe { libc::CPU_ISSET(core, &mask) };
            let cores: Vec<usize> = (0..8 * size_of::<libc::cpu_set_t>()).filter(|&core| is_in(core)).collect();
            // A group of processes may have less time than its cores have.
            return (hash_of(&cores), cores.len().clamp(1, most));
        }
    }
    (0, most)
}

macro_rules! features {
    ($detected:ident: $($name:tt)*) => {
        /// Features of processors that generated code, or the mathematical functions of the C library, may depend on.
        const FEATURES: &[&str] = &[$($name),*];

        /// Which of [`FEATURES`] this processor has, a bit for each.
        fn present() -> u64 {
            let has = [$(std::arch::$detected!($name)),*];
            has.iter().enumerate().map(|(bit, has)| u64::from(*has) << bit).sum()
        }
    };
}

#[cfg(target_arch = "x86_64")]
features! { is_x86_feature_detected:
    "sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "avx" "avx2" "fma" "f16c" "bmi1" "bmi2" "lzcnt" "movbe"
    "avx512f" "avx512cd" "avx512bw" "avx512dq" "avx512vl" "avx512ifma" "avx512vbmi" "avx512vbmi2" "avx512vnni" "avx512bitalg" "avx512vpopcntdq" "avx512fp16"
}

#[cfg(target_arch = "aarch64")]
features! { is_aarch64_feature_detected: "neon" "fp16" "dotprod" "lse" "sve" "sve2" "i8mm" "bf16" "rcpc" "fhm" }

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FEATURES: &[&str] = &[];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn present() -> u64 {
    0
}

/// Names of features in a sentence.
fn names_of(bits: u64) -> String {
    let names: Vec<&str> =
        FEATURES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| *name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(machine: u64, mask: u64, cores: u64, threads: u64) -> Record {
        Record { machine, mask, cores, threads, ..Record::own(None) }
    }

    #[test]
    fn records_survive_the_way() {
        let own = Record { host: "a".repeat(NAME), ..Record::own(Some(3)) };
        assert_eq!(Record::from_bytes(&own.to_bytes()), own);
        assert!(own.executable != 0 && own.cores > 0);
    }

    #[test]
    fn cores_are_divided_among_those_that_share_them() {
        let threads = |records: &[Record]| agree(records, 0).map(|agreed| (agreed.threads, agreed.sharing));
        // One machine of 16 cores, nobody bound.
        assert_eq!(threads(&vec![record(1, 1, 16, 0); 3]), Ok((5, 3)));
        assert_eq!(threads(&vec![record(1, 1, 2, 0); 5]), Ok((1, 5)));
        // The launcher has bound each to cores of its own.
        assert_eq!(threads(&[record(1, 1, 4, 0), record(1, 2, 4, 0)]), Ok((4, 1)));
        // Two machines; the least is taken.
        assert_eq!(threads(&[record(1, 1, 16, 0), record(2, 1, 16, 0), record(2, 1, 16, 0)]), Ok((8, 1)));
        // What was asked for, also if there are fewer cores.
        assert_eq!(threads(&vec![record(1, 1, 2, 3); 2]), Ok((3, 2)));
        assert_eq!(threads(&[record(1, 1, 2, 3), record(1, 1, 2, 4)]), Ok((3, 2)));
    }

    #[test]
    fn ranks_that_differ_are_refused_in_words() {
        let own = Record { host: "a".to_string(), ..Record::own(None) };
        let says = |other: Record, what: &str| {
            let found = agree(&[own.clone(), Record { host: "b".to_string(), ..other }], 1).expect_err("they differ");
            assert!(found.message.contains(what), "{found}");
        };
        says(Record { version: "0.0".to_string(), ..own.clone() }, "rank 1 on b runs Ravel 0.0, but rank 0 on a");
        says(Record { executable: 1, ..own.clone() }, "rank 0 on a and rank 1 on b run different executables");
        if let Some(name) = FEATURES.first() {
            let other = Record { features: own.features ^ 1, ..own.clone() };
            let more = if own.features & 1 == 1 { "rank 0 on a" } else { "rank 1 on b" };
            says(other, &format!("the processor of {more} has {name}, but"));
        }
    }
}
