//! `ravel test` as a user runs it: on folders of small projects.

use std::fs;
use std::path::Path;
use std::process::Command;

use ravel_tests::{Failed, Finished, finish, ravel};

/// Tests of which five pass and six do not.
const MIXED: &str = r#"use Array: all; use Test: all; use StdIO: all; use RuntimeError: all; use World: all;
external void exit(int status);
    #pragma effect TheWorld
    #pragma linkname "ravel_exit"
void test_sum() { expect_equal(sum(iota(3)), 3); }
void test_differs() { printf("hello\n"); expect_equal(reshape([2,2], iota(4)), [[0,1],[9,3]]); }
void test_exit() { exit(3); }
bool test_false() { return sum(iota(3)) == 4; }
void test_endless() { x = 1; while (x > 0) { x = x == 7 ? 5 : 7; } printf("%d", x); }
void test_behind_it() { expect(true); }
//! code E0324
void fails_foreseen() { expect_equal(take([4], iota(3)), [0]); }
void fails_not() { expect_equal(take([2], iota(3)), [0, 1]); }
//! code E0330
void fails_otherwise() { expect_equal(take([4], iota(3)), [0]); }
void fails_error() { error(3, "refused"); }
//! code E0324
noinline void fails_by_a_fault() { n = strlen(sprintf("%d", 12345)); expect_equal(take([n], iota(3)), [0]); }
"#;

fn project(files: &[(&str, &str)]) -> Result<tempfile::TempDir, Failed> {
    let folder = tempfile::tempdir()?;
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().ok_or("a file lies in a folder")?)?;
        fs::write(path, text)?;
    }
    Ok(folder)
}

fn test(folder: &Path, arguments: &[&str]) -> Result<Finished, Failed> {
    let run = finish(Command::new(ravel()).arg("test").args(arguments).current_dir(folder), b"")?;
    if run.crashed() { Err(run.describe().into()) } else { Ok(run) }
}

/// A run with this status that says all of this.
fn expect(folder: &Path, arguments: &[&str], status: i32, texts: &[&str]) -> Result<Finished, Failed> {
    let run = test(folder, arguments)?;
    let said = format!("{}{}", run.stdout, run.stderr);
    match texts.iter().find(|text| !said.contains(**text)) {
        Some(text) => Err(format!("{arguments:?} does not say `{text}`: {}", run.describe()).into()),
        None if run.status != status => Err(format!("expected status {status}: {}", run.describe()).into()),
        None => Ok(run),
    }
}

#[test]
fn each_test_counts_for_itself() -> Result<(), Failed> {
    let mixed = MIXED.replace("use World: all;", "use World: all; use String: { strlen, sprintf };");
    let project = project(&[("tests/mixed.sac", &mixed), ("tests/notes.txt", "test_nothing()")])?;
    let texts = [
        "FAILED tests/mixed.sac:6: test_differs\n",
        "tests/mixed.sac:6:42: expected [[0,1],[9,3]]\n     found [[0,1],[2,3]]\n  first at [1,0]: expected 9, found 2\n",
        "  it wrote\n  hello\n",
        "test_exit\n  it called `exit`, or ended the process otherwise, with status 3\n",
        "`test_false` is false",
        "test_endless\n  it takes longer than 2 s\n",
        "`fails_not` does not fail",
        "no error has the code E0330\n  [E0324]",
    ];
    let run = expect(project.path(), &["--timeout", "2"], 1, &texts)?;
    assert!(run.stdout.ends_with("\n5 passed, 6 failed\n"), "{}", run.describe());
    Ok(())
}

#[test]
fn a_file_that_does_not_compile_is_one_failure() -> Result<(), Failed> {
    let good = "void test_a() { }\nvoid test_b() { }\n";
    let project = project(&[("a.sac", "use Aray: all;\nvoid test_x() { }\n"), ("b.sac", good), ("c.sac", "int f(")])?;
    let texts = ["FAILED a.sac\n  [E0201] Error: module `Aray` not found", "did you mean", "\n2 passed, 1 failed\n"];
    expect(project.path(), &[], 1, &texts)?;
    expect(project.path(), &["b.sac"], 0, &["b.sac: 2 passed", "\n2 passed, 0 failed\n"])?;
    expect(project.path(), &["c.sac"], 1, &["there are no tests here"])?;
    expect(project.path(), &["d.sac"], 1, &["cannot read d.sac"])?;
    expect(project.path(), &["--backend", "nothing"], 2, &["there is no backend `nothing`; there are interp"])?;
    Ok(())
}

