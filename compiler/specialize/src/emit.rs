//! The function under construction: regions, scopes of symbols, and making abstract values concrete.

use crate::value::{Kind, LeafShape, Sc, ScKind, ShapeKind, Val};
use ravel_source::Span;
use ravel_types::{Affine, Basic, BinOp, Elem, Scalar, Shape, Sym, Ty};
use ravel_wir::{ConstData, Func, Inst, Op, Region, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Where the value of a symbol comes from.
#[derive(Clone, Copy, Debug)]
enum SymDef {
    Value(Value),
    Extent(Value, u32),
}

/// A WIR function being built, with what is known of its values.
pub struct Emitter {
    pub func: Func,
    /// Instructions are appended here.
    pub region: Region,
    /// Regions that enclose the current one, innermost last, as scope numbers; symbols belong to one.
    scopes: Vec<u32>,
    next_scope: u32,
    syms: Vec<(SymDef, u32)>,
    /// The scope that defines a value.
    scope_of: HashMap<Value, u32>,
    forms: HashMap<Value, Affine>,
    /// Constant intervals `lo ..= hi` of `int` values.
    ranges: HashMap<Value, (i64, i64)>,
    /// Index values of at least 0 with symbolic exclusive upper bounds.
    below: HashMap<Value, Vec<Affine>>,
    constants: HashMap<Value, Arc<ConstData>>,
    /// Values that were computed for forms.
    computed: HashMap<Affine, Value>,
    /// Forms that a check has bounded, by the scope of the check.
    bounded: HashMap<Affine, Vec<Bounded>>,
    /// Source position given to new instructions.
    pub span: Span,
}

/// What a check has ensured for all instructions after it in a scope.
struct Bounded {
    scope: u32,
    /// Holds `lo ..= hi`.
    range: (i64, i64),
    /// Lies below this form.
    below: Option<Affine>,
    /// Number of values when the check was emitted.
    age: usize,
}

/// A place in the current region to return to with [`Emitter::truncate`].
#[derive(Clone, Copy)]
pub struct Mark {
    insts: usize,
    values: usize,
}

/// A region that was opened with [`Emitter::open`].
pub struct Opened {
    outer: Region,
    pub region: Region,
}

impl Emitter {
    pub fn new(name: &str, span: Span) -> Emitter {
        let func = Func::new(name, span);
        Emitter {
            region: func.body,
            func,
            scopes: vec![0],
            next_scope: 1,
            syms: Vec::new(),
            scope_of: HashMap::new(),
            forms: HashMap::new(),
            ranges: HashMap::new(),
            below: HashMap::new(),
            constants: HashMap::new(),
            computed: HashMap::new(),
            bounded: HashMap::new(),
            span,
        }
    }

    /// Starts a nested region; instructions go there until [`Emitter::close`].
    pub fn open(&mut self) -> Opened {
        let region = self.func.new_region();
        self.reopen(region)
    }

    /// Continues a region that was closed.
    pub fn reopen(&mut self, region: Region) -> Opened {
        let outer = std::mem::replace(&mut self.region, region);
        self.scopes.push(self.next_scope);
        self.next_scope += 1;
        Opened { outer, region }
    }

    pub fn close(&mut self, opened: Opened) -> Region {
        self.scopes.pop();
        self.region = opened.outer;
        opened.region
    }

    pub fn set_yields(&mut self, region: Region, values: Vec<Value>) {
        self.func.regions[region].yields = values;
    }

    pub fn inst(&mut self, op: Op, results: Vec<Ty>) -> Inst {
        let inst = self.func.push(self.region, op, results, self.span);
        let scope = self.scope();
        for v in &self.func.insts[inst].results {
            self.scope_of.insert(*v, scope);
        }
        inst
    }

    pub fn inst1(&mut self, op: Op, ty: Ty) -> Value {
        let inst = self.inst(op, vec![ty]);
        self.func.insts[inst].results[0]
    }

    fn scope(&self) -> u32 {
        *self.scopes.last().expect("a function has a scope")
    }

    // ---- symbols and forms ----

    fn new_sym(&mut self, def: SymDef) -> Sym {
        self.syms.push((def, self.scope()));
        self.func.fresh_sym()
    }

    /// A type with unknown extents made into symbols that stand for the extents of the value it will be given to.
    fn type_of_leaf(&mut self, elem: Elem, shape: &LeafShape) -> (Ty, Vec<(Sym, u32)>) {
        match shape {
            LeafShape::Scalar => (Ty::scalar(elem), Vec::new()),
            LeafShape::Array(ShapeKind::Unknown) => (Ty::new(elem, Shape::Unknown), Vec::new()),
            LeafShape::Array(ShapeKind::Known(extents)) => {
                let mut fresh = Vec::new();
                let extents = extents
                    .iter()
                    .enumerate()
                    .map(|(axis, e)| {
                        e.clone().unwrap_or_else(|| {
                            // The definition is patched once the value exists.
                            let sym = self.new_sym(SymDef::Extent(Value::from_u32(0), axis as u32));
                            fresh.push((sym, axis as u32));
                            Affine::sym(sym)
                        })
                    })
                    .collect();
                (Ty::new(elem, Shape::Known(extents)), fresh)
            }
        }
    }

    fn patch(&mut self, value: Value, fresh: &[(Sym, u32)]) {
        for (sym, axis) in fresh {
            self.syms[sym.0 as usize].0 = SymDef::Extent(value, *axis);
        }
    }

    /// Types for the results of an instruction whose results carry the leaves; [`Emitter::bind_leaves`] completes them.
    pub fn leaf_types(&mut self, leaves: &[(Elem, LeafShape)]) -> (Vec<Ty>, Vec<Vec<(Sym, u32)>>) {
        leaves.iter().map(|(elem, shape)| self.type_of_leaf(*elem, shape)).unzip()
    }

    pub fn bind_leaves(&mut self, values: &[Value], fresh: &[Vec<(Sym, u32)>]) {
        for (value, syms) in values.iter().zip(fresh) {
            self.patch(*value, syms);
        }
    }

    /// Appends an instruction whose results carry the leaves.
    pub fn inst_leaves(&mut self, op: Op, leaves: &[(Elem, LeafShape)]) -> Vec<Value> {
        let (types, fresh) = self.leaf_types(leaves);
        let inst = self.inst(op, types);
        let values = self.func.insts[inst].results.clone();
        self.bind_leaves(&values, &fresh);
        values
    }

    /// Region parameters that carry the leaves.
    pub fn params_for(&mut self, region: Region, leaves: &[(Elem, LeafShape)]) -> Vec<Value> {
        leaves
            .iter()
            .map(|(elem, shape)| {
                let (ty, fresh) = self.type_of_leaf(*elem, shape);
                let v = self.func.add_param(region, ty);
                self.scope_of.insert(v, self.scope());
                self.patch(v, &fresh);
                v
            })
            .collect()
    }

    /// The symbols of a function's parameters are given by its key: `sym` is parameter `value` itself, or an extent of it.
    pub fn define_param_sym(&mut self, sym: Sym, value: Value, axis: Option<u32>) {
        let def = axis.map_or(SymDef::Value(value), |axis| SymDef::Extent(value, axis));
        if self.syms.len() <= sym.0 as usize {
            self.syms.resize(sym.0 as usize + 1, (SymDef::Value(value), 0));
            self.func.n_syms = self.syms.len() as u32;
        }
        self.syms[sym.0 as usize] = (def, 0);
        if axis.is_none() {
            self.forms.insert(value, Affine::sym(sym));
        }
    }

    /// Reserves the symbols `0 .. n` for parameters.
    pub fn reserve_syms(&mut self, n: u32) {
        self.syms.resize(n as usize, (SymDef::Value(Value::from_u32(0)), 0));
        self.func.n_syms = n;
    }

    fn in_scope(&self, form: &Affine) -> bool {
        form.terms().iter().all(|(s, _)| self.scopes.contains(&self.syms[s.0 as usize].1))
    }

    /// The kind of `v` with the forms that cannot be computed here forgotten.
    pub fn visible_kind(&mut self, v: &Val) -> Kind {
        let kind = self.kind_of(v);
        kind.map_forms(&mut |a| self.in_scope(a).then(|| a.clone()))
    }

    /// Removes knowledge that cannot be computed here.
    pub fn visible(&self, kind: &Kind) -> Kind {
        kind.map_forms(&mut |a| self.in_scope(a).then(|| a.clone()))
    }

    /// The form of an `int` scalar; a value without one gets a symbol.
    pub fn form(&mut self, s: &Sc) -> Affine {
        match s {
            Sc::Const(Scalar::I32(v)) => Affine::constant(*v),
            Sc::Form(a) => a.clone(),
            Sc::Val(v) => match self.forms.get(v) {
                Some(a) => a.clone(),
                None => {
                    let sym = self.new_sym(SymDef::Value(*v));
                    if let Some(scope) = self.scope_of.get(v) {
                        self.syms[sym.0 as usize].1 = *scope;
                    }
                    self.forms.insert(*v, Affine::sym(sym));
                    Affine::sym(sym)
                }
            },
            Sc::Const(_) => Affine::constant(0),
        }
    }

    /// The form of a scalar if it already has one.
    fn known_form(&self, s: &Sc) -> Option<Affine> {
        match s {
            Sc::Const(Scalar::I32(v)) => Some(Affine::constant(*v)),
            Sc::Form(a) => Some(a.clone()),
            Sc::Val(v) => self.forms.get(v).cloned(),
            Sc::Const(_) => None,
        }
    }

    pub fn set_form(&mut self, v: Value, form: Affine) {
        self.forms.entry(v).or_insert(form);
    }

    /// A scalar for a form.
    pub fn from_form(&self, form: &Affine) -> Sc {
        match (form.as_const(), form.as_sym()) {
            (Some(v), _) => Sc::int(v),
            (_, Some(s)) => match self.syms[s.0 as usize].0 {
                SymDef::Value(v) => Sc::Val(v),
                SymDef::Extent(..) => Sc::Form(form.clone()),
            },
            _ => Sc::Form(form.clone()),
        }
    }

    // ---- scalars ----

    pub fn constant(&mut self, s: Scalar) -> Value {
        let v = self.inst1(Op::Const(s), Ty::scalar(s.elem()));
        if let Scalar::I32(i) = s {
            self.ranges.insert(v, (i as i64, i as i64));
            self.forms.insert(v, Affine::constant(i));
        }
        v
    }

    /// The WIR value of a scalar.
    pub fn value(&mut self, s: &Sc) -> Value {
        match s {
            Sc::Val(v) => *v,
            Sc::Const(c) => self.constant(*c),
            Sc::Form(a) => self.value_of_form(a),
        }
    }

    pub fn values(&mut self, s: &[Sc]) -> Vec<Value> {
        s.iter().map(|s| self.value(s)).collect()
    }

    /// A value that is computed already and can be used here.
    fn computed(&self, form: &Affine) -> Option<Value> {
        let v = self.computed.get(form)?;
        let scope = self.scope_of.get(v)?;
        self.scopes.contains(scope).then_some(*v)
    }

    fn value_of_form(&mut self, form: &Affine) -> Value {
        if let Some(v) = self.computed(form) {
            return v;
        }
        let v = self.compute_form(form);
        self.computed.insert(form.clone(), v);
        v
    }

    fn compute_form(&mut self, form: &Affine) -> Value {
        let int = Ty::scalar(Elem::I32);
        let mut sum: Option<Value> = None;
        for (sym, coefficient) in form.terms().to_vec() {
            let base = match self.syms[sym.0 as usize].0 {
                SymDef::Value(v) => v,
                SymDef::Extent(array, axis) => match self.computed(&Affine::sym(sym)) {
                    Some(v) => v,
                    None => {
                        let v = self.inst1(Op::Extent { array, axis }, int.clone());
                        self.forms.insert(v, Affine::sym(sym));
                        self.ranges.insert(v, (0, i32::MAX as i64));
                        self.computed.insert(Affine::sym(sym), v);
                        v
                    }
                },
            };
            let (op, term) = match (coefficient, sum) {
                (1, _) => (BinOp::Add, base),
                (-1, Some(_)) => (BinOp::Sub, base),
                _ => {
                    let k = self.constant(Scalar::I32(coefficient));
                    (BinOp::Add, self.inst1(Op::Bin(BinOp::Mul, base, k), int.clone()))
                }
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.inst1(Op::Bin(op, sum, term), int.clone()),
            });
        }
        let v = match (sum, form.constant_part()) {
            (None, c) => self.constant(Scalar::I32(c)),
            (Some(sum), 0) => sum,
            (Some(sum), c) => {
                let c = self.constant(Scalar::I32(c));
                self.inst1(Op::Bin(BinOp::Add, sum, c), int)
            }
        };
        self.set_form(v, form.clone());
        v
    }

    /// Interval of an `int` scalar, as far as constants and checks tell.
    pub fn range(&self, s: &Sc) -> (i64, i64) {
        let (mut lo, mut hi) = self.own_range(s);
        let form = match s {
            Sc::Form(a) => Some(a),
            Sc::Val(v) => self.forms.get(v),
            Sc::Const(_) => None,
        };
        for fact in form.and_then(|a| self.bounded.get(a)).into_iter().flatten() {
            if self.scopes.contains(&fact.scope) {
                (lo, hi) = (lo.max(fact.range.0), hi.min(fact.range.1));
            }
        }
        (lo, hi)
    }

    /// States that an `int` scalar lies in `lo ..= hi` from here on, because a check has just been passed.
    pub fn set_checked(&mut self, s: &Sc, range: (i64, i64), below: Option<&Affine>) {
        let form = self.form(s);
        let fact = Bounded { scope: self.scope(), range, below: below.cloned(), age: self.func.values.len() };
        self.bounded.entry(form).or_default().push(fact);
    }

    fn own_range(&self, s: &Sc) -> (i64, i64) {
        const ALL: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);
        match s {
            Sc::Const(Scalar::I32(v)) => (*v as i64, *v as i64),
            Sc::Val(v) => self.ranges.get(v).copied().unwrap_or(ALL),
            Sc::Form(a) => match (a.as_const(), a.as_sym()) {
                (Some(v), _) => (v as i64, v as i64),
                (_, Some(s)) if matches!(self.syms[s.0 as usize].0, SymDef::Extent(..)) => (0, i32::MAX as i64),
                _ => ALL,
            },
            Sc::Const(_) => ALL,
        }
    }

    pub fn set_range(&mut self, v: Value, range: (i64, i64)) {
        self.ranges.insert(v, range);
    }

    /// States that `v` lies in `0 .. bound`.
    pub fn set_below(&mut self, v: Value, bound: Affine) {
        self.below.entry(v).or_default().push(bound);
    }

    /// Whether `0 <= index < extent` is certain; `Some(false)` if it certainly fails.
    pub fn index_in_range(&mut self, index: &Sc, extent: &Affine) -> Option<bool> {
        let (lo, hi) = self.range(index);
        if let Some(n) = extent.as_const() {
            if lo >= 0 && hi < n as i64 {
                return Some(true);
            }
            if hi < 0 || lo >= n as i64 {
                return Some(false);
            }
        }
        if hi < 0 {
            return Some(false);
        }
        if let Sc::Val(v) = index
            && self.below.get(v).is_some_and(|bounds| bounds.contains(extent))
        {
            return Some(true);
        }
        let facts = self.known_form(index).and_then(|a| self.bounded.get(&a));
        let checked = facts
            .into_iter()
            .flatten()
            .any(|f| f.range.0 >= 0 && f.below.as_ref() == Some(extent) && self.scopes.contains(&f.scope));
        checked.then_some(true)
    }

    /// Applies an operation to scalars of one element type, folding what is known. Division is the caller's to check.
    pub fn bin(&mut self, op: BinOp, basic: Basic, a: &Sc, b: &Sc) -> Sc {
        if let (Sc::Const(x), Sc::Const(y)) = (a, b)
            && let Ok(v) = ravel_types::eval_bin(op, *x, *y)
        {
            return Sc::Const(v);
        }
        let int = basic == Basic::Int;
        let form = if int { self.int_form(op, a, b) } else { None };
        if let Some(form) = &form {
            if form.as_const().is_some() {
                return self.from_form(form);
            }
            if !matches!(a, Sc::Val(_)) && !matches!(b, Sc::Val(_)) {
                return Sc::Form(form.clone());
            }
            if let Some(sym) = form.as_sym()
                && let (SymDef::Value(v), scope) = self.syms[sym.0 as usize]
                && self.scopes.contains(&scope)
            {
                return Sc::Val(v);
            }
        }
        if int
            && op.is_comparison()
            && let Some(truth) = self.compare(op, a, b)
        {
            return Sc::bool(truth);
        }
        if matches!(op, BinOp::Min | BinOp::Max) && int {
            let (ra, rb) = (self.range(a), self.range(b));
            let a_first = if op == BinOp::Min { ra.1 <= rb.0 } else { ra.0 >= rb.1 };
            let b_first = if op == BinOp::Min { rb.1 <= ra.0 } else { rb.0 >= ra.1 };
            if a == b || a_first {
                return a.clone();
            }
            if b_first {
                return b.clone();
            }
        }
        let ty = Ty::scalar(if op.is_comparison() { Elem::Bool } else { basic.elem() });
        let range = if int { int_range(op, self.range(a), self.range(b)) } else { None };
        let (x, y) = (self.value(a), self.value(b));
        let v = self.inst1(Op::Bin(op, x, y), ty);
        if let Some(form) = form {
            self.set_form(v, form);
        }
        if let Some(range) = range {
            self.ranges.insert(v, range);
        }
        Sc::Val(v)
    }

    fn int_form(&mut self, op: BinOp, a: &Sc, b: &Sc) -> Option<Affine> {
        match op {
            BinOp::Add | BinOp::Sub => {
                let (x, y) = (self.form(a), self.form(b));
                Some(if op == BinOp::Add { x.add(&y) } else { x.sub(&y) })
            }
            BinOp::Mul if a.as_int().is_some() || b.as_int().is_some() => self.form(a).mul(&self.form(b)),
            _ => None,
        }
    }

    fn compare(&self, op: BinOp, a: &Sc, b: &Sc) -> Option<bool> {
        if a == b {
            return match op {
                BinOp::Eq | BinOp::Le | BinOp::Ge => Some(true),
                BinOp::Ne | BinOp::Lt | BinOp::Gt => Some(false),
                _ => None,
            };
        }
        if let (Some(x), Some(y)) = (self.known_form(a), self.known_form(b)) {
            match (x.sub(&y).as_const(), op) {
                (Some(0), BinOp::Eq | BinOp::Le | BinOp::Ge) => return Some(true),
                (Some(0), BinOp::Ne | BinOp::Lt | BinOp::Gt) => return Some(false),
                (Some(_), BinOp::Eq) => return Some(false),
                (Some(_), BinOp::Ne) => return Some(true),
                _ => {}
            }
        }
        let ((al, ah), (bl, bh)) = (self.range(a), self.range(b));
        match op {
            BinOp::Lt if ah < bl => Some(true),
            BinOp::Lt if al >= bh => Some(false),
            BinOp::Le if ah <= bl => Some(true),
            BinOp::Le if al > bh => Some(false),
            BinOp::Gt if al > bh => Some(true),
            BinOp::Gt if ah <= bl => Some(false),
            BinOp::Ge if al >= bh => Some(true),
            BinOp::Ge if ah < bl => Some(false),
            BinOp::Eq if ah < bl || al > bh => Some(false),
            BinOp::Ne if ah < bl || al > bh => Some(true),
            _ => None,
        }
    }

    pub fn add(&mut self, a: &Sc, b: &Sc) -> Sc {
        self.bin(BinOp::Add, Basic::Int, a, b)
    }

    pub fn sub(&mut self, a: &Sc, b: &Sc) -> Sc {
        self.bin(BinOp::Sub, Basic::Int, a, b)
    }

    pub fn and(&mut self, a: &Sc, b: &Sc) -> Sc {
        match (a.as_bool(), b.as_bool()) {
            (Some(true), _) => b.clone(),
            (_, Some(true)) => a.clone(),
            (Some(false), _) | (_, Some(false)) => Sc::bool(false),
            _ => self.bin(BinOp::And, Basic::Bool, a, b),
        }
    }

    pub fn or(&mut self, a: &Sc, b: &Sc) -> Sc {
        match (a.as_bool(), b.as_bool()) {
            (Some(false), _) => b.clone(),
            (_, Some(false)) => a.clone(),
            (Some(true), _) | (_, Some(true)) => Sc::bool(true),
            _ => self.bin(BinOp::Or, Basic::Bool, a, b),
        }
    }

    // ---- arrays ----

    /// Extents of an array value, or nothing if the rank is unknown.
    pub fn extents(&self, v: Value) -> Option<Vec<Affine>> {
        self.func.ty(v).shape.extents().map(<[Affine]>::to_vec)
    }

    pub fn const_array(&mut self, elem: Elem, shape: &[i32], values: Vec<Scalar>) -> Value {
        let data = Arc::new(ConstData { elem, values });
        let v = self.inst1(Op::ConstArray(data.clone()), Ty::new(elem, Shape::of(shape)));
        self.constants.insert(v, data);
        v
    }

    /// The elements of an array that is a constant.
    pub fn const_data(&self, v: Value) -> Option<&Arc<ConstData>> {
        self.constants.get(&v)
    }

    /// A vector made of scalars.
    pub fn vector(&mut self, basic: Basic, scalars: &[Sc]) -> Value {
        let elem = basic.elem();
        let constants: Option<Vec<Scalar>> = scalars
            .iter()
            .map(|s| match s {
                Sc::Const(c) => Some(*c),
                _ => None,
            })
            .collect();
        match constants {
            Some(values) => self.const_array(elem, &[scalars.len() as i32], values),
            None => {
                let values = self.values(scalars);
                self.inst1(Op::Array(values), Ty::new(elem, Shape::of(&[scalars.len() as i32])))
            }
        }
    }

    // ---- kinds ----

    pub fn sc_kind(&self, basic: Basic, s: &Sc) -> ScKind {
        match s {
            Sc::Const(c) => ScKind::Const(*c),
            Sc::Form(a) => ScKind::Form(a.clone()),
            Sc::Val(v) if basic == Basic::Int => self.forms.get(v).map_or(ScKind::Any, |a| match a.as_const() {
                Some(c) => ScKind::Const(Scalar::I32(c)),
                None => ScKind::Form(a.clone()),
            }),
            Sc::Val(_) => ScKind::Any,
        }
    }

    pub fn kind_of(&self, v: &Val) -> Kind {
        match v {
            Val::Bottom => Kind::Bottom,
            Val::Sc(b, s) => Kind::Sc(*b, self.sc_kind(*b, s)),
            Val::Tup(b, s) => Kind::Tup(*b, s.iter().map(|s| self.sc_kind(*b, s)).collect()),
            Val::Arr(b, v) => Kind::Arr(
                *b,
                match self.extents(*v) {
                    Some(e) => ShapeKind::Known(e.into_iter().map(Some).collect()),
                    None => ShapeKind::Unknown,
                },
            ),
            Val::Handle(u, _) => Kind::Handle(*u),
            Val::Wrapped(u, v) => Kind::Wrapped(*u, Box::new(self.kind_of(v))),
            Val::Struct(s, fields) => Kind::Struct(*s, fields.iter().map(|f| self.kind_of(f)).collect()),
        }
    }

    /// WIR values that carry `v` as seen through `kind`, which must lie above it. A missing value (bottom) is carried by
    /// undefined values: the code is unreachable, or will be thrown away.
    pub fn flatten(&mut self, v: &Val, kind: &Kind, out: &mut Vec<Value>) {
        match (v, kind) {
            (Val::Bottom, _) => {
                let mut leaves = Vec::new();
                kind.leaves(&mut leaves);
                for (elem, shape) in leaves {
                    let (ty, _) = self.type_of_leaf(elem, &shape);
                    out.push(self.func.new_value(ty));
                }
            }
            (_, Kind::Sc(_, ScKind::Const(_))) | (_, Kind::Bottom) => {}
            (Val::Sc(_, s), Kind::Sc(..)) => {
                let v = self.value(s);
                out.push(v);
            }
            (Val::Tup(_, s), Kind::Tup(_, ks)) => {
                for (s, k) in s.iter().zip(ks) {
                    if !matches!(k, ScKind::Const(_)) {
                        let v = self.value(s);
                        out.push(v);
                    }
                }
            }
            (Val::Wrapped(_, v), Kind::Wrapped(_, k)) => self.flatten(v, k, out),
            (Val::Struct(_, vs), Kind::Struct(_, ks)) => vs.iter().zip(ks).for_each(|(v, k)| self.flatten(v, k, out)),
            (Val::Handle(_, v), _) => out.push(*v),
            (_, Kind::Arr(_, shape)) => {
                let v = self.array_as(v, shape);
                out.push(v);
            }
            (Val::Arr(b, v), Kind::Tup(_, ks)) => {
                let scalars = self.explode(*b, *v, ks.len());
                self.flatten(&Val::Tup(*b, scalars), kind, out);
            }
            (other, _) => {
                debug_assert!(false, "{other:?} is not below {kind:?}");
            }
        }
    }

    /// The elements of a vector of known length as scalars.
    pub fn explode(&mut self, basic: Basic, v: Value, n: usize) -> Vec<Sc> {
        if let Some(data) = self.const_data(v) {
            return data.values.iter().map(|c| Sc::Const(*c)).collect();
        }
        (0..n)
            .map(|i| {
                let index = self.constant(Scalar::I32(i as i32));
                Sc::Val(self.inst1(Op::Sel { array: v, index: vec![index] }, Ty::scalar(basic.elem())))
            })
            .collect()
    }

    /// A value of built-in element type as an array of the given knowledge.
    fn array_as(&mut self, v: &Val, shape: &ShapeKind) -> Value {
        let (array, basic) = match v {
            Val::Arr(b, v) => (*v, *b),
            Val::Tup(b, s) => (self.vector(*b, s), *b),
            Val::Sc(b, s) => (self.value(s), *b),
            _ => unreachable!("only values of built-in element type have array kinds"),
        };
        if *shape == ShapeKind::Unknown && self.func.ty(array).rank().is_some() {
            return self.inst1(Op::Widen(array), Ty::new(basic.elem(), Shape::Unknown));
        }
        array
    }

    /// The array object of a value of built-in element type; scalars are boxed.
    pub fn boxed(&mut self, v: &Val) -> Option<Value> {
        match v {
            Val::Sc(..) => Some(self.array_as(v, &ShapeKind::Unknown)),
            Val::Tup(b, s) => Some(self.vector(*b, s)),
            Val::Arr(_, v) => Some(*v),
            _ => None,
        }
    }

    /// A value of this kind, carried by `values` (as many as the kind has leaves).
    pub fn instantiate(&mut self, kind: &Kind, values: &mut impl Iterator<Item = Value>) -> Val {
        match kind {
            Kind::Bottom => Val::Bottom,
            Kind::Sc(b, k) => Val::Sc(*b, self.instantiate_scalar(k, values)),
            Kind::Tup(b, ks) => Val::Tup(*b, ks.iter().map(|k| self.instantiate_scalar(k, values)).collect()),
            Kind::Arr(b, _) => Val::Arr(*b, values.next().expect("a value per leaf")),
            Kind::Handle(u) => Val::Handle(*u, values.next().expect("a value per leaf")),
            Kind::Wrapped(u, k) => Val::Wrapped(*u, Box::new(self.instantiate(k, values))),
            Kind::Struct(s, ks) => Val::Struct(*s, ks.iter().map(|k| self.instantiate(k, values)).collect()),
        }
    }

    fn instantiate_scalar(&mut self, kind: &ScKind, values: &mut impl Iterator<Item = Value>) -> Sc {
        match kind {
            ScKind::Const(c) => Sc::Const(*c),
            ScKind::Form(a) => {
                let v = values.next().expect("a value per leaf");
                self.set_form(v, a.clone());
                Sc::Val(v)
            }
            ScKind::Any => Sc::Val(values.next().expect("a value per leaf")),
        }
    }

    /// Forgets instructions appended to the current region since `mark`, and what they told.
    pub fn truncate(&mut self, mark: Mark) {
        let region = self.region;
        self.func.regions[region].insts.truncate(mark.insts);
        self.computed.retain(|_, v| (v.as_u32() as usize) < mark.values);
        for facts in self.bounded.values_mut() {
            facts.retain(|f| f.age < mark.values);
        }
    }

    pub fn mark(&self) -> Mark {
        Mark { insts: self.func.regions[self.region].insts.len(), values: self.func.values.len() }
    }

    /// Number of instructions in the current region since `mark`.
    pub fn since(&self, mark: Mark) -> usize {
        self.func.regions[self.region].insts.len() - mark.insts
    }
}

/// Interval arithmetic; nothing if the operation may wrap.
fn int_range(op: BinOp, a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
    let (lo, hi) = match op {
        BinOp::Add => (a.0 + b.0, a.1 + b.1),
        BinOp::Sub => (a.0 - b.1, a.1 - b.0),
        BinOp::Mul => {
            let products = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
            (products.into_iter().min()?, products.into_iter().max()?)
        }
        BinOp::Min => (a.0.min(b.0), a.1.min(b.1)),
        BinOp::Max => (a.0.max(b.0), a.1.max(b.1)),
        BinOp::Div if b.0 == b.1 && b.0 > 0 => (a.0 / b.0, a.1 / b.0),
        BinOp::Mod if b.0 == b.1 && b.0 > 0 => {
            if a.0 >= 0 {
                (0, a.1.min(b.0 - 1))
            } else {
                (1 - b.0, b.0 - 1)
            }
        }
        BinOp::AplMod if b.0 == b.1 && b.0 > 0 => (0, b.0 - 1),
        _ => return None,
    };
    (lo >= i32::MIN as i64 && hi <= i32::MAX as i64).then_some((lo, hi))
}
