//! Calls from other languages: a function by its name, with arrays and numbers that live outside of the session.
//!
//! A function gets an instance for the element types and the shapes of its arguments. Shapes come and go: the first few that a function is
//! called with have instances of their own, all later ones share one per rank.

pub use super::instances::{Argument, Instances, Number, OWN_INSTANCES};
use super::source::{ModuleText, ROOT, VALUE};
use super::value::{self, Value};
use super::{Reply, Session, USED};
use crate::explain::Explanation;
use crate::files::module_of;
use crate::pipeline::{Compilation, ENTRY, Failure, Options};
use crate::places::Functions;
use ravel_codegen::{Entry as Code, Globals, Word};
use ravel_core::RootSource;
use ravel_core::ir::{ElemTy, Expr, ExprKind, Fun, FunBody, FunId, LocalId, Program, SetId, Stmt};
use ravel_diagnostics::Diagnostic;
use ravel_runtime::abi::ElemTag;
use ravel_runtime::fault::{Report, Running, begin_session};
use ravel_runtime::loan::Loan;
use ravel_runtime::lost::Counts;
use ravel_source::{SourceMap, Span};
use ravel_specialize::Entry;
use ravel_specialize::value::{Kind, ScKind, ShapeKind};
use ravel_types::{Affine, Basic, Scalar};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Why a call gives no values.
#[derive(Debug)]
pub enum CallError {
    /// The program, or the call, is wrong: for people, and one JSON object a line.
    Source {
        text: String,
        json: String,
    },
    /// A run-time fault, and the source at its place.
    Fault {
        report: Box<Report>,
    },
    Interrupted,
    /// Values of such types do not go in or out.
    Unsupported(String),
    Internal(String),
}

/// A compiled instance of a function. Its code stays as long as the process lives.
pub struct Instance {
    pub code: Code,
    /// The types that scalars and numbers are passed as, by argument; nothing for arrays and strings.
    pub scalars: Vec<Option<Basic>>,
    /// Which of the words that it returns are objects.
    pub objects: Vec<bool>,
    pub results: Vec<Form>,
    /// `conv(float[28,28], float[5,5])`, and behind an arrow what it gives.
    pub signature: String,
    /// It gives global objects their first values, and may run once only.
    pub is_first: bool,
    functions: Functions,
    map: SourceMap,
}

/// How a result is put together from words.
#[derive(Clone, Debug)]
pub enum Form {
    /// A scalar, of which the compiler may know the value.
    Scalar(Basic, Option<Scalar>),
    /// A short vector that has no object.
    Vector(Basic, Vec<Option<Scalar>>),
    Array(Basic),
    Text,
}

impl Instance {
    /// Begins to work on the words of its arguments.
    ///
    /// # Errors
    /// [`CallError::Interrupted`], or there is no thread.
    pub fn begin(&self, words: Vec<Word>) -> Result<Running<Vec<Word>>, CallError> {
        let arguments = Counts::before(words.iter().filter_map(Word::object));
        let (code, objects) = (self.code, self.objects.clone());
        begin_session(arguments, move || code.call_owned(words, &objects)).map_err(|report| self.failure(report))
    }

    /// Waits for what was begun; objects that global variables hold stay, whatever happens. Loans among the arguments end with the call.
    ///
    /// # Errors
    /// [`CallError::Fault`], [`CallError::Interrupted`].
    pub fn finish(
        &self,
        running: Running<Vec<Word>>,
        loans: Vec<Loan>,
        globals: Option<&Globals>,
    ) -> Result<Vec<Value>, CallError> {
        let held = &mut || globals.map(Globals::words);
        let outcome = if loans.is_empty() { running.finish(held) } else { running.finish_lent(held) };
        let written = ravel_runtime::stream::finish();
        let may_be_held = || globals.is_none_or(|globals| globals.words().iter().any(|word| *word != 0));
        let loans = match outcome.is_err() && !loans.is_empty() && may_be_held() {
            true => {
                loans.into_iter().for_each(Loan::end_in_doubt);
                Vec::new()
            }
            false => loans,
        };
        let words = outcome.map_err(|report| self.failure(report))?;
        written.map_err(|fault| self.failure(Report::new(None, fault)))?;
        let values = self.values(words);
        // What came back and is lent has elements of its own from here on.
        drop(loans);
        values.ok_or_else(|| CallError::Internal("a call did not return what it should".to_string()))
    }

