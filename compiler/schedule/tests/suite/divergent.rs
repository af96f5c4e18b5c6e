//! Loops and branches that lanes leave or take at different times give what the interpreter gives, in lanes where they can.

use crate::common::{Run, same};

fn in_lanes(run: &Run) -> bool {
    run.remarks.iter().any(|r| r.text.contains("lanes along"))
}

fn refused(run: &Run, reason: &str) -> bool {
    run.remarks.iter().any(|r| r.text.contains(reason))
}

/// Escape times over an image; `ELEM` is the element type, the counter an `i32`.
const ESCAPE: &str = r#"
entry @f0
func @f0 "main" () -> (i32, i32, i32) {
  %n: i32[ROWS,COLS] = with {
    part [0, 0] <= [%i, %j] < [ROWS, COLS] {
      %cy0: ELEM = convert %i
      %cx0: ELEM = convert %j
      %cy1: ELEM = mul %cy0, 0.11:ELEM
      %cx1: ELEM = mul %cx0, 0.07:ELEM
      %cy: ELEM = sub %cy1, 1.0:ELEM
      %cx: ELEM = sub %cx1, 2.0:ELEM
      %x: ELEM, %y: ELEM, %k: i32 = loop (%u: ELEM = 0.0:ELEM, %v: ELEM = 0.0:ELEM, %c: i32 = 0) {
        %uu: ELEM = mul %u, %u
        %vv: ELEM = mul %v, %v
        %d: ELEM = sub %uu, %vv
        %u1: ELEM = add %d, %cx
        %uv: ELEM = mul %u, %v
        %uv2: ELEM = add %uv, %uv
        %v1: ELEM = add %uv2, %cy
        %c1: i32 = add %c, 1
        %more: bool = lt %c1, 50
        %u2: ELEM = mul %u1, %u1
        %v2: ELEM = mul %v1, %v1
        %r: ELEM = add %u2, %v2
        %near: bool = le %r, 4.0:ELEM
        %again: bool = and %more, %near
        yield %again, %u1, %v1, %c1
      }
      RESULT
      yield %out
    }
  } genarray [ROWS, COLS] cell []
  %s: i32 = with { part [0, 0] <= [%i_2, %j_2] < [ROWS, COLS] { %e: i32 = sel %n, [%i_2, %j_2] yield %e } } fold add neutral 0
  %w: i32 = with { part [0, 0] <= [%i_3, %j_3] < [ROWS, COLS] { %e_2: i32 = sel %n, [%i_3, %j_3] %p: i32 = mul %i_3, COLS %q: i32 = add %p, %j_3 %z: i32 = mul %q, %e_2 yield %z } } fold add neutral 0
  %lr: i32 = sub ROWS, 1
  %lc: i32 = sub COLS, 1
  %last: i32 = sel %n, [%lr, %lc]
  yield %s, %w, %last
}
"#;

fn escape(elem: &str, rows: i64, columns: i64, result: &str) -> String {
    let text = ESCAPE.replace("RESULT", result).replace("ELEM", elem);
    text.replace("ROWS", &rows.to_string()).replace("COLS", &columns.to_string())
}

#[test]
fn escape_times_run_in_lanes() {
    for elem in ["f32", "f64"] {
        for (rows, columns) in [(1, 1), (3, 7), (5, 16), (4, 33), (9, 67), (40, 3)] {
            let run = same(&escape(elem, rows, columns, "%out: i32 = add %k, 0"));
            assert!(columns < 16 || in_lanes(&run), "{:?}", run.remarks);
            // The last values of the other carried values are used too: they stop with the lane.
            let both =
                "%xy: ELEM = mul %x, %y %xs: ELEM = mul %xy, 16.0:ELEM %xi: i32 = convert %xs %out: i32 = add %k, %xi";
            same(&escape(elem, rows, columns, both));
        }
    }
}

