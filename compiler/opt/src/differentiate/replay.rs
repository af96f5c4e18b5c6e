//! Code of bodies, copied to where terms are needed.

use crate::differentiate::adjoint::{Level, LevelKind};
use crate::differentiate::reverse::Reverse;
use crate::edit::{Copier, reads_of, slice};
use ravel_types::{BinOp, HashSet, UnOp};
use ravel_wir::{Inst, Op, Region, Value, WithOp};

impl Reverse<'_> {
    /// The instructions of a level that values need, without what stands in arrays.
    pub fn slice_of(&self, level: Level, values: &[Value]) -> Vec<Inst> {
        let level = &self.levels[level];
        let insts = &self.state.func.regions[level.region].insts;
        if level.kept.is_empty() {
            return slice(self.state.func, insts, values.iter().copied(), |_| false);
        }
        let mut needed: HashSet<Value> = values.iter().copied().filter(|v| !level.kept.contains_key(v)).collect();
        let mut found = Vec::new();
        for &inst in insts.iter().rev() {
            if self.state.func.insts[inst].results.iter().any(|v| needed.contains(v)) {
                needed.extend(reads_of(self.state.func, inst).into_iter().filter(|v| !level.kept.contains_key(v)));
                found.push(inst);
            }
        }
        found.reverse();
        found
    }

    /// What instructions read, and some values, that a level has in arrays.
    fn kept_in(&self, level: Level, insts: &[Inst], values: &[Value]) -> Vec<(Value, Value)> {
        let kept = &self.levels[level].kept;
        let reads = insts.iter().flat_map(|inst| reads_of(self.state.func, *inst)).chain(values.iter().copied());
        let mut found: Vec<(Value, Value)> = reads.filter_map(|v| Some((v, *kept.get(&v)?))).collect();
        found.sort();
        found.dedup();
        found
    }

    /// What a level needs of those around it if these values of it are needed.
    pub fn reads_of_level(&self, level: Level, values: &[Value], with_bounds: bool) -> Vec<Value> {
        let insts = self.slice_of(level, values);
        let mut reads: Vec<Value> = values.to_vec();
        reads.extend(insts.iter().flat_map(|inst| reads_of(self.state.func, *inst)));
        reads.extend(self.kept_in(level, &insts, values).into_iter().map(|(_, array)| array));
        match &self.levels[level].kind {
            LevelKind::Branch(cond, _) => reads.push(*cond),
            LevelKind::Part(generator) if with_bounds => generator.for_each(&mut |v| reads.push(v)),
            LevelKind::Part(_) => {}
        }
        reads
    }

    /// What is needed of each level, from the outside in, if these values of the last one are needed; with bounds also what generators need.
    pub fn needs_by_level(&self, levels: &[Level], values: &[Value], with_bounds: bool) -> Vec<Vec<Value>> {
        let mut needs = vec![Vec::new(); levels.len()];
        let mut wanted = values.to_vec();
        for (k, level) in levels.iter().enumerate().rev() {
            needs[k] = wanted.clone();
            wanted = self.reads_of_level(*level, &wanted, with_bounds);
            wanted.sort();
            wanted.dedup();
        }
        needs
    }

    /// Copies what values of a level need to the end of a region. The parameters must have been mapped.
    pub fn replay(&mut self, at: Region, copier: &mut Copier, level: Level, values: &[Value]) {
        let insts = self.slice_of(level, values);
        let params = self.state.func.regions[self.levels[level].region].params.clone();
        let is_branch = matches!(self.levels[level].kind, LevelKind::Branch(..));
        for (v, array) in self.kept_in(level, &insts, values) {
            if is_branch {
                let there = copier.value(array);
                copier.values.insert(v, there);
                continue;
            }
            let index = params.iter().map(|p| copier.value(*p)).collect();
            let ty = self.state.ty(v);
            let varied = self.state.is_varied(v);
            let read = self.state.emit(at, Op::Sel { array: copier.value(array), index }, ty);
            if varied {
                self.state.varied.insert(read);
            }
            copier.values.insert(v, read);
        }
        let fresh = Copier::of(self.state.func, &insts);
        copier.syms.extend(fresh.syms);
        for inst in insts {
            let copy = copier.inst(self.state.func, inst);
            self.state.place(at, copy);
        }
        self.state.adopt(copier);
    }

    /// Whether computing values of a level again is dear: loops, arrays, calls.
    pub fn is_dear(&self, level: Level, values: &[Value]) -> bool {
        let insts = self.slice_of(level, values);
        insts.iter().any(|inst| self.is_heavy(*inst)) || insts.len() > MOST_AGAIN
    }

    /// Whether values of a level cost no more than a read of memory.
    pub fn is_trivial(&self, level: Level, values: &[Value]) -> bool {
        let insts = self.slice_of(level, values);
        let is_simple = |op: &Op| match op {
            Op::Const(_) | Op::Sel { .. } | Op::Select { .. } | Op::Convert(_) => true,
            Op::Bin(op, ..) => !matches!(op, BinOp::Div | BinOp::Pow | BinOp::Mod),
            Op::Un(op, _) => matches!(op, UnOp::Neg | UnOp::Not),
            _ => false,
        };
        insts.len() <= MOST_TRIVIAL && insts.iter().all(|inst| is_simple(&self.state.func.insts[*inst].op))
    }

    /// Whether an array costs little more to make again than to write and read: sums, products and quotients of elements.
    pub fn is_light(&self, inst: Inst) -> bool {
        let func = &*self.state.func;
        let Op::With(with) = &func.insts[inst].op else { return false };
        let is_simple = |op: &Op| match op {
            Op::Const(_) | Op::Sel { .. } | Op::Select { .. } | Op::Convert(_) | Op::Extent { .. } => true,
            Op::Bin(op, ..) => !matches!(op, BinOp::Pow | BinOp::Mod | BinOp::Atan2 | BinOp::Hypot),
            Op::Un(op, _) => matches!(op, UnOp::Neg | UnOp::Not | UnOp::Abs | UnOp::Reciproc),
            _ => false,
        };
        !with.ordered
            && with.ops.iter().all(|op| !matches!(op, WithOp::Fold { .. }))
            && with.parts.iter().all(|part| {
                let insts = &func.regions[part.body].insts;
                insts.len() <= MOST_LIGHT && insts.iter().all(|inst| is_simple(&func.insts[*inst].op))
            })
    }

    /// A loop, or something that makes an array.
    pub fn is_heavy(&self, inst: Inst) -> bool {
        let func = &*self.state.func;
        let data = &func.insts[inst];
        match &data.op {
            Op::With(_) | Op::Loop { .. } | Op::Call { .. } => true,
            Op::Array(_) | Op::ConstArray(_) | Op::Sel { .. } | Op::Reshape { .. } | Op::ShapeVec(_) => false,
            Op::If { then, els, .. } => {
                let heavy = |r: &Region| func.regions[*r].insts.iter().any(|i| self.is_heavy(*i));
                heavy(then) || heavy(els)
            }
            _ => data.results.iter().any(|v| !func.ty(*v).is_scalar()),
        }
    }

    /// Whether values are the same for every index of a level: nothing that they need depends on its parameters.
    pub fn is_fixed(&self, level: Level, values: &[Value]) -> bool {
        let region = &self.state.func.regions[self.levels[level].region];
        let insts = self.slice_of(level, values);
        let read = insts.iter().flat_map(|inst| reads_of(self.state.func, *inst)).chain(values.iter().copied());
        let params: HashSet<Value> = region.params.iter().copied().collect();
        let kept = &self.levels[level].kept;
        !read.into_iter().any(|v| params.contains(&v) || kept.contains_key(&v))
    }
}

/// Operations of an element that are done again rather than kept.
const MOST_LIGHT: usize = 8;

/// Operations that are done at every read rather than for an array.
const MOST_TRIVIAL: usize = 6;

/// Operations per element that are computed again rather than stored.
const MOST_AGAIN: usize = 40;
