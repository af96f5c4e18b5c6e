//! Checks a memory plan against the function it was made for, by means of its own.
//!
//! The planner reasons about ranges of positions; this checker computes which pointers are *alive* at each point, backwards
//! through the regions, and what each pointer may point to, as sets. A plan is right if
//! - every buffer is large enough for the array it replaces and lies inside its arena;
//! - no pointer to a buffer is kept by anything but the function: not stored, not returned, not given to a function that might keep it;
//! - pointers are used only inside the region of the arena, and a chunk of a parallel loop has an arena of its own;
//! - where a buffer is begun, no live pointer leads to memory that it overlaps (an older incarnation of itself included);
//! - what is counted, or whose header is read, is certainly the buffer and not sometimes something else;
//! - a buffer without header is never looked at as an object.

use std::collections::{BTreeMap, BTreeSet};

use ravel_nest::ir::{Exit, Func, Inst, Module, Op, Prim, Region, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::memory::arena::{Buffer, Plan};
use crate::memory::arena_flow::Content;

/// Functions outside the module that neither keep nor release what they are given.
const HARMLESS: [&str; 11] = [
    "ravel_cell_offset",
    "ravel_check_count",
    "ravel_copy",
    "ravel_copy_bytes",
    "ravel_device_host_writes",
    "ravel_device_to_host",
    "ravel_fill_cells",
    "ravel_narrow",
    "ravel_put_cell",
    "ravel_rows_gather",
    "ravel_shape_vec",
];

/// Where a pointer may lead.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Spot {
    Object(usize),
    Elements(usize),
    Unknown,
}

impl Spot {
    fn buffer(self) -> Option<usize> {
        match self {
            Spot::Object(k) | Spot::Elements(k) => Some(k),
            Spot::Unknown => None,
        }
    }
}

type Spots = BTreeSet<Spot>;
type Live = BTreeSet<Value>;
type Verdict = Result<(), String>;

struct Certifier<'a> {
    module: &'a Module,
    func: &'a Func,
    plan: &'a Plan,
    begins: FxHashMap<Value, usize>,
    spots: FxHashMap<Value, Spots>,
    defs: FxHashMap<Value, &'a Op>,
    /// Slots whose address went somewhere: they keep their memory for good.
    loose: FxHashSet<usize>,
    /// Values that lead to a buffer.
    leads: FxHashSet<Value>,
    free: FxHashMap<*const Region, Free>,
    counted: FxHashSet<usize>,
    asked: FxHashSet<usize>,
    /// For each buffer, the regions around its beginning: numbers in the order of the text, and whether they repeat or are chunks.
    around: BTreeMap<usize, Vec<Around>>,
    next_region: usize,
    /// Pointers alive at the start of the bodies of loops.
    entries: FxHashMap<*const Region, Live>,
    changed: bool,
    check: bool,
}

/// Pointers to buffers that a region takes from outside, and whether a buffer begins in it.
struct Free {
    begins: bool,
    used: Vec<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Around {
    region: usize,
    repeats: bool,
    chunk: bool,
}

/// Says what is wrong with a plan.
///
/// # Errors
/// The first rule that the plan breaks.
pub(crate) fn certify(module: &Module, func: &Func, plan: &Plan) -> Verdict {
    let mut c = Certifier {
        module,
        func,
        plan,
        begins: plan.buffers.iter().enumerate().map(|(k, b)| (b.value, k)).collect(),
        spots: FxHashMap::default(),
        defs: FxHashMap::default(),
        loose: FxHashSet::default(),
        leads: FxHashSet::default(),
        free: FxHashMap::default(),
        counted: FxHashSet::default(),
        asked: FxHashSet::default(),
        around: BTreeMap::new(),
        next_region: 0,
        entries: FxHashMap::default(),
        changed: false,
        check: false,
    };
    for &param in &func.body.params {
        c.spots.insert(param, Spots::from([Spot::Unknown]));
    }
    c.define(&func.body);
    while c.flow(&func.body) {}
    c.leads = c.spots.iter().filter(|(_, spots)| spots.iter().any(|s| s.buffer().is_some())).map(|(v, _)| *v).collect();
    c.visit(&func.body, &mut Vec::new(), Around { region: 0, repeats: false, chunk: false })?;
    for (k, buffer) in plan.buffers.iter().enumerate() {
        c.room(k, buffer)?;
    }
    if let Some(k) = c.counted.intersection(&c.asked).next() {
        return Err(format!("{} is counted and its count is asked for", c.name(*k)));
    }
    c.find_free(&func.body);
    loop {
        c.changed = false;
        c.live(&func.body, Live::new())?;
        if !c.changed {
            break;
        }
    }
    c.check = true;
    c.live(&func.body, Live::new())?;
    Ok(())
}

fn ensure(holds: bool, rule: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(rule()) }
}

