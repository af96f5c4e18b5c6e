//! Packed tiles: which folds get them, and that they compute what the interpreter computes.

use crate::common::{Run, same, scheduled};
use ravel_schedule::Capabilities;

fn tiled(run: &Run) -> bool {
    run.remarks.iter().any(|r| r.text.contains("packed tiles"))
}

/// Two matrices of small numbers, a with-loop over `%i, %j` that gives `%c`, and sums over `%c` that notice swapped cells.
fn program(elem: &str, a: [usize; 2], b: [usize; 2], c: [usize; 2], with: &str) -> String {
    let [a0, a1] = a;
    let [b0, b1] = b;
    let [m, n] = c;
    let zero = if elem == "i32" { "0".to_string() } else { format!("0.0:{elem}") };
    let zero = if elem == "f64" { "0.0".to_string() } else { zero };
    let value = |from: &str, to: &str| match elem {
        "i32" => format!("%{to}: i32 = add %{from}, 0"),
        _ => format!("%{to}: {elem} = convert %{from}"),
    };
    format!(
        r#"
entry @f0
func @f0 "main" () -> ({elem}, {elem}, {elem}) {{
  %a: {elem}[{a0},{a1}] = with {{
    part [0, 0] <= [%ai, %aj] < [{a0}, {a1}] {{
      %ap: i32 = mul %ai, 7
      %aq: i32 = add %ap, %aj
      %ar: i32 = mod %aq, 13
      %as: i32 = sub %ar, 5
      {}
      yield %at
    }}
  }} genarray [{a0}, {a1}] cell []
  %b: {elem}[{b0},{b1}] = with {{
    part [0, 0] <= [%bi, %bj] < [{b0}, {b1}] {{
      %bp: i32 = mul %bi, 3
      %bq: i32 = add %bp, %bj
      %br: i32 = mod %bq, 11
      %bs: i32 = sub %br, 4
      {}
      yield %bt
    }}
  }} genarray [{b0}, {b1}] cell []
  {with}
  %s: {elem} = with {{
    part [0, 0] <= [%si, %sj] < [{m}, {n}] {{
      %sp: i32 = mul %si, 5
      %sq: i32 = add %sp, %sj
      %sr: i32 = mod %sq, 17
      {}
      %sc: {elem} = sel %c, [%si, %sj]
      %sx: {elem} = mul %sc, %st
      yield %sx
    }}
  }} fold add neutral {zero}
  %x: {elem} = sel %c, [{}, {}]
  %y: {elem} = sel %c, [0, 1]
  yield %s, %x, %y
}}
"#,
        value("as", "at"),
        value("bs", "bt"),
        value("sr", "st"),
        m - 1,
        n - 1,
    )
}

/// `{ [i,j] -> fold(op)(body over k) }` where the body yields `%z`.
fn product(elem: &str, [m, n, k]: [usize; 3], op: &str, neutral: &str, body: &str, rest: &str) -> String {
    format!(
        "%c: {elem}[{m},{n}] = with {{
    part [0, 0] <= [%i, %j] < [{m}, {n}] {{
      %f: {elem} = with {{
        part [0] <= [%k] < [{k}] {{ {body} yield %z }}
      }} fold {op} neutral {neutral}
      {rest}
    }}
  }} genarray [{m}, {n}] cell []"
    )
}

#[test]
fn products_of_every_element_type_and_layout() {
    for (elem, zero) in [("f32", "0.0:f32"), ("f64", "0.0"), ("i32", "0")] {
        let [m, n, k] = [71, 67, 130];
        let layouts = [
            ([m, k], [n, k], "[%i, %k]", "[%j, %k]"),
            ([k, m], [n, k], "[%k, %i]", "[%j, %k]"),
            ([n, k], [m, k], "[%j, %k]", "[%i, %k]"),
        ];
        for (a, b, left, right) in layouts {
            let body = format!("%x1: {elem} = sel %a, {left} %y1: {elem} = sel %b, {right} %z: {elem} = mul %x1, %y1");
            let run = same(&program(elem, a, b, [m, n], &product(elem, [m, n, k], "add", zero, &body, "yield %f")));
            assert!(tiled(&run), "{elem} {left} {right}: {:?}", run.remarks);
        }
    }
    // Large enough that columns do not stay in a cache.
    let [m, n, k] = [25, 99, 670];
    let body = "%x1: f64 = sel %a, [%i, %k] %y1: f64 = sel %b, [%k, %j] %z: f64 = mul %x1, %y1";
    let run = same(&program("f64", [m, k], [k, n], [m, n], &product("f64", [m, n, k], "add", "0.0", body, "yield %f")));
    assert!(tiled(&run), "{:?}", run.remarks);
}

