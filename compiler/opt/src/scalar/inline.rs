//! Inlining: calls of small functions, and of functions that are called once, become their bodies.
//!
//! ```text
//!    %y = call @f1 (%x)        // @f1 (%a) { %b = mul %a, %a yield %b }
//! => %y = mul %x, %x
//! ```
//!
//! Small functions of scalars that call themselves are copied into themselves, a few calls deep: a call of one does the work of several.
//!
//! Functions that are marked `inline` are always put in place.
//!
//! Before: anything. After: no call of a function that `is_wanted`; functions that nobody calls are gone.
//! Leaves alone: `noinline` functions, other recursion, large functions with several callers, and before `differentiate` those that have rules for
//! their derivatives.
//! Worth: tests/survey/small/halves (2.1 with Cranelift, 1.6 with LLVM).

use crate::edit::{Copier, Renames, all_insts, any_inst, size_of, syms_of};
use crate::pass::{Context, Pass, Run};
use cranelift_entity::PrimaryMap;
use ravel_source::Span;
use ravel_types::{Affine, Elem, HashMap};
use ravel_wir::{Func, FuncId, Inst, Mode, Module, Op, Region, Value};
use std::collections::BTreeMap;

pub const PASS: Pass = Pass {
    name: "inline",
    summary: "replace calls of small or once-called functions by their bodies",
    run: Run::Module(inline_calls),
};

/// A body up to this many instructions costs less than the knowledge that a call hides.
const SMALL: usize = 60;

/// A caller does not grow beyond this by small bodies; once-called functions do not count.
const MAX_CALLER: usize = 20_000;

/// A derivative has no more copies of one function than these, where they are longer than this together.
const MANY_COPIES: usize = 8;
const MOST_COPIED: usize = 2_000;

/// A function that calls itself is copied into itself as long as it does not grow beyond this.
const MAX_RECURSIVE: usize = 120;

/// Inlines callees first, so that each body is copied in its final form.
pub fn inline_calls(module: &mut Module, cx: &mut Context) -> bool {
    let callees: Vec<Vec<FuncId>> = module.funcs.values().map(callees_of).collect();
    let mut n_calls = vec![0usize; module.funcs.len()];
    callees.iter().flatten().for_each(|f| n_calls[number(*f)] += 1);
    let (order, recursive) = bottom_up(&callees);
    let mut wanted = vec![false; module.funcs.len()];
    let mut changed = false;
    for id in order {
        if callees[number(id)].iter().any(|c| wanted[number(*c)]) {
            let mut func = std::mem::replace(&mut module.funcs[id], Func::new("", ravel_source::Span::NONE));
            changed |= inline_into(&mut func, &module.funcs, &wanted);
            module.funcs[id] = func;
        }
        if recursive[number(id)] {
            changed |= deepen(module, id);
        }
        let func = &module.funcs[id];
        let fits = func.inline || n_calls[number(id)] == 1 || size_of(func, func.body) <= SMALL;
        let stays = func.noinline || !func.rules.is_empty() || recursive[number(id)] || is_for_host(module, id);
        wanted[number(id)] = fits && !stays;
    }
    changed |= remove_uncalled(module);
    cx.look_at(module);
    changed
}

/// Copies the body of a small function of scalars to where it calls itself, again and again.
fn deepen(module: &mut Module, id: FuncId) -> bool {
    let source = &module.funcs[id];
    let calls = callees_of(source);
    let mut simple =
        !source.noinline && !is_for_host(module, id) && !calls.is_empty() && calls.iter().all(|callee| *callee == id);
    simple &= source.values.values().all(|v| v.ty.is_scalar() && v.ty.elem != Elem::Handle);
    simple &= !any_inst(source, source.body, |inst| {
        let op = &source.insts[inst].op;
        matches!(op, Op::With(_) | Op::Loop { .. } | Op::Native { .. } | Op::GlobalGet(_) | Op::GlobalSet(..))
    });
    // Every copy brings as many calls as there were.
    let (own, mut calls, mut size) = (size_of(source, source.body), calls.len(), size_of(source, source.body));
    let each = calls;
    let mut wanted = vec![false; module.funcs.len()];
    wanted[number(id)] = true;
    let mut func = source.clone();
    let mut changed = false;
    while simple && size + calls * own <= MAX_RECURSIVE {
        inline_into(&mut func, &module.funcs, &wanted);
        size += calls * own;
        calls *= each;
        changed = true;
    }
    if changed {
        module.funcs[id] = func;
    }
    changed
}

