//! Random with-loops with inner folds: shifted, strided, reversed and divided indices, ragged bounds, constant and run-time extents.

use crate::common::same;

/// A generator of small numbers; the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as i64) % n
    }

    fn one_in(&mut self, n: i64) -> bool {
        self.below(n) == 0
    }
}

/// An index variable and its extent: it runs from 0.
#[derive(Clone)]
struct Index {
    name: String,
    extent: i64,
}

struct Program {
    random: Random,
    text: String,
    names: usize,
    elem: &'static str,
    /// Arrays with their extents.
    arrays: Vec<(String, Vec<i64>)>,
    /// Extents as run-time values and their symbols.
    run_time: bool,
}

impl Program {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("%t{}", self.names)
    }

    fn line(&mut self, text: String) {
        self.text.push_str(&text);
        self.text.push('\n');
    }

    /// An extent as an operand and as part of a type.
    fn extent(&mut self, n: i64) -> (String, String) {
        if self.run_time { (format!("%n{n}"), format!("s{n}")) } else { (n.to_string(), n.to_string()) }
    }

    fn shape(&mut self, extents: &[i64]) -> (String, String) {
        let parts: Vec<(String, String)> = extents.iter().map(|n| self.extent(*n)).collect();
        let join = |f: fn(&(String, String)) -> String| parts.iter().map(f).collect::<Vec<_>>().join(", ");
        (join(|p| p.0.clone()), join(|p| p.1.clone()))
    }

    fn define(&mut self, ty: &str, op: String) -> String {
        let name = self.name();
        self.line(format!("{name}: {ty} = {op}"));
        name
    }

    /// An index into an axis of extent `n`, made of the variables in scope.
    fn index(&mut self, scope: &[Index], n: i64) -> String {
        let var = scope[self.random.below(scope.len() as i64) as usize].clone();
        let other = scope[self.random.below(scope.len() as i64) as usize].clone();
        match self.random.below(7) {
            0 if var.extent <= n => {
                let last = n - 1;
                self.define("i32", format!("sub {last}, {}", var.name))
            }
            1 if 2 * var.extent - 1 <= n => self.define("i32", format!("mul {}, 2", var.name)),
            2 if var.extent <= 2 * n => self.define("i32", format!("div {}, 2", var.name)),
            3 => self.random.below(n).to_string(),
            4 if var.name != other.name && var.extent + other.extent - 1 <= n => {
                self.define("i32", format!("add {}, {}", var.name, other.name))
            }
            _ if var.extent < n => {
                let shift = self.random.below(n - var.extent + 1);
                self.define("i32", format!("add {}, {shift}", var.name))
            }
            _ if var.extent == n => var.name,
            _ => self.define("i32", format!("mod {}, {n}", var.name)),
        }
    }

    fn select(&mut self, scope: &[Index]) -> String {
        let which = self.random.below(self.arrays.len() as i64) as usize;
        let (name, extents) = self.arrays[which].clone();
        let indices: Vec<String> = extents.iter().map(|n| self.index(scope, *n)).collect();
        let elem = self.elem;
        self.define(elem, format!("sel {name}, [{}]", indices.join(", ")))
    }

    /// A scalar expression.
    fn expression(&mut self, scope: &[Index], depth: i64) -> String {
        let elem = self.elem;
        match self.random.below(if depth == 0 { 2 } else { 8 }) {
            0 => self.select(scope),
            1 => {
                let var = scope[self.random.below(scope.len() as i64) as usize].name.clone();
                self.define(elem, format!("convert {var}"))
            }
            2 | 3 => self.fold(scope, depth - 1),
            4 => {
                let (x, y) = (self.expression(scope, depth - 1), self.expression(scope, depth - 1));
                let c = self.define("bool", format!("lt {x}, {y}"));
                self.define(elem, format!("select {c}, {y}, {x}"))
            }
            op => {
                let (x, y) = (self.expression(scope, depth - 1), self.expression(scope, depth - 1));
                let op = ["add", "sub", "mul"][(op - 5) as usize];
                self.define(elem, format!("{op} {x}, {y}"))
            }
        }
    }

    fn fold(&mut self, scope: &[Index], depth: i64) -> String {
        let elem = self.elem;
        let rank = 1 + self.random.below(2);
        let mut inner = scope.to_vec();
        let (mut lower, mut upper, mut vars) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rank {
            let most = if self.random.one_in(3) { 14 } else { 5 };
            let extent = 1 + self.random.below(most);
            let var = Index { name: self.name(), extent };
            if self.random.one_in(4) {
                // A window around an outer index, cut off at the ends.
                let around = scope[self.random.below(scope.len() as i64) as usize].name.clone();
                let low = self.define("i32", format!("add {around}, -2"));
                let low = self.define("i32", format!("max {low}, 0"));
                let high = self.define("i32", format!("add {around}, 2"));
                lower.push(self.define("i32", format!("min {low}, {extent}")));
                upper.push(self.define("i32", format!("min {high}, {extent}")));
            } else {
                lower.push("0".to_string());
                upper.push(self.extent(extent).0);
            }
            vars.push(var.name.clone());
            inner.push(var);
        }
        let name = self.name();
        let op = ["add", "add", "max", "min"][self.random.below(4) as usize];
        self.line(format!(
            "{name}: {elem} = with {{ part [{}] <= [{}] < [{}] {{",
            lower.join(", "),
            vars.join(", "),
            upper.join(", ")
        ));
        let cell = self.expression(&inner, depth);
        self.line(format!("yield {cell} }} }} fold {op} neutral 1.0:{elem}"));
        name
    }

    /// A genarray; its name and extents are noted.
    fn array(&mut self, depth: i64) {
        let elem = self.elem;
        let rank = 1 + self.random.below(3) as usize;
        let extents: Vec<i64> = (0..rank).map(|k| 1 + self.random.below(if k + 1 == rank { 26 } else { 7 })).collect();
        let scope: Vec<Index> = extents.iter().map(|n| Index { name: self.name(), extent: *n }).collect();
        let (operands, types) = self.shape(&extents);
        let zeros = vec!["0"; rank].join(", ");
        let vars = scope.iter().map(|i| i.name.clone()).collect::<Vec<_>>().join(", ");
        let name = self.name();
        self.line(format!("{name}: {elem}[{types}] = with {{ part [{zeros}] <= [{vars}] < [{operands}] {{"));
        let cell = if self.arrays.is_empty() {
            let sum = scope.iter().skip(1).fold(scope[0].name.clone(), |sum, i| {
                let three = self.define("i32", format!("mul {sum}, 3"));
                self.define("i32", format!("add {three}, {}", i.name))
            });
            let small = self.define("i32", format!("mod {sum}, 5"));
            self.define(elem, format!("convert {small}"))
        } else {
            self.expression(&scope, depth)
        };
        self.line(format!("yield {cell} }} }} genarray [{operands}] cell []"));
        self.arrays.push((name, extents));
    }

    /// A number that depends on all elements of the last array.
    fn digest(&mut self) -> String {
        let (name, extents) = self.arrays.last().expect("an array was made").clone();
        let elem = self.elem;
        let scope: Vec<Index> = extents.iter().map(|n| Index { name: self.name(), extent: *n }).collect();
        let vars = scope.iter().map(|i| i.name.clone()).collect::<Vec<_>>().join(", ");
        let zeros = vec!["0"; extents.len()].join(", ");
        let (operands, _) = self.shape(&extents);
        let result = self.name();
        self.line(format!("{result}: {elem} = with {{ part [{zeros}] <= [{vars}] < [{operands}] {{"));
        let x = self.define(elem, format!("sel {name}, [{vars}]"));
        let last = scope.last().expect("arrays have axes").name.clone();
        let w = self.define("i32", format!("mod {last}, 3"));
        let w = self.define(elem, format!("convert {w}"));
        let w = self.define(elem, format!("add {w}, 1.0:{elem}"));
        let y = self.define(elem, format!("mul {x}, {w}"));
        self.line(format!("yield {y} }} }} fold max neutral -1e6:{elem}"));
        result
    }
}

#[test]
fn random_with_loops() {
    for seed in 0..100 {
        let mut random = Random(seed * 7919 + 17);
        for _ in 0..5 {
            random.below(2);
        }
        let elem = if random.one_in(2) { "f32" } else { "f64" };
        let run_time = random.one_in(3);
        let mut p = Program { random, text: String::new(), names: 0, elem, arrays: Vec::new(), run_time };
        p.line(format!("entry @f0\nfunc @f0 \"main\" () -> ({elem}, {elem}, {elem}) {{"));
        if run_time {
            for n in 1..30 {
                p.line(format!("%n{n}: i32 = opaque {n}"));
            }
        }
        p.array(0);
        let mut digests = Vec::new();
        for depth in [1, 2, 2] {
            p.array(depth);
            digests.push(p.digest());
        }
        p.line(format!("yield {}\n}}", digests.join(", ")));
        same(&p.text);
    }
}
