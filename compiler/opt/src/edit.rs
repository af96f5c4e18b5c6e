//! Tools of the passes: definitions, use counts, replacement of values, copies of regions.

use crate::pass::Context;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ravel_source::Span;
use ravel_types::{Affine, BinOp, Elem, Scalar, Shape, Sym, Ty};
use ravel_types::{HashMap, HashSet};
use ravel_wir::traverse::{has_effect, walk};
use ravel_wir::{Fault, Func, Inst, InstData, Op, Region, RegionData, Value};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Def {
    #[default]
    None,
    /// A result of an instruction, by position.
    Inst(Inst, u32),
    /// A parameter of a region, by position.
    Param(Region, u32),
}

/// Definitions of a function's values.
pub struct Defs {
    of: SecondaryMap<Value, Def>,
    /// The loop of each loop body.
    pub loops: HashMap<Region, Inst>,
}

impl Defs {
    pub fn new(func: &Func) -> Defs {
        let mut defs = Defs { of: SecondaryMap::with_capacity(func.values.len()), loops: HashMap::default() };
        defs.add_region(func, func.body);
        defs
    }

    /// Notes the results of an instruction and everything inside it.
    pub fn add_inst(&mut self, func: &Func, inst: Inst) {
        for (k, v) in func.insts[inst].results.iter().enumerate() {
            self.of[*v] = Def::Inst(inst, k as u32);
        }
        if let Op::Loop { body, .. } = &func.insts[inst].op {
            self.loops.insert(*body, inst);
        }
        for region in func.insts[inst].op.regions() {
            self.add_region(func, region);
        }
    }

    pub fn add_region(&mut self, func: &Func, region: Region) {
        for (k, v) in func.regions[region].params.iter().enumerate() {
            self.of[*v] = Def::Param(region, k as u32);
        }
        for &inst in &func.regions[region].insts {
            self.add_inst(func, inst);
        }
    }

    pub fn get(&self, value: Value) -> Def {
        self.of[value]
    }

    /// The operation that computes `value`; none for parameters.
    pub fn op<'f>(&self, func: &'f Func, value: Value) -> Option<&'f Op> {
        match self.of[value] {
            Def::Inst(inst, _) => Some(&func.insts[inst].op),
            _ => None,
        }
    }

    pub fn inst(&self, value: Value) -> Option<Inst> {
        match self.of[value] {
            Def::Inst(inst, _) => Some(inst),
            _ => None,
        }
    }

    /// The value of a scalar constant.
    pub fn constant(&self, func: &Func, value: Value) -> Option<Scalar> {
        match self.op(func, value) {
            Some(Op::Const(s)) => Some(*s),
            _ => None,
        }
    }

    /// The value of an `i32` constant.
    pub fn int(&self, func: &Func, value: Value) -> Option<i32> {
        match self.constant(func, value) {
            Some(Scalar::I32(v)) => Some(v),
            _ => None,
        }
    }
}

/// Values that stand for others.
#[derive(Default)]
pub struct Renames {
    to: SecondaryMap<Value, PackedOption<Value>>,
    any: bool,
}

impl Renames {
    /// From now on `old` is `new`.
    pub fn set(&mut self, old: Value, new: Value) {
        if old != new {
            self.to[old] = new.into();
            self.any = true;
        }
    }

    pub fn get(&self, mut value: Value) -> Value {
        while let Some(next) = self.to[value].expand() {
            value = next;
        }
        value
    }

    /// Replaces the operands of one instruction, not those inside it.
    pub fn apply_inst(&self, func: &mut Func, inst: Inst) {
        func.insts[inst].op.for_each_operand_mut(|v| *v = self.get(*v));
    }

    /// Replaces every use in the function.
    pub fn apply(&self, func: &mut Func) {
        if self.any {
            self.apply_region(func, func.body);
        }
    }

    pub fn apply_region(&self, func: &mut Func, region: Region) {
        for i in 0..func.regions[region].insts.len() {
            let inst = func.regions[region].insts[i];
            self.apply_inst(func, inst);
            for nested in func.insts[inst].op.regions() {
                self.apply_region(func, nested);
            }
        }
        for v in &mut func.regions[region].yields {
            *v = self.get(*v);
        }
    }
}

/// How often each value is used, by instructions and yields.
pub fn use_counts(func: &Func) -> SecondaryMap<Value, u32> {
    let mut counts = SecondaryMap::with_capacity(func.values.len());
    count_region(func, func.body, &mut counts);
    counts
}

