//! The forms of reports that programs read, and the fixes that `ravel check` applies.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use ravel_tests::{Arguments, Failed, Finished, Trial, files_below, finish, ravel, repository};
use serde_json::Value;

fn check(arguments: &[&str], input: &str) -> Result<Finished, Failed> {
    let mut command = Command::new(ravel());
    command.arg("check").args(arguments).current_dir(repository().join("tests/diagnostics"));
    let run = finish(&mut command, input.as_bytes())?;
    if run.crashed() { Err(run.describe().into()) } else { Ok(run) }
}

/// Whether a value is what a schema asks for; the part of JSON Schema that ours is written in.
fn fits(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{value} is not {what} by {schema}"));
    let schema = match schema["$ref"].as_str() {
        Some(path) => root.pointer(&path[1..]).ok_or(format!("no {path}"))?,
        None => schema,
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_kind = match &schema["type"] {
        Value::String(one) => one == kind,
        Value::Array(some) => some.iter().any(|one| one == kind),
        _ => true,
    };
    if !is_kind || value.is_f64() {
        return wrong("of the type");
    }
    if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
        return wrong("one of the values");
    }
    if schema["minimum"].as_i64().is_some_and(|least| value.as_i64().is_none_or(|n| n < least)) {
        return wrong("large enough");
    }
    if let Value::Array(items) = value {
        items.iter().try_for_each(|item| fits(item, &schema["items"], root))?;
    }
    if let Value::Object(fields) = value {
        for name in schema["required"].as_array().into_iter().flatten() {
            if !fields.contains_key(name.as_str().unwrap_or_default()) {
                return wrong(&format!("complete: {name} is missing"));
            }
        }
        for (name, field) in fields {
            match schema["properties"].get(name) {
                Some(schema) => fits(field, schema, root)?,
                None => return wrong(&format!("allowed to have {name}")),
            }
        }
    }
    Ok(())
}

/// Reports about a wrong program, as lines of JSON, are what the schema says, and as many as there are lines of the short form.
fn json_follows_its_schema(file: &Path) -> Result<(), Failed> {
    let schema: Value = serde_json::from_str(&fs::read_to_string(repository().join("docs/diagnostics.schema.json"))?)?;
    let file = file.display().to_string();
    let run = check(&["--format", "json", &file], "")?;
    let lines = check(&["--format", "short", &file], "")?;
    let short: Vec<&str> = lines.stderr.lines().filter(|line| line.contains("]: ")).collect();
    for (line, short) in run.stdout.lines().zip(&short) {
        let report: Value = serde_json::from_str(line)?;
        fits(&report, &schema, &schema)?;
        let mark = format!(
            "{}[{}]: ",
            report["severity"].as_str().unwrap_or_default(),
            report["code"].as_str().unwrap_or_default()
        );
        let place = report["place"]["start"]["line"].as_i64().map_or(String::new(), |line| format!(":{line}:"));
        if !short.contains(&mark) || !short.contains(&place) {
            return Err(format!("{line}\nis not the report\n{short}").into());
        }
    }
    match run.stdout.lines().count() == short.len() {
        true => Ok(()),
        false => Err(format!("{}\nand\n{}", run.stdout, lines.stderr).into()),
    }
}

const WRONG: &str = "int main() { a = [1,2,3]; b = a + 1; c = sum(b) * 2.5; return c; }\n";

fn other_forms() -> Result<(), Failed> {
    let run = check(&["--format", "sarif", "-"], WRONG)?;
    let document: Value = serde_json::from_str(&run.stdout)?;
    let result = &document["runs"][0]["results"][0];
    let region = &result["locations"][0]["physicalLocation"]["region"];
    if document["version"] != "2.1.0" || result["ruleId"] != "E0210" || region["startLine"] != 1 {
        return Err(run.describe().into());
    }
    let run = check(&["--format", "github", "-"], WRONG)?;
    if !run.stdout.starts_with("::error file=<stdin>,line=1,endLine=1,col=33,title=E0210::") || run.status != 1 {
        return Err(run.describe().into());
    }
    let run = check(&["--format", "short", "-"], WRONG)?;
    let line = "<stdin>:1:33: error[E0210]: ";
    if !run.stderr.starts_with(line) || !run.stdout.is_empty() {
        return Err(run.describe().into());
    }
    let run = check(&["--format", "xml", "-"], WRONG)?;
    if run.status != 2 || !run.stderr.contains("human, short, json, sarif, github") {
        return Err(run.describe().into());
    }
    Ok(())
}

