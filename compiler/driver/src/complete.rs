//! What can be written at a place: names in scope, those that fit an argument first, and the heads of the function that is being called.
//!
//! This works on text, which need not parse, and on what is known of names: an editor takes that from the facts of the last check, a prompt
//! from its session.

use ravel_core::facts::{Def, DefKind, Visible};
use ravel_core::ir::{ElemTy, Fun, Program, StructId, TypePat};
use ravel_specialize::fits::{Bindings, Fit, bind_value, fits, shown};
use ravel_specialize::value::{Kind, ScKind, ShapeKind};
use ravel_specialize::{shape_of, show_kind};
use ravel_syntax::ast::Text;
use ravel_types::{Affine, Basic, Scalar};
use std::collections::BTreeMap;
use std::ops::Range;

/// Names at a place, and what they stand for.
pub struct Scope<'s> {
    pub program: &'s Program,
    pub defs: &'s [Def],
    pub visible: &'s [Visible],
    /// What modules offer: module, name, definition.
    pub members: &'s [(Text, Text, u32)],
    /// What is no name among them is an expression that the text has: its kind counts, but nobody writes it again.
    pub variables: &'s [(String, Option<Kind>)],
    /// All modules that could be used.
    pub modules: &'s [String],
}

/// Something to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub name: String,
    pub kind: CandidateKind,
    /// Its type or head.
    pub detail: String,
    pub fit: Fit,
    /// The first definition behind it.
    pub def: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CandidateKind {
    Field,
    Variable,
    Function,
    Object,
    Type,
    Module,
    Keyword,
}

/// A head of the function that is being called.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    pub label: String,
    /// Where each parameter stands in the label.
    pub parameters: Vec<Range<usize>>,
    /// What the arguments so far say of its names.
    pub bound: String,
    pub fit: Fit,
    pub def: u32,
}

/// The arguments in front of the last one, of the innermost call that a text leaves open.
pub fn arguments(text: &str) -> Vec<String> {
    call(&plain(text)).map_or(Vec::new(), |call| call.before.into_iter().map(String::from).collect())
}

/// A call that is being written.
struct Call<'t> {
    function: &'t str,
    /// The arguments before the present one.
    before: Vec<&'t str>,
}

/// The name that ends at a place; it may be empty.
fn word(text: &str) -> &str {
    let start = text.char_indices().rev().take_while(|(_, c)| c.is_alphanumeric() || *c == '_').last();
    start.map_or("", |(at, _)| &text[at..])
}

/// The text without comments and what stands in quotes, each byte in its place.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = match c {
            '"' => rest[1..].find(['"', '\n']).map_or(rest.len(), |at| at + 2),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            _ => 0,
        };
        if skip == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let skip = skip.min(rest.len());
        out.extend(rest.as_bytes()[..skip].iter().map(|byte| if *byte == b'\n' { '\n' } else { ' ' }));
        rest = &rest[skip..];
    }
    out
}

/// The innermost call around the end of a text.
fn call(text: &str) -> Option<Call<'_>> {
    let mut depth = 0_usize;
    let mut commas = Vec::new();
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            ';' | '{' | '}' if depth == 0 => return None,
            ',' if depth == 0 => commas.push(at),
            '[' if depth == 0 => commas.clear(),
            '(' if depth == 0 => {
                let function = word(text[..at].trim_end());
                if function.is_empty() || ["if", "while", "for", "return", "with"].contains(&function) {
                    commas.clear();
                    continue;
                }
                let mut starts = vec![at];
                starts.extend(commas.iter().rev());
                let before = starts.windows(2).map(|pair| text[pair[0] + 1..pair[1]].trim()).collect();
                return Some(Call { function, before });
            }
            '(' | '[' => depth -= 1,
            _ => {}
        }
    }
    None
}

