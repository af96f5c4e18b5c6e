//! Where things are: the region of each instruction, the owner of each region, and the uses of each value.

use crate::edit::{Def, Defs};
use crate::facts::ranges::Ranges;
use crate::facts::sums::same_sum;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ravel_types::BinOp;
use ravel_wir::{Func, Generator, Inst, Op, Part, Region, Value, With, WithOp};
use smallvec::SmallVec;

/// One use of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// As an operand.
    Operand(Inst),
    /// A region yields it.
    Yield(Region),
}

/// The tree of regions, and uses; valid until the next edit that moves something.
pub struct Places {
    pub region_of: SecondaryMap<Inst, PackedOption<Region>>,
    /// The instruction that a region is part of.
    pub owner: SecondaryMap<Region, PackedOption<Inst>>,
    /// Most values have one or two.
    uses: SecondaryMap<Value, SmallVec<[Use; 2]>>,
    /// All with-loops, those inside others first, else in program order.
    pub withs: Vec<Inst>,
}

impl Places {
    pub fn new(func: &Func) -> Places {
        let mut places = Places {
            region_of: SecondaryMap::new(),
            owner: SecondaryMap::new(),
            uses: SecondaryMap::new(),
            withs: Vec::new(),
        };
        places.region_of.resize(func.insts.len());
        places.owner.resize(func.regions.len());
        places.uses.resize(func.values.len());
        places.visit(func, func.body);
        places
    }

    fn visit(&mut self, func: &Func, region: Region) {
        for &inst in &func.regions[region].insts {
            self.add(func, region, inst);
        }
        for &v in &func.regions[region].yields {
            self.uses[v].push(Use::Yield(region));
        }
    }

    /// Notes an instruction of a region, and everything inside it.
    pub fn add(&mut self, func: &Func, region: Region, inst: Inst) {
        self.region_of[inst] = region.into();
        let op = &func.insts[inst].op;
        op.for_each_operand(|v| self.uses[v].push(Use::Operand(inst)));
        for nested in op.regions() {
            self.owner[nested] = inst.into();
            self.visit(func, nested);
        }
        if matches!(op, Op::With(_)) {
            self.withs.push(inst);
        }
    }

    /// An instruction without regions is no longer part of the function.
    pub fn remove(&mut self, func: &Func, inst: Inst) {
        self.region_of[inst] = None.into();
        func.insts[inst].op.for_each_operand(|v| {
            if let Some(at) = self.uses[v].iter().rposition(|u| *u == Use::Operand(inst)) {
                self.uses[v].remove(at);
            }
        });
    }

    /// A region of an instruction is no longer part of the function, nor is anything in it.
    pub fn remove_region(&mut self, func: &Func, region: Region) {
        for &inst in &func.regions[region].insts {
            for nested in func.insts[inst].op.regions() {
                self.remove_region(func, nested);
            }
            self.remove(func, inst);
        }
        for v in &func.regions[region].yields {
            if let Some(at) = self.uses[*v].iter().rposition(|u| *u == Use::Yield(region)) {
                self.uses[*v].remove(at);
            }
        }
        self.owner[region] = None.into();
    }

    /// An instruction has got another region.
    pub fn add_region(&mut self, func: &Func, owner: Inst, region: Region) {
        self.owner[region] = owner.into();
        self.visit(func, region);
    }

    /// Lets `edit` change the operands of an instruction, which stays where it is with the regions that it has.
    pub fn change_operands<T>(&mut self, func: &mut Func, inst: Inst, edit: impl FnOnce(&mut Func) -> T) -> T {
        let home = self.region_of[inst];
        self.remove(func, inst);
        let result = edit(func);
        self.region_of[inst] = home;
        func.insts[inst].op.for_each_operand(|v| self.uses[v].push(Use::Operand(inst)));
        result
    }

    /// Puts `new` in the place of every use of `old`.
    pub fn rename(&mut self, func: &mut Func, old: Value, new: Value) {
        if old == new {
            return;
        }
        let uses = std::mem::take(&mut self.uses[old]);
        for u in &uses {
            let replace = |v: &mut Value| {
                if *v == old {
                    *v = new;
                }
            };
            match u {
                Use::Operand(inst) => func.insts[*inst].op.for_each_operand_mut(replace),
                Use::Yield(region) => func.regions[*region].yields.iter_mut().for_each(replace),
            }
        }
        self.uses[new].extend(uses);
    }

