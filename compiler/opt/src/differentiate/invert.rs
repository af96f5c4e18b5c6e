//! Which iterations reach an element: affine maps from indices of loops to indices of an array, inverted.
//!
//! A loop nest over `x` reads `a[A x + c]`. The adjoint of `a` at `p` is the sum over the `x` with `A x + c = p` within the bounds. Each equation either
//! defines a variable, or becomes a condition on `p`. Variables that no equation defines are *free*: the sum runs over them.
//!
//! All forms are exact integers. Divisions round down.

use crate::facts::{Atom, Lin};
use ravel_wir::Value;

/// A variable of a loop: `lower <= x < upper`, where the bounds may mention earlier variables.
pub struct Var {
    pub value: Value,
    pub lower: Option<Lin>,
    pub upper: Option<Lin>,
}

/// How a variable follows from others.
#[derive(Clone, Debug, PartialEq)]
pub struct Quotient {
    pub of: Lin,
    /// At least 1.
    pub by: i64,
}

/// What must hold besides.
#[derive(Clone, Debug, PartialEq)]
pub enum Cond {
    Zero(Lin),
    /// A multiple of a number above 1.
    Multiple(Quotient),
    NotPositive(Lin),
}

/// A variable that the sum runs over: not below any of these, rounded up, nor above any of those, rounded down.
#[derive(Clone, Debug)]
pub struct Free {
    pub value: Value,
    pub lower: Vec<Quotient>,
    pub upper: Vec<Quotient>,
}

/// The indices that reach `p`.
#[derive(Clone, Debug, Default)]
pub struct Inverse {
    /// Each may mention those before it, free variables, and the target.
    pub defined: Vec<(Value, Quotient)>,
    /// A bound may mention free variables before it.
    pub free: Vec<Free>,
    pub conds: Vec<Cond>,
    /// By axis of the target: bounds as of a free variable.
    pub target: Vec<Free>,
}

impl Inverse {
    /// Makes conditions that give one axis of the target a value bounds of that axis.
    pub fn bound_by_conditions(&mut self, target: &[Value]) {
        let inner: Vec<Value> = self.free.iter().map(|f| f.value).chain(self.defined.iter().map(|(v, _)| *v)).collect();
        let mut conds = Vec::new();
        for cond in std::mem::take(&mut self.conds) {
            let bound = match &cond {
                Cond::Zero(lin) if !inner.iter().any(|v| lin.mentions(Atom::Value(*v))) => {
                    let axes: Vec<usize> = (0..target.len()).filter(|k| factor(lin, target[*k]) != 0).collect();
                    match axes[..] {
                        [axis] if factor(lin, target[axis]).abs() == 1 => {
                            let rest = without(lin, target[axis]);
                            rest.scale(-factor(lin, target[axis])).map(|of| (axis, Quotient { of, by: 1 }))
                        }
                        _ => None,
                    }
                }
                _ => None,
            };
            match bound {
                Some((axis, bound)) => {
                    self.target[axis].lower.push(bound.clone());
                    self.target[axis].upper.push(bound);
                }
                None => conds.push(cond),
            }
        }
        self.conds = conds;
    }
}

/// More constraints are not made: bounds that follow from others only save time.
const MOST_CONSTRAINTS: usize = 96;

/// What holds of the variables besides their bounds.
#[derive(Clone, Default)]
pub struct Given {
    /// Each is at most zero.
    pub constraints: Vec<Lin>,
    /// Each is zero.
    pub equations: Vec<Lin>,
}

/// Solves `rows[k] = target[k]` for the variables; `fresh` makes a name for a variable that is found on the way.
pub fn invert(
    vars: &[Var],
    given: Given,
    rows: &[Lin],
    target: &[Value],
    fresh: &mut dyn FnMut() -> Option<Value>,
) -> Option<Inverse> {
    let mut constraints = given.constraints;
    for var in vars {
        let x = Lin::atom(Atom::Value(var.value));
        if let Some(lower) = &var.lower {
            constraints.push(lower.sub(&x)?);
        }
        if let Some(upper) = &var.upper {
            constraints.push(x.sub(upper)?.plus(1));
        }
    }
    let rows =
        rows.iter().zip(target).map(|(row, p)| row.sub(&Lin::atom(Atom::Value(*p)))).collect::<Option<Vec<_>>>()?;
    let rows = rows.into_iter().chain(given.equations).collect();
    let extents = vars.iter().map(|var| (var.value, extent(var))).collect();
    let unsolved = vars.iter().map(|var| var.value).collect();
    let mut system =
        System { rows, constraints, unsolved, extents, target: target.to_vec(), result: Inverse::default() };
    while system.equation(fresh)? {}
    while system.narrow()? {}
    system.bound_free()?;
    Some(system.result)
}

