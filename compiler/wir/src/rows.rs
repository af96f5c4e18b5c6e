//! Which rows of an array does an index of a with-loop read?
//!
//! ```text
//! part [1, 0] <= [%i, %j] < [%n, 9] { %h = sub %i, 1   %x = sel %a, [%h, %j]   %y = sel %a, [%i, 0] ... }
//! => rows -1 ..= 0 of %a, counted from row %i
//! ```
//!
//! Ranks that have rows of an array need these rows before they compute theirs. So what is said here must hold for every index: an array counts as read by rows
//! only if nothing but selections reads it, and the distance of each one's first index to the index of axis 0 has bounds. The arithmetic is that of
//! intervals, here alone: those who plan exchanges have their own, and are judged by this one.
//!
//! `i32` wraps. A selection stands within its array and `%i` is not negative, so a distance that holds but for multiples of 2^32 holds; comparisons of indices,
//! as in `min(i + 1, n - 1)`, ask for more.

use crate::ir::*;
use crate::traverse::{free_values, walk};
use cranelift_entity::SecondaryMap;
use ravel_types::{BinOp, Elem, HashMap, HashSet, Scalar, UnOp};

/// Rows `low ..= high` of an array, counted from the row of the index that reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowReads {
    pub array: Value,
    pub low: i64,
    pub high: i64,
}

/// What a region reads of arrays from outside of it, each in one of the lists; those that are only asked for extents are in none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    pub rows: Vec<RowReads>,
    /// Any row may be read.
    pub whole: Vec<Value>,
}

/// Finds what with-loops of a function read.
pub struct RowFinder<'f> {
    func: &'f Func,
    defs: SecondaryMap<Value, Option<Inst>>,
}

/// More rows than these are no neighbourhood: the array counts as read as a whole.
const MOST_ROWS: i64 = 1 << 16;

/// Definitions outside of the with-loop are followed so far.
const MOST_DEFS: usize = 6;

impl<'f> RowFinder<'f> {
    pub fn new(func: &'f Func) -> RowFinder<'f> {
        let mut defs = SecondaryMap::new();
        walk(func, func.body, &mut |_, inst| func.insts[inst].results.iter().for_each(|v| defs[*v] = Some(inst)));
        RowFinder { func, defs }
    }

    /// What the body of a partition reads at an index, whose row is its component of axis 0.
    pub fn of_part(&self, with: &With, part: &Part) -> Reads {
        let mut reader = Reader::new(self, part.body);
        reader.enter(with, part);
        reader.region(part.body);
        reader.finish(part.body)
    }

    /// The arrays that a region without an index reads, such as the function of a fold.
    pub fn of_region(&self, region: Region) -> Vec<Value> {
        let mut reader = Reader::new(self, region);
        reader.region(region);
        reader.finish(region).whole
    }
}

/// `low ..= high`.
type Interval = (i64, i64);

const ANY: Interval = (i32::MIN as i64, i32::MAX as i64);

/// What is known of an `i32`.
#[derive(Clone, Copy)]
struct Known {
    value: Interval,
    distance: Option<Distance>,
    /// It is this value, which is the same for all indices, plus a number.
    base: Option<(Value, i64)>,
}

/// Bounds of a value's distance to the index of axis 0.
#[derive(Clone, Copy)]
struct Distance {
    rows: Interval,
    /// They may be off by a multiple of 2^32.
    wraps: bool,
}

/// The index of axis 0.
struct Index {
    value: Interval,
    /// It is at least this base plus a number.
    lower: Option<(Value, i64)>,
    /// It is less than this base plus a number.
    upper: Option<(Value, i64)>,
}

impl Index {
    fn is_one_row(&self) -> bool {
        let ends = self.lower.zip(self.upper);
        self.value.0 == self.value.1 || ends.is_some_and(|((a, first), (b, end))| a == b && first + 1 == end)
    }
}

struct Reader<'a> {
    func: &'a Func,
    defs: &'a SecondaryMap<Value, Option<Inst>>,
    /// Nothing if rows are not to be told apart.
    index: Option<Index>,
    /// Values that the region or one in it defines.
    inside: HashSet<Value>,
    known: HashMap<Value, Known>,
    /// How arrays are read: within this distance, or anywhere.
    seen: HashMap<Value, Option<Interval>>,
}

