//! Branches, loops, generators and checks whose course is known.

use super::{Simplifier, Step};
use crate::edit::Def;
use crate::facts::{divides_by_constant, is_speculatable};
use ravel_types::{Affine, BinOp, Scalar, Shape};
use ravel_wir::{Combine, Frame, Generator, Inst, Op, Part, Region, Value, With, WithOp};

/// Branches of at most this many cheap instructions become selections.
const MAX_SPECULATED: usize = 4;

impl Simplifier<'_> {
    pub(super) fn control(&mut self, inst: Inst) -> Step {
        match self.func.insts[inst].op.clone() {
            Op::If { cond, then, els } => self.branch(inst, cond, then, els),
            Op::Loop { init, body } => self.repetition(inst, &init, body),
            Op::Check { cond, .. } => match self.const_of(cond) {
                Some(Scalar::Bool(true)) => Step::Is(Vec::new()),
                _ => Step::Keep,
            },
            Op::With(with) => self.with_loop(inst, with),
            _ => Step::Keep,
        }
    }

    /// Runs the region's instructions here; its parameters must have been renamed.
    fn splice(&mut self, region: Region) -> Vec<Value> {
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        for inst in insts {
            self.inst(inst);
        }
        let yields = self.func.regions[region].yields.clone();
        yields.into_iter().map(|v| self.renames.get(v)).collect()
    }

    fn branch(&mut self, inst: Inst, cond: Value, then: Region, els: Region) -> Step {
        if let Some(Scalar::Bool(c)) = self.const_of(cond) {
            let taken = if c { then } else { els };
            return Step::Is(self.splice(taken));
        }
        let is_cheap = |s: &Self, region: Region| {
            let insts = &s.func.regions[region].insts;
            let real = insts.iter().filter(|i| !matches!(s.func.insts[**i].op, Op::Const(_))).count();
            real <= MAX_SPECULATED
                && insts.iter().all(|i| {
                    let data = &s.func.insts[*i];
                    data.results.iter().all(|v| s.func.ty(*v).is_scalar())
                        && (is_speculatable(s.func, *i) || divides_by_constant(s.func, &s.defs, *i))
                })
        };
        let results = &self.func.insts[inst].results;
        let all_scalar = results.iter().all(|v| self.func.ty(*v).is_scalar());
        if all_scalar && is_cheap(self, then) && is_cheap(self, els) {
            let types: Vec<_> = results.iter().map(|v| self.func.ty(*v).clone()).collect();
            let span = self.span;
            let (a, b) = (self.splice(then), self.splice(els));
            self.span = span;
            let selected = a.into_iter().zip(b).zip(types);
            return Step::Is(selected.map(|((then, els), ty)| self.emit(Op::Select { cond, then, els }, ty)).collect());
        }
        Step::Keep
    }

    fn repetition(&mut self, inst: Inst, init: &[Value], body: Region) -> Step {
        let yields = self.func.regions[body].yields.clone();
        let params = self.func.regions[body].params.clone();
        if self.const_of(yields[0]) == Some(Scalar::Bool(false)) {
            for (param, init) in params.iter().zip(init) {
                self.renames.set(*param, *init);
            }
            let mut values = self.splice(body);
            values.remove(0);
            return Step::Is(values);
        }
        // What never changes is not carried; dead slots go with dead code.
        let results = self.func.insts[inst].results.clone();
        for (k, param) in params.iter().enumerate() {
            if (yields[k + 1] == *param || yields[k + 1] == init[k]) && self.uses[*param] + self.uses[results[k]] > 0 {
                self.renames.set(*param, init[k]);
                self.renames.set(results[k], init[k]);
                self.changed = true;
            }
        }
        Step::Keep
    }

    fn with_loop(&mut self, inst: Inst, mut with: With) -> Step {
        let before = with.parts.len();
        with.parts.retain(|part| !self.is_empty(&part.generator));
        self.drop_copying_parts(&mut with);
        self.drop_neutral_parts(&mut with);
        let mut changed = with.parts.len() != before;
        for part in &mut with.parts {
            changed |= self.normalize(&mut part.generator);
            if let Generator::Known { lower, upper, .. } = &part.generator {
                let params = self.func.regions[part.body].params.clone();
                for ((param, lower), upper) in params.into_iter().zip(lower).zip(upper) {
                    let single = match (self.int_of(*lower), self.int_of(*upper)) {
                        (Some(l), Some(u)) => i64::from(u) - i64::from(l) == 1,
                        _ => false,
                    };
                    if single && self.uses[param] > 0 && self.renames.get(param) == param {
                        self.renames.set(param, *lower);
                        self.changed = true;
                    }
                }
            }
        }
        if with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. })) && !with.ordered {
            for part in &mut with.parts {
                changed |= self.drop_single_axes(part);
            }
        }
        if with.parts.is_empty()
            && with.ops.iter().all(|op| matches!(op, WithOp::Fold { .. } | WithOp::Modarray { .. }))
        {
            return Step::Is(
                with.ops
                    .iter()
                    .map(|op| match op {
                        WithOp::Fold { neutral, .. } => *neutral,
                        WithOp::Modarray { array } => *array,
                        WithOp::Genarray { .. } => unreachable!("excluded above"),
                    })
                    .collect(),
            );
        }
        if let Some(values) = self.single_index(inst, &with) {
            return Step::Is(values);
        }
        changed |= self.skip_overwritten(&mut with);
        changed |= self.covering_modarray(&mut with);
        self.refine_types(inst, &with);
        if changed { Step::Becomes(Op::With(with)) } else { Step::Keep }
    }

    /// Partitions of a modarray that put every element where it is already.
    fn drop_copying_parts(&mut self, with: &mut With) {
        let [WithOp::Modarray { array }] = with.ops[..] else { return };
        if with.ordered {
            return;
        }
        with.parts.retain(|part| {
            let body = &self.func.regions[part.body];
            let copies = match (&body.yields[..], &body.insts[..]) {
                (&[cell], &[inst]) => match &self.func.insts[inst].op {
                    Op::Sel { array: from, index } => {
                        let from = self.renames.get(*from);
                        self.func.insts[inst].results[0] == cell
                            && from == array
                            && !index.is_empty()
                            && *index == body.params
                    }
                    _ => false,
                },
                _ => false,
            };
            !copies
        });
    }

    /// Partitions of folds that combine the neutral elements with themselves, which stay what they are: the first ones, and any where the order
    /// does not count or neutral elements change nothing. A sum of reals that begins with 0.0 is never -0.0, which 0.0 would change.
    fn drop_neutral_parts(&mut self, with: &mut With) {
        let neutrals = with.ops.iter().map(|op| match op {
            WithOp::Fold { neutral, combine: Combine::Op(op), stop: None } => {
                let n = self.const_of(*neutral)?;
                let anywhere =
                    !n.elem().is_float() || matches!(op, BinOp::Add | BinOp::Mul) && op.identity(n.elem()) == Some(n);
                (ravel_types::eval_bin(*op, n, n).ok()? == n).then_some((n, anywhere))
            }
            _ => None,
        });
        let Some(neutrals) = neutrals.collect::<Option<Vec<_>>>() else { return };
        let in_any_order = neutrals.iter().all(|(_, anywhere)| *anywhere);
        let mut leading = true;
        with.parts.retain(|part| {
            let body = &self.func.regions[part.body];
            let pure = body.insts.iter().all(|inst| matches!(self.func.insts[*inst].op, Op::Const(_)));
            let is_neutral = pure && body.yields.iter().zip(&neutrals).all(|(v, (n, _))| self.const_of(*v) == Some(*n));
            leading &= is_neutral;
            !(is_neutral && (leading || in_any_order))
        });
    }

    /// A fold does not need axes along which there is one index that nobody asks for.
    fn drop_single_axes(&mut self, part: &mut Part) -> bool {
        let Generator::Known { lower, upper, step: None, width: None } = &mut part.generator else { return false };
        let params = self.func.regions[part.body].params.clone();
        let is_needed = |s: &Self, axis: usize| {
            let one_apart = match (s.int_of(lower[axis]), s.int_of(upper[axis])) {
                (Some(l), Some(u)) => i64::from(u) - i64::from(l) == 1,
                _ => false,
            };
            !one_apart || s.uses[params[axis]] > 0
        };
        let needed: Vec<bool> = (0..params.len()).map(|axis| is_needed(self, axis)).collect();
        if !needed.contains(&false) {
            return false;
        }
        let keep = |list: &mut Vec<Value>| {
            let mut axis = 0;
            list.retain(|_| {
                axis += 1;
                needed[axis - 1]
            });
        };
        keep(lower);
        keep(upper);
        keep(&mut self.func.regions[part.body].params);
        true
    }

    fn is_empty(&self, generator: &Generator) -> bool {
        match generator {
            Generator::Known { lower, upper, .. } => {
                lower.iter().zip(upper).any(|(l, u)| match (self.int_of(*l), self.int_of(*u)) {
                    (Some(l), Some(u)) => l >= u,
                    _ => l == u,
                })
            }
            Generator::Dyn { .. } => false,
        }
    }

    /// Drops steps and widths that leave no gaps.
    fn normalize(&self, generator: &mut Generator) -> bool {
        let Generator::Known { step, width, .. } = generator else { return false };
        let Some(steps) = step.as_ref() else {
            return width.take().is_some();
        };
        let dense = match width.as_ref() {
            None => steps.iter().all(|s| self.int_of(*s) == Some(1)),
            Some(widths) => steps.iter().zip(widths).all(|(s, w)| {
                s == w
                    || self.int_of(*s) == Some(1)
                    || (self.int_of(*s).is_some() && self.int_of(*s) == self.int_of(*w))
            }),
        };
        if dense {
            *step = None;
            *width = None;
        } else if width.as_ref().is_some_and(|w| w.iter().all(|w| self.int_of(*w) == Some(1))) {
            *width = None;
            return true;
        }
        dense
    }

    /// A with-loop over the one empty index is its body.
    fn single_index(&mut self, inst: Inst, with: &With) -> Option<Vec<Value>> {
        let [part] = &with.parts[..] else { return None };
        if !matches!(&part.generator, Generator::Known { lower, .. } if lower.is_empty()) {
            return None;
        }
        let plain = with.ops.iter().all(|op| match op {
            WithOp::Genarray { frame: Frame::Known(frame), .. } => frame.is_empty(),
            WithOp::Modarray { .. } => true,
            WithOp::Fold { combine: Combine::Op(_), neutral, .. } => self.func.ty(*neutral).is_scalar(),
            WithOp::Fold { combine: Combine::Region(_), .. } => true,
            WithOp::Genarray { .. } => false,
        });
        if !plain {
            return None;
        }
        let types: Vec<_> = self.func.insts[inst].results.iter().map(|v| self.func.ty(*v).clone()).collect();
        let cells = self.splice(part.body);
        let combined = with.ops.iter().zip(cells).zip(types).map(|((op, cell), ty)| match op {
            WithOp::Fold { neutral, combine: Combine::Op(op), .. } => self.emit(Op::Bin(*op, *neutral, cell), ty),
            WithOp::Fold { neutral, combine: Combine::Region(region), .. } => {
                let params = self.func.regions[*region].params.clone();
                self.renames.set(params[0], *neutral);
                self.renames.set(params[1], cell);
                let yields = self.splice(*region);
                yields[0]
            }
            _ => cell,
        });
        Some(combined.collect())
    }

    /// Constant frames and cells show in the types of the results.
    fn refine_types(&mut self, inst: Inst, with: &With) {
        for (k, op) in with.ops.iter().enumerate() {
            let WithOp::Genarray { frame: Frame::Known(frame), cell, .. } = op else { continue };
            let result = self.func.insts[inst].results[k];
            let extents: Vec<Option<i32>> =
                frame.iter().chain(cell.iter().flatten()).map(|v| self.int_of(*v)).collect();
            if let Shape::Known(forms) = &mut self.func.values[result].ty.shape {
                for (form, extent) in forms.iter_mut().zip(extents) {
                    if let (Some(n), None) = (extent, form.as_const()) {
                        *form = Affine::constant(n);
                    }
                }
            }
        }
    }

    fn extent_form(&self, array: Value, axis: u32) -> Option<&Affine> {
        self.func.ty(array).shape.extents()?.get(axis as usize)
    }

    /// A `modarray` of one that nobody else reads, and all of whose elements it replaces, changes what that one changes.
    fn skip_overwritten(&mut self, with: &mut With) -> bool {
        let mut changed = false;
        for op in &mut with.ops {
            let WithOp::Modarray { array } = op else { continue };
            let Def::Inst(inst, k) = self.defs.get(*array) else { continue };
            let Op::With(before) = &self.func.insts[inst].op else { continue };
            let WithOp::Modarray { array: first } = before.ops[k as usize] else { continue };
            let is_replaced = |old: &Part| with.parts.iter().any(|new| self.contains(&new.generator, &old.generator));
            if self.uses[*array] == 1 && before.parts.iter().all(is_replaced) {
                *array = self.renames.get(first);
                changed = true;
            }
        }
        changed
    }

    /// Does a box for certain have all elements that the indices of another generator reach?
    fn contains(&self, outer: &Generator, inner: &Generator) -> bool {
        let Generator::Known { lower, upper, step: None, .. } = outer else { return false };
        let Generator::Known { lower: first, upper: last, .. } = inner else { return false };
        let is_at_most = |a: Value, b: Value| {
            let (a, b) = (self.renames.get(a), self.renames.get(b));
            a == b || matches!((self.int_of(a), self.int_of(b)), (Some(a), Some(b)) if a <= b)
        };
        lower.len() <= first.len()
            && lower.iter().zip(first).all(|(l, f)| is_at_most(*l, *f))
            && upper.iter().zip(last).all(|(u, l)| is_at_most(*l, *u))
    }

    /// `modarray` that replaces everything is `genarray`.
    fn covering_modarray(&mut self, with: &mut With) -> bool {
        let [part] = &with.parts[..] else { return false };
        let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return false };
        if lower.iter().any(|l| self.int_of(*l) != Some(0)) {
            return false;
        }
        let (upper, arity) = (upper.clone(), lower.len());
        let mut changed = false;
        for op in &mut with.ops {
            let WithOp::Modarray { array } = *op else { continue };
            let Some(extents) = self.func.ty(array).shape.extents().map(<[_]>::to_vec) else { continue };
            let covers = upper.iter().enumerate().all(|(axis, u)| match (self.int_of(*u), extents[axis].as_const()) {
                (Some(u), Some(n)) => u == n,
                _ => matches!(self.op_of(*u), Some(Op::Extent { array: a, axis: k })
                    if (*a, *k as usize) == (array, axis) || self.extent_form(*a, *k) == Some(&extents[axis])),
            });
            if covers {
                let cell = (arity..extents.len()).map(|axis| self.extent(array, axis)).collect();
                *op = WithOp::Genarray { frame: Frame::Known(upper.clone()), cell: Some(cell), default: None };
                changed = true;
            }
        }
        changed
    }
}