/// The number of values of a variable, if it is constant.
fn extent(var: &Var) -> i64 {
    let (Some(lower), Some(upper)) = (&var.lower, &var.upper) else { return i64::MAX };
    upper.sub(lower).and_then(|n| n.as_const()).unwrap_or(i64::MAX)
}

struct System {
    /// Each is zero.
    rows: Vec<Lin>,
    /// Each is at most zero.
    constraints: Vec<Lin>,
    /// Variables without a definition, outer loops first.
    unsolved: Vec<Value>,
    extents: Vec<(Value, i64)>,
    target: Vec<Value>,
    result: Inverse,
}

fn factor(lin: &Lin, value: Value) -> i64 {
    lin.terms.iter().find(|(atom, _)| *atom == Atom::Value(value)).map_or(0, |(_, k)| *k)
}

fn without(lin: &Lin, value: Value) -> Lin {
    let mut rest = lin.clone();
    rest.terms.retain(|(atom, _)| *atom != Atom::Value(value));
    rest
}

impl System {
    fn unsolved_in(&self, lin: &Lin) -> Vec<(Value, i64)> {
        self.unsolved.iter().map(|v| (*v, factor(lin, *v))).filter(|(_, k)| *k != 0).collect()
    }

    /// Uses up one equation; false if there is none left, nothing if it is of a kind that is not solved.
    fn equation(&mut self, fresh: &mut dyn FnMut() -> Option<Value>) -> Option<bool> {
        if let Some(at) = self.rows.iter().position(|row| self.unsolved_in(row).is_empty()) {
            let row = self.rows.remove(at);
            if row.as_const() != Some(0) {
                self.result.conds.push(Cond::Zero(row));
            }
            return Some(true);
        }
        if self.rows.is_empty() {
            return Some(false);
        }
        // The longest loop goes first: those that stay are the ones that the sum runs over.
        let mut best: Option<(i64, usize, Value, i64)> = None;
        for (at, row) in self.rows.iter().enumerate() {
            for (v, k) in self.unsolved_in(row).into_iter().filter(|(_, k)| k.abs() == 1) {
                let extent = self.extents.iter().find(|(of, _)| *of == v).map_or(i64::MAX, |(_, n)| *n);
                if best.is_none_or(|(most, ..)| extent > most) {
                    best = Some((extent, at, v, k));
                }
            }
        }
        if let Some((_, at, v, k)) = best {
            let row = self.rows.remove(at);
            self.define(v, Quotient { of: without(&row, v).scale(-k)?, by: 1 })?;
            return Some(true);
        }
        let count = |row: &Lin| self.unsolved_in(row).len();
        if let Some(at) = self.rows.iter().position(|row| count(row) == 1) {
            let row = self.rows.remove(at);
            let (v, k) = self.unsolved_in(&row)[0];
            let of = without(&row, v).scale(-k.signum())?;
            self.result.conds.push(Cond::Multiple(Quotient { of: of.clone(), by: k.abs() }));
            self.define(v, Quotient { of, by: k.abs() })?;
            return Some(true);
        }
        let at = self.rows.iter().position(|row| count(row) == 2)?;
        let row = self.rows.remove(at);
        let [(x, a), (y, b)] = self.unsolved_in(&row)[..] else { return None };
        let r = without(&without(&row, x), y).scale(-1)?;
        let (g, x0, y0) = euclid(a, b);
        if g > 1 {
            self.result.conds.push(Cond::Multiple(Quotient { of: r.clone(), by: g }));
        }
        let t = fresh()?;
        let step = Lin::atom(Atom::Value(t));
        self.unsolved.push(t);
        self.define(x, Quotient { of: r.scale(x0)?.add_scaled(&step, b)?, by: g })?;
        self.define(y, Quotient { of: r.scale(y0)?.add_scaled(&step, -a)?, by: g })?;
        Some(true)
    }

