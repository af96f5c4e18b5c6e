//! With-loops, index by index in row-major order.

use crate::Event;
use crate::array::{Arr, Val};
use crate::dual;
use crate::eval::{Frame, Machine, Run, int_val, int_vector, position};
use crate::rows::Rows;
use ravel_runtime::buffer::count_of;
use ravel_runtime::fault::{self, Fault};
use ravel_source::Span;
use ravel_types::{BinOp, EvalFault, Scalar, Ty, eval_bin};
use ravel_wir::{Combine, Frame as FrameShape, Generator, Inst, Value, With, WithOp};
use std::sync::Arc;

/// An index set with its numbers.
struct Bounds {
    lower: Vec<i64>,
    upper: Vec<i64>,
    step: Vec<i64>,
    width: Vec<i64>,
    is_vector: bool,
}

/// The result of one operator under construction.
enum Building {
    Array {
        /// The array so far, once the cell shape is known.
        array: Option<Arr>,
        frame: Vec<i64>,
        cell: Option<Vec<i64>>,
        default: Option<Val>,
        written: Vec<bool>,
        ty: Ty,
    },
    Fold {
        acc: Val,
        /// What rounding has taken from a sum of `float`, which is added at the end: sums regroup, and the oracle is to be the most exact of all.
        lost: f64,
    },
}

impl<'m> Machine<'m> {
    pub fn with_loop(&mut self, frame: &mut Frame<'m>, inst: Inst, with: &'m With) -> Run<Vec<Val>> {
        let func = frame.func;
        let data = &func.insts[inst];
        let span = data.span;
        if let Some(observer) = &mut self.observer {
            observer.event(Event::With, span);
        }
        let mut building = Vec::new();
        for (op, result) in with.ops.iter().zip(&data.results) {
            building.push(start(frame, op, func.ty(*result), span)?);
        }
        let sharing = match self.ranks {
            Some(_) => {
                let rows: Vec<Option<i64>> = building.iter().filter_map(Building::rows).collect();
                self.ranks_begin(frame, with, &rows, span)?
            }
            None => None,
        };
        for (number, part) in with.parts.iter().enumerate() {
            let bounds = bounds_of(frame, &part.generator, span)?;
            if let Some(observer) = &mut self.observer {
                let Bounds { lower, upper, step, width, .. } = &bounds;
                observer.event(Event::Partition(crate::Bounds { lower, upper, step, width }), span);
            }
            let mut index = bounds.lower.clone();
            if bounds.lower.iter().zip(&bounds.upper).any(|(l, u)| l >= u) {
                continue;
            }
            let own = match sharing {
                Some(sharing) => self.ranks_enter(frame, inst, number, sharing, (&bounds.lower, &bounds.upper))?,
                None => None,
            };
            loop {
                if let Some(own) = own {
                    self.ranks_work(frame, own, index[0], span)?;
                }
                let params = match bounds.is_vector {
                    true => vec![int_vector(&index)],
                    false => index.iter().map(|i| int_val(*i)).collect(),
                };
                let cells = self.region(frame, part.body, params)?;
                if self.ranks.is_some() {
                    cells.iter().try_for_each(|cell| self.ranks_read(frame, cell, span))?;
                }
                if own.is_some() {
                    self.ranks_combine();
                }
                for ((op, cell), building) in with.ops.iter().zip(cells).zip(&mut building) {
                    match building {
                        Building::Fold { acc, lost } => {
                            let old = std::mem::replace(acc, Val::Handle(None));
                            let before = float_sum(op, &old).zip(float_sum(op, &cell));
                            *acc = self.combine(frame, op, old, cell, span)?;
                            if let (Some((total, cell)), Some(next)) = (before, float_sum(op, acc)) {
                                *lost += f64::from((total - next) + cell);
                            }
                        }
                        array => write_cell(frame, array, &index, &cell, span)?,
                    }
                }
                if !bounds.advance(&mut index) {
                    break;
                }
            }
            if own.is_some() {
                self.ranks_meet();
            }
        }
        let mut results = Vec::with_capacity(building.len());
        for building in building {
            results.push(finish(frame, building, self.ranks_own(sharing), span)?);
        }
        if let Some(observer) = &mut self.observer {
            observer.event(Event::WithEnd { results: &results }, span);
        }
        Ok(results)
    }

