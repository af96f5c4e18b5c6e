//! Cutting array-making with-loops into an interior and borders, where a remainder or a condition in the body is settled in
//! the interior.
//!
//! ```text
//!    genarray { [0 <= i < n] -> f(a[(i + 1) mod n]) }
//! => genarray { [0 <= i < n - 1] -> f(a[i + 1]), [n - 1 <= i < n] -> f(a[(i + 1) mod n]) }
//! ```
//!
//! So are windows, `sum({ [k] -> a[(i + k) mod n] | [k] < [3] })`: the interior is where none of their taps wraps.
//!
//! Wrapped stencils take a remainder per tap, and branches at the border take a test per index; both keep kernels from lanes.
//! `prove-checks` finds what is settled afterwards.
//!
//! Before: the cycle of folding has ended, for several partitions stand in its way. After: remainders of an index plus
//! something invariant, and conditions of branches on such sums, are settled in all but thin partitions.
//! Leaves alone: folds, which would lose their threads; steps; cuts whose place is not known before the with-loop, for sums also those not known
//! to lie within it; single equalities far from the border; and with-loops too small or too large to gain from it.
//! Worth: tests/survey/stencils/fixed-ends (3.5, hidden 0.2 to 0.6 with Cranelift, 4.4 with LLVM).

use crate::edit::{Def, Defs, Emitter, all_insts, any_inst, insert_before, insts_where, mirrored, size_of};
use crate::facts::{Atom, Lin, Places, Ranges, total_trips};
use crate::fusion::split_partitions::{Cut, apply_cut, drop_empty_parts};
use crate::pass::{Context, Pass};
use ravel_types::{BinOp, Elem, UnOp};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

pub const PASS: Pass = Pass::of(
    "split-index-sets",
    "cut off borders, so that the interior needs no remainders and no tests",
    split_index_sets,
);

/// Most partitions that a with-loop may get: an interior and two borders for each of three axes, and some more.
const MAX_PARTS: usize = 12;
/// Most instructions in all bodies together.
const MAX_CODE: usize = 2_000;
/// A partition of at most this extent along some axis is a border already.
const THIN: i64 = 4;
/// Indices below which nothing is gained.
const LEAST_TRIPS: u64 = 64;

/// A place where a partition is to be cut: at `plus - minus` along an axis, where nothing stands for zero.
struct Place {
    part: usize,
    axis: usize,
    plus: Option<Value>,
    minus: Value,
    /// One more than that.
    after: bool,
    end: End,
}

/// What stands for the indices of folds inside, as in `a[(i + k) mod n]` with `0 <= k < 3`: the cut is where the remainder is settled
/// for the whole window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

pub fn split_index_sets(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    // Valid until something changes.
    let mut facts = None;
    for inst in Places::new(func).withs {
        let Op::With(with) = &func.insts[inst].op else { continue };
        let Some(asks) = questions(func, with) else { continue };
        if asks == 0 {
            continue;
        }
        let span = func.insts[inst].span;
        let (_, defs) = facts.get_or_insert_with(|| (Places::new(func), Defs::new(func)));
        if total_trips(func, defs, with).is_some_and(|n| n < LEAST_TRIPS) {
            cx.refused(span, "it has remainders or border conditions, but too few indices to gain from an interior");
            continue;
        }
        let mut cuts = 0;
        loop {
            let (places, defs) = facts.take().unwrap_or_else(|| (Places::new(func), Defs::new(func)));
            match find(func, &places, &defs, inst) {
                Ok(Some(place)) => cut(func, &places, defs, inst, &place),
                Ok(None) => break,
                Err(why) => {
                    cx.refused(span, why);
                    break;
                }
            }
            cuts += 1;
        }
        if cuts > 0 {
            drop_empty_parts(func, inst);
            cx.applied(
                span,
                "cut into an interior and borders, so that the interior needs no remainders and border conditions",
            );
            changed = true;
        }
    }
    changed
}

/// Number of remainders and branches in the bodies; nothing if the with-loop is none that can be cut.
fn questions(func: &Func, with: &With) -> Option<usize> {
    let makes_arrays = with.ops.iter().all(|op| matches!(op, WithOp::Genarray { .. } | WithOp::Modarray { .. }));
    let plain = with
        .parts
        .iter()
        .all(|p| matches!(&p.generator, Generator::Known { step: None, lower, .. } if !lower.is_empty()));
    if !makes_arrays || !plain || with.ordered || with.parts.is_empty() {
        return None;
    }
    let gains = |op: &Op| match op {
        Op::Bin(BinOp::Mod | BinOp::AplMod, a, _) => is_int(func, *a),
        op => matches!(op, Op::If { .. }),
    };
    Some(with.parts.iter().map(|part| insts_where(func, part.body, gains).len()).sum())
}

