//! Runs a program of WIR text both ways.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests print where they are asked to")]

use std::sync::{Arc, Mutex, PoisonError};

use ravel_codegen_cranelift::{Jit, capabilities};
use ravel_interp::Val;
use ravel_runtime::{natives::table, stats, symbols};
use ravel_schedule::{Capabilities, Device, Options, Remark, schedule};
use ravel_source::FileId;
use ravel_types::{Elem, Scalar};

/// What a compiled run did.
pub struct Run {
    pub copies: i64,
    /// Objects made by the last run.
    pub allocations: i64,
    pub remarks: Vec<Remark>,
    /// With vectors of 64 bytes.
    pub wide_remarks: Vec<Remark>,
}

/// Runs share the counters of the runtime.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn scalar(elem: Elem, bits: u64) -> Scalar {
    Scalar::from_bits(elem, bits).expect("entries of these tests give numbers")
}

fn close(expected: Scalar, found: Scalar) -> bool {
    match (expected, found) {
        (Scalar::F64(x), Scalar::F64(y)) => {
            x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-11 * x.abs().max(1e-3)
        }
        (Scalar::F32(x), Scalar::F32(y)) => {
            x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-4 * x.abs().max(1e-2)
        }
        (x, y) => x == y,
    }
}

/// Checks that the compiled entry gives what the interpreter gives, with vectors and without, and that no array stays behind.
pub fn same(text: &str) -> Run {
    let module = ravel_wir::parse::parse_module(text, FileId(0)).unwrap_or_else(|e| panic!("{e}"));
    ravel_wir::verify::verify(&module).unwrap_or_else(|e| panic!("{}", e[0]));
    let entry = module.entry.expect("the text has an entry");
    let elems: Vec<Elem> = module.funcs[entry].results().iter().map(|v| module.funcs[entry].ty(*v).elem).collect();
    let expected: Vec<Scalar> = ravel_interp::run(&Arc::new(module.clone()), table::find)
        .expect("the program does not fault")
        .into_iter()
        .map(|v| match v {
            Val::Scalar(s) => s,
            other => panic!("entries of these tests give scalars, not {other:?}"),
        })
        .collect();
    let vectors = capabilities().expect("the host is supported");
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    stats::enable();
    let mut last = None;
    let mut wide_remarks = Vec::new();
    // Wider vectors than the host has take several registers, and lanes that are gathered are loaded one by one.
    let wide = Capabilities { vector_bytes: 64, has_gather: true, ..vectors };
    for (target, parallel) in [(Capabilities::SCALAR, false), (wide, false), (vectors, false), (vectors, true)] {
        let options = Options {
            unchecked: false,
            lent: false,
            parallel,
            ranks: false,
            // Small arrays stand for large ones.
            large_result: if parallel { 64 } else { ravel_schedule::LARGE_RESULT },
            profile: None,
            entry_name: "entry".to_string(),
            device: None,
            release_globals: true,
            position: &|span, name| format!("test:{} in {name}", span.start),
        };
        let (nest, remarks) = schedule(&module, &target, &options).unwrap_or_else(|e| panic!("{e}"));
        if std::env::var_os("RAVEL_SHOW_NEST").is_some() {
            eprintln!("{nest}");
        }
        if std::env::var_os("RAVEL_SHOW_REMARKS").is_some() {
            remarks.iter().for_each(|r| eprintln!("{}: {}", r.span.start, r.text));
        }
        let refused = remarks.iter().find(|r| r.text.contains("memory plan refused"));
        assert!(refused.is_none(), "{refused:?}");
        let mut jit = Jit::new(symbols::lookup).expect("the host is supported");
        jit.add(&nest).unwrap_or_else(|e| panic!("{e}\n{nest}"));
        stats::reset();
        let words = jit.call("entry", &[]).expect("the entry exists");
        let counts = stats::snapshot();
        for (k, (&expected, (&word, &elem))) in expected.iter().zip(words.iter().zip(&elems)).enumerate() {
            let found = scalar(elem, word);
            assert!(
                close(expected, found),
                "result {k}: {found:?}, the interpreter says {expected:?} ({target:?})\n{nest}"
            );
        }
        assert_eq!(counts.live, 0, "arrays left ({target:?})\n{nest}");
        if target == wide {
            wide_remarks.clone_from(&remarks);
        }
        last = Some(Run { copies: counts.copies, allocations: counts.allocations, remarks, wide_remarks: Vec::new() });
    }
    Run { wide_remarks, ..last.expect("there are four runs") }
}

