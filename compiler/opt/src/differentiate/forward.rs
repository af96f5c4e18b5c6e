//! Forward mode: every operation on reals gets one on their tangents, in the same with-loop, loop or branch.

use crate::differentiate::folds::Fold;
use crate::differentiate::scalar::Step;
use crate::differentiate::state::{Result, State, outside};
use ravel_types::{BinOp, HashMap, Shape, Ty};
use ravel_wir::{Combine, Inst, Op, Part, Region, Value, With, WithOp};

pub struct Forward<'s, 'f> {
    pub state: &'s mut State<'f>,
    /// By value; values without one have none.
    pub tangents: HashMap<Value, Value>,
}

impl Forward<'_, '_> {
    /// Adds tangents to a region whose parameters have theirs.
    pub fn region(&mut self, region: Region) -> Result<()> {
        for inst in std::mem::take(&mut self.state.func.regions[region].insts) {
            self.state.place(region, inst);
            self.state.span = self.state.func.insts[inst].span;
            let results = self.state.func.insts[inst].results.clone();
            if results.iter().any(|v| self.state.is_varied(*v)) {
                self.inst(region, inst, &results)?;
            }
        }
        Ok(())
    }

    pub fn tangent(&self, v: Value) -> Option<Value> {
        self.tangents.get(&v).copied()
    }

    /// A value's tangent, zero if it has none.
    pub fn or_zero(&mut self, at: Region, v: Value) -> Value {
        match self.tangent(v) {
            Some(t) => t,
            None => self.state.zeros_like(at, v, 0),
        }
    }

    fn inst(&mut self, at: Region, inst: Inst, results: &[Value]) -> Result<()> {
        let op = self.state.func.insts[inst].op.clone();
        match &op {
            Op::With(with) => return self.with(at, inst, with, results),
            Op::If { then, els, .. } => return self.branch(at, inst, [*then, *els], results),
            Op::Loop { init, body } => return self.repeated(at, inst, init, *body, results),
            Op::Call { .. } => return self.call(at, inst),
            _ => {}
        }
        let y = results[0];
        let ty = self.state.ty(y);
        let t = match &op {
            Op::Un(..) | Op::Bin(..) => self.arithmetic(at, &op, y),
            Op::Convert(a) => self.tangent(*a).map(|t| self.state.emit(at, Op::Convert(t), ty)),
            Op::Select { cond, then, els } => {
                let (then, els) = (self.or_zero(at, *then), self.or_zero(at, *els));
                Some(self.state.emit(at, Op::Select { cond: *cond, then, els }, ty))
            }
            Op::Opaque(a) => self.tangent(*a),
            Op::Native { symbol, .. } => {
                let why = outside(symbol);
                return self.state.refuse(why);
            }
            Op::Detach(_) => None,
            // What moves elements moves tangents.
            other => {
                let mut tangent = other.clone();
                let mut operands = Vec::new();
                other.for_each_operand(|v| operands.push(v));
                for v in operands {
                    if self.state.ty(v).elem.is_float() {
                        let t = self.or_zero(at, v);
                        tangent.for_each_operand_mut(|o| {
                            if *o == v {
                                *o = t;
                            }
                        });
                    }
                }
                Some(self.state.emit(at, tangent, ty))
            }
        };
        self.note(y, t);
        Ok(())
    }

    fn note(&mut self, v: Value, tangent: Option<Value>) {
        if let Some(t) = tangent {
            self.tangents.insert(v, t);
        }
    }

    /// A tangent times a partial.
    fn times(&mut self, at: Region, steps: &[Step], t: Value) -> Value {
        let (value, guard) = self.state.apply(at, steps, t);
        match guard {
            Some(guard) => {
                let zero = self.state.zeros_like(at, value, 0);
                self.state.select(at, guard, value, zero)
            }
            None => value,
        }
    }

    fn arithmetic(&mut self, at: Region, op: &Op, y: Value) -> Option<Value> {
        if let Some((x, steps)) = self.state.composite(at, y) {
            let t = self.tangent(x)?;
            return Some(self.times(at, &steps, t));
        }
        match *op {
            Op::Un(op, x) => {
                let t = self.tangent(x)?;
                let steps = self.state.unary(at, op, x, y)?;
                Some(self.times(at, &steps, t))
            }
            Op::Bin(op, a, b) => {
                let partials = self.state.binary(at, op, a, b, y);
                let mut sum = None;
                for (x, steps) in [a, b].into_iter().zip(partials) {
                    if let (Some(t), Some(steps)) = (self.tangent(x), steps) {
                        let term = self.times(at, &steps, t);
                        sum = Some(sum.map_or(term, |sum| self.state.bin(at, BinOp::Add, sum, term)));
                    }
                }
                sum
            }
            _ => None,
        }
    }

    /// Adds results to an instruction: the tangents of those that are varied.
    pub fn extend(&mut self, at: Region, inst: Inst, varied: &[Value]) {
        for v in varied {
            let ty = self.state.ty(*v);
            let t = self.state.func.new_value(ty);
            self.state.func.insts[inst].results.push(t);
            self.state.home[t] = at.into();
            self.tangents.insert(*v, t);
        }
        self.state.defs.add_inst(self.state.func, inst);
    }

    fn positions(&self, results: &[Value]) -> Vec<usize> {
        (0..results.len()).filter(|k| self.state.is_varied(results[*k])).collect()
    }

