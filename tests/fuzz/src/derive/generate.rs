//! Random functions of reals that have derivatives.
//!
//! Reals are kept small, so that rounding is no excuse. What decides a branch, an index or which of two numbers is the greater one is exact: computed from the
//! arguments, which are multiples of a quarter, without any rounding. So every way to run a function goes the same way, and ties are ties everywhere.

mod arrays;
mod indices;

use crate::rng::Rng;
use std::fmt::Write;

/// What is computed in a region, at most, counted by the elements of its with-loops and rounds of its loops.
const MOST_RUNS: i64 = 600;

/// Exact reals have no more bits than this, so that sums of them are exact, too.
const MOST_BITS: f64 = 40.0;

/// A real value in scope.
#[derive(Clone)]
pub struct Var {
    pub name: String,
    pub shape: Vec<i64>,
    /// Bits behind the binary point, if nothing was rounded.
    exact: Option<u32>,
    /// No element is greater than this, or less than its negative.
    most: f64,
}

/// An integer in scope, and its bounds.
#[derive(Clone)]
struct Int {
    name: String,
    low: i64,
    high: i64,
}

/// A function of scalars that may be called.
#[derive(Clone)]
struct Callee {
    number: usize,
    params: usize,
}

/// A function in text.
pub struct Body {
    /// Instructions, whose names all begin with `%b`.
    pub text: String,
    pub results: Vec<Var>,
    /// Functions that it calls.
    pub functions: String,
    /// It is differentiable everywhere, and not held constant anywhere.
    pub is_smooth: bool,
}

struct Generator<'r> {
    rng: &'r mut Rng,
    extents: &'r Extents,
    text: String,
    functions: Vec<(usize, String)>,
    names: usize,
    vars: Vec<Var>,
    /// Of these, so many of the first are arguments.
    args: usize,
    ints: Vec<Int>,
    callees: Vec<Callee>,
    next_function: usize,
    runs: i64,
    fuel: i64,
    is_smooth: bool,
    /// It is to be smooth.
    wants_smooth: bool,
    /// Regions of `derive` around.
    level: usize,
}

/// The type of a real value whose extents are all known.
pub fn known_ty(shape: &[i64]) -> String {
    match shape {
        [] => "f64".to_string(),
        _ => format!("f64{shape:?}"),
    }
}

/// Which extents only run time knows: each is a symbol in types, and a scalar in every function.
pub struct Extents(pub Vec<i64>);

impl Extents {
    /// The type of a real value.
    pub fn ty(&self, shape: &[i64]) -> String {
        let extent = |n: &i64| if self.0.contains(n) { format!("s{n}") } else { n.to_string() };
        match shape {
            [] => "f64".to_string(),
            _ => format!("f64[{}]", shape.iter().map(extent).collect::<Vec<_>>().join(", ")),
        }
    }

    /// A list of extents as operands.
    fn list(&self, shape: &[i64]) -> String {
        let extent = |n: &i64| if self.0.contains(n) { format!("%bn{n}") } else { n.to_string() };
        format!("[{}]", shape.iter().map(extent).collect::<Vec<_>>().join(", "))
    }

    /// The scalars, which stand before the instructions of a function.
    pub fn definitions(&self) -> String {
        self.0.iter().map(|n| format!("%bn{n}: i32 = opaque {n}\n")).collect()
    }
}

/// An argument: multiples of a quarter.
pub fn argument(name: &str, shape: &[i64]) -> Var {
    Var { name: name.to_string(), shape: shape.to_vec(), exact: Some(2), most: 3.0 }
}

/// A function of these values. Functions that it needs are numbered from `first_function` on.
pub fn body(rng: &mut Rng, args: &[Var], first_function: usize, extents: &Extents) -> Body {
    let fuel = [15, 30, 60][rng.below(3)];
    let mut generator = Generator {
        text: String::new(),
        functions: Vec::new(),
        names: 0,
        vars: args.to_vec(),
        args: args.len(),
        ints: Vec::new(),
        callees: Vec::new(),
        next_function: first_function,
        runs: 1,
        fuel,
        is_smooth: true,
        wants_smooth: rng.chance(1, 2),
        level: 0,
        extents,
        rng,
    };
    let results = generator.results();
    let Generator { text, mut functions, is_smooth, .. } = generator;
    functions.sort();
    let functions = functions.into_iter().map(|(_, text)| text).collect();
    Body { text, results, functions, is_smooth }
}

