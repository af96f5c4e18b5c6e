//! Branches, loops and calls.

use super::ghost::Ghost;
use super::{Callee, Dim, FnGen, Var};
use ravel_types::{Affine, BinOp, Elem, Shape, Ty};
use ravel_wir::{Frame, Func, Generator, Op, Part, Value, With, WithOp};

/// Reals that a loop carries stay below `2^CARRIED_MAG`.
const CARRIED_MAG: u32 = 4;

impl FnGen<'_> {
    /// An `if` of one value.
    pub(super) fn branched(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let cond = self.condition(1);
        let regions = [self.func.new_region(), self.func.new_region()];
        let ghosts = regions.map(|region| {
            self.in_region(region, 1, |this| {
                let var = this.array(elem, dims, depth);
                this.func.regions[region].yields = vec![var.value];
                var.ghost.unrelated()
            })
        });
        let ty = self.ty(elem, dims);
        let value = self.emit(Op::If { cond, then: regions[0], els: regions[1] }, ty);
        self.var(value, elem, dims, ghosts[0].join(&ghosts[1]))
    }

    /// An array whose first extent depends on a branch comes into scope.
    pub(super) fn shape_of_branch(&mut self, elem: Elem) {
        let rest = self.small_dims(1);
        let cond = self.condition(2);
        let regions = [self.func.new_region(), self.func.new_region()];
        let (mut ghosts, mut counts) = (Vec::new(), Vec::new());
        for region in regions {
            let n = self.range(0, 4);
            let mut dims = vec![self.const_dim(n)];
            dims.extend(&rest);
            counts.push(n);
            ghosts.push(self.in_region(region, 1, |this| {
                let var = this.array(elem, &dims, 2);
                this.func.regions[region].yields = vec![var.value];
                var.ghost.unrelated()
            }));
        }
        let mut forms = vec![Affine::sym(self.func.fresh_sym())];
        forms.extend(rest.iter().map(|d| self.dims[d.0].form.clone()));
        let ty = Ty::new(elem, Shape::Known(forms));
        let value = self.emit(Op::If { cond, then: regions[0], els: regions[1] }, ty);
        let lo = counts[0].min(counts[1]);
        let first = self.symbolic_dim(lo, counts[0].max(counts[1]), None);
        let mut like = vec![first];
        like.extend(&rest);
        let var = self.with_fresh_dims(value, elem, &like, ghosts[0].join(&ghosts[1]));
        self.dims[first.0].alive = false;
        self.vars.push(var);
    }

    /// What a loop may carry: integers of any value, reals within bounds.
    fn carried_ghost(elem: Elem) -> Ghost {
        match Ghost::any(elem) {
            Ghost::Real { .. } => Ghost::Real { mag: CARRIED_MAG, scale: 0, exact: false },
            int => int,
        }
    }

    /// A counted loop that carries an array or scalar of this shape, and sometimes a second value.
    pub(super) fn looped(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let trips = self.range(1, 4);
        let init = self.array(elem, dims, depth);
        let init = self.clamped_array(init, CARRIED_MAG);
        let mut carried = vec![init];
        if self.chance(1, 2) {
            let other = self.elem();
            let shape = if self.chance(1, 3) { dims.to_vec() } else { Vec::new() };
            let second = self.array(other, &shape, 1);
            carried.push(self.clamped_array(second, CARRIED_MAG));
        }
        let start = self.int(0);
        let mut inits = vec![start];
        inits.extend(carried.iter().map(|v| v.value));
        let body = self.func.new_region();
        self.in_region(body, trips, |this| {
            let counter = this.func.add_param(body, Ty::scalar(Elem::I32));
            let counter_var = this.var(counter, Elem::I32, &[], Ghost::int(0, (trips - 1).into()));
            this.vars.push(counter_var);
            let mut params = Vec::new();
            for v in &carried {
                let ty = this.ty(v.elem, &v.dims);
                let value = this.func.add_param(body, ty);
                let var = this.var(value, v.elem, &v.dims, Self::carried_ghost(v.elem));
                this.vars.push(var.clone());
                params.push(var);
            }
            let mut next = Vec::new();
            for v in &params {
                let var = if !v.dims.is_empty() && this.chance(1, 2) {
                    this.array_step(v, depth)
                } else {
                    this.array(v.elem, &v.dims, depth)
                };
                next.push(this.clamped_array(var, CARRIED_MAG).value);
            }
            if params.len() == 2
                && params[0].elem == params[1].elem
                && params[0].dims == params[1].dims
                && this.chance(1, 3)
            {
                next.swap(0, 1);
            }
            let one = this.int(1);
            let up = this.emit(Op::Bin(BinOp::Add, counter, one), Ty::scalar(Elem::I32));
            let end = this.int(trips);
            let mut go_on = this.emit(Op::Bin(BinOp::Lt, up, end), Ty::scalar(Elem::Bool));
            if this.chance(1, 5) {
                let also = this.condition(1);
                go_on = this.emit(Op::Bin(BinOp::And, go_on, also), Ty::scalar(Elem::Bool));
            }
            let mut yields = vec![go_on, up];
            yields.extend(next);
            this.func.regions[body].yields = yields;
        });
        let mut types = vec![Ty::scalar(Elem::I32)];
        types.extend(carried.iter().map(|v| self.ty(v.elem, &v.dims)));
        self.fuel -= 1;
        let span = self.next_span();
        let inst = self.func.push(self.region, Op::Loop { init: inits, body }, types, span);
        let results = self.func.insts[inst].results.clone();
        let count = self.var(results[0], Elem::I32, &[], Ghost::int(1, trips.into()));
        self.vars.push(count);
        let made: Vec<Var> = carried
            .iter()
            .zip(&results[1..])
            .map(|(v, result)| self.var(*result, v.elem, &v.dims, Self::carried_ghost(v.elem)))
            .collect();
        self.vars.extend(made.iter().skip(1).cloned());
        made[0].clone()
    }

    /// An update of the array, perhaps in one branch only.
    fn array_step(&mut self, array: &Var, depth: usize) -> Var {
        let lead = 1 + self.below(array.dims.len());
        let Some(index) = self.indices(&array.dims[..lead]) else { return array.clone() };
        let ty = self.ty(array.elem, &array.dims);
        let dims = array.dims[lead..].to_vec();
        if self.chance(1, 2) {
            let cell = self.array(array.elem, &dims, depth);
            let value = self.emit(Op::Update { array: array.value, index, value: cell.value }, ty);
            return self.var(value, array.elem, &array.dims, array.ghost.join(&cell.ghost).unrelated());
        }
        let cond = self.condition(2);
        let regions = [self.func.new_region(), self.func.new_region()];
        let ghost = self.in_region(regions[0], 1, |this| {
            let cell = this.array(array.elem, &dims, depth);
            let value = this.emit(Op::Update { array: array.value, index, value: cell.value }, ty.clone());
            this.func.regions[regions[0]].yields = vec![value];
            array.ghost.join(&cell.ghost).unrelated()
        });
        self.func.regions[regions[1]].yields = vec![array.value];
        let (then, els) = if self.chance(1, 2) { (regions[0], regions[1]) } else { (regions[1], regions[0]) };
        let value = self.emit(Op::If { cond, then, els }, ty);
        self.var(value, array.elem, &array.dims, ghost)
    }

    /// A loop whose array gets longer by one element per round, or loses some at its ends, comes into scope, with an element that it carries.
    pub(super) fn resizing_loop(&mut self, elem: Elem) {
        let trips = self.range(1, 4);
        // Elements that a round loses, in all and at the front; none if the array grows.
        let lost = if self.chance(1, 2) { self.range(1, 3) } else { 0 };
        let front = self.range(0, lost);
        let first = self.range(0, 3) + lost * trips;
        let by = if lost > 0 { -lost } else { 1 };
        let sometimes = lost > 0 && self.chance(1, 2);
        let dim = self.const_dim(first);
        let init = self.array(elem, &[dim], 1);
        let init = self.clamped_array(init, CARRIED_MAG);
        let last = self.scalar(elem, 1);
        let last = self.clamped(last, CARRIED_MAG);
        let start = self.int(0);
        let body = self.func.new_region();
        let ty = Ty::scalar(Elem::I32);
        let open = |this: &mut Self| Ty::new(elem, Shape::Known(vec![Affine::sym(this.func.fresh_sym())]));
        // Bounds on the extent after some rounds.
        let between = |rounds: i64| (first + (by * rounds).min(0), first + (by * rounds).max(0));
        self.in_region(body, trips * (first + trips), |this| {
            let counter = this.func.add_param(body, ty.clone());
            let counter_var = this.var(counter, Elem::I32, &[], Ghost::int(0, (trips - 1).into()));
            this.vars.push(counter_var);
            let param_ty = open(this);
            let array = this.func.add_param(body, param_ty);
            let element = this.func.add_param(body, Ty::scalar(elem));
            let (low, high) = between(trips - 1);
            let bounds = this.symbolic_dim(low, high, None);
            let old = this.with_fresh_dims(array, elem, &[bounds], Self::carried_ghost(elem));
            this.dims[bounds.0].alive = false;
            this.vars.push(old.clone());
            let element = this.var(element, elem, &[], Self::carried_ghost(elem));
            this.vars.push(element);
            let extent = this.extent(old.dims[0]);
            let (one, change) = (this.int(1), this.int(by));
            let next = this.scalar(elem, 1);
            let next = this.clamped(next, CARRIED_MAG);
            let resized_ty = open(this);
            let resize = |this: &mut Self| {
                let resized = this.emit(Op::Bin(BinOp::Add, extent, change), ty.clone());
                let parts = if lost > 0 {
                    vec![this.copy_part(&old, front, resized)]
                } else {
                    vec![this.copy_part(&old, 0, extent), this.last_part(extent, resized, next.value)]
                };
                let op = WithOp::Genarray { frame: Frame::Known(vec![resized]), cell: Some(Vec::new()), default: None };
                this.emit(Op::With(With { parts, ops: vec![op], ordered: false }), resized_ty.clone())
            };
            let array = if sometimes {
                let cond = this.condition(1);
                let (then, els) = (this.func.new_region(), this.func.new_region());
                this.in_region(then, 1, |this| this.func.regions[then].yields = vec![resize(this)]);
                this.func.regions[els].yields = vec![old.value];
                let ty = open(this);
                this.emit(Op::If { cond, then, els }, ty)
            } else {
                resize(this)
            };
            let up = this.emit(Op::Bin(BinOp::Add, counter, one), ty.clone());
            let end = this.int(trips);
            let go_on = this.emit(Op::Bin(BinOp::Lt, up, end), Ty::scalar(Elem::Bool));
            this.func.regions[body].yields = vec![go_on, up, array, next.value];
        });
        let result_ty = open(self);
        self.fuel -= 1;
        let span = self.next_span();
        let op = Op::Loop { init: vec![start, init.value, last.value], body };
        let inst = self.func.push(self.region, op, vec![ty, result_ty, Ty::scalar(elem)], span);
        let (result, element) = (self.func.insts[inst].results[1], self.func.insts[inst].results[2]);
        let (low, high) = between(trips);
        let bounds = if sometimes {
            self.symbolic_dim(low, high, None)
        } else {
            self.symbolic_dim(first + by * trips, first + by * trips, None)
        };
        let var = self.with_fresh_dims(result, elem, &[bounds], Self::carried_ghost(elem));
        self.dims[bounds.0].alive = false;
        self.vars.push(var);
        let element = self.var(element, elem, &[], Self::carried_ghost(elem));
        self.vars.push(element);
    }

    /// The elements of a vector from `front` on, up to the index `upper` of what is made of them.
    fn copy_part(&mut self, array: &Var, front: i64, upper: Value) -> Part {
        let zero = self.int(0);
        let body = self.func.new_region();
        self.in_region(body, 1, |this| {
            let i = this.func.add_param(body, Ty::scalar(Elem::I32));
            let index = if front > 0 {
                let front = this.int(front);
                this.emit(Op::Bin(BinOp::Add, i, front), Ty::scalar(Elem::I32))
            } else {
                i
            };
            let x = this.emit(Op::Sel { array: array.value, index: vec![index] }, Ty::scalar(array.elem));
            this.func.regions[body].yields = vec![x];
        });
        Part { generator: Generator::Known { lower: vec![zero], upper: vec![upper], step: None, width: None }, body }
    }

    fn last_part(&mut self, lower: Value, upper: Value, cell: Value) -> Part {
        let body = self.func.new_region();
        self.func.add_param(body, Ty::scalar(Elem::I32));
        self.func.regions[body].yields = vec![cell];
        Part { generator: Generator::Known { lower: vec![lower], upper: vec![upper], step: None, width: None }, body }
    }

    /// The array with `f` applied to each element.
    pub(super) fn map1(&mut self, array: &Var, f: impl Fn(&mut Self, Var) -> Var) -> Var {
        let dims = array.dims.clone();
        let zero = self.int(0);
        let upper = self.extents(&dims);
        let generator =
            Generator::Known { lower: vec![zero; dims.len()], upper: upper.clone(), step: None, width: None };
        let body = self.func.new_region();
        let ghost = self.in_region(body, 1, |this| {
            let index: Vec<Value> = dims.iter().map(|_| this.func.add_param(body, Ty::scalar(Elem::I32))).collect();
            let x = this.emit(Op::Sel { array: array.value, index }, Ty::scalar(array.elem));
            let x = this.var(x, array.elem, &[], array.ghost.unrelated());
            let y = f(this, x);
            this.func.regions[body].yields = vec![y.value];
            y.ghost.unrelated()
        });
        let op = WithOp::Genarray { frame: Frame::Known(upper), cell: Some(Vec::new()), default: None };
        let ty = self.ty(array.elem, &dims);
        let value =
            self.emit(Op::With(With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false }), ty);
        self.var(value, array.elem, &dims, ghost)
    }

    /// The result of a function, a new one or one that was called before.
    pub(super) fn called(&mut self, elem: Elem, dims: &[Dim], depth: usize) -> Var {
        let known: Vec<Callee> = self
            .callees
            .iter()
            .filter(|c| {
                c.results[0].0 == elem
                    && c.results[0].1 == dims
                    && (!c.effects || (self.depth == 0 && self.func.effects))
            })
            .cloned()
            .collect();
        if !known.is_empty() && self.chance(2, 3) {
            let callee = known[self.shared.rng.below(known.len())].clone();
            let mut args = Vec::new();
            for (elem, dims, ghost) in &callee.params {
                let alive = dims.iter().all(|d| self.dim(*d).alive);
                let arg = if alive { Some(self.array(*elem, dims, depth)) } else { None };
                match arg {
                    Some(arg) if arg.ghost.unrelated().within(ghost) => args.push(arg.value),
                    _ => return self.array(callee.results[0].0, &callee.results[0].1, 0),
                }
            }
            return self.call(&callee, args);
        }
        if self.call_depth >= 2 || self.fuel < 6 {
            return self.array(elem, dims, depth);
        }
        let mut args = vec![self.array(elem, dims, depth)];
        for _ in 0..self.below(3) {
            let other = self.elem();
            let shape = if self.chance(1, 2) { Vec::new() } else { self.some_dims(2) };
            args.push(self.array(other, &shape, 1));
        }
        let callee = self.new_callee(&args, elem, dims);
        let values = args.iter().map(|a| a.value).collect();
        self.callees.push(callee.clone());
        self.call(&callee, values)
    }

    fn call(&mut self, callee: &Callee, args: Vec<Value>) -> Var {
        let types = callee.results.iter().map(|(elem, dims, _)| self.ty(*elem, dims)).collect();
        self.fuel -= 1;
        let span = self.next_span();
        let inst = self.func.push(self.region, Op::Call { func: callee.func, args }, types, span);
        let results = self.func.insts[inst].results.clone();
        let mut made: Vec<Var> = results
            .into_iter()
            .zip(&callee.results)
            .map(|(value, (elem, dims, ghost))| self.var(value, *elem, dims, ghost.clone()))
            .collect();
        let first = made.remove(0);
        self.vars.extend(made);
        first
    }

    /// Makes a function of arguments like these with a first result of this type.
    fn new_callee(&mut self, args: &[Var], elem: Elem, dims: &[Dim]) -> Callee {
        let name = format!("f{}", self.shared.module.funcs.len());
        let func = self.shared.module.funcs.push(Func::new(name.clone(), ravel_source::Span::NONE));
        let hide = self.chance(1, 2);
        let noinline = self.chance(1, 2);
        let outer: Vec<super::DimInfo> = self.dims.clone();
        // Only calls of functions with effects are never removed.
        let effects = self.func.effects && self.depth == 0 && self.chance(1, 2);
        let safe = self.safe + usize::from(!effects);
        // The work of a callee counts as work of the place that calls it.
        let weight = self.weight;
        let call_depth = self.call_depth + 1;
        let fuel = (self.fuel / 2).clamp(5, 30);
        self.fuel -= fuel;
        let mut callee = FnGen::new(self.shared, &name, fuel, call_depth);
        callee.safe = safe;
        callee.weight = weight;
        callee.func.noinline = noinline;
        callee.func.effects = effects;
        let mut inner_of: Vec<(Dim, Dim)> = Vec::new();
        let mut seen = Vec::new();
        for arg in args {
            let mut own = Vec::new();
            for dim in &arg.dims {
                let known = inner_of.iter().find(|(o, _)| o == dim).map(|(_, i)| *i);
                let inner = known.unwrap_or_else(|| {
                    let info = &outer[dim.0];
                    let inner = match info.form.as_const() {
                        Some(n) if !hide => callee.const_dim(n.into()),
                        _ => callee.symbolic_dim(info.lo, info.hi, None),
                    };
                    inner_of.push((*dim, inner));
                    inner
                });
                own.push(inner);
            }
            let ty = callee.ty(arg.elem, &own);
            let value = callee.func.add_param(callee.func.body, ty);
            seen.push(callee.var(value, arg.elem, &own, arg.ghost.unrelated()));
        }
        for var in seen {
            for (axis, dim) in var.dims.iter().enumerate() {
                if callee.dim(*dim).value.is_none() && callee.dim(*dim).form.as_const().is_none() {
                    let op = Op::Extent { array: var.value, axis: axis as u32 };
                    callee.dims[dim.0].value = Some(callee.emit(op, Ty::scalar(Elem::I32)));
                }
            }
            callee.vars.push(var);
        }
        callee.statements();
        let inner = |dim: &Dim| inner_of.iter().find(|(o, _)| o == dim).map_or(Dim(0), |(_, i)| *i);
        let own: Vec<Dim> = dims.iter().map(inner).collect();
        callee.fuel += 10;
        let first = callee.array(elem, &own, 2);
        let mut results = vec![(elem, dims.to_vec(), first.ghost.unrelated())];
        let mut yields = vec![first.value];
        // A second result whose extents the caller knows.
        let outer_of = |dim: &Dim| inner_of.iter().find(|(_, i)| i == dim).map(|(o, _)| *o);
        for var in callee.vars.iter().rev().take(3) {
            let dims: Option<Vec<Dim>> = var.dims.iter().map(outer_of).collect();
            if let Some(dims) = dims
                && yields.len() < 2
            {
                yields.push(var.value);
                results.push((var.elem, dims, var.ghost.unrelated()));
            }
        }
        callee.func.regions[callee.func.body].yields = yields;
        let made = callee.func;
        self.shared.module.funcs[func] = made;
        let params = args.iter().map(|a| (a.elem, a.dims.clone(), a.ghost.unrelated())).collect();
        Callee { func, params, results, effects }
    }
}
