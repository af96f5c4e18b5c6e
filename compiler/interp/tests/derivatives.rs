//! Derivatives of every operation, on text. Nothing here knows how a derivative is transformed into a program.

use ravel_interp::{RunError, Val, run};
use ravel_source::FileId;
use ravel_types::Scalar;
use ravel_wir::{parse::parse_module, verify::verify};
use std::sync::Arc;

/// Runs a module; its results.
fn run_module(text: &str) -> Result<Vec<Val>, RunError> {
    let module = parse_module(text, FileId(0)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&module), Ok(()), "{text}");
    run(&Arc::new(module), ravel_runtime::natives::table::find)
}

fn real(scalar: Scalar) -> f64 {
    match scalar {
        Scalar::F64(x) => x,
        Scalar::F32(x) => f64::from(x),
        other => other.as_i64().unwrap_or(i64::MIN) as f64,
    }
}

/// The elements of the results of `main`, with functions behind it.
fn elements(signature: &str, body: &str, functions: &str) -> Vec<Vec<f64>> {
    let text = format!("entry @f0 func @f0 \"main\" effects () -> ({signature}) {{ {body} }} {functions}");
    let values = run_module(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    values.iter().map(|val| val.scalars().unwrap_or_default().into_iter().map(real).collect()).collect()
}

fn internal(text: &str) -> String {
    match run_module(text) {
        Err(RunError::Internal { problem, .. }) => problem,
        other => panic!("{other:?}"),
    }
}

fn same(found: f64, expected: f64) -> bool {
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found - expected).abs() <= 1e-12 * expected.abs().max(1.0)
}

#[track_caller]
fn assert_all(found: &[f64], expected: &[f64], what: &str) {
    let holds = found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| same(*f, *e));
    assert!(holds, "{what}: found {found:?}, expected {expected:?}");
}

/// The gradient, by both modes, of a scalar `%r` that `text` makes of scalars `%x0`, `%x1` and so on.
#[track_caller]
fn gradient(text: &str, at: &[f64], functions: &str) -> Vec<f64> {
    let list = |form: &dyn Fn(usize) -> String| (0..at.len()).map(form).collect::<Vec<_>>().join(", ");
    let params = list(&|i| format!("%x{i}: f64 = {:?}", at[i]));
    let results = list(&|i| format!("%gd{i}: f64"));
    let types = list(&|_| "f64".to_string());
    let yields = list(&|i| format!("%gd{i}"));
    let reverse =
        format!("%gy: f64, {results} = derive reverse ({params}) seeds (1.0) {{ {text} yield %r }} yield {yields}");
    let reverse: Vec<f64> = elements(&types, &reverse, functions).concat();
    let forward: Vec<f64> = (0..at.len())
        .map(|k| {
            let seeds = list(&|i| if i == k { "1.0".to_string() } else { "0.0".to_string() });
            let body = format!(
                "%gy: f64, %gt: f64 = derive forward ({params}) seeds ({seeds}) {{ {text} yield %r }} yield %gt"
            );
            elements("f64", &body, functions)[0][0]
        })
        .collect();
    assert_all(&forward, &reverse, &format!("both modes of {text}"));
    reverse
}

/// The second derivative of `%r` in the only variable, by each mode in each.
#[track_caller]
fn second(text: &str, at: f64) -> f64 {
    let mut found = Vec::new();
    for outer in ["forward", "reverse"] {
        for inner in ["forward", "reverse"] {
            let body = format!(
                "%d: f64, %dd: f64 = derive {outer} (%x: f64 = {at:?}) seeds (1.0) {{
                    %y: f64, %s: f64 = derive {inner} (%x0: f64 = %x) seeds (1.0) {{ {text} yield %r }} yield %s }}
                 yield %dd"
            );
            found.push(elements("f64", &body, "")[0][0]);
        }
    }
    assert_all(&found, &[found[0]; 4], text);
    found[0]
}

