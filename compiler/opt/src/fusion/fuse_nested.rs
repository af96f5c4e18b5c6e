//! Fusion over nested index sets: a with-loop over rows joins one over elements that reads its results, row by row.
//!
//! ```text
//!    s = { [i] -> sum(a[i]) | [i] < [n] }   b = { [i,j] -> a[i,j] / s[i] | [i,j] < [n,m] }
//! => b = { [i] -> t = sum(a[i]); { [j] -> a[i,j] / t } }
//! ```
//!
//! Every row of `a` is then read twice in a row, while it is in a cache, and `s` need not be stored unless something else reads it. The same
//! goes for two with-loops over rows of which one needs the other's results: maxima, and then sums of exponentials.
//!
//! Before: the cycle of folding has ended: what is cheap enough has been computed again for every element. After: no with-loop over elements
//! reads rows that another one over the leading axes folds for it.
//! Leaves alone: bodies with checks or loops of their own (the scheduler tiles those), short rows, small arrays, and rows that the two do not
//! share.
//! Worth: tests/survey/with-loops/row-norms (1.3 to 2.4 with Cranelift, 1.25 with LLVM).

use crate::edit::{Defs, Renames, all_insts, drop_inst, has_loop, reads_of, with_of};
use crate::facts::{Places, Use, covers_frame, region_has_effect, rewrite_withs, same_int};
use crate::pass::{Context, Pass};
use ravel_types::{HashSet, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp, cell_type};

pub const PASS: Pass =
    Pass::of("fuse-nested", "join with-loops over rows with those over elements that read their results", fuse_nested);

/// Rows of fewer elements are no loops of their own.
const LEAST_ROW: i64 = 32;
/// Elements of arrays that stay in a cache between the two with-loops.
const CACHED: i64 = 1 << 15;

/// A with-loop over leading axes, and one over more axes behind it.
struct Pair {
    rows: Inst,
    elements: Inst,
    /// Number of the shared axes.
    rank: usize,
}

pub fn fuse_nested(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_withs(func, |func, defs, places, (_, elements)| {
        let span = func.insts[elements].span;
        let pairs = find(func, places, defs, elements);
        let mut checked = pairs.iter().map(|pair| check(func, places, defs, pair, cx).map(|()| pair));
        let pair = checked.next()?.or_else(|why| checked.find_map(Result::ok).ok_or(why));
        let pair = pair.map_err(|why| cx.refused(span, why)).ok()?;
        cx.applied(func.insts[pair.rows].span, "computed row by row beside the with-loop that reads it");
        cx.applied(span, "joined with the with-loop over its rows: each row is read while it is in a cache");
        join(func, places, pair);
        Some(())
    })
}

/// The only partition of a with-loop that makes arrays of scalars, all of them, and its frame.
fn whole<'f>(func: &'f Func, defs: &Defs, with: &'f With) -> Option<(&'f Part, &'f [Value])> {
    let [part] = &with.parts[..] else { return None };
    let mut frame: Option<&[Value]> = None;
    for op in &with.ops {
        let WithOp::Genarray { frame: Frame::Known(of), cell: Some(cell), .. } = op else { return None };
        if !cell.is_empty() || !covers_frame(func, defs, part, of) {
            return None;
        }
        frame.get_or_insert(of);
    }
    Some((part, frame.filter(|_| !with.ordered)?))
}

/// Does an index begin with these?
fn begins_with(index: &[Value], params: &[Value]) -> bool {
    index.len() >= params.len() && index.iter().zip(params).all(|(a, b)| a == b)
}

/// The with-loops over the leading axes of this one whose results it reads at its own row.
fn find(func: &Func, places: &Places, defs: &Defs, elements: Inst) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    let Some((part, frame)) = with_of(func, elements).and_then(|with| whole(func, defs, with)) else { return pairs };
    let params = &func.regions[part.body].params;
    let Some(home) = places.home(elements) else { return pairs };
    for inst in all_insts(func, part.body) {
        let Op::Sel { array, index } = &func.insts[inst].op else { continue };
        let Some(rows) = defs.inst(*array).filter(|rows| places.home(*rows) == Some(home)) else {
            continue;
        };
        let Some((outer, outer_frame)) = with_of(func, rows).and_then(|with| whole(func, defs, with)) else { continue };
        let rank = outer_frame.len();
        let folds = func.regions[outer.body].insts.iter().any(|i| matches!(func.insts[*i].op, Op::With(_)));
        let same =
            rank > 0 && rank <= frame.len() && outer_frame.iter().zip(frame).all(|(a, b)| same_int(func, defs, *a, *b));
        if folds
            && same
            && index.len() == rank
            && begins_with(index, &params[..rank])
            && pairs.iter().all(|pair| pair.rows != rows)
        {
            pairs.push(Pair { rows, elements, rank });
        }
    }
    pairs
}

