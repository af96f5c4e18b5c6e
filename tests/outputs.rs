//! What `ravel` and its programs write: never over an input or what is no file, never half of it, and never nothing without saying so.
//!
//! Signals are sent when a program says on standard error that it is ready.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ravel_tests::{Arguments, Failed, Finished, Trial, finish, ravel, with_signals};

type Tested = Result<(), Failed>;

/// Prints, says that it is ready, and does not end.
const ENDLESS: &str = "use StdIO: all; use Array: all;
int main() {
  printf(\"printed before\\n\");
  fprintf(stderr, \"ready\\n\");
  x = 1;
  while (x != 0) { x = 5 * x; }
  return x;
}
";

const HELLO: &str = "use StdIO: all;\nint main() { printf(\"hello\\n\"); return 0; }\n";

/// A folder with a program of three files.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Result<Place, Failed> {
        let place = Place(tempfile::tempdir()?);
        place.write("life.sac", "import Cells: all;\n#include \"cells.h\"\nint main() { return one(ONE); }\n")?;
        place.write("Cells.sac", "module Cells;\nexport all;\nint one(int x) { return x; }\n")?;
        place.write("cells.h", "#define ONE 0\n")?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Tested {
        Ok(fs::write(self.path(name), text)?)
    }

    /// `ravel` in this folder.
    fn ravel(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(ravel());
        command.args(arguments).current_dir(self.0.path());
        command
    }

    fn names(&self) -> Result<Vec<String>, Failed> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.0.path())? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }
}

fn demand(condition: bool, run: &Finished, wanted: &str) -> Tested {
    if condition && !run.crashed() { Ok(()) } else { Err(format!("expected {wanted}: {}", run.describe()).into()) }
}

/// The command says why it writes nothing, and the folder stays as it is.
fn refuses(place: &Place, arguments: &[&str], why: &str) -> Tested {
    let before = place.names()?;
    let run = finish(&mut place.ravel(arguments), b"")?;
    demand(run.status == 1 && run.stdout.is_empty() && run.stderr.contains(why), &run, why)?;
    if place.names()? == before { Ok(()) } else { Err(format!("files were left by {arguments:?}").into()) }
}

fn inputs_are_not_replaced() -> Tested {
    let place = Place::new()?;
    fs::hard_link(place.path("cells.h"), place.path("second"))?;
    symlink("Cells.sac", place.path("third"))?;
    let texts = || ["life.sac", "Cells.sac", "cells.h"].map(|name| fs::read(place.path(name)).unwrap_or_default());
    let before = texts();
    for command in ["run", "check", "build", "opt"] {
        refuses(&place, &[command, "--explain=life.sac", "life.sac"], "it is the source file")?;
        refuses(&place, &[command, "--explain=./life.sac", "life.sac"], "it is the source file")?;
    }
    for name in ["Cells.sac", "cells.h", "second", "third"] {
        let why = if name.starts_with('C') || name == "third" {
            "names with .sac are for source files"
        } else {
            "it is a source file of the program"
        };
        refuses(&place, &["run", &format!("--explain={name}"), "life.sac"], why)?;
        refuses(&place, &["build", "-o", name, "life.sac"], "cannot write")?;
    }
    refuses(&place, &["build", "-o", "life", "--explain=life", "life.sac"], "it is the executable")?;
    if texts() == before { Ok(()) } else { Err("an input was changed".into()) }
}

