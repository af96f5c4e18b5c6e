//! Functions, regions and all instructions but with-loops.

use crate::array::{Arr, Data, Val};
use crate::dual::{self, Derive};
use crate::dynamic;
use crate::last_use::{LastUses, last_uses};
use crate::ranks::Ranks;
use crate::{Event, FaultReport, Host, Natives, Observer, Places, RunError};
use ravel_runtime::buffer::{MAX_RANK, count_of};
use ravel_runtime::fault::{self, Fault as RunFault};
use ravel_runtime::stack;
use ravel_source::Span;
use ravel_types::{Elem, EvalFault, Scalar, Shape, Ty, eval_bin, eval_convert, eval_un};
use ravel_wir::{Fault, Func, FuncId, GlobalId, Inst, Module, Op, Region, Value, Violation};
use std::rc::Rc;
use std::sync::Arc;

/// Errors are boxed: the interpreter's own stack frames should stay small.
pub type Run<T> = Result<T, Box<RunError>>;

/// Indices up to this length are evaluated without an allocation.
const MAX_SMALL_INDEX: usize = 8;

/// The state of a run.
pub struct Machine<'m> {
    pub module: &'m Module,
    pub natives: Natives,
    places: Places<'m>,
    pub(crate) observer: Option<&'m mut dyn Observer>,
    pub(crate) ranks: Option<Ranks<'m>>,
    globals: Vec<Val>,
    last_uses: Vec<Option<Rc<LastUses>>>,
    stack_base: usize,
    /// How much of the thread's stack a program may use.
    most_stack: usize,
    /// Calls under way.
    depth: usize,
    /// Derivatives under way, one in the other.
    pub(crate) level: u32,
    /// What each of them gives, the outermost first.
    pub(crate) modes: Vec<ravel_wir::Mode>,
}

/// One call.
pub struct Frame<'m> {
    pub id: FuncId,
    pub func: &'m Func,
    uses: Rc<LastUses>,
    values: Vec<Option<Val>>,
}

