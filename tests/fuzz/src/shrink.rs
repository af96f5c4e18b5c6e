//! Making a failing module smaller.

use ravel_types::Scalar;
use ravel_wir::compact::compact;
use ravel_wir::traverse::{has_effect, walk};
use ravel_wir::verify::{agree, verify};
use ravel_wir::{Func, FuncId, Inst, Module, Op, Region, Value, WithOp};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// The smallest module found, in the time given, for which `fails` still holds.
pub fn shrink(module: Module, time: Duration, mut fails: impl FnMut(&Module) -> bool) -> Module {
    let end = Instant::now() + time;
    let mut best = clean(module.clone());
    if !fails(&best) {
        best = module;
    }
    loop {
        let mut improved = false;
        let mut at = 0;
        loop {
            let edits = edits(&best);
            if at >= edits.len() || Instant::now() > end {
                break;
            }
            let mut candidate = best.clone();
            apply(&mut candidate, &edits[at]);
            let candidate = verify(&candidate).is_ok().then(|| clean(candidate));
            match candidate.filter(|c| size(c) < size(&best) && fails(c)) {
                Some(candidate) => {
                    best = candidate;
                    improved = true;
                }
                None => at += 1,
            }
        }
        if !improved || Instant::now() > end {
            return best;
        }
    }
}

/// A way to make a module smaller.
enum Edit {
    DropYield(usize),
    /// The results of an instruction become constants.
    Constant(FuncId, Region, Inst, i64),
    /// The result becomes an operand, or another value, of its type.
    Forward(FuncId, Inst, Value),
    /// A branch takes the place of its `if`.
    Branch(FuncId, Region, Inst, bool),
    Remove(FuncId, Region, Inst),
    DropPart(FuncId, Inst, usize),
    DropOperator(FuncId, Inst, usize),
    DropDefault(FuncId, Inst, usize),
    DropStep(FuncId, Inst, usize),
}

fn places(func: &Func) -> Vec<(Region, Inst)> {
    let mut all = Vec::new();
    walk(func, func.body, &mut |region, inst| all.push((region, inst)));
    all
}

/// Instructions and operands: what shrinks.
fn size(module: &Module) -> usize {
    let mut n = 0;
    for func in module.funcs.values() {
        let live = places(func);
        n += func.results().len() + 3 * func.params().len();
        for (_, inst) in live {
            let data = &func.insts[inst];
            n += 10 + data.results.len();
            data.op.for_each_operand(|_| n += 1);
            n += match &data.op {
                Op::Const(_) => 0,
                Op::ConstArray(data) => 5 + usize::from(data.values.iter().any(|v| v.bits() != 0)),
                Op::With(_) | Op::If { .. } | Op::Loop { .. } => 30,
                _ => 10,
            };
        }
    }
    n
}

fn edits(module: &Module) -> Vec<Edit> {
    let mut edits = Vec::new();
    if let Some(entry) = module.entry {
        for k in 0..module.funcs[entry].results().len() {
            edits.push(Edit::DropYield(k));
        }
    }
    for (id, func) in module.funcs.iter() {
        let places = places(func);
        for &(region, inst) in places.iter().rev() {
            let data = &func.insts[inst];
            if matches!(data.op, Op::Const(_)) {
                continue;
            }
            edits.push(Edit::Remove(id, region, inst));
            if let Op::If { .. } = data.op {
                edits.extend([true, false].map(|b| Edit::Branch(id, region, inst, b)));
            }
            if let [result] = data.results[..] {
                let mut operands = Vec::new();
                data.op.for_each_operand(|v| operands.push(v));
                for nested in data.op.regions() {
                    operands.extend(func.regions[nested].yields.iter().copied());
                }
                for v in operands {
                    if v != result && agree(func.ty(v), func.ty(result)) {
                        edits.push(Edit::Forward(id, inst, v));
                    }
                }
            }
            edits.extend([0, 1, 3].map(|n| Edit::Constant(id, region, inst, n)));
            if let Op::With(with) = &data.op {
                edits.extend((0..with.parts.len()).map(|k| Edit::DropPart(id, inst, k)));
                edits.extend((0..with.parts.len()).map(|k| Edit::DropStep(id, inst, k)));
                edits.extend((0..with.ops.len()).map(|k| Edit::DropOperator(id, inst, k)));
                edits.extend((0..with.ops.len()).map(|k| Edit::DropDefault(id, inst, k)));
            }
        }
    }
    edits
}

fn replace(func: &mut Func, old: Value, new: Value) {
    for data in func.insts.values_mut() {
        data.op.for_each_operand_mut(|v| {
            if *v == old {
                *v = new;
            }
        });
    }
    for region in func.regions.values_mut() {
        for v in &mut region.yields {
            if *v == old {
                *v = new;
            }
        }
    }
}