impl<'a> Reader<'a> {
    fn new(finder: &'a RowFinder<'_>, region: Region) -> Reader<'a> {
        let func = finder.func;
        let mut inside: HashSet<Value> = func.regions[region].params.iter().copied().collect();
        walk(func, region, &mut |_, inst| {
            let data = &func.insts[inst];
            inside.extend(&data.results);
            data.op.regions().iter().for_each(|nested| inside.extend(&func.regions[*nested].params));
        });
        let (known, seen) = (HashMap::default(), HashMap::default());
        Reader { func, defs: &finder.defs, index: None, inside, known, seen }
    }

    /// Sets what is known of the index, if it has an axis 0 and its rows are not negative.
    fn enter(&mut self, with: &With, part: &Part) {
        let Generator::Known { lower, upper, .. } = &part.generator else { return };
        let (&[param, ..], [lower, ..], [upper, ..]) =
            (&self.func.regions[part.body].params[..], &lower[..], &upper[..])
        else {
            return;
        };
        let is_within_frame = with.ops.iter().any(|op| !matches!(op, WithOp::Fold { .. }));
        let mut above = self.known(*upper);
        if is_within_frame {
            // There is an index, which is not negative.
            above.value.0 = above.value.0.max(1);
            self.known.insert(*upper, above);
        }
        let below = self.known(*lower);
        let least = if is_within_frame { below.value.0.max(0) } else { below.value.0 };
        if least < 0 {
            return;
        }
        above.value.0 = above.value.0.max(least + 1);
        self.known.insert(*upper, above);
        let value = (least, above.value.1 - 1);
        self.index = Some(Index { value, lower: below.base, upper: above.base });
        let own = Distance { rows: (0, 0), wraps: false };
        self.known.insert(param, Known { value, distance: Some(own), base: None });
        self.bound_params(part, 1);
    }

    /// Sets what the generator says of the components of an index, from one axis on.
    fn bound_params(&mut self, part: &Part, from: usize) {
        let Generator::Known { lower, upper, .. } = &part.generator else { return };
        let params = &self.func.regions[part.body].params;
        for ((param, lower), upper) in params.iter().zip(lower).zip(upper).skip(from) {
            let between = self.between(*lower, *upper);
            self.known.insert(*param, between);
        }
    }

    /// What is known of a number that is at least `start` and below `end`.
    fn between(&self, start: Value, end: Value) -> Known {
        let (first, mut last) = (self.known(start), self.known(end));
        last.value = (last.value.0 - 1, last.value.1 - 1);
        last.base = last.base.map(|(base, plus)| (base, plus - 1));
        if let Some(Distance { rows, .. }) = &mut last.distance {
            *rows = (rows.0 - 1, rows.1 - 1);
        }
        let is_near = first.distance.is_some() || last.distance.is_some();
        let distances = self.distance(&first).zip(self.distance(&last)).filter(|_| is_near);
        let distance = distances.map(|(first, last)| Distance { rows: (first.0, last.1), wraps: false });
        Known { value: (first.value.0, last.value.1.max(first.value.0)), distance, base: None }
    }

    fn region(&mut self, region: Region) {
        for &inst in &self.func.regions[region].insts {
            self.reads(inst);
            self.evaluate(inst);
        }
        for v in &self.func.regions[region].yields {
            self.read(*v, None);
        }
    }

    /// Notes what an instruction reads, but for regions in it.
    fn reads(&mut self, inst: Inst) {
        match &self.func.insts[inst].op {
            Op::Extent { .. } | Op::Rank(_) | Op::ShapeVec(_) => {}
            Op::Sel { array, index } => {
                let rows = index.first().and_then(|first| self.rows(*first));
                self.read(*array, rows);
            }
            op => op.for_each_operand(|v| self.read(v, None)),
        }
    }

    fn read(&mut self, array: Value, rows: Option<Interval>) {
        if self.inside.contains(&array) || self.func.ty(array).is_scalar() {
            return;
        }
        let seen = self.seen.entry(array).or_insert(rows);
        *seen = seen.zip(rows).map(|(a, b)| hull(a, b));
    }

    /// The rows that a selection at this first index reads, if they are near the index.
    fn rows(&self, first: Value) -> Option<Interval> {
        let index = self.index.as_ref()?;
        let known = self.known(first);
        let rows = match known.distance {
            Some(distance) => distance.rows,
            // One row reads what it likes.
            None if index.is_one_row() => self.distance(&known)?,
            None => return None,
        };
        let fits = |n: i64| n.abs() < ANY.1;
        (fits(rows.0) && fits(rows.1) && rows.1 - rows.0 < MOST_ROWS).then_some(rows)
    }

    /// Bounds of what lies between a value and the index, which may be wide.
    fn distance(&self, known: &Known) -> Option<Interval> {
        let index = self.index.as_ref()?;
        let mut rows = (known.value.0 - index.value.1, known.value.1 - index.value.0);
        if let Some(distance) = known.distance.filter(|distance| !distance.wraps) {
            rows = (rows.0.max(distance.rows.0), rows.1.min(distance.rows.1));
        }
        let plus = |to: Option<(Value, i64)>| {
            known.base.zip(to).and_then(|((base, a), (other, b))| (base == other).then_some(a - b))
        };
        if let Some(least) = plus(index.upper) {
            rows.0 = rows.0.max(least + 1);
        }
        if let Some(most) = plus(index.lower) {
            rows.1 = rows.1.min(most);
        }
        Some(rows)
    }

    /// Finds out what is known of an instruction's results, and goes through its regions.
    fn evaluate(&mut self, inst: Inst) {
        let data = &self.func.insts[inst];
        match &data.op {
            Op::If { then, els, .. } => {
                self.region(*then);
                self.region(*els);
                let yields = [*then, *els].map(|region| &self.func.regions[region].yields);
                for ((result, a), b) in data.results.iter().zip(yields[0]).zip(yields[1]) {
                    let either = either(self.known(*a), self.known(*b));
                    self.known.insert(*result, either);
                }
            }
            Op::Loop { init, body } => {
                for (at, (param, init)) in self.func.regions[*body].params.iter().zip(init).enumerate() {
                    if let Some(known) = self.counter(*body, at, *init) {
                        self.known.insert(*param, known);
                    }
                }
                self.region(*body);
            }
            Op::With(with) => {
                for part in &with.parts {
                    self.bound_params(part, 0);
                    self.region(part.body);
                }
                with.ops.iter().filter_map(WithOp::region).for_each(|region| self.region(region));
            }
            op => {
                if let &[result] = &data.results[..]
                    && let Some(known) = self.computed(op, &|v| self.known(v))
                {
                    self.known.insert(result, known);
                }
            }
        }
    }

    /// What is known of a loop's parameter that counts upwards below a bound.
    fn counter(&self, body: Region, at: usize, init: Value) -> Option<Known> {
        let data = &self.func.regions[body];
        let (param, next) = (data.params[at], *data.yields.get(at + 1)?);
        let op = |v: Value| Some(&self.func.insts[self.defs[v]?].op);
        let Op::Bin(BinOp::Add, a, b) = op(next)? else { return None };
        let step = if *a == param { *b } else { *a };
        let is_step = (*a == param || *b == param) && self.known(step).value == (1, 1);
        let bound = match op(*data.yields.first()?)? {
            Op::Bin(BinOp::Lt, a, bound) | Op::Bin(BinOp::Gt, bound, a) if *a == next => *bound,
            _ => return None,
        };
        // Steps of 1 do not wrap below a bound, but one from a start beyond it might.
        let (start, mut known) = (self.known(init), self.between(init, bound));
        let can_start = start.value.1 < ANY.1;
        known.value.1 = known.value.1.max(start.value.1);
        known.distance = known
            .distance
            .zip(self.distance(&start))
            .map(|(distance, start)| Distance { rows: (distance.rows.0, distance.rows.1.max(start.1)), ..distance });
        (is_step && can_start).then_some(known)
    }

    fn known(&self, v: Value) -> Known {
        self.known_within(v, MOST_DEFS)
    }

    fn known_within(&self, v: Value, depth: usize) -> Known {
        if let Some(known) = self.known.get(&v) {
            return *known;
        }
        let is_inside = self.inside.contains(&v);
        let base = if is_inside { None } else { Some((v, 0)) };
        let unknown = Known { value: ANY, distance: None, base };
        if self.func.ty(v).elem != Elem::I32 || !self.func.ty(v).is_scalar() || depth == 0 {
            return unknown;
        }
        match self.defs[v].map(|inst| &self.func.insts[inst].op) {
            // What is inside is known by now, or is computed in a later iteration.
            Some(op) if !is_inside || matches!(op, Op::Const(_)) => {
                let known = self.computed(op, &|v| self.known_within(v, depth - 1));
                known.map_or(unknown, |known| Known { base: known.base.or(base), ..known })
            }
            _ => unknown,
        }
    }

    /// What is known of the result of arithmetic on `i32`.
    fn computed(&self, op: &Op, known: &dyn Fn(Value) -> Known) -> Option<Known> {
        Some(match op {
            Op::Const(Scalar::I32(n)) => Known::of((i64::from(*n), i64::from(*n))),
            Op::Extent { array, axis } => {
                let extents = self.func.ty(*array).shape.extents();
                let extent = extents.and_then(|extents| extents.get(*axis as usize)).and_then(|e| e.as_const());
                Known::of(extent.map_or((0, ANY.1), |n| (i64::from(n), i64::from(n))))
            }
            Op::Un(UnOp::Neg, a) if self.is_int(*a) => sum(Known::of((0, 0)), known(*a), -1),
            Op::Bin(op, a, b) if self.is_int(*a) => {
                let (a, b) = (known(*a), known(*b));
                match op {
                    BinOp::Add => sum(a, b, 1),
                    BinOp::Sub => sum(a, b, -1),
                    BinOp::Mul => {
                        let products = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(i, j)| {
                            let end = |k: &Known, i| if i == 0 { k.value.0 } else { k.value.1 };
                            end(&a, i) * end(&b, j)
                        });
                        let (low, high) = (products.iter().min()?, products.iter().max()?);
                        Known::of(in_bounds((*low, *high))?)
                    }
                    BinOp::Min => self.extreme(a, b, i64::min),
                    BinOp::Max => self.extreme(a, b, i64::max),
                    _ => return None,
                }
            }
            Op::Select { then, els, .. } if self.is_int(*then) => either(known(*then), known(*els)),
            _ => return None,
        })
    }

    fn is_int(&self, v: Value) -> bool {
        self.func.ty(v).elem == Elem::I32 && self.func.ty(v).is_scalar()
    }

    /// The lesser or greater one of two numbers.
    fn extreme(&self, a: Known, b: Known, choose: fn(i64, i64) -> i64) -> Known {
        let of = |a: Interval, b: Interval| (choose(a.0, b.0), choose(a.1, b.1));
        let is_near = a.distance.is_some() || b.distance.is_some();
        let distances = self.distance(&a).zip(self.distance(&b)).filter(|_| is_near);
        let distance = distances.map(|(a, b)| Distance { rows: of(a, b), wraps: false });
        Known { value: of(a.value, b.value), distance, base: None }
    }

    /// The arrays that were read, in the order in which the region first names them.
    fn finish(self, region: Region) -> Reads {
        let mut reads = Reads::default();
        for array in free_values(self.func, region) {
            match self.seen.get(&array) {
                Some(Some((low, high))) => reads.rows.push(RowReads { array, low: *low, high: *high }),
                Some(None) => reads.whole.push(array),
                None => {}
            }
        }
        reads
    }
}

