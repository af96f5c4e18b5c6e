//! Ranks that the interpreter simulates: what they send each other, and what they must not read.

use ravel_interp::{Host, Moved, RunError, Simulation, Val, run_on};
use ravel_source::FileId;
use ravel_types::Scalar;
use ravel_wir::rows::RowReads;
use ravel_wir::{parse::parse_module, verify::verify};
use std::sync::Arc;

/// Runs a `main` with this body; the sum of its result's elements.
fn run_main(ty: &str, body: &str, simulation: &mut Simulation) -> Result<f64, RunError> {
    let text = format!("entry @f0 func @f0 \"main\" () -> ({ty}) {{ {body} }}");
    let module = parse_module(&text, FileId(0)).expect("grammatical");
    assert_eq!(verify(&module), Ok(()));
    let host = Host {
        natives: ravel_runtime::natives::table::find,
        places: &|_, function| format!(" in {function}"),
        observer: None,
        ranks: Some(simulation),
    };
    let values = run_on(&Arc::new(module), host)?;
    let scalars = values.first().and_then(Val::scalars).expect("main yields numbers");
    let number = |scalar: &Scalar| if let Scalar::F64(x) = scalar { *x } else { f64::NAN };
    Ok(scalars.iter().map(number).sum())
}

/// `%a` is 0, 1, 2 ... 9.
const NUMBERS: &str = "%a: f64[10] = with { part [0] <= [%i] < [10] { %x: f64 = convert %i  yield %x } }
    genarray [10] cell []";

/// `%b` has the differences of the elements of `%a` before and after each one, and 0 at both ends.
const STENCIL: &str = "%b: f64[10] = with { part [1] <= [%j] < [9] {
    %h: i32 = sub %j, 1  %k: i32 = add %j, 1  %p: f64 = sel %a, [%h]  %q: f64 = sel %a, [%k]
    %d: f64 = sub %q, %p  yield %d } } genarray [10] cell []";

fn moved(body: &str, ranks: u16) -> (f64, Moved) {
    let mut simulation = Simulation::new(ranks);
    let sum = run_main("f64[10]", &format!("{NUMBERS} {body} yield %b"), &mut simulation).expect("no fault");
    (sum, simulation.moved)
}

fn poisoned(body: &str, declare: fn(RowReads) -> RowReads) -> String {
    let text = format!("{NUMBERS} {body} yield %b");
    match run_main("f64[10]", &text, &mut Simulation::declaring(3, declare)) {
        Err(RunError::Internal { problem, .. }) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn borders_move_and_stay() {
    assert_eq!(moved(STENCIL, 1), (16.0, Moved::default()));
    assert_eq!(moved(STENCIL, 3), (16.0, Moved { needed: 4, ..Moved::default() }));
    // What is valid already does not move again.
    let again = STENCIL.replace('%', "%t").replace("%ta,", "%a,").replace("%tb", "%b");
    let first = STENCIL.replace("%b", "%c");
    assert_eq!(moved(&format!("{first} {again}"), 3), (16.0, Moved { needed: 4, ..Moved::default() }));
}

#[test]
fn other_reads_gather_or_ask_the_owner() {
    let shuffled = "%b: f64[10] = with { part [0] <= [%j] < [10] { %h: i32 = mul %j, 3  %k: i32 = mod %h, 10
        %p: f64 = sel %a, [%k]  yield %p } } genarray [10] cell []";
    assert_eq!(moved(shuffled, 3), (45.0, Moved { gathered: 20, ..Moved::default() }));
    let one = "%p: f64 = sel %a, [4]  %b: f64[10] = with { } genarray [10] cell [] default %p";
    assert_eq!(moved(one, 3), (40.0, Moved { broadcast: 1, ..Moved::default() }));
    let changed = "%b: f64[10] = update %a, [4], 0.0";
    assert_eq!(moved(changed, 3), (41.0, Moved { gathered: 20, ..Moved::default() }));
}

/// The first half of `%b` has the sums of any two elements of `%a` that are next to each other.
const COARSE: &str = "%b: f64[10] = with { part [0] <= [%j] < [5] {
    %k: i32 = mul %j, 2  %l: i32 = add %k, 1  %p: f64 = sel %a, [%k]  %q: f64 = sel %a, [%l]
    %s: f64 = add %p, %q  yield %s } } genarray [10] cell [] default 0.0";

