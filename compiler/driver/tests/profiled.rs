//! What `--profile` adds to compiled code: calls around with-loops and loops, and nothing if it is not asked for.

use ravel_driver::{Compilation, Options};
use ravel_nest::ir::Module;
use std::collections::BTreeSet;
use std::path::Path;

const TEXT: &str = "use Array: all;\nuse StdIO: all;\n\
noinline double[n,n] relax(double[n,n] a)\n{\n    return with {\n\
        ([1,1] <= [i,j] < [n - 1,n - 1]) : 0.25 * (a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1]);\n    } : modarray(a);\n}\n\
noinline double[m,n] product(double[m,k] a, double[k,n] b)\n{\n    return { [i,j] -> sum({ [l] -> a[i,l] * b[l,j] }) };\n}\n\
int main()\n{\n    a = { [i,j] -> tod(i * j) | [i,j] < [300,300] };\n\
    for (k = 0; k < 10; k++) {\n        a = relax(a);\n    }\n    print(product(a, a)[3,4]);\n    return 0;\n}\n";

fn nest(profile: bool, file: &Path) -> Module {
    let mut compilation = Compilation::new(Options { profile, ..Options::default() });
    let module = compilation.wir(file).expect("the program is right");
    let module = compilation.optimize(module).expect("it is optimised");
    compilation.nest(&module, false).expect("it is scheduled")
}

/// The functions that the scheduler made of inner loops, as text without their names.
fn kernels(module: &Module) -> BTreeSet<String> {
    let text = module.to_string();
    let functions =
        text.split("\nfunc ").skip(1).filter(|text| text.lines().next().is_some_and(|head| head.contains("_kernel_")));
    functions.filter_map(|text| Some(text.split_once('\n')?.1.trim_end().to_string())).collect()
}

fn calls_of_the_profile(module: &Module) -> usize {
    module.externs.values().filter(|callee| callee.name.starts_with("ravel_profile_")).count()
}

#[test]
fn without_the_option_nothing_is_added_and_with_it_loops_stay_as_they_are() {
    let work = || {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("p.sac");
        std::fs::write(&file, TEXT).expect("written");
        let (plain, profiled, again) = (nest(false, &file), nest(true, &file), nest(false, &file));
        assert_eq!(calls_of_the_profile(&plain), 0);
        assert!(calls_of_the_profile(&profiled) >= 2);
        assert_eq!(plain.to_string(), again.to_string());
        let loops = kernels(&plain);
        assert!(loops.len() >= 3, "{plain}");
        assert_eq!(loops, kernels(&profiled));
    };
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(work).expect("a thread");
    assert!(thread.join().is_ok(), "see above");
}
