//! Nest: loops over flat memory with machine scalars and vectors, in SSA form with structured control.
//!
//! This is the last form that all backends share. Threads, lanes and tiles have been chosen; a backend only spells them.
//!
//! # Semantics
//! - **Values** are defined once. A value may be used later in the region that defines it and in regions nested there.
//! - **Regions** run their instructions in order and leave through their [`Exit`]. `yield` hands values to the enclosing
//!   construct, `return` ends the function (function bodies only), `fault` calls a runtime function that never comes back.
//! - **Integers** wrap. Signedness, division, shifts, float minimum and conversions: see [`crate::ops`]. Nothing is undefined
//!   except division by zero and bad memory accesses, which must be ruled out by explicit checks.
//! - **Floats** are IEEE; instructions are not regrouped or contracted. [`Op::Fma`] is written only where the backend says it has it
//!   (a backend without it multiplies and adds, rounding twice).
//! - **Booleans** are `i8` 0 or 1; vector truth is a mask ([`Ty::truth`]).
//! - **Memory**: an address plus a constant byte offset. Any alignment works; `aligned` promises the alignment of the whole value.
//!   `readonly` promises that nobody writes the location while the function runs. `movable` promises that the access is valid wherever its
//!   address is computed, even above the check or loop around it (header fields of a live object are, elements usually are not).
//!   Accesses must be inside live memory.
//! - **Stack slots** exist once per activation of their function (or of the chunk of the `parfor` they are in), hold rubbish at
//!   first, and are the same memory in every iteration of a loop around them.
//! - **`for i = lo to hi step s`**: `i: i64` takes lo, lo+s, ... while `i < hi` (signed). `s` is positive and `hi + s` does not overflow.
//!   The results are the carried values after the last iteration, or the initial ones.
//! - **`loop`** is do-while: the body yields `i8` continue and the next carried values; the results are the last carried values yielded.
//! - **`parfor n chunk c late m`**: the index set `0..n` is cut into chunks of `c`; the body runs once per chunk with `lo`, `hi` (i64) and
//!   `slot` (i64, the number of the worker that runs it, less than the number of threads), on any thread and in any order, all before the construct
//!   ends. The cut does not depend on the number of threads. The last `m` chunks, none if that is left out, are begun when all others have been:
//!   work that fills the time until the others end. The body sees outer values; it communicates through memory. A `parfor` inside another runs
//!   sequentially.
//! - **`shared site s work w [uneven] [partials] reads (...) ... yields (...) ...`** on a `parfor`: processes that all run the program may share its chunks, for what
//!   these leave behind is declared: an [`Output`] each. The body then stores nowhere else but in memory of its own. Afterwards every process has all outputs,
//!   or its rows of those that are rows of an object. Of arrays that processes have in parts the body reads no rows but those of a [`Read`].
//! - **`launch [n0, n1, ...]`**: the body runs once for every position of the grid, on the work-items of a device, in any order. Addresses that
//!   it uses are those of device buffers, of its own stack slots and of static data; see `ravel-codegen-opencl`. Backends for processors
//!   never see it: kernels are cut out of the module first.
//! - **`launch (n0, ...) local (l0, ...)`**: the grid counts groups, and each group has `l0 * ...` work-items that run together. They share
//!   local slots, which hold rubbish at first, and meet at barriers: what any of them wrote to memory before, all see afterwards. All work-items
//!   of a group must come to the same barriers, so that a barrier stands in no branch or loop that only some of them take.
//! - **Reference counts**: `rc_inc`/`rc_dec` take an array object or null (nothing happens). `rc_dec` frees at zero. `Sharing::Atomic` is for
//!   objects that other threads may be counting at the same time, that is inside `parfor` bodies and in all functions that these reach
//!   ([`crate::threads`]). `rc_unique` says whether the count is one; whoever owns a reference may write then, for nobody else has one to pass on.
//! - **Externs** use the C calling convention; small integers are extended by the caller as [`Param::signed`] says.
//!
//! What a module must satisfy beyond this is listed in [`crate::verify`].

use cranelift_entity::{PrimaryMap, entity_impl};
use smallvec::SmallVec;

pub use crate::ops::{BinOp, ConvOp, FloatCmp, IntCmp, MathOp, ReduceOp, UnOp};
pub use crate::shared::{Output, Read, Shared};
pub use crate::types::{Prim, Ty};

/// An SSA value of one function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// A function of the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FuncId(u32);
entity_impl!(FuncId, "fn");

/// A function outside the module (runtime, C library, foreign object).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExternId(u32);
entity_impl!(ExternId, "ext");

/// A piece of static data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataId(u32);
entity_impl!(DataId, "data");

/// A global variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalId(u32);
entity_impl!(GlobalId, "glob");

