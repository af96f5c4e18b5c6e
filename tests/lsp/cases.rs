//! Files with marks and what the server answers there.
//!
//! A file is a program in which `$0` to `$9` mark places, then sections `==== request mark`, each with its answer. Further files come in sections
//! `==== file NAME` before them. `RAVEL_BLESS=1` writes the answers anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::client::Client;
use ravel_tests::{Failed, Trial, files_below, repository};
use serde_json::{Value, json};

pub fn trials() -> Vec<Trial> {
    let files = files_below(&repository().join("tests/lsp"), "txt").into_iter();
    files
        .map(|file| {
            let name = file.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
            Trial::test(format!("answers {name}"), move || answers(&file))
        })
        .collect()
}

/// A file as it is opened.
struct Text {
    name: String,
    uri: String,
    text: String,
}

#[derive(Default)]
struct Case {
    texts: Vec<Text>,
    /// Address and position of each mark.
    marks: BTreeMap<String, (usize, Value)>,
}

impl Case {
    /// Takes the marks out of a text.
    fn add(&mut self, name: &str, folder: &Path, marked: &str) {
        let mut text = String::new();
        let mut rest = marked;
        while let Some(at) = rest.find('$') {
            let (before, behind) = rest.split_at(at);
            text.push_str(before);
            let mark: String = behind[1..].chars().take(1).filter(char::is_ascii_digit).collect();
            if mark.is_empty() {
                text.push('$');
                rest = &behind[1..];
                continue;
            }
            let line = text.matches('\n').count();
            let column = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
            self.marks.insert(mark, (self.texts.len(), json!({ "line": line, "character": column })));
            rest = &behind[2..];
        }
        text.push_str(rest);
        let uri = format!("file://{}", folder.join(name).display());
        self.texts.push(Text { name: name.to_string(), uri, text });
    }