#[test]
fn counters_of_all_widths_beside_values_of_all_widths() {
    let text = r#"
entry @f0
func @f0 "main" () -> (i64, i64, i64) {
  %a: VALUE[77] = with { part [0] <= [%i] < [77] { %m: i32 = mul %i, 37 %r: i32 = mod %m, 101 %o: i32 = add %r, 6 %x: VALUE = convert %o yield %x } } genarray [77] cell []
  %n: COUNT[77] = with {
    part [0] <= [%i_2] < [77] {
      %x_2: VALUE = sel %a, [%i_2]
      %zero: VALUE = convert 0
      %two: VALUE = convert 2
      %three: VALUE = convert 3
      %c0: COUNT = convert 0
      %c1: COUNT = convert 1
      %l: VALUE, %k: COUNT = loop (%y: VALUE = %x_2, %c: COUNT = %c0) {
        %h: VALUE = sub %y, %three
        %b: bool = gt %h, %three
        %f: VALUE = select %b, %h, %two
        %d: COUNT = add %c, %c1
        %e: COUNT = convert %b
        %d2: COUNT = add %d, %e
        yield %b, %f, %d2
      }
      %ko: COUNT = convert %l
      %out: COUNT = add %k, %ko
      yield %out
    }
  } genarray [77] cell []
  %s: i64 = with { part [0] <= [%i_3] < [77] { %e_2: COUNT = sel %n, [%i_3] %w: i64 = convert %e_2 yield %w } } fold add neutral 0:i64
  %t: i64 = with { part [0] <= [%i_4] < [77] { %e_3: COUNT = sel %n, [%i_4] %w_2: i64 = convert %e_3 %p: i64 = convert %i_4 %q: i64 = mul %w_2, %p yield %q } } fold add neutral 0:i64
  %g: COUNT = sel %n, [76]
  %u: i64 = convert %g
  yield %s, %t, %u
}
"#;
    for value in ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"] {
        for count in ["i8", "u16", "i32", "u32", "i64", "u64", "f32", "f64"] {
            same(&text.replace("VALUE", value).replace("COUNT", count));
        }
    }
}

#[test]
fn branches_around_loops_and_nested_loops() {
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (i32, i32) {
  %a: i32[13,37] = with {
    part [0, 0] <= [%i, %j] < [13, 37] {
      %p: i32 = mul %i, 5
      %q: i32 = add %p, %j
      %odd: bool = gt %j, 9
      %x: i32 = if %odd {
        %s: i32, %n: i32 = loop (%t: i32 = 0, %c: i32 = %q) {
          %inner: i32, %m: i32 = loop (%e: i32 = %t, %d: i32 = 0) {
            %e1: i32 = add %e, %d
            %d1: i32 = add %d, 2
            %more: bool = lt %d1, %c
            yield %more, %e1, %d1
          }
          %t1: i32 = add %inner, %m
          %c1: i32 = sub %c, 7
          %left: bool = gt %c1, 0
          yield %left, %t1, %c1
        }
        %sn: i32 = add %s, %n
        yield %sn
      } else {
        %low: bool = lt %i, 3
        %y: i32 = if %low { yield %j } else {
          %r: i32 = loop (%f: i32 = 1) {
            %f1: i32 = mul %f, 3
            %small: bool = lt %f1, %q
            yield %small, %f1
          }
          yield %r
        }
        yield %y
      }
      yield %x
    }
  } genarray [13, 37] cell []
  %s_2: i32 = with { part [0, 0] <= [%i_2, %j_2] < [13, 37] { %e_2: i32 = sel %a, [%i_2, %j_2] yield %e_2 } } fold add neutral 0
  %w: i32 = with { part [0, 0] <= [%i_3, %j_3] < [13, 37] { %e_3: i32 = sel %a, [%i_3, %j_3] %o: i32 = mul %i_3, 41 %g: i32 = add %o, %j_3 %z: i32 = mul %g, %e_3 yield %z } } fold xor neutral 0
  yield %s_2, %w
}
"#,
    );
    assert!(in_lanes(&run), "{:?}", run.remarks);
}

