//! Derivatives of calls that stay calls: by the rule of the function, or by a function of its own.
//!
//! ```text
//!    %y = call @f (%x)            // @f derivative @g (0)
//! => %y = call @f (%x)  ..  %dx = call @g (%x, %y, %s)
//! ```
//!
//! A function that calls itself and has no rule, or is to run again, gets a function that derives it.
//!
//! ```text
//!    f(%x) { .. %y = call @f (%x') .. }
//! => f'(%x, %s) { %y, %dx = derive reverse (%p = %x) seeds (%s) { .. }  yield %y, %dx }
//! ```
//!
//! The new function gives the values as well. Where the cotangents of a call are there in front of it, the call of the new function takes its place, so
//! that a chain of calls has a derivative at a multiple of its own cost. Elsewhere values are computed first, and once more with the derivative.

use crate::differentiate::adjoint::{Adjoints, Term};
use crate::differentiate::forward::Forward;
use crate::differentiate::reverse::Reverse;
use crate::differentiate::state::{Result, State};
use crate::edit::{all_insts, reads_of, slice, syms_of};
use crate::scalar::inline::{Inliner, copy_body};
use ravel_source::Span;
use ravel_types::{Affine, Elem, HashMap, HashSet, Scalar, Shape, Sym, Ty};
use ravel_wir::{Func, FuncId, Inst, InstData, Mode, Module, Op, Region, RegionData, Rule, Rules, Value};

/// Functions that one program's derivatives may become: more come of derivatives of derivatives without end.
const MOST: usize = 200;

/// A derivative of a function.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    func: FuncId,
    mode: Mode,
    /// The arguments that it is derived by.
    by: Vec<bool>,
    /// In reverse mode, the results that have cotangents.
    seeded: Vec<bool>,
}

/// The derivatives of functions that a module needs.
pub struct Calls {
    made: HashMap<Key, FuncId>,
    wanted: Vec<Key>,
    next: u32,
    /// What calls show to the world, by function.
    shows: Vec<bool>,
    /// By function, how it is derived if not by its body.
    rules: Vec<Rules>,
    /// The bodies of rules, where these can stand in place: what does not read an argument need not have it.
    bodies: HashMap<FuncId, Func>,
    /// What was done, and where, for people.
    told: Vec<(Span, String)>,
}

impl Calls {
    pub fn new(module: &Module, inliner: &Inliner) -> Calls {
        let rules: Vec<Rules> = module.funcs.values().map(|func| func.rules.clone()).collect();
        let named = rules.iter().flat_map(Rules::iter).map(|rule| rule.func);
        let bodies = named.filter_map(|func| Some((func, inliner.whole(&module.funcs, func)?))).collect();
        Calls {
            made: HashMap::default(),
            wanted: Vec::new(),
            next: module.funcs.len() as u32,
            shows: showing(module),
            rules,
            bodies,
            told: Vec::new(),
        }
    }

    /// What has been done since this was asked last, each once.
    pub fn told(&mut self) -> Vec<(Span, String)> {
        let mut told: Vec<(Span, String)> = Vec::new();
        for remark in std::mem::take(&mut self.told) {
            if !told.contains(&remark) {
                told.push(remark);
            }
        }
        told
    }

    /// The function that computes a derivative of another one.
    fn want(&mut self, key: Key) -> FuncId {
        if let Some(id) = self.made.get(&key) {
            return *id;
        }
        let id = FuncId::from_u32(self.next);
        self.next += 1;
        self.shows.push(self.shows[key.func.as_u32() as usize]);
        self.made.insert(key.clone(), id);
        self.wanted.push(key);
        id
    }

    pub fn is_endless(&self) -> bool {
        self.made.len() > MOST
    }

    /// Adds the functions that are wanted to a module.
    pub fn make(&mut self, module: &mut Module) {
        for key in std::mem::take(&mut self.wanted) {
            let source = module.funcs[key.func].clone();
            module.funcs.push(derived(source, &key));
        }
    }
}

