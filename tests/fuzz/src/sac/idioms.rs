//! Programs as people write them, continued: with-loops of several partitions whose bounds only the run knows, folds of several
//! kinds, loops that change several arrays, records, complex numbers, small integers.

use super::{Elem, Gen, Var};

impl Gen {
    /// Defines one of these and variables that hold its results.
    pub(super) fn idiom(&mut self) -> String {
        let elem = self.rng.pick(&[Elem::Int, Elem::Double, Elem::Float]);
        match self.rng.below(12) {
            0 | 1 => self.parts(elem),
            2 => self.parts_of_fold(elem),
            3 => self.scattered(elem),
            4 | 5 => self.loops(elem),
            6 => self.records(elem),
            7 => self.complexes(),
            8 => self.growing(elem),
            9 => self.training(elem),
            10 => self.extremes(elem),
            _ => self.bytes(),
        }
    }

    /// Defines variables for several results; their names, in a row.
    fn several(&mut self, results: &[(Elem, &[usize])]) -> String {
        let mut names = Vec::new();
        for &(elem, shape) in results {
            let name = self.fresh("v");
            names.push(name.clone());
            self.vars.push(Var { name, elem, shape: shape.to_vec() });
        }
        names.join(", ")
    }

    /// A place of `0 ..= most` as an expression over `n`, constant or known to the run alone.
    fn place(&mut self, most: &str) -> String {
        let k = self.rng.below(9);
        match self.rng.below(5) {
            0 => "0".to_string(),
            1 => most.to_string(),
            2 => format!("min({k}, {most})"),
            3 => format!("max({most} - {k}, 0)"),
            _ => format!("min(max(p - {k}, 0), {most})"),
        }
    }