    /// What came back, from the words that the code returned.
    pub fn values(&self, words: Vec<Word>) -> Option<Vec<Value>> {
        let mut words = words.into_iter();
        self.results.iter().map(|form| form.read(&mut words)).collect()
    }

    /// What a fault of the instance is to its caller.
    pub fn failure(&self, mut report: Report) -> CallError {
        if report.fault.ending == ravel_runtime::fault::Ending::Interrupted {
            return CallError::Interrupted;
        }
        let is_ours = |name: &String| [super::source::FUNCTION, "entry"].contains(&name.as_str());
        report.function = report.function.filter(|name| !is_ours(name));
        CallError::Fault { report: Box::new(self.functions.show(&self.map, report)) }
    }
}

impl Form {
    fn of(kind: &Kind, program: &Program) -> Result<Form, String> {
        let known = |known: &ScKind| match known {
            ScKind::Const(scalar) => Some(*scalar),
            ScKind::Form(_) | ScKind::Any => None,
        };
        Ok(match kind {
            Kind::Sc(basic, scalar) => Form::Scalar(*basic, known(scalar)),
            Kind::Tup(basic, elements) => Form::Vector(*basic, elements.iter().map(known).collect()),
            Kind::Arr(basic, _) => Form::Array(*basic),
            Kind::Handle(id) if program.string_type == Some(*id) => Form::Text,
            // Its representation: `complex` is `double[2]`.
            Kind::Wrapped(_, rep) => Form::of(rep, program)?,
            Kind::Bottom => return Err("no value: it does not return".to_string()),
            Kind::Handle(_) | Kind::Struct(..) => return Err(value::kind_text(kind, program)),
        })
    }

    fn read(&self, words: &mut dyn Iterator<Item = Word>) -> Option<Value> {
        match self {
            Form::Scalar(basic, known) => Some(Value::Scalar(*basic, scalar(*basic, *known, words)?)),
            Form::Vector(basic, elements) => {
                let elements =
                    elements.iter().map(|known| scalar(*basic, *known, words)).collect::<Option<Vec<_>>>()?;
                Some(Value::Array(*basic, value::array(basic.elem(), &[elements.len() as i64], &elements)?))
            }
            Form::Array(basic) => match words.next()? {
                Word::Object(array) if array.view().rank() == 0 => {
                    Some(Value::Scalar(*basic, value::element(basic.elem(), &array, 0)?))
                }
                Word::Object(array) => Some(Value::Array(*basic, array)),
                Word::Bits(_) => None,
            },
            Form::Text => match words.next()? {
                Word::Object(text) => Some(Value::Object(string_name(), text)),
                Word::Bits(_) => None,
            },
        }
    }
}

fn scalar(basic: Basic, known: Option<Scalar>, words: &mut dyn Iterator<Item = Word>) -> Option<Scalar> {
    match (known, words) {
        (Some(scalar), _) => Some(scalar),
        (None, words) => match words.next()? {
            Word::Bits(bits) => Scalar::from_bits(basic.elem(), bits),
            Word::Object(_) => None,
        },
    }
}

fn string_name() -> value::TypeName {
    value::TypeName { module: "String".to_string(), name: "string".to_string() }
}

