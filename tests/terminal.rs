//! The prompt at a terminal: interrupts, what is pasted, what stands in an open line, and what inputs leave behind in the process.
//!
//! `setsid --ctty` makes a pseudo-terminal the one of the prompt, so that Ctrl-C is a signal as for a person.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use ravel_tests::{Arguments, Failed, Trial, ravel};

type Tested = Result<(), Failed>;

const CTRL_C: &str = "\u{3}";
/// What takes longer has failed.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// The prompt after everything that a line editor does to the line.
const PROMPT: &str = "ravel> ";

/// A prompt, and what it has written so far.
struct Terminal {
    keyboard: File,
    screen: Arc<(Mutex<String>, Condvar)>,
    child: Child,
    /// What was looked at.
    seen: usize,
    _folder: tempfile::TempDir,
}

/// Both ends of a pseudo-terminal: a person's and the program's.
fn pseudo_terminal() -> Result<(File, OwnedFd), Failed> {
    let (mut person, mut program) = (-1, -1);
    let size = libc::winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: there is room for both descriptors, which belong to their owners from here on.
    unsafe {
        let (name, settings) = (std::ptr::null_mut(), std::ptr::null());
        if libc::openpty(&mut person, &mut program, name, settings, &size) != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        libc::fcntl(person, libc::F_SETFD, libc::FD_CLOEXEC);
        Ok((File::from_raw_fd(person), OwnedFd::from_raw_fd(program)))
    }
}

impl Terminal {
    fn start() -> Result<Terminal, Failed> {
        let folder = tempfile::tempdir()?;
        let history = folder.path().join("history");
        Terminal::start_with(folder, &history)
    }

