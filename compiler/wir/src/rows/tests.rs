//! Which rows bodies read, on text; and that what is said of them holds near all edges.

use super::*;
use crate::parse::parse_module;
use crate::verify::verify;
use ravel_source::FileId;

/// What the first partition of the last with-loop of a function reads.
fn found(params: &str, body: &str) -> Reads {
    let text = format!("func @f0 \"f\" ({params}) -> () {{ {body} yield }}");
    let module = parse_module(&text, FileId(0)).expect("grammatical");
    assert_eq!(verify(&module), Ok(()));
    let func = module.funcs.values().next().expect("there is one");
    let last = func.regions[func.body].insts.last().expect("there is one");
    let Op::With(with) = &func.insts[*last].op else { panic!("no with-loop") };
    let finder = RowFinder::new(func);
    let mut reads = finder.of_part(with, &with.parts[0]);
    reads.whole.extend(with.ops.iter().filter_map(WithOp::region).flat_map(|region| finder.of_region(region)));
    reads
}

/// The same as text; `%v0` is the first parameter.
fn reads(params: &str, body: &str) -> String {
    let reads = found(params, body);
    let rows = reads.rows.iter().map(|RowReads { array, factor, base, low, high }| match (factor, base) {
        (1, None) => format!("{array} {low}..{high}"),
        (_, None) => format!("{array} {factor}i+{low}..{high}"),
        (_, Some(base)) => format!("{array} {factor}i+{base}+{low}..{high}"),
    });
    let whole = reads.whole.iter().map(|array| format!("{array} whole"));
    rows.chain(whole).collect::<Vec<_>>().join(", ")
}

/// The same of a loop over `0 <= i < 100` with this body, whose parameters are `%a` and `%n`.
fn of_body(body: &str) -> String {
    let with = format!("%r: f64[100] = with {{ part [1] <= [%i] < [99] {{ {body} }} }} genarray [100] cell []");
    reads("%a: f64[s0,s1], %n: i32", &with)
}

#[test]
fn distances_of_selections_make_an_interval() {
    let body =
        "%h: i32 = sub %i, 1  %j: i32 = add %i, 2  %x: f64 = sel %a, [%h, 0]  %y: f64 = sel %a, [%j, %n] yield %x";
    assert_eq!(of_body(body), "%v0 -1..2");
    assert_eq!(of_body("%j: i32 = add 7, %i  %x: f64 = sel %a, [%j, 0] yield %x"), "%v0 7..7");
    // A row is a selection too, and what is done with it is its own business.
    let body = "%r1: f64[s1] = sel %a, [%i]  %n2: i32 = extent %r1, 0  %x: f64 = sel %r1, [%n] yield %x";
    assert_eq!(of_body(body), "%v0 0..0");
    assert_eq!(of_body("%e: i32 = extent %a, 0  yield 1.0"), "");
}

#[test]
fn rows_far_from_each_other_are_told_apart() {
    let both = |other: &str| {
        of_body(&format!("%h: i32 = add %i, {other}  %x: f64 = sel %a, [%i, 0]  %y: f64 = sel %a, [%h, 0]  yield %x"))
    };
    assert_eq!(both("100"), "%v0 0..100");
    assert_eq!(both("1000"), "%v0 0..0, %v0 1000..1000");
}

