//! Short rows that lie end to end are walked as one axis; indices with another use keep their axes.

use crate::common::same;

/// Remarks on cells `[3,19,colours]` over `[0,low,0] <= [h,i,c] < [3,high,colours]` that `body` makes of `%a: f32[3,20,colours]`.
fn remarks(colours: i32, (low, high): (i32, i32), body: &str) -> String {
    let run = same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f32) {{
  %a: f32[3,20,{colours}] = with {{
    part [0, 0, 0] <= [%h0, %i0, %c0] < [3, 20, {colours}] {{
      %p0: i32 = mul %h0, 37 %q0: i32 = mul %i0, 5 %r0: i32 = add %p0, %q0 %s0: i32 = mul %c0, %c0 %t0: i32 = add %r0, %s0
      %u0: i32 = mod %t0, 23 %x0: f32 = convert %u0 yield %x0
    }}
  }} genarray [3, 20, {colours}] cell []
  %b: f32[3,19,{colours}] = with {{
    part [0, {low}, 0] <= [%h, %i, %c] < [3, {high}, {colours}] {{
{body}
    }}
  }} genarray [3, 19, {colours}] cell [] default 2.0:f32
  %t: f32 = with {{
    part [0, 0, 0] <= [%h9, %i9, %k9] < [3, 19, {colours}] {{
      %x9: f32 = sel %b, [%h9, %i9, %k9] %w9: i32 = add %k9, %i9 %v9: f32 = convert %w9 %y9: f32 = mul %x9, %v9 yield %y9
    }}
  }} fold add neutral 0.0:f32
  yield %t
}}
"#
    ));
    run.remarks.iter().map(|r| r.text.as_str()).collect::<Vec<_>>().join("; ")
}

const NEXT: &str =
    "%k: i32 = add %i, 1 %x: f32 = sel %a, [%h, %k, %c] %y: f32 = sel %a, [%h, %i, %c] %z: f32 = sub %x, %y yield %z";

#[test]
fn rows_of_colours_are_one_axis() {
    for colours in [2, 3, 5, 7] {
        let text = remarks(colours, (0, 19), NEXT);
        assert!(text.contains("along axes 1 to 2 as one"), "{colours}: {text}");
        let text = remarks(colours, (2, 17), NEXT);
        assert!(text.contains("along axes 1 to 2 as one"), "{colours}: {text}");
    }
}

#[test]
fn all_axes_are_one_where_all_are_whole() {
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (f64) {
  %a: f64[41,3,2] = with {
    part [0, 0, 0] <= [%h0, %i0, %c0] < [41, 3, 2] {
      %p0: i32 = mul %h0, 37 %q0: i32 = mul %i0, 5 %r0: i32 = add %p0, %q0 %s0: i32 = add %r0, %c0 %x0: f64 = convert %s0 yield %x0
    }
  } genarray [41, 3, 2] cell []
  %b: f64[41,3,2] = with {
    part [0, 0, 0] <= [%h, %i, %c] < [41, 3, 2] { %x: f64 = sel %a, [%h, %i, %c] %y: f64 = sqrt %x yield %y }
  } genarray [41, 3, 2] cell []
  %t: f64 = sel %b, [40, 2, 1] %u: f64 = sel %b, [7, 0, 1] %v: f64 = add %t, %u
  yield %v
}
"#,
    );
    assert!(run.remarks.iter().any(|r| r.text.contains("along axes 0 to 2 as one")), "{:?}", run.remarks);
}

#[test]
fn other_uses_of_an_index_keep_axes() {
    let weighted = "%w: f32 = convert %c %x: f32 = sel %a, [%h, %i, %c] %z: f32 = mul %x, %w yield %z";
    let by_row = "%w: f32 = convert %i %x: f32 = sel %a, [%h, %i, %c] %z: f32 = mul %x, %w yield %z";
    let turned = "%x: f32 = sel %a, [%h, %c, %c] %y: f32 = sel %a, [%h, %i, %c] %z: f32 = mul %x, %y yield %z";
    let twice = "%k: i32 = mul %i, 1 %x: f32 = sel %a, [%h, %k, %c] yield %x";
    let mirrored = "%k: i32 = sub 19, %i %x: f32 = sel %a, [%h, %k, %c] yield %x";
    for body in [weighted, by_row, turned, twice, mirrored] {
        let text = remarks(3, (0, 19), body);
        assert!(!text.contains("as one"), "{body}: {text}");
    }
    // Long rows fill vectors.
    let text = remarks(40, (0, 19), NEXT);
    assert!(!text.contains("as one"), "{text}");
}
