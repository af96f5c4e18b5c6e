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
    let results = list(&|i| format!("%d{i}: f64"));
    let types = list(&|_| "f64".to_string());
    let yields = list(&|i| format!("%d{i}"));
    let reverse =
        format!("%y: f64, {results} = derive reverse ({params}) seeds (1.0) {{ {text} yield %r }} yield {yields}");
    let reverse: Vec<f64> = elements(&types, &reverse, functions).concat();
    let forward: Vec<f64> = (0..at.len())
        .map(|k| {
            let seeds = list(&|i| if i == k { "1.0".to_string() } else { "0.0".to_string() });
            let body =
                format!("%y: f64, %t: f64 = derive forward ({params}) seeds ({seeds}) {{ {text} yield %r }} yield %t");
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
