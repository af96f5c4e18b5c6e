//! Kernels as functions of their own.
//!
//! The outermost loop of a kernel becomes a function compiled in program order ([`Order::Keep`]): the scheduler has ordered
//! its instructions so that few values are alive at a time, and a backend that moves them would spill registers. Loops that hand
//! accumulators on to each other (whole steps, single vectors, single indices of a sum) are one function together, with the
//! arithmetic between them and the sum of their lanes behind them: a call would pass a dozen vectors through memory.
//! Kernels with the same code are one function.

use ravel_types::{HashMap, HashSet};

use cranelift_entity::PrimaryMap;
use ravel_nest::captures::captures;
use ravel_nest::ir::{Exit, Func, FuncId, Inst, IntCmp, Module, Op, Order, Region, Ty, Value, Visibility};
use rustc_hash::FxHashMap;

/// The instructions after which constants are known in a kernel, too.
type Constants = HashMap<Value, Op>;

/// Moves the loops whose index is in `loops` out of `func`, into new functions of `module`.
pub(crate) fn outline(module: &mut Module, func: &mut Func, loops: &HashSet<Value>) {
    if loops.is_empty() {
        return;
    }
    let mut body = std::mem::take(&mut func.body);
    Outliner { module, func, loops, vectors: Constants::default() }.visit(&mut body, false);
    func.body = body;
}

struct Outliner<'a> {
    module: &'a mut Module,
    func: &'a mut Func,
    loops: &'a HashSet<Value>,
    /// Vectors that are the same in all lanes, which kernels make themselves.
    vectors: Constants,
}

impl Outliner<'_> {
    fn visit(&mut self, region: &mut Region, repeated: bool) {
        let mut insts = std::mem::take(&mut region.insts).into_iter();
        while let Some(mut inst) = insts.next() {
            if self.is_kernel(&inst) {
                let more = self.rest_of_chain(&inst, insts.as_slice());
                let mut live = inst.results.to_vec();
                let mut kernel = vec![inst];
                kernel.extend(insts.by_ref().take(more));
                if more > 0 {
                    live = live_after(&kernel, insts.as_slice(), &region.exit);
                }
                let bounds = match &kernel[0].op {
                    Op::For { lo, hi, .. } if repeated && live.is_empty() => Some((*lo, *hi)),
                    _ => None,
                };
                let mut call = self.extract(kernel, live);
                if let Some((low, high)) = bounds {
                    call = unless_empty(self.func, region, call, low, high);
                }
                region.insts.push(call);
                continue;
            }
            match &mut inst.op {
                Op::If { then_region, else_region, .. } => {
                    self.visit(then_region, repeated);
                    self.visit(else_region, repeated);
                }
                Op::For { body, .. } | Op::Loop { body, .. } => self.visit(body, true),
                Op::ParFor { body, .. } | Op::Launch { body, .. } => self.visit(body, repeated),
                Op::Const { ty, .. } if ty.is_vector() => {
                    self.vectors.insert(inst.results[0], inst.op.clone());
                }
                _ => {}
            }
            region.insts.push(inst);
        }
    }

    fn is_kernel(&self, inst: &Inst) -> bool {
        matches!(&inst.op, Op::For { body, .. } if body.params.first().is_some_and(|index| self.loops.contains(index)))
    }

    /// How many instructions after a loop belong to its chain: loops that carry what earlier ones end with, arithmetic between them,
    /// and arithmetic with their results.
    fn rest_of_chain(&self, first: &Inst, rest: &[Inst]) -> usize {
        let mut carried: HashSet<Value> = first.results.iter().copied().collect();
        let (mut length, mut is_chain) = (0, false);
        for (k, inst) in rest.iter().enumerate() {
            let mut depends = false;
            inst.op.for_each_operand(|v| depends |= carried.contains(&v));
            if depends && self.is_kernel(inst) {
                is_chain = true;
            } else if !inst.op.is_arithmetic() {
                break;
            }
            if depends {
                length = k + 1;
                carried.extend(inst.results.iter().copied());
            }
        }
        if is_chain { length } else { 0 }
    }

    /// A call of a new function that consists of these instructions and returns `live`.
    fn extract(&mut self, insts: Vec<Inst>, live: Vec<Value>) -> Inst {
        let whole = Region { params: Vec::new(), insts, exit: Exit::Return(live.clone()) };
        let (made, captured): (Vec<Value>, Vec<Value>) =
            captures(&whole).into_iter().partition(|v| self.vectors.contains_key(v));
        let types = &self.func.values;
        let mut copy = Copy { types, values: PrimaryMap::new(), map: FxHashMap::default() };
        let params: Vec<Value> = captured.iter().map(|&v| copy.define(v)).collect();
        let constants: Vec<Inst> = made
            .iter()
            .map(|v| Inst { op: self.vectors[v].clone(), results: [copy.define(*v)].into_iter().collect() })
            .collect();
        let mut body = whole;
        copy.region(&mut body);
        body.params = params;
        body.insts.splice(0..0, constants);
        let kernel = Func {
            name: format!("{}_kernel_{}", self.func.name, self.module.funcs.len()),
            results: live.iter().map(|&v| types[v]).collect(),
            order: Order::Keep,
            visibility: Visibility::Private,
            values: copy.values,
            body,
        };
        let id = match find_alike(self.module, &kernel) {
            Some(id) => id,
            None => self.module.add(kernel),
        };
        Inst { op: Op::Call(id, captured), results: live.into_iter().collect() }
    }
}

/// The kernel of a module that has the code of `kernel`, if there is one.
fn find_alike(module: &Module, kernel: &Func) -> Option<FuncId> {
    let has_its_code = |func: &Func| {
        func.values == kernel.values
            && func.results == kernel.results
            && (func.order, func.visibility) == (kernel.order, kernel.visibility)
            && func.body == kernel.body
    };
    module.funcs.iter().find(|(_, func)| has_its_code(func)).map(|(id, _)| id)
}

/// What `insts` define and the rest of their region uses.
fn live_after(insts: &[Inst], rest: &[Inst], exit: &Exit) -> Vec<Value> {
    let mut used: HashSet<Value> = exit.operands().iter().copied().collect();
    rest.iter().for_each(|inst| note_uses(inst, &mut used));
    insts.iter().flat_map(|inst| inst.results.iter().copied()).filter(|v| used.contains(v)).collect()
}

fn note_uses(inst: &Inst, used: &mut HashSet<Value>) {
    inst.op.for_each_operand(|v| {
        used.insert(v);
    });
    for region in inst.op.regions() {
        region.insts.iter().for_each(|inst| note_uses(inst, used));
        used.extend(region.exit.operands().iter().copied());
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

/// Renumbers the values of a region for another function.
struct Copy<'a> {
    types: &'a PrimaryMap<Value, Ty>,
    values: PrimaryMap<Value, Ty>,
    map: FxHashMap<Value, Value>,
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
