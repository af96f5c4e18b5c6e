//! Checks that a module is well formed. After this a backend may translate without looking back.
//!
//! # Checklist
//! Module
//! - signatures have scalar types; alignments are powers of two; relocations lie inside their data and name existing data;
//! - globals are scalars; function names are unique; every function is defined.
//!
//! Values
//! - every type is well formed ([`Ty::is_well_formed`]); every value is defined exactly once, as a parameter or a result;
//! - a use comes after the definition in the same region or in a region around it;
//! - the results of an instruction have the number and types that its operation gives.
//!
//! Operations
//! - operand types are as [`crate::ops`] and [`Op`] say: same types on both sides, floats for float operators and so on;
//! - lane numbers are in range; constants have no bits above their type; stack slots have a valid alignment;
//! - calls name existing functions and pass what their signature wants.
//!
//! Control
//! - the body of a function leaves by `return` with the declared types or by `fault`; other regions by `yield` or `fault`;
//! - both regions of an `if` yield the result types, unless they fault; loops yield the types of their initial values,
//!   `loop` an `i8` before them; `parfor` yields nothing; region parameters are as the operation says;
//! - local slots and barriers are in launches of groups, which have as many sizes as axes, at most 1024 work-items in a group and no faults:
//!   a work-item that left early would be missed at the next barrier.
//!
//! Threads
//! - `parfor` bodies, and functions that they reach, count references atomically ([`crate::threads`]).
//! - `parfor` bodies that processes may share store in memory of their own and in declared outputs.

use std::fmt;

use cranelift_entity::EntityRef;
use smallvec::SmallVec;

use crate::ir::{ConvOp, Exit, Func, FuncId, Inst, Module, Op, Prim, Region, Signature, Ty, Value};
use crate::{shared, threads};

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Name of the function, or empty for the module itself.
    pub func: String,
    /// What is wrong, with the entities involved.
    pub rule: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.func.is_empty() {
            write!(f, "nest module: {}", self.rule)
        } else {
            write!(f, "nest function {}: {}", self.func, self.rule)
        }
    }
}

impl std::error::Error for VerifyError {}

/// Checks a module.
///
/// # Errors
/// The first broken rule of the module's declarations, and of each function.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    if let Err(rule) = check_declarations(module) {
        errors.push(VerifyError { func: String::new(), rule });
    }
    for (id, func) in &module.funcs {
        if let Err(error) = verify_func(module, id, func) {
            errors.push(error);
        }
    }
    if errors.is_empty()
        && let Some((id, inst)) = threads::plain_count(module)
    {
        let rule = format!("{} in code that several threads may run at once", describe(&inst.op));
        errors.push(VerifyError { func: module.funcs[id].name.clone(), rule });
    }
    if errors.is_empty()
        && let Some((id, inst)) = shared::undeclared_store(module)
    {
        let rule = format!("{} in a shared loop that does not declare it", describe(&inst.op));
        errors.push(VerifyError { func: module.funcs[id].name.clone(), rule });
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn verify_func(module: &Module, id: FuncId, func: &Func) -> Result<(), VerifyError> {
    let mut checker = Checker {
        module,
        func,
        seen: vec![false; func.values.len()],
        in_scope: vec![false; func.values.len()],
        scope: Vec::new(),
        grouped: false,
    };
    let checked = match func.is_defined() {
        true => checker.body(),
        false => Err(format!("{id} is declared but has no body")),
    };
    checked.map_err(|rule| VerifyError { func: func.name.clone(), rule })
}

/// The most work-items of a group; all devices of interest have as many.
const MOST_ITEMS: u32 = 1024;

type Rule = Result<(), String>;

fn ensure(holds: bool, rule: impl FnOnce() -> String) -> Rule {
    if holds { Ok(()) } else { Err(rule()) }
}

fn check_declarations(module: &Module) -> Rule {
    let scalar = |ty: Ty| ty.is_well_formed() && !ty.is_vector();
    let sigs = module.sigs.values().chain(module.externs.values().map(|ext| &ext.sig));
    for sig in sigs {
        let types = sig.params.iter().map(|param| param.ty).chain(sig.result);
        ensure(types.into_iter().all(scalar), || format!("signature {sig} has a type that is not a scalar"))?;
    }
    for (id, data) in &module.data {
        ensure(data.align.is_power_of_two(), || format!("{id} has alignment {}", data.align))?;
        for reloc in &data.relocs {
            let inside = (reloc.at as usize).checked_add(8).is_some_and(|end| end <= data.bytes.len());
            ensure(inside && reloc.target.index() < module.data.len(), || {
                format!("{id} has a bad relocation at {}", reloc.at)
            })?;
        }
    }
    for (id, global) in &module.globals {
        ensure(scalar(global.ty), || format!("{id} is not a scalar"))?;
    }
    let mut names = std::collections::BTreeSet::new();
    for (id, func) in &module.funcs {
        ensure(names.insert(func.name.as_str()), || format!("{id} has the name {} of another function", func.name))?;
    }
    Ok(())
}

/// The owner of a region, which says how it may be left.
enum Owner<'a> {
    Body,
    /// Must yield these types.
    Yields(&'a [Ty]),
}

struct Checker<'a> {
    module: &'a Module,
    func: &'a Func,
    /// Defined somewhere already.
    seen: Vec<bool>,
    /// Usable here.
    in_scope: Vec<bool>,
    /// The usable values, innermost last.
    scope: Vec<Value>,
    /// In a launch of groups.
    grouped: bool,
}

