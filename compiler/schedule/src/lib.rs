//! Scheduling: with-loop IR to loop nests.
//!
//! Decides for every with-loop which axis runs on threads, which on vector lanes and which are jammed into registers, turns
//! bodies into loops over flat memory, and inserts the memory operations. Backends only translate what comes out.
//!
//! # Values
//! - A value of static rank 0 is a machine scalar; booleans are `i8` 0 or 1. Handles and all other arrays are pointers to
//!   objects of the runtime (module `layout`).
//! - Index arithmetic of WIR is `i32` and wraps; addresses are computed in 64 bits from the structure of the index
//!   expression where its range proves that nothing wraps (`index`), and from the `i32` value elsewhere.
//!
//! # Ownership
//! Objects are reference counted; `memory` states who owns what. In short: functions own their parameters and give away
//! their results, natives borrow, with-loop and loop bodies borrow what they capture, the last use of an owned value gives the
//! reference away. An update of an array whose only reference is at hand happens in place.
//!
//! # Schedules
//! - **Threads**: the outermost axis of a with-loop with enough work, in chunks whose size depends on shapes alone; folds that regroup
//!   combine the results of chunks in their order. So results do not depend on the number of threads (`parallel`, `fold_chunks`, `reduction_chains`).
//! - **Lanes**: cells that are scalars are computed by kernels with lanes along any axis of the partition, or along the last axis of
//!   the folds in the body, whichever costs least (`plan`, `cost`). Copies along up to two more axes are jammed so that
//!   accumulators fill the registers and loads are shared (`grid`, `reduce`); `blocks` compares all sizes that fit.
//! - **Loads** whose lanes lie at constant distances, as under quotients and remainders by constants, are contiguous vectors and
//!   shuffles (`pattern`, `access`).
//! - **Cache tiles**: a fold whose operands are used again along two axes of the partition runs on packed panels of them, block by
//!   block (`tile` decides, `pack`, `nest` and `kernel` of that room build the loops).
//! - **Loops and branches** inside a body that lanes leave or take at different times run under masks (`divergent`). Elements of all
//!   widths are packed (`widths`).
//! - **Remainders** of an axis are covered by fewer vectors, by one that overlaps the last, or by scalars (`kernel`).
//! - **Uneven folds**, whose bounds vary over the lanes, run under constant masks near the edges and without in the middle (`masked_bounds`).
//! - **Long chains** after folds are computed for several copies side by side (`kernel`).
//! - **Checks** that are affine in the indices are made once, in front of a kernel (`guards`).
//! - Everything else becomes scalar loops (`withloop`, `dynamic_shapes`). Which strategy comes first is a table (`plan/strategy.rs`); each decision
//!   is returned as a [`Remark`], and [`schedule_text`] lists them.
//! - A product that is only added to an accumulator is fused where the target fuses, in kernels and in scalar loops alike.
#![forbid(unsafe_code)]

mod device;
mod facts;
mod kernel;
mod lower;
mod math;
mod memory;
mod plan;
mod post;
mod threads;
mod tile;

pub use facts::vectorizable::LENT_REACH;
pub use kernel::widen::widen_counts;
pub use lower::context::symbols_of;
pub use memory::nontemporal::LARGE_RESULT;

use ravel_nest::ir as nest;
use ravel_source::Span;

pub use ravel_nest::target::Capabilities;

/// Estimated cycles of one processor core below which a launch does not pay: some 10 microseconds.
pub const LAUNCH_WORK: f64 = 40_000.0;

/// What the scheduler may count on where with-loops can run on a device.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Least work of a launch, in estimated cycles of one processor core.
    pub launch_work: f64,
}

/// Which sizes of tiles a with-loop gets on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiles {
    /// Those that the estimate chooses.
    Usual,
    /// All, and the runtime chooses.
    All,
    /// The one with this number among all of them, the largest first; the last number means no tiles at all. If there are not so many
    /// choices, this one was made for others, and the estimate chooses.
    Only { number: usize, of: usize },
}

