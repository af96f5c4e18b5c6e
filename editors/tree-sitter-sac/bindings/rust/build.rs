//! Compiles the parser that `tree-sitter generate` wrote.

fn main() {
    println!("cargo:rerun-if-changed=src");
    // A table of some megabytes: optimising it takes long and gains little.
    cc::Build::new()
        .std("c11")
        .include("src")
        .file("src/parser.c")
        .opt_level(1)
        .warnings(false)
        .compile("tree-sitter-sac");
}
