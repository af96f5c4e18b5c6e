//! Register blocks, lane patterns and uneven folds give what the interpreter gives, and are chosen where they should be.

use crate::common::same;

/// An array whose elements are small whole numbers.
fn array(name: &str, elem: &str, extents: &[usize]) -> String {
    let list = |items: Vec<String>| items.join(", ");
    let index = |d: usize| format!("%{name}_i{d}");
    let mut text = format!(
        "%{name}: {elem}[{}] = with {{ part ",
        list(extents.iter().map(usize::to_string).collect()).replace(' ', "")
    );
    text += &format!("[{}] <= [", list(extents.iter().map(|_| "0".to_string()).collect()));
    text += &list((0..extents.len()).map(index).collect());
    let bounds = list(extents.iter().map(usize::to_string).collect());
    text += &format!("] < [{bounds}] {{ %{name}_s0: i32 = mul {}, 5\n", index(0));
    for d in 1..extents.len() {
        text += &format!("%{name}_m{d}: i32 = mul %{name}_s{}, {}\n", d - 1, d + 2);
        text += &format!("%{name}_s{d}: i32 = add %{name}_m{d}, {}\n", index(d));
    }
    text += &format!("%{name}_r: i32 = mod %{name}_s{}, 7\n", extents.len() - 1);
    match elem {
        "i32" => text += &format!("yield %{name}_r"),
        _ => text += &format!("%{name}_c: {elem} = convert %{name}_r yield %{name}_c"),
    }
    text + &format!(" }} }} genarray [{bounds}] cell []\n")
}

/// A program that makes `arrays` and `%c` by `body`, and returns a weighted sum of its cells.
fn program(elem: &str, arrays: &[(&str, &[usize])], body: &str, extents: &[usize]) -> String {
    let zero = match elem {
        "f32" | "f64" => format!("0.0:{elem}"),
        _ => format!("0:{elem}"),
    };
    let mut text = format!("entry @f0 func @f0 \"main\" () -> ({elem}) {{\n");
    for (name, extents) in arrays {
        text += &array(name, elem, extents);
    }
    text += body;
    text += &array("weights", elem, extents);
    let indices: Vec<String> = (0..extents.len()).map(|d| format!("%t{d}")).collect();
    let (indices, zeros) = (indices.join(", "), vec!["0"; extents.len()].join(", "));
    let bounds = extents.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    text += &format!(
        "%total: {elem} = with {{ part [{zeros}] <= [{indices}] < [{bounds}] {{
           %tc: {elem} = sel %c, [{indices}] %tw: {elem} = sel %weights, [{indices}] %tp: {elem} = mul %tc, %tw yield %tp
         }} }} fold add neutral {zero}
         yield %total }}"
    );
    text
}

fn remarks(text: &str, wanted: &str) -> bool {
    let run = same(text);
    assert_eq!(run.copies, 0, "kernels write where results belong");
    run.remarks.iter().any(|remark| remark.text.contains(wanted))
}

#[test]
fn weight_gradients_take_two_jam_axes() {
    for (elem, rows, columns) in
        [("f32", 8, 32), ("f32", 5, 23), ("f64", 3, 17), ("i32", 4, 12), ("u8", 4, 16), ("i64", 2, 9)]
    {
        let zero = if elem.starts_with('f') { "0.0" } else { "0" };
        let body = format!(
            "%c: {elem}[4,5,3] = with {{ part [0, 0, 0] <= [%m, %k, %l] < [4, 5, 3] {{
               %l4: i32 = mul %l, 4
               %s: {elem} = with {{ part [0, 0] <= [%r, %q] < [{rows}, {columns}] {{
                 %rk: i32 = add %r, %k %ql: i32 = add %q, %l4
                 %dd: {elem} = sel %d, [%m, %r, %q] %xx: {elem} = sel %x, [%rk, %ql] %z: {elem} = mul %dd, %xx yield %z
               }} }} fold add neutral {zero}:{elem}
               yield %s
             }} }} genarray [4, 5, 3] cell []\n"
        );
        let text = program(elem, &[("d", &[4, rows, columns]), ("x", &[rows + 4, columns + 8])], &body, &[4, 5, 3]);
        let jammed = remarks(&text, "jammed");
        assert!(jammed || elem == "u8", "{elem}");
    }
}

