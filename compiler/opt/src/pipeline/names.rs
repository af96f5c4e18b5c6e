//! Names that passes had before, which command lines may use for one more release.

use crate::pass::Pass;
use crate::pipeline::PASSES;

/// Old names and new ones. What was `hoist-checks` is `version-checks` now; the name stands for what was `lift-checks`.
pub const RENAMED: &[(&str, &str)] = &[
    ("branch-cells", "if-convert-cells"),
    ("compose-updates", "sroa"),
    ("dense-folds", "normalize-steps"),
    ("distribute", "split-cells"),
    ("drop-copies", "elide-copies"),
    ("fold-updates", "sparse-updates"),
    ("guard-extents", "version-shifts"),
    ("join-steps", "merge-strided-partitions"),
    ("lift-branches", "unswitch"),
    ("lift-checks", "hoist-checks"),
    ("lift-folds", "speculate-folds"),
    ("merge-folds", "flatten-folds"),
    ("merge-updates", "normalize-loops"),
    ("orient-arrays", "choose-layouts"),
    ("parallel-loops", "parallelize-loops"),
    ("refill", "rematerialize-fills"),
    ("reread", "break-anti-dependences"),
    ("roll-cells", "reroll-cells"),
    ("row-folds", "block-reductions"),
    ("row-loops", "parallelize-loops"),
    ("short-rows", "version-short-rows"),
    ("short-runs", "version-short-runs"),
    ("split-arrays", "sroa"),
    ("split-axes", "delinearize-axes"),
    ("split-borders", "split-index-sets"),
    ("split-folds", "sroa-folds"),
    ("strict-bounds", "normalize-loops"),
    ("sum-updates", "sparse-sums"),
    ("sums-first", "split-sum-cells"),
    ("update-parts", "elide-copies"),
    ("version-extents", "version-no-wrap"),
];

/// What a pass is called now that had another name.
pub fn new_name(old: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(name, _)| *name == old).map(|(_, new)| *new)
}

/// The pass of a name, be it an old one.
pub fn find_pass(name: &str) -> Option<&'static Pass> {
    let name = new_name(name).unwrap_or(name);
    PASSES.iter().copied().find(|pass| pass.name == name)
}