fn number(id: FuncId) -> usize {
    id.as_u32() as usize
}

/// Called functions, once per call.
fn callees_of(func: &Func) -> Vec<FuncId> {
    let call = |inst: Inst| if let Op::Call { func, .. } = func.insts[inst].op { Some(func) } else { None };
    all_insts(func, func.body).into_iter().filter_map(call).collect()
}

/// Functions with callees before callers, and which of them take part in recursion.
fn bottom_up(callees: &[Vec<FuncId>]) -> (Vec<FuncId>, Vec<bool>) {
    // Tarjan's strongly connected components, with the call stack kept by hand: call graphs may be deep chains.
    let n = callees.len();
    let (mut index, mut low) = (vec![usize::MAX; n], vec![0; n]);
    let (mut on_stack, mut stack) = (vec![false; n], Vec::new());
    let (mut order, mut recursive) = (Vec::new(), vec![false; n]);
    let mut next = 0;
    for root in 0..n {
        if index[root] != usize::MAX {
            continue;
        }
        let mut work = vec![(root, 0)];
        while let Some((f, k)) = work.pop() {
            if k == 0 {
                index[f] = next;
                low[f] = next;
                next += 1;
                stack.push(f);
                on_stack[f] = true;
            }
            if let Some(callee) = callees[f].get(k) {
                let c = number(*callee);
                work.push((f, k + 1));
                recursive[f] |= c == f;
                if index[c] == usize::MAX {
                    work.push((c, 0));
                } else if on_stack[c] {
                    low[f] = low[f].min(index[c]);
                }
                continue;
            }
            if let Some((parent, _)) = work.last() {
                low[*parent] = low[*parent].min(low[f]);
            }
            if low[f] == index[f] {
                let at = stack.iter().rposition(|s| *s == f).unwrap_or(0);
                let component = stack.split_off(at);
                for &member in &component {
                    on_stack[member] = false;
                    recursive[member] |= component.len() > 1;
                    order.push(FuncId::from_u32(member as u32));
                }
            }
        }
    }
    (order, recursive)
}

/// Puts functions in place that derivatives call: `differentiate` looks at one function at a time.
pub struct Inliner {
    wanted: Vec<bool>,
}

impl Inliner {
    /// All functions of a module are wanted but those that call themselves.
    pub fn new(module: &Module) -> Inliner {
        let callees: Vec<Vec<FuncId>> = module.funcs.values().map(callees_of).collect();
        let (_, recursive) = bottom_up(&callees);
        Inliner { wanted: recursive.iter().map(|r| !r).collect() }
    }

    /// Puts calls inside of an instruction in place, but those that have a rule for derivatives of this mode, or are to run again; whether there were any.
    pub fn inline_within(&mut self, func: &mut Func, funcs: &PrimaryMap<FuncId, Func>, inst: Inst, mode: Mode) -> bool {
        // What differentiation has added calls itself.
        self.wanted.resize(funcs.len(), false);
        let stays = |func: &Func| func.rules.of(mode).is_some() || mode == Mode::Reverse && func.rules.recompute;
        let is_wanted = |(id, func): (FuncId, &Func)| self.wanted[number(id)] && !stays(func);
        let mut wanted: Vec<bool> = funcs.iter().map(is_wanted).collect();
        keep_multiplied(func, funcs, inst, &mut wanted);
        let mut any = false;
        // Bodies that come in call others.
        loop {
            let roots = func.insts[inst].op.regions().into_vec();
            if !inline_within(func, funcs, &wanted, roots, usize::MAX) {
                return any;
            }
            any = true;
        }
    }
}

