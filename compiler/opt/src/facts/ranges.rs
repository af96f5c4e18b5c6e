//! What is known of `i32` scalars at a place of the program: linear forms, bounds, facts from checks and branches.
//!
//! A pass walks the regions in program order and tells a [`Ranges`] what it passes ([`Ranges::enter_part`], [`Ranges::assume`],
//! [`Ranges::learn`]); leaving a region takes back what held only inside ([`Ranges::mark`], [`Ranges::undo`]). SaC's integers
//! wrap: the form of a sum is used only where bounds show that the exact sum fits 32 bits.

mod facts;
mod loops;

use crate::edit::{Def, Defs};
use crate::facts::linear::{Atom, Lin};
use ravel_types::{Affine, BinOp, Elem, UnOp};
use ravel_wir::{Func, Op, Value};
use rustc_hash::FxHashMap;

/// Facts that hold at the place a walk has reached.
#[derive(Default)]
pub struct Ranges {
    forms: FxHashMap<Value, Lin>,
    bounds: FxHashMap<Atom, Bounds>,
    /// Atoms that are known to equal a form.
    equal: FxHashMap<Atom, Lin>,
    /// Each is `<= 0`.
    facts: Vec<Lin>,
    truths: FxHashMap<Value, bool>,
    interned: FxHashMap<Affine, u32>,
    log: Vec<Undo>,
    next_stamp: u32,
    /// Loops and branches whose results are being looked at, one in the other.
    depth: u32,
}

/// Bounds of an atom; they mention only atoms with smaller stamps.
#[derive(Clone, Default)]
struct Bounds {
    stamp: u32,
    lower: Vec<Lin>,
    upper: Vec<Lin>,
}

enum Undo {
    Form(Value),
    Bounds(Atom, Option<Bounds>),
    Equal(Atom),
    Fact,
    Truth(Value, Option<bool>),
}

/// A state to return to.
#[derive(Clone, Copy)]
pub struct Mark(usize);

/// Sums below a sum that is reconsidered.
const RECONSIDERED: u32 = 4;
/// Eliminations tried for one question: enough for index arithmetic, and a bound on the time for anything else.
const FUEL: u32 = 120;

/// Facts consulted for one question, latest first.
const MAX_FACTS: usize = 24;

const MIN: i64 = i32::MIN as i64;
const MAX: i64 = i32::MAX as i64;

