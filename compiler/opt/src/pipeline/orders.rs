//! The orders in which passes run.
//!
//! An entry is a pass, or a group that tidies up, and why it stands there: what must have run before, and what comes behind needs of it.

use crate::device::keep_on_device;
use crate::differentiate;
use crate::fusion::{
    flatten_folds, fold_with_loops, fuse, fuse_folds, fuse_nested, scalarize, split_cells, split_checks,
    split_operators,
};
use crate::loops::{
    distribute, fuse_loops, interchange, normalize, pack_columns, parallelize, privatize, promote, reassociate,
    reductions, scalar_replace, slices, strip_mine, unroll_and_jam, unroll_scatters,
};
use crate::motion::{
    hoist_checks, licm, speculate_folds, unswitch, version_checks, version_no_wrap, version_open_ranks, version_shifts,
    version_short_rows, version_short_runs,
};
use crate::nests::{
    block_reductions, choose_layouts, delinearize_axes, folds_as_loops, if_convert_cells, interleave,
    merge_strided_partitions, normalize_steps, reroll_cells, split_index_sets,
};
use crate::pass::Pass;
use crate::reuse::{break_anti_dependences, elide_copies, rematerialize_fills, sparse_updates};
use crate::scalar::{cse, dce, inline, narrow_integers, pin_clocks, prove_checks, recognize_elementwise, simplify};
use crate::small::{sroa, sroa_folds, unroll_arrays, unroll_loops, unroll_small};
use std::sync::LazyLock;

/// Passes that run one after the other, and why there.
pub type Entry = (&'static [&'static Pass], &'static str);

/// Equal things become one, constants and extents are known, and what nobody needs is gone.
const CLEAN: &[&Pass] = &[&cse::PASS, &simplify::PASS, &dce::PASS];

/// The same where nothing new can be equal to something else.
const TIDY: &[&Pass] = &[&simplify::PASS, &dce::PASS];

/// Runs before the cycle.
pub const FIRST: &[Entry] = &[
    (&[&inline::PASS], "First of all: bodies come together, and all else looks at one function at a time."),
    (&[&pin_clocks::PASS], "Behind inline, which brings clocks into their callers; before anything moves or folds."),
];

/// Runs at every level, for nothing behind it knows derivatives.
pub const DERIVE: &[Entry] = &[
    (&[&cse::PASS], "Behind inline, which brings equal reads together: of each, differentiate would keep a copy."),
    (
        &[&differentiate::PASS],
        "Behind inline, since it looks at one function; before folding, which then sees primal and adjoint.",
    ),
];

/// Runs over each function until nothing changes.
pub const CYCLE: &[Entry] = &[
    (&[&simplify::PASS], "What is inlined, or left by the last turn, has constants that the passes behind it match."),
    (&[&cse::PASS], "Behind simplify, which gives equal things one form; prove-checks compares values by name."),
    (&[&prove_checks::PASS], "Works best on simplified code; checks that stay keep with-loops from folding."),
    (&[&split_checks::PASS], "Behind prove-checks: it copies checks that stay, and folding takes such rows then."),
    (&[&hoist_checks::PASS], "Behind prove-checks: it moves checks that stay out of bodies that are to fold."),
    (&[&dce::PASS], "Conditions of proven checks are gone before the passes below count uses and work."),
    (&[&recognize_elementwise::PASS], "Functions are inlined; sparse-updates and flatten-folds ask for operators."),
    (&[&split_cells::columns::PASS], "Before scalarize takes the cells apart, for folding would undo this."),
    (&[&if_convert_cells::PASS], "On simplified code and before scalarize, which cannot take a chosen array apart."),
    (&[&sparse_updates::PASS], "Behind recognize-elementwise, for operators; scalarize would hide its cells."),
    (&[&split_operators::PASS], "Before scalarize, which takes a with-loop of a single result."),
    (&[&scalarize::PASS], "Behind the passes that prepare array cells; flatten-folds and folding want scalar cells."),
    (&[&flatten_folds::PASS], "Behind scalarize, which brings folds into folds; one index set is easier to fold into."),
    (&[&scalar_replace::PASS], "Branches that choose are selections; folding would compute elements in iterations."),
    (&[&fold_with_loops::PASS], "Checks are proven or moved and cells are scalars, or there is little it may fold."),
    (&[&version_shifts::PASS], "Right behind folding, which hands it the producers that it could not decide on."),
    (&[&unroll_small::PASS], "Behind folding, which may leave small arrays without a reader; bounds are constants."),
    (&[&unroll_arrays::PASS], "Behind scalarize, which makes folds of elements where indices are fixed."),
    (&[&unroll_loops::PASS], "Start, step and end are constants; small with-loops are code by now."),
    (&[&sroa::PASS], "Behind unrolling, which leaves chains of updates and arrays put together by element."),
    (&[&dce::PASS], "The next turn counts uses: what this one replaced is gone."),
];

