//! Numbers with infinitesimals.
//!
//! Each `derive` that is at work has a *level*, one above that of the `derive` around it. Its infinitesimals, one per *direction*, have products of zero with
//! each other, but not with those of other levels: a number of level `l` is `p + sum of t_k * e_k`, where `p` and all `t_k` are numbers of lower levels. So
//! derivatives of derivatives cannot be confused.
//!
//! What has no part in a direction is constant there. That is more than a part of 0: nothing multiplies it, not even an infinite slope.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

/// A real number, or one with infinitesimals.
#[derive(Clone, Debug)]
pub enum Num {
    Real(f64),
    Dual(Arc<Dual>),
}

/// A number of a level above 0.
#[derive(Clone, Debug)]
pub struct Dual {
    level: u32,
    primal: Num,
    /// Directions in ascending order, at least one.
    parts: Vec<(u32, Num)>,
}

impl Num {
    /// `primal` is of a lower level, as are the parts, whose directions ascend.
    pub fn new(level: u32, primal: Num, parts: Vec<(u32, Num)>) -> Num {
        if parts.is_empty() { primal } else { Num::Dual(Arc::new(Dual { level, primal, parts })) }
    }

    pub fn level(&self) -> u32 {
        match self {
            Num::Real(_) => 0,
            Num::Dual(dual) => dual.level,
        }
    }

    /// The number without any infinitesimal.
    pub fn real(&self) -> f64 {
        match self {
            Num::Real(real) => *real,
            Num::Dual(dual) => dual.primal.real(),
        }
    }

    /// The same infinitesimals around another real number.
    pub fn with_real(mut self, real: f64) -> Num {
        self.set_real(real);
        self
    }

    fn set_real(&mut self, to: f64) {
        match self {
            Num::Real(real) => *real = to,
            Num::Dual(dual) if dual.primal.real().to_bits() == to.to_bits() => {}
            Num::Dual(dual) => Arc::make_mut(dual).primal.set_real(to),
        }
    }

    /// What is of a lower level, and the parts of this one. The number's own level is not above it.
    pub fn split(&self, level: u32) -> (&Num, &[(u32, Num)]) {
        match self {
            Num::Dual(dual) if dual.level == level => (&dual.primal, &dual.parts),
            _ => (self, &[]),
        }
    }

    /// A sum of parts: `slope` times each of `parts`, or nothing where there is no slope.
    fn scaled(parts: &[(u32, Num)], slope: Option<Num>) -> Vec<(u32, Num)> {
        let Some(slope) = slope else { return Vec::new() };
        parts.iter().map(|(direction, part)| (*direction, &slope * part)).collect()
    }

    /// A function of one number, from its value and its slope at what is of a lower level. Without a slope it is constant around there.
    pub fn map(&self, value: impl Fn(&Num) -> Num, slope: impl Fn(&Num, &Num) -> Option<Num>) -> Num {
        let Num::Dual(dual) = self else { return value(self) };
        let primal = value(&dual.primal);
        let parts = Num::scaled(&dual.parts, slope(&dual.primal, &primal));
        Num::new(dual.level, primal, parts)
    }

    /// The same of two numbers, of which one at least has infinitesimals.
    pub fn zip(
        a: &Num,
        b: &Num,
        value: impl Fn(&Num, &Num) -> Num,
        slopes: [&dyn Fn(&Num, &Num, &Num) -> Option<Num>; 2],
    ) -> Num {
        let level = a.level().max(b.level());
        let ((a, from_a), (b, from_b)) = (a.split(level), b.split(level));
        let primal = value(a, b);
        let of = |parts: &[(u32, Num)], slope: &dyn Fn(&Num, &Num, &Num) -> Option<Num>| match parts {
            [] => Vec::new(),
            _ => Num::scaled(parts, slope(a, b, &primal)),
        };
        let parts = merge(of(from_a, slopes[0]), of(from_b, slopes[1]));
        Num::new(level, primal, parts)
    }

    /// Adds to a number. Sums of many directions grow in place.
    pub fn accumulate(&mut self, other: &Num) {
        if let Num::Dual(sum) = &mut *self
            && sum.level >= other.level()
            && let (primal, parts) = other.split(sum.level)
            && parts.len() * 8 < sum.parts.len()
            && let Some(sum) = Arc::get_mut(sum)
        {
            sum.primal = &sum.primal + primal;
            for (direction, part) in parts {
                match sum.parts.binary_search_by_key(direction, |(d, _)| *d) {
                    Ok(at) => sum.parts[at].1 = &sum.parts[at].1 + part,
                    Err(at) => sum.parts.insert(at, (*direction, part.clone())),
                }
            }
            return;
        }
        *self = &*self + other;
    }
}

/// Adds parts of equal directions.
fn merge(a: Vec<(u32, Num)>, b: Vec<(u32, Num)>) -> Vec<(u32, Num)> {
    if b.is_empty() {
        return a;
    }
    if a.is_empty() {
        return b;
    }
    let mut parts = Vec::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    while let (Some((left, _)), Some((right, _))) = (a.peek(), b.peek()) {
        match left.cmp(right) {
            Ordering::Less => parts.extend(a.next()),
            Ordering::Greater => parts.extend(b.next()),
            Ordering::Equal => {
                if let (Some((direction, left)), Some((_, right))) = (a.next(), b.next()) {
                    parts.push((direction, &left + &right));
                }
            }
        }
    }
    parts.extend(a);
    parts.extend(b);
    parts
}

impl Add for &Num {
    type Output = Num;

    fn add(self, other: &Num) -> Num {
        match (self, other) {
            (Num::Real(a), Num::Real(b)) => Num::Real(a + b),
            _ => {
                Num::zip(self, other, |a, b| a + b, [&|_, _, _| Some(Num::Real(1.0)), &|_, _, _| Some(Num::Real(1.0))])
            }
        }
    }
}

impl Sub for &Num {
    type Output = Num;

    fn sub(self, other: &Num) -> Num {
        match (self, other) {
            (Num::Real(a), Num::Real(b)) => Num::Real(a - b),
            _ => {
                Num::zip(self, other, |a, b| a - b, [&|_, _, _| Some(Num::Real(1.0)), &|_, _, _| Some(Num::Real(-1.0))])
            }
        }
    }
}

impl Mul for &Num {
    type Output = Num;

    fn mul(self, other: &Num) -> Num {
        match (self, other) {
            (Num::Real(a), Num::Real(b)) => Num::Real(a * b),
            (Num::Real(1.0), _) => other.clone(),
            (_, Num::Real(1.0)) => self.clone(),
            _ => Num::zip(self, other, |a, b| a * b, [&|_, b, _| Some(b.clone()), &|a, _, _| Some(a.clone())]),
        }
    }
}

impl Div for &Num {
    type Output = Num;

    fn div(self, other: &Num) -> Num {
        match (self, other) {
            (Num::Real(a), Num::Real(b)) => Num::Real(a / b),
            _ => {
                let slopes: [&dyn Fn(&Num, &Num, &Num) -> Option<Num>; 2] =
                    [&|_, b, _| Some(&Num::Real(1.0) / b), &|_, b, y| Some(&-y / b)];
                Num::zip(self, other, |a, b| a / b, slopes)
            }
        }
    }
}

impl Neg for &Num {
    type Output = Num;

    fn neg(self) -> Num {
        match self {
            Num::Real(a) => Num::Real(-a),
            Num::Dual(_) => self.map(|x| -x, |_, _| Some(Num::Real(-1.0))),
        }
    }
}
