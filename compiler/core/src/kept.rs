//! Modules that earlier runs have read, for later runs with the same texts.
//!
//! What a file became is taken again as long as its text, the macros given to it, and the modules that it mentions are the same.
//! A file that includes others, or asks for the time, is read anew in every run, and so is what mentions it.

use crate::Core;
use crate::frontend::Scanned;
use crate::modules::{Def, ModId, Module};
use ravel_diagnostics::Diagnostic;
use ravel_syntax::MacroOption;
use ravel_types::HashMap;
use std::sync::Arc;

/// Numbers of modules and definitions from here on belong to one run. Those below stay.
pub(crate) const OWN: u32 = 1 << 30;

/// Bytes of texts whose trees nobody uses any more, after which it pays to begin anew.
const MOST_STALE: usize = 1 << 20;

/// Modules by file, with their names. The source map of a run must hold the texts of the runs before, see
/// [`ravel_source::SourceMap::inherit`].
#[derive(Default)]
pub struct Kept {
    files: HashMap<String, File>,
    pub(crate) modules: Vec<Module>,
    pub(crate) defs: Vec<Def>,
    /// Bytes of texts that others have replaced, or that were parsed again.
    stale: usize,
    scans: usize,
    parses: usize,
}

struct File {
    text: Arc<str>,
    macros: Vec<MacroOption>,
    scanned: Arc<Scanned>,
    /// By what its mentions mean.
    modules: Vec<Version>,
}

struct Version {
    mentions: Vec<Option<ModId>>,
    module: ModId,
    /// What was said when the text was parsed and its names were entered.
    reports: Vec<Diagnostic>,
}

impl Kept {
    /// Whether most of this is of no use: texts have changed again and again.
    pub fn is_stale(&self) -> bool {
        self.stale > MOST_STALE
    }

    /// How many files were scanned, and how many parsed, since the beginning.
    pub fn work(&self) -> (usize, usize) {
        (self.scans, self.parses)
    }

    /// What a scan of the text has found before.
    pub(crate) fn scanned(&self, name: &str, text: &Arc<str>, macros: &[MacroOption]) -> Option<Arc<Scanned>> {
        let file = self.files.get(name)?;
        (file.text == *text && file.macros == macros).then(|| file.scanned.clone())
    }

    /// Keeps the scan of a text; what the file was before is forgotten.
    pub(crate) fn keep_scan(&mut self, name: &str, text: Arc<str>, macros: &[MacroOption], scanned: &Arc<Scanned>) {
        self.scans += 1;
        if !scanned.is_lasting {
            return;
        }
        let file = File { text, macros: macros.to_vec(), scanned: scanned.clone(), modules: Vec::new() };
        if let Some(before) = self.files.insert(name.to_string(), file) {
            self.stale += before.text.len();
        }
    }

    /// A module made of the scan when its mentions meant the same, and what was said then.
    pub(crate) fn module(
        &self,
        name: &str,
        scanned: &Arc<Scanned>,
        mentions: &[Option<ModId>],
    ) -> Option<(ModId, &[Diagnostic])> {
        let file = self.files.get(name).filter(|file| Arc::ptr_eq(&file.scanned, scanned))?;
        let version = file.modules.iter().find(|version| version.mentions == mentions)?;
        Some((version.module, &version.reports))
    }

    fn keep_module(&mut self, name: &str, mentions: Vec<Option<ModId>>, module: ModId, reports: Vec<Diagnostic>) {
        let Some(file) = self.files.get_mut(name) else { return };
        if !file.modules.is_empty() {
            self.stale += file.text.len();
        }
        file.modules.push(Version { mentions, module, reports });
    }
}

/// How the module that is being made will be known.
pub(crate) struct Place<'a> {
    /// The name of its file.
    pub file: &'a str,
    pub mentions: Vec<Option<ModId>>,
    /// Whether later runs may take it.
    pub lasts: bool,
}

impl Core<'_> {
    /// The number of the next module.
    pub(crate) fn next_module(&self, place: &Place<'_>) -> ModId {
        if place.lasts { ModId(self.kept.modules.len() as u32) } else { ModId(OWN + self.own_modules.len() as u32) }
    }

    /// Enters the module with the number that [`Core::next_module`] gave.
    pub(crate) fn enter_module(&mut self, module: Module, place: Place<'_>, reports: Vec<Diagnostic>) -> ModId {
        let id = self.next_module(&place);
        self.kept.parses += 1;
        if place.lasts {
            self.kept.modules.push(module);
            self.kept.keep_module(place.file, place.mentions, id, reports);
        } else {
            self.own_modules.push(module);
        }
        self.loaded.push(id);
        id
    }
}