/// Runs once when the cycle has ended: with-loops of several operators are not folded or scalarised, and folding would copy
/// back what invariant motion moves out.
pub const LAST: &[Entry] = &[
    (&[&slices::PASS], "Folding has ended, so that parts of parts of an array are one with-loop."),
    (&[&simplify::PASS], "The indices that carry-slices moved are simple again for the passes below."),
    (&[&normalize_steps::PASS], "The cycle has proven checks of indices from the steps that this takes away."),
    (&[&sroa_folds::PASS], "Makes several operators of one, which the cycle does not fold; fuse may add to them."),
    (&[&interchange::PASS], "Checks are proven; before promote-elements, whose scalars would have to be vectors."),
    (&[&promote::PASS], "Loops have their final shape once interchange-loops has taken those that it wants."),
    (&[&fuse::PASS], "The cycle has ended, for folding declines with-loops of several operators."),
    (&[&fuse_nested::PASS], "Behind fuse; what is cheap enough has been computed again for every element by folding."),
    (&[&cse::PASS], "What fused bodies have in common becomes one, and equal loops do before fuse-loops looks."),
    (&[&fuse_loops::PASS], "With-loops are fused, so that two loops that share work stand in one body."),
    (&[&fold_with_loops::PASS], "What two with-loops read is needed once when they are one."),
    (CLEAN, "The common parts of merged loops become one, and folded producers go."),
    (&[&choose_layouts::PASS], "Folding and fusion have ended, or they would turn arrays back; selections are simple."),
    (&[&elide_copies::PASS], "Folding has ended, since updates are harder to fold than arrays that are made."),
    (
        &[&version_open_ranks::PASS],
        "The cycle takes no branches; before the passes for rows and lanes see the one axis.",
    ),
    (&[&delinearize_axes::PASS], "The cycle has ended; before split-index-sets looks for remainders."),
    (&[&version_short_rows::PASS], "The cycle takes no branches; unroll-small writes the short rows out."),
    (&[&prove_checks::PASS], "In the versions of version-short-rows lengths are constants, which settle more."),
    (&[&simplify::PASS], "Bounds in these versions become constants for unroll-small."),
    (&[&unroll_small::PASS], "The rows of constant length that version-short-rows has made are written out."),
    (TIDY, "What was written out is constant arithmetic in part, which version-no-wrap would count as code."),
    (&[&version_no_wrap::PASS], "The cycle takes no branches; looks at the checks that prove-checks left."),
    (&[&licm::PASS], "Folding would copy back what it moves out; split-index-sets wants invariants outside."),
    (&[&sparse_updates::sums::PASS], "Folding and fusion have ended, since updates are harder to fold."),
    (&[&split_index_sets::PASS], "The cycle takes no several partitions well; licm has moved out what cuts depend on."),
    (&[&prove_checks::PASS], "Within the partitions of split-index-sets conditions and remainders are settled."),
    (TIDY, "Branches that are settled go, so that licm sees what is left of each partition."),
    (&[&licm::PASS], "Once more for the partitions that split-index-sets made."),
    (CLEAN, "What was moved out of several partitions is one; fuse-folds compares with-loops by what they read."),
];

