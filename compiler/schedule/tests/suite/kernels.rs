//! Vector kernels and threads give what the interpreter gives.

use crate::common::same;

#[test]
fn convolution_with_jammed_maps() {
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (f32, f32) {
  %a: f32[28,28] = with {
    part [0, 0] <= [%i, %j] < [28, 28] {
      %p: i32 = mul %i, 3
      %q: i32 = add %p, %j
      %r: i32 = mod %q, 17
      %x: f32 = convert %r
      yield %x
    }
  } genarray [28, 28] cell []
  %w: f32[6,5,5] = with {
    part [0, 0, 0] <= [%m, %i_2, %j_2] < [6, 5, 5] {
      %p_2: i32 = mul %i_2, %j_2
      %q_2: i32 = add %p_2, %m
      %x_2: f32 = convert %q_2
      %y: f32 = mul %x_2, 0.125:f32
      yield %y
    }
  } genarray [6, 5, 5] cell []
  %c: f32[6,24,24] = with {
    part [0, 0, 0] <= [%m_2, %i_3, %j_3] < [6, 24, 24] {
      %s: f32 = with {
        part [0, 0] <= [%k, %l] < [5, 5] {
          %ik: i32 = add %i_3, %k
          %jl: i32 = add %j_3, %l
          %x_3: f32 = sel %a, [%ik, %jl]
          %y_2: f32 = sel %w, [%m_2, %k, %l]
          %z: f32 = mul %x_3, %y_2
          yield %z
        }
      } fold add neutral 0.0:f32
      %n: f32 = neg %s
      %h: f32 = mul %n, 0.001:f32
      %e: f32 = exp %h
      %d: f32 = add %e, 1.0:f32
      %o: f32 = div 1.0:f32, %d
      yield %o
    }
  } genarray [6, 24, 24] cell []
  %t: f32 = with {
    part [0, 0, 0] <= [%m_3, %i_4, %j_4] < [6, 24, 24] { %x_4: f32 = sel %c, [%m_3, %i_4, %j_4] yield %x_4 }
  } fold add neutral 0.0:f32
  %x_5: f32 = sel %c, [5, 23, 23]
  yield %t, %x_5
}
"#,
    );
    assert!(run.remarks.iter().any(|r| r.text.contains("jammed")), "{:?}", run.remarks);
}

#[test]
fn pooling_gradients_and_dot_products() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64, f64, f64) {
  %a: f64[24,24] = with {
    part [0, 0] <= [%i, %j] < [24, 24] {
      %p: i32 = mul %i, 5
      %q: i32 = sub %p, %j
      %x: f64 = convert %q
      yield %x
    }
  } genarray [24, 24] cell []
  %pool: f64[12,12] = with {
    part [0, 0] <= [%i_2, %j_2] < [12, 12] {
      %s: f64 = with {
        part [0, 0] <= [%k, %l] < [2, 2] {
          %i2: i32 = mul %i_2, 2
          %j2: i32 = mul %j_2, 2
          %ik: i32 = add %i2, %k
          %jl: i32 = add %j2, %l
          %x_2: f64 = sel %a, [%ik, %jl]
          yield %x_2
        }
      } fold add neutral 0.0
      %o: f64 = mul %s, 0.25
      yield %o
    }
  } genarray [12, 12] cell []
  %g: f64[5,5] = with {
    part [0, 0] <= [%k_2, %l_2] < [5, 5] {
      %s_2: f64, %mx: f64 = with {
        part [0, 0] <= [%i_3, %j_3] < [20, 19] {
          %ik_2: i32 = add %i_3, %k_2
          %jl_2: i32 = add %j_3, %l_2
          %x_3: f64 = sel %a, [%ik_2, %jl_2]
          %y: f64 = sel %a, [%i_3, %j_3]
          %z: f64 = mul %x_3, %y
          yield %z, %x_3
        }
      } fold add neutral 0.0 fold max neutral -1e300
      %o_2: f64 = add %s_2, %mx
      yield %o_2
    }
  } genarray [5, 5] cell []
  %tr: f64[12,12] = with {
    part [0, 0] <= [%i_4, %j_4] < [12, 12] { %x_4: f64 = sel %pool, [%j_4, %i_4] %f: f64 = convert %j_4 %y_2: f64 = add %x_4, %f yield %y_2 }
  } genarray [12, 12] cell []
  %t: f64, %u: f64 = with {
    part [0, 0] <= [%i_5, %j_5] < [12, 12] { %x_5: f64 = sel %tr, [%i_5, %j_5] %y_3: f64 = sel %pool, [%i_5, %j_5] %z_2: f64 = mul %x_5, %y_3 yield %x_5, %z_2 }
  } fold add neutral 3.0 fold min neutral 1e300
  %v: f64 = with { part [0, 0] <= [%i_6, %j_6] < [5, 5] { %x_6: f64 = sel %g, [%i_6, %j_6] yield %x_6 } } fold add neutral 0.0
  %x_7: f64 = sel %pool, [11, 11]
  yield %t, %u, %v, %x_7
}
"#,
    );
}

