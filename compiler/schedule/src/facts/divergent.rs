//! Loops and branches in bodies of kernels: which of them lanes may run that take part at different times.

use ravel_types::{BinOp, Elem, HashMap};
use ravel_wir::{Func, Inst, Op, Region, Value};

use crate::facts::grid::{Dep, Grid};
use crate::facts::guards::Measures;
use crate::facts::refusal::Refusal;
use crate::facts::vector_forms::is_speculable;
use crate::facts::{Facts, any_op};

/// Iterations assumed of a loop inside a body.
const LOOP_TRIPS: f64 = 20.0;

/// Iterations of a vector for one of a lane: lanes wait for the one that takes longest.
const DIVERGENCE: f64 = 1.5;

/// Loads up to this many are done for all lanes rather than under a branch.
const FEW_LOADS: usize = 6;

/// Vectors that share a machine loop at most: enough to hide the latency of a few dependent operations.
const MOST_COPIES: usize = 4;

/// The loops of a function by what they carry.
pub(crate) fn carriers(func: &Func) -> HashMap<Value, Inst> {
    let mut of = HashMap::default();
    ravel_wir::traverse::walk(func, func.body, &mut |_, inst| {
        if let Op::Loop { body, .. } = &func.insts[inst].op {
            of.extend(func.regions[*body].params.iter().map(|v| (*v, inst)));
            of.extend(func.insts[inst].results.iter().map(|v| (*v, inst)));
        }
    });
    of
}

