//! Calls of runtime natives and of linked C functions.
//!
//! Arguments are borrowed, results owned. One result is returned; several come back through trailing out-pointers. Variadic
//! functions get their further arguments as an array of tagged words; those with an open list of results get the wanted tags and
//! a place for the words.

use ravel_nest::ir::{Access, ConvOp, Param, Prim, Ty};
use ravel_types::Elem;
use ravel_wir::{Inst, Value};

use crate::Result;
use crate::facts::vector_forms::{MATH_PREFIX, math_op};
use crate::facts::{Facts, Val};
use crate::lower::context::machine_type;
use crate::lower::{Lower, scalars};

/// Runtime functions that take further arguments, so that they get the argument array even where it is empty.
const OPEN_ARGUMENTS: [&str; 4] = ["ravel_printf", "ravel_fprintf", "ravel_sprintf", "ravel_error"];
/// Runtime functions with further results.
const OPEN_RESULTS: [&str; 3] = ["ravel_scanf", "ravel_fscanf", "ravel_sscanf"];

impl Facts<'_> {
    /// How an argument is passed.
    fn param(&self, v: Value) -> Param {
        let ty = self.func.ty(v);
        Param { ty: machine_type(ty), signed: ty.is_scalar() && scalars::is_signed(ty.elem) }
    }
}

impl Lower<'_, '_> {
    pub fn native(&mut self, inst: Inst, symbol: &str, args: &[Value], fixed: usize) -> Result<()> {
        let func = self.func;
        let results = &func.insts[inst].results;
        if let (Some(op), [arg], [result]) = (math_op(symbol), args, &results[..])
            && self.func.ty(*arg).is_scalar()
        {
            let (x, arith) = (self.val(*arg), self.arith());
            let elem = self.elem(*arg);
            let value = scalars::unary(&mut self.b, arith, op, elem, x);
            self.bind(*result, value);
            return Ok(());
        }
        for &v in args {
            // All ranks meet here, and only some of them may run the native.
            if self.has_rows() && self.is_object(v) {
                let object = self.val(v);
                self.host_reads(object);
            }
        }
        let (fixed_args, open_args) = args.split_at(fixed.min(args.len()));
        let mut params = Vec::new();
        let mut values = Vec::new();
        for &v in fixed_args {
            params.push(self.param(v));
            values.push(self.val(v));
        }
        if !symbol.starts_with(MATH_PREFIX) {
            self.set_position(func.insts[inst].span);
        }
        if !open_args.is_empty() || OPEN_ARGUMENTS.contains(&symbol) {
            let slot = self.b.stack_slot(16 * open_args.len().max(1) as u32, 8);
            for (k, &v) in open_args.iter().enumerate() {
                let (tag, bits) = self.promoted(v);
                let tag = self.b.i64(i64::from(tag));
                self.b.store(tag, slot, 16 * k as i32, Access::ALIGNED);
                self.b.store(bits, slot, 16 * k as i32 + 8, Access::ALIGNED);
            }
            params.extend([Ty::PTR, Ty::I64].map(Param::from));
            values.extend([slot, self.b.i64(open_args.len() as i64)]);
        }
        let returned = |lower: &Self, v: Value| machine_type(lower.func.ty(v));
        if OPEN_RESULTS.contains(&symbol) {
            return self.open_results(results.clone().as_slice(), symbol, params, values);
        }
        match results[..] {
            [] => {
                let callee = self.cx.nest.extern_func(symbol, &params, None);
                self.b.call_extern(callee, &values, None);
            }
            [result] => {
                let ty = returned(self, result);
                let callee = self.cx.nest.extern_func(symbol, &params, Some(ty));
                let value =
                    self.b.call_extern(callee, &values, Some(ty)).expect("the extern was declared with a result");
                self.bind(result, value);
            }
            _ => {
                let slots: Vec<Val> = results.iter().map(|_| self.b.stack_slot(8, 8)).collect();
                params.extend(slots.iter().map(|_| Param::from(Ty::PTR)));
                values.extend(&slots);
                let callee = self.cx.nest.extern_func(symbol, &params, None);
                self.b.call_extern(callee, &values, None);
                for (&result, slot) in results.iter().zip(slots) {
                    let ty = returned(self, result);
                    let value = self.b.load(ty, slot, 0, Access::ANY);
                    self.bind(result, value);
                }
            }
        }
        Ok(())
    }

    fn open_results(
        &mut self,
        results: &[Value],
        symbol: &str,
        mut params: Vec<Param>,
        mut values: Vec<Val>,
    ) -> Result<()> {
        let (first, open) = results.split_at(1.min(results.len()));
        let words = 8 * open.len().max(1) as u32;
        let (tags, out) = (self.b.stack_slot(words, 8), self.b.stack_slot(words, 8));
        for (k, &v) in open.iter().enumerate() {
            let ty = self.func.ty(v);
            let elem = if ty.is_scalar() { ty.elem } else { Elem::Handle };
            let tag = self.b.i64(i64::from(elem.tag()));
            self.b.store(tag, tags, 8 * k as i32, Access::ALIGNED);
            let zero = self.b.i64(0);
            self.b.store(zero, out, 8 * k as i32, Access::ALIGNED);
        }
        params.extend([Ty::PTR, Ty::PTR, Ty::I64].map(Param::from));
        values.extend([tags, out, self.b.i64(open.len() as i64)]);
        let result = first.first().map(|v| machine_type(self.func.ty(*v)));
        let callee = self.cx.nest.extern_func(symbol, &params, result);
        if let (Some(value), Some(&v)) = (self.b.call_extern(callee, &values, result), first.first()) {
            self.bind(v, value);
        }
        for (k, &v) in open.iter().enumerate() {
            let ty = machine_type(self.func.ty(v));
            let word = self.b.load(Ty::I64, out, 8 * k as i32, Access::ALIGNED);
            let value = match ty.prim {
                Prim::I64 => word,
                Prim::F64 | Prim::Ptr => self.b.convert(ConvOp::Bits, word, ty.prim),
                Prim::F32 => {
                    let low = self.b.convert(ConvOp::Narrow, word, Prim::I32);
                    self.b.convert(ConvOp::Bits, low, Prim::F32)
                }
                int => self.b.convert(ConvOp::Narrow, word, int),
            };
            self.bind(v, value);
        }
        Ok(())
    }
}
