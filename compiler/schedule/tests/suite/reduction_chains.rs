//! Folds that go on from each other, as one parallel loop.

use crate::common::{Run, same};

/// A fold of arrays, or of numbers, and of a count, over indices from `low` below `high`, from `neutral` and `%n` with a number on.
fn fold(number: u32, (low, high): (&str, &str), neutral: &str, cell: &str, shape: &str) -> String {
    format!(
        "%g{number}: f32{shape}, %n{number}: i32 = with {{
           part [{low}] <= [%m{number}] < [{high}] {{
             {}
             yield %c{number}, %m{number}
           }}
         }} fold add neutral {neutral} fold add neutral %n{}\n",
        cell.replace('@', &number.to_string()),
        number - 1
    )
}

/// A cell of 40 x 50 numbers.
const MATRIX: &str = "%c@: f32[40,50] = with {
    part [0, 0] <= [%i@, %j@] < [40, 50] { %a@: i32 = mul %m@, %i@ %b@: i32 = add %a@, %j@ %d@: i32 = mod %b@, 23 %x@: f32 = convert %d@ yield %x@ }
  } genarray [40, 50] cell []";

/// One number, of as much work.
const NUMBER: &str = "%c@: f32 = with {
    part [0, 0] <= [%i@, %j@] < [40, 50] { %a@: i32 = mul %m@, %i@ %b@: i32 = add %a@, %j@ %d@: i32 = mod %b@, 23 %x@: f32 = convert %d@ yield %x@ }
  } fold max neutral 0.0:f32";

/// `folds`, and the sum of the elements of `%g` with number `last`; 120, 127 and 0 are known at run time only as `%p`, `%q` and `%o`.
fn program(folds: &str, last: u32, shape: &str) -> Run {
    let (start, sum) = match shape {
        "" => ("%z: f32 = opaque 1.5:f32".to_string(), format!("%s: f32 = add %g{last}, 0.0:f32")),
        _ => (
            format!(
                "%z: f32{shape} = with {{ part [0, 0] <= [%i, %j] < {shape} {{ yield 1.5:f32 }} }} genarray {shape} cell []"
            ),
            format!(
                "%s: f32 = with {{ part [0, 0] <= [%i, %j] < {shape} {{ %x: f32 = sel %g{last}, [%i, %j] yield %x }} }} fold add neutral 0.0:f32"
            ),
        ),
    };
    let sum = sum.replace("%i", "%is").replace("%j", "%js").replace("%x", "%xs");
    same(&format!(
        "entry @f0
func @f0 \"main\" () -> (f32, i32) {{
  %p: i32 = opaque 120
  %q: i32 = opaque 127
  %o: i32 = opaque 0
  %n0: i32 = opaque 3
  {start}
  {folds}
  {sum}
  yield %s, %n{last}
}}
"
    ))
}

fn merged(run: &Run) -> usize {
    run.remarks.iter().filter(|r| r.text.contains("in the parallel loop of the fold that it goes on from")).count()
}

#[test]
fn folds_that_go_on_from_each_other_are_one_parallel_loop() {
    for (cell, shape) in [(MATRIX, "[40,50]"), (NUMBER, "")] {
        for bounds in [["0", "120", "127"], ["%o", "%p", "%q"], ["0", "96", "97"], ["%o", "%p", "%p"]] {
            let [low, middle, high] = bounds;
            let first = fold(1, (low, middle), "%z", cell, shape);
            let second = fold(2, (middle, high), "%g1", cell, shape);
            let run = program(&(first.clone() + &second), 2, shape);
            assert_eq!(merged(&run), 1, "{bounds:?} {shape}: {:?}", run.remarks);
            let third = fold(3, (low, high), "%g2", cell, shape);
            assert_eq!(merged(&program(&(first + &second + &third), 3, shape)), 2);
        }
    }
}

#[test]
fn nothing_may_run_at_all() {
    for (cell, shape) in [(MATRIX, "[40,50]"), (NUMBER, "")] {
        let first = fold(1, ("%p", "%o"), "%z", cell, shape);
        let second = fold(2, ("%q", "%q"), "%g1", cell, shape);
        assert_eq!(merged(&program(&(first + &second), 2, shape)), 1);
    }
}

#[test]
fn a_first_fold_that_is_too_short_stays_alone() {
    let first = fold(1, ("0", "1"), "%z", NUMBER, "");
    let second = fold(2, ("1", "120"), "%g1", NUMBER, "");
    assert_eq!(merged(&program(&(first + &second), 2, "")), 0);
}

#[test]
fn a_fold_whose_cells_read_the_total_before_stays_alone() {
    let reads = MATRIX.replace(
        "%x@: f32 = convert %d@",
        "%y@: f32 = convert %d@ %w@: f32 = sel %g1, [%i@, %j@] %x@: f32 = mul %y@, %w@",
    );
    let first = fold(1, ("0", "120"), "%z", MATRIX, "[40,50]");
    let second = fold(2, ("120", "127"), "%z", &reads, "[40,50]");
    assert_eq!(merged(&program(&(first.clone() + &second), 2, "[40,50]")), 0);
    let second = fold(2, ("120", "127"), "%g1", &reads, "[40,50]");
    assert_eq!(merged(&program(&(first + &second), 2, "[40,50]")), 0);
}

#[test]
fn a_fold_whose_bounds_need_a_total_stays_alone() {
    let first = fold(1, ("0", "120"), "%z", NUMBER, "");
    let bound = "%b: i32 = mod %n1, 100\n";
    let second = fold(2, ("0", "%b"), "%g1", NUMBER, "");
    assert_eq!(merged(&program(&(first.clone() + bound + &second), 2, "")), 0);
    // The bound itself is a total.
    let second = fold(2, ("7000", "%n1"), "%g1", NUMBER, "");
    assert_eq!(merged(&program(&(first + &second), 2, "")), 0);
}

#[test]
fn folds_of_their_own_stay_apart() {
    let first = fold(1, ("0", "120"), "%z", NUMBER, "");
    let second = fold(2, ("120", "240"), "%z", NUMBER, "").replace("neutral %n1", "neutral 5");
    assert_eq!(merged(&program(&(first + &second), 2, "")), 0);
}
