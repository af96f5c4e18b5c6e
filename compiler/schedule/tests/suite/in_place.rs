//! Modarrays that read the array they change: in place where no cell reads what another one writes.

use crate::common::{Run, rounds, same};

/// Whether a modarray of the iterations is said to change its array in place; if so, there is one array in all.
fn in_place(body: &str) -> bool {
    let run = rounds(body);
    let said = run.remarks.iter().any(|r| r.text.ends_with("in place"));
    assert!(!said || (run.allocations, run.copies) == (1, 0), "{} allocations, {} copies", run.allocations, run.copies);
    said
}

#[test]
fn cells_that_read_what_nobody_writes() {
    // A step of an elimination: row k and column k lie outside.
    assert!(in_place(
        "%k1: i32 = add %k, 1
         %b: f64[9,20] = with {
           part [%k1, %k1] <= [%i, %j] < [9, 20] { %x: f64 = sel %a, [%i, %j] %y: f64 = sel %a, [%i, %k] %z: f64 = sel %a, [%k, %j]
             %u: f64 = mul %y, %z %v: f64 = mul %u, 0.001 %w: f64 = sub %x, %v yield %w }
         } modarray %a"
    ));
}

#[test]
fn a_row_that_reads_others_at_its_own_columns() {
    // In iteration 3 the other row is the row itself. The columns are no whole number of vectors.
    let row = |column: &str| {
        format!(
            "%k1: i32 = add %k, 1
             %b: f64[9,20] = with {{
               part [%k, 0] <= [%i, %j] < [%k1, 19] {{ %l: i32 = add %j, {column} %x: f64 = sel %a, [%i, %j] %y: f64 = sel %a, [3, %l]
                 %w: f64 = sub %x, %y yield %w }}
             }} modarray %a"
        )
    };
    assert!(in_place(&row("0")));
    assert!(!in_place(&row("1")));
    // Two rows: the second reads what the first wrote.
    assert!(!in_place(&row("0").replace("add %k, 1", "add %k, 2")));
}

#[test]
fn blocks_no_longer_than_the_distance_that_they_read_behind() {
    let block = |behind: &str| {
        format!(
            "%k1: i32 = and %k, 3
             %d: i32 = add %k1, 2
             %m: i32 = min %d, 7
             %e: i32 = add 8, %m
             %l: i32 = sub %d, 1
             %b: f64[9,20] = with {{
               part [0, 8] <= [%i, %j] < [9, %e] {{ %p: i32 = sub %j, {behind} %x: f64 = sel %a, [%i, %j] %y: f64 = sel %a, [%i, %p]
                 %w: f64 = sub %x, %y yield %w }}
             }} modarray %a"
        )
    };
    assert!(in_place(&block("%d")));
    assert!(!in_place(&block("%l")));
}

#[test]
fn partitions_run_in_the_order_that_their_reads_ask_for() {
    assert!(in_place(
        "%b: f64[9,20] = with {
           part [0, 0] <= [%i, %j] < [9, 1] { %x: f64 = sel %a, [%i, 0] %y: f64 = mul %x, 0.5 yield %y }
           part [0, 1] <= [%i_2, %j_2] < [9, 20] { %x_2: f64 = sel %a, [%i_2, 0] %y_2: f64 = sel %a, [%i_2, %j_2] %z_2: f64 = add %x_2, %y_2 yield %z_2 }
         } modarray %a"
    ));
    // Each reads what the other writes.
    assert!(!in_place(
        "%b: f64[9,20] = with {
           part [0, 0] <= [%i, %j] < [9, 1] { %x: f64 = sel %a, [%i, 1] yield %x }
           part [0, 1] <= [%i_2, %j_2] < [9, 2] { %x_2: f64 = sel %a, [%i_2, 0] yield %x_2 }
         } modarray %a"
    ));
}

