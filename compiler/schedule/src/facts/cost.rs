//! Estimated cycles of bodies. Only ratios matter: between schedules of one body, and to the cost of waking threads.

use ravel_types::{BinOp, Elem, HashSet, UnOp};
use ravel_wir::traverse::walk;
use ravel_wir::{Generator, InstData, Op, Part, Region, Value, With};

use crate::facts::Facts;
use crate::facts::grid::Grid;
use crate::facts::index::{Ext, Offset};
use crate::facts::pattern::{Place, cover, is_contiguous};
use crate::facts::step_alignment::Walk;
use crate::facts::vector_forms::has_vector_form;
use crate::math;

/// Extent assumed where none is known.
pub(crate) const UNKNOWN_EXTENT: i64 = 48;
/// Iterations assumed of a loop.
const UNKNOWN_ITERATIONS: f64 = 20.0;
/// Iterations assumed of a loop that ends at the smaller of two bounds: such loops are pieces of longer ones.
const PIECE_ITERATIONS: f64 = 1000.0;
/// Cycles of a load.
pub(crate) const LOAD: f64 = 0.6;
/// Cycles of a shuffle.
const SHUFFLE: f64 = 1.0;
/// Cycles per lane of a vector that is put together from scalars.
const GATHERED_LANE: f64 = 1.8;
/// Cycles per lane more where some lanes must not load, and no instruction gathers.
const MASKED_LANE: f64 = 3.0;
/// Cycles per lane of a vector that one instruction gathers.
const GATHER_LANE: f64 = 1.4;
/// Cycles per lane of reals that become integers one by one, and of a vector of them.
const WHOLE_LANE: f64 = 4.0;
const WHOLE_VECTOR: f64 = 3.0;
/// Cycles of a function of the C library.
const LIBRARY_CALL: f64 = 30.0;

/// What a loop counts by a constant step, as long as the next number is below an end.
#[derive(Clone, Copy)]
pub(crate) struct Counter {
    /// Which of the values that the loop carries.
    pub position: usize,
    pub step: i64,
    pub end: Value,
}

