//! Commands: programs, tests and benchmarks that the server runs, and inputs in comments.

use crate::client::Client;
use crate::{expect, uri};
use ravel_tests::{Failed, Trial, ravel, repository};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("programs run", programs),
        Trial::test("inputs are evaluated", inputs),
        Trial::test("inputs have limits", limits),
        Trial::test("what runs can be ended", ended),
        Trial::test("commands are checked", rubbish),
        Trial::test("Neovim evaluates, renames and runs", neovim),
    ]
}

fn client(options: Value) -> Result<Client, Failed> {
    let capabilities = json!({ "general": { "positionEncodings": ["utf-8"] }, "workspace": { "applyEdit": true } });
    Client::start_with(json!({ "capabilities": capabilities, "initializationOptions": options }))
}

fn command(client: &mut Client, name: &str, arguments: Value) -> Result<Value, Failed> {
    client.ask("workspace/executeCommand", json!({ "command": name, "arguments": arguments }))
}

/// What the server has shown.
fn shown(client: &Client) -> Vec<&str> {
    let messages = client.heard.iter().filter(|message| message["method"] == "window/showMessage");
    messages.filter_map(|message| message["params"]["message"].as_str()).collect()
}

fn programs() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.sac");
    let text = "use StdIO: all;\nuse Test: all;\nvoid test_a() { expect(true); }\nvoid test_b() { expect(false); }\n\
                int main() { printf(\"hello\\n\"); return 3; }\n";
    fs::write(&path, text)?;
    let uri = uri(&path);
    let mut client = client(json!(null))?;
    let offered = json!(["ravel.run", "ravel.test", "ravel.bench", "ravel.evaluate"]);
    expect(client.offers["executeCommandProvider"]["commands"] == offered, &client.offers)?;
    let answer = command(&mut client, "ravel.run", json!([uri]))?;
    expect(answer["result"] == json!({ "status": 3, "output": "hello\n" }), &answer)?;
    expect(shown(&client) == ["ravel run a.sac: exit status 3\nhello"], &shown(&client))?;
    let answer = command(&mut client, "ravel.test", json!([uri, "test_a"]))?;
    let output = answer["result"]["output"].as_str().unwrap_or_default();
    expect(answer["result"]["status"] == 0 && output.contains("1 passed"), &answer)?;
    let answer = command(&mut client, "ravel.test", json!([uri, "test_b"]))?;
    expect(answer["result"]["status"] == 1, &answer)?;
    expect(client.leave()? == 0, &"the exit status")?;
    let client = self::client(json!({ "terminal": true }))?;
    let offered = json!(["ravel.evaluate"]);
    expect(client.offers["executeCommandProvider"]["commands"] == offered, &client.offers)?;
    expect(client.leave()? == 0, &"the exit status")
}

/// Takes the edit that the server has asked for.
fn apply(client: &mut Client, uri: &str, text: &str, version: u64) -> Result<String, Failed> {
    let asked = client.heard.iter().rposition(|message| message["method"] == "workspace/applyEdit");
    let asked = client.heard.remove(asked.ok_or("no edit was asked for")?);
    client.write(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "applied": true } }))?;
    let edit = &asked["params"]["edit"]["changes"][uri][0];
    let offset = |place: &Value| {
        let (line, column) = (place["line"].as_u64().unwrap_or(0) as usize, place["character"].as_u64().unwrap_or(0));
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        start + column as usize
    };
    let (from, upto) = (offset(&edit["range"]["start"]), offset(&edit["range"]["end"]));
    let mut new = text.to_string();
    new.replace_range(from..upto, edit["newText"].as_str().unwrap_or_default());
    let document = json!({ "uri": uri, "version": version });
    let change = json!([{ "range": edit["range"], "text": edit["newText"] }]);
    client.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": change }))?;
    Ok(new)
}

fn inputs() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    fs::write(
        folder.path().join("M.sac"),
        "module M;\nuse Array: all;\nexport all;\nint three() { return 3; }\n// > three()\n",
    )?;
    let text = "use Array: all;\nuse StdIO: all;\nuse M: all;\n\nint twice(int n) { return 2 * n; }\n\n\
                // > a = three();\n\n  // > printf(\"%d\\n\", a);\n  // > twice(a)\n\n// > a[[7]]\n// = old\n// = lines\nint main() { return 0; }\n// > twice(4)";
    let uri = uri(&folder.path().join("main.sac"));
    let mut client = client(json!(null))?;
    client.open(&uri, text)?;
    let answer = command(&mut client, "ravel.evaluate", json!([uri, 9]))?;
    expect(answer["result"]["output"] == "3\nint: 6", &answer)?;
    let text = apply(&mut client, &uri, text, 2)?;
    expect(text.contains("  // > twice(a)\n  // = 3\n  // = int: 6\n\n// > a[[7]]\n"), &text)?;
    // Again: the lines are replaced.
    command(&mut client, "ravel.evaluate", json!([uri, 8]))?;
    let again = apply(&mut client, &uri, &text, 3)?;
    expect(again == text, &again)?;
    command(&mut client, "ravel.evaluate", json!([uri, 13]))?;
    let text = apply(&mut client, &uri, &text, 4)?;
    expect(text.contains("// > a[[7]]\n// = [E") && !text.contains("old") && !text.contains("lines"), &text)?;
    // The last line has no end.
    let last = text.lines().count() - 1;
    command(&mut client, "ravel.evaluate", json!([uri, last]))?;
    let text = apply(&mut client, &uri, &text, 5)?;
    expect(text.ends_with("// > twice(4)\n// = int: 8"), &text)?;
    let module = self::uri(&folder.path().join("M.sac"));
    client.open(&module, &fs::read_to_string(folder.path().join("M.sac"))?)?;
    let answer = command(&mut client, "ravel.evaluate", json!([module, 4]))?;
    expect(answer["result"]["output"] == "int: 3", &answer)?;
    expect(client.leave()? == 0, &"the exit status")
}

