//! What compilations share: the texts of modules, and what these became.
//!
//! A further compilation takes every module whose text, macros and mentions are the same from here: trials of suggestions and of fixes,
//! the files of one `check`, the inputs of a prompt. Nothing has to be told of changes: texts are read anew and compared.

use ravel_core::Kept;
use ravel_source::SourceMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// A handle: clones share what is read.
#[derive(Clone, Default)]
pub struct Workspace(Arc<Mutex<Contents>>);

#[derive(Default)]
struct Contents {
    /// Texts of modules; spans in what is kept are places in them.
    texts: SourceMap,
    kept: Kept,
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Workspace")
    }
}

impl Workspace {
    /// Lets a run of the front end use and fill what is kept. Its map takes part, unless it comes from a run before.
    pub(crate) fn with<T>(&self, map: &mut SourceMap, run: impl FnOnce(&mut SourceMap, &mut Kept) -> T) -> T {
        let mut contents = match self.0.lock() {
            Ok(contents) => contents,
            // A run that ended in a panic may have left half a module.
            Err(poisoned) => {
                let mut contents = poisoned.into_inner();
                *contents = Contents::default();
                self.0.clear_poison();
                contents
            }
        };
        if contents.kept.is_stale() {
            *contents = Contents::default();
        }
        if !map.inherit(&contents.texts) {
            return run(map, &mut Kept::default());
        }
        let result = run(map, &mut contents.kept);
        contents.texts = map.legacy();
        result
    }

    /// Frees what is kept if no other compilation can use it: a program may run for long.
    pub(crate) fn free_if_alone(&self) {
        if Arc::strong_count(&self.0) == 1
            && let Ok(mut contents) = self.0.lock()
        {
            *contents = Contents::default();
        }
    }

    /// How many texts of modules were scanned, and how many were parsed, since the beginning.
    pub fn work(&self) -> (usize, usize) {
        self.0.lock().map_or((0, 0), |contents| contents.kept.work())
    }
}
