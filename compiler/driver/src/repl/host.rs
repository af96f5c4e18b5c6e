//! A session on a thread of its own, for callers on many threads who do not want to wait without end.
//!
//! That thread compiles. A call whose instance exists need not go there: if nobody uses the session, the caller hands the compiled code to a
//! standing thread of the runtime himself.

use super::Session;
use super::call::{Argument, CallError, Instance, Instances, Number, adapt_real, adapt_whole};
use super::turn::Turn;
use super::value::Value;
use crate::files::FileLoader;
use crate::pipeline::Options;
use ravel_codegen::{Globals, Word};
use ravel_runtime::abi::ElemTag;
use ravel_runtime::array::Array;
use ravel_runtime::fault::Running;
use ravel_runtime::interrupter::Interrupter;
use ravel_runtime::loan::Loan;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const _: () = assert!(
    ravel_schedule::LENT_REACH == ravel_runtime::abi::LENT_REACH as i64,
    "the scheduler keeps what lenders are told"
);

/// Stack of the thread: specialisation recurses with the program.
const STACK: usize = 1 << 30;

/// How long callers and the thread look for each other before they sleep.
const ATTENTIVE: Duration = Duration::from_micros(20);

/// An argument of a call.
#[derive(Debug)]
pub enum Given {
    Scalar(ElemTag, u64),
    Truth(bool),
    Whole(i64),
    Real(f64),
    Array(Array),
    Text(Array),
    /// An array whose elements are the caller's again when the answer is there.
    Lent(Loan),
}

impl Given {
    fn argument(&self) -> Argument {
        match self {
            Given::Scalar(elem, _) => Argument::Scalar(*elem),
            Given::Truth(_) => Argument::Number(Number::Truth),
            Given::Whole(number) if i32::try_from(*number).is_ok() => Argument::Number(Number::Whole),
            Given::Whole(_) => Argument::Number(Number::Long),
            Given::Real(_) => Argument::Number(Number::Real),
            Given::Array(array) => array_argument(array),
            Given::Lent(loan) => array_argument(&loan.array()),
            Given::Text(_) => Argument::Text,
        }
    }
}

fn array_argument(array: &Array) -> Argument {
    Argument::Array(array.view().elem(), array.view().shape().to_vec())
}

/// What a session can be asked for.
#[derive(Debug)]
pub enum Request {
    /// Definitions, under the name that reports have for them.
    Define {
        name: String,
        text: String,
    },
    /// The definitions of a file.
    Load(PathBuf),
    Call {
        function: String,
        arguments: Vec<Given>,
    },
    /// What becomes of the with-loops of a call.
    Explain {
        function: String,
        arguments: Vec<Given>,
    },
    /// The names of all functions that were defined, one a line.
    Functions,
    /// The heads of the own functions, or of those that a name means, one JSON object a line.
    Heads(Option<String>),
}

/// What it answers.
#[derive(Debug)]
pub enum Answer {
    Done,
    Values(Vec<Value>),
    Text(String),
}

/// A request under way.
struct Job {
    number: u64,
    request: Request,
    is_cancelled: Arc<AtomicBool>,
    answer: Sender<Result<Answer, CallError>>,
}

/// What callers and the thread share.
#[derive(Default)]
struct Shared {
    turn: Turn,
    instances: Mutex<Instances>,
    /// The global variables, once something was compiled and if they can be found.
    globals: Mutex<Option<Globals>>,
    interrupter: Interrupter,
    /// The job that is being worked on.
    current: AtomicU64,
    next: AtomicU64,
}

/// The session. The thread ends when the last handle and the last pending request are gone.
pub struct Host {
    jobs: Sender<Job>,
    shared: Arc<Shared>,
    process: u32,
}

/// The answer to come.
pub struct Pending {
    shared: Arc<Shared>,
    way: Way,
}

/// Where the answer comes from.
enum Way {
    /// The session's thread.
    Asked { number: u64, is_cancelled: Arc<AtomicBool>, answer: Receiver<Result<Answer, CallError>> },
    /// Compiled code, which runs while the turn is ours.
    Runs(Arc<Instance>, Running<Vec<Word>>, Vec<Loan>),
    /// Nowhere: it has come.
    Over,
}

impl Host {
    /// Starts a session.
    ///
    /// # Errors
    /// The machine is unknown to the code generator, or no thread can be started.
    pub fn start(options: Options) -> Result<Host, String> {
        let options = Options { lent: true, ..options };
        ravel_runtime::capi::limit_reach();
        let (jobs, queue) = channel::<Job>();
        let (ready, begun) = channel();
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        let work = move || {
            own.interrupter.attach();
            match Session::new(options, false) {
                Ok(session) => {
                    let _ = ready.send(Ok(()));
                    serve(session, &own, &queue);
                }
                Err(failure) => drop(ready.send(Err(failure.to_string()))),
            }
        };
        let thread = std::thread::Builder::new().name("ravel-host".to_string()).stack_size(STACK).spawn(work);
        thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        begun.recv().unwrap_or_else(|_| Err("the session did not start".to_string()))?;
        Ok(Host { jobs, shared, process: std::process::id() })
    }

