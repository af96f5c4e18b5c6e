//! Faults: run-time errors at a SaC position. They never return and never unwind through compiled frames.
//!
//! A fault outside a session prints one line on stderr and ends the process. Inside a session ([`run_session`]) the faulting
//! thread hands its report to the owner of the session, who ends all threads that work for it (`stop`): compiled frames hold no resource that
//! the process needs, and a REPL goes on with its next input. An interrupt ends sessions in the same way.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char};
use std::fmt::{self, Display, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

use crate::lost::{self, Counts, Lost};
use crate::{device, interrupter, pool, profile, signals, standing, stop, stream};

/// Why a program cannot continue. The position is added when the fault is raised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What happened, lower case, no full stop.
    pub message: String,
    /// How the program ends.
    pub ending: Ending,
}

/// How a fault ends the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// A run-time error: reported with its position, exit status 1.
    Error,
    /// The program called `RuntimeError::error`: its own message and status.
    User {
        /// Exit status.
        status: i32,
    },
    /// The program called `exit`: no message.
    Exit {
        /// Exit status.
        status: i32,
    },
    /// Somebody interrupted the computation.
    Interrupted,
}

impl Ending {
    /// Status that the process ends with.
    pub fn status(self) -> i32 {
        match self {
            Ending::Error => 1,
            Ending::User { status } | Ending::Exit { status } => status,
            Ending::Interrupted => INTERRUPTED,
        }
    }
}

/// Exit status of what an interrupt ended, as shells count.
const INTERRUPTED: i32 = 128 + libc::SIGINT;

impl Fault {
    /// A run-time error.
    pub fn new(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), ending: Ending::Error }
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// A fault with the place where it happened, as the owner of a session receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// `file.sac:3:10`, if compiled code said where.
    pub position: Option<String>,
    /// The SaC function, if compiled code said which.
    pub function: Option<String>,
    /// What happened.
    pub fault: Fault,
}

impl Report {
    /// Splits the position text of compiled code, `file.sac:3:10 in f`.
    pub fn new(position: Option<&str>, fault: Fault) -> Report {
        let (place, function) = match position {
            None => (None, None),
            Some(text) => match text.rsplit_once(" in ") {
                Some((place, function)) => (Some(place.to_string()), Some(function.to_string())),
                None => (Some(text.to_string()), None),
            },
        };
        Report { position: place, function, fault }
    }

    /// Status that the process ends with.
    pub fn status(&self) -> i32 {
        self.fault.ending.status()
    }
}

/// The text for stderr, with its final newline; empty for `exit`.
impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault.ending {
            Ending::Exit { .. } => Ok(()),
            Ending::Interrupted => writeln!(f, "{}", self.fault.message),
            Ending::User { .. } => write!(f, "\n\n*** USER runtime error\n*** {}\n\n", self.fault.message),
            Ending::Error => {
                if let Some(position) = &self.position {
                    write!(f, "{position}: ")?;
                }
                write!(f, "fault: {}", self.fault.message)?;
                if let Some(function) = &self.function {
                    write!(f, " (in function {function})")?;
                }
                f.write_char('\n')
            }
        }
    }
}

/// `[2,3]`.
pub fn shape_text(shape: &[i64]) -> String {
    let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
    format!("[{}]", extents.join(","))
}

struct Session {
    id: u64,
    reports: Sender<Report>,
}

/// The sessions under way.
static SESSIONS: Mutex<Vec<Session>> = Mutex::new(Vec::new());
static NEXT_SESSION: AtomicU64 = AtomicU64::new(1);
static ENDING: AtomicBool = AtomicBool::new(false);
/// `exit` ends a session, not the process.
static CONTAINED: AtomicBool = AtomicBool::new(false);
static EXCERPTS: OnceLock<Excerpts> = OnceLock::new();

/// Shows the source of a report, where that is at hand.
pub type Excerpts = Box<dyn Fn(&Report) -> Option<String> + Send + Sync>;

/// From now on a fault that ends the process shows what this makes of it behind its line. Only the first call counts.
pub fn show_excerpts(excerpts: Excerpts) {
    let _ = EXCERPTS.set(excerpts);
}