#[test]
fn pools_and_their_gradients_load_vectors() {
    for (elem, planes, rows, columns) in
        [("f32", 4, 6, 16), ("f32", 4, 4, 12), ("f32", 3, 4, 10), ("f64", 2, 4, 8), ("i32", 1, 6, 18)]
    {
        let (q, half) = (columns * planes, columns / 2 * planes);
        let body = format!(
            "%p: {elem}[2,{r2},{half}] = with {{ part [0, 0, 0] <= [%m, %r, %q] < [2, {r2}, {half}] {{
               %s: {elem} = with {{ part [0, 0] <= [%a, %b] < [2, 2] {{
                 %r2: i32 = mul %r, 2 %ra: i32 = add %r2, %a
                 %qd: i32 = div %q, {planes} %qw: i32 = mul %qd, {twice} %qm: i32 = mod %q, {planes} %qs: i32 = add %qw, %qm
                 %bp: i32 = mul %b, {planes} %qb: i32 = add %qs, %bp
                 %xx: {elem} = sel %x, [%m, %ra, %qb] yield %xx
               }} }} fold add neutral {zero}:{elem}
               yield %s
             }} }} genarray [2, {r2}, {half}] cell []
             %c: {elem}[2,{rows},{q}] = with {{ part [0, 0, 0] <= [%m_2, %r_2, %q_2] < [2, {rows}, {q}] {{
               %rh: i32 = div %r_2, 2 %qd_2: i32 = div %q_2, {twice} %qw_2: i32 = mul %qd_2, {planes}
               %qm_2: i32 = mod %q_2, {planes} %qs_2: i32 = add %qw_2, %qm_2
               %pp: {elem} = sel %p, [%m_2, %rh, %qs_2] %yy: {elem} = sel %x, [%m_2, %r_2, %q_2]
               %o: {elem} = mul %pp, %yy yield %o
             }} }} genarray [2, {rows}, {q}] cell []\n",
            r2 = rows / 2,
            twice = 2 * planes,
            zero = if elem.starts_with('f') { "0.0" } else { "0" },
        );
        let text = program(elem, &[("x", &[2, rows, q])], &body, &[2, rows, q]);
        // Vectors of four do not begin at multiples of three.
        assert!(remarks(&text, "lanes along axis 2") || planes == 3, "{elem} {planes}");
    }
}

#[test]
fn lanes_under_masks_near_the_edges_and_without_in_the_middle() {
    for (elem, planes, columns) in
        [("f32", 4, 12), ("f32", 1, 61), ("f32", 2, 19), ("f64", 2, 9), ("f64", 1, 37), ("i32", 1, 24)]
    {
        let (q, inner) = (columns * planes, (columns - 4) * planes);
        let body = format!(
            "%c: {elem}[3,7,{q}] = with {{ part [0, 0, 0] <= [%i, %r, %q] < [3, 7, {q}] {{
               %r2: i32 = sub %r, 2 %rl: i32 = max %r2, 0 %r1: i32 = add %r, 1 %ru: i32 = min %r1, 5
               %qd: i32 = div %q, {planes} %ql: i32 = sub %qd, {last} %qlo: i32 = max %ql, 0
               %q1: i32 = add %qd, 1 %qu: i32 = min %q1, 5
               %s: {elem} = with {{ part [0, %rl, %qlo] <= [%o, %k, %l] < [2, %ru, %qu] {{
                 %rk: i32 = sub %r, %k %lp: i32 = mul %l, {planes} %qk: i32 = sub %q, %lp
                 %dd: {elem} = sel %d, [%o, %rk, %qk] %ww: {elem} = sel %w, [%o, %i, %k, %l] %z: {elem} = mul %dd, %ww yield %z
               }} }} fold add neutral {zero}:{elem}
               yield %s
             }} }} genarray [3, 7, {q}] cell []\n",
            last = columns - 5,
            zero = if elem.starts_with('f') { "0.0" } else { "0" },
        );
        let text = program(elem, &[("d", &[2, 3, inner]), ("w", &[2, 3, 5, 5])], &body, &[3, 7, q]);
        assert!(remarks(&text, "masks where folds are shorter"), "{elem} {planes}");
    }
}

