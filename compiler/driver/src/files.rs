//! Where texts come from: the user's folders, `-I` and `RAVEL_PATH`, and the library inside the binary.

use crate::edition::{Edition, wish};
use crate::texts::Texts;
use ravel_core::{Loader, ModulePlace};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

mod library {
    include!(concat!(env!("OUT_DIR"), "/library.rs"));
}

/// Library files by the module that they are called after: modules are searched hundreds of times in a compilation.
static BY_STEM: LazyLock<HashMap<&'static str, Vec<&'static (&'static str, &'static str)>>> = LazyLock::new(|| {
    let mut files: HashMap<_, Vec<_>> = HashMap::new();
    for file in library::FILES {
        if let Some(stem) = stem(file.0) {
            files.entry(stem).or_default().push(file);
        }
    }
    files
});

/// Texts of library files by name, shared once somebody has read them.
static TEXTS: LazyLock<HashMap<&'static str, LazyText>> = LazyLock::new(|| {
    library::FILES.iter().map(|(name, text)| (*name, LazyText { text, shared: OnceLock::new() })).collect()
});

struct LazyText {
    text: &'static str,
    shared: OnceLock<Arc<str>>,
}

/// Names of library files begin with this, in diagnostics too.
pub const LIBRARY: &str = "<library>/";

/// Modules that most programs use, first: they are tried first when a name is unknown.
const COMMON: &[&str] = &["Array", "StdIO", "Math", "MathArray", "Structures", "String", "CommandLine"];

/// File access for the core stage.
pub struct FileLoader {
    folders: Vec<PathBuf>,
    texts: Texts,
    /// When the compilation began, once somebody has asked.
    began: Option<u64>,
    edition: Edition,
    /// Files that were read and ask for another edition of the library.
    strangers: Vec<String>,
}

impl FileLoader {
    /// Searches `folders` after the folder of the mentioning file and before the library.
    pub fn new(folders: Vec<PathBuf>, edition: Edition) -> FileLoader {
        FileLoader { folders, texts: Texts::default(), edition, strangers: Vec::new(), began: None }
    }

    /// With texts in the place of files.
    #[must_use]
    pub fn with_texts(self, texts: Texts) -> FileLoader {
        FileLoader { texts, ..self }
    }

    pub fn edition(&self) -> Edition {
        self.edition
    }

    /// Files of the user that were read and ask for another edition of the library.
    pub fn strangers(&self) -> &[String] {
        &self.strangers
    }

    /// The folders given by the environment variable `RAVEL_PATH`.
    pub fn environment_path() -> Vec<PathBuf> {
        std::env::var_os("RAVEL_PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
    }

    /// The library file of a module, as mentioned in the file `from`.
    fn library_file(&self, module: &str, from: &str) -> Option<&'static (&'static str, &'static str)> {
        // A module of a layer that loads its own name means the one that it stands in front of.
        let is_behind = |name: &str| from.strip_prefix(LIBRARY) == Some(name);
        let files = BY_STEM.get(module)?;
        let find =
            |belongs: &dyn Fn(&str) -> bool| files.iter().copied().find(|(name, _)| belongs(name) && !is_behind(name));
        find(&|name| self.edition.layer() == Some(folder(name))).or_else(|| find(&is_base))
    }
}

/// The files of an edition, those that stand in front first.
fn library_files(edition: Edition) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let layer = move |name: &str| edition.layer().is_some_and(|layer| folder(name) == layer);
    let front = library::FILES.iter().filter(move |(name, _)| layer(name));
    front.chain(library::FILES.iter().filter(|(name, _)| is_base(name)))
}

/// Whether a library file belongs to no layer.
fn is_base(name: &str) -> bool {
    Edition::ALL.iter().all(|(_, other)| other.layer() != Some(folder(name)))
}

/// Names and texts of the library's files in its current edition.
pub fn library_sources() -> impl Iterator<Item = (&'static str, &'static str)> {
    library_files(Edition::Current).copied()
}

fn folder(name: &str) -> &str {
    name.split_once('/').map_or("", |(folder, _)| folder)
}

fn stem(name: &str) -> Option<&str> {
    Path::new(name).file_stem().and_then(|stem| stem.to_str())
}

fn mentions(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

/// Whether a line of a module begins to define a function of this name, by itself or by a macro, or the module hands on one that it imports by its name.
fn offers(text: &str, function: &str) -> bool {
    let is_type = |c: char| c.is_alphanumeric() || "_ [],.*+:>".contains(c);
    let named = |line: &str| {
        line.match_indices(function).any(|(at, _)| {
            let (before, behind) = (&line[..at], &line[at + function.len()..]);
            let head = before.trim_start();
            let is_head = head.ends_with(' ') && head.starts_with(char::is_alphabetic) && !head.starts_with("return ");
            is_head && behind.starts_with('(') && head.chars().all(is_type)
        })
    };
    let imported = |statement: &str| statement.trim_start().starts_with("import") && mentions(statement, function);
    // `BINARY(max)` stands for definitions.
    let is_macro = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_uppercase() || c == '_');
    let generated = |line: &str| {
        line.split_once('(').is_some_and(|(name, arguments)| is_macro(name) && mentions(arguments, function))
    };
    text.lines().any(|line| named(line) || generated(line)) || text.split(';').any(imported)
}

