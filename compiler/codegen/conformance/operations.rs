//! Every operation on every type, in 1 to 16 lanes, against the same operation written in Rust.

use crate::backend::capabilities;
use crate::models::{
    Suite, binary_model, convert_model, float, float_bits, float_cmp_model, int_cmp_model, map1, map2, mask, samples,
    unary_model,
};
use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{Access, BinOp, ConvOp, FloatCmp, IntCmp, MathOp, Prim, ReduceOp, Ty, UnOp, Value};

const LANES: [u8; 5] = [1, 2, 4, 8, 16];
const INTS: [Prim; 4] = [Prim::I8, Prim::I16, Prim::I32, Prim::I64];
const FLOATS: [Prim; 2] = [Prim::F32, Prim::F64];
const ALL: [Prim; 6] = [Prim::I8, Prim::I16, Prim::I32, Prim::I64, Prim::F32, Prim::F64];

#[test]
fn unary_and_binary_operators() {
    let mut suite = Suite::new();
    for prim in ALL {
        for lanes in LANES {
            let ty = Ty::vector(prim, lanes);
            for seed in 0..3 {
                let (a, b) = (samples(prim, seed), samples(prim, seed + 4));
                for &op in UnOp::ALL.iter().filter(|op| op.is_float() == prim.is_float()) {
                    let expected = map1(&a, |a| unary_model(op, prim, a));
                    suite.case(format!("{op:?} {ty}"), &[(ty, a.clone())], ty, |f, v| f.unary(op, v[0]), expected);
                }
                for &op in BinOp::ALL.iter().filter(|op| op.is_float() == prim.is_float()) {
                    let divides = matches!(op, BinOp::SDiv | BinOp::SRem | BinOp::UDiv | BinOp::URem);
                    let b = if divides { map1(&b, |b| b.max(1)) } else { b.clone() };
                    let expected = map2(&a, &b, |a, b| binary_model(op, prim, a, b));
                    suite.case(
                        format!("{op:?} {ty}"),
                        &[(ty, a.clone()), (ty, b)],
                        ty,
                        |f, v| f.binary(op, v[0], v[1]),
                        expected,
                    );
                }
            }
        }
    }
    suite.run();
}

#[test]
fn constant_divisors_and_shift_amounts() {
    let mut suite = Suite::new();
    for prim in INTS {
        for lanes in LANES {
            let ty = Ty::vector(prim, lanes);
            let a = samples(prim, 1);
            for constant in [1, 3, 10, mask(prim), mask(prim) >> 1, 5 + u64::from(prim.bits())] {
                let constant = constant & mask(prim);
                let whole = |f: &mut FuncBuilder, _: &[Value]| f.bits(ty, constant);
                suite.case(format!("constant {ty}"), &[], ty, whole, vec![constant; 16]);
                for op in BinOp::ALL.iter().copied().filter(|op| !op.is_float()) {
                    let b = a[5].max(1);
                    let expected = vec![binary_model(op, prim, constant, b); 16];
                    let body = |f: &mut FuncBuilder, _: &[Value]| {
                        let (x, y) = (f.bits(ty, constant), f.bits(ty, b));
                        f.binary(op, x, y)
                    };
                    suite.case(format!("constants {op:?} {ty}"), &[], ty, body, expected);
                }
                for op in [
                    BinOp::SDiv,
                    BinOp::SRem,
                    BinOp::UDiv,
                    BinOp::URem,
                    BinOp::Shl,
                    BinOp::SShr,
                    BinOp::UShr,
                    BinOp::IMul,
                ] {
                    let expected = map1(&a, |a| binary_model(op, prim, a, constant));
                    let body = |f: &mut FuncBuilder, v: &[Value]| {
                        let c = f.bits(ty, constant);
                        f.binary(op, v[0], c)
                    };
                    suite.case(format!("{op:?} {ty} by {constant}"), &[(ty, a.clone())], ty, body, expected);
                }
            }
            let expected = map1(&a, |x| binary_model(BinOp::Shl, prim, x, a[2]));
            let body = |f: &mut FuncBuilder, v: &[Value]| {
                let amount = f.splat(v[1], lanes);
                f.binary(BinOp::Shl, v[0], amount)
            };
            suite.case(
                format!("uniform shl {ty}"),
                &[(ty, a.clone()), (ty.lane(), vec![a[2]; 16])],
                ty,
                body,
                expected,
            );
        }
    }
    suite.run();
}

