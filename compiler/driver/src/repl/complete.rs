//! What can go on a name that is being typed at the prompt.

use super::source::Key;
use super::value::Value;
use super::{Session, USED, show};
use crate::files::library_sources;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// More are no help.
const MOST: usize = 200;
/// Heads of a function that are shown with its name.
const MOST_HEADS: usize = 1;

/// A way to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The whole name, and `(` behind that of a function.
    pub text: String,
    /// The name with its type, or a head of the function.
    pub shown: String,
}

/// Names of modules with their heads, once somebody has asked.
#[derive(Default)]
pub(super) struct Offers(HashMap<String, Vec<(String, Vec<String>)>>);

impl Offers {
    fn of(&mut self, module: &str) -> &[(String, Vec<String>)] {
        self.0.entry(module.to_string()).or_insert_with(|| crate::doc::offered(module))
    }
}

impl Session {
    /// Where the name in front of a byte of a text begins, and what could stand there instead.
    pub fn candidates(&mut self, text: &str, at: usize) -> (usize, Vec<Candidate>) {
        let before = text.get(..at).unwrap_or_default();
        let begun = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        let start = before.len() - begun.len();
        let front = &before[..start];
        let named = |name: &str| name.starts_with(begun);
        let mut found: Vec<Candidate> = if let Some(module) = front.strip_suffix("::") {
            let module = last_word(module);
            functions(self.offers.of(module).iter().filter(|(name, _)| named(name)))
        } else if let Some(variable) = front.strip_suffix('.').map(last_word).filter(|word| !word.is_empty()) {
            self.fields(variable).into_iter().filter(|candidate| named(&candidate.text)).collect()
        } else if matches!(last_word(front.trim_end()), "use" | "import") {
            modules().filter(|name| named(name)).map(|name| plain(&format!("{name}: all;"), name)).collect()
        } else if begun.is_empty() {
            Vec::new()
        } else {
            self.names(begun)
        };
        found.truncate(MOST);
        (start, found)
    }

    fn fields(&self, variable: &str) -> Vec<Candidate> {
        match self.variables.get(variable) {
            Some(Value::Record { fields, .. }) => {
                let shown = |name: &str, value: &Value| format!("{name}: {}", show::type_name(value));
                fields.iter().map(|field| plain(&field.name, &shown(&field.name, &field.value))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Variables first, then what was defined here, then what modules in use have.
    fn names(&mut self, begun: &str) -> Vec<Candidate> {
        let named = |name: &str| name.starts_with(begun);
        let variables = self.variables.iter().filter(|(name, _)| named(name));
        let mut found: Vec<Candidate> =
            variables.map(|(name, value)| plain(name, &format!("{name}: {}", show::type_name(value)))).collect();
        let mut own: BTreeMap<String, Candidate> = BTreeMap::new();
        for key in self.chunks.iter().flat_map(|chunk| chunk.keys()) {
            match key {
                Key::Function { name, params } if named(name) => {
                    let shown = format!("{name}({})", params.join(", "));
                    own.entry(name.clone()).or_insert(Candidate { text: format!("{name}("), shown });
                }
                Key::Type(name) | Key::Object(name) if named(name) => {
                    own.entry(name.clone()).or_insert_with(|| plain(name, name));
                }
                _ => {}
            }
        }
        let loaded = self.chunks.iter().flat_map(|chunk| chunk.loaded_modules());
        let mut modules: Vec<String> = loaded.chain(USED.iter().map(|name| name.to_string())).collect();
        modules.sort_unstable();
        modules.dedup();
        let mut library: BTreeMap<String, Candidate> = BTreeMap::new();
        for module in modules {
            for candidate in functions(self.offers.of(&module).iter().filter(|(name, _)| named(name))) {
                library.entry(candidate.text.clone()).or_insert(candidate);
            }
        }
        library.retain(|text, _| !own.contains_key(text.trim_end_matches('(')));
        found.extend(own.into_values().chain(library.into_values()));
        if found.is_empty() {
            found.extend(ravel_syntax::keywords().filter(|word| named(word)).map(|word| plain(word, word)));
        }
        found
    }
}

fn last_word(text: &str) -> &str {
    text.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default()
}

fn plain(text: &str, shown: &str) -> Candidate {
    Candidate { text: text.to_string(), shown: shown.to_string() }
}

/// Functions with a head, and how many others there are.
fn functions<'o>(offered: impl Iterator<Item = &'o (String, Vec<String>)>) -> Vec<Candidate> {
    let candidate = |(name, heads): &(String, Vec<String>)| {
        let is_function = heads.iter().any(|head| head.contains(&format!("{name}(")));
        let more = heads.len().saturating_sub(MOST_HEADS);
        let more = if more > 0 { format!("  and {more} more") } else { String::new() };
        let shown = format!("{}{more}", heads.first().unwrap_or(name));
        Candidate { text: if is_function { format!("{name}(") } else { name.clone() }, shown }
    };
    offered.filter(|(name, _)| name.starts_with(|c: char| c.is_ascii_alphabetic())).map(candidate).collect()
}

/// Modules of the library.
fn modules() -> impl Iterator<Item = &'static str> {
    library_sources().filter_map(|(file, _)| Path::new(file).file_stem()?.to_str())
}
