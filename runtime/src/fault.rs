//! Faults: run-time errors at a SaC position. They never return and never unwind through compiled frames.
//!
//! A fault outside a session prints one line on stderr and ends the process. Inside a session ([`run_session`]) the faulting
//! thread hands its report to the owner of the session, who ends all threads that work for it (`stop`): compiled frames hold no resource that
//! the process needs, and a REPL goes on with its next input. An interrupt ends sessions in the same way.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char};
use std::fmt::{self, Display};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::ranks::shared;
use crate::{device, pool, profile, ranks, stop, stream};

pub mod labels;
mod messages;
mod running;

pub use messages::*;
pub(crate) use running::run_call;
pub use running::{Running, begin_session, run_session, run_session_holding};

/// Why a program cannot continue. The position is added when the fault is raised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What `ravel explain` explains, if anything.
    pub code: Option<Code>,
    /// What happened, lower case, no full stop.
    pub message: String,
    /// Extents that it found, by the slots of the labels below the source line ([`labels`]).
    pub extents: Box<[(u32, i64)]>,
    /// How the program ends.
    pub ending: Ending,
    /// Which rank says so, where the program has several.
    pub speaker: Speaker,
}

/// Which rank says what has ended the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speaker {
    /// Replicated code faults on every rank: rank 0 says it.
    Root,
    /// It may be one rank's alone: whichever has it says it, rank 0 first.
    Whoever,
    /// All ranks know that it is this one.
    This,
    /// All ranks know that it is another one.
    Other,
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
    /// A run-time error without a code.
    pub fn new(message: impl Into<String>) -> Fault {
        Fault {
            code: None,
            message: message.into(),
            extents: Box::default(),
            ending: Ending::Error,
            speaker: Speaker::Root,
        }
    }

    /// A run-time error that other ranks may not have: a lack of memory, a full disk.
    pub fn here(message: impl Into<String>) -> Fault {
        Fault { speaker: Speaker::Whoever, ..Fault::new(message) }
    }

    /// A run-time error that the compiler may foresee under this code.
    pub fn coded(code: Code, message: impl Into<String>) -> Fault {
        Fault { code: Some(code), ..Fault::new(message) }
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
    /// The source there.
    source: Source,
    /// What happened.
    pub fault: Fault,
}

/// What a report has of the source at its position.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Source {
    /// Which text it is of those that begin there.
    Nth(u32),
    /// The line with its labels.
    Shown(Box<str>),
}

impl Report {
    /// Splits the position text of compiled code, `file.sac:3:10 in f`. What follows in further lines is what [`Report::show`] takes, or `#1`: the
    /// second one of the texts that begin there.
    pub fn new(position: Option<&str>, fault: Fault) -> Report {
        let (position, rest) = match position.and_then(|text| text.split_once('\n')) {
            Some((first, rest)) => (Some(first), rest),
            None => (position, ""),
        };
        let (place, function) = match position {
            None => (None, None),
            Some(text) => match text.rsplit_once(" in ") {
                Some((place, function)) => (Some(place.to_string()), Some(function.to_string())),
                None => (Some(text.to_string()), None),
            },
        };
        let nth = rest.strip_prefix('#').and_then(|number| number.parse().ok());
        let report = Report { position: place, function, source: Source::Nth(nth.unwrap_or_default()), fault };
        if nth.is_some() || rest.is_empty() { report } else { report.show(rest) }
    }

    /// Takes a source line with labels, which may have slots for extents.
    #[must_use]
    pub fn show(mut self, excerpt: &str) -> Report {
        self.source = Source::Shown(labels::filled(excerpt, &self.fault.extents).into());
        self
    }

    /// File, line and column of the position.
    pub fn place(&self) -> Option<(&str, u32, u32)> {
        // A file may have colons in its name.
        let mut parts = self.position.as_deref()?.rsplitn(3, ':');
        let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
        Some((file, line.parse().ok()?, column.parse().ok()?))
    }

    /// The source line with its labels, as it is shown; empty where that is not at hand.
    pub fn excerpt(&self) -> &str {
        match &self.source {
            Source::Nth(_) => "",
            Source::Shown(excerpt) => excerpt,
        }
    }

