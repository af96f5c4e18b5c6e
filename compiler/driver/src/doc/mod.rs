//! `ravel doc`: reference pages of modules from their documentation comments.
//!
//! A documentation comment is a `/* ... */`, or lines `// ...`, right before a definition; it belongs to the definitions behind it as
//! long as no blank line or other comment comes between, and to all that a macro behind it defines. The comment before `module` is about the module. Its first
//! sentence says what the thing is; where it begins with `For the library itself` no page shows it; a line of its own `call(...) is value.` is an example, which [`examples`] makes a program of; a last line
//! `Like: numpy.sort.  Work: n log n.` has keys.

mod comment;
mod html;
mod links;
mod page;
mod search;
mod signature;
mod unify;

pub use html::site;
pub use page::{index, page};
pub use search::{Hit, search};

use crate::files::{LIBRARY, library_sources};
use crate::pipeline::{Compilation, Failure};
use comment::{Comment, before, first};
use ravel_syntax::ast::{Definition, File, Header, OfferKind, SymbolSet, TypeBase};
use ravel_syntax::{print_head, print_type};
use signature::Signature;
use std::path::Path;

/// What the pages say of a module.
pub struct Module {
    pub name: String,
    /// Its folder in the library; empty for files of the user.
    pub folder: String,
    about: Comment,
    /// Modules that it uses; examples may, too.
    uses: Vec<String>,
    /// Modules whose symbols it offers as its own, with these if they are some, and what it keeps for itself.
    offers: Vec<(String, Vec<String>)>,
    kept: Vec<String>,
    /// Names that stand for one of several element types.
    families: Vec<(String, Vec<String>)>,
    entries: Vec<Entry>,
    /// Its text, for the pages of the source.
    source: String,
}

/// Definitions that share a comment.
struct Entry {
    /// Each once, in order.
    names: Vec<String>,
    heads: Vec<Head>,
    /// Its place on the page, which does not depend on how a reader makes anchors of titles.
    anchor: String,
    comment: Comment,
}

/// One definition, as far as users see it.
struct Head {
    name: String,
    text: String,
    /// Its line in the source, from 1.
    line: usize,
    /// It is not written in SaC.
    native: bool,
    /// What a function takes and gives, unless that is any number of values.
    signature: Option<Signature>,
    /// The functions that give its derivatives.
    rules: Vec<String>,
}

/// Why there is no page, with what was said about the source.
pub type Refused = Box<(Compilation, Failure)>;

/// The modules of the library, by folder and name; layers of older editions are left out, and so is what it has for itself.
///
/// # Errors
/// As for [`module`].
pub fn library() -> Result<Vec<Module>, Refused> {
    library_sources()
        .map(|(name, text)| of_text(&format!("{LIBRARY}{name}"), text))
        .filter(|module| module.as_ref().map_or(true, |module| !module.about.is_internal()))
        .collect()
}

/// The documentation of the definition that begins at a byte of a text, as it is written there: the comment before it, or before the definitions
/// that it follows without a blank line. In files of the user lines with `//` count, too.
pub fn described(text: &str, start: usize) -> String {
    let lines = |comment: &Comment| comment.lines().collect::<Vec<_>>().join("\n");
    let Some(head) = text.get(..start) else { return String::new() };
    if let Some(comment) = before(text, start) {
        return lines(&comment);
    }
    let above = head.lines().rev().map(str::trim).take_while(|line| line.starts_with("//"));
    let mut above: Vec<&str> = above.map(|line| line.trim_start_matches('/').trim()).collect();
    if !above.is_empty() {
        above.reverse();
        return above.join("\n");
    }
    // Families of definitions share the comment above the first of them.
    let paragraph = head.rfind("\n\n").map_or(0, |at| at + 2);
    let Some(open) = text[paragraph..start].rfind("\n/*").or_else(|| text[paragraph..].starts_with("/*").then_some(0))
    else {
        return String::new();
    };
    let close = text[paragraph + open..start].find("*/").map(|at| paragraph + open + at + 2);
    let comment = close.and_then(|close| before(text, close + text[close..].len() - text[close..].trim_start().len()));
    comment.map_or(String::new(), |comment| lines(&comment))
}

/// What the library says of a function: heads, module and comment of each entry; nothing if it has none of this name.
pub fn about(name: &str) -> Option<String> {
    let mut text = String::new();
    // Parsing all of it takes long.
    for (file, source) in library_sources().filter(|(_, source)| source.contains(name)) {
        let Ok(module) = of_text(&format!("{LIBRARY}{file}"), source) else { continue };
        if module.about.is_internal() {
            continue;
        }
        for entry in module.entries.iter().filter(|entry| entry.names.iter().any(|known| known == name)) {
            for head in entry.heads.iter().filter(|head| head.name == name) {
                text.push_str(&format!("{}\n", head.text));
            }
            text.push_str(&format!("  module {}\n", module.name));
            for line in entry.comment.lines() {
                text.push_str(format!("  {line}").trim_end());
                text.push('\n');
            }
        }
    }
    (!text.is_empty()).then_some(text)
}

