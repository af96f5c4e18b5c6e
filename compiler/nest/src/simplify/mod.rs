//! Cleans a function without changing the order of what it does.
//!
//! - operations on constants are evaluated, identities removed, constant offsets moved into loads and stores;
//! - a pure operation computed before is used again;
//! - cheap pure integer operations on values from outside a loop move in front of it;
//! - conditionals on constants and loops of zero or one iterations are replaced by what they do;
//! - what nobody uses is removed.
//!
//! Before: the function verifies. After: it verifies, and instructions that remain are in their old order, so that hand-ordered
//! kernels stay as they are. Leaves alone: vector values across regions (keeping them alive costs registers), loads that
//! may see stores, float arithmetic (no reassociation).

mod dead;
mod floats;
mod fold;

use cranelift_entity::{PrimaryMap, SecondaryMap};
use rustc_hash::FxHashMap;

use crate::ir::{BinOp, Exit, Func, Inst, Module, Op, Prim, Region, Ty, Value};

/// Cleans every function of a module.
pub fn simplify_module(module: &mut Module) {
    let ids: Vec<_> = module.funcs.keys().collect();
    for id in ids {
        if module.funcs[id].is_defined() {
            let empty = Func {
                name: String::new(),
                results: Vec::new(),
                order: Default::default(),
                visibility: Default::default(),
                values: PrimaryMap::new(),
                body: Region::default(),
            };
            let func = std::mem::replace(&mut module.funcs[id], empty);
            module.funcs[id] = simplify(func);
        }
    }
}

/// Cleans one function.
pub fn simplify(func: Func) -> Func {
    let Func { name, results, order, visibility, values, body } = func;
    let mut pass = Simplify {
        values,
        replaced: SecondaryMap::new(),
        known: SecondaryMap::new(),
        sums: SecondaryMap::new(),
        depth: SecondaryMap::new(),
        available: FxHashMap::default(),
        frames: Vec::new(),
    };
    let mut body = pass.region(body, Kind::Body);
    dead::remove_unused(&mut body, pass.values.len());
    Func { name, results, order, visibility, values: pass.values, body }
}

/// What a region under construction belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Body,
    Arm,
    /// The body of a sequential loop: instructions may move in front of it.
    Loop,
    /// The body of a parallel loop: nothing moves out, for what it uses from outside must be passed to it.
    Parallel,
}

/// A region under construction.
struct Frame {
    kind: Kind,
    insts: Vec<Inst>,
    /// Operations made available here, forgotten at the end.
    added: Vec<Op>,
    /// The exit, if the instructions lead to one before the region's own.
    exit: Option<Exit>,
}

struct Simplify {
    values: PrimaryMap<Value, Ty>,
    /// The value to use instead, if any.
    replaced: SecondaryMap<Value, Option<Value>>,
    /// Bits of constants.
    known: SecondaryMap<Value, Option<u64>>,
    /// `i64` and pointer values that are another value plus a constant.
    sums: SecondaryMap<Value, Option<(Value, i64)>>,
    /// Number of frames around the definition, that of the body being 0.
    depth: SecondaryMap<Value, u32>,
    /// Pure operations computed in the frames under construction.
    available: FxHashMap<Op, Value>,
    frames: Vec<Frame>,
}

impl Simplify {
    fn region(&mut self, region: Region, kind: Kind) -> Region {
        let depth = self.frames.len() as u32;
        for &param in &region.params {
            self.depth[param] = depth;
        }
        self.frames.push(Frame { kind, insts: Vec::new(), added: Vec::new(), exit: None });
        let mut exit = region.exit;
        self.insts(region.insts);
        for value in exit.operands_mut() {
            *value = self.current(*value);
        }
        let frame = self.frames.pop().expect("pushed above");
        for op in frame.added {
            self.available.remove(&op);
        }
        Region { params: region.params, insts: frame.insts, exit: frame.exit.unwrap_or(exit) }
    }

    fn insts(&mut self, insts: Vec<Inst>) {
        for inst in insts {
            if self.frame().exit.is_some() {
                return;
            }
            self.inst(inst);
        }
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("instructions are inside a region")
    }

    fn current(&self, value: Value) -> Value {
        self.replaced[value].unwrap_or(value)
    }

    fn known(&self, value: Value) -> Option<u64> {
        self.known[value]
    }