#[test]
fn other_uses_need_the_whole_array() {
    assert_eq!(of_body("%m: i32 = mod %n, %i  %x: f64 = sel %a, [%m, %i] yield %x"), "%v0 whole");
    let widened = "%x: f64 = sel %a, [%i, 0]  %w: f64[*] = widen %a  %v: i32[1] = shape %w  yield %x";
    assert_eq!(of_body(widened), "%v0 whole");
    let changed = "%b: f64[s0,s1] = with { } modarray %a  %x: f64 = sel %b, [%i, 0] yield %x";
    assert_eq!(of_body(changed), "%v0 whole");
    let updated = "%b: f64[s0,s1] = update %a, [%i, 0], 1.0  %x: f64 = sel %a, [%i, 0] yield %x";
    assert_eq!(of_body(updated), "%v0 whole");
    let native = "%x: f64 = native \"f\" fixed 1 (%a) yield %x";
    assert_eq!(of_body(native), "%v0 whole");
    let loop_carried = "%x: f64[s0,s1] = loop (%b: f64[s0,s1] = %a) { yield false, %b }  yield 1.0";
    assert_eq!(of_body(loop_carried), "%v0 whole");
    let chosen = "%c: bool = lt %i, %n  %b: f64[s0,s1] = if %c { yield %a } else { yield %a }  yield 1.0";
    assert_eq!(of_body(chosen), "%v0 whole");
}

#[test]
fn a_window_has_the_bounds_of_its_inner_loops() {
    let window = |index: &str| {
        let inner = format!("{index}  %y: f64 = sel %a, [%q, %l]  yield %y");
        let part = format!("part [0, 0] <= [%k, %l] < [3, 3] {{ {inner} }}");
        of_body(&format!("%x: f64 = with {{ {part} }} fold add neutral 0.0  yield %x"))
    };
    assert_eq!(window("%q: i32 = add %i, %k"), "%v0 0..2");
    assert_eq!(window("%t: i32 = sub %k, 1  %q: i32 = sub %i, %t"), "%v0 -1..1");
    assert_eq!(window("%t: i32 = mul %k, 4  %q: i32 = add %t, %i"), "%v0 0..8");
    assert_eq!(window("%q: i32 = add %i, %l  %z: i32 = add %k, %k"), "%v0 0..2");
    assert_eq!(window("%q: i32 = add %k, 0"), "%v0 0i+0..2");
    // Offsets may be cut where the index comes near a border.
    let body = "%l: i32 = neg %i  %f: i32 = max %l, -1  %u: i32 = sub 100, %i  %e: i32 = min %u, 2
        %x: f64 = with { part [%f] <= [%k] < [%e] { %q: i32 = add %i, %k  %y: f64 = sel %a, [%q, 0]  yield %y } }
            fold add neutral 0.0  yield %x";
    assert_eq!(of_body(body), "%v0 -1..1");
    // The window's own index may be the row.
    let body = "%l: i32 = sub %i, 2  %u: i32 = add %i, 2  %x: f64 = with { part [%l] <= [%k] < [%u] {
        %y: f64 = sel %a, [%k, 0]  yield %y } } fold add neutral 0.0  yield %x";
    assert_eq!(of_body(body), "%v0 -2..1");
}

#[test]
fn rows_follow_a_multiple_of_the_index() {
    let at = |index: &str| of_body(&format!("{index}  %x: f64 = sel %a, [%q, 0]  yield %x"));
    assert_eq!(at("%q: i32 = mul %i, 2"), "%v0 2i+0..0");
    assert_eq!(at("%q: i32 = add %i, %i"), "%v0 2i+0..0");
    assert_eq!(at("%h: i32 = sub %i, 1  %t: i32 = mul 3, %h  %q: i32 = add %t, 1"), "%v0 3i+-2..-2");
    // The other way around.
    assert_eq!(at("%q: i32 = sub 9, %i"), "%v0 -1i+9..9");
    assert_eq!(at("%h: i32 = neg %i  %q: i32 = add %h, 99"), "%v0 -1i+99..99");
    assert_eq!(at("%h: i32 = mul %i, -2  %q: i32 = add %h, 99"), "%v0 -2i+99..99");
    assert_eq!(at("%q: i32 = sub %n, %i"), "%v0 whole");
    // The same for all.
    assert_eq!(at("%q: i32 = add 3, 4"), "%v0 0i+7..7");
    assert_eq!(at("%j: i32 = add %i, 5  %q: i32 = sub %j, %i"), "%v0 0i+5..5");
    assert_eq!(at("%c: bool = lt %i, %n  %q: i32 = select %c, 2, 8"), "%v0 0i+2..8");
    assert_eq!(at("%q: i32 = div %i, 2"), "%v0 0i+0..49");
    assert_eq!(at("%q: i32 = add %n, 0"), "%v0 0i+%v1+0..0");
    assert_eq!(at("%q: i32 = mul %i, %n"), "%v0 whole");
    // Borders that are clamped.
    let clamped = "%h: i32 = mul %i, 2  %l: i32 = sub %h, 5  %m: i32 = max %l, 0  %u: i32 = add %m, 7  ";
    assert_eq!(at(&format!("{clamped} %q: i32 = add %m, 0")), "%v0 2i+-5..-2");
    assert_eq!(at(&format!("{clamped} %q: i32 = min %u, %n")), "%v0 whole");
}

