//! Which elements of which arrays the iterations of a loop write and read.

use crate::edit::Def;
use crate::facts::places::Places;
use crate::facts::ranges::Ranges;
use crate::facts::sums::Sum;
use crate::loops::nest::{ArrayLoop, LoopNest};
use ravel_types::{BinOp, HashSet};
use ravel_wir::dependence::{Distance, Forms, Written, distance};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Region, Value, With, WithOp};

/// What an iteration writes along an axis.
pub enum Axis {
    /// One index, which moves with the counter by one.
    Moving(Sum),
    /// The same index in all iterations.
    Fixed(Sum),
    /// The same range of indices; how the body of what writes it, a with-loop say, writes its index.
    Range { lower: Sum, upper: Sum, own: Sum },
}

/// An instruction that makes an array for the next iteration, and what it stores: the body of a with-loop yields it else.
#[derive(Clone, Copy)]
pub struct Write {
    pub inst: Inst,
    pub value: Option<Value>,
}

/// The cells of iterations that write apart: each writes one box of each array that the loop changes, at the same indices in all of them.
pub struct Cells {
    pub whole: ArrayLoop,
    /// It is certain that the counter begins before the end.
    pub is_ordered: bool,
    /// By array.
    pub writes: Vec<Write>,
    pub axes: Vec<Axis>,
    /// Indices grow from iteration to iteration along the axis that moves.
    pub ascends: bool,
    /// Iterations read what later ones write.
    pub reads_ahead: bool,
}

/// How it is shown that an iteration does not read what another one writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Indices differ by constants: the update happens in place then.
    Constants,
    /// Or what is known of them says so.
    Ranges,
}

/// Sums modulo 2^32. Where the difference of two indices of an array is a constant, it is no wrapped one.
struct Sums;

impl Forms for Sums {
    type Form = Sum;

    fn difference(&self, a: &Sum, b: &Sum) -> Option<(i64, i64)> {
        let d = a.clone().add(b, -1);
        d.terms.is_empty().then_some((i64::from(d.constant), i64::from(d.constant)))
    }
}

impl Cells {
    /// The cells of a loop whose iterations write apart from each other, and read what no other one writes before them. `ahead` asks for those, too, that
    /// read what later ones write.
    pub fn of(nest: &mut LoopNest, places: &Places, (proof, ahead): (Proof, bool)) -> Option<Cells> {
        let mut cells = Cells::stored(nest, places)?;
        let ahead = ahead && cells.ascends && matches!(cells.writes[..], [Write { value: Some(_), .. }]);
        let mut ranges = places.ranges_at(nest.func, nest.defs, nest.inst);
        cells.are_apart(nest, (proof, ahead), &mut ranges).then_some(cells)
    }

    /// The cells of a loop whose iterations write apart from each other, whatever they read.
    pub fn stored(nest: &mut LoopNest, places: &Places) -> Option<Cells> {
        let whole = ArrayLoop::of(nest)?;
        let mut found: Option<Vec<Axis>> = None;
        let mut writes = Vec::new();
        for &k in &whole.arrays {
            let (param, next) = nest.carried(k);
            let Def::Inst(inst, _) = nest.defs.get(next) else { return None };
            if places.region_of[inst].expand() != Some(nest.body) || places.uses(next).len() != 1 {
                return None;
            }
            let (axes, value) = nest.written(inst, param)?;
            let is_box = value.is_none();
            match &found {
                Some(others) if is_box || !same_index(others, &axes) => return None,
                _ => found = Some(axes),
            }
            writes.push(Write { inst, value });
        }
        let (axes, count) = (found?, whole.trip.count(nest.func));
        // One axis moves, as the counter does.
        let mut moving = axes.iter().filter_map(|axis| match axis {
            Axis::Moving(sum) => Some(sum),
            _ => None,
        });
        let (Some(sum), None) = (moving.next(), moving.next()) else { return None };
        let factor = sum.terms.get(&count).copied().filter(|factor| factor.abs() == 1)?;
        let ascends = factor == whole.trip.step;
        let mut ranges = places.ranges_at(nest.func, nest.defs, nest.inst);
        let is_ordered = whole.trip.is_ordered(nest.func, nest.defs, &mut ranges);
        Some(Cells { whole, is_ordered, writes, axes, ascends, reads_ahead: false })
    }

