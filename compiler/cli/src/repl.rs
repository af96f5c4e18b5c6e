//! `ravel repl`: the terminal side. Lines come from an editor with a history, or from a pipe without prompts.

use ravel_driver::pictures::Terminal;
use ravel_driver::repl::{Reply, Session, show};
use ravel_runtime::standard::Output;
use ravel_runtime::stream::{self, Standard, standard};
use ravel_runtime::{outputs, signals};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::collections::VecDeque;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PROMPT: &str = "ravel> ";
const CONTINUED: &str = "   ..> ";

const HELP: &str = "\
EXPRESSION          show its type, shape and value
STATEMENT           run it; its variables stay
DEFINITION          a function, type, `use` or #define for later inputs
:type EXPRESSION    show the type without evaluating
:doc NAME           what the library says of a function
:time INPUT         run an input, and say how long that took
:explain INPUT      run an input, and say what became of its with-loops
:show EXPRESSION    show a matrix as a picture; `> FILE.png` behind it writes a file
:plot EXPRESSION    plot a vector, or the rows of a matrix; `> FILE.svg` or `> FILE.png` behind it writes a file
:vars               list the variables; `it` is the value that was shown last
:load FILE          take in the text of a file
:reset              forget variables and definitions
:quit               leave (so does the end of input, Ctrl-D)
An input goes on over several lines until its brackets are closed; Ctrl-C drops it. Ctrl-C also ends a computation.
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
    Terminal {
        editor: Box<DefaultEditor>,
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
    let source = match std::io::stdin().is_terminal() {
        true => match Source::terminal() {
            Ok(source) => source,
            Err(error) => {
                say!("ravel: cannot use the terminal: {error}");
                return 1;
            }
        },
        false => Source::Pipe,
    };
    converse(session, source).err().unwrap_or(0)
}

/// Evaluates inputs one after the other, and shows what they give; the exit status is 1 from the first that fails.
pub fn evaluate(inputs: &[String]) -> i32 {
    let mut session = match crate::session(Default::default()) {
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

fn converse(mut session: Session, mut source: Source) -> Flow {
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

/// Obeys a command.
fn command(session: &mut Session, source: &mut Source, text: &str) -> Flow {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    match (name, rest) {
        (":quit" | ":q", _) => return Err(0),
        (":help" | ":h" | ":?", _) => print(HELP)?,
        (":reset", _) => session.reset(),
        (":vars", _) => {
            let lines: Vec<String> =
                session.variables().map(|(name, value)| format!("{name}: {}\n", show::type_name(value))).collect();
            print(&lines.concat())?;
        }
        (":type" | ":show" | ":plot" | ":load" | ":doc" | ":time" | ":explain", "") => {
            let what = match name {
                ":type" | ":show" | ":plot" => "an expression",
                ":load" => "the name of a file",
                ":doc" => "the name of a function",
                _ => "an input",
            };
            say!("`{name}` needs {what}");
        }
        (":doc", function) => match ravel_driver::doc::about(function) {
            Some(text) => print(&text)?,
            None => say!("the library has no `{function}`"),
        },
        (":time" | ":explain", input) => {
            session.begin_account(name == ":explain");
            let reply = session.enter(input, true);
            source.answer_all(session, reply)?;
            let account = session.end_account();
            // An input that failed has said so.
            if account.compiled.is_zero() {
                return Ok(());
            }
            match name {
                ":explain" => print(&account.explained)?,
                _ => print(&format!("compiled in {}, ran in {}\n", duration(account.compiled), duration(account.ran)))?,
            }
        }
        (":type", expression) => source.answer(session.type_of(expression))?,
        (":show" | ":plot", request) => {
            let screen = ravel_runtime::standard::screen();
            match Terminal::detect(screen, |variable| std::env::var(variable).ok()) {
                Ok(terminal) if name == ":show" => source.answer(session.show(request, &terminal))?,
                Ok(terminal) => source.answer(session.plot(request, &terminal))?,
                Err(why) => say!("{why}"),
            }
        }
        (":load", file) => {
            let reply = session.load(&PathBuf::from(file));
            source.answer_all(session, reply)?;
        }
        _ => say!("there is no command `{name}`; `:help` lists them"),
    }
    Ok(())
}

/// With three digits or so.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        1e-3.. => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.1} us", seconds * 1e6),
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
    fn terminal() -> rustyline::Result<Source> {
        let mut editor = Box::new(DefaultEditor::new()?);
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