/// The nest of a program of WIR text for one thread of this target, and what was said of its with-loops.
pub fn scheduled(text: &str, target: Capabilities) -> (ravel_nest::ir::Module, Vec<Remark>) {
    lowered(text, target, For::Thread)
}

/// The nest of a program for threads of this target.
pub fn nest_for_threads_of(text: &str, target: Capabilities) -> ravel_nest::ir::Module {
    lowered(text, target, For::Threads).0
}

/// The nest of a program for threads of ranks that have arrays in rows.
pub fn for_ranks(text: &str) -> String {
    let host = capabilities().expect("the host is supported");
    lowered(text, host, For::Ranks).0.to_string()
}

/// The nest of a program for threads and vectors of 64 bytes.
pub fn nest_for_threads(text: &str) -> ravel_nest::ir::Module {
    let host = capabilities().expect("the host is supported");
    nest_for_threads_of(text, Capabilities { vector_bytes: 64, ..host })
}

/// The same as text.
pub fn for_threads(text: &str) -> String {
    nest_for_threads(text).to_string()
}

/// What is said of a program for threads, and for ranks.
pub fn explained_for_threads(text: &str) -> Vec<String> {
    let host = capabilities().expect("the host is supported");
    lowered(text, host, For::Ranks).1.into_iter().map(|remark| remark.text).collect()
}

/// The nest of a program for a device where a launch is worth this work, as text, and all remarks.
pub fn for_device(text: &str, launch_work: f64) -> (String, Vec<String>) {
    let (nest, remarks) = lowered(text, Capabilities::SCALAR, For::Device(Device { launch_work }));
    (nest.to_string(), remarks.into_iter().map(|r| r.text).collect())
}

/// What a program is lowered for.
#[derive(Clone, Copy)]
enum For {
    Thread,
    Threads,
    /// Threads of ranks that have arrays in rows.
    Ranks,
    /// Threads, on a machine with a device.
    Device(Device),
}

fn lowered(text: &str, target: Capabilities, on: For) -> (ravel_nest::ir::Module, Vec<Remark>) {
    let module = ravel_wir::parse::parse_module(text, FileId(0)).unwrap_or_else(|e| panic!("{e} in {text}"));
    ravel_wir::verify::verify(&module).unwrap_or_else(|e| panic!("{} in {text}", e[0]));
    let options = Options {
        unchecked: false,
        lent: false,
        parallel: !matches!(on, For::Thread),
        ranks: matches!(on, For::Ranks | For::Device(_)),
        large_result: ravel_schedule::LARGE_RESULT,
        profile: None,
        entry_name: "entry".to_string(),
        device: match on {
            For::Device(device) => Some(device),
            _ => None,
        },
        release_globals: true,
        position: &|span, name| format!("test:{} in {name}", span.start),
    };
    let (nest, remarks) = schedule(&module, &target, &options).unwrap_or_else(|e| panic!("{e}"));
    ravel_nest::verify::verify(&nest).unwrap_or_else(|e| panic!("{e:?}\n{nest}"));
    (nest, remarks)
}

/// Five iterations in a loop over `%a: f64[9,20]` from 0, 1, 2, ...; `body` makes `%b` from `%a` and the number of the iteration, `%k`.
pub fn rounds(body: &str) -> Run {
    same(&format!(
        r#"
entry @f0
func @f0 "main" () -> (f64) {{
  %start: f64[9,20] = with {{
    part [0, 0] <= [%i0, %j0] < [9, 20] {{ %p0: i32 = mul %i0, 20 %q0: i32 = add %p0, %j0 %x0: f64 = convert %q0 yield %x0 }}
  }} genarray [9, 20] cell []
  %r: f64[9,20], %rounds: i32 = loop (%a: f64[9,20] = %start, %k: i32 = 0) {{
{body}
    %next: i32 = add %k, 1
    %again: bool = lt %next, 5
    yield %again, %b, %next
  }}
  %t: f64 = with {{
    part [0, 0] <= [%i9, %j9] < [9, 20] {{ %y9: f64 = sel %r, [%i9, %j9] %w9: f64 = convert %j9 %z9: f64 = mul %y9, %w9 yield %z9 }}
  }} fold add neutral 0.0
  yield %t
}}
"#
    ))
}
