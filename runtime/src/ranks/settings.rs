//! What ranks agree on before the program begins: rank 0 says how, so that they choose alike.

use std::time::Instant;

use super::mpi::Mpi;
use super::plan::Costs;
use crate::fault::Fault;
use crate::pool;

/// Which loops ranks share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Share {
    /// Those that are done earlier so.
    Auto,
    /// All that can be, for tests.
    Always,
    /// None.
    Never,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Settings {
    pub share: Share,
    /// Ranks compare where they are whenever they meet, and above 1 what they have.
    pub check: u8,
    pub costs: Costs,
}

/// Times that ranks meet to find out how long it takes. The fastest counts: others were disturbed.
const MEETINGS: u32 = 16;
/// Bytes of each rank that are moved to find out how long that takes.
const SAMPLE: usize = 1 << 20;
/// Times that they are moved.
const SAMPLES: u32 = 4;

impl Settings {
    /// What rank 0 has been told and has measured.
    pub fn agree(mpi: &Mpi, count: usize) -> Result<Settings, Fault> {
        let told = told();
        let (latency, bandwidth) = measure(mpi, count).map_err(Fault::new)?;
        let (share, check) = *told.as_ref().unwrap_or(&(Share::Auto, 0));
        let mut words = [share as u64, u64::from(check), latency.to_bits(), bandwidth.to_bits()];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        mpi.broadcast(&mut bytes, 0).map_err(Fault::new)?;
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        let [share, check, latency, bandwidth] = words;
        told?;
        let share = [Share::Auto, Share::Always, Share::Never][(share as usize).min(2)];
        let threads = pool::threads() as f64;
        let costs = Costs { latency: f64::from_bits(latency), bandwidth: f64::from_bits(bandwidth), threads };
        Ok(Settings { share, check: check as u8, costs })
    }
}

/// What the environment says.
fn told() -> Result<(Share, u8), Fault> {
    let share = match std::env::var("RAVEL_RANKS_SHARE").as_deref() {
        Err(_) | Ok("" | "auto") => Share::Auto,
        Ok("always") => Share::Always,
        Ok("never") => Share::Never,
        Ok(other) => return Err(Fault::new(format!("RAVEL_RANKS_SHARE is auto, always or never, not '{other}'"))),
    };
    let check = match std::env::var("RAVEL_RANKS_CHECK").as_deref() {
        Err(_) | Ok("" | "0") => 0,
        Ok("1") => 1,
        Ok("2") => 2,
        Ok(other) => return Err(Fault::new(format!("RAVEL_RANKS_CHECK is 0, 1 or 2, not '{other}'"))),
    };
    Ok((share, check))
}

/// Seconds that ranks need to meet, and bytes that each receives in a second.
fn measure(mpi: &Mpi, count: usize) -> Result<(f64, f64), String> {
    let mut words = vec![0; 8 * count];
    let mut latency = f64::MAX;
    for _ in 0..MEETINGS {
        let start = Instant::now();
        mpi.all_gather(&[0; 8], &mut words)?;
        latency = latency.min(start.elapsed().as_secs_f64());
    }
    let (own, mut all) = (vec![0; SAMPLE], vec![0; SAMPLE * count]);
    mpi.all_gather(&own, &mut all)?;
    let mut fastest = f64::MAX;
    for _ in 0..SAMPLES {
        let start = Instant::now();
        mpi.all_gather(&own, &mut all)?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    let moving = (fastest - latency).max(1e-6);
    Ok((latency, (SAMPLE * (count - 1)) as f64 / moving))
}
