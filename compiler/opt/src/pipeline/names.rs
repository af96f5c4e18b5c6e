//! Names that passes had before, which command lines may use for one more release.

use crate::pass::Pass;
use crate::pipeline::PASSES;

/// Old names and new ones. What was `hoist-checks` is `version-checks` now; the name stands for what was `lift-checks`.
pub const RENAMED: &[(&str, &str)] = &[
    ("batch-rounds", "unroll-scatters"),
    ("branch-cells", "if-convert-cells"),
    ("carry-chosen", "scalar-replacement"),
    ("carry-elements", "promote-elements"),
    ("column-loops", "interchange-loops"),
    ("compose-updates", "sroa"),
    ("dense-folds", "normalize-steps"),
    ("distribute", "split-cells"),
    ("drop-copies", "elide-copies"),
    ("extreme-places", "recognize-reductions"),
    ("fold-updates", "sparse-updates"),
    ("guard-extents", "version-shifts"),
    ("hoist-columns", "pack-columns"),
    ("join-steps", "merge-strided-partitions"),
    ("lagged-loops", "strip-mine-loops"),
    ("late-operands", "reassociate-extrema"),
    ("lift-branches", "unswitch"),
    ("lift-checks", "hoist-checks"),
    ("lift-folds", "speculate-folds"),
    ("loop-columns", "pack-columns"),
    ("loops-as-folds", "recognize-reductions"),
    ("merge-folds", "flatten-folds"),
    ("merge-loops", "fuse-loops"),
    ("merge-updates", "normalize-loops"),
    ("orient-arrays", "choose-layouts"),
    ("parallel-loops", "parallelize-loops"),
    ("privatize-updates", "privatize-reductions"),
    ("refill", "rematerialize-fills"),
    ("reread", "break-anti-dependences"),
    ("roll-cells", "reroll-cells"),
    ("row-folds", "block-reductions"),
    ("row-loops", "parallelize-loops"),
    ("short-rows", "version-short-rows"),
    ("short-runs", "version-short-runs"),
    ("slide-arrays", "carry-slices"),
    ("split-arrays", "sroa"),
    ("split-axes", "delinearize-axes"),
    ("split-borders", "split-index-sets"),
    ("split-folds", "sroa-folds"),
    ("split-loops", "distribute-loops"),
    ("strict-bounds", "normalize-loops"),
    ("sum-updates", "sparse-sums"),
    ("sums-abreast", "unroll-and-jam"),
    ("sums-first", "split-sum-cells"),
    ("update-parts", "elide-copies"),
    ("update-rows", "elide-copies"),
    ("version-extents", "version-no-wrap"),
    ("work-ahead", "distribute-loops"),
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
