//! Arrays that ranks have in rows: which reads a loop declares, and where marks are looked at instead.

use crate::common::{explained_for_threads, for_ranks, for_threads};

/// What stands where somebody looks whether the elements of an array are with other ranks.
const ASKS: &str = "ravel_rows_gather";

/// The same of rows near those of another array.
const NEAR: &str = "ravel_rows_near";

/// An array `%a` of dear cells, and one `%b` that a with-loop with `part`s makes of it, whose cells are dear as well: `%x` is what `reads` finds.
fn program(reads: &str, generator: &str, before: &str) -> String {
    format!(
        "entry @f0 func @f0 \"main\" (%n: i32) -> (f64[400,900]) {{
           %a: f64[400,900] = with {{ part [0, 0] <= [%h, %g] < [400, 900] {{
             %m: i32 = mul %h, 7 %s: i32 = add %m, %g %t: i32 = mod %s, 31 %u: f64 = convert %t
             %e: f64 = exp %u %f: f64 = add %e, 1.0 %l: f64 = log %f yield %l
           }} }} genarray [400, 900] cell []
           {before}
           %b: f64[400,900] = with {{ part {generator} {{
             {reads}
             %y: f64 = exp %x %z: f64 = add %y, 1.0 %w: f64 = log %z yield %w
           }} }} genarray [400, 900] cell [] default 0.5
           yield %b
         }}
         func @f1 \"seen\" noinline (%p: f64[400,900], %q: i32) -> (f64) {{ %r: f64 = sel %p, [%q, %q] yield %r }}"
    )
}

const ALL: &str = "[4, 4] <= [%i, %j] < [396, 896]";

/// The distances at which the second loop of a program reads rows, as they are explained.
fn distances(program: &str) -> Vec<String> {
    let texts = explained_for_threads(program);
    let distance =
        |text: &String| Some(text.strip_prefix("needs rows ")?.strip_suffix(" of an array in rows")?.to_string());
    texts.iter().filter_map(distance).collect()
}

/// The loops over chunks of a program, from their heads to their ends.
fn loops(nest: &str) -> Vec<String> {
    let mut loops = Vec::new();
    let lines: Vec<&str> = nest.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.trim().starts_with("parfor")) {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let behind = lines[at + 1..].iter().take_while(|other| indent(other) > indent(line));
        loops.push([line].into_iter().chain(behind).copied().collect::<Vec<&str>>().join("\n"));
    }
    loops
}

/// Declares the second loop of a program one array in rows at this distance, which nobody looks at before?
fn is_declared(reads: &str, generator: &str, distance: &str) {
    let text = program(reads, generator, "");
    assert_eq!(distances(&text), [distance], "{reads}");
    let nest = for_ranks(&text);
    let loops = loops(&nest);
    assert_eq!(loops.iter().map(|text| text.matches("reads (").count()).collect::<Vec<_>>(), [0, 1], "{nest}");
    assert!(!nest.contains(ASKS) && !nest.contains(NEAR), "{reads}: {nest}");
}

/// The second loop of a program declares nothing: somebody looks where the array is before it begins.
fn is_declined(text: &str) {
    assert_eq!(distances(text), Vec::<String>::new(), "{text}");
    let nest = for_ranks(text);
    assert!(!nest.contains("reads ("), "{nest}");
    assert!(nest.contains(ASKS), "{nest}");
    nobody_asks_in_chunks(&nest);
}

fn nobody_asks_in_chunks(nest: &str) {
    for text in loops(nest) {
        let asks = text.contains(ASKS) || text.contains(NEAR);
        assert!(!asks, "threads cannot talk to other ranks: {text}");
    }
}

#[test]
fn a_stencil_reads_rows_around() {
    is_declared("%x: f64 = sel %a, [%i, %j]", ALL, "+0 to +0");
    is_declared("%k: i32 = add %i, -1 %x: f64 = sel %a, [%k, %j]", ALL, "-1 to -1");
    is_declared(
        "%k: i32 = sub %i, 3 %o: i32 = add %i, 2 %c: f64 = sel %a, [%k, %j] %d: f64 = sel %a, [%o, %j] %x: f64 = add %c, %d",
        ALL,
        "-3 to +2",
    );
}

