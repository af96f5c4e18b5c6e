//! Iterations that change one row of an array, in order, and read no other row: the with-loop goes over the rows.
//!
//! ```text
//!    loop (%a = %x, %i = 0) { %b = loop (%c = %a, %j = 1) { %l = %c[%i, %j - 1]  ...  %c with [%i, %j] = %v ... }  yield %i + 1 < m, %b, %i + 1 }
//! => modarray(%x) { [0] <= [%i] < [m] { %r = %x[%i]  loop (%c = %r, %j = 1) { %l = %c[%j - 1]  ...  %c with [%j] = %v ... } } }
//! ```
//!
//! Sweeps along rows, written as in C: prefix sums, recursive filters, tridiagonal systems. What happens in a row keeps its order, and rows run on threads.

use crate::edit::{Defs, Emitter, Renames};
use crate::facts::places::Places;
use crate::loops::Site;
use crate::loops::accesses::names_of;
use crate::loops::nest::{ArrayLoop, LoopNest};
use ravel_types::HashSet;
use ravel_types::{BinOp, Shape, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, Value, WithOp};

/// Fewer rows, or elements of a row, stay as they are.
const LEAST_ROWS: i64 = 8;
const LEAST_ELEMENTS: i64 = 16;

struct Found {
    whole: ArrayLoop,
    /// It is certain that the counter begins before the end.
    is_ordered: bool,
    /// What the array is called as it changes in an iteration.
    names: HashSet<Value>,
}

/// Puts a with-loop over rows in the place of a loop, and says so; nothing if it stays.
pub fn make(site: &mut Site) -> Option<&'static str> {
    let (region, inst) = (site.region, site.inst);
    let found = examine(site.func, site.defs, site.places, inst, site.eager)?;
    rewrite(site.func, site.defs, region, &found);
    Some("the loop is a with-loop over rows, for each iteration works on its own")
}

fn examine(func: &Func, defs: &Defs, places: &Places, inst: Inst, eager: bool) -> Option<Found> {
    let nest = LoopNest::of(func, defs, inst)?;
    let whole = ArrayLoop::of(&nest)?;
    let (trip, array) = (whole.trip, whole.only()?);
    if places.is_inside_with(func, inst) {
        return None;
    }
    let (param, next) = nest.carried(array);
    let extents = func.ty(param).shape.extents().filter(|extents| extents.len() >= 2)?;
    let elements = extents[1..].iter().map(|n| n.as_const().map(i64::from)).try_fold(1i64, |p, n| p.checked_mul(n?));
    if !eager && (trip.is_short(func, defs, LEAST_ROWS) || elements.is_some_and(|n| n < LEAST_ELEMENTS)) {
        return None;
    }
    let is_ordered = trip.is_ordered(func, defs, &mut places.ranges_at(func, defs, inst));
    let names = names_of(func, nest.body, param);
    let mut row = Row { func, defs, names: &names, counter: trip.count(func), indices: HashSet::default() };
    let (mut loops, mut indices) = (false, HashSet::from_iter([row.counter]));
    walk(func, nest.body, &mut |_, inner| match &func.insts[inner].op {
        Op::Loop { .. } => loops = true,
        Op::With(with) => {
            let rows = with.parts.iter().filter(|part| row.is_row(part));
            indices.extend(rows.map(|part| func.regions[part.body].params[0]));
        }
        _ => {}
    });
    row.indices = indices;
    let is_own = loops && names.contains(&next) && row.is_alone(nest.body, Some(array));
    is_own.then_some(Found { whole, is_ordered, names })
}

/// The row of an iteration, by the names that the array has.
struct Row<'a> {
    func: &'a Func,
    defs: &'a Defs,
    names: &'a HashSet<Value>,
    counter: Value,
    /// Values that are the counter: itself, and the first index where a with-loop has just that row.
    indices: HashSet<Value>,
}

