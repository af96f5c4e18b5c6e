//! Loops do not allocate: operands are reused, what dies serves the next iteration, arrays that stay inside are no objects.

use crate::common::{Run, same};

/// A loop of 50 iterations that carries one array of `ty`, from 0, 1, 2, ...; `body` makes `%b` from `%a`.
fn carried(n: &str, ty: &str, body: &str) -> Run {
    same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f64) {{
  %n: i32 = opaque {n}
  %start: f64[{ty}] = with {{
    part [0] <= [%i] < [{n}] {{ %x: f64 = convert %i yield %x }}
  }} genarray [{n}] cell []
  %r: f64[{ty}], %l: i32 = loop (%a: f64[{ty}] = %start, %k: i32 = 0) {{
{body}
    %next: i32 = add %k, 1
    %again: bool = lt %next, 50
    yield %again, %b, %next
  }}
  %t: f64 = with {{
    part [0] <= [%j] < [{n}] {{ %y: f64 = sel %r, [%j] yield %y }}
  }} fold add neutral 0.0
  yield %t
}}
"#
    ))
}

#[test]
fn own_index_only_is_in_place() {
    let run = carried(
        "40",
        "40",
        "%b: f64[40] = with {
           part [0] <= [%i_2] < [40] { %x_2: f64 = sel %a, [%i_2] %y_2: f64 = mul %x_2, 0.5 %z: f64 = add %y_2, 1.0 yield %z }
         } genarray [40] cell []",
    );
    assert_eq!((run.allocations, run.copies), (1, 0));
}

#[test]
fn neighbours_need_a_second_buffer_and_no_third() {
    let run = carried(
        "40",
        "40",
        "%b: f64[40] = with {
           part [0] <= [%i_2] < [40] { %m: i32 = sub 39, %i_2 %x_2: f64 = sel %a, [%m] %y_2: f64 = sel %a, [%i_2]
             %z: f64 = add %x_2, %y_2 %w: f64 = mul %z, 0.5 yield %w }
         } genarray [40] cell []",
    );
    assert_eq!((run.allocations, run.copies), (2, 0));
}

#[test]
fn what_is_built_in_an_array_that_a_round_makes_takes_no_third() {
    // The array in between is the next iteration's in the end, so it is made where the last iteration's was.
    let run = carried(
        "40",
        "40",
        "%c: f64[40], %s: f64 = with {
           part [0] <= [%i_2] < [40] { %m: i32 = sub 39, %i_2 %x_2: f64 = sel %start, [%m] %e: f64 = convert %k
             %z: f64 = add %x_2, %e yield %z, %z }
         } genarray [40] cell [] fold add neutral 0.0
         %b: f64[40] = with {
           part [0] <= [%i_3] < [40] { %x_3: f64 = sel %c, [%i_3] %w: f64 = div %x_3, %s yield %w }
         } genarray [40] cell []",
    );
    assert_eq!((run.allocations, run.copies), (2, 0));
}

#[test]
fn an_operand_that_is_used_again_is_kept() {
    let run = carried(
        "40",
        "40",
        "%c: f64[40] = with {
           part [0] <= [%i_2] < [40] { %x_2: f64 = sel %a, [%i_2] %y_2: f64 = mul %x_2, 0.5 yield %y_2 }
         } genarray [40] cell []
         %b: f64[40] = with {
           part [0] <= [%i_3] < [40] { %m: i32 = sub 39, %i_3 %x_3: f64 = sel %c, [%m] %y_3: f64 = sel %a, [%i_3]
             %z: f64 = mul %y_3, 0.5 %w: f64 = add %z, %x_3 yield %w }
         } genarray [40] cell []",
    );
    // The array in between lives in the arena.
    assert_eq!((run.allocations, run.copies), (1, 0));
}

#[test]
fn a_reshape_that_is_only_read_makes_nothing() {
    let run = carried(
        "40",
        "40",
        "%v: f64[5,8] = reshape %a, [5, 8]
         %b: f64[40] = with {
           part [0] <= [%i_2] < [40] { %m: i32 = sub 39, %i_2 %r_2: i32 = div %m, 8 %q: i32 = mod %m, 8
             %x_2: f64 = sel %v, [%r_2, %q] %y_2: f64 = sel %a, [%m] %z: f64 = add %x_2, %y_2 %w: f64 = mul %z, 0.5 yield %w }
         } genarray [40] cell []",
    );
    assert_eq!((run.allocations, run.copies), (2, 0));
}

#[test]
fn a_reshape_that_is_changed_is_an_array_of_its_own() {
    let run = carried(
        "40",
        "40",
        "%v: f64[5,8] = reshape %a, [5, 8] %x_3: f64 = sel %a, [7] %c: f64[5,8] = update %v, [0, 3], %x_3
         %b: f64[40] = with {
           part [0] <= [%i_2] < [40] { %m: i32 = sub 39, %i_2 %r_2: i32 = div %m, 8 %q: i32 = mod %m, 8
             %x_2: f64 = sel %c, [%r_2, %q] %y_2: f64 = sel %a, [%m] %z: f64 = add %x_2, %y_2 %w: f64 = mul %z, 0.5 yield %w }
         } genarray [40] cell []",
    );
    assert!(run.allocations > 2);
}

/// Partitions below `%c`, which the run says, and from `from` on.
fn cut(from: &str) -> Run {
    carried(
        "40",
        "40",
        &format!(
            "%c: i32 = opaque 30
         %d: i32 = opaque 35
         %b: f64[40] = with {{
           part [0] <= [%i_2] < [%c] {{ %x_2: f64 = sel %a, [%i_2] %y_2: f64 = mul %x_2, 0.5 yield %y_2 }}
           part [{from}] <= [%i_3] < [40] {{ %x_3: f64 = sel %a, [%i_3] %y_3: f64 = add %x_3, 1.0 yield %y_3 }}
         }} genarray [40] cell [] default 0.0"
        ),
    )
}

#[test]
fn partitions_that_meet_where_the_run_says_leave_nothing() {
    let run = cut("%c");
    assert_eq!((run.allocations, run.copies), (1, 0));
}

#[test]
fn partitions_with_a_gap_take_another_array() {
    let run = cut("%d");
    assert_eq!((run.allocations, run.copies), (2, 0));
}
