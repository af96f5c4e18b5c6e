//! Random SaC: functions over small arrays of known shapes, mostly without faults.
//!
//! Numbers are integers, booleans and doubles that are multiples of a power of two, so that sums are exact in any order.

mod idioms;
mod kernels;

use crate::rng::Rng;
use ravel_driver::{Compilation, Options};
use ravel_specialize::Entry;
use ravel_wir::Module;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Elem {
    Int,
    Double,
    Float,
    Bool,
}

impl Elem {
    fn name(self) -> &'static str {
        match self {
            Elem::Int => "int",
            Elem::Double => "double",
            Elem::Float => "float",
            Elem::Bool => "bool",
        }
    }

    fn zero(self) -> &'static str {
        match self {
            Elem::Int => "0",
            Elem::Double => "0d",
            Elem::Float => "0f",
            Elem::Bool => "false",
        }
    }
}

#[derive(Clone)]
struct Var {
    name: String,
    elem: Elem,
    shape: Vec<usize>,
}

/// An index in scope: below an extent.
#[derive(Clone)]
struct Index {
    name: String,
    extent: usize,
}

struct Gen {
    rng: Rng,
    vars: Vec<Var>,
    indices: Vec<Index>,
    functions: String,
    names: usize,
    /// The library of complex numbers is needed.
    uses_complex: bool,
}

/// The program of a seed; its function `entry` gives several arrays.
pub fn program(seed: u64) -> String {
    let mut g = Gen {
        rng: Rng::new(seed ^ 0x5ac),
        vars: Vec::new(),
        indices: Vec::new(),
        functions: String::new(),
        names: 0,
        uses_complex: false,
    };
    let mut body = String::new();
    let kernels = g.rng.below(3);
    for _ in 0..kernels {
        let kernel = if g.rng.chance(1, 2) { g.kernel() } else { g.idiom() };
        body.push_str(&kernel);
    }
    let made = g.vars.len();
    for _ in 0..(3 + g.rng.below(6)) / (1 + kernels) {
        body.push_str(&g.statement());
    }
    // What the kernels gave, and the last few of the rest.
    let count = 1 + g.rng.below(3).min(g.vars.len() - 1);
    let results: Vec<Var> =
        g.vars.iter().skip(made).rev().take(count).chain(g.vars.iter().take(made)).cloned().collect();
    let types: Vec<String> = results.iter().map(|v| format!("{}[*]", v.elem.name())).collect();
    let values: Vec<&str> = results.iter().map(|v| v.name.as_str()).collect();
    format!(
        "use Array: all;\nuse Hiding: all;\n{}\n{}{} entry()\n{{\n{body}    return ({});\n}}\n",
        if g.uses_complex { "use Complex: all;\n" } else { "" },
        g.functions,
        types.join(", "),
        values.join(", ")
    )
}

/// The program as a module whose entry is its function `entry`.
///
/// # Errors
/// What the compiler says against it.
pub fn module(text: &str) -> Result<Module, String> {
    let mut compilation = Compilation::new(Options::default());
    let told = |compilation: &Compilation, failure: &dyn std::fmt::Display| {
        let texts: Vec<String> = compilation.diagnostics.iter().map(|d| d.title.clone()).collect();
        format!("{failure}: {}", texts.join("; "))
    };
    let program = match compilation.core_of_text("fuzz.sac", text.into()) {
        Ok(program) => program,
        Err(failure) => return Err(told(&compilation, &failure)),
    };
    let fun = program.funs.iter().position(|f| f.name == "entry").ok_or("no function `entry`")?;
    let entry = Entry::Function { fun: ravel_core::ir::FunId(fun as u32), args: Vec::new(), init_globals: false };
    match compilation.specialize(&program, entry) {
        Ok(made) => Ok(made.module),
        Err(failure) => Err(told(&compilation, &failure)),
    }
}

fn vector(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items: Vec<String> = items.into_iter().map(|i| i.to_string()).collect();
    format!("[{}]", items.join(","))
}

impl Gen {
    fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    fn elem(&mut self) -> Elem {
        self.rng.pick(&[Elem::Int, Elem::Int, Elem::Double, Elem::Double, Elem::Float, Elem::Bool])
    }

    fn shape(&mut self) -> Vec<usize> {
        let rank = 1 + self.rng.below(3).min(self.rng.below(3));
        (0..rank).map(|_| self.rng.pick(&[1, 2, 2, 3, 3, 4, 5, 9])).collect()
    }