impl<'m> Machine<'m> {
    pub fn new(module: &'m Module, host: Host<'m>) -> Machine<'m> {
        let Host { natives, places, observer, ranks } = host;
        let ranks = ranks.map(Ranks::new);
        let globals = module.globals.values().map(|g| null_of(&g.ty)).collect();
        let last_uses = vec![None; module.funcs.len()];
        // The thread may have got a smaller stack than it asked for.
        let most_stack = stack::size().unwrap_or(stack::MAIN_STACK) / 8 * 7;
        Machine {
            module,
            natives,
            places,
            observer,
            ranks,
            globals,
            last_uses,
            stack_base: stack_address(),
            most_stack,
            depth: 0,
            level: 0,
            modes: Vec::new(),
        }
    }

    /// The outermost call.
    pub fn call_entry(&mut self, func: FuncId, args: Vec<Val>) -> Result<Vec<Val>, RunError> {
        self.call(func, args).map_err(|e| *e)
    }

    pub(crate) fn observed_call(&mut self, id: FuncId, arguments: Vec<Val>, span: Span) -> Run<Vec<Val>> {
        if let Some(observer) = &mut self.observer {
            let name = &self.module.funcs[id].name;
            observer.event(Event::Call { func: id, name, arguments: &arguments }, span);
        }
        let results = self.call(id, arguments)?;
        if let Some(observer) = &mut self.observer {
            observer.event(Event::Return { results: &results }, span);
        }
        Ok(results)
    }

    /// Tells of the array that an instruction made.
    fn allocated(&mut self, value: &Val, span: Span) {
        if let (Some(observer), Val::Array(array)) = (&mut self.observer, value)
            && !(array.shape.is_empty() && dual::is_varied(value))
        {
            let bytes = array.count() * array.elem.bytes();
            observer.event(Event::Allocation { elem: array.elem, shape: &array.shape, bytes }, span);
        }
    }

    fn call(&mut self, id: FuncId, args: Vec<Val>) -> Run<Vec<Val>> {
        let module = self.module;
        let func = &module.funcs[id];
        let uses = self.last_uses[id.as_u32() as usize].get_or_insert_with(|| Rc::new(last_uses(func))).clone();
        let mut frame = Frame { id, func, uses, values: vec![None; func.values.len()] };
        if self.stack_base.abs_diff(stack_address()) > self.most_stack {
            let who = format!("`{}`", func.name);
            let words = stack::exhausted(self.most_stack, Some(self.depth), Some(&who));
            return Err(frame.fault(func.span, RunFault::new(words)));
        }
        self.depth += 1;
        let results = self.region(&mut frame, func.body, args);
        self.depth -= 1;
        results
    }

    /// Runs a region with the given values as parameters.
    pub fn region(&mut self, frame: &mut Frame<'m>, region: Region, params: Vec<Val>) -> Run<Vec<Val>> {
        let func = frame.func;
        let data = &func.regions[region];
        for (param, val) in data.params.iter().zip(params) {
            frame.values[index(*param)] = Some(val);
        }
        for &inst in &data.insts {
            self.inst(frame, inst)?;
        }
        let uses = frame.uses.clone();
        let last = &uses.at_yield[region];
        let mut yields = Vec::with_capacity(data.yields.len());
        for v in &data.yields {
            yields.push(frame.read(*v, last, func.span)?);
        }
        Ok(yields)
    }

    fn inst(&mut self, frame: &mut Frame<'m>, inst: Inst) -> Run<()> {
        let func = frame.func;
        let data = &func.insts[inst];
        if self.ranks.is_some() {
            self.ranks_look(frame, inst)?;
        }
        let results = match &data.op {
            Op::If { cond, then, els } => {
                let branch = if frame.cond(*cond, data.span)? { *then } else { *els };
                self.region(frame, branch, Vec::new())?
            }
            Op::Loop { init, body } => {
                let mut state = frame.read_all(inst, init)?;
                loop {
                    let mut next = self.region(frame, *body, state)?;
                    let go_on = if next.is_empty() { None } else { Some(next.remove(0)) };
                    state = next;
                    match go_on {
                        Some(Val::Scalar(Scalar::Bool(true))) => {}
                        Some(Val::Scalar(Scalar::Bool(false))) => break state,
                        _ => return Err(frame.internal(data.span, "a loop body yields no condition")),
                    }
                }
            }
            Op::With(with) => self.with_loop(frame, inst, with)?,
            Op::Derive { mode, args, seeds, body } => {
                self.derive(frame, inst, Derive { mode: *mode, args, seeds, body: *body })?
            }
            Op::Call { func: callee, args } => {
                let args = frame.read_all(inst, args)?;
                match args.iter().any(dual::is_varied) {
                    true => self.call_by_rules(*callee, args, data.span)?,
                    false => self.observed_call(*callee, args, data.span)?,
                }
            }
            Op::Native { symbol, args, fixed, .. } => {
                let args = frame.read_all(inst, args)?;
                let types: Vec<Ty> = data.results.iter().map(|v| func.ty(*v).clone()).collect();
                if types.iter().any(|ty| ty.elem.is_float()) && args.iter().any(dual::is_varied) {
                    let problem = format!(
                        "the native `{symbol}` has no derivative, but its arguments depend on a variable of one"
                    );
                    return Err(frame.internal(data.span, problem));
                }
                // What natives print and count is the value alone.
                let args: Vec<Val> = args
                    .into_iter()
                    .map(|arg| {
                        let is_scalar = matches!(&arg, Val::Array(array) if array.shape.is_empty());
                        dual::detach(arg, is_scalar)
                    })
                    .collect();
                let outcome = match (self.natives)(symbol) {
                    Some(native) => Some(crate::natives::call(native, args, *fixed, &types)),
                    None => {
                        let place = (self.places)(data.span, &func.name);
                        fault::at(&place, || crate::natives::call_foreign(symbol, args, &types))
                    }
                };
                let Some(outcome) = outcome else {
                    return Err(Box::new(RunError::NoSuchNative { span: data.span, symbol: symbol.to_string() }));
                };
                outcome.map_err(|fault| frame.fault(data.span, fault))?
            }
            Op::GlobalGet(global) => vec![self.globals[global_index(*global)].clone()],
            Op::GlobalSet(global, value) => {
                let val = frame.get(*value, data.span)?;
                if dual::is_varied(&val) {
                    let name = &self.module.globals[*global].name;
                    let problem = format!("the global `{name}` would depend on a variable of a derivative");
                    return Err(frame.internal(data.span, problem));
                }
                self.globals[global_index(*global)] = val;
                Vec::new()
            }
            Op::Check { cond, fault } => {
                if !frame.cond(*cond, data.span)? {
                    let fault = frame.check_fault(fault, data.span)?;
                    return Err(frame.fault(data.span, fault));
                }
                Vec::new()
            }
            op => {
                let Some(&result) = data.results.first() else { return Err(frame.internal(data.span, "no result")) };
                let shared = self.observer.is_some() && frame.copies(inst, op);
                let val = frame.simple(inst, op, func.ty(result))?;
                if shared {
                    self.allocated(&val, data.span);
                }
                return frame.define(result, val, data.span);
            }
        };
        if results.len() != data.results.len() {
            return Err(frame.internal(data.span, "wrong number of results"));
        }
        for (value, val) in data.results.iter().zip(results) {
            if self.observer.is_some() && matches!(data.op, Op::With(_) | Op::Native { .. }) {
                self.allocated(&val, data.span);
            }
            frame.define(*value, val, data.span)?;
        }
        Ok(())
    }
}

