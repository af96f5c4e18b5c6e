//! What names between backquotes mean, for links.

use super::{Entry, Module};

/// The names that a text of a page may mean.
pub struct Links<'a> {
    pub modules: &'a [Module],
    pub module: &'a Module,
    /// Whose text it is; its own names and those of its parameters are no links.
    pub entry: Option<&'a Entry>,
}

/// A part of a line.
pub enum Part<'a> {
    Text(&'a str),
    /// Between backquotes, with the module and the place there that it means.
    Code(&'a str, Option<(&'a str, &'a str)>),
}

impl<'a> Links<'a> {
    /// A line as text and code.
    pub fn parts<'b>(&self, line: &'b str) -> Vec<Part<'b>>
    where
        'a: 'b,
    {
        let mut parts = Vec::new();
        // A backquote without a partner stands for itself.
        let pairs = line.matches('`').count() / 2;
        let mut rest = line;
        for _ in 0..pairs {
            let Some((text, behind)) = rest.split_once('`') else { break };
            let Some((code, behind)) = behind.split_once('`') else { break };
            parts.push(Part::Text(text));
            parts.push(Part::Code(code, self.target(code)));
            rest = behind;
        }
        parts.push(Part::Text(rest));
        parts
    }

    /// The module and the place that a name means: one of this module, of one that it uses, or the only one that has it.
    fn target(&self, name: &str) -> Option<(&'a str, &'a str)> {
        if let Some((module, name)) = name.split_once("::") {
            return find(self.modules.iter().find(|other| other.name == module)?, name);
        }
        if let Some(entry) = self.entry {
            let params = entry.heads.iter().filter_map(|head| head.signature.as_ref()).flat_map(|s| &s.params);
            if entry.names.iter().any(|own| own == name) || params.into_iter().any(|(param, _)| param == name) {
                return None;
            }
        }
        if let Some(found) = find(self.module, name) {
            return Some(found);
        }
        if let Some(module) = self.modules.iter().find(|module| module.name == name) {
            return (module.name != self.module.name).then_some((&module.name, ""));
        }
        let near = self.modules.iter().filter(|other| {
            self.module.uses.contains(&other.name) || self.module.offers.iter().any(|(offer, _)| *offer == other.name)
        });
        if let Some(found) = near.into_iter().find_map(|module| find(module, name)) {
            return Some(found);
        }
        let mut all = self.modules.iter().filter_map(|module| find(module, name));
        all.next().filter(|_| all.next().is_none())
    }
}

/// The place of a name in a module.
fn find<'a>(module: &'a Module, name: &str) -> Option<(&'a str, &'a str)> {
    let is_word = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let entry = module.entries.iter().find(|entry| is_word && entry.names.iter().any(|own| own == name))?;
    Some((&module.name, &entry.anchor))
}
