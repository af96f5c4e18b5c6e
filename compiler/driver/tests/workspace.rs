//! Compilations that share a workspace say what they would say alone, and read only what is new.

use ravel_driver::repl::{Reply, Session};
use ravel_driver::{Compilation, Options};
use std::fs;
use std::path::{Path, PathBuf};

fn options() -> Options {
    Options { verify: false, ..Options::default() }
}

/// The reports of a check, as users see them.
fn checked(options: &Options, file: &Path) -> String {
    let mut compilation = Compilation::new(options.clone());
    let outcome = compilation.check(file);
    let format = ravel_diagnostics::Format::Human;
    let text = ravel_diagnostics::render(&compilation.diagnostics, &compilation.map, format, false);
    format!("{}\n{text}", outcome.is_ok())
}

/// On a thread with the stack that the compiler has.
fn with_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(work).expect("a thread");
    assert!(thread.join().is_ok(), "see above");
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let mut entries: Vec<PathBuf> = entries.collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "sac") {
            found.push(entry);
        }
    }
}

#[test]
fn reports_do_not_depend_on_what_was_compiled_before() {
    with_stack(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/diagnostics");
        let mut files = Vec::new();
        sources(&folder, &mut files);
        assert!(files.len() > 100, "{} programs", files.len());
        let shared = options();
        for (k, file) in files.iter().enumerate() {
            let text = checked(&shared, file);
            // To begin anew takes ten times as long.
            if k % 3 == 0 {
                assert_eq!(text, checked(&options(), file), "{}", file.display());
            }
        }
    });
}

#[test]
fn only_changed_texts_are_read_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("A.sac", "module A; export all; int a() { return 1; }");
    write("B.sac", "module B; import A: all; export all; int b() { return a(); }");
    write("main.sac", "use B: all; int main() { return b(); }");
    let options = options();
    let main = folder.path().join("main.sac");
    let mut before = (0, 0);
    // Whether the program is right, and how many texts of modules were scanned and how many parsed. The program itself is always parsed.
    let mut work = || {
        let is_right = Compilation::new(options.clone()).core(&main).is_ok();
        let now = options.workspace.work();
        let new = (now.0 - before.0, now.1 - before.1);
        before = now;
        (is_right, new)
    };
    assert_eq!(work(), (true, (2, 3)));
    assert_eq!(work(), (true, (0, 1)));
    write("main.sac", "use B: all; int main() { return a(); }");
    assert_eq!(work(), (true, (0, 1)));
    write("A.sac", "module A; export all; int a() { return 3; }");
    // B has names of A.
    assert_eq!(work(), (true, (1, 3)));
    assert_eq!(work(), (true, (0, 1)));
    write("A.sac", "module A; export all; int c() { return 3; }");
    assert!(!work().0, "`a` is gone");
    write("A.sac", "module A; export all; int a() { return 1 }");
    assert!(!work().0 && !work().0, "errors in what is known count again");
    write("B.sac", "module B; export all; int a() { return 1; }");
    assert_eq!(work(), (true, (1, 2)));
}

#[test]
fn what_includes_other_files_is_read_each_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("M.sac", "module M; export all;\n#include \"n.h\"\nint m() { return N; }");
    write("main.sac", "use M: all; int main() { return m(); }");
    let options = options();
    for (value, is_right) in [("1", true), ("true", false), ("2", true)] {
        write("n.h", &format!("#define N {value}\n"));
        let right = Compilation::new(options.clone()).check(&folder.path().join("main.sac")).is_ok();
        assert_eq!(right, is_right, "{value}");
    }
}

#[test]
fn reports_are_in_the_order_in_which_this_compilation_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    for name in ["A", "B"] {
        write(&format!("{name}.sac"), &format!("module {name}; export all; int f{name}() {{ return true; }}"));
    }
    write("first.sac", "use A: all; use B: all; int main() { x = fA(); return fB(); }");
    write("second.sac", "use B: all; use A: all; int main() { x = fA(); return fB(); }");
    let shared = options();
    for name in ["first.sac", "second.sac", "first.sac"] {
        let file = folder.path().join(name);
        let text = checked(&shared, &file);
        assert!(text.contains("A.sac") && text.contains("B.sac"), "{text}");
        assert_eq!(text, checked(&options(), &file));
    }
}

#[test]
fn a_session_sees_modules_that_change_on_disk() {
    with_stack(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |text: &str| fs::write(folder.path().join("M.sac"), text).expect("written");
        let options = Options { folders: vec![folder.path().to_path_buf()], ..options() };
        let mut session = Session::new(options, false).expect("a session");
        let mut shown = |input: &str| match session.enter(input, true) {
            Reply::Done { shown, .. } => shown,
            other => format!("{other:?}"),
        };
        write("module M; export all; int m() { return 1; }");
        assert_eq!(shown("use M: all;"), "");
        let one = shown("m()");
        assert!(one.ends_with('1'), "{one}");
        write("module M; export all; int m() { return 2; } int n() { return 3; }");
        let (two, three) = (shown("m()"), shown("n()"));
        assert!(two.ends_with('2') && three.ends_with('3'), "{two} {three}");
    });
}
