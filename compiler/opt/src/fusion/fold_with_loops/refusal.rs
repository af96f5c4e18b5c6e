//! Why with-loops are not folded, and how that is said.

use ravel_wir::Inst;

/// Why a producer is left alone.
#[derive(Debug, PartialEq)]
pub enum Refusal {
    Effects,
    ArrayCells,
    DynamicFrame,
    PartialSelections,
    /// These selections may fall in several partitions.
    UndecidedPartition(Vec<Inst>),
    /// The array is needed as a whole as well, and these selections may fall in several partitions.
    Kept,
    /// It takes the place of an array that nobody else has.
    InPlace,
    /// Reads per element, and the cost of one.
    TooCostly(f64, f64),
    /// Another result needs the same work, of this cost, somewhere else.
    Shared(f64),
    /// Its cells run in tiles, unless they end in a fold.
    Tiles,
    /// A loop reads its elements one after the other.
    InLoop,
    /// A loop reads its elements, which need arrays that may be replaced meanwhile.
    Replaced,
}

impl Refusal {
    pub fn text(&self) -> String {
        match self {
            Refusal::Effects => "its cells have effects, or checks that could not be proven".to_string(),
            Refusal::ArrayCells => "its cells are arrays that something else makes".to_string(),
            Refusal::InLoop => {
                "a loop reads its elements one by one: computing them before it, in lanes, is cheaper".to_string()
            }
            Refusal::Replaced => {
                "a loop reads its elements, and an array that they need might be changed in place meanwhile".to_string()
            }
            Refusal::Tiles => {
                "its cells are sums of products, which run in tiles as long as a fold does not take them in".to_string()
            }
            Refusal::PartialSelections => "it is only used in pieces larger than its cells".to_string(),
            Refusal::DynamicFrame => "it has no frame of known rank".to_string(),
            Refusal::UndecidedPartition(_) => "a consumer's index may fall in several partitions of it".to_string(),
            Refusal::Kept => {
                "it is needed as a whole, too, and its consumers would have to be split where its partitions meet"
                    .to_string()
            }
            Refusal::InPlace => {
                "it replaces elements of an array in place: its consumers would need the array as it was, and so a copy"
                    .to_string()
            }
            Refusal::Shared(cost) => {
                format!(
                    "another of its results needs {cost:.0} operations of each cell, too, and would make them again"
                )
            }
            Refusal::TooCostly(reads, cost) if reads.is_finite() => {
                format!(
                    "what uses it would compute each cell {reads:.1} times, at {cost:.0} operations: storing it is cheaper"
                )
            }
            Refusal::TooCostly(_, cost) => {
                format!(
                    "what uses it would compute each cell an unknown number of times, at {cost:.0} operations: storing it is cheaper"
                )
            }
        }
    }
}
