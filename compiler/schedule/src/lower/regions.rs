//! Regions and structured control; dispatch over the operations.

use ravel_nest::ir::{self as nest, ConvOp, Prim, Ty};
use ravel_wir::{Inst, Op, Region, Value};

use crate::Result;
use crate::facts::Val;
use crate::lower::context::{Callers, machine_type};
use crate::lower::{Lower, scalars};
use crate::plan::strategy::RunPlan;

impl Lower<'_, '_> {
    /// Runs a region's instructions in the open scope and returns what it yields, owned.
    pub fn body(&mut self, region: Region) -> Result<Vec<Val>> {
        self.body_handing_on(region, &[])
    }

    /// The same for a region that hands some of what it yields on as it is, borrowed.
    pub fn body_handing_on(&mut self, region: Region, handed_on: &[bool]) -> Result<Vec<Val>> {
        self.insts(region)?;
        self.start_yields();
        let yields = self.func.regions[region].yields.clone();
        let hands_on = |k: usize| handed_on.get(k) == Some(&true);
        let give = |(k, v): (usize, Value)| if hands_on(k) { self.hand_on(v) } else { self.take(v) };
        Ok(yields.into_iter().enumerate().map(give).collect())
    }

    /// Lowers the instructions from a position on that are done together; the position behind them.
    fn run_from(&mut self, region: Region, position: usize) -> Result<Option<usize>> {
        let inst = self.func.regions[region].insts[position];
        if !matches!(self.func.insts[inst].op, Op::With(_)) {
            return Ok(None);
        }
        let outer = self.cx.part.take();
        let choice = self.facts.choose_run(region, position);
        self.cx.decided(inst, &choice);
        self.cx.part = outer;
        let end = match choice.plan {
            RunPlan::Epilogue(plan) => {
                let end = plan.end;
                self.epilogue(region, position, *plan)?;
                end
            }
            RunPlan::Reductions(folds) => {
                self.reduction_chain(region, &folds)?;
                folds.last().map_or(position, |(last, _)| *last) + 1
            }
            RunPlan::Launches(run, launch) => {
                self.device_run(region, position, &run, launch.as_ref().ok())?;
                run.end
            }
            RunPlan::Alone => return Ok(None),
        };
        Ok(Some(end))
    }

    pub fn insts(&mut self, region: Region) -> Result<()> {
        let func = self.func;
        let mut position = 0;
        while let Some(&inst) = func.regions[region].insts.get(position) {
            let site = self.enter_site(region, position);
            if let Some(end) = self.run_from(region, position)? {
                self.leave_site(site);
                position = end;
                continue;
            }
            self.start_inst(position, inst);
            self.inst(inst)?;
            self.end_inst(inst);
            self.leave_site(site);
            position += 1;
        }
        Ok(())
    }

    fn results(&mut self, inst: Inst, values: &[Val]) {
        let func = self.func;
        for (&v, &val) in func.insts[inst].results.iter().zip(values) {
            self.bind(v, val);
        }
    }