    /// The region that an instruction stands in; none if it is not part of the function.
    pub fn home(&self, inst: Inst) -> Option<Region> {
        self.region_of[inst].expand()
    }

    /// The instruction that a region is part of; none for the body of the function.
    pub fn owner_of(&self, region: Region) -> Option<Inst> {
        self.owner[region].expand()
    }

    /// The instructions that have one inside, from the inside out.
    pub fn owners(&self, inst: Inst) -> impl Iterator<Item = Inst> {
        let around = |inst: Inst| self.owner_of(self.home(inst)?);
        std::iter::successors(around(inst), move |inst| around(*inst))
    }

    /// The instruction of the region `home` that is `inst` or has it inside.
    pub fn within(&self, home: Region, inst: Inst) -> Option<Inst> {
        std::iter::once(inst).chain(self.owners(inst)).find(|inst| self.home(*inst) == Some(home))
    }

    /// The region that a value is made in.
    pub fn made_in(&self, defs: &Defs, value: Value) -> Option<Region> {
        match defs.get(value) {
            Def::Param(region, _) => Some(region),
            Def::Inst(inst, _) => self.home(inst),
            Def::None => None,
        }
    }

    pub fn uses(&self, value: Value) -> &[Use] {
        self.uses.get(value).map_or(&[], SmallVec::as_slice)
    }

    /// Regions from `inner` outward, up to but without `outer`; none if `outer` does not enclose it.
    pub fn path(&self, inner: Region, outer: Region) -> Option<Vec<Region>> {
        let mut path = Vec::new();
        let mut at = inner;
        while at != outer {
            path.push(at);
            at = self.parent(at)?;
        }
        Some(path)
    }

    /// Is an instruction part of a with-loop's body, at any depth?
    pub fn is_inside_with(&self, func: &Func, inst: Inst) -> bool {
        self.owners(inst).any(|owner| matches!(func.insts[owner].op, Op::With(_)))
    }

    pub fn parent(&self, region: Region) -> Option<Region> {
        self.home(self.owner_of(region)?)
    }

    /// What holds just before `inst`.
    pub fn ranges_at(&self, func: &Func, defs: &Defs, inst: Inst) -> Ranges {
        let mut ranges = Ranges::default();
        func.params().iter().for_each(|v| ranges.see(func, *v));
        let stops: Vec<Inst> = std::iter::once(inst).chain(self.owners(inst)).collect();
        for (stop, region) in stops.into_iter().rev().filter_map(|stop| Some((stop, self.home(stop)?))) {
            self.enter(func, defs, &mut ranges, region, stop);
        }
        ranges
    }

    /// Adds what holds in a region, up to just before `stop`, to what holds just before the instruction that has the region.
    pub fn enter(&self, func: &Func, defs: &Defs, ranges: &mut Ranges, region: Region, stop: Inst) {
        if let Some(owner) = self.owner_of(region) {
            match &func.insts[owner].op {
                Op::If { cond, then, .. } => ranges.assume(func, defs, *cond, *then == region),
                Op::Loop { init, body } => ranges.enter_loop(func, defs, init, *body),
                Op::With(with) => {
                    if let Some(part) = with.parts.iter().find(|p| p.body == region) {
                        ranges.enter_part(func, defs, part);
                    }
                }
                _ => {}
            }
        }
        for &earlier in func.regions[region].insts.iter().take_while(|i| **i != stop) {
            ranges.learn(func, defs, earlier);
        }
    }
}

/// Offers every with-loop and the region that it stands in to `rewrite`, those inside others first, with facts that hold then; `rewrite` gives
/// something where it has changed the function. Has it anywhere?
pub fn rewrite_withs(
    func: &mut Func,
    mut rewrite: impl FnMut(&mut Func, &mut Defs, &Places, (Region, Inst)) -> Option<()>,
) -> bool {
    let (mut facts, mut changed) = (None, false);
    for inst in Places::new(func).withs {
        let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
        let Some(home) = places.home(inst) else { continue };
        if rewrite(func, defs, places, (home, inst)).is_some() {
            (facts, changed) = (None, true);
        }
    }
    changed
}

