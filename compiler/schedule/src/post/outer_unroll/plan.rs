//! Which loops of a body run for several indices at the same time, and how many: see [`crate::post::outer_unroll`].

use ravel_types::{HashMap, HashSet};

use cranelift_entity::{PrimaryMap, SecondaryMap};
use ravel_nest::ir::{Exit, Inst, Module, Op, Region, Ty, Value};

use crate::post::outer_unroll::cost::{self, Chain};

/// Instructions of a body above which copies of it are too much code.
const MOST_CODE: usize = 1500;
/// Runtime functions that end in no fault.
const HARMLESS: [&str; 9] = [
    "ravel_alloc",
    "ravel_copy",
    "ravel_copy_bytes",
    "ravel_spare_alloc",
    "ravel_spare_drop",
    "ravel_spare_keep",
    "ravel_scratch_alloc",
    "ravel_scratch_free",
    "ravel_has_idle_threads",
];

/// What becomes of an instruction of the body.
#[derive(Debug)]
pub(crate) enum Fate {
    /// It is the same for all indices.
    Once,
    /// Each index does it by itself.
    Each,
    /// A loop or branch that all go through together.
    Together {
        /// Which of its results, and of the values that a loop carries, differ.
        carried: Vec<bool>,
        /// Of its regions.
        inside: Vec<Vec<Fate>>,
    },
}

/// A body for several indices.
pub(crate) struct Plan {
    pub copies: usize,
    pub fates: Vec<Fate>,
}

/// Plans the body of a loop over independent indices, of which there are `extent` if that is known.
///
/// # Errors
/// Why it stays as it is, if it has a loop that waits for itself.
pub(crate) fn plan(
    module: &Module,
    types: &PrimaryMap<Value, Ty>,
    constants: &HashMap<Value, i64>,
    kernels: &HashSet<Value>,
    body: &Region,
    extent: Option<i64>,
) -> Result<Plan, Option<String>> {
    let mut planner = Planner {
        module,
        types,
        constants,
        kernels,
        varies: SecondaryMap::new(),
        quiet: false,
        chains: Vec::new(),
        refused: None,
    };
    planner.varies[body.params[0]] = true;
    let fates = planner.region(body);
    if !any_together(&fates) {
        return Err(planner.refused);
    }
    if size(body) > MOST_CODE {
        return Err(Some("one index at a time: the body is too much code for several".to_string()));
    }
    if checked_stretches(module, &body.insts, &fates) > 1 {
        let why = "one index at a time: checks before and after a loop must be made in the order of the indices";
        return Err(Some(why.to_string()));
    }
    // A loop may have been planned several times while it was not known what it carries.
    planner.chains.clear();
    planner.collect(&body.insts, &fates);
    let copies = cost::copies(&planner.chains);
    match extent {
        Some(extent) if extent < copies as i64 => Err(None),
        _ => Ok(Plan { copies, fates }),
    }
}

/// The integers that are known.
pub(crate) fn constants(region: &Region) -> HashMap<Value, i64> {
    fn note(region: &Region, known: &mut HashMap<Value, i64>) {
        for inst in &region.insts {
            if let Op::Const { ty, bits } = &inst.op
                && *ty == Ty::I64
            {
                known.insert(inst.results[0], *bits as i64);
            }
            inst.op.regions().iter().for_each(|nested| note(nested, known));
        }
    }
    let mut known = HashMap::default();
    note(region, &mut known);
    known
}

fn size(region: &Region) -> usize {
    region.insts.iter().map(|inst| 1 + inst.op.regions().iter().map(|nested| size(nested)).sum::<usize>()).sum()
}

fn any_together(fates: &[Fate]) -> bool {
    fates.iter().any(|fate| matches!(fate, Fate::Together { .. }))
}

/// May the instruction end the program, or do something that others see?
fn may_fault(module: &Module, inst: &Inst) -> bool {
    let itself = match &inst.op {
        Op::Call(..) | Op::CallIndirect { .. } => true,
        Op::CallExtern(callee, _) => !HARMLESS.contains(&module.externs[*callee].name.as_str()),
        _ => false,
    };
    itself || inst.op.regions().iter().any(|region| region_may_fault(module, region))
}

fn region_may_fault(module: &Module, region: &Region) -> bool {
    matches!(region.exit, Exit::Fault { .. }) || region.insts.iter().any(|inst| may_fault(module, inst))
}

/// Stretches of instructions done index by index in which something may fail: with one of them the first index at fault comes first.
fn checked_stretches(module: &Module, insts: &[Inst], fates: &[Fate]) -> usize {
    let (mut stretches, mut open) = (0, false);
    for (inst, fate) in insts.iter().zip(fates) {
        match fate {
            Fate::Once => {}
            Fate::Each if open || !may_fault(module, inst) => {}
            Fate::Each => {
                stretches += 1;
                open = true;
            }
            Fate::Together { inside, .. } => {
                open = false;
                let of = |(region, fates): (&&Region, &Vec<Fate>)| {
                    let fault = usize::from(matches!(region.exit, Exit::Fault { .. }));
                    fault + checked_stretches(module, &region.insts, fates)
                };
                stretches += inst.op.regions().iter().zip(inside).map(of).max().unwrap_or(0);
            }
        }
    }
    stretches
}

struct Planner<'a> {
    module: &'a Module,
    types: &'a PrimaryMap<Value, Ty>,
    constants: &'a HashMap<Value, i64>,
    kernels: &'a HashSet<Value>,
    /// Values that may differ from index to index.
    varies: SecondaryMap<Value, bool>,
    /// Nothing is stored in the loop around: what is loaded from one place is the same for all indices.
    quiet: bool,
    chains: Vec<Chain>,
    refused: Option<String>,
}