#[test]
fn operations_on_one_number() {
    let ln2 = std::f64::consts::LN_2;
    let ln10 = std::f64::consts::LN_10;
    // Name, place, slope, second derivative.
    let cases: [(&str, f64, f64, f64); 28] = [
        ("neg", 0.7, -1.0, 0.0),
        ("abs", -0.7, -1.0, 0.0),
        ("abs", 0.7, 1.0, 0.0),
        ("reciproc", 0.5, -4.0, 16.0),
        ("sqrt", 4.0, 0.25, -1.0 / 32.0),
        ("cbrt", 8.0, 1.0 / 12.0, -2.0 / 9.0 / 32.0),
        ("exp", 0.3, 0.3_f64.exp(), 0.3_f64.exp()),
        ("expm1", 0.3, 0.3_f64.exp(), 0.3_f64.exp()),
        ("log", 0.4, 2.5, -6.25),
        ("log1p", 0.25, 0.8, -0.64),
        ("log2", 0.4, 2.5 / ln2, -6.25 / ln2),
        ("log10", 0.4, 2.5 / ln10, -6.25 / ln10),
        ("sin", 0.3, 0.3_f64.cos(), -0.3_f64.sin()),
        ("cos", 0.3, -0.3_f64.sin(), -0.3_f64.cos()),
        ("tan", 0.3, 0.3_f64.cos().powi(-2), 2.0 * 0.3_f64.tan() * 0.3_f64.cos().powi(-2)),
        ("asin", 0.6, 1.25, 0.6 / 0.512),
        ("acos", 0.6, -1.25, -0.6 / 0.512),
        ("atan", 0.5, 0.8, -0.64),
        ("sinh", 0.3, 0.3_f64.cosh(), 0.3_f64.sinh()),
        ("cosh", 0.3, 0.3_f64.sinh(), 0.3_f64.cosh()),
        ("tanh", 0.3, 0.3_f64.cosh().powi(-2), -2.0 * 0.3_f64.tanh() * 0.3_f64.cosh().powi(-2)),
        ("asinh", 0.75, 0.8, -0.75 * 0.512),
        ("acosh", 1.25, 4.0 / 3.0, -1.25 * 64.0 / 27.0),
        ("atanh", 0.5, 4.0 / 3.0, 16.0 / 9.0),
        ("floor", 0.7, 0.0, 0.0),
        ("ceil", 0.7, 0.0, 0.0),
        ("rint", 0.7, 0.0, 0.0),
        ("trunc", 0.7, 0.0, 0.0),
    ];
    for (op, at, slope, curvature) in cases {
        let text = format!("%r: f64 = {op} %x0");
        assert_all(&gradient(&text, &[at], ""), &[slope], op);
        assert_all(&[second(&text, at)], &[curvature], op);
    }
}

#[test]
fn operations_on_two_numbers() {
    let cases: [(&str, [f64; 2], [f64; 2]); 17] = [
        ("add", [2.0, 3.0], [1.0, 1.0]),
        ("sub", [2.0, 3.0], [1.0, -1.0]),
        ("mul", [2.0, 3.0], [3.0, 2.0]),
        ("div", [2.0, 4.0], [0.25, -0.125]),
        ("mod", [7.5, 2.0], [1.0, -3.0]),
        ("mod", [-7.5, 2.0], [1.0, 3.0]),
        ("aplmod", [7.5, 2.0], [1.0, -3.0]),
        ("aplmod", [-7.5, 2.0], [1.0, 4.0]),
        ("min", [2.0, 3.0], [1.0, 0.0]),
        ("max", [2.0, 3.0], [0.0, 1.0]),
        ("pow", [2.0, 3.0], [12.0, 8.0 * std::f64::consts::LN_2]),
        ("pow", [0.0, 2.0], [0.0, 0.0]),
        ("atan2", [3.0, 4.0], [0.16, -0.12]),
        ("hypot", [3.0, 4.0], [0.6, 0.8]),
        ("copysign", [2.0, -3.0], [-1.0, 0.0]),
        ("copysign", [-2.0, -3.0], [1.0, 0.0]),
        ("lt", [2.0, 3.0], [0.0, 0.0]),
    ];
    for (op, at, expected) in cases {
        let text = match op {
            "lt" => "%b: bool = lt %x0, %x1 %r: f64 = convert %b".to_string(),
            _ => format!("%r: f64 = {op} %x0, %x1"),
        };
        assert_all(&gradient(&text, &at, ""), &expected, op);
    }
}

#[test]
fn kinks_and_singular_points() {
    let nan = f64::NAN;
    let inf = f64::INFINITY;
    let cases: [(&str, &[f64], &[f64]); 17] = [
        ("%r: f64 = abs %x0", &[0.0], &[0.0]),
        ("%r: f64 = min %x0, %x1", &[2.0, 2.0], &[0.5, 0.5]),
        ("%r: f64 = max %x0, %x1", &[0.0, -0.0], &[0.5, 0.5]),
        ("%r: f64 = max %x0, %x0", &[2.0], &[1.0]),
        ("%r: f64 = max %x0, 1.0", &[1.0], &[0.5]),
        ("%r: f64 = sqrt %x0", &[0.0], &[inf]),
        ("%r: f64 = pow %x0, %x1", &[0.0, 0.0], &[0.0, 0.0]),
        ("%r: f64 = pow %x0, %x1", &[2.0, 0.0], &[0.0, std::f64::consts::LN_2]),
        ("%r: f64 = pow %x0, %x1", &[-2.0, 3.0], &[12.0, nan]),
        ("%r: f64 = pow %x0, 3.0", &[-2.0], &[12.0]),
        ("%r: f64 = pow %x0, 0.0", &[inf], &[0.0]),
        ("%r: f64 = atan2 %x0, %x1", &[0.0, 0.0], &[0.0, 0.0]),
        ("%r: f64 = hypot %x0, %x1", &[0.0, 0.0], &[0.0, 0.0]),
        ("%r: f64 = hypot %x0, %x1", &[3e200, 4e200], &[0.6, 0.8]),
        // What is constant has no slope, be it infinite.
        ("%z: f64 = sub %x1, %x1 %s: f64 = sqrt 0.0 %r: f64 = add %x0, %s", &[1.0, 2.0], &[1.0, 0.0]),
        ("%f: f64 = floor %x0 %s: f64 = sqrt %f %r: f64 = add %x0, %s", &[0.5], &[1.0]),
        // Neither has what is not chosen.
        ("%p: bool = gt %x0, 0.0 %s: f64 = sqrt %x0 %r: f64 = select %p, %s, 0.0", &[0.0], &[0.0]),
    ];
    for (text, at, expected) in cases {
        assert_all(&gradient(text, at, ""), expected, text);
    }
    assert_all(&[second("%r: f64 = pow %x0, 2.0", 0.0)], &[2.0], "the second derivative of a square at 0");
    assert_all(&[second("%r: f64 = pow %x0, 1.0", 0.0)], &[0.0], "the second derivative of x at 0");
}

