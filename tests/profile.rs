//! `ravel run --profile` and `--perf-map`, as a user types them: operations against a count by hand, the forms of files, devices, memory, programs
//! that end early.

use std::process::{Command, ExitCode, Stdio};

use ravel_tests::{Arguments, Failed, Finished, Trial, finish, has_device, ravel, ways};

const PRODUCT: &str = "use Array: all;\nuse StdIO: all;\n\
noinline double[m,n] product(double[m,k] a, double[k,n] b)\n{\n    return { [i,j] -> sum({ [l] -> a[i,l] * b[l,j] }) };\n}\n\
int main()\n{\n    a = { [i,j] -> tod(i + j) | [i,j] < [200,200] };\n    printf(\"%g\\n\", product(a, a)[3,4]);\n    return 0;\n}\n";

const STENCIL: &str = "use Array: all;\nuse StdIO: all;\n\
noinline double[n,n] relax(double[n,n] a)\n{\n    return with {\n\
        ([1,1] <= [i,j] < [n - 1,n - 1]) : 0.25 * (a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1]);\n    } : modarray(a);\n}\n\
int main()\n{\n    a = { [i,j] -> tod(i * j) | [i,j] < [300,300] };\n    printf(\"%g\\n\", relax(a)[3,4]);\n    return 0;\n}\n";

const ENDS: &str = "use Array: all;\nuse StdIO: all;\n\
noinline int pick(int[n] v, int k)\n{\n    return v[k];\n}\n\
int main()\n{\n    a = { [i] -> tod(i) | [i] < [100000] };\n    printf(\"%g\\n\", sum(a));\n    return pick([1,2,3], toi(a[7]));\n}\n";

fn profiled(text: &str, arguments: &[&str]) -> Result<Finished, Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("p.sac");
    std::fs::write(&path, text)?;
    let mut command = Command::new(ravel());
    command.arg("run").args(arguments).arg(&path).env("RAVEL_CACHE", folder.path());
    let run = finish(&mut command, b"")?;
    if run.crashed() { Err(run.describe().into()) } else { Ok(run) }
}

/// The operations that the table has for a function.
fn operations(table: &str, function: &str) -> Result<f64, Failed> {
    let line = table.lines().find(|line| line.contains(&format!("  {function} "))).ok_or_else(|| table.to_string())?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let unit = words.iter().position(|word| word.ends_with("FLOP")).ok_or_else(|| line.to_string())?;
    let scale = match words[unit] {
        "GFLOP" => 1e9,
        "MFLOP" => 1e6,
        "kFLOP" => 1e3,
        _ => 1.0,
    };
    Ok(words[unit - 1].parse::<f64>()? * scale)
}

fn counted() -> Result<(), Failed> {
    for threads in ["1", "2"] {
        for (text, function, by_hand) in
            [(PRODUCT, "product", 2.0 * 200f64.powi(3)), (STENCIL, "relax", 4.0 * 298.0 * 298.0)]
        {
            let run = profiled(text, &["--threads", threads, "--profile"])?;
            let found = operations(&run.stderr, function)?;
            if run.status != 0 || (found - by_hand).abs() > 0.05 * by_hand {
                return Err(format!("{function}: {found}, by hand {by_hand}\n{}", run.describe()).into());
            }
        }
    }
    Ok(())
}

fn files() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let place = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str| -> Result<String, Failed> {
        let run = profiled(PRODUCT, &[&format!("--profile={}", place(name))])?;
        if run.status != 0 {
            return Err(run.describe().into());
        }
        Ok(std::fs::read_to_string(place(name))?)
    };
    let folded = write("a.folded")?;
    let is_stack =
        |line: &str| line.rsplit_once(' ').is_some_and(|(s, n)| s.starts_with("program") && n.parse::<u64>().is_ok());
    if !folded.lines().all(is_stack) || !folded.contains("product ") {
        return Err(folded.into());
    }
    let json = write("a.json")?;
    if !json.starts_with('{')
        || !json.trim_end().ends_with("]}") && !json.trim_end().ends_with('}')
        || !json.contains("product ")
    {
        return Err(json.into());
    }
    let html = write("a.html")?;
    if !html.starts_with("<!DOCTYPE html>") || !html.contains("class=\"m\">") || !html.trim_end().ends_with("</html>") {
        return Err(html.into());
    }
    Ok(())
}

fn bad() -> Result<(), Failed> {
    for (arguments, status, text) in [
        (vec!["--profile=/no/such/folder/a.json"], 1, "cannot write"),
        (vec!["--profile=a.png"], 2, ".folded"),
        (vec!["--backend", "interp", "--profile"], 2, "the interpreter has no profile"),
    ] {
        let run = profiled(PRODUCT, &arguments)?;
        if run.status != status || !run.stderr.contains(text) || !run.stdout.is_empty() {
            return Err(run.describe().into());
        }
    }
    let run = profiled(ENDS, &["--profile"])?;
    if run.status != 1 || !run.stderr.contains("out of range") || !run.stderr.contains("profile: ") {
        return Err(run.describe().into());
    }
    Ok(())
}

