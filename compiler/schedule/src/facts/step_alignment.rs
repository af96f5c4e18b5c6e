//! What is known of the indices at which the steps of a kernel begin.

/// What is known of the first indices of the steps along an axis: `start`, `start + grain` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    /// The first of them, if constant.
    pub start: Option<i64>,
    /// A number that their differences are multiples of; positive.
    pub grain: i64,
    /// How many there are, if constant; they are then `grain` apart.
    pub trips: Option<i64>,
}

impl Walk {
    /// Nothing is known.
    pub const ANY: Walk = Walk { start: None, grain: 1, trips: None };

    /// The remainder that all indices leave, not negative.
    pub fn residue(self, modulus: i64) -> Option<i64> {
        let same = self.trips == Some(1) || self.grain % modulus == 0;
        self.start.filter(|_| same).map(|start| start.rem_euclid(modulus))
    }
}

impl Default for Walk {
    fn default() -> Walk {
        Walk::ANY
    }
}
