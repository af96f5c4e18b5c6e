//! Every scalar operation on every element type, in vector kernels and alone.

use crate::common::same;
use ravel_types::{BinOp, Elem, Scalar, UnOp, eval_bin, eval_convert, eval_un};

const ELEMS: [Elem; 12] = [
    Elem::Bool,
    Elem::Char,
    Elem::I8,
    Elem::I16,
    Elem::I32,
    Elem::I64,
    Elem::U8,
    Elem::U16,
    Elem::U32,
    Elem::U64,
    Elem::F32,
    Elem::F64,
];

/// Definitions of an array `%name` of 37 varied, mostly small elements, none of them zero.
fn operand(name: &str, elem: Elem, step: i32) -> String {
    let value = match elem {
        Elem::Bool => format!("%{name}c: {elem} = gt %{name}m, 4"),
        _ if elem.is_float() => {
            format!("%{name}d: {elem} = convert %{name}m\n %{name}c: {elem} = sub %{name}d, 4.5:{elem}")
        }
        Elem::Char => format!("%{name}d: i32 = add %{name}m, 60\n %{name}c: {elem} = convert %{name}d"),
        _ => format!(
            "%{name}d: i32 = sub %{name}m, 7\n %{name}e: i32 = bitor %{name}d, 1\n %{name}c: {elem} = convert %{name}e"
        ),
    };
    let value = value.replace("bitor", "or");
    format!(
        "%{name}: {elem}[37] = with {{ part [0] <= [%{name}i] < [37] {{ %{name}p: i32 = mul %{name}i, {step}\n \
         %{name}m: i32 = mod %{name}p, 11\n {value}\n yield %{name}c }} }} genarray [37] cell []\n"
    )
}

/// Folds `%name` to a scalar that depends on every element; also its type, which says how exact it is.
fn digest(name: &str, elem: Elem) -> String {
    let term = match elem {
        Elem::F64 => format!("%{name}z: f64 = mul %{name}x, %{name}w"),
        _ => format!("%{name}y: f64 = convert %{name}x\n %{name}z: f64 = mul %{name}y, %{name}w"),
    };
    format!(
        "%{name}s: f64 = with {{ part [0] <= [%{name}j] < [37] {{ %{name}x: {elem} = sel %{name}, [%{name}j]\n \
         %{name}w: f64 = convert %{name}j\n {term}\n yield %{name}z }} }} fold add neutral 0.0\n \
         %{name}t: f32 = convert %{name}s\n"
    )
}

/// The digest in the precision of the elements.
fn result(name: &str, elem: Elem) -> (String, &'static str) {
    if elem == Elem::F32 { (format!("%{name}t"), "f32") } else { (format!("%{name}s"), "f64") }
}

fn check(definitions: &str, results: &[(String, &str)]) {
    let types = results.iter().map(|r| r.1).collect::<Vec<_>>().join(", ");
    let results: Vec<&str> = results.iter().map(|r| r.0.as_str()).collect();
    same(&format!(
        "entry @f0\nfunc @f0 \"main\" () -> ({types}) {{\n{definitions}\nyield {}\n}}\n",
        results.join(", ")
    ));
}

fn sample(elem: Elem) -> Scalar {
    eval_convert(Scalar::I32(3), elem).expect("numbers convert to numbers")
}

#[test]
fn binary_operations() {
    for elem in ELEMS {
        let mut text = operand("a", elem, 3) + &operand("b", elem, 7);
        let mut results = Vec::new();
        for (k, &op) in BinOp::ALL.iter().enumerate() {
            let Ok(value) = eval_bin(op, sample(elem), sample(elem)) else { continue };
            if matches!(op, BinOp::Pow | BinOp::Hypot) {
                continue;
            }
            let (name, to) = (format!("r{k}"), value.elem());
            text += &format!(
                "%{name}: {to}[37] = with {{ part [0] <= [%{name}i] < [37] {{ %{name}a: {elem} = sel %a, [%{name}i]\n \
                 %{name}b: {elem} = sel %b, [%{name}i]\n %{name}c: {to} = {op} %{name}a, %{name}b\n yield %{name}c }} }} genarray [37] cell []\n"
            );
            text += &digest(&name, to);
            results.push(result(&name, to));
        }
        check(&text, &results);
    }
}

