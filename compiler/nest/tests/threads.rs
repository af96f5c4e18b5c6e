//! Reference counts in code that several threads may run at once.

use ravel_nest::parse::parse_module;
use ravel_nest::threads::run_by_threads;
use ravel_nest::verify::verify;

/// A parallel loop whose body is `body`, and further functions.
fn module(body: &str, functions: &str) -> String {
    format!(
        "func fn0 \"main\"(v0: ptr, v1: i64) -> () private optimize {{
           rc_inc v0 plain
           parfor v1 chunk v1 (v2, v3, v4) {{ {body} yield }}
           rc_dec v0 plain
           return
         }} {functions}"
    )
}

fn refused(body: &str, functions: &str) -> Option<String> {
    let text = module(body, functions);
    let module = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&module).err().map(|errors| errors[0].to_string())
}

#[test]
fn plain_counts_are_refused_where_threads_may_come() {
    let inc = "func fn1 \"f\"(v0: ptr) -> () private optimize { rc_inc v0 plain return }";
    let dec = "func fn1 \"f\"(v0: ptr) -> () private optimize { rc_dec v0 plain return }";
    let caller = "func fn1 \"g\"(v0: ptr) -> () private optimize { call fn2(v0) return }
                  func fn2 \"f\"(v0: ptr) -> () private optimize { rc_dec v0 plain return }";
    let recursive = "func fn1 \"g\"(v0: ptr) -> () private optimize { call fn2(v0) return }
                     func fn2 \"f\"(v0: ptr) -> () private optimize { call fn1(v0) rc_dec v0 plain return }";
    let nested = "func fn1 \"f\"(v0: ptr) -> () private optimize {
                    v1: i8 = rc_unique v0 if v1 { rc_dec v0 plain yield } else { yield } return }";
    let addressed = "func fn1 \"f\"(v0: ptr) -> () private optimize { rc_dec v0 plain return }
                     func fn2 \"g\"() -> () private optimize { v0: ptr = func_addr fn1 return }";
    for (body, functions, at) in [
        ("rc_inc v0 plain", "", "main"),
        ("call fn1(v0)", inc, "f"),
        ("call fn1(v0)", dec, "f"),
        ("call fn1(v0)", caller, "f"),
        ("call fn1(v0)", recursive, "f"),
        ("call fn1(v0)", nested, "f"),
        ("", addressed, "f"),
    ] {
        let message = refused(body, functions).unwrap_or_else(|| panic!("{body} {functions} is accepted"));
        assert!(message.contains("several threads") && message.contains(&format!("function {at}:")), "{message}");
    }
}

#[test]
fn atomic_counts_are_accepted_and_plain_ones_in_sequential_code() {
    let atomic = "func fn1 \"f\"(v0: ptr) -> () private optimize { rc_inc v0 atomic rc_dec v0 atomic return }";
    assert_eq!(refused("call fn1(v0) rc_inc v0 atomic", atomic), None);
    let sequential = "func fn1 \"f\"(v0: ptr) -> () private optimize { rc_inc v0 plain call fn0(v0, v1) return }";
    let sequential = sequential.replace("(v0: ptr)", "(v0: ptr, v1: i64)");
    assert_eq!(refused("rc_dec v0 atomic", &sequential), None);
}

#[test]
fn functions_that_threads_reach_are_found() {
    let functions = "func fn1 \"f\"() -> () private optimize { call fn3() return }
                     func fn2 \"g\"() -> () private optimize { return }
                     func fn3 \"h\"() -> () private optimize { return }";
    let parsed = parse_module(&module("call fn1()", functions)).expect("the text is grammatical");
    assert_eq!(run_by_threads(&parsed), [false, true, false, true]);
}