    fn inst(&mut self, mut inst: Inst) {
        inst.op.for_each_operand_mut(|value| *value = self.replaced[*value].unwrap_or(*value));
        match inst.op {
            Op::If { cond, then_region, else_region } => match self.known(cond) {
                Some(bits) => self.splice(if bits != 0 { then_region } else { else_region }, &inst.results),
                None => {
                    let then_region = self.region(then_region, Kind::Arm);
                    let else_region = self.region(else_region, Kind::Arm);
                    self.emit(Inst { op: Op::If { cond, then_region, else_region }, ..inst });
                }
            },
            Op::For { lo, hi, step, inits, body } => {
                let bounds = self.known(lo).zip(self.known(hi)).map(|(lo, hi)| (lo as i64, hi as i64));
                let step_bits = self.known(step).map(|step| step as i64);
                match (bounds, step_bits) {
                    (Some((first, end)), _) if first >= end => self.replace_all(&inst.results, &inits),
                    (Some((first, end)), Some(step)) if first.checked_add(step).is_some_and(|next| next >= end) => {
                        self.replace(body.params[0], lo);
                        for (&param, &init) in body.params[1..].iter().zip(&inits) {
                            self.replace(param, init);
                        }
                        self.splice(body, &inst.results);
                    }
                    _ => {
                        let body = self.region(body, Kind::Loop);
                        self.emit(Inst { op: Op::For { lo, hi, step, inits, body }, ..inst });
                    }
                }
            }
            Op::Loop { inits, body } => {
                let body = self.region(body, Kind::Loop);
                self.emit(Inst { op: Op::Loop { inits, body }, ..inst });
            }
            Op::ParFor { n, chunk, late, shared, body } => {
                let body = self.region(body, Kind::Parallel);
                self.emit(Inst { op: Op::ParFor { n, chunk, late, shared, body }, ..inst });
            }
            Op::Launch { grid, local, body } => {
                let body = self.region(body, Kind::Parallel);
                self.emit(Inst { op: Op::Launch { grid, local, body }, ..inst });
            }
            _ => self.plain(inst),
        }
    }

    /// Runs the instructions of a region in place of its owner.
    fn splice(&mut self, region: Region, results: &[Value]) {
        self.insts(region.insts);
        if self.frame().exit.is_some() {
            return;
        }
        let mut exit = region.exit;
        for value in exit.operands_mut() {
            *value = self.current(*value);
        }
        match exit {
            Exit::Yield(yields) => self.replace_all(results, &yields),
            other => self.frame().exit = Some(other),
        }
    }

    fn replace_all(&mut self, results: &[Value], values: &[Value]) {
        for (&result, &value) in results.iter().zip(values) {
            self.replace(result, value);
        }
    }

    fn replace(&mut self, value: Value, by: Value) {
        self.replaced[value] = Some(self.current(by));
    }

    /// Appends an instruction as it is.
    fn emit(&mut self, inst: Inst) {
        let depth = self.frames.len() as u32 - 1;
        for &result in &inst.results {
            self.depth[result] = depth;
        }
        self.frame().insts.push(inst);
    }

    /// An instruction without regions.
    fn plain(&mut self, mut inst: Inst) {
        self.fold_offsets(&mut inst.op);
        let (&[result], true) = (inst.results.as_slice(), is_pure(&inst.op)) else {
            return self.emit(inst);
        };
        match fold::fold(&inst.op, self.values[result], &self.values, &|value| self.known(value)) {
            fold::Folded::Same => {}
            fold::Folded::Value(value) => return self.replace(result, value),
            fold::Folded::Op(op) => inst.op = op,
            fold::Folded::With(op, value, bits) => {
                let ty = self.values[value];
                let constant = self.constant(ty, bits);
                inst.op = Op::Binary(op, value, constant);
                self.fold_offsets(&mut inst.op);
            }
        }
        self.pure(result, inst.op);
    }

    /// A constant as a value, here.
    fn constant(&mut self, ty: Ty, bits: u64) -> Value {
        let value = self.values.push(ty);
        self.pure(value, Op::Const { ty, bits });
        self.current(value)
    }