impl<'m> Frame<'m> {
    pub fn fault(&self, span: Span, fault: RunFault) -> Box<RunError> {
        Box::new(RunError::Fault(FaultReport { span, function: self.func.name.clone(), fault }))
    }

    /// Whether an instruction makes a new array, and not another view of one that is there.
    fn copies(&self, inst: Inst, op: &Op) -> bool {
        match op {
            Op::ConstArray(_) | Op::Sel { .. } | Op::SelDyn { .. } | Op::Array(_) | Op::ShapeVec(_) => true,
            Op::Reshape { .. } | Op::ReshapeDyn { .. } => true,
            // What nobody else holds is written in place.
            Op::Update { array, .. } | Op::UpdateDyn { array, .. } => {
                let is_last = self.uses.at_inst[inst].contains(array);
                let is_held = |val: &Arc<Arr>| Arc::strong_count(val) > 1 || !is_last;
                matches!(&self.values[index(*array)], Some(Val::Array(val)) if is_held(val))
            }
            _ => false,
        }
    }

    pub fn internal(&self, span: Span, problem: impl Into<String>) -> Box<RunError> {
        Box::new(RunError::Internal { span, function: self.func.name.clone(), problem: problem.into() })
    }

    /// Sets a value after a look at its type.
    fn define(&mut self, value: Value, val: Val, span: Span) -> Run<()> {
        let ty = self.func.ty(value);
        if let (Val::Scalar(s), Shape::Known(e)) = (&val, &ty.shape)
            && e.is_empty()
            && s.elem() == ty.elem
        {
            self.values[index(value)] = Some(val);
            return Ok(());
        }
        if let Val::Array(a) = &val
            && a.shape.len() > MAX_RANK
        {
            let problem = format!("an array would have {} axes; {MAX_RANK} are the most", a.shape.len());
            return Err(self.fault(span, RunFault::new(problem)));
        }
        let fits = val.elem() == ty.elem
            && match (&ty.shape, &val) {
                (Shape::Unknown, Val::Array(_)) => true,
                (Shape::Unknown, _) => false,
                (Shape::Known(e), Val::Array(a)) => {
                    (!e.is_empty() || a.duals.is_some())
                        && a.shape.len() == e.len()
                        && e.iter().zip(&a.shape).all(|(e, n)| e.as_const().is_none_or(|c| i64::from(c) == *n))
                }
                (Shape::Known(e), _) => e.is_empty(),
            };
        if !fits {
            return Err(self
                .internal(span, format!("{value} should be {ty} but has shape {:?} of {}", val.shape(), val.elem())));
        }
        self.values[index(value)] = Some(val);
        Ok(())
    }

    pub fn get(&self, value: Value, span: Span) -> Run<Val> {
        match &self.values[index(value)] {
            Some(val) => Ok(val.clone()),
            None => Err(self.internal(span, format!("{value} has no value"))),
        }
    }

    /// The value, handed over if it is among `last`.
    fn read(&mut self, value: Value, last: &[Value], span: Span) -> Run<Val> {
        let taken = if last.contains(&value) { self.values[index(value)].take() } else { None };
        match taken {
            Some(val) => Ok(val),
            None => self.get(value, span),
        }
    }

    /// Operands of `inst`, each handed over if this is its last use.
    fn read_all(&mut self, inst: Inst, values: &[Value]) -> Run<Vec<Val>> {
        let uses = self.uses.clone();
        let span = self.func.insts[inst].span;
        values.iter().map(|v| self.read(*v, &uses.at_inst[inst], span)).collect()
    }

