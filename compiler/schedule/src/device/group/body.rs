//! The body of a group pipeline, as one work-item of the group runs it.

use std::collections::BTreeSet;

use ravel_nest::ir::{Access, BinOp as NestBin, IntCmp, Ty};
use ravel_types::{Elem, HashMap, HashSet};
use ravel_wir::{Frame, Inst, Op, Part, Region, Value, With, WithOp};

use crate::Result;
use crate::device::group::Target;
use crate::device::group::blocks::WARP;
use crate::device::group::split_reduction::{Pending, Split};
use crate::facts::{Ext, Facts, Sink, Val, prim_of};
use crate::lower::Lower;
use crate::lower::emit::Key;
use crate::plan::device::group_memory::{Plan, SPLIT_BYTES};

/// Memory that work-items of a group write and read: barriers keep accesses of different items in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Memory {
    Slot(usize),
    Target(usize),
}

/// The state of a body under construction.
pub(crate) struct Group<'p> {
    /// The position of the work-item in its group.
    pub item: Val,
    /// Work-items of the group.
    pub items: i64,
    /// Folds that several items share, the memory for what they find, and those whose cells are still to come.
    pub splits: HashMap<(Inst, usize), Split>,
    pub scratch: Option<Val>,
    pub scratch_used: i64,
    pub pending: Vec<Pending>,
    plan: &'p Plan,
    slots: Vec<Val>,
    targets: &'p [Target],
    /// Yields that are written to their targets as they are made.
    direct: HashMap<Value, usize>,
    /// The memory that values lie in.
    memory: HashMap<Value, Memory>,
    written: HashSet<Memory>,
    read: HashSet<Memory>,
    /// The item that the next with-loop begins with: those before it are busy.
    turn: i64,
}

impl Group<'_> {
    /// The next items are busy.
    pub fn advance(&mut self, busy: i64) {
        self.turn = (self.turn + (busy as u64).next_multiple_of(WARP as u64) as i64) % self.items;
    }
}

impl Facts<'_> {
    fn holds_arrays(&self, region: Region) -> bool {
        self.func.regions[region].insts.iter().any(|inst| {
            let data = &self.func.insts[*inst];
            data.results.iter().any(|v| !self.func.ty(*v).is_scalar())
                || data.op.regions().into_iter().any(|r| self.holds_arrays(r))
        })
    }

    // Memory and barriers.

    /// Where an array that the body makes is to be.
    fn memory_of(&self, gr: &Group, v: Value) -> (Val, Memory) {
        match (gr.direct.get(&v), gr.plan.place.get(&v)) {
            (Some(&k), _) => (gr.targets[k].data, Memory::Target(k)),
            (None, Some(&k)) => (gr.slots[k], Memory::Slot(k)),
            (None, None) => unreachable!("every array has a place in the plan"),
        }
    }
}