impl<'a> Certifier<'a> {
    fn name(&self, k: usize) -> String {
        format!("buffer {k} ({})", self.plan.buffers[k].value)
    }

    fn define(&mut self, region: &'a Region) {
        for inst in &region.insts {
            for &v in &inst.results {
                self.defs.insert(v, &inst.op);
            }
            inst.op.regions().into_iter().for_each(|below| self.define(below));
        }
    }

    fn spots(&self, v: Value) -> Spots {
        self.spots.get(&v).cloned().unwrap_or_default()
    }

    fn buffers(&self, v: Value) -> Vec<usize> {
        self.spots.get(&v).map(|spots| spots.iter().filter_map(|spot| spot.buffer()).collect()).unwrap_or_default()
    }

    // What pointers point to.

    fn add(&mut self, v: Value, new: impl IntoIterator<Item = Spot>) -> bool {
        let mut new = new.into_iter().peekable();
        if new.peek().is_none() {
            return false;
        }
        let spots = self.spots.entry(v).or_default();
        let before = spots.len();
        spots.extend(new);
        spots.len() > before
    }

    fn copy(&mut self, to: &[Value], from: &[Value]) -> bool {
        let mut changed = false;
        for (&to, &from) in to.iter().zip(from) {
            let spots = self.spots(from);
            changed |= self.add(to, spots);
        }
        changed
    }

    fn flow(&mut self, region: &'a Region) -> bool {
        let mut changed = false;
        for inst in &region.insts {
            for below in inst.op.regions() {
                changed |= self.flow(below);
                let given = below.exit.operands();
                match (&inst.op, &below.exit) {
                    (Op::If { .. }, Exit::Yield(_)) => changed |= self.copy(&inst.results, given),
                    (Op::For { inits, .. }, _) => {
                        for from in [inits, given] {
                            changed |= self.copy(&below.params[1..], from);
                            changed |= self.copy(&inst.results, from);
                        }
                    }
                    (Op::Loop { inits, .. }, Exit::Yield(_)) => {
                        changed |= self.copy(&below.params, inits);
                        changed |= self.copy(&below.params, &given[1..]);
                        changed |= self.copy(&inst.results, &given[1..]);
                    }
                    _ => {}
                }
            }
            changed |= self.step(inst);
        }
        changed
    }

    fn step(&mut self, inst: &Inst) -> bool {
        let Some(&result) = inst.results.first() else { return false };
        if !inst.op.regions().is_empty() {
            return false;
        }
        if let Some(&k) = self.begins.get(&result) {
            let slot = self.plan.buffers[k].content == Content::Slot;
            return self.add(result, [if slot { Spot::Elements(k) } else { Spot::Object(k) }]);
        }
        let inner = |spots: Spots| {
            spots.into_iter().map(|spot| match spot {
                Spot::Object(k) => Spot::Elements(k),
                other => other,
            })
        };
        match &inst.op {
            Op::Select { on_true, on_false, .. } => self.copy(&[result, result], &[*on_true, *on_false]),
            Op::PtrAdd(..) | Op::Binary(..) | Op::Unary(..) | Op::Convert(..) => {
                let mut from = Vec::new();
                inst.op.for_each_operand(|v| from.extend(self.spots.get(&v).cloned()));
                let mut changed = false;
                for spots in from {
                    changed |= self.add(result, inner(spots));
                }
                changed
            }
            Op::Load { ptr, .. } => {
                if self.func.values[result].prim != Prim::Ptr {
                    return false;
                }
                // Elements are no pointers; what a header holds leads to the elements.
                let spots = self.spots(*ptr);
                let objects: Spots = spots.into_iter().filter(|spot| !matches!(spot, Spot::Elements(_))).collect();
                let none = objects.is_empty();
                let mut changed = self.add(result, inner(objects));
                if none {
                    changed |= self.add(result, [Spot::Unknown]);
                }
                changed
            }
            _ => {
                let mut changed = false;
                for &v in &inst.results {
                    if self.func.values[v].prim == Prim::Ptr {
                        changed |= self.add(v, [Spot::Unknown]);
                    }
                }
                changed
            }
        }
    }

