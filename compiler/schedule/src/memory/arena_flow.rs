//! Which arrays of a finished function never leave the region that makes them, and from where to where each is in use.
//!
//! The function is read as a list of instructions in the order of the text. Pointers are followed from the allocation through
//! address arithmetic, conditionals and carried values of loops; a pointer that is stored, returned, handed to a function
//! that may keep it, or yielded out of the region of its allocation *escapes*. Everything is decided without regard to the order of
//! execution, except that the use of an array from outside a loop lasts until the end of the loop.

use cranelift_entity::SecondaryMap;
use ravel_nest::ir::{DataId, Exit, Func, Inst, Module, Op, Prim, Region, Ty, Value};
use rustc_hash::FxHashMap;

use crate::facts::layout;

/// Runtime functions that read or write the object or the elements they are given and keep no pointer to them.
const BORROWERS: [&str; 11] = [
    "ravel_copy_bytes",
    "ravel_check_count",
    "ravel_copy",
    "ravel_fill_cells",
    "ravel_put_cell",
    "ravel_cell_offset",
    "ravel_shape_vec",
    "ravel_narrow",
    "ravel_device_to_host",
    "ravel_rows_gather",
    "ravel_device_host_writes",
];

/// Stack memory of at least this size is laid out together with the arrays.
const LARGE_SLOT: u32 = 1024;

/// What a region belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Body,
    Arm,
    Loop,
    Parallel,
}

/// A region; regions are numbered in the order of the text.
pub(crate) struct Place<'f> {
    pub parent: Option<usize>,
    pub kind: Kind,
    /// Positions of its first instruction and of its exit.
    pub first: usize,
    pub last: usize,
    params: &'f [Value],
    exit: &'f Exit,
}

/// One line of the function.
enum Line<'f> {
    Inst { inst: &'f Inst, region: usize, nested: Vec<usize> },
    Exit { exit: &'f Exit, region: usize },
}

/// What a buffer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// An array object with constant extents.
    Array { tag: u8, elem_bytes: i64, extents: Vec<i64> },
    /// Untyped memory: a large stack slot.
    Slot,
}

/// An allocation of constant size.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The object, or the address of the slot.
    pub value: Value,
    pub content: Content,
    /// The region of the allocation.
    pub region: usize,
    /// Positions of the allocation and of the last use.
    pub start: usize,
    pub end: usize,
    /// Bytes of the elements.
    pub bytes: i64,
    /// Does anything look at the object and not only at its elements?
    pub header: bool,
    pub escapes: bool,
    counted: bool,
    asked: bool,
}

/// What a pointer points to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum To {
    /// Nothing yet.
    #[default]
    Unseen,
    /// The header of the object of a site.
    Object(usize),
    /// The elements of a site.
    Inside(usize),
    Elsewhere,
}

impl To {
    fn site(self) -> Option<usize> {
        match self {
            To::Object(site) | To::Inside(site) => Some(site),
            To::Unseen | To::Elsewhere => None,
        }
    }
}

/// The allocations of a function.
pub(crate) struct Flow<'f> {
    pub places: Vec<Place<'f>>,
    pub sites: Vec<Site>,
    lines: Vec<Line<'f>>,
    to: SecondaryMap<Value, To>,
    constants: FxHashMap<Value, u64>,
    data: FxHashMap<Value, DataId>,
}

