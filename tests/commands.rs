//! Small commands, as a user types them: `-e`, programs from standard input, completions, manual pages, `doctor`, `explain`.

use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, finish, ravel};

fn run(arguments: &[&str], input: &str) -> Result<Finished, Failed> {
    let run = finish(Command::new(ravel()).args(arguments), input.as_bytes())?;
    if run.crashed() { Err(run.describe().into()) } else { Ok(run) }
}

/// A run that ends with this status and says this on either stream.
fn expect(arguments: &[&str], input: &str, status: i32, text: &str) -> Result<(), Failed> {
    let run = run(arguments, input)?;
    let said = format!("{}{}", run.stdout, run.stderr);
    if run.status == status && said.contains(text) {
        Ok(())
    } else {
        Err(format!("{arguments:?}: expected {status} and `{text}`: {}", run.describe()).into())
    }
}

fn evaluate() -> Result<(), Failed> {
    expect(&["-e", "sum(iota(101))"], "", 0, "int: 5050\n")?;
    expect(&["-e", "x = 3", "-e", "x + 1"], "", 0, "int: 4\n")?;
    expect(&["-e", "1 + true", "-e", "2"], "", 1, "E0310")?;
    expect(&["-e", "1 +"], "", 1, "the input ends too early")?;
    expect(&["-e", "[1,2][7]"], "", 1, "out of range")?;
    expect(&[], "", 2, "Usage: ravel")
}

fn standard_input() -> Result<(), Failed> {
    let program = "use StdIO: all;\nint main() { printf(\"hi\\n\"); return 3; }\n";
    expect(&["run", "-"], program, 3, "hi\n")?;
    expect(&["run", "--backend", "interp", "-"], program, 3, "hi\n")?;
    expect(&["run", "-"], "int main() { return x; }\n", 1, "<stdin>:1:21")
}

fn manual() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("man");
    expect(&["man", &path.display().to_string()], "", 0, "")?;
    let page = std::fs::read_to_string(path.join("ravel-run.1"))?;
    if !page.contains("Compile a program in memory and run it") || !path.join("ravel.1").is_file() {
        return Err(page.into());
    }
    let file = folder.path().join("file");
    std::fs::write(&file, "kept")?;
    expect(&["man", &file.display().to_string()], "", 1, "cannot make the folder")?;
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        expect(&["completions", shell], "", 0, "explain")?;
    }
    expect(&["completions", "sh"], "", 2, "possible values: bash")
}

fn doctor() -> Result<(), Failed> {
    expect(&["doctor"], "", 0, "C compiler")?;
    let mut command = Command::new(ravel());
    let found = finish(command.arg("doctor").env("CC", "no-such-compiler"), b"")?;
    if found.status != 1 || !found.stdout.contains("MISSING: `no-such-compiler` does not start") {
        return Err(found.describe().into());
    }
    expect(&["--version"], "", 0, "backends: interp, cranelift")
}

fn explain() -> Result<(), Failed> {
    expect(&["explain"], "", 0, "E0312")?;
    expect(&["explain", "E0312"], "", 0, "E0312: arguments differ in shape")?;
    expect(&["explain", "e0312"], "", 0, "E0312: arguments differ in shape")?;
    expect(&["explain", "E0313"], "", 2, "did you mean E0")
}

