//! Where values come from, what stands for them, and walks over regions.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ravel_types::{HashMap, HashSet, Scalar, Sym, Ty};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Func, Inst, Op, Region, Value, With};

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
        let mut defs = Defs { of: SecondaryMap::new(), loops: HashMap::default() };
        defs.of.resize(func.values.len());
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

/// Instructions of a region and inside of it, outer ones first, that `test` takes, with the regions that they stand in.
pub fn insts_where(func: &Func, region: Region, test: impl Fn(&Op) -> bool) -> Vec<(Region, Inst)> {
    let mut found = Vec::new();
    walk(func, region, &mut |region, inst| {
        if test(&func.insts[inst].op) {
            found.push((region, inst));
        }
    });
    found
}

/// All instructions of a region and inside of it, outer ones first.
pub fn all_insts(func: &Func, region: Region) -> Vec<Inst> {
    insts_where(func, region, |_| true).into_iter().map(|(_, inst)| inst).collect()
}

/// Is there such an instruction in a region, at any depth?
pub fn any_inst(func: &Func, region: Region, test: impl Fn(Inst) -> bool) -> bool {
    let mut found = false;
    walk(func, region, &mut |_, inst| found = found || test(inst));
    found
}

/// Is there such an instruction in the regions of an instruction?
pub fn any_inside(func: &Func, inst: Inst, test: impl Fn(Inst) -> bool) -> bool {
    func.insts[inst].op.regions().into_iter().any(|region| any_inst(func, region, &test))
}

/// The with-loop that an instruction is.
pub fn with_of(func: &Func, inst: Inst) -> Option<&With> {
    match &func.insts[inst].op {
        Op::With(with) => Some(with),
        _ => None,
    }
}

/// Everything an instruction reads, nested regions included.
pub fn reads_of(func: &Func, inst: Inst) -> Vec<Value> {
    let mut values = operands_of(func, inst);
    values.extend(func.insts[inst].op.regions().into_iter().flat_map(|region| free_values(func, region)));
    values
}

/// Those of some instructions that stand in this order which values need, and those that `keep` takes with what they need.
pub fn slice(
    func: &Func,
    insts: &[Inst],
    values: impl IntoIterator<Item = Value>,
    keep: impl Fn(Inst) -> bool,
) -> Vec<Inst> {
    let mut needed: HashSet<Value> = values.into_iter().collect();
    let mut found = Vec::new();
    for &inst in insts.iter().rev() {
        if keep(inst) || func.insts[inst].results.iter().any(|v| needed.contains(v)) {
            needed.extend(reads_of(func, inst));
            found.push(inst);
        }
    }
    found.reverse();
    found
}

/// The operands of an instruction, without what its regions read.
pub fn operands_of(func: &Func, inst: Inst) -> Vec<Value> {
    let mut values = Vec::new();
    func.insts[inst].op.for_each_operand(|v| values.push(v));
    values
}

/// Number of instructions in a region, nested ones included.
pub fn size_of(func: &Func, region: Region) -> usize {
    insts_where(func, region, |op| !matches!(op, Op::Const(_))).len()
}

/// Whether there are loops or with-loops in a region, at any depth.
pub fn has_loop(func: &Func, region: Region) -> bool {
    any_inst(func, region, |inst| matches!(func.insts[inst].op, Op::With(_) | Op::Loop { .. }))
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
    insts_where(func, func.body, |op| matches!(op, Op::Loop { .. }))
}
