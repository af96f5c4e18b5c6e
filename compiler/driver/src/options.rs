//! What a compilation is asked for.

use crate::backend::Backend;
use crate::edition::Edition;
use crate::texts::Texts;
use crate::trace::Trace;
use crate::workspace::Workspace;
use ravel_diagnostics::Levels;
use ravel_opt::Level;
use ravel_syntax::MacroOption;
use std::path::PathBuf;

/// Settings of a compilation.
#[derive(Clone, Debug)]
pub struct Options {
    /// `-D` and `-U`, in order.
    pub macros: Vec<MacroOption>,
    /// `-I`, then `RAVEL_PATH`.
    pub folders: Vec<PathBuf>,
    /// What stands in the place of files.
    pub texts: Texts,
    /// What all compilations with these options, or with copies of them, share.
    pub workspace: Workspace,
    /// The edition of the library, where the head of the program is not to decide.
    pub edition: Option<Edition>,
    pub level: Level,
    /// Passes of the optimiser that do not run, and whether the IR is verified after each one that does.
    pub without: Vec<String>,
    pub verify: bool,
    pub backend: Backend,
    /// Drop index and shape checks.
    pub unchecked: bool,
    /// Check type patterns and conditions.
    pub check_patterns: bool,
    /// Name all definitions that were tried for a call that fits none.
    pub candidates: bool,
    /// Least work of a launch, in cycles of one processor core, if with-loops may run on a device.
    pub launch_work: f64,
    /// The program is for several ranks: they keep the rows of large arrays that they compute. Says what they share.
    pub ranks: bool,
    /// The interpreter simulates so many ranks.
    pub simulated_ranks: Option<u16>,
    /// For tests: plain counts of references give the processor away between load and store.
    pub widen_counts: bool,
    /// For what is typed at a prompt: statements may drop results, which are shown, and variables may be passed by reference.
    pub at_prompt: bool,
    /// Mark with-loops and loops for a profile.
    pub profile: bool,
    /// Tell `perf` where compiled functions lie.
    pub perf_map: bool,
    /// The program faults where the first NaN is made.
    pub check_nan: bool,
    /// Every derivative is compared with differences when it is first taken.
    pub check_gradients: bool,
    /// What the interpreter prints of what it does.
    pub trace: Trace,
    /// Which warnings there are.
    pub lints: Levels,
    /// The file is a library for C.
    pub library: bool,
    /// The code runs in programs that lend it their arrays.
    pub lent: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            macros: Vec::new(),
            folders: Vec::new(),
            texts: Texts::default(),
            workspace: Workspace::default(),
            edition: None,
            level: Level::Full,
            without: Vec::new(),
            verify: cfg!(debug_assertions),
            backend: Backend::default(),
            unchecked: false,
            check_patterns: true,
            candidates: false,
            launch_work: ravel_schedule::LAUNCH_WORK,
            ranks: false,
            simulated_ranks: None,
            widen_counts: false,
            at_prompt: false,
            profile: false,
            perf_map: false,
            check_nan: false,
            check_gradients: false,
            trace: Trace::default(),
            lints: Levels::default(),
            library: false,
            lent: false,
        }
    }
}
