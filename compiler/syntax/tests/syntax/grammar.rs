//! The grammar's conflicts (language reference, A.3), precedence, and each construct once.

use crate::common::{Library, Parsed, parse_named};
use ravel_diagnostics::Code;
use ravel_syntax::ast::*;
use ravel_syntax::{NoIncludes, equal_modulo_spans, print_file};

fn parse(text: &str) -> Parsed {
    parse_named(&Library::scan(&[]), "test.sac", text, &mut NoIncludes)
}

fn clean(text: &str) -> File {
    let parsed = parse(text);
    assert!(parsed.reports.is_empty(), "{text}\n{}", parsed.rendered());
    let printed = print_file(&parsed.file);
    let again = parse(&printed);
    assert!(again.reports.is_empty(), "{printed}\n{}", again.rendered());
    assert!(equal_modulo_spans(&parsed.file, &again.file), "{text}\n{printed}");
    parsed.file
}

/// The first function of a file.
fn function(text: &str) -> Function {
    let found = clean(text).definitions.into_iter().find_map(|definition| match definition {
        Definition::Function(function) => Some(function),
        _ => None,
    });
    found.expect("the test's text defines a function")
}

fn body(statements: &str) -> Body {
    function(&format!("struct S {{ int x, y; }};\ntypedef int[2] T;\nint main() {{ {statements} }}"))
        .body
        .expect("main has a body")
}

fn expr(text: &str) -> Expr {
    match body(&format!("x = {text};")).stmts.pop().map(|stmt| stmt.kind) {
        Some(StmtKind::Assign { value, .. }) => value,
        other => panic!("{text}: {other:?}"),
    }
}

/// The tree with explicit structure: `(+ a (* b c))`.
fn tree(text: &str) -> String {
    show(&expr(text))
}