    /// The index of an iteration: its first one, along axes with a range.
    pub fn index(&self) -> impl Iterator<Item = &Sum> {
        self.axes.iter().map(|axis| match axis {
            Axis::Moving(sum) | Axis::Fixed(sum) | Axis::Range { lower: sum, .. } => sum,
        })
    }

    /// The position of an array and its write.
    pub fn arrays(&self) -> impl Iterator<Item = (usize, Write)> {
        self.whole.arrays.iter().copied().zip(self.writes.iter().copied())
    }

    /// The body of the with-loop that writes, if one does.
    pub fn inner(&self, func: &Func) -> Option<Region> {
        match &func.insts[self.writes[0].inst].op {
            Op::With(with) => Some(with.parts[0].body),
            _ => None,
        }
    }

    /// Does every iteration read an array only where it writes itself, where none does, or, if that is allowed, where only later ones do?
    fn are_apart(&mut self, nest: &LoopNest, (proof, ahead): (Proof, bool), ranges: &mut Ranges) -> bool {
        let (func, axes) = (nest.func, self.written(nest));
        let own: Vec<Value> = self.whole.arrays.iter().map(|k| nest.carried(*k).0).collect();
        let (mut apart, mut reads_ahead, mut reads, mut with_loops) = (true, false, false, false);
        walk(func, nest.body, &mut |_, inst| {
            let op = &func.insts[inst].op;
            let writes = self.writes.iter().position(|write| write.inst == inst);
            with_loops |= matches!(op, Op::With(_)) && writes.is_none();
            for nested in op.regions() {
                apart &= !func.regions[nested].yields.iter().any(|v| own.contains(v));
            }
            match op {
                Op::Sel { array, index } if own.contains(array) => {
                    reads = true;
                    let sums = self.of_cell(nest, index);
                    match distance(&Sums, &sums, &axes) {
                        Distance::Own | Distance::Never => {}
                        Distance::Along(axis) if ahead && is_ahead(&sums, &axes, axis) => reads_ahead = true,
                        _ => apart &= proof == Proof::Ranges && self.differ(nest, index, ranges),
                    }
                }
                Op::Extent { .. } => {}
                op => op.for_each_operand(|v| {
                    apart &= !own.contains(&v) || writes.is_some_and(|k| own[k] == v);
                }),
            }
        });
        self.reads_ahead = reads_ahead;
        // What with-loops inside store might go through the memory that is read.
        apart && !(reads && with_loops)
    }

    /// Indices that no iteration changes, and that are known to differ.
    fn differ(&self, nest: &LoopNest, read: &[Value], ranges: &mut Ranges) -> bool {
        let (func, defs) = (nest.func, nest.defs);
        let Op::Update { index: written, .. } = &func.insts[self.writes[0].inst].op else { return false };
        let fixed = |v: &Value| !nest.inside.contains(v);
        read.len() == written.len()
            && read.iter().zip(written).any(|(read, written)| {
                let (r, w) = (ranges.form(func, defs, *read), ranges.form(func, defs, *written));
                fixed(read) && fixed(written) && ranges.compare(BinOp::Ne, &r, &w) == Some(true)
            })
    }

    /// An index of the cell, with the names that the loop has for what the cell's own index is.
    fn of_cell(&self, nest: &LoopNest, index: &[Value]) -> Vec<Option<Sum>> {
        let params = self.inner(nest.func).map_or(&[][..], |inner| &nest.func.regions[inner].params);
        let of_cell = |v: &Value| {
            let own = params.iter().zip(&self.axes);
            Some(own.fold(nest.sum(*v)?, |sum, (param, axis)| match axis {
                Axis::Moving(own) | Axis::Fixed(own) => sum.substitute(*param, own),
                Axis::Range { .. } => sum,
            }))
        };
        index.iter().map(of_cell).collect()
    }

