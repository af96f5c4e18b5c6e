//! Results that no cache holds are stored past the caches, where vectors are aligned.

use crate::common::{nest_for_threads_of, scheduled};
use ravel_schedule::Capabilities;

const TARGET: Capabilities = Capabilities {
    vector_bytes: 64,
    vector_registers: 32,
    has_fma: true,
    fma_takes_factor: false,
    has_gather: true,
    ..Capabilities::SCALAR
};

/// The nest of a function with one with-loop.
fn nest(result: &str, with: &str, parallel: bool) -> String {
    let text = format!("entry @f0\nfunc @f0 \"main\" (%a: {result}) -> ({result}) {{ {with} yield %c }}");
    let nest = if parallel { nest_for_threads_of(&text, TARGET) } else { scheduled(&text, TARGET).0 };
    nest.to_string()
}

/// Streaming stores, and other vector stores, of a function with one with-loop.
fn stores(result: &str, with: &str, parallel: bool) -> (usize, usize) {
    let text = nest(result, with, parallel);
    let streaming = text.lines().filter(|line| line.contains("store") && line.ends_with("streaming")).count();
    let kernels = text.split("kernel").nth(1).unwrap_or("");
    (streaming, kernels.lines().filter(|line| line.contains("store") && !line.contains("aligned")).count())
}

fn row(extent: i64, low: i64, high: i64) -> (String, String) {
    let result = format!("f32[{extent}]");
    // The operand is read at another index, so that its memory is not taken over.
    let with = format!(
        "%c: {result} = with {{ part [{low}] <= [%i] < [{high}] {{
           %j: i32 = sub {extent}, %i %k: i32 = sub %j, 1 %x: f32 = sel %a, [%k] %y: f32 = add %x, 1.5:f32 yield %y
         }} }} genarray [{extent}] cell []"
    );
    (result, with)
}

fn plane(rows: i64, columns: i64, low: i64) -> (String, String) {
    let result = format!("f32[{rows},{columns}]");
    let with = format!(
        "%c: {result} = with {{ part [{low}, {low}] <= [%i, %j] < [{rows}, {columns}] {{
           %k: i32 = sub %i, {low} %l: i32 = sub %j, {low} %x: f32 = sel %a, [%k, %l] %y: f32 = mul %x, %x %z: f32 = add %y, 1.5:f32 yield %z
         }} }} genarray [{rows}, {columns}] cell []"
    );
    (result, with)
}

#[test]
fn large_results_are_stored_past_the_caches() {
    for parallel in [false, true] {
        for (result, with) in
            [row(20_000_000, 0, 20_000_000), row(20_000_000, 3, 19_999_999), plane(4000, 4096, 0), plane(4000, 4096, 1)]
        {
            let (streaming, _) = stores(&result, &with, parallel);
            assert!(streaming > 0, "{result} {parallel}");
        }
    }
}

#[test]
fn small_results_stay_in_the_caches() {
    for (result, with) in [row(1_000_000, 0, 1_000_000), plane(400, 4096, 0)] {
        assert_eq!(stores(&result, &with, true).0, 0, "{result}");
    }
}

#[test]
fn vectors_that_are_not_aligned_are_stored_as_usual() {
    // Rows begin at different remainders.
    let (result, with) = plane(4000, 4091, 0);
    assert_eq!(stores(&result, &with, false).0, 0);
    // The first vector of a row is stored before those that are aligned.
    let (result, with) = plane(4000, 4096, 1);
    let (streaming, plain) = stores(&result, &with, false);
    assert!(streaming > 0 && plain > 0, "{streaming} {plain}");
}

#[test]
fn short_rows_that_are_not_whole_lines_are_stored_as_usual() {
    let (result, with) = plane(100_000, 256, 1);
    assert_eq!(stores(&result, &with, false).0, 0);
    // Whole lines may be short, and what is lost at the ends of long rows is little.
    for (result, with) in [plane(100_000, 256, 0), plane(10_000, 2048, 1)] {
        assert!(stores(&result, &with, false).0 > 0, "{result}");
    }
}

#[test]
fn lines_that_two_vectors_write_stay_in_the_caches() {
    // Rows of 4095 elements from the second on. The first vector reaches into the line of the second one.
    let (result, with) = plane(4000, 4096, 1);
    let text = nest(&result, &with, false);
    let (_, kernel) = text.split_once("_kernel_").expect("a kernel beside the function");
    let vectors: Vec<&str> = kernel
        .lines()
        .filter(|line| line.contains("store") && (line.ends_with("streaming") || !line.contains("aligned")))
        .collect();
    let (usual, streaming): (Vec<&str>, Vec<&str>) = vectors.iter().partition(|line| !line.ends_with("streaming"));
    assert_eq!((usual.len(), streaming.is_empty()), (2, false), "{text}");
}