#[test]
fn each_factor_has_rows_of_its_own() {
    let body = "%k: i32 = mul %i, 2  %l: i32 = add %k, 1  %m: i32 = sub %i, 1
        %w: f64 = sel %a, [%k, 0]  %x: f64 = sel %a, [%m, 0]  %y: f64 = sel %a, [7, 0]  %z: f64 = sel %a, [%l, 0]
        yield %w";
    assert_eq!(of_body(body), "%v0 2i+0..1, %v0 -1..-1, %v0 0i+7..7");
    let body = "%k: i32 = mul %i, 2  %w: f64 = sel %a, [%k, 0]  %x: f64 = sel %a, [%n, 0]  %y: f64 = sel %a, [%i, 0]
        yield %w";
    assert_eq!(of_body(body), "%v0 2i+0..0, %v0 0i+%v1+0..0, %v0 0..0");
    let body = "%k: i32 = mul %i, 2  %w: f64 = sel %a, [%k, 0]  %m: i32 = mul %i, %n  %x: f64 = sel %a, [%m, 0]
        %y: f64 = sel %a, [%i, 0]  yield %w";
    assert_eq!(of_body(body), "%v0 whole");
}

#[test]
fn blocks_are_rows_from_a_multiple_to_the_next() {
    let blocks = |count: &str, size: &str| {
        let bounds = format!("%f: i32 = mul %i, {size}  %e: i32 = add %f, {size}");
        let with = format!(
            "{bounds}  %x: f64 = with {{ part [%f] <= [%k] < [%e] {{ %y: f64 = sel %a, [%k]  yield %y }} }}
            fold add neutral 0.0  yield %x"
        );
        let counted = format!(
            "{bounds}  %d: i32, %x: f64 = loop (%k: i32 = %f, %s: f64 = 0.0) {{
            %y: f64 = sel %a, [%k]  %t: f64 = add %s, %y
            %m: i32 = add %k, 1  %go: bool = lt %m, %e  yield %go, %m, %t }}  yield %x"
        );
        let by_five = counted
            .replace("add %k, 1", "add %k, 5")
            .replace("%t: f64 = add %s, %y", "%l: i32 = add %k, 4  %z: f64 = sel %a, [%l]  %t: f64 = add %z, %y");
        [with, counted, by_five].map(|body| {
            let with = format!("with {{ part [0] <= [%i] < [{count}] {{ {body} }} }} genarray [%n] cell []");
            reads("%a: f64[s0], %n: i32", &format!("%o: i32 = div %n, 31250  %r: f64[s1] = {with}"))
        })
    };
    assert_eq!(blocks("32", "31250"), ["%v0 31250i+0..31249"; 3]);
    assert_eq!(blocks("%o", "31250"), ["%v0 31250i+0..31249"; 3]);
    assert_eq!(blocks("32", "16777216")[..2], ["%v0 16777216i+0..16777215"; 2]);
    assert_eq!(blocks("32", "16777217")[..2], ["%v0 whole"; 2]);
    // A block that ends beyond the largest number may begin anywhere.
    assert_eq!(blocks("%n", "31250"), ["%v0 whole"; 3]);
    assert_eq!(blocks("32", "%n"), ["%v0 whole"; 3]);
    // A loop over blocks of known number inside of one.
    let body = "%f: i32 = mul %i, 6  %x: f64 = with { part [0, 0] <= [%j, %k] < [2, 3] {
        %h: i32 = mul %j, 3  %g: i32 = add %f, %h  %q: i32 = add %g, %k  %y: f64 = sel %a, [%q, 0]  yield %y } }
        fold add neutral 0.0  yield %x";
    assert_eq!(of_body(body), "%v0 6i+0..5");
}

