//! Finds functions by name or by shape, and writes the index by which the pages do the same.

use super::unify::Query;
use super::{Entry, Head, Module};
use std::fmt::Write;

/// Something that was found.
pub struct Hit {
    pub name: String,
    pub module: String,
    /// As it is written in SaC.
    pub head: String,
    /// As pages draw it; empty where there is nothing to draw.
    pub drawn: String,
    pub about: String,
    pub native: bool,
    /// How far it is from what was looked for; 0 is exact.
    pub cost: u32,
}

/// A name between definitions that share a comment: what the search finds.
struct Item<'a> {
    module: &'a Module,
    entry: &'a Entry,
    name: &'a str,
}

/// What fits a name, a part of one, a name of another library, or a shape `float[n,n] -> float`; the best first.
///
/// # Errors
/// What is wrong with a shape.
pub fn search(modules: &[Module], text: &str) -> Result<Vec<Hit>, String> {
    let is_shape = text.contains("->") || text.contains('→');
    let query = match Query::parse(text) {
        None if is_shape => {
            return Err(format!(
                "`{text}` is no shape to look for: write types with commas between them, `->` and types, as in `float[n,n] -> float`"
            ));
        }
        query => query,
    };
    let wanted = text.trim().to_lowercase();
    let mut hits: Vec<(u32, &Head, Item)> = Vec::new();
    for item in items(modules) {
        let heads = item.heads();
        let found = match &query {
            Some(query) => {
                let members = |name: &str| item.module.members(name);
                let costs = heads.filter_map(|head| Some((query.cost(head.signature.as_ref()?, &members)?, head)));
                costs.min_by_key(|(cost, _)| *cost)
            }
            None => item.by_name(&wanted).zip(heads.into_iter().next()),
        };
        if let Some((cost, head)) = found {
            hits.push((cost, head, item));
        }
    }
    // Of equals the shorter name is the more likely one.
    hits.sort_by_key(|(cost, _, item)| (*cost, item.name.len()));
    let hits = hits.into_iter().map(|(cost, head, item)| Hit {
        name: item.name.to_string(),
        module: item.module.name.clone(),
        head: head.text.clone(),
        drawn: drawn(head),
        about: item.entry.comment.first_sentence(),
        native: head.native,
        cost,
    });
    Ok(hits.collect())
}

fn items(modules: &[Module]) -> impl Iterator<Item = Item<'_>> {
    modules.iter().flat_map(|module| {
        module.entries.iter().flat_map(move |entry| entry.names.iter().map(move |name| Item { module, entry, name }))
    })
}

impl<'a> Item<'a> {
    fn heads(&self) -> impl Iterator<Item = &'a Head> + use<'a> {
        let name = self.name;
        self.entry.heads.iter().filter(move |head| head.name == name)
    }

    /// How far a name is from what is looked for.
    fn by_name(&self, wanted: &str) -> Option<u32> {
        let name = self.name.to_lowercase();
        let likes = self.likes().to_lowercase();
        let is_like = |like: &str| like == wanted || like.rsplit('.').next() == Some(wanted);
        Some(match () {
            () if wanted.is_empty() => return None,
            () if name == wanted => 0,
            () if likes.split(", ").any(is_like) => 1,
            () if name.starts_with(wanted) => 2,
            () if name.contains(wanted) => 4,
            () if likes.contains(wanted) => 5,
            () if self.entry.comment.first_sentence().to_lowercase().contains(wanted) => 8,
            () => return None,
        })
    }

    /// What other libraries call it.
    fn likes(&self) -> String {
        let keys = self.entry.comment.keys().into_iter();
        keys.filter(|(key, _)| *key == "Like").map(|(_, text)| text).collect::<Vec<_>>().join(", ")
    }
}

/// A function with its types as pages draw them.
pub(super) fn drawn(head: &Head) -> String {
    match &head.signature {
        Some(signature) if signature.params.is_empty() => format!("{}() {signature}", head.name).trim_end().to_string(),
        Some(signature) => format!("{}: {signature}", head.name),
        None => String::new(),
    }
}

/// The index as JSON: families of the modules, and for each name its place, its types and what is said of it.
pub(super) fn json(modules: &[Module]) -> String {
    let mut out = String::from("{\"families\":{");
    let mut comma = "";
    for module in modules.iter().filter(|module| !module.families.is_empty()) {
        let of = |(name, members): &(String, Vec<String>)| format!("{}:{}", quoted(name), list(members));
        let families: Vec<String> = module.families.iter().map(of).collect();
        let _ = write!(out, "{comma}\n{}:{{{}}}", quoted(&module.name), families.join(","));
        comma = ",";
    }
    out.push_str("},\n\"names\":[");
    comma = "";
    for item in items(modules) {
        let functions = item.heads().filter_map(|head| Some((head.signature.as_ref()?.types.clone(), drawn(head))));
        let (types, drawn): (Vec<String>, Vec<String>) = functions.unzip();
        let _ = write!(
            out,
            "{comma}\n{{\"name\":{},\"module\":{},\"place\":{},\"about\":{},\"like\":{},\"native\":{},\"types\":{},\"drawn\":{}}}",
            quoted(item.name),
            quoted(&item.module.name),
            quoted(&item.entry.anchor),
            quoted(&item.entry.comment.first_sentence()),
            quoted(&item.likes()),
            item.heads().any(|head| head.native),
            list(&types),
            list(&drawn)
        );
        comma = ",";
    }
    out.push_str("\n]}\n");
    out
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(","))
}

/// A text of JSON, and of scripts: what would end one in HTML is written as a code.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '<' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
