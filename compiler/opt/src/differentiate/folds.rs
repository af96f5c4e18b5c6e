//! Folds that are no sums: how much of its cells' tangents a result has.
//!
//! A result by `min` or `max` has the derivative of the first cell in row-major order that equals it, and none if the neutral element does. A product has
//! that of the others: the result over the cell where nothing is zero, the product of the others at the only zero, and zero with more of them.

use crate::differentiate::scalar::Step;
use crate::differentiate::state::{Result, State};
use ravel_types::{BinOp, Ty, UnOp};
use ravel_wir::{Combine, Generator, Op, Part, Region, Value, With, WithOp};

/// What is known of a fold before its cells are looked at again.
#[derive(Clone, Copy, Debug)]
pub enum Fold {
    Sum,
    /// The number of the first cell that is the result, in row-major order and partition after partition; -1 for the neutral element.
    Extreme {
        place: Value,
    },
    Product {
        result: Value,
        zeros: Value,
        others: Value,
    },
}

impl State<'_> {
    /// Looks at the cells of a fold by an operation on scalars, where that is needed.
    pub fn look_at_fold(&mut self, at: Region, (with, k): (&With, usize), result: Value) -> Result<Option<Fold>> {
        let WithOp::Fold { neutral, combine: Combine::Op(op), .. } = with.ops[k] else { return Ok(None) };
        let is_known = with.parts.iter().all(|part| matches!(part.generator, Generator::Known { .. }));
        if op == BinOp::Add {
            return Ok(Some(Fold::Sum));
        }
        if !is_known || !self.ty(result).is_scalar() || with.ordered {
            return Ok(None);
        }
        match op {
            BinOp::Min | BinOp::Max => {
                let none = self.int(at, i32::MAX);
                let mut place = none;
                for (number, part) in with.parts.iter().enumerate() {
                    let (sizes, start) = (self.sizes(at, part), self.start_of(at, with, number));
                    let found = self.again(at, part, k, none, BinOp::Min, |s, body, cell, index| {
                        let number = s.number(body, part, &sizes, index, start);
                        let equal = s.bin(body, BinOp::Eq, cell, result);
                        let (x, y) = (s.un(body, UnOp::IsNan, cell), s.un(body, UnOp::IsNan, result));
                        let both = s.bin(body, BinOp::And, x, y);
                        let is_it = s.bin(body, BinOp::Or, equal, both);
                        s.select(body, is_it, number, none)
                    });
                    place = self.bin(at, BinOp::Min, place, found);
                }
                let is_neutral = self.bin(at, BinOp::Eq, neutral, result);
                let minus = self.int(at, -1);
                let place = self.select(at, is_neutral, minus, place);
                Ok(Some(Fold::Extreme { place }))
            }
            BinOp::Mul => {
                let elem = self.ty(result).elem;
                let (nothing, zero, one) = (self.int(at, 0), self.real(at, elem, 0.0), self.real(at, elem, 1.0));
                let is_zero = self.bin(at, BinOp::Eq, neutral, zero);
                let unit = self.int(at, 1);
                let mut zeros = self.select(at, is_zero, unit, nothing);
                let mut others = self.select(at, is_zero, one, neutral);
                for part in &with.parts {
                    let more = self.again(at, part, k, nothing, BinOp::Add, |s, body, cell, _| {
                        let is_zero = s.bin(body, BinOp::Eq, cell, zero);
                        s.select(body, is_zero, unit, nothing)
                    });
                    zeros = self.bin(at, BinOp::Add, zeros, more);
                    let more = self.again(at, part, k, one, BinOp::Mul, |s, body, cell, _| {
                        let is_zero = s.bin(body, BinOp::Eq, cell, zero);
                        s.select(body, is_zero, one, cell)
                    });
                    others = self.bin(at, BinOp::Mul, others, more);
                }
                Ok(Some(Fold::Product { result, zeros, others }))
            }
            _ => Ok(None),
        }
    }

    /// The partial of a fold by a cell that a body has computed; `number` counts the cells of partitions before.
    pub fn of_cell(
        &mut self,
        body: Region,
        fold: Fold,
        cell: Value,
        number: impl FnOnce(&mut Self) -> Value,
    ) -> Vec<Step> {
        match fold {
            Fold::Sum => Vec::new(),
            Fold::Extreme { place } => {
                let number = number(self);
                vec![Step::Where(self.bin(body, BinOp::Eq, number, place))]
            }
            Fold::Product { result, zeros, others } => self.of_factor(body, cell, result, zeros, others),
        }
    }

    /// The partial by the neutral element.
    pub fn of_neutral(&mut self, at: Region, fold: Fold, neutral: Value) -> Vec<Step> {
        match fold {
            Fold::Sum => Vec::new(),
            Fold::Extreme { place } => {
                let minus = self.int(at, -1);
                vec![Step::Where(self.bin(at, BinOp::Eq, place, minus))]
            }
            Fold::Product { result, zeros, others } => self.of_factor(at, neutral, result, zeros, others),
        }
    }

    fn of_factor(&mut self, at: Region, factor: Value, result: Value, zeros: Value, others: Value) -> Vec<Step> {
        let elem = self.ty(result).elem;
        let (zero, one) = (self.real(at, elem, 0.0), self.real(at, elem, 1.0));
        let (nothing, unit) = (self.int(at, 0), self.int(at, 1));
        let is_zero = self.bin(at, BinOp::Eq, factor, zero);
        let divisor = self.select(at, is_zero, one, factor);
        let rest = self.bin(at, BinOp::Div, result, divisor);
        let none = self.bin(at, BinOp::Eq, zeros, nothing);
        let single = self.bin(at, BinOp::Eq, zeros, unit);
        let only = self.bin(at, BinOp::And, single, is_zero);
        let share = self.select(at, none, rest, others);
        vec![Step::Times(share), Step::Where(self.bin(at, BinOp::Or, none, only))]
    }

    /// A fold over the indices of a partition of something made of the cells that one of its operators gets.
    fn again(
        &mut self,
        at: Region,
        part: &Part,
        k: usize,
        neutral: Value,
        op: BinOp,
        element: impl FnOnce(&mut Self, Region, Value, &[Value]) -> Value,
    ) -> Value {
        let (body, _) = self.copy(part.body);
        let (cell, index) = (self.func.regions[body].yields[k], self.func.regions[body].params.clone());
        let element = element(self, body, cell, &index);
        self.func.regions[body].yields = vec![element];
        let ty = Ty::scalar(self.func.ty(element).elem);
        let op = WithOp::Fold { neutral, combine: Combine::Op(op), stop: None };
        let parts = vec![Part { generator: part.generator.clone(), body }];
        self.emit(at, Op::With(With { parts, ops: vec![op], ordered: false }), ty)
    }

    /// How many places a partition's box has by axis, those between its steps included.
    pub fn sizes(&mut self, at: Region, part: &Part) -> Vec<Value> {
        let Generator::Known { lower, upper, .. } = part.generator.clone() else { return Vec::new() };
        let zero = self.int(at, 0);
        let mut sizes = Vec::new();
        for (l, u) in lower.into_iter().zip(upper) {
            let n = self.bin(at, BinOp::Sub, u, l);
            sizes.push(self.bin(at, BinOp::Max, n, zero));
        }
        sizes
    }

    /// The number of an index in a partition's box, in row-major order, counted from a start.
    pub fn number(&mut self, body: Region, part: &Part, sizes: &[Value], index: &[Value], start: Value) -> Value {
        let Generator::Known { lower, .. } = part.generator.clone() else { return start };
        let mut number = None;
        for axis in 0..index.len() {
            let at = self.bin(body, BinOp::Sub, index[axis], lower[axis]);
            number = Some(match number {
                Some(n) => {
                    let whole = self.bin(body, BinOp::Mul, n, sizes[axis]);
                    self.bin(body, BinOp::Add, whole, at)
                }
                None => at,
            });
        }
        match number {
            Some(n) => self.bin(body, BinOp::Add, start, n),
            None => start,
        }
    }

    /// Where the numbers of a partition's cells begin.
    pub fn start_of(&mut self, at: Region, with: &With, number: usize) -> Value {
        let mut start = self.int(at, 0);
        for part in &with.parts[..number] {
            let mut count = None;
            for size in self.sizes(at, part) {
                count = Some(count.map_or(size, |n| self.bin(at, BinOp::Mul, n, size)));
            }
            if let Some(count) = count {
                start = self.bin(at, BinOp::Add, start, count);
            }
        }
        start
    }
}