/// What is the same for all indices may be a number that only the run knows.
#[test]
fn rows_beside_a_base() {
    let loops = |index: &str| {
        let body = format!("{index}  %x: f64 = sel %a, [%q]  yield %x");
        let with = format!("%r: f64[s1] = with {{ part [0] <= [%i] < [%n] {{ {body} }} }} genarray [%n] cell []");
        reads("%a: f64[s0], %p: i32", &format!("%n: i32 = extent %a, 0  %m: i32 = sub %n, 1  {with}"))
    };
    assert_eq!(loops("%q: i32 = add %p, 0"), "%v0 0i+%v1+0..0");
    assert_eq!(loops("%q: i32 = add %i, %p"), "%v0 1i+%v1+0..0");
    assert_eq!(loops("%t: i32 = add %i, %p  %q: i32 = add %t, 1"), "%v0 1i+%v1+1..1");
    // With any number for a shift, one row less may be the last one of an array.
    assert_eq!(loops("%t: i32 = add %i, %p  %q: i32 = sub %t, 1"), "%v0 whole");
    assert_eq!(loops("%q: i32 = sub %m, %i"), "%v0 -1i+%v2+-1..-1");
    assert_eq!(loops("%t: i32 = sub %n, %i  %q: i32 = sub %t, 3"), "%v0 -1i+%v2+-3..-3");
    assert_eq!(loops("%t: i32 = sub %n, %i  %q: i32 = sub %t, 4"), "%v0 whole");
    assert_eq!(loops("%t: i32 = add %p, %m  %q: i32 = sub %t, %i"), "%v0 whole");
    // A base may stand for itself alone.
    assert_eq!(loops("%q: i32 = sub %i, %p"), "%v0 whole");
    assert_eq!(loops("%q: i32 = mul %p, 2"), "%v0 whole");
    let window = |row: &str| {
        let part = format!("part [0] <= [%k] < [3] {{ {row}  %y: f64 = sel %a, [%w]  yield %y }}");
        loops(&format!("%z: f64 = with {{ {part} }} fold add neutral 0.0  %q: i32 = add %i, 0"))
    };
    assert_eq!(window("%w: i32 = add %p, %k"), "%v0 0i+%v1+0..2, %v0 0..0");
}