#[test]
fn unary_operations_and_conversions() {
    for elem in ELEMS {
        let mut text = operand("a", elem, 3);
        let mut results = Vec::new();
        let unary = UnOp::ALL.iter().filter_map(|op| Some((op.name(), eval_un(*op, sample(elem)).ok()?.elem())));
        let conversions = ELEMS.iter().map(|to| ("convert", *to));
        for (k, (op, to)) in unary.chain(conversions).enumerate() {
            let name = format!("r{k}");
            // Logarithms and the like want positive arguments.
            let argument = match elem.is_float()
                && !matches!(op, "neg" | "convert" | "floor" | "ceil" | "rint" | "trunc" | "exp")
            {
                true => format!("%{name}g: {elem} = abs %{name}a\n %{name}b: {elem} = mul %{name}g, 0.125:{elem}\n"),
                false => format!("%{name}b: {elem} = opaque %{name}a\n"),
            };
            text += &format!(
                "%{name}: {to}[37] = with {{ part [0] <= [%{name}i] < [37] {{ %{name}a: {elem} = sel %a, [%{name}i]\n {argument} \
                 %{name}c: {to} = {op} %{name}b\n yield %{name}c }} }} genarray [37] cell []\n"
            );
            if op == "acosh" {
                text = text
                    .replace(&format!("%{name}c: {to} = acosh %{name}b"), &format!("%{name}c: {to} = abs %{name}b"));
            }
            text += &digest(&name, to);
            results.push(result(&name, to));
        }
        check(&text, &results);
    }
}

#[test]
fn folds_of_every_type() {
    for elem in ELEMS {
        let mut text = operand("a", elem, 3);
        let mut results = Vec::new();
        for (k, &op) in BinOp::ALL.iter().enumerate() {
            let Ok(value) = eval_bin(op, sample(elem), sample(elem)) else { continue };
            if value.elem() != elem || !(op.regroups() || op == BinOp::Sub) {
                continue;
            }
            let start = match elem {
                Elem::Bool => "false".to_string(),
                _ if elem.is_float() => format!("1.5:{elem}"),
                _ => format!("5:{elem}"),
            };
            text += &format!(
                "%f{k}: {elem} = with {{ part [0] <= [%f{k}i] < [37] {{ %f{k}x: {elem} = sel %a, [%f{k}i]\n yield %f{k}x }} }} fold {op} neutral {start}\n"
            );
            match elem {
                Elem::F64 => results.push((format!("%f{k}"), "f64")),
                _ => {
                    let to = if elem == Elem::F32 { "f32" } else { "f64" };
                    let op = if elem == Elem::F32 { "opaque" } else { "convert" };
                    text += &format!("%g{k}: {to} = {op} %f{k}\n");
                    results.push((format!("%g{k}"), to));
                }
            }
        }
        check(&text, &results);
    }
}

/// A truth that is converted to a truth is a mask like any other.
#[test]
fn truths_stay_truths() {
    let text = operand("a", Elem::Bool, 3)
        + &operand("b", Elem::Bool, 5)
        + "%r: bool[37] = with { part [0] <= [%i] < [37] { %x: bool = sel %a, [%i]\n %y: bool = sel %b, [%i]\n \
           %e: bool = eq %x, %y\n %f: bool = with { part [0] <= [%k] < [2] { %z: bool = convert %y\n yield %z } } fold add neutral %e\n \
           yield %f } } genarray [37] cell []\n"
        + &digest("r", Elem::Bool);
    check(&text, &[result("r", Elem::Bool)]);
}
