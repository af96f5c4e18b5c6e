//! Packages: folders with a `ravel.toml`, what they need, and where that is found.
//!
//! A manifest only finds things: it adds folders to the search for modules, and macros. Without one nothing changes.

pub mod dependencies;
pub mod git;
pub mod lock;
pub mod manifest;
pub mod vendor;

pub use dependencies::Package;
pub use lock::{LOCK, Lock};
pub use manifest::{MANIFEST, Manifest, TestTable, check_name};

use crate::pipeline::{Compilation, Options};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::SourceMap;
use ravel_syntax::MacroOption;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Levels above the current folder that paths are shown from it; others are shown from the root.
const MOST_LEVELS: usize = 3;

/// What may be done to get packages.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The network is not asked.
    pub offline: bool,
    /// What the lock file does not have is an error.
    pub locked: bool,
    /// Tags and branches are looked up anew.
    pub update: bool,
    /// The lock file is written if it changes.
    pub writes_lock: bool,
    /// Hears what takes time.
    pub note: fn(&str),
}

impl Access {
    /// For an editor: nothing but looking.
    pub fn of_reader() -> Access {
        Access { offline: true, locked: false, update: false, writes_lock: false, note: |_| {} }
    }
}

/// Packages that do not fit together, and why.
#[derive(Clone, Debug)]
pub struct Broken {
    pub map: SourceMap,
    pub diagnostics: Vec<Diagnostic>,
}

impl Broken {
    /// As a compilation that found nothing else.
    pub fn compilation(&self, options: Options) -> Compilation {
        let mut compilation = Compilation::new(options);
        compilation.map = self.map.clone();
        compilation.diagnostics.clone_from(&self.diagnostics);
        compilation
    }
}

/// A package with all that it needs.
#[derive(Clone, Debug)]
pub struct Project {
    pub manifest: Manifest,
    pub packages: Vec<Package>,
    pub lock: Lock,
    /// The manifests that were read, and the lock file.
    pub files: Vec<PathBuf>,
    map: SourceMap,
}

impl Project {
    /// The package in a folder, with what it needs.
    ///
    /// # Errors
    /// What is wrong with manifests, or cannot be had.
    pub fn open(folder: &Path, access: Access) -> Result<Project, Box<Broken>> {
        let (mut map, mut diagnostics) = (SourceMap::default(), Vec::new());
        let Some(manifest) = Manifest::read(folder, &mut map, &mut diagnostics) else {
            return Err(Box::new(Broken { map, diagnostics }));
        };
        let (found, map) = dependencies::resolve(&manifest, access, map)?;
        if access.writes_lock
            && !access.locked
            && let Err(why) = found.lock.write(folder)
        {
            let title = format!("cannot write {}: {why}", folder.join(LOCK).display());
            return Err(Box::new(Broken { map, diagnostics: vec![Diagnostic::error(Code::LockOutdated, title)] }));
        }
        let mut files = vec![folder.join(MANIFEST), folder.join(LOCK)];
        let others = found.packages.iter().filter(|package| package.has_manifest);
        files.extend(others.map(|package| package.folder.join(MANIFEST)));
        Ok(Project { manifest, packages: found.packages, lock: found.lock, files, map })
    }

    /// The folders in which modules are searched, in order.
    pub fn folders(&self) -> Vec<PathBuf> {
        let own = self.manifest.source_folder();
        std::iter::once(own).chain(self.packages.iter().map(|package| package.sources.clone())).collect()
    }

    /// Lets a compilation of `file` find what the package has. The options of the command line decide over the manifest.
    pub fn apply(&self, options: &mut Options, file: Option<&Path>) {
        let beside = file.and_then(Path::parent);
        let real = |folder: &Path| non_empty(folder).canonicalize().ok();
        let real_beside = beside.and_then(real);
        // A file has one name in a compilation, and that of the command line comes first.
        let folders = self.folders().into_iter().map(|folder| match (beside, &real_beside) {
            (Some(beside), Some(real_beside)) if real(&folder).as_ref() == Some(real_beside) => beside.to_path_buf(),
            _ => folder,
        });
        options.folders.splice(0..0, folders.filter(|folder| non_empty(folder).is_dir()));
        let macros = self.manifest.define.iter().filter(|text| !is_settled(text, &options.macros));
        let macros: Vec<MacroOption> = macros.cloned().map(MacroOption::Define).collect();
        options.macros.splice(0..0, macros);
    }

