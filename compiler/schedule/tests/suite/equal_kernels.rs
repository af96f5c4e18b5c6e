//! Kernels with the same code are one function.

use crate::common::scheduled;
use ravel_schedule::Capabilities;

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
    let target = Capabilities {
        vector_bytes: 32,
        vector_registers: 16,
        has_fma: true,
        fma_takes_factor: false,
        has_gather: true,
        ..Capabilities::SCALAR
    };
    let (nest, _) = scheduled(&text, target);
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