fn what_is_no_file_stays() -> Tested {
    let place = Place::new()?;
    let made = Command::new("mkfifo").arg(place.path("pipe")).status()?;
    if !made.success() {
        return Err("no pipe could be made".into());
    }
    let device = fs::metadata("/dev/null")?.file_type();
    for output in ["-o", "--explain="] {
        for (name, why) in [("pipe", "it is a pipe"), ("/dev/null", "it is a device"), (".", "it is a folder")] {
            let arguments = match output {
                "-o" => vec!["build".to_string(), "-o".to_string(), name.to_string()],
                _ => vec!["run".to_string(), format!("{output}{name}")],
            };
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["life.sac"]).collect();
            refuses(&place, &arguments, why)?;
        }
        let arguments: &[&str] =
            if output == "-o" { &["build", "-o", "absent/"] } else { &["run", "--explain=absent/"] };
        refuses(&place, &[arguments, &["life.sac"]].concat(), "there is no folder absent/")?;
    }
    for stream in ["pipe", "/dev/null", "/dev/stderr", "/dev/stdout"] {
        let hint = format!("leave `={stream}` out, and `--explain` prints to standard error");
        refuses(&place, &["run", &format!("--explain={stream}"), "life.sac"], &hint)?;
    }
    let is_pipe = fs::metadata(place.path("pipe"))?.file_type().is_fifo();
    let is_device = device.is_char_device() && fs::metadata("/dev/null")?.file_type().is_char_device();
    if is_pipe && is_device { Ok(()) } else { Err("a pipe or a device was replaced".into()) }
}

/// Nobody writes to them.
fn pipes_are_not_waited_for() -> Tested {
    let place = Place::new()?;
    for name in ["pipe.sac", "pipe.csv", "pipe.npy", "pipe.txt"] {
        if !Command::new("mkfifo").arg(place.path(name)).status()?.success() {
            return Err("no pipe could be made".into());
        }
    }
    for command in ["run", "check", "build"] {
        let run = finish(&mut place.ravel(&[command, "pipe.sac"]), b"")?;
        demand(run.status != 0 && run.stderr.contains("it is a pipe"), &run, "a refusal")?;
    }
    for (module, call) in [("Csv", "readCsv(\"pipe.csv\")"), ("Npy", "readNpyDouble(\"pipe.npy\")")] {
        let text = format!(
            "use {module}: all; use Array: all; use StdIO: all;\nint main() {{ printf(\"%g\\n\", sum({call})); return 0; }}\n"
        );
        fs::write(place.path("read.sac"), text)?;
        let run = finish(&mut place.ravel(&["run", "read.sac"]), b"")?;
        demand(run.status == 1 && run.stderr.contains("it is a pipe"), &run, "a refusal")?;
    }
    let text = "use File: all; use StdIO: all; use SysErr: all;\n\
        int main() { e, f = fopen(\"pipe.txt\", \"r\"); printf(\"%d\\n\", fail(e) ? 1 : 0); return 0; }\n";
    fs::write(place.path("read.sac"), text)?;
    let run = finish(&mut place.ravel(&["run", "read.sac"]), b"")?;
    demand(run.status == 0 && run.stdout == "1\n", &run, "an error of fopen")?;
    // Those of shells have no name, and a writer.
    let shell = format!("cat life.sac | {} check /dev/stdin", ravel().display());
    let run = finish(Command::new("sh").args(["-c", &shell]).current_dir(place.path(".")), b"")?;
    demand(!run.stderr.contains("it is a pipe"), &run, "the text of the pipe")
}

/// Through links, with the permissions that a file has.
fn files_are_written_through_links() -> Tested {
    let place = Place::new()?;
    symlink("executable", place.path("link"))?;
    let built = finish(&mut place.ravel(&["build", "-o", "link", "life.sac"]), b"")?;
    demand(built.status == 0 && built.stderr.is_empty(), &built, "an executable")?;
    let run = finish(&mut Command::new(place.path("executable")), b"")?;
    demand(run.status == 0 && place.path("link").is_symlink(), &run, "that the link stays")?;
    place.write("told", "old")?;
    fs::set_permissions(place.path("told"), fs::Permissions::from_mode(0o600))?;
    let run = finish(&mut place.ravel(&["run", "--explain=told", "life.sac"]), b"")?;
    let mode = fs::metadata(place.path("told"))?.permissions().mode() & 0o777;
    demand(run.status == 0 && mode == 0o600 && fs::read(place.path("told"))? != b"old", &run, "a text for its owner")?;
    let left = ["Cells.sac", "cells.h", "executable", "life.sac", "link", "told"];
    demand(place.names()? == left, &run, "nothing else in the folder")
}

fn send(signal: &str, child: &Child) -> Tested {
    let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status()?;
    if sent.success() { Ok(()) } else { Err("no signal could be sent".into()) }
}