fn check(func: &Func, places: &Places, defs: &Defs, pair: &Pair, cx: &Context) -> Result<(), &'static str> {
    let (Some(a), Some(b)) = (with_of(func, pair.rows), with_of(func, pair.elements)) else { return Err("it is none") };
    let (outer, inner) = (&a.parts[0], &b.parts[0]);
    if region_has_effect(func, outer.body, cx) || region_has_effect(func, inner.body, cx) {
        return Err("it, or the with-loop over its rows, has checks that could not be proven");
    }
    let Generator::Known { lower, upper, .. } = &inner.generator else { return Err("its rank is not known") };
    let has_rows = lower.len() > pair.rank;
    if has_rows && has_loop(func, inner.body) {
        return Err("its body has loops of its own, which a row of elements would hide");
    }
    // Of the results of the first one the second one may read its own row, and nobody in between anything.
    let params = &func.regions[inner.body].params[..pair.rank];
    let (made, insts) = (&func.insts[pair.rows].results, region_insts(func, places, pair.rows));
    let at = |inst: Inst| insts.iter().position(|i| *i == inst);
    let (Some(p), Some(q)) = (at(pair.rows), at(pair.elements)) else { return Err("they are in different places") };
    let between = insts[p + 1..q].iter().any(|i| reads_of(func, *i).iter().any(|v| made.contains(v)));
    if between {
        return Err("something before it needs all results of the with-loop over its rows");
    }
    for &v in made {
        for u in places.uses(v) {
            let Use::Operand(user) = u else { continue };
            let inside = is_inside(places, *user, inner.body);
            let own_row = matches!(&func.insts[*user].op, Op::Sel { array, index } if *array == v && index.len() == pair.rank && begins_with(index, params));
            if inside && !own_row {
                return Err("it reads results for other rows than its own");
            }
        }
    }
    let rows = shared_rows(func, outer, inner, pair.rank);
    if rows.is_empty() {
        return Err("it reads no rows that the with-loop over its rows reads too");
    }
    let count =
        |v: &Value| func.ty(*v).shape.constants().map(|extents| extents.iter().map(|e| i64::from(*e)).product::<i64>());
    if !cx.eager && rows.iter().all(|v| count(v).is_some_and(|n| n <= CACHED)) {
        return Err("what it and the with-loop over its rows read stays in a cache");
    }
    let length = (pair.rank..lower.len())
        .try_fold(1i64, |n, axis| Some(n * i64::from(defs.int(func, upper[axis])? - defs.int(func, lower[axis])?)));
    if !cx.eager && has_rows && length.is_some_and(|n| n < LEAST_ROW) {
        return Err("its rows are too short for loops of their own");
    }
    Ok(())
}

fn region_insts<'f>(func: &'f Func, places: &Places, inst: Inst) -> &'f [Inst] {
    places.home(inst).map_or(&[], |region| &func.regions[region].insts)
}

fn is_inside(places: &Places, inst: Inst, region: Region) -> bool {
    places.within(region, inst).is_some()
}

/// Arrays of which both bodies select elements of their own row.
fn shared_rows(func: &Func, outer: &Part, inner: &Part, rank: usize) -> HashSet<Value> {
    let selected = |part: &Part| {
        let params = &func.regions[part.body].params[..rank];
        let mut arrays = HashSet::default();
        walk(func, part.body, &mut |_, inst| {
            if let Op::Sel { array, index } = &func.insts[inst].op
                && index.len() > rank
                && begins_with(index, params)
            {
                arrays.insert(*array);
            }
        });
        arrays
    };
    selected(outer).intersection(&selected(inner)).copied().collect()
}