/// The same, with a loop that counts.
const BLOCKS: &str = "%b: f64[10] = with { part [0] <= [%j] < [5] {
    %f: i32 = mul %j, 2  %e: i32 = add %f, 2
    %d: i32, %s: f64 = loop (%k: i32 = %f, %t: f64 = 0.0) {
        %p: f64 = sel %a, [%k]  %u: f64 = add %t, %p
        %m: i32 = add %k, 1  %go: bool = lt %m, %e  yield %go, %m, %u }
    yield %s } } genarray [10] cell [] default 0.0";

/// `%b` is `%a` from its end.
const REVERSED: &str = "%b: f64[10] = with { part [0] <= [%j] < [10] { %k: i32 = sub 9, %j  %p: f64 = sel %a, [%k]
    yield %p } } genarray [10] cell []";

#[test]
fn rows_follow_a_multiple_of_the_index() {
    // Ranks have rows 0..3, 3..6 and 6..10. The first one wants 0..6 here, the second one 6..10.
    assert_eq!(moved(COARSE, 3), (45.0, Moved { needed: 7, ..Moved::default() }));
    assert_eq!(moved(BLOCKS, 3), (45.0, Moved { needed: 7, ..Moved::default() }));
    // They want 7..10, 4..7 and 0..4.
    assert_eq!(moved(REVERSED, 3), (45.0, Moved { needed: 8, ..Moved::default() }));
    let fixed = "%b: f64[10] = with { part [0] <= [%j] < [10] { %p: f64 = sel %a, [4]  yield %p } }
        genarray [10] cell []";
    assert_eq!(moved(fixed, 3), (40.0, Moved { needed: 2, ..Moved::default() }));
}

/// `%n`, which only the run knows.
const EXTENT: &str = "%w: f64[*] = widen %a  %v: i32[1] = shape %w  %n: i32 = sel %v, [0]  ";

#[test]
fn rows_beside_a_number_that_only_the_run_knows() {
    let with = |index: &str| {
        format!(
            "{EXTENT}%b: f64[10] = with {{ part [0] <= [%j] < [5] {{ {index}  %p: f64 = sel %a, [%k]  yield %p }} }}
            genarray [10] cell [] default 0.0"
        )
    };
    // Rows 9, 8, 7 for the first rank, 6 and 5 for the second one, after the shape was asked of all of it.
    let reversed = with("%k: i32 = sub %n, %j  %k2: i32 = sub %k, 1").replace("[%k]", "[%k2]");
    let fixed = with("%k: i32 = sub %n, 3");
    for (body, sum) in [(reversed, 35.0), (fixed, 35.0)] {
        let (found, moved) = moved(&body, 3);
        assert_eq!(found, sum, "{body}");
        assert!(moved.needed + moved.gathered > 0, "{body} {moved:?}");
    }
}

#[test]
fn a_partition_needs_no_rows_of_indices_that_it_has_not() {
    // Of its rows 3..6 the second rank computes 4 and 5, from rows 5 and 4. The others have no index.
    let middle =
        REVERSED.replace("[0] <= [%j] < [10]", "[4] <= [%j] < [6]").replace("genarray [10] cell []", "modarray %a");
    assert_eq!(moved(&middle, 3), (45.0, Moved::default()));
    // Rows `2 j + 1 ..= 2 j + 3`, of which there are no more than 9: the first rank wants 3..8, the second one 7..10.
    let border = "%b: f64[10] = with { part [1] <= [%j] < [5] { %k: i32 = mul %j, 2  %l: i32 = add %k, 3
        %m: i32 = min %l, 9  %p: f64 = sel %a, [%m]  yield %p } } genarray [10] cell [] default 0.0";
    assert_eq!(moved(border, 3), (30.0, Moved { needed: 8, ..Moved::default() }));
}

#[test]
fn an_array_may_have_fewer_rows_than_there_are_ranks() {
    assert_eq!(moved(STENCIL, 40), (16.0, Moved { needed: 16, ..Moved::default() }));
    let empty = "%e: f64[0] = with { part [0] <= [%j] < [0] { yield 1.0 } } genarray [0] cell []
        %b: f64[0] = with { part [0] <= [%k] < [0] { %x: f64 = sel %e, [%k]  yield %x } } genarray [0] cell []";
    let sum = run_main("f64[0]", &format!("{empty} yield %b"), &mut Simulation::new(3));
    assert_eq!(sum, Ok(0.0));
}

