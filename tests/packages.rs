//! Packages: the tree of files, the archive with its script, the description of the Debian package, and the book's links to the source.
//!
//! Needs Python, `tar` and `xz`; the packages' own tools are not needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravel_tests::{ravel, repository};

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?} failed\n{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The texts in quotes of a list in a manifest, up to the `]` on a line of its own.
fn rows(manifest: &str, name: &str) -> Vec<Vec<String>> {
    let list = manifest.split(&format!("\n{name} = [\n")).nth(1).and_then(|rest| rest.split("\n]").next());
    let row = |line: &str| line.split('"').skip(1).step_by(2).map(str::to_string).collect();
    list.unwrap_or_else(|| panic!("there is no {name}")).lines().map(row).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found
}

#[test]
fn the_tree_is_packed_and_works_where_it_is_unpacked() {
    let out = tempfile::tempdir().expect("a folder");
    let built = ravel().canonicalize().expect("the binary exists");
    let script = repository().join("packaging/package.py");
    let target = built.parent().expect("it lies in a folder");
    let archive = output(Command::new("python3").arg(script).arg("--target").arg(target).arg("--out").arg(out.path()));

    // The Debian package takes each file of the tree, and no other.
    let root = out.path().join("tree");
    let manifest = fs::read_to_string(repository().join("compiler/cli/Cargo.toml")).expect("it can be read");
    let mut taken = Vec::new();
    for asset in rows(&manifest, "assets") {
        let [source, place, mode] = asset.as_slice() else { panic!("{asset:?} is no asset") };
        let within = source.strip_prefix("../../dist/package/tree/").unwrap_or_else(|| panic!("{source} is elsewhere"));
        assert!(place.starts_with("usr/") && ["644", "755"].contains(&mode.as_str()), "{asset:?}");
        let (folder, name) = within.rsplit_once('/').expect("files lie in folders");
        let (front, back) = name.split_once('*').unwrap_or((name, ""));
        let is_meant = |path: &PathBuf| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            if name.contains('*') { file.starts_with(front) && file.ends_with(back) } else { file == name }
        };
        let meant: Vec<PathBuf> = files(&root.join(folder)).into_iter().filter(is_meant).collect();
        assert!(!meant.is_empty(), "{source} matches nothing");
        taken.extend(meant);
    }
    let mut made = files(&root);
    made.sort();
    taken.sort();
    assert_eq!(made, taken);

    // The archive is unpacked twice, over itself the second time.
    let unpacked = out.path().join("unpacked");
    fs::create_dir(&unpacked).expect("a folder");
    output(Command::new("tar").arg("xJf").arg(archive.trim()).arg("-C").arg(&unpacked));
    let inside = fs::read_dir(&unpacked).expect("a folder").flatten().next().expect("it is not empty").path();
    let prefix = out.path().join("with blank");
    for _ in 0..2 {
        let said = output(Command::new("sh").arg(inside.join("install.sh")).arg(&prefix));
        assert!(said.contains("not on your PATH"), "{said}");
    }
    let installed: Vec<PathBuf> =
        files(&prefix).iter().filter_map(|path| Some(path.strip_prefix(&prefix).ok()?.into())).collect();
    assert_eq!(installed.len(), made.len());
    assert!(prefix.join("share/man/man1/ravel-run.1").is_file());
    let program = out.path().join("p.sac");
    fs::write(&program, "use StdIO: all; use Array: all; int main() { printf(\"%d\\n\", sum(iota(101))); return 0; }")
        .expect("written");
    let alone = |arguments: &[&str]| {
        let mut command = Command::new(prefix.join("bin/ravel"));
        command.args(arguments).env_remove("RAVEL_RUNTIME").env_remove("RAVEL_BIN").current_dir(out.path());
        output(&mut command)
    };
    assert_eq!(alone(&["run", "p.sac"]), "5050\n");
    alone(&["build", "p.sac", "-o", "p"]);
    let executable = out.path().join("p");
    assert_eq!(output(&mut Command::new(&executable)), "5050\n");
    // It was linked with the archive that was installed: a copy of `ravel` would be larger than the command itself.
    let size = |path: &Path| fs::metadata(path).expect("it exists").len();
    assert!(size(&executable) < size(&prefix.join("bin/ravel")));
}

/// What the book's preprocessor makes of a page.
fn rendered(folder: &Path, source: &str, path: &str, content: &str) -> String {
    let chapter = serde_json::json!({ "Chapter": { "name": "", "content": content, "path": path, "sub_items": [] } });
    let context = serde_json::json!({ "config": { "preprocessor": { "outside": { "source": source } } } });
    let input = folder.join("book.json");
    fs::write(&input, serde_json::json!([context, { "items": [chapter] }]).to_string()).expect("written");
    let mut command = Command::new("python3");
    command.arg(repository().join("docs/outside.py")).stdin(fs::File::open(&input).expect("it was written"));
    let book: serde_json::Value = serde_json::from_str(&output(&mut command)).expect("it is JSON");
    book["items"][0]["Chapter"]["content"].as_str().expect("a text").to_string()
}

#[test]
fn links_of_the_book_that_leave_it_lead_to_the_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = "[a](../tour.md#x) [b](../../runtime/README.md#y) [`c`](https://example.org) [d](#here)\n```c\na[0](../../b)\n```\n";
    let with = rendered(folder.path(), "https://example.org/r/", "tools/c.md", page);
    assert_eq!(with, page.replace("../../runtime", "https://example.org/r/runtime"));
    let without = rendered(folder.path(), "", "tools/c.md", page);
    assert_eq!(without, page.replace("[b](../../runtime/README.md#y)", "b"));
}