/// What the caller decides.
pub struct Options<'a> {
    /// Drop index and shape checks; divisions stay checked.
    pub unchecked: bool,
    /// Arrays may be those of other programs: at most [`LENT_REACH`] bytes before them are read.
    pub lent: bool,
    /// Run with-loops on threads where that pays.
    pub parallel: bool,
    /// The program is for several ranks: they keep the rows of large results, and it is said what they share of parallel loops.
    pub ranks: bool,
    /// Run with-loops on an OpenCL device where that pays.
    pub device: Option<Device>,
    /// Bytes of a result from which on it is not expected in a cache after its with-loop: [`LARGE_RESULT`] but for tests.
    pub large_result: i64,
    /// Symbol of the entry wrapper; the host calls it. It has the entry function's parameters and results.
    pub entry_name: String,
    /// Whether the entry wrapper releases all globals at its end: yes for programs, no for the inputs of one session.
    pub release_globals: bool,
    /// Mark what sequential code runs for a profile, and list it here.
    pub profile: Option<&'a Sites>,
    /// `file.sac:3:10 in f` for a span inside the named WIR function; faults show it.
    pub position: &'a dyn Fn(Span, &str) -> String,
}

/// The sites of a profile by number.
pub type Sites = std::sync::Mutex<Vec<Site>>;

/// A with-loop, or several that run together, or a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    pub span: Span,
    /// The WIR function.
    pub function: String,
    pub is_loop: bool,
    /// What its operations are.
    pub numbers: Numbers,
    /// Only its calls are counted.
    pub only_counted: bool,
    /// Some extent was not known: its operations and bytes are a guess.
    pub guessed: bool,
}

/// What is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    F64,
    F32,
    Integers,
}

impl Numbers {
    pub(crate) fn has(self, elem: ravel_types::Elem) -> bool {
        match self {
            Numbers::F64 => elem == ravel_types::Elem::F64,
            Numbers::F32 => elem == ravel_types::Elem::F32,
            Numbers::Integers => elem != ravel_types::Elem::Bool && elem != ravel_types::Elem::Handle,
        }
    }
}

/// What was decided for one with-loop, or why not more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The with-loop.
    pub span: Span,
    /// The same in the module that was scheduled; nothing if the remark is about another kind of operation.
    pub with: Option<(ravel_wir::FuncId, ravel_wir::Inst)>,
    /// One sentence for people.
    pub text: String,
}

/// A valid program that this stage cannot lower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// Where.
    pub span: Span,
    /// What.
    pub what: String,
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not supported by the scheduler: {}", self.what)
    }
}

impl std::error::Error for Unsupported {}

pub(crate) type Result<T> = std::result::Result<T, Unsupported>;

/// Lowers a module.
///
/// # Errors
/// Something that only unusual programs contain; see [`Unsupported`].
pub fn schedule(
    module: &ravel_wir::Module,
    target: &Capabilities,
    options: &Options<'_>,
) -> std::result::Result<(nest::Module, Vec<Remark>), Unsupported> {
    schedule_tuned(module, target, options, &|_| Tiles::Usual)
}

/// The same with what is known of tiles: `tiles` is asked for every with-loop that may have them, by a text that says what the choice
/// depends on.
///
/// # Errors
/// As [`schedule`].
pub fn schedule_tuned(
    module: &ravel_wir::Module,
    target: &Capabilities,
    options: &Options<'_>,
    tiles: &dyn Fn(&str) -> Tiles,
) -> std::result::Result<(nest::Module, Vec<Remark>), Unsupported> {
    lower::module::schedule(module, target, options, tiles)
}

/// What is decided for every with-loop of a module, as text: the strategy that is chosen, its plan, and why those before it refused.
///
/// # Errors
/// As [`schedule`].
pub fn schedule_text(
    module: &ravel_wir::Module,
    target: &Capabilities,
    options: &Options<'_>,
) -> std::result::Result<String, Unsupported> {
    lower::module::listing(module, target, options)
}