/// The types that an argument may have, what it is most naturally first; none for strings.
fn candidates(argument: &Argument) -> &'static [Basic] {
    use Basic::{Bool, Byte, Char, Double, Float, Int, Long, Longlong, Short, Ubyte, Uint, Ulong, Ulonglong, Ushort};
    let of_elem = |elem: ElemTag| -> &'static [Basic] {
        match elem {
            ElemTag::Bool => &[Bool],
            ElemTag::Char => &[Char],
            ElemTag::I8 => &[Byte],
            ElemTag::I16 => &[Short],
            ElemTag::I32 => &[Int],
            ElemTag::I64 => &[Long, Longlong],
            ElemTag::U8 => &[Ubyte],
            ElemTag::U16 => &[Ushort],
            ElemTag::U32 => &[Uint],
            ElemTag::U64 => &[Ulong, Ulonglong],
            ElemTag::F32 => &[Float],
            ElemTag::F64 => &[Double],
            ElemTag::Handle => &[],
        }
    };
    match argument {
        Argument::Scalar(elem) | Argument::Array(elem, _) => of_elem(*elem),
        Argument::Number(Number::Truth) => &[Bool],
        Argument::Number(Number::Whole) => {
            &[Int, Long, Double, Float, Longlong, Uint, Ulong, Ulonglong, Short, Ushort, Byte, Ubyte]
        }
        Argument::Number(Number::Long) => &[Long, Longlong, Double, Float, Ulong, Ulonglong, Uint],
        Argument::Number(Number::Real) => &[Double, Float],
        Argument::Text => &[],
    }
}

/// The types that fit a definition best, by argument: what numbers are is for the parameters to say.
fn choose(program: &Program, set: SetId, arguments: &[Argument]) -> Option<Vec<Option<Basic>>> {
    let admits = |fun: &Fun, elem: &ElemTy, basic: Basic| match elem {
        ElemTy::Basic(own) => *own == basic,
        ElemTy::Family(id) => fun.families.get(id.index()).is_some_and(|family| family.members.contains(&basic)),
        ElemTy::User(_) | ElemTy::Struct(_) => false,
    };
    let fit = |fun: &Fun| -> Option<(usize, Vec<Option<Basic>>)> {
        if fun.params.len() != arguments.len() {
            return None;
        }
        let mut distance = 0;
        let mut chosen = Vec::new();
        for (param, argument) in fun.params.iter().zip(arguments) {
            if *argument == Argument::Text {
                chosen.push(None);
                continue;
            }
            let candidates = candidates(argument);
            let at = candidates.iter().position(|basic| admits(fun, &param.ty.elem, *basic))?;
            distance += at;
            chosen.push(Some(candidates[at]));
        }
        Some((distance, chosen))
    };
    let members = program.sets.get(set.index())?.members.iter();
    let fits = members.filter_map(|id| fit(&program.funs[id.index()]));
    fits.min_by_key(|(distance, _)| *distance).map(|(_, chosen)| chosen)
}

/// The call that a function consists of, and the number of its results.
fn only_call(fun: &Fun) -> Option<SetId> {
    let FunBody::Sac { block, .. } = &fun.body else { return None };
    block.iter().find_map(|stmt| match stmt {
        Stmt::Assign { value: Expr { kind: ExprKind::Call { set, .. }, .. }, .. } => Some(*set),
        _ => None,
    })
}

/// Makes the function return what its call gives.
fn return_results(fun: &mut Fun) {
    super::evaluate::keep_results(fun);
    let slots: Vec<LocalId> =
        (0..fun.locals.len() as u32).map(LocalId).filter(|slot| fun.locals[slot.index()].name == VALUE).collect();
    if let FunBody::Sac { returns, .. } = &mut fun.body {
        let local = |slot: &LocalId| Expr { kind: ExprKind::Local(*slot), span: Span::NONE };
        *returns = slots.iter().map(local).collect();
        // One expression could be a call with several results; two are two values.
        let nothing = ExprKind::Const { ty: Basic::Int, value: Scalar::I32(0) };
        returns.push(Expr { kind: nothing, span: Span::NONE });
    }
}

/// A call as the function around an input.
struct Call {
    compilation: Compilation,
    program: Program,
    fun: FunId,
    types: Vec<Option<Basic>>,
}

/// How the file begins that holds a call.
const CALL: &str = "<call of ";

fn is_call(file: &str) -> bool {
    file.starts_with(CALL)
}