/// Which functions do I/O or look at global objects.
fn showing(module: &Module) -> Vec<bool> {
    let own = |func: &Func| {
        all_insts(func, func.body).into_iter().any(|inst| {
            matches!(func.insts[inst].op, Op::Native { effect: true, .. } | Op::GlobalSet(..) | Op::GlobalGet(_))
        })
    };
    let mut shows: Vec<bool> = module.funcs.values().map(|func| func.effects && own(func)).collect();
    loop {
        let mut more = false;
        for (id, func) in &module.funcs {
            let calls =
                |inst: &Inst| matches!(func.insts[*inst].op, Op::Call { func, .. } if shows[func.as_u32() as usize]);
            if !shows[id.as_u32() as usize] && all_insts(func, func.body).iter().any(calls) {
                shows[id.as_u32() as usize] = true;
                more = true;
            }
        }
        if !more {
            return shows;
        }
    }
}

/// A function whose body is the derivative of another one's.
fn derived(mut func: Func, key: &Key) -> Func {
    let body = func.body;
    let params = func.regions[body].params.clone();
    let yields = func.regions[body].yields.clone();
    let outer = func.regions.push(RegionData::default());
    let known: HashSet<_> = params.iter().flat_map(|p| syms_of(func.ty(*p))).collect();
    let (mut all, mut args, mut active) = (Vec::new(), Vec::new(), Vec::new());
    for (p, by) in params.iter().zip(&key.by) {
        if *by {
            let arg = func.new_value(func.ty(*p).clone());
            all.push(arg);
            args.push(arg);
            active.push(*p);
        } else {
            all.push(*p);
        }
    }
    let mut seeds = Vec::new();
    let types = |func: &Func, values: &[Value]| values.iter().map(|v| func.ty(*v).clone()).collect::<Vec<Ty>>();
    let mut insts = Vec::new();
    match key.mode {
        Mode::Forward => {
            for ty in types(&func, &args) {
                let tangent = func.new_value(ty);
                all.push(tangent);
                seeds.push(tangent);
            }
        }
        Mode::Reverse => {
            for (y, seeded) in yields.iter().zip(&key.seeded) {
                let ty = func.ty(*y).clone();
                if !ty.elem.is_float() {
                    continue;
                }
                // What the body makes has sizes that nobody knows in front of it.
                let ty = outside(&mut func, &ty, &known);
                seeds.push(match seeded {
                    true => {
                        let seed = func.new_value(ty);
                        all.push(seed);
                        seed
                    }
                    false => {
                        let inst = no_cotangent(&mut func, ty.elem);
                        insts.push(inst);
                        func.insts[inst].results[0]
                    }
                });
            }
        }
    }
    func.regions[body].params = active;
    let mut results = types(&func, &yields);
    let derivatives = match key.mode {
        Mode::Forward => results.iter().filter(|ty| ty.elem.is_float()).cloned().collect(),
        Mode::Reverse => types(&func, &args),
    };
    results.extend(derivatives);
    let span = func.span;
    let inst = func.make_inst(Op::Derive { mode: key.mode, args, seeds, body }, results, span);
    insts.push(inst);
    let yields = func.insts[inst].results.clone();
    func.regions[outer] = RegionData { params: all, insts, yields };
    func.body = outer;
    // In place, what runs again would be found to be there already.
    func.noinline = func.rules.recompute;
    func.rules = Rules::default();
    func
}

/// A type with new symbols for sizes that are not known.
fn outside(func: &mut Func, ty: &Ty, known: &HashSet<Sym>) -> Ty {
    let Shape::Known(extents) = &ty.shape else { return ty.clone() };
    let mut new = Vec::new();
    for extent in extents {
        let is_known = extent.terms().iter().all(|(sym, _)| known.contains(sym));
        new.push(if is_known { extent.clone() } else { Affine::sym(func.fresh_sym()) });
    }
    Ty::new(ty.elem, Shape::Known(new))
}

/// A value that stands for a cotangent that is not there: `backward` looks past it.
fn no_cotangent(func: &mut Func, elem: Elem) -> Inst {
    let zero = if elem == Elem::F32 { Scalar::F32(0.0) } else { Scalar::F64(0.0) };
    let span = func.span;
    func.make_inst(Op::Const(zero), vec![Ty::scalar(elem)], span)
}