impl Facts<'_> {
    /// The loop that carries a value, as a parameter of its body or as a result.
    pub fn loop_of(&self, v: Value) -> Option<Inst> {
        self.carriers.get(&v).copied()
    }

    /// Does a division fault in no lane, whatever it divides? Lanes that do not take part divide by something too.
    fn divides_safely(&self, a: Value, divisor: Value) -> bool {
        let elem = self.elem(a);
        elem.is_float() || self.constant_divisor(elem, divisor).is_some()
    }

    /// Can the region of a loop or a branch be evaluated for lanes that do not take part? If all lanes do (`alike`), it may load.
    pub fn supported_inside(
        &self,
        region: Region,
        measures: &mut Measures,
        alike: bool,
    ) -> std::result::Result<(), Refusal> {
        let func = self.func;
        if func.regions[region].yields.iter().any(|v| !func.ty(*v).is_scalar() || self.is_object(*v)) {
            return Err(Refusal::BranchYieldsArrays);
        }
        for &inst in &func.regions[region].insts {
            match &func.insts[inst].op {
                Op::Loop { init, body } => {
                    self.supported_inside(*body, measures, alike && self.runs_alike(init, *body))?
                }
                Op::If { then, els, .. } => {
                    self.supported_inside(*then, measures, false)?;
                    self.supported_inside(*els, measures, false)?;
                }
                Op::Select { then, .. } if !func.ty(*then).is_scalar() || self.is_object(*then) => {
                    return Err(Refusal::BranchChoosesArrays);
                }
                Op::Native { symbol, args, .. }
                    if args.len() == 1 && crate::facts::vector_forms::math_op(symbol).is_some() => {}
                Op::Extent { array, .. } if !self.has_val(*array) => {
                    return Err(Refusal::BranchCalls);
                }
                op if is_speculable(op) => {}
                Op::Bin(op, a, b) if op.divides() && self.divides_safely(*a, *b) => {}
                Op::Bin(..) => return Err(Refusal::BranchDivides),
                Op::Check { cond, .. } if self.guards_of(*cond, &mut measures.guards, 8) => {}
                Op::Sel { array, index } if alike && self.is_element(*array, index) => {}
                Op::Sel { array, index }
                    if self.is_element(*array, index)
                        && self.readable_everywhere(*array, index, &mut measures.guards) => {}
                Op::Sel { .. } if measures.masked.contains(&inst) => {}
                Op::Sel { .. } => {
                    return Err(Refusal::BranchLoads);
                }
                Op::With(_) => {
                    let place = (self.options.position)(func.insts[inst].span, &func.name);
                    return Err(Refusal::WithLoopInBranch(place));
                }
                _ => {
                    return Err(Refusal::BranchCalls);
                }
            }
        }
        Ok(())
    }

    /// Is a region cheap and safe enough to be evaluated whether it is needed or not?
    pub fn is_plain(&self, g: &Grid, region: Region) -> bool {
        let mut loads = 0;
        self.plain_loads(g, region, &mut loads) && loads <= FEW_LOADS
    }

    /// Has a region, or one below it, branches that load?
    pub fn loads_in_branches(&self, region: Region) -> bool {
        let loads = |inst: &Inst| matches!(self.func.insts[*inst].op, Op::Sel { .. });
        let arm_loads = |arm: &Region| self.func.regions[*arm].insts.iter().any(loads);
        any_op(self.func, region, |op| matches!(op, Op::If { then, els, .. } if [then, els].into_iter().any(arm_loads)))
    }

    /// Counts the loads of a region, which kernels can do at every index; false if there is more than these and plain operations.
    fn plain_loads(&self, g: &Grid, region: Region, loads: &mut usize) -> bool {
        self.func.regions[region].insts.iter().all(|inst| match &self.func.insts[*inst].op {
            Op::If { then, els, .. } => self.plain_loads(g, *then, loads) && self.plain_loads(g, *els, loads),
            Op::Sel { .. } if !self.site.in_launch && !g.masked.contains(inst) => {
                *loads += 1;
                true
            }
            Op::Bin(op, a, b) if op.divides() => self.divides_safely(*a, *b),
            op => is_speculable(op),
        })
    }

    /// What a value carried by a loop varies over: as a parameter what its initial and its next value do, as a result also what the
    /// number of iterations does.
    pub fn loop_dep(&self, g: &mut Grid, inst: Inst, v: Value) -> Dep {
        if let Some(dep) = g.deps.get(&v) {
            return *dep;
        }
        let func = self.func;
        let Op::Loop { init, body } = &func.insts[inst].op else { return Dep::default() };
        let (params, yields) = (&func.regions[*body].params, &func.regions[*body].yields);
        let mut deps: Vec<Dep> = init.iter().map(|v| self.dep(g, *v)).collect();
        let outside = g.deps.clone();
        let condition = loop {
            g.deps.clone_from(&outside);
            g.deps.extend(params.iter().copied().zip(deps.iter().copied()));
            let next: Vec<Dep> = deps.iter().zip(&yields[1..]).map(|(dep, v)| dep.or(self.dep(g, *v))).collect();
            if next == deps {
                break self.dep(g, yields[0]);
            }
            deps = next;
        };
        let results = func.insts[inst].results.iter().copied();
        g.deps.extend(results.zip(deps.iter().map(|dep| dep.or(condition))));
        g.deps.get(&v).copied().unwrap_or_default()
    }

    /// Cycles of a loop inside a body.
    pub fn loop_cost(&self, g: &mut Grid, body: Region, vector: bool) -> f64 {
        let carried = self.func.regions[body].params.len() as f64;
        let divergence = if vector { DIVERGENCE } else { 1.0 };
        LOOP_TRIPS * divergence * (self.region_cost(g, body) + 0.5 * carried + 1.0)
    }

    /// How many vectors may share the machine loops of a body, so that their state stays in registers; nothing without loops.
    pub fn loop_copies(&self, g: &mut Grid, region: Region) -> Option<usize> {
        let func = self.func;
        let mut most = None;
        let mut loops = Vec::new();
        ravel_wir::traverse::walk(func, region, &mut |_, inst| {
            if let Op::Loop { body, .. } = &func.insts[inst].op {
                loops.push(*body);
            }
        });
        for body in loops {
            let params = func.regions[body].params.iter();
            let alive =
                params.chain(self.live.free(body)).filter(|v| func.ty(**v).is_scalar() && self.dep(g, **v).vec).count();
            let registers = self.target.vector_registers.saturating_sub(4) as usize;
            let copies = (registers / (alive + 2)).clamp(1, MOST_COPIES);
            most = Some(most.unwrap_or(MOST_COPIES).min(copies));
        }
        most
    }

    /// Splits a conjunction into what is the same for all copies and lanes, and what is not.
    pub fn conjuncts(&self, g: &mut Grid, cond: Value, same: &mut Vec<Value>, varying: &mut Vec<Value>) {
        if let Some(inst) = self.live.def(cond)
            && let Op::Bin(BinOp::And | BinOp::Mul | BinOp::Min, a, b) = &self.func.insts[inst].op
            && self.elem(cond) == Elem::Bool
            && self.dep(g, cond) != Dep::default()
        {
            self.conjuncts(g, *a, same, varying);
            self.conjuncts(g, *b, same, varying);
        } else if self.dep(g, cond) == Dep::default() {
            same.push(cond);
        } else {
            varying.push(cond);
        }
    }

    /// The constant that a loop adds to a value it carries, if that is all it does to it.
    pub fn increment(&self, g: &mut Grid, param: Value, next: Value) -> Option<Value> {
        let Op::Bin(BinOp::Add, a, b) = &self.func.insts[self.live.def(next)?].op else { return None };
        let step = if *a == param { *b } else { Some(*a).filter(|_| *b == param)? };
        let constant = matches!(self.func.insts[self.live.def(step)?].op, Op::Const(_));
        (constant && self.elem(step) != Elem::Bool && self.dep(g, step) == Dep::default()).then_some(step)
    }
}