/// Whether this can stand in front of the brackets of a call.
fn is_name(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && !word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match text.split_once("::") {
        Some((module, function)) => is_word(module) && is_word(function),
        None => is_word(text),
    }
}

impl Session {
    /// Takes in definitions, under the name that reports have for the text. A former text of that name is replaced.
    ///
    /// # Errors
    /// [`CallError::Source`]; nothing of the text is defined then.
    pub fn define_text(&mut self, name: &str, text: &str) -> Result<(), CallError> {
        self.reported.take();
        if let Some(module) = module_of(text) {
            // It is told apart by this name from others that were given as texts.
            return self.define_module(module, &format!("<{module}>"), text, Some(text.into()));
        }
        let wished = self.follow_wish(text);
        let reply = wished.map_or_else(Reply::Failed, |()| self.begin(name, text, true));
        self.taken_in(reply)
    }

    /// Takes in what a module offers, whose text is that of a file, or one that no file has.
    fn define_module(&mut self, module: &str, file: &str, text: &str, own: Option<Arc<str>>) -> Result<(), CallError> {
        if let Err(why) = self.follow_wish(text) {
            return self.taken_in(Reply::Failed(why));
        }
        // As `ravel check` does: what it offers would be looked at only when it is called.
        let mut compilation = Compilation::new(Options { at_prompt: false, ..self.options.clone() });
        let root = RootSource { name: file.to_string(), text: text.into() };
        let checked = compilation.core_from(root, &mut self.loader());
        let checked = checked.and_then(|program| compilation.specialize(&program, Entry::Roots));
        if let Err(failure) = checked {
            return Err(self.call_failure(&compilation, &failure));
        }
        let former = self.modules.insert(module.to_string(), ModuleText { file: file.to_string(), text: own });
        let reply = self.begin(&format!("<use of {module}>"), &format!("use {module}: all;"), true);
        let taken = self.taken_in(reply);
        if taken.is_err() {
            match former {
                Some(former) => drop(self.modules.insert(module.to_string(), former)),
                None => drop(self.modules.remove(module)),
            }
        }
        taken
    }

    /// The same for a file, whose folder is one of those where modules are searched.
    ///
    /// # Errors
    /// As [`Session::define_text`].
    pub fn define_file(&mut self, path: &Path) -> Result<(), CallError> {
        self.reported.take();
        if let Ok(text) = crate::files::read_text(path)
            && let Some(module) = module_of(&text)
        {
            let file = path.display().to_string();
            let folder = path.parent().filter(|folder| !self.options.folders.iter().any(|known| known == folder));
            self.options.folders.extend(folder.map(Path::to_path_buf));
            return self.define_module(module, &file, &text, None);
        }
        let reply = self.load(path);
        self.taken_in(reply)
    }

    fn taken_in(&mut self, reply: Reply) -> Result<(), CallError> {
        let mut reply = Some(reply);
        while let Some(one) = reply {
            match one {
                Reply::Done { .. } => {}
                Reply::Failed(text) => return Err(CallError::Source { text, json: self.reported.take() }),
                Reply::Interrupted => return Err(CallError::Interrupted),
                Reply::Incomplete => return Err(CallError::Internal("a whole text is incomplete".to_string())),
            }
            reply = self.go_on();
        }
        Ok(())
    }

    /// The reports that were shown last, one JSON object a line; asking forgets them.
    pub fn take_reports(&self) -> String {
        self.reported.take()
    }

    /// Finds or makes the instance of a function for these arguments.
    ///
    /// # Errors
    /// See [`CallError`]; there is no fault, since nothing runs.
    pub fn instance(
        &mut self,
        instances: &std::sync::Mutex<Instances>,
        function: &str,
        arguments: &[Argument],
    ) -> Result<Arc<Instance>, CallError> {
        let lock = || instances.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(found) = lock().find(function, arguments) {
            return Ok(found);
        }
        let is_own = lock().takes_own(function, arguments);
        let instance = Arc::new(self.make(function, arguments, is_own, false)?.0);
        if !instance.is_first {
            lock().insert(function, arguments, instance.clone(), is_own);
        }
        Ok(instance)
    }

