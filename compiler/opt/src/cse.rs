//! Common subexpressions: of two equal computations the one that comes first, in the same region or around it, serves both.
//!
//! Before: anything. After: no region computes what it or an enclosing region has computed before it; with-loops, branches
//! and loops are compared as a whole, bodies also by what they yield, whatever the order of their instructions. A check of a condition that was
//! checked before is gone. Symbols for extents that turn out to be equal so become one, where nothing else mentions them.
//! Extents of one affine form are one value, the length that an array was made with if that is in sight: so what a loop asks of the array that it
//! carries is what is known of its first one.
//! Leaves alone: effects, and equal computations in regions of which neither encloses the other.

use crate::edit::{Renames, collect_values, region_has_effect, syms_of};
use crate::pass::{Context, Pass, Run};
use ravel_types::{Affine, BinOp, Shape, Ty};
use ravel_wir::traverse::free_values;
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Region, Value, WithOp};
use rustc_hash::FxHashMap;
use std::collections::HashSet;

pub const PASS: Pass =
    Pass { name: "cse", summary: "compute equal things once", run: Run::Func(eliminate_common_subexpressions) };

/// Walks forward with a table of what is available, scoped by regions.
pub fn eliminate_common_subexpressions(func: &mut Func, cx: &mut Context) -> bool {
    let (renames, available) = (Renames::default(), FxHashMap::default());
    let mut c = Cse { func, cx, renames, available, merged: Vec::new(), changed: false };
    let body = c.func.body;
    c.region(body);
    let (merged, changed) = (c.merged, c.changed);
    unite_symbols(func, &merged);
    changed
}

/// Gives values the symbols of their equals, where a symbol is mentioned in the region of the value alone.
fn unite_symbols(func: &mut Func, merged: &[(Region, Value, Value)]) {
    for &(region, old, new) in merged {
        let forms = |v: Value| func.ty(v).shape.extents().unwrap_or_default().to_vec();
        for (from, to) in forms(old).into_iter().zip(forms(new)) {
            let Some(sym) = from.as_sym().filter(|sym| to.terms().iter().all(|(s, _)| s != sym)) else { continue };
            let (mut all, mut inside) = (HashSet::new(), HashSet::new());
            collect_values(func, func.body, &mut all);
            collect_values(func, region, &mut inside);
            let mentions = |v: &Value| syms_of(func.ty(*v)).contains(&sym);
            let in_signature = func.regions[func.body].params.iter().any(mentions);
            if in_signature || !all.iter().filter(|v| mentions(v)).all(|v| inside.contains(v)) {
                continue;
            }
            for v in inside.into_iter().filter(|v| mentions(v)).collect::<Vec<_>>() {
                let ty = func.ty(v).clone();
                let extents = ty.shape.extents().unwrap_or_default().iter();
                let extents = extents.map(|e| e.map(|s| if s == sym { to.clone() } else { Affine::sym(s) })).collect();
                func.values[v].ty = Ty::new(ty.elem, Shape::Known(extents));
            }
        }
    }
}

/// A computation written as numbers; equal keys are equal computations.
type Key = Vec<u64>;

struct Cse<'a> {
    func: &'a mut Func,
    cx: &'a Context,
    renames: Renames,
    available: FxHashMap<Key, Vec<Value>>,
    /// Values that are gone, with their region and their equals, where the two had different types.
    merged: Vec<(Region, Value, Value)>,
    changed: bool,
}

