//! Values that are borrowed: objects that something around the code at work holds, under another name.
//!
//! A body of a with-loop borrows what it captures, and a function what it is lent ([`crate::memory::lending`]). A branch between two borrowed objects is
//! borrowed, too, and so is what a call hands back of borrowed arguments. None of these is counted: whoever holds the object keeps it until the body, or
//! the function, has ended.
//!
//! ```text
//!    part [0] <= [%i] < [9] { ..  %r = if %even { yield %a } else { yield %b }  %x = sel %r, [%i]  .. }      no count of %a, %b and %r
//! ```
//!
//! Outside of with-loops a region may give up what it owns at the last use, so that a branch there counts as ever.

use ravel_wir::{Inst, Op, Value};

use crate::lower::Lower;
use crate::lower::context::Callers;

impl Lower<'_, '_> {
    /// From where the code at work calls functions.
    pub fn callers(&self) -> Callers {
        if self.b.is_run_by_threads() { Callers::Threads } else { Callers::Sequential }
    }

    /// Will the value be borrowed, once the code at work has come to it?
    fn will_be_borrowed(&self, v: Value) -> bool {
        if self.is_bound(v) {
            return self.is_borrowed(v);
        }
        let Some(inst) = self.live.def(v) else { return false };
        self.makes_borrowed(inst).get(self.func.insts[inst].results.iter().position(|r| *r == v).unwrap_or(0))
            == Some(&true)
    }

    /// For each result of an instruction: is it borrowed?
    pub fn makes_borrowed(&self, inst: Inst) -> Vec<bool> {
        let func = self.func;
        let data = &func.insts[inst];
        let borrowed = |k: usize| match &data.op {
            Op::If { then, els, .. } => {
                [then, els].iter().all(|region| self.will_be_borrowed(func.regions[**region].yields[k]))
            }
            Op::Call { func: callee, args } => {
                let lending = &self.cx.lending;
                self.callers() == Callers::Threads
                    && lending.borrowed(*callee)[k]
                    && lending.sources(*callee, args).all(|v| self.will_be_borrowed(*v))
            }
            // Everything else makes objects of its own, or is asked about as it is.
            _ => false,
        };
        data.results.iter().enumerate().map(|(k, v)| self.is_object(*v) && borrowed(k)).collect()
    }

    /// Notes which results of an instruction the region at work does not own. One instruction may be written for several cases.
    pub fn note_borrowed(&mut self, inst: Inst, borrowed: &[bool]) {
        for (v, borrowed) in self.func.insts[inst].results.iter().zip(borrowed) {
            if *borrowed {
                self.facts.references.borrowed.insert(*v);
            } else {
                self.facts.references.borrowed.remove(v);
            }
        }
    }
}