impl Ranges {
    pub fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    pub fn undo(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            match self.log.pop() {
                Some(Undo::Form(v)) => {
                    self.forms.remove(&v);
                }
                Some(Undo::Bounds(a, Some(old))) => {
                    self.bounds.insert(a, old);
                }
                Some(Undo::Bounds(a, None)) => {
                    self.bounds.remove(&a);
                }
                Some(Undo::Equal(a)) => {
                    self.equal.remove(&a);
                }
                Some(Undo::Fact) => {
                    self.facts.pop();
                }
                Some(Undo::Truth(v, Some(old))) => {
                    self.truths.insert(v, old);
                }
                Some(Undo::Truth(v, None)) => {
                    self.truths.remove(&v);
                }
                None => {}
            }
        }
    }

    fn bound(&mut self, atom: Atom, lower: Option<Lin>, upper: Option<Lin>) {
        let old = self.bounds.get(&atom).cloned();
        let mut new = old.clone().unwrap_or_default();
        // Constant bounds mention nothing, so the atom keeps its place in the order of elimination.
        if lower.iter().chain(&upper).any(|l| l.as_const().is_none()) {
            self.next_stamp += 1;
            new.stamp = self.next_stamp;
        }
        new.lower.extend(lower);
        new.upper.extend(upper);
        self.log.push(Undo::Bounds(atom, old));
        self.bounds.insert(atom, new);
    }

    fn fact(&mut self, lin: Option<Lin>) {
        let Some(lin) = lin.map(|l| self.normal(&l)) else { return };
        match lin.terms[..] {
            [] => {}
            // k * atom + c <= 0
            [(atom, k)] if k > 0 => self.bound(atom, None, Some(Lin::constant((-lin.c).div_euclid(k)))),
            [(atom, k)] => self.bound(atom, Some(Lin::constant(-(-lin.c).div_euclid(-k))), None),
            _ => {
                self.log.push(Undo::Fact);
                self.facts.push(lin);
            }
        }
    }

    /// The form with known equalities applied.
    fn normal(&self, lin: &Lin) -> Lin {
        let mut lin = lin.clone();
        for _ in 0..8 {
            let next = lin.terms.iter().find_map(|(a, _)| self.equal.get(a).and_then(|by| lin.substitute(*a, by)));
            match next {
                Some(next) => lin = next,
                None => break,
            }
        }
        lin
    }

    /// An upper bound of the form; `i64::MAX` if there is none.
    pub fn upper(&self, lin: &Lin) -> i64 {
        self.eliminate(&self.normal(lin), i64::MIN, &mut { FUEL })
    }

    /// A lower bound of the form; `i64::MIN` if there is none.
    pub fn lower(&self, lin: &Lin) -> i64 {
        match lin.scale(-1).map(|l| self.upper(&l)) {
            Some(i64::MAX) | None => i64::MIN,
            Some(v) => -v,
        }
    }

    /// The smallest upper bound found; the search ends at one that is at most `enough`.
    fn eliminate(&self, lin: &Lin, enough: i64, fuel: &mut u32) -> i64 {
        let stamp = |a: &Atom| self.bounds.get(a).map_or(0, |b| b.stamp);
        let Some((atom, k)) = lin.terms.iter().max_by_key(|(a, _)| stamp(a)).copied() else {
            return lin.c;
        };
        let mut best = match if k > 0 { MAX } else { MIN }.checked_mul(k) {
            // The bound of the type comes last: it forgets what the atom has to do with others.
            Some(at_most) => lin.substitute(atom, &Lin::constant(0)).map_or(i64::MAX, |rest| {
                self.eliminate_rest(&rest, enough.saturating_sub(at_most), fuel).saturating_add(at_most)
            }),
            None => i64::MAX,
        };
        if let Some(bounds) = self.bounds.get(&atom) {
            for bound in if k > 0 { &bounds.upper } else { &bounds.lower } {
                if *fuel == 0 || best <= enough {
                    break;
                }
                *fuel -= 1;
                if let Some(next) = lin.substitute(atom, bound) {
                    best = best.min(self.eliminate(&self.normal(&next), enough, fuel));
                }
            }
        }
        best
    }

    fn eliminate_rest(&self, lin: &Lin, enough: i64, fuel: &mut u32) -> i64 {
        if lin.terms.is_empty() {
            return lin.c;
        }
        if *fuel == 0 {
            return i64::MAX;
        }
        *fuel -= 1;
        self.eliminate(lin, enough, fuel)
    }

    /// Whether the form is certainly at most zero.
    fn is_not_positive(&self, lin: &Lin) -> bool {
        let is_bounded = |lin: &Lin| self.eliminate(&self.normal(lin), 0, &mut { FUEL }) <= 0;
        if is_bounded(lin) {
            return true;
        }
        let lin = self.normal(lin);
        self.facts.iter().rev().take(MAX_FACTS).any(|fact| {
            let fact = self.normal(fact);
            // A fact helps only if it removes something.
            fact.terms.iter().any(|(a, _)| lin.mentions(*a)) && lin.sub(&fact).is_some_and(|rest| is_bounded(&rest))
        })
    }

    fn is_not_negative(&self, lin: &Lin) -> bool {
        lin.scale(-1).is_some_and(|negated| self.is_not_positive(&negated))
    }

    fn fits(&self, lin: &Lin) -> bool {
        self.is_not_positive(&lin.plus(-MAX)) && lin.scale(-1).is_some_and(|l| self.is_not_positive(&l.plus(MIN)))
    }

    /// The form of an `i32` scalar.
    pub fn form(&mut self, func: &Func, defs: &Defs, value: Value) -> Lin {
        if let Some(lin) = self.forms.get(&value) {
            return self.normal(lin);
        }
        let lin = self.compute(func, defs, value).filter(|l| self.fits(l));
        let lin = lin.unwrap_or_else(|| Lin::atom(Atom::Value(value)));
        self.log.push(Undo::Form(value));
        self.forms.insert(value, lin.clone());
        self.normal(&lin)
    }

    /// Looks again at a sum that might have wrapped when it was seen first: what was learned since may exclude that.
    pub fn reconsider(&mut self, func: &Func, defs: &Defs, value: Value) {
        let atom = Atom::Value(value);
        if self.forms.get(&value).is_some_and(|lin| lin.as_atom() == Some(atom))
            && let Some(lin) = self.sum_again(func, defs, value, RECONSIDERED)
        {
            self.bound(atom, Some(lin.clone()), Some(lin));
        }
    }

    /// Looks again at a quotient or a remainder of a number that might have been negative when it was seen first.
    pub(super) fn divide_again(&mut self, func: &Func, defs: &Defs, value: Value) {
        let Some(Op::Bin(op @ (BinOp::Div | BinOp::Mod), a, b)) = defs.op(func, value) else { return };
        let atom = Atom::Value(value);
        let form = self.form(func, defs, value);
        if form.as_atom() == Some(atom) && self.lower(&form) < 0 {
            let (x, y) = (self.form(func, defs, *a), self.form(func, defs, *b));
            if self.is_not_negative(&x) {
                self.binary(*op, x, y, atom);
            }
        }
    }

    /// A sum in terms of its operands, as far as none of them wraps.
    fn sum_again(&mut self, func: &Func, defs: &Defs, value: Value, depth: u32) -> Option<Lin> {
        let (op, a, b) = match defs.op(func, value)? {
            Op::Bin(op @ (BinOp::Add | BinOp::Sub), a, b) => (*op, *a, *b),
            _ => return None,
        };
        let mut of = |v: Value| {
            let form = self.form(func, defs, v);
            let again =
                (form.as_atom() == Some(Atom::Value(v)) && depth > 0).then(|| self.sum_again(func, defs, v, depth - 1));
            again.flatten().unwrap_or(form)
        };
        let (x, y) = (of(a), of(b));
        let sum = if op == BinOp::Add { x.add(&y) } else { x.sub(&y) };
        sum.filter(|sum| self.fits(sum))
    }

    /// The exact form, if the value has one; it may not fit. Other values get what bounds their operation gives them.
    fn compute(&mut self, func: &Func, defs: &Defs, value: Value) -> Option<Lin> {
        let Def::Inst(inst, position) = defs.get(value) else { return None };
        let atom = Atom::Value(value);
        match &func.insts[inst].op {
            Op::Loop { .. } | Op::If { .. } => {
                if let Some((low, high)) = self.outcome(func, defs, inst, position as usize) {
                    self.bound(atom, Some(Lin::constant(low.max(MIN))), Some(Lin::constant(high.min(MAX))));
                }
                None
            }
            Op::Const(v) => v.as_i64().map(Lin::constant),
            Op::Un(UnOp::Neg, a) => self.form(func, defs, *a).scale(-1),
            Op::Un(UnOp::Abs, a) => {
                let x = self.form(func, defs, *a);
                let (low, high) = (self.lower(&x), self.upper(&x));
                match (low >= 0, high <= 0) {
                    (true, _) => Some(x),
                    (_, true) => x.scale(-1),
                    // The magnitude of the smallest number wraps.
                    _ if low > MIN => {
                        self.bound(atom, Some(Lin::constant(0)), Some(Lin::constant(high.max(-low).min(MAX))));
                        None
                    }
                    _ => None,
                }
            }
            Op::Bin(op, a, b) => {
                let (x, y) = (self.form(func, defs, *a), self.form(func, defs, *b));
                self.binary(*op, x, y, atom)
            }
            Op::Extent { array, axis } => {
                let form = func.ty(*array).shape.extents()?.get(*axis as usize)?.clone();
                Some(self.extent(&form))
            }
            Op::Select { then, els, .. } => {
                let (x, y) = (self.form(func, defs, *then), self.form(func, defs, *els));
                let (low, high) = (self.lower(&x).min(self.lower(&y)), self.upper(&x).max(self.upper(&y)));
                self.bound(atom, Some(Lin::constant(low.max(MIN))), Some(Lin::constant(high.min(MAX))));
                None
            }
            Op::Convert(a) => {
                let (low, high) = match func.ty(*a).elem {
                    Elem::Bool => (0, 1),
                    Elem::Char | Elem::U8 => (0, 255),
                    Elem::I8 => (-128, 127),
                    Elem::U16 => (0, 65_535),
                    Elem::I16 => (-32_768, 32_767),
                    _ => return None,
                };
                self.bound(atom, Some(Lin::constant(low)), Some(Lin::constant(high)));
                None
            }
            Op::Sel { array, .. } => {
                let Some(Op::ConstArray(data)) = defs.op(func, *array) else { return None };
                let numbers: Vec<i64> = data.values.iter().filter_map(|v| v.as_i64()).collect();
                let (low, high) = (numbers.iter().min()?, numbers.iter().max()?);
                self.bound(atom, Some(Lin::constant(*low)), Some(Lin::constant(*high)));
                None
            }
            Op::Rank(_) => {
                self.bound(atom, Some(Lin::constant(0)), None);
                None
            }
            _ => None,
        }
    }

    fn binary(&mut self, op: BinOp, x: Lin, y: Lin, atom: Atom) -> Option<Lin> {
        match op {
            BinOp::Add => x.add(&y),
            BinOp::Sub => x.sub(&y),
            BinOp::Mul => match (x.as_const(), y.as_const()) {
                (Some(k), _) => y.scale(k),
                (_, Some(k)) => x.scale(k),
                _ => {
                    let (a, b) = ((self.lower(&x), self.upper(&x)), (self.lower(&y), self.upper(&y)));
                    let products =
                        [a.0.checked_mul(b.0), a.0.checked_mul(b.1), a.1.checked_mul(b.0), a.1.checked_mul(b.1)];
                    let products: Vec<i64> = products.into_iter().collect::<Option<_>>()?;
                    let (low, high) = (products.iter().copied().min()?, products.iter().copied().max()?);
                    if low >= MIN && high <= MAX {
                        self.bound(atom, Some(Lin::constant(low)), Some(Lin::constant(high)));
                    }
                    None
                }
            },
            BinOp::Min | BinOp::Max if self.compare(BinOp::Le, &x, &y) == Some(true) => {
                Some(if op == BinOp::Min { x } else { y })
            }
            BinOp::Min | BinOp::Max if self.compare(BinOp::Ge, &x, &y) == Some(true) => {
                Some(if op == BinOp::Min { y } else { x })
            }
            BinOp::Min => {
                let low = self.lower(&x).min(self.lower(&y));
                // How far the constant may lie below the other operand: `min(x, k) >= x - (max x - k)`.
                for (x, k) in [(&x, &y), (&y, &x)] {
                    if let (Some(k), high) = (k.as_const(), self.upper(x))
                        && high <= MAX
                    {
                        self.bound(atom, Some(x.plus(-(high - k).max(0))), None);
                    }
                }
                self.bound(atom, Some(Lin::constant(low.max(MIN))), Some(x));
                self.bound(atom, None, Some(y));
                None
            }
            BinOp::Max => {
                let high = self.upper(&x).max(self.upper(&y));
                // An extent or 1, by which a remainder is taken, is at most the extent and 1.
                for (x, k) in [(&x, &y), (&y, &x)] {
                    if let (Some(k), low) = (k.as_const(), self.lower(x))
                        && low >= MIN
                    {
                        self.bound(atom, None, Some(x.plus((k - low).max(0))));
                    }
                }
                self.bound(atom, Some(x), Some(Lin::constant(high.min(MAX))));
                self.bound(atom, Some(y), None);
                None
            }
            BinOp::Mod | BinOp::AplMod if self.lower(&y) >= 1 && (op == BinOp::AplMod || self.is_not_negative(&x)) => {
                self.bound(atom, Some(Lin::constant(0)), Some(y.plus(-1)));
                if op == BinOp::Mod {
                    self.bound(atom, None, Some(x));
                }
                None
            }
            BinOp::Div => {
                let k = y.as_const().filter(|k| *k >= 1)?;
                if let Some(quotient) = self.divided(&x, k) {
                    return Some(quotient);
                }
                // Quotients are rounded towards zero.
                let [low, high] = [self.lower(&x).max(MIN), self.upper(&x).min(MAX)].map(|end| Lin::constant(end / k));
                self.bound(atom, Some(low), Some(high));
                if !self.is_not_negative(&x) {
                    return None;
                }
                self.bound(atom, Some(Lin::constant(0)), None);
                for most in self.quotients_above(&x, k) {
                    self.bound(atom, None, Some(most));
                }
                let multiple = Lin::atom(atom).scale(k);
                self.fact(multiple.as_ref().and_then(|m| m.sub(&x)));
                self.fact(multiple.and_then(|m| x.plus(1 - k).sub(&m)));
                None
            }
            BinOp::And => {
                let k = y.as_const().filter(|k| *k >= 0)?;
                self.bound(atom, Some(Lin::constant(0)), Some(Lin::constant(k)));
                None
            }
            _ => None,
        }
    }
}
