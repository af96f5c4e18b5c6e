//! Which parameters a function only reads.
//!
//! In sequential code a function owns its parameters: the caller's last use hands the reference over, and counts nothing. A body of a parallel
//! loop cannot hand over what it captures. It would count each call, and the callee would count back, in a cache line that all threads want.
//! So functions have a second version that bodies of parallel loops call ([`crate::lower::module`]). There the caller *lends* what the callee only reads:
//! the callee borrows the parameter as a body borrows what it captures, and nobody counts.
//!
//! A parameter that the callee might change in place is given as ever, or each call would copy it. It flows, through branches, loops
//! and calls, into an update, a reshape, the array of a modarray, the start of a fold of arrays, or an array that gets longer.
//!
//! A result that can only be one of the lent parameters is *borrowed* by the caller, without a reference ([`crate::memory::borrowed`]). Where a result may
//! be a lent parameter or something else, the callee adds a reference to it.
//!
//! Whichever way a parameter goes, the code is right; this is about how much is counted and copied.

use cranelift_entity::SecondaryMap;
use ravel_types::{Elem, HashMap, HashSet};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, FuncId, Inst, Module, Op, Part, Value, With, WithOp};

/// What is known of the functions of a module.
pub(crate) struct Lending {
    funcs: SecondaryMap<FuncId, Facts>,
}

#[derive(Clone, Default, PartialEq)]
struct Facts {
    /// Does it, or a function that it calls, hold array objects, or have with-loops? These may need objects of their own, on a device for one.
    counts: bool,
    /// For each parameter: is it an object that the function only reads, or hands back?
    lent: Vec<bool>,
    /// For each parameter: may a result be the same object?
    returned: Vec<bool>,
    /// For each result: is it one of the lent parameters, whichever way the function goes?
    borrowed: Vec<bool>,
}

/// Is a value of this type a counted object?
fn is_object(func: &Func, v: Value) -> bool {
    let ty = func.ty(v);
    !ty.is_scalar() || ty.elem == Elem::Handle
}

impl Lending {
    pub fn of(module: &Module) -> Lending {
        let mut lending = Lending { funcs: SecondaryMap::new() };
        for (id, func) in &module.funcs {
            let objects = || func.params().iter().map(|v| is_object(func, *v)).collect::<Vec<_>>();
            let loops = func.insts.values().any(|data| matches!(data.op, Op::With(_)));
            let counts = loops || func.values.keys().any(|v| is_object(func, v));
            let returned = vec![false; func.params().len()];
            let borrowed = func.results().iter().map(|v| is_object(func, *v)).collect();
            lending.funcs[id] = Facts { counts, lent: objects(), returned, borrowed };
        }
        // Parameters are lent, and results borrowed, until something speaks against it; no parameter is returned until one is seen to be.
        let mut changed = true;
        while changed {
            changed = false;
            for (id, func) in &module.funcs {
                let facts = lending.facts(id, func);
                changed |= facts != lending.funcs[id];
                lending.funcs[id] = facts;
            }
        }
        lending
    }

    /// Do calls from parallel loops need a version of their own?
    pub fn counts(&self, id: FuncId) -> bool {
        self.funcs[id].counts
    }

    /// For each parameter: do callers on several threads keep their reference?
    pub fn lent(&self, id: FuncId) -> &[bool] {
        &self.funcs[id].lent
    }

    /// For each result: do callers on several threads get it without a reference, as one of the parameters that they lend?
    pub fn borrowed(&self, id: FuncId) -> &[bool] {
        &self.funcs[id].borrowed
    }

    /// The arguments that a borrowed result may be.
    pub fn sources<'v>(&self, callee: FuncId, args: &'v [Value]) -> impl Iterator<Item = &'v Value> {
        let facts = &self.funcs[callee];
        let may_be: Vec<bool> =
            facts.lent.iter().zip(&facts.returned).map(|(lent, returned)| *lent && *returned).collect();
        args.iter().zip(may_be).filter(|(_, may_be)| *may_be).map(|(v, _)| v)
    }

    /// Is the value one of the lent parameters, whichever way the function goes?
    fn is_lent(&self, func: &Func, lent: &[bool], def: &HashMap<Value, Inst>, v: Value) -> bool {
        if let Some(k) = func.params().iter().position(|param| *param == v) {
            return lent[k];
        }
        let Some(inst) = def.get(&v) else { return false };
        let data = &func.insts[*inst];
        let Some(k) = data.results.iter().position(|result| *result == v) else { return false };
        match &data.op {
            Op::If { then, els, .. } => {
                [then, els].iter().all(|region| self.is_lent(func, lent, def, func.regions[**region].yields[k]))
            }
            Op::Call { func: callee, args } => {
                self.borrowed(*callee)[k] && self.sources(*callee, args).all(|v| self.is_lent(func, lent, def, *v))
            }
            _ => false,
        }
    }

    fn facts(&self, id: FuncId, func: &Func) -> Facts {
        let before = &self.funcs[id];
        let flow = Flow::of(self, func);
        let written = reached(&flow.written, &flow.backward);
        let yields: Vec<Value> = func.regions[func.body].yields.clone();
        let returned = reached(&yields, &flow.backward);
        let params = func.params();
        let lent: Vec<bool> = params.iter().zip(&before.lent).map(|(v, lent)| *lent && !written.contains(v)).collect();
        let is_lent = |(v, borrowed): (&Value, &bool)| *borrowed && self.is_lent(func, &lent, &flow.def, *v);
        Facts {
            counts: before.counts || flow.calls_counting,
            returned: params.iter().map(|v| is_object(func, *v) && returned.contains(v)).collect(),
            borrowed: yields.iter().zip(&before.borrowed).map(is_lent).collect(),
            lent,
        }
    }
}

