//! Derivatives of random functions.
//!
//! A case differentiates one function in both modes, in reverse with weights of its results as seeds, forward in a direction of its arguments. The interpreter
//! takes derivatives as they stand, so it is its own witness in three ways:
//!
//! - `<s, J v> = <J^T s, v>`, for the weights `s`, the direction `v` and the derivative `J`. That holds at kinks, too.
//! - The slope of `<s, f(x + h v)>` in `h` by central differences, where the function is smooth.
//! - Both modes give the function's results.
//!
//! What it says is then compared with every other way to run the module, as of any module.

mod generate;

use crate::rng::Rng;
use crate::run::Failure;
use generate::{Body, Extents, Var, argument, body, known_ty};
use ravel_interp::{RunError, Val};
use ravel_runtime::natives::table;
use ravel_source::FileId;
use ravel_types::Scalar;
use ravel_wir::parse::parse_module;
use ravel_wir::verify::verify;
use ravel_wir::{FuncId, Module};
use std::sync::Arc;

/// A module whose entry yields the results of a function, its cotangents, its results again, and its tangents.
pub struct Case {
    pub text: String,
    /// Arguments, with a direction each, and what is constant.
    args: Vec<Argument>,
    constants: Vec<Argument>,
    /// Weights of the results.
    weights: Vec<Vec<f64>>,
    is_smooth: bool,
}

/// An array in numbers.
struct Argument {
    shape: Vec<i64>,
    at: Vec<f64>,
    direction: Vec<f64>,
}

/// The function alone, of arguments and constants.
const FUNCTION: u32 = 1;

impl Case {
    pub fn new(seed: u64) -> Case {
        let mut rng = Rng::new(seed);
        let count = 1 + rng.below(3);
        let args: Vec<Argument> = (0..count).map(|_| Argument::random(&mut rng)).collect();
        let constants: Vec<Argument> = (0..rng.below(3)).map(|_| Argument::random(&mut rng)).collect();
        let named = |name: &str, of: &[Argument]| -> Vec<Var> {
            of.iter().enumerate().map(|(i, a)| argument(&format!("%b{name}{i}"), &a.shape)).collect()
        };
        let params = [named("x", &args), named("c", &constants)].concat();
        let extents = Extents((2..=5).filter(|_| rng.chance(1, 4)).collect());
        let made = body(&mut rng, &params, FUNCTION as usize + 1, &extents);
        let numbers = |var: &Var, rng: &mut Rng| (0..count_of(&var.shape)).map(|_| quarters(rng)).collect();
        let weights = made.results.iter().map(|var| numbers(var, &mut rng)).collect();
        let mut case = Case { text: String::new(), args, constants, weights, is_smooth: made.is_smooth };
        case.text = case.write(&params, &made, &extents, &mut rng);
        case
    }

    /// The module.
    ///
    /// # Errors
    /// Why it is none: a bug of the generator.
    pub fn module(&self) -> Result<Module, String> {
        let module = parse_module(&self.text, FileId(0)).map_err(|e| e.to_string())?;
        verify(&module).map_err(|errors| errors[0].to_string())?;
        Ok(module)
    }