thread_local! {
    /// Where compiled code on this thread last said it was.
    static POSITION: Cell<*const c_char> = const { Cell::new(std::ptr::null()) };
}

/// Runs `work` on a thread of its own where a fault does not end the process.
///
/// Sessions may run at the same time; of their parallel sections one at a time gets the worker threads.
///
/// # Errors
/// The report of the first fault, of an interrupt, or of a thread that could not be started.
pub fn run_session<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Report> {
    run_session_holding(&mut || None, Counts::default(), work)
}

/// [`run_session`] for a call of a library: nothing ends the process, also not `exit`, and after a fault all threads of the session have
/// stopped, so that what the caller lent is the caller's again. Nobody holds what is lost then, unless the library `has_objects`.
///
/// # Errors
/// As [`run_session`].
pub(crate) fn run_call<T: Send + 'static>(
    has_objects: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Report> {
    CONTAINED.store(true, Ordering::Relaxed);
    run_session_until(stop::stop_entirely, &mut || (!has_objects).then(Vec::new), Counts::default(), work)
}

/// [`run_session`] for an owner who wants back what a session loses that ends early.
///
/// `held` gives the addresses of objects that are somebody's in spite of that, like what global variables hold; without it nothing is
/// released. `arguments` are counts from before `work` got its references.
///
/// # Errors
/// As [`run_session`].
pub fn run_session_holding<T: Send + 'static>(
    held: &mut dyn FnMut() -> Option<Vec<usize>>,
    arguments: Counts,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Report> {
    run_session_until(stop::stop, held, arguments, work)
}

fn run_session_until<T: Send + 'static>(
    stop: fn(u64) -> bool,
    held: &mut dyn FnMut() -> Option<Vec<usize>>,
    arguments: Counts,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Report> {
    let id = NEXT_SESSION.fetch_add(1, Ordering::Relaxed);
    let (reports, faults) = channel();
    if let Ok(mut sessions) = SESSIONS.lock() {
        sessions.push(Session { id, reports });
    }
    interrupter::begins(id);
    if signals::take_pending() {
        drop(end_session(id));
        return Err(interrupted());
    }
    let (results, outcome) = channel();
    let spawned = standing::run(move || {
        stop::enter_session(id);
        let _ = results.send(work());
        drop(end_session(id));
    });
    if let Err(error) = spawned {
        drop(end_session(id));
        return Err(Report::new(None, Fault::new(format!("cannot start a thread: {error}"))));
    }
    // The sender lives in SESSIONS: it is taken out by a fault (after sending) or dropped with its entry.
    match faults.recv() {
        Ok(report) => {
            let has_stopped = stop(id);
            let lost = Lost::of(id);
            // A thread that has not stopped may use them.
            if has_stopped {
                arguments.restore();
                if let Some(held) = held() {
                    lost.release(&held);
                }
            }
            Err(report)
        }
        Err(_) => {
            lost::end(id);
            outcome.recv().map_err(|_| Report::new(None, Fault::new("the program ended without a result")))
        }
    }
}

fn interrupted() -> Report {
    Report::new(None, Fault { message: "interrupted".to_string(), ending: Ending::Interrupted })
}

/// Ends all sessions from outside, as Ctrl-C does; false if there is none.
pub fn interrupt() -> bool {
    let ended = SESSIONS.lock().map(|mut sessions| std::mem::take(&mut *sessions)).unwrap_or_default();
    if ended.is_empty() {
        return false;
    }
    pool::abandon();
    for session in ended {
        // The owner waits for it, unless the session has just ended.
        let _ = session.reports.send(interrupted());
    }
    true
}

/// Ends one session; false if it is over.
pub(crate) fn interrupt_session(id: u64) -> bool {
    let Some(session) = end_session(id) else { return false };
    pool::abandon();
    session.reports.send(interrupted()).is_ok()
}

