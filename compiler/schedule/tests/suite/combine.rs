//! Partial results of folds on threads: large arrays are combined by all threads, small ones by one.

use crate::common::{Run, same};

/// A fold of `extents` arrays over 300 indices, and a scalar fold beside it.
fn fold_of(rows: i64, columns: i64) -> Run {
    let text = r#"
entry @f0
func @f0 "main" () -> (f32, f32, i32) {
  %n: f32[R,C] = with {
    part [0, 0] <= [%i, %j] < [R, C] { %p: f32 = convert %j yield %p }
  } genarray [R, C] cell []
  %t: f32[R,C], %k: i32 = with {
    part [0] <= [%m] < [300] {
      %c: f32[R,C] = with {
        part [0, 0] <= [%i_2, %j_2] < [R, C] {
          %a: i32 = mul %m, %i_2
          %b: i32 = add %a, %j_2
          %r: i32 = mod %b, 23
          %x: f32 = convert %r
          yield %x
        }
      } genarray [R, C] cell []
      yield %c, %m
    }
  } fold add neutral %n fold max neutral 7
  %s: f32 = with {
    part [0, 0] <= [%i_3, %j_3] < [R, C] { %y: f32 = sel %t, [%i_3, %j_3] yield %y }
  } fold add neutral 0.0:f32
  %z: f32 = sel %t, [LR, LC]
  yield %s, %z, %k
}
"#;
    let last = [("LR", rows - 1), ("LC", columns - 1), ("R", rows), ("C", columns)];
    same(&last.iter().fold(text.to_string(), |text, (name, value)| {
        text.replace(&format!("[{name},"), &format!("[{value},"))
            .replace(&format!(",{name}]"), &format!(",{value}]"))
            .replace(&format!(" {name}]"), &format!(" {value}]"))
    }))
}

fn shares(run: &Run) -> bool {
    run.remarks.iter().any(|r| r.text.contains("combined by all threads"))
}

#[test]
fn large_arrays_are_combined_by_all_threads() {
    // Vectors do not divide the second.
    for (rows, columns) in [(64, 32), (61, 37)] {
        assert!(shares(&fold_of(rows, columns)));
    }
}

#[test]
fn small_arrays_are_combined_by_one() {
    let run = fold_of(9, 11);
    assert!(run.remarks.iter().any(|r| r.text.contains("combined in order")), "{:?}", run.remarks);
    assert!(!shares(&run));
}

#[test]
fn a_few_elements_are_combined_without_a_loop() {
    let text = r#"
entry @f0
func @f0 "main" () -> (f64) {
  %n: f64[R,C] = with { part [0, 0] <= [%i, %j] < [R, C] { %p: f64 = convert %j yield %p } } genarray [R, C] cell []
  %t: f64[R,C] = with {
    part [0] <= [%m] < [5] {
      %c: f64[R,C] = with {
        part [0, 0] <= [%k, %l] < [R, C] { %a: i32 = mul %m, %k %b: i32 = add %a, %l %x: f64 = convert %b yield %x }
      } genarray [R, C] cell []
      yield %c
    }
  } fold add neutral %n
  %s: f64 = with { part [0, 0] <= [%o, %q] < [R, C] { %y: f64 = sel %t, [%o, %q] yield %y } } fold add neutral 0.0
  yield %s
}
"#;
    let run = |rows: i32, columns: i32| same(&text.replace('R', &rows.to_string()).replace('C', &columns.to_string()));
    let written = |run: &Run| run.remarks.iter().any(|r| r.text.contains("combined without a loop"));
    for (rows, columns) in [(4, 4), (3, 3), (7, 9), (1, 1)] {
        let run = run(rows, columns);
        assert!(written(&run), "{rows} x {columns}: {:?}", run.remarks);
    }
    assert!(!written(&run(9, 11)));
}
