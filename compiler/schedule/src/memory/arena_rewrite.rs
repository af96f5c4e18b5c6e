//! Carries out a memory plan: allocations become addresses in arenas, header fields constants; counting disappears.

use ravel_nest::ir::{Access, Exit, ExternId, Func, Inst, Module, Op, Param, Prim, Region, Ty, Value};
use rustc_hash::FxHashMap;

use crate::facts::layout;
use crate::memory::arena::{Buffer, Plan};
use crate::memory::arena_flow::{Content, Flow, Site};

/// Arenas up to this many bytes are stack slots.
const ON_STACK: i64 = 4 << 10;
/// Vector loads may touch this many bytes on either side of a stack slot.
const MARGIN: i64 = layout::DATA_ALIGN as i64;

struct Rewrite<'p> {
    plan: &'p Plan,
    /// The address of each arena.
    bases: Vec<Value>,
    buffer_of: FxHashMap<Value, usize>,
    /// Sites of the buffers, by number of the buffer; the plan's order is not that of the sites.
    sites: Vec<Site>,
    /// For values that point to a buffer: which, and whether to its header.
    target: FxHashMap<Value, (usize, bool)>,
    /// Elements of each buffer.
    data: Vec<Option<Value>>,
    replaced: FxHashMap<Value, Value>,
    enter: ExternId,
    leave: ExternId,
    /// Number of the next region.
    next: usize,
}

/// What the plan's function says of its buffers.
pub(crate) struct Pointers {
    /// Sites of the buffers, by number of the buffer; the plan's order is not that of the sites.
    sites: Vec<Site>,
    /// For values that point to a buffer: which, and whether to its header.
    target: FxHashMap<Value, (usize, bool)>,
}

impl Pointers {
    pub fn of(flow: &Flow<'_>, func: &Func, plan: &Plan) -> Pointers {
        let buffer_of: FxHashMap<Value, usize> = plan.buffers.iter().enumerate().map(|(k, b)| (b.value, k)).collect();
        let numbers: Vec<Option<usize>> = flow.sites.iter().map(|site| buffer_of.get(&site.value).copied()).collect();
        let mut sites: Vec<(usize, Site)> =
            numbers.iter().zip(&flow.sites).filter_map(|(buffer, site)| Some(((*buffer)?, site.clone()))).collect();
        sites.sort_by_key(|(buffer, _)| *buffer);
        let target = |v| {
            let (site, object) = flow.target(v)?;
            Some((v, (numbers[site]?, object)))
        };
        Pointers {
            sites: sites.into_iter().map(|(_, site)| site).collect(),
            target: func.values.keys().filter_map(target).collect(),
        }
    }
}

pub(crate) fn rewrite(module: &mut Module, func: &mut Func, plan: &Plan, Pointers { sites, target }: Pointers) {
    let param = |ty: Ty| Param { ty, signed: false };
    let enter = module.extern_func("ravel_arena_enter", &[param(Ty::I64)], Some(Ty::PTR));
    let leave = module.extern_func("ravel_arena_leave", &[param(Ty::I64)], None);
    let bases = plan.arenas.iter().map(|_| func.values.push(Ty::PTR)).collect();
    let mut pass = Rewrite {
        plan,
        bases,
        buffer_of: plan.buffers.iter().enumerate().map(|(k, b)| (b.value, k)).collect(),
        sites,
        target,
        data: vec![None; plan.buffers.len()],
        replaced: FxHashMap::default(),
        enter,
        leave,
        next: 0,
    };
    let mut body = std::mem::take(&mut func.body);
    pass.region(func, &mut body);
    func.body = body;
}

fn inst(op: Op, result: Option<Value>) -> Inst {
    Inst { results: result.into_iter().collect(), op }
}

