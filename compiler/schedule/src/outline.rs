//! Kernels as functions of their own.
//!
//! The outermost loop of a kernel becomes a function compiled in program order ([`Order::Keep`]): the scheduler has ordered
//! its instructions so that few values are alive at a time, and a backend that moves them would spill registers.

use std::collections::{HashMap, HashSet};

use cranelift_entity::PrimaryMap;
use ravel_nest::captures::captures;
use ravel_nest::ir::{Exit, Func, FuncId, Inst, IntCmp, Module, Op, Order, Region, Ty, Value, Visibility};

/// Moves the loops whose index is in `loops` out of `func`, into new functions of `module`.
pub(crate) fn outline(module: &mut Module, func: &mut Func, loops: &HashSet<Value>) {
    if loops.is_empty() {
        return;
    }
    let mut body = std::mem::take(&mut func.body);
    visit(module, func, &mut body, loops, false);
    func.body = body;
}

fn visit(module: &mut Module, func: &mut Func, region: &mut Region, loops: &HashSet<Value>, repeated: bool) {
    for mut inst in std::mem::take(&mut region.insts) {
        if let Op::For { lo, hi, body, .. } = &inst.op
            && body.params.first().is_some_and(|index| loops.contains(index))
        {
            let (low, high) = (*lo, *hi);
            extract(module, &func.name, &func.values, &mut inst);
            if repeated && inst.results.is_empty() {
                inst = unless_empty(func, region, inst, low, high);
            }
            region.insts.push(inst);
            continue;
        }
        match &mut inst.op {
            Op::If { then_region, else_region, .. } => {
                visit(module, func, then_region, loops, repeated);
                visit(module, func, else_region, loops, repeated);
            }
            Op::For { body, .. } | Op::Loop { body, .. } => visit(module, func, body, loops, true),
            Op::ParFor { body, .. } | Op::Launch { body, .. } => visit(module, func, body, loops, repeated),
            _ => {}
        }
        region.insts.push(inst);
    }
}

/// A call of a kernel under the condition that it has something to do: inside of a loop a call costs more than the question.
fn unless_empty(func: &mut Func, region: &mut Region, call: Inst, low: Value, high: Value) -> Inst {
    let some = func.values.push(Ty::I8);
    region.insts.push(Inst { op: Op::IntCmp(IntCmp::Slt, low, high), results: [some].into_iter().collect() });
    let nothing = Region { params: Vec::new(), insts: Vec::new(), exit: Exit::Yield(Vec::new()) };
    let run = Region { params: Vec::new(), insts: vec![call], exit: Exit::Yield(Vec::new()) };
    Inst { op: Op::If { cond: some, then_region: run, else_region: nothing }, results: Default::default() }
}

/// Replaces a loop by a call of a new function that consists of it.
fn extract(module: &mut Module, name: &str, types: &PrimaryMap<Value, Ty>, inst: &mut Inst) {
    let whole = Region { params: Vec::new(), insts: vec![inst.clone()], exit: Exit::Return(inst.results.to_vec()) };
    let captured = captures(&whole);
    let mut copy = Copy { types, values: PrimaryMap::new(), map: HashMap::new() };
    let params: Vec<Value> = captured.iter().map(|&v| copy.define(v)).collect();
    let mut body = whole;
    copy.region(&mut body);
    body.params = params;
    let kernel = Func {
        name: format!("{name}_kernel_{}", module.funcs.len()),
        results: inst.results.iter().map(|&v| types[v]).collect(),
        order: Order::Keep,
        visibility: Visibility::Private,
        values: copy.values,
        body,
    };
    let id: FuncId = module.add(kernel);
    inst.op = Op::Call(id, captured);
}

/// Renumbers the values of a region for another function.
struct Copy<'a> {
    types: &'a PrimaryMap<Value, Ty>,
    values: PrimaryMap<Value, Ty>,
    map: HashMap<Value, Value>,
}

impl Copy<'_> {
    fn define(&mut self, v: Value) -> Value {
        let new = self.values.push(self.types[v]);
        self.map.insert(v, new);
        new
    }

    fn region(&mut self, region: &mut Region) {
        for param in &mut region.params {
            *param = self.define(*param);
        }
        for inst in &mut region.insts {
            inst.op.for_each_operand_mut(|v| *v = self.map[v]);
            match &mut inst.op {
                Op::If { then_region, else_region, .. } => {
                    self.region(then_region);
                    self.region(else_region);
                }
                Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } | Op::Launch { body, .. } => {
                    self.region(body)
                }
                _ => {}
            }
            for result in &mut inst.results {
                *result = self.define(*result);
            }
        }
        match &mut region.exit {
            Exit::Open => {}
            Exit::Yield(values) | Exit::Return(values) => values.iter_mut().for_each(|v| *v = self.map[v]),
            Exit::Fault { args, .. } => args.iter_mut().for_each(|v| *v = self.map[v]),
        }
    }
}
