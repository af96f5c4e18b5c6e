//! What is known of a function while it is lowered, and what follows from it. Nothing here emits code.

pub mod cost;
pub mod coverage;
pub mod divergent;
pub mod gathers;
pub mod grid;
pub mod guards;
pub mod index;
pub mod interleaved_cells;
pub mod layout;
pub mod liveness;
pub mod ownership;
pub mod pattern;
pub mod refusal;
pub mod sink;
pub mod step_alignment;
pub mod strided_lanes;
pub mod uniform_loops;
pub mod vector_forms;
pub mod vectorizable;
pub mod widths;

pub(crate) use cost::{LONG_CHAIN, UNKNOWN_EXTENT};
pub(crate) use grid::{Active, Cell, Dep, Grid, Jam, Panel, Shift};
pub(crate) use guards::{Guard, Measures};
pub(crate) use index::{Ext, Form, Offset, Term};
pub(crate) use layout::prim_of;
pub(crate) use liveness::Liveness;
pub(crate) use refusal::Refusal;
pub(crate) use sink::{Accumulate, Chunk, Dest, FromFirst, Index, Reused, Sink};
pub(crate) use step_alignment::Walk;
pub(crate) use strided_lanes::Comb;
pub(crate) use vectorizable::folds_along;

use cranelift_entity::SecondaryMap;
use ravel_nest::ir as nest;
use ravel_types::{Elem, HashMap};
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Inst, Op, Region, Value};

use crate::facts::ownership::{References, Scope};
use crate::{Capabilities, Options};

/// A value of the generated code.
pub(crate) type Val = nest::Value;

/// Does some operation of a region, or of those nested in it, meet a condition?
pub(crate) fn any_op(func: &Func, region: Region, test: impl Fn(&Op) -> bool) -> bool {
    let mut found = false;
    walk(func, region, &mut |_, inst| found |= test(&func.insts[inst].op));
    found
}

/// What is known of one function at a point of its code.
pub(crate) struct Facts<'m> {
    pub func: &'m Func,
    pub target: &'m Capabilities,
    pub options: &'m Options<'m>,
    pub live: Liveness,
    pub bound: Bound,
    /// Proven bounds of index scalars, both inclusive.
    pub range: SecondaryMap<Value, Option<(i64, i64)>>,
    /// The lower bound of an index scalar.
    pub lower_of: SecondaryMap<Value, Option<Value>>,
    /// The upper bound that an index scalar stays below.
    pub upper_of: SecondaryMap<Value, Option<Value>>,
    /// The value that the only index of a range `v <= i < v + 1` has.
    pub alias: SecondaryMap<Value, Option<Value>>,
    /// Indices of unrolled loops.
    pub fixed: SecondaryMap<Value, Option<i64>>,
    /// The loops that carry values, by the parameters of their bodies.
    pub carriers: HashMap<Value, Inst>,
    /// Extents of values that are another array's object ([`crate::lower::views`]).
    pub views: HashMap<Value, Vec<Ext>>,
    /// The regions that are open, outermost first.
    pub scopes: Vec<Scope>,
    pub references: References,
    /// Values that are built in a place instead of in an object of their own.
    pub dests: HashMap<Value, Dest>,
    /// Updates whose with-loop has made them: the object, or nothing if another one follows ([`crate::plan::rows_in_place`]).
    pub made_updates: HashMap<Inst, Option<Val>>,
    pub site: Site,
}

/// Which values have been computed.
#[derive(Default)]
pub(crate) struct Bound {
    pub vals: SecondaryMap<Value, Option<Val>>,
    /// `i32` scalars in 64 bits.
    pub wide: SecondaryMap<Value, Option<Val>>,
    /// Number of scopes open when the value was bound.
    pub level: SecondaryMap<Value, u32>,
}

/// The place in the program that code is made for, as far as schedules depend on it.
#[derive(Default)]
pub(crate) struct Site {
    /// Inside a loop whose iterations already run on threads, or in one that must not.
    pub sequential: u32,
    /// In a with-loop whose cells read elements of the array that it changes before those behind them replace these.
    pub ascending: bool,
    /// In code for the case that tiles do not pay.
    pub without_tiles: bool,
    /// Parallel loops around the code.
    pub parfors: usize,
    /// With-loops and loops around the code, where a profile wants to know.
    pub profiled_withs: u32,
    pub profiled_loops: u32,
    /// The code is the work of a device.
    pub in_launch: bool,
    /// Inside a launch whose checks were all made before.
    pub checked_before: bool,
}

impl Site {
    /// Is the code run by the threads that share a loop?
    pub fn in_parfor(&self) -> bool {
        self.parfors > 0
    }
}

impl<'m> Facts<'m> {
    /// What is known before anything is lowered.
    pub fn of(func: &'m Func, target: &'m Capabilities, options: &'m Options<'m>) -> Facts<'m> {
        Facts {
            func,
            target,
            options,
            live: Liveness::of(func),
            bound: Bound::default(),
            range: SecondaryMap::new(),
            lower_of: SecondaryMap::new(),
            upper_of: SecondaryMap::new(),
            alias: SecondaryMap::new(),
            fixed: SecondaryMap::new(),
            carriers: crate::facts::divergent::carriers(func),
            views: HashMap::default(),
            scopes: Vec::new(),
            references: References {
                borrowing: crate::facts::ownership::borrowing_regions(func),
                ..References::default()
            },
            dests: HashMap::default(),
            made_updates: HashMap::default(),
            site: Site::default(),
        }
    }

    pub fn has_val(&self, v: Value) -> bool {
        self.bound.vals[v].is_some()
    }

    /// Is the value computed already, at this point of the code?
    pub fn is_bound(&self, v: Value) -> bool {
        self.bound.vals[v].is_some() || self.bound.wide[v].is_some()
    }

    pub fn level_of(&self, v: Value) -> u32 {
        self.bound.level[v]
    }

    /// The value of a constant `i32` scalar.
    pub fn const_i32(&self, v: Value) -> Option<i64> {
        if self.fixed[v].is_some() {
            return self.fixed[v];
        }
        match &self.func.insts[self.live.def(v)?].op {
            Op::Const(scalar) => scalar.as_i64(),
            _ => None,
        }
    }

    /// Element type of a value.
    pub fn elem(&self, v: Value) -> Elem {
        self.func.ty(v).elem
    }
}