    fn branch(&mut self, at: Region, inst: Inst, regions: [Region; 2], results: &[Value]) -> Result<()> {
        let positions = self.positions(results);
        for region in regions {
            self.state.settle(region);
            self.region(region)?;
            for k in &positions {
                let y = self.state.func.regions[region].yields[*k];
                let t = self.or_zero(region, y);
                self.state.func.regions[region].yields.push(t);
            }
        }
        let varied: Vec<Value> = positions.iter().map(|k| results[*k]).collect();
        self.extend(at, inst, &varied);
        Ok(())
    }

    fn repeated(&mut self, at: Region, inst: Inst, init: &[Value], body: Region, results: &[Value]) -> Result<()> {
        let positions = self.positions(results);
        // What the tangents begin as stands in front of the loop.
        self.state.func.regions[at].insts.pop();
        let mut all = init.to_vec();
        for k in &positions {
            all.push(self.or_zero(at, init[*k]));
        }
        self.state.func.regions[at].insts.push(inst);
        for k in &positions {
            let p = self.state.func.regions[body].params[*k];
            let ty = self.state.ty(p);
            let t = self.state.func.add_param(body, ty);
            self.tangents.insert(p, t);
        }
        self.state.settle(body);
        self.region(body)?;
        for k in &positions {
            let y = self.state.func.regions[body].yields[*k + 1];
            let t = self.or_zero(body, y);
            self.state.func.regions[body].yields.push(t);
        }
        self.state.func.insts[inst].op = Op::Loop { init: all, body };
        let varied: Vec<Value> = positions.iter().map(|k| results[*k]).collect();
        self.extend(at, inst, &varied);
        Ok(())
    }

    fn with(&mut self, at: Region, inst: Inst, with: &With, results: &[Value]) -> Result<()> {
        // Folds that are no sums look at their result first.
        let mut doubled = Vec::new();
        for k in self.positions(results) {
            let is_sum = match &with.ops[k] {
                WithOp::Fold { combine, .. } => matches!(combine, Combine::Op(BinOp::Add)),
                _ => true,
            };
            match is_sum {
                true => doubled.push(k),
                false => self.fold(at, (with, k), results[k])?,
            }
        }
        if doubled.is_empty() {
            return Ok(());
        }
        self.state.func.regions[at].insts.pop();
        let mut ops = Vec::new();
        for &k in &doubled {
            ops.push(match &with.ops[k] {
                WithOp::Genarray { frame, cell, default } => {
                    let default = default.map(|d| self.or_zero(at, d));
                    WithOp::Genarray { frame: frame.clone(), cell: cell.clone(), default }
                }
                WithOp::Modarray { array } => WithOp::Modarray { array: self.or_zero(at, *array) },
                WithOp::Fold { neutral, combine, .. } => {
                    let neutral = self.or_zero(at, *neutral);
                    WithOp::Fold { neutral, combine: combine.clone(), stop: None }
                }
            });
        }
        self.state.func.regions[at].insts.push(inst);
        for part in &with.parts {
            self.state.settle(part.body);
            self.region(part.body)?;
            for k in &doubled {
                let y = self.state.func.regions[part.body].yields[*k];
                let t = self.or_zero(part.body, y);
                self.state.func.regions[part.body].yields.push(t);
            }
        }
        if let Op::With(with) = &mut self.state.func.insts[inst].op {
            with.ops.extend(ops);
        }
        let varied: Vec<Value> = doubled.iter().map(|k| results[*k]).collect();
        self.extend(at, inst, &varied);
        Ok(())
    }

    /// The tangent of a fold of scalars that is no sum: the sum of its cells' tangents times the partials by them.
    fn fold(&mut self, at: Region, (with, k): (&With, usize), result: Value) -> Result<()> {
        let Some(fold) = self.state.look_at_fold(at, (with, k), result)? else {
            return self.state.refuse("a fold of this kind has no derivative yet");
        };
        let WithOp::Fold { neutral, .. } = with.ops[k] else { return Ok(()) };
        let ty = Ty::new(self.state.ty(result).elem, Shape::scalar());
        let steps = self.state.of_neutral(at, fold, neutral);
        let mut total = match self.tangent(neutral) {
            Some(t) => self.times(at, &steps, t),
            None => self.state.zeros_like(at, result, 0),
        };
        for (number, part) in with.parts.iter().enumerate() {
            let (sizes, start) = (self.state.sizes(at, part), self.state.start_of(at, with, number));
            let (body, _) = self.state.copy(part.body);
            let (cell, index) = (self.state.func.regions[body].yields[k], self.state.func.regions[body].params.clone());
            self.region(body)?;
            let t = self.or_zero(body, cell);
            let steps = match fold {
                Fold::Extreme { .. } | Fold::Product { .. } | Fold::Sum => {
                    self.state.of_cell(body, fold, cell, |s| s.number(body, part, &sizes, &index, start))
                }
            };
            let t = self.times(body, &steps, t);
            self.state.func.regions[body].yields = vec![t];
            let op = WithOp::Fold { neutral: total, combine: Combine::Op(BinOp::Add), stop: None };
            let parts = vec![Part { generator: part.generator.clone(), body }];
            total = self.state.emit(at, Op::With(With { parts, ops: vec![op], ordered: false }), ty.clone());
        }
        self.tangents.insert(result, total);
        Ok(())
    }
}
