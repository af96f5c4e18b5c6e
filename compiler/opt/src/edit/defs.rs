//! Where values come from, what stands for them, and walks over regions.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ravel_types::{HashMap, HashSet, Scalar, Sym, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Inst, Op, Region, Value};

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

impl FromIterator<(Value, Value)> for Renames {
    /// Each first value is the second one.
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(pairs: I) -> Renames {
        let mut renames = Renames::default();
        pairs.into_iter().for_each(|(old, new)| renames.set(old, new));
        renames
    }
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
