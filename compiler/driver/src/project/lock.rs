//! `ravel.lock`: the commits that revisions of git dependencies meant when somebody last looked.

use crate::files::read_text;
use crate::project::git::Revision;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_runtime::outputs;
use ravel_source::{SourceMap, Span};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

pub const LOCK: &str = "ravel.lock";

const HEAD: &str = "# Written by `ravel`; keep it under version control, and change ravel.toml instead.\n";

/// A git dependency at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    pub name: String,
    /// As manifests write it.
    pub git: String,
    pub rev: Option<String>,
    pub revision: Revision,
}

/// What is locked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// The folder with copies of the sources, from that of the package.
    pub vendor: Option<PathBuf>,
    /// By name.
    pub packages: Vec<Locked>,
}

impl Lock {
    /// Reads the lock file of a package; an empty one if there is none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(folder: &Path, map: &mut SourceMap) -> Result<Lock, Box<Diagnostic>> {
        let path = folder.join(LOCK);
        if !path.exists() {
            return Ok(Lock::default());
        }
        let wrong = |title: String| Diagnostic::error(Code::LockOutdated, title);
        let text = read_text(&path).map_err(|why| wrong(format!("cannot read {}: {why}", path.display())))?;
        let file = map.add(path.display().to_string(), text.clone());
        let help = "remove the file, and `ravel fetch` writes a new one";
        match DeTable::parse(&text) {
            Ok(table) => parse(&table.into_inner()).ok_or_else(|| {
                let report = wrong("the lock file is damaged".to_string()).at(Span::new(file, 0, 0), "");
                Box::new(report.with_help(help))
            }),
            Err(error) => {
                let range = error.span().unwrap_or(0..0);
                let report = wrong("the lock file is damaged".to_string());
                let words = error.message().lines().next().unwrap_or_default().to_string();
                Err(Box::new(report.at(Span::new(file, range.start, range.end), words).with_help(help)))
            }
        }
    }

    pub fn find(&self, git: &str, rev: Option<&str>) -> Option<&Locked> {
        self.packages.iter().find(|locked| locked.git == git && locked.rev.as_deref() == rev)
    }

    /// Sorts, and leaves out what is there twice.
    pub fn settle(&mut self) {
        self.packages.sort_by(|a, b| (&a.name, &a.git, &a.rev).cmp(&(&b.name, &b.git, &b.rev)));
        self.packages.dedup();
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_string();
        // Writing into a string does not fail.
        if let Some(folder) = &self.vendor {
            let _ = writeln!(text, "vendor = {}", quoted(&folder.display().to_string()));
        }
        for Locked { name, git, rev, revision } in &self.packages {
            let _ = write!(text, "\n[[package]]\nname = {}\ngit = {}\n", quoted(name), quoted(git));
            if let Some(rev) = rev {
                let _ = writeln!(text, "rev = {}", quoted(rev));
            }
            let _ = writeln!(text, "commit = {}\ntree = {}", quoted(&revision.commit), quoted(&revision.tree));
        }
        text
    }

    /// Writes the file if it would change.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), outputs::Refusal> {
        let (path, text) = (folder.join(LOCK), self.text());
        if self.packages.is_empty() && self.vendor.is_none() && !path.exists() {
            return Ok(());
        }
        if read_text(&path).is_ok_and(|old| *old == *text) {
            return Ok(());
        }
        outputs::write(&path, text.as_bytes())
    }
}

fn parse(table: &DeTable<'_>) -> Option<Lock> {
    let mut lock = Lock::default();
    for (key, value) in table {
        match (&**key.get_ref(), value.get_ref()) {
            ("vendor", DeValue::String(folder)) => lock.vendor = Some(PathBuf::from(&**folder)),
            ("package", DeValue::Array(list)) => {
                for package in list.iter() {
                    lock.packages.push(locked(package.get_ref().as_table()?)?);
                }
            }
            _ => return None,
        }
    }
    Some(lock)
}

fn locked(table: &DeTable<'_>) -> Option<Locked> {
    let text = |key: &str| Some(table.get(key)?.get_ref().as_str()?.to_string());
    // They become names of folders and arguments of git.
    let hash = |key: &str| text(key).filter(|hash| hash.len() >= 40 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
    let revision = Revision { commit: hash("commit")?, tree: hash("tree")? };
    Some(Locked { name: text("name")?, git: text("git")?, rev: text("rev"), revision })
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_reads_what_it_writes() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut map = SourceMap::default();
        assert_eq!(Lock::read(folder.path(), &mut map).ok(), Some(Lock::default()));
        let revision = Revision { commit: "0a".repeat(20), tree: "1b".repeat(20) };
        let package = |name: &str, rev: Option<&str>| Locked {
            name: name.to_string(),
            git: "/a \"quoted\" \\ path".to_string(),
            rev: rev.map(str::to_string),
            revision: revision.clone(),
        };
        let mut lock =
            Lock { vendor: Some("third".into()), packages: vec![package("b", Some("v1")), package("a", None)] };
        lock.settle();
        lock.write(folder.path()).expect("written");
        assert_eq!(Lock::read(folder.path(), &mut map).ok(), Some(lock.clone()));
        assert_eq!(lock.find("/a \"quoted\" \\ path", Some("v1")).map(|locked| locked.name.as_str()), Some("b"));
        for damaged in ["x = 1", "[[package]]\nname = \"a\"", "[[", "package = [1]"] {
            std::fs::write(folder.path().join(LOCK), damaged).expect("written");
            assert!(Lock::read(folder.path(), &mut map).is_err(), "{damaged}");
        }
    }
}