#[test]
fn run_time_shapes() {
    let text = r#"
entry @f1
func @f0 "product" noinline (%a: f32[s0,s1], %b: f32[s1,s2], %n: i32) -> (f32[s0,s2], f32, bool, i32) {
  %r: i32 = extent %a, 0
  %k: i32 = extent %a, 1
  %c: i32 = extent %b, 1
  %p: f32[s0,s2] = with {
    part [0, 0] <= [%i, %j] < [%r, %c] {
      %s: f32 = with {
        part [0] <= [%l] < [%k] {
          %x: f32 = sel %a, [%i, %l]
          %y: f32 = sel %b, [%l, %j]
          %z: f32 = mul %x, %y
          yield %z
        }
      } fold add neutral 0.0:f32
      yield %s
    }
  } genarray [%r, %c] cell []
  %t: f32, %any: bool, %count: i32 = with {
    part [0, 0] <= [%i_2, %j_2] < [%r, %c] {
      %x_2: f32 = sel %p, [%i_2, %j_2]
      %big: bool = gt %x_2, 10.0:f32
      %one: i32 = if %big { yield 1 } else { %m: i32 = sub 0, %j_2 yield %m }
      yield %x_2, %big, %one
    }
  } fold add neutral 0.0:f32 fold or neutral false fold add neutral 0
  yield %p, %t, %any, %count
}
func @f1 "main" () -> (f32, bool, i32, f32, f32, f32) {
  %a: f32[R,K] = with { part [0, 0] <= [%i, %j] < [R, K] { %s: i32 = sub %i, %j %x: f32 = convert %s %y: f32 = mul %x, 0.25:f32 yield %y } } genarray [R, K] cell []
  %b: f32[K,C] = with { part [0, 0] <= [%i_2, %j_2] < [K, C] { %s_2: i32 = add %i_2, %j_2 %x_2: f32 = convert %s_2 %y_2: f32 = mul %x_2, 0.5:f32 yield %y_2 } } genarray [K, C] cell []
  %p: f32[R,C], %t: f32, %any: bool, %n: i32 = call @f0 (%a, %b, 0)
  %r1: i32 = sub R, 1
  %c1: i32 = sub C, 1
  %x_3: f32 = sel %p, [%r1, %c1]
  %y_3: f32 = sel %p, [0, %c1]
  %z: f32 = sel %p, [%r1, 0]
  yield %t, %any, %n, %x_3, %y_3, %z
}
"#;
    for (r, k, c) in [(1, 1, 1), (3, 5, 7), (8, 16, 32), (13, 9, 21), (70, 33, 65)] {
        let program =
            text.replace("R,", &format!("{r},")).replace("[R", &format!("[{r}")).replace("sub R", &format!("sub {r}"));
        let program =
            program.replace("K,", &format!("{k},")).replace("K]", &format!("{k}]")).replace("[K", &format!("[{k}"));
        let program = program.replace("C]", &format!("{c}]")).replace("sub C", &format!("sub {c}"));
        same(&program);
    }
}

