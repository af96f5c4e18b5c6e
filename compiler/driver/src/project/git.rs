//! Repositories: fetched by the `git` command into the cache folder, and checked out there by commit.
//!
//! A checkout appears when it is complete. What is there is never changed, so that no build needs the network twice.

use ravel_runtime::device::cache;
use ravel_runtime::outputs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// Most lines of git's own words that are shown.
const MOST_WORDS: usize = 4;

/// Variables that would make git work on another repository than the one it is told.
const MISLEADING: &[&str] =
    &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE"];

/// How repositories may be reached; other transports of git run programs, or read descriptors of this process.
const PROTOCOLS: &[&str] = &["https", "ssh", "git", "file"];

/// Why something could not be had.
#[derive(Clone, Debug, Default)]
pub struct Trouble {
    pub title: String,
    pub notes: Vec<String>,
    pub help: Option<String>,
}

impl Trouble {
    pub fn new(title: impl Into<String>) -> Trouble {
        Trouble { title: title.into(), ..Trouble::default() }
    }

    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Trouble {
        Trouble { help: Some(help.into()), ..self }
    }
}

impl From<outputs::Refusal> for Trouble {
    fn from(why: outputs::Refusal) -> Trouble {
        Trouble::new(format!("cannot write into the cache folder: {why}"))
    }
}

/// What a revision means, for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    pub commit: String,
    /// Hash of all files.
    pub tree: String,
}

/// A repository's place in the cache.
pub struct Repository {
    url: String,
    folder: PathBuf,
}

impl Repository {
    /// # Errors
    /// There is no cache.
    pub fn new(url: &str) -> Result<Repository, Trouble> {
        admitted(url).map_err(|(title, help)| Trouble::new(title).with_help(help))?;
        let cache = cache::folder().ok_or_else(|| {
            Trouble::new("there is no cache folder for git dependencies")
                .with_help("name one by RAVEL_CACHE, or keep the sources in the package: `ravel vendor`")
        })?;
        let cache = std::path::absolute(&cache).unwrap_or(cache);
        let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default().trim_end_matches(".git");
        let slug: String = last.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
        Ok(Repository { url: url.to_string(), folder: cache.join("git").join(format!("{slug}-{:016x}", hash(url))) })
    }

    fn bare(&self) -> PathBuf {
        self.folder.join("repository")
    }

    pub fn is_here(&self) -> bool {
        self.bare().is_dir()
    }

    fn git(&self, arguments: &[&str]) -> Result<String, Trouble> {
        let bare = format!("--git-dir={}", self.bare().display());
        git(std::iter::once(bare.as_str()).chain(arguments.iter().copied()), &[])
            .map_err(|words| failed(&format!("git cannot read the copy of {} in the cache", self.url), &words))
    }

    /// Gets all that the repository has.
    ///
    /// # Errors
    /// Git is missing, or says no.
    pub fn fetch(&self) -> Result<(), Trouble> {
        let failed = |words: Words| failed(&format!("cannot fetch {}", self.url), &words);
        if self.is_here() {
            let bare = format!("--git-dir={}", self.bare().display());
            let all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
            let head = [bare.as_str(), "fetch", "--quiet", "--force", "--prune", "--no-write-fetch-head", "--"];
            return git(head.into_iter().chain([self.url.as_str()]).chain(all), &[]).map(drop).map_err(failed);
        }
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| Trouble::new(format!("cannot make the folder {}: {error}", self.folder.display())))?;
        let made = outputs::make(&self.bare(), |folder| {
            let copy = folder.join("copy");
            let shown = copy.display().to_string();
            git(["clone", "--quiet", "--bare", "--", &self.url, &shown], &[]).map_err(failed)?;
            Ok::<PathBuf, Trouble>(copy)
        });
        // Another process may have been faster.
        if self.is_here() { Ok(()) } else { made }
    }

    /// What a tag, a branch or a commit means in what was fetched; without one, what the repository has checked out.
    ///
    /// # Errors
    /// Git is missing.
    pub fn resolve(&self, rev: Option<&str>) -> Result<Option<Revision>, Trouble> {
        let Some(rev) = rev else { return self.revision("HEAD") };
        let is_hash = rev.len() >= 7 && rev.bytes().all(|byte| byte.is_ascii_hexdigit());
        let candidates = [Some(format!("refs/tags/{rev}")), Some(format!("refs/heads/{rev}"))];
        for name in candidates.into_iter().chain([is_hash.then(|| rev.to_string())]).flatten() {
            if let Some(found) = self.revision(&name)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn revision(&self, name: &str) -> Result<Option<Revision>, Trouble> {
        let parse = |what: &str| match self.git(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{{what}}}")]) {
            Ok(hash) => Ok(Some(hash.trim().to_string())),
            // It says nothing where there is no such revision.
            Err(trouble) if trouble.notes.is_empty() && trouble.help.is_none() => Ok(None),
            Err(trouble) => Err(trouble),
        };
        let (Some(commit), Some(tree)) = (parse("commit")?, parse("tree")?) else { return Ok(None) };
        Ok(Some(Revision { commit, tree }))
    }

    /// Names of its tags and branches.
    pub fn names(&self) -> Vec<String> {
        let listed = self.git(&["for-each-ref", "--format=%(refname:strip=2)", "refs/tags", "refs/heads"]);
        listed.unwrap_or_default().lines().map(str::to_string).collect()
    }

    /// Where the files of a commit are once they are checked out.
    pub fn checkout_folder(&self, commit: &str) -> PathBuf {
        self.folder.join(commit)
    }

    /// The files of a commit.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn checkout(&self, commit: &str) -> Result<PathBuf, Trouble> {
        let place = self.checkout_folder(commit);
        if place.is_dir() {
            return Ok(place);
        }
        let made = outputs::make(&place, |folder| {
            let (files, index) = (folder.join("files"), folder.join("index"));
            std::fs::create_dir(&files).map_err(|error| Trouble::new(format!("cannot write the files: {error}")))?;
            let bare = format!("--git-dir={}", self.bare().display());
            let tree = format!("--work-tree={}", files.display());
            let index = index.display().to_string();
            let arguments =
                ["-c", "core.hooksPath=/dev/null", &bare, &tree, "checkout", "--quiet", "--force", commit, "--", "."];
            git(arguments, &[("GIT_INDEX_FILE", &index)])
                .map_err(|words| failed(&format!("cannot check out {commit} of {}", self.url), &words))?;
            Ok::<PathBuf, Trouble>(files)
        });
        if place.is_dir() { Ok(place) } else { made.map(|()| place) }
    }
}

