//! The program that an input is compiled as: what was entered before, and the input inside a function.
//!
//! Every input is a file of its own that the program includes, so that reports and faults name the place as it was typed.

use crate::files::{FileLoader, is_library};
use ravel_core::{Loader, ModulePlace};
use ravel_source::{FileId, SourceMap};
use ravel_syntax::ast::{AxisCount, Definition, DimKind, Function, Type};
use ravel_syntax::print_type;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// Name of the program, which is the module of everything that is defined at the prompt.
pub const ROOT: &str = "<session>";

/// Name of the input that is being worked on.
pub const INPUT: &str = "<input>";

/// The function around an input.
pub const FUNCTION: &str = "ravel_input";

/// The variable that receives the value of an expression.
pub const VALUE: &str = "ravel_value";

/// What makes two definitions the same, so that the later one replaces the earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// `use` and `import`: all of them stay.
    Load,
    Type(String),
    Object(String),
    Function {
        name: String,
        params: Vec<String>,
    },
    /// Pragmas and such.
    Other,
}

impl Key {
    pub fn of(definition: &Definition) -> Key {
        match definition {
            Definition::Load(_) => Key::Load,
            Definition::Typedef(def) => Key::Type(def.name.name.to_string()),
            Definition::ExternalTypedef(def) => Key::Type(def.name.name.to_string()),
            Definition::Struct(def) => Key::Type(def.name.name.to_string()),
            Definition::Family(def) => Key::Type(def.name.name.to_string()),
            Definition::Object(def) => Key::Object(def.name.name.to_string()),
            Definition::Function(def) => Key::function(def),
            Definition::Offer(_) | Definition::Pragma(_) => Key::Other,
        }
    }

    fn function(def: &Function) -> Key {
        let params = def.params.iter().map(|p| dispatch_type(&p.ty)).collect();
        Key::Function { name: def.name.name.to_string(), params }
    }

    /// The name that is defined.
    pub fn name(&self) -> Option<&str> {
        match self {
            Key::Type(name) | Key::Object(name) | Key::Function { name, .. } => Some(name),
            Key::Load | Key::Other => None,
        }
    }

    fn replaces(&self, older: &Key) -> bool {
        !matches!(self, Key::Load | Key::Other) && self == older
    }
}

/// The type without the names that its pattern binds: what overloads are told apart by.
fn dispatch_type(ty: &Type) -> String {
    let element = print_type(&Type { dims: None, ..ty.clone() });
    let mut dims = Vec::new();
    for dim in ty.dims.iter().flatten() {
        match &dim.kind {
            DimKind::Num(n) => dims.push(n.to_string()),
            DimKind::Dot | DimKind::Name(_) => dims.push(".".to_string()),
            DimKind::Plus => dims.push("+".to_string()),
            DimKind::Star => dims.push("*".to_string()),
            DimKind::Axes { count: AxisCount::Num(n), .. } => {
                dims.extend((0..*n).take(64).map(|_| ".".to_string()));
            }
            DimKind::Axes { count: AxisCount::Name { more_than: Some(_), .. }, .. } => dims.push("+".to_string()),
            DimKind::Axes { count: AxisCount::Name { more_than: None, .. }, .. } => dims.push("*".to_string()),
        }
    }
    if dims.is_empty() { element } else { format!("{element}[{}]", dims.join(",")) }
}

#[derive(Clone, Debug)]
struct Item {
    key: Key,
    range: Range<usize>,
}

/// An accepted input of definitions.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// What reports call it.
    pub name: String,
    text: Arc<str>,
    /// The definitions that stand in the text itself, not in files that it includes.
    items: Vec<Item>,
    /// Items that a later input has defined again.
    replaced: Vec<Range<usize>>,
    is_directive: bool,
}

