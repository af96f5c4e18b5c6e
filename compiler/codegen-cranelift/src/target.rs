//! The machine we compile for: the host, in two optimisation settings.

use std::sync::Arc;

use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use ravel_codegen::Capabilities;
use ravel_nest::ir::Order;

use crate::EmitError;

/// The host, once for each [`Order`].
pub(crate) struct Target {
    /// Keeps the program order (`opt_level=none`).
    pub keep: OwnedTargetIsa,
    /// Optimises (`opt_level=speed`).
    pub optimize: OwnedTargetIsa,
    /// Does `fma` become one instruction?
    pub has_fma: bool,
}

/// How addresses of other symbols are formed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeModel {
    /// Absolute addresses, patched in memory.
    Jit,
    /// Position-independent, for the system linker.
    Object,
}

impl Target {
    /// Detects the host.
    pub fn host(model: CodeModel) -> Result<Target, EmitError> {
        let isa = |opt_level: &str| -> Result<OwnedTargetIsa, EmitError> {
            let pic = if model == CodeModel::Object { "true" } else { "false" };
            let verify = if cfg!(debug_assertions) { "true" } else { "false" };
            let mut flags = settings::builder();
            for (name, value) in [
                ("opt_level", opt_level),
                ("is_pic", pic),
                ("use_colocated_libcalls", "false"),
                ("enable_verifier", verify),
                // Functions with more results than registers return them through memory.
                ("enable_multi_ret_implicit_sret", "true"),
                ("enable_probestack", "true"),
                ("probestack_strategy", "inline"),
                ("unwind_info", "false"),
            ] {
                flags.set(name, value).map_err(|error| EmitError::Target(format!("{name}: {error}")))?;
            }
            let builder = cranelift_native::builder().map_err(|error| EmitError::Target(error.to_string()))?;
            builder.finish(settings::Flags::new(flags)).map_err(|error| EmitError::Target(error.to_string()))
        };
        let keep = isa("none")?;
        let optimize = isa("speed")?;
        let has_fma = has_fma(&*keep);
        Ok(Target { keep, optimize, has_fma })
    }

    /// The setting for functions of this order.
    pub fn isa(&self, order: Order) -> &Arc<dyn TargetIsa> {
        match order {
            Order::Keep => &self.keep,
            Order::Optimize => &self.optimize,
        }
    }
}

fn has_fma(isa: &dyn TargetIsa) -> bool {
    let optional_on_x64 = isa.isa_flags().into_iter().find(|flag| flag.name == "has_fma");
    optional_on_x64.is_none_or(|flag| flag.as_bool() == Some(true))
}

/// What Cranelift does on this host.
///
/// # Errors
/// The host is not supported by Cranelift.
pub fn capabilities() -> Result<Capabilities, EmitError> {
    let target = Target::host(CodeModel::Jit)?;
    let vector_registers = if cfg!(target_arch = "x86_64") { 16 } else { 32 };
    Ok(Capabilities {
        pointer_bytes: u32::from(target.keep.pointer_bytes()),
        vector_bytes: 16,
        vector_registers,
        has_fma: target.has_fma,
        fma_takes_factor: cfg!(target_arch = "x86_64"),
        has_gather: false,
    })
}
