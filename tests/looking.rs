//! `ravel run --check-nan` and `ravel run --trace`, as a user types them.

use std::process::Command;

use ravel_tests::{Failed, Finished, finish, ravel};

/// A program run with options, as `p.sac` in the current folder.
fn run(text: &str, options: &[&str], input: &[u8]) -> Result<Finished, Failed> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("p.sac"), text)?;
    let run = finish(Command::new(ravel()).current_dir(folder.path()).arg("run").args(options).arg("p.sac"), input)?;
    if run.crashed() { Err(run.describe().into()) } else { Ok(run) }
}

/// Whether every way to run a program ends with this, said first on standard error; nothing if it ends well.
fn ends(text: &str, input: &[u8], wanted: &str) -> Result<(), Failed> {
    for way in [
        &["--backend", "interp"][..],
        &["--backend", "cranelift", "--threads", "1"],
        &["--backend", "cranelift", "--threads", "3"],
        &["--backend", "auto"],
    ] {
        let found = run(text, &[way, &["--check-nan"]].concat(), input)?;
        let is_right = match wanted {
            "" => found.status == 0 && found.stderr.is_empty(),
            fault => found.status == 1 && found.stderr.starts_with(fault),
        };
        if !is_right {
            return Err(format!("{way:?}: expected `{wanted}`, {}\n{text}", found.describe()).into());
        }
    }
    Ok(())
}

/// A program around statements, which begin on line 6.
fn program(statements: &str) -> String {
    format!("use Array: all;\nuse StdIO: all;\nuse Math: all;\nint main()\n{{\n{statements}\n    return 0;\n}}\n")
}

#[test]
fn operations_that_make_nan_are_named_with_their_numbers() -> Result<(), Failed> {
    for (expression, said) in [
        ("0d / hidden(0d)", "0.0 / 0.0 is NaN"),
        ("hidden(0d) * (1d / hidden(0d))", "0.0 * inf is NaN"),
        ("1d / hidden(0d) - 1d / hidden(0d)", "inf - inf is NaN"),
        ("sqrt(hidden(-1d))", "sqrt(-1.0) is NaN"),
        ("log(hidden(-2d))", "log(-2.0) is NaN"),
        ("acos(hidden(2d))", "acos(2.0) is NaN"),
        ("pow(hidden(-8d), 0.5)", "pow(-8.0, 0.5) is NaN"),
        ("tod(sqrt(tof(hidden(-1d))))", "sqrt(-1.0) is NaN"),
    ] {
        let text = program(&format!("    x = {expression};\n    printf(\"%g\\n\", x);"));
        let text = text.replace("int main()", "noinline double hidden(double x) { return x; }\nint main()");
        let found = run(&text, &["--check-nan"], b"")?;
        let is_right = found.status == 1
            && found.stdout.is_empty()
            && found.stderr.starts_with("p.sac:7:")
            && found.stderr.contains(&format!(": fault [E0337]: {said}\n"));
        if !is_right {
            return Err(format!("{expression}: {}", found.describe()).into());
        }
    }
    Ok(())
}

#[test]
fn constants_that_make_nan_are_met_when_the_program_runs() -> Result<(), Failed> {
    ends(
        &program("    print(0d / 0d);"),
        b"",
        "p.sac:6:11: fault [E0337]: 0.0 / 0.0 is NaN, for a result that does not exist\n",
    )?;
    ends(&program("    if (shape([1])[0] == 2) { print(0d / 0d); }"), b"", "")
}

#[test]
fn functions_without_a_result_say_so() -> Result<(), Failed> {
    let text =
        program("    print(solve([[1d,2d],[2d,4d]], [1d,1d]));").replace("use Math: all;", "use LinAlg: { solve };");
    ends(&text, b"", "p.sac:6:11: fault [E0337]: 0.0 / 0.0 is NaN, for a result that does not exist\n")
}

#[test]
fn the_first_index_of_a_loop_is_reported() -> Result<(), Failed> {
    for element in ["double", "float"] {
        let text = format!(
            "use Array: all;\nuse StdIO: all;\n\
             noinline {element}[n] shares({element}[n] a, {element}[n] b)\n{{\n    return {{ [i] -> (a[i] + a[i]) / b[i] }};\n}}\n\
             int main()\n{{\n    a = {{ [i] -> to{0}(i % 70001 - 70000) | [i] < [200000] }};\n\
             \x20   b = shares(a, {{ [i] -> to{0}(i % 70001 == 70000 ? 0 : 1) | [i] < [200000] }});\n\
             \x20   printf(\"%g\\n\", tod(sum(b)));\n    return 0;\n}}\n",
            &element[..1]
        );
        ends(&text, b"", "p.sac:5:21: fault [E0337]: 0.0 / 0.0 is NaN\n")?;
    }
    Ok(())
}

