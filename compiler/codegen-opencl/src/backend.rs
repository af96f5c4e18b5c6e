//! This backend as the driver sees it: kernels, and another backend's code for the host.

use ravel_codegen::{Backend, Capabilities, Device, EmitError, Listing, Purpose, Session};
use ravel_nest::ir::Module;

use crate::{ask_for_device, split};

/// Kernels in OpenCL C around the code of a backend for the host.
pub struct Opencl {
    /// What compiles everything that is no kernel.
    pub host: &'static dyn Backend,
}

impl Backend for Opencl {
    fn name(&self) -> &'static str {
        "opencl"
    }

    fn title(&self) -> &'static str {
        "OpenCL"
    }

    fn description(&self) -> &'static str {
        "Kernels on an OpenCL device, machine code for the rest"
    }

    fn capabilities(&self) -> Result<Capabilities, EmitError> {
        self.host.capabilities()
    }

    fn session(&self) -> Result<Box<dyn Session>, EmitError> {
        self.host.session()
    }

    fn objects(&self, module: &Module, purpose: Purpose<'_>) -> Result<Vec<Vec<u8>>, EmitError> {
        self.host.objects(module, purpose)
    }

    fn asm(&self, module: &Module) -> Result<String, EmitError> {
        self.host.asm(module)
    }

    fn listing(&self) -> Listing {
        Listing { stage: "opencl", print: |module| Ok(split(&mut module.clone())?.source) }
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(self)
    }
}

impl Device for Opencl {
    fn cut(&self, host: &mut Module, entry: &str, required: bool) -> Result<(), EmitError> {
        let program = split(host)?;
        ask_for_device(host, entry, required, program.doubles);
        Ok(())
    }
}