/// Transposed convolutions of `inner` columns of `planes` elements with five taps, summed over `maps`.
fn transposed(elem: &str, maps: usize, planes: usize, inner: usize) -> String {
    let q = (inner + 4) * planes;
    let body = format!(
        "%c: {elem}[6,7,{q}] = with {{ part [0, 0, 0] <= [%i, %r, %q] < [6, 7, {q}] {{
           %r2: i32 = sub %r, 2 %rl: i32 = max %r2, 0 %r1: i32 = add %r, 1 %ru: i32 = min %r1, 5
           %qd: i32 = div %q, {planes} %ql: i32 = sub %qd, {last} %qlo: i32 = max %ql, 0
           %q1: i32 = add %qd, 1 %qu: i32 = min %q1, 5
           %s: {elem} = with {{ part [0, %rl, %qlo] <= [%o, %k, %l] < [{maps}, %ru, %qu] {{
             %rk: i32 = sub %r, %k %lp: i32 = mul %l, {planes} %qk: i32 = sub %q, %lp
             %dd: {elem} = sel %d, [%o, %rk, %qk] %ww: {elem} = sel %w, [%o, %i, %k, %l] %z: {elem} = mul %ww, %dd yield %z
           }} }} fold add neutral {neutral}:{elem}
           yield %s
         }} }} genarray [6, 7, {q}] cell []\n",
        last = inner as i64 - 1,
        neutral = if elem.starts_with('f') { "3.0" } else { "3" },
    );
    program(elem, &[("d", &[maps, 3, inner * planes]), ("w", &[maps, 6, 5, 5])], &body, &[6, 7, q])
}

#[test]
fn sums_are_shifted_where_masks_would_waste_lanes() {
    for (elem, planes, inner) in [("f32", 1, 8), ("f64", 1, 6), ("f32", 2, 6)] {
        assert!(
            remarks(&transposed(elem, 12, planes, inner), "sums shifted where folds are shorter"),
            "{elem} {planes} {inner}"
        );
    }
}

#[test]
fn sums_are_shifted_in_rows_that_end_within_a_vector() {
    for (elem, planes, inner) in [("f32", 2, 8), ("f64", 1, 8), ("f32", 1, 16), ("f64", 2, 4)] {
        let run = same(&transposed(elem, 12, planes, inner));
        let shifted = run.wide_remarks.iter().any(|r| r.text.contains("sums shifted where folds are shorter"));
        assert!(shifted, "{elem} {planes} {inner}: {:?}", run.wide_remarks);
    }
}

/// Products of four lanes side by side, summed: `w` of one axis, `x` in lanes that lie four elements apart.
fn outer_products(step: usize) -> String {
    let body = format!(
        "%c: f32[10,12,4,4] = with {{ part [0, 0, 0, 0] <= [%o, %m, %i, %j] < [10, 12, 4, 4] {{
           %o4: i32 = mul %o, {step} %j4: i32 = mul %j, 4
           %s: f32 = with {{ part [0] <= [%k] < [4] {{
             %ok: i32 = add %o4, %k %jk: i32 = add %j4, %k
             %ww: f32 = sel %w, [%ok] %xx: f32 = sel %x, [%m, %i, %jk] %z: f32 = mul %ww, %xx yield %z
           }} }} fold add neutral 0.0:f32
           yield %s
         }} }} genarray [10, 12, 4, 4] cell []\n"
    );
    program("f32", &[("w", &[40]), ("x", &[12, 4, 16])], &body, &[10, 12, 4, 4])
}

#[test]
fn windows_that_do_not_overlap_share_what_is_shuffled() {
    assert!(remarks(&outer_products(4), "copies of axis 0 jammed"));
    // At a distance of 3, four elements of neighbours overlap.
    assert!(!remarks(&outer_products(3), "copies of axis 0 jammed"));
}

#[test]
fn sums_are_not_shifted_without_gain() {
    // Short folds, rows that are not whole vectors, data that is not, no multiply-add, whole vectors near the edges, rows so long that few
    // vectors are near an edge.
    let cases = [
        ("f32", 2, 1, 8),
        ("f32", 12, 1, 7),
        ("f32", 12, 1, 9),
        ("i32", 12, 1, 8),
        ("f32", 12, 4, 8),
        ("f32", 12, 1, 56),
    ];
    for (elem, maps, planes, inner) in cases {
        assert!(!remarks(&transposed(elem, maps, planes, inner), "sums shifted"), "{elem} {maps} {planes} {inner}");
    }
}

#[test]
fn other_patterns_are_gathered() {
    // Quotients by 3 do not repeat with vectors of 4, and squares have no pattern.
    let body = "%c: f32[40] = with { part [0] <= [%q] < [40] {
        %t: i32 = div %q, 3 %u: i32 = mul %q, %q %v: i32 = mod %u, 17
        %a: f32 = sel %x, [%t] %b: f32 = sel %x, [%v] %e: f32 = exp %a %f: f32 = mul %e, %b %g: f32 = div %f, 64.0:f32 yield %g
      } } genarray [40] cell []\n";
    same(&program("f32", &[("x", &[40])], body, &[40]));
}
