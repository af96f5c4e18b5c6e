//! A check behind every operation that can make NaN of operands that are none.
//!
//! ```text
//!    %c = div %a, %b
//! => %c = div %a, %b   %n = eq %c, %c   check %n, "[E0337] {d} / {d} is NaN", %a, %b
//! ```
//!
//! Only NaN differs from itself. Where an operand may be NaN already, because the program reads numbers that it did not compute, the check
//! holds for such operands as well: NaN is reported where it is made and not where it passes by. A program that computes all its numbers
//! cannot have such operands, since it ends at the first NaN.
//!
//! Most operations need no check: a sum is NaN only for two infinities, so that one finite operand is enough; see [`Known`].
//!
//! A fold by an operation stays one, so that it is regrouped as before: its result is judged, and for operands that may be NaN a second
//! operator notes whether one was.

use crate::edit::{push_check, push_op};
use ravel_source::Span;
use ravel_types::{BinOp, Elem, HashMap, Scalar, Ty, UnOp};
use ravel_wir::{Combine, Fault, Func, Inst, Module, Op, Region, Value, With, WithOp};

/// What is known of a real number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Nothing,
    /// It is not NaN.
    Number,
    /// And no infinity.
    Finite,
}

/// Makes a program fault, with a code, where the first NaN is made.
pub fn check_nan(module: &mut Module, code: &str) {
    let least = if reads_reals(module) { Known::Nothing } else { Known::Number };
    for func in module.funcs.values_mut() {
        let body = func.body;
        Checker { func, code, least, known: HashMap::default(), constants: HashMap::default() }.region(body);
    }
}

/// Whether a program has real numbers that it did not compute.
fn reads_reals(module: &Module) -> bool {
    !module.exports.is_empty()
        || module.funcs.values().any(|func| {
            func.insts.values().any(|data| match &data.op {
                Op::Const(value) => value.is_nan(),
                Op::ConstArray(data) => data.values.iter().any(|value| value.is_nan()),
                Op::Native { args, .. } => {
                    let brings_reals = data.results.iter().any(|v| func.ty(*v).elem.is_float());
                    brings_reals && !computes(func, args, &data.results)
                }
                _ => false,
            })
        })
}

fn is_real(func: &Func, v: Value) -> bool {
    func.ty(v).elem.is_float() && func.ty(v).is_scalar()
}

/// Whether a native computes scalars from scalars, as `sin` does.
fn computes(func: &Func, args: &[Value], results: &[Value]) -> bool {
    let scalars = |values: &[Value]| values.iter().all(|v| func.ty(*v).is_scalar() && func.ty(*v).elem != Elem::Handle);
    scalars(args) && scalars(results) && args.iter().any(|v| is_real(func, *v))
}

/// Adds checks to a function.
struct Checker<'a> {
    func: &'a mut Func,
    code: &'a str,
    /// What is known of every number.
    least: Known,
    /// What is known beyond that.
    known: HashMap<Value, Known>,
    constants: HashMap<Value, f64>,
}