impl Generator<'_> {
    fn results(&mut self) -> Vec<Var> {
        for _ in 0..1 + self.rng.below(5) {
            let made = self.value(3);
            self.vars.push(made);
        }
        let mut results: Vec<Var> = Vec::new();
        for _ in 0..1 + self.rng.below(2) {
            let made = self.value(3);
            let made = self.small(made);
            let made = self.with_arguments(made);
            results.push(self.small(made));
        }
        results
    }

    /// The value, to which products of arguments are added: so most results depend on one.
    fn with_arguments(&mut self, var: Var) -> Var {
        if !var.shape.is_empty() {
            let shape = var.shape.clone();
            return self.by_cells(&shape, |g| {
                let index = g.own_index(shape.len());
                let element = g.real(&format!("sel {}, [{index}]", var.name), None, var.most);
                g.with_arguments(element)
            });
        }
        let mut sum = var;
        for _ in 0..2 {
            let arg = self.vars[self.rng.below(self.args)].clone();
            let arg = self.as_scalar(arg);
            let factor = self.leaf();
            let product = self.real(&format!("mul {}, {}", arg.name, factor.name), None, arg.most * factor.most);
            sum = self.real(&format!("add {}, {}", sum.name, product.name), None, sum.most + product.most);
        }
        sum
    }

    /// A value of a shape by chance.
    fn value(&mut self, depth: usize) -> Var {
        if self.rng.chance(1, 2) {
            return self.scalar(depth);
        }
        let shape = self.shape();
        self.array(&shape, depth)
    }

    fn shape(&mut self) -> Vec<i64> {
        let rank = self.rng.pick(&[1, 1, 1, 2, 2, 3]);
        (0..rank).map(|_| self.rng.range(1, 5)).collect()
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("%b{}", self.names)
    }

    /// Appends an instruction with one result.
    fn emit(&mut self, ty: &str, op: &str) -> String {
        self.fuel -= 1;
        let name = self.name();
        self.line(&format!("{name}: {ty} = {op}"));
        name
    }

    fn line(&mut self, line: &str) {
        // Strings take all that is written.
        let _ = writeln!(self.text, "{line}");
    }

    fn real(&mut self, op: &str, exact: Option<u32>, most: f64) -> Var {
        let name = self.emit("f64", op);
        let exact = exact.filter(|bits| f64::from(*bits) + most.max(1.0).log2() < MOST_BITS);
        Var { name, shape: Vec::new(), exact, most }
    }

    fn constant(&mut self) -> Var {
        let number = self.rng.range(-8, 8) as f64 * 0.25;
        Var { name: format!("{number:?}"), shape: Vec::new(), exact: Some(2), most: number.abs() }
    }

    /// Runs `work` where what it brings into scope leaves it again.
    fn inside<T>(&mut self, runs: i64, work: impl FnOnce(&mut Self) -> T) -> T {
        let (vars, ints, outer) = (self.vars.len(), self.ints.len(), self.runs);
        self.runs = outer * runs.max(1);
        let result = work(self);
        self.runs = outer;
        self.vars.truncate(vars);
        self.ints.truncate(ints);
        result
    }

    /// The value, or a bounded function of it.
    fn small(&mut self, var: Var) -> Var {
        if var.most <= 8.0 {
            return var;
        }
        if !var.shape.is_empty() {
            let shape = var.shape.clone();
            return self.by_cells(&shape, |g| {
                let index = g.own_index(shape.len());
                let element = g.real(&format!("sel {}, [{index}]", var.name), None, var.most);
                g.small(element)
            });
        }
        let op = self.rng.pick(&["sin", "tanh", "cos"]);
        self.real(&format!("{op} {}", var.name), None, 1.0)
    }

    /// A scalar.
    fn scalar(&mut self, depth: usize) -> Var {
        if depth == 0 || self.fuel <= 0 {
            return self.leaf();
        }
        let many = self.runs > MOST_RUNS / 8;
        let made = match self.rng.below(20) {
            0..=1 => self.leaf(),
            2..=5 => self.unary(depth - 1),
            6..=10 => self.binary(depth - 1),
            11 => self.kink(depth - 1),
            12 => self.decided(depth - 1),
            13..=14 if !many => self.fold(depth - 1),
            15 if !many => self.rounds(depth - 1),
            16 => self.call(depth - 1),
            17 => self.nested(depth - 1),
            18 => self.held(depth - 1),
            _ => self.element(depth - 1),
        };
        if self.rng.chance(1, 3) {
            self.vars.push(made.clone());
        }
        made
    }

    fn leaf(&mut self) -> Var {
        match self.rng.below(6) {
            0 => self.constant(),
            1 if !self.ints.is_empty() => {
                let int = self.ints[self.rng.below(self.ints.len())].clone();
                let most = int.low.abs().max(int.high.abs()) as f64;
                self.real(&format!("convert {}", int.name), Some(0), most)
            }
            2..=3 => self.element(0),
            _ => {
                let scalars: Vec<usize> = (0..self.vars.len()).filter(|i| self.vars[*i].shape.is_empty()).collect();
                match scalars.is_empty() {
                    true => self.element(0),
                    false => {
                        // Most likely a late one.
                        let back = self.rng.below(scalars.len()).min(self.rng.below(scalars.len()));
                        self.vars[scalars[scalars.len() - 1 - back]].clone()
                    }
                }
            }
        }
    }

    /// An element of an array in scope, or of a new one.
    fn element(&mut self, depth: usize) -> Var {
        let arrays: Vec<usize> = (0..self.vars.len()).filter(|i| !self.vars[*i].shape.is_empty()).collect();
        let array = match arrays.is_empty() {
            true if depth == 0 => return self.constant(),
            true => {
                let shape = self.shape();
                self.array(&shape, depth)
            }
            false => self.vars[arrays[self.rng.below(arrays.len())]].clone(),
        };
        let index: Vec<String> = array.shape.iter().map(|extent| self.index(*extent)).collect();
        self.real(&format!("sel {}, [{}]", array.name, index.join(", ")), array.exact, array.most)
    }

    /// A scalar that nothing was rounded for, unless nothing is to be decided.
    fn exact(&mut self) -> Option<Var> {
        if self.wants_smooth {
            return None;
        }
        let fits = |var: &Var| var.shape.is_empty() && var.exact.is_some() && var.most < 1000.0;
        let found: Vec<Var> = self.vars.iter().filter(|var| fits(var)).cloned().collect();
        if !found.is_empty() && self.rng.chance(2, 3) {
            return Some(found[self.rng.below(found.len())].clone());
        }
        let made = self.element(0);
        Some(made).filter(|var| fits(var)).or_else(|| found.last().cloned())
    }

    fn unary(&mut self, depth: usize) -> Var {
        let x = self.scalar(depth);
        let x = if x.most > 3.0 { self.tanh(&x) } else { x };
        let name = &x.name.clone();
        match self.rng.below(4) {
            0 => {
                let op = self.rng.pick(&["sqrt", "cbrt", "log", "log2", "log10", "log1p", "reciproc"]);
                let positive = self.positive(&x);
                let most = match op {
                    "reciproc" => 2.0,
                    _ => 4.0,
                };
                self.real(&format!("{op} {}", positive.name), None, most)
            }
            1 => {
                let op = self.rng.pick(&["asin", "acos", "atanh", "tan"]);
                let sine = self.emit("f64", &format!("sin {name}"));
                let unit = self.emit("f64", &format!("mul {sine}, 0.75"));
                self.real(&format!("{op} {unit}"), None, 2.5)
            }
            2 => {
                let op = self.rng.pick(&["exp", "expm1", "sinh", "cosh"]);
                self.real(&format!("{op} {name}"), None, 21.0)
            }
            _ => {
                let op = self.rng.pick(&["neg", "sin", "cos", "atan", "tanh", "asinh"]);
                let exact = x.exact.filter(|_| op == "neg");
                self.real(&format!("{op} {name}"), exact, x.most.max(2.0))
            }
        }
    }

    fn tanh(&mut self, x: &Var) -> Var {
        self.real(&format!("tanh {}", x.name), None, 1.0)
    }

    /// One that is at least a half.
    fn positive(&mut self, x: &Var) -> Var {
        let square = self.real(&format!("mul {}, {}", x.name, x.name), x.exact.map(|bits| 2 * bits), x.most * x.most);
        self.real(&format!("add {}, 0.5", square.name), square.exact.map(|bits| bits.max(1)), square.most + 0.5)
    }

    fn binary(&mut self, depth: usize) -> Var {
        let (a, b) = (self.scalar(depth), self.scalar(depth));
        let (a, b) = (self.small(a), self.small(b));
        let op = self.rng.pick(&["add", "add", "sub", "mul", "mul", "mul", "div", "pow", "atan2", "hypot"]);
        let bits = |join: fn(u32, u32) -> u32| a.exact.zip(b.exact).map(|(a, b)| join(a, b));
        match op {
            "add" | "sub" => self.real(&format!("{op} {}, {}", a.name, b.name), bits(u32::max), a.most + b.most),
            "mul" => self.real(&format!("mul {}, {}", a.name, b.name), bits(|a, b| a + b), a.most * b.most),
            "div" => {
                let divisor = self.positive(&b);
                self.real(&format!("div {}, {}", a.name, divisor.name), None, 2.0 * a.most)
            }
            "pow" => {
                let (a, b) = (self.tanh(&a), self.tanh(&b));
                let base = self.positive(&a);
                self.real(&format!("pow {}, {}", base.name, b.name), None, 2.0)
            }
            _ => {
                let positive = self.positive(&b);
                self.real(&format!("{op} {}, {}", a.name, positive.name), None, (a.most + positive.most).max(3.2))
            }
        }
    }

    /// An operation that is not smooth, on what is exact.
    fn kink(&mut self, depth: usize) -> Var {
        let Some((a, b)) = self.exact().zip(self.exact()) else { return self.scalar(depth) };
        self.is_smooth = false;
        let exact = a.exact.max(b.exact);
        let most = a.most.max(b.most);
        match self.rng.below(8) {
            0 => self.real(&format!("abs {}", a.name), a.exact, a.most),
            1 => {
                let op = self.rng.pick(&["floor", "ceil", "rint", "trunc"]);
                self.real(&format!("{op} {}", a.name), Some(0), a.most + 1.0)
            }
            2 => {
                let op = self.rng.pick(&["mod", "aplmod"]);
                let b = self.positive(&b);
                self.real(&format!("{op} {}, {}", a.name, b.name), None, a.most + b.most)
            }
            3 => self.real(&format!("copysign {}, {}", a.name, b.name), a.exact, a.most),
            4 => {
                // With itself, or with a constant that it may be equal to.
                let op = self.rng.pick(&["min", "max"]);
                let other = if self.rng.chance(1, 2) { a.clone() } else { self.constant() };
                self.real(&format!("{op} {}, {}", a.name, other.name), exact, most.max(other.most))
            }
            _ => {
                let op = self.rng.pick(&["min", "max"]);
                self.real(&format!("{op} {}, {}", a.name, b.name), exact, most)
            }
        }
    }

    fn condition(&mut self) -> Option<String> {
        let (a, b) = (self.exact()?, if self.rng.chance(1, 2) { self.exact()? } else { self.constant() });
        let op = self.rng.pick(&["lt", "le", "gt", "ge", "eq", "neq"]);
        self.is_smooth = false;
        Some(self.emit("bool", &format!("{op} {}, {}", a.name, b.name)))
    }

    /// A selection or a branch.
    fn decided(&mut self, depth: usize) -> Var {
        let Some(condition) = self.condition() else { return self.scalar(depth) };
        if self.rng.chance(1, 2) {
            let (a, b) = (self.scalar(depth), self.scalar(depth));
            let exact = a.exact.zip(b.exact).map(|(a, b)| a.max(b));
            return self.real(&format!("select {condition}, {}, {}", a.name, b.name), exact, a.most.max(b.most));
        }
        let shape = if self.rng.chance(1, 3) { self.shape() } else { Vec::new() };
        let branch = self.branch(&condition, &shape, depth);
        self.as_scalar(branch)
    }

    fn branch(&mut self, condition: &str, shape: &[i64], depth: usize) -> Var {
        let name = self.name();
        self.line(&format!("{name}: {} = if {condition} {{", self.extents.ty(shape)));
        let mut most: f64 = 0.0;
        for end in ["} else {", "}"] {
            let made = self.inside(1, |g| {
                let made = if shape.is_empty() { g.scalar(depth) } else { g.array(shape, depth) };
                g.line(&format!("yield {}", made.name));
                made
            });
            self.line(end);
            most = most.max(made.most);
        }
        Var { name, shape: shape.to_vec(), exact: None, most }
    }

    fn as_scalar(&mut self, var: Var) -> Var {
        if var.shape.is_empty() {
            return var;
        }
        let index: Vec<String> = var.shape.iter().map(|extent| self.index(*extent)).collect();
        let element = self.real(&format!("sel {}, [{}]", var.name, index.join(", ")), var.exact, var.most);
        self.vars.push(var);
        element
    }

    /// A fold of every kind.
    fn fold(&mut self, depth: usize) -> Var {
        let rank = self.rng.pick(&[1, 1, 2]);
        let lower: Vec<i64> = (0..rank).map(|_| self.rng.range(0, 1)).collect();
        let upper: Vec<i64> = (0..rank).map(|_| self.rng.range(1, 4)).collect();
        let grid = self.rng.chance(1, 5).then(|| (self.rng.range(2, 3), 1));
        let count = lower.iter().zip(&upper).map(|(l, u)| (u - l).max(0)).product::<i64>() as f64;
        let kind = self.rng.below(6);
        let kind = if kind == 2 && self.wants_smooth { 0 } else { kind };
        let name = self.name();
        let cells = if kind == 5 { self.shape() } else { Vec::new() };
        self.line(&format!("{name}: {} = with {{", self.extents.ty(&cells)));
        let is_open = self.rng.chance(1, 4);
        let cell = self.part(&lower, &upper, grid, is_open, |g| {
            let cell = match kind {
                2 => g.exact().unwrap_or_else(|| g.constant()),
                5 => g.array(&cells, depth),
                _ => g.scalar(depth),
            };
            let cell = if kind == 2 { cell } else { g.small(cell) };
            // Products stay small if there are more than a few factors.
            let cell = if kind == 1 && cell.most > 2.0 { g.tanh(&cell) } else { cell };
            (cell.name.clone(), cell)
        });
        let start = self.constant();
        let (how, exact, most) = match kind {
            1 => {
                let stop = if self.rng.chance(1, 4) { " stop 0.0" } else { "" };
                (format!("mul neutral {}{stop}", start.name), None, start.most.max(1.0) * 2.0_f64.powf(count))
            }
            2 => {
                self.is_smooth = false;
                let (op, neutral) = self.rng.pick(&[("max", "-1000.0"), ("min", "1000.0")]);
                let neutral = if count == 0.0 || self.rng.chance(1, 3) { &start.name } else { neutral };
                (format!("{op} neutral {neutral}"), cell.exact.map(|bits| bits.max(2)), 1000.0)
            }
            3 | 4 => {
                let (acc, item) = (self.name(), self.name());
                let (half, sum, sine) = (self.name(), self.name(), self.name());
                let text = format!(
                    "{{ ({acc}: f64, {item}: f64) {half}: f64 = mul {acc}, {item} {sum}: f64 = add {half}, {item} {sine}: f64 = sin {sum} yield {sine} }}"
                );
                (format!("{text} neutral {}", start.name), None, start.most.max(1.0))
            }
            5 => {
                let zeros = vec![start.name.clone(); cells.iter().product::<i64>() as usize].join(", ");
                // The neutral stands before the fold.
                let neutral = self.name();
                let at = self.text.rfind(&format!("{name}: ")).unwrap_or(self.text.len());
                self.text.insert_str(at, &format!("{neutral}: {} = constarray [{zeros}]\n", known_ty(&cells)));
                (format!("add neutral {neutral}"), None, start.most + cell.most * count)
            }
            _ => {
                let exact = cell.exact.map(|bits| bits.max(2));
                (format!("add neutral {}", start.name), exact, start.most + cell.most * count)
            }
        };
        self.line(&format!("}} fold {how}"));
        let exact = exact.filter(|bits| f64::from(*bits) + most.max(1.0).log2() < MOST_BITS);
        let fold = Var { name, shape: cells, exact, most };
        self.as_scalar(fold)
    }

    /// A loop that is counted, or goes on while something exact is small; its state is a scalar or an array.
    fn rounds(&mut self, depth: usize) -> Var {
        let rounds = self.rng.range(1, 4);
        let shape = if self.rng.chance(1, 2) { self.shape() } else { Vec::new() };
        let start = match shape.is_empty() {
            true => self.scalar(depth),
            false => self.array(&shape, depth),
        };
        let start = self.small(start);
        let (last, name, count, state) = (self.name(), self.name(), self.name(), self.name());
        let ty = self.extents.ty(&shape);
        self.line(&format!("{last}: i32, {name}: {ty} = loop ({count}: i32 = 0, {state}: {ty} = {}) {{", start.name));
        self.inside(rounds, |g| {
            g.ints.push(Int { name: count.clone(), low: 0, high: rounds - 1 });
            g.vars.push(Var { name: state.clone(), shape: shape.clone(), exact: None, most: start.most.max(8.0) });
            let next = match shape.is_empty() {
                true => g.scalar(depth),
                false if g.rng.chance(1, 2) => g.updated(&state, &shape, depth),
                false => g.array(&shape, depth),
            };
            let next = g.small(next);
            let up = g.emit("i32", &format!("add {count}, 1"));
            let go = g.emit("bool", &format!("lt {up}, {rounds}"));
            g.line(&format!("yield {go}, {up}, {} }}", next.name));
        });
        self.as_scalar(Var { name, shape, exact: None, most: start.most.max(8.0) })
    }

    /// A call of a function of scalars, which may be called again.
    fn call(&mut self, depth: usize) -> Var {
        if self.callees.is_empty() || self.rng.chance(1, 3) {
            self.function(depth);
        }
        let callee = self.callees[self.rng.below(self.callees.len())].clone();
        let mut args = Vec::new();
        for _ in 0..callee.params {
            let arg = self.scalar(depth.min(1));
            args.push(self.small(arg).name);
        }
        self.real(&format!("call @f{} ({})", callee.number, args.join(", ")), None, 8.0)
    }

    fn function(&mut self, depth: usize) {
        let (number, params) = (self.next_function, 1 + self.rng.below(3));
        self.next_function += 1;
        let names: Vec<String> = (0..params).map(|_| self.name()).collect();
        let vars =
            names.iter().map(|name| Var { name: name.clone(), shape: Vec::new(), exact: None, most: 8.0 }).collect();
        let outer_vars = std::mem::replace(&mut self.vars, vars);
        let outer_ints = std::mem::take(&mut self.ints);
        let outer_text = std::mem::take(&mut self.text);
        // It calls only those that were there before it.
        let result = self.scalar(depth + 1);
        let result = self.small(result);
        let text = std::mem::replace(&mut self.text, outer_text);
        (self.vars, self.ints) = (outer_vars, outer_ints);
        let params_text: Vec<String> = names.iter().map(|name| format!("{name}: f64")).collect();
        let head = format!("func @f{number} \"part{number}\" ({}) -> (f64) {{", params_text.join(", "));
        self.functions
            .push((number, format!("{head}\n{}{text}yield {}\n}}\n", self.extents.definitions(), result.name)));
        self.callees.push(Callee { number, params });
    }

    /// The derivative of a function of a scalar.
    fn nested(&mut self, depth: usize) -> Var {
        if self.level > 0 || self.rng.chance(1, 2) {
            return self.scalar(depth);
        }
        let at = self.scalar(depth);
        let at = self.small(at);
        let (value, slope, param) = (self.name(), self.name(), self.name());
        let mode = self.rng.pick(&["forward", "reverse"]);
        self.line(&format!("{value}: f64, {slope}: f64 = derive {mode} ({param}: f64 = {}) seeds (1.0) {{", at.name));
        self.level += 1;
        self.inside(1, |g| {
            g.vars.push(Var { name: param, shape: Vec::new(), exact: None, most: 8.0 });
            let made = g.scalar(depth);
            g.line(&format!("yield {} }}", made.name));
        });
        self.level -= 1;
        self.small(Var { name: slope, shape: Vec::new(), exact: None, most: 1e9 })
    }

    /// What is held constant.
    fn held(&mut self, depth: usize) -> Var {
        let x = self.scalar(depth);
        if self.wants_smooth || self.rng.chance(1, 2) {
            return x;
        }
        self.is_smooth = false;
        self.real(&format!("detach {}", x.name), x.exact, x.most)
    }
}