impl State<'_> {
    /// Says what was done with an instruction.
    pub fn tell(&mut self, span: Span, what: impl Into<String>) {
        self.calls.told.push((span, what.into()));
    }

    fn derivative_of(&mut self, func: FuncId, mode: Mode, by: Vec<bool>, seeded: Vec<bool>) -> Result<FuncId> {
        let id = self.calls.want(Key { func, mode, by, seeded });
        match self.calls.is_endless() {
            true => self.refuse("a function that takes derivatives of itself has no derivative"),
            false => Ok(id),
        }
    }

    fn shows(&self, func: FuncId) -> bool {
        self.calls.shows[func.as_u32() as usize]
    }

    /// Moves what values need in front of an instruction that stands in the same region, if that is possible: none of it depends on the
    /// instruction's results, and nothing passes a check that it may need.
    pub fn raise(&mut self, at: Region, inst: Inst, values: &[Value]) -> bool {
        let func = &mut *self.func;
        let all = func.regions[at].insts.clone();
        let Some(place) = all.iter().position(|i| *i == inst) else { return false };
        let behind = &all[place + 1..];
        let needed = slice(func, behind, values.iter().copied(), |_| false);
        let results = &func.insts[inst].results;
        let reads = needed.iter().flat_map(|i| reads_of(func, *i)).chain(values.iter().copied());
        if reads.into_iter().any(|v| results.contains(&v)) {
            return false;
        }
        let is_ordered = |i: &Inst| {
            let op = &func.insts[*i].op;
            op.is_anchored() || matches!(op, Op::Call { .. }) || !op.regions().is_empty()
        };
        let is_total = |i: &Inst| {
            let op = &func.insts[*i].op;
            let real = func.insts[*i].results.iter().all(|v| func.ty(*v).elem.is_float());
            matches!(op, Op::Const(_) | Op::Select { .. } | Op::Un(..)) || real && matches!(op, Op::Bin(..))
        };
        if behind.iter().any(is_ordered) && !needed.iter().all(is_total) {
            return false;
        }
        let moved: HashSet<Inst> = needed.iter().copied().collect();
        let rest = behind.iter().copied().filter(|i| !moved.contains(i));
        func.regions[at].insts =
            all[..place].iter().copied().chain(needed.iter().copied()).chain([inst]).chain(rest).collect();
        true
    }
}

impl State<'_> {
    /// The rule of a function for a mode, if it has one. It gives nothing by arguments that are not its own.
    fn rule(&self, func: FuncId, mode: Mode, args: &[Value]) -> Result<Option<Rule>> {
        let rules = self.calls.rules.get(func.as_u32() as usize);
        let Some(rule) = rules.and_then(|rules| rules.of(mode)) else { return Ok(None) };
        let is_covered = |k: usize| rule.by.contains(&(k as u32));
        if (0..args.len()).any(|k| self.is_varied(args[k]) && !is_covered(k)) {
            return self.refuse("an argument of this call depends on a variable, and the rule does not derive by it");
        }
        if self.shows(rule.func) {
            return self.refuse("the rule of this function has effects");
        }
        Ok(Some(rule.clone()))
    }
}

impl State<'_> {
    /// The code of a rule at the end of a region; its results are like some values.
    fn apply_rule(&mut self, at: Region, rule: FuncId, args: Vec<Value>, like: &[Value]) -> Vec<Value> {
        let Some(body) = self.calls.bodies.get(&rule) else {
            let types = like.iter().map(|v| self.ty(*v)).collect();
            return self.emits(at, Op::Call { func: rule, args }, types);
        };
        let mut insts = Vec::new();
        let results = copy_body(self.func, body, &args, &mut insts);
        for inst in insts {
            self.place(at, inst);
        }
        results
    }
}

