//! Where texts come from: the user's folders, `-I` and `RAVEL_PATH`, and the library inside the binary.

use ravel_core::{Loader, ModulePlace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod library {
    include!(concat!(env!("OUT_DIR"), "/library.rs"));
}

/// Names of library files begin with this, in diagnostics too.
pub const LIBRARY: &str = "<library>/";

/// Modules that most programs use, first: they are tried first when a name is unknown.
const COMMON: &[&str] = &[
    "Array",
    "StdIO",
    "Math",
    "MathArray",
    "Structures",
    "String",
    "CommandLine",
];

/// File access for the core stage.
pub struct FileLoader {
    folders: Vec<PathBuf>,
}

impl FileLoader {
    /// Searches `folders` after the folder of the mentioning file and before the library.
    pub fn new(folders: Vec<PathBuf>) -> FileLoader {
        FileLoader { folders }
    }

    /// The folders given by the environment variable `RAVEL_PATH`.
    pub fn environment_path() -> Vec<PathBuf> {
        std::env::var_os("RAVEL_PATH")
            .map(|path| std::env::split_paths(&path).collect())
            .unwrap_or_default()
    }

    fn library_file(module: &str) -> Option<&'static (&'static str, &'static str)> {
        library::FILES.iter().find(|(name, _)| {
            Path::new(name)
                .file_stem()
                .is_some_and(|stem| stem == module)
        })
    }
}

/// Whether a file name of the source map denotes a library file.
pub fn is_library(name: &str) -> bool {
    name.starts_with(LIBRARY)
}

/// The text of a file of the user.
///
/// # Errors
/// Why it cannot be read, in words; text that is not UTF-8 is no error (each bad byte becomes U+FFFD, which the lexer reports).
pub fn read_text(path: &Path) -> Result<Arc<str>, String> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into()),
        Err(error) => Err(match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_string(),
            std::io::ErrorKind::PermissionDenied => "permission denied".to_string(),
            std::io::ErrorKind::IsADirectory => "it is a folder".to_string(),
            _ => error.to_string(),
        }),
    }
}

impl Loader for FileLoader {
    fn find_module(&mut self, module: &str, from: &str) -> Option<ModulePlace> {
        let file = format!("{module}.sac");
        let in_library = FileLoader::library_file(module);
        if !is_library(from) {
            let beside = Path::new(from).parent().map(|dir| dir.join(&file));
            let found = beside
                .into_iter()
                .chain(self.folders.iter().map(|dir| dir.join(&file)))
                .find(|path| path.is_file());
            if let Some(path) = found {
                let hides_library = in_library.is_some();
                return Some(ModulePlace {
                    name: path.display().to_string(),
                    library: false,
                    hides_library,
                });
            }
        }
        in_library.map(|(name, _)| ModulePlace {
            name: format!("{LIBRARY}{name}"),
            library: true,
            hides_library: false,
        })
    }

    fn find_include(&mut self, path: &str, from: &str) -> Option<String> {
        if is_library(from) {
            return None;
        }
        let beside = Path::new(from).parent().map(|dir| dir.join(path));
        let mut places = beside
            .into_iter()
            .chain(self.folders.iter().map(|dir| dir.join(path)));
        places
            .find(|path| path.is_file())
            .map(|path| path.display().to_string())
    }

    fn read(&mut self, name: &str) -> Result<Arc<str>, String> {
        match name.strip_prefix(LIBRARY) {
            Some(inner) => library::FILES
                .iter()
                .find(|(file, _)| *file == inner)
                .map(|(_, text)| Arc::from(*text))
                .ok_or_else(|| "no such library file".to_string()),
            None => read_text(Path::new(name)),
        }
    }

    fn library_modules(&mut self) -> Vec<String> {
        let mut names: Vec<String> = COMMON.iter().map(ToString::to_string).collect();
        for (file, _) in library::FILES {
            if let Some(stem) = Path::new(file).file_stem().and_then(|s| s.to_str())
                && !COMMON.contains(&stem)
            {
                names.push(stem.to_string());
            }
        }
        names
    }
}
