//! Passes for programs that run on a device.

pub mod keep_on_device;
