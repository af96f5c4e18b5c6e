//! Random WIR: valid modules that compute without breaking a rule of the IR, and mostly without faults.
//!
//! The generator knows more than the types say. Of every extent it knows bounds, of every value a [`Ghost`]: the
//! interval of an integer, or how many bits a real needs. So selections are in range although their indices are computed,
//! and reals whose sums are exact in any order are told from those that may only be compared with a tolerance: the latter
//! never decide a branch or an index.

mod arrays;
mod control;
mod dynamic;
mod ghost;
mod motifs;
mod scalars;
mod withs;

use crate::rng::Rng;
use ghost::Ghost;
use ravel_source::{FileId, Span};
use ravel_types::{Affine, Elem, Scalar, Shape, Ty};
use ravel_wir::{Func, FuncId, Module, Op, Region, Value};

/// An extent that the generator may use again: equal numbers mean equal extents at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dim(usize);

/// What is known of an extent.
#[derive(Clone, Debug)]
struct DimInfo {
    lo: i64,
    hi: i64,
    form: Affine,
    /// The scalar that holds it; constants have none.
    value: Option<Value>,
    /// The scalar is visible here.
    alive: bool,
}

/// A value in scope.
#[derive(Clone, Debug)]
struct Var {
    value: Value,
    elem: Elem,
    dims: Vec<Dim>,
    /// Of the value, or of every element.
    ghost: Ghost,
}

/// A function that can be called again.
#[derive(Clone)]
struct Callee {
    func: FuncId,
    params: Vec<(Elem, Vec<Dim>, Ghost)>,
    results: Vec<(Elem, Vec<Dim>, Ghost)>,
    effects: bool,
}

/// The elements that values have: handles are objects with effects, and left out.
const ELEMS: [Elem; 12] = [
    Elem::Bool,
    Elem::Char,
    Elem::I8,
    Elem::I16,
    Elem::I32,
    Elem::I64,
    Elem::U8,
    Elem::U16,
    Elem::U32,
    Elem::U64,
    Elem::F32,
    Elem::F64,
];

/// Largest number of times that a body may run, in most modules and in those with huge arrays.
const MOST_WORK: [i64; 2] = [4_000, 60_000];

/// Generates the module of a seed. Its entry takes nothing and is the first function.
pub fn module(seed: u64) -> Module {
    let mut rng = Rng::new(seed);
    let mut module = Module::default();
    let entry = module.funcs.push(Func::new("main", Span::NONE));
    let fuel = [12, 25, 50, 90][rng.below(4)];
    let faulty = rng.chance(1, 8);
    let kinds = 1 + rng.below(4);
    let mut elems = vec![Elem::I32];
    for _ in 0..kinds {
        let common = [Elem::F64, Elem::F32, Elem::I32, Elem::F64];
        let elem = if rng.chance(2, 3) { rng.pick(&common) } else { rng.pick(&ELEMS) };
        elems.push(elem);
    }
    let large = rng.chance(1, 3);
    let huge = rng.chance(1, 12);
    let fuel = if huge { 15 } else { fuel };
    let mut shared = Shared { rng, module, elems, faulty, large, huge };
    let mut body = FnGen::new(&mut shared, "main", fuel, 0);
    body.func.effects = faulty;
    // A third of the modules start from kernels, and go on with less else.
    if body.chance(1, 3) {
        for _ in 0..1 + body.below(3) {
            body.motif();
        }
        body.fuel = fuel / 3;
    }
    body.statements();
    body.finish_entry();
    let func = body.func;
    shared.module.funcs[entry] = func;
    shared.module.entry = Some(entry);
    shared.module
}

/// What the functions of a module share.
struct Shared {
    rng: Rng,
    module: Module,
    /// The element types of this module: few, so that values meet.
    elems: Vec<Elem>,
    /// Some checks may fail.
    faulty: bool,
    /// Some extents are larger than a vector.
    large: bool,
    /// Some extents are large enough for threads.
    huge: bool,
}

/// A function under construction.
struct FnGen<'a> {
    shared: &'a mut Shared,
    func: Func,
    region: Region,
    vars: Vec<Var>,
    dims: Vec<DimInfo>,
    callees: Vec<Callee>,
    /// Instructions that may still be made, roughly.
    fuel: i64,
    /// How often the current region runs.
    weight: i64,
    /// Nesting of regions.
    depth: usize,
    /// Calls between the entry and this function.
    call_depth: usize,
    /// Above zero where nothing may fault.
    safe: usize,
}

