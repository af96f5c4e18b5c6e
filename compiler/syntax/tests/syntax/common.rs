//! A loader of sorts: resolves type names among a given set of files, as the core crate does for real.

#![expect(clippy::disallowed_methods, reason = "tests read files")]

use ravel_diagnostics::{Diagnostic, Diagnostics, Format, render};
use ravel_source::{FileId, SourceMap};
use ravel_syntax::ast::{File, SymbolSet};
use ravel_syntax::*;
use ravel_types::{HashMap, HashSet};
use std::path::{Path, PathBuf};

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a file.
pub fn text_of(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

/// Adds all `.sac` and `.xsac` files below a folder, sorted.
pub fn sac_files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sac_files(&path, out);
        } else if path.extension().is_some_and(|ext| ext == "sac" || ext == "xsac") {
            out.push(path);
        }
    }
}

/// Includes files beside the including one.
pub struct Beside(pub PathBuf);

impl Loader for Beside {
    fn include(&mut self, name: &str, _: bool, _: FileId, sources: &mut SourceMap) -> Option<FileId> {
        let path = self.0.parent()?.join(name);
        Some(sources.add(name, std::fs::read_to_string(path).ok()?))
    }
}

/// The interfaces of all modules in a set of files.
pub struct Library {
    /// A module may have a version in each edition of the library.
    modules: HashMap<String, Vec<Interface>>,
}

/// Types of public library modules that may be missing from the set.
const PUBLIC_TYPES: [(&str, &[&str]); 9] = [
    ("String", &["string"]),
    ("StdIO", &["string", "File", "TermFile"]),
    ("Complex", &["complex"]),
    ("Numerical", &["complex"]),
    ("Structures", &["complex", "string", "list"]),
    ("System", &["string"]),
    ("File", &["File", "string"]),
    ("List", &["list"]),
    ("Benchmarking", &["Interval"]),
];

impl Library {
    pub fn scan(files: &[PathBuf]) -> Library {
        let mut modules: HashMap<String, Vec<Interface>> = HashMap::default();
        for path in files {
            let mut sources = SourceMap::default();
            let text = text_of(path);
            let id = sources.add("scan", text);
            let options = PreprocessOptions::default();
            let (tokens, _) = lex_and_preprocess(id, &mut sources, &options, &mut Beside(path.clone()));
            let interface = prescan(&tokens);
            if let Some(module) = &interface.module {
                modules.entry(module.name.to_string()).or_default().push(interface);
            }
        }
        Library { modules }
    }

    fn add(&self, module: &str, symbols: &SymbolSet, names: &mut TypeNames, seen: &mut HashSet<String>) {
        let wanted = |name: &str| match symbols {
            SymbolSet::All => true,
            SymbolSet::AllExcept(list) => !list.iter().any(|symbol| &*symbol.name == name),
            SymbolSet::Some(list) => list.iter().any(|symbol| &*symbol.name == name),
        };
        for (name, types) in PUBLIC_TYPES {
            if name == module {
                types.iter().filter(|ty| wanted(ty)).for_each(|ty| names.add_type(None, ty));
            }
        }
        if !seen.insert(module.to_string()) {
            return;
        }
        for interface in self.modules.get(module).into_iter().flatten() {
            interface.types.iter().filter(|ty| wanted(&ty.name)).for_each(|ty| names.add_type(None, &ty.name));
            interface.structs.iter().filter(|ty| wanted(&ty.name)).for_each(|ty| names.add_struct(None, &ty.name));
            for load in &interface.loads {
                self.add(&load.module.name, &load.symbols, names, seen);
            }
        }
    }

    pub fn visible(&self, interface: &Interface) -> TypeNames {
        let mut names = TypeNames::default();
        for load in &interface.loads {
            self.add(&load.module.name, &load.symbols, &mut names, &mut HashSet::default());
        }
        for mention in &interface.mentions {
            for found in self.modules.get(&*mention.name).into_iter().flatten() {
                found.types.iter().for_each(|ty| names.add_type(Some(&mention.name), &ty.name));
                found.structs.iter().for_each(|ty| names.add_struct(Some(&mention.name), &ty.name));
            }
            for (module, types) in PUBLIC_TYPES {
                if module == &*mention.name {
                    types.iter().for_each(|ty| names.add_type(Some(module), ty));
                }
            }
        }
        names
    }
}

/// A file, its reports in order, and what is needed to show them.
pub struct Parsed {
    pub sources: SourceMap,
    pub file: File,
    pub reports: Vec<Diagnostic>,
}

impl Parsed {
    pub fn rendered(&self) -> String {
        render(&self.reports, &self.sources, Format::Human, false)
    }
}

pub fn parse_with(library: &Library, path: &Path) -> Parsed {
    let text = text_of(path);
    let name = path.strip_prefix(repository()).unwrap_or(path).display().to_string();
    parse_named(library, &name, &text, &mut Beside(path.to_path_buf()))
}

pub fn parse_named(library: &Library, name: &str, text: &str, loader: &mut dyn Loader) -> Parsed {
    let mut sources = SourceMap::default();
    let id = sources.add(name, text);
    let (tokens, lexical) = lex_and_preprocess(id, &mut sources, &PreprocessOptions::default(), loader);
    let (file, syntactic) = parse_file(&tokens, &library.visible(&prescan(&tokens)));
    let mut reports = Diagnostics::from(lexical);
    reports.extend(syntactic);
    let reports = reports.into_sorted(&sources);
    Parsed { sources, file, reports }
}
