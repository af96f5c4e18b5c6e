//! `--emit schedule`: what was decided for every with-loop, as text.
//!
//! ```text
//! func main
//!   with 1 at relax.sac:4:7 in main
//!     - tiles: there is no fold                       a strategy that refused, and why
//!     + threads: axis 0, 512 indices in chunks of 8   the one that was chosen
//!       - tiles: there is no fold                     what a thread does with its chunk
//!       + lanes: 8 lanes along axis 1, 4 vectors per step
//!     = in place                                      what else was decided
//! ```
//!
//! With-loops that a kernel computes in its body are a part of it and not listed.

use std::fmt::Write;

use ravel_wir::traverse::walk;
use ravel_wir::{FuncId, Inst, Op};

use crate::lower::context::ModuleCx;

/// The decisions of all functions, in the order of the program.
pub(crate) fn list(cx: &ModuleCx<'_>) -> String {
    let mut text = String::new();
    for (id, func) in &cx.wir.funcs {
        let mut withs = Vec::new();
        walk(func, func.body, &mut |_, inst| {
            if matches!(func.insts[inst].op, Op::With(_)) {
                withs.push(inst);
            }
        });
        let mut listed = String::new();
        for (n, &inst) in withs.iter().enumerate() {
            let decided = decisions(cx, id, inst);
            if !decided.is_empty() {
                let place = (cx.options.position)(func.insts[inst].span, &func.name);
                _ = write!(listed, "  with {} at {place}\n{decided}", n + 1);
            }
        }
        if !listed.is_empty() {
            _ = write!(text, "func {}\n{listed}", func.name);
        }
    }
    text
}

/// What was decided for one with-loop.
fn decisions(cx: &ModuleCx<'_>, func: FuncId, inst: Inst) -> String {
    let mut text = String::new();
    let mut said = None;
    for decision in cx.decisions.iter().flatten().filter(|decision| (decision.func, decision.inst) == (func, inst)) {
        let mut margin = "    ";
        if let Some(part) = decision.part {
            if said != Some(part) {
                _ = writeln!(text, "    partition {}", part + 1);
                said = Some(part);
            }
            margin = "      ";
        }
        decision.text.lines().for_each(|line| _ = writeln!(text, "{margin}{line}"));
    }
    let mut rest: Vec<&str> = Vec::new();
    for remark in cx.remarks.iter().filter(|remark| remark.with == Some((func, inst))) {
        let of_part = remark.text.strip_prefix("partition ").and_then(|rest| rest.split_once(": "));
        let what = of_part.map_or(remark.text.as_str(), |(_, what)| what);
        // Those of strategies say no more than the plans.
        let is_plan =
            ["scalar loops: ", "threads over axis ", "packed tiles "].iter().any(|start| what.starts_with(start));
        if !is_plan && !what.contains(" lanes along ") && !rest.contains(&what) {
            rest.push(what);
        }
    }
    rest.iter().for_each(|what| _ = writeln!(text, "    = {what}"));
    text
}
