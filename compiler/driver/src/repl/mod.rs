//! A session of the prompt: what has been entered so far, and what the next input does. No terminal here.
//!
//! Each input is compiled as a function of the session's variables that it mentions, in a program that holds every definition
//! entered before. The function is specialised for the present shapes of these variables, compiled, and called on a thread
//! that a fault may end; what it returns are the variables' new values.

pub mod call;
pub mod cell;
mod code;
mod complete;
mod drawing;
mod evaluate;
mod heads;
pub mod host;
mod html;
mod input;
mod instances;
mod journal;
mod look;
pub mod show;
pub(crate) mod source;
mod turn;
pub mod value;

pub use complete::Candidate;

use crate::edition::wish;
use crate::facts::Gathered;
use crate::pipeline::{Compilation, Failure, Options};
pub use html::escaped as html_text;
use input::{Scanned, needs_semicolon, single_call, split_behind};
use journal::{Form, Journal};
use ravel_core::RootSource;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::{FileId, SourceMap, Span};
use ravel_syntax::ast::{Definition, ExprKind, Stmt, StmtKind};
use ravel_syntax::{ReplInput, TypeNames};
use source::{Chunk, INPUT, Key, ModuleText, ROOT};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use value::{TypeName, Value};

/// Modules whose names are visible from the start.
pub const USED: &[&str] = &["Structures", "StdIO", "Math", "MathArray"];

/// The name of the value that was shown last.
pub const LAST_VALUE: &str = "it";

/// What came of an input.
#[derive(Debug)]
pub enum Reply {
    /// It is not finished: enter it again with another line.
    Incomplete,
    /// It was run or defined; there may be something to show.
    Done {
        /// For standard output, without a line break at the end; often empty.
        shown: String,
        /// Warnings, for standard error.
        remarks: String,
    },
    /// It has no effect; the text, for standard error, says why.
    Failed(String),
    /// The user has ended the computation. It has no effect.
    Interrupted,
}

/// Why an input has no effect.
enum Refusal {
    Wrong(String),
    Interrupted,
}

type Outcome<T> = Result<T, Refusal>;

/// A prompt's memory.
pub struct Session {
    options: Options,
    color: bool,
    chunks: Vec<Chunk>,
    /// Modules that were taken in as such.
    modules: BTreeMap<String, ModuleText>,
    variables: BTreeMap<String, Value>,
    jit: Box<dyn ravel_codegen::Session>,
    /// Global objects that have their first value.
    initialised: HashSet<String>,
    /// Type names that inputs see, and what they were computed from.
    names: Option<(String, TypeNames)>,
    /// How many inputs have been accepted as definitions.
    accepted: usize,
    /// Parts of an input that wait until those in front of them are done, the next one last: name and text.
    waiting: Vec<(String, String)>,
    /// Whether inputs say what became of their with-loops.
    explains: bool,
    /// Whether short inputs without effects are run several times.
    repeats: bool,
    last: Account,
    /// The reports that were rendered last, as JSON.
    reported: RefCell<String>,
    /// How wide values are shown, if that was said, and with how many digits.
    width: Option<usize>,
    digits: Option<usize>,
    journal: Journal,
    offers: complete::Offers,
    known: Option<complete::Known>,
    /// The value that was shown last is none that `print` takes.
    shown_is_special: bool,
    /// Where values go instead of being shown.
    taken: Option<Vec<Value>>,
    /// Values, or entries, have been handed out and may live longer than the session's variables.
    values_left: bool,
    /// Functions of C libraries have been called.
    uses_libraries: bool,
}

/// What the last inputs cost, and what became of their with-loops.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// From the text to machine code.
    pub compiled: Duration,
    /// The calls of that: one for each part of an input, or several if they were repeated.
    pub runs: Vec<Vec<Duration>>,
    /// One text for each part of an input.
    pub explained: String,
}