impl Facts<'_> {
    /// Product of the outer extents and the extent of the last axis, guessed where unknown.
    pub fn trips(&self, part: &Part) -> (i64, i64) {
        let Generator::Known { lower, upper, .. } = &part.generator else { return (1, UNKNOWN_EXTENT) };
        let extents: Vec<i64> = lower
            .iter()
            .zip(upper)
            .map(|(l, u)| {
                if self.is_successor(*l, *u) {
                    return 1;
                }
                let widest = self.bounds(*u).1 - self.bounds(*l).0;
                if widest < 1 << 20 { widest.max(0) } else { UNKNOWN_EXTENT }
            })
            .collect();
        match extents.split_last() {
            Some((last, outer)) => (outer.iter().fold(1i64, |n, e| n.saturating_mul(*e)), *last),
            None => (1, 1),
        }
    }

    /// Cycles of one copy of a body: of one index with one lane, of `lanes` indices otherwise.
    pub fn region_cost(&self, g: &mut Grid, region: Region) -> f64 {
        let func = self.func;
        let lanes = f64::from(g.lanes);
        let computed = self.computed(g, region);
        let mut total = 0.0;
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            let Some(&result) = data.results.iter().find(|v| computed.contains(v)) else { continue };
            let vector = g.lanes > 1 && self.dep(g, result).vec;
            let elem = self.elem(result);
            let widths = |packed: bool, cycles: f64| if vector && !packed { lanes * (cycles + 1.0) } else { cycles };
            total += match &data.op {
                Op::Un(op, a) => {
                    let packed = g.packs(elem) && g.packs(self.elem(*a));
                    if !has_vector_form(*op) {
                        if vector { lanes * LIBRARY_CALL } else { LIBRARY_CALL }
                    } else {
                        widths(
                            packed,
                            match op {
                                _ if math::of_unary(*op).is_some() => math::of_unary(*op).map_or(0.0, math::cycles),
                                UnOp::Sqrt | UnOp::Reciproc => 5.0,
                                _ => 0.7,
                            },
                        )
                    }
                }
                Op::Native { symbol, .. } => match crate::facts::vector_forms::math_op(symbol).and_then(math::of_unary)
                {
                    Some(function) if math::is_expanded(function) => widths(g.packs(elem), math::cycles(function)),
                    _ => {
                        if vector {
                            lanes * LIBRARY_CALL
                        } else {
                            LIBRARY_CALL
                        }
                    }
                },
                Op::Bin(op, a, b) => {
                    let from = self.elem(*a);
                    let division = self.division_cycles(from, *b, lanes).filter(|_| vector && op.divides());
                    if from == Elem::I32 && !vector {
                        0.2
                    } else {
                        let packed = g.packs(elem) && g.packs(from);
                        match op {
                            BinOp::Div if from.is_float() => widths(packed, 4.0),
                            BinOp::Div | BinOp::Mod | BinOp::AplMod => division.unwrap_or(widths(false, 15.0)),
                            BinOp::Pow | BinOp::Atan2 | BinOp::Hypot => {
                                widths(packed, math::of_binary(*op).map_or(LIBRARY_CALL, math::cycles))
                            }
                            _ => widths(packed, 0.6),
                        }
                    }
                }
                Op::Convert(a) if vector && self.elem(*a).is_float() && !elem.is_float() && elem != Elem::Bool => {
                    self.whole_cycles(self.elem(*a), elem, lanes)
                }
                Op::Convert(a) => widths(g.packs(elem) && g.packs(self.elem(*a)), 1.0),
                Op::Select { .. } => widths(g.packs(elem), 1.0),
                Op::If { then, els, .. } => 1.0 + self.region_cost(g, *then) + self.region_cost(g, *els),
                Op::Sel { array, index } => {
                    if vector && g.masked.contains(&inst) {
                        self.gathered_cycles(g, elem, true)
                    } else if vector {
                        self.load_cycles(g, *array, index)
                    } else {
                        LOAD
                    }
                }
                Op::With(with) => self.fold_cost(g, with),
                Op::Loop { body, .. } => self.loop_cost(g, *body, vector),
                _ => 0.0,
            };
        }
        total
    }

    /// Does every lane of a body divide integers by itself? Where lanes do not pay, this is why.
    pub fn is_slow_in_lanes(&self, body: Region) -> bool {
        let mut slow = false;
        walk(self.func, body, &mut |_, inst| {
            let Op::Bin(op, a, b) = &self.func.insts[inst].op else { return };
            // Two lanes that divide together take less time than twice that of one.
            let cycles = |lanes| self.division_cycles(self.elem(*a), *b, lanes);
            let alone = cycles(2.0).is_none_or(|two| cycles(1.0).is_some_and(|one| two > one));
            slow |= op.divides() && !self.elem(*a).is_float() && alone;
        });
        slow
    }

    /// Cycles of a vector of reals that become integers, which saturate: some comparisons and selections if the result is as wide as words
    /// are; lane by lane otherwise, and for vectors of 16 bytes unless the result has 32 bits.
    fn whole_cycles(&self, from: Elem, to: Elem, lanes: f64) -> f64 {
        let short = self.target.vector_bytes <= 16;
        if short && to != Elem::I32 || to.bytes() < 4 || !to.is_signed_int() {
            WHOLE_LANE * lanes
        } else if short && from == Elem::F64 {
            WHOLE_VECTOR * (lanes / 2.0)
        } else {
            WHOLE_VECTOR
        }
    }

    /// Values of a region that a kernel computes: not those that only checks or affine addresses use.
    pub fn computed(&self, g: &mut Grid, region: Region) -> HashSet<Value> {
        let func = self.func;
        let data = &func.regions[region];
        let mut needed: HashSet<Value> = data.yields.iter().copied().collect();
        for &inst in data.insts.iter().rev() {
            let InstData { op, results, .. } = &func.insts[inst];
            if !results.iter().any(|v| needed.contains(v)) {
                continue;
            }
            if let Op::Sel { index, .. } = op {
                // Of lanes at constant distances only the first is computed, once per vector at most.
                let last = Place { j: 0, u: 0, lane: usize::from(g.lanes) - 1 };
                let atoms: Vec<Value> = index.iter().flat_map(|i| self.form(*i).terms).map(|(v, _)| v).collect();
                needed
                    .extend(atoms.into_iter().filter(|v| !self.dep(g, *v).vec || self.distance(g, *v, last).is_none()));
                continue;
            }
            op.for_each_operand(|v| {
                needed.insert(v);
            });
            for nested in op.regions() {
                needed.extend(self.live.free(nested));
            }
        }
        needed
    }

    /// Cycles of a fold for one copy.
    pub fn fold_cost(&self, g: &mut Grid, with: &With) -> f64 {
        let func = self.func;
        let mut total = 0.0;
        for part in &with.parts {
            let (outer, n) = self.trips(part);
            let accumulate = 0.5 * with.ops.len() as f64;
            if g.vec.is_none() && g.fold_u > 0 {
                let Some(&param) = func.regions[part.body].params.last() else { continue };
                let lanes = g.fold_lanes;
                let mut inner = g.clone();
                inner.set_vec(Some(param), lanes, 1);
                inner.walk = Walk { start: Some(0), grain: i64::from(lanes), trips: None };
                let vector = self.region_cost(&mut inner, part.body) + accumulate;
                inner.set_vec(None, 1, 1);
                (inner.fold_u, inner.fold_lanes) = (0, 0);
                let scalar = self.region_cost(&mut inner, part.body) + accumulate;
                let (whole, rest) = (n / i64::from(lanes), n % i64::from(lanes));
                total +=
                    outer as f64 * (whole as f64 * vector + rest as f64 * (scalar + 1.0)) + 6.0 * with.ops.len() as f64;
            } else {
                total += outer as f64 * n as f64 * (self.region_cost(g, part.body) + accumulate);
            }
        }
        total
    }

    /// Cycles of a vector whose lanes are loaded from anywhere, under a mask or not.
    fn gathered_cycles(&self, g: &Grid, elem: Elem, masked: bool) -> f64 {
        let lane = match (self.gathers(elem), masked) {
            (true, _) => GATHER_LANE,
            (false, false) => GATHERED_LANE,
            (false, true) => GATHERED_LANE + MASKED_LANE,
        };
        lane * f64::from(g.lanes)
    }

    /// Cycles of a vector whose lanes are loaded from an array.
    pub fn load_cycles(&self, g: &mut Grid, array: Value, index: &[Value]) -> f64 {
        let elem = self.elem(array);
        let gathered = self.gathered_cycles(g, elem, false);
        if !g.packs(elem) {
            return gathered;
        }
        let Some(offset) = self.known_offset(g, array, index) else { return gathered };
        let Some(lanes) = self.lane_offsets(g, &offset, elem, 0, 0) else { return gathered };
        match cover(&lanes) {
            Some(_) if is_contiguous(&lanes) => LOAD,
            Some(cover) => LOAD * cover.starts.len() as f64 + SHUFFLE * (cover.starts.len() as f64 - 1.0).max(1.0),
            None => gathered,
        }
    }

    /// Are the vectors that a contiguous load takes aligned to their size, given that the array is?
    pub fn is_aligned(&self, g: &mut Grid, array: Value, index: &[Value]) -> bool {
        let width = i64::from(g.lanes) * g.bytes as i64;
        let Some(offset) = self.known_offset(g, array, index) else { return false };
        let whole = self.const_strides(array).is_some_and(|s| s.iter().all(Option::is_some));
        whole
            && offset.constant % width == 0
            && offset
                .terms
                .iter()
                .all(|t| t.bytes % width == 0 || t.atom == g.vec && g.walk.residue(i64::from(g.lanes)) == Some(0))
    }

    /// The offset of a selection as far as types tell it; nothing if lanes run along an axis with an unknown stride.
    pub fn known_offset(&self, g: &mut Grid, array: Value, index: &[Value]) -> Option<Offset> {
        let strides = self.const_strides(array)?;
        let mut forms = Vec::new();
        let mut known = Vec::new();
        for (i, stride) in index.iter().zip(strides) {
            match stride {
                Some(stride) => {
                    forms.push(self.form(*i));
                    known.push(Ext::Const(stride));
                }
                None if self.index_dep(g, *i).vec => return None,
                None => {}
            }
        }
        Some(self.offset(&forms, &known, self.elem(array).bytes() as i64))
    }

    /// Constant strides of an array, in elements; `None` entries where unknown, the last one always 1.
    fn const_strides(&self, array: Value) -> Option<Vec<Option<i64>>> {
        let extents = self.func.ty(array).shape.extents()?;
        let mut strides = vec![Some(1i64); extents.len()];
        for axis in (1..extents.len()).rev() {
            strides[axis - 1] =
                strides[axis].zip(extents[axis].as_const()).map(|(s, e)| s.saturating_mul(i64::from(e)));
        }
        Some(strides)
    }

    /// What a loop counts upwards.
    pub fn counter(&self, body: Region) -> Option<Counter> {
        let op = |v: Value| self.live.def(v).map(|inst| &self.func.insts[inst].op);
        let data = &self.func.regions[body];
        let Op::Bin(BinOp::Lt, next, end) = op(*data.yields.first()?)? else { return None };
        let position = data.yields[1..].iter().position(|v| v == next)?;
        let Op::Bin(BinOp::Add, a, b) = op(*next)? else { return None };
        let step = self.const_i32(*b).filter(|step| *step > 0 && *a == data.params[position])?;
        Some(Counter { position, step, end: *end })
    }

    /// Iterations of a loop that counts, if the distance of the bounds is constant, and a guess otherwise.
    pub fn iterations(&self, init: &[Value], body: Region) -> Result<f64, f64> {
        let op = |v: Value| self.live.def(v).map(|inst| &self.func.insts[inst].op);
        let Some(Counter { position, step, end }) = self.counter(body) else { return Err(UNKNOWN_ITERATIONS) };
        let (ends, guess) = match op(end) {
            Some(Op::Bin(BinOp::Min, a, b)) => (vec![*a, *b], PIECE_ITERATIONS),
            _ => (vec![end], UNKNOWN_ITERATIONS),
        };
        let start = self.form(init[position]);
        let distance = |end: &Value| {
            let end = self.form(*end);
            let same = end.terms.len() == start.terms.len() && end.terms.iter().all(|term| start.terms.contains(term));
            same.then_some((end.constant - start.constant).max(1) as f64 / step as f64)
        };
        ends.iter().find_map(distance).ok_or(guess)
    }

    /// Rough cycles of one index of a body, for the choice of threads. Bodies may hold anything.
    pub fn work(&self, region: Region) -> f64 {
        let func = self.func;
        let mut total = 1.0;
        for &inst in &func.regions[region].insts {
            total += match &func.insts[inst].op {
                Op::With(with) => with
                    .parts
                    .iter()
                    .map(|p| {
                        let (outer, n) = self.trips(p);
                        outer as f64 * n as f64 * self.work(p.body)
                    })
                    .sum(),
                Op::Loop { init, body } => {
                    self.iterations(init, *body).unwrap_or_else(|guess| guess) * self.work(*body)
                }
                Op::If { then, els, .. } => self.work(*then).max(self.work(*els)),
                Op::Call { .. } => 500.0,
                Op::Un(op, _) if !has_vector_form(*op) => LIBRARY_CALL,
                Op::Un(op, _) if math::of_unary(*op).is_some() => {
                    math::of_unary(*op).map_or(0.0, |f| math::cycles(f) / 3.0)
                }
                Op::Native { .. } => LIBRARY_CALL,
                Op::Const(_) => 0.0,
                Op::Array(_) | Op::Update { .. } | Op::Reshape { .. } => 20.0,
                _ => 0.3,
            };
        }
        total
    }

    /// The divisor of an integer division if it is a positive constant.
    pub fn constant_divisor(&self, elem: Elem, divisor: Value) -> Option<i64> {
        if elem.is_float() || elem == Elem::Bool || elem.bytes() < 4 {
            return None;
        }
        match &self.func.insts[self.live.def(divisor)?].op {
            Op::Const(scalar) => scalar.as_i64().filter(|k| *k > 0),
            _ => None,
        }
    }

    /// Estimated cycles for a vector of lanes; nothing if each lane divides by itself.
    pub fn division_cycles(&self, elem: Elem, divisor: Value, lanes: f64) -> Option<f64> {
        let k = self.constant_divisor(elem, divisor)?;
        Some(match k.count_ones() {
            1 => SHIFTS,
            _ if elem.bytes() == 4 && self.target.vector_bytes > NARROW => RECIPROCAL,
            _ => LANE * lanes,
        })
    }
}

/// Inner loops whose trip count is at most this are unrolled, so that addresses become constants.
pub(crate) const UNROLL_TRIPS: i64 = 36;

/// Cycles of a body without its folds from which on copies are computed side by side.
pub(crate) const LONG_CHAIN: f64 = 12.0;

/// Cycles of a division of a vector by a power of two.
const SHIFTS: f64 = 2.0;

/// Cycles of a division by another constant: products of the even and of the odd lanes, and corrections.
const RECIPROCAL: f64 = 6.0;

/// Cycles of a division by a constant, of one lane.
const LANE: f64 = 4.0;

/// Bytes of the vectors above which targets divide by constants in vectors.
const NARROW: u32 = 16;