/// Takes a session off the list; `None` if it has ended already.
fn end_session(id: u64) -> Option<Session> {
    let mut sessions = SESSIONS.lock().ok()?;
    let position = sessions.iter().position(|session| session.id == id)?;
    Some(sessions.swap_remove(position))
}

fn sleep_forever() -> ! {
    loop {
        std::thread::park();
    }
}

/// Reports a fault at the position compiled code set last, and does not return.
pub fn raise(fault: Fault) -> ! {
    let position = POSITION.get();
    // SAFETY: compiled code sets positions to NUL-terminated constants that live as long as the code.
    let text = (!position.is_null()).then(|| unsafe { CStr::from_ptr(position) }.to_string_lossy().into_owned());
    raise_at(text.as_deref(), fault)
}

/// Reports a fault at a position of the form `file.sac:3:10 in f`, and does not return.
pub fn raise_at(position: Option<&str>, fault: Fault) -> ! {
    let report = Report::new(position, fault);
    stop::check();
    let id = stop::session();
    let ends_session = !matches!(report.fault.ending, Ending::Exit { .. }) || CONTAINED.load(Ordering::Relaxed);
    if id != 0 && ends_session {
        if let Some(session) = end_session(id) {
            stream::flush_stdout();
            pool::abandon();
            let _ = session.reports.send(report);
        }
        stop::leave();
    }
    end_process(&report)
}

/// Prints a report and ends the process with its status; of several threads only the first gets through.
fn end_process(report: &Report) -> ! {
    if ENDING.swap(true, Ordering::SeqCst) {
        sleep_forever();
    }
    let written = stream::finish();
    device::finish();
    let mut text = report.to_string();
    if let Some(excerpt) = EXCERPTS.get().and_then(|show| show(report)) {
        text.push_str(&excerpt);
    }
    let mut status = report.status();
    // A program that calls `exit` has not said that all is well with its output.
    if let (Ending::Exit { .. }, Err(fault)) = (report.fault.ending, written) {
        let failure = Report::new(None, fault);
        text = failure.to_string();
        status = if status == 0 { failure.status() } else { status };
    }
    // Where nobody listens, the status still tells.
    let _ = std::io::stderr().write_all(text.as_bytes());
    profile::finish();
    std::process::exit(status)
}

/// Text of a C string from compiled code.
///
/// # Safety
/// `text` is null or NUL-terminated.
unsafe fn text_of(text: *const c_char) -> Option<String> {
    // SAFETY: by contract.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Shape from compiled code.
///
/// # Safety
/// `shape` points to `rank` extents unless `rank` is 0.
unsafe fn extents<'a>(rank: i64, shape: *const i64) -> &'a [i64] {
    match usize::try_from(rank) {
        // SAFETY: by contract.
        Ok(rank) if rank > 0 && !shape.is_null() => unsafe { std::slice::from_raw_parts(shape, rank) },
        _ => &[],
    }
}

/// Message of an index out of range.
pub fn index_message(index: i64, axis: i64, extent: i64) -> String {
    format!("index {index} is out of range for axis {axis} of extent {extent}")
}

/// Message of two shapes that had to be equal; `what` names the operation.
pub fn shape_message(what: &str, first: &[i64], second: &[i64]) -> String {
    format!("{what}: the shapes {} and {} differ", shape_text(first), shape_text(second))
}

/// Message of a division by zero.
pub const DIVISION_MESSAGE: &str = "division by zero";

/// There is no memory for an array.
pub fn memory(shape: &[i64]) -> Fault {
    Fault::new(format!("out of memory for an array of shape {}", shape_text(shape)))
}

/// Message of a failed reshape.
pub fn reshape_message(found: i64, expected: i64) -> String {
    format!("reshape: {found} elements do not fill a shape of {expected} elements")
}

/// Message of a value of another shape than its place admits; negative extents admit any.
pub fn narrow_message(wanted: &[i64], shape: &[i64]) -> String {
    let extents = wanted.iter().map(|extent| if *extent < 0 { ".".to_string() } else { extent.to_string() });
    let place = match wanted {
        [] => "a scalar belongs".to_string(),
        _ => format!("one of shape [{}] belongs", extents.collect::<Vec<_>>().join(",")),
    };
    format!("a value of shape {} where {place}", shape_text(shape))
}

/// Message of a value whose shape does not conform to a declared type or pattern.
pub fn conformity_message(pattern: &str, shape: &[i64]) -> String {
    format!("{pattern} does not admit a value of shape {}", shape_text(shape))
}

/// Message with numbers at the last marks of its text: `{}` is a whole number, `{d}` the bits of a double, `{b}` a bool, `{e}` an extent
/// that is negative; `{[8]}`, `{[8]d}` and
/// `{[8]b}` are vectors, given by their length and as many components as the mark says, whether they are there or not. Without enough marks
/// the numbers stand behind the text: `text: 1, 2`.
pub fn numbers_message(text: &str, numbers: &[i64]) -> String {
    let (mut front, mut behind, mut left) = (text, String::new(), numbers);
    while !left.is_empty() {
        let Some((start, mark)) = Mark::last(front) else { break };
        let Some(at) = left.len().checked_sub(mark.numbers()) else { break };
        let end = start + mark.text.len();
        behind = format!("{}{}{behind}", mark.shown(&left[at..]), &front[end..]);
        (front, left) = (&front[..start], &left[..at]);
    }
    if left.is_empty() {
        return format!("{front}{behind}");
    }
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    format!("{text}: {}", numbers.join(", "))
}

/// An extent less than this is rather one that is too large: sums and products of extents wrap around.
const WRAPPED: i64 = -(1 << 24);

/// A negative extent.
pub fn extent_text(extent: i64) -> String {
    if extent < WRAPPED { format!("{extent} (beyond 2147483647 an extent wraps around)") } else { extent.to_string() }
}

/// A place for numbers in a message.
struct Mark<'a> {
    text: &'a str,
    /// Components, for a vector.
    components: Option<usize>,
    letter: &'a str,
}