#[test]
fn large_loops_run_on_threads() {
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64, f64, i32) {
  %a: f64[100003] = with {
    part [0] <= [%i] < [100003] { %x: f64 = convert %i %y: f64 = mul %x, 1e-5 %e: f64 = exp %y yield %e }
  } genarray [100003] cell []
  %s: f64, %m: f64 = with { part [0] <= [%i_2] < [100003] { %x_2: f64 = sel %a, [%i_2] yield %x_2, %x_2 } } fold add neutral 0.5 fold max neutral 0.0
  %z: f64[7] = with { part [0] <= [%i_3] < [7] { yield 1.0 } } genarray [7] cell []
  %g: f64[7], %n: i32 = with {
    part [0] <= [%k] < [5000] {
      %v: f64[7] = with { part [0] <= [%i_4] < [7] { %x_3: f64 = sel %a, [%k] %f: f64 = convert %i_4 %y_2: f64 = mul %x_3, %f %s_2: f64 = sin %y_2 %t: f64 = add %s_2, %y_2 yield %t } } genarray [7] cell []
      yield %v, %k
    }
  } fold add neutral %z fold add neutral 0
  %x_4: f64 = sel %g, [6]
  yield %s, %m, %x_4, %n
}
"#,
    );
    assert!(run.remarks.iter().any(|r| r.text.contains("threads")), "{:?}", run.remarks);
}

#[test]
fn narrow_elements_and_masks() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (f32, i32, i64, u8) {
  %img: u8[9,33] = with { part [0, 0] <= [%i, %j] < [9, 33] { %p: i32 = mul %i, 29 %q: i32 = add %p, %j %b: u8 = convert %q yield %b } } genarray [9, 33] cell []
  %f: f32[9,33] = with { part [0, 0] <= [%i_2, %j_2] < [9, 33] { %b_2: u8 = sel %img, [%i_2, %j_2] %x: f32 = convert %b_2 %y: f32 = div %x, 255.0:f32 yield %y } } genarray [9, 33] cell []
  %m: bool[9,33] = with { part [0, 0] <= [%i_3, %j_3] < [9, 33] { %x_2: f32 = sel %f, [%i_3, %j_3] %c: bool = lt %x_2, 0.5:f32 %d: bool = isnan %x_2 %n: bool = not %d %o: bool = and %c, %n yield %o } } genarray [9, 33] cell []
  %sel: f32[9,33] = with { part [0, 0] <= [%i_4, %j_4] < [9, 33] { %c_2: bool = sel %m, [%i_4, %j_4] %x_3: f32 = sel %f, [%i_4, %j_4] %y_2: f32 = select %c_2, %x_3, 2.0:f32 yield %y_2 } } genarray [9, 33] cell []
  %cnt: i32 = with { part [0, 0] <= [%i_5, %j_5] < [9, 33] { %c_3: bool = sel %m, [%i_5, %j_5] %k: i32 = convert %c_3 yield %k } } fold add neutral 0
  %s: f32 = with { part [0, 0] <= [%i_6, %j_6] < [9, 33] { %x_4: f32 = sel %sel, [%i_6, %j_6] yield %x_4 } } fold add neutral 0.0:f32
  %l: i64[40] = with { part [0] <= [%i_7] < [40] { %x_5: i64 = convert %i_7 %y_3: i64 = mul %x_5, %x_5 %q_2: i64 = mod %y_3, 7:i64 yield %q_2 } } genarray [40] cell []
  %t: i64 = with { part [0] <= [%i_8] < [40] { %x_6: i64 = sel %l, [%i_8] yield %x_6 } } fold add neutral 0:i64
  %u: u8 = with { part [0, 0] <= [%i_9, %j_7] < [9, 33] { %x_7: u8 = sel %img, [%i_9, %j_7] yield %x_7 } } fold max neutral 0:u8
  yield %s, %cnt, %t, %u
}
"#,
    );
}

