//! Rows and columns that with-loops make to be put into an array: made there where nothing else needs what they replace.

use crate::common::{rounds, same};

/// Whether a with-loop of the iterations is said to make rows of the array where they are; if so, there is one array at most.
fn in_rows(body: &str) -> bool {
    let run = rounds(body);
    let said = run.remarks.iter().any(|r| r.text == "in the rows that it replaces");
    assert!(!said || run.allocations <= 1 && run.copies == 0, "{} allocations, {} copies", run.allocations, run.copies);
    said
}

/// A rotation of row `%k` with row 3, which it is in iteration 3. Column `%l` is `%j`, for tests that change it.
const ROTATION: &str = "%r0: f64[20], %r1: f64[20] = with {
   part [0] <= [%j] < [20] { %l: i32 = add %j, 0 %x: f64 = sel %a, [%k, %j] %y: f64 = sel %a, [3, %j]
     %u: f64 = mul %x, 0.75 %v: f64 = mul %y, 0.5 %w: f64 = sub %u, %v %z: f64 = add %x, %v yield %w, %z }
 } genarray [20] cell [] genarray [20] cell []";

#[test]
fn rotations_of_rows() {
    assert!(in_rows(&format!("{ROTATION} %c: f64[9,20] = update %a, [%k], %r0 %b: f64[9,20] = update %c, [3], %r1")));
}

#[test]
fn rotations_of_columns() {
    assert!(in_rows(
        "%r0: f64[9], %r1: f64[9] = with {
           part [0] <= [%j] < [9] { %x: f64 = sel %a, [%j, %k] %y: f64 = sel %a, [%j, 7]
             %u: f64 = mul %x, 0.75 %v: f64 = mul %y, 0.5 %w: f64 = sub %u, %v %z: f64 = add %x, %v yield %w, %z }
         } genarray [9] cell [] genarray [9] cell []
         %k1: i32 = add %k, 1
         %c: f64[9,20] = with { part [0, %k] <= [%i1, %j1] < [9, %k1] { %x1: f64 = sel %r0, [%i1] yield %x1 } } modarray %a
         %b: f64[9,20] = with { part [0, 7] <= [%i2, %j2] < [9, 8] { %x2: f64 = sel %r1, [%i2] yield %x2 } } modarray %c"
    ));
}

#[test]
fn a_row_that_reads_other_columns() {
    let other = ROTATION.replace("sel %a, [3, %j]", "sel %a, [3, %l]").replace("add %j, 0", "sub 19, %j");
    assert!(!in_rows(&format!("{other} %c: f64[9,20] = update %a, [%k], %r0 %b: f64[9,20] = update %c, [3], %r1")));
}

#[test]
fn updates_in_another_order() {
    assert!(!in_rows(&format!("{ROTATION} %c: f64[9,20] = update %a, [3], %r1 %b: f64[9,20] = update %c, [%k], %r0")));
}

#[test]
fn an_array_that_is_read_in_between() {
    assert!(!in_rows(&format!(
        "{ROTATION} %e: f64 = sel %a, [%k, 0] %d: f64[20] = with {{ part [0] <= [%m] < [20] {{ %n: f64 = sel %r1, [%m]
           %o: f64 = add %n, %e yield %o }} }} genarray [20] cell []
         %c: f64[9,20] = update %a, [%k], %r0 %b: f64[9,20] = update %c, [3], %d"
    )));
}

#[test]
fn a_check_in_between() {
    assert!(!in_rows(&format!(
        "{ROTATION} %k2: i32 = mul %k, 2 %ok: bool = lt %k2, 9 check %ok, index %k2, 9, 0
         %c: f64[9,20] = update %a, [%k2], %r0 %b: f64[9,20] = update %c, [3], %r1"
    )));
}

#[test]
fn an_array_that_is_needed_later() {
    assert!(!in_rows(&format!(
        "{ROTATION} %c: f64[9,20] = update %a, [%k], %r0 %d: f64[9,20] = update %c, [3], %r1
         %b: f64[9,20] = with {{ part [0, 0] <= [%m, %n] < [9, 20] {{ %o: f64 = sel %a, [%m, %n] %p: f64 = sel %d, [%m, %n]
           %q: f64 = sub %o, %p yield %q }} }} genarray [9, 20] cell []"
    )));
}

/// A rotation from column `%k` on, of which the rows replace the columns from `{first}` on.
fn part_of_rows(first: &str) -> bool {
    let part = ROTATION.replace("[0] <= [%j] < [20]", "[%k] <= [%j] < [20]");
    in_rows(&format!(
        "{part} %k1: i32 = add %k, 1 %n: i32 = mul %k, 2
         %c: f64[9,20] = with {{ part [%k, %k] <= [%i1, %j1] < [%k1, 20] {{ %x1: f64 = sel %r0, [%j1] yield %x1 }} }} modarray %a
         %b: f64[9,20] = with {{ part [3, {first}] <= [%i2, %j2] < [4, 20] {{ %x2: f64 = sel %r1, [%j2] yield %x2 }} }} modarray %c"
    ))
}

#[test]
fn parts_of_rows() {
    assert!(part_of_rows("%k"));
}

#[test]
fn less_than_was_made_of_a_row() {
    assert!(!part_of_rows("%n"));
}

/// Several results, each in an operand of its own: two arrays in all.
#[test]
fn results_in_operands() {
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (f64) {
  %x0: f64[50] = with { part [0] <= [%i0] < [50] { %a0: f64 = convert %i0 yield %a0 } } genarray [50] cell []
  %y0: f64[50] = with { part [0] <= [%i1] < [50] { %b1: i32 = mul %i1, %i1 %a1: f64 = convert %b1 yield %a1 } } genarray [50] cell []
  %x: f64[50], %y: f64[50], %rounds: i32 = loop (%p: f64[50] = %x0, %q: f64[50] = %y0, %k: i32 = 0) {
    %u: f64[50], %v: f64[50] = with {
      part [0] <= [%i] < [50] { %c: f64 = sel %p, [%i] %d: f64 = sel %q, [%i] %e: f64 = sub %c, %d %f: f64 = add %c, %d yield %e, %f }
    } genarray [50] cell [] genarray [50] cell []
    %next: i32 = add %k, 1
    %again: bool = lt %next, 5
    yield %again, %u, %v, %next
  }
  %t: f64 = with { part [0] <= [%i9] < [50] { %y9: f64 = sel %x, [%i9] %z9: f64 = sel %y, [%i9] %w9: f64 = mul %y9, %z9 yield %w9 } } fold add neutral 0.0
  yield %t
}
"#,
    );
    assert_eq!((run.allocations, run.copies), (2, 0));
}
