//! Ending the threads of a session that a fault or an interrupt has ended.
//!
//! Nothing unwinds through compiled frames, and threads of a session read each other's stacks. So a thread is stopped where it holds nothing that
//! the process needs: in compiled code, or where the runtime asks ([`check`]). It stays there until all threads of its session have
//! stopped, and then ends as if its work had returned ([`escape`]): what belongs to it alone is given back, and its stack can be freed.
//!
//! Protocol: a thread's `word` holds its session and whether it is told to stop. The one who stops a session sets that bit in the words of all
//! threads that work for it and sends them a signal, again and again until all have stopped: the handler does nothing unless the thread
//! is in compiled code. That is what lies in memory that belongs to no file.

use std::cell::Cell;
use std::ffi::CString;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use crate::stack::{self, Alternate};
use crate::{fault, pool, signals};

mod escape;

/// Ignored unless a handler is installed, and nobody types it.
const SIGNAL: libc::c_int = libc::SIGURG;
/// A word says that the thread is to stop.
const TOLD: u64 = 1;
/// How long the owner of a session waits for its threads. Those that are in the system, or in a long native, stop later.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two signals.
const PAUSE: Duration = Duration::from_micros(500);
/// Rounds of signals after which compiled code is looked for again.
const LOOK_AGAIN: u32 = 100;
/// Between two signals to threads that did not stop in time.
const LONG_PAUSE: Duration = Duration::from_millis(50);

/// A thread that may work for sessions.
#[derive(Default)]
pub(crate) struct Member {
    /// The call that it can leave at any time.
    base: AtomicUsize,
    /// Its `pthread_t`, once it is started.
    thread: AtomicUsize,
    /// Twice the number of its session, and [`TOLD`].
    word: AtomicU64,
    stopped: AtomicBool,
    /// All threads of its session have stopped.
    released: AtomicBool,
    /// It does nothing any more.
    gone: AtomicBool,
    /// The stack of its signal handlers.
    alternate: Alternate,
}

/// Every thread that was started and not yet joined.
static MEMBERS: Mutex<Vec<Arc<Member>>> = Mutex::new(Vec::new());

thread_local! {
    static ME: Cell<*const Member> = const { Cell::new(std::ptr::null()) };
    /// The session of a thread that is no member.
    static STRANGER: Cell<u64> = const { Cell::new(0) };
}

fn members() -> MutexGuard<'static, Vec<Arc<Member>>> {
    MEMBERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn me() -> Option<&'static Member> {
    // SAFETY: a member is freed after its thread has been joined.
    unsafe { ME.get().as_ref() }
}

/// The session that this thread works for; 0 outside sessions.
pub(crate) fn session() -> u64 {
    me().map_or_else(|| STRANGER.get(), |me| me.word.load(Ordering::Relaxed) / 2)
}

/// Makes this thread work for a session, and says for which one it did.
pub(crate) fn enter_session(id: u64) -> u64 {
    let before = match me() {
        Some(me) => me.word.swap(2 * id, Ordering::SeqCst) / 2,
        None => STRANGER.replace(id),
    };
    if before != id {
        // The code that set a position belongs to another session, and may be gone.
        fault::forget_position();
    }
    before
}

/// Whether no thread is on its way to stop: each that worked for a session that was ended does nothing for it any more.
pub(crate) fn all_have_stopped() -> bool {
    let goes_on =
        |member: &Arc<Member>| member.word.load(Ordering::SeqCst) & TOLD != 0 && !member.gone.load(Ordering::SeqCst);
    !members().iter().any(goes_on)
}

/// Whether this thread's session is over.
pub(crate) fn is_told() -> bool {
    me().is_some_and(|me| me.word.load(Ordering::Relaxed) & TOLD != 0)
}

/// Ends this thread if its session is over. The caller holds no lock and nothing that would have to be dropped.
pub(crate) fn check() {
    if is_told() {
        leave();
    }
}

/// Sleeps, unless the thread's session is over before.
pub(crate) fn sleep(time: Duration) {
    let end = Instant::now() + time;
    loop {
        check();
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LONG_PAUSE));
    }
}

/// Ends this thread, as soon as all threads of its session have stopped.
pub(crate) fn leave() -> ! {
    if let Some(me) = me() {
        me.stopped.store(true, Ordering::SeqCst);
        while !me.released.load(Ordering::SeqCst) {
            pause(PAUSE);
        }
        // SAFETY: the thread is inside the call, and no frame above it is needed any more.
        unsafe { escape::out(me.base.load(Ordering::SeqCst)) };
    }
    loop {
        std::thread::park();
    }
}

