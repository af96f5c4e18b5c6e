//! Every mistake gets one report, at its place.

use crate::common::{load_with, messages};

fn only(root: &str) -> String {
    let found = messages(root, &[]);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.into_iter().next().unwrap_or_default()
}

#[test]
fn unknown_names_suggest_close_ones_and_modules() {
    let (_, reports, _) = load_with("use Array: all;\nint main() { return shpae([1])[0]; }", &[]);
    assert_eq!(reports[0].code.text(), "E0210");
    assert_eq!(reports[0].help.as_deref(), Some("did you mean `shape`?"));

    let math = ("Math.sac", "/* library */\nmodule Math;\nexport all;\ndouble sin(double x) { return x; }");
    let (_, reports, _) = load_with("int main() { y = sin(1.0); return 0; }", &[math]);
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].help.as_deref(), Some("add `use Math: all;`"));

    let (_, reports, _) = load_with("int main() { count = 1; return coumt; }", &[]);
    assert_eq!(reports[0].title, "unknown variable `coumt`");
    assert_eq!(reports[0].help.as_deref(), Some("did you mean `count`?"));
}

#[test]
fn one_run_reports_all_mistakes() {
    let root = "use Array: all;\n\
                int f(int a) { return a + b; }\n\
                int g(int a) { return nothing(a); }\n\
                int, int h(int a) { return a; }\n\
                int main() { x, y = 3; return f(1, 2); }\n";
    let found = messages(root, &[]);
    let codes: Vec<&str> = found.iter().map(|text| &text[..7]).collect();
    assert_eq!(codes, ["E0212 2", "E0210 3", "E0220 4", "E0221 5", "E0211 5"], "{found:#?}");
}

#[test]
fn a_variable_needs_a_value_on_every_path() {
    let one_branch = "int main() { if (true) { x = 1; } return x; }";
    assert_eq!(only(one_branch), "E0213 1: `x` may have no value here");
    let in_while = "int main() { while (true) { x = 1; } return x; }";
    assert_eq!(only(in_while), "E0213 1: `x` may have no value here");
    assert!(messages("int main() { do { x = 1; } while (false); return x; }", &[]).is_empty());
    assert!(messages("int main() { if (true) { x = 1; } else { x = 2; } return x; }", &[]).is_empty());
    let first_round = "use Array: all; int main() { for (i = 0; i < 3; i++) { y = x; x = 1; } return 0; }";
    assert_eq!(only(first_round), "E0212 1: unknown variable `x`");
}

#[test]
fn module_cycles_show_the_way_round() {
    let a = ("A.sac", "module A;\nuse B: all;\nexport all;\nint a() { return 1; }");
    let b = ("B.sac", "module B;\nuse A: all;\nexport all;\nint b() { return 1; }");
    let (_, reports, map) = load_with("use A: all;\nint main() { return a(); }", &[a, b]);
    assert_eq!(reports.len(), 1, "{reports:#?}");
    assert_eq!(reports[0].title, "modules need each other: A -> B -> A");
    assert_eq!(map.describe(reports[0].span()), "B.sac:2:5");
    let own = ("A.sac", "module A;\nuse A: all;\nexport all;\nint a() { return 1; }");
    assert_eq!(messages("use A: all;\nint main() { return a(); }", &[own]), ["E0206 2: module `A` loads itself"]);
}

#[test]
fn modules_must_be_there_and_be_what_they_say() {
    assert_eq!(only("use Aray: all;\nint main() { return 0; }"), "E0201 1: module `Aray` not found");
    let other = ("Stack.sac", "module Stuck; export all;");
    assert_eq!(
        messages("use Stack: all;\nint main() { return 0; }", &[other]),
        ["E0202 1: Stack.sac is not a module `Stack`"]
    );
    let stack = ("Stack.sac", "module Stack; provide { push }; int push(int a) { return a; }");
    let found = messages("import Stack: { push };\nuse Stack: { pop };\nint main() { return 0; }", &[stack]);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found.iter().all(|text| text.starts_with("E0205")), "{found:#?}");
}

#[test]
fn lost_definitions_are_not_missed_twice() {
    let root = "use Array: all;\nint f(int a { return a; }\nint main() { return f(1); }\n";
    let found = messages(root, &[]);
    assert!(found.iter().all(|text| text.starts_with("E01")), "{found:#?}");
}

#[test]
fn overloads_must_differ() {
    let twice = "int f(int[.] a) { return 1; }\nint f(int[n] b) { return 2; }\nint main() { return f([1]); }";
    assert_eq!(only(twice), "E0218 2: function `f` is defined twice for the same argument types");
    let hides = "use Array: all;\nint ++(int a) { return 2; }\nint main() { x = 1; x++; return x; }";
    assert_eq!(only(hides), "W0451 2: this `++` hides the one of module `Array`");
    let counts = "int toi(int a) { return a; }\nint, int toi(int a) { return (a, a); }\nint main() { x, y = toi(1); return toi(2); }";
    assert!(messages(counts, &[]).is_empty());
}

#[test]
fn comprehensions_need_a_bound() {
    assert_eq!(
        only("use Array: all;\nint[*] f(int[.] a) { return { iv -> a[iv + 1] }; }\nint main() { return 0; }"),
        "E0227 2: no upper bound for `iv`"
    );
    assert_eq!(
        only("use Array: all;\nint[*] f(int[.] a) { return { [i, j] -> a[i] }; }\nint main() { return 0; }"),
        "E0227 2: no upper bound for `j`"
    );
}

#[test]
fn reference_arguments_must_have_a_name() {
    let root = "int f(int &a) { a = 1; return 2; }\nint main() { return f(3); }";
    assert!(only(root).starts_with("E0217 2"));
}

#[test]
fn variadic_results_need_declared_targets() {
    let external = "external int, ... scan(int a);\n";
    let found = messages(&format!("{external}int main() {{ n, x = scan(1); return n; }}"), &[]);
    assert_eq!(found, ["E0232 2: the type of `x` must be declared"]);
    assert!(messages(&format!("{external}int main() {{ double x; n, x = scan(1); return n; }}"), &[]).is_empty());
}

#[test]
fn records_are_checked() {
    let root = "struct P { int x; int y; };\n\
                int main() { p = P{ 1 }; q = P{ .z = 1 }; r = P{ .x = 1, .x = 2 }; return 0; }";
    let codes: Vec<String> = messages(root, &[]).iter().map(|text| text[..5].to_string()).collect();
    assert_eq!(codes, ["E0226", "E0225", "E0226"]);
    assert_eq!(only("struct A { struct A a; };\nint main() { return 0; }"), "E0224 1: type `A` contains itself");
    assert!(only("typedef int[.] v;\nint main() { return 0; }").starts_with("E0223"));
}