/// A signature used by indirect calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SigId(u32);
entity_impl!(SigId, "sig");

/// One unit of code generation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Functions, declared before they are defined so that they can call each other.
    pub funcs: PrimaryMap<FuncId, Func>,
    /// Functions resolved when the module is loaded or linked.
    pub externs: PrimaryMap<ExternId, Extern>,
    /// Signatures of indirect calls.
    pub sigs: PrimaryMap<SigId, Signature>,
    /// Static data: constant arrays, position strings.
    pub data: PrimaryMap<DataId, Data>,
    /// Global variables; all zero at start.
    pub globals: PrimaryMap<GlobalId, Global>,
}

/// A function outside the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extern {
    /// The linker symbol.
    pub name: String,
    /// Its C signature.
    pub sig: Signature,
}

/// Parameters and results of a C function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Signature {
    /// Scalars only.
    pub params: Vec<Param>,
    /// At most one, a scalar.
    pub result: Option<Ty>,
}

/// One parameter of a C function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    /// A scalar type.
    pub ty: Ty,
    /// Integers narrower than 32 bits are sign-extended by the caller if true, zero-extended otherwise.
    pub signed: bool,
}

impl From<Ty> for Param {
    fn from(ty: Ty) -> Param {
        Param { ty, signed: false }
    }
}

/// Static bytes, with addresses of other data patched in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// The contents before patching.
    pub bytes: Vec<u8>,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// May the program write it?
    pub writable: bool,
    /// Eight-byte addresses to write into the contents.
    pub relocs: Vec<Reloc>,
}

/// At byte `at`, the address of `target` plus `addend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reloc {
    /// Byte offset of the address.
    pub at: u32,
    /// What it points to.
    pub target: DataId,
    /// Added to the address of the target.
    pub addend: i64,
}

/// A global variable, zero at start. Its name makes it the same variable in every module of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Unique name.
    pub name: String,
    /// A scalar type.
    pub ty: Ty,
}

/// How a backend may order the instructions of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Keep the program order and spend no time on optimisation: for kernels that the scheduler has ordered by hand.
    Keep,
    /// Let the backend move, share and simplify pure instructions.
    #[default]
    Optimize,
}

/// Who calls a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Only this module.
    #[default]
    Private,
    /// The host too, by name.
    Entry,
}

/// One function.
#[derive(Clone, Debug, PartialEq)]
pub struct Func {
    /// Unique in the module; becomes the linker symbol.
    pub name: String,
    /// Result types, any number.
    pub results: Vec<Ty>,
    /// Freedom of the backend.
    pub order: Order,
    /// Who calls it.
    pub visibility: Visibility,
    /// The type of every value.
    pub values: PrimaryMap<Value, Ty>,
    /// The body; its parameters are those of the function. It leaves by `return` or `fault`.
    pub body: Region,
}

impl Func {
    /// Types of the parameters, in order.
    pub fn param_types(&self) -> impl Iterator<Item = Ty> + '_ {
        self.body.params.iter().map(|&v| self.values[v])
    }

    /// Has a body been given?
    pub fn is_defined(&self) -> bool {
        !matches!(self.body.exit, Exit::Open)
    }
}

/// A straight sequence of instructions with parameters and an exit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Region {
    /// Values bound when the region is entered; which ones depends on the owner.
    pub params: Vec<Value>,
    /// What it does.
    pub insts: Vec<Inst>,
    /// How it is left.
    pub exit: Exit,
}

/// How a region is left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Exit {
    /// Not written yet; never in a verified module.
    #[default]
    Open,
    /// Hands values to the owner of the region.
    Yield(Vec<Value>),
    /// Ends the function.
    Return(Vec<Value>),
    /// Calls a function that does not return.
    Fault {
        /// The runtime function; has no result.
        callee: ExternId,
        /// Its arguments.
        args: Vec<Value>,
    },
}

/// An instruction and the values it defines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// In the order of the operation's results.
    pub results: SmallVec<[Value; 1]>,
    /// What it does.
    pub op: Op,
}

/// Promises about a memory access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access {
    /// The address is a multiple of the size of the whole value.
    pub aligned: bool,
    /// Loads only: the location does not change while the function runs.
    pub readonly: bool,
    /// Loads only: valid wherever the address is computed, whatever checks and loops are around the access.
    pub movable: bool,
    /// Stores of aligned vectors only: a hint that nothing reads the location while a cache could hold it.
    pub streaming: bool,
}

