//! Packages as users have them: `ravel new`, manifests, path and git dependencies, `fetch`, `vendor`, `--watch`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ravel_tests::{Arguments, Failed, Finished, Trial, finish, ravel, with_signals};

/// How long something that is watched may take to start again: tests run beside builds.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with packages, and a cache of its own.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Result<Place, Failed> {
        Ok(Place(tempfile::tempdir()?))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failed> {
        let path = self.path(name);
        fs::create_dir_all(path.parent().ok_or("a file has a folder")?)?;
        Ok(fs::write(path, text)?)
    }

    /// A package: its manifest below `[package]`, and a module.
    fn package(&self, name: &str, rest: &str, module: &str, body: &str) -> Result<(), Failed> {
        self.write(&format!("{name}/ravel.toml"), &format!("[package]\nname = \"{name}\"\n{rest}"))?;
        self.write(&format!("{name}/src/{module}.sac"), &format!("module {module};\nexport all;\n{body}\n"))
    }

    fn command(&self, folder: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(ravel());
        command.args(arguments).current_dir(self.path(folder)).env("RAVEL_CACHE", self.path("cache"));
        command.env_remove("RAVEL_PATH");
        command
    }

    fn run(&self, folder: &str, arguments: &[&str]) -> Result<Finished, Failed> {
        let run = finish(&mut self.command(folder, arguments), b"")?;
        if run.crashed() { Err(run.describe().into()) } else { Ok(run) }
    }

    /// A command that ends with this status and says all of these.
    fn expect(&self, folder: &str, arguments: &[&str], status: i32, texts: &[&str]) -> Result<(), Failed> {
        said(&self.run(folder, arguments)?, arguments, status, texts)
    }

    fn git(&self, folder: &str, arguments: &[&str]) -> Result<String, Failed> {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
        let mut command = Command::new("git");
        command.args(identity).args(arguments).current_dir(self.path(folder));
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        let done = finish(&mut command, b"")?;
        if done.status == 0 { Ok(done.stdout.trim().to_string()) } else { Err(done.describe().into()) }
    }

    fn commit(&self, folder: &str) -> Result<String, Failed> {
        self.git(folder, &["add", "-A"])?;
        self.git(folder, &["commit", "-q", "-m", "x"])?;
        self.git(folder, &["rev-parse", "HEAD"])
    }

    /// A repository with the library `linalg` at the tags v1 and v2, of which `one` gives 1 and 2.
    fn library(&self) -> Result<String, Failed> {
        self.package("linalg", "", "Linalg", "int one() { return 1; }")?;
        self.git("linalg", &["init", "-q"])?;
        let first = self.commit("linalg")?;
        self.git("linalg", &["tag", "v1"])?;
        self.package("linalg", "", "Linalg", "int one() { return 2; }")?;
        self.commit("linalg")?;
        self.git("linalg", &["tag", "-a", "-m", "x", "v2"])?;
        Ok(first)
    }

    /// The package `heat` whose program ends with what `one` of `Linalg` gives.
    fn heat(&self, dependencies: &str) -> Result<(), Failed> {
        self.write("heat/ravel.toml", &format!("[package]\nname = \"heat\"\n[dependencies]\n{dependencies}\n"))?;
        self.write("heat/src/main.sac", "use Linalg: all;\nint main() { return one(); }\n")
    }
}

fn said(run: &Finished, arguments: &[&str], status: i32, texts: &[&str]) -> Result<(), Failed> {
    let said = format!("{}{}", run.stdout, run.stderr);
    match texts.iter().find(|text| !said.contains(**text)) {
        None if run.status == status => Ok(()),
        missing => Err(format!("{arguments:?}: expected {status}, {missing:?}: {}", run.describe()).into()),
    }
}

