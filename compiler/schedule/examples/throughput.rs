//! Times a program of WIR text: `throughput FILE [GIGA-OPERATIONS [nest|clif|asm]]`. With a number of operations it prints their rate.

#![expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a program of its own")]

use std::time::Instant;

use ravel_codegen_cranelift::{Jit, capabilities, emit_asm, emit_clif};
use ravel_runtime::symbols;
use ravel_schedule::{Options, schedule};
use ravel_source::FileId;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let file = args.get(1).ok_or("a file of WIR text is wanted")?;
    let text = std::fs::read_to_string(file)?;
    let module = ravel_wir::parse::parse_module(&text, FileId(0))?;
    ravel_wir::verify::verify(&module).map_err(|errors| errors[0].to_string())?;
    let target = capabilities()?;
    let options = Options {
        unchecked: false,
        lent: false,
        parallel: false,
        ranks: false,
        large_result: ravel_schedule::LARGE_RESULT,
        profile: None,
        entry_name: "entry".to_string(),
        device: None,
        release_globals: true,
        position: &|span, name| format!("{} in {name}", span.start),
    };
    let (nest, remarks) = schedule(&module, &target, &options)?;
    for remark in &remarks {
        let line = text[..remark.span.start as usize].lines().count();
        eprintln!("line {line}: {}", remark.text);
    }
    match args.get(3).map(String::as_str) {
        Some("nest") => println!("{nest}"),
        Some("clif") => println!("{}", emit_clif(&nest)?),
        Some("asm") => println!("{}", emit_asm(&nest)?),
        _ => {}
    }
    let mut jit = Jit::new(symbols::lookup)?;
    let start = Instant::now();
    jit.add(&nest)?;
    eprintln!("compiled in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    for _ in 0..3 {
        let start = processor_seconds()?;
        let words = jit.call("entry", &[])?;
        let seconds = processor_seconds()? - start;
        eprint!("{seconds:.4} s, results {words:x?}");
        match args.get(2).and_then(|n| n.parse::<f64>().ok()) {
            Some(giga) => eprintln!(", {:.2} giga per second", giga / seconds),
            None => eprintln!(),
        }
    }
    Ok(())
}

/// Time that this process has run on a processor; on a busy machine it says more than the clock.
fn processor_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().ok_or("schedstat is empty")?.parse()?;
    Ok(nanoseconds / 1e9)
}
