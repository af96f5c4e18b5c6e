//! Arrays: made by partitions, put together, reshaped, modified, of rows.

use super::{Generator, Int, MOST_RUNS, Var, known_ty};

impl Generator<'_> {
    /// A genarray of scalars, one partition.
    pub(super) fn by_cells(&mut self, shape: &[i64], cell: impl FnOnce(&mut Self) -> Var) -> Var {
        let name = self.name();
        self.line(&format!("{name}: {} = with {{", self.extents.ty(shape)));
        let zeros = vec![0; shape.len()];
        let most = self.part(&zeros, shape, None, false, |g| {
            let cell = cell(g);
            (cell.name, cell.most)
        });
        self.line(&format!("}} genarray {} cell []", self.extents.list(shape)));
        Var { name, shape: shape.to_vec(), exact: None, most }
    }

    /// A partition over a box, which may be smaller if it is open; `body` gives the cells and something else.
    pub(super) fn part<T>(
        &mut self,
        lower: &[i64],
        upper: &[i64],
        grid: Option<(i64, i64)>,
        is_open: bool,
        body: impl FnOnce(&mut Self) -> (String, T),
    ) -> T {
        let names: Vec<String> = lower.iter().map(|_| self.name()).collect();
        let grid = grid.map_or(String::new(), |(step, width)| {
            let all = |n: i64| vec![n; lower.len()];
            format!(" step {:?} width {:?}", all(step), all(width))
        });
        // Some boxes end at an index around.
        let mut ends = self.extents.list(upper);
        if let (true, [upper], Some(int)) = (is_open, upper, self.ints.last())
            && int.low >= 0
            && int.high <= *upper
        {
            ends = format!("[{}]", int.name);
        }
        self.line(&format!("part {lower:?} <= [{}] < {ends}{grid} {{", names.join(", ")));
        let runs = lower.iter().zip(upper).map(|(l, u)| (u - l).max(0)).product();
        self.inside(runs, |g| {
            for ((name, low), end) in names.into_iter().zip(lower).zip(upper) {
                g.ints.push(Int { name, low: *low, high: end - 1 });
            }
            let (cells, other) = body(g);
            g.line(&format!("yield {cells} }}"));
            other
        })
    }

    /// An array of a shape that has an element at least.
    pub(super) fn array(&mut self, shape: &[i64], depth: usize) -> Var {
        let known: Vec<usize> = (0..self.vars.len()).filter(|i| self.vars[*i].shape == shape).collect();
        let many = self.runs * shape.iter().product::<i64>() > MOST_RUNS;
        if !known.is_empty() && (depth == 0 || many || self.rng.chance(1, 4)) {
            return self.vars[known[self.rng.below(known.len())]].clone();
        }
        if depth == 0 || many || self.fuel <= 0 {
            return self.constants(shape);
        }
        let made = match self.rng.below(10) {
            0 => self.put_together(shape, depth - 1),
            1 => self.reshaped(shape, depth - 1),
            2 => {
                let base = self.array(shape, depth - 1);
                let made = self.updated(&base.name, shape, depth - 1);
                Var { most: made.most.max(base.most), ..made }
            }
            3 => match self.condition() {
                Some(condition) => self.branch(&condition, shape, depth - 1),
                None => self.generated(shape, depth - 1),
            },
            4 => self.modified(shape, depth - 1),
            5 if shape.len() > 1 => self.of_rows(shape, depth - 1),
            _ => self.generated(shape, depth - 1),
        };
        if self.rng.chance(1, 3) {
            self.vars.push(made.clone());
        }
        made
    }

    fn constants(&mut self, shape: &[i64]) -> Var {
        let count = shape.iter().product::<i64>();
        let numbers: Vec<String> = (0..count).map(|_| self.constant().name).collect();
        let name = self.emit(&known_ty(shape), &format!("constarray [{}]", numbers.join(", ")));
        Var { name, shape: shape.to_vec(), exact: Some(2), most: 2.0 }
    }

    fn put_together(&mut self, shape: &[i64], depth: usize) -> Var {
        let (mut names, mut most, mut exact) = (Vec::new(), 0.0_f64, Some(0));
        for _ in 0..shape[0] {
            let part = match shape.len() {
                1 => self.scalar(depth.min(1)),
                _ => self.array(&shape[1..], depth.min(1)),
            };
            most = most.max(part.most);
            exact = exact.zip(part.exact).map(|(a, b)| a.max(b));
            names.push(part.name);
        }
        let name = self.emit(&known_ty(shape), &format!("array [{}]", names.join(", ")));
        Var { name, shape: shape.to_vec(), exact, most }
    }

    fn reshaped(&mut self, shape: &[i64], depth: usize) -> Var {
        let count: i64 = shape.iter().product();
        let other = if count % 2 == 0 { vec![2, count / 2] } else { vec![count] };
        let made = self.array(&other, depth);
        let name = self.emit(&self.extents.ty(shape), &format!("reshape {}, {}", made.name, self.extents.list(shape)));
        Var { name, shape: shape.to_vec(), ..made }
    }

    /// A genarray of one or two partitions, whole or strided, with or without a default.
    fn generated(&mut self, shape: &[i64], depth: usize) -> Var {
        let default = self.scalar(depth.min(1));
        let name = self.name();
        self.line(&format!("{name}: {} = with {{", self.extents.ty(shape)));
        let zeros = vec![0; shape.len()];
        let mut parts = vec![(zeros.clone(), shape.to_vec(), None)];
        match self.rng.below(5) {
            0 => parts[0].2 = Some((self.rng.range(2, 3), self.rng.range(1, 2))),
            1 if shape[0] > 1 => {
                let middle = self.rng.range(1, shape[0] - 1);
                parts[0].1[0] = middle;
                let mut lower = zeros;
                lower[0] = middle;
                parts.push((lower, shape.to_vec(), None));
            }
            2 => parts[0] = (shape.iter().map(|n| (n - 1).min(1)).collect(), shape.to_vec(), None),
            _ => {}
        }
        let is_open = parts.len() == 1 && self.rng.chance(1, 8);
        let mut most = default.most;
        for (lower, upper, grid) in parts {
            let cell = self.part(&lower, &upper, grid, is_open, |g| {
                let cell = g.scalar(depth);
                (cell.name.clone(), cell)
            });
            most = most.max(cell.most);
        }
        self.line(&format!("}} genarray {} cell [] default {}", self.extents.list(shape), default.name));
        Var { name, shape: shape.to_vec(), exact: None, most }
    }

    fn modified(&mut self, shape: &[i64], depth: usize) -> Var {
        let base = self.array(shape, depth);
        let name = self.name();
        self.line(&format!("{name}: {} = with {{", self.extents.ty(shape)));
        let lower: Vec<i64> = shape.iter().map(|n| self.rng.range(0, n - 1)).collect();
        let cell = self.part(&lower, shape, None, false, |g| {
            let cell = g.scalar(depth);
            (cell.name.clone(), cell)
        });
        self.line(&format!("}} modarray {}", base.name));
        Var { name, shape: shape.to_vec(), exact: None, most: base.most.max(cell.most) }
    }

    /// A genarray whose cells are arrays, with a sum beside it.
    fn of_rows(&mut self, shape: &[i64], depth: usize) -> Var {
        let (name, sum) = (self.name(), self.name());
        self.line(&format!("{name}: {}, {sum}: f64 = with {{", self.extents.ty(shape)));
        let (most, of_sum) = self.part(&[0], &shape[..1], None, false, |g| {
            let row = g.array(&shape[1..], depth);
            let index: Vec<String> = shape[1..].iter().map(|extent| g.index(*extent)).collect();
            let element = g.real(&format!("sel {}, [{}]", row.name, index.join(", ")), None, row.most);
            (format!("{}, {}", row.name, element.name), (row.most, element.most))
        });
        let (frame, cell) = (self.extents.list(&shape[..1]), self.extents.list(&shape[1..]));
        self.line(&format!("}} genarray {frame} cell {cell} fold add neutral 0.0"));
        self.vars.push(Var { name: sum, shape: Vec::new(), exact: None, most: of_sum * shape[0] as f64 });
        Var { name, shape: shape.to_vec(), exact: None, most }
    }

    /// An array with an element or two replaced.
    pub(super) fn updated(&mut self, array: &str, shape: &[i64], depth: usize) -> Var {
        let mut name = array.to_string();
        let mut most: f64 = 8.0;
        for _ in 0..1 + self.rng.below(2) {
            let index: Vec<String> = shape.iter().map(|extent| self.index(*extent)).collect();
            let value = self.scalar(depth);
            most = most.max(value.most);
            name =
                self.emit(&self.extents.ty(shape), &format!("update {name}, [{}], {}", index.join(", "), value.name));
        }
        Var { name, shape: shape.to_vec(), exact: None, most }
    }
}