#[test]
fn tests_are_listed_and_chosen() -> Result<(), Failed> {
    let text = "use Test: all;\nvoid test_a() { expect(false); }\nvoid test_b() { }\nvoid test_b(int x) { }\n";
    let project = project(&[("src/a.sac", text), ("other/b.sac", text)])?;
    let listed = expect(project.path(), &["--list"], 0, &[])?;
    assert_eq!(listed.stdout, "src/a.sac:2: test_a\nsrc/a.sac:3: test_b\nsrc/a.sac:4: test_b#2\n");
    let run = expect(project.path(), &["--filter", "a.sac:test_b"], 1, &["has parameters", "1 passed, 1 failed\n"])?;
    assert!(!run.stdout.contains("test_a"), "{}", run.describe());
    expect(project.path(), &["--filter", "nothing"], 1, &["no tests that the filter admits"])?;
    Ok(())
}

/// A module of the project, its private functions too, and macros from the command line.
#[test]
fn modules_are_tested_in_place() -> Result<(), Failed> {
    let module = "module Twice;\nuse Test: all;\nuse ScalarArith: all;\nexport { twice };\n\
        int twice(int x) { return add(x, x); }\nint add(int a, int b) { return a + b; }\n\
        void test_add() { expect_equal(add(1, WANTED), 3); }\n";
    let user = "use Twice: all; use Test: all;\nvoid test_twice() { expect_equal(twice(4), 8); }\n";
    let project = project(&[("src/Twice.sac", module), ("tests/twice.sac", user)])?;
    expect(project.path(), &["-D", "WANTED=2"], 0, &["\n2 passed, 0 failed\n"])?;
    expect(project.path(), &["-D", "WANTED=3"], 1, &["expected 3\n     found 4", "1 passed, 1 failed\n"])?;
    Ok(())
}

#[test]
fn programs_read_the_results() -> Result<(), Failed> {
    let text = "use Test: all; use StdIO: all;\nvoid test_a() { printf(\"<&\\1\\n\"); expect_equal(\"a<b\", \"a&b\"); }\nvoid test_b() { }\n";
    let project = project(&[("a.sac", text)])?;
    let run = expect(project.path(), &["--format", "json", "--junit", "results.xml"], 1, &[])?;
    let objects: Result<Vec<serde_json::Value>, _> = run.stdout.lines().map(serde_json::from_str).collect();
    let objects = objects.map_err(|error| error.to_string())?;
    let passed: Vec<_> = objects.iter().map(|object| (object["name"].as_str(), object["passed"].as_bool())).collect();
    assert_eq!(passed, [(Some("test_a"), Some(false)), (Some("test_b"), Some(true))]);
    assert!(objects[0]["message"].as_str().is_some_and(|text| text.contains("expected \"a&b\"")), "{}", run.describe());
    // A reader that knows XML.
    let reader = "import sys, xml.etree.ElementTree as t\nr = t.parse(sys.argv[1]).getroot()\n\
        f = r.find('./testsuite/testcase[@name=\"test_a\"]/failure')\n\
        print(r.get('tests'), r.get('failures'), 'expected \"a&b\"' in f.text, len(r.findall('.//testcase')))\n";
    let read = finish(Command::new("python3").args(["-c", reader, "results.xml"]).current_dir(project.path()), b"")?;
    assert_eq!(read.stdout, "2 1 True 2\n", "{}", read.describe());
    Ok(())
}

#[test]
fn backends_run_the_same_tests() -> Result<(), Failed> {
    let text = "use Array: all; use Test: all; use StdIO: all;\n\
        void test_a() { a = tod(iota(1000)); printf(\"%d\\n\", 3); expect_close(sum(a * a), 332833500.0); }\n\
        void test_b() { expect_equal(3, 4); }\n";
    let project = project(&[("a.sac", text)])?;
    let run = expect(project.path(), &["--backend", "all"], 1, &["expected 4\n     found 3", "1 passed, 1 failed\n"])?;
    assert!(!run.stdout.contains("with interp"), "{}", run.describe());
    Ok(())
}

