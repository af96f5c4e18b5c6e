//! Several kernels for one purpose: which one runs while a program is tuned, and how long it takes.

use std::ffi::{CStr, c_char};
use std::time::Instant;

use super::tune::Measured;
use super::{Device, device};

/// A variant that is being measured.
#[derive(Default)]
pub(super) struct Trying(Option<(Measured, Instant)>);

/// Which of `count` variants is to run now; `usual` is the one that would be taken without tuning. [`ravel_device_variant_done`] follows.
///
/// # Safety
/// `key` is a static text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_device_variant(key: *const c_char, count: i64, usual: i64) -> i64 {
    let mut device = device();
    // SAFETY: by contract.
    let text = unsafe { CStr::from_ptr(key) }.to_str().unwrap_or_default();
    device.try_variant(key as usize, text, count, usual)
}

/// The launches of the variant have been queued.
#[unsafe(no_mangle)]
pub extern "C" fn ravel_device_variant_done() {
    device().tried_variant();
}

impl Device {
    fn try_variant(&mut self, address: usize, key: &str, count: i64, usual: i64) -> i64 {
        match self.tuner.next_variant(address, key, count, usual) {
            // What was queued before is not to be measured. A device that fails here says so at the next launch.
            Some((measured, variant)) if self.context.queue.finish().is_ok() => {
                self.trying = Trying(Some((measured, Instant::now())));
                variant
            }
            _ => self.tuner.variant(key, count).map_or(usual, |best| best as i64),
        }
    }

    fn tried_variant(&mut self) {
        if let Trying(Some((measured, start))) = std::mem::take(&mut self.trying) {
            let time = self.context.queue.finish().is_ok().then(|| start.elapsed().as_nanos() as f64);
            self.tuner.took(&measured, time);
        }
    }
}
