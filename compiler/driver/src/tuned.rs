//! What `ravel tune` has found out about this machine's device, for the scheduler.

use crate::backend::Backend;
use ravel_runtime::device::{self, tune};
use ravel_schedule::Tiles;

/// Records of the device that programs would use.
#[derive(Default)]
pub struct Tuned {
    /// This compilation is for measuring.
    measures: bool,
    records: tune::Records,
}

impl Tuned {
    /// What is known for a backend; devices are looked for only if something is known of any.
    pub fn of(backend: Backend) -> Tuned {
        if backend.device().is_none() {
            return Tuned::default();
        }
        let measures = tune::measures();
        let device = (!measures && tune::is_known()).then(device::find);
        let records = device.and_then(Result::ok).map(|device| tune::records(&device)).unwrap_or_default();
        Tuned { measures, records }
    }

    /// The tiles for a purpose.
    pub fn tiles(&self, key: &str) -> Tiles {
        match self.measures {
            true => Tiles::All,
            false => tune::variant(&self.records, key).map_or(Tiles::Usual, |(number, of)| Tiles::Only { number, of }),
        }
    }
}
