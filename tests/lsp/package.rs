//! Packages and open folders: what lies in files that the editor does not have open.

use crate::client::Client;
use crate::{expect, uri};
use ravel_tests::{Failed, Trial};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("roots tell of modules", roots),
        Trial::test("rename reaches the package", package),
        Trial::test("rename reaches an open folder", folder),
    ]
}

/// A package: a module, a program that uses it, a test, and a file that has nothing to do with it.
fn write(folder: &Path, files: &[(&str, &str)]) -> Result<(), Failed> {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().ok_or("a file lies in a folder")?)?;
        fs::write(path, text)?;
    }
    Ok(())
}

const MODULE: &str = "module M;\nuse Array: all;\nexport all;\nint twice(int n) { return n + n; }\n";

const FILES: [(&str, &str); 5] = [
    ("ravel.toml", "[package]\nname = \"p\"\nroots = [\"src/main.sac\"]\n"),
    ("src/M.sac", MODULE),
    ("src/main.sac", "use M: all;\nint main() { return twice(1); }\n"),
    ("tests/t.sac", "use M: { twice };\nvoid test_twice() { x = twice(2); }\n"),
    ("tests/u.sac", "int twice(int n) { return n; }\nint main() { return twice(1); }\n"),
];

fn rename(client: &mut Client, path: &Path, at: (usize, usize), name: &str) -> Result<Value, Failed> {
    let position = json!({ "line": at.0, "character": at.1 });
    client.ask(
        "textDocument/rename",
        json!({ "textDocument": { "uri": uri(path) }, "position": position, "newName": name }),
    )
}

/// How many edits each file gets.
fn counts(answer: &Value) -> Vec<(String, usize)> {
    let changes = answer["result"]["changes"].as_object().into_iter().flatten();
    let name = |uri: &str| uri.rsplit('/').next().unwrap_or_default().to_string();
    changes.map(|(uri, edits)| (name(uri), edits.as_array().map_or(0, Vec::len))).collect()
}

/// Only the module is open; the program and the test are changed with it, what has the name by chance is not.
fn package() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    write(folder.path(), &FILES)?;
    let module = folder.path().join("src/M.sac");
    let mut client = Client::start(json!(["utf-8"]))?;
    client.open(&uri(&module), MODULE)?;
    let answer = rename(&mut client, &module, (3, 6), "doubled")?;
    let expected = [("M.sac", 1), ("main.sac", 1), ("t.sac", 2)].map(|(name, count)| (name.to_string(), count));
    expect(counts(&answer) == expected, &answer)?;
    // A file that nobody has open would mean something else.
    fs::write(
        folder.path().join("src/other.sac"),
        "use M: all;\nint doubled(int n) { return n; }\nint main() { return doubled(twice(1)); }\n",
    )?;
    let answer = rename(&mut client, &module, (3, 6), "doubled")?;
    let why = answer["error"]["message"].as_str().unwrap_or_default();
    expect(why.contains("other.sac"), &answer)?;
    fs::remove_file(folder.path().join("src/other.sac"))?;
    // Without its package a file cannot be read as it is meant.
    fs::write(folder.path().join("ravel.toml"), "[package\n")?;
    let answer = rename(&mut client, &module, (3, 6), "doubled")?;
    expect(answer["error"]["message"] == "the package of this file is not in order", &answer)?;
    expect(client.leave()? == 0, &"the exit status")
}

/// Without a manifest the folder that the editor has open counts.
fn folder() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let files = [
        ("M.sac", MODULE),
        ("main.sac", "use M: all;\nint main() { return twice(1); }\n"),
        ("deep/er/alone.sac", "int main() { twice = 2; return twice; }\n"),
    ];
    write(folder.path(), &files)?;
    let module = folder.path().join("M.sac");
    let mut client = Client::start_with(json!({ "workspaceFolders": [{ "uri": uri(folder.path()), "name": "x" }] }))?;
    client.open(&uri(&module), MODULE)?;
    let answer = rename(&mut client, &module, (3, 6), "doubled")?;
    let expected = [("M.sac", 1), ("main.sac", 1)].map(|(name, count)| (name.to_string(), count));
    expect(counts(&answer) == expected, &answer)?;
    expect(client.leave()? == 0, &"the exit status")
}

/// Only the module is open: the program that `ravel.toml` names says how it is called and where.
fn roots() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    write(folder.path(), &FILES)?;
    let module = folder.path().join("src/M.sac");
    let uri = uri(&module);
    let mut client = Client::start(json!(["utf-8"]))?;
    client.open(&uri, MODULE)?;
    let at = json!({ "textDocument": { "uri": uri }, "position": { "line": 3, "character": 8 }, "context": { "includeDeclaration": true } });
    let hover = |client: &mut Client, wanted: &str| -> Result<(), Failed> {
        let mut text = String::new();
        for _ in 0..1000 {
            let answer = client.ask("textDocument/hover", at.clone())?;
            text = answer["result"]["contents"]["value"].as_str().unwrap_or_default().to_string();
            if text.contains(wanted) {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Err(text.into())
    };
    hover(&mut client, "called as `twice(int)`")?;
    let answer = client.ask("textDocument/references", at.clone())?;
    let list = answer["result"].as_array().cloned().unwrap_or_default();
    let is_in = |name: &str| list.iter().any(|one| one["uri"].as_str().is_some_and(|uri| uri.ends_with(name)));
    expect(list.len() == 2 && is_in("/src/M.sac") && is_in("/src/main.sac"), &answer)?;
    // The program is looked at again when the module changes, and when it has been saved itself.
    let range = json!({ "start": { "line": 3, "character": 0 }, "end": { "line": 3, "character": 14 } });
    let change = json!([{ "range": range, "text": "int[*] twice(int[*]" }]);
    client.tell(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": change }),
    )?;
    fs::write(
        folder.path().join("src/main.sac"),
        "use M: all;\nuse Array: all;\nint main() { return sum(twice([1, 2])); }\n",
    )?;
    client.tell("textDocument/didSave", json!({ "textDocument": { "uri": uri } }))?;
    hover(&mut client, "called as `twice(int[2])`")?;
    expect(client.leave()? == 0, &"the exit status")
}
