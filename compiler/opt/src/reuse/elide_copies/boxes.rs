//! With-loops that copy an array but for some boxes, which partitions of their own compute, become updates of it.
//!
//! ```text
//!    genarray [n] { [0 <= i < k] -> f(i), [k <= i < n] -> a[i] }   =>   modarray(a) { [0 <= i < k] -> f(i) }
//! ```
//!
//! The array is changed in place then and the copied part costs nothing: an algorithm that works on half of the array in each iteration
//! (wavelets, reductions, sorting networks) takes O(n) in all, not O(n log n). Partitions that read the array elsewhere come first, into an array
//! of their own, if the box changes from iteration to iteration of a loop; otherwise copying once is as good.
//!
//! After: no such partition where the array is not needed any more.
//! Leaves alone: partitions that are not known to cover the result, since uncovered positions have the default; arrays that are needed later or
//! stand outside of the loop that has the with-loop.

use crate::edit::{Defs, Emitter, collect_values, insert_before};
use crate::facts::{Bounds, MAX_PARTS, Places, Use, bounds, covers, region_has_effect, rewrite_withs};
use crate::pass::Context;
use ravel_types::{Affine, BinOp, Elem, HashSet, Shape, Ty};
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};

/// What a with-loop copies.
struct Found {
    array: Value,
    /// The other partitions.
    changed: Vec<Part>,
    /// The upper bounds of the box that they cover, which begins at zero, if it must be made before the array is changed.
    first: Option<Vec<Value>>,
}

pub fn drop_copies(func: &mut Func, cx: &mut Context) -> bool {
    rewrite_withs(func, |func, defs, places, (region, inst)| {
        let found = Search { func, defs, places, cx }.copies(inst)?;
        rewrite(func, defs, region, inst, found);
        cx.applied(func.insts[inst].span, "what it copies stays in place, only the rest is computed");
        Some(())
    })
}

struct Search<'a> {
    func: &'a Func,
    defs: &'a Defs,
    places: &'a Places,
    cx: &'a Context,
}