#[test]
fn an_inner_fold_reads_rows_around() {
    let fold = "%x: f64 = with { part [0] <= [%k] < [5] { %o: i32 = add %i, %k %r: i32 = sub %o, 2 %v: f64 = sel %a, [%r, %j] yield %v } } fold add neutral 0.0";
    is_declared(fold, ALL, "-2 to +2");
}

#[test]
fn a_row_is_where_it_is() {
    let nest = for_ranks(&program("%x: f64 = sel %a, [3, %j]", "[9, 0] <= [%i, %j] < [10, 900]", ""));
    nobody_asks_in_chunks(&nest);
}

#[test]
fn a_shift_reads_rows_far_away() {
    let all = "[300, 0] <= [%i, %j] < [400, 900]";
    is_declared("%k: i32 = sub %i, 300 %x: f64 = sel %a, [%k, %j]", all, "-300 to -300");
    is_declared("%k: i32 = sub 399, %i %x: f64 = sel %a, [%k, %j]", ALL, "-i+399 to -i+399");
}

/// Rows between two places far from each other are not needed.
#[test]
fn places_far_from_each_other_are_told_apart() {
    let both = "%k: i32 = sub %i, 300 %c: f64 = sel %a, [%k, %j] %d: f64 = sel %a, [%i, %j] %x: f64 = add %c, %d";
    assert_eq!(distances(&program(both, "[300, 0] <= [%i, %j] < [400, 900]", "")), ["-300 to -300", "+0 to +0"]);
    let near = both.replace("300", "200");
    assert_eq!(distances(&program(&near, "[300, 0] <= [%i, %j] < [400, 900]", "")), ["-200 to +0"]);
}

#[test]
fn coarser_grids_read_every_second_row() {
    let all = "[1, 4] <= [%i, %j] < [199, 896]";
    let even = "%k: i32 = mul %i, 2 %x: f64 = sel %a, [%k, %j]";
    is_declared(even, all, "2*i+0 to 2*i+0");
    let around = "%k: i32 = mul %i, 2 %o: i32 = add %k, 1 %q: i32 = sub %k, 1
        %c: f64 = sel %a, [%q, %j] %d: f64 = sel %a, [%o, %j] %x: f64 = add %c, %d";
    is_declared(around, all, "2*i-1 to 2*i+1");
    // Index 0 of the loop is row 1 of the partition: it reads rows from twice that on.
    let nest = for_ranks(&program(even, all, ""));
    let definition = |name: &str| {
        nest.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: i64 = "))).unwrap_or_default()
    };
    let read = nest.split("reads (").nth(1).and_then(|rest| rest.split(')').next()).expect("a read is declared");
    let [_, factor, low, high] = read.split(", ").collect::<Vec<_>>()[..] else { panic!("{read}") };
    assert_eq!(definition(factor), "const 2", "{nest}");
    for end in [low, high] {
        let start = definition(end).strip_prefix("iadd ").and_then(|sum| sum.split(", ").next()).unwrap_or_default();
        let (by, first) =
            definition(start).strip_prefix("imul ").and_then(|rest| rest.split_once(", ")).unwrap_or_default();
        assert_eq!((by, definition(first)), (factor, "const 1"), "{nest}");
    }
}

/// A block of rows for each index: the counter begins and ends at multiples of it.
#[test]
fn blocks_of_rows_are_declared() {
    let block = |step: &str, sum: &str| {
        format!(
            "%first: i32 = mul %i, 40 %end: i32 = add %first, 40
             %k: i32, %x: f64 = loop (%q: i32 = %first, %sum: f64 = 0.0) {{ {sum}
               %up: i32 = add %q, {step} %more: bool = lt %up, %end yield %more, %up, %total
             }}"
        )
    };
    let all = "[0, 0] <= [%i, %j] < [10, 900]";
    let one = "%v: f64 = sel %a, [%q, %j] %total: f64 = add %sum, %v";
    is_declared(&block("1", one), all, "40*i+0 to 40*i+39");
    let two = "%r: i32 = add %q, 1 %v: f64 = sel %a, [%q, %j] %o: f64 = sel %a, [%r, %j] %both: f64 = add %v, %o %total: f64 = add %sum, %both";
    is_declared(&block("2", two), all, "40*i+0 to 40*i+39");
    // The length of a block that data decides is not known.
    is_declined(&program(&block("%n", one), all, ""));
    let fold = "%first: i32 = mul %i, 40 %end: i32 = add %first, 40
        %x: f64 = with { part [%first] <= [%k] < [%end] { %v: f64 = sel %a, [%k, %j] yield %v } } fold add neutral 0.0";
    is_declared(fold, all, "40*i+0 to 40*i+39");
}

