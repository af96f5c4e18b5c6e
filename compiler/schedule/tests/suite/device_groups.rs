//! With-loops whose bodies make arrays: which ones run as groups of work-items, and what the launches look like.

use crate::common::for_device;

/// The nest text and the remarks of a function with one outer with-loop over an array of `n` rows.
fn scheduled(body: &str, operators: &str, results: &str) -> (String, Vec<String>) {
    let text = format!(
        "entry @f0\nfunc @f0 \"main\" (%a: f32[s0,16], %w: f32[16], %k: i32) -> ({results}) {{
           %n: i32 = extent %a, 0
           %r: {results} = with {{ part [0] <= [%i] < [%n] {{ {body} }} }} {operators}
           yield %r
         }}"
    );
    scheduled_module(&text)
}

fn scheduled_module(text: &str) -> (String, Vec<String>) {
    for_device(text, 1.0)
}

/// A row from another, of `%a` at first, read backwards.
fn row(to: &str, from: &str, index: &str) -> String {
    format!(
        "%{to}: f32[16] = with {{ part [0] <= [%{to}j] < [16] {{
           %{to}k: i32 = sub 15, %{to}j %{to}x: f32 = sel %{from}, [{index}%{to}k] %{to}y: f32 = mul %{to}x, %{to}x yield %{to}y
         }} }} genarray [16] cell [] "
    )
}

fn pipeline(check: &str) -> String {
    format!("{check}{}{}{} yield %d", row("b", "a", "%i, "), row("c", "b", ""), row("d", "c", ""))
}

const COLLECT: &str = "genarray [%n] cell [16]";
const SUM: &str = "fold add neutral %w";

#[test]
fn temporaries_are_local_and_barriers_order_them() {
    let (text, remarks) = scheduled(&pipeline(""), COLLECT, "f32[s0,16]");
    assert!(text.contains("local (32)"), "{text}");
    // The last array is built in the result; the other two overlap in time.
    assert_eq!(text.matches("local_slot 64").count(), 2, "{text}");
    assert_eq!(text.matches("barrier").count(), 2, "{text}");
    assert!(remarks.iter().any(|r| r.contains("a group of 32 work-items per index; 128 bytes")), "{remarks:?}");
}

#[test]
fn folds_of_groups_are_combined_by_a_second_launch() {
    let (text, _) = scheduled(&pipeline(""), SUM, "f32[16]");
    assert_eq!(text.matches("launch (").count(), 2, "{text}");
    assert_eq!(text.matches("local (").count(), 1, "{text}");
}

#[test]
fn affine_checks_are_made_before_the_launch_and_others_keep_the_loop_on_the_host() {
    let affine = "%o: bool = lt %i, %k check %o, index %i, %k, 0 ";
    let (text, _) = scheduled(&pipeline(affine), COLLECT, "f32[s0,16]");
    assert!(text.contains("local (32)"), "{text}");
    let data = "%v: f32 = sel %a, [%i, 0] %o: bool = lt %v, 1.0:f32 check %o, message \"too large\" [] ";
    let (text, remarks) = scheduled(&pipeline(data), COLLECT, "f32[s0,16]");
    assert!(!text.contains("local ("), "{text}");
    assert!(remarks.iter().any(|r| r.contains("no groups of work-items: its body has checks")), "{remarks:?}");
}

#[test]
fn arrays_of_unknown_size_keep_the_loop_on_the_host() {
    let body = "%b: f32[s0] = with { part [0] <= [%j] < [%n] { %x: f32 = sel %a, [%j, 3] yield %x } } genarray [%n] cell []
                %c: f32[16] = with { part [0] <= [%l] < [16] { %y: f32 = sel %b, [%i] yield %y } } genarray [16] cell [] yield %c";
    let (text, remarks) = scheduled(body, COLLECT, "f32[s0,16]");
    assert!(!text.contains("local ("), "{text}");
    assert!(remarks.iter().any(|r| r.contains("whose shape is not constant")), "{remarks:?}");
}

/// A body that sums rows of `%a` over windows that are cut off at both ends; `%h` is there to make it a pipeline.
fn windows(width: i32) -> String {
    let body = format!(
        "{} %d: f32[16] = with {{ part [0] <= [%j] < [16] {{
           %low0: i32 = sub %j, 3 %low: i32 = max %low0, 0 %high0: i32 = add %j, 1 %high: i32 = min %high0, {width}
           %s: f32 = with {{ part [%low] <= [%p] < [%high] {{
             %q: i32 = sub %j, %p %qq: i32 = min %q, 15 %x: f32 = sel %h, [%qq] yield %x
           }} }} fold add neutral 0.0:f32
           yield %s }} }} genarray [16] cell [] yield %d",
        row("h", "a", "%i, ")
    );
    scheduled(&body, COLLECT, "f32[s0,16]").0
}

