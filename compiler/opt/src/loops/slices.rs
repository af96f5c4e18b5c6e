//! Arrays of which a loop keeps a part in each iteration stay where they are: the loop carries where the part begins, and its extents.
//!
//! ```text
//!    loop (%q = %a) { .. %q[0] ..  %n = with { yield %q[i + 1] } genarray [%m]   yield %more, %n }
//! => loop (%len = shape(%a)[0], %off = 0) { .. %a[%off + 0] ..  yield %more, %m, %off + 1 }
//! ```
//!
//! Queues, worklists and lists in the functional style, `while (shape(q)[0] > 0) { .. q = drop([1], q); }`, take O(n) in all then, not O(n^2);
//! so do merges, which shorten one list or the other, and trees whose levels shrink.
//!
//! Before: folding has ended, so that parts of parts are one with-loop. After: no such array is carried by a loop. One that is needed
//! behind the loop is made there, once.
//! Leaves alone: arrays that the loop changes, or uses otherwise than by elements and extents.
//! Worth: tests/survey/scans/work-queue (500 with Cranelift, 600 with LLVM).

use crate::edit::{Def, Defs, Emitter, Renames, drop_inst, insert_after, insert_before, loops_of, replace_inst};
use crate::facts::places::{Places, Use, covers_frame};
use crate::pass::{Context, Pass};
use ravel_source::Span;
use ravel_types::HashMap;
use ravel_types::{BinOp, Elem, Ty};
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, RegionData, Value, With, WithOp};

pub const PASS: Pass =
    Pass::of("carry-slices", "carry the bounds of the part of an array that a loop keeps", carry_slices);

/// A value that is a part of the carried array.
enum View {
    /// The array itself.
    Whole,
    /// What a with-loop copies of a view: its extents, and its first index where that is not zero.
    Part { of: Value, copy: Inst, extents: Vec<Value>, first: Vec<Option<Value>> },
    /// The result of a branch whose sides yield views.
    Branch(Inst),
}

type Views = HashMap<Value, View>;

pub fn carry_slices(func: &mut Func, cx: &mut Context) -> bool {
    let mut changed = false;
    // Valid until something changes.
    let mut facts = None;
    // Inner loops first: what they leave of an array may be a part of what an outer one carries.
    for (region, inst) in loops_of(func).into_iter().rev() {
        while func.insts[inst].results.iter().any(|v| !func.ty(*v).is_scalar()) {
            let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
            let Some((k, views)) = (Search { func, defs, places }).shrinking(inst) else { break };
            cx.applied(func.insts[inst].span, "an array of which each iteration keeps a part stays where it is");
            rewrite(Rewriter { func, defs, places, views, bounds: HashMap::default() }, region, inst, k);
            (facts, changed) = (None, true);
        }
    }
    changed
}

struct Search<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
}