impl Checker<'_> {
    fn body(&mut self) -> Rule {
        for (value, ty) in &self.func.values {
            ensure(ty.is_well_formed(), || format!("{value} has the impossible type {ty}"))?;
        }
        ensure(self.func.results.iter().all(|ty| ty.is_well_formed()), || {
            "a result has an impossible type".to_string()
        })?;
        self.region(&self.func.body, Owner::Body)
    }

    fn define(&mut self, value: Value) -> Rule {
        ensure(value.index() < self.seen.len(), || format!("{value} has no type"))?;
        ensure(!std::mem::replace(&mut self.seen[value.index()], true), || format!("{value} is defined twice"))?;
        self.in_scope[value.index()] = true;
        self.scope.push(value);
        Ok(())
    }

    fn usable(&self, value: Value) -> Rule {
        ensure(self.in_scope.get(value.index()) == Some(&true), || format!("{value} is used where it is not defined"))
    }

    /// The type of a value that [`Checker::usable`] has accepted.
    fn ty(&self, value: Value) -> Ty {
        self.func.values[value]
    }

    fn types(&self, values: &[Value]) -> SmallVec<[Ty; 4]> {
        values.iter().map(|&value| self.ty(value)).collect()
    }

    fn region(&mut self, region: &Region, owner: Owner<'_>) -> Rule {
        let mark = self.scope.len();
        for &param in &region.params {
            self.define(param)?;
        }
        for inst in &region.insts {
            self.inst(inst)?;
        }
        for &value in region.exit.operands() {
            self.usable(value)?;
        }
        let given = self.types(region.exit.operands());
        match (&region.exit, owner) {
            (Exit::Fault { .. }, _) if self.grouped => return Err("a fault in a launch of groups".to_string()),
            (Exit::Fault { callee, .. }, _) => match self.module.externs.get(*callee) {
                Some(ext) => {
                    ensure(ext.sig.result.is_none(), || format!("fault function {} has a result", ext.name))?;
                    self.args(&ext.sig, &given, &ext.name)?;
                }
                None => return Err(format!("{callee} does not exist")),
            },
            (Exit::Return(_), Owner::Body) => {
                ensure(given[..] == self.func.results[..], || {
                    format!("returns {}", mismatch(&given, &self.func.results))
                })?;
            }
            (Exit::Yield(_), Owner::Yields(wanted)) => {
                ensure(given[..] == *wanted, || format!("yields {}", mismatch(&given, wanted)))?;
            }
            _ => return Err("a region is left in a way its owner does not allow".to_string()),
        }
        for value in self.scope.drain(mark..) {
            self.in_scope[value.index()] = false;
        }
        Ok(())
    }

    fn args(&self, sig: &Signature, given: &[Ty], callee: &str) -> Rule {
        let wanted: Vec<Ty> = sig.params.iter().map(|param| param.ty).collect();
        ensure(*given == wanted[..], || format!("call of {callee} passes {}", mismatch(given, &wanted)))
    }

    fn inst(&mut self, inst: &Inst) -> Rule {
        let mut usable = Ok(());
        inst.op.for_each_operand(|value| {
            usable = std::mem::replace(&mut usable, Ok(())).and_then(|()| self.usable(value))
        });
        usable?;
        ensure(inst.results.iter().all(|v| v.index() < self.seen.len()), || "a result has no type".to_string())?;
        let given = self.types(&inst.results);
        let wanted = self.op(&inst.op, &given)?;
        ensure(given == wanted, || format!("results of {} are {}", describe(&inst.op), mismatch(&given, &wanted)))?;
        inst.results.iter().try_for_each(|&value| self.define(value))
    }

    /// Checks the operands and regions of an operation and returns the types of its results.
    fn op(&mut self, op: &Op, given: &[Ty]) -> Result<SmallVec<[Ty; 4]>, String> {
        let one = |ty: Ty| Ok(SmallVec::from_slice(&[ty]));
        let none = Ok(SmallVec::new());
        let wrong = || format!("operands of {} have the wrong type", describe(op));
        match op {
            Op::Const { ty, bits } => {
                let fits = ty.is_well_formed() && (ty.prim.bits() == 64 || bits >> ty.prim.bits() == 0);
                ensure(fits, || format!("constant 0x{bits:x} does not fit {ty}"))?;
                one(*ty)
            }
            Op::Unary(unary, a) => {
                let ty = self.ty(*a);
                let fits = if unary.is_float() { ty.prim.is_float() } else { ty.prim.is_int() };
                ensure(fits, wrong)?;
                one(ty)
            }
            Op::Binary(binary, a, b) => {
                let ty = self.ty(*a);
                let fits = if binary.is_float() { ty.prim.is_float() } else { ty.prim.is_int() };
                ensure(fits && ty == self.ty(*b), wrong)?;
                one(ty)
            }
            Op::Fma(a, b, c) => {
                let ty = self.ty(*a);
                ensure(ty.prim.is_float() && ty == self.ty(*b) && ty == self.ty(*c), wrong)?;
                one(ty)
            }
            Op::IntCmp(_, a, b) => {
                let ty = self.ty(*a);
                ensure(!ty.prim.is_float() && ty == self.ty(*b), wrong)?;
                one(ty.truth())
            }
            Op::FloatCmp(_, a, b) => {
                let ty = self.ty(*a);
                ensure(ty.prim.is_float() && ty == self.ty(*b), wrong)?;
                one(ty.truth())
            }
            Op::Select { cond, on_true, on_false } => {
                let ty = self.ty(*on_true);
                let cond = self.ty(*cond);
                ensure(ty == self.ty(*on_false) && (cond == Ty::I8 || (ty.is_vector() && cond == ty.truth())), wrong)?;
                one(ty)
            }
            Op::Convert(conv, a, to) => {
                let ty = self.ty(*a);
                ensure(conversion_exists(*conv, ty.prim, *to), wrong)?;
                one(ty.with_prim(*to))
            }
            Op::Splat(a, lanes) => {
                let ty = self.ty(*a);
                let result = ty.with_lanes(*lanes);
                ensure(!ty.is_vector() && result.is_vector() && result.is_well_formed(), wrong)?;
                one(result)
            }
            Op::Extract(a, lane) => {
                let ty = self.ty(*a);
                ensure(ty.is_vector() && *lane < ty.lanes, wrong)?;
                one(ty.lane())
            }
            Op::Insert { vector, lane, scalar } => {
                let ty = self.ty(*vector);
                ensure(ty.is_vector() && *lane < ty.lanes && self.ty(*scalar) == ty.lane(), wrong)?;
                one(ty)
            }
            Op::Shuffle(a, b, lanes) => {
                let ty = self.ty(*a);
                let result = ty.with_lanes(u8::try_from(lanes.len()).unwrap_or(0));
                let picks = lanes.iter().all(|&lane| u32::from(lane) < 2 * u32::from(ty.lanes));
                ensure(
                    ty.is_vector() && ty == self.ty(*b) && result.is_well_formed() && result.is_vector() && picks,
                    wrong,
                )?;
                one(result)
            }
            Op::Reduce(reduce, a) => {
                let ty = self.ty(*a);
                let fits = if reduce.combine().is_float() { ty.prim.is_float() } else { ty.prim.is_int() };
                ensure(ty.is_vector() && fits, wrong)?;
                one(ty.lane())
            }
            Op::Any(mask) => {
                let ty = self.ty(*mask);
                ensure(ty.is_vector() && ty.prim.is_int(), wrong)?;
                one(Ty::I8)
            }
            Op::Math(math, args) => {
                ensure(args.len() == math.arity(), wrong)?;
                let ty = self.ty(args[0]);
                ensure(ty.prim.is_float() && args.iter().all(|&arg| self.ty(arg) == ty), wrong)?;
                one(ty)
            }
            Op::Load { ty, ptr, .. } => {
                ensure(ty.is_well_formed() && self.ty(*ptr) == Ty::PTR, wrong)?;
                one(*ty)
            }
            Op::Gather { ty, ptr, index, scale, mask, .. } => {
                let lanes = self.ty(*index);
                let indexed = lanes.lanes == ty.lanes && matches!(lanes.prim, Prim::I32 | Prim::I64);
                let loads = ty.is_well_formed() && ty.is_vector() && ty.prim != Prim::Ptr;
                let masked = mask.is_none_or(|mask| self.ty(mask) == ty.truth());
                ensure(
                    indexed && loads && masked && matches!(scale, 1 | 2 | 4 | 8) && self.ty(*ptr) == Ty::PTR,
                    wrong,
                )?;
                one(*ty)
            }
            Op::Store { ptr, .. } => {
                ensure(self.ty(*ptr) == Ty::PTR, wrong)?;
                none
            }
            Op::PtrAdd(ptr, bytes) => {
                ensure(self.ty(*ptr) == Ty::PTR && self.ty(*bytes) == Ty::I64, wrong)?;
                one(Ty::PTR)
            }
            Op::StackSlot { align, .. } => {
                ensure(align.is_power_of_two() && *align <= 64, || format!("stack slot with alignment {align}"))?;
                one(Ty::PTR)
            }
            Op::DataAddr(id) => {
                ensure(id.index() < self.module.data.len(), || format!("{id} does not exist"))?;
                one(Ty::PTR)
            }
            Op::GlobalAddr(id) => {
                ensure(id.index() < self.module.globals.len(), || format!("{id} does not exist"))?;
                one(Ty::PTR)
            }
            Op::ExternAddr(id) => {
                ensure(id.index() < self.module.externs.len(), || format!("{id} does not exist"))?;
                one(Ty::PTR)
            }
            Op::FuncAddr(id) => match self.module.funcs.get(*id) {
                Some(func) => {
                    let scalars = func.param_types().all(|ty| !ty.is_vector()) && func.results.len() <= 1;
                    ensure(scalars, || format!("address of {id}, which cannot be called from C"))?;
                    one(Ty::PTR)
                }
                None => Err(format!("{id} does not exist")),
            },
            Op::Call(id, args) => match self.module.funcs.get(*id) {
                Some(func) => {
                    let given = self.types(args);
                    let wanted: Vec<Ty> = func.param_types().collect();
                    ensure(given[..] == wanted[..], || {
                        format!("call of {} passes {}", func.name, mismatch(&given, &wanted))
                    })?;
                    Ok(SmallVec::from_slice(&func.results))
                }
                None => Err(format!("{id} does not exist")),
            },
            Op::CallExtern(id, args) => match self.module.externs.get(*id) {
                Some(ext) => {
                    self.args(&ext.sig, &self.types(args), &ext.name)?;
                    Ok(ext.sig.result.into_iter().collect())
                }
                None => Err(format!("{id} does not exist")),
            },
            Op::CallIndirect { sig, callee, args } => match self.module.sigs.get(*sig) {
                Some(sig) => {
                    ensure(self.ty(*callee) == Ty::PTR, wrong)?;
                    self.args(sig, &self.types(args), "a pointer")?;
                    Ok(sig.result.into_iter().collect())
                }
                None => Err(format!("{sig} does not exist")),
            },
            Op::RcInc(object, _) | Op::RcDec(object, _) => {
                ensure(self.ty(*object) == Ty::PTR, wrong)?;
                none
            }
            Op::RcUnique(object) => {
                ensure(self.ty(*object) == Ty::PTR, wrong)?;
                one(Ty::I8)
            }
            Op::If { cond, then_region, else_region } => {
                ensure(self.ty(*cond) == Ty::I8, wrong)?;
                ensure(then_region.params.is_empty() && else_region.params.is_empty(), || {
                    "an if binds values".to_string()
                })?;
                self.region(then_region, Owner::Yields(given))?;
                self.region(else_region, Owner::Yields(given))?;
                Ok(SmallVec::from_slice(given))
            }
            Op::For { lo, hi, step, inits, body } => {
                ensure([lo, hi, step].into_iter().all(|&v| self.ty(v) == Ty::I64), wrong)?;
                let carried = self.types(inits);
                self.params(body, &[&[Ty::I64][..], &carried].concat())?;
                self.region(body, Owner::Yields(&carried))?;
                Ok(carried)
            }
            Op::Loop { inits, body } => {
                let carried = self.types(inits);
                self.params(body, &carried)?;
                self.region(body, Owner::Yields(&[&[Ty::I8][..], &carried].concat()))?;
                Ok(carried)
            }
            Op::ParFor { n, chunk, late, shared, body } => {
                ensure([n, chunk].into_iter().chain(late).all(|v| self.ty(*v) == Ty::I64), wrong)?;
                if let Some(shared) = shared {
                    let is_address = |v: &Value| shared.addresses().any(|address| address == v);
                    let fits = |v: &Value| self.ty(*v) == if is_address(v) { Ty::PTR } else { Ty::I64 };
                    ensure(shared.values().all(fits), wrong)?;
                }
                self.params(body, &[Ty::I64; 3])?;
                self.region(body, Owner::Yields(&[]))?;
                none
            }
            Op::LocalSlot { align, .. } => {
                ensure(self.grouped, || "local memory outside of a launch of groups".to_string())?;
                ensure(align.is_power_of_two() && *align <= 64, || format!("local slot with alignment {align}"))?;
                one(Ty::PTR)
            }
            Op::Barrier => {
                ensure(self.grouped, || "a barrier outside of a launch of groups".to_string())?;
                none
            }
            Op::Launch { grid, local, body } => {
                ensure((1..=3).contains(&grid.len()) && grid.iter().all(|&v| self.ty(v) == Ty::I64), wrong)?;
                let items = local.iter().try_fold(1u32, |n, &size| n.checked_mul(size));
                let fits = local.is_empty()
                    || (local.len() == grid.len() && items.is_some_and(|n| (1..=MOST_ITEMS).contains(&n)));
                ensure(fits, || format!("a launch with groups of {local:?}"))?;
                self.params(body, &vec![Ty::I64; grid.len() + local.len()])?;
                let around = std::mem::replace(&mut self.grouped, !local.is_empty());
                let checked = self.region(body, Owner::Yields(&[]));
                self.grouped = around;
                checked?;
                none
            }
        }
    }

    fn params(&self, region: &Region, wanted: &[Ty]) -> Rule {
        let given: Vec<Option<Ty>> = region.params.iter().map(|&v| self.func.values.get(v).copied()).collect();
        let fits =
            given.len() == wanted.len() && given.iter().zip(wanted).all(|(given, wanted)| *given == Some(*wanted));
        ensure(fits, || "a region has the wrong parameters".to_string())
    }
}

