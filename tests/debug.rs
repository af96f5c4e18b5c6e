//! `Debug::trace`: results are the same with and without it in every way to run a program, lines are whole, and there is one for each time that
//! the program comes by.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::{Command, ExitCode};

use ravel_tests::ways::{self, Way};
use ravel_tests::{Arguments, Failed, Finished, Trial, finish, has_device, ravel};

/// `TRACE` is `trace` or nothing.
const HEAD: &str = "use Array: all;\nuse StdIO: all;\nuse Debug: all;\nuse Char: { tochar };\n\
#ifdef PLAIN\n#define TRACE(label, x) (x)\n#else\n#define TRACE(label, x) trace(label, x)\n#endif\n";

/// In with-loops of with-loops, in a fold, in loops and branches, of whole arrays; one value that nobody needs, one that does not change.
const EVERYWHERE: &str = "noinline double[m,n] relax(double[m,n] a)\n{\n\
    return { [i,j] -> TRACE(\"cell\", (0.25 * a[i,j] + 1.0 / tod(i + j + 1))) };\n}\n\
noinline double weigh(double[.,.] a)\n{\n\
    rows = { [i] -> sum(TRACE(\"row\", a[i])) | [i] < [shape(a)[0]] };\n\
    return sum({ iv -> TRACE(\"weight\", rows[iv] * 0.1) | iv < shape(rows) });\n}\n\
int main()\n{\n\
    a = { [i,j] -> tod((i * 7 + j * 3) % 11) | [i,j] < [40,6] };\n\
    for (k = 0; k < 3; k++) {\n\
        a = relax(a);\n\
        same = TRACE(\"same\", 5);\n\
        if (k == 1) {\n            a = TRACE(\"once\", a) * 2.0;\n        }\n    }\n\
    unused = TRACE(\"unused\", sum(a));\n\
    print(a);\n    printf(\"%.17g\\n\", weigh(a));\n    return 0;\n}\n";

/// Enough work for threads.
const LARGE: &str = "int main()\n{\n\
    a = { [i,j] -> TRACE(\"x\", ((i * 31 + j * 17) % 1009)) | [i,j] < [300,70] };\n\
    printf(\"%d\\n\", sum(a * a));\n    return 0;\n}\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn of(text: &str) -> Result<Folder, Failed> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("p.sac"), format!("{HEAD}{text}"))?;
        Ok(Folder(folder))
    }

    fn run(&self, way: Way, options: &[&str]) -> Result<Finished, Failed> {
        let source = self.0.path().join("p.sac");
        let mut command = way.command(&source, options.iter().map(ToString::to_string), self.0.path())?;
        let run = finish(&mut command, b"")?;
        if run.status == 0 { Ok(run) } else { Err(run.describe().into()) }
    }
}

/// Places, labels and indices.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().map(|line| line.split_once(" = ").map_or(line, |(head, _)| head)).collect();
    lines.sort_unstable();
    lines
}

fn all_ways() -> Vec<(&'static str, Way)> {
    let mut ways = ways::all();
    ways.extend(ways::of_processor().into_iter().map(|backend| ("8 threads", Way::Jit { backend, threads: 8 })));
    ways
}

/// The same output with and without traces in each way, and the same lines as the interpreter's, in any order.
fn agrees(text: &str) -> Result<String, Failed> {
    let folder = Folder::of(text)?;
    let lines = folder.run(Way::Interpreter, &[])?.stderr;
    for (name, way) in all_ways() {
        let (plain, traced) = (folder.run(way, &["-DPLAIN"])?, folder.run(way, &[])?);
        if plain.stdout != traced.stdout || !plain.stderr.is_empty() {
            return Err(format!("{name}: {}\nwithout: {}", traced.describe(), plain.describe()).into());
        }
        // Sums of reals may regroup where the interpreter's do not, and the lines show all digits.
        if sorted(&traced.stderr) != sorted(&lines) {
            return Err(format!("{name}: {}\nthe interpreter: {lines}", traced.describe()).into());
        }
    }
    Ok(lines)
}

fn everywhere() -> Result<(), Failed> {
    let lines = agrees(EVERYWHERE)?;
    for (label, count) in [("cell", 3 * 240), ("row", 40), ("weight", 40), ("same", 3), ("once", 1), ("unused", 1)] {
        let found = lines.lines().filter(|line| line.contains(&format!(": {label} "))).count();
        if found != count {
            return Err(format!("{label}: {found} lines, not {count}\n{lines}").into());
        }
    }
    for whole in [
        "p.sac:12:19 in relax: cell at [0,0] = 1.0",
        "in main: same = 5",
        "in main: once = double[40,6] [[",
        "in weigh: row at [3] = double[6] [",
    ] {
        if !lines.contains(whole) {
            return Err(format!("no {whole}\n{lines}").into());
        }
    }
    Ok(())
}