/// A convolution that is wrong where the array is longer than the kernel.
const CONV: &str = r#"use Array: all; use Test: all;
float[d:r] conv(float[d:s] a, float[d:t] w) | all(t <= s)
{ return { iv -> sum({ ov -> w[ov] * a[iv + ov] | ov < t }) | iv < s - t + 1 }; }
float[d:r] wrong(float[d:s] a, float[d:t] w) | all(t <= s)
{ return { iv -> sum({ ov -> w[ov] * a[iv + t - 1 - ov] | ov < t }) | iv < s - t + 1 }; }
bool prop_linear(float[d:s] a, float[d:s] b, float[d:t] w) | d > 0, all(t <= s)
{ return close(conv(a + b, w), conv(a, w) + conv(b, w), 1e-3f); }
bool prop_right(float[d:s] a, float[d:t] w) | d > 0, all(t <= s), all(t > 0)
{ return close(NAME(a, w), conv(a, w), 1e-3f); }
"#;

#[test]
fn a_wrong_convolution_is_caught_and_shrunk() -> Result<(), Failed> {
    let project = project(&[("tests/conv.sac", CONV)])?;
    expect(project.path(), &["-D", "NAME=conv"], 0, &["2 passed, 0 failed\n"])?;
    let texts =
        ["tests/conv.sac:8:1: `prop_right` is false", "// d is 1, s is [2], t is [2]\n", "1 passed, 1 failed\n"];
    let run = expect(project.path(), &["-D", "NAME=wrong"], 1, &texts)?;
    // The report says how to see it again.
    let again = run.stdout.lines().find_map(|line| line.trim().strip_prefix("again: ravel test "));
    let again: Vec<&str> = again.ok_or("no way to see it again")?.split(' ').collect();
    let same =
        expect(project.path(), &[&["-D", "NAME=wrong"], &again[..]].concat(), 1, &["// d is 1, s is [2], t is [2]\n"])?;
    let arguments = |text: &str| text.lines().filter(|line| line.starts_with("    ")).collect::<Vec<_>>().join("\n");
    assert_eq!(arguments(&same.stdout), arguments(&run.stdout));
    for seed in ["5", "99", "123456789"] {
        expect(project.path(), &["-D", "NAME=wrong", "--seed", seed], 1, &["// d is 1, s is [2], t is [2]\n"])?;
    }
    Ok(())
}

#[test]
fn patterns_say_what_is_drawn() -> Result<(), Failed> {
    let text = r#"use Array: all; use Color8: all;
bool prop_square(int[n,n] a, int[d] s, double[d:s] x) { return all(shape(x) == s) & all(transpose(transpose(a)) == a); }
bool prop_named(int[n] a, int n, bool[d:s] b, int d) { return shape(a)[0] == n & dim(b) == d; }
bool prop_types(bool a, char b, byte[+] c, short[.] d, long e, longlong f, ubyte g, ushort h, uint i, ulong j, ulonglong[*] k, float[2,.] l)
{ return shape(l)[0] == 2 & dim(c) > 0; }
bool prop_guard(int[d:s] a, int[d:s] b) | d > 1, all(s > 0) { return dim(a) > 1 & prod(shape(b)) > 0; }
bool[*] prop_everywhere(int[*] a) { return a == a; }
bool prop_color(Color8 c) { return all(shape((int[3]) c) == [3]); }
bool prop_nothing() { return true; }
bool prop_least(int a) { return abs(a) >= 0; }
bool prop_index(int[n] a) | n > 0 { return a[n == 8 ? 8 : n - 1] == a[n - 1]; }
bool prop_rank(bool[d:s] a) { return d != 3; }
bool prop_last(int[*] a) { return all(a < 9); }
bool prop_never(int[n] a) | n > 20 { return true; }
int prop_number(int n) { return n; }
"#;
    let project = project(&[("a.sac", text)])?;
    let texts = [
        "a = (-2147483647 - 1);",
        "index 8 is out of range for axis 0 of extent 8",
        "a = [0, 0, 0, 0, 0, 0, 0, 0];",
        "a = genarray([0,0,0], false);\n    // d is 3",
        "a = 9;",
        "no arguments fulfil the conditions of `prop_never`",
        "`prop_number` gives int; tests give nothing, or `bool`",
        "\n7 passed, 6 failed\n",
    ];
    expect(project.path(), &["a.sac"], 1, &texts)?;
    Ok(())
}

