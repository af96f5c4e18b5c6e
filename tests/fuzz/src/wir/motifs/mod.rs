//! Kernels as people write them: the shapes of code that passes and schedules look for, with everything about them that can
//! vary varied. Random expressions alone hardly ever add up to a matrix product.

mod linear;
mod loops;
mod rows;
mod shared;
mod windows;

use super::ghost::{Ghost, MOST_MAG};
use super::{Dim, FnGen, Var};
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::{Combine, Fault, Frame, Generator, Op, Part, Value, With, WithOp};

/// Elements that kernels compute with.
const NUMBERS: [Elem; 6] = [Elem::F64, Elem::F32, Elem::F64, Elem::F32, Elem::I32, Elem::I64];

impl FnGen<'_> {
    /// A kernel; its results come into scope.
    pub(super) fn motif(&mut self) {
        let made = match self.below(20) {
            0 | 1 => self.product(),
            2 => self.outer_products(),
            3 => self.triangle(),
            4..=6 => self.window(),
            7 => self.pooled(),
            8 => self.shifted(),
            9 => self.butterfly(),
            10 | 11 => self.rows(),
            12 => self.escape(),
            13 => self.two_colours(),
            14 => self.moments(),
            15 => self.steps(),
            16 => self.sweep(),
            17 | 18 => self.callers(),
            _ => self.sequential(),
        };
        for var in made {
            let var = if var.dims.is_empty() { self.tamed(var) } else { self.tamed_array(var) };
            self.vars.push(var);
        }
    }

    /// An element type to compute with.
    fn number(&mut self) -> Elem {
        self.shared.rng.pick(&NUMBERS)
    }

    /// An extent: around the sizes of vectors and blocks, sometimes nothing, sometimes known to the run only.
    fn length(&mut self) -> Dim {
        let n = match self.below(24) {
            0 => 0,
            1 => 1,
            2..=9 => self.range(2, 9),
            _ if self.shared.huge => self.shared.rng.pick(&[16, 17, 24, 31, 33, 40, 64, 65, 100, 130]),
            _ => self.shared.rng.pick(&[8, 12, 15, 16, 17, 20, 31, 33, 34]),
        };
        self.length_of(n)
    }

    fn length_of(&mut self, n: i64) -> Dim {
        if self.chance(2, 3) {
            return self.const_dim(n);
        }
        let value = self.int(n);
        let value = self.emit(Op::Opaque(value), Ty::scalar(Elem::I32));
        self.symbolic_dim(n, n, Some(value))
    }

    /// The extent of a dimension: all of them are exact here.
    fn size(&self, dim: Dim) -> i64 {
        self.dim(dim).hi
    }

    /// Shortens the axes until the work over all of them, times `inner`, fits.
    fn fitted(&mut self, dims: &mut [Dim], inner: i64) {
        while self.most(dims).saturating_mul(inner).saturating_mul(self.weight) > self.most_work() {
            let Some(longest) = (0..dims.len()).max_by_key(|k| self.size(dims[*k])) else { return };
            let n = self.size(dims[longest]);
            if n <= 1 {
                return;
            }
            dims[longest] = self.length_of(n / 2);
        }
    }

    fn i32_op(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        let ty = if op.is_comparison() { Elem::Bool } else { Elem::I32 };
        self.emit(Op::Bin(op, a, b), Ty::scalar(ty))
    }

    fn op(&mut self, op: BinOp, elem: Elem, a: Value, b: Value) -> Value {
        let ty = if op.is_comparison() { Elem::Bool } else { elem };
        self.emit(Op::Bin(op, a, b), Ty::scalar(ty))
    }

    /// A small number of the type.
    fn small(&mut self, elem: Elem, quarters: i64) -> Value {
        let scalar = match elem {
            Elem::F32 => Scalar::F32(quarters as f32 * 0.25),
            Elem::F64 => Scalar::F64(quarters as f64 * 0.25),
            _ => Scalar::from_i64(elem, quarters).unwrap_or(Scalar::Bool(false)),
        };
        self.constant(scalar)
    }

    /// What an array of results may hold: reals that are never trusted to be exact.
    fn wild(elem: Elem) -> Ghost {
        match Ghost::any(elem) {
            Ghost::Real { .. } => Ghost::Real { mag: MOST_MAG + 1, scale: 0, exact: false },
            int => int,
        }
    }

    /// An element; the index is checked now and then.
    fn at(&mut self, array: &Var, index: &[Value]) -> Value {
        if self.chance(1, 8) {
            for (k, i) in index.iter().enumerate() {
                let (zero, extent) = (self.int(0), self.extent(array.dims[k]));
                let low = self.i32_op(BinOp::Ge, *i, zero);
                let high = self.i32_op(BinOp::Lt, *i, extent);
                let both = self.emit(Op::Bin(BinOp::And, low, high), Ty::scalar(Elem::Bool));
                self.check(both, Fault::Index { index: *i, extent, axis: k as u32 });
            }
        }
        self.emit(Op::Sel { array: array.value, index: index.to_vec() }, Ty::scalar(array.elem))
    }

    /// An array over all indices.
    fn each(&mut self, elem: Elem, dims: &[Dim], cell: impl FnOnce(&mut Self, &[Value]) -> Value) -> Var {
        let zero = self.int(0);
        let upper = self.extents(dims);
        let part = self.part(vec![zero; dims.len()], upper, self.most(dims), cell);
        self.array_of(elem, dims, vec![part], None)
    }

    /// A partition without steps.
    fn part(
        &mut self,
        lower: Vec<Value>,
        upper: Vec<Value>,
        runs: i64,
        cell: impl FnOnce(&mut Self, &[Value]) -> Value,
    ) -> Part {
        let body = self.func.new_region();
        self.in_region(body, runs, |this| {
            let index: Vec<Value> = lower.iter().map(|_| this.func.add_param(body, Ty::scalar(Elem::I32))).collect();
            let cell = cell(this, &index);
            this.func.regions[body].yields = vec![cell];
        });
        Part { generator: Generator::Known { lower, upper, step: None, width: None }, body }
    }

    fn array_of(&mut self, elem: Elem, dims: &[Dim], parts: Vec<Part>, default: Option<Value>) -> Var {
        let frame = Frame::Known(self.extents(dims));
        let op = WithOp::Genarray { frame, cell: Some(Vec::new()), default };
        let ty = self.ty(elem, dims);
        let value = self.emit(Op::With(With { parts, ops: vec![op], ordered: false }), ty);
        self.var(value, elem, dims, Self::wild(elem))
    }

    /// A fold of scalars over a box of `runs` indices at most.
    fn total(
        &mut self,
        op: BinOp,
        elem: Elem,
        (lower, upper): (Vec<Value>, Vec<Value>),
        runs: i64,
        cell: impl FnOnce(&mut Self, &[Value]) -> Value,
    ) -> Value {
        let start = match op {
            BinOp::Add => 0,
            BinOp::Min => 8,
            BinOp::Max => -8,
            _ => 4,
        };
        let neutral = self.small(elem, start);
        let part = self.part(lower, upper, runs, cell);
        let op = WithOp::Fold { neutral, combine: Combine::Op(op), stop: None };
        self.emit(Op::With(With { parts: vec![part], ops: vec![op], ordered: false }), Ty::scalar(elem))
    }

    /// The box of all indices of some axes.
    fn whole(&mut self, dims: &[Dim]) -> (Vec<Value>, Vec<Value>) {
        let zero = self.int(0);
        (vec![zero; dims.len()], self.extents(dims))
    }

    /// An array of small exact numbers that nobody can foresee.
    fn seeded(&mut self, elem: Elem, dims: &[Dim]) -> Var {
        let factors: Vec<i64> = dims.iter().map(|_| self.range(1, 7)).collect();
        let (shift, modulus) = (self.range(0, 9), self.shared.rng.pick(&[5, 7, 11]));
        let signed = !matches!(elem, Elem::U8 | Elem::U16 | Elem::U32 | Elem::U64 | Elem::Bool | Elem::Char);
        let mut made = self.each(elem, dims, |this, index| {
            let mut sum = this.int(shift);
            for (i, factor) in index.iter().zip(&factors) {
                let factor = this.int(*factor);
                let scaled = this.i32_op(BinOp::Mul, *i, factor);
                sum = this.i32_op(BinOp::Add, sum, scaled);
            }
            let modulus_value = this.int(modulus);
            let mut value = this.i32_op(BinOp::Mod, sum, modulus_value);
            if signed {
                let half = this.int(modulus / 2);
                value = this.i32_op(BinOp::Sub, value, half);
            }
            let value = if elem == Elem::I32 { value } else { this.emit(Op::Convert(value), Ty::scalar(elem)) };
            if matches!(elem, Elem::F32 | Elem::F64) {
                let quarter = this.small(elem, 1);
                return this.op(BinOp::Mul, elem, value, quarter);
            }
            value
        });
        made.ghost = match Ghost::any(elem) {
            Ghost::Real { .. } => Ghost::Real { mag: 2, scale: 2, exact: true },
            _ if elem == Elem::Bool => Ghost::int(0, 1),
            _ if signed => Ghost::int(-6, 6),
            _ => Ghost::int(0, 10),
        };
        if self.chance(1, 2) {
            let ty = self.ty(elem, dims);
            made.value = self.emit(Op::Opaque(made.value), ty);
        }
        made
    }

    /// An array of `elem`, perhaps computed from another type.
    fn input(&mut self, elem: Elem, dims: &[Dim]) -> Var {
        if self.chance(1, 6) {
            let from = self.shared.rng.pick(&[Elem::U8, Elem::Bool, Elem::I32, Elem::F32]);
            let source = self.seeded(from, dims);
            if from == elem {
                return source;
            }
            let mut made = self.each(elem, dims, |this, index| {
                let x = this.at(&source, index);
                this.emit(Op::Convert(x), Ty::scalar(elem))
            });
            made.ghost = source.ghost.convert(elem);
            return made;
        }
        self.seeded(elem, dims)
    }
}
