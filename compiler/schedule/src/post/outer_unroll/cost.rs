//! How long a loop waits for its own results, and how many of them side by side fill that time: see [`crate::post::outer_unroll`].
//!
//! Latencies and rates are those of recent x86 processors (Fog, "Instruction tables", 2023): two floating-point operations, two loads and one store
//! per cycle, six instructions in all.

use ravel_types::HashMap;

use cranelift_entity::PrimaryMap;
use ravel_nest::ir::{BinOp, ConvOp, Inst, Op, Prim, Region, Ty, UnOp, Value};

use crate::post::outer_unroll::plan::Fate;

/// Most copies of a loop side by side.
pub(crate) const MOST: usize = 4;
/// How much longer a loop must wait than its operations take.
const LEAST_GAIN: f64 = 1.4;
/// Addresses, and floating-point values, that registers hold.
const ADDRESSES: usize = 14;
const FLOATS: usize = 14;

/// An innermost loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    /// Cycles from an iteration's values to those of the next.
    latency: f64,
    /// Cycles in which the processor can begin the operations of an iteration.
    work: f64,
    /// Arrays that the loop walks along, and floating-point values that it carries.
    streams: usize,
    carried: usize,
}

impl Chain {
    /// Does it wait for its own results?
    pub fn waits(&self) -> bool {
        self.latency >= LEAST_GAIN * self.work && self.fits(2)
    }

    fn fits(&self, copies: usize) -> bool {
        self.streams * copies <= ADDRESSES && self.carried * copies <= FLOATS
    }

    /// Cycles per iteration and index with so many copies.
    fn cycles(&self, copies: usize) -> f64 {
        self.latency.max(self.work * copies as f64) / copies as f64
    }
}

/// The number of copies with which all the chains take least.
pub(crate) fn copies(chains: &[Chain]) -> usize {
    let total = |copies: usize| chains.iter().map(|chain| chain.cycles(copies)).sum::<f64>();
    match chains.iter().all(|chain| chain.fits(MOST)) && total(MOST) < 0.9 * total(2) {
        true => MOST,
        false => 2,
    }
}

/// The chain of a loop without loops in it, whose parameters are carried but for the first `skipped`.
pub(crate) fn chain(types: &PrimaryMap<Value, Ty>, body: &Region, skipped: usize, fates: &[Fate]) -> Option<Chain> {
    let params = &body.params[skipped..];
    let yields = &body.exit.operands()[1 - skipped.min(1)..];
    if params.iter().any(|v| types[*v].is_vector()) || has_loop(body) {
        return None;
    }
    let mut steps: Vec<Vec<Option<f64>>> = Vec::new();
    for &param in params {
        let mut paths = Paths { types, longest: HashMap::from_iter([(param, 0.0)]) };
        paths.region(body);
        steps.push(yields.iter().map(|v| paths.longest.get(v).copied()).collect());
    }
    let mut load =
        Load { types, floats: 0.0, loads: 0.0, stores: 0.0, others: 0.0, divisions: 0.0, streams: Vec::new() };
    for (inst, fate) in body.insts.iter().zip(fates) {
        if !matches!(fate, Fate::Once) {
            load.inst(inst);
        }
    }
    let all = load.floats + load.loads + load.stores + load.others;
    let work = [load.floats / 2.0, load.loads / 2.0, load.stores, all / 6.0, load.divisions];
    Some(Chain {
        latency: longest_round(&steps),
        work: work.into_iter().fold(0.25, f64::max),
        streams: load.streams.iter().filter(|base| !defined_in(body, **base)).count(),
        carried: params.iter().filter(|v| types[**v].prim.is_float()).count(),
    })
}

fn has_loop(region: &Region) -> bool {
    region.insts.iter().any(|inst| {
        matches!(inst.op, Op::For { .. } | Op::Loop { .. } | Op::ParFor { .. } | Op::Launch { .. })
            || inst.op.regions().iter().any(|nested| has_loop(nested))
    })
}

fn defined_in(region: &Region, v: Value) -> bool {
    region.params.contains(&v) || region.insts.iter().any(|inst| inst.results.contains(&v))
}

/// The greatest mean length of a cycle through carried values, of up to three of them.
fn longest_round(steps: &[Vec<Option<f64>>]) -> f64 {
    let n = steps.len();
    let mut power = steps.to_vec();
    let mut longest: f64 = 0.0;
    for rounds in 1..=3 {
        for (k, row) in power.iter().enumerate() {
            longest = longest.max(row[k].unwrap_or(0.0) / f64::from(rounds));
        }
        let product = |i: usize, j: usize| {
            let through = |k: usize| Some(power[i][k]? + steps[k][j]?);
            (0..n)
                .filter_map(through)
                .fold(None, |most: Option<f64>, length| Some(most.map_or(length, |m| m.max(length))))
        };
        power = (0..n).map(|i| (0..n).map(|j| product(i, j)).collect()).collect();
    }
    longest
}