#[test]
fn numbers_that_wrap_are_no_rows() {
    let over = |upper: &str, index: &str| {
        let body = format!("{index}  %x: f64 = sel %a, [%q]  yield %x");
        let with = format!("%r: f64[s1] = with {{ part [0] <= [%i] < [{upper}] {{ {body} }} }} genarray [%n] cell []");
        reads("%a: f64[s0]", &format!("%n: i32 = extent %a, 0  %h: i32 = div %n, 2  %d: i32 = div %n, 4  {with}"))
    };
    assert_eq!(over("%n", "%q: i32 = sub 9, %i"), "%v0 -1i+9..9");
    assert_eq!(over("%n", "%q: i32 = sub -2, %i"), "%v0 -1i+-2..-2");
    // 2^31 - 3 is index enough for -3 - i to be 2^31 - 1 after 2^31.
    assert_eq!(over("%n", "%q: i32 = sub -3, %i"), "%v0 whole");
    assert_eq!(over("%h", "%q: i32 = sub -3, %i"), "%v0 -1i+-3..-3");
    assert_eq!(over("%n", "%t: i32 = mul %i, 2  %q: i32 = add %t, 3"), "%v0 2i+3..3");
    assert_eq!(over("%n", "%t: i32 = mul %i, 2  %q: i32 = add %t, 4"), "%v0 whole");
    assert_eq!(over("%h", "%t: i32 = mul %i, 2  %q: i32 = add %t, 4"), "%v0 2i+4..4");
    // 4 i is row 0 once more at 2^30.
    assert_eq!(over("%n", "%q: i32 = mul %i, 4"), "%v0 whole");
    assert_eq!(over("%h", "%q: i32 = mul %i, 4"), "%v0 4i+0..0");
    assert_eq!(over("%d", "%q: i32 = mul %i, 16"), "%v0 whole");
    assert_eq!(over("1000", "%q: i32 = mul %i, 4294967"), "%v0 4294967i+0..0");
    assert_eq!(over("1001", "%q: i32 = mul %i, 4294967"), "%v0 4294967i+0..0");
    assert_eq!(over("1002", "%q: i32 = mul %i, 4294967"), "%v0 whole");
    // What cancels out did no harm.
    assert_eq!(over("%n", "%t: i32 = mul %i, 4  %u: i32 = mul %i, 3  %q: i32 = sub %t, %u"), "%v0 0..0");
    assert_eq!(over("%n", "%t: i32 = mul %i, 4  %u: i32 = add %t, 5  %q: i32 = sub %u, %t"), "%v0 0i+5..5");
    // A minimum compares what has wrapped, and is any row below `n` otherwise.
    assert_eq!(over("%n", "%t: i32 = mul %i, 2  %q: i32 = min %t, 5"), "%v0 whole");
    assert_eq!(over("1000", "%t: i32 = mul %i, 2  %q: i32 = min %t, %n"), "%v0 2i+-1998..0");
}

#[test]
fn loops_count_upwards_below_a_bound() {
    let counted = |start: &str, step: &str, bound: &str| {
        let body = "%q: i32 = add %i, %k  %y: f64 = sel %a, [%q, 0]  %t: f64 = add %s, %y";
        let next = format!("%m: i32 = add %k, {step}  %go: bool = lt %m, {bound}  yield %go, %m, %t");
        of_body(&format!("%e: i32, %x: f64 = loop (%k: i32 = {start}, %s: f64 = 0.0) {{ {body}  {next} }}  yield %x"))
    };
    assert_eq!(counted("0", "1", "3"), "%v0 0..2");
    assert_eq!(counted("0", "1", "%i"), "%v0 0..97");
    // The body runs once in any case.
    assert_eq!(counted("5", "1", "3"), "%v0 5..5");
    assert_eq!(counted("0", "2", "3"), "%v0 0..2");
    assert_eq!(counted("0", "4", "8"), "%v0 0..4");
    assert_eq!(counted("0", "4", "9"), "%v0 0..8");
    assert_eq!(counted("0", "0", "3"), "%v0 whole");
    assert_eq!(counted("0", "%n", "3"), "%v0 whole");
    // The step behind the last number wraps.
    assert_eq!(counted("0", "2147483647", "3"), "%v0 whole");
    assert_eq!(counted("0", "1", "%n"), "%v0 whole");
}