#[test]
fn properties_that_end_or_hang_cost_themselves() -> Result<(), Failed> {
    let text = r#"use Array: all; use World: all; use StdIO: all;
external void exit(int status);
    #pragma effect TheWorld
    #pragma linkname "ravel_exit"
bool prop_exit(int[n] a) { if (n > 2) { exit(4); } return true; }
bool prop_endless(int[n] a) { x = 1; while (n > 2 && x > 0) { x = x == 7 ? 5 : 7; } printf("%d", x); return true; }
bool prop_behind(int a) { return a == a; }
"#;
    let project = project(&[("a.sac", text)])?;
    let texts = ["prop_exit\n  it called `exit`", "prop_endless\n  it takes longer than 2 s", "1 passed, 2 failed\n"];
    let run = expect(project.path(), &["a.sac", "--timeout", "2"], 1, &texts)?;
    // Each says which case it was.
    let again = run.stdout.lines().find_map(|line| line.strip_prefix("  again: ravel test ")).ok_or("no way")?;
    expect(project.path(), &again.split(' ').collect::<Vec<_>>(), 1, &["it called `exit`", "0 passed, 1 failed\n"])?;
    Ok(())
}

#[test]
fn programs_write_what_is_recorded() -> Result<(), Failed> {
    let text = "use StdIO: all; use CommandLine: all; use Array: all;\n\
        int main() { int x; n, x = scanf(\"%d\"); printf(\"%d %s\\n%.6f\\n\", x, argv(1), tod(x) / 3.0); return x; }\n";
    let files = [
        ("tests/a.sac", text),
        ("tests/a.out", "4 word\n1.333333\n"),
        ("tests/a.in", "4\n"),
        ("tests/a.args", "word\n"),
        ("tests/a.status", "4\n"),
        ("tests/b.sac", "int main() { return x; }\n"),
        ("tests/b.out", "kept\n"),
    ];
    let project = project(&files)?;
    let read = |name: &str| fs::read_to_string(project.path().join(name));
    let write = |name: &str, text: &str| fs::write(project.path().join(name), text);
    let texts =
        ["tests/a.sac: 1 passed", "FAILED tests/b.sac:1: b\n  exit status 1, expected 0", "1 passed, 1 failed\n"];
    expect(project.path(), &["--backend", "all"], 1, &texts)?;
    write("tests/a.out", "4 word\n1.33334\n")?;
    expect(
        project.path(),
        &["--filter", "a.sac"],
        1,
        &["line 2 of the output\n  expected 1.33334\n     found 1.333333\n"],
    )?;
    expect(project.path(), &["--filter", "a.sac", "--tolerance", "1e-4"], 0, &["1 passed, 0 failed\n"])?;
    // What does not compile has no output to be blessed.
    expect(project.path(), &["--bless"], 1, &["1 passed, 1 failed\n"])?;
    assert_eq!((read("tests/a.out")?.as_str(), read("tests/b.out")?.as_str()), ("4 word\n1.333333\n", "kept\n"));
    write("tests/a.status", "5\n")?;
    expect(project.path(), &["--filter", "a.sac"], 1, &["exit status 4, expected 5"])?;
    Ok(())
}

