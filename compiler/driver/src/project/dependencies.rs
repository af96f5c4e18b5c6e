//! From a manifest to the packages that it needs, also those that these need.
//!
//! There is no choice of versions: two packages that want different revisions of a third one are an error, and so are two with one name.
//! Names of modules are global in SaC, so two packages with one module are an error as well.

use crate::files::{header, read_text};
use crate::project::git::{Repository, Revision, Trouble, address, is_path};
use crate::project::lock::{Lock, Locked};
use crate::project::manifest::{Dependency, MANIFEST, Manifest, Origin};
use crate::project::{Access, Broken};
use ravel_diagnostics::{Code, Diagnostic, did_you_mean};
use ravel_source::{SourceMap, Span};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// A package that the first one needs.
#[derive(Clone, Debug)]
pub struct Package {
    pub name: String,
    /// Without links.
    pub folder: PathBuf,
    /// Where modules are searched.
    pub sources: PathBuf,
    pub has_manifest: bool,
    /// Names of packages from the first one to this.
    pub trail: Vec<String>,
    /// What it is in the lock file, if it comes by git.
    pub locked: Option<Locked>,
    /// The place in a manifest that asks for it.
    asked: Span,
    /// As reports name where it comes from.
    place: String,
}

/// What was found.
pub struct Found {
    /// Those that the first package names itself stand first.
    pub packages: Vec<Package>,
    pub lock: Lock,
}

struct Resolver<'a> {
    root: &'a Path,
    access: Access,
    old: Lock,
    lock: Lock,
    map: &'a mut SourceMap,
    reports: Vec<Diagnostic>,
    packages: Vec<Package>,
    /// Repositories that were fetched in this run, and whether that worked.
    fetched: BTreeMap<String, Result<(), Trouble>>,
}

/// A package on the way from the first one.
struct Step<'a> {
    manifest: &'a Manifest,
    folder: PathBuf,
    trail: Vec<String>,
    /// Paths may not leave this folder: the checkout that the package is part of.
    fence: Option<PathBuf>,
}

/// Finds all that a manifest needs.
///
/// # Errors
/// Something cannot be had, or does not fit.
pub fn resolve(manifest: &Manifest, access: Access, mut map: SourceMap) -> Result<(Found, SourceMap), Box<Broken>> {
    let root = super::non_empty(&manifest.folder).canonicalize().unwrap_or_else(|_| manifest.folder.clone());
    let old = match Lock::read(&manifest.folder, &mut map) {
        Ok(lock) => lock,
        Err(report) => return Err(Box::new(Broken { map, diagnostics: vec![*report] })),
    };
    let lock = Lock { vendor: old.vendor.clone(), packages: Vec::new() };
    let first = Package {
        name: manifest.name.clone(),
        folder: root.clone(),
        sources: manifest.source_folder(),
        has_manifest: true,
        trail: vec![manifest.name.clone()],
        locked: None,
        asked: manifest.name_span,
        place: "the package itself".to_string(),
    };
    let mut resolver = Resolver {
        root: &root,
        access,
        old,
        lock,
        map: &mut map,
        reports: Vec::new(),
        packages: vec![first],
        fetched: BTreeMap::new(),
    };
    let step = Step { manifest, folder: root.clone(), trail: vec![manifest.name.clone()], fence: None };
    resolver.visit(&step, &[(root.clone(), manifest.name.clone())]);
    if resolver.reports.is_empty() {
        resolver.find_module_twins();
    }
    let Resolver { reports, mut packages, mut lock, .. } = resolver;
    if !reports.is_empty() {
        return Err(Box::new(Broken { map, diagnostics: reports }));
    }
    packages.remove(0);
    // Stable: in the order of the manifests.
    packages.sort_by_key(|package| package.trail.len());
    lock.settle();
    if lock.packages.is_empty() {
        lock.vendor = None;
    }
    Ok((Found { packages, lock }, map))
}

