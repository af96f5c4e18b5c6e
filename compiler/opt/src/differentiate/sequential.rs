//! With-loops whose order matters become loops, for which both modes have rules.
//!
//! Folds by a function of the program, folds of arrays that are no sums, and with-loops that run in order:
//!
//! ```text
//!    with { part [lo] <= [%i] < [hi] { %c = ..  yield %c } } fold { (%a, %c) .. yield %n } neutral %z
//! => if lo < hi { loop (%a = %z, %k = 0) { %i = lo + %k  %c = ..  %n = ..  yield %k + 1 < hi - lo, %n, %k + 1 } } else { %z }
//! ```

use crate::differentiate::state::{Result, State};
use crate::edit::{Copier, Renames, insts_where, replace_inst};
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Combine, Frame, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

impl State<'_> {
    /// Makes loops of what is varied and needs them, in a region and inside of it.
    pub fn put_in_order(&mut self, region: Region) -> Result<()> {
        while let Some((home, inst, ops)) = self.next_in_order(region) {
            self.span = self.func.insts[inst].span;
            self.put_one(home, inst, &ops)?;
            // Copies have values of their own.
            self.spread(region);
        }
        Ok(())
    }

    /// A with-loop with operators that must become loops.
    fn next_in_order(&self, region: Region) -> Option<(Region, Inst, Vec<usize>)> {
        for (home, inst) in insts_where(self.func, region, |op| matches!(op, Op::With(_))) {
            let Op::With(with) = &self.func.insts[inst].op else { continue };
            let results = &self.func.insts[inst].results;
            let any = results.iter().any(|v| self.is_varied(*v));
            let ops: Vec<usize> = match with.ordered {
                true if any => (0..results.len()).collect(),
                true => Vec::new(),
                false => (0..results.len())
                    .filter(|k| self.is_varied(results[*k]) && self.has_order(with, *k, results[*k]))
                    .collect(),
            };
            if !ops.is_empty() {
                return Some((home, inst, ops));
            }
        }
        None
    }

    fn has_order(&self, with: &With, k: usize, result: Value) -> bool {
        match &with.ops[k] {
            WithOp::Fold { combine: Combine::Region(_), .. } => true,
            WithOp::Fold { combine: Combine::Op(BinOp::Add), .. } => false,
            WithOp::Fold { combine: Combine::Op(BinOp::Min | BinOp::Max | BinOp::Mul), .. } => {
                !self.func.ty(result).is_scalar()
            }
            WithOp::Fold { .. } => true,
            _ => false,
        }
    }

    /// Takes operators out of a with-loop and makes loops of them, in front of it.
    fn put_one(&mut self, home: Region, inst: Inst, ops: &[usize]) -> Result<()> {
        let Op::With(with) = self.func.insts[inst].op.clone() else { return Ok(()) };
        let results = self.func.insts[inst].results.clone();
        let front = self.branch();
        let mut totals = Vec::new();
        for &k in ops {
            totals.push(self.begin(front, &with.ops[k], results[k])?);
        }
        for part in &with.parts {
            totals = self.part_in_order(front, &with, part, ops, totals)?;
        }
        let mut renames = Renames::default();
        for (k, total) in ops.iter().zip(&totals) {
            renames.set(results[*k], *total);
        }
        let mut insts = std::mem::take(&mut self.func.regions[front].insts);
        if ops.len() < results.len() {
            // What is left stays as it is.
            let is_left = |k: &usize| !ops.contains(k);
            let left: Vec<usize> = (0..results.len()).filter(is_left).collect();
            let mut rest = with.clone();
            rest.ops = left.iter().map(|k| with.ops[*k].clone()).collect();
            for part in &rest.parts {
                let yields = self.func.regions[part.body].yields.clone();
                self.func.regions[part.body].yields = left.iter().map(|k| yields[*k]).collect();
            }
            self.func.insts[inst].op = Op::With(rest);
            self.func.insts[inst].results = left.iter().map(|k| results[*k]).collect();
            insts.push(inst);
        }
        replace_inst(self.func, home, inst, insts);
        renames.apply(self.func);
        self.defs = crate::edit::Defs::new(self.func);
        Ok(())
    }

    /// What an operator's result is before the first index.
    fn begin(&mut self, at: Region, op: &WithOp, result: Value) -> Result<Value> {
        Ok(match op {
            WithOp::Fold { neutral, .. } => *neutral,
            WithOp::Modarray { array } => *array,
            WithOp::Genarray { frame: Frame::Known(_), cell: None, default: None }
            | WithOp::Genarray { frame: Frame::Dyn(_), .. } => {
                return self.refuse(
                    "a with-loop that runs in order and whose cells have no known shape has no derivative yet",
                );
            }
            WithOp::Genarray { frame, cell, default } => {
                let op = WithOp::Genarray { frame: frame.clone(), cell: cell.clone(), default: *default };
                let ty = self.ty(result);
                self.emit(at, Op::With(With { parts: Vec::new(), ops: vec![op], ordered: false }), ty)
            }
        })
    }

    fn part_in_order(
        &mut self,
        at: Region,
        with: &With,
        part: &Part,
        ops: &[usize],
        totals: Vec<Value>,
    ) -> Result<Vec<Value>> {
        let Generator::Known { lower, upper, step, width } = part.generator.clone() else {
            return self.refuse("a with-loop of unknown rank that runs in order has no derivative yet");
        };
        let int = Ty::scalar(Elem::I32);
        let (zero, one) = (self.int(at, 0), self.int(at, 1));
        // Places by axis.
        let mut counts = Vec::new();
        for axis in 0..lower.len() {
            let n = self.bin(at, BinOp::Sub, upper[axis], lower[axis]);
            let n = self.bin(at, BinOp::Max, n, zero);
            counts.push(match (&step, &width) {
                (None, _) => n,
                (Some(step), width) => {
                    let wide = width.as_ref().map_or(one, |w| w[axis]);
                    let whole = self.bin(at, BinOp::Div, n, step[axis]);
                    let rest = self.bin(at, BinOp::Mod, n, step[axis]);
                    let rest = self.bin(at, BinOp::Min, rest, wide);
                    let whole = self.bin(at, BinOp::Mul, whole, wide);
                    self.bin(at, BinOp::Add, whole, rest)
                }
            });
        }
        let mut total = one;
        for n in &counts {
            total = self.bin(at, BinOp::Mul, total, *n);
        }
        let any = self.bin(at, BinOp::Gt, total, zero);
        let (then, els) = (self.branch(), self.branch());
        self.func.regions[els].yields = totals.clone();
        // One iteration.
        let body = self.func.regions.push(RegionData::default());
        let types: Vec<Ty> = ops.iter().zip(&totals).map(|(_, v)| self.ty(*v)).collect();
        let params: Vec<Value> = types.iter().map(|ty| self.func.add_param(body, ty.clone())).collect();
        let k = self.func.add_param(body, int.clone());
        self.settle(body);
        let mut index = Vec::new();
        let mut rest = k;
        for axis in (0..lower.len()).rev() {
            let place = match axis {
                0 => rest,
                _ => self.bin(body, BinOp::Mod, rest, counts[axis]),
            };
            if axis > 0 {
                rest = self.bin(body, BinOp::Div, rest, counts[axis]);
            }
            let far = match (&step, &width) {
                (None, _) => place,
                (Some(step), None) => self.bin(body, BinOp::Mul, place, step[axis]),
                (Some(step), Some(width)) => {
                    let whole = self.bin(body, BinOp::Div, place, width[axis]);
                    let within = self.bin(body, BinOp::Mod, place, width[axis]);
                    let whole = self.bin(body, BinOp::Mul, whole, step[axis]);
                    self.bin(body, BinOp::Add, whole, within)
                }
            };
            index.push(self.bin(body, BinOp::Add, lower[axis], far));
        }
        index.reverse();
        let mut copier = Copier::within(self.func, part.body);
        copier.values.extend(self.func.regions[part.body].params.clone().into_iter().zip(index.iter().copied()));
        let mut insts = Vec::new();
        let cells = copier.splice(self.func, part.body, &mut insts);
        for inst in insts {
            self.place(body, inst);
        }
        let mut next = Vec::new();
        for (&op, &total) in ops.iter().zip(&params) {
            let cell = cells[op];
            next.push(match &with.ops[op] {
                // An early end is no property of the derivative.
                WithOp::Fold { combine, .. } => self.combined(body, combine, total, cell),
                _ => {
                    let ty = self.ty(total);
                    self.emit(body, Op::Update { array: total, index: index.clone(), value: cell }, ty)
                }
            });
        }
        let one = self.int(body, 1);
        let after = self.bin(body, BinOp::Add, k, one);
        let more = self.bin(body, BinOp::Lt, after, total);
        self.func.regions[body].yields = [more].into_iter().chain(next).chain([after]).collect();
        let start = self.int(then, 0);
        let init = totals.iter().copied().chain([start]).collect();
        let made = self.emits(then, Op::Loop { init, body }, types.iter().cloned().chain([int]).collect());
        self.func.regions[then].yields = made[..types.len()].to_vec();
        Ok(self.emits(at, Op::If { cond: any, then, els }, types))
    }

    /// The next value of a fold. An extreme is the first one.
    fn combined(&mut self, at: Region, combine: &Combine, total: Value, cell: Value) -> Value {
        match combine {
            Combine::Region(region) => {
                let mut copier = Copier::within(self.func, *region);
                copier.values.extend(self.func.regions[*region].params.clone().into_iter().zip([total, cell]));
                let mut insts = Vec::new();
                let next = copier.splice(self.func, *region, &mut insts)[0];
                for inst in insts {
                    self.place(at, inst);
                }
                next
            }
            Combine::Op(op) => {
                let op = *op;
                self.map(at, &[total, cell], |s, at, x| match op {
                    BinOp::Min | BinOp::Max => {
                        let better = s.bin(at, if op == BinOp::Min { BinOp::Le } else { BinOp::Ge }, x[0], x[1]);
                        s.select(at, better, x[0], x[1])
                    }
                    _ => s.bin(at, op, x[0], x[1]),
                })
            }
        }
    }
}
