//! With-loops.

use super::ghost::Ghost;
use super::{Dim, FnGen, Var};
use ravel_types::{BinOp, Elem, Scalar, Ty};
use ravel_wir::{Combine, Frame, Generator, Op, Part, Value, With, WithOp};

/// An operator before its cells exist.
pub(super) enum Spec {
    Genarray {
        elem: Elem,
        cell: Vec<Dim>,
    },
    /// The array; the frame is made of its leading axes.
    Modarray(Var),
    Fold {
        neutral: Var,
        combine: FoldBy,
    },
}

pub(super) enum FoldBy {
    Op(BinOp),
    /// A function that the generator makes up.
    Function,
}

#[derive(Clone)]
enum Place {
    Const(i64),
    /// The extent less a constant.
    FromEnd(Dim, i64),
    Scalar(Value),
}

/// A bound of a partition, and the numbers between which it lies.
#[derive(Clone)]
struct Bound {
    place: Place,
    lo: i64,
    hi: i64,
}

#[derive(Clone)]
struct Axis {
    lower: Bound,
    upper: Bound,
    step: i64,
    width: i64,
}

impl FnGen<'_> {
    /// Whether a loop over these axes may stand here.
    pub(super) fn affordable(&self, frame: &[Dim]) -> bool {
        self.depth < 6 && self.weight.saturating_mul(self.most(frame)) <= self.most_work()
    }

    fn full(&self, frame: &[Dim]) -> Vec<Axis> {
        let axis = |d: &Dim| {
            let info = self.dim(*d);
            let place = match info.form.as_const() {
                Some(n) => Place::Const(n.into()),
                None => Place::FromEnd(*d, 0),
            };
            Axis {
                lower: Bound { place: Place::Const(0), lo: 0, hi: 0 },
                upper: Bound { place, lo: info.lo, hi: info.hi },
                step: 1,
                width: 1,
            }
        };
        frame.iter().map(axis).collect()
    }

    /// A place between two bounds.
    fn place_between(&mut self, axis: &Axis, dim: Dim) -> Option<Bound> {
        let (least, most) = (axis.lower.hi, axis.upper.lo);
        if least > most {
            return None;
        }
        let fits = |v: &Var| match v.ghost {
            Ghost::Int { lo, hi, .. } => {
                v.elem == Elem::I32 && v.dims.is_empty() && lo >= least.into() && hi <= most.into()
            }
            Ghost::Real { .. } => false,
        };
        let scalars: Vec<Var> = self.vars.iter().filter(|v| fits(v)).cloned().collect();
        if !scalars.is_empty() && self.chance(1, 3) {
            let v = &scalars[self.shared.rng.below(scalars.len())];
            let (lo, hi) = v.ghost.interval()?;
            return Some(Bound { place: Place::Scalar(v.value), lo: lo as i64, hi: hi as i64 });
        }
        if let Place::FromEnd(_, less) = axis.upper.place
            && self.chance(1, 2)
        {
            let by = self.range(0, (most - least).min(2));
            let place = Place::FromEnd(dim, less + by);
            return Some(Bound { place, lo: axis.upper.lo - by, hi: axis.upper.hi - by });
        }
        let at = self.range(least, most);
        Some(Bound { place: Place::Const(at), lo: at, hi: at })
    }

    /// Disjoint partitions within the frame, and whether they cover it.
    fn boxes(&mut self, frame: &[Dim]) -> (Vec<Vec<Axis>>, bool) {
        let mut boxes = vec![self.full(frame)];
        let mut covers = true;
        if !frame.is_empty() && self.chance(1, 2) {
            for _ in 0..1 + self.below(3) {
                let at = self.below(boxes.len());
                let k = self.below(frame.len());
                let axis = boxes[at][k].clone();
                if axis.step != 1 {
                    continue;
                }
                if self.chance(1, 4) {
                    let step = self.range(2, 3);
                    let width = self.range(1, step);
                    let mut rest = boxes[at].clone();
                    (boxes[at][k].step, boxes[at][k].width) = (step, width);
                    let lower = match axis.lower.place {
                        Place::Const(n) => Some(Place::Const(n + width)),
                        Place::FromEnd(d, less) => Some(Place::FromEnd(d, less - width)),
                        Place::Scalar(_) => None,
                    };
                    match lower {
                        Some(place) if width < step => {
                            rest[k].lower = Bound { place, lo: axis.lower.lo + width, hi: axis.lower.hi + width };
                            (rest[k].step, rest[k].width) = (step, step - width);
                            boxes.push(rest);
                        }
                        Some(_) => {}
                        None => covers &= width == step,
                    }
                } else if let Some(cut) = self.place_between(&axis, frame[k]) {
                    let mut rest = boxes[at].clone();
                    boxes[at][k].upper = cut.clone();
                    rest[k].lower = cut;
                    boxes.push(rest);
                }
            }
            if self.chance(1, 2) {
                let at = self.below(boxes.len());
                boxes.remove(at);
                covers = false;
            }
            for i in (1..boxes.len()).rev() {
                let j = self.below(i + 1);
                boxes.swap(i, j);
            }
        }
        (boxes, covers)
    }

    fn bound(&mut self, bound: &Bound) -> Value {
        match bound.place {
            Place::Const(n) => self.int(n),
            Place::Scalar(v) => v,
            Place::FromEnd(dim, 0) => self.extent(dim),
            Place::FromEnd(dim, less) => {
                let (extent, less) = (self.extent(dim), self.int(less));
                self.emit(Op::Bin(BinOp::Sub, extent, less), Ty::scalar(Elem::I32))
            }
        }
    }

    fn generator(&mut self, axes: &[Axis]) -> Generator {
        let lower = axes.iter().map(|a| self.bound(&a.lower)).collect();
        let upper = axes.iter().map(|a| self.bound(&a.upper)).collect();
        let stepped = axes.iter().any(|a| a.step != 1);
        let wide = axes.iter().any(|a| a.width != 1);
        let step = stepped.then(|| axes.iter().map(|a| self.int(a.step)).collect());
        let width = (stepped && wide).then(|| axes.iter().map(|a| self.int(a.width)).collect());
        Generator::Known { lower, upper, step, width }
    }

    /// A with-loop over the frame with all of the operators; one result each.
    pub(super) fn with_loop(&mut self, frame: &[Dim], specs: Vec<Spec>, depth: usize) -> Vec<Var> {
        let (boxes, covers) = self.boxes(frame);
        let stops: Vec<Option<Value>> = specs.iter().map(|s| self.stop(s)).collect();
        let safe = stops.iter().any(Option::is_some);
        self.safe += usize::from(safe);
        let mut cells: Vec<Option<Ghost>> = vec![None; specs.len()];
        let mut parts = Vec::new();
        let runs = self.most(frame);
        for axes in &boxes {
            let generator = self.generator(axes);
            let body = self.func.new_region();
            self.in_region(body, runs, |this| {
                for (axis, dim) in axes.iter().zip(frame) {
                    let value = this.func.add_param(body, Ty::scalar(Elem::I32));
                    let lo = axis.lower.lo.max(0);
                    let hi = (axis.upper.hi - 1).max(lo);
                    let ghost = Ghost::Int { lo: lo.into(), hi: hi.into(), below: Some(*dim) };
                    let var = this.var(value, Elem::I32, &[], ghost);
                    this.vars.push(var);
                }
                for (spec, known) in specs.iter().zip(&mut cells) {
                    let (elem, dims) = match spec {
                        Spec::Genarray { elem, cell } => (*elem, cell.clone()),
                        Spec::Modarray(array) => (array.elem, array.dims[frame.len()..].to_vec()),
                        Spec::Fold { neutral, .. } => (neutral.elem, neutral.dims.clone()),
                    };
                    let cell = this.array(elem, &dims, depth);
                    *known = Some(known.as_ref().map_or(cell.ghost.clone(), |g| g.join(&cell.ghost)).unrelated());
                    this.func.regions[body].yields.push(cell.value);
                }
            });
            parts.push(Part { generator, body });
        }
        let (mut ops, mut results) = (Vec::new(), Vec::new());
        for ((spec, stop), cell) in specs.into_iter().zip(stops).zip(cells) {
            let (op, elem, dims, ghost) = self.operator(frame, spec, stop, cell, covers, runs);
            ops.push(op);
            results.push((elem, dims, ghost));
        }
        self.safe -= usize::from(safe);
        let types: Vec<Ty> = results.iter().map(|(elem, dims, _)| self.ty(*elem, dims)).collect();
        self.fuel -= 1;
        let span = self.next_span();
        let inst = self.func.push(self.region, Op::With(With { parts, ops, ordered: false }), types, span);
        let values = self.func.insts[inst].results.clone();
        values.into_iter().zip(results).map(|(v, (elem, dims, ghost))| self.var(v, elem, &dims, ghost)).collect()
    }

    fn stop(&mut self, spec: &Spec) -> Option<Value> {
        let Spec::Fold { neutral, combine: FoldBy::Op(op) } = spec else { return None };
        let scalar = match (op, neutral.elem) {
            _ if !neutral.dims.is_empty() => return None,
            (BinOp::And | BinOp::Mul | BinOp::Min, Elem::Bool) => Scalar::Bool(false),
            (BinOp::Or | BinOp::Add | BinOp::Max, Elem::Bool) => Scalar::Bool(true),
            (BinOp::Mul | BinOp::And, Elem::I32) => Scalar::I32(0),
            (BinOp::Min, Elem::I32) => Scalar::I32(i32::MIN),
            _ => return None,
        };
        if self.chance(1, 2) { Some(self.constant(scalar)) } else { None }
    }

    fn operator(
        &mut self,
        frame: &[Dim],
        spec: Spec,
        stop: Option<Value>,
        cell: Option<Ghost>,
        covers: bool,
        runs: i64,
    ) -> (WithOp, Elem, Vec<Dim>, Ghost) {
        match spec {
            Spec::Genarray { elem, cell: dims } => {
                let zero = Scalar::zero(elem).map_or(Ghost::any(elem), Ghost::of);
                let mut ghost = cell.unwrap_or_else(|| zero.clone());
                let mut default = None;
                if self.chance(1, 3) {
                    let var = self.array(elem, &dims, 1);
                    ghost = ghost.join(&var.ghost).unrelated();
                    default = Some(var.value);
                } else if !covers {
                    ghost = ghost.join(&zero);
                }
                let open = !dims.is_empty() && self.constants(&dims).is_some() && self.chance(1, 6);
                let extents = if open { None } else { Some(self.extents(&dims)) };
                let lead = Frame::Known(self.extents(frame));
                let dims = frame.iter().chain(&dims).copied().collect();
                (WithOp::Genarray { frame: lead, cell: extents, default }, elem, dims, ghost)
            }
            Spec::Modarray(array) => {
                let ghost = cell.map_or(array.ghost.clone(), |g| g.join(&array.ghost)).unrelated();
                (WithOp::Modarray { array: array.value }, array.elem, array.dims, ghost)
            }
            Spec::Fold { neutral, combine } => {
                let elem = neutral.elem;
                let cell = cell.unwrap_or_else(|| neutral.ghost.clone());
                let (combine, ghost) = match combine {
                    // Regrouped, large numbers may overflow before a start of 0 is met, which makes no number.
                    FoldBy::Op(BinOp::Mul) if cell.may_overflow(elem, runs) => {
                        let ghost = Ghost::fold(BinOp::Add, elem, &neutral.ghost, &cell, runs);
                        (Combine::Op(BinOp::Add), ghost)
                    }
                    FoldBy::Op(op) => (Combine::Op(op), Ghost::fold(op, elem, &neutral.ghost, &cell, runs)),
                    FoldBy::Function => (self.fold_function(&neutral, &cell, runs), Ghost::any(elem)),
                };
                (WithOp::Fold { neutral: neutral.value, combine, stop }, elem, neutral.dims, ghost)
            }
        }
    }

    fn fold_function(&mut self, neutral: &Var, cell: &Ghost, runs: i64) -> Combine {
        let region = self.func.new_region();
        let (elem, dims) = (neutral.elem, neutral.dims.clone());
        self.in_region(region, runs, |this| {
            let ty = this.ty(elem, &dims);
            let acc = this.func.add_param(region, ty.clone());
            let x = this.func.add_param(region, ty);
            let acc = this.var(acc, elem, &dims, Ghost::any(elem));
            let x = this.var(x, elem, &dims, cell.clone());
            let next = if dims.is_empty() {
                this.step(&acc, &x)
            } else if this.affordable(&dims) {
                this.vars.push(acc.clone());
                this.vars.push(x.clone());
                this.map2(&acc, &x)
            } else if this.chance(1, 2) {
                acc
            } else {
                x
            };
            this.func.regions[region].yields = vec![next.value];
        });
        Combine::Region(region)
    }

    /// The next accumulator; reals stay bounded.
    pub(super) fn step(&mut self, acc: &Var, x: &Var) -> Var {
        let elem = acc.elem;
        if matches!(elem, Elem::F32 | Elem::F64) {
            let scalar = if elem == Elem::F32 { Scalar::F32(0.5) } else { Scalar::F64(0.5) };
            let half = self.constant(scalar);
            let half = self.var(half, elem, &[], Ghost::of(scalar));
            let less = match self.below(5) {
                0 => self.apply(BinOp::Sub, acc, x),
                1 => self.apply(BinOp::Sub, x, acc),
                2 => self.apply(BinOp::Add, acc, x),
                3 => self.apply(BinOp::Max, acc, x),
                _ => {
                    let scaled = self.apply(BinOp::Mul, acc, &half);
                    self.apply(BinOp::Add, &scaled, x)
                }
            };
            return self.tamed(less);
        }
        self.vars.push(x.clone());
        self.vars.push(acc.clone());
        self.scalar(elem, 2)
    }

    /// Element by element, the combination of two arrays of one shape.
    pub(super) fn map2(&mut self, a: &Var, b: &Var) -> Var {
        let (elem, dims) = (a.elem, a.dims.clone());
        let generator_axes = self.full(&dims);
        let generator = self.generator(&generator_axes);
        let body = self.func.new_region();
        let runs = self.most(&dims);
        let ghost = self.in_region(body, runs, |this| {
            let index: Vec<Value> = dims.iter().map(|_| this.func.add_param(body, Ty::scalar(Elem::I32))).collect();
            let x = this.emit(Op::Sel { array: a.value, index: index.clone() }, Ty::scalar(elem));
            let y = this.emit(Op::Sel { array: b.value, index }, Ty::scalar(elem));
            let x = this.var(x, elem, &[], a.ghost.unrelated());
            let y = this.var(y, elem, &[], b.ghost.unrelated());
            let next = this.step(&x, &y);
            this.func.regions[body].yields = vec![next.value];
            next.ghost.unrelated()
        });
        let frame = Frame::Known(self.extents(&dims));
        let op = WithOp::Genarray { frame, cell: Some(Vec::new()), default: None };
        let ty = self.ty(elem, &dims);
        let value =
            self.emit(Op::With(With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false }), ty);
        self.var(value, elem, &dims, ghost)
    }

    /// An operation to fold with.
    pub(super) fn fold_by(&mut self, elem: Elem) -> FoldBy {
        use BinOp::*;
        if self.chance(1, 5) && elem != Elem::Char {
            return FoldBy::Function;
        }
        let op = match elem {
            Elem::Bool => self.shared.rng.pick(&[And, Or, Xor, Min, Max, Add, Mul]),
            Elem::Char => self.shared.rng.pick(&[Min, Max]),
            Elem::F32 | Elem::F64 => self.shared.rng.pick(&[Add, Add, Add, Mul, Min, Max, Sub]),
            _ => self.shared.rng.pick(&[Add, Add, Mul, Min, Max, And, Or, Xor, Sub, Shl]),
        };
        FoldBy::Op(op)
    }

    /// A scalar fold.
    pub(super) fn folded(&mut self, elem: Elem, depth: usize) -> Var {
        let dims = self.some_dims(2);
        if !self.affordable(&dims) {
            return self.scalar(elem, 0);
        }
        let neutral = self.scalar(elem, 1);
        let combine = self.fold_by(elem);
        let mut made = self.with_loop(&dims, vec![Spec::Fold { neutral, combine }], depth);
        let result = made.remove(0);
        self.tamed(result)
    }

    /// A with-loop of several operators; all results come into scope.
    pub(super) fn several(&mut self, depth: usize) {
        let frame = self.some_dims(2);
        if !self.affordable(&frame) {
            return;
        }
        let mut specs = Vec::new();
        for _ in 0..2 + self.below(2) {
            let elem = self.elem();
            let cell = if self.chance(1, 3) { self.small_dims(1) } else { Vec::new() };
            let spec = match self.below(3) {
                0 => Spec::Genarray { elem, cell },
                1 => {
                    let dims: Vec<Dim> = frame.iter().chain(&cell).copied().collect();
                    Spec::Modarray(self.array(elem, &dims, 1))
                }
                _ => {
                    let neutral = self.array(elem, &cell, 1);
                    Spec::Fold { neutral, combine: self.fold_by(elem) }
                }
            };
            specs.push(spec);
        }
        for result in self.with_loop(&frame, specs, depth) {
            let result = if result.dims.is_empty() { self.tamed(result) } else { self.tamed_array(result) };
            self.vars.push(result);
        }
    }
}
