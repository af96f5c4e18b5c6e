//! The binary interface between compiled code and the runtime: layouts, tags and symbol names.
//!
//! Every array value that is not a statically known scalar is a pointer to an [`ArrayHeader`]. Strings, streams and other
//! opaque values are objects of the same header with another [`ObjectKind`]; the type SaC programs see as a handle.
//! The numbers in this file are part of the interface: compiled code bakes them in.

use std::sync::atomic::AtomicI64;

/// Version of this interface. Compiled objects and the runtime they link against come from one build, so it is informative.
pub const ABI_VERSION: u32 = 1;

/// Bytes before the first element that compiled code reads at most where other programs lend their arrays: as many as an allocator's own
/// header has. Large blocks begin that far into a page, and the page before may be nobody's.
pub const LENT_REACH: usize = 16;

/// Alignment of objects and of array data, in bytes: a cache line and the widest vector register.
pub const DATA_ALIGN: usize = 64;

/// Byte offset of the reference count in an object.
pub const OFFSET_RC: i32 = 0;
/// Byte offset of the pointer to the elements.
pub const OFFSET_DATA: i32 = 8;
/// Byte offset of the number of elements (`i64`).
pub const OFFSET_COUNT: i32 = 16;
/// Byte offset of the rank (`u32`).
pub const OFFSET_RANK: i32 = 24;
/// Byte offset of the element tag (`u8`, an [`ElemTag`]).
pub const OFFSET_ELEM: i32 = 28;
/// Byte offset of the object kind (`u8`, an [`ObjectKind`]).
pub const OFFSET_KIND: i32 = 29;
/// Byte offset of the first extent; extents are `i64`, outermost axis first.
pub const OFFSET_SHAPE: i32 = 32;
/// Size of the fixed part of an object, in bytes.
pub const HEADER_SIZE: usize = 32;

/// The fixed part of every object; `rank` extents (`i64`) follow it directly.
///
/// Ownership: whoever holds one of the `rc` counted references. An object is writable while `rc == 1` and its only
/// reference is held by the writer. `data` is aligned to [`DATA_ALIGN`] and lies inside the same allocation.
#[repr(C)]
pub struct ArrayHeader {
    /// Number of owned references; the object is released when it reaches zero.
    pub rc: AtomicI64,
    /// First element in row-major order; never null.
    pub data: *mut u8,
    /// Product of the extents.
    pub count: i64,
    /// Number of axes.
    pub rank: u32,
    /// An [`ElemTag`].
    pub elem: u8,
    /// An [`ObjectKind`].
    pub kind: u8,
    /// Unused; zero.
    pub pad: u16,
}

const _: () = assert!(size_of::<ArrayHeader>() == HEADER_SIZE);
const _: () = assert!(std::mem::offset_of!(ArrayHeader, rc) == OFFSET_RC as usize);
const _: () = assert!(std::mem::offset_of!(ArrayHeader, data) == OFFSET_DATA as usize);
const _: () = assert!(std::mem::offset_of!(ArrayHeader, count) == OFFSET_COUNT as usize);
const _: () = assert!(std::mem::offset_of!(ArrayHeader, rank) == OFFSET_RANK as usize);
const _: () = assert!(std::mem::offset_of!(ArrayHeader, elem) == OFFSET_ELEM as usize);
const _: () = assert!(std::mem::offset_of!(ArrayHeader, kind) == OFFSET_KIND as usize);

/// Element types, numbered as compiled code and variadic calls see them.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ElemTag {
    /// One byte, 0 or 1.
    Bool = 0,
    /// One byte of text.
    Char = 1,
    /// SaC `byte`.
    I8 = 2,
    /// SaC `short`.
    I16 = 3,
    /// SaC `int`.
    I32 = 4,
    /// SaC `long` and `longlong`.
    I64 = 5,
    /// SaC `ubyte`.
    U8 = 6,
    /// SaC `ushort`.
    U16 = 7,
    /// SaC `uint`.
    U32 = 8,
    /// SaC `ulong` and `ulonglong`.
    U64 = 9,
    /// SaC `float`.
    F32 = 10,
    /// SaC `double`.
    F64 = 11,
    /// A counted pointer to an object.
    Handle = 12,
}