#[test]
fn folds_and_loops_are_watched() -> Result<(), Failed> {
    let sum = "    a = { [i] -> 1d / tod(i) | [i] < [100] };\n    b = { [i] -> -1d / tod(i % 50) + 1d | [i] < [100] };\n    print(sum(a ++ b));";
    ends(&program(sum), b"", "p.sac:8:11: fault [E0337]: a fold by `+` gives NaN, of numbers of which none is\n")?;
    let logistic = "    x = 1d;\n    for (i = 0; i < 2000; i++) { x = x * x * x - x * 3d; x = x * 2d; }\n    print(x);";
    ends(&program(logistic), b"", "p.sac:7:38: fault [E0337]: -inf - -inf is NaN\n")
}

#[test]
fn what_was_read_is_not_made() -> Result<(), Failed> {
    let text = |last: &str| {
        program(&format!(
            "    ok, x = scandouble();\n    a = {{ [i] -> x * tod(i) | [i] < [1000] }};\n    b = sum(a) - x;\n    {last}"
        ))
    };
    ends(&text("printf(\"%g\\n\", b);"), b"nan", "")?;
    ends(&text("printf(\"%g\\n\", b);"), b"2", "")?;
    ends(&text("printf(\"%g %g\\n\", b, sqrt(x == x ? 1d : -1d));"), b"nan", "p.sac:9:")?;
    ends(&text("printf(\"%g\\n\", b);"), b"inf", "p.sac:7:18: fault [E0337]: inf * 0.0 is NaN\n")
}

#[test]
fn branches_that_do_not_run_make_nothing() -> Result<(), Failed> {
    let text = "    a = { [i] -> tod(i - 500) | [i] < [1000] };\n    b = { [i] -> a[i] > 0d ? log(a[i]) : 0d | [i] < [1000] };\n    printf(\"%g\\n\", sum(b));";
    ends(&program(text), b"", "")
}

/// Without the option nothing is added, and with it nothing to a program without real numbers.
#[test]
fn checks_are_there_only_where_they_are_wanted() -> Result<(), Failed> {
    let real = program(
        "    a = { [i] -> tod(i) | [i] < [1000] };\n    b = { [i] -> a[i] / a[i] | [i] < [1000] };\n    print(sum(b));",
    );
    let whole = program("    a = { [i] -> i * i | [i] < [1000] };\n    print(sum(a));");
    for stage in ["wir", "nest", "asm"] {
        let emit = |text: &str, options: &[&str]| run(text, &[&["--emit", stage], options].concat(), b"");
        assert_eq!(emit(&whole, &[])?.stdout, emit(&whole, &["--check-nan"])?.stdout, "{stage}");
        assert!(!emit(&real, &[])?.stdout.contains("E0337"), "{stage}");
    }
    assert!(run(&real, &["--emit", "wir", "--check-nan"], b"")?.stdout.contains("E0337"));
    let refused = run(&real, &["--check-nan", "--unchecked"], b"")?;
    assert!(refused.status == 2 && refused.stderr.contains("cannot be used with"), "{}", refused.describe());
    Ok(())
}

const CALLS: &str = "use Array: all;\nuse StdIO: all;\n\
noinline double[n] normed(double[n] a)\n{\n    total = sum(a);\n    return { [i] -> a[i] / total };\n}\n\
noinline int fib(int n)\n{\n    return n < 2 ? n : fib(n - 1) + fib(n - 2);\n}\n\
int main()\n{\n    a = normed({ [i] -> tod(i) | [i] < [40] });\n    printf(\"%g %d\\n\", a[3], fib(3 + shape(a)[0] % 2));\n    return 0;\n}\n";

/// Lines without the runs of blanks in front of places.
fn lines(text: &str) -> Vec<String> {
    let squeezed = |line: &str| match line.rsplit_once("  ") {
        Some((front, place)) if place.starts_with("p.sac:") => format!("{}  {place}", front.trim_end()),
        _ => line.to_string(),
    };
    text.lines().map(squeezed).collect()
}

