//! `ravel bench` as a user runs it. What times say of a change is tested on recorded samples, in the driver; here only differences that no
//! load of a machine hides.

use std::fs;
use std::path::Path;
use std::process::Command;

use ravel_tests::{Failed, Finished, finish, ravel};

const BENCHES: &str = r#"use Array: all;
//! n = 8, 32
//! k = 3
float[.,.] bench_weighted(float[n,n] a, float[k,k] w) { return { iv -> sum({ ov -> w[ov] * a[iv + ov] | ov < [3,3] }) | iv < [n - 2, n - 2] }; }
//! n = 64
double bench_product(double[n] a, double[n] b) { return sum({ [i] -> a[i] * b[i] }); }
//! n = 10
int bench_fault(int[n] a) { return a[n + sum(a)]; }
double bench_open(double[m] a, double[.] b) { return a[0] + b[0]; }
//! n = 1;2
double bench_list(double[n] a) { return a[0]; }
"#;

fn bench(folder: &Path, arguments: &[&str]) -> Result<Finished, Failed> {
    let mut command = Command::new(ravel());
    let run = finish(command.arg("bench").args(["--threads", "1"]).args(arguments).current_dir(folder), b"")?;
    if run.crashed() { Err(run.describe().into()) } else { Ok(run) }
}

fn project(text: &str) -> Result<tempfile::TempDir, Failed> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("bench"))?;
    fs::write(folder.path().join("ravel.toml"), "[package]\nname = \"p\"\n")?;
    fs::write(folder.path().join("bench/all.sac"), text)?;
    Ok(folder)
}

#[test]
fn functions_are_timed_for_values_of_names() -> Result<(), Failed> {
    let text = BENCHES.split("//! n = 1;2").next().unwrap_or_default();
    let project = project(text)?;
    let listed = bench(project.path(), &["--list"])?;
    let wanted = "bench/all.sac:4: bench_weighted(n = 8, k = 3)\nbench/all.sac:4: bench_weighted(n = 32, k = 3)\n\
        bench/all.sac:6: bench_product(n = 64)\nbench/all.sac:8: bench_fault(n = 10)\nbench/all.sac:9: bench_open\n";
    assert_eq!(listed.stdout, wanted, "{}", listed.describe());
    let run = bench(project.path(), &["--quick"])?;
    assert_eq!(run.status, 1, "{}", run.describe());
    for text in ["benchmark", "bench_weighted(n = 8, k = 3)", "bench_weighted(n = 32, k = 3)", "bench_product(n = 64)"]
    {
        assert!(run.stdout.contains(text), "{text}: {}", run.describe());
    }
    for text in ["bench_fault(n = 10)\nbench/all.sac:8:36: index", "bench_open\n`m`, the shape of `b` without a value"]
    {
        assert!(run.stderr.contains(text), "{text}: {}", run.describe());
    }
    let wrong = self::project(BENCHES)?;
    let run = bench(wrong.path(), &[])?;
    assert!(run.status == 1 && run.stderr.contains("bench_list: `1;2` is no list of numbers"), "{}", run.describe());
    let none = bench(project.path(), &["--filter", "nothing"])?;
    assert!(none.status == 1 && none.stderr.contains("no benchmarks that the filter admits"), "{}", none.describe());
    Ok(())
}

#[test]
fn results_have_all_samples_and_counts() -> Result<(), Failed> {
    let project = project(BENCHES.split("//! n = 10").next().unwrap_or_default())?;
    let run = bench(project.path(), &["--quick", "--format", "json"])?;
    let value: serde_json::Value = serde_json::from_str(&run.stdout).map_err(|error| error.to_string())?;
    assert!(value["machine"]["processor"].is_string() && value["version"].is_string(), "{}", run.describe());
    let results = value["results"].as_array().ok_or("there are no results")?;
    let counts: Vec<_> = results.iter().map(|one| (one["operations"].as_f64(), one["bytes"].as_f64())).collect();
    // 9 products and 9 sums for each of n - 2 squared elements; 64 of each.
    let of = |n: f64| (Some(18.0 * (n - 2.0) * (n - 2.0)), Some(4.0 * (n * n + 9.0 + (n - 2.0) * (n - 2.0))));
    assert_eq!(counts, [of(8.0), of(32.0), (Some(128.0), Some(1032.0))]);
    for one in results {
        let samples = one["samples"].as_array().ok_or("there are no samples")?;
        let (calls, median) = (one["calls"].as_f64().unwrap_or(0.0), one["median"].as_f64().unwrap_or(0.0));
        assert!(samples.len() == 10 && calls >= 1.0 && median > 0.0, "{one}");
    }
    Ok(())
}

