//! `ravel run --profile`, as a user types it: operations against a count by hand, the forms of files, programs that end early.

use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, finish, ravel};

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

fn main() -> ExitCode {
    let trials = vec![
        Trial::test("operations are those of a count by hand", counted),
        Trial::test("files have the form of their name", files),
        Trial::test("bad outputs, faults", bad),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