/// The size of the tiles, rows by vectors, with 16 registers of 16 bytes.
fn size(text: &str, fma_takes_factor: bool) -> String {
    let target = Capabilities {
        vector_bytes: 16,
        vector_registers: 16,
        has_fma: true,
        fma_takes_factor,
        has_gather: false,
        ..Capabilities::SCALAR
    };
    let (_, remarks) = scheduled(text, target);
    let sizes = remarks.iter().filter_map(|r| r.text.split_once("packed tiles of ")).map(|(_, size)| {
        let words: Vec<&str> = size.split(' ').collect();
        format!("{} x {}", words[0], words[5])
    });
    sizes.collect::<Vec<_>>().join(", ")
}

#[test]
fn products_leave_registers_for_copied_factors() {
    let text = |body: &str| {
        let [m, n, k] = [240, 240, 240];
        program("f32", [m, k], [n, k], [m, n], &product("f32", [m, n, k], "add", "0.0:f32", body, "yield %f"))
    };
    let [x, y] = ["%x1: f32 = sel %a, [%i, %k]", "%y1: f32 = sel %b, [%j, %k]"];
    let products = text(&format!("{x} {y} %z: f32 = mul %x1, %y1"));
    assert_eq!([size(&products, false), size(&products, true)], ["4 x 3", "4 x 2"]);
    // A difference is not used again, and sums have no factors.
    for body in ["%d: f32 = sub %x1, %y1 %z: f32 = mul %d, %d", "%z: f32 = min %x1, %y1"] {
        let text = text(&format!("{x} {y} {body}"));
        assert_eq!(size(&text, false), size(&text, true), "{body}");
    }
}

#[test]
fn rows_of_two_lanes_are_packed_into_both() {
    let splats = |elem: &str, zero: &str, fma_takes_factor: bool| {
        let [m, n, k] = [240, 240, 240];
        let body = format!("%x1: {elem} = sel %a, [%i, %k] %y1: {elem} = sel %b, [%j, %k] %z: {elem} = mul %x1, %y1");
        let text = program(elem, [m, k], [n, k], [m, n], &product(elem, [m, n, k], "add", zero, &body, "yield %f"));
        let target = Capabilities {
            vector_bytes: 16,
            vector_registers: 16,
            has_fma: true,
            fma_takes_factor,
            has_gather: false,
            ..Capabilities::SCALAR
        };
        let (module, _) = scheduled(&text, target);
        module.to_string().matches("= splat ").count()
    };
    // One for every row that is packed, none in the tile; or else one for each row and index of the fold there.
    assert!(splats("f64", "0.0", true) < 10);
    assert!(splats("f64", "0.0", false) > 16);
    assert!(splats("f32", "0.0:f32", true) > 32);
}

#[test]
fn several_blocks_of_the_fold_with_an_epilogue() {
    let [m, n, k] = [29, 33, 1100];
    let body = "%x1: f32 = sel %a, [%i, %k] %y1: f32 = sel %b, [%j, %k] %z: f32 = mul %x1, %y1";
    let rest = "%o: f32 = sel %a, [%i, %j] %p: f32 = mul %f, 0.5:f32 %q: f32 = add %p, %o %ji: i32 = add %j, %i %jf: f32 = convert %ji \
                %r: f32 = max %q, %jf yield %r";
    let run = same(&program("f32", [m, k], [n, k], [m, n], &product("f32", [m, n, k], "add", "1.0:f32", body, rest)));
    assert!(tiled(&run), "{:?}", run.remarks);
}