/// Executables where there is no C compiler: copies of `ravel`, which take all arguments for the program.
fn attached() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let place = |name: &str| folder.path().join(name).display().to_string();
    let source = place("p.sac");
    let text = "use Array: all;\nuse StdIO: all;\nuse CommandLine: all;\nint main() { v = [1, 2, 3]; printf(\"%d\\n\", argc()); return v[argc()]; }\n";
    std::fs::write(&source, text)?;
    // No `cc` in sight.
    let mut build = Command::new(ravel());
    build.args(["build", &source, "-o", &place("p")]).env("PATH", folder.path()).env_remove("CC");
    let built = finish(&mut build, b"")?;
    if built.status != 0 || !built.stderr.contains("there is no C compiler `cc`") {
        return Err(built.describe().into());
    }
    let program = |name: &str, arguments: &[&str]| finish(Command::new(place(name)).args(arguments), b"");
    let run = program("p", &["--version"])?;
    if (run.stdout.as_str(), run.status) != ("2\n", 3) {
        return Err(run.describe().into());
    }
    let fault = program("p", &["run", "x"])?;
    if fault.status != 1 || !fault.stderr.contains("p.sac:4:") || !fault.stderr.contains("index 3 is out of range") {
        return Err(fault.describe().into());
    }
    // A compiler that somebody named is no reason for another way.
    let mut build = Command::new(ravel());
    build.args(["build", &source, "-o", &place("q")]).env("CC", "/no/such/compiler");
    let refused = finish(&mut build, b"")?;
    if refused.status != 1 || !refused.stderr.contains("cannot start the C compiler") || Path::new(&place("q")).exists()
    {
        return Err(refused.describe().into());
    }
    // Half a file.
    let whole = std::fs::read(place("p"))?;
    let mut damaged = whole.clone();
    let at = whole.len() - 32;
    damaged[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    std::fs::write(place("p"), damaged)?;
    let run = program("p", &[])?;
    if run.status != 70 || !run.stderr.contains("damaged") {
        return Err(run.describe().into());
    }
    let foreign = "external int abs(int x);\n    #pragma linkobj \"own.c\"\nint main() { return abs(8); }\n";
    std::fs::write(place("own.c"), "int own(int x) { return x; }\n")?;
    std::fs::write(&source, foreign)?;
    expect(&["build", "--no-cc", &source, "-o", &place("r")], "", 1, "only a C compiler can link them")
}

/// Where address space is limited, a program runs.
fn little_memory() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("p.sac");
    std::fs::write(&source, "use StdIO: all; use Array: all;\nint main() { printf(\"%d\\n\", 6 * 7); return 0; }\n")?;
    for kibibytes in [3_000_000, 2_000_000, 1_200_000] {
        let limited = format!("ulimit -v {kibibytes}; exec \"$@\"");
        let mut command = Command::new("bash");
        command.args(["-c", &limited, "bash"]).arg(ravel()).args(["run", "--threads", "2"]).arg(&source);
        let run = finish(&mut command, b"")?;
        let works = run.status == 0 && run.stdout == "42\n";
        if !works {
            return Err(format!("{kibibytes} KiB: {}", run.describe()).into());
        }
    }
    Ok(())
}

/// A recursion that ends needs more stack; nobody calls it endless.
fn deep_recursion() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("p.sac");
    let text = "use StdIO: all; use ScalarArith: all; use CommandLine: { argc };\n\
        noinline int down(int n) { return n == 0 ? 0 : 1 + down(n - argc()); }\n\
        int main() { printf(\"%d\\n\", down(N * argc())); return 0; }\n";
    std::fs::write(&source, text)?;
    for (backend, calls) in [("cranelift", "2000000"), ("interp", "20000")] {
        let run = |stack: &str| {
            let mut command = Command::new(ravel());
            command
                .args(["run", "--backend", backend, "-D", &format!("N={calls}")])
                .arg(&source)
                .env("RAVEL_STACK", stack);
            finish(&mut command, b"")
        };
        let deep = run("8")?;
        let words = ["recursion is too deep", "down", "calls itself", "RAVEL_STACK=", "write a loop"];
        if deep.status != 1
            || words.iter().any(|word| !deep.stderr.contains(word))
            || deep.stderr.contains("without end")
        {
            return Err(format!("{backend}: {}", deep.describe()).into());
        }
        let enough = run("4096")?;
        if (enough.status, enough.stdout.as_str()) != (0, format!("{calls}\n").as_str()) {
            return Err(format!("{backend}: {}", enough.describe()).into());
        }
        let wrong = run("some")?;
        if wrong.status == 0 || !wrong.stderr.contains("RAVEL_STACK must be a number of MiB from 8 to") {
            return Err(format!("{backend}: {}", wrong.describe()).into());
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let trials = vec![
        Trial::test("evaluate", evaluate),
        Trial::test("standard input", standard_input),
        Trial::test("manual", manual),
        Trial::test("doctor", doctor),
        Trial::test("explain", explain),
        Trial::test("attached", attached),
        Trial::test("little memory", little_memory),
        Trial::test("deep recursion", deep_recursion),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
