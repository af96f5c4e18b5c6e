//! Whether an outer with-loop gains from interleaving.
//!
//! The gain is in with-loops inside its body whose last axis does not fill wide vectors; the price is that slices of outer arrays
//! are transposed when read, that results are when they stay side by side, and that temporaries take four times the room.

use super::LANES;
use super::lane::widened;
use crate::edit::{Def, Defs};
use crate::facts::{Places, Use, cost_of_inst};
use ravel_types::{BinOp, Elem, HashMap, HashSet};
use ravel_wir::traverse::{free_values, walk};
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

/// Lanes of the widest vectors in use, of 4 bytes each.
const WIDE: f64 = 16.0;
/// Cycles before over cycles after.
const MIN_GAIN: f64 = 1.2;
/// Operations per element that is transposed; with 16 of them the product of 8 x 8 matrices was no faster in lanes.
const MIN_INTENSITY: f64 = 20.0;
/// Bytes of all interleaved arrays of a block: they should stay in the second-level cache.
const MAX_BYTES: u64 = 512 << 10;
/// Operations per iteration below which a block is not worth its set-up.
const MIN_WORK: f64 = 500.0;

/// Iterations assumed of loops that compute scalars, such as a search in a short array.
const LOOP_ITERATIONS: f64 = 10.0;

/// Judges an outer with-loop; with `eager` only what it must be, not what it gains. Gives the
/// operations of an iteration; `Err(None)` if its body is not of the kind that this is about.
pub fn assess(
    func: &Func,
    defs: &Defs,
    places: &Places,
    with: &With,
    part: &Part,
    eager: bool,
) -> Result<f64, Option<String>> {
    let body = part.body;
    let Some(&index) = func.regions[body].params.last() else { return Err(None) };
    let varying = varying_values(func, body, index);
    if is_interleaved(func, defs, body) {
        return Err(None);
    }
    // Cycles before and after, in vector operations of full vectors.
    let (mut work, mut before, mut after) = (0.0, 0.0, 0.0);
    let (mut bytes, mut has_temporaries) = (0, false);
    // The part of the work that loops do, with arrays of their own if there are any.
    let (mut in_loops, mut loops_have_arrays) = (0.0, false);
    for &inst in &func.regions[body].insts {
        let data = &func.insts[inst];
        if !data.results.iter().any(|v| varying.contains(v)) {
            continue;
        }
        let cost = work_of(func, defs, inst);
        work += cost;
        let Op::With(inner) = &data.op else {
            if matches!(data.op, Op::Loop { .. }) {
                in_loops += cost;
                loops_have_arrays |= data.results.iter().any(|v| !func.ty(*v).is_scalar());
            }
            // Scalar code is no faster than before.
            before += cost * WIDE;
            after += cost * WIDE;
            continue;
        };
        before += cost * idle_lanes(func, defs, inner);
        after += cost;
        for v in &data.results {
            if func.ty(*v).is_scalar() {
                continue;
            }
            let Some(extents) = func.ty(*v).shape.constants() else {
                return Err(Some("an array of its body has no constant shape".to_string()));
            };
            if places.uses(*v).iter().any(|u| matches!(u, Use::Operand(_))) {
                has_temporaries = true;
                bytes += bytes_of(&widened(&extents, LANES), func.ty(*v).elem);
            }
        }
    }
    if loops_have_arrays && in_loops > work / 2.0 && !eager {
        return Err(Some(
            "most of its work is loops that change arrays: with-loops in their place could be done in lanes"
                .to_string(),
        ));
    }
    if !has_temporaries {
        return Err(None);
    }
    if !eager && work < MIN_WORK {
        return Err(Some(format!(
            "its body has arrays of its own, but {work:.0} operations are too few for {LANES} iterations at once"
        )));
    }
    if eager {
        return Ok(work);
    }
    let (mut moved, packed) = packed_slices(func, places, body, index);
    bytes += packed;
    for (op, cell) in with.ops.iter().zip(&func.regions[body].yields) {
        if !matches!(op, WithOp::Fold { .. }) {
            moved += func.ty(*cell).shape.count().unwrap_or(0) as f64;
        }
    }
    if before < MIN_GAIN * after {
        return Err(Some("the with-loops in its body fill vectors as they are".to_string()));
    }
    if work < MIN_INTENSITY * moved {
        return Err(Some(format!("{:.1} operations per element that would be transposed are too few", work / moved)));
    }
    if bytes > MAX_BYTES {
        return Err(Some(format!("its arrays would take {} KiB for {LANES} iterations", bytes >> 10)));
    }
    Ok(work)
}

