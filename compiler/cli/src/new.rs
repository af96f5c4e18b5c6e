//! `ravel new`: the folder of a package, complete or not at all.

use crate::args::New;
use ravel_driver::project::check_name;
use ravel_runtime::outputs;
use std::fs;
use std::path::{Path, PathBuf};

pub fn run(new: &New) -> i32 {
    match make(new) {
        Ok(made) => {
            say!("ravel: made {}; go there, and `ravel {}`", made.display(), if new.lib { "check" } else { "run" });
            0
        }
        Err(why) => {
            say!("ravel: {why}");
            1
        }
    }
}

fn make(new: &New) -> Result<PathBuf, String> {
    let path = &new.path;
    // `.` and `..` have the names of the folders that they are.
    let whole = match path.file_name() {
        None => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        Some(_) => path.clone(),
    };
    let name = whole.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    check_name(name).map_err(|rule| format!("`{name}` is no name of a package: {rule}"))?;
    // Of a library the name becomes that of a module.
    let module = name.replace('-', "_");
    if new.lib && ravel_driver::keywords().any(|word| word == module) {
        return Err(format!("`{module}` is a word of SaC, and cannot be a module"));
    }
    if new.lib && has_library(&module) {
        return Err(format!("the library has a module `{module}`; another name hides nothing"));
    }
    match fs::symlink_metadata(path) {
        Ok(data) if !data.is_dir() => return Err(format!("{} is there, and no folder", path.display())),
        Ok(_) => {
            let mut entries = fs::read_dir(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            if entries.next().is_some() {
                return Err(format!("{} is not empty", path.display()));
            }
            fill(path, name, &module, new.lib).map_err(|error| format!("cannot fill {}: {error}", path.display()))?;
        }
        Err(_) => {
            let failed = |why: String| format!("cannot make {}: {why}", path.display());
            outputs::make(path, |folder| {
                let made = folder.join("package");
                fs::create_dir(&made)
                    .and_then(|()| fill(&made, name, &module, new.lib))
                    .map_err(outputs::Refusal::from)?;
                Ok::<_, outputs::Refusal>(made)
            })
            .map_err(|why| failed(why.to_string()))?;
        }
    }
    Ok(path.clone())
}

fn has_library(module: &str) -> bool {
    ravel_driver::files::library_sources()
        .any(|(file, _)| Path::new(file).file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case(module)))
}

fn fill(folder: &Path, name: &str, module: &str, is_library: bool) -> std::io::Result<()> {
    let root = if is_library { format!("{module}.sac") } else { "main.sac".to_string() };
    let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nroots = [\"src/{root}\"]\n");
    let (source, test) = if is_library { (library(module), test_of_library(module)) } else { (program(), test()) };
    fs::create_dir(folder.join("src"))?;
    fs::create_dir(folder.join("tests"))?;
    fs::write(folder.join("src").join(root), source)?;
    fs::write(folder.join("tests").join(format!("{module}_test.sac")), test)?;
    // What `ravel build` makes.
    fs::write(folder.join(".gitignore"), format!("/{name}\n"))?;
    // Last: with it, it is a package.
    fs::write(folder.join("ravel.toml"), manifest)
}

fn program() -> String {
    "use Array: all;\nuse StdIO: all;\n\nint main()\n{\n    squares = { [i] -> i * i | [i] < [10] };\n    \
     printf(\"The sum of the first ten squares is %d.\\n\", sum(squares));\n    return 0;\n}\n"
        .to_string()
}

fn test() -> String {
    "use Array: all;\n\nbool prop_squares(int n) | 0 <= n, n < 1000\n{\n    \
     return sum({ [i] -> 2 * i + 1 | [i] < [n] }) == n * n;\n}\n"
        .to_string()
}

fn library(module: &str) -> String {
    format!(
        "// What this module is for.\nmodule {module};\n\nuse Array: all;\n\nexport all;\n\n\
         // The sum of the squares of all elements: square_sum([3,4]) is 25.\n\
         int square_sum(int[*] a)\n{{\n    return sum(a * a);\n}}\n"
    )
}

fn test_of_library(module: &str) -> String {
    format!(
        "use {module}: all;\nuse Array: all;\n\nbool prop_square_sum(int n) | -1000 < n, n < 1000\n{{\n    \
         return square_sum([n, n]) == 2 * n * n;\n}}\n"
    )
}
