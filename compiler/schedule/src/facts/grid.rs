//! A body evaluated for many indices at once: copies along a vector axis and along jam axes, and what each value varies over.

use ravel_types::HashSet;
use ravel_wir::{Inst, Op, Value};
use rustc_hash::FxHashMap;

use crate::facts::step_alignment::Walk;
use crate::facts::strided_lanes::Comb;
use crate::facts::{Facts, Val};

/// What a value varies over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dep {
    pub vec: bool,
    /// One bit per jam axis of the grid.
    pub jams: u32,
}

impl Dep {
    pub fn or(self, other: Dep) -> Dep {
        Dep { vec: self.vec || other.vec, jams: self.jams | other.jams }
    }
}

/// An axis with several copies per step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jam {
    pub index: Value,
    pub copies: usize,
    pub walk: Walk,
}

impl Jam {
    /// Some copies of an axis of whose steps nothing is known.
    pub fn of(index: Value, copies: usize) -> Jam {
        Jam { index, copies, walk: Walk::ANY }
    }
}

/// One copy of a value.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    /// The same for all lanes.
    One(Val),
    /// One vector; booleans are masks.
    Packed(Val),
    /// One scalar per lane.
    Split(Vec<Val>),
}

/// Where the copies of a value that was computed before are to be loaded from.
#[derive(Clone, Copy)]
pub(crate) struct Panel {
    pub ptr: Val,
    /// Bytes to the first copy; the others follow.
    pub offset: i32,
    /// Lanes that hold each copy.
    pub spread: u8,
}

/// The copies of a kernel's body.
#[derive(Clone, Default)]
pub(crate) struct Grid {
    /// Index along the vector axis, if there is one at this point.
    pub vec: Option<Value>,
    /// Indices per vector; 1 in scalar remainders.
    pub lanes: u8,
    /// Vectors along the vector axis.
    pub u: usize,
    /// First indices along the vector axis.
    pub walk: Walk,
    /// How far the last vector begins from the first index, if not where the one before ends: it overlaps that one.
    pub last: Option<usize>,
    /// Jam axes, outermost first; the last one varies fastest over the numbers of copies.
    pub jams: Vec<Jam>,
    /// Width of packed elements.
    pub bytes: usize,
    /// Vectors per step along the last axis of folds, where lanes run along that axis; 0 otherwise.
    pub fold_u: usize,
    /// Lanes of a vector when lanes run along folds.
    pub fold_lanes: u8,
    /// How the fold of the body is computed with accumulators at shifted places, if it is.
    pub shift: Option<crate::facts::grid::Shift>,
    /// Whether results are too large for any cache ([`crate::memory::nontemporal`]).
    pub streams: bool,
    /// How many vectors of a step may be stored past the caches.
    pub streamed: usize,
    /// Whether vectors in memory begin at multiples of their size.
    pub aligned: bool,
    /// Copies of the code at hand that unrolled folds around it make.
    pub unrolled: i64,
    /// Which indices along the vector axis belong to the partition, if not all do.
    pub comb: Option<Comb>,
    /// Selections that lanes which do not take part must not make.
    pub masked: HashSet<Inst>,
    /// For each vector, the lanes that take part; empty if all do.
    pub masks: Vec<Vec<bool>>,
    /// Values that are packed in memory.
    pub panels: FxHashMap<Value, Panel>,
    pub memo: FxHashMap<(Value, usize, usize), Cell>,
    pub splats: FxHashMap<(Value, usize, usize), Val>,
    /// Values at the first lane of the first copy, in 64 bits.
    pub uniforms: FxHashMap<Value, Val>,
    /// Vectors loaded from a number of elements with these offsets from an address.
    pub loads: FxHashMap<(Val, i32, Vec<i64>), Val>,
    /// Lanes of indices in 64 bits.
    pub wide_lanes: FxHashMap<(Value, usize, usize, usize), Val>,
    pub deps: FxHashMap<Value, Dep>,
    /// The lanes that take part in the code at hand, inside divergent loops and branches; nothing if all do.
    pub active: Option<crate::facts::grid::Active>,
}

/// Computed copies to go back to when a loop ends.
pub(crate) struct Mark {
    memo: FxHashMap<(Value, usize, usize), Cell>,
    splats: FxHashMap<(Value, usize, usize), Val>,
    uniforms: FxHashMap<Value, Val>,
    loads: FxHashMap<(Val, i32, Vec<i64>), Val>,
    wide_lanes: FxHashMap<(Value, usize, usize, usize), Val>,
}

impl Grid {
    /// One copy with one lane.
    pub fn scalar(bytes: usize) -> Grid {
        Grid { lanes: 1, u: 1, bytes, unrolled: 1, streamed: usize::MAX, ..Grid::default() }
    }

    /// Copies along all jam axes together.
    pub fn j(&self) -> usize {
        self.jams.iter().map(|jam| jam.copies).product()
    }

    /// Where copy `j` is along a jam axis.
    pub fn digit(&self, axis: usize, j: usize) -> usize {
        let inner: usize = self.jams[axis + 1..].iter().map(|jam| jam.copies).product();
        j / inner % self.jams[axis].copies
    }

