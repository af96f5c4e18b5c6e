//! `ravel session --json`: a session for notebooks and other programs, driven by lines of JSON over pipes.
//!
//! A request is `{"id": 1, "do": "execute", "code": "..."}`; besides there are `complete`, `inspect`, `is_complete`, `interrupt` and `reset`. Answers carry
//! the `id` and a `type`: `stdout`, `stderr`, `display`, `error`, and `done` at the end of each request.

use ravel_driver::pictures::Plot;
use ravel_driver::repl::cell::Display;
use ravel_driver::repl::{Reply, Session};
use ravel_runtime::capture::{Captured, capture};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Written behind the output of each request, so that all of it is passed on before the request is done.
const MARK: &[u8] = b"\x1e\x00ravel\x00\x1e";

/// Where answers go.
#[derive(Clone)]
struct Answers {
    out: Arc<Mutex<File>>,
    /// The request that is being worked on.
    id: Arc<AtomicU64>,
}

impl Answers {
    fn send(&self, mut answer: Value) {
        answer["id"] = json!(self.id.load(Ordering::SeqCst));
        self.send_as_is(&answer);
    }

    fn send_as_is(&self, answer: &Value) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // Where nobody listens, the end of the input is near.
        let _ = out.write_all(format!("{answer}\n").as_bytes());
    }
}

/// Runs to the end of the input; the exit status.
pub fn run(session: Session) -> i32 {
    let Captured { answers, stdout, stderr } = match capture() {
        Ok(captured) => captured,
        Err(error) => {
            say!("ravel: cannot take the output: {error}");
            return 1;
        }
    };
    let answers = Answers { out: Arc::new(Mutex::new(answers)), id: Arc::default() };
    let (marks, marked) = channel();
    for (kind, from) in [("stdout", stdout), ("stderr", stderr)] {
        let (answers, marks) = (answers.clone(), marks.clone());
        std::thread::spawn(move || pass_on(from, kind, &answers, &marks));
    }
    let is_busy = Arc::new(AtomicBool::new(false));
    let requests = requests(answers.clone(), is_busy.clone());
    serve(session, &answers, &requests, &marked, &is_busy)
}

/// Passes on what is printed, and says when a mark has come.
fn pass_on(mut from: File, kind: &str, answers: &Answers, marks: &Sender<()>) {
    let mut held: Vec<u8> = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        held.extend_from_slice(&buffer[..count]);
        let is_marked = held.ends_with(MARK);
        // The beginning of a mark, or of a character, waits for its end.
        let starts_mark = (1..MARK.len()).rev().find(|n| held.ends_with(&MARK[..*n])).unwrap_or(0);
        let mut end = held.len() - if is_marked { MARK.len() } else { starts_mark };
        if !is_marked
            && let Err(error) = std::str::from_utf8(&held[..end])
            && error.error_len().is_none()
        {
            end = error.valid_up_to();
        }
        if end > 0 {
            answers.send(json!({ "type": kind, "text": String::from_utf8_lossy(&held[..end]) }));
        }
        held.drain(..end);
        if is_marked {
            held.clear();
            if marks.send(()).is_err() {
                return;
            }
        }
    }
}

/// Reads requests on a thread of its own, so that an interrupt is heard while something runs.
fn requests(answers: Answers, is_busy: Arc<AtomicBool>) -> Receiver<Value> {
    let (send, requests) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            let request: Value = match serde_json::from_str(&line) {
                Ok(request) => request,
                Err(_) if line.trim().is_empty() => continue,
                Err(error) => {
                    answers.send_as_is(&json!({ "id": null, "type": "error", "text": format!("no request: {error}") }));
                    continue;
                }
            };
            if request["do"] == "interrupt" {
                let ended = is_busy.load(Ordering::SeqCst) && ravel_runtime::fault::interrupt();
                answers.send_as_is(&json!({ "id": request["id"], "type": "done", "interrupted": ended }));
            } else if send.send(request).is_err() {
                break;
            }
        }
    });
    requests
}

fn serve(
    mut session: Session,
    answers: &Answers,
    requests: &Receiver<Value>,
    marked: &Receiver<()>,
    is_busy: &AtomicBool,
) -> i32 {
    while let Ok(request) = requests.recv() {
        answers.id.store(request["id"].as_u64().unwrap_or(0), Ordering::SeqCst);
        is_busy.store(true, Ordering::SeqCst);
        let code = request["code"].as_str().unwrap_or_default();
        let mut done = match request["do"].as_str() {
            Some("execute") => execute(&mut session, answers, code),
            Some("complete") => complete(&mut session, code, request["at"].as_u64()),
            Some("inspect") => inspect(&mut session, code),
            Some("is_complete") => json!({ "status": match session.is_whole(code) {
                Some(true) => "complete",
                Some(false) => "incomplete",
                None => "invalid",
            } }),
            Some("reset") => {
                session.reset();
                json!({})
            }
            _ => {
                answers.send(json!({ "type": "error", "text": "requests are execute, complete, inspect, is_complete, interrupt and reset" }));
                json!({ "status": "error" })
            }
        };
        is_busy.store(false, Ordering::SeqCst);
        // Everything that was printed is passed on before the end is told.
        let _ = ravel_runtime::stream::finish();
        let flushed = ravel_runtime::standard::Output.write_all(MARK).and_then(|()| std::io::stderr().write_all(MARK));
        if flushed.is_ok() {
            let _ = (marked.recv(), marked.recv());
        }
        done["type"] = json!("done");
        answers.send(done);
    }
    0
}