    /// Partitions of two axes, which may overlap, be empty, or have steps; the first written one wins.
    fn parts(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("parts"), elem.name());
        let shape = [self.length(), self.length()];
        let mut parts = String::new();
        for _ in 0..1 + self.rng.below(4) {
            let bounds: Vec<String> = ["m", "n", "m", "n"].iter().map(|most| self.place(most)).collect();
            let step = self.rng.pick(&["", "", "", " step [1,2]", " step [2,3] width [1,2]", " step [3,1]"]);
            let cell =
                self.rng.pick(&["a[i,j] + a[i,j]", "a[i,j] - a[m-1-i,j]", "a[i,n-1-j]", "a[0,j]", "a[i,j] * a[i,j]"]);
            let body = match self.rng.below(4) {
                0 => format!("{{ x = {cell}; y = i > j ? x : a[i,j]; }} : y"),
                _ => format!(": {cell}"),
            };
            parts.push_str(&format!(
                "        ([{},{}] <= [i,j] < [{},{}]{step}) {body};\n",
                bounds[0], bounds[1], bounds[2], bounds[3]
            ));
        }
        let operator = match self.rng.below(3) {
            0 => "modarray(a)".to_string(),
            1 => format!("genarray([m,n], {})", elem.zero()),
            _ => format!("fold(+, {})", elem.zero()),
        };
        let is_fold = operator.starts_with("fold");
        let result = if is_fold { ty.to_string() } else { format!("{ty}[m,n]") };
        self.function(&format!(
            "{result} {name}({ty}[m,n] a, int p)\n{{\n    return with {{\n{parts}    }} : {operator};\n}}"
        ));
        let (a, p) = (self.numbers(elem, &shape), self.rng.below(20));
        let p = if self.rng.chance(2, 3) { format!("hideValue({p})") } else { p.to_string() };
        let times = if is_fold { 1 } else { 1 + self.rng.below(2) };
        let call = (0..times).fold(a, |a, _| format!("{name}({a}, {p})"));
        self.result(elem, if is_fold { &[] } else { &shape }, &call)
    }

    /// Several folds of one with-loop, over every n-th index or over windows of them.
    fn parts_of_fold(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("folds"), elem.name());
        let n = self.length();
        let step = self.rng.pick(&["", " step [2]", " step [3]", " step [3] width [2]", " step [k]"]);
        let (lower, upper) = (self.place("n"), self.place("n"));
        let function = self.fresh("by");
        self.function(&format!("{ty} {function}({ty} x, {ty} y)\n{{\n    return x + y - min(x, y);\n}}"));
        let by = self.rng.pick(&["+", "max", "min", &function, "+"]).to_string();
        self.function(&format!(
            "{ty}, {ty}, {ty}[.] {name}({ty}[n] a, int p, int k)\n{{\n    s, t, b = with {{\n        ([{lower}] <= [i] < [{upper}]{step}) {{\n            \
             x = a[i];\n        }} : (x, x * x, x + x);\n    }} : (fold(+, {0}), fold({by}, {0}), genarray([n], {0}));\n    return (s, t, b);\n}}",
            elem.zero()
        ));
        let a = self.numbers(elem, &[n]);
        let results = self.several(&[(elem, &[]), (elem, &[]), (elem, &[n])]);
        let (p, k) = (self.rng.below(20), 1 + self.rng.below(3));
        format!("    {results} = {name}({a}, hideValue({p}), hideValue({k}));\n")
    }

    /// Sums of arrays that are zero but for a few places.
    fn scattered(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("scattered"), elem.name());
        let (n, cells) = (self.length(), 1 + self.rng.below(9));
        let at = self.rng.pick(&["mod(d[i], m)", "mod(i * 3, m)", "min(i, m - 1)"]);
        let cell = match self.rng.below(3) {
            0 => format!("modarray(genarray([m], {}), [{at}], x[i])", elem.zero()),
            1 => format!("with {{ ([{at}] <= [k] < [{at} + 1]) : x[i]; }} : genarray([m], {})", elem.zero()),
            _ => format!("{{ [k] -> k == {at} ? x[i] : {} | [k] < [m] }}", elem.zero()),
        };
        self.function(&format!(
            "{ty}[.] {name}(int[n] d, {ty}[n] x, int m)\n{{\n    return with {{ ([0] <= [i] < [n]) : {cell}; }} : fold(+, genarray([m], {}));\n}}",
            elem.zero()
        ));
        let (d, x) = (self.numbers(Elem::Int, &[n]), self.numbers(elem, &[n]));
        let m = if self.rng.chance(1, 2) { format!("hideValue({cells})") } else { cells.to_string() };
        self.result(elem, &[cells], &format!("{name}({d}, {x}, {m})"))
    }

    /// Loops with indexed assignments to two arrays.
    fn loops(&mut self, elem: Elem) -> String {
        let (name, ty) = (self.fresh("loops"), elem.name());
        let shape = [self.length(), self.length()];
        let mut body = String::new();
        for _ in 0..1 + self.rng.below(2) {
            let header = self.rng.pick(&[
                "for (i = 0; i < m; i++)",
                "for (i = 1; i < m; i++)",
                "for (i = m - 1; i >= 0; i--)",
                "for (i = 0; i < m; i += 2)",
                "for (i = min(p, m); i < m; i++)",
            ]);
            let from_one = header.contains("i = 1");
            // Columns in the outer loop: what is interchanged.
            let by_columns = self.rng.chance(1, 3);
            let inner = match by_columns {
                true => self.rng.pick(&["for (j = 0; j < n; j++)", "for (j = 1; j < n; j++)"]),
                false => self.rng.pick(&[
                    "for (j = 0; j < n; j++)",
                    "for (j = 1; j < n; j++)",
                    "for (j = n - 1; j >= 0; j--)",
                    "for (j = n - 1; j > -1; j--)",
                    "for (j = 0; j <= n - 1; j++)",
                    "for (j = 0; j < min(i, n); j++)",
                ]),
            };
            let after_one = inner.contains("j = 1");
            let mut steps = Vec::new();
            for _ in 0..1 + self.rng.below(3) {
                let before = if from_one { "i-1,j" } else { "i,j" };
                let left = if after_one { "i,j-1" } else { "i,j" };
                steps.push(match self.rng.below(9) {
                    0 => format!("a[i,j] = a[{before}] + b[i,j];"),
                    1 => format!("b[i,j] = max(b[{left}], a[i,j]);"),
                    2 => format!("x = a[i,j]; a[i,j] = b[{left}]; b[i,j] = x;"),
                    3 => "if (a[i,j] > b[i,j]) { a[i,j] = b[i,j]; }".to_string(),
                    4 => format!("a[i,j] = b[{before}];"),
                    5 => format!("b[i,n-1-j] = a[{left}] - b[i,j];"),
                    6 => "a[i,n-1-j] = b[i,j];".to_string(),
                    7 => "b[i,j] = b[i,min(j+1,n-1)] + a[i,j];".to_string(),
                    _ => "s = s + a[i,j];".to_string(),
                });
            }
            let rows = self.rng.pick(&["", "", "a[i] = a[i] + b[i];", "b[i] = a[m-1-i];"]);
            let (outer, inner, rows) = if by_columns { (inner, header, "") } else { (header, inner, rows) };
            let steps = steps.join(" ");
            body.push_str(&format!("    {outer} {{\n        {inner} {{ {steps} }}\n        {rows}\n    }}\n"));
        }
        self.function(&format!(
            "{ty}[.,.], {ty}[.,.], {ty} {name}({ty}[m,n] a, {ty}[m,n] b, int p)\n{{\n    s = {};\n{body}    return (a, b, s);\n}}",
            elem.zero()
        ));
        let (a, b) = (self.numbers(elem, &shape), self.numbers(elem, &shape));
        let results = self.several(&[(elem, &shape), (elem, &shape), (elem, &[])]);
        format!("    {results} = {name}({a}, {b}, hideValue({}));\n", self.rng.below(5))
    }

    /// An array that gets longer in a loop, while something may hold it or read it.
    fn growing(&mut self, elem: Elem) -> String {
        let (name, ty, zero) = (self.fresh("growing"), elem.name(), elem.zero());
        let shape = [self.length()];
        let start = self.rng.pick(&["[ZERO]", "[ZERO] ++ a", "a ++ [ZERO]"]).replace("ZERO", zero);
        let mut steps = String::new();
        for _ in 0..1 + self.rng.below(2) {
            let step = self.rng.pick(&[
                "q = q ++ [a[i]];",
                "if (a[i] > ZERO) { q = q ++ [a[i], ZERO]; }",
                "q = q ++ a;",
                "x = q[shape(q)[0] - 1]; q = q ++ [x + a[i]];",
                "q = [a[i]] ++ q;",
                "b = q; q = q ++ [b[0]]; b[0] = a[i]; s = s + b[0];",
                "b = q ++ [a[i]]; s = s + sum(b); if (i % 2 == p) { q = b; }",
                "q = q ++ { [j] -> a[j] + a[i] | [j] < [min(i, m)] };",
            ]);
            steps.push_str(&format!("        {}\n", step.replace("ZERO", zero)));
        }
        self.function(&format!(
            "{ty} {name}({ty}[m] a, int p)\n{{\n    q = {start};\n    s = {zero};\n    for (i = 0; i < m; i++) {{\n{steps}    }}\n    \
             return s + sum(q) + q[shape(q)[0] - 1];\n}}"
        ));
        let a = self.numbers(elem, &shape);
        let p = self.rng.below(3);
        self.result(elem, &[], &format!("{name}({a}, hideValue({p}))"))
    }

    /// Extremes and their places: of what takes part, first or last of equals, with numbers that are none.
    fn extremes(&mut self, elem: Elem) -> String {
        let (name, ty, zero) = (self.fresh("extremes"), elem.name(), elem.zero());
        let n = self.rng.pick(&[9, 33, 40, 77]);
        let first = self.rng.pick(&["a[0]", "ZERO", "a[p]", "ZERO - a[0]"]);
        let less = self.rng.pick(&["<", ">", "<=", ">="]);
        let cond = self.rng.pick(&[
            "a[i] LESS m",
            "m LESS a[i]",
            "a[i] + a[i] LESS m + m",
            "i > p & a[i] LESS m",
            "a[i] LESS m & b[i] != i",
            "abs(a[i]) LESS abs(m)",
            "a[i] LESS a[at]",
            "!(a[i] LESS m)",
        ]);
        let taken = self.rng.pick(&[
            "m = a[i]; at = i;",
            "at = i; m = a[i]; x = a[n-1-i];",
            "m = a[i]; at = b[i] + i;",
            "m = a[i]; x = m;",
        ]);
        let start = self.rng.pick(&["0", "1", "p", "0"]);
        let loops = format!(
            "    m = {first};\n    at = p;\n    x = {zero};\n    for (i = {start}; i < n; i++) {{\n        if ({cond}) {{ {taken} }}\n    }}\n"
        );
        let text = format!(
            "{ty}, int, {ty} {name}({ty}[n] a, int[n] b, int p)\n{{\n{loops}    return (m, mod(at, 1000), x);\n}}"
        );
        let text = text.replace("LESS", less).replace("ZERO", zero);
        // An index that is chosen is one.
        let text = if text.contains("a[at]") { text.replace("at = b[i] + i;", "at = i;") } else { text };
        self.function(&text);
        let (mut a, b) = (self.numbers(elem, &[n]), self.numbers(Elem::Int, &[n]));
        if elem == Elem::Double && self.rng.chance(1, 2) {
            let none = self.rng.pick(&["0d / tod(hideValue(0))", "-1d / tod(hideValue(0))", "-0d"]);
            a = format!("with {{ ([1] <= [i] < [{n}] step [{}]) : {none}; }} : modarray({a})", 1 + self.rng.below(4));
        }
        let results = self.several(&[(elem, &[]), (Elem::Int, &[]), (elem, &[])]);
        format!("    {results} = {name}({a}, {b}, hideValue({}));\n", self.rng.below(3))
    }

    /// Arrays that each round changes by sums of arrays of their shape, large enough for threads; elements stay small, so that sums are exact.
    fn training(&mut self, elem: Elem) -> String {
        let (name, ty, zero) = (self.fresh("training"), elem.name(), elem.zero());
        let shape = self.rng.pick(&[[19, 28], [3, 179], [133, 4], [16, 48]]);
        let n = 24 + self.rng.below(20);
        let neutral = self.rng.pick(&[
            "{ [a,b] -> w[a,b] * ZERO | [a,b] < [R,C] }",
            "{ [a,b] -> w[a,b] + w[1,2] | [a,b] < [R,C] }",
            "{ [a,b] -> u[a,b] - w[a,b] | [a,b] < [R,C] }",
            "genarray([R,C], ZERO)",
            "w",
        ]);
        let cells = [
            "w",
            "w * d[i]",
            "i < p ? u : w",
            "{ [a,b] -> w[a,b] + d[mod(i + a, N)] | [a,b] < [R,C] }",
            "{ [a,b] -> u[a,C-1-b] - d[i] | [a,b] < [R,C] }",
        ];
        let (first, second) = (self.rng.pick(&cells), self.rng.pick(&cells));
        // What a cell takes from all of another array is not computed anew for each of its elements.
        let folds = self.rng.pick(&[
            "g, h = with { ([p] <= [i] < [N]) { x = FIRST; y = SECOND; LESS } : (c, y); } : (fold(+, z), fold(max, u));",
            "g, h = with { ([0] <= [i] < [N]) { x = FIRST; y = SECOND; LESS } : (c, x); } : (fold(+, z), fold(+, z));",
            "g = with { ([p] <= [i] < [N]) { x = FIRST; LESS } : c; } : fold(+, z);
        h = with { ([0] <= [i] < [p]) { x = SECOND; LESS } : c; } : fold(+, g);",
            "g = with { ([0] <= [i] < [N]) { x = FIRST; LESS } : c; } : fold(min, z);
        h = with { ([1] <= [i] < [N]) { x = SECOND; LESS } : c; } : fold(+, g);",
        ]);
        let less = self.rng.pick(&[
            "t = maxval(x); c = { [a,b] -> x[a,b] - t | [a,b] < [R,C] };",
            "t = sum(x); c = { [a,b] -> x[a,b] - x[R-1-a,b] + t | [a,b] < [R,C] };",
        ]);
        let mut steps = String::new();
        for _ in 0..1 + self.rng.below(3) {
            let step = self.rng.pick(&[
                "w = { [a,b] -> small(w[a,b] - h[a,b]) | [a,b] < [R,C] };",
                "w = { [a,b] -> small(g[a,b] + w[a,b]) | [a,b] < [R,C] };",
                "u = { [a,b] -> small(u[a,b] + g[a,b] - h[a,b]) | [a,b] < [R,C] };",
                "u = { [a,b] -> small(u[a,b] + w[a,b]) | [a,b] < [R,C] };",
                "u = { [a,b] -> small(w[R-1-a,b] + h[a,b]) | [a,b] < [R,C] };",
                "w = { [a,b] -> small(h[a,C-1-b]) | [a,b] < [R,C] };",
                "w = { [a,b] -> a > p ? w[a,b] : small(h[a,b]) | [a,b] < [R,C] };",
                "x = w; w = { [a,b] -> small(w[a,b] - h[a,b]) | [a,b] < [R,C] }; s = s + x[1,3];",
                "s = s + g[2,1] + small(sum(h));",
                "u, w = with { ([0,0] <= [a,b] < [R,C]) : (small(h[a,b] - u[a,b]), small(w[a,b] + h[a,b])); } : (genarray([R,C], ZERO), genarray([R,C], ZERO));",
            ]);
            steps.push_str(&format!("        {step}\n"));
        }
        let text = "TY[.,.], TY NAME(TY[R,C] w, TY[N] d, int p)\n{\n    u = { [a,b] -> w[a,b] - d[0] | [a,b] < [R,C] };\n    s = ZERO;\n    \
                    for (r = 0; r < 2; r++) {\n        z = NEUTRAL;\n        FOLDS\nSTEPS        w = { [a,b] -> w[a,b] + u[a,b] | [a,b] < [R,C] };\n    }\n    \
                    return (w, s);\n}";
        let text = text
            .replace("NEUTRAL", neutral)
            .replace("FOLDS", folds)
            .replace("LESS", less)
            .replace("STEPS", &steps)
            .replace("FIRST", first)
            .replace("SECOND", second)
            .replace("small(", &format!("small{name}("))
            .replace("NAME", &name)
            .replace("TY", ty)
            .replace("ZERO", zero)
            .replace('R', &shape[0].to_string())
            .replace('C', &shape[1].to_string())
            .replace('N', &n.to_string());
        self.function(&text);
        let (low, high) = match elem {
            Elem::Int => ("-9", "9"),
            Elem::Float => ("-9f", "9f"),
            _ => ("-9d", "9d"),
        };
        self.function(&format!("{ty} small{name}({ty} x)\n{{\n    return max(min(x, {high}), {low});\n}}"));
        let (w, d) = (self.numbers(elem, &shape), self.numbers(elem, &[n]));
        let results = self.several(&[(elem, &shape), (elem, &[])]);
        let p = self.rng.below(7);
        format!("    {results} = {name}({w}, {d}, hideValue({p}));\n")
    }

    /// Arrays of records, changed as wholes, by element and by field.
    fn records(&mut self, elem: Elem) -> String {
        let (name, record, ty) = (self.fresh("records"), self.fresh("R"), elem.name());
        let n = self.length();
        self.functions.insert_str(0, &format!("struct {record} {{ {ty} x, y; int n; }};\n\n"));
        let step = self.rng.pick(&[
            "R{ r.x + r.y, r.y, r.n + i }",
            "R{ r.n > 2 ? r.x : r.y, r.x, r.n }",
            "R{ r.x, r.x - r.y, min(r.n, i) }",
        ]);
        let step = step.replace("R{", &format!("{record}{{"));
        let rounds = self.rng.below(3);
        let field = self.rng.pick(&["", "        rs.y = rs.x;\n", "        rs.x = rs.x + rs.y;\n"]);
        self.function(&format!(
            "{ty}[.], {ty} {name}({ty}[n] a, {ty}[n] b)\n{{\n    rs = {{ [i] -> {record}{{ a[i], b[i], i }} | [i] < [n] }};\n    \
             for (k = 0; k < {rounds}; k++) {{\n        rs = {{ [i] -> {name}step(_sel_VxA_([i], rs), i) | [i] < [n] }};\n{field}    }}\n    \
             return (rs.x, sum(rs.y) + {});\n}}",
            if elem == Elem::Int { "sum(rs.n)".to_string() } else { format!("to{}(sum(rs.n))", &ty[..1]) }
        ));
        self.function(&format!("struct {record} {name}step(struct {record} r, int i)\n{{\n    return {step};\n}}"));
        let (a, b) = (self.numbers(elem, &[n]), self.numbers(elem, &[n]));
        let results = self.several(&[(elem, &[n]), (elem, &[])]);
        format!("    {results} = {name}({a}, {b});\n")
    }

    /// Products and sums of complex numbers with exact parts.
    fn complexes(&mut self) -> String {
        self.uses_complex = true;
        let name = self.fresh("complexes");
        let n = self.length();
        let body = self.rng.pick(&[
            "z = { [i] -> x[i] * x[n-1-i] | [i] < [n] };\n    s = sum(z);",
            "z = { [i] -> i % 2 == 0 ? x[i] : x[0] + x[i] | [i] < [n] };\n    s = sum(z * x);",
            "z = x;\n    for (i = 1; i < n; i++) {\n        z[[i]] = z[[i-1]] + x[i];\n    }\n    s = sum(z);",
            "z = with { ([0] <= [i] < [n] step [2]) : x[i] * toc(0d, 1d); } : modarray(x);\n    s = with { ([0] <= [i] < [n]) : z[i]; } : fold(+, toc(0d, 0d));",
        ]);
        self.function(&format!(
            "double[.], double {name}(double[n] a, double[n] b)\n{{\n    x = {{ [i] -> toc(a[i], b[i]) | [i] < [n] }};\n    {body}\n    \
             return ({{ [i] -> real(z[i]) | [i] < [n] }}, imag(s));\n}}"
        ));
        let (a, b) = (self.numbers(Elem::Double, &[n]), self.numbers(Elem::Double, &[n]));
        let results = self.several(&[(Elem::Double, &[n]), (Elem::Double, &[])]);
        format!("    {results} = {name}({a}, {b});\n")
    }

    /// Arithmetic of small and of large integers, which wraps.
    fn bytes(&mut self) -> String {
        let name = self.fresh("bytes");
        let shape = [self.length(), self.length()];
        let to = self.rng.pick(&["toub", "tob", "tosh", "tous", "tol", "toul", "toui"]);
        let cell = self.rng.pick(&[
            "x[i,j] * x[i,j] + {to}(77)",
            "x[i,j] - {to}(200)",
            "max(x[i,j], {to}(i)) + {to}(j)",
            "x[i,j] / {to}(3) + x[i,n-1-j]",
        ]);
        let cell = cell.replace("{to}", to);
        self.function(&format!(
            "int[m,n] {name}(int[m,n] a)\n{{\n    x = {to}(a);\n    y = {{ [i,j] -> {cell} | [i,j] < [m,n] }};\n    s = sum(y);\n    \
             return {{ [i,j] -> toi(y[i,j]) + toi(s) | [i,j] < [m,n] }};\n}}"
        ));
        let a = self.numbers(Elem::Int, &shape);
        self.result(Elem::Int, &shape, &format!("{name}({a} * 50)"))
    }
}
