//! Nest to OpenCL C: kernels are cut out of a module and written as source text.
//!
//! [`split`] takes every [`Op::Launch`] out of a module. Its body becomes a kernel; in its place stands a call of the runtime
//! that hands the kernel its arguments. What is left is a module for a processor's backend.
//!
//! # What a launch body may use
//! - Scalars of the function around it: they become arguments.
//! - Buffers: pointers that one of the runtime's [`BUFFER_CALLS`] returned, and sums of such pointers and offsets.
//! - Its own stack slots (private memory) and static data without addresses in it (constant memory).
//! - A fault in it sets a flag and ends the work-item. The host asks `ravel_device_faulted` after the launch.
//! - In launches of groups, memory that the group shares (local memory) and barriers.
//!
//! # Arithmetic
//! As nest defines it: integers wrap (sums are made of unsigned numbers unless bounds show that nothing overflows), conversions of
//! floats to integers saturate, comparisons give 0 or 1. Mathematical functions are OpenCL's, and divisions and square roots of `float` are
//! those that the device has: within the errors that OpenCL allows, not correctly rounded. Quotients by square roots are products with
//! OpenCL's `rsqrt` ([`roots`]).
#![forbid(unsafe_code)]

mod backend;
mod expr;
mod kernel;
mod memory;
mod names;
mod print;
mod ranges;
mod roots;
mod start;
mod statements;
mod text;

#[cfg(test)]
mod tests;

pub use backend::Opencl;
pub use start::ask_for_device;

use ravel_codegen::EmitError;
use ravel_nest::ir::{Module, Op, Region};

/// Runtime functions whose result is a device buffer: of an array that is read, written completely, or read and written.
pub const BUFFER_CALLS: [&str; 3] = ["ravel_device_read", "ravel_device_write", "ravel_device_update"];

/// The kernels of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// OpenCL C, complete.
    pub source: String,
    /// Names of the kernels in it.
    pub kernels: Vec<String>,
    /// Kernels compute with 64-bit floats.
    pub doubles: bool,
}

/// Replaces the launches of a module by calls of the runtime; the kernels they start.
///
/// # Errors
/// [`EmitError::Kernel`]: a launch body contains something that devices cannot do; see the crate's header.
pub fn split(module: &mut Module) -> Result<Program, EmitError> {
    kernel::split(module)
}

/// Are there launches in this region?
fn launches(region: &Region) -> bool {
    region.insts.iter().any(|inst| matches!(inst.op, Op::Launch { .. }) || inst.op.regions().into_iter().any(launches))
}
