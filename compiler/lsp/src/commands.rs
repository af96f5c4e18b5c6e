//! What an editor can have done: programs run, tests and benchmarks, and inputs in comments evaluated.
//!
//! Each is a process of its own. An editor with terminals does the first three itself.

use crate::evaluate::{self, Input};
use crate::runs::Done;
use crate::texts::{Lines, path_of};
use crate::view::View;
use crate::{Server, refused};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use ravel_core::facts::DefKind;
use ravel_driver::files::module_of;
use ravel_driver::limited::{Ended, Limits, Order, Outcome};
use ravel_driver::project::{Access, Projects};
use ravel_driver::testing::kind_of;
use ravel_driver::{MacroOption, Options};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What runs programs.
const PROGRAMS: [&str; 3] = ["ravel.run", "ravel.test", "ravel.bench"];
const EVALUATE: &str = "ravel.evaluate";
const RUN_TIME: Duration = Duration::from_secs(60);
/// Tests have limits of their own, and benchmarks take what they take.
const TEST_TIME: Duration = Duration::from_secs(600);
/// Lines at the end of an output that a message shows.
const MOST_SHOWN: usize = 30;

/// What a process is for.
pub enum Job {
    /// The command line as people would write it.
    Program(String),
    /// An input of an open file, and the number that the session knows it by.
    Evaluate { uri: String, input: Input, number: usize },
}

/// The commands that an editor leaves to the server.
pub fn offered(has_terminal: bool) -> Vec<&'static str> {
    let programs = PROGRAMS.into_iter().filter(|_| !has_terminal);
    programs.chain([EVALUATE]).collect()
}

/// What can be done at places of a document.
pub fn lenses(view: &View<'_>, uri: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let functions = view.facts.defs.iter().filter(|def| def.kind == DefKind::Function && def.span.file == view.file);
    for def in functions {
        let (title, command) = match &*def.name {
            "main" => ("run", "ravel.run"),
            name if kind_of(name).is_some() => ("run test", "ravel.test"),
            name if name.starts_with("bench_") => ("run bench", "ravel.bench"),
            _ => continue,
        };
        let Some(range) = view.range(def.span).filter(|_| seen.insert(def.name.clone())) else { continue };
        let arguments = if command == "ravel.run" { json!([uri]) } else { json!([uri, &*def.name]) };
        found.push(lens(range, title, command, arguments));
    }
    for input in evaluate::inputs(&view.document.text) {
        found.push(lens(range(&input), "evaluate", EVALUATE, json!([uri, input.lines.start])));
    }
    found
}

fn lens(range: Value, title: &str, command: &str, arguments: Value) -> Value {
    json!({ "range": range, "command": { "title": title, "command": command, "arguments": arguments } })
}

fn range(input: &Input) -> Value {
    let place = |line: usize| json!({ "line": line, "character": 0 });
    json!({ "start": place(input.lines.start), "end": place(input.lines.end) })
}

/// The inputs that a range touches, as actions.
pub fn actions(text: &str, uri: &str, from: u64, upto: u64) -> Vec<Value> {
    let touches = |input: &Input| input.lines.start as u64 <= upto && from < input.results.end as u64;
    let inputs = evaluate::inputs(text).into_iter().filter(touches);
    let action = |input: Input| {
        let arguments = json!([uri, input.lines.start]);
        let command = json!({ "title": "evaluate", "command": EVALUATE, "arguments": arguments });
        json!({ "title": "evaluate", "kind": "source", "command": command })
    };
    inputs.map(action).collect()
}

