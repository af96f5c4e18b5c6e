//! Scalars of the cells of a with-loop are computed by a with-loop of their own, before it.
//!
//! ```text
//!    genarray { [i] -> s = f(i); g(i, s) }
//! => t = genarray { [i] -> f(i) }   genarray { [i] -> s = t[i]; g(i, s) }
//! ```
//!
//! Which scalars that pays for is the business of the passes: `split-cells` for columns, `split-sum-cells` for functions of sums.

pub mod columns;
pub mod sums;

use crate::edit::{Copier, Defs, Renames, insert_before, push_op};
use crate::facts::{Places, rewrite_withs};
use crate::pass::Context;
use ravel_types::{Shape, Ty};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, RegionData, Value, With, WithOp};

/// Asks `choose` for the scalars of every with-loop that are to be computed before it, and splits those that have some; `said` goes to the
/// remarks. Has it changed anything?
///
/// A with-loop with such scalars has one partition, and makes arrays only.
pub fn split_all(
    func: &mut Func,
    cx: &mut Context,
    said: &'static str,
    choose: impl Fn(&Func, &Defs, &Places, Inst, &Context) -> Option<Vec<Value>>,
) -> bool {
    rewrite_withs(func, |func, defs, places, (region, inst)| {
        let kept = choose(func, defs, places, inst, cx)?;
        let before = split(func, inst, &kept);
        insert_before(func, region, inst, [before]);
        cx.applied(func.insts[inst].span, said);
        Some(())
    })
}

/// Makes a with-loop for the scalars of a with-loop with one partition, and lets the cells select from its results.
fn split(func: &mut Func, inst: Inst, kept: &[Value]) -> Inst {
    let Op::With(mut with) = func.insts[inst].op.clone() else { return inst };
    let span = func.insts[inst].span;
    let part = with.parts[0].clone();
    let result = func.ty(func.insts[inst].results[0]).clone();
    let WithOp::Genarray { frame: Frame::Known(frame), .. } = with.ops[0].clone() else { return inst };
    let lead = result.shape.extents().map(|extents| extents[..frame.len()].to_vec()).unwrap_or_default();
    let types: Vec<Ty> = kept.iter().map(|v| Ty::new(func.ty(*v).elem, Shape::Known(lead.clone()))).collect();
    let op = WithOp::Genarray { frame: Frame::Known(frame), cell: Some(Vec::new()), default: None };

    let mut copier = Copier::within(func, part.body);
    let body = copier.region(func, part.body);
    func.regions[body].yields = kept.iter().map(|v| copier.value(*v)).collect();
    let parts = vec![Part { generator: part.generator.clone(), body }];
    let made = func.make_inst(Op::With(With { parts, ops: vec![op; kept.len()], ordered: false }), types, span);

    let arrays = func.insts[made].results.clone();
    let mut copier = Copier::within(func, part.body);
    let params = copier.params(func, part.body);
    let mut insts = Vec::new();
    let mut elements = Vec::new();
    for (old, array) in kept.iter().zip(arrays) {
        let ty = func.ty(*old).clone();
        elements.push(push_op(func, &mut insts, Op::Sel { array, index: params.clone() }, ty, span));
    }
    let yields = copier.splice(func, part.body, &mut insts);
    let body = func.regions.push(RegionData { params, insts, yields });
    // The copies of the scalars are nobody's then.
    let copies = kept.iter().map(|old| copier.value(*old));
    Renames::from_iter(copies.zip(elements)).apply_region(func, body);
    with.parts[0] = Part { generator: Generator::clone(&part.generator), body };
    func.insts[inst].op = Op::With(with);
    made
}