    pub fn inst(&mut self, inst: Inst) -> Result<()> {
        let func = self.func;
        let data = &func.insts[inst];
        let span = data.span;
        if !span.is_none() {
            self.emit.at = Some(span);
        }
        let elem_of = |v: &Value| func.ty(*v).elem;
        let result = data.results.first().copied();
        let value = match &data.op {
            Op::If { cond, then, els } => return self.branch(inst, *cond, *then, *els),
            Op::Loop { init, body } => return self.repeat(inst, init, *body),
            Op::With(with) => {
                let outer = (self.cx.with.replace(inst), self.cx.part.take());
                let done = self.with_loop(inst, with);
                (self.cx.with, self.cx.part) = outer;
                return done;
            }
            Op::Call { func: callee, args } => {
                let callers = self.callers();
                let borrowed = self.makes_borrowed(inst);
                let mut values = Vec::new();
                for (k, v) in args.iter().enumerate() {
                    let lends = callers == Callers::Threads && self.cx.lending.lent(*callee)[k];
                    values.push(if lends { self.val(*v) } else { self.take(*v) });
                }
                let version = self.cx.version(*callee, callers);
                let results = self.cx.nest.funcs[version].results.clone();
                let values = self.b.call(version, &values, &results);
                if callers == Callers::Threads {
                    // What comes back of arguments that end here is held from now on.
                    for (k, value) in values.iter().enumerate() {
                        if self.cx.lending.borrowed(*callee)[k] && !borrowed[k] {
                            self.b.rc_inc(*value);
                        }
                    }
                }
                self.note_borrowed(inst, &borrowed);
                self.results(inst, &values);
                return Ok(());
            }
            Op::Native { symbol, args, fixed, .. } => return self.native(inst, symbol, args, *fixed),
            Op::GlobalSet(global, v) => {
                let new = self.take(*v);
                if self.has_rows() && self.is_object(*v) {
                    // Functions that threads call read it, too.
                    self.host_reads(new);
                }
                let slot = self.cx.globals[*global].expect("every global was declared");
                let slot = self.b.global_addr(slot);
                if self.is_object(*v) {
                    let old = self.b.load(Ty::PTR, slot, 0, nest::Access::ALIGNED);
                    self.b.store(new, slot, 0, nest::Access::ALIGNED);
                    self.b.rc_dec(old);
                } else {
                    self.b.store(new, slot, 0, nest::Access::ALIGNED);
                }
                return Ok(());
            }
            Op::Check { cond, fault } => return self.check(*cond, fault, span),
            Op::Const(scalar) => scalars::constant(&mut self.b, *scalar, 1),
            Op::Str(text) => {
                let object = self.cx.string(text);
                self.b.data_addr(object)
            }
            Op::ConstArray(data) => self.const_array(result.expect("constants have a result"), data, span)?,
            Op::Un(op, a) => {
                let x = self.val(*a);
                let arith = self.arith();
                scalars::unary(&mut self.b, arith, *op, elem_of(a), x)
            }
            Op::Bin(op, a, b) => {
                let (x, y) = (self.val(*a), self.val(*b));
                let arith = self.arith();
                scalars::binary(&mut self.b, arith, *op, elem_of(a), x, y)
            }
            Op::Convert(a) => {
                let to = func.ty(result.expect("conversions have a result")).elem;
                let x = self.val(*a);
                scalars::convert(&mut self.b, elem_of(a), to, x)
            }
            Op::Select { cond, then, els } => {
                let (c, x, y) = (self.val(*cond), self.val(*then), self.val(*els));
                let chosen = self.b.select(c, x, y);
                if self.is_object(*then) {
                    self.b.rc_inc(chosen);
                }
                chosen
            }
            Op::Opaque(a) | Op::Detach(a) => self.take(*a),
            Op::Derive { .. } => return self.unsupported(span, "a derivative that `differentiate` has left"),
            Op::GlobalGet(global) => {
                let slot = self.cx.globals[*global].expect("every global was declared");
                let ty = machine_type(&self.cx.wir.globals[*global].ty);
                let slot = self.b.global_addr(slot);
                let value = self.b.load(ty, slot, 0, nest::Access::ALIGNED);
                if ty == Ty::PTR {
                    self.b.rc_inc(value);
                }
                value
            }
            Op::Extent { array, axis } => {
                let extent = self.extent(*array, *axis as usize);
                let extent = self.extent_val(extent);
                self.b.convert(ConvOp::Narrow, extent, Prim::I32)
            }
            Op::Sel { array, index } => match self.select(*array, index, result.expect("selections have a result"))? {
                Some(value) => value,
                None => return Ok(()),
            },
            Op::Array(cells) => {
                let result = result.expect("arrays have a result");
                match self.array(result, cells, span)? {
                    Some(object) => object,
                    None => return Ok(()),
                }
            }
            Op::Reshape { array, shape } => match result.and_then(|result| self.try_view(result, *array, shape)) {
                Some(object) => object,
                None => self.reshape(*array, shape),
            },
            Op::Update { array, index, value } => match self.made_update(inst) {
                Some(Some(object)) => object,
                Some(None) => return Ok(()),
                None => self.update(*array, index, *value)?,
            },
            Op::Rank(_)
            | Op::ShapeVec(_)
            | Op::SelDyn { .. }
            | Op::ReshapeDyn { .. }
            | Op::UpdateDyn { .. }
            | Op::Widen(_)
            | Op::Narrow(_) => self.dynamic(&data.op, result.expect("dynamic operations have a result"), span)?,
        };
        self.results(inst, &[value]);
        Ok(())
    }