    /// Where an element that an iteration reads lies to what iterations write; how far behind that of the iteration, if it lies in its row.
    pub fn distance(&self, nest: &LoopNest, index: &[Value]) -> (Distance, Option<Sum>) {
        let (sums, axes) = (self.of_cell(nest, index), self.written(nest));
        let distance = distance(&Sums, &sums, &axes);
        let behind = match distance {
            Distance::Along(axis) => sums[axis].as_ref().map(|sum| axes[axis].own.clone().add(sum, -1)),
            _ => None,
        };
        (distance, behind)
    }

    fn written(&self, nest: &LoopNest) -> Vec<Written<Sum>> {
        let one = Sum::constant(1);
        let behind = |sum: &Sum| sum.clone().add(&one, 1);
        let written = |axis: &Axis| match axis {
            Axis::Fixed(own) => {
                Written { own: own.clone(), lower: Some(own.clone()), upper: Some(behind(own)), is_single: true }
            }
            Axis::Moving(own) => {
                let first = nest.at_start(own, 0);
                let end = self.at_end(nest, own).filter(|_| self.is_ordered);
                let (lower, upper) = match self.ascends {
                    true => (Some(first), end),
                    false => (end.as_ref().map(behind), Some(behind(&first))),
                };
                Written { own: own.clone(), lower, upper, is_single: false }
            }
            Axis::Range { lower, upper, own } => {
                Written { own: own.clone(), lower: Some(lower.clone()), upper: Some(upper.clone()), is_single: false }
            }
        };
        self.axes.iter().map(written).collect()
    }

    /// What an index that moves would be when the counter is at its end.
    fn at_end(&self, nest: &LoopNest, sum: &Sum) -> Option<Sum> {
        Some(sum.clone().substitute(self.whole.trip.count(nest.func), &nest.sum(self.whole.trip.end)?))
    }
}

/// Does an index lie behind that of the iteration in its row? Iterations go along the last axis: others would have lanes across rows.
fn is_ahead(index: &[Option<Sum>], axes: &[Written<Sum>], axis: usize) -> bool {
    let (last, single) = (axis + 1 == axes.len(), axes[..axis].iter().all(|axis| axis.is_single));
    let behind = index[axis].as_ref().and_then(|sum| Sums.difference(sum, &axes[axis].own));
    last && single && behind.is_some_and(|d| d.0 > 0)
}

