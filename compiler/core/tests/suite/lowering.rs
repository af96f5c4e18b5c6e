//! What sugar becomes, in the text form of core.

use crate::common::{core_of, load_with, messages};

fn body(root: &str, name: &str) -> String {
    let text = core_of(root, name);
    text.split_once("{\n").map_or(text.clone(), |(_, body)| body.trim_end_matches('}').trim().to_string())
}

fn expect(root: &str, name: &str, lines: &str) {
    let squeeze =
        |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let found = body(&format!("use Array: all;\n{root}"), name);
    let found: String = squeeze(&found).split('@').enumerate().fold(String::new(), |text, (i, piece)| match i {
        0 => piece.to_string(),
        _ => text + piece.trim_start_matches(|c: char| c.is_ascii_digit()),
    });
    assert_eq!(found, squeeze(lines), "\n{found}");
}

#[test]
fn loops_and_compound_assignments() {
    expect(
        "int f(int n) { s = 0; for (i = 0; i < n; i++) { s += i; } do { s--; } while (s < 3); return s; }
         int --(int a) { return a; }",
        "f",
        "s = 0;
         i = 0;
         while <(i, n) {
         s = +(s, i);
         i = ++(i);
         }
         do {
         s = --(s);
         } while <(s, 3);
         return s;",
    );
}

#[test]
fn nested_targets_are_replaced_from_the_inside_out() {
    expect(
        "struct P { int[3] x; };
         int[*] f(int[*] a, int i) { a[i][i + 1] = 5; a[0, 1] += 2; return a; }
         struct P g(struct P p) { p.x[1] = 2; return p; }",
        "f",
        "at = +(i, 1);
         a = modarray(a, i, modarray(sel(i, a), at, 5));
         a = modarray(a, [0, 1], +(sel([0, 1], a), 2));
         return a;",
    );
    expect(
        "struct P { int[3] x; };
         struct P g(struct P p) { p.x[1] = 2; return p; }",
        "g",
        "p = {p with .x = modarray(p.x, 1, 2)};
         return p;",
    );
}

#[test]
fn reference_parameters_are_further_results() {
    expect("int f(int &a) { a = 1; return 2; }", "f", "a = 1; return 2, a;".replace("; ", ";\n").as_str());
    expect(
        "int f(int &a) { a = 1; return 2; } void g(int &a) { a = 3; }
         int main() { x = 0; y = f(x); g(x); z = f(x) + x; while (f(x) < 3) { y = 1; } return z; }",
        "main",
        "x = 0;
         y, x = f(x);
         x = g(x);
         z = +(do {
         value, x = f(x);
         } give value, x);
         while <(do {
         value'1, x = f(x);
         } give value'1, 3) {
         y = 1;
         }
         return z;",
    );
}

#[test]
fn foreign_reference_parameters_keep_their_variable() {
    expect(
        "external typedef file; external int get(file &f); external file open();
         int main() { f = open(); return get(f) + get(f); }",
        "main",
        "f = open();
         return +(get(f), get(f));",
    );
}

#[test]
fn foreign_members_of_a_set_with_reference_results_are_wrapped() {
    let root = "external typedef file; external file open(); external int get(file &f);
         int get(int &n) { n = 1; return 2; }
         int main() { f = open(); n = 0; a = get(f); b = get(n); return a; }";
    let (program, reports, _) = load_with(root, &[]);
    assert!(reports.is_empty(), "{reports:#?}");
    let text = ravel_core::print(&program);
    assert!(text.contains("    a, f = get@2(f);\n    b, n = get@2(n);"), "{text}");
    assert!(text.contains("{\n    result = get@1(f);\n    return result, f;\n}"), "{text}");
}

#[test]
fn propagated_objects_are_results() {
    expect(
        "external typedef file; external file open(); external void put(file &f, int i);
         int main() { f = open(); f = with { ([0] <= [i] < [3]) { put(f, i); } : f; } : propagate(f); return 0; }",
        "main",
        "f = open();
         f = with {
         ([0] <= [i] < [3]) {
         put(f, i);
         } : f;
         } : propagate(f);
         return 0;",
    );
}

