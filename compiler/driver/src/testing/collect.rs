//! Which files have tests.

use super::examples;
use super::find::PREFIXES;
use super::transcript::PROMPT;
use std::io;
use std::path::{Path, PathBuf};

/// A file with tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Functions of a SaC file.
    Functions(PathBuf),
    /// A program with a recorded output.
    Golden(PathBuf),
    /// Transcripts of the prompt, in comments or on a page.
    Examples(PathBuf),
}

impl Target {
    pub fn path(&self) -> &Path {
        match self {
            Target::Functions(path) | Target::Golden(path) | Target::Examples(path) => path,
        }
    }
}

/// The files that are meant: of folders all that have tests, by name. Hidden folders are left out.
///
/// # Errors
/// A file or folder that cannot be read.
pub fn collect(given: &[PathBuf]) -> Result<Vec<Target>, String> {
    let files = files(given)?;
    let mut targets = Vec::new();
    for path in files {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if !matches!(extension, Some("sac" | "md" | "txt")) {
            continue;
        }
        let text = match crate::files::read_text(&path) {
            Ok(text) => text,
            // What is no text has no examples.
            Err(_) if extension != Some("sac") => continue,
            Err(why) => return Err(format!("cannot read {}: {why}", path.display())),
        };
        if extension == Some("sac") {
            if mentions_tests(&text) {
                targets.push(Target::Functions(path.clone()));
            }
            if path.with_extension("out").is_file() {
                targets.push(Target::Golden(path.clone()));
            }
        }
        if text.contains(PROMPT) && !examples::sessions(&path, &text).is_empty() {
            targets.push(Target::Examples(path.clone()));
        }
    }
    targets.dedup();
    Ok(targets)
}

/// The SaC files among these, and in these folders, that can define a function whose name begins so.
///
/// # Errors
/// A file or folder that cannot be read.
pub fn files_with(given: &[PathBuf], prefixes: &[&str]) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in files(given)?.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "sac")) {
        let text = crate::files::read_text(&path).map_err(|why| format!("cannot read {}: {why}", path.display()))?;
        if mentions(&text, prefixes) {
            found.push(path);
        }
    }
    Ok(found)
}

/// All files that are meant.
fn files(given: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in given {
        if path.is_dir() {
            below(path, &mut files).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        } else if path.is_file() {
            files.push(path.clone());
        } else {
            return Err(format!("cannot read {}: no such file or folder", path.display()));
        }
    }
    // What lies in the current folder is called by its own name.
    Ok(files.iter().map(|path| path.strip_prefix(".").unwrap_or(path).to_path_buf()).collect())
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // A link to a folder may lead back to where it lies.
        if entry.file_type()?.is_dir() && !is_hidden {
            below(&path, files)?;
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a text can define a test.
fn mentions_tests(text: &str) -> bool {
    mentions(text, &PREFIXES)
}

/// Whether a word of a text begins so, and a parenthesis stands behind it.
fn mentions(text: &str, prefixes: &[&str]) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    prefixes.iter().any(|prefix| {
        text.match_indices(prefix).any(|(at, _)| {
            let rest = text[at..].trim_start_matches(is_word);
            !text[..at].ends_with(is_word) && rest.trim_start().starts_with('(')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_tests_are_told_by_their_words() {
        for text in ["void test_a() { }", "bool prop_x(int a)", "\nvoid\nfails_ (", "x; test_b ()"] {
            assert!(mentions_tests(text), "{text}");
        }
        for text in ["", "int test;", "my_test_a()", "test_a", "int latest_()"] {
            assert!(!mentions_tests(text), "{text}");
        }
    }

    #[test]
    fn folders_give_their_files_with_tests() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(&path, text).expect("written");
            path
        };
        let (b, a) = (file("x/b.sac", "void test_b() { }"), file("a.sac", "bool prop_a() { }"));
        file("none.sac", "int f() { return 1; }");
        file(".hidden/c.sac", "void test_c() { }");
        let all = collect(&[folder.path().to_path_buf()]);
        assert_eq!(all, Ok(vec![Target::Functions(a), Target::Functions(b)]));
        assert!(collect(&[folder.path().join("nothing")]).is_err());
    }
}