/// The process is sent a signal once it has written a line to standard error; what it has written to standard output, and the signal that
/// ended it.
fn ended_by(signal: &str, command: &mut Command) -> Result<(String, Option<i32>), Failed> {
    let command = with_signals(command);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    lines.read_line(&mut line)?;
    send(signal, &child)?;
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            child.kill()?;
            return Err(format!("{signal} does not end it").into());
        }
        sleep(Duration::from_millis(5));
    }
    let mut printed = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut printed)?;
    Ok((printed, child.wait()?.signal()))
}

fn signals_lose_nothing_printed() -> Tested {
    let place = Place::new()?;
    place.write("endless.sac", ENDLESS)?;
    let built = finish(&mut place.ravel(&["build", "endless.sac"]), b"")?;
    demand(built.status == 0, &built, "an executable")?;
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        for backend in ["", "interp", "cranelift"] {
            let mut command = match backend {
                "" => Command::new(place.path("endless")),
                backend => place.ravel(&["run", "--backend", backend, "endless.sac"]),
            };
            let ended = ended_by(signal, &mut command)?;
            if ended != ("printed before\n".to_string(), Some(number)) {
                return Err(format!("{signal}, `{backend}`: {ended:?}").into());
            }
        }
    }
    Ok(())
}

/// A C compiler that writes half of what it should and takes its time. What it says goes to the standard error of `ravel`.
const SLOW: &str = "#!/bin/sh
while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done
echo half > \"$out\"
echo ready > /proc/$PPID/fd/2
sleep 1
echo more > \"$out\"
";

/// A C compiler that Ctrl-C reaches before `ravel`, which gets it a little later.
const HIT: &str = "#!/bin/sh
(sleep 0.02; kill -INT $PPID) > /dev/null 2>&1 &
kill -INT $$
";

/// Who waits for a linker that Ctrl-C has ended says nothing about it, and removes what is half made.
fn interrupts_while_linking_end_quietly() -> Tested {
    let place = Place::new()?;
    let c_function = "external int three();
#pragma linkobj \"three.o\"
int main() { return three(); }
";
    place.write("three.sac", c_function)?;
    place.write("three.o", "")?;
    place.write("hit", HIT)?;
    fs::set_permissions(place.path("hit"), fs::Permissions::from_mode(0o755))?;
    fs::create_dir(place.path("temporary"))?;
    let before = place.names()?;
    for program in ["life.sac", "three.sac"] {
        for _ in 0..3 {
            let mut command = place.ravel(&["build", "-o", "made", program]);
            command.env("CC", place.path("hit")).env("TMPDIR", place.path("temporary"));
            let ended = with_signals(&mut command).stdin(Stdio::null()).output()?;
            let words = String::from_utf8_lossy(&ended.stderr);
            if ended.status.signal() != Some(2) || !words.is_empty() {
                return Err(format!("{program}: {}, {words}", ended.status).into());
            }
            let left = fs::read_dir(place.path("temporary"))?.count();
            if left != 0 || place.names()? != before {
                return Err(format!("{program}: {left} and {:?} are left", place.names()?).into());
            }
        }
    }
    Ok(())
}

fn signals_leave_no_half_executable() -> Tested {
    let place = Place::new()?;
    place.write("slow", SLOW)?;
    fs::set_permissions(place.path("slow"), fs::Permissions::from_mode(0o755))?;
    let before = place.names()?;
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let mut command = place.ravel(&["build", "-o", "life", "life.sac"]);
        let ended = ended_by(signal, command.env("CC", place.path("slow")))?;
        if ended != (String::new(), Some(number)) {
            return Err(format!("{signal}: {ended:?}").into());
        }
        // The compiler has not heard of the signal, and goes on for a while.
        for wait in [0, 1500] {
            sleep(Duration::from_millis(wait));
            if place.names()? != before {
                return Err(format!("{signal}: {:?} are left", place.names()?).into());
            }
        }
    }
    Ok(())
}

/// A command whose standard output is closed, or a full disk.
fn unheard(program: &Path, arguments: &[&str], output: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec \"$@\" {output}"), "sh"]).arg(program).args(arguments);
    command
}