fn is_int(func: &Func, v: Value) -> bool {
    func.ty(v).elem == Elem::I32 && func.ty(v).is_scalar()
}

/// The next cut that settles something.
fn find(func: &Func, places: &Places, defs: &Defs, inst: Inst) -> Result<Option<Place>, String> {
    let Op::With(with) = &func.insts[inst].op else { return Ok(None) };
    for (n, part) in with.parts.iter().enumerate() {
        if is_thin(func, places, defs, part) {
            continue;
        }
        // The last axis first: then the borders of the others have an interior along it, whose elements are side by side.
        let mut best: Option<Found> = None;
        for site in all_insts(func, part.body) {
            let mut asker = Asker { func, defs, body: part.body, part, ranges: None };
            let found = match &func.insts[site].op {
                Op::Bin(BinOp::Mod | BinOp::AplMod, a, b) if is_int(func, *a) => asker.remainder(places, site, *a, *b),
                Op::If { cond, .. } => asker.condition(places, site, *cond),
                _ => None,
            };
            best = match (best, found) {
                (Some(best), Some(found)) if found.0 > best.0 => Some(found),
                (best, found) => best.or(found),
            };
        }
        let Some((axis, plus, minus, after, end)) = best else { continue };
        let code: usize = with.parts.iter().map(|p| size_of(func, p.body)).sum::<usize>() + size_of(func, part.body);
        if with.parts.len() >= MAX_PARTS || code > MAX_CODE {
            return Err(format!(
                "an interior without remainders and border conditions would take {} partitions of {code} instructions",
                with.parts.len() + 1
            ));
        }
        return Ok(Some(Place { part: n, axis, plus, minus, after, end }));
    }
    Ok(None)
}

/// Whether the partition is short along some axis.
fn is_thin(func: &Func, places: &Places, defs: &Defs, part: &Part) -> bool {
    let Generator::Known { lower, upper, .. } = &part.generator else { return true };
    let Some(&first) = func.regions[part.body].insts.first() else { return true };
    let mut ranges = places.ranges_at(func, defs, first);
    lower.iter().zip(upper).any(|(l, u)| {
        let (low, high) = (ranges.form(func, defs, *l), ranges.form(func, defs, *u));
        high.sub(&low).is_some_and(|extent| ranges.upper(&extent) <= THIN)
    })
}

/// A cut along an axis at `plus - minus`, or one after it, with an end of each window in `minus`.
type Found = (usize, Option<Value>, Value, bool, End);

/// Asks what is undecided at one place of a body.
struct Asker<'a> {
    func: &'a Func,
    defs: &'a Defs,
    body: Region,
    part: &'a Part,
    ranges: Option<Ranges>,
}