/// What git says when it fails; nothing if there is no git.
type Words = Option<String>;

fn failed(title: &str, words: &Words) -> Trouble {
    let Some(words) = words else {
        return Trouble::new(format!("{title}: there is no `git`"))
            .with_help("install git; or copy the sources where there is one: `ravel vendor`");
    };
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let has_network = !["resolve host", "unreachable", "timed out", "Could not connect", "Couldn't connect"]
        .iter()
        .any(|sign| words.contains(sign));
    let notes = lines.iter().take(MOST_WORDS).map(|line| format!("git: {line}")).collect();
    let help =
        (!has_network).then(|| "the network is needed once; `ravel vendor` keeps the sources in the package".into());
    Trouble { title: title.to_string(), notes, help }
}

/// Runs git: what it prints, or what it complains of.
fn git<'a>(arguments: impl IntoIterator<Item = &'a str>, variables: &[(&str, &str)]) -> Result<String, Words> {
    let mut command = Command::new("git");
    for name in MISLEADING {
        command.env_remove(name);
    }
    // Nobody is there to type a password, and what git says is looked at.
    command.env("GIT_ALLOW_PROTOCOL", PROTOCOLS.join(":"));
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").args(arguments).stdin(Stdio::null());
    let output = command
        .envs(variables.iter().copied())
        .output()
        .map_err(|error| if error.kind() == ErrorKind::NotFound { None } else { Some(error.to_string()) })?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Some(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// FNV-1a: the same in every version of Ravel, for names in the cache.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Whether an address is a path on this machine; `user@host:path` and `scheme://...` are not.
pub fn is_path(url: &str) -> bool {
    !url.split('/').next().unwrap_or_default().contains(':')
}

/// Whether git may be told the address of a repository, which anybody may have written.
///
/// # Errors
/// What is wrong with it, and what to write.
pub fn admitted(url: &str) -> Result<(), (String, String)> {
    let known =
        "an address is `https://...`, `ssh://...`, `git://...`, `file://...`, `host:path` or a path".to_string();
    let refuse = |title: String| Err((title, known.clone()));
    // Hosts and paths that begin with - are options of ssh.
    let is_option = |part: &str| part.trim_start_matches('/').starts_with('-');
    if let Some((helper, _)) = url.split_once("::").filter(|(helper, _)| !helper.contains(['/', '@', '['])) {
        return refuse(format!("git is not told to fetch by `{helper}`"));
    }
    if let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| !scheme.contains('/')) {
        if scheme == "http" {
            return Err(("git is not told to fetch by `http`".to_string(), format!("write `https://{rest}`")));
        }
        if !PROTOCOLS.contains(&scheme) {
            return refuse(format!("git is not told to fetch by `{scheme}`"));
        }
        let host = rest.split('/').next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default();
        if is_option(rest) || is_option(host) {
            return refuse(format!("`{url}` has an option of ssh for a host"));
        }
        return Ok(());
    }
    if is_path(url) {
        return if url.starts_with('-') { refuse(format!("`{url}` is an option of git")) } else { Ok(()) };
    }
    let (host, path) = url.split_once(':').unwrap_or((url, ""));
    let host = host.rsplit('@').next().unwrap_or_default();
    if host.is_empty() || is_option(host) || is_option(path) || url.starts_with('-') {
        return refuse(format!("`{url}` has an option of ssh for a host or a path"));
    }
    Ok(())
}

/// An address with one spelling: relative paths count from `folder`, which has no links. The repository need not be there.
pub fn address(url: &str, folder: &Path) -> String {
    if !is_path(url) {
        return url.to_string();
    }
    let mut path = PathBuf::new();
    for part in folder.join(url).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_run_something_are_refused() {
        let good = [
            "https://example.org/a.git",
            "ssh://git@example.org/a",
            "ssh://git@example.org:22/a",
            "git://example.org/a",
            "file:///srv/a",
            "git@example.org:a/b.git",
            "example.org:a",
            "/srv/a",
            "../a",
            "a/b::c",
        ];
        for url in good {
            assert_eq!(admitted(url), Ok(()), "{url}");
        }
        let bad = [
            "fd::17",
            "ext::sh -c date",
            "ext::https://example.org/a",
            "ftp://example.org/a",
            "http://example.org/a",
            "HTTPS+x://example.org/a",
            "ssh://-oProxyCommand=date/a",
            "ssh://git@-oProxyCommand=date/a",
            "-oProxyCommand=date:a",
            "git@-oProxyCommand=date:a",
            "example.org:-a",
            ":a",
            "--upload-pack=date",
        ];
        for url in bad {
            assert!(admitted(url).is_err(), "{url}");
        }
    }
}