impl<'a> Mark<'a> {
    /// The last mark of a text, and where it begins.
    fn last(text: &'a str) -> Option<(usize, Mark<'a>)> {
        let mut end = text.len();
        while let Some(start) = text[..end].rfind('{') {
            if let Some(mark) = Mark::first(&text[start..]) {
                return Some((start, mark));
            }
            end = start;
        }
        None
    }

    /// The mark with which a text begins.
    fn first(text: &'a str) -> Option<Mark<'a>> {
        let inner = &text[1..text.find('}')?];
        let (components, letter) = match inner.strip_prefix('[') {
            Some(vector) => {
                let (components, letter) = vector.split_once(']')?;
                (Some(components.parse().ok()?), letter)
            }
            None => (None, inner),
        };
        let mark = Mark { text: &text[..inner.len() + 2], components, letter };
        matches!(letter, "" | "d" | "b" | "e").then_some(mark)
    }

    fn numbers(&self) -> usize {
        self.components.map_or(1, |components| components + 1)
    }

    fn shown(&self, numbers: &[i64]) -> String {
        let one = |number: &i64| match self.letter {
            "d" => format!("{:?}", f64::from_bits(*number as u64)),
            "b" => (*number != 0).to_string(),
            "e" => extent_text(*number),
            _ => number.to_string(),
        };
        let (Some(_), [length, components @ ..]) = (self.components, numbers) else {
            return numbers.iter().map(one).collect::<Vec<_>>().join(",");
        };
        let length = usize::try_from(*length).unwrap_or(0);
        let mut shown: Vec<String> = components.iter().take(length).map(one).collect();
        if length > shown.len() {
            shown.push("..".to_string());
        }
        format!("[{}]", shown.join(","))
    }
}

/// Message of conditions that were violated together; what they are violated by (`arguments of f: `) is said once.
pub fn several_message(messages: &[String]) -> String {
    let whose = messages.first().and_then(|first| first.find(": ").map(|end| &first[..end + 2]));
    let behind = |message: &String| whose.and_then(|whose| message.strip_prefix(whose)).unwrap_or(message).to_string();
    let others = messages.iter().skip(1).map(behind);
    messages.first().cloned().into_iter().chain(others).collect::<Vec<_>>().join("; ")
}

/// [`several_message`] as compiled code hands it over: a line of text for each condition, and for each line one number that says whether
/// the condition holds, how many numbers belong into the text, and these numbers.
pub fn several_from(text: &str, mut numbers: &[i64]) -> String {
    let mut messages = Vec::new();
    for line in text.split('\n') {
        let [holds, count, rest @ ..] = numbers else { break };
        let (shown, rest) = rest.split_at(usize::try_from(*count).unwrap_or(0).min(rest.len()));
        if *holds == 0 {
            messages.push(numbers_message(line, shown));
        }
        numbers = rest;
    }
    several_message(&messages)
}

/// Message of an extent that had to be another one.
pub fn extent_message(what: &str, axis: i64, expected: i64, found: i64) -> String {
    format!("{what}: axis {axis} has extent {found}, expected {expected}")
}

/// Message of a rank that had to be another one.
pub fn rank_message(what: &str, expected: i64, found: i64) -> String {
    format!("{what}: rank {found}, expected {expected}")
}

/// Sets the position that faults inside natives on this thread report.
///
/// # Safety
/// `pos` is null or a NUL-terminated constant that outlives the compiled code's run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_set_position(pos: *const c_char) {
    POSITION.set(pos);
}

