//! What runs on a device: launches, and what they count on.

pub mod bank_padding;
pub mod fold;
pub mod group_memory;
pub mod groups;
pub mod launch;
pub mod run;
