//! Well-formedness of WIR.
//!
//! # Checklist
//! Structure:
//! - every value is a parameter of one region or a result of one instruction, and every instruction and region has one place;
//! - a use lies after its definition in the same region or in a region nested in a later instruction;
//! - branches have no parameters; a loop body has one parameter per initial value and yields a `bool` and that many values;
//!   a partition's body has one `i32` parameter per axis (or one index vector) and yields one cell per operator; a fold
//!   function takes accumulator and cell and yields one value.
//!
//! Types. Two types *agree* if their elements are the same, both ranks are unknown or equal, and no axis has two different constants:
//! - operations on scalars have scalar operands of one element type, on which the operation exists, and its result type;
//! - index scalars, extents, bounds, steps and widths are `i32` scalars, index vectors are `i32` of rank 1, conditions are `bool`
//!   scalars;
//! - `extent`, `sel` and `update` have arrays of known rank, large enough; cells agree with the rest of the shape;
//! - `array` has as many cells as the leading axes of its result say, all of one type; a constant array has its elements' count;
//! - what a region yields agrees with the results or parameters it becomes; arguments agree with parameters;
//! - `derive` has real arguments like the parameters of its region, forward a seed per argument, in reverse one per real result; its results are
//!   like what the region yields, then forward like its real ones, in reverse like the arguments;
//! - a rule takes what its function takes and gives, and seeds, and gives derivatives: of real parameters and real results, which they are like;
//! - the result of `genarray` agrees with frame ++ cell, of `modarray` with the array, of `fold` with the neutral element;
//! - generators and frames of one with-loop have one arity.
//!
//! Effects: no instruction in a with-loop that is not `ordered` has an effect other than a fault, and no function without the
//! `effects` mark has one.

use crate::ir::*;
use crate::traverse::walk;
use ravel_types::HashSet;
use ravel_types::{Elem, EvalFault, Scalar, Shape, Ty, UnOp, eval_bin, eval_un};
use std::fmt;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    pub func: FuncId,
    pub func_name: String,
    /// The offending instruction; none for the function as a whole.
    pub inst: Option<Inst>,
    pub problem: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"{}\"", self.func, self.func_name)?;
        if let Some(inst) = self.inst {
            write!(f, ", {inst}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for VerifyError {}

/// Checks a module.
///
/// # Errors
/// Every broken rule found; a function whose structure is broken is not looked at further.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    for id in module.funcs.keys() {
        verify_into(module, id, &mut errors);
    }
    if module.entry.is_some_and(|entry| !module.funcs.is_valid(entry)) {
        errors.push(VerifyError {
            func: FuncId::from_u32(0),
            func_name: String::new(),
            inst: None,
            problem: "the entry does not exist".into(),
        });
    }
    if let Some((name, _)) = module.exports.iter().find(|(_, export)| !module.funcs.is_valid(*export)) {
        errors.push(VerifyError {
            func: FuncId::from_u32(0),
            func_name: String::new(),
            inst: None,
            problem: format!("the export {name} does not exist"),
        });
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Checks one function of a module.
///
/// # Errors
/// As [`verify`].
pub fn verify_func(module: &Module, id: FuncId) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    verify_into(module, id, &mut errors);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn verify_into(module: &Module, id: FuncId, errors: &mut Vec<VerifyError>) {
    let func = &module.funcs[id];
    Verifier {
        module,
        func,
        id,
        errors,
        defined: HashSet::default(),
        scope: HashSet::default(),
        seen: HashSet::default(),
    }
    .function();
}

/// Whether a value of one type may stand where the other is expected.
pub fn agree(a: &Ty, b: &Ty) -> bool {
    a.elem == b.elem && shapes_agree(&a.shape, &b.shape)
}

fn shapes_agree(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Unknown, Shape::Unknown) => true,
        (Shape::Known(a), Shape::Known(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|(x, y)| x.as_const().is_none() || y.as_const().is_none() || x == y)
        }
        _ => false,
    }
}

/// Nesting deeper than this is refused: everything that walks WIR recurses over regions.
const MAX_DEPTH: usize = 500;

struct Verifier<'a> {
    module: &'a Module,
    func: &'a Func,
    id: FuncId,
    errors: &'a mut Vec<VerifyError>,
    defined: HashSet<Value>,
    scope: HashSet<Value>,
    seen: HashSet<Region>,
}