/// Every element type, ranks 0 to 5.
fn types() -> Result<(), Failed> {
    let elements = [
        ("bool", "k % 2 == 0"),
        ("char", "tochar(k + 97)"),
        ("byte", "tob(k - 3)"),
        ("short", "tosh(k - 3)"),
        ("int", "k - 3"),
        ("long", "tol(k - 3)"),
        ("longlong", "toll(k - 3)"),
        ("ubyte", "toub(k)"),
        ("ushort", "tous(k)"),
        ("uint", "toui(k)"),
        ("ulong", "toul(k)"),
        ("ulonglong", "toull(k)"),
        ("float", "tof(k) * 0.5f"),
        ("double", "tod(k) * 0.5"),
    ];
    let mut text = String::new();
    let mut calls = String::new();
    for (name, value) in elements {
        _ = writeln!(text, "noinline {name} {name}_of(int k) {{ return {value}; }}");
        for shape in ["[]", "[2]", "[2,1]", "[2,1,2]", "[1,2,1,2]", "[2,1,2,1,2]"] {
            _ = writeln!(
                calls,
                "    print(TRACE(\"{name}{shape}\", ({{ iv -> {name}_of(sum(iv)) | iv < {shape} }})));"
            );
        }
    }
    let lines = agrees(&format!("{text}int main()\n{{\n{calls}    return 0;\n}}\n"))?;
    if lines.lines().count() != 6 * elements.len() {
        return Err(lines.into());
    }
    for whole in [
        "bool[] = true",
        "char[2] \"ab\"",
        "int[2,1] = int[2,1] [[-3],[-2]]",
        "float[] = 0.0",
        "ulonglong[2] = ulong[2] [0,1]",
    ] {
        if !lines.contains(whole) {
            return Err(format!("no {whole}\n{lines}").into());
        }
    }
    Ok(())
}

/// Lines from threads are whole, and each index has its own.
fn whole_lines() -> Result<(), Failed> {
    let folder = Folder::of(LARGE)?;
    for backend in ways::of_processor() {
        let run = folder.run(Way::Jit { backend, threads: 8 }, &[])?;
        let mut found = BTreeSet::new();
        for line in run.stderr.lines() {
            let parts = line.split_once(" in main: x at [").and_then(|(_, rest)| rest.split_once("] = "));
            let Some(((i, j), value)) = parts.and_then(|(iv, value)| Some((iv.split_once(',')?, value))) else {
                return Err(format!("a broken line: {line}").into());
            };
            let (i, j): (i64, i64) = (i.parse()?, j.parse()?);
            if value.parse::<i64>()? != (i * 31 + j * 17) % 1009 || !found.insert((i, j)) {
                return Err(format!("a wrong line: {line}").into());
            }
        }
        if found.len() != 300 * 70 {
            return Err(format!("{backend}: {} lines", found.len()).into());
        }
    }
    agrees(LARGE).map(|_| ())
}

/// That nobody listens changes nothing.
fn closed() -> Result<(), Failed> {
    let folder = Folder::of(EVERYWHERE)?;
    let wanted = folder.run(Way::Jit { backend: ways::of_processor()[0], threads: 2 }, &["-DPLAIN"])?.stdout;
    let script = format!("exec {} run p.sac 2>&-", ravel().display());
    let run = finish(Command::new("sh").args(["-c", &script]).current_dir(folder.0.path()), b"")?;
    if run.status != 0 || run.stdout != wanted {
        return Err(run.describe().into());
    }
    Ok(())
}

/// A traced with-loop is none of the device's; others stay there.
fn on_the_host() -> Result<(), Failed> {
    if !has_device() {
        return Ok(());
    }
    let text = "noinline double[n] twice(double[n] a)\n{\n    return { [i] -> 2.0 * TRACE(\"x\", a[i]) };\n}\n\
        noinline double[n] thrice(double[n] a)\n{\n    return { [i] -> 3.0 * a[i] };\n}\n\
        int main()\n{\n    print(thrice(twice({ [i] -> tod(i) | [i] < [500] }))[7]);\n    return 0;\n}\n";
    let folder = Folder::of(text)?;
    let [traced, plain] = [&["--stats"][..], &["--stats", "-DPLAIN"]].map(|options| folder.run(Way::Device, options));
    let (traced, plain) = (traced?, plain?);
    let has_kernel = |run: &Finished, name: &str| run.stderr.lines().any(|line| line.trim_start().starts_with(name));
    let fits = has_kernel(&traced, "thrice_") && !has_kernel(&traced, "twice_") && has_kernel(&plain, "twice_");
    if !fits || traced.stdout != plain.stdout {
        return Err(format!("{}\nwithout: {}", traced.describe(), plain.describe()).into());
    }
    Ok(())
}

fn main() -> ExitCode {
    let trials = vec![
        Trial::test("everywhere", everywhere),
        Trial::test("every element type and rank", types),
        Trial::test("lines of eight threads are whole", whole_lines),
        Trial::test("a closed standard error", closed),
        Trial::test("on the host", on_the_host),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
