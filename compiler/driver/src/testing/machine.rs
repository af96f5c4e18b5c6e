//! Functions of a program as something to call: compiled for kinds of arguments, on the backend that is asked for.

use crate::backend::Kind as Place;
use crate::bench::clock::Clock;
use crate::pipeline::{Compilation, Failure};
use crate::places::Functions;
use crate::repl::value::{self, Value};
use ravel_codegen::{Entry as Code, Word};
use ravel_core::ir::{FunId, Program};
use ravel_diagnostics::Diagnostic;
use ravel_interp::{Arr, Data, RunError, Val};
use ravel_runtime::abi::ElemTag;
use ravel_runtime::array::Array;
use ravel_runtime::fault::{Ending, Report, run_session};
use ravel_specialize::Entry;
use ravel_specialize::value::Kind;
use ravel_types::Elem;
use ravel_wir::Module;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A file in core, and what compiles its functions.
pub struct Machine {
    pub compilation: Compilation,
    pub program: Program,
    /// The file itself, among those that it uses.
    pub file: ravel_source::FileId,
}

/// A function that can be called.
pub struct Compiled {
    kinds: Vec<Kind>,
    code: Ready,
    functions: Functions,
}

#[derive(Clone)]
enum Ready {
    Native(Code),
    Interpreted(Arc<Module>),
}

/// What came of a call.
#[derive(Debug)]
pub enum Called {
    Returned(Vec<Value>),
    Fault(Report),
    /// The program called `exit`.
    Exit(i32),
    /// It could not be run.
    Impossible(String),
}

/// Why there is nothing to call.
#[derive(Debug)]
pub enum Refused {
    /// The source is wrong.
    Source(Vec<Diagnostic>),
    Other(String),
}

impl Machine {
    /// Reads a file; `note` hears what was read for it.
    ///
    /// # Errors
    /// What is wrong with it, as text.
    pub fn open(options: crate::Options, path: &Path, note: fn(&Compilation)) -> Result<Machine, String> {
        let mut compilation = Compilation::new(options);
        let lowered = compilation.core(path);
        note(&compilation);
        let program = lowered.map_err(|failure| match failure {
            Failure::Source => {
                compilation.finish_reports();
                shown(&compilation, &compilation.diagnostics)
            }
            other => format!("{other}\n"),
        })?;
        compilation.diagnostics.clear();
        let name = path.display().to_string();
        let file = compilation.map.files().find(|(_, file)| file.name == name).map(|(id, _)| id);
        let file = file.ok_or_else(|| format!("{name} is not among the files that were read\n"))?;
        Ok(Machine { compilation, program, file })
    }

    /// Compiles a function for kinds of arguments.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn compile(&mut self, fun: FunId, args: Vec<Kind>) -> Result<Compiled, Refused> {
        self.compile_and(fun, args, &mut |_| {})
    }

    /// The same; `look` sees the optimised module, if there is one.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn compile_and(
        &mut self,
        fun: FunId,
        args: Vec<Kind>,
        look: &mut dyn FnMut(&Module),
    ) -> Result<Compiled, Refused> {
        let entry = Entry::Function { fun, args, init_globals: true };
        let made = self.make(entry, look);
        let reports = std::mem::take(&mut self.compilation.diagnostics);
        made.map_err(|failure| match failure {
            Failure::Source => Refused::Source(reports.into_iter().filter(Diagnostic::is_error).collect()),
            other => Refused::Other(other.to_string()),
        })
    }

    fn make(&mut self, entry: Entry, look: &mut dyn FnMut(&Module)) -> Result<Compiled, Failure> {
        let compilation = &mut self.compilation;
        let specialized = compilation.specialize(&self.program, entry)?;
        let kinds = specialized.results;
        compilation.load_foreign()?;
        let code = match compilation.options.backend.kind() {
            Place::Interpreter => Ready::Interpreted(Arc::new(specialized.module)),
            _ => {
                let module = compilation.optimize(specialized.module)?;
                look(&module);
                let nest = compilation.nest(&module, false)?;
                Ready::Native(compilation.jit(&nest)?)
            }
        };
        Ok(Compiled { kinds, code, functions: compilation.functions.clone() })
    }

    /// Calls a function; the values of its results, as far as there are any.
    pub fn call(&self, compiled: &Compiled, args: &[Value]) -> Called {
        let mut words = Vec::new();
        args.iter().for_each(|value| value.words(&mut words));
        let objects = value::objects(&compiled.kinds);
        let call = self.caller(compiled);
        match run_session(move || call(words, &objects)) {
            Ok(Ok(words)) => {
                let mut words = words.into_iter();
                let values = compiled.kinds.iter().map_while(|kind| value::read(kind, &self.program, &mut words));
                Called::Returned(values.collect())
            }
            Ok(Err(called)) => called,
            Err(report) => Called::Fault(report),
        }
    }

    /// Calls a function again and again with the same arguments, which it cannot take over; the time of all calls.
    ///
    /// # Errors
    /// What else came of it.
    pub fn call_often(&self, compiled: &Compiled, args: &[Value], calls: usize) -> Result<Duration, Called> {
        let args = args.to_vec();
        let objects = value::objects(&compiled.kinds);
        let call = self.caller(compiled);
        let outcome = run_session(move || {
            let clock = Clock::start();
            for _ in 0..calls {
                let mut words = Vec::with_capacity(args.len());
                args.iter().for_each(|value| value.words(&mut words));
                drop(call(words, &objects)?);
            }
            Ok(clock.elapsed())
        });
        outcome.map_err(Called::Fault)?
    }

    /// What calls a function, on any thread.
    fn caller(&self, compiled: &Compiled) -> impl Fn(Vec<Word>, &[bool]) -> Result<Vec<Word>, Called> + Send + 'static {
        let code = compiled.code.clone();
        let (functions, map) = (compiled.functions.clone(), self.compilation.map.clone());
        move |words, objects| match &code {
            Ready::Native(code) => Ok(code.call_owned(words, objects)),
            Ready::Interpreted(module) => interpret(module, &functions, &map, words),
        }
    }

    /// What a fault says: its place, its message, and the line of source.
    pub fn fault_text(&self, compiled: &Compiled, report: &Report) -> String {
        let report = compiled.functions.show(&self.compilation.map, report.clone());
        let place = report.position.as_ref().map_or(String::new(), |place| format!("{place}: "));
        format!("{place}{}\n{}", report.fault.message.trim_end(), report.excerpt())
    }

    /// What is wrong with a function, as text.
    pub fn refusal_text(&self, refused: &Refused) -> String {
        match refused {
            Refused::Source(reports) => shown(&self.compilation, reports),
            Refused::Other(why) => format!("{why}\n"),
        }
    }
}

