//! The preprocessor, observed through the parser: what a text means after its macros are gone.

use crate::common::{Library, parse_named};
use ravel_diagnostics::Diagnostic;
use ravel_source::{FileId, SourceMap};
use ravel_syntax::*;
use ravel_types::HashMap;

/// Files by name.
#[derive(Default)]
struct Files(HashMap<&'static str, &'static str>);

impl Loader for Files {
    fn include(&mut self, name: &str, _: bool, _: FileId, sources: &mut SourceMap) -> Option<FileId> {
        self.0.get(name).map(|text| sources.add(name, *text))
    }
}

fn run(text: &str, macros: &[MacroOption], files: &mut Files) -> (String, Vec<Diagnostic>) {
    let mut sources = SourceMap::default();
    let id = sources.add("test.sac", text);
    let options = PreprocessOptions { macros: macros.to_vec() };
    let (tokens, mut reports) = lex_and_preprocess(id, &mut sources, &options, files);
    let (file, more) = parse_file(&tokens, &TypeNames::default());
    reports.extend(more);
    (print_file(&file), reports)
}

/// The printed value of `x` in a program that starts with these lines.
fn value(lines: &str, expr: &str) -> String {
    let (text, reports) = run(&format!("{lines}\nint main()\n{{\n    x = {expr};\n}}\n"), &[], &mut Files::default());
    assert_eq!(reports, [], "{lines}\n{expr}");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("x = ")).unwrap_or_default();
    line.trim_end_matches(';').to_string()
}

/// The titles of all reports.
fn titles(text: &str) -> Vec<String> {
    run(text, &[], &mut Files::default()).1.into_iter().map(|report| report.title).collect()
}

#[test]
fn object_like_macros() {
    assert_eq!(value("#define N 5\n#define M N + 1", "M * M"), "5 + 1 * 5 + 1");
    assert_eq!(value("#define N 5\n#undef N\n#define N 6", "N"), "6");
    assert_eq!(value("#define LONG 1 + \\\n 2", "LONG"), "1 + 2");
    assert_eq!(value("#define x0 x0 + 1", "x0"), "x0 + 1");
    assert_eq!(value("#define a b\n#define b a", "a + b"), "a + b");
    assert_eq!(value("#define EMPTY", "EMPTY 1 EMPTY"), "1");
}

#[test]
fn function_like_macros() {
    assert_eq!(value("#define SQ(x) ((x) * (x))", "SQ(a + b)"), "(a + b) * (a + b)");
    assert_eq!(value("#define F(a, b) a - b", "F((1 + 2), g(3, 4))"), "1 + 2 - g(3, 4)");
}

#[test]
fn arguments_nest_and_span_lines() {
    assert_eq!(
        value("#define MAX(a, b) ((a) > (b) ? (a) : (b))", "MAX(f(1, 2),\n g(3))"),
        "f(1, 2) > g(3) ? f(1, 2) : g(3)"
    );
    assert_eq!(value("#define ID(x) x", "ID(ID(ID(1)))"), "1");
    assert_eq!(value("#define F() 7", "F() + F( )"), "7 + 7");
    assert_eq!(value("#define F(x) x", "F + F (2)"), "F + 2");
    assert_eq!(value("#define F (1)", "F"), "1");
    assert_eq!(value("#define G(x) [x\n#define H G(1), 2]", "H"), "[1, 2]");
    assert_eq!(value("#define f(x) x\n#define g f", "g(3)"), "3");
    assert_eq!(value("#define V(f, ...) f(__VA_ARGS__)", "V(h, 1, 2)"), "h(1, 2)");
    assert_eq!(value("#define V(f, ...) f(0, ## __VA_ARGS__)", "V(h)"), "h(0)");
    assert_eq!(value("#define W(r...) f(r)", "W(1, 2)"), "f(1, 2)");
}

