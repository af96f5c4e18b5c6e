//! Lowering of one function: its state, the values at hand and the regions that are open.

pub mod arrays;
pub mod block_sums;
pub mod context;
pub mod coverage;
pub mod dynamic;
pub mod dynamic_shapes;
pub mod emit;
pub mod faults;
pub mod fold;
pub mod function;
pub mod index;
pub mod int_division;
pub mod interleaved_cells;
pub mod listing;
pub mod module;
pub mod natives;
pub mod partition;
pub mod peel_first;
pub mod profile;
pub mod regions;
pub mod scalars;
pub mod slices;
pub mod views;
pub mod withloop;

use std::ops::Deref;

use ravel_nest::builder::FuncBuilder;
use ravel_nest::ir::{ConvOp, Prim, Shared};
use ravel_source::Span;
use ravel_wir::{Region, Value};

use crate::device::state::DeviceState;
use crate::facts::ownership::Scope;
use crate::facts::{Facts, Val};
use crate::kernel::state::KernelState;
use crate::lower::context::ModuleCx;
use crate::lower::emit::{Emit, Key};
use crate::math::Arith;
use crate::memory::state::MemoryState;
use crate::threads::state::ThreadState;
use crate::{Result, Unsupported};

/// One function being lowered.
pub(crate) struct Lower<'m, 'a> {
    pub cx: &'m mut ModuleCx<'a>,
    /// What is known of the function at this point of the code. Reading goes through [`Deref`].
    pub facts: Facts<'m>,
    /// The code under construction.
    pub b: FuncBuilder,
    pub emit: Emit,
    pub memory: MemoryState,
    pub kernel: KernelState,
    pub device: DeviceState,
    pub threads: ThreadState,
}

impl<'m> Deref for Lower<'m, '_> {
    type Target = Facts<'m>;

    fn deref(&self) -> &Facts<'m> {
        &self.facts
    }
}

impl Facts<'_> {
    pub fn arith(&self) -> Arith {
        Arith { fma: self.target.has_fma }
    }

    pub fn unsupported<T>(&self, span: Span, what: impl Into<String>) -> Result<T> {
        Err(Unsupported { span, what: what.into() })
    }

    /// For each value that a region yielded: whether nobody else has a reference.
    fn fresh_yields(&self, region: Region) -> Vec<bool> {
        self.func.regions[region].yields.iter().map(|v| self.references.fresh.contains(v)).collect()
    }
}

impl<'m, 'a> Lower<'m, 'a> {
    // Scopes and values.

    /// Enters a region: nothing is owned yet.
    pub fn open(&mut self, region: Region) {
        self.emit.outside.push(self.emit.cache.clone());
        self.facts.scopes.push(Scope::new(region));
    }

    /// Leaves a region: its values are forgotten.
    pub fn close(&mut self) {
        let scope = self.facts.scopes.pop().expect("open and close are paired");
        self.forget(&scope.bound);
        self.emit.cache = self.emit.outside.pop().expect("open and close are paired");
    }

    // Parallel loops and launches, of which facts know.

    pub fn begin_parfor(
        &mut self,
        n: Val,
        chunk: Val,
        late: Option<Val>,
        shared: Option<Box<Shared>>,
    ) -> (Val, Val, Val) {
        self.facts.site.parfors += 1;
        self.b.begin_shared_parfor(n, chunk, late, shared)
    }

    pub fn end_parfor(&mut self) {
        self.facts.site.parfors -= 1;
        self.b.end_parfor();
    }

    pub fn begin_groups(&mut self, grid: &[Val], local: &[u32]) -> Vec<Val> {
        self.facts.site.in_launch = true;
        self.b.begin_groups(grid, local)
    }

    pub fn end_launch(&mut self) {
        self.b.end_launch();
        self.facts.site.in_launch = false;
    }

    fn note_bound(&mut self, v: Value) {
        self.emit.cache.remove(&Key::Narrow(v));
        self.emit.cache.remove(&Key::Wide(v));
        self.facts.bound.level[v] = self.facts.scopes.len() as u32;
        self.facts.scopes.last_mut().expect("values are bound inside a region").bound.push(v);
    }

    pub fn bind(&mut self, v: Value, val: Val) {
        self.facts.bound.vals[v] = Some(val);
        self.facts.bound.wide[v] = None;
        self.note_bound(v);
    }

    /// Has a bound value stand for another machine value from now on; returns the one before.
    pub fn replace(&mut self, v: Value, val: Val) -> Val {
        let before = self.val(v);
        self.facts.bound.vals[v] = Some(val);
        before
    }

    /// Binds an `i32` scalar whose value is at hand in 64 bits.
    pub fn bind_wide(&mut self, v: Value, val: Val, range: (i64, i64)) {
        self.facts.bound.wide[v] = Some(val);
        self.facts.bound.vals[v] = None;
        self.facts.range[v] = Some(range);
        self.note_bound(v);
    }

    /// Binds the index of an unrolled loop.
    pub fn bind_fixed(&mut self, v: Value, index: i64) {
        self.facts.fixed[v] = Some(index);
        let val = self.b.i64(index);
        self.bind_wide(v, val, (index, index));
    }

    /// The unrolled loop is over.
    pub fn unfix(&mut self, v: Value) {
        self.facts.fixed[v] = None;
    }

    /// These values are not computed after all.
    pub fn forget(&mut self, values: &[Value]) {
        for &v in values {
            self.facts.bound.vals[v] = None;
            self.facts.bound.wide[v] = None;
        }
    }

    /// The machine value of a WIR value.
    pub fn val(&mut self, v: Value) -> Val {
        if let Some(val) = self.facts.bound.vals[v] {
            return val;
        }
        let wide =
            self.facts.bound.wide[v].expect("values are used after their definition and outside of destinations");
        self.cached(Key::Narrow(v), |lower| lower.b.convert(ConvOp::Narrow, wide, Prim::I32))
    }

    /// The value of an `i32` scalar in 64 bits.
    pub fn wide(&mut self, v: Value) -> Val {
        if let Some(wide) = self.facts.bound.wide[v] {
            return wide;
        }
        if let Some(k) = self.const_i32(v) {
            return self.b.i64(k);
        }
        let val = self.val(v);
        self.cached(Key::Wide(v), |lower| lower.b.convert(ConvOp::SExt, val, Prim::I64))
    }

    /// Computes a value once per scope.
    pub fn cached(&mut self, key: Key, make: impl FnOnce(&mut Self) -> Val) -> Val {
        if let Some(&val) = self.emit.cache.get(&key) {
            return val;
        }
        let val = make(self);
        self.emit.cache.insert(key, val);
        val
    }
}