    /// Starts a session inside of somebody else's process: what the environment says is checked, and programs there have no arguments.
    ///
    /// # Errors
    /// As [`Host::start`]; also if a variable of the environment is wrong.
    pub fn start_inside() -> Result<Host, String> {
        let prepared = ravel_runtime::start::check_environment();
        let prepared = prepared.and_then(|()| ravel_runtime::start::set_arguments(vec![b"ravel".to_vec()]));
        prepared.map_err(|fault| fault.message)?;
        Host::start(Options { folders: FileLoader::environment_path(), ..Options::default() })
    }

    /// Hands over a request.
    ///
    /// # Errors
    /// The process is a copy of the one that started the session, without its threads; or a bug has ended the session.
    pub fn ask(&self, request: Request) -> Result<Pending, CallError> {
        self.check_process()?;
        let (answer, answered) = channel();
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed) + 1;
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let job = Job { number, request, is_cancelled: is_cancelled.clone(), answer };
        self.shared.turn.queue();
        self.jobs.send(job).map_err(|_| ended())?;
        Ok(Pending { shared: self.shared.clone(), way: Way::Asked { number, is_cancelled, answer: answered } })
    }

    /// Calls a function: at once if it is compiled for such arguments and nobody uses the session.
    ///
    /// # Errors
    /// As [`Host::ask`]; or an argument is wrong.
    pub fn call(&self, function: &str, arguments: Vec<Given>) -> Result<Pending, CallError> {
        self.check_process()?;
        if self.shared.turn.try_take() {
            let turn = Taken(&self.shared.turn);
            let known: Vec<Argument> = arguments.iter().map(Given::argument).collect();
            let found = self.shared.instances().find(function, &known);
            if let Some(instance) = found {
                let (words, loans) = words(function, &instance, arguments)?;
                let running = instance.begin(words)?;
                self.shared.interrupter.follow(&running);
                // It stays ours until the call has ended.
                std::mem::forget(turn);
                return Ok(Pending { shared: self.shared.clone(), way: Way::Runs(instance, running, loans) });
            }
        }
        self.ask(Request::Call { function: function.to_string(), arguments })
    }

    fn check_process(&self) -> Result<(), CallError> {
        if std::process::id() != self.process {
            let why = "the process was copied by `fork`, which does not copy the threads of Ravel: make a new module in the copy";
            return Err(CallError::Unsupported(why.to_string()));
        }
        Ok(())
    }

    /// Ends what is computed; false if that is nothing.
    pub fn interrupt(&self) -> bool {
        self.shared.interrupter.interrupt()
    }

    /// The signatures of the instances that a function has.
    pub fn signatures(&self, function: &str) -> Vec<String> {
        self.shared.instances().signatures(function)
    }
}

impl Shared {
    fn instances(&self) -> MutexGuard<'_, Instances> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn globals(&self) -> MutexGuard<'_, Option<Globals>> {
        self.globals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of a call, whose turn is given back.
    fn finish(&self, instance: &Instance, running: Running<Vec<Word>>, loans: Vec<Loan>) -> Result<Answer, CallError> {
        let _turn = Taken(&self.turn);
        instance.finish(running, loans, self.globals().as_ref()).map(Answer::Values)
    }
}

/// A turn that ends with the value.
struct Taken<'a>(&'a Turn);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl Pending {
    /// The answer, if it comes in time. It comes once.
    pub fn wait(&mut self, time: Duration) -> Option<Result<Answer, CallError>> {
        match &self.way {
            Way::Over => Some(Err(ended())),
            Way::Asked { answer, .. } => match attentively(answer, Some(time)) {
                Ok(answer) => Some(answer),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Err(ended())),
            },
            Way::Runs(_, running, _) => running.ends_within(time).then(|| self.take()),
        }
    }

    /// The answer.
    ///
    /// # Errors
    /// Why there is none.
    pub fn finish(mut self) -> Result<Answer, CallError> {
        self.take()
    }

    fn take(&mut self) -> Result<Answer, CallError> {
        match std::mem::replace(&mut self.way, Way::Over) {
            Way::Over => Err(ended()),
            Way::Asked { answer, .. } => answer.recv().unwrap_or_else(|_| Err(ended())),
            Way::Runs(instance, running, loans) => self.shared.finish(&instance, running, loans),
        }
    }

    /// Ends the computation; an answer still comes. What has not begun yet to run does so when it would.
    pub fn interrupt(&self) {
        match &self.way {
            Way::Over => {}
            Way::Asked { number, is_cancelled, .. } => {
                is_cancelled.store(true, Ordering::SeqCst);
                if self.shared.current.load(Ordering::SeqCst) == *number {
                    self.shared.interrupter.interrupt();
                }
            }
            Way::Runs(_, running, _) => drop(running.interrupt()),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // Nobody waits for it any longer, and others wait for their turn.
        if matches!(self.way, Way::Runs(..)) {
            self.interrupt();
            drop(self.take());
        }
    }
}