impl Planner<'_> {
    fn region(&mut self, region: &Region) -> Vec<Fate> {
        region.insts.iter().map(|inst| self.inst(inst)).collect()
    }

    fn inst(&mut self, inst: &Inst) -> Fate {
        let mut differs = false;
        inst.op.for_each_operand(|v| differs |= self.varies[v]);
        let fate = match &inst.op {
            op if !differs && (is_value(op) || (self.quiet && matches!(op, Op::Load { .. }))) => Fate::Once,
            Op::Loop { .. } | Op::For { .. } => self.repeated(inst),
            Op::If { cond, then_region, else_region } if !self.varies[*cond] => {
                let inside = vec![self.region(then_region), self.region(else_region)];
                let mut carried = vec![false; inst.results.len()];
                for region in [then_region, else_region] {
                    if let Exit::Yield(values) = &region.exit {
                        carried.iter_mut().zip(values).for_each(|(carried, v)| *carried |= self.varies[*v]);
                    }
                }
                match inside.iter().any(|fates| any_together(fates)) {
                    true => Fate::Together { carried, inside },
                    false => Fate::Each,
                }
            }
            _ => Fate::Each,
        };
        for (k, &result) in inst.results.iter().enumerate() {
            self.varies[result] = match &fate {
                Fate::Once => false,
                Fate::Each => true,
                Fate::Together { carried, .. } => carried[k],
            };
        }
        fate
    }

    fn repeated(&mut self, inst: &Inst) -> Fate {
        let (inits, body, skipped) = match &inst.op {
            Op::Loop { inits, body } => (inits, body, 0),
            Op::For { lo, hi, step, inits, body } => {
                let kernel = self.kernels.contains(&body.params[0]);
                if kernel || [lo, hi, step].into_iter().any(|v| self.varies[*v]) {
                    return Fate::Each;
                }
                self.varies[body.params[0]] = false;
                (inits, body, 1)
            }
            _ => return Fate::Each,
        };
        let params = &body.params[skipped..];
        let Exit::Yield(yields) = &body.exit else { return Fate::Each };
        let (again, next) = match skipped {
            0 => (yields.first(), &yields[1..]),
            _ => (None, &yields[..]),
        };
        let mut carried: Vec<bool> = inits.iter().map(|v| self.varies[*v]).collect();
        let around = std::mem::replace(&mut self.quiet, is_quiet(body));
        let inside = loop {
            params.iter().zip(&carried).for_each(|(param, varies)| self.varies[*param] = *varies);
            let inside = self.region(body);
            let before = carried.clone();
            carried.iter_mut().zip(next).for_each(|(carried, v)| *carried |= self.varies[*v]);
            if carried == before {
                break inside;
            }
        };
        self.quiet = around;
        let ends_together = again.is_none_or(|again| !self.varies[*again]);
        let waits = any_together(&inside) || self.chain(inst, &inside).is_some();
        if !waits {
            return Fate::Each;
        }
        if !ends_together {
            self.refuse("a loop of the body ends at a time of its own for each of them");
            return Fate::Each;
        }
        if region_may_fault(self.module, body) {
            self.refuse("a loop of the body has checks or calls, which keep the order of the indices");
            return Fate::Each;
        }
        Fate::Together { carried, inside: vec![inside] }
    }

    fn refuse(&mut self, why: &str) {
        self.refused.get_or_insert_with(|| format!("one index at a time: {why}"));
    }

    /// The chain of an innermost loop that waits for itself.
    fn chain(&self, inst: &Inst, inside: &[Fate]) -> Option<Chain> {
        let (body, skipped) = match &inst.op {
            Op::Loop { body, .. } => (body, 0),
            // Other loops do what whole vectors leave over.
            Op::For { lo, body, .. } if self.constants.contains_key(lo) => (body, 1),
            _ => return None,
        };
        cost::chain(self.types, body, skipped, inside).filter(Chain::waits)
    }

    /// Gathers the chains of all loops that run together.
    fn collect(&mut self, insts: &[Inst], fates: &[Fate]) {
        for (inst, fate) in insts.iter().zip(fates) {
            let Fate::Together { inside, .. } = fate else { continue };
            let chain = self.chain(inst, &inside[0]);
            self.chains.extend(chain);
            for (region, fates) in inst.op.regions().iter().zip(inside) {
                self.collect(&region.insts, fates);
            }
        }
    }
}

/// Does the operation give the same result for the same operands, wherever it stands?
fn is_value(op: &Op) -> bool {
    match op {
        Op::Math(..) | Op::DataAddr(_) | Op::GlobalAddr(_) | Op::FuncAddr(_) | Op::ExternAddr(_) => true,
        Op::Load { access, .. } => access.readonly && access.movable,
        op => op.is_arithmetic() && !divides(op),
    }
}

/// Does nothing in a region change memory?
fn is_quiet(region: &Region) -> bool {
    region.insts.iter().all(|inst| match &inst.op {
        Op::If { .. } => inst.op.regions().iter().all(|nested| is_quiet(nested)),
        Op::Const { .. } | Op::Math(..) | Op::Load { .. } | Op::PtrAdd(..) => true,
        op => op.is_arithmetic(),
    })
}

/// Integer divisions stay behind the checks of their divisors.
fn divides(op: &Op) -> bool {
    use ravel_nest::ir::BinOp::{SDiv, SRem, UDiv, URem};
    matches!(op, Op::Binary(SDiv | SRem | UDiv | URem, ..))
}
