//! Threads with known stacks, and a fault instead of a crash when recursion exhausts one.
//!
//! SaC programs recurse on data. Compiled code runs on a thread with a large stack (address space only: pages are used as they
//! are touched), and a signal handler on an alternate stack turns a hit of the guard page into a fault.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::io;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::fault::{self, Fault};
use crate::{signals, stop};

/// Stack of the thread that runs `main`, in bytes of address space, unless `RAVEL_STACK` says how many mebibytes it has.
pub const MAIN_STACK: usize = 1 << 30;
/// Mebibytes that `RAVEL_STACK` may ask for.
pub const MEBIBYTES: std::ops::RangeInclusive<usize> = 8..=1 << 20;

/// Mebibytes that `RAVEL_STACK` asks for.
///
/// # Errors
/// It is no such number.
pub fn asked() -> Result<Option<usize>, Fault> {
    let Ok(text) = std::env::var("RAVEL_STACK") else { return Ok(None) };
    match text.trim().parse() {
        Ok(mebibytes) if MEBIBYTES.contains(&mebibytes) => Ok(Some(mebibytes)),
        _ => {
            let (least, most) = (MEBIBYTES.start(), MEBIBYTES.end());
            Err(Fault::new(format!("RAVEL_STACK must be a number of MiB from {least} to {most}, not '{text}'")))
        }
    }
}

/// Bytes of stack for the thread that runs `main`.
pub fn main_stack() -> usize {
    asked().ok().flatten().map_or(MAIN_STACK, |mebibytes| mebibytes << 20)
}
/// Stack of a worker thread.
pub const WORKER_STACK: usize = 64 << 20;
/// Below this a stack is not made smaller, and a thread that cannot be started is an error.
const SMALLEST_STACK: usize = 8 << 20;
/// Stack of the signal handler: room for formatting a message.
const ALTERNATE_STACK: usize = 128 << 10;
/// How far from the lowest stack address an access counts as an overflow, on both sides: a large frame may skip the guard page.
const GUARD_REACH: usize = 1 << 20;

thread_local! {
    /// Lowest address of this thread's stack; 0 where overflow is not watched.
    static LOWEST: Cell<usize> = const { Cell::new(0) };
    /// Bytes of this thread's stack.
    static SIZE: Cell<usize> = const { Cell::new(0) };
}

/// The stack of a thread's signal handlers.
pub(crate) struct Alternate(Box<[u8]>);

impl Default for Alternate {
    fn default() -> Alternate {
        Alternate(vec![0; ALTERNATE_STACK].into_boxed_slice())
    }
}

/// Starts a named thread with a watched stack of `bytes`; falls back to smaller stacks where address space is limited. Nobody waits for
/// it; it may work for sessions.
///
/// # Errors
/// The system refuses to start a thread.
pub fn spawn(name: &str, bytes: usize, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    with_stack(bytes, work, |size, work| stop::spawn(name, size, work))
}

/// Starts a thread for work that borrows.
///
/// # Errors
/// The system refuses to start a thread.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    with_stack(bytes, work, |size, work| {
        let watched = move || {
            let alternate = Alternate::default();
            // SAFETY: the thread stops using it before it is dropped.
            unsafe { watch(&alternate) };
            let result = work();
            unwatch();
            result
        };
        Builder::new().name(name.to_string()).stack_size(size).spawn_scoped(scope, watched)
    })
}

/// What a thread runs.
type Work<'w, T> = Box<dyn FnOnce() -> T + Send + 'w>;

/// Tries to start a thread with ever smaller stacks.
fn with_stack<'w, T: Send + 'w, H>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'w,
    start: impl Fn(usize, Work<'w, T>) -> io::Result<H>,
) -> io::Result<H> {
    install_handler();
    // A failed start drops its closure, so the work waits in a slot that the thread empties.
    let slot = Arc::new(Mutex::new(Some(work)));
    let mut size = bytes;
    loop {
        let slot = slot.clone();
        let run: Work<'w, T> = Box::new(move || {
            let work = slot.lock().ok().and_then(|mut work| work.take());
            work.expect("only the one thread that started takes the work")()
        });
        match start(size, run) {
            Err(_) if size > SMALLEST_STACK => size /= 4,
            other => return other,
        }
    }
}

/// Gives the current thread an alternate signal stack and notes where its own stack ends.
///
/// # Safety
/// `alternate` lives as long as the thread, or until [`unwatch`].
pub(crate) unsafe fn watch(alternate: &Alternate) {
    // SAFETY: plain calls of the C library on this thread's own attributes; every result is checked before use.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return;
        }
        let mut lowest = std::ptr::null_mut();
        let mut size = 0;
        let found = libc::pthread_attr_getstack(&attributes, &mut lowest, &mut size) == 0;
        libc::pthread_attr_destroy(&mut attributes);
        if !found {
            return;
        }
        let memory = alternate.0.as_ptr().cast_mut().cast();
        let alternate = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: ALTERNATE_STACK };
        if libc::sigaltstack(&alternate, std::ptr::null_mut()) == 0 {
            LOWEST.set(lowest as usize);
            SIZE.set(size);
        }
    }
}