#[test]
fn comparisons_and_selection() {
    let mut suite = Suite::new();
    for prim in ALL {
        for lanes in LANES {
            let ty = Ty::vector(prim, lanes);
            let truth = ty.truth();
            let (a, b) = (samples(prim, 0), samples(prim, 2));
            let as_truth = |holds: bool| match (holds, lanes) {
                (false, _) => 0,
                (true, 1) => 1,
                (true, _) => mask(prim),
            };
            let args = [(ty, a.clone()), (ty, b.clone())];
            if prim.is_int() {
                for &cmp in IntCmp::ALL {
                    let expected = map2(&a, &b, |a, b| as_truth(int_cmp_model(cmp, prim, a, b)));
                    suite.case(format!("{cmp:?} {ty}"), &args, truth, |f, v| f.icmp(cmp, v[0], v[1]), expected);
                    let expected = map2(&a, &b, |a, b| if int_cmp_model(cmp, prim, a, b) { a } else { b });
                    let body = |f: &mut FuncBuilder, v: &[Value]| {
                        let truth = f.icmp(cmp, v[0], v[1]);
                        f.select(truth, v[0], v[1])
                    };
                    suite.case(format!("select {cmp:?} {ty}"), &args, ty, body, expected);
                }
            } else {
                for &cmp in FloatCmp::ALL {
                    let model = |a, b| float_cmp_model(cmp, float(prim, a), float(prim, b));
                    let expected = map2(&a, &b, |a, b| as_truth(model(a, b)));
                    suite.case(format!("{cmp:?} {ty}"), &args, truth, |f, v| f.fcmp(cmp, v[0], v[1]), expected);
                    let expected = map2(&a, &b, |a, b| if model(a, b) { a } else { b });
                    let body = |f: &mut FuncBuilder, v: &[Value]| {
                        let truth = f.fcmp(cmp, v[0], v[1]);
                        f.select(truth, v[0], v[1])
                    };
                    suite.case(format!("select {cmp:?} {ty}"), &args, ty, body, expected);
                }
            }
            for cond in [0, 1] {
                let expected = if cond == 1 { a.clone() } else { b.clone() };
                let args = [(ty, a.clone()), (ty, b.clone()), (Ty::I8, vec![cond; 16])];
                suite.case(format!("scalar select {ty}"), &args, ty, |f, v| f.select(v[2], v[0], v[1]), expected);
            }
        }
    }
    suite.run();
}

#[test]
fn conversions() {
    let mut suite = Suite::new();
    for from in ALL {
        for to in ALL.into_iter().filter(|&to| to != from) {
            for &op in ConvOp::ALL {
                let exists = match op {
                    ConvOp::Narrow => from.is_int() && to.is_int() && from.bits() > to.bits(),
                    ConvOp::SExt | ConvOp::ZExt => from.is_int() && to.is_int() && from.bits() < to.bits(),
                    ConvOp::FConv => from.is_float() && to.is_float(),
                    ConvOp::SToF | ConvOp::UToF => from.is_int() && to.is_float(),
                    ConvOp::FToS | ConvOp::FToU => from.is_float() && to.is_int(),
                    ConvOp::Bits => from.bits() == to.bits(),
                };
                for lanes in LANES.into_iter().filter(|_| exists) {
                    let (ty, out) = (Ty::vector(from, lanes), Ty::vector(to, lanes));
                    let a = samples(from, 3);
                    let expected = map1(&a, |a| convert_model(op, from, to, a));
                    suite.case(
                        format!("{op:?} {ty} to {out}"),
                        &[(ty, a)],
                        out,
                        |f, v| f.convert(op, v[0], to),
                        expected,
                    );
                }
            }
        }
    }
    suite.run();
}