impl Row<'_> {
    /// Does nothing in a region use another row? `position` is where the region of a loop carries the array.
    fn is_alone(&self, region: Region, position: Option<usize>) -> bool {
        let data = &self.func.regions[region];
        let yields_well = match position {
            Some(k) => data.yields.iter().enumerate().all(|(n, v)| self.names.contains(v) == (n == k + 1)),
            None => true,
        };
        yields_well && data.insts.iter().all(|inst| self.is_own(*inst))
    }

    fn is_own(&self, inst: Inst) -> bool {
        let (func, data) = (self.func, &self.func.insts[inst]);
        let named = |v: &Value| self.names.contains(v);
        let starts_here = |index: &[Value]| index.first().is_some_and(|v| self.indices.contains(v));
        match &data.op {
            Op::Sel { array, index } if named(array) => starts_here(index),
            Op::Update { array, index, value } if named(array) => starts_here(index) && !named(value),
            Op::Extent { .. } => true,
            Op::Loop { init, body } => {
                let yields = &func.regions[*body].yields[1..];
                let carried = init.iter().zip(yields).all(|(first, next)| named(first) == named(next));
                carried && self.is_alone(*body, None) && !named(&func.regions[*body].yields[0])
            }
            Op::If { then, els, .. } => {
                let (a, b) = (&func.regions[*then].yields, &func.regions[*els].yields);
                a.iter().zip(b).all(|(a, b)| named(a) == named(b))
                    && self.is_alone(*then, None)
                    && self.is_alone(*els, None)
            }
            Op::With(with) => {
                let mut is_own = with.parts.iter().all(|part| self.is_alone(part.body, None));
                for region in data.op.regions() {
                    is_own &= !func.regions[region].yields.iter().any(named);
                }
                let mut others = 0;
                data.op.for_each_operand(|v| others += usize::from(named(&v)));
                match (&with.parts[..], &with.ops[..]) {
                    (_, _) if others == 0 => is_own,
                    ([part], [WithOp::Modarray { array }]) if named(array) && others == 1 => {
                        is_own && self.is_row(part)
                    }
                    _ => false,
                }
            }
            op => {
                let mut other = false;
                op.for_each_operand(|v| other |= named(&v));
                !other
            }
        }
    }

    /// Has a partition the iteration's row along its first axis, and others?
    fn is_row(&self, part: &Part) -> bool {
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return false };
        let is_next = |v: Value| {
            matches!(self.defs.op(self.func, v), Some(Op::Bin(BinOp::Add, a, b))
                if *a == self.counter && self.defs.int(self.func, *b) == Some(1))
        };
        lower.len() >= 2 && lower[0] == self.counter && is_next(upper[0])
    }
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, found: &Found) {
    let trip = found.whole.trip;
    let Op::Loop { init, .. } = &func.insts[trip.inst].op else { return };
    let position = found.whole.arrays[0];
    let (span, body, array) = (func.insts[trip.inst].span, trip.body, init[position]);
    let mut out = Vec::new();
    let end = trip.emit_last(&mut Emitter { func, defs, out: &mut out, span }, found.is_ordered);
    let data = &func.regions[body];
    let (param, next, counter) = (data.params[position], data.yields[position + 1], trip.count(func));
    let ty = func.ty(param).clone();
    let row = Ty::new(ty.elem, Shape::Known(ty.shape.extents().unwrap_or_default()[1..].to_vec()));
    for v in &found.names {
        func.values[*v].ty = row.clone();
    }
    let mut renames = Renames::default();
    narrow(func, body, found, (array, counter), &mut renames);
    let select = func.make_inst(Op::Sel { array, index: vec![counter] }, Vec::new(), span);
    func.insts[select].results = vec![param];
    let data = &mut func.regions[body];
    data.params = vec![counter];
    data.insts.insert(0, select);
    data.yields = vec![next];
    renames.apply_region(func, body);
    let generator = Generator::Known { lower: vec![trip.start], upper: vec![end], step: None, width: None };
    found.whole.becomes_with(func, region, generator, out, end);
}

/// Takes the first axis away from what a region does with the array.
fn narrow(func: &mut Func, region: Region, found: &Found, (array, counter): (Value, Value), renames: &mut Renames) {
    let insts = std::mem::take(&mut func.regions[region].insts);
    let mut kept = Vec::with_capacity(insts.len());
    for inst in insts {
        let result = func.insts[inst].results.first().copied();
        match &mut func.insts[inst].op {
            Op::Sel { array: row, index } if found.names.contains(row) => {
                index.remove(0);
                if let (true, Some(result)) = (index.is_empty(), result) {
                    renames.set(result, *row);
                    continue;
                }
            }
            Op::Update { array: row, index, value } if found.names.contains(row) => {
                index.remove(0);
                if let (true, Some(result)) = (index.is_empty(), result) {
                    renames.set(result, *value);
                    continue;
                }
            }
            Op::Extent { array: row, .. } if found.names.contains(row) => *row = array,
            Op::With(with) => {
                if let ([part], [WithOp::Modarray { array: row }]) = (&mut with.parts[..], &with.ops[..])
                    && found.names.contains(row)
                    && let Generator::Known { lower, upper, .. } = &mut part.generator
                {
                    lower.remove(0);
                    upper.remove(0);
                    let first = func.regions[part.body].params.remove(0);
                    renames.set(first, counter);
                }
            }
            _ => {}
        }
        for nested in func.insts[inst].op.regions() {
            narrow(func, nested, found, (array, counter), renames);
        }
        kept.push(inst);
    }
    func.regions[region].insts = kept;
}
