//! `ravel repl`: the terminal side. Lines come from an editor with a history, or from a pipe without prompts.

mod commands;
mod editor;

use commands::command;
use editor::Editor;
use ravel_driver::repl::{Reply, Session};
use ravel_runtime::standard::Output;
use ravel_runtime::stream::{self, Standard, standard};
use ravel_runtime::{outputs, signals};
use rustyline::error::ReadlineError;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

const PROMPT: &str = "ravel> ";
const CONTINUED: &str = "   ..> ";

/// One line of input.
enum Line {
    Text(String),
    /// The line, and the input that it belongs to, are dropped.
    Dropped,
    End,
}

/// Where lines come from.
enum Source {
    Terminal {
        editor: Box<Editor>,
        history: Option<PathBuf>,
        /// The rest of several lines that came at once.
        pasted: VecDeque<String>,
    },
    /// The runtime's own standard input, so that programs can read the lines that follow.
    Pipe,
}

/// To go on, or the exit status.
type Flow = Result<(), i32>;

/// Runs the prompt to the end of its input; the exit status.
pub fn run(session: Session) -> i32 {
    let session = Rc::new(RefCell::new(session));
    let source = match std::io::stdin().is_terminal() {
        true => match Source::terminal(Rc::clone(&session)) {
            Ok(source) => source,
            Err(error) => {
                say!("ravel: cannot use the terminal: {error}");
                return 1;
            }
        },
        false => Source::Pipe,
    };
    converse(&session, source).err().unwrap_or(0)
}

/// Evaluates inputs one after the other, and shows what they give; the exit status is 1 from the first that fails.
pub fn evaluate(inputs: &[String]) -> i32 {
    let mut session = match crate::project::typed().and_then(crate::session) {
        Ok(session) => session,
        Err(status) => return status,
    };
    for input in inputs {
        let mut reply = Some(session.enter(input, true));
        while let Some(one) = reply {
            let failed = matches!(one, Reply::Failed(_) | Reply::Incomplete | Reply::Interrupted);
            if let Err(status) = Source::Pipe.answer(one) {
                return status;
            }
            if failed {
                return 1;
            }
            reply = session.go_on();
        }
    }
    0
}

fn converse(session: &RefCell<Session>, mut source: Source) -> Flow {
    if let Source::Terminal { .. } = source {
        signals::catch_interrupts();
        print(&format!("Ravel {}. `:help` explains, `:quit` leaves.\n", env!("CARGO_PKG_VERSION")))?;
    }
    let mut input = String::new();
    loop {
        source.begin_line()?;
        signals::set_busy(false);
        let line = source.next(if input.is_empty() { PROMPT } else { CONTINUED });
        signals::set_busy(true);
        // The editor is done with it for now.
        let mut session = session.borrow_mut();
        let text = match line {
            Line::Dropped => {
                input.clear();
                continue;
            }
            Line::End if input.is_empty() => return Ok(()),
            Line::End => {
                let reply = session.enter(&input, true);
                input.clear();
                source.answer_all(&mut session, reply)?;
                continue;
            }
            Line::Text(text) => text,
        };
        if input.is_empty() && text.trim_start().starts_with(':') {
            source.remember(&text);
            command(&mut session, &mut source, text.trim())?;
            continue;
        }
        input.push_str(&text);
        match session.enter(&input, false) {
            Reply::Incomplete => input.push('\n'),
            reply => {
                source.remember(&input);
                input.clear();
                source.answer_all(&mut session, reply)?;
            }
        }
    }
}

/// Writes to standard output.
fn print(text: &str) -> Flow {
    Output.write_all(text.as_bytes()).map_err(|error| match error.kind() {
        // The reader has gone: nobody waits for answers.
        ErrorKind::BrokenPipe => 0,
        _ => {
            say!("ravel: cannot write to standard output: {error}");
            1
        }
    })
}

