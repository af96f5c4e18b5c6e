//! What differentiation of one function knows and does: new instructions, where values are made, which of them depend on variables.

use crate::differentiate::calls::Calls;
use crate::edit::{Copier, Defs, insts_where};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use ravel_source::Span;
use ravel_types::{BinOp, Elem, HashMap, Scalar, Shape, Ty, UnOp};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

/// Why something has no derivative.
pub struct Refusal {
    pub span: Span,
    pub why: String,
}

/// Why a C function has no derivative. Adapters of the program's own C functions are called `ravel_foreign_NUMBER_NAME`.
pub fn outside(symbol: &str) -> String {
    let own = symbol.strip_prefix("ravel_foreign_").and_then(|rest| rest.split_once('_'));
    let name = own.map_or(symbol, |(_, name)| name);
    format!("`{name}` is computed outside of SaC and has no rule for its derivative")
}

pub type Result<T> = std::result::Result<T, Refusal>;

/// A function whose derivatives are being made.
pub struct State<'f> {
    pub func: &'f mut Func,
    pub calls: &'f mut Calls,
    pub defs: Defs,
    /// Reals that depend on a variable through reals.
    pub varied: EntitySet<Value>,
    /// The region that a value is made in, of those that adjoint code is added to.
    pub home: SecondaryMap<Value, PackedOption<Region>>,
    /// By result of a selection, the array, as a loop carries it, that changes no more where it reads.
    pub settled: HashMap<Value, Value>,
    /// By what a loop carries, in what it results.
    pub results: HashMap<Value, Value>,
    /// By copied region, the first symbol that is a fact about one evaluation of it.
    pub own_syms: HashMap<Region, u32>,
    /// For new instructions.
    pub span: Span,
}

