//! What becomes a launch, and of which kind.

use crate::common::for_device;

fn scheduled(text: &str) -> (String, Vec<String>) {
    for_device(text, 1.0)
}

fn fold(op: &str, neutral: &str, body: &str) -> String {
    format!(
        "func @f0 \"f\" (%a: f32[s0], %b: f32[s1,s2]) -> (f32) {{
           %n: i32 = extent %a, 0
           %m: i32 = extent %b, 0
           %k: i32 = extent %b, 1
           %s: f32 = with {{ {body} }} fold {op} neutral {neutral}
           yield %s
         }}"
    )
}

/// What the first launch of a nest does.
fn launched(nest: &str) -> &str {
    let (before, after) = nest.split_once("launch (").expect("it runs on the device");
    let indent = &before[before.rfind('\n').unwrap_or(0)..];
    after.split_once(&format!("{indent}}}")).expect("it ends").0
}

#[test]
fn a_sum_is_a_launch_of_groups_with_a_tree() {
    let (nest, remarks) =
        scheduled(&fold("add", "0.0:f32", "part [0] <= [%i] < [%n] { %x: f32 = sel %a, [%i] yield %x }"));
    assert!(nest.contains("local (256)") && nest.contains("barrier") && nest.contains("local_slot 1024"), "{nest}");
    assert!(remarks.iter().any(|r| r.contains("partial results combined in order")), "{remarks:?}");
    // Several loads are under way in the loop over whole blocks.
    let loads = nest.split("launch").nth(1).map_or(0, |launch| launch.matches("load").count());
    assert!(loads > 8, "{nest}");
}

#[test]
fn a_sum_over_all_of_a_matrix_counts_its_elements() {
    let whole = fold("add", "0.0:f32", "part [0, 0] <= [%i, %j] < [%m, %k] { %x: f32 = sel %b, [%i, %j] yield %x }");
    let (nest, _) = scheduled(&whole);
    assert!(!launched(&nest).contains("sdiv"), "{nest}");
    // The transposed one needs both indices.
    let (nest, _) = scheduled(
        &whole.replace("[%i, %j] < [%m, %k]", "[%i, %j] < [%k, %m]").replace("[%i, %j] yield", "[%j, %i] yield"),
    );
    assert!(launched(&nest).contains("sdiv"), "{nest}");
}

#[test]
fn folds_in_order_stay_on_the_host() {
    let (nest, remarks) =
        scheduled(&fold("sub", "0.0:f32", "part [0] <= [%i] < [%n] { %x: f32 = sel %a, [%i] yield %x }"));
    assert!(!nest.contains("launch"), "{nest}");
    assert!(remarks.iter().any(|r| r.contains("it folds in order")), "{remarks:?}");
}

#[test]
fn sums_of_rows_are_for_groups_and_short_ones_for_work_items() {
    let rows = |k: &str| {
        format!(
            "func @f0 \"f\" (%b: f32[s1,s2]) -> (f32[s1]) {{
               %m: i32 = extent %b, 0
               %k: i32 = extent %b, 1
               %r: f32[s1] = with {{
                 part [0] <= [%i] < [%m] {{
                   %s: f32 = with {{ part [0] <= [%j] < [{k}] {{ %x: f32 = sel %b, [%i, %j] yield %x }} }} fold add neutral 0.0:f32
                   yield %s
                 }}
               }} genarray [%m] cell []
               yield %r
             }}"
        )
    };
    let (nest, remarks) = scheduled(&rows("%k"));
    assert!(nest.contains("local (256)"), "{nest}");
    assert!(remarks.iter().any(|r| r.contains("a group of 256 work-items per cell")), "{remarks:?}");
    let (nest, _) = scheduled(&rows("3"));
    assert!(nest.contains("launch") && !nest.contains("local ("), "{nest}");
}

/// How often the host calls a function of the runtime, before the first loop and from it on.
fn calls(nest: &str, symbol: &str) -> (usize, usize) {
    let Some(declared) =
        nest.lines().find(|line| line.starts_with("extern") && line.contains(&format!("\"{symbol}\"")))
    else {
        return (0, 0);
    };
    let name = declared.split_whitespace().nth(1).expect("externs have a name");
    let (before, after) = nest.split_once(" loop (").expect("there is a loop");
    let count = |text: &str| text.matches(&format!("call_extern {name}(")).count();
    (count(before), count(after))
}

fn loop_over(body: &str) -> String {
    format!(
        "func @f0 \"f\" (%a: f64[s0], %b: f64[s0]) -> (f64[s0], f64) {{
           %n: i32 = extent %a, 0
           %c: f64[s0], %i2: i32, %t2: f64 = loop (%v: f64[s0] = %b, %i: i32 = 0, %t: f64 = 0.0) {{
             {body}
             %i1: i32 = add %i, 1
             %go: bool = lt %i1, %n
             yield %go, %w, %i1, %u
           }}
           yield %c, %t2
         }}"
    )
}

#[test]
fn a_loop_of_the_host_asks_for_its_arrays_once() {
    let (nest, _) =
        scheduled(&loop_over("%x: f64 = sel %a, [%i] %u: f64 = add %t, %x %w: f64[s0] = update %v, [%i], %u"));
    assert_eq!(calls(&nest, "ravel_device_element"), (0, 0), "{nest}");
    assert_eq!(calls(&nest, "ravel_device_to_host").1, 0, "{nest}");
    assert_eq!(calls(&nest, "ravel_device_host_writes"), (1, 0), "{nest}");
}

#[test]
fn a_loop_with_launches_asks_in_every_round() {
    let with = "%w: f64[s0] = with { part [0] <= [%k] < [%n] { %y: f64 = sel %v, [%k] %z: f64 = add %y, 1.0 yield %z } } genarray [%n] cell []";
    let (nest, _) = scheduled(&loop_over(&format!("%x: f64 = sel %a, [%i] %u: f64 = add %t, %x {with}")));
    assert!(calls(&nest, "ravel_device_element").1 > 0, "{nest}");
}
