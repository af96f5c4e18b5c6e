//! `ravel run --check-grad`: what comes of comparing derivatives with differences.
//!
//! The compiler numbers the places where derivatives are taken, and gives their texts before the program starts.

use std::sync::{Mutex, PoisonError};

use super::natives;
use crate::stream::{self, Standard};

/// How often a derivative is compared: its first executions.
const TIMES: u32 = 3;

/// By how much derivatives of floats and of doubles may differ from differences, beyond what these are in doubt by.
const FLOAT_TOLERANCE: f64 = 0.05;
const DOUBLE_TOLERANCE: f64 = 1e-4;

/// Steps of floats are above it, those of doubles below.
const FLOAT_STEP: f64 = 1e-4;

/// One place where derivatives are taken.
#[derive(Clone, Debug)]
pub struct Site {
    /// File, line and column, and the form.
    pub place: String,
    /// Times that it was compared.
    pub times: u32,
    /// The greatest error.
    pub error: f64,
    pub is_wrong: bool,
}

static SITES: Mutex<Vec<Site>> = Mutex::new(Vec::new());

fn sites() -> std::sync::MutexGuard<'static, Vec<Site>> {
    SITES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a run whose derivatives are at these places.
pub fn begin(places: impl Iterator<Item = String>) {
    *sites() = places.map(|place| Site { place, times: 0, error: 0.0, is_wrong: false }).collect();
}

/// What has been found so far.
pub fn found() -> Vec<Site> {
    sites().clone()
}

fn site_of(all: &mut [Site], site: i32) -> Option<&mut Site> {
    usize::try_from(site).ok().and_then(|site| all.get_mut(site))
}

natives! { GRADIENTS;
    /// Whether a derivative is still to be compared with differences, by its number.
    same fn ravel_gradient_wanted(site: i32) -> (wanted: bool) {
        Ok(site_of(&mut sites(), site).is_some_and(|site| site.times < TIMES))
    }

    /// What came of a comparison: the relative error, with differences of a step. The first one that is too large is told at once.
    same fn ravel_gradient_off(site: i32, error: f64, step: f64) -> () {
        let mut all = sites();
        let Some(site) = site_of(&mut all, site) else { return Ok(()) };
        site.times += 1;
        // NaN is worse than any error.
        if error.is_nan() || error > site.error {
            site.error = error;
        }
        let most = if step > FLOAT_STEP { FLOAT_TOLERANCE } else { DOUBLE_TOLERANCE };
        if (error.is_nan() || error > most) && !std::mem::replace(&mut site.is_wrong, true) {
            let text = format!("{}: the derivative is off by {error:.2e} of what differences give\n", site.place);
            // That stderr is closed or full must not change what the program does.
            let _ = stream::standard(Standard::Err).put(text.as_bytes());
        }
        Ok(())
    }
}