#[test]
fn results_are_kept_and_compared() -> Result<(), Failed> {
    let project = project(BENCHES.split("//! n = 10").next().unwrap_or_default())?;
    let only = ["--quick", "--filter", "product"];
    let saved = bench(project.path(), &[&only[..], &["--save", "base"]].concat())?;
    assert_eq!(saved.status, 0, "{}", saved.describe());
    let path = project.path().join(".ravel/bench/base.json");
    let text = fs::read_to_string(&path)?;
    let scaled = |factor: f64| -> Result<(), Failed> {
        let mut value: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let samples = value["results"][0]["samples"].as_array_mut().ok_or("there are no samples")?;
        samples.iter_mut().for_each(|sample| *sample = (sample.as_f64().unwrap_or(0.0) * factor).into());
        Ok(fs::write(&path, value.to_string())?)
    };
    let compare = [&only[..], &["--compare", "base", "--deny", "slower"]].concat();
    scaled(0.01)?;
    let slower = bench(project.path(), &compare)?;
    assert!(slower.status == 1 && slower.stdout.contains("% slower than base ("), "{}", slower.describe());
    let told = bench(project.path(), &compare[..5])?;
    assert!(told.status == 0 && told.stdout.contains("% slower than base ("), "{}", told.describe());
    scaled(100.0)?;
    // From a folder of the project, too.
    let faster = bench(&project.path().join("bench"), &[&["../bench/all.sac"], &compare[..]].concat())?;
    assert!(faster.status == 0 && faster.stdout.contains("not in base"), "{}", faster.describe());
    let faster = bench(project.path(), &compare)?;
    assert!(faster.status == 0 && faster.stdout.contains("% faster than base ("), "{}", faster.describe());
    let elsewhere = bench(project.path(), &[&compare[..], &["--backend", "interp"]].concat())?;
    assert!(elsewhere.stderr.contains("was measured with the backend cranelift"), "{}", elsewhere.describe());
    for (name, why) in [("other", "cannot read"), ("../base", "is no name for results")] {
        let run = bench(project.path(), &["--compare", name])?;
        assert!(run.status == 1 && run.stderr.contains(why), "{}", run.describe());
    }
    fs::write(&path, "{}")?;
    let empty = bench(project.path(), &compare)?;
    assert!(empty.status == 1 && empty.stderr.contains("holds no results of benchmarks"), "{}", empty.describe());
    Ok(())
}

/// Three that cannot be measured, and two that can.
const UNRULY: &str = r#"use Array: all; use World: all; use StdIO: all;
external void exit(int status);
    #pragma effect TheWorld
    #pragma linkname "ravel_exit"
//! n = 8
double bench_before(double[n] a) { return sum(a); }
int bench_exit(int[n] a) { printf("bye\n"); exit(3); return sum(a); }
int bench_endless(int[n] a) { x = 1; while (x + sum(a) != -5) { x = x == 7 ? 5 : 7; } return x; }
double bench_grows(double[n] a) { while (sum(a) != 0.5) { a = a ++ a; } return sum(a); }
double bench_behind(double[n] a) { return sum(a * a); }
"#;

#[test]
fn what_ends_a_process_costs_one_benchmark() -> Result<(), Failed> {
    let text = UNRULY
        .replace("int bench_", "//! n = 8\nint bench_")
        .replace("double bench_grows", "//! n = 1000\ndouble bench_grows");
    let text = text.replace("double bench_behind", "//! n = 8\ndouble bench_behind");
    let project = project(&text)?;
    let run = bench(project.path(), &["--quick", "--timeout", "3", "--memory", "300M"])?;
    assert_eq!(run.status, 1, "{}", run.describe());
    for text in [
        "bench_exit(n = 8)\nit called `exit`, or ended the process otherwise, with status 3\nit wrote\nbye\n",
        "bench_endless(n = 8)\nit takes longer than 3 s\n",
        "bench_grows(n = 1000)\nit needs more than 300 MiB\n",
    ] {
        assert!(run.stderr.contains(text), "{text}: {}", run.describe());
    }
    for text in ["of peak", "bench_before(n = 8)", "bench_behind(n = 8)"] {
        assert!(run.stdout.contains(text), "{text}: {}", run.describe());
    }
    Ok(())
}