/// Sleeps, also in a signal handler.
fn pause(time: Duration) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: the time is a valid one, and nobody wants to know what was left.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

type Work = Box<dyn FnOnce() + Send>;

/// Starts a thread that can be stopped. It is joined by [`reap`].
///
/// # Errors
/// The system refuses to start a thread.
pub(crate) fn spawn(name: &str, bytes: usize, work: Work) -> io::Result<()> {
    reap();
    let member = Arc::new(Member::default());
    // Taken apart again by the thread, or below.
    let start = Box::into_raw(Box::new((Arc::clone(&member), work)));
    // The list is held until the thread is on it.
    let mut list = members();
    // SAFETY: plain calls of the C library; the thread gets a box that nobody else has.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        let mut thread: libc::pthread_t = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        let mut result = libc::pthread_attr_setstacksize(&mut attributes, bytes);
        if result == 0 {
            result = libc::pthread_create(&mut thread, &attributes, run, start.cast());
        }
        libc::pthread_attr_destroy(&mut attributes);
        if result != 0 {
            drop(Box::from_raw(start));
            return Err(io::Error::from_raw_os_error(result));
        }
        member.thread.store(thread as usize, Ordering::SeqCst);
        if let Ok(name) = CString::new(name) {
            // For those who look at the process; a name that is too long is no matter.
            libc::pthread_setname_np(thread, name.as_ptr());
        }
    }
    list.push(member);
    Ok(())
}

extern "C" fn run(start: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `spawn` passes this box, and nobody else takes it.
    let (member, work) = *unsafe { Box::from_raw(start.cast::<(Arc<Member>, Work)>()) };
    ME.set(Arc::as_ptr(&member));
    // SAFETY: the stack lives until the thread is joined.
    unsafe { stack::watch(&member.alternate) };
    let mut work = Some(work);
    // SAFETY: `body` gets the place of the work.
    unsafe { escape::call(body, std::ptr::from_mut(&mut work).cast(), member.base.as_ptr()) };
    // The list keeps the member until the thread is joined.
    member.stopped.store(true, Ordering::SeqCst);
    member.gone.store(true, Ordering::SeqCst);
    std::ptr::null_mut()
}

