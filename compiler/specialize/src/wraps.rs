//! Warnings where arithmetic on `int` certainly wraps, as far as constants and index sets tell.
//!
//! ```text
//! sum(iota(1000000))      is 499999500000, which no int holds
//! ```
//!
//! Values are intervals in exact arithmetic. Index sets are looked at in blocks, so that sums over them have good bounds: a block of
//! indices gives an interval of cells. Elements of arrays that a with-loop of the same function makes are what its body makes. Of wider types and of
//! unsigned ones nothing is said: those are what a program takes for numbers that are large, or are meant to wrap. Neither is of anything under a condition.

use ravel_diagnostics::{Code, Diagnostic};
use ravel_source::Span;
use ravel_types::HashMap;
use ravel_types::{BinOp, Elem, Scalar, UnOp};
use ravel_wir::{Combine, Frame, Func, Generator, Inst, Module, Op, Part, Region, Value, With, WithOp};
use std::collections::BTreeMap;

/// An interval, both ends included.
type Range = (i128, i128);

const INT: Range = (i32::MIN as i128, i32::MAX as i128);
/// Blocks per axis, by the number of axes.
const BLOCKS: [i128; 4] = [64, 12, 6, 4];
/// Index sets of at most this many indices along their only axis are looked at one by one.
const MOST_SINGLE: i128 = 256;
/// Evaluations for one function: the rest of it goes unseen.
const MOST_WORK: usize = 50_000;
/// Products are not followed beyond these bounds.
const LARGE: i128 = 1 << 90;
const LARGER: i128 = 1 << 100;
/// Values between a value and what it is made of.
const MOST_DEPTH: usize = 40;

/// The warnings for a module, in the order of their places.
pub fn warnings(module: &Module) -> Vec<Diagnostic> {
    let mut found = BTreeMap::new();
    for func in module.funcs.values() {
        let mut defs = HashMap::default();
        for (inst, data) in &func.insts {
            defs.extend(data.results.iter().enumerate().map(|(k, v)| (*v, (inst, k))));
        }
        let mut look = Look { func, defs, indices: HashMap::default(), suspect: false, work: 0, found: &mut found };
        look.region(func.body);
    }
    found.into_iter().map(|(span, wrap)| wrap.report(span)).collect()
}

/// What wraps if an operation on constants does.
pub fn of_constants(op: BinOp, x: i32, y: i32) -> Option<Wrap> {
    let what = word(op)?;
    let range = apply(op, (x.into(), x.into()), (y.into(), y.into()))?;
    (range.0 > INT.1 || range.1 < INT.0).then_some(Wrap { what, range })
}

fn word(op: BinOp) -> Option<&'static str> {
    match op {
        BinOp::Add => Some("sum"),
        BinOp::Sub => Some("difference"),
        BinOp::Mul => Some("product"),
        _ => None,
    }
}

/// What wraps, and between which bounds its result would be.
pub struct Wrap {
    what: &'static str,
    range: Range,
}

impl Wrap {
    pub fn report(self, span: Span) -> Diagnostic {
        let (low, high) = self.range;
        let amount = match (low == high, low > 0) {
            _ if low >= LARGE => "more than 10^27".to_string(),
            (true, _) => format!("{low}"),
            (_, true) => format!("at least {low}"),
            (_, false) => format!("at most {high}"),
        };
        Diagnostic::warning(Code::IntWraps, format!("this {} is too large for `int`: it wraps", self.what))
            .at(span, format!("{amount}; an `int` holds -2147483648 to 2147483647"))
            .with_help(
                "convert what it is made of: `tol(x)` is `long`, `tod(x)` is `double`; where wrapping is meant, `toui(x)` is `uint`",
            )
    }
}

struct Look<'f> {
    func: &'f Func,
    /// The instruction of a value, and which of its results it is.
    defs: HashMap<Value, (Inst, usize)>,
    /// Intervals of the indices at hand.
    indices: HashMap<Value, Range>,
    /// Whether something was seen that may be too large.
    suspect: bool,
    work: usize,
    found: &'f mut BTreeMap<Span, Wrap>,
}

