//! Stencils with every kind of boundary, pooling, and shifts by amounts that only the run knows.

use super::super::{Dim, FnGen, Var};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Generator, Op, Value};

/// What happens at the border.
#[derive(Clone, Copy, PartialEq)]
enum Border {
    /// `(i + o + n) mod n`, by the remainder of C or of APL.
    Wraps(BinOp),
    /// The nearest element.
    Clamps,
    /// A condition in the body selects, or branches.
    Selects,
    Branches,
    /// Only the inside is computed; outside is a default or another array.
    Inside,
}

impl FnGen<'_> {
    /// A stencil over one to three axes.
    pub(super) fn window(&mut self) -> Vec<Var> {
        let elem = self.number();
        let rank = 1 + self.below(3).min(self.below(3));
        let mut dims: Vec<Dim> = (0..rank).map(|_| self.length()).collect();
        self.fitted(&mut dims, 6);
        let border = match self.below(6) {
            0 => Border::Wraps(BinOp::AplMod),
            1 => Border::Wraps(BinOp::Mod),
            2 => Border::Clamps,
            3 => Border::Selects,
            4 => Border::Branches,
            _ => Border::Inside,
        };
        let mut a = self.input(elem, &dims);
        for _ in 0..1 + self.below(2) {
            let reach = self.range(1, 2);
            a = if self.chance(1, 3) { self.weighted(&a, border, reach) } else { self.star(&a, border, reach) };
        }
        vec![a]
    }

    /// The index moved by a constant, made safe.
    fn moved(&mut self, i: Value, dim: Dim, by: i64, border: Border) -> Value {
        let n = self.extent(dim);
        let shift = self.int(by);
        let j = self.i32_op(BinOp::Add, i, shift);
        match border {
            Border::Wraps(BinOp::AplMod) => self.i32_op(BinOp::AplMod, j, n),
            Border::Wraps(_) => {
                // The remainder of C needs something that is not negative.
                let (mut j, mut up) = (j, by);
                while up < 0 && by < 0 {
                    j = self.i32_op(BinOp::Add, j, n);
                    up += self.size(dim).max(1);
                }
                self.i32_op(BinOp::Mod, j, n)
            }
            Border::Clamps => {
                let (zero, one) = (self.int(0), self.int(1));
                let last = self.i32_op(BinOp::Sub, n, one);
                let j = self.i32_op(BinOp::Max, j, zero);
                self.i32_op(BinOp::Min, j, last)
            }
            _ => j,
        }
    }

    /// Whether the index is at least `reach` away from the ends of every axis.
    fn is_inside(&mut self, dims: &[Dim], index: &[Value], reach: i64) -> Value {
        let ty = Ty::scalar(Elem::Bool);
        let mut all = self.constant(ravel_types::Scalar::Bool(true));
        for (dim, i) in dims.iter().zip(index) {
            let (reach, n) = (self.int(reach), self.extent(*dim));
            let end = self.i32_op(BinOp::Sub, n, reach);
            let low = self.i32_op(BinOp::Ge, *i, reach);
            let high = self.i32_op(BinOp::Lt, *i, end);
            let both = self.emit(Op::Bin(BinOp::And, low, high), ty.clone());
            all = self.emit(Op::Bin(BinOp::And, all, both), ty.clone());
        }
        all
    }

    /// Runs `cell` where the border rule allows it.
    fn bordered(&mut self, a: &Var, border: Border, reach: i64, cell: impl Fn(&mut Self, &[Value]) -> Value) -> Var {
        let (elem, dims) = (a.elem, a.dims.clone());
        match border {
            Border::Wraps(_) | Border::Clamps => self.each(elem, &dims, |this, index| cell(this, index)),
            Border::Selects | Border::Branches => self.each(elem, &dims, |this, index| {
                let inside = this.is_inside(&dims, index, reach);
                let regions = [this.func.new_region(), this.func.new_region()];
                for (k, region) in regions.into_iter().enumerate() {
                    this.in_region(region, 1, |this| {
                        let value = if k == 0 { cell(this, index) } else { this.at(a, index) };
                        this.func.regions[region].yields = vec![value];
                    });
                }
                let inner = this.emit(Op::If { cond: inside, then: regions[0], els: regions[1] }, Ty::scalar(elem));
                if border == Border::Branches {
                    return inner;
                }
                let other = this.at(a, index);
                let twice = this.op(BinOp::Add, elem, other, other);
                this.emit(Op::Select { cond: inside, then: inner, els: twice }, Ty::scalar(elem))
            }),
            Border::Inside => {
                let near = self.int(reach);
                let extents = self.extents(&dims);
                let upper: Vec<Value> = extents.iter().map(|n| self.i32_op(BinOp::Sub, *n, near)).collect();
                let lower = vec![near; dims.len()];
                // With an extent below twice the reach the box would be upside down on one axis only, which is empty.
                let runs = self.most(&dims);
                let mut part = self.part(lower, upper, runs, |this, index| cell(this, index));
                if self.chance(1, 4)
                    && let Generator::Known { step, width, .. } = &mut part.generator
                {
                    let steps: Vec<i64> = dims.iter().map(|_| self.shared.rng.pick(&[1, 2, 2, 3])).collect();
                    *step = Some(steps.into_iter().map(|n| self.int(n)).collect());
                    *width = None;
                }
                let small = dims.iter().any(|d| self.size(*d) < 2 * reach);
                let parts = if small { Vec::new() } else { vec![part] };
                if self.chance(1, 2) {
                    let ty = self.ty(elem, &dims);
                    let op = ravel_wir::WithOp::Modarray { array: a.value };
                    let parts = if parts.is_empty() { self.whole_copy(a) } else { parts };
                    let value = self.emit(Op::With(ravel_wir::With { parts, ops: vec![op], ordered: false }), ty);
                    return self.var(value, elem, &dims, Self::wild(elem));
                }
                let default = self.small(elem, 3);
                self.array_of(elem, &dims, parts, Some(default))
            }
        }
    }

    /// The partition that copies an array.
    fn whole_copy(&mut self, a: &Var) -> Vec<ravel_wir::Part> {
        let (lower, upper) = self.whole(&a.dims);
        vec![self.part(lower, upper, self.most(&a.dims), |this, index| this.at(a, index))]
    }

    /// The sum of the neighbours along every axis.
    fn star(&mut self, a: &Var, border: Border, reach: i64) -> Var {
        let dims = a.dims.clone();
        let elem = a.elem;
        let whole = self.chance(1, 2);
        self.bordered(a, border, reach, |this, index| {
            let mut sum = if whole { this.at(a, index) } else { this.small(elem, 1) };
            for (k, dim) in dims.iter().enumerate() {
                for by in [-reach, reach] {
                    let mut place = index.to_vec();
                    place[k] = this.moved(index[k], *dim, by, border);
                    let x = this.at(a, &place);
                    sum = this.op(BinOp::Add, elem, sum, x);
                }
            }
            let half = this.small(elem, if matches!(elem, Elem::F32 | Elem::F64) { 1 } else { 3 });
            this.op(BinOp::Mul, elem, sum, half)
        })
    }

    /// A fold over the window, with weights.
    fn weighted(&mut self, a: &Var, border: Border, reach: i64) -> Var {
        let (elem, dims) = (a.elem, a.dims.clone());
        let side = self.const_dim(2 * reach + 1);
        let sides = vec![side; dims.len()];
        let weights = self.input(elem, &sides);
        let runs = self.most(&sides);
        self.bordered(a, border, reach, |this, index| {
            let bounds = this.whole(&sides);
            this.total(BinOp::Add, elem, bounds, runs, |this, o| {
                let mut place = Vec::new();
                for (k, dim) in dims.iter().enumerate() {
                    let sum = this.i32_op(BinOp::Add, index[k], o[k]);
                    let j = match border {
                        Border::Wraps(_) => {
                            let n = this.extent(*dim);
                            this.i32_op(BinOp::Mod, sum, n)
                        }
                        _ => this.moved(sum, *dim, -reach, border),
                    };
                    place.push(j);
                }
                let (x, w) = (this.at(a, &place), this.at(&weights, o));
                this.op(BinOp::Mul, elem, x, w)
            })
        })
    }

    /// Sums over blocks, and their results spread out again.
    pub(super) fn pooled(&mut self) -> Vec<Var> {
        let elem = self.number();
        let block = self.range(1, 4);
        let mut out = [self.length(), self.length()];
        self.fitted(&mut out, 2 * block * block);
        let constant = out.map(|d| self.size(d));
        let large = constant.map(|n| self.const_dim(n * block));
        let out = constant.map(|n| self.const_dim(n));
        let a = self.input(elem, &large);
        let side = self.const_dim(block);
        let op = self.shared.rng.pick(&[BinOp::Add, BinOp::Max]);
        let pooled = self.each(elem, &out, |this, i| {
            let bounds = this.whole(&[side, side]);
            this.total(op, elem, bounds, block * block, |this, o| {
                let by = this.int(block);
                let place: Vec<Value> = i
                    .iter()
                    .zip(o)
                    .map(|(i, o)| {
                        let start = this.i32_op(BinOp::Mul, *i, by);
                        this.i32_op(BinOp::Add, start, *o)
                    })
                    .collect();
                this.at(&a, &place)
            })
        });
        let weights = self.input(elem, &[side]);
        let spread = self.each(elem, &large, |this, i| {
            let by = this.int(block);
            let place: Vec<Value> = i.iter().map(|i| this.i32_op(BinOp::Div, *i, by)).collect();
            let rest = this.i32_op(BinOp::Mod, i[1], by);
            let (x, w) = (this.at(&pooled, &place), this.at(&weights, &[rest]));
            this.op(BinOp::Mul, elem, x, w)
        });
        vec![pooled, spread]
    }

    /// Shifts and rotations by amounts that are known or not.
    pub(super) fn shifted(&mut self) -> Vec<Var> {
        let elem = self.number();
        let mut dims = [self.length()];
        self.fitted(&mut dims, 4);
        let n = dims[0];
        let mut a = self.input(elem, &[n]);
        for _ in 0..1 + self.below(3) {
            let most = self.size(n);
            let by = self.range(0, most);
            let by = self.int(by);
            let by = if self.chance(2, 3) { self.emit(Op::Opaque(by), Ty::scalar(Elem::I32)) } else { by };
            let source = a.clone();
            a = match self.below(3) {
                0 => self.each(elem, &[n], |this, i| {
                    let sum = this.i32_op(BinOp::Add, i[0], by);
                    let n = this.extent(n);
                    let place = this.i32_op(BinOp::AplMod, sum, n);
                    this.at(&source, &[place])
                }),
                1 => {
                    let (zero, end) = (self.int(0), self.extent(n));
                    let first = self.part(vec![by], vec![end], most, |this, i| {
                        let place = this.i32_op(BinOp::Sub, i[0], by);
                        this.at(&source, &[place])
                    });
                    let around = self.chance(1, 2);
                    let mut parts = vec![first];
                    if around {
                        let gap = self.i32_op(BinOp::Sub, end, by);
                        parts.push(self.part(vec![zero], vec![by], most, |this, i| {
                            let place = this.i32_op(BinOp::Add, i[0], gap);
                            this.at(&source, &[place])
                        }));
                    }
                    let default = if around { None } else { Some(self.small(elem, 5)) };
                    self.array_of(elem, &[n], parts, default)
                }
                _ => self.each(elem, &[n], |this, i| {
                    // Read from the other end.
                    let (end, one) = (this.extent(n), this.int(1));
                    let last = this.i32_op(BinOp::Sub, end, one);
                    let place = this.i32_op(BinOp::Sub, last, i[0]);
                    this.at(&source, &[place])
                }),
            };
        }
        vec![a]
    }
}
