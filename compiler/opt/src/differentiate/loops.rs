//! Adjoints of loops.
//!
//! ```text
//!    loop (%x = %a, %i = 0) { .. yield %i' < %n, %x', %i' }
//! => loop (%x = %a, %i = 0, %tape = zeros, %k = 0) { .. %tape' = update %tape, [%k], kept values  yield .. }
//!    loop (%t = %k - 1, %gx = %gy, %ga = zeros) { kept values from %tape; the rest again; adjoint code  yield %t > 0, .. }
//! ```
//!
//! The reverse loop carries the adjoints of what the loop carries, and sums those of values from outside in place. A tape has as many places as there are
//! iterations where these are counted; otherwise it grows by doubling.

use crate::differentiate::adjoint::{Adjoints, Term};
use crate::differentiate::keep::{Node, cut};
use crate::differentiate::reverse::Reverse;
use crate::differentiate::state::Result;
use crate::edit::{Renames, insert_before, insts_where, reads_of, slice};
use crate::loops::nest::Trip;
use ravel_types::{Affine, BinOp, Elem, HashMap, HashSet, Shape, Ty};
use ravel_wir::traverse::free_values;
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

/// What the length of an axis that nobody knows is taken to be.
const LONG: u64 = 1 << 10;
/// No value costs more, however large.
const DEAREST: u64 = 1 << 48;
/// Places of a tape that grows.
const FIRST: i32 = 16;

