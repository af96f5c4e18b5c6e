//! Loading of sources kept in memory.

use ravel_core::{Loader, ModulePlace, Options, RootSource, ir};
use ravel_diagnostics::Diagnostic;
use ravel_source::SourceMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Modules by name; those whose text starts with `/* library */` are the library.
#[derive(Default)]
pub struct Memory(BTreeMap<String, String>);

impl Loader for Memory {
    fn find_module(&mut self, module: &str, _from: &str) -> Option<ModulePlace> {
        let name = format!("{module}.sac");
        let text = self.0.get(&name)?;
        Some(ModulePlace { library: text.starts_with("/* library */"), ..ModulePlace::of_user(name) })
    }

    fn find_include(&mut self, path: &str, _from: &str) -> Option<String> {
        self.0.contains_key(path).then(|| path.to_string())
    }

    fn read(&mut self, name: &str) -> Result<Arc<str>, String> {
        self.0.get(name).map(|text| Arc::from(text.as_str())).ok_or_else(|| "no such file".to_string())
    }

    fn library_modules(&mut self) -> Vec<String> {
        let library = self.0.iter().filter(|(_, text)| text.starts_with("/* library */"));
        library.map(|(name, _)| name.trim_end_matches(".sac").to_string()).collect()
    }
}

/// A small library: enough operators for the snippets of the tests.
pub const ARRAY: &str = r#"/* library */
module Array;
export all;
#pragma family T byte short int long float double
inline T +(T a, T b) { return _add_SxS_(a, b); }
inline T[*] +(T[*] a, T[*] b) { return a; }
inline T -(T a, T b) { return _sub_SxS_(a, b); }
inline T -(T a) { return _neg_S_(a); }
inline T *(T a, T b) { return _mul_SxS_(a, b); }
inline bool <(T a, T b) { return _lt_SxS_(a, b); }
inline bool ==(T a, T b) { return _eq_SxS_(a, b); }
inline int ++(int a) { return _add_SxS_(a, 1); }
inline int[.] shape(T[*] a) { return _shape_A_(a); }
inline int dim(T[*] a) { return _dim_A_(a); }
inline T[*] sel(int[.] iv, T[*] a) { return _selcell_VxA_(iv, a); }
inline T[*] sel(int i, T[*] a) { return _selcell_VxA_([i], a); }
inline T[*] modarray(T[*] a, int[.] iv, T[*] v) { return _modcell_AxVxA_(a, iv, v); }
inline T[*] modarray(T[*] a, int i, T[*] v) { return _modcell_AxVxA_(a, [i], v); }
"#;

/// The program of a root text beside other files, all messages, and the sources.
pub fn load_with(root: &str, files: &[(&str, &str)]) -> (ir::Program, Vec<Diagnostic>, SourceMap) {
    let mut memory = Memory::default();
    memory.0.insert("Array.sac".into(), ARRAY.into());
    for (name, text) in files {
        memory.0.insert(name.to_string(), text.to_string());
    }
    let mut map = SourceMap::default();
    let root = RootSource { name: "root.sac".into(), text: root.into() };
    // As at a prompt, so that plain variables will do for reference parameters.
    let options = Options { at_prompt: true, ..Options::default() };
    let (program, reports) =
        ravel_core::load(root, &mut memory, &options, &mut map, &mut ravel_core::Kept::default(), None);
    (program, reports.into_sorted(&map), map)
}

/// The printed text of function `name` of a root without errors.
pub fn core_of(root: &str, name: &str) -> String {
    let (program, reports, map) = load_with(root, &[]);
    assert!(reports.is_empty(), "{}", ravel_diagnostics::render(&reports, &map, Default::default(), false));
    let text = ravel_core::print(&program);
    let wanted = format!("::{name}#");
    let found =
        text.split("\n\n").find(|part| part.lines().any(|line| line.contains(&wanted) && !line.starts_with(' ')));
    found.unwrap_or_default().trim().to_string()
}

/// Codes and lines of all messages.
pub fn messages(root: &str, files: &[(&str, &str)]) -> Vec<String> {
    let (_, reports, map) = load_with(root, files);
    let line = |report: &Diagnostic| map.line_col(report.span()).map_or(0, |at| at.line);
    reports.iter().map(|report| format!("{} {}: {}", report.code, line(report), report.title)).collect()
}