    fn define(&mut self, elem: Elem, shape: &[usize], text: &str) -> String {
        let name = self.fresh("v");
        self.vars.push(Var { name: name.clone(), elem, shape: shape.to_vec() });
        format!("    {name} = {text};\n")
    }

    fn statement(&mut self) -> String {
        let (elem, shape) = (self.elem(), self.shape());
        match self.rng.below(8) {
            0 => {
                let text = self.scalar(elem, 3);
                self.define(elem, &[], &text)
            }
            1 => self.updates(elem, &shape),
            2 => self.branch(elem, &shape),
            3 => {
                let text = self.called(elem, &shape);
                self.define(elem, &shape, &text)
            }
            _ => {
                let text = self.array(elem, &shape, 3);
                self.define(elem, &shape, &text)
            }
        }
    }

    /// A loop that assigns elements.
    fn updates(&mut self, elem: Elem, shape: &[usize]) -> String {
        let value = self.array(elem, shape, 1);
        let mut text = self.define(elem, shape, &value);
        let array = self.vars[self.vars.len() - 1].name.clone();
        let i = self.fresh("i");
        self.indices.push(Index { name: i.clone(), extent: shape[0] });
        let cell = self.array(elem, &shape[1..], 2);
        text.push_str(&format!(
            "    for ({i} = 0; {i} < {}; {i}++) {{\n        {array}[{i}] = {cell};\n    }}\n",
            shape[0]
        ));
        self.indices.pop();
        text
    }

    fn branch(&mut self, elem: Elem, shape: &[usize]) -> String {
        let condition = self.scalar(Elem::Bool, 2);
        let (then, other) = (self.array(elem, shape, 2), self.array(elem, shape, 2));
        let name = self.fresh("v");
        self.vars.push(Var { name: name.clone(), elem, shape: shape.to_vec() });
        format!(
            "    if ({condition}) {{\n        {name} = {then};\n    }} else {{\n        {name} = {other};\n    }}\n"
        )
    }

    /// A call of a new function, overloaded by rank or element type.
    fn called(&mut self, elem: Elem, shape: &[usize]) -> String {
        let name = self.fresh("f");
        let argument = self.array(elem, shape, 2);
        let (outer_vars, outer_indices) = (std::mem::take(&mut self.vars), std::mem::take(&mut self.indices));
        let ty = elem.name();
        let pattern = match self.rng.below(4) {
            0 => "[*]".to_string(),
            1 => "[d:shp]".to_string(),
            2 => vector(shape.iter().enumerate().map(|(k, _)| format!("n{k}"))),
            _ => vector(shape.iter().map(|_| ".")),
        };
        self.vars.push(Var { name: "a".to_string(), elem, shape: shape.to_vec() });
        let body = self.array(elem, shape, 2);
        let inline = if self.rng.chance(1, 2) { "inline " } else { "" };
        self.functions.push_str(&format!("{inline}{ty}[*] {name}({ty}{pattern} a)\n{{\n    return {body};\n}}\n\n"));
        if self.rng.chance(1, 2) {
            self.functions.push_str(&format!("{ty} {name}({ty} a)\n{{\n    return a;\n}}\n\n"));
        }
        (self.vars, self.indices) = (outer_vars, outer_indices);
        format!("{name}({argument})")
    }

    fn known(&mut self, elem: Elem, shape: &[usize]) -> Option<String> {
        let found: Vec<usize> =
            (0..self.vars.len()).filter(|k| self.vars[*k].elem == elem && self.vars[*k].shape == shape).collect();
        if found.is_empty() { None } else { Some(self.vars[self.rng.pick(&found)].name.clone()) }
    }

    fn literal(&mut self, elem: Elem) -> String {
        match elem {
            Elem::Int => {
                let n = self.rng.range(-3, 9);
                if n < 0 { format!("({n})") } else { n.to_string() }
            }
            Elem::Double => format!("({:?}d)", self.rng.range(-12, 12) as f64 * 0.25),
            Elem::Float => format!("({:?}f)", self.rng.range(-12, 12) as f64 * 0.25),
            Elem::Bool => self.rng.pick(&["true", "false"]).to_string(),
        }
    }

    /// An index below `extent`, of indices in scope.
    fn index(&mut self, extent: usize) -> String {
        let fitting: Vec<Index> = self.indices.iter().filter(|i| i.extent <= extent).cloned().collect();
        if !fitting.is_empty() && self.rng.chance(3, 4) {
            let index = fitting[self.rng.below(fitting.len())].clone();
            return match self.rng.below(4) {
                0 => format!("{}-{}", extent - 1, index.name),
                1 if index.extent < extent => format!("{}+{}", index.name, extent - index.extent),
                _ => index.name,
            };
        }
        if !self.indices.is_empty() && self.rng.chance(1, 3) {
            let index = self.indices[self.rng.below(self.indices.len())].name.clone();
            let shift = self.rng.range(0, 3);
            return format!("mod({index}+{shift}, {extent})");
        }
        self.rng.below(extent).to_string()
    }