    // Uses.

    fn visit(&mut self, region: &'a Region, path: &mut Vec<Around>, mut here: Around) -> Verdict {
        here.region = self.next_region;
        self.next_region += 1;
        path.push(here);
        for inst in &region.insts {
            if let Some(&k) = inst.results.first().and_then(|v| self.begins.get(v)) {
                self.around.insert(k, path.clone());
            }
            self.operands(inst, path)?;
            if let Op::Launch { body, .. } = &inst.op {
                // Code of a device: the plan does not number its regions.
                self.strange(body)?;
                continue;
            }
            for below in inst.op.regions() {
                let repeats = matches!(inst.op, Op::For { .. } | Op::Loop { .. } | Op::ParFor { .. });
                let chunk = matches!(inst.op, Op::ParFor { .. });
                self.visit(below, path, Around { region: 0, repeats, chunk })?;
            }
        }
        for &v in region.exit.operands() {
            self.inside(v, path)?;
            if matches!(region.exit, Exit::Return(_)) {
                self.kept(v)?;
            }
        }
        path.pop();
        Ok(())
    }

    /// Code that can do nothing with the host's memory.
    fn strange(&self, region: &Region) -> Verdict {
        let no_buffer =
            |v: Value| self.buffers(v).first().map_or(Ok(()), |&k| Err(format!("a device is given {}", self.name(k))));
        for inst in &region.insts {
            let mut verdict = Ok(());
            inst.op.for_each_operand(|v| verdict = std::mem::replace(&mut verdict, Ok(())).and(no_buffer(v)));
            verdict?;
            inst.op.regions().into_iter().try_for_each(|below| self.strange(below))?;
        }
        region.exit.operands().iter().try_for_each(|v| no_buffer(*v))
    }

    /// A pointer may be used only where its arena is open.
    fn inside(&self, v: Value, path: &[Around]) -> Verdict {
        for k in self.buffers(v) {
            let arena = &self.plan.arenas[self.plan.buffers[k].arena];
            ensure(path.iter().any(|around| around.region == arena.region), || {
                format!("{} is used outside of its arena", self.name(k))
            })?;
        }
        Ok(())
    }

    /// The pointer goes somewhere that this function does not see.
    fn kept(&mut self, v: Value) -> Verdict {
        for k in self.buffers(v) {
            ensure(self.plan.buffers[k].content == Content::Slot, || format!("{} escapes through {v}", self.name(k)))?;
            self.loose.insert(k);
        }
        Ok(())
    }

    /// Something depends on what exactly `v` is; as an object if it has a header.
    fn certain(&self, v: Value) -> Verdict {
        let spots = self.spots(v);
        let mixed = spots.len() > 1 && spots.iter().any(|spot| matches!(spot, Spot::Object(_)));
        ensure(!mixed, || format!("{v} is a buffer only sometimes"))
    }