/// Longest paths from one value.
struct Paths<'a> {
    types: &'a PrimaryMap<Value, Ty>,
    longest: HashMap<Value, f64>,
}

impl Paths<'_> {
    fn region(&mut self, region: &Region) {
        for inst in &region.insts {
            let nested = inst.op.regions();
            nested.iter().for_each(|region| self.region(region));
            let mut from: Option<f64> = None;
            if nested.is_empty() {
                inst.op.for_each_operand(|v| from = from.max_of(self.longest.get(&v).copied()));
            }
            for (k, &result) in inst.results.iter().enumerate() {
                let mut path = from.map(|cycles| cycles + latency(self.types, inst));
                for region in &nested {
                    // The branch is foreseen.
                    let yielded = region.exit.operands().get(k).and_then(|v| self.longest.get(v));
                    path = path.max_of(yielded.copied());
                }
                if let Some(path) = path {
                    self.longest.insert(result, path);
                }
            }
        }
    }
}

trait MaxOf {
    fn max_of(self, other: Self) -> Self;
}

impl MaxOf for Option<f64> {
    fn max_of(self, other: Self) -> Self {
        match (self, other) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        }
    }
}

/// Cycles until the result of an operation is there.
fn latency(types: &PrimaryMap<Value, Ty>, inst: &Inst) -> f64 {
    let single = inst.results.first().is_some_and(|v| types[*v].prim == Prim::F32);
    match &inst.op {
        Op::Binary(BinOp::FAdd | BinOp::FSub | BinOp::FMul, ..) => 3.0,
        Op::Fma(..) => 4.0,
        Op::Binary(BinOp::FDiv, ..) => {
            if single {
                10.0
            } else {
                13.0
            }
        }
        Op::Unary(UnOp::Sqrt, _) => {
            if single {
                14.0
            } else {
                20.0
            }
        }
        Op::Unary(UnOp::Floor | UnOp::Ceil | UnOp::Trunc | UnOp::Nearest, _) => 4.0,
        Op::Binary(BinOp::FMin | BinOp::FMax, ..) => 2.0,
        Op::Binary(BinOp::IMul, ..) => 3.0,
        Op::Binary(BinOp::SDiv | BinOp::UDiv | BinOp::SRem | BinOp::URem, ..) => 10.0,
        Op::FloatCmp(..) => 3.0,
        Op::Convert(ConvOp::FConv | ConvOp::SToF | ConvOp::UToF | ConvOp::FToS | ConvOp::FToU, ..) => 4.0,
        Op::Convert(..) | Op::PtrAdd(..) => 0.0,
        Op::Load { .. } => 4.0,
        Op::Math(..) => 40.0,
        _ => 1.0,
    }
}

/// What an iteration keeps busy.
struct Load<'a> {
    types: &'a PrimaryMap<Value, Ty>,
    floats: f64,
    loads: f64,
    stores: f64,
    others: f64,
    /// Cycles of the unit that divides.
    divisions: f64,
    streams: Vec<Value>,
}

impl Load<'_> {
    fn inst(&mut self, inst: &Inst) {
        let single = inst.results.first().is_some_and(|v| self.types[*v].prim == Prim::F32);
        let float = inst.results.first().is_some_and(|v| self.types[*v].prim.is_float());
        match &inst.op {
            Op::Binary(BinOp::FDiv, ..) => self.divisions += if single { 3.5 } else { 5.0 },
            Op::Unary(UnOp::Sqrt, _) => self.divisions += if single { 5.0 } else { 9.0 },
            Op::Binary(BinOp::SDiv | BinOp::UDiv | BinOp::SRem | BinOp::URem, ..) => self.divisions += 6.0,
            Op::Math(..) => self.floats += 40.0,
            Op::Load { ptr, .. } => {
                self.loads += 1.0;
                self.walks(*ptr);
            }
            Op::Store { ptr, .. } => {
                self.stores += 1.0;
                self.walks(*ptr);
            }
            Op::PtrAdd(base, _) => self.walks(*base),
            // Part of an address, or free.
            Op::Convert(..) if !float => {}
            Op::Binary(BinOp::Shl, ..) | Op::Const { .. } => {}
            Op::FloatCmp(..) => self.floats += 1.0,
            _ if float => self.floats += 1.0,
            _ => self.others += 1.0,
        }
        for region in inst.op.regions() {
            region.insts.iter().for_each(|inst| self.inst(inst));
        }
    }

    fn walks(&mut self, base: Value) {
        if !self.streams.contains(&base) {
            self.streams.push(base);
        }
    }
}