#[test]
fn borders_that_are_clamped_are_near() {
    let loops = |rows: &str, index: &str| {
        let body = format!("{index}  %x: f64 = sel %a, [%q]  yield %x");
        let with = format!("with {{ part [0] <= [%i] < [{rows}] {{ {body} }} }} genarray [%n] cell []");
        reads("%a: f64[s0]", &format!("%n: i32 = extent %a, 0  %m: i32 = sub %n, 1  %r: f64[s0] = {with}"))
    };
    assert_eq!(loops("%n", "%h: i32 = sub %i, 1  %q: i32 = max %h, 0"), "%v0 -1..0");
    assert_eq!(loops("%n", "%h: i32 = add %i, 1  %q: i32 = min %h, %m"), "%v0 0..1");
    assert_eq!(loops("%m", "%h: i32 = add %i, 2  %z: i32 = sub %h, 1  %q: i32 = min %z, %n"), "%v0 1..1");
    assert_eq!(loops("%n", "%c: bool = lt %i, 5  %h: i32 = add %i, 1  %q: i32 = select %c, %h, %i"), "%v0 0..1");
    let branches = "%c: bool = lt %i, 5  %q: i32 = if %c { %h: i32 = sub %i, 4 yield %h } else { yield %i }";
    assert_eq!(loops("%n", branches), "%v0 -4..0");
    // Near the largest number `i + 2` wraps, and is then no greater than the other.
    assert_eq!(loops("%n", "%h: i32 = add %i, 2  %q: i32 = min %h, %m"), "%v0 whole");
    assert_eq!(loops("%n", "%q: i32 = mod %i, %n"), "%v0 whole");
}

#[test]
fn one_row_reads_what_it_likes() {
    let with = |upper: &str| {
        let part = format!("part [2] <= [%i] < [{upper}] {{ %x: f64 = sel %a, [7]  yield %x }}");
        reads("%a: f64[10]", &format!("%r: f64[10] = with {{ {part} }} modarray %a"))
    };
    assert_eq!(with("3"), "%v0 5..5");
    assert_eq!(with("4"), "%v0 0i+7..7");
    // The last row, of an unknown number.
    let last = |rows: &str, index: &str| {
        let part = format!("part [%m] <= [%i] < [{rows}] {{ {index}  %x: f64 = sel %a, [%q]  yield %x }}");
        let with = format!("%r: f64[s0] = with {{ {part} }} modarray %a");
        reads("%a: f64[s0], %n: i32", &format!("%m: i32 = sub %n, 1  %l: i32 = add %n, 1  {with}"))
    };
    assert_eq!(last("%n", "%q: i32 = sub %n, 1"), "%v0 0..0");
    assert_eq!(last("%n", "%q: i32 = sub %m, 3"), "%v0 -3..-3");
    assert_eq!(last("%n", "%q: i32 = add 0, 0"), "%v0 0i+0..0");
    assert_eq!(last("%l", "%q: i32 = sub %n, 1"), "%v0 whole");
}

#[test]
fn folds_need_an_index_that_is_not_negative() {
    let fold = |lower: &str| {
        let part = format!("part [{lower}] <= [%i] < [9] {{ %j: i32 = add %i, 1  %x: f64 = sel %a, [%j]  yield %x }}");
        let function = "{ (%l: f64, %m: f64)  %y: f64 = sel %b, [0]  %z: f64 = mul %m, %y  yield %z }";
        let with = format!("%r: f64 = with {{ {part} }} fold {function} neutral 0.0");
        reads("%a: f64[10], %b: f64[2], %n: i32", &with)
    };
    assert_eq!(fold("0"), "%v0 1..1, %v1 whole");
    assert_eq!(fold("%n"), "%v0 whole, %v1 whole");
}

#[test]
fn index_vectors_have_no_rows() {
    let body = "%x: f64 = sel %a, [0]  yield %x";
    let with =
        format!("%r: f64[*] = with {{ part dyn %s <= %iv: i32[s0] < %s {{ {body} }} }} genarray dyn %s default 0.0");
    assert_eq!(reads("%a: f64[10], %s: i32[s0]", &with), "%v0 whole");
}

/// The numbers that a test takes, one after the other.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        // Knuth's MMIX generator; its high bits are the random ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

const NUMBERS: [i32; 14] = [0, 1, 2, 3, 7, -1, -2, -100, 31_250, 1 << 16, 1 << 30, i32::MAX - 1, i32::MAX, i32::MIN];

