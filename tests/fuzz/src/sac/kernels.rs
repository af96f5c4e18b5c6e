//! Programs as people write them: whole kernels as functions over arrays of any extent, called with arrays of few elements.

use super::{Elem, Gen, Var};

impl Gen {
    /// Defines a kernel and a variable that holds its result.
    pub(super) fn kernel(&mut self) -> String {
        let elem = self.rng.pick(&[Elem::Int, Elem::Double, Elem::Float, Elem::Double, Elem::Float]);
        match self.rng.below(13) {
            0 | 1 => self.product(elem),
            2 | 3 => self.stencil(elem),
            4 => self.convolution(elem),
            5 => self.escape(),
            6 => self.normalized(elem),
            7 => self.counted(),
            8 => self.running(elem),
            9 => self.pooled(elem),
            10 => self.triangle(elem),
            11 => self.together(elem),
            _ => self.shifts(elem),
        }
    }

    pub(super) fn length(&mut self) -> usize {
        self.rng.pick(&[0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 20, 33])
    }

    /// Adds a function.
    pub(super) fn function(&mut self, text: &str) {
        let inline = if self.rng.chance(1, 3) { "inline " } else { "" };
        self.functions.push_str(&format!("{inline}{text}\n\n"));
    }

    pub(super) fn result(&mut self, elem: Elem, shape: &[usize], call: &str) -> String {
        let call = if self.rng.chance(1, 5) { format!("hideShape({call})") } else { call.to_string() };
        self.define(elem, shape, &call)
    }

    /// Numbers that depend on the index, small and exact; extents may be zero.
    pub(super) fn numbers(&mut self, elem: Elem, shape: &[usize]) -> String {
        let names: Vec<String> = shape.iter().map(|_| self.fresh("i")).collect();
        let sum: Vec<String> = names.iter().map(|name| format!("{name} * {}", self.rng.range(1, 6))).collect();
        let modulus = self.rng.pick(&[5, 7, 11]);
        let number = format!("(({} + {}) % {modulus} - {})", sum.join(" + "), self.rng.below(9), modulus / 2);
        let number = match elem {
            Elem::Double => format!("tod({number}) * 0.25d"),
            Elem::Float => format!("tof({number}) * 0.25f"),
            _ => number,
        };
        let (names, shape) = (super::vector(&names), super::vector(shape));
        let text = format!("{{ {names} -> {number} | {names} < {shape} }}");
        match self.rng.below(4) {
            0 => format!("hideShape({text})"),
            1 => format!("hideValue({text})"),
            _ => text,
        }
    }

