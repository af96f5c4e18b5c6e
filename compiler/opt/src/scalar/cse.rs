//! Common subexpressions: of two equal computations the one that comes first, in the same region or around it, serves both.
//!
//! Before: anything. After: no region computes what it or an enclosing region has computed before it; with-loops, branches
//! and loops are compared as a whole, bodies also by what they yield, whatever the order of their instructions. A check of a condition that was
//! checked before is gone. Symbols for extents that turn out to be equal so become one, where nothing else mentions them.
//! Extents of one affine form are one value, the length that an array was made with if that is in sight: so what a loop asks of the array that it
//! carries is what is known of its first one.
//! Leaves alone: effects, and equal computations in regions of which neither encloses the other.
//! Worth: tests/survey/small/standardized (1.4 with Cranelift, 2.0 with LLVM).

use crate::edit::{Renames, collect_values, syms_of};
use crate::facts::{Key, form_key, key_of, region_has_effect};
use crate::pass::{Context, Pass};
use ravel_types::{Affine, HashSet, Shape, Ty};
use ravel_wir::{Frame, Func, Inst, Op, Region, Value, WithOp};
use rustc_hash::FxHashMap;

pub const PASS: Pass = Pass::of("cse", "compute equal things once", eliminate_common_subexpressions);

/// Walks forward with a table of what is available, scoped by regions.
pub fn eliminate_common_subexpressions(func: &mut Func, cx: &mut Context) -> bool {
    let (renames, available) = (Renames::default(), FxHashMap::default());
    let mut c = Cse { func, cx, renames, available, merged: Vec::new(), changed: false };
    let body = c.func.body;
    c.region(body);
    let (merged, changed) = (c.merged, c.changed);
    unite_symbols(func, &merged);
    changed
}

/// Gives values the symbols of their equals, where a symbol is mentioned in the region of the value alone.
fn unite_symbols(func: &mut Func, merged: &[(Region, Value, Value)]) {
    for &(region, old, new) in merged {
        let forms = |v: Value| func.ty(v).shape.extents().unwrap_or_default().to_vec();
        for (from, to) in forms(old).into_iter().zip(forms(new)) {
            let Some(sym) = from.as_sym().filter(|sym| to.terms().iter().all(|(s, _)| s != sym)) else { continue };
            let (mut all, mut inside) = (HashSet::default(), HashSet::default());
            collect_values(func, func.body, &mut all);
            collect_values(func, region, &mut inside);
            let mentions = |v: &Value| syms_of(func.ty(*v)).contains(&sym);
            let in_signature = func.regions[func.body].params.iter().any(mentions);
            if in_signature || !all.iter().filter(|v| mentions(v)).all(|v| inside.contains(v)) {
                continue;
            }
            for v in inside.into_iter().filter(|v| mentions(v)).collect::<Vec<_>>() {
                let ty = func.ty(v).clone();
                let extents = ty.shape.extents().unwrap_or_default().iter();
                let extents = extents.map(|e| e.map(|s| if s == sym { to.clone() } else { Affine::sym(s) })).collect();
                func.values[v].ty = Ty::new(ty.elem, Shape::Known(extents));
            }
        }
    }
}

struct Cse<'a> {
    func: &'a mut Func,
    cx: &'a Context,
    renames: Renames,
    available: FxHashMap<Key, Vec<Value>>,
    /// Values that are gone, with their region and their equals, where the two had different types.
    merged: Vec<(Region, Value, Value)>,
    changed: bool,
}

impl Cse<'_> {
    fn region(&mut self, region: Region) {
        let mut added = Vec::new();
        let insts = std::mem::take(&mut self.func.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            self.renames.apply_inst(self.func, inst);
            for nested in self.func.insts[inst].op.regions() {
                self.region(nested);
            }
            self.lengths(inst, &mut added);
            let keys = self.keys(inst);
            if keys.is_empty() {
                kept.push(inst);
                continue;
            }
            let results = self.func.insts[inst].results.clone();
            match keys.iter().find_map(|key| self.available.get(key)) {
                Some(first) => {
                    self.changed = true;
                    for (old, new) in results.iter().zip(first) {
                        self.renames.set(*old, *new);
                        if self.func.ty(*old) != self.func.ty(*new) {
                            self.merged.push((region, *old, *new));
                        }
                    }
                }
                None => {
                    for key in keys {
                        self.available.insert(key.clone(), results.clone());
                        added.push(key);
                    }
                    kept.push(inst);
                }
            }
        }
        self.func.regions[region].insts = kept;
        for v in &mut self.func.regions[region].yields {
            *v = self.renames.get(*v);
        }
        for key in added {
            self.available.remove(&key);
        }
    }

    /// Notes the lengths that an array is made with, each for the form of the extent.
    fn lengths(&mut self, inst: Inst, added: &mut Vec<Key>) {
        let Op::With(with) = &self.func.insts[inst].op else { return };
        for (op, result) in with.ops.iter().zip(&self.func.insts[inst].results) {
            let WithOp::Genarray { frame: Frame::Known(frame), .. } = op else { continue };
            let extents = self.func.ty(*result).shape.extents().unwrap_or_default();
            for (form, length) in extents.iter().zip(frame).filter(|(form, _)| form.as_const().is_none()) {
                let key = form_key(form);
                if !self.available.contains_key(&key) {
                    self.available.insert(key.clone(), vec![*length]);
                    added.push(key);
                }
            }
        }
    }

    /// The keys of an instruction, none if it has an effect. A check counts as a computation without results.
    fn keys(&self, inst: Inst) -> Vec<Key> {
        let op = &self.func.insts[inst].op;
        if let Op::Extent { array, axis } = op
            && let Some(form) = self.func.ty(*array).shape.extents().map(|extents| &extents[*axis as usize])
            && form.as_const().is_none()
        {
            return vec![form_key(form)];
        }
        let regions = op.regions();
        if regions.iter().any(|r| region_has_effect(self.func, *r, self.cx)) {
            return Vec::new();
        }
        // Equal operations of different order have equal keys by data, those whose operands are exchanged by order.
        let ways: &[bool] = if regions.is_empty() { &[false] } else { &[false, true] };
        ways.iter().filter_map(|by_data| key_of(self.func, self.cx, inst, *by_data)).collect()
    }
}
