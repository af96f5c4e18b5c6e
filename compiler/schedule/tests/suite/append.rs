//! Arrays that get longer: in their own memory where nothing else looks at them.

use crate::common::same;

/// Whether 40 iterations over an array that begins with two rows are said to make it longer in its memory. `body` makes `%b` of `%m` rows from `%a`,
/// of `%n`; `also` is carried, too.
fn grows(body: &str, also: &str) -> bool {
    let run = same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f64) {{
  %start: f64[2,3] = with {{
    part [0, 0] <= [%i, %j] < [2, 3] {{ %s: i32 = add %i, %j %x: f64 = convert %s yield %x }}
  }} genarray [2, 3] cell []
  %r: f64[s0,3], %o: f64[s1,3], %l: i32 = loop (%a: f64[s2,3] = %start, %c: f64[s3,3] = %start, %k: i32 = 0) {{
    %n: i32 = extent %a, 0
{body}
    %next: i32 = add %k, 1
    %again: bool = lt %next, 40
    yield %again, %b, {also}, %next
  }}
  %h: i32 = extent %r, 0
  %t: f64 = with {{
    part [0, 0] <= [%p, %q] < [%h, 3] {{ %y: f64 = sel %r, [%p, %q] yield %y }}
  }} fold add neutral 0.0
  %e: f64 = sel %o, [1, 2]
  %u: f64 = add %t, %e
  yield %u
}}
"#
    ));
    let said = run.remarks.iter().any(|r| r.text.contains("gets longer"));
    // Of 40 arrays most are where the one before was.
    assert!(!said || run.allocations < 25, "{} allocations", run.allocations);
    said
}

/// A row behind the array, of `cell`.
fn behind(cell: &str) -> String {
    format!(
        "%m: i32 = add %n, 1
         %b: f64[s4,3] = with {{
           part [0, 0] <= [%i_2, %j_2] < [%n, 3] {{ %x_2: f64 = sel %a, [%i_2, %j_2] yield %x_2 }}
           part [%n, 0] <= [%i_3, %j_3] < [%m, 3] {{ {cell} yield %z }}
         }} genarray [%m, 3] cell []"
    )
}

#[test]
fn rows_behind_an_array() {
    assert!(grows(&behind("%y_2: i32 = add %i_3, %j_3 %z: f64 = convert %y_2"), "%c"));
    // What the row is made of is read before.
    let read = format!("%v: f64 = sel %a, [0, 1] {}", behind("%z: f64 = mul %v, 0.5"));
    assert!(grows(&read, "%c"));
}

#[test]
fn not_if_something_looks_at_it() {
    assert!(!grows(&behind("%z: f64 = sel %a, [0, %j_3]"), "%c"));
    assert!(!grows(&behind("%y_2: i32 = add %i_3, %j_3 %z: f64 = convert %y_2"), "%a"));
}

#[test]
fn not_if_the_first_rows_are_others() {
    let front = "%m: i32 = add %n, 1
         %b: f64[s4,3] = with {
           part [0, 0] <= [%i_2, %j_2] < [1, 3] { yield 0.25 }
           part [1, 0] <= [%i_3, %j_3] < [%m, 3] { %i_4: i32 = sub %i_3, 1 %x_2: f64 = sel %a, [%i_4, %j_3] yield %x_2 }
         } genarray [%m, 3] cell []";
    assert!(!grows(front, "%c"));
    let changed = behind("yield 0.5")
        .replace("yield 0.5 yield %z", "yield 0.5")
        .replace("sel %a, [%i_2, %j_2] yield %x_2", "sel %a, [%i_2, %j_2] %w: f64 = neg %x_2 yield %w");
    assert!(!grows(&changed, "%c"));
}