fn lost_output_is_an_error() -> Tested {
    let place = Place::new()?;
    place.write("hello.sac", HELLO)?;
    let path = |name: &str| place.path(name).to_string_lossy().into_owned();
    let (hello, executable) = (path("hello.sac"), path("hello"));
    let built = finish(&mut place.ravel(&["build", "-o", &executable, &hello]), b"")?;
    demand(built.status == 0, &built, "an executable")?;
    for output in [">&-", "> /dev/full"] {
        let lost = |program: &Path, arguments: &[&str]| {
            let run = finish(&mut unheard(program, arguments, output), b"")?;
            demand(run.status == 1 && run.stderr.contains("cannot write"), &run, &format!("an error: {arguments:?}"))
        };
        lost(Path::new(&executable), &[])?;
        lost(&ravel(), &["run", &hello])?;
        lost(&ravel(), &["run", "--backend", "interp", &hello])?;
        lost(&ravel(), &["check", "--emit", "ast", &hello])?;
        lost(&ravel(), &["opt", "--list"])?;
        lost(&ravel(), &["--help"])?;
        lost(&ravel(), &["--version"])?;
        let run = finish(&mut unheard(&ravel(), &["repl"], output), b"1 + 1\n")?;
        demand(run.status == 1 && run.stderr.contains("cannot write"), &run, "an error of the prompt")?;
        // Who prints nothing loses nothing.
        let run = finish(&mut unheard(&ravel(), &["check", &hello], output), b"")?;
        demand(run.status == 0, &run, "status 0")?;
    }
    // A file that the program opens does not become its standard output.
    let text = "use StdIO: all; use Array: all;\nint main() { e, f = fopen(\"data\", \"w\"); printf(\"hello\\n\"); \
                fprintf(f, \"data\\n\"); fclose(f); return 0; }\n";
    place.write("data.sac", text)?;
    let built = finish(&mut place.ravel(&["build", "-o", "writer", "data.sac"]), b"")?;
    demand(built.status == 0, &built, "an executable")?;
    let run = finish(unheard(&place.path("writer"), &[], ">&-").current_dir(place.0.path()), b"")?;
    demand(run.status == 1 && fs::read(place.path("data"))? == b"data\n", &run, "an error, and the data in their file")
}

/// Profilers and debuggers show the functions of SaC, and the bodies of their parallel loops.
fn functions_have_names() -> Tested {
    let place = Place::new()?;
    place.write(
        "named.sac",
        "use Array: all;
noinline int[.] doubled(int[.] a) { return { [i] -> 2 * a[i] | [i] < shape(a) }; }
int collatz(int n) { r = 0; if (n > 1) { if (n % 2 == 0) { r = 1 + collatz(n / 2); } else { r = 1 + collatz(3 * n + 1); } } return r; }
int main() { a = doubled(iota(100000)); return sum({ [i] -> collatz(a[i] % 99 + 1) | [i] < shape(a) }) % 7; }
",
    )?;
    let built = finish(&mut place.ravel(&["build", "named.sac", "-o", "named"]), b"")?;
    let bytes = fs::read(place.path("named")).map_err(|error| format!("{error}: {}", built.describe()))?;
    let has = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
    for name in ["sac_doubled_", "sac_collatz_", ".body"] {
        if !has(name) {
            return Err(format!("no symbol with {name} in the executable").into());
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    type Test = fn() -> Tested;
    let trials: [(&str, Test); 9] = [
        ("inputs are not replaced", inputs_are_not_replaced),
        ("what is no file stays", what_is_no_file_stays),
        ("pipes are not waited for", pipes_are_not_waited_for),
        ("files are written through links", files_are_written_through_links),
        ("signals lose nothing printed", signals_lose_nothing_printed),
        ("signals leave no half executable", signals_leave_no_half_executable),
        ("interrupts while linking end quietly", interrupts_while_linking_end_quietly),
        ("lost output is an error", lost_output_is_an_error),
        ("functions have names", functions_have_names),
    ];
    let trials = trials.map(|(name, test)| Trial::test(name, test));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}
