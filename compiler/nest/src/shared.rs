//! What parallel loops declare so that processes may share them, and whether they store nowhere else.
//!
//! An address is followed to the value that it was computed from. What a body makes itself is its own; what it captures has to be what an output
//! was computed from, too. Functions that a body calls store in objects that they make, or return what the body then stores.

use cranelift_entity::SecondaryMap;

use crate::ir::{Func, FuncId, Inst, Module, Op, Region, Value};

/// What the chunks of a parallel loop leave behind, so that processes can share them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shared {
    /// Where the loop is in the source, or null: a pointer to what [`crate::ir::Exit::Fault`] passes as position.
    pub site: Value,
    /// Estimated cycles of an index, `i64`.
    pub work: Value,
    /// Some indices may take much longer than others.
    pub uneven: bool,
    /// Outputs are partial results of folds, or else rows of arrays.
    pub partials: bool,
    /// Arrays of which an index reads few rows, and which processes may have in parts.
    pub reads: Vec<Read>,
    /// All memory that chunks write and that is not their own.
    pub outputs: Vec<Output>,
}

/// Rows of an array that chunks read: index `i` reads rows `factor * i + low` to `factor * i + high`, both included, as far as there are such.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Read {
    /// The array.
    pub object: Value,
    /// This and all below are `i64`.
    pub factor: Value,
    pub low: Value,
    pub high: Value,
}

impl Read {
    /// All values, in the order in which the runtime takes them.
    pub fn values(&self) -> [&Value; 4] {
        [&self.object, &self.factor, &self.low, &self.high]
    }

    /// The same, to be replaced.
    pub fn values_mut(&mut self) -> [&mut Value; 4] {
        let Read { object, factor, low, high } = self;
        [object, factor, low, high]
    }
}

/// Memory that chunks write, a *unit* for so many indices of the loop.
///
/// Unit `u` of those in `first..end` has `pieces` pieces of `bytes` bytes: piece `k` is at `base + (u - first) * stride + k * pitch`. The unit belongs to the chunk that has
/// index `u * per`. Rows of an array have one index; a partial result has as many as a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Output {
    /// Address of the first piece of the first unit.
    pub base: Value,
    /// The array whose rows these are, if processes may keep them to themselves, or null.
    pub object: Value,
    /// Indices of a unit; this and all below are `i64`.
    pub per: Value,
    /// The first unit.
    pub first: Value,
    /// The one behind the last.
    pub end: Value,
    /// Bytes between units.
    pub stride: Value,
    /// Bytes of a piece.
    pub bytes: Value,
    /// Pieces of a unit.
    pub pieces: Value,
    /// Bytes between pieces.
    pub pitch: Value,
}

impl Output {
    /// All values, in the order in which the runtime takes them.
    pub fn values(&self) -> [&Value; 9] {
        [
            &self.base,
            &self.object,
            &self.per,
            &self.first,
            &self.end,
            &self.stride,
            &self.bytes,
            &self.pieces,
            &self.pitch,
        ]
    }

    /// The same, to be replaced.
    pub fn values_mut(&mut self) -> [&mut Value; 9] {
        let Output { base, object, per, first, end, stride, bytes, pieces, pitch } = self;
        [base, object, per, first, end, stride, bytes, pieces, pitch]
    }

    /// From the values in that order.
    pub fn of([base, object, per, first, end, stride, bytes, pieces, pitch]: [Value; 9]) -> Output {
        Output { base, object, per, first, end, stride, bytes, pieces, pitch }
    }
}

impl Shared {
    /// All values, in the order in which the runtime takes them; the numbers of reads and outputs, `uneven` and `partials` stand behind the first two there.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let reads = self.reads.iter().flat_map(Read::values);
        [&self.site, &self.work].into_iter().chain(reads).chain(self.outputs.iter().flat_map(Output::values))
    }

    /// The words that stand between the first two values and the others.
    pub fn counts(&self) -> [i64; 4] {
        [self.reads.len() as i64, self.outputs.len() as i64, i64::from(self.uneven), i64::from(self.partials)]
    }

    /// Arrays that processes may have in parts, or null.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        let outputs = self.outputs.iter().map(|output| &output.object);
        self.reads.iter().map(|read| &read.object).chain(outputs)
    }

    /// Values that are addresses.
    pub fn addresses(&self) -> impl Iterator<Item = &Value> + Clone {
        let outputs = self.outputs.iter().flat_map(|output| [&output.base, &output.object]);
        [&self.site].into_iter().chain(self.reads.iter().map(|read| &read.object)).chain(outputs)
    }

    /// All values, to be replaced.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let reads = self.reads.iter_mut().flat_map(Read::values_mut);
        [&mut self.site, &mut self.work]
            .into_iter()
            .chain(reads)
            .chain(self.outputs.iter_mut().flat_map(Output::values_mut))
    }
}