    /// Which text at the position it is, where several begin there and none is shown yet.
    pub fn nth(&self) -> Option<usize> {
        match &self.source {
            Source::Nth(nth) => usize::try_from(*nth).ok(),
            Source::Shown(_) => None,
        }
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
            Ending::User { .. } => {
                write!(f, "\n\n*** USER runtime error\n*** {}\n\n{}", self.fault.message, self.excerpt())
            }
            Ending::Error => {
                if let Some(position) = &self.position {
                    write!(f, "{}: ", visible(position))?;
                }
                f.write_str("fault")?;
                if let Some(code) = self.fault.code {
                    write!(f, " [{code}]")?;
                }
                write!(f, ": {}", visible(&self.fault.message))?;
                // Where there is an excerpt, that says it.
                if let Some(function) = self.function.as_ref().filter(|_| self.excerpt().is_empty()) {
                    write!(f, " (in function {function})")?;
                }
                write!(f, "\n{}", self.excerpt())
            }
        }
    }
}

struct Session {
    id: u64,
    owner: Arc<dyn Owner>,
}

/// Who waits for the end of a session.
trait Owner: Send + Sync {
    /// The session is over before its work is.
    fn hear(&self, report: Report);
}

/// The sessions under way.
static SESSIONS: Mutex<Vec<Session>> = Mutex::new(Vec::new());
static ENDING: AtomicBool = AtomicBool::new(false);
/// `exit` ends a session, not the process.
static CONTAINED: AtomicBool = AtomicBool::new(false);
static EXCERPTS: OnceLock<Excerpts> = OnceLock::new();

/// Gives a report the source that it names, where that is at hand.
pub type Excerpts = Box<dyn Fn(Report) -> Report + Send + Sync>;

/// From now on a fault that ends the process shows the source that it names. Only the first call counts.
pub fn show_excerpts(excerpts: Excerpts) {
    let _ = EXCERPTS.set(excerpts);
}

thread_local! {
    /// Where compiled code on this thread last said it was.
    static POSITION: Cell<*const c_char> = const { Cell::new(std::ptr::null()) };
}

fn interrupted() -> Report {
    Report::new(None, Fault { ending: Ending::Interrupted, ..Fault::new("interrupted") })
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
        session.owner.hear(interrupted());
    }
    true
}

/// Ends one session; false if it is over.
pub(crate) fn interrupt_session(id: u64) -> bool {
    let Some(session) = end_session(id) else { return false };
    pool::abandon();
    session.owner.hear(interrupted());
    true
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

/// Reports a fault at a position that compiled code passed, or, if that is null, at the one that it set last; does not return.
///
/// # Safety
/// `pos` is null or NUL-terminated.
pub(crate) unsafe fn raise_from(pos: *const c_char, fault: Fault) -> ! {
    // SAFETY: by contract.
    match unsafe { text_of(pos) } {
        Some(text) => raise_at(Some(&text), fault),
        None => raise(fault),
    }
}

/// Reports a fault at a position of the form `file.sac:3:10 in f`, and does not return.
pub fn raise_at(position: Option<&str>, fault: Fault) -> ! {
    let report = Report::new(position, fault);
    stop::check();
    if shared::is_in_chunk() {
        shared::end_in_chunk(report);
    }
    let id = stop::session();
    let ends_session = !matches!(report.fault.ending, Ending::Exit { .. }) || CONTAINED.load(Ordering::Relaxed);
    if id != 0 && ends_session {
        if let Some(session) = end_session(id) {
            stream::flush_stdout();
            pool::abandon();
            session.owner.hear(report);
        }
        stop::leave();
    }
    end_process(report)
}

/// Prints a report and ends the process with its status; of several threads only the first gets through.
pub(crate) fn end_process(report: Report) -> ! {
    if ENDING.swap(true, Ordering::SeqCst) {
        sleep_forever();
    }
    let written = stream::finish();
    device::finish();
    let report = match EXCERPTS.get() {
        Some(show) => show(report),
        None => report,
    };
    let mut text = report.to_string();
    let mut status = report.status();
    let mut speaker = report.fault.speaker;
    // A program that calls `exit` has not said that all is well with its output.
    if let (Ending::Exit { .. }, Err(fault)) = (report.fault.ending, written) {
        let failure = Report::new(None, fault);
        speaker = failure.fault.speaker;
        text = failure.to_string();
        status = if status == 0 { failure.status() } else { status };
    }
    if !text.is_empty() {
        text.insert_str(0, &ranks::take_turn(speaker));
    }
    // Where nobody listens, the status still tells.
    let _ = std::io::stderr().write_all(text.as_bytes());
    profile::finish();
    match speaker {
        // `exit` is called by all ranks.
        Speaker::Root if text.is_empty() => {
            if let Err(fault) = ranks::finish(status) {
                let _ = writeln!(std::io::stderr(), "fault: {fault}");
                status = status.max(fault.ending.status());
            }
        }
        _ => ranks::abort(status),
    }
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

/// Sets the position that faults inside natives on this thread report.
///
/// # Safety
/// `pos` is null or a NUL-terminated constant that outlives the compiled code's run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_set_position(pos: *const c_char) {
    POSITION.set(pos);
}

/// Faults on this thread have no position until one is set.
pub(crate) fn forget_position() {
    POSITION.set(std::ptr::null());
}

/// Whether nothing runs for sessions that a fault or an interrupt has ended: their code is needed no longer.
pub fn all_have_stopped() -> bool {
    stop::all_have_stopped()
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
    raise_at(pos.as_deref(), messages::index(index, axis, extent))
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
    raise_at(pos.as_deref(), shapes(&what.unwrap_or_default(), first, second))
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
    raise_at(pos.as_deref(), messages::extent(&what.unwrap_or_default(), axis, expected, found))
}

/// A rank had to be another one.
///
/// # Safety
/// Texts are null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_rank(pos: *const c_char, what: *const c_char, expected: i64, found: i64) -> ! {
    // SAFETY: by contract.
    let (pos, what) = unsafe { (text_of(pos), text_of(what)) };
    raise_at(pos.as_deref(), rank(&what.unwrap_or_default(), expected, found))
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
    raise_at(pos.as_deref(), conformity(&pattern.unwrap_or_default(), shape))
}