    fn write(&self, params: &[Var], made: &Body, extents: &Extents, rng: &mut Rng) -> String {
        let ty = |shape: &[i64]| extents.ty(shape);
        let results: Vec<String> = made.results.iter().map(|var| ty(&var.shape)).collect();
        let wrt = &params[..self.args.len()];
        let of_args: Vec<String> = wrt.iter().map(|var| ty(&var.shape)).collect();
        let yields: Vec<&str> = made.results.iter().map(|var| var.name.as_str()).collect();
        let names: Vec<&str> = params.iter().map(|var| var.name.as_str()).collect();
        let mut lines = Vec::new();
        for (what, numbers) in [("x", &self.args), ("c", &self.constants)] {
            for (i, argument) in numbers.iter().enumerate() {
                lines.push(definition(&format!("%k{what}{i}"), &argument.shape, &argument.at));
                // Some are known when the program is compiled.
                let op = if rng.chance(1, 5) { "detach" } else { "opaque" };
                lines.push(format!("%{what}{i}: {} = {op} %k{what}{i}", ty(&argument.shape)));
            }
        }
        for (i, argument) in self.args.iter().enumerate() {
            lines.push(definition(&format!("%v{i}"), &argument.shape, &argument.direction));
        }
        for (i, (weights, var)) in self.weights.iter().zip(&made.results).enumerate() {
            lines.push(definition(&format!("%s{i}"), &var.shape, weights));
        }
        let list = |name: &str, types: &[String]| -> Vec<String> {
            types.iter().enumerate().map(|(i, ty)| format!("%{name}{i}: {ty}")).collect()
        };
        let used = |name: &str, n: usize| (0..n).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(", ");
        let modes = [
            ("reverse", "r", used("s", results.len()), &of_args),
            ("forward", "f", used("v", self.args.len()), &results),
        ];
        for (mode, copy, seeds, derivatives) in modes {
            // Every copy of the function has names of its own.
            let own = |text: &str| text.replace("%b", &format!("%{copy}"));
            for (i, constant) in self.constants.iter().enumerate() {
                lines.push(format!("{}: {} = opaque %c{i}", own(&format!("%bc{i}")), ty(&constant.shape)));
            }
            let given =
                wrt.iter().enumerate().map(|(i, var)| format!("{}: {} = %x{i}", own(&var.name), ty(&var.shape)));
            let given = given.collect::<Vec<_>>().join(", ");
            let all = [list(&format!("{copy}y"), &results), list(&format!("{copy}d"), derivatives)].concat().join(", ");
            let head = format!("{all} = derive {mode} ({given}) seeds ({seeds}) {{");
            if rng.chance(1, 2) {
                let mut start = [own(&extents.definitions()), head];
                if rng.chance(1, 2) {
                    start.reverse();
                }
                lines.extend(start);
                lines.push(own(&made.text));
                lines.push(format!("yield {} }}", own(&yields.join(", "))));
            } else {
                lines.push(head);
                let here = list(&format!("{copy}z"), &results).join(", ");
                lines.push(format!("{here} = call @f{FUNCTION} ({})", own(&names.join(", "))));
                lines.push(format!("yield {} }}", used(&format!("{copy}z"), results.len())));
            }
        }
        let (m, n) = (results.len(), self.args.len());
        let all = [used("ry", m), used("rd", n), used("fy", m), used("fd", m)].join(", ");
        let signature = [&results[..], &of_args[..], &results[..], &results[..]].concat().join(", ");
        let typed: Vec<String> = params.iter().map(|var| format!("{}: {}", var.name, ty(&var.shape))).collect();
        format!(
            "entry @f0\nfunc @f0 \"main\" () -> ({signature}) {{\n{}\nyield {all}\n}}\nfunc @f{FUNCTION} \"function\" ({}) -> ({}) {{\n{}{}yield {}\n}}\n{}",
            lines.join("\n"),
            typed.join(", "),
            results.join(", "),
            extents.definitions(),
            made.text,
            yields.join(", "),
            made.functions,
        )
    }

    /// The product of weights, derivative and direction, if the interpreter agrees with itself.
    ///
    /// # Errors
    /// In what it does not.
    pub fn check(&self, module: &Module) -> Result<f64, Failure> {
        let fail = |what: String| Err(Failure { stage: "interpreter".to_string(), what });
        let module = Arc::new(module.clone());
        let found = match numbers(ravel_interp::run(&module, table::find)) {
            Ok(found) => found,
            Err(problem) => return fail(problem),
        };
        let (m, n) = (self.weights.len(), self.args.len());
        if found.len() != 3 * m + n {
            return fail(format!("{} results", found.len()));
        }
        let (values, cotangents, again, tangents) =
            (&found[..m], &found[m..m + n], &found[m + n..2 * m + n], &found[2 * m + n..]);
        if values.concat().iter().zip(&again.concat()).any(|(a, b)| a.to_bits() != b.to_bits()) {
            return fail(format!("modes give other values: {values:?}, {again:?}"));
        }
        let directions: Vec<Vec<f64>> = self.args.iter().map(|argument| argument.direction.clone()).collect();
        let (forward, size) = product(&self.weights, tangents);
        let (reverse, other_size) = product(&directions, cotangents);
        let size = size.max(other_size).max(1.0);
        if !near(forward, reverse, 1e-10 * size) {
            return fail(format!("<s, J v> is {forward}, <J^T s, v> is {reverse}"));
        }
        // Differences say nothing of what is steep: a step is too far there.
        if self.is_smooth && size < 1e3 {
            let difference = |step: f64| -> Result<f64, String> {
                Ok((self.weighted(&module, step)? - self.weighted(&module, -step)?) / (2.0 * step))
            };
            let (rough, fine) = match (difference(1e-5), difference(5e-6)) {
                (Ok(rough), Ok(fine)) => (rough, fine),
                (Err(problem), _) | (_, Err(problem)) => return fail(problem),
            };
            // What the step still decides is not known better.
            if !near(forward, fine, 1e-4 * size + 2.0 * (rough - fine).abs()) {
                return fail(format!("<s, J v> is {forward}, but differences give {fine}"));
            }
        }
        Ok(forward)
    }