#[test]
fn examples_in_comments_and_pages_are_tests() -> Result<(), Failed> {
    let module = "/* A module. */\nmodule Twice;\nuse ScalarArith: all;\nexport { twice };\n/*\n * Two times.\n *     ravel> twice(4)\n *     int: 8\n *\n\
        *     ravel> twice(5)\n *     int: 11\n */\nint twice(int x) { return x + x; }\n\
        /* Four times.\n *     ravel> a = twice(2)\n */\nint fourfold(int x) { return twice(twice(x)); }\n\
        /* ravel> twice(a)\n * int: 8\n */\n";
    let program =
        "/* ravel> half(8)\n * int: 4\n */\nint half(int x) { return x / 2; }\nint main() { return half(3); }\n";
    let page = "# Page\n\n```text\nravel> x = 3\nravel> x + 1\nint: 4\n```\n\n```text\nravel> x + true\n[E0310] ...\n...\n```\n";
    let files =
        [("src/Twice.sac", module), ("src/half.sac", program), ("tests/page.md", page), ("tests/bytes.md", "\u{0}")];
    let project = project(&files)?;
    let texts = [
        "FAILED src/Twice.sac:10: example_10\n  line 10: ravel> twice(5)\n  expected\n  int: 11\n  found\n  int: 10\n",
        "src/half.sac: 1 passed",
        "tests/page.md: 2 passed",
        "6 passed, 1 failed\n",
    ];
    expect(project.path(), &[], 1, &texts)?;
    expect(project.path(), &["--filter", "page.md:example_10"], 0, &["1 passed, 0 failed\n"])?;
    let listed = expect(project.path(), &["--list", "--backend", "all"], 0, &[])?;
    assert_eq!(listed.stdout.lines().count(), 7, "{}", listed.describe());
    Ok(())
}

/// The manifest says where modules are, which macros there are, and how far numbers may be off.
#[test]
fn packages_have_tests() -> Result<(), Failed> {
    let files = [
        (
            "p/ravel.toml",
            "[package]\nname = \"p\"\n[dependencies]\nshapes = { path = \"../shapes\" }\n[define]\nSIZE = \"3\"\n[test]\ntolerance = 1e-3\n",
        ),
        ("p/src/Own.sac", "module Own;\nexport { own };\nint own() { return SIZE; }\n"),
        (
            "p/tests/own.sac",
            "use Own: all; use Shapes: all; use Test: all;\nvoid test_own() { expect_equal(own(), sides()); }\n",
        ),
        ("p/tests/out.sac", "use StdIO: all; use Own: all;\nint main() { printf(\"%g\\n\", 1.5); return own(); }\n"),
        ("p/tests/out.out", "1.5001\n"),
        ("p/tests/out.status", "3\n"),
        ("shapes/src/Shapes.sac", "module Shapes;\nexport { sides };\nint sides() { return 3; }\n"),
    ];
    let project = project(&files)?;
    let package = project.path().join("p");
    expect(&package, &[], 0, &["tests/own.sac: 1 passed", "2 passed, 0 failed\n"])?;
    // From below, too.
    expect(&package.join("src"), &[], 0, &["2 passed, 0 failed\n"])?;
    expect(&package, &["-D", "SIZE=4", "--filter", "own"], 1, &["expected 3\n     found 4"])?;
    fs::write(package.join("ravel.toml"), "[package\n")?;
    expect(&package, &[], 1, &["ravel.toml:1"])?;
    Ok(())
}

#[test]
fn memory_has_a_limit() -> Result<(), Failed> {
    let grows = "a = genarray([1000], 1.0); while (sum(a) > 0.0) { a = a ++ a; }";
    let tests = format!(
        "use Array: all; use Test: all;\nvoid test_before() {{ expect(true); }}\nbool test_grows() {{ {grows} return sum(a) > 0.0; }}\n\
         void test_behind() {{ expect(true); }}\n"
    );
    let program = format!("use Array: all;\nint main() {{ {grows} return 0; }}\n");
    let project = project(&[("tests/grows.sac", &tests), ("tests/program.sac", &program), ("tests/program.out", "")])?;
    let texts = [
        "grows.sac:3: test_grows\n  it needs more than 256 MiB\n",
        "program.sac:1: program\n  it needs more than 256 MiB\n",
        "\n2 passed, 2 failed\n",
    ];
    expect(project.path(), &["--memory", "256M"], 1, &texts)?;
    expect(project.path(), &["--memory", "much"], 2, &["it is no size such as 512M or 4G"])?;
    Ok(())
}
