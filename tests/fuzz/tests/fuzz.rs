//! A bounded number of random cases; `RAVEL_FUZZ_CASES` says how many.

use std::process::Command;

#[test]
fn all_ways_to_run_a_random_module_agree() {
    let usual = if cfg!(debug_assertions) { 4_000 } else { 20_000 };
    let cases = std::env::var("RAVEL_FUZZ_CASES").ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(usual);
    let output = Command::new(env!("CARGO_BIN_EXE_ravel-fuzz"))
        .args(["--count", &cases.to_string(), "--shrink"])
        .output()
        .expect("the binary of this crate starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
