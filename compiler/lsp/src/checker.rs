//! The thread that checks: the last text of each file, once nobody has typed for a moment.

use crate::address;
use crate::commands::Job;
use crate::runs::Done;
use crate::texts::{Encoding, Lines};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, select, unbounded};
use lsp_server::Message;
use ravel_diagnostics::{Diagnostic, Fix, Levels, Severity};
use ravel_driver::copies::is_copy;
use ravel_driver::facts::Facts;
use ravel_driver::files::is_library;
use ravel_driver::project::{Access, Projects};
use ravel_driver::{Compilation, Options};
use ravel_source::{FileId, SourceMap, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long nobody must have typed.
const QUIET: Duration = Duration::from_millis(100);
/// Stack of the thread: specialisation recurses with the program.
const STACK: usize = 1 << 30;

/// A file to check.
struct Look {
    uri: String,
    version: i64,
    path: PathBuf,
    options: Options,
    /// Whether to compile it, to say what became of its with-loops.
    explains: bool,
}

/// What a check found, ready to be sent.
#[derive(Default)]
pub struct Found {
    /// By the address of their files.
    pub diagnostics: Vec<(String, Value)>,
    pub actions: Vec<Action>,
    /// All that is known of the program, with the file that was looked at.
    pub facts: Option<(Arc<Facts>, FileId)>,
    /// What is known lacks parts of the file, which cannot be parsed.
    pub is_torn: bool,
    /// What became of with-loops, if it was compiled.
    pub lenses: Option<Vec<(Span, String)>>,
}

/// A fix as the protocol has it.
pub struct Action {
    /// Where it is offered.
    pub uri: String,
    pub range: Value,
    pub value: Value,
}

/// What was found for a version of a file.
pub struct Checked {
    pub uri: String,
    pub version: i64,
    pub found: Found,
}

/// What the main thread waits for.
pub enum Event {
    Message(Message),
    Finished(Box<Done<Job>>),
    Checked(Checked),
}

/// The thread, from outside.
pub struct Checker {
    looks: Sender<Look>,
    results: Receiver<Checked>,
}

impl Checker {
    /// # Errors
    /// The system has no thread left.
    pub fn start(encoding: Encoding) -> std::io::Result<Checker> {
        let (looks, waiting) = unbounded();
        let (finished, results) = unbounded();
        let work = move || run(&waiting, &finished, encoding);
        std::thread::Builder::new().name("ravel-check".to_string()).stack_size(STACK).spawn(work)?;
        Ok(Checker { looks, results })
    }

    /// Has a file checked some time soon. What was parsed of the library is kept from one check to the next, by the options.
    pub fn look(&self, uri: String, version: i64, path: PathBuf, options: Options, explains: bool) {
        // The thread goes only with the process.
        let _ = self.looks.send(Look { uri, version, path, options, explains });
    }

    /// The next thing that happens; nothing if the editor has gone.
    pub fn next(&self, messages: &Receiver<Message>, finished: &Receiver<Done<Job>>) -> Option<Event> {
        select! {
            recv(finished) -> done => Some(Event::Finished(Box::new(done.ok()?))),
            recv(messages) -> message => Some(Event::Message(message.ok()?)),
            recv(self.results) -> checked => Some(Event::Checked(checked.ok()?)),
        }
    }
}

/// Takes what is to be checked until the editor has gone.
fn run(waiting: &Receiver<Look>, finished: &Sender<Checked>, encoding: Encoding) {
    let mut looks: BTreeMap<String, Look> = BTreeMap::new();
    let mut wait = QUIET;
    loop {
        let next = if looks.is_empty() {
            waiting.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            waiting.recv_timeout(wait)
        };
        match next {
            // Only the last text of a file counts.
            Ok(mut look) => {
                wait = QUIET;
                let before = looks.remove(&look.uri);
                look.explains |= before.is_some_and(|before| before.explains && before.version == look.version);
                looks.insert(look.uri.clone(), look);
            }
            Err(RecvTimeoutError::Timeout) => {
                let Some((_, look)) = looks.pop_first() else { continue };
                // It is quiet: the others need not wait again.
                wait = Duration::ZERO;
                let (uri, version) = (look.uri.clone(), look.version);
                let found = check(look, encoding);
                if finished.send(Checked { uri, version, found }).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Checks one file. A bug of ours costs its reports, not the session.
fn check(look: Look, encoding: Encoding) -> Found {
    let Look { path, mut options, explains, .. } = look;
    options.lints = Levels::of_check();
    let work = move || {
        // Nothing is fetched or written while somebody types.
        match Projects::default().of(&path, Access::of_reader()) {
            Ok(Some(project)) => project.apply(&mut options, Some(&path)),
            Ok(None) => {}
            Err(broken) => return found(&broken.compilation(options), encoding),
        }
        // A file that cannot be read has no reports.
        let (compilation, facts) = Facts::analyse(options, &path, explains);
        let mut found = if is_copy(&path) { Found::default() } else { found(&compilation, encoding) };
        let is_syntax = |report: &Diagnostic| report.is_error() && report.code.text().starts_with("E01");
        let file = facts.file(&path.display().to_string());
        found.is_torn =
            compilation.diagnostics.iter().any(|report| is_syntax(report) && Some(report.span().file) == file);
        let explanation = compilation.explanation.as_ref().filter(|_| !found.is_torn);
        found.lenses = explanation.map(|explanation| explanation.lenses(&compilation.map));
        found.facts = file.map(|file| (Arc::new(facts), file));
        found
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_default()
}

fn found(compilation: &Compilation, encoding: Encoding) -> Found {
    let mut found = Found::default();
    let places = Places { map: &compilation.map, encoding };
    for report in &compilation.diagnostics {
        let Some((uri, range)) = places.place(report.span()) else { continue };
        let diagnostic = diagnostic(report, &range, &places);
        for fix in &report.fixes {
            if let Some(edit) = edit(fix, &places) {
                let value = json!({
                    "title": fix.title,
                    "kind": "quickfix",
                    "diagnostics": [diagnostic],
                    "isPreferred": fix.safe,
                    "edit": edit,
                });
                found.actions.push(Action { uri: uri.clone(), range: range.clone(), value });
            }
        }
        found.diagnostics.push((uri, diagnostic));
    }
    found
}

fn diagnostic(report: &Diagnostic, range: &Value, places: &Places<'_>) -> Value {
    let severity = match report.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Note => 3,
    };
    let mut message = report.title.clone();
    for note in &report.notes {
        message.push_str(&format!("\nNote: {note}"));
    }
    if let Some(help) = &report.help {
        message.push_str(&format!("\nHelp: {help}"));
    }
    let related = report.labels.iter().filter(|label| label.span != report.span() && !label.message.is_empty());
    let related = related.filter_map(|label| {
        let (uri, range) = places.place(label.span)?;
        Some(json!({ "location": { "uri": uri, "range": range }, "message": label.message }))
    });
    let mut value = json!({
        "range": range,
        "severity": severity,
        "code": report.code.text(),
        "source": "ravel",
        "message": message,
        "relatedInformation": related.collect::<Vec<_>>(),
    });
    // What an editor shows paler.
    if matches!(report.code.name(), "UnusedVariable" | "UnusedImport" | "DeadAssignment" | "UnusedFunction") {
        value["tags"] = json!([1]);
    }
    value
}

/// A fix as edits by file; nothing if it reaches into a file that is not the user's.
fn edit(fix: &Fix, places: &Places<'_>) -> Option<Value> {
    let mut changes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (span, text) in &fix.edits {
        let (uri, range) = places.place(*span)?;
        changes.entry(uri).or_default().push(json!({ "range": range, "newText": text }));
    }
    Some(json!({ "changes": changes }))
}

struct Places<'a> {
    map: &'a SourceMap,
    encoding: Encoding,
}

impl Places<'_> {
    /// Address and range of a place in a file of the user.
    fn place(&self, span: Span) -> Option<(String, Value)> {
        let file = self.map.get(span.file).filter(|file| !is_library(&file.name))?;
        let lines = Lines::new(&file.text, self.encoding);
        let (start, end) = (lines.position(span.start as usize), lines.position(span.end as usize));
        Some((address(&file.name)?, json!({ "start": start, "end": end })))
    }
}
