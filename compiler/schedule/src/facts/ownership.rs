//! Which references the regions under construction hold, and who else holds one. What the rules are is said in [`crate::memory`].

use std::collections::{BTreeMap, BTreeSet};

use ravel_types::{Elem, HashSet};
use ravel_wir::traverse::walk;
use ravel_wir::{Combine, Func, Op, Region, Value, With, WithOp};

use crate::facts::Facts;

/// A region under construction.
pub(crate) struct Scope {
    pub region: Region,
    /// Position of the instruction at work; the number of instructions at the yields.
    pub position: usize,
    /// Values the region holds a reference of.
    pub owned: BTreeSet<Value>,
    /// How often the instruction at work still names each operand.
    pub pending: BTreeMap<Value, u32>,
    /// Values to forget when the region ends.
    pub bound: Vec<Value>,
}

impl Scope {
    pub fn new(region: Region) -> Scope {
        Scope { region, position: 0, owned: BTreeSet::new(), pending: BTreeMap::new(), bound: Vec::new() }
    }
}

/// Who holds references of arrays.
#[derive(Default)]
pub(crate) struct References {
    /// Arrays that certainly have one reference.
    pub fresh: HashSet<Value>,
    /// Objects that the caller holds, or that are held outside of the with-loop at work under another name ([`crate::memory::borrowed`]).
    pub borrowed: HashSet<Value>,
    /// Bodies of with-loops and functions of folds.
    pub borrowing: HashSet<Region>,
    /// Parameters of the bodies of loops.
    pub carried: HashSet<Value>,
    /// Bodies of loops and branches, whose yields go on.
    pub handing: HashSet<Region>,
    /// Arrays that launches of groups made: they may be on the device alone.
    pub on_device: HashSet<Value>,
}

impl Facts<'_> {
    /// Is the value a counted object (and not a machine scalar)?
    pub fn is_object(&self, v: Value) -> bool {
        let ty = self.func.ty(v);
        !ty.is_scalar() || ty.elem == Elem::Handle
    }

    /// Whether the current region owns `v` and the operand at hand is its only remaining use.
    pub fn is_last_use(&self, v: Value) -> bool {
        let scope = self.scopes.last().expect("code is built inside a region");
        scope.owned.contains(&v)
            && self.live.last_use(scope.region, v) == Some(scope.position)
            && scope.pending.get(&v) == Some(&1)
    }

    /// Does the region own `v`, and does the with-loop at work use it last, in the bodies of its partitions alone?
    pub fn dies_in(&self, with: &With, v: Value) -> bool {
        let Some(scope) = self.scopes.last() else { return false };
        let captures = with.parts.iter().filter(|part| self.live.free(part.body).contains(&v)).count();
        scope.owned.contains(&v)
            && self.live.last_use(scope.region, v) == Some(scope.position)
            && scope.pending.get(&v).is_some_and(|uses| *uses as usize == captures)
    }

    /// The same of the array that a modarray changes.
    pub fn dies_in_update(&self, with: &With, v: Value) -> bool {
        let Some(scope) = self.scopes.last() else { return false };
        let captures = with.parts.iter().filter(|part| self.live.free(part.body).contains(&v)).count();
        captures > 0
            && scope.owned.contains(&v)
            && self.live.last_use(scope.region, v) == Some(scope.position)
            && scope.pending.get(&v).is_some_and(|uses| *uses as usize == captures + 1)
    }

    /// Does the region own `v`, and does its instruction at a position use it last?
    pub fn dies_at(&self, v: Value, position: usize) -> bool {
        let Some(scope) = self.scopes.last() else { return false };
        scope.owned.contains(&v) && self.live.last_use(scope.region, v) == Some(position)
    }

    /// Is the object of a value held outside of the innermost body of a with-loop, or by the caller?
    pub fn is_borrowed(&self, v: Value) -> bool {
        if self.references.borrowed.contains(&v) {
            return true;
        }
        let body = self.scopes.iter().rposition(|scope| self.references.borrowing.contains(&scope.region));
        let owner = self.scopes.iter().position(|scope| scope.owned.contains(&v));
        body.zip(owner).is_some_and(|(body, owner)| owner < body)
    }
}

/// The regions that borrow what they capture, and run with it from begin to end.
pub(crate) fn borrowing_regions(func: &Func) -> HashSet<Region> {
    let mut found = HashSet::default();
    walk(func, func.body, &mut |_, inst| {
        if let Op::With(with) = &func.insts[inst].op {
            found.extend(with.parts.iter().map(|part| part.body));
            found.extend(with.ops.iter().filter_map(|op| match op {
                WithOp::Fold { combine: Combine::Region(region), .. } => Some(*region),
                _ => None,
            }));
        }
    });
    found
}