/// All values from which others are reached.
fn reached(from: &[Value], edges: &HashMap<Value, Vec<Value>>) -> HashSet<Value> {
    let mut found: HashSet<Value> = from.iter().copied().collect();
    let mut open: Vec<Value> = from.to_vec();
    while let Some(v) = open.pop() {
        let sources = edges.get(&v).into_iter().flatten();
        open.extend(sources.filter(|v| found.insert(**v)));
    }
    found
}

/// How objects go through a function.
#[derive(Default)]
struct Flow {
    /// For a value: those whose object it may be.
    backward: HashMap<Value, Vec<Value>>,
    /// Operands that are changed in place where nobody else holds them.
    written: Vec<Value>,
    calls_counting: bool,
    /// The instructions that may make a borrowed value: branches and calls.
    def: HashMap<Value, Inst>,
}

impl Flow {
    fn of(lending: &Lending, func: &Func) -> Flow {
        let mut flow = Flow::default();
        walk(func, func.body, &mut |_, inst| {
            let data = &func.insts[inst];
            let results = &data.results;
            if matches!(data.op, Op::If { .. } | Op::Call { .. }) {
                flow.def.extend(results.iter().map(|v| (*v, inst)));
            }
            match &data.op {
                Op::Update { array, .. }
                | Op::UpdateDyn { array, .. }
                | Op::Reshape { array, .. }
                | Op::ReshapeDyn { array, .. } => flow.written.push(*array),
                Op::Opaque(v) | Op::Widen(v) | Op::Narrow(v) => flow.edge(*v, results[0]),
                Op::Select { then, els, .. } => {
                    flow.edge(*then, results[0]);
                    flow.edge(*els, results[0]);
                }
                Op::If { then, els, .. } => {
                    for region in [then, els] {
                        flow.edges(&func.regions[*region].yields, results);
                    }
                }
                Op::Loop { init, body } => {
                    let body = &func.regions[*body];
                    let next = body.yields.get(1..).unwrap_or_default();
                    flow.edges(init, &body.params);
                    flow.edges(next, &body.params);
                    flow.edges(next, results);
                }
                Op::Call { func: callee, args } => {
                    let facts = &lending.funcs[*callee];
                    flow.calls_counting |= facts.counts;
                    for (k, v) in args.iter().enumerate() {
                        if !facts.lent.get(k).copied().unwrap_or(false) {
                            flow.written.push(*v);
                        }
                        if facts.returned.get(k).copied().unwrap_or(true) {
                            results.iter().for_each(|r| flow.edge(*v, *r));
                        }
                    }
                }
                Op::With(with) => flow.with_loop(func, with),
                _ => {}
            }
        });
        flow
    }

    fn edge(&mut self, from: Value, to: Value) {
        self.backward.entry(to).or_default().push(from);
    }

    fn edges(&mut self, from: &[Value], to: &[Value]) {
        from.iter().zip(to).for_each(|(from, to)| self.edge(*from, *to));
    }

    fn with_loop(&mut self, func: &Func, with: &With) {
        for op in &with.ops {
            match op {
                WithOp::Modarray { array } => self.written.push(*array),
                WithOp::Fold { neutral, .. } => self.written.push(*neutral),
                WithOp::Genarray { .. } => {}
            }
        }
        if with.parts.len() > 1 {
            self.written.extend(with.parts.iter().filter_map(|part| copied(func, part)));
        }
    }
}