#[test]
fn tiles_beyond_a_diagonal_are_skipped() {
    let skips = |run: &Run| run.remarks.iter().any(|r| r.text.contains("are skipped"));
    let body = "%x1: f64 = sel %a, [%i, %k] %y1: f64 = sel %b, [%j, %k] %z: f64 = mul %x1, %y1";
    let under = |rest: &str, k: usize| {
        let [m, n] = [55, 61];
        same(&program("f64", [m, k], [n, k], [m, n], &product("f64", [m, n, k], "add", "2.0", body, rest)))
    };
    // The first with more than one block of the fold.
    for (rest, k) in [
        ("%on: bool = le %j, %i %r1: f64 = select %on, %f, 1.0 yield %r1", 1100),
        (
            "%h1: f64 = mul %f, 2.0 %j3: i32 = add %j, 3 %i2: i32 = mul %i, 2 %on: bool = lt %i2, %j3 \
             %r1: f64 = select %on, 1.0, %h1 yield %r1",
            200,
        ),
        (
            "%on: bool = gt %j, %i %c2: bool = gt %i, 40 %both: bool = and %on, %c2 \
             %r1: f64 = if %both { %g1: f64 = sel %a, [%i, %j] %s1: f64 = add %f, %g1 yield %s1 } else { yield 0.5 } yield %r1",
            200,
        ),
    ] {
        let run = under(rest, k);
        assert!(tiled(&run) && skips(&run), "{rest}: {:?}", run.remarks);
    }
    for rest in [
        "yield %f",
        "%on: bool = eq %j, %i %r1: f64 = select %on, 1.0, %f yield %r1",
        "%on: bool = le %j, %i %r1: f64 = select %on, %f, 1.0 %s1: f64 = add %r1, %f yield %s1",
        "%on: bool = le %j, %i %c2: bool = lt %j, %i %r1: f64 = select %on, %f, 1.0 %s1: f64 = select %c2, %f, 1.0 \
         %t1: f64 = add %r1, %s1 yield %t1",
        "%x2: f64 = sel %a, [%i, 0] %on: bool = le %x2, 0.0 %r1: f64 = select %on, %f, 1.0 yield %r1",
    ] {
        let run = under(rest, 200);
        assert!(tiled(&run) && !skips(&run), "{rest}: {:?}", run.remarks);
    }
}

#[test]
fn distances_and_longest_paths() {
    let [m, n, k] = [65, 70, 131];
    let body = "%x1: f64 = sel %a, [%i, %k] %y1: f64 = sel %b, [%j, %k] %d: f64 = sub %x1, %y1 %z: f64 = mul %d, %d";
    let run = same(&program("f64", [m, k], [n, k], [m, n], &product("f64", [m, n, k], "add", "0.0", body, "yield %f")));
    assert!(tiled(&run), "{:?}", run.remarks);
    let body = "%x1: f32 = sel %a, [%i, %k] %y1: f32 = sel %b, [%j, %k] %z: f32 = add %x1, %y1";
    let run =
        same(&program("f32", [m, k], [n, k], [m, n], &product("f32", [m, n, k], "max", "-inf:f32", body, "yield %f")));
    assert!(tiled(&run), "{:?}", run.remarks);
}

#[test]
fn values_that_vary_over_the_fold_alone() {
    let [m, n, k] = [65, 70, 131];
    let body = "%x1: f32 = sel %a, [%i, %k] %y1: f32 = sel %b, [%j, %k] %w: f32 = sel %a, [0, %k] %kf: f32 = convert %k \
                %p: f32 = max %x1, %y1 %q: f32 = mul %p, %w %z: f32 = sub %q, %kf";
    let run =
        same(&program("f32", [m, k], [n, k], [m, n], &product("f32", [m, n, k], "add", "0.0:f32", body, "yield %f")));
    assert!(tiled(&run), "{:?}", run.remarks);
}

