//! Kernels inside the chunks of a parallel loop: idle threads help with those that are worth it.

use crate::common::{Run, same};

/// Three images of N x N elements, each smoothed and then scaled.
fn images(extent: i64, window: i64) -> Run {
    let text = r#"
entry @f0
func @f0 "main" () -> (f64) {
  %a: f64[3,N,N] = with {
    part [0, 0, 0] <= [%k, %i, %j] < [3, N, N] {
      %m: i32 = mul %i, 7
      %s: i32 = add %m, %j
      %t: i32 = add %s, %k
      %r: i32 = mod %t, 31
      %x: f64 = convert %r
      yield %x
    }
  } genarray [3, N, N] cell []
  %b: f64[3,M,M] = with {
    part [0] <= [%c] < [3] {
      %d: f64[M,M] = with {
        part [0, 0] <= [%p, %q] < [M, M] {
          %e: f64 = with {
            part [0, 0] <= [%u, %v] < [W, W] {
              %pu: i32 = add %p, %u
              %qv: i32 = add %q, %v
              %f: f64 = sel %a, [%c, %pu, %qv]
              yield %f
            }
          } fold add neutral 0.0
          yield %e
        }
      } genarray [M, M] cell []
      %g: f64 = with {
        part [0, 0] <= [%p_2, %q_2] < [M, M] { %h: f64 = sel %d, [%p_2, %q_2] yield %h }
      } fold max neutral 1.0
      %l: f64[M,M] = with {
        part [0, 0] <= [%p_3, %q_3] < [M, M] {
          %y: f64 = sel %d, [%p_3, %q_3]
          %z: f64 = div %y, %g
          yield %z
        }
      } genarray [M, M] cell []
      yield %l
    }
  } genarray [3] cell [M, M]
  %total: f64 = with {
    part [0, 0, 0] <= [%o1, %o2, %o3] < [3, M, M] { %o: f64 = sel %b, [%o1, %o2, %o3] yield %o }
  } fold add neutral 0.0
  yield %total
}
"#;
    let rest = extent - window + 1;
    let numbers = [("N", extent), ("M", rest), ("W", window)];
    same(&numbers.iter().fold(text.to_string(), |text, (name, value)| {
        let mut text = text;
        for (before, after) in [("[", ","), ("[", "]"), (" ", "]"), (" ", ","), (",", ","), (",", "]")] {
            text = text.replace(&format!("{before}{name}{after}"), &format!("{before}{value}{after}"));
        }
        text
    }))
}

fn shared(run: &Run) -> usize {
    run.remarks.iter().filter(|remark| remark.text == "shared with threads that are idle").count()
}

#[test]
fn long_kernels_of_few_chunks_are_shared() {
    // The window's sums, not the scaling; the second extent is no multiple of blocks and vectors.
    for extent in [384, 391] {
        assert_eq!(shared(&images(extent, 5)), 1, "{extent}");
    }
}

#[test]
fn short_ones_are_shared_in_two_forms() {
    assert_eq!(shared(&images(180, 5)), 1);
}

#[test]
fn small_ones_are_not() {
    assert_eq!(shared(&images(90, 5)), 0);
}