extern "C" fn body(work: *mut libc::c_void) {
    // SAFETY: `run` passes this place.
    if let Some(work) = unsafe { &mut *work.cast::<Option<Work>>() }.take() {
        // A panic is a bug of the runtime, and has said so; nothing may unwind from here.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    }
}

/// Joins the threads that have ended, if no other one of their session may still read their stacks.
pub(crate) fn reap() {
    let mut list = members();
    let session = |member: &Member| member.word.load(Ordering::SeqCst) / 2;
    let is_gone = |member: &Member| member.gone.load(Ordering::SeqCst);
    let busy: Vec<u64> = list.iter().filter(|member| !is_gone(member)).map(|member| session(member)).collect();
    list.retain(|member| {
        let id = session(member);
        let stays = !is_gone(member) || id != 0 && busy.contains(&id);
        if !stays {
            // SAFETY: the thread is on the list, so nobody has joined it. It has nothing left to do.
            unsafe {
                libc::pthread_join(member.thread.load(Ordering::SeqCst) as libc::pthread_t, std::ptr::null_mut())
            };
        }
        stays
    });
}

/// Stops the threads that work for a session that is over, as far as they stop in time; the others stop later. Whether all have stopped.
pub(crate) fn stop(id: u64) -> bool {
    install_handler();
    let has_stopped = stop_until(id, Instant::now() + PATIENCE, PAUSE);
    if !has_stopped {
        // If no thread can be started, the next session tries again.
        let _ = std::thread::Builder::new().spawn(
            move || {
                while !stop_until(id, Instant::now() + LONG_PAUSE, LONG_PAUSE) {}
            },
        );
    }
    has_stopped
}

/// Stops the threads that work for a session that is over, however long that takes.
pub(crate) fn stop_entirely(id: u64) -> bool {
    install_handler();
    while !stop_until(id, Instant::now() + LONG_PAUSE, PAUSE) {}
    true
}

/// Whether no thread works for the session any more.
fn stop_until(id: u64, deadline: Instant, pause: Duration) -> bool {
    let mut is_abandoned = false;
    for number in 0.. {
        // Threads that are about to stop need no signal. Code is looked for now and then, since that takes long where there is much.
        if number % LOOK_AGAIN == 1 {
            compiled::look_up();
        }
        match tell(id, number > 0, is_abandoned) {
            Told::Gone => {
                reap();
                return true;
            }
            // The session may have made a pool after it was told. A worker of that one which has taken up a job sees that the pool is
            // abandoned, or is found when threads are looked for once more. Only then may stacks go that it reads.
            Told::Stopped if !is_abandoned => {
                pool::abandon();
                is_abandoned = true;
                continue;
            }
            Told::Stopped | Told::Running => {}
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(pause);
    }
    false
}

/// What the threads of a session do.
enum Told {
    /// There are none any more.
    Gone,
    /// All wait for their release, or have it.
    Stopped,
    Running,
}

/// Tells the threads of a session to stop, and with `releases` lets them end once all have.
fn tell(id: u64, with_signal: bool, releases: bool) -> Told {
    let list = members();
    let of_session: Vec<&Arc<Member>> =
        list.iter().filter(|member| member.word.load(Ordering::SeqCst) / 2 == id).collect();
    if of_session.iter().all(|member| member.gone.load(Ordering::SeqCst)) {
        return Told::Gone;
    }
    let running: Vec<_> = of_session.iter().filter(|member| !member.stopped.load(Ordering::SeqCst)).collect();
    if running.is_empty() {
        of_session.iter().for_each(|member| member.released.store(releases, Ordering::SeqCst));
        return Told::Stopped;
    }
    for member in running {
        // A thread that works for another session by now is left alone.
        let told = member.word.compare_exchange(2 * id, (2 * id) | TOLD, Ordering::SeqCst, Ordering::SeqCst);
        if with_signal && (told.is_ok() || told == Err((2 * id) | TOLD)) {
            // SAFETY: the thread was started and is not joined as long as it is on the list.
            unsafe { libc::pthread_kill(member.thread.load(Ordering::SeqCst) as libc::pthread_t, SIGNAL) };
        }
    }
    Told::Running
}

fn install_handler() {
    static ONCE: Once = Once::new();
    // System calls are not begun again: a thread that waits for input is to stop.
    ONCE.call_once(|| signals::handle(SIGNAL, on_signal, 0));
}

/// In compiled code a thread holds no lock and is in no function of a library: there it may do anything, also end.
extern "C" fn on_signal(_signal: libc::c_int, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the thread's registers.
    if is_told() && unsafe { program_counter(context) }.is_some_and(compiled::contains) {
        leave();
    }
}

/// Where the thread was interrupted; nothing on machines that are not known here.
///
/// # Safety
/// `context` is that of a signal handler.
unsafe fn program_counter(context: *mut libc::c_void) -> Option<usize> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    // SAFETY: by contract.
    return Some(unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] } as usize);
    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    // SAFETY: by contract.
    return Some(unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc } as usize);
    #[allow(unreachable_code)]
    {
        let _ = context;
        None
    }
}

/// Where compiled code lies.
mod compiled {
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The system keeps neighbours together, so there are few.
    const MOST: usize = 64;

