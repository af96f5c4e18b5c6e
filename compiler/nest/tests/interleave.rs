//! Sequences of instructions written side by side.

use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{Access, BinOp, Op, Ty};

/// The operations of two chains, each of a load, a product and a sum, after interleaving from the given starts.
fn order(with_branch: bool) -> Vec<&'static str> {
    let (mut b, params) = FuncBuilder::new("f", &[Ty::PTR, Ty::F64], &[Ty::F64]);
    let mut starts = Vec::new();
    let mut sums = Vec::new();
    for k in 0..2 {
        starts.push(b.position());
        let x = b.load(Ty::F64, params[0], 8 * k, Access::ALIGNED);
        let product = b.binary(BinOp::FMul, x, params[1]);
        if with_branch && k == 1 {
            let holds = b.bool(true);
            b.begin_if(holds);
            b.begin_else(&[]);
            b.end_if(&[]);
        }
        // The second chain needs the result of the first.
        let other = sums.last().copied().unwrap_or(product);
        sums.push(b.binary(BinOp::FAdd, product, other));
    }
    b.interleave(&starts);
    b.ret(&sums[1..]);
    let func = b.finish();
    let name = |op: &Op| match op {
        Op::Load { .. } => "load",
        Op::Binary(BinOp::FMul, ..) => "mul",
        Op::Binary(BinOp::FAdd, ..) => "add",
        _ => "other",
    };
    func.body.insts.iter().map(|inst| name(&inst.op)).collect()
}

#[test]
fn chains_alternate_as_far_as_operands_are_there() {
    assert_eq!(order(false), ["load", "load", "mul", "mul", "add", "add"]);
}

#[test]
fn chains_with_control_stay() {
    assert_eq!(order(true), ["load", "mul", "add", "load", "mul", "other", "other", "add"]);
}
