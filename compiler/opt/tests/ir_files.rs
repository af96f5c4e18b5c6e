//! Runs every file under `tests/ir`: passes on text.
//!
//! ```text
//! //! about: what it shows
//! //! passes: simplify, dce            (or `full` for the whole pipeline, `eager` for it without cost models)
//! ==== input
//! func @f0 ...
//! ==== expect count: with = 1, check = 0
//! ==== expect unchanged
//! ==== expect
//! exact text
//! ```
//! `RAVEL_BLESS=1` rewrites exact text, and nothing else passes by it; `RAVEL_IR=folder` runs the files of another folder. The first function of every file also runs in the reference interpreter, before and after
//! the passes, on made-up arguments: the results must be the same bits.

#![expect(clippy::disallowed_methods, reason = "tests read files, and bless them")]

use ravel_interp::{Arr, RunError, Val, run_func};
use ravel_opt::{Level, optimize, run_passes, stats};
use ravel_source::FileId;
use ravel_types::{Elem, Scalar, Ty};
use ravel_wir::parse::parse_module;
use ravel_wir::print::print_module;
use ravel_wir::verify::verify;
use ravel_wir::{FuncId, Module};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(dir).expect("the test folder").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "wir") {
            found.push(path);
        }
    }
}

/// What is wrong with a file; if that is its exact text alone and `bless` is set, its text with a new one.
fn run(text: &str, bless: bool) -> Result<String, String> {
    let mut sections = text.split("\n==== ");
    let head = sections.next().unwrap_or_default();
    let passes = head.lines().find_map(|l| l.strip_prefix("//! passes:")).ok_or("no `passes:` line")?;
    let passes: Vec<&str> = passes.split(',').map(str::trim).filter(|p| !p.is_empty()).collect();
    let input = sections.next().and_then(|s| s.strip_prefix("input\n")).ok_or("no input section")?;
    let module = parse_module(input, FileId(0)).map_err(|e| format!("input: {e}"))?;
    let before = print_module(&module);
    let original = Arc::new(module.clone());
    let result = match passes[..] {
        ["full"] => optimize(module, Level::Full),
        ["eager"] => optimize(module, Level::Eager),
        _ => run_passes(module, &passes),
    };
    let (module, remarks) = result.map_err(|e| e.to_string())?;
    // The passes verify what they leave behind in debug builds only.
    verify(&module).map_err(|errors| format!("ill-formed result: {errors:?}"))?;
    let after = print_module(&module);
    let mut blessed = format!("{head}\n==== input\n{input}");
    let mut problems = Vec::new();
    problems.extend(difference(&original, &Arc::new(module.clone())));
    for section in sections {
        blessed.push_str("\n==== ");
        let (title, body) = section.split_once('\n').unwrap_or((section, ""));
        if title == "expect" {
            blessed.push_str("expect\n");
            blessed.push_str(&after);
            if !bless && body.trim_end() != after.trim_end() {
                problems.push(format!("expected\n{body}\nfound\n{after}"));
            }
            continue;
        }
        blessed.push_str(section);
        if title == "expect unchanged" {
            if before != after {
                problems.push(format!("changed\n{before}\nto\n{after}"));
            }
        } else if let Some(counts) = title.strip_prefix("expect count:") {
            for count in counts.split(',') {
                let (name, number) = count.split_once('=').ok_or("a count is `name = number`")?;
                let found = stats(&module).get(name.trim()).ok_or_else(|| format!("nothing is called {name}"))?;
                if number.trim().parse() != Ok(found) {
                    problems.push(format!("expected {count}, found {found} in\n{after}"));
                }
            }
        } else if let Some(words) = title.strip_prefix("expect remark:") {
            if !remarks.iter().any(|r| format!("{:?}", r.outcome).contains(words.trim())) {
                problems.push(format!("no remark says `{}`: {remarks:?}", words.trim()));
            }
        } else {
            problems.push(format!("unknown section `{title}`"));
        }
    }
    if problems.is_empty() { Ok(blessed) } else { Err(problems.join("\n")) }
}