/// What a module of the library offers: names with their heads, those of modules behind it too.
pub fn offered(module: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut open = vec![module.to_string()];
    let mut seen: Vec<String> = Vec::new();
    while let Some(name) = open.pop() {
        if seen.contains(&name) {
            continue;
        }
        let stem = |file: &str| Path::new(file).file_stem().is_some_and(|stem| *stem == *name);
        let module = library_sources().find(|(file, _)| stem(file));
        seen.push(name.clone());
        let Some(Ok(module)) = module.map(|(file, text)| of_text(&format!("{LIBRARY}{file}"), text)) else { continue };
        open.extend(module.offers.iter().filter(|(_, some)| some.is_empty()).map(|(name, _)| name.clone()));
        for entry in module.entries {
            for name in &entry.names {
                let own = entry.heads.iter().filter(|head| head.name == *name);
                found.push((name.clone(), own.map(|head| head.text.clone()).collect()));
            }
        }
    }
    found
}

/// The definitions of a function in the library as they stand there, each below its file; nothing if it has none of this name.
pub fn source(name: &str) -> Option<String> {
    let mut text = String::new();
    for (file, source) in library_sources().filter(|(_, source)| source.contains(name)) {
        let mut compilation = Compilation::new(crate::Options::default());
        let Ok(parsed) = compilation.ast_of_text(&format!("{LIBRARY}{file}"), source.into()) else { continue };
        for definition in &parsed.definitions {
            let Definition::Function(function) = definition else { continue };
            let place = function.span.start as usize..function.span.end as usize;
            // What a macro made stands nowhere.
            let own = source.get(place.clone()).filter(|own| *function.name.name == *name && own.contains(name));
            if let Some(own) = own {
                let line = source[..place.start].matches('\n').count() + 1;
                text.push_str(&format!("// {file}:{line}\n{own}\n"));
            }
        }
    }
    (!text.is_empty()).then_some(text)
}

/// A module in a file of the user.
///
/// # Errors
/// [`Failure::Unreadable`], [`Failure::Source`] with its reports in the compilation.
pub fn module(path: &Path) -> Result<Module, Refused> {
    match crate::files::read_text(path) {
        Ok(text) => of_text(&path.display().to_string(), &text),
        Err(why) => {
            let failure = Failure::Unreadable { path: path.to_path_buf(), why };
            Err(Box::new((Compilation::new(crate::Options::default()), failure)))
        }
    }
}

fn of_text(name: &str, text: &str) -> Result<Module, Refused> {
    let mut compilation = Compilation::new(crate::Options::default());
    match compilation.ast_of_text(name, text.into()) {
        Ok(file) => Ok(describe(name, text, &file)),
        Err(failure) => Err(Box::new((compilation, failure))),
    }
}