/// The gradient of a scalar `%r` that `text` makes of an array `%x` of this type: by both modes, and compared with central differences.
#[track_caller]
fn array_gradient(ty: &str, text: &str, at: &[f64], functions: &str) -> Vec<f64> {
    let array = |values: &[f64]| values.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", ");
    let with = |name: &str, values: &[f64]| format!("%{name}: {ty} = constarray [{}]", array(values));
    let point = with("point", at);
    let reverse = format!(
        "{point} %gy: f64, %gd: {ty} = derive reverse (%x: {ty} = %point) seeds (1.0) {{ {text} yield %r }} yield %gd"
    );
    let reverse = elements(ty, &reverse, functions).concat();
    let value = |values: &[f64]| elements("f64", &format!("{} {text} yield %r", with("x", values)), functions)[0][0];
    for k in 0..at.len() {
        let mut unit = vec![0.0; at.len()];
        unit[k] = 1.0;
        let seed = with("seed", &unit);
        let forward = format!(
            "{point} {seed} %gy: f64, %gt: f64 = derive forward (%x: {ty} = %point) seeds (%seed) {{ {text} yield %r }} yield %gy, %gt"
        );
        let forward = elements("f64, f64", &forward, functions).concat();
        assert_all(&forward, &[value(at), reverse[k]], &format!("both modes, direction {k} of {text}"));
        let moved = |step: f64| {
            let mut moved = at.to_vec();
            moved[k] += step;
            value(&moved)
        };
        let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        let scale = reverse[k].abs().max(1.0);
        assert!((difference - reverse[k]).abs() < 1e-7 * scale, "direction {k}: {difference}, {reverse:?} of {text}");
    }
    reverse
}

/// Puts different weights on the elements of `%v`, a vector of `n`, and adds them up to `%r`.
fn weighted(n: usize) -> String {
    format!(
        " %r: f64 = with {{ part [0] <= [%wi] < [{n}] {{ %we: f64 = sel %v, [%wi] %wf: f64 = convert %wi %wg: f64 = add %wf, 1.0
            %wh: f64 = mul %we, %we %wk: f64 = mul %wh, %wg yield %wk }} }} fold add neutral 0.0"
    )
}

#[test]
fn arrays_are_taken_apart_and_put_together() {
    let x = [0.5, -1.5, 2.0, 3.0];
    let squares = |of: &[f64], weights: &[f64]| of.iter().zip(weights).map(|(x, w)| 2.0 * x * w).collect::<Vec<_>>();
    let whole = format!("%v: f64[4] = opaque %x {}", weighted(4));
    assert_all(&array_gradient("f64[4]", &whole, &x, ""), &squares(&x, &[1.0, 2.0, 3.0, 4.0]), "opaque");
    let mixed = format!("%p: f64 = sel %x, [2] %q: f64 = sel %x, [0] %v: f64[3] = array [%p, 7.0, %q] {}", weighted(3));
    assert_all(&array_gradient("f64[4]", &mixed, &x, ""), &squares(&x, &[3.0, 0.0, 1.0, 0.0]), "array");
    let rows = format!(
        "%m: f64[2,2] = reshape %x, [2, 2] %top: f64[2] = sel %m, [1] %bottom: f64[2] = constarray [1.0, 2.0]
         %t: f64[2,2] = array [%bottom, %top] %v: f64[4] = reshape %t, [4] {}",
        weighted(4)
    );
    assert_all(&array_gradient("f64[4]", &rows, &x, ""), &squares(&x, &[0.0, 0.0, 3.0, 4.0]), "cells");
    let updated = format!(
        "%p: f64 = sel %x, [3] %u: f64[4] = update %x, [0], %p %v: f64[4] = update %u, [1], 5.0 {}",
        weighted(4)
    );
    assert_all(&array_gradient("f64[4]", &updated, &x, ""), &squares(&x, &[0.0, 0.0, 3.0, 5.0]), "update");
    let cell = format!(
        "%m: f64[2,2] = reshape %x, [2, 2] %top: f64[2] = sel %m, [0] %t: f64[2,2] = update %m, [1], %top
         %v: f64[4] = reshape %t, [4] {}",
        weighted(4)
    );
    assert_all(&array_gradient("f64[4]", &cell, &x, ""), &squares(&x, &[4.0, 6.0, 0.0, 0.0]), "update of a cell");
    let chosen =
        format!("%z: f64[4] = constarray [1.0, 1.0, 1.0, 1.0] %v: f64[4] = select true, %x, %z {}", weighted(4));
    assert_all(&array_gradient("f64[4]", &chosen, &x, ""), &squares(&x, &[1.0, 2.0, 3.0, 4.0]), "select");
}