#[test]
fn a_trace_has_calls_with_shapes() -> Result<(), Failed> {
    let found = run(CALLS, &["--trace", "calls"], b"")?;
    assert!(found.status == 0 && found.stdout == "0.00384615 2\n", "{}", found.describe());
    let wanted = [
        "ravel: --trace runs the program in the interpreter, as `--backend interp` does",
        "main()",
        "  normed(double[40]) = double[40]  p.sac:14:9",
        "  fib(3)  p.sac:15:29",
        "    fib(2)  p.sac:10:24",
        "      fib(1) = 1  p.sac:10:24",
        "      fib(0) = 0  p.sac:10:37",
        "    = 1",
        "    fib(1) = 1  p.sac:10:37",
        "  = 2",
        "= 0",
    ];
    assert_eq!(lines(&found.stderr)[..wanted.len()], wanted, "{}", found.stderr);
    assert!(found.stderr.ends_with(" bytes in all\n"), "{}", found.stderr);
    Ok(())
}

#[test]
fn a_trace_has_allocations_and_with_loops() -> Result<(), Failed> {
    let found = run(CALLS, &["--backend", "interp", "--trace", "calls,allocs,withs"], b"")?;
    let wanted = [
        "main()",
        "  with [0] <= iv < [40] -> double[40]  p.sac:14:16",
        "  alloc double[40], 320 bytes  p.sac:14:16",
        "  normed(double[40])  p.sac:14:9",
        "    with [0] <= iv < [40] -> 780.0  p.sac:5:13",
        "    with [0] <= iv < [40] -> double[40]  p.sac:6:12",
        "    alloc double[40], 320 bytes  p.sac:6:12",
        "  = double[40]",
    ];
    assert_eq!(lines(&found.stderr)[..wanted.len()], wanted, "{}", found.stderr);
    assert!(
        found.stderr.ends_with("trace: 7 calls, 3 with-loops, 2 allocations of 640 bytes in all\n"),
        "{}",
        found.stderr
    );
    let unknown = run(CALLS, &["--trace", "call"], b"")?;
    assert!(unknown.status == 2 && unknown.stderr.contains("calls, allocs, withs"), "{}", unknown.describe());
    Ok(())
}

#[test]
fn a_trace_stays_readable() -> Result<(), Failed> {
    let million = "use StdIO: all;\nuse Array: all;\nnoinline int next(int x)\n{\n    return (x * 5 + 1) % 1000;\n}\n\
        int main()\n{\n    x = 1;\n    for (i = 0; i < 1000000; i++) {\n        x = next(x);\n    }\n    print(x);\n    return 0;\n}\n";
    let found = run(million, &["--trace", "calls"], b"")?;
    assert!(found.status == 0 && found.stderr.lines().count() < 20, "{}", found.describe());
    assert!(found.stderr.contains("  next(1) = 6  ") && found.stderr.contains("... and 999995 more calls of next  "));
    assert!(found.stderr.contains("trace: 1000001 calls, "), "{}", found.stderr);
    let deep = run(&CALLS.replace("fib(3 +", "fib(22 +"), &["--trace", "calls"], b"")?;
    assert!(deep.status == 0 && deep.stderr.lines().count() < 5100, "{} lines", deep.stderr.lines().count());
    assert!(deep.stderr.contains("trace: cut after 5000 lines") && deep.stderr.contains(" 57313 of fib\n"));
    Ok(())
}

#[test]
fn a_trace_ends_with_the_program() -> Result<(), Failed> {
    let text = "use StdIO: all;\nuse Array: all;\nnoinline int pick(int[n] v, int k)\n{\n    return v[k];\n}\n\
        int main()\n{\n    k = 0;\n    while (k * k < 50) {\n        k = k + 1;\n    }\n    print(pick([1, 2, 3], k));\n    return 0;\n}\n";
    let found = run(text, &["--trace", "calls", "--check-nan"], b"")?;
    assert!(found.status == 1 && found.stderr.contains("  pick("), "{}", found.describe());
    let trace = found.stderr.find("trace: ").ok_or_else(|| found.describe())?;
    assert!(found.stderr.find("fault [E0330]").is_some_and(|fault| trace < fault), "{}", found.describe());
    Ok(())
}