/// Runs once behind it: lanes need the final with-loops, and folding would undo the packing of inputs.
pub const LANES: &[Entry] = &[
    (&[&fuse_folds::PASS], "Folding and fusion have ended: the array of such a fold is needed anyway."),
    (&[&cse::PASS], "What joined folds have in common with their with-loop is computed once."),
    (&[&unswitch::PASS], "The cycle has ended, for branches stand in its way; before loops are looked at."),
    (TIDY, "Branches that unswitch decided go."),
    (&[&normalize::PASS], "Checks are proven; the passes for loops behind it want strict bounds, one update."),
    (TIDY, "Updates that were merged leave branches that only choose, which become selections."),
    (&[&version_checks::PASS], "Checks are proven as far as possible; those below leave loops with checks alone."),
    (&[&reductions::PASS], "Behind version-checks; folds come first, since they need no array."),
    (&[&parallelize::PASS], "Behind the folds, which need no array; normalize-loops has merged updates."),
    (&[&strip_mine::PASS], "Behind parallelize-loops: loops that have no independent iterations, as they stand."),
    (&[&distribute::PASS], "Passes for whole loops have run; this makes with-loops of parts of those that stay."),
    (&[&unroll_and_jam::PASS], "Behind parallelize-loops: the sums that it begins stand in loops that stay."),
    (TIDY, "The bodies of new with-loops are simple before it is decided how they run."),
    (&[&split_cells::sums::PASS], "Folding has ended, for it would undo this."),
    (&[&folds_as_loops::PASS], "Short folds are written out and operators recognised: what is left stays a loop."),
    (&[&dce::PASS], "What nobody needs is no work of a branch, which speculate-folds weighs."),
    (&[&speculate_folds::PASS], "Folding has ended and split-index-sets has cut borders off."),
    (&[&interleave::PASS], "Folding and fusion have ended; before the passes that change the cells of a partition."),
    (&[&merge_strided_partitions::PASS], "Folding and fusion have ended, which take no cells of neighbours."),
    (&[&reroll_cells::PASS], "Folding and fusion have ended, which take cells that are written out."),
    (&[&block_reductions::PASS], "Folding and fusion have ended, for these bring folds of arrays into its first form."),
    (&[&pack_columns::PASS], "Folding has ended, or it would undo this; licm behind it moves the vectors out."),
    (&[&privatize::PASS], "Loops are in their final places, for the passes above have nothing to do in its pieces."),
    (&[&unroll_scatters::PASS], "Behind privatize-reductions, which takes loops whose updates may be gathered apart."),
    (&[&version_short_runs::PASS], "The with-loops are what they will be, so that a loop for short ones is like them."),
    (&[&simplify::PASS], "What the passes for lanes have put together has constants."),
    (&[&cse::PASS], "Their copies compute extents and indices again."),
    (&[&licm::PASS], "Vectors and tables that do not vary go in front of the loops that they were made for."),
    (&[&cse::PASS], "What was moved out of several bodies is one."),
    (&[&simplify::PASS], "Branches with equal arms are left; narrow-integers wants constants."),
    (&[&narrow_integers::PASS], "Last, since all else reckons in i32."),
    (&[&dce::PASS], "What nobody needs is not scheduled."),
];

/// The same for a device.
pub const DEVICE: &[Entry] = &[
    (&[&keep_on_device::PASS], "Optimised: scalars that a loop only gathers are folds of with-loops."),
    (&[&fuse::PASS], "The with-loops of one index that keep-on-device makes run in one launch."),
    (CLEAN, "What these had in common is one."),
];

/// The quick level's only turn.
pub const QUICK: &[Entry] = &[
    (&[&inline::PASS], "First of all, as in the full order."),
    (&[&pin_clocks::PASS], "Behind inline, which brings clocks into their callers."),
    (&[&simplify::PASS], "Inlined bodies have constants; gives equal things one form."),
    (&[&cse::PASS], "Behind simplify, once: nothing simplifies what it makes equal."),
    (&[&dce::PASS], "What the two have replaced goes."),
];

/// What simplification would undo.
pub const END: &[Entry] = &[
    (&[&reassociate::PASS], "Behind all simplification, which puts constants last."),
    (&[&break_anti_dependences::PASS], "The passes have ended: cse would take loads back in front of updates."),
    (&[&rematerialize_fills::PASS], "The passes have ended: cse would make one array of the copies."),
];

/// All orders by name.
pub fn orders() -> [(&'static str, &'static [Entry]); 8] {
    [
        ("first", FIRST),
        ("derive", DERIVE),
        ("cycle", CYCLE),
        ("last", LAST),
        ("lanes", LANES),
        ("device", DEVICE),
        ("quick", QUICK),
        ("end", END),
    ]
}

/// Every pass, as the orders name them first.
pub static PASSES: LazyLock<Vec<&'static Pass>> = LazyLock::new(|| {
    let mut passes: Vec<&Pass> = Vec::new();
    for pass in orders().into_iter().flat_map(|(_, order)| order).flat_map(|(passes, _)| *passes) {
        if passes.iter().all(|known| known.name != pass.name) {
            passes.push(pass);
        }
    }
    passes
});