impl Scope<'_> {
    /// What an argument is, if that can be told from its text: a variable, a number, a vector of numbers.
    fn kind_of(&self, text: &str) -> Kind {
        if let Some((_, Some(kind))) = self.variables.iter().find(|(name, _)| name == text) {
            return kind.clone();
        }
        if let Some(kind) = number(text) {
            return kind;
        }
        let elements = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let Some(elements) = elements.filter(|text| !text.contains(['[', '('])) else { return Kind::Bottom };
        let kinds: Vec<Kind> = elements.split(',').map(|element| self.kind_of(element.trim())).collect();
        match kinds.first() {
            Some(Kind::Sc(basic, _))
                if kinds.iter().all(|kind| matches!(kind, Kind::Sc(other, _) if other == basic)) =>
            {
                let length = i32::try_from(kinds.len()).unwrap_or(i32::MAX);
                Kind::Arr(*basic, ShapeKind::Known(vec![Some(Affine::constant(length))]))
            }
            _ => Kind::Bottom,
        }
    }

    /// The functions of a name that take as many arguments as there are, with what these bind.
    fn heads(&self, call: &Call<'_>) -> Vec<(&Visible, &Fun, Bindings, Fit)> {
        let kinds: Vec<Kind> = call.before.iter().map(|text| self.kind_of(text)).collect();
        let named = self.visible.iter().filter(|visible| &*visible.name == call.function);
        let heads = named.filter_map(|visible| {
            let head = visible.head.as_ref()?;
            if head.params.len() < kinds.len() && !head.variadic_params {
                return None;
            }
            let mut bindings = Bindings::default();
            let mut all = Fit::Exact;
            for (at, kind) in kinds.iter().enumerate() {
                bind_value(head, at, kind, &mut bindings);
                all = all.max(fits(self.program, head, at, kind, &mut bindings));
            }
            Some((visible, head, bindings, all))
        });
        heads.collect()
    }

    /// How well a value would be the present argument.
    fn best(&self, heads: &[(&Visible, &Fun, Bindings, Fit)], at: usize, kind: &Kind) -> Fit {
        let one = |(_, head, bindings, before): &(&Visible, &Fun, Bindings, Fit)| {
            fits(self.program, head, at, kind, &mut bindings.clone()).max(*before)
        };
        heads.iter().map(one).min().unwrap_or(Fit::Exact)
    }
}

/// The kind of a number as it is written.
fn number(text: &str) -> Option<Kind> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Ok(value) = text.parse::<i32>() {
        return Some(Kind::Sc(Basic::Int, ScKind::Const(Scalar::I32(value))));
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse::<f64>().ok()?;
    let basic = match &text[digits.len()..] {
        "" | "d" => Basic::Double,
        "f" => Basic::Float,
        suffix => Basic::ALL.into_iter().find(|basic| basic.suffix() == Some(suffix))?,
    };
    Some(Kind::Sc(basic, ScKind::Any))
}

/// The kind of what a function gives, as far as its head says.
fn result(head: &Fun) -> Kind {
    head.results.first().map_or(Kind::Bottom, of_type)
}

fn of_type(ty: &TypePat) -> Kind {
    match (ty.elem, shape_of(&ty.dims)) {
        (ElemTy::Basic(basic), shape) if shape.rank() == Some(0) => Kind::Sc(basic, ScKind::Any),
        (ElemTy::Basic(basic), shape) => Kind::Arr(basic, shape),
        (ElemTy::User(user), _) if ty.dims.is_empty() => Kind::Handle(user),
        (ElemTy::Struct(record), _) if ty.dims.is_empty() => Kind::Struct(record, Vec::new()),
        _ => Kind::Bottom,
    }
}

/// What can stand at the end of a text, best first, and how many of its last bytes that replaces.
pub fn candidates(text: &str, scope: &Scope<'_>) -> (usize, Vec<Candidate>) {
    let bare = plain(text);
    let prefix = word(&bare);
    let before = bare[..bare.len() - prefix.len()].trim_end();
    let line = before.rsplit(['\n', ';']).next().unwrap_or_default().trim();
    let mut found = if matches!(line, "use" | "import") {
        let modules = scope.modules.iter();
        modules.map(|name| plain_candidate(name, CandidateKind::Module, "")).collect()
    } else if let Some(module) = before.strip_suffix("::").map(word) {
        members(scope, module)
    } else if let Some(record) = before.strip_suffix('.').map(chain).filter(|record| !record.is_empty()) {
        fields(scope, record)
    } else {
        names(scope, call(before))
    };
    let wanted = prefix.to_lowercase();
    found.retain(|candidate| candidate.name.to_lowercase().starts_with(&wanted));
    let rank = |candidate: &Candidate| {
        let is_near = candidate.name.starts_with(prefix);
        (candidate.fit, candidate.kind, !is_near, candidate.name.clone())
    };
    found.sort_by_cached_key(rank);
    (prefix.len(), found)
}

fn plain_candidate(name: &str, kind: CandidateKind, detail: &str) -> Candidate {
    Candidate { name: name.to_string(), kind, detail: detail.to_string(), fit: Fit::Exact, def: None }
}

/// What a module offers, of what can be seen.
fn members(scope: &Scope<'_>, module: &str) -> Vec<Candidate> {
    let members = scope.members.iter().filter(|(of, ..)| &**of == module);
    let members: Vec<Visible> =
        members.map(|(_, name, def)| Visible { name: name.clone(), def: *def, head: None }).collect();
    grouped(scope, members.iter(), &|_| Fit::Exact)
}