/// What comes next. For a moment it is looked for without sleep, since to be woken up takes longer than many a call.
fn attentively<T>(from: &Receiver<T>, time: Option<Duration>) -> Result<T, RecvTimeoutError> {
    let start = Instant::now();
    while start.elapsed() < ATTENTIVE {
        match from.try_recv() {
            Ok(found) => return Ok(found),
            Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    match time {
        Some(time) => from.recv_timeout(time),
        None => from.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}

fn ended() -> CallError {
    CallError::Internal("the session has ended; this is a bug in Ravel, please report it with the program".to_string())
}

fn serve(mut session: Session, shared: &Shared, queue: &Receiver<Job>) {
    while let Ok(job) = attentively(queue, None) {
        shared.turn.take();
        let turn = Taken(&shared.turn);
        shared.current.store(job.number, Ordering::SeqCst);
        let answer = match job.is_cancelled.load(Ordering::SeqCst) {
            true => {
                // Loans end before the caller hears of it.
                drop(job.request);
                Err(CallError::Interrupted)
            }
            false => work(&mut session, shared, job.request, &job.is_cancelled),
        };
        shared.current.store(0, Ordering::SeqCst);
        // Whoever gets the answer may ask again at once.
        drop(turn);
        // Whoever asked may have gone.
        let _ = job.answer.send(answer);
    }
}

fn work(
    session: &mut Session,
    shared: &Shared,
    request: Request,
    is_cancelled: &AtomicBool,
) -> Result<Answer, CallError> {
    let redefined = || shared.instances().clear();
    match request {
        Request::Define { name, text } => {
            session.define_text(&name, &text)?;
            redefined();
            Ok(Answer::Done)
        }
        Request::Load(path) => {
            session.define_file(&path)?;
            redefined();
            Ok(Answer::Done)
        }
        Request::Functions => Ok(Answer::Text(session.functions().join("\n"))),
        Request::Heads(name) => Ok(Answer::Text(session.heads(name.as_deref()))),
        Request::Explain { function, arguments } => {
            let arguments: Vec<Argument> = arguments.iter().map(Given::argument).collect();
            session.explain_call(&function, &arguments).map(Answer::Text)
        }
        Request::Call { function, arguments } => {
            let known: Vec<Argument> = arguments.iter().map(Given::argument).collect();
            let instance = session.instance(&shared.instances, &function, &known);
            *shared.globals() = session.globals();
            let instance = instance?;
            let (words, loans) = words(&function, &instance, arguments)?;
            if is_cancelled.load(Ordering::SeqCst) {
                return Err(CallError::Interrupted);
            }
            instance.finish(instance.begin(words)?, loans, shared.globals().as_ref()).map(Answer::Values)
        }
    }
}

/// The arguments as compiled code takes them, and the loans among them; numbers become what the parameters are.
fn words(function: &str, instance: &Instance, arguments: Vec<Given>) -> Result<(Vec<Word>, Vec<Loan>), CallError> {
    let mut loans = Vec::new();
    let word = |(at, (given, ty)): (usize, (Given, &Option<ravel_types::Basic>))| {
        let (adapted, shown) = match (given, ty) {
            (Given::Array(object) | Given::Text(object), _) => return Ok(Word::Object(object)),
            (Given::Lent(loan), _) => {
                let object = loan.array();
                loans.push(loan);
                return Ok(Word::Object(object));
            }
            (Given::Scalar(_, bits), _) => return Ok(Word::Bits(bits)),
            (Given::Truth(truth), Some(ty)) => (adapt_whole(i64::from(truth), *ty), truth.to_string()),
            (Given::Whole(number), Some(ty)) => (adapt_whole(number, *ty), number.to_string()),
            (Given::Real(number), Some(ty)) => (adapt_real(number, *ty), format!("{number:?}")),
            (_, None) => return Err(CallError::Internal("an argument has no type".to_string())),
        };
        adapted.map(Word::Bits).ok_or_else(|| {
            let ty = ty.map_or(String::new(), |ty| ty.to_string());
            CallError::Unsupported(format!("argument {} of `{function}` is {shown}, which is no {ty}", at + 1))
        })
    };
    let words = arguments.into_iter().zip(&instance.scalars).enumerate().map(word).collect::<Result<_, _>>()?;
    Ok((words, loans))
}
