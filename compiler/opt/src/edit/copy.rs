//! Copies of regions, with values and symbols of their own.

use crate::edit::{collect_values, syms_of};
use ravel_types::{Affine, HashMap, HashSet, Shape, Sym, Ty};
use ravel_wir::{Func, Inst, Region, RegionData, Value};

/// A copy of regions, in one function or from another one.
#[derive(Default)]
pub struct Copier<'s> {
    /// Where the copied entities live; none if they live in the function that is edited.
    pub source: Option<&'s Func>,
    pub values: HashMap<Value, Value>,
    pub syms: HashMap<Sym, Affine>,
}

impl<'s> Copier<'s> {
    /// Copies within one function. Symbols that only values inside `region` mention are facts about *one* evaluation of it:
    /// the copy gets fresh ones.
    pub fn within(func: &mut Func, region: Region) -> Copier<'s> {
        let mut inner = HashSet::default();
        collect_values(func, region, &mut inner);
        let mut local: Vec<Sym> = inner.iter().flat_map(|v| syms_of(func.ty(*v))).collect();
        local.sort();
        local.dedup();
        // Most are found outside at once: in the types of parameters.
        drop_mentioned(func, func.body, region, &mut local);
        let syms = local.into_iter().map(|s| (s, Affine::sym(func.fresh_sym()))).collect();
        Copier { source: None, values: HashMap::default(), syms }
    }

    /// The same for instructions and what is inside them.
    pub fn of(func: &mut Func, insts: &[Inst]) -> Copier<'s> {
        let mut copier = Copier::default();
        for region in insts.iter().flat_map(|inst| func.insts[*inst].op.regions()).collect::<Vec<_>>() {
            copier.syms.extend(Copier::within(func, region).syms);
        }
        copier
    }

    /// The copy's name for a value; values from outside keep theirs.
    pub fn value(&self, value: Value) -> Value {
        self.values.get(&value).copied().unwrap_or(value)
    }

    fn define(&mut self, func: &mut Func, value: Value) -> Value {
        let ty = match self.source {
            Some(source) => source.ty(value),
            None => func.ty(value),
        };
        let ty = rename_syms(ty, &self.syms);
        let new = func.new_value(ty);
        self.values.insert(value, new);
        new
    }

    /// Copies the instructions of `region` to the end of `out` and gives the copies of what it yields. Its parameters must
    /// have been mapped.
    pub fn splice(&mut self, func: &mut Func, region: Region, out: &mut Vec<Inst>) -> Vec<Value> {
        let data = match self.source {
            Some(source) => source.regions[region].clone(),
            None => func.regions[region].clone(),
        };
        for inst in data.insts {
            out.push(self.inst(func, inst));
        }
        data.yields.iter().map(|v| self.value(*v)).collect()
    }

    pub fn inst(&mut self, func: &mut Func, inst: Inst) -> Inst {
        let mut data = match self.source {
            Some(source) => source.insts[inst].clone(),
            None => func.insts[inst].clone(),
        };
        data.op.for_each_operand_mut(|v| *v = self.value(*v));
        data.op.for_each_region_mut(|r| *r = self.region(func, *r));
        data.results = data.results.iter().map(|v| self.define(func, *v)).collect();
        func.insts.push(data)
    }

    /// New parameters like those of a region.
    pub fn params(&mut self, func: &mut Func, region: Region) -> Vec<Value> {
        let params = match self.source {
            Some(source) => source.regions[region].params.clone(),
            None => func.regions[region].params.clone(),
        };
        params.into_iter().map(|v| self.define(func, v)).collect()
    }

    pub fn region(&mut self, func: &mut Func, region: Region) -> Region {
        let params = self.params(func, region);
        let mut insts = Vec::new();
        let yields = self.splice(func, region, &mut insts);
        func.regions.push(RegionData { params, insts, yields })
    }
}

/// A type with other forms for some symbols.
pub fn rename_syms(ty: &Ty, syms: &HashMap<Sym, Affine>) -> Ty {
    match &ty.shape {
        Shape::Known(extents) if !syms.is_empty() => {
            let map = |s: Sym| syms.get(&s).cloned().unwrap_or_else(|| Affine::sym(s));
            Ty::new(ty.elem, Shape::Known(extents.iter().map(|e| e.map(map)).collect()))
        }
        _ => ty.clone(),
    }
}

/// Takes the symbols that a value outside of `except` mentions out of a list; stops when that is empty.
fn drop_mentioned(func: &Func, region: Region, except: Region, syms: &mut Vec<Sym>) {
    if region == except {
        return;
    }
    let see = |values: &[Value], syms: &mut Vec<Sym>| {
        for &v in values {
            if let Shape::Known(extents) = &func.ty(v).shape {
                syms.retain(|s| !extents.iter().any(|e| e.terms().iter().any(|(mentioned, _)| mentioned == s)));
            }
        }
    };
    see(&func.regions[region].params, syms);
    for &inst in &func.regions[region].insts {
        if syms.is_empty() {
            return;
        }
        see(&func.insts[inst].results, syms);
        for nested in func.insts[inst].op.regions() {
            drop_mentioned(func, nested, except, syms);
        }
    }
}
