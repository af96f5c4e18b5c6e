//! Statements: assignment, conditionals, and loops as fixed points over abstract values.

use crate::live::Around;
use crate::repeats::FixedPoint;
use crate::spec::{Frame, Spec};
use crate::value::{Kind, Sc, Val};
use crate::walk;
use ravel_core::ir::{Block, Expr, ExprKind, FunId, LocalId, SetId, Stmt, Target};
use ravel_diagnostics::Code;
use ravel_source::Span;
use ravel_types::Basic;
use ravel_wir::Op;
use std::collections::BTreeSet;

/// Iterations of a loop's fixed point before every loop variable loses all knowledge but its element type.
const MAX_ROUNDS: usize = 12;

/// A loop and what is known of its variables.
struct LoopParts<'a> {
    cond: &'a Expr,
    body: &'a Block,
    live: Around,
    /// Slots that the body or the condition assigns.
    assigned: BTreeSet<LocalId>,
    span: Span,
}

/// What one branch of a merge leaves behind: the slots it has no value for, and its extra values.
type Branch<'a, 'p> = Box<dyn FnOnce(&mut Spec<'p>, &mut Frame) -> Vec<Val> + 'a>;

impl<'p> Spec<'p> {
    pub fn block(&mut self, frame: &mut Frame, block: &Block) {
        for stmt in block {
            self.stmt(frame, stmt);
        }
    }

    pub fn stmt(&mut self, frame: &mut Frame, stmt: &Stmt) {
        match stmt {
            Stmt::Assign { targets, value, span } => self.assign(frame, targets, value, *span),
            Stmt::If { cond, then, els, span } => {
                let c = self.expr(frame, cond);
                self.at(cond.span);
                let Some(c) = self.truth(&c, "the condition of `if`") else {
                    return self.lose(frame, &[then, els]);
                };
                self.at(*span);
                let mut slots = BTreeSet::new();
                walk::assigned(then, &mut slots);
                walk::assigned(els, &mut slots);
                if let Some(live) = self.live_around(frame, stmt) {
                    slots.retain(|s| live.after.contains(s));
                }
                self.merge(
                    frame,
                    &c,
                    slots,
                    Box::new(|spec, frame| {
                        spec.block(frame, then);
                        Vec::new()
                    }),
                    Box::new(|spec, frame| {
                        spec.block(frame, els);
                        Vec::new()
                    }),
                );
            }
            Stmt::While { cond, body, do_first, span } => {
                let mut assigned = BTreeSet::new();
                walk::assigned(body, &mut assigned);
                walk::assigned_in_expr(cond, &mut assigned);
                let live = self.live_around(frame, stmt);
                let live = live.unwrap_or_else(|| Around { after: assigned.clone(), top: assigned.clone() });
                let parts = LoopParts { cond, body, live, assigned, span: *span };
                if *do_first {
                    self.do_loop(frame, &parts);
                } else {
                    self.while_loop(frame, &parts);
                }
            }
        }
    }

    /// What is live around a conditional or a loop of the function being elaborated.
    fn live_around(&mut self, frame: &Frame, stmt: &Stmt) -> Option<Around> {
        if self.liveness.around(stmt).is_none() {
            let fun = self.fun(frame.fun);
            self.liveness.analyse(fun);
        }
        self.liveness.around(stmt).cloned()
    }

    /// After an error in a condition: what its branches assign is unknown, silently.
    fn lose(&mut self, frame: &mut Frame, blocks: &[&Block]) {
        let mut slots = BTreeSet::new();
        blocks.iter().for_each(|b| walk::assigned(b, &mut slots));
        for slot in slots {
            frame.env[slot.index()] = Some(Val::Bottom);
        }
    }

    fn assign(&mut self, frame: &mut Frame, targets: &[Target], value: &Expr, span: Span) {
        let outside = Self::begin_reads(frame);
        let values = match (&value.kind, targets) {
            (ExprKind::Call { set, args }, _) => {
                let argv = self.arguments(frame, args);
                self.at(value.span);
                self.variadic = self.variadic_kinds(frame, *set, targets);
                self.note_arguments(frame, args, &argv);
                let values = self.call_set(*set, argv, targets.len(), value.span);
                self.variadic.clear();
                values
            }
            (_, [_]) => vec![self.expr(frame, value)],
            _ => self.exprs(frame, value, targets.len()),
        };
        if self.noting.is_some()
            && let [single] = &values[..]
        {
            self.note_expr(frame, value, single);
        }
        self.at(span);
        for (target, v) in targets.iter().zip(values) {
            match target {
                Target::Local(slot) => {
                    let fun = self.fun(frame.fun);
                    let local = &fun.locals[slot.index()];
                    let v = match &local.declared {
                        Some(ty) => {
                            let what = format!("`{}`", local.name);
                            self.at(value.span);
                            self.assert_type(frame, ty, v, &what)
                        }
                        None => v,
                    };
                    self.note_slot(span, *slot, &v);
                    frame.env[slot.index()] = Some(v);
                    frame.set_origin(*slot, value.span);
                }
                Target::Global(id) => self.set_global(*id, v, span),
                Target::Discard => {}
            }
        }
        self.end_reads(frame, targets, outside);
    }

    /// The declared types of the targets beyond the fixed results of a call with variadic results.
    fn variadic_kinds(&mut self, frame: &Frame, set: SetId, targets: &[Target]) -> Vec<Kind> {
        let member = self.program.sets[set.index()].members.iter().map(|m| self.fun(*m)).find(|f| f.variadic_results);
        let Some(member) = member else {
            return Vec::new();
        };
        let fun = self.fun(frame.fun);
        let mut kinds = Vec::new();
        for target in targets.iter().skip(member.results.len()) {
            let declared = match target {
                Target::Local(slot) => fun.locals[slot.index()].declared.as_ref(),
                _ => None,
            };
            match declared {
                Some(ty) => kinds.push(self.kind_of_type(frame, ty)),
                None => {
                    let name = match target {
                        Target::Local(slot) => fun.locals[slot.index()].name.clone(),
                        _ => "_".to_string(),
                    };
                    self.error(
                        Code::UndeclaredVariadic,
                        format!(
                            "`{name}` needs a declaration: `{}` takes its result types from the targets",
                            member.name
                        ),
                        "declare this variable at the start of the function",
                    );
                    kinds.push(Kind::Bottom);
                }
            }
        }
        kinds
    }

    /// Runs one of two branches and merges what they leave in `slots`, together with extra values.
    pub fn merge(
        &mut self,
        frame: &mut Frame,
        cond: &Sc,
        slots: BTreeSet<LocalId>,
        then: Branch<'_, 'p>,
        els: Branch<'_, 'p>,
    ) -> Vec<Val> {
        match cond.as_bool() {
            Some(true) => return then(self, frame),
            Some(false) => return els(self, frame),
            None => {}
        }
        let (mut then_frame, mut els_frame) = (frame.fork(), frame.fork());
        self.branches += 1;
        let (then_region, then_extra) = self.arm(|spec| then(spec, &mut then_frame));
        let (els_region, els_extra) = self.arm(|spec| els(spec, &mut els_frame));
        self.branches -= 1;
        // A name that one branch leaves without a value has none afterwards.
        let (both, lost): (Vec<LocalId>, Vec<LocalId>) =
            slots.into_iter().partition(|s| then_frame.env[s.index()].is_some() && els_frame.env[s.index()].is_some());
        let collect = |frame: &Frame, extra: Vec<Val>| -> Vec<Val> {
            both.iter().filter_map(|s| frame.env[s.index()].clone()).chain(extra).collect()
        };
        let (then_values, els_values) = (collect(&then_frame, then_extra), collect(&els_frame, els_extra));
        let merged = self.join_arms(cond, (then_region, &then_values), (els_region, &els_values));
        let mut merged = merged.into_iter();
        for slot in &both {
            frame.env[slot.index()] = merged.next();
            frame.set_origin(*slot, Span::NONE);
        }
        for slot in lost {
            frame.env[slot.index()] = None;
        }
        merged.collect()
    }

    /// `while (cond) body` as `if (cond) { do body while (cond) }`.
    fn while_loop(&mut self, frame: &mut Frame, parts: &LoopParts<'_>) {
        self.first_rounds(frame, parts.cond, parts.body);
        let c = self.expr(frame, parts.cond);
        self.at(parts.cond.span);
        let Some(c) = self.truth(&c, "the condition of a loop") else {
            return self.lose(frame, &[parts.body]);
        };
        self.at(parts.span);
        let slots = parts.assigned.intersection(&parts.live.after).copied().collect();
        let outside = self.branches;
        self.merge(
            frame,
            &c,
            slots,
            Box::new(|spec, frame| {
                // Whoever writes a loop means it to run.
                let inside = std::mem::replace(&mut spec.branches, outside);
                spec.do_loop(frame, parts);
                spec.branches = inside;
                Vec::new()
            }),
            Box::new(|_, _| Vec::new()),
        );
    }

    /// `do body while (cond)`.
    fn do_loop(&mut self, frame: &mut Frame, parts: &LoopParts<'_>) {
        let (cond, body, span) = (parts.cond, parts.body, parts.span);
        let has_value = |s: &LocalId| frame.env[s.index()].is_some();
        let (carried, rest): (Vec<LocalId>, Vec<LocalId>) =
            parts.assigned.iter().partition(|s| parts.live.top.contains(s) && has_value(s));
        // Every iteration assigns these before it reads them; the last one's values are used after the loop.
        let fresh: Vec<LocalId> = rest.into_iter().filter(|s| parts.live.after.contains(s)).collect();
        let mut init: Vec<Val> =
            carried.iter().map(|s| frame.env[s.index()].clone().expect("carried slots have a value")).collect();
        let mut kinds: Vec<Kind> = init.iter().map(|v| self.em.visible_kind(v)).collect();
        kinds.extend(fresh.iter().map(|_| Kind::Bottom));
        let all: Vec<LocalId> = carried.iter().chain(&fresh).copied().collect();
        self.conditional += 1;
        let key = self.key_of(body);
        let before = kinds.clone();
        if let Some(last) = self.repeats.begin_with(&key, &kinds) {
            kinds = last;
        }
        let around = self.repeats.begin();
        let (region, outs, again) = 'rounds: {
            for round in 0.. {
                let reported = (self.diagnostics.len(), self.reported.clone());
                let instances = self.instances.len();
                let opened = self.em.open();
                let mut leaves = Vec::new();
                kinds.iter().for_each(|k| k.leaves(&mut leaves));
                let mut params = self.em.params_for(opened.region, &leaves).into_iter();
                let mut inner = frame.fork();
                for (slot, kind) in all.iter().zip(&kinds) {
                    inner.set_origin(*slot, Span::NONE);
                    let v = self.em.instantiate(kind, &mut params);
                    inner.env[slot.index()] = if matches!(kind, Kind::Bottom) { None } else { Some(v) };
                }
                for slot in &fresh {
                    inner.env[slot.index()] = None;
                }
                self.block(&mut inner, body);
                let c = self.expr(&mut inner, cond);
                self.at(cond.span);
                let again = self.truth(&c, "the condition of a loop").unwrap_or(Sc::bool(false));
                let mut outs: Vec<Val> =
                    all.iter().map(|s| inner.env[s.index()].clone().unwrap_or(Val::Bottom)).collect();
                let region = self.em.close(opened);
                let mut stable = true;
                let mut next = Vec::with_capacity(kinds.len());
                for ((kind, out), slot) in kinds.iter().zip(&mut outs).zip(&all) {
                    let found = self.em.visible_kind(out);
                    let joined = match kind.join(&found) {
                        Some(joined) => joined,
                        None => {
                            let name = self.fun(frame.fun).locals[slot.index()].name.clone();
                            let (a, b) = (
                                crate::report::show_kind(self.program, kind),
                                crate::report::show_kind(self.program, &found),
                            );
                            self.at(span);
                            self.error(
                                Code::LoopChangesType,
                                format!(
                                    "`{name}` changes its element type in the loop: {a} before, {b} after one iteration"
                                ),
                                "loop variables keep one element type",
                            );
                            *out = Val::Bottom;
                            kind.clone()
                        }
                    };
                    let joined = if round >= MAX_ROUNDS { joined.widest() } else { joined };
                    stable &= joined == *kind;
                    next.push(joined);
                }
                if stable || round > MAX_ROUNDS + 2 {
                    break 'rounds (region, outs, again);
                }
                // What this iteration reported rests on knowledge that the loop does not keep. Instances made in it may hold
                // errors that have to be found again.
                if self.diagnostics.len() > reported.0 || self.reported.repeated > reported.1.repeated {
                    self.diagnostics.truncate(reported.0);
                    self.reported = reported.1;
                    self.index.retain(|_, i| *i < instances);
                }
                kinds = next;
                self.repeats.again();
            }
            unreachable!("the iterations are bounded")
        };
        self.conditional -= 1;
        self.repeats.end(around);
        self.repeats.keep_fixed_point(key, FixedPoint { before, within: kinds.clone() });
        self.at(span);
        let opened = self.em.reopen(region);
        let mut yields = vec![self.em.value(&again)];
        for (out, kind) in outs.iter().zip(&kinds) {
            self.em.flatten(out, kind, &mut yields);
        }
        self.em.set_yields(region, yields);
        self.em.close(opened);
        for (slot, kind) in fresh.iter().zip(&kinds[carried.len()..]) {
            // Any value will do; the one from before the loop costs nothing.
            let before = frame.env[slot.index()].clone();
            let before = before.filter(|v| kind.join(&self.em.visible_kind(v)).as_ref() == Some(kind));
            let v = before.unwrap_or_else(|| self.zero_of_kind(kind));
            init.push(v);
        }
        let mut start = Vec::new();
        for (v, kind) in init.iter().zip(&kinds) {
            self.em.flatten(v, kind, &mut start);
        }
        let mut leaves = Vec::new();
        kinds.iter().for_each(|k| k.leaves(&mut leaves));
        let mut results = self.em.inst_leaves(Op::Loop { init: start, body: region }, &leaves).into_iter();
        for slot in &parts.assigned {
            frame.env[slot.index()] = None;
        }
        for (slot, kind) in all.iter().zip(&kinds) {
            let v = self.em.instantiate(kind, &mut results);
            frame.env[slot.index()] = Some(v);
            frame.set_origin(*slot, Span::NONE);
        }
    }
}

impl Frame {
    /// A function before its arguments are there.
    pub fn new(fun: FunId, families: Vec<Option<Basic>>, locals: usize) -> Frame {
        Frame { fun, families, env: vec![None; locals], places: Vec::new(), origins: None, flow: None }
    }

    /// A copy for a branch that may assign differently.
    pub fn fork(&self) -> Frame {
        Frame {
            fun: self.fun,
            families: self.families.clone(),
            env: self.env.clone(),
            places: self.places.clone(),
            origins: self.origins.clone(),
            flow: self.flow.clone(),
        }
    }

    /// Remembers where a slot gets its value.
    pub fn set_origin(&mut self, slot: LocalId, span: Span) {
        if let Some(origin) = self.origins.as_mut().and_then(|origins| origins.get_mut(slot.index())) {
            *origin = span;
        }
    }
}