    fn scalar(&mut self, elem: Elem, depth: usize) -> String {
        if depth == 0 || self.rng.chance(1, 6) {
            return self.known(elem, &[]).filter(|_| self.rng.chance(2, 3)).unwrap_or_else(|| self.literal(elem));
        }
        let depth = depth - 1;
        match (self.rng.below(8), elem) {
            (0..=2, _) => {
                let arrays: Vec<Var> = self
                    .vars
                    .iter()
                    .filter(|v| v.elem == elem && !v.shape.is_empty() && !v.shape.contains(&0))
                    .cloned()
                    .collect();
                if arrays.is_empty() {
                    return self.literal(elem);
                }
                let array = arrays[self.rng.below(arrays.len())].clone();
                let index: Vec<String> = array.shape.iter().map(|n| self.index(*n)).collect();
                format!("{}{}", array.name, vector(index))
            }
            (3, Elem::Int) if !self.indices.is_empty() => self.indices[self.rng.below(self.indices.len())].name.clone(),
            (3, Elem::Int | Elem::Double | Elem::Float) => {
                let (shape, op) = (self.shape(), self.rng.pick(&["sum", "maxval", "minval"]));
                format!("{op}({})", self.array(elem, &shape, depth))
            }
            (4, Elem::Double) => format!("tod({})", self.scalar(Elem::Int, depth)),
            (4, Elem::Float) => format!("tof({})", self.scalar(Elem::Int, depth)),
            (5, _) => {
                let c = self.scalar(Elem::Bool, depth);
                format!("({c} ? {} : {})", self.scalar(elem, depth), self.scalar(elem, depth))
            }
            (6, Elem::Int | Elem::Double | Elem::Float) => format!(
                "{}({}, {})",
                self.rng.pick(&["min", "max"]),
                self.scalar(elem, depth),
                self.scalar(elem, depth)
            ),
            (_, Elem::Int | Elem::Double | Elem::Float) => {
                let op = self.rng.pick(&["+", "-", "*"]);
                // A product of literals and products would leave the exact doubles.
                let right = if op == "*" { self.literal(elem) } else { self.scalar(elem, depth) };
                format!("({} {op} {right})", self.scalar(elem, depth))
            }
            (3, Elem::Bool) => {
                let (shape, op) = (self.shape(), self.rng.pick(&["all", "any"]));
                format!("{op}({})", self.array(elem, &shape, depth))
            }
            (4, Elem::Bool) => format!("!{}", self.scalar(elem, depth)),
            (6, Elem::Bool) => {
                format!("({} {} {})", self.scalar(elem, depth), self.rng.pick(&["&&", "||"]), self.scalar(elem, depth))
            }
            (_, Elem::Bool) => {
                let of = self.rng.pick(&[Elem::Int, Elem::Double]);
                let op = self.rng.pick(&["<", "<=", "==", "!=", ">", ">="]);
                format!("({} {op} {})", self.scalar(of, depth), self.scalar(of, depth))
            }
        }
    }

    fn array(&mut self, elem: Elem, shape: &[usize], depth: usize) -> String {
        if shape.is_empty() {
            return self.scalar(elem, depth);
        }
        if depth == 0 || self.rng.chance(1, 8) {
            if let Some(name) = self.known(elem, shape) {
                return name;
            }
            return self.plain(elem, shape);
        }
        let depth = depth - 1;
        match self.rng.below(14) {
            0..=3 => self.comprehension(elem, shape, depth),
            4..=5 => self.with_loop(elem, shape, depth),
            6 => {
                let axis = self.rng.below(shape.len());
                format!("reverse({axis}, {})", self.array(elem, shape, depth))
            }
            7 => {
                let (axis, by) = (self.rng.below(shape.len()), self.rng.range(-4, 4));
                format!("rotate({axis}, {by}, {})", self.array(elem, shape, depth))
            }
            8 => {
                let turned: Vec<usize> = shape.iter().rev().copied().collect();
                format!("transpose({})", self.array(elem, &turned, depth))
            }
            9 => {
                let (before, after) = (self.rng.below(3), self.rng.below(3));
                let mut larger = shape.to_vec();
                larger[0] += before + after;
                let inner = self.array(elem, &larger, depth);
                match self.rng.below(2) {
                    0 => format!("take([{}], drop([{before}], {inner}))", shape[0]),
                    _ => format!("drop([{before}], drop([-{after}], {inner}))"),
                }
            }
            10 => {
                let mask = self.array(Elem::Bool, shape, depth);
                format!("where({mask}, {}, {})", self.array(elem, shape, depth), self.array(elem, shape, depth))
            }
            11 => {
                let mut larger = vec![1 + self.rng.below(3)];
                larger.extend(shape);
                let at = self.index(larger[0]);
                let inner = self.array(elem, &larger, depth);
                // A selection from a literal or a call needs a name for the array.
                format!("sel([{at}], {inner})")
            }
            12 => {
                let flat = self.array(elem, &[shape.iter().product()], depth);
                format!("reshape({}, {flat})", vector(shape))
            }
            _ => self.combined(elem, shape, depth),
        }
    }

