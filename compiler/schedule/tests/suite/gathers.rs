//! Loads at places that data names: vectors of them, and the checks that come first.

use crate::common::{Run, same};
use ravel_schedule::Remark;

/// `r[i] = a[at[i]] * 2 + sqrt(a[at[i] + 1])` for some element type and extents, summed up.
fn lookup(elem: &str, n: u32, extent: u32) -> Run {
    same(&format!(
        r#"
entry @f0
func @f0 "main" () -> ({elem}) {{
  %a: {elem}[{extent}] = with {{
    part [0] <= [%i] < [{extent}] {{
      %p: i32 = mul %i, 7
      %q: i32 = mod %p, 31
      %x: {elem} = convert %q
      yield %x
    }}
  }} genarray [{extent}] cell []
  %at: i32[{n}] = with {{
    part [0] <= [%i_2] < [{n}] {{
      %p_2: i32 = mul %i_2, %i_2
      %last: i32 = sub {extent}, 1
      %q_2: i32 = mod %p_2, %last
      yield %q_2
    }}
  }} genarray [{n}] cell []
  %o: i32[{n}] = opaque %at
  %r: {elem}[{n}] = with {{
    part [0] <= [%i_3] < [{n}] {{
      %k: i32 = sel %o, [%i_3]
      %low: bool = ge %k, 0
      %high: bool = lt %k, {extent}
      %in: bool = and %low, %high
      check %in, index %k, {extent}, 0
      %x_3: {elem} = sel %a, [%k]
      %l: i32 = add %k, 1
      %in_2: bool = lt %l, {extent}
      check %in_2, index %l, {extent}, 0
      %y: {elem} = sel %a, [%l]
      %f: f64 = convert %y
      %g: f64 = sqrt %f
      %h: {elem} = convert %g
      %two: {elem} = add %x_3, %x_3
      %s: {elem} = add %two, %h
      yield %s
    }}
  }} genarray [{n}] cell []
  %t: {elem} = with {{
    part [0] <= [%i_4] < [{n}] {{ %x_4: {elem} = sel %r, [%i_4] yield %x_4 }}
  }} fold add neutral {zero}
  yield %t
}}
"#,
        zero = match elem {
            "f64" => "0.0".to_string(),
            "f32" => "0.0:f32".to_string(),
            "i32" => "0".to_string(),
            other => format!("0:{other}"),
        }
    ))
}

fn says(remarks: &[Remark], text: &str) -> bool {
    remarks.iter().any(|remark| remark.text.contains(text))
}

#[test]
fn lanes_check_what_they_load() {
    for (elem, n, extent) in
        [("f32", 203, 50), ("f64", 77, 9), ("i32", 64, 300), ("i64", 33, 4), ("i16", 129, 60), ("u8", 45, 20)]
    {
        let run = lookup(elem, n, extent);
        assert!(says(&run.wide_remarks, "checks made by lanes"), "{elem}: {:?}", run.wide_remarks);
    }
}

#[test]
fn few_indices_stay_scalar() {
    let run = lookup("f64", 1, 9);
    assert!(!says(&run.wide_remarks, "checks made by lanes"), "{:?}", run.wide_remarks);
}

#[test]
fn nothing_but_a_load_stays_scalar_where_lanes_are_collected_one_by_one() {
    // The last run is on the host's vectors, without an instruction that gathers.
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64) {
  %a: f64[40] = with {
    part [0] <= [%i] < [40] { %x: f64 = convert %i yield %x }
  } genarray [40] cell []
  %at: i32[501] = with {
    part [0] <= [%i_2] < [501] {
      %p: i32 = mul %i_2, 13
      %q: i32 = mod %p, 40
      yield %q
    }
  } genarray [501] cell []
  %o: i32[501] = opaque %at
  %r: f64[501] = with {
    part [0] <= [%i_3] < [501] {
      %k: i32 = sel %o, [%i_3]
      %low: bool = ge %k, 0
      %high: bool = lt %k, 40
      %in: bool = and %low, %high
      check %in, index %k, 40, 0
      %x_3: f64 = sel %a, [%k]
      yield %x_3
    }
  } genarray [501] cell []
  %x_4: f64 = sel %r, [499]
  %x_5: f64 = sel %r, [3]
  yield %x_4, %x_5
}
"#,
    );
    assert!(says(&run.remarks, "no axis suits vector lanes"), "{:?}", run.remarks);
}

/// A check whose index is loaded behind another check waits for it; so does a division by what was loaded.
#[test]
fn checks_wait_for_those_that_they_rely_on() {
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64) {
  %a: i32[30] = with {
    part [0] <= [%i] < [30] {
      %p: i32 = mul %i, 11
      %q: i32 = mod %p, 30
      yield %q
    }
  } genarray [30] cell []
  %b: i32[30] = opaque %a
  %r: f64[7,45] = with {
    part [0, 0] <= [%i_2, %j] < [7, 45] {
      %s: i32 = mul %j, 3
      %s_2: i32 = add %s, %i_2
      %k: i32 = mod %s_2, 30
      %l: i32 = sel %b, [%k]
      %l_low: bool = ge %l, 0
      %l_high: bool = lt %l, 30
      %l_in: bool = and %l_low, %l_high
      check %l_in, index %l, 30, 0
      %m: i32 = sel %b, [%l]
      %m_low: bool = ge %m, 0
      %m_high: bool = lt %m, 30
      %m_in: bool = and %m_low, %m_high
      check %m_in, index %m, 30, 0
      %x: i32 = sel %a, [%m]
      %d: i32 = add %m, 1
      %some: bool = neq %d, 0
      check %some, division
      %y: i32 = mul %x, %d
      %f: f64 = convert %y
      %g: f64 = exp %f
      %h: f64 = min %g, 1000.0
      %z: f64 = sqrt %f
      %w: f64 = add %z, %h
      yield %w
    }
  } genarray [7, 45] cell []
  %t: f64 = with {
    part [0, 0] <= [%i_3, %j_3] < [7, 45] { %x_3: f64 = sel %r, [%i_3, %j_3] yield %x_3 }
  } fold add neutral 0.0
  %u: f64 = sel %r, [6, 44]
  yield %t, %u
}
"#,
    );
    assert!(says(&run.wide_remarks, "checks made by lanes"), "{:?}", run.wide_remarks);
}

