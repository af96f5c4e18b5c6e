//! Dead code: instructions nobody needs, and unused results of branches, loops and with-loops.
//!
//! ```text
//!    %a, %b = with { part ... { yield %x, %y } } genarray [n] fold add neutral 0      // %b unused
//! => %a = with { part ... { yield %x } } genarray [n]
//! ```
//!
//! Before: anything. After: every value is used, or belongs to an instruction with an effect, or is an index.
//! Leaves alone: effects, checks and the operations that fault by themselves.
//! Worth: tests/survey/stencils/life (180 with Cranelift).

use crate::edit::{Def, Defs};
use crate::pass::{Context, Pass};
use cranelift_entity::EntitySet;
use ravel_wir::traverse::has_effect;
use ravel_wir::{Combine, Frame, Func, Inst, Op, Region, Value, WithOp};

pub const PASS: Pass = Pass::of("dce", "remove what nobody needs", remove_dead_code);

/// Marks what is needed from the results and effects backwards, then sweeps.
pub fn remove_dead_code(func: &mut Func, cx: &mut Context) -> bool {
    let defs = Defs::new(func);
    let mut m = Marker { func, defs: &defs, values: EntitySet::new(), insts: EntitySet::new(), work: Vec::new() };
    m.roots(func.body, cx);
    for &v in &func.regions[func.body].yields {
        m.value(v);
    }
    while let Some(v) = m.work.pop() {
        m.definition(v);
    }
    let (values, insts) = (m.values, m.insts);
    let body = func.body;
    sweep(func, body, &values, &insts)
}

struct Marker<'a> {
    func: &'a Func,
    defs: &'a Defs,
    values: EntitySet<Value>,
    insts: EntitySet<Inst>,
    work: Vec<Value>,
}

impl Marker<'_> {
    fn value(&mut self, v: Value) {
        if self.values.insert(v) {
            self.work.push(v);
        }
    }

    /// Instructions that are needed for what they do; true if there are any.
    fn roots(&mut self, region: Region, cx: &Context) -> bool {
        let func = self.func;
        let mut any = false;
        for &inst in &func.regions[region].insts {
            let op = &func.insts[inst].op;
            let mut nested = false;
            for r in op.regions() {
                if self.roots(r, cx) {
                    nested = true;
                    self.fold_of(inst, r);
                }
            }
            let own = op.regions().is_empty() && has_effect(&|f| cx.is_observed(f), func, inst);
            if nested || own {
                any = true;
                self.inst(inst);
            }
        }
        any
    }

    /// A fold whose function is needed for what it does needs its cells and its neutral element.
    fn fold_of(&mut self, inst: Inst, region: Region) {
        let data = &self.func.insts[inst];
        if let Op::With(with) = &data.op
            && let Some(k) = with.ops.iter().position(|op| op.region() == Some(region))
        {
            self.value(data.results[k]);
        }
    }

    /// What an instruction needs to run at all; the operands of single results come with these.
    fn inst(&mut self, inst: Inst) {
        if !self.insts.insert(inst) {
            return;
        }
        let func = self.func;
        match &func.insts[inst].op {
            Op::If { cond, .. } => self.value(*cond),
            Op::Loop { body, .. } => self.value(func.regions[*body].yields[0]),
            Op::With(with) => with.parts.iter().for_each(|p| p.generator.for_each(&mut |v| self.value(v))),
            op @ Op::Derive { body, .. } => {
                op.for_each_operand(|v| self.value(v));
                func.regions[*body].yields.iter().for_each(|v| self.value(*v));
            }
            op => op.for_each_operand(|v| self.value(v)),
        }
    }

    /// Slot `k` of a loop: initial value, parameter, next value and result live and die together.
    fn slot(&mut self, inst: Inst, init: &[Value], body: Region, k: usize) {
        let body = &self.func.regions[body];
        for v in [init[k], body.params[k], body.yields[k + 1], self.func.insts[inst].results[k]] {
            self.value(v);
        }
    }

    fn definition(&mut self, v: Value) {
        let func = self.func;
        match self.defs.get(v) {
            Def::None => {}
            Def::Param(region, k) => {
                // Only loop parameters have more to them than their region; the loop is found through its slots.
                if let Some((inst, init)) = self.loop_of(region) {
                    self.slot(inst, &init, region, k as usize);
                }
            }
            Def::Inst(inst, k) => {
                self.inst(inst);
                let k = k as usize;
                match &func.insts[inst].op {
                    Op::If { then, els, .. } => {
                        self.value(func.regions[*then].yields[k]);
                        self.value(func.regions[*els].yields[k]);
                    }
                    Op::Loop { init, body } => self.slot(inst, init, *body, k),
                    Op::With(with) => {
                        for part in &with.parts {
                            self.value(func.regions[part.body].yields[k]);
                        }
                        self.operator(&with.ops[k]);
                    }
                    _ => {}
                }
            }
        }
    }

    fn operator(&mut self, op: &WithOp) {
        match op {
            WithOp::Genarray { frame, cell, default } => {
                match frame {
                    Frame::Known(extents) => extents.iter().for_each(|v| self.value(*v)),
                    Frame::Dyn(v) => self.value(*v),
                }
                cell.iter().flatten().chain(default).for_each(|v| self.value(*v));
            }
            WithOp::Modarray { array } => self.value(*array),
            WithOp::Fold { neutral, combine, stop } => {
                self.value(*neutral);
                stop.iter().for_each(|v| self.value(*v));
                if let Combine::Region(region) = combine {
                    self.value(self.func.regions[*region].yields[0]);
                }
            }
        }
    }

    fn loop_of(&self, region: Region) -> Option<(Inst, Vec<Value>)> {
        self.defs.loops.get(&region).and_then(|inst| match &self.func.insts[*inst].op {
            Op::Loop { init, .. } => Some((*inst, init.clone())),
            _ => None,
        })
    }
}

