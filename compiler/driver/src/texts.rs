//! Texts that stand in the place of files: what an editor holds, what came by standard input, what a fix would make.

use crate::files::read_text;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What takes the place of files, by the paths that they are asked for with.
#[derive(Clone, Debug, Default)]
pub struct Texts(BTreeMap<PathBuf, Arc<str>>);

impl Texts {
    /// From now on the text is what the file holds.
    pub fn set(&mut self, path: PathBuf, text: impl Into<Arc<str>>) {
        self.0.insert(path, text.into());
    }

    /// The file itself is meant again.
    pub fn forget(&mut self, path: &Path) {
        self.0.remove(path);
    }

    /// The text of a file of the user.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        self.0.get(path).map_or_else(|| read_text(path), |text| Ok(text.clone()))
    }
}
