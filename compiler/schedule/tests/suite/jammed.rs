//! Recurrences of several rows run side by side, and give what one at a time gives.

use crate::common::{Run, same};

/// A with-loop over `rows`, whose cells are what a recurrence makes of the 40 elements of a row; `step` is the body of the loop with
/// parameters `%k` and `%y`, and `more` the condition under which it goes on.
fn recurrence(rows: i32, step: &str, more: &str) -> Run {
    same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64) {{
  %a: f64[{rows},40] = with {{
    part [0, 0] <= [%i, %j] < [{rows}, 40] {{
      %p: i32 = mul %i, 3
      %q: i32 = add %p, %j
      %r: i32 = mod %q, 17
      %x: f64 = convert %r
      yield %x
    }}
  }} genarray [{rows}, 40] cell []
  %c: f64[{rows},40] = with {{
    part [0] <= [%row] < [{rows}] {{
      %b: f64[40] = sel %a, [%row]
      %last: i32, %z: f64, %u: f64[40] = loop (%k: i32 = 0, %y: f64 = 0.0:f64, %t: f64[40] = %b) {{
        {step}
        %t2: f64[40] = update %t, [%k], %y2
        %k2: i32 = add %k, 1
        {more}
        yield %again, %k2, %y2, %t2
      }}
      yield %u
    }}
  }} genarray [{rows}] cell [40]
  %s: f64 = with {{
    part [0, 0] <= [%n, %l] < [{rows}, 40] {{ %v: f64 = sel %c, [%n, %l] yield %v }}
  }} fold add neutral 0.0:f64
  %end: i32 = sub {rows}, 1
  %e: f64 = sel %c, [%end, 38]
  yield %s, %e
}}
"#
    ))
}

const QUOTIENT: &str = "%x2: f64 = sel %a, [%row, %k]  %d: f64 = add %y, 1.5:f64  %y2: f64 = div %x2, %d";
const TO_THE_END: &str = "%again: bool = lt %k2, 40";

fn remarked(run: &Run, text: &str) -> bool {
    run.remarks.iter().any(|r| r.text.contains(text))
}

#[test]
fn rows_run_abreast() {
    // Whole steps, rests of every length, and fewer rows than a step.
    for rows in [8, 9, 10, 11, 1, 3, 300] {
        let run = recurrence(rows, QUOTIENT, TO_THE_END);
        assert_eq!(remarked(&run, "4 indices abreast"), rows >= 4, "{rows}: {:?}", run.remarks);
    }
}

#[test]
fn loops_that_end_by_themselves_stay_alone() {
    let run = recurrence(
        9,
        QUOTIENT,
        "%less: bool = lt %k2, 40  %small: bool = lt %y2, 9.0:f64  %again: bool = and %less, %small",
    );
    assert!(!remarked(&run, "abreast"), "{:?}", run.remarks);
    assert!(remarked(&run, "ends at a time of its own"), "{:?}", run.remarks);
}

#[test]
fn loops_with_checks_stay_alone() {
    let checked = "%ok: bool = lt %y, 1000.0:f64  check %ok, message \"too large\" []  ".to_string() + QUOTIENT;
    let run = recurrence(9, &checked, TO_THE_END);
    assert!(!remarked(&run, "abreast"), "{:?}", run.remarks);
    assert!(remarked(&run, "checks or calls"), "{:?}", run.remarks);
}

#[test]
fn loops_that_do_not_wait_stay_alone() {
    // Only the last iteration's value counts.
    let run = recurrence(9, "%x2: f64 = sel %a, [%row, %k]  %y2: f64 = div %x2, 1.5:f64", TO_THE_END);
    assert!(!remarked(&run, "abreast") && !remarked(&run, "at a time"), "{:?}", run.remarks);
}