/// The fields of what an expression gives, each with what is known of it.
fn fields(scope: &Scope<'_>, expression: &str) -> Vec<Candidate> {
    let Some((id, kinds)) = record(scope, expression) else { return Vec::new() };
    let Some(record) = scope.program.structs.get(id.index()) else { return Vec::new() };
    let fields = record.fields.iter().enumerate().map(|(at, field)| {
        let kind = kinds.as_ref().and_then(|kinds| kinds.get(at).cloned()).unwrap_or_else(|| of_type(&field.ty));
        plain_candidate(&field.name, CandidateKind::Field, &show_kind(scope.program, &kind))
    });
    fields.collect()
}

/// The record that an expression like `a.b[i].c` or `f(x).y` gives, and the kinds of its fields, if they are known.
fn record(scope: &Scope<'_>, expression: &str) -> Option<(StructId, Option<Vec<Kind>>)> {
    let end = expression.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(expression.len());
    let (name, mut rest) = expression.split_at(end);
    let mut found = match scope.kind_of(name) {
        Kind::Struct(id, kinds) => (id, Some(kinds)),
        _ if rest.trim_start().starts_with('(') => {
            let heads = scope.visible.iter().filter(|visible| &*visible.name == name);
            let result = |visible: &Visible| visible.head.as_ref()?.results.first().map(|ty| ty.elem);
            let id = heads.filter_map(result).find_map(|elem| match elem {
                ElemTy::Struct(id) => Some(id),
                _ => None,
            })?;
            (id, None)
        }
        _ => return None,
    };
    loop {
        rest = rest.trim_start();
        match rest.chars().next() {
            None => return Some(found),
            // An element of an array of records has the same fields, with other shapes.
            Some('[' | '(') => {
                found.1 = None;
                rest = &rest[closing(rest)?..];
            }
            Some('.') => {
                let name = rest[1..].trim_start();
                let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
                let fields = &scope.program.structs.get(found.0.index())?.fields;
                let at = fields.iter().position(|field| field.name == name[..end])?;
                let kind = found.1.and_then(|kinds| kinds.get(at).cloned());
                found = match (kind, fields[at].ty.elem) {
                    (Some(Kind::Struct(id, kinds)), _) => (id, Some(kinds)),
                    (_, ElemTy::Struct(id)) => (id, None),
                    _ => return None,
                };
                rest = &name[end..];
            }
            Some(_) => return None,
        }
    }
}

/// Behind the bracket that closes the one that a text begins with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 1 => return Some(at + 1),
            ')' | ']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// The names, selections and calls that a text ends with: `a.b[i]` of `x = 1 + a.b[i]`.
fn chain(text: &str) -> &str {
    let (mut depth, mut start) = (0_usize, text.len());
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' if depth == 0 => break,
            '(' | '[' => depth -= 1,
            ';' | '{' | '}' => break,
            _ if depth > 0 || c.is_alphanumeric() || c == '_' || c == '.' => {}
            _ => break,
        }
        start = at;
    }
    &text[start..]
}

fn names(scope: &Scope<'_>, call: Option<Call<'_>>) -> Vec<Candidate> {
    let at = call.as_ref().map_or(0, |call| call.before.len());
    let heads = call.map_or(Vec::new(), |call| scope.heads(&call));
    let mut found: Vec<Candidate> = Vec::new();
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    for (name, kind) in scope.variables.iter().filter(|(name, _)| is_name(name)) {
        let fit = kind.as_ref().map_or(Fit::Possible, |kind| scope.best(&heads, at, kind));
        let mut detail = kind.as_ref().map_or(String::new(), |kind| show_kind(scope.program, kind));
        if fit == Fit::No {
            detail.push_str(", does not fit");
        }
        found.push(Candidate { name: name.clone(), kind: CandidateKind::Variable, detail, fit, def: None });
    }
    found.extend(grouped(scope, scope.visible.iter(), &|head| match heads.is_empty() {
        true => Fit::Exact,
        // What it will give depends on what it will get.
        false => scope.best(&heads, at, &result(head)).max(Fit::Possible),
    }));
    if heads.is_empty() {
        found.extend(ravel_syntax::keywords().map(|word| plain_candidate(word, CandidateKind::Keyword, "")));
    }
    found
}