fn execute(session: &mut Session, answers: &Answers, code: &str) -> Value {
    let trimmed = code.trim();
    if trimmed.starts_with(':') && !trimmed.starts_with("::") {
        return command(session, answers, trimmed);
    }
    let reply = session.enter_cell(code, &mut |display| answers.send(displayed(&display)));
    told(session, answers, reply)
}

fn told(session: &mut Session, answers: &Answers, reply: Reply) -> Value {
    let failed = |text: String, reports: String| {
        let html = format!("<pre class=\"ravel-error\">{}</pre>", ravel_driver::repl::html_text(text.trim_end()));
        let reports: Vec<Value> = reports.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let title = text.lines().next().unwrap_or_default().to_string();
        answers.send(
            json!({ "type": "error", "title": title, "text": text.trim_end(), "html": html, "reports": reports }),
        );
        json!({ "status": "error" })
    };
    match reply {
        Reply::Done { shown, remarks } => {
            if !remarks.is_empty() {
                answers.send(json!({ "type": "stderr", "text": remarks }));
            }
            if !shown.is_empty() {
                answers.send(json!({ "type": "display", "data": { "text/plain": shown } }));
            }
            json!({ "status": "ok" })
        }
        Reply::Failed(text) => {
            let reports = session.take_reports();
            failed(text, reports)
        }
        Reply::Interrupted => failed("interrupted; the variables are as before".to_string(), String::new()),
        Reply::Incomplete => failed("the input ends too early".to_string(), String::new()),
    }
}

/// The commands of the prompt that make sense in a notebook.
fn command(session: &mut Session, answers: &Answers, text: &str) -> Value {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let wrong = |text: String| {
        answers.send(json!({ "type": "error", "title": text, "text": text, "reports": [] }));
        json!({ "status": "error" })
    };
    let shown = |data: Value| {
        answers.send(json!({ "type": "display", "data": data }));
        json!({ "status": "ok" })
    };
    match name {
        ":reset" => {
            session.reset();
            json!({ "status": "ok" })
        }
        ":type" => {
            let reply = session.type_of(rest);
            told(session, answers, reply)
        }
        ":doc" => match ravel_driver::doc::about(rest) {
            Some(text) => shown(json!({ "text/plain": text })),
            None => wrong(format!("the library has no `{rest}`")),
        },
        ":explain" => {
            session.begin_account(true);
            let reply = session.enter_cell(rest, &mut |_| ());
            let text = session.end_account().explained;
            if matches!(reply, Reply::Done { .. }) {
                let html = format!(
                    "<details><summary>with-loops</summary><pre>{}</pre></details>",
                    ravel_driver::repl::html_text(&text)
                );
                shown(json!({ "text/plain": text, "text/html": html }));
            }
            told(session, answers, reply)
        }
        ":plot" | ":show" => match session.value_of(rest) {
            Err(reply) => told(session, answers, reply),
            Ok(value) if name == ":plot" => match Plot::from_value(&value).and_then(|plot| plot.titled(rest).svg()) {
                Ok(svg) => shown(json!({ "text/plain": rest, "image/svg+xml": svg })),
                Err(why) => wrong(why),
            },
            Ok(value) => {
                let display = session.displayed(&value);
                shown(displayed(&display)["data"].clone())
            }
        },
        _ => wrong(format!("`{name}` is no command here; there are :type :doc :explain :plot :show :reset")),
    }
}

fn displayed(display: &Display) -> Value {
    let mut data = json!({ "text/plain": display.text });
    if let Some(html) = &display.html {
        data["text/html"] = json!(html);
    }
    if let Some(png) = &display.png {
        data["image/png"] = json!(base64(png));
    }
    json!({ "type": "display", "data": data })
}

fn complete(session: &mut Session, code: &str, at: Option<u64>) -> Value {
    let at = at.and_then(|at| usize::try_from(at).ok()).unwrap_or(code.len()).min(code.len());
    let at = (0..=at).rev().find(|at| code.is_char_boundary(*at)).unwrap_or(0);
    let (start, found) = session.candidates(code, at);
    let matches: Vec<&str> = found.iter().map(|candidate| candidate.text.as_str()).collect();
    json!({ "matches": matches, "start": start, "end": at })
}

/// The type of a name, and what the library says of it.
fn inspect(session: &mut Session, name: &str) -> Value {
    let variable = session.variables().find(|(known, _)| *known == name);
    let ty = variable.map(|(_, value)| format!("{name}: {}", ravel_driver::repl::show::type_name(value)));
    let source = session.source(name);
    let text = ty.or(source).or_else(|| ravel_driver::doc::about(name));
    json!({ "found": text.is_some(), "text": text })
}

/// Bytes as text, as notebooks have pictures.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().chain([0, 0].iter()).take(3).fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        for n in 0..4 {
            let digit = char::from(DIGITS[(bits >> (18 - 6 * n) & 63) as usize]);
            out.push(if n <= group.len() as u32 { digit } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn bytes_become_text() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        cases.iter().for_each(|(bytes, text)| assert_eq!(base64(bytes.as_bytes()), *text));
    }
}
