//! Computations written as numbers: equal keys are equal computations.
//!
//! A key names the operations and the values from outside; what is defined inside goes by the order of its definition.

use crate::edit::{operands_of, reads_of};
use crate::pass::Context;
use ravel_types::{Affine, BinOp, HashSet, Shape, Ty};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Region, Value, WithOp};
use rustc_hash::FxHashMap;

pub type Key = Vec<u64>;

/// The key of the lengths of one affine form.
pub fn form_key(form: &Affine) -> Key {
    let terms = form.terms().iter().flat_map(|(sym, factor)| [u64::from(sym.0), *factor as u32 as u64]);
    [FORM, form.constant_part() as u32 as u64].into_iter().chain(terms).collect()
}

/// The key of an instruction without effects, bodies by the order of their instructions or by what yields need; none if it may not be shared.
pub fn key_of(func: &Func, cx: &Context, inst: Inst, by_data: bool) -> Option<Key> {
    let mut writer = KeyWriter::new(func, cx, by_data);
    writer.inst(inst).then_some(writer.key)
}

/// The key of what a loop computes for one of its results, or to know how long it runs, and the carried values that this needs.
pub fn key_of_part(func: &Func, cx: &Context, inst: Inst, result: Option<usize>) -> Option<(Key, Vec<usize>)> {
    let Op::Loop { init, body } = &func.insts[inst].op else { return None };
    let data = &func.regions[*body];
    let mut writer = KeyWriter::new(func, cx, true);
    writer.carried = data.params.iter().enumerate().map(|(k, param)| (*param, k)).collect();
    if let Some(k) = result {
        writer.value(data.params[k]);
    }
    let mut seen = HashSet::default();
    if !writer.needed(*body, &data.yields[..1], &mut seen) {
        return None;
    }
    let mut at = 0;
    while let Some(&k) = writer.reached.get(at) {
        writer.value(init[k]);
        writer.ty(func.ty(data.params[k]));
        if !writer.needed(*body, &data.yields[k + 1..k + 2], &mut seen) {
            return None;
        }
        at += 1;
    }
    Some((writer.key, writer.reached))
}

/// Whether the operands may change places: `x * y` and `y * x` are one value.
fn commutes(op: BinOp) -> bool {
    matches!(op, BinOp::Add | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Eq | BinOp::Ne)
}

struct KeyWriter<'a> {
    func: &'a Func,
    cx: &'a Context,
    key: Key,
    /// Values defined inside the instruction, by order of definition.
    local: FxHashMap<Value, u64>,
    /// Whether the instructions of bodies follow each other as their results are needed, instead of in their order.
    by_data: bool,
    /// Carried values of a loop, which become local when something needs them, and those that did.
    carried: FxHashMap<Value, usize>,
    reached: Vec<usize>,
}

/// Marks the key of an affine form.
const FORM: u64 = 0x2_0000;
/// Marks a local number, so that it differs from any value.
const LOCAL: u64 = 1 << 40;

/// The instructions of a body that these values need, each behind what it needs itself; not those that were seen.
fn in_need(func: &Func, region: Region, needed: &[Value], seen: &mut HashSet<Inst>) -> Vec<Inst> {
    let data = &func.regions[region];
    let makers: FxHashMap<Value, Inst> =
        data.insts.iter().flat_map(|inst| func.insts[*inst].results.iter().map(|v| (*v, *inst))).collect();
    let mut order = Vec::new();
    // An instruction is looked at twice: when it is needed, and when what it needs stands in the list.
    let mut work: Vec<(Inst, bool)> =
        needed.iter().rev().filter_map(|v| makers.get(v).map(|inst| (*inst, false))).collect();
    while let Some((inst, ready)) = work.pop() {
        if ready {
            order.push(inst);
            continue;
        }
        if !seen.insert(inst) {
            continue;
        }
        work.push((inst, true));
        work.extend(reads_of(func, inst).iter().rev().filter_map(|v| makers.get(v).map(|inst| (*inst, false))));
    }
    order
}

