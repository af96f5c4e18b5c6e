//! Rename: all places that mean the same, and a second look that the renamed program means what it meant.
//!
//! Names are resolved again in the renamed texts. If any name of the user's files then stands for another definition, or an error comes or goes,
//! nothing is renamed, and the answer says why.

use ravel_core::facts::{Def, DefKind};
use ravel_driver::facts::Facts;
use ravel_driver::files::is_library;
use ravel_driver::nearby::{below, beside};
use ravel_driver::project::{self, Access, Projects};
use ravel_driver::{Options, keywords};
use ravel_source::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Stack of the thread that resolves names.
const STACK: usize = 1 << 28;
/// Entries of a folder without a package that are looked at for files.
const MOST_BESIDE: usize = 200;
/// The same of a package or an open folder, with all folders in it.
const MOST_ENTRIES: usize = 20_000;
/// Files that are resolved again.
const MOST_FILES: usize = 300;

/// A place as every look at the program knows it: the file's name, and the byte where it begins.
type Place = (String, u32);

/// What is to be renamed.
pub struct Wish {
    pub options: Options,
    /// The file that the name stands in, and the byte.
    pub path: PathBuf,
    pub byte: u32,
    pub name: String,
    /// Further files that are open.
    pub others: Vec<PathBuf>,
    /// Folders that are open.
    pub folders: Vec<PathBuf>,
}

/// The places to change, by file, and how long each is.
pub struct Renamed {
    pub places: BTreeMap<String, BTreeSet<u32>>,
    pub old: usize,
    /// The texts that these are places of.
    pub texts: BTreeMap<String, String>,
}

/// Renames on a thread with a stack that programs fit on.
///
/// # Errors
/// Why it cannot be renamed.
pub fn rename(wish: Wish) -> Result<Renamed, String> {
    let work = std::thread::Builder::new().name("ravel-rename".to_string()).stack_size(STACK);
    let thread = work.spawn(move || renamed(&wish)).map_err(|error| format!("cannot start a thread: {error}"))?;
    thread.join().unwrap_or_else(|_| Err("this is a bug in Ravel; please report it with the program".to_string()))
}

fn renamed(wish: &Wish) -> Result<Renamed, String> {
    let new = &wish.name;
    let is_name = new.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && new.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && new != "_";
    if !is_name {
        return Err(format!("`{new}` is not a name"));
    }
    if keywords().any(|word| word == new) {
        return Err(format!("`{new}` is a word of the language"));
    }
    let mut packages = Packages::default();
    // Whether it is a field is known when names are: a first look that stops there is a short one.
    let mut depth = Depth::Names;
    let mut first = Look::new(packages.options(&wish.options, &wish.path)?, &wish.path, depth);
    let is_field = |look: &Look| {
        let file = look.facts.file(&wish.path.display().to_string())?;
        look.facts
            .use_at(file, wish.byte)?
            .defs
            .first()
            .map(|def| look.facts.defs[*def as usize].kind == DefKind::Field)
    };
    if is_field(&first) != Some(false) {
        depth = Depth::Values;
        first = Look::new(packages.options(&wish.options, &wish.path)?, &wish.path, depth);
    }
    let file = first.facts.file(&wish.path.display().to_string()).ok_or("this file cannot be read")?;
    let found = first.facts.use_at(file, wish.byte).ok_or("there is no name here that can be changed")?;
    let defs: Vec<&Def> = found.defs.iter().filter_map(|def| first.facts.defs.get(*def as usize)).collect();
    let def = *defs.first().ok_or("nothing is known of this name")?;
    if def.kind == DefKind::Module {
        return Err("a module is called as its file".to_string());
    }
    if defs.iter().all(|def| def.library) {
        return Err(format!("`{}` belongs to the library", def.name));
    }
    let old = def.name.to_string();
    if old == *new {
        return Err(format!("it is called `{new}` already"));
    }
    if !old.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return Err("operators keep their names".to_string());
    }
    let (is_local, def_is_field) = (def.kind.is_local(), def.kind == DefKind::Field);
    let mut wanted: BTreeSet<Place> = defs.iter().filter_map(|def| place(&first.facts, def.span)).collect();
    let mut looks = vec![first];
    if !is_local {
        for path in mentions(wish, &old)? {
            looks.push(Look::new(packages.options(&wish.options, &path)?, &path, depth));
        }
    }
    // One look may find further definitions that the others have to follow.
    loop {
        let before = wanted.len();
        for look in &looks {
            look.follow(&mut wanted)?;
        }
        if wanted.len() == before {
            break;
        }
    }
    if def_is_field {
        looks.iter().try_for_each(|look| look.knows_fields(&old))?;
    }
    let mut renamed = Renamed { places: BTreeMap::new(), old: old.len(), texts: BTreeMap::new() };
    for look in &looks {
        for (name, at) in look.places(&wanted) {
            if packages.is_fetched(Path::new(&name)) {
                return Err(format!("{name} belongs to a package that others keep"));
            }
            let text = look.text(&name).ok_or("a file cannot be read")?;
            renamed.texts.entry(name.clone()).or_insert_with(|| text.to_string());
            renamed.places.entry(name).or_default().insert(at);
        }
    }
    let mut options = wish.options.clone();
    for (name, places) in &renamed.places {
        let mut text = renamed.texts[name].clone();
        for at in places.iter().rev() {
            let range = *at as usize..*at as usize + old.len();
            if text.get(range.clone()) != Some(&old) {
                return Err(format!("a name in {name} is not `{old}` as it stands there"));
            }
            text.replace_range(range, new);
        }
        options.texts.set(PathBuf::from(name), text);
    }
    for look in &looks {
        look.compare(&Look::new(packages.options(&options, &look.path)?, &look.path, depth), &renamed, new)?;
    }
    Ok(renamed)
}

