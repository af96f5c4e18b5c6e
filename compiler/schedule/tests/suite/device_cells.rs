//! Launches with several cells per work-item: which with-loops get them.

use crate::common::for_device;

/// The remarks on a with-loop over `%a` (of type `a`, as the result), and the scheduled text; the extents are at hand as `%m` and `%n`.
fn scheduled(a: &str, with: &str) -> (Vec<String>, String) {
    let text = format!(
        "entry @f0 func @f0 \"main\" (%a: {a}, %k: f32) -> ({a}) {{ %m: i32 = extent %a, 0 %n: i32 = extent %a, 1 %c: {a} = with {{ {with} }} genarray {} cell [] yield %c }}",
        if a.contains('s') { "[%m, %n]".to_string() } else { a[3..].to_string() }
    );
    let (nest, remarks) = for_device(&text, 1e5);
    (remarks, nest)
}

fn has(remarks: &[String], wanted: &str) -> bool {
    remarks.iter().any(|r| r.contains(wanted))
}

/// The body of a part that adds two elements.
fn sum_of(first: &str, second: &str) -> String {
    format!(
        "%one: i32 = const 1 %up: i32 = sub %i, %one %down: i32 = add %i, %one %left: i32 = sub %j, %one %right: i32 = add %j, %one
         %x: f32 = sel %a, [{first}] %y: f32 = sel %a, [{second}] %z: f32 = add %x, %y yield %z"
    )
}

fn inner(extent: usize, first: &str, second: &str) -> String {
    let end = extent - 1;
    format!(
        "part [0, 0] <= [%p, %q] < [1, {extent}] {{ yield 0.0:f32 }} part [{end}, 0] <= [%r, %s] < [{extent}, {extent}] {{ yield 0.0:f32 }}
         part [1, 0] <= [%t, %u] < [{end}, 1] {{ yield 0.0:f32 }} part [1, {end}] <= [%v, %w] < [{end}, {extent}] {{ yield 0.0:f32 }}
         part [1, 1] <= [%i, %j] < [{end}, {end}] {{ {} }}",
        sum_of(first, second)
    )
}

#[test]
fn neighbours_that_read_the_same_rows_are_one_work_item() {
    let (remarks, text) = scheduled("f32[4096,4096]", &inner(4096, "%up, %j", "%down, %j"));
    assert!(has(&remarks, "in columns: a work-item computes 4 cells along axis 0"), "{remarks:?}");
    // Rows above and below of four cells are six.
    let launch =
        text.split("launch (").skip(1).find(|launch| launch.contains("= load")).expect("the borders load nothing");
    let block = launch.split("else").next().expect("whole blocks come first");
    assert_eq!((block.matches("load").count(), block.matches("store").count()), (6, 4), "{block}");
    assert!(block.rfind("load") < block.find("store"), "{block}");
}

#[test]
fn neighbours_within_a_row_and_small_arrays_have_a_work_item_each() {
    for (extent, first, second) in
        [(4096, "%i, %left", "%i, %right"), (4096, "%j, %i", "%j, %i"), (100, "%up, %j", "%down, %j")]
    {
        let (remarks, _) = scheduled(&format!("f32[{extent},{extent}]"), &inner(extent, first, second));
        assert!(
            has(&remarks, "one work-item per cell") && !has(&remarks, "a work-item computes"),
            "{extent} {first}: {remarks:?}"
        );
    }
}

/// An element-wise body over the whole array.
fn map(m: &str, n: &str, body: &str) -> String {
    format!("part [0, 0] <= [%i, %j] < [{m}, {n}] {{ %x: f32 = sel %a, [%i, %j] {body} }}")
}

#[test]
fn element_wise_bodies_compute_vectors() {
    let (remarks, text) = scheduled("f32[1000,1000]", &map("1000", "1000", "%y: f32 = mul %x, %k yield %y"));
    assert!(has(&remarks, "in vectors: a work-item computes 4 cells"), "{remarks:?}");
    assert!(text.contains("f32x4 = fmul") && !text.contains("for ("), "{text}");
    let (remarks, text) =
        scheduled("f32[1000,1000]", &map("1000", "1000", "%t: bool = lt %x, %k %y: f32 = select %t, %x, %k yield %y"));
    assert!(
        has(&remarks, "in vectors: a work-item computes 4 cells") && text.contains("i32x4 = fcmp.lt"),
        "{remarks:?}"
    );
    // With extents of the run the last work-item may have less than a vector.
    let (remarks, text) = scheduled("f32[s0,s1]", &map("%m", "%n", "%y: f32 = exp %x yield %y"));
    assert!(has(&remarks, "in vectors: a work-item computes 4 cells"), "{remarks:?}");
    assert!(text.contains("f32x4 = math.exp"), "{text}");
}

#[test]
fn other_bodies_and_small_arrays_compute_scalars() {
    for (extent, body) in [
        (100, "%y: f32 = mul %x, %k yield %y"),
        (1000, "%y: f32 = convert %j %z: f32 = mul %x, %y yield %z"),
        (1000, "%y: f32 = sel %a, [%j, %i] %z: f32 = mul %x, %y yield %z"),
    ] {
        let n = extent.to_string();
        let (remarks, text) = scheduled(&format!("f32[{n},{n}]"), &map(&n, &n, body));
        assert!(!has(&remarks, "a work-item computes") && !text.contains("f32x4"), "{body}: {remarks:?}");
    }
}
