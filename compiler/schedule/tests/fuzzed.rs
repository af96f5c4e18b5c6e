//! Programs that random testing found to go wrong, made small.

mod common;

use common::same;

#[test]
fn cells_of_a_loop_without_indices_have_the_shape_of_the_type() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (i32, i32) {
  %a: i32[3,2] = with { } genarray [3]
  %r: i32[*] = widen %a
  %n: i32 = rank %r
  %b: i32[3,2] = narrow %r
  %x: i32 = sel %b, [2, 1]
  yield %n, %x
}
"#,
    );
}

#[test]
fn masks_have_the_width_of_the_accumulator() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (f64) {
  %zero: f64 = opaque 0.0
  %z: f64[3,5] = with { part [0, 0] <= [%i, %j] < [3, 5] { yield %zero } } genarray [3, 5] cell []
  %a: f64[3,5] = with {
    part [0, 0] <= [%i_2, %j_2] < [3, 5] {
      %m: i32 = with { part [%j_2] <= [%k] < [5] { yield %k } } fold max neutral 3
      %x: f64 = convert %m
      %y: f64 = abs %x
      yield %y
    }
  } modarray %z
  %s: f64 = with { part [0, 0] <= [%i_3, %j_3] < [3, 5] { %q: f64 = sel %a, [%i_3, %j_3] yield %q } } fold add neutral 0.0
  yield %s
}
"#,
    );
}
