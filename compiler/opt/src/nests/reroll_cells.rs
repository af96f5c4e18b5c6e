//! Cells written out whose elements are computed alike become one more axis.
//!
//! ```text
//!    genarray { [i] -> [f(a[i,0], k), f(a[i,1], k), f(a[i,2], k)] }
//! => genarray { [i,c] -> f(a[i,c], k) | [c] < [3] }
//! ```
//!
//! Colours, parts of complex numbers and coordinates are computed by the same code at neighbouring places. The specialiser and unrolling write short
//! vectors out, since most are indices; rolled up again, rows of cells lie end to end in memory, and lanes run along them whatever the
//! number of elements (`flat.rs` of the scheduler). Folds of which each element has one are one fold.
//!
//! Before: folding and fusion have ended. After: such with-loops have scalar cells.
//! Leaves alone: elements that are computed in different ways (products of complex numbers), and with-loops in which an index does more than
//! select elements of such rows: a factor per row would have to be spread over lanes.
//! Worth: tests/survey/with-loops/tones (1.0 with Cranelift, 2.1 with LLVM).

use crate::edit::{Copier, Defs, any_inst, insert_before, push_op, slice};
use crate::facts::{Places, region_has_effect};
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, HashMap, HashSet, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("reroll-cells", "make one axis more of cells whose elements are computed alike", reroll_cells);

/// Elements per cell at most.
const MOST: i32 = 16;

pub fn reroll_cells(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    for inst in Places::new(func).withs {
        let Op::With(with) = &func.insts[inst].op else { continue };
        let with = with.clone();
        let Some(count) = cell_length(func, inst, &with) else { continue };
        let span = func.insts[inst].span;
        let bodies: Option<Vec<Region>> = with.parts.iter().map(|part| rolled(func, part, count, cx)).collect();
        let Some(bodies) = bodies else {
            cx.refused(
                span,
                "the elements of its cells are computed in different ways, or an index does more than select them",
            );
            continue;
        };
        apply(func, inst, &with, &bodies, count);
        cx.applied(span, format!("the {count} elements of its cells are computed alike: they have an index"));
        changed = true;
    }
    changed
}

/// The elements of each cell, if all bodies write them out.
fn cell_length(func: &Func, inst: Inst, with: &With) -> Option<i32> {
    let [op] = &with.ops[..] else { return None };
    let ty = func.ty(func.insts[inst].results[0]);
    let extents = ty.shape.extents()?;
    let count = extents.last()?.as_const().filter(|n| (2..=MOST).contains(n))?;
    let fits = match op {
        WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), default: None } => {
            cell.len() == 1 && !frame.is_empty()
        }
        WithOp::Modarray { .. } => extents.len() > 1,
        _ => false,
    };
    let written = |part: &Part| {
        let body = &func.regions[part.body];
        let Generator::Known { lower, .. } = &part.generator else { return false };
        let made = body.insts.iter().find(|i| func.insts[**i].results.contains(&body.yields[0]));
        lower.len() + 1 == extents.len()
            && made.is_some_and(|i| {
                matches!(&func.insts[*i].op, Op::Array(elements)
                if elements.len() == count as usize && elements.iter().all(|v| func.ty(*v).is_scalar()))
            })
    };
    (fits && !with.ordered && ty.elem != Elem::Handle && !with.parts.is_empty() && with.parts.iter().all(written))
        .then_some(count)
}

/// A copy of a body with one index more, which yields the element there.
fn rolled(func: &mut Func, part: &Part, count: i32, cx: &Context) -> Option<Region> {
    if region_has_effect(func, part.body, cx) {
        return None;
    }
    let body = Copier::within(func, part.body).region(func, part.body);
    let element = func.new_value(Ty::scalar(Elem::I32));
    let cell = func.regions[body].yields[0];
    let mut defs = Defs::new(func);
    defs.add_region(func, body);
    let elements = match defs.op(func, cell) {
        Some(Op::Array(elements)) => elements.clone(),
        _ => return None,
    };
    let row = *func.regions[body].params.last()?;
    let mut roller = Roller { func, defs, element, count, around: Vec::new(), replaced: Vec::new() };
    let value = roller.within(body, &elements)?;
    let replaced = roller.replaced;
    func.regions[body].params.push(element);
    func.regions[body].yields = vec![value];
    drop_unused(func, body);
    if any_inst(func, body, |inst| replaced.contains(&inst)) {
        return None;
    }
    let mut rows = HashSet::from_iter([row]);
    is_flat(func, body, &mut rows, element, count).then_some(body)
}