impl Look<'_> {
    /// Looks at what certainly runs when the region does.
    fn region(&mut self, region: Region) {
        let func = self.func;
        for &inst in &func.regions[region].insts {
            self.work += 1;
            match &func.insts[inst].op {
                Op::With(with) => {
                    for part in &with.parts {
                        self.part(part);
                    }
                    for k in 0..with.ops.len() {
                        self.fold(inst, with, k, true);
                    }
                }
                Op::Bin(..) | Op::Un(..) => self.arithmetic(inst),
                _ => {}
            }
        }
    }

    /// Looks at a body for the blocks of its index set.
    fn part(&mut self, part: &Part) {
        let Some(boxed) = self.bounds(part) else { return };
        let params = self.func.regions[part.body].params.clone();
        // What is small enough for all indices together is so for each block.
        let before = std::mem::replace(&mut self.suspect, false);
        self.bind(&params, &boxed);
        self.region(part.body);
        if self.suspect {
            for block in blocks(&boxed) {
                if self.work > MOST_WORK {
                    break;
                }
                self.bind(&params, &block);
                self.region(part.body);
            }
        }
        self.suspect |= before;
        self.unbind(&params);
    }

    /// Reports an operation whose result no `int` holds.
    fn arithmetic(&mut self, inst: Inst) {
        let func = self.func;
        let data = &func.insts[inst];
        let [result] = data.results[..] else { return };
        let ty = func.ty(result);
        if ty.elem != Elem::I32 || !ty.is_scalar() {
            return;
        }
        let what = match data.op {
            Op::Bin(op, ..) => word(op),
            Op::Un(UnOp::Neg, _) => word(BinOp::Sub),
            _ => None,
        };
        let Some(what) = what else { return };
        if let Some(range) = self.exact(inst, 0) {
            self.fits(range);
            self.note(data.span, what, range);
        }
    }

    fn note(&mut self, span: Span, what: &'static str, range: Range) {
        if !span.is_none() && (range.0 > INT.1 || range.1 < INT.0) {
            self.found.entry(span).or_insert(Wrap { what, range });
        }
    }

    /// The interval of a scalar `int` or truth value; nothing if it is not known, or may have wrapped.
    fn value(&mut self, v: Value, depth: usize) -> Option<Range> {
        self.work += 1;
        if depth > MOST_DEPTH || self.work > MOST_WORK {
            return None;
        }
        if let Some(range) = self.indices.get(&v) {
            return Some(*range);
        }
        let (inst, k) = *self.defs.get(&v)?;
        let range = match &self.func.insts[inst].op {
            Op::With(with) => self.fold(inst, with, k, false)?,
            _ => self.exact(inst, depth)?,
        };
        let elem = self.func.ty(v).elem;
        (elem == Elem::Bool || elem == Elem::I32 && self.fits(range)).then_some(range)
    }

    fn fits(&mut self, range: Range) -> bool {
        let fits = range.0 >= INT.0 && range.1 <= INT.1;
        self.suspect |= !fits;
        fits
    }

    /// The interval of an instruction's only result, before it wraps.
    fn exact(&mut self, inst: Inst, depth: usize) -> Option<Range> {
        let func = self.func;
        let next = depth + 1;
        Some(match &func.insts[inst].op {
            Op::Const(Scalar::I32(v)) => (i128::from(*v), i128::from(*v)),
            Op::Const(Scalar::Bool(v)) => (i128::from(*v), i128::from(*v)),
            Op::Bin(op, a, b) if op.is_comparison() && func.ty(*a).is_scalar() && func.ty(*b).is_scalar() => (0, 1),
            Op::Bin(op, a, b) => {
                let (a, b) = (self.value(*a, next)?, self.value(*b, next)?);
                apply(*op, a, b)?
            }
            Op::Un(UnOp::Neg, a) => {
                let a = self.value(*a, next)?;
                (-a.1, -a.0)
            }
            Op::Convert(a) if matches!(func.ty(*a).elem, Elem::Bool | Elem::I32) => self.value(*a, next)?,
            Op::Select { then, els, .. } => join(self.value(*then, next)?, self.value(*els, next)?),
            Op::Extent { array, axis } => {
                let extent = func.ty(*array).shape.extents()?.get(*axis as usize)?.as_const()?;
                (i128::from(extent), i128::from(extent))
            }
            Op::Sel { array, index } => self.element(*array, &index.clone(), next)?,
            _ => return None,
        })
    }

    /// The interval of elements at some indices of an array.
    fn element(&mut self, array: Value, index: &[Value], depth: usize) -> Option<Range> {
        let func = self.func;
        let (inst, k) = *self.defs.get(&array)?;
        match &func.insts[inst].op {
            Op::ConstArray(data) => {
                let mut values = data.values.iter().map(|v| v.as_i64().map(i128::from));
                let first = values.next()??;
                values.try_fold((first, first), |range, v| v.map(|v| join(range, (v, v))))
            }
            Op::With(with) => {
                let WithOp::Genarray { frame: Frame::Known(frame), .. } = &with.ops[k] else { return None };
                let [part] = &with.parts[..] else { return None };
                let params = func.regions[part.body].params.clone();
                if params.len() != index.len() || frame.len() != index.len() || !self.is_whole(part, frame) {
                    return None;
                }
                let at: Vec<Range> = index.iter().map(|i| self.value(*i, depth)).collect::<Option<_>>()?;
                let outside: Vec<Option<Range>> = params.iter().map(|p| self.indices.get(p).copied()).collect();
                self.bind(&params, &at);
                let range = self.value(func.regions[part.body].yields[k], depth);
                self.unbind(&params);
                for (param, range) in params.iter().zip(outside) {
                    if let Some(range) = range {
                        self.indices.insert(*param, range);
                    }
                }
                range
            }
            _ => None,
        }
    }

    /// Whether a partition covers its frame.
    fn is_whole(&mut self, part: &Part, frame: &[Value]) -> bool {
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return false };
        lower.iter().zip(upper).zip(frame).all(|((low, high), extent)| {
            let whole = self.value(*high, 0);
            self.value(*low, 0) == Some((0, 0))
                && (high == extent || whole.is_some() && whole == self.value(*extent, 0))
        })
    }

    /// The interval of a sum or product of `int`, before it wraps.
    fn fold(&mut self, inst: Inst, with: &With, k: usize, report: bool) -> Option<Range> {
        let func = self.func;
        let WithOp::Fold { neutral, combine: Combine::Op(op @ (BinOp::Add | BinOp::Mul)), stop: None } = with.ops[k]
        else {
            return None;
        };
        let ty = func.ty(func.insts[inst].results[k]);
        if ty.elem != Elem::I32 || !ty.is_scalar() {
            return None;
        }
        let start = self.value(neutral, 0)?;
        let before = std::mem::replace(&mut self.suspect, false);
        let mut total = self.total(with, k, op, start, false);
        // Folds within blocks are one block.
        if self.indices.is_empty() && (self.suspect || total.is_some_and(|total| !self.fits(total))) {
            total = self.total(with, k, op, start, true);
        }
        self.suspect |= before;
        let total = total?;
        self.fits(total);
        if report {
            self.note(func.insts[inst].span, if op == BinOp::Add { "sum" } else { "product" }, total);
        }
        Some(total)
    }

    /// The sum or product of the cells, whole index sets or their blocks at a time.
    fn total(&mut self, with: &With, k: usize, op: BinOp, start: Range, cut: bool) -> Option<Range> {
        let func = self.func;
        let mut total = start;
        for part in &with.parts {
            let boxed = self.bounds(part)?;
            let params = func.regions[part.body].params.clone();
            let outside = self.indices.clone();
            for block in if cut { blocks(&boxed) } else { vec![boxed] } {
                let count: i128 = block.iter().map(|(low, high)| high - low + 1).product();
                self.bind(&params, &block);
                let cell = self.value(func.regions[part.body].yields[k], 0);
                self.indices.clone_from(&outside);
                let cell = cell?;
                total = match op {
                    BinOp::Add => apply(BinOp::Add, total, apply(BinOp::Mul, cell, (count, count))?)?,
                    // Factors of at least one: once too large, always too large.
                    _ if total.0 >= 1 && cell.0 >= 1 => {
                        let power = |x: i128, most: i128| {
                            x.checked_pow(count.min(200) as u32).map_or(most, |power| power.min(most))
                        };
                        (
                            total.0.saturating_mul(power(cell.0, LARGE)).min(LARGE),
                            total.1.saturating_mul(power(cell.1, LARGER)).min(LARGER),
                        )
                    }
                    _ if count == 1 => apply(BinOp::Mul, total, cell)?,
                    _ => return None,
                };
            }
        }
        Some(total)
    }

    /// A dense index set with constant bounds, as intervals; nothing if it is empty.
    fn bounds(&mut self, part: &Part) -> Option<Vec<Range>> {
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return None };
        if lower.is_empty() {
            return None;
        }
        let mut boxed = Vec::with_capacity(lower.len());
        for (low, high) in lower.iter().zip(upper) {
            let (low, high) = (self.value(*low, 0)?, self.value(*high, 0)?);
            if low.0 != low.1 || high.0 != high.1 || low.0 >= high.0 {
                return None;
            }
            boxed.push((low.0, high.0 - 1));
        }
        Some(boxed)
    }

    fn bind(&mut self, params: &[Value], block: &[Range]) {
        self.indices.extend(params.iter().copied().zip(block.iter().copied()));
    }

    fn unbind(&mut self, params: &[Value]) {
        params.iter().for_each(|param| {
            self.indices.remove(param);
        });
    }
}