impl Reverse<'_> {
    /// The cotangents of a call of a function that has a rule.
    fn by_rule(&mut self, at: Region, rule: &Rule, call: &InstData, adjoints: &mut Adjoints) -> Result<()> {
        let Op::Call { args, .. } = &call.op else { return Ok(()) };
        let mut given: Vec<Value> = args.iter().chain(&call.results).copied().collect();
        for &y in &call.results {
            let terms = adjoints.take(y);
            if self.state.ty(y).elem.is_float() {
                given.push(self.value(at, y, terms)?);
            }
        }
        self.state.tell(call.span, "derived by its rule");
        let by: Vec<Value> = rule.by.iter().map(|k| args[*k as usize]).collect();
        let derivatives = self.state.apply_rule(at, rule.func, given, &by);
        for (v, g) in by.into_iter().zip(derivatives) {
            if self.state.is_varied(v) {
                self.contribute(adjoints, v, Term::here(g));
            }
        }
        Ok(())
    }

    /// Whether the adjoint code of an instruction can take its place, with cotangents that are there in front of it.
    pub fn is_in_place(&mut self, at: Region, inst: Inst, seeds: &[Value]) -> bool {
        !self.is_repeated(at) && self.state.raise(at, inst, seeds)
    }

    pub fn call(&mut self, at: Region, inst: Inst, adjoints: &mut Adjoints) -> Result<()> {
        let InstData { op: Op::Call { func, args }, results, span } = self.state.func.insts[inst].clone() else {
            return Ok(());
        };
        if let Some(rule) = self.state.rule(func, Mode::Reverse, &args)? {
            let call = self.state.func.insts[inst].clone();
            return self.by_rule(at, &rule, &call, adjoints);
        }
        let (mut seeds, mut seeded) = (Vec::new(), Vec::new());
        for &y in &results {
            let terms = adjoints.take(y);
            let has_seed = !terms.is_empty() && self.state.is_varied(y);
            seeded.push(has_seed);
            if has_seed {
                seeds.push(self.value(at, y, terms)?);
            }
        }
        let by: Vec<bool> = args.iter().map(|v| self.state.is_varied(*v)).collect();
        let shows = self.state.shows(func);
        let func = self.state.derivative_of(func, Mode::Reverse, by, seeded)?;
        let in_place = self.is_in_place(at, inst, &seeds);
        self.state.tell(
            span,
            match in_place {
                true => "derived where it is called: nothing of it is kept",
                false => "its arguments are kept, and it runs again on the way back",
            },
        );
        if shows && !in_place {
            return self.state.refuse("a function that calls itself, or is to run again, would have its effects twice");
        }
        let varied: Vec<Value> = args.iter().copied().filter(|v| self.state.is_varied(*v)).collect();
        let types = results.iter().chain(&varied).map(|v| self.state.ty(*v)).collect();
        let op = Op::Call { func, args: args.iter().chain(&seeds).copied().collect() };
        let new = self.state.func.make_inst(op, types, span);
        let made = self.state.func.insts[new].results.clone();
        match in_place {
            true => {
                // The values are those of the new call.
                let place = crate::edit::place_of(self.state.func, at, inst);
                self.state.func.regions[at].insts[place] = new;
                let all = results.iter().chain(&made[results.len()..]).copied().collect();
                self.state.func.insts[new].results = all;
                self.state.func.insts[inst].results = made[..results.len()].to_vec();
                self.state.defs.add_inst(self.state.func, new);
                for v in &made[results.len()..] {
                    self.state.home[*v] = at.into();
                }
            }
            false => self.state.place(at, new),
        }
        for (v, g) in varied.into_iter().zip(&made[results.len()..]) {
            self.masked.insert(*g);
            self.contribute(adjoints, v, Term::here(*g));
        }
        Ok(())
    }
}

impl Forward<'_, '_> {
    pub fn call(&mut self, at: Region, inst: Inst) -> Result<()> {
        let InstData { op: Op::Call { func, args }, results, .. } = self.state.func.insts[inst].clone() else {
            return Ok(());
        };
        if let Some(rule) = self.state.rule(func, Mode::Forward, &args)? {
            let mut given: Vec<Value> = args.iter().chain(&results).copied().collect();
            for k in &rule.by {
                given.push(self.or_zero(at, args[*k as usize]));
            }
            let reals: Vec<Value> = results.into_iter().filter(|v| self.state.ty(*v).elem.is_float()).collect();
            let derivatives = self.state.apply_rule(at, rule.func, given, &reals);
            self.tangents.extend(reals.into_iter().zip(derivatives));
            return Ok(());
        }
        let tangents: Vec<Option<Value>> = args.iter().map(|v| self.tangent(*v)).collect();
        let by = tangents.iter().map(Option::is_some).collect();
        let func = self.state.derivative_of(func, Mode::Forward, by, Vec::new())?;
        let args = args.into_iter().chain(tangents.into_iter().flatten()).collect();
        self.state.func.insts[inst].op = Op::Call { func, args };
        let reals: Vec<Value> = results.into_iter().filter(|v| self.state.ty(*v).elem.is_float()).collect();
        self.extend(at, inst, &reals);
        Ok(())
    }
}