#[test]
fn lanes_and_constants() {
    let mut suite = Suite::new();
    for prim in ALL {
        for lanes in LANES {
            let ty = Ty::vector(prim, lanes);
            let (a, b) = (samples(prim, 1), samples(prim, 6));
            suite.case(format!("constant {ty}"), &[], ty, |f, _| f.bits(ty, a[3]), vec![a[3]; 16]);
            if lanes == 1 {
                continue;
            }
            let n = usize::from(lanes);
            let scalar = (ty.lane(), vec![b[0]; 16]);
            suite.case(
                format!("splat {ty}"),
                std::slice::from_ref(&scalar),
                ty,
                |f, v| f.splat(v[0], lanes),
                vec![b[0]; 16],
            );
            for lane in 0..lanes {
                let picked = vec![a[usize::from(lane)]];
                suite.case(
                    format!("extract {ty}"),
                    &[(ty, a.clone())],
                    ty.lane(),
                    |f, v| f.extract(v[0], lane),
                    picked,
                );
                let mut expected = a.clone();
                expected[usize::from(lane)] = b[0];
                let args = [(ty, a.clone()), scalar.clone()];
                suite.case(format!("insert {ty}"), &args, ty, |f, v| f.insert(v[0], lane, v[1]), expected);
            }
            let both: Vec<u64> = a[..n].iter().chain(&b[..n]).copied().collect();
            for out in LANES.into_iter().skip(1) {
                for factor in [1, 3, 7] {
                    let picks: Vec<u8> = (0..out).map(|k| (k * factor + 1) % (2 * lanes)).collect();
                    let expected = picks.iter().map(|&k| both[usize::from(k)]).collect();
                    let args = [(ty, a.clone()), (ty, b.clone())];
                    let to = ty.with_lanes(out);
                    suite.case(
                        format!("shuffle {ty} to {to}"),
                        &args,
                        to,
                        |f, v| f.shuffle(v[0], v[1], &picks),
                        expected,
                    );
                }
            }
            if prim.is_int() {
                for hit in 0..=lanes {
                    let mask: Vec<u64> =
                        (0..16).map(|lane| if lane == hit { u64::MAX >> (64 - prim.bits()) } else { 0 }).collect();
                    let some = u64::from(hit < lanes);
                    suite.case(format!("any {ty} {hit}"), &[(ty, mask)], Ty::I8, |f, v| f.any(v[0]), vec![some]);
                }
            }
            for &op in ReduceOp::ALL.iter().filter(|op| op.combine().is_float() == prim.is_float()) {
                let mut rest = a[..n].to_vec();
                while rest.len() > 1 {
                    let upper = rest.split_off(rest.len() / 2);
                    rest = map2(&rest, &upper, |a, b| binary_model(op.combine(), prim, a, b));
                }
                suite.case(
                    format!("reduce {op:?} {ty}"),
                    &[(ty, a.clone())],
                    ty.lane(),
                    |f, v| f.reduce(op, v[0]),
                    rest,
                );
            }
        }
    }
    suite.run();
}

