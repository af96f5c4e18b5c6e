//! Stores of parallel loops that processes may share.

use ravel_nest::parse::parse_module;
use ravel_nest::verify::verify;

/// A shared loop over rows of an array whose object is `v0`; `v2` is another object. Values from `v30` on belong to the body.
fn refused(body: &str) -> Option<String> {
    let text = format!(
        "func fn0 \"main\"(v0: ptr, v1: i64, v2: ptr) -> () private optimize {{
           v3: i64 = const 1
           v4: i64 = const 8
           v5: ptr = load v0 + 8 aligned
           v6: ptr = ptr_add v5, v4
           parfor v1 chunk v3 shared site v0 work v4 uneven reads (v2, v4, v4, v3) yields (v6, v0, v3, v3, v1, v4, v4, v3, v4) (v7, v8, v9) {{ {body} yield }}
           return
         }}"
    );
    let module = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&module).err().map(|errors| errors[0].to_string())
}

#[test]
fn stores_go_to_what_is_declared() {
    let row = "v30: ptr = ptr_add v5, v7 store v4, v30 + 16";
    let own = "v30: ptr = stack_slot 64 align 8 store v4, v30 + 0";
    let again = "v30: ptr = load v0 + 8 aligned v31: ptr = ptr_add v30, v8 store v4, v31 + 0";
    let carried =
        "for v30 = v7 to v8 step v3 (v31: ptr = v6) { store v4, v31 + 0 v32: ptr = ptr_add v31, v4 yield v32 }";
    for body in ["", row, own, again] {
        assert_eq!(refused(body), None, "{body}");
    }
    assert_eq!(refused(&carried.replace("for v30", "v33: ptr = for v30")), None);
}

#[test]
fn other_stores_are_refused() {
    let header = "store v4, v0 + 0";
    let other = "v30: ptr = load v2 + 8 aligned v31: ptr = ptr_add v30, v8 store v4, v31 + 0";
    let inside = "v30: i8 = const 1 if v30 { store v4, v2 + 0 yield } else { yield }";
    for body in [header, other, inside] {
        let error = refused(body).unwrap_or_else(|| panic!("accepted: {body}"));
        assert!(error.contains("does not declare"), "{error}");
    }
}
