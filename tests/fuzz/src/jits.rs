//! The code generators under test.

use ravel_codegen::{EmitError, Entry, Session};
use ravel_driver::Backend;
use ravel_nest::ir::Module;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;

/// One session of each backend, made when it is first needed.
#[derive(Default)]
pub struct Jits {
    sessions: BTreeMap<&'static str, Box<dyn Session>>,
}

impl Jits {
    /// Compiles a module; its entry function.
    ///
    /// # Errors
    /// What the backend says.
    pub fn compile(&mut self, backend: Backend, module: &Module, entry: &str) -> Result<Entry, String> {
        let compiled = self.session(backend).and_then(|session| {
            session.add(module)?;
            session.entry(entry)
        });
        compiled.map_err(|e| e.to_string())
    }

    fn session(&mut self, backend: Backend) -> Result<&mut Box<dyn Session>, EmitError> {
        Ok(match self.sessions.entry(backend.name()) {
            Slot::Occupied(session) => session.into_mut(),
            Slot::Vacant(slot) => slot.insert(backend.session()?),
        })
    }
}