impl<'a> Verifier<'a> {
    fn fail(&mut self, inst: Option<Inst>, problem: impl Into<String>) {
        self.errors.push(VerifyError {
            func: self.id,
            func_name: self.func.name.clone(),
            inst,
            problem: problem.into(),
        });
    }

    fn require(&mut self, inst: Inst, holds: bool, problem: &str) {
        if !holds {
            let op = &self.func.insts[inst].op;
            let name = format!("{op:?}");
            let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_lowercase();
            self.fail(Some(inst), format!("{name}: {problem}"));
        }
    }

    fn function(&mut self) {
        let before = self.errors.len();
        let mut insts = HashSet::default();
        self.structure(self.func.body, None, 0, &mut insts);
        if self.errors.len() > before {
            return;
        }
        let func = self.func;
        let mut all = Vec::new();
        walk(func, func.body, &mut |_, inst| all.push(inst));
        for inst in all {
            self.types(inst);
        }
        self.effects(func.body, false);
        self.rule("derivative", func.rules.derivative.as_ref());
        self.rule("tangent", func.rules.tangent.as_ref());
    }

    /// Arguments, results and seeds are the parameters of a rule, and derivatives its results.
    fn rule(&mut self, kind: &str, rule: Option<&Rule>) {
        let Some(rule) = rule else { return };
        let (own, Some(other)) = (self.func, self.module.funcs.get(rule.func)) else {
            return self.fail(None, format!("{kind}: the rule does not exist"));
        };
        let params = own.params();
        let is_real = |v: &Value| own.ty(*v).elem.is_float();
        let by: Option<Vec<Value>> = rule.by.iter().map(|k| params.get(*k as usize).copied()).collect();
        let Some(by) = by.filter(|by| by.iter().all(is_real) && rule.by.is_sorted_by(|a, b| a < b)) else {
            return self.fail(None, format!("{kind}: it is no list of real parameters"));
        };
        let results: Vec<Value> = own.results().iter().copied().filter(is_real).collect();
        let (seeds, derivatives) = if kind == "derivative" { (results, by) } else { (by, results) };
        let takes = params.iter().chain(own.results()).chain(&seeds);
        let agrees = |(v, other_v): (&Value, &Value)| agree(own.ty(*v), other.ty(*other_v));
        let fits = takes.clone().count() == other.params().len()
            && takes.zip(other.params()).all(agrees)
            && derivatives.len() == other.results().len()
            && derivatives.iter().zip(other.results()).all(agrees);
        if !fits {
            self.fail(None, format!("{kind}: the rule does not take and give what belongs to the function"));
        }
    }

    /// Definitions and scopes.
    fn structure(&mut self, region: Region, owner: Option<Inst>, depth: usize, insts: &mut HashSet<Inst>) {
        let func = self.func;
        if !func.regions.is_valid(region) || !self.seen.insert(region) {
            return self.fail(owner, format!("{region} does not exist or has two places"));
        }
        if depth > MAX_DEPTH {
            return self.fail(owner, "regions are nested too deeply");
        }
        let data = &func.regions[region];
        let mut local = data.params.clone();
        for &param in &data.params {
            self.define(owner, param);
        }
        for &inst in &data.insts {
            if !func.insts.is_valid(inst) || !insts.insert(inst) {
                return self.fail(owner, format!("{inst} does not exist or has two places"));
            }
            let op = &func.insts[inst].op;
            let mut operands = Vec::new();
            op.for_each_operand(|v| operands.push(v));
            operands.iter().for_each(|v| self.used(Some(inst), *v));
            for nested in op.regions() {
                self.structure(nested, Some(inst), depth + 1, insts);
            }
            for &result in &func.insts[inst].results {
                self.define(Some(inst), result);
                local.push(result);
            }
        }
        data.yields.iter().for_each(|v| self.used(owner, *v));
        for value in local {
            self.scope.remove(&value);
        }
    }

    fn define(&mut self, inst: Option<Inst>, value: Value) {
        if !self.func.values.is_valid(value) || !self.defined.insert(value) {
            self.fail(inst, format!("{value} does not exist or is defined twice"));
        }
        self.scope.insert(value);
    }

    fn used(&mut self, inst: Option<Inst>, value: Value) {
        if !self.scope.contains(&value) {
            self.fail(inst, format!("{value} is used where it is not visible"));
        }
    }

