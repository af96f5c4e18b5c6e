//! With-loops beside folds, computed where the partial results are combined; and chunks that begin with their first cell.

use crate::common::{Run, same};

/// The bounds of a box in text, and its indices with names that end alike.
struct Axes {
    low: String,
    params: fn(&str) -> String,
    high: String,
}

const NAMES: [&str; 4] = ["i", "j", "k", "l"];

fn axes(extents: &[i64]) -> Axes {
    let list = |items: Vec<String>| items.join(", ");
    let params: fn(&str) -> String = match extents.len() {
        1 => |tag| format!("%i{tag}"),
        2 => |tag| format!("%i{tag}, %j{tag}"),
        3 => |tag| format!("%i{tag}, %j{tag}, %k{tag}"),
        _ => |tag| NAMES.map(|name| format!("%{name}{tag}")).join(", "),
    };
    Axes {
        low: list(vec!["0".to_string(); extents.len()]),
        params,
        high: list(extents.iter().map(i64::to_string).collect()),
    }
}

/// Three iterations of a step that changes an array `%w` by the sum over 120 indices of arrays of its shape; `neutral` computes `%z` from it,
/// `update` the next array `%v` from that and the sum `%g`.
fn rounds(extents: &[i64], elem: &str, neutral: &str, update: &str) -> Run {
    let a = axes(extents);
    let (low, high) = (&a.low, &a.high);
    let [p, q, r] = ["_a", "_b", "_c"].map(a.params);
    let text = format!(
        r#"
entry @f0
func @f0 "main" () -> ({elem}) {{
  %w0: {elem}[{high}] = with {{
    part [{low}] <= [{p}] < [{high}] {{ %x0: {elem} = convert %i_a yield %x0 }}
  }} genarray [{high}] cell []
  %wn: {elem}[{high}], %n: i32 = loop (%w: {elem}[{high}] = %w0, %round: i32 = 0) {{
    {neutral}
    %g: {elem}[{high}] = with {{
      part [0] <= [%m] < [120] {{
        %c: {elem}[{high}] = with {{
          part [{low}] <= [{q}] < [{high}] {{
            %a: i32 = mul %m, %i_b
            %b: i32 = add %a, %i_b
            %d: i32 = mod %b, 23
            %x: {elem} = convert %d
            %y: {elem} = sel %w, [{q}]
            %s: {elem} = add %x, %y
            yield %s
          }}
        }} genarray [{high}] cell []
        yield %c
      }}
    }} fold add neutral %z
    {update}
    %next: i32 = add %round, 1
    %more: bool = lt %next, 3
    yield %more, %v, %next
  }}
  %t: {elem} = with {{
    part [{low}] <= [{r}] < [{high}] {{ %u: {elem} = sel %wn, [{r}] yield %u }}
  }} fold add neutral ZERO
  yield %t
}}
"#
    );
    let zero = if elem == "i32" { "0".to_string() } else { format!("0.0:{elem}") };
    same(&text.replace("ZERO", &zero))
}

/// `%z = %w * 0`.
fn times_zero(extents: &[i64], elem: &str) -> String {
    let a = axes(extents);
    let (low, high, p) = (&a.low, &a.high, (a.params)("_z"));
    let zero = if elem == "i32" { "0".to_string() } else { format!("0.0:{elem}") };
    format!(
        "%z: {elem}[{high}] = with {{ part [{low}] <= [{p}] < [{high}] {{
            %z1: {elem} = sel %w, [{p}] %z2: {elem} = mul %z1, {zero} yield %z2 }} }} genarray [{high}] cell []"
    )
}

/// `%v = %w - %g / 2`, with the elements of `%g` at `index`.
fn update(extents: &[i64], elem: &str, index: &str) -> String {
    let a = axes(extents);
    let (low, high, p) = (&a.low, &a.high, (a.params)("_v"));
    let (op, by) = if elem == "i32" { ("div", "16".to_string()) } else { ("mul", format!("0.0625:{elem}")) };
    format!(
        "%v: {elem}[{high}] = with {{ part [{low}] <= [{p}] < [{high}] {{
            %v1: {elem} = sel %w, [{p}] %v2: {elem} = sel %g, [{index}] %v3: {elem} = {op} %v2, {by}
            %v4: {elem} = sub %v1, %v3 yield %v4 }} }} genarray [{high}] cell []"
    )
}

fn own(extents: &[i64]) -> String {
    (axes(extents).params)("_v")
}

fn joined(run: &Run) -> usize {
    run.remarks.iter().filter(|r| r.text.contains("computed by the threads that combine")).count()
}

