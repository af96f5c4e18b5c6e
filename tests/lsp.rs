//! The language server, by a scripted client: what it says of texts while they are typed, its fixes, the formatter, and clients that misbehave.

#[path = "lsp/cases.rs"]
mod cases;
#[path = "lsp/client.rs"]
mod client;
#[path = "lsp/package.rs"]
mod package;
#[path = "lsp/running.rs"]
mod running;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use client::Client;
use ravel_tests::{Arguments, Failed, Trial, files_below, repository};
use serde_json::json;

fn expect(holds: bool, what: &dyn std::fmt::Debug) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{what:#?}").into()) }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Typing: reports come, change and go; a fix is what it says.
fn typing() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let uri = uri(&folder.path().join("a.sac"));
    let mut client = Client::start(json!(["utf-16"]))?;
    // The character before the mistake is two units long.
    client.open(&uri, "use Array: all;\nint main()\n{\n    /* 𝛼 */ a = [1, 2] * 2.5;\n    return toi(sum(a));\n}\n")?;
    let reports = client.reports(&uri)?;
    let [report] = &reports[..] else { return Err(format!("{reports:#?}").into()) };
    expect(report["code"] == "E0310" && report["severity"] == 1, report)?;
    let at = |line: u64, character: u64| json!({ "line": line, "character": character });
    expect(report["range"] == json!({ "start": at(3, 17), "end": at(3, 29) }), report)?;
    expect(report["relatedInformation"].as_array().is_some_and(|list| list.len() == 2), report)?;
    let document = json!({ "uri": uri });
    let range = json!({ "start": at(3, 20), "end": at(3, 20) });
    let asked = json!({ "textDocument": document, "range": range, "context": { "diagnostics": [] } });
    let answer = client.ask("textDocument/codeAction", asked)?;
    let action = &answer["result"][0];
    let edit = &action["edit"]["changes"][&uri][0];
    expect(action["isPreferred"] == true && edit["newText"] == "tod([1, 2])", &answer)?;
    expect(edit["range"] == json!({ "start": at(3, 17), "end": at(3, 23) }), &answer)?;
    // As an editor applies it.
    let change = json!([{ "range": edit["range"], "text": edit["newText"] }]);
    client.tell(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": change }),
    )?;
    let reports = client.reports(&uri)?;
    expect(reports.is_empty(), &reports)?;
    expect(client.leave()? == 0, &"the exit status")
}

/// A module that is open and not saved is what a program uses; its own mistakes are shown there.
fn modules() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("M.sac");
    let program = folder.path().join("p.sac");
    fs::write(&module, "module M;\nexport all;\nint f(int i) { return i; }\n")?;
    fs::write(&program, "")?;
    let mut client = Client::start(json!(["utf-8", "utf-16"]))?;
    client.open(&uri(&module), "module M;\nexport all;\nint g(int i) { return j; }\n")?;
    let reports = client.reports(&uri(&module))?;
    expect(reports.len() == 1 && reports[0]["code"] == "E0212", &reports)?;
    client.open(&uri(&program), "use M: all;\nint main() { return f(1); }\n")?;
    let reports = client.reports(&uri(&program))?;
    expect(reports.iter().any(|report| report["code"] == "E0210"), &reports)?;
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri(&module) } }))?;
    client.tell("textDocument/didSave", json!({ "textDocument": { "uri": uri(&program) } }))?;
    loop {
        let reports = client.reports(&uri(&program))?;
        if reports.is_empty() {
            break;
        }
    }
    expect(client.leave()? == 0, &"the exit status")
}

fn formatting() -> Result<(), Failed> {
    let mut client = Client::start(json!(["utf-8"]))?;
    client.open("file:///nowhere/a.sac", "int main( )\n{\nreturn  0;\n}\n")?;
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let asked = |uri: &str| json!({ "textDocument": { "uri": uri }, "options": options });
    let answer = client.ask("textDocument/formatting", asked("file:///nowhere/a.sac"))?;
    expect(answer["result"][0]["newText"] == "int main()\n{\n    return 0;\n}\n", &answer)?;
    let answer = client.ask("textDocument/formatting", asked("file:///nowhere/b.sac"))?;
    expect(answer["error"]["message"] == "this file is not open", &answer)?;
    client.open("file:///nowhere/b.sac", "int main() { return \"; }\n")?;
    let answer = client.ask("textDocument/formatting", asked("file:///nowhere/b.sac"))?;
    expect(answer["error"].is_object(), &answer)?;
    expect(client.leave()? == 0, &"the exit status")
}