#[test]
fn folds_are_cut_by_their_own_bounds() {
    let fold = "%s: f64 = with { part [4] <= [%j] < [10] { %p: f64 = sel %a, [%j]  yield %p } } fold add neutral 0.0
        %b: f64[10] = with { } genarray [10] cell [] default %s";
    // Rank 0 sums elements 4 and 5, rank 1 the two behind them: they have 0..3 and 3..6.
    assert_eq!(moved(fold, 3), (390.0, Moved { needed: 4, ..Moved::default() }));
}

#[test]
fn functions_of_folds_read_what_all_have() {
    let fold = "%s: f64 = with { part [0] <= [%j] < [10] { %p: f64 = sel %a, [%j]  yield %p } } fold {
            (%l: f64, %r: f64) %f: f64 = sel %a, [2]  %m: f64 = mul %r, %f  %t: f64 = add %l, %m  yield %t } neutral 0.0
        %b: f64[10] = with { } genarray [10] cell [] default %s";
    assert_eq!(moved(fold, 3), (900.0, Moved { gathered: 20, ..Moved::default() }));
}

#[test]
fn loops_inside_cells_are_those_of_one_rank() {
    let inner = "%b: f64[10] = with { part [1] <= [%j] < [9] {
        %l: i32 = sub %j, 1  %u: i32 = add %j, 2
        %w: f64[3] = with { part [0] <= [%k] < [3] { %m: i32 = add %l, %k  %p: f64 = sel %a, [%m]  yield %p } }
            genarray [3] cell []
        %s: f64 = with { part [0] <= [%n] < [3] { %q: f64 = sel %w, [%n]  yield %q } } fold add neutral 0.0
        yield %s } } modarray %a";
    assert_eq!(moved(inner, 3), (117.0, Moved { needed: 4, ..Moved::default() }));
}

#[test]
fn a_declaration_that_is_too_narrow_is_found() {
    let low = poisoned(STENCIL, |reads| RowReads { low: reads.low + 1, ..reads });
    assert_eq!(low, "rank 1 reads row 2 of an array of which it has rows 3..7");
    let high = poisoned(STENCIL, |reads| RowReads { high: reads.high - 1, ..reads });
    assert_eq!(high, "rank 0 reads row 3 of an array of which it has rows 0..3");
    let other = poisoned(STENCIL, |reads| RowReads { low: reads.low - 5, high: reads.high - 5, ..reads });
    assert_eq!(other, "rank 0 reads row 3 of an array of which it has rows 0..3");
}

#[test]
fn a_declaration_with_another_factor_is_found() {
    let near = poisoned(COARSE, |reads| RowReads { factor: 1, ..reads });
    assert_eq!(near, "rank 0 reads row 4 of an array of which it has rows 0..4");
    let short = poisoned(COARSE, |reads| RowReads { high: reads.high - 1, ..reads });
    assert_eq!(short, "rank 0 reads row 5 of an array of which it has rows 0..5");
    let block = poisoned(BLOCKS, |reads| RowReads { high: reads.high - 1, ..reads });
    assert_eq!(block, "rank 0 reads row 5 of an array of which it has rows 0..5");
    let early = poisoned(REVERSED, |reads| RowReads { high: reads.high - 1, ..reads });
    assert_eq!(early, "rank 0 reads row 9 of an array of which it has rows 0..3, 7..9");
    let forwards = poisoned(REVERSED, |reads| RowReads { factor: 1, low: 0, high: 0, ..reads });
    assert_eq!(forwards, "rank 0 reads row 9 of an array of which it has rows 0..3");
}

#[test]
fn an_index_out_of_range_is_a_fault_of_the_program() {
    let vector = "%w: f64[*] = widen %a  %b: f64[10] = with { part [0] <= [%j] < [10] {
        %k: i32 = add %j, 5  %v: i32[1] = array [%k]  %p: f64 = seldyn %w, %v  yield %p } } genarray [10] cell []";
    let result = run_main("f64[10]", &format!("{NUMBERS} {vector} yield %b"), &mut Simulation::new(3));
    assert!(matches!(result, Err(RunError::Fault(_))), "{result:?}");
}