/// Undoes [`watch`].
fn unwatch() {
    LOWEST.set(0);
    let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: ALTERNATE_STACK };
    // SAFETY: the thread is not on its alternate stack.
    unsafe { libc::sigaltstack(&none, std::ptr::null_mut()) };
}

/// The names of functions that call themselves, which the program has told.
static RECURSIVE: AtomicPtr<c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Remembers which functions of the program call themselves: names separated by commas.
///
/// # Safety
/// `names` is a NUL-terminated text that lives as long as the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ravel_recursive_functions(names: *const c_char) {
    RECURSIVE.store(names.cast_mut(), Ordering::Relaxed);
}

/// Bytes of stack that this thread has, where it is watched.
pub fn size() -> Option<usize> {
    Some(SIZE.get()).filter(|_| LOWEST.get() != 0)
}

/// What an exhausted stack of so many bytes is reported as. Whether the recursion would have ended, nobody knows.
pub fn exhausted(bytes: usize, depth: Option<usize>, who: Option<&str>) -> String {
    let mebibytes = bytes >> 20;
    let mut message = format!("the recursion is too deep: the stack of {mebibytes} MiB is exhausted");
    if let Some(depth) = depth {
        message.push_str(&format!(", some {depth} calls deep"));
    }
    match who {
        Some(who) if who.contains("`, `") || who.contains("), `") => {
            message.push_str(&format!("; one of these functions calls itself: {who}"));
        }
        Some(who) => message.push_str(&format!("; {who} calls itself")),
        None => {}
    }
    let more = (4 * mebibytes).clamp(*MEBIBYTES.start(), *MEBIBYTES.end());
    message.push_str(&format!("; if it would end, write a loop, or give it more stack: RAVEL_STACK={more}"));
    message
}

/// Calls on the stack of this thread, by the frames that each one links to that of its caller; nothing if they do not.
///
/// # Safety
/// The context is that of a signal for an access to `address`, and this thread's stack is watched.
unsafe fn depth(context: *const libc::ucontext_t, address: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: by contract.
    let mut frame = unsafe { (*context).uc_mcontext.gregs[libc::REG_RBP as usize] } as usize;
    #[cfg(target_arch = "aarch64")]
    // SAFETY: by contract.
    let mut frame = unsafe { (*context).uc_mcontext.regs[29] } as usize;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let mut frame = {
        let _ = context;
        0usize
    };
    let (lowest, size) = (LOWEST.get(), SIZE.get());
    let mut found = 0;
    // What could not be accessed is below all frames, and so is the rest of its page.
    // SAFETY: asks for a constant of the system.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(64 << 10);
    let floor = (address | (page - 1)).max(lowest - 1);
    while frame.is_multiple_of(16) && frame > floor && frame < lowest + size - 16 {
        found += 1;
        // SAFETY: an address inside of the stack, above the page that could not be accessed.
        let next = unsafe { (frame as *const usize).read() };
        if next <= frame {
            break;
        }
        frame = next;
    }
    // One frame is not a recursion: the code keeps no frames.
    (found > 100).then_some(found)
}

fn install_handler() {
    static ONCE: Once = Once::new();
    ONCE.call_once(handle_again);
}

/// Installs the handler once more: libraries that are opened may put theirs in its place.
pub(crate) fn handle_again() {
    [libc::SIGSEGV, libc::SIGBUS].into_iter().for_each(|signal| signals::handle(signal, on_signal, libc::SA_NODEFER));
}

/// A memory access near the end of a watched stack is a fault; any other one gets the default treatment.
extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes valid information for these signals.
    let address = unsafe { (*info).si_addr() } as usize;
    let lowest = LOWEST.get();
    if lowest != 0 && address.abs_diff(lowest) < GUARD_REACH {
        // The thread never returns to the code that overflowed. It can only have been interrupted inside compiled code or a
        // native it called; allocating here is not strictly allowed in a handler, but the alternative is to say nothing.
        // The position that compiled code set last is that of some call before the recursion: it would mislead.
        // SAFETY: the kernel passes the context, and the stack is watched.
        let depth = unsafe { depth(context.cast(), address) };
        let names = RECURSIVE.load(Ordering::Relaxed);
        // SAFETY: the program has stored a text that lives as long as it.
        let names = (!names.is_null()).then(|| unsafe { CStr::from_ptr(names) }.to_string_lossy());
        fault::raise_at(None, Fault::here(exhausted(SIZE.get(), depth, names.as_deref())));
    }
    // SAFETY: restores the default action; the access is repeated on return and ends the process as usual.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}
