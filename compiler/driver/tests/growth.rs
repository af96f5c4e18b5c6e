//! Nested loops and with-loops are not elaborated once more for each one around them: the work grows far slower than it would then.

use ravel_core::RootSource;
use ravel_driver::edition::Edition;
use ravel_driver::files::{FileLoader, is_library};
use ravel_driver::{Compilation, Options};
use ravel_specialize::{Entry, specialize};

/// Expressions that are elaborated for a `main` with this body.
fn elaborated(body: &str) -> u64 {
    let text = format!("use Array: all;\nint main() {{ s = 0; c = iota(10); {body} return s; }}\n");
    let mut compilation = Compilation::new(Options { verify: false, ..Options::default() });
    let root = RootSource { name: "program.sac".to_string(), text: text.into() };
    let mut loader = FileLoader::new(Vec::new(), Edition::Current);
    let program = compilation.core_from(root, &mut loader).expect("the program has names and types");
    let library = |file| compilation.map.get(file).is_some_and(|file| is_library(&file.name));
    let options = ravel_specialize::Options::new(&compilation.map, &library);
    let done = specialize(&program, Entry::Main, &options);
    assert!(done.diagnostics.is_empty(), "{:?}", done.diagnostics);
    done.elaborated
}

/// Statements inside of each other; `head` has the level in the place of `#`.
fn nested_statements(levels: usize, head: &str) -> String {
    let heads: String = (0..levels).map(|k| head.replace('#', &k.to_string())).collect();
    heads + &"}".repeat(levels)
}

/// Expressions inside of each other; `shape` has the level in the place of `#` and the inner one in the place of `@`.
fn nested_expressions(levels: usize, shape: &str) -> String {
    let inner = |inner: String, k: usize| shape.replace('#', &k.to_string()).replace('@', &inner);
    format!("s = {};", (0..levels).fold("s".to_string(), inner))
}

type Nest = fn(usize, &str) -> String;

const NESTS: [(Nest, &str); 7] = [
    (nested_statements, "for (i# = 0; i# < 2; i#++) { s += i#;"),
    (nested_statements, "i# = 0; while (i# < c[# % 10]) { s += i#; i# = i# + 1;"),
    (nested_statements, "if (c[# % 10] > #) { s += #;"),
    (nested_statements, "if (c[# % 10] > #) { s += #; } else { s += 1;"),
    (nested_expressions, "sum({ [i#] -> i# + @ | [i#] < [2] })"),
    (nested_expressions, "with { ([0] <= [i#] < [2]) : i# + @; } : fold(+, 0)"),
    (nested_expressions, "with { ([0] <= [i#] < [20]) : i# + @; } : fold(+, 0)"),
];

/// Two times the levels are at most twelve times the work; the cube would be eight. Each level did the ones inside of it twice before, so
/// that 30 more levels were 1,000,000,000 times the work.
#[test]
fn the_work_does_not_double_with_each_level() {
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(|| {
        for (nest, shape) in NESTS {
            let (some, twice) = (elaborated(&nest(30, shape)), elaborated(&nest(60, shape)));
            assert!(twice < 12 * some, "{shape}: {some} expressions for 30 levels, {twice} for 60");
        }
    });
    assert!(thread.expect("a thread").join().is_ok(), "see above");
}