impl Search<'_> {
    fn copies(&self, inst: Inst) -> Option<Found> {
        let func = self.func;
        let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { return None };
        let [WithOp::Genarray { frame: Frame::Known(frame), .. }] = &ops[..] else { return None };
        let ty = func.ty(func.insts[inst].results[0]);
        if parts.len() < 2 || parts.len() > MAX_PARTS || ty.rank() != Some(frame.len()) {
            return None;
        }
        let array = parts.iter().find_map(|part| self.copied(part, ty, frame))?;
        let (copies, changed): (Vec<Part>, Vec<Part>) =
            parts.iter().cloned().partition(|part| self.copied(part, ty, frame) == Some(array));
        if changed.is_empty()
            || changed.iter().any(|p| region_has_effect(func, p.body, self.cx))
            || !self.ends_here(inst, array)
        {
            return None;
        }
        let zero = self.zero(&parts[0])?;
        let whole: Bounds = frame.iter().map(|extent| (zero, *extent)).collect();
        let all: Vec<Bounds> = parts.iter().map(bounds).collect::<Option<_>>()?;
        if !covers(func, self.defs, &whole, &all) {
            return None;
        }
        if changed.iter().all(|part| self.reads_in_place(part, array)) {
            return Some(Found { array, changed, first: None });
        }
        // The box begins where the copies end, or extends over a whole axis.
        let upper: Vec<Value> = (0..frame.len())
            .map(|axis| {
                let begins = copies.iter().filter_map(bounds).map(|b| b[axis].0);
                begins.into_iter().find(|v| self.defs.int(func, *v) != Some(0)).unwrap_or(frame[axis])
            })
            .collect();
        let inner: Bounds = upper.iter().map(|u| (zero, *u)).collect();
        // No other partition lies outside of the box: the box and the copies are all there is.
        let kept: Vec<Bounds> = copies.iter().map(bounds).chain([Some(inner.clone())]).collect::<Option<_>>()?;
        if !covers(func, self.defs, &whole, &kept) {
            return None;
        }
        let rest: Vec<Bounds> = changed.iter().map(bounds).collect::<Option<_>>()?;
        let plain = changed.iter().all(|part| func.ty(func.regions[part.body].yields[0]).is_scalar());
        (plain && self.varies(inst, &upper) && covers(func, self.defs, &inner, &rest)).then_some(Found {
            array,
            changed,
            first: Some(upper),
        })
    }

    /// The array whose elements a partition copies to where they are. Its extents are those of the frame.
    fn copied(&self, part: &Part, ty: &Ty, frame: &[Value]) -> Option<Value> {
        let data = &self.func.regions[part.body];
        let [cell] = data.yields[..] else { return None };
        let &Op::Sel { array, ref index } = self.defs.op(self.func, cell)? else { return None };
        let own = self.func.ty(array);
        let extent = |(axis, v): (usize, &Value)| match self.defs.op(self.func, *v) {
            Some(&Op::Extent { array: a, axis: k }) => a == array && axis as u32 == k,
            _ => false,
        };
        let fits =
            own == ty || (own.elem == ty.elem && own.rank() == ty.rank() && frame.iter().enumerate().all(extent));
        let effects = data.insts.iter().any(|i| matches!(self.func.insts[*i].op, Op::Check { .. }));
        (*index == data.params && fits && !effects).then_some(array)
    }

    /// Whether the array is made in the region of the with-loop, which is the last to use it.
    fn ends_here(&self, inst: Inst, array: Value) -> bool {
        let Some(home) = self.places.home(inst) else { return false };
        let data = &self.func.regions[home];
        let made = self.places.made_in(self.defs, array) == Some(home);
        let Some(here) = data.insts.iter().position(|i| *i == inst) else { return false };
        made && self.places.uses(array).iter().all(|used| {
            let Use::Operand(user) = *used else { return false };
            let at = self.places.within(home, user).and_then(|at| data.insts.iter().position(|i| *i == at));
            at.is_some_and(|place| place <= here)
        })
    }

    fn zero(&self, part: &Part) -> Option<Value> {
        let Generator::Known { lower, .. } = &part.generator else { return None };
        lower.iter().copied().find(|v| self.defs.int(self.func, *v) == Some(0))
    }

    /// Whether a partition reads the array at its own index only.
    fn reads_in_place(&self, part: &Part, array: Value) -> bool {
        let params = &self.func.regions[part.body].params;
        let mut fits = true;
        walk(self.func, part.body, &mut |_, inst| match &self.func.insts[inst].op {
            Op::Sel { array: a, index } if *a == array => fits &= index == params,
            Op::Extent { .. } => {}
            op => op.for_each_operand(|v| fits &= v != array),
        });
        fits && !self.func.regions[part.body].yields.contains(&array)
    }

    /// Whether bounds change in the iterations of the loop around the with-loop.
    fn varies(&self, inst: Inst, bounds: &[Value]) -> bool {
        let Some(home) = self.places.home(inst) else { return false };
        let Some(&owner) = self.defs.loops.get(&home) else { return self.cx.eager };
        let mut own = HashSet::default();
        if let Op::Loop { body, .. } = self.func.insts[owner].op {
            collect_values(self.func, body, &mut own);
        }
        bounds.iter().any(|v| own.contains(v) && self.defs.int(self.func, *v).is_none())
    }
}

fn rewrite(func: &mut Func, defs: &mut Defs, region: Region, inst: Inst, found: Found) {
    let Found { array, changed, first } = found;
    let mut parts = changed;
    if let Some(upper) = first {
        let span = func.insts[inst].span;
        let elem = func.ty(array).elem;
        let mut out = Vec::new();
        let extents = upper.iter().map(|v| match defs.int(func, *v) {
            Some(n) => Affine::constant(n),
            None => Affine::sym(func.fresh_sym()),
        });
        let ty = Ty::new(elem, Shape::Known(extents.collect()));
        let mut e = Emitter { func, defs, out: &mut out, span };
        let zero = e.int(0);
        // An empty box may end in front of its beginning.
        let frame: Vec<Value> = upper.iter().map(|u| e.int_op(BinOp::Max, *u, zero)).collect();
        let op = WithOp::Genarray { frame: Frame::Known(frame), cell: Some(Vec::new()), default: None };
        let made = e.emit(Op::With(With { parts, ops: vec![op], ordered: false }), ty);
        let body = e.func.new_region();
        let index: Vec<Value> = upper.iter().map(|_| e.func.add_param(body, Ty::scalar(Elem::I32))).collect();
        let cell = e.func.push1(body, Op::Sel { array: made, index }, Ty::scalar(elem), span);
        e.func.regions[body].yields = vec![cell];
        let generator = Generator::Known { lower: vec![zero; upper.len()], upper, step: None, width: None };
        parts = vec![Part { generator, body }];
        insert_before(func, region, inst, out);
    }
    // The extents may have other names in its type.
    let result = func.insts[inst].results[0];
    if func.ty(result).shape.constants().is_none() {
        func.values[result].ty = func.ty(array).clone();
    }
    func.insts[inst].op = Op::With(With { parts, ops: vec![WithOp::Modarray { array }], ordered: false });
}