fn join(a: Range, b: Range) -> Range {
    (a.0.min(b.0), a.1.max(b.1))
}

/// An operation on intervals, in exact arithmetic.
fn apply(op: BinOp, a: Range, b: Range) -> Option<Range> {
    Some(match op {
        BinOp::Add => (a.0.checked_add(b.0)?, a.1.checked_add(b.1)?),
        BinOp::Sub => (a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?),
        BinOp::Mul => {
            let ends = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
            let products: Vec<i128> = ends.iter().map(|(x, y)| x.checked_mul(*y)).collect::<Option<_>>()?;
            (*products.iter().min()?, *products.iter().max()?)
        }
        BinOp::Min => (a.0.min(b.0), a.1.min(b.1)),
        BinOp::Max => (a.0.max(b.0), a.1.max(b.1)),
        BinOp::Div if b.0 == b.1 && b.0 > 0 => (a.0 / b.0, a.1 / b.0),
        BinOp::Mod if b.0 == b.1 && b.0 > 0 && a.0 >= 0 => (0, a.1.min(b.0 - 1)),
        BinOp::AplMod if b.0 == b.1 && b.0 > 0 => (0, b.0 - 1),
        _ => return None,
    })
}

/// An index set cut into blocks.
fn blocks(boxed: &[Range]) -> Vec<Vec<Range>> {
    let most = BLOCKS[(boxed.len() - 1).min(BLOCKS.len() - 1)];
    let mut all = vec![Vec::new()];
    for (axis, (low, high)) in boxed.iter().enumerate() {
        let extent = high - low + 1;
        let single = boxed.len() == 1 && extent <= MOST_SINGLE;
        let pieces = match (single, axis) {
            (true, _) => extent,
            (_, 0..4) => extent.min(most),
            _ => 1,
        };
        let cut = |k: i128| low + extent * k / pieces;
        all = all
            .into_iter()
            .flat_map(|prefix: Vec<Range>| {
                (0..pieces).map(move |k| {
                    let mut block = prefix.clone();
                    block.push((cut(k), cut(k + 1) - 1));
                    block
                })
            })
            .collect();
    }
    all
}