#[test]
fn neutral_arrays_and_updates_are_joined_with_the_sum_between_them() {
    for extents in [&[2048][..], &[61, 37], &[13, 1, 150], &[6, 5, 1, 71], &[1, 2047]] {
        for elem in ["f32", "f64", "i32"] {
            let run = rounds(extents, elem, &times_zero(extents, elem), &update(extents, elem, &own(extents)));
            assert_eq!(joined(&run), 2, "{extents:?} {elem}: {:?}", run.remarks);
        }
    }
}

#[test]
fn updates_in_the_array_allocate_nothing_per_round() {
    let extents = [61, 37];
    let run = rounds(&extents, "f32", &times_zero(&extents, "f32"), &update(&extents, "f32", &own(&extents)));
    assert!(run.remarks.iter().any(|r| r.text.contains("in the memory of an array that it is the last to read")));
    assert!(run.allocations <= 3, "{}", run.allocations);
}

#[test]
fn a_neutral_array_alone_is_joined() {
    let extents = [64, 33];
    let elsewhere = update(&extents, "f32", "%v6, %v7")
        .replace("%v1: f32", "%v5: i32 = mul %i_v, 7 %v6: i32 = mod %v5, 64 %v7: i32 = mod %j_v, 11 %v1: f32");
    // Its update reads other elements.
    let run = rounds(&extents, "f32", &times_zero(&extents, "f32"), &elsewhere);
    assert_eq!(joined(&run), 1, "{:?}", run.remarks);
}

#[test]
fn an_update_alone_is_joined() {
    let extents = [64, 33];
    let run = rounds(&extents, "f32", "%z: f32[64, 33] = opaque %w", &update(&extents, "f32", &own(&extents)));
    assert_eq!(joined(&run), 1, "{:?}", run.remarks);
}

#[test]
fn an_index_that_is_used_otherwise_keeps_its_axes() {
    let extents = [64, 33];
    let neutral = times_zero(&extents, "f32").replace("%z2: f32 = mul %z1, 0.0:f32", "%z2: f32 = convert %j_z");
    let by_row = update(&extents, "f32", &own(&extents))
        .replace("mul %v2, 0.0625:f32", "mul %v2, %v0")
        .replace("%v1: f32", "%v6: i32 = add %i_v, 1 %v7: f32 = convert %v6 %v0: f32 = div 0.01:f32, %v7 %v1: f32");
    let run = rounds(&extents, "f32", &neutral, &by_row);
    assert_eq!(joined(&run), 0, "{:?}", run.remarks);
    // Without axes there is nothing to keep.
    let extents = [2048];
    let neutral = times_zero(&extents, "f32").replace("%z2: f32 = mul %z1, 0.0:f32", "%z2: f32 = convert %i_z");
    let run = rounds(&extents, "f32", &neutral, &update(&extents, "f32", "%i_v"));
    assert_eq!(joined(&run), 2, "{:?}", run.remarks);
}

#[test]
fn small_arrays_are_left_to_one_thread() {
    let extents = [9, 11];
    let run = rounds(&extents, "f32", &times_zero(&extents, "f32"), &update(&extents, "f32", &own(&extents)));
    assert_eq!(joined(&run), 0, "{:?}", run.remarks);
}

/// Two arrays for each index `%m` of a fold.
const CELLS: &str = "%c: f32[40,50] = with {
        part [0, 0] <= [%i5, %j5] < [40, 50] { %a5: i32 = mul %m, %i5 %b5: i32 = mod %a5, 23 %x5: f32 = convert %b5 yield %x5 }
      } genarray [40, 50] cell []
      %d: f32[40,50] = with {
        part [0, 0] <= [%i6, %j6] < [40, 50] { %a6: i32 = mul %m, %j6 %b6: i32 = mod %a6, 19 %x6: f32 = convert %b6 yield %x6 }
      } genarray [40, 50] cell []";