/// Arithmetic of an instruction; loops are taken to be short.
fn work_of(func: &Func, defs: &Defs, inst: Inst) -> f64 {
    let op = &func.insts[inst].op;
    let iterations = match op {
        Op::Loop { .. } => LOOP_ITERATIONS,
        Op::If { .. } => 1.0,
        _ => return cost_of_inst(func, defs, inst).arithmetic,
    };
    let insts = op.regions().into_iter().flat_map(|r| func.regions[r].insts.iter());
    iterations * insts.map(|i| work_of(func, defs, *i)).sum::<f64>()
}

fn bytes_of(extents: &[i32], elem: Elem) -> u64 {
    let size = elem.bytes() as u64;
    extents.iter().fold(size, |n, e| n.saturating_mul(u64::from(e.unsigned_abs())))
}

/// Values of a body that depend on its index.
fn varying_values(func: &Func, body: Region, index: Value) -> HashSet<Value> {
    let mut varying = HashSet::from_iter([index]);
    for &inst in &func.regions[body].insts {
        let data = &func.insts[inst];
        let mut depends = false;
        data.op.for_each_operand(|v| depends |= varying.contains(&v));
        depends |= data.op.regions().iter().any(|r| free_values(func, *r).iter().any(|v| varying.contains(v)));
        if depends {
            varying.extend(data.results.iter().copied());
        }
    }
    varying
}

/// Whether a body has with-loops as this pass makes them: both quotient and remainder of an index are taken.
fn is_interleaved(func: &Func, defs: &Defs, body: Region) -> bool {
    let mut taken: HashMap<Value, (bool, bool)> = HashMap::default();
    walk(func, body, &mut |_, inst| {
        if let Op::Bin(op @ (BinOp::Div | BinOp::Mod), a, b) = &func.insts[inst].op
            && defs.int(func, *b) == Some(LANES)
            && matches!(defs.get(*a), Def::Param(..))
        {
            let seen = taken.entry(*a).or_default();
            seen.0 |= *op == BinOp::Div;
            seen.1 |= *op == BinOp::Mod;
        }
    });
    taken.values().any(|seen| *seen == (true, true))
}

/// Vector lanes per lane that is of use, if lanes run along the last axis of the with-loop or of folds in it.
fn idle_lanes(func: &Func, defs: &Defs, with: &With) -> f64 {
    let mut least = 1.0f64;
    let mut longest = 0i64;
    for part in &with.parts {
        let mut lengths = vec![last_extent(func, defs, part)];
        walk(func, part.body, &mut |_, inst| {
            if let Op::With(inner) = &func.insts[inst].op {
                lengths.extend(inner.parts.iter().map(|p| last_extent(func, defs, p)));
            }
        });
        let idle = |n: &Option<i64>| n.map_or(1.0, |n| WIDE * (n as f64 / WIDE).ceil() / n as f64);
        let best = lengths.iter().map(idle).fold(f64::INFINITY, f64::min);
        let size = lengths[0].unwrap_or(i64::MAX);
        if size >= longest {
            (longest, least) = (size, best);
        }
    }
    least
}

/// Extent of the last axis that is longer than one.
fn last_extent(func: &Func, defs: &Defs, part: &Part) -> Option<i64> {
    let Generator::Known { lower, upper, .. } = &part.generator else { return None };
    let mut extents = lower.iter().zip(upper).rev().map(|(l, u)| {
        let (low, high) = (defs.int(func, *l)?, defs.int(func, *u)?);
        Some((i64::from(high) - i64::from(low)).max(1))
    });
    extents.find(|n| *n != Some(1)).unwrap_or(Some(1))
}

/// Elements of the slices of outer arrays that the body reads at its own index, and their bytes when interleaved.
fn packed_slices(func: &Func, places: &Places, body: Region, index: Value) -> (f64, u64) {
    let mut seen: HashSet<(Value, usize)> = HashSet::default();
    let (mut elements, mut bytes) = (0.0, 0u64);
    let mut visit = |inst: Inst| {
        let Op::Sel { array, index: at } = &func.insts[inst].op else { return };
        let Some(lead) = at.iter().rposition(|v| *v == index).map(|k| k + 1) else { return };
        let extents = func.ty(*array).shape.extents().unwrap_or_default();
        let rest: Option<Vec<i32>> = extents.iter().skip(lead).map(|e| e.as_const()).collect();
        let Some(rest) = rest.filter(|r| !r.is_empty()) else { return };
        if seen.insert((*array, lead)) {
            let size = bytes_of(&rest, func.ty(*array).elem);
            bytes = bytes.saturating_add(size.saturating_mul(LANES as u64));
            elements += rest.iter().map(|n| f64::from(*n)).product::<f64>();
        }
    };
    walk(func, body, &mut |region, inst| {
        // Scalars of the body itself are read in place.
        if region != body || places.home(inst) != Some(body) {
            visit(inst);
        }
    });
    (elements, bytes)
}
