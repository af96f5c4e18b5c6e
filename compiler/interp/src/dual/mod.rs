//! Derivatives without any transformation: a region runs with numbers that have infinitesimals, and what stands at these in its results are the derivatives.
//!
//! ```text
//! %y, %dx = derive reverse (%p = %x) seeds (%s) { ... yield %r }
//! run the region at x[i] + e_i, where each e_i is infinitesimal;  r[j] is y[j] + sum of t[j,i] * e_i;  dx[i] = sum of s[j] * t[j,i]
//! ```
//!
//! - There is one run, in which each number has as many infinitesimals as variables that it depends on. So effects and faults are those of the region, once.
//! - Values are computed as they always are, in their own types, so that branches are those of a run without derivatives. Only what stands at infinitesimals is
//!   computed here, in `f64`: [`number`] is the arithmetic, [`rules`] what each operation does.
//! - A real scalar that has infinitesimals is an array without axes, [`Val::Array`], wherever it goes. Arrays keep theirs beside their elements.
//! - A call of a function that has a rule is that of a function without infinitesimals, and what stands at them is what the rule gives.
//! - Integers, bools and objects have none; what they select, count and decide is constant. Natives that make reals of numbers with infinitesimals are refused, as
//!   are globals that such numbers would be stored in.

mod by_rule;
mod number;
mod rules;

pub use number::Num;

use crate::array::{Arr, Val};
use crate::eval::{Frame, Machine, Run, boxed};
use ravel_source::Span;
use ravel_types::{BinOp, Elem, Scalar, UnOp};
use ravel_wir::{Inst, Mode, Region, Value};
use std::sync::Arc;

/// What an instruction [`ravel_wir::Op::Derive`] says.
#[derive(Clone, Copy)]
pub struct Derive<'a> {
    pub mode: Mode,
    pub args: &'a [Value],
    pub seeds: &'a [Value],
    pub body: Region,
}

/// The numbers of a value; nothing if it is not real.
pub fn numbers(val: &Val) -> Option<Vec<Num>> {
    let scalars = val.scalars()?;
    let duals = match val {
        Val::Array(array) => array.duals.as_deref(),
        _ => None,
    };
    let number = |(i, scalar): (usize, Scalar)| match duals.and_then(|duals: &[Option<Num>]| duals[i].clone()) {
        Some(num) => Some(num),
        None => real_of(scalar).map(Num::Real),
    };
    scalars.into_iter().enumerate().map(number).collect()
}

/// The number of a real scalar.
pub fn number(val: &Val) -> Option<Num> {
    match val {
        Val::Scalar(scalar) => real_of(*scalar).map(Num::Real),
        Val::Array(array) if array.shape.is_empty() => numbers(val)?.pop(),
        _ => None,
    }
}

/// Whether there are infinitesimals in a value.
pub fn is_varied(val: &Val) -> bool {
    matches!(val, Val::Array(array) if array.duals.iter().flatten().any(Option::is_some))
}

/// The value alone.
pub fn detach(val: Val, is_scalar: bool) -> Val {
    match val {
        Val::Array(array) if array.duals.is_some() => in_form(Arr { duals: None, ..(*array).clone() }, is_scalar),
        val => val,
    }
}

/// A scalar that was computed, with the infinitesimals that were computed apart from it.
pub fn with_infinitesimals(scalar: Scalar, num: Num) -> Val {
    match real_of(scalar) {
        Some(real) if is_dual(&num) => {
            let mut array = Arr::from_scalars(scalar.elem(), Vec::new(), &[scalar]);
            array.duals = Some(vec![Some(num.with_real(real))]);
            Val::Array(Arc::new(array))
        }
        _ => Val::Scalar(scalar),
    }
}

/// The result of an operation, as far as it is not yet in `scalar`.
pub fn un(op: UnOp, a: &Val, scalar: Scalar) -> Val {
    match number(a) {
        Some(a) => with_infinitesimals(scalar, rules::un(op, &a)),
        None => Val::Scalar(scalar),
    }
}

