//! Nests of two with-loops as one: what `scalarize` and `flatten_folds` share.

use crate::edit::{Copier, Def, Defs, push_op, reads_of};
use crate::facts::{cost_of_inst, is_speculatable};
use crate::pass::Context;
use ravel_source::Span;
use ravel_types::{Elem, HashSet, Scalar, Ty};
use ravel_wir::traverse::{free_values, has_effect};
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, RegionData, Value, With};

/// Arithmetic that may be done per element of an inner with-loop instead of once around it.
pub const MAX_REPEATED: f64 = 4.0;

/// How deep an expression for a bound may be that is copied before the nest.
const MAX_DEPTH: usize = 4;

/// Joins nests in one function. Nothing that exists is changed, only copies are made.
pub struct Joiner<'a> {
    pub func: &'a mut Func,
    pub defs: &'a Defs,
    pub cx: &'a Context,
    /// Instructions to stand before the outer with-loop.
    pub before: Vec<Inst>,
    pub span: Span,
}

impl Joiner<'_> {
    pub fn emit(&mut self, op: Op, ty: Ty) -> Value {
        push_op(self.func, &mut self.before, op, ty, self.span)
    }

    pub fn int(&mut self, v: i32) -> Value {
        self.emit(Op::Const(Scalar::I32(v)), Ty::scalar(Elem::I32))
    }

    pub fn extent(&mut self, array: Value, axis: usize) -> Value {
        self.emit(Op::Extent { array, axis: axis as u32 }, Ty::scalar(Elem::I32))
    }

    /// Whether something in the body other than `cell` has an effect.
    pub fn has_effect_besides(&self, body: Region, cell: Inst) -> bool {
        let insts = &self.func.regions[body].insts;
        insts.iter().any(|i| *i != cell && has_effect(&|f| self.cx.is_observed(f), self.func, *i))
    }

    /// A value of the body as a value that is visible before the with-loop: constants, extents and arithmetic on them are copied.
    /// None if it depends on the index, or on more than that.
    pub fn outside(&mut self, body: Region, value: Value) -> Option<Value> {
        self.copied_outside(body, value, MAX_DEPTH)
    }

    fn copied_outside(&mut self, body: Region, value: Value, depth: usize) -> Option<Value> {
        let inst = match self.defs.get(value) {
            Def::Param(region, _) if region == body => return None,
            Def::Inst(inst, _) if self.func.regions[body].insts.contains(&inst) => inst,
            _ => return Some(value),
        };
        let is_simple = self.func.insts[inst].op.regions().is_empty() && is_speculatable(self.func, inst);
        if depth == 0 || !is_simple {
            return None;
        }
        let mut op = self.func.insts[inst].op.clone();
        let mut failed = false;
        op.for_each_operand_mut(|v| match self.copied_outside(body, *v, depth - 1) {
            Some(new) => *v = new,
            None => failed = true,
        });
        if failed { None } else { Some(self.emit(op, self.func.ty(value).clone())) }
    }

    /// The partition over the indices of `part` and then those of `inner`, a partition of the with-loop `cell` in its body.
    pub fn join(&mut self, part: &Part, cell: Inst, inner: &Part) -> Option<Part> {
        let Generator::Known { lower, upper, step, width } = &inner.generator else { return None };
        let mut bounds = Vec::new();
        for list in [Some(lower), Some(upper), step.as_ref(), width.as_ref()] {
            bounds.push(match list {
                Some(list) => Some(list.iter().map(|v| self.outside(part.body, *v)).collect::<Option<Vec<_>>>()?),
                None => None,
            });
        }
        let arity = lower.len();
        let generator = self.concatenated(&part.generator, &bounds)?;
        let body = self.body(part, arity, |joiner, copier, index, insts| {
            joiner.copy_all_but(copier, part.body, Some(cell), insts);
            let params = joiner.func.regions[inner.body].params.clone();
            copier.values.extend(params.into_iter().zip(index.iter().copied()));
            copier.splice(joiner.func, inner.body, insts)[0]
        });
        Some(Part { generator, body })
    }

    /// Outer bounds followed by inner ones (lower, upper, step, width).
    pub fn concatenated(&mut self, outer: &Generator, inner: &[Option<Vec<Value>>]) -> Option<Generator> {
        let Generator::Known { lower, upper, step, width } = outer else { return None };
        let [Some(inner_lower), Some(inner_upper), inner_step, inner_width] = inner else { return None };
        let join = |a: &[Value], b: &[Value]| a.iter().chain(b).copied().collect::<Vec<_>>();
        let (mut joined_step, mut joined_width) = (None, None);
        if step.is_some() || inner_step.is_some() {
            let mut ones = |n: usize| (0..n).map(|_| self.int(1)).collect::<Vec<_>>();
            let outer_step = step.clone().unwrap_or_else(|| ones(lower.len()));
            let outer_width = width.clone().unwrap_or_else(|| ones(lower.len()));
            let inner_step = inner_step.clone().unwrap_or_else(|| ones(inner_lower.len()));
            let inner_width = inner_width.clone().unwrap_or_else(|| ones(inner_lower.len()));
            joined_step = Some(join(&outer_step, &inner_step));
            joined_width = Some(join(&outer_width, &inner_width));
        }
        Some(Generator::Known {
            lower: join(lower, inner_lower),
            upper: join(upper, inner_upper),
            step: joined_step,
            width: joined_width,
        })
    }

    /// A copy of the body of `part` with `arity` further indices, filled by `element`, which gives the cell.
    pub fn body(
        &mut self,
        part: &Part,
        arity: usize,
        element: impl FnOnce(&mut Self, &mut Copier, &[Value], &mut Vec<Inst>) -> Value,
    ) -> Region {
        let mut copier = Copier::within(self.func, part.body);
        let mut params = copier.params(self.func, part.body);
        let added: Vec<Value> = (0..arity).map(|_| self.func.new_value(Ty::scalar(Elem::I32))).collect();
        params.extend(&added);
        let mut insts = Vec::new();
        let cell = element(self, &mut copier, &added, &mut insts);
        self.func.regions.push(RegionData { params, insts, yields: vec![cell] })
    }

    /// Copies the instructions of a body; those without use go with dead code.
    pub fn copy_all_but(&mut self, copier: &mut Copier, body: Region, cell: Option<Inst>, insts: &mut Vec<Inst>) {
        for old in self.func.regions[body].insts.clone() {
            if cell != Some(old) {
                insts.push(copier.inst(self.func, old));
            }
        }
    }
}

/// Arithmetic of the body that the with-loop `cell` in it needs, and that a joined nest repeats for every inner index.
pub fn work_between(func: &Func, defs: &Defs, body: Region, cell: Inst, inner: &With) -> f64 {
    let mut needed: Vec<Value> = inner.parts.iter().flat_map(|p| free_values(func, p.body)).collect();
    let own: HashSet<Inst> = func.regions[body].insts.iter().copied().collect();
    let mut seen = HashSet::from_iter([cell]);
    let mut work = 0.0;
    while let Some(v) = needed.pop() {
        let Def::Inst(def, _) = defs.get(v) else { continue };
        if !own.contains(&def) || !seen.insert(def) {
            continue;
        }
        work += cost_of_inst(func, defs, def).arithmetic;
        needed.extend(reads_of(func, def));
    }
    work
}