impl Inliner {
    /// The body of a function whose calls are all in place but those of functions with rules; nothing if it has to stay a call, or takes derivatives
    /// itself.
    pub fn whole(&self, funcs: &PrimaryMap<FuncId, Func>, id: FuncId) -> Option<Func> {
        if !self.wanted[number(id)] || funcs[id].noinline {
            return None;
        }
        let is_wanted =
            |(id, func): (FuncId, &Func)| self.wanted[number(id)] && func.rules.is_empty() && !func.noinline;
        let wanted: Vec<bool> = funcs.iter().map(is_wanted).collect();
        let mut func = funcs[id].clone();
        loop {
            let roots = vec![func.body];
            if !inline_within(&mut func, funcs, &wanted, roots, usize::MAX) {
                break;
            }
        }
        let derives = |inst: Inst| matches!(func.insts[inst].op, Op::Derive { .. });
        (!any_inst(&func, func.body, derives)).then_some(func)
    }
}

/// Lets functions stay calls that would be in place many times, at some length: a recursion over halves, of which each length is a function of its own.
fn keep_multiplied(func: &Func, funcs: &PrimaryMap<FuncId, Func>, inst: Inst, wanted: &mut [bool]) {
    let callees: Vec<Vec<FuncId>> = funcs.values().map(callees_of).collect();
    let (order, _) = bottom_up(&callees);
    // With all that they call in place.
    let mut sizes: Vec<usize> = funcs.values().map(|func| size_of(func, func.body)).collect();
    for id in order.iter().filter(|id| wanted[number(**id)]) {
        let inner =
            callees[number(*id)].iter().filter(|c| **c != *id && wanted[number(**c)]).map(|c| sizes[number(*c)]);
        sizes[number(*id)] = inner.fold(sizes[number(*id)], usize::saturating_add);
    }
    let mut copies = vec![0usize; funcs.len()];
    for region in func.insts[inst].op.regions() {
        for inner in all_insts(func, region) {
            if let Op::Call { func: callee, .. } = func.insts[inner].op
                && let Some(count) = copies.get_mut(number(callee))
            {
                *count += 1;
            }
        }
    }
    for id in order.iter().rev().map(|id| number(*id)) {
        if !wanted[id] || copies[id] == 0 {
            continue;
        }
        if copies[id] >= MANY_COPIES && copies[id].saturating_mul(sizes[id]) > MOST_COPIED {
            wanted[id] = false;
            continue;
        }
        for callee in &callees[id] {
            copies[number(*callee)] = copies[number(*callee)].saturating_add(copies[id]);
        }
    }
}

fn inline_into(func: &mut Func, funcs: &PrimaryMap<FuncId, Func>, wanted: &[bool]) -> bool {
    let body = func.body;
    inline_within(func, funcs, wanted, vec![body], MAX_CALLER)
}

/// Puts calls in some regions and inside of them in place, as long as the function does not grow beyond a size.
fn inline_within(
    func: &mut Func,
    funcs: &PrimaryMap<FuncId, Func>,
    wanted: &[bool],
    roots: Vec<Region>,
    most: usize,
) -> bool {
    let mut size = size_of(func, func.body);
    let mut renames = Renames::default();
    let mut changed = false;
    let mut stack = roots;
    // Regions are collected first: the copies need no second look, for callees are inlined before callers.
    let mut regions: Vec<Region> = Vec::new();
    while let Some(region) = stack.pop() {
        if regions.contains(&region) {
            continue;
        }
        regions.push(region);
        for &inst in &func.regions[region].insts {
            stack.extend(func.insts[inst].op.regions());
        }
    }
    for region in regions {
        let insts = std::mem::take(&mut func.regions[region].insts);
        let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
        for inst in insts {
            let (callee, args) = match &func.insts[inst].op {
                // Functions that are still to be made stay calls.
                Op::Call { func: callee, args } if wanted.get(number(*callee)) == Some(&true) => {
                    (*callee, args.clone())
                }
                _ => {
                    out.push(inst);
                    continue;
                }
            };
            let source = &funcs[callee];
            size += size_of(source, source.body);
            if size > most && size_of(source, source.body) > 3 {
                out.push(inst);
                continue;
            }
            let site = func.insts[inst].span;
            let copies = func.insts.len();
            let yields = copy_body(func, source, &args, &mut out);
            move_places(func, copies, source, site);
            let results = func.insts[inst].results.clone();
            for (old, new) in results.into_iter().zip(yields) {
                renames.set(old, new);
            }
            changed = true;
        }
        func.regions[region].insts = out;
    }
    renames.apply(func);
    changed
}

