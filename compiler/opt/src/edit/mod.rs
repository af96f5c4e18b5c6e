//! How passes change a function: who defines values, new instructions and where they go, copies, versions.
//!
//! A pass never looks for the place of an instruction to write there itself: see [`insert_before`], [`insert_after`] and [`replace_inst`].

mod copy;
mod defs;
mod emit;
mod reorder;
mod version;

pub use copy::{Copier, rename_syms};
pub use defs::{
    Def, Defs, Renames, all_insts, any_inside, any_inst, collect_values, has_loop, insts_where, loops_of, operands_of,
    reads_of, size_of, slice, syms_of, use_counts, with_of,
};
pub use emit::{
    Cut, Emitter, insert_after, insert_before, mirrored, prepend, push_check, push_op, push_ops, replace_inst,
    substitute,
};
pub use reorder::{drop_inst, lower_to, place_of, raise_to};
pub use version::{version, version_by_copy, version_of};