fn keep<T: Copy>(list: &[T], kept: &[bool]) -> Vec<T> {
    list.iter().zip(kept).filter(|(_, k)| **k).map(|(v, _)| *v).collect()
}

/// Removes unmarked instructions and slots.
fn sweep(func: &mut Func, region: Region, values: &EntitySet<Value>, insts: &EntitySet<Inst>) -> bool {
    let list = std::mem::take(&mut func.regions[region].insts);
    let before = list.len();
    let list: Vec<Inst> = list.into_iter().filter(|i| insts.contains(*i)).collect();
    let mut changed = list.len() != before;
    for &inst in &list {
        // A with-loop without partitions has no regions and yet results of its own.
        if !matches!(func.insts[inst].op, Op::If { .. } | Op::Loop { .. } | Op::With(_) | Op::Derive { .. }) {
            continue;
        }
        let kept: Vec<bool> = func.insts[inst].results.iter().map(|v| values.contains(*v)).collect();
        // The results of a derivative follow from its region.
        if kept.contains(&false) && !matches!(func.insts[inst].op, Op::Derive { .. }) {
            changed = true;
            let results = keep(&func.insts[inst].results, &kept);
            let mut op = func.insts[inst].op.clone();
            match &mut op {
                Op::If { then, els, .. } => {
                    for r in [*then, *els] {
                        func.regions[r].yields = keep(&func.regions[r].yields, &kept);
                    }
                }
                Op::Loop { init, body } => {
                    *init = keep(init, &kept);
                    let body = &mut func.regions[*body];
                    body.params = keep(&body.params, &kept);
                    let go_on = body.yields[0];
                    body.yields = std::iter::once(go_on).chain(keep(&body.yields[1..], &kept)).collect();
                }
                Op::With(with) => {
                    for part in &with.parts {
                        func.regions[part.body].yields = keep(&func.regions[part.body].yields, &kept);
                    }
                    let mut k = 0;
                    with.ops.retain(|_| {
                        k += 1;
                        kept[k - 1]
                    });
                }
                _ => {}
            }
            func.insts[inst].op = op;
            func.insts[inst].results = results;
        }
        for nested in func.insts[inst].op.regions() {
            changed |= sweep(func, nested, values, insts);
        }
    }
    func.regions[region].insts = list;
    changed
}