    fn operands(&mut self, inst: &Inst, path: &[Around]) -> Verdict {
        let mut operands = Vec::new();
        inst.op.for_each_operand(|v| operands.push(v));
        for &v in &operands {
            self.inside(v, path)?;
        }
        let as_object = |c: &Self, v: Value| -> Verdict {
            for spot in c.spots(v) {
                if let Spot::Object(k) = spot {
                    ensure(c.plan.buffers[k].header > 0, || {
                        format!("{} has no header, but {v} is used as an object", c.name(k))
                    })?;
                }
            }
            Ok(())
        };
        match &inst.op {
            Op::RcInc(v, _) | Op::RcDec(v, _) => {
                self.certain(*v)?;
                for k in self.buffers(*v) {
                    if matches!(inst.op, Op::RcInc(..)) {
                        self.counted.insert(k);
                    }
                }
            }
            Op::RcUnique(v) => {
                self.certain(*v)?;
                self.asked.extend(self.buffers(*v));
            }
            Op::Load { ptr, offset, .. } => {
                let spots = self.spots(*ptr);
                if !spots.iter().any(|spot| matches!(spot, Spot::Object(_))) {
                    return Ok(());
                }
                self.certain(*ptr)?;
                if !matches!(offset, 8 | 16 | 24) && (*offset < 32 || offset % 8 != 0) {
                    as_object(self, *ptr)?;
                }
            }
            Op::Store { value, ptr, .. } => {
                self.kept(*value)?;
                let object = self.spots(*ptr).into_iter().any(|spot| matches!(spot, Spot::Object(_)));
                ensure(!object, || format!("the header of {ptr} is written"))?;
            }
            Op::PtrAdd(base, _) => as_object(self, *base)?,
            Op::CallExtern(callee, args) => {
                for &v in args {
                    as_object(self, v)?;
                    if !HARMLESS.contains(&self.module.externs[*callee].name.as_str()) {
                        self.kept(v)?;
                    }
                }
            }
            Op::Call(_, args) => args.iter().try_for_each(|v| self.kept(*v))?,
            Op::CallIndirect { .. } => operands.iter().try_for_each(|v| self.kept(*v))?,
            _ => {}
        }
        Ok(())
    }

    // Sizes.

    fn constant(&self, v: Value) -> Option<u64> {
        match self.defs.get(&v)? {
            Op::Const { bits, .. } => Some(*bits),
            _ => None,
        }
    }

    /// Bytes that the function asks for where it begins the buffer, and the rank of the array.
    fn wanted(&self, value: Value) -> Option<(u64, u64)> {
        match *self.defs.get(&value)? {
            Op::StackSlot { size, .. } => Some((u64::from(*size), 0)),
            Op::CallExtern(callee, args) if self.module.externs[*callee].name == "ravel_alloc" => {
                let (elem, rank) = (self.constant(args[0])?, self.constant(args[1])?);
                let mut bytes = match elem {
                    0 | 1 | 2 | 6 => 1,
                    3 | 7 => 2,
                    4 | 8 | 10 => 4,
                    5 | 9 | 11 => 8,
                    _ => return None,
                };
                if rank > 0 {
                    let Op::DataAddr(data) = self.defs.get(&args[2])? else { return None };
                    let words = self.module.data[*data].bytes.chunks(8).take(usize::try_from(rank).ok()?);
                    for word in words {
                        bytes *= u64::from_le_bytes(word.try_into().ok()?);
                    }
                }
                Some((bytes, rank))
            }
            _ => None,
        }
    }

    fn room(&self, k: usize, buffer: &Buffer) -> Verdict {
        let Some((bytes, rank)) = self.wanted(buffer.value) else {
            return Err(format!("{} replaces something that is not an allocation of constant size", self.name(k)));
        };
        let arena = self.plan.arenas.get(buffer.arena).ok_or_else(|| format!("{} has no arena", self.name(k)))?;
        let header = if buffer.header == 0 { 0 } else { 32 + 8 * rank as i64 };
        let fits = buffer.header >= header
            && buffer.header % 64 == 0
            && buffer.offset % 64 == 0
            && buffer.offset >= 0
            && i64::try_from(bytes).is_ok_and(|bytes| buffer.header + bytes <= buffer.bytes)
            && buffer.offset + buffer.bytes <= arena.bytes;
        ensure(fits, || format!("{} has no room for {bytes} bytes", self.name(k)))?;
        let Some(path) = self.around.get(&k) else { return Err(format!("{} is never begun", self.name(k))) };
        let Some(open) = path.iter().position(|around| around.region == arena.region) else {
            return Err(format!("{} is begun outside of its arena", self.name(k)));
        };
        ensure(!path[open + 1..].iter().any(|around| around.chunk), || {
            format!("{} is shared by the chunks of a parallel loop", self.name(k))
        })?;
        if buffer.content == Content::Slot {
            self.slot(k, open, path)?;
        }
        Ok(())
    }