/// The body of a function of the library has the place of the user's call that it was made for: the copy, from the instruction
/// number `copies` on, has that of this call. Code of the function's own file keeps its places.
fn move_places(func: &mut Func, copies: usize, source: &Func, site: Span) {
    if site.is_none() || source.span.is_none() {
        return;
    }
    for inst in func.insts.values_mut().skip(copies) {
        if !inst.span.is_none() && inst.span.file != source.span.file {
            inst.span = site;
        }
    }
}

/// Copies the body of a function, with arguments for its parameters, to the end of `out`; what it yields.
pub fn copy_body(func: &mut Func, source: &Func, args: &[Value], out: &mut Vec<Inst>) -> Vec<Value> {
    let mut syms = HashMap::default();
    // Symbols that are an extent of a parameter are the argument's extent.
    for (param, arg) in source.params().iter().zip(args) {
        let (from, to) = (source.ty(*param).shape.extents(), func.ty(*arg).shape.extents());
        for (f, t) in from.into_iter().flatten().zip(to.into_iter().flatten()) {
            if let Some(sym) = f.as_sym() {
                syms.entry(sym).or_insert_with(|| t.clone());
            }
        }
    }
    let mut all: Vec<_> = source.values.values().flat_map(|v| syms_of(&v.ty)).collect();
    all.sort();
    all.dedup();
    for sym in all {
        syms.entry(sym).or_insert_with(|| Affine::sym(func.fresh_sym()));
    }
    let values = source.params().iter().copied().zip(args.iter().copied()).collect();
    let mut copier = Copier { source: Some(source), values, syms };
    copier.splice(func, source.body, out)
}

/// Whether the host calls a function: it stays.
fn is_for_host(module: &Module, id: FuncId) -> bool {
    module.entry == Some(id) || module.exports.iter().any(|(_, export)| *export == id)
}

/// Removes what the entry and the exports do not reach; a module without an entry keeps everything.
pub fn remove_uncalled(module: &mut Module) -> bool {
    let Some(entry) = module.entry else { return false };
    let mut reached = BTreeMap::new();
    let mut work = vec![entry];
    work.extend(module.exports.iter().map(|(_, export)| *export));
    while let Some(id) = work.pop() {
        if reached.insert(id, ()).is_none() {
            work.extend(callees_of(&module.funcs[id]));
            work.extend(module.funcs[id].rules.iter().map(|rule| rule.func));
        }
    }
    if reached.len() == module.funcs.len() {
        return false;
    }
    let new_ids: HashMap<FuncId, FuncId> =
        reached.keys().enumerate().map(|(new, old)| (*old, FuncId::from_u32(new as u32))).collect();
    let old = std::mem::take(&mut module.funcs);
    for (id, mut func) in old {
        if !new_ids.contains_key(&id) {
            continue;
        }
        for rule in func.rules.iter_mut() {
            rule.func = new_ids[&rule.func];
        }
        for data in func.insts.values_mut() {
            if let Op::Call { func: callee, .. } = &mut data.op {
                // Instructions out of use may name functions that are gone.
                *callee = new_ids.get(callee).copied().unwrap_or(*callee);
            }
        }
        module.funcs.push(func);
    }
    module.entry = new_ids.get(&entry).copied();
    for (_, export) in &mut module.exports {
        *export = new_ids.get(export).copied().unwrap_or(*export);
    }
    true
}