impl Resolver<'_> {
    /// Adds what a package needs; `chain` has the folders and names from the first one.
    fn visit(&mut self, step: &Step<'_>, chain: &[(PathBuf, String)]) {
        for dependency in &step.manifest.dependencies {
            match self.locate(dependency, step) {
                Ok(located) => self.take(dependency, step, chain, located),
                Err(report) => self.reports.push(*report),
            }
        }
    }

    fn take(&mut self, dependency: &Dependency, step: &Step<'_>, chain: &[(PathBuf, String)], located: Located) {
        let Located { folder, fence, locked, place } = located;
        if let Some(at) = chain.iter().position(|(known, _)| *known == folder) {
            let names: Vec<&str> = chain[at..].iter().map(|(_, name)| name.as_str()).collect();
            let title = match &names[..] {
                [name] => format!("`{name}` needs itself"),
                _ => format!("packages need each other: {} → {}", names.join(" → "), names[0]),
            };
            let report = Diagnostic::error(Code::PackageCycle, title);
            self.reports.push(report.at(dependency.span, "this closes the cycle"));
            return;
        }
        let mut trail = step.trail.clone();
        trail.push(dependency.name.clone());
        if let Some(known) = self.packages.iter().find(|known| known.name == dependency.name) {
            if known.folder != folder {
                let report = conflict(known, dependency, &trail, &place);
                self.reports.push(report);
            }
            return;
        }
        let has_manifest = folder.join(MANIFEST).is_file();
        let shown = super::spelled(&folder);
        let mut manifest = None;
        if has_manifest {
            manifest = Manifest::read(&shown, self.map, &mut self.reports);
            // It has been reported.
            let Some(manifest) = &manifest else { return };
            if manifest.name != dependency.name {
                let report = Diagnostic::error(
                    Code::MissingPackage,
                    format!("the package there is `{}`, not `{}`", manifest.name, dependency.name),
                );
                let report = report.at(dependency.span, "wanted by this name");
                let report = report.with_label(manifest.name_span, "but this is its name");
                self.reports.push(report.with_help(format!("write `{} = ...`", manifest.name)));
                return;
            }
        }
        let sources = shown.join("src");
        let sources = if has_manifest || sources.is_dir() { sources } else { shown };
        self.packages.push(Package {
            name: dependency.name.clone(),
            folder: folder.clone(),
            sources,
            has_manifest,
            trail: trail.clone(),
            locked,
            asked: dependency.rev_span,
            place,
        });
        if let Some(manifest) = &manifest {
            let mut chain = chain.to_vec();
            chain.push((folder.clone(), dependency.name.clone()));
            self.visit(&Step { manifest, folder, trail, fence }, &chain);
        }
    }

    fn locate(&mut self, dependency: &Dependency, step: &Step<'_>) -> Result<Located, Box<Diagnostic>> {
        match &dependency.source {
            Origin::Path(path) => {
                let missing = |title: String, label: &str| {
                    Box::new(Diagnostic::error(Code::MissingPackage, title).at(dependency.place, label))
                };
                let folder = step.folder.join(path);
                let folder = folder.canonicalize().ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
                    missing(format!("there is no folder {}", path.display()), "searched from the folder of this file")
                })?;
                if step.fence.as_ref().is_some_and(|fence| !folder.starts_with(fence)) {
                    return Err(missing(
                        format!("{} leaves the repository", path.display()),
                        "only what is in it is fetched",
                    ));
                }
                let place = path.display().to_string();
                Ok(Located { folder, fence: step.fence.clone(), locked: None, place })
            }
            Origin::Git { url, rev } => {
                let address = address(url, &step.folder);
                // Other machines have the package elsewhere.
                let is_relative = is_path(url) && Path::new(url).is_relative();
                let key = if is_relative { relative(Path::new(&address), self.root) } else { address.clone() };
                self.git(dependency, &address, &key, rev.as_deref()).map_err(|trouble| {
                    let mut report = Diagnostic::error(Code::MissingPackage, trouble.title);
                    report = report.at(dependency.place, "");
                    report.notes = trouble.notes;
                    report.help = trouble.help;
                    Box::new(report)
                })
            }
        }
    }

    /// `key` is the address as the lock file has it.
    fn git(&mut self, dependency: &Dependency, url: &str, key: &str, rev: Option<&str>) -> Result<Located, Trouble> {
        let name = dependency.name.clone();
        let known = if self.access.update { None } else { self.old.find(key, rev).cloned() };
        if known.is_none() && self.access.locked {
            return Err(Trouble::new(format!("`{name}` is not in ravel.lock in this revision"))
                .with_help("`ravel fetch` writes it; --locked forbids that"));
        }
        let revision = known.map(|locked| locked.revision);
        let place = match rev {
            Some(rev) => format!("{url} at {rev}"),
            None => url.to_string(),
        };
        let located = |this: &mut Self, folder: PathBuf, revision: Revision| {
            let folder = folder.canonicalize().unwrap_or(folder);
            let locked = Locked { name: name.clone(), git: key.to_string(), rev: rev.map(str::to_string), revision };
            this.lock.packages.push(locked.clone());
            Located { fence: Some(folder.clone()), folder, locked: Some(locked), place: place.clone() }
        };
        if let (Some(revision), Some(vendor)) = (&revision, &self.old.vendor) {
            let folder = self.root.join(vendor).join(vendored(&name, revision));
            if folder.is_dir() {
                return Ok(located(self, folder, revision.clone()));
            }
        }
        let repository = Repository::new(url)?;
        if let Some(revision) = &revision {
            let folder = repository.checkout_folder(&revision.commit);
            if folder.is_dir() {
                return Ok(located(self, folder, revision.clone()));
            }
        }
        let revision = self.revision(&repository, url, rev, revision)?;
        let folder = repository.checkout(&revision.commit)?;
        Ok(located(self, folder, revision))
    }

    /// What a revision means, and that it is in the cache.
    fn revision(
        &mut self,
        repository: &Repository,
        url: &str,
        rev: Option<&str>,
        locked: Option<Revision>,
    ) -> Result<Revision, Trouble> {
        let wanted = locked.as_ref().map(|locked| locked.commit.as_str()).or(rev);
        // A branch moves: only who asks for news gets them.
        let mut found = if repository.is_here() && !self.access.update { repository.resolve(wanted)? } else { None };
        if found.is_none() {
            if self.access.offline {
                return Err(Trouble::new(format!("{url} is not in the cache as it is wanted"))
                    .with_help("`ravel fetch` gets it, without --offline"));
            }
            (self.access.note)(&format!("fetching {url}"));
            let fetched = self.fetched.entry(url.to_string()).or_insert_with(|| repository.fetch());
            fetched.clone()?;
            found = repository.resolve(wanted)?;
        }
        let Some(found) = found else {
            let Some(wanted) = wanted else { return Err(Trouble::new(format!("{url} has no commit"))) };
            let names = repository.names();
            let trouble = Trouble::new(format!("{url} has no revision `{wanted}`"));
            return Err(match did_you_mean(wanted, names.iter().map(String::as_str)) {
                Some(close) => trouble.with_help(format!("did you mean `{close}`?")),
                None if locked.is_some() => trouble.with_help("it was there once; `ravel fetch --update` looks anew"),
                None => trouble.with_help("a tag, a branch, or a commit of one"),
            });
        };
        if locked.is_some_and(|locked| locked != found) {
            return Err(Trouble::new(format!("the files of {url} are not those that ravel.lock means"))
                .with_help("the hash of the tree differs; `ravel fetch --update` writes the new one"));
        }
        Ok(found)
    }

    /// Reports modules that two packages have.
    fn find_module_twins(&mut self) {
        if self.packages.len() < 2 {
            return;
        }
        let mut known: BTreeMap<String, (usize, PathBuf)> = BTreeMap::new();
        for at in 0..self.packages.len() {
            for (module, file) in modules(&self.packages[at].sources) {
                let Some((other, first)) = known.get(&module).cloned() else {
                    known.insert(module, (at, file));
                    continue;
                };
                if other == at {
                    // The search for modules says so.
                    continue;
                }
                let title = format!("two packages have a module `{module}`");
                let mut report = Diagnostic::error(Code::ModuleInTwoPackages, title);
                for (at, file) in [(other, &first), (at, &file)] {
                    let (span, package) = (self.header_span(file, &module), &self.packages[at].name);
                    report = report.at(span, format!("in `{package}`: {}", file.display()));
                }
                self.reports.push(report.with_note("names of modules are global in SaC"));
            }
        }
    }

    fn header_span(&mut self, file: &Path, module: &str) -> Span {
        let Ok(text) = read_text(file) else { return Span::NONE };
        let start = header(&text).map_or(0, |name| name.as_ptr() as usize - text.as_ptr() as usize);
        let id = self.map.add(file.display().to_string(), text);
        Span::new(id, start, start + module.len())
    }
}