/// Runs `work` with a position that faults inside natives and C functions on this thread report.
pub fn at<T>(position: &str, work: impl FnOnce() -> T) -> T {
    let text = CString::new(position).unwrap_or_default();
    let before = POSITION.replace(text.as_ptr());
    let result = work();
    POSITION.set(before);
    result
}

/// Index out of range.
///
/// # Safety
/// `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_index(pos: *const c_char, index: i64, axis: i64, extent: i64) -> ! {
    // SAFETY: by contract.
    let pos = unsafe { text_of(pos) };
    raise_at(pos.as_deref(), Fault::new(index_message(index, axis, extent)))
}

/// Two shapes had to be equal; `what` names the operation.
///
/// # Safety
/// Texts are null or NUL-terminated; each shape has as many extents as its rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_shape(
    pos: *const c_char,
    what: *const c_char,
    rank_a: i64,
    shape_a: *const i64,
    rank_b: i64,
    shape_b: *const i64,
) -> ! {
    // SAFETY: by contract.
    let (pos, what, first, second) =
        unsafe { (text_of(pos), text_of(what), extents(rank_a, shape_a), extents(rank_b, shape_b)) };
    raise_at(pos.as_deref(), Fault::new(shape_message(&what.unwrap_or_default(), first, second)))
}

/// An extent had to be another one.
///
/// # Safety
/// Texts are null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_extent(
    pos: *const c_char,
    what: *const c_char,
    axis: i64,
    expected: i64,
    found: i64,
) -> ! {
    // SAFETY: by contract.
    let (pos, what) = unsafe { (text_of(pos), text_of(what)) };
    raise_at(pos.as_deref(), Fault::new(extent_message(&what.unwrap_or_default(), axis, expected, found)))
}

/// A rank had to be another one.
///
/// # Safety
/// Texts are null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_rank(pos: *const c_char, what: *const c_char, expected: i64, found: i64) -> ! {
    // SAFETY: by contract.
    let (pos, what) = unsafe { (text_of(pos), text_of(what)) };
    raise_at(pos.as_deref(), Fault::new(rank_message(&what.unwrap_or_default(), expected, found)))
}

/// A value does not conform to a declared type or type pattern, whose text is given.
///
/// # Safety
/// Texts are null or NUL-terminated; the shape has `rank` extents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_conformity(
    pos: *const c_char,
    pattern: *const c_char,
    rank: i64,
    shape: *const i64,
) -> ! {
    // SAFETY: by contract.
    let (pos, pattern, shape) = unsafe { (text_of(pos), text_of(pattern), extents(rank, shape)) };
    raise_at(pos.as_deref(), Fault::new(conformity_message(&pattern.unwrap_or_default(), shape)))
}

