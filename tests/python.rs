//! The Python package and the Jupyter kernel: the wheel is built, installed into a virtual environment, and tested there by pytest.
//!
//! Needs Python 3.9 with `venv`, and `numpy pytest nbclient ipykernel jupyter_kernel_test`, which pip fetches. `RAVEL_TEST_VENV` names an
//! environment that has them already.

use std::path::{Path, PathBuf};
use std::process::Command;

use ravel_tests::{ravel, repository};

const PACKAGES: [&str; 5] = ["numpy", "pytest", "nbclient", "ipykernel", "jupyter_kernel_test"];

fn run(command: &mut Command, needs: &str) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {needs}"));
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed; {needs}\n{text}");
    text
}

/// An environment with the packages that the tests import; it is kept for the next time. Nothing where Python has no `venv`, or pip fetches nothing.
fn environment(target: &Path) -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("RAVEL_TEST_VENV") {
        return Some(PathBuf::from(given));
    }
    let venv = target.join("python-venv");
    let made = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let is_there = made(Command::new("python3").args(["-m", "venv"]).arg(&venv))
        && made(Command::new(venv.join("bin/pip")).args(["install", "-q"]).args(PACKAGES));
    is_there.then_some(venv)
}

fn left_out() {
    // As without a device, there is nothing to test with.
    eprintln!(
        "the tests of wheels are left out: they need Python with `venv`, and pip must be able to fetch {PACKAGES:?}"
    );
}

/// The text between the marks of `SOURCE` in a file of Python.
fn source_of(script: &Path) -> String {
    let text = std::fs::read_to_string(script).expect("the script");
    let text = text.split_once("SOURCE = \"\"\"").and_then(|(_, rest)| rest.split_once("\"\"\"")).expect("a source");
    text.0.to_string()
}

#[test]
fn a_module_that_was_built_needs_no_ravel() {
    let target = ravel().canonicalize().expect("the binary exists");
    let Some(venv) = environment(target.ancestors().nth(2).expect("target")) else {
        left_out();
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let script = repository().join("python/tests/built.py");
    std::fs::write(folder.path().join("m.sac"), source_of(&script)).expect("written");
    let build = |output: &str| {
        let mut command = Command::new(ravel());
        command.args(["build", "--python", "m.sac", "-o", output]).current_dir(folder.path());
        command
    };
    let wheel = run(&mut build("m"), "a C compiler is needed");
    let first = std::fs::read(folder.path().join(wheel.trim())).expect("the wheel");
    assert_eq!(run(&mut build("m.whl"), ""), wheel);
    assert!(first == std::fs::read(folder.path().join(wheel.trim())).expect("the wheel"), "two builds differ");
    // Installed where the package `ravel` is not to be seen.
    let place = folder.path().join("place");
    let mut pip = Command::new(venv.join("bin/python"));
    pip.args(["-m", "pip", "-q", "install", "--no-deps", "--no-index", "--target"]).arg(&place).arg(wheel.trim());
    run(pip.current_dir(folder.path()), "");
    let stubs = std::fs::read_to_string(place.join("m/__init__.pyi")).expect("the stubs");
    let head = "@overload\ndef conv(a: NDArray[np.float32], w: NDArray[np.float32]) -> NDArray[np.float32]:\n    \"\"\"float[.,.] conv(float[.,.] a, float[.,.] w)\"\"\"\n";
    assert!(stubs.contains(head), "{stubs}");
    let mut check = Command::new(venv.join("bin/python"));
    check.arg(&script).env("PYTHONPATH", &place).env("PYTHONDONTWRITEBYTECODE", "1").env("PATH", "/nowhere");
    assert_eq!(run(&mut check, ""), "all is well\n");

    let files = || std::fs::read_dir(folder.path()).expect("the folder").count();
    let before = files();
    for (output, words) in
        [("class", "which is no name of a module"), ("m-x", "is no version"), ("no/such/m", "cannot write")]
    {
        let refused = build(output).output().expect("it runs");
        let text = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(1) && text.contains(words), "{text}");
    }
    std::fs::write(folder.path().join("m.sac"), "module m; export all;\nint f(int x) { return x + ; }\n")
        .expect("written");
    let refused = build("m-2.0").output().expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(files(), before, "files were left");
}

#[test]
fn the_wheel_works_in_a_fresh_environment() {
    let root = repository();
    let built = ravel().canonicalize().expect("the binary exists");
    let release = built.parent().expect("it lies in a folder");
    assert!(
        release.join("libravel.so").is_file(),
        "libravel.so is not beside {}: cargo build --release -p ravel-cli -p ravel-capi",
        built.display()
    );
    let Some(venv) = environment(release.parent().expect("target")) else {
        left_out();
        return;
    };
    let python = venv.join("bin/python");
    let out = tempfile::tempdir().expect("a folder");
    let script = root.join("python/build_wheel.py");
    let wheel = run(Command::new(&python).arg(script).arg("--target").arg(release).arg("--out").arg(out.path()), "");
    let pip = |arguments: &[&str]| run(Command::new(&python).args(["-m", "pip", "-q"]).args(arguments), "");
    pip(&["install", "--no-deps", "--no-index", "--force-reinstall", wheel.trim()]);
    let installed = venv.join("bin/ravel");
    // Nothing but the wheel is to be found.
    let alone = |program: &Path| {
        let mut command = Command::new(program);
        for name in ["RAVEL_BIN", "RAVEL_LIBRARY", "RAVEL_RUNTIME", "PYTHONPATH"] {
            command.env_remove(name);
        }
        command.current_dir(out.path());
        command
    };
    assert!(run(alone(&installed).arg("--version"), "").starts_with("ravel "));
    std::fs::write(out.path().join("hello.sac"), "use StdIO: all;\nint main() { printf(\"hello\\n\"); return 0; }\n")
        .expect("written");
    run(alone(&installed).args(["build", "hello.sac", "-o", "hello"]), "a C compiler is needed");
    assert_eq!(run(&mut alone(&out.path().join("hello")), ""), "hello\n");
    let tests = root.join("python/tests");
    // The caches of pytest and of Python stay out of the sources.
    let pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"];
    run(alone(&python).args(pytest).arg(tests).env("PYTHONDONTWRITEBYTECODE", "1"), "");
}
