//! What programs report, line by line, against recorded references with their tolerances.
//!
//! A line of results is `name | type | shape | elements`, a reference `name | type | shape | rel | abs | elements`; both files
//! have the same names in the same order.

use crate::Failed;

/// What OpenCL's own functions may be off, in roundings.
const DEVICE_ROUNDINGS: f64 = 16.0;

fn fields(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}

fn number(text: &str) -> Result<f64, Failed> {
    match text {
        "nan" | "-nan" => Ok(f64::NAN),
        _ => text.parse().map_err(|_| format!("`{text}` is not a number").into()),
    }
}

/// What is wrong with a result, if anything.
fn judge(result: &str, reference: &str, device: bool) -> Result<Option<String>, Failed> {
    let (have, want) = (fields(result), fields(reference));
    let ([name, kind, shape, elements], [_, _, _, rel, abs, expected]) = (&have[..], &want[..]) else {
        return Ok(Some(format!("not a line of results and one of references: {result}")));
    };
    if have[..3] != want[..3] {
        return Ok(Some(format!("{name} | {kind} | {shape}, expected {}", want[..3].join(" | "))));
    }
    let eps = match *kind {
        "float" => f64::from(f32::EPSILON),
        "double" => f64::EPSILON,
        _ => {
            let same = elements.split_whitespace().eq(expected.split_whitespace());
            return Ok((!same).then(|| format!("{name} is {elements}, expected {expected}")));
        }
    };
    let (rel, abs) = (number(rel)?, number(abs)?);
    let rel = if device && rel > 0.0 { rel + DEVICE_ROUNDINGS } else { rel };
    let (elements, expected): (Vec<&str>, Vec<&str>) =
        (elements.split_whitespace().collect(), expected.split_whitespace().collect());
    if elements.len() != expected.len() {
        return Ok(Some(format!("{name} has {} elements, expected {}", elements.len(), expected.len())));
    }
    for (k, (have, want)) in elements.iter().zip(&expected).enumerate() {
        let (x, r) = (number(have)?, number(want)?);
        // The reference has more digits than a float: exact means equal in the type.
        let in_type = |v: f64| if *kind == "float" { f64::from(v as f32) } else { v };
        let (x, r) = (in_type(x), in_type(r));
        let right = if r.is_nan() { x.is_nan() } else { x == r || (x - r).abs() <= rel * eps * r.abs() + abs };
        if !right {
            let off = (x - r).abs();
            return Ok(Some(format!("{name}: element {k} is {have}, expected {want}; off by {off:e}")));
        }
    }
    Ok(None)
}

/// Compares all lines; a `device` may be off some roundings more.
///
/// # Errors
/// Says every result that differs, and how.
pub fn compare(results: &str, references: &str, device: bool) -> Result<(), Failed> {
    let (results, references): (Vec<&str>, Vec<&str>) = (results.lines().collect(), references.lines().collect());
    let mut wrong = Vec::new();
    for (result, reference) in results.iter().zip(&references) {
        wrong.extend(judge(result, reference, device)?);
    }
    if results.len() != references.len() {
        wrong.push(format!("{} lines of results, {} references", results.len(), references.len()));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}
