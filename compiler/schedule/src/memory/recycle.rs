//! Loops that make a new array from an old one: the old one's memory serves the next iteration.
//!
//! The outermost loop of a function, or of a chunk of a parallel loop, has a few words on the stack for spare objects (`spare.rs` of the
//! runtime). In the loop an array that dies goes there, and an array that is made takes one of its size from there, so that after the first
//! iterations nothing is allocated: a stencil in time works with two buffers, and an array whose size only the run knows is
//! allocated once. Arrays of constant size that stay in the loop are not concerned; they live in an arena.

use ravel_nest::ir::Access;
use ravel_types::{Elem, HashSet};
use ravel_wir::{Inst, InstData, Op, Region, Value};

use crate::facts::{Facts, Val};
use crate::lower::Lower;
use crate::memory::state::Spares;

/// A loop keeps at most this many spare objects.
const MOST: usize = 8;

/// A loop that brought words of its own, and the words of the loops around it.
pub(crate) struct Opened(Option<Spares>);

impl Facts<'_> {
    /// How many arrays an iteration may make and leave: carried ones, and those whose size is not constant.
    fn repeated_arrays(&self, body: Region) -> usize {
        let func = self.func;
        let carried = func.regions[body].params.iter().filter(|v| self.may_be_spare(**v)).count();
        let mut made = 0;
        ravel_wir::traverse::walk(func, body, &mut |_, inst: Inst| {
            let data = &func.insts[inst];
            let new = matches!(data.op, Op::With(_) | Op::Sel { .. } | Op::Array(_) | Op::Loop { .. });
            made +=
                data.results.iter().filter(|v| new && self.may_be_spare(**v) && !self.has_constant_shape(**v)).count();
        });
        carried + made
    }

    fn may_be_spare(&self, v: Value) -> bool {
        let ty = self.func.ty(v);
        !ty.is_scalar() && ty.rank().is_some() && ty.elem != Elem::Handle
    }

    fn has_constant_shape(&self, v: Value) -> bool {
        self.func.ty(v).shape.constants().is_some()
    }

    /// Does the region at work hand what the instruction at work makes to the next iteration, or out of a branch? The object may
    /// pass through operations that take their operand and give it back, and through with-loops that build their result in it.
    fn is_handed_on(&self) -> bool {
        let Some(scope) = self.scopes.last() else { return false };
        let data = &self.func.regions[scope.region];
        if !self.references.handing.contains(&scope.region) {
            return false;
        }
        let Some(first) = data.insts.get(scope.position) else { return false };
        let mut made: HashSet<Value> = self.func.insts[*first].results.iter().copied().collect();
        for (position, inst) in data.insts.iter().enumerate().skip(scope.position + 1) {
            let InstData { op, results, .. } = &self.func.insts[*inst];
            match op {
                Op::With(with) if self.may_build_in_operands(with) => {
                    let dies = |v: &Value| self.live.last_use(scope.region, *v) == Some(position);
                    let takes = |r: &Value| made.iter().any(|v| dies(v) && self.has_room_for(*v, with, *r));
                    made.extend(results.iter().copied().filter(takes).collect::<Vec<_>>());
                }
                Op::Opaque(a) | Op::Reshape { array: a, .. } | Op::Update { array: a, .. } if made.contains(a) => {
                    made.extend(results);
                }
                Op::Loop { init, .. } => made.extend(
                    init.iter().zip(results).filter(|(i, _)| made.contains(i)).map(|(_, r)| *r).collect::<Vec<_>>(),
                ),
                _ => {}
            }
        }
        data.yields.iter().any(|v| made.contains(v))
    }
}

impl Lower<'_, '_> {
    /// Enters a loop with this body. What it returns is for [`Lower::close_spares`], if there are new words.
    pub fn open_spares(&mut self, body: Region) -> Option<Opened> {
        if self.spares_here().is_some() {
            return None;
        }
        let n = self.repeated_arrays(body).min(MOST);
        if n == 0 {
            return None;
        }
        let slots = self.pointer_slots(n);
        for k in 0..n {
            let null = self.b.null();
            self.b.store(null, slots, self.cx.target.pointer_offset(k), Access::ALIGNED);
        }
        let in_chunk = self.site.in_parfor();
        Some(Opened(self.memory.spares.replace(Spares { slots, n: n as i64, in_chunk })))
    }

    /// The words that the code at work may use.
    fn spares_here(&self) -> Option<Spares> {
        self.memory.spares.filter(|spares| spares.in_chunk == self.site.in_parfor())
    }

    /// Leaves the loop.
    pub fn close_spares(&mut self, opened: Option<Opened>) {
        let Some(Opened(outer)) = opened else { return };
        if let Some(Spares { slots, n, .. }) = std::mem::replace(&mut self.memory.spares, outer) {
            let n = self.b.i64(n);
            self.helper("ravel_spare_drop", &[slots, n], None);
        }
    }

    /// Gives up the reference of a value that dies.
    pub fn release(&mut self, v: Value, object: Val) {
        match self.spares_here() {
            Some(spares)
                if self.may_be_spare(v)
                    && (!self.has_constant_shape(v)
                        || self.facts.references.carried.contains(&v)
                        || self.is_view(v)) =>
            {
                let n = self.b.i64(spares.n);
                self.helper("ravel_spare_keep", &[object, spares.slots, n], None);
            }
            _ => self.b.rc_dec(object),
        }
    }

    /// The words that an allocation for the instruction at work takes its memory from, if any.
    pub fn spares_for(&self, elem: Elem, constant: bool) -> Option<Spares> {
        let spares = self.spares_here().filter(|_| elem != Elem::Handle)?;
        (!constant || self.is_handed_on()).then_some(spares)
    }

    /// [`Lower::allocate`] from spare objects.
    pub fn allocate_spare(&mut self, spares: Spares, [tag, rank, shape]: [Val; 3], position: Val) -> Val {
        let n = self.b.i64(spares.n);
        self.helper_ptr("ravel_spare_alloc", &[tag, rank, shape, spares.slots, n, position])
    }
}
