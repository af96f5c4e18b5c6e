//! Ownership of objects: who holds a reference, when one is added and when it is given up.
//!
//! Each region under construction has a [`Scope`] with the set of values that it *owns*, that is, for which it holds one reference.
//! - A function owns its object parameters, a loop body its carried parameters, a fold function its accumulator and cell. A branch of an
//!   `if` owns what the region around owns and does not use afterwards. Everything else that a region captures is
//!   borrowed: some region around it keeps the object alive.
//! - Every instruction yields owned objects. An object that is never used is dropped at once.
//! - Operations that keep or return an operand *take* it: at the last use of an owned value the reference moves, otherwise it is
//!   counted once more. Operations that only read leave ownership alone; if that was the last use, the object is dropped
//!   after the instruction.
//! - What a region yields is taken too, so that nothing owned is left at its end.
//!
//! An owned reference with a count of one is the only reference, because borrowers never outlive the owner: such an object may
//! be updated in place. Static objects have a huge count and are copied instead. Whether the count is one is asked at run time
//! unless it is known: `fresh` values were made in this function and nobody else was given a reference.
//!
//! # Threads
//! Bodies of parallel loops, and the functions that they reach, run on several threads at once. They count atomically. Such a function is lowered
//! a second time for them ([`crate::lower::context::Callers`]), and is lent what it only reads ([`crate::memory::lending`]), as a body borrows what it captures.
//!
//! No other thread can raise a count that is one when its owner asks. To add a reference a thread must own one or borrow from an owner. The asking
//! code owns the only one. Whoever borrows from it is in a region nested there, or in a function called from one: on this thread these have
//! ended, and so have the chunks of parallel loops on others, since a loop ends when all its chunks have. What a body borrows from around its
//! loop, or a function from its caller, has a count of two or more once the body or function owns a reference of its own, because the owner
//! around it waits and keeps its own; such a count moves while others count, but never to one. So it is for arrays inside arrays of
//! handles: the array that holds them owns a reference each.

pub mod append;
pub mod arena;
pub mod arena_flow;
pub mod arena_rewrite;
#[cfg(test)]
#[path = "../../tests/unit/arena.rs"]
mod arena_tests;
pub mod borrowed;
pub mod certify;
pub mod in_place;
pub mod lending;
pub mod loop_unique;
pub mod nontemporal;
pub mod recycle;
pub mod reuse;
pub mod rows_in_place;
pub mod state;

use std::collections::{BTreeMap, BTreeSet};

use ravel_nest::ir::Ty;
use ravel_types::HashSet;
use ravel_wir::{Combine, Inst, Op, Value, WithOp};

use crate::facts::ownership::Scope;
use crate::facts::{Val, layout};
use crate::lower::Lower;
use crate::lower::emit::Cache;

/// What is owned and known at a point of a region.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub cache: Cache,
    owned: BTreeSet<Value>,
    pending: BTreeMap<Value, u32>,
    fresh: HashSet<Value>,
}

impl Lower<'_, '_> {
    fn scope(&mut self) -> &mut Scope {
        self.facts.scopes.last_mut().expect("code is built inside a region")
    }

    /// The current region holds a reference of `v` from now on.
    pub fn own(&mut self, v: Value) {
        if self.is_object(v) {
            self.scope().owned.insert(v);
        }
    }

    /// Drops owned values that the region never uses; call it once the parameters are bound.
    pub fn drop_unused(&mut self) {
        let region = self.scope().region;
        let owned: Vec<Value> = self.scope().owned.iter().copied().collect();
        for v in owned {
            if self.live.last_use(region, v).is_none() {
                self.drop_owned(v);
            }
        }
    }

    fn drop_owned(&mut self, v: Value) {
        if self.scope().owned.remove(&v) {
            let object = self.val(v);
            self.release(v, object);
        }
    }

    /// Notes which operands the instruction at `position` names.
    pub fn start_inst(&mut self, position: usize, inst: Inst) {
        let mut pending = BTreeMap::new();
        let op = &self.func.insts[inst].op;
        op.for_each_operand(|v| *pending.entry(v).or_insert(0) += 1);
        for nested in op.regions() {
            for &v in self.live.free(nested) {
                *pending.entry(v).or_insert(0) += 1;
            }
        }
        let scope = self.scope();
        scope.position = position;
        scope.pending = pending;
    }

