//! Drops the entities that a function no longer uses, and numbers the others in program order.

use crate::ir::*;
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};

/// The same function, entities numbered as they are met; passes leave unused ones behind.
pub fn compact(func: &mut Func) {
    let mut c = Compactor {
        old: func,
        new_of: SecondaryMap::new(),
        values: PrimaryMap::new(),
        insts: PrimaryMap::new(),
        regions: PrimaryMap::new(),
    };
    let body = c.region(c.old.body);
    let (values, insts, regions) = (c.values, c.insts, c.regions);
    func.body = body;
    func.values = values;
    func.insts = insts;
    func.regions = regions;
}

struct Compactor<'a> {
    old: &'a Func,
    new_of: SecondaryMap<Value, PackedOption<Value>>,
    values: PrimaryMap<Value, ValueInfo>,
    insts: PrimaryMap<Inst, InstData>,
    regions: PrimaryMap<Region, RegionData>,
}

impl Compactor<'_> {
    fn define(&mut self, value: Value) -> Value {
        let new = self.values.push(self.old.values[value].clone());
        self.new_of[value] = new.into();
        new
    }

    fn used(&self, value: Value) -> Value {
        self.new_of[value].expand().expect("verified WIR defines values before their uses")
    }

    fn region(&mut self, region: Region) -> Region {
        let data = &self.old.regions[region];
        let new = self.regions.push(RegionData::default());
        let params = data.params.iter().map(|v| self.define(*v)).collect();
        let mut insts = Vec::with_capacity(data.insts.len());
        for &inst in &data.insts {
            let mut data = self.old.insts[inst].clone();
            data.op.for_each_operand_mut(|v| *v = self.used(*v));
            data.op.for_each_region_mut(|r| *r = self.region(*r));
            data.results = data.results.iter().map(|v| self.define(*v)).collect();
            insts.push(self.insts.push(data));
        }
        let yields = data.yields.iter().map(|v| self.used(*v)).collect();
        self.regions[new] = RegionData { params, insts, yields };
        new
    }
}
