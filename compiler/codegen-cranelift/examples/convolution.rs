//! Measures a 5x5 convolution kernel written in nest, in both orders, and how long compiling it takes.
//!
//! `cargo run --release -p ravel-codegen-cranelift --example convolution [asm]`

#![expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a program of its own")]

use std::time::Instant;

use ravel_codegen_cranelift::{Jit, emit_asm};
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{Access, Func, Module, Order, Ty, Visibility};

/// Accumulators: 12 registers of 4 outputs along a row.
const TILE: i32 = 12;
const LANES: i32 = 4;
/// Outputs of a row; the input is 4 wider.
const WIDTH: i32 = 4 * TILE * LANES;
const HEIGHT: i64 = 64;
const PITCH: i32 = (WIDTH + LANES) * 4;

/// `convolve(input, weights, output)`: every tap unrolled, the weight broadcast, the inputs read from memory.
fn convolve(name: &str, order: Order) -> Func {
    let (mut b, p) = FuncBuilder::new(name, &[Ty::PTR, Ty::PTR, Ty::PTR], &[]);
    b.set_visibility(Visibility::Entry);
    b.set_order(order);
    let vector = Ty::F32.with_lanes(LANES as u8);
    let zero = b.i64(0);
    let (one, height, pitch) = (b.i64(1), b.i64(HEIGHT), b.i64(i64::from(PITCH)));
    let (row_bytes, tile_bytes) = (b.i64(i64::from(WIDTH * 4)), b.i64(i64::from(TILE * LANES * 4)));
    let (y, _) = b.begin_for(zero, height, one, &[]);
    let (row, out_row) = (b.mul(y, pitch), b.mul(y, row_bytes));
    let (row, out_row) = (b.ptr_add(p[0], row), b.ptr_add(p[2], out_row));
    let (x, _) = b.begin_for(zero, row_bytes, tile_bytes, &[]);
    let (tile, out) = (b.ptr_add(row, x), b.ptr_add(out_row, x));
    let start = b.fconst(vector, 0.0);
    let mut sums = vec![start; TILE as usize];
    for i in 0..5 {
        for j in 0..5 {
            let weight = b.load(Ty::F32, p[1], (i * 5 + j) * 4, Access::READONLY);
            let weight = b.splat(weight, LANES as u8);
            for (k, sum) in (0..).zip(&mut sums) {
                let input = b.load(vector, tile, i * PITCH + (j + k * LANES) * 4, Access::ANY);
                *sum = b.fma(weight, input, *sum);
            }
        }
    }
    for (k, &sum) in (0..).zip(&sums) {
        b.store(sum, out, k * LANES * 4, Access::ANY);
    }
    b.end_for(&[]);
    b.end_for(&[]);
    b.ret(&[]);
    b.finish()
}

fn main() {
    let input: Vec<f32> = (0..(HEIGHT as usize + 5) * (PITCH as usize / 4)).map(|n| (n % 17) as f32).collect();
    let weights: Vec<f32> = (0..25).map(|n| n as f32 * 0.25).collect();
    let mut output = vec![0f32; HEIGHT as usize * WIDTH as usize];
    let words = [input.as_ptr() as u64, weights.as_ptr() as u64, output.as_mut_ptr() as u64];
    for (name, order) in [("keep", Order::Keep), ("optimize", Order::Optimize)] {
        let mut module = Module::new();
        module.add(convolve(name, order));
        if std::env::args().any(|arg| arg == "asm") {
            println!("{}", emit_asm(&module).expect("the module is valid"));
        }
        let start = Instant::now();
        let mut jit = Jit::new(|_| None).expect("the host is supported");
        let ready = start.elapsed();
        jit.add(&module).expect("the module is valid");
        let compiled = start.elapsed() - ready;
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = Instant::now();
            for _ in 0..20 {
                jit.call(name, &words).expect("the entry exists");
            }
            best = best.min(start.elapsed().as_secs_f64() / 20.0);
        }
        let flops = 50.0 * output.len() as f64;
        let wanted: f32 = (0..25).map(|t| input[t / 5 * (PITCH as usize / 4) + t % 5] * weights[t]).sum();
        println!(
            "{name}: {:.1} GFLOP/s, session {ready:?}, compile {compiled:?}, first output {} (wanted {wanted})",
            flops / best * 1e-9,
            output[0]
        );
    }
}