    fn combine(&mut self, frame: &mut Frame<'m>, op: &WithOp, acc: Val, cell: Val, span: Span) -> Run<Val> {
        match op {
            WithOp::Fold { combine: Combine::Region(region), .. } => {
                let mut next = self.region(frame, *region, vec![acc, cell])?;
                next.pop().ok_or_else(|| frame.internal(span, "a fold function without a result"))
            }
            WithOp::Fold { combine: Combine::Op(op), neutral, .. } => {
                elementwise(frame, *op, acc, &cell, frame.func.ty(*neutral).is_scalar(), span)
            }
            _ => Err(frame.internal(span, "not a fold")),
        }
    }
}

/// The number of a sum of `float` that regroups.
fn float_sum(op: &WithOp, val: &Val) -> Option<f32> {
    match op {
        WithOp::Fold { combine: Combine::Op(BinOp::Add), .. } => float(val),
        _ => None,
    }
}

fn float(val: &Val) -> Option<f32> {
    match val {
        Val::Scalar(Scalar::F32(x)) => Some(*x),
        Val::Array(a) if a.shape.is_empty() && dual::is_varied(val) => match a.scalar(0) {
            Some(Scalar::F32(x)) => Some(x),
            _ => None,
        },
        _ => None,
    }
}

fn elementwise(frame: &Frame<'_>, op: BinOp, acc: Val, cell: &Val, is_scalar: bool, span: Span) -> Run<Val> {
    let failed = |e: EvalFault| match e {
        EvalFault::DivisionByZero => frame.fault(span, fault::division()),
        EvalFault::Undefined => frame.internal(span, "a fold operation on the wrong types"),
    };
    if acc.shape() != cell.shape() {
        return Err(frame.fault(span, fault::shapes("the cells of a with-loop", acc.shape(), cell.shape())));
    }
    let values = |a: &Val, b: &Val| {
        let Some((x, y)) = a.scalars().zip(b.scalars()) else {
            return Err(frame.internal(span, "a fold of handles"));
        };
        x.into_iter().zip(y).map(|(x, y)| eval_bin(op, x, y).map_err(failed)).collect::<Run<Vec<Scalar>>>()
    };
    if dual::is_varied(&acc) || dual::is_varied(cell) {
        let values = values(&acc, cell)?;
        return Ok(dual::fold(op, acc, cell, &values, is_scalar));
    }
    match (acc, cell) {
        (Val::Scalar(a), Val::Scalar(b)) => eval_bin(op, a, *b).map(Val::Scalar).map_err(failed),
        (Val::Array(a), Val::Array(_)) => {
            let values = values(&Val::Array(a.clone()), cell)?;
            Ok(Val::Array(Arc::new(Arr::from_scalars(a.elem, a.shape.clone(), &values))))
        }
        _ => Err(frame.internal(span, "accumulator and cell differ in kind")),
    }
}

impl Building {
    /// Number of rows of an array, if it will have an axis; nothing for folds.
    fn rows(&self) -> Option<Option<i64>> {
        match self {
            Building::Array { array: Some(array), .. } => Some(array.shape.first().copied()),
            Building::Array { frame, .. } => Some(frame.first().copied()),
            Building::Fold { .. } => None,
        }
    }
}

