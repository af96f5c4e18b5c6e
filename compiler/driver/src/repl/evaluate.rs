//! Inputs that compute: expressions and statements.

use super::source::{FUNCTION, ROOT, VALUE, words};
use super::value::{self, Value};
use super::{LAST_VALUE, Outcome, Refusal, Session, USED, show};
use crate::emit::Stage;
use crate::explain::Explanation;
use crate::pipeline::{Compilation, ENTRY, Failure};
use ravel_codegen::Word;
use ravel_core::RootSource;
use ravel_core::ir::{self, ExprKind, FunBody, FunId, LocalId, Program, Target};
use ravel_diagnostics::Code;
use ravel_runtime::fault::{Ending, Report, run_session_holding};
use ravel_runtime::lost::Counts;
use ravel_source::Span;
use ravel_specialize::Entry;
use ravel_specialize::value::Kind;
use ravel_syntax::Tokens;
use ravel_types::{Basic, Scalar};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The code of a call that gives another number of results than its place takes.
const COUNT_MISMATCH: Code = Code::WrongCounts;

/// How often an input without effects is run that is timed, at most.
const MOST_RUNS: usize = 31;
/// How long it is run again, once it is short.
const REPEATING: Duration = Duration::from_millis(300);

/// An input as a function.
struct Wrapped {
    compilation: Compilation,
    program: Program,
    fun: FunId,
    /// The session's variables that it takes.
    params: Vec<String>,
    args: Vec<Kind>,
    /// The names of its results.
    results: Vec<String>,
}

/// How an input is read.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// It has one value.
    Value,
    /// What calls among them give is shown.
    Statements,
}

impl Session {
    /// Shows the value of an expression; a call may also have none, or several.
    pub(super) fn evaluate(
        &mut self,
        name: &str,
        text: &str,
        tokens: &Tokens,
        is_call: bool,
    ) -> Outcome<(String, String)> {
        let semicolon = tokens.last() != Some(";");
        match self.wrap(name, text, Form::Value, semicolon) {
            Ok(wrapped) => self.run(name, wrapped),
            Err(compilation) => {
                let miscounted = compilation.diagnostics.iter().any(|d| d.code == COUNT_MISMATCH);
                if is_call
                    && miscounted
                    && let Ok(wrapped) = self.wrap(name, text, Form::Statements, semicolon)
                {
                    return self.run(name, wrapped);
                }
                Err(self.failure(&compilation, &Failure::Source))
            }
        }
    }

    /// Runs statements.
    pub(super) fn execute(&mut self, name: &str, text: &str, semicolon: bool) -> Outcome<(String, String)> {
        match self.wrap(name, text, Form::Statements, semicolon) {
            Ok(wrapped) => self.run(name, wrapped),
            Err(compilation) => Err(self.failure(&compilation, &Failure::Source)),
        }
    }

    /// The type of an expression.
    pub(super) fn expression_type(&mut self, text: &str, tokens: &Tokens) -> Outcome<String> {
        let mut wrapped = match self.wrap(super::INPUT, text, Form::Value, tokens.last() != Some(";")) {
            Ok(wrapped) => wrapped,
            Err(compilation) => return Err(self.failure(&compilation, &Failure::Source)),
        };
        let entry = Entry::Function { fun: wrapped.fun, args: wrapped.args, init_globals: false };
        match wrapped.compilation.specialize(&wrapped.program, entry) {
            Ok(specialized) => {
                let position = wrapped.results.iter().position(|name| name == VALUE);
                let kind = position.and_then(|at| specialized.results.get(at)).unwrap_or(&Kind::Bottom);
                Ok(value::kind_text(kind, &wrapped.program))
            }
            Err(failure) => Err(self.failure(&wrapped.compilation, &failure)),
        }
    }

    /// The kind of an expression whose elements are of a basic type; nothing if it is wrong. It is not evaluated.
    pub(super) fn expression_kind(&mut self, text: &str) -> Option<Kind> {
        let mut wrapped = self.wrap(super::INPUT, text, Form::Value, true).ok()?;
        let entry = Entry::Function { fun: wrapped.fun, args: wrapped.args, init_globals: false };
        let specialized = wrapped.compilation.specialize(&wrapped.program, entry).ok()?;
        let position = wrapped.results.iter().position(|name| name == VALUE)?;
        let kind = specialized.results.get(position)?;
        matches!(kind, Kind::Sc(..) | Kind::Tup(..) | Kind::Arr(..)).then(|| kind.clone())
    }

    /// An input as a stage of the compiler has it.
    pub(super) fn emitted(&mut self, stage: Stage, text: &str, tokens: &Tokens, is_value: bool) -> Outcome<String> {
        let form = if is_value { Form::Value } else { Form::Statements };
        let mut wrapped = match self.wrap(super::INPUT, text, form, tokens.last() != Some(";")) {
            Ok(wrapped) => wrapped,
            Err(compilation) => return Err(self.failure(&compilation, &Failure::Source)),
        };
        // As if all objects had their first values.
        wrapped.program.globals.iter_mut().for_each(|global| global.init = None);
        let entry = Entry::Function { fun: wrapped.fun, args: wrapped.args, init_globals: false };
        let compilation = &mut wrapped.compilation;
        let shown = compilation
            .specialize(&wrapped.program, entry)
            .and_then(|specialized| compilation.emit_module(specialized.module, stage));
        shown.map_err(|failure| self.failure(&wrapped.compilation, &failure))
    }

