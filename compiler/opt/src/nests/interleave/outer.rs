//! The outer with-loop: blocks of lanes, and the iterations that are left over.

use super::LANES;
use super::body::Goal;
use super::lane::{Block, Form};
use super::profit::assess;
use super::taper::cuts;
use crate::edit::{Copier, Cut, Defs, Emitter, insert_before, push_op, push_ops, substitute};
use crate::facts::{Places, covers_frame};
use ravel_source::Span;
use ravel_types::{Affine, BinOp, Elem, HashMap, Scalar, Shape, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp, cell_type};

/// Operations per iteration from which on the last blocks are smaller.
const TAPER_WORK: f64 = 100_000.0;

/// Interleaves a with-loop if that pays, or with `eager` if it is possible; `Err(None)` if it is not of the kind that this is about.
pub fn interleave_with(
    func: &mut Func,
    defs: &mut Defs,
    places: &Places,
    inst: Inst,
    region: Region,
    with: &With,
    eager: bool,
) -> Result<(), Option<String>> {
    let [part] = &with.parts[..] else { return Err(None) };
    let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return Err(None) };
    let (Some(&lo), Some(&hi)) = (lower.last(), upper.last()) else { return Err(None) };
    if with.ordered || with.ops.is_empty() {
        return Err(None);
    }
    let bounds = (defs.int(func, lo), defs.int(func, hi));
    if let (Some(lo), Some(hi)) = bounds
        && i64::from(hi) - i64::from(lo) < i64::from(LANES)
    {
        return Err(None);
    }
    let work = assess(func, defs, places, with, part, eager)?;
    let goals = goals(func, inst, with).map_err(|why| Some(why.to_string()))?;

    let span = func.insts[inst].span;
    let mut before = Vec::new();
    let taper = matches!(goals[0], Goal::Fold(_)) && (eager || work >= TAPER_WORK);
    let stages = cuts(&mut Emitter { func, defs, out: &mut before, span }, lo, hi, taper);
    let mut made: Option<Vec<Value>> = None;
    for (lanes, blocks) in &stages {
        let part_of_blocks = blocks_of(func, defs, places, inst, part, &goals, (*lanes, blocks), &mut before)?;
        made = Some(match goals[0] {
            Goal::Fold(_) => {
                let types = func.insts[inst].results.iter().map(|v| func.ty(*v).clone()).collect();
                let mut ops = with.ops.clone();
                for (op, start) in ops.iter_mut().zip(made.into_iter().flatten()) {
                    if let WithOp::Fold { neutral, .. } = op {
                        *neutral = start;
                    }
                }
                let op = Op::With(With { parts: vec![part_of_blocks], ops, ordered: false });
                push_ops(func, &mut before, op, types, span)
            }
            Goal::Stack => stacks(func, &mut before, inst, with, part_of_blocks, blocks, span),
        });
    }
    let (Some(made), Some((_, blocks))) = (made, stages.last()) else { return Err(None) };
    finish(func, defs, before, inst, region, part, &goals, made, blocks)
}

/// The partition over blocks of so many lanes.
#[expect(clippy::too_many_arguments, reason = "the state of one rewriting")]
fn blocks_of(
    func: &mut Func,
    defs: &Defs,
    places: &Places,
    inst: Inst,
    part: &Part,
    goals: &[Goal],
    (lanes, blocks): (i32, &Cut),
    before: &mut Vec<Inst>,
) -> Result<Part, Option<String>> {
    let span = func.insts[inst].span;
    let old_params = func.regions[part.body].params.clone();
    let params: Vec<Value> = old_params.iter().map(|_| func.new_value(Ty::scalar(Elem::I32))).collect();
    let (Some(&g), Some(&index)) = (params.last(), old_params.last()) else { return Err(None) };
    let syms = Copier::within(func, part.body).syms;
    let mut block = Block {
        lanes,
        func,
        defs,
        places,
        forms: HashMap::default(),
        packs: HashMap::default(),
        at: inst,
        first: blocks.low,
        out: Vec::new(),
        syms,
        span,
    };
    let mut head = Vec::new();
    let skipped = block.bin_int(&mut head, BinOp::Mul, g, lanes);
    block.first = match defs.int(block.func, blocks.low) {
        Some(0) => skipped,
        _ => block.bin(&mut head, BinOp::Add, skipped, blocks.low),
    };
    block.out = head;
    block.forms.extend(old_params.iter().zip(&params).map(|(old, new)| (*old, Form::Uniform(*new))));
    block.forms.insert(index, Form::Index);
    let cells = block.body(part.body, goals).map_err(|why| Some(why.to_string()))?;
    let insts = std::mem::take(&mut block.out);
    let body = func.regions.push(RegionData { params, insts, yields: cells });
    let mut zero_to_blocks = part.generator.clone();
    if let Generator::Known { lower, upper, .. } = &mut zero_to_blocks {
        let zero = push_op(func, before, Op::Const(Scalar::I32(0)), Ty::scalar(Elem::I32), span);
        lower.pop();
        lower.push(zero);
        upper.pop();
        upper.push(blocks.blocks);
    }
    Ok(Part { generator: zero_to_blocks, body })
}

