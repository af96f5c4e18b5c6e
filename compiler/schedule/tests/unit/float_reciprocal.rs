//! Quotients by products are the bits that divisions give.

use super::*;

/// Numbers with random bits, and those around which something changes.
fn operands() -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let random = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    });
    let special = [0.0, 1.0, f64::MAX, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324, 1e-300, 1e-288, 3.0, 0.1];
    random.take(20_000).chain(special.into_iter().flat_map(|x: f64| [x.to_bits(), (-x).to_bits()]))
}

fn divisors() -> impl Iterator<Item = f64> {
    let few =
        [3.0, 5.0, 7.0, 9.0, 25.0, 27.0, 49.0, 1000.0, 0.1, 0.3, 1.7, 6.02e9, std::f64::consts::PI, 1e-5, -3.0, -0.7];
    few.into_iter().chain((1..40).map(|k| 1.0 + f64::from(k) * 0.037))
}

#[test]
fn products_are_quotients() {
    let (mut doubles, mut singles) = (0, 0);
    for y in divisors() {
        if let Some(Reciprocal::Parts { high, low, tiny }) = Reciprocal::<f64>::of(y) {
            doubles += 1;
            let near = close_operands(0xc_cccc_cccc_cccd, 53).map(|x| (x as f64).to_bits());
            for x in operands().chain(near).map(f64::from_bits).filter(|x| *x == 0.0 || x.is_nan() || x.abs() >= tiny) {
                let (product, quotient) = (x.mul_add(high, x * low), x / y);
                assert!(
                    product.to_bits() == quotient.to_bits() || quotient.is_nan() && product.is_nan(),
                    "{x:e} / {y}"
                );
            }
        }
        let y = y as f32;
        if let Some(Reciprocal::Parts { high, low, tiny }) = Reciprocal::<f32>::of(y) {
            singles += 1;
            let bits = operands().map(|bits| (bits >> 32) as u32);
            for x in bits.map(f32::from_bits).filter(|x| *x == 0.0 || x.is_nan() || x.abs() >= tiny) {
                let (product, quotient) = (x.mul_add(high, x * low), x / y);
                assert!(
                    product.to_bits() == quotient.to_bits() || quotient.is_nan() && product.is_nan(),
                    "{x:e} / {y}"
                );
            }
        }
    }
    assert!(doubles > 45 && singles > 40, "{doubles} {singles}");
}

#[test]
fn every_significand_of_single_precision() {
    for y in [3.0f32, 9.0, 0.1, 1.7, std::f32::consts::PI, 16777215.0 / 65536.0] {
        let Some(Reciprocal::Parts { high, low, .. }) = Reciprocal::<f32>::of(y) else { panic!("{y}") };
        for x in (1u32 << 23..1 << 24).map(|x| x as f32) {
            assert_eq!(x.mul_add(high, x * low), x / y, "{x} / {y}");
        }
    }
}

#[test]
fn powers_of_two_are_exact_and_extremes_declined() {
    assert_eq!(Reciprocal::<f64>::of(-4.0), Some(Reciprocal::Exact(-0.25)));
    for y in [0.0, f64::INFINITY, f64::NAN, 1e300, 1e-300] {
        assert_eq!(Reciprocal::<f64>::of(y), None);
    }
}

/// How many divisions are left outside and inside of a loop with one by a constant, one by a variable and some sums, and whether the loop has a
/// branch.
fn looped(sums: usize) -> (usize, usize, bool) {
    use ravel_nest::builder::FuncBuilder;
    use ravel_nest::ir::Access;
    let ty = Ty::F64.with_lanes(4);
    let (mut b, args) = FuncBuilder::new("f", &[Ty::I64, Ty::PTR, Ty::F64], &[Ty::F64]);
    let three = b.fconst(Ty::F64, 3.0);
    let wide = b.splat(three, 4);
    let (zero, eight) = (b.i64(0), b.i64(8));
    let (index, _) = b.begin_for(zero, args[0], eight, &[]);
    let place = b.ptr_add(args[1], index);
    let x = b.load(ty, place, 0, Access::ANY);
    let by_constant = b.binary(BinOp::FDiv, x, wide);
    let variable = b.splat(args[2], 4);
    let by_variable = b.binary(BinOp::FDiv, by_constant, variable);
    let sum = (0..sums).fold(by_variable, |sum, _| b.binary(BinOp::FAdd, sum, x));
    b.store(sum, place, 0, Access::ANY);
    b.end_for(&[]);
    let outside = b.binary(BinOp::FDiv, args[2], three);
    b.ret(&[outside]);
    let mut func = b.finish();
    multiply_instead(&mut func);
    let mut module = ravel_nest::ir::Module::new();
    let id = module.add(func);
    assert!(ravel_nest::verify::verify(&module).is_ok());
    let body = &module.funcs[id].body;
    let count = |region: &Region| region.insts.iter().filter(|i| matches!(i.op, Op::Binary(BinOp::FDiv, ..))).count();
    let Some(Op::For { body: inside, .. }) = body.insts.iter().map(|i| &i.op).find(|op| matches!(op, Op::For { .. }))
    else {
        panic!("the loop is gone")
    };
    (count(body), count(inside), inside.insts.iter().any(|i| matches!(i.op, Op::If { .. })))
}

#[test]
fn divisions_in_loops_are_replaced() {
    assert_eq!(looped(0), (1, 1, true));
}

#[test]
fn hidden_ones_are_not() {
    assert_eq!(looped(2 * HIDING), (1, 2, false));
}
