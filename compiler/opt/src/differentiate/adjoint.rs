//! Adjoints as symbolic sums.
//!
//! The adjoint of a value is a list of [`Term`]s until somebody needs it as a value. A term stands for all that one read of the value, somewhere inside of
//! loops, contributes: `for x in levels: adjoint[index(x)] += value(x)`. Terms travel outward with the code that they need.

use cranelift_entity::entity_impl;
use ravel_types::HashMap;
use ravel_wir::{Generator, Region, Value};

/// A body of a loop or branch that adjoint code was added to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u32);
entity_impl!(Level, "level");

pub struct LevelData {
    /// Its instructions are copied from here; it is part of no function, or of one whose with-loop it is.
    pub region: Region,
    pub kind: LevelKind,
    /// Values that stand in arrays outside, by the parameters of the region; those of a branch stand there themselves.
    pub kept: HashMap<Value, Value>,
}

#[derive(Clone, Debug)]
pub enum LevelKind {
    /// Runs for each index, the parameters of the region.
    Part(Generator),
    /// Runs if the condition is so.
    Branch(Value, bool),
}

/// A place in an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// On the leading axes; without any the array as a whole, or a scalar.
    Known(Vec<Value>),
    /// An index vector.
    Vector(Value),
}

impl Index {
    pub fn whole() -> Index {
        Index::Known(Vec::new())
    }

    pub fn values(&self) -> &[Value] {
        match self {
            Index::Known(values) => values,
            Index::Vector(value) => std::slice::from_ref(value),
        }
    }
}

/// A contribution to an adjoint.
#[derive(Clone, Debug)]
pub struct Term {
    /// What the values below are inside of, from the outside in; they are made in the last one's region.
    pub levels: Vec<Level>,
    pub index: Index,
    /// An element or cell.
    pub value: Value,
    /// It counts only if this holds.
    pub guard: Option<Value>,
}

impl Term {
    pub fn here(value: Value) -> Term {
        Term { levels: Vec::new(), index: Index::whole(), value, guard: None }
    }

    /// Everything that it consists of at its innermost level.
    pub fn needs(&self) -> Vec<Value> {
        self.index.values().iter().copied().chain([self.value]).chain(self.guard).collect()
    }
}

/// The adjoints of values, as far as they are known.
#[derive(Default)]
pub struct Adjoints {
    terms: HashMap<Value, Vec<Term>>,
    /// In the order in which they came.
    order: Vec<Value>,
}

impl Adjoints {
    pub fn add(&mut self, to: Value, term: Term) {
        let terms = self.terms.entry(to).or_default();
        if terms.is_empty() {
            self.order.push(to);
        }
        terms.push(term);
    }

    pub fn take(&mut self, of: Value) -> Vec<Term> {
        self.terms.remove(&of).unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn has(&self, v: Value) -> bool {
        self.terms.contains_key(&v)
    }

    /// All that are left.
    pub fn rest(mut self) -> Vec<(Value, Vec<Term>)> {
        let mut rest = Vec::new();
        for v in std::mem::take(&mut self.order) {
            let terms = self.take(v);
            if !terms.is_empty() {
                rest.push((v, terms));
            }
        }
        rest
    }
}
