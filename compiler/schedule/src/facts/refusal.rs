//! Why a strategy leaves a with-loop or a partition to the next one.

use std::fmt;

macro_rules! refusals {
    ($($variant:ident => $text:literal,)*) => {
        /// Why a strategy does not take something.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) enum Refusal {
            $($variant,)*
            /// A with-loop in a loop or branch of a body, at this place of the program.
            WithLoopInBranch(String),
            /// Of a launch; what is estimated.
            LittleForLaunch(String),
            /// It is nothing that the strategy is for. Nobody asks why: listings leave this out.
            OtherKind,
        }

        impl Refusal {
            /// Does `--explain` name it as the reason for scalar loops? Not where nobody expects a kernel.
            pub fn is_said(&self) -> bool {
                use Refusal::*;
                !matches!(
                    self,
                    CarriesFolds | NoFolds | KeepsOrder | OnlyChecks | NoResult | Ordered | OnDevice
                        | CellsNoScalars | PartsForThreads
                )
            }
        }

        impl fmt::Display for Refusal {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Refusal::$variant => f.write_str($text),)*
                    Refusal::LittleForLaunch(estimate) => write!(f, "too little work for a launch, {estimate}"),
                    Refusal::OtherKind => f.write_str("it is of another kind"),
                    Refusal::WithLoopInBranch(place) => write!(
                        f,
                        "a loop or branch of the body has a with-loop of its own, at {place}: lanes take it if it stands outside, \
                         or is written out, being short and of known size"
                    ),
                }
            }
        }
    };
}

refusals! {
    // What a partition is.
    SingleCell => "there is a single cell",
    OneAxis => "there is one axis",
    VariableSteps => "the generator has steps that are not constant",
    SeveralWidths => "the generator has widths along several axes",
    GeneratorSteps => "the generator has steps",
    OnlyChecks => "it only checks",
    NoResult => "there is no array to write",
    CarriesFolds => "some cells go to folds",
    NoFolds => "no cells go to folds",
    KeepsOrder => "not all of its folds may be regrouped",
    Ordered => "it runs in order",
    OnDevice => "it is part of a launch",
    // What its cells are.
    ArrayCells => "cells are arrays",
    CellsNoScalars => "cells are not scalars",
    SubArrays => "the body selects sub-arrays",
    UnprovenChecks => "the body has checks that are not proven",
    BuildsArrays => "the body builds arrays",
    BuildsOrCalls => "the body builds arrays or calls functions",
    Effects => "the body has effects",
    BranchYieldsArrays => "a loop or branch of the body yields arrays",
    BranchChoosesArrays => "a loop or branch of the body chooses between arrays",
    BranchDivides => "a loop or branch of the body divides integers",
    BranchLoads => "a loop or branch of the body has loads at indices that may be wrong where it is not entered",
    BranchCalls => "a loop or branch of the body has checks, builds arrays or calls functions",
    // Folds in the body, or of the with-loop.
    UnusualFold => "an unusual fold",
    FoldFunction => "a fold has a function of its own",
    FoldRankUnknown => "the rank of a fold is not known",
    FoldSteps => "a fold has steps",
    OrderedFold => "the fold must keep its order",
    ArrayAccumulator => "the accumulator is an array",
    NarrowAccumulator => "the accumulator does not fill a lane",
    VaryingInnerBounds => "the bounds of inner folds vary over the last axis",
    // Lanes.
    NoVectors => "the target has no vectors",
    LittleWork => "there is too little work",
    LittleWorkForLanes => "there is too little work for vector lanes",
    NoAxis => "no axis suits vector lanes",
    NoAxisDivisions => "no axis suits vector lanes: it has integer divisions, which lanes do one by one",
    NoAxisOfBorder => "it is a border, and no axis suits vector lanes well",
    NoAxisOfBorderDivisions => "it is a border, and no axis suits vector lanes well: it has integer divisions, which lanes do one by one",
    AsLong => "vector lanes would take as long",
    AsLongDivisions => "vector lanes would take as long: it has integer divisions, which lanes do one by one",
    // Threads.
    NotParallel => "threads do not share it",
    TooLittleForThreads => "there is too little work for threads",
    PartsForThreads => "threads share its partitions",
    InnerChunks => "chunks of an inner axis have too few columns",
    FixedLanes => "its lanes depend on where the outermost axis begins",
    LightCells => "its extents are not known, and a cell is little work",
    // Tiles.
    NoFold => "there is no fold",
    SeveralFolds => "there are several folds",
    NestedFolds => "the fold has folds inside",
    FoldBranches => "the fold has branches that load",
    VaryingNeutral => "the neutral element varies",
    VaryingBounds => "the bounds of the fold vary",
    SingleIndex => "the fold has a single index",
    ShortFold => "the fold is short",
    NoHome => "no result can hold accumulators",
    RareRows => "rows are used too rarely",
    RareColumns => "columns are used too rarely",
    FitsCaches => "the operands fit the caches",
    WholeProducts => "whole products are shared among threads",
    NothingTwice => "nothing is used twice",
    WindowsOverlap => "windows overlap",
    ManyValues => "too many values vary over one axis",
    LoadOverBoth => "a load varies over both axes",
    // The memory of a result, and what comes behind.
    MayFault => "its body may fault",
    StoresSome => "the loop behind it does not write every element before anything reads it",
    OthersRead => "other partitions read the array that they make longer",
    UsedAgain => "the array is used again",
    LateIndex => "the index of an update is computed behind it",
    FaultsBetween => "something between it and the updates may fault",
    RowsApart => "its results are not put into one array, one after the other",
    ReadsElsewhere => "its body reads other places of the array",
    NothingJoins => "no with-loop beside it computes elements of its totals from their own index alone",
    // Devices.
    InsideAnother => "it is inside another with-loop",
    WidthsOrRank => "its generator has widths or an unknown rank",
    PartOfAnother => "a result is part of another array or a handle",
    LateShape => "only the run knows the shape of a result",
    LateChecks => "its body has checks that cannot be made before",
    HostOperation => "its body contains an operation of the host",
    InnerNoFold => "a with-loop in its body is no plain fold",
    InnerWidthsOrRank => "a with-loop in its body has widths or an unknown rank",
    FoldsInOrder => "it folds in order",
    ReadsNoRows => "its folds read no rows",
    // Groups of work-items.
    VaryingCells => "its cells have no constant shape",
    VaryingArrays => "its body makes an array whose shape is not constant",
    CarriedMoves => "a loop moves one carried array to another",
    GroupChecks => "its body has checks that are not proven",
    GroupArrays => "its body makes arrays in a way that groups cannot",
    GroupFold => "it folds in a way that groups cannot",
    GroupOperator => "an operator that groups cannot run",
    InnerArrayCells => "a with-loop in its body has cells that are arrays, or folds some",
    InnerArrays => "a with-loop in its body makes arrays for each cell",
    // Tiles on a device.
    ManyResults => "the fold has too many results",
    FoldLoops => "the fold has loops inside",
    ManyShared => "too much is shared by the cells of a tile",
    LoadOverAll => "a load varies over all axes of a tile",
    BranchOverAll => "a branch varies over all axes of a tile",
    NoCells => "there is nothing to compute",
    RareOperands => "its operands are used too rarely for tiles",
}
