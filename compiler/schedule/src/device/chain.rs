//! The launch of a run's chains: a work-item per element of each chain.
//!
//! A chain begins with a new warp: where two meet in one, its items wait for both, which took three times as long for a network's gradients.

use ravel_nest::ir::{Access, IntCmp, Ty};
use ravel_types::HashMap;
use ravel_wir::{Inst, Op, Region, Value};

use crate::Result;
use crate::device::group::Outcome;
use crate::device::group::blocks::WARP;
use crate::facts::{Ext, Facts, Val, prim_of};
use crate::lower::Lower;
use crate::plan::device::run::{Chain, Run, Step};

/// Elements that the work-item has at hand, by array.
type Held = HashMap<Value, Val>;

impl Facts<'_> {
    /// Does a body use its index for more than reads at it?
    fn needs_index(&self, body: Region, own: &HashMap<Value, Value>) -> bool {
        let region = &self.func.regions[body];
        region.yields.iter().any(|v| region.params.contains(v))
            || region.insts.iter().any(|inst| {
                let data = &self.func.insts[*inst];
                let mut used = Vec::new();
                data.op.for_each_operand(|v| used.push(v));
                for nested in data.op.regions() {
                    used.extend(self.live.free(nested));
                }
                data.results.iter().all(|v| !own.contains_key(v)) && used.iter().any(|v| region.params.contains(v))
            })
    }
}

impl Lower<'_, '_> {
    /// Emits the launch; binds the members' results that are stored.
    pub fn launch_chains(&mut self, run: &Run, outcomes: &[Outcome]) -> Result<()> {
        let func = self.func;
        let cache = self.emit.cache.clone();
        let chains: Vec<&Chain> = run.chains.iter().filter(|chain| !chain.steps.is_empty()).collect();
        let mut objects: HashMap<Inst, (Val, Val)> = HashMap::default();
        for step in chains.iter().flat_map(|chain| &chain.steps) {
            let Step::Member(inst) = *step else { continue };
            let Op::With(with) = &func.insts[inst].op else { continue };
            self.device_reads(with.parts[0].body);
            let result = func.insts[inst].results[0];
            if self.is_stored(run, result) {
                let extents = func.ty(result).shape.constants().unwrap_or_default();
                let extents: Vec<Ext> = extents.into_iter().map(|e| Ext::Const(i64::from(e))).collect();
                let object = self.allocate(self.elem(result), &extents, func.insts[inst].span);
                let buffer = self.helper_ptr("ravel_device_write", &[object]);
                objects.insert(inst, (object, buffer));
            }
        }
        let starts: Vec<i64> = chains
            .iter()
            .scan(0, |next, chain| {
                let start = *next;
                *next = (start + chain.count() + WARP - 1) / WARP * WARP;
                Some(start)
            })
            .collect();
        let total = chains.last().zip(starts.last()).map_or(0, |(chain, start)| start + chain.count());
        let total = self.b.i64(total);
        let place = self.begin_groups(&[total], &[])[0];
        self.facts.site.sequential += 1;
        let outside = (
            std::mem::replace(&mut self.kernel.in_kernel_loop, true),
            std::mem::replace(&mut self.facts.site.checked_before, true),
        );
        let before = self.emit.cache.clone();
        for (n, (chain, &start)) in chains.iter().zip(&starts).enumerate() {
            let next = starts.get(n + 1);
            if let Some(&next) = next {
                let next = self.b.i64(next);
                let inside = self.b.icmp(IntCmp::Slt, place, next);
                self.b.begin_if(inside);
            }
            let element = if start == 0 {
                place
            } else {
                let skipped = self.b.i64(start);
                self.b.sub(place, skipped)
            };
            let idle = next.is_some_and(|next| next - start > chain.count());
            if idle {
                let count = self.b.i64(chain.count());
                let inside = self.b.icmp(IntCmp::Slt, element, count);
                self.b.begin_if(inside);
            }
            self.chain_element(chain, element, outcomes, &objects)?;
            if idle {
                self.b.begin_else(&[]);
                self.b.end_if(&[]);
            }
            self.emit.cache = before.clone();
            if next.is_some() {
                self.b.begin_else(&[]);
            }
        }
        for _ in 1..chains.len() {
            self.b.end_if(&[]);
        }
        (self.kernel.in_kernel_loop, self.facts.site.checked_before) = outside;
        self.facts.site.sequential -= 1;
        self.end_launch();
        self.emit.cache = cache;
        for (inst, (object, _)) in objects {
            self.bind(func.insts[inst].results[0], object);
        }
        Ok(())
    }

