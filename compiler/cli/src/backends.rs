//! `ravel backends`.

use crate::table::table;
use ravel_driver::{Backend, Kind};

/// Lists the backends; the exit status.
pub fn list() -> i32 {
    let built_in = Backend::all().map(|backend| [backend.name(), place(backend.kind()), backend.description()]);
    let absent = Backend::absent().map(|absent| [absent.name, "not built in", absent.brought_by]);
    let rows: Vec<[String; 3]> = built_in.chain(absent).map(|row| row.map(String::from)).collect();
    i32::from(!crate::print(&table(&rows)))
}

/// Where with-loops run.
fn place(kind: Kind) -> &'static str {
    match kind {
        Kind::Interpreter => "interpreter",
        Kind::Processor => "processor",
        Kind::Device => "device",
        Kind::AnyDevice => "device if any",
    }
}