impl Bounds {
    /// The next index of the set in row-major order; false after the last one.
    fn advance(&self, index: &mut [i64]) -> bool {
        for axis in (0..index.len()).rev() {
            let mut next = index[axis] + 1;
            if (next - self.lower[axis]) % self.step[axis] >= self.width[axis] {
                next += self.step[axis] - self.width[axis];
            }
            if next < self.upper[axis] {
                index[axis] = next;
                return true;
            }
            index[axis] = self.lower[axis];
        }
        false
    }
}

fn bounds_of(frame: &Frame<'_>, generator: &Generator, span: Span) -> Run<Bounds> {
    let scalars = |v: &Vec<Value>| frame.ints(v, span);
    let (lower, upper, step, width, is_vector) = match generator {
        Generator::Known { lower, upper, step, width } => (
            scalars(lower)?,
            scalars(upper)?,
            step.as_ref().map(scalars).transpose()?,
            width.as_ref().map(scalars).transpose()?,
            false,
        ),
        Generator::Dyn { lower, upper, step, width } => (
            frame.vector(*lower, span)?,
            frame.vector(*upper, span)?,
            step.map(|v| frame.vector(v, span)).transpose()?,
            width.map(|v| frame.vector(v, span)).transpose()?,
            true,
        ),
    };
    let rank = lower.len();
    let step = step.unwrap_or_else(|| vec![1; rank]);
    let width = width.unwrap_or_else(|| vec![1; rank]);
    if [&upper, &step, &width].iter().any(|v| v.len() != rank) {
        // What no type tells of vectors of unknown length.
        return Err(match is_vector {
            true => frame.fault(span, Fault::new("the bounds of a generator differ in length")),
            false => frame.internal(span, "the bounds of a generator differ in length"),
        });
    }
    // A width that is not below its step takes every index.
    if step.iter().chain(&width).any(|n| *n < 1) {
        return Err(frame.internal(span, "a generator with a bad step or width"));
    }
    Ok(Bounds { lower, upper, step, width, is_vector })
}

fn start(frame: &Frame<'_>, op: &WithOp, ty: &Ty, span: Span) -> Run<Building> {
    Ok(match op {
        WithOp::Fold { neutral, .. } => Building::Fold { acc: frame.get(*neutral, span)?, lost: 0.0 },
        WithOp::Modarray { array } => {
            let Val::Array(array) = frame.get(*array, span)? else {
                return Err(frame.internal(span, "modarray of no array"));
            };
            let array = (*array).clone();
            // The frame is only known with the first index; the cells are judged against the array itself.
            Building::Array {
                frame: Vec::new(),
                cell: None,
                default: None,
                written: Vec::new(),
                array: Some(array),
                ty: ty.clone(),
            }
        }
        WithOp::Genarray { frame: shape, cell, default } => {
            let shape = match shape {
                FrameShape::Known(extents) => frame.ints(extents, span)?,
                FrameShape::Dyn(v) => frame.vector(*v, span)?,
            };
            let count = count_of(&shape).map_err(|f| frame.fault(span, f))?;
            expect_memory(frame, &shape, count as usize, 1, span)?;
            let cell = cell.as_ref().map(|c| frame.ints(c, span)).transpose()?;
            let default = default.map(|d| frame.get(d, span)).transpose()?;
            reserve(frame, &shape, count, 1, span)?;
            Building::Array {
                frame: shape,
                cell,
                default,
                written: vec![false; count as usize],
                array: None,
                ty: ty.clone(),
            }
        }
    })
}

/// Faults if there is no memory for an array.
fn reserve(frame: &Frame<'_>, shape: &[i64], count: i64, bytes: usize, span: Span) -> Run<()> {
    let total = usize::try_from(count).ok().and_then(|count| count.checked_mul(bytes));
    match total.map(|total| Vec::<u8>::new().try_reserve_exact(total)) {
        Some(Ok(())) => Ok(()),
        _ => Err(frame.fault(span, fault::memory(shape))),
    }
}