impl<'a> KeyWriter<'a> {
    fn new(func: &'a Func, cx: &'a Context, by_data: bool) -> KeyWriter<'a> {
        let (local, carried) = (FxHashMap::default(), FxHashMap::default());
        KeyWriter { func, cx, key: vec![u64::from(by_data)], local, by_data, carried, reached: Vec::new() }
    }

    fn number(&mut self, v: Value) -> u64 {
        if let Some(k) = self.carried.remove(&v) {
            self.reached.push(k);
            self.define(v);
        }
        self.local.get(&v).map_or(u64::from(v.as_u32()), |n| LOCAL + n)
    }

    fn value(&mut self, v: Value) {
        let number = self.number(v);
        self.key.push(number);
    }

    /// Writes what these values of a body need, and the values.
    fn needed(&mut self, region: Region, values: &[Value], seen: &mut HashSet<Inst>) -> bool {
        for inst in in_need(self.func, region, values, seen) {
            if !self.inst(inst) {
                return false;
            }
            self.func.insts[inst].results.iter().for_each(|v| self.define(*v));
        }
        self.values(values);
        true
    }

    fn define(&mut self, v: Value) {
        let n = self.local.len() as u64;
        self.local.insert(v, n);
    }

    fn values(&mut self, values: &[Value]) {
        self.key.push(values.len() as u64);
        values.iter().for_each(|v| self.value(*v));
    }

    fn option(&mut self, value: Option<Value>) {
        match value {
            Some(v) => self.value(v),
            None => self.key.push(u64::MAX),
        }
    }

    fn text(&mut self, text: &str) {
        self.key.push(text.len() as u64);
        self.key.extend(text.bytes().map(u64::from));
    }

    /// Element type and rank: what distinguishes conversions and widenings. Extents are facts, not inputs, but constants
    /// are part of what `narrow` checks.
    fn ty(&mut self, ty: &Ty) {
        self.key.push(ty.elem as u64);
        match &ty.shape {
            Shape::Unknown => self.key.push(u64::MAX),
            Shape::Known(extents) => {
                self.key.push(extents.len() as u64);
                self.key.extend(extents.iter().map(|e| e.as_const().map_or(u64::MAX, |c| c as u32 as u64)));
            }
        }
    }

    fn region(&mut self, region: Region) -> bool {
        let data = &self.func.regions[region];
        self.key.push(data.params.len() as u64);
        data.params.iter().for_each(|v| self.define(*v));
        let insts = if self.by_data {
            in_need(self.func, region, &data.yields, &mut HashSet::default())
        } else {
            data.insts.clone()
        };
        self.key.push(insts.len() as u64);
        for inst in insts {
            if !self.inst(inst) {
                return false;
            }
            self.func.insts[inst].results.iter().for_each(|v| self.define(*v));
        }
        self.values(&data.yields);
        true
    }

    /// Writes the instruction; false if it may not be shared.
    fn inst(&mut self, inst: Inst) -> bool {
        let func = self.func;
        let data = &func.insts[inst];
        let tag = match &data.op {
            Op::Const(v) => {
                self.key.extend([0, v.elem() as u64, v.bits()]);
                return true;
            }
            Op::Str(text) => {
                self.key.push(1);
                self.text(text);
                return true;
            }
            Op::ConstArray(c) => {
                self.key.push(2);
                self.ty(func.ty(data.results[0]));
                self.key.extend(c.values.iter().map(|v| v.bits()));
                return true;
            }
            Op::Un(op, _) => 0x100 + *op as u64,
            Op::Bin(op, ..) => 0x200 + *op as u64,
            Op::Extent { axis, .. } => 0x1_0000 + u64::from(*axis),
            Op::Convert(_) => 3,
            Op::Select { .. } => 4,
            Op::Rank(_) => 5,
            Op::ShapeVec(_) => 6,
            Op::Sel { .. } => 7,
            Op::SelDyn { .. } => 8,
            Op::Array(_) => 9,
            Op::Reshape { .. } => 10,
            Op::ReshapeDyn { .. } => 11,
            Op::Update { .. } => 12,
            Op::UpdateDyn { .. } => 13,
            Op::Widen(_) => 14,
            Op::Narrow(_) => 15,
            Op::Detach(_) => 22,
            Op::If { .. } => 16,
            Op::Loop { .. } => 17,
            Op::With(_) => 18,
            Op::Call { func, .. } if !self.cx.has_effects(*func) => {
                self.key.push(u64::from(func.as_u32()));
                19
            }
            Op::Native { symbol, effect: false, .. } if !data.op.is_trace() => {
                self.text(symbol);
                20
            }
            // Whatever the message: a condition that held still holds.
            Op::Check { cond, .. } => {
                self.key.push(21);
                self.value(*cond);
                return true;
            }
            Op::Opaque(_) | Op::Derive { .. } | Op::Call { .. } | Op::Native { .. } => return false,
            Op::GlobalGet(_) | Op::GlobalSet(..) => return false,
        };
        self.key.push(tag);
        data.results.iter().for_each(|v| self.ty(func.ty(*v)));
        if let Op::With(with) = &data.op {
            self.key.push(u64::from(with.ordered));
            for part in &with.parts {
                self.generator(&part.generator);
            }
            with.ops.iter().for_each(|op| self.operator(op));
        } else {
            let mut operands = operands_of(func, inst);
            if matches!(&data.op, Op::Bin(op, ..) if commutes(*op)) {
                operands.sort_by_cached_key(|v| self.number(*v));
            }
            self.values(&operands);
        }
        data.op.regions().into_iter().all(|r| self.region(r))
    }

    fn generator(&mut self, generator: &Generator) {
        match generator {
            Generator::Known { lower, upper, step, width } => {
                self.key.push(30);
                self.values(lower);
                self.values(upper);
                self.values(step.as_deref().unwrap_or_default());
                self.values(width.as_deref().unwrap_or_default());
            }
            Generator::Dyn { lower, upper, step, width } => {
                self.key.push(31);
                [Some(*lower), Some(*upper), *step, *width].into_iter().for_each(|v| self.option(v));
            }
        }
    }

    fn operator(&mut self, op: &WithOp) {
        match op {
            WithOp::Genarray { frame, cell, default } => {
                self.key.push(32 + u64::from(cell.is_some()));
                match frame {
                    Frame::Known(extents) => self.values(extents),
                    Frame::Dyn(v) => self.option(Some(*v)),
                }
                self.values(cell.as_deref().unwrap_or_default());
                self.option(*default);
            }
            WithOp::Modarray { array } => {
                self.key.push(34);
                self.value(*array);
            }
            WithOp::Fold { neutral, combine, stop } => {
                self.key.push(match combine {
                    Combine::Op(op) => 0x300 + *op as u64,
                    Combine::Region(_) => 35,
                });
                self.value(*neutral);
                self.option(*stop);
            }
        }
    }
}