/// One candidate for each name: of a function with the head that fits best, and how many others there are.
fn grouped<'v>(scope: &Scope<'_>, all: impl Iterator<Item = &'v Visible>, fit: &dyn Fn(&Fun) -> Fit) -> Vec<Candidate> {
    let mut by_name: BTreeMap<&str, (Candidate, usize)> = BTreeMap::new();
    for visible in all {
        let Some(def) = scope.defs.get(visible.def as usize) else { continue };
        let is_name = visible.name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !is_name {
            continue;
        }
        let kind = match def.kind {
            DefKind::Function => CandidateKind::Function,
            DefKind::Object => CandidateKind::Object,
            _ => CandidateKind::Type,
        };
        let fit = visible.head.as_ref().map_or(Fit::Possible, fit);
        let name = visible.name.to_string();
        let one = Candidate { name, kind, detail: def.signature.clone(), fit, def: Some(visible.def) };
        match by_name.get_mut(&*visible.name) {
            Some((known, others)) => {
                *others += 1;
                if fit < known.fit {
                    *known = one;
                }
            }
            None => drop(by_name.insert(&visible.name, (one, 0))),
        }
    }
    let with_count = |(mut candidate, others): (Candidate, usize)| {
        if others > 0 {
            candidate.detail.push_str(&format!(" (+{others})"));
        }
        candidate
    };
    by_name.into_values().map(with_count).collect()
}

/// The heads of the function that is being called at the end of a text, those that fit first, and which parameter comes next.
pub fn signatures(text: &str, scope: &Scope<'_>) -> Option<(Vec<Signature>, usize)> {
    let bare = plain(text);
    let call = call(&bare)?;
    let at = call.before.len();
    let mut found: Vec<Signature> = Vec::new();
    for (visible, head, bindings, mut fit) in scope.heads(&call) {
        let Some(def) = scope.defs.get(visible.def as usize) else { continue };
        // It has no place for what comes next.
        if at >= head.params.len() && at > 0 && !head.variadic_params {
            fit = Fit::No;
        }
        let parameters = parameters(&def.signature);
        let label = def.signature.clone();
        found.push(Signature { label, parameters, bound: shown(head, &bindings), fit, def: visible.def });
    }
    found.sort_by_key(|signature| signature.fit);
    (!found.is_empty()).then_some((found, at))
}

/// Where the parameters stand in a head.
fn parameters(head: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let Some(open) = head.find('(') else { return ranges };
    let (mut depth, mut start) = (0_usize, open + 1);
    for (at, c) in head.char_indices().skip_while(|(at, _)| *at <= open) {
        match c {
            '[' | '(' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' | ')' if depth == 0 => {
                let text = &head[start..at];
                let trimmed = text.trim();
                if !trimmed.is_empty() {
                    let from = start + text.len() - text.trim_start().len();
                    ranges.push(from..from + trimmed.len());
                }
                start = at + 1;
                if c == ')' {
                    break;
                }
            }
            ')' => depth -= 1,
            _ => {}
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_text_that_does_not_parse() {
        let found = |text: &str| call(text).map(|call| format!("{} {:?}", call.function, call.before));
        assert_eq!(found("x = f(a, [1, 2], ").as_deref(), Some("f [\"a\", \"[1, 2]\"]"));
        assert_eq!(found("f(a, g(b), h(c").as_deref(), Some("h []"));
        assert_eq!(found("f(a, [b, c").as_deref(), Some("f [\"a\"]"));
        assert_eq!(found("f(a); g").as_deref(), None);
        assert_eq!(found("if (a < ").as_deref(), None);
        assert_eq!(found("f((a + b) * ").as_deref(), Some("f []"));
    }

    #[test]
    fn selections_are_found_from_behind() {
        assert_eq!(chain("x = 1 + a.b[i, f(j)]"), "a.b[i, f(j)]");
        assert_eq!(chain("f(g(x).y"), "g(x).y");
        assert_eq!(chain("return (a"), "a");
        assert_eq!(chain("x = 2 * "), "");
        assert_eq!(closing("[a, f(b)].c"), Some(9));
        assert_eq!(closing("[a"), None);
    }

    #[test]
    fn heads_have_parameters() {
        let head = "double[m,n] f(double[m,k] a, double[k,n] b)";
        let shown: Vec<&str> = parameters(head).into_iter().map(|range| &head[range]).collect();
        assert_eq!(shown, ["double[m,k] a", "double[k,n] b"]);
        assert!(parameters("int main()").is_empty());
    }

    #[test]
    fn quotes_and_comments_are_no_code() {
        let bare = plain("f(\"ä, (\", b /* ( */ // (\n+ \"");
        assert_eq!(bare.split_whitespace().collect::<Vec<_>>(), ["f(", ",", "b", "+"]);
        assert_eq!(bare.find('b'), Some(11));
    }
}
