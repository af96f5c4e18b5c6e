//! With-loops that make arrays and fold at once, and folds over several partitions.

use crate::common::{Run, same};

fn said(run: &Run, text: &str) -> usize {
    run.remarks.iter().filter(|r| r.text.contains(text)).count()
}

/// Elements and a fold over `[low] <= [i] < [high]` of `%x`, a vector of 5,000 numbers; results are the fold and a weighted sum of the array.
fn vector(ops: &str, body: &str, low: usize, high: usize) -> Run {
    same(&format!(
        "entry @f0 func @f0 \"main\" () -> (f64, f64) {{
           %x: f64[5000] = with {{ part [0] <= [%k] < [5000] {{
             %m: i32 = mod %k, 37 %f: f64 = convert %m %g: f64 = sub %f, 18.5 yield %g }} }} genarray [5000] cell []
           %v: f64[5000], %e: f64 = with {{ part [{low}] <= [%i] < [{high}] {{ %p: f64 = sel %x, [%i] {body} }} }} {ops}
           %t: f64 = with {{ part [0] <= [%j] < [5000] {{
             %o: f64 = sel %v, [%j] %w: f64 = convert %j %r: f64 = mul %o, %w yield %r }} }} fold add neutral 0.0
           yield %e, %t
         }}"
    ))
}

const DEAR: &str = "%q: f64 = exp %p %s: f64 = add %q, 1.0 %l: f64 = log %s";

#[test]
fn elements_and_their_sum_in_lanes_on_threads() {
    let run = vector(
        "genarray [5000] cell [] default 2.0 fold add neutral 3.0",
        &format!("{DEAR} %d: f64 = sub %l, %p yield %l, %d"),
        3,
        4998,
    );
    assert_eq!(said(&run, "threads over axis 0, partial results combined"), 1, "{:?}", run.remarks);
    assert_eq!(said(&run, "lanes along the last axis of the fold"), 2);
    assert_eq!(said(&run, "stores past the caches"), 1);
}

#[test]
fn changes_of_an_array_and_how_large_they_are() {
    let run = vector(
        "modarray %x fold max neutral 0.0",
        &format!("{DEAR} %d: f64 = sub %l, %p %a: f64 = abs %d yield %l, %a"),
        1,
        4999,
    );
    assert_eq!(run.copies, 0);
    assert_eq!(said(&run, "lanes along the last axis of the fold"), 2);
}

#[test]
fn integers_beside_reals() {
    let run = same(
        "entry @f0 func @f0 \"main\" () -> (f64, i32, i32) {
           %c: i32[40,300], %b: bool[40,300], %e: f64, %n: i32 = with { part [0, 0] <= [%i, %j] < [40, 300] {
             %m: i32 = mul %i, 7 %s: i32 = add %m, %j %r: i32 = mod %s, 31 %x: f64 = convert %r %y: f64 = exp %x %z: f64 = log %y
             %t: bool = gt %z, 11.5 %u: i32 = select %t, %r, %s yield %u, %t, %z, %u }
           } genarray [40, 300] cell [] genarray [40, 300] cell [] fold add neutral 0.5 fold min neutral 17
           %h: i32 = with { part [0, 0] <= [%k, %l] < [40, 300] {
             %o: i32 = sel %c, [%k, %l] %p: bool = sel %b, [%k, %l] %q: i32 = select %p, %o, 1 yield %q } } fold add neutral 0
           yield %e, %n, %h
         }",
    );
    assert_eq!(said(&run, "threads over axis 0, partial results combined"), 1, "{:?}", run.remarks);
}

#[test]
fn interiors_take_their_borders_along() {
    let run = same(
        "entry @f0 func @f0 \"main\" () -> (f64, f64) {
           %u: f64[90,200] = with { part [0, 0] <= [%i, %j] < [90, 200] {
             %m: i32 = mul %i, 7 %s: i32 = add %m, %j %r: i32 = mod %s, 31 %x: f64 = convert %r yield %x } } genarray [90, 200] cell []
           %v: f64[90,200], %e: f64 = with {
             part [0, 0] <= [%i1, %j1] < [1, 200] { yield 0.25, 1.0 }
             part [89, 0] <= [%i2, %j2] < [90, 200] { %a2: f64 = sel %u, [%i2, %j2] yield 0.5, %a2 }
             part [1, 0] <= [%i3, %j3] < [89, 1] { %a3: f64 = sel %u, [%i3, %j3] yield %a3, 2.0 }
             part [1, 199] <= [%i4, %j4] < [89, 200] { %a4: f64 = sel %u, [%i4, %j4] yield %a4, 3.0 }
             part [1, 1] <= [%i5, %j5] < [89, 199] {
               %n5: i32 = sub %j5, 1 %a5: f64 = sel %u, [%i5, %n5] %b5: f64 = sel %u, [%i5, %j5] %c5: f64 = mul %a5, %b5
               %d5: f64 = exp %a5 %e5: f64 = sqrt %d5 %f5: f64 = add %e5, %c5 %g5: f64 = sub %f5, %b5 yield %f5, %g5 }
           } genarray [90, 200] cell [] fold add neutral 0.0
           %t: f64 = with { part [0, 0] <= [%k, %l] < [90, 200] {
             %o: f64 = sel %v, [%k, %l] %w: f64 = convert %l %q: f64 = mul %o, %w yield %q } } fold add neutral 0.0
           yield %e, %t
         }",
    );
    assert_eq!(said(&run, "with the threads' rows of partition"), 2, "{:?}", run.remarks);
}

#[test]
fn folds_over_several_partitions_run_on_threads() {
    let run = same(
        "entry @f0 func @f0 \"main\" () -> (f64) {
           %t: f64 = with {
             part [0] <= [%i] < [9000] { %x: f64 = convert %i %y: f64 = sqrt %x %z: f64 = exp %y %w: f64 = log %z yield %w }
             part [9000] <= [%j] < [9100] { %p: f64 = convert %j yield %p }
           } fold add neutral 1.0
           yield %t
         }",
    );
    assert_eq!(said(&run, "threads over axis 0, partial results combined"), 1, "{:?}", run.remarks);
}

#[test]
fn folds_in_their_own_order_stay_on_one_thread() {
    let run = vector(
        "genarray [5000] cell [] fold { (%a: f64, %b: f64) %h: f64 = mul %a, 0.5 %k1: f64 = add %h, %b yield %k1 } neutral 3.0",
        &format!("{DEAR} yield %l, %p"),
        0,
        5000,
    );
    assert_eq!(said(&run, "partial results combined"), 0, "{:?}", run.remarks);
}
