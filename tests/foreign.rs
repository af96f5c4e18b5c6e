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
fn c_gets_the_elements_of_arrays_of_open_rank() {
    let c = "
#include \"ravel.h\"
#include <stdlib.h>
int total(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
double both(const double *a, ravel_array *b) { return a[0] + 10 * ravel_array_size(b) + 1000 * ravel_array_rank(b); }
void add(double *a, int n) { for (int i = 0; i < n; i++) a[i] += 1; }
double halves(const double *a, int n) { double s = 0; for (int i = 0; i < 2 * n; i++) s += a[i] / 2; return s; }
int flags(const _Bool *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
int letters(const unsigned char *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] - 'a'; return s; }
static ravel_array *held;
int hold(ravel_array *a) { ravel_array_retain(a); held = a; return 0; }
ravel_array *held_back(int n) { (void)n; return held; }
int let_go(ravel_array *a) { ravel_array_retain(a); ravel_array_release(a); return ravel_array_shared(a); }
";
    let sac = "use StdIO: all; use Array: all;
typedef double[2] pair;
external int total(int[*] a, int n);
    #pragma linkobj \"open.c\"
external int total_of_more(int[+] a, int n);
    #pragma linkname \"total\"
external int total_of_rows(int[d:s,3] a, int n);
    #pragma linkname \"total\"
external double both(double[*] a, double[*] b);
external double[*] add(double[*] a, int n);
    #pragma linksign [1,1,2]
external double halves(pair[*] a, int n);
external double halves_of_more(pair[+] a, int n);
    #pragma linkname \"halves\"
external int flags(bool[*] a, int n);
external int letters(char[*] a, int n);
external int hold(double[*] a);
    #pragma effect hold
external double[*] held_back(int n);
    #pragma effect hold
external int let_go(double[*] a);
    #pragma effect hold
int main()
{
    a = [[1, 2, 3], [4, 5, 6]];
    printf(\"%d %d %d %d\\n\", total(a, 6), total(7, 1), total_of_more(a, 5), total_of_rows(a, 6));
    printf(\"%d\\n\", sum({ [i] -> total(a + i, 6) | [i] < [1000] }));
    d = tod(a);
    printf(\"%g %g\\n\", both(d, d), both(d, genarray([2, 0], 0d)));
    e = add(d, 6);
    printf(\"%g %g %g\\n\", sum(d), sum(e), add(1d, 1));
    p = [(pair)[1d, 2d], (pair)[3d, 4d]];
    printf(\"%g %g %g\\n\", halves(p, 2), halves((pair)[1d, 2d], 1), halves_of_more(p, 2));
    printf(\"%d %d\\n\", flags([true, false, true], 3), letters(['a', 'b', 'c'], 3));
    h = hold(tod(a) * 3d);
    b = held_back(h);
    printf(\"%g %d %d\\n\", sum(b), dim(b), let_go(b));
    return 0;
}
";
    let wanted = "21 7 15 21\n3018000\n2061 2001\n21 27 2\n5 1.5 5\n2 3\n63 2 0\n";
    let place = Place::new(&[("open.c", c), ("open.sac", sac)]);
    place.prints("open.sac", wanted);
}

#[test]
fn arrays_that_are_not_as_declared_are_faults() {
    let c = "#include \"ravel.h\"
#include <stdlib.h>
int *elements(int n) { int *a = malloc(64 * n); for (int i = 0; i < 16 * n; i++) a[i] = i; return a; }
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
        ("int[.] elements(int n)", "gave a pointer that ravel_array_new or ravel_array_borrow (ravel.h) have not made"),
        ("int[*] elements(int n)", "gave a pointer that ravel_array_new or ravel_array_borrow (ravel.h) have not made"),
    ] {
        let name = declaration.split(' ').nth(1).and_then(|word| word.split('(').next()).expect("a name");
        let sac = format!(
            "use Array: all;\nexternal {declaration};\n    #pragma linkobj \"wrong.c\"\nint main() {{ return toi(sum({name}(3))); }}\n"
        );
        let place = Place::new(&[("wrong.c", c), ("wrong.sac", &sac)]);
        place.fails("wrong.sac", &[words]);
    }
}

fn example(name: &str) -> String {
    fs::read_to_string(repository().join("examples/c").join(name)).expect("the example")
}

/// Makes a library of `m.sac`, compiles `main.c` with its two forms, and gives what the programs did.
fn called_from_c(sac: &str, c: &str, arguments: &[&str]) -> Vec<Finished> {
    let place = Place::new(&[("m.sac", sac), ("main.c", c)]);
    let built = place.ravel(&[&["build", "--lib", "-o", "libm_sac", "m.sac"], arguments].concat());
    assert!(built.status == 0 && built.stderr.is_empty(), "{}", built.describe());
    place.cc(&["main.c", "./libm_sac.so", "-Wl,-rpath,.", "-lpthread", "-o", "shared"]);
    place.cc(&["main.c", "libm_sac.a", "-lpthread", "-lm", "-ldl", "-o", "static"]);
    ["shared", "static"].iter().map(|program| place.run(&place.path(program), &[])).collect()
}

#[test]
fn a_library_is_called_from_c() {
    let place = Place::new(&[("filters.sac", &example("filters.sac")), ("use.c", &example("use.c"))]);
    let built = place.ravel(&["build", "--lib", "filters.sac"]);
    assert!(built.status == 0 && built.stderr.is_empty(), "{}", built.describe());
    place.cc(&["-std=c99", "-pedantic", "use.c", "./libfilters.so", "-Wl,-rpath,.", "-o", "shared"]);
    place.cc(&["use.c", "libfilters.a", "-lpthread", "-lm", "-ldl", "-o", "static"]);
    for program in ["shared", "static"] {
        let run = place.run(&place.path(program), &[]);
        assert!(run.status == 0 && run.stdout == example("use.txt") && run.stderr.is_empty(), "{}", run.describe());
    }
    let manifest = fs::read_to_string(place.path("filters.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let symbols: Vec<&str> =
        manifest["functions"].as_array().expect("a list").iter().filter_map(|f| f["symbol"].as_str()).collect();
    assert_eq!(symbols, ["filters_conv_2", "filters_conv_1", "filters_centered_1", "filters_element_1"]);
    assert_eq!(manifest["functions"][0]["parameters"][1]["rank"], 2);
    let header = fs::read_to_string(place.path("filters.h")).expect("a header");
    let head = "ravel_status filters_conv_2(const float *a, const int64_t a_shape[2], const float *w, const int64_t w_shape[2], ravel_array **result);";
    assert!(header.contains(head), "{header}");
}

#[test]
fn wrong_calls_give_a_status() {
    let sac = "module m; use Array: all; export all;
int element(int[.] v, int i) { return v[i]; }
double[2] swap(double[2] p) { return [p[1], p[0]]; }
int same(int[n] a, int[n] b) { return sum(a * b); }
specialize int total(int[*] a);
int total(int[*] a) { return sum(a); }
";
    let c = "#include <stdio.h>
#include \"m_sac.h\"
static void say(ravel_status s) { printf(\"%d %s\\n\", s, s ? ravel_last_error() : \"\"); }
int main(void)
{
    int32_t v[] = {1, 2, 3}, got = 0;
    double p[] = {1, 2, 3};
    int64_t three[] = {3}, two[] = {2}, less[] = {-1}, most[] = {1L << 40};
    ravel_array *a = (ravel_array *)8;
    say(m_sac_element_1(v, three, 3, &got));
    say(m_sac_element_1(NULL, three, 0, &got));
    say(m_sac_element_1(v, NULL, 0, &got));
    say(m_sac_element_1(v, less, 0, &got));
    say(m_sac_element_1(v, most, 0, &got));
    say(m_sac_element_1(v, three, 0, NULL));
    say(m_sac_swap_1(p, three, &a));
    printf(\"%d\\n\", a == NULL);
    say(m_sac_same_1(v, three, v, two, &got));
    say(m_sac_total_any(NULL, &got));
    a = ravel_array_new(RAVEL_DOUBLE, 1, three);
    say(m_sac_total_any(a, &got));
    ravel_array_release(a);
    say(m_sac_same_1(v, three, v, three, &got));
    printf(\"%d\\n\", got);
    return 0;
}
";
    let wanted = [
        "1 m.sac:2:39: fault [E0330]: index 3 is out of range for axis 0 of extent 3",
        " 2 │ int element(int[.] v, int i) { return v[i]; }",
        "   │                                       ──┬─ `v` is int[3]   (in element)",
        "2 m_sac_element_1: argument `v`: an array cannot borrow its elements from a null pointer",
        "2 m_sac_element_1: argument `v`: its shape is a null pointer",
        "2 m_sac_element_1: argument `v`: -1 is not an extent of an array",
        "2 m_sac_element_1: argument `v`: 1099511627776 is not an extent of an array",
        "2 m_sac_element_1: the place for result 1 is a null pointer",
        "2 m_sac_swap_1: argument `p`: axis 0 has 3 indices, not 2",
        "1",
        "1 m.sac:4:",
        " 4 │ int same(",
        "   │ ",
        "2 m_sac_total_any: argument `a`: it is a null pointer",
        "2 m_sac_total_any: argument `a`: double[3] where int[*] belongs",
        "0 ",
        "14",
    ];
    for run in called_from_c(sac, c, &[]) {
        assert!(run.status == 0 && run.stderr.is_empty(), "{}", run.describe());
        let lines: Vec<&str> = run.stdout.lines().collect();
        assert_eq!(lines.len(), wanted.len(), "{}", run.describe());
        for (line, wanted) in lines.iter().zip(wanted) {
            assert!(line.starts_with(wanted), "expected {wanted}: {}", run.describe());
        }
    }
}

#[test]
fn threads_of_c_call_a_library() {
    let sac = "module m; use Array: all; export all;
double[n,n] product(double[n,n] a, double[n,n] b) { return { [i,j] -> sum({ [k] -> a[i,k] * b[k,j] | [k] < [n] }) | [i,j] < [n,n] }; }
double[.] bad(double[.] a, int at) { return { [i] -> a[i == at ? i + shape(a)[0] : i] | [i] < shape(a) }; }
";
    let c = "#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include \"m_sac.h\"
enum { N = 65, ROUNDS = 40 };
static void *work(void *arg)
{
    long seed = (long)arg, wrong = 0;
    for (int r = 0; r < ROUNDS; r++) {
        double *a = malloc(N * N * sizeof *a), *b = calloc(N * N, sizeof *b);
        for (int i = 0; i < N * N; i++) a[i] = seed * 1000 + i + r;
        for (int i = 0; i < N; i++) b[i * N + i] = 2;
        ravel_array *c;
        wrong += m_sac_product_2(a, (int64_t[]){N, N}, b, (int64_t[]){N, N}, &c) != RAVEL_OK;
        const double *got = ravel_array_data(c);
        for (int i = 0; i < N * N; i++) wrong += got[i] != 2 * a[i];
        ravel_array_release(c);
        ravel_array *none;
        wrong += m_sac_bad_1(a, (int64_t[]){N * N}, r * 100, &none) != RAVEL_FAULT || none;
        wrong += !strstr(ravel_last_error(), \"is out of range\");
        free(a);
        free(b);
    }
    return (void *)wrong;
}
int main(void)
{
    pthread_t threads[4];
    long wrong = 0;
    for (long t = 0; t < 4; t++) pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < 4; t++) { void *w; pthread_join(threads[t], &w); wrong += (long)w; }
    printf(\"%ld wrong, %ld lent\\n\", wrong, (long)ravel_array_collect());
    return 0;
}
";
    for run in called_from_c(sac, c, &[]) {
        assert!(run.status == 0 && run.stdout == "0 wrong, 0 lent\n" && run.stderr.is_empty(), "{}", run.describe());
    }
}

#[test]
fn nothing_in_a_library_ends_the_process() {
    let sac = "module m; use Array: all; use StdIO: all; use String: all; use RuntimeError: all; export all;
int leave(int status) { printf(\"leaving\\n\"); error(status, \"left with %d\", status); return status; }
int deep(int n) { return n == 0 ? 0 : 1 + deep(n + 1) * 2; }
int[.] same(int[.] a) { return a; }
string hello(string who) { return sprintf(\"hello %s\", who); }
bool flip(bool b) { return !b; }
";
    let c = "#include <stdio.h>
#include <string.h>
#include \"m_sac.h\"
int main(void)
{
    int32_t got = 0;
    bool b = false;
    ravel_status s = m_sac_leave(7, &got);
    printf(\"%d %s\\n\", s, ravel_last_error());
    s = m_sac_deep(1, &got);
    printf(\"%d %d\\n\", s, strstr(ravel_last_error(), \"MiB is exhausted\") != NULL);
    int32_t v[64];
    for (int i = 0; i < 64; i++) v[i] = i;
    ravel_array *a;
    printf(\"%d\", m_sac_same_1(v + 17, (int64_t[]){8}, &a));
    int own = ravel_array_data(a) != v + 17;
    v[17] = -1;
    printf(\" %d %d\\n\", own, ((int *)ravel_array_data(a))[0]);
    ravel_array_release(a);
    printf(\"%d\", m_sac_hello(\"you\", &a));
    printf(\" %.*s\\n\", (int)ravel_array_size(a), (char *)ravel_array_data(a));
    ravel_array_release(a);
    printf(\"%d\", m_sac_flip(true, &b));
    printf(\" %d\\n\", b);
    return 0;
}
";
    for run in called_from_c(sac, c, &[]) {
        assert!(run.status == 0 && run.stderr.is_empty(), "{}", run.describe());
        let mut lines: Vec<&str> = run.stdout.lines().collect();
        // The library and the program have buffers of their own.
        lines.retain(|line| *line != "leaving");
        let wanted = ["1 left with 7", "1 1", "0 1 17", "0 hello you", "0 0"];
        assert_eq!(lines, wanted, "{}", run.describe());
        assert!(run.stdout.contains("leaving"), "{}", run.describe());
    }
}

#[test]
fn what_a_library_cannot_offer_is_said() {
    for (text, words) in [
        ("module m; use Array: all; export all;\nint[*] f(int[*] a) { return a; }\n", "no function that C could call"),
        (
            "module m; use Array: all; export all;\nstruct P { int x; };\nint f(struct P p) { return p.x; }\nspecialize int f(struct P p);\n",
            "m.sac:4:",
        ),
        ("module m; export all;\nint f(int x) { return x + ; }\n", "m.sac:2:"),
        ("module m; use Array: all; export all;\nint f(int x) { return x + 1.5; }\n", "m.sac:2:"),
    ] {
        let place = Place::new(&[("m.sac", text)]);
        let run = place.ravel(&["build", "--lib", "-o", "libm_sac", "m.sac"]);
        assert!(
            run.status == 1 && run.stderr.contains(words) && !run.crashed(),
            "expected {words}: {}",
            run.describe()
        );
        assert_eq!(fs::read_dir(place.0.path()).expect("a folder").count(), 1, "files were left");
    }
    let place = Place::new(&[("m.sac", "module m; export all;\nint f(int x) { return x; }\n")]);
    for (output, words) in [("lib3-d", "which is no name in C"), ("no/such/libm", "cannot write")] {
        let run = place.ravel(&["build", "--lib", "-o", output, "m.sac"]);
        assert!(run.status == 1 && run.stderr.contains(words), "expected {words}: {}", run.describe());
    }
    assert_eq!(fs::read_dir(place.0.path()).expect("a folder").count(), 1, "files were left");
}

/// Every block of commands of the page does what the block behind it shows.
#[test]
fn the_page_is_right() {
    let page = fs::read_to_string(repository().join("docs/tools/c.md")).expect("the page");
    let place = Place::new(&[]);
    for entry in fs::read_dir(repository().join("examples/c")).expect("the examples").flatten() {
        fs::copy(entry.path(), place.path(&entry.file_name().to_string_lossy())).expect("a copy");
    }
    let folder = ravel().canonicalize().expect("the binary");
    let folder = folder.parent().expect("its folder").to_path_buf();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut checked = 0;
    for block in page.split("```sh\n").skip(1) {
        let (commands, rest) = block.split_once("```").expect("a closed block");
        let mut command = Command::new("sh");
        command.args(["-e", "-c", commands]).current_dir(place.0.path()).env("PATH", &path);
        let run = finish(&mut command, b"").unwrap_or_else(|why| panic!("{commands}: {why:?}"));
        assert!(run.status == 0, "{commands}: {}", run.describe());
        let shown = rest.split_once("```text\n").filter(|(between, _)| between.trim().is_empty());
        if let Some((_, shown)) = shown {
            let wanted = shown.split_once("```").expect("a closed block").0;
            assert!(run.stdout == wanted, "{commands}: {}", run.describe());
            checked += 1;
        }
    }
    assert!(checked >= 2, "{checked}");
}
