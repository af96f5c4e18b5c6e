//! Symbol tables: what a module has, what it offers, and what `use`, `import`, `export` and `provide` do to them.

use ravel_syntax::ast::{Ident, SymbolSet, Text};
use ravel_types::HashMap;
use std::sync::Arc;

/// A definition in some file: index into the list of all definitions. Re-export keeps it, so equal ids are one original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefId(pub u32);

/// Everything that one name means. A name may stand for symbols of several kinds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    pub functions: Vec<DefId>,
    /// Typedefs and classes.
    pub types: Vec<DefId>,
    pub structs: Vec<DefId>,
    pub objects: Vec<DefId>,
}

impl Entry {
    /// Symbols of every kind.
    pub fn all(&self) -> impl Iterator<Item = DefId> {
        [&self.functions, &self.types, &self.structs, &self.objects].into_iter().flatten().copied()
    }

    /// Adds what `other` has; a definition that arrives by two routes is one.
    pub fn merge(&mut self, other: &Entry) {
        fn add(into: &mut Vec<DefId>, from: &[DefId]) {
            for def in from {
                if !into.contains(def) {
                    into.push(*def);
                }
            }
        }
        add(&mut self.functions, &other.functions);
        add(&mut self.types, &other.types);
        add(&mut self.structs, &other.structs);
        add(&mut self.objects, &other.objects);
    }
}

/// Names with their meanings.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: HashMap<Text, Arc<Entry>>,
}

impl Table {
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name).map(|entry| &**entry)
    }

    pub fn names(&self) -> impl Iterator<Item = &Text> {
        self.entries.keys()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name, &**entry))
    }

    /// The entry of a name, made if absent, for adding one definition.
    pub fn entry(&mut self, name: &Text) -> &mut Entry {
        Arc::make_mut(self.entries.entry(name.clone()).or_default())
    }

    /// Adds the names that `wanted` accepts.
    pub fn merge_from(&mut self, other: &Table, wanted: impl Fn(&str) -> bool) {
        for (name, entry) in &other.entries {
            if !wanted(name) {
                continue;
            }
            match self.entries.get_mut(name) {
                None => {
                    self.entries.insert(name.clone(), entry.clone());
                }
                Some(mine) if Arc::ptr_eq(mine, entry) => {}
                Some(mine) => Arc::make_mut(mine).merge(entry),
            }
        }
    }
}

/// A symbol set in a form that answers quickly.
pub enum Selection<'a> {
    All,
    Except(HashMap<&'a str, ()>),
    Only(HashMap<&'a str, ()>),
}

impl<'a> Selection<'a> {
    pub fn new(set: &'a SymbolSet) -> Selection<'a> {
        let names = |list: &'a [Ident]| list.iter().map(|ident| (&*ident.name, ())).collect();
        match set {
            SymbolSet::All => Selection::All,
            SymbolSet::AllExcept(list) => Selection::Except(names(list)),
            SymbolSet::Some(list) => Selection::Only(names(list)),
        }
    }

    pub fn has(&self, name: &str) -> bool {
        match self {
            Selection::All => true,
            Selection::Except(names) => !names.contains_key(name),
            Selection::Only(names) => names.contains_key(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_definition_over_two_routes_stays_one() {
        let name: Text = "print".into();
        let mut scalars = Table::default();
        scalars.entry(&name).functions.push(DefId(1));
        let mut both = scalars.clone();
        both.entry(&name).functions.push(DefId(2));
        let mut merged = Table::default();
        merged.merge_from(&scalars, |_| true);
        merged.merge_from(&both, |_| true);
        assert_eq!(merged.get("print").map(|e| e.functions.clone()), Some(vec![DefId(1), DefId(2)]));
    }
}