/// Rolls elements up: the same code for all of them, at an index.
struct Roller<'f> {
    func: &'f mut Func,
    defs: Defs,
    element: Value,
    count: i32,
    /// The region at hand, innermost, and those around it, with what has been rolled up in each.
    around: Vec<(Region, HashMap<Vec<Value>, Value>)>,
    /// With-loops whose bodies are those of others now.
    replaced: Vec<Inst>,
}

impl Roller<'_> {
    /// Rolls up values of a region, at its end; what they need is rolled up in the region that it comes from.
    fn within(&mut self, region: Region, values: &[Value]) -> Option<Value> {
        self.around.push((region, HashMap::default()));
        let rolled = self.roll(values);
        self.around.pop();
        rolled
    }

    fn roll(&mut self, values: &[Value]) -> Option<Value> {
        let first = *values.first()?;
        let constant = |v: &Value| self.defs.constant(self.func, *v);
        if values.iter().all(|v| *v == first)
            || constant(&first).is_some_and(|c| values.iter().all(|v| constant(v) == Some(c)))
        {
            return Some(first);
        }
        if let Some(known) = self.around.iter().find_map(|(_, known)| known.get(values)) {
            return Some(*known);
        }
        let insts: Vec<Inst> = values.iter().map(|v| self.defs.inst(*v)).collect::<Option<_>>()?;
        let home = |i: &Inst| self.around.iter().position(|(region, _)| self.func.regions[*region].insts.contains(i));
        let home = insts.iter().filter_map(home).max()?;
        let ops: Vec<Op> = insts.iter().map(|i| self.func.insts[*i].op.clone()).collect();
        let operands = |pick: &dyn Fn(&Op) -> Option<Value>| ops.iter().map(pick).collect::<Option<Vec<Value>>>();
        let op = match &ops[0] {
            Op::Sel { array, index } => self.selection(*array, index, &ops)?,
            Op::Un(op, _) => {
                let a = operands(&|o| if let Op::Un(p, a) = o { (p == op).then_some(*a) } else { None })?;
                Op::Un(*op, self.roll(&a)?)
            }
            Op::Bin(op, ..) => {
                let a = operands(&|o| if let Op::Bin(p, a, _) = o { (p == op).then_some(*a) } else { None })?;
                let b = operands(&|o| if let Op::Bin(p, _, b) = o { (p == op).then_some(*b) } else { None })?;
                Op::Bin(*op, self.roll(&a)?, self.roll(&b)?)
            }
            Op::Convert(_) => {
                let a = operands(&|o| if let Op::Convert(a) = o { Some(*a) } else { None })?;
                let from = self.func.ty(a[0]).elem;
                if a.iter().any(|v| self.func.ty(*v).elem != from) {
                    return None;
                }
                Op::Convert(self.roll(&a)?)
            }
            Op::Select { .. } => {
                let cond = operands(&|o| if let Op::Select { cond, .. } = o { Some(*cond) } else { None })?;
                let then = operands(&|o| if let Op::Select { then, .. } = o { Some(*then) } else { None })?;
                let els = operands(&|o| if let Op::Select { els, .. } = o { Some(*els) } else { None })?;
                Op::Select { cond: self.roll(&cond)?, then: self.roll(&then)?, els: self.roll(&els)? }
            }
            Op::With(with) if insts.iter().all(|i| *i == insts[0]) => self.folds(insts[0], with, values)?,
            _ => return None,
        };
        let (ty, span) = (self.func.ty(first).clone(), self.func.insts[insts[0]].span);
        if !ty.is_scalar() {
            return None;
        }
        let inst = self.func.make_inst(op, vec![ty], span);
        self.defs.add_inst(self.func, inst);
        let result = self.func.insts[inst].results[0];
        let (region, known) = &mut self.around[home];
        self.func.regions[*region].insts.push(inst);
        known.insert(values.to_vec(), result);
        Some(result)
    }

    /// Neighbouring elements of one row.
    fn selection(&self, array: Value, index: &[Value], ops: &[Op]) -> Option<Op> {
        let last = index.len().checked_sub(1)?;
        let extents = self.func.ty(array).shape.extents()?;
        if extents.len() != index.len() || extents[last].as_const() != Some(self.count) {
            return None;
        }
        let int = |v: Value| self.defs.int(self.func, v);
        let same = |a: Value, b: Value| a == b || int(a).is_some() && int(a) == int(b);
        let is_neighbour = |(k, op): (usize, &Op)| {
            matches!(op, Op::Sel { array: a, index: i } if *a == array
                && i.len() == index.len()
                && i[..last].iter().zip(index).all(|(a, b)| same(*a, *b))
                && int(i[last]) == i32::try_from(k).ok())
        };
        let index = index[..last].iter().copied().chain([self.element]).collect();
        ops.iter().enumerate().all(is_neighbour).then_some(Op::Sel { array, index })
    }

    /// The folds of one with-loop, an element each.
    fn folds(&mut self, inst: Inst, with: &With, values: &[Value]) -> Option<Op> {
        let results = self.func.insts[inst].results.clone();
        let places: Vec<usize> = values.iter().map(|v| results.iter().position(|r| r == v)).collect::<Option<_>>()?;
        let mut neutrals = Vec::new();
        let mut operation = None;
        for place in &places {
            let WithOp::Fold { neutral, combine: Combine::Op(op), stop: None } = &with.ops[*place] else { return None };
            if operation.is_some_and(|other| other != *op) {
                return None;
            }
            operation = Some(*op);
            neutrals.push(*neutral);
        }
        let constants: Vec<_> = neutrals.iter().map(|v| self.defs.constant(self.func, *v)).collect();
        if constants[0].is_none() || constants.iter().any(|c| *c != constants[0]) || places.len() != with.ops.len() {
            return None;
        }
        for part in &with.parts {
            let yields: Vec<Value> = places.iter().map(|k| self.func.regions[part.body].yields[*k]).collect();
            let value = self.within(part.body, &yields)?;
            self.func.regions[part.body].yields = vec![value];
            drop_unused(self.func, part.body);
        }
        let fold = WithOp::Fold { neutral: neutrals[0], combine: Combine::Op(operation?), stop: None };
        let parts = with.parts.clone();
        self.replaced.push(inst);
        Some(Op::With(With { parts, ops: vec![fold], ordered: false }))
    }
}

