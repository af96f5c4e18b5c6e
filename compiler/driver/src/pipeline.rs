//! From a file to a compiled program, stage by stage, with times.

use crate::backend::{Backend, Kind};
use crate::caches;
use crate::edition::{Edition, wish};
use crate::explain::{Explanation, placement};
use crate::facts::Gathered;
use crate::files::{FileLoader, is_library, is_replaced};
use crate::foreign::Foreign;
use crate::perf_map::Symbols;
use crate::places::Functions;
use crate::suggest::{together, with_effect, with_uses};
use crate::tuned::Tuned;
use ravel_codegen::{EmitError, Entry as CompiledEntry, Purpose};
use ravel_core::RootSource;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_nest::ir as nest;
use ravel_source::{SourceMap, Span};
use ravel_specialize::Entry;
use ravel_wir::Module;
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use crate::options::Options;

/// Why a compilation ended without a program.
#[derive(Debug)]
pub enum Failure {
    /// The source is wrong; the diagnostics say how.
    Source,
    /// The root file cannot be read.
    Unreadable { path: PathBuf, why: String },
    /// The program is valid, but a stage cannot compile it.
    Unsupported { position: String, what: String },
    /// A bug in Ravel.
    Internal { stage: &'static str, what: String },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Source => write!(f, "the source has errors"),
            Failure::Unreadable { path, why } => write!(f, "cannot read {}: {why}", path.display()),
            Failure::Unsupported { position, what } => {
                write!(f, "{position}: not supported: {what}")
            }
            Failure::Internal { stage, what } => write!(
                f,
                "internal error in {stage}: {what}\nThis is a bug in Ravel; please report it with the program."
            ),
        }
    }
}

impl std::error::Error for Failure {}

/// A file on its way through the stages. The source map and everything said about the source outlive a failure.
pub struct Compilation {
    pub options: Options,
    pub map: SourceMap,
    /// The edition of the library that the program has.
    edition: Edition,
    pub diagnostics: Vec<Diagnostic>,
    /// Names for the places of faults.
    pub functions: Functions,
    /// The code is to run where the source is not at hand.
    pub(crate) runs_elsewhere: bool,
    /// Duration of each stage that ran, in order.
    pub times: Vec<(&'static str, Duration)>,
    /// WIR functions made.
    pub instances: usize,
    /// With-loops before and after optimisation.
    pub with_loops: (usize, usize),
    /// What became of the with-loops, for those who ask before they compile.
    pub explanation: Option<Explanation>,
    /// The program's own C functions.
    pub foreign: Foreign,
    /// What names mean and expressions are, for those who ask before they compile.
    pub facts: Option<Gathered>,
    /// What a profile can name, by number.
    pub sites: Arc<ravel_schedule::Sites>,
    /// What `perf` shows for functions.
    pub(crate) symbols: Symbols,
    /// What functions take and give, for a trace.
    pub signatures: crate::trace::Signatures,
    /// Where derivatives are taken that are compared with differences.
    pub checked_gradients: Vec<Span>,
}

impl Compilation {
    pub fn new(options: Options) -> Compilation {
        Compilation {
            edition: options.edition.unwrap_or_default(),
            options,
            map: SourceMap::default(),
            diagnostics: Vec::new(),
            functions: Functions::default(),
            runs_elsewhere: false,
            times: Vec::new(),
            instances: 0,
            with_loops: (0, 0),
            explanation: None,
            foreign: Foreign::default(),
            facts: None,
            sites: Arc::default(),
            symbols: Symbols::default(),
            signatures: crate::trace::Signatures::default(),
            checked_gradients: Vec::new(),
        }
    }

    fn timed<T>(&mut self, stage: &'static str, work: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        let result = work(self);
        self.times.push((stage, start.elapsed()));
        result
    }

    fn core_options(&self) -> ravel_core::Options {
        let at_prompt = self.options.at_prompt;
        // The lines of the root file are those that every session begins with.
        let (macros, lints) = (self.options.macros.clone(), self.options.lints.clone());
        let Options { library, check_gradients, .. } = self.options;
        ravel_core::Options { macros, at_prompt, background_uses: at_prompt, lints, library, check_gradients }
    }