impl Session {
    /// # Errors
    /// [`Failure::Internal`] on a machine that the code generator does not know.
    pub fn new(options: Options, color: bool) -> Result<Session, Failure> {
        let jit = (options.backend.session())
            .map_err(|e| Failure::Internal { stage: "code generation", what: e.to_string() })?;
        let options = Options { at_prompt: true, ..options };
        Ok(Session {
            options,
            color,
            chunks: Vec::new(),
            modules: BTreeMap::new(),
            variables: BTreeMap::new(),
            jit,
            initialised: HashSet::new(),
            names: None,
            accepted: 0,
            waiting: Vec::new(),
            explains: false,
            repeats: false,
            last: Account::default(),
            reported: RefCell::default(),
            width: None,
            digits: None,
            journal: Journal::default(),
            offers: complete::Offers::default(),
            known: None,
            shown_is_special: false,
            taken: None,
            values_left: false,
            uses_libraries: false,
        })
    }

    /// Takes an input, or its first part: [`Session::go_on`] takes the next. With `last` there is no other line that could complete it.
    pub fn enter(&mut self, text: &str, last: bool) -> Reply {
        match self.follow_wish(text) {
            Ok(()) => self.begin(INPUT, text, last),
            Err(why) => Reply::Failed(why),
        }
    }

    /// Takes the edition of the library that a text asks for in its head, while nothing depends on another one.
    fn follow_wish(&mut self, text: &str) -> Result<(), String> {
        let Some(wish) = wish(text) else { return Ok(()) };
        let edition = wish.edition.map_err(|why| format!("{why}\n"))?;
        if edition != self.options.edition.unwrap_or_default() {
            if !self.chunks.is_empty() || !self.variables.is_empty() {
                let name = edition.name();
                return Err(format!(
                    "this asks for the library of {name}, the session has another: `:reset`, then `//! stdlib {name}`\n"
                ));
            }
            self.reset();
        }
        self.options.edition = Some(edition);
        Ok(())
    }

    /// Takes the next part of the last input, if that has one and all in front of it are done.
    pub fn go_on(&mut self) -> Option<Reply> {
        let (name, text) = self.waiting.pop()?;
        Some(self.enter_part(&name, &text, true))
    }

    fn begin(&mut self, name: &str, text: &str, last: bool) -> Reply {
        self.waiting.clear();
        self.journal.begin();
        self.enter_part(name, text, last)
    }

    fn enter_part(&mut self, name: &str, text: &str, last: bool) -> Reply {
        let reply = self.enter_named(name, text, last);
        if !matches!(reply, Reply::Done { .. }) {
            self.waiting.clear();
        }
        reply
    }

    /// Takes the text of a file as if it had been typed. A module is loaded as a program loads it.
    pub fn load(&mut self, path: &Path) -> Reply {
        let name = path.display().to_string();
        match crate::files::read_text(path) {
            Ok(text) => {
                if let Err(why) = self.follow_wish(&text) {
                    return Reply::Failed(why);
                }
                if let Some(folder) = path.parent()
                    && !self.options.folders.iter().any(|known| known == folder)
                {
                    self.options.folders.push(folder.to_path_buf());
                }
                match crate::files::module_of(&text) {
                    Some(module) => {
                        // What is taken in is not the text of the file, and so not called like it.
                        let folder = path.parent().unwrap_or(Path::new("")).join(".");
                        let name = folder.join(path.file_name().unwrap_or_default()).display().to_string();
                        self.begin(&name, &format!("use {module}: all;\n"), true)
                    }
                    None => self.begin(&name, &text, true),
                }
            }
            Err(why) => Reply::Failed(format!("cannot read {name}: {why}\n")),
        }
    }

    /// Loads once more the files that [`Session::load`] has taken in, in the same order; the replies until one is no success.
    pub fn reload(&mut self) -> Vec<Reply> {
        let is_file = |chunk: &&Chunk| !chunk.name.starts_with("<input");
        let files: Vec<String> = self.chunks.iter().filter(is_file).map(|chunk| chunk.name.clone()).collect();
        let mut replies = Vec::new();
        for file in files {
            let mut reply = Some(self.load(Path::new(&file)));
            while let Some(one) = reply {
                let goes_on = matches!(one, Reply::Done { .. });
                replies.push(one);
                if !goes_on {
                    return replies;
                }
                reply = self.go_on();
            }
        }
        replies
    }