#[test]
fn ranks_and_shapes_that_are_unknown() {
    let x = [0.5, -1.5, 2.0, 3.0];
    let text = format!(
        "%w: f64[*] = widen %x %s: i32[2] = constarray [2, 2] %m: f64[*] = reshapedyn %w, %s
         %i: i32[2] = constarray [1, 0] %e: f64 = seldyn %m, %i %j: i32[1] = constarray [0] %c: f64[2] = seldyn %m, %j
         %u: f64[*] = updatedyn %m, %i, 4.0 %n: f64[2,2] = narrow %u %f: f64 = sel %n, [1, 1]
         %k: f64 = sel %c, [1] %rank: i32 = rank %u %factor: f64 = convert %rank %g: f64 = mul %k, %factor
         %v: f64[3] = array [%e, %f, %g] {}",
        weighted(3)
    );
    assert_all(&array_gradient("f64[4]", &text, &x, ""), &[0.0, 24.0 * -1.5, 4.0, 12.0], "dynamic forms");
    // An array of unknown rank, which has none here.
    let text =
        "%e: f64 = sel %x, [0] %w: f64[*] = widen %e %o: f64[*] = opaque %w %n: f64 = narrow %o %r: f64 = mul %n, %n";
    assert_all(&array_gradient("f64[1]", text, &[3.0], ""), &[6.0], "a scalar of unknown rank");
    let text = format!(
        "%z: i32[1] = constarray [0] %s: i32[1] = constarray [4] %two: i32[1] = constarray [2] %w: f64[*] = widen %x
         %d: f64[*] = with {{ part dyn %z <= %iv: i32[1] < %s step %two width %z1 {{
            %e: f64 = seldyn %w, %iv %q: f64 = mul %e, 3.0 yield %q }} }} genarray dyn %s default 1.0
         %v: f64[4] = narrow %d {}",
        weighted(4)
    );
    let text = format!("%z1: i32[1] = constarray [1] {text}");
    assert_all(&array_gradient("f64[4]", &text, &x, ""), &[9.0, 0.0, 108.0, 0.0], "dynamic generators");
    let body = "%a: f64[2] = constarray [3.0, 4.0] %w: f64[*] = widen %a
        %y: f64[*], %d: f64[*] = derive reverse (%x: f64[*] = %w) seeds (%w) {
            %n: f64[2] = narrow %x %e: f64 = sel %n, [1] %u: f64[2] = update %n, [0], %e %r: f64[*] = widen %u yield %r }
        yield %d";
    assert_all(&elements("f64[*]", body, "")[0], &[0.0, 7.0], "variables of unknown rank");
}

#[test]
fn arrays_by_with_loops() {
    let x = [0.5, -1.5, 2.0, 3.0, 0.25];
    let strided = format!(
        "%d: f64 = sel %x, [4]
         %v: f64[6] = with {{ part [1] <= [%i] < [6] step [3] width [2] {{
            %j: i32 = sub %i, 1 %e: f64 = sel %x, [%j] %q: f64 = exp %e yield %q }} }} genarray [6] cell [] default %d {}",
        weighted(6)
    );
    array_gradient("f64[5]", &strided, &x, "");
    let modified = format!(
        "%v: f64[5] = with {{ part [1] <= [%i] < [3] {{ %e: f64 = sel %x, [%i] %q: f64 = mul %e, %e yield %q }}
            part [4] <= [%k] < [5] {{ yield 1.0 }} }} modarray %x {}",
        weighted(5)
    );
    array_gradient("f64[5]", &modified, &x, "");
    let stencil = format!(
        "%v: f64[3] = with {{ part [0] <= [%i] < [3] {{
            %s: f64 = with {{ part [0] <= [%k] < [3] {{ %j: i32 = add %i, %k %e: f64 = sel %x, [%j] %w: f64 = sel %x, [%k]
                %q: f64 = mul %e, %w yield %q }} }} fold add neutral 0.5
            yield %s }} }} genarray [3] cell [] {}",
        weighted(3)
    );
    array_gradient("f64[5]", &stencil, &x, "");
    let cells = format!(
        "%m: f64[2,5], %t: f64 = with {{ part [0] <= [%i] < [2] {{ %f: f64 = convert %i
            %c: f64[5] = with {{ part [0] <= [%j] < [5] {{ %e: f64 = sel %x, [%j] %q: f64 = pow %e, 2.0 %g: f64 = add %q, %f yield %g }} }} genarray [5] cell []
            %ce: f64 = sel %c, [%i] yield %c, %ce }} }} genarray [2] cell [5] fold add neutral 0.0
         %k: f64[10] = reshape %m, [10] %v: f64[11] = with {{ part [0] <= [%p] < [10] {{ %e2: f64 = sel %k, [%p] yield %e2 }} }}
            genarray [11] cell [] default %t {}",
        weighted(11)
    );
    array_gradient("f64[5]", &cells, &x, "");
}