    /// With this history, in a folder that goes with the terminal.
    fn start_with(folder: tempfile::TempDir, history: &Path) -> Result<Terminal, Failed> {
        let (keyboard, program) = pseudo_terminal()?;
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "--wait"])
            .arg(ravel())
            .args(["repl", "--threads", "4"])
            .env("RAVEL_HISTORY", history)
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            // Of address space, which is measured, the C library takes 64 MiB for an arena whenever threads meet in another one.
            .env("MALLOC_ARENA_MAX", "2")
            .stdin(Stdio::from(program.try_clone()?))
            .stdout(Stdio::from(program.try_clone()?))
            .stderr(Stdio::from(program));
        let child = command.spawn()?;
        // The command keeps the program's end open, which would hide its end.
        drop(command);
        let screen = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let (mut lines, written) = (keyboard.try_clone()?, Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = lines.read(&mut bytes) {
                written.0.lock().expect("no panic").push_str(&String::from_utf8_lossy(&bytes[..count]));
                written.1.notify_all();
            }
        });
        let mut terminal = Terminal { keyboard, screen, child, seen: 0, _folder: folder };
        terminal.wait_for(PROMPT)?;
        Ok(terminal)
    }

    fn press(&mut self, keys: &str) -> Tested {
        Ok(self.keyboard.write_all(keys.as_bytes())?)
    }

    /// Waits until a text has been written after what was seen before.
    fn wait_for(&mut self, text: &str) -> Tested {
        let start = Instant::now();
        let mut screen = self.screen.0.lock().expect("no panic");
        loop {
            if let Some(at) = screen[self.seen..].find(text) {
                self.seen += at + text.len();
                return Ok(());
            }
            if start.elapsed() > TIME_LIMIT {
                return Err(format!("waited for {text:?}, but saw {:?}", &screen[self.seen..]).into());
            }
            screen = self.screen.1.wait_timeout(screen, Duration::from_millis(100)).expect("no panic").0;
        }
    }

    /// Enters a line and waits for an answer, which must not stand in the line itself.
    fn answers(&mut self, line: &str, answer: &str) -> Tested {
        self.press(&format!("{line}\r"))?;
        self.wait_for(answer)?;
        self.wait_for(PROMPT)
    }

    /// What the system says of the process.
    fn status(&self, name: &str) -> Result<u64, Failed> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok());
        number.ok_or_else(|| format!("no {name} in {text}").into())
    }

    /// Processor time so far, in ticks.
    fn time(&self) -> Result<u64, Failed> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        Ok(rest.split_ascii_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
    }

    /// A prompt that waits takes no time, once threads that look for work have gone to sleep.
    fn is_idle(&self) -> Tested {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(20) {
            let before = self.time()?;
            std::thread::sleep(Duration::from_millis(500));
            if self.time()? <= before + 1 {
                return Ok(());
            }
        }
        Err("a core is busy although the prompt waits".into())
    }

    fn quit(mut self) -> Tested {
        self.press(":quit\r")?;
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the prompt ended with {status}").into()) }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Says that it runs, and does not end.
const ENDLESS: &str = "printf(\"%d runs\\n\", 6 * 7); x = 1; while (x != 0) { x = 5 * x; }";
/// The same in every thread.
const ENDLESS_THREADS: &str = "printf(\"%d runs\\n\", 6 * 7); s = { [i] -> endless(i) | [i] < [1000] };";

fn interrupts_end_computations() -> Tested {
    let mut terminal = Terminal::start()?;
    terminal.answers("int endless(int i) { x = 2 * i + 1; while (x != 0) { x = 5 * x; } return x; }", "")?;
    terminal.answers("void reading() { int n; printf(\"%d runs\\n\", 6 * 7); ok, n = scanf(\"%d\"); }", "")?;
    terminal.answers("kept = 20", "")?;
    terminal.answers(
        "int[.] longer(int[.] a) { printf(\"%d runs\\n\", 6 * 7); while (a[0] == 1) { a = a ++ [2]; if (shape(a)[0] > 999) { a = take([1], a); } } return a; }",
        "",
    )?;
    for endless in [ENDLESS, ENDLESS_THREADS, "reading()", "longer([1])", ENDLESS] {
        terminal.press(&format!("{endless}\r"))?;
        terminal.wait_for("42 runs")?;
        std::thread::sleep(Duration::from_millis(200));
        terminal.press(CTRL_C)?;
        terminal.wait_for("interrupted")?;
        terminal.wait_for(PROMPT)?;
        terminal.answers("kept + 22", "int: 42")?;
    }
    terminal.answers("sum({ [i] -> 2.0 * tod(i) | [i] < [4000000] })", "double: 15999996000000.0")?;
    terminal.is_idle()?;
    // The prompt, those for signals and for interrupts, one that waits for the next input, and threads of a pool at most.
    let threads = terminal.status("Threads")?;
    if threads > 5 + 3 {
        return Err(format!("{threads} threads").into());
    }
    terminal.quit()
}

fn an_interrupt_drops_what_was_pasted_behind() -> Tested {
    let mut terminal = Terminal::start()?;
    terminal.press(&format!("\u{1b}[200~{ENDLESS}\nprintf(\"%d\", 111 * 11)\u{1b}[201~\r"))?;
    terminal.wait_for("42 runs")?;
    std::thread::sleep(Duration::from_millis(200));
    terminal.press(CTRL_C)?;
    terminal.wait_for("interrupted")?;
    terminal.wait_for(PROMPT)?;
    terminal.answers("40 + 2", "int: 42")?;
    if terminal.screen.0.lock().expect("no panic").contains("1221") {
        return Err("a pasted line ran after the interrupt".into());
    }
    terminal.quit()
}

fn lines_that_are_pasted_are_inputs() -> Tested {
    let mut terminal = Terminal::start()?;
    terminal
        .press("\u{1b}[200~a = 20\nb = 22\nint twice(int x)\n{\n  return 2 * x;\n}\ntwice(a + b)\n\u{1b}[201~\r")?;
    terminal.wait_for("int: 84")?;
    // From a terminal that does not say what is pasted.
    terminal.press("c = 1\rd = 2\rtwice(c + d)\r")?;
    terminal.wait_for("int: 6")?;
    terminal.quit()
}

/// An input of several lines is edited as one, and a tab shows what there is, with types.
fn inputs_are_edited_and_completed() -> Tested {
    let mut terminal = Terminal::start()?;
    terminal.press("int twofold(int x)\r{ return 2 * y;\r}")?;
    // Up to the second line, whose `y` is wrong.
    terminal.press("\u{1b}[A\u{1b}[F\u{7f}\u{7f}x;\u{1b}[B\r")?;
    terminal.answers("twofold(21)", "int: 42")?;
    terminal.answers("kernel = [1.0, 2.0]", "")?;
    terminal.answers("kept = [[1, 2], [3, 4]]", "")?;
    terminal.press("ke\t\t")?;
    terminal.wait_for("kept: int[2,2]")?;
    terminal.wait_for("kernel: double[2]")?;
    terminal.press("r\t[1]\r")?;
    terminal.wait_for("double: 2.0")?;
    // What fits the next parameter stands first; what does not says so.
    terminal.answers("double[n] weighted(double[n] a, double[n] b) { return a + b; }", "")?;
    terminal.press("weighted([1.0, 2.0], ke\t\t")?;
    terminal.wait_for("kernel: double[2]")?;
    terminal.wait_for("kept: int[2,2], does not fit")?;
    terminal.press("r\t)\r")?;
    terminal.wait_for("double[2]: [2.0, 4.0]")?;
    terminal.press("twof\t21)\r")?;
    terminal.wait_for("int: 42")?;
    terminal.press(":und\t\r")?;
    terminal.wait_for("undone: twofold(21)")?;
    terminal.quit()
}

fn open_lines_stay() -> Tested {
    let mut terminal = Terminal::start()?;
    terminal.press("printf(\"%d\", 111 * 11)\r")?;
    terminal.wait_for("1221\r\n")?;
    terminal.wait_for(PROMPT)?;
    terminal.press("printf(\"%d\", 111 * 11); 4 + 3\r")?;
    terminal.wait_for("1221\r\nint: 7\r\n")?;
    terminal.quit()
}

fn a_program_never_becomes_a_history() -> Tested {
    const TEXT: &str = "int main() { return 0; }\n";
    for (name, text, stays) in [("program.sac", TEXT, true), ("empty", "", false)] {
        let folder = tempfile::tempdir()?;
        let history = folder.path().join(name);
        fs::write(&history, text)?;
        let mut terminal = Terminal::start_with(folder, &history)?;
        terminal.answers("20 + 22", "int: 42")?;
        let after = fs::read_to_string(&history)?;
        if (after == text) != stays || !stays && !after.contains("20 + 22") {
            return Err(format!("{name}: {after:?}").into());
        }
        terminal.quit()?;
    }
    Ok(())
}

/// Faults on worker threads, and inputs as such, leave nothing behind.
fn inputs_leave_nothing_behind() -> Tested {
    const FAULTS: &str = "sum({ [i] -> pick(a, i) | [i] < [4000000] })";
    // Sixteen megabytes are half written when the last index is found to be wrong.
    const LOST: &str = "b = { [i] -> pick(a, i) + 1 | [i] < [4000000] };";
    let mut terminal = Terminal::start()?;
    terminal.answers("noinline int pick(int[.] a, int i) { return a[i]; }", "")?;
    terminal.answers("a = iota(3999999)", "")?;
    let rounds = |terminal: &mut Terminal, count: usize| -> Tested {
        for n in 0..count {
            terminal.answers(&format!("{n} + 100000"), &format!("int: {}", n + 100_000))?;
            if n % 10 == 0 {
                terminal.answers(FAULTS, "fault [E0330]: ")?;
                terminal.answers(LOST, "fault [E0330]: ")?;
            }
        }
        Ok(())
    };
    rounds(&mut terminal, 50)?;
    terminal.is_idle()?;
    let before = (terminal.status("VmSize")?, terminal.status("Threads")?);
    rounds(&mut terminal, 200)?;
    terminal.is_idle()?;
    let after = (terminal.status("VmSize")?, terminal.status("Threads")?);
    // Code and its tables stay: 20 KiB for an input. Stacks of handlers were 132 KiB, those of threads far more.
    if after.0 > before.0 + 200 * 20 || after.1 > before.1 {
        return Err(format!("KiB of address space, and threads: {before:?}, then {after:?}").into());
    }
    // A variable that inputs have taken before a fault is nobody else's.
    terminal.answers("a = iota(10)", "")?;
    terminal.answers("sum(a)", "int: 45")?;
    let resident = terminal.status("VmRSS")?;
    if resident > 150 << 10 {
        return Err(format!("{resident} KiB are in use").into());
    }
    terminal.quit()
}

/// A reset gives code back, also after faults and interrupts on all threads.
fn resets_give_code_back() -> Tested {
    let mut terminal = Terminal::start()?;
    let stretches = |terminal: &Terminal| -> Result<usize, Failed> {
        Ok(fs::read_to_string(format!("/proc/{}/maps", terminal.child.id()))?.lines().count())
    };
    let session = |terminal: &mut Terminal, n: usize| -> Tested {
        terminal.answers(&format!("noinline int pick(int[.] a, int i) {{ return a[i] + {n}; }}"), "")?;
        terminal.answers("a = iota(99999)", "")?;
        terminal.answers("words = [1.5, 2.5]", "")?;
        terminal.answers("pick(a, 100)", &format!("int: {}", n + 100))?;
        match n % 5 {
            0 => terminal.answers("sum({ [i] -> pick(a, i) | [i] < [100000] })", "fault [E0330]: ")?,
            1 => {
                terminal
                    .answers("noinline int endless(int i) { while (i != 7) { i = i == 5 ? 3 : 5; } return i; }", "")?;
                terminal.press(&format!("{ENDLESS_THREADS}\r"))?;
                terminal.wait_for("42 runs")?;
                terminal.press(CTRL_C)?;
                terminal.wait_for("interrupted")?;
                terminal.wait_for(PROMPT)?;
            }
            _ => {}
        }
        terminal.answers(":reset", "")?;
        terminal.answers(&format!("{n} + 100000"), &format!("int: {}", n + 100_000))
    };
    (0..10).try_for_each(|n| session(&mut terminal, n))?;
    let before = (stretches(&terminal)?, terminal.status("VmSize")?);
    (10..60).try_for_each(|n| session(&mut terminal, n))?;
    let after = (stretches(&terminal)?, terminal.status("VmSize")?);
    // The code of an input that stays is two stretches. A new reservation takes a gibibyte. Threads come and go.
    if after.0 > before.0 + 50 || after.1 > before.1 + (2 << 20) {
        return Err(format!("stretches of memory, and KiB of address space: {before:?}, then {after:?}").into());
    }
    terminal.quit()
}

fn main() -> ExitCode {
    type Test = fn() -> Tested;
    let trials: [(&str, Test); 8] = [
        ("interrupts end computations", interrupts_end_computations),
        ("an interrupt drops what was pasted behind", an_interrupt_drops_what_was_pasted_behind),
        ("lines that are pasted are inputs", lines_that_are_pasted_are_inputs),
        ("inputs are edited and completed", inputs_are_edited_and_completed),
        ("open lines stay", open_lines_stay),
        ("a program never becomes a history", a_program_never_becomes_a_history),
        ("inputs leave nothing behind", inputs_leave_nothing_behind),
        ("resets give code back", resets_give_code_back),
    ];
    let trials = trials.map(|(name, test)| Trial::test(name, test));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}
