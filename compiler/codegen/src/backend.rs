//! What a backend is to the driver: a description, and nest turned into code.

use ravel_nest::ir::Module;

use crate::{Capabilities, EmitError, Entry, Globals};

/// A code generator. Values describe one and hold nothing: the driver's registry has them as constants.
pub trait Backend: Sync {
    /// What `--backend` calls it, in lower case.
    fn name(&self) -> &'static str;

    /// What people call it.
    fn title(&self) -> &'static str;

    /// One line about it, for the command line's help.
    fn description(&self) -> &'static str;

    /// What the scheduler may count on.
    ///
    /// # Errors
    /// The host is not supported.
    fn capabilities(&self) -> Result<Capabilities, EmitError>;

    /// Begins to compile into this process.
    ///
    /// # Errors
    /// The host is not supported.
    fn session(&self) -> Result<Box<dyn Session>, EmitError>;

    /// Compiles to object files that belong together.
    ///
    /// # Errors
    /// The module is not well formed or has no such entry, or the code generator refuses it.
    fn objects(&self, module: &Module, purpose: Purpose<'_>) -> Result<Vec<Vec<u8>>, EmitError>;

    /// The machine instructions as text.
    ///
    /// # Errors
    /// The module is not well formed, or the host not supported.
    fn asm(&self, module: &Module) -> Result<String, EmitError>;

    /// The form between nest and machine code, for those who want to see it.
    fn listing(&self) -> Listing;

    /// What it adds if it runs with-loops on a device.
    fn device(&self) -> Option<&dyn Device> {
        None
    }
}

/// What object files are for.
#[derive(Clone, Copy)]
pub enum Purpose<'a> {
    /// A program: the C `main` in them runs this function, of type `() -> i32`.
    Program { entry: &'a str },
    /// A library: each entry function can be called by the symbol of this prefix and its name, an `extern "C" fn(*const u64, *mut u64)` that reads
    /// arguments and writes results as words.
    Library { prefix: &'a str },
    /// To be looked at.
    Nothing,
}

/// Modules compiled one after another into this process. Globals of one name are one variable. The code stays in memory until the process ends, or
/// until it is given back by [`Session::free`].
pub trait Session {
    /// Compiles a module. Its entry functions can be called then; they replace earlier ones of the same names.
    ///
    /// # Errors
    /// The module is not well formed or names an unknown symbol, or the code generator refuses it.
    fn add(&mut self, module: &Module) -> Result<(), EmitError>;

    /// The entry function `name`.
    ///
    /// # Errors
    /// There is no such entry.
    fn entry(&self, name: &str) -> Result<Entry, EmitError>;

    /// Where the functions of the modules lie; nothing where that cannot be found.
    fn code(&self) -> Option<Vec<CodeRange>> {
        None
    }

    /// The global variables that may hold addresses of objects; nothing where they cannot be found.
    fn globals(&mut self) -> Option<Globals> {
        None
    }

    /// Whether [`Session::free`] gives memory back.
    fn can_free(&self) -> bool {
        false
    }

    /// Gives back the memory of all code and all data of the modules, where that is possible.
    ///
    /// # Safety
    /// No thread is in the code or will enter it, and nothing that is read later lies in the data: constant arrays, texts and global variables.
    #[expect(unsafe_code, reason = "only the caller knows who uses the code")]
    unsafe fn free(self: Box<Self>) {}
}

/// Machine code of a function in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeRange {
    /// The name in nest.
    pub func: String,
    /// Which part of it this is, for people; nothing for the function itself.
    pub part: Option<String>,
    pub address: usize,
    pub bytes: usize,
}

/// A text that a backend makes of a module.
#[derive(Clone, Copy)]
pub struct Listing {
    /// What `--emit` calls it.
    pub stage: &'static str,
    /// Makes it.
    pub print: fn(&Module) -> Result<String, EmitError>,
}

/// What a backend for a device does before code for the host is generated.
pub trait Device: Sync {
    /// Cuts the kernels out of `host` and puts calls of the runtime in their places. The function `entry` says first whether there must be a device
    /// for the program to run (`required`) and what it needs of it.
    ///
    /// # Errors
    /// A launch contains what devices cannot do: a mistake of the scheduler.
    fn cut(&self, host: &mut Module, entry: &str, required: bool) -> Result<(), EmitError>;
}
