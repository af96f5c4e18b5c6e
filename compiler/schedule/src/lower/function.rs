//! A function from its body to what the passes over nests make of it.

use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{self as nest, Ty};
use ravel_source::Span;
use ravel_types::HashSet;
use ravel_wir::Func;

use crate::Result;
use crate::device::state::DeviceState;
use crate::facts::{Facts, Val};
use crate::kernel::state::KernelState;
use crate::lower::Lower;
use crate::lower::context::{Callers, ModuleCx};
use crate::lower::emit::Emit;
use crate::memory::state::MemoryState;
use crate::post::float_reciprocal::multiply_instead;
use crate::post::outer_unroll::{Outcome, Rows, jam};
use crate::post::outline::outline;
use crate::threads::state::ThreadState;

/// Start of the remark on a memory plan that is a mistake of the planner: it costs speed, not results.
const REFUSED_PLAN: &str = "memory plan refused";

impl<'m, 'a> Lower<'m, 'a> {
    /// Lowers the function at work to the body of a declared one.
    pub fn function(
        cx: &'m mut ModuleCx<'a>,
        func: &'m Func,
        (id, callers): (nest::FuncId, Callers),
    ) -> Result<nest::Func> {
        let declared = &cx.nest.funcs[id];
        let params: Vec<Ty> = declared.param_types().collect();
        let (mut b, args) = FuncBuilder::new(declared.name.clone(), &params, &declared.results);
        let (mut lent, mut handed_on) = (vec![false; params.len()], vec![false; declared.results.len()]);
        if callers == Callers::Threads {
            b.set_called_by_threads();
            lent.copy_from_slice(cx.lending.lent(cx.func));
            handed_on.copy_from_slice(cx.lending.borrowed(cx.func));
        }
        let facts = Facts::of(func, cx.target, cx.options);
        let mut lower = Lower {
            cx,
            facts,
            b,
            emit: Emit::default(),
            memory: MemoryState::default(),
            kernel: KernelState::default(),
            device: DeviceState::default(),
            threads: ThreadState::default(),
        };
        lower.open(func.body);
        for ((&param, arg), lent) in func.params().iter().zip(args).zip(lent) {
            lower.bind(param, arg);
            if lent {
                lower.facts.references.borrowed.insert(param);
            } else {
                lower.own(param);
            }
        }
        lower.drop_unused();
        let results = lower.body_handing_on(func.body, &handed_on)?;
        lower.close();
        lower.b.ret(&results);
        lower.explain_transfers();
        let mut finished = lower.b.finish();
        jam_rows(lower.cx, &mut finished, &lower.kernel.rows, &mut lower.kernel.kernel_loops);
        if lower.cx.target.has_fma {
            multiply_instead(&mut finished);
        }
        if let Err(rule) = crate::memory::arena::place(&mut lower.cx.nest, &mut finished) {
            debug_assert!(false, "the memory plan of {} is wrong: {rule}", func.name);
            lower.cx.remark(func.span, format!("{REFUSED_PLAN}: {rule}"));
        }
        outline(&mut lower.cx.nest, &mut finished, &lower.kernel.kernel_loops);
        Ok(finished)
    }
}

impl Lower<'_, '_> {
    /// Notes a loop over the indices of an axis, of which none waits for another.
    pub fn note_rows(&mut self, index: Val, span: Span) {
        if !self.site.in_launch {
            let (with, part, silent) = (self.cx.with, self.cx.part, self.cx.silent > 0);
            self.kernel.rows.push(Rows { index, span, with, part, silent });
        }
    }
}

/// Runs the noted loops of a lowered function abreast where that pays, and says so.
pub(crate) fn jam_rows(cx: &mut ModuleCx<'_>, func: &mut nest::Func, rows: &[Rows], kernels: &mut HashSet<Val>) {
    if rows.is_empty() {
        return;
    }
    for Outcome { rows: n, text } in jam(&cx.nest, func, rows, kernels) {
        (cx.with, cx.part, cx.silent) = (rows[n].with, rows[n].part, u32::from(rows[n].silent));
        cx.remark(rows[n].span, text);
    }
    (cx.with, cx.part, cx.silent) = (None, None, 0);
}