/// Offers each partition of the unordered with-loops without folds to `visit`, with facts that hold then; `visit` says whether it has changed the
/// function. Those inside others come first. Has it changed anything?
pub fn visit_partitions(
    func: &mut Func,
    mut visit: impl FnMut(&mut Func, &Defs, &Places, Inst, &Part) -> bool,
) -> bool {
    let places = Places::new(func);
    let withs = places.withs.clone();
    if withs.is_empty() {
        return false;
    }
    let (mut facts, mut changed) = (Some((Defs::new(func), places)), false);
    for inst in withs {
        let Op::With(With { parts, ops, ordered: false }) = &func.insts[inst].op else { continue };
        if ops.iter().any(|op| matches!(op, WithOp::Fold { .. })) {
            continue;
        }
        for part in parts.clone() {
            let (defs, places) = facts.get_or_insert_with(|| (Defs::new(func), Places::new(func)));
            if visit(func, defs, places, inst, &part) {
                (facts, changed) = (None, true);
            }
        }
    }
    changed
}

/// Number of indices of a partition, if its bounds are constants.
pub fn trips(func: &Func, defs: &Defs, part: &Part) -> Option<u64> {
    let Generator::Known { lower, upper, step, width } = &part.generator else { return None };
    let mut product = 1u64;
    for axis in 0..lower.len() {
        let (l, u) = (i64::from(defs.int(func, lower[axis])?), i64::from(defs.int(func, upper[axis])?));
        let extent = (u - l).max(0);
        let n = match step {
            None => extent,
            Some(step) => {
                let s = i64::from(defs.int(func, step[axis])?).max(1);
                let w = match width {
                    Some(width) => i64::from(defs.int(func, width[axis])?),
                    None => 1,
                };
                extent / s * w + (extent % s).min(w)
            }
        };
        product = product.checked_mul(n as u64)?;
    }
    Some(product)
}

/// Number of indices of a with-loop.
pub fn total_trips(func: &Func, defs: &Defs, with: &With) -> Option<u64> {
    with.parts.iter().map(|p| trips(func, defs, p)).try_fold(0u64, |sum, n| sum.checked_add(n?))
}

/// Whether the partition has every index of the frame: from zero to its extents, without gaps.
pub fn covers_frame(func: &Func, defs: &Defs, part: &Part, frame: &[Value]) -> bool {
    let Generator::Known { lower, upper, step: None, .. } = &part.generator else { return false };
    lower.len() == frame.len()
        && lower.iter().all(|l| defs.int(func, *l) == Some(0))
        && upper.iter().zip(frame).all(|(u, f)| same_int(func, defs, *u, *f))
}

/// Whether two `i32` scalars are equal: one value, one constant, one extent, or one sum, `300 - i` and `-1 * i + 300`.
pub fn same_int(func: &Func, defs: &Defs, a: Value, b: Value) -> bool {
    if a == b {
        return true;
    }
    match (defs.op(func, a), defs.op(func, b)) {
        (Some(Op::Const(x)), Some(Op::Const(y))) => x == y,
        (Some(Op::Extent { array: x, axis: i }), Some(Op::Extent { array: y, axis: j })) => {
            let form = |v: Value, k: u32| func.ty(v).shape.extents().and_then(|e| e.get(k as usize));
            (x, i) == (y, j) || (form(*x, *i).is_some() && form(*x, *i) == form(*y, *j))
        }
        (Some(Op::Bin(..) | Op::Un(..)), Some(Op::Bin(..) | Op::Un(..))) => same_sum(func, defs, a, b),
        _ => false,
    }
}

/// An index as something plus a constant; sums wrap.
pub fn and_constant(func: &Func, defs: &Defs, mut v: Value) -> (Option<Value>, i32) {
    let mut sum = 0i32;
    loop {
        if let Some(c) = defs.int(func, v) {
            return (None, sum.wrapping_add(c));
        }
        let Some(Op::Bin(BinOp::Add, x, y)) = defs.op(func, v) else { return (Some(v), sum) };
        let (rest, c) = match (defs.int(func, *y), defs.int(func, *x)) {
            (Some(c), _) => (*x, c),
            (None, Some(c)) => (*y, c),
            _ => return (Some(v), sum),
        };
        sum = sum.wrapping_add(c);
        v = rest;
    }
}