/// The array that a partition copies, index by index: a result that has more indices may be made in its memory ([`crate::memory::append`]).
fn copied(func: &Func, part: &Part) -> Option<Value> {
    let body = &func.regions[part.body];
    match (&body.insts[..], &body.yields[..]) {
        ([load], [cell]) => match &func.insts[*load].op {
            Op::Sel { array, index } if *index == body.params && func.insts[*load].results[..] == [*cell] => {
                Some(*array)
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_source::FileId;

    /// Which parameters of `@f0` are lent.
    fn lent(text: &str) -> Vec<bool> {
        let module = ravel_wir::parse::parse_module(text, FileId(0)).unwrap_or_else(|e| panic!("{e}"));
        let id = module.funcs.keys().next().expect("the text has a function");
        Lending::of(&module).lent(id).to_vec()
    }

    #[test]
    fn what_is_read_or_handed_back_is_lent() {
        let reads = "func @f0 \"f\" (%a: i32[9], %i: i32) -> (i32) { %s: i32 = sel %a, [%i] yield %s }";
        assert_eq!(lent(reads), [true, false]);
        let picks = "func @f0 \"f\" (%a: i32[9], %b: i32[9], %c: bool) -> (i32[9]) {
            %r: i32[9] = if %c { yield %a } else { yield %b } yield %r }";
        assert_eq!(lent(picks), [true, true, false]);
        let recursive = "func @f0 \"f\" (%a: i32[9], %i: i32) -> (i32) {
            %c: bool = gt %i, 0
            %r: i32 = if %c { %j: i32 = sub %i, 1 %x: i32 = call @f0(%a, %j) yield %x } else { %y: i32 = sel %a, [0] yield %y }
            yield %r }";
        assert_eq!(lent(recursive), [true, false]);
    }

    #[test]
    fn results_that_are_parameters_are_borrowed() {
        let borrowed = |text: &str| {
            let module = ravel_wir::parse::parse_module(text, FileId(0)).unwrap_or_else(|e| panic!("{e}"));
            let id = module.funcs.keys().next().expect("the text has a function");
            Lending::of(&module).borrowed(id).to_vec()
        };
        let recursive = "func @f0 \"f\" (%a: i32[9], %b: i32[9], %c: bool) -> (i32[9], i32) {
            %r: i32[9], %n: i32 = if %c { yield %a, 1 } else { %d: bool = not %c %x: i32[9], %y: i32 = call @f0(%b, %a, %d) yield %x, %y }
            yield %r, %n }";
        assert_eq!(borrowed(recursive), [true, false]);
        let sometimes = "func @f0 \"f\" (%a: i32[9], %b: i32[9], %c: bool) -> (i32[9], i32[9]) {
            %r: i32[9] = if %c { yield %a } else { %x: i32[9] = update %b, [0], 7 yield %x } yield %r, %a }";
        assert_eq!(borrowed(sometimes), [false, true]);
        // What the callee is given is not lent.
        let given = "func @f0 \"f\" (%a: i32[9]) -> (i32[9]) { %r: i32[9] = call @f1(%a) yield %r }
          func @f1 \"g\" (%a: i32[9]) -> (i32[9]) { %r: i32[9] = update %a, [0], 7 yield %r }";
        assert_eq!(borrowed(given), [false]);
    }

    #[test]
    fn what_may_be_changed_in_place_is_given() {
        let updates = "func @f0 \"f\" (%a: i32[9], %b: i32[9], %c: bool) -> (i32[9]) {
            %r: i32[9] = if %c { yield %a } else { yield %b } %u: i32[9] = update %r, [0], 7 yield %u }";
        assert_eq!(lent(updates), [false, false, false]);
        let in_a_loop = "func @f0 \"f\" (%a: i32[9], %b: i32[9]) -> (i32[9]) {
            %r: i32[9], %n: i32 = loop (%c: i32[9] = %a, %i: i32 = 0) {
              %s: i32 = sel %b, [%i] %u: i32[9] = update %c, [%i], %s %j: i32 = add %i, 1 %go: bool = lt %j, 9 yield %go, %u, %j }
            yield %r }";
        assert_eq!(lent(in_a_loop), [false, true]);
        // What a callee hands back is changed; the callee itself changes the other one.
        let calls = "func @f0 \"f\" (%a: i32[9], %b: i32[9], %d: i32[9], %c: bool) -> (i32[9]) {
            %p: i32[9] = call @f1(%a, %c) %q: i32[9] = call @f2(%b) %x: i32 = sel %q, [1] %y: i32 = sel %d, [%x]
            %u: i32[9] = update %p, [0], %y yield %u }
          func @f1 \"pick\" (%a: i32[9], %c: bool) -> (i32[9]) { %z: i32[9] = opaque %a yield %z }
          func @f2 \"change\" (%a: i32[9]) -> (i32[9]) { %u: i32[9] = update %a, [0], 7 yield %u }";
        assert_eq!(lent(calls), [false, false, true, false]);
    }
}