impl Checker<'_> {
    fn region(&mut self, region: Region) {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            for nested in self.func.insts[inst].op.regions() {
                self.region(nested);
            }
            out.push(inst);
            self.inst(inst, &mut out);
        }
        self.func.regions[region].insts = out;
    }

    fn inst(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        let data = &self.func.insts[inst];
        let span = data.span;
        match data.op.clone() {
            Op::Const(value) => self.constant(data.results[0], value),
            Op::Convert(from) => self.convert(data.results[0], from),
            Op::Un(op, a) if is_real(self.func, a) => {
                let result = data.results[0];
                if self.un_makes(op, a) {
                    self.check(result, &[a], &format!("{op}({{d}})"), span, out);
                }
                self.learn(result, self.un_result(op, a));
            }
            Op::Bin(op, a, b) if is_real(self.func, a) && !op.is_comparison() => {
                let result = data.results[0];
                if self.bin_makes(op, a, b) {
                    self.check(result, &[a, b], &in_sac(op), span, out);
                }
                self.learn(result, self.bin_result(op, a, b));
            }
            Op::Native { symbol, args, .. } if computes(self.func, &args, &data.results) => {
                let results: Vec<Value> = data.results.iter().copied().filter(|v| is_real(self.func, *v)).collect();
                let marks = args.iter().map(|v| if is_real(self.func, *v) { "{d}" } else { "{}" });
                let call = format!("{}({})", name_of(&symbol), marks.collect::<Vec<_>>().join(", "));
                for result in results {
                    self.check(result, &args, &call, span, out);
                    self.learn(result, self.among(&args));
                }
            }
            Op::With(with) => self.folds(inst, with, out),
            _ => {}
        }
    }

    fn of(&self, v: Value) -> Known {
        self.known.get(&v).copied().unwrap_or(self.least).max(self.least)
    }

    fn is_finite(&self, v: Value) -> bool {
        self.of(v) == Known::Finite
    }

    /// A constant that is neither zero nor infinite.
    fn is_factor(&self, v: Value) -> bool {
        self.constants.get(&v).is_some_and(|c| *c != 0.0 && c.is_finite())
    }

    fn learn(&mut self, v: Value, known: Known) {
        self.known.insert(v, known);
    }

    /// What is known of a number that is computed without NaN: it is none, unless an operand was.
    fn among(&self, args: &[Value]) -> Known {
        let reals = args.iter().filter(|v| is_real(self.func, **v));
        reals.map(|v| self.of(*v)).min().unwrap_or(Known::Number).min(Known::Number)
    }

    fn constant(&mut self, v: Value, value: Scalar) {
        let real = match value {
            Scalar::F32(real) => f64::from(real),
            Scalar::F64(real) => real,
            _ => return,
        };
        self.constants.insert(v, real);
        self.learn(
            v,
            match real {
                _ if real.is_nan() => Known::Nothing,
                _ if real.is_infinite() => Known::Number,
                _ => Known::Finite,
            },
        );
    }

    fn convert(&mut self, v: Value, from: Value) {
        let (to, from_elem) = (self.func.ty(v).elem, self.func.ty(from).elem);
        let known = match (from_elem.is_float(), to) {
            (false, _) => Known::Finite,
            (true, Elem::F64) => self.of(from),
            // What is finite for `double` may be infinite for `float`.
            (true, _) => self.of(from).min(Known::Number),
        };
        self.learn(v, known);
    }

    /// Can an operation make NaN of a number?
    fn un_makes(&self, op: UnOp, a: Value) -> bool {
        use UnOp::*;
        match op {
            Sin | Cos | Tan => !self.is_finite(a),
            Sqrt | Log | Log1p | Log2 | Log10 | Asin | Acos | Acosh | Atanh => true,
            Neg | Not | Abs | Reciproc | Cbrt | Exp | Expm1 | Atan | Sinh | Cosh | Tanh | Asinh | Floor | Ceil
            | Rint | Trunc | IsNan | IsInf | Finite => false,
        }
    }

    /// What is known of the result, once it was checked.
    fn un_result(&self, op: UnOp, a: Value) -> Known {
        use UnOp::*;
        let of = self.of(a);
        match op {
            Neg | Abs | Sqrt | Cbrt | Floor | Ceil | Rint | Trunc => of,
            Sin | Cos | Atan | Tanh | Asin | Acos if of >= Known::Number => Known::Finite,
            _ => of.min(Known::Number),
        }
    }

    /// Can an operation make NaN of two numbers?
    fn bin_makes(&self, op: BinOp, a: Value, b: Value) -> bool {
        use BinOp::*;
        let constant = |v: Value| self.constants.get(&v).copied();
        match op {
            Add | Sub => !self.is_finite(a) && !self.is_finite(b),
            Mul => !(self.is_factor(a) || self.is_factor(b) || self.is_finite(a) && self.is_finite(b)),
            // Not 0/0, and not one infinity by another.
            Div => !self.is_factor(a) && !self.is_factor(b),
            Pow => !constant(b).is_some_and(|b| b.is_finite() && b.fract() == 0.0),
            Mod | AplMod => true,
            _ => false,
        }
    }

    fn bin_result(&self, op: BinOp, a: Value, b: Value) -> Known {
        let of = self.of(a).min(self.of(b));
        match op {
            BinOp::Min | BinOp::Max | BinOp::Copysign => of,
            BinOp::Atan2 if of >= Known::Number => Known::Finite,
            _ => of.min(Known::Number),
        }
    }

    /// Faults if `result` is NaN and no operand is.
    fn check(&mut self, result: Value, operands: &[Value], text: &str, span: Span, out: &mut Vec<Inst>) {
        let bool_ty = || Ty::scalar(Elem::Bool);
        let mut holds = push_op(self.func, out, Op::Bin(BinOp::Eq, result, result), bool_ty(), span);
        for &operand in operands {
            if is_real(self.func, operand) && self.of(operand) == Known::Nothing {
                let was = push_op(self.func, out, Op::Bin(BinOp::Ne, operand, operand), bool_ty(), span);
                holds = push_op(self.func, out, Op::Bin(BinOp::Or, holds, was), bool_ty(), span);
            }
        }
        // Zero by zero, written out, is how functions say that they have no result: the solution of a singular system.
        let zero = |v: &Value| self.constants.get(v).is_some_and(|c| *c == 0.0);
        let meant =
            if operands.len() == 2 && operands.iter().all(zero) { ", for a result that does not exist" } else { "" };
        let text = format!("[{}] {text} is NaN{meant}", self.code).into();
        let fault = Fault::Message { text, operands: operands.to_vec() };
        push_check(self.func, out, holds, fault, span);
    }

    /// Checks the results of folds by operations; those by functions have their checks inside.
    fn folds(&mut self, inst: Inst, mut with: With, out: &mut Vec<Inst>) {
        let span = self.func.insts[inst].span;
        let mut checks = Vec::new();
        for k in 0..with.ops.len() {
            let result = self.func.insts[inst].results[k];
            let WithOp::Fold { neutral, combine: Combine::Op(op), .. } = with.ops[k] else { continue };
            if !is_real(self.func, result) || !matches!(op, BinOp::Add | BinOp::Mul) {
                continue;
            }
            let mut operands = vec![neutral];
            let cells = with.parts.iter().map(|part| self.func.regions[part.body].yields[k]);
            let may_be_nan = cells.into_iter().any(|cell| self.of(cell) == Known::Nothing);
            let any = may_be_nan.then(|| self.note_nan(inst, &mut with, k, out, span));
            operands.retain(|v| self.of(*v) == Known::Nothing);
            checks.push((result, op, any, operands));
        }
        self.func.insts[inst].op = Op::With(with);
        for (result, op, any, operands) in checks {
            let bool_ty = || Ty::scalar(Elem::Bool);
            let mut holds = push_op(self.func, out, Op::Bin(BinOp::Eq, result, result), bool_ty(), span);
            for &operand in &operands {
                let was = push_op(self.func, out, Op::Bin(BinOp::Ne, operand, operand), bool_ty(), span);
                holds = push_op(self.func, out, Op::Bin(BinOp::Or, holds, was), bool_ty(), span);
            }
            if let Some(any) = any {
                holds = push_op(self.func, out, Op::Bin(BinOp::Or, holds, any), bool_ty(), span);
            }
            let text = format!(
                "[{}] a fold by `{}` gives NaN, of numbers of which none is",
                self.code,
                if op == BinOp::Add { "+" } else { "*" }
            );
            push_check(self.func, out, holds, Fault::Message { text: text.into(), operands: Vec::new() }, span);
            let known = if any.is_some() || !operands.is_empty() { Known::Nothing } else { Known::Number };
            self.learn(result, known);
        }
    }

    /// Adds an operator to a with-loop that tells whether a cell of operator `k` is NaN.
    fn note_nan(&mut self, inst: Inst, with: &mut With, k: usize, out: &mut Vec<Inst>, span: Span) -> Value {
        let bool_ty = || Ty::scalar(Elem::Bool);
        for part in &with.parts {
            let cell = self.func.regions[part.body].yields[k];
            let mut body = std::mem::take(&mut self.func.regions[part.body].insts);
            let is_nan = push_op(self.func, &mut body, Op::Bin(BinOp::Ne, cell, cell), bool_ty(), span);
            self.func.regions[part.body].insts = body;
            self.func.regions[part.body].yields.push(is_nan);
        }
        // The neutral element has to be there when the with-loop begins.
        let with_loop = out.pop();
        let none = push_op(self.func, out, Op::Const(Scalar::Bool(false)), bool_ty(), span);
        out.extend(with_loop);
        with.ops.push(WithOp::Fold { neutral: none, combine: Combine::Op(BinOp::Or), stop: None });
        let any = self.func.new_value(bool_ty());
        self.func.insts[inst].results.push(any);
        any
    }
}