/// The same of two operands.
pub fn bin(op: BinOp, a: &Val, b: &Val, scalar: Scalar) -> Val {
    match number(a).zip(number(b)) {
        Some((a, b)) if scalar.elem().is_float() => with_infinitesimals(scalar, rules::bin(op, &a, &b)),
        _ => Val::Scalar(scalar),
    }
}

/// A conversion.
pub fn convert(a: &Val, scalar: Scalar) -> Val {
    match number(a) {
        Some(num) => with_infinitesimals(scalar, num),
        None => Val::Scalar(scalar),
    }
}

/// A step of a fold. `values` are its results, element by element.
pub fn fold(op: BinOp, acc: Val, cell: &Val, values: &[Scalar], is_scalar: bool) -> Val {
    let (elem, shape) = (acc.elem(), acc.shape().to_vec());
    let mut results = numbers(&acc).unwrap_or_default();
    // Sums grow in place: nobody else is to hold their numbers.
    drop(acc);
    for (acc, cell) in results.iter_mut().zip(numbers(cell).unwrap_or_default()) {
        rules::fold(op, acc, &cell);
    }
    in_form(with_values(elem, shape, values, results), is_scalar)
}

fn with_values(elem: Elem, shape: Vec<i64>, values: &[Scalar], numbers: Vec<Num>) -> Arr {
    let mut array = Arr::from_scalars(elem, shape, values);
    if numbers.iter().any(is_dual) {
        let dual = |(num, value): (Num, &Scalar)| {
            let real = real_of(*value).filter(|_| is_dual(&num))?;
            Some(num.with_real(real))
        };
        array.duals = Some(numbers.into_iter().zip(values).map(dual).collect());
    }
    array
}

fn is_dual(num: &Num) -> bool {
    matches!(num, Num::Dual(_))
}

/// Numbers as elements of a type.
fn array_of(elem: Elem, shape: Vec<i64>, numbers: Vec<Num>) -> Arr {
    let value = |num: &Num| if elem == Elem::F32 { Scalar::F32(num.real() as f32) } else { Scalar::F64(num.real()) };
    let values: Vec<Scalar> = numbers.iter().map(value).collect();
    with_values(elem, shape, &values, numbers)
}

fn in_form(array: Arr, is_scalar: bool) -> Val {
    if is_scalar { array.element(0) } else { Val::Array(Arc::new(array)) }
}

fn real_of(scalar: Scalar) -> Option<f64> {
    match scalar {
        Scalar::F32(x) => Some(f64::from(x)),
        Scalar::F64(x) => Some(x),
        _ => None,
    }
}

impl<'m> Machine<'m> {
    /// Runs the region of a `derive`, and gives its results and their derivatives.
    pub fn derive(&mut self, frame: &mut Frame<'m>, inst: Inst, derive: Derive<'_>) -> Run<Vec<Val>> {
        let span = frame.func.insts[inst].span;
        let values =
            |frame: &Frame<'m>, of: &[Value]| of.iter().map(|v| frame.get(*v, span)).collect::<Run<Vec<Val>>>();
        let (args, seeds) = (values(frame, derive.args)?, values(frame, derive.seeds)?);
        self.level += 1;
        let level = self.level;
        let params = match derive.mode {
            Mode::Forward => along(frame, level, &args, &seeds, span)?,
            Mode::Reverse => in_all_directions(frame, level, &args, span)?,
        };
        self.modes.push(derive.mode);
        let yields = self.region(frame, derive.body, params)?;
        self.modes.pop();
        self.level -= 1;
        let types = frame.func.insts[inst].results.iter();
        let mut are_scalars = types.map(|v| frame.func.ty(*v).is_scalar()).collect::<Vec<bool>>().into_iter();
        let mut results = Vec::new();
        let mut reals = Vec::new();
        for (val, is_scalar) in yields.into_iter().zip(are_scalars.by_ref()) {
            match numbers(&val).filter(|_| val.elem().is_float()) {
                Some(numbers) => {
                    let primals: Vec<Num> = numbers.iter().map(|num| num.split(level).0.clone()).collect();
                    results.push(in_form(array_of(val.elem(), val.shape().to_vec(), primals), is_scalar));
                    reals.push((val.elem(), val.shape().to_vec(), numbers));
                }
                None => results.push(val),
            }
        }
        let derivatives: Vec<Arr> = match derive.mode {
            Mode::Forward => reals.into_iter().map(|real| tangent(level, real)).collect(),
            Mode::Reverse => cotangents(frame, level, &args, &seeds, &reals, span)?,
        };
        results.extend(derivatives.into_iter().zip(are_scalars).map(|(array, is_scalar)| in_form(array, is_scalar)));
        Ok(results)
    }
}

