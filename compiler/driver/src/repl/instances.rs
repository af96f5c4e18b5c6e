//! Which instances the functions of a session have for callers outside of it.

use super::call::Instance;
use ravel_runtime::abi::ElemTag;
use std::collections::HashMap;
use std::sync::Arc;

/// So many combinations of shapes get instances of their own, for each combination of element types and ranks.
pub const OWN_INSTANCES: usize = 8;

/// What is known of an argument before the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// One element of a type that machines have.
    Scalar(ElemTag),
    /// A number of a language that has fewer types: it takes that of the parameter.
    Number(Number),
    Array(ElemTag, Vec<i64>),
    /// A string.
    Text,
}

/// What a number can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    Truth,
    /// Within the range of `int`.
    Whole,
    /// Within that of `long`.
    Long,
    Real,
}

/// Element type and rank of an argument: what every instance of a group has in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Class {
    Scalar(ElemTag),
    Number(Number),
    Array(ElemTag, usize),
    Text,
}

/// The instances of all functions.
#[derive(Default)]
pub struct Instances {
    functions: HashMap<String, HashMap<Vec<Class>, Group>>,
}

#[derive(Default)]
struct Group {
    own: HashMap<Vec<i64>, Arc<Instance>>,
    /// For every shape of these ranks.
    shared: Option<Arc<Instance>>,
}

fn classes(arguments: &[Argument]) -> Vec<Class> {
    let class = |argument: &Argument| match argument {
        Argument::Scalar(elem) => Class::Scalar(*elem),
        Argument::Number(number) => Class::Number(*number),
        Argument::Array(elem, shape) => Class::Array(*elem, shape.len()),
        Argument::Text => Class::Text,
    };
    arguments.iter().map(class).collect()
}

/// All extents; the ranks are known.
fn extents(arguments: &[Argument]) -> Vec<i64> {
    let shape = |argument: &Argument| match argument {
        Argument::Array(_, shape) => shape.clone(),
        _ => Vec::new(),
    };
    arguments.iter().flat_map(shape).collect()
}

impl Instances {
    /// The instance that takes these arguments, if it was made.
    pub fn find(&self, function: &str, arguments: &[Argument]) -> Option<Arc<Instance>> {
        let group = self.functions.get(function)?.get(&classes(arguments))?;
        match group.own.get(&extents(arguments)) {
            Some(own) => Some(own.clone()),
            None => group.shared.clone().filter(|_| group.own.len() >= OWN_INSTANCES),
        }
    }

    /// Whether shapes like these still get an instance of their own.
    pub(super) fn takes_own(&self, function: &str, arguments: &[Argument]) -> bool {
        let group = self.functions.get(function).and_then(|groups| groups.get(&classes(arguments)));
        group.is_none_or(|group| group.own.len() < OWN_INSTANCES)
    }

    pub(super) fn insert(&mut self, function: &str, arguments: &[Argument], instance: Arc<Instance>, is_own: bool) {
        let groups = self.functions.entry(function.to_string()).or_default();
        let group = groups.entry(classes(arguments)).or_default();
        match is_own {
            true => drop(group.own.insert(extents(arguments), instance)),
            false => group.shared = Some(instance),
        }
    }

    /// The signatures of a function's instances, sorted.
    pub fn signatures(&self, function: &str) -> Vec<String> {
        let groups = self.functions.get(function).into_iter().flat_map(HashMap::values);
        let all = groups.flat_map(|group| group.own.values().chain(&group.shared));
        let mut signatures: Vec<String> = all.map(|instance| instance.signature.clone()).collect();
        signatures.sort();
        signatures
    }

    /// A definition has changed: none of them is good any longer.
    pub fn clear(&mut self) {
        self.functions.clear();
    }
}