/// What every operator needs of the blocks.
fn goals(func: &Func, inst: Inst, with: &With) -> Result<Vec<Goal>, &'static str> {
    let mut goals = Vec::new();
    for (op, result) in with.ops.iter().zip(&func.insts[inst].results) {
        let ty = func.ty(*result);
        goals.push(match op {
            WithOp::Fold { combine: Combine::Op(op), stop: None, .. }
                if op.regroups() && op.identity(ty.elem).is_some() =>
            {
                if ty.shape.constants().is_none() {
                    return Err("an accumulator has no constant shape");
                }
                Goal::Fold(*op)
            }
            WithOp::Fold { .. } => return Err("its fold must keep its order"),
            WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. } => {
                let extents = ty.shape.extents().unwrap_or_default();
                if extents.len() != frame.len() + cell.len()
                    || extents[frame.len()..].iter().any(|e| e.as_const().is_none())
                {
                    return Err("its cells have no constant shape");
                }
                Goal::Stack
            }
            _ => return Err("it updates an array"),
        });
    }
    let stacks = goals.iter().filter(|g| **g == Goal::Stack).count();
    if stacks != 0 && stacks != goals.len() {
        return Err("it both folds and makes arrays");
    }
    Ok(goals)
}

/// The with-loop over blocks whose results have an axis of lanes behind that of blocks, and its results with these axes joined.
fn stacks(
    func: &mut Func,
    before: &mut Vec<Inst>,
    inst: Inst,
    with: &With,
    part: Part,
    blocks: &Cut,
    span: Span,
) -> Vec<Value> {
    let lanes = push_op(func, before, Op::Const(Scalar::I32(LANES)), Ty::scalar(Elem::I32), span);
    let joined = push_op(func, before, Op::Bin(BinOp::Mul, blocks.blocks, lanes), Ty::scalar(Elem::I32), span);
    let count = match blocks.number {
        Some(n) => Affine::constant(n),
        None => Affine::sym(func.fresh_sym()),
    };
    let (mut ops, mut types, mut finals) = (Vec::new(), Vec::new(), Vec::new());
    for (op, result) in with.ops.iter().zip(func.insts[inst].results.clone()) {
        let WithOp::Genarray { frame: Frame::Known(frame), cell, .. } = op else { continue };
        let ty = func.ty(result).clone();
        let extents = ty.shape.extents().unwrap_or_default().to_vec();
        let lead = frame.len() - 1;
        let cell = cell.clone().unwrap_or_default();
        let with_lanes = [&extents[..lead], &[count.clone(), Affine::constant(LANES)], &extents[lead + 1..]].concat();
        types.push(Ty::new(ty.elem, Shape::Known(with_lanes)));
        let without = [&extents[..lead], &[count.scale(LANES)], &extents[lead + 1..]].concat();
        finals.push(([&frame[..lead], &[joined], &cell[..]].concat(), Ty::new(ty.elem, Shape::Known(without))));
        let frame = [&frame[..lead], &[blocks.blocks]].concat();
        let cell = [&[lanes], &cell[..]].concat();
        ops.push(WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), default: None });
    }
    let blocks = push_ops(func, before, Op::With(With { parts: vec![part], ops, ordered: false }), types, span);
    let joined = blocks.into_iter().zip(finals);
    joined.map(|(array, (shape, ty))| push_op(func, before, Op::Reshape { array, shape }, ty, span)).collect()
}

/// Lets the original with-loop do the rest, starting from what the blocks made.
#[expect(clippy::too_many_arguments, reason = "the two halves of one rewriting")]
fn finish(
    func: &mut Func,
    defs: &Defs,
    before: Vec<Inst>,
    inst: Inst,
    region: Region,
    part: &Part,
    goals: &[Goal],
    made: Vec<Value>,
    blocks: &Cut,
) -> Result<(), Option<String>> {
    let span = func.insts[inst].span;
    let results = func.insts[inst].results.clone();
    let whole = results.iter().zip(&made).all(|(old, new)| func.ty(*old) == func.ty(*new));
    if blocks.no_rest && whole && (goals[0] != Goal::Stack || covers_frames(func, defs, inst, part)) {
        substitute(func, region, inst, before, made);
        return Ok(());
    }
    let mut rest = part.clone();
    if let Generator::Known { lower, .. } = &mut rest.generator {
        lower.pop();
        lower.push(blocks.rest);
    }
    let mut copied = None;
    if goals[0] == Goal::Stack {
        let mut generator = part.generator.clone();
        let rank = func.regions[part.body].params.len();
        if let Generator::Known { upper, .. } = &mut generator {
            upper.pop();
            upper.push(blocks.rest);
        }
        let params: Vec<Value> = (0..rank).map(|_| func.new_value(Ty::scalar(Elem::I32))).collect();
        let mut insts = Vec::new();
        let from =
            push_op(func, &mut insts, Op::Bin(BinOp::Sub, params[rank - 1], blocks.low), Ty::scalar(Elem::I32), span);
        let mut cells = Vec::new();
        for array in &made {
            let index = [&params[..rank - 1], &[from]].concat();
            let ty = cell_type(func.ty(*array), rank);
            cells.push(push_op(func, &mut insts, Op::Sel { array: *array, index }, ty, span));
        }
        let body = func.regions.push(RegionData { params, insts, yields: cells });
        copied = Some(Part { generator, body });
    }
    if let Op::With(with) = &mut func.insts[inst].op {
        with.parts = copied.into_iter().chain((!blocks.no_rest).then_some(rest)).collect();
        for (op, start) in with.ops.iter_mut().zip(made) {
            if let WithOp::Fold { neutral, .. } = op {
                *neutral = start;
            }
        }
    }
    insert_before(func, region, inst, before);
    Ok(())
}

/// Whether the generator has every index of the frames.
fn covers_frames(func: &Func, defs: &Defs, inst: Inst, part: &Part) -> bool {
    let Op::With(with) = &func.insts[inst].op else { return false };
    with.ops.iter().all(|op| match op {
        WithOp::Genarray { frame: Frame::Known(frame), .. } => covers_frame(func, defs, part, frame),
        _ => false,
    })
}
