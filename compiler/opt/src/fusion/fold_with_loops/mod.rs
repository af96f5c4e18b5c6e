//! With-loop folding: a consumer takes over the cell expression of a with-loop it selects from.
//!
//! ```text
//!    b = genarray { iv -> f(iv) }   c = genarray { jv -> g(b[h(jv)]) }
//! => c = genarray { jv -> g(f(h(jv))) }
//! ```
//!
//! Any index expression `h` will do: the producer's indices are replaced by it. With several partitions, ranges must tell in
//! which one the index falls, or that it falls in none; else the consumer is cut where they meet (`split_partitions`).
//!
//! Before: anything; checks inside producers hardly allow folding, so `prove-checks` comes first.
//! After: no selection from a producer that is cheap enough, or whose elements are read about once.
//! Cells that are written out, `[a, b]`, as those of complex numbers, are folded where single components are selected.
//!
//! Leaves alone: producers with effects or checks in their bodies (but see `fold_checked`), with other array cells (see `scalarize`), and those too
//! costly to compute again for every consumer.
//! Worth: tests/survey/stencils/life (16 with Cranelift, 13 with LLVM).

mod in_place;
mod refusal;
mod shared;

use self::in_place::{loses_its_place, reads_what_changes};
use self::refusal::Refusal;
use self::shared::work_for_others;
use crate::edit::{Copier, Defs, push_op, replace_inst};
use crate::facts::{
    Cost, Places, Ranges, Use, cost_of_yield, covers_frame, is_in_loop, reads_only_what_stays, reads_per_element,
};
use crate::fusion::fold_checked::{is_checked, moves_with_its_checks, take_out};
use crate::fusion::fold_kinds::runs_in_tiles;
use crate::fusion::split_partitions;
use crate::pass::{Context, Folded, Pass, Run};
use ravel_types::{BinOp, HashMap, HashSet, Scalar, Ty};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};
use std::collections::BTreeMap;

pub const PASS: Pass = Pass {
    name: "fold-with-loops",
    summary: "substitute producer cells into the with-loops that select them",
    run: Run::Fold(fold_with_loops),
};

/// How much arithmetic may be done again per element to save storing and loading it.
const MAX_EXTRA_WORK: f64 = 6.0;

/// Work per element that a loop may take over, which runs without lanes unless what is around it has some.
const MOST_WORK_IN_LOOPS: f64 = 3.0;
/// Loads of the same.
const MOST_LOADS_IN_LOOPS: f64 = 3.0;

/// Most cuts of consumers for one producer.
const MAX_CUTS: usize = 32;

/// A selection to be replaced, and by which partition's body.
struct Site {
    inst: Inst,
    region: Region,
    /// `None`: by what stands at positions without a partition.
    part: Option<usize>,
}

/// Copies of a producer's body: where, of which partition, and with what for its indices; the last instruction, and all cells.
type Copies = HashMap<(Region, usize, Vec<Value>), (Inst, Vec<Value>)>;

/// Folds producers in program order, so that a chain collapses in one walk.
pub fn fold_with_loops(func: &mut Func, cx: &mut Context) -> Folded {
    let producers = Places::new(func).withs;
    fold_these(func, &producers, cx)
}

/// Folds some with-loops, inner ones first and then in program order.
pub fn fold_these(func: &mut Func, producers: &[Inst], cx: &mut Context) -> Folded {
    let (mut changed, mut undecided) = (false, Vec::new());
    let mut places = Places::new(func);
    let mut defs = Defs::new(func);
    for &producer in producers {
        let mut copies = Copies::default();
        for k in 0..func.insts[producer].results.len() {
            let result = func.insts[producer].results[k];
            if !places.uses(result).iter().any(|u| is_selection(func, u, result)) {
                continue;
            }
            let span = func.insts[producer].span;
            match check_and_split(func, &mut places, &mut defs, producer, k, cx) {
                Ok(sites) => {
                    let checked = is_checked(func, producer, cx);
                    for site in sites {
                        apply(func, &mut places, &mut defs, (producer, k), site, &mut copies);
                    }
                    if checked {
                        // Its consumer makes the checks now.
                        take_out(func, &places, producer);
                        (places, defs) = (Places::new(func), Defs::new(func));
                    }
                    cx.applied(span, "folded into its consumers");
                    changed = true;
                }
                Err(refusal) => {
                    if matches!(refusal, Refusal::UndecidedPartition(_) | Refusal::Kept) {
                        undecided.push(producer);
                    }
                    cx.refused(span, refusal.text());
                }
            }
        }
    }
    Folded { changed, undecided }
}