impl<'f> Flow<'f> {
    pub fn of(module: &Module, func: &'f Func) -> Flow<'f> {
        let mut flow = Flow {
            places: Vec::new(),
            sites: Vec::new(),
            lines: Vec::new(),
            to: SecondaryMap::new(),
            constants: FxHashMap::default(),
            data: FxHashMap::default(),
        };
        flow.read(&func.body, Kind::Body, None);
        flow.find_sites(module, func);
        if flow.sites.is_empty() {
            return flow;
        }
        for &param in &func.body.params {
            flow.to[param] = To::Elsewhere;
        }
        while flow.spread(func) {}
        flow.uses(module);
        for site in &mut flow.sites {
            // A count that is asked for is known only while nobody adds to it.
            site.escapes |= site.counted && site.asked;
        }
        flow
    }

    /// What a value points to, if it is an array or a slot of this function: the site, and whether it is the object's header.
    pub fn target(&self, v: Value) -> Option<(usize, bool)> {
        match self.to[v] {
            To::Object(site) => Some((site, true)),
            To::Inside(site) => Some((site, false)),
            To::Unseen | To::Elsewhere => None,
        }
    }

    fn read(&mut self, region: &'f Region, kind: Kind, parent: Option<usize>) -> usize {
        let number = self.places.len();
        let first = self.lines.len();
        self.places.push(Place { parent, kind, first, last: first, params: &region.params, exit: &region.exit });
        for inst in &region.insts {
            match inst.op {
                Op::Const { bits, .. } => {
                    self.constants.insert(inst.results[0], bits);
                }
                Op::DataAddr(data) => {
                    self.data.insert(inst.results[0], data);
                }
                _ => {}
            }
            let line = self.lines.len();
            self.lines.push(Line::Inst { inst, region: number, nested: Vec::new() });
            let below: Vec<usize> = match &inst.op {
                Op::If { then_region, else_region, .. } => {
                    [then_region, else_region].into_iter().map(|r| self.read(r, Kind::Arm, Some(number))).collect()
                }
                Op::For { body, .. } | Op::Loop { body, .. } => vec![self.read(body, Kind::Loop, Some(number))],
                Op::ParFor { body, .. } => vec![self.read(body, Kind::Parallel, Some(number))],
                _ => continue,
            };
            if let Line::Inst { nested, .. } = &mut self.lines[line] {
                *nested = below;
            }
        }
        self.places[number].last = self.lines.len();
        self.lines.push(Line::Exit { exit: &region.exit, region: number });
        number
    }

    fn find_sites(&mut self, module: &Module, func: &Func) {
        for (position, line) in self.lines.iter().enumerate() {
            let Line::Inst { inst, region, .. } = line else { continue };
            let found = match &inst.op {
                Op::CallExtern(callee, args) if module.externs[*callee].name == "ravel_alloc" => {
                    self.array(module, args)
                }
                Op::StackSlot { size, .. } if *size >= LARGE_SLOT => Some((Content::Slot, i64::from(*size))),
                _ => None,
            };
            let Some((content, bytes)) = found else { continue };
            let value = inst.results[0];
            let slot = content == Content::Slot;
            let to = if slot { To::Inside(self.sites.len()) } else { To::Object(self.sites.len()) };
            self.to[value] = to;
            debug_assert_eq!(func.values[value], Ty::PTR);
            let (start, end) = if slot { self.around_loops(*region, position) } else { (position, position) };
            self.sites.push(Site {
                value,
                content,
                region: *region,
                start,
                end,
                bytes,
                header: false,
                escapes: false,
                counted: false,
                asked: false,
            });
        }
    }

    /// A slot keeps what it holds from one iteration to the next: the positions of the outermost loop around it in its chunk.
    fn around_loops(&self, region: usize, position: usize) -> (usize, usize) {
        let mut range = (position, position);
        let mut at = region;
        loop {
            match self.places[at].kind {
                Kind::Loop => range = (self.places[at].first, self.places[at].last),
                Kind::Parallel => return range,
                Kind::Body | Kind::Arm => {}
            }
            match self.places[at].parent {
                Some(parent) => at = parent,
                None => return range,
            }
        }
    }

    /// The array that a call of `ravel_alloc` makes, if its shape is constant.
    fn array(&self, module: &Module, args: &[Value]) -> Option<(Content, i64)> {
        let &[tag, rank, shape, _] = args else { return None };
        let tag = u8::try_from(*self.constants.get(&tag)?).ok()?;
        let rank = usize::try_from(*self.constants.get(&rank)?).ok()?;
        let elem_bytes = layout::plain_bytes(tag)?;
        let mut extents = Vec::new();
        if rank > 0 {
            let bytes = &module.data[*self.data.get(&shape)?].bytes;
            for word in bytes.chunks_exact(8) {
                extents.push(i64::from_le_bytes(word.try_into().ok()?));
            }
        }
        if extents.len() != rank || extents.iter().any(|&extent| extent < 0) {
            return None;
        }
        let count = extents.iter().try_fold(1i64, |count, &extent| count.checked_mul(extent))?;
        Some((Content::Array { tag, elem_bytes, extents }, count.checked_mul(elem_bytes)?))
    }

    // Pointers.

    fn join(&mut self, v: Value, new: To) -> bool {
        let old = self.to[v];
        if new == To::Unseen || old == new {
            return false;
        }
        if old == To::Unseen {
            self.to[v] = new;
            return true;
        }
        // Two things at once: neither is known any more.
        for site in [old.site(), new.site()].into_iter().flatten() {
            self.sites[site].escapes = true;
        }
        let changed = old != To::Elsewhere;
        self.to[v] = To::Elsewhere;
        changed
    }

    fn join_all(&mut self, to: &[Value], from: &[Value]) -> bool {
        let mut changed = false;
        for (&to, &from) in to.iter().zip(from) {
            let new = self.to[from];
            changed |= self.join(to, new);
        }
        changed
    }

    fn yields(&self, place: usize) -> &'f [Value] {
        match self.places[place].exit {
            Exit::Yield(values) => values,
            _ => &[],
        }
    }