#[test]
fn steps_leave_gaps_to_read_from() {
    let step = |reads: &str| {
        format!(
            "%b: f64[9,20] = with {{
               part [0, 1] <= [%i, %j] < [9, 18] step [1, 2] {{ %l: i32 = add %j, -1 %m: i32 = add %j, {reads} %x: f64 = sel %a, [%i, %l]
                 %y: f64 = sel %a, [%i, %m] %z: f64 = add %x, %y yield %z }}
             }} modarray %a"
        )
    };
    assert!(in_place(&step("1")));
    assert!(!in_place(&step("2")));
}

#[test]
fn neighbours_and_later_uses_forbid_it() {
    assert!(!in_place(
        "%b: f64[9,20] = with {
           part [1, 0] <= [%i, %j] < [9, 20] { %h: i32 = add %i, -1 %x: f64 = sel %a, [%h, %j] yield %x }
         } modarray %a"
    ));
    // The old array is needed later.
    assert!(!in_place(
        "%c: f64[9,20] = with {
           part [1, 0] <= [%i, %j] < [9, 20] { %x: f64 = sel %a, [0, %j] yield %x }
         } modarray %a
         %b: f64[9,20] = with {
           part [0, 0] <= [%i_2, %j_2] < [9, 20] { %h: i32 = sub 19, %j_2 %x_2: f64 = sel %a, [%i_2, %h] %y: f64 = sel %c, [%i_2, %h]
             %z: f64 = sub %x_2, %y yield %z }
         } genarray [9, 20] cell []"
    ));
    // A fold in a cell may go through the memory of the result.
    assert!(!in_place(
        "%b: f64[9,20] = with {
           part [1, 0] <= [%i, %j] < [9, 20] {
             %s: f64 = with { part [0] <= [%m] < [20] { %x: f64 = sel %a, [0, %m] yield %x } } fold add neutral 0.0 yield %s }
         } modarray %a"
    ));
}

/// Five iterations that change two arrays at once; the cells of the second one read the first one at `index`.
fn two_arrays(index: &str) -> Run {
    same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f64) {{
  %x0: f64[50] = with {{ part [0] <= [%i0] < [50] {{ %a0: f64 = convert %i0 yield %a0 }} }} genarray [50] cell []
  %y0: f64[50] = with {{ part [0] <= [%i1] < [50] {{ %b1: i32 = mul %i1, 3 %a1: f64 = convert %b1 yield %a1 }} }} genarray [50] cell []
  %x: f64[50], %y: f64[50], %rounds: i32 = loop (%p: f64[50] = %x0, %q: f64[50] = %y0, %k: i32 = 0) {{
    %u: f64[50], %v: f64[50] = with {{
      part [%k] <= [%i] < [47] {{ %l: i32 = add %i, 1 %c: f64 = sel %p, [%i] %d: f64 = sel %q, [%i] %g: f64 = sel %p, [{index}]
        %e: f64 = sub %c, %d %f: f64 = add %g, %d yield %e, %f }}
    }} modarray %p modarray %q
    %next: i32 = add %k, 1
    %again: bool = lt %next, 5
    yield %again, %u, %v, %next
  }}
  %t: f64 = with {{ part [0] <= [%i9] < [50] {{ %y9: f64 = sel %x, [%i9] %z9: f64 = sel %y, [%i9] %w9: f64 = mul %y9, %z9 yield %w9 }} }} fold add neutral 0.0
  yield %t
}}
"#
    ))
}

#[test]
fn several_arrays_whose_cells_read_their_own_elements() {
    let said = |run: &Run| run.remarks.iter().any(|r| r.text.ends_with("in place"));
    let run = two_arrays("%i");
    assert!(said(&run) && run.copies == 0, "{:?}", run.remarks);
    assert!(!said(&two_arrays("%l")), "a neighbour may have been replaced");
    let run = two_arrays("48");
    assert!(said(&run) && run.copies == 0, "no cell is there: {:?}", run.remarks);
}

