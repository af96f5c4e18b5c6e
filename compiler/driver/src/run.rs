//! Running a compiled program in this process.

use crate::backend::Kind;
use crate::explain::Explanation;
use crate::link::{LinkError, Linking};
use crate::pipeline::{Compilation, ENTRY, Failure};
use ravel_diagnostics::{Code, Diagnostic};
use ravel_interp::{Host, RunError, Simulation, Val};
use ravel_runtime::fault::Report;
use ravel_source::Span;
use ravel_specialize::Entry;
use ravel_types::Scalar;
use ravel_wir::Module;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A program that is ready to run.
pub enum Program {
    Interp(Arc<Module>),
    Native(ravel_codegen::Entry),
}

impl Compilation {
    /// Compiles `main` of a file for the backend of the options.
    ///
    /// # Errors
    /// Those of the stages.
    pub fn program(&mut self, path: &Path) -> Result<Program, Failure> {
        let module = self.wir(path)?;
        self.load_foreign()?;
        match self.options.backend.kind() {
            // Ranks share the loops that there are after optimisation.
            Kind::Interpreter if self.options.simulated_ranks.is_some() => {
                Ok(Program::Interp(Arc::new(self.optimize(module)?)))
            }
            // The oracle runs what the specialiser made: it judges the optimiser too.
            Kind::Interpreter => Ok(Program::Interp(Arc::new(module))),
            _ => {
                let module = self.optimize(module)?;
                let nest = self.nest(&module, false)?;
                Ok(Program::Native(self.jit(&nest)?))
            }
        }
    }

    /// Runs a program to its end; the status of its `main`, or of the fault that ended it. `arguments` starts with the program's
    /// own name.
    ///
    /// # Errors
    /// [`Failure::Internal`] if the program could not be started, or the interpreter found the IR at fault.
    pub fn execute(&self, program: &Program, arguments: Vec<Vec<u8>>) -> Result<i32, Failure> {
        let start = ravel_runtime::start::check_environment();
        if let Err(fault) = start.and_then(|()| ravel_runtime::start::set_arguments(arguments)) {
            ravel_runtime::fault::raise(fault);
        }
        if matches!(program, Program::Native(_)) {
            let (functions, map) = (self.functions.clone(), self.map.clone());
            ravel_runtime::fault::show_excerpts(Box::new(move |report| functions.show(&map, report)));
        }
        let places = self.checked_gradients.iter().map(|span| self.map.describe(*span));
        ravel_runtime::natives::gradients::begin(places);
        match program {
            Program::Native(entry) => entry.run_program().ok_or_else(|| Failure::Internal {
                stage: "the start of the program",
                what: format!("{ENTRY} is not of type () -> i32"),
            }),
            Program::Interp(module) => self.interpret(module),
        }
        .inspect(|_| ravel_runtime::profile::finish())
    }

    fn interpret(&self, module: &Arc<Module>) -> Result<i32, Failure> {
        let places = |span, function: &str| self.functions.place(&self.map, span, function);
        let mut tracer = self.tracer();
        let observer = tracer.as_mut().map(|tracer| tracer as &mut dyn ravel_interp::Observer);
        let mut simulation = self.options.simulated_ranks.map(Simulation::new);
        let natives = ravel_runtime::natives::table::find;
        let host = Host { natives, places: &places, observer, ranks: simulation.as_mut() };
        let outcome = ravel_interp::run_on(module, host);
        drop(tracer);
        let written = ravel_runtime::stream::finish();
        if let Some(simulation) = simulation.filter(|_| ravel_runtime::stats::enabled()) {
            let _ = writeln!(std::io::stderr(), "{simulation}");
        }
        if let (Ok(_), Err(fault)) = (&outcome, written) {
            ravel_runtime::fault::raise(fault);
        }
        match outcome {
            Ok(values) => Ok(match values.first() {
                Some(Val::Scalar(Scalar::I32(status))) => *status,
                _ => 0,
            }),
            Err(RunError::Fault(report)) => {
                let place = self.functions.place(&self.map, report.span, &report.function);
                let report = self.functions.show(&self.map, Report::new(Some(&place), report.fault.clone()));
                // Where nobody listens, the status still tells.
                let _ = write!(std::io::stderr(), "{report}");
                Ok(report.status())
            }
            Err(RunError::Internal { span, function, problem }) => Err(Failure::Internal {
                stage: "the interpreter",
                what: format!("{} in {function}: {problem}", self.map.describe(span)),
            }),
            Err(RunError::NoSuchNative { span, symbol }) => Err(Failure::Unsupported {
                position: self.map.describe(span),
                what: format!("the foreign function `{symbol}` is not part of the runtime"),
            }),
            Err(RunError::NoThread(why)) => Err(Failure::Internal { stage: "the interpreter", what: why }),
        }
    }
}