fn count_region(func: &Func, region: Region, counts: &mut SecondaryMap<Value, u32>) {
    for &inst in &func.regions[region].insts {
        let op = &func.insts[inst].op;
        op.for_each_operand(|v| counts[v] += 1);
        for nested in op.regions() {
            count_region(func, nested, counts);
        }
    }
    for &v in &func.regions[region].yields {
        counts[v] += 1;
    }
}

/// Number of instructions in a region, nested ones included.
pub fn size_of(func: &Func, region: Region) -> usize {
    let mut n = 0;
    walk(func, region, &mut |_, inst| n += usize::from(!matches!(func.insts[inst].op, Op::Const(_))));
    n
}

/// Whether there are loops or with-loops in a region, at any depth.
pub fn has_loop(func: &Func, region: Region) -> bool {
    let mut found = false;
    walk(func, region, &mut |_, inst| found |= matches!(func.insts[inst].op, Op::With(_) | Op::Loop { .. }));
    found
}

/// Whether running the region can be observed other than through what it yields.
pub fn region_has_effect(func: &Func, region: Region, cx: &Context) -> bool {
    func.regions[region].insts.iter().any(|i| has_effect(&|f| cx.is_observed(f), func, *i))
}

/// Whether running the region can be observed other than by faults and by what it yields.
pub fn region_has_effect_but_checks(func: &Func, region: Region, cx: &Context) -> bool {
    let mut found = false;
    walk(func, region, &mut |_, inst| {
        found |= match &func.insts[inst].op {
            Op::GlobalSet(..) | Op::GlobalGet(_) | Op::Native { effect: true, .. } => true,
            Op::Call { func: callee, .. } => cx.has_effects(*callee),
            _ => false,
        }
    });
    found
}

/// Whether the instruction may run where it was not asked to: no effect, no fault, nothing that a check must precede.
pub fn is_speculatable(func: &Func, inst: Inst) -> bool {
    match &func.insts[inst].op {
        Op::Str(_) | Op::ConstArray(_) | Op::ShapeVec(_) | Op::Array(_) | Op::Widen(_) | Op::Opaque(_) => true,
        Op::If { .. } => func.insts[inst]
            .op
            .regions()
            .into_iter()
            .all(|r| func.regions[r].insts.iter().all(|i| is_speculatable(func, *i))),
        _ => func.is_total(inst),
    }
}

/// A quotient or remainder by a constant other than zero.
pub fn divides_by_constant(func: &Func, defs: &Defs, inst: Inst) -> bool {
    matches!(&func.insts[inst].op, Op::Bin(op, _, b) if op.needs_nonzero() && defs.int(func, *b).is_some_and(|k| k != 0))
}

/// Puts a branch in the place of an instruction: where the condition holds `fast` runs, which has the same results, and elsewhere the instruction. What
/// stands in front of the branch is `before`.
pub fn version(func: &mut Func, region: Region, inst: Inst, (cond, fast): (Value, Inst), before: Vec<Inst>) {
    let yields = func.insts[fast].results.clone();
    version_of(func, region, inst, (cond, RegionData { params: Vec::new(), insts: vec![fast], yields }), before);
}

/// The same with instructions that yield what stands for the results.
pub fn version_of(
    func: &mut Func,
    region: Region,
    inst: Inst,
    (cond, fast): (Value, RegionData),
    mut before: Vec<Inst>,
) {
    let then = func.regions.push(fast);
    let old = func.insts[inst].results.clone();
    let els = func.regions.push(RegionData { params: Vec::new(), insts: vec![inst], yields: old.clone() });
    let types = old.iter().map(|v| func.ty(*v).clone()).collect();
    let version = func.make_inst(Op::If { cond, then, els }, types, func.insts[inst].span);
    before.push(version);
    let insts = &mut func.regions[region].insts;
    if let Some(at) = insts.iter().position(|i| *i == inst) {
        insts.splice(at..=at, before);
    }
    let mut renames = Renames::default();
    for (old, new) in old.iter().zip(func.insts[version].results.clone()) {
        renames.set(*old, new);
    }
    renames.apply(func);
    func.regions[els].yields = old;
}

/// A copy of regions, in one function or from another one.
pub struct Copier<'s> {
    /// Where the copied entities live; none if they live in the function that is edited.
    pub source: Option<&'s Func>,
    pub values: HashMap<Value, Value>,
    pub syms: HashMap<Sym, Affine>,
}