/// Fixes go on until none is left, and what cannot be written is left as it is.
fn fixes() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("wrong.sac");
    let path = file.display().to_string();
    fs::write(&file, "int main()\n{\n    a = [1, 2, 3] * 2.5;\n    return toi(sum(a));\n}\n")?;
    let run = check(&["--fix", &path], "")?;
    let mended = "use Array: all;\n\nint main()\n{\n    a = tod([1, 2, 3]) * 2.5;\n    return toi(sum(a));\n}\n";
    if run.status != 0 || fs::read_to_string(&file)? != mended {
        return Err(format!("{}\n{}", fs::read_to_string(&file)?, run.describe()).into());
    }
    // What only the author can know is left.
    let unsure = "int f(int i) { return i; }\nint main()\n{\n    return f(1.5);\n}\n";
    fs::write(&file, unsure)?;
    let run = check(&["--fix", &path], "")?;
    if run.status != 1 || fs::read_to_string(&file)? != unsure {
        return Err(run.describe().into());
    }
    let run = check(&["--fix", "--unsafe", &path], "")?;
    if run.status != 0 || !fs::read_to_string(&file)?.contains("f(toi(1.5))") {
        return Err(run.describe().into());
    }
    // Bytes that are no text would be lost.
    let bytes = [WRONG.as_bytes(), b"// \xff\n"].concat();
    fs::write(&file, &bytes)?;
    let run = check(&["--fix", &path], "")?;
    if run.status != 1 || !run.stderr.contains("it is not UTF-8") || fs::read(&file)? != bytes {
        return Err(run.describe().into());
    }
    // What is only to be shown is not written, nor is what its owner has protected.
    fs::write(&file, WRONG)?;
    let run = check(&["--fix", "--diff", &path], "")?;
    if !run.stdout.contains("+use Array: all;\n") || fs::read_to_string(&file)? != WRONG {
        return Err(run.describe().into());
    }
    let mut permissions = fs::metadata(&file)?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions)?;
    let run = check(&["--fix", &path], "")?;
    if run.status != 1 || !run.stderr.contains("is not fixed: ") || fs::read_to_string(&file)? != WRONG {
        return Err(run.describe().into());
    }
    // A text goes through.
    let run = check(&["--fix", "-"], "int main() { return sum([1]); }\n")?;
    if run.stdout != "use Array: all;\n\nint main() { return sum([1]); }\n" {
        return Err(run.describe().into());
    }
    Ok(())
}

/// What one module has wrong is said once, whoever uses it.
fn folders() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("M.sac"), "module M;\nexport all;\nint f(int i) { return j; }\n")?;
    for name in ["a.sac", "b.sac"] {
        fs::write(at(name), "use M: all;\nint main() { return f(1); }\n")?;
    }
    fs::create_dir(at("empty"))?;
    let path = |name: &str| at(name).display().to_string();
    let run = check(&["--format", "short", &folder.path().display().to_string()], "")?;
    if run.status != 1 || run.stderr.lines().count() != 2 || !run.stderr.contains("ravel: 1 error") {
        return Err(run.describe().into());
    }
    let run = check(&[&path("empty")], "")?;
    if run.status != 1 || !run.stderr.contains("there is no .sac file in") {
        return Err(run.describe().into());
    }
    let run = check(&[&path("no.sac"), &path("a.sac")], "")?;
    if run.status != 1 || !run.stderr.contains("no such file") || !run.stderr.contains("E0212") {
        return Err(run.describe().into());
    }
    Ok(())
}