    pub fn cond(&self, value: Value, span: Span) -> Run<bool> {
        match &self.values[index(value)] {
            Some(Val::Scalar(Scalar::Bool(b))) => Ok(*b),
            _ => Err(self.internal(span, format!("{value} is no condition"))),
        }
    }

    pub fn int(&self, value: Value, span: Span) -> Run<i64> {
        match &self.values[index(value)] {
            Some(Val::Scalar(Scalar::I32(v))) => Ok(i64::from(*v)),
            _ => Err(self.internal(span, format!("{value} is no i32"))),
        }
    }

    pub fn ints(&self, values: &[Value], span: Span) -> Run<Vec<i64>> {
        values.iter().map(|v| self.int(*v, span)).collect()
    }

    fn scalar(&self, value: Value, span: Span) -> Run<Scalar> {
        match &self.values[index(value)] {
            Some(Val::Scalar(s)) => Ok(*s),
            Some(Val::Array(a)) if a.shape.is_empty() && a.duals.is_some() => {
                a.scalar(0).ok_or_else(|| self.internal(span, "infinitesimals of an object"))
            }
            _ => Err(self.internal(span, format!("{value} is no scalar"))),
        }
    }

    /// The value, if it is a scalar that has infinitesimals.
    fn varied(&self, value: Value) -> Option<&Val> {
        self.values[index(value)].as_ref().filter(|val| dual::is_varied(val))
    }

    fn array(&self, value: Value, span: Span) -> Run<Arc<Arr>> {
        match &self.values[index(value)] {
            Some(Val::Array(a)) => Ok(a.clone()),
            _ => Err(self.internal(span, format!("{value} is no array"))),
        }
    }

    /// An index or shape vector.
    pub fn vector(&self, value: Value, span: Span) -> Run<Vec<i64>> {
        let ints = self.get(value, span)?.scalars().and_then(|v| v.into_iter().map(Scalar::as_i64).collect());
        ints.ok_or_else(|| self.internal(span, format!("{value} is no index vector")))
    }

    fn check_fault(&self, fault: &Fault, span: Span) -> Run<RunFault> {
        Ok(match fault {
            Fault::Index { index, extent, axis } => {
                fault::index(self.int(*index, span)?, i64::from(*axis), self.int(*extent, span)?)
            }
            Fault::Shape { left, right, axis, what } => {
                let (expected, found) = (self.int(*left, span)?, self.int(*right, span)?);
                fault::extent(what, i64::from(*axis), expected, found)
            }
            Fault::Division => fault::division(),
            Fault::Message { text, operands } => {
                let number = |v: &Value| {
                    Ok(match self.scalar(*v, span)? {
                        Scalar::F32(x) => f64::from(x).to_bits() as i64,
                        Scalar::F64(x) => x.to_bits() as i64,
                        other => other.as_i64().unwrap_or(0),
                    })
                };
                let numbers: Vec<i64> = operands.iter().map(number).collect::<Run<_>>()?;
                fault::in_words(text, &numbers)
            }
            Fault::Several { first, others } => {
                let mut faults = vec![self.check_fault(first, span)?];
                for Violation { holds, fault } in others {
                    if !self.cond(*holds, span)? {
                        faults.push(self.check_fault(fault, span)?);
                    }
                }
                fault::several(faults)
            }
        })
    }

    fn evaluated(&self, result: Result<Scalar, EvalFault>, span: Span) -> Run<Scalar> {
        match result {
            Ok(s) => Ok(s),
            Err(EvalFault::DivisionByZero) => Err(self.internal(span, "a division by zero that no check stopped")),
            Err(EvalFault::Undefined) => Err(self.internal(span, "an operation on the wrong types")),
        }
    }