/// What no client should send is refused, and the others go on; one that breaks off leaves no process behind.
fn rubbish() -> Result<(), Failed> {
    let mut client = Client::start(json!(null))?;
    let answer = client.ask("textDocument/noSuchThing", json!([1, 2]))?;
    expect(answer["error"]["code"] == -32601, &answer)?;
    client.tell("textDocument/didOpen", json!({ "textDocument": { "uri": "untitled:1", "text": 5 } }))?;
    client.tell("textDocument/didChange", json!({ "textDocument": { "uri": "file:///x" }, "contentChanges": 7 }))?;
    client.tell("textDocument/didClose", json!(null))?;
    let nonsense = json!({ "textDocument": { "uri": "file:///x" }, "range": "everywhere" });
    let answer = client.ask("textDocument/codeAction", nonsense)?;
    expect(answer["result"] == json!([]), &answer)?;
    let nowhere = json!({ "line": 99, "character": 99 });
    client.open("file:///nowhere/c.sac", "int main() { return 0; }\n")?;
    let change = json!([{ "range": { "start": nowhere, "end": nowhere }, "text": "// end\n" }, { "range": { "start": 3, "end": nowhere }, "text": "" }]);
    client.tell(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": "file:///nowhere/c.sac", "version": 2 }, "contentChanges": change }),
    )?;
    let asked = json!({ "textDocument": { "uri": "file:///nowhere/c.sac" }, "options": {} });
    let answer = client.ask("textDocument/formatting", asked)?;
    expect(answer["error"].is_null(), &answer)?;
    if let Some(input) = &mut client.input {
        input.write_all(b"Content-Length: many\r\n\r\n{}")?;
    }
    expect(client.wait()? == 1, &"the exit status after rubbish")?;
    let mut client = Client::start(json!(null))?;
    client.input = None;
    expect(client.wait()? == 1, &"the exit status when the client dies")
}

/// What can be asked of a document at a position.
const QUESTIONS: [&str; 14] = [
    "hover",
    "definition",
    "references",
    "documentHighlight",
    "documentSymbol",
    "inlayHint",
    "completion",
    "signatureHelp",
    "prepareRename",
    "semanticTokens/full",
    "foldingRange",
    "codeLens",
    "codeAction",
    "rangeFormatting",
];

/// Asks everything; the longest time that an answer took.
fn ask_everything(client: &mut Client, uri: &str, line: usize, character: usize) -> Result<Duration, Failed> {
    let at = json!({ "line": line, "character": character });
    let document = json!({ "uri": uri });
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": at });
    let mut longest = Duration::ZERO;
    for question in QUESTIONS {
        let context = json!({ "includeDeclaration": true, "diagnostics": [] });
        let asked =
            json!({ "textDocument": document, "position": at, "range": range, "context": context, "options": {} });
        let start = Instant::now();
        let answer = client.ask(&format!("textDocument/{question}"), asked)?;
        longest = longest.max(start.elapsed());
        // A text that is no SaC has no layout; a bug would be told of with another number.
        expect(answer["error"].is_null() || answer["error"]["code"] == -32803, &(question, &answer))?;
    }
    Ok(longest)
}

/// Every beginning of a program is opened, up to each of its words, and everything is asked where it ends.
fn beginnings() -> Result<(), Failed> {
    let mut client = Client::start(json!(["utf-8"]))?;
    for name in ["mandelbrot"] {
        let text = fs::read_to_string(repository().join(format!("examples/{name}.sac")))?;
        let is_word = |at: usize| text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let starts_word = |at: usize| text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_end = |at: &usize| text.is_char_boundary(*at) && !(is_word(*at) && starts_word(*at));
        let ends: Vec<usize> = (0..=text.len()).filter(is_end).collect();
        for batch in ends.chunks(30) {
            let uri = |end: &usize| format!("file:///nowhere/{name}{end}.sac");
            for end in batch {
                client.open(&uri(end), &text[..*end])?;
            }
            for end in batch {
                client.known(&uri(end))?;
                let line = text[..*end].matches('\n').count();
                let column = end - text[..*end].rfind('\n').map_or(0, |at| at + 1);
                ask_everything(&mut client, &uri(end), line, column)?;
                client.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri(end) } }))?;
            }
        }
    }
    expect(client.leave()? == 0, &"the exit status")
}

