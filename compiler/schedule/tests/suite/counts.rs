//! Who counts references to arrays that threads share: functions that bodies of parallel loops call, and what they do with what they capture.

use crate::common::{nest_for_threads, same};
use ravel_nest::ir::{FuncId, Module, Op, Region, Sharing};
use ravel_nest::verify::verify;

/// A parallel loop, whose body calls `@f1` with two captured arrays and the index. Sequential code calls it, too.
fn program(functions: &str) -> String {
    format!(
        "entry @f0
         func @f0 \"main\" () -> (i64, i32) {{
           %a: i32[9] = with {{ part [0] <= [%i] < [9] {{ %x: i32 = mul %i, 3 yield %x }} }} genarray [9] cell []
           %b: i32[9] = with {{ part [0] <= [%j] < [9] {{ %y: i32 = add %j, 5 yield %y }} }} genarray [9] cell []
           %t: i64 = with {{ part [0] <= [%k] < [20000] {{
             %s: i32 = call @f1(%a, %b, %k) %w: i64 = convert %s yield %w
           }} }} fold add neutral 0:i64
           %last: i32 = call @f1(%a, %b, 3)
           yield %t, %last
         }}
         {functions}"
    )
}

/// The counts in a function, in order, each as `inc` or `dec` and who else counts.
fn counts(module: &Module, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let func = module.funcs.values().find(|func| func.name == name).unwrap_or_else(|| panic!("no {name} in\n{module}"));
    each(&func.body, &mut |op| match op {
        Op::RcInc(_, sharing) => found.push(format!("inc {sharing:?}")),
        Op::RcDec(_, sharing) => found.push(format!("dec {sharing:?}")),
        _ => {}
    });
    found
}

fn each(region: &Region, visit: &mut impl FnMut(&Op)) {
    for inst in &region.insts {
        visit(&inst.op);
        inst.op.regions().into_iter().for_each(|nested| each(nested, visit));
    }
}

fn each_mut(region: &mut Region, visit: &mut impl FnMut(&mut Op)) {
    for inst in &mut region.insts {
        visit(&mut inst.op);
        match &mut inst.op {
            Op::If { then_region, else_region, .. } => {
                each_mut(then_region, visit);
                each_mut(else_region, visit);
            }
            Op::For { body, .. } | Op::Loop { body, .. } | Op::ParFor { body, .. } => each_mut(body, visit),
            _ => {}
        }
    }
}

const READS: &str = "func @f1 \"f\" (%a: i32[9], %b: i32[9], %k: i32) -> (i32) {
    %c: bool = gt %k, 2 %r: i32 = if %c { %m: i32 = div %k, 2 %x: i32 = call @f1(%b, %a, %m) yield %x } else { %y: i32 = sel %a, [%k] yield %y }
    yield %r }";

const PICKS: &str = "func @f1 \"f\" (%a: i32[9], %b: i32[9], %k: i32) -> (i32) {
    %p: i32[9] = call @f2(%a, %b, %k) %m: i32 = mod %k, 9 %x: i32 = sel %p, [%m] yield %x }
  func @f2 \"pick\" (%a: i32[9], %b: i32[9], %k: i32) -> (i32[9]) {
    %m: i32 = mod %k, 2 %c: bool = eq %m, 0 %r: i32[9] = if %c { yield %a } else { yield %b } yield %r }";

const SOMETIMES: &str = "func @f1 \"f\" (%a: i32[9], %b: i32[9], %k: i32) -> (i32) {
    %p: i32[9] = call @f2(%a, %k) %m: i32 = mod %k, 9 %x: i32 = sel %p, [%m] %y: i32 = sel %b, [%m] %z: i32 = add %x, %y yield %z }
  func @f2 \"sometimes\" (%a: i32[9], %k: i32) -> (i32[9]) {
    %m: i32 = mod %k, 2 %c: bool = eq %m, 0 %r: i32[9] = if %c { yield %a } else {
      %n: i32 = mod %k, 9 %u: i32[9] = with { part [0] <= [%i] < [9] { %s: i32 = sel %a, [%i] %t: i32 = add %s, %n yield %t } } genarray [9] cell [] yield %u }
    yield %r }";

const CHANGES: &str = "func @f1 \"f\" (%a: i32[9], %b: i32[9], %k: i32) -> (i32) {
    %m: i32 = mod %k, 9 %p: i32[9] = call @f2(%a, %m) %q: i32[9] = call @f2(%p, 4)
    %x: i32 = sel %q, [%m] %y: i32 = sel %a, [%m] %z: i32 = sel %b, [4] %s: i32 = add %x, %y %t: i32 = add %s, %z yield %t }
  func @f2 \"change\" (%a: i32[9], %m: i32) -> (i32[9]) { %x: i32 = sel %a, [%m] %y: i32 = add %x, 1 %u: i32[9] = update %a, [%m], %y yield %u }";

#[test]
fn what_is_read_is_lent_and_not_counted() {
    let module = nest_for_threads(&program(READS));
    assert_eq!(counts(&module, "sac_f_1_threads"), Vec::<String>::new());
    assert!(!counts(&module, "sac_f_1").is_empty(), "sequential code gives references away as before\n{module}");
    same(&program(READS));
}

#[test]
fn what_is_handed_back_is_borrowed() {
    let module = nest_for_threads(&program(PICKS));
    assert_eq!(counts(&module, "sac_pick_2_threads"), Vec::<String>::new());
    assert_eq!(counts(&module, "sac_f_1_threads"), Vec::<String>::new());
    same(&program(PICKS));
}