    /// A slot keeps its content while the outermost loop around it runs, or for good if its address is elsewhere.
    fn slot(&self, k: usize, open: usize, path: &[Around]) -> Verdict {
        let chunk = path.iter().rposition(|around| around.chunk).unwrap_or(0);
        let outermost = path[chunk + 1..].iter().find(|around| around.repeats);
        ensure(
            outermost.is_none_or(|around| path[..=open].contains(around) || !path[..open].contains(around)),
            || format!("{} loses its content with every iteration", self.name(k)),
        )?;
        for other in 0..self.plan.buffers.len() {
            let inside =
                outermost.is_some_and(|around| self.around.get(&other).is_some_and(|path| path.contains(around)));
            if other != k && (inside || self.loose.contains(&k)) {
                ensure(!self.overlap(k, other), || format!("{} is overwritten by {}", self.name(k), self.name(other)))?;
            }
        }
        Ok(())
    }

    fn overlap(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.plan.buffers[a], &self.plan.buffers[b]);
        a.arena == b.arena && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes
    }

    // Lives.

    /// What each region needs from outside, for regions below which no buffer begins.
    fn find_free(&mut self, region: &'a Region) -> (FxHashSet<Value>, bool) {
        let mut used: FxHashSet<Value> =
            region.exit.operands().iter().copied().filter(|v| self.leads.contains(v)).collect();
        let mut begins = false;
        for inst in region.insts.iter().rev() {
            for v in &inst.results {
                used.remove(v);
                begins |= self.begins.contains_key(v);
            }
            inst.op.for_each_operand(|v| {
                if self.leads.contains(&v) {
                    used.insert(v);
                }
            });
            for below in inst.op.regions() {
                let (more, begun) = self.find_free(below);
                used.extend(more);
                begins |= begun;
            }
        }
        for param in &region.params {
            used.remove(param);
        }
        self.free.insert(std::ptr::from_ref(region), Free { begins, used: used.iter().copied().collect() });
        (used, begins)
    }

    /// Pointers alive before a region, given those alive behind it; checks every beginning of a buffer on the way if told to.
    fn live(&mut self, region: &'a Region, mut alive: Live) -> Result<Live, String> {
        if let Some(Free { begins: false, used }) = self.free.get(&std::ptr::from_ref(region)) {
            alive.extend(used);
            return Ok(alive);
        }
        self.using(&mut alive, region.exit.operands());
        for inst in region.insts.iter().rev() {
            if self.check
                && let Some(&k) = inst.results.first().and_then(|v| self.begins.get(v))
            {
                for &v in alive.iter().filter(|v| **v != inst.results[0]) {
                    for other in self.buffers(v) {
                        ensure(!self.overlap(k, other), || {
                            format!("{} begins where {v} still needs {}", self.name(k), self.name(other))
                        })?;
                    }
                }
            }
            for v in &inst.results {
                alive.remove(v);
            }
            let regions = inst.op.regions();
            let behind = if regions.is_empty() { Live::new() } else { alive.clone() };
            for below in regions {
                let mut end = behind.clone();
                let key = std::ptr::from_ref(below);
                let repeats = !matches!(inst.op, Op::If { .. });
                if repeats {
                    // What the next iteration needs, as far as the passes so far know.
                    end.extend(self.entries.get(&key).into_iter().flatten());
                }
                let mut start = self.live(below, end)?;
                below.params.iter().for_each(|param| {
                    start.remove(param);
                });
                if repeats && self.entries.get(&key) != Some(&start) {
                    self.entries.insert(key, start.clone());
                    self.changed = true;
                }
                alive.extend(start);
            }
            inst.op.for_each_operand(|v| self.using(&mut alive, &[v]));
        }
        Ok(alive)
    }

    fn using(&self, alive: &mut Live, values: &[Value]) {
        alive.extend(values.iter().copied().filter(|v| self.leads.contains(v)));
    }
}