    /// `v` is a quotient without remainder.
    fn define(&mut self, v: Value, by: Quotient) -> Option<()> {
        self.unsolved.retain(|u| *u != v);
        // `k v + rest` has the sign of `k of + by rest`.
        let put = |lin: &Lin| -> Option<Lin> {
            match factor(lin, v) {
                0 => Some(lin.clone()),
                k => without(lin, v).scale(by.by)?.add_scaled(&by.of, k),
            }
        };
        self.rows = self.rows.iter().map(put).collect::<Option<_>>()?;
        self.constraints = self.constraints.iter().map(put).collect::<Option<_>>()?;
        for (_, other) in &mut self.result.defined {
            if factor(&other.of, v) != 0 {
                *other = Quotient { of: put(&other.of)?, by: other.by.checked_mul(by.by)? };
            }
        }
        self.result.defined.push((v, by));
        Some(())
    }

    /// Whether a form mentions nothing but the target and what is known outside.
    fn is_known(&self, lin: &Lin) -> bool {
        self.unsolved_in(lin).is_empty()
    }

    /// `r - s < s v <= r` leaves one value at most: `v` is the quotient rounded down, and the lower bound a condition.
    fn narrow(&mut self) -> Option<bool> {
        for v in self.unsolved.clone() {
            for upper in self.constraints.clone() {
                let s = factor(&upper, v);
                let r = without(&upper, v).scale(-1)?;
                if s < 2 || !self.is_known(&r) {
                    continue;
                }
                // `lower` is `l - s v <= 0`.
                let fits = |lower: &Lin| {
                    factor(lower, v) == -s
                        && r.sub(&without(lower, v)).and_then(|n| n.as_const()).is_some_and(|n| (0..s).contains(&n))
                };
                if self.constraints.iter().any(fits) {
                    self.round_down(v, Quotient { of: r, by: s })?;
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    fn round_down(&mut self, v: Value, by: Quotient) -> Option<()> {
        self.unsolved.retain(|u| *u != v);
        let (r, s) = (&by.of, by.by);
        for lin in std::mem::take(&mut self.constraints) {
            let rest = without(&lin, v);
            match factor(&lin, v) {
                0 => self.constraints.push(lin),
                // v <= -rest
                1 => self.constraints.push(r.add_scaled(&rest, s)?.plus(1 - s)),
                // v >= rest
                -1 => self.constraints.push(rest.scale(s)?.sub(r)?),
                k if k == s && rest.add(r)?.as_const().is_some_and(|n| n <= 0) => {}
                k if k == -s && rest.sub(r)?.as_const().is_some_and(|n| n <= 1 - s) => {}
                _ => self.result.conds.push(Cond::NotPositive(lin)),
            }
        }
        // Definitions that mention it come behind it.
        self.result.defined.insert(0, (v, by));
        Some(())
    }

    /// Bounds of the free variables from the last to the first, each freed of those behind it, and then of the target.
    fn bound_free(&mut self) -> Option<()> {
        self.tidy();
        let mut free = Vec::new();
        for v in self.unsolved.clone().into_iter().rev() {
            let (mine, others) = std::mem::take(&mut self.constraints).into_iter().partition(|c| factor(c, v) != 0);
            self.constraints = others;
            let mine: Vec<Lin> = mine;
            let bounds = bounds_of(v, &mine)?;
            if bounds.lower.is_empty() || bounds.upper.is_empty() {
                return None;
            }
            for lower in &bounds.lower {
                for upper in &bounds.upper {
                    // lower / k <= upper / m
                    let follows = lower.of.scale(upper.by)?.sub(&upper.of.scale(lower.by)?)?;
                    // What says of the loops only that they run is left to them.
                    let tells = self.target.iter().chain(&self.unsolved).any(|t| *t != v && factor(&follows, *t) != 0);
                    if tells && self.constraints.len() < MOST_CONSTRAINTS {
                        self.constraints.push(follows);
                    }
                }
            }
            self.tidy();
            free.push(bounds);
        }
        free.reverse();
        self.result.free = free;
        for &p in &self.target.clone() {
            let is_other = |lin: &Lin| {
                let quotient = |v: &Value| factor(lin, *v) != 0;
                let mut names = self.target.iter().chain(self.result.defined.iter().map(|(v, _)| v));
                names.any(|v| *v != p && quotient(v))
            };
            let all = std::mem::take(&mut self.constraints);
            let (mine, others): (Vec<Lin>, Vec<Lin>) = all.into_iter().partition(|c| factor(c, p) != 0 && !is_other(c));
            self.constraints = others;
            self.result.target.push(bounds_of(p, &mine)?);
        }
        let rest = std::mem::take(&mut self.constraints);
        self.result.conds.extend(rest.into_iter().map(Cond::NotPositive));
        Some(())
    }

    /// Drops what always holds, and what is there twice or in a weaker form.
    fn tidy(&mut self) {
        let mut kept: Vec<Lin> = Vec::new();
        for lin in std::mem::take(&mut self.constraints) {
            if lin.as_const().is_some_and(|c| c <= 0) {
                continue;
            }
            match kept.iter_mut().find(|other| other.terms == lin.terms) {
                Some(other) => other.c = other.c.max(lin.c),
                None => kept.push(lin),
            }
        }
        self.constraints = kept;
    }
}

/// The bounds of a variable by constraints that all mention it.
fn bounds_of(value: Value, constraints: &[Lin]) -> Option<Free> {
    let mut bounds = Free { value, lower: Vec::new(), upper: Vec::new() };
    for lin in constraints {
        let (k, rest) = (factor(lin, value), without(lin, value));
        match k > 0 {
            true => bounds.upper.push(Quotient { of: rest.scale(-1)?, by: k }),
            false => bounds.lower.push(Quotient { of: rest, by: -k }),
        }
    }
    Some(bounds)
}

/// `g = gcd(a, b) > 0` and `x`, `y` with `a x + b y = g`.
fn euclid(a: i64, b: i64) -> (i64, i64, i64) {
    let (mut r, mut x, mut y) = ((a, b), (1, 0), (0, 1));
    while r.1 != 0 {
        let q = r.0 / r.1;
        r = (r.1, r.0 - q * r.1);
        x = (x.1, x.0 - q * x.1);
        y = (y.1, y.0 - q * y.1);
    }
    if r.0 < 0 { (-r.0, -x.0, -y.0) } else { (r.0, x.0, y.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;
    use std::collections::{BTreeMap, BTreeSet};

    /// Numbers that are the same in every run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((self.0 >> 33) % n as u64) as i64
        }
    }

    type Point = BTreeMap<Value, i64>;

    fn eval(lin: &Lin, at: &Point) -> i64 {
        let term = |(atom, k): &(Atom, i64)| match atom {
            Atom::Value(v) => k * at[v],
            _ => unreachable!("only values"),
        };
        lin.c + lin.terms.iter().map(term).sum::<i64>()
    }

    fn bounds(free: &Free, at: &Point) -> (i64, i64) {
        let lower = free.lower.iter().map(|q| -(-eval(&q.of, at)).div_euclid(q.by)).max();
        let upper = free.upper.iter().map(|q| eval(&q.of, at).div_euclid(q.by)).min();
        (lower.unwrap_or(i64::MIN), upper.unwrap_or(i64::MAX))
    }

    fn holds(cond: &Cond, at: &Point) -> bool {
        match cond {
            Cond::Zero(lin) => eval(lin, at) == 0,
            Cond::Multiple(q) => eval(&q.of, at).rem_euclid(q.by) == 0,
            Cond::NotPositive(lin) => eval(lin, at) <= 0,
        }
    }

    /// All solutions at a point of the target, and how many points of free variables were visited.
    fn visit(inverse: &Inverse, vars: &[Value], at: &mut Point, depth: usize, found: &mut Vec<Vec<i64>>) {
        if let Some(free) = inverse.free.get(depth) {
            let (lower, upper) = bounds(free, at);
            for x in lower..=upper {
                at.insert(free.value, x);
                visit(inverse, vars, at, depth + 1, found);
            }
            at.remove(&free.value);
            return;
        }
        let before = at.clone();
        // In front of the conditions: they may mention quotients.
        for (v, q) in &inverse.defined {
            at.insert(*v, eval(&q.of, at).div_euclid(q.by));
        }
        if inverse.conds.iter().all(|c| holds(c, at)) {
            found.push(vars.iter().map(|v| at[v]).collect());
        }
        *at = before;
    }

    /// A random map with up to 4 variables, 3 axes, coefficients up to 3, triangular bounds.
    fn check(seed: u64) -> Option<bool> {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for _ in 0..4 {
            random.below(2);
        }
        let (n, axes) = (1 + random.below(4) as usize, 1 + random.below(3) as usize);
        let names: Vec<Value> = (0..n).map(Value::new).collect();
        let target: Vec<Value> = (10..10 + axes).map(Value::new).collect();
        let mut vars = Vec::new();
        for k in 0..n {
            let lower = random.below(3) - 1;
            let mut upper = Lin::constant(lower + 1 + random.below(5));
            if k > 0 && random.below(4) == 0 {
                upper = Lin::atom(Atom::Value(names[random.below(k as i64) as usize])).plus(random.below(3));
            }
            vars.push(Var { value: names[k], lower: Some(Lin::constant(lower)), upper: Some(upper) });
        }
        let mut rows = Vec::new();
        for _ in 0..axes {
            let mut row = Lin::constant(random.below(5) - 2);
            for name in &names {
                if random.below(2) == 0 {
                    row = row.add_scaled(&Lin::atom(Atom::Value(*name)), random.below(7) - 3).expect("small");
                }
            }
            rows.push(row);
        }
        let mut next = 100;
        let mut fresh = || {
            next += 1;
            Some(Value::new(next))
        };
        let inverse = invert(&vars, Given::default(), &rows, &target, &mut fresh)?;
        // By brute force.
        let mut sites: BTreeMap<Vec<i64>, BTreeSet<Vec<i64>>> = BTreeMap::new();
        let mut stack = vec![Vec::<i64>::new()];
        while let Some(point) = stack.pop() {
            let at: Point = names.iter().copied().zip(point.iter().copied()).collect();
            if point.len() == n {
                let h = rows.iter().map(|row| eval(row, &at)).collect();
                sites.entry(h).or_default().insert(point);
                continue;
            }
            let var = &vars[point.len()];
            let (lower, upper) = (eval(var.lower.as_ref()?, &at), eval(var.upper.as_ref()?, &at));
            stack.extend((lower..upper).map(|x| point.iter().copied().chain([x]).collect::<Vec<_>>()));
        }
        // Everywhere around, targets that nothing reaches included.
        let low: Vec<i64> = (0..axes).map(|k| sites.keys().map(|h| h[k]).min().unwrap_or(0) - 2).collect();
        let high: Vec<i64> = (0..axes).map(|k| sites.keys().map(|h| h[k]).max().unwrap_or(0) + 2).collect();
        let mut points: Vec<Vec<i64>> = Vec::new();
        for _ in 0..12 {
            points.push((0..axes).map(|k| low[k] + random.below(high[k] - low[k] + 1)).collect());
        }
        let every = 1 + sites.len() / 12;
        points.extend(sites.keys().step_by(every).cloned());
        for p in points {
            let mut at: Point = target.iter().copied().zip(p.iter().copied()).collect();
            let within = inverse.target.iter().all(|free| {
                let (lower, upper) = bounds(free, &at);
                (lower..=upper).contains(&at[&free.value])
            });
            let mut found = Vec::new();
            if within {
                visit(&inverse, &names, &mut at, 0, &mut found);
            }
            let set: BTreeSet<Vec<i64>> = found.iter().cloned().collect();
            assert_eq!(set.len(), found.len(), "seed {seed}: a solution twice");
            assert_eq!(set, sites.get(&p).cloned().unwrap_or_default(), "seed {seed} at {p:?}: {inverse:?}");
        }
        Some(true)
    }

    #[test]
    fn maps_are_inverted_as_brute_force_does() {
        let solved = (0..100_000).filter(|seed| check(*seed).is_some()).count();
        assert!(solved > 95_000, "only {solved} of 100,000 maps are inverted");
    }

    #[test]
    fn windows_that_do_not_overlap_need_no_sum() {
        let [i, o, p] = [0, 1, 2].map(Value::new);
        let var = |value, n| Var { value, lower: Some(Lin::constant(0)), upper: Some(Lin::constant(n)) };
        let row = Lin::constant(0).add_scaled(&Lin::atom(Atom::Value(i)), 2).expect("small");
        let row = row.add(&Lin::atom(Atom::Value(o))).expect("small");
        let inverse = invert(&[var(i, 12), var(o, 2)], Given::default(), &[row], &[p], &mut || Some(Value::new(9)))
            .expect("solved");
        assert!(inverse.free.is_empty() && inverse.conds.is_empty(), "{inverse:?}");
        assert_eq!(inverse.defined[0], (i, Quotient { of: Lin::atom(Atom::Value(p)), by: 2 }));
    }
}