/// A reshape to another number of elements.
///
/// # Safety
/// `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_reshape(pos: *const c_char, found: i64, expected: i64) -> ! {
    // SAFETY: by contract.
    let pos = unsafe { text_of(pos) };
    raise_at(pos.as_deref(), Fault::new(reshape_message(found, expected)))
}

/// Integer division or remainder by zero.
///
/// # Safety
/// `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_division(pos: *const c_char) -> ! {
    // SAFETY: by contract.
    let pos = unsafe { text_of(pos) };
    raise_at(pos.as_deref(), Fault::new(DIVISION_MESSAGE))
}

/// Any other fault, in words.
///
/// # Safety
/// Texts are null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_message(pos: *const c_char, text: *const c_char) -> ! {
    // SAFETY: by contract.
    let (pos, text) = unsafe { (text_of(pos), text_of(text)) };
    raise_at(pos.as_deref(), Fault::new(text.unwrap_or_default()))
}

/// Memory is exhausted, or a size is out of range.
///
/// # Safety
/// `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_memory(pos: *const c_char, bytes: i64) -> ! {
    // SAFETY: by contract.
    let pos = unsafe { text_of(pos) };
    raise_at(pos.as_deref(), Fault::new(format!("out of memory: {bytes} bytes are not available")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_name_position_and_function() {
        let report = Report::new(Some("a in b.sac:3:10 in f"), Fault::new(index_message(7, 0, 5)));
        assert_eq!(
            report.to_string(),
            "a in b.sac:3:10: fault: index 7 is out of range for axis 0 of extent 5 (in function f)\n"
        );
        assert_eq!(report.status(), 1);
        assert_eq!(Report::new(None, Fault::new("x")).to_string(), "fault: x\n");
    }

    #[test]
    fn numbers_stand_at_their_marks() {
        assert_eq!(numbers_message("a {} is {} in {}", &[1, 2]), "a {} is 1 in 2");
        assert_eq!(numbers_message("too many", &[1, 2]), "too many: 1, 2");
        assert_eq!(numbers_message("`{x}` {d} {b}", &[0.5f64.to_bits() as i64, 1]), "`{x}` 0.5 true");
        assert_eq!(numbers_message("v is {[3]}, w is {[2]d}", &[2, 7, 8, 9, 0, 0, 0]), "v is [7,8], w is []");
        assert_eq!(numbers_message("v is {[2]b}", &[5, 1, 0]), "v is [true,false,..]");
        assert_eq!(numbers_message("{e}", &[-1]), "-1");
        assert!(numbers_message("{e}", &[-694_967_296]).ends_with("wraps around)"));
    }

    #[test]
    fn a_session_survives_a_fault() {
        let ok = run_session(|| 41 + 1);
        assert_eq!(ok.expect("no fault"), 42);
        let report = run_session(|| -> i32 { raise_at(Some("t.sac:1:2 in g"), Fault::new("boom")) });
        let report = report.expect_err("the session faulted");
        assert_eq!(report.position.as_deref(), Some("t.sac:1:2"));
        assert_eq!(report.function.as_deref(), Some("g"));
        assert_eq!(run_session(|| 1).expect("no fault"), 1);
        // A fault on a worker thread, while the session's own thread waits for it.
        let report = run_session(|| {
            // SAFETY: the work function ignores its context.
            unsafe { pool::ravel_parallel(faulting, std::ptr::null_mut(), 100, 1, 0) }
        });
        assert_eq!(report.expect_err("a chunk faulted").fault, Fault::new("chunk"));
        let done = run_session(|| {
            // SAFETY: the work function ignores its context.
            unsafe { pool::ravel_parallel(harmless, std::ptr::null_mut(), 100, 1, 0) }
        });
        assert_eq!(done, Ok(()));
    }

    unsafe extern "C" fn faulting(_ctx: *mut u8, _lo: i64, _hi: i64, _slot: i64) {
        raise(Fault::new("chunk"))
    }

    unsafe extern "C" fn harmless(_ctx: *mut u8, _lo: i64, _hi: i64, _slot: i64) {}
}
