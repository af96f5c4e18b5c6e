//! The entry functions of a JIT session, by name.

use ravel_types::HashMap;

use crate::{EmitError, Entry};

/// What a session's modules let the host call; a later entry replaces an earlier one of the same name.
#[derive(Default)]
pub struct Entries {
    by_name: HashMap<String, Entry>,
}

impl Entries {
    /// Adds an entry.
    pub fn insert(&mut self, name: &str, entry: Entry) {
        self.by_name.insert(name.to_string(), entry);
    }

    /// The entry `name`.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn entry(&self, name: &str) -> Result<Entry, EmitError> {
        self.by_name.get(name).copied().ok_or_else(|| EmitError::NoEntry { name: name.to_string() })
    }

    /// Calls an entry function. Each argument and result is one word: integers and floats in its low bits.
    ///
    /// # Errors
    /// There is no such entry, or it takes another number of arguments.
    pub fn call(&self, name: &str, args: &[u64]) -> Result<Vec<u64>, EmitError> {
        let entry = self.entry(name)?;
        if entry.n_params() != args.len() {
            return Err(EmitError::ArgumentCount {
                func: name.to_string(),
                wanted: entry.n_params(),
                given: args.len(),
            });
        }
        Ok(entry.call(args))
    }

    /// Runs the entry `name`, of type `() -> i32`, as the whole program; see [`Entry::run_program`].
    ///
    /// # Errors
    /// There is no such entry, or it has another type.
    pub fn run_program(&self, name: &str) -> Result<i32, EmitError> {
        let no_entry = || EmitError::NoEntry { name: name.to_string() };
        self.entry(name)?.run_program().ok_or_else(no_entry)
    }
}