/// Element type, shape and numbers.
type Real = (Elem, Vec<i64>, Vec<Num>);

/// The arguments, each with its seed at the only infinitesimal.
fn along(frame: &Frame<'_>, level: u32, args: &[Val], seeds: &[Val], span: Span) -> Run<Vec<Val>> {
    let with_seed = |(arg, seed): (&Val, &Val)| {
        let Some((numbers, seeds)) = numbers(arg).zip(numbers(seed)).filter(|_| arg.shape() == seed.shape()) else {
            return Err(frame.internal(span, "a seed that does not fit its argument"));
        };
        let parts = |seed: Num| if is_zero(&seed) { Vec::new() } else { vec![(0, seed)] };
        let numbers = numbers.into_iter().zip(seeds).map(|(num, seed)| Num::new(level, num, parts(seed)));
        Ok(like(arg, numbers.collect()))
    };
    args.iter().zip(seeds).map(with_seed).collect()
}

/// The arguments, each element with an infinitesimal of its own.
fn in_all_directions(frame: &Frame<'_>, level: u32, args: &[Val], span: Span) -> Run<Vec<Val>> {
    let mut directions = 0..;
    let varied = |arg: &Val| {
        let Some(numbers) = numbers(arg) else { return Err(frame.internal(span, "an argument that is not real")) };
        let varied = |(num, direction)| Num::new(level, num, vec![(direction, Num::Real(1.0))]);
        Ok(like(arg, numbers.into_iter().zip(directions.by_ref()).map(varied).collect()))
    };
    args.iter().map(varied).collect()
}

/// Numbers in the form of a value.
fn like(val: &Val, numbers: Vec<Num>) -> Val {
    match boxed(val.clone()) {
        Val::Array(array) if !numbers.is_empty() => {
            let is_scalar = !matches!(val, Val::Array(_));
            in_form(array_of(array.elem, array.shape.clone(), numbers), is_scalar)
        }
        _ => val.clone(),
    }
}

/// A seed that is 0 asks for nothing, also where a slope is infinite.
fn is_zero(seed: &Num) -> bool {
    matches!(seed, Num::Real(0.0))
}

fn tangent(level: u32, (elem, shape, numbers): Real) -> Arr {
    let part = |num: &Num| num.split(level).1.first().map_or(Num::Real(0.0), |(_, part)| part.clone());
    let tangents: Vec<Num> = numbers.iter().map(part).collect();
    array_of(elem, shape, tangents)
}

fn cotangents(frame: &Frame<'_>, level: u32, args: &[Val], seeds: &[Val], reals: &[Real], span: Span) -> Run<Vec<Arr>> {
    let count = args.iter().map(Val::count).sum();
    let mut sums = vec![Num::Real(0.0); count];
    if seeds.len() != reals.len() {
        return Err(frame.internal(span, "seeds and real results differ in number"));
    }
    for ((_, shape, results), seed) in reals.iter().zip(seeds) {
        let Some(seeds) = numbers(seed).filter(|_| seed.shape() == shape) else {
            return Err(frame.internal(span, "a seed that does not fit its result"));
        };
        for (result, seed) in results.iter().zip(seeds).filter(|(_, seed)| !is_zero(seed)) {
            for (direction, part) in result.split(level).1 {
                sums[*direction as usize].accumulate(&(&seed * part));
            }
        }
    }
    let mut sums = sums.into_iter();
    let of = |arg: &Val| array_of(arg.elem(), arg.shape().to_vec(), sums.by_ref().take(arg.count()).collect());
    Ok(args.iter().map(of).collect())
}