/// [`check`], and cuts of the consumers where partitions of the producer meet in them.
fn check_and_split(
    func: &mut Func,
    places: &mut Places,
    defs: &mut Defs,
    producer: Inst,
    k: usize,
    cx: &mut Context,
) -> Result<Vec<Site>, Refusal> {
    let mut cuts = 0;
    // Cuts leave one reader per index.
    let may_check = !is_checked(func, producer, cx) || moves_with_its_checks(func, places, defs, producer, cx);
    // What was cut in vain is put together again.
    let mut whole: Option<Func> = None;
    loop {
        let undecided = match check(func, places, defs, producer, k, may_check) {
            Err(Refusal::UndecidedPartition(sites)) if cuts <= MAX_CUTS => sites,
            Err(refusal) => {
                if let Some(whole) = whole {
                    *func = whole;
                    (*places, *defs) = (Places::new(func), Defs::new(func));
                }
                return Err(refusal);
            }
            Ok(sites) => {
                if cuts > 0 {
                    cx.applied(func.insts[producer].span, "its consumers are split where its partitions meet");
                }
                return Ok(sites);
            }
        };
        let cut_of = |site: &Inst| {
            let Op::Sel { index, .. } = &func.insts[*site].op else { return None };
            let rank = frame_rank(with_of(func, producer), k)?;
            split_partitions::find_cut(func, places, defs, (producer, k), *site, &index[..rank])
        };
        // Only if there is a way for every one of them: a copy that helps nobody is waste.
        let found: Option<Vec<_>> = undecided.iter().map(cut_of).collect();
        let Some(cut) = found.and_then(|all| all.into_iter().next()) else {
            cuts = MAX_CUTS + 1;
            continue;
        };
        whole.get_or_insert_with(|| func.clone());
        split_partitions::cut_consumer(func, places, defs, &cut);
        cuts += 1;
    }
}

/// Length of the indices of an array that the with-loop makes.
fn frame_rank(with: &With, k: usize) -> Option<usize> {
    match (&with.ops[k], with.parts.first().map(|p| &p.generator)) {
        (WithOp::Genarray { frame: Frame::Known(frame), .. }, _) => Some(frame.len()),
        (WithOp::Modarray { .. }, Some(Generator::Known { lower, .. })) => Some(lower.len()),
        _ => None,
    }
}

fn is_selection(func: &Func, u: &Use, value: Value) -> bool {
    matches!(u, Use::Operand(inst) if matches!(&func.insts[*inst].op, Op::Sel { array, index } if *array == value && !index.contains(&value)))
}

fn with_of(func: &Func, inst: Inst) -> &With {
    match &func.insts[inst].op {
        Op::With(with) => with,
        _ => unreachable!("producers are with-loops"),
    }
}