#[test]
fn windows_that_are_cut_off_are_written_out_if_they_are_short() {
    // Nothing in a launch is a loop then.
    let loops = |text: &str| text.split("launch (").nth(1).map_or(0, |launch| launch.matches("for ").count());
    let (short, long) = (windows(5), windows(9));
    assert!(short.contains("launch (") && loops(&short) < loops(&long), "{short}");
}

#[test]
fn small_with_loops_between_two_barriers_begin_with_different_items() {
    let sum = |to: &str, n: i32| {
        format!(
            "%{to}: f32[{n}] = with {{ part [0] <= [%{to}j] < [{n}] {{ %{to}x: f32 = sel %h, [%{to}j] yield %{to}x }} }} genarray [{n}] cell [] "
        )
    };
    let wide = "%h: f32[200] = with { part [0] <= [%hj] < [200] { %hk: i32 = div %hj, 20 %hx: f32 = sel %a, [%i, %hk] yield %hx } } genarray [200] cell [] ";
    let body = format!("{wide}{}{} yield %p, %q", sum("p", 20), sum("q", 30));
    let text = format!(
        "entry @f0\nfunc @f0 \"main\" (%a: f32[s0,16]) -> (f32[s0,20], f32[s0,30]) {{
           %n: i32 = extent %a, 0
           %r: f32[s0,20], %s: f32[s0,30] = with {{ part [0] <= [%i] < [%n] {{ {body} }} }} genarray [%n] cell [20] genarray [%n] cell [30]
           yield %r, %s
         }}"
    );
    let (nest, _) = scheduled_module(&text);
    // The second one is turned by a warp: 256 - 32 ahead.
    assert!(nest.contains("local (256)") && nest.contains("224"), "{nest}");
}

/// A body that folds all 16 elements of `%h` for each of two cells.
fn two_sums(op: &str, neutral: &str) -> String {
    let body = format!(
        "%h: f32[64,16] = with {{ part [0, 0] <= [%hi, %hj] < [64, 16] {{ %hk: i32 = sub 15, %hj %hx: f32 = sel %a, [%i, %hk] yield %hx }} }} genarray [64, 16] cell []
         %d: f32[2] = with {{ part [0] <= [%j] < [2] {{
           %s: f32 = with {{ part [0, 0] <= [%p, %q] < [64, 16] {{ %x: f32 = sel %h, [%p, %q] yield %x }} }} fold {op} neutral {neutral}
           yield %s }} }} genarray [2] cell [] yield %d"
    );
    scheduled(&body, "genarray [%n] cell [2]", "f32[s0,2]").0
}

#[test]
fn long_folds_of_few_cells_are_shared_by_the_items() {
    let text = two_sums("add", "0.0:f32");
    // Elements, barrier, stretches, barrier, cells.
    assert_eq!((text.matches("local_slot 6144").count(), text.matches("barrier").count()), (1, 2), "{text}");
}

#[test]
fn folds_that_start_from_something_are_not_shared() {
    for (op, neutral) in [("add", "1.0:f32"), ("sub", "0.0:f32")] {
        let text = two_sums(op, neutral);
        assert_eq!((text.matches("local_slot 6144").count(), text.matches("barrier").count()), (0, 1), "{text}");
    }
    // The least of all is the least of the least, wherever each began.
    assert_eq!(two_sums("min", "1.0:f32").matches("local_slot 6144").count(), 1);
}

#[test]
fn a_long_fold_to_a_scalar_is_shared_by_the_items() {
    let body = |extent: i32| {
        format!(
            "{} %s: f32 = with {{ part [0] <= [%p] < [{extent}] {{ %q: i32 = min %p, 15 %x: f32 = sel %h, [%q] yield %x }} }} fold add neutral 0.0:f32
             %d: f32[16] = with {{ part [0] <= [%j] < [16] {{ yield %s }} }} genarray [16] cell [] yield %d",
            row("h", "a", "%i, ")
        )
    };
    let barriers = |extent: i32| scheduled(&body(extent), COLLECT, "f32[s0,16]").0.matches("barrier").count();
    // One for the elements; another one only if that is less than what it saves.
    assert_eq!((barriers(300), barriers(6)), (2, 1));
}

#[test]
fn rows_of_even_length_have_gaps_in_local_memory() {
    // 64 rows of 16 elements, 17 apart.
    assert!(two_sums("add", "0.0:f32").contains(&format!("local_slot {}", 4 * 64 * 17)));
    // An array that is used as a whole has none.
    let body = "%h: f32[8,16] = with { part [0, 0] <= [%hi, %hj] < [8, 16] { %hx: f32 = sel %a, [%i, %hj] yield %hx } } genarray [8, 16] cell []
        %g: f32[128] = reshape %h, [128]
        %d: f32[16] = with { part [0] <= [%j] < [16] { %q: f32 = sel %g, [%j] yield %q } } genarray [16] cell [] yield %d";
    let (text, _) = scheduled(body, COLLECT, "f32[s0,16]");
    assert!(text.contains(&format!("local_slot {}", 4 * 128)), "{text}");
}