fn names(folder: &Path) -> Result<Vec<String>, Failed> {
    let mut names: Vec<String> =
        fs::read_dir(folder)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn new() -> Result<(), Failed> {
    let place = Place::new()?;
    place.expect("", &["new", "heat"], 0, &["made heat"])?;
    if names(&place.path("heat"))? != [".gitignore", "ravel.toml", "src", "tests"] {
        return Err(format!("{:?}", names(&place.path("heat"))?).into());
    }
    place.expect("heat", &["run"], 0, &["The sum of the first ten squares is 285."])?;
    place.expect("heat/tests", &["run"], 0, &["is 285."])?;
    place.expect("", &["run", "heat"], 0, &["is 285."])?;
    place.expect("heat", &["check"], 0, &[])?;
    place.expect("heat", &["check", "."], 0, &[])?;
    place.expect("heat", &["build"], 0, &[])?;
    if !place.path("heat/heat").is_file() {
        return Err("there is no executable".into());
    }
    place.expect("", &["new", "--lib", "my-shapes"], 0, &["made"])?;
    place.expect("my-shapes", &["check"], 0, &[])?;
    place.expect("my-shapes", &["check", "tests"], 0, &[])?;
    place.expect("my-shapes", &["run"], 1, &["E0250"])?;
    for package in ["heat", "my-shapes"] {
        place.expect(package, &["fmt", "--check", "src", "tests"], 0, &[])?;
    }
    place.expect("", &["new", "heat"], 1, &["heat is not empty"])?;
    for name in ["9lives", "a b", "-x/..", "ü"] {
        place.expect("", &["new", "--", name], 1, &["is no name of a package"])?;
    }
    place.expect("", &["new", "no/such/heat"], 1, &["there is no folder"])?;
    place.expect("", &["new", "--lib", "array"], 1, &["the library has a module"])?;
    place.expect("", &["new", "--lib", "while"], 1, &["is a word of SaC"])?;
    fs::create_dir(place.path("empty"))?;
    place.expect("", &["new", "empty"], 0, &["made"])?;
    place.expect("empty", &["run"], 0, &["is 285."])?;
    fs::create_dir(place.path("this"))?;
    place.expect("this", &["new", "."], 0, &["made"])?;
    place.expect("this", &["run"], 0, &["is 285."])?;
    place.write("file", "kept")?;
    place.expect("", &["new", "file"], 1, &["and no folder"])?;
    place.expect("", &["run"], 2, &["there is no ravel.toml"])
}

fn paths() -> Result<(), Failed> {
    let place = Place::new()?;
    place.package("base", "", "Base", "int two() { return 2; }")?;
    place.package(
        "linalg",
        "[dependencies]\nbase = { path = \"../base\" }\n",
        "Linalg",
        "use Array: all;\nuse Base: all;\nint one() { return two() + SIZE; }",
    )?;
    place.heat("linalg = { path = \"../linalg\" }\n[define]\nSIZE = 40")?;
    place.expect("heat", &["run"], 42, &[])?;
    place.expect("heat", &["run", "-DSIZE=1"], 3, &[])?;
    place.expect("heat", &["run", "src/main.sac"], 42, &[])?;
    place.expect("heat/src", &["run", "main.sac"], 42, &[])?;
    place.expect("", &["run", "heat/src/main.sac"], 42, &[])?;
    place.expect("", &["check", "heat"], 0, &[])?;
    place.expect("heat", &["fetch"], 0, &["linalg  ", "base  "])?;
    if place.path("heat/ravel.lock").exists() {
        return Err("nothing is to be locked".into());
    }
    let mut prompt = place.command("heat", &["repl"]);
    said(&finish(&mut prompt, b"use Linalg: all;\none()\n")?, &["repl"], 0, &["int: 42"])?;
    // Without the manifest nothing is found.
    fs::remove_file(place.path("heat/ravel.toml"))?;
    place.expect("heat", &["run", "src/main.sac"], 1, &["E0201"])
}

fn wrong() -> Result<(), Failed> {
    let place = Place::new()?;
    let manifest = |text: &str, texts: &[&str]| {
        place.heat("")?;
        place.write("heat/ravel.toml", text)?;
        place.expect("heat", &["run"], 1, texts)?;
        place.expect("heat", &["check", "--format", "short", "src"], 1, &[&texts[0][1..6]])
    };
    manifest("[package]\nname = \"heat\"\nroot = []\n", &["[E0501]", "did you mean `roots`?", "ravel.toml:3:1"])?;
    manifest("[package\n", &["[E0501]", "this is no TOML"])?;
    let head = "[package]\nname = \"heat\"\n";
    manifest(
        &format!("{head}roots = [\"src/no.sac\"]\n[dependencies]\na = {{ path = \"../no\" }}\n"),
        &["[E0502]", "there is no folder ../no"],
    )?;
    place.package("a", "[dependencies]\nb = { path = \"../b\" }\n", "A", "int f() { return 1; }")?;
    place.package("b", "[dependencies]\na = { path = \"../a\" }\n", "B", "int f() { return 1; }")?;
    manifest(&format!("{head}[dependencies]\na = {{ path = \"../a\" }}\n"), &["[E0503]", "a → b → a"])?;
    place.package("c", "", "Same", "int f() { return 1; }")?;
    place.package("d", "", "Same", "int f() { return 1; }")?;
    let both = "[dependencies]\nc = { path = \"../c\" }\nd = { path = \"../d\" }\n";
    manifest(&format!("{head}{both}"), &["[E0505]", "c/src/Same.sac", "d/src/Same.sac"])?;
    manifest(
        &format!("{head}[dependencies]\ne = {{ path = \"../c\" }}\n"),
        &["[E0502]", "the package there is `c`, not `e`"],
    )
}

fn repositories() -> Result<(), Failed> {
    let place = Place::new()?;
    let first = place.library()?;
    place.heat("linalg = { git = \"../linalg\", rev = \"v1\" }")?;
    place.expect("heat", &["run", "--offline"], 1, &["[E0502]", "is not in the cache"])?;
    place.expect("heat", &["run", "--locked"], 1, &["[E0502]", "is not in ravel.lock"])?;
    if place.path("heat/ravel.lock").exists() {
        return Err("a command that failed wrote the lock file".into());
    }
    place.expect("heat", &["run"], 1, &[])?;
    let lock = fs::read_to_string(place.path("heat/ravel.lock"))?;
    if !lock.contains(&format!("commit = \"{first}\"")) || !lock.contains("tree = \"") {
        return Err(lock.into());
    }
    // A tag, a commit, and a branch, which moves only if asked.
    place.heat("linalg = { git = \"../linalg\", rev = \"v2\" }")?;
    place.expect("heat", &["run", "--locked"], 1, &["is not in ravel.lock"])?;
    place.expect("heat", &["run", "--offline"], 2, &[])?;
    place.heat(&format!("linalg = {{ git = \"../linalg\", rev = \"{}\" }}", &first[..10]))?;
    place.expect("heat", &["run"], 1, &[])?;
    place.heat("linalg = { git = \"../linalg\", rev = \"main\" }")?;
    place.expect("heat", &["run"], 2, &[])?;
    place.package("linalg", "", "Linalg", "int one() { return 3; }")?;
    place.commit("linalg")?;
    place.expect("heat", &["run"], 2, &[])?;
    place.expect("heat", &["fetch", "--update"], 0, &["linalg  "])?;
    place.expect("heat", &["run", "--locked", "--offline"], 3, &[])?;
    // What is not there.
    place.heat("linalg = { git = \"../linalg\", rev = \"v3\" }")?;
    place.expect("heat", &["run"], 1, &["[E0502]", "has no revision `v3`", "did you mean `v"])?;
    place.heat("linalg = { git = \"../nothing\" }")?;
    place.expect("heat", &["run"], 1, &["[E0502]", "cannot fetch", "git: fatal"])?;
    place.heat("linalg = { git = \"https://no-such-host.invalid/linalg\" }")?;
    place.expect("heat", &["run"], 1, &["[E0502]", "cannot fetch https://no-such-host.invalid/linalg"])?;
    for entry in names(&place.path("cache/git"))? {
        let folder = place.path("cache/git").join(entry);
        if names(&folder)?.iter().any(|name| name.contains("partial")) {
            return Err(format!("something half written is in {}", folder.display()).into());
        }
    }
    place.heat("linalg = { git = \"../linalg\", rev = \"v1\" }")?;
    let mut without = place.command("heat", &["run"]);
    said(
        &finish(without.env("PATH", "").env("RAVEL_CACHE", place.path("other")), b"")?,
        &["run"],
        1,
        &["there is no `git`"],
    )?;
    let mut without = place.command("heat", &["run"]);
    said(&finish(without.env("RAVEL_CACHE", ""), b"")?, &["run"], 1, &["there is no cache folder"])
}

fn revisions() -> Result<(), Failed> {
    let place = Place::new()?;
    place.library()?;
    let wants = |rev: &str| format!("[dependencies]\nlinalg = {{ git = \"../linalg\", rev = \"{rev}\" }}\n");
    place.package("a", &wants("v1"), "A", "int f() { return 1; }")?;
    place.package("b", &wants("v2"), "B", "int f() { return 1; }")?;
    place.heat("a = { path = \"../a\" }\nb = { path = \"../b\" }")?;
    place.expect("heat", &["run"], 1, &["[E0504]", "heat → a → linalg", "heat → b → linalg", "v1", "v2"])?;
    place.package("b", &wants("v1"), "B", "int f() { return 1; }")?;
    place.expect("heat", &["run"], 1, &[])?;
    place.write("heat/ravel.lock", "[[package]]\nname =")?;
    place.expect("heat", &["run"], 1, &["[E0506]", "damaged"])
}

fn vendor() -> Result<(), Failed> {
    let place = Place::new()?;
    place.library()?;
    place.heat("linalg = { git = \"../linalg\", rev = \"v2\" }")?;
    place.expect("heat", &["vendor"], 0, &["copied 1 package into vendor"])?;
    fs::remove_dir_all(place.path("cache"))?;
    fs::remove_dir_all(place.path("linalg"))?;
    let mut offline = place.command("heat", &["run", "--offline", "--locked"]);
    said(&finish(offline.env("PATH", "").env("RAVEL_CACHE", ""), b"")?, &["run"], 2, &[])?;
    place.expect("heat", &["vendor"], 0, &["copied 1 package"])?;
    place.expect("heat", &["run"], 2, &[])?;
    place.expect("heat", &["check", "."], 0, &[])?;
    // What others made stays.
    place.write("heat/mine/file", "kept")?;
    place.expect("heat", &["vendor", "mine"], 1, &["not by `ravel vendor`"])?;
    place.expect("heat", &["vendor", "../out"], 1, &["is no folder in the package"])?;
    if fs::read_to_string(place.path("heat/mine/file"))? != "kept" {
        return Err("a file of the user is gone".into());
    }
    Ok(())
}

/// A command under way, whose lines come as they are written.
struct Watched {
    process: Child,
    lines: mpsc::Receiver<String>,
    seen: Vec<String>,
}

impl Watched {
    fn start(mut command: Command) -> Result<Watched, Failed> {
        let mut process =
            with_signals(&mut command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (sender, lines) = mpsc::channel();
        let outputs: [Option<Box<dyn std::io::Read + Send>>; 2] =
            [process.stdout.take().map(|out| Box::new(out) as _), process.stderr.take().map(|out| Box::new(out) as _)];
        for output in outputs.into_iter().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Ok(Watched { process, lines, seen: Vec::new() })
    }

    fn until(&mut self, text: &str) -> Result<(), Failed> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    let found = line.contains(text);
                    self.seen.push(line);
                    if found {
                        return Ok(());
                    }
                }
                Err(_) => return Err(format!("`{text}` was not said:\n{}", self.seen.join("\n")).into()),
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const ENDLESS: &str = "n = 0; while (n >= 0) { n = (n + 1) % 7; }";

fn watch() -> Result<(), Failed> {
    let place = Place::new()?;
    place.package("linalg", "", "Linalg", "use StdIO: all;\nint one() { printf(\"one\\n\"); return 0; }")?;
    place.heat("linalg = { path = \"../linalg\" }")?;
    let mut run = Watched::start(place.command("heat", &["run", "--watch"]))?;
    run.until("one")?;
    std::thread::sleep(Duration::from_millis(600));
    // A module of a dependency; then the manifest, while a program runs that never ends by itself.
    let endless = format!("use StdIO: all;\nint one() {{ printf(\"two\\n\"); {ENDLESS} return n; }}");
    place.package("linalg", "", "Linalg", &endless)?;
    run.until("Linalg.sac has changed")?;
    std::thread::sleep(Duration::from_millis(1500));
    place.write("heat/ravel.toml", "[package]\nnam = \"heat\"\n")?;
    run.until("ravel.toml has changed")?;
    run.until("did you mean `name`?")?;
    std::thread::sleep(Duration::from_millis(600));
    place.package("linalg", "", "Linalg", "use StdIO: all;\nint one() { printf(\"three\\n\"); return 0; }")?;
    place.heat("linalg = { path = \"../linalg\" }")?;
    run.until("three")
}

/// Tests are run again where they, what they use, or what is expected has changed.
fn watched_tests() -> Result<(), Failed> {
    let place = Place::new()?;
    place.write("p/ravel.toml", "[package]\nname = \"p\"\n")?;
    place.write("p/src/Half.sac", "module Half;\nuse Array: all;\nexport all;\nint half(int n) { return n / 2; }\n")?;
    place.write("p/tests/a.sac", "use Half: all; use Array: all;\nbool test_half() { return half(4) == 2; }\n")?;
    place.write("p/tests/b.sac", "use StdIO: all;\nint main() { printf(\"b\\n\"); return 0; }\n")?;
    place.write("p/tests/b.out", "b\n")?;
    let mut run = Watched::start(place.command("p", &["test", "--watch"]))?;
    run.until("2 passed, 0 failed")?;
    std::thread::sleep(Duration::from_millis(600));
    place.write("p/src/Half.sac", "module Half;\nuse Array: all;\nexport all;\nint half(int n) { return n / 3; }\n")?;
    run.until("Half.sac has changed")?;
    run.until("1 passed, 1 failed")?;
    std::thread::sleep(Duration::from_millis(600));
    place.write("p/tests/b.out", "c\n")?;
    run.until("b.out has changed")?;
    run.until("0 passed, 2 failed")?;
    std::thread::sleep(Duration::from_millis(600));
    place.write("p/tests/c.sac", "bool test_c() { return true; }\n")?;
    run.until("tests has changed")?;
    run.until("1 passed, 2 failed")
}

/// An interrupt ends what is watched together with who watches.
fn interrupts() -> Result<(), Failed> {
    let place = Place::new()?;
    let main = format!(
        "use Array: all;\nuse StdIO: all;\nint main() {{ printf(\"begun\\n\"); fflush(stdout); {ENDLESS} return n; }}\n"
    );
    place.write("p/ravel.toml", "[package]\nname = \"p\"\n")?;
    place.write("p/src/main.sac", &main)?;
    place.write("p/tests/a.sac", &format!("use Array: all;\nint test_a() {{ {ENDLESS} return n; }}\n"))?;
    for (arguments, begun) in [
        (&["run", "--watch"][..], Some("begun")),
        (&["check", "--watch"], None),
        (&["test", "--watch"], None),
        (&["test"], None),
    ] {
        let mut run = Watched::start(place.command("p", arguments))?;
        if let Some(text) = begun {
            run.until(text)?;
        }
        std::thread::sleep(Duration::from_millis(700));
        let all = descendants(run.process.id());
        let status = Command::new("kill").args(["-INT", &run.process.id().to_string()]).status()?;
        let ended = run.process.wait()?;
        if !status.success() || !(ended.signal() == Some(2) || ended.code() == Some(130)) {
            return Err(format!("{arguments:?} ended with {ended:?}").into());
        }
        let begin = Instant::now();
        while all.iter().any(|id| Path::new(&format!("/proc/{id}/exe")).exists()) {
            if begin.elapsed() > PATIENCE {
                return Err(format!("{arguments:?} has left one of {all:?} behind").into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

/// All processes below one.
fn descendants(of: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let own: Vec<u32> =
        texts.flat_map(|text| text.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect();
    own.iter().flat_map(|id| std::iter::once(*id).chain(descendants(*id))).collect()
}

/// What the manifest of the current folder says holds for what is typed, for benchmarks and for tuning.
fn all_commands() -> Result<(), Failed> {
    let place = Place::new()?;
    place.write(
        "shapes/src/Area.sac",
        "module Area;\nuse Array: all;\nexport all;\nint area(int n) { return n * n; }\n",
    )?;
    place.write(
        "p/ravel.toml",
        "[package]\nname = \"p\"\n[dependencies]\nshapes = { path = \"../shapes\" }\n[define]\nSIDE = \"7\"\n",
    )?;
    place.write("p/bench/a.sac", "use Area: all;\nint bench_area() { return area(SIDE); }\n")?;
    place.write("p/src/main.sac", "use Area: all;\nuse Array: all;\nint main() { return area(SIDE) - 49; }\n")?;
    place.expect("p", &["-e", "use Area: all;", "-e", "area(SIDE)"], 0, &["int: 49"])?;
    place.expect("p/src", &["-e", "use Area: all;", "-e", "area(SIDE)"], 0, &["int: 49"])?;
    place.expect("p", &["bench", "--quick"], 0, &["bench_area"])?;
    place.expect("", &["bench", "--quick", "p/bench"], 0, &["bench_area"])?;
    place.write("p/ravel.toml", "[package]\nnam = \"p\"\n")?;
    place.expect("p", &["-e", "1"], 1, &["did you mean `name`?"])
}

fn main() -> ExitCode {
    let trials = vec![
        Trial::test("new", new),
        Trial::test("paths", paths),
        Trial::test("wrong", wrong),
        Trial::test("repositories", repositories),
        Trial::test("revisions", revisions),
        Trial::test("vendor", vendor),
        Trial::test("watch", watch),
        Trial::test("watched-tests", watched_tests),
        Trial::test("interrupts", interrupts),
        Trial::test("all-commands", all_commands),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
