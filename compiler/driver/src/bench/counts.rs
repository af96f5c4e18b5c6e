//! How many operations on reals a function does, and how many bytes it has to move, as far as its code tells.

use ravel_types::{Elem, Scalar, Shape};
use ravel_wir::{Combine, Func, FuncId, Generator, Module, Op, Part, Region, Value, WithOp};
use std::collections::HashMap;

/// Functions that call each other so deeply are recursive.
const MOST_CALLS: usize = 32;

/// What one call costs; nothing where only the run knows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub operations: Option<f64>,
    /// Those of them on `float`.
    pub singles: Option<f64>,
    /// Arguments and results, each once.
    pub bytes: Option<f64>,
}

/// The counts of the entry of an optimised module.
pub fn count(module: &Module) -> Counts {
    let Some(entry) = module.entry else { return Counts::default() };
    let func = &module.funcs[entry];
    let results = func.regions[func.body].insts.last().map(|_| func.regions[func.body].yields.clone());
    let all = func.params().iter().copied().chain(results.into_iter().flatten());
    let bytes = all.map(|value| bytes_of(func, value)).sum::<Option<f64>>();
    let operations = |counts: fn(Elem) -> bool| operations(module, entry, counts, 0);
    Counts { operations: operations(Elem::is_float), singles: operations(|elem| elem == Elem::F32), bytes }
}

fn bytes_of(func: &Func, value: Value) -> Option<f64> {
    let ty = func.ty(value);
    let Shape::Known(extents) = &ty.shape else { return None };
    let count = extents.iter().map(|extent| extent.as_const().map(f64::from)).product::<Option<f64>>()?;
    Some(count * ty.elem.bytes() as f64)
}

/// How many operations there are on elements that count.
fn operations(module: &Module, id: FuncId, counts: fn(Elem) -> bool, depth: usize) -> Option<f64> {
    if depth > MOST_CALLS {
        return None;
    }
    let func = &module.funcs[id];
    let constant = |(inst, data): (_, &ravel_wir::InstData)| match data.op {
        Op::Const(Scalar::I32(number)) => Some((func.insts[inst].results[0], number)),
        _ => None,
    };
    let constants = func.insts.iter().filter_map(constant).collect();
    Counter { module, func, constants, counts, depth }.region(func.body)
}

struct Counter<'m> {
    module: &'m Module,
    func: &'m Func,
    constants: HashMap<Value, i32>,
    counts: fn(Elem) -> bool,
    depth: usize,
}

impl Counter<'_> {
    fn region(&self, region: Region) -> Option<f64> {
        self.func.regions[region].insts.iter().map(|inst| self.instruction(&self.func.insts[*inst])).sum()
    }

    fn instruction(&self, data: &ravel_wir::InstData) -> Option<f64> {
        let is_meant = |value: Value| (self.counts)(self.func.ty(value).elem);
        Some(match &data.op {
            Op::Un(_, a) | Op::Bin(_, a, _) if is_meant(*a) => 1.0,
            // How often is not known; without operations that does not matter.
            Op::Loop { body, .. } => self.none_in(*body)?,
            // At most one of the two runs.
            Op::If { then, els, .. } => self.region(*then)?.max(self.region(*els)?),
            Op::Call { func, .. } => operations(self.module, *func, self.counts, self.depth + 1)?,
            Op::With(with) => {
                let mut total = 0.0;
                for part in &with.parts {
                    let body = self.region(part.body)?;
                    let combine: f64 = with
                        .ops
                        .iter()
                        .zip(&data.results)
                        .map(|(op, result)| self.combine(op, *result))
                        .sum::<Option<f64>>()?;
                    if body + combine > 0.0 {
                        total += (body + combine) * self.indices(part)?;
                    }
                }
                total
            }
            _ => 0.0,
        })
    }

    /// 0 if a region has no operations.
    fn none_in(&self, region: Region) -> Option<f64> {
        self.region(region).filter(|count| *count == 0.0)
    }

    /// What a fold does with each cell.
    fn combine(&self, op: &WithOp, result: Value) -> Option<f64> {
        let WithOp::Fold { combine, .. } = op else { return Some(0.0) };
        match combine {
            Combine::Region(region) => self.region(*region),
            Combine::Op(_) if !(self.counts)(self.func.ty(result).elem) => Some(0.0),
            Combine::Op(_) => {
                let Shape::Known(extents) = &self.func.ty(result).shape else { return None };
                extents.iter().map(|extent| extent.as_const().map(f64::from)).product()
            }
        }
    }

    /// How many indices a partition has.
    fn indices(&self, part: &Part) -> Option<f64> {
        let Generator::Known { lower, upper, step, width } = &part.generator else { return None };
        let number = |value: &Value| self.constants.get(value).map(|number| f64::from(*number));
        let mut count = 1.0;
        for (axis, (low, high)) in lower.iter().zip(upper).enumerate() {
            let extent = (number(high)? - number(low)?).max(0.0);
            let of = |list: &Option<Vec<Value>>| match list {
                None => Some(1.0),
                Some(list) => list.get(axis).and_then(number),
            };
            let (step, width) = (of(step)?, of(width)?);
            let (whole, rest) = ((extent / step).floor(), extent % step);
            count *= whole * width + rest.min(width);
        }
        Some(count)
    }
}
