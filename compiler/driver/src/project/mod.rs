//! Packages: folders with a `ravel.toml`, what they need, and where that is found.
//!
//! A manifest only finds things: it adds folders to the search for modules, and macros. Without one nothing changes.

pub mod manifest;

pub use manifest::{MANIFEST, Manifest, TestTable};