fn limits() -> Result<(), Failed> {
    let mut client = client(json!(null))?;
    let uri = "file:///nowhere/a.sac";
    let text = "use Structures: all;\n// > a = genarray([400000000], 1.0);\n\nint f( { }\n";
    client.open(uri, text)?;
    let why = |answer: &Value| answer["error"]["message"].as_str().unwrap_or_default().to_string();
    let answer = command(&mut client, "ravel.evaluate", json!([uri, 1]))?;
    expect(why(&answer).starts_with("[E0190] Error"), &answer)?;
    let text = &text[..text.len() - "int f( { }\n".len()];
    client.tell(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": text }] }),
    )?;
    let answer = command(&mut client, "ravel.evaluate", json!([uri, 1]))?;
    expect(why(&answer) == "stopped, as it takes more than 1024 MiB", &answer)?;
    let start = Instant::now();
    let other = "file:///nowhere/b.sac";
    client.open(other, "use Array: all;\n// > n = 1; while (n > 0) { n = 3 - n; }\n")?;
    let answer = command(&mut client, "ravel.evaluate", json!([other, 1]))?;
    expect(why(&answer) == "stopped after 10 s", &answer)?;
    expect(start.elapsed() < Duration::from_secs(30), &start.elapsed())?;
    expect(client.leave()? == 0, &"the exit status")
}

/// Whether a process has this path among its words.
fn runs(path: &Path) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let words = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).unwrap_or_default();
    entries.map(words).any(|words| String::from_utf8_lossy(&words).contains(&*path.display().to_string()))
}

/// By the editor, and with it.
fn ended() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("endless.sac");
    fs::write(&path, "use Array: all;\nint main() { n = 1; while (n > 0) { n = 3 - n; } return n; }\n")?;
    let uri = uri(&path);
    let mut client = client(json!(null))?;
    let run = |id: u64| {
        let params = json!({ "command": "ravel.run", "arguments": [uri] });
        json!({ "jsonrpc": "2.0", "id": id, "method": "workspace/executeCommand", "params": params })
    };
    client.write(&run(1001))?;
    // Other requests are answered meanwhile.
    client.ask("workspace/symbol", json!({ "query": "x" }))?;
    client.tell("$/cancelRequest", json!({ "id": 1001 }))?;
    loop {
        client.ask("workspace/symbol", json!({ "query": "x" }))?;
        if let Some(answer) = client.heard.iter().find(|message| message["id"] == 1001) {
            expect(answer["error"]["code"] == -32800, answer)?;
            break;
        }
    }
    client.write(&run(1002))?;
    client.ask("workspace/symbol", json!({ "query": "x" }))?;
    expect(client.leave()? == 0, &"the exit status")?;
    expect(!cfg!(target_os = "linux") || !runs(&path), &"the program runs on")
}

fn rubbish() -> Result<(), Failed> {
    let mut client = client(json!({ "terminal": [] }))?;
    client.open("file:///nowhere/b.sac", "int f;\n// > 1\n")?;
    for (name, arguments) in [
        ("ravel.run", json!(null)),
        ("ravel.run", json!(["untitled:1"])),
        ("rm", json!([])),
        ("ravel.evaluate", json!(["file:///nowhere/c.sac", 1])),
        ("ravel.evaluate", json!(["file:///nowhere/b.sac", 0])),
        ("ravel.evaluate", json!(["file:///nowhere/b.sac", -1])),
        ("ravel.evaluate", json!({ "a": 1 })),
        ("ravel.evaluate", json!(["file:///nowhere/b.sac", 1])),
    ] {
        let answer = command(&mut client, name, arguments.clone())?;
        expect(answer["error"]["message"].is_string(), &(name, arguments, &answer))?;
    }
    let answer = command(&mut client, "ravel.test", json!(["file:///nowhere/b.sac", "test_x"]))?;
    expect(answer["result"]["status"] == 1, &answer)?;
    expect(client.leave()? == 0, &"the exit status")
}

/// A client that nobody here wrote, where it is installed: `nvim` on the path, or what `RAVEL_NVIM` names, from 0.11.
fn neovim() -> Result<(), Failed> {
    let nvim = std::env::var_os("RAVEL_NVIM").unwrap_or_else(|| "nvim".into());
    let answer =
        Command::new(&nvim).args(["--clean", "--headless", "+lua print(vim.lsp.config and 'new')", "+qall"]).output();
    let is_new = |output: &Output| String::from_utf8_lossy(&output.stderr).contains("new");
    if !answer.is_ok_and(|output| is_new(&output)) {
        println!("Neovim 0.11 is not installed: it is not tried");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("main.sac");
    let text = "use Array: all;\nstruct Point { double x; double y; };\n\
                double norm(struct Point p) { return p.x * p.x + p.y * p.y; }\n// > norm(Point { 1.0, 2.0 })\n\
                int main() { return toi(norm(Point { 3.0, 4.0 })); }\n";
    fs::write(&path, text)?;
    let mut command = Command::new(&nvim);
    command.args(["--clean", "--headless", "-l"]).arg(repository().join("tests/lsp/neovim.lua"));
    command.env("RAVEL_BIN", ravel()).env("RAVEL_TEST_FILE", &path).env("XDG_CACHE_HOME", folder.path());
    let output = command.env("XDG_STATE_HOME", folder.path()).output()?;
    let wrote = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    expect(output.status.success() && wrote.contains("ravel run main.sac: exit status 25"), &wrote)
}
