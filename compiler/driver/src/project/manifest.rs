//! `ravel.toml`: what a package says about itself.
//!
//! A manifest only finds things. What it says wrong is reported at its place in the file, as mistakes of programs are.

use crate::files::read_text;
use crate::project::git::admitted;
use ravel_diagnostics::{Code, Diagnostic, did_you_mean};
use ravel_source::{FileId, SourceMap, Span};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What manifests are called.
pub const MANIFEST: &str = "ravel.toml";

const TABLES: &[&str] = &["package", "dependencies", "define", "test"];
const PACKAGE_KEYS: &[&str] = &["name", "version", "roots"];
const DEPENDENCY_KEYS: &[&str] = &["path", "git", "rev"];
const TEST_KEYS: &[&str] = &["tolerance"];
/// Longer names are no names.
const LONGEST_NAME: usize = 64;

/// A manifest that was read.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The folder that it lies in; paths in it count from there.
    pub folder: PathBuf,
    pub name: String,
    /// Where the name stands.
    pub name_span: Span,
    pub version: Option<String>,
    /// Programs and modules that `run`, `check` and `build` take where no file is named, as written.
    pub roots: Vec<Root>,
    /// In the order of the file.
    pub dependencies: Vec<Dependency>,
    /// Macros, as `-D` takes them, in the order of the file.
    pub define: Vec<String>,
    pub test: TestTable,
}

/// The table `[test]`: what holds for `ravel test`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestTable {
    /// How far reals may be from what is expected, relative to it.
    pub tolerance: Option<f64>,
}

/// A file that a package begins with.
#[derive(Clone, Debug)]
pub struct Root {
    pub path: PathBuf,
    pub span: Span,
}

/// A package that another one needs.
#[derive(Clone, Debug)]
pub struct Dependency {
    pub name: String,
    pub source: Origin,
    /// The name in the manifest.
    pub span: Span,
    /// Path, or address.
    pub place: Span,
    /// The revision, if one is given, else the address.
    pub rev_span: Span,
}

/// Where a package comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A folder, from that of the manifest.
    Path(PathBuf),
    Git {
        url: String,
        /// Tag, branch or commit; what the repository has checked out by itself if none is given.
        rev: Option<String>,
    },
}

impl Manifest {
    /// Reads the manifest of a folder, whose path becomes part of the names in reports. Nothing if it is too wrong to go on.
    pub fn read(folder: &Path, map: &mut SourceMap, reports: &mut Vec<Diagnostic>) -> Option<Manifest> {
        let path = folder.join(MANIFEST);
        let text = match read_text(&path) {
            Ok(text) => text,
            Err(why) => {
                let title = format!("cannot read {}: {why}", path.display());
                reports.push(Diagnostic::error(Code::BadManifest, title));
                return None;
            }
        };
        let file = map.add(path.display().to_string(), text.clone());
        let before = reports.len();
        let manifest = Reader { file, reports }.manifest(folder, &text);
        (reports.len() == before).then_some(manifest).flatten()
    }

    /// The folders that modules of the package are searched in.
    pub fn source_folder(&self) -> PathBuf {
        self.folder.join("src")
    }
}

/// Whether packages can have this name: what is wrong with it.
///
/// # Errors
/// The rule that it breaks.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_part) && name.len() <= LONGEST_NAME {
        Ok(())
    } else {
        Err(format!("names of packages begin with a letter and have letters, digits, _ and -, at most {LONGEST_NAME}"))
    }
}

/// Reads a table, and notes what is wrong with it.
struct Reader<'a> {
    file: FileId,
    reports: &'a mut Vec<Diagnostic>,
}