impl Search<'_> {
    /// An array that the loop carries, by position, and its parts, of which one is the array of the next iteration.
    fn shrinking(&self, inst: Inst) -> Option<(usize, Views)> {
        let func = self.func;
        let Op::Loop { init, body } = &func.insts[inst].op else { return None };
        let data = &func.regions[*body];
        (0..init.len()).find_map(|k| {
            let (array, next) = (data.params[k], data.yields[k + 1]);
            let rank = func.ty(array).rank().filter(|rank| *rank > 0)?;
            let mut views = HashMap::from_iter([(array, View::Whole)]);
            self.collect(next, &mut views)?;
            let shrinks = views.values().any(|v| matches!(v, View::Part { .. }));
            let ranks = [init[k], next].map(|v| func.ty(v).rank());
            let read = || views.keys().all(|v| self.is_only_read(*v, &views, (*body, k + 1)));
            (shrinks && ranks == [Some(rank); 2] && read()).then_some((k, views))
        })
    }

    /// Adds a value and what it is made of, if all of that are views.
    fn collect(&self, v: Value, views: &mut Views) -> Option<()> {
        if views.contains_key(&v) {
            return Some(());
        }
        let Def::Inst(inst, k) = self.defs.get(v) else { return None };
        let view = match &self.func.insts[inst].op {
            Op::With(with) => {
                let (of, part) = self.part(inst, with)?;
                self.collect(of, views)?;
                part
            }
            Op::If { then, els, .. } => {
                for side in [then, els] {
                    self.collect(self.func.regions[*side].yields[k as usize], views)?;
                }
                View::Branch(inst)
            }
            _ => return None,
        };
        views.insert(v, view);
        Some(())
    }

    /// A with-loop that copies a box of an array, and nothing else.
    fn part(&self, copy: Inst, with: &With) -> Option<(Value, View)> {
        let func = self.func;
        let With { parts, ops, ordered: false } = with else { return None };
        let ([part], [WithOp::Genarray { frame: Frame::Known(frame), cell: Some(cell), .. }]) = (&parts[..], &ops[..])
        else {
            return None;
        };
        let data = &func.regions[part.body];
        let [element] = data.yields[..] else { return None };
        let &Op::Sel { array: of, ref index } = self.defs.op(func, element)? else { return None };
        let plain = |i: &Inst| matches!(func.insts[*i].op, Op::Sel { .. } | Op::Bin(BinOp::Add, ..) | Op::Const(_));
        if !cell.is_empty()
            || index.len() != frame.len()
            || !data.insts.iter().all(plain)
            || !covers_frame(func, self.defs, part, frame)
        {
            return None;
        }
        let outside = |v: Value| match self.defs.get(v) {
            Def::Inst(inst, _) => {
                self.places.region_of[inst].expand() != Some(part.body) || self.defs.int(func, v).is_some()
            }
            Def::Param(region, _) => region != part.body,
            Def::None => false,
        };
        let first = index.iter().zip(&data.params).map(|(i, param)| match self.defs.op(func, *i) {
            _ if i == param => Some(None),
            Some(Op::Bin(BinOp::Add, a, b)) if a == param && outside(*b) => Some(Some(*b)),
            Some(Op::Bin(BinOp::Add, a, b)) if b == param && outside(*a) => Some(Some(*a)),
            _ => None,
        });
        let first = first.collect::<Option<_>>()?;
        Some((of, View::Part { of, copy, extents: frame.clone(), first }))
    }

    /// Is a view used by elements and extents alone, and yielded as a view, or to the next iteration at its place?
    fn is_only_read(&self, v: Value, views: &Views, next: (Region, usize)) -> bool {
        let func = self.func;
        let rank = func.ty(v).rank();
        let is_view = |region: Region, at: usize| match self.places.owner[region].expand() {
            Some(owner) if matches!(func.insts[owner].op, Op::If { .. }) => {
                views.contains_key(&func.insts[owner].results[at])
            }
            _ => false,
        };
        self.places.uses(v).iter().all(|user| match user {
            Use::Operand(inst) => match &func.insts[*inst].op {
                Op::Extent { .. } => true,
                Op::Sel { index, .. } => rank == Some(index.len()),
                _ => false,
            },
            Use::Yield(region) => {
                let mut yields = func.regions[*region].yields.iter().enumerate().filter(|(_, y)| **y == v);
                yields.all(|(at, _)| (*region, at) == next || is_view(*region, at))
            }
        })
    }
}

/// Extents and first indices of what a view has of the array, one for each axis.
#[derive(Clone)]
struct Bounds {
    extents: Vec<Value>,
    first: Vec<Value>,
}

impl Bounds {
    fn new(func: &mut Func, rank: usize) -> Bounds {
        let mut ints = || (0..rank).map(|_| func.new_value(Ty::scalar(Elem::I32))).collect();
        Bounds { extents: ints(), first: ints() }
    }

    /// Puts them in the place of an array.
    fn replace(&self, list: &mut Vec<Value>, at: usize) {
        list.splice(at..=at, self.extents.iter().chain(&self.first).copied());
    }
}

struct Rewriter<'a> {
    func: &'a mut Func,
    defs: &'a mut Defs,
    /// Before the rewriting.
    places: &'a Places,
    views: Views,
    bounds: HashMap<Value, Bounds>,
}

fn rewrite(mut r: Rewriter, region: Region, inst: Inst, k: usize) {
    let span = r.func.insts[inst].span;
    let Op::Loop { mut init, body } = r.func.insts[inst].op.clone() else { return };
    let (whole, array, next) = (init[k], r.func.regions[body].params[k], r.func.regions[body].yields[k + 1]);
    let result = r.func.insts[inst].results[k];
    let rank = r.func.ty(array).rank().unwrap_or(0);

    let mut before = Vec::new();
    let mut e = Emitter { func: r.func, defs: r.defs, out: &mut before, span };
    let extent = |axis| e.emit(Op::Extent { array: whole, axis }, Ty::scalar(Elem::I32));
    let extents = (0..rank as u32).map(extent).collect();
    let start = Bounds { extents, first: vec![e.int(0); rank] };
    let params = Bounds::new(r.func, rank);
    r.bounds.insert(array, params.clone());
    let next = r.resolve(next);
    let left = Bounds::new(r.func, rank);
    start.replace(&mut init, k);
    params.replace(&mut r.func.regions[body].params, k);
    next.replace(&mut r.func.regions[body].yields, k + 1);
    left.replace(&mut r.func.insts[inst].results, k);
    r.func.insts[inst].op = Op::Loop { init, body };
    r.read_whole(whole);

    let after = if r.places.uses(result).is_empty() { Vec::new() } else { r.make(whole, result, &left, span) };
    insert_after(r.func, region, inst, after);
    insert_before(r.func, region, inst, before);
}