#[test]
fn gathers_and_data_dependent_indices() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (f32, f32) {
  %idx: i32[50] = with { part [0] <= [%i] < [50] { %p: i32 = mul %i, 13 %q: i32 = mod %p, 50 yield %q } } genarray [50] cell []
  %a: f32[50] = with { part [0] <= [%i_2] < [50] { %x: f32 = convert %i_2 yield %x } } genarray [50] cell []
  %g: f32[50] = with {
    part [0] <= [%i_3] < [50] {
      %k: i32 = sel %idx, [%i_3]
      %ok: bool = lt %k, 50
      check %ok, index %k, 50, 0
      %x_2: f32 = sel %a, [%k]
      %r: i32 = sub 49, %i_3
      %y: f32 = sel %a, [%r]
      %z: f32 = mul %x_2, %y
      yield %z
    }
  } genarray [50] cell []
  %s: f32 = with { part [0] <= [%i_4] < [50] { %x_3: f32 = sel %g, [%i_4] %k_2: i32 = sel %idx, [%i_4] %f: f32 = convert %k_2 %t: f32 = add %x_3, %f yield %t } } fold add neutral 0.0:f32
  %x_4: f32 = sel %g, [49]
  yield %s, %x_4
}
"#,
    );
}

#[test]
fn transposed_convolution_under_masks() {
    let text = r#"
entry @f0
func @f0 "main" () -> (f32, f32, f32, f32) {
  %d: f32[3,8,8] = with { part [0,0,0] <= [%m,%i,%j] < [3,8,8] { %p: i32 = mul %i, 7 %q: i32 = add %p, %j %r: i32 = add %q, %m %x: f32 = convert %r %y: f32 = mul %x, 0.01:f32 yield %y } } genarray [3,8,8] cell []
  %w: f32[3,6,5,5] = with { part [0,0,0,0] <= [%m_2,%n,%i_2,%j_2] < [3,6,5,5] { %p_2: i32 = mul %i_2, %j_2 %q_2: i32 = add %p_2, %n %r_2: i32 = sub %q_2, %m_2 %x_2: f32 = convert %r_2 yield %x_2 } } genarray [3,6,5,5] cell []
  %b: f32[6,12,WIDTH] = with {
    part [0, 0, 0] <= [%n_2, %i_3, %j_3] < [6, 12, WIDTH] {
      %i7: i32 = add %i_3, -7
      %j7: i32 = add %j_3, -7
      %li: i32 = max %i7, 0
      %lj: i32 = max %j7, 0
      %n1: i32 = add %n_2, 1
      %i1: i32 = add %i_3, 1
      %j1: i32 = add %j_3, 1
      %ui: i32 = min %i1, 5
      %uj: i32 = min %j1, 5
      %s: f32 = with {
        part [0] <= [%m_3] < [3] {
          %t: f32 = with {
            part [%n_2, %li, %lj] <= [%c, %k, %l] < [%n1, %ui, %uj] {
              %x_3: f32 = sel %w, [%m_3, %c, %k, %l]
              %o: i32 = sub %n_2, %c
              %mo: i32 = add %m_3, %o
              %ik: i32 = sub %i_3, %k
              %jl: i32 = sub %j_3, %l
              %y_2: f32 = sel %d, [%mo, %ik, %jl]
              %z: f32 = mul %x_3, %y_2
              yield %z
            }
          } fold add neutral 0.0:f32
          yield %t
        }
      } fold add neutral 0.0:f32
      yield %s
    }
  } genarray [6, 12, WIDTH] cell []
  %up: f32[6,24,24] = with {
    part [0, 0, 0] <= [%n_3, %i_4, %j_4] < [6, 24, 24] {
      %h: i32 = div %i_4, 2
      %v: i32 = div %j_4, 2
      %vv: i32 = min %v, 11
      %x_4: f32 = sel %b, [%n_3, %h, %vv]
      %y_3: f32 = sel %b, [%n_3, %h, 0]
      %z_2: f32 = sub %x_4, %y_3
      yield %z_2
    }
  } genarray [6, 24, 24] cell []
  %q_3: f32[6,24] = with { part [0, 0] <= [%n_4, %j_5] < [6, 24] { %v_2: i32 = div %j_5, 3 %x_5: f32 = sel %b, [%n_4, 2, %v_2] yield %x_5 } } genarray [6, 24] cell []
  %t_2: f32 = with { part [0, 0, 0] <= [%n_5, %i_5, %j_6] < [6, 12, WIDTH] { %x_6: f32 = sel %b, [%n_5, %i_5, %j_6] %f: f32 = convert %j_6 %y_4: f32 = mul %x_6, %f yield %y_4 } } fold add neutral 0.0:f32
  %u: f32 = with { part [0, 0, 0] <= [%n_6, %i_6, %j_7] < [6, 24, 24] { %x_7: f32 = sel %up, [%n_6, %i_6, %j_7] %f_2: f32 = convert %j_7 %y_5: f32 = mul %x_7, %f_2 yield %y_5 } } fold add neutral 0.0:f32
  %r_3: f32 = with { part [0, 0] <= [%n_7, %j_8] < [6, 24] { %x_8: f32 = sel %q_3, [%n_7, %j_8] %f_3: f32 = convert %j_8 %y_6: f32 = mul %x_8, %f_3 yield %y_6 } } fold add neutral 0.0:f32
  %e: f32 = sel %b, [5, 11, 11]
  yield %t_2, %u, %r_3, %e
}
"#;
    let run = same(&text.replace("WIDTH", "12"));
    assert!(run.remarks.iter().any(|r| r.text.contains("3 vectors per step")), "{:?}", run.remarks);
}