/// Removes what the results of a region without effects do not need.
fn drop_unused(func: &mut Func, region: Region) {
    let data = &func.regions[region];
    func.regions[region].insts = slice(func, &data.insts, data.yields.iter().copied(), |_| false);
}

/// Does the index of a row of cells, `rows` and sums with it, do nothing but select elements of rows of `count` at `element`?
fn is_flat(func: &Func, region: Region, rows: &mut HashSet<Value>, element: Value, count: i32) -> bool {
    for &inst in &func.regions[region].insts {
        let data = &func.insts[inst];
        let has = |v: &Value| *v == element || rows.contains(v);
        match &data.op {
            Op::Sel { array, index } if index.iter().any(has) => {
                let extents = func.ty(*array).shape.extents().unwrap_or_default();
                let [before @ .., row, within] = &index[..] else { return false };
                let is_row = *within == element && rows.contains(row) && !before.iter().any(has);
                if !is_row || extents.len() != index.len() || extents[index.len() - 1].as_const() != Some(count) {
                    return false;
                }
            }
            Op::Bin(BinOp::Add, a, b) if rows.contains(a) != rows.contains(b) && *a != element && *b != element => {
                rows.extend(&data.results);
            }
            Op::Bin(BinOp::Sub, a, b) if rows.contains(a) && !has(b) => {
                rows.extend(&data.results);
            }
            op => {
                let mut used = false;
                op.for_each_operand(|v| used |= has(&v));
                if used || op.regions().iter().any(|nested| !is_flat(func, *nested, rows, element, count)) {
                    return false;
                }
            }
        }
    }
    !func.regions[region].yields.iter().any(|v| *v == element || rows.contains(v))
}

/// Puts the bodies with one index more into the place of the with-loop.
fn apply(func: &mut Func, inst: Inst, with: &With, bodies: &[Region], count: i32) {
    let span = func.insts[inst].span;
    let mut constants = Vec::new();
    let mut constant = |func: &mut Func, v: i32| {
        push_op(func, &mut constants, Op::Const(ravel_types::Scalar::I32(v)), Ty::scalar(Elem::I32), span)
    };
    let (zero, one, count) = (constant(func, 0), constant(func, 1), constant(func, count));
    let longer = |list: &[Value], v: Value| list.iter().copied().chain([v]).collect::<Vec<Value>>();
    let parts = with.parts.iter().zip(bodies).filter_map(|(part, &body)| {
        let Generator::Known { lower, upper, step, width } = &part.generator else { return None };
        let generator = Generator::Known {
            lower: longer(lower, zero),
            upper: longer(upper, count),
            step: step.as_ref().map(|step| longer(step, one)),
            width: width.as_ref().map(|width| longer(width, one)),
        };
        Some(Part { generator, body })
    });
    let parts = parts.collect();
    let op = match &with.ops[0] {
        WithOp::Genarray { frame: Frame::Known(frame), .. } => {
            WithOp::Genarray { frame: Frame::Known(longer(frame, count)), cell: Some(Vec::new()), default: None }
        }
        other => other.clone(),
    };
    func.insts[inst].op = Op::With(With { parts, ops: vec![op], ordered: false });
    let home = Places::new(func).home(inst);
    if let Some(home) = home {
        insert_before(func, home, inst, constants);
    }
}
