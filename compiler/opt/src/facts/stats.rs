//! Counts of what a module consists of, for tests and `--explain`.

use ravel_wir::traverse::walk;
use ravel_wir::{Module, Op};

/// How many there are, in all functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub funcs: usize,
    /// Instructions that are not scalar constants.
    pub insts: usize,
    pub withs: usize,
    pub checks: usize,
    pub loops: usize,
    pub calls: usize,
    pub sels: usize,
    pub updates: usize,
    /// `array` and array constants.
    pub arrays: usize,
    pub ifs: usize,
}

/// Counts a module.
pub fn stats(module: &Module) -> Stats {
    let mut s = Stats { funcs: module.funcs.len(), ..Stats::default() };
    for func in module.funcs.values() {
        walk(func, func.body, &mut |_, inst| {
            let op = &func.insts[inst].op;
            s.insts += usize::from(!matches!(op, Op::Const(_)));
            match op {
                Op::With(_) => s.withs += 1,
                Op::Check { .. } => s.checks += 1,
                Op::Loop { .. } => s.loops += 1,
                Op::Call { .. } => s.calls += 1,
                Op::Sel { .. } => s.sels += 1,
                Op::Update { .. } => s.updates += 1,
                Op::Array(_) | Op::ConstArray(_) => s.arrays += 1,
                Op::If { .. } => s.ifs += 1,
                _ => {}
            }
        });
    }
    s
}

impl Stats {
    /// A count by the name that `expect count` sections use.
    pub fn get(&self, name: &str) -> Option<usize> {
        Some(match name {
            "func" => self.funcs,
            "inst" => self.insts,
            "with" => self.withs,
            "check" => self.checks,
            "loop" => self.loops,
            "call" => self.calls,
            "sel" => self.sels,
            "update" => self.updates,
            "array" => self.arrays,
            "if" => self.ifs,
            _ => return None,
        })
    }
}
