//! Loops: with trip counts that differ from index to index, and loops that update arrays in place.

use super::super::ghost::Ghost;
use super::super::{Dim, FnGen, Var};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Generator, Op, Part, Value, With, WithOp};

impl FnGen<'_> {
    /// Every index runs a loop until its own number has come down, as in a picture of the Mandelbrot set.
    pub(super) fn escape(&mut self) -> Vec<Var> {
        let real = self.shared.rng.pick(&[Elem::F64, Elem::F32]);
        let rank = 1 + self.below(2);
        let mut dims: Vec<Dim> = (0..rank).map(|_| self.length()).collect();
        let most = self.range(1, 12);
        self.fitted(&mut dims, 2 * most);
        let seeds = self.seeded(Elem::I32, &dims);
        let slopes = self.seeded(real, &dims);
        let (guarded, kind, limited) = (self.chance(1, 3), self.below(3), self.chance(1, 2));
        let counts = self.each(Elem::I32, &dims, |this, index| {
            let seed = this.at(&seeds, index);
            let slope = this.at(&slopes, index);
            let run = |this: &mut Self| this.orbit(seed, slope, real, most, kind, limited);
            if !guarded {
                return run(this);
            }
            let zero = this.int(0);
            let cond = this.i32_op(BinOp::Gt, seed, zero);
            let regions = [this.func.new_region(), this.func.new_region()];
            this.in_region(regions[0], 1, |this| {
                let count = run(this);
                this.func.regions[regions[0]].yields = vec![count];
            });
            this.func.regions[regions[1]].yields = vec![seed];
            this.emit(Op::If { cond, then: regions[0], els: regions[1] }, Ty::scalar(Elem::I32))
        });
        if self.chance(1, 3) {
            let bounds = self.whole(&dims);
            let runs = self.most(&dims);
            let sum = self.total(BinOp::Add, Elem::I32, bounds, runs, |this, index| this.at(&counts, index));
            let sum = self.var(sum, Elem::I32, &[], Ghost::any(Elem::I32));
            return vec![counts, sum];
        }
        vec![counts]
    }

    /// The loop of one index. Its condition rests on integers, or on reals that are exact.
    fn orbit(&mut self, seed: Value, slope: Value, real: Elem, most: i64, kind: usize, limited: bool) -> Value {
        let (int, flag) = (Ty::scalar(Elem::I32), Ty::scalar(Elem::Bool));
        let zero = self.int(0);
        let start = self.small(real, 1);
        let body = self.func.new_region();
        self.in_region(body, most, |this| {
            let count = this.func.add_param(body, int.clone());
            let x = this.func.add_param(body, int.clone());
            let z = this.func.add_param(body, Ty::scalar(real));
            let (five, three, modulus) = (this.int(5), this.int(3), this.int(64));
            let next = this.i32_op(BinOp::Mul, x, five);
            let next = this.i32_op(BinOp::Add, next, three);
            let next = this.i32_op(BinOp::AplMod, next, modulus);
            let z2 = this.op(BinOp::Add, real, z, slope);
            let (more, up) = this.counted(count, most);
            let free = match kind {
                0 => {
                    let stop = this.int(20);
                    this.i32_op(BinOp::Ge, next, stop)
                }
                1 => {
                    let stop = this.small(real, 6);
                    this.op(BinOp::Lt, real, z2, stop)
                }
                _ => {
                    let limit = this.small(real, 16);
                    let square = this.op(BinOp::Mul, real, z2, z2);
                    this.op(BinOp::Le, real, square, limit)
                }
            };
            let go_on = this.emit(Op::Bin(BinOp::And, more, free), flag);
            this.func.regions[body].yields = vec![go_on, up, next, z2];
        });
        self.fuel -= 1;
        let span = self.next_span();
        let types = vec![int.clone(), int, Ty::scalar(real)];
        let inst = self.func.push(self.region, Op::Loop { init: vec![zero, seed, start], body }, types, span);
        let results = self.func.insts[inst].results.clone();
        if limited { results[0] } else { self.i32_op(BinOp::Add, results[0], results[1]) }
    }

    /// Sweeps over every second element, in place.
    pub(super) fn two_colours(&mut self) -> Vec<Var> {
        let elem = self.number();
        let mut dims = [self.length()];
        self.fitted(&mut dims, 8);
        let n = dims[0];
        let mut a = self.input(elem, &[n]);
        if self.size(n) < 3 {
            return vec![a];
        }
        let (step, width) = (self.range(2, 4), 1);
        for round in 0..2 + self.below(3) as i64 {
            let (first, one, end) = (self.int(1 + round % 2), self.int(1), self.extent(n));
            let last = self.i32_op(BinOp::Sub, end, one);
            let source = a.clone();
            let mut part: Part = self.part(vec![first], vec![last], self.size(n), |this, i| {
                let (before, after) = (this.i32_op(BinOp::Sub, i[0], one), this.i32_op(BinOp::Add, i[0], one));
                let (x, y) = (this.at(&source, &[before]), this.at(&source, &[after]));
                let sum = this.op(BinOp::Add, elem, x, y);
                let half = this.small(elem, if matches!(elem, Elem::F32 | Elem::F64) { 2 } else { 1 });
                this.op(BinOp::Mul, elem, sum, half)
            });
            if let Generator::Known { step: s, width: w, .. } = &mut part.generator {
                *s = Some(vec![self.int(step)]);
                *w = if self.chance(1, 2) { Some(vec![self.int(width)]) } else { None };
            }
            let ty = self.ty(elem, &[n]);
            let op = WithOp::Modarray { array: a.value };
            let value = self.emit(Op::With(With { parts: vec![part], ops: vec![op], ordered: false }), ty);
            a = self.var(value, elem, &[n], Self::wild(elem));
        }
        vec![a]
    }

    /// A loop over the elements of an array that updates another one: counts, prefix sums, or a second name for the old state.
    pub(super) fn sequential(&mut self) -> Vec<Var> {
        let elem = self.number();
        let mut dims = [self.length()];
        self.fitted(&mut dims, 4);
        let n = self.size(dims[0]).max(1);
        let dim = self.length_of(n);
        let cells = self.range(1, 9);
        let table = self.const_dim(cells);
        let data = self.input(elem, &[dim]);
        let places = self.seeded(Elem::U8, &[dim]);
        let kind = self.below(4);
        let carried = if kind == 0 { table } else { dim };
        let ty = self.ty(elem, &[carried]);
        let zero = self.small(elem, 0);
        let first = match kind {
            0 => self.array_of(elem, &[carried], Vec::new(), Some(zero)),
            _ => self.input(elem, &[carried]),
        };
        let (start, other) = (self.int(0), first.value);
        let body = self.func.new_region();
        self.in_region(body, n, |this| {
            let i = this.func.add_param(body, Ty::scalar(Elem::I32));
            let a = this.func.add_param(body, ty.clone());
            let a = this.var(a, elem, &[carried], Self::wild(elem));
            let b = this.func.add_param(body, ty.clone());
            let b = this.var(b, elem, &[carried], Self::wild(elem));
            let x = this.at(&data, &[i]);
            let (place, value) = match kind {
                0 => {
                    let byte = this.at(&places, &[i]);
                    let int = this.emit(Op::Convert(byte), Ty::scalar(Elem::I32));
                    let end = this.int(cells);
                    let place = this.i32_op(BinOp::Mod, int, end);
                    let old = this.at(&a, &[place]);
                    (place, this.op(BinOp::Add, elem, old, x))
                }
                1 => {
                    let (zero, one) = (this.int(0), this.int(1));
                    let before = this.i32_op(BinOp::Sub, i, one);
                    let before = this.i32_op(BinOp::Max, before, zero);
                    let old = this.at(&a, &[before]);
                    (i, this.op(BinOp::Max, elem, old, x))
                }
                _ => {
                    // The old array is alive beside the new one.
                    let (y, z) = (this.at(&b, &[i]), this.at(&a, &[i]));
                    let sum = this.op(BinOp::Sub, elem, y, z);
                    (i, this.op(BinOp::Add, elem, sum, x))
                }
            };
            let next = this.emit(Op::Update { array: a.value, index: vec![place], value }, ty.clone());
            let other = match kind {
                2 => a.value,
                3 => {
                    let y = this.at(&b, &[place]);
                    let y = this.op(BinOp::Max, elem, y, value);
                    this.emit(Op::Update { array: b.value, index: vec![place], value: y }, ty.clone())
                }
                _ => b.value,
            };
            let (go_on, up) = this.counted(i, n);
            this.func.regions[body].yields = vec![go_on, up, next, other];
        });
        self.fuel -= 1;
        let span = self.next_span();
        let op = Op::Loop { init: vec![start, first.value, other], body };
        let inst = self.func.push(self.region, op, vec![Ty::scalar(Elem::I32), ty.clone(), ty], span);
        let results = self.func.insts[inst].results.clone();
        let mut made: Vec<Var> =
            results[1..].iter().map(|v| self.var(*v, elem, &[carried], Self::wild(elem))).collect();
        if self.chance(1, 2) {
            // The array from before the loop is still there.
            made.push(first);
        }
        made
    }

    /// A loop that replaces the elements of a row by what stands before and behind them: by old elements, new ones, or both.
    pub(super) fn sweep(&mut self) -> Vec<Var> {
        let elem = self.number();
        let mut dims: Vec<Dim> = (0..1 + self.below(2)).map(|_| self.length()).collect();
        self.fitted(&mut dims, 4);
        let first = self.input(elem, &dims);
        let sizes: Vec<i64> = dims.iter().map(|dim| self.size(*dim)).collect();
        let distances = [self.range(0, 3), if self.chance(1, 3) { self.range(-2, 2) } else { self.range(0, 5) }];
        let low = distances.iter().map(|d| -d).fold(0, i64::max);
        let high = sizes[sizes.len() - 1] - distances.iter().copied().fold(0, i64::max);
        if low >= high || sizes[0] == 0 {
            return vec![first];
        }
        let row: Vec<i64> = sizes[1..].iter().map(|_| self.range(0, sizes[0] - 1)).collect();
        let kind = self.shared.rng.pick(&[BinOp::Add, BinOp::Sub, BinOp::Max]);
        let ty = self.ty(elem, &dims);
        let start = self.int(low);
        let body = self.func.new_region();
        self.in_region(body, high - low, |this| {
            let i = this.func.add_param(body, Ty::scalar(Elem::I32));
            let a = this.func.add_param(body, ty.clone());
            let a = this.var(a, elem, &dims, Self::wild(elem));
            let mut place: Vec<Value> = row.iter().map(|k| this.int(*k)).collect();
            let read = |this: &mut Self, distance: i64| {
                let distance = this.int(distance);
                let mut index = place.clone();
                index.push(this.i32_op(BinOp::Add, i, distance));
                this.at(&a, &index)
            };
            let [x, y] = distances.map(|distance| read(this, distance));
            let value = this.op(kind, elem, x, y);
            place.push(i);
            let next = this.emit(Op::Update { array: a.value, index: place, value }, ty.clone());
            let (go_on, up) = this.counted(i, high);
            this.func.regions[body].yields = vec![go_on, up, next];
        });
        self.fuel -= 1;
        let span = self.next_span();
        let op = Op::Loop { init: vec![start, first.value], body };
        let inst = self.func.push(self.region, op, vec![Ty::scalar(Elem::I32), ty], span);
        let result = self.func.insts[inst].results[1];
        let mut made = vec![self.var(result, elem, &dims, Self::wild(elem))];
        if self.chance(1, 3) {
            made.push(first);
        }
        made
    }
}