impl Lower<'_, '_> {
    /// Emits the body of a partition for the group `place.0` and the work-item `place.1`.
    #[expect(clippy::too_many_arguments, reason = "what is known of one launch")]
    pub fn group_body(
        &mut self,
        part: &Part,
        plan: &Plan,
        place: (Val, Val),
        items: i64,
        scratch: &[Option<(Val, Val)>],
        targets: &[Target],
        direct: &BTreeSet<Value>,
    ) -> Result<()> {
        let func = self.func;
        let mut slots = Vec::new();
        for (slot, scratch) in plan.slots.iter().zip(scratch) {
            let bytes = slot.count * slot.elem.bytes() as i64;
            slots.push(match scratch {
                Some((_, buffer)) => {
                    let skipped = self.times(place.0, bytes);
                    self.b.ptr_add(*buffer, skipped)
                }
                None => self.b.local_slot(bytes.max(1) as u32, slot.elem.bytes() as u32),
            });
        }
        let yields = &func.regions[part.body].yields;
        let direct = yields.iter().enumerate().filter(|(_, v)| direct.contains(v)).map(|(k, v)| (*v, k)).collect();
        let mut splits = HashMap::default();
        self.splits_of(part.body, items, &mut splits);
        let scratch = (!splits.is_empty()).then(|| self.b.local_slot(SPLIT_BYTES as u32, 8));
        let mut gr = Group {
            item: place.1,
            items,
            splits,
            scratch,
            scratch_used: 0,
            pending: Vec::new(),
            plan,
            slots,
            targets,
            direct,
            memory: HashMap::default(),
            written: HashSet::default(),
            read: HashSet::default(),
            turn: 0,
        };
        self.group_region(&mut gr, part.body)?;
        if !gr.pending.is_empty() {
            self.b.barrier();
            gr.turn = 0;
            self.settle_splits(&mut gr)?;
        }
        for (k, &v) in yields.iter().enumerate() {
            if gr.direct.contains_key(&v) {
                continue;
            }
            let target = &targets[k];
            if func.ty(v).is_scalar() {
                let value = self.val(v);
                let (data, elem) = (target.data, target.elem);
                self.first_item(&gr, |lower| lower.store_element(elem, value, (data, 0)));
            } else {
                self.order(&mut gr, &[v], &[])?;
                let from = self.val(v);
                let from = self.data_of(from);
                self.copy_spread(&gr, target.elem, target.data, from, target.count);
            }
        }
        Ok(())
    }

    /// All instructions of a region that the work-items of a group run together.
    fn group_region(&mut self, gr: &mut Group, region: Region) -> Result<()> {
        let func = self.func;
        for (position, &inst) in func.regions[region].insts.iter().enumerate() {
            self.start_inst(position, inst);
            self.group_inst(gr, inst)?;
        }
        self.start_yields();
        Ok(())
    }

    fn group_inst(&mut self, gr: &mut Group, inst: Inst) -> Result<()> {
        let func = self.func;
        let data = &func.insts[inst];
        if matches!(data.op, Op::Check { .. }) {
            return Ok(());
        }
        let mut reads: Vec<Value> = Vec::new();
        data.op.for_each_operand(|v| reads.push(v));
        for region in data.op.regions() {
            reads.extend(self.live.free(region).iter().copied());
        }
        let together = data.op.regions().into_iter().any(|r| self.holds_arrays(r));
        if data.results.iter().all(|v| func.ty(*v).is_scalar()) && !together {
            // Scalars: all work-items compute them.
            self.order(gr, &reads, &[])?;
            return if self.shared_fold(gr, inst)? { Ok(()) } else { self.inst(inst) };
        }
        match &data.op {
            Op::With(with) => self.group_with(gr, inst, with, &reads),
            Op::Reshape { array, .. } | Op::Opaque(array) => {
                let data = self.val(*array);
                self.alias(gr, func.insts[inst].results[0], *array, data);
                Ok(())
            }
            Op::Sel { array, index } => {
                self.order(gr, &index.clone(), &[])?;
                let address = self.element_address(*array, index);
                let pointer = self.pointer(address);
                self.alias(gr, data.results[0], *array, pointer);
                Ok(())
            }
            Op::Array(cells) => {
                let result = data.results[0];
                let (to, memory) = self.memory_of(gr, result);
                self.order(gr, &reads, &[memory])?;
                let (elem, values): (Elem, Vec<Val>) =
                    (self.elem(result), cells.iter().map(|v| self.val(*v)).collect());
                self.first_item(gr, |lower| {
                    for (k, value) in values.into_iter().enumerate() {
                        lower.store_element(elem, value, (to, (k * elem.bytes()) as i32));
                    }
                });
                self.bind_array(gr, result, to, memory);
                Ok(())
            }
            Op::Update { array, index, value } => {
                let result = data.results[0];
                let (to, memory) = self.memory_of(gr, result);
                self.order(gr, &reads, &[memory])?;
                let (elem, count) = (self.elem(result), self.constant_count(result).unwrap_or(0));
                let from = self.val(*array);
                let from = self.data_of(from);
                self.copy_spread(gr, elem, to, from, count);
                self.wait(gr)?;
                self.bind_array(gr, result, to, memory);
                gr.written.insert(memory);
                let address = self.element_address(result, index);
                let value = self.val(*value);
                self.first_item(gr, |lower| lower.store_element(elem, value, address));
                Ok(())
            }
            Op::If { cond, then, els } => self.group_branch(gr, inst, *cond, [*then, *els], &reads),
            Op::Loop { init, body } => self.group_loop(gr, inst, init, *body),
            _ => self.unsupported(data.span, "an operation in a group of work-items"),
        }
    }

