//! Packages as users have them: `ravel new`, manifests, path and git dependencies, `fetch`, `vendor`, `--watch`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use ravel_tests::{Arguments, Failed, Finished, Trial, finish, ravel};

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

/// A watched command, whose lines come as they are written.
fn watch() -> Result<(), Failed> {
    let place = Place::new()?;
    place.package("linalg", "", "Linalg", "use StdIO: all;\nint one() { printf(\"one\\n\"); return 0; }")?;
    place.heat("linalg = { path = \"../linalg\" }")?;
    let mut command = place.command("heat", &["run", "--watch"]);
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
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
    let mut seen = Vec::new();
    let mut until = |text: &str| -> Result<(), Failed> {
        loop {
            match lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    let found = line.contains(text);
                    seen.push(line);
                    if found {
                        return Ok(());
                    }
                }
                Err(_) => return Err(format!("`{text}` was not said:\n{}", seen.join("\n")).into()),
            }
        }
    };
    let mut steps = || -> Result<(), Failed> {
        until("one")?;
        std::thread::sleep(Duration::from_millis(600));
        // A module of a dependency; then the manifest, while a program runs that never ends by itself.
        let endless =
            "use StdIO: all;\nint one() { printf(\"two\\n\"); n = 0; while (n >= 0) { n = (n + 1) % 7; } return n; }";
        place.package("linalg", "", "Linalg", endless)?;
        until("Linalg.sac has changed")?;
        std::thread::sleep(Duration::from_millis(1500));
        place.write("heat/ravel.toml", "[package]\nnam = \"heat\"\n")?;
        until("ravel.toml has changed")?;
        until("did you mean `name`?")?;
        std::thread::sleep(Duration::from_millis(600));
        place.package("linalg", "", "Linalg", "use StdIO: all;\nint one() { printf(\"three\\n\"); return 0; }")?;
        place.heat("linalg = { path = \"../linalg\" }")?;
        until("three")
    };
    let outcome = steps();
    process.kill()?;
    process.wait()?;
    outcome
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
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