#[test]
fn several_axes_of_the_fold_and_bounds_inside() {
    let with = "%c: f64[66,81] = with {
    part [1, 2] <= [%i, %j] < [65, 79] {
      %f: f64 = with {
        part [1, 0] <= [%k, %l] < [10, 13] {
          %kk: i32 = mul %k, 13 %kl: i32 = add %kk, %l
          %x1: f64 = sel %a, [%i, %kl] %y1: f64 = sel %b, [%j, %kl] %z: f64 = mul %x1, %y1 yield %z
        }
      } fold add neutral 0.0
      yield %f
    }
  } genarray [66, 81] cell [] default 3.0";
    let run = same(&program("f64", [66, 130], [81, 130], [66, 81], with));
    assert!(tiled(&run), "{:?}", run.remarks);
}

#[test]
fn products_in_a_batch() {
    let with = "%d: f32[3,47,60] = with {
    part [0, 0, 0] <= [%u, %i, %j] < [3, 47, 60] {
      %f: f32 = with {
        part [0] <= [%k] < [190] {
          %ui: i32 = mul %u, 2 %ii: i32 = add %ui, %i
          %x1: f32 = sel %a, [%ii, %k] %y1: f32 = sel %b, [%j, %k] %z: f32 = mul %x1, %y1 yield %z
        }
      } fold add neutral 0.0:f32
      yield %f
    }
  } genarray [3, 47, 60] cell []
  %c: f32[47,60] = with {
    part [0, 0] <= [%ci, %cj] < [47, 60] {
      %c0: f32 = sel %d, [0, %ci, %cj] %c1: f32 = sel %d, [1, %ci, %cj] %c2: f32 = sel %d, [2, %ci, %cj]
      %c3: f32 = mul %c1, 2.0:f32 %c4: f32 = mul %c2, 3.0:f32 %c5: f32 = add %c0, %c3 %c6: f32 = add %c5, %c4
      yield %c6
    }
  } genarray [47, 60] cell []";
    let run = same(&program("f32", [60, 190], [60, 190], [47, 60], with));
    assert!(tiled(&run), "{:?}", run.remarks);
}

#[test]
fn extents_known_at_run_time() {
    let run = same(
        r#"
entry @f3
func @f0 "product" noinline (%a: f64[s0,s1], %b: f64[s2,s1]) -> (f64[s0,s2]) {
  %m: i32 = extent %a, 0
  %n: i32 = extent %b, 0
  %k: i32 = extent %a, 1
  %c: f64[s0,s2] = with {
    part [0, 0] <= [%i, %j] < [%m, %n] {
      %f: f64 = with {
        part [0] <= [%l] < [%k] { %x: f64 = sel %a, [%i, %l] %y: f64 = sel %b, [%j, %l] %z: f64 = mul %x, %y yield %z }
      } fold add neutral 0.0
      yield %f
    }
  } genarray [%m, %n] cell []
  yield %c
}
func @f1 "make" noinline (%r: i32, %s: i32) -> (f64[s3,s4]) {
  %t: f64[s3,s4] = with {
    part [0, 0] <= [%i, %j] < [%r, %s] { %p: i32 = mul %i, 5 %q: i32 = add %p, %j %o: i32 = mod %q, 7 %x: f64 = convert %o yield %x }
  } genarray [%r, %s] cell []
  yield %t
}
func @f2 "total" noinline (%a: f64[s0,s2]) -> (f64) {
  %m: i32 = extent %a, 0
  %n: i32 = extent %a, 1
  %t: f64 = with {
    part [0, 0] <= [%i, %j] < [%m, %n] { %p: i32 = mul %i, 3 %q: i32 = add %p, %j %o: i32 = mod %q, 5 %w: f64 = convert %o %x: f64 = sel %a, [%i, %j] %y: f64 = mul %x, %w yield %y }
  } fold add neutral 0.0
  yield %t
}
func @f3 "main" () -> (f64, f64, f64) {
  %a: f64[s3,s4] = call @f1 (61, 700)
  %b: f64[s5,s4] = call @f1 (43, 700)
  %c: f64[s3,s5] = call @f0 (%a, %b)
  %x: f64 = call @f2 (%c)
  %a_2: f64[s6,s7] = call @f1 (6, 7)
  %b_2: f64[s8,s7] = call @f1 (4, 7)
  %c_2: f64[s6,s8] = call @f0 (%a_2, %b_2)
  %y: f64 = call @f2 (%c_2)
  %a_3: f64[s9,s10] = call @f1 (100, 0)
  %b_3: f64[s11,s10] = call @f1 (100, 0)
  %c_3: f64[s9,s11] = call @f0 (%a_3, %b_3)
  %z: f64 = call @f2 (%c_3)
  yield %x, %y, %z
}
"#,
    );
    assert!(tiled(&run), "{:?}", run.remarks);
    assert_eq!(run.copies, 0);
}

