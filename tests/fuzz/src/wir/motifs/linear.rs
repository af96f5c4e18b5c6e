//! Products, sums over triangles and bands, and several results of one pass.

use super::super::{Dim, FnGen, Var};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Combine, Frame, Op, Part, Value, With, WithOp};

impl FnGen<'_> {
    /// A matrix product: either operand may be transposed, there may be a batch axis, and an epilogue.
    pub(super) fn product(&mut self) -> Vec<Var> {
        let elem = self.number();
        let mut dims = [self.length(), self.length(), self.length()];
        self.fitted(&mut dims, 2);
        let [m, n, k] = dims;
        let (a_flips, b_flips) = (self.chance(1, 4), self.chance(1, 2));
        let a = self.input(elem, &if a_flips { [k, m] } else { [m, k] });
        let b = self.input(elem, &if b_flips { [n, k] } else { [k, n] });
        let bias = if self.chance(1, 3) { Some(self.input(elem, &[n])) } else { None };
        let (cut, relu) = (self.chance(1, 6), self.chance(1, 4));
        let inner = self.size(k);
        let made = self.each(elem, &[m, n], |this, index| {
            let (i, j) = (index[0], index[1]);
            let (mut lower, upper) = this.whole(&[k]);
            if cut {
                let one = this.int(1);
                lower = vec![one];
            }
            let mut sum = this.total(BinOp::Add, elem, (lower, upper), inner, |this, l| {
                let x = this.at(&a, &if a_flips { [l[0], i] } else { [i, l[0]] });
                let y = this.at(&b, &if b_flips { [j, l[0]] } else { [l[0], j] });
                this.op(BinOp::Mul, elem, x, y)
            });
            if let Some(bias) = &bias {
                let b = this.at(bias, &[j]);
                sum = this.op(BinOp::Add, elem, sum, b);
            }
            if relu {
                let zero = this.small(elem, 0);
                sum = this.op(BinOp::Max, elem, sum, zero);
            }
            sum
        });
        vec![made]
    }

    /// The sum of outer products: a fold of arrays.
    pub(super) fn outer_products(&mut self) -> Vec<Var> {
        let elem = self.number();
        let mut dims = [self.length(), self.length(), self.length()];
        self.fitted(&mut dims, 2);
        let [b, m, n] = dims;
        let (x, y) = (self.input(elem, &[b, m]), self.input(elem, &[b, n]));
        let zero = self.small(elem, 0);
        let neutral = self.array_of(elem, &[m, n], Vec::new(), Some(zero));
        let (lower, upper) = self.whole(&[b]);
        let ty = self.ty(elem, &[m, n]);
        let part = self.part(lower, upper, self.size(b), |this, s| {
            let s = s[0];
            this.each(elem, &[m, n], |this, index| {
                let (p, q) = (this.at(&x, &[s, index[0]]), this.at(&y, &[s, index[1]]));
                this.op(BinOp::Mul, elem, p, q)
            })
            .value
        });
        let op = WithOp::Fold { neutral: neutral.value, combine: Combine::Op(BinOp::Add), stop: None };
        let value = self.emit(Op::With(With { parts: vec![part], ops: vec![op], ordered: false }), ty);
        vec![self.var(value, elem, &[m, n], Self::wild(elem))]
    }

    /// Folds whose bounds depend on the index: triangles, bands.
    pub(super) fn triangle(&mut self) -> Vec<Var> {
        let elem = self.number();
        let mut dims = [self.length(), self.length()];
        self.fitted(&mut dims, 2);
        let [m, n] = dims;
        let (a, x) = (self.input(elem, &[m, n]), self.input(elem, &[n]));
        let kind = self.below(4);
        let radius = self.range(0, 3);
        let op = self.shared.rng.pick(&[BinOp::Add, BinOp::Add, BinOp::Max, BinOp::Min]);
        let runs = self.size(n);
        let made = self.each(elem, &[m], |this, index| {
            let i = index[0];
            let (zero, one, end) = (this.int(0), this.int(1), this.extent(n));
            let after = this.i32_op(BinOp::Add, i, one);
            let (lower, upper) = match kind {
                0 => (zero, this.i32_op(BinOp::Min, after, end)),
                1 => (i, end),
                2 => {
                    let radius = this.int(radius);
                    let low = this.i32_op(BinOp::Sub, i, radius);
                    let high = this.i32_op(BinOp::Add, after, radius);
                    (this.i32_op(BinOp::Max, low, zero), this.i32_op(BinOp::Min, high, end))
                }
                _ => {
                    let two = this.int(2);
                    let half = this.i32_op(BinOp::Div, i, two);
                    (this.i32_op(BinOp::Min, half, end), end)
                }
            };
            this.total(op, elem, (vec![lower], vec![upper]), runs, |this, k| {
                let p = this.at(&a, &[i, k[0]]);
                let q = this.at(&x, &[k[0]]);
                this.op(BinOp::Mul, elem, p, q)
            })
        });
        vec![made]
    }

    /// Several folds, and perhaps an array, over one index set: in one with-loop or several.
    pub(super) fn moments(&mut self) -> Vec<Var> {
        let elem = self.number();
        let rank = 1 + self.below(2);
        let mut dims: Vec<Dim> = (0..rank).map(|_| self.length()).collect();
        self.fitted(&mut dims, 3);
        let a = self.input(elem, &dims);
        let ops = [BinOp::Add, BinOp::Max, BinOp::Min];
        let together = self.chance(1, 2);
        let body = |this: &mut Self, kind: usize, index: &[Value]| {
            let x = this.at(&a, index);
            if kind == 0 { this.op(BinOp::Mul, elem, x, x) } else { x }
        };
        if !together {
            let mut made = Vec::new();
            for (kind, op) in ops.into_iter().enumerate() {
                let bounds = self.whole(&dims);
                let runs = self.most(&dims);
                let value = self.total(op, elem, bounds, runs, |this, index| body(this, kind, index));
                made.push(self.var(value, elem, &[], Self::wild(elem)));
            }
            made.push(self.each(elem, &dims, |this, index| {
                let x = this.at(&a, index);
                let two = this.small(elem, 8);
                this.op(BinOp::Add, elem, x, two)
            }));
            return made;
        }
        let (lower, upper) = self.whole(&dims);
        let runs = self.most(&dims);
        let neutrals: Vec<Value> = [0, -8, 8].into_iter().map(|n| self.small(elem, n)).collect();
        let mut part: Part = self.part(lower, upper, runs, |this, index| body(this, 0, index));
        let region = part.body;
        let index = self.func.regions[region].params.clone();
        let others = self.in_region(region, runs, |this| {
            let x = this.at(&a, &index);
            [x, x, this.op(BinOp::Sub, elem, x, x)]
        });
        self.func.regions[region].yields.extend(others);
        part.body = region;
        let fold = |op, neutral| WithOp::Fold { neutral, combine: Combine::Op(op), stop: None };
        let mut all: Vec<WithOp> = ops.into_iter().zip(neutrals).map(|(op, neutral)| fold(op, neutral)).collect();
        all.push(WithOp::Genarray { frame: Frame::Known(self.extents(&dims)), cell: Some(Vec::new()), default: None });
        let mut types = vec![Ty::scalar(elem); 3];
        types.push(self.ty(elem, &dims));
        self.fuel -= 1;
        let span = self.next_span();
        let inst =
            self.func.push(self.region, Op::With(With { parts: vec![part], ops: all, ordered: false }), types, span);
        let results = self.func.insts[inst].results.clone();
        let shapes: [&[Dim]; 4] = [&[], &[], &[], &dims];
        results.into_iter().zip(shapes).map(|(v, dims)| self.var(v, elem, dims, Self::wild(elem))).collect()
    }

    /// The sum over the halves of a transform: `a[2k]`, `a[2k+1]`, and their combinations side by side.
    pub(super) fn butterfly(&mut self) -> Vec<Var> {
        let elem = self.number();
        let half = self.range(1, if self.shared.huge { 200 } else { 20 });
        let (m, n) = (self.const_dim(half), self.const_dim(2 * half));
        let mut a = self.input(elem, &[n]);
        for _ in 0..1 + self.below(3) {
            let source = a.clone();
            let parity = |this: &mut Self, odd: i64, k: Value| {
                let (two, odd) = (this.int(2), this.int(odd));
                let twice = this.i32_op(BinOp::Mul, k, two);
                let place = this.i32_op(BinOp::Add, twice, odd);
                this.at(&source, &[place])
            };
            let stored = self.chance(1, 2);
            let even = if stored { Some(self.each(elem, &[m], |this, k| parity(this, 0, k[0]))) } else { None };
            let (zero, middle, end) = (self.int(0), self.extent(m), self.extent(n));
            let mut parts = Vec::new();
            for (lower, upper, op) in [(zero, middle, BinOp::Add), (middle, end, BinOp::Sub)] {
                parts.push(self.part(vec![lower], vec![upper], half, |this, i| {
                    let k = this.i32_op(BinOp::Sub, i[0], lower);
                    let x = match &even {
                        Some(even) => this.at(even, &[k]),
                        None => parity(this, 0, k),
                    };
                    let y = parity(this, 1, k);
                    let half = this.small(elem, if matches!(elem, Elem::F32 | Elem::F64) { 2 } else { 1 });
                    let y = this.op(BinOp::Mul, elem, y, half);
                    this.op(op, elem, x, y)
                }));
            }
            a = self.array_of(elem, &[n], parts, None);
        }
        // And interleaved again.
        let (source, two) = (a.clone(), self.chance(1, 2));
        let mixed = self.each(elem, &[n], |this, i| {
            let (by, middle) = (this.int(2), this.extent(m));
            let k = this.i32_op(BinOp::Div, i[0], by);
            let (op, with) = if two { (BinOp::Mod, by) } else { (BinOp::And, this.int(1)) };
            let odd = this.i32_op(op, i[0], with);
            let shift = this.i32_op(BinOp::Mul, odd, middle);
            let place = this.i32_op(BinOp::Add, k, shift);
            this.at(&source, &[place])
        });
        vec![a, mixed]
    }
}
