//! Which parameters a function only reads.
//!
//! In sequential code a function owns its parameters: the caller's last use hands the reference over, and counts nothing. A body of a parallel
//! loop cannot hand over what it captures. It would count each call, and the callee would count back, in a cache line that all threads want.
//! So functions have a second version that bodies of parallel loops call ([`crate::module`]). There the caller *lends* what the callee only reads:
//! the callee borrows the parameter as a body borrows what it captures, and nobody counts.
//!
//! A parameter that the callee might change in place is given as ever, or each call would copy it. It flows, through branches, loops
//! and calls, into an update, a reshape, the array of a modarray, the start of a fold of arrays, or an array that gets longer. One that is
//! only handed back is lent: then the callee adds a reference, and the caller gives up its own afterwards.
//!
//! Whichever way a parameter goes, the code is right; this is about how much is counted and copied.

use std::collections::{HashMap, HashSet};

use cranelift_entity::SecondaryMap;
use ravel_types::Elem;
use ravel_wir::traverse::walk;
use ravel_wir::{Func, FuncId, Module, Op, Part, Value, With, WithOp};

/// What is known of the functions of a module.
pub(crate) struct Lending {
    funcs: SecondaryMap<FuncId, Facts>,
}

#[derive(Clone, Default, PartialEq)]
struct Facts {
    /// Does it, or a function that it calls, hold array objects?
    counts: bool,
    /// For each parameter: is it an object that the function only reads, or hands back?
    lent: Vec<bool>,
    /// For each parameter: may a result be the same object?
    returned: Vec<bool>,
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
            let counts = func.values.keys().any(|v| is_object(func, v));
            lending.funcs[id] = Facts { counts, lent: objects(), returned: vec![false; objects().len()] };
        }
        // Parameters are lent until something speaks against it; results are new until something else is seen.
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

    fn facts(&self, id: FuncId, func: &Func) -> Facts {
        let before = &self.funcs[id];
        let flow = Flow::of(self, func);
        let written = reached(&flow.written, &flow.backward);
        let yields: Vec<Value> = func.regions[func.body].yields.clone();
        let returned = reached(&yields, &flow.backward);
        let params = func.params();
        Facts {
            counts: before.counts || flow.calls_counting,
            lent: params.iter().zip(&before.lent).map(|(v, lent)| *lent && !written.contains(v)).collect(),
            returned: params.iter().map(|v| is_object(func, *v) && returned.contains(v)).collect(),
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
}

impl Flow {
    fn of(lending: &Lending, func: &Func) -> Flow {
        let mut flow = Flow::default();
        walk(func, func.body, &mut |_, inst| {
            let data = &func.insts[inst];
            let results = &data.results;
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

/// The array that a partition copies, index by index: a result that has more indices may be made in its memory ([`crate::growth`]).
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