impl ElemTag {
    /// All tags in numeric order.
    pub const ALL: [ElemTag; 13] = [
        ElemTag::Bool,
        ElemTag::Char,
        ElemTag::I8,
        ElemTag::I16,
        ElemTag::I32,
        ElemTag::I64,
        ElemTag::U8,
        ElemTag::U16,
        ElemTag::U32,
        ElemTag::U64,
        ElemTag::F32,
        ElemTag::F64,
        ElemTag::Handle,
    ];

    /// The tag with this number.
    pub fn from_u8(tag: u8) -> Option<ElemTag> {
        ElemTag::ALL.get(usize::from(tag)).copied()
    }

    /// Size of one element in bytes.
    pub const fn size(self) -> usize {
        match self {
            ElemTag::Bool | ElemTag::Char | ElemTag::I8 | ElemTag::U8 => 1,
            ElemTag::I16 | ElemTag::U16 => 2,
            ElemTag::I32 | ElemTag::U32 | ElemTag::F32 => 4,
            ElemTag::I64 | ElemTag::U64 | ElemTag::F64 | ElemTag::Handle => 8,
        }
    }

    /// The SaC name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            ElemTag::Bool => "bool",
            ElemTag::Char => "char",
            ElemTag::I8 => "byte",
            ElemTag::I16 => "short",
            ElemTag::I32 => "int",
            ElemTag::I64 => "long",
            ElemTag::U8 => "ubyte",
            ElemTag::U16 => "ushort",
            ElemTag::U32 => "uint",
            ElemTag::U64 => "ulong",
            ElemTag::F32 => "float",
            ElemTag::F64 => "double",
            ElemTag::Handle => "handle",
        }
    }
}

/// What an object is.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ObjectKind {
    /// An array value of the program.
    Array = 0,
    /// Text: rank 1 of `Char`, immutable, not NUL-terminated.
    String = 1,
    /// A stream; `data` points to a Rust object.
    File = 2,
    /// Any other opaque Rust object behind `data`.
    Other = 3,
}

/// One argument of a variadic native after C's default promotions: `f32` travels as `F64`, integers narrower than 32 bits,
/// characters and booleans as `I32`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct VarArg {
    /// An [`ElemTag`]; `Handle` for strings, streams and other objects.
    pub tag: u64,
    /// The value: integers sign- or zero-extended to 64 bits, the bits of an `f64`, or a borrowed object pointer.
    pub bits: u64,
}

/// Work function of [`crate::pool::ravel_parallel`]: processes indices `lo..hi`; `slot` numbers the executing thread.
pub type ParallelFn = unsafe extern "C" fn(ctx: *mut u8, lo: i64, hi: i64, slot: i64);

/// What a parallel loop leaves behind, if several processes may share its chunks. Behind it lie `reads` times [`Read`] and `count` times [`Output`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Where the loop is: a NUL-terminated text, or null.
    pub site: *const std::ffi::c_char,
    /// Estimated cycles of an index.
    pub work: i64,
    /// How many arrays there are that the loop reads in rows.
    pub reads: i64,
    /// How many outputs there are.
    pub count: i64,
    /// 1 if some indices may take much longer than others, or 0.
    pub uneven: i64,
    /// 1 if outputs are partial results of folds, 0 if they are rows of arrays.
    pub partials: i64,
}

/// Rows of an array that a loop reads: the meaning is that of `ravel_nest::ir::Read`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The array.
    pub object: *mut ArrayHeader,
    /// How many rows further the next index reads.
    pub factor: i64,
    /// The first and the last row that index 0 reads.
    pub low: i64,
    pub high: i64,
}

/// Memory that the chunks of a loop write, in units: the meaning is that of `ravel_nest::ir::Output`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Address of the first piece of the first unit.
    pub base: *mut u8,
    /// The array whose rows these are, or null.
    pub object: *mut ArrayHeader,
    /// Indices of a unit.
    pub per: i64,
    /// The first unit.
    pub first: i64,
    /// The one behind the last.
    pub end: i64,
    /// Bytes between units.
    pub stride: i64,
    /// Bytes of a piece.
    pub bytes: i64,
    /// Pieces of a unit.
    pub pieces: i64,
    /// Bytes between pieces.
    pub pitch: i64,
}

/// Entry of a compiled program: runs global initialisers and `main`, returns its result.
pub type EntryFn = unsafe extern "C" fn() -> i32;

