//! Elements that lie between each other, real and imaginary parts say, are picked from the same loads.

use crate::common::{same, scheduled};
use ravel_schedule::Capabilities;

/// Loads of 16 elements in the nest of a function over pairs, `body` being what it yields at `%i`.
fn loads(body: &str) -> usize {
    let text = format!(
        "func @f0 \"f\" (%a: f32[s0,2], %m: i32) -> (f32[s0]) {{
           %n: i32 = extent %a, 0
           %r: f32[s0] = with {{ part [0] <= [%i] < [%n] {{ {body} }} }} genarray [%n] cell []
           yield %r
         }}"
    );
    let target = Capabilities {
        vector_bytes: 64,
        vector_registers: 32,
        has_fma: true,
        fma_takes_factor: false,
        has_gather: true,
        ..Capabilities::SCALAR
    };
    scheduled(&text, target).0.to_string().matches("f32x16 = load").count()
}

#[test]
fn both_of_a_pair_take_as_many_loads_as_one() {
    let one = loads("%x: f32 = sel %a, [%i, 0] %z: f32 = mul %x, %x yield %z");
    let both = loads("%x: f32 = sel %a, [%i, 0] %y: f32 = sel %a, [%i, 1] %z: f32 = mul %x, %y yield %z");
    assert!(one > 0 && both == one, "{both} {one}");
}

#[test]
fn what_a_check_stands_before_is_not_loaded_with_others() {
    let both = loads("%x: f32 = sel %a, [%i, 0] %y: f32 = sel %a, [%i, 1] %z: f32 = mul %x, %y yield %z");
    let checked = loads(
        "%x: f32 = sel %a, [%i, 0] %c: bool = ge %m, 0 check %c, message \"negative\" []
         %y: f32 = sel %a, [%i, 1] %z: f32 = mul %x, %y yield %z",
    );
    // Without lanes there are no such loads at all.
    assert!(checked == 0 || checked > both, "{checked} {both}");
}

#[test]
fn the_last_pair_ends_where_the_array_ends() {
    for n in [1, 2, 15, 16, 17, 37, 64] {
        same(&format!(
            r#"
entry @f0
func @f0 "main" () -> (f32) {{
  %a: f32[{n},2] = with {{
    part [0, 0] <= [%i0, %j0] < [{n}, 2] {{ %p0: i32 = mul %i0, 2 %q0: i32 = add %p0, %j0 %x0: f32 = convert %q0 yield %x0 }}
  }} genarray [{n}, 2] cell []
  %b: f32[{n}] = with {{
    part [0] <= [%i] < [{n}] {{ %x: f32 = sel %a, [%i, 0] %y: f32 = sel %a, [%i, 1] %z: f32 = sub %y, %x %w: f32 = mul %z, %y yield %w }}
  }} genarray [{n}] cell []
  %t: f32 = with {{
    part [0] <= [%k] < [{n}] {{ %u: f32 = sel %b, [%k] %v: f32 = convert %k %w9: f32 = add %v, 1.0:f32 %s: f32 = mul %u, %w9 yield %s }}
  }} fold add neutral 0.0:f32
  yield %t
}}
"#
        ));
    }
}