/// A place that is wrong in several instances of a function is one report, which names them in every form.
fn instances() -> Result<(), Failed> {
    let file = repository().join("tests/diagnostics/wrong-in-several-instances.sac").display().to_string();
    let found = ["relax(int[41])", "relax(int[42])", "relax(int[43])"];
    let run = check(&["--format", "json", &file], "")?;
    let reports: Result<Vec<Value>, _> = run.stdout.lines().map(serde_json::from_str).collect();
    let several: Vec<Value> = reports?.into_iter().filter(|report| report["code"] == "E0312").collect();
    let [report] = &several[..] else { return Err(run.describe().into()) };
    let sarif = check(&["--format", "sarif", &file], "")?;
    let document: Value = serde_json::from_str(&sarif.stdout)?;
    let properties = &document["runs"][0]["results"][0]["properties"];
    if report["instances"] != serde_json::json!(found) || properties["instances"] != serde_json::json!(found) {
        return Err(format!("{}\n{}", run.describe(), sarif.describe()).into());
    }
    let short = check(&["--format", "short", &file], "")?;
    match short.stderr.contains(" (in 3 instances)") {
        true => Ok(()),
        false => Err(short.describe().into()),
    }
}

const HIDDEN: &str = "use Array: all;
use CommandLine: all;
use StdIO: all;
noinline int id(int x) { return x + argc() - 1; }
";

/// Programs that fault, behind [`HIDDEN`], and all that they say.
const FAULTING: [(&str, &str); 6] = [
    (
        "noinline
double total(double[n] a, int[m] places)
{
    return with { ([0] <= [i] < shape(places)) : a[places[i]]; } : fold(+, 0d);
}
int main() { print(total(genarray([id(1000)], 1d), iota(1000) + id(1))); return 0; }
",
        "p.sac:8:50: fault [E0330]: index 1000 is out of range for axis 0 of extent 1000
 8 │     return with { ([0] <= [i] < shape(places)) : a[places[i]]; } : fold(+, 0d);
   │                                                  ──────┬───── `a` is double[1000]   (in total, called from main at 10:20)
",
    ),
    (
        "double[.,.] sum_of(double[.,.] image, double[.,.] edge)
{
    return image + edge;
}
double[.,.] later(double[.,.] image, int k) { return sum_of(image, genarray([k, 5], 0d)); }
int main() { print(later(genarray([id(3), id(4)], 1d), id(2))); return 0; }
",
        "p.sac:7:12: fault [E0312]: arguments of `+`: axis 0 has extent 3 on the left and 2 on the right; axis 1 has extent 4 on the left and 5 on the right
 7 │     return image + edge;
   │            ──────┬───── `image` is double[3,4], `edge` is double[2,5]
   │ (in sum_of, called from later at 9:54, from main at 10:20)
",
    ),
    (
        "int f(int[.] v, int i) { return v[i] + v[i + 1]; }
int g(int[.] v, int i) { return f(v, i); }
int main() { v = iota(id(5)); print(g(v, id(3)) + g(v, id(4))); print(f(v, id(0))); return 0; }
",
        "p.sac:5:40: fault [E0330]: index 5 is out of range for axis 0 of extent 5
 5 │ int f(int[.] v, int i) { return v[i] + v[i + 1]; }
   │                                        ────┬─── `v` is int[5]   (in f, called from g at 6:33, and 1 more place)
",
    ),
    (
        "int[.] front(int[.] v, int n) { return take([n], v); }
int main() { print(front(iota(id(3)), id(4))); return 0; }
",
        "p.sac:5:40: fault [E0324]: condition `all(abs(v) <= outer)` of `take` does not hold: v is [4], outer is [3] (axes of a); the library of 2024 has another `take`: `--stdlib 2024`
 5 │ int[.] front(int[.] v, int n) { return take([n], v); }
   │                                        ──────┬───── `v` is int[3]
   │ (in `take` of module ArrayTransform, called from front, from main at 6:20)
",
    ),
    (
        "noinline int weigh(int[n] a, int[n] b) { return sum(a) + sum(b); }
int main() { print(weigh(iota(id(3)), iota(id(3))) + weigh(iota(id(3)), iota(id(4)))); return 0; }
",
        "p.sac:5:1: fault [E0312]: arguments of `weigh`: `n` is 3 (a, axis 0) and 4 (b, axis 0)
 5 │ noinline int weigh(int[n] a, int[n] b) { return sum(a) + sum(b); }
   │ ───────────────────┬────────────────── `a` is int[3], `b` is int[4]
   │ (in weigh, called from main at 6:20, and 1 more place)
",
    ),
    (
        "int main() { a = iota(id(3)); k = id(5); a[k] = 1; print(a / id(0)); return 0; }
",
        "p.sac:5:42: fault [E0330]: index 5 is out of range for axis 0 of extent 3
 5 │ int main() { a = iota(id(3)); k = id(5); a[k] = 1; print(a / id(0)); return 0; }
   │                                          ──┬─ `a` is int[3]   (in main)
",
    ),
];