    /// Lowers the input as a function to core, or gives the reports why that failed. The last statement may lack a `;`.
    fn wrap(&mut self, name: &str, text: &str, form: Form, semicolon: bool) -> Result<Wrapped, Box<Compilation>> {
        let mentioned: BTreeSet<&str> =
            self.chunks.iter().filter_map(|chunk| chunk.macro_text()).chain([text]).flat_map(words).collect();
        let used = self.variables.iter().filter(|(name, _)| mentioned.contains(name.as_str()));
        let (params, values): (Vec<String>, Vec<Value>) = used.map(|(n, v)| (n.clone(), v.clone())).unzip();
        let head: Vec<String> =
            params.iter().zip(&values).map(|(name, value)| format!("{} {name}", value.parameter_type(ROOT))).collect();
        let mut loader = self.loader();
        let before = match form {
            Form::Value => format!("{VALUE} ="),
            Form::Statements => String::new(),
        };
        let after = if semicolon { ";" } else { "" };
        let body = loader.function(&head.join(", "), &before, name, text, after);
        let text = loader.program(USED, &self.chunks, &body);
        let root = RootSource { name: ROOT.to_string(), text: text.into() };
        let mut compilation = Compilation::new(self.options.clone());
        compilation.explanation = self.explains.then(Explanation::default);
        let Ok(mut program) = compilation.core_from(root, &mut loader) else {
            return Err(Box::new(compilation));
        };
        let fun = program.funs.iter().position(|fun| fun.name == FUNCTION).map(|at| FunId(at as u32));
        let args: Option<Vec<Kind>> = values.iter().map(|value| value.kind(&program)).collect();
        // The program holds the function with its parameter types: it was lowered without errors.
        let (Some(fun), Some(args)) = (fun, args) else {
            return Err(Box::new(compilation));
        };
        let function = &mut program.funs[fun.index()];
        if form == Form::Statements {
            keep_results(function);
        }
        let results = return_variables(&compilation, function);
        Ok(Wrapped { compilation, program, fun, params, args, results })
    }

    /// Compiles the function, calls it, and keeps what it returns.
    fn run(&mut self, name: &str, wrapped: Wrapped) -> Outcome<(String, String)> {
        let Wrapped { mut compilation, mut program, fun, params, args, results } = wrapped;
        let mut init_globals = false;
        let mut objects = Vec::new();
        for global in program.globals.iter_mut().filter(|global| global.init.is_some()) {
            let object = format!("{}::{}", global.module, global.name);
            if self.initialised.contains(&object) {
                global.init = None;
            } else {
                init_globals = true;
                objects.push(object);
            }
        }
        let entry = Entry::Function { fun, args, init_globals };
        let (kinds, has_effects) = match self.compile(&mut compilation, &program, entry) {
            Ok(compiled) => compiled,
            Err(failure) => return Err(self.failure(&compilation, &failure)),
        };
        let entry = self.jit.entry(ENTRY).map_err(|e| Refusal::Wrong(format!("{e}\n")))?;
        let mut given = Vec::new();
        params.iter().filter_map(|name| self.variables.get(name)).for_each(|value| value.words(&mut given));
        let is_object = value::objects(&kinds);
        self.last.compiled += compilation.times.iter().map(|(_, time)| *time).sum::<Duration>();
        self.last.explained.push_str(&compilation.explained());
        let arguments = Counts::before(given.iter().filter_map(Word::object));
        let jit = &mut self.jit;
        let repeats = self.repeats && !has_effects && !init_globals;
        let work = move || {
            let mut runs = Vec::new();
            let mut call = |given: Vec<Word>| {
                let start = Instant::now();
                let returned = entry.call_owned(given, &is_object);
                runs.push(start.elapsed());
                (returned, runs.len() < MOST_RUNS && runs.iter().sum::<Duration>() < REPEATING)
            };
            let kept = if repeats { given.clone() } else { Vec::new() };
            let (returned, mut again) = call(given);
            while repeats && again {
                again = call(kept.clone()).1;
            }
            (returned, runs)
        };
        let outcome = run_session_holding(&mut || jit.globals().map(|globals| globals.words()), arguments, work);
        let written = ravel_runtime::stream::finish();
        let returned = match outcome {
            Ok((returned, runs)) => {
                self.last.runs.push(runs);
                returned
            }
            Err(report) if report.fault.ending == Ending::Interrupted => return Err(Refusal::Interrupted),
            Err(mut report) => {
                // The function around the input is not the user's.
                report.function = report.function.filter(|function| ![FUNCTION, "entry"].contains(&function.as_str()));
                // An input that was just typed is in sight.
                let is_input =
                    report.position.as_ref().is_some_and(|at| at.starts_with(&format!("{}:1:", super::INPUT)));
                let report = if is_input { report } else { compilation.functions.show(&compilation.map, report) };
                return Err(Refusal::Wrong(report.to_string()));
            }
        };
        if let Err(fault) = written {
            return Err(Refusal::Wrong(Report::new(None, fault).to_string()));
        }
        self.journal.initialise(&objects);
        self.initialised.extend(objects);
        let mut returned = returned.into_iter();
        let mut shown = Vec::new();
        for (name, kind) in results.iter().zip(&kinds) {
            let Some(value) = value::read(kind, &program, &mut returned) else {
                continue;
            };
            if name == VALUE {
                match &mut self.taken {
                    Some(taken) => taken.push(value.clone()),
                    None => shown.push(show::value(&value, self.style())),
                }
                self.shown_is_special = !matches!(value, Value::Scalar(..) | Value::Array(..));
                // An object is nobody's second name.
                if matches!(kind, Kind::Sc(..) | Kind::Tup(..) | Kind::Arr(..)) {
                    self.set_variable(LAST_VALUE, value);
                }
            } else {
                self.set_variable(name, value);
            }
        }
        Ok((shown.join("\n"), self.remarks(&compilation, name)))
    }

