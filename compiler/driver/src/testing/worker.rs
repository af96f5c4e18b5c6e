//! The child's part: the tests of one file, one after the other.

use super::events::{Event, Writer, written};
use super::faults::code_of;
use super::find::{self, Test};
use super::machine::{Called, Machine, Refused};
use super::{Kind, Work, admits, property};
use crate::pipeline::Options;
use crate::repl::value::{self, Value};
use ravel_diagnostics::Code;
use ravel_types::{Basic, Elem, Scalar};
use std::io;
use std::path::Path;
use std::time::Instant;

/// What is to be said of a test.
pub(super) struct Judged {
    pub passed: bool,
    pub message: String,
}

impl Judged {
    pub fn passed() -> Judged {
        Judged { passed: true, message: String::new() }
    }

    pub fn failed(message: impl Into<String>) -> Judged {
        Judged { passed: false, message: message.into() }
    }
}

/// Runs the tests of a file and tells the parent; the exit status.
///
/// # Errors
/// The parent's folder cannot be written to.
pub fn work(options: Options, file: &Path, work: &Work) -> io::Result<()> {
    let mut parent = Writer::open(&work.folder)?;
    ravel_runtime::child::end_first();
    let mut machine = match Machine::open(options, file, work.note) {
        Ok(machine) => machine,
        Err(message) => return parent.tell(&Event::Broken { message }),
    };
    let tests = find::tests(&machine.program, &machine.compilation.map, machine.file);
    let is_meant = |test: &Test| admits(work.filter.as_deref(), file, &test.name);
    let mut chosen: Vec<Test> = tests.into_iter().filter(is_meant).collect();
    for (at, test) in chosen.iter().enumerate() {
        parent.tell(&Event::Test { at, name: test.name.clone(), kind: test.kind, line: test.line })?;
    }
    if !work.list {
        for (at, test) in chosen.drain(..).enumerate().skip(work.from) {
            parent.tell(&Event::Begin { at, output: written(&work.folder) })?;
            let start = Instant::now();
            let Judged { passed, message } = judge(&mut machine, file, &test, work, &mut parent);
            let seconds = start.elapsed().as_secs_f64();
            ravel_runtime::stream::flush_all();
            parent.tell(&Event::End { at, passed, seconds, message, output: written(&work.folder) })?;
        }
    }
    parent.tell(&Event::Done)
}

fn judge(machine: &mut Machine, file: &Path, test: &Test, work: &Work, parent: &mut Writer) -> Judged {
    if test.kind == Kind::Property {
        // Whoever is not heard has failed later on.
        let mut tell = |seed| drop(parent.tell(&Event::Case { seed }));
        return property::judge(machine, test, file, work, &mut tell);
    }
    if !machine.program.funs[test.fun.index()].params.is_empty() {
        return Judged::failed(format!("`{}` has parameters, but only `prop_...` gets arguments\n", test.name));
    }
    let compiled = match machine.compile(test.fun, Vec::new()) {
        Ok(compiled) => compiled,
        Err(refused) => return judge_refused(machine, test, &refused),
    };
    match (machine.call(&compiled, &[]), test.kind) {
        (Called::Returned(_), Kind::Fails) => Judged::failed(format!("`{}` does not fail\n", test.name)),
        (Called::Returned(values), _) => match all_true(&values) {
            Ok(()) => Judged::passed(),
            Err(why) => Judged::failed(format!("`{}` {why}\n", test.name)),
        },
        (Called::Fault(report), Kind::Fails) => match wanted(test) {
            Ok(None) => Judged::passed(),
            Ok(Some(code)) if code_of(&report.fault) == Some(code) => Judged::passed(),
            Ok(Some(code)) => {
                let found = code_of(&report.fault).map_or("no code", Code::text);
                let fault = machine.fault_text(&compiled, &report);
                Judged::failed(format!("the fault has {found}, not {code}\n{fault}"))
            }
            Err(judged) => judged,
        },
        (Called::Fault(report), _) => Judged::failed(machine.fault_text(&compiled, &report)),
        (Called::Exit(status), _) => Judged::failed(exited(status)),
        (Called::Impossible(why), _) => Judged::failed(format!("{why}\n")),
    }
}

/// What is said of a test that ends the process.
pub(super) fn exited(status: i32) -> String {
    format!("it called `exit`, or ended the process otherwise, with status {status}\n")
}

fn wanted(test: &Test) -> Result<Option<Code>, Judged> {
    match &test.code {
        None => Ok(None),
        Some(Ok(code)) => Ok(Some(*code)),
        Some(Err(name)) => Err(Judged::failed(format!("there is no code `{name}`; `ravel explain` lists them\n"))),
    }
}

/// A function that the compiler refuses may be meant to be.
fn judge_refused(machine: &Machine, test: &Test, refused: &Refused) -> Judged {
    let text = machine.refusal_text(refused);
    match (refused, test.kind) {
        (Refused::Source(reports), Kind::Fails) => match wanted(test) {
            Ok(None) => Judged::passed(),
            Ok(Some(code)) if reports.iter().any(|report| report.code == code) => Judged::passed(),
            Ok(Some(code)) => Judged::failed(format!("no error has the code {code}\n{text}")),
            Err(judged) => judged,
        },
        _ => Judged::failed(text),
    }
}

/// Whether all results that are `bool` are true.
///
/// # Errors
/// What they are instead.
pub(super) fn all_true(values: &[Value]) -> Result<(), String> {
    for value in values {
        match value {
            Value::Scalar(Basic::Bool, Scalar::Bool(true)) => {}
            Value::Array(Basic::Bool, array) => {
                let count = array.view().count();
                let is_false = |at: &usize| value::element(Elem::Bool, array, *at) == Some(Scalar::Bool(false));
                if (0..count).any(|at| is_false(&at)) {
                    return Err(format!("is not true everywhere: {}", crate::repl::show::line(value)));
                }
            }
            Value::Scalar(Basic::Bool, _) => return Err("is false".to_string()),
            other => {
                let what = crate::repl::show::type_name(other);
                return Err(format!("gives {what}; tests give nothing, or `bool`"));
            }
        }
    }
    Ok(())
}
