//! C and SaC: programs that call C functions, and C programs that call libraries made of SaC. C is compiled by `cc`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravel_tests::{Finished, finish, ravel, repository};

/// A folder with files.
struct Place(tempfile::TempDir);

impl Place {
    fn new(files: &[(&str, &str)]) -> Place {
        let place = Place(tempfile::tempdir().expect("a temporary folder"));
        for (name, text) in files {
            fs::write(place.path(name), text).expect("a file in it");
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Finished {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.0.path());
        finish(&mut command, b"").unwrap_or_else(|why| panic!("{}: {why:?}", program.display()))
    }

    fn ravel(&self, arguments: &[&str]) -> Finished {
        self.run(&ravel(), arguments)
    }

    /// Compiles C; it must not have a warning.
    fn cc(&self, arguments: &[&str]) {
        let run = self.run(Path::new("cc"), &[&["-Wall", "-Wextra", "-Werror", "-O1"], arguments].concat());
        assert!(run.status == 0, "cc {arguments:?}: {}", run.describe());
    }

    /// The program prints this, however it is run.
    fn prints(&self, program: &str, wanted: &str) {
        let mut ways: Vec<Finished> = Vec::new();
        for backend in ["cranelift", "interp", "auto"] {
            ways.push(self.ravel(&["run", "--backend", backend, program]));
        }
        ways.push(self.ravel(&["run", "--no-check", "-D", "X", program]));
        let built = self.ravel(&["build", "-o", "program", program]);
        assert!(built.status == 0, "{}", built.describe());
        ways.push(self.run(&self.path("program"), &["-mt", "1"]));
        ways.push(self.run(&self.path("program"), &["-mt", "4"]));
        for run in ways {
            assert!(run.status == 0 && run.stdout == wanted, "expected {wanted}: {}", run.describe());
        }
    }

    /// The program is refused, or faults, with these words on standard error; no executable is left.
    fn fails(&self, program: &str, words: &[&str]) {
        for arguments in [["run", program].to_vec(), ["run", "--backend", "interp", program].to_vec()] {
            let run = self.ravel(&arguments);
            assert!(run.status == 1 && !run.crashed(), "{}", run.describe());
            for word in words {
                assert!(run.stderr.contains(word), "expected {word}: {}", run.describe());
            }
        }
    }
}

/// Row-major products alone, with the interface of CBLAS.
const DGEMM: &str = "
void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda, const double *b, int ldb,
                 double beta, double *c, int ldc)
{
    if (order != 101 || ta != 111 || tb != 111) return;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int l = 0; l < k; l++) s += a[i * lda + l] * b[l * ldb + j];
            c[i * ldc + j] = alpha * s + beta * c[i * ldc + j];
        }
}
";

#[test]
fn products_by_a_library_of_c() {
    let text = fs::read_to_string(repository().join("examples/c/dgemm.sac")).expect("the example");
    assert!(text.contains("#pragma linkwith \"openblas\""));
    // A library of the test's own, so that this does not depend on what is installed.
    let text = text.replace("\"openblas\"", "\"libmyblas.so\"");
    let place = Place::new(&[("dgemm.c", DGEMM), ("dgemm.sac", &text)]);
    place.cc(&["-shared", "-fPIC", "dgemm.c", "-o", "libmyblas.so"]);
    place.prints("dgemm.sac", "200 100 8.84645e+06 1\n");
    // As an object, and as text.
    for object in ["dgemm.o", "dgemm.c"] {
        let text = text.replace("linkwith \"libmyblas.so\"", &format!("linkobj \"{object}\""));
        fs::write(place.path("object.sac"), text).expect("a file");
        place.cc(&["-c", "-fPIC", "dgemm.c", "-o", "dgemm.o"]);
        place.prints("object.sac", "200 100 8.84645e+06 1\n");
    }
}

#[test]
fn handles_and_whole_arrays() {
    let read = |name: &str| fs::read_to_string(repository().join("examples/c").join(name)).expect("the example");
    let place = Place::new(&[("lists.sac", &read("lists.sac")), ("lists.c", &read("lists.c"))]);
    let wanted = read("lists.out");
    place.prints("lists.sac", &wanted);
}