    /// The files that are meant where none is named.
    ///
    /// # Errors
    /// A root is not there, or there is none.
    pub fn roots(&self) -> Result<Vec<PathBuf>, Box<Broken>> {
        let folder = &self.manifest.folder;
        let broken = |report: Diagnostic| Box::new(Broken { map: self.map.clone(), diagnostics: vec![report] });
        let mut roots = Vec::new();
        for root in &self.manifest.roots {
            let path = folder.join(&root.path);
            if !path.is_file() {
                let title = format!("there is no file {}", path.display());
                return Err(broken(Diagnostic::error(Code::BadManifest, title).at(root.span, "")));
            }
            roots.push(path);
        }
        if roots.is_empty() {
            let usual = folder.join("src/main.sac");
            if !usual.is_file() {
                let report = Diagnostic::error(Code::BadManifest, "the package has no roots");
                let report = report.at(self.manifest.name_span, "");
                return Err(broken(report.with_help("add `roots = [\"src/...\"]` to `[package]`")));
            }
            roots.push(usual);
        }
        Ok(roots)
    }
}

/// Whether the command line says something about a macro.
fn is_settled(definition: &str, macros: &[MacroOption]) -> bool {
    let name = |text: &str| text.split(['=', '(']).next().unwrap_or_default().to_string();
    macros.iter().any(|given| match given {
        MacroOption::Define(text) | MacroOption::Undefine(text) => name(text) == name(definition),
    })
}

/// The folder of the package that a file or folder is part of.
pub fn find(path: &Path) -> Option<PathBuf> {
    let start = if path.is_dir() { path } else { non_empty(path.parent().unwrap_or(Path::new(""))) };
    let real = start.canonicalize().ok()?;
    let root = real.ancestors().find(|folder| folder.join(MANIFEST).is_file())?;
    // In the words of whoever gave the path.
    let is_plain = |path: &Path| !path.components().any(|part| part == Component::ParentDir);
    let given = start.ancestors().filter(|folder| is_plain(folder));
    let mut given = given.filter(|folder| non_empty(folder).canonicalize().is_ok_and(|real| real == root));
    let found = given.next().map_or_else(|| spelled(root), Path::to_path_buf);
    Some(if found == Path::new(".") { PathBuf::new() } else { found })
}

/// Packages by folder, each opened once.
#[derive(Default)]
pub struct Projects {
    known: HashMap<PathBuf, Result<Arc<Project>, Arc<Broken>>>,
}

impl Projects {
    /// The package of a file; nothing if it is part of none.
    ///
    /// # Errors
    /// The package is broken.
    pub fn of(&mut self, path: &Path, access: Access) -> Result<Option<Arc<Project>>, Arc<Broken>> {
        let Some(folder) = find(path) else { return Ok(None) };
        let open = || Project::open(&folder, access).map(Arc::new).map_err(|broken| Arc::from(*broken));
        self.known.entry(folder.clone()).or_insert_with(open).clone().map(Some)
    }
}

/// The empty path means the current folder.
fn non_empty(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// A real path as people near it would write it.
pub(crate) fn spelled(path: &Path) -> PathBuf {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    for (level, above) in here.ancestors().enumerate().take(MOST_LEVELS + 1) {
        // The root of all files is above everything.
        if let (Ok(rest), Some(_)) = (path.strip_prefix(above), above.parent()) {
            return std::iter::repeat_n("..", level).collect::<PathBuf>().join(rest);
        }
    }
    path.to_path_buf()
}
