//! Loads that walk across rows: lanes run along the rows.

use crate::common::same;

/// What is said of the cells `body` of an `[m,n]` array, made from `%a` of `[n,m]` and `%b` of `[m,n]` elements.
fn lanes(m: usize, n: usize, elem: &str, body: &str) -> Vec<String> {
    let array = |name: &str, rows: usize, columns: usize| {
        format!(
            "%{name}: {elem}[{rows},{columns}] = with {{ part [0, 0] <= [%{name}i, %{name}j] < [{rows}, {columns}] {{
               %{name}m: i32 = mul %{name}i, 7 %{name}s: i32 = add %{name}m, %{name}j %{name}r: i32 = mod %{name}s, 31
               %{name}c: {elem} = convert %{name}r yield %{name}c
             }} }} genarray [{rows}, {columns}] cell []\n"
        )
    };
    let text = format!(
        "entry @f0 func @f0 \"main\" () -> ({elem}, {elem}) {{\n{a}{b}
           %t: {elem}[{m},{n}] = with {{ part [0, 0] <= [%i, %j] < [{m}, {n}] {{ {body} }} }} genarray [{m}, {n}] cell []
           %w: {elem}[{m},{n}] = with {{ part [0, 0] <= [%p, %q] < [{m}, {n}] {{
             %pq: i32 = add %p, %q %pm: i32 = mod %pq, 5 %pc: {elem} = convert %pm
             %x: {elem} = sel %t, [%p, %q] %y: {elem} = mul %x, %pc yield %y
           }} }} genarray [{m}, {n}] cell []
           %total: {elem} = with {{ part [0, 0] <= [%k, %l] < [{m}, {n}] {{ %z: {elem} = sel %w, [%k, %l] yield %z }} }}
             fold add neutral {zero}:{elem}
           %last: {elem} = sel %t, [{m1}, {n1}]
           yield %total, %last
         }}",
        a = array("a", n, m),
        b = array("b", m, n),
        zero = if elem.starts_with('f') { "0.0" } else { "0" },
        m1 = m - 1,
        n1 = n - 1,
    );
    same(&text).remarks.into_iter().map(|remark| remark.text).collect()
}

fn across(remarks: &[String]) -> bool {
    remarks.iter().any(|text| text.contains("lanes along axis 0"))
}

#[test]
fn transposed_arrays_are_read_along_their_rows() {
    for elem in ["f32", "f64", "i32", "i64"] {
        for (m, n) in [(64, 300), (67, 301), (9, 1000)] {
            assert!(across(&lanes(m, n, elem, &format!("%c: {elem} = sel %a, [%j, %i] yield %c"))), "{elem} {m} {n}");
        }
    }
}

#[test]
fn other_arrays_are_not() {
    // Few rows: the lines stay in the cache.
    assert!(!across(&lanes(64, 60, "f64", "%c: f64 = sel %a, [%j, %i] yield %c")));
    // Read as it is written.
    assert!(!across(&lanes(64, 300, "f64", "%c: f64 = sel %b, [%i, %j] %d: f64 = add %c, 1.0 yield %d")));
}