impl<'a> FnGen<'a> {
    fn new(shared: &'a mut Shared, name: &str, fuel: i64, call_depth: usize) -> FnGen<'a> {
        let func = Func::new(name, Span::NONE);
        let region = func.body;
        FnGen {
            shared,
            func,
            region,
            vars: Vec::new(),
            dims: Vec::new(),
            callees: Vec::new(),
            fuel,
            weight: 1,
            depth: 0,
            call_depth,
            safe: 0,
        }
    }

    /// Statements until the fuel is used up.
    fn statements(&mut self) {
        while self.fuel > 0 {
            self.fuel -= 1;
            self.statement();
        }
    }

    fn statement(&mut self) {
        let elem = self.elem();
        match self.below(16) {
            0..=2 => {
                let value = self.scalar(elem, 3);
                self.vars.push(value);
            }
            3 => self.hidden_array(elem),
            4 => self.hidden_extent(),
            5 => self.shape_of_branch(elem),
            6 => self.resizing_loop(elem),
            7 => self.several(3),
            8 if self.chance(1, 3) => self.motif(),
            _ => {
                let dims = self.some_dims(3);
                let array = self.array(elem, &dims, 3);
                self.vars.push(array);
            }
        }
    }

    /// Yields some of the last values, and some of the others.
    fn finish_entry(&mut self) {
        let most = 1 + self.below(4);
        let mut results: Vec<Value> = Vec::new();
        for _ in 0..self.below(3).min(self.vars.len()) {
            let value = self.vars[self.shared.rng.below(self.vars.len())].value;
            if !results.contains(&value) {
                results.push(value);
            }
        }
        let most = most + results.len();
        for var in self.vars.iter().rev() {
            if results.len() < most && !results.contains(&var.value) {
                results.push(var.value);
            }
        }
        if results.is_empty() {
            let value = self.scalar(Elem::I32, 0);
            results.push(value.value);
        }
        self.func.regions[self.func.body].yields = results;
    }

    fn most_work(&self) -> i64 {
        MOST_WORK[usize::from(self.shared.huge)]
    }

    fn below(&mut self, n: usize) -> usize {
        self.shared.rng.below(n)
    }

    fn chance(&mut self, n: usize, of: usize) -> bool {
        self.shared.rng.chance(n, of)
    }

    fn range(&mut self, lo: i64, hi: i64) -> i64 {
        self.shared.rng.range(lo, hi)
    }

    fn elem(&mut self) -> Elem {
        let n = self.below(self.shared.elems.len());
        self.shared.elems[n]
    }

    /// Appends an instruction with one result.
    fn emit(&mut self, op: Op, ty: Ty) -> Value {
        self.fuel -= 1;
        let span = self.next_span();
        self.func.push1(self.region, op, ty, span)
    }

    /// Every instruction has a place of its own.
    fn next_span(&self) -> Span {
        let n = self.func.insts.len();
        Span::new(FileId(0), n, n)
    }

    fn constant(&mut self, scalar: Scalar) -> Value {
        let span = self.next_span();
        self.func.push1(self.region, Op::Const(scalar), Ty::scalar(scalar.elem()), span)
    }

    fn int(&mut self, v: i64) -> Value {
        self.constant(Scalar::I32(v as i32))
    }

    fn ty(&self, elem: Elem, dims: &[Dim]) -> Ty {
        Ty::new(elem, Shape::Known(dims.iter().map(|d| self.dims[d.0].form.clone()).collect()))
    }

    fn dim(&self, dim: Dim) -> &DimInfo {
        &self.dims[dim.0]
    }

    /// The constant extent `n`.
    fn const_dim(&mut self, n: i64) -> Dim {
        let form = Affine::constant(n as i32);
        if let Some(at) = self.dims.iter().position(|d| d.form == form) {
            return Dim(at);
        }
        self.dims.push(DimInfo { lo: n, hi: n, form, value: None, alive: true });
        Dim(self.dims.len() - 1)
    }

    /// An extent that only run time knows, held by a scalar within bounds.
    fn symbolic_dim(&mut self, lo: i64, hi: i64, value: Option<Value>) -> Dim {
        let form = Affine::sym(self.func.fresh_sym());
        self.dims.push(DimInfo { lo, hi, form, value, alive: true });
        Dim(self.dims.len() - 1)
    }

    /// The extent as a scalar.
    fn extent(&mut self, dim: Dim) -> Value {
        match (self.dim(dim).form.as_const(), self.dim(dim).value) {
            (Some(n), _) => self.int(i64::from(n)),
            (None, Some(value)) => value,
            (None, None) => unreachable!("symbolic extents in scope have a value"),
        }
    }

    fn extents(&mut self, dims: &[Dim]) -> Vec<Value> {
        dims.iter().map(|d| self.extent(*d)).collect()
    }

    /// Greatest number of elements.
    fn most(&self, dims: &[Dim]) -> i64 {
        dims.iter().fold(1i64, |n, d| n.saturating_mul(self.dim(*d).hi.max(0)))
    }

    /// The constant extents, if all are.
    fn constants(&self, dims: &[Dim]) -> Option<Vec<i64>> {
        dims.iter().map(|d| self.dim(*d).form.as_const().map(i64::from)).collect()
    }

    /// Runs `work` in a new region, which it returns; what `work` brings into scope leaves it again.
    fn in_region<T>(&mut self, region: Region, runs: i64, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.region, region);
        let (mark, dims, weight) = (self.vars.len(), self.dims.len(), self.weight);
        self.weight = weight.saturating_mul(runs.max(1));
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        self.vars.truncate(mark);
        for dim in self.dims[dims..].iter_mut().filter(|d| d.value.is_some()) {
            dim.alive = false;
        }
        self.region = outer;
        self.weight = weight;
        result
    }

    fn var(&self, value: Value, elem: Elem, dims: &[Dim], ghost: Ghost) -> Var {
        Var { value, elem, dims: dims.to_vec(), ghost }
    }
}