    /// One pass over the function; true if it found something new.
    fn spread(&mut self, func: &Func) -> bool {
        let mut changed = false;
        for position in 0..self.lines.len() {
            let Line::Inst { inst, nested, .. } = &self.lines[position] else { continue };
            let (inst, nested) = (*inst, nested.clone());
            match &inst.op {
                Op::If { .. } => {
                    for place in nested {
                        changed |= self.join_all(&inst.results, self.yields(place));
                    }
                }
                Op::For { inits, .. } => {
                    let (params, yields) = (self.places[nested[0]].params, self.yields(nested[0]));
                    changed |= self.join_all(&params[1..], inits);
                    changed |= self.join_all(&params[1..], yields);
                    changed |= self.join_all(&inst.results, inits);
                    changed |= self.join_all(&inst.results, yields);
                }
                Op::Loop { inits, .. } => {
                    let (params, yields) = (self.places[nested[0]].params, self.yields(nested[0]));
                    changed |= self.join_all(params, inits);
                    changed |= self.join_all(params, yields.get(1..).unwrap_or_default());
                    changed |= self.join_all(&inst.results, yields.get(1..).unwrap_or_default());
                }
                Op::Select { on_true, on_false, .. } => {
                    changed |= self.join_all(&inst.results, &[*on_true]);
                    changed |= self.join_all(&inst.results, &[*on_false]);
                }
                Op::PtrAdd(base, _) => {
                    let new = match self.to[*base] {
                        To::Object(site) | To::Inside(site) => To::Inside(site),
                        other => other,
                    };
                    changed |= self.join(inst.results[0], new);
                }
                Op::Load { ty: Ty::PTR, ptr, offset: layout::OFFSET_DATA, .. }
                    if matches!(self.to[*ptr], To::Object(_)) =>
                {
                    let new = self.to[*ptr].site().map_or(To::Elsewhere, To::Inside);
                    changed |= self.join(inst.results[0], new);
                }
                Op::Load { ptr, .. } if self.to[*ptr] == To::Unseen => {}
                _ => {
                    for &v in &inst.results {
                        if func.values[v].prim == Prim::Ptr && self.to[v] == To::Unseen {
                            changed |= self.join(v, To::Elsewhere);
                        }
                    }
                }
            }
        }
        changed
    }

    // Uses.

    fn uses(&mut self, module: &Module) {
        for position in 0..self.lines.len() {
            match &self.lines[position] {
                Line::Inst { inst, region, .. } => {
                    let (inst, region) = (*inst, *region);
                    inst.op.for_each_operand(|v| self.extend(v, region, position));
                    self.judge(module, inst);
                }
                Line::Exit { exit, region } => {
                    let (exit, region) = (*exit, *region);
                    for &v in exit.operands() {
                        self.extend(v, region, position);
                        let Some(site) = self.to[v].site() else { continue };
                        let leaves = matches!(exit, Exit::Return(_)) || self.sites[site].region == region;
                        self.sites[site].escapes |= leaves && !matches!(exit, Exit::Fault { .. });
                        self.sites[site].header = true;
                    }
                }
            }
        }
    }