impl Server {
    /// Starts what a command asks for; it is answered when that has ended.
    pub fn execute(&mut self, id: RequestId, params: &Value) -> Result<(), String> {
        let command = params["command"].as_str().unwrap_or_default();
        let uri = params["arguments"][0].as_str().unwrap_or_default();
        let (words, time): (&[&str], _) = match command {
            "ravel.run" => (&["run"], RUN_TIME),
            "ravel.test" => (&["test"], TEST_TIME),
            "ravel.bench" => (&["bench"], TEST_TIME),
            EVALUATE => return self.evaluate(id, uri, params["arguments"][1].as_u64()),
            _ => return Err(format!("there is no command `{command}` here")),
        };
        let path = path_of(uri).ok_or("the first argument is the address of a file")?;
        let mut line: Vec<OsString> = words.iter().map(OsString::from).collect();
        line.extend(sources(&self.options).into_iter().map(OsString::from));
        line.push(path.clone().into_os_string());
        let name = params["arguments"][1].as_str();
        if let Some(name) = name.filter(|_| command != "ravel.run") {
            line.extend(["--filter".into(), format!("{}:{name}", path.display()).into()]);
        }
        let order = Order { words: line, folder: folder_of(&path), search: None, input: String::new() };
        let shown = path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let title = format!("ravel {} {shown}{}", words[0], name.map_or(String::new(), |name| format!(" {name}")));
        self.runs.start(id, Job::Program(title), order, Limits { time, memory: None })
    }

    fn evaluate(&mut self, id: RequestId, uri: &str, line: Option<u64>) -> Result<(), String> {
        let document = self.documents.get(uri).ok_or("this file is not open")?;
        let inputs = evaluate::inputs(&document.text);
        let number = inputs.iter().position(|input| line.is_some_and(|line| input.lines.contains(&(line as usize))));
        let number = number.ok_or("there is no input `// > ...` on this line")?;
        let definitions = match module_of(&document.text) {
            // A module is read from its file, as programs read it.
            Some(module) => format!("use {module}: all;"),
            None => document.text.clone(),
        };
        let folder = folder_of(&document.path);
        let mut folders: Vec<PathBuf> = vec![folder.clone()];
        if let Ok(Some(project)) = Projects::default().of(&document.path, Access::of_reader()) {
            folders.extend(project.folders());
        }
        folders.extend(self.options.folders.iter().cloned());
        let folders = folders.into_iter().filter_map(|folder| std::path::absolute(folder).ok());
        let joined = std::env::join_paths(folders).map_err(|_| "a folder has `:` in its name")?;
        let limits = Limits { time: Duration::from_secs(evaluate::SECONDS), memory: Some(evaluate::MEMORY) };
        let asked = evaluate::requests(&definitions, &inputs[..=number]);
        let words = ["session", "--json"].map(OsString::from).to_vec();
        let order = Order { words, folder, search: Some(joined), input: asked };
        let (input, number) = (inputs[number].clone(), number + 1);
        self.runs.start(id, Job::Evaluate { uri: uri.to_string(), input, number }, order, limits)
    }

    /// Tells what came of a command.
    pub fn finish(&mut self, done: Done<Job>) -> Result<(), String> {
        let Done { id, job, outcome: Outcome { ended, output, is_cut } } = done;
        if ended == Ended::Stopped {
            let response = Response::new_err(id, ErrorCode::RequestCanceled as i32, "stopped".to_string());
            return self.send(Message::Response(response));
        }
        match job {
            Job::Program(title) => {
                let (how, failed) = told(&ended);
                let rest = if is_cut { "\n(what it wrote is longer)" } else { "" };
                self.tell("window/logMessage", json!({ "type": 4, "message": format!("{title}\n{output}{rest}") }))?;
                let lines: Vec<&str> = output.trim_end().lines().collect();
                let first = lines.len().saturating_sub(MOST_SHOWN);
                let cut = if first > 0 { "...\n" } else { "" };
                let text = format!("{title}{how}\n{cut}{}", lines[first..].join("\n"));
                let kind = if failed { 1 } else { 3 };
                self.tell("window/showMessage", json!({ "type": kind, "message": text.trim_end() }))?;
                let status = if let Ended::Status(status) = ended { json!(status) } else { Value::Null };
                self.send(Message::Response(Response::new_ok(id, json!({ "status": status, "output": output }))))
            }
            Job::Evaluate { uri, input, number } => {
                let outcome = match (&ended, evaluate::broken(&output)) {
                    (_, Some(why)) => Err(why),
                    (Ended::Status(_), _) if !is_cut => evaluate::outcome(&output, number),
                    (Ended::Status(_), _) => Err("what the input writes is too long".to_string()),
                    (ended, _) => Err(told(ended).0.trim_start_matches([':', ' ']).to_string()),
                };
                match outcome.and_then(|text| self.put(&uri, &input, &text).map(|()| text)) {
                    Ok(text) => self.send(Message::Response(Response::new_ok(id, json!({ "output": text })))),
                    Err(why) => self.send(Message::Response(refused(id, ErrorCode::RequestFailed, &why))),
                }
            }
        }
    }