#[test]
fn whole_arrays_of_every_kind_of_shape() {
    let c = "
#include \"ravel.h\"
int axes(ravel_array *a) { return ravel_array_rank(a) * 100 + (int)ravel_array_size(a) + (ravel_array_type(a) == RAVEL_DOUBLE ? 0 : 5000); }
ravel_array *same(ravel_array *a) { return a; }
void twice(ravel_array *a) { double *d = ravel_array_data(a); for (int64_t i = 0; i < ravel_array_size(a); i++) d[i] *= 2; }
ravel_array *diagonal(int n) {
    int64_t shape[] = {n, n};
    ravel_array *a = ravel_array_new(RAVEL_DOUBLE, 2, shape);
    for (int i = 0; i < n; i++) ((double *)ravel_array_data(a))[i * n + i] = i + 1;
    return a;
}
ravel_array *lone(double x) { ravel_array *a = ravel_array_new(RAVEL_DOUBLE, 0, 0); *(double *)ravel_array_data(a) = x; return a; }
void two(int n, ravel_array **a, int *count) { *a = diagonal(n); *count = n * n; }
";
    let sac = "use StdIO: all; use Array: all;
external int axes(double[*] a);
    #pragma linkobj \"whole.c\"
external double[*] same(double[+] a);
external double[*] twice(double[*] a);
    #pragma linksign [1,1]
external double[.,.] diagonal(int n);
external double[*] lone(double x);
external double[.,.], int two(int n);
    #pragma linksign [2,3,1]
int main()
{
    a = { [i,j] -> tod(i * 10 + j) | [i,j] < [3,4] };
    printf(\"%d %d %d\\n\", axes(a), axes(1.5), axes(a[0]));
    b = twice(a);
    c = same(a);
    printf(\"%g %g %g\\n\", sum(a), sum(b), sum(c));
    d = diagonal(4);
    printf(\"%g %d\\n\", sum(d), shape(d)[1]);
    printf(\"%g\\n\", sum(lone(2.5)));
    e, n = two(3);
    printf(\"%g %d\\n\", sum(e), n);
    total = with { ([0] <= [i] < [1000]) : sum(twice(genarray([10], tod(i)))); } : fold(+, 0.0);
    printf(\"%g\\n\", total);
    return 0;
}
";
    let place = Place::new(&[("whole.c", c), ("whole.sac", sac)]);
    place.prints("whole.sac", "212 1 104\n138 276 138\n10 4\n2.5\n6 9\n9.99e+06\n");
}

#[test]
fn calls_with_an_effect_keep_their_order() {
    let c = "#include <stdio.h>\nstatic int n;\nint next(void) { return n++; }\nvoid say(int x) { printf(\"%d \", x); fflush(stdout); }\n";
    let sac = "use Array: all;
external int next();
    #pragma linkobj \"order.c\"
    #pragma effect stdout
external void say(int x);
int main()
{
    v = { [i] -> next() | [i] < [1000] };
    for (i = 0; i < 5; i++) { say(v[i] + 100 * v[999]); }
    return 0;
}
";
    let place = Place::new(&[("order.c", c), ("order.sac", sac)]);
    place.prints("order.sac", "99900 99901 99902 99903 99904 ");
}

#[test]
fn a_pure_function_may_run_on_all_threads() {
    let c = "double hard(double x) { for (int i = 0; i < 100; i++) x = x * 0.5 + 1; return x; }\n";
    let sac = "use StdIO: all; use Array: all;
external double hard(double x);
    #pragma linkobj \"hard.c\"
int main() { printf(\"%.6f\\n\", sum({ [i] -> hard(tod(i)) | [i] < [100000] })); return 0; }
";
    let place = Place::new(&[("hard.c", c), ("hard.sac", sac)]);
    place.prints("hard.sac", "200000.000000\n");
}

#[test]
fn what_does_not_fit_is_said_at_its_line() {
    let main = "\nint main() { return f(1); }\n";
    let program = |declaration: &str| format!("{declaration}{main}");
    let cases = [
        ("external int f(int x);\n    #pragma linkobj \"missing.o\"", "case.sac:2:", "does not exist"),
        ("\nexternal int f(int x);\n    #pragma linkobj \"empty.c\"", "case.sac:2:", "no C function `f` is linked"),
        ("external int f(int x);\n    #pragma linkwith \"no_such_library\"", "case.sac:2:", "no_such_library"),
        ("external int f(int x);\n    #pragma linksign [0,2]", "case.sac:2:", "nothing has position 1"),
        ("external int f(int x);\n    #pragma linksign [1,0]", "case.sac:2:", "position 0 is what C returns"),
        ("external int f(int x);\n    #pragma linksign [0]", "case.sac:2:", "1 numbers for 1 results and 1 parameters"),
        ("external int f(int x);\n    #pragma linkobj \"wrong.c\"", "case.sac:2:", "wrong.c"),
        (
            "struct P { int x; };\nexternal int g(struct P p);\nint f(int x) { return g(P { x }); }",
            "case.sac:3:",
            "a value of type struct P cannot be passed to a foreign function",
        ),
    ];
    for (declaration, place_of_it, words) in cases {
        let place = Place::new(&[
            ("case.sac", &program(declaration)),
            ("empty.c", "int other;\n"),
            ("wrong.c", "int f(int x) { return }\n"),
        ]);
        place.fails("case.sac", &[place_of_it, words]);
        let built = place.ravel(&["build", "-o", "case", "case.sac"]);
        assert!(built.status == 1 && built.stderr.contains(words), "expected {words}: {}", built.describe());
        assert!(!place.path("case").exists(), "an executable was left");
    }
}

#[test]
fn arrays_that_are_not_as_declared_are_faults() {
    let c = "#include \"ravel.h\"
ravel_array *matrix(int n) { int64_t s[] = {n, n}; return ravel_array_new(RAVEL_INT, 2, s); }
ravel_array *reals(int n) { int64_t s[] = {n}; return ravel_array_new(RAVEL_DOUBLE, 1, s); }
ravel_array *none(int n) { return n ? 0 : 0; }
";
    for (declaration, words) in [
        (
            "int[.] matrix(int n)",
            "the C function matrix gave int[3,3], not what it is declared to give: int with 1 axis",
        ),
        ("int[2,.] matrix(int n)", "gave int[3,3], not what it is declared to give"),
        ("int[.] reals(int n)", "gave double[3], not what"),
        ("int[*] reals(int n)", "int with any number of axes"),
        ("int[.] none(int n)", "the C function none gave a null pointer"),
    ] {
        let name = declaration.split(' ').nth(1).and_then(|word| word.split('(').next()).expect("a name");
        let sac = format!(
            "use Array: all;\nexternal {declaration};\n    #pragma linkobj \"wrong.c\"\nint main() {{ return toi(sum({name}(3))); }}\n"
        );
        let place = Place::new(&[("wrong.c", c), ("wrong.sac", &sac)]);
        place.fails("wrong.sac", &[words]);
    }
}