impl Cse<'_> {
    fn region(&mut self, region: Region) {
        let mut added = Vec::new();
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            self.renames.apply_inst(self.func, inst);
            for nested in self.func.insts[inst].op.regions() {
                self.region(nested);
            }
            self.lengths(inst, &mut added);
            let keys = self.keys(inst);
            if keys.is_empty() {
                kept.push(inst);
                continue;
            }
            let results = self.func.insts[inst].results.clone();
            match keys.iter().find_map(|key| self.available.get(key)) {
                Some(first) => {
                    self.changed = true;
                    for (old, new) in results.iter().zip(first) {
                        self.renames.set(*old, *new);
                        if self.func.ty(*old) != self.func.ty(*new) {
                            self.merged.push((region, *old, *new));
                        }
                    }
                }
                None => {
                    for key in keys {
                        self.available.insert(key.clone(), results.clone());
                        added.push(key);
                    }
                    kept.push(inst);
                }
            }
        }
        self.func.regions[region].insts = kept;
        for v in &mut self.func.regions[region].yields {
            *v = self.renames.get(*v);
        }
        for key in added {
            self.available.remove(&key);
        }
    }

    /// Notes the lengths that an array is made with, each for the form of the extent.
    fn lengths(&mut self, inst: Inst, added: &mut Vec<Key>) {
        let Op::With(with) = &self.func.insts[inst].op else { return };
        for (op, result) in with.ops.iter().zip(&self.func.insts[inst].results) {
            let WithOp::Genarray { frame: Frame::Known(frame), .. } = op else { continue };
            let extents = self.func.ty(*result).shape.extents().unwrap_or_default();
            for (form, length) in extents.iter().zip(frame).filter(|(form, _)| form.as_const().is_none()) {
                let key = form_key(form);
                if !self.available.contains_key(&key) {
                    self.available.insert(key.clone(), vec![*length]);
                    added.push(key);
                }
            }
        }
    }

    /// The keys of an instruction, none if it has an effect. A check counts as a computation without results.
    fn keys(&self, inst: Inst) -> Vec<Key> {
        let op = &self.func.insts[inst].op;
        if let Op::Extent { array, axis } = op
            && let Some(form) = self.func.ty(*array).shape.extents().map(|extents| &extents[*axis as usize])
            && form.as_const().is_none()
        {
            return vec![form_key(form)];
        }
        let regions = op.regions();
        if regions.iter().any(|r| region_has_effect(self.func, *r, self.cx)) {
            return Vec::new();
        }
        // Equal operations of different order have equal keys by data, those whose operands are exchanged by order.
        let ways: &[bool] = if regions.is_empty() { &[false] } else { &[false, true] };
        let key = |by_data: &bool| {
            let (key, local) = (vec![u64::from(*by_data)], FxHashMap::default());
            let mut writer = KeyWriter { func: self.func, cx: self.cx, key, local, by_data: *by_data };
            writer.inst(inst).then_some(writer.key)
        };
        ways.iter().filter_map(key).collect()
    }
}

/// The key of the lengths of one affine form.
fn form_key(form: &Affine) -> Key {
    let terms = form.terms().iter().flat_map(|(sym, factor)| [u64::from(sym.0), *factor as u32 as u64]);
    [FORM, form.constant_part() as u32 as u64].into_iter().chain(terms).collect()
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
}

/// Marks the key of an affine form.
const FORM: u64 = 0x2_0000;
/// Marks a local number, so that it differs from any value.
const LOCAL: u64 = 1 << 40;

/// The instructions of a body that its yields need, each behind what it needs itself.
fn in_need(func: &Func, region: Region) -> Vec<Inst> {
    let data = &func.regions[region];
    let makers: FxHashMap<Value, Inst> =
        data.insts.iter().flat_map(|inst| func.insts[*inst].results.iter().map(|v| (*v, *inst))).collect();
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    // An instruction is looked at twice: when it is needed, and when what it needs stands in the list.
    let mut work: Vec<(Inst, bool)> =
        data.yields.iter().rev().filter_map(|v| makers.get(v).map(|inst| (*inst, false))).collect();
    while let Some((inst, ready)) = work.pop() {
        if ready {
            order.push(inst);
            continue;
        }
        if !seen.insert(inst) {
            continue;
        }
        work.push((inst, true));
        let op = &func.insts[inst].op;
        let mut operands = Vec::new();
        op.for_each_operand(|v| operands.push(v));
        operands.extend(op.regions().into_iter().flat_map(|nested| free_values(func, nested)));
        work.extend(operands.iter().rev().filter_map(|v| makers.get(v).map(|inst| (*inst, false))));
    }
    order
}

impl KeyWriter<'_> {
    fn number(&self, v: Value) -> u64 {
        self.local.get(&v).map_or(u64::from(v.as_u32()), |n| LOCAL + n)
    }

    fn value(&mut self, v: Value) {
        self.key.push(self.number(v));
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
        let insts = if self.by_data { in_need(self.func, region) } else { data.insts.clone() };
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
            Op::If { .. } => 16,
            Op::Loop { .. } => 17,
            Op::With(_) => 18,
            Op::Call { func, .. } if !self.cx.has_effects(*func) => {
                self.key.push(u64::from(func.as_u32()));
                19
            }
            Op::Native { symbol, effect: false, .. } => {
                self.text(symbol);
                20
            }
            // Whatever the message: a condition that held still holds.
            Op::Check { cond, .. } => {
                self.key.push(21);
                self.value(*cond);
                return true;
            }
            Op::Opaque(_) | Op::Call { .. } | Op::Native { .. } | Op::GlobalGet(_) | Op::GlobalSet(..) => return false,
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
            let mut operands = Vec::new();
            data.op.for_each_operand(|v| operands.push(v));
            if matches!(&data.op, Op::Bin(op, ..) if commutes(*op)) {
                operands.sort_by_key(|v| self.number(*v));
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
