//! Which cells of a tile need its fold.

use ravel_types::{BinOp, Elem};
use ravel_wir::{Func, Inst, Op, Region, Value};

use crate::facts::{Facts, Form};

/// `form <= 0`, in terms of indices and of what is known in front of the loops.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub form: Form,
}

/// A condition and the outcome under which a value is used.
type Under = (Value, bool);

impl Facts<'_> {
    /// The comparisons under which alone a body uses `result`; none if it uses it in any case, or under other conditions. `axes` are those of
    /// the tiles.
    pub fn tile_conditions(&self, body: Region, result: Value, axes: &[Value; 2]) -> Vec<Comparison> {
        let mut under = None;
        if !self.uses_under(body, result, &mut under) {
            return Vec::new();
        }
        let mut comparisons = Vec::new();
        if let Some((cond, truth)) = under {
            self.comparisons(cond, truth, axes, &mut comparisons);
        }
        comparisons
    }

    /// Whether all uses of a value of the body stand under one condition, and which.
    fn uses_under(&self, body: Region, value: Value, under: &mut Option<Under>) -> bool {
        let func = self.func;
        if func.regions[body].yields.contains(&value) {
            return false;
        }
        for &inst in &func.regions[body].insts {
            let mut is_used = false;
            func.insts[inst].op.for_each_operand(|v| is_used |= v == value);
            let fits = match &func.insts[inst].op {
                Op::If { cond, then, els } => {
                    let (on, off) = (region_uses(func, *then, value), region_uses(func, *els, value));
                    !is_used
                        && (!on || !off)
                        && (!on || agree(under, (*cond, true)))
                        && (!off || agree(under, (*cond, false)))
                }
                op if !is_used => !op.regions().into_iter().any(|region| region_uses(func, region, value)),
                Op::Select { cond, then, els } if *cond != value && (*then == value) != (*els == value) => {
                    agree(under, (*cond, *then == value))
                }
                Op::Bin(..) | Op::Un(..) | Op::Convert(_) => {
                    func.insts[inst].results.iter().all(|v| self.uses_under(body, *v, under))
                }
                _ => false,
            };
            if !fits {
                return false;
            }
        }
        true
    }

    /// The comparisons of indices that must hold for a condition to have this outcome.
    fn comparisons(&self, cond: Value, truth: bool, axes: &[Value; 2], out: &mut Vec<Comparison>) {
        let Some(inst) = self.live.def(cond) else { return };
        let Op::Bin(op, a, b) = self.func.insts[inst].op else { return };
        if (op == BinOp::And && truth) || (op == BinOp::Or && !truth) {
            self.comparisons(a, truth, axes, out);
            self.comparisons(b, truth, axes, out);
            return;
        }
        if self.func.ty(a).elem != Elem::I32 {
            return;
        }
        // `less + distance <= more`
        let (less, more, distance) = match (op, truth) {
            (BinOp::Lt, true) | (BinOp::Ge, false) => (a, b, 1),
            (BinOp::Le, true) | (BinOp::Gt, false) => (a, b, 0),
            (BinOp::Gt, true) | (BinOp::Le, false) => (b, a, 1),
            (BinOp::Ge, true) | (BinOp::Lt, false) => (b, a, 0),
            _ => return,
        };
        let Some((less, more)) = self.exact(less).zip(self.exact(more)) else { return };
        let form = less.plus(&more, -1).and_then(|form| form.plus(&Form::constant(distance), 1));
        let Some(form) = form else { return };
        let varies = form.terms.iter().any(|(v, _)| axes.contains(v));
        if varies && form.terms.iter().all(|(v, _)| axes.contains(v) || self.is_at_hand(*v)) {
            out.push(Comparison { form });
        }
    }
}

/// Notes a condition; whether it is the one noted before, if any.
fn agree(under: &mut Option<Under>, found: Under) -> bool {
    *under.get_or_insert(found) == found
}

/// Whether a region, or one inside it, uses a value.
fn region_uses(func: &Func, region: Region, value: Value) -> bool {
    let uses = |inst: &Inst| {
        let op = &func.insts[*inst].op;
        let mut used = false;
        op.for_each_operand(|v| used |= v == value);
        used || op.regions().into_iter().any(|r| region_uses(func, r, value))
    };
    func.regions[region].insts.iter().any(uses) || func.regions[region].yields.contains(&value)
}