impl<'s> Copier<'s> {
    /// Copies within one function. Symbols that only values inside `region` mention are facts about *one* evaluation of it:
    /// the copy gets fresh ones.
    pub fn within(func: &mut Func, region: Region) -> Copier<'s> {
        let mut inner = HashSet::default();
        collect_values(func, region, &mut inner);
        let mut local: Vec<Sym> = inner.iter().flat_map(|v| syms_of(func.ty(*v))).collect();
        local.sort();
        local.dedup();
        // Most are found outside at once: in the types of parameters.
        drop_mentioned(func, func.body, region, &mut local);
        let syms = local.into_iter().map(|s| (s, Affine::sym(func.fresh_sym()))).collect();
        Copier { source: None, values: HashMap::default(), syms }
    }

    fn ty(&self, ty: &Ty) -> Ty {
        match &ty.shape {
            Shape::Known(extents) if !self.syms.is_empty() => {
                let map = |s: Sym| self.syms.get(&s).cloned().unwrap_or_else(|| Affine::sym(s));
                Ty::new(ty.elem, Shape::Known(extents.iter().map(|e| e.map(map)).collect()))
            }
            _ => ty.clone(),
        }
    }

    /// The copy's name for a value; values from outside keep theirs.
    pub fn value(&self, value: Value) -> Value {
        self.values.get(&value).copied().unwrap_or(value)
    }

    fn define(&mut self, func: &mut Func, value: Value) -> Value {
        let ty = self.ty(match self.source {
            Some(source) => source.ty(value),
            None => func.ty(value),
        });
        let new = func.new_value(ty);
        self.values.insert(value, new);
        new
    }

    /// Copies the instructions of `region` to the end of `out` and gives the copies of what it yields. Its parameters must
    /// have been mapped.
    pub fn splice(&mut self, func: &mut Func, region: Region, out: &mut Vec<Inst>) -> Vec<Value> {
        let data = match self.source {
            Some(source) => source.regions[region].clone(),
            None => func.regions[region].clone(),
        };
        for inst in data.insts {
            out.push(self.inst(func, inst));
        }
        data.yields.iter().map(|v| self.value(*v)).collect()
    }

    pub fn inst(&mut self, func: &mut Func, inst: Inst) -> Inst {
        let mut data = match self.source {
            Some(source) => source.insts[inst].clone(),
            None => func.insts[inst].clone(),
        };
        data.op.for_each_operand_mut(|v| *v = self.value(*v));
        data.op.for_each_region_mut(|r| *r = self.region(func, *r));
        data.results = data.results.iter().map(|v| self.define(func, *v)).collect();
        func.insts.push(data)
    }

    pub fn region(&mut self, func: &mut Func, region: Region) -> Region {
        let params = match self.source {
            Some(source) => source.regions[region].params.clone(),
            None => func.regions[region].params.clone(),
        };
        let params = params.into_iter().map(|v| self.define(func, v)).collect();
        let mut insts = Vec::new();
        let yields = self.splice(func, region, &mut insts);
        func.regions.push(RegionData { params, insts, yields })
    }
}

/// Takes the symbols that a value outside of `except` mentions out of a list; stops when that is empty.
fn drop_mentioned(func: &Func, region: Region, except: Region, syms: &mut Vec<Sym>) {
    if region == except {
        return;
    }
    let see = |values: &[Value], syms: &mut Vec<Sym>| {
        for &v in values {
            if let Shape::Known(extents) = &func.ty(v).shape {
                syms.retain(|s| !extents.iter().any(|e| e.terms().iter().any(|(mentioned, _)| mentioned == s)));
            }
        }
    };
    see(&func.regions[region].params, syms);
    for &inst in &func.regions[region].insts {
        if syms.is_empty() {
            return;
        }
        see(&func.insts[inst].results, syms);
        for nested in func.insts[inst].op.regions() {
            drop_mentioned(func, nested, except, syms);
        }
    }
}

/// Every value defined in a region or inside it.
pub fn collect_values(func: &Func, region: Region, values: &mut HashSet<Value>) {
    values.extend(func.regions[region].params.iter().copied());
    for &inst in &func.regions[region].insts {
        values.extend(func.insts[inst].results.iter().copied());
        for nested in func.insts[inst].op.regions() {
            collect_values(func, nested, values);
        }
    }
}

/// Symbols of a type.
pub fn syms_of(ty: &Ty) -> Vec<Sym> {
    ty.shape.extents().unwrap_or_default().iter().flat_map(|e| e.terms().iter().map(|(s, _)| *s)).collect()
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
    fn here(&mut self, v: Value) -> Value {
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

/// All loops of a function with the regions they stand in, outer ones first.
pub fn loops_of(func: &Func) -> Vec<(Region, Inst)> {
    let mut loops = Vec::new();
    walk(func, func.body, &mut |region, inst| {
        if matches!(func.insts[inst].op, Op::Loop { .. }) {
            loops.push((region, inst));
        }
    });
    loops
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