/// Two arrays, two totals of one fold, `more` behind it, and two with-loops; the array `last` is read at the end.
fn two_arrays(more: &str, first: &str, second: &str, last: &str) -> Run {
    same(
        &r#"
entry @f0
func @f0 "main" () -> (f32, f32, i32) {
  %w: f32[40,50] = with { part [0, 0] <= [%i1, %j1] < [40, 50] { %x1: f32 = convert %j1 yield %x1 } } genarray [40, 50] cell []
  %u: f32[40,50] = with { part [0, 0] <= [%i2, %j2] < [40, 50] { %x2: f32 = convert %i2 yield %x2 } } genarray [40, 50] cell []
  %z: f32[40,50] = with { part [0, 0] <= [%i3, %j3] < [40, 50] { yield 1.0:f32 } } genarray [40, 50] cell []
  %y: f32[40,50] = with { part [0, 0] <= [%i4, %j4] < [40, 50] { %x4: f32 = sel %w, [%i4, %j4] yield %x4 } } genarray [40, 50] cell []
  %g: f32[40,50], %h: f32[40,50], %n: i32 = with {
    part [0] <= [%m] < [300] {
      CELLS
      yield %c, %d, %m
    }
  } fold add neutral %z fold max neutral %y fold add neutral 0
  MORE
  %k: i32 = mul %n, 2
  %p: f32[40,50] = with {
    part [0, 0] <= [%i7, %j7] < [40, 50] { %a7: f32 = sel %w, [%i7, %j7] FIRST %s7: f32 = sub %a7, %b7 yield %s7 }
  } genarray [40, 50] cell []
  %q: f32[40,50] = with {
    part [0, 0] <= [%i8, %j8] < [40, 50] { %a8: f32 = sel %u, [%i8, %j8] SECOND %s8: f32 = sub %a8, %b8 yield %s8 }
  } genarray [40, 50] cell []
  %r: f32 = with { part [0, 0] <= [%i9, %j9] < [40, 50] { %x9: f32 = sel %p, [%i9, %j9] yield %x9 } } fold add neutral 0.0:f32
  %s: f32 = with { part [0, 0] <= [%i0, %j0] < [40, 50] { %x0: f32 = sel %q, [%i0, %j0] yield %x0 } } fold add neutral 0.0:f32
  %last: f32 = sel LAST, [1, 2]
  %r2: f32 = add %r, %last
  yield %r2, %s, %k
}
"#
        .replace("CELLS", CELLS)
        .replace("LAST", last)
        .replace("MORE", more)
        .replace("FIRST", first)
        .replace("SECOND", second),
    )
}

const OF_G: &str = "%b7: f32 = sel %g, [%i7, %j7]";
const OF_H: &str = "%b8: f32 = sel %h, [%i8, %j8]";

#[test]
fn several_totals_are_chains_of_their_own() {
    // The first with-loop may be built in `%w`, which the neutral array of the other total needs: it stays, and what follows.
    assert_eq!(joined(&two_arrays("", OF_G, OF_H, "%p")), 2);
    // It is not if `%w` is needed later.
    assert_eq!(joined(&two_arrays("", OF_G, OF_H, "%w")), 4);
    // Only one chain reads it.
    let other = OF_H.replace("%b8: f32 = sel %h", "%c8: f32 = sel %w") + " %b8: f32 = mul %c8, 2.0:f32";
    let run = two_arrays("", &OF_G.replace("%g", "%h"), &other, "%p");
    assert_eq!(joined(&run), 3, "{:?}", run.remarks);
}

#[test]
fn a_neutral_array_from_one_that_becomes_a_total_is_made_before() {
    let run = same(
        &r#"
entry @f0
func @f0 "main" () -> (f32) {
  %w: f32[40,50] = with { part [0, 0] <= [%i1, %j1] < [40, 50] { %x1: f32 = convert %j1 yield %x1 } } genarray [40, 50] cell []
  %z: f32[40,50] = with { part [0, 0] <= [%i3, %j3] < [40, 50] { %x3: f32 = sel %w, [%i3, %j3] %y3: f32 = add %x3, 1.0:f32 yield %y3 } } genarray [40, 50] cell []
  %g: f32[40,50], %h: f32[40,50] = with {
    part [0] <= [%m] < [300] {
      CELLS
      yield %c, %d
    }
  } fold add neutral %w fold add neutral %z
  %s: f32 = with {
    part [0, 0] <= [%i0, %j0] < [40, 50] {
      %x0: f32 = sel %g, [%i0, %j0] %y0: f32 = sel %h, [%i0, %j0] %z0: f32 = mul %x0, %y0 yield %z0
    }
  } fold add neutral 0.0:f32
  yield %s
}
"#
        .replace("CELLS", CELLS),
    );
    assert_eq!(joined(&run), 0, "{:?}", run.remarks);
}

#[test]
fn a_with_loop_that_reads_two_totals_stays() {
    let both = format!("{} %c7: f32 = sel %h, [%i7, %j7] %b7: f32 = add %d7, %c7", OF_G.replace("%b7", "%d7"));
    assert_eq!(joined(&two_arrays("", &both, OF_H, "%w")), 2);
}