/// Two places of one array are two declarations.
#[test]
fn rows_that_all_indices_read_are_declared() {
    is_declared("%x: f64 = sel %a, [3, %j]", ALL, "3 to 3");
    let both = "%c: f64 = sel %a, [3, %j] %d: f64 = sel %a, [%i, %j] %x: f64 = add %c, %d";
    let text = program(both, ALL, "");
    assert_eq!(distances(&text), ["3 to 3", "+0 to +0"]);
    let nest = for_ranks(&text);
    assert_eq!(nest.matches("reads (").count(), 2, "{nest}");
    assert!(!nest.contains(ASKS), "{nest}");
}

#[test]
fn many_rows_are_gathered() {
    let many =
        "%x: f64 = with { part [0] <= [%k] < [300] { %v: f64 = sel %a, [%k, %j] yield %v } } fold add neutral 0.0";
    is_declined(&program(many, ALL, ""));
    is_declined(&program("%k: i32 = mul %i, %n %x: f64 = sel %a, [%k, %j]", ALL, ""));
}

#[test]
fn rows_that_a_body_computes_are_gathered() {
    let computed = "%c: f64 = sel %a, [0, %j] %d: i32 = convert %c %k: i32 = mod %d, 5 %o: i32 = abs %k %x: f64 = sel %a, [%o, %i]";
    is_declined(&program(computed, ALL, ""));
}

/// A number that is the same for all indices, and that only the run knows.
#[test]
fn rows_beside_such_a_number_are_declared() {
    is_declared("%x: f64 = sel %a, [%n, %j]", ALL, "s+0 to s+0");
    is_declared("%k: i32 = add %i, %n %o: i32 = add %k, 1 %x: f64 = sel %a, [%o, %j]", ALL, "i+s+1 to i+s+1");
    // A loop around with-loops: the row of its counter, and its own.
    let nest = for_ranks(
        "entry @f0 func @f0 \"main\" (%a: f64[400,900], %n: i32) -> (f64[400,900]) {
           %b: f64[400,900], %e: i32 = loop (%c: f64[400,900] = %a, %k: i32 = 0) {
             %d: f64[400,900] = with { part [0, 0] <= [%i, %j] < [400, 900] {
               %x: f64 = sel %c, [%i, %j] %y: f64 = sel %c, [%i, %k] %z: f64 = sel %c, [%k, %j]
               %s: f64 = add %y, %z %t: f64 = exp %s %u: f64 = add %t, 1.0 %w: f64 = log %u %m: f64 = min %x, %w yield %m
             } } genarray [400, 900] cell []
             %l: i32 = add %k, 1 %go: bool = lt %l, %n yield %go, %d, %l
           }
           yield %b
         }",
    );
    assert_eq!(nest.matches("reads (").count(), 2, "{nest}");
    assert!(!nest.contains(ASKS), "{nest}");
}

#[test]
fn arrays_that_a_body_hands_on_are_gathered() {
    is_declined(&program("%x: f64 = call @f1(%a, %j)", ALL, ""));
}

#[test]
fn columns_are_gathered() {
    is_declined(&program("%x: f64 = sel %a, [%j, %i]", "[0, 0] <= [%i, %j] < [400, 400]", ""));
}