impl Access {
    /// No promise.
    pub const ANY: Access = Access { aligned: false, readonly: false, movable: false, streaming: false };
    /// Aligned to the size of the value.
    pub const ALIGNED: Access = Access { aligned: true, readonly: false, movable: false, streaming: false };
    /// Unchanging while the function runs: elements of an argument that is not updated in place.
    pub const READONLY: Access = Access { aligned: false, readonly: true, movable: false, streaming: false };
    /// Aligned, unchanging and valid wherever the address is: header fields of a live object.
    pub const INVARIANT: Access = Access { aligned: true, readonly: true, movable: true, streaming: false };
    /// An aligned vector that is stored past the caches.
    pub const STREAMING: Access = Access { aligned: true, readonly: false, movable: false, streaming: true };
}

/// May other threads count references to the same object at the same time?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// No: a plain increment or decrement.
    Plain,
    /// Yes: an atomic one.
    Atomic,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `bits` (of the lane type, zero-extended) in every lane. Result: `ty`.
    Const {
        /// Any type.
        ty: Ty,
        /// Two's complement or IEEE bits; higher bits are zero.
        bits: u64,
    },
    /// One operand.
    Unary(UnOp, Value),
    /// Two operands of one type.
    Binary(BinOp, Value, Value),
    /// `a * b + c` of floats, rounded once where the backend has it.
    Fma(Value, Value, Value),
    /// Compares integers or pointers. Result: [`Ty::truth`].
    IntCmp(IntCmp, Value, Value),
    /// Compares floats. Result: [`Ty::truth`].
    FloatCmp(FloatCmp, Value, Value),
    /// `on_true` where the condition holds: a scalar `i8` (non-zero) for any type, or a mask of the same lane width.
    Select {
        /// The condition.
        cond: Value,
        /// Taken where it holds.
        on_true: Value,
        /// Taken elsewhere.
        on_false: Value,
    },
    /// Conversion to `to`, with the operand's lanes.
    Convert(ConvOp, Value, Prim),
    /// A scalar copied into `lanes` lanes.
    Splat(Value, u8),
    /// Lane number `1` of a vector.
    Extract(Value, u8),
    /// A vector with one lane replaced by a scalar.
    Insert {
        /// The vector.
        vector: Value,
        /// Which lane.
        lane: u8,
        /// Its new value.
        scalar: Value,
    },
    /// Lane `k` of the result is lane `lanes[k]` of the concatenation of both operands.
    Shuffle(Value, Value, Vec<u8>),
    /// All lanes combined into a scalar, in the order stated at [`ReduceOp`].
    Reduce(ReduceOp, Value),
    /// 1 if some lane of an integer vector is not zero, 0 otherwise: does a mask hold anywhere? Result: scalar `i8`.
    Any(Value),
    /// A mathematical function, lane by lane.
    Math(MathOp, SmallVec<[Value; 2]>),
    /// Loads a `ty` from `ptr + offset`.
    Load {
        /// What to load.
        ty: Ty,
        /// Base address.
        ptr: Value,
        /// Bytes.
        offset: i32,
        /// Promises.
        access: Access,
    },
    /// Loads lane `k` of a `ty` from `ptr + offset + index[k] * scale`; indices are signed. Lanes for which a mask does not hold are zero, and
    /// nothing is loaded for them.
    Gather {
        /// A vector type.
        ty: Ty,
        /// Base address.
        ptr: Value,
        /// Bytes.
        offset: i32,
        /// As many lanes of `i32` or `i64`.
        index: Value,
        /// 1, 2, 4 or 8 bytes.
        scale: u8,
        /// Of type [`Ty::truth`].
        mask: Option<Value>,
    },
    /// Stores a value at `ptr + offset`. No result.
    Store {
        /// What to store.
        value: Value,
        /// Base address.
        ptr: Value,
        /// Bytes.
        offset: i32,
        /// Promises.
        access: Access,
    },
    /// Address plus `i64` bytes.
    PtrAdd(Value, Value),
    /// Address of `size` bytes of the function's own stack.
    StackSlot {
        /// Bytes.
        size: u32,
        /// A power of two, at most 64.
        align: u32,
    },
    /// Address of static data.
    DataAddr(DataId),
    /// Address of a global variable.
    GlobalAddr(GlobalId),
    /// Address of a function of this module, callable with the C convention if it has scalar parameters and at most one result.
    FuncAddr(FuncId),
    /// Address of an extern function.
    ExternAddr(ExternId),
    /// Calls a function of this module.
    Call(FuncId, Vec<Value>),
    /// Calls an extern function.
    CallExtern(ExternId, Vec<Value>),
    /// Calls through an address, with the C convention.
    CallIndirect {
        /// Shape of the call.
        sig: SigId,
        /// Address of the function.
        callee: Value,
        /// Arguments.
        args: Vec<Value>,
    },
    /// One more reference to an array object; nothing if null.
    RcInc(Value, Sharing),
    /// One reference less to an array object, freed at zero; nothing if null.
    RcDec(Value, Sharing),
    /// Whether an array object has one reference, which the code at hand owns: `i8`. Not null.
    RcUnique(Value),
    /// Runs one of two regions; results are what it yields. A region that faults fits any results.
    If {
        /// Scalar `i8`, true if not zero.
        cond: Value,
        /// Region without parameters.
        then_region: Region,
        /// Region without parameters.
        else_region: Region,
    },
    /// Counted loop. Region parameters: `i: i64`, then the carried values; yields the next carried values.
    For {
        /// First index.
        lo: Value,
        /// Exclusive end.
        hi: Value,
        /// Positive step.
        step: Value,
        /// Initial carried values.
        inits: Vec<Value>,
        /// Body.
        body: Region,
    },
    /// Do-while loop. Region parameters: the carried values; yields `i8` continue, then the next carried values.
    Loop {
        /// Initial carried values.
        inits: Vec<Value>,
        /// Body.
        body: Region,
    },
    /// Parallel loop over chunks. Region parameters: `lo`, `hi`, `slot`, all `i64`; yields nothing.
    ParFor {
        /// Number of indices, `i64`; none run if it is not positive.
        n: Value,
        /// Indices per chunk, `i64`, positive.
        chunk: Value,
        /// How many of the last chunks are begun after all others, `i64`.
        late: Option<Value>,
        /// What the chunks leave behind, if several processes may share them.
        shared: Option<Box<Shared>>,
        /// Body.
        body: Region,
    },
    /// Memory that the work-items of a group share: the address of `size` bytes, once per group. Only in launches of groups.
    LocalSlot {
        /// Bytes.
        size: u32,
        /// A power of two, at most 64.
        align: u32,
    },
    /// All work-items of the group come here before any of them goes on; local and global memory is seen by all. Only in
    /// launches of groups. No result.
    Barrier,
    /// Work-items of a device. Region parameters: the position in the grid, one `i64` per axis, and in a launch of groups the position
    /// in the group too; yields nothing.
    Launch {
        /// Work-items per axis, or groups if there is `local`; `i64`, outermost first; at most three axes.
        grid: Vec<Value>,
        /// Empty, or the work-items of a group along each axis of the grid, all positive.
        local: Vec<u32>,
        /// Body.
        body: Region,
    },
}