/// What an address was computed from: a value, or what was loaded from there at such offsets, the last one first.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Origin {
    value: Value,
    loads: Vec<i32>,
}

impl Origin {
    /// Is it the same memory, or what a pointer in that memory leads to? A body writes such pointers itself, in headers of partial results.
    fn is_behind(&self, other: &Origin) -> bool {
        self.value == other.value && self.loads.ends_with(&other.loads)
    }
}

/// Where values come from that are computed from addresses.
#[derive(Clone, Copy, Default)]
enum From<'a> {
    /// A parameter, or nothing that is followed.
    #[default]
    Itself,
    Inst(&'a Op),
    /// A carried value, which begins as another one.
    Carried(Value),
}

type Defs<'a> = SecondaryMap<Value, From<'a>>;

/// The first store of a shared loop to memory that it does not declare, and its function.
pub(crate) fn undeclared_store(module: &Module) -> Option<(FuncId, &Inst)> {
    module.funcs.iter().find_map(|(id, func)| Some((id, undeclared_in(func)?)))
}

fn undeclared_in(func: &Func) -> Option<&Inst> {
    let mut defs = Defs::new();
    let mut loops = Vec::new();
    note(&func.body, &mut defs, &mut loops);
    loops.into_iter().find_map(|(shared, body)| {
        let declared: Vec<Origin> = shared.outputs.iter().map(|output| origin(&defs, output.base)).collect();
        let mut own = SecondaryMap::new();
        note_own(body, &mut own);
        undeclared(body, &mut |address| {
            let from = origin(&defs, address);
            own[from.value] || declared.iter().any(|output| from.is_behind(output))
        })
    })
}

/// Notes what values of a region come from, and its shared loops.
fn note<'a>(region: &'a Region, defs: &mut Defs<'a>, loops: &mut Vec<(&'a Shared, &'a Region)>) {
    for inst in &region.insts {
        if let [result] = inst.results[..] {
            defs[result] = From::Inst(&inst.op);
        }
        match &inst.op {
            Op::For { inits, body, .. } => carry(&body.params[1..], inits, defs),
            Op::Loop { inits, body } => carry(&body.params, inits, defs),
            Op::ParFor { shared: Some(shared), body, .. } => loops.push((shared, body)),
            _ => {}
        }
        inst.op.regions().into_iter().for_each(|nested| note(nested, defs, loops));
    }
}

fn carry(params: &[Value], inits: &[Value], defs: &mut Defs<'_>) {
    params.iter().zip(inits).for_each(|(param, init)| defs[*param] = From::Carried(*init));
}

/// Notes which values a region defines.
fn note_own(region: &Region, own: &mut SecondaryMap<Value, bool>) {
    region.params.iter().for_each(|param| own[*param] = true);
    for inst in &region.insts {
        inst.results.iter().for_each(|result| own[*result] = true);
        inst.op.regions().into_iter().for_each(|nested| note_own(nested, own));
    }
}

fn origin(defs: &Defs<'_>, mut value: Value) -> Origin {
    let mut loads = Vec::new();
    loop {
        match defs[value] {
            From::Inst(Op::PtrAdd(base, _)) => value = *base,
            From::Inst(Op::Load { ptr, offset, .. }) => {
                loads.push(*offset);
                value = *ptr;
            }
            From::Carried(init) => value = init,
            From::Inst(_) | From::Itself => return Origin { value, loads },
        }
    }
}

/// The first store of a region whose address is not allowed.
fn undeclared<'a>(region: &'a Region, allows: &mut impl FnMut(Value) -> bool) -> Option<&'a Inst> {
    region.insts.iter().find_map(|inst| match inst.op {
        Op::Store { ptr, .. } if !allows(ptr) => Some(inst),
        _ => inst.op.regions().into_iter().find_map(|nested| undeclared(nested, allows)),
    })
}