fn apply(module: &mut Module, edit: &Edit) {
    match edit {
        Edit::DropYield(k) => {
            if let Some(entry) = module.entry {
                let func = &mut module.funcs[entry];
                let body = func.body;
                func.regions[body].yields.remove(*k);
            }
        }
        Edit::Constant(id, region, inst, n) => {
            let func = &mut module.funcs[*id];
            let span = func.insts[*inst].span;
            for result in func.insts[*inst].results.clone() {
                let ty = func.ty(result).clone();
                let Some(zero) = Scalar::from_i64(ty.elem, *n) else { return };
                let op = match ty.shape.count() {
                    Some(_) if ty.is_scalar() => Op::Const(zero),
                    Some(n) if n <= 200 => Op::ConstArray(std::sync::Arc::new(ravel_wir::ConstData {
                        elem: ty.elem,
                        values: vec![zero; n],
                    })),
                    _ => return,
                };
                let new = func.make_inst(op, vec![ty], span);
                let at = func.regions[*region].insts.iter().position(|i| i == inst).unwrap_or(0);
                func.regions[*region].insts.insert(at, new);
                let value = func.insts[new].results[0];
                replace(func, result, value);
            }
            func.regions[*region].insts.retain(|i| i != inst);
        }
        Edit::Forward(id, inst, value) => {
            let func = &mut module.funcs[*id];
            let result = func.insts[*inst].results[0];
            replace(func, result, *value);
        }
        Edit::Branch(id, region, inst, taken) => {
            let func = &mut module.funcs[*id];
            let Op::If { then, els, .. } = func.insts[*inst].op else { return };
            let branch = std::mem::take(&mut func.regions[if *taken { then } else { els }]);
            let results = func.insts[*inst].results.clone();
            if let Some(at) = func.regions[*region].insts.iter().position(|i| i == inst) {
                func.regions[*region].insts.splice(at..=at, branch.insts);
            }
            for (result, value) in results.into_iter().zip(branch.yields) {
                replace(func, result, value);
            }
        }
        Edit::Remove(id, region, inst) => {
            module.funcs[*id].regions[*region].insts.retain(|i| i != inst);
        }
        Edit::DropPart(id, inst, k) => {
            if let Op::With(with) = &mut module.funcs[*id].insts[*inst].op {
                with.parts.remove(*k);
            }
        }
        Edit::DropOperator(id, inst, k) => {
            let func = &mut module.funcs[*id];
            let mut bodies = Vec::new();
            if let Op::With(with) = &mut func.insts[*inst].op {
                with.ops.remove(*k);
                bodies = with.parts.iter().map(|p| p.body).collect();
            }
            func.insts[*inst].results.remove(*k);
            for body in bodies {
                func.regions[body].yields.remove(*k);
            }
        }
        Edit::DropDefault(id, inst, k) => {
            if let Op::With(with) = &mut module.funcs[*id].insts[*inst].op {
                match &mut with.ops[*k] {
                    WithOp::Genarray { default, .. } => *default = None,
                    WithOp::Fold { stop, .. } => *stop = None,
                    WithOp::Modarray { .. } => {}
                }
            }
        }
        Edit::DropStep(id, inst, k) => {
            if let Op::With(with) = &mut module.funcs[*id].insts[*inst].op
                && let ravel_wir::Generator::Known { step, width, .. } = &mut with.parts[*k].generator
            {
                (*step, *width) = (None, None);
            }
        }
    }
}

/// Without instructions that nobody uses and functions that nobody calls.
fn clean(mut module: Module) -> Module {
    let effects: Vec<bool> = module.funcs.values().map(|f| f.effects).collect();
    let effect = |f: FuncId| effects.get(f.as_u32() as usize).copied().unwrap_or(true);
    for func in module.funcs.values_mut() {
        loop {
            let all = places(func);
            let mut used: HashSet<Value> = HashSet::new();
            let regions: Vec<Region> =
                all.iter().flat_map(|(_, i)| func.insts[*i].op.regions()).chain([func.body]).collect();
            regions.iter().for_each(|r| used.extend(func.regions[*r].yields.iter().copied()));
            all.iter().for_each(|(_, i)| func.insts[*i].op.for_each_operand(|v| used.extend([v])));
            let dead: HashSet<Inst> = all
                .iter()
                .map(|(_, i)| *i)
                .filter(|i| !func.insts[*i].results.iter().any(|v| used.contains(v)) && !has_effect(&effect, func, *i))
                .collect();
            if dead.is_empty() {
                break;
            }
            for region in regions {
                func.regions[region].insts.retain(|i| !dead.contains(i));
            }
        }
        compact(func);
    }
    without_uncalled(module)
}

fn without_uncalled(module: Module) -> Module {
    let Some(entry) = module.entry else { return module };
    let mut reached = vec![entry];
    let mut at = 0;
    while at < reached.len() {
        let func = &module.funcs[reached[at]];
        for (_, inst) in places(func) {
            if let Op::Call { func: callee, .. } = func.insts[inst].op
                && !reached.contains(&callee)
            {
                reached.push(callee);
            }
        }
        at += 1;
    }
    let new: HashMap<FuncId, FuncId> =
        reached.iter().enumerate().map(|(k, id)| (*id, FuncId::from_u32(k as u32))).collect();
    let mut smaller = Module { globals: module.globals.clone(), ..Module::default() };
    for id in &reached {
        let mut func = module.funcs[*id].clone();
        for data in func.insts.values_mut() {
            if let Op::Call { func: callee, .. } = &mut data.op {
                *callee = new.get(callee).copied().unwrap_or(entry);
            }
        }
        smaller.funcs.push(func);
    }
    smaller.entry = Some(FuncId::from_u32(0));
    smaller
}
