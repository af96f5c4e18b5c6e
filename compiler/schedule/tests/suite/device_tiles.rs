//! Tiles on a device: which folds get them.

use ravel_schedule::{Capabilities, Device, Options, Tiles, schedule_tuned};
use ravel_source::FileId;

/// The remarks on a program of one with-loop over `%a` and `%b`, with parameters for what varies, and the scheduled text.
fn scheduled(a: &str, b: &str, with: &str, result: &str) -> (Vec<String>, String) {
    tuned(a, b, with, result, Tiles::Usual)
}

/// The same if tuning has this to say.
fn tuned(a: &str, b: &str, with: &str, result: &str, tiles: Tiles) -> (Vec<String>, String) {
    let text = format!("entry @f0 func @f0 \"main\" (%a: {a}, %b: {b}) -> ({result}) {{ {with} yield %c }}");
    let module = ravel_wir::parse::parse_module(&text, FileId(0)).unwrap_or_else(|e| panic!("{e} in {text}"));
    ravel_wir::verify::verify(&module).unwrap_or_else(|e| panic!("{} in {text}", e[0]));
    let options = Options {
        unchecked: false,
        lent: false,
        parallel: true,
        ranks: false,
        large_result: ravel_schedule::LARGE_RESULT,
        profile: None,
        entry_name: "entry".to_string(),
        device: Some(Device { launch_work: 1e5 }),
        release_globals: true,
        position: &|_, _| String::new(),
    };
    let target = Capabilities {
        vector_bytes: 16,
        vector_registers: 16,
        has_fma: true,
        fma_takes_factor: false,
        has_gather: false,
        ..Capabilities::SCALAR
    };
    let (nest, remarks) = schedule_tuned(&module, &target, &options, &|_| tiles).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(ravel_nest::verify::verify(&nest), Ok(()));
    (remarks.into_iter().map(|r| r.text).collect(), nest.to_string())
}

/// A product of the rows of two matrices.
fn product(m: usize, n: usize, k: usize) -> (Vec<String>, String) {
    tuned_product(m, n, k, Tiles::Usual)
}

fn tuned_product(m: usize, n: usize, k: usize, tiles: Tiles) -> (Vec<String>, String) {
    let (a, b) = (format!("f32[{m},{k}]"), format!("f32[{n},{k}]"));
    let with = format!(
        "%c: f32[{m},{n}] = with {{ part [0, 0] <= [%i, %j] < [{m}, {n}] {{
           %s: f32 = with {{ part [0] <= [%p] < [{k}] {{
             %x: f32 = sel %a, [%i, %p] %y: f32 = sel %b, [%j, %p] %z: f32 = mul %x, %y yield %z
           }} }} fold add neutral 0.0:f32
           yield %s }} }} genarray [{m}, {n}] cell []"
    );
    tuned(&a, &b, &with, &format!("f32[{m},{n}]"), tiles)
}

#[test]
fn all_tiles_are_there_while_a_program_is_tuned() {
    let (_, text) = tuned_product(1024, 1024, 512, Tiles::All);
    assert!(text.contains("ravel_device_variant\"") && text.contains("ravel_device_variant_done"), "{text}");
    // Four sizes of tiles, and a work-item per cell.
    assert_eq!(text.matches("launch (").count(), 5, "{text}");
}

#[test]
fn the_tiles_that_were_the_fastest_are_the_only_ones() {
    let only = |number, of| tuned_product(1024, 1024, 512, Tiles::Only { number, of });
    let (remarks, text) = only(0, 5);
    assert!(has(&remarks, "tiles of 128 x 128 cells, 8 x 8") && !text.contains("ravel_device_variant"), "{remarks:?}");
    let (remarks, text) = only(4, 5);
    assert!(has(&remarks, "a work-item per cell was faster") && !text.contains("barrier"), "{remarks:?}");
    // A number that is not there, and one among other choices than these.
    for (number, of) in [(5, 5), (900, 5), (0, 4), (4, 6)] {
        assert_eq!(only(number, of), product(1024, 1024, 512));
    }
}

fn has(remarks: &[String], wanted: &str) -> bool {
    remarks.iter().any(|r| r.contains(wanted))
}

#[test]
fn products_run_in_tiles_as_large_as_leave_work_for_all_units() {
    for (extent, wanted) in
        [(4096, "tiles of 128 x 128 cells, 8 x 8"), (1024, "tiles of 128 x 64 cells, 8 x 4"), (256, "tiles of 32 x 32")]
    {
        let (remarks, text) = product(extent, extent, 512);
        assert!(has(&remarks, wanted), "{extent}: {remarks:?}");
        assert!(text.contains("barrier") && text.contains("local_slot"), "{text}");
    }
}

#[test]
fn narrow_products_and_short_folds_have_no_tiles() {
    for (m, n, k) in [(100_000, 8, 64), (4096, 4096, 5)] {
        let (remarks, text) = product(m, n, k);
        assert!(has(&remarks, "no tiles: ") && !text.contains("barrier"), "{remarks:?}");
    }
}

#[test]
fn sums_of_rows_have_no_tiles() {
    let (remarks, text) = scheduled(
        "f32[4096,4096]",
        "f32[4096]",
        "%c: f32[4096] = with { part [0] <= [%i] < [4096] {
           %s: f32 = with { part [0] <= [%p] < [4096] {
             %x: f32 = sel %a, [%i, %p] %y: f32 = sel %b, [%p] %z: f32 = mul %x, %y yield %z
           } } fold add neutral 0.0:f32
           yield %s } } genarray [4096] cell []",
        "f32[4096]",
    );
    assert!(has(&remarks, "a group of 256 work-items per cell") && !has(&remarks, "tiles of"), "{remarks:?}");
    assert!(text.contains("local (256)"), "{text}");
}

#[test]
fn what_all_cells_of_a_line_share_is_staged() {
    let (remarks, text) = scheduled(
        "f32[65536]",
        "f32[65536]",
        "%c: f32[65536] = with { part [0] <= [%i] < [65536] {
           %s: f32 = with { part [0] <= [%p] < [65536] {
             %x: f32 = sel %a, [%i] %y: f32 = sel %b, [%p] %d: f32 = sub %y, %x %z: f32 = mul %d, %d yield %z
           } } fold add neutral 0.0:f32
           yield %s } } genarray [65536] cell []",
        "f32[65536]",
    );
    let wanted = "tiles of 256 cells, 2 per work-item, 2 work-items share a fold, 256 indices";
    assert!(has(&remarks, wanted) && text.contains("barrier"), "{remarks:?}");
}

#[test]
fn many_cells_or_folds_in_order_have_a_work_item_each() {
    for (cells, op) in [(4 << 20, "add"), (65536, "sub")] {
        let (remarks, _) = scheduled(
            &format!("f32[{cells}]"),
            "f32[65536]",
            &format!(
                "%c: f32[{cells}] = with {{ part [0] <= [%i] < [{cells}] {{
                   %s: f32 = with {{ part [0] <= [%p] < [65536] {{
                     %x: f32 = sel %a, [%i] %y: f32 = sel %b, [%p] %z: f32 = sub %y, %x yield %z
                   }} }} fold {op} neutral 0.0:f32
                   yield %s }} }} genarray [{cells}] cell []"
            ),
            &format!("f32[{cells}]"),
        );
        assert!(has(&remarks, "in tiles of") && !has(&remarks, "share a fold"), "{op}: {remarks:?}");
    }
}