    /// Uses an earlier value of the same operation, or emits it here or in front of the loops that it does not depend on.
    fn pure(&mut self, result: Value, op: Op) {
        let here = self.frames.len() as u32 - 1;
        let vector = self.values[result].is_vector();
        if let Some(&earlier) = self.available.get(&op)
            && (!vector || self.depth[earlier] == here)
        {
            return self.replace(result, earlier);
        }
        if let Op::Const { bits, .. } = op {
            self.known[result] = Some(bits);
        }
        let target =
            if vector || matches!(op, Op::Const { .. }) || !is_cheap(&op) { here } else { self.hoisted(&op, here) };
        self.depth[result] = target;
        let frame = &mut self.frames[target as usize];
        // A vector of an outer region stays the one that is available: it is again when this region has ended.
        if !self.available.contains_key(&op) {
            frame.added.push(op.clone());
            self.available.insert(op.clone(), result);
        }
        frame.insts.push(Inst { results: [result].into_iter().collect(), op });
        self.note_sum(result);
    }

    /// The outermost frame whose next inner one is a loop that `op` does not depend on, or `here`.
    fn hoisted(&self, op: &Op, here: u32) -> u32 {
        let mut needed = 0;
        op.for_each_operand(|value| needed = needed.max(self.depth[value]));
        let mut target = here;
        for depth in (needed + 1..=here).rev() {
            match self.frames[depth as usize].kind {
                Kind::Parallel | Kind::Body => break,
                Kind::Loop => target = depth - 1,
                Kind::Arm => {}
            }
        }
        target
    }

    /// Remembers that the value just emitted is another one plus a constant.
    fn note_sum(&mut self, result: Value) {
        let op = &self.frames[self.depth[result] as usize].insts.last().expect("just emitted").op;
        let (Op::PtrAdd(base, offset) | Op::Binary(BinOp::IAdd, base, offset)) = *op else { return };
        let ty = self.values[result];
        if ty != Ty::PTR && ty != Ty::I64 {
            return;
        }
        if let Some(bits) = self.known(offset) {
            let (base, before) = self.sums[base].unwrap_or((base, 0));
            self.sums[result] = Some((base, before.wrapping_add(bits as i64)));
        }
    }

    /// Moves constants of addresses outwards: into the offset of an access, or to the end of a sum.
    fn fold_offsets(&mut self, op: &mut Op) {
        match op {
            Op::Load { ptr, offset, .. } | Op::Gather { ptr, offset, .. } | Op::Store { ptr, offset, .. } => {
                if let Some((base, constant)) = self.sums[*ptr]
                    && let Some(sum) = i32::try_from(constant).ok().and_then(|constant| offset.checked_add(constant))
                {
                    (*ptr, *offset) = (base, sum);
                }
            }
            Op::PtrAdd(ptr, bytes) => {
                let outer = self.sums[*ptr].unwrap_or((*ptr, 0));
                let inner = match self.known(*bytes) {
                    Some(_) => None,
                    None => self.sums[*bytes],
                };
                if let Some((variable, constant)) = inner {
                    // p + (x + c) = (p + x) + c
                    let (base, total) = (outer.0, outer.1.wrapping_add(constant));
                    let sum = self.values.push(Ty::PTR);
                    self.pure(sum, Op::PtrAdd(base, variable));
                    (*ptr, *bytes) = (self.current(sum), self.constant(Ty::I64, total as u64));
                } else if let Some(bits) = self.known(*bytes)
                    && outer.0 != *ptr
                {
                    (*ptr, *bytes) = (outer.0, self.constant(Ty::I64, outer.1.wrapping_add(bits as i64) as u64));
                } else if outer.0 != *ptr {
                    // (p + c) + x = (p + x) + c
                    let sum = self.values.push(Ty::PTR);
                    self.pure(sum, Op::PtrAdd(outer.0, *bytes));
                    (*ptr, *bytes) = (self.current(sum), self.constant(Ty::I64, outer.1 as u64));
                }
            }
            Op::Binary(BinOp::IAdd, x, c) if self.values[*x] == Ty::I64 => {
                if let (Some((base, before)), Some(bits)) = (self.sums[*x], self.known(*c)) {
                    (*x, *c) = (base, self.constant(Ty::I64, before.wrapping_add(bits as i64) as u64));
                }
            }
            _ => {}
        }
    }
}