#[test]
fn what_is_not_packed() {
    let declines = |with: &str, a: [usize; 2], b: [usize; 2], c: [usize; 2]| {
        let run = same(&program("f32", a, b, c, with));
        assert!(!tiled(&run), "{:?}", run.remarks);
    };
    let body = "%x1: f32 = sel %a, [%i, %k] %y1: f32 = sel %b, [%j, %k] %z: f32 = mul %x1, %y1";
    let fold = |size: [usize; 3], body: &str| product("f32", size, "add", "0.0:f32", body, "yield %f");
    // Small operands fit the caches.
    declines(&fold([40, 40, 40], body), [40, 40], [40, 40], [40, 40]);
    // So do larger ones of which vectors can be loaded as they are.
    let along = "%x1: f32 = sel %a, [%i, %k] %y1: f32 = sel %b, [%k, %j] %z: f32 = mul %x1, %y1";
    declines(&fold([90, 90, 90], along), [90, 90], [90, 90], [90, 90]);
    // Few rows: a column is used too rarely.
    declines(&fold([5, 400, 400], body), [5, 400], [400, 400], [5, 400]);
    // A load that varies over both axes is used once.
    let both = "%x1: f32 = sel %a, [%i, %j] %y1: f32 = sel %b, [%j, %k] %z: f32 = mul %x1, %y1";
    declines(&fold([80, 80, 90], both), [80, 80], [80, 90], [80, 80]);
    // A window that slides over the operand: its elements are in the cache already.
    let window = "%ik: i32 = add %i, %k %x1: f32 = sel %a, [%ik, 0] %y1: f32 = sel %b, [%j, %k] %z: f32 = mul %x1, %y1";
    declines(&fold([80, 80, 90], window), [170, 1], [80, 90], [80, 80]);
    // Bounds that depend on the row.
    let triangle = fold([90, 80, 90], body).replace("[%k] < [90]", "[%k] < [%i]");
    declines(&triangle, [90, 90], [80, 90], [90, 80]);
}

