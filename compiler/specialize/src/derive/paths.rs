//! Variables from which nothing real leads to the results, so that their derivatives are always zero.

use crate::spec::Spec;
use ravel_core::ir::Wrt;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_types::{HashMap, HashSet, UnOp};
use ravel_wir::{Inst, Op, Region, Value, traverse};

impl Spec<'_> {
    /// Warns of such variables; each has the next of `counts` many of the region's parameters.
    pub(super) fn warn_of_zeros(&mut self, wrt: &[Wrt], counts: &[usize], region: Region) {
        let reached = self.reaching(region);
        let mut params = self.em.func.regions[region].params.clone().into_iter();
        for (wrt, count) in wrt.iter().zip(counts) {
            let is_reached = params.by_ref().take(*count).filter(|param| reached.contains(param)).count() > 0;
            if is_reached || (self.options.is_library)(wrt.span.file) || self.speculative > 0 {
                continue;
            }
            let title = format!("the derivative by `{}` is always zero", self.options.map.snippet(wrt.span));
            let report = Diagnostic::warning(Code::AlwaysZero, title)
                .at(wrt.span, "nothing real of it reaches the result")
                .with_note(
                    "shapes, comparisons, conversions to integers, roundings and what `stop_gradient` has do not count",
                );
            self.report(report);
        }
    }

    /// The values from which the real results of a region are computed by real numbers alone.
    fn reaching(&self, region: Region) -> HashSet<Value> {
        let func = &self.em.func;
        let is_real = |v: &Value| func.ty(*v).elem.is_float();
        let mut makers: HashMap<Value, Inst> = HashMap::default();
        traverse::walk(func, region, &mut |_, inst| {
            makers.extend(func.insts[inst].results.iter().map(|result| (*result, inst)));
        });
        let mut waiting: Vec<Value> = func.regions[region].yields.iter().copied().filter(is_real).collect();
        let mut found = HashSet::default();
        while let Some(v) = waiting.pop() {
            let (true, Some(inst)) = (found.insert(v), makers.get(&v)) else { continue };
            let op = &func.insts[*inst].op;
            if matches!(op, Op::Detach(_) | Op::Un(UnOp::Floor | UnOp::Ceil | UnOp::Rint | UnOp::Trunc, _)) {
                continue;
            }
            op.for_each_operand(|operand| {
                if is_real(&operand) {
                    waiting.push(operand);
                }
            });
            let nested = op.regions().into_iter().flat_map(|nested| func.regions[nested].yields.iter().copied());
            waiting.extend(nested.filter(is_real));
        }
        found
    }
}
