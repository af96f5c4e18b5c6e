//! Matrices that are made, and read again, along their columns are kept transposed.
//!
//! ```text
//!    t = genarray { [i, j] -> 2 * a[j, i] }   b = genarray { [i, j] -> t[i, j] + t[i, j + 1] }   genarray { [i, j] -> b[j, i] }
//! => t = genarray { [j, i] -> 2 * a[j, i] }   b = genarray { [j, i] -> t[j, i] + t[j + 1, i] }   genarray { [i, j] -> b[i, j] }
//! ```
//!
//! Programs that do along the columns what a function does along the rows transpose, call it, and transpose back; folding leaves with-loops that
//! read across their rows, where every lane takes a line of the cache. Each with-loop over a matrix may run, and store, either way round;
//! selections want the axis that the lanes run along to be the last of their arrays. The orientations are chosen together: turning one with-loop
//! alone often gains nothing. Greedy: single with-loops are turned, and pairs of which one reads the other, as long as fewer selections run across.
//!
//! Before: folding and fusion have ended, or they would undo this. After: no with-loop, or pair, whose turning leaves fewer such selections.
//! Leaves alone: arrays that anything but such selections uses, or that inner loops read, where lanes may run along another axis; bodies with loops
//! of their own, which decide that, too; bodies with effects or checks, which have an order; and matrices with a short axis.
//! Worth: tests/survey/with-loops/along-columns (1.2 to 1.4 with Cranelift, 2.3 to 4.9 with LLVM).

use crate::edit::{Defs, has_loop};
use crate::facts::{Places, Use, region_has_effect};
use crate::pass::{Context, Pass};
use ravel_types::{HashMap, HashSet, Shape};
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("choose-layouts", "keep matrices transposed that are made and read along their columns", choose_layouts);

/// Least extent of either axis, if known: a short row is in a line or two of the cache whichever way it is read.
const LEAST_EXTENT: i32 = 16;

/// What a selection runs along: of the with-loop around it, as it stands and turned, the place in the index that follows its innermost axis.
struct Read {
    /// The with-loop that reads, if it can be turned, by number.
    reader: Option<usize>,
    /// The with-loop that made the array, if it can be turned, by number.
    made: Option<usize>,
    /// For the reader as it stands and turned: do lanes run across the rows of the array as it stands, and as it would be turned?
    across: [[bool; 2]; 2],
}

impl Read {
    fn cost(&self, turned: &[bool]) -> usize {
        let is_turned = |with: Option<usize>| with.is_some_and(|with| turned[with]);
        usize::from(self.across[usize::from(is_turned(self.reader))][usize::from(is_turned(self.made))])
    }
}

pub fn choose_layouts(func: &mut Func, cx: &mut Context) -> bool {
    let (places, defs) = (Places::new(func), Defs::new(func));
    let is_candidate = |with: &Inst| can_turn(func, cx, &places, &defs, *with);
    let candidates: Vec<Inst> = places.withs.iter().copied().filter(is_candidate).collect();
    if candidates.is_empty() {
        return false;
    }
    let turned = orientations(candidates.len(), &reads(func, &places, &candidates));
    for (&with, _) in candidates.iter().zip(&turned).filter(|(_, turned)| **turned) {
        cx.applied(
            func.insts[with].span,
            "it is kept transposed: so the lanes of what makes and reads it run along rows",
        );
        turn(func, &places, with);
    }
    turned.contains(&true)
}

/// A matrix of scalars, made without effects, of which nothing is used but elements, by code that lanes run through, and extents.
fn can_turn(func: &Func, cx: &Context, places: &Places, defs: &Defs, inst: Inst) -> bool {
    let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return false };
    let [WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. }] = &ops[..] else { return false };
    let short = |extent: &Value| defs.int(func, *extent).is_some_and(|n| n < LEAST_EXTENT);
    if frame.len() != 2 || !cell.is_empty() || frame.iter().any(short) {
        return false;
    }
    let plain = |part: &Part| {
        matches!(part.generator, Generator::Known { .. })
            && !region_has_effect(func, part.body, cx)
            && !has_loop(func, part.body)
    };
    let [result] = func.insts[inst].results[..] else { return false };
    let is_element = |place: &Use| match place {
        Use::Operand(user) => match &func.insts[*user].op {
            Op::Extent { .. } => true,
            Op::Sel { array, index } => {
                *array == result
                    && index.len() == 2
                    && body_around(func, places, *user).is_some_and(|(with, _)| !places.is_inside_with(func, with))
            }
            _ => false,
        },
        Use::Yield(_) => false,
    };
    func.ty(result).shape.extents().is_some_and(|extents| extents.len() == 2)
        && parts.iter().all(plain)
        && places.uses(result).iter().all(is_element)
}

/// The with-loop and its body around an instruction, if nothing but branches stands between.
fn body_around(func: &Func, places: &Places, inst: Inst) -> Option<(Inst, Region)> {
    let mut region = places.home(inst)?;
    loop {
        let owner = places.owner_of(region)?;
        match func.insts[owner].op {
            Op::With(_) => return Some((owner, region)),
            Op::If { .. } => region = places.home(owner)?,
            _ => return None,
        }
    }
}