    /// Drops operands that died with the instruction and results that nobody uses; owns the other results.
    pub fn end_inst(&mut self, inst: Inst) {
        let (region, position) = (self.scope().region, self.scope().position);
        let operands: Vec<Value> = std::mem::take(&mut self.scope().pending).into_keys().collect();
        for v in operands {
            if self.scope().owned.contains(&v) && self.live.last_use(region, v) == Some(position) {
                self.drop_owned(v);
            }
        }
        self.note_fresh(inst);
        for &v in &self.func.insts[inst].results.clone() {
            if self.is_object(v) && self.has_val(v) && !self.facts.references.borrowed.contains(&v) {
                self.own(v);
                if self.live.last_use(region, v).is_none() {
                    self.drop_owned(v);
                }
            }
        }
    }

    /// Notes which values the region yields.
    pub fn start_yields(&mut self) {
        let region = self.scope().region;
        let data = &self.func.regions[region];
        let mut pending = BTreeMap::new();
        for &v in &data.yields {
            *pending.entry(v).or_insert(0) += 1;
        }
        let position = data.insts.len();
        let scope = self.scope();
        scope.position = position;
        scope.pending = pending;
    }

    /// The value of an operand with one reference that now belongs to the caller. Scalars are passed through.
    pub fn take(&mut self, v: Value) -> Val {
        let object = self.val(v);
        if !self.is_object(v) {
            return object;
        }
        if self.is_last_use(v) {
            self.scope().owned.remove(&v);
            return object;
        }
        let yields = self.scope().position == self.func.regions[self.scope().region].insts.len();
        if yields && let Some(pending) = self.scope().pending.get_mut(&v) {
            // Yields are taken one after the other: the last one of several moves.
            *pending -= 1;
        }
        self.facts.references.fresh.remove(&v);
        self.b.rc_inc(object);
        object
    }

    /// [`Lower::take`] for a region that borrows the value: what it yields is borrowed around it, too.
    pub fn hand_on(&mut self, v: Value) -> Val {
        debug_assert!(self.is_borrowed(v), "{v} is owned where it is handed on");
        // It has a second name from now on, by which somebody may be given a reference.
        self.facts.references.fresh.remove(&v);
        self.val(v)
    }

    /// [`Lower::take`] for a writer: the result is the only reference.
    pub fn take_unique(&mut self, v: Value) -> Val {
        if !self.is_last_use(v) {
            // Somebody holds it beside the writer, who needs no reference to copy it.
            let object = self.val(v);
            return self.copy(object);
        }
        let sole = self.facts.references.fresh.contains(&v);
        let object = self.take(v);
        if sole { object } else { self.make_unique(object) }
    }

    fn copy(&mut self, object: Val) -> Val {
        let position = self.present_place();
        let copy = self.cx.runtime("ravel_copy", &[Ty::PTR, Ty::PTR], Some(Ty::PTR));
        self.b.call_extern(copy, &[object, position], Some(Ty::PTR)).expect("ravel_copy returns the copy")
    }

    /// The object of an owned value; the caller has the reference from now on, and the value can still be read.
    pub fn hand_over(&mut self, v: Value) -> Val {
        self.scope().owned.remove(&v);
        self.val(v)
    }

    /// Notes what is known of the results of an instruction, and forgets what it might have shared.
    fn note_fresh(&mut self, inst: Inst) {
        let func = self.func;
        let data = &func.insts[inst];
        match &data.op {
            Op::With(with) => {
                for (op, &v) in with.ops.iter().zip(&data.results) {
                    let new = match op {
                        WithOp::Genarray { .. } | WithOp::Modarray { .. } => true,
                        WithOp::Fold { combine, .. } => matches!(combine, Combine::Op(_)),
                    };
                    if new && self.is_object(v) && !func.ty(v).is_scalar() {
                        self.facts.references.fresh.insert(v);
                    }
                }
            }
            Op::Array(_) | Op::Update { .. } | Op::Sel { .. } => {
                self.facts.references.fresh.extend(data.results.iter().copied().filter(|v| !func.ty(*v).is_scalar()));
            }
            Op::Bin(..) | Op::Un(..) | Op::Convert(_) | Op::Extent { .. } | Op::Check { .. } | Op::Const(_) => {}
            // What is handed out may be kept.
            op => op.for_each_operand(|v| {
                self.facts.references.fresh.remove(&v);
            }),
        }
    }

