//! What can go on a name that is being typed at the prompt.
//!
//! Names are those that an editor is offered as well, from the facts of the session's program; here variables have values. Inside of a call
//! come first what fits its next parameter.

use super::source::ROOT;
use super::value::Value;
use super::{Session, USED, show};
use crate::complete::{self, CandidateKind, Scope};
use crate::facts::Gathered;
use crate::files::library_sources;
use crate::pipeline::Compilation;
use ravel_core::RootSource;
use ravel_core::ir::Program;
use ravel_source::SourceMap;
use ravel_specialize::fits::Fit;
use ravel_specialize::value::Kind;
use std::collections::HashMap;
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

/// What names mean in the session's program.
pub(super) struct Known {
    /// How many inputs had been accepted as definitions by then.
    accepted: usize,
    pub(super) program: Program,
    pub(super) names: ravel_core::Facts,
    pub(super) map: SourceMap,
}

impl Known {
    pub(super) fn new(accepted: usize, program: Program, names: ravel_core::Facts, map: SourceMap) -> Known {
        Known { accepted, program, names, map }
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
        } else {
            self.names(before, begun.is_empty())
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

    /// What the last argument of a call or the last name of a text can be, best first.
    fn names(&mut self, before: &str, is_empty: bool) -> Vec<Candidate> {
        // Everything is no help.
        if is_empty && !before.trim_end().ends_with(['(', ',']) {
            return Vec::new();
        }
        self.refresh();
        let mut arguments: Vec<(String, Option<Kind>)> = Vec::new();
        for text in complete::arguments(before) {
            if !self.variables.contains_key(&text) {
                let kind = self.expression_kind(&text);
                arguments.push((text, kind));
            }
        }
        let Some(known) = &self.known else { return Vec::new() };
        let kind = |value: &Value| value.kind(&known.program);
        let variables: Vec<(String, Option<Kind>)> =
            self.variables.iter().map(|(name, value)| (name.clone(), kind(value))).chain(arguments).collect();
        let scope = Scope {
            program: &known.program,
            defs: &known.names.defs,
            visible: &known.names.visible,
            members: &known.names.members,
            variables: &variables,
            modules: &[],
        };
        let (_, found) = complete::candidates(before, &scope);
        let is_near = |candidate: &complete::Candidate| {
            !is_empty || candidate.kind == CandidateKind::Variable || candidate.fit == Fit::Exact
        };
        let shown = |candidate: complete::Candidate| match candidate.kind {
            CandidateKind::Variable => plain(&candidate.name, &format!("{}: {}", candidate.name, candidate.detail)),
            CandidateKind::Function => {
                Candidate { text: format!("{}(", candidate.name), shown: candidate.detail.clone() }
            }
            _ => plain(&candidate.name, &candidate.name),
        };
        found.into_iter().filter(is_near).map(shown).collect()
    }

    /// Looks at the session's program again if definitions have come since.
    pub(super) fn refresh(&mut self) {
        if self.known.as_ref().is_some_and(|known| known.accepted == self.accepted) {
            return;
        }
        // The definitions were accepted: they have no errors.
        if let Some(known) = self.known_with(USED) {
            self.known = Some(known);
        }
    }

    /// The same for a session that uses these modules from the start; nothing if the program has errors with them.
    pub(super) fn known_with(&self, uses: &[&str]) -> Option<Known> {
        let mut compilation = Compilation::new(self.options.clone());
        compilation.facts = Some(Gathered::default());
        let mut loader = self.loader();
        let text = loader.program(uses, &self.chunks, "");
        let root = RootSource { name: ROOT.to_string(), text: text.into() };
        let program = compilation.core_from(root, &mut loader).ok()?;
        let names = compilation.facts.take().unwrap_or_default().names;
        Some(Known { accepted: self.accepted, program, names, map: compilation.map })
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