    /// What becomes of the with-loops of a call, as `--explain` says it.
    ///
    /// # Errors
    /// As [`Session::instance`].
    pub fn explain_call(&mut self, function: &str, arguments: &[Argument]) -> Result<String, CallError> {
        Ok(self.make(function, arguments, true, true)?.1)
    }

    /// The global variables of what was compiled; nothing where they cannot be found.
    pub fn globals(&mut self) -> Option<Globals> {
        self.jit.globals()
    }

    fn make(
        &mut self,
        function: &str,
        arguments: &[Argument],
        is_own: bool,
        explains: bool,
    ) -> Result<(Instance, String), CallError> {
        self.values_left = true;
        let Call { mut compilation, mut program, fun, types } = self.lower_call(function, arguments)?;
        if explains {
            compilation.explanation = Some(Explanation::default());
        }
        let kinds = self.argument_kinds(&program, arguments, &types, is_own)?;
        let args: Vec<String> = kinds.iter().map(|kind| value::kind_text(kind, &program)).collect();
        return_results(&mut program.funs[fun.index()]);
        let (init_globals, objects) = self.globals_to_initialise(&mut program);
        let entry = Entry::Function { fun, args: kinds, init_globals };
        let results = match self.compile(&mut compilation, &program, entry) {
            Ok((mut results, _)) => {
                // The last one is a constant of ours.
                results.pop();
                results
            }
            Err(failure) => return Err(self.call_failure(&compilation, &failure)),
        };
        let code = self.jit.entry(ENTRY).map_err(|error| CallError::Internal(error.to_string()))?;
        let forms = results.iter().map(|kind| Form::of(kind, &program)).collect::<Result<Vec<_>, _>>();
        let forms = forms
            .map_err(|what| CallError::Unsupported(format!("`{function}` gives {what}, which cannot leave SaC")))?;
        let given: Vec<String> = results.iter().map(|kind| value::kind_text(kind, &program)).collect();
        let signature = format!("{function}({}) -> {}", args.join(", "), given.join(", "));
        let explained = compilation.explained();
        if !explains {
            self.initialised.extend(objects);
        }
        let instance = Instance {
            code,
            scalars: types,
            objects: value::objects(&results),
            results: forms,
            signature,
            is_first: init_globals,
            functions: compilation.functions,
            map: compilation.map,
        };
        Ok((instance, explained))
    }

    /// Takes the initial values from global objects that have theirs; whether others are left, and which.
    fn globals_to_initialise(&self, program: &mut Program) -> (bool, Vec<String>) {
        let mut objects = Vec::new();
        for global in program.globals.iter_mut().filter(|global| global.init.is_some()) {
            let object = format!("{}::{}", global.module, global.name);
            match self.initialised.contains(&object) {
                true => global.init = None,
                false => objects.push(object),
            }
        }
        (!objects.is_empty(), objects)
    }

    fn argument_kinds(
        &self,
        program: &Program,
        arguments: &[Argument],
        types: &[Option<Basic>],
        is_own: bool,
    ) -> Result<Vec<Kind>, CallError> {
        let extent = |n: &i64| i32::try_from(*n).ok().filter(|_| is_own).map(Affine::constant);
        let kind = |(argument, ty): (&Argument, &Option<Basic>)| match (argument, ty, program.string_type) {
            (Argument::Array(_, shape), Some(basic), _) => {
                Ok(Kind::Arr(*basic, ShapeKind::Known(shape.iter().map(extent).collect())))
            }
            (_, Some(basic), _) => Ok(Kind::Sc(*basic, ScKind::Any)),
            (Argument::Text, None, Some(string)) => Ok(Kind::Handle(string)),
            _ => Err(CallError::Unsupported("this type of arrays does not exist in SaC".to_string())),
        };
        arguments.iter().zip(types).map(kind).collect()
    }