#[test]
fn folds_of_every_kind() {
    let fold = |how: &str| {
        format!("%r: f64 = with {{ part [0] <= [%i] < [5] {{ %e: f64 = sel %x, [%i] yield %e }} }} fold {how}")
    };
    let x = [0.5, -1.5, 2.0, 3.0, 0.25];
    assert_all(&array_gradient("f64[5]", &fold("add neutral 1.0"), &x, ""), &[1.0; 5], "a sum");
    assert_all(&array_gradient("f64[5]", &fold("max neutral -inf"), &x, ""), &[0.0, 0.0, 0.0, 1.0, 0.0], "max");
    assert_all(&array_gradient("f64[5]", &fold("min neutral inf"), &x, ""), &[0.0, 1.0, 0.0, 0.0, 0.0], "min");
    let product: f64 = x.iter().product();
    let others: Vec<f64> = x.iter().map(|x| 2.0 * product / x).collect();
    assert_all(&array_gradient("f64[5]", &fold("mul neutral 2.0"), &x, ""), &others, "a product");
    let one_zero = [2.0, 0.0, 3.0, 1.0, 1.0];
    assert_all(
        &array_gradient("f64[5]", &fold("mul neutral 1.0"), &one_zero, ""),
        &[0.0, 6.0, 0.0, 0.0, 0.0],
        "one zero",
    );
    let two_zeros = [2.0, 0.0, 3.0, 0.0, 1.0];
    assert_all(&array_gradient("f64[5]", &fold("mul neutral 1.0 stop 0.0"), &two_zeros, ""), &[0.0; 5], "two zeros");
    let in_order = fold(
        "{ (%acc: f64, %c: f64) %h: f64 = mul %acc, 0.5 %n: f64 = sin %c %s: f64 = add %h, %n yield %s } neutral 1.0",
    );
    let horner: Vec<f64> = x.iter().enumerate().map(|(i, x)| x.cos() * 0.5_f64.powi(4 - i as i32)).collect();
    assert_all(&array_gradient("f64[5]", &in_order, &x, ""), &horner, "a function");
    let of_arrays = format!(
        "%z: f64[2] = constarray [1.0, 2.0] %v: f64[2] = with {{ part [0] <= [%i] < [5] {{ %e: f64 = sel %x, [%i] %q: f64 = mul %e, %e
            %c: f64[2] = array [%e, %q] yield %c }} }} fold mul neutral %z {}",
        weighted(2)
    );
    array_gradient("f64[5]", &of_arrays, &x, "");
}

#[test]
fn the_first_extreme_of_a_fold_gets_all() {
    let gradient = |how: &str, x: &[f64]| {
        let list = x.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", ");
        let n = x.len();
        let body = format!(
            "%a: f64[{n}] = constarray [{list}] %y: f64, %d: f64[{n}], %dn: f64 = derive reverse (%x: f64[{n}] = %a, %n: f64 = 1.0) seeds (1.0) {{
                %r: f64 = with {{ part [0] <= [%i] < [{n}] {{ %e: f64 = sel %x, [%i] yield %e }} }} fold {how} yield %r }} yield %d, %dn"
        );
        elements(&format!("f64[{n}], f64"), &body, "").concat()
    };
    assert_all(&gradient("max neutral -inf", &[1.0, 3.0, 3.0]), &[0.0, 1.0, 0.0, 0.0], "of equal ones the first");
    assert_all(&gradient("max neutral %n", &[1.0, 1.0]), &[0.0, 0.0, 1.0], "the neutral comes first");
    assert_all(&gradient("min neutral 1.0", &[1.0, 1.0]), &[0.0, 0.0, 0.0], "a neutral that is constant");
    assert_all(
        &gradient("max neutral -inf", &[1.0, f64::NAN, 2.0, f64::NAN]),
        &[0.0, 1.0, 0.0, 0.0, 0.0],
        "NaN is an extreme",
    );
    assert_all(&gradient("min neutral %n", &[]), &[1.0], "nothing but the neutral");
    let halves = "{ (%acc: f64, %c: f64) %s: f64 = max %acc, %c yield %s } neutral -inf";
    assert_all(&gradient(halves, &[3.0, 3.0]), &[0.5, 0.5, 0.0], "a function is no fold by an extreme");
}