impl Rewriter<'_> {
    /// The bounds of a view, computed where it was made.
    fn resolve(&mut self, v: Value) -> Bounds {
        if let Some(bounds) = self.bounds.get(&v) {
            return bounds.clone();
        }
        let bounds = match self.views.remove(&v) {
            Some(View::Part { of, copy, extents, first }) => {
                let of = self.resolve(of);
                let mut out = Vec::new();
                let span = self.func.insts[copy].span;
                let mut e = Emitter { func: self.func, defs: self.defs, out: &mut out, span };
                let moved = |(from, first): (&Value, &Option<Value>)| match *first {
                    None => *from,
                    Some(first) => {
                        // A constant may stand in the with-loop.
                        let first = e.defs.int(e.func, first).map_or(first, |n| e.int(n));
                        e.int_op(BinOp::Add, *from, first)
                    }
                };
                let first = of.first.iter().zip(&first).map(moved).collect();
                if let Some(region) = self.places.region_of[copy].expand() {
                    replace_inst(self.func, region, copy, out);
                }
                Bounds { extents, first }
            }
            Some(View::Branch(inst)) => {
                let position = |r: &Self| r.func.insts[inst].results.iter().position(|result| *result == v);
                let sides = match self.func.insts[inst].op {
                    Op::If { then, els, .. } => [then, els],
                    _ => unreachable!("views are made of branches"),
                };
                for side in sides {
                    // Other results of the branch may be views, too, and move this one.
                    let k = position(self).expect("the branch has this result");
                    let own = self.func.regions[side].yields[k];
                    let bounds = self.resolve(own);
                    bounds.replace(&mut self.func.regions[side].yields, k);
                }
                let results = Bounds::new(self.func, self.func.ty(v).rank().unwrap_or(0));
                let k = position(self).expect("the branch has this result");
                results.replace(&mut self.func.insts[inst].results, k);
                results
            }
            Some(View::Whole) | None => unreachable!("the carried array has bounds"),
        };
        self.bounds.insert(v, bounds.clone());
        bounds
    }

    /// Elements and extents of views become those of the whole array.
    fn read_whole(&mut self, whole: Value) {
        let mut renames = Renames::default();
        let mut views: Vec<Value> = self.bounds.keys().copied().collect();
        views.sort();
        for view in views {
            let bounds = &self.bounds[&view];
            for user in self.places.uses(view) {
                let Use::Operand(inst) = *user else { continue };
                let Some(home) = self.places.region_of[inst].expand() else { continue };
                let (mut out, span) = (Vec::new(), self.func.insts[inst].span);
                match self.func.insts[inst].op.clone() {
                    Op::Extent { axis, .. } => {
                        renames.set(self.func.insts[inst].results[0], bounds.extents[axis as usize]);
                        drop_inst(self.func, home, inst);
                    }
                    Op::Sel { index, .. } => {
                        let mut e = Emitter { func: self.func, defs: self.defs, out: &mut out, span };
                        let moved = |(i, from): (&Value, &Value)| e.int_op(BinOp::Add, *i, *from);
                        let index = index.iter().zip(&bounds.first).map(moved).collect();
                        self.func.insts[inst].op = Op::Sel { array: whole, index };
                        insert_before(self.func, home, inst, out);
                    }
                    _ => unreachable!("views are read by elements and extents"),
                }
            }
        }
        renames.apply(self.func);
    }

    /// Makes the part that the loop has left.
    fn make(&mut self, whole: Value, result: Value, left: &Bounds, span: Span) -> Vec<Inst> {
        let (func, rank) = (&mut *self.func, left.extents.len());
        let params: Vec<Value> = (0..rank).map(|_| func.new_value(Ty::scalar(Elem::I32))).collect();
        let ty = func.ty(result).clone();
        let (mut inner, mut out) = (Vec::new(), Vec::new());
        let mut e = Emitter { func, defs: self.defs, out: &mut inner, span };
        let index = params.iter().zip(&left.first).map(|(i, from)| e.int_op(BinOp::Add, *i, *from)).collect();
        let element = e.emit(Op::Sel { array: whole, index }, Ty::scalar(ty.elem));
        let body = func.regions.push(RegionData { params, insts: inner, yields: vec![element] });
        let zero = Emitter { func, defs: self.defs, out: &mut out, span }.int(0);
        let frame = left.extents.clone();
        let generator = Generator::Known { lower: vec![zero; rank], upper: frame.clone(), step: None, width: None };
        let ops = vec![WithOp::Genarray { frame: Frame::Known(frame), cell: Some(Vec::new()), default: None }];
        let with = With { parts: vec![Part { generator, body }], ops, ordered: false };
        let made = func.make_inst(Op::With(with), vec![ty], span);
        out.push(made);
        let mut renames = Renames::default();
        renames.set(result, func.insts[made].results[0]);
        renames.apply(func);
        out
    }
}