/// How a program writes an operation.
fn in_sac(op: BinOp) -> String {
    let sign = match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        other => return format!("{other}({{d}}, {{d}})"),
    };
    format!("{{d}} {sign} {{d}}")
}

/// `sqrt` for `ravel_math_sqrt_double`; other functions have the names of C.
fn name_of(symbol: &str) -> &str {
    let name = symbol.strip_prefix("ravel_math_").unwrap_or(symbol);
    name.strip_suffix("_double").or_else(|| name.strip_suffix("_float")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_types::{eval_bin, eval_un};

    const NUMBERS: [f64; 15] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.5,
        3.0,
        1e300,
        -1e300,
        1e-310,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];

    /// A function of two unknown numbers, constants if they are given.
    fn judged(check: impl FnOnce(&mut Checker<'_>, Value, Value) -> bool, constants: [Option<f64>; 2]) -> bool {
        let mut func = Func::new("f", Span::NONE);
        let [a, b] = [0, 1].map(|_| func.new_value(Ty::scalar(Elem::F64)));
        let mut checker = Checker {
            func: &mut func,
            code: "E0337",
            least: Known::Number,
            known: HashMap::default(),
            constants: HashMap::default(),
        };
        for (v, constant) in [a, b].into_iter().zip(constants) {
            if let Some(real) = constant {
                checker.constant(v, Scalar::F64(real));
            }
        }
        check(&mut checker, a, b)
    }

    /// No operation makes NaN that is said not to, and what is said of results holds.
    #[test]
    fn every_maker_is_known() {
        let mut wrong = Vec::new();
        for &op in UnOp::ALL {
            for x in NUMBERS {
                let Ok(Scalar::F64(y)) = eval_un(op, Scalar::F64(x)) else { continue };
                for constant in [None, Some(x)] {
                    let makes = judged(|checker, a, _| checker.un_makes(op, a), [constant, None]);
                    let is_finite = judged(|checker, a, _| checker.un_result(op, a) == Known::Finite, [constant, None]);
                    if y.is_nan() && !makes || y.is_infinite() && is_finite {
                        wrong.push(format!("{op}({x})"));
                    }
                }
            }
        }
        for &op in BinOp::ALL {
            for (x, y) in NUMBERS.iter().flat_map(|x| NUMBERS.iter().map(move |y| (*x, *y))) {
                let Ok(Scalar::F64(z)) = eval_bin(op, Scalar::F64(x), Scalar::F64(y)) else { continue };
                for constants in [[None, None], [Some(x), None], [None, Some(y)], [Some(x), Some(y)]] {
                    let makes = judged(|checker, a, b| checker.bin_makes(op, a, b), constants);
                    let is_finite = judged(|checker, a, b| checker.bin_result(op, a, b) == Known::Finite, constants);
                    if z.is_nan() && !makes || z.is_infinite() && is_finite {
                        wrong.push(format!("{op}({x}, {y})"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
