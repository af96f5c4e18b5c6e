//! The semantics of WIR, operation by operation, on text.

use ravel_interp::{RunError, Val, run};
use ravel_source::FileId;
use ravel_types::Scalar;
use ravel_wir::{parse::parse_module, verify::verify};
use std::sync::Arc;

/// Runs `main` with this body; its results as text.
fn results(text: &str) -> Result<Vec<String>, RunError> {
    let module = parse_module(text, FileId(0)).expect("grammatical");
    assert_eq!(verify(&module), Ok(()));
    let values = run(&Arc::new(module), ravel_runtime::natives::table::find)?;
    Ok(values.iter().map(show).collect())
}

fn show(val: &Val) -> String {
    let scalars: Vec<String> = val.scalars().unwrap_or_default().iter().map(Scalar::to_string).collect();
    match val {
        Val::Array(a) => format!("{:?}{{{}}}", a.shape, scalars.join(",")),
        _ => scalars.join(","),
    }
}

fn main_results(signature: &str, body: &str) -> Vec<String> {
    results(&format!("entry @f0 func @f0 \"main\" effects () -> ({signature}) {{ {body} }}")).expect("no fault")
}

fn fault(body: &str) -> String {
    match results(&format!("entry @f0 func @f0 \"main\" effects () -> () {{ {body} yield }}")) {
        Err(RunError::Fault(report)) => report.to_report("f.sac:1:2").to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn genarray_covers_with_defaults_and_steps() {
    let body = "
        %a: i32[2,5] = with { part [0, 1] <= [%i, %j] < [2, 5] step [1, 3] width [1, 2] {
            %x: i32 = mul %i, 10  %y: i32 = add %x, %j  yield %y } } genarray [2, 5] cell [] default 7
        yield %a";
    assert_eq!(main_results("i32[2,5]", body), ["[2, 5]{7,1,2,7,4,7,11,12,7,14}"]);
}

#[test]
fn cells_may_be_arrays_and_partitions_many() {
    let body = "
        %a: i32[3,2] = with {
            part [0] <= [%i] < [1] { %c: i32[2] = constarray [1, 2] yield %c }
            part [2] <= [%j] < [3] { %d: i32[2] = array [%j, 9] yield %d }
        } genarray [3] cell [2]
        %b: i32[3,2] = with { part [1, 1] <= [%p, %q] < [2, 2] { yield 5 } } modarray %a
        yield %b";
    assert_eq!(main_results("i32[3,2]", body), ["[3, 2]{1,2,0,5,2,9}"]);
}

#[test]
fn folds_run_in_order() {
    let body = "
        %s: i32, %d: i32 = with { part [0] <= [%i] < [5] { yield %i, %i } } fold add neutral 100 fold {
            (%acc: i32, %x: i32) %t: i32 = mul %acc, 2  %u: i32 = sub %t, %x  yield %u } neutral 1
        %v: f64[2] = with { part [0] <= [%k] < [3] {
            %f: f64 = convert %k  %c: f64[2] = array [%f, 1.0]  yield %c } } fold add neutral %z
        yield %s, %d, %v";
    let body = format!("%z: f64[2] = constarray [0.5, 0.0] {body}");
    assert_eq!(main_results("i32, i32, f64[2]", &body), ["110", "6", "[2]{3.5,3.0}"]);
}

#[test]
fn empty_generators_and_no_axes() {
    let body = "
        %e: i32[0] = with { part [3] <= [%i] < [3] { yield %i } } genarray [0] cell []
        %one: i32 = with { part [] <= [] < [] { yield 4 } } genarray [] cell []
        yield %e, %one";
    assert_eq!(main_results("i32[0], i32", body), ["[0]{}", "4"]);
}

#[test]
fn dynamic_index_vectors() {
    let body = "
        %s: i32[2] = constarray [2, 2]  %z: i32[2] = constarray [0, 1]
        %a: i32[*] = with { part dyn %z <= %iv: i32[2] < %s {
            %i: i32 = sel %iv, [0]  %j: i32 = sel %iv, [1]  %x: i32 = add %i, %j  yield %x } } genarray dyn %s default 0
        %e: i32 = seldyn %a, %z
        %b: i32[*] = updatedyn %a, %z, 50
        %n: i32[2,2] = narrow %b
        %f: i32[4] = constarray [4]  %r: i32[*] = reshapedyn %a, %fv
        yield %e, %n, %r";
    let body = body.replace("%f: i32[4] = constarray [4] ", "%fv: i32[1] = constarray [4]");
    assert_eq!(main_results("i32, i32[2,2], i32[*]", &body), ["1", "[2, 2]{0,50,0,2}", "[4]{0,1,0,2}"]);
}

#[test]
fn long_update_loops_are_linear() {
    let body = "
        %z: i32[100000] = with { } genarray [100000] cell []
        %n: i32, %a: i32[100000] = loop (%i: i32 = 0, %b: i32[100000] = %z) {
            %v: i32 = sel %b, [%i]  %w: i32 = add %v, %i
            %c: i32[100000] = update %b, [%i], %w
            %j: i32 = add %i, 1  %go: bool = lt %j, 100000
            yield %go, %j, %c }
        %x: i32 = sel %a, [99999]
        yield %x";
    assert_eq!(main_results("i32", body), ["99999"]);
}

#[test]
fn updates_do_not_touch_what_is_still_read() {
    let body = "
        %a: i32[2] = constarray [1, 2]
        %b: i32[2] = update %a, [0], 9
        %c: i32[2] = if true { %t: i32[2] = update %b, [1], 8 yield %t } else { yield %b }
        yield %a, %b, %c";
    assert_eq!(main_results("i32[2], i32[2], i32[2]", body), ["[2]{1,2}", "[2]{9,2}", "[2]{9,8}"]);
}

#[test]
fn faults_have_the_words_of_compiled_code() {
    let check = "%c: bool = lt 7, 5 check %c, index 7, 5, 0";
    assert_eq!(
        fault(check),
        "f.sac:1:2: fault [E0330]: index 7 is out of range for axis 0 of extent 5 (in function main)\n"
    );
    assert!(fault("check false, division").contains("division by zero"));
    assert!(fault("check false, message \"take of\" [3, 4]").contains("fault: take of: 3, 4 (in"));
    assert!(
        fault("%a: i32[2] = constarray [1, 2] %w: i32[*] = widen %a %n: i32[3] = narrow %w")
            .contains("a value of shape [2] where one of shape [3] belongs")
    );
}

#[test]
fn unchecked_mistakes_are_internal_errors() {
    let text =
        "entry @f0 func @f0 \"main\" () -> (i32) { %a: i32[2] = constarray [1, 2] %x: i32 = sel %a, [2] yield %x }";
    assert!(matches!(results(text), Err(RunError::Internal { .. })));
    let text = "entry @f0 func @f0 \"main\" () -> (i32[2]) { %a: i32[2] = with { part [0] <= [%i] < [2] { yield 1 }
        part [1] <= [%j] < [2] { yield 2 } } genarray [2] cell [] yield %a }";
    assert!(matches!(results(text), Err(RunError::Internal { .. })));
}

#[test]
fn deep_recursion_works_and_endless_recursion_faults() {
    let text = |stop: &str| {
        format!(
            "entry @f0 func @f0 \"main\" () -> (i32) {{ %x: i32 = call @f1 (20000) yield %x }}
             func @f1 \"down\" (%n: i32) -> (i32) {{ %c: bool = eq %n, {stop}
                %r: i32 = if %c {{ yield 0 }} else {{ %m: i32 = sub %n, 1 %s: i32 = call @f1 (%m) %t: i32 = add %s, 1 yield %t }}
                yield %r }}"
        )
    };
    assert_eq!(results(&text("0")).expect("shallow enough"), ["20000"]);
    match results(&text("20001")) {
        Err(RunError::Fault(report)) => {
            assert!(report.fault.message.contains("`down` calls itself; if it would end, write a loop"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn natives_and_globals() {
    let text = "global @g0 \"s\": handle entry @f0 func @f0 \"main\" effects () -> (i32) {
        %h: handle = str \"four\"  globalset @g0, %h  %g: handle = globalget @g0
        %n: i32 = native \"ravel_string_strlen\" fixed 1 (%g)  yield %n }";
    assert_eq!(results(text).expect("no fault"), ["4"]);
}