/// One row is no work for ranks: each of them computes it, of rows that those get who have it.
#[test]
fn thin_partitions_ask_for_rows_near_theirs() {
    let text = program("%x: f64 = sel %a, [%i, %j]", "[5, 0] <= [%i, %j] < [6, 900]", "");
    let nest = for_ranks(&text);
    assert!(nest.contains(NEAR) && !nest.contains("reads ("), "{nest}");
    nobody_asks_in_chunks(&nest);
}

/// Every rank may find a fault of indices; one of elements that are rubbish would be none.
#[test]
fn checks_of_indices_may_be_made_of_a_row_beside() {
    let asks = |read: &str| {
        let nest = for_ranks(&program(
            &format!("{read} check %ok, index %k, 400, 0 %x: f64 = sel %a, [%k, %j]"),
            "[5, 0] <= [%i, %j] < [6, 900]",
            "",
        ));
        nobody_asks_in_chunks(&nest);
        (nest.contains(NEAR), nest.contains(ASKS))
    };
    assert_eq!(asks("%k: i32 = add %n, 0 %ok: bool = lt %k, 400"), (true, false));
    let of_element = "%c: f64 = sel %a, [%i, %j] %d: i32 = convert %c %k: i32 = add %n, 0 %ok: bool = lt %d, %k";
    assert_eq!(asks(of_element), (false, true));
}

#[test]
fn arrays_inside_of_chunks_ask_nobody() {
    let inner = "%c: f64[20] = with { part [0] <= [%k] < [20] { %v: f64 = sel %a, [%i, %k] %u2: f64 = mul %v, 2.0 yield %u2 } } genarray [20] cell []
             %o: i32 = mod %j, 20 %x: f64 = sel %c, [%o]";
    is_declared(inner, ALL, "+0 to +0");
}

#[test]
fn views_are_gathered() {
    let before = "%v: f64[900,400] = reshape %a, [900, 400]";
    is_declined(&program("%x: f64 = sel %v, [%i, %j]", "[0, 0] <= [%i, %j] < [400, 400]", before));
}

/// Rows between those that a loop with steps computes are sent with them, so the array that has them is asked for first.
#[test]
fn steps_leave_no_rows_with_ranks() {
    let generator = "[4, 4] <= [%i, %j] < [396, 896] step [2, 1]";
    let text = program("%x: f64 = sel %a, [%i, %j]", generator, "");
    let nest = for_ranks(&text);
    nobody_asks_in_chunks(&nest);
    assert!(nest.contains(ASKS), "{nest}");
}

#[test]
fn single_elements_are_asked_for_before_loops_that_read_rows() {
    let before = "%one: f64 = sel %a, [%n, %n]";
    let text = program("%c: f64 = sel %a, [%i, %j] %x: f64 = add %c, %one", ALL, before);
    let nest = for_ranks(&text);
    assert!(nest.contains("ravel_device_element"), "{nest}");
    nobody_asks_in_chunks(&nest);
    assert_eq!(distances(&text), ["+0 to +0"]);
}

#[test]
fn loops_one_after_the_other_ask() {
    let before = "%sum: f64, %count: i32 = loop (%acc: f64 = 0.0, %k: i32 = 0) {
        %v: f64 = sel %a, [%k, 5] %next: f64 = mul %acc, 0.5 %new: f64 = add %next, %v %up: i32 = add %k, 1 %more: bool = lt %up, 400
        yield %more, %new, %up
      }";
    let nest = for_ranks(&program("%c: f64 = sel %a, [%i, %j] %x: f64 = add %c, %sum", ALL, before));
    assert!(nest.contains(ASKS), "{nest}");
    nobody_asks_in_chunks(&nest);
}

/// Without `--ranks` ranks gather what they compute.
#[test]
fn programs_without_rows_ask_nobody() {
    for before in ["", "%one: f64 = sel %a, [%n, %n]"] {
        let nest = for_threads(&program("%k: i32 = add %i, -1 %x: f64 = sel %a, [%k, %j]", ALL, before));
        assert!(nest.contains("yields ("), "{nest}");
        for word in ["reads (", "ravel_device", "ravel_rows"] {
            assert!(!nest.contains(word), "{word}: {nest}");
        }
    }
}