/// A fold that goes on from both totals of the first one, over indices from `low` to 200.
fn second_fold(low: i64) -> String {
    format!(
        "%g2: f32[40,50], %h2: f32[40,50] = with {{
           part [{low}] <= [%o] < [200] {{
             %e: f32[40,50] = with {{
               part [0, 0] <= [%ia, %ja] < [40, 50] {{ %aa: i32 = add %o, %ja %ba: i32 = mod %aa, 7 %xa: f32 = convert %ba yield %xa }}
             }} genarray [40, 50] cell []
             %f: f32[40,50] = with {{
               part [0, 0] <= [%ib, %jb] < [40, 50] {{ %ab: i32 = add %o, %ib %bb: i32 = mod %ab, 9 %xb: f32 = convert %bb yield %xb }}
             }} genarray [40, 50] cell []
             yield %e, %f
           }}
         }} fold add neutral %g fold add neutral %h"
    )
}

#[test]
fn a_fold_goes_on_from_the_totals_of_another_one() {
    let [first, second] = [OF_G.replace("%g", "%g2"), OF_H.replace("%h", "%h2")];
    let run = two_arrays(&second_fold(3), &first.replace("%g2", "%h2"), &second, "%p");
    // The neutral arrays and both with-loops behind the second fold; the one that reads `%w` in the chain of `%y`, which read it, too.
    assert_eq!(joined(&run), 4, "{:?}", run.remarks);
    // A fold of one index is one chunk beside those of the first.
    let run = two_arrays(&second_fold(199), &first, &second, "%w");
    assert_eq!(joined(&run), 4, "{:?}", run.remarks);
}

#[test]
fn a_fold_does_not_go_on_from_what_a_total_becomes() {
    let between = "%g0: f32[40,50] = with {
        part [0, 0] <= [%ic, %jc] < [40, 50] { %xc: f32 = sel %g, [%ic, %jc] %yc: f32 = mul %xc, 0.5:f32 yield %yc }
      } genarray [40, 50] cell []
      %h0: f32[40,50] = with {
        part [0, 0] <= [%id, %jd] < [40, 50] { %xd: f32 = sel %h, [%id, %jd] %yd: f32 = min %xd, 3.0:f32 yield %yd }
      } genarray [40, 50] cell []";
    let second = second_fold(3).replace("neutral %g", "neutral %g0").replace("neutral %h", "neutral %h0");
    let [first, last] = [OF_G.replace("%g", "%g2"), OF_H.replace("%h", "%h2")];
    let run = two_arrays(&format!("{between} {second}"), &first, &last, "%p");
    // The neutral arrays and what is between with the first fold, the last with-loops with the second one.
    assert_eq!(joined(&run), 6, "{:?}", run.remarks);
}

/// The sum over `n` indices, from 3 on, of arrays made by `cell`, which yields `%c`.
fn sums(n: i64, cell: &str) -> Run {
    same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f32, i32) {{
  %z: f32[70,31] = with {{ part [0, 0] <= [%i1, %j1] < [70, 31] {{ yield 0.5:f32 }} }} genarray [70, 31] cell []
  %w: f32[{n},70,31] = with {{
    part [0, 0, 0] <= [%m0, %i0, %j0] < [{n}, 70, 31] {{ %a0: i32 = add %m0, %i0 %b0: i32 = sub %a0, %j0 %x0: f32 = convert %b0 yield %x0 }}
  }} genarray [{n}, 70, 31] cell []
  %g: f32[70,31], %k: i32 = with {{
    part [3, 1] <= [%m, %o] < [{n}, 2] {{ {cell} yield %c, %m }}
  }} fold add neutral %z fold max neutral 0
  %s: f32 = with {{ part [0, 0] <= [%i9, %j9] < [70, 31] {{ %x9: f32 = sel %g, [%i9, %j9] yield %x9 }} }} fold add neutral 0.0:f32
  yield %s, %k
}}
"#
    ))
}

const MADE: &str = "%c: f32[70,31] = with {
    part [0, 0] <= [%i, %j] < [70, 31] { %x: f32 = sel %w, [%m, %i, %j] %y: f32 = convert %o %t: f32 = mul %x, %y yield %t }
  } genarray [70, 31] cell []";

#[test]
fn chunks_begin_with_their_first_cell() {
    // One cell in a chunk; some; one and an end with fewer.
    for n in [20, 34, 35, 100, 101] {
        sums(n, MADE);
        // A cell that is a row, one that is there, one that is used twice.
        sums(n, "%c: f32[70,31] = sel %w, [%m]");
        sums(n, "%c: f32[70,31] = select true, %z, %z");
        let twice = "%x2: f32 = sel %c, [3, 4] %c2: f32[70,31] = with {
             part [0, 0] <= [%i3, %j3] < [70, 31] { %x3: f32 = sel %c, [%i3, %j3] %t3: f32 = add %x3, %x2 yield %t3 }
           } genarray [70, 31] cell []";
        sums(n, &format!("{} {}", MADE.replace("%c", "%c0"), twice.replace("%c,", "%c0,").replace("%c2", "%c")));
    }
}