    fn bind_array(&mut self, gr: &mut Group, v: Value, data: Val, memory: Memory) {
        self.bind(v, data);
        self.emit.cache.insert(Key::Data(data), data);
        gr.memory.insert(v, memory);
    }

    /// `v` is (a part of) another array.
    fn alias(&mut self, gr: &mut Group, v: Value, of: Value, data: Val) {
        let data = if self.func.ty(of).is_scalar() {
            data
        } else {
            self.emit.cache.get(&Key::Data(data)).copied().unwrap_or(data)
        };
        self.bind(v, data);
        self.emit.cache.insert(Key::Data(data), data);
        if let Some(&memory) = gr.memory.get(&of) {
            gr.memory.insert(v, memory);
        }
    }

    /// Makes what is about to be read visible, and lets everybody finish with what is about to be written.
    fn order(&mut self, gr: &mut Group, reads: &[Value], writes: &[Memory]) -> Result<()> {
        let reads: Vec<Memory> = reads.iter().filter_map(|v| gr.memory.get(v).copied()).collect();
        if reads.iter().any(|m| gr.written.contains(m))
            || writes.iter().any(|m| gr.written.contains(m) || gr.read.contains(m))
        {
            self.wait(gr)?;
        }
        gr.read.extend(reads);
        gr.written.extend(writes);
        Ok(())
    }

    pub fn wait(&mut self, gr: &mut Group) -> Result<()> {
        self.b.barrier();
        gr.turn = 0;
        if !gr.pending.is_empty() {
            self.settle_splits(gr)?;
            self.b.barrier();
            gr.turn = 0;
        }
        gr.written.clear();
        gr.read.clear();
        gr.scratch_used = 0;
        Ok(())
    }

    /// The number of a work-item, counted from the one whose turn it is.
    pub fn turned(&mut self, gr: &Group) -> Val {
        if gr.turn == 0 {
            return gr.item;
        }
        let (ahead, mask) = (self.b.i64(gr.items - gr.turn), self.b.i64(gr.items - 1));
        let number = self.b.add(gr.item, ahead);
        self.b.binary(NestBin::And, number, mask)
    }

    /// Something that one work-item does for all.
    fn first_item(&mut self, gr: &Group, work: impl FnOnce(&mut Self)) {
        let zero = self.b.i64(0);
        let first = self.b.icmp(IntCmp::Eq, gr.item, zero);
        let cache = self.emit.cache.clone();
        self.b.begin_if(first);
        work(self);
        self.b.begin_else(&[]);
        self.b.end_if(&[]);
        self.emit.cache = cache;
    }

    /// Copies elements, spread over the work-items.
    fn copy_spread(&mut self, gr: &Group, elem: Elem, to: Val, from: Val, count: i64) {
        let (low, high, step) = (gr.item, self.b.i64(count), self.b.i64(gr.items));
        let (i, _) = self.b.begin_for(low, high, step, &[]);
        let bytes = self.times(i, elem.bytes() as i64);
        let (from, to) = (self.b.ptr_add(from, bytes), self.b.ptr_add(to, bytes));
        let value = self.b.load(Ty::scalar(prim_of(elem)), from, 0, Access::ALIGNED);
        self.b.store(value, to, 0, Access::ALIGNED);
        self.b.end_for(&[]);
    }