/// A package that is there.
struct Located {
    folder: PathBuf,
    fence: Option<PathBuf>,
    locked: Option<Locked>,
    place: String,
}

/// A path from a folder; neither has links or dots.
fn relative(path: &Path, folder: &Path) -> String {
    let same = path.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, folder.components().count() - same);
    up.chain(path.components().skip(same)).collect::<PathBuf>().display().to_string()
}

/// The folder of a package's copy.
pub fn vendored(name: &str, revision: &Revision) -> String {
    format!("{name}-{}", &revision.commit[..12])
}

fn conflict(known: &Package, dependency: &Dependency, trail: &[String], place: &str) -> Diagnostic {
    let title = format!("`{}` is wanted from two places", dependency.name);
    let report = Diagnostic::error(Code::RevisionConflict, title);
    let report = report.at(dependency.rev_span, format!("{}: {place}", trail.join(" → ")));
    let report = report.with_label(known.asked, format!("{}: {}", known.trail.join(" → "), known.place));
    report.with_note("a program has one copy of each package; both manifests must ask for the same")
}

/// The modules of a folder by name, with their files.
fn modules(folder: &Path) -> Vec<(String, PathBuf)> {
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = std::fs::read_dir(shown) else { return Vec::new() };
    let mut names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    names.sort();
    let files = names.into_iter().map(|name| folder.join(name));
    let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "sac") && file.is_file());
    files.filter_map(|file| Some((header(&read_text(&file).ok()?)?.to_string(), file))).collect()
}