impl Chunk {
    /// `file` is what the text is called in the tree.
    pub fn new(name: &str, text: &str, definitions: &[Definition], file: FileId) -> Chunk {
        let items = definitions.iter().filter_map(|definition| {
            let span = span_of(definition);
            let range = span.start as usize..span.end as usize;
            (span.file == file && range.end <= text.len()).then(|| Item { key: Key::of(definition), range })
        });
        Chunk {
            name: name.to_string(),
            text: text.into(),
            items: items.collect(),
            replaced: Vec::new(),
            is_directive: has_directives(text),
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.items.iter().map(|item| &item.key)
    }

    /// Gives up what `newer` defines again; says what that was.
    pub fn replace_by(&mut self, newer: &Chunk) -> Vec<Key> {
        let mut gone = Vec::new();
        let replaced = &mut self.replaced;
        self.items.retain(|item| {
            let stays = !newer.keys().any(|key| key.replaces(&item.key));
            if !stays {
                gone.push(item.key.clone());
                replaced.push(item.range.clone());
            }
            stays
        });
        gone
    }

    /// Whether nothing is left of it.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && !self.is_directive
    }

    /// Only `use` and `import`, which stand at the top of the program.
    fn loads(&self) -> Option<String> {
        let mut text = blank(&self.text);
        let mut any = false;
        for item in self.items.iter().filter(|item| item.key == Key::Load) {
            text.replace_range(item.range.clone(), &self.text[item.range.clone()]);
            any = true;
        }
        any.then_some(text)
    }

    /// Everything else.
    fn rest(&self) -> Option<String> {
        if !self.is_directive && self.items.iter().all(|item| item.key == Key::Load) {
            return None;
        }
        let mut text = self.text.to_string();
        let loads = self.items.iter().filter(|item| item.key == Key::Load).map(|item| &item.range);
        for range in loads.chain(&self.replaced) {
            text.replace_range(range.clone(), &blank(&self.text[range.clone()]));
        }
        Some(text)
    }

    /// What is left of the text, also without some of its definitions.
    pub fn text_without(&self, leave_out: &dyn Fn(&Key) -> bool) -> String {
        let mut text = self.text.to_string();
        let left_out = self.items.iter().filter(|item| leave_out(&item.key)).map(|item| &item.range);
        let mut gone: Vec<&Range<usize>> = left_out.chain(&self.replaced).collect();
        // From behind, so that places stay.
        gone.sort_by_key(|range| std::cmp::Reverse(range.start));
        gone.into_iter().for_each(|range| text.replace_range(range.clone(), ""));
        text
    }

    /// The texts of its definitions with this name.
    pub fn definitions_of(&self, name: &str) -> impl Iterator<Item = &str> {
        let items = self.items.iter().filter(move |item| item.key.name() == Some(name));
        items.filter_map(|item| self.text.get(item.range.clone()))
    }

    /// Where macros may be defined.
    pub fn macro_text(&self) -> Option<&str> {
        self.is_directive.then_some(&*self.text)
    }

    /// Only the macros, which the parser of later inputs must know.
    fn macros(&self) -> Option<String> {
        self.is_directive.then(|| macros(&self.text))
    }
}

fn span_of(definition: &Definition) -> ravel_source::Span {
    match definition {
        Definition::Load(def) => def.span,
        Definition::Offer(def) => def.span,
        Definition::Typedef(def) => def.span,
        Definition::ExternalTypedef(def) => def.span,
        Definition::Object(def) => def.span,
        Definition::Struct(def) => def.span,
        Definition::Function(def) => def.span,
        Definition::Family(def) => def.span,
        Definition::Pragma(def) => def.span,
    }
}

/// The text with everything but its line breaks replaced by blanks, one per byte.
pub fn blank(text: &str) -> String {
    text.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect()
}

/// Whether a line is a preprocessor directive other than a pragma.
pub fn has_directives(text: &str) -> bool {
    text.lines().any(is_directive)
}

fn is_directive(line: &str) -> bool {
    line.trim_start().strip_prefix('#').is_some_and(|rest| !rest.trim_start().starts_with("pragma"))
}

/// The lines of directives, includes left out.
fn macros(text: &str) -> String {
    let mut continued = false;
    let mut out = String::new();
    for line in text.lines() {
        let is_include = line.trim_start().trim_start_matches('#').trim_start().starts_with("include");
        if continued || is_directive(line) && !is_include {
            out.push_str(line);
            continued = line.trim_end().ends_with('\\');
        }
        out.push('\n');
    }
    out
}

/// Words of the text, so that only variables that an input can mention are passed to it.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// Where the text of a module is that was taken in as such.
#[derive(Clone, Debug)]
pub struct ModuleText {
    /// What reports call it.
    pub file: String,
    /// The text, if no file has it.
    pub text: Option<Arc<str>>,
}

