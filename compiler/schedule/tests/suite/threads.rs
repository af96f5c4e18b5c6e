//! Which axis threads share, and in chunks of which size.

use crate::common::{for_threads, same};

/// Roots of an array's elements, and their sum; what is said of the threads of both.
fn axes_of(extents: &[usize]) -> Vec<String> {
    let letters = &["%i", "%j", "%k"][..extents.len()];
    let index = |suffix: &str| letters.iter().map(|l| format!("{l}{suffix}")).collect::<Vec<_>>().join(", ");
    let bounds = extents.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let zeros = vec!["0"; extents.len()].join(", ");
    let last = letters[letters.len() - 1];
    let text = format!(
        "entry @f0 func @f0 \"main\" () -> (f64) {{
           %a: f64[{ty}] = with {{ part [{zeros}] <= [{i}] < [{bounds}] {{
             %m: i32 = mul %i, 7 %s: i32 = add %m, {last} %r: i32 = mod %s, 31 %x: f64 = convert %r
             %e: f64 = exp %x %f: f64 = add %e, 1.0 %g: f64 = log %f
             yield %g
           }} }} genarray [{bounds}] cell []
           %total: f64 = with {{ part [{zeros}] <= [{i2}] < [{bounds}] {{ %o: f64 = sel %a, [{i2}] yield %o }} }} fold add neutral 0.0
           yield %total
         }}",
        ty = bounds.replace(' ', ""),
        i = index(""),
        i2 = index("_2"),
    );
    let remarks = same(&text).remarks.into_iter().map(|remark| remark.text);
    remarks.filter(|text| text.starts_with("threads over")).collect()
}

fn all_over(extents: &[usize], axis: usize) -> bool {
    let axes = axes_of(extents);
    axes.len() == 2 && axes.iter().all(|text| text.contains(&format!("axis {axis}")))
}

#[test]
fn the_outermost_axis_if_it_is_long_enough() {
    assert!(all_over(&[40, 90, 70], 0));
    assert!(all_over(&[300_000], 0));
    // No axis is much longer.
    assert!(all_over(&[30, 50, 170], 0));
}

#[test]
fn a_longer_one_if_it_is_short() {
    assert!(all_over(&[3, 300, 251], 1));
    assert!(all_over(&[2, 5, 25_001], 2));
    assert!(all_over(&[3, 90_001], 1));
    assert!(all_over(&[1, 250_000], 1));
}

/// Indices per chunk of a sum of `n` numbers, each the end of 1,000 iterations.
fn chunk_of_heavy_sum(n: usize) -> i64 {
    let text = format!(
        "entry @f0 func @f0 \"main\" () -> (f64) {{
           %total: f64 = with {{ part [0] <= [%i] < [{n}] {{
             %x: f64 = convert %i
             %s: f64, %c: i32 = loop (%a: f64 = %x, %k: i32 = 0) {{
               %b: f64 = mul %a, 0.5 %d: f64 = add %b, %x %l: i32 = add %k, 1 %more: bool = lt %l, 1000
               yield %more, %d, %l
             }}
             yield %s
           }} }} fold add neutral 0.0
           yield %total
         }}"
    );
    assert!(same(&text).remarks.iter().any(|remark| remark.text.starts_with("threads over")));
    let nest = for_threads(&text);
    let chunk = nest.split("chunk ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a parallel loop");
    let constant = nest.split(&format!("{chunk}: i64 = const ")).nth(1).expect("a constant chunk");
    constant.lines().next().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn chunks_of_heavy_folds_are_whole_vectors() {
    assert_eq!([64, 128, 300, 1000].map(chunk_of_heavy_sum), [8, 8, 16, 32]);
    assert_eq!(chunk_of_heavy_sum(4_001) % 8, 0);
}
