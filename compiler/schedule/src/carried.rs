//! Arrays that a loop carries from round to round and only updates: they are made writable once, before the loop.
//!
//! ```text
//!    loop (%a = %x, ...) { %s = sel %a, [%i]  ...  %b = update %a, [%i], %t  ...  yield ..., %b, ... }
//! => %x is copied if it is shared; then every round stores into the same object
//! ```
//!
//! Every update alone asks whether the object at hand has one reference, and loads the place of its elements again, because both
//! depend on the round before. For a parameter of which each round makes one chain of updates, and reads nothing but elements
//! before each of them, the answer is the same in all rounds: nobody else can come to hold a reference.
//! The copy, if there is one, is what the first update would have made, since the body of a loop runs at least once.

use ravel_types::Elem;
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Inst, Op, Region, Value};

use crate::liveness::Liveness;

/// For each parameter of the body of a loop: whether all its rounds write into one object.
pub(crate) fn updated_in_place(func: &Func, live: &Liveness, body: Region) -> Vec<bool> {
    let data = &func.regions[body];
    (0..data.params.len()).map(|k| is_updated_in_place(func, live, body, k)).collect()
}

fn is_updated_in_place(func: &Func, live: &Liveness, body: Region, k: usize) -> bool {
    let data = &func.regions[body];
    let mut current = data.params[k];
    let ty = func.ty(current);
    if ty.is_scalar() || ty.rank().is_none() || ty.elem == Elem::Handle {
        return false;
    }
    let mut is_written = false;
    loop {
        let Some(last) = live.last_use(body, current) else { return false };
        let reads = element_reads(func, body, current);
        // The last use is the one that takes the array, and all others read elements.
        if live.uses(current) != reads + 1 {
            return false;
        }
        let Some(&inst) = data.insts.get(last) else {
            return is_written && data.yields.get(k + 1) == Some(&current);
        };
        current = match &func.insts[inst].op {
            Op::Update { array, value, .. } if *array == current && *value != current => func.insts[inst].results[0],
            Op::Loop { init, body: inner } => {
                let Some(j) = init.iter().position(|v| *v == current) else { return false };
                if !is_updated_in_place(func, live, *inner, j) {
                    return false;
                }
                func.insts[inst].results[j]
            }
            _ => return false,
        };
        is_written = true;
    }
}

/// How many instructions in the region, or below it, read an element or the extent of the array.
fn element_reads(func: &Func, region: Region, array: Value) -> u32 {
    let mut reads = 0;
    walk(func, region, &mut |_, inst: Inst| {
        let is_read = match &func.insts[inst].op {
            Op::Sel { array: from, .. } => *from == array && func.ty(func.insts[inst].results[0]).is_scalar(),
            Op::Extent { array: of, .. } => *of == array,
            _ => false,
        };
        reads += u32::from(is_read);
    });
    reads
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_source::FileId;

    /// What is found for the parameters of the outermost loop of a function over `%a: i32[9]` and `%i: i32`.
    fn found(body: &str, yields: &str) -> Vec<bool> {
        let text = format!(
            "func @f0 \"f\" (%x: i32[9]) -> (i32[9]) {{
               %r: i32[9], %n: i32 = loop (%a: i32[9] = %x, %i: i32 = 0) {{
                 {body}
                 %i1: i32 = add %i, 1 %go: bool = lt %i1, 9
                 yield %go, {yields}, %i1
               }}
               yield %r
             }}"
        );
        let module = ravel_wir::parse::parse_module(&text, FileId(0)).unwrap_or_else(|e| panic!("{e}"));
        let func = module.funcs.values().next().expect("the text has a function");
        let bodies = func.regions[func.body].insts.iter().filter_map(|inst| match &func.insts[*inst].op {
            Op::Loop { body, .. } => Some(*body),
            _ => None,
        });
        let body = bodies.last().expect("the text has a loop");
        updated_in_place(func, &Liveness::of(func), body)
    }

    #[test]
    fn chains_of_updates_are_found() {
        let one = "%s: i32 = sel %a, [%i] %t: i32 = add %s, 1 %b: i32[9] = update %a, [%i], %t";
        assert_eq!(found(one, "%b"), [true, false]);
        let two = "%s: i32 = sel %a, [0] %b: i32[9] = update %a, [%i], %s %t: i32 = sel %b, [1] %c: i32[9] = update %b, [2], %t";
        assert_eq!(found(two, "%c"), [true, false]);
        let nested = "%b: i32[9], %m: i32 = loop (%c: i32[9] = %a, %j: i32 = 0) {
            %d: i32[9] = update %c, [%j], %i %j1: i32 = add %j, 1 %more: bool = lt %j1, 9 yield %more, %d, %j1 }";
        assert_eq!(found(nested, "%b"), [true, false]);
    }

    #[test]
    fn other_uses_forbid_it() {
        // Nothing is written.
        assert_eq!(found("", "%a"), [false, false]);
        // The old array is read after the update.
        let late = "%b: i32[9] = update %a, [%i], 7 %s: i32 = sel %a, [0] %c: i32[9] = update %b, [0], %s";
        assert_eq!(found(late, "%c"), [false, false]);
        // Another array comes back.
        assert_eq!(found("%b: i32[9] = update %a, [%i], 7", "%a"), [false, false]);
        // Somebody else may come to hold a reference.
        let kept = "%k: i32[3,3] = reshape %a, [3, 3] %s: i32 = sel %k, [0, 0] %b: i32[9] = update %a, [%i], %s";
        assert_eq!(found(kept, "%b"), [false, false]);
        // Only some rounds write.
        let some = "%c: bool = gt %i, 4 %b: i32[9] = if %c { %u: i32[9] = update %a, [%i], 1 yield %u } else { yield %a }";
        assert_eq!(found(some, "%b"), [false, false]);
    }
}
