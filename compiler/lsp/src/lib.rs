//! The language server: what an editor asks, and what it is told.
//!
//! The main thread keeps the texts that the editor holds and answers requests. A second one checks (`checker`); what it finds comes back
//! as an event like those of the editor, so that only one thread has a state.
#![forbid(unsafe_code)]

mod answers;
mod checker;
mod commands;
mod complete;
mod drift;
mod evaluate;
mod hints;
mod programs;
mod rename;
mod runs;
mod texts;
mod tokens;
mod transport;
mod view;

use checker::{Checked, Checker, Found};
use commands::Job;
use drift::Edit;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use programs::Programs;
use ravel_driver::Options;
use rename::Wish;
use runs::Runs;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use texts::{Encoding, Lines, path_of, uri_of};
use view::{Document, Documents, Known, View};

struct Server {
    connection: Connection,
    encoding: Encoding,
    options: Options,
    documents: Documents,
    programs: Programs,
    checker: Checker,
    /// What the last check of each open file found.
    found: BTreeMap<String, Found>,
    /// Folders that the editor has open.
    folders: Vec<PathBuf>,
    /// Files that the editor shows reports for.
    shown: BTreeSet<String>,
    /// What the editor asks again for if it is told to, and how often it was.
    refreshes: Vec<&'static str>,
    asked: u64,
    runs: Runs<Job>,
    /// Whether the editor takes edits that it has not asked for.
    can_apply: bool,
}

/// Talks to an editor over standard input and output until it says goodbye.
///
/// # Errors
/// The client broke off, or does not speak the protocol.
pub fn serve(options: Options) -> Result<(), String> {
    let (connection, threads) = transport::connect().map_err(|error| format!("cannot start a thread: {error}"))?;
    let outcome = converse(connection, options);
    // The threads end with their channels.
    let ended = threads.join().map_err(|error| format!("the client broke off: {error}"));
    // Why reading ended says more than that it did.
    ended.and(outcome)
}

