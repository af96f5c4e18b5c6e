//! Functions that many indices call with the same arrays: they hand them back, change them, pass them on, keep them in a loop.
//!
//! On threads all of them count references to these arrays. A count that is wrong leaves an array behind, or changes one in place that
//! others read.

use super::super::{Dim, FnGen, Var};
use ravel_source::Span;
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Func, FuncId, Op, Region, Value};

impl FnGen<'_> {
    /// A with-loop whose cells come from calls with two captured arrays.
    pub(super) fn callers(&mut self) -> Vec<Var> {
        let elem = self.number();
        let n = self.range(1, 9);
        let n = self.length_of(n);
        let m = self.shared.rng.pick(&[3, 90, 130, 200, 333]);
        let mut outer = [self.length_of(m)];
        self.fitted(&mut outer, 4);
        let (a, b) = (self.input(elem, &[n]), self.input(elem, &[n]));
        let mut chain: Vec<FuncId> = Vec::new();
        for _ in 0..1 + self.below(4) {
            let callee = self.handler(elem, n, chain.last().copied());
            chain.push(callee);
        }
        let first = chain[chain.len() - 1];
        let second = self.shared.rng.pick(&chain);
        let ty = self.ty(elem, &[n]);
        let (again, as_arrays, sequential_too) = (self.chance(1, 2), self.chance(1, 3), self.chance(1, 3));
        let mut results = Vec::new();
        let cells = |this: &mut Self, i: Value| {
            let mut made = this.handled(first, [a.value, b.value, i], &ty);
            if again {
                let one = this.int(1);
                let next = this.i32_op(BinOp::Add, i, one);
                made = this.handled(second, [made, a.value, next], &ty);
            }
            made
        };
        if as_arrays {
            // The array that a call gives is a row.
            let (lower, upper) = self.whole(&outer);
            let runs = self.most(&outer);
            let part = self.part(lower, upper, runs, |this, index| cells(this, index[0]));
            results.push(self.rows_of(elem, [outer[0], n], part));
        } else {
            results.push(self.each(elem, &outer, |this, index| {
                let made = cells(this, index[0]);
                let extent = this.extent(n);
                let place = this.i32_op(BinOp::AplMod, index[0], extent);
                this.emit(Op::Sel { array: made, index: vec![place] }, Ty::scalar(elem))
            }));
        }
        if sequential_too {
            let two = self.int(2);
            let made = self.handled(first, [a.value, b.value, two], &ty);
            results.push(self.var(made, elem, &[n], Self::wild(elem)));
        }
        // The arrays themselves are as they were.
        results.extend([a, b]);
        results
    }

    fn rows_of(&mut self, elem: Elem, dims: [Dim; 2], part: ravel_wir::Part) -> Var {
        let frame = ravel_wir::Frame::Known(self.extents(&dims[..1]));
        let cell = Some(self.extents(&dims[1..]));
        let op = ravel_wir::WithOp::Genarray { frame, cell, default: None };
        let ty = self.ty(elem, &dims);
        let with = ravel_wir::With { parts: vec![part], ops: vec![op], ordered: false };
        let value = self.emit(Op::With(with), ty);
        self.var(value, elem, &dims, Self::wild(elem))
    }

    fn handled(&mut self, callee: FuncId, args: [Value; 3], ty: &Ty) -> Value {
        self.emit(Op::Call { func: callee, args: args.to_vec() }, ty.clone())
    }

    /// A function of two arrays and a number that gives an array; it may call `next`.
    fn handler(&mut self, elem: Elem, n: Dim, next: Option<FuncId>) -> FuncId {
        let name = format!("handle{}", self.shared.module.funcs.len());
        let func = self.shared.module.funcs.push(Func::new(name.clone(), Span::NONE));
        let known = self.dim(n).form.as_const();
        let (safe, weight, call_depth) = (self.safe + 1, self.weight, self.call_depth + 1);
        let mut callee = FnGen::new(self.shared, &name, 40, call_depth);
        (callee.safe, callee.weight) = (safe, weight);
        callee.func.noinline = callee.chance(5, 6);
        let n = match known {
            Some(n) => callee.const_dim(i64::from(n)),
            None => callee.symbolic_dim(1, 9, None),
        };
        let ty = callee.ty(elem, &[n]);
        let body = callee.func.body;
        let a = callee.func.add_param(body, ty.clone());
        let b = callee.func.add_param(body, ty.clone());
        let k = callee.func.add_param(body, Ty::scalar(Elem::I32));
        if known.is_none() {
            callee.dims[n.0].value = Some(callee.emit(Op::Extent { array: a, axis: 0 }, Ty::scalar(Elem::I32)));
        }
        let array = |value| super::super::Var { value, elem, dims: vec![n], ghost: Self::wild(elem) };
        let result = match callee.below(7) {
            0 => callee.either(k, &ty, |_| a, |_| b),
            1 => callee.changed(&array(a), k),
            2 => callee.either(k, &ty, |this| this.changed(&array(a), k), |_| b),
            3 => callee.swapped([a, b], &ty),
            4 => {
                // The function calls itself, until the number is even.
                let two = callee.int(2);
                let half = callee.i32_op(BinOp::Div, k, two);
                let odd = callee.either(k, &ty, |_| a, |this| this.handled(func, [b, a, half], &ty));
                callee.either(k, &ty, |_| odd, |_| b)
            }
            _ => match next {
                Some(next) => {
                    let made = callee.handled(next, [b, a, k], &ty);
                    match callee.below(3) {
                        0 => callee.changed(&array(made), k),
                        1 => callee.either(k, &ty, |_| made, |_| a),
                        _ => made,
                    }
                }
                None => a,
            },
        };
        callee.func.regions[body].yields = vec![result];
        let made = callee.func;
        self.shared.module.funcs[func] = made;
        func
    }

    /// One of two arrays, by whether the number is even.
    fn either(
        &mut self,
        k: Value,
        ty: &Ty,
        then: impl FnOnce(&mut Self) -> Value,
        els: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let (zero, two) = (self.int(0), self.int(2));
        let parity = self.i32_op(BinOp::AplMod, k, two);
        let cond = self.i32_op(BinOp::Eq, parity, zero);
        let regions = [self.func.new_region(), self.func.new_region()];
        self.yielding(regions[0], then);
        self.yielding(regions[1], els);
        self.emit(Op::If { cond, then: regions[0], els: regions[1] }, ty.clone())
    }

    fn yielding(&mut self, region: Region, make: impl FnOnce(&mut Self) -> Value) {
        let value = self.in_region(region, 1, make);
        self.func.regions[region].yields = vec![value];
    }

    /// The array with one element replaced.
    fn changed(&mut self, array: &Var, k: Value) -> Value {
        let extent = self.extent(array.dims[0]);
        let place = self.i32_op(BinOp::AplMod, k, extent);
        let old = self.emit(Op::Sel { array: array.value, index: vec![place] }, Ty::scalar(array.elem));
        let half = self.small(array.elem, 2);
        let value = self.op(BinOp::Max, array.elem, old, half);
        let ty = self.ty(array.elem, &array.dims);
        self.emit(Op::Update { array: array.value, index: vec![place], value }, ty)
    }

    /// Two arrays that a loop swaps a few times; the first of them.
    fn swapped(&mut self, arrays: [Value; 2], ty: &Ty) -> Value {
        let most = self.range(1, 4);
        let body = self.func.new_region();
        let zero = self.int(0);
        self.in_region(body, most, |this| {
            let (a, b) = (this.func.add_param(body, ty.clone()), this.func.add_param(body, ty.clone()));
            let count = this.func.add_param(body, Ty::scalar(Elem::I32));
            let (one, end) = (this.int(1), this.int(most));
            let next = this.i32_op(BinOp::Add, count, one);
            let again = this.i32_op(BinOp::Lt, next, end);
            this.func.regions[body].yields = vec![again, b, a, next];
        });
        let (span, int) = (self.next_span(), Ty::scalar(Elem::I32));
        let init = vec![arrays[0], arrays[1], zero];
        let op = Op::Loop { init, body };
        let inst = self.func.push(self.region, op, vec![ty.clone(), ty.clone(), int], span);
        self.func.insts[inst].results[0]
    }
}