#[test]
fn selections_with_dots_are_comprehensions() {
    expect(
        "int[*] f(int[.,.] m, int j) { return m[., j + 1]; }",
        "f",
        "return do {
         at = +(j, 1);
         shape = _shape_A_(m);
         frame = [_sel_VxA_([0], shape)];
         } give comprehension {
         (. <= [axis] < frame) : sel([axis, at], m);
         } : genarray(frame, zero cell);",
    );
    expect(
        "int[*] f(int[*] m, int j) { return m[., 2, ..., j, .]; }",
        "f",
        "return do {
         shape = _shape_A_(m);
         frame = _cat_VxV_(_cat_VxV_([_sel_VxA_([0], shape)], _drop_SxV_(-2, _drop_SxV_(2, shape))), \
         [_sel_VxA_([1], _take_SxV_(-2, shape))]);
         } give comprehension {
         (. <= iv < frame) : sel(_cat_VxV_(_cat_VxV_([_sel_VxA_([0], iv), 2], _drop_SxV_(-1, _drop_SxV_(1, iv))), \
         [j, _sel_VxA_([0], _take_SxV_(-1, iv))]), m);
         } : genarray(frame, zero cell);",
    );
    expect("int[*] f(int[*] m) { return m[1, ...]; }", "f", "return sel(1, m);");
}