/// The selections of matrices in and from candidates.
fn reads(func: &Func, places: &Places, candidates: &[Inst]) -> Vec<Read> {
    let number: HashMap<Inst, usize> = candidates.iter().copied().zip(0..).collect();
    let made: HashMap<Value, usize> = candidates.iter().map(|with| func.insts[*with].results[0]).zip(0..).collect();
    let mut reads = Vec::new();
    for &with in &places.withs {
        let Op::With(With { parts, .. }) = &func.insts[with].op else { continue };
        for body in parts.iter().map(|part| part.body) {
            let &[.., first, last] = &*func.regions[body].params else {
                let &[only] = &*func.regions[body].params else { continue };
                collect(func, places, &made, (None, body), [only, only], &mut reads);
                continue;
            };
            collect(func, places, &made, (number.get(&with).copied(), body), [last, first], &mut reads);
        }
    }
    reads
}

/// Those of one body; `along` are the innermost axes of the with-loop as it stands and turned.
fn collect(
    func: &Func,
    places: &Places,
    made: &HashMap<Value, usize>,
    (reader, body): (Option<usize>, Region),
    along: [Value; 2],
    reads: &mut Vec<Read>,
) {
    let follows = along.map(|axis| followers(func, body, axis));
    walk(func, body, &mut |_, inst| {
        let Op::Sel { array, index } = &func.insts[inst].op else { return };
        let &[row, column] = &index[..] else { return };
        let made = made.get(array).copied();
        if (made.is_none() && reader.is_none()) || body_around(func, places, inst).is_none_or(|(_, b)| b != body) {
            return;
        }
        let across = follows.each_ref().map(|follows| [follows.contains(&row), follows.contains(&column)]);
        reads.push(Read { reader, made, across });
    });
}

/// The values of a body that may vary with one of its parameters.
fn followers(func: &Func, body: Region, param: Value) -> HashSet<Value> {
    let mut set = HashSet::from_iter([param]);
    follow(func, body, &mut set);
    set
}

/// Adds what follows; does anything in the region?
fn follow(func: &Func, region: Region, set: &mut HashSet<Value>) -> bool {
    let mut any = false;
    for &inst in &func.regions[region].insts {
        let op = &func.insts[inst].op;
        let mut varies = false;
        op.for_each_operand(|v| varies |= set.contains(&v));
        for nested in op.regions() {
            // What a loop carries may come to vary where its first value does not.
            if varies {
                set.extend(func.regions[nested].params.iter().copied());
            }
            varies |= follow(func, nested, set);
        }
        if varies {
            set.extend(func.insts[inst].results.iter().copied());
        }
        any |= varies;
    }
    any | func.regions[region].yields.iter().any(|v| set.contains(v))
}

/// Which of the with-loops to turn, for fewest selections across rows.
fn orientations(count: usize, reads: &[Read]) -> Vec<bool> {
    let mut turned = vec![false; count];
    let pairs = reads.iter().filter_map(|read| Some(vec![read.reader?, read.made?])).filter(|pair| pair[0] != pair[1]);
    let moves: Vec<Vec<usize>> = (0..count).map(|one| vec![one]).chain(pairs).collect();
    let cost = |turned: &[bool]| -> usize { reads.iter().map(|read| read.cost(turned)).sum() };
    let mut least = cost(&turned);
    loop {
        let before = least;
        for group in &moves {
            for with in group {
                turned[*with] = !turned[*with];
            }
            let now = cost(&turned);
            if now < least {
                least = now;
                continue;
            }
            for with in group {
                turned[*with] = !turned[*with];
            }
        }
        if least == before {
            return turned;
        }
    }
}

/// Exchanges the axes of a with-loop, and of its array where that is used.
fn turn(func: &mut Func, places: &Places, inst: Inst) {
    let (result, span) = (func.insts[inst].results[0], func.insts[inst].span);
    let Some(region) = places.home(inst) else { return };
    let Op::With(mut with) = func.insts[inst].op.clone() else { return };
    for part in &mut with.parts {
        if let Generator::Known { lower, upper, step, width } = &mut part.generator {
            [Some(lower), Some(upper), step.as_mut(), width.as_mut()].into_iter().flatten().for_each(|v| v.reverse());
        }
        func.regions[part.body].params.reverse();
    }
    if let [WithOp::Genarray { frame: Frame::Known(frame), .. }] = &mut with.ops[..] {
        frame.reverse();
    }
    let mut ty = func.ty(result).clone();
    if let Shape::Known(extents) = &mut ty.shape {
        extents.reverse();
    }
    let made = func.make_inst(Op::With(with), vec![ty], span);
    let new = func.insts[made].results[0];
    if let Some(at) = func.regions[region].insts.iter_mut().find(|at| **at == inst) {
        *at = made;
    }
    for place in places.uses(result) {
        let Use::Operand(user) = place else { continue };
        match &mut func.insts[*user].op {
            Op::Sel { array, index } => {
                *array = new;
                index.reverse();
            }
            Op::Extent { array, axis } => {
                *array = new;
                *axis = 1 - *axis;
            }
            _ => {}
        }
    }
}
