//! What a pass is, and what it says about the with-loops it looked at.

use ravel_source::Span;
use ravel_wir::traverse::walk;
use ravel_wir::{Func, FuncId, Inst, Module, Op, Region};
use std::collections::BTreeMap;
use std::time::Duration;

/// A named, described rewriting of WIR.
pub struct Pass {
    /// Also its file (with `_`), its name on command lines and its folder under `tests/ir`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    pub run: Run,
}

impl Pass {
    /// A pass over one function at a time.
    pub const fn of(name: &'static str, summary: &'static str, run: fn(&mut Func, &mut Context) -> bool) -> Pass {
        Pass { name, summary, run: Run::Func(run) }
    }
}

/// What a pass works on. All forms tell whether they changed anything.
#[derive(Clone, Copy)]
pub enum Run {
    Func(fn(&mut Func, &mut Context) -> bool),
    Module(fn(&mut Module, &mut Context) -> bool),
    /// With-loop folding, which also gives what it could not decide on.
    Fold(fn(&mut Func, &mut Context) -> Folded),
    /// What takes that over, where there is some.
    AfterFold(fn(&mut Func, Undecided, &mut Context) -> bool),
}

/// What with-loop folding did to a function.
pub struct Folded {
    pub changed: bool,
    /// With-loops left alone because an index may fall in several of their partitions.
    pub undecided: Vec<Inst>,
}

/// A function before folding, which left some of its with-loops for that reason.
pub struct Undecided {
    pub before: Func,
    pub with_loops: Vec<Inst>,
}

/// What passes know beyond the function in hand, and where they put their remarks.
#[derive(Default)]
pub struct Context {
    /// By function: calls of it have effects.
    pub effects: Vec<bool>,
    /// By function: calls of it may fault.
    pub faults: Vec<bool>,
    /// By function: it reads a clock, or calls a function that does.
    pub clocks: Vec<bool>,
    pub remarks: Vec<Remark>,
    /// What a pass that must do its work could not do, and where: an error of the program.
    pub failure: Option<(Span, String)>,
    /// The pass that is running, and the function.
    pub pass: &'static str,
    pub func: String,
    pub id: Option<FuncId>,
    /// Do what is possible also where it does not pay.
    pub eager: bool,
    /// With-loops become kernels of a device, where they can.
    pub for_device: bool,
    /// The IR is verified after every pass.
    pub verify: bool,
    /// Time spent, by pass.
    pub times: BTreeMap<&'static str, Duration>,
}

/// Whether running a function may end in a fault of the program.
fn may_fault(func: &Func, cx: &Context) -> bool {
    let mut found = false;
    walk(func, func.body, &mut |_, inst| {
        found |= match &func.insts[inst].op {
            Op::Check { .. } => true,
            Op::Call { func: callee, .. } => cx.faults.get(callee.as_u32() as usize).copied().unwrap_or(true),
            op => op.may_fault() || op.is_trace(),
        };
    });
    found
}

/// What a pass did to a with-loop, or why it left it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub pass: &'static str,
    /// The with-loop.
    pub span: Span,
    /// Name of the SaC function that holds it now.
    pub func: String,
    /// That function; its number is valid until `inline` runs again.
    pub id: Option<FuncId>,
    pub outcome: Outcome,
}

/// See [`Remark`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Applied(String),
    Refused(String),
}

impl Context {
    /// Facts about the functions of a module.
    pub fn new(module: &Module) -> Context {
        let mut cx = Context::default();
        cx.look_at(module);
        cx
    }

    pub fn has_effects(&self, func: FuncId) -> bool {
        self.effects.get(func.as_u32() as usize).copied().unwrap_or(true)
    }

    /// Whether a call can be observed other than through its results: it has effects or may fault. A call that may fault is made
    /// whether its results are needed or not, as a check is.
    pub fn is_observed(&self, func: FuncId) -> bool {
        self.has_effects(func) || self.faults.get(func.as_u32() as usize).copied().unwrap_or(true)
    }

    /// Notes what is known of the functions of a module, whose numbers are new.
    pub fn look_at(&mut self, module: &Module) {
        self.effects = module.funcs.values().map(|f| f.effects).collect();
        self.faults = vec![false; module.funcs.len()];
        loop {
            let may_fault = |func: &Func| may_fault(func, self);
            let faults: Vec<bool> = module.funcs.values().map(may_fault).collect();
            if faults == self.faults {
                break;
            }
            self.faults = faults;
        }
        self.clocks = vec![false; module.funcs.len()];
        loop {
            let reads = |func: &Func| self.has_clock(func, func.body);
            let clocks: Vec<bool> = module.funcs.values().map(reads).collect();
            if clocks == self.clocks {
                return;
            }
            self.clocks = clocks;
        }
    }

    /// Does an instruction read a clock, or call a function that does?
    pub fn is_clock(&self, op: &Op) -> bool {
        match op {
            Op::Native { symbol, .. } => symbol.starts_with("ravel_clock_"),
            Op::Call { func, .. } => self.reads_clock(*func),
            _ => false,
        }
    }

    /// Is a clock read in a region, at any depth?
    pub fn has_clock(&self, func: &Func, region: Region) -> bool {
        let mut found = false;
        walk(func, region, &mut |_, inst| found |= self.is_clock(&func.insts[inst].op));
        found
    }

    pub fn reads_clock(&self, func: FuncId) -> bool {
        self.clocks.get(func.as_u32() as usize).copied().unwrap_or(false)
    }

    /// Notes that the program cannot be compiled; the first reason counts.
    pub fn fail(&mut self, span: Span, why: impl Into<String>) {
        self.failure.get_or_insert_with(|| (span, why.into()));
    }

    pub fn applied(&mut self, span: Span, what: impl Into<String>) {
        self.remark(span, Outcome::Applied(what.into()));
    }

    pub fn refused(&mut self, span: Span, why: impl Into<String>) {
        self.remark(span, Outcome::Refused(why.into()));
    }

    /// Begins a run of a pass over a function. What it refused there in an earlier turn it may grant now.
    pub(crate) fn begin(&mut self, id: FuncId, name: &str) {
        self.func.clear();
        self.func.push_str(name);
        self.id = Some(id);
        let (pass, id) = (self.pass, self.id);
        self.remarks.retain(|r| r.pass != pass || r.id != id || matches!(r.outcome, Outcome::Applied(_)));
    }

    /// One remark per pass, place and outcome: passes run many times.
    fn remark(&mut self, span: Span, outcome: Outcome) {
        let remark = Remark { pass: self.pass, span, func: self.func.clone(), id: self.id, outcome };
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }
}
