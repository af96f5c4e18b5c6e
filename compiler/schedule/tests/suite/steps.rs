//! Lanes along an axis with steps: they take the indices between, and stores leave the elements between.

use crate::common::{Run, same};

/// A changed array of 7 x 45 numbers, then all its elements; `part` changes it.
fn changed(part: &str) -> Run {
    same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f32, f32) {{
  %a: f32[7,45] = with {{
    part [0, 0] <= [%i0, %j0] < [7, 45] {{ %p0: i32 = mul %i0, 45 %q0: i32 = add %p0, %j0 %x0: f32 = convert %q0 yield %x0 }}
  }} genarray [7, 45] cell []
  %at: i32[45] = with {{ part [0] <= [%k0] < [45] step [2] {{ yield %k0 }} }} genarray [45] cell [] default 1000000
  %b: f32[7,45] = with {{
{part}
  }} modarray %a
  %t: f32 = with {{
    part [0, 0] <= [%i9, %j9] < [7, 45] {{ %y9: f32 = sel %b, [%i9, %j9] %m9: i32 = mul %i9, 45 %n9: i32 = add %m9, %j9 %w9: f32 = convert %n9 %z9: f32 = mul %y9, %w9 yield %z9 }}
  }} fold add neutral 0.0:f32
  %o: f32 = sel %a, [0, 3]
  yield %t, %o
}}
"#
    ))
}

fn has(run: &Run, text: &str) -> bool {
    run.remarks.iter().any(|r| r.text.contains(text))
}

/// With-loops and partitions with lanes along the last axis, but for the one that makes the array.
fn in_lanes(run: &Run) -> usize {
    run.remarks.iter().filter(|r| r.text.contains("lanes along axis 1")).count() - 1
}

#[test]
fn steps_and_widths_run_in_lanes() {
    let body = "{ %x: f32 = sel %a, [%i, %j] %y: f32 = sqrt %x %z: f32 = sub %y, 1.0:f32 yield %z }";
    for (steps, pays) in [
        ("step [1, 2]", true),
        ("step [2, 2]", true),
        ("step [1, 5] width [1, 3]", true),
        ("step [1, 7] width [1, 2]", true),
        ("step [1, 9] width [1, 2]", false),
    ] {
        let run = changed(&format!("part [1, 2] <= [%i, %j] < [7, 44] {steps} {body}"));
        assert_eq!(in_lanes(&run) == 1, pays, "{steps}: {:?}", run.remarks);
    }
}

#[test]
fn bounds_of_the_run() {
    let run = changed(
        "part [0, 1] <= [%i, %j] < [7, 40] step [1, 2] { %j2: i32 = sub 44, %j %x: f32 = sel %a, [%i, %j2] %y: f32 = abs %x %z: f32 = neg %y yield %z }
         part [0, 0] <= [%i_2, %j_2] < [7, 42] step [1, 2] { %k: i32 = div %j_2, 2 %x_2: f32 = sel %a, [%i_2, %k] %y_2: f32 = abs %x_2 %z_2: f32 = neg %y_2 yield %z_2 }",
    );
    assert_eq!(in_lanes(&run), 2, "{:?}", run.remarks);
}

#[test]
fn what_the_indices_between_must_not_do_stays_scalar() {
    // Every other element is no index.
    let run = changed(
        "part [0, 0] <= [%i, %j] < [7, 45] step [1, 2] { %k: i32 = sel %at, [%j] %x: f32 = sel %a, [%i, %k] yield %x }",
    );
    assert_eq!(in_lanes(&run), 0, "{:?}", run.remarks);
    let run = changed(
        "part [0, 0] <= [%i, %j] < [7, 45] step [2, 2] width [2, 1] { %x: f32 = sel %a, [%i, %j] %y: f32 = sqrt %x yield %y }",
    );
    assert_eq!(in_lanes(&run), 1, "{:?}", run.remarks);
    let run = changed(
        "part [0, 0] <= [%i, %j] < [7, 45] step [3, 4] width [2, 3] { %x: f32 = sel %a, [%i, %j] %y: f32 = neg %x yield %y }",
    );
    assert!(has(&run, "widths along several axes"), "{:?}", run.remarks);
}

#[test]
fn neighbours_in_the_changed_array_keep_scalars() {
    let round = |index: &str| {
        same(&format!(
            r#"
entry @f0
func @f0 "main" () -> (f32) {{
  %start: f32[9,40] = with {{
    part [0, 0] <= [%i0, %j0] < [9, 40] {{ %p0: i32 = mul %i0, 20 %q0: i32 = add %p0, %j0 %x0: f32 = convert %q0 yield %x0 }}
  }} genarray [9, 40] cell []
  %r: f32[9,40], %rounds: i32 = loop (%a: f32[9,40] = %start, %k: i32 = 0) {{
    %b: f32[9,40] = with {{
      part [1, 1] <= [%i, %j] < [8, 39] step [2, 2] {{ %n: i32 = {index} %x: f32 = sel %a, [%i, %n] %u: i32 = sub %i, 1 %y: f32 = sel %a, [%u, %j] %w: f32 = add %x, %y %z: f32 = sqrt %w yield %z }}
    }} modarray %a
    %next: i32 = add %k, 1
    %again: bool = lt %next, 5
    yield %again, %b, %next
  }}
  %t: f32 = with {{ part [0, 0] <= [%i9, %j9] < [9, 40] {{ %y9: f32 = sel %r, [%i9, %j9] yield %y9 }} }} fold add neutral 0.0:f32
  yield %t
}}
"#
        ))
    };
    let run = round("sub %j, 1");
    assert!(has(&run, "in place") && in_lanes(&run) == 0, "{:?}", run.remarks);
    let run = round("add %j, 0");
    assert!(has(&run, "in place") && in_lanes(&run) == 1, "{:?}", run.remarks);
}