type Key<'t, 'i> = (&'t str, Span, &'t Spanned<DeValue<'i>>);

impl Reader<'_> {
    fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.file, range.start, range.end)
    }

    fn of(&self, value: &Spanned<DeValue<'_>>) -> Span {
        self.span(value.span())
    }

    fn report(&mut self, span: Span, title: impl Into<String>, label: impl Into<String>) -> &mut Diagnostic {
        self.reports.push(Diagnostic::error(Code::BadManifest, title).at(span, label));
        self.reports.last_mut().expect("it was just put there")
    }

    fn wrong_kind(&mut self, key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) {
        let label = format!("{}, not {wanted}", kind(value.get_ref()));
        self.report(self.of(value), format!("`{key}` must be {wanted}"), label);
    }

    fn manifest(&mut self, folder: &Path, text: &str) -> Option<Manifest> {
        let table = match DeTable::parse(text) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                // A place of no length is hard to see.
                let range = error.span().unwrap_or(0..0);
                let end = text[range.start.min(text.len())..].chars().next().map_or(0, char::len_utf8);
                let range = range.start..range.end.max(range.start + if range.is_empty() { end } else { 0 });
                let what = error.message().lines().collect::<Vec<_>>().join(", ");
                self.report(self.span(range), format!("this is no TOML: {what}"), "");
                return None;
            }
        };
        let mut package = None;
        let mut manifest = Manifest {
            folder: folder.to_path_buf(),
            name: String::new(),
            name_span: self.span(0..0),
            version: None,
            roots: Vec::new(),
            dependencies: Vec::new(),
            define: Vec::new(),
            test: TestTable::default(),
        };
        for (key, span, value) in self.entries(&table) {
            if !TABLES.contains(&key) {
                self.unknown(key, span, "a manifest", TABLES);
                continue;
            }
            let DeValue::Table(inner) = value.get_ref() else {
                self.wrong_kind(key, value, "a table");
                continue;
            };
            match key {
                "package" => package = Some((span, inner)),
                "dependencies" => {
                    let entries = self.entries(inner);
                    manifest.dependencies = entries.into_iter().filter_map(|entry| self.dependency(entry)).collect();
                }
                "define" => {
                    let entries = self.entries(inner);
                    manifest.define = entries.into_iter().filter_map(|entry| self.define(entry)).collect();
                }
                _ => manifest.test = self.test(inner),
            }
        }
        let Some((span, package)) = package else {
            let report = self.report(self.span(0..0), "a manifest needs a table `[package]`", "");
            report.help = Some("begin it with `[package]` and `name = \"...\"`".to_string());
            return None;
        };
        self.package(span, package, &mut manifest);
        Some(manifest)
    }

    /// In the order of the file.
    fn entries<'t, 'i>(&self, table: &'t DeTable<'i>) -> Vec<Key<'t, 'i>> {
        let mut entries: Vec<Key<'t, 'i>> =
            table.iter().map(|(key, value)| (&**key.get_ref(), self.span(key.span()), value)).collect();
        entries.sort_by_key(|(_, span, _)| span.start);
        entries
    }

    fn unknown(&mut self, key: &str, span: Span, place: &str, known: &[&str]) {
        let title = format!("{place} has no `{key}`");
        let close = did_you_mean(key, known.iter().copied());
        let label = close.map_or(String::new(), |close| format!("did you mean `{close}`?"));
        self.report(span, title, label).notes.push(format!("there are {}", listed(known)));
    }

    fn text<'t>(&mut self, key: &str, value: &'t Spanned<DeValue<'_>>) -> Option<&'t str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.wrong_kind(key, value, "a string");
        }
        text
    }

    fn package(&mut self, table: Span, package: &DeTable<'_>, manifest: &mut Manifest) {
        let mut has_name = false;
        for (key, span, value) in self.entries(package) {
            match key {
                "name" => {
                    has_name = true;
                    let Some(name) = self.text(key, value) else { continue };
                    manifest.name = name.to_string();
                    manifest.name_span = self.of(value);
                    if let Err(rule) = check_name(name) {
                        self.report(self.of(value), format!("`{name}` is no name of a package"), rule);
                    }
                }
                "version" => manifest.version = self.text(key, value).map(str::to_string),
                "roots" => {
                    let Some(list) = value.get_ref().as_array() else {
                        self.wrong_kind(key, value, "a list of files");
                        continue;
                    };
                    for root in list.iter() {
                        let Some(path) = self.text(key, root) else { continue };
                        let span = self.of(root);
                        if is_inside(Path::new(path)) && path.ends_with(".sac") {
                            manifest.roots.push(Root { path: PathBuf::from(path), span });
                        } else {
                            let label = "a SaC file of the package, as in \"src/main.sac\"";
                            self.report(span, format!("`{path}` cannot be a root"), label);
                        }
                    }
                }
                _ => self.unknown(key, span, "`[package]`", PACKAGE_KEYS),
            }
        }
        if !has_name {
            let report = self.report(table, "the package has no name", "");
            report.help = Some("add `name = \"...\"`".to_string());
        }
    }

    fn dependency(&mut self, (name, span, value): Key<'_, '_>) -> Option<Dependency> {
        if let Err(rule) = check_name(name) {
            self.report(span, format!("`{name}` is no name of a package"), rule);
            return None;
        }
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong_kind(name, value, "a table");
            let report = self.reports.last_mut()?;
            report.help =
                Some(format!("write `{name} = {{ path = \"../{name}\" }}`, or `git = \"...\", rev = \"...\"`"));
            return None;
        };
        let (mut path, mut git, mut rev) = (None, None, None);
        for (key, span, value) in self.entries(table) {
            let slot = match key {
                "path" => &mut path,
                "git" => &mut git,
                "rev" => &mut rev,
                _ => {
                    self.unknown(key, span, "a dependency", DEPENDENCY_KEYS);
                    continue;
                }
            };
            let text = self.text(key, value)?;
            // An option of git, or two arguments of it.
            if text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
                self.report(self.of(value), format!("`{text}` is no {key}"), "");
                return None;
            }
            if let ("git", Err((title, help))) = (key, admitted(text)) {
                self.report(self.of(value), title, "");
                self.reports.last_mut()?.help = Some(help);
                return None;
            }
            *slot = Some((text.to_string(), self.of(value)));
        }
        let place = self.of(value);
        match (path, git, rev) {
            (Some((path, place)), None, None) => {
                let source = Origin::Path(PathBuf::from(path));
                Some(Dependency { name: name.to_string(), source, span, place, rev_span: place })
            }
            (None, Some((url, place)), rev) => {
                let rev_span = rev.as_ref().map_or(place, |(_, span)| *span);
                let source = Origin::Git { url, rev: rev.map(|(rev, _)| rev) };
                Some(Dependency { name: name.to_string(), source, span, place, rev_span })
            }
            (Some(_), None, Some((_, rev))) => {
                self.report(rev, "`rev` is about `git`", "a folder has no revisions");
                None
            }
            (Some(_), Some((_, git)), _) => {
                self.report(git, format!("`{name}` has two places"), "give `path` or `git`, not both");
                None
            }
            (None, None, _) => {
                self.report(place, format!("nothing says where `{name}` is"), "give `path` or `git`");
                None
            }
        }
    }

    fn define(&mut self, (name, span, value): Key<'_, '_>) -> Option<String> {
        let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        if !name.starts_with(letter) || !name.chars().all(|c| letter(c) || c.is_ascii_digit()) {
            self.report(span, format!("`{name}` is no name of a macro"), "macros have letters, digits and _");
            return None;
        }
        match value.get_ref() {
            DeValue::String(text) if text.contains(char::is_control) => {
                self.report(self.of(value), "a macro has one line", "");
                None
            }
            DeValue::String(text) => Some(format!("{name}={text}")),
            DeValue::Integer(number) if number.radix() == 10 => Some(format!("{name}={number}")),
            // As -D without a value; a macro that is not to be there is left out.
            DeValue::Boolean(true) => Some(format!("{name}=1")),
            _ => {
                self.wrong_kind(name, value, "a string, a decimal integer or true");
                None
            }
        }
    }

    fn test(&mut self, table: &DeTable<'_>) -> TestTable {
        let mut test = TestTable::default();
        for (key, span, value) in self.entries(table) {
            if key != "tolerance" {
                self.unknown(key, span, "`[test]`", TEST_KEYS);
                continue;
            }
            let number = match value.get_ref() {
                DeValue::Float(number) => number.as_str().replace('_', "").parse::<f64>().ok(),
                DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
                _ => None,
            };
            match number.filter(|number| number.is_finite() && *number >= 0.0) {
                None => self.wrong_kind(key, value, "a number from 0 on"),
                found => test.tolerance = found,
            }
        }
        test
    }
}