    /// Notes that `v` is used here: until the end of the loops that the allocation is outside of.
    fn extend(&mut self, v: Value, region: usize, position: usize) {
        let Some(site) = self.to[v].site() else { return };
        let home = self.sites[site].region;
        let mut end = position;
        let mut at = region;
        while at != home {
            if matches!(self.places[at].kind, Kind::Loop | Kind::Parallel) {
                end = end.max(self.places[at].last);
            }
            match self.places[at].parent {
                Some(parent) => at = parent,
                None => {
                    // The pointer is used outside of the region that made it.
                    self.sites[site].escapes = true;
                    break;
                }
            }
        }
        let site = &mut self.sites[site];
        site.end = site.end.max(end);
    }

    fn judge(&mut self, module: &Module, inst: &Inst) {
        let escape = |flow: &mut Self, v: Value| {
            if let Some(site) = flow.to[v].site() {
                flow.sites[site].escapes = true;
            }
        };
        match &inst.op {
            Op::If { .. } | Op::For { .. } | Op::Loop { .. } | Op::Select { .. } | Op::IntCmp(..) => {}
            // Ranks note which rows they have of an object.
            Op::ParFor { shared, .. } => {
                let objects = shared.iter().flat_map(|shared| shared.objects());
                objects.for_each(|object| escape(self, *object));
            }
            Op::PtrAdd(base, offset) => {
                if let To::Object(site) = self.to[*base] {
                    self.sites[site].header = true;
                }
                escape(self, *offset);
            }
            Op::Load { ty, ptr, offset, .. } => {
                if let To::Object(site) = self.to[*ptr] {
                    self.sites[site].header |=
                        self.sites[site].field(*ty, *offset).is_none() && *offset != layout::OFFSET_DATA;
                }
            }
            Op::Gather { ptr, .. } => {
                if let To::Object(site) = self.to[*ptr] {
                    self.sites[site].header = true;
                }
            }
            Op::Store { value, ptr, .. } => {
                escape(self, *value);
                if matches!(self.to[*ptr], To::Object(_)) {
                    escape(self, *ptr);
                }
            }
            Op::RcInc(v, _) | Op::RcDec(v, _) => match self.to[*v] {
                To::Object(site) => self.sites[site].counted |= matches!(inst.op, Op::RcInc(..)),
                _ => escape(self, *v),
            },
            Op::RcUnique(v) => match self.to[*v] {
                To::Object(site) => self.sites[site].asked = true,
                _ => escape(self, *v),
            },
            Op::CallExtern(callee, args) => {
                let borrows = BORROWERS.contains(&module.externs[*callee].name.as_str());
                for &v in args {
                    if !borrows {
                        escape(self, v);
                    }
                    if let To::Object(site) = self.to[v] {
                        self.sites[site].header = true;
                    }
                }
            }
            op => op.for_each_operand(|v| escape(self, v)),
        }
    }
}

impl Site {
    /// The value of a header field of an array that nobody else holds, if it is a constant.
    pub fn field(&self, ty: Ty, offset: i32) -> Option<i64> {
        let Content::Array { tag, extents, .. } = &self.content else { return None };
        match (ty, offset) {
            (Ty::I64, layout::OFFSET_COUNT) => Some(extents.iter().product()),
            (Ty::I32, layout::OFFSET_RANK) => Some(extents.len() as i64),
            (Ty::I8, layout::OFFSET_ELEM) => Some(i64::from(*tag)),
            (Ty::I16, layout::OFFSET_MARKS) => Some(0),
            (Ty::I64, _) => {
                (0..extents.len()).find(|&axis| layout::extent_offset(axis) == offset).map(|axis| extents[axis])
            }
            _ => None,
        }
    }
}