fn same_index(a: &[Axis], b: &[Axis]) -> bool {
    let same = |(a, b): (&Axis, &Axis)| match (a, b) {
        (Axis::Moving(a), Axis::Moving(b)) | (Axis::Fixed(a), Axis::Fixed(b)) => a == b,
        _ => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

impl LoopNest<'_> {
    /// What an instruction writes of an array along each axis, and the element that it stores, if it is one. The indices of a with-loop are known values then.
    fn written(&mut self, inst: Inst, param: Value) -> Option<(Vec<Axis>, Option<Value>)> {
        let func = self.func;
        let rank = func.ty(param).rank()?;
        match &func.insts[inst].op {
            Op::Update { array, index, value } => {
                if *array != param || index.len() != rank || *value == param || !func.ty(*value).is_scalar() {
                    return None;
                }
                let axes: Option<Vec<Axis>> = index.iter().map(|v| Some(self.axis(self.sum(*v)?))).collect();
                Some((axes?, Some(*value)))
            }
            Op::With(With { parts, ops, ordered: false }) => {
                let ([part], [WithOp::Modarray { array }]) = (&parts[..], &ops[..]) else { return None };
                let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
                let data = &func.regions[part.body];
                if *array != param || lower.len() != rank || !data.yields.iter().all(|v| func.ty(*v).is_scalar()) {
                    return None;
                }
                self.inside.retain(|v| !data.params.contains(v));
                let axis = |k: usize| {
                    let (lower, upper) = (self.sum(lower[k])?, self.sum(upper[k])?);
                    let is_one = upper == lower.clone().add(&Sum::constant(1), 1);
                    Some(match (self.step(&lower), is_one) {
                        (0, true) => Axis::Fixed(lower),
                        (_, true) => Axis::Moving(lower),
                        (0, false) if self.step(&upper) == 0 => {
                            Axis::Range { lower, upper, own: Sum::of(data.params[k]) }
                        }
                        _ => return None,
                    })
                };
                Some(((0..rank).map(axis).collect::<Option<_>>()?, None))
            }
            Op::Loop { init, .. } if self.whole => {
                let at = init.iter().position(|v| *v == param)?;
                Some((self.written_by_loop(inst, at)?, None))
            }
            _ => None,
        }
    }

    fn axis(&self, sum: Sum) -> Axis {
        if self.step(&sum) == 0 { Axis::Fixed(sum) } else { Axis::Moving(sum) }
    }

    /// What a loop inside writes of the array that it carries at a position, if it will be a with-loop, or if it replaces one element and will carry that as a scalar.
    fn written_by_loop(&mut self, inst: Inst, at: usize) -> Option<Vec<Axis>> {
        let mut inner = LoopNest { whole: true, ..LoopNest::of(self.func, self.defs, inst)? };
        if let Some(index) = inner.replaced(at) {
            return index.into_iter().map(|sum| Some(self.axis(self.outward(sum)?))).collect();
        }
        let cells = Cells::of(&mut inner, &Places::new(self.func), (Proof::Constants, false))?;
        self.inside.remove(&cells.whole.trip.count(self.func));
        let axis = |axis: &Axis| {
            Some(match axis {
                Axis::Fixed(sum) => self.axis(self.outward(sum.clone())?),
                Axis::Moving(sum) if cells.ascends => {
                    let (lower, upper) = (inner.at_start(sum, 0), cells.at_end(&inner, sum)?);
                    Axis::Range { lower: self.outward(lower)?, upper: self.outward(upper)?, own: sum.clone() }
                }
                Axis::Moving(_) => return None,
                Axis::Range { lower, upper, own } => {
                    let (lower, upper) = (self.outward(lower.clone())?, self.outward(upper.clone())?);
                    Axis::Range { lower, upper, own: own.clone() }
                }
            })
        };
        let is_alone = cells.whole.only() == Some(at);
        is_alone.then(|| cells.axes.iter().map(axis).collect::<Option<Vec<Axis>>>())?
    }

    /// A sum of what a loop inside does not change, in terms of this loop.
    fn outward(&self, sum: Sum) -> Option<Sum> {
        let constant = Sum::constant(sum.constant);
        sum.terms.iter().try_fold(constant, |all, (v, k)| Some(all.add(&self.sum(*v)?, *k)))
    }
}

/// What an array is called as updates, loops, branches and with-loops of a region change it.
pub fn names_of(func: &Func, body: Region, param: Value) -> HashSet<Value> {
    let mut names = HashSet::from_iter([param]);
    loop {
        let before = names.len();
        walk(func, body, &mut |_, inst| {
            let data = &func.insts[inst];
            match &data.op {
                Op::Update { array, .. } if names.contains(array) => names.extend(&data.results),
                Op::Loop { init, body } => {
                    for (k, _) in init.iter().enumerate().filter(|(_, v)| names.contains(v)).collect::<Vec<_>>() {
                        names.extend([func.regions[*body].params[k], data.results[k]]);
                    }
                }
                Op::If { then, .. } => {
                    let yields = &func.regions[*then].yields;
                    for (k, _) in yields.iter().enumerate().filter(|(_, v)| names.contains(v)).collect::<Vec<_>>() {
                        names.insert(data.results[k]);
                    }
                }
                Op::With(With { ops, .. }) => {
                    if let [WithOp::Modarray { array }] = ops[..]
                        && names.contains(&array)
                    {
                        names.extend(&data.results);
                    }
                }
                _ => {}
            }
        });
        if names.len() == before {
            return names;
        }
    }
}