/// File access for a session: its inputs, and the files of the user.
pub struct InputLoader {
    files: FileLoader,
    modules: BTreeMap<String, ModuleText>,
    /// Name and text of each input by what the include lines call it.
    texts: HashMap<String, (String, Arc<str>)>,
}

impl InputLoader {
    pub fn new(files: FileLoader, modules: BTreeMap<String, ModuleText>) -> InputLoader {
        InputLoader { files, modules, texts: HashMap::new() }
    }

    /// The line that includes a text which reports call `name`.
    fn line(&mut self, mut name: String, text: &str) -> String {
        // Files are told apart by their names: blanks make two of one.
        while self.texts.values().any(|(known, _)| *known == name) {
            name.push(' ');
        }
        let key = format!("ravel:{}", self.texts.len());
        let line = format!("#include \"{key}\"\n");
        self.texts.insert(key, (name, text.into()));
        line
    }

    /// The program of everything entered so far, with `body` behind it.
    pub fn program(&mut self, uses: &[&str], chunks: &[Chunk], body: &str) -> String {
        let mut out = String::new();
        for module in uses {
            out.push_str(&format!("use {module}: all;\n"));
        }
        for chunk in chunks {
            if let Some(text) = chunk.loads() {
                // The rest of the chunk has its plain name.
                let name = if chunk.rest().is_some() { format!("{} ", chunk.name) } else { chunk.name.clone() };
                out.push_str(&self.line(name, &text));
            }
        }
        for chunk in chunks {
            if let Some(text) = chunk.rest() {
                out.push_str(&self.line(chunk.name.clone(), &text));
            }
        }
        out.push_str(body);
        out
    }

    /// The input on its own, but with the macros of earlier ones. A file that is loaded again replaces its former self.
    pub fn alone(&mut self, chunks: &[Chunk], name: &str, text: &str) -> String {
        let mut out = String::new();
        for chunk in chunks.iter().filter(|chunk| chunk.name != name) {
            if let Some(text) = chunk.macros() {
                out.push_str(&self.line(chunk.name.clone(), &text));
            }
        }
        out.push_str(&self.line(name.to_string(), text));
        out
    }

    /// An input inside its function.
    pub fn function(&mut self, params: &str, before: &str, name: &str, text: &str, after: &str) -> String {
        let line = self.line(name.to_string(), text);
        format!("void {FUNCTION}({params})\n{{\n{before}\n{line}\n{after}\n}}\n")
    }
}

impl Loader for InputLoader {
    fn find_module(&mut self, module: &str, from: &str) -> Option<ModulePlace> {
        match self.modules.get(module).filter(|_| !is_library(from)) {
            Some(known) => Some(ModulePlace::of_user(known.file.clone())),
            None => self.files.find_module(module, from),
        }
    }

    fn find_include(&mut self, path: &str, from: &str) -> Option<String> {
        match self.texts.get(path) {
            Some((name, _)) => Some(name.clone()),
            None => self.files.find_include(path, from),
        }
    }

    fn read(&mut self, name: &str) -> Result<Arc<str>, String> {
        let of_module = || self.modules.values().find(|module| module.file == name)?.text.clone();
        match self.texts.values().find(|(known, _)| known == name) {
            Some((_, text)) => Ok(text.clone()),
            None => of_module().map_or_else(|| self.files.read(name), Ok),
        }
    }

    fn now(&mut self) -> u64 {
        self.files.now()
    }

    fn library_modules(&mut self) -> Vec<String> {
        self.files.library_modules()
    }

    fn other_edition(&mut self, module: &str) -> Option<&'static str> {
        self.files.other_edition(module)
    }
}

/// Lets the parser alone include the same texts.
impl ravel_syntax::Loader for InputLoader {
    fn include(&mut self, name: &str, _: bool, from: FileId, sources: &mut SourceMap) -> Option<FileId> {
        let from = sources.get(from).map_or(String::new(), |file| file.name.clone());
        let found = self.find_include(name, &from)?;
        let known = sources.files().find(|(_, file)| file.name == found).map(|(id, _)| id);
        match known {
            Some(id) => Some(id),
            None => Some(sources.add(found.clone(), self.read(&found).ok()?)),
        }
    }

    fn now(&mut self) -> u64 {
        self.files.now()
    }
}
