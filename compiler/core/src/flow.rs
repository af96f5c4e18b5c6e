//! Which slots have a value at a point of a function body.

use crate::ir::LocalId;

/// A set of slots.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bits(Vec<u64>);

impl Bits {
    fn has(&self, slot: LocalId) -> bool {
        self.0.get(slot.index() / 64).is_some_and(|word| word >> (slot.index() % 64) & 1 == 1)
    }

    fn set(&mut self, slot: LocalId, value: bool) {
        let word = slot.index() / 64;
        if self.0.len() <= word {
            if !value {
                return;
            }
            self.0.resize(word + 1, 0);
        }
        let bit = 1 << (slot.index() % 64);
        if value {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    fn intersect(&mut self, other: &Bits) {
        self.0.truncate(other.0.len());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine &= theirs;
        }
    }

    fn unite(&mut self, other: &Bits) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }
}

/// What is known at one point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    assigned: Bits,
    /// Slots of a with-loop part that may still hold what the variable outside holds.
    inherited: Bits,
}

impl Flow {
    /// Whether every path to this point assigned the slot.
    pub(crate) fn is_assigned(&self, slot: LocalId) -> bool {
        self.assigned.has(slot)
    }

    /// Whether the slot may hold the value that its part started with.
    pub(crate) fn is_inherited(&self, slot: LocalId) -> bool {
        self.inherited.has(slot)
    }

    pub(crate) fn assign(&mut self, slot: LocalId) {
        self.assigned.set(slot, true);
        self.inherited.set(slot, false);
    }

    /// The slot starts with the value of a variable outside.
    pub(crate) fn inherit(&mut self, slot: LocalId) {
        self.assigned.set(slot, true);
        self.inherited.set(slot, true);
    }

    /// The point where two paths meet.
    pub(crate) fn join(mut self, other: &Flow) -> Flow {
        self.assigned.intersect(&other.assigned);
        self.inherited.unite(&other.inherited);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_keeps_what_both_paths_assign() {
        let mut left = Flow::default();
        left.assign(LocalId(1));
        left.assign(LocalId(70));
        let mut right = Flow::default();
        right.inherit(LocalId(1));
        let joined = left.join(&right);
        assert!(joined.is_assigned(LocalId(1)) && joined.is_inherited(LocalId(1)));
        assert!(!joined.is_assigned(LocalId(70)));
    }
}
