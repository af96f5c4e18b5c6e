//! Kernels as text.

use ravel_nest::parse::parse_module;
use ravel_nest::verify::verify;

use crate::split;

/// The kernels of a function with two buffers (`v2` read, `v3` written), a count `v1` and this body.
fn source(body: &str) -> String {
    let text = format!(
        "extern ext0 \"ravel_device_read\"(ptr) -> ptr extern ext1 \"ravel_device_write\"(ptr) -> ptr
        func fn0 \"sac_f\"(v0: ptr, v1: i64) -> () private keep {{
            v2: ptr = call_extern ext0(v0) v3: ptr = call_extern ext1(v0) {body} return }}"
    );
    let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error} in {body}"));
    assert_eq!(verify(&module), Ok(()), "{body}");
    let program = split(&mut module).expect("all of it can run on devices");
    assert_eq!(verify(&module), Ok(()));
    program.source
}

#[test]
fn groups_share_typed_local_memory_and_wait_at_barriers() {
    let text = source(
        "launch (v1) local (64) (v4, v5) {
            v6: ptr = local_slot 256 align 4
            v7: i64 = const 4 v8: i64 = imul v5, v7 v9: ptr = ptr_add v6, v8
            v10: i64 = const 256 v11: i64 = imul v4, v10 v12: ptr = ptr_add v2, v11 v13: ptr = ptr_add v12, v8
            v14: f32 = load v13 + 0 store v14, v9 + 0 barrier
            v15: i64 = const 252 v16: i64 = isub v15, v8 v17: ptr = ptr_add v6, v16 v18: f32 = load v17 + 0
            v19: ptr = ptr_add v3, v11 v20: ptr = ptr_add v19, v8 store v18, v20 + 0
            yield }",
    );
    assert!(text.contains("__attribute__((reqd_work_group_size(64, 1, 1)))\nkernel void f_k0("), "{text}");
    assert!(text.contains("const long i = get_group_id(0);\n    const int item_i = get_local_id(0);"), "{text}");
    assert!(text.contains("local float b[64];"), "{text}");
    assert!(text.contains("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"), "{text}");
    assert!(!text.contains("end_i"), "{text}");
}

#[test]
fn local_memory_of_several_types_is_bytes() {
    let text = source(
        "launch (v1, v1) local (2, 8) (v4, v5, v6, v7) {
            v8: ptr = local_slot 64 align 8 store v7, v8 + 0 barrier v9: i8 = load v8 + 8 store v9, v3 + 0 yield }",
    );
    assert!(text.contains("reqd_work_group_size(8, 2, 1)"), "{text}");
    assert!(text.contains("const int item_j = get_local_id(0);"), "{text}");
    assert!(text.contains("local uchar a[64] __attribute__((aligned(8)));"), "{text}");
    assert!(text.contains("*(local long *)(a + 0) = item_j;"), "{text}");
}

#[test]
fn loads_happen_before_the_barrier_they_stand_in_front_of() {
    let text = source(
        "launch (v1) local (32) (v4, v5) {
            v6: ptr = local_slot 128 align 4 v7: f32 = load v6 + 0 barrier store v7, v3 + 0 yield }",
    );
    let (load, barrier) = (text.find("= a[0];"), text.find("barrier("));
    assert!(load.is_some() && load < barrier, "{text}");
}
