//! A bounded number of random cases; `RAVEL_FUZZ_CASES` says how many modules, with a tenth as many programs, and some of both on a device,
//! and a hundredth as many programs with changed text.

use std::process::Command;

fn agree(kind: &[&str], cases: u64) {
    let output = Command::new(env!("CARGO_BIN_EXE_ravel-fuzz"))
        .args(kind)
        .args(["--count", &cases.to_string(), "--shrink"])
        .output()
        .expect("the binary of this crate starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn cases() -> u64 {
    let usual = if cfg!(debug_assertions) { 4_000 } else { 20_000 };
    std::env::var("RAVEL_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

#[test]
fn all_ways_to_run_a_random_module_agree() {
    agree(&[], cases());
}

/// Kernels are slow to build: a hundredth as many modules, and a thousandth as many programs.
#[test]
fn random_cases_agree_on_a_device() {
    if let Err(why) = ravel_runtime::device::find() {
        println!("left out: {why}");
        return;
    }
    agree(&["--device"], cases() / 100);
    agree(&["--device", "--sac"], cases() / 1000);
}

#[test]
fn all_ways_to_run_a_random_program_agree() {
    agree(&["--sac"], cases() / 10);
}

/// Derivatives of random functions: by the interpreter in both modes, and by differences.
#[test]
fn derivatives_of_a_random_function_agree() {
    agree(&["--derive"], cases() / 10);
}

/// Each case starts `ravel` up to three times: 200 of them.
#[test]
fn programs_with_changed_text_crash_nothing() {
    agree(&["--mutate"], (cases() / 100).max(200));
}