impl Module {
    /// An empty module.
    pub fn new() -> Module {
        Module::default()
    }

    /// Declares a function without a body; give it one with [`Module::define`].
    pub fn declare(&mut self, name: impl Into<String>, params: &[Ty], results: &[Ty]) -> FuncId {
        let mut values = PrimaryMap::new();
        let params = params.iter().map(|&ty| values.push(ty)).collect();
        self.funcs.push(Func {
            name: name.into(),
            results: results.to_vec(),
            order: Order::default(),
            visibility: Visibility::default(),
            values,
            body: Region { params, ..Region::default() },
        })
    }

    /// Replaces the declared function by a finished one.
    pub fn define(&mut self, id: FuncId, func: Func) {
        self.funcs[id] = func;
    }

    /// Adds a finished function.
    pub fn add(&mut self, func: Func) -> FuncId {
        self.funcs.push(func)
    }

    /// The extern called `name`, declared with this signature if it is new.
    pub fn extern_func(&mut self, name: &str, params: &[Param], result: Option<Ty>) -> ExternId {
        if let Some((id, _)) = self.externs.iter().find(|(_, e)| e.name == name) {
            return id;
        }
        self.externs.push(Extern { name: name.to_string(), sig: Signature { params: params.to_vec(), result } })
    }

    /// The id of a signature for indirect calls.
    pub fn signature(&mut self, sig: Signature) -> SigId {
        match self.sigs.iter().find(|(_, known)| **known == sig) {
            Some((id, _)) => id,
            None => self.sigs.push(sig),
        }
    }

    /// Constant bytes with an alignment.
    pub fn constant_bytes(&mut self, bytes: Vec<u8>, align: u32) -> DataId {
        self.data.push(Data { bytes, align, writable: false, relocs: Vec::new() })
    }

    /// A constant NUL-terminated string; the same text gives a new copy each time.
    pub fn c_string(&mut self, text: &str) -> DataId {
        let bytes = text.bytes().filter(|&b| b != 0).chain([0]).collect();
        self.constant_bytes(bytes, 1)
    }

    /// The global called `name`, added if it is new.
    pub fn global(&mut self, name: &str, ty: Ty) -> GlobalId {
        match self.globals.iter().find(|(_, g)| g.name == name) {
            Some((id, _)) => id,
            None => self.globals.push(Global { name: name.to_string(), ty }),
        }
    }

    /// The function called `name`.
    pub fn find(&self, name: &str) -> Option<FuncId> {
        self.funcs.iter().find(|(_, f)| f.name == name).map(|(id, _)| id)
    }
}