fn shown(compilation: &Compilation, reports: &[Diagnostic]) -> String {
    let errors: Vec<Diagnostic> = reports.iter().filter(|report| report.is_error()).cloned().collect();
    ravel_diagnostics::render(&errors, &compilation.map, ravel_diagnostics::Format::Human, false)
}

/// Runs the entry of a module in the interpreter.
fn interpret(
    module: &Arc<Module>,
    functions: &Functions,
    map: &ravel_source::SourceMap,
    words: Vec<Word>,
) -> Result<Vec<Word>, Called> {
    let entry = module.entry.ok_or_else(|| Called::Impossible("there is nothing to call".to_string()))?;
    let func = &module.funcs[entry];
    let params = &func.regions[func.body].params;
    let types: Vec<Elem> = params.iter().map(|param| func.ty(*param).elem).collect();
    let args = words.iter().zip(&types).map(|(word, elem)| to_interpreter(word, *elem)).collect::<Option<Vec<Val>>>();
    let args = args.ok_or_else(|| Called::Impossible("the interpreter does not take these arguments".to_string()))?;
    let outcome = ravel_interp::run_func(module, ravel_runtime::natives::table::find, entry, args);
    let values = outcome.map_err(|error| match error {
        RunError::Fault(report) => match report.fault.ending {
            Ending::Exit { status } => Called::Exit(status),
            _ => {
                let place = functions.place(map, report.span, &report.function);
                Called::Fault(Report::new(Some(&place), report.fault))
            }
        },
        RunError::NoSuchNative { symbol, .. } => {
            Called::Impossible(format!("the foreign function `{symbol}` is not part of the runtime"))
        }
        RunError::Internal { function, problem, .. } => {
            Called::Impossible(format!("the interpreter found a fault of the compiler: {problem} in {function}"))
        }
        RunError::NoThread(why) => Called::Impossible(why),
    })?;
    let words = values.iter().map(from_interpreter).collect::<Option<Vec<Word>>>();
    words.ok_or_else(|| Called::Impossible("there is no memory for the results".to_string()))
}

fn to_interpreter(word: &Word, elem: Elem) -> Option<Val> {
    Some(match word {
        Word::Bits(bits) => Val::Scalar(ravel_types::Scalar::from_bits(elem, *bits)?),
        Word::Object(object) if elem == Elem::Handle => Val::Handle(Some(object.clone())),
        Word::Object(array) => {
            let view = array.view();
            let data = Data::Bytes(bytes_of(array)?);
            Val::Array(Arc::new(Arr::new(elem, view.shape().to_vec(), data)))
        }
    })
}

/// The elements in the byte order of the machine.
fn bytes_of(array: &Array) -> Option<Vec<u8>> {
    let view = array.view();
    macro_rules! bytes {
        ($ty:ty) => {
            view.as_slice::<$ty>()?.iter().flat_map(|element| element.to_ne_bytes()).collect()
        };
    }
    Some(match view.elem() {
        ElemTag::Bool | ElemTag::Char | ElemTag::U8 => view.as_slice::<u8>()?.to_vec(),
        ElemTag::I8 => bytes!(i8),
        ElemTag::I16 => bytes!(i16),
        ElemTag::I32 => bytes!(i32),
        ElemTag::I64 => bytes!(i64),
        ElemTag::U16 => bytes!(u16),
        ElemTag::U32 => bytes!(u32),
        ElemTag::U64 => bytes!(u64),
        ElemTag::F32 => bytes!(f32),
        ElemTag::F64 => bytes!(f64),
        _ => return None,
    })
}

fn from_interpreter(value: &Val) -> Option<Word> {
    Some(match value {
        Val::Scalar(scalar) => Word::Bits(scalar.bits()),
        Val::Handle(Some(object)) => Word::Object(object.clone()),
        Val::Handle(None) => Word::Bits(0),
        Val::Array(array) => {
            let Data::Bytes(bytes) = &array.data else { return None };
            let elements = bytes.chunks_exact(array.elem.bytes().max(1)).map(|bytes| {
                let bits = match bytes {
                    [a] => u64::from(*a),
                    [a, b] => u64::from(u16::from_ne_bytes([*a, *b])),
                    [a, b, c, d] => u64::from(u32::from_ne_bytes([*a, *b, *c, *d])),
                    _ => u64::from_ne_bytes(bytes.try_into().ok()?),
                };
                ravel_types::Scalar::from_bits(array.elem, bits)
            });
            Word::Object(value::array(array.elem, &array.shape, &elements.collect::<Option<Vec<_>>>()?)?)
        }
    })
}