/// Does the operation only compute its results, the same ones whenever its operands are the same?
pub(crate) fn is_pure(op: &Op) -> bool {
    match op {
        Op::Load { access, .. } => access.readonly && access.movable,
        Op::Store { .. }
        | Op::Gather { .. }
        | Op::StackSlot { .. }
        | Op::LocalSlot { .. }
        | Op::Barrier
        | Op::Call(..)
        | Op::CallExtern(..)
        | Op::CallIndirect { .. }
        | Op::RcInc(..)
        | Op::RcDec(..)
        | Op::RcUnique(_)
        | Op::If { .. }
        | Op::For { .. }
        | Op::Loop { .. }
        | Op::ParFor { .. }
        | Op::Launch { .. } => false,
        _ => true,
    }
}

/// May the operation be computed where the program might not have come, and is keeping its result cheap? Division may trap,
/// floats and library functions cost too much.
fn is_cheap(op: &Op) -> bool {
    match op {
        Op::Binary(op, ..) => !op.is_float() && !matches!(op, BinOp::SDiv | BinOp::UDiv | BinOp::SRem | BinOp::URem),
        Op::Unary(op, _) => !op.is_float(),
        Op::Convert(_, _, to) => matches!(to, Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64 | Prim::Ptr),
        Op::Load { ty, .. } => !ty.prim.is_float(),
        Op::IntCmp(..) | Op::Select { .. } | Op::PtrAdd(..) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_module;
    use crate::verify::verify;

    /// Simplifies the body of `(v0: i64, v1: ptr, v2: i8, v3: f32) -> (i64)` and compares texts without spaces.
    fn check(input: &str, expected: &str) {
        let parse = |body: &str| {
            let externs = "extern ext0 \"stop\"(i64) extern ext1 \"use\"(i64)";
            let text = format!(
                "{externs} func fn0 \"f\"(v0: i64, v1: ptr, v2: i8, v3: f32) -> (i64) private keep {{ {body} }}"
            );
            parse_module(&text).unwrap_or_else(|error| panic!("{error} in {body}"))
        };
        let mut module = parse(input);
        assert_eq!(verify(&module), Ok(()), "{input}");
        simplify_module(&mut module);
        assert_eq!(verify(&module), Ok(()), "{module}");
        assert_eq!(module.to_string(), parse(expected).to_string());
    }

    #[test]
    fn constants_are_evaluated_and_unused_instructions_go() {
        check(
            "v4: i64 = const 5 v5: i64 = const 8 v6: i64 = iadd v4, v5 v7: i64 = sdiv v6, v4 v8: i64 = imul v0, v7 return v7",
            "v7: i64 = const 2 return v7",
        );
        check(
            "v4: i64 = const -1 v5: i32 = narrow v4 v6: i64 = zext v5 return v6",
            "v6: i64 = const 4294967295 return v6",
        );
        check("v4: i64 = const 0 v5: i64 = sdiv v0, v4 return v5", "v4: i64 = const 0 v5: i64 = sdiv v0, v4 return v5");
    }

    #[test]
    fn identities_and_repeated_operations_disappear() {
        check(
            "v4: i64 = const 1 v5: i64 = imul v4, v0 v6: i64 = xor v5, v0 v7: i64 = xor v0, v0 v8: i64 = iadd v6, v7 return v8",
            "v6: i64 = xor v0, v0 v8: i64 = iadd v6, v6 return v8",
        );
        check("v4: i64 = const 8 v5: i64 = imul v4, v0 return v5", "v6: i64 = const 3 v5: i64 = shl v0, v6 return v5");
    }

    #[test]
    fn floats_of_constants_are_evaluated_but_nan_is_left_to_the_processor() {
        check(
            "v4: f64 = const 2.0 v5: f64 = sqrt v4 v6: f64 = fma v5, v5, v4 v7: i8 = fcmp.gt v6, v4 v8: f32 = fconv v6 v9: i32 = bits v8 v10: i64 = sext v9 v11: i64 = sext v7 v12: i64 = iadd v10, v11 return v12",
            "v12: i64 = const 1082130433 return v12",
        );
        let nan = "v4: f64 = const 0.0 v5: f64 = fdiv v4, v4 v6: i64 = bits v5 return v6";
        check(nan, nan);
        let unknown = "v4: f32 = const 2.0 v5: f32 = fmul v3, v4 v6: i32 = bits v5 v7: i64 = sext v6 return v7";
        check(unknown, unknown);
    }

    #[test]
    fn constant_offsets_move_into_accesses() {
        check(
            "v4: i64 = const 16 v5: i64 = iadd v0, v4 v6: ptr = ptr_add v1, v5 v7: i64 = load v6 + 8 return v7",
            "v8: ptr = ptr_add v1, v0 v7: i64 = load v8 + 24 return v7",
        );
        check(
            "v4: i64 = const 16 v5: i64 = isub v0, v4 v6: ptr = ptr_add v1, v5 v7: i64 = load v6 + 8 return v7",
            "v9: ptr = ptr_add v1, v0 v7: i64 = load v9 + -8 return v7",
        );
    }

    #[test]
    fn cheap_invariants_leave_sequential_loops() {
        check(
            "v4: i64 = const 1 v5: i64 = for v6 = v4 to v0 step v4 (v7: i64 = v4) {
                v8: i64 = xor v0, v4 v9: i64 = load v1 + 0 aligned readonly movable v10: i64 = load v1 + 0
                v11: i64 = sdiv v0, v8 v12: i64 = iadd v9, v10 v13: i64 = iadd v12, v11 yield v13
            } return v5",
            "v4: i64 = const 1 v8: i64 = xor v0, v4 v9: i64 = load v1 + 0 aligned readonly movable
            v5: i64 = for v6 = v4 to v0 step v4 (v7: i64 = v4) {
                v10: i64 = load v1 + 0 v11: i64 = sdiv v0, v8 v12: i64 = iadd v9, v10 v13: i64 = iadd v12, v11 yield v13
            } return v5",
        );
    }

    #[test]
    fn nothing_leaves_parallel_loops_or_arms() {
        let text = "v4: i64 = const 1 parfor v0 chunk v4 (v5, v6, v7) { v8: i64 = xor v0, v4 store v8, v1 + 0 yield }
            if v2 { v9: i64 = or v0, v4 store v9, v1 + 0 yield } else { yield } return v0";
        check(text, text);
    }

    #[test]
    fn barriers_and_what_is_around_them_stay() {
        let text = "launch (v0) local (64) (v4, v5) {
            v6: ptr = local_slot 256 align 4 store v3, v6 + 0 barrier v7: f32 = load v6 + 0 store v7, v6 + 4 barrier
            v8: f32 = load v6 + 0 store v8, v6 + 8 yield } return v0";
        check(text, text);
        // A slot that nobody uses goes, a barrier does not.
        check(
            "launch (v0) local (64) (v4, v5) { v6: ptr = local_slot 256 align 4 barrier yield } return v0",
            "launch (v0) local (64) (v4, v5) { barrier yield } return v0",
        );
    }

    #[test]
    fn known_conditions_and_short_loops_are_replaced() {
        check(
            "v4: i64 = const 3 v5: i64 = const 2 v6: i8 = icmp.slt v4, v5
            if v6 { fault ext0(v4) } else { yield }
            v7: i64 = for v8 = v5 to v4 step v4 (v9: i64 = v0) { v10: i64 = xor v9, v8 yield v10 }
            v11: i64 = for v12 = v4 to v5 step v4 (v13: i64 = v7) { v14: i64 = iadd v13, v12 yield v14 } return v11",
            "v5: i64 = const 2 v10: i64 = xor v0, v5 return v10",
        );
        check(
            "v4: i8 = const 1 if v4 { fault ext0(v0) } else { yield } v5: i64 = load v1 + 0 return v5",
            "fault ext0(v0)",
        );
    }

    #[test]
    fn vectors_are_not_kept_alive_across_regions() {
        let text = "v4: f32x4 = const 1.0 v5: i64 = const 1 store v4, v1 + 0
            for v6 = v5 to v0 step v5 () { v7: f32x4 = const 1.0 v8: f32x4 = splat v3 store v7, v1 + 0 store v8, v1 + 0 yield }
            for v9 = v5 to v0 step v5 () { v10: f32x4 = splat v3 store v10, v1 + 0 yield } return v0";
        check(text, text);
    }

    #[test]
    fn unused_conditionals_and_loops_go_but_calls_stay() {
        check(
            "v4: i64 = const 1 v5: i64 = if v2 { yield v0 } else { v6: i64 = load v1 + 0 yield v6 }
            v7: i64 = for v8 = v4 to v0 step v4 (v9: i64 = v5) { yield v8 }
            call_extern ext1(v0) return v0",
            "call_extern ext1(v0) return v0",
        );
    }
}