fn show(expr: &Expr) -> String {
    let name = |name: &QName| match &name.module {
        Some(module) => format!("{module}::{}", name.name),
        None => name.name.to_string(),
    };
    let all = |list: &[Expr]| list.iter().map(|expr| format!(" {}", show(expr))).collect::<String>();
    let selectors = |list: &[Selector]| {
        let each = list.iter().map(|selector| match selector {
            Selector::Expr(expr) => format!(" {}", show(expr)),
            Selector::Dot(_) => " .".to_string(),
            Selector::Dots(_) => " ...".to_string(),
        });
        each.collect::<String>()
    };
    match &expr.kind {
        ExprKind::Number(number) => number.text.to_string(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Char { text, .. } => text.to_string(),
        ExprKind::String(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        ExprKind::Name(found) => name(found),
        ExprKind::Call(call) => format!("({}(){})", name(&call.callee), all(&call.args)),
        ExprKind::Binary { op, left, right } => format!("({} {} {})", name(op), show(left), show(right)),
        ExprKind::Unary { op, operand } => format!("({} {})", name(op), show(operand)),
        ExprKind::And { left, right } => format!("(&& {} {})", show(left), show(right)),
        ExprKind::Or { left, right } => format!("(|| {} {})", show(left), show(right)),
        ExprKind::Cond { cond, then, otherwise } => {
            format!("(? {} {} {})", show(cond), show(then), show(otherwise))
        }
        ExprKind::Select { array, selectors: list } => format!("(sel {}{})", show(array), selectors(list)),
        ExprKind::Field { record, field } => format!("(. {} {})", show(record), field.name),
        ExprKind::Array(elements) => format!("[{}]", all(elements).trim_start()),
        ExprKind::EmptyTyped(ty) => format!("[:{}]", ravel_syntax::print_type(ty)),
        ExprKind::Cast { ty, value } => format!("(cast {} {})", ravel_syntax::print_type(ty), show(value)),
        ExprKind::Struct(literal) => match &literal.fields {
            StructFields::Positional(values) => format!("{}{{{}}}", name(&literal.name), all(values).trim_start()),
            StructFields::Named(fields) => {
                let each = fields.iter().map(|(field, value)| format!(" .{}={}", field.name, show(value)));
                format!("{}{{{}}}", name(&literal.name), each.collect::<String>().trim_start())
            }
        },
        ExprKind::With(with) => format!("(with {} parts)", with.parts.len()),
        ExprKind::Comprehension(comprehension) => {
            let each = comprehension.partitions.iter().map(|partition| {
                let lower = match &partition.lower {
                    Some((Bound::Expr(expr), relation)) => format!(" {} {relation:?}", show(expr)),
                    Some((Bound::Dot(_), relation)) => format!(" . {relation:?}"),
                    None => String::new(),
                };
                let upper = match &partition.upper {
                    Some((relation, Bound::Expr(expr))) => format!(" {relation:?} {}", show(expr)),
                    Some((relation, Bound::Dot(_))) => format!(" {relation:?} ."),
                    None => String::new(),
                };
                format!("{} |{lower} _{upper}", show(&partition.body))
            });
            format!("{{{}}}", each.collect::<Vec<_>>().join("; "))
        }
        ExprKind::Cover(_) | ExprKind::Error => "<error>".to_string(),
    }
}

#[test]
fn precedence_and_associativity() {
    for (text, expected) in [
        ("a ++ b + c", "(++ a (+ b c))"),
        ("x << 1 + 2", "(<< x (+ 1 2))"),
        ("-a[i]", "(- (sel a i))"),
        ("(int[.]) x + y", "(+ (cast int[.] x) y)"),
        ("x < 0 == y", "(== (< x 0) y)"),
        ("a - b - c", "(- (- a b) c)"),
        ("a ? b : c ? d : e", "(? a b (? c d e))"),
        ("a || b && c | d ^ e & f == g", "(|| a (&& b (| c (^ d (& e (== f g))))))"),
        ("a * b ++^ c", "(* a (++^ b c))"),
        ("-a * b", "(* (- a) b)"),
        ("!a.b[c]", "(! (sel (. a b) c))"),
        ("- - a", "(- (- a))"),
        ("++a + ~b", "(+ (++ a) (~ b))"),
        ("(a - b) - (c - d)", "(- (- a b) (- c d))"),
        ("a<-1", "(< a (- 1))"),
    ] {
        assert_eq!(tree(text), expected, "{text}");
    }
}

#[test]
fn dangling_else_belongs_to_the_inner_if() {
    let body = body("if (a) if (b) x = 1; else x = 2;");
    let StmtKind::If { then, otherwise: None, .. } = &body.stmts[0].kind else { panic!("{body:?}") };
    assert!(matches!(then.stmts[0].kind, StmtKind::If { otherwise: Some(_), .. }));
    body_parses("if (a) while (b) if (c) x = 1; else x = 2; else x = 3;");
    body_parses("if (a) { } else if (b) ; else for (;c;) do x = 1; while (d);");
}

fn body_parses(text: &str) {
    body(text);
}

#[test]
fn a_struct_name_before_a_brace_is_a_record_even_behind_conditions() {
    assert_eq!(tree("S{ 1, 2 }"), "S{1 2}");
    assert_eq!(tree("S{ .y = 1 }"), "S{.y=1}");
    assert_eq!(tree("S{}"), "S{}");
    let plain = function("int f(int n) | n == m { return n; }");
    assert_eq!((plain.conditions.len(), plain.body.is_some()), (1, true));
    let in_parentheses = function("struct S { int x; };\nint f(int n) | (n == S) { return n; }");
    assert!(in_parentheses.body.is_some());
    let record = parse("struct S { int x; };\nint f(int n) | n == S { return n; }");
    assert_eq!(record.reports.len(), 1);
    let definition = clean("struct S { int x; };").definitions;
    assert!(matches!(definition[0], Definition::Struct(_)));
    assert!(matches!(function("struct S f(struct S[n] s) { return s[0]; }").results[0].base, TypeBase::Struct(_)));
}

#[test]
fn casts_and_parentheses_are_told_apart_by_type_names() {
    assert_eq!(tree("(T) x"), "(cast T x)");
    assert_eq!(tree("(t) - x"), "(- t x)");
    assert_eq!(tree("(T[*]) (double[+]) x"), "(cast T[*] (cast double[+] x))");
    assert_eq!(tree("(:int) x"), "(cast int x)");
    assert_eq!(tree("[T]"), "[:T]");
    assert_eq!(tree("[t]"), "[t]");
    assert_eq!(tree("[:int[3]]"), "[:int[3]]");
    assert_eq!(tree("[T(1)]"), "[(T() 1)]");
    assert_eq!(tree("(T(1))"), "(T() 1)");
    let body = body("T t; struct S s; int[.] v; t = x;");
    assert_eq!(body.decls.len(), 3);
}

#[test]
fn increments_are_statements_and_concatenation_is_not() {
    assert!(matches!(body("x++;").stmts[0].kind, StmtKind::IncDec { .. }));
    assert!(matches!(body("++x[i];").stmts[0].kind, StmtKind::IncDec { .. }));
    assert!(matches!(body("v[i]--;").stmts[0].kind, StmtKind::IncDec { .. }));
    assert_eq!(tree("x ++ y"), "(++ x y)");
    assert_eq!(tree("x ++ ++y"), "(++ x (++ y))");
}

#[test]
fn commas_in_for_headers() {
    let body = body("for (i = 0, a, b = f(x), g(y); i < 3; i++, j += 2) { }");
    let StmtKind::For { init, step, .. } = &body.stmts[0].kind else { panic!("{body:?}") };
    assert_eq!((init.len(), step.len()), (3, 2));
    assert!(matches!(&init[1].kind, StmtKind::Assign { targets, .. } if targets.len() == 2));
}

#[test]
fn comprehension_bars_are_not_bit_or() {
    assert_eq!(tree("{ i -> a || b | i < n }"), "{(|| a b) | _ Less n}");
    assert_eq!(tree("{ i -> (a | b) | i < n }"), "{(| a b) | _ Less n}");
    assert_eq!(tree("{ i -> f(a | b) ? x | y : z | i < n }"), "{(? (f() (| a b)) (| x y) z) | _ Less n}");
}

#[test]
fn comprehension_constraints_are_decided_by_content() {
    for (text, expected) in [
        ("{ i -> a }", "{a | _}"),
        ("{ [i,j] -> a | [i,j] < ub }", "{a | _ Less ub}"),
        ("{ [i,j] -> a | lb <= [i,j] }", "{a | lb LessEqual _}"),
        ("{ [i,j] -> a | lb <= [i,j] < ub }", "{a | lb LessEqual _ Less ub}"),
        ("{ [.,i,...] -> a | [i] < ub }", "{a | _ Less ub}"),
        ("{ iv -> a | . <= iv < . step [2] width [1]; iv -> b }", "{a | . LessEqual _ Less .; b | _}"),
        ("{ [i] -> a | [i] <= n + 1; }", "{a | _ LessEqual (+ n 1)}"),
        ("{ iv -> a | lb < iv < b | c }", "{a | lb Less _ Less (| b c)}"),
    ] {
        assert_eq!(tree(text), expected, "{text}");
    }
    assert_eq!(parse("int f() { return { [i,j] -> i | [j,i] < [2,2] }; }").reports[0].code, Code::ConstraintOfOther);
    assert_eq!(parse("int f() { return { i -> i | a < b < c }; }").reports[0].code, Code::ConstraintOfOther);
}

#[test]
fn soft_keywords_are_functions_outside_their_places() {
    assert_eq!(tree("genarray(s, v)"), "(genarray() s v)");
    assert_eq!(tree("all(b) && fold(x)"), "(&& (all() b) (fold() x))");
    assert_eq!(tree("Array::modarray(a, i, v)"), "(Array::modarray() a i v)");
    body_parses("a = with { (. <= iv < s) : fold(x); } : genarray(s, modarray(a, i, v));");
    function("int all(int all) { return 1; }");
    function("use Array: all except { all, genarray, + };\nint f() { return 1; }");
    // `step` and `width` act as keywords only behind a bound.
    body_parses("step = 1; width = step + f(step, s.width);");
    body_parses("a = with { (0 * s <= iv < s step step width width) : iv; } : genarray(s, step);");
    function("int[2:s] step(int[2:s] width) { return width; }");
}

#[test]
fn prefix_operators_and_operator_calls() {
    assert_eq!(tree("-(a)"), "(- a)");
    assert_eq!(tree("-(a, b)"), "(-() a b)");
    assert_eq!(tree("*(a, b)"), "(*() a b)");
    assert_eq!(tree("<=(a, b)"), "(<=() a b)");
    assert_eq!(tree("-(a)[i]"), "(- (sel a i))");
    assert_eq!(tree("+(a, b) + c"), "(+ (+() a b) c)");
}

#[test]
fn qualified_names_are_one_token() {
    assert_eq!(tree("a ? M::x : y"), "(? a M::x y)");
    assert_eq!(tree("s String :: == t"), "(String::== s t)");
    assert_eq!(tree("s String::+ t * u"), "(String::+ s (* t u))");
    assert_eq!(tree("M::f(M::+(a, b))"), "(M::f() (M::+() a b))");
    assert_eq!(tree("M::_sel_VxA_([0], a).x"), "(. (M::_sel_VxA_() [0] a) x)");
    clean("use M :all;\nimport M: { all, +, genarray, x };\nexport all except { - };\nint main() { return 0; }");
    body_parses("x = with { (. <= iv <= .) : 1; } : fold(ScalarArith::+, 0);");
}

#[test]
fn selections_with_dots() {
    assert_eq!(tree("m[., j]"), "(sel m . j)");
    assert_eq!(tree("m[[., j]]"), "(sel m . j)");
    assert_eq!(tree("a[..., k]"), "(sel a ... k)");
    assert_eq!(tree("a[[i, j]]"), "(sel a [i j])");
    assert_eq!(tree("shape(a)[0][[]]"), "(sel (sel (shape() a) 0) [])");
    assert_eq!(tree("{ iv -> a }[[..., i]]"), "(sel {a | _} ... i)");
    assert_eq!(parse("int f() { return [., 1]; }").reports[0].code, Code::MisplacedDots);
    assert_eq!(parse("int f(int[*] a) { return a[..., 1, ...]; }").reports[0].code, Code::RepeatedDots);
}

#[test]
fn with_loops() {
    body_parses(
        "s, b = with {
            #pragma wlcomp Scheduling( Block(1), x)
            ([0] <= iv=[i] < [n]) { t = g(i); } : (t, t * t);
            (lb < [i, j] <= ub step s width w) : t;
            ([] <= iv < []) { print(iv); } : void;
            (. <= iv < .);
        } : (fold(+, 0), genarray([n], 0), modarray(a), propagate(o), foldfix(f(1, 2), n, s));
        with { } : genarray(shp, v);
        with { (. <= iv <= .) { print(iv); } : void; } : void;",
    );
}

#[test]
fn function_heads() {
    let head = function(
        "typedef int File;\n\
         inline int, double[n,d>0:cell] f(double[n,2:s,d>0:cell] x, File &f, struct S[+] all) { }",
    );
    assert!(head.attributes.inline && head.params[1].by_ref);
    assert_eq!(head.params[0].ty.dims.as_ref().map(Vec::len), Some(3));
    assert!(function("void f() { }").results.is_empty());
    assert!(function("int f(void) { return (1); }").params.is_empty());
    let external = function(
        "external int, ... scan(char[.] s, ...);\n    #pragma linkname \"SAC_scan\"\n    #pragma linksign [0, 1]\n    \
         #pragma effect stdin, TheWorld\n    #pragma refcountdots\nint main() { return 0; }",
    );
    assert!(external.variadic_results && external.variadic_params);
    assert_eq!(external.pragmas.len(), 4);
    assert_eq!(external.pragmas[1].args, PragmaArgs::Numbers(vec![0, 1]));
    assert!(function("external ... f();").variadic_results);
    assert_eq!(parse("int f(int a, ...) { }").reports[0].code, Code::VariadicDefinition);
    for name in ["+", "-", "++", "!", "<=", "++^", "all", "genarray", "main"] {
        assert_eq!(&*function(&format!("int {name}(int a) {{ return 1; }}")).name.name, name);
    }
}

#[test]
fn user_operators_extend_the_lexer() {
    let text = "int <+>(int a, int b) { return a; }\nint main() { return 1 <+> 2 * 3; }";
    let file = clean(text);
    assert!(format!("{file:?}").contains("<+>"));
    assert_eq!(tree("a <+ b"), "(< a (+ b))");
    clean("use M: { <+>, +* };\nint main() { return 1 <+> 2 +* 3; }");
}

#[test]
fn families_are_types_of_their_file() {
    let file = clean("#pragma family N byte short M::t\ninline N f(N[*] a) { N x; x = (N) a; return x; }");
    let Definition::Family(family) = &file.definitions[0] else { panic!("{file:?}") };
    assert_eq!((&*family.name.name, family.members.len()), ("N", 3));
    assert!(matches!(family.members[0].base, TypeBase::Basic(BasicType::Byte)));
}

#[test]
fn file_headers() {
    assert!(matches!(clean("module M deprecated \"use N\";\nexport all;").header, Header::Module(_)));
    let class = clean("class C;\nclasstype int[2];\nobjdef C c = f();\nC f() { return to_C([1, 2]); }");
    assert!(matches!(class.header, Header::Class(ClassHeader { representation: Some(_), .. })));
    let foreign = clean("class C;\nexternal classtype;\n#pragma freefun \"f\"\nexternal objdef C c;\n");
    assert!(matches!(foreign.header, Header::Class(ClassHeader { representation: None, .. })));
    assert_eq!(foreign.definitions.len(), 1);
    clean("nested typedef int[*] boxed;\nexternal typedef t;\n#pragma copyfun \"c\"\ntypedef t[2] pair;");
    clean("#pragma safe\nmodule M;");
}

#[test]
fn strings_join_and_escape() {
    assert_eq!(tree("\"a\\n\" \"b\" /* c */ \"\\x41\""), "\"a\\nbA\"");
}

#[test]
fn the_smallest_int_needs_its_minus() {
    assert_eq!(tree("-2147483648"), "(- 2147483648)");
    assert_eq!(parse("int f() { return 2147483648; }").reports[0].code, Code::BadLiteral);
}