fn conversion_exists(conv: ConvOp, from: Prim, to: Prim) -> bool {
    match conv {
        ConvOp::Narrow => from.is_int() && to.is_int() && from.bits() > to.bits(),
        ConvOp::SExt | ConvOp::ZExt => from.is_int() && to.is_int() && from.bits() < to.bits(),
        ConvOp::FConv => from.is_float() && to.is_float() && from != to,
        ConvOp::SToF | ConvOp::UToF => from.is_int() && to.is_float(),
        ConvOp::FToS | ConvOp::FToU => from.is_float() && to.is_int(),
        ConvOp::Bits => from.bits() == to.bits() && from != to,
    }
}

fn mismatch(given: &[Ty], wanted: &[Ty]) -> String {
    let list = |types: &[Ty]| types.iter().map(Ty::to_string).collect::<Vec<_>>().join(", ");
    format!("({}) where ({}) is wanted", list(given), list(wanted))
}

/// The operation without its regions.
fn describe(op: &Op) -> String {
    match op {
        Op::If { .. } => "if".to_string(),
        Op::For { .. } => "for".to_string(),
        Op::Loop { .. } => "loop".to_string(),
        Op::ParFor { .. } => "parfor".to_string(),
        Op::Launch { .. } => "launch".to_string(),
        other => format!("{other:?}"),
    }
}