#[test]
fn bounds_come_from_selections() {
    // Nested: the inner bound first, the outer one from selections inside.
    expect(
        "int[*] f(int[.,.] m, int[.] v) { return { [r,c] -> { [q] -> m[r,q] * v[c] } }; }",
        "f",
        "return do {
         shape = _shape_A_(m);
         shape'1 = _shape_A_(v);
         extents = [_sel_VxA_([0], shape), _sel_VxA_([0], shape'1)];
         } give comprehension {
         (. <= [r, c] < extents) : do {
         shape'2 = _shape_A_(m);
         extents'1 = [_sel_VxA_([1], shape'2)];
         } give comprehension {
         (. <= [q] < extents'1) : *(sel([r, q], m), sel(c, v));
         } : genarray(extents'1, zero cell);
         } : genarray(extents, zero cell);",
    );
    // Several selections: the minimum, for vectors over the shorter one.
    expect(
        "int[*] f(int[*] a, int[*] b) { return { iv -> a[iv] + b[iv] }; }",
        "f",
        "return do {
         shape = _shape_A_(a);
         shape'1 = _shape_A_(b);
         length = _min_SxS_(_sel_VxA_([0], _shape_A_(shape)), _sel_VxA_([0], _shape_A_(shape'1)));
         extents = _min_VxV_(_take_SxV_(length, shape), _take_SxV_(length, shape'1));
         } give comprehension {
         (. <= iv < extents) : +(sel(iv, a), sel(iv, b));
         } : genarray(extents, zero cell);",
    );
    // Behind `...`, from the last axis; a partition before the last may do without.
    expect(
        "int[*] f(int[*] a, int[.] s) { return { iv -> 0 | iv < s; [i] -> a[..., i, .] | [1] <= [i] }; }",
        "f",
        "return do {
         shape = _shape_A_(a);
         extents = [_sel_VxA_([0], _take_SxV_(-2, shape))];
         } give comprehension {
         (. <= iv < s) : 0;
         ([1] <= [i] < extents) : do {
         shape'1 = _shape_A_(a);
         frame = _cat_VxV_(_drop_SxV_(-2, shape'1), [_sel_VxA_([1], _take_SxV_(-2, shape'1))]);
         } give comprehension {
         (. <= iv'1 < frame) : sel(_cat_VxV_(_drop_SxV_(-1, iv'1), [i, _sel_VxA_([0], _take_SxV_(-1, iv'1))]), a);
         } : genarray(frame, zero cell);
         } : genarray(extents, zero cell);",
    );
    // An array that mentions the index does not count, nor does a part of an index expression.
    assert_eq!(
        messages("use Array: all;\nint[*] f(int[*] a) { return { [i] -> a[i, i][i] + a[i + 1] }; }", &[]).len(),
        0
    );
}

#[test]
fn arrays_that_are_computed_give_their_bound_and_their_elements_once() {
    expect(
        "int[*] f(int[*] a) { return { iv -> (a + a)[iv] }; }",
        "f",
        "return do {
         array = +(a, a);
         shape = _shape_A_(array);
         } give comprehension {
         (. <= iv < shape) : sel(iv, array);
         } : genarray(shape, zero cell);",
    );
    let nested = (0..60).fold("a".to_string(), |inner, i| format!("{{ [i{i}] -> {inner}[i{i}] }}"));
    assert!(messages(&format!("use Array: all; int[*] f(int[*] a) {{ return {nested}; }}"), &[]).is_empty());
}

#[test]
fn an_inclusive_bound_is_one_less_than_the_shape() {
    expect(
        "int[*] f(int[.] n) { return { iv -> 1 | [1] <= iv <= n step [2] width [1] }; }",
        "f",
        "return do {
         extents = _add_VxS_(n, 1);
         } give comprehension {
         ([1] <= iv <= n step [2] width [1]) : 1;
         } : genarray(extents, zero cell);",
    );
}

#[test]
fn dots_on_the_left_move_cell_axes() {
    expect(
        "int[*] f(int[*] v) { return { [., i] -> v * i | [i] < [4] }; }",
        "f",
        "return do {
         plain = comprehension {
         (. <= [i] < [4]) : *(v, i);
         } : genarray([4], zero cell);
         shape = _shape_A_(plain);
         frame = [_sel_VxA_([1], shape), _sel_VxA_([0], shape)];
         } give comprehension {
         (. <= [axis, axis'1] < frame) : _selcell_VxA_([axis'1, axis], plain);
         } : genarray(frame, zero cell);",
    );
    expect(
        "int[*] f(int[*] v) { return { [..., i] -> v * i | [i] < [4] }; }",
        "f",
        "return do {
         plain = comprehension {
         (. <= [i] < [4]) : *(v, i);
         } : genarray([4], zero cell);
         shape = _shape_A_(plain);
         frame = _cat_VxV_(_drop_SxV_(1, shape), [_sel_VxA_([0], shape)]);
         } give comprehension {
         (. <= iv < frame) : _selcell_VxA_(_cat_VxV_([_sel_VxA_([0], _take_SxV_(-1, iv))], _drop_SxV_(-1, iv)), plain);
         } : genarray(frame, zero cell);",
    );
}

#[test]
fn dots_behind_an_ellipsis_keep_their_axes() {
    // `...` takes what the last dot leaves, so that dot is not like an unplaced axis.
    expect(
        "int[*] f(int[*] v) { return { [..., i, .] -> v | [i] < [4] }; }",
        "f",
        "return do {
         plain = comprehension {
         (. <= [i] < [4]) : v;
         } : genarray([4], zero cell);
         shape = _shape_A_(plain);
         frame = _cat_VxV_(_drop_SxV_(-1, _drop_SxV_(1, shape)), \
         [_sel_VxA_([0], shape), _sel_VxA_([0], _take_SxV_(-1, shape))]);
         } give comprehension {
         (. <= iv < frame) : _selcell_VxA_(_cat_VxV_(_cat_VxV_([_sel_VxA_([0], _take_SxV_(-2, iv))], \
         _drop_SxV_(-2, iv)), [_sel_VxA_([1], _take_SxV_(-2, iv))]), plain);
         } : genarray(frame, zero cell);",
    );
}

#[test]
fn comprehensions_give_several_results() {
    expect(
        "int, int g(int a) { return (a, a); }
         int f(int[*] a) { p, q = { iv -> g(a[iv]) }; return 0; }",
        "f",
        "shape = _shape_A_(a);
         p, q = comprehension {
         (. <= iv < shape) {
         cell, cell'1 = g(sel(iv, a));
         } : cell, cell'1;
         } : genarray(shape, zero cell), genarray(shape, zero cell);
         return 0;",
    );
}

#[test]
fn parts_of_with_loops_have_their_own_variables() {
    expect(
        "int f(int n) { s = 0; t = 1;
           w = with { ([0] <= [i] < [n]) { t = i; while (s < 3) { s += t; } } : s; } : fold(+, 0);
           return s + t + w; }",
        "f",
        "s = 0;
         t = 1;
         w = with {
         ([0] <= [i] < [n]) {
         s'1 = s;
         t'1 = i;
         while <(s'1, 3) {
         s'1 = +(s'1, t'1);
         }
         } : s'1;
         } : fold(+, 0);
         return +(+(s, t), w);",
    );
}