#[test]
fn windows_with_a_ragged_edge() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64) {
  %a: f64[11] = with { part [0] <= [%i] < [11] { %x: f64 = convert %i %y: f64 = sqrt %x yield %y } } genarray [11] cell []
  %s: f64[11] = with {
    part [0] <= [%i_2] < [11] {
      %lo: i32 = add %i_2, -2
      %l: i32 = max %lo, 0
      %hi: i32 = add %i_2, 3
      %h: i32 = min %hi, 11
      %t: f64, %m: f64 = with { part [%l] <= [%k] < [%h] { %x_2: f64 = sel %a, [%k] yield %x_2, %x_2 } } fold add neutral 0.5 fold max neutral 0.0
      %u: f64 = mul %t, %m
      yield %u
    }
  } genarray [11] cell []
  %d: f64[11] = with {
    part [0] <= [%i_3] < [11] {
      %lo_2: i32 = add %i_3, -2
      %l_2: i32 = max %lo_2, 0
      %hi_2: i32 = add %i_3, 3
      %h_2: i32 = min %hi_2, 11
      %t_2: f64 = with { part [%l_2] <= [%k_2] < [%h_2] { %o: i32 = sub %k_2, %i_3 %p: i32 = add %o, 2 %x_3: f64 = sel %a, [%p] %y_2: f64 = sel %a, [%i_3] %z: f64 = mul %x_3, %y_2 yield %z } } fold add neutral 0.0
      yield %t_2
    }
  } genarray [11] cell []
  %t_3: f64 = with { part [0] <= [%i_4] < [11] { %x_4: f64 = sel %s, [%i_4] %f: f64 = convert %i_4 %y_3: f64 = mul %x_4, %f yield %y_3 } } fold add neutral 0.0
  %u_2: f64 = with { part [0] <= [%i_5] < [11] { %x_5: f64 = sel %d, [%i_5] %f_2: f64 = convert %i_5 %y_4: f64 = mul %x_5, %f_2 yield %y_4 } } fold add neutral 0.0
  yield %t_3, %u_2
}
"#,
    );
}