impl Source {
    fn terminal(session: Rc<RefCell<Session>>) -> rustyline::Result<Source> {
        let mut editor = Box::new(editor::new(session)?);
        let history = history_file().filter(|file| is_history(file));
        if let Some(file) = &history {
            // There is none before the first session.
            let _ = editor.load_history(file);
        }
        Ok(Source::Terminal { editor, history, pasted: VecDeque::new() })
    }

    fn next(&mut self, prompt: &str) -> Line {
        let Source::Terminal { editor, pasted, .. } = self else {
            return next_of_pipe();
        };
        if let Some(line) = pasted.pop_front() {
            return Line::Text(line);
        }
        match editor.readline(prompt) {
            Ok(text) => {
                // What is pasted is one text for the editor, whatever it is.
                let mut lines = text.lines().map(String::from);
                let first = lines.next().unwrap_or_default();
                pasted.extend(lines);
                Line::Text(first)
            }
            Err(ReadlineError::Interrupted) => Line::Dropped,
            Err(_) => Line::End,
        }
    }

    /// Sees to it that nothing stands where an editor, which clears the line, or a value will be.
    fn begin_line(&self) -> Flow {
        match self {
            Source::Terminal { .. } if stream::leave_line() => print("\n"),
            _ => Ok(()),
        }
    }

    /// Prints what came of the first part of an input, and takes the others.
    fn answer_all(&mut self, session: &mut Session, reply: Reply) -> Flow {
        self.answer(reply)?;
        while let Some(reply) = session.go_on() {
            self.answer(reply)?;
        }
        Ok(())
    }

    /// Prints what came of an input.
    fn answer(&mut self, reply: Reply) -> Flow {
        self.begin_line()?;
        match reply {
            Reply::Incomplete => say!("the input ends too early"),
            Reply::Done { shown, remarks } => {
                let _ = std::io::stderr().write_all(remarks.as_bytes());
                if !shown.is_empty() {
                    print(&format!("{shown}\n"))?;
                }
            }
            Reply::Failed(why) => drop(std::io::stderr().write_all(why.as_bytes())),
            Reply::Interrupted => {
                say!("interrupted");
                if let Source::Terminal { pasted, .. } = self {
                    pasted.clear();
                }
            }
        }
        Ok(())
    }

    /// Adds an input to the history, on disk at once: a program that calls `exit` ends the session.
    fn remember(&mut self, input: &str) {
        let Source::Terminal { editor, history, .. } = self else {
            return;
        };
        if editor.add_history_entry(input).unwrap_or(false)
            && let Some(file) = history
        {
            // A history that cannot be written is no reason to disturb the session.
            let _ = editor.append_history(file);
        }
    }
}

/// Whether a file is a history, or may become one: whoever names a program by mistake keeps it. Several sessions add to one file, line by line,
/// so it is not replaced as a whole like other outputs.
fn is_history(file: &Path) -> bool {
    match outputs::destination(file) {
        Ok(place) => std::fs::read(place).map_or(true, |text| text.is_empty() || text.starts_with(b"#V2\n")),
        Err(_) => false,
    }
}

fn next_of_pipe() -> Line {
    let mut stream = standard(Standard::In);
    let mut bytes = Vec::new();
    while let Some(byte) = stream.get() {
        if byte == b'\n' {
            return Line::Text(String::from_utf8_lossy(&bytes).into_owned());
        }
        bytes.push(byte);
    }
    if bytes.is_empty() { Line::End } else { Line::Text(String::from_utf8_lossy(&bytes).into_owned()) }
}

/// `RAVEL_HISTORY`, or `ravel/history` in the folder where programs of the user keep such things.
fn history_file() -> Option<PathBuf> {
    if let Some(file) = std::env::var_os("RAVEL_HISTORY") {
        return (!file.is_empty()).then(|| PathBuf::from(file));
    }
    let folder = match std::env::var_os("XDG_STATE_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".local/state"),
    };
    let folder = folder.join("ravel");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
}