fn describe(file_name: &str, text: &str, file: &File) -> Module {
    let stem = Path::new(file_name).file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    let (name, start) = match &file.header {
        Header::Module(header) => (header.name.name.to_string(), header.span.start as usize),
        Header::Class(header) => (header.name.name.to_string(), header.span.start as usize),
        Header::Program => (stem, 0),
    };
    let folder = file_name.strip_prefix(LIBRARY).and_then(|path| path.split_once('/')).map_or("", |(folder, _)| folder);
    let mut exported: Vec<&SymbolSet> = Vec::new();
    let (mut imported, mut uses) = (Vec::new(), Vec::new());
    let mut families = Vec::new();
    let texts = |names: &[ravel_syntax::ast::Ident]| names.iter().map(|n| n.name.to_string()).collect::<Vec<_>>();
    for definition in &file.definitions {
        match definition {
            Definition::Offer(offer) if offer.kind == OfferKind::Export => exported.push(&offer.symbols),
            Definition::Offer(offer) => exported.push(&offer.symbols),
            Definition::Load(load) if load.kind == ravel_syntax::ast::LoadKind::Import => match &load.symbols {
                SymbolSet::Some(names) => imported.push((load.module.name.to_string(), texts(names))),
                _ => imported.push((load.module.name.to_string(), Vec::new())),
            },
            Definition::Family(family) => {
                let members = family.members.iter().map(|member| member_name(&member.base)).collect();
                families.push((family.name.name.to_string(), members));
            }
            Definition::Load(load) => uses.push(load.module.name.to_string()),
            _ => {}
        }
    }
    let is_exported = |name: &str| {
        exported.iter().any(|symbols| match symbols {
            SymbolSet::All => true,
            SymbolSet::AllExcept(left_out) => left_out.iter().all(|other| &*other.name != name),
            SymbolSet::Some(names) => names.iter().any(|other| &*other.name == name),
        }) || matches!(file.header, Header::Program)
    };
    let kept = exported.iter().flat_map(|symbols| match symbols {
        SymbolSet::AllExcept(names) => texts(names),
        _ => Vec::new(),
    });
    let kept: Vec<String> = kept.collect();
    let offers =
        if exported.iter().any(|symbols| !matches!(symbols, SymbolSet::Some(_))) { imported } else { Vec::new() };
    let mut entries: Vec<Entry> = Vec::new();
    let mut last_start = None;
    for definition in &file.definitions {
        let Some((start, mut head)) = head(definition) else { continue };
        if !is_exported(&head.name) {
            continue;
        }
        head.line = text.get(..start).map_or(1, |before| before.matches('\n').count() + 1);
        // What a macro defines stands where the macro is used.
        let same_macro = last_start.replace(start) == Some(start);
        match (before(text, start), entries.last_mut()) {
            (_, Some(entry)) if same_macro => entry.add(head),
            (None, Some(entry)) if continues(text, start) => entry.add(head),
            (comment, _) => {
                let comment = comment.unwrap_or_default();
                let same = entries.iter().filter(|entry| entry.names[0] == head.name).count();
                let anchor = anchor(&head.name, same);
                entries.push(Entry { names: vec![head.name.clone()], heads: vec![head], anchor, comment });
            }
        }
    }
    // What stands first is about the file, unless it is about what follows.
    let about = before(text, start)
        .or_else(|| first(text).filter(|comment| entries.first().is_none_or(|entry| entry.comment != *comment)));
    entries.retain(|entry| !entry.comment.is_internal());
    Module {
        name,
        folder: folder.to_string(),
        about: about.unwrap_or_default(),
        uses,
        offers,
        kept,
        families,
        entries,
        source: text.to_string(),
    }
}

impl Module {
    /// The element types of a family, if the name is one.
    fn members(&self, name: &str) -> Option<Vec<String>> {
        self.families.iter().find(|(family, _)| family == name).map(|(_, members)| members.clone())
    }
}

impl Entry {
    fn add(&mut self, head: Head) {
        if !self.names.contains(&head.name) {
            self.names.push(head.name.clone());
        }
        // A macro with one text for many functions repeats none of them.
        if self.heads.iter().all(|other| other.text != head.text) {
            self.heads.push(head);
        }
    }
}

fn member_name(member: &TypeBase) -> String {
    match member {
        TypeBase::Basic(basic) => basic.keyword().to_string(),
        TypeBase::Named(name) => name.name.to_string(),
        TypeBase::Struct(name) => format!("struct {}", name.name),
    }
}

fn anchor(name: &str, earlier: usize) -> String {
    let plain =
        |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_string() } else { format!("-{:x}", c as u32) };
    let name: String = name.chars().map(plain).collect();
    if earlier == 0 { name } else { format!("{name}.{}", earlier + 1) }
}

/// Whether the line before a definition has something on it.
fn continues(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default().trim_end_matches([' ', '\t']);
    before
        .strip_suffix('\n')
        .is_some_and(|lines| !lines.ends_with("\n\n") && !lines.trim_end_matches([' ', '\t']).ends_with('\n'))
}

/// Place and head of a definition that pages show; its line is not known yet.
fn head(definition: &Definition) -> Option<(usize, Head)> {
    let (name, span, text) = match definition {
        Definition::Function(function) => {
            let head = Head {
                name: function.name.name.to_string(),
                text: print_head(function),
                line: 0,
                native: function.attributes.external,
                signature: Signature::of(function),
                rules: ravel_core::rules_of(function).map(str::to_string).collect(),
            };
            return Some((function.head_span.start as usize, head));
        }
        Definition::Struct(record) => {
            let fields: Vec<String> =
                record.fields.iter().map(|field| format!("{} {};", print_type(&field.ty), field.name.name)).collect();
            (&record.name, record.span, format!("struct {} {{ {} }}", record.name.name, fields.join(" ")))
        }
        Definition::Typedef(typedef) => {
            let head = format!("typedef {} {}", print_type(&typedef.base), typedef.name.name);
            (&typedef.name, typedef.span, head)
        }
        Definition::ExternalTypedef(typedef) => {
            (&typedef.name, typedef.span, format!("external typedef {}", typedef.name.name))
        }
        Definition::Object(object) => {
            (&object.name, object.span, format!("objdef {} {}", print_type(&object.ty), object.name.name))
        }
        _ => return None,
    };
    let native = matches!(definition, Definition::ExternalTypedef(_));
    let head = Head { name: name.name.to_string(), text, line: 0, native, signature: None, rules: Vec::new() };
    Some((span.start as usize, head))
}

