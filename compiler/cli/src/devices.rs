//! `ravel devices`, and the choice of a device.

use crate::table::table;
use ravel_driver::{Backend, Kind, Options};
use ravel_runtime::device;

/// Lists the devices; the exit status.
pub fn list() -> i32 {
    let devices = match device::list() {
        Ok(devices) => devices,
        Err(why) => {
            say!("ravel: {why}");
            return 1;
        }
    };
    let heads = ["", "name", "driver", "kind", "memory", "units", "f64"].map(String::from);
    let rows = devices.iter().enumerate().map(|(index, d)| {
        let doubles = if d.doubles { "yes" } else { "no" };
        [
            index.to_string(),
            d.name.clone(),
            d.driver.clone(),
            d.kind().to_string(),
            gibibytes(d.memory),
            d.units.to_string(),
            doubles.to_string(),
        ]
    });
    i32::from(!crate::print(&table(&std::iter::once(heads).chain(rows).collect::<Vec<_>>())))
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// Looks for the device before anything is compiled. Without one, a program that can do without becomes one of machine code; for any
/// other the exit status is the error.
pub fn settle(options: &mut Options, arguments: &[Vec<u8>]) -> Result<(), i32> {
    let optional = match options.backend.kind() {
        Kind::Device => false,
        Kind::AnyDevice => true,
        Kind::Interpreter | Kind::Processor => return Ok(()),
    };
    if let Err(fault) = ravel_runtime::start::set_arguments(arguments.to_vec()) {
        ravel_runtime::fault::raise(fault);
    }
    let Err(why) = device::find() else { return Ok(()) };
    // Whoever names a device wants that one.
    if optional && device::wish().is_ok_and(|wish| wish.is_empty()) {
        options.backend = Backend::default();
        return Ok(());
    }
    say!("ravel: {why}");
    Err(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_gibibytes() {
        assert_eq!(gibibytes(3 << 29), "1.5 GiB");
    }
}