#[test]
fn lanes_from_anywhere() {
    let mut suite = Suite::new();
    for prim in ALL {
        for lanes in LANES.into_iter().skip(1) {
            for index in [Prim::I32, Prim::I64] {
                let (ty, at) = (Ty::vector(prim, lanes), Ty::vector(index, lanes));
                let memory = Ty::vector(prim, 16);
                let a = samples(prim, 2);
                // Around the fourth element: negative indices too.
                let places: Vec<i64> = (0..16).map(|k| (k * 7 + 5) % 16 - 4).collect();
                let expected: Vec<u64> = places.iter().map(|&at| a[(at + 4) as usize]).collect();
                let indices: Vec<u64> = places.iter().map(|&at| at as u64 & mask(index)).collect();
                let size = prim.bytes() as i32;
                let args = [(memory, a.clone()), (at, indices.clone())];
                suite.case(
                    format!("gather {ty} at {at}"),
                    &args,
                    ty,
                    |f, v| {
                        let slot = f.stack_slot(128, 64);
                        f.store(v[0], slot, 0, Access::ALIGNED);
                        f.gather(ty, slot, 4 * size, v[1], size as u8)
                    },
                    expected.clone(),
                );
                // Lanes that are left out have places that nobody may read.
                let taken = |k: usize| k % 3 != 1;
                let truths = (0..16).map(|k| if taken(k) { mask(ty.truth().prim) } else { 0 }).collect();
                let wild = (0..16).map(|k| if taken(k) { indices[k] } else { mask(index) >> 2 }).collect();
                let some = (0..16).map(|k| if taken(k) { expected[k] } else { 0 }).collect();
                suite.case(
                    format!("gather some of {ty} at {at}"),
                    &[(memory, a), (at, wild), (ty.truth(), truths)],
                    ty,
                    |f, v| {
                        let slot = f.stack_slot(128, 64);
                        f.store(v[0], slot, 0, Access::ALIGNED);
                        f.gather_if(v[2], ty, slot, 4 * size, v[1], size as u8)
                    },
                    some,
                );
            }
        }
    }
    suite.run();
}

#[test]
fn fused_and_library_functions() {
    let mut suite = Suite::new();
    for prim in FLOATS {
        for lanes in LANES {
            let ty = Ty::vector(prim, lanes);
            let a: Vec<u64> = (0..16).map(|n| float_bits(prim, 0.05 * f64::from(n) + 0.1)).collect();
            let b: Vec<u64> = (0..16).map(|n| float_bits(prim, 0.9 - 0.03 * f64::from(n))).collect();
            let args = [(ty, a.clone()), (ty, b.clone()), (ty, a.clone())];
            if capabilities().expect("the host is supported").has_fma {
                let expected = map2(&a, &b, |a, b| match prim {
                    Prim::F32 => {
                        let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                        u64::from(a.mul_add(b, a).to_bits())
                    }
                    _ => f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(a)).to_bits(),
                });
                suite.case(format!("fma {ty}"), &args, ty, |f, v| f.fma(v[0], v[1], v[2]), expected);
            }
            let expected = map1(&a, |a| match prim {
                Prim::F32 => u64::from(f32::from_bits(a as u32).sin().to_bits()),
                _ => f64::from_bits(a).sin().to_bits(),
            });
            suite.case(format!("sin {ty}"), &args, ty, |f, v| f.math(MathOp::Sin, &v[..1]), expected);
            let expected = map2(&a, &b, |a, b| match prim {
                Prim::F32 => u64::from(f32::from_bits(a as u32).powf(f32::from_bits(b as u32)).to_bits()),
                _ => f64::from_bits(a).powf(f64::from_bits(b)).to_bits(),
            });
            suite.case(format!("pow {ty}"), &args, ty, |f, v| f.math(MathOp::Pow, &v[..2]), expected);
        }
        for &op in MathOp::ALL {
            let ty = Ty::scalar(prim);
            let one = vec![float_bits(prim, 1.0)];
            let args = [(ty, one.clone()), (ty, one.clone())];
            // Only that the function is found and called; atanh(1) and the like are infinite.
            let body = |f: &mut FuncBuilder, v: &[Value]| {
                let result = f.math(op, &v[..op.arity()]);
                let same = f.fcmp(FloatCmp::Eq, result, result);
                f.select(same, v[0], v[0])
            };
            suite.case(format!("{op:?} {ty}"), &args, ty, body, one);
        }
    }
    suite.run();
}