/// Remarks on `y[j,p,q]`, the sum over `l` of `w[j,l]` and an element of `x`.
fn maps_of_points(element: &str) -> String {
    let text = format!(
        r#"
func @f0 "f" (%w: f64[25,40], %x: f64[40,41,83]) -> (f64[25,40,83]) {{
  %y: f64[25,40,83] = with {{
    part [0, 0, 0] <= [%j, %p, %q] < [25, 40, 83] {{
      %f: f64 = with {{
        part [0] <= [%l] < [40] {{
          %a: f64 = sel %w, [%j, %l]
          {element}
          %z: f64 = mul %a, %b
          yield %z
        }}
      }} fold add neutral 0.0
      yield %f
    }}
  }} genarray [25, 40, 83] cell []
  yield %y
}}
"#
    );
    let target = Capabilities {
        vector_bytes: 32,
        vector_registers: 16,
        has_fma: true,
        fma_takes_factor: false,
        has_gather: false,
        ..Capabilities::SCALAR
    };
    let (_, remarks) = scheduled(&text, target);
    remarks.iter().map(|r| r.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn columns_run_through_rows_that_lie_end_to_end() {
    let as_one = |element: &str| maps_of_points(element).contains("along axes 1 to 2 as one");
    assert!(as_one("%b: f64 = sel %x, [%l, %p, %q]"));
    assert!(as_one("%p1: i32 = add %p, 1 %b: f64 = sel %x, [%l, %p1, %q]"));
    // Another place within the row, a row that is read backwards, and an index that is data.
    assert!(!as_one("%m: i32 = sub 82, %q %b: f64 = sel %x, [%l, %p, %m]"));
    assert!(!as_one("%r: i32 = sub 39, %p %b: f64 = sel %x, [%l, %r, %q]"));
    assert!(!as_one("%d: f64 = convert %q %e: f64 = sel %x, [%l, %p, %q] %b: f64 = add %d, %e"));
}

/// Remarks on `y[n,k,p,q]`, the sum over `c, u, v` of an element of the weights and one of the data, for rows of so many elements.
fn windows(maps: usize, row: usize, weight: &str, element: &str, rest: &str) -> String {
    let wide = 2 * row + 2;
    let text = format!(
        r#"
func @f0 "f" (%w: f32[{maps},16,3,3], %x: f32[9,16,16,{wide}], %at: i32[{wide}]) -> (f32[9,{maps},7,{row}]) {{
  %y: f32[9,{maps},7,{row}] = with {{
    part [0, 0, 0, 0] <= [%n, %k, %p, %q] < [9, {maps}, 7, {row}] {{
      %f: f32 = with {{
        part [0, 0, 0] <= [%c, %u, %v] < [16, 3, 3] {{
          {weight}
          {element}
          %z: f32 = mul %a, %b
          yield %z
        }}
      }} fold add neutral 0.0:f32
      {rest}
    }}
  }} genarray [9, {maps}, 7, {row}] cell []
  yield %y
}}
"#
    );
    let target = Capabilities {
        vector_bytes: 32,
        vector_registers: 16,
        has_fma: true,
        fma_takes_factor: false,
        has_gather: false,
        ..Capabilities::SCALAR
    };
    let (_, remarks) = scheduled(&text, target);
    remarks.iter().map(|r| r.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn columns_are_collapsed_where_rows_fill_no_vector() {
    let weight = "%a: f32 = sel %w, [%k, %c, %u, %v]";
    let window = "%i: i32 = add %p, %u %j: i32 = add %q, %v";
    let element = &format!("{window} %b: f32 = sel %x, [%n, %c, %i, %j]");
    let collapsed = |maps: usize, row: usize, weight: &str, element: &str, rest: &str| {
        windows(maps, row, weight, element, rest).contains("along axes 0, 2 and 3 as one")
    };
    assert!(collapsed(70, 7, weight, element, "yield %f"));
    // Steps, values that are made of the elements, and whatever the cells are made of.
    let steps = "%i2: i32 = mul %p, 2 %j2: i32 = mul %q, 2 %i: i32 = add %i2, %u %j: i32 = add %j2, %v \
                 %e: f32 = sel %x, [%n, %c, %i, %j] %b: f32 = abs %e";
    assert!(collapsed(70, 7, weight, steps, "yield %f"));
    let around = "%e: f32 = sel %x, [%n, 0, %p, 1] %g: f32 = add %f, %e yield %g";
    assert!(!collapsed(70, 7, weight, element, around));
    // Rows that fill vectors, and few rows of the other operand: an element is looked for to be used seldom.
    assert!(!collapsed(70, 64, weight, element, "yield %f"));
    assert!(!collapsed(20, 7, weight, element, "yield %f"));
    // Weights of every image or row of it: axes of their own.
    let own = "%r: i32 = mod %p, 3 %a: f32 = sel %w, [%k, %c, %u, %r]";
    assert!(!collapsed(70, 7, own, element, "yield %f"));
    // An index that is data, and one that the data have.
    let index = format!("{element} ").replace("%b:", "%e:") + "%d: f32 = convert %q %b: f32 = add %d, %e";
    assert!(!collapsed(70, 7, weight, &index, "yield %f"));
    let looked_up = "%i: i32 = add %p, %u %j: i32 = sel %at, [%q] %b: f32 = sel %x, [%n, %c, %i, %j]";
    assert!(!collapsed(70, 7, weight, looked_up, "yield %f"));
}