    static STARTS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
    static ENDS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];

    /// Asks the system. Only one thread does so at a time.
    pub fn look_up() {
        let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
        let found = ranges(&maps);
        for (n, (start, end)) in found.into_iter().chain(std::iter::repeat((0, 0))).take(MOST).enumerate() {
            // No range while it changes.
            ENDS[n].store(0, Ordering::SeqCst);
            STARTS[n].store(start, Ordering::SeqCst);
            ENDS[n].store(end, Ordering::SeqCst);
        }
    }

    pub fn contains(place: usize) -> bool {
        let is_within = |n: usize| place < ENDS[n].load(Ordering::SeqCst) && place >= STARTS[n].load(Ordering::SeqCst);
        (0..MOST).any(is_within)
    }

    /// Stretches of memory without a file, some of it code. What lies between code may belong to them: no thread is there.
    pub fn ranges(maps: &str) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        // The stretch at hand, and whether there is code in it.
        let mut stretch: Option<(usize, usize)> = None;
        let mut has_code = false;
        let mut finish = |stretch: Option<(usize, usize)>, has_code: bool| found.extend(stretch.filter(|_| has_code));
        for line in maps.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(range), Some(rights)) = (words.next(), words.next()) else { continue };
            // Offset, device and inode; then the name, if there is one.
            let is_nameless = words.nth(2) == Some("0") && words.next().is_none();
            let range = range.split_once('-').and_then(|(start, end)| {
                Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
            });
            let Some((start, end)) = range.filter(|_| is_nameless) else {
                finish(stretch.take(), has_code);
                continue;
            };
            match &mut stretch {
                Some((_, last)) if *last == start => *last = end,
                _ => {
                    finish(stretch.replace((start, end)), has_code);
                    has_code = false;
                }
            }
            has_code |= rights.contains('x');
        }
        finish(stretch, has_code);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{self, Fault};
    use crate::pool;

    #[test]
    fn compiled_code_is_what_belongs_to_no_file() {
        let maps = "\
1000-2000 r-xp 00000000 08:01 77   /usr/bin/ravel
2000-3000 rw-p 00000000 00:00 0    [heap]
5000-6000 rw-p 00000000 00:00 0
6000-7000 r-xp 00000000 00:00 0
7000-8000 r--p 00000000 00:00 0
8000-9000 r-xp 00000000 00:00 0
a000-b000 rw-p 00000000 00:00 0
b000-c000 r-xp 00000000 00:00 0    [vdso]
c000-d000 r-xp 00000000 00:00 0
";
        assert_eq!(compiled::ranges(maps), [(0x5000, 0x9000), (0xc000, 0xd000)]);
    }

    /// Threads of this process.
    fn threads() -> usize {
        std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
    }

    /// Whether the number of threads falls back to what it was.
    fn falls_to(count: usize) -> bool {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(20) {
            reap();
            if threads() <= count {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// `jmp` to itself, as compiled code would have it.
    #[cfg(target_arch = "x86_64")]
    fn endless() -> unsafe extern "C" fn(*mut u8, i64, i64, i64) {
        // SAFETY: a page of our own, filled before it is called.
        unsafe {
            let rights = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            let page = libc::mmap(std::ptr::null_mut(), 4096, rights, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
            assert_ne!(page, libc::MAP_FAILED);
            page.cast::<[u8; 2]>().write([0xeb, 0xfe]);
            std::mem::transmute(page)
        }
    }

    /// Interrupts every session, so it runs in a process of its own.
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    #[test]
    fn interrupted_threads_end_and_faults_leave_none() {
        const ALONE: &str = "RAVEL_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let this = std::env::current_exe().expect("a test");
            let name = "stop::tests::interrupted_threads_end_and_faults_leave_none";
            let run = std::process::Command::new(this).args(["--exact", name, "--nocapture"]).env(ALONE, "1").output();
            let run = run.expect("it starts");
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            return;
        }
        let endless = endless();
        pool::set_threads(4);
        let before = threads();
        for parallel in [false, true, true] {
            let session = std::thread::spawn(move || {
                fault::run_session(move || {
                    // SAFETY: the work never returns and reads nothing.
                    unsafe {
                        match parallel {
                            true => pool::ravel_parallel(endless, std::ptr::null_mut(), 100, 1, 0, std::ptr::null()),
                            false => endless(std::ptr::null_mut(), 0, 1, 0),
                        }
                    }
                })
            });
            std::thread::sleep(Duration::from_millis(100));
            assert!(fault::interrupt());
            let report = session.join().expect("no panic").expect_err("it was interrupted");
            assert_eq!(report.fault.ending, fault::Ending::Interrupted);
            assert!(falls_to(before), "{} threads", threads());
        }
        // One of the chunks faults, others never end.
        for _ in 0..5 {
            let report = fault::run_session(move || {
                let mut work = Mixed { endless };
                // SAFETY: the work reads this value, which lives as long as the thread.
                unsafe {
                    pool::ravel_parallel(mixed, std::ptr::from_mut(&mut work).cast(), 100, 1, 0, std::ptr::null())
                }
            });
            assert_eq!(report.expect_err("a chunk faults").fault, Fault::new("chunk"));
            assert!(falls_to(before), "{} threads", threads());
        }
        assert!(!fault::interrupt());
    }

    struct Mixed {
        endless: unsafe extern "C" fn(*mut u8, i64, i64, i64),
    }

    unsafe extern "C" fn mixed(ctx: *mut u8, lo: i64, hi: i64, slot: i64) {
        if lo == 99 || slot == 1 {
            fault::raise(Fault::new("chunk"));
        }
        // SAFETY: the test passes this, and the function reads nothing.
        unsafe { ((*ctx.cast::<Mixed>()).endless)(ctx, lo, hi, slot) }
    }
}
