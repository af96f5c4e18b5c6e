//! Which values depend on the variables through reals.

use crate::differentiate::state::State;
use cranelift_entity::EntitySet;
use ravel_wir::{Func, Inst, Op, Region, Value, With, WithOp};

impl State<'_> {
    /// Finds what depends on the parameters of a region.
    pub fn spread(&mut self, region: Region) {
        self.varied = EntitySet::new();
        self.varied.extend(self.func.regions[region].params.iter().copied());
        spread(self.func, region, &mut self.varied);
    }
}

/// Adds to `varied` what a region computes from values that are in it.
fn spread(func: &Func, region: Region, varied: &mut EntitySet<Value>) {
    for &inst in &func.regions[region].insts {
        spread_inst(func, inst, varied);
    }
}

fn mark(func: &Func, v: Value, varied: &mut EntitySet<Value>) -> bool {
    func.ty(v).elem.is_float() && varied.insert(v)
}

fn spread_inst(func: &Func, inst: Inst, varied: &mut EntitySet<Value>) {
    let data = &func.insts[inst];
    match &data.op {
        Op::Detach(_) | Op::Const(_) | Op::ConstArray(_) | Op::GlobalGet(_) => {}
        Op::If { then, els, .. } => {
            for region in [*then, *els] {
                spread(func, region, varied);
                for (y, v) in func.regions[region].yields.iter().zip(&data.results) {
                    if varied.contains(*y) {
                        mark(func, *v, varied);
                    }
                }
            }
        }
        Op::Loop { init, body } => {
            let params = &func.regions[*body].params;
            for (v, p) in init.iter().zip(params) {
                if varied.contains(*v) {
                    mark(func, *p, varied);
                }
            }
            loop {
                spread(func, *body, varied);
                let mut more = false;
                for (y, p) in func.regions[*body].yields[1..].iter().zip(params) {
                    if varied.contains(*y) {
                        more |= mark(func, *p, varied);
                    }
                }
                if !more {
                    break;
                }
            }
            for (p, v) in params.iter().zip(&data.results) {
                if varied.contains(*p) {
                    mark(func, *v, varied);
                }
            }
        }
        Op::With(with) => spread_with(func, inst, with, varied),
        op => {
            let mut any = false;
            op.for_each_operand(|v| any |= varied.contains(v));
            if any {
                data.results.iter().for_each(|v| {
                    mark(func, *v, varied);
                });
            }
        }
    }
}

fn spread_with(func: &Func, inst: Inst, with: &With, varied: &mut EntitySet<Value>) {
    for part in &with.parts {
        spread(func, part.body, varied);
    }
    for (k, (op, result)) in with.ops.iter().zip(&func.insts[inst].results).enumerate() {
        let mut any = with.parts.iter().any(|part| varied.contains(func.regions[part.body].yields[k]));
        let cells = any;
        any |= match op {
            WithOp::Genarray { default, .. } => default.is_some_and(|v| varied.contains(v)),
            WithOp::Modarray { array } => varied.contains(*array),
            WithOp::Fold { neutral, .. } => varied.contains(*neutral),
        };
        if let Some(region) = op.region() {
            let data = &func.regions[region];
            let (total, cell, next) = (data.params[0], data.params[1], data.yields[0]);
            if any {
                mark(func, total, varied);
            }
            if cells {
                mark(func, cell, varied);
            }
            spread(func, region, varied);
            if varied.contains(next) && mark(func, total, varied) {
                spread(func, region, varied);
            }
            any |= varied.contains(next);
        }
        if any {
            mark(func, *result, varied);
        }
    }
}