    /// By file, as these were read, then position.
    fn sort_diagnostics(&mut self) {
        self.diagnostics.sort_by_key(|report| self.map.position(report.span()));
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The syntax tree of a file, as text that parses back to it.
    ///
    /// # Errors
    /// [`Failure::Unreadable`], [`Failure::Source`].
    pub fn ast(&mut self, path: &Path) -> Result<String, Failure> {
        let text = self.text(path)?;
        let file = self.ast_of_text(&path.display().to_string(), text)?;
        Ok(ravel_syntax::print_file(&file))
    }

    /// The syntax tree of a text.
    ///
    /// # Errors
    /// [`Failure::Source`].
    pub fn ast_of_text(&mut self, name: &str, text: Arc<str>) -> Result<Arc<ravel_syntax::ast::File>, Failure> {
        let file = self.timed("front end", |this| {
            let mut loader = this.loader(&text);
            let options = this.core_options();
            let root = RootSource { name: name.to_string(), text };
            let workspace = this.options.workspace.clone();
            let (file, reports) =
                workspace.with(&mut this.map, |map, kept| ravel_core::parse(root, &mut loader, &options, map, kept));
            this.diagnostics.extend(reports.into_sorted(&this.map));
            this.judge_editions(&loader);
            file
        });
        if self.has_errors() { Err(Failure::Source) } else { Ok(file) }
    }

    /// Reads a file, its modules, and lowers everything it reaches to core.
    ///
    /// # Errors
    /// [`Failure::Unreadable`], [`Failure::Source`].
    pub fn core(&mut self, path: &Path) -> Result<ravel_core::ir::Program, Failure> {
        let text = self.text(path)?;
        self.core_of_text(&path.display().to_string(), text)
    }

    /// The same for a text; modules are searched beside the file that `name` says.
    ///
    /// # Errors
    /// [`Failure::Source`].
    pub fn core_of_text(&mut self, name: &str, text: Arc<str>) -> Result<ravel_core::ir::Program, Failure> {
        let mut loader = self.loader(&text);
        let root = RootSource { name: name.to_string(), text };
        let program = self.core_from(root, &mut loader);
        self.judge_editions(&loader);
        program
    }

    /// The same with another access to files.
    ///
    /// # Errors
    /// [`Failure::Source`].
    pub fn core_from(
        &mut self,
        root: RootSource,
        loader: &mut dyn ravel_core::Loader,
    ) -> Result<ravel_core::ir::Program, Failure> {
        let program = self.load(root, loader);
        if self.has_errors() { Err(Failure::Source) } else { Ok(program) }
    }

    /// A file as core, with holes where it is wrong: what is left is specialised for the errors in it, so that one run
    /// reports everything.
    ///
    /// # Errors
    /// [`Failure::Unreadable`].
    pub fn core_with_holes(&mut self, path: &Path) -> Result<ravel_core::ir::Program, Failure> {
        let text = self.text(path)?;
        Ok(self.core_of_text_with_holes(&path.display().to_string(), text))
    }

    /// The same for a text.
    pub(crate) fn core_of_text_with_holes(&mut self, name: &str, text: Arc<str>) -> ravel_core::ir::Program {
        let mut loader = self.loader(&text);
        let root = RootSource { name: name.to_string(), text };
        let program = self.load(root, &mut loader);
        self.judge_editions(&loader);
        program
    }

    /// File access for a program, with the library that the options or its head ask for.
    fn loader(&self, text: &str) -> FileLoader {
        FileLoader::new(self.options.folders.clone(), self.edition_of(text)).with_texts(self.options.texts.clone())
    }

    fn text(&self, path: &Path) -> Result<Arc<str>, Failure> {
        self.options.texts.read(path).map_err(|why| Failure::Unreadable { path: path.to_path_buf(), why })
    }

    pub(crate) fn edition_of(&self, text: &str) -> Edition {
        let asked = || wish(text).and_then(|wish| wish.edition.ok());
        self.options.edition.or_else(asked).unwrap_or_default()
    }

    /// Reports a head that asks for a library which does not exist, and modules that ask for another one than the program has.
    fn judge_editions(&mut self, loader: &FileLoader) {
        self.edition = loader.edition();
        for (at, (id, file)) in self.map.files().enumerate() {
            let is_root = at == 0;
            if !is_root && !loader.strangers().contains(&file.name) {
                continue;
            }
            let Some(wish) = wish(&file.text) else { continue };
            let span = Span::new(id, wish.line.start, wish.line.end);
            match wish.edition {
                Err(why) => self.diagnostics.push(
                    Diagnostic::error(Code::UnknownEdition, why)
                        .at(span, "asked for here")
                        .with_help("without the line the program has the current library"),
                ),
                Ok(edition) if !is_root => self.diagnostics.push(
                    Diagnostic::warning(
                        Code::EditionsDiffer,
                        format!("this module asks for the library of {}, the program has another", edition.name()),
                    )
                    .at(span, "the program decides")
                    .with_help(format!("add the line to the program, or `--stdlib {}`", edition.name())),
                ),
                Ok(_) => {}
            }
        }
    }

    fn load(&mut self, root: RootSource, loader: &mut dyn ravel_core::Loader) -> ravel_core::ir::Program {
        self.timed("front end", |this| {
            let options = this.core_options();
            let workspace = this.options.workspace.clone();
            let mut facts = this.facts.take();
            let (program, reports) = workspace.with(&mut this.map, |map, kept| {
                ravel_core::load(root, loader, &options, map, kept, facts.as_mut().map(|facts| &mut facts.names))
            });
            this.facts = facts;
            this.checked_gradients.clone_from(&program.checked_gradients);
            this.diagnostics.extend(together(reports.into_sorted(&this.map)));
            program
        })
    }

    /// Specialises a program.
    ///
    /// # Errors
    /// [`Failure::Source`].
    pub fn specialize(
        &mut self,
        program: &ravel_core::ir::Program,
        entry: Entry,
    ) -> Result<ravel_specialize::Specialized, Failure> {
        let mut looks = self.specialize_all(program, vec![entry]);
        let result = looks.pop().expect("one entry has one outcome");
        self.diagnostics.extend(result.diagnostics.iter().cloned());
        if self.has_errors() { Err(Failure::Source) } else { Ok(result) }
    }

    /// Specialises a program for several entries, which share work; what is reported is in the outcomes, in the order of the entries.
    pub(crate) fn specialize_all(
        &mut self,
        program: &ravel_core::ir::Program,
        entries: Vec<Entry>,
    ) -> Vec<ravel_specialize::Specialized> {
        self.functions = Functions::of(program);
        let mut results = self.timed("specialize", |this| {
            let map = &this.map;
            let library = |file| map.get(file).is_some_and(|f| is_library(&f.name));
            let older = Edition::Until2024;
            let is_replaced = |file, function: &str| {
                this.edition == Edition::Current && map.get(file).is_some_and(|f| is_replaced(older, &f.name, function))
            };
            let remark = |file, function: &str| {
                let name = older.name();
                is_replaced(file, function)
                    .then(|| format!("the library of {name} has another `{function}`: `--stdlib {name}`"))
            };
            let options = ravel_specialize::Options {
                map,
                is_library: &library,
                check_patterns: this.options.check_patterns,
                keep_nan: this.options.check_nan,
                signatures: this.options.trace.calls,
                candidates: this.options.candidates,
                condition_remark: &remark,
                facts: this.facts.is_some(),
            };
            ravel_specialize::specialize_all(program, entries, &options)
        });
        if let (Some(facts), Some(look)) = (&mut self.facts, results.last_mut()) {
            facts.values = look.facts.take().unwrap_or_default();
        }
        if let Some(look) = results.last_mut() {
            self.functions.note(program, std::mem::take(&mut look.places));
        }
        for result in &results {
            self.foreign = Foreign::of(program, &result.module, &self.map);
            self.instances = result.instances;
            if let Some(explanation) = &mut self.explanation {
                explanation.fold_loops(&result.fold_loops);
            }
            self.with_loops.0 = ravel_opt::stats(&result.module).withs;
        }
        results
    }

    /// `main` of a file as WIR.
    ///
    /// # Errors
    /// As the stages; a program without `main` is an error of the source.
    pub fn wir(&mut self, path: &Path) -> Result<Module, Failure> {
        let program = self.core_with_holes(path)?;
        if program.main.is_none() && self.has_errors() {
            self.suggest_edition(path, &[Entry::Main, Entry::Roots]);
            self.finish_reports();
            return Err(Failure::Source);
        }
        if program.main.is_none() {
            let file = self.map.files().next().map(|(id, _)| id);
            let span = file.map_or(Span::NONE, |id| Span::new(id, 0, 0));
            self.diagnostics.push(
                Diagnostic::error(Code::NoMain, "a program needs a function `int main()`")
                    .at(span, "this file defines no `main`")
                    .with_help("add `int main() { ... return 0; }`, or use `ravel check` for modules"),
            );
            return Err(Failure::Source);
        }
        let specialized = self.specialize(&program, Entry::Main);
        self.suggest_edition(path, &[Entry::Main]);
        self.suggest_modules(path, &[Entry::Main]);
        self.options.workspace.free_if_alone();
        self.finish_reports();
        let specialized = specialized?;
        self.signatures = specialized.signatures;
        let mut module = specialized.module;
        if self.options.check_nan {
            ravel_opt::check_nan(&mut module, Code::NanMade.text());
        }
        // A warning that is denied is found here.
        if self.has_errors() { Err(Failure::Source) } else { Ok(module) }
    }

    /// Brings what was reported into the order of the source, with the edits that mend it and the warnings that are wanted.
    pub(crate) fn finish_reports(&mut self) {
        self.settle_warnings();
        with_uses(&mut self.diagnostics, &self.map);
        with_effect(&mut self.diagnostics, &self.map);
        self.sort_diagnostics();
    }

    /// Loads the program's own C functions into this process.
    ///
    /// # Errors
    /// [`Failure::Source`]: a pragma names what is not there, or does not fit.
    pub fn load_foreign(&mut self) -> Result<(), Failure> {
        if self.foreign.is_empty() {
            return Ok(());
        }
        let loaded = self.timed("C functions", |this| this.foreign.load());
        loaded.map_err(|reports| {
            self.diagnostics.extend(reports);
            Failure::Source
        })
    }

    /// Optimises.
    ///
    /// # Errors
    /// [`Failure::Internal`] if a pass broke the IR (debug builds look); [`Failure::Unsupported`] for an unknown pass to leave out.
    pub fn optimize(&mut self, module: Module) -> Result<Module, Failure> {
        let settings = self.settings();
        if let Some(explanation) = &mut self.explanation {
            explanation.made(&module);
        }
        let optimized = self.timed("optimize", |_| ravel_opt::optimize_with(module, &settings));
        let (module, remarks) = match optimized {
            Ok(done) => done,
            Err(error) => {
                let Some(report) = crate::passes::no_derivative(&error) else {
                    return Err(crate::passes::failure(error));
                };
                self.diagnostics.push(report);
                return Err(Failure::Source);
            }
        };
        self.with_loops.1 = ravel_opt::stats(&module).withs;
        if let Some(explanation) = &mut self.explanation {
            explanation.optimized(&module, remarks);
        }
        Ok(module)
    }

    pub(crate) fn settings(&self) -> ravel_opt::Settings {
        ravel_opt::Settings {
            level: self.options.level,
            for_device: self.options.backend.device().is_some(),
            verify: self.options.verify,
            without: self.options.without.clone(),
        }
    }

    /// What became of the with-loops; empty unless [`Compilation::explanation`] was there from the start.
    pub fn explained(&self) -> String {
        self.explanation.as_ref().map_or(String::new(), |e| e.render(&self.map, &self.functions))
    }

    /// Schedules for the backend of the options on this machine.
    ///
    /// # Errors
    /// [`Failure::Unsupported`].
    pub fn nest(&mut self, module: &Module, session: bool) -> Result<nest::Module, Failure> {
        let target = self
            .options
            .backend
            .capabilities()
            .map_err(|e| Failure::Internal { stage: "the target description", what: e.to_string() })?;
        let scheduled = self.timed("schedule", |this| {
            let tuned = Tuned::of(this.options.backend);
            this.with_schedule_options(session, |options| {
                ravel_schedule::schedule_tuned(module, &target, options, &|key| tuned.tiles(key))
            })
        });
        self.note_symbols(module);
        if let (Ok((_, remarks)), Some(explanation)) = (&scheduled, &mut self.explanation) {
            let mut target = words(self.options.backend, &target);
            if self.options.backend.device().is_some() {
                target = format!("{target}\n{}", placement(self.options.launch_work));
            }
            explanation.scheduled(target, module, remarks);
        }
        match scheduled.map(|(nest, _)| self.simplified(nest)) {
            Ok(mut nest) => match ravel_codegen::check_externs(&nest).first() {
                None => {
                    crate::recursion::name_recursion(&mut nest, ENTRY, |name| self.functions.place_of(&self.map, name));
                    Ok(nest)
                }
                Some(mismatch) => {
                    Err(Failure::Unsupported { position: "foreign function".to_string(), what: mismatch.to_string() })
                }
            },
            Err(e) => Err(Failure::Unsupported { position: self.map.describe(e.span), what: e.what }),
        }
    }

    /// What the scheduler may count on.
    pub(crate) fn with_schedule_options<T>(
        &self,
        session: bool,
        run: impl FnOnce(&ravel_schedule::Options<'_>) -> T,
    ) -> T {
        let position = |span, function: &str| match self.runs_elsewhere {
            true => self.functions.place_with_source(&self.map, span, function),
            false => self.functions.place(&self.map, span, function),
        };
        run(&ravel_schedule::Options {
            unchecked: self.options.unchecked,
            lent: self.options.lent,
            parallel: true,
            ranks: self.options.ranks,
            large_result: caches::largest()
                .map_or(ravel_schedule::LARGE_RESULT, |bytes| bytes.max(ravel_schedule::LARGE_RESULT)),
            device: (self.options.backend.device())
                .map(|_| ravel_schedule::Device { launch_work: self.options.launch_work }),
            profile: self.options.profile.then_some(&*self.sites),
            entry_name: ENTRY.to_string(),
            release_globals: !session,
            position: &position,
        })
    }

    /// Takes out what lowering repeats: 2 % of the instructions of the CNN, 40 % of a stencil's, for 3 % of the compile time. Then loads
    /// what lanes gather together.
    fn simplified(&mut self, mut nest: nest::Module) -> nest::Module {
        self.timed("simplify", |_| {
            ravel_nest::simplify::simplify_module(&mut nest);
            ravel_nest::transpose::transpose_gathers(&mut nest);
        });
        if self.options.widen_counts {
            ravel_schedule::widen_counts(&mut nest);
        }
        nest
    }

    /// Separates what runs on a device from what runs on the host.
    ///
    /// # Errors
    /// [`Failure::Internal`] if the scheduler launches what devices cannot do.
    pub(crate) fn cut_kernels<'m>(&mut self, module: &'m nest::Module) -> Result<Cow<'m, nest::Module>, Failure> {
        let backend = self.options.backend;
        let Some(device) = backend.device() else { return Ok(Cow::Borrowed(module)) };
        let mut host = module.clone();
        let required = backend.kind() != Kind::AnyDevice;
        self.timed("generate kernels", |_| device.cut(&mut host, ENTRY, required)).map_err(code_failure)?;
        Ok(Cow::Owned(host))
    }

