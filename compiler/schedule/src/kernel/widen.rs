//! For tests of sharing: plain counts that give the processor away between their load and their store.
//!
//! A plain count of an object that another thread counts, too, goes wrong only if both happen within a nanosecond. With this a thread that
//! loads a count lets all others run before it stores, so that a count which is plain by mistake goes wrong in nearly every run.

use ravel_nest::ir::{
    Access, BinOp, Exit, ExternId, Func, Inst, IntCmp, Module, Op, Param, Region, Sharing, Ty, Value,
};

use crate::facts::layout;

/// Writes the plain counts of a module as a load, a call that yields the processor, and a store.
pub fn widen_counts(module: &mut Module) {
    let ptr = Param { ty: Ty::PTR, signed: false };
    let pause = module.extern_func("ravel_pause", &[], None);
    let free = module.extern_func("ravel_free", &[ptr], None);
    for func in module.funcs.values_mut() {
        let mut body = std::mem::take(&mut func.body);
        Widener { func, pause, free }.region(&mut body);
        func.body = body;
    }
}

struct Widener<'a> {
    func: &'a mut Func,
    pause: ExternId,
    free: ExternId,
}

impl Widener<'_> {
    fn region(&mut self, region: &mut Region) {
        let insts = std::mem::take(&mut region.insts);
        for mut inst in insts {
            match &mut inst.op {
                Op::RcInc(object, Sharing::Plain) => {
                    self.count(*object, 1, &mut region.insts);
                    continue;
                }
                Op::RcDec(object, Sharing::Plain) => {
                    self.count(*object, -1, &mut region.insts);
                    continue;
                }
                Op::If { then_region, else_region, .. } => {
                    self.region(then_region);
                    self.region(else_region);
                }
                Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } | Op::Launch { body, .. } => {
                    self.region(body);
                }
                _ => {}
            }
            region.insts.push(inst);
        }
    }

    fn push(&mut self, insts: &mut Vec<Inst>, op: Op, ty: Ty) -> Value {
        let value = self.func.values.push(ty);
        insts.push(Inst { op, results: [value].into_iter().collect() });
        value
    }

    fn count(&mut self, object: Value, change: i64, insts: &mut Vec<Inst>) {
        let null = self.push(insts, Op::Const { ty: Ty::PTR, bits: 0 }, Ty::PTR);
        let there = self.push(insts, Op::IntCmp(IntCmp::Ne, object, null), Ty::I8);
        let mut counted = Vec::new();
        let load = Op::Load { ty: Ty::I64, ptr: object, offset: layout::OFFSET_RC, access: Access::ALIGNED };
        let old = self.push(&mut counted, load, Ty::I64);
        counted.push(effect(Op::CallExtern(self.pause, Vec::new())));
        let change_by = self.push(&mut counted, Op::Const { ty: Ty::I64, bits: change as u64 }, Ty::I64);
        let new = self.push(&mut counted, Op::Binary(BinOp::IAdd, old, change_by), Ty::I64);
        let (ptr, offset, access) = (object, layout::OFFSET_RC, Access::ALIGNED);
        counted.push(effect(Op::Store { value: new, ptr, offset, access }));
        if change < 0 {
            let zero = self.push(&mut counted, Op::Const { ty: Ty::I64, bits: 0 }, Ty::I64);
            let dead = self.push(&mut counted, Op::IntCmp(IntCmp::Eq, new, zero), Ty::I8);
            let free = effect(Op::CallExtern(self.free, vec![object]));
            counted.push(when(dead, vec![free]));
        }
        insts.push(when(there, counted));
    }
}

fn effect(op: Op) -> Inst {
    Inst { op, results: std::iter::empty().collect() }
}

/// An `if` that yields nothing and does nothing if the condition does not hold.
fn when(cond: Value, insts: Vec<Inst>) -> Inst {
    let region = |insts| Region { params: Vec::new(), insts, exit: Exit::Yield(Vec::new()) };
    effect(Op::If { cond, then_region: region(insts), else_region: region(Vec::new()) })
}
