//! Signals that ask for the end: what was printed is written out, what is half written goes, and the process ends as the signal
//! wants it. At a prompt an interrupt ends the computation alone.
//!
//! The handler does nothing but wake a thread that waits for signals: only there may locks be taken and memory be asked for.

use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::io::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Once, OnceLock, mpsc};
use std::time::{Duration, Instant};

use crate::{fault, outputs, stream};

const WATCHED: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// How long the end waits for a reader who does not read.
const PATIENCE: Duration = Duration::from_secs(1);
/// What the first interrupt finds if an input does not run yet.
const COMPILING: &[u8] = b"\nthe input is still being compiled, and will not run; Ctrl-C once more ends ravel\n";
/// How long a signal that has ended a command may take to come here, too.
const DELAY: Duration = Duration::from_millis(500);
/// Stack of the thread that waits.
const STACK: usize = 256 << 10;

/// Where the handler writes the number of a signal.
static WAKE: AtomicI32 = AtomicI32::new(-1);
/// A signal has come that ends the process, or an interrupt.
static ARRIVED: AtomicBool = AtomicBool::new(false);
/// How the terminal was before an editor changed it.
static TERMINAL: OnceLock<Option<libc::termios>> = OnceLock::new();
/// Interrupts end what is computed, not the process.
static CAUGHT: AtomicBool = AtomicBool::new(false);
/// The process works on an input of the prompt.
static BUSY: AtomicBool = AtomicBool::new(false);
/// An interrupt came while nothing ran that could be ended.
static PENDING: AtomicBool = AtomicBool::new(false);

/// Watches for signals from now on, except for those that whoever started the process had ignored.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without the thread, signals end the process as ever.
        let _ = start();
    });
}

fn start() -> std::io::Result<()> {
    let mut ends = [-1; 2];
    // SAFETY: the array has room for both ends, which belong to the two owners from here on.
    let (reader, writer) = unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    // SAFETY: the descriptor is open.
    unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    std::thread::Builder::new().name("ravel-signals".to_string()).stack_size(STACK).spawn(move || {
        while let Some(signal) = next(&reader) {
            if signal != libc::SIGINT || !catch() {
                end(signal);
            }
        }
    })?;
    WAKE.store(writer.as_raw_fd(), Ordering::SeqCst);
    // It stays open as long as the process lives.
    std::mem::forget(writer);
    WATCHED.into_iter().filter(|&signal| is_default(signal)).for_each(install);
    Ok(())
}

fn is_default(signal: libc::c_int) -> bool {
    // SAFETY: only asks for the action.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut old) == 0 && old.sa_sigaction == libc::SIG_DFL
    }
}

fn install(signal: libc::c_int) {
    handle(signal, on_signal, libc::SA_RESTART);
}

/// What the system calls: the signal, what is known about it, and the registers of the thread.
pub(crate) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Installs a handler, which runs on the thread's alternate stack if there is one. `flags` are those that not all handlers have.
pub(crate) fn handle(signal: libc::c_int, handler: Handler, flags: libc::c_int) {
    // SAFETY: the handler has the signature that `SA_SIGINFO` asks for. What it may do is its own affair.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | flags;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// The number of the next signal; `None` if there can be no more.
fn next(reader: &OwnedFd) -> Option<libc::c_int> {
    let mut number = 0u8;
    loop {
        // SAFETY: one byte of room.
        let count = unsafe { libc::read(reader.as_raw_fd(), std::ptr::from_mut(&mut number).cast(), 1) };
        match count {
            1 => return Some(libc::c_int::from(number)),
            0 => return None,
            _ if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            _ => return None,
        }
    }
}

extern "C" fn on_signal(signal: libc::c_int, _info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    ARRIVED.store(true, Ordering::SeqCst);
    let number = signal as u8;
    // SAFETY: `write` may be called in a handler, and the place of `errno` is that of this thread.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(WAKE.load(Ordering::SeqCst), std::ptr::from_ref(&number).cast(), 1);
        *libc::__errno_location() = errno;
    }
}

/// The number of a process that has to end before this one does; 0 if there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// How long that process may take after it was asked to end.
const CHILD_PATIENCE: Duration = Duration::from_secs(6);

