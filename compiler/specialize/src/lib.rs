//! Specialisation: core in, WIR out, by abstract interpretation.
//!
//! Starting at `main` (or another entry), every function is executed on *abstract values*: the element type is always known,
//! the shape usually, small `int` vectors element by element. Overloads are chosen by what is known of the arguments, at
//! run time where that leaves several. `inline` functions are elaborated in place; of every other function one WIR function is
//! made per distinct tuple of abstract arguments, with symbols renamed canonically.
//!
//! Shape arithmetic is ordinary SaC on index vectors. Vectors of known short length are held as scalars ([`value::Val::Tup`]),
//! and with-loops over small known index sets that make such vectors are executed index by index, so shape arithmetic folds away
//! while functions are elaborated. Extents that are not known become symbols; sums and multiples of them stay comparable.
//!
//! Recursive functions and loops are iterated to a fixed point: constant, symbol, known rank, unknown rank.
#![forbid(unsafe_code)]

mod arguments;
mod calls;
mod check;
mod conversions;
mod derive;
mod elementwise;
mod emit;
mod expr;
pub mod facts;
mod format;
mod literal;
mod live;
mod places;
mod prim;
mod prune;
mod ranks;
mod record;
mod repeats;
mod report;
mod reshape;
mod spec;
mod stmt;
#[cfg(test)]
mod tests;
mod types;
pub mod value;
mod vector;
mod walk;
mod withloops;
mod wraps;

use ravel_core::ir::{FunId, Program};
use ravel_diagnostics::Diagnostic;
use ravel_source::{FileId, SourceMap, Span};
use ravel_types::HashMap;
use ravel_wir::FuncId;
use value::Kind;

pub use calls::fits;
pub use facts::Facts;
pub use places::{Extent, Named, Noted, Places};
pub use record::shape_of;
pub use report::show_kind;
pub use withloops::in_order::Carried;

/// What to start from.
#[derive(Clone, Debug)]
pub enum Entry {
    /// `int main()`.
    Main,
    /// A function with these arguments, as the REPL calls it. With `init_globals` the objects are initialised first.
    Function { fun: FunId, args: Vec<Kind>, init_globals: bool },
    /// The functions that C code is to call, [`Program::exports`]; the entry itself initialises the objects and gives 0.
    Exports,
    /// Every root of the program, for `check` of a module: nothing is called.
    Roots,
}

/// Settings of specialisation.
pub struct Options<'a> {
    pub map: &'a SourceMap,
    /// Files whose code is reported at the call that led there.
    pub is_library: &'a dyn Fn(FileId) -> bool,
    /// Check type patterns and conditions (on unless `--no-check`).
    pub check_patterns: bool,
    /// Leave arithmetic on constants to the run where it makes NaN.
    pub keep_nan: bool,
    /// Name all definitions that were tried for a call that fits none.
    pub candidates: bool,
    /// What a fault adds where a condition of a function fails, by the function's file and name.
    pub condition_remark: &'a dyn Fn(FileId, &str) -> Option<String>,
    /// Whether to note what instances take and give.
    pub signatures: bool,
    /// Whether to note what the user's expressions and variables turn out to be.
    pub facts: bool,
}

impl<'a> Options<'a> {
    /// Checks patterns and conditions; the rest is off.
    pub fn new(map: &'a SourceMap, is_library: &'a dyn Fn(FileId) -> bool) -> Options<'a> {
        Options {
            map,
            is_library,
            check_patterns: true,
            keep_nan: false,
            candidates: false,
            condition_remark: &|_, _| None,
            signatures: false,
            facts: false,
        }
    }
}

/// The outcome: a module whose entry is set, what the entry's results are, and everything there is to say.
pub struct Specialized {
    pub module: ravel_wir::Module,
    /// Kinds of the entry's results, in order; the WIR results carry their leaves.
    pub results: Vec<Kind>,
    pub diagnostics: Vec<Diagnostic>,
    /// Number of WIR functions made.
    pub instances: usize,
    /// Of [`Entry::Exports`]: parameters and results of each, in their order; nothing for one that has errors or gives nothing back.
    pub exports: Vec<Option<Exported>>,
    /// Expressions that were elaborated, each as often as it was: what the work grows with.
    pub elaborated: u64,
    /// With-loops that are loops in WIR, and why.
    pub fold_loops: Vec<(Span, Carried)>,
    /// What was noted for all entries; with the last one, if it was asked for.
    pub facts: Option<Facts>,
    /// What faults can say of their places, for all entries; with the last one.
    pub places: Places,
    /// What instances take and give; every kind but constants is one WIR value or several.
    pub signatures: HashMap<FuncId, Exported>,
}

/// What a function takes and gives. For C code every parameter and result is one WIR value.
#[derive(Clone, Debug)]
pub struct Exported {
    pub params: Vec<Kind>,
    pub results: Vec<Kind>,
}

/// Specialises a program.
///
/// The module is meaningful only if no diagnostic is an error.
pub fn specialize(program: &Program, entry: Entry, options: &Options<'_>) -> Specialized {
    let mut looks = specialize_all(program, vec![entry], options);
    looks.pop().expect("there is one look for each entry")
}

/// Specialises a program for several entries. Each has the outcome that it would have alone, but they share instances.
pub fn specialize_all(program: &Program, entries: Vec<Entry>, options: &Options<'_>) -> Vec<Specialized> {
    spec::run(program, entries, options)
}