/// With-loops that only move data, or hand arrays from one to the next.
const MOVES: &str = "use Array: all;\nuse StdIO: all;\n\
noinline double[n] turned(double[n] a)\n{\n    return { [i] -> a[n - 1 - i] | [i] < [n] };\n}\n\
int main()\n{\n    a = { [i] -> tod(i) | [i] < [100000] };\n\
    for (k = 0; k < 50; k++) {\n        b = turned(a);\n        a = b;\n    }\n\
    printf(\"%g\\n\", a[3]);\n    return 0;\n}\n";

/// A row without operations says that, and the row of waiting has the arrays that were made.
fn moved() -> Result<(), Failed> {
    let run = profiled(MOVES, &["--threads", "2", "--profile"])?;
    let row = run.stderr.lines().find(|line| line.contains("  turned ")).ok_or_else(|| run.describe())?;
    let waiting = run.stderr.lines().find(|line| line.contains("of these: waiting")).ok_or_else(|| run.describe())?;
    if row.contains("FLOP") || row.contains("neither peak") || !row.contains("GB/s") || !row.contains("80.000 MB") {
        return Err(run.describe().into());
    }
    let arrays = waiting.split_once("B in ").and_then(|(_, rest)| rest.split_once(" array"));
    let made: u64 = arrays.ok_or_else(|| waiting.to_string())?.0.parse()?;
    // One for each call, or two that take turns.
    if !(2..=60).contains(&made) || !waiting.contains(" copies") || !waiting.contains("(most in turned ") {
        return Err(run.describe().into());
    }
    Ok(())
}

/// Kernels count for the site that starts them, and are events of the time line.
fn device() -> Result<(), Failed> {
    if !has_device() {
        return Ok(());
    }
    let options = ["--backend", "opencl", "--launch-work", "1"];
    let run = profiled(PRODUCT, &[&options[..], &["--profile"]].concat())?;
    let row = run.stderr.lines().find(|line| line.contains("  product ")).ok_or_else(|| run.describe())?;
    if run.status != 0 || !row.contains("device: ") || !row.contains(" in 1 launch") {
        return Err(run.describe().into());
    }
    if !run.stderr.lines().any(|line| line.starts_with("Device ") && line.contains("fetched")) {
        return Err(run.describe().into());
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.json");
    let run = profiled(PRODUCT, &[&options[..], &[&format!("--profile={}", file.display())]].concat())?;
    let events: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    let on_device = |event: &&serde_json::Value| event["tid"] == 1_000_000 && event["ph"] == "X";
    let names: Vec<&str> = events["traceEvents"]
        .as_array()
        .ok_or("no list of events")?
        .iter()
        .filter(on_device)
        .filter_map(|event| event["name"].as_str())
        .collect();
    if run.status != 0 || !names.iter().any(|name| name.starts_with("product ")) {
        return Err(format!("{names:?}\n{}", run.describe()).into());
    }
    Ok(())
}

const TWICE: &str = "use Array: all;\nuse StdIO: all;\n\
noinline double[n] twice(double[n] a)\n{\n    return { [i] -> 2.0 * a[i] };\n}\n\
int main()\n{\n    a = { [i] -> tod(i) | [i] < [100000] };\n    printf(\"%g\\n\", sum(twice(a)));\n    return 0;\n}\n";

/// The backend whose functions have places.
const DEFAULT: &str = "cranelift";

/// The map has a line for each function, in perf's form, and the names of the program.
fn perf_map() -> Result<(), Failed> {
    for backend in ways::of_processor() {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("p.sac");
        std::fs::write(&path, TWICE)?;
        let mut command = Command::new(ravel());
        command.args(["run", "--backend", backend, "--perf-map"]).arg(&path);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let file = format!("/tmp/perf-{}.map", child.id());
        let run = child.wait_with_output()?;
        if backend != DEFAULT {
            // Its linker keeps the places to itself.
            let said = String::from_utf8_lossy(&run.stderr);
            if run.status.code() != Some(1) || !said.contains("does not tell where its functions lie") {
                return Err(format!("{backend}: {said}").into());
            }
            continue;
        }
        let map = std::fs::read_to_string(&file);
        let _ = std::fs::remove_file(&file);
        let map = map.map_err(|why| format!("{backend}: {file}: {why}"))?;
        let mut ends = 0;
        for line in map.lines() {
            let mut words = line.splitn(3, ' ');
            let mut number = || u64::from_str_radix(words.next().unwrap_or_default(), 16);
            let (start, bytes) = (number()?, number()?);
            if start < ends || bytes == 0 || words.next().is_none_or(str::is_empty) {
                return Err(format!("{backend}: {line}\n{map}").into());
            }
            ends = start + bytes;
        }
        if !run.status.success() || !map.contains("twice(double[100000]) ") || !map.contains("p.sac:3") {
            return Err(format!("{backend}: {map}").into());
        }
    }
    let run = profiled(PRODUCT, &["--backend", "interp", "--perf-map"])?;
    if run.status != 2 || !run.stderr.contains("--perf-map") {
        return Err(run.describe().into());
    }
    Ok(())
}

fn main() -> ExitCode {
    let trials = vec![
        Trial::test("operations are those of a count by hand", counted),
        Trial::test("files have the form of their name", files),
        Trial::test("bad outputs, faults", bad),
        Trial::test("moves without operations, memory", moved),
        Trial::test("kernels of a device", device),
        Trial::test("the map for perf", perf_map),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