/// From now on a signal that ends this process is passed on to that one first, which leads a group of processes. 0 ends that.
pub fn pass_on_to(process: u32) {
    CHILD.store(libc::pid_t::try_from(process).unwrap_or(0), Ordering::SeqCst);
}

/// Asks the process that has to end before this one to do so, and waits for that; in the end its whole group goes. Whoever has started it waits for it and says that it has
/// ended.
fn end_child(signal: libc::c_int) {
    let child = CHILD.load(Ordering::SeqCst);
    if child == 0 {
        return;
    }
    // SAFETY: the process has not been waited for, so that no other one has its number.
    unsafe { libc::kill(child, signal) };
    let begin = Instant::now();
    while CHILD.load(Ordering::SeqCst) != 0 && begin.elapsed() < CHILD_PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    if CHILD.load(Ordering::SeqCst) != 0 {
        // SAFETY: as above.
        unsafe { libc::kill(-child, libc::SIGKILL) };
    }
}

/// Ends the process as the signal does, after writing out what the program printed.
fn end(signal: libc::c_int) -> ! {
    end_child(signal);
    for signal in WATCHED {
        // SAFETY: the default action is a valid one. Whoever sends a second signal does not want to wait.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    if let Some(Some(settings)) = TERMINAL.get() {
        // SAFETY: the settings are those that the system gave.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, settings) };
    }
    outputs::remove_partial();
    let (done, written) = mpsc::channel();
    let flush = std::thread::Builder::new().spawn(move || {
        stream::flush_before_end();
        let _ = done.send(());
    });
    if flush.is_ok() {
        let _ = written.recv_timeout(PATIENCE);
    }
    loop {
        // SAFETY: the signal's action is the default one, which ends the process.
        unsafe { libc::kill(libc::getpid(), signal) };
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Says that a command for which this process waited has failed. Where a signal came to both, as Ctrl-C comes to all processes of a terminal's
/// foreground, this one is about to end, and that the command failed is no news: then nothing comes back from here.
pub fn command_failed(status: ExitStatus) {
    let by_signal = |signal: &libc::c_int| status.signal() == Some(*signal) || status.code() == Some(128 + signal);
    let deadline = Instant::now() + if WATCHED.iter().any(by_signal) { DELAY } else { Duration::ZERO };
    // At a prompt the process goes on.
    while !CAUGHT.load(Ordering::SeqCst) {
        if !ARRIVED.load(Ordering::SeqCst) && Instant::now() >= deadline {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// From now on an interrupt ends the computation of a session, not the process. What ends the process finds the terminal as it is now: a
/// line editor changes it. An editor that exists already has taken the signal away.
pub fn catch_interrupts() {
    watch();
    if WAKE.load(Ordering::SeqCst) >= 0 {
        install(libc::SIGINT);
    }
    TERMINAL.get_or_init(|| {
        // SAFETY: the structure is filled by the call, which says whether there is a terminal.
        unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            (libc::tcgetattr(libc::STDIN_FILENO, &mut settings) == 0).then_some(settings)
        }
    });
    CAUGHT.store(true, Ordering::SeqCst);
}

/// Says whether an input of the prompt is being worked on; what came before is forgotten.
pub fn set_busy(busy: bool) {
    BUSY.store(busy, Ordering::SeqCst);
    PENDING.store(false, Ordering::SeqCst);
}

/// Whether there was an interrupt before anything ran; asking forgets it.
pub(crate) fn take_pending() -> bool {
    PENDING.swap(false, Ordering::SeqCst)
}

/// Deals with an interrupt; false if the process is to end.
fn catch() -> bool {
    if !CAUGHT.load(Ordering::SeqCst) {
        return false;
    }
    if fault::interrupt() || !BUSY.load(Ordering::SeqCst) {
        return true;
    }
    // An interrupt that comes while an input is compiled waits until it would run. The second one does not want to wait.
    let is_first = !PENDING.swap(true, Ordering::SeqCst);
    if is_first {
        let _ = std::io::stderr().write_all(COMPILING);
    }
    is_first
}