#[test]
fn branches_loops_and_calls() {
    let branch = "%p: bool = gt %x0, 1.0 %r: f64 = if %p { %a: f64 = mul %x0, %x0 yield %a } else { %b: f64 = sqrt %x0 yield %b }";
    assert_all(&gradient(branch, &[3.0], ""), &[6.0], "then");
    assert_all(&gradient(branch, &[0.25], ""), &[1.0], "else");
    let power = "%i: i32, %r: f64 = loop (%k: i32 = 0, %s: f64 = %x1) {
        %n: f64 = mul %s, %x0 %j: i32 = add %k, 1 %go: bool = lt %j, 5 yield %go, %j, %n }";
    assert_all(&gradient(power, &[2.0, 3.0], ""), &[240.0, 32.0], "a counted loop");
    let newton = "%r: f64 = loop (%s: f64 = 1.0) {
        %q: f64 = div %x0, %s %t: f64 = add %s, %q %n: f64 = mul %t, 0.5 %d: f64 = sub %n, %s %e: f64 = abs %d
        %go: bool = gt %e, 1e-14 yield %go, %n }";
    assert_all(&gradient(newton, &[9.0], ""), &[1.0 / 6.0], "until it is a root");
    let carried = "%i: i32, %v: f64[3] = loop (%k: i32 = 1, %a: f64[3] = %x) {
        %m: i32 = sub %k, 1 %e: f64 = sel %a, [%m] %f: f64 = sel %a, [%k] %g: f64 = mul %e, %f %b: f64[3] = update %a, [%k], %g
        %j: i32 = add %k, 1 %go: bool = lt %j, 3 yield %go, %j, %b }";
    array_gradient("f64[3]", &format!("{carried} {}", weighted(3)), &[0.5, 1.5, -0.75], "");
    let functions = "func @f1 \"power\" (%b: f64, %n: i32) -> (f64, i32) {
        %end: bool = eq %n, 0
        %y: f64, %c: i32 = if %end { yield 1.0, 0 } else {
            %m: i32 = sub %n, 1 %s: f64, %d: i32 = call @f1 (%b, %m) %t: f64 = mul %s, %b %e: i32 = add %d, 1 yield %t, %e }
        yield %y, %c }";
    let text = "%p: f64, %count: i32 = call @f1 (%x0, 4) %f: f64 = convert %count %r: f64 = mul %p, %f";
    assert_all(&gradient(text, &[2.0], functions), &[128.0], "recursion");
}

#[test]
fn what_is_constant() {
    let outside = "%c: f64 = mul %p, %p
        %y: f64, %d: f64 = derive reverse (%x: f64 = %p) seeds (1.0) { %r: f64 = mul %x, %c yield %r } yield %y, %d";
    let body = format!("%p: f64 = mul 3.0, 1.0 {outside}");
    assert_all(&elements("f64, f64", &body, "").concat(), &[27.0, 9.0], "what was computed from the argument outside");
    assert_all(&gradient("%c: f64 = detach %x0 %r: f64 = mul %x0, %c", &[3.0], ""), &[3.0], "detach");
    let text = format!("%c: f64[2] = detach %x %v: f64[2] = array [%e, %f] {}", weighted(2));
    let text = format!("%e: f64 = sel %x, [0] %f: f64 = sel %c2, [1] {text}");
    let body = format!(
        "%a: f64[2] = constarray [3.0, 4.0] %y: f64, %d: f64[2] = derive reverse (%x: f64[2] = %a) seeds (1.0) {{
            %c2: f64[2] = detach %x {text} yield %r }} yield %d"
    );
    assert_all(&elements("f64[2]", &body, "")[0], &[6.0, 0.0], "detach of an array");
    assert_all(&elements("f64", "%x: f64 = detach 2.5 yield %x", "")[0], &[2.5], "outside it is the identity");
    let integers = "%i: i32 = convert %x0 %j: i32 = mul %i, 3 %f: f64 = convert %j %r: f64 = mul %f, %x0";
    assert_all(&gradient(integers, &[2.5], ""), &[6.0], "integers");
    let nothing =
        "%y: i32, %d: f64 = derive reverse (%x: f64 = 2.0) seeds () { %i: i32 = convert %x yield %i } yield %y, %d";
    assert_all(&elements("i32, f64", nothing, "").concat(), &[2.0, 0.0], "no real result");
    let unused = "%y: f64, %t: f64 = derive forward (%x: f64 = 2.0) seeds (1.0) { yield 7.0 } yield %y, %t";
    assert_all(&elements("f64, f64", unused, "").concat(), &[7.0, 0.0], "a constant result");
}

#[test]
fn several_results_and_seeds() {
    let region = "{ %p: f64 = mul %a, %b %n: i32 = convert %a %e: f64 = sel %v, [1] %q: f64[2] = array [%e, %a]
        %s: f64 = add %p, %e yield %n, %s, %q }";
    let head = "%z: f64[2] = constarray [5.0, 7.0]";
    let reverse = format!(
        "{head} %w: f64[2] = constarray [10.0, 100.0]
         %rn: i32, %rs: f64, %rq: f64[2], %da: f64, %dv: f64[2], %db: f64 =
            derive reverse (%a: f64 = 2.0, %v: f64[2] = %z, %b: f64 = 3.0) seeds (1.0, %w) {region} yield %rn, %rs, %rq, %da, %dv, %db"
    );
    let expected = [2.0, 13.0, 7.0, 2.0, 103.0, 0.0, 11.0, 2.0];
    assert_all(&elements("i32, f64, f64[2], f64, f64[2], f64", &reverse, "").concat(), &expected, "reverse");
    let forward = format!(
        "{head} %w: f64[2] = constarray [10.0, 100.0]
         %rn: i32, %rs: f64, %rq: f64[2], %ts: f64, %tq: f64[2] =
            derive forward (%a: f64 = 2.0, %v: f64[2] = %z, %b: f64 = 3.0) seeds (1.0, %w, 0.5) {region} yield %ts, %tq"
    );
    assert_all(&elements("f64, f64[2]", &forward, "").concat(), &[104.0, 100.0, 1.0], "forward");
    let seeds = "%y: f64, %d: f64 = derive reverse (%x: f64 = 0.0) seeds (0.0) { %r: f64 = sqrt %x yield %r } yield %d";
    assert_all(&elements("f64", seeds, "")[0], &[0.0], "a seed of 0 asks for nothing");
}