impl<'f> State<'f> {
    pub fn new(func: &'f mut Func, calls: &'f mut Calls) -> State<'f> {
        let defs = Defs::new(func);
        State {
            func,
            calls,
            defs,
            varied: EntitySet::new(),
            home: SecondaryMap::new(),
            settled: HashMap::default(),
            results: HashMap::default(),
            own_syms: HashMap::default(),
            span: Span::NONE,
        }
    }

    pub fn refuse<T>(&self, why: impl Into<String>) -> Result<T> {
        Err(Refusal { span: self.span, why: why.into() })
    }

    pub fn ty(&self, v: Value) -> Ty {
        self.func.ty(v).clone()
    }

    pub fn is_varied(&self, v: Value) -> bool {
        self.varied.contains(v)
    }

    /// Whether a value is made in a region itself, not around it or inside of it.
    pub fn is_made_in(&self, v: Value, region: Region) -> bool {
        self.home[v] == region.into()
    }

    /// Notes where the parameters and results of a region are made.
    pub fn settle(&mut self, region: Region) {
        let data = self.func.regions[region].clone();
        let results = data.insts.iter().flat_map(|inst| self.func.insts[*inst].results.clone());
        for v in data.params.into_iter().chain(results.collect::<Vec<_>>()) {
            self.home[v] = region.into();
        }
    }

    // New instructions.

    /// Appends an instruction that exists to a region.
    pub fn place(&mut self, region: Region, inst: Inst) {
        self.func.regions[region].insts.push(inst);
        self.defs.add_inst(self.func, inst);
        for v in self.func.insts[inst].results.clone() {
            self.home[v] = region.into();
        }
    }

    pub fn emits(&mut self, region: Region, op: Op, types: Vec<Ty>) -> Vec<Value> {
        let inst = self.func.make_inst(op, types, self.span);
        self.place(region, inst);
        self.func.insts[inst].results.clone()
    }

    pub fn emit(&mut self, region: Region, op: Op, ty: Ty) -> Value {
        self.emits(region, op, vec![ty])[0]
    }

    /// The element or cell at an index, also of an array whose rank nobody knows.
    pub fn cell(&mut self, region: Region, array: Value, index: &[Value], ty: Ty) -> Value {
        if self.func.ty(array).rank().is_some() {
            return self.emit(region, Op::Sel { array, index: index.to_vec() }, ty);
        }
        let length = ravel_types::Affine::constant(index.len() as i32);
        let index = self.emit(region, Op::Array(index.to_vec()), Ty::new(Elem::I32, Shape::Known(vec![length])));
        self.emit(region, Op::SelDyn { array, index }, ty)
    }

    pub fn constant(&mut self, region: Region, value: Scalar) -> Value {
        self.emit(region, Op::Const(value), Ty::scalar(value.elem()))
    }

    pub fn int(&mut self, region: Region, value: i32) -> Value {
        self.constant(region, Scalar::I32(value))
    }

    pub fn real(&mut self, region: Region, elem: Elem, value: f64) -> Value {
        let scalar = if elem == Elem::F32 { Scalar::F32(value as f32) } else { Scalar::F64(value) };
        self.constant(region, scalar)
    }

    /// An operation on two scalars, folded if both are integer constants.
    pub fn bin(&mut self, region: Region, op: BinOp, a: Value, b: Value) -> Value {
        let elem = self.func.ty(a).elem;
        if let (Elem::I32, Some(x), Some(y)) =
            (elem, self.defs.constant(self.func, a), self.defs.constant(self.func, b))
            && let Ok(v) = ravel_types::eval_bin(op, x, y)
        {
            return self.constant(region, v);
        }
        let elem = if op.is_comparison() { Elem::Bool } else { elem };
        self.emit(region, Op::Bin(op, a, b), Ty::scalar(elem))
    }

    pub fn un(&mut self, region: Region, op: UnOp, a: Value) -> Value {
        let elem = if op.is_predicate() { Elem::Bool } else { self.func.ty(a).elem };
        self.emit(region, Op::Un(op, a), Ty::scalar(elem))
    }

    pub fn select(&mut self, region: Region, cond: Value, then: Value, els: Value) -> Value {
        let ty = self.ty(then);
        self.emit(region, Op::Select { cond, then, els }, ty)
    }

    /// A fresh region without parameters.
    pub fn branch(&mut self) -> Region {
        self.func.regions.push(RegionData::default())
    }

    // Arrays.

    /// The extents of an array, of known rank, from an axis on.
    pub fn extents(&mut self, region: Region, array: Value, from: usize) -> Vec<Value> {
        let extents = self.func.ty(array).shape.extents().map(<[_]>::to_vec).unwrap_or_default();
        // What the array was made with is there without the array.
        let made = self.made_with(array).filter(|made| made.len() == extents.len());
        let mut values = Vec::new();
        for (axis, extent) in extents.iter().enumerate().skip(from) {
            values.push(match extent.as_const() {
                Some(n) => self.int(region, n),
                None if let Some(made) = &made => made[axis],
                None => self.emit(region, Op::Extent { array, axis: axis as u32 }, Ty::scalar(Elem::I32)),
            });
        }
        values
    }

    /// The extents that an array was made with.
    fn made_with(&self, array: Value) -> Option<Vec<Value>> {
        let crate::edit::Def::Inst(inst, k) = self.defs.get(array) else { return None };
        match &self.func.insts[inst].op {
            Op::With(with) => match &with.ops[k as usize] {
                WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. } => {
                    Some(frame.iter().chain(cell).copied().collect())
                }
                WithOp::Modarray { array } => self.made_with(*array),
                _ => None,
            },
            Op::Reshape { shape, .. } => Some(shape.clone()),
            Op::Update { array, .. } | Op::Opaque(array) => self.made_with(*array),
            _ => None,
        }
    }

    /// Zeros of the shape and type of a value, from an axis on.
    pub fn zeros_like(&mut self, region: Region, like: Value, from: usize) -> Value {
        let ty = self.ty(like);
        match ty.rank() {
            Some(rank) if rank == from => self.real(region, ty.elem, 0.0),
            Some(_) => {
                let frame = self.extents(region, like, from);
                self.zeros(region, frame, ravel_wir::cell_type(&ty, from))
            }
            None => {
                let vector = self.vector_type();
                let shape = self.emit(region, Op::ShapeVec(like), vector);
                let op = WithOp::Genarray { frame: Frame::Dyn(shape), cell: Some(Vec::new()), default: None };
                self.emit(region, Op::With(With { parts: Vec::new(), ops: vec![op], ordered: false }), ty)
            }
        }
    }

    /// An array of zeros.
    pub fn zeros(&mut self, region: Region, frame: Vec<Value>, ty: Ty) -> Value {
        let op = WithOp::Genarray { frame: Frame::Known(frame), cell: Some(Vec::new()), default: None };
        self.emit(region, Op::With(With { parts: Vec::new(), ops: vec![op], ordered: false }), ty)
    }

    /// A type with new symbols for extents that are no constants.
    pub fn opened(&mut self, ty: &Ty) -> Ty {
        let Some(extents) = ty.shape.extents() else { return ty.clone() };
        let open = |extent: &ravel_types::Affine| match extent.as_const() {
            Some(n) => ravel_types::Affine::constant(n),
            None => ravel_types::Affine::sym(self.func.fresh_sym()),
        };
        let extents = extents.iter().map(open).collect();
        Ty::new(ty.elem, Shape::Known(extents))
    }

    /// Zeros of a type, of known rank; extents that are no constants are 0.
    pub fn empty(&mut self, region: Region, ty: &Ty) -> Value {
        let extents = ty.shape.extents().map(<[_]>::to_vec).unwrap_or_default();
        if extents.is_empty() {
            return self.constant(region, Scalar::zero(ty.elem).unwrap_or(Scalar::Bool(false)));
        }
        let sizes: Vec<i32> = extents.iter().map(|extent| extent.as_const().unwrap_or(0)).collect();
        let shape = sizes.iter().map(|n| ravel_types::Affine::constant(*n)).collect();
        let frame = sizes.into_iter().map(|n| self.int(region, n)).collect();
        self.zeros(region, frame, Ty::new(ty.elem, Shape::Known(shape)))
    }

    /// The type of an index vector of a length that only the run knows.
    pub fn vector_type(&mut self) -> Ty {
        let sym = self.func.fresh_sym();
        Ty::new(Elem::I32, Shape::Known(vec![ravel_types::Affine::sym(sym)]))
    }

    /// An array made element by element of arrays of one shape, or a scalar of scalars.
    pub fn map(
        &mut self,
        region: Region,
        arrays: &[Value],
        element: impl FnOnce(&mut Self, Region, &[Value]) -> Value,
    ) -> Value {
        let ty = self.ty(arrays[0]);
        if ty.is_scalar() {
            return element(self, region, arrays);
        }
        let body = self.branch();
        let (generator, frame) = match ty.rank() {
            Some(rank) => {
                let upper = self.extents(region, arrays[0], 0);
                let zero = self.int(region, 0);
                let index: Vec<Value> = (0..rank).map(|_| self.func.add_param(body, Ty::scalar(Elem::I32))).collect();
                self.settle(body);
                let mut elements = Vec::new();
                for array in arrays {
                    let scalar = Ty::scalar(self.func.ty(*array).elem);
                    elements.push(self.emit(body, Op::Sel { array: *array, index: index.clone() }, scalar));
                }
                let element = element(self, body, &elements);
                self.func.regions[body].yields = vec![element];
                let generator =
                    Generator::Known { lower: vec![zero; rank], upper: upper.clone(), step: None, width: None };
                (generator, Frame::Known(upper))
            }
            None => {
                let vector = self.vector_type();
                let upper = self.emit(region, Op::ShapeVec(arrays[0]), vector.clone());
                let lower = self.zeros_vector(region, upper);
                let index = self.func.add_param(body, vector);
                self.settle(body);
                let mut elements = Vec::new();
                for array in arrays {
                    let scalar = Ty::scalar(self.func.ty(*array).elem);
                    let element = self.emit(body, Op::SelDyn { array: *array, index }, scalar);
                    elements.push(element);
                }
                let element = element(self, body, &elements);
                self.func.regions[body].yields = vec![element];
                (Generator::Dyn { lower, upper, step: None, width: None }, Frame::Dyn(upper))
            }
        };
        let elem = self.func.ty(self.func.regions[body].yields[0]).elem;
        let op = WithOp::Genarray { frame, cell: Some(Vec::new()), default: None };
        let part = Part { generator, body };
        self.emit(region, Op::With(With { parts: vec![part], ops: vec![op], ordered: false }), Ty::new(elem, ty.shape))
    }

    /// An index vector of zeros as long as another one.
    pub fn zeros_vector(&mut self, region: Region, like: Value) -> Value {
        let frame = self.extents(region, like, 0);
        let ty = self.ty(like);
        self.zeros(region, frame, ty)
    }

    /// Whether a value is the constant zero, or an array without anything else.
    pub fn is_zero(&self, v: Value) -> bool {
        match self.defs.op(self.func, v) {
            Some(Op::Const(Scalar::F32(x))) => *x == 0.0,
            Some(Op::Const(Scalar::F64(x))) => *x == 0.0,
            Some(Op::With(with)) => {
                with.parts.is_empty() && matches!(with.ops[..], [WithOp::Genarray { default: None, .. }])
            }
            _ => false,
        }
    }

    /// The sum of two values of one shape.
    pub fn add(&mut self, region: Region, a: Value, b: Value) -> Value {
        self.map(region, &[a, b], |s, at, x| s.bin(at, BinOp::Add, x[0], x[1]))
    }

    // Copies.

    /// A copy of a region for adjoint code: it has values of its own, and no checks, for the original makes them.
    pub fn copy(&mut self, region: Region) -> (Region, HashMap<Value, Value>) {
        let (copy, values) = self.copy_with_checks(region);
        self.drop_checks(copy);
        (copy, values)
    }

    /// A copy of a region as it is.
    pub fn copy_with_checks(&mut self, region: Region) -> (Region, HashMap<Value, Value>) {
        let first = self.func.n_syms;
        let mut copier = Copier::within(self.func, region);
        let copy = copier.region(self.func, region);
        self.own_syms.insert(copy, first);
        self.adopt(&copier);
        self.defs.add_region(self.func, copy);
        self.settle(copy);
        (copy, copier.values)
    }

    /// What is known of copied values is known of the copies.
    pub fn adopt(&mut self, copier: &Copier) {
        for (old, new) in &copier.values {
            if self.varied.contains(*old) {
                self.varied.insert(*new);
            }
            if let Some(array) = self.settled.get(old) {
                self.settled.insert(*new, copier.values.get(array).copied().unwrap_or(*array));
            }
        }
    }

    pub fn drop_checks(&mut self, region: Region) {
        let is_check = |op: &Op| matches!(op, Op::Check { .. }) || op.is_trace();
        for (home, inst) in insts_where(self.func, region, is_check) {
            self.func.regions[home].insts.retain(|i| *i != inst);
        }
    }
}