/// Names of the runtime's entry points other than natives. Natives are found in [`crate::natives::table`].
pub mod symbols {
    /// `ptr ravel_alloc(u8 elem, u32 rank, ptr shape, ptr pos)`.
    pub const ALLOC: &str = "ravel_alloc";
    /// `void ravel_free(ptr)`.
    pub const FREE: &str = "ravel_free";
    /// `void ravel_rc_inc(ptr)`.
    pub const RC_INC: &str = "ravel_rc_inc";
    /// `void ravel_rc_dec(ptr)`.
    pub const RC_DEC: &str = "ravel_rc_dec";
    /// `u8 ravel_unique(ptr)`.
    pub const UNIQUE: &str = "ravel_unique";
    /// `ptr ravel_copy(ptr, ptr pos)`.
    pub const COPY: &str = "ravel_copy";
    /// `u8 ravel_resize(ptr, i64 rows)`.
    pub const RESIZE: &str = "ravel_resize";
    /// `ptr ravel_string_new(ptr bytes, i64 length)`.
    pub const STRING_NEW: &str = "ravel_string_new";
    /// `ptr ravel_scratch_alloc(i64 bytes, ptr pos)`.
    pub const SCRATCH_ALLOC: &str = "ravel_scratch_alloc";
    /// `void ravel_scratch_free(ptr, i64 bytes)`.
    pub const SCRATCH_FREE: &str = "ravel_scratch_free";
    /// `ptr ravel_arena_enter(i64 bytes)`.
    pub const ARENA_ENTER: &str = "ravel_arena_enter";
    /// `void ravel_arena_leave(i64 bytes)`.
    pub const ARENA_LEAVE: &str = "ravel_arena_leave";
    /// `ptr ravel_spare_alloc(u8 elem, u32 rank, ptr shape, ptr slots, i64 n, ptr pos)`.
    pub const SPARE_ALLOC: &str = "ravel_spare_alloc";
    /// `void ravel_spare_keep(ptr, ptr slots, i64 n)`.
    pub const SPARE_KEEP: &str = "ravel_spare_keep";
    /// `void ravel_spare_drop(ptr slots, i64 n)`.
    pub const SPARE_DROP: &str = "ravel_spare_drop";
    /// `void ravel_parallel(fn, ptr ctx, i64 n, i64 chunk, i64 late, ptr shared)`.
    pub const PARALLEL: &str = "ravel_parallel";
    /// `i64 ravel_threads()`.
    pub const THREADS: &str = "ravel_threads";
    /// `noreturn ravel_fault_index(ptr pos, i64 index, i64 axis, i64 extent)`.
    pub const FAULT_INDEX: &str = "ravel_fault_index";
    /// `noreturn ravel_fault_shape(ptr pos, ptr what, i64 rank_a, ptr shape_a, i64 rank_b, ptr shape_b)`.
    pub const FAULT_SHAPE: &str = "ravel_fault_shape";
    /// `noreturn ravel_fault_extent(ptr pos, ptr what, i64 axis, i64 expected, i64 found)`.
    pub const FAULT_EXTENT: &str = "ravel_fault_extent";
    /// `noreturn ravel_fault_rank(ptr pos, ptr what, i64 expected, i64 found)`.
    pub const FAULT_RANK: &str = "ravel_fault_rank";
    /// `noreturn ravel_fault_conformity(ptr pos, ptr pattern, i64 rank, ptr shape)`.
    pub const FAULT_CONFORMITY: &str = "ravel_fault_conformity";
    /// `noreturn ravel_fault_reshape(ptr pos, i64 found, i64 expected)`.
    pub const FAULT_RESHAPE: &str = "ravel_fault_reshape";
    /// `noreturn ravel_fault_division(ptr pos)`.
    pub const FAULT_DIVISION: &str = "ravel_fault_division";
    /// `noreturn ravel_fault_message(ptr pos, ptr text)`.
    pub const FAULT_MESSAGE: &str = "ravel_fault_message";
    /// `noreturn ravel_fault_memory(ptr pos, i64 bytes)`.
    pub const FAULT_MEMORY: &str = "ravel_fault_memory";
    /// `void ravel_set_position(ptr pos)`: the position that faults of natives report.
    pub const SET_POSITION: &str = "ravel_set_position";
    /// `i32 ravel_main_start(i32 argc, ptr argv, fn entry)`.
    pub const MAIN_START: &str = "ravel_main_start";
}
