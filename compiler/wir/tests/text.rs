//! The text form: `print` and `parse` are inverse, and the verifier names what is wrong.

use ravel_source::FileId;
use ravel_wir::{compact::compact, parse::parse_module, print::print_module, verify::verify};

/// Every operation once.
const ALL: &str = r#"
global @g0 "stdout": handle
entry @f1
func @f0 "f" noinline (%a: f64[s0,2*s1-3], %u: f64[*], %i: i32) -> (f64, f64[*]) {
  %n: i32 = extent %a, 0
  %lo: bool = ge %i, 0
  check %lo, index %i, %n, 0
  check %lo, shape %n, 3, 1, "arguments of +"
  check %lo, division
  check %lo, message "odd \22text\22" [%i, %n]
  check %lo, message "first" [%i] and %lo, shape %n, 3, 1, "arguments of f" and %lo, division
  %x: f64 = sel %a, [%i, 0]
  %row: f64[2*s1-3] = sel %a, [%i]
  %iv: i32[2] = constarray [1, 2]
  %bytes: u8[3] = array [1:u8, 2:u8, 255:u8]
  %y: f64 = seldyn %u, %iv
  %k: f32 = convert %x
  %k2: f32 = mul %k, 1.5:f32
  %nan: bool = isnan %k2
  %z: f64 = select %nan, %x, -0.5
  %sv: i32[2] = shape %a
  %r: i32 = rank %u
  %flat: f64[s2] = reshape %a, [%n]
  %any: f64[*] = reshapedyn %u, %sv
  %b: f64[s0,2*s1-3] = update %a, [0, 0], inf:f64
  %c: f64[*] = updatedyn %u, %iv, %z
  %w: f64[*] = widen %b
  %back: f64[s0,s3] = narrow %w
  %hid: f64[*] = opaque %c
  %p: f64, %q: i32 = if %nan {
    yield %x, 1
  } else {
    %t: i32 = add %i, 1
    yield %y, %t
  }
  %sum: i32, %acc: f64 = loop (%j: i32 = 0, %s: f64 = %p) {
    %j1: i32 = add %j, 1
    %go: bool = lt %j1, %q
    yield %go, %j1, %s
  }
  %g: f64[s0,4], %max: f64, %cat: f64 = with {
    part [0, 0] <= [%d, %e] < [%n, 4] step [1, 2] width [1, 1] {
      %v: f64 = sel %a, [%d, 0]
      yield %v, %v, %v
    }
  } genarray [%n, 4] cell [] default 0.0 fold max neutral -1e300 stop 1.0 fold { (%l: f64, %m: f64)
    %next: f64 = sub %l, %m
    yield %next
  } neutral %acc
  %m2: f64[s0,4] = with {
    part [0] <= [%d2] < [2] {
      %cell: f64[4] = constarray [0.0, 1.0, 2.0, NaN]
      yield %cell
    }
  } modarray %g
  %zeros: f64[4] = with {
  } genarray [4] cell [] default 0.5
  %dynamic: f64[*] = with {
    part dyn %sv <= %index: i32[2] < %iv step %iv width %iv {
      yield %x
    }
  } genarray dyn %sv default 0.0
  yield %max, %dynamic
}
func @f1 "main" effects () -> (i32) {
  %h: handle = str "hello\0a"
  globalset @g0, %h
  %h2: handle = globalget @g0
  %n: i32 = native "ravel_puts" fixed 1 effect (%h2)
  with ordered {
    part [] <= [] < [] {
      native "ravel_puts" fixed 1 effect (%h2)
      yield
    }
  }
  %e: f64[2,2] = constarray [1.0, 2.0, 3.0, 4.0]
  %u: f64[*] = widen %e
  %one: f64, %two: f64[*] = call @f0 (%e, %u, 0)
  yield %n
}
"#;

#[test]
fn printing_and_parsing_are_inverse() {
    let mut module = parse_module(ALL, FileId(0)).expect("grammatical");
    assert_eq!(verify(&module), Ok(()));
    let text = print_module(&module);
    let again = parse_module(&text, FileId(0)).expect("the printer's own text");
    assert_eq!(print_module(&again), text);
    for func in module.funcs.values_mut() {
        compact(func);
    }
    assert_eq!(verify(&module), Ok(()));
    assert_eq!(print_module(&module), text);
}

