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
        // As without a device, there is nothing to test with.
        eprintln!(
            "the tests of the wheel are left out: they need Python with `venv`, and pip must be able to fetch {PACKAGES:?}"
        );
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