/// A number that an index is made of; operands are the places of numbers before it.
#[derive(Clone, Copy, Debug)]
enum Term {
    /// The index of axis 0, which is the first one.
    Index,
    Number(i32),
    Of(&'static str, usize, usize),
    /// The index of an inner loop, which is in the middle.
    Between(usize, usize),
}

impl Term {
    fn random(at: usize, dice: &mut Dice) -> Term {
        let ops = ["add", "sub", "mul", "min", "max", "select", "add", "sub"];
        match at {
            0 => Term::Index,
            5 => Term::Between(dice.below(at), dice.below(at)),
            _ if dice.below(3) == 0 => Term::Number(NUMBERS[dice.below(NUMBERS.len())]),
            _ => Term::Of(ops[dice.below(ops.len())], dice.below(at), dice.below(at)),
        }
    }

    fn text(self, at: usize) -> String {
        match self {
            Term::Index => String::new(),
            Term::Number(n) => format!("%t{at}: i32 = add {n}, 0 "),
            Term::Of("select", a, b) => {
                format!("%c{at}: bool = lt %t{a}, 9  %t{at}: i32 = select %c{at}, %t{a}, %t{b} ")
            }
            Term::Of(op, a, b) => format!("%t{at}: i32 = {op} %t{a}, %t{b} "),
            Term::Between(a, b) => format!("%x: f64 = with {{ part [%t{a}] <= [%t{at}] < [%t{b}] {{ "),
        }
    }

    /// Its value; nothing if a loop has no index.
    fn value(self, index: i32, values: &[i32], dice: &mut Dice) -> Option<i32> {
        Some(match self {
            Term::Index => index,
            Term::Number(n) => n,
            Term::Of(op, a, b) => match (op, values[a], values[b]) {
                ("add", a, b) => a.wrapping_add(b),
                ("sub", a, b) => a.wrapping_sub(b),
                ("mul", a, b) => a.wrapping_mul(b),
                ("min", a, b) => a.min(b),
                ("max", a, b) => a.max(b),
                (_, a, b) => {
                    if a < 9 {
                        a
                    } else {
                        b
                    }
                }
            },
            Term::Between(a, b) if values[a] < values[b] => [values[a], values[b] - 1][dice.below(2)],
            Term::Between(..) => return None,
        })
    }
}

#[test]
fn what_is_said_holds_near_all_edges() {
    let mut dice = Dice(1);
    let mut factors = HashMap::default();
    for _ in 0..4000 {
        let terms: Vec<Term> = (0..9).map(|at| Term::random(at, &mut dice)).collect();
        let upper = [3, 100, 32_768, 1 << 30, i32::MAX][dice.below(5)];
        let text: String = terms.iter().enumerate().map(|(at, term)| term.text(at)).collect();
        let inner = format!("{text} %y: f64 = sel %a, [%t8]  yield %y }} }} fold add neutral 0.0  yield %x");
        let with =
            format!("%r: f64[s1] = with {{ part [1] <= [%t0] < [{upper}] {{ {inner} }} }} genarray [%n] cell []");
        let reads = found("%a: f64[s0], %n: i32", &with);
        let Some(RowReads { factor, low, high, .. }) = reads.rows.first().copied() else { continue };
        *factors.entry(factor).or_insert(0) += 1;
        for index in [1, 2, upper / 2, upper - 2, upper - 1] {
            for _ in 0..8 {
                let mut values = Vec::new();
                let all = terms.iter().try_for_each(|term| {
                    values.push(term.value(index, &values, &mut dice)?);
                    Some(())
                });
                // What is no row is not selected.
                let row = all.and(values.last()).copied().filter(|row| *row >= 0).map(i64::from);
                let own = factor * i64::from(index);
                let is_said = row.is_none_or(|row| (own + low..=own + high).contains(&row));
                assert!(is_said, "row {row:?} at index {index}, not {factor}i+{low}..{high}: {terms:?}");
            }
        }
    }
    let often = [-1, 0, 1, 2].map(|factor| factors.get(&factor).is_some_and(|times| *times > 20));
    assert_eq!(often, [true; 4], "{factors:?}");
}
