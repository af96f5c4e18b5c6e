//! Programs that nobody has open: the roots of packages whose modules are open. They say with which arguments a module's functions are called.

use crate::Server;
use crate::texts::uri_of;
use ravel_driver::facts::Facts;
use ravel_driver::project::{Access, Projects};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is known of programs, by their addresses.
pub type Programs = BTreeMap<String, Arc<Facts>>;

/// Roots of a package that are looked at.
const MOST_ROOTS: usize = 20;

/// The roots of a file's package, without the file itself.
fn roots(path: &Path) -> Vec<PathBuf> {
    // What is wrong with a package is reported where it is checked.
    let Ok(Some(project)) = Projects::default().of(path, Access::of_reader()) else { return Vec::new() };
    let mut roots = project.roots().unwrap_or_default();
    roots.retain(|root| root != path);
    roots.truncate(MOST_ROOTS);
    roots
}

impl Server {
    /// Has the programs of a file's package looked at: when it is opened or saved.
    pub fn look_at_roots(&mut self, path: &Path) {
        let options = self.with_texts();
        for root in roots(path) {
            let Some(uri) = uri_of(&root).filter(|uri| !self.documents.contains_key(uri)) else { continue };
            self.checker.look(uri, 0, root, options.clone(), false);
        }
    }

    /// The same for those that are known to read a file which has changed.
    pub fn look_at_readers(&mut self, path: &Path) {
        let name = path.display().to_string();
        let reads = |facts: &Arc<Facts>| facts.file(&name).is_some();
        let readers = self.programs.iter().filter(|(uri, facts)| reads(facts) && !self.documents.contains_key(*uri));
        let readers: Vec<String> = readers.map(|(uri, _)| uri.clone()).collect();
        if readers.is_empty() {
            return;
        }
        let options = self.with_texts();
        for uri in readers {
            let Some(path) = crate::texts::path_of(&uri) else { continue };
            self.checker.look(uri, 0, path, options.clone(), false);
        }
    }
}