    fn combined(&mut self, elem: Elem, shape: &[usize], depth: usize) -> String {
        let left = self.array(elem, shape, depth);
        match elem {
            Elem::Bool => {
                let of = self.rng.pick(&[Elem::Int, Elem::Double]);
                format!("({} < {})", self.array(of, shape, depth), self.array(of, shape, depth))
            }
            _ => {
                let op = self.rng.pick(&["+", "-", "*"]);
                let right = match op {
                    "*" => self.literal(elem),
                    _ if self.rng.chance(1, 3) => self.scalar(elem, depth),
                    _ => self.array(elem, shape, depth),
                };
                format!("({left} {op} {right})")
            }
        }
    }

    fn plain(&mut self, elem: Elem, shape: &[usize]) -> String {
        let count: usize = shape.iter().product();
        let hide = self.rng.chance(1, 4);
        let text = match elem {
            _ if count <= 6 && self.rng.chance(1, 2) => {
                let items: Vec<String> = (0..count).map(|_| self.literal(elem)).collect();
                format!("reshape({}, {})", vector(shape), vector(items))
            }
            Elem::Int => format!("reshape({}, iota({count}))", vector(shape)),
            Elem::Double => format!("tod(reshape({}, iota({count})))", vector(shape)),
            Elem::Float => format!("tof(reshape({}, iota({count})))", vector(shape)),
            Elem::Bool => format!("genarray({}, {})", vector(shape), self.literal(elem)),
        };
        if hide { format!("{}({text})", self.rng.pick(&["hideShape", "hideValue", "hideDim"])) } else { text }
    }

    fn in_scope<T>(&mut self, names: &[String], extents: &[usize], work: impl FnOnce(&mut Self) -> T) -> T {
        let mark = self.indices.len();
        let new = names.iter().zip(extents).map(|(name, extent)| Index { name: name.clone(), extent: *extent });
        self.indices.extend(new);
        let result = work(self);
        self.indices.truncate(mark);
        result
    }

    fn comprehension(&mut self, elem: Elem, shape: &[usize], depth: usize) -> String {
        let frame = if self.rng.chance(3, 4) { shape.len() } else { 1 };
        let names: Vec<String> = (0..frame).map(|_| self.fresh("i")).collect();
        let cell = self.in_scope(&names, &shape[..frame], |g| g.array(elem, &shape[frame..], depth));
        format!("{{ {} -> {cell} | {} < {} }}", vector(&names), vector(&names), vector(&shape[..frame]))
    }

    fn with_loop(&mut self, elem: Elem, shape: &[usize], depth: usize) -> String {
        let names: Vec<String> = shape.iter().map(|_| self.fresh("i")).collect();
        let lower: Vec<usize> = shape.iter().map(|n| self.rng.below(*n)).collect();
        let upper: Vec<usize> = shape.iter().zip(&lower).map(|(n, l)| l + self.rng.below(n - l + 1)).collect();
        let cell = self.in_scope(&names, shape, |g| g.scalar(elem, depth));
        let step =
            if self.rng.chance(1, 3) { format!(" step {}", vector(shape.iter().map(|_| 2))) } else { String::new() };
        let generator = format!("({} <= {} < {}{step}) : {cell};", vector(&lower), vector(&names), vector(&upper));
        if self.rng.chance(1, 2) {
            let array = self.array(elem, shape, depth);
            return format!("with {{ {generator} }} : modarray({array})");
        }
        format!("with {{ {generator} }} : genarray({}, {})", vector(shape), elem.zero())
    }
}