#[test]
fn derivatives_of_derivatives() {
    for (text, at, expected) in [
        ("%r: f64 = pow %x0, 3.0", 2.0, 12.0),
        ("%e: f64 = exp %x0 %r: f64 = div %e, %x0", 2.0, 2.0_f64.exp() * (0.5 - 2.0 / 4.0 + 2.0 / 8.0)),
        ("%p: f64 = pow %x0, %x0 %r: f64 = mul %p, 1.0", 1.0, 2.0),
        ("%h: f64 = hypot %x0, 2.0 %r: f64 = sub %h, 2.0", 1.5, 4.0 / 2.5_f64.powi(3)),
        ("%r: f64 = atan2 %x0, 2.0", 1.5, -2.0 * 1.5 * 2.0 / 6.25_f64.powi(2)),
        ("%m: f64 = max %x0, 0.0 %r: f64 = mul %m, %m", 1.5, 2.0),
    ] {
        assert_all(&[second(text, at)], &[expected], text);
    }
    // d/dx (x * d/dy (x + y) at 1) is 1: the inner infinitesimal is another one.
    for mode in ["forward", "reverse"] {
        let body = format!(
            "%y: f64, %d: f64 = derive {mode} (%x: f64 = 5.0) seeds (1.0) {{
                %i: f64, %t: f64 = derive {mode} (%z: f64 = 1.0) seeds (1.0) {{ %s: f64 = add %x, %z yield %s }}
                %r: f64 = mul %x, %t yield %r }} yield %y, %d"
        );
        assert_all(&elements("f64, f64", &body, "").concat(), &[5.0, 1.0], "no perturbation is confused");
    }
    // Seeds may depend on the outer variable, and arguments, and what is captured.
    let body = "%y: f64, %d: f64 = derive reverse (%x: f64 = 3.0) seeds (1.0) {
        %a: f64 = mul %x, %x
        %i: f64, %t: f64 = derive forward (%z: f64 = %a) seeds (%x) { %s: f64 = mul %z, %z %c: f64 = mul %s, %x yield %c }
        yield %t } yield %y, %d";
    // 2 * x^2 * x * x = 2 * x^4
    assert_all(&elements("f64, f64", body, "").concat(), &[162.0, 216.0], "seeds and captured values");
    let third = "%y: f64, %d: f64 = derive forward (%x: f64 = 2.0) seeds (1.0) {
        %y1: f64, %d1: f64 = derive reverse (%x1: f64 = %x) seeds (1.0) {
            %y2: f64, %d2: f64 = derive forward (%x2: f64 = %x1) seeds (1.0) {
                %p: f64 = pow %x2, 4.0 yield %p } yield %d2 } yield %d1 } yield %d";
    assert_all(&elements("f64", third, "")[0], &[48.0], "three levels");
    // A product of a Hessian and a vector: f = x0^2 * x1 at (2, 3), v = (1, 10).
    let hessian = "%a: f64[2] = constarray [2.0, 3.0] %v: f64[2] = constarray [1.0, 10.0]
        %g: f64[2], %hv: f64[2] = derive forward (%x: f64[2] = %a) seeds (%v) {
            %y: f64, %d: f64[2] = derive reverse (%z: f64[2] = %x) seeds (1.0) {
                %p: f64 = sel %z, [0] %q: f64 = sel %z, [1] %s: f64 = mul %p, %p %r: f64 = mul %s, %q yield %r }
            yield %d }
        yield %g, %hv";
    assert_all(&elements("f64[2], f64[2]", hessian, "").concat(), &[12.0, 4.0, 46.0, 4.0], "a Hessian");
    // In each round of a loop, and in a function that a region calls.
    let functions = "func @f1 \"slope\" (%p: f64) -> (f64) {
        %y: f64, %d: f64 = derive reverse (%q: f64 = %p) seeds (1.0) { %s: f64 = mul %q, %q %t: f64 = mul %s, %q yield %t } yield %d }";
    let text = "%i: i32, %r: f64 = loop (%k: i32 = 0, %s: f64 = 0.0) {
        %d: f64 = call @f1 (%x0) %n: f64 = add %s, %d %j: i32 = add %k, 1 %go: bool = lt %j, 2 yield %go, %j, %n }";
    assert_all(&gradient(text, &[2.0], functions), &[24.0], "6 * x twice");
}

#[test]
fn effects_and_faults_happen_once() {
    let globals = "global @g0 \"counter\": i32";
    let text = format!(
        "{globals} entry @f0 func @f0 \"main\" effects () -> (i32, f64[3]) {{
            %a: f64[3] = constarray [1.0, 2.0, 3.0]
            %y: f64, %d: f64[3] = derive reverse (%x: f64[3] = %a) seeds (1.0) {{
                %n: i32 = globalget @g0 %m: i32 = add %n, 1 globalset @g0, %m
                %r: f64 = with {{ part [0] <= [%i] < [3] {{ %e: f64 = sel %x, [%i] yield %e }} }} fold add neutral 0.0
                yield %r }}
            %c: i32 = globalget @g0
            yield %c, %d }}"
    );
    let values = run_module(&text).expect("no fault");
    assert_eq!(values[0].as_i32(), Some(1));
    assert_eq!(values[1].scalars(), Some(vec![Scalar::F64(1.0); 3]));
    let text = "entry @f0 func @f0 \"main\" effects () -> (f64) {
        %y: f64, %d: f64 = derive forward (%x: f64 = 0.0) seeds (1.0) {
            %c: bool = gt %x, 0.0 check %c, message \"of a root\" [] %r: f64 = sqrt %x yield %r }
        yield %d }";
    assert!(matches!(run_module(text), Err(RunError::Fault(_))));
}