    /// Instructions with one result that neither branch nor touch the machine.
    fn simple(&mut self, inst: Inst, op: &Op, ty: &Ty) -> Run<Val> {
        let func = self.func;
        let span = func.insts[inst].span;
        let elem = ty.elem;
        Ok(match op {
            Op::Const(value) => Val::Scalar(*value),
            Op::Str(text) => {
                let object = ravel_runtime::array::Array::string(text.as_bytes()).map_err(|f| self.fault(span, f))?;
                Val::Handle(Some(object))
            }
            Op::ConstArray(data) => {
                let shape = ty.shape.constants().unwrap_or_default().into_iter().map(i64::from).collect();
                Val::Array(Arc::new(Arr::from_scalars(elem, shape, &data.values)))
            }
            Op::Un(op, a) => {
                let scalar = self.evaluated(eval_un(*op, self.scalar(*a, span)?), span)?;
                self.varied(*a).map_or(Val::Scalar(scalar), |a| dual::un(*op, a, scalar))
            }
            Op::Bin(op, a, b) => {
                let scalar = self.evaluated(eval_bin(*op, self.scalar(*a, span)?, self.scalar(*b, span)?), span)?;
                match self.varied(*a).or(self.varied(*b)) {
                    Some(_) => dual::bin(*op, &self.get(*a, span)?, &self.get(*b, span)?, scalar),
                    None => Val::Scalar(scalar),
                }
            }
            Op::Convert(a) => match eval_convert(self.scalar(*a, span)?, elem) {
                Some(s) => self.varied(*a).map_or(Val::Scalar(s), |a| dual::convert(a, s)),
                None => return Err(self.internal(span, "no such conversion")),
            },
            Op::Select { cond, then, els } => {
                let chosen = if self.cond(*cond, span)? { then } else { els };
                self.get(*chosen, span)?
            }
            Op::Extent { array, axis } => match self.get(*array, span)?.shape().get(*axis as usize) {
                Some(n) => int_val(*n),
                None => return Err(self.internal(span, "no such axis")),
            },
            Op::Rank(a) => int_val(self.get(*a, span)?.shape().len() as i64),
            Op::ShapeVec(a) => int_vector(self.get(*a, span)?.shape()),
            Op::Sel { array, index } => {
                let Some(Val::Array(array)) = &self.values[self::index(*array)] else {
                    return Err(self.internal(span, format!("{array} is no array")));
                };
                let mut ints = [0; MAX_SMALL_INDEX];
                let many;
                let index = if index.len() <= MAX_SMALL_INDEX {
                    for (slot, v) in ints.iter_mut().zip(index) {
                        *slot = self.int(*v, span)?;
                    }
                    &ints[..index.len()]
                } else {
                    many = self.ints(index, span)?;
                    &many[..]
                };
                let (at, cell, _) = position(array, index).map_err(|f| self.internal(span, f.message))?;
                cell_at(array, at, cell, ty)
            }
            Op::SelDyn { array, index } => {
                let array = self.get(*array, span)?;
                let index = self.vector(*index, span)?;
                dynamic::select(&array, &index, ty).map_err(|f| self.fault(span, f))?
            }
            Op::Array(cells) => {
                let shape = ty.shape.constants().unwrap_or_default();
                let lead = ty.rank().unwrap_or(0) - cells.first().map_or(0, |c| func.ty(*c).rank().unwrap_or(0));
                let cells: Vec<Val> = cells.iter().map(|c| self.get(*c, span)).collect::<Run<_>>()?;
                let mut full: Vec<i64> = match cells.first() {
                    // Only the leading axes need constant extents.
                    Some(_) => leading_constants(ty, lead),
                    None => shape.into_iter().map(i64::from).collect(),
                };
                let cell_shape = cells.first().map_or(&[][..], Val::shape).to_vec();
                if cells.iter().any(|c| c.shape() != cell_shape) {
                    return Err(self.internal(span, "the cells of an array differ in shape"));
                }
                if !cells.is_empty() {
                    full.extend(&cell_shape);
                }
                let size = cells.first().map_or(0, Val::count);
                let mut arr = Arr::zeros(elem, full, size * cells.len());
                for (i, cell) in cells.iter().enumerate() {
                    arr.put(i * size, cell);
                }
                Val::Array(Arc::new(arr))
            }
            Op::Reshape { array, shape } => {
                let shape = self.ints(shape, span)?;
                let array = self.array(*array, span)?;
                match count_of(&shape) {
                    Ok(n) if n as usize == array.count() => Val::Array(Arc::new(array.slice(0, array.count(), shape))),
                    _ => return Err(self.internal(span, "a reshape to another count")),
                }
            }
            Op::ReshapeDyn { array, shape } => {
                let (array, shape) = (self.get(*array, span)?, self.vector(*shape, span)?);
                dynamic::reshape(&array, &shape, ty).map_err(|f| self.fault(span, f))?
            }
            Op::Update { array, index, value } => {
                let index = self.ints(index, span)?;
                let value = self.get(*value, span)?;
                let uses = self.uses.clone();
                let Val::Array(mut array) = self.read(*array, &uses.at_inst[inst], span)? else {
                    return Err(self.internal(span, "an update of no array"));
                };
                let (at, cell, rank) = position(&array, &index).map_err(|f| self.internal(span, f.message))?;
                if value.shape() != &array.shape[rank..] || value.count() != cell {
                    return Err(self.internal(span, "the cell of an update does not fit"));
                }
                Arc::make_mut(&mut array).put(at, &value);
                Val::Array(array)
            }
            Op::UpdateDyn { array, index, value } => {
                let (index, value) = (self.vector(*index, span)?, self.get(*value, span)?);
                let uses = self.uses.clone();
                let array = self.read(*array, &uses.at_inst[inst], span)?;
                dynamic::update(array, &index, &value).map_err(|f| self.fault(span, f))?
            }
            Op::Widen(a) => {
                let val = self.get(*a, span)?;
                if ty.is_scalar() { val } else { boxed(val) }
            }
            Op::Narrow(a) => {
                let val = self.get(*a, span)?;
                dynamic::narrow(val, ty).map_err(|f| self.fault(span, f))?
            }
            Op::Opaque(a) => self.get(*a, span)?,
            Op::Detach(a) => dual::detach(self.get(*a, span)?, ty.is_scalar()),
            _ => return Err(self.internal(span, "an instruction in the wrong place")),
        })
    }
}