fn check(
    func: &Func,
    places: &Places,
    defs: &Defs,
    producer: Inst,
    k: usize,
    may_check: bool,
) -> Result<Vec<Site>, Refusal> {
    let with = with_of(func, producer);
    let result = func.insts[producer].results[k];
    let home = places.home(producer).ok_or(Refusal::Effects)?;
    let frame_rank = frame_rank(with, k).ok_or(Refusal::DynamicFrame)?;
    let ranks_agree = |p: &Part| matches!(&p.generator, Generator::Known { lower, .. } if lower.len() == frame_rank);
    if !with.parts.iter().all(ranks_agree) {
        return Err(Refusal::DynamicFrame);
    }
    if with.ordered || !may_check {
        return Err(Refusal::Effects);
    }
    let cell_of = |p: &Part| func.regions[p.body].yields[k];
    let moves_only =
        |v: Value| func.ty(v).is_scalar() || matches!(defs.op(func, v), Some(Op::Sel { .. } | Op::ConstArray(_)));
    let is_tuple =
        |v: Value| matches!(defs.op(func, v), Some(Op::Array(e)) if e.iter().all(|v| func.ty(*v).is_scalar()));
    let by_component = || places.uses(result).iter().all(|u| selects_component(func, defs, u, result, frame_rank));
    if !with.parts.iter().all(|p| moves_only(cell_of(p)) || is_tuple(cell_of(p)) && by_component()) {
        return Err(Refusal::ArrayCells);
    }
    let (mut sites, mut undecided, mut outermosts) = (Vec::new(), Vec::new(), Vec::new());
    let mut by_consumer: BTreeMap<Inst, BTreeMap<Option<Region>, f64>> = BTreeMap::new();
    let (mut reads, mut is_kept, mut in_loops) = (0.0, false, false);
    let (mut worst, mut most_loads) = (Cost::default(), 0.0f64);
    let mut used = HashSet::default();
    let mut known = None;
    // Components of one cell, selected in one body, share its copy.
    let mut cells_read = HashSet::default();
    for u in places.uses(result) {
        let Use::Operand(inst) = u else {
            reads += 1.0;
            is_kept = true;
            continue;
        };
        match &func.insts[*inst].op {
            Op::Sel { array, index } if *array == result && index.len() >= frame_rank => {
                let region = places.home(*inst).ok_or(Refusal::Effects)?;
                let part = find_part(func, places, defs, (with, k), *inst, &index[..frame_rank], &mut known);
                match part {
                    Some(part) => used.extend(part),
                    None => {
                        undecided.push(*inst);
                        used.extend(0..with.parts.len());
                    }
                }
                let times = reads_per_element(func, places, defs, with, home, region, &index[..frame_rank]);
                in_loops |= is_in_loop(func, places, region, home);
                // Partitions of one consumer share the elements out among them.
                let outermost = places.path(region, home).and_then(|path| path.last().copied());
                let consumer = outermost.and_then(|r| places.owner_of(r)).unwrap_or(*inst);
                let is_new = cells_read.insert((region, index[..frame_rank].to_vec()));
                *by_consumer.entry(consumer).or_default().entry(outermost).or_insert(0.0) +=
                    if is_new { times } else { 0.0 };
                sites.push(Site { inst: *inst, region, part: part.flatten() });
                outermosts.push((*inst, outermost));
            }
            // Its shape is known without it.
            Op::Extent { .. } => {}
            _ => {
                reads += 1.0;
                is_kept = true;
            }
        }
    }
    reads += by_consumer.values().map(|parts| parts.values().copied().fold(0.0, f64::max)).sum::<f64>();
    if sites.is_empty() {
        return Err(Refusal::PartialSelections);
    }
    for part in used {
        let part = &with.parts[part];
        let cost = cost_of_yield(func, defs, part.body, cell_of(part));
        most_loads = cost.loads.max(most_loads);
        if cost.arithmetic >= worst.arithmetic {
            worst = cost;
        }
    }
    let takes_zero =
        matches!(&with.ops[k], WithOp::Genarray { default: None, .. }) && sites.iter().any(|s| s.part.is_none());
    if takes_zero && !(Scalar::zero(func.ty(result).elem).is_some() && sites.iter().all(|s| is_scalar_site(func, s))) {
        return Err(Refusal::ArrayCells);
    }
    let cheap = worst.is_copy() || reads <= 1.0 || (reads - 1.0) * worst.arithmetic.max(1.0) <= MAX_EXTRA_WORK;
    if !cheap {
        return Err(Refusal::TooCostly(reads, worst.arithmetic));
    }
    let is_fold = |consumer: &Inst| matches!(&func.insts[*consumer].op, Op::With(with) if with.ops.iter().any(|op| matches!(op, WithOp::Fold { .. })));
    if by_consumer.keys().any(is_fold) && runs_in_tiles(func, defs, places, with) {
        return Err(Refusal::Tiles);
    }
    let shared = work_for_others(func, places, defs, with, (producer, k), home);
    if reads * shared > MAX_EXTRA_WORK {
        return Err(Refusal::Shared(shared));
    }
    if in_loops && (is_kept || worst.arithmetic > MOST_WORK_IN_LOOPS || worst.loads > MOST_LOADS_IN_LOOPS) {
        return Err(Refusal::InLoop);
    }
    if in_loops && !reads_only_what_stays(func, places, with) {
        return Err(Refusal::Replaced);
    }
    if reads_what_changes(func, places, (producer, k), &outermosts)
        || is_kept && loses_its_place(func, places, defs, (producer, k), outermosts)
    {
        return Err(Refusal::InPlace);
    }
    match undecided.is_empty() {
        true => Ok(sites),
        // Computing it again saves loads only, if that, and costs more partitions.
        false if is_kept && (worst.arithmetic > 0.0 || most_loads > 1.0) => Err(Refusal::Kept),
        false => Err(Refusal::UndecidedPartition(undecided)),
    }
}