/// Library modules that have a function of this name, those that most programs use first.
pub fn library_modules_with(function: &str, edition: Edition) -> Vec<String> {
    let mut modules: Vec<String> = Vec::new();
    for module in library_files(edition).filter(|(_, text)| offers(text, function)).filter_map(|(name, _)| stem(name)) {
        if !modules.iter().any(|known| known == module) {
            modules.push(module.to_string());
        }
    }
    modules.sort_by_key(|module| COMMON.iter().position(|known| known == module).unwrap_or(COMMON.len()));
    modules
}

/// Bytes of a name that the library is searched for. No name there is as long; a quoted text that is never closed may be.
const LONGEST_NAME: usize = 200;

/// Whether the modules that an older edition has in front offer something of this name: a module, a function, an operator, a type.
pub fn layer_offers(edition: Edition, word: &str) -> bool {
    let in_layer = |name: &str| edition.layer().is_some_and(|layer| folder(name) == layer);
    let is_type = |line: &str| line.starts_with("typedef ") && mentions(line, word);
    let has = |text: &str| offers(text, word) || text.lines().any(is_type);
    !word.is_empty()
        && word.len() <= LONGEST_NAME
        && library::FILES.iter().any(|(name, text)| in_layer(name) && (stem(name) == Some(word) || has(text)))
}

/// Whether an older edition has another function in place of one of this library file: its module leaves out the one behind.
pub fn is_replaced(edition: Edition, file: &str, function: &str) -> bool {
    let (Some(name), Some(layer)) = (file.strip_prefix(LIBRARY), edition.layer()) else { return false };
    let Some(module) = stem(name) else { return false };
    let in_front = library::FILES.iter().find(|(other, _)| folder(other) == layer && stem(other) == Some(module));
    let head = format!("import {module}: all except {{");
    let left_out = in_front.and_then(|(_, text)| text.split_once(&head)).and_then(|(_, rest)| rest.split('}').next());
    folder(name) != layer && left_out.is_some_and(|names| names.split(',').any(|other| other.trim() == function))
}

/// The text of a library file, by its name in diagnostics.
pub fn library_text(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix(LIBRARY)?;
    library::FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Whether a file name of the source map denotes a library file.
pub fn is_library(name: &str) -> bool {
    name.starts_with(LIBRARY)
}

/// Bytes of a source file: far beyond what anybody compiles, and places in it still fit a span.
const LONGEST_FILE: u64 = 1 << 28;

/// The text of a file of the user.
///
/// # Errors
/// Why it cannot be read, in words; text that is not UTF-8 is no error (each bad byte becomes U+FFFD, which the lexer reports).
pub fn read_text(path: &Path) -> Result<Arc<str>, String> {
    // A device may never end.
    let read = ravel_runtime::inputs::open(path).and_then(|(file, _)| {
        let mut bytes = Vec::new();
        file.take(LONGEST_FILE + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    match read {
        Ok(bytes) if bytes.len() as u64 > LONGEST_FILE => Err(format!(
            "it is longer than {} MiB; read data with the functions of module File instead",
            LONGEST_FILE >> 20
        )),
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into()),
        Err(error) => Err(match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_string(),
            std::io::ErrorKind::PermissionDenied => "permission denied".to_string(),
            std::io::ErrorKind::IsADirectory => "it is a folder".to_string(),
            _ => error.to_string(),
        }),
    }
}

/// Whether the file says that it is this module, or cannot be read.
fn defines(path: &Path, module: &str) -> bool {
    read_text(path).map_or(true, |text| header(&text) == Some(module))
}

/// The file of a folder whose header names the module, whatever the file is called; the first one by name if there are several.
fn search(folder: &Path, module: &str) -> Option<ModulePlace> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).ok()?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| {
        path.extension().is_some_and(|extension| extension == "sac" || extension == "xsac") && path.is_file()
    });
    files.sort();
    let mut found = files.into_iter().filter(|path| read_text(path).is_ok_and(|text| header(&text) == Some(module)));
    let shown = |path: PathBuf| path.strip_prefix("./").unwrap_or(&path).display().to_string();
    let first = shown(found.next()?);
    Some(ModulePlace { rival: found.next().map(shown), ..ModulePlace::of_user(first) })
}