/// What the verifier says of a function body.
fn problems(body: &str) -> String {
    let text = format!("func @f0 \"f\" (%a: f64[3], %i: i32, %x: f64, %c: bool) -> () {{ {body} yield }}");
    let module = parse_module(&text, FileId(0)).expect("grammatical");
    match verify(&module) {
        Ok(()) => String::new(),
        Err(errors) => errors.iter().map(|e| e.problem.clone()).collect::<Vec<_>>().join("; "),
    }
}

#[test]
fn broken_rules_are_named() {
    assert_eq!(problems(""), "");
    assert_eq!(problems("%y: f64 = add %x, 1"), "bin: not defined on these types");
    assert_eq!(problems("%y: f64 = sel %a, [%i, %i]"), "sel: the selection does not fit");
    assert_eq!(problems("%y: f64 = sel %a, [%x]"), "sel: indices, extents and bounds are i32 scalars");
    assert_eq!(problems("%y: i32 = extent %a, 1"), "extent: no such axis");
    assert_eq!(problems("%y: f64[4] = widen %a"), "widen: the result type is not less specific");
    assert_eq!(problems("native \"p\" fixed 0 effect ()"), "native: an effect in a function that is not marked so");
    assert_eq!(
        problems("%y: f64 = if %c { yield %x } else { yield %i }"),
        "if: results of a branch do not agree in number or type"
    );
    assert_eq!(
        problems("%y: f64[2,3] = with { part [0] <= [%j] < [2] { yield %x } } genarray [2] cell []"),
        "with: genarray: rank of the result; with: genarray: the result does not agree with frame ++ cell"
    );
    assert_eq!(
        problems("%y: f64 = with { part [0] <= [%j] < [2] { yield %a } } fold add neutral 0.0"),
        "with: fold: cell and accumulator do not agree"
    );
}

#[test]
fn rules_belong_to_their_functions() {
    let module = |rules: &str, rule: &str| {
        format!("func @f0 \"f\" {rules} (%x: f64[s0], %k: i32) -> (f64[s0]) {{ yield %x }}\nfunc @f1 \"r\" {rule}")
    };
    let back = "(%x: f64[s0], %k: i32, %y: f64[s0], %s: f64[s0]) -> (f64[s0]) { yield %s }";
    let problem = |rules: &str, rule: &str| {
        let module = parse_module(&module(rules, rule), FileId(0)).expect("grammatical");
        let again = parse_module(&print_module(&module), FileId(0)).expect("grammatical");
        assert_eq!(again.funcs.values().map(|func| func.rules.clone()).collect::<Vec<_>>()[0], {
            module.funcs.values().next().expect("two functions").rules.clone()
        });
        verify(&module).err().map_or(String::new(), |errors| errors[0].problem.clone())
    };
    assert_eq!(problem("derivative @f1 (0) tangent @f1 (0)", back), "");
    assert_eq!(problem("derivative @f1 (1)", back), "derivative: it is no list of real parameters");
    assert_eq!(problem("tangent @f7 (0)", back), "tangent: the rule does not exist");
    let wrong = "derivative: the rule does not take and give what belongs to the function";
    assert_eq!(problem("derivative @f1 (0)", "(%x: f64[s0]) -> (f64[s0]) { yield %x }"), wrong);
}

#[test]
fn uses_must_see_their_definitions() {
    let text =
        "func @f0 \"f\" (%c: bool) -> () { %y: i32 = if %c { %z: i32 = add 1, 2 yield %z } else { yield 1 } yield }";
    let mut module = parse_module(text, FileId(0)).expect("grammatical");
    let func = &mut module.funcs[ravel_wir::FuncId::from_u32(0)];
    let inner = func.values.keys().nth(3).expect("four values");
    func.regions[func.body].yields.push(inner);
    let errors = verify(&module).expect_err("out of scope");
    assert!(errors[0].problem.ends_with("is used where it is not visible"), "{errors:?}");
}

#[test]
fn bad_text_is_an_error_with_a_line() {
    let error = |text: &str| parse_module(text, FileId(0)).expect_err("not WIR").to_string();
    assert_eq!(error("func @f0 \"f\" () -> () {\n  frob\n}"), "line 2: expected an operation, found `frob`");
    assert_eq!(error("func @f0 \"f\" () -> (i32) { yield %a }"), "line 1: expected a value defined before, found `%a`");
    assert_eq!(error("func @f1"), "line 1: expected the next number in order, found `@f1`");
    assert_eq!(error("func @f0 \"f"), "line 1: expected a string, found `\"f`");
}
