//! Arrays that a loop carries from round to round and only updates: they are made writable once, before the loop.
//!
//! ```text
//!    loop (%a = %x, ...) { %s = sel %a, [%i]  ...  %b = update %a, [%i], %t  ...  yield ..., %b, ... }
//! => %x is copied if it is shared; then every iteration stores into the same object
//! ```
//!
//! Every update alone asks whether the object at hand has one reference, and loads the place of its elements again, because both
//! depend on the iteration before. For a parameter of which each iteration makes one chain of updates, and reads nothing but elements
//! before each of them, the answer is the same in all rounds: nobody else can come to hold a reference.
//! The copy, if there is one, is what the first update would have made, since the body of a loop runs at least once.

use ravel_types::Elem;
use ravel_wir::traverse::walk;
use ravel_wir::{Func, Inst, Op, Region, Value};

use crate::facts::Liveness;

/// For each parameter of the body of a loop: whether all its iterations write into one object.
pub(crate) fn updated_in_place(func: &Func, live: &Liveness, body: Region) -> Vec<bool> {
    let data = &func.regions[body];
    (0..data.params.len()).map(|k| is_updated_in_place(func, live, body, k)).collect()
}

fn is_updated_in_place(func: &Func, live: &Liveness, body: Region, k: usize) -> bool {
    let start = func.regions[body].params[k];
    let ty = func.ty(start);
    if ty.is_scalar() || ty.rank().is_none() || ty.elem == Elem::Handle {
        return false;
    }
    let mut is_written = false;
    let takes = follow(func, live, body, start, k + 1, &mut is_written);
    // All other uses read elements.
    is_written && takes.is_some_and(|takes| live.uses(start) == element_reads(func, body, start) + takes)
}

/// Follows an array through a region from update to update until the region yields it at a position. How many uses of the array that
/// it starts with take it: one in each branch that it runs into.
fn follow(
    func: &Func,
    live: &Liveness,
    region: Region,
    start: Value,
    position: usize,
    is_written: &mut bool,
) -> Option<u32> {
    let data = &func.regions[region];
    let mut current = start;
    let mut takes_of_start = None;
    loop {
        // The last use is the one that takes the array.
        let last = live.last_use(region, current)?;
        let mut takes = 1;
        let next = match data.insts.get(last).map(|inst| (&func.insts[*inst].op, &func.insts[*inst].results)) {
            None => (data.yields.get(position) == Some(&current)).then_some(None)?,
            Some((Op::Update { array, value, .. }, results)) if *array == current && *value != current => {
                *is_written = true;
                Some(results[0])
            }
            Some((Op::Loop { init, body }, results)) => {
                let j = init.iter().position(|v| *v == current)?;
                // What the loop reads is the old array, which its second iteration would not find.
                if element_reads(func, *body, current) > 0 || !is_updated_in_place(func, live, *body, j) {
                    return None;
                }
                *is_written = true;
                Some(results[j])
            }
            Some((Op::If { then, els, .. }, results)) => {
                let through = |p: &usize, is_written: &mut bool| {
                    let first = follow(func, live, *then, current, *p, is_written)?;
                    Some(first + follow(func, live, *els, current, *p, is_written)?)
                };
                let same_type = (0..results.len()).filter(|p| func.ty(results[*p]) == func.ty(current));
                let (p, sum) = same_type.filter_map(|p| Some((p, through(&p, is_written)?))).next()?;
                takes = sum;
                Some(results[p])
            }
            Some(_) => return None,
        };
        if current != start && live.uses(current) != element_reads(func, region, current) + takes {
            return None;
        }
        takes_of_start.get_or_insert(takes);
        let Some(next) = next else { return takes_of_start };
        current = next;
    }
}

/// How many instructions in the region, or below it, read an element or the extent of the array.
pub(crate) fn element_reads(func: &Func, region: Region, array: Value) -> u32 {
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
        let mut bodies = func.regions[func.body].insts.iter().filter_map(|inst| match &func.insts[*inst].op {
            Op::Loop { body, .. } => Some(*body),
            _ => None,
        });
        let body = bodies.next_back().expect("the text has a loop");
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
        // The old array is read in a loop that makes the new one.
        let both = "%b: i32[9], %m: i32 = loop (%c: i32[9] = %a, %j: i32 = 0) { %s: i32 = sel %a, [%j]
            %d: i32[9] = update %c, [%j], %s %j1: i32 = add %j, 1 %more: bool = lt %j1, 9 yield %more, %d, %j1 }";
        assert_eq!(found(both, "%b"), [false, false]);
        // Another array comes back.
        assert_eq!(found("%b: i32[9] = update %a, [%i], 7", "%a"), [false, false]);
        // Somebody else may come to hold a reference.
        let kept = "%k: i32[3,3] = reshape %a, [3, 3] %s: i32 = sel %k, [0, 0] %b: i32[9] = update %a, [%i], %s";
        assert_eq!(found(kept, "%b"), [false, false]);
        // One branch makes another array.
        let other =
            "%c: bool = gt %i, 4 %b: i32[9] = if %c { %u: i32[9] = update %a, [%i], 1 yield %u } else { yield %x }";
        assert_eq!(found(other, "%b"), [false, false]);
        // The array comes back in two ways.
        let twice = "%c: bool = gt %i, 4 %b: i32[9], %d: i32[9] = if %c { %u: i32[9] = update %a, [%i], 1 yield %u, %u } else { yield %a, %a }
            %s: i32 = sel %d, [0]";
        assert_eq!(found(twice, "%b"), [false, false]);
        // It is read behind the update of a branch.
        let late =
            "%c: bool = gt %i, 4 %b: i32[9] = if %c { %u: i32[9] = update %a, [%i], 1 yield %u } else { yield %a }
            %s: i32 = sel %a, [0] %d: i32[9] = update %b, [1], %s";
        assert_eq!(found(late, "%d"), [false, false]);
    }

    #[test]
    fn branches_are_followed() {
        let some =
            "%c: bool = gt %i, 4 %b: i32[9] = if %c { %u: i32[9] = update %a, [%i], 1 yield %u } else { yield %a }";
        assert_eq!(found(some, "%b"), [true, false]);
        let swap = "%s: i32 = sel %a, [0] %c: bool = gt %s, 4 %b: i32[9], %k: i32 = if %c {
              %t: i32 = sel %a, [1] %u: i32[9] = update %a, [%i], %t %v: i32[9] = update %u, [0], %s yield %v, 1
            } else { yield %a, 0 } %w: i32[9] = update %b, [2], %k";
        assert_eq!(found(swap, "%w"), [true, false]);
    }
}