#[test]
fn a_loop_under_a_fold_and_a_loop_that_all_lanes_leave_together() {
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (f32, i32, f64) {
  %t: f32, %m: i32 = with {
    part [0, 0] <= [%i, %j] < [11, 53] {
      %p: i32 = mul %i, %j
      %x: f32 = convert %p
      %r: f32, %k: i32 = loop (%y: f32 = %x, %c: i32 = 0) {
        %y1: f32 = mul %y, 0.5:f32
        %c1: i32 = add %c, 1
        %b: bool = gt %y1, 1.0:f32
        yield %b, %y1, %c1
      }
      yield %r, %k
    }
  } fold add neutral 0.0:f32 fold max neutral 0
  %root: f64[29] = with {
    part [0] <= [%i_2] < [29] {
      %x_2: f64 = convert %i_2
      %x_3: f64 = add %x_2, 1.0
      %y_2: f64, %c_2: i32 = loop (%z: f64 = 1.0, %d: i32 = 0) {
        %q: f64 = div %x_3, %z
        %s: f64 = add %z, %q
        %h: f64 = mul %s, 0.5
        %d1: i32 = add %d, 1
        %b_2: bool = lt %d1, 12
        yield %b_2, %h, %d1
      }
      %cf: f64 = convert %c_2
      %o: f64 = add %y_2, %cf
      yield %o
    }
  } genarray [29] cell []
  %u: f64 = with { part [0] <= [%i_3] < [29] { %e: f64 = sel %root, [%i_3] yield %e } } fold add neutral 0.0
  yield %t, %m, %u
}
"#,
    );
    assert!(in_lanes(&run), "{:?}", run.remarks);
}

#[test]
fn loops_that_carry_arrays_stay_scalar() {
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (i32) {
  %a: i32[40] = with {
    part [0] <= [%i] < [40] {
      %z: i32[4] = with { part [0] <= [%k] < [4] { yield %i } } genarray [4] cell []
      %v: i32[4], %n: i32 = loop (%w: i32[4] = %z, %c: i32 = 0) {
        %e: i32 = sel %w, [1]
        %f: i32 = add %e, %c
        %w1: i32[4] = update %w, [1], %f
        %c1: i32 = add %c, 1
        %more: bool = lt %c1, 3
        yield %more, %w1, %c1
      }
      %g: i32 = sel %v, [1]
      yield %g
    }
  } genarray [40] cell []
  %s: i32 = with { part [0] <= [%i_2] < [40] { %e_2: i32 = sel %a, [%i_2] yield %e_2 } } fold add neutral 0
  yield %s
}
"#,
    );
    assert!(refused(&run, "scalar loops"), "{:?}", run.remarks);
    assert_eq!(run.copies, 0, "the carried array is updated in place");
}

/// The nearest of some centers for each of 37 points, and a sum along a row for each of 21 columns.
fn nearest(trips: &str) -> String {
    format!(
        r#"
entry @f0
func @f0 "main" () -> (i32, f64) {{
  %p: f64[37,3] = with {{
    part [0, 0] <= [%i, %j] < [37, 3] {{
      %m: i32 = mul %i, 5 %n: i32 = add %m, %j %o: i32 = mod %n, 11 %x: f64 = convert %o yield %x
    }}
  }} genarray [37, 3] cell []
  %c: f64[9,3] = with {{
    part [0, 0] <= [%i_2, %j_2] < [9, 3] {{
      %m_2: i32 = mul %i_2, 7 %n_2: i32 = add %m_2, %j_2 %o_2: i32 = mod %n_2, 10 %x_2: f64 = convert %o_2 yield %x_2
    }}
  }} genarray [9, 3] cell []
  %owner: i32[37] = with {{
    part [0] <= [%k] < [37] {{
      %x0: f64 = sel %p, [%k, 0]
      %x1: f64 = sel %p, [%k, 2]
      %best: i32, %least: f64, %last: i32 = loop (%b: i32 = 0, %l: f64 = 1000.0, %t: i32 = 0) {{
        %c0: f64 = sel %c, [%t, 0]
        %c1: f64 = sel %c, [%t, 2]
        %d0: f64 = sub %x0, %c0
        %d1: f64 = sub %x1, %c1
        %e0: f64 = mul %d0, %d0
        %e1: f64 = mul %d1, %d1
        %d: f64 = add %e0, %e1
        %closer: bool = lt %d, %l
        %b1: i32 = select %closer, %t, %b
        %l1: f64 = select %closer, %d, %l
        %t1: i32 = add %t, 1
        {trips}
        yield %more, %b1, %l1, %t1
      }}
      yield %best
    }}
  }} genarray [37] cell []
  %sums: f64[3] = with {{
    part [0] <= [%r] < [3] {{
      %total: f64, %u_last: i32 = loop (%sum: f64 = 0.5, %u: i32 = 0) {{
        %y: f64 = sel %p, [%u, %r]
        %sum1: f64 = add %sum, %y
        %u1: i32 = add %u, 1
        %on: bool = lt %u1, 37
        yield %on, %sum1, %u1
      }}
      yield %total
    }}
  }} genarray [3] cell []
  %w: i32 = with {{
    part [0] <= [%q] < [37] {{ %z: i32 = sel %owner, [%q] %q1: i32 = add %q, 1 %zq: i32 = mul %z, %q1 yield %zq }}
  }} fold add neutral 0
  %v: f64 = with {{ part [0] <= [%q_2] < [3] {{ %z_2: f64 = sel %sums, [%q_2] yield %z_2 }} }} fold add neutral 0.0
  yield %w, %v
}}
"#
    )
}

