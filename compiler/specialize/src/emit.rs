//! The function under construction: regions, scopes of symbols, and making abstract values concrete.

mod arithmetic;
mod materialize;
mod together;

use crate::value::{Kind, LeafShape, Sc, ShapeKind, Val};
use ravel_source::Span;
use ravel_types::HashMap;
use ravel_types::{Affine, Basic, BinOp, Elem, Scalar, Shape, Sym, Ty};
use ravel_wir::{ConstData, Func, Inst, Op, Region, Value};
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
    /// Strings that are written out.
    texts: HashMap<Value, Arc<str>>,
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
            scope_of: HashMap::default(),
            forms: HashMap::default(),
            ranges: HashMap::default(),
            below: HashMap::default(),
            constants: HashMap::default(),
            texts: HashMap::default(),
            computed: HashMap::default(),
            bounded: HashMap::default(),
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
        values.iter().for_each(|v| self.extents_are_natural(*v));
        values
    }

    /// Appends an instruction whose first results carry the leaves, and whose others have the types that `others` makes of theirs.
    pub fn inst_leaves_and(
        &mut self,
        op: Op,
        leaves: &[(Elem, LeafShape)],
        others: impl FnOnce(&[Ty]) -> Vec<Ty>,
    ) -> Vec<Value> {
        let (mut types, fresh) = self.leaf_types(leaves);
        let others = others(&types);
        types.extend(others);
        let inst = self.inst(op, types);
        let values = self.func.insts[inst].results.clone();
        self.bind_leaves(&values[..leaves.len()], &fresh);
        values.iter().for_each(|v| self.extents_are_natural(*v));
        values
    }

    /// An array that exists has no negative extents.
    fn extents_are_natural(&mut self, v: Value) {
        for form in self.extents(v).unwrap_or_default() {
            if form.as_const().is_none() && self.range(&Sc::Form(form.clone())).0 < 0 {
                self.set_checked(&Sc::Form(form), (0, i32::MAX as i64), None);
            }
        }
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
                self.extents_are_natural(v);
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
    pub fn known_form(&self, s: &Sc) -> Option<Affine> {
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
    pub fn scalar_of(&self, form: &Affine) -> Sc {
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
    /// A string that is written out.
    pub fn string(&mut self, text: Arc<str>) -> Value {
        let v = self.inst1(Op::Str(text.clone()), Ty::scalar(Elem::Handle));
        self.texts.insert(v, text);
        v
    }

    /// The text of a string value, if it is known.
    pub fn text(&self, v: Value) -> Option<Arc<str>> {
        self.texts.get(&v).cloned()
    }

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
