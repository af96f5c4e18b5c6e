//! How programs on ranks end: by a fault of one rank or of all, by a status, by a signal, without an MPI or with a wrong one. The message comes once and is
//! that of one process, so is the status, and nothing is left after ten seconds.
//!
//! Programs are started as a person does: by `mpirun -n 3 ./p`, and by `ravel run --ranks 3 p.sac`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ravel_tests::ranks::{self, Build, Launcher, processes};
use ravel_tests::{Failed, Finished, Started, Trial, ravel};

type Tested = Result<(), Failed>;

/// How a person starts a program on three ranks.
#[derive(Clone, Copy)]
enum By {
    Mpirun,
    Run,
}

/// Both ways, by name.
const WAYS: [(&str, By); 2] = [("mpirun", By::Mpirun), ("run", By::Run)];

/// A folder with a program, its source and the executable.
struct Place(tempfile::TempDir);

impl Place {
    fn new(source: &str) -> Result<Place, Failed> {
        Place::built(source, Build::Plain)
    }

    fn built(source: &str, how: Build) -> Result<Place, Failed> {
        let place = Place(tempfile::tempdir()?);
        fs::write(place.source(), source)?;
        fs::create_dir(place.temporary())?;
        let mut build = Command::new(ravel());
        build
            .arg("build")
            .args(how.options())
            .arg("-o")
            .arg(place.program())
            .arg(place.source())
            .current_dir(place.folder());
        if let Some(linker) = std::env::var_os("RAVEL_TEST_CC") {
            build.env("CC", linker);
        }
        let built = ravel_tests::finish(&mut build, b"")?;
        if built.status == 0 { Ok(place) } else { Err(format!("cannot build: {}", built.describe()).into()) }
    }

    fn folder(&self) -> &Path {
        self.0.path()
    }

    fn source(&self) -> PathBuf {
        self.folder().join("p.sac")
    }

    fn program(&self) -> PathBuf {
        self.folder().join("p")
    }

    fn temporary(&self) -> PathBuf {
        self.folder().join("tmp")
    }

    /// The program without a launcher.
    fn alone(&self, input: &[u8]) -> Result<Finished, Failed> {
        ravel_tests::finish(self.here(&mut Command::new(self.program())), input)
    }

    fn mpirun(&self) -> Command {
        let mut command = Command::new(Launcher::OpenMpi.name());
        command.args(["-n", "3"]);
        ranks::prepare(self.here(&mut command), &self.temporary());
        command
    }

    /// The command that runs the program on three ranks.
    fn on_ranks(&self, by: By) -> Command {
        match by {
            By::Mpirun => {
                let mut command = self.mpirun();
                command.arg(self.program());
                command
            }
            By::Run => self.run("3"),
        }
    }

    /// `ravel run` with so many ranks.
    fn run(&self, ranks: &str) -> Command {
        let mut command = Command::new(ravel());
        command.args(["run", "--ranks", ranks]).arg(self.source());
        ranks::prepare(self.here(&mut command), &self.temporary());
        command
    }