/// Iterations that change a vector of which cells read an element at a distance, and whether it is said to be changed in place.
fn vector(with: &str, distance: i32) -> (Run, bool) {
    let run = same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f64) {{
  %x0: f64[300] = with {{ part [0] <= [%i0] < [300] {{ %b0: i32 = mul %i0, %i0 %c0: i32 = and %b0, 31 %a0: f64 = convert %c0 yield %a0 }} }} genarray [300] cell []
  %x: f64[300], %rounds: i32 = loop (%p: f64[300] = %x0, %k: i32 = 0) {{
    %u: f64[300] = {with} {{
      part [3] <= [%i] < [297] {{ %l: i32 = add %i, {distance} %c: f64 = sel %p, [%i] %g: f64 = sel %p, [%l]
        %e: f64 = mul %g, 0.5 %f: f64 = sub %c, %e yield %f }}
    }} modarray %p
    %next: i32 = add %k, 1
    %again: bool = lt %next, 5
    yield %again, %u, %next
  }}
  %t: f64 = with {{ part [0] <= [%i9] < [300] {{ %y9: f64 = sel %x, [%i9] %v9: f64 = convert %i9 %w9: f64 = mul %y9, %v9 yield %w9 }} }} fold add neutral 0.0
  yield %t
}}
"#
    ));
    let said = run.remarks.iter().any(|r| r.text.ends_with("in place"));
    (run, said)
}

#[test]
fn ordered_cells_that_read_ahead() {
    for distance in [1, 2, 3] {
        let (run, said) = vector("with ordered", distance);
        assert!(said && (run.allocations, run.copies) == (1, 0), "{:?}", run.remarks);
        let wide = run.wide_remarks.iter().any(|r| r.text.contains("8 lanes along axis 0"));
        assert!(wide, "{:?}", run.wide_remarks);
    }
}

#[test]
fn neighbours_are_old_ones() {
    // Of an ordered with-loop, too: those behind a cell would have been replaced.
    for (with, distance) in [("with ordered", -1), ("with ordered", -3), ("with", 1), ("with", -1)] {
        let (run, said) = vector(with, distance);
        assert!(!said, "{with}, {distance}: {:?}", run.remarks);
    }
}

#[test]
fn several_boxes_that_are_not_changed_in_place_copy_what_lies_around_the_largest() {
    let parts = |step: &str| {
        rounds(&format!(
            "%k1: i32 = add %k, 1
             %b: f64[9,20] = with {{
               part [%k, %k] <= [%i, %j] < [9, %k1] {{ %x: f64 = sel %a, [%k, %j] yield %x }}
               part [%k, %k1] <= [%i_2, %j_2] < [9, 20]{step} {{
                 %s: f64 = with {{ part [0] <= [%m] < [20] {{ %y: f64 = sel %a, [%k, %m] yield %y }} }} fold add neutral 0.0
                 %z: f64 = sel %a, [%i_2, %j_2] %w: f64 = mul %s, 0.01 %v: f64 = sub %z, %w yield %v }}
               part [0, 0] <= [%i_3, %j_3] < [%k, 1] {{ %u: f64 = sel %a, [8, %j_3] yield %u }}
             }} modarray %a"
        ))
    };
    assert_eq!(parts("").copies, 0);
    // What lies between steps is the old array's.
    assert!(parts(" step [1, 2]").copies > 0);
    // Two columns that need each other: a copy of the whole is one call.
    let columns = rounds(
        "%b: f64[9,20] = with {
           part [0, 0] <= [%i, %j] < [9, 1] { %x: f64 = sel %a, [%i, 1] yield %x }
           part [0, 1] <= [%i_2, %j_2] < [9, 2] { %x_2: f64 = sel %a, [%i_2, 0] yield %x_2 }
         } modarray %a",
    );
    assert!(columns.copies > 0);
}
