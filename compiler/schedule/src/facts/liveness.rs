//! Where values are defined, where each is used last, and which values a region captures.

use cranelift_entity::SecondaryMap;
use ravel_types::{HashMap, HashSet};
use ravel_wir::{Func, Inst, Region, Value};

/// Facts about one function; valid while the function is unchanged.
pub(crate) struct Liveness {
    /// Last position in a region where a value is used, in the region's own instructions or in regions nested in them.
    /// The position of the yields is the number of instructions.
    last: HashMap<(Region, Value), usize>,
    /// Values used in a region or below it but defined outside, in order of first use.
    free: SecondaryMap<Region, Vec<Value>>,
    /// The instruction that defines a value; none for parameters.
    def: SecondaryMap<Value, Option<Inst>>,
    /// Number of operand and yield positions that name a value, in the whole function.
    uses: SecondaryMap<Value, u32>,
    /// How many of these belong to traces.
    traced: SecondaryMap<Value, u32>,
}

impl Liveness {
    pub(crate) fn of(func: &Func) -> Liveness {
        let mut facts = Liveness {
            last: HashMap::default(),
            free: SecondaryMap::new(),
            def: SecondaryMap::new(),
            uses: SecondaryMap::new(),
            traced: SecondaryMap::new(),
        };
        facts.visit(func, func.body);
        facts
    }

    fn visit(&mut self, func: &Func, region: Region) {
        let data = &func.regions[region];
        let mut defined: HashSet<Value> = data.params.iter().copied().collect();
        let mut free = Vec::new();
        let mut seen = HashSet::default();
        for (position, &inst) in data.insts.iter().enumerate() {
            let op = &func.insts[inst].op;
            let mut used = Vec::new();
            op.for_each_operand(|v| used.push(v));
            for &v in &used {
                self.uses[v] += 1;
                self.traced[v] += u32::from(op.is_trace());
            }
            for nested in op.regions() {
                self.visit(func, nested);
                used.extend(self.free[nested].iter().copied());
            }
            for v in used {
                self.last.insert((region, v), position);
                if !defined.contains(&v) && seen.insert(v) {
                    free.push(v);
                }
            }
            for &v in &func.insts[inst].results {
                self.def[v] = Some(inst);
                defined.insert(v);
            }
        }
        for &v in &data.yields {
            self.uses[v] += 1;
            self.last.insert((region, v), data.insts.len());
            if !defined.contains(&v) && seen.insert(v) {
                free.push(v);
            }
        }
        self.free[region] = free;
    }

    /// Position of the last use of `v` in `region`, if it is used there at all.
    pub(crate) fn last_use(&self, region: Region, v: Value) -> Option<usize> {
        self.last.get(&(region, v)).copied()
    }

    /// Values that `region` captures.
    pub(crate) fn free(&self, region: Region) -> &[Value] {
        &self.free[region]
    }

    /// The instruction that defines `v`.
    pub(crate) fn def(&self, v: Value) -> Option<Inst> {
        self.def[v]
    }

    /// How many operand and yield positions name `v`.
    pub(crate) fn uses(&self, v: Value) -> u32 {
        self.uses[v]
    }

    /// The same without traces, which must not decide what is computed.
    pub(crate) fn untraced_uses(&self, v: Value) -> u32 {
        self.uses[v] - self.traced[v]
    }
}