    /// Memory of `bytes` bytes, aligned to 64, for the region at hand and everything in it: undefined at first, the same in every
    /// iteration of a loop around it, and one for each chunk of a parallel loop that runs. Nothing is allocated where it stands: it becomes a
    /// part of the arena of the function or chunk.
    pub fn scratch(&mut self, bytes: i64) -> Val {
        let bytes = u32::try_from(bytes).expect("scratch memory is bounded by its users");
        self.b.stack_slot(bytes, layout::DATA_ALIGN as u32)
    }

    /// Drops what the region still owns at its end: cells that were only read.
    pub fn drop_rest(&mut self) {
        let owned: Vec<Value> = self.scope().owned.iter().copied().collect();
        for v in owned {
            self.drop_owned(v);
        }
    }

    /// The owned values that die at the instruction at work: its branches take them over.
    pub fn dying(&mut self) -> Vec<Value> {
        let (region, position) = (self.scope().region, self.scope().position);
        let owned: Vec<Value> = self.scope().owned.iter().copied().collect();
        owned.into_iter().filter(|v| self.live.last_use(region, *v) == Some(position)).collect()
    }

    /// What is owned and known at this point, to go back to for another version of the same instruction.
    pub fn snapshot(&self) -> Snapshot {
        let scope = self.facts.scopes.last().expect("code is built inside a region");
        Snapshot {
            cache: self.emit.cache.clone(),
            owned: scope.owned.clone(),
            pending: scope.pending.clone(),
            fresh: self.facts.references.fresh.clone(),
        }
    }

    pub fn restore(&mut self, snapshot: Snapshot) {
        self.emit.cache = snapshot.cache;
        self.facts.references.fresh = snapshot.fresh;
        let scope = self.scope();
        (scope.owned, scope.pending) = (snapshot.owned, snapshot.pending);
    }

    /// Drops what the region owns beyond what it owned in a snapshot.
    pub fn drop_beyond(&mut self, snapshot: &Snapshot) {
        let owned: Vec<Value> = self.scope().owned.difference(&snapshot.owned).copied().collect();
        for v in owned {
            self.drop_owned(v);
        }
    }

    /// [`Lower::end_inst`], but operands that died with the instruction are still there: the caller has their references from now on.
    pub fn end_inst_holding(&mut self, inst: Inst, held: &mut Vec<(Value, Val)>) {
        let dying = self.dying();
        self.disown(&dying);
        for v in dying {
            held.push((v, self.val(v)));
        }
        self.end_inst(inst);
    }

    /// The current region owns these no longer: branches took them.
    pub fn disown(&mut self, values: &[Value]) {
        for v in values {
            self.scope().owned.remove(v);
        }
    }

    /// An array with the same content that may be written: the object itself if the owned reference is the only one, else a copy. The caller has
    /// taken the reference, so that a count of one stays one (see above, *Threads*).
    pub fn make_unique(&mut self, object: Val) -> Val {
        let unique = self.b.rc_unique(object);
        self.b.begin_if(unique);
        self.b.begin_else(&[object]);
        let copied = self.copy(object);
        self.b.rc_dec(object);
        self.b.end_if(&[copied])[0]
    }

    /// The same as [`Self::make_unique`], for elements that the host is going to change.
    pub fn make_unique_for_host(&mut self, object: Val) -> Val {
        let object = self.make_unique(object);
        self.host_writes(object);
        object
    }

    /// The same as [`Self::take_unique`], for elements that the host is going to change.
    pub fn take_unique_for_host(&mut self, v: Value) -> Val {
        let object = self.take_unique(v);
        self.host_writes(object);
        object
    }
}
