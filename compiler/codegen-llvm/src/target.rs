//! The machine we compile for: the host with all its features, and the passes that run.

use std::ffi::CStr;
use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine};
use ravel_codegen::Capabilities;

use crate::EmitError;

/// Cleaning up only. Nothing here vectorises, unrolls or inlines: nest has decided that, and its kernels are ordered by hand. What is aggressive about
/// the second combiner is that it knows the shifts and masks by which programs count bits: one instruction on many targets, also in lanes.
const PASSES: &str = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,aggressive-instcombine,simplifycfg,\
    jump-threading,loop-mssa(licm),early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

/// Code generation in the order of the program, where the machine scheduler would move loads up and spill accumulators.
const ORDER: [&CStr; 3] = [c"ravel", c"-enable-misched=false", c"-pre-RA-sched=source"];

/// A pass that moves integers to mask registers, which it never finds worth it in this code: its time grows with the square of straight-line code.
#[cfg(target_arch = "x86_64")]
const UNUSED: &[&CStr] = &[c"-disable-x86-domain-reassignment"];
#[cfg(not(target_arch = "x86_64"))]
const UNUSED: &[&CStr] = &[];

/// Sets the options that LLVM has for the whole process only.
#[expect(unsafe_code, reason = "inkwell does not wrap LLVM's options")]
fn set_options() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let words: Vec<_> = ORDER.iter().chain(UNUSED).map(|word| word.as_ptr()).collect();
        // SAFETY: the words and the overview are constant C strings, as many as the count says; nothing else changes options.
        unsafe { LLVMParseCommandLineOptions(words.len() as i32, words.as_ptr(), c"".as_ptr()) };
    });
}

/// The host.
pub(crate) struct Target {
    /// LLVM's description of it.
    pub machine: TargetMachine,
    /// What the scheduler may count on.
    pub capabilities: Capabilities,
}

impl Target {
    /// Detects the host.
    pub fn host() -> Result<Target, EmitError> {
        set_options();
        LlvmTarget::initialize_native(&InitializationConfig::default()).map_err(EmitError::Target)?;
        let triple = TargetMachine::get_default_triple();
        let target = LlvmTarget::from_triple(&triple).map_err(|error| EmitError::Target(error.to_string()))?;
        let cpu = TargetMachine::get_host_cpu_name().to_string();
        let features = TargetMachine::get_host_cpu_features().to_string();
        let machine = target
            .create_target_machine(
                &triple,
                &cpu,
                &features,
                OptimizationLevel::Default,
                RelocMode::PIC,
                CodeModel::Default,
            )
            .ok_or_else(|| EmitError::Target(format!("no code generator for {cpu}")))?;
        let pointer_bytes = machine.get_target_data().get_pointer_byte_size(None);
        let capabilities = Capabilities { pointer_bytes, ..from_features(&features) };
        Ok(Target { machine, capabilities })
    }

    /// Runs the passes.
    pub fn optimize(&self, module: &Module<'_>) -> Result<(), EmitError> {
        let options = PassBuilderOptions::create();
        module.run_passes(PASSES, &self.machine, options).map_err(|error| EmitError::Linker(error.to_string()))
    }

    /// Runs the passes and generates code.
    pub fn compile(&self, module: &Module<'_>, file: FileType) -> Result<MemoryBuffer<'static>, EmitError> {
        self.optimize(module)?;
        self.machine.write_to_memory_buffer(module, file).map_err(|error| EmitError::Linker(error.to_string()))
    }
}

/// Reads LLVM's list `+avx2,-avx512f,...`.
fn from_features(features: &str) -> Capabilities {
    let has = |name: &str| features.split(',').any(|feature| feature.strip_prefix('+') == Some(name));
    if !cfg!(target_arch = "x86_64") {
        return Capabilities { vector_bytes: 16, vector_registers: 32, has_fma: true, ..Capabilities::SCALAR };
    }
    // All four parts are needed for every integer and float operation on 512 bits.
    let wide = ["avx512f", "avx512bw", "avx512dq", "avx512vl"].into_iter().all(has);
    let (vector_bytes, vector_registers) = match (wide, has("avx2")) {
        (true, _) => (64, 32),
        (false, true) => (32, 16),
        (false, false) => (16, 16),
    };
    Capabilities {
        vector_bytes,
        vector_registers,
        has_fma: has("fma"),
        fma_takes_factor: false,
        has_gather: has("avx2"),
        ..Capabilities::SCALAR
    }
}

/// What LLVM does on this host.
///
/// # Errors
/// The host is not supported by LLVM.
pub fn capabilities() -> Result<Capabilities, EmitError> {
    Ok(Target::host()?.capabilities)
}

#[cfg(test)]
mod tests {
    use super::from_features;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_widest_complete_vector_set_counts() {
        let width = |features: &str| from_features(features).vector_bytes;
        assert_eq!(width("+sse4.2,-avx2"), 16);
        assert_eq!(width("+avx,+avx2,+avx512f"), 32);
        assert_eq!(width("+avx2,+avx512f,+avx512bw,+avx512dq,+avx512vl,+fma"), 64);
        assert!(from_features("+fma").has_fma && !from_features("-fma,+fma4").has_fma);
    }
}