#[test]
fn stringify_and_paste_through_two_levels() {
    let lines = "#define CAT_(a, b) a ## b\n#define CAT(a, b) CAT_(a, b)\n#define STR_(x) #x\n#define STR(x) STR_(x)\n\
                 #define N 7\n#define LOOP CAT(Loop, N)";
    assert_eq!(value(lines, "LOOP(STR(LOOP), STR_(N))"), "Loop7(\"Loop7\", \"N\")");
    assert_eq!(value(lines, "STR_( a  +  \"b\\n\" )"), r#""a + \"b\\n\"""#);
    assert_eq!(value(lines, "CAT(1, 2) + CAT(, y) + CAT(z,)"), "12 + y + z");
    assert_eq!(value(lines, "x CAT(<, =) CAT(1, .5)"), "x <= 1.5");
}

#[test]
fn conditions() {
    for (condition, holds) in [
        ("1", true),
        ("UNKNOWN", false),
        ("defined N", true),
        ("defined(N) && !defined M", true),
        ("N == 5 && N * 2 + 1 > 10", true),
        ("N > 5 ? 1 : 0", false),
        ("0 && 1 / 0", false),
        ("(1 << 4 | 1) == 0x11", true),
        ("-1 < 0 && ~0 == -1 && 'a' == 97", true),
        ("4000000000 > 0 && 10l == 10", true),
        ("SQ(3) == 9", true),
        ("EXT_STDLIB && FULLTYPES", true),
    ] {
        let lines =
            format!("#define N 5\n#define SQ(x) x * x\n#if {condition}\n#define R 1\n#else\n#define R 0\n#endif");
        assert_eq!(value(&lines, "R"), if holds { "1" } else { "0" }, "{condition}");
    }
    let chain =
        "#ifdef A\n#define R 1\n#elif defined B\n#define R 2\n#elif UNKNOWN\n#define R 3\n#else\n#define R 4\n#endif";
    assert_eq!(value(chain, "R"), "4");
    assert_eq!(value(&format!("#define B\n{chain}"), "R"), "2");
    assert_eq!(value("#if 0\nwhat's (this\n#if 1\n#else\n#endif\n\"\n#elif 1\n#define R 9\n#endif", "R"), "9");
    assert_eq!(value("", "a\n   #ifdef N\n + b\n   #else\n + c\n#endif\n"), "a + c");
    assert_eq!(value("#define F(x) x", "F(1\n#if 1\n + 2\n#endif\n)"), "1 + 2");
}

#[test]
fn options_define_and_undefine() {
    let text = "int main() { return F(SIZE) + FLAG; }";
    let define = |text: &str| MacroOption::Define(text.to_string());
    let options =
        [define("SIZE=3 * 2"), define("FLAG"), define("F(x)=(x)"), define("X"), MacroOption::Undefine("X".into())];
    let (printed, reports) = run(text, &options, &mut Files::default());
    assert_eq!(reports, []);
    assert!(printed.contains("return 3 * 2 + 1;"), "{printed}");
}

#[test]
fn includes() {
    let mut files = Files::default();
    files.0.insert("a.h", "#define N 5\nint f() { return 1; }\n");
    files.0.insert("self.h", "#include \"self.h\"\n");
    let (printed, reports) = run("#include \"a.h\"\n#include <a.h>\nint main() { return N; }", &[], &mut files);
    assert_eq!(reports, []);
    assert!(printed.contains("return 5;"));
    let missing = run("#include \"b.h\"\nint main() { return 0; }", &[], &mut files).1;
    assert_eq!(missing[0].title, "cannot read the included file \"b.h\"");
    assert_eq!(run("#include \"self.h\"\n", &[], &mut files).1.len(), 1);
}

#[test]
fn pragmas_survive_and_may_come_from_macros() {
    let text = "#define H #\nexternal int f(); H pragma linkname \"g\" H pragma linksign [1]\nint main() { return 0; }\n\
                #define N 5\nexternal int h();\n#pragma linkname \"N\"\n";
    let (printed, reports) = run(text, &[], &mut Files::default());
    assert_eq!(reports, []);
    assert!(printed.contains("#pragma linkname \"g\"\n#pragma linksign [1]\n"), "{printed}");
}

#[test]
fn macro_tokens_carry_the_place_of_the_call() {
    let text = "#define BAD(x) x + ;\nint main() {\n    a = BAD(1);\n}\n";
    let parsed = parse_named(&Library::scan(&[]), "test.sac", text, &mut NoIncludes);
    assert_eq!(parsed.sources.snippet(parsed.reports[0].span()), "BAD(1)");
    assert_eq!(value("", "__LINE__"), "4");
}

#[test]
fn mistakes_in_directives_are_reported() {
    assert_eq!(titles("#if 1\n"), ["this condition is never closed"]);
    assert_eq!(titles("#endif\n#else\n"), ["#endif without #if", "#else without #if"]);
    assert_eq!(titles("#if 1\n#else\n#else\n#endif\n"), ["#else behind #else"]);
    assert_eq!(titles("#if 1 +\n#endif\n"), ["the condition ends too early"]);
    assert_eq!(titles("#if 1 / 0\n#endif\n"), ["division by zero in a condition"]);
    assert_eq!(titles("#if\n#endif\n"), ["#if takes a condition"]);
    assert_eq!(titles("#defin N 1\n"), ["unknown directive #defin, did you mean #define?"]);
    assert_eq!(titles("#define 5\n#undef\n"), ["#define takes a name", "#undef takes a name"]);
    assert_eq!(titles("#define F(1) x\n"), ["macro `F`: its parameters are names separated by commas"]);
    assert_eq!(titles("#define F(x) ## x\n"), ["macro `F`: ## stands between two tokens"]);
    assert_eq!(titles("#error no way\n"), ["#error no way"]);
    assert_eq!(titles("#define F(a, b) a\ntypedef F(1) int x;")[0], "macro `F`: takes 2 arguments, but 1 given");
    assert_eq!(titles("#define F(a) a\nF(1")[0], "macro `F`: the call is not closed");
    assert_eq!(titles("# 12 \"other.sac\"\n#line 5\n#\n"), Vec::<String>::new());
}

#[test]
fn macros_that_explode_through_their_arguments_are_stopped() {
    let mut text = String::from("#define A0(x) x\n");
    for level in 1..40 {
        text.push_str(&format!("#define A{level}(x) A{}(A{}(x) + A{}(x))\n", level - 1, level - 1, level - 1));
    }
    text.push_str("int main() { return A39(1); }\n");
    assert_eq!(titles(&text), ["macro `A1`: macros have grown to more than 4000000 tokens"]);
}

#[test]
fn macros_that_explode_are_stopped() {
    let mut text = String::from("#define A0 1 +\n");
    for level in 1..40 {
        text.push_str(&format!("#define A{level} A{} A{}\n", level - 1, level - 1));
    }
    text.push_str("int main() { return A39 1; }\n");
    assert!(titles(&text)[0].starts_with("macro `A"), "{:?}", titles(&text));
    let nested = format!("#define F(x) x\nint main() {{ return {}1{}; }}", "F(".repeat(5000), ")".repeat(5000));
    assert!(titles(&nested).contains(&"macro `F`: macro calls are nested too deeply".to_string()));
}
