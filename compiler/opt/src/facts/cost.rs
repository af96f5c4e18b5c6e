//! What it costs to compute things again.

use crate::edit::{Def, Defs, reads_of};
use crate::facts::places::trips;
use ravel_types::{BinOp, Elem, HashSet, UnOp};
use ravel_wir::{Func, Inst, Op, Region, Value};

/// Cost of one evaluation, in simple scalar operations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Arithmetic on data. Index arithmetic and selections do not count: the scheduler makes both nearly free.
    pub arithmetic: f64,
    pub indexing: f64,
    pub loads: f64,
}

impl Cost {
    fn add(&mut self, other: Cost, times: f64) {
        self.arithmetic += other.arithmetic * times;
        self.indexing += other.indexing * times;
        self.loads += other.loads * times;
    }

    /// Whether nothing is computed, only moved.
    pub fn is_copy(&self) -> bool {
        self.arithmetic == 0.0 && self.indexing <= MAX_COPY_INDEXING && self.loads <= 1.0
    }
}

/// A copy with more index arithmetic than this is worth storing.
const MAX_COPY_INDEXING: f64 = 8.0;
/// Exponentials and their kin; a vectorised one costs about this many multiplications.
const TRANSCENDENTAL: f64 = 12.0;
/// Divisions and square roots.
const DIVISION: f64 = 4.0;
/// Iterations assumed of loops whose length is unknown.
const UNKNOWN_TRIPS: f64 = 1000.0;
/// What a value and its derivatives cost beside the value.
const DERIVED: f64 = 4.0;
/// A call: unknown work behind it.
const CALL: f64 = 1000.0;

/// Cost of what a region must compute for one of the values it yields.
pub fn cost_of_yield(func: &Func, defs: &Defs, region: Region, value: Value) -> Cost {
    cost_of_yields(func, defs, region, &[value])
}

/// Arithmetic that two values of a region have in common.
pub fn work_in_common(func: &Func, defs: &Defs, region: Region, a: Value, b: Value) -> f64 {
    let [a, b, both] = [&[a][..], &[b], &[a, b]].map(|values| cost_of_yields(func, defs, region, values).arithmetic);
    a + b - both
}

fn cost_of_yields(func: &Func, defs: &Defs, region: Region, values: &[Value]) -> Cost {
    let mut needed: HashSet<Inst> = HashSet::default();
    let mut work = values.to_vec();
    let own: HashSet<Inst> = func.regions[region].insts.iter().copied().collect();
    let mut cost = Cost::default();
    // Quotients that become data, instead of an index, are work that is done for every element.
    let (mut is_data, mut data) = (HashSet::default(), values.to_vec());
    while let Some(v) = data.pop() {
        let Def::Inst(inst, _) = defs.get(v) else { continue };
        if !own.contains(&inst) || !is_data.insert(inst) {
            continue;
        }
        match &func.insts[inst].op {
            Op::Sel { .. } | Op::With(_) | Op::Loop { .. } => {}
            Op::Bin(op @ (BinOp::Div | BinOp::Mod | BinOp::AplMod), a, b) if func.ty(*a).elem == Elem::I32 => {
                if defs.int(func, *b).is_none_or(|k| k.count_ones() != 1) {
                    cost.arithmetic += binary_weight(*op);
                }
                data.extend([*a, *b]);
            }
            op => op.for_each_operand(|v| data.push(v)),
        }
    }
    while let Some(v) = work.pop() {
        let Def::Inst(inst, _) = defs.get(v) else { continue };
        if !own.contains(&inst) || !needed.insert(inst) {
            continue;
        }
        work.extend(reads_of(func, inst));
        cost.add(cost_of_inst(func, defs, inst), 1.0);
    }
    cost
}

/// Cost of running a whole region once.
pub fn cost_of_region(func: &Func, defs: &Defs, region: Region) -> Cost {
    let mut cost = Cost::default();
    for &inst in &func.regions[region].insts {
        cost.add(cost_of_inst(func, defs, inst), 1.0);
    }
    cost
}

