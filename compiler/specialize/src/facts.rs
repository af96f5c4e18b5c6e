//! What the user's expressions and variables turn out to be, for those who read programs: gathered only if somebody asks.
//!
//! Every elaboration of a function of the user belongs to an *instance*, by the types of its arguments. What is elaborated several times in
//! one instance - iterations of a fixed point, copies of a loop - is joined.

use crate::report::show_kind;
use crate::spec::{Frame, Spec};
use crate::value::{Kind, Val};
use ravel_core::ir::{Expr, ExprKind, FunId, LocalId, StructId};
use ravel_source::Span;
use ravel_types::HashMap;

/// Instances of one function that are told apart; later ones are left out.
const MOST_INSTANCES: usize = 64;

/// A function with the types of its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    pub fun: FunId,
    /// `f(int[3], double)`.
    pub shown: String,
    /// It was found by following the program, not by looking at a function for itself.
    pub is_called: bool,
}

/// What was found, by place and, where it says so, by position in [`Facts::instances`].
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub instances: Vec<Instance>,
    /// Variables where they are read, calls, with-loops and fields.
    pub exprs: HashMap<(Span, u32), Kind>,
    /// Slots: by the statement that assigns one, or the place of its name where a head or a generator brings it.
    pub slots: HashMap<(Span, LocalId, u32), Kind>,
    /// Which functions a call took.
    pub calls: HashMap<Span, Vec<(FunId, u32)>>,
    /// Which records a field is selected from or replaced in, by the whole and the name.
    pub records: HashMap<(Span, String), Vec<StructId>>,
    /// Upper bounds of partitions of comprehensions.
    pub bounds: HashMap<(Span, u32), Kind>,
    by_name: HashMap<(FunId, String), u32>,
    counts: HashMap<FunId, usize>,
    /// Whether functions are looked at for themselves by now.
    pub(crate) on_their_own: bool,
}

impl Facts {
    fn instance(&mut self, fun: FunId, shown: String) -> Option<u32> {
        let is_called = !self.on_their_own;
        if let Some(known) = self.by_name.get(&(fun, shown.clone())) {
            return Some(*known);
        }
        let count = self.counts.entry(fun).or_default();
        if *count == MOST_INSTANCES {
            return None;
        }
        *count += 1;
        let id = self.instances.len() as u32;
        self.by_name.insert((fun, shown.clone()), id);
        self.instances.push(Instance { fun, shown, is_called });
        Some(id)
    }
}

/// What is known at all times: constants, not how forms depend on symbols.
fn join(into: &mut HashMap<(Span, u32), Kind>, key: (Span, u32), kind: Kind) {
    match into.get_mut(&key) {
        Some(known) => {
            if let Some(joined) = known.join(&kind) {
                *known = joined;
            }
        }
        None => drop(into.insert(key, kind)),
    }
}

impl Spec<'_> {
    /// Begins to note what happens in a function of the user; gives back what was noted around it.
    pub fn begin_notes(&mut self, fun: FunId, args: &[Val]) -> Option<u32> {
        let around = self.noting.take();
        if self.facts.is_none() || (self.options.is_library)(self.fun(fun).span.file) {
            return around;
        }
        let types: Vec<String> = args.iter().map(|arg| show_kind(self.program, &self.em.kind_of(arg))).collect();
        let shown = format!("{}({})", self.fun(fun).name, types.join(", "));
        self.noting = self.facts.as_mut().and_then(|facts| facts.instance(fun, shown));
        around
    }

    fn noted_kind(&self, value: &Val) -> Option<Kind> {
        let kind = self.em.kind_of(value).map_forms(&mut |form| form.as_const().is_some().then(|| form.clone()));
        (!kind.has_bottom()).then_some(kind)
    }

    /// The value of an expression that a reader can point at.
    pub fn note_expr(&mut self, frame: &Frame, e: &Expr, value: &Val) {
        let Some(instance) = self.noting else { return };
        let is_written = match &e.kind {
            ExprKind::Local(slot) => {
                let local = self.fun(frame.fun).locals.get(slot.index());
                local.is_some_and(|local| self.options.map.snippet(e.span) == local.name)
            }
            ExprKind::Global(_)
            | ExprKind::Call { .. }
            | ExprKind::Derive(_)
            | ExprKind::With(_)
            | ExprKind::Field { .. } => true,
            _ => false,
        };
        if is_written
            && let Some(kind) = self.noted_kind(value)
            && let Some(facts) = &mut self.facts
        {
            join(&mut facts.exprs, (e.span, instance), kind);
        }
    }

    /// The value that a slot gets, by a statement or at the place of its name.
    pub fn note_slot(&mut self, at: Span, slot: LocalId, value: &Val) {
        let Some(instance) = self.noting else { return };
        let Some(kind) = self.noted_kind(value) else { return };
        let Some(facts) = &mut self.facts else { return };
        match facts.slots.get_mut(&(at, slot, instance)) {
            Some(known) => {
                if let Some(joined) = known.join(&kind) {
                    *known = joined;
                }
            }
            None => drop(facts.slots.insert((at, slot, instance), kind)),
        }
    }

    /// The slots that have values before a body begins.
    pub fn note_head(&mut self, frame: &Frame) {
        if self.noting.is_none() {
            return;
        }
        let locals = &self.fun(frame.fun).locals;
        for (k, value) in frame.env.iter().enumerate() {
            if let Some(value) = value {
                self.note_slot(locals[k].span, LocalId(k as u32), value);
            }
        }
    }

    /// A slot that a generator brings.
    pub fn note_index(&mut self, frame: &Frame, slot: LocalId) {
        if self.noting.is_some()
            && let Some(value) = frame.env[slot.index()].clone()
        {
            self.note_slot(self.fun(frame.fun).locals[slot.index()].span, slot, &value);
        }
    }

    /// Which function a call takes.
    pub fn note_choice(&mut self, call: Span, fun: FunId) {
        if let (Some(instance), Some(facts)) = (self.noting, &mut self.facts) {
            let known = facts.calls.entry(call).or_default();
            if !known.contains(&(fun, instance)) {
                known.push((fun, instance));
            }
        }
    }

    /// The record that a field is one of.
    pub fn note_record(&mut self, whole: Span, field: &str, record: StructId) {
        if let (Some(_), Some(facts)) = (self.noting, &mut self.facts) {
            let known = facts.records.entry((whole, field.to_string())).or_default();
            if !known.contains(&record) {
                known.push(record);
            }
        }
    }

    /// The upper bound of a partition.
    pub fn note_bound(&mut self, partition: Span, bound: &Val) {
        if let Some(instance) = self.noting
            && let Some(kind) = self.noted_kind(bound)
            && let Some(facts) = &mut self.facts
        {
            join(&mut facts.bounds, (partition, instance), kind);
        }
    }
}