/// Whether a use selects one element of a cell, at a place in it that is a constant: of a cell that is written out, `[a, b]`, it
/// needs no more than that element.
fn selects_component(func: &Func, defs: &Defs, u: &Use, array: Value, frame_rank: usize) -> bool {
    let Use::Operand(inst) = u else { return false };
    match &func.insts[*inst].op {
        Op::Extent { .. } => true,
        Op::Sel { array: from, index } => {
            *from == array
                && index.len() > frame_rank
                && index[frame_rank..].iter().all(|i| defs.int(func, *i).is_some())
                && func.ty(func.insts[*inst].results[0]).is_scalar()
        }
        _ => false,
    }
}

fn is_scalar_site(func: &Func, site: &Site) -> bool {
    func.insts[site.inst].results.iter().all(|v| func.ty(*v).is_scalar())
}

/// The partition that `index` falls in at `site`, `None` inside for no partition; `None` if that is undecided.
fn find_part(
    func: &Func,
    places: &Places,
    defs: &Defs,
    (with, k): (&With, usize),
    site: Inst,
    index: &[Value],
    known: &mut Option<(Inst, Ranges)>,
) -> Option<Option<usize>> {
    if let (WithOp::Genarray { frame: Frame::Known(frame), .. }, [part]) = (&with.ops[k], &with.parts[..])
        && covers_frame(func, defs, part, frame)
    {
        return Some(Some(0));
    }
    at(func, places, defs, site, known, |ranges| {
        let mut all_out = true;
        for (n, part) in with.parts.iter().enumerate() {
            match contains(func, defs, ranges, part, index) {
                Some(true) => return Some(Some(n)),
                Some(false) => {}
                None => all_out = false,
            }
        }
        all_out.then_some(None)
    })
}

/// Asks something of what holds just before an instruction. What holds before the with-loop around it is `known` if it was asked for before: the
/// partitions of one consumer have that in common.
fn at<T>(
    func: &Func,
    places: &Places,
    defs: &Defs,
    site: Inst,
    known: &mut Option<(Inst, Ranges)>,
    ask: impl FnOnce(&mut Ranges) -> T,
) -> T {
    let region = places.home(site);
    let around = region.and_then(|region| Some((region, places.owner_of(region)?)));
    let Some((region, owner)) = around else { return ask(&mut places.ranges_at(func, defs, site)) };
    if !matches!(func.insts[owner].op, Op::With(_)) {
        return ask(&mut places.ranges_at(func, defs, site));
    }
    if known.as_ref().is_none_or(|(inst, _)| *inst != owner) {
        *known = Some((owner, places.ranges_at(func, defs, owner)));
    }
    let Some((_, ranges)) = known else { return ask(&mut places.ranges_at(func, defs, site)) };
    let mark = ranges.mark();
    places.enter(func, defs, ranges, region, site);
    let answer = ask(ranges);
    ranges.undo(mark);
    answer
}