    /// Has the editor write a result below its input, or shows it where the editor cannot.
    fn put(&mut self, uri: &str, input: &Input, text: &str) -> Result<(), String> {
        let document = self.documents.get(uri).ok_or("the file was closed meanwhile")?;
        // Lines may have moved since.
        let now = evaluate::inputs(&document.text);
        let same = now.iter().filter(|one| one.code == input.code);
        let near = same.min_by_key(|one| one.lines.start.abs_diff(input.lines.start));
        let near = near.ok_or("the input was changed meanwhile")?;
        if !self.can_apply {
            return self.tell("window/showMessage", json!({ "type": 3, "message": text }));
        }
        let mut new = evaluate::lines(near, text);
        let lines = Lines::new(&document.text, self.encoding);
        let place = |line: usize| json!({ "line": line, "character": 0 });
        let (mut start, mut end) = (place(near.results.start), place(near.results.end));
        let last = document.text.lines().count();
        if near.results.end >= last && !document.text.ends_with('\n') {
            // The last line has no end: the result begins with one.
            end = lines.position(document.text.len());
            if near.results.start >= last {
                start = end.clone();
                new = format!("\n{}", new.trim_end_matches('\n'));
            }
        }
        let edit = json!({ "range": { "start": start, "end": end }, "newText": new });
        let mut changes = serde_json::Map::new();
        changes.insert(uri.to_string(), json!([edit]));
        self.asked += 1;
        let id = RequestId::from(format!("apply {}", self.asked));
        let params = json!({ "label": "evaluate", "edit": { "changes": changes } });
        self.send(Message::Request(Request { id, method: "workspace/applyEdit".to_string(), params }))
    }

    fn tell(&self, method: &str, params: Value) -> Result<(), String> {
        self.send(Message::Notification(Notification { method: method.to_string(), params }))
    }
}

/// How something ended, behind its title, and whether it failed.
fn told(ended: &Ended) -> (String, bool) {
    match ended {
        Ended::Status(0) | Ended::Stopped => (":".to_string(), false),
        Ended::Status(status) => (format!(": exit status {status}"), true),
        Ended::TooLong(time) => (format!(": stopped after {} s", time.as_secs()), true),
        Ended::TooMuch(most) => (format!(": stopped, as it takes more than {} MiB", most >> 20), true),
        Ended::Failed(why) => (format!(": it cannot be started: {why}"), true),
    }
}

fn folder_of(path: &Path) -> PathBuf {
    let above = ravel_driver::project::find(path).or_else(|| path.parent().map(Path::to_path_buf));
    above.filter(|folder| folder.is_dir()).unwrap_or_else(|| PathBuf::from("."))
}

/// The options of the server that programs are read with, too.
fn sources(options: &Options) -> Vec<String> {
    let folders = options.folders.iter().filter_map(|folder| std::path::absolute(folder).ok());
    let folders = folders.flat_map(|folder| ["-I".to_string(), folder.display().to_string()]);
    let macros = options.macros.iter().flat_map(|given| match given {
        MacroOption::Define(text) => ["-D".to_string(), text.clone()],
        MacroOption::Undefine(text) => ["-U".to_string(), text.clone()],
    });
    folders.chain(macros).collect()
}