/// The module or class that a text is the file of.
pub fn module_of(text: &str) -> Option<&str> {
    header(text)
}

/// The name in the header of a module or class. Only blanks, comments and directives may stand before it.
pub(crate) fn header(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        rest = match rest.get(..2) {
            Some("/*") => rest.split_once("*/")?.1.trim_start(),
            Some("//") => rest.split_once('\n')?.1.trim_start(),
            _ if rest.starts_with('#') => rest.split_once('\n')?.1.trim_start(),
            _ => break,
        };
    }
    let rest = rest.strip_prefix("module").or_else(|| rest.strip_prefix("class"))?;
    let name = rest.strip_prefix(char::is_whitespace)?.trim_start();
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

impl Loader for FileLoader {
    fn find_module(&mut self, module: &str, from: &str) -> Option<ModulePlace> {
        // The public library keeps modules that are made of macros in files `.xsac`.
        let names = [format!("{module}.sac"), format!("{module}.xsac")];
        let in_library = self.library_file(module, from);
        let mut misnamed = None;
        if !is_library(from) {
            let beside = Path::new(from).parent().map(Path::to_path_buf);
            let folders: Vec<PathBuf> = beside.into_iter().chain(self.folders.iter().cloned()).collect();
            let places = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
            for path in places.filter(|path| path.is_file()) {
                // A program may have the name of a module that another file holds.
                if defines(&path, module) {
                    let place = ModulePlace::of_user(path.display().to_string());
                    return Some(ModulePlace { hides_library: in_library.is_some(), ..place });
                }
                misnamed.get_or_insert(path);
            }
            if in_library.is_none()
                && let Some(found) = folders.iter().find_map(|folder| search(folder, module))
            {
                return Some(found);
            }
        }
        let library = in_library
            .map(|(name, _)| ModulePlace { library: true, ..ModulePlace::of_user(format!("{LIBRARY}{name}")) });
        // Loading a file that is no module of this name ends in a message about it.
        library.or_else(|| misnamed.map(|path| ModulePlace::of_user(path.display().to_string())))
    }

    fn find_include(&mut self, path: &str, from: &str) -> Option<String> {
        if is_library(from) {
            return None;
        }
        let beside = Path::new(from).parent().map(|dir| dir.join(path));
        let mut places = beside.into_iter().chain(self.folders.iter().map(|dir| dir.join(path)));
        places.find(|path| path.is_file()).map(|path| path.display().to_string())
    }

    fn read(&mut self, name: &str) -> Result<Arc<str>, String> {
        match name.strip_prefix(LIBRARY) {
            Some(inner) => TEXTS
                .get(inner)
                .map(|file| file.shared.get_or_init(|| Arc::from(file.text)).clone())
                .ok_or_else(|| "no such library file".to_string()),
            None => {
                let text = self.texts.read(Path::new(name))?;
                if wish(&text).is_some_and(|wish| wish.edition.as_ref() != Ok(&self.edition)) {
                    self.strangers.push(name.to_string());
                }
                Ok(text)
            }
        }
    }

    /// `SOURCE_DATE_EPOCH` makes compilations repeatable, as for other compilers.
    fn now(&mut self) -> u64 {
        *self.began.get_or_insert_with(|| {
            let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
            given.unwrap_or_else(|| u64::try_from(ravel_runtime::natives::wall_clock()).unwrap_or_default())
        })
    }

    fn library_modules(&mut self) -> Vec<String> {
        let mut names: Vec<String> = COMMON.iter().map(ToString::to_string).collect();
        for module in library_files(self.edition).filter_map(|(name, _)| stem(name)) {
            if !names.iter().any(|known| known == module) {
                names.push(module.to_string());
            }
        }
        names
    }

    fn other_edition(&mut self, module: &str) -> Option<&'static str> {
        let others = Edition::ALL.iter().filter(|(_, edition)| *edition != self.edition);
        let has = |edition: Edition| library_files(edition).any(|(name, _)| stem(name) == Some(module));
        others.filter(|(_, edition)| has(*edition)).map(|(name, _)| *name).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(path: &Path) {
        let name = path.file_stem().expect("a name").to_string_lossy();
        fs::write(path, format!("module {name};")).expect("the folder is writable");
    }

