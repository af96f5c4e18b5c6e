//! Which ranks run a native, when a program has several.
//!
//! Every rank runs the program on the same values. A native that looks at the world outside, or changes it, is run by rank 0 alone; the others learn what
//! it gave. Without ranks every class is the same: a call costs a look at whether there are any.

use super::passing::{self, Passed};
use crate::fault::{Fault, Speaker};
use crate::ranks;

/// Who runs a native.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Every rank: there is no effect.
    Pure,
    /// Every rank: the effect is on a state that all of them have, or depends on the arguments alone.
    Same,
    /// Rank 0, and the others get its results.
    Root,
    /// Rank 0: there is no result, and nobody waits for it.
    Write,
}

impl Class {
    /// The word that stands in front of a native.
    pub fn name(self) -> &'static str {
        match self {
            Class::Pure => "pure",
            Class::Same => "same",
            Class::Root => "root",
            Class::Write => "write",
        }
    }
}

/// Runs a native of class [`Class::Root`].
pub(super) fn root<R: Passed>(name: &str, run: impl FnOnce() -> Result<R, Fault>) -> Result<R, Fault> {
    match ranks::world() {
        None => run(),
        Some(_) => passing::from_root(name, run),
    }
}

/// Runs a native of class [`Class::Write`]. If rank 0 cannot write, its fault ends all ranks.
///
/// Traces are called in loops whose chunks ranks share: there the rank that computes the chunk has the value, and no other one.
pub(super) fn write(run: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
    if !ranks::is_root() && !ranks::shared::is_in_chunk() {
        return Ok(());
    }
    run().map_err(|fault| Fault { speaker: Speaker::Whoever, ..fault })
}

/// The class of a word, and the call of a native by that class.
macro_rules! class {
    (pure) => {
        $crate::natives::Class::Pure
    };
    (same) => {
        $crate::natives::Class::Same
    };
    (root) => {
        $crate::natives::Class::Root
    };
    (write) => {
        $crate::natives::Class::Write
    };
    (pure $name:ident $run:expr) => {
        $run()
    };
    (same $name:ident $run:expr) => {
        $run()
    };
    (root $name:ident $run:expr) => {
        $crate::natives::class::root(stringify!($name), $run)
    };
    (write $name:ident $run:expr) => {
        $crate::natives::class::write($run)
    };
}

pub(super) use class;