fn converse(connection: Connection, options: Options) -> Result<(), String> {
    let (id, parameters) = connection.initialize_start().map_err(|error| error.to_string())?;
    let offered = &parameters["capabilities"]["general"]["positionEncodings"];
    let has_bytes = offered.as_array().is_some_and(|all| all.iter().any(|one| one == "utf-8"));
    let encoding = if has_bytes { Encoding::Utf8 } else { Encoding::Utf16 };
    let has_terminal = parameters["initializationOptions"]["terminal"] == true;
    let answer = json!({
        "capabilities": {
            "positionEncoding": encoding.name(),
            "textDocumentSync": { "openClose": true, "change": 2, "save": {} },
            "documentFormattingProvider": true,
            "documentRangeFormattingProvider": true,
            "foldingRangeProvider": true,
            "codeLensProvider": {},
            "executeCommandProvider": { "commands": commands::offered(has_terminal) },
            "semanticTokensProvider": {
                "legend": { "tokenTypes": tokens::KINDS, "tokenModifiers": tokens::PROPERTIES },
                "full": true,
            },
            "hoverProvider": true,
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "inlayHintProvider": true,
            "renameProvider": { "prepareProvider": true },
            "completionProvider": { "triggerCharacters": [":", ".", "(", ","] },
            "signatureHelpProvider": { "triggerCharacters": ["(", ","], "retriggerCharacters": [")"] },
            "codeActionProvider": { "codeActionKinds": ["quickfix", "source"] },
        },
        "serverInfo": { "name": "ravel", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, answer).map_err(|error| error.to_string())?;
    let checker = Checker::start(encoding).map_err(|error| format!("cannot start a thread: {error}"))?;
    let (documents, found, shown) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    let can_refresh = |what: &&str| parameters["capabilities"]["workspace"][what]["refreshSupport"] == true;
    let refreshes = ["inlayHint", "semanticTokens", "codeLens"].into_iter().filter(can_refresh).collect();
    let folders = folders(&parameters);
    let can_apply = parameters["capabilities"]["workspace"]["applyEdit"] == true;
    let mut server = Server {
        connection,
        encoding,
        options,
        documents,
        programs: Programs::new(),
        checker,
        found,
        folders,
        shown,
        refreshes,
        asked: 0,
        runs: Runs::new(),
        can_apply,
    };
    server.run()
}

/// The folders that the editor has open, as it says at the beginning.
fn folders(parameters: &Value) -> Vec<PathBuf> {
    let many = parameters["workspaceFolders"].as_array().into_iter().flatten().map(|folder| &folder["uri"]);
    let one = std::iter::once(&parameters["rootUri"]);
    let mut paths: Vec<PathBuf> = many.chain(one).filter_map(|uri| path_of(uri.as_str()?)).collect();
    paths.dedup();
    paths
}

impl Server {
    fn run(&mut self) -> Result<(), String> {
        loop {
            let message = match self.checker.next(&self.connection.receiver, &self.runs.finished) {
                Some(checker::Event::Finished(done)) => {
                    self.finish(*done)?;
                    continue;
                }
                Some(checker::Event::Checked(checked)) => {
                    self.take(checked)?;
                    continue;
                }
                Some(checker::Event::Message(message)) => message,
                None => return Err("the client left without a word".to_string()),
            };
            match message {
                Message::Request(request) => {
                    if self.connection.handle_shutdown(&request).map_err(|error| error.to_string())? {
                        return Ok(());
                    }
                    let id = request.id.clone();
                    if request.method == "workspace/executeCommand" {
                        if let Err(why) = self.execute(id.clone(), &request.params) {
                            self.send(Message::Response(refused(id, ErrorCode::RequestFailed, &why)))?;
                        }
                        continue;
                    }
                    // A bug of ours costs an answer, not the session.
                    let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.answer(request)));
                    let response = answer.unwrap_or_else(|_| {
                        refused(id, ErrorCode::InternalError, "this is a bug in Ravel; please report it with the file")
                    });
                    self.send(Message::Response(response))?;
                }
                Message::Notification(notification) => self.note(&notification)?,
                Message::Response(_) => {}
            }
        }
    }

    fn send(&self, message: Message) -> Result<(), String> {
        self.connection.sender.send(message).map_err(|_| "the client does not listen".to_string())
    }

    fn answer(&mut self, request: Request) -> Response {
        let Request { id, method, params } = request;
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default().to_string();
        match method.as_str() {
            "textDocument/formatting" => match self.documents.get(&uri) {
                Some(document) => formatted(id, document, None, self.encoding),
                None => refused(id, ErrorCode::InvalidParams, "this file is not open"),
            },
            "textDocument/rangeFormatting" => match self.documents.get(&uri) {
                Some(document) => formatted(id, document, Some(&params["range"]), self.encoding),
                None => refused(id, ErrorCode::InvalidParams, "this file is not open"),
            },
            "textDocument/foldingRange" => {
                let document = self.documents.get(&uri);
                Response::new_ok(id, document.map_or(Value::Null, |document| tokens::folds(&document.text)))
            }
            "textDocument/codeAction" => Response::new_ok(id, self.actions(&uri, &params["range"])),
            "textDocument/rename" => match self.rename(&uri, &params) {
                Ok(edit) => Response::new_ok(id, edit),
                Err(why) => refused(id, ErrorCode::RequestFailed, &why),
            },
            "workspace/symbol" => {
                let views: Vec<View<'_>> = self.documents.keys().filter_map(|uri| self.view(uri)).collect();
                let query = params["query"].as_str().unwrap_or_default();
                Response::new_ok(id, answers::workspace_symbols(&views, query))
            }
            _ if is_about_facts(&method) => {
                // Of a text that nobody has looked at yet nothing is known.
                let view = self.view(&uri);
                Response::new_ok(id, view.map_or(Value::Null, |view| about(&view, &method, &uri, &params)))
            }
            _ => refused(id, ErrorCode::MethodNotFound, &format!("there is no `{method}` here")),
        }
    }

    /// A document that something is known of.
    fn view(&self, uri: &str) -> Option<View<'_>> {
        View::new(&self.documents, &self.programs, uri, self.encoding)
    }

    fn note(&mut self, notification: &Notification) -> Result<(), String> {
        let parameters = &notification.params;
        if notification.method == "$/cancelRequest" {
            // Other requests are answered at once.
            let id = serde_json::from_value::<RequestId>(parameters["id"].clone());
            id.iter().for_each(|id| self.runs.cancel(id));
            return Ok(());
        }
        let document = &parameters["textDocument"];
        let Some(uri) = document["uri"].as_str().map(str::to_string) else { return Ok(()) };
        match notification.method.as_str() {
            "textDocument/didOpen" => {
                let Some(path) = path_of(&uri) else { return Ok(()) };
                let text = document["text"].as_str().unwrap_or_default().to_string();
                let (version, edits) = (version(document), Vec::new());
                self.programs.remove(&uri);
                self.documents.insert(uri.clone(), Document { path: path.clone(), text, version, edits, known: None });
                self.look(&uri, false);
                self.look_at_roots(&path);
            }
            "textDocument/didChange" => {
                let Some(known) = self.documents.get_mut(&uri) else { return Ok(()) };
                let new = version(document);
                for change in parameters["contentChanges"].as_array().into_iter().flatten() {
                    let edit = apply(&mut known.text, change, self.encoding);
                    known.edits.extend(edit.map(|edit| (new, edit)));
                }
                known.version = new;
                let path = known.path.clone();
                self.look(&uri, false);
                self.look_at_readers(&path);
            }
            // Who uses a module that was saved is checked anew.
            "textDocument/didSave" => {
                for other in self.documents.keys().cloned().collect::<Vec<_>>() {
                    self.look(&other, other == uri);
                }
                if let Some(path) = path_of(&uri) {
                    self.look_at_roots(&path);
                }
            }
            "textDocument/didClose" => {
                self.documents.remove(&uri);
                self.found.remove(&uri);
                self.show()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Has an open file checked, with all texts as the editor holds them.
    fn look(&mut self, uri: &str, explains: bool) {
        let Some(document) = self.documents.get(uri) else { return };
        let options = self.with_texts();
        self.checker.look(uri.to_string(), document.version, document.path.clone(), options, explains);
    }

    /// The edits that give a name another one; this resolves all names again, twice.
    fn rename(&self, uri: &str, params: &Value) -> Result<Value, String> {
        let document = self.documents.get(uri).ok_or("this file is not open")?;
        let byte = Lines::new(&document.text, self.encoding).offset(&params["position"]);
        let name = params["newName"].as_str().unwrap_or_default().to_string();
        let others = self.documents.values().map(|other| other.path.clone()).collect();
        let (options, folders) = (self.with_texts(), self.folders.clone());
        let wish =
            Wish { options, path: document.path.clone(), byte: byte as u32, name: name.clone(), others, folders };
        let renamed = rename::rename(wish)?;
        let mut changes = serde_json::Map::new();
        for (file, places) in &renamed.places {
            let uri = address(file).ok_or("a file has no address")?;
            let lines = Lines::new(&renamed.texts[file], self.encoding);
            let edit = |at: &u32| {
                let (start, end) = (lines.position(*at as usize), lines.position(*at as usize + renamed.old));
                json!({ "range": { "start": start, "end": end }, "newText": name })
            };
            changes.insert(uri, places.iter().map(edit).collect());
        }
        Ok(json!({ "changes": changes }))
    }

    /// The options, with all texts as the editor holds them.
    fn with_texts(&self) -> Options {
        let mut options = self.options.clone();
        for open in self.documents.values() {
            options.texts.set(open.path.clone(), open.text.as_str());
        }
        options
    }

    /// Has the editor ask again for what it shows all the time.
    fn refresh(&mut self) -> Result<(), String> {
        for what in self.refreshes.clone() {
            self.asked += 1;
            let id = RequestId::from(format!("refresh {}", self.asked));
            let request = Request { id, method: format!("workspace/{what}/refresh"), params: Value::Null };
            self.send(Message::Request(request))?;
        }
        Ok(())
    }

    fn take(&mut self, checked: Checked) -> Result<(), String> {
        let Checked { uri, version, mut found } = checked;
        let Some(document) = self.documents.get_mut(&uri) else {
            // What is wrong with a file that nobody has open is not shown.
            if let Some((facts, _)) = found.facts.take().filter(|_| !found.is_torn) {
                self.programs.insert(uri, facts);
                self.refresh()?;
            }
            return Ok(());
        };
        if let Some((facts, file)) = found.facts.take() {
            // While a statement is being written, what was known before it began is worth more.
            let is_better = document.known.as_ref().is_none_or(|known| !found.is_torn && known.version <= version);
            if is_better {
                // Where nothing was compiled, what became of with-loops is what it was.
                let before: Vec<Edit> =
                    document.edits.iter().filter(|(made, _)| *made <= version).map(|(_, edit)| *edit).collect();
                let carried = || {
                    let old = document.known.iter().flat_map(|known| &known.lenses);
                    let carried =
                        old.filter_map(|(at, title)| Some((drift::forward(&before, at.clone())?, title.clone())));
                    carried.collect()
                };
                let lenses = match found.lenses.take() {
                    Some(lenses) => {
                        let own = lenses.into_iter().filter(|(span, _)| span.file == file);
                        own.map(|(span, title)| (span.start as usize..span.end as usize, title)).collect()
                    }
                    None => carried(),
                };
                document.edits.retain(|(made, _)| *made > version);
                document.known = Some(Known { facts, file, version, lenses });
            }
        }
        // A text that has changed since is being looked at already.
        let is_now = document.version == version;
        self.refresh()?;
        if !is_now {
            return Ok(());
        }
        self.found.insert(uri, found);
        self.show()
    }

    /// Shows the reports of all checks, once where several have the same, and takes back those of files that are well.
    fn show(&mut self) -> Result<(), String> {
        let mut by_file: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for (uri, diagnostic) in self.found.values().flat_map(|found| &found.diagnostics) {
            let list = by_file.entry(uri).or_default();
            if !list.contains(&diagnostic) {
                list.push(diagnostic);
            }
        }
        let gone = self.shown.iter().filter(|uri| !by_file.contains_key(uri.as_str()));
        let none: Vec<Value> = gone.map(|uri| json!({ "uri": uri, "diagnostics": [] })).collect();
        let some = by_file.iter().map(|(uri, list)| {
            let version = self.documents.get(*uri).map(|document| document.version);
            match version {
                Some(version) => json!({ "uri": uri, "version": version, "diagnostics": list }),
                None => json!({ "uri": uri, "diagnostics": list }),
            }
        });
        let all: Vec<Value> = none.into_iter().chain(some).collect();
        self.shown = by_file.keys().map(|uri| (*uri).to_string()).collect();
        for parameters in all {
            let method = "textDocument/publishDiagnostics".to_string();
            self.send(Message::Notification(Notification { method, params: parameters }))?;
        }
        Ok(())
    }

    /// The fixes of reports that the range touches.
    fn actions(&self, uri: &str, range: &Value) -> Value {
        let place = |value: &Value| Some((value["line"].as_u64()?, value["character"].as_u64()?));
        let (Some(from), Some(upto)) = (place(&range["start"]), place(&range["end"])) else { return json!([]) };
        let touches = |action: &&checker::Action| {
            action.uri == uri
                && place(&action.range["start"]).is_some_and(|start| start <= upto)
                && place(&action.range["end"]).is_some_and(|end| from <= end)
        };
        let mut found: Vec<&Value> = Vec::new();
        for action in self.found.values().flat_map(|found| &found.actions).filter(touches) {
            if !found.contains(&&action.value) {
                found.push(&action.value);
            }
        }
        let mut all: Vec<Value> = found.into_iter().cloned().collect();
        let document = self.documents.get(uri).into_iter();
        all.extend(document.flat_map(|document| commands::actions(&document.text, uri, from.0, upto.0)));
        json!(all)
    }
}

fn version(document: &Value) -> i64 {
    document["version"].as_i64().unwrap_or_default()
}

/// Requests that are answered from what is known of a text.
fn is_about_facts(method: &str) -> bool {
    matches!(
        method,
        "textDocument/hover"
            | "textDocument/definition"
            | "textDocument/references"
            | "textDocument/documentHighlight"
            | "textDocument/documentSymbol"
            | "textDocument/inlayHint"
            | "textDocument/codeLens"
            | "textDocument/semanticTokens/full"
            | "textDocument/prepareRename"
            | "textDocument/completion"
            | "textDocument/signatureHelp"
    )
}

fn about(view: &View<'_>, method: &str, uri: &str, params: &Value) -> Value {
    let position = &params["position"];
    match method {
        "textDocument/hover" => answers::hover(view, position).unwrap_or(Value::Null),
        "textDocument/definition" => answers::definition(view, position),
        "textDocument/references" => {
            answers::references(view, position, params["context"]["includeDeclaration"] == true)
        }
        "textDocument/documentHighlight" => answers::highlights(view, position),
        "textDocument/documentSymbol" => answers::symbols(view),
        "textDocument/completion" => complete::completion(view, position),
        "textDocument/signatureHelp" => complete::signature_help(view, position),
        "textDocument/prepareRename" => {
            view.name(position).and_then(|found| view.range(found.span)).unwrap_or(Value::Null)
        }
        "textDocument/codeLens" => json!([commands::lenses(view, uri), view.lenses()].concat()),
        "textDocument/semanticTokens/full" => tokens::semantic(view),
        "textDocument/inlayHint" => hints::hints(view, &params["range"]),
        _ => Value::Null,
    }
}

/// Replaces a range, or the whole text.
fn apply(text: &mut String, change: &Value, encoding: Encoding) -> Option<Edit> {
    let new = change["text"].as_str().unwrap_or_default();
    let range = &change["range"];
    if range.is_null() {
        // What both texts have in common has not moved.
        let same = text.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
        let most = text.len().min(new.len()) - same;
        let tail = text.bytes().rev().zip(new.bytes().rev()).take(most).take_while(|(old, new)| old == new).count();
        let edit = Edit { start: same, end: text.len() - tail, new: new.len() - tail - same };
        *text = new.to_string();
        return Some(edit);
    }
    let lines = Lines::new(text, encoding);
    let (from, upto) = (lines.offset(&range["start"]), lines.offset(&range["end"]));
    (from <= upto).then(|| {
        text.replace_range(from..upto, new);
        Edit { start: from, end: upto, new: new.len() }
    })
}

/// Edits that lay out a text, or what of it touches a range.
fn formatted(id: RequestId, document: &Document, range: Option<&Value>, encoding: Encoding) -> Response {
    match ravel_format::format(&document.text) {
        Ok(formatted) if formatted.text == document.text => Response::new_ok(id, json!([])),
        Ok(formatted) => {
            let lines = Lines::new(&document.text, encoding);
            if let Some(range) = range {
                let line = |at: &Value| at["line"].as_u64().map_or(0, |line| line as usize);
                let (from, upto) = (line(&range["start"]), line(&range["end"]));
                let touches = |at: &std::ops::Range<usize>| at.start <= upto && from < at.end.max(at.start + 1);
                let edits = ravel_format::edits(&document.text, &formatted.text).into_iter();
                let edits = edits.filter(|(at, _)| touches(at)).map(|(at, text)| {
                    let place = |line: usize| json!({ "line": line, "character": 0 });
                    json!({ "range": { "start": place(at.start), "end": place(at.end) }, "newText": text })
                });
                return Response::new_ok(id, json!(edits.collect::<Vec<_>>()));
            }
            let range = json!({ "start": lines.position(0), "end": lines.position(document.text.len()) });
            Response::new_ok(id, json!([{ "range": range, "newText": formatted.text }]))
        }
        Err(why) => refused(id, ErrorCode::RequestFailed, &format!("line {}: {}", why.line, why.what)),
    }
}

fn refused(id: RequestId, code: ErrorCode, why: &str) -> Response {
    Response::new_err(id, code as i32, why.to_string())
}

/// The address of a file that reports name.
fn address(name: &str) -> Option<String> {
    uri_of(&std::path::absolute(name).ok()?)
}