    /// Everything from core to code; the kinds of the results, and whether the input does something besides.
    pub(super) fn compile(
        &mut self,
        compilation: &mut Compilation,
        program: &Program,
        entry: Entry,
    ) -> Result<(Vec<Kind>, bool), Failure> {
        let specialized = compilation.specialize(program, entry)?;
        self.uses_libraries |= !compilation.foreign.is_empty();
        compilation.load_foreign()?;
        let module = compilation.optimize(specialized.module)?;
        let has_effects = module.funcs.values().any(|func| func.effects);
        let nest = compilation.nest(&module, true)?;
        let host = compilation.cut_kernels(&nest)?;
        self.jit.add(&host).map_err(|e| Failure::Internal { stage: "code generation", what: e.to_string() })?;
        Ok((specialized.results, has_effects))
    }
}

/// Gives what the statements of the function drop to variables that are shown.
pub(super) fn keep_results(fun: &mut ir::Fun) {
    let FunBody::Sac { block, .. } = &mut fun.body else {
        return;
    };
    for stmt in block {
        let ir::Stmt::Assign { targets, span, .. } = stmt else {
            continue;
        };
        for target in targets.iter_mut().filter(|target| **target == Target::Discard) {
            *target = Target::Local(LocalId(fun.locals.len() as u32));
            fun.locals.push(ir::Local { name: VALUE.to_string(), declared: None, span: *span });
        }
    }
}

/// Makes the function return its parameters and every variable that it surely assigns; says in which order.
fn return_variables(compilation: &Compilation, fun: &mut ir::Fun) -> Vec<String> {
    let FunBody::Sac { block, returns } = &mut fun.body else {
        return Vec::new();
    };
    let mut slots: Vec<LocalId> = fun.params.iter().map(|param| param.local).collect();
    let mut assigned = BTreeSet::new();
    assigned_slots(block, &mut assigned);
    // Temporaries have names, too, but not those of the text that they come from.
    let is_variable = |slot: &LocalId| {
        let local = &fun.locals[slot.index()];
        local.name == VALUE || compilation.map.snippet(local.span) == local.name
    };
    let new: Vec<LocalId> = assigned.into_iter().filter(|slot| !slots.contains(slot) && is_variable(slot)).collect();
    slots.extend(new);
    let expr = |kind| ir::Expr { kind, span: Span::NONE };
    *returns = slots.iter().map(|slot| expr(ExprKind::Local(*slot))).collect();
    if returns.len() == 1 {
        // One expression could be a call with several results; two are two values.
        returns.push(expr(ExprKind::Const { ty: Basic::Int, value: Scalar::I32(0) }));
    }
    slots.iter().map(|slot| fun.locals[slot.index()].name.clone()).collect()
}

/// The slots that every run of the statements assigns.
fn assigned_slots(block: &[ir::Stmt], out: &mut BTreeSet<LocalId>) {
    for stmt in block {
        match stmt {
            ir::Stmt::Assign { targets, .. } => out.extend(targets.iter().filter_map(|target| match target {
                Target::Local(slot) => Some(*slot),
                Target::Global(_) | Target::Discard => None,
            })),
            ir::Stmt::If { then, els, .. } => {
                let (mut in_then, mut in_else) = (BTreeSet::new(), BTreeSet::new());
                assigned_slots(then, &mut in_then);
                assigned_slots(els, &mut in_else);
                out.extend(in_then.intersection(&in_else));
            }
            ir::Stmt::While { body, do_first: true, .. } => assigned_slots(body, out),
            ir::Stmt::While { .. } => {}
        }
    }
}
