//! Folds whose length a loop counts: one kernel, and no threads where their bounds exclude that there is work for them.

use crate::common::{for_threads, same};

/// The sums of the squares of the first `k` of `n` elements, for each `k` that a loop counts: from `start`, by `step`, while `cond`.
fn program(n: usize, start: i32, step: &str, cond: &str) -> String {
    format!(
        r#"
entry @f0
func @f0 "main" () -> (f64) {{
  %x: f64[{n}] = with {{
    part [0] <= [%i] < [{n}] {{ %m: i32 = mod %i, 7 %c: f64 = convert %m yield %c }}
  }} genarray [{n}] cell []
  %last: i32, %s: f64 = loop (%k: i32 = {start}, %t: f64 = 0.0) {{
    %f: f64 = with {{
      part [0] <= [%j] < [%k] {{ %a: f64 = sel %x, [%j] %b: f64 = mul %a, %a yield %b }}
    }} fold add neutral 0.0
    %u: f64 = add %t, %f
    %l: i32 = {step}
    %more: bool = {cond}
    yield %more, %l, %u
  }}
  yield %s
}}
"#
    )
}

/// The iteration of the loop as it was scheduled for vectors and threads.
fn round(text: &str) -> String {
    let nest = for_threads(text);
    let main = nest.split("\nfunc ").find(|func| func.contains("= loop (")).expect("main has the loop").to_string();
    main[main.find("= loop (").expect("just found")..].to_string()
}

#[test]
fn counted_folds_are_one_kernel() {
    for n in [1, 2, 9, 63, 64, 65, 300] {
        for (start, step, cond) in [
            (0, "add %k, 1", format!("lt %l, {n}")),
            (n, "sub %k, 1", "ge %l, 0".to_string()),
            (n, "add %k, -1", "gt %l, 2".to_string()),
        ] {
            let text = program(n as usize, start, step, &cond);
            same(&text);
            if n < 63 {
                continue;
            }
            let round = round(&text);
            assert_eq!(round.matches("call fn").count(), 1, "{round}");
            assert!(!round.contains("parfor") && !round.contains("reduce"), "{round}");
        }
    }
}

#[test]
fn long_and_unbounded_folds_keep_their_threads() {
    // Strides are no counters: nothing is known of where they end.
    for (n, start, step, cond) in [(60_000, 59_990, "add %k, 1", "lt %l, 60000"), (300, 1, "mul %k, 2", "lt %l, 300")] {
        let text = program(n, start, step, cond);
        same(&text);
        assert!(round(&text).contains("parfor"), "{}", round(&text));
    }
}

/// Three sums over 100 elements are a few vectors and four scalars each: a loop over the scalars would carry all the vectors.
#[test]
fn what_vectors_leave_of_short_folds_is_written_out() {
    let sums = |n: usize| {
        program(n, 1, "add %k, 1", "lt %l, 9").replace("[%k]", &format!("[{n}]")).replace(
            "yield %b }\n    } fold add neutral 0.0",
            "%d: f64 = add %a, 1.0 yield %b, %a, %d }\n    } fold add neutral 0.0 fold add neutral %t fold add neutral 2.0",
        )
    };
    let short = sums(100).replace("%f: f64 = with", "%f: f64, %g: f64, %h: f64 = with");
    same(&short);
    assert!(!round(&short).contains("call fn"), "{}", round(&short));
    let long = sums(1000).replace("%f: f64 = with", "%f: f64, %g: f64, %h: f64 = with");
    same(&long);
    assert!(round(&long).contains("call fn"), "{}", round(&long));
}

/// Accumulators in lanes are begun and added up, which takes longer than a few indices do.
#[test]
fn folds_shorter_than_a_vector_take_no_lanes() {
    let text = program(300, 0, "add %k, 1", "lt %l, 300");
    same(&text);
    let round = round(&text);
    let (before, kernel) = round.split_once("call fn").expect("a kernel for long ones");
    let (_, short) = before.split_once("icmp.slt").expect("a question for the length");
    assert!(short.contains("if ") && short.contains("= for ") && short.contains("} else {"), "{round}");
    assert!(!kernel.contains("= for "), "{round}");
    // Of one length, there is no question.
    let constant = text.replace("[%k]", "[299]");
    same(&constant);
    assert!(!self::round(&constant).contains("} else {"));
}
