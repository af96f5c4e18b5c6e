//! Kernels as text.

use ravel_codegen::EmitError;
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

#[test]
fn vectors_are_read_and_written_whole() {
    let text = source(
        "launch (v1) (v4) {
            v5: i64 = const 16 v6: i64 = imul v4, v5 v7: ptr = ptr_add v2, v6 v8: ptr = ptr_add v3, v6
            v9: f32x4 = load v7 + 0 aligned v10: f32 = const 1.5 v11: f32x4 = splat v10 v12: f32x4 = fmul v9, v11
            v13: f32x4 = load v7 + 16 aligned v14: f32x4 = fmax v13, v11 v15: f32x4 = fadd v12, v14
            store v15, v8 + 0 aligned yield }",
    );
    assert!(text.contains("((global float4 *)b)[i] = ((global const float4 *)a)[i] * 1.5f + MAX(((global const float4 *)a)[i + 1], (float4)(1.5f));"), "{text}");
}

#[test]
fn masks_of_vectors_choose() {
    let text = source(
        "launch (v1) (v4) {
            v5: f64x2 = load v2 + 0 aligned v6: f64 = const 0.5 v7: f64x2 = splat v6 v8: i64x2 = fcmp.lt v5, v7
            v9: f64x2 = select v8, v5, v7 store v9, v3 + 0 aligned yield }",
    );
    assert!(text.contains("const double2 t1 = ((global const double2 *)a)[0];"), "{text}");
    assert!(text.contains("((global double2 *)b)[0] = t1 < 0.5 ? t1 : (double2)(0.5);"), "{text}");
}

#[test]
fn vectors_that_may_lie_anywhere_are_refused() {
    for body in
        ["v5: f32x4 = load v2 + 0 store v5, v3 + 0 aligned", "v5: i32x4 = load v2 + 0 aligned store v5, v3 + 0 aligned"]
    {
        let text = format!(
            "extern ext0 \"ravel_device_read\"(ptr) -> ptr
            func fn0 \"sac_f\"(v0: ptr, v1: i64) -> () private keep {{ v2: ptr = call_extern ext0(v0) v3: ptr = call_extern ext0(v0)
                launch (v1) (v4) {{ {body} yield }} return }}"
        );
        let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error} in {body}"));
        let refused = split(&mut module).expect_err(body);
        let what = "vectors of a kind that kernels do not have".to_string();
        assert_eq!(refused, EmitError::Kernel { func: "sac_f".to_string(), what });
    }
}

/// The quotient of `v5` and a divisor made of `v6`, which both are loaded.
fn quotient(ty: &str, divisor: &str) -> String {
    let bytes = if ty == "f32" { 4 } else { 8 };
    source(&format!(
        "launch (v1) (v4) {{ v5: {ty} = load v2 + 0 v6: {ty} = load v2 + {bytes} {divisor} v9: {ty} = fdiv v5, v8 store v9, v3 + 0 yield }}"
    ))
}

#[test]
fn quotients_by_square_roots_are_products() {
    let text = quotient("f32", "v8: f32 = sqrt v6");
    assert!(text.contains("b[0] = a[0] * rsqrt(a[1]);"), "{text}");
    let text = quotient("f32", "v7: f32 = sqrt v6 v8: f32 = fmul v6, v7");
    assert!(text.contains("= rsqrt(t1 + 0.0f);") && text.contains("b[0] = a[0] * t2 * (t2 * t2);"), "{text}");
    // With a constant added, minus zero is impossible.
    let text =
        quotient("f32", "v10: f32 = const 0.5 v11: f32 = fadd v6, v10 v7: f32 = sqrt v11 v8: f32 = fmul v7, v11");
    assert!(text.contains("= a[1] + 0.5f;") && text.contains("= rsqrt(t1);"), "{text}");
}

#[test]
fn other_quotients_stay() {
    for (ty, divisor) in [
        ("f64", "v8: f64 = sqrt v6"),
        ("f32", "v7: f32 = sqrt v6 v8: f32 = fmul v5, v7"),
        ("f32", "v8: f32 = sqrt v6 store v8, v3 + 8"),
    ] {
        let text = quotient(ty, divisor);
        assert!(text.contains(" / ") && text.contains("sqrt(") && !text.contains("rsqrt"), "{text}");
    }
}