    /// The weighted sum of the function's results, so far from the arguments.
    fn weighted(&self, module: &Arc<Module>, step: f64) -> Result<f64, String> {
        let value = |argument: &Argument, step: f64| {
            let moved: Vec<Scalar> =
                argument.at.iter().zip(&argument.direction).map(|(x, v)| Scalar::F64(x + step * v)).collect();
            match argument.shape.is_empty() {
                true => Val::Scalar(moved[0]),
                false => crate::outcome::value(ravel_types::Elem::F64, &argument.shape, &moved),
            }
        };
        let args = self.args.iter().map(|a| value(a, step)).chain(self.constants.iter().map(|c| value(c, 0.0)));
        let func = FuncId::from_u32(FUNCTION);
        let found = numbers(ravel_interp::run_func(module, table::find, func, args.collect()))?;
        Ok(product(&self.weights, &found).0)
    }
}

impl Argument {
    fn random(rng: &mut Rng) -> Argument {
        let rank = rng.pick(&[0, 0, 1, 1, 1, 2, 2, 3]);
        let shape: Vec<i64> = (0..rank).map(|_| rng.range(1, if rank == 1 { 9 } else { 5 })).collect();
        let count = count_of(&shape);
        let at = (0..count).map(|_| rng.range(-8, 12) as f64 * 0.25).collect();
        let direction = (0..count).map(|_| quarters(rng)).collect();
        Argument { shape, at, direction }
    }
}

fn count_of(shape: &[i64]) -> usize {
    shape.iter().product::<i64>() as usize
}

/// A few quarters, but not none: a seed of 0 asks for nothing.
fn quarters(rng: &mut Rng) -> f64 {
    let size = rng.range(1, 8) as f64 * 0.25;
    if rng.chance(1, 2) { size } else { -size }
}

fn definition(name: &str, shape: &[i64], numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|x| format!("{x:?}")).collect();
    match shape {
        [] => format!("{name}: f64 = opaque {}", numbers[0]),
        _ => format!("{name}: {} = constarray [{}]", known_ty(shape), numbers.join(", ")),
    }
}

fn numbers(outcome: Result<Vec<Val>, RunError>) -> Result<Vec<Vec<f64>>, String> {
    let real = |scalar: Scalar| if let Scalar::F64(x) = scalar { x } else { f64::NAN };
    let all = |val: &Val| val.scalars().unwrap_or_default().into_iter().map(real).collect();
    outcome.map(|values| values.iter().map(all).collect()).map_err(|e| format!("{e:?}"))
}

/// The sum of products, and that of their sizes.
fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> (f64, f64) {
    let terms: Vec<f64> = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b).collect();
    (terms.iter().sum(), terms.iter().map(|t| t.abs()).sum())
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_functions_are_worth_a_look() {
        let (mut varied, mut smooth) = (0, 0);
        for seed in 0..200 {
            let case = Case::new(seed);
            let module = case.module().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            let product = case.check(&module).unwrap_or_else(|e| panic!("seed {seed}: {}", e.what));
            varied += usize::from(product != 0.0 && product.is_finite());
            smooth += usize::from(case.is_smooth);
        }
        assert!(varied > 140 && smooth > 80, "{varied} depend on their arguments, {smooth} are smooth");
    }
}