    fn product(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("product"), elem.name());
        let (m, n, k) = (self.length(), self.length(), self.length());
        let (head, of_b, b_shape) = if self.rng.chance(1, 2) {
            (format!("{ty}[m,n] {name}({ty}[m,k] a, {ty}[k,n] b)"), "b[l,j]", [k, n])
        } else {
            (format!("{ty}[m,n] {name}({ty}[m,k] a, {ty}[n,k] b)"), "b[j,l]", [n, k])
        };
        let body = match self.rng.below(3) {
            0 => format!("{{ [i,j] -> sum({{ [l] -> a[i,l] * {of_b} | [l] < [k] }}) | [i,j] < [m,n] }}"),
            1 => format!(
                "with {{ ([0,0] <= [i,j] < [m,n]) {{ s = with {{ ([0] <= [l] < [k]) : a[i,l] * {of_b}; }} : fold(+, {0}); }} : s; }} \
                 : genarray([m,n], {0})",
                elem.zero()
            ),
            _ if of_b == "b[j,l]" => "{ [i,j] -> sum(a[i] * b[j]) | [i,j] < [m,n] }".to_string(),
            _ => "{ [i,j] -> sum(a[i] * { [l] -> b[l,j] | [l] < [k] }) | [i,j] < [m,n] }".to_string(),
        };
        self.function(&format!("{head}\n{{\n    return {body};\n}}"));
        let (a, b) = (self.numbers(elem, &[m, k]), self.numbers(elem, &b_shape));
        self.result(elem, &[m, n], &format!("{name}({a}, {b})"))
    }

    /// Neighbours along both axes; the border wraps, keeps its values, or takes the nearest.
    fn stencil(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("stencil"), elem.name());
        let shape = [self.length(), self.length()];
        let sum = |n: [&str; 4]| format!("a[{},j] + a[{},j] + a[i,{}] + a[i,{}]", n[0], n[1], n[2], n[3]);
        let whole = |cell: &str| format!("{{ [i,j] -> {cell} | [i,j] < [m,n] }}");
        let plain = sum(["i-1", "i+1", "j-1", "j+1"]);
        let body = match self.rng.below(6) {
            0 => whole(&sum(["mod(i-1, m)", "mod(i+1, m)", "mod(j-1, n)", "mod(j+1, n)"])),
            1 => whole(&sum(["(i+m-1) % m", "(i+1) % m", "(j+n-1) % n", "(j+1) % n"])),
            2 => whole(&sum(["max(i-1, 0)", "min(i+1, m-1)", "max(j-1, 0)", "min(j+1, n-1)"])),
            3 => whole(&format!("i == 0 || i == m-1 || j == 0 || j == n-1 ? a[i,j] : {plain}")),
            4 => format!("with {{ ([1,1] <= [i,j] < [max(m-1, 1), max(n-1, 1)]) : {plain}; }} : modarray(a)"),
            _ => {
                let turned = "rotate(0, 1, a) + rotate(0, -1, a) + rotate(1, 1, a) + rotate(1, -1, a)";
                if shape.contains(&0) { whole("a[i,j]") } else { turned.to_string() }
            }
        };
        // A box must lie within the array.
        let body = if shape.iter().any(|n| *n < 2) && body.starts_with("with") { whole("a[i,j]") } else { body };
        self.function(&format!("{ty}[m,n] {name}({ty}[m,n] a)\n{{\n    return {body};\n}}"));
        let a = self.numbers(elem, &shape);
        let once = format!("{name}({a})");
        let twice = self.rng.chance(1, 3);
        self.result(elem, &shape, &if twice { format!("{name}({once})") } else { once })
    }

    fn convolution(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("conv"), elem.name());
        let rank = 1 + self.rng.below(2);
        let window: Vec<usize> = (0..rank).map(|_| 1 + self.rng.below(4)).collect();
        let shape: Vec<usize> = window.iter().map(|w| w + self.rng.below(12)).collect();
        let out: Vec<usize> = shape.iter().zip(&window).map(|(n, w)| n - w + 1).collect();
        self.function(&format!(
            "{ty}[d:r] {name}({ty}[d:s] a, {ty}[d:t] w)\n{{\n    return {{ iv -> sum({{ ov -> w[ov] * a[iv + ov] }}) | iv < s - t + 1 }};\n}}"
        ));
        let (a, w) = (self.numbers(elem, &shape), self.numbers(elem, &window));
        self.result(elem, &out, &format!("{name}({a}, {w})"))
    }

    /// Every element runs a loop of its own length.
    fn escape(&mut self) -> String {
        let (name, elem) = (self.fresh("escape"), self.rng.pick(&[Elem::Double, Elem::Float]));
        let (ty, f) = (elem.name(), if elem == Elem::Float { "f" } else { "d" });
        let condition = self.rng.pick(&["n < most && z * z <= 4", "z < 2", "n < most", "n < most && z != 1"]);
        let condition =
            if condition.ends_with("most") { condition.to_string() } else { format!("n < most && {condition}{f}") };
        let condition = condition.replace("n < most && n < most", "n < most");
        self.function(&format!(
            "int {name}({ty} x, int most)\n{{\n    z = 0{f};\n    n = 0;\n    while ({condition}) {{\n        z = z + x;\n        n++;\n    }}\n    return n;\n}}"
        ));
        let rank = 1 + self.rng.below(2);
        let shape: Vec<usize> = (0..rank).map(|_| self.length()).collect();
        let points = self.numbers(elem, &shape);
        let all = self.fresh("escapes");
        self.function(&format!(
            "int[d:s] {all}({ty}[d:s] a, int most)\n{{\n    return {{ iv -> {name}(a[iv], most) | iv < s }};\n}}"
        ));
        let most = self.rng.range(0, 12);
        self.result(Elem::Int, &shape, &format!("{all}({points}, {most})"))
    }

    /// A function from vector to vector for every row.
    fn normalized(&mut self, elem: Elem) -> String {
        let (row, name, ty) = (self.fresh("row"), self.fresh("rows"), elem.name());
        let (m, n) = (self.length(), self.length().max(1));
        let body = match self.rng.below(3) {
            0 => "a - maxval(a)".to_string(),
            1 => "a + rotate(0, 1, a) - minval(a)".to_string(),
            _ => format!("{{ [k] -> sum({{ [l] -> a[l] | [l] < [k + 1] }}) + {} | [k] < shape(a) }}", elem.zero()),
        };
        self.function(&format!("{ty}[.] {row}({ty}[.] a)\n{{\n    return {body};\n}}"));
        self.function(&format!(
            "{ty}[m,n] {name}({ty}[m,n] a)\n{{\n    return {{ [i] -> {row}(a[i]) | [i] < [m] }};\n}}"
        ));
        let a = self.numbers(elem, &[m, n]);
        self.result(elem, &[m, n], &format!("{name}({a})"))
    }

    /// A table that a loop fills at places that the data say.
    fn counted(&mut self) -> String {
        let name = self.fresh("counts");
        let (n, cells) = (self.length(), 1 + self.rng.below(9));
        self.function(&format!(
            "int[.] {name}(int[.] data, int cells)\n{{\n    table = genarray([cells], 0);\n    for (i = 0; i < shape(data)[0]; i++) {{\n        \
             at = mod(data[i], cells);\n        table[at] = table[at] + 1;\n    }}\n    return table;\n}}"
        ));
        let data = self.numbers(Elem::Int, &[n]);
        self.result(Elem::Int, &[cells], &format!("{name}({data}, {cells})"))
    }

    /// A loop along an array, with a second name for an earlier state.
    fn running(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("running"), elem.name());
        let n = self.length();
        let step = self.rng.pick(&[
            "a[i] = a[i] + a[i - 1];",
            "b = a;\n        a[i] = max(b[i], a[i - 1]) + b[0];",
            "b[i] = a[i - 1] + b[i];\n        a = b;",
            "c = b;\n        b[i] = a[i] - c[i - 1];\n        a[i - 1] = c[i];",
        ]);
        self.function(&format!(
            "{ty}[.] {name}({ty}[.] a)\n{{\n    b = a;\n    for (i = 1; i < shape(a)[0]; i++) {{\n        {step}\n    }}\n    return a + b;\n}}"
        ));
        let a = self.numbers(elem, &[n]);
        self.result(elem, &[n], &format!("{name}({a})"))
    }

    fn pooled(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("pooled"), elem.name());
        let block = 1 + self.rng.below(3);
        let out = [self.length(), self.length()];
        let large = [out[0] * block, out[1] * block];
        let spread = self.rng.chance(1, 2);
        self.function(&format!(
            "{ty}[d:r] {name}({ty}[d:s] a, int[d] w)\n{{\n    return {{ iv -> sum({{ ov -> a[iv * w + ov] | ov < w }}) | iv < s / w }};\n}}"
        ));
        let a = self.numbers(elem, &large);
        let call = format!("{name}({a}, [{block},{block}])");
        if !spread {
            return self.result(elem, &out, &call);
        }
        let back = self.fresh("spread");
        self.function(&format!(
            "{ty}[d:r] {back}({ty}[d:s] a, int[d] w)\n{{\n    return {{ iv -> a[iv / w] | iv < s * w }};\n}}"
        ));
        self.result(elem, &large, &format!("{back}({call}, [{block},{block}])"))
    }

    fn triangle(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("triangle"), elem.name());
        let (m, n) = (self.length(), self.length());
        let (lower, upper) =
            self.rng.pick(&[("0", "min(i + 1, n)"), ("min(i, n)", "n"), ("min(max(i - 2, 0), n)", "min(i + 3, n)")]);
        let step = self.rng.pick(&["", "", " step [2]", " step [3] width [2]"]);
        let fold = self.rng.pick(&["+", "max", "min"]);
        self.function(&format!(
            "{ty}[m] {name}({ty}[m,n] a, {ty}[n] x)\n{{\n    return {{ [i] -> with {{ ([{lower}] <= [k] < [{upper}]{step}) : a[i,k] * x[k]; }} : \
             fold({fold}, {}) | [i] < [m] }};\n}}",
            elem.zero()
        ));
        let (a, x) = (self.numbers(elem, &[m, n]), self.numbers(elem, &[n]));
        self.result(elem, &[m], &format!("{name}({a}, {x})"))
    }

    /// Several results of one with-loop.
    fn together(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("together"), elem.name());
        let (m, n) = (self.length(), self.length());
        self.function(&format!(
            "{ty}[.,.], {ty}, {ty}[.,.] {name}({ty}[m,n] a)\n{{\n    b, s, c = with {{\n        ([0,0] <= [i,j] < [m,n]) {{\n            x = a[i,j];\n            \
             y = x * x;\n        }} : (y, x, x - y);\n    }} : (genarray([m,n], {0}), fold(+, {0}), modarray(a));\n    return (b, s, c);\n}}",
            elem.zero()
        ));
        let a = self.numbers(elem, &[m, n]);
        let names = [self.fresh("v"), self.fresh("v"), self.fresh("v")];
        let shapes: [&[usize]; 3] = [&[m, n], &[], &[m, n]];
        for (name, shape) in names.iter().zip(shapes) {
            self.vars.push(Var { name: name.clone(), elem, shape: shape.to_vec() });
        }
        format!("    {} = {name}({a});\n", names.join(", "))
    }

    /// Shifts by numbers that the compiler does not see.
    fn shifts(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("shifts"), elem.name());
        let n = self.length().max(1);
        let steps: Vec<String> = (0..1 + self.rng.below(3))
            .map(|_| {
                let by = format!("hideValue({})", self.rng.range(-5, 5));
                match self.rng.below(3) {
                    0 => format!("rotate(0, {by}, a)"),
                    1 => format!("shift(0, {by}, {}, a)", elem.zero()),
                    _ => format!("a + rotate(0, {by}, a)"),
                }
            })
            .map(|step| format!("    a = {step};\n"))
            .collect();
        self.function(&format!("{ty}[.] {name}({ty}[.] a)\n{{\n{}    return a;\n}}", steps.concat()));
        let a = self.numbers(elem, &[n]);
        self.result(elem, &[n], &format!("{name}({a})"))
    }
}
