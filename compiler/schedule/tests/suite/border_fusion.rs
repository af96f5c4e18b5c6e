//! Thin partitions beside a thick one, and who computes them.

use crate::common::{Run, same};

/// A matrix of `rows` x 200 of the partitions, whose body is dear enough for threads, weighted and summed up.
fn partitions(rows: usize, ranges: &[&str]) -> Run {
    let parts: String = ranges
        .iter()
        .enumerate()
        .map(|(n, range)| {
            let (low, high) = range.split_once(' ').expect("two bounds");
            format!(
                "part [{low}] <= [%i{n}, %j{n}] < [{high}] {{
                   %m{n}: i32 = mul %i{n}, 7 %s{n}: i32 = add %m{n}, %j{n} %r{n}: i32 = mod %s{n}, 31 %x{n}: f64 = convert %r{n}
                   %e{n}: f64 = exp %x{n} %f{n}: f64 = add %e{n}, {n}.0 %g{n}: f64 = log %f{n} yield %g{n}
                 }} "
            )
        })
        .collect();
    same(&format!(
        "entry @f0 func @f0 \"main\" () -> (f64) {{
           %a: f64[{rows},200] = with {{ {parts} }} genarray [{rows}, 200] cell [] default 0.5
           %t: f64 = with {{ part [0, 0] <= [%i, %j] < [{rows}, 200] {{
             %o: f64 = sel %a, [%i, %j] %w: f64 = convert %j %v: f64 = mul %o, %w yield %v
           }} }} fold add neutral 0.0
           yield %t
         }}"
    ))
}

fn accompanied(run: &Run) -> usize {
    run.remarks.iter().filter(|r| r.text.contains("with the threads' rows of partition")).count()
}

#[test]
fn columns_beside_the_interior() {
    let run = partitions(90, &["1,0 89,1", "1,1 89,199", "1,199 89,200", "0,0 1,200", "89,0 90,200"]);
    assert_eq!(accompanied(&run), 2);
    // A gap on one side, and several columns.
    assert_eq!(accompanied(&partitions(90, &["0,0 90,190", "0,196 90,200"])), 1);
}

#[test]
fn other_rows_or_many_columns_are_partitions_of_their_own() {
    assert_eq!(accompanied(&partitions(90, &["1,1 89,199", "0,0 89,1"])), 0);
    assert_eq!(accompanied(&partitions(90, &["0,0 90,100", "0,100 90,200"])), 0);
    // Nor beside one that has too little work for threads.
    assert_eq!(accompanied(&partitions(2, &["0,0 1,1", "0,1 1,200"])), 0);
}