    fn effects(&mut self, region: Region, pure: bool) {
        let func = self.func;
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            let has_effect = match &data.op {
                Op::Native { effect, .. } => *effect,
                Op::GlobalSet(..) => true,
                Op::Call { func, .. } => self.module.funcs.get(*func).is_some_and(|f| f.effects),
                _ => false,
            };
            if has_effect {
                self.require(inst, !pure, "an effect in a with-loop that is not ordered");
                self.require(inst, func.effects, "an effect in a function that is not marked so");
            }
            for nested in data.op.regions() {
                let pure = pure || matches!(&data.op, Op::With(with) if !with.ordered);
                self.effects(nested, pure);
            }
        }
    }

    fn ty(&self, value: Value) -> &'a Ty {
        self.func.ty(value)
    }

    fn is_scalar(&self, value: Value, elem: Elem) -> bool {
        self.ty(value).elem == elem && self.ty(value).is_scalar()
    }

    fn all_ints(&mut self, inst: Inst, values: &[Value]) {
        let holds = values.iter().all(|v| self.is_scalar(*v, Elem::I32));
        self.require(inst, holds, "indices, extents and bounds are i32 scalars");
    }

    fn index_vector(&mut self, inst: Inst, value: Value) {
        let holds = self.ty(value).elem == Elem::I32 && self.ty(value).rank() == Some(1);
        self.require(inst, holds, "an index vector is i32 of rank 1");
    }

    fn condition(&mut self, inst: Inst, value: Value) {
        let holds = self.is_scalar(value, Elem::Bool);
        self.require(inst, holds, "a condition is a bool scalar");
    }

    /// `values` become things of the types of `targets`.
    fn flows(&mut self, inst: Inst, values: &[Value], targets: &[Value], what: &str) {
        let holds =
            values.len() == targets.len() && values.iter().zip(targets).all(|(v, t)| agree(self.ty(*v), self.ty(*t)));
        self.require(inst, holds, &format!("{what} do not agree in number or type"));
    }

    fn types(&mut self, inst: Inst) {
        let func = self.func;
        let data = &func.insts[inst];
        let results = &data.results;
        let expected = match &data.op {
            Op::If { .. } | Op::Loop { .. } | Op::Derive { .. } | Op::Call { .. } | Op::Native { .. } => None,
            Op::With(with) => Some(with.ops.len()),
            Op::GlobalSet(..) | Op::Check { .. } => Some(0),
            _ => Some(1),
        };
        if expected.is_some_and(|n| n != results.len()) {
            return self.require(inst, false, "wrong number of results");
        }
        let result = results.first().map(|v| self.ty(*v));
        match &data.op {
            Op::If { cond, then, els } => {
                self.condition(inst, *cond);
                for region in [*then, *els] {
                    self.require(inst, func.regions[region].params.is_empty(), "a branch has no parameters");
                    self.flows(inst, &func.regions[region].yields, results, "results of a branch");
                }
            }
            Op::Loop { init, body } => {
                let body = &func.regions[*body];
                self.flows(inst, init, &body.params, "initial values and parameters");
                self.flows(inst, results, &body.params, "results and parameters");
                match body.yields.split_first() {
                    Some((go_on, next)) => {
                        self.condition(inst, *go_on);
                        self.flows(inst, next, &body.params, "next values and parameters");
                    }
                    None => self.require(inst, false, "the body yields no condition"),
                }
            }
            Op::With(with) => self.with(inst, with),
            Op::Derive { mode, args, seeds, body } => self.derive(inst, *mode, args, seeds, *body),
            Op::Call { func: callee, args } => match self.module.funcs.get(*callee) {
                None => self.require(inst, false, "the callee does not exist"),
                Some(callee) => {
                    let fits = |values: &[Value], targets: &[Value]| {
                        values.len() == targets.len()
                            && values.iter().zip(targets).all(|(v, t)| agree(self.ty(*v), callee.ty(*t)))
                    };
                    let holds = fits(args, callee.params()) && fits(results, callee.results());
                    self.require(inst, holds, "arguments or results do not agree with the callee");
                }
            },
            Op::Native { args, fixed, .. } => self.require(inst, *fixed <= args.len(), "too few arguments"),
            Op::GlobalSet(global, value) => {
                let holds = self.module.globals.get(*global).is_some_and(|g| agree(&g.ty, self.ty(*value)));
                self.require(inst, holds, "the global object has another type");
            }
            Op::Check { cond, fault } => {
                self.condition(inst, *cond);
                let mut shown = Vec::new();
                data.op.for_each_operand(|v| shown.push(v));
                let holds = shown[1..].iter().all(|v| self.ty(*v).is_scalar());
                self.require(inst, holds, "the operands of a fault are scalars");
                let mut faults = vec![fault.own()];
                if let Fault::Several { others, .. } = fault {
                    for Violation { holds, fault } in others {
                        self.condition(inst, *holds);
                        faults.push(fault);
                    }
                }
                for fault in faults {
                    match fault {
                        Fault::Index { index, extent, .. } => self.all_ints(inst, &[*index, *extent]),
                        Fault::Several { .. } => self.require(inst, false, "faults are not nested"),
                        _ => {}
                    }
                }
            }
            op => {
                if let Some(result) = result {
                    self.simple(inst, op, result);
                }
            }
        }
    }

    /// Operations with one result and no regions.
    fn simple(&mut self, inst: Inst, op: &Op, result: &Ty) {
        let func = self.func;
        let same_elem = |v: Value| func.ty(v).elem == result.elem;
        match op {
            Op::Const(value) => {
                self.require(inst, result.is_scalar() && result.elem == value.elem(), "wrong result type")
            }
            Op::Str(_) => self.require(inst, *result == Ty::scalar(Elem::Handle), "a string is a handle"),
            Op::ConstArray(data) => {
                let holds = data.elem == result.elem
                    && data.values.iter().all(|v| v.elem() == data.elem)
                    && result.rank().is_some_and(|r| r > 0)
                    && result.shape.count() == Some(data.values.len());
                self.require(inst, holds, "elements do not fit the result type");
            }
            Op::Un(op, a) => {
                let ty = self.ty(*a);
                let expected = if op.is_predicate() { Elem::Bool } else { ty.elem };
                let holds = ty.is_scalar() && result.is_scalar() && result.elem == expected && un_exists(*op, ty.elem);
                self.require(inst, holds, "not defined on these types");
            }
            Op::Bin(op, a, b) => {
                let (a, b) = (self.ty(*a), self.ty(*b));
                let expected = if op.is_comparison() { Elem::Bool } else { a.elem };
                let scalars = a.is_scalar() && b.is_scalar() && result.is_scalar();
                let holds = scalars && a.elem == b.elem && result.elem == expected && bin_exists(*op, a.elem);
                self.require(inst, holds, "not defined on these types");
            }
            Op::Convert(a) => {
                let holds = self.ty(*a).is_scalar()
                    && result.is_scalar()
                    && ![self.ty(*a).elem, result.elem].contains(&Elem::Handle);
                self.require(inst, holds, "not defined on these types");
            }
            Op::Select { cond, then, els } => {
                let holds = agree(self.ty(*then), result) && agree(self.ty(*els), result);
                self.condition(inst, *cond);
                self.require(inst, holds, "the values do not agree with the result");
            }
            Op::Extent { array, axis } => {
                let holds = self.ty(*array).rank().is_some_and(|r| (*axis as usize) < r);
                self.require(inst, holds && *result == Ty::scalar(Elem::I32), "no such axis");
            }
            Op::Rank(_) => self.require(inst, *result == Ty::scalar(Elem::I32), "a rank is an i32"),
            Op::ShapeVec(_) => self.require(
                inst,
                result.elem == Elem::I32 && result.rank() == Some(1),
                "a shape vector is i32 of rank 1",
            ),
            Op::Sel { array, index } => {
                self.all_ints(inst, index);
                let array = self.ty(*array);
                let holds =
                    array.rank().is_some_and(|r| index.len() <= r) && agree(&cell_type(array, index.len()), result);
                self.require(inst, holds, "the selection does not fit");
            }
            Op::SelDyn { array, index } => {
                self.require(inst, same_elem(*array), "elements differ");
                self.index_vector(inst, *index);
            }
            Op::Array(cells) => {
                let holds = match (cells.first(), result.shape.extents()) {
                    (Some(first), Some(extents)) => {
                        let cell = self.ty(*first);
                        let lead = cell.rank().and_then(|r| extents.len().checked_sub(r)).unwrap_or(0);
                        let count = Shape::Known(extents[..lead].to_vec()).count();
                        lead > 0
                            && count == Some(cells.len())
                            && cells.iter().all(|c| agree(self.ty(*c), &cell_type(result, lead)))
                    }
                    (None, Some(extents)) => extents.iter().any(|e| e.as_const() == Some(0)),
                    _ => false,
                };
                self.require(inst, holds, "cells do not fit the result type");
            }
            Op::Reshape { array, shape } => {
                self.all_ints(inst, shape);
                let holds = same_elem(*array)
                    && result.rank() == Some(shape.len())
                    && !shape.is_empty()
                    && !self.ty(*array).is_scalar();
                self.require(inst, holds, "wrong result type");
            }
            Op::ReshapeDyn { array, shape } => {
                self.require(inst, same_elem(*array) && !result.is_scalar(), "wrong result type");
                self.index_vector(inst, *shape);
            }
            Op::Update { array, index, value } => {
                self.all_ints(inst, index);
                let array = self.ty(*array);
                let fits = array.rank().is_some_and(|r| index.len() <= r);
                let holds = fits && agree(array, result) && agree(&cell_type(array, index.len()), self.ty(*value));
                self.require(inst, holds, "the cell does not fit");
            }
            Op::UpdateDyn { array, index, value } => {
                let holds = agree(self.ty(*array), result) && same_elem(*value);
                self.require(inst, holds, "wrong result type");
                self.index_vector(inst, *index);
            }
            Op::Widen(a) => {
                let holds = same_elem(*a)
                    && (result.shape == Shape::Unknown || shapes_agree(&self.ty(*a).shape, &result.shape));
                self.require(inst, holds, "the result type is not less specific");
            }
            Op::Narrow(a) => self.require(inst, same_elem(*a), "elements differ"),
            Op::Opaque(a) | Op::Detach(a) => self.require(inst, agree(self.ty(*a), result), "types differ"),
            Op::GlobalGet(global) => {
                let holds = self.module.globals.get(*global).is_some_and(|g| agree(&g.ty, result));
                self.require(inst, holds, "the global object has another type");
            }
            _ => {}
        }
    }

    fn derive(&mut self, inst: Inst, mode: Mode, args: &[Value], seeds: &[Value], body: Region) {
        let func = self.func;
        let body = &func.regions[body];
        let reals: Vec<Value> = body.yields.iter().copied().filter(|v| func.ty(*v).elem.is_float()).collect();
        let holds = args.iter().all(|v| func.ty(*v).elem.is_float());
        self.require(inst, holds, "arguments are real");
        self.flows(inst, args, &body.params, "arguments and parameters");
        let (of_seeds, derivatives) = match mode {
            Mode::Forward => (args, &reals[..]),
            Mode::Reverse => (&reals[..], args),
        };
        self.flows(inst, seeds, of_seeds, "seeds and what they belong to");
        let expected: Vec<Value> = body.yields.iter().chain(derivatives).copied().collect();
        self.flows(
            inst,
            &func.insts[inst].results,
            &expected,
            "results, and what the region yields with its derivatives,",
        );
    }

    fn with(&mut self, inst: Inst, with: &With) {
        let func = self.func;
        let results = &func.insts[inst].results;
        for part in &with.parts {
            let body = &func.regions[part.body];
            match &part.generator {
                Generator::Known { lower, upper, step, width } => {
                    for bounds in [Some(lower), Some(upper), step.as_ref(), width.as_ref()].into_iter().flatten() {
                        self.all_ints(inst, bounds);
                        self.require(inst, bounds.len() == body.params.len(), "bounds and indices differ in number");
                    }
                    self.all_ints(inst, &body.params);
                }
                Generator::Dyn { lower, upper, step, width } => {
                    for bound in [Some(*lower), Some(*upper), *step, *width].into_iter().flatten() {
                        self.index_vector(inst, bound);
                    }
                    self.require(inst, body.params.len() == 1, "one index vector");
                    body.params.iter().for_each(|p| self.index_vector(inst, *p));
                }
            }
            self.require(inst, body.yields.len() == with.ops.len(), "a body yields one cell per operator");
        }
        if with.parts.iter().any(|p| func.regions[p.body].yields.len() != with.ops.len()) {
            return;
        }
        for (k, op) in with.ops.iter().enumerate() {
            let result = self.ty(results[k]);
            let cells: Vec<Value> = with.parts.iter().map(|p| func.regions[p.body].yields[k]).collect();
            let holds = cells.iter().all(|c| self.ty(*c).elem == result.elem);
            self.require(inst, holds, "the element types of cell and result differ");
            match op {
                WithOp::Genarray { frame, cell, default } => {
                    self.genarray(inst, with, &cells, result, frame, cell.as_deref(), *default)
                }
                WithOp::Modarray { array } => {
                    let array = self.ty(*array);
                    self.require(inst, agree(array, result), "modarray: result and array do not agree");
                    for (part, cell) in with.parts.iter().zip(&cells) {
                        if let (Generator::Known { lower, .. }, Some(rank)) = (&part.generator, array.rank()) {
                            let holds = lower.len() <= rank && agree(&cell_type(array, lower.len()), self.ty(*cell));
                            self.require(inst, holds, "modarray: the cell does not fit");
                        }
                    }
                }
                WithOp::Fold { neutral, combine, stop } => {
                    let holds = agree(self.ty(*neutral), result) && stop.is_none_or(|s| agree(self.ty(s), result));
                    self.require(inst, holds, "fold: neutral element or stop value do not agree with the result");
                    match combine {
                        Combine::Op(op) => {
                            let holds = !op.is_comparison() && bin_exists(*op, result.elem);
                            self.require(inst, holds, "fold: the operation does not exist on the element type");
                            let holds = cells.iter().all(|c| agree(self.ty(*c), result));
                            self.require(inst, holds, "fold: cell and accumulator do not agree");
                        }
                        Combine::Region(region) => {
                            let region = &func.regions[*region];
                            let (&[acc, cell], &[next]) = (&region.params[..], &region.yields[..]) else {
                                return self.require(inst, false, "fold: the function takes two values and yields one");
                            };
                            let holds = agree(self.ty(acc), result)
                                && agree(self.ty(next), result)
                                && cells.iter().all(|c| agree(self.ty(*c), self.ty(cell)));
                            self.require(inst, holds, "fold: the function does not fit");
                        }
                    }
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one operator")]
    fn genarray(
        &mut self,
        inst: Inst,
        with: &With,
        cells: &[Value],
        result: &Ty,
        frame: &Frame,
        cell: Option<&[Value]>,
        default: Option<Value>,
    ) {
        let arity = match frame {
            Frame::Known(extents) => {
                self.all_ints(inst, extents);
                Some(extents.len())
            }
            Frame::Dyn(v) => {
                self.index_vector(inst, *v);
                None
            }
        };
        for part in &with.parts {
            if let (Generator::Known { lower, .. }, Some(n)) = (&part.generator, arity) {
                self.require(inst, lower.len() == n, "genarray: generator and frame differ in arity");
            }
        }
        if let Some(extents) = cell {
            self.all_ints(inst, extents);
            if let Some(n) = arity {
                self.require(inst, result.rank() == Some(n + extents.len()), "genarray: rank of the result");
            }
            let holds = cells.iter().all(|c| self.ty(*c).rank() == Some(extents.len()));
            self.require(inst, holds, "genarray: the cell has another rank than its extents say");
        }
        if let Some(n) = arity {
            let holds = match result.rank() {
                Some(r) => r >= n && cells.iter().all(|c| agree(self.ty(*c), &cell_type(result, n))),
                None => cell.is_none(),
            };
            self.require(inst, holds, "genarray: the result does not agree with frame ++ cell");
        }
        if let Some(default) = default {
            let holds = self.ty(default).elem == result.elem
                && arity.is_none_or(|n| result.rank().is_none() || agree(self.ty(default), &cell_type(result, n)));
            self.require(inst, holds, "genarray: the default does not fit");
        }
    }
}

/// Whether the operation exists on the element type.
fn un_exists(op: UnOp, elem: Elem) -> bool {
    Scalar::from_i64(elem, 1).is_some_and(|one| eval_un(op, one) != Err(EvalFault::Undefined))
}

fn bin_exists(op: ravel_types::BinOp, elem: Elem) -> bool {
    Scalar::from_i64(elem, 1).is_some_and(|one| eval_bin(op, one, one) != Err(EvalFault::Undefined))
}