    fn fill_spread(&mut self, gr: &Group, elem: Elem, to: Val, count: i64, value: Val) {
        let (low, high, step) = (gr.item, self.b.i64(count), self.b.i64(gr.items));
        let (i, _) = self.b.begin_for(low, high, step, &[]);
        let bytes = self.times(i, elem.bytes() as i64);
        let to = self.b.ptr_add(to, bytes);
        self.b.store(value, to, 0, Access::ALIGNED);
        self.b.end_for(&[]);
    }

    // With-loops, branches, loops.

    /// A with-loop inside the body: its cells are spread over the work-items.
    fn group_with(&mut self, gr: &mut Group, inst: Inst, with: &With, reads: &[Value]) -> Result<()> {
        let func = self.func;
        let results = func.insts[inst].results.clone();
        let places: Vec<(Val, Memory)> = results.iter().map(|v| self.memory_of(gr, *v)).collect();
        let memories: Vec<Memory> = places.iter().map(|p| p.1).collect();
        self.order(gr, reads, &memories)?;
        let mut sinks = Vec::new();
        let mut prepared = false;
        for ((op, &result), &(to, _)) in with.ops.iter().zip(&results).zip(&places) {
            let elem = self.elem(result);
            let count = self.group_count(result, &self.device.padded);
            match op {
                WithOp::Genarray { frame: Frame::Known(frame), default, .. } if !self.covers(with, frame) => {
                    let value = self.default_element(elem, *default);
                    self.fill_spread(gr, elem, to, count, value);
                    prepared = true;
                }
                WithOp::Modarray { array } => {
                    let from = self.val(*array);
                    let from = self.data_of(from);
                    self.copy_spread(gr, elem, to, from, count);
                    prepared = true;
                }
                _ => {}
            }
            let extents: Vec<Ext> = func
                .ty(result)
                .shape
                .constants()
                .unwrap_or_default()
                .into_iter()
                .map(|e| Ext::Const(i64::from(e)))
                .collect();
            let strides = match self.device.padded.get(&result) {
                Some(strides) => strides.iter().map(|stride| Ext::Const(*stride)).collect(),
                None => self.strides_of(&extents, Ext::Const(1)),
            };
            sinks.push(Sink::Slice { elem, data: to, object: None, strides, cell: Ext::Const(1), reused: None });
        }
        if prepared {
            self.wait(gr)?;
            gr.written.extend(&memories);
            gr.read.extend(reads.iter().filter_map(|v| gr.memory.get(v)));
        }
        for (n, part) in with.parts.iter().enumerate() {
            let item = self.turned(gr);
            let busy = match self.spread_split(gr, item, (inst, n), &sinks)? {
                Some(busy) => busy,
                None => self.spread_part(item, gr.items, with, part, &sinks)?,
            };
            gr.advance(busy);
        }
        for (&result, (to, memory)) in results.iter().zip(places) {
            self.bind_array(gr, result, to, memory);
        }
        Ok(())
    }

