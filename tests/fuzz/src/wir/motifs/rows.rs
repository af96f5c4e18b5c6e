//! With-loops whose bodies make arrays of their own: normalised rows, small solvers, private tables.

use super::super::{Dim, FnGen, Var};
use super::Frame;
use ravel_types::{BinOp, Elem, Ty, UnOp};
use ravel_wir::{Op, Value, With, WithOp};

impl FnGen<'_> {
    /// A result for every row of a matrix, by way of arrays that live for one row.
    pub(super) fn rows(&mut self) -> Vec<Var> {
        let elem = self.number();
        let mut dims = [self.length(), self.length()];
        self.fitted(&mut dims, 8);
        let [m, n] = dims;
        let a = self.input(elem, &[m, n]);
        let kind = self.below(5);
        if self.chance(1, 3) {
            // One number per row.
            let made = self.each(elem, &[m], |this, i| {
                let row = this.row(&a, i[0], n, kind);
                let bounds = this.whole(&[n]);
                let runs = this.size(n);
                this.total(BinOp::Add, elem, bounds, runs, |this, k| this.at(&row, k))
            });
            return vec![made];
        }
        // A row per row.
        let (lower, upper) = self.whole(&[m]);
        let part = self.part(lower, upper, self.size(m), |this, i| this.row(&a, i[0], n, kind).value);
        let (frame, cell) = (Frame::Known(self.extents(&[m])), Some(self.extents(&[n])));
        let ty = self.ty(elem, &[m, n]);
        let op = WithOp::Genarray { frame, cell, default: None };
        let value = self.emit(Op::With(With { parts: vec![part], ops: vec![op], ordered: false }), ty);
        vec![self.var(value, elem, &[m, n], Self::wild(elem))]
    }

    /// Numbers of the rows of a matrix, and elements made of those and the rows, in steps of their own.
    pub(super) fn steps(&mut self) -> Vec<Var> {
        let elem = self.number();
        let mut dims = [self.length(), self.length()];
        self.fitted(&mut dims, 4);
        let [m, n] = dims;
        let a = self.input(elem, &[m, n]);
        let runs = self.size(n);
        let most = self.each(elem, &[m], |this, i| {
            let (i, bounds) = (i[0], this.whole(&[n]));
            this.total(BinOp::Max, elem, bounds, runs, |this, k| this.at(&a, &[i, k[0]]))
        });
        let deep = self.chance(1, 2);
        let total = self.each(elem, &[m], |this, i| {
            let (i, bounds) = (i[0], this.whole(&[n]));
            this.total(BinOp::Add, elem, bounds, runs, |this, k| {
                let x = this.at(&a, &[i, k[0]]);
                let top = if deep { this.at(&most, &[i]) } else { this.small(elem, 4) };
                this.op(BinOp::Sub, elem, x, top)
            })
        });
        let first = self.chance(1, 4);
        let cells = self.each(elem, &[m, n], |this, i| {
            let x = this.at(&a, i);
            let t = this.at(&total, &[i[0]]);
            let less = this.op(BinOp::Sub, elem, x, t);
            let other = if first { this.at(&most, &[i[0]]) } else { this.small(elem, 4) };
            this.op(BinOp::Add, elem, less, other)
        });
        if self.chance(1, 2) { vec![cells, total] } else { vec![cells] }
    }

    fn row(&mut self, a: &Var, i: Value, n: Dim, kind: usize) -> Var {
        let elem = a.elem;
        let real = matches!(elem, Elem::F32 | Elem::F64);
        let runs = self.size(n);
        let first = self.each(elem, &[n], |this, k| {
            let x = this.at(a, &[i, k[0]]);
            let one = this.small(elem, 4);
            this.op(BinOp::Add, elem, x, one)
        });
        match kind {
            // Less its largest element; reals are made to sum to one.
            0 => {
                let bounds = self.whole(&[n]);
                let most = self.total(BinOp::Max, elem, bounds, runs, |this, k| this.at(&first, k));
                let less = self.each(elem, &[n], |this, k| {
                    let x = this.at(&first, k);
                    let x = this.op(BinOp::Sub, elem, x, most);
                    if real { this.emit(Op::Un(UnOp::Exp, x), Ty::scalar(elem)) } else { x }
                });
                if !real {
                    return less;
                }
                let bounds = self.whole(&[n]);
                let total = self.total(BinOp::Add, elem, bounds, runs, |this, k| this.at(&less, k));
                self.each(elem, &[n], |this, k| {
                    let x = this.at(&less, k);
                    this.op(BinOp::Div, elem, x, total)
                })
            }
            // Mixed with its neighbours a few times.
            1 | 2 => {
                let rounds = self.range(1, 3);
                let body = self.func.new_region();
                let ty = self.ty(elem, &[n]);
                let start = self.int(0);
                self.in_region(body, rounds, |this| {
                    let round = this.func.add_param(body, Ty::scalar(Elem::I32));
                    let old = this.func.add_param(body, ty.clone());
                    let old = this.var(old, elem, &[n], Self::wild(elem));
                    let next = if kind == 1 {
                        this.each(elem, &[n], |this, k| {
                            let (one, end) = (this.int(1), this.extent(n));
                            let after = this.i32_op(BinOp::Add, k[0], one);
                            let after = this.i32_op(BinOp::Mod, after, end);
                            let (x, y) = (this.at(&old, k), this.at(&old, &[after]));
                            let half = this.small(elem, 2);
                            let sum = this.op(BinOp::Add, elem, x, y);
                            if real { this.op(BinOp::Mul, elem, sum, half) } else { sum }
                        })
                        .value
                    } else {
                        this.replaced(&old, n, round)
                    };
                    let go_on = this.counted(round, rounds);
                    this.func.regions[body].yields = vec![go_on.0, go_on.1, next];
                });
                self.fuel -= 1;
                let span = self.next_span();
                let op = Op::Loop { init: vec![start, first.value], body };
                let inst = self.func.push(self.region, op, vec![Ty::scalar(Elem::I32), ty], span);
                let value = self.func.insts[inst].results[1];
                self.var(value, elem, &[n], Self::wild(elem))
            }
            // Sums of everything before.
            3 => self.each(elem, &[n], |this, k| {
                let (zero, one) = (this.int(0), this.int(1));
                let end = this.i32_op(BinOp::Add, k[0], one);
                this.total(BinOp::Add, elem, (vec![zero], vec![end]), runs, |this, l| this.at(&first, l))
            }),
            // Turned round.
            _ => self.each(elem, &[n], |this, k| {
                let (end, one) = (this.extent(n), this.int(1));
                let last = this.i32_op(BinOp::Sub, end, one);
                let place = this.i32_op(BinOp::Sub, last, k[0]);
                this.at(&first, &[place])
            }),
        }
    }

    /// The array with one element, at an index taken modulo the extent, doubled; arrays without elements stay.
    fn replaced(&mut self, old: &Var, n: Dim, at: Value) -> Value {
        if self.size(n) == 0 {
            return old.value;
        }
        let end = self.extent(n);
        let place = self.i32_op(BinOp::Mod, at, end);
        let x = self.at(old, &[place]);
        let one = self.small(old.elem, 4);
        let x = self.op(BinOp::Add, old.elem, x, one);
        let ty = self.ty(old.elem, &[n]);
        self.emit(Op::Update { array: old.value, index: vec![place], value: x }, ty)
    }

    /// Whether a loop goes on, and its next counter.
    pub(super) fn counted(&mut self, counter: Value, trips: i64) -> (Value, Value) {
        let (one, end) = (self.int(1), self.int(trips));
        let up = self.i32_op(BinOp::Add, counter, one);
        (self.i32_op(BinOp::Lt, up, end), up)
    }
}