#[test]
fn stencils_keep_their_border() {
    same(
        r#"
entry @f1
func @f0 "relax" noinline (%a: f64[s0,s1,2], %lo: i32, %hi: i32) -> (f64[s0,s1,2], f64) {
  %n: i32 = extent %a, 0
  %m: i32 = extent %a, 1
  %n1: i32 = sub %n, 1
  %m1: i32 = sub %m, 1
  %b: f64[s0,s1,2] = with {
    part [1, 1] <= [%i, %j] < [%n1, %m1] {
      %iu: i32 = sub %i, 1
      %id: i32 = add %i, 1
      %c: f64[2] = with {
        part [0] <= [%k] < [2] {
          %x: f64 = sel %a, [%iu, %j, %k]
          %y: f64 = sel %a, [%id, %j, %k]
          %s: f64 = add %x, %y
          yield %s
        }
      } genarray [2] cell []
      yield %c
    }
  } modarray %a
  %e: f64[s0,s1,2] = with { part [%lo] <= [%i_2] < [%hi] { %x_2: f64[s1,2] = sel %b, [0] yield %x_2 } } modarray %b
  %t: f64 = with { part [0, 0, 0] <= [%i_3, %j_2, %k_2] < [%n, %m, 2] { %x_3: f64 = sel %e, [%i_3, %j_2, %k_2] %f: f64 = convert %j_2 %y_2: f64 = mul %x_3, %f yield %y_2 } } fold add neutral 0.0
  %u: f64 = with { part [0, 0, 0] <= [%i_4, %j_3, %k_3] < [%n, %m, 2] { %x_4: f64 = sel %b, [%i_4, %j_3, %k_3] %f_2: f64 = convert %i_4 %y_3: f64 = mul %x_4, %f_2 yield %y_3 } } fold add neutral 0.0
  %r: f64 = add %t, %u
  yield %b, %r
}
func @f1 "main" () -> (f64, f64, f64) {
  %a: f64[5,6,2] = with { part [0, 0, 0] <= [%i, %j, %k] < [5, 6, 2] { %p: i32 = mul %i, %j %q: i32 = add %p, %k %x: f64 = convert %q %y: f64 = add %x, 1.0 yield %y } } genarray [5, 6, 2] cell []
  %b: f64[5,6,2], %r: f64 = call @f0 (%a, 2, 4)
  %c: f64[5,6,2], %s: f64 = call @f0 (%b, 3, 3)
  %d: f64[1,1,2] = with { part [0, 0, 0] <= [%i_2, %j_2, %k_2] < [1, 1, 2] { yield 4.0 } } genarray [1, 1, 2] cell []
  %f: f64[1,1,2], %t: f64 = call @f0 (%d, 0, 1)
  yield %r, %s, %t
}
"#,
    );
}

#[test]
fn unproven_checks_are_made_before_the_kernel() {
    let run = same(
        r#"
entry @f1
func @f0 "shift" noinline (%a: f64[s0], %d: i32, %n: i32) -> (f64[s1], f64) {
  %e: i32 = extent %a, 0
  %b: f64[s1] = with {
    part [0] <= [%i] < [%n] {
      %k: i32 = add %i, %d
      %lo: bool = ge %k, 0
      %hi: bool = lt %k, %e
      %in: bool = and %lo, %hi
      check %in, index %k, %e, 0
      %x: f64 = sel %a, [%k]
      %y: f64 = sqrt %x
      yield %y
    }
  } genarray [%n] cell []
  %s: f64 = with {
    part [0] <= [%i_2] < [%n] {
      %k_2: i32 = add %i_2, %d
      %hi_2: bool = lt %k_2, %e
      check %hi_2, index %k_2, %e, 0
      %lo_2: bool = ge %k_2, 0
      check %lo_2, index %k_2, %e, 0
      %x_2: f64 = sel %a, [%k_2]
      yield %x_2
    }
  } fold add neutral 0.0
  yield %b, %s
}
func @f1 "main" () -> (f64, f64, f64) {
  %a: f64[100] = with { part [0] <= [%i] < [100] { %x: f64 = convert %i yield %x } } genarray [100] cell []
  %b: f64[90], %s: f64 = call @f0 (%a, 7, 90)
  %x_2: f64 = sel %b, [89]
  %c: f64[0], %t: f64 = call @f0 (%a, 2000000000, 0)
  yield %s, %x_2, %t
}
"#,
    );
    assert!(run.remarks.iter().any(|r| r.text.contains("checks made before")), "{:?}", run.remarks);
}