/// Other files that mention the definition or the new name: those that are open, and those of the package and of open folders.
fn mentions(wish: &Wish, old: &str) -> Result<Vec<PathBuf>, String> {
    let mut paths: Vec<PathBuf> = wish.others.clone();
    let folders = wish.folders.iter().filter(|folder| wish.path.starts_with(folder)).cloned();
    let folders: Vec<PathBuf> = project::find(&wish.path).into_iter().chain(folders).collect();
    for folder in &folders {
        let found = below(folder, MOST_ENTRIES);
        paths.extend(found.ok_or_else(|| format!("{} has too many files to look at", folder.display()))?);
    }
    if folders.is_empty() {
        paths.extend(wish.path.parent().map_or(Vec::new(), |folder| beside(folder, MOST_BESIDE)));
    }
    let mut seen = BTreeSet::from([wish.path.clone()]);
    let is_meant = |text: &str| text.contains(old) || text.contains(&wish.name);
    paths.retain(|path| seen.insert(path.clone()) && wish.options.texts.read(path).is_ok_and(|text| is_meant(&text)));
    match paths.len() {
        ..=MOST_FILES => Ok(paths),
        many => Err(format!("{many} files mention `{old}` or `{}`: that is too many to look at", wish.name)),
    }
}

/// The packages of files, with what they need.
#[derive(Default)]
struct Packages {
    projects: Projects,
    /// Folders of packages that came by git.
    fetched: BTreeSet<PathBuf>,
}

impl Packages {
    /// The options that a file is resolved with.
    fn options(&mut self, options: &Options, path: &Path) -> Result<Options, String> {
        let mut options = options.clone();
        match self.projects.of(path, Access::of_reader()) {
            Ok(Some(project)) => {
                project.apply(&mut options, Some(path));
                let fetched = project.packages.iter().filter(|package| package.locked.is_some());
                self.fetched.extend(fetched.map(|package| package.folder.clone()));
            }
            Ok(None) => {}
            Err(_) => return Err("the package of this file is not in order".to_string()),
        }
        Ok(options)
    }

    fn is_fetched(&self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        self.fetched.iter().any(|folder| real.starts_with(folder))
    }
}

/// How far a program is looked at.
#[derive(Clone, Copy)]
enum Depth {
    Names,
    /// Which record a field belongs to is known with the values only.
    Values,
}

fn place(facts: &Facts, span: Span) -> Option<Place> {
    Some((facts.map.get(span.file)?.name.clone(), span.start))
}

/// Whether definitions of one name in one module go together.
fn has_overloads(def: &Def) -> bool {
    !def.kind.is_local() && def.kind != DefKind::Field
}

fn line_of(text: &str, at: u32) -> usize {
    text.get(..at as usize).unwrap_or_default().matches('\n').count() + 1
}