#[test]
fn what_has_no_derivative_is_refused() {
    let text = "global @g0 \"kept\": f64 entry @f0 func @f0 \"main\" effects () -> (f64) {
        %y: f64, %d: f64 = derive reverse (%x: f64 = 2.0) seeds (1.0) { globalset @g0, %x yield %x } yield %d }";
    assert_eq!(internal(text), "the global `kept` would depend on a variable of a derivative");
    let text = "entry @f0 func @f0 \"main\" effects () -> (f64) {
        %y: f64, %d: f64 = derive reverse (%x: f64 = 2.0) seeds (1.0) { %z: f64 = native \"ravel_ldexp\" fixed 2 (%x, 3) yield %z }
        yield %d }";
    assert!(internal(text).contains("the native `ravel_ldexp` has no derivative"));
}

#[test]
fn extents_of_zero_and_many_axes() {
    let empty = "%a: f64[0] = with { } genarray [0] cell [] %s: f64[0] = with { } genarray [0] cell []
        %y: f64, %z: f64[0], %d: f64[0] = derive reverse (%x: f64[0] = %a) seeds (1.0, %s) {
            %r: f64 = with { part [0] <= [%i] < [0] { %e: f64 = sel %x, [%i] yield %e } } fold add neutral 2.0 yield %r, %x }
        %y2: f64[0], %t: f64[0] = derive forward (%x2: f64[0] = %a) seeds (%s) { yield %x2 }
        yield %y, %d, %t";
    assert_all(&elements("f64, f64[0], f64[0]", empty, "").concat(), &[2.0], "an empty array");
    let text = format!(
        "%v: f64[4] = with {{ part [0] <= [%i] < [4] {{ %j: i32 = mod %i, 2 %k: i32 = div %i, 2
            %e: f64 = sel %x, [%k, 0, %j, 0, 1] yield %e }} }} genarray [4] cell [] {}",
        weighted(4)
    );
    let at: Vec<f64> = (0..8).map(f64::from).collect();
    assert_all(
        &array_gradient("f64[2,1,2,1,2]", &text, &at, ""),
        &[0.0, 2.0, 0.0, 12.0, 0.0, 30.0, 0.0, 56.0],
        "rank 5",
    );
    let one = "%v: f64 = with { part [] <= [] < [] { %q: f64 = mul %x0, %x0 yield %q } } genarray [] cell [] %r: f64 = add %v, 1.0";
    assert_all(&gradient(one, &[3.0], ""), &[6.0], "a with-loop without axes");
}

#[test]
fn two_precisions() {
    let body = "%a: f32[3] = constarray [0.1, 0.2, 0.3]
        %y: f32, %d: f32[3] = derive reverse (%x: f32[3] = %a) seeds (1.0:f32) {
            %r: f32 = with { part [0] <= [%i] < [3] { %e: f32 = sel %x, [%i] %w: f64 = convert %e %q: f64 = exp %w
                %n: f32 = convert %q %m: f32 = mul %n, %e yield %m } } fold add neutral 0.0:f32 yield %r }
        %v: f32 = with { part [0] <= [%i2] < [3] { %e2: f32 = sel %a, [%i2] %w2: f64 = convert %e2 %q2: f64 = exp %w2
                %n2: f32 = convert %q2 %m2: f32 = mul %n2, %e2 yield %m2 } } fold add neutral 0.0:f32
        yield %y, %v, %d";
    let found = elements("f32, f32, f32[3]", body, "");
    assert_eq!(found[0], found[1], "values are those of a run without derivatives");
    for (x, d) in [0.1_f32, 0.2, 0.3].into_iter().map(f64::from).zip(&found[2]) {
        assert!((d - x.exp() * (1.0 + x)).abs() < 1e-6, "{d} at {x}");
    }
}

#[test]
fn long_sums_are_linear() {
    let n = 20_000;
    for real in ["f64", "f32"] {
        let body = format!(
            "%a: {real}[{n}] = with {{ part [0] <= [%i] < [{n}] {{ %f: {real} = convert %i yield %f }} }} genarray [{n}] cell []
             %y: {real}, %d: {real}[{n}] = derive reverse (%x: {real}[{n}] = %a) seeds (1.0:{real}) {{
                %r: {real} = with {{ part [0] <= [%j] < [{n}] {{ %e: {real} = sel %x, [%j] %q: {real} = mul %e, %e yield %q }} }}
                    fold add neutral 0.0:{real}
                yield %r }}
             %last: {real} = sel %d, [{}] yield %last",
            n - 1
        );
        assert_all(&elements(real, &body, "")[0], &[2.0 * f64::from(n - 1)], "the last slope");
    }
}