    /// A branch that all work-items take alike.
    fn group_branch(
        &mut self,
        gr: &mut Group,
        inst: Inst,
        cond: Value,
        arms: [Region; 2],
        reads: &[Value],
    ) -> Result<()> {
        let func = self.func;
        let results = func.insts[inst].results.clone();
        let arrays: Vec<Value> = results.iter().copied().filter(|v| !func.ty(*v).is_scalar()).collect();
        let places: HashMap<Value, (Val, Memory)> = arrays.iter().map(|v| (*v, self.memory_of(gr, *v))).collect();
        self.order(gr, reads, &[])?;
        self.wait(gr)?;
        let cond = self.val(cond);
        self.b.begin_if(cond);
        let mut values = Vec::new();
        for (n, &arm) in arms.iter().enumerate() {
            self.open(arm);
            self.group_region(gr, arm)?;
            let mut yields = Vec::new();
            for (&v, result) in func.regions[arm].yields.iter().zip(&results) {
                match places.get(result) {
                    Some(&(to, memory)) => {
                        self.order(gr, &[v], &[memory])?;
                        let from = self.val(v);
                        let from = self.data_of(from);
                        let (elem, count) = (self.elem(v), self.constant_count(v).unwrap_or(0));
                        self.copy_spread(gr, elem, to, from, count);
                    }
                    None => yields.push(self.val(v)),
                }
            }
            self.wait(gr)?;
            self.close();
            if n == 0 {
                self.b.begin_else(&yields);
            } else {
                values = self.b.end_if(&yields).to_vec();
            }
        }
        let mut values = values.into_iter();
        for &result in &results {
            match places.get(&result) {
                Some(&(to, memory)) => self.bind_array(gr, result, to, memory),
                None => {
                    let value = values.next().expect("every other result is a scalar");
                    self.bind(result, value);
                }
            }
        }
        Ok(())
    }

    /// A loop that all work-items run alike. Carried arrays stay where they are; the next ones are copied there.
    fn group_loop(&mut self, gr: &mut Group, inst: Inst, init: &[Value], body: Region) -> Result<()> {
        let func = self.func;
        let params = func.regions[body].params.clone();
        let results = func.insts[inst].results.clone();
        let is_array = |v: &Value| !func.ty(*v).is_scalar();
        let mut scalars = Vec::new();
        let mut places: HashMap<Value, (Val, Memory)> = HashMap::default();
        for (&param, &start) in params.iter().zip(init) {
            if is_array(&param) {
                let (to, memory) = self.memory_of(gr, param);
                self.order(gr, &[start], &[memory])?;
                let from = self.val(start);
                let from = self.data_of(from);
                let (elem, count) = (self.elem(param), self.constant_count(param).unwrap_or(0));
                self.copy_spread(gr, elem, to, from, count);
                places.insert(param, (to, memory));
            } else {
                scalars.push(self.val(start));
            }
        }
        self.wait(gr)?;
        let mut carried = self.b.begin_loop(&scalars).into_iter();
        self.open(body);
        for &param in &params {
            match places.get(&param) {
                Some(&(to, memory)) => self.bind_array(gr, param, to, memory),
                None => {
                    let value = carried.next().expect("every other parameter is a scalar");
                    self.bind(param, value);
                }
            }
        }
        self.group_region(gr, body)?;
        let yields = func.regions[body].yields.clone();
        let Some((&again, next)) = yields.split_first() else {
            return self.unsupported(func.insts[inst].span, "a loop without a condition");
        };
        let again = self.val(again);
        let mut values = Vec::new();
        for (&v, param) in next.iter().zip(&params) {
            if !places.contains_key(param) {
                values.push(self.val(v));
            }
        }
        // An array may become another one that is carried: copies go through the items' own order only if they do not cross.
        let moves: Vec<(Value, Value)> = next
            .iter()
            .copied()
            .zip(params.iter().copied())
            .filter(|(v, param)| is_array(param) && v != param)
            .collect();
        for (v, param) in moves {
            let (to, memory) = places[&param];
            self.order(gr, &[v], &[memory])?;
            let from = self.val(v);
            let from = self.data_of(from);
            let (elem, count) = (self.elem(param), self.constant_count(param).unwrap_or(0));
            self.copy_spread(gr, elem, to, from, count);
        }
        self.wait(gr)?;
        self.close();
        let mut values = self.b.end_loop(again, &values).into_iter();
        for (&result, param) in results.iter().zip(&params) {
            match places.get(param) {
                Some(&(to, memory)) => self.bind_array(gr, result, to, memory),
                None => {
                    let value = values.next().expect("every other result is a scalar");
                    self.bind(result, value);
                }
            }
        }
        Ok(())
    }
}