    /// From now on what inputs cost is added up. Either they say what became of their with-loops, or those that are short and have no effects
    /// run several times.
    pub fn begin_account(&mut self, explains: bool) {
        (self.explains, self.repeats, self.last) = (explains, !explains, Account::default());
    }

    /// What inputs have cost since the last [`Session::begin_account`]. They explain no longer.
    pub fn end_account(&mut self) -> Account {
        (self.explains, self.repeats) = (false, false);
        std::mem::take(&mut self.last)
    }

    /// The type of an expression, which is not evaluated.
    pub fn type_of(&mut self, text: &str) -> Reply {
        let scanned = self.scan(INPUT, text);
        let (input, reports) = self.parse(&scanned, text);
        let is_value = matches!(input, ReplInput::Expression(_)) || single_call(&input);
        let result = if scanned.has_errors() || !is_value {
            Err(match self.refusal(&scanned, &reports) {
                Refusal::Wrong(text) if text.is_empty() => Refusal::Wrong("this is not an expression\n".to_string()),
                other => other,
            })
        } else {
            self.expression_type(text, &scanned.tokens)
        };
        reply(result.map(|shown| (shown, String::new())))
    }

    /// Variables by name, without the last value, which has a name of ours.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.variables.iter().filter(|(name, _)| *name != LAST_VALUE).map(|(name, value)| (name.as_str(), value))
    }

    /// Forgets variables, definitions and modules, and gives back the memory of their code.
    pub fn reset(&mut self) {
        self.waiting.clear();
        self.chunks.clear();
        self.modules.clear();
        self.variables.clear();
        self.initialised.clear();
        self.names = None;
        self.journal = Journal::default();
        self.known = None;
        self.taken = None;
        self.free_code();
    }

    /// Takes back what the last input did to variables and definitions, and gives its text; nothing if that is not known any more. What it did
    /// to files and to global objects stays.
    pub fn undo(&mut self) -> Option<String> {
        let undone = self.journal.undo()?;
        journal::restore(&mut self.variables, undone.variables);
        if let Some(chunks) = undone.chunks {
            self.chunks = chunks;
            self.accepted += 1;
        }
        // An object of the session that is no longer defined gets its first value again.
        let is_gone = |object: &String| {
            let own = journal::own_object(object);
            own.is_some_and(|own| !self.chunks.iter().flat_map(Chunk::keys).any(|key| key.name() == Some(own)))
        };
        let gone: Vec<String> = undone.initialised.into_iter().filter(is_gone).collect();
        gone.iter().for_each(|object| _ = self.initialised.remove(object));
        Some(undone.text)
    }

    /// A program that does what the inputs did; nothing if there were none.
    pub fn program(&self) -> Option<String> {
        (!self.journal.is_empty()).then(|| self.journal.program(&self.chunks))
    }

    fn set_variable(&mut self, name: &str, value: Value) {
        self.journal.change(name, self.variables.get(name), Some(&value));
        self.variables.insert(name.to_string(), value);
    }

    fn enter_named(&mut self, name: &str, text: &str, last: bool) -> Reply {
        let scanned = self.scan(name, text);
        let (input, reports) = self.parse(&scanned, text);
        if let ReplInput::Mixed(end) = input
            && let Some((first, second)) = split_behind(&scanned, text, end)
        {
            let rest = self.scan(name, &second);
            if !last && self.parse(&rest, &second).0 == ReplInput::Incomplete {
                return Reply::Incomplete;
            }
            self.waiting.push((name.to_string(), second));
            return self.enter_named(name, &first, true);
        }
        let ends_in_call = matches!(&input, ReplInput::Statements(stmts)
            if stmts.len() > 1 && matches!(stmts.last(), Some(Stmt { kind: StmtKind::Call(_), .. })));
        if (ends_in_call || matches!(input, ReplInput::Invalid | ReplInput::Incomplete))
            && let Some((first, second, is_complete)) = self.halves(&scanned, name, text)
        {
            if !is_complete && !last {
                return Reply::Incomplete;
            }
            self.waiting.push((name.to_string(), second));
            return self.enter_named(name, &first, true);
        }
        if input == ReplInput::Incomplete
            && name == INPUT
            && let Some(completed) = self.completed(&scanned, name, text)
        {
            return self.enter_named(name, &completed, last);
        }
        if input == ReplInput::Incomplete && !last {
            return Reply::Incomplete;
        }
        if scanned.has_errors() {
            return reply(Err(self.refusal(&scanned, &reports)));
        }
        let form = match &input {
            ReplInput::Expression(_) => Form::Value { printable: true },
            ReplInput::Statements(_) if single_call(&input) => Form::Value { printable: true },
            ReplInput::Statements(_) => Form::Statements,
            _ => Form::Definitions,
        };
        let outcome = match &input {
            ReplInput::Invalid | ReplInput::Mixed(_) => Err(self.refusal(&scanned, &reports)),
            ReplInput::Incomplete => Err(self.unfinished(&scanned, text)),
            ReplInput::Empty if source::has_directives(text) => self.define(name, text, &[], scanned.file),
            ReplInput::Empty => Ok((String::new(), String::new())),
            ReplInput::Definitions(definitions) => self.define(name, text, definitions, scanned.file),
            ReplInput::Expression(expr) => {
                let call = matches!(expr.kind, ExprKind::Call(_));
                self.evaluate(name, text, &scanned.tokens, call)
            }
            ReplInput::Statements(_) if single_call(&input) => self.evaluate(name, text, &scanned.tokens, true),
            ReplInput::Statements(stmts) => self.execute(name, text, needs_semicolon(stmts, &scanned.tokens)),
        };
        match &outcome {
            Err(_) => self.journal.refuse(),
            Ok(_) if input == ReplInput::Empty && !source::has_directives(text) => {}
            Ok((shown, _)) => {
                let form = match form {
                    // A call without a value.
                    Form::Value { .. } if shown.is_empty() => Form::Statements,
                    Form::Value { .. } => Form::Value { printable: !self.shown_is_special },
                    other => other,
                };
                self.journal.accept(text, form);
            }
        }
        reply(outcome)
    }

    /// Adds definitions, if the program with them has no errors.
    fn define(
        &mut self,
        name: &str,
        text: &str,
        definitions: &[Definition],
        file: FileId,
    ) -> Outcome<(String, String)> {
        let new = Chunk::new(name, text, definitions, file);
        let mut chunks = self.chunks.clone();
        // A file that is loaded again replaces its former self.
        let mut gone = Vec::new();
        chunks.retain(|chunk| name == INPUT || chunk.name != name);
        for chunk in &mut chunks {
            gone.extend(chunk.replace_by(&new));
        }
        chunks.retain(|chunk| !chunk.is_empty());
        let reloaded = self.chunks.iter().filter(|chunk| name != INPUT && chunk.name == name);
        gone.extend(reloaded.flat_map(|chunk| chunk.keys().cloned()));
        chunks.push(new);
        let (remarks, known) = self.check(name, &chunks)?;
        self.journal.change_chunks(&self.chunks);
        self.accepted += 1;
        self.known = Some(known);
        if let Some(new) = chunks.last_mut().filter(|_| name == INPUT) {
            let taken = |name: &String| self.chunks.iter().any(|chunk| chunk.name == *name);
            let subject = new.keys().find_map(Key::name).unwrap_or("directives").to_string();
            let numbered = (2..).map(|n| format!("<input {subject} {n}>"));
            let first = std::iter::once(format!("<input {subject}>"));
            new.name = first.chain(numbered).find(|name| !taken(name)).unwrap_or(subject);
        }
        self.chunks = chunks;
        let dropped = self.forget(&gone);
        let shown = match dropped.as_slice() {
            [] => String::new(),
            [one] => format!("{one} is gone: its type was defined again"),
            several => format!("{} are gone: their types were defined again", several.join(", ")),
        };
        Ok((shown, remarks))
    }

    /// Looks for errors in a program whose last chunk is new; also what its names mean.
    fn check(&self, name: &str, chunks: &[Chunk]) -> Outcome<(String, complete::Known)> {
        let mut compilation = Compilation::new(self.options.clone());
        compilation.facts = Some(Gathered::default());
        let mut loader = self.loader();
        let text: Arc<str> = loader.program(USED, chunks, "").into();
        let root = RootSource { name: ROOT.to_string(), text };
        let checked = compilation.core_from(root, &mut loader).and_then(|mut program| {
            // What values are does not matter here.
            let names = compilation.facts.take().unwrap_or_default().names;
            let is_new = |span: Span| compilation.map.get(span.file).is_some_and(|file| file.name == name);
            program.roots.retain(|root| is_new(program.funs[root.index()].span));
            compilation.specialize(&program, ravel_specialize::Entry::Roots)?;
            Ok((program, names))
        });
        match checked {
            Ok((program, names)) => {
                let remarks = self.remarks(&compilation, name);
                Ok((remarks, complete::Known::new(self.accepted + 1, program, names, compilation.map)))
            }
            Err(failure) => Err(self.failure(&compilation, &failure)),
        }
    }

    /// Drops what no longer fits definitions that were replaced; says which variables these are.
    fn forget(&mut self, gone: &[Key]) -> Vec<String> {
        let mut dropped = Vec::new();
        for key in gone {
            match key {
                Key::Type(name) => {
                    let ty = TypeName { module: ROOT.to_string(), name: name.clone() };
                    let names: Vec<String> =
                        self.variables.iter().filter(|(_, v)| v.mentions(&ty)).map(|(n, _)| n.clone()).collect();
                    for name in &names {
                        let old = self.variables.remove(name);
                        self.journal.change(name, old.as_ref(), None);
                    }
                    dropped.extend(names);
                }
                Key::Object(name) => drop(self.initialised.remove(&format!("{ROOT}::{name}"))),
                Key::Load | Key::Function { .. } | Key::Other => {}
            }
        }
        dropped
    }

    fn render(&self, diagnostics: &[Diagnostic], map: &SourceMap) -> String {
        self.reported.replace(ravel_diagnostics::render(diagnostics, map, ravel_diagnostics::Format::Json, false));
        // Nobody edits an input that was refused: it is typed again.
        let without_fixes = |report: &Diagnostic| Diagnostic { fixes: Vec::new(), ..report.clone() };
        let diagnostics: Vec<Diagnostic> = diagnostics.iter().map(without_fixes).collect();
        ravel_diagnostics::render(&diagnostics, map, ravel_diagnostics::Format::Human, self.color)
    }

    /// Why the text is not an input.
    fn refusal(&self, scanned: &Scanned, reports: &[Diagnostic]) -> Refusal {
        let all: Vec<Diagnostic> = scanned.reports.iter().chain(reports).cloned().collect();
        Refusal::Wrong(self.render(&all, &scanned.map))
    }

    fn unfinished(&self, scanned: &Scanned, text: &str) -> Refusal {
        let end = text.trim_end().len();
        let at = Span::new(scanned.file, end.saturating_sub(1), end);
        let report =
            Diagnostic::error(Code::InputEndsEarly, "the input ends too early").at(at, "something must follow");
        Refusal::Wrong(self.render(&[report], &scanned.map))
    }

    /// Why a stage refused the program.
    fn failure(&self, compilation: &Compilation, failure: &Failure) -> Refusal {
        match failure {
            Failure::Source => {
                let errors: Vec<Diagnostic> =
                    compilation.diagnostics.iter().filter(|d| d.is_error()).cloned().collect();
                Refusal::Wrong(self.render(&errors, &compilation.map))
            }
            other => Refusal::Wrong(format!("{other}\n")),
        }
    }

    /// Warnings about the input itself.
    fn remarks(&self, compilation: &Compilation, name: &str) -> String {
        let about_input = |d: &&Diagnostic| compilation.map.get(d.span().file).is_some_and(|file| file.name == name);
        let warnings: Vec<Diagnostic> = compilation.diagnostics.iter().filter(about_input).cloned().collect();
        self.render(&warnings, &compilation.map)
    }
}

fn reply(outcome: Outcome<(String, String)>) -> Reply {
    match outcome {
        Ok((shown, remarks)) => Reply::Done { shown, remarks },
        Err(Refusal::Wrong(text)) => Reply::Failed(text),
        Err(Refusal::Interrupted) => Reply::Interrupted,
    }
}