    /// Compiles into this process.
    ///
    /// # Errors
    /// [`Failure::Internal`].
    pub fn jit(&mut self, module: &nest::Module) -> Result<CompiledEntry, Failure> {
        let backend = self.options.backend;
        let module = &self.cut_kernels(module)?;
        let (entry, code) = self.timed("generate code", |_| backend.jit(module, ENTRY)).map_err(code_failure)?;
        self.write_perf_map(code)?;
        Ok(entry)
    }

    /// Compiles to object files of a program or a library.
    ///
    /// # Errors
    /// [`Failure::Internal`].
    pub fn objects(&mut self, module: &nest::Module, purpose: Purpose<'_>) -> Result<Vec<Vec<u8>>, Failure> {
        let backend = self.options.backend;
        let module = &self.cut_kernels(module)?;
        self.timed("generate code", |_| backend.objects(module, purpose)).map_err(code_failure)
    }
}

/// A target, for people.
fn words(backend: Backend, target: &ravel_schedule::Capabilities) -> String {
    let fma = if target.has_fma { ", fused multiply-add" } else { "" };
    format!(
        "{}, vectors of {} bits, {} vector registers{fma}",
        backend.title(),
        8 * target.vector_bytes,
        target.vector_registers
    )
}

/// A backend refused what the stages before it made.
pub(crate) fn code_failure(error: EmitError) -> Failure {
    match error {
        // The program is at fault for naming it; that is no bug.
        EmitError::UnknownSymbol { name } => Failure::Unsupported {
            position: "foreign function".to_string(),
            what: format!("`{name}` is not part of the runtime"),
        },
        kernel @ EmitError::Kernel { .. } => Failure::Internal { stage: "kernel generation", what: kernel.to_string() },
        other => Failure::Internal { stage: "code generation", what: other.to_string() },
    }
}

/// Symbol of the compiled entry function.
pub const ENTRY: &str = "ravel_entry";