/// Puts the second with-loop, as one over the other axes, behind the body of the first one.
fn join(func: &mut Func, places: &Places, pair: &Pair) {
    let (Some(rows), Some(elements)) = (with_of(func, pair.rows).cloned(), with_of(func, pair.elements).cloned())
    else {
        return;
    };
    let (outer, inner) = (rows.parts[0].clone(), elements.parts[0].clone());
    let rank = pair.rank;
    let (made, cells) = (func.insts[pair.rows].results.clone(), func.regions[outer.body].yields.clone());
    // The body of the second one is about the row of the first one.
    let mut renames = Renames::default();
    let own: Vec<Value> = func.regions[inner.body].params.drain(..rank).collect();
    for (mine, theirs) in own.iter().zip(func.regions[outer.body].params.clone()) {
        renames.set(*mine, theirs);
    }
    let mut taken = HashSet::default();
    for (v, cell) in made.iter().zip(&cells) {
        for u in places.uses(*v) {
            let Use::Operand(user) = u else { continue };
            if is_inside(places, *user, inner.body) {
                renames.set(func.insts[*user].results[0], *cell);
                taken.insert(*user);
            }
        }
    }
    drop_insts(func, inner.body, &taken);
    renames.apply_region(func, inner.body);
    // What else is read of the first one is made too.
    let kept: Vec<usize> = (0..made.len())
        .filter(|k| places.uses(made[*k]).iter().any(|u| !matches!(u, Use::Operand(user) if taken.contains(user))))
        .collect();
    let (new_cells, new_ops) = if func.regions[inner.body].params.is_empty() {
        let behind = std::mem::take(&mut func.regions[inner.body].insts);
        func.regions[outer.body].insts.extend(behind);
        (func.regions[inner.body].yields.clone(), elements.ops.clone())
    } else {
        let Some(row) = row_of(func, pair, &elements, &inner) else { return };
        func.regions[outer.body].insts.push(row.0);
        (func.insts[row.0].results.clone(), row.1)
    };
    let ops = kept.iter().map(|k| rows.ops[*k].clone()).chain(new_ops).collect();
    func.regions[outer.body].yields = kept.iter().map(|k| cells[*k]).chain(new_cells).collect();
    let results = kept.iter().map(|k| made[*k]).chain(func.insts[pair.elements].results.clone()).collect();
    func.insts[pair.elements].op = Op::With(With { parts: vec![outer], ops, ordered: false });
    func.insts[pair.elements].results = results;
    if let Some(home) = places.home(pair.rows) {
        drop_inst(func, home, pair.rows);
    }
}

/// The second with-loop for a single row, and the operators that collect its rows.
fn row_of(func: &mut Func, pair: &Pair, elements: &With, inner: &Part) -> Option<(Inst, Vec<WithOp>)> {
    let rank = pair.rank;
    let Generator::Known { lower, upper, step, width } = &inner.generator else { return None };
    let generator = Generator::Known {
        lower: lower[rank..].to_vec(),
        upper: upper[rank..].to_vec(),
        step: step.as_ref().map(|s| s[rank..].to_vec()),
        width: width.as_ref().map(|w| w[rank..].to_vec()),
    };
    let (mut inner_ops, mut outer_ops) = (Vec::new(), Vec::new());
    for op in &elements.ops {
        let WithOp::Genarray { frame: Frame::Known(frame), default, .. } = op else { return None };
        inner_ops.push(WithOp::Genarray {
            frame: Frame::Known(frame[rank..].to_vec()),
            cell: Some(Vec::new()),
            default: *default,
        });
        outer_ops.push(WithOp::Genarray {
            frame: Frame::Known(frame[..rank].to_vec()),
            cell: Some(frame[rank..].to_vec()),
            default: None,
        });
    }
    let types: Vec<Ty> = func.insts[pair.elements].results.iter().map(|v| cell_type(func.ty(*v), rank)).collect();
    let row = Op::With(With { parts: vec![Part { generator, body: inner.body }], ops: inner_ops, ordered: false });
    Some((func.make_inst(row, types, func.insts[pair.elements].span), outer_ops))
}

/// Takes instructions out of a region and of those in it.
fn drop_insts(func: &mut Func, region: Region, dropped: &HashSet<Inst>) {
    func.regions[region].insts.retain(|i| !dropped.contains(i));
    for inst in func.regions[region].insts.clone() {
        for nested in func.insts[inst].op.regions() {
            drop_insts(func, nested, dropped);
        }
    }
}