impl Compilation {
    /// Reports everything that is wrong with a file: a program is followed from `main`, and every other function with
    /// parameter types is looked at for itself.
    ///
    /// # Errors
    /// [`Failure::Source`] if there are errors.
    pub fn check(&mut self, path: &Path) -> Result<(), Failure> {
        if self.options.lints.look_for_perf() && self.explanation.is_none() {
            self.explanation = Some(Explanation::default());
        }
        let program = self.core_with_holes(path)?;
        let main_too = program.main.is_some().then_some(Entry::Main);
        let entries: Vec<Entry> = main_too.into_iter().chain([Entry::Roots]).collect();
        let mut looks = self.specialize_all(&program, entries.clone());
        let roots = looks.pop().expect("the roots are looked at always");
        let main = looks.pop();
        self.diagnostics.extend(main.iter().flat_map(|look| look.diagnostics.iter().cloned()));
        // The second look finds again what the first one found.
        let known: HashSet<(Code, Span)> = self.diagnostics.iter().map(|report| (report.code, report.span())).collect();
        let is_new = |report: &&Diagnostic| !known.contains(&(report.code, report.span()));
        let runs = main.as_ref().is_some_and(|look| !look.diagnostics.iter().any(Diagnostic::is_error));
        self.diagnostics.extend(roots.diagnostics.iter().filter(is_new).cloned().map(|report| match runs {
            true if report.is_error() => report.with_note("`main` does not lead here, so `ravel run` does not see it"),
            _ => report,
        }));
        let has_errors = self.has_errors();
        self.suggest_edition(path, &entries);
        self.suggest_modules(path, &entries);
        // A program is explained as it runs; the functions of a module for the types that they are declared with.
        let explained = match has_errors {
            true => Err(Failure::Source),
            false if self.explanation.is_some() => {
                self.optimize(main.unwrap_or(roots).module).and_then(|module| self.nest(&module, false)).map(|_| ())
            }
            // Declared types may hide what calls know.
            false => main.map_or(Ok(()), |look| self.look_at_derivatives(look.module)),
        };
        self.add_costs(program.main.is_some());
        self.finish_reports();
        if let Some(facts) = &mut self.facts {
            facts.program = Some(program);
        }
        explained?;
        if self.has_errors() { Err(Failure::Source) } else { Ok(()) }
    }

    /// Reports what has no derivative although a module asks for it.
    fn look_at_derivatives(&mut self, module: Module) -> Result<(), Failure> {
        let settings = ravel_opt::Settings { level: ravel_opt::Level::None, ..self.settings() };
        let Err(error) = ravel_opt::optimize_with(module, &settings) else { return Ok(()) };
        let Some(report) = crate::passes::no_derivative(&error) else { return Err(crate::passes::failure(error)) };
        self.diagnostics.push(report);
        Err(Failure::Source)
    }

    /// Compiles `main` of a file into the executable `output`.
    ///
    /// # Errors
    /// Those of the stages; the inner result is that of [`crate::link::make`].
    pub fn build(
        &mut self,
        path: &Path,
        output: &Path,
        linking: Linking,
    ) -> Result<Result<Option<&'static str>, LinkError>, Failure> {
        // Better before a long compilation than after it.
        if let Err(refused) = self.check_output(path, output) {
            return Ok(Err(refused.into()));
        }
        let module = self.wir(path)?;
        let module = self.optimize(module)?;
        self.runs_elsewhere = true;
        let nest = self.nest(&module, false)?;
        let objects = self.objects(&nest, ravel_codegen::Purpose::Program { entry: ENTRY })?;
        // By now it is known what else was read.
        if let Err(refused) = self.check_output(path, output) {
            return Ok(Err(refused.into()));
        }
        self.linked(|foreign| crate::link::make(&objects, foreign, output, linking))
    }

    /// Links with what the program's own C functions need.
    ///
    /// # Errors
    /// C code that does not fit the program; the inner result is that of `link`.
    pub(crate) fn linked<T>(
        &mut self,
        link: impl FnOnce(&[OsString]) -> Result<T, LinkError>,
    ) -> Result<Result<T, LinkError>, Failure> {
        let start = std::time::Instant::now();
        let (_folder, foreign) = match self.foreign.link_inputs() {
            Ok(inputs) => inputs,
            Err(reports) => {
                self.diagnostics.extend(reports);
                return Err(Failure::Source);
            }
        };
        let linked = link(&foreign);
        self.times.push(("link", start.elapsed()));
        match linked {
            // With C code of the program's own it is the program that does not fit together.
            Err(LinkError::Failed(words)) if !self.foreign.is_empty() => {
                self.diagnostics.push(self.foreign.blame(&words));
                Err(Failure::Source)
            }
            linked => Ok(linked),
        }
    }
}
