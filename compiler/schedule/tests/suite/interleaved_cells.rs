//! Cells that are written out, in lanes; long ones with little work stay scalar.

use crate::common::same;

/// Remarks on pairs of 37 cells that `body` makes from `%x: f32`, `%y: f32` and `%i`, of the given number of elements.
fn remarks(elements: u32, body: &str) -> String {
    let run = same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f32) {{
  %a: f32[5,37] = with {{
    part [0, 0] <= [%i0, %j0] < [5, 37] {{ %p0: i32 = mul %i0, 37 %q0: i32 = add %p0, %j0 %x0: f32 = convert %q0 yield %x0 }}
  }} genarray [5, 37] cell []
  %c: f32[5,37,{elements}] = with {{
    part [0, 0] <= [%h, %i] < [5, 37] {{
      %x: f32 = sel %a, [%h, %i]
      %y: f32 = mul %x, 0.5:f32
{body}
    }}
  }} genarray [5, 37] cell [{elements}]
  %t: f32 = with {{
    part [0, 0, 0] <= [%h9, %i9, %k9] < [5, 37, {elements}] {{
      %x9: f32 = sel %c, [%h9, %i9, %k9] %w9: i32 = add %k9, 1 %v9: f32 = convert %w9 %y9: f32 = mul %x9, %v9 yield %y9
    }}
  }} fold add neutral 0.0:f32
  yield %t
}}
"#
    ));
    run.remarks.iter().map(|r| r.text.as_str()).collect::<Vec<_>>().join("; ")
}

#[test]
fn cells_are_woven_together() {
    let nine = "%x, %y, %z, %x, %u, %w, %v, %z, %y";
    let lists = [
        (2, "%x, %z"),
        (3, "%z, %y, %x"),
        (4, "%x, %y, %z, %x"),
        (5, "%x, %y, %z, %u, %v"),
        (6, "%x, %y, %z, %v, %u, %w"),
        (9, nine),
    ];
    for (elements, list) in lists {
        let text = remarks(
            elements,
            &format!(
                "%u: f32 = sqrt %x %w: f32 = div %u, 3.0:f32 %v: f32 = sqrt %w %z0: f32 = div %v, 7.0:f32 %z: f32 = sqrt %z0 %cell: f32[{elements}] = array [{list}] yield %cell"
            ),
        );
        // The array, its cells, and the sum.
        assert!(text.matches("lanes along axis 1").count() >= 2, "{elements}: {text}");
    }
}

#[test]
fn long_cells_with_little_work_and_those_made_elsewhere_stay_scalar() {
    let long = remarks(5, "%z: f32 = sub %x, %y %cell: f32[5] = array [%x, %y, %z, %y, %x] yield %cell");
    let shared = remarks(
        2,
        "%cell: f32[2] = array [%x, %y] %z: f32 = sel %cell, [0] %other: f32[2] = array [%z, %x]
        %b: bool = gt %z, 40.0:f32 %r: f32[2] = select %b, %cell, %other yield %r",
    );
    for text in [long, shared] {
        assert_eq!(text.matches("lanes along axis 1").count(), 1, "{text}");
    }
}
