//! `ravel repl`: the terminal side. Lines come from an editor with a history, or from a pipe without prompts.

use ravel_driver::repl::{Reply, Session, show};
use ravel_runtime::stream::{Standard, standard};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

const PROMPT: &str = "ravel> ";
const CONTINUED: &str = "   ..> ";

const HELP: &str = "\
EXPRESSION          show its type, shape and value
STATEMENT           run it; its variables stay
DEFINITION          a function, type, `use` or #define for later inputs
:type EXPRESSION    show the type without evaluating
:vars               list the variables
:load FILE          take in the text of a file
:reset              forget variables and definitions
:quit               leave (so does the end of input, Ctrl-D)
An input goes on over several lines until its brackets are closed; Ctrl-C drops it.
";

/// One line of input.
enum Line {
    Text(String),
    /// The line, and the input that it belongs to, are dropped.
    Dropped,
    End,
}

/// Where lines come from.
enum Source {
    Terminal(Box<DefaultEditor>, Option<PathBuf>),
    /// The runtime's own standard input, so that programs can read the lines that follow.
    Pipe,
}

/// Runs the prompt to the end of its input; the exit status.
pub fn run(mut session: Session) -> i32 {
    let mut source = match std::io::stdin().is_terminal() {
        true => match Source::terminal() {
            Ok(source) => source,
            Err(error) => {
                eprintln!("ravel: cannot use the terminal: {error}");
                return 1;
            }
        },
        false => Source::Pipe,
    };
    if let Source::Terminal(..) = source {
        println!("Ravel {}. `:help` explains, `:quit` leaves.", env!("CARGO_PKG_VERSION"));
    }
    let mut input = String::new();
    loop {
        let line = source.next(if input.is_empty() { PROMPT } else { CONTINUED });
        let text = match line {
            Line::Dropped => {
                input.clear();
                continue;
            }
            Line::End if input.is_empty() => return 0,
            Line::End => {
                let written = answer(session.enter(&input, true));
                input.clear();
                if written { continue } else { return 0 }
            }
            Line::Text(text) => text,
        };
        if input.is_empty() && text.trim_start().starts_with(':') {
            source.remember(&text);
            if !command(&mut session, text.trim()) {
                return 0;
            }
            continue;
        }
        input.push_str(&text);
        match session.enter(&input, false) {
            Reply::Incomplete => input.push('\n'),
            reply => {
                source.remember(&input);
                input.clear();
                if !answer(reply) {
                    return 0;
                }
            }
        }
    }
}

/// Obeys a command; whether to go on.
fn command(session: &mut Session, text: &str) -> bool {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    match (name, rest) {
        (":quit" | ":q", _) => false,
        (":help" | ":h" | ":?", _) => print(HELP),
        (":reset", _) => {
            session.reset();
            true
        }
        (":vars", _) => {
            let lines: Vec<String> =
                session.variables().map(|(name, value)| format!("{name}: {}\n", show::type_name(value))).collect();
            print(&lines.concat())
        }
        (":type" | ":load", "") => {
            eprintln!("`{name}` needs {}", if name == ":type" { "an expression" } else { "the name of a file" });
            true
        }
        (":type", expression) => answer(session.type_of(expression)),
        (":load", file) => answer(session.load(&PathBuf::from(file))),
        _ => {
            eprintln!("there is no command `{name}`; `:help` lists them");
            true
        }
    }
}

/// Prints what came of an input; whether anybody still listens.
fn answer(reply: Reply) -> bool {
    match reply {
        Reply::Incomplete => {
            eprintln!("the input ends too early");
            true
        }
        Reply::Done { shown, remarks } => {
            eprint!("{remarks}");
            shown.is_empty() || print(&format!("{shown}\n"))
        }
        Reply::Failed(why) => {
            eprint!("{why}");
            true
        }
    }
}

fn print(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

impl Source {
    fn terminal() -> rustyline::Result<Source> {
        let mut editor = DefaultEditor::new()?;
        let history = history_file();
        if let Some(file) = &history {
            // There is none before the first session.
            let _ = editor.load_history(file);
        }
        Ok(Source::Terminal(Box::new(editor), history))
    }

    fn next(&mut self, prompt: &str) -> Line {
        match self {
            Source::Terminal(editor, _) => match editor.readline(prompt) {
                Ok(text) => Line::Text(text),
                Err(ReadlineError::Interrupted) => Line::Dropped,
                Err(_) => Line::End,
            },
            Source::Pipe => next_of_pipe(),
        }
    }

    /// Adds an input to the history, on disk at once: a program that calls `exit` ends the session.
    fn remember(&mut self, input: &str) {
        let Source::Terminal(editor, history) = self else {
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