/// How the first functions of two modules differ in what they compute.
fn difference(before: &Arc<Module>, after: &Arc<Module>) -> Option<String> {
    for seed in 0..3 {
        let args: Vec<Val> =
            first(before).params().iter().map(|v| argument(first(before).ty(*v), seed)).collect::<Option<_>>()?;
        let outcome =
            |m: &Arc<Module>| run_func(m, ravel_runtime::natives::table::find, FuncId::from_u32(0), args.clone());
        match (outcome(before), outcome(after)) {
            (Ok(x), Ok(y)) if x == y => {}
            (Err(RunError::Fault(_)), Err(RunError::Fault(_))) => {}
            // The input leans on checks that are not part of it, or calls functions that do not exist.
            (Err(RunError::Internal { .. } | RunError::NoSuchNative { .. }), _) => {}
            (x, y) => return Some(format!("with seed {seed} it computed {x:?} and now computes {y:?}")),
        }
    }
    None
}

fn first(module: &Module) -> &ravel_wir::Func {
    &module.funcs[FuncId::from_u32(0)]
}

/// A value of the type; symbols are small numbers that depend on the seed. Nothing for handles.
fn argument(ty: &Ty, seed: i32) -> Option<Val> {
    let symbol = |s: ravel_types::Sym| 6 + (s.0 as i32 * 3 + seed) % 5;
    let shape: Vec<i64> = match ty.shape.extents() {
        Some(extents) => extents.iter().map(|e| i64::from(e.eval(symbol).max(0))).collect(),
        None => vec![3, 4],
    };
    let count: i64 = shape.iter().product();
    let number = |i: i64| match ty.elem {
        // Quarters: sums and products are exact, in whatever order a fold takes them.
        Elem::F64 => Some(Scalar::F64(((i * 7 + i64::from(seed)) % 64) as f64 * 0.25 - 1.5)),
        Elem::F32 => Some(Scalar::F32(((i * 7 + i64::from(seed)) % 64) as f32 * 0.25 - 1.5)),
        elem => Scalar::from_i64(elem, (i * 5 + i64::from(seed) * 3 + 1) % 11),
    };
    if ty.is_scalar() {
        return number(0).map(Val::Scalar);
    }
    let values: Vec<Scalar> = (0..count).map(number).collect::<Option<_>>()?;
    Some(Val::Array(Arc::new(Arr::from_scalars(ty.elem, shape, &values))))
}

#[test]
fn ir_files() {
    let root = std::env::var_os("RAVEL_IR").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir"));
    let mut found = Vec::new();
    files(&root, &mut found);
    assert!(!found.is_empty(), "no files under tests/ir");
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(path) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(problem) = file(path) {
                        failures.lock().expect("no thread panicked").push(format!("{}:\n{problem}", path.display()));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no thread panicked");
    failures.sort();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Runs a file, and rewrites it if that is wanted. What panics is a failure of this file.
fn file(path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).expect("a readable file");
    let bless = std::env::var_os("RAVEL_BLESS").is_some();
    let blessed =
        std::panic::catch_unwind(|| run(&text, bless)).map_err(|_| "it panicked; see above".to_string())??;
    if bless && blessed != text {
        fs::write(path, blessed).expect("a writable file");
    }
    Ok(())
}

/// Blessing mends the exact text, and hides neither another result nor another expectation.
#[test]
fn blessing_mends_the_exact_text_alone() {
    let input =
        "//! passes: dce\n==== input\nfunc @f0 \"f\" (%v0: i32) -> (i32) {\n  %v1: i32 = add %v0, 1\n  yield %v1\n}\n";
    let exact = format!("{input}\n==== expect\nsomething else");
    assert!(run(&exact, false).is_err());
    let blessed = run(&exact, true).expect("the exact text is written anew");
    assert_eq!(run(&blessed, false), Ok(blessed.clone()));
    for expected in ["expect count: add = 7", "expect remark: nothing says this", "expect nonsense"] {
        let text = format!("{input}\n==== {expected}\n");
        assert!(run(&text, true).is_err(), "{expected}");
    }
    let unused = input.replace("  yield", "  %v2: i32 = add %v0, 2\n  yield");
    assert!(run(&format!("{unused}\n==== expect unchanged\n"), true).is_err());
}
