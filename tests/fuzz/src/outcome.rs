//! What a program does, and whether two ways to run it did the same.

use ravel_interp::{Arr, RunError, Val};
use ravel_types::{Elem, Scalar};
use std::sync::Arc;

/// The end of a run.
#[derive(Clone, Debug)]
pub enum Outcome {
    Values(Vec<Val>),
    /// A fault of the program, in words.
    Fault(String),
    /// A rule of the IR was broken, or a stage failed: always a bug.
    Broken(String),
}

impl Outcome {
    pub fn of(result: Result<Vec<Val>, RunError>) -> Outcome {
        match result {
            Ok(values) => Outcome::Values(values),
            Err(RunError::Fault(report)) => Outcome::Fault(report.fault.message),
            Err(RunError::Internal { problem, function, span }) => {
                Outcome::Broken(format!("{problem} (in {function}, instruction {})", span.start))
            }
            Err(other) => Outcome::Broken(format!("{other:?}")),
        }
    }
}

/// How `found` differs from `expected`. Which of several faults comes first is not compared.
pub fn difference(expected: &Outcome, found: &Outcome) -> Option<String> {
    match (expected, found) {
        (Outcome::Fault(_), Outcome::Fault(_)) => None,
        (Outcome::Values(a), Outcome::Values(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(k, (a, b))| value_difference(a, b).map(|d| format!("result {k}: {d}"))),
        (a, b) => Some(format!("expected {}, found {}", brief(a), brief(b))),
    }
}

/// Whether two runs gave the same bits. Which of several faults comes first is not compared.
pub fn identical(a: &Outcome, b: &Outcome) -> bool {
    let bits = |v: &Val| v.scalars().map(|all| all.iter().map(|s| s.bits()).collect::<Vec<_>>());
    match (a, b) {
        (Outcome::Values(a), Outcome::Values(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.shape() == b.shape() && bits(a) == bits(b))
        }
        (Outcome::Fault(_), Outcome::Fault(_)) => true,
        _ => false,
    }
}

fn brief(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Values(_) => "values".to_string(),
        Outcome::Fault(message) => format!("a fault: {message}"),
        Outcome::Broken(problem) => format!("a bug: {problem}"),
    }
}

fn value_difference(a: &Val, b: &Val) -> Option<String> {
    if a.elem() != b.elem() || a.shape() != b.shape() {
        return Some(format!("expected {}{:?}, found {}{:?}", a.elem(), a.shape(), b.elem(), b.shape()));
    }
    let (x, y) = (a.scalars()?, b.scalars()?);
    let at = x.iter().zip(&y).position(|(x, y)| !close(*x, *y))?;
    Some(format!("element {at} of shape {:?}: expected {}, found {}", a.shape(), x[at], y[at]))
}

/// Equal, or reals so near that regrouped sums explain the difference.
fn close(a: Scalar, b: Scalar) -> bool {
    let near = |x: f64, y: f64, tolerance: f64| {
        x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * x.abs().max(1.0)
    };
    match (a, b) {
        (Scalar::F64(x), Scalar::F64(y)) => near(x, y, 1e-9),
        (Scalar::F32(x), Scalar::F32(y)) => near(x.into(), y.into(), 2e-3),
        (a, b) => a == b,
    }
}

/// An array of the interpreter made of the bytes of the runtime's.
pub fn value(elem: Elem, shape: &[i64], values: &[Scalar]) -> Val {
    Val::Array(Arc::new(Arr::from_scalars(elem, shape.to_vec(), values)))
}
