//! Walking over operands and nested regions.

use crate::ir::*;
use smallvec::{SmallVec, smallvec};

/// Visits the operands of a generator; one text serves shared and exclusive access.
macro_rules! visit_generator {
    ($generator:expr, $f:expr, $iter:ident) => {
        match $generator {
            Generator::Known { lower, upper, step, width } => lower
                .$iter()
                .chain(upper.$iter())
                .chain(step.$iter().flatten())
                .chain(width.$iter().flatten())
                .for_each($f),
            Generator::Dyn { lower, upper, step, width } => {
                $f(lower);
                $f(upper);
                step.$iter().chain(width.$iter()).for_each($f)
            }
        }
    };
}

/// Visits the operands of a fault that is one, as above.
macro_rules! visit_fault {
    ($fault:expr, $f:expr, $iter:ident) => {
        match $fault {
            Fault::Index { index, extent, .. } => {
                $f(index);
                $f(extent);
            }
            Fault::Shape { left, right, .. } => {
                $f(left);
                $f(right);
            }
            Fault::Division | Fault::Several { .. } => {}
            Fault::Message { operands, .. } => operands.$iter().for_each(&mut $f),
        }
    };
}

/// Visits the operands of an operation, as above.
macro_rules! visit_operands {
    ($op:expr, $f:expr, $iter:ident, $as_ref:ident, $visit_generator:ident) => {
        match $op {
            Op::Const(_) | Op::Str(_) | Op::ConstArray(_) | Op::GlobalGet(_) => {}
            Op::Un(_, a)
            | Op::Convert(a)
            | Op::Rank(a)
            | Op::ShapeVec(a)
            | Op::Widen(a)
            | Op::Narrow(a)
            | Op::Opaque(a)
            | Op::Detach(a) => $f(a),
            Op::Extent { array, .. } => $f(array),
            Op::GlobalSet(_, a) => $f(a),
            Op::Bin(_, a, b) => {
                $f(a);
                $f(b);
            }
            Op::Select { cond, then, els } => {
                $f(cond);
                $f(then);
                $f(els);
            }
            Op::Sel { array, index } => {
                $f(array);
                index.$iter().for_each(&mut $f);
            }
            Op::SelDyn { array, index } => {
                $f(array);
                $f(index);
            }
            Op::Array(cells) => cells.$iter().for_each(&mut $f),
            Op::Reshape { array, shape } => {
                $f(array);
                shape.$iter().for_each(&mut $f);
            }
            Op::ReshapeDyn { array, shape } => {
                $f(array);
                $f(shape);
            }
            Op::Update { array, index, value } => {
                $f(array);
                index.$iter().for_each(&mut $f);
                $f(value);
            }
            Op::UpdateDyn { array, index, value } => {
                $f(array);
                $f(index);
                $f(value);
            }
            Op::If { cond, .. } => $f(cond),
            Op::Loop { init, .. } => init.$iter().for_each(&mut $f),
            Op::Derive { args, seeds, .. } => args.$iter().chain(seeds.$iter()).for_each(&mut $f),
            Op::Call { args, .. } | Op::Native { args, .. } => args.$iter().for_each(&mut $f),
            Op::Check { cond, fault } => {
                $f(cond);
                match fault {
                    Fault::Several { first, others } => {
                        visit_fault!(first.$as_ref(), $f, $iter);
                        for Violation { holds, fault } in others.$iter() {
                            $f(holds);
                            visit_fault!(fault, $f, $iter);
                        }
                    }
                    one => visit_fault!(one, $f, $iter),
                }
            }
            Op::With(with) => {
                for part in with.parts.$iter() {
                    part.generator.$visit_generator(&mut $f);
                }
                for op in with.ops.$iter() {
                    match op {
                        WithOp::Genarray { frame, cell, default } => {
                            match frame {
                                Frame::Known(extents) => extents.$iter().for_each(&mut $f),
                                Frame::Dyn(v) => $f(v),
                            }
                            cell.$iter().flatten().for_each(&mut $f);
                            default.$iter().for_each(&mut $f);
                        }
                        WithOp::Modarray { array } => $f(array),
                        WithOp::Fold { neutral, stop, .. } => {
                            $f(neutral);
                            stop.$iter().for_each(&mut $f);
                        }
                    }
                }
            }
        }
    };
}