/// Faults if `count` elements of an array of this shape cannot be had: a plain allocation would end the compiler.
fn expect_memory(frame: &Frame<'_>, shape: &[i64], count: usize, bytes: usize, span: Span) -> Run<()> {
    let available = count.checked_mul(bytes).is_some_and(|wanted| Vec::<u8>::new().try_reserve_exact(wanted).is_ok());
    if available {
        return Ok(());
    }
    Err(frame.fault(span, fault::memory(shape)))
}

/// The array full of defaults, for cells of shape `cell`.
fn allocate(frame: &Frame<'_>, lead: &[i64], cell: &[i64], default: &Option<Val>, ty: &Ty, span: Span) -> Run<Arr> {
    let shape: Vec<i64> = lead.iter().chain(cell).copied().collect();
    let count = count_of(&shape).map_err(|f| frame.fault(span, f))?;
    reserve(frame, &shape, count, ty.elem.bytes(), span)?;
    let count = count as usize;
    expect_memory(frame, &shape, count, ty.elem.bytes(), span)?;
    let mut array = Arr::zeros(ty.elem, shape, count);
    if let Some(default) = default {
        if default.shape() != cell {
            return Err(frame.fault(span, fault::shapes("the cells of a with-loop", cell, default.shape())));
        }
        let size = default.count();
        for at in (0..count).step_by(size.max(1)) {
            array.put(at, default);
        }
    }
    Ok(array)
}

fn write_cell(frame: &Frame<'_>, building: &mut Building, index: &[i64], cell: &Val, span: Span) -> Run<()> {
    let Building::Array { array, frame: lead, cell: cell_shape, default, written, ty } = building else {
        return Err(frame.internal(span, "a fold has no cells"));
    };
    if array.is_none() {
        let shape = cell_shape.get_or_insert_with(|| cell.shape().to_vec());
        *array = Some(allocate(frame, lead, shape, default, ty, span)?);
    }
    let Some(array) = array else { return Ok(()) };
    let (at, size, rank) = position(array, index).map_err(|f| frame.internal(span, f.message))?;
    let expected = &array.shape[rank..];
    if cell.shape() != expected {
        return Err(frame.fault(span, fault::shapes("the cells of a with-loop", expected, cell.shape())));
    }
    if written.is_empty() {
        let count: i64 = array.shape[..rank].iter().product();
        *written = vec![false; count as usize];
    }
    let number = index.iter().zip(&array.shape).fold(0, |n, (i, e)| n * e + i) as usize;
    if std::mem::replace(&mut written[number], true) {
        return Err(frame.internal(span, format!("two partitions write index {index:?}")));
    }
    debug_assert_eq!(size, cell.count());
    array.put(at, cell);
    Ok(())
}

fn finish(frame: &Frame<'_>, building: Building, rows: Option<Box<Rows>>, span: Span) -> Run<Val> {
    let (mut array, ty) = match building {
        Building::Fold { acc, lost } => {
            let Some(total) = float(&acc) else { return Ok(acc) };
            let sum = (f64::from(total) + lost) as f32;
            return Ok(dual::convert(&acc, Scalar::F32(if sum.is_nan() { total } else { sum })));
        }
        Building::Array { array: Some(array), ty, .. } => (array, ty),
        // No index at all: the cell shape is what was said, the default's, or what the type knows.
        Building::Array { frame: lead, cell, default, ty, .. } => {
            let cell = cell.or_else(|| default.as_ref().map(|d| d.shape().to_vec())).unwrap_or_else(|| {
                let rest = ty.shape.extents().and_then(|e| e.get(lead.len()..)).unwrap_or_default();
                rest.iter().map(|e| i64::from(e.as_const().unwrap_or(0))).collect()
            });
            (allocate(frame, &lead, &cell, &default, &ty, span)?, ty)
        }
    };
    array.rows = rows;
    Ok(if ty.is_scalar() { array.element(0) } else { Val::Array(Arc::new(array)) })
}