/// A reshape to another number of elements.
///
/// # Safety
/// `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_reshape(pos: *const c_char, found: i64, expected: i64) -> ! {
    // SAFETY: by contract.
    let pos = unsafe { text_of(pos) };
    raise_at(pos.as_deref(), reshape(found, expected))
}

/// Integer division or remainder by zero.
///
/// # Safety
/// `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_division(pos: *const c_char) -> ! {
    // SAFETY: by contract.
    let pos = unsafe { text_of(pos) };
    raise_at(pos.as_deref(), division())
}

/// Any other fault, in words.
///
/// # Safety
/// Texts are null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_message(pos: *const c_char, text: *const c_char) -> ! {
    // SAFETY: by contract.
    let (pos, text) = unsafe { (text_of(pos), text_of(text)) };
    raise_at(pos.as_deref(), in_words(&text.unwrap_or_default(), &[]))
}

/// Memory is exhausted, or a size is out of range.
///
/// # Safety
/// `pos` is null or NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_fault_memory(pos: *const c_char, bytes: i64) -> ! {
    // SAFETY: by contract.
    let pos = unsafe { text_of(pos) };
    raise_at(pos.as_deref(), Fault::here(format!("out of memory: {bytes} bytes are not available")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_name_position_and_function() {
        let report = Report::new(Some("a in b.sac:3:10 in f"), messages::index(7, 0, 5));
        assert_eq!(
            report.to_string(),
            "a in b.sac:3:10: fault [E0330]: index 7 is out of range for axis 0 of extent 5 (in function f)\n"
        );
        assert_eq!(report.status(), 1);
        assert_eq!(Report::new(None, Fault::new("x")).to_string(), "fault: x\n");
        assert_eq!(Report::new(None, Fault::new("`\x1b[31m\r`")).to_string(), "fault: `\\x1b[31m\\r`\n");
        let shown = Report::new(Some("b.sac:3:10 in f\n 3 │ a[i]\n"), messages::index(7, 0, 5));
        assert_eq!(
            shown.to_string(),
            "b.sac:3:10: fault [E0330]: index 7 is out of range for axis 0 of extent 5\n 3 │ a[i]\n"
        );
        let second = Report::new(Some("b.sac:3:10 in f\n#1"), messages::division());
        assert_eq!((second.nth(), second.function.as_deref()), (Some(1), Some("f")));
        assert_eq!(second.to_string(), "b.sac:3:10: fault [E0333]: division by zero (in function f)\n");
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
            unsafe { pool::ravel_parallel(faulting, std::ptr::null_mut(), 100, 1, 0, std::ptr::null()) }
        });
        assert_eq!(report.expect_err("a chunk faulted").fault, Fault::new("chunk"));
        let done = run_session(|| {
            // SAFETY: the work function ignores its context.
            unsafe { pool::ravel_parallel(harmless, std::ptr::null_mut(), 100, 1, 0, std::ptr::null()) }
        });
        assert_eq!(done, Ok(()));
    }

    unsafe extern "C" fn faulting(_ctx: *mut u8, _lo: i64, _hi: i64, _slot: i64) {
        raise(Fault::new("chunk"))
    }

    unsafe extern "C" fn harmless(_ctx: *mut u8, _lo: i64, _hi: i64, _slot: i64) {}
}
