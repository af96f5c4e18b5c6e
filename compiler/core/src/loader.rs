//! What the caller provides: the root text, options, and access to files.

use ravel_diagnostics::Levels;
use ravel_syntax::MacroOption;
use std::sync::Arc;

/// Where the text of a module was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModulePlace {
    /// The file as diagnostics show it; also its identity, so equal files must get equal names.
    pub name: String,
    /// Part of the built-in library.
    pub library: bool,
    /// A file of the user that stands in front of a library module of the same name.
    pub hides_library: bool,
    /// Another file that could be meant as well.
    pub rival: Option<String>,
}

impl ModulePlace {
    /// A file of the user.
    pub fn of_user(name: String) -> ModulePlace {
        ModulePlace { name, library: false, hides_library: false, rival: None }
    }
}

/// File access. Core itself never touches the file system.
pub trait Loader {
    /// The file of `module`, as mentioned in the file `from`: searched beside that file first, then along the search path,
    /// then in the library. A file of another name may hold a module that no file is named after.
    fn find_module(&mut self, module: &str, from: &str) -> Option<ModulePlace>;

    /// The name of the file that `#include "path"` in the file `from` means.
    fn find_include(&mut self, path: &str, from: &str) -> Option<String>;

    /// The text of a file that one of the other functions named, or why it cannot be had.
    fn read(&mut self, name: &str) -> Result<Arc<str>, String>;

    /// When the compilation began, for `__DATE__` and `__TIME__`: seconds since 1970 as clocks on walls show them.
    fn now(&mut self) -> u64 {
        0
    }

    /// Names of all library modules, most important first: searched for suggestions when a name is unknown.
    fn library_modules(&mut self) -> Vec<String>;

    /// Another edition of the library, by name, that has a module which this one lacks.
    fn other_edition(&mut self, _module: &str) -> Option<&'static str> {
        None
    }
}

/// The file that compilation starts from: a program, or a module that is only checked.
#[derive(Clone, Debug)]
pub struct RootSource {
    pub name: String,
    pub text: Arc<str>,
}

/// Settings of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Ask for the functions that a library offers to C.
    pub library: bool,
    /// `-D` and `-U`, in order; applied to the root file and to user modules, never to the library.
    pub macros: Vec<MacroOption>,
    /// What is typed at a prompt may drop what functions give, and pass plain variables by reference.
    pub at_prompt: bool,
    /// The `use` lines of the root file itself, not of what it includes, stand behind all others: what they bring gives way to what others
    /// bring, and to definitions.
    pub background_uses: bool,
    /// Every derivative is compared with differences when it is first taken.
    pub check_gradients: bool,
    /// What of what is allowed is reported.
    pub lints: Levels,
}
