//! Scheduled programs, compiled by Cranelift, give what the reference interpreter gives, and leave no array behind.

use crate::common::same;

#[test]
fn scalars_and_control() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (i32, f64, bool, i64, u8) {
  %sum: i32, %last: i32 = loop (%i: i32 = 0, %s: i32 = 0) {
    %s1: i32 = add %s, %i
    %i1: i32 = add %i, 1
    %go: bool = lt %i1, 100
    yield %go, %i1, %s1
  }
  %odd: i32 = aplmod -7, 3
  %c: bool = gt %last, 10
  %x: f64 = if %c { %r: f64 = sqrt 2.0 yield %r } else { yield 1.0 }
  %y: f64 = exp %x
  %nan: bool = isnan %y
  %l: i64 = convert %last
  %l2: i64 = mul %l, 1000000007:i64
  %b: u8 = convert 300
  %z: i32 = add %last, %odd
  yield %z, %y, %nan, %l2, %b
}
"#,
    );
}

#[test]
fn genarray_fold_and_selection() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64, i32) {
  %a: f64[5,7] = with {
    part [0, 0] <= [%i, %j] < [5, 7] {
      %t: i32 = mul %i, 7
      %u: i32 = add %t, %j
      %x: f64 = convert %u
      yield %x
    }
  } genarray [5, 7] cell []
  %s: f64, %m: f64 = with {
    part [0, 0] <= [%i_2, %j_2] < [5, 7] {
      %x_2: f64 = sel %a, [%i_2, %j_2]
      yield %x_2, %x_2
    }
  } fold add neutral 0.0 fold { (%l: f64, %r: f64) %n: f64 = sub %l, %r yield %n } neutral 1.5
  %row: f64[7] = sel %a, [3]
  %b: f64[5,7] = with {
    part [0] <= [%i_3] < [2] { yield %row }
  } modarray %a
  %e: i32 = extent %b, 1
  %t_2: f64 = with {
    part [0, 1] <= [%i_4, %j_3] < [5, 7] step [2, 3] width [1, 2] { %x_3: f64 = sel %b, [%i_4, %j_3] yield %x_3 }
  } fold add neutral 0.0
  %st: f64 = add %s, %t_2
  yield %st, %m, %e
}
"#,
    );
}

#[test]
fn defaults_nested_cells_and_symbolic_shapes() {
    same(
        r#"
entry @f1
func @f0 "f" noinline (%n: i32, %a: f64[s0]) -> (f64[s1,s0,3], f64) {
  %e: i32 = extent %a, 0
  %dflt: f64[s0,3] = with { part [0, 0] <= [%di, %dj] < [%e, 3] { yield 7.0 } } genarray [%e, 3] cell []
  %g: f64[s1,s0,3] = with {
    part [1] <= [%i] < [%n] {
      %cell: f64[s0,3] = with {
        part [0] <= [%j] < [%e] {
          %x: f64 = sel %a, [%j]
          %fi: f64 = convert %i
          %y: f64 = mul %x, %fi
          %c: f64[3] = array [%x, %y, 2.5]
          yield %c
        }
      } genarray [%e] cell [3]
      yield %cell
    }
  } genarray [%n] cell [%e, 3] default %dflt
  %s: f64 = with {
    part [0, 0, 0] <= [%i_2, %j_2, %k] < [%n, %e, 3] { %x_2: f64 = sel %g, [%i_2, %j_2, %k] yield %x_2 }
  } fold add neutral 0.0
  yield %g, %s
}
func @f1 "main" () -> (f64, f64) {
  %a: f64[4] = constarray [1.0, 2.0, 3.0, 4.5]
  %g: f64[3,4,3], %s: f64 = call @f0 (3, %a)
  %x: f64 = sel %g, [2, 3, 1]
  %h: f64[s5,4,3], %s2: f64 = call @f0 (0, %a)
  %t: f64 = add %s, %s2
  yield %x, %t
}
"#,
    );
}

#[test]
fn updates_in_loops_happen_in_place() {
    let run = same(
        r#"
entry @f0
func @f0 "main" () -> (i32) {
  %a: i32[1000] = with { part [0] <= [%i] < [1000] { yield %i } } genarray [1000] cell []
  %n: i32, %b: i32[1000] = loop (%i_2: i32 = 0, %x: i32[1000] = %a) {
    %old: i32 = sel %x, [%i_2]
    %c: bool = gt %old, 500
    %y: i32[1000] = if %c {
      %sq: i32 = mul %old, %old
      %u: i32[1000] = update %x, [%i_2], %sq
      yield %u
    } else { yield %x }
    %i1: i32 = add %i_2, 1
    %go: bool = lt %i1, 1000
    yield %go, %i1, %y
  }
  %keep: i32[1000] = update %b, [0], 77
  %s: i32 = with { part [0] <= [%i_3] < [1000] { %x_2: i32 = sel %b, [%i_3] yield %x_2 } } fold add neutral 0
  %k: i32 = sel %keep, [0]
  %r: i32 = add %s, %k
  yield %r
}
"#,
    );
    assert_eq!(run.copies, 1, "only the shared array is copied");
}