#[test]
fn steps_along_other_axes_than_that_of_the_lanes() {
    let run = |step: &str| {
        same(&format!(
            r#"
entry @f0
func @f0 "main" () -> (f32) {{
  %a: f32[9,40] = with {{
    part [0, 0] <= [%i, %j] < [9, 40] {{ %p: i32 = mul %i, 40 %q: i32 = add %p, %j %x: f32 = convert %q yield %x }}
  }} genarray [9, 40] cell []
  %b: f32[9,40] = with {{
    part [1, 0] <= [%i_2, %j_2] < [9, 40] step {step} {{ %h: i32 = add %i_2, -1 %x_2: f32 = sel %a, [%h, %j_2] %y: f32 = sqrt %x_2 yield %y }}
  }} genarray [9, 40] cell []
  %s: f32 = with {{
    part [0, 0] <= [%i_3, %j_3] < [9, 40] {{ %x_3: f32 = sel %b, [%i_3, %j_3] %k: f32 = convert %j_3 %z: f32 = mul %x_3, %k yield %z }}
  }} fold add neutral 0.0:f32
  yield %s
}}
"#
        ))
    };
    let lanes = |step: &str| run(step).remarks.iter().filter(|r| r.text.contains("lanes along axis 1")).count();
    assert_eq!((lanes("[2, 1]"), lanes("[3, 1]")), (2, 2));
}

#[test]
fn short_axes_are_written_step_by_step_where_indices_are_then_known() {
    // Sums of two columns of rows of three elements, 16 rows side by side.
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64) {
  %a: f64[320,3] = with {
    part [0, 0] <= [%i, %j] < [320, 3] { %p: i32 = mul %i, 5 %q: i32 = sub %p, %j %x: f64 = convert %q yield %x }
  } genarray [320, 3] cell []
  %s: f64[48] = with {
    part [0] <= [%t] < [48] {
      %among: i32 = div %t, 3
      %column: i32 = mod %t, 3
      %f: f64 = with {
        part [0] <= [%r] < [20] {
          %m: i32 = mul %r, 16
          %row: i32 = add %m, %among
          %y: f64 = sel %a, [%row, %column]
          yield %y
        }
      } fold add neutral 0.0
      yield %f
    }
  } genarray [48] cell []
  %w: f64 = with { part [0] <= [%k] < [48] { %e: f64 = sel %s, [%k] %n: f64 = convert %k %ep: f64 = mul %e, %n yield %ep } } fold add neutral 0.0
  %last: f64 = sel %s, [47]
  yield %w, %last
}
"#,
    );
    assert!(run.remarks.iter().any(|r| r.text.contains("lanes along axis 0")), "{:?}", run.remarks);
}

/// Vectors per step of a body that loads twelve elements and then adds them up, those of the far end first or last.
fn vectors_of_a_sum(far_end_first: bool) -> bool {
    let loads: String = (0..12).map(|k| format!("%i{k}: i32 = add %i, {k}\n %x{k}: f64 = sel %a, [%i{k}]\n")).collect();
    let at = |k: usize| if far_end_first { 11 - k } else { k };
    let sums: String = (1..12)
        .map(|k| {
            let so_far = if k == 1 { format!("%x{}", at(0)) } else { format!("%s{}", k - 1) };
            format!("%s{k}: f64 = mul {so_far}, %x{}\n", at(k))
        })
        .collect();
    let interleaved: String = (0..12)
        .map(|k| {
            let load = format!("%i{k}: i32 = add %i, {k}\n %x{k}: f64 = sel %a, [%i{k}]\n");
            let so_far = if k == 1 { "%x0".to_string() } else { format!("%s{}", k.max(1) - 1) };
            if k == 0 { load } else { load + &format!("%s{k}: f64 = mul {so_far}, %x{k}\n") }
        })
        .collect();
    let body = if far_end_first { loads + &sums } else { interleaved };
    let run = same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f64) {{
  %a: f64[2011] = with {{ part [0] <= [%n] < [2011] {{ %p: i32 = mod %n, 7 %q: f64 = convert %p yield %q }} }} genarray [2011] cell []
  %b: f64[2000] = with {{
    part [0] <= [%i] < [2000] {{
      {body}
      yield %s11
    }}
  }} genarray [2000] cell []
  %s: f64 = sel %b, [1999]
  yield %s
}}
"#
    ));
    run.remarks.iter().any(|r| r.text.contains("4 vectors per step"))
}

#[test]
fn values_in_use_at_once_limit_the_vectors_of_a_step() {
    assert!(vectors_of_a_sum(false));
    assert!(!vectors_of_a_sum(true));
}
