//! Why a call gives nothing.

use ravel_driver::repl::call::CallError;
use serde_json::Value as Json;
use std::fmt;

/// Why there is no module, or no result. Its text is what `ravel` shows in a terminal, also as `Debug`: that is what is shown of an error
/// that `main` returns.
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// The text, or the call, is wrong.
    ///
    /// ```
    /// let wrong = ravel::Module::new("int f(int a) { return b; }").err().expect("there is no b");
    /// assert_eq!(wrong.diagnostics()[0].code, "E0212");
    /// assert!(wrong.to_string().contains("b"));
    /// ```
    Source {
        /// One for each report.
        diagnostics: Vec<Diagnostic>,
        /// For people.
        text: String,
    },
    /// A run-time error.
    Fault(Box<Fault>),
    /// Somebody has interrupted the call.
    Interrupted,
    /// An argument, a result or a name is none for SaC.
    Argument(String),
    /// A bug in Ravel, or a machine that it does not know.
    Internal(String),
}

/// A report on a text or a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// `E0312`; `ravel explain` has a page for each.
    pub code: String,
    /// Modules are refused for errors only.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The places involved, the primary one first.
    pub labels: Vec<Label>,
    /// Rules.
    pub notes: Vec<String>,
    /// What can be done.
    pub help: Option<String>,
    /// What can be done as edits, the best first.
    pub fixes: Vec<Fix>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Severity {
    /// There is no code for such a text.
    Error,
    /// Very likely not what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

/// A fact about a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Label {
    /// The file, or the name of the text; none where no text was written.
    pub file: Option<String>,
    /// The first character.
    pub start: Option<Position>,
    /// Behind the last one.
    pub end: Option<Position>,
    /// May be empty.
    pub text: String,
    /// Is this where it is wrong?
    pub is_primary: bool,
}

/// A place in a text; lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Counts from 1.
    pub line: u32,
    /// Counts from 1, in characters.
    pub column: u32,
    /// Bytes of UTF-8 before it.
    pub byte: usize,
}

/// A change that mends something.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fix {
    /// What it does.
    pub title: String,
    /// It certainly keeps what the text means.
    pub is_safe: bool,
    /// Places, and what goes there.
    pub edits: Vec<Label>,
}

/// A run-time error.
///
/// ```
/// let m = ravel::Module::new("use Array: all; int at(int[.] a, int i) { return a[i]; }")?;
/// let error = m.call("at", &[(&[1, 2, 3]).into(), 5.into()]).err().expect("there is no a[5]");
/// let fault = error.fault().expect("it ran");
/// assert_eq!(fault.code.as_deref(), Some("E0330"));
/// assert_eq!(fault.message, "index 5 is out of range for axis 0 of extent 3");
/// assert_eq!((fault.line, fault.function.as_deref()), (Some(1), Some("at")));
/// # Ok::<(), ravel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// `E0330`; none for what a program says by itself.
    pub code: Option<String>,
    /// What happened.
    pub message: String,
    /// The file, or the name of the text.
    pub file: Option<String>,
    /// Counts from 1.
    pub line: Option<u32>,
    /// Counts from 1.
    pub column: Option<u32>,
    /// The SaC function.
    pub function: Option<String>,
    /// The status that a program would end with.
    pub status: i32,
    /// For people, with the line of source.
    pub text: String,
}

impl Error {
    /// The reports of [`Error::Source`]; none otherwise.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Error::Source { diagnostics, .. } => diagnostics,
            _ => &[],
        }
    }

    /// The run-time error.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Error::Fault(fault) => Some(fault),
            _ => None,
        }
    }

    /// The code of the first report, or of the fault.
    pub fn code(&self) -> Option<&str> {
        match self {
            Error::Source { diagnostics, .. } => diagnostics.first().map(|report| report.code.as_str()),
            Error::Fault(fault) => fault.code.as_deref(),
            Error::Interrupted | Error::Argument(_) | Error::Internal(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Source { text, .. } => f.write_str(text),
            Error::Fault(fault) => f.write_str(&fault.text),
            Error::Interrupted => f.write_str("interrupted"),
            Error::Argument(why) => f.write_str(why),
            Error::Internal(why) => write!(f, "internal error: {why}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl From<CallError> for Error {
    fn from(error: CallError) -> Error {
        let text = error.to_string();
        match error {
            CallError::Source { json, .. } => {
                let reports = json.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
                Error::Source { diagnostics: reports.map(|report| diagnostic(&report)).collect(), text }
            }
            CallError::Fault { report, .. } => {
                let place = report.place();
                Error::Fault(Box::new(Fault {
                    code: report.fault.code.map(|code| code.to_string()),
                    message: report.fault.message.clone(),
                    file: place.map(|(file, ..)| file.to_string()),
                    line: place.map(|(_, line, _)| line),
                    column: place.map(|(.., column)| column),
                    function: report.function.clone(),
                    status: report.status(),
                    text,
                }))
            }
            CallError::Interrupted => Error::Interrupted,
            CallError::Unsupported(why) => Error::Argument(why),
            CallError::Internal(why) => Error::Internal(why),
        }
    }
}

/// A report from the form that `ravel check --format json` has, whose schema is kept.
fn diagnostic(report: &Json) -> Diagnostic {
    let mut labels: Vec<Label> = list(&report["labels"], label);
    labels.sort_by_key(|label| !label.is_primary);
    Diagnostic {
        code: text(&report["code"]),
        severity: match report["severity"].as_str() {
            Some("warning") => Severity::Warning,
            Some("note") => Severity::Note,
            _ => Severity::Error,
        },
        message: text(&report["title"]),
        labels,
        notes: list(&report["notes"], text),
        help: report["help"].as_str().map(str::to_string),
        fixes: list(&report["fixes"], |fix| Fix {
            title: text(&fix["title"]),
            is_safe: fix["safe"].as_bool().unwrap_or(false),
            edits: list(&fix["edits"], label),
        }),
    }
}

fn list<T>(json: &Json, item: impl Fn(&Json) -> T) -> Vec<T> {
    json.as_array().map(|items| items.iter().map(item).collect()).unwrap_or_default()
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_string()
}

fn label(json: &Json) -> Label {
    Label {
        file: json["file"].as_str().map(str::to_string),
        start: position(&json["start"]),
        end: position(&json["end"]),
        text: text(&json["text"]),
        is_primary: json["primary"].as_bool().unwrap_or(false),
    }
}

fn position(json: &Json) -> Option<Position> {
    let number = |name: &str| u32::try_from(json[name].as_u64()?).ok();
    let byte = usize::try_from(json["byte"].as_u64()?).ok()?;
    Some(Position { line: number("line")?, column: number("column")?, byte })
}