/// What a fault says is the same on all backends, and in an executable that is alone.
fn a_fault_names_its_arrays_and_callers(text: &str, says: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("p.sac"), format!("{HIDDEN}{text}"))?;
    let run = |arguments: &[&str]| finish(Command::new(ravel()).args(arguments).current_dir(&folder), b"");
    for way in [&["run", "p.sac"][..], &["run", "--backend", "interp", "p.sac"], &["run", "-O", "p.sac"]] {
        let run = run(way)?;
        assert_eq!((run.status, run.stderr.as_str()), (1, says), "{way:?}");
    }
    let built = run(&["build", "p.sac", "-o", "p"])?;
    assert_eq!(built.status, 0, "{}", built.describe());
    // It knows its source by itself.
    let program = folder.path().join("p");
    let elsewhere = tempfile::tempdir()?;
    fs::remove_file(folder.path().join("p.sac"))?;
    let run = finish(Command::new(program).current_dir(&elsewhere), b"")?;
    assert_eq!((run.status, run.stderr.as_str()), (1, says), "the executable");
    Ok(())
}

/// Arguments that would fit are looked for without a trace of those that would not.
fn a_trial_of_arguments_leaves_nothing() -> Result<(), Failed> {
    let text = "use Array: all;
use LinAlg: all;
double[m,n] f(double[m,k] a, double[k,n] b) { return genarray([shape(a)[0], shape(b)[1]], 0d); }
int main() { return toi(sum(f(genarray([3,4], 1d), genarray([5,6], 1d)))
    + sum(matmul(genarray([3,4], 1d), genarray([5,6], 1d)))); }
";
    let run = check(&["--format", "json", "-"], text)?;
    let reports: Vec<Value> = run.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert!(!reports.is_empty(), "{}", run.describe());
    for report in reports {
        assert_eq!(report["notes"].as_array().map(Vec::len), Some(0), "{report}");
    }
    Ok(())
}

/// Bytes that are no UTF-8 are refused inside of strings, at their place; in comments they do no harm.
fn bytes_that_are_no_text() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("latin.sac");
    let program = |inside: &[u8], behind: &[u8]| {
        [b"use StdIO: all;\nint main() { printf(\"", inside, b"\\n\"); return 0; } // ", behind, b"\n"].concat()
    };
    fs::write(&file, program(b"na\xefve", b""))?;
    let run = check(&["--format", "short", &file.display().to_string()], "")?;
    let wanted = "latin.sac:2:24: error[E0236]: a string holds a byte that is not UTF-8";
    if run.status == 0 || !run.stderr.contains(wanted) {
        return Err(format!("not {wanted}: {}", run.describe()).into());
    }
    fs::write(&file, program(b"plain", b"na\xefve"))?;
    let run = check(&[&file.display().to_string()], "")?;
    if run.status == 0 { Ok(()) } else { Err(run.describe().into()) }
}

fn main() -> ExitCode {
    let folder = repository().join("tests/diagnostics");
    let mut trials = vec![
        Trial::test("other forms", other_forms),
        Trial::test("fixes", fixes),
        Trial::test("folders", folders),
        Trial::test("instances", instances),
        Trial::test("bytes that are no text", bytes_that_are_no_text),
        Trial::test("a trial of arguments leaves nothing", a_trial_of_arguments_leaves_nothing),
    ];
    for (n, (text, says)) in FAULTING.into_iter().enumerate() {
        trials.push(Trial::test(format!("faults/{n}"), move || a_fault_names_its_arrays_and_callers(text, says)));
    }
    for file in files_below(&folder, "sac") {
        let name = ravel_tests::test_name(&folder, &file);
        trials.push(Trial::test(format!("json/{name}"), move || json_follows_its_schema(&file)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