impl Reverse<'_> {
    pub fn repeated(&mut self, at: Region, inst: Inst, adjoints: &mut Adjoints) -> Result<()> {
        let Op::Loop { init, body } = self.state.func.insts[inst].op.clone() else { return Ok(()) };
        let results = self.state.func.insts[inst].results.clone();
        let params = self.state.func.regions[body].params.clone();
        let varied: Vec<usize> = (0..params.len()).filter(|k| self.state.is_varied(params[*k])).collect();
        let mut seeds = Vec::new();
        for &k in &varied {
            let terms = adjoints.take(results[k]);
            seeds.push(self.value(at, results[k], terms)?);
        }
        let span = self.state.span;
        // One iteration, forward and then in reverse.
        let (once, _) = self.state.copy_with_checks(body);
        self.iterations.insert(once);
        let forward = self.state.func.regions[once].insts.clone();
        let own = self.state.func.regions[once].clone();
        self.state.results.extend(own.params.iter().copied().zip(results.iter().copied()));
        let mut inner = Adjoints::default();
        let mut carried = Vec::new();
        for &k in &varied {
            let ty = self.state.ty(own.params[k]);
            let g = self.state.func.new_value(ty);
            self.state.home[g] = once.into();
            carried.push(g);
            self.contribute(&mut inner, own.yields[k + 1], Term::here(g));
        }
        // Adjoints of values from outside begin as what the iterations behind have made of them.
        let mut outside = Vec::new();
        for v in free_values(self.state.func, once) {
            if self.state.is_varied(v) {
                let ty = self.state.ty(v);
                let g = self.state.func.new_value(ty);
                self.state.home[g] = once.into();
                inner.add(v, Term::here(g));
                outside.push((v, g));
            }
        }
        self.sweep(once, &forward, &mut inner)?;
        self.state.span = span;
        let mut next = Vec::new();
        for &k in &varied {
            let terms = inner.take(own.params[k]);
            next.push(self.value(once, own.params[k], terms)?);
        }
        let (mut sums, mut totals) = (Vec::new(), Vec::new());
        for (v, g) in outside {
            let terms = inner.take(v);
            let total = self.value(once, v, terms)?;
            if total != g {
                sums.push((v, g));
                totals.push(total);
            }
        }
        let trip = Trip::of(self.state.func, &self.state.defs, inst);
        let counter = trip.map(|trip| own.params[trip.counter]);
        // The loop itself does what the forward part does now: loops inside have got tapes, branches give what was kept in them.
        let (forward, backward) = self.halves(once, &forward);
        self.state.read_results(&backward);
        let (body, original) = self.forward_part(own.params.clone(), &forward, own.yields.clone());
        self.state.func.insts[inst].op = Op::Loop { init: init.clone(), body };
        self.state.drop_checks(once);
        // What the adjoint code needs of the forward part.
        let wanted: Vec<Value> = next.iter().chain(&totals).copied().collect();
        let backward = slice(self.state.func, &backward, wanted.iter().copied(), |_| false);
        self.ask_outside(once, &backward, &init);
        let needed = self.needed((&forward, &own.params), &backward, &wanted);
        let Some(kept) = self.chosen(once, (&forward, &own.params), counter, &needed) else {
            return self.state.refuse("a loop that carries what cannot be kept has no derivative in reverse mode");
        };
        let stored: Vec<Value> = kept.iter().map(|v| original.get(v).copied().unwrap_or(*v)).collect();
        let kept_by = match stored.is_empty() {
            true => "its reverse loop needs nothing of its iterations".to_string(),
            false => format!("keeps {} for each iteration", amount(self.state.func, &stored)),
        };
        self.state.tell(span, kept_by);
        let has_shape = |v: &Value| self.extents_outside(*v, &init).is_some();
        let (rows, stacks): (Vec<Value>, Vec<Value>) = stored.iter().partition(|v| has_shape(v));
        let tapes = self.record(at, (inst, body), &init, (&rows, &stacks), trip)?;
        // The reverse loop.
        let int = Ty::scalar(Elem::I32);
        let reverse = self.state.func.regions.push(RegionData::default());
        let t = self.state.func.add_param(reverse, int.clone());
        self.state.func.regions[reverse].params.extend(carried.iter().copied());
        self.state.func.regions[reverse].params.extend(sums.iter().map(|(_, g)| *g));
        let mut renames = Renames::default();
        for (v, original) in kept.iter().zip(&stored) {
            let ty = self.state.ty(*v);
            let read = match rows.iter().position(|row| row == original) {
                Some(k) => self.state.emit(reverse, Op::Sel { array: tapes.rows[k], index: vec![t] }, ty),
                None => {
                    let k = stacks.iter().position(|stack| stack == original).unwrap_or(0);
                    self.popped(reverse, t, &tapes.stacks, &tapes.stacks[k], ty)
                }
            };
            renames.set(*v, read);
        }
        if let (Some(trip), Some(counter)) = (trip, counter) {
            let step = self.state.int(reverse, trip.step);
            let far = self.state.bin(reverse, BinOp::Mul, t, step);
            let again = self.state.bin(reverse, BinOp::Add, trip.start, far);
            renames.set(counter, again);
        }
        let again: Vec<Value> = needed.into_iter().filter(|v| !kept.contains(v)).collect();
        let again = slice_without(self.state.func, &forward, &again, &kept);
        self.state.read_results(&again);
        for inst in again.into_iter().chain(backward) {
            self.state.func.regions[reverse].insts.push(inst);
        }
        let (zero, one) = (self.state.int(reverse, 0), self.state.int(reverse, 1));
        let more = self.state.bin(reverse, BinOp::Gt, t, zero);
        let before = self.state.bin(reverse, BinOp::Sub, t, one);
        let yields = [more, before].into_iter().chain(wanted).collect();
        self.state.func.regions[reverse].yields = yields;
        for k in 0..self.state.func.regions[reverse].insts.len() {
            let inst = self.state.func.regions[reverse].insts[k];
            renames.apply_inst(self.state.func, inst);
            for nested in self.state.func.insts[inst].op.regions() {
                renames.apply_region(self.state.func, nested);
            }
        }
        let yields: Vec<Value> = self.state.func.regions[reverse].yields.iter().map(|v| renames.get(*v)).collect();
        self.state.func.regions[reverse].yields = yields;
        let one = self.state.int(at, 1);
        let last = self.state.bin(at, BinOp::Sub, tapes.count, one);
        let mut begin = vec![last];
        begin.extend(&seeds);
        for (v, _) in &sums {
            let terms = adjoints.take(*v);
            begin.push(self.value(at, *v, terms)?);
        }
        let params = self.state.func.regions[reverse].params.clone();
        let types: Vec<Ty> = params.iter().map(|v| self.state.ty(*v)).collect();
        let made = self.state.emits(at, Op::Loop { init: begin, body: reverse }, types);
        for (k, g) in varied.iter().zip(&made[1..]) {
            self.contribute(adjoints, init[*k], Term::here(*g));
        }
        for ((v, _), g) in sums.iter().zip(&made[1 + varied.len()..]) {
            self.contribute(adjoints, *v, Term::here(*g));
        }
        Ok(())
    }

    /// Asks arrays from in front of a loop for extents that they have in common with arrays of its iterations, which would have to be kept for that.
    fn ask_outside(&mut self, once: Region, backward: &[Inst], init: &[Value]) {
        let mut insts = backward.to_vec();
        for inst in backward {
            for nested in self.state.func.insts[*inst].op.regions() {
                insts.extend(insts_where(self.state.func, nested, |_| true).into_iter().map(|(_, inst)| inst));
            }
        }
        for inst in insts {
            let Op::Extent { array, axis } = self.state.func.insts[inst].op else { continue };
            if !self.state.is_made_in(array, once) {
                continue;
            }
            let ty = self.state.ty(array);
            let Some(extent) = ty.shape.extents().and_then(|extents| extents.get(axis as usize)) else { continue };
            let same = init.iter().find_map(|v| {
                let axis = self.state.func.ty(*v).shape.extents()?.iter().position(|e| e == extent)?;
                Some((*v, axis as u32))
            });
            if let Some((array, axis)) = same {
                self.state.func.insts[inst].op = Op::Extent { array, axis };
            }
        }
    }

    /// Instructions of a region up to the last one of its forward part, and those behind it.
    pub fn halves(&self, region: Region, forward: &[Inst]) -> (Vec<Inst>, Vec<Inst>) {
        let all = &self.state.func.regions[region].insts;
        // Loops have got tapes in front of them.
        let end = forward.last().and_then(|last| all.iter().position(|i| i == last)).map_or(0, |at| at + 1);
        (all[..end].to_vec(), all[end..].to_vec())
    }

    /// What adjoint code reads of a forward part.
    pub fn needed(&self, (forward, params): (&[Inst], &[Value]), backward: &[Inst], wanted: &[Value]) -> Vec<Value> {
        let func = &*self.state.func;
        let mut made: HashSet<Value> = params.iter().copied().collect();
        made.extend(forward.iter().flat_map(|inst| func.insts[*inst].results.iter().copied()));
        let reads = backward.iter().flat_map(|inst| reads_of(func, *inst)).chain(wanted.iter().copied());
        let mut needed: Vec<Value> = reads.filter(|v| made.contains(v)).collect();
        needed.sort();
        needed.dedup();
        needed
    }

    /// A copy of a forward part that takes the place of the code it came from, and by value its copy.
    pub fn forward_part(
        &mut self,
        params: Vec<Value>,
        insts: &[Inst],
        yields: Vec<Value>,
    ) -> (Region, HashMap<Value, Value>) {
        let part = self.state.func.regions.push(RegionData { params, insts: insts.to_vec(), yields });
        self.state.copy_with_checks(part)
    }

    /// What is kept of an iteration, or of a branch of one.
    pub fn chosen(
        &self,
        once: Region,
        (forward, params): (&[Inst], &[Value]),
        counter: Option<Value>,
        needed: &[Value],
    ) -> Option<Vec<Value>> {
        // Arrays that a loop around changes would have to be kept whole for each of its iterations: elements that are read are kept instead.
        let is_changing = |v: &Value| {
            !self.state.func.ty(*v).is_scalar()
                && self.state.home[*v].expand().is_some_and(|home| home != once && self.is_repeated(home))
        };
        let mut changing: Vec<Value> = forward.iter().flat_map(|inst| self.state.unsettled_reads(*inst)).collect();
        changing.retain(is_changing);
        changing.sort();
        changing.dedup();
        let with = |changing: &[Value]| cut(&self.nodes(once, (forward, params), counter, changing), needed);
        with(&changing).or_else(|| with(&[]))
    }

    /// The values of an iteration for the choice of what is kept. No loop runs again.
    fn nodes(
        &self,
        once: Region,
        (forward, params): (&[Inst], &[Value]),
        counter: Option<Value>,
        changing: &[Value],
    ) -> Vec<Node> {
        let func = &*self.state.func;
        let mut nodes = Vec::new();
        nodes.extend(changing.iter().map(|v| Node { value: *v, cost: None, operands: None }));
        for &p in params {
            let operands = (counter == Some(p)).then(Vec::new);
            nodes.push(Node { value: p, cost: self.store_cost(p), operands });
        }
        for &inst in forward {
            let is_outside = matches!(func.insts[inst].op, Op::Native { .. } | Op::GlobalGet(_));
            let is_again = (!self.is_heavy(inst) || self.is_light(inst)) && !is_outside;
            let is_source = |v: &Value| self.state.is_made_in(*v, once) || changing.contains(v);
            let operands: Option<Vec<Value>> =
                is_again.then(|| self.state.unsettled_reads(inst).into_iter().filter(is_source).collect());
            for &v in &func.insts[inst].results {
                nodes.push(Node { value: v, cost: self.store_cost(v), operands: operands.clone() });
            }
        }
        nodes
    }

    fn store_cost(&self, v: Value) -> Option<u64> {
        let ty = self.state.func.ty(v);
        if ty.elem == Elem::Handle {
            return None;
        }
        let Some(extents) = ty.shape.extents() else { return Some(DEAREST) };
        let length = |extent: &Affine| extent.as_const().map_or(LONG, |n| n.max(0) as u64);
        let count = extents.iter().fold(1u64, |n, extent| n.saturating_mul(length(extent)));
        Some(count.saturating_mul(ty.elem.bytes() as u64).clamp(1, DEAREST))
    }

    /// Where the extents of a value of an iteration are known in front of the loop: constants, or axes of what it begins with.
    fn extents_outside(&self, v: Value, init: &[Value]) -> Option<Vec<(Affine, Place)>> {
        let func = &*self.state.func;
        let extents = func.ty(v).shape.extents()?;
        let find = |extent: &Affine| -> Option<(Affine, Place)> {
            if extent.as_const().is_some() {
                return Some((extent.clone(), None));
            }
            init.iter().find_map(|i| {
                let axis = func.ty(*i).shape.extents()?.iter().position(|e| e == extent)?;
                Some((extent.clone(), Some((*i, axis as u32))))
            })
        };
        extents.iter().map(find).collect()
    }

    /// Lets a loop write what is kept to tapes: values of one shape in rows, others one behind the other.
    fn record(
        &mut self,
        at: Region,
        (inst, body): (Inst, Region),
        init: &[Value],
        (rows, stacks): (&[Value], &[Value]),
        trip: Option<Trip>,
    ) -> Result<Tapes> {
        let int = Ty::scalar(Elem::I32);
        // In front of the loop.
        let front = self.state.branch();
        let zero = self.state.int(front, 0);
        let first = self.state.int(front, FIRST);
        let size = match trip {
            Some(trip) => {
                let one = self.state.int(front, 1);
                let (low, high) = if trip.step > 0 { (trip.start, trip.end) } else { (trip.end, trip.start) };
                let low = self.again_outside(front, low);
                let high = self.again_outside(front, high);
                let n = self.state.bin(front, BinOp::Sub, high, low);
                self.state.bin(front, BinOp::Max, n, one)
            }
            None => first,
        };
        // At the end of an iteration, what tells where the others are goes into rows, too.
        let number = self.state.func.add_param(body, int.clone());
        let (mut rows, mut begin, mut next) = (rows.to_vec(), vec![zero], Vec::new());
        let one = self.state.int(body, 1);
        next.push(self.state.bin(body, BinOp::Add, number, one));
        let mut places = Vec::new();
        // The shape of an array of unknown rank is a vector that is kept like others.
        let given = stacks;
        let mut stacks = stacks.to_vec();
        let mut shapes: HashMap<Value, usize> = HashMap::default();
        for v in given {
            if self.state.ty(*v).rank().is_none() {
                let vector = self.state.vector_type();
                shapes.insert(*v, stacks.len());
                stacks.push(self.state.emit(body, Op::ShapeVec(*v), vector));
            }
        }
        for v in &stacks {
            let top = self.state.func.add_param(body, int.clone());
            let extents = self.state.extents(body, *v, 0);
            let elem = self.state.ty(*v).elem;
            let length = Affine::sym(self.state.func.fresh_sym());
            let ty = Ty::new(elem, Shape::Known(vec![length]));
            let longer = self.longer(&ty);
            let data = self.state.func.add_param(body, longer);
            let shape = shapes.get(v).map(|at| stacks[*at]);
            let count = self.count_of(body, shape, &extents);
            let (above, all) = self.pushed(body, (data, top), *v, count);
            begin.extend([zero, self.state.zeros(front, vec![first], ty)]);
            next.extend([above, all]);
            places.push(rows.len());
            rows.push(top);
            rows.extend(extents);
        }
        for v in &rows {
            let cell = self.state.ty(*v);
            let extents = self.extents_outside(*v, init).unwrap_or_default();
            let mut frame = vec![size];
            for (extent, place) in &extents {
                frame.push(match (extent.as_const(), place) {
                    (Some(n), _) => self.state.int(front, n),
                    (None, Some((array, axis))) => {
                        self.state.emit(front, Op::Extent { array: *array, axis: *axis }, int.clone())
                    }
                    (None, None) => zero,
                });
            }
            let length = match self.state.defs.int(self.state.func, size).filter(|_| trip.is_some()) {
                Some(n) => Affine::constant(n),
                None => Affine::sym(self.state.func.fresh_sym()),
            };
            let shape = [length].into_iter().chain(extents.into_iter().map(|(e, _)| e)).collect();
            let ty = Ty::new(cell.elem, Shape::Known(shape));
            let longer = self.longer(&ty);
            begin.push(self.state.zeros(front, frame, ty));
            let tape = self.state.func.add_param(body, longer);
            let room = match trip {
                Some(_) => tape,
                None => {
                    let one = self.state.int(body, 1);
                    let least = self.state.bin(body, BinOp::Add, number, one);
                    self.grown(body, tape, least)
                }
            };
            let ty = self.state.ty(room);
            next.push(self.state.emit(body, Op::Update { array: room, index: vec![number], value: *v }, ty));
        }
        let data = std::mem::take(&mut self.state.func.regions[front].insts);
        for v in data.iter().flat_map(|i| self.state.func.insts[*i].results.clone()) {
            self.state.home[v] = at.into();
        }
        insert_before(self.state.func, at, inst, data);
        self.state.func.regions[body].yields.extend(next);
        let params = self.state.func.regions[body].params.clone();
        let mut made = Vec::new();
        for p in &params[params.len() - begin.len()..] {
            let ty = self.state.ty(*p);
            let ty = if ty.is_scalar() { ty } else { self.longer(&ty) };
            made.push(self.state.func.new_value(ty));
        }
        let Op::Loop { init, .. } = &mut self.state.func.insts[inst].op else { return self.state.refuse("no loop") };
        init.extend(begin);
        self.state.func.insts[inst].results.extend(made.iter().copied());
        self.state.defs.add_inst(self.state.func, inst);
        for v in &made {
            self.state.home[*v] = at.into();
        }
        let tapes = made[1 + 2 * stacks.len()..].to_vec();
        let stacks = places.into_iter().enumerate().map(|(k, first)| {
            let rank = self.state.func.ty(stacks[k]).rank().unwrap_or(0);
            let extents = tapes[first + 1..=first + rank].to_vec();
            Stack { data: made[2 + 2 * k], starts: tapes[first], extents, shape: shapes.get(&stacks[k]).copied() }
        });
        let stacks = stacks.collect();
        Ok(Tapes { rows: tapes, stacks, count: made[0] })
    }

    /// How many elements an array of these extents has, or of this shape.
    fn count_of(&mut self, at: Region, shape: Option<Value>, extents: &[Value]) -> Value {
        let mut count = self.state.int(at, 1);
        let Some(shape) = shape else {
            for n in extents {
                count = self.state.bin(at, BinOp::Mul, count, *n);
            }
            return count;
        };
        let int = Ty::scalar(Elem::I32);
        let body = self.state.branch();
        let k = self.state.func.add_param(body, int.clone());
        let n = self.state.emit(body, Op::Sel { array: shape, index: vec![k] }, int.clone());
        self.state.func.regions[body].yields = vec![n];
        let zero = self.state.int(at, 0);
        let rank = self.state.emit(at, Op::Extent { array: shape, axis: 0 }, int.clone());
        let generator = Generator::Known { lower: vec![zero], upper: vec![rank], step: None, width: None };
        let ops = vec![WithOp::Fold { combine: Combine::Op(BinOp::Mul), neutral: count, stop: None }];
        self.state.emit(at, Op::With(With { parts: vec![Part { generator, body }], ops, ordered: false }), int)
    }

    /// Puts an array of so many elements behind what a vector has below `top`; gives the new top and the vector.
    fn pushed(&mut self, at: Region, (data, top): (Value, Value), v: Value, count: Value) -> (Value, Value) {
        let ty = self.state.ty(v);
        let above = self.state.bin(at, BinOp::Add, top, count);
        let room = self.grown(at, data, above);
        let flat = match ty.rank() {
            Some(1) => v,
            None => {
                let one = Ty::new(Elem::I32, Shape::Known(vec![Affine::constant(1)]));
                let shape = self.state.emit(at, Op::Array(vec![count]), one);
                let length = Affine::sym(self.state.func.fresh_sym());
                let flat = Ty::new(ty.elem, Shape::Known(vec![length]));
                self.state.emit(at, Op::ReshapeDyn { array: v, shape }, flat)
            }
            _ => {
                let length = Affine::sym(self.state.func.fresh_sym());
                let flat = Ty::new(ty.elem, Shape::Known(vec![length]));
                self.state.emit(at, Op::Reshape { array: v, shape: vec![count] }, flat)
            }
        };
        let body = self.state.branch();
        let k = self.state.func.add_param(body, Ty::scalar(Elem::I32));
        let from = self.state.bin(body, BinOp::Sub, k, top);
        let element = self.state.emit(body, Op::Sel { array: flat, index: vec![from] }, Ty::scalar(ty.elem));
        self.state.func.regions[body].yields = vec![element];
        let generator = Generator::Known { lower: vec![top], upper: vec![above], step: None, width: None };
        let with =
            With { parts: vec![Part { generator, body }], ops: vec![WithOp::Modarray { array: room }], ordered: false };
        let ty = self.state.ty(room);
        (above, self.state.emit(at, Op::With(with), ty))
    }

    /// What an iteration has put on a stack.
    fn popped(&mut self, at: Region, t: Value, stacks: &[Stack], stack: &Stack, ty: Ty) -> Value {
        let shape = stack.shape.map(|shape| {
            let vector = self.state.vector_type();
            self.popped(at, t, stacks, &stacks[shape], vector)
        });
        let int = Ty::scalar(Elem::I32);
        let start = self.state.emit(at, Op::Sel { array: stack.starts, index: vec![t] }, int.clone());
        let mut extents = Vec::new();
        for tape in &stack.extents {
            extents.push(self.state.emit(at, Op::Sel { array: *tape, index: vec![t] }, int.clone()));
        }
        let count = self.count_of(at, shape, &extents);
        let body = self.state.branch();
        let k = self.state.func.add_param(body, int);
        let from = self.state.bin(body, BinOp::Add, start, k);
        let element = self.state.emit(body, Op::Sel { array: stack.data, index: vec![from] }, Ty::scalar(ty.elem));
        self.state.func.regions[body].yields = vec![element];
        let zero = self.state.int(at, 0);
        let generator = Generator::Known { lower: vec![zero], upper: vec![count], step: None, width: None };
        let op = WithOp::Genarray { frame: Frame::Known(vec![count]), cell: Some(Vec::new()), default: None };
        let with = With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false };
        if ty.rank() == Some(1) {
            return self.state.emit(at, Op::With(with), ty);
        }
        let length = Affine::sym(self.state.func.fresh_sym());
        let flat = self.state.emit(at, Op::With(with), Ty::new(ty.elem, Shape::Known(vec![length])));
        match shape {
            Some(shape) => self.state.emit(at, Op::ReshapeDyn { array: flat, shape }, ty),
            None => self.state.emit(at, Op::Reshape { array: flat, shape: extents }, ty),
        }
    }

    /// A constant that may stand in a body, made again.
    fn again_outside(&mut self, at: Region, v: Value) -> Value {
        match self.state.defs.int(self.state.func, v) {
            Some(k) => self.state.int(at, k),
            None => v,
        }
    }

    /// A tape's type with another length, unless that is constant.
    fn longer(&mut self, ty: &Ty) -> Ty {
        let first = ty.shape.extents().and_then(|extents| extents.first()?.as_const());
        let length = match first {
            Some(n) => Affine::constant(n),
            None => Affine::sym(self.state.func.fresh_sym()),
        };
        let rest = ty.shape.extents().unwrap_or_default()[1..].to_vec();
        Ty::new(ty.elem, Shape::Known([length].into_iter().chain(rest).collect()))
    }

    /// A tape with so many places at least: twice as long where these are too few.
    fn grown(&mut self, at: Region, tape: Value, least: Value) -> Value {
        let int = Ty::scalar(Elem::I32);
        let length = self.state.emit(at, Op::Extent { array: tape, axis: 0 }, int.clone());
        let full = self.state.bin(at, BinOp::Gt, least, length);
        let (then, els) = (self.state.branch(), self.state.branch());
        let old = self.state.ty(tape);
        let ty = self.longer(&old);
        let two = self.state.int(then, 2);
        let double = self.state.bin(then, BinOp::Mul, length, two);
        let double = self.state.bin(then, BinOp::Max, double, least);
        let cell = self.state.extents(then, tape, 1);
        let body = self.state.branch();
        let k = self.state.func.add_param(body, int);
        let element = self.state.emit(body, Op::Sel { array: tape, index: vec![k] }, ravel_wir::cell_type(&old, 1));
        self.state.func.regions[body].yields = vec![element];
        let zero = self.state.int(then, 0);
        let generator = Generator::Known { lower: vec![zero], upper: vec![length], step: None, width: None };
        let op = WithOp::Genarray { frame: Frame::Known(vec![double]), cell: Some(cell), default: None };
        let with = With { parts: vec![Part { generator, body }], ops: vec![op], ordered: false };
        let more = self.state.emit(then, Op::With(with), ty.clone());
        self.state.func.regions[then].yields = vec![more];
        self.state.func.regions[els].yields = vec![tape];
        self.state.emit(at, Op::If { cond: full, then, els }, ty)
    }
}

