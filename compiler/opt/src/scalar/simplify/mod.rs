//! Simplification: one forward walk that folds constants, applies exact algebra, looks through what is known of arrays, and
//! resolves branches, loops and generators whose course is known.
//!
//! ```text
//!    %a = array [%x, %y]   %b = sel %a, [1]   %n = extent %a, 0
//! => %b is %y, %n is 2
//! ```
//!
//! Before: anything. After: no operation with constant operands only; selections name the outermost array they can.
//! Leaves alone: real arithmetic that would round differently, and everything whose check would be lost.
//! Worth: tests/survey/small/attractions (20 with Cranelift).

mod array;
mod control;
mod dynamic;
mod powers;
mod scalar;

use crate::edit::{Defs, Emitter, Renames, use_counts};
use crate::pass::{Context, Pass};
use cranelift_entity::SecondaryMap;
use ravel_source::Span;
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::{Func, Inst, Op, Region, Value};

pub const PASS: Pass =
    Pass::of("simplify", "fold constants and resolve what is known of arrays, branches and generators", simplify);

/// Simplifies every instruction once, operands first.
pub fn simplify(func: &mut Func, _: &mut Context) -> bool {
    let defs = Defs::new(func);
    let uses = use_counts(func);
    let body = func.body;
    let renames = Renames::default();
    let mut s = Simplifier { func, defs, uses, renames, out: Vec::new(), span: Span::NONE, changed: false };
    s.region(body);
    s.changed
}

/// What becomes of an instruction.
enum Step {
    Keep,
    /// Its results are these values.
    Is(Vec<Value>),
    /// It is this operation instead; looked at again.
    Becomes(Op),
}

struct Simplifier<'a> {
    func: &'a mut Func,
    defs: Defs,
    /// As they were at the start.
    uses: SecondaryMap<Value, u32>,
    renames: Renames,
    /// The instructions of the region in hand, as they come out.
    out: Vec<Inst>,
    /// Of the instruction in hand.
    span: Span,
    changed: bool,
}

/// An instruction is rewritten at most this often in one visit; chains end well before.
const MAX_STEPS: usize = 16;

impl Simplifier<'_> {
    fn region(&mut self, region: Region) {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let outer = std::mem::take(&mut self.out);
        for inst in insts {
            self.inst(inst);
        }
        self.func.regions[region].insts = std::mem::replace(&mut self.out, outer);
        for v in &mut self.func.regions[region].yields {
            *v = self.renames.get(*v);
        }
    }

    fn inst(&mut self, inst: Inst) {
        self.renames.apply_inst(self.func, inst);
        for _ in 0..MAX_STEPS {
            self.span = self.func.insts[inst].span;
            match self.step(inst) {
                Step::Keep => break,
                Step::Is(values) => {
                    self.changed = true;
                    let results = self.func.insts[inst].results.clone();
                    for (old, new) in results.iter().zip(values) {
                        self.renames.set(*old, new);
                    }
                    return;
                }
                Step::Becomes(op) => {
                    self.changed = true;
                    self.func.insts[inst].op = op;
                }
            }
        }
        for nested in self.func.insts[inst].op.regions() {
            self.region(nested);
        }
        self.out.push(inst);
    }

    fn step(&mut self, inst: Inst) -> Step {
        let op = &self.func.insts[inst].op;
        match op {
            Op::Un(..) | Op::Bin(..) | Op::Convert(_) | Op::Select { .. } => self.scalar(inst),
            Op::If { .. } | Op::Loop { .. } | Op::With(_) | Op::Check { .. } => self.control(inst),
            Op::SelDyn { .. } | Op::ReshapeDyn { .. } | Op::UpdateDyn { .. } | Op::Widen(_) | Op::Narrow(_) => {
                self.dynamic(inst)
            }
            Op::Extent { .. } | Op::Rank(_) | Op::ShapeVec(_) | Op::Sel { .. } | Op::Array(_) => self.array(inst),
            Op::Reshape { .. } | Op::Update { .. } => self.array(inst),
            _ => Step::Keep,
        }
    }

    fn result_ty(&self, inst: Inst) -> Ty {
        self.func.ty(self.func.insts[inst].results[0]).clone()
    }

    /// Sets the type of the only result, where more is known than it says.
    fn retype(&mut self, inst: Inst, ty: Ty) {
        let result = self.func.insts[inst].results[0];
        self.func.values[result].ty = ty;
    }

    fn emitter(&mut self) -> Emitter<'_> {
        Emitter { func: self.func, defs: &mut self.defs, out: &mut self.out, span: self.span }
    }

    fn emit(&mut self, op: Op, ty: Ty) -> Value {
        self.emitter().emit(op, ty)
    }

    fn constant(&mut self, value: Scalar) -> Step {
        Step::Is(vec![self.emitter().constant(value)])
    }

    fn int(&mut self, value: i32) -> Value {
        self.emitter().int(value)
    }

    fn const_of(&self, value: Value) -> Option<Scalar> {
        self.defs.constant(self.func, value)
    }

    fn int_of(&self, value: Value) -> Option<i32> {
        self.defs.int(self.func, value)
    }

    fn op_of(&self, value: Value) -> Option<&Op> {
        self.defs.op(self.func, value)
    }

    fn extent(&mut self, array: Value, axis: usize) -> Value {
        self.emit(Op::Extent { array, axis: axis as u32 }, Ty::scalar(Elem::I32))
    }

    /// A new operation on scalars.
    fn bin(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        let elem = if op.is_comparison() { Elem::Bool } else { self.func.ty(a).elem };
        self.emit(Op::Bin(op, a, b), Ty::scalar(elem))
    }
}
