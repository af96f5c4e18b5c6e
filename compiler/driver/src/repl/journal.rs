//! What has been entered, for `:undo` and `:save`.

use super::source::{Chunk, Key, words};
use super::value::Value;
use super::{LAST_VALUE, ROOT, USED};
use std::collections::{BTreeMap, HashSet, VecDeque};

/// Inputs that can be undone.
const MOST_STEPS: usize = 100;
/// Bytes of arrays that are kept for that, at most.
const MOST_BYTES: usize = 64 << 20;

/// What an accepted input was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Definitions,
    Statements,
    /// Its value was shown.
    Value {
        /// `print` takes such a value.
        printable: bool,
    },
}

/// What an input has changed.
struct Step {
    /// The parts of one input are undone together.
    input: u64,
    /// What the variables were before.
    variables: Vec<(String, Option<Value>)>,
    chunks: Option<Vec<Chunk>>,
    initialised: HashSet<String>,
    bytes: usize,
}

#[derive(Default)]
pub(super) struct Journal {
    inputs: u64,
    /// Text and form of each part, with the number of its input.
    entries: Vec<(u64, String, Form)>,
    steps: VecDeque<Step>,
    /// What the part at hand has changed so far.
    changes: Vec<(String, Option<Value>)>,
    chunks: Option<Vec<Chunk>>,
    /// Global objects that it gave their first value.
    initialised: HashSet<String>,
}

/// What to set back.
pub(super) struct Undone {
    pub(super) text: String,
    pub(super) variables: Vec<(String, Option<Value>)>,
    pub(super) chunks: Option<Vec<Chunk>>,
    pub(super) initialised: HashSet<String>,
}

impl Journal {
    /// Another input begins.
    pub(super) fn begin(&mut self) {
        self.inputs += 1;
    }

    /// A variable is about to get a value, or to lose it.
    pub(super) fn change(&mut self, name: &str, old: Option<&Value>, new: Option<&Value>) {
        let is_same = matches!((old, new), (Some(old), Some(new)) if old.is_same(new));
        if !is_same {
            self.changes.push((name.to_string(), old.cloned()));
        }
    }

    /// Definitions are about to be replaced.
    pub(super) fn change_chunks(&mut self, old: &[Chunk]) {
        self.chunks = Some(old.to_vec());
    }

    pub(super) fn initialise(&mut self, objects: &[String]) {
        self.initialised.extend(objects.iter().cloned());
    }

    /// The part at hand is done.
    pub(super) fn accept(&mut self, text: &str, form: Form) {
        let variables = std::mem::take(&mut self.changes);
        let bytes = variables.iter().filter_map(|(_, value)| value.as_ref()).map(Value::bytes).sum();
        let (chunks, initialised) = (self.chunks.take(), std::mem::take(&mut self.initialised));
        self.steps.push_back(Step { input: self.inputs, variables, chunks, initialised, bytes });
        self.entries.push((self.inputs, text.trim().to_string(), form));
        while self.steps.len() > MOST_STEPS || self.steps.iter().map(|step| step.bytes).sum::<usize>() > MOST_BYTES {
            self.steps.pop_front();
        }
    }

    /// The part at hand has failed: what it changed was set back, or is nothing.
    pub(super) fn refuse(&mut self) {
        self.changes.clear();
        self.chunks = None;
        self.initialised.clear();
    }

    /// Takes back the last input; nothing if it is not known any more.
    pub(super) fn undo(&mut self) -> Option<Undone> {
        let input = self.entries.last()?.0;
        let parts = self.entries.iter().filter(|(of, ..)| *of == input).count();
        if self.steps.iter().filter(|step| step.input == input).count() < parts {
            return None;
        }
        let texts: Vec<String> = self.entries.drain(self.entries.len() - parts..).map(|(_, text, _)| text).collect();
        let mut undone =
            Undone { text: texts.join(" "), variables: Vec::new(), chunks: None, initialised: HashSet::new() };
        for step in self.steps.drain(self.steps.len() - parts..).rev() {
            undone.variables.extend(step.variables.into_iter().rev());
            undone.chunks = step.chunks.or(undone.chunks);
            undone.initialised.extend(step.initialised);
        }
        Some(undone)
    }

    /// Whether something has been entered.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Parts of inputs that have been accepted.
    pub(super) fn parts(&self) -> usize {
        self.entries.len()
    }

    /// A program that does what the inputs did: the definitions that are left, and the other inputs as `main`.
    pub(super) fn program(&self, chunks: &[Chunk]) -> String {
        let mut text = String::from("/* Saved from a session of the prompt. */\n\n");
        let statements: Vec<&(u64, String, Form)> =
            self.entries.iter().filter(|(_, _, form)| *form != Form::Definitions).collect();
        let mentions = |name: &str| statements.iter().any(|(_, text, _)| words(text).any(|word| word == name));
        let defines_main = |chunk: &Chunk| chunk.keys().any(|key| key.name() == Some("main"));
        for module in USED {
            text.push_str(&format!("use {module}: all;\n"));
        }
        // A file that was loaded may be a program: its `main` ran when it was called.
        let is_main = |key: &Key| !statements.is_empty() && key.name() == Some("main");
        for chunk in chunks {
            text.push_str(chunk.text_without(&is_main).trim());
            text.push('\n');
        }
        if statements.is_empty() && chunks.iter().any(defines_main) {
            return text;
        }
        text.push_str("\nint main()\n{\n");
        let keeps_last = mentions(LAST_VALUE);
        for (_, input, form) in statements {
            let bare = input.strip_suffix(';').unwrap_or(input);
            match form {
                Form::Value { printable: true } if keeps_last => {
                    text.push_str(&format!("{LAST_VALUE} = {bare};\nprint({LAST_VALUE});\n"));
                }
                Form::Value { printable: true } => text.push_str(&format!("print({bare});\n")),
                Form::Value { printable: false } => text.push_str(&format!("/* {bare} */\n")),
                Form::Statements | Form::Definitions => {
                    let end = if input.ends_with([';', '}']) { "" } else { ";" };
                    text.push_str(&format!("{input}{end}\n"));
                }
            }
        }
        text.push_str("return 0;\n}\n");
        text
    }
}

/// Sets variables back.
pub(super) fn restore(variables: &mut BTreeMap<String, Value>, old: Vec<(String, Option<Value>)>) {
    for (name, value) in old {
        match value {
            Some(value) => drop(variables.insert(name, value)),
            None => drop(variables.remove(&name)),
        }
    }
}

/// The name of an object that is initialised once, without the module of the session.
pub(super) fn own_object(object: &str) -> Option<&str> {
    object.strip_prefix(ROOT)?.strip_prefix("::")
}