/// Whether a path stays in the folder that it counts from.
fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "this is a string",
        DeValue::Integer(_) => "this is an integer",
        DeValue::Float(_) => "this is a real number",
        DeValue::Boolean(_) => "this is a boolean",
        DeValue::Datetime(_) => "this is a date",
        DeValue::Array(_) => "this is a list",
        DeValue::Table(_) => "this is a table",
    }
}

/// `a, b and c`, each in backquotes.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [init @ .., last] if !init.is_empty() => format!("{} and {last}", init.join(", ")),
        all => all.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A manifest, or the titles of reports with what they underline.
    fn read(text: &str) -> Result<Manifest, Vec<String>> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(MANIFEST), text).expect("written");
        let (mut map, mut reports) = (SourceMap::default(), Vec::new());
        let manifest = Manifest::read(folder.path(), &mut map, &mut reports);
        let shown = |report: &Diagnostic| {
            let span = report.span();
            format!("{} | {}", report.title, &text[span.start as usize..span.end as usize])
        };
        manifest.ok_or_else(|| reports.iter().map(shown).collect())
    }

    #[test]
    fn a_manifest_has_all_that_it_says() {
        let manifest = read(
            "[package]\nname = \"heat\"\nversion = \"0.1.0\"\nroots = [\"src/main.sac\"]\n[dependencies]\n\
             z = { path = \"../z\" }\na = { git = \"https://example.org/a\", rev = \"v1\" }\n\
             [define]\nSIZE = \"512\"\nN = 3\nFAST = true\n[test]\ntolerance = 1e-4\n",
        )
        .expect("it is right");
        assert_eq!((manifest.name.as_str(), manifest.version.as_deref()), ("heat", Some("0.1.0")));
        assert_eq!(manifest.roots[0].path, Path::new("src/main.sac"));
        let names: Vec<&str> = manifest.dependencies.iter().map(|dependency| dependency.name.as_str()).collect();
        assert_eq!(names, ["z", "a"]);
        let git = Origin::Git { url: "https://example.org/a".into(), rev: Some("v1".into()) };
        assert_eq!(manifest.dependencies[1].source, git);
        assert_eq!(manifest.define, ["SIZE=512", "N=3", "FAST=1"]);
        assert_eq!(manifest.test.tolerance, Some(1e-4));
    }

    #[test]
    fn what_is_wrong_is_said_at_its_place() {
        let head = "[package]\nname = \"a\"\n";
        let cases = [
            ("", "a manifest needs a table `[package]` | "),
            ("[package]\n", "the package has no name | package"),
            ("[package]\nname = 3\n", "`name` must be a string | 3"),
            ("[package]\nname = \"../a\"\n", "`../a` is no name of a package | \"../a\""),
            ("[package]\nnam = \"a\"\nname = \"a\"\n", "`[package]` has no `nam` | nam"),
            (&format!("{head}roots = \"x\""), "`roots` must be a list of files | \"x\""),
            (&format!("{head}roots = [\"../x.sac\"]"), "`../x.sac` cannot be a root | \"../x.sac\""),
            (&format!("{head}[dependencies]\nb = \"1.0\""), "`b` must be a table | \"1.0\""),
            (&format!("{head}[dependencies]\nb = {{}}"), "nothing says where `b` is | {}"),
            (&format!("{head}[dependencies]\nb = {{ git = \"-x\" }}"), "`-x` is no git | \"-x\""),
            (
                &format!("{head}[dependencies]\nb = {{ git = \"fd::17\" }}"),
                "git is not told to fetch by `fd` | \"fd::17\"",
            ),
            (&format!("{head}[dependencies]\nb = {{ path = \"x\", rev = \"y\" }}"), "`rev` is about `git` | \"y\""),
            (&format!("{head}[define]\nN = 1.5"), "`N` must be a string, a decimal integer or true | 1.5"),
            (&format!("{head}[test]\ntolerance = -1"), "`tolerance` must be a number from 0 on | -1"),
            (&format!("{head}[defines]\n"), "a manifest has no `defines` | defines"),
        ];
        for (text, expected) in cases {
            let found = read(text).err().unwrap_or_default();
            assert_eq!(found, [expected], "{text}");
        }
        for text in ["[package", "a = \"", "= 1", "[package]\nname = \"a\"\nname = \"b\"\n", "x = \u{e4}"] {
            let found = read(text).err().unwrap_or_default();
            assert!(found.len() == 1 && found[0].starts_with("this is no TOML"), "{text}: {found:?}");
        }
    }
}
