//! New instructions, and their places in regions.

use crate::edit::{Defs, Renames, place_of};
use ravel_source::Span;
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::{Fault, Func, Inst, InstData, Op, Region, Value};

/// Puts instructions in front of one of a region.
pub fn insert_before(func: &mut Func, region: Region, before: Inst, insts: impl IntoIterator<Item = Inst>) {
    let at = place_of(func, region, before);
    func.regions[region].insts.splice(at..at, insts);
}

/// Puts instructions behind one of a region.
pub fn insert_after(func: &mut Func, region: Region, after: Inst, insts: impl IntoIterator<Item = Inst>) {
    let at = place_of(func, region, after) + 1;
    func.regions[region].insts.splice(at..at, insts);
}

/// Puts instructions at the start of a region.
pub fn prepend(func: &mut Func, region: Region, insts: impl IntoIterator<Item = Inst>) {
    func.regions[region].insts.splice(0..0, insts);
}

/// Puts instructions in the place of one of a region.
pub fn replace_inst(func: &mut Func, region: Region, inst: Inst, insts: impl IntoIterator<Item = Inst>) {
    let at = place_of(func, region, inst);
    func.regions[region].insts.splice(at..=at, insts);
}

/// The same, and everywhere in the function `values` in the place of its results.
pub fn substitute(
    func: &mut Func,
    region: Region,
    inst: Inst,
    insts: impl IntoIterator<Item = Inst>,
    values: impl IntoIterator<Item = Value>,
) {
    replace_inst(func, region, inst, insts);
    Renames::from_iter(func.insts[inst].results.iter().copied().zip(values)).apply(func);
}

/// Appends new instructions to a list, noting their definitions.
pub struct Emitter<'a> {
    pub func: &'a mut Func,
    pub defs: &'a mut Defs,
    pub out: &'a mut Vec<Inst>,
    pub span: Span,
}

impl Emitter<'_> {
    pub fn emit(&mut self, op: Op, ty: Ty) -> Value {
        let inst = self.func.make_inst(op, vec![ty], self.span);
        self.defs.add_inst(self.func, inst);
        self.out.push(inst);
        self.func.insts[inst].results[0]
    }

    pub fn constant(&mut self, value: Scalar) -> Value {
        self.emit(Op::Const(value), Ty::scalar(value.elem()))
    }

    pub fn int(&mut self, value: i32) -> Value {
        self.constant(Scalar::I32(value))
    }

    /// An integer operation on `i32`, folded if both sides are constants.
    pub fn int_op(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        if let (Some(x), Some(y)) = (self.defs.constant(self.func, a), self.defs.constant(self.func, b))
            && let Ok(v) = ravel_types::eval_bin(op, x, y)
        {
            return self.constant(v);
        }
        let elem = if op.is_comparison() { Elem::Bool } else { Elem::I32 };
        self.emit(Op::Bin(op, a, b), Ty::scalar(elem))
    }

    /// How many indices there are from `low` below `high`; none where the difference wraps.
    pub fn length(&mut self, low: Value, high: Value) -> Value {
        let zero = self.int(0);
        let high = self.int_op(BinOp::Max, high, low);
        let n = self.int_op(BinOp::Sub, high, low);
        self.int_op(BinOp::Max, n, zero)
    }

    /// Cuts the indices from `low` below `high` into whole blocks of `size` and a rest.
    pub fn cut(&mut self, low: Value, high: Value, size: i32) -> Cut {
        // Constants from elsewhere would hide what is known of what is computed here.
        let low = self.here(low);
        let high = self.here(high);
        let size_value = self.int(size);
        // Where the difference wraps everything is left to the rest.
        let n = self.length(low, high);
        let blocks = self.int_op(BinOp::Div, n, size_value);
        let done = self.int_op(BinOp::Mul, blocks, size_value);
        let rest = self.int_op(BinOp::Add, low, done);
        Cut {
            blocks,
            number: self.defs.int(self.func, blocks),
            low,
            rest,
            no_rest: self.defs.int(self.func, n).is_some_and(|n| n % size == 0),
        }
    }

    /// A constant as one of its own, other values as they are.
    pub fn here(&mut self, v: Value) -> Value {
        self.defs.int(self.func, v).map_or(v, |k| self.int(k))
    }
}

/// Indices in whole blocks.
pub struct Cut {
    /// How many blocks.
    pub blocks: Value,
    /// As a constant, if it is one.
    pub number: Option<i32>,
    /// The first index of all.
    pub low: Value,
    /// The first index that is not in a block.
    pub rest: Value,
    /// Whether there is none for certain.
    pub no_rest: bool,
}

/// Adds an instruction with one result to the end of a list.
pub fn push_op(func: &mut Func, out: &mut Vec<Inst>, op: Op, ty: Ty, span: Span) -> Value {
    push_ops(func, out, op, vec![ty], span)[0]
}

/// The same with several results.
pub fn push_ops(func: &mut Func, out: &mut Vec<Inst>, op: Op, types: Vec<Ty>, span: Span) -> Vec<Value> {
    let inst = func.make_inst(op, types, span);
    out.push(inst);
    func.insts[inst].results.clone()
}

/// Adds a check to the end of a list.
pub fn push_check(func: &mut Func, out: &mut Vec<Inst>, cond: Value, fault: Fault, span: Span) {
    let inst = func.insts.push(InstData { op: Op::Check { cond, fault }, results: Vec::new(), span });
    out.push(inst);
}

/// The comparison with its operands exchanged.
pub fn mirrored(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Gt,
        BinOp::Le => BinOp::Ge,
        BinOp::Gt => BinOp::Lt,
        BinOp::Ge => BinOp::Le,
        other => other,
    }
}
