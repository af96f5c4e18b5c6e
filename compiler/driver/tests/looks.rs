//! `check` looks at a program twice, and both looks share instances: each finds what it would find alone.

use ravel_core::RootSource;
use ravel_core::ir::Program;
use ravel_diagnostics::{Code, Diagnostic};
use ravel_driver::edition::Edition;
use ravel_driver::files::{FileLoader, is_library};
use ravel_driver::{Compilation, Options};
use ravel_specialize::{Entry, Specialized, specialize, specialize_all};
use std::path::Path;

/// On a thread with the stack that the compiler has.
fn with_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(work).expect("a thread");
    assert!(thread.join().is_ok(), "see above");
}

/// The outcomes of both looks, found together and one by one.
fn looks(compilation: &Compilation, program: &Program) -> [Vec<Specialized>; 2] {
    let library = |file| compilation.map.get(file).is_some_and(|file| is_library(&file.name));
    let options = ravel_specialize::Options::new(&compilation.map, &library);
    let entries = [Entry::Main, Entry::Roots];
    let alone = entries.iter().map(|entry| specialize(program, entry.clone(), &options));
    let alone = alone.collect();
    [specialize_all(program, entries.to_vec(), &options), alone]
}

/// What the second look reports, which is the same in both ways.
fn second_look(compilation: &Compilation, program: &Program, name: &str) -> Vec<Diagnostic> {
    let [mut together, alone] = looks(compilation, program);
    for (a, b) in together.iter().zip(&alone) {
        assert_eq!(a.diagnostics, b.diagnostics, "{name}");
        assert_eq!(a.instances, b.instances, "{name}");
    }
    together.pop().map(|look| look.diagnostics).unwrap_or_default()
}

fn found(text: &str) -> Vec<Code> {
    let mut compilation = Compilation::new(Options { verify: false, ..Options::default() });
    let root = RootSource { name: "program.sac".to_string(), text: text.into() };
    let mut loader = FileLoader::new(Vec::new(), Edition::Current);
    let program = compilation.core_from(root, &mut loader).expect("the program has names and types");
    second_look(&compilation, &program, text).iter().map(|report| report.code).collect()
}

#[test]
fn a_fault_that_the_first_look_is_not_certain_of_is_found_by_the_second() {
    with_stack(|| {
        let head = "use Array: all; use CommandLine: all; noinline int f(int[.] a) { return a[[5]]; }\n";
        let main = "int main() { x = 0; if (argc() > 3) { x = f([1,2,3]); } return x; }\n";
        assert_eq!(found(&format!("{head}{main}")), []);
        let both = format!("{head}int g() {{ return f([1,2,3]); }}\n{main}");
        assert_eq!(found(&both), [Code::IndexOutOfRange]);
    });
}

#[test]
fn what_the_first_look_reported_is_reported_where_the_second_finds_it() {
    with_stack(|| {
        let text = "use Array: all; int g() { return sum(take([4], [1,2])); }\n\
            noinline int h(int[.] a) { return sum(take([4], a)); }\n\
            int main() { return h([1,2]) + g(); }\n";
        assert!(!found(text).is_empty());
    });
}

#[test]
fn recursions_are_looked_at_from_both_entries() {
    with_stack(|| {
        let text = "use Array: all;\n\
            int down(int n, int[.] a) { return n <= 0 ? a[[0]] : up(n - 1, a) + down(n - 2, a); }\n\
            int up(int n, int[.] a) { return n > 9 ? 0 : down(n - 1, a ++ a); }\n\
            int from(int n) { return up(n, [1,2]) + down(3, [1]); }\n\
            int main() { return down(7, [1,2,3]) + from(4); }\n";
        found(text);
    });
}

#[test]
fn many_instances_by_value_are_forgotten_alike() {
    with_stack(|| {
        let calls: Vec<String> = (0..40).map(|k| format!("f(reshape([2,2], [1,2,3,{k}]), {k})")).collect();
        let more: Vec<String> = (20..60).map(|k| format!("f(reshape([2,2], [1,2,3,{k}]), {k})")).collect();
        let text = format!(
            "use Array: all; noinline int f(int[.,.] a, int k) {{ return a[[0, k % 2]] + k; }}\n\
             int g() {{ return {}; }}\nint main() {{ return {}; }}\n",
            more.join(" + "),
            calls.join(" + ")
        );
        found(&text);
    });
}

#[test]
fn programs_with_errors_and_without() {
    with_stack(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut n = 0;
        let options = Options { verify: false, ..Options::default() };
        for folder in ["tests/diagnostics", "examples"] {
            let entries = std::fs::read_dir(root.join(folder)).expect("the folder is there");
            let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
            files.retain(|path| path.extension().is_some_and(|extension| extension == "sac"));
            files.sort();
            for file in files {
                let mut compilation = Compilation::new(options.clone());
                let program = compilation.core_with_holes(&file).expect("it can be read");
                if program.main.is_some() {
                    n += 1;
                    second_look(&compilation, &program, &file.display().to_string());
                }
            }
        }
        assert!(n > 50, "{n} programs have a `main`");
    });
}