impl Generator {
    pub fn for_each(&self, f: &mut impl FnMut(Value)) {
        self.visit(&mut |v: &Value| f(*v));
    }

    fn visit(&self, f: &mut impl FnMut(&Value)) {
        visit_generator!(self, &mut *f, iter);
    }

    pub fn for_each_mut(&mut self, f: &mut impl FnMut(&mut Value)) {
        visit_generator!(self, &mut *f, iter_mut);
    }
}

impl Op {
    /// Every operand, in a fixed order; not those inside nested regions.
    pub fn for_each_operand(&self, mut f: impl FnMut(Value)) {
        let mut f = |v: &Value| f(*v);
        visit_operands!(self, f, iter, as_ref, visit);
    }

    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        visit_operands!(self, f, iter_mut, as_mut, for_each_mut);
    }

    /// Every directly nested region, in a fixed order: branches, loop bodies, part bodies, then fold functions.
    pub fn regions(&self) -> SmallVec<[Region; 2]> {
        match self {
            Op::If { then, els, .. } => smallvec![*then, *els],
            Op::Loop { body, .. } | Op::Derive { body, .. } => smallvec![*body],
            Op::With(with) => {
                with.parts.iter().map(|p| p.body).chain(with.ops.iter().filter_map(WithOp::region)).collect()
            }
            _ => SmallVec::new(),
        }
    }

    /// Replaces nested regions, in the order of [`Op::regions`].
    pub fn for_each_region_mut(&mut self, mut f: impl FnMut(&mut Region)) {
        match self {
            Op::If { then, els, .. } => {
                f(then);
                f(els);
            }
            Op::Loop { body, .. } | Op::Derive { body, .. } => f(body),
            Op::With(with) => {
                with.parts.iter_mut().for_each(|p| f(&mut p.body));
                for op in &mut with.ops {
                    if let WithOp::Fold { combine: Combine::Region(r), .. } = op {
                        f(r);
                    }
                }
            }
            _ => {}
        }
    }
}

impl WithOp {
    /// The region of a fold function, if it is one.
    pub fn region(&self) -> Option<Region> {
        match self {
            WithOp::Fold { combine: Combine::Region(r), .. } => Some(*r),
            _ => None,
        }
    }
}

/// Calls `f` on every instruction of `region` and of the regions nested in it, outer before inner.
pub fn walk(func: &Func, region: Region, f: &mut impl FnMut(Region, Inst)) {
    for &inst in &func.regions[region].insts {
        f(region, inst);
        for nested in func.insts[inst].op.regions() {
            walk(func, nested, f);
        }
    }
}

/// Whether running `inst` can be observed other than through its results: effects, faults that belong to the program, and
/// calls of functions that have them.
pub fn has_effect(module_effects: &dyn Fn(FuncId) -> bool, func: &Func, inst: Inst) -> bool {
    let op = &func.insts[inst].op;
    match op {
        Op::Call { func: callee, .. } => module_effects(*callee),
        _ if op.is_anchored() => true,
        _ => op.regions().iter().any(|r| func.regions[*r].insts.iter().any(|i| has_effect(module_effects, func, *i))),
    }
}

/// Values used in `region` (and the regions nested in it) but defined outside of it, in order of first use.
pub fn free_values(func: &Func, region: Region) -> Vec<Value> {
    let mut defined = ravel_types::HashSet::default();
    let mut free = Vec::new();
    let mut seen = ravel_types::HashSet::default();
    fn visit(
        func: &Func,
        region: Region,
        defined: &mut ravel_types::HashSet<Value>,
        seen: &mut ravel_types::HashSet<Value>,
        free: &mut Vec<Value>,
    ) {
        let data = &func.regions[region];
        defined.extend(data.params.iter().copied());
        for &inst in &data.insts {
            let mut operands = Vec::new();
            func.insts[inst].op.for_each_operand(|v| operands.push(v));
            for v in operands {
                if !defined.contains(&v) && seen.insert(v) {
                    free.push(v);
                }
            }
            for nested in func.insts[inst].op.regions() {
                visit(func, nested, defined, seen, free);
            }
            defined.extend(func.insts[inst].results.iter().copied());
        }
        for &v in &data.yields {
            if !defined.contains(&v) && seen.insert(v) {
                free.push(v);
            }
        }
    }
    visit(func, region, &mut defined, &mut seen, &mut free);
    free
}