    /// What a range covers, with its place.
    fn place(&self, uri: &str, range: &Value) -> String {
        let (line, from, upto) = (&range["start"]["line"], &range["start"]["character"], &range["end"]["character"]);
        let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX) as usize;
        match self.texts.iter().find(|text| text.uri == uri) {
            Some(text) => {
                let covered = text.text.lines().nth(number(line)).unwrap_or_default();
                let covered = covered.get(number(from)..number(upto)).unwrap_or("...");
                format!("{}:{}:{} {covered}", text.name, number(line) + 1, number(from) + 1)
            }
            // The library changes.
            None => uri.rsplit('/').next().unwrap_or_default().to_string(),
        }
    }

    fn locations(&self, all: &Value) -> String {
        let lines = all.as_array().into_iter().flatten();
        let mut lines: Vec<String> =
            lines.map(|one| self.place(one["uri"].as_str().unwrap_or_default(), &one["range"])).collect();
        lines.dedup();
        lines.join("\n")
    }

    fn ranges(&self, uri: &str, all: &Value, more: &dyn Fn(&Value) -> String) -> String {
        let all = all.as_array().into_iter().flatten();
        let lines: Vec<String> = all.map(|one| format!("{}{}", self.place(uri, &one["range"]), more(one))).collect();
        lines.join("\n")
    }

    /// The answer to a request, as text.
    fn ask(&self, client: &mut Client, request: &str) -> Result<String, Failed> {
        let words: Vec<&str> = request.split_whitespace().collect();
        let mark = words.get(1).copied().unwrap_or("0");
        let (text, position) = self.marks.get(mark).map_or((0, json!({})), |(text, at)| (*text, at.clone()));
        let uri = &self.texts[text].uri;
        let document = json!({ "uri": uri });
        let at = json!({ "textDocument": document, "position": position });
        let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99999, "character": 0 } });
        let mut put = |method: &str, parameters: Value| client.ask(method, parameters);
        Ok(match words[0] {
            "hover" => {
                let answer = put("textDocument/hover", at)?;
                answer["result"]["contents"]["value"].as_str().unwrap_or("nothing").to_string()
            }
            "definition" => self.locations(&put("textDocument/definition", at)?["result"]),
            "references" => {
                let mut asked = at;
                asked["context"] = json!({ "includeDeclaration": true });
                self.locations(&put("textDocument/references", asked)?["result"])
            }
            "highlights" => self.ranges(uri, &put("textDocument/documentHighlight", at)?["result"], &|one| {
                let kind = if one["kind"] == 3 { " (written)" } else { "" };
                kind.to_string()
            }),
            "symbols" => {
                let answer = put("textDocument/documentSymbol", at)?;
                let all = answer["result"].as_array().cloned().unwrap_or_default();
                let lines: Vec<String> = all
                    .iter()
                    .flat_map(|one| std::iter::once(one).chain(one["children"].as_array().into_iter().flatten()))
                    .map(|one| {
                        format!("{}: {}", self.place(uri, &one["selectionRange"]), one["detail"].as_str().unwrap_or(""))
                    })
                    .collect();
                lines.join("\n")
            }
            "workspace" => {
                let answer = put("workspace/symbol", json!({ "query": mark }))?;
                let all = answer["result"].as_array().cloned().unwrap_or_default();
                let lines: Vec<String> = all
                    .iter()
                    .map(|one| {
                        let location = &one["location"];
                        self.place(location["uri"].as_str().unwrap_or_default(), &location["range"])
                    })
                    .collect();
                lines.join("\n")
            }
            "hints" => {
                let answer = put("textDocument/inlayHint", json!({ "textDocument": document, "range": whole }))?;
                let all = answer["result"].as_array().cloned().unwrap_or_default();
                let lines: Vec<String> = all
                    .iter()
                    .map(|one| {
                        let (line, column) = (&one["position"]["line"], &one["position"]["character"]);
                        let (line, column) = (line.as_u64().unwrap_or(0), column.as_u64().unwrap_or(0));
                        format!("{}:{} {}", line + 1, column + 1, one["label"].as_str().unwrap_or(""))
                    })
                    .collect();
                lines.join("\n")
            }
            "complete" => {
                let answer = put("textDocument/completion", at)?;
                let items = answer["result"]["items"].as_array().cloned().unwrap_or_default();
                let most = words.get(2).and_then(|n| n.parse().ok()).unwrap_or(8);
                let text = |one: &Value, name: &str| one[name].as_str().unwrap_or("").to_string();
                let lines: Vec<String> = items
                    .iter()
                    .take(most)
                    .map(|one| format!("{} - {}", text(one, "label"), text(one, "detail")).trim_end().to_string())
                    .collect();
                lines.join("\n")
            }
            "signature" => {
                let answer = put("textDocument/signatureHelp", at)?;
                let result = &answer["result"];
                let all = result["signatures"].as_array().cloned().unwrap_or_default();
                let mut lines: Vec<String> =
                    all.iter().map(|one| one["label"].as_str().unwrap_or("").to_string()).collect();
                let (active, parameter) = (&result["activeSignature"], &result["activeParameter"]);
                lines.push(format!("active {active}, parameter {parameter}"));
                lines.join("\n")
            }
            "rename" => {
                let mut asked = at;
                asked["newName"] = json!(words.get(2).copied().unwrap_or("renamed"));
                let answer = put("textDocument/rename", asked)?;
                match answer["error"]["message"].as_str() {
                    Some(why) => format!("refused: {why}"),
                    None => {
                        let mut lines = Vec::new();
                        for (uri, edits) in answer["result"]["changes"].as_object().into_iter().flatten() {
                            lines.push(
                                self.ranges(uri, edits, &|one| {
                                    format!(" -> {}", one["newText"].as_str().unwrap_or(""))
                                }),
                            );
                        }
                        lines.join("\n")
                    }
                }
            }
            "folds" => {
                let answer = put("textDocument/foldingRange", json!({ "textDocument": document }))?;
                let all = answer["result"].as_array().cloned().unwrap_or_default();
                let number = |one: &Value, name: &str| one[name].as_u64().unwrap_or(0) + 1;
                let lines: Vec<String> = all
                    .iter()
                    .map(|one| {
                        format!(
                            "{}-{} {}",
                            number(one, "startLine"),
                            number(one, "endLine"),
                            one["kind"].as_str().unwrap_or("")
                        )
                    })
                    .collect();
                lines.join("\n")
            }
            "tokens" => {
                let answer = put("textDocument/semanticTokens/full", json!({ "textDocument": document }))?;
                tokens(&self.texts[text].text, &answer["result"]["data"])
            }
            "layout" => {
                // The line of the mark alone.
                let asked =
                    json!({ "textDocument": document, "range": { "start": position, "end": position }, "options": {} });
                self.ranges(uri, &put("textDocument/rangeFormatting", asked)?["result"], &|one| {
                    format!(" -> {}", one["newText"].as_str().unwrap_or("").trim_end())
                })
            }
            "lenses" => {
                client.tell("textDocument/didSave", json!({ "textDocument": document }))?;
                // They come with the check of the saved text.
                let mut lines = Vec::new();
                for _ in 0..100 {
                    let answer = client.ask("textDocument/codeLens", json!({ "textDocument": document }))?;
                    let all = answer["result"].as_array().cloned().unwrap_or_default();
                    lines = all
                        .iter()
                        .map(|one| {
                            let line = one["range"]["start"]["line"].as_u64().unwrap_or(0) + 1;
                            format!("{line}: {}", one["command"]["title"].as_str().unwrap_or(""))
                        })
                        .collect();
                    // What a compilation says has no command.
                    if all.iter().any(|one| one["command"]["command"] == "") {
                        break;
                    }
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
                lines.join("\n")
            }
            "commands" => {
                let answer = put("textDocument/codeLens", json!({ "textDocument": document }))?;
                let all = answer["result"].as_array().cloned().unwrap_or_default();
                let commands = all.iter().filter(|one| one["command"]["command"] != "");
                let lines: Vec<String> = commands
                    .map(|one| {
                        let line = one["range"]["start"]["line"].as_u64().unwrap_or(0) + 1;
                        let command = &one["command"];
                        let arguments = command["arguments"].as_array().into_iter().flatten().skip(1);
                        let arguments: String = arguments.map(|argument| format!(" {argument}")).collect();
                        let text = |name: &str| command[name].as_str().unwrap_or("").to_string();
                        format!("{line}: {} - {}{arguments}", text("title"), text("command"))
                    })
                    .collect();
                lines.join("\n")
            }
            "actions" => {
                let asked = json!({ "textDocument": document, "range": { "start": position, "end": position } });
                let answer = put("textDocument/codeAction", asked)?;
                let all = answer["result"].as_array().cloned().unwrap_or_default();
                let lines: Vec<&str> = all.iter().filter_map(|one| one["title"].as_str()).collect();
                lines.join("\n")
            }
            other => return Err(format!("no request is called {other}").into()),
        })
    }
}