    fn branch(&mut self, inst: Inst, cond: Value, then: Region, els: Region) -> Result<()> {
        let cond = self.val(cond);
        let borrowed = self.makes_borrowed(inst);
        let dying = self.dying();
        self.disown(&dying);
        self.b.begin_if(cond);
        let fresh = self.facts.references.fresh.clone();
        let first = self.branch_region(then, &dying, &borrowed)?;
        let made_by_first = self.fresh_yields(then);
        self.b.begin_else(&first);
        // What the first side handed out the second one may still have for itself.
        let after_first = std::mem::replace(&mut self.facts.references.fresh, fresh);
        let second = self.branch_region(els, &dying, &borrowed)?;
        let made_by_second = self.fresh_yields(els);
        self.facts.references.fresh.retain(|v| after_first.contains(v));
        let mut values = self.b.end_if(&second);
        // What both sides give is what was there: an array that one of them updated in place.
        for (value, (x, y)) in values.iter_mut().zip(first.iter().zip(&second)) {
            if x == y {
                *value = *x;
            }
        }
        self.note_borrowed(inst, &borrowed);
        self.results(inst, &values);
        let results = &self.func.insts[inst].results;
        let made = made_by_first.into_iter().zip(made_by_second).map(|(x, y)| x && y);
        self.facts.references.fresh.extend(results.iter().zip(made).filter(|(_, made)| *made).map(|(v, _)| *v));
        Ok(())
    }

    fn branch_region(&mut self, region: Region, owned: &[Value], handed_on: &[bool]) -> Result<Vec<Val>> {
        self.facts.references.handing.insert(region);
        self.open(region);
        for &v in owned {
            self.own(v);
        }
        self.drop_unused();
        let yields = self.body_handing_on(region, handed_on)?;
        self.close();
        Ok(yields)
    }

    fn repeat(&mut self, inst: Inst, init: &[Value], body: Region) -> Result<()> {
        let func = self.func;
        let mut in_place = crate::memory::loop_unique::updated_in_place(func, &self.live, body);
        let launches = self.asks_marks() && self.has_with_loop(body);
        if launches {
            // An iteration may leave the array on the device, or in rows.
            in_place.fill(false);
        }
        let take = |(v, in_place): (&Value, &bool)| if *in_place { self.take_unique(*v) } else { self.take(*v) };
        let inits: Vec<Val> = init.iter().zip(&in_place).map(take).collect();
        let mut writable: Vec<Val> = Vec::new();
        for (init, _) in inits.iter().zip(&in_place).filter(|(_, in_place)| **in_place) {
            self.host_writes(*init);
            self.data_of(*init);
            writable.extend(self.device.host_writable.insert(*init).then_some(*init));
        }
        if !self.asks_marks() {
            self.preload(body);
        } else if !launches {
            self.preload_elements(body);
        }
        self.facts.note_counters(init, body);
        self.facts.note_countdowns(init, body);
        let spares = self.open_spares(body);
        self.facts.references.handing.insert(body);
        let others = func.regions[body].params.iter().zip(&in_place).filter(|(_, in_place)| !**in_place);
        self.facts.references.carried.extend(others.map(|(param, _)| *param));
        // Those that are updated in place are no parameters of the machine loop: one object serves all rounds.
        let changing = |values: &[Val]| -> Vec<Val> {
            values.iter().zip(&in_place).filter(|(_, in_place)| !**in_place).map(|(val, _)| *val).collect()
        };
        let mut carried = self.b.begin_loop(&changing(&inits)).into_iter();
        self.open(body);
        for (k, &param) in func.regions[body].params.iter().enumerate() {
            let val = if in_place[k] { inits[k] } else { carried.next().expect("every other parameter is carried") };
            self.bind(param, val);
            self.own(param);
            if in_place[k] {
                self.facts.references.fresh.insert(param);
            }
        }
        self.drop_unused();
        let yields = self.body(body)?;
        self.close();
        let Some((&again, next)) = yields.split_first() else {
            return self.unsupported(func.insts[inst].span, "a loop without a condition");
        };
        let mut values = self.b.end_loop(again, &changing(next)).into_iter();
        let mut results = inits;
        for (k, result) in results.iter_mut().enumerate().filter(|(k, _)| !in_place[*k]) {
            *result = values.next().unwrap_or_else(|| unreachable!("result {k} of a loop is one of its parameters"));
        }
        self.close_spares(spares);
        for object in writable {
            self.device.host_writable.remove(&object);
        }
        self.facts
            .references
            .fresh
            .extend(func.insts[inst].results.iter().zip(&in_place).filter(|(_, in_place)| **in_place).map(|(v, _)| *v));
        self.results(inst, &results);
        Ok(())
    }
}