/// A program that runs the examples in the comments of a module and reports those that are wrong; nothing if there are none.
pub fn examples(module: &Module) -> Option<String> {
    let mut checks = String::new();
    let comments = module.entries.iter().map(|entry| &entry.comment);
    for example in std::iter::once(&module.about).chain(comments).flat_map(Comment::examples) {
        let shown = format!("{} is {}", example.call, example.value).replace('\\', "\\\\").replace('"', "\\\"");
        let shown = shown.replace('%', "%%");
        checks.push_str(&format!("    wrong += check(\"{shown}\", {}, {});\n", example.call, example.value));
    }
    let known = ["Array", "Math", "MathArray", "StdIO", "String"];
    let uses = module.uses.iter().filter(|name| !known.contains(&name.as_str()));
    let uses: String = uses.map(|name| format!("use {name}: all;\n")).collect();
    (!checks.is_empty())
        .then(|| CHECKER.replace("@USES@", &uses).replace("@MODULE@", &module.name).replace("@CHECKS@", &checks))
}

/// Real results may be off by a millionth; everything else is equal.
const CHECKER: &str = r#"use Array: all;
use Math: all;
use MathArray: all;
use StdIO: { printf };
use String: all;
use @MODULE@: all;
@USES@
#pragma family RealOfExamples float double
#pragma family OtherOfExamples byte short int long longlong ubyte ushort uint ulong ulonglong char bool

inline bool same_in_examples(RealOfExamples a, RealOfExamples b)
{
    return _or_SxS_(_eq_SxS_(a, b), _or_SxS_(_and_SxS_(_neq_SxS_(a, a), _neq_SxS_(b, b)),
                    _le_SxS_(_abs_S_(_sub_SxS_(_tod_S_(a), _tod_S_(b))), _mul_SxS_(1e-6, _add_SxS_(1d, _abs_S_(_tod_S_(b)))))));
}
inline bool same_in_examples(OtherOfExamples a, OtherOfExamples b) { return _eq_SxS_(a, b); }

inline bool both_of_examples(bool a, bool b) { return _and_SxS_(a, b); }

#define CHECK(T)                                                                              \
int check(string text, T[*] a, T[*] b)                                                        \
{                                                                                             \
    right = _eq_SxS_(_dim_A_(a), _dim_A_(b));                                                 \
    if (right) {                                                                              \
        x = _shape_A_(a);                                                                     \
        y = _shape_A_(b);                                                                     \
        for (k = 0; _lt_SxS_(k, _sel_VxA_([0], _shape_A_(x))); k = _add_SxS_(k, 1)) {         \
            right = _and_SxS_(right, _eq_SxS_(_sel_VxA_([k], x), _sel_VxA_([k], y)));         \
        }                                                                                     \
    }                                                                                         \
    if (right) {                                                                              \
        right = with { (_mul_SxV_(0, _shape_A_(a)) <= iv < _shape_A_(a)) : same_in_examples(_sel_VxA_(iv, a), _sel_VxA_(iv, b)); } \
                : fold(both_of_examples, true);                                                     \
    }                                                                                         \
    if (_not_S_(right)) {                                                                     \
        printf("wrong: %s\n", text);                                                          \
    }                                                                                         \
    return right ? 0 : 1;                                                                     \
}

CHECK(RealOfExamples)
CHECK(OtherOfExamples)

int check(string text, string a, string b)
{
    if (a != b) {
        printf("wrong: %s: %s\n", text, a);
    }
    return a == b ? 0 : 1;
}

int main()
{
    wrong = 0;
@CHECKS@    return wrong;
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_macro_defines_is_one_entry() {
        let text = "module M;\n#define F(f) \\\nint f(int x) { return x; } \\\nint f##_2(int x) { return x; } \\\nint f(int x, int y) { return x; }\n\
                    export all except { g_2 };\n\n/* Is f. */\nF(f)\n\n/* Is g. */\nF(g)\nint h(int x) { return x; }\n";
        let Ok(module) = of_text("M.sac", text) else { panic!("it parses") };
        let found: Vec<_> = module.entries.iter().map(|e| (e.names.join(" "), e.heads.len())).collect();
        assert_eq!(found, [("f f_2".to_string(), 3), ("g h".to_string(), 3)]);
        assert_eq!(module.entries[1].comment.first_sentence(), "Is g.");
    }

    #[test]
    fn what_the_library_has_for_itself_is_not_shown() {
        let text = "/* Two functions. */\nmodule M;\nexport all;\n\n/* For the library itself: f. */\nint f(int x) { return x; }\n\n\
                    /* Is g. */\nint g(int x) { return x; }\n";
        let Ok(module) = of_text("M.sac", text) else { panic!("it parses") };
        let names: Vec<_> = module.entries.iter().map(|e| e.names.join(" ")).collect();
        assert_eq!(names, ["g"]);
        assert!(!module.about.is_internal());
    }
}
