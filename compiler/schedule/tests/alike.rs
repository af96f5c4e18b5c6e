//! Kernels with the same code are one function.

use ravel_schedule::{Capabilities, Options, schedule};
use ravel_source::FileId;

/// Functions for the kernels of `b[i] = first(a[i], a[i + 1])` and `c[i] = second(b[i], b[i + 1])`.
fn kernels(first: &str, second: &str) -> usize {
    let with = |name: &str, array: &str, op: &str| {
        format!(
            "%{name}: f64[1000] = with {{ part [0] <= [%{name}_i] < [1000] {{
               %{name}_j: i32 = add %{name}_i, 1
               %{name}_x: f64 = sel %{array}, [%{name}_i]
               %{name}_y: f64 = sel %{array}, [%{name}_j]
               %{name}_z: f64 = {op} %{name}_x, %{name}_y
               yield %{name}_z
             }} }} genarray [1000] cell []\n"
        )
    };
    let text = format!(
        "entry @f0\nfunc @f0 \"main\" (%a: f64[1001], %s: f64[1001]) -> (f64[1000], f64[1000]) {{\n{}{}yield %b, %c\n}}\n",
        with("b", "a", first),
        with("c", "s", second)
    );
    let module = ravel_wir::parse::parse_module(&text, FileId(0)).unwrap_or_else(|e| panic!("{e}"));
    let target = Capabilities {
        vector_bytes: 32,
        vector_registers: 16,
        has_fma: true,
        fma_takes_factor: false,
        has_gather: true,
    };
    let options = Options {
        unchecked: false,
        parallel: false,
        large_result: ravel_schedule::LARGE_RESULT,
        entry_name: "entry".to_string(),
        device: None,
        release_globals: true,
        position: &|_, name| name.to_string(),
    };
    let (nest, _) = schedule(&module, &target, &options).unwrap_or_else(|e| panic!("{e}"));
    nest.funcs.values().filter(|func| func.name.contains("_kernel_")).count()
}

#[test]
fn the_same_code_for_other_arrays_is_one_function() {
    assert_eq!(kernels("add", "add"), 1);
}

#[test]
fn other_code_is_another_function() {
    assert_eq!(kernels("add", "sub"), 2);
}