fn short(name: &str) -> String {
    Path::new(name).file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// A program as its names are resolved.
struct Look {
    path: PathBuf,
    facts: Facts,
    /// Code and place of each error.
    errors: BTreeSet<(&'static str, Place)>,
}

impl Look {
    fn new(options: Options, path: &Path, depth: Depth) -> Look {
        let (compilation, facts) = match depth {
            Depth::Names => Facts::of_names(options, path),
            Depth::Values => Facts::analyse(options, path, false),
        };
        let errors = compilation.diagnostics.iter().filter(|report| report.is_error());
        let errors = errors.map(|report| (report.code.name(), place(&facts, report.span()).unwrap_or_default()));
        Look { path: path.to_path_buf(), errors: errors.collect(), facts }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.facts.map.files().find(|(_, file)| file.name == name).map(|(_, file)| &*file.text)
    }

    /// Adds what is called the same for the reason that the wanted definitions are.
    fn follow(&self, wanted: &mut BTreeSet<Place>) -> Result<(), String> {
        let is_wanted = |def: &Def, wanted: &BTreeSet<Place>| {
            place(&self.facts, def.span).is_some_and(|place| wanted.contains(&place))
        };
        let mut group: BTreeSet<usize> =
            (0..self.facts.defs.len()).filter(|at| is_wanted(&self.facts.defs[*at], wanted)).collect();
        loop {
            let before = group.len();
            let named: Vec<(&str, &str)> = group
                .iter()
                .map(|at| &self.facts.defs[*at])
                .filter(|def| has_overloads(def))
                .map(|def| (&*def.name, &*def.module))
                .collect();
            let same = |def: &Def| has_overloads(def) && named.contains(&(&*def.name, &*def.module));
            let overloads: Vec<usize> = (0..self.facts.defs.len()).filter(|at| same(&self.facts.defs[*at])).collect();
            group.extend(overloads);
            for found in &self.facts.uses {
                if found.defs.iter().any(|def| group.contains(&(*def as usize))) {
                    group.extend(found.defs.iter().map(|def| *def as usize));
                }
            }
            if group.len() == before {
                break;
            }
        }
        for def in group.iter().map(|at| &self.facts.defs[*at]) {
            if def.library {
                return Err(format!(
                    "`{}` is a name of the library's module {} as well, and stands for both at the same places",
                    def.name, def.module
                ));
            }
            wanted.extend(place(&self.facts, def.span));
        }
        Ok(())
    }

    /// That every field of this name has a record.
    fn knows_fields(&self, name: &str) -> Result<(), String> {
        match self.facts.open_fields.iter().find(|(_, field)| **field == *name) {
            Some((span, _)) => {
                let (file, at) = place(&self.facts, *span).unwrap_or_default();
                let line = line_of(self.text(&file).unwrap_or_default(), at);
                Err(format!("nobody knows which record `{name}` in line {line} of {} belongs to", short(&file)))
            }
            None => Ok(()),
        }
    }

    /// Where the wanted definitions are mentioned.
    fn places<'l>(&'l self, wanted: &'l BTreeSet<Place>) -> impl Iterator<Item = Place> + 'l {
        let is_wanted = |def: &u32| {
            let def = &self.facts.defs[*def as usize];
            place(&self.facts, def.span).is_some_and(|place| wanted.contains(&place))
        };
        let uses = self.facts.uses.iter().filter(move |found| found.defs.iter().any(is_wanted));
        uses.filter_map(|found| place(&self.facts, found.span))
    }

    /// All names of the user's files and what they mean, each place moved as the edits move it.
    fn graph(&self, moved: &dyn Fn(Place) -> Place) -> BTreeMap<Place, BTreeSet<Place>> {
        let own = self.facts.uses.iter().filter(|found| self.facts.is_own(found.span.file));
        let names = own.filter_map(|found| {
            let defs = found.defs.iter().filter_map(|def| place(&self.facts, self.facts.defs[*def as usize].span));
            Some((moved(place(&self.facts, found.span)?), defs.map(moved).collect()))
        });
        names.collect()
    }

    /// Whether names mean the same after the edits.
    fn compare(&self, after: &Look, renamed: &Renamed, new: &str) -> Result<(), String> {
        let moved = |(name, at): Place| {
            if is_library(&name) {
                return (name, at);
            }
            let before = renamed.places.get(&name).map_or(0, |places| places.range(..at).count());
            let start = at as usize + before * new.len() - before * renamed.old;
            (name, u32::try_from(start).unwrap_or(u32::MAX))
        };
        let line = |(name, at): &Place| {
            let line = line_of(after.text(name).unwrap_or_default(), *at);
            format!("line {line} of {}", short(name))
        };
        let (old, now) = (self.graph(&moved), after.graph(&|place| place));
        if let Some((at, _)) = old.iter().find(|(at, defs)| now.get(*at) != Some(*defs)) {
            return Err(format!("a name in {} would mean something else", line(at)));
        }
        if let Some((at, _)) = now.iter().find(|(at, _)| !old.contains_key(*at)) {
            return Err(format!("a name in {} would mean something else", line(at)));
        }
        let errors: BTreeSet<_> = self.errors.iter().cloned().map(|(code, place)| (code, moved(place))).collect();
        match after.errors.symmetric_difference(&errors).next() {
            Some((_, at)) => Err(format!("there would be other errors in {}", line(at))),
            None => Ok(()),
        }
    }
}