    /// What a command is told in any case: its folder, a place for temporary files of which nothing may be left, and to share all loops.
    fn here<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.current_dir(self.folder()).env("TMPDIR", self.temporary());
        command.env("RAVEL_RANKS_CHECK", "1").env("RAVEL_RANKS_SHARE", "always").env("RAVEL_THREADS", "1")
    }

    fn finish(&self, command: &mut Command, input: &[u8]) -> Result<Finished, Failed> {
        self.without_rest(ranks::finish(command, input, self.folder())?)
    }

    fn end(&self, started: Started) -> Result<Finished, Failed> {
        self.without_rest(ranks::end(started, self.folder())?)
    }

    fn without_rest(&self, finished: Finished) -> Result<Finished, Failed> {
        // Open MPI makes a folder for the sessions of each user, and keeps it.
        let left = fs::read_dir(self.temporary())?.flatten().map(|entry| entry.file_name());
        match left.into_iter().find(|name| !name.to_string_lossy().starts_with("ompi.")) {
            Some(left) => Err(format!("{} is left: {}", left.to_string_lossy(), finished.describe()).into()),
            None => Ok(finished),
        }
    }

    /// Starts a program that runs for long, and waits until all its ranks run.
    fn start(&self, command: &mut Command) -> Result<(Started, Vec<libc::pid_t>), Failed> {
        const SEVERAL: usize = 3;
        let started = Started::new(command, b"")?;
        let since = Instant::now();
        loop {
            // The executables, which `ravel run` puts into its folder; not what starts them.
            let ranks: Vec<_> = processes(self.folder())
                .into_iter()
                .filter(|(_, command)| ranks::is_rank(command))
                .map(|(process, _)| process)
                .collect();
            if ranks.len() == SEVERAL && fs::metadata(self.folder().join("begun")).is_ok() {
                return Ok((started, ranks));
            }
            if since.elapsed() > Duration::from_secs(60) {
                return Err(format!("the ranks do not start: {:?}", processes(self.folder())).into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn signal(process: libc::pid_t, signal: libc::c_int) {
    // SAFETY: a signal to a process that was started here.
    unsafe { libc::kill(process, signal) };
}

/// What stands in programs below: enough work for an index to be shared.
const HEAD: &str = "use StdIO: all; use Array: all; use MathArray: all; use Hiding: all; use RuntimeError: { error };
noinline double work(double x, int steps) { for (k = 0; k < steps; k++) { x = x * 0.75 + sin(tod(k) * 0.1 + x); } return x; }
noinline double[*] same(double[*] a) { return a; }
noinline void begun() { e, f = fopen(\"begun\", \"w\"); fclose(f); }
";

/// Programs that do on ranks what they do alone, with their input.
const SAME: [(&str, &str, &str); 20] = [
    (
        "the-last-rank-faults",
        "",
        "int main() { n = hideValue(300); p = { [i] -> i < 299 ? i : 5000 | [i] < [n] }; a = { [i] -> work(tod(i), 2000) | [i] < [n] };
         printf(\"before\\n\"); b = { [i] -> work(a[p[i]], 2000) | [i] < [n] }; printf(\"%g\\n\", sum(b)); return 0; }",
    ),
    (
        "the-first-rank-faults",
        "",
        "int main() { n = hideValue(300); p = { [i] -> i > 3 ? i : 5000 + i | [i] < [n] }; a = { [i] -> work(tod(i), 2000) | [i] < [n] };
         printf(\"before\\n\"); b = { [i] -> work(a[p[i]], 2000) | [i] < [n] }; printf(\"%g\\n\", sum(b)); return 0; }",
    ),
    (
        "two-ranks-fault",
        "",
        "int main() { n = hideValue(300); p = { [i] -> i % 100 == 99 ? 7000 + i : i | [i] < [n] }; a = { [i] -> work(tod(i), 2000) | [i] < [n] };
         printf(\"before\\n\"); b = { [i] -> work(a[p[i]], 2000) | [i] < [n] }; printf(\"%g\\n\", sum(b)); return 0; }",
    ),
    (
        "all-ranks-fault",
        "",
        "int main() { n = hideValue(300); a = { [i] -> work(tod(i), 2000) | [i] < [n] };
         b = { [i] -> work(a[n + i], 2000) | [i] < [n] }; printf(\"%g\\n\", sum(b)); return 0; }",
    ),
    (
        "a-fold-faults",
        "",
        "int main() { n = hideValue(300); p = { [i] -> i == 150 ? 0 : 1 + i % 9 | [i] < [n] };
         t = with { ([0] <= [i] < [n]) : toi(work(tod(i), 2000)) / (p[i] % 10); } : fold(+, 0); printf(\"%d\\n\", t); return 0; }",
    ),
    (
        "a-condition-fails-in-a-row",
        "",
        "int main() { n = hideValue(40); a = { [i,j] -> work(tod(i * j), 500) | [i,j] < [n,n] };
         b = { [i] -> sum(take([i < 37 ? 5 : 50], a[i])) + work(tod(i), 5000) | [i] < [n] }; printf(\"%g\\n\", sum(b)); return 0; }",
    ),
    (
        "replicated-code-faults",
        "",
        "int main() { a = iota(hideValue(10)); printf(\"before %d\\n\", a[3]); x = a[sum(a)]; printf(\"%d\\n\", x); return 0; }",
    ),
    (
        "replicated-code-faults-behind-shared-loops",
        "",
        "int main() { n = hideValue(300); a = { [i] -> work(tod(i), 2000) | [i] < [n] }; printf(\"%.17g\\n\", sum(a)); x = a[n + toi(sum(a) * 0d)];
         printf(\"%g\\n\", x); return 0; }",
    ),
    ("status", "", "int main() { printf(\"done\\n\"); return 3; }"),
    ("status-that-shared-loops-make", "", "int main() { n = hideValue(300); a = { [i] -> work(tod(i), 2000) | [i] < [n] }; return 4 + (sum(a) > 1e9 ? 1 : 0); }"),
    ("status-of-an-error", "", "int main() { printf(\"before\\n\"); error(7, \"value %d is bad\", hideValue(5)); printf(\"after\\n\"); return 0; }"),
    ("more-ranks-than-rows", "", "int main() { n = hideValue(1); a = { [i,j] -> work(tod(i + j), 2000) | [i,j] < [n,700] }; printf(\"%.17g %.17g\\n\", sum(a), sum(a[0])); return 0; }"),
    ("two-rows", "", "int main() { n = hideValue(2); a = { [i] -> work(tod(i), 200000) | [i] < [n] }; printf(\"%.17g %.17g\\n\", a[0], a[1]); return 0; }"),
    ("no-rows", "", "int main() { n = hideValue(0); a = { [i] -> work(tod(i), 2000) | [i] < [n] }; b = { [i,j] -> a[i] | [i,j] < [n,5] };
         printf(\"%g %d %d\\n\", sum(a), shape(b)[0], shape(b)[1]); return 0; }"),
    (
        "standard-input",
        "5 1.5 2.5 3.5 4.5 5.5\nlast words\n",
        "int main() { int n; double x; k, n = scanf(\"%d\"); a = genarray([n], 0d); for (i = 0; i < n; i++) { l, x = scanf(\"%lf\"); a[i] = x; }
         b = { [i] -> work(a[i], 100000) | [i] < [n] }; printf(\"%d %.17g\\n\", n, sum(b)); c = fgetc(stdin); while (!feof(stdin)) { printf(\"%c\", c); c = fgetc(stdin); } return 0; }",
    ),
    ("standard-input-that-ends-early", "1 2", "int main() { int x, y, z; a, x = scanf(\"%d\"); b, y = scanf(\"%d\"); c, z = scanf(\"%d\"); printf(\"%d %d %d\\n\", a, b, c); return c + 1 + x + y; }"),
    ("more-memory-than-there-is", "", "int main() { n = hideValue(1000000); printf(\"before\\n\"); a = same(genarray([n, n, 1000], 1.5)); printf(\"%g\\n\", a[5,5,5] + sum(a)); return 0; }"),
    ("recursion-without-end", "", "noinline int deep(int n) { return n < 0 ? 1 : 1 + deep(n + 1) * 3 % 7; } int main() { printf(\"before\\n\"); printf(\"%d\\n\", deep(hideValue(0))); return 0; }"),
    ("division-of-data", "", "int main() { n = hideValue(300); p = { [i] -> (i * 7) % 299 | [i] < [n] }; b = { [i] -> 1000 / p[i] + toi(work(tod(i), 2000)) | [i] < [n] }; printf(\"%d\\n\", sum(b)); return 0; }"),
    ("output-of-many-lines", "", "int main() { for (i = 0; i < hideValue(20000); i++) { printf(\"line %d\\n\", i); fprintf(stderr, \"note %d\\n\", i); } return 5; }"),
];

/// The same for arrays in rows, without input; started by `mpirun`.
const ROWS: [(&str, &str); 8] = [
    (
        "a-row-of-the-last-rank-is-divided-by",
        "int main() { m = hideValue(300); p = { [i,j] -> i == 280 && j == 3 ? toi(work(0d, 9) * 0d) : 1 + (i + j) % 7 | [i,j] < [m,40] }; printf(\"before\\n\");
         q = with { ([1,0] <= [i,j] < [m,40]) : 1000 / p[i - 1,j] + toi(work(tod(i), 200)); } : modarray(p); printf(\"%d\\n\", sum(q)); return 0; }",
    ),
    (
        "an-index-in-rows-of-one-rank-is-out-of-range",
        "int main() { m = hideValue(300); p = { [i,j] -> i == 150 && j == 3 ? 40 : (i + j + toi(work(0d, 9) * 0d)) % 40 | [i,j] < [m,40] };
         a = { [j] -> tod(j) | [j] < [hideValue(40)] }; printf(\"before\\n\");
         q = with { ([0,0] <= [i,j] < [m - 1,40]) : a[p[i + 1,j]] + work(tod(i), 200); } : genarray([m,40], 0d); printf(\"%g\\n\", sum(q)); return 0; }",
    ),
    (
        "rows-of-two-ranks-fault",
        "int main() { m = hideValue(300); p = { [i,j] -> i % 97 == 96 && j == 3 ? toi(work(0d, 9) * 0d) : 1 + (i + j) % 7 | [i,j] < [m,40] };
         a = { [j] -> tod(j) | [j] < [hideValue(40)] }; printf(\"before\\n\");
         q = with { ([1,0] <= [i,j] < [m,40]) : a[p[i - 1,j] == 0 ? 40 + i : j] + work(tod(i), 200); } : genarray([m,40], 0d); printf(\"%g\\n\", sum(q)); return 0; }",
    ),
    // The first row of a rank needs one of another, and is computed last.
    (
        "the-first-row-of-a-rank-faults-and-a-later-one",
        "int main() { m = hideValue(300); p = { [i,j] -> (i == 99 || i == 150) && j == 3 ? toi(work(0d, 9) * 0d) : 1 + (i + j) % 7 | [i,j] < [m,40] };
         a = { [j] -> tod(j) | [j] < [hideValue(40)] }; printf(\"before\\n\");
         q = with { ([1,0] <= [i,j] < [m,40]) : a[p[i - 1,j] == 0 ? 40 + i : j] + work(tod(i), 200); } : genarray([m,40], 0d); printf(\"%g\\n\", sum(q)); return 0; }",
    ),
    (
        "a-fold-of-rows-faults",
        "int main() { m = hideValue(300); p = { [i,j] -> i == 250 && j == 3 ? toi(work(0d, 9) * 0d) : 1 + (i + j) % 7 | [i,j] < [m,40] }; printf(\"before\\n\");
         t = with { ([0,0] <= [i,j] < [m,40]) : 1000 / p[i,j] + toi(work(tod(i), 200)); } : fold(+, 0); printf(\"%d\\n\", t); return 0; }",
    ),
    (
        "a-fault-behind-gathered-rows",
        "int main() { m = hideValue(300); a = { [i,j] -> work(tod(i + j), 200) | [i,j] < [m,40] }; b = { [i,j] -> a[i,j] + a[(i + 1) % m,j] | [i,j] < [m,40] };
         printf(\"%.17g\\n\", b[m - 1,5]); c = same(b); printf(\"%.17g\\n\", c[5,toi(c[7,7] * 0d) + 40]); return 0; }",
    ),
    (
        "an-element-in-rows-is-out-of-range",
        "int main() { m = hideValue(300); a = { [i,j] -> work(tod(i + j), 200) | [i,j] < [m,40] }; printf(\"%.17g\\n\", a[m - 1,5]); printf(\"%.17g\\n\", a[m,5]); return 0; }",
    ),
    (
        "status-that-rows-make",
        "int main() { m = hideValue(300); a = { [i,j] -> work(tod(i + j), 200) | [i,j] < [m,40] }; b = with { ([1,0] <= [i,j] < [m,40]) : a[i - 1,j]; } : modarray(a);
         return 4 + (b[299,3] == a[298,3] ? 1 : 0); }",
    ),
];

/// The program does on ranks what it does alone.
fn same_as_alone(by: By, (source, how): (&str, Build), input: &str) -> Tested {
    let place = Place::built(&format!("{HEAD}{source}\n"), how)?;
    let alone = place.alone(input.as_bytes())?;
    let run = place.finish(&mut place.on_ranks(by), input.as_bytes())?;
    if run.stdout != alone.stdout || run.stderr != alone.stderr || run.status != alone.status {
        return Err(format!("alone: {}--- on ranks: {}", alone.describe(), run.describe()).into());
    }
    Ok(())
}

/// A program that would run for minutes, and says in a file that it has begun.
fn long() -> Result<Place, Failed> {
    let body = "int main() { begun(); x = 0d; for (k = 0; k < hideValue(1000000); k++) { a = { [i] -> work(tod(i) + x, 2000) | [i] < [hideValue(300)] }; x = sum(a); } printf(\"%g\\n\", x); return 0; }";
    Place::new(&format!("{HEAD}{body}\n"))
}

/// The same with rows that ranks send each other all the time.
fn long_in_rows() -> Result<Place, Failed> {
    let body = "int main() { begun(); a = { [i,j] -> work(tod(i + j), 200) | [i,j] < [hideValue(300), 40] };
         for (k = 0; k < hideValue(100000000); k++) { a = with { ([1,0] <= [i,j] < [299,40]) : a[i - 1,j] * 0.5 + a[i + 1,j] * 0.5; } : modarray(a); } printf(\"%g\\n\", sum(a)); return 0; }";
    Place::built(&format!("{HEAD}{body}\n"), Build::Rows)
}

/// What may pass between the end of one rank and that of all.
const SOON: Duration = Duration::from_secs(12);

/// Does something to the ranks of a program that runs for long; the program must end soon, with one of these statuses. On a busy machine `mpirun` of
/// Open MPI 4.1.4 sometimes stays when it is told to stop, which says nothing of the program: it is started once more then.
fn ended(place: &Place, by: By, act: Act, statuses: &[i32]) -> Tested {
    ended_once(place, by, act, statuses).or_else(|_| ended_once(place, by, act, statuses))
}

fn ended_once(place: &Place, by: By, act: Act, statuses: &[i32]) -> Tested {
    let (started, ranks) = place.start(&mut place.on_ranks(by))?;
    std::thread::sleep(Duration::from_millis(300));
    let since = Instant::now();
    act(&started, &ranks);
    let run = place.end(started)?;
    if since.elapsed() > SOON || !statuses.contains(&run.status) || !run.stdout.is_empty() {
        let expected = format!("expected an end with {statuses:?} soon, not after {:?}", since.elapsed());
        return Err(format!("{expected}: {}", run.describe()).into());
    }
    Ok(())
}

#[expect(clippy::cast_possible_wrap, reason = "numbers of processes are positive")]
fn signal_launcher(started: &Started, number: libc::c_int) {
    signal(started.id() as libc::pid_t, number);
}

type Act = fn(&Started, &[libc::pid_t]);

/// What happens to programs that run for long, and the statuses that say so. Open MPI's is 1 where it was told to stop.
const ACTS: [(&str, Act, &[i32]); 6] = [
    ("a-rank-is-killed", |_, ranks| signal(ranks[1], libc::SIGKILL), &[137]),
    ("the-first-rank-is-killed", |_, ranks| signal(ranks[0], libc::SIGKILL), &[137]),
    ("a-rank-is-terminated", |_, ranks| signal(ranks[2], libc::SIGTERM), &[143]),
    ("the-launcher-is-interrupted", |started, _| signal_launcher(started, libc::SIGINT), &[130, 1]),
    ("the-launcher-is-terminated", |started, _| signal_launcher(started, libc::SIGTERM), &[143, 1]),
    ("the-launcher-is-killed", |started, _| signal_launcher(started, libc::SIGKILL), &[137]),
];

/// How often the text has these words.
fn count(text: &str, words: &str) -> usize {
    text.matches(words).count()
}

/// Only one rank may not have the memory that the program needs. An MPI library maps more than a gigabyte for itself.
fn memory_of_one_rank() -> Tested {
    let body = "int main() { n = hideValue(400000000); printf(\"before\\n\"); a = same(genarray([n], 0d)); a[n - 1] = 1d; printf(\"%g\\n\", a[n - 1] + a[5]); return 0; }";
    let place = Place::new(&format!("{HEAD}{body}\n"))?;
    for rank in 0..3 {
        let mut command = place.mpirun();
        let limited = format!("[ $OMPI_COMM_WORLD_RANK = {rank} ] && ulimit -v 2500000; exec \"$0\"");
        let run = place.finish(command.args(["sh", "-c", &limited]).arg(place.program()), b"")?;
        if run.status != 1
            || count(&run.stderr, "out of memory") != 1
            || run.stderr.lines().count() > 4
            || run.crashed()
        {
            return Err(format!("rank {rank} has too little memory: {}", run.describe()).into());
        }
    }
    Ok(())
}

/// Ends with one message that has these words, and prints nothing.
fn refused(command: &mut Command, place: &Place, words: &[&str]) -> Tested {
    let run = place.finish(command, b"")?;
    let is_said = words.iter().all(|words| count(&run.stderr, words) == 1);
    if run.status == 0 || run.crashed() || !is_said || !run.stdout.is_empty() {
        return Err(format!("{command:?}: expected {words:?} once: {}", run.describe()).into());
    }
    Ok(())
}

const HELLO: &str = "int main() { printf(\"%d\\n\", sum(iota(hideValue(10)))); return 0; }";

/// Libraries that are none, are no MPI, or belong to another launcher.
fn wrong_libraries(launchers: &[Launcher]) -> Tested {
    let place = Place::new(&format!("{HEAD}{HELLO}\n"))?;
    let mpirun = || place.on_ranks(By::Mpirun);
    refused(mpirun().env("RAVEL_MPI", "libnowhere.so"), &place, &["libnowhere.so"])?;
    refused(mpirun().env("RAVEL_MPI", "/etc/passwd"), &place, &["/etc/passwd"])?;
    refused(mpirun().env("RAVEL_MPI", "libm.so.6"), &place, &["libm.so.6"])?;
    refused(mpirun().env("RAVEL_RANKS", "three"), &place, &["RAVEL_RANKS must be on or off"])?;
    refused(mpirun().env("RAVEL_RANKS_SHARE", "some"), &place, &["RAVEL_RANKS_SHARE is auto, always or never"])?;
    if launchers.contains(&Launcher::Mpich) {
        refused(
            mpirun().env("RAVEL_MPI", Launcher::Mpich.library()),
            &place,
            &["started as 3 ranks, but this MPI library sees one", "RAVEL_MPI"],
        )?;
        let mut hydra = Command::new(Launcher::Mpich.name());
        ranks::prepare(place.here(hydra.args(["-n", "3"]).arg(place.program())), &place.temporary());
        refused(
            hydra.env("RAVEL_MPI", Launcher::OpenMpi.library()),
            &place,
            &["started as 3 ranks, but this MPI library sees one", "RAVEL_MPI"],
        )?;
    }
    Ok(())
}

/// Prints this although no MPI library could be opened.
fn needs_no_library(place: &Place, command: &mut Command, stdout: &str) -> Tested {
    let run = place.finish(command.env("RAVEL_MPI", "/etc/passwd"), b"")?;
    if run.status == 0 && run.stdout == stdout && run.stderr.is_empty() {
        Ok(())
    } else {
        Err(format!("expected {stdout}: {}", run.describe()).into())
    }
}

/// Where there are no several ranks, or none are wanted, no library is opened.
fn no_library() -> Tested {
    let place = Place::new(&format!("{HEAD}{HELLO}\n"))?;
    needs_no_library(&place, place.here(&mut Command::new(place.program())), "45\n")?;
    let mut one = Command::new(Launcher::OpenMpi.name());
    ranks::prepare(place.here(one.args(["-n", "1"]).arg(place.program())), &place.temporary());
    needs_no_library(&place, &mut one, "45\n")?;
    let mut off = place.on_ranks(By::Mpirun);
    needs_no_library(&place, off.env("RAVEL_RANKS", "off"), "45\n45\n45\n")
}

fn one_rank() -> Tested {
    let place = Place::new(&format!("{HEAD}{HELLO}\n"))?;
    needs_no_library(&place, &mut place.run("1"), "45\n")
}

/// What `ravel run` refuses before anything is started.
fn wrong_commands() -> Tested {
    let place = Place::new(&format!("{HEAD}{HELLO}\n"))?;
    for number in ["0", "x", "-1", "99999999999"] {
        refused(&mut place.run(number), &place, &["invalid value"])?;
    }
    let mut interp = Command::new(ravel());
    refused(
        place.here(interp.args(["run", "--ranks", "3", "--trace", "calls"]).arg(place.source())),
        &place,
        &["leave `--trace` or `--ranks` out"],
    )?;
    refused(place.run("3").env("PATH", place.folder()), &place, &["mpirun"])?;
    fs::write(place.source(), "int main() { return x; }\n")?;
    refused(&mut place.run("3"), &place, &["unknown variable `x`"])
}

/// Output that cannot be written is said once, as in one process.
fn full_disk() -> Tested {
    let body = "int main() { for (i = 0; i < hideValue(100000); i++) { printf(\"line %d\\n\", i); } return 0; }";
    let place = Place::new(&format!("{HEAD}{body}\n"))?;
    let full = ["sh", "-c", "exec \"$0\" > /dev/full"];
    let mut alone = Command::new("sh");
    let alone = ravel_tests::finish(place.here(alone.args(&full[1..]).arg(place.program())), b"")?;
    let run = place.finish(place.mpirun().args(full).arg(place.program()), b"")?;
    if run.status != alone.status || run.stderr != alone.stderr || alone.status == 0 {
        return Err(format!("alone: {}--- on ranks: {}", alone.describe(), run.describe()).into());
    }
    Ok(())
}

pub fn trials(launchers: &[Launcher]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (way, by) in WAYS {
        for (name, input, source) in SAME {
            trials.push(Trial::test(format!("endings/{name} [{way}]"), move || {
                same_as_alone(by, (source, Build::Plain), input)
            }));
        }
        for (name, act, statuses) in ACTS {
            trials.push(Trial::test(format!("endings/{name} [{way}]"), move || ended(&long()?, by, act, statuses)));
        }
    }
    for (name, source) in ROWS {
        let test = move || same_as_alone(By::Mpirun, (source, Build::Rows), "");
        trials.push(Trial::test(Build::Rows.name(&format!("endings/{name}")), test));
    }
    for (name, act, statuses) in ACTS.into_iter().take(2) {
        let test = move || ended(&long_in_rows()?, By::Mpirun, act, statuses);
        trials.push(Trial::test(Build::Rows.name(&format!("endings/{name}")), test));
    }
    let launchers = launchers.to_vec();
    trials.push(Trial::test("endings/one-rank-has-too-little-memory", memory_of_one_rank));
    trials.push(Trial::test("endings/wrong-libraries", move || wrong_libraries(&launchers)));
    trials.push(Trial::test("endings/no-library-is-opened", no_library));
    trials.push(Trial::test("endings/one-rank-is-none", one_rank));
    trials.push(Trial::test("endings/wrong-commands", wrong_commands));
    trials.push(Trial::test("endings/a-full-disk", full_disk));
    trials
}
