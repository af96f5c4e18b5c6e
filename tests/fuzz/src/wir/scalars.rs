//! Scalar expressions and indices.

use super::ghost::{Ghost, MOST_MAG, int_range};
use super::{Dim, FnGen, Var};
use ravel_types::{BinOp, Elem, Scalar, Ty, UnOp};
use ravel_wir::{Fault, Op, Value};

impl FnGen<'_> {
    /// A scalar of the element type.
    pub(super) fn scalar(&mut self, elem: Elem, depth: usize) -> Var {
        if let Some(var) = self.known_scalar(elem)
            && self.chance(if depth == 0 { 3 } else { 1 }, 4)
        {
            return var;
        }
        if depth == 0 || self.fuel <= 0 || self.chance(1, 8) {
            return self.random_constant(elem);
        }
        let made = match self.below(12) {
            0..=4 => self.binary(elem, depth - 1),
            5 => self.unary(elem, depth - 1),
            6 => self.conversion(elem, depth - 1),
            7 => self.selected(elem, depth - 1),
            8 => self.chosen(elem, depth - 1),
            9 => self.folded(elem, depth - 1),
            10 => self.branched(elem, &[], depth - 1),
            _ => self.measured(elem, depth - 1),
        };
        if self.chance(1, 3) {
            self.vars.push(made.clone());
        }
        made
    }

    /// A scalar in scope, most likely a late one.
    fn known_scalar(&mut self, elem: Elem) -> Option<Var> {
        let found: Vec<usize> =
            (0..self.vars.len()).filter(|i| self.vars[*i].elem == elem && self.vars[*i].dims.is_empty()).collect();
        if found.is_empty() {
            return None;
        }
        let back = self.below(6).min(self.below(found.len()));
        Some(self.vars[found[found.len() - 1 - back]].clone())
    }

    pub(super) fn random_scalar(&mut self, elem: Elem) -> Scalar {
        let small = self.range(-4, 9);
        let number = match elem {
            Elem::F32 => return Scalar::F32(self.range(-16, 16) as f32 * 0.25),
            Elem::F64 => return Scalar::F64(self.range(-16, 16) as f64 * 0.25),
            Elem::Bool => self.range(0, 1),
            Elem::Char => self.range(32, 126),
            _ if self.chance(1, 12) => {
                let bits = self.shared.rng.bits() >> self.below(64);
                bits as i64
            }
            _ => small,
        };
        Scalar::from_i64(elem, number).unwrap_or(Scalar::Bool(false))
    }

    fn random_constant(&mut self, elem: Elem) -> Var {
        let scalar = self.random_scalar(elem);
        let value = self.constant(scalar);
        self.var(value, elem, &[], Ghost::of(scalar))
    }

    /// Applies a binary operation and keeps reals small.
    pub(super) fn apply(&mut self, op: BinOp, a: &Var, b: &Var) -> Var {
        let elem = if op.is_comparison() { Elem::Bool } else { a.elem };
        let value = self.emit(Op::Bin(op, a.value, b.value), Ty::scalar(elem));
        let ghost = Ghost::bin(op, a.elem, &a.ghost, &b.ghost);
        let var = self.var(value, elem, &[], ghost);
        self.tamed(var)
    }

    /// The value clamped if it may be large.
    pub(super) fn tamed(&mut self, var: Var) -> Var {
        self.clamped(var, MOST_MAG)
    }

    pub(super) fn clamped(&mut self, var: Var, most: u32) -> Var {
        if !matches!(var.elem, Elem::F32 | Elem::F64) || var.ghost.mag() <= most {
            return var;
        }
        let bound = 2f64.powi(most as i32);
        let real = |v: f64| if var.elem == Elem::F32 { Scalar::F32(v as f32) } else { Scalar::F64(v) };
        let (high, low) = (self.constant(real(bound)), self.constant(real(-bound)));
        let ty = Ty::scalar(var.elem);
        let v = self.emit(Op::Bin(BinOp::Min, var.value, high), ty.clone());
        let v = self.emit(Op::Bin(BinOp::Max, v, low), ty);
        let ghost = match var.ghost {
            Ghost::Real { scale, exact, .. } => Ghost::Real { mag: most, scale, exact },
            ref other => other.clone(),
        };
        self.var(v, var.elem, &[], ghost)
    }

    fn binary(&mut self, elem: Elem, depth: usize) -> Var {
        use BinOp::*;
        if elem == Elem::Bool && self.chance(2, 3) {
            return self.comparison(depth);
        }
        let op = match elem {
            Elem::Bool => self.shared.rng.pick(&[And, Or, Xor, Min, Max, Add, Mul]),
            Elem::Char => self.shared.rng.pick(&[Min, Max]),
            Elem::F32 | Elem::F64 => {
                self.shared.rng.pick(&[Add, Add, Sub, Sub, Mul, Mul, Min, Max, Div, Mod, Pow, Hypot])
            }
            _ => self
                .shared
                .rng
                .pick(&[Add, Add, Sub, Sub, Mul, Mul, Min, Max, And, Or, Xor, Shl, Shr, Div, Mod, AplMod]),
        };
        let (a, mut b) = (self.scalar(elem, depth), self.scalar(elem, depth));
        let real = matches!(elem, Elem::F32 | Elem::F64);
        match op {
            Div | Mod | AplMod if !real => b = self.nonzero(b),
            Div => b = self.at_least_one(&b),
            // Discontinuous: only on exact values.
            Mod if !a.ghost.is_exact() => return self.apply(Sub, &a, &b),
            Mod => {
                let scalar = if elem == Elem::F32 { Scalar::F32(1.5) } else { Scalar::F64(1.5) };
                let value = self.constant(scalar);
                b = self.var(value, elem, &[], Ghost::of(scalar));
            }
            Pow => {
                let base = self.at_least_one(&a);
                let scalar = if elem == Elem::F32 { Scalar::F32(0.5) } else { Scalar::F64(0.5) };
                let value = self.constant(scalar);
                b = self.var(value, elem, &[], Ghost::of(scalar));
                return self.apply(Pow, &base, &b);
            }
            _ => {}
        }
        self.apply(op, &a, &b)
    }

    /// `abs(x) + 1`.
    fn at_least_one(&mut self, var: &Var) -> Var {
        let ty = Ty::scalar(var.elem);
        let positive = self.emit(Op::Un(UnOp::Abs, var.value), ty);
        let positive = self.var(positive, var.elem, &[], var.ghost.clone());
        let scalar = if var.elem == Elem::F32 { Scalar::F32(1.0) } else { Scalar::F64(1.0) };
        let one = self.constant(scalar);
        let one = self.var(one, var.elem, &[], Ghost::of(scalar));
        self.apply(BinOp::Add, &positive, &one)
    }

    /// A divisor that is not zero, or is checked not to be.
    fn nonzero(&mut self, var: Var) -> Var {
        let elem = var.elem;
        if var.ghost.interval().is_some_and(|(lo, hi)| lo > 0 || hi < 0) {
            return var;
        }
        if self.chance(1, 2) {
            let scalar = Scalar::from_i64(elem, self.range(1, 7)).unwrap_or(Scalar::I32(1));
            let value = self.constant(scalar);
            return self.var(value, elem, &[], Ghost::of(scalar));
        }
        let one = Scalar::from_i64(elem, 1).unwrap_or(Scalar::I32(1));
        if self.may_fault() && self.chance(1, 3) {
            let zero = Scalar::from_i64(elem, 0).unwrap_or(Scalar::I32(0));
            let zero = self.constant(zero);
            let cond = self.emit(Op::Bin(BinOp::Ne, var.value, zero), Ty::scalar(Elem::Bool));
            self.check(cond, Fault::Division);
            return var;
        }
        let one = self.constant(one);
        let value = self.emit(Op::Bin(BinOp::Or, var.value, one), Ty::scalar(elem));
        self.var(value, elem, &[], Ghost::any(elem))
    }

    pub(super) fn may_fault(&self) -> bool {
        self.shared.faulty && self.safe == 0
    }

    pub(super) fn check(&mut self, cond: Value, fault: Fault) {
        self.fuel -= 1;
        let span = self.next_span();
        self.func.push(self.region, Op::Check { cond, fault }, Vec::new(), span);
    }

    fn comparison(&mut self, depth: usize) -> Var {
        use BinOp::*;
        let elem = self.elem();
        let op = self.shared.rng.pick(&[Eq, Ne, Lt, Le, Gt, Ge]);
        let (mut a, mut b) = (self.scalar(elem, depth), self.scalar(elem, depth));
        for v in [&mut a, &mut b] {
            if !v.ghost.is_exact() {
                *v = self.random_constant(elem);
            }
        }
        self.apply(op, &a, &b)
    }

    /// A condition that rounding cannot change.
    pub(super) fn condition(&mut self, depth: usize) -> Value {
        self.scalar(Elem::Bool, depth).value
    }

    fn unary(&mut self, elem: Elem, depth: usize) -> Var {
        use UnOp::*;
        if elem == Elem::Char {
            return self.random_constant(elem);
        }
        let a = self.scalar(elem, depth);
        let ty = Ty::scalar(elem);
        match (elem, &a.ghost) {
            (Elem::Bool, _) => {
                let v = self.emit(Op::Un(Not, a.value), ty);
                self.var(v, elem, &[], Ghost::int(0, 1))
            }
            (_, Ghost::Int { lo, hi, .. }) => {
                let (lo, hi) = (*lo, *hi);
                let op = self.shared.rng.pick(&[Neg, Not, Abs]);
                let v = self.emit(Op::Un(op, a.value), ty);
                let (l, h) = match op {
                    Neg => (-hi, -lo),
                    Abs => (0, lo.abs().max(hi.abs())),
                    _ => (-hi - 1, -lo - 1),
                };
                let ghost = match int_range(elem) {
                    Some((least, most)) if l >= least && h <= most => Ghost::int(l, h),
                    _ => Ghost::any(elem),
                };
                self.var(v, elem, &[], ghost)
            }
            (_, Ghost::Real { mag, exact: true, .. }) if self.shared.rng.chance(1, 3) => {
                let ghost = Ghost::Real { mag: *mag + 1, scale: 0, exact: true };
                let op = self.shared.rng.pick(&[Floor, Ceil, Rint, Trunc]);
                let v = self.emit(Op::Un(op, a.value), ty);
                self.var(v, elem, &[], ghost)
            }
            (_, Ghost::Real { .. }) => {
                let op = self
                    .shared
                    .rng
                    .pick(&[Neg, Abs, Neg, Abs, Sin, Cos, Tanh, Atan, Sqrt, Log, Log1p, Cbrt, Reciproc, Exp]);
                let wild = Ghost::Real { mag: MOST_MAG, scale: 0, exact: false };
                let (operand, ghost) = match op {
                    Neg | Abs => (a.clone(), a.ghost.clone()),
                    Sqrt | Log | Log1p | Cbrt | Reciproc => (self.at_least_one(&a), wild),
                    Exp => (self.clamped(a.clone(), 2), wild),
                    _ => (a.clone(), wild),
                };
                let v = self.emit(Op::Un(op, operand.value), ty);
                self.var(v, elem, &[], ghost)
            }
        }
    }

    fn conversion(&mut self, elem: Elem, depth: usize) -> Var {
        let from = self.elem();
        let a = self.scalar(from, depth);
        // What is allowed to differ in the last bits of `f32` differs in all that `f64` adds to them.
        let loses = int_range(elem).is_some() || (from, elem) == (Elem::F32, Elem::F64);
        if !a.ghost.is_exact() && loses {
            return self.random_constant(elem);
        }
        let v = self.emit(Op::Convert(a.value), Ty::scalar(elem));
        let var = self.var(v, elem, &[], a.ghost.convert(elem));
        self.tamed(var)
    }

    /// An element of an array in scope, or of a new one.
    fn selected(&mut self, elem: Elem, depth: usize) -> Var {
        let found: Vec<usize> =
            (0..self.vars.len()).filter(|i| self.vars[*i].elem == elem && !self.vars[*i].dims.is_empty()).collect();
        for _ in 0..3 {
            if found.is_empty() {
                break;
            }
            let array = self.vars[found[self.shared.rng.below(found.len())]].clone();
            if let Some(index) = self.indices(&array.dims) {
                let v = self.emit(Op::Sel { array: array.value, index }, Ty::scalar(elem));
                return self.var(v, elem, &[], array.ghost.unrelated());
            }
        }
        let dims: Vec<Dim> = (0..1 + self.below(2))
            .map(|_| {
                let n = self.range(1, 4);
                self.const_dim(n)
            })
            .collect();
        let array = self.array(elem, &dims, depth);
        match self.indices(&dims) {
            Some(index) => {
                let v = self.emit(Op::Sel { array: array.value, index }, Ty::scalar(elem));
                self.var(v, elem, &[], array.ghost.unrelated())
            }
            None => self.random_constant(elem),
        }
    }

    fn chosen(&mut self, elem: Elem, depth: usize) -> Var {
        let cond = self.condition(depth);
        let (a, b) = (self.scalar(elem, depth), self.scalar(elem, depth));
        let v = self.emit(Op::Select { cond, then: a.value, els: b.value }, Ty::scalar(elem));
        self.var(v, elem, &[], a.ghost.join(&b.ghost))
    }

    /// Extents and opaque values.
    fn measured(&mut self, elem: Elem, depth: usize) -> Var {
        let arrays: Vec<usize> = (0..self.vars.len()).filter(|i| !self.vars[*i].dims.is_empty()).collect();
        if elem == Elem::I32 && !arrays.is_empty() && self.chance(2, 3) {
            let array = self.vars[arrays[self.shared.rng.below(arrays.len())]].clone();
            let axis = self.below(array.dims.len());
            let (lo, hi) = (self.dim(array.dims[axis]).lo, self.dim(array.dims[axis]).hi);
            let v = self.emit(Op::Extent { array: array.value, axis: axis as u32 }, Ty::scalar(Elem::I32));
            return self.var(v, elem, &[], Ghost::int(lo.into(), hi.into()));
        }
        let a = self.scalar(elem, depth);
        let v = self.emit(Op::Opaque(a.value), Ty::scalar(elem));
        self.var(v, elem, &[], a.ghost)
    }

    /// Indices into all axes, if there can be some.
    pub(super) fn indices(&mut self, dims: &[Dim]) -> Option<Vec<Value>> {
        let mut index = Vec::new();
        for dim in dims {
            index.push(self.index(*dim)?);
        }
        Some(index)
    }

    /// An index into an axis, if there can be one; sometimes checked, sometimes (in faulty modules) out of range.
    fn index(&mut self, dim: Dim) -> Option<Value> {
        let mut index = self.index_in_range(dim)?;
        let wrong = self.may_fault() && self.chance(1, 30);
        if wrong {
            let shift = self.shared.rng.pick(&[-1, 1, 2]);
            let shift = self.int(shift);
            index = self.emit(Op::Bin(BinOp::Add, index, shift), Ty::scalar(Elem::I32));
        }
        if wrong || self.chance(1, 4) {
            let extent = self.extent(dim);
            let zero = self.int(0);
            let bool_ty = Ty::scalar(Elem::Bool);
            let low = self.emit(Op::Bin(BinOp::Ge, index, zero), bool_ty.clone());
            let high = self.emit(Op::Bin(BinOp::Lt, index, extent), bool_ty.clone());
            let both = self.emit(Op::Bin(BinOp::And, low, high), bool_ty);
            self.check(both, Fault::Index { index, extent, axis: 0 });
        }
        Some(index)
    }

    fn index_in_range(&mut self, dim: Dim) -> Option<Value> {
        let (least, ty) = (i128::from(self.dim(dim).lo), Ty::scalar(Elem::I32));
        let ints: Vec<Var> =
            self.vars.iter().rev().filter(|v| v.elem == Elem::I32 && v.dims.is_empty()).take(8).cloned().collect();
        let related: Vec<Var> = ints
            .iter()
            .filter(|v| matches!(v.ghost, Ghost::Int { lo, below: Some(d), .. } if d == dim && lo >= 0))
            .cloned()
            .collect();
        if !related.is_empty() && (least == 0 || self.chance(2, 3)) {
            let v = related[self.shared.rng.below(related.len())].value;
            if self.chance(1, 4) {
                let (extent, one) = (self.extent(dim), self.int(1));
                let last = self.emit(Op::Bin(BinOp::Sub, extent, one), ty.clone());
                return Some(self.emit(Op::Bin(BinOp::Sub, last, v), ty));
            }
            return Some(v);
        }
        if least == 0 {
            return None;
        }
        let fallback = self.range(0, least as i64 - 1);
        if ints.is_empty() || self.chance(1, 6) {
            return Some(self.int(fallback));
        }
        let mut v = ints[self.shared.rng.below(ints.len())].clone();
        // Some arithmetic first.
        if self.chance(1, 3) {
            let other = if self.chance(1, 2) {
                ints[self.shared.rng.below(ints.len())].clone()
            } else {
                let n = self.range(-3, 4);
                let value = self.int(n);
                self.var(value, Elem::I32, &[], Ghost::int(n.into(), n.into()))
            };
            let op = self.shared.rng.pick(&[BinOp::Add, BinOp::Sub, BinOp::Mul, BinOp::Min, BinOp::Max]);
            v = if self.chance(1, 3) { self.apply(op, &other, &v) } else { self.apply(op, &v, &other) };
        } else if self.chance(1, 10) {
            let big = self.shared.rng.pick(&[i32::MAX, i32::MIN, 1 << 30, -7_000_000]);
            let big = self.int(i64::from(big));
            let sum = self.emit(Op::Bin(BinOp::Add, v.value, big), ty.clone());
            let back = self.emit(Op::Bin(BinOp::Sub, sum, big), ty.clone());
            v = self.var(back, Elem::I32, &[], v.ghost);
        } else if self.chance(1, 6) {
            let n = self.range(2, 3);
            let by = self.int(n);
            let by = self.var(by, Elem::I32, &[], Ghost::int(n.into(), n.into()));
            let op = self.shared.rng.pick(&[BinOp::Div, BinOp::Mod, BinOp::AplMod]);
            v = self.apply(op, &v, &by);
        }
        let (lo, hi) = v.ghost.interval()?;
        if lo >= 0 && hi < least {
            return Some(v.value);
        }
        if hi - lo < least {
            let offset = self.range((-lo) as i64, (least - 1 - hi) as i64);
            let offset = self.int(offset);
            return Some(self.emit(Op::Bin(BinOp::Add, v.value, offset), ty));
        }
        match self.below(3) {
            0 => {
                let n = if self.chance(1, 2) { self.extent(dim) } else { self.int(least as i64) };
                Some(self.emit(Op::Bin(BinOp::AplMod, v.value, n), ty))
            }
            1 => {
                let (zero, last) = (self.int(0), self.int(least as i64 - 1));
                let low = self.emit(Op::Bin(BinOp::Max, v.value, zero), ty.clone());
                Some(self.emit(Op::Bin(BinOp::Min, low, last), ty))
            }
            _ => {
                let mask = self.int(if least >= 4 {
                    3
                } else if least >= 2 {
                    1
                } else {
                    0
                });
                Some(self.emit(Op::Bin(BinOp::And, v.value, mask), ty))
            }
        }
    }
}
