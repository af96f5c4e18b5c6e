//! Looking at what a session holds and makes: definitions, stages of the compiler, figures.

use super::show::Style;
use super::{Chunk, INPUT, Outcome, Refusal, Reply, Session, reply};
use crate::backend::{Backend, Kind};
use crate::emit::Stage;
use ravel_syntax::ReplInput;
use std::fmt::Write as _;

/// On a narrower screen lines are broken by the terminal.
const NARROWEST: usize = 20;

impl Session {
    /// The text of what was defined under a name, or what the library has of it; nothing if nobody defines it.
    pub fn source(&self, name: &str) -> Option<String> {
        let own: Vec<&str> = self.chunks.iter().flat_map(|chunk| chunk.definitions_of(name)).map(str::trim).collect();
        if own.is_empty() { crate::doc::source(name) } else { Some(format!("{}\n", own.join("\n\n"))) }
    }

    /// An input as a stage of the compiler has it; it is not run.
    pub fn emit(&mut self, stage: Stage, text: &str) -> Reply {
        if matches!(stage, Stage::Ast | Stage::Core) {
            return Reply::Failed("this stage shows whole programs: `ravel check --emit`\n".to_string());
        }
        let scanned = self.scan(INPUT, text);
        let (input, reports) = self.parse(&scanned, text);
        let is_run = matches!(input, ReplInput::Expression(_) | ReplInput::Statements(_));
        if scanned.has_errors() || !is_run {
            let refusal = match self.refusal(&scanned, &reports) {
                Refusal::Wrong(text) if text.is_empty() => Refusal::Wrong("this is nothing that runs\n".to_string()),
                other => other,
            };
            return reply(Err(refusal));
        }
        let is_value = matches!(input, ReplInput::Expression(_)) || super::input::single_call(&input);
        let shown: Outcome<String> = self.emitted(stage, text, &scanned.tokens, is_value);
        reply(shown.map(|shown| (shown.trim_end().to_string(), String::new())))
    }

    /// What stands in memory, for `:stats`.
    pub fn figures(&self) -> String {
        let mut out = String::new();
        let definitions = self.chunks.iter().flat_map(Chunk::keys).filter(|key| key.name().is_some()).count();
        let bytes: usize = self.variables.values().map(super::Value::bytes).sum();
        let _ = writeln!(out, "{} variables of {}, {definitions} definitions", self.variables().count(), amount(bytes));
        let _ = writeln!(out, "{} parts of inputs, {} accepted as definitions", self.journal.parts(), self.accepted);
        let _ = writeln!(out, "{} threads, backend {}", ravel_runtime::pool::threads(), self.options.backend.name());
        if let Some(resident) = resident() {
            let _ = writeln!(out, "{} of memory in use", amount(resident));
        }
        out
    }

    /// Runs later inputs by another backend. Global objects begin anew.
    ///
    /// # Errors
    /// What is wrong with the name, or with the backend on this machine.
    pub fn set_backend(&mut self, name: &str) -> Result<(), String> {
        // The interpreter runs whole programs.
        let compiles = |backend: &Backend| backend.kind() != Kind::Interpreter;
        let known = Backend::all().filter(compiles).find(|backend| backend.name() == name);
        let backend = known.ok_or_else(|| {
            let names: Vec<&str> = Backend::all().filter(compiles).map(Backend::name).collect();
            format!("there is no backend `{name}` that a prompt can use; these are there: {}", names.join(", "))
        })?;
        let jit = backend.session().map_err(|error| error.to_string())?;
        (self.jit, self.options.backend) = (jit, backend);
        self.initialised.clear();
        Ok(())
    }

    /// How values are shown: as wide as was said, or as the screen is.
    pub(super) fn style(&self) -> Style {
        let plain = Style::default();
        let of_screen = || ravel_runtime::standard::screen().map(|screen| screen.columns).filter(|width| *width > 0);
        let width = self.width.or_else(of_screen).unwrap_or(plain.width).max(NARROWEST);
        Style { width, digits: self.digits }
    }

    /// Shows later values in lines of so many characters; as wide as the screen without a number.
    pub fn set_width(&mut self, width: Option<usize>) {
        self.width = width;
    }

    /// Shows later real numbers with so many significant digits; with all of them without a number.
    pub fn set_digits(&mut self, digits: Option<usize>) {
        self.digits = digits;
    }

    /// The digits of real numbers, if that was said.
    pub fn digits(&self) -> Option<usize> {
        self.digits
    }

    /// The width of lines.
    pub fn width(&self) -> usize {
        self.style().width
    }

    /// The backend that runs inputs.
    pub fn backend(&self) -> &'static str {
        self.options.backend.name()
    }
}

/// Bytes, with a unit.
fn amount(bytes: usize) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} bytes"),
        10_000..=9_999_999 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Memory of this process, where the system says so.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<usize>().ok()?.checked_mul(1024)
}