    /// All steps for one element.
    fn chain_element(
        &mut self,
        chain: &Chain,
        element: Val,
        outcomes: &[Outcome],
        objects: &HashMap<Inst, (Val, Val)>,
    ) -> Result<()> {
        let func = self.func;
        let mut held = Held::default();
        for step in &chain.steps {
            match *step {
                Step::Fold(k) => {
                    let Outcome::Folded(partial) = &outcomes[k] else { continue };
                    let total = self.combine_element(partial, element, &held)?;
                    held.insert(partial.of, total);
                }
                Step::Member(inst) => {
                    let result = func.insts[inst].results[0];
                    let value = self.member_element(inst, &chain.extents, element, &mut held)?;
                    if let Some(&(_, buffer)) = objects.get(&inst) {
                        let elem = self.elem(result);
                        let bytes = self.times(element, elem.bytes() as i64);
                        let to = self.b.ptr_add(buffer, bytes);
                        self.store_element(elem, value, (to, 0));
                    }
                    held.insert(result, value);
                }
            }
        }
        Ok(())
    }

    /// One cell of a member.
    fn member_element(&mut self, inst: Inst, extents: &[i64], element: Val, held: &mut Held) -> Result<Val> {
        let func = self.func;
        let Op::With(with) = &func.insts[inst].op else {
            return self.unsupported(func.insts[inst].span, "a member of a run that is no with-loop");
        };
        let part = &with.parts[0];
        let body = &func.regions[part.body];
        self.open(part.body);
        let own: HashMap<Value, Value> =
            self.own_reads(part.body, extents).map(|(array, result)| (result, array)).collect();
        if self.needs_index(part.body, &own) {
            let lengths: Vec<Val> = extents.iter().map(|e| self.b.i64(*e)).collect();
            let digits = self.digits(element, &lengths, true);
            for ((&param, digit), extent) in body.params.iter().zip(digits).zip(extents) {
                self.bind_wide(param, digit, (0, extent - 1));
            }
        }
        for (position, &inner) in body.insts.iter().enumerate() {
            self.start_inst(position, inner);
            match func.insts[inner].results.first().and_then(|v| Some((*v, *own.get(v)?))) {
                Some((v, array)) => {
                    let value = self.own_element(array, element, held);
                    self.bind(v, value);
                }
                None => self.inst(inner)?,
            }
            self.end_inst(inner);
        }
        self.start_yields();
        let Some(&v) = body.yields.first() else {
            return self.unsupported(func.insts[inst].span, "a body without a result");
        };
        let value = self.val(v);
        self.close();
        Ok(value)
    }

    /// The element of an array with the chain's extents.
    fn own_element(&mut self, array: Value, element: Val, held: &mut Held) -> Val {
        if let Some(&value) = held.get(&array) {
            return value;
        }
        let elem = self.elem(array);
        let object = self.val(array);
        let data = self.data_of(object);
        let bytes = self.times(element, elem.bytes() as i64);
        let from = self.b.ptr_add(data, bytes);
        let value = self.b.load(Ty::scalar(prim_of(elem)), from, 0, Access::ALIGNED);
        held.insert(array, value);
        value
    }
}