    /// The copy that computes, for copy `(j, u)`, what varies like `dep`.
    pub fn shared(&self, dep: Dep, j: usize, u: usize) -> (usize, usize) {
        let mut inner = 1;
        let mut shared = 0;
        for (axis, jam) in self.jams.iter().enumerate().rev() {
            if dep.jams >> axis & 1 == 1 {
                shared += j / inner % jam.copies * inner;
            }
            inner *= jam.copies;
        }
        (shared, if dep.vec { u } else { 0 })
    }

    /// Copies along the jam axes that a value varies over.
    pub fn jam_copies(&self, dep: Dep) -> Vec<usize> {
        (0..self.j()).filter(|&j| self.shared(dep, j, 0).0 == j).collect()
    }

    pub fn mark(&self) -> Mark {
        Mark {
            memo: self.memo.clone(),
            splats: self.splats.clone(),
            uniforms: self.uniforms.clone(),
            loads: self.loads.clone(),
            wide_lanes: self.wide_lanes.clone(),
        }
    }

    pub fn release(&mut self, mark: Mark) {
        self.memo = mark.memo;
        self.splats = mark.splats;
        self.uniforms = mark.uniforms;
        self.loads = mark.loads;
        self.wide_lanes = mark.wide_lanes;
    }

    /// Changes the vector axis.
    pub fn set_vec(&mut self, vec: Option<Value>, lanes: u8, u: usize) {
        if self.vec != vec {
            self.deps.clear();
        }
        (self.vec, self.lanes, self.u, self.walk, self.last) = (vec, lanes, u, Walk::ANY, None);
        self.streamed = usize::MAX;
    }

    /// How far the indices of a vector begin from the first one.
    pub fn start_of(&self, u: usize) -> usize {
        self.last.filter(|_| u + 1 == self.u).unwrap_or(u * usize::from(self.lanes))
    }

    /// Adds a jam axis inside of those there are.
    pub fn push_jam(&mut self, jam: Jam) {
        self.jams.push(jam);
        self.deps.clear();
    }

    /// Removes the innermost jam axis.
    pub fn pop_jam(&mut self) {
        self.jams.pop();
        self.deps.clear();
    }

    pub fn remember(&mut self, v: Value, j: usize, u: usize, cell: Cell) {
        self.memo.insert((v, j, u), cell);
    }
}

impl Facts<'_> {
    /// What a value of a kernel's body varies over.
    pub fn dep(&self, g: &mut Grid, v: Value) -> Dep {
        if g.vec == Some(v) {
            return Dep { vec: true, jams: 0 };
        }
        if let Some(axis) = g.jams.iter().position(|jam| jam.index == v) {
            return Dep { vec: false, jams: 1 << axis };
        }
        if let Some(same) = self.alias[v].filter(|_| !self.is_bound(v)) {
            return self.dep(g, same);
        }
        if self.is_bound(v) {
            return Dep::default();
        }
        if let Some(dep) = g.deps.get(&v) {
            return *dep;
        }
        if let Some(inst) = self.loop_of(v) {
            return self.loop_dep(g, inst, v);
        }
        let Some(inst) = self.live.def(v) else { return Dep::default() };
        let mut dep = Dep::default();
        match &self.func.insts[inst].op {
            Op::Sel { index, .. } => {
                for &i in index {
                    dep = dep.or(self.index_dep(g, i));
                }
            }
            op => {
                let mut operands = Vec::new();
                op.for_each_operand(|v| operands.push(v));
                for region in op.regions() {
                    operands.extend(self.live.free(region).iter().copied());
                }
                for v in operands {
                    dep = dep.or(self.dep(g, v));
                }
            }
        }
        g.deps.insert(v, dep);
        dep
    }

    /// What an index expression varies over, after its terms cancel.
    pub fn index_dep(&self, g: &mut Grid, i: Value) -> Dep {
        self.form(i).terms.iter().fold(Dep::default(), |dep, (v, _)| {
            let of = self.dep(g, *v);
            dep.or(of)
        })
    }

    /// Is this copy a vector (and not a scalar remainder)?
    pub fn is_vector(&self, g: &mut Grid, v: Value) -> bool {
        g.lanes > 1 && self.dep(g, v).vec
    }
}

/// The lanes that take part, for each copy they differ over: masks, or `i8` truth values where all lanes of a copy agree.
#[derive(Clone)]
pub(crate) struct Active {
    pub dep: Dep,
    /// Jam copies outermost.
    pub copies: Vec<Val>,
}

/// How a fold over `t` is computed with lanes along `p`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shift {
    /// The factor that does not vary over the lanes.
    pub weight: Value,
    /// `d`, a load.
    pub data: Value,
    /// Vectors of `d`.
    pub loads: usize,
    /// Indices `t`, from 0.
    pub taps: i64,
    pub stride: i64,
    /// Where accumulators begin in the row; ascending.
    pub places: Vec<i64>,
    /// Vectors of the row.
    pub vectors: usize,
    /// Where the last of them begins in the row, if not where the one before ends: it overlaps that one.
    pub last: Option<usize>,
}

impl Shift {
    /// Where a vector of the row begins in it.
    pub fn start(&self, vector: usize, lanes: i64) -> i64 {
        match self.last {
            Some(last) if vector + 1 == self.vectors => last as i64,
            _ => vector as i64 * lanes,
        }
    }

    pub fn place(&self, load: usize, tap: i64, lanes: i64) -> Option<usize> {
        self.places.binary_search(&(load as i64 * lanes + tap * self.stride)).ok()
    }
}