/// Sums of elements at places from data: the check stands in the fold.
#[test]
fn folds_check_their_indices() {
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64) {
  %a: f64[64] = with {
    part [0] <= [%i] < [64] { %x: f64 = convert %i yield %x }
  } genarray [64] cell []
  %at: i32[333] = with {
    part [0] <= [%i_2] < [333] {
      %p: i32 = mul %i_2, 29
      %q: i32 = mod %p, 64
      yield %q
    }
  } genarray [333] cell []
  %o: i32[333] = opaque %at
  %t: f64 = with {
    part [0] <= [%i_3] < [333] {
      %k: i32 = sel %o, [%i_3]
      %low: bool = ge %k, 0
      %high: bool = lt %k, 64
      %in: bool = and %low, %high
      check %in, index %k, 64, 0
      %x_3: f64 = sel %a, [%k]
      %y: f64 = sqrt %x_3
      %z: f64 = mul %y, %x_3
      %w: f64 = exp %z
      %v: f64 = div 1.0, %w
      yield %v
    }
  } fold add neutral 0.0
  %r: f64[37] = with {
    part [0] <= [%i_4] < [37] {
      %s: f64 = with {
        part [0] <= [%j] < [9] {
          %m: i32 = mul %i_4, 9
          %n: i32 = add %m, %j
          %k_2: i32 = sel %o, [%n]
          %low_2: bool = ge %k_2, 0
          %high_2: bool = lt %k_2, 64
          %in_2: bool = and %low_2, %high_2
          check %in_2, index %k_2, 64, 0
          %x_4: f64 = sel %a, [%k_2]
          %y_2: f64 = mul %x_4, -0.5
          %z_2: f64 = exp %y_2
          yield %z_2
        }
      } fold add neutral 0.0
      yield %s
    }
  } genarray [37] cell []
  %t_2: f64 = with {
    part [0] <= [%i_5] < [37] { %x_5: f64 = sel %r, [%i_5] yield %x_5 }
  } fold max neutral 0.0
  yield %t, %t_2
}
"#,
    );
    assert!(says(&run.wide_remarks, "checks made by lanes"), "{:?}", run.wide_remarks);
}

/// Of the places in branches some are far away: only lanes that take a branch load there.
fn in_branches(elem: &str, extent: u32) -> Run {
    same(&format!(
        r#"
entry @f0
func @f0 "main" () -> ({elem}, {elem}) {{
  %a: {elem}[{extent}] = with {{
    part [0] <= [%i] < [{extent}] {{
      %x: {elem} = convert %i
      yield %x
    }}
  }} genarray [{extent}] cell []
  %at: i32[157] = with {{
    part [0] <= [%i_2] < [157] {{
      %p: i32 = mul %i_2, %i_2
      %q: i32 = mod %p, 67
      %far: i32 = mul %q, 30000001
      %o: i32 = mod %i_2, 3
      %third: bool = eq %o, 1
      %k: i32 = select %third, %far, %q
      yield %k
    }}
  }} genarray [157] cell []
  %b: i32[157] = opaque %at
  %r: {elem}[157] = with {{
    part [0] <= [%i_3] < [157] {{
      %k_2: i32 = sel %b, [%i_3]
      %low: bool = ge %k_2, 0
      %high: bool = lt %k_2, {extent}
      %in: bool = and %low, %high
      %y: {elem} = if %in {{
        %x_2: {elem} = sel %a, [%k_2]
        yield %x_2
      }} else {{
        %none: {elem} = convert -3
        yield %none
      }}
      %w: {elem} = convert %i_3
      %v: {elem} = sqrt %w
      %u: {elem} = mul %v, %w
      %t: {elem} = sqrt %u
      %s: {elem} = add %t, %y
      yield %s
    }}
  }} genarray [157] cell []
  %sum: {elem} = with {{
    part [0] <= [%i_4] < [157] {{ %x_4: {elem} = sel %r, [%i_4] yield %x_4 }}
  }} fold add neutral {zero}
  %last: {elem} = sel %r, [156]
  yield %sum, %last
}}
"#,
        zero = if elem == "f64" { "0.0" } else { "0.0:f32" }
    ))
}

#[test]
fn lanes_that_leave_a_branch_out_load_nothing() {
    for (elem, extent) in [("f32", 67), ("f64", 40), ("f32", 1), ("f64", 0)] {
        let run = in_branches(elem, extent);
        assert!(
            extent == 0 || says(&run.wide_remarks, "loads under masks"),
            "{elem}[{extent}]: {:?}",
            run.wide_remarks
        );
    }
}