    #[test]
    fn modules_are_searched_beside_the_file_then_in_folders_then_in_the_library() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let (first, second) = (root.path().join("first"), root.path().join("second"));
        fs::create_dir(&first).expect("made");
        fs::create_dir(&second).expect("made");
        let from = root.path().join("main.sac").display().to_string();
        let mut loader = FileLoader::new(vec![first.clone(), second.clone()], Edition::Current);
        let mut find = |module: &str| loader.find_module(module, &from).map(|place| (place.name, place.hides_library));
        assert_eq!(find("M"), None);
        assert_eq!(find("Math"), Some((format!("{LIBRARY}numerical/Math.sac"), false)));
        for folder in [second.as_path(), first.as_path(), root.path()] {
            for (module, hides) in [("M", false), ("Math", true)] {
                let path = folder.join(format!("{module}.sac"));
                write(&path);
                assert_eq!(find(module), Some((path.display().to_string(), hides)));
            }
        }
    }

    #[test]
    fn modules_are_found_by_their_headers_where_no_file_has_their_name() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let from = root.path().join("M.sac").display().to_string();
        fs::write(&from, "use M: all;\nint main() { return 0; }").expect("written");
        let mut loader = FileLoader::new(Vec::new(), Edition::default());
        // Nothing better: its header will be complained of.
        assert_eq!(loader.find_module("M", &from).map(|place| place.name), Some(from.clone()));
        for name in ["b.sac", "a.sac"] {
            fs::write(root.path().join(name), "/* module N; */ // x\n#define X\nmodule  M deprecated;")
                .expect("written");
        }
        fs::write(root.path().join("other.sac"), "module Math;").expect("written");
        let found = loader.find_module("M", &from).expect("it is there");
        assert_eq!(found.name, root.path().join("a.sac").display().to_string());
        assert_eq!(found.rival, Some(root.path().join("b.sac").display().to_string()));
        assert!(loader.find_module("Math", &from).is_some_and(|place| place.library));
    }

    #[test]
    fn headers_are_read_past_comments_and_directives() {
        assert_eq!(header("// c\n#if X\n/* a */ class  C;\n"), Some("C"));
        assert_eq!(header("\u{feff}module m;"), Some("m"));
        for none in ["", "modules M;", "int main() { return 0; } module M;", "/* module M;", "module ;", "//"] {
            assert_eq!(header(none), None, "{none}");
        }
    }

    #[test]
    fn the_library_uses_itself_only() {
        let root = tempfile::tempdir().expect("a temporary folder");
        write(&root.path().join("Math.sac"));
        let mut loader = FileLoader::new(vec![root.path().to_path_buf()], Edition::Current);
        let from = format!("{LIBRARY}structures/Array.sac");
        let found = loader.find_module("Math", &from).expect("it is there");
        assert!(found.library && found.name.starts_with(LIBRARY));
        assert_eq!(loader.find_include("Math.sac", &from), None);
        assert!(loader.read(&found.name).is_ok_and(|text| text.contains("module Math")));
        assert!(loader.read(&format!("{LIBRARY}nothing.sac")).is_err());
    }

    #[test]
    fn folders_are_no_modules_and_say_so_when_read() {
        let root = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(root.path().join("M.sac")).expect("made");
        let mut loader = FileLoader::new(Vec::new(), Edition::Current);
        let from = root.path().join("main.sac").display().to_string();
        assert!(loader.find_module("M", &from).is_none());
        assert_eq!(read_text(&root.path().join("M.sac")), Err("it is a folder".to_string()));
        assert_eq!(read_text(&root.path().join("N.sac")), Err("no such file".to_string()));
    }

    #[test]
    fn every_library_module_can_be_found() {
        for (_, edition) in Edition::ALL {
            let mut loader = FileLoader::new(Vec::new(), edition);
            for module in loader.library_modules() {
                assert!(loader.find_module(&module, "main.sac").is_some_and(|place| place.library), "{module}");
            }
        }
    }

    #[test]
    fn modules_of_a_layer_stand_in_front() {
        let mut current = FileLoader::new(Vec::new(), Edition::Current);
        let mut older = FileLoader::new(Vec::new(), Edition::Until2024);
        let find = |loader: &mut FileLoader, from: &str| loader.find_module("ArrayTransform", from).map(|p| p.name);
        let (front, behind) = ("<library>/2024/ArrayTransform.sac", "<library>/structures/ArrayTransform.sac");
        assert_eq!(find(&mut current, "main.sac").as_deref(), Some(behind));
        assert_eq!(find(&mut older, "main.sac").as_deref(), Some(front));
        assert_eq!(find(&mut older, "<library>/structures/Array.sac").as_deref(), Some(front));
        assert_eq!(find(&mut older, front).as_deref(), Some(behind));
        assert!(current.find_module("Rand48", "main.sac").is_none());
        assert_eq!(current.other_edition("Rand48"), Some("2024"));
        assert!(older.find_module("Rand48", "main.sac").is_some());
        for (function, replaced) in [("take", true), ("drop", true), ("tile", false)] {
            assert_eq!(is_replaced(Edition::Until2024, behind, function), replaced);
            assert!(
                !is_replaced(Edition::Until2024, front, function) && !is_replaced(Edition::Current, behind, function)
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn endless_devices_are_refused() {
        assert!(read_text(Path::new("/dev/zero")).is_err_and(|why| why.starts_with("it is longer than")));
    }
}