#[test]
fn loops_that_run_equally_often_may_load() {
    let run = same(&nearest("%more: bool = lt %t1, 9"));
    assert!(!refused(&run, "has loads"), "{:?}", run.remarks);
    assert!(in_lanes(&run), "{:?}", run.remarks);
}

#[test]
fn loops_that_lanes_leave_by_themselves_do_not_load() {
    // What a lane that has left would load at is unknown where the end comes from data.
    let far = "%far: bool = gt %l1, 1.0 %more: bool = and %in, %far";
    let run = same(&nearest(&format!("%end: i32 = max %b1, 9 %in: bool = lt %t1, %end {far}")));
    assert!(refused(&run, "has loads"), "{:?}", run.remarks);
    // A counter up to a constant is one for all lanes, and in range while any of them goes on.
    let run = same(&nearest(&format!("%in: bool = lt %t1, 9 {far}")));
    assert!(in_lanes(&run), "{:?}", run.remarks);
}

/// Steps of Newton's method for the square root of every index, until the square is near.
const NEWTON: &str = r#"
entry @f0
func @f0 "main" () -> (i32) {
  %k: i32 = opaque 7
  %n: i32[75] = with {
    part [0] <= [%i] < [75] {
      %a: ELEM = convert %i
      %x: ELEM, %y: ELEM, %c: i32 = loop (%u: ELEM = 1.0:ELEM, %o: ELEM = 0.0:ELEM, %d: i32 = 0) {
        %q: ELEM = div %a, %u
        %s: ELEM = add %u, %q
        %h: ELEM = mul %s, 0.5:ELEM
        %e: i32 = BY
        %d1: i32 = add %e, 1
        %w: ELEM = mul %h, %h
        %r: ELEM = sub %w, %a
        %far: bool = gt %r, 0.125:ELEM
        %more: bool = lt %d1, 40
        %again: bool = and %far, %more
        yield %again, %h, %r, %d1
      }
      yield %c
    }
  } genarray [75] cell []
  %t: i32 = with {
    part [0] <= [%j] < [75] { %z: i32 = sel %n, [%j] %p: i32 = mul %z, %j yield %p }
  } fold add neutral 0
  yield %t
}
"#;

#[test]
fn loops_divide_where_no_lane_can_fault() {
    for elem in ["f32", "f64"] {
        let run = same(&NEWTON.replace("ELEM", elem).replace("BY", "div %d, 1"));
        assert!(in_lanes(&run), "{elem}: {:?}", run.remarks);
    }
    // What a lane that has ended divides by might be zero.
    let run = same(&NEWTON.replace("ELEM", "f64").replace("BY", "div %d, %k"));
    assert!(refused(&run, "divides integers"), "{:?}", run.remarks);
}
