//! Embeds the SaC sources of the standard library, and where cargo leaves the runtime to link with.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = manifest.join("../../stdlib").canonicalize().expect("the library lies beside the compiler");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let mut table = String::from("pub const FILES: &[(&str, &str)] = &[\n");
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).expect("collected below the root").display().to_string();
        writeln!(table, "    ({name:?}, include_str!({:?})),", file.display().to_string()).expect("strings grow");
    }
    table.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    // OUT_DIR is FOLDER/build/PACKAGE/out.
    if let Some(folder) = out.ancestors().nth(3) {
        println!("cargo::rustc-env=RAVEL_BUILD_FOLDER={}", folder.display());
    }
    std::fs::write(out.join("library.rs"), table).expect("the build folder is writable");
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", dir.display());
    for entry in std::fs::read_dir(dir).expect("the library can be read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "sac") {
            files.push(path);
        }
    }
}