impl Asker<'_> {
    fn form(&mut self, v: Value) -> Option<Lin> {
        let (func, defs) = (self.func, self.defs);
        self.ranges.as_mut().map(|ranges| ranges.form(func, defs, v))
    }

    /// Where `a mod b` begins or ends to be `a`.
    fn remainder(&mut self, places: &Places, site: Inst, a: Value, b: Value) -> Option<Found> {
        let axis = self.axis_in(a, true)?;
        if !self.is_invariant(b) {
            return None;
        }
        self.ranges = Some(places.ranges_at(self.func, self.defs, site));
        let (x, n) = (self.form(a)?, self.form(b)?);
        let (first, last) = (self.at_end(a, &x, End::First)?, self.at_end(a, &x, End::Last)?);
        let zero = Lin::constant(0);
        // By a constant much less than the extent it is a digit: behind the first few indices it would still have to be taken.
        let most = self.ranges.as_ref().map_or(i64::MAX, |ranges| ranges.upper(&x));
        let is_digit = n.as_const().is_some_and(|n| most >= 2 * n);
        self.edge(axis, &first, &zero, true).map(|_| (axis, None, a, false, End::First)).or_else(|| {
            self.edge(axis, &last, &n, true).filter(|_| !is_digit).map(|_| (axis, Some(b), a, false, End::Last))
        })
    }

    /// The form of a sum where the windows in it are at an end.
    fn at_end(&mut self, sum: Value, form: &Lin, end: End) -> Option<Lin> {
        let mut form = form.clone();
        for window in windows(self.func, self.defs, self.body, sum) {
            let at = Lin::constant(i64::from(window_end(self.func, self.defs, self.body, window, end)?));
            form = form.substitute(Atom::Value(window), &at)?;
        }
        Some(form)
    }

    /// Where a comparison that the condition consists of changes.
    fn condition(&mut self, places: &Places, site: Inst, cond: Value) -> Option<Found> {
        let mut work = vec![cond];
        while let Some(v) = work.pop() {
            match self.defs.op(self.func, v) {
                Some(Op::Bin(BinOp::And | BinOp::Or, a, b)) if !is_int(self.func, *a) => work.extend([*b, *a]),
                Some(Op::Un(UnOp::Not, a)) => work.push(*a),
                Some(Op::Bin(op, a, b)) if op.is_comparison() && is_int(self.func, *a) => {
                    // Either side may be the index.
                    let (op, a, b) = match (self.axis_of(a.to_owned()), self.axis_of(b.to_owned())) {
                        (Some(_), None) => (*op, *a, *b),
                        (None, Some(_)) => (mirrored(*op), *b, *a),
                        _ => continue,
                    };
                    let Some(axis) = self.axis_of(a) else { continue };
                    if !self.is_invariant(b) {
                        continue;
                    }
                    if self.ranges.is_none() {
                        self.ranges = Some(places.ranges_at(self.func, self.defs, site));
                    }
                    let (x, y) = (self.form(a)?, self.form(b)?);
                    let (before, after) = (y.clone(), y.plus(1));
                    let found = match op {
                        BinOp::Lt | BinOp::Ge => self.edge(axis, &x, &before, a != self.param(axis)).map(|_| false),
                        BinOp::Le | BinOp::Gt => self.edge(axis, &x, &after, a != self.param(axis)).map(|_| true),
                        _ if !self.is_near_an_end(axis, &x, &y) => None,
                        _ => self
                            .edge(axis, &x, &before, true)
                            .map(|_| false)
                            .or_else(|| self.edge(axis, &x, &after, true).map(|_| true)),
                    };
                    if let Some(after) = found {
                        return Some((axis, Some(b), a, after, End::First));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The index of this partition that a sum consists of besides things from outside.
    fn axis_of(&self, value: Value) -> Option<usize> {
        self.axis_in(value, false)
    }

    /// The same; with `windows`, indices of constant folds inside may be added.
    fn axis_in(&self, value: Value, windows: bool) -> Option<usize> {
        let mut found = None;
        let mut work = vec![(value, true)];
        while let Some((v, positive)) = work.pop() {
            if self.is_invariant(v) {
                continue;
            }
            match self.defs.get(v) {
                Def::Param(region, axis) if region == self.body && found.is_none() && positive => {
                    found = Some(axis as usize)
                }
                Def::Param(..)
                    if windows && positive && window_end(self.func, self.defs, self.body, v, End::First).is_some() => {}
                Def::Inst(inst, _) => match &self.func.insts[inst].op {
                    Op::Bin(BinOp::Add, a, b) => work.extend([(*a, positive), (*b, positive)]),
                    Op::Bin(BinOp::Sub, a, b) => work.extend([(*a, positive), (*b, !positive)]),
                    _ => return None,
                },
                _ => return None,
            }
        }
        found
    }

    /// Whether the value is known before the with-loop: it stands there, or consists of such things.
    fn is_invariant(&self, value: Value) -> bool {
        is_invariant(self.func, self.defs, self.body, value)
    }

    fn param(&self, axis: usize) -> Value {
        self.func.regions[self.body].params[axis]
    }

    /// Whether `x >= bound` is undecided and changes at a place that an `i32` can name, within the partition if `bounded`. One of the pieces
    /// may be empty otherwise, which costs nothing where the index itself is compared: the pieces settle the comparison wherever the place is.
    fn edge(&mut self, axis: usize, x: &Lin, bound: &Lin, bounded: bool) -> Option<()> {
        let param = *self.func.regions[self.body].params.get(axis)?;
        let Generator::Known { lower, upper, .. } = &self.part.generator else { return None };
        let index = self.form(param)?;
        let (low, high) = (self.form(lower[axis])?, self.form(upper[axis])?);
        let ranges = self.ranges.as_ref()?;
        if ranges.compare(BinOp::Ge, x, bound).is_some() {
            return None;
        }
        let place = index.sub(x)?.add(bound)?;
        let own = |lin: &Lin| lin.mentions(Atom::Value(param));
        let within = !bounded
            || ranges.compare(BinOp::Le, &low, &place) == Some(true)
                && ranges.compare(BinOp::Le, &place, &high) == Some(true);
        let fits = ranges.upper(&place) <= i64::from(i32::MAX) && ranges.lower(&place) >= i64::from(i32::MIN);
        (within && fits && !own(&place)).then_some(())
    }

    /// Whether the place where `x` is `y` has a known distance from an end of the partition.
    fn is_near_an_end(&mut self, axis: usize, x: &Lin, y: &Lin) -> bool {
        let Generator::Known { lower, upper, .. } = &self.part.generator else { return false };
        let (lower, upper) = (lower[axis], upper[axis]);
        let param = self.func.regions[self.body].params[axis];
        let (Some(index), Some(low), Some(high)) = (self.form(param), self.form(lower), self.form(upper)) else {
            return false;
        };
        let place = index.sub(x).and_then(|d| d.add(y));
        let is_close = |end: &Lin| {
            place.as_ref().and_then(|p| p.sub(end)).and_then(|d| d.as_const()).is_some_and(|d| d.abs() <= THIN)
        };
        is_close(&low) || is_close(&high)
    }
}

/// The indices of with-loops inside the body that a sum has.
fn windows(func: &Func, defs: &Defs, body: Region, sum: Value) -> Vec<Value> {
    let mut found = Vec::new();
    let mut work = vec![sum];
    while let Some(v) = work.pop() {
        match defs.get(v) {
            Def::Param(region, _) if region != body && !is_invariant(func, defs, body, v) => found.push(v),
            Def::Inst(inst, _) => {
                if let Op::Bin(BinOp::Add | BinOp::Sub, a, b) = &func.insts[inst].op {
                    work.extend([*a, *b]);
                }
            }
            _ => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The first or last value of an index of a with-loop inside the body, if its bounds are constants.
fn window_end(func: &Func, defs: &Defs, body: Region, index: Value, end: End) -> Option<i32> {
    let Def::Param(region, axis) = defs.get(index) else { return None };
    let mut found = None;
    walk(func, body, &mut |_, inst| {
        let Op::With(with) = &func.insts[inst].op else { return };
        for part in with.parts.iter().filter(|p| p.body == region) {
            if let Generator::Known { lower, upper, step: None, .. } = &part.generator {
                let ends = lower.get(axis as usize).zip(upper.get(axis as usize));
                found = ends.and_then(|(low, high)| Some((defs.int(func, *low)?, defs.int(func, *high)?)));
            }
        }
    });
    let (low, high) = found.filter(|(low, high)| low < high)?;
    Some(if end == End::First { low } else { high - 1 })
}

fn is_invariant(func: &Func, defs: &Defs, body: Region, value: Value) -> bool {
    let mut inside = ravel_types::HashSet::from_iter([body]);
    walk(func, body, &mut |_, inst| inside.extend(func.insts[inst].op.regions()));
    let mut work = vec![value];
    while let Some(v) = work.pop() {
        match defs.get(v) {
            Def::Param(region, _) => {
                if inside.contains(&region) {
                    return false;
                }
            }
            Def::Inst(inst, _) => {
                let stands_inside = inside.iter().any(|r| func.regions[*r].insts.contains(&inst));
                match &func.insts[inst].op {
                    _ if !stands_inside => {}
                    Op::Const(_) => {}
                    Op::Extent { array, .. } => work.push(*array),
                    Op::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul, a, b) if is_int(func, *a) => work.extend([*a, *b]),
                    _ => return false,
                }
            }
            Def::None => return false,
        }
    }
    true
}

/// Cuts the with-loop at a place that is computed before it.
fn cut(func: &mut Func, places: &Places, mut defs: Defs, inst: Inst, place: &Place) {
    let Op::With(with) = &func.insts[inst].op else { return };
    let Some(region) = places.home(inst) else { return };
    let body = with.parts[place.part].body;
    let span = func.insts[inst].span;
    let mut out = Vec::new();
    let mut e = Emitter { func, defs: &mut defs, out: &mut out, span };
    // The sum with a zero for the index is what the index is moved by.
    let moved = outside(&mut e, body, place.minus, place.end);
    let plus = match place.plus {
        Some(v) => outside(&mut e, body, v, place.end),
        None => e.int(0),
    };
    let mut boundary = e.int_op(BinOp::Sub, plus, moved);
    if place.after {
        let one = e.int(1);
        boundary = e.int_op(BinOp::Add, boundary, one);
    }
    insert_before(func, region, inst, out);
    apply_cut(func, region, &Cut::at(inst, place.part, place.axis, boundary));
}

/// A copy of a sum in front of the with-loop, with zero for the index of the body and an end of each window.
fn outside(e: &mut Emitter<'_>, body: Region, value: Value, end: End) -> Value {
    match e.defs.get(value) {
        Def::Param(region, _) if region == body => e.int(0),
        Def::Param(..) => match window_end(e.func, e.defs, body, value, end) {
            Some(at) => e.int(at),
            None => value,
        },
        Def::Inst(inst, _) => {
            let (op, ty) = (e.func.insts[inst].op.clone(), e.func.ty(value).clone());
            match op {
                Op::Bin(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), a, b) if is_inside(e.func, body, inst) => {
                    let (a, b) = (outside(e, body, a, end), outside(e, body, b, end));
                    e.int_op(op, a, b)
                }
                op if is_inside(e.func, body, inst) => e.emit(op, ty),
                _ => value,
            }
        }
        _ => value,
    }
}

fn is_inside(func: &Func, body: Region, wanted: Inst) -> bool {
    any_inst(func, body, |inst| inst == wanted)
}