/// An axis of an array that has an extent; none for a constant.
type Place = Option<(Value, u32)>;

/// Where a loop has written what is kept.
struct Tapes {
    rows: Vec<Value>,
    stacks: Vec<Stack>,
    /// How many iterations there were.
    count: Value,
}

/// Arrays of any shape, one behind the other.
struct Stack {
    data: Value,
    /// By iteration, where its array begins, and its extents.
    starts: Value,
    extents: Vec<Value>,
    /// The stack of the shape, of an array of unknown rank.
    shape: Option<usize>,
}

/// How many numbers and arrays some values are, in words.
pub fn amount(func: &Func, values: &[Value]) -> String {
    let numbers = values.iter().filter(|v| func.ty(**v).is_scalar()).count();
    let several = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    match (numbers, values.len() - numbers) {
        (0, arrays) => several(arrays, "array"),
        (numbers, 0) => several(numbers, "number"),
        (numbers, arrays) => format!("{} and {}", several(numbers, "number"), several(arrays, "array")),
    }
}

/// Instructions that values need, as far as they are not computed from those that are kept.
pub fn slice_without(func: &Func, insts: &[Inst], values: &[Value], kept: &[Value]) -> Vec<Inst> {
    let mut needed: HashSet<Value> = values.iter().copied().filter(|v| !kept.contains(v)).collect();
    let mut found = Vec::new();
    for &inst in insts.iter().rev() {
        if func.insts[inst].results.iter().any(|v| needed.contains(v)) {
            needed.extend(reads_of(func, inst).into_iter().filter(|v| !kept.contains(v)));
            found.push(inst);
        }
    }
    found.reverse();
    found
}