/// While the largest example is typed into nobody waits for an answer.
fn speed() -> Result<(), Failed> {
    let path = repository().join("examples/captions/captions.sac");
    let text = fs::read_to_string(&path)?;
    let mut client = Client::start(json!(["utf-8"]))?;
    let uri = uri(&path);
    client.open(&uri, &text)?;
    client.known(&uri)?;
    let line = text.lines().count() * 2 / 3;
    let typed = "    mean = sum(";
    let mut times = Vec::new();
    for (version, c) in std::iter::once('\n').chain(typed.chars()).enumerate() {
        let at = json!({ "line": line, "character": version.saturating_sub(1) });
        let change = json!([{ "range": { "start": at, "end": at }, "text": c.to_string() }]);
        let document = json!({ "uri": uri, "version": version + 2 });
        client.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": change }))?;
        times.push(ask_everything(&mut client, &uri, line, version)?);
        std::thread::sleep(Duration::from_millis(20));
    }
    times.sort();
    let median = times[times.len() / 2];
    println!("longest answer after a key: median {median:?}, of all {:?}", times[times.len() - 1]);
    // The goal is 20 ms; a machine that others work on as well is given more.
    expect(median < Duration::from_millis(200), &times)?;
    expect(client.leave()? == 0, &"the exit status")
}

/// Questions about nothing, beyond the text, and of the wrong kind are answered all the same.
fn rubbish_questions() -> Result<(), Failed> {
    let mut client = Client::start(json!(null))?;
    let uri = "file:///nowhere/q.sac";
    client.open(uri, "int main() { a = 1; return a; }\n")?;
    client.known(uri)?;
    let nowhere = json!({ "line": 7_000_000_000_u64, "character": -1 });
    let document = json!({ "uri": uri });
    let questions = QUESTIONS.iter().map(|question| format!("textDocument/{question}"));
    for question in questions.chain(["textDocument/rename".to_string(), "workspace/symbol".to_string()]) {
        for parameters in [
            json!(null),
            json!([]),
            json!({ "textDocument": 5 }),
            json!({ "textDocument": document }),
            json!({ "textDocument": { "uri": "file:///x" }, "position": nowhere }),
            json!({ "textDocument": document, "position": nowhere, "range": { "start": nowhere, "end": nowhere } }),
            json!({ "textDocument": document, "position": "here", "newName": 5, "query": {} }),
        ] {
            let answer = client.ask(&question, parameters.clone())?;
            expect(answer["error"]["code"] != -32603, &(&question, parameters, &answer))?;
        }
    }
    // The client dies while something is being checked.
    client.tell("textDocument/didSave", json!({ "textDocument": document }))?;
    client.input = None;
    expect(client.wait()? == 1, &"the exit status when the client dies")
}

/// Every prefix of a program, as if it were typed quickly, does no harm.
fn prefixes() -> Result<(), Failed> {
    let mut client = Client::start(json!(["utf-8"]))?;
    let files = files_below(&repository().join("examples/mnist"), "sac");
    for (k, file) in files.iter().enumerate() {
        let text = fs::read_to_string(file)?;
        let uri = format!("file:///nowhere/{k}.sac");
        client.open(&uri, "")?;
        let ends = (0..text.len()).filter(|at| text.is_char_boundary(*at)).step_by(211);
        for (version, end) in ends.enumerate() {
            let change = json!([{ "text": &text[..end] }]);
            let document = json!({ "uri": uri, "version": version + 2 });
            client.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": change }))?;
            let asked = json!({ "textDocument": { "uri": uri }, "options": {} });
            client.ask("textDocument/formatting", asked)?;
        }
    }
    expect(client.leave()? == 0, &"the exit status")
}

fn main() -> ExitCode {
    let mut trials = vec![
        Trial::test("typing", typing),
        Trial::test("modules", modules),
        Trial::test("formatting", formatting),
        Trial::test("rubbish", rubbish),
        Trial::test("prefixes", prefixes),
        Trial::test("beginnings", beginnings),
        Trial::test("speed", speed),
        Trial::test("rubbish questions", rubbish_questions),
    ];
    trials.extend(cases::trials());
    trials.extend(package::trials());
    trials.extend(running::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