/// Semantic tokens as words with their kinds.
fn tokens(text: &str, data: &Value) -> String {
    const KINDS: [&str; 8] =
        ["function", "type", "struct", "variable", "typeParameter", "namespace", "parameter", "property"];
    const PROPERTIES: [&str; 3] = [" declaration", " readonly", " library"];
    let numbers: Vec<usize> = data.as_array().into_iter().flatten().map(|n| n.as_u64().unwrap_or(0) as usize).collect();
    let (mut line, mut column) = (0, 0);
    let mut lines = Vec::new();
    for token in numbers.chunks(5) {
        let [down, right, length, kind, properties] = token else { continue };
        (line, column) = if *down > 0 { (line + down, *right) } else { (line, column + right) };
        let word = text.lines().nth(line).and_then(|line| line.get(column..column + length)).unwrap_or("?");
        let properties: String = (0..3).filter(|bit| properties >> bit & 1 == 1).map(|bit| PROPERTIES[bit]).collect();
        lines.push(format!("{}:{} {word} {}{properties}", line + 1, column + 1, KINDS.get(*kind).unwrap_or(&"?")));
    }
    lines.join("\n")
}

fn answers(file: &Path) -> Result<(), Failed> {
    let written = fs::read_to_string(file)?;
    let folder = tempfile::tempdir()?;
    let mut case = Case::default();
    let mut sections = written.split("\n==== ");
    let program = sections.next().unwrap_or_default();
    case.add("main.sac", folder.path(), &format!("{program}\n"));
    let mut requests = Vec::new();
    let mut files = Vec::new();
    for section in sections {
        let (head, body) = section.split_once('\n').unwrap_or((section, ""));
        match head.strip_prefix("file ") {
            Some(name) => {
                case.add(name, folder.path(), &format!("{body}\n"));
                fs::write(folder.path().join(name), &case.texts[case.texts.len() - 1].text)?;
                files.push(section);
            }
            None => requests.push((head, body.trim_end())),
        }
    }
    let mut client = Client::start(json!(["utf-8"]))?;
    // Modules first, so that the program is the last to be known.
    for text in case.texts.iter().rev() {
        fs::write(folder.path().join(&text.name), &text.text)?;
        client.open(&text.uri, &text.text)?;
    }
    for text in case.texts.iter().rev() {
        client.known(&text.uri)?;
    }
    let mut found = program.to_string();
    for file in files {
        found.push_str(&format!("\n==== {}", file.trim_end()));
    }
    let mut wrong = String::new();
    for (request, expected) in requests {
        let answer = case.ask(&mut client, request)?.trim_end().to_string();
        if answer != expected {
            wrong.push_str(&format!("{request}:\n{answer}\ninstead of\n{expected}\n"));
        }
        found.push_str(&format!("\n==== {request}\n{answer}"));
    }
    if std::env::var_os("RAVEL_BLESS").is_some() {
        client.leave()?;
        fs::write(file, format!("{found}\n"))?;
        return Ok(());
    }
    client.leave()?;
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}
