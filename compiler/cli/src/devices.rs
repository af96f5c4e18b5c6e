//! `ravel devices`, and the choice of a device.

use ravel_driver::{Backend, Options};
use ravel_runtime::device;
use std::io::Write;

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

/// Rows of cells as lines of columns.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let line: String = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  ")).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Looks for the device before anything is compiled. Without one, a program that can do without becomes one of machine code; for any
/// other the exit status is the error.
pub fn settle(options: &mut Options, arguments: &[Vec<u8>]) -> Result<(), i32> {
    if options.backend != Backend::Opencl {
        return Ok(());
    }
    if let Err(fault) = ravel_runtime::start::set_arguments(arguments.to_vec()) {
        ravel_runtime::fault::raise(fault);
    }
    let Err(why) = device::find() else { return Ok(()) };
    // Whoever names a device wants that one.
    if options.device_optional && device::wish().is_ok_and(|wish| wish.is_empty()) {
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
    fn columns_are_aligned() {
        let rows = [["a", "name"], ["10", "x"]].map(|row| row.map(String::from));
        assert_eq!(table(&rows), "a   name\n10  x\n");
        assert_eq!(gibibytes(3 << 29), "1.5 GiB");
    }
}
