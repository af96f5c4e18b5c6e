//! The reference interpreter of WIR: slow, obviously right, the oracle of every other way to run a program.
//!
//! It follows the semantics in the header of [`ravel_wir`] to the letter: with-loops run in row-major order, folds in order.
//! It trusts no earlier stage: indices, cell shapes and the disjointness of partitions are verified although checks stand
//! before them, and a violation is a [`RunError::Internal`]. An `update` of an array that nobody else holds and nothing
//! reads later happens in place, so that loops over `a[i] = e` are linear. A `derive` runs as it stands, with dual numbers.
#![forbid(unsafe_code)]

mod array;
mod dual;
mod dynamic;
mod eval;
mod last_use;
mod natives;
mod observe;
mod ranks;
mod rows;
mod with_loop;

pub use array::{Arr, Data, Val};
pub use natives::tag;
pub use observe::{Bounds, Event, Observer};
pub use ranks::{Moved, Simulation};

use ravel_runtime::fault::{Fault, Report};
use ravel_runtime::natives::Native;
use ravel_runtime::stack;
use ravel_source::Span;
use ravel_wir::{FuncId, Module};
use std::sync::Arc;

/// Finds a native by its symbol.
pub type Natives = fn(&str) -> Option<&'static Native>;

/// The text of a place in a function, for faults that end the process inside C code.
pub type Places<'a> = &'a (dyn Fn(Span, &str) -> String + Sync);

/// What a run has around it.
pub struct Host<'a> {
    pub natives: Natives,
    /// Texts for the places of calls of C functions.
    pub places: Places<'a>,
    /// Somebody who watches.
    pub observer: Option<&'a mut dyn Observer>,
    /// Ranks that the program is to run on.
    pub ranks: Option<&'a mut Simulation>,
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The program faulted, or called `exit`.
    Fault(FaultReport),
    /// The IR broke its own rules: a bug in the compiler.
    Internal { span: Span, function: String, problem: String },
    /// A function that the interpreter cannot call: it is not in the runtime.
    NoSuchNative { span: Span, symbol: String },
    /// The thread that runs the program could not be started.
    NoThread(String),
}

/// A fault and where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultReport {
    pub span: Span,
    /// The SaC function.
    pub function: String,
    pub fault: Fault,
}

impl FaultReport {
    /// The report of the runtime, whose text compiled programs print; `position` describes [`FaultReport::span`].
    pub fn to_report(&self, position: &str) -> Report {
        Report::new(Some(&format!("{position} in {}", self.function)), self.fault.clone())
    }

    /// The status the program ends with.
    pub fn status(&self) -> i32 {
        self.fault.ending.status()
    }
}

/// Runs the module's entry, which takes nothing, and gives its results.
///
/// # Errors
/// See [`RunError`]; `exit` is among the faults.
pub fn run(module: &Arc<Module>, natives: Natives) -> Result<Vec<Val>, RunError> {
    run_on(module, alone(natives))
}

/// [`run`], with more around it.
///
/// # Errors
/// See [`RunError`].
pub fn run_on(module: &Arc<Module>, host: Host<'_>) -> Result<Vec<Val>, RunError> {
    match module.entry {
        Some(entry) => on_large_stack(module, host, entry, Vec::new()),
        None => Ok(Vec::new()),
    }
}

fn alone(natives: Natives) -> Host<'static> {
    Host { natives, places: &no_place, observer: None, ranks: None }
}

fn no_place(_: Span, function: &str) -> String {
    format!(" in {function}")
}

/// Runs one function on a thread with a large stack.
///
/// # Errors
/// See [`RunError`].
pub fn run_func(module: &Arc<Module>, natives: Natives, func: FuncId, args: Vec<Val>) -> Result<Vec<Val>, RunError> {
    on_large_stack(module, alone(natives), func, args)
}

fn on_large_stack(module: &Arc<Module>, host: Host<'_>, func: FuncId, args: Vec<Val>) -> Result<Vec<Val>, RunError> {
    let module = module.clone();
    let work = move || {
        // For as long as the machine.
        let host = Host { observer: host.observer.map(|observer| observer as &mut dyn Observer), ..host };
        eval::Machine::new(&module, host).call_entry(func, args)
    };
    let outcome = std::thread::scope(|scope| {
        stack::spawn_scoped(scope, "ravel-interp", stack::main_stack(), work).map(std::thread::ScopedJoinHandle::join)
    });
    match outcome {
        Ok(Ok(values)) => values,
        Ok(Err(_)) => Err(RunError::NoThread("the interpreter's thread panicked".to_string())),
        Err(error) => Err(RunError::NoThread(error.to_string())),
    }
}