#[test]
fn what_may_be_new_is_counted() {
    let module = nest_for_threads(&program(SOMETIMES));
    // The branch that hands the parameter back adds a reference; the other one copies without.
    assert_eq!(counts(&module, "sac_sometimes_2_threads"), ["inc Atomic"]);
    assert_eq!(counts(&module, "sac_f_1_threads"), ["dec Atomic"]);
    same(&program(SOMETIMES));
}

#[test]
fn branches_in_bodies_borrow_what_these_capture() {
    let text = "entry @f0
         func @f0 \"main\" () -> (i32) {
           %a: i32[9] = with { part [0] <= [%i] < [9] { %x: i32 = mul %i, 3 yield %x } } genarray [9] cell []
           %b: i32[9] = with { part [0] <= [%j] < [9] { %y: i32 = add %j, 5 yield %y } } genarray [9] cell []
           %t: i32 = with { part [0] <= [%k] < [20000] {
             %m: i32 = mod %k, 2 %c: bool = eq %m, 0
             %r: i32[9] = if %c { yield %a } else { %d: bool = lt %k, 77 %q: i32[9] = if %d { yield %b } else { yield %a } yield %q }
             %n: i32 = mod %k, 9 %s: i32 = sel %r, [%n]
             %u: i32[9] = if %c { yield %r } else { %w: i32[9] = update %r, [%n], %k yield %w }
             %v: i32 = sel %u, [%n] %z: i32 = sub %s, %v yield %z
           } } fold add neutral 0
           %e: i32[9] = update %a, [4], 1 %f: i32 = sel %e, [4] %g: i32 = sel %b, [4] %h: i32 = add %f, %g %l: i32 = add %h, %t
           yield %l
         }";
    let module = nest_for_threads(text);
    let found = counts(&module, "sac_main_0");
    // Of the branches only the one that makes something new counts, and gives up; at the end both arrays go.
    let atomic = found.iter().filter(|count| count.ends_with("Atomic")).count();
    assert_eq!(atomic, 2, "{found:?}\n{module}");
    same(text);
}

#[test]
fn what_is_changed_is_given_and_what_is_ones_own_changes_in_place() {
    let module = nest_for_threads(&program(CHANGES));
    let caller = counts(&module, "sac_f_1_threads");
    assert_eq!(caller.iter().filter(|count| *count == "inc Atomic").count(), 1, "{caller:?}");
    let run = same(&program(CHANGES));
    // The captured array is copied in every call, the copy never.
    assert_eq!(run.copies, 20_001);
}

#[test]
fn every_plain_count_in_their_place_is_refused() {
    for functions in [READS, PICKS, SOMETIMES, CHANGES] {
        let module = nest_for_threads(&program(functions));
        let atomic = |module: &mut Module, change: Option<usize>| {
            let mut number = 0;
            for func in module.funcs.values_mut() {
                each_mut(&mut func.body, &mut |op| {
                    if let Op::RcInc(_, sharing) | Op::RcDec(_, sharing) = op
                        && *sharing == Sharing::Atomic
                    {
                        if Some(number) == change {
                            *sharing = Sharing::Plain;
                        }
                        number += 1;
                    }
                });
            }
            number
        };
        for n in 0..atomic(&mut module.clone(), None) {
            let mut mutated = module.clone();
            atomic(&mut mutated, Some(n));
            let refused = verify(&mutated).err().unwrap_or_else(|| panic!("count {n} may be plain in\n{mutated}"));
            assert!(refused[0].rule.contains("several threads"), "{}", refused[0]);
        }
    }
}

#[test]
fn calls_of_the_sequential_version_are_refused() {
    // What lowering did once: one version of each function, with plain counts, for all callers.
    for functions in [READS, PICKS, SOMETIMES, CHANGES] {
        let mut module = nest_for_threads(&program(functions));
        let id = |name: &str| -> FuncId { module.find(name).unwrap_or_else(|| panic!("no {name} in\n{module}")) };
        let (sequential, threads) = (id("sac_f_1"), id("sac_f_1_threads"));
        let main = id("sac_main_0");
        each_mut(&mut module.funcs[main].body, &mut |op| {
            if let Op::Call(callee, _) = op
                && *callee == threads
            {
                *callee = sequential;
            }
        });
        let refused = verify(&module).expect_err("a parallel loop calls what counts plainly");
        assert!(refused[0].rule.contains("several threads"), "{}", refused[0]);
    }
}

#[test]
fn functions_without_objects_have_one_version() {
    let module = nest_for_threads(
        "entry @f0
         func @f0 \"main\" () -> (i64) {
           %t: i64 = with { part [0] <= [%k] < [20000] { %s: i32 = call @f1(%k) %w: i64 = convert %s yield %w } } fold add neutral 0:i64
           yield %t
         }
         func @f1 \"f\" (%k: i32) -> (i32) {
           %c: bool = gt %k, 2 %r: i32 = if %c { %m: i32 = div %k, 2 %x: i32 = call @f1(%m) yield %x } else { yield %k } yield %r }
         func @f2 \"nobody\" (%k: i32) -> (i32) { yield %k }",
    );
    let names: Vec<&str> = module.funcs.values().map(|func| func.name.as_str()).collect();
    assert_eq!(names, ["sac_main_0", "sac_f_1", "entry"]);
}