#[test]
fn array_accumulators_and_captured_cells() {
    same(
        r#"
entry @f0
func @f0 "main" () -> (f64, f64, i32) {
  %z: f64[9] = with { part [0] <= [%i] < [9] { yield 0.0 } } genarray [9] cell []
  %one: f64[9] = with { part [0] <= [%i_2] < [9] { yield 1.0 } } genarray [9] cell []
  %g: f64[9], %cat: f64[s1] = with {
    part [0] <= [%k] < [5] {
      %fk: f64 = convert %k
      %v: f64[9] = with { part [0] <= [%i_3] < [9] { %x: f64 = sel %one, [%i_3] %y: f64 = mul %x, %fk yield %y } } genarray [9] cell []
      yield %v, %one
    }
  } fold add neutral %z fold { (%l: f64[s0], %r: f64[9])
    %n: i32 = extent %l, 0
    %n9: i32 = add %n, 9
    %j: f64[s0+9] = with {
      part [0] <= [%i_4] < [%n] { %x_2: f64 = sel %l, [%i_4] yield %x_2 }
      part [%n] <= [%i_5] < [%n9] { %p: i32 = sub %i_5, %n %x_3: f64 = sel %r, [%p] yield %x_3 }
    } genarray [%n9] cell []
    yield %j
  } neutral %one
  %x_4: f64 = sel %g, [8]
  %s: f64 = with { part [0] <= [%i_6] < [9] { %q: f64 = sel %z, [%i_6] %w: f64 = sel %cat, [%i_6] %t: f64 = add %q, %w yield %t } } fold add neutral 0.0
  %e: i32 = extent %cat, 0
  yield %x_4, %s, %e
}
"#,
    );
}

#[test]
fn unknown_ranks() {
    same(
        r#"
entry @f1
func @f0 "twice" noinline (%a: f64[*]) -> (f64[*]) {
  %shp: i32[s0] = shape %a
  %r: i32 = rank %a
  %lo: i32[s0] = with { part [0] <= [%i] < [%r] { yield 0 } } genarray [%r] cell []
  %g: f64[*] = with {
    part dyn %lo <= %iv: i32[s0] < %shp {
      %x: f64 = seldyn %a, %iv
      %y: f64 = add %x, %x
      yield %y
    }
  } genarray dyn %shp cell [] default 0.0
  yield %g
}
func @f1 "main" () -> (f64, f64, i32, f64) {
  %a: f64[2,3] = constarray [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  %w: f64[*] = widen %a
  %t: f64[*] = call @f0 (%w)
  %b: f64[2,3] = narrow %t
  %x: f64 = sel %b, [1, 2]
  %iv: i32[2] = constarray [0, 1]
  %u: f64[*] = updatedyn %t, %iv, 99.0
  %y: f64 = seldyn %u, %iv
  %one: i32[1] = constarray [1]
  %row: f64[*] = seldyn %u, %one
  %r: i32 = rank %row
  %six: i32[1] = constarray [6]
  %flat: f64[s3] = reshapedyn %u, %six
  %z: f64 = sel %flat, [5]
  %box: f64[*] = widen %z
  %box2: f64[*] = call @f0 (%box)
  %q: f64 = narrow %box2
  %cells: f64[*] = with {
    part dyn %one <= %jv: i32[1] < %six step %iv0 { %c: f64[*] = widen %b yield %c }
  } genarray dyn %six
  %cr: i32 = rank %cells
  %rr: i32 = add %r, %cr
  yield %x, %y, %rr, %q
}
"#
        .replace("step %iv0 ", "")
        .as_str(),
    );
}

#[test]
fn globals_strings_and_natives() {
    same(
        r#"
global @g0 "text": handle
global @g1 "table": i32[3]
entry @f0
func @f0 "main" effects () -> (i32, i32) {
  %h: handle = str "hello"
  globalset @g0, %h
  %t: i32[3] = constarray [4, 5, 6]
  globalset @g1, %t
  %h2: handle = globalget @g0
  %h3: handle = native "ravel_string_strcat" fixed 2 (%h2, %h2)
  %n: i32 = native "ravel_string_strlen" fixed 1 (%h3)
  %f: handle = str "%d-%s"
  %p: handle = native "ravel_sprintf" fixed 1 (%f, %n, %h3)
  %m: i32 = native "ravel_string_strlen" fixed 1 (%p)
  %v: i32, %rest: handle = native "ravel_string_strtoi" fixed 2 (%p, 10)
  %t2: i32[3] = globalget @g1
  %u: i32[3] = update %t2, [1], %v
  globalset @g1, %u
  %e: i32 = sel %u, [1]
  %s: i32 = add %e, %m
  %hs: handle[2] = array [%h3, %p]
  %hp: handle = sel %hs, [1]
  %k: i32 = native "ravel_string_strlen" fixed 1 (%hp)
  yield %s, %k
}
"#,
    );
}

#[test]
fn selects_and_duplicates_share_arrays() {
    same(
        r#"
entry @f1
func @f0 "pair" noinline (%a: i32[3], %b: i32[3], %c: bool) -> (i32[3], i32[3], i32[3]) {
  %s: i32[3] = select %c, %a, %b
  %u: i32[3] = update %s, [0], 100
  yield %u, %s, %s
}
func @f1 "main" () -> (i32) {
  %a: i32[3] = array [1, 2, 3]
  %x: i32[3], %y: i32[3], %z: i32[3] = call @f0 (%a, %a, true)
  %p: i32 = sel %x, [0]
  %q: i32 = sel %y, [0]
  %r: i32 = sel %a, [2]
  %m: i32[3,1] = reshape %a, [3, 1]
  %d: i32[1] = sel %m, [1]
  %w: i32 = sel %d, [0]
  %s: i32 = add %p, %q
  %t: i32 = add %s, %r
  %v: i32 = add %t, %w
  yield %v
}
"#,
    );
}

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

#[test]
fn globals_of_one_name_are_apart() {
    same(
        r#"
global @g0 "main::pair": i32
global @g1 "main::pair": i32
entry @f0
func @f0 "main" effects () -> (i32, i32) {
  globalset @g0, 1
  globalset @g1, 2
  %a: i32 = globalget @g0
  %b: i32 = globalget @g1
  yield %a, %b
}
"#,
    );
}