impl Known {
    fn of(value: Interval) -> Known {
        Known { value, distance: None, base: None }
    }
}

fn hull(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The interval, if no `i32` wraps there.
fn in_bounds(value: Interval) -> Option<Interval> {
    (value.0 >= ANY.0 && value.1 <= ANY.1).then_some(value)
}

/// `a + sign * b`.
fn sum(a: Known, b: Known, sign: i64) -> Known {
    let signed = |(low, high): Interval| if sign < 0 { (-high, -low) } else { (low, high) };
    let plus = |a: Interval, b: Interval| (a.0 + b.0, a.1 + b.1);
    let value = in_bounds(plus(a.value, signed(b.value)));
    let far =
        |near: Distance, by: Interval| Distance { rows: plus(near.rows, by), wraps: near.wraps || value.is_none() };
    let distance = match (a.distance, b.distance) {
        (Some(near), None) => Some(far(near, signed(b.value))),
        (None, Some(near)) if sign > 0 => Some(far(near, a.value)),
        _ => None,
    };
    let is_number = |k: &Known| k.value.0 == k.value.1;
    let base = match (a.base, b.base) {
        (Some((base, plus)), _) if is_number(&b) => Some((base, plus + sign * b.value.0)),
        (_, Some((base, plus))) if is_number(&a) && sign > 0 => Some((base, plus + a.value.0)),
        _ => None,
    };
    Known { value: value.unwrap_or(ANY), distance, base: base.filter(|_| value.is_some()) }
}

/// One of two numbers.
fn either(a: Known, b: Known) -> Known {
    let distance =
        a.distance.zip(b.distance).map(|(a, b)| Distance { rows: hull(a.rows, b.rows), wraps: a.wraps || b.wraps });
    Known { value: hull(a.value, b.value), distance, base: a.base.filter(|base| b.base == Some(*base)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_module;
    use crate::verify::verify;
    use ravel_source::FileId;

    /// What the first partition of the last with-loop of a function reads; `%v0` is its first parameter.
    fn reads(params: &str, body: &str) -> String {
        let text = format!("func @f0 \"f\" ({params}) -> () {{ {body} yield }}");
        let module = parse_module(&text, FileId(0)).expect("grammatical");
        assert_eq!(verify(&module), Ok(()));
        let func = module.funcs.values().next().expect("there is one");
        let last = func.regions[func.body].insts.last().expect("there is one");
        let Op::With(with) = &func.insts[*last].op else { panic!("no with-loop") };
        let finder = RowFinder::new(func);
        let mut reads = finder.of_part(with, &with.parts[0]);
        reads.whole.extend(with.ops.iter().filter_map(WithOp::region).flat_map(|region| finder.of_region(region)));
        let rows = reads.rows.iter().map(|r| format!("{} {}..{}", r.array, r.low, r.high));
        let whole = reads.whole.iter().map(|array| format!("{array} whole"));
        rows.chain(whole).collect::<Vec<_>>().join(", ")
    }

    /// The same of a loop over `0 <= i < 100` with this body, whose parameters are `%a` and `%n`.
    fn of_body(body: &str) -> String {
        let with = format!("%r: f64[100] = with {{ part [1] <= [%i] < [99] {{ {body} }} }} genarray [100] cell []");
        reads("%a: f64[s0,s1], %n: i32", &with)
    }

    #[test]
    fn distances_of_selections_make_an_interval() {
        let body =
            "%h: i32 = sub %i, 1  %j: i32 = add %i, 2  %x: f64 = sel %a, [%h, 0]  %y: f64 = sel %a, [%j, %n] yield %x";
        assert_eq!(of_body(body), "%v0 -1..2");
        assert_eq!(of_body("%j: i32 = add 7, %i  %x: f64 = sel %a, [%j, 0] yield %x"), "%v0 7..7");
        // A row is a selection too, and what is done with it is its own business.
        let body = "%r1: f64[s1] = sel %a, [%i]  %n2: i32 = extent %r1, 0  %x: f64 = sel %r1, [%n] yield %x";
        assert_eq!(of_body(body), "%v0 0..0");
        assert_eq!(of_body("%e: i32 = extent %a, 0  yield 1.0"), "");
    }

    #[test]
    fn other_uses_need_the_whole_array() {
        assert_eq!(of_body("%x: f64 = sel %a, [%n, %i] yield %x"), "%v0 whole");
        assert_eq!(of_body("%x: f64 = sel %a, [0, %i] yield %x"), "%v0 whole");
        assert_eq!(of_body("%k: i32 = mul %i, 2  %x: f64 = sel %a, [%k, 0] yield %x"), "%v0 whole");
        assert_eq!(of_body("%k: i32 = sub 9, %i  %x: f64 = sel %a, [%k, 0] yield %x"), "%v0 whole");
        let widened = "%x: f64 = sel %a, [%i, 0]  %w: f64[*] = widen %a  %v: i32[1] = shape %w  yield %x";
        assert_eq!(of_body(widened), "%v0 whole");
        let changed = "%b: f64[s0,s1] = with { } modarray %a  %x: f64 = sel %b, [%i, 0] yield %x";
        assert_eq!(of_body(changed), "%v0 whole");
        let updated = "%b: f64[s0,s1] = update %a, [%i, 0], 1.0  %x: f64 = sel %a, [%i, 0] yield %x";
        assert_eq!(of_body(updated), "%v0 whole");
        let native = "%x: f64 = native \"f\" fixed 1 (%a) yield %x";
        assert_eq!(of_body(native), "%v0 whole");
        let loop_carried = "%x: f64[s0,s1] = loop (%b: f64[s0,s1] = %a) { yield false, %b }  yield 1.0";
        assert_eq!(of_body(loop_carried), "%v0 whole");
        let chosen = "%c: bool = lt %i, %n  %b: f64[s0,s1] = if %c { yield %a } else { yield %a }  yield 1.0";
        assert_eq!(of_body(chosen), "%v0 whole");
    }

    #[test]
    fn a_window_has_the_bounds_of_its_inner_loops() {
        let window = |index: &str| {
            let inner = format!("{index}  %y: f64 = sel %a, [%q, %l]  yield %y");
            let part = format!("part [0, 0] <= [%k, %l] < [3, 3] {{ {inner} }}");
            of_body(&format!("%x: f64 = with {{ {part} }} fold add neutral 0.0  yield %x"))
        };
        assert_eq!(window("%q: i32 = add %i, %k"), "%v0 0..2");
        assert_eq!(window("%t: i32 = sub %k, 1  %q: i32 = sub %i, %t"), "%v0 -1..1");
        assert_eq!(window("%t: i32 = mul %k, 4  %q: i32 = add %t, %i"), "%v0 0..8");
        assert_eq!(window("%q: i32 = add %i, %l  %z: i32 = add %k, %k"), "%v0 0..2");
        assert_eq!(window("%q: i32 = add %k, 0"), "%v0 whole");
        // The window's own index may be the row.
        let body = "%l: i32 = sub %i, 2  %u: i32 = add %i, 2  %x: f64 = with { part [%l] <= [%k] < [%u] {
            %y: f64 = sel %a, [%k, 0]  yield %y } } fold add neutral 0.0  yield %x";
        assert_eq!(of_body(body), "%v0 -2..1");
    }

    #[test]
    fn loops_count_upwards_below_a_bound() {
        let counted = |start: &str, step: &str, bound: &str| {
            let body = "%q: i32 = add %i, %k  %y: f64 = sel %a, [%q, 0]  %t: f64 = add %s, %y";
            let next = format!("%m: i32 = add %k, {step}  %go: bool = lt %m, {bound}  yield %go, %m, %t");
            of_body(&format!(
                "%e: i32, %x: f64 = loop (%k: i32 = {start}, %s: f64 = 0.0) {{ {body}  {next} }}  yield %x"
            ))
        };
        assert_eq!(counted("0", "1", "3"), "%v0 0..2");
        // The body runs once in any case.
        assert_eq!(counted("5", "1", "3"), "%v0 5..5");
        assert_eq!(counted("0", "2", "3"), "%v0 whole");
        assert_eq!(counted("0", "1", "%n"), "%v0 whole");
    }

    #[test]
    fn borders_that_are_clamped_are_near() {
        let loops = |rows: &str, index: &str| {
            let body = format!("{index}  %x: f64 = sel %a, [%q]  yield %x");
            let with = format!("with {{ part [0] <= [%i] < [{rows}] {{ {body} }} }} genarray [%n] cell []");
            reads("%a: f64[s0]", &format!("%n: i32 = extent %a, 0  %m: i32 = sub %n, 1  %r: f64[s0] = {with}"))
        };
        assert_eq!(loops("%n", "%h: i32 = sub %i, 1  %q: i32 = max %h, 0"), "%v0 -1..0");
        assert_eq!(loops("%n", "%h: i32 = add %i, 1  %q: i32 = min %h, %m"), "%v0 0..1");
        assert_eq!(loops("%m", "%h: i32 = add %i, 2  %z: i32 = sub %h, 1  %q: i32 = min %z, %n"), "%v0 1..1");
        assert_eq!(loops("%n", "%c: bool = lt %i, 5  %h: i32 = add %i, 1  %q: i32 = select %c, %h, %i"), "%v0 0..1");
        let branches = "%c: bool = lt %i, 5  %q: i32 = if %c { %h: i32 = sub %i, 4 yield %h } else { yield %i }";
        assert_eq!(loops("%n", branches), "%v0 -4..0");
        // Near the largest number `i + 2` wraps, and is then no greater than the other.
        assert_eq!(loops("%n", "%h: i32 = add %i, 2  %q: i32 = min %h, %m"), "%v0 whole");
        assert_eq!(loops("%n", "%q: i32 = mod %i, %n"), "%v0 whole");
    }

    #[test]
    fn one_row_reads_what_it_likes() {
        let with = |upper: &str| {
            let part = format!("part [2] <= [%i] < [{upper}] {{ %x: f64 = sel %a, [7]  yield %x }}");
            reads("%a: f64[10]", &format!("%r: f64[10] = with {{ {part} }} modarray %a"))
        };
        assert_eq!(with("3"), "%v0 5..5");
        assert_eq!(with("4"), "%v0 whole");
        // The last row, of an unknown number.
        let last = |rows: &str, index: &str| {
            let part = format!("part [%m] <= [%i] < [{rows}] {{ {index}  %x: f64 = sel %a, [%q]  yield %x }}");
            let with = format!("%r: f64[s0] = with {{ {part} }} modarray %a");
            reads("%a: f64[s0], %n: i32", &format!("%m: i32 = sub %n, 1  %l: i32 = add %n, 1  {with}"))
        };
        assert_eq!(last("%n", "%q: i32 = sub %n, 1"), "%v0 0..0");
        assert_eq!(last("%n", "%q: i32 = sub %m, 3"), "%v0 -3..-3");
        assert_eq!(last("%n", "%q: i32 = add 0, 0"), "%v0 whole");
        assert_eq!(last("%l", "%q: i32 = sub %n, 1"), "%v0 whole");
    }

    #[test]
    fn folds_need_an_index_that_is_not_negative() {
        let fold = |lower: &str| {
            let part =
                format!("part [{lower}] <= [%i] < [9] {{ %j: i32 = add %i, 1  %x: f64 = sel %a, [%j]  yield %x }}");
            let function = "{ (%l: f64, %m: f64)  %y: f64 = sel %b, [0]  %z: f64 = mul %m, %y  yield %z }";
            let with = format!("%r: f64 = with {{ {part} }} fold {function} neutral 0.0");
            reads("%a: f64[10], %b: f64[2], %n: i32", &with)
        };
        assert_eq!(fold("0"), "%v0 1..1, %v1 whole");
        assert_eq!(fold("%n"), "%v0 whole, %v1 whole");
    }

    #[test]
    fn index_vectors_have_no_rows() {
        let body = "%x: f64 = sel %a, [0]  yield %x";
        let with = format!(
            "%r: f64[*] = with {{ part dyn %s <= %iv: i32[s0] < %s {{ {body} }} }} genarray dyn %s default 0.0"
        );
        assert_eq!(reads("%a: f64[10], %s: i32[s0]", &with), "%v0 whole");
    }
}
