//! The registry of backends: the one place that lists them.
//!
//! A new backend is a crate that implements [`ravel_codegen::Backend`], and a row of [`ROWS`]. The values of `--backend` and `--emit`, the help, the
//! list that `ravel backends` prints and the ways that tests run come from here.

use ravel_codegen::{CodeRange, Device, EmitError, Entry, Listing, Purpose, Session};
use ravel_codegen_cranelift::Cranelift;
use ravel_codegen_opencl::Opencl;
use ravel_nest::ir::Module;
use std::fmt;

/// A code generator.
type Generator = &'static dyn ravel_codegen::Backend;

/// What `--backend` may name. Those that generate code for the processor stand in the order of how fast that code is.
static ROWS: &[Row] = &[
    Row::Interpreter { name: "interp", description: "The reference interpreter: slow, and the measure of the others" },
    Row::Code(&Cranelift),
    #[cfg(feature = "llvm")]
    Row::Code(&ravel_codegen_llvm::Llvm),
    #[cfg(not(feature = "llvm"))]
    Row::Absent(Absent {
        name: "llvm",
        brought_by: "the feature `llvm` and LLVM 19: cargo build --release -p ravel-cli --features llvm",
    }),
    Row::Code(&OPENCL),
    Row::IfThere {
        name: "auto",
        description: "Like opencl if there is a device, or else machine code alone",
        backend: &OPENCL,
    },
];

static DEFAULT: Row = Row::Code(&Cranelift);
static OPENCL: Opencl = Opencl { host: &Cranelift };

enum Row {
    /// Runs WIR as the specialiser made it, so that it judges the optimiser too: there is nothing to schedule and no code.
    Interpreter { name: &'static str, description: &'static str },
    /// Generates code, for a device too if it has a [`Device`].
    Code(Generator),
    /// The same, but programs do without the device if there is none.
    IfThere { name: &'static str, description: &'static str, backend: Generator },
    /// Left out of this build.
    #[cfg_attr(feature = "llvm", expect(dead_code, reason = "with every feature there is none"))]
    Absent(Absent),
}

/// What runs a program: a row of the registry that is built in.
#[derive(Clone, Copy)]
pub struct Backend(&'static Row);

/// Where a backend runs with-loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In the interpreter.
    Interpreter,
    /// As code of the processor.
    Processor,
    /// On a device where that pays.
    Device,
    /// The same if there is a device.
    AnyDevice,
}

/// A backend that this Ravel was built without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absent {
    /// What `--backend` calls it.
    pub name: &'static str,
    /// What Ravel has to be built with to have it.
    pub brought_by: &'static str,
}

impl Backend {
    /// Those built in.
    pub fn all() -> impl Iterator<Item = Backend> {
        ROWS.iter().filter(|row| !matches!(row, Row::Absent(_))).map(Backend)
    }

    /// Those left out of this build.
    pub fn absent() -> impl Iterator<Item = Absent> {
        ROWS.iter().filter_map(|row| if let Row::Absent(absent) = row { Some(*absent) } else { None })
    }

    /// The one with the fastest code among those built in.
    pub fn fastest() -> Backend {
        Backend::all().filter(|backend| backend.kind() == Kind::Processor).last().unwrap_or_default()
    }

    /// What `--backend` calls it.
    pub fn name(self) -> &'static str {
        match self.0 {
            Row::Interpreter { name, .. } | Row::IfThere { name, .. } | Row::Absent(Absent { name, .. }) => name,
            Row::Code(backend) => backend.name(),
        }
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        self.generator().title()
    }

    /// One line about it.
    pub fn description(self) -> &'static str {
        match self.0 {
            Row::Interpreter { description, .. } | Row::IfThere { description, .. } => description,
            Row::Absent(absent) => absent.brought_by,
            Row::Code(backend) => backend.description(),
        }
    }

    /// Where it runs with-loops.
    pub fn kind(self) -> Kind {
        match self.0 {
            Row::Interpreter { .. } => Kind::Interpreter,
            Row::IfThere { .. } => Kind::AnyDevice,
            _ if self.device().is_some() => Kind::Device,
            _ => Kind::Processor,
        }
    }

    /// What generates code. The interpreter has the default generator, so that listings show something.
    fn generator(self) -> Generator {
        match *self.0 {
            Row::Code(backend) | Row::IfThere { backend, .. } => backend,
            Row::Interpreter { .. } | Row::Absent(_) => &Cranelift,
        }
    }

    /// What it does for a device.
    pub(crate) fn device(self) -> Option<&'static dyn Device> {
        self.generator().device()
    }

    /// What the scheduler may count on.
    ///
    /// # Errors
    /// The host is not supported.
    pub fn capabilities(self) -> Result<ravel_codegen::Capabilities, EmitError> {
        self.generator().capabilities()
    }

    /// Begins to compile into this process.
    ///
    /// # Errors
    /// The host is not supported.
    pub fn session(self) -> Result<Box<dyn Session>, EmitError> {
        self.generator().session()
    }

    /// Compiles into this process; the entry function `name`, whose code stays, and where all functions lie.
    pub(crate) fn jit(self, module: &Module, name: &str) -> Result<(Entry, Option<Vec<CodeRange>>), EmitError> {
        let mut session = self.session()?;
        session.add(module)?;
        Ok((session.entry(name)?, session.code()))
    }

    /// Compiles to object files, whose C `main` runs the function `entry`.
    pub(crate) fn objects(self, module: &Module, purpose: Purpose<'_>) -> Result<Vec<Vec<u8>>, EmitError> {
        self.generator().objects(module, purpose)
    }

    /// The machine instructions as text.
    pub(crate) fn asm(self, module: &Module) -> Result<String, EmitError> {
        self.generator().asm(module)
    }

    /// The form between nest and machine code that is its own.
    pub(crate) fn listing(self) -> Option<Listing> {
        matches!(self.0, Row::Code(_)).then(|| self.generator().listing())
    }
}

impl Default for Backend {
    fn default() -> Backend {
        Backend(&DEFAULT)
    }
}

impl PartialEq for Backend {
    fn eq(&self, other: &Backend) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Backend {}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