fn leading_constants(ty: &Ty, lead: usize) -> Vec<i64> {
    let extents = ty.shape.extents().unwrap_or_default();
    extents[..lead].iter().map(|e| i64::from(e.as_const().unwrap_or(0))).collect()
}

/// First element, number of elements and index length of the cell at `index`.
pub fn position(array: &Arr, index: &[i64]) -> Result<(usize, usize, usize), RunFault> {
    if index.len() > array.shape.len() {
        return Err(too_long(array, index));
    }
    let mut at = 0;
    for (axis, (&i, &n)) in index.iter().zip(&array.shape).enumerate() {
        if i < 0 || i >= n {
            return Err(fault::index(i, axis as i64, n));
        }
        at = at * n as usize + i as usize;
    }
    let cell: usize = array.shape[index.len()..].iter().map(|n| *n as usize).product();
    Ok((at * cell, cell, index.len()))
}

/// An index with more components than the array has axes.
pub fn too_long(array: &Arr, index: &[i64]) -> RunFault {
    let (length, shape) = (index.len(), fault::shape_text(&array.shape));
    RunFault::coded(
        fault::Code::INDEX_LENGTH,
        format!("an index of length {length} does not fit an array of shape {shape}"),
    )
}

/// The cell as a value of type `ty`.
pub fn cell_at(array: &Arr, at: usize, count: usize, ty: &Ty) -> Val {
    if ty.is_scalar() {
        return array.element(at);
    }
    let rank = ty.rank().unwrap_or(0);
    let shape = array.shape[array.shape.len() - rank.min(array.shape.len())..].to_vec();
    Val::Array(Arc::new(array.slice(at, count, shape)))
}

/// The value as an array object, also at rank 0.
pub fn boxed(val: Val) -> Val {
    match val {
        Val::Scalar(s) => Val::Array(Arc::new(Arr::from_scalars(s.elem(), Vec::new(), &[s]))),
        Val::Handle(h) => Val::Array(Arc::new(Arr::new(Elem::Handle, Vec::new(), Data::Handles(vec![h])))),
        array => array,
    }
}

pub fn int_val(v: i64) -> Val {
    Val::Scalar(Scalar::I32(v as i32))
}

pub fn int_vector(values: &[i64]) -> Val {
    let scalars: Vec<Scalar> = values.iter().map(|v| Scalar::I32(*v as i32)).collect();
    Val::Array(Arc::new(Arr::from_scalars(Elem::I32, vec![values.len() as i64], &scalars)))
}

/// What a global holds before its first assignment.
fn null_of(ty: &Ty) -> Val {
    if !ty.is_scalar() {
        let shape = vec![0; ty.rank().unwrap_or(1)];
        return Val::Array(Arc::new(Arr::zeros(ty.elem, shape, 0)));
    }
    match Scalar::zero(ty.elem) {
        Some(zero) => Val::Scalar(zero),
        None => Val::Handle(None),
    }
}

fn index(value: Value) -> usize {
    value.as_u32() as usize
}

fn global_index(global: GlobalId) -> usize {
    global.as_u32() as usize
}

/// Roughly where the stack pointer is.
#[inline(never)]
fn stack_address() -> usize {
    let marker = 0u8;
    std::ptr::from_ref(&marker).addr()
}