/// Whether an index certainly is, or certainly is not, of a generator.
fn contains(func: &Func, defs: &Defs, ranges: &mut Ranges, part: &Part, index: &[Value]) -> Option<bool> {
    let Generator::Known { lower, upper, step, width } = &part.generator else { return None };
    let mut all_in = true;
    for (axis, i) in index.iter().enumerate() {
        let i = ranges.form(func, defs, *i);
        let (low, high) = (ranges.form(func, defs, lower[axis]), ranges.form(func, defs, upper[axis]));
        let inside = [ranges.compare(BinOp::Ge, &i, &low), ranges.compare(BinOp::Lt, &i, &high)];
        if inside.contains(&Some(false)) {
            return Some(false);
        }
        all_in &= inside == [Some(true), Some(true)];
        if let Some(step) = step {
            let step = i64::from(defs.int(func, step[axis])?);
            let width = match width {
                Some(width) => i64::from(defs.int(func, width[axis])?),
                None => 1,
            };
            match i.sub(&low).and_then(|d| d.as_const()) {
                Some(offset) if step > 0 && offset.rem_euclid(step) >= width => return Some(false),
                Some(_) => {}
                None => all_in &= step == width,
            }
        }
    }
    all_in.then_some(true)
}

/// Replaces a selection by a copy of the body.
fn apply(
    func: &mut Func,
    places: &mut Places,
    defs: &mut Defs,
    (producer, k): (Inst, usize),
    site: Site,
    copies: &mut Copies,
) {
    let with = with_of(func, producer).clone();
    let Op::Sel { index, .. } = func.insts[site.inst].op.clone() else { return };
    let result = func.insts[site.inst].results[0];
    let span = func.insts[site.inst].span;
    let ty = func.ty(result).clone();
    let mut new = Vec::new();
    let (cell, rest) = match site.part {
        Some(part) => {
            let body = with.parts[part].body;
            let params = func.regions[body].params.clone();
            let key = (site.region, part, index[..params.len()].to_vec());
            let insts = &func.regions[site.region].insts;
            let at = |inst: Inst| insts.iter().position(|i| *i == inst);
            let yields = match copies.get(&key).filter(|(last, _)| at(*last) < at(site.inst) && at(*last).is_some()) {
                Some((_, yields)) => yields.clone(),
                None => {
                    let mut copier = Copier::within(func, body);
                    copier.values.extend(params.iter().copied().zip(index.iter().copied()));
                    let yields = copier.splice(func, body, &mut new);
                    if let (Some(last), true) = (new.last(), with.ops.len() > 1) {
                        copies.insert(key, (*last, yields.clone()));
                    }
                    yields
                }
            };
            (yields[k], index[params.len()..].to_vec())
        }
        None => match &with.ops[k] {
            WithOp::Modarray { array } => (*array, index),
            WithOp::Genarray { frame: Frame::Known(frame), default: Some(default), .. } => {
                (*default, index[frame.len()..].to_vec())
            }
            _ => {
                let zero = Scalar::zero(ty.elem);
                let Some(zero) = zero.filter(|_| ty.is_scalar()) else { return };
                (push_op(func, &mut new, Op::Const(zero), Ty::scalar(ty.elem), span), Vec::new())
            }
        },
    };
    let cell = match rest.is_empty() {
        true => cell,
        false => push_op(func, &mut new, Op::Sel { array: cell, index: rest }, ty, span),
    };
    places.remove(func, site.inst);
    for &inst in &new {
        places.add(func, site.region, inst);
        defs.add_inst(func, inst);
    }
    replace_inst(func, site.region, site.inst, new);
    places.rename(func, result, cell);
}
