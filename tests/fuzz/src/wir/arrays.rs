//! Array expressions.

use super::ghost::{Ghost, MOST_MAG};
use super::withs::{FoldBy, Spec};
use super::{Dim, FnGen, Var};
use ravel_types::{Affine, Elem, Scalar, Shape, Ty};
use ravel_wir::{ConstData, Op};
use std::sync::Arc;

impl FnGen<'_> {
    /// One to `most` axes (rarely four), of extents in scope and new ones.
    pub(super) fn some_dims(&mut self, most: usize) -> Vec<Dim> {
        let rank = if self.chance(1, 40) { 4 } else { 1 + self.below(most).min(self.below(most)) };
        let mut dims = Vec::new();
        for _ in 0..rank {
            let alive: Vec<usize> =
                (0..self.dims.len()).filter(|i| self.dims[*i].alive && self.dims[*i].value.is_some()).collect();
            let dim =
                if !alive.is_empty() && self.chance(1, 3) { Dim(self.shared.rng.pick(&alive)) } else { self.new_dim() };
            dims.push(dim);
            if self.weight.saturating_mul(self.most(&dims)) > self.most_work() {
                dims.pop();
                dims.push(self.const_dim(2));
            }
        }
        dims
    }

    fn new_dim(&mut self) -> Dim {
        let n = match self.below(20) {
            0 => 0,
            1..=2 => 1,
            3..=8 if self.shared.huge => self.shared.rng.pick(&[40, 64, 100, 129, 250, 1000]),
            3..=7 if self.shared.large => self.shared.rng.pick(&[6, 7, 8, 9, 12, 16, 17, 20, 33]),
            _ => self.range(2, 5),
        };
        self.const_dim(n)
    }

    /// Up to `most` axes of few elements; perhaps none.
    pub(super) fn small_dims(&mut self, most: usize) -> Vec<Dim> {
        let rank = self.below(most + 1);
        (0..rank)
            .map(|_| {
                let n = self.range(1, 3);
                self.const_dim(n)
            })
            .collect()
    }

    /// An array of exactly this shape, or a scalar if there are no axes.
    pub(super) fn array(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        if dims.is_empty() {
            return self.scalar(elem, depth);
        }
        let made = self.new_array(elem, dims, depth);
        let made = self.tamed_array(made);
        if self.chance(1, 2) {
            self.vars.push(made.clone());
        }
        made
    }

    fn known_array(&mut self, elem: Elem, dims: &[Dim]) -> Option<Var> {
        let found: Vec<usize> =
            (0..self.vars.len()).filter(|i| self.vars[*i].elem == elem && self.vars[*i].dims == dims).collect();
        if found.is_empty() {
            return None;
        }
        let at = self.below(found.len());
        Some(self.vars[found[at]].clone())
    }

    fn new_array(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        if let Some(var) = self.known_array(elem, dims)
            && self.chance(if depth == 0 { 4 } else { 2 }, 5)
        {
            return var;
        }
        if !self.affordable(dims) || depth == 0 || self.fuel <= 0 {
            return self.plain_array(elem, dims);
        }
        let depth = depth - 1;
        match self.below(24) {
            0..=7 => self.genarray(elem, dims, depth),
            8 => self.plain_array(elem, dims),
            9..=10 => self.modarray(elem, dims, depth),
            11..=12 => self.updated(elem, dims, depth),
            13 => self.branched(elem, dims, depth),
            14 => self.chosen_array(elem, dims, depth),
            15 => self.looped(elem, dims, depth),
            16 => self.part_of_larger(elem, dims, depth),
            17 => self.reshaped(elem, dims, depth),
            18..=19 => self.folded_array(elem, dims, depth),
            20 => self.hidden(elem, dims, depth),
            21 => self.called(elem, dims, depth),
            22 => self.of_cells(elem, dims, depth),
            _ => self.dynamic(elem, dims, depth),
        }
    }

    /// Constants, or one scalar everywhere.
    fn plain_array(&mut self, elem: Elem, dims: &[Dim]) -> Var {
        let ty = self.ty(elem, dims);
        if let Some(count) = ty.shape.count()
            && count <= 80
        {
            let values: Vec<Scalar> = (0..count).map(|_| self.random_scalar(elem)).collect();
            let ghost = values.iter().map(|s| Ghost::of(*s)).reduce(|a, b| a.join(&b)).unwrap_or(Ghost::any(elem));
            let value = self.emit(Op::ConstArray(Arc::new(ConstData { elem, values })), ty);
            let var = self.var(value, elem, dims, ghost);
            return if self.chance(1, 3) { self.opaque(var) } else { var };
        }
        let zero = Scalar::zero(elem).unwrap_or(Scalar::Bool(false));
        let zero = self.constant(zero);
        let frame = ravel_wir::Frame::Known(self.extents(dims));
        let op = ravel_wir::WithOp::Genarray { frame, cell: Some(Vec::new()), default: Some(zero) };
        let value = self.emit(Op::With(ravel_wir::With { parts: Vec::new(), ops: vec![op], ordered: false }), ty);
        let ghost = Scalar::zero(elem).map_or(Ghost::any(elem), Ghost::of);
        self.var(value, elem, dims, ghost)
    }

    fn opaque(&mut self, var: Var) -> Var {
        let ty = self.ty(var.elem, &var.dims);
        let value = self.emit(Op::Opaque(var.value), ty);
        Var { value, ..var }
    }

    fn hidden(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let var = self.array(elem, dims, depth);
        self.opaque(var)
    }

    fn genarray(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let lead = if self.chance(2, 3) { dims.len() } else { self.below(dims.len() + 1) };
        let spec = Spec::Genarray { elem, cell: dims[lead..].to_vec() };
        self.with_loop(&dims[..lead], vec![spec], depth).remove(0)
    }

    fn modarray(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let array = self.array(elem, dims, depth);
        let lead = if self.chance(2, 3) { dims.len() } else { 1 + self.below(dims.len()) };
        self.with_loop(&dims[..lead], vec![Spec::Modarray(array)], depth).remove(0)
    }

    fn updated(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let mut array = self.array(elem, dims, depth);
        for _ in 0..1 + self.below(2) {
            let lead = 1 + self.below(dims.len());
            let Some(index) = self.indices(&dims[..lead]) else { break };
            let cell = self.array(elem, &dims[lead..], depth);
            let ty = self.ty(elem, dims);
            let ghost = array.ghost.join(&cell.ghost).unrelated();
            let value = self.emit(Op::Update { array: array.value, index, value: cell.value }, ty);
            array = self.var(value, elem, dims, ghost);
        }
        array
    }

    fn chosen_array(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let cond = self.condition(1);
        let (a, b) = (self.array(elem, dims, depth), self.array(elem, dims, depth));
        let ty = self.ty(elem, dims);
        let value = self.emit(Op::Select { cond, then: a.value, els: b.value }, ty);
        self.var(value, elem, dims, a.ghost.join(&b.ghost).unrelated())
    }

    /// A sub-array of an array with more axes.
    fn part_of_larger(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let n = self.range(1, 3);
        let mut larger = vec![self.const_dim(n)];
        larger.extend(dims);
        if !self.affordable(&larger) {
            return self.plain_array(elem, dims);
        }
        let array = self.array(elem, &larger, depth);
        match self.indices(&larger[..1]) {
            Some(index) => {
                let ty = self.ty(elem, dims);
                let value = self.emit(Op::Sel { array: array.value, index }, ty);
                self.var(value, elem, dims, array.ghost.unrelated())
            }
            None => self.plain_array(elem, dims),
        }
    }

    fn reshaped(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let source = match self.constants(dims) {
            Some(extents) => {
                let count: i64 = extents.iter().product();
                let factors: Vec<i64> = (1..=4).filter(|k| count % k == 0).collect();
                let k = self.shared.rng.pick(&factors);
                let rest = count / k;
                vec![self.const_dim(k), self.const_dim(rest)]
            }
            // Another order of the same factors.
            None => dims.iter().rev().copied().collect(),
        };
        let array = self.array(elem, &source, depth);
        let shape = self.extents(dims);
        let ty = self.ty(elem, dims);
        let value = self.emit(Op::Reshape { array: array.value, shape }, ty);
        self.var(value, elem, dims, array.ghost.unrelated())
    }

    /// A fold whose accumulator is an array.
    fn folded_array(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let n = self.range(0, 4);
        let frame = vec![self.const_dim(n)];
        let total: Vec<Dim> = frame.iter().chain(dims).copied().collect();
        if !self.affordable(&total) {
            return self.plain_array(elem, dims);
        }
        let neutral = self.array(elem, dims, 1);
        let combine = if self.chance(1, 4) { FoldBy::Function } else { self.fold_by(elem) };
        self.with_loop(&frame, vec![Spec::Fold { neutral, combine }], depth).remove(0)
    }

    /// `[c0, c1, ...]` along the first axis, if it is short.
    fn of_cells(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let Some(n) = self.dim(dims[0]).form.as_const().filter(|n| (1..=6).contains(n)) else {
            return self.genarray(elem, dims, depth);
        };
        let cells: Vec<Var> = (0..n).map(|_| self.array(elem, &dims[1..], depth.min(1))).collect();
        let ghost = cells.iter().map(|c| c.ghost.unrelated()).reduce(|a, b| a.join(&b)).unwrap_or(Ghost::any(elem));
        let ty = self.ty(elem, dims);
        let value = self.emit(Op::Array(cells.iter().map(|c| c.value).collect()), ty);
        self.var(value, elem, dims, ghost)
    }

    /// Clamps the elements if they may be large.
    pub(super) fn tamed_array(&mut self, array: Var) -> Var {
        if !matches!(array.elem, Elem::F32 | Elem::F64) || array.ghost.mag() <= MOST_MAG {
            return array;
        }
        self.clamped_array(array, MOST_MAG)
    }

    pub(super) fn clamped_array(&mut self, array: Var, most: u32) -> Var {
        if !matches!(array.elem, Elem::F32 | Elem::F64) || array.ghost.mag() <= most {
            return array;
        }
        if array.dims.is_empty() {
            return self.clamped(array, most);
        }
        self.map1(&array, |this, x| this.clamped(x, most))
    }

    /// An array whose extents only run time knows comes into scope.
    pub(super) fn hidden_array(&mut self, elem: Elem) {
        let rank = 1 + self.below(3);
        let extents: Vec<Dim> = (0..rank).map(|_| self.new_dim()).collect();
        if self.most(&extents) > 300 {
            return;
        }
        let array = self.array(elem, &extents, 1);
        let forms = extents.iter().map(|_| Affine::sym(self.func.fresh_sym())).collect();
        let value = self.emit(Op::Opaque(array.value), Ty::new(elem, Shape::Known(forms)));
        let var = self.with_fresh_dims(value, elem, &extents, array.ghost);
        self.vars.push(var);
    }

    /// A value of known rank with a new extent for every axis that its type leaves open; `like` has their bounds.
    pub(super) fn with_fresh_dims(&mut self, value: ravel_wir::Value, elem: Elem, like: &[Dim], ghost: Ghost) -> Var {
        let forms: Vec<Affine> = self.func.ty(value).shape.extents().unwrap_or_default().to_vec();
        let mut dims = Vec::new();
        for (axis, (form, like)) in forms.into_iter().zip(like).enumerate() {
            if form.as_const().is_some() {
                dims.push(*like);
                continue;
            }
            let extent = self.emit(Op::Extent { array: value, axis: axis as u32 }, Ty::scalar(Elem::I32));
            let (lo, hi) = (self.dim(*like).lo, self.dim(*like).hi);
            self.dims.push(super::DimInfo { lo, hi, form, value: Some(extent), alive: true });
            dims.push(Dim(self.dims.len() - 1));
        }
        self.var(value, elem, &dims, ghost.unrelated())
    }

    /// An extent that only run time knows comes into scope.
    pub(super) fn hidden_extent(&mut self) {
        let small = |v: &Var| {
            v.elem == Elem::I32 && v.dims.is_empty() && v.ghost.interval().is_some_and(|(l, h)| l >= 0 && h <= 9)
        };
        let found: Vec<Var> = self.vars.iter().filter(|v| small(v)).cloned().collect();
        if !found.is_empty() && self.chance(1, 2) {
            let var = found[self.shared.rng.below(found.len())].clone();
            let Some((lo, hi)) = var.ghost.interval() else { return };
            self.symbolic_dim(lo as i64, hi as i64, Some(var.value));
            return;
        }
        let dim = self.new_dim();
        let n = self.dim(dim).lo;
        let value = self.int(n);
        let value = self.emit(Op::Opaque(value), Ty::scalar(Elem::I32));
        let scalar = self.var(value, Elem::I32, &[], Ghost::int(n.into(), n.into()));
        self.vars.push(scalar);
        self.symbolic_dim(n, n, Some(value));
    }
}
