//! What parallel loops declare, so that ranks may share them.

use crate::common::{explained_for_threads, for_threads};

/// The parallel loops of a program, as they are printed.
fn loops(text: &str) -> Vec<String> {
    let nest = for_threads(text);
    nest.lines().map(str::trim).filter(|line| line.starts_with("parfor")).map(str::to_string).collect()
}

fn outputs(line: &str) -> usize {
    line.matches("yields (").count()
}

/// The parallel loops of a program with dear cells.
fn cells(extents: &[usize], results: &str, types: &str, yields: &str, operators: &str) -> Vec<String> {
    loops(&program(extents, results, types, yields, operators))
}

/// Dear cells of an array with these extents, in the results `%a` and so on, with `operators` for them.
fn program(extents: &[usize], results: &str, types: &str, yields: &str, operators: &str) -> String {
    let letters = ["%i", "%j", "%k"][..extents.len()].join(", ");
    let bounds = extents.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let zeros = vec!["0"; extents.len()].join(", ");
    let last = ["%i", "%j", "%k"][extents.len() - 1];
    let operators = operators.replace("BOUNDS", &bounds);
    format!(
        "entry @f0 func @f0 \"main\" () -> ({types}) {{
           {results} = with {{ part [{zeros}] <= [{letters}] < [{bounds}] {{
             %m: i32 = mul %i, 7 %s: i32 = add %m, {last} %r: i32 = mod %s, 31 %x: f64 = convert %r
             %e: f64 = exp %x %f: f64 = add %e, 1.0 %g: f64 = log %f
             yield {yields}
           }} }} {operators}
           yield {}
         }}",
        results.split(", ").map(|result| result.split(':').next().unwrap_or_default()).collect::<Vec<_>>().join(", ")
    )
}

#[test]
fn rows_of_arrays() {
    for (extents, ty) in
        [(&[300_000][..], "f64[300000]"), (&[400, 900], "f64[400,900]"), (&[3, 300, 251], "f64[3,300,251]")]
    {
        let found = cells(extents, &format!("%a: {ty}"), ty, "%g", "genarray [BOUNDS] cell []");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((outputs(&found[0]), found[0].contains("uneven"), found[0].contains("partials")), (1, false, false));
    }
}

#[test]
fn rows_of_several_arrays() {
    let results = "%a: f64[400,900], %b: f64[400,900]";
    let operators = "genarray [BOUNDS] cell [] genarray [BOUNDS] cell []";
    let found = cells(&[400, 900], results, "f64[400,900], f64[400,900]", "%g, %x", operators);
    assert_eq!(found.iter().map(|line| outputs(line)).collect::<Vec<_>>(), [2], "{found:?}");
}

#[test]
fn partial_results_of_folds() {
    let found =
        cells(&[400, 900], "%a: f64, %b: f64", "f64, f64", "%g, %x", "fold add neutral 0.0 fold max neutral 0.0");
    assert!(found.len() == 1 && outputs(&found[0]) == 1 && found[0].contains("partials"), "{found:?}");
}

#[test]
fn partial_results_beside_rows() {
    let results = "%a: f64[400,900], %b: f64";
    let found =
        cells(&[400, 900], results, "f64[400,900], f64", "%g, %x", "genarray [BOUNDS] cell [] fold add neutral 0.0");
    assert!(found.len() == 1 && outputs(&found[0]) == 2, "{found:?}");
}

/// A sum over `part`s that are loops, which end when `more` says so.
fn sum_of_loops(more: &str) -> Vec<String> {
    loops(&format!(
        "entry @f0 func @f0 \"main\" () -> (f64) {{
           %n: i32 = opaque 40
           %total: f64 = with {{ part [0] <= [%i] < [9000] {{
             %x: f64 = convert %i
             %s: f64, %c: i32 = loop (%a: f64 = %x, %k: i32 = 0) {{
               %b: f64 = mul %a, 0.5 %d: f64 = add %b, %x %l: i32 = add %k, 1 {more}
               yield %more, %d, %l
             }}
             yield %s
           }} }} fold add neutral 0.0
           yield %total
         }}"
    ))
}

#[test]
fn loops_that_data_ends_are_uneven() {
    let is_uneven = |more: &str| {
        let found = sum_of_loops(more);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].contains("uneven")
    };
    assert!(!is_uneven("%more: bool = lt %l, 100"));
    assert!(!is_uneven("%more: bool = lt %l, %n"));
    assert!(is_uneven("%more: bool = lt %l, %i"));
    assert!(is_uneven("%more: bool = lt %d, 100.0"));
}

#[test]
fn pieces_of_pieces_are_left_alone() {
    let found = cells(&[2, 5, 25_001], "%a: f64[2,5,25001]", "f64[2,5,25001]", "%g", "genarray [BOUNDS] cell []");
    assert!(found.len() == 1 && !found[0].contains("shared"), "{found:?}");
}

/// Partial results whose size only the run knows lie in objects elsewhere.
#[test]
fn partial_results_elsewhere_are_left_alone() {
    let found = loops(
        "entry @f0 func @f0 \"main\" () -> (f64[s0]) {
           %n: i32 = opaque 40
           %z: f64[s0] = with { part [0] <= [%p] < [%n] { yield 0.0 } } genarray [%n] cell []
           %t: f64[s0] = with { part [0] <= [%m] < [9000] {
             %c: f64[s0] = with { part [0] <= [%i] < [%n] { %a: i32 = add %m, %i %x: f64 = convert %a %e: f64 = exp %x yield %e } } genarray [%n] cell []
             yield %c
           } } fold add neutral %z
           yield %t
         }",
    );
    assert!(found.iter().any(|line| !line.contains("shared")), "{found:?}");
    assert!(found.iter().all(|line| !line.contains("partials")), "{found:?}");
}

#[test]
fn explanations_say_what_is_gathered() {
    let says = |program: &str, what: &str| {
        let texts = explained_for_threads(program);
        assert!(texts.iter().any(|text| text == what), "{what}: {texts:?}");
    };
    let rows = program(&[400, 900], "%a: f64[400,900]", "f64[400,900]", "%g", "genarray [BOUNDS] cell []");
    says(&rows, "ranks share it over axis 0 where that pays, and gather rows of 7200 bytes");
    let sums = program(&[400, 900], "%a: f64", "f64", "%g", "fold add neutral 0.0");
    says(
        &sums,
        "ranks share it over axis 0 where that pays, and gather partial results of 8 bytes for each chunk, in order",
    );
    let pieces = program(&[2, 5, 25_001], "%a: f64[2,5,25001]", "f64[2,5,25001]", "%g", "genarray [BOUNDS] cell []");
    says(&pieces, "every rank computes it: what it leaves behind lies in objects or in pieces of pieces");
}
