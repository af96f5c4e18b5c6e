//! Branches that load and divisions by constants in lanes, and bodies that stay scalar.

use crate::common::same;

/// Whether the array `%c: i32[n]` that `body` makes from `%a: i32[150]` and `%b: bool[150]` is computed in lanes, and what was remarked.
fn lanes(n: u32, body: &str) -> (bool, String) {
    let run = same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (i32) {{
  %k: i32 = opaque 3
  %a: i32[150] = with {{
    part [0] <= [%i0] < [150] {{ %p0: i32 = mul %i0, 7919 %q0: i32 = mod %p0, 128 %r0: i32 = sub %q0, 50 yield %r0 }}
  }} genarray [150] cell []
  %b: bool[150] = with {{
    part [0] <= [%i1] < [150] {{ %x1: i32 = sel %a, [%i1] %y1: bool = gt %x1, %k yield %y1 }}
  }} genarray [150] cell []
  %c: i32[{n}] = with {{
    part [0] <= [%i] < [{n}] {{
{body}
    }}
  }} genarray [{n}] cell []
  %t: i32 = with {{
    part [0] <= [%i9] < [{n}] {{ %y9: i32 = sel %c, [%i9] %z9: i32 = mul %y9, %i9 yield %z9 }}
  }} fold add neutral 0
  yield %t
}}
"#
    ));
    let own: Vec<&str> = run.remarks.iter().map(|r| r.text.as_str()).collect();
    // All other with-loops are.
    (!own.iter().any(|text| text.contains("scalar loops")), format!("{own:?}"))
}

#[test]
fn sides_load_what_every_index_could() {
    let guarded =
        "%c0: bool = sel %b, [%i] %r: i32 = if %c0 { %j: i32 = add %i, 3 %x: i32 = sel %a, [%j] %y: bool = sel %b, [%j]
        %z: i32 = if %y { yield %x } else { %w: i32 = sel %a, [%i] yield %w } yield %z } else { yield %i } yield %r";
    let (fires, remarks) = lanes(147, guarded);
    assert!(fires, "{remarks}");
}

#[test]
fn sides_whose_loads_may_be_wrong_do_not_pay_alone() {
    // Lanes would load one by one, each under a condition. The last indices would load beyond the end.
    let end = "%j: i32 = add %i, 3 %c0: bool = lt %j, 150 %r: i32 = if %c0 { %x: i32 = sel %a, [%j] yield %x } else { yield %i } yield %r";
    let (fires, remarks) = lanes(150, end);
    assert!(!fires && remarks.contains("no axis suits"), "{remarks}");
    // The index is data.
    let data = "%j: i32 = sel %a, [%i] %c0: bool = ge %j, 0 %r: i32 = if %c0 { %x: i32 = sel %a, [%j] yield %x } else { yield %i } yield %r";
    let (fires, remarks) = lanes(150, data);
    assert!(!fires && remarks.contains("no axis suits"), "{remarks}");
}

#[test]
fn sides_divide_where_no_lane_can_fault() {
    let side = |by: &str| {
        format!(
            "%x: i32 = sel %a, [%i] %c0: bool = gt %x, 9 %r: i32 = if %c0 {{ %j: i32 = add %i, 1 %l: i32 = min %j, 149 %z: i32 = sel %a, [%l]
            %y: i32 = mod %z, {by} yield %y }} else {{ yield %i }} yield %r"
        )
    };
    for by in ["16", "4"] {
        let (fires, remarks) = lanes(149, &side(by));
        assert!(fires, "{by}: {remarks}");
    }
    let (fires, remarks) = lanes(149, &side("%k"));
    assert!(!fires && remarks.contains("divides integers"), "{remarks}");
}

#[test]
fn lanes_divide_by_powers_of_two() {
    for (op, by) in [("div", 8), ("mod", 16), ("aplmod", 4), ("div", 1)] {
        let (fires, remarks) =
            lanes(150, &format!("%x: i32 = sel %a, [%i] %y: i32 = {op} %x, {by} %z: i32 = add %y, 1 yield %z"));
        assert!(fires, "{op} {by}: {remarks}");
    }
    // Each lane would divide by itself.
    let (fires, remarks) = lanes(150, "%x: i32 = sel %a, [%i] %y: i32 = div %x, %k yield %y");
    assert!(!fires, "{remarks}");
}