#[test]
fn folds_take_functions_with_leading_arguments() {
    expect(
        "int comb(int k, int a, int b) { return a; }
         int f() { return with { ([0] <= iv < [3]) : 1; } : fold(comb(7), 0); }",
        "f",
        "return with {
         ([0] <= iv < [3]) : 1;
         } : fold(comb(7), 0);",
    );
}

#[test]
fn names_of_patterns_are_slots() {
    let text = core_of(
        "use Array: all;\ndouble[n,m,2:s] f(int ax, double[n,k] x, double[ax:o, d>0:i] y) | k == n { return y; }",
        "f",
    );
    assert!(
        text.starts_with("double[n,m,2:s] root::f#0(int ax, double[n,k] x, double[ax:o,d>0:i] y)\n    if ==@0(k, n)"),
        "{text}"
    );
}

#[test]
fn classes_convert_inside_their_file_only() {
    let counter = (
        "Counter.sac",
        "class Counter;\nclasstype int;\nobjdef Counter hits = fresh();\nexport all;\nuse Array: all;\n\
         Counter fresh() { return to_Counter(0); }\n\
         void tick(Counter &c) { k = from_Counter(c); c = to_Counter(k + 1); }\n\
         void tick() { tick(hits); }",
    );
    let (program, reports, map) = load_with("use Counter: all;\nint main() { tick(); return 0; }", &[counter]);
    assert!(reports.is_empty(), "{}", ravel_diagnostics::render(&reports, &map, Default::default(), false));
    let text = ravel_core::print(&program);
    assert!(text.contains("c = to_Counter(+"), "{text}");
    assert!(text.contains("object hits = tick@") && text.contains("(object hits);"), "{text}");
    assert!(text.contains("object Counter Counter::hits = fresh@"), "{text}");
    let outside = messages("use Counter: all;\nint main() { c = to_Counter(1); return 0; }", &[counter]);
    assert_eq!(outside, ["E0210 2: unknown function `to_Counter`"]);
}

#[test]
fn objects_are_ordered_by_what_their_initialisers_use() {
    let root = "objdef int b = f();\nobjdef int a = 1;\nint f() { return a; }\nint main() { return b; }";
    let (program, reports, _) = load_with(root, &[]);
    assert!(reports.is_empty(), "{reports:#?}");
    let names: Vec<&str> = program.globals.iter().map(|global| global.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let cycle = "objdef int b = f();\nint f() { return b; }\nint main() { return b; }";
    assert_eq!(messages(cycle, &[]), ["E0234 1: object `b` needs itself to be initialized"]);
}

#[test]
fn reexports_are_one_definition() {
    let left = ("Left.sac", "module Left; import Array: all; export all;");
    let right =
        ("Right.sac", "module Right; import Array: { + }; export all; int +(int a, int b, int c) { return a; }");
    let root = "use Left: all; use Right: all;\nint main() { return 1 + 2; }";
    let (program, reports, _) = load_with(root, &[left, right]);
    assert!(reports.is_empty(), "{reports:#?}");
    let set = program.sets.iter().find(|set| set.name == "+").expect("the program calls +");
    assert_eq!(set.members.len(), 2);
}

#[test]
fn qualified_names_load_their_module() {
    let m = (
        "M.sac",
        "module M; export all; typedef int[2] pair; int f(int a) { return a; } int +(int a, int b) { return a; }",
    );
    let root = "int main() { p = (M::pair) [1, 2]; return M::f(1) M::+ 2; }";
    assert!(messages(root, &[m]).is_empty());
}

#[test]
fn only_what_the_root_reaches_is_lowered() {
    let (program, _, _) = load_with("use Array: all;\nint main() { return 1 * 2; }", &[]);
    let names: Vec<&str> = program.funs.iter().map(|fun| fun.name.as_str()).collect();
    assert_eq!(names, ["main", "*"]);
}

#[test]
fn large_literals_are_folded() {
    let row = "[1,-2,3,4,5,6,7,8]";
    let root = format!("int[*] f() {{ return [{}]; }}", [row; 5].join(","));
    let text = core_of(&root, "f");
    assert!(text.contains("return constants int[5,8] {1, -2, 3, 4, 5, 6, 7, 8, ...};"), "{text}");
}
