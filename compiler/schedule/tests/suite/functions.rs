//! Exponentials and logarithms of compiled code: at the edges of what they take, and how far they are off.

use crate::common::same;

#[test]
fn exponentials_are_right_at_the_edges() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64, f64, f64, f32, f32, f32, f32, f64) {
  %a: f64 = exp -745.0
  %b: f64 = exp 710.0
  %c: f64 = exp -inf:f64
  %d: f64 = exp 709.7
  %e: f32 = exp -100.0:f32
  %f: f32 = exp 88.7:f32
  %g: f32 = exp inf:f32
  %h: f32 = exp -87.5:f32
  %i: f64 = exp 1e-300
  yield %a, %b, %c, %d, %e, %f, %g, %h, %i
}
"#,
    );
}

#[test]
fn logarithms_are_right_at_the_edges() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64, f64, f64, f64, f64, f32, f32, f32, f32, f32, f32) {
  %a: f64 = log 0.0
  %b: f64 = log -1.0
  %c: f64 = log inf:f64
  %d: f64 = log 5e-320
  %e: f64 = log 1.0000001
  %f: f64 = log 1.7e308
  %g: f32 = log 0.0:f32
  %h: f32 = log -inf:f32
  %i: f32 = log inf:f32
  %j: f32 = log 1e-42:f32
  %k: f32 = log 0.99999:f32
  %l: f32 = log NaN:f32
  yield %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l
}
"#,
    );
}

#[test]
fn exponentials_and_logarithms_are_accurate() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64, f32, f32) {
  %x: f64[20001] = with { part [0] <= [%i] < [20001] { %t: f64 = convert %i %u: f64 = mul %t, 0.07 %v: f64 = sub %u, 700.0 yield %v } } genarray [20001] cell []
  %w: f64, %m: f64 = with {
    part [0] <= [%i_2] < [20001] { %t_2: f64 = sel %x, [%i_2] %e: f64 = exp %t_2 %l: f64 = log %e %d: f64 = sub %l, %t_2 %a: f64 = abs %d %b: f64 = mul %t_2, 1e-3 %c: f64 = exp %b yield %a, %c }
  } fold max neutral 0.0 fold add neutral 0.0
  %big: bool = gt %w, 1e-12
  %wrong: f64 = if %big { yield %w } else { yield 0.0 }
  %p: f32[2001], %q: f32[2001] = with {
    part [0] <= [%i_3] < [2001] { %t_3: f32 = convert %i_3 %u_2: f32 = mul %t_3, 0.08:f32 %v_2: f32 = sub %u_2, 80.0:f32 %e_2: f32 = exp %v_2 %o: f32 = add %t_3, 0.5:f32 %l_2: f32 = log %o yield %e_2, %l_2 }
  } genarray [2001] cell [] genarray [2001] cell []
  %y: f32 = with { part [0] <= [%i_4] < [1200] { %t_4: f32 = sel %p, [%i_4] yield %t_4 } } fold add neutral 0.0:f32
  %z: f32 = with { part [0] <= [%i_5] < [2001] { %t_5: f32 = sel %q, [%i_5] yield %t_5 } } fold max neutral 0.0:f32
  yield %wrong, %m, %y, %z
}
"#,
    );
}
