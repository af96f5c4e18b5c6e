//! What every backend must do, tested on this one.

use ravel_codegen_llvm as backend;

#[path = "../../codegen/conformance/control.rs"]
mod control;
#[path = "../../codegen/conformance/models.rs"]
mod models;
#[path = "../../codegen/conformance/operations.rs"]
mod operations;