impl Rewrite<'_> {
    fn constant(&self, func: &mut Func, out: &mut Vec<Inst>, value: i64) -> Value {
        let v = func.values.push(Ty::I64);
        out.push(inst(Op::Const { ty: Ty::I64, bits: value as u64 }, Some(v)));
        v
    }

    fn region(&mut self, func: &mut Func, region: &mut Region) {
        let number = self.next;
        self.next += 1;
        let mut out: Vec<Inst> = Vec::with_capacity(region.insts.len());
        let mut held = Vec::new();
        for (k, arena) in self.plan.arenas.iter().enumerate().filter(|(_, arena)| arena.region == number) {
            if arena.bytes <= ON_STACK {
                let size = (arena.bytes + 2 * MARGIN) as u32;
                let slot = func.values.push(Ty::PTR);
                out.push(inst(Op::StackSlot { size, align: layout::DATA_ALIGN as u32 }, Some(slot)));
                let margin = self.constant(func, &mut out, MARGIN);
                out.push(inst(Op::PtrAdd(slot, margin), Some(self.bases[k])));
            } else {
                let bytes = self.constant(func, &mut out, arena.bytes);
                out.push(inst(Op::CallExtern(self.enter, vec![bytes]), Some(self.bases[k])));
                held.push(bytes);
            }
        }
        for mut inst in std::mem::take(&mut region.insts) {
            // First what it does to the buffers of the plan, then what has become of its operands.
            if self.inst(func, &mut out, &mut inst) {
                inst.op.for_each_operand_mut(|v| *v = self.replaced.get(v).copied().unwrap_or(*v));
                out.push(inst);
            }
        }
        for v in region.exit.operands_mut() {
            *v = self.replaced.get(v).copied().unwrap_or(*v);
        }
        if !matches!(region.exit, Exit::Fault { .. }) {
            for bytes in held.into_iter().rev() {
                out.push(inst(Op::CallExtern(self.leave, vec![bytes]), None));
            }
        }
        region.insts = out;
    }

    /// Rewrites one instruction; false if nothing is left of it.
    fn inst(&mut self, func: &mut Func, out: &mut Vec<Inst>, inst: &mut Inst) -> bool {
        match &mut inst.op {
            Op::If { then_region, else_region, .. } => {
                self.region(func, then_region);
                self.region(func, else_region);
            }
            Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } => self.region(func, body),
            Op::CallExtern(..) | Op::StackSlot { .. } => {
                let Some(&k) = inst.results.first().and_then(|v| self.buffer_of.get(v)) else { return true };
                self.open(func, out, k);
                return false;
            }
            Op::RcInc(v, _) | Op::RcDec(v, _) => return !self.target.contains_key(v),
            Op::RcUnique(v) if self.target.contains_key(v) => inst.op = Op::Const { ty: Ty::I8, bits: 1 },
            Op::Load { ty, ptr, offset, .. } => {
                let Some(&(k, true)) = self.target.get(ptr) else { return true };
                if *offset == layout::OFFSET_DATA {
                    let data = self.data[k].expect("buffers are opened before they are used");
                    self.replaced.insert(inst.results[0], data);
                    return false;
                }
                if let Some(value) = self.sites[k].field(*ty, *offset) {
                    let bits = value as u64 & if ty.prim == Prim::I64 { u64::MAX } else { (1 << ty.prim.bits()) - 1 };
                    inst.op = Op::Const { ty: *ty, bits };
                }
            }
            _ => {}
        }
        true
    }

    /// Computes the addresses of a buffer and writes its header.
    fn open(&mut self, func: &mut Func, out: &mut Vec<Inst>, k: usize) {
        let buffer: &Buffer = &self.plan.buffers[k];
        let base = self.bases[buffer.arena];
        let first = self.constant(func, out, buffer.offset);
        out.push(inst(Op::PtrAdd(base, first), Some(buffer.value)));
        let Content::Array { tag, extents, .. } = &buffer.content else { return };
        if buffer.header == 0 {
            self.data[k] = Some(buffer.value);
            return;
        }
        let data = func.values.push(Ty::PTR);
        let start = self.constant(func, out, buffer.offset + buffer.header);
        out.push(inst(Op::PtrAdd(base, start), Some(data)));
        self.data[k] = Some(data);
        let kinds = extents.len() as i64 | i64::from(*tag) << 32 | i64::from(layout::KIND_ARRAY) << 40;
        let mut words = vec![
            (layout::OFFSET_RC, 1),
            (layout::OFFSET_COUNT, extents.iter().product()),
            (layout::OFFSET_RANK, kinds),
        ];
        words.extend(extents.iter().enumerate().map(|(axis, extent)| (layout::extent_offset(axis), *extent)));
        let store = |value, offset| Op::Store { value, ptr: buffer.value, offset, access: Access::ALIGNED };
        out.push(inst(store(data, layout::OFFSET_DATA), None));
        for (offset, word) in words {
            let word = self.constant(func, out, word);
            out.push(inst(store(word, offset), None));
        }
    }
}