    /// The call in a function of its own, with the types that numbers take.
    fn lower_call(&mut self, function: &str, arguments: &[Argument]) -> Result<Call, CallError> {
        if !is_name(function) {
            return Err(CallError::Unsupported(format!("`{function}` is not the name of a function")));
        }
        let first = |argument: &Argument| candidates(argument).first().copied();
        let mut types: Vec<Option<Basic>> = arguments.iter().map(first).collect();
        let mut call = self.wrap_call(function, types.clone())?;
        let set = only_call(&call.program.funs[call.fun.index()]);
        if let Some(chosen) = set.and_then(|set| choose(&call.program, set, arguments))
            && chosen != types
        {
            types = chosen;
            call = self.wrap_call(function, types)?;
        }
        Ok(call)
    }

    fn wrap_call(&mut self, function: &str, types: Vec<Option<Basic>>) -> Result<Call, CallError> {
        // Reports show the arguments by the names that they have inside.
        let known = self.parameter_names(function, types.len());
        let names = known.unwrap_or_else(|| (1..=types.len()).map(|n| format!("argument{n}")).collect());
        let declared = |ty: &Option<Basic>| ty.map_or("string".to_string(), |basic| format!("{basic}[*]"));
        let head: Vec<String> = types.iter().zip(&names).map(|(ty, name)| format!("{} {name}", declared(ty))).collect();
        let mut loader = self.loader();
        let text = format!("{function}({});", names.join(", "));
        let body = loader.function(&head.join(", "), "", &format!("{CALL}{function}>"), &text, "");
        let text = loader.program(USED, &self.chunks, &body);
        let root = RootSource { name: ROOT.to_string(), text: text.into() };
        let mut compilation = Compilation::new(self.options.clone());
        let lowered = compilation.core_from(root, &mut loader);
        let program = lowered.map_err(|failure| self.call_failure(&compilation, &failure))?;
        let fun = program.funs.iter().position(|fun| fun.name == super::source::FUNCTION);
        let fun = fun.ok_or_else(|| CallError::Internal("the call has no function".to_string()))?;
        Ok(Call { compilation, program, fun: FunId(fun as u32), types })
    }

    fn call_failure(&self, compilation: &Compilation, failure: &Failure) -> CallError {
        match failure {
            Failure::Source => {
                let mut errors: Vec<Diagnostic> =
                    compilation.diagnostics.iter().filter(|report| report.is_error()).cloned().collect();
                // Nobody has written the text of the call: what mends it is said in the caller's language, or not at all.
                let is_call = |span: Span| compilation.map.get(span.file).is_some_and(|file| is_call(&file.name));
                for error in errors.iter_mut().filter(|error| is_call(error.span())) {
                    (error.help, error.fixes) = (None, Vec::new());
                }
                self.reported.take();
                let text = self.render(&errors, &compilation.map);
                CallError::Source { text, json: self.reported.take() }
            }
            other => CallError::Internal(other.to_string()),
        }
    }
}

/// The machine word of a number as a type; nothing if the type does not have the number.
pub fn adapt_whole(number: i64, to: Basic) -> Option<u64> {
    match to {
        Basic::Bool => matches!(number, 0 | 1).then_some(number as u64),
        Basic::Float => Some(u64::from((number as f32).to_bits())),
        Basic::Double => Some((number as f64).to_bits()),
        Basic::Ulong | Basic::Ulonglong => u64::try_from(number).ok(),
        _ => Scalar::from_i64(to.elem(), number).filter(|made| made.as_i64() == Some(number)).map(Scalar::bits),
    }
}

/// The same for a real number, which may be rounded.
pub fn adapt_real(number: f64, to: Basic) -> Option<u64> {
    match to {
        Basic::Float => Some(u64::from((number as f32).to_bits())),
        Basic::Double => Some(number.to_bits()),
        _ => None,
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Source { text, .. } => f.write_str(text.trim_end()),
            CallError::Fault { report } => write!(f, "{}", report.to_string().trim_end()),
            CallError::Interrupted => f.write_str("interrupted"),
            CallError::Unsupported(what) => f.write_str(what),
            CallError::Internal(what) => write!(f, "internal error: {what}"),
        }
    }
}

impl std::error::Error for CallError {}