/// Cost of running an instruction once.
pub fn cost_of_inst(func: &Func, defs: &Defs, inst: Inst) -> Cost {
    let data = &func.insts[inst];
    let is_index = |v: Value| func.ty(v).elem == Elem::I32;
    let plain = |v: Value, weight: f64| match is_index(v) {
        true => Cost { indexing: 1.0, ..Cost::default() },
        false => Cost { arithmetic: weight, ..Cost::default() },
    };
    let mut cost = Cost::default();
    match &data.op {
        Op::Const(_) | Op::Str(_) | Op::Extent { .. } | Op::Rank(_) => {}
        Op::Widen(_) | Op::Narrow(_) | Op::Opaque(_) | Op::Detach(_) => {}
        Op::Un(op, a) => cost = plain(*a, unary_weight(*op)),
        Op::Bin(op, a, _) => cost = plain(*a, binary_weight(*op)),
        // Loads extend bytes as they go, and where integers can stay narrow (`narrow_integers`) they are not converted at all.
        Op::Convert(a) if is_byte(func.ty(*a).elem) && data.results.iter().all(|v| is_integer(func.ty(*v).elem)) => {
            cost.indexing = 1.0;
        }
        Op::Convert(a) => cost = plain(*a, 1.0),
        Op::Select { then, .. } => cost = plain(*then, 1.0),
        Op::Check { .. } => cost.indexing = 1.0,
        Op::Sel { .. } | Op::SelDyn { .. } => {
            // A partial selection is a copy of its cell, unless it is selected from again.
            cost.loads = data.results.first().and_then(|v| func.ty(*v).shape.count()).unwrap_or(64) as f64;
        }
        Op::Array(cells) => cost.loads = cells.len() as f64,
        Op::ConstArray(_) | Op::ShapeVec(_) => cost.loads = 1.0,
        Op::Reshape { .. } => {}
        Op::ReshapeDyn { .. } | Op::Update { .. } | Op::UpdateDyn { .. } => cost.arithmetic = CALL,
        Op::Call { .. } | Op::Native { .. } | Op::GlobalGet(_) | Op::GlobalSet(..) => cost.arithmetic = CALL,
        Op::If { then, els, .. } => {
            cost.add(cost_of_region(func, defs, *then), 1.0);
            cost.add(cost_of_region(func, defs, *els), 1.0);
            cost.arithmetic += 1.0;
        }
        Op::Loop { body, .. } => cost.add(cost_of_region(func, defs, *body), UNKNOWN_TRIPS),
        Op::Derive { body, .. } => cost.add(cost_of_region(func, defs, *body), DERIVED),
        Op::With(with) => {
            let combine: f64 =
                with.ops.iter().filter_map(|op| op.region()).map(|r| cost_of_region(func, defs, r).arithmetic).sum();
            for part in &with.parts {
                let times = trips(func, defs, part).map_or(UNKNOWN_TRIPS, |n| n as f64);
                cost.add(cost_of_region(func, defs, part.body), times);
                cost.arithmetic += times * (1.0 + combine);
            }
        }
    }
    cost
}

fn is_byte(elem: Elem) -> bool {
    matches!(elem, Elem::Bool | Elem::Char | Elem::U8 | Elem::I8)
}

fn is_integer(elem: Elem) -> bool {
    elem != Elem::Bool && elem != Elem::Handle && !elem.is_float()
}

/// Exponentials and their kin.
pub fn is_transcendental(op: &Op) -> bool {
    match op {
        Op::Un(op, _) => unary_weight(*op) >= TRANSCENDENTAL,
        Op::Bin(op, ..) => binary_weight(*op) >= TRANSCENDENTAL,
        _ => false,
    }
}

fn unary_weight(op: UnOp) -> f64 {
    match op {
        UnOp::Neg | UnOp::Not | UnOp::Abs | UnOp::IsNan | UnOp::IsInf | UnOp::Finite => 1.0,
        UnOp::Floor | UnOp::Ceil | UnOp::Rint | UnOp::Trunc => 2.0,
        UnOp::Sqrt | UnOp::Reciproc => DIVISION,
        _ => TRANSCENDENTAL,
    }
}

fn binary_weight(op: BinOp) -> f64 {
    match op {
        BinOp::Div | BinOp::Mod | BinOp::AplMod => DIVISION,
        BinOp::Pow | BinOp::Atan2 | BinOp::Hypot => TRANSCENDENTAL,
        _ => 1.0,
    }
}
