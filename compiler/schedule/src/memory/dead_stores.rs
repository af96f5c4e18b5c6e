//! Arrays that are made only to be written anew: their elements are not computed.
//!
//! ```text
//!    %x = with { [0] <= [%j] < [n] { 0.0 } } genarray [n]
//!    %y = loop (%a = %x, %i = 0) { ...  %b = update %a, [%i], %v   yield %i + 1 < n, %b, ... }
//! ```
//!
//! A loop has no other way to make an array. Where it counts through all indices, writes the element at each, or the cell, and reads none, the
//! first elements are seen by nobody, and the memory is written once instead of twice. Loops in loops count through one axis each.

use ravel_types::BinOp;
use ravel_wir::traverse::walk;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Region, Value, With, WithOp};

use crate::facts::{Facts, Liveness};

impl Facts<'_> {
    /// Does the with-loop at work make an array that the next loop overwrites?
    pub fn is_overwritten(&self, inst: Inst, with: &With) -> bool {
        let Some(scope) = self.scopes.last() else { return false };
        let result = self.func.insts[inst].results.first();
        let has_place = result.is_some_and(|v| self.dests.contains_key(v));
        !has_place && is_overwritten(self.func, &self.live, scope.region, inst, with)
    }
}

fn is_overwritten(func: &Func, live: &Liveness, region: Region, inst: Inst, with: &With) -> bool {
    // Without a cell, or with generators of another rank, only running it would tell how large the array is.
    let ([WithOp::Genarray { frame: Frame::Known(frame), cell: Some(_), .. }], &[result]) =
        (&with.ops[..], &func.insts[inst].results[..])
    else {
        return false;
    };
    let Some(extents) = func.ty(result).shape.extents() else { return false };
    let known = with.parts.iter().all(|part| matches!(part.generator, Generator::Known { .. }));
    let plain = known && !with.ordered && func.ty(result).elem != ravel_types::Elem::Handle && !extents.is_empty();
    if !plain || live.uses(result) != 1 || with.parts.iter().any(|part| may_fault(func, part.body)) {
        return false;
    }
    let takes = |user: &&Inst| matches!(&func.insts[**user].op, Op::Loop { init, .. } if init.contains(&result));
    let Some(&user) = func.regions[region].insts.iter().find(takes) else { return false };
    let Op::Loop { init, body } = &func.insts[user].op else { return false };
    let position = init.iter().position(|v| *v == result);
    position.is_some_and(|k| Search { func, live, array: result, frame }.overwrites(init, *body, k, &mut Vec::new()))
}

fn may_fault(func: &Func, region: Region) -> bool {
    let mut found = false;
    walk(func, region, &mut |_, inst| {
        let op = &func.insts[inst].op;
        found |= op.is_anchored() || matches!(op, Op::Call { .. });
    });
    found
}

struct Search<'a> {
    func: &'a Func,
    live: &'a Liveness,
    /// What is overwritten, and the leading extents that it was made with.
    array: Value,
    frame: &'a [Value],
}

impl Search<'_> {
    /// Does a loop that carries the array at position `k` write all of it, at these indices along the first axes?
    fn overwrites(&self, init: &[Value], body: Region, k: usize, index: &mut Vec<Value>) -> bool {
        let (func, data) = (self.func, &self.func.regions[body]);
        let Some(counter) = self.counter(init, body, index.len()) else { return false };
        index.push(data.params[counter]);
        let (before, after) = (data.params[k], data.yields[k + 1]);
        let Some(writer) = self.live.def(after).filter(|_| self.live.uses(before) == 1 && self.live.uses(after) == 1)
        else {
            return false;
        };
        if !data.insts.contains(&writer) {
            return false;
        }
        match &func.insts[writer].op {
            Op::Update { array, index: place, value } => *array == before && *value != before && place == index,
            Op::Loop { init, body } => init
                .iter()
                .position(|v| *v == before)
                .is_some_and(|j| func.insts[writer].results[j] == after && self.overwrites(init, *body, j, index)),
            _ => false,
        }
    }

    /// The position of a loop's counter, if that runs through all indices of an axis.
    fn counter(&self, init: &[Value], body: Region, axis: usize) -> Option<usize> {
        let (func, data) = (self.func, &self.func.regions[body]);
        let op = |v: Value| self.live.def(v).map(|inst| &func.insts[inst].op);
        let constant = |v: Value| match op(v) {
            Some(Op::Const(scalar)) => scalar.as_i64(),
            _ => None,
        };
        let Some(Op::Bin(BinOp::Lt, next, end)) = op(*data.yields.first()?) else { return None };
        let counter = data.yields[1..].iter().position(|v| v == next)?;
        let Some(Op::Bin(BinOp::Add, a, b)) = op(*next) else { return None };
        let counts = *a == data.params[counter] && constant(*b) == Some(1) && constant(init[counter]) == Some(0);
        let extent = func.ty(self.array).shape.extents()?.get(axis)?;
        let same = self.frame.get(axis) == Some(end)
            || extent.as_const().is_some_and(|n| constant(*end) == Some(i64::from(n)))
            || matches!(op(*end), Some(Op::Extent { array, axis }) if func.ty(*array).shape.extents().is_some_and(|e| e.get(*axis as usize) == Some(extent)));
        (counts && same).then_some(counter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_source::FileId;

    /// What is found for the first with-loop of a function over `%v: f64[s0]`, `%n: i32` and `%w: f64[8]`.
    fn found(body: &str) -> bool {
        let text = format!(
            "func @f0 \"f\" (%v: f64[s0], %n: i32, %w: f64[8]) -> (f64[8]) {{ %zero: f64 = const 0.0 {body} yield %y }}"
        );
        let module = ravel_wir::parse::parse_module(&text, FileId(0)).unwrap_or_else(|e| panic!("{e}"));
        let func = module.funcs.values().next().expect("the text has a function");
        let (inst, with) = func.regions[func.body]
            .insts
            .iter()
            .find_map(|inst| match &func.insts[*inst].op {
                Op::With(with) => Some((*inst, with)),
                _ => None,
            })
            .expect("the text has a with-loop");
        is_overwritten(func, &Liveness::of(func), func.body, inst, with)
    }

    const FILL: &str = "%x: f64[8] = with { part [0] <= [%j] < [8] { yield 0.5 } } genarray [8] cell []";

    fn counting(first: i32, update: &str, step: i32, end: &str) -> String {
        format!(
            "{FILL} %y: f64[8], %k: i32 = loop (%a: f64[8] = %x, %i: i32 = {first}) {{
               %s: f64 = sel %w, [%i] {update} %m: i32 = add %i, {step} %go: bool = lt %m, {end} yield %go, %b, %m }}"
        )
    }

    #[test]
    fn loops_that_write_every_element_need_none() {
        assert!(found(&counting(0, "%b: f64[8] = update %a, [%i], %s", 1, "8")));
        assert!(found(
            "%x: f64[4,8] = with { part [0, 0] <= [%j, %k] < [4, 8] { yield 0.5 } } genarray [4, 8] cell []
             %z: f64[4,8], %k1: i32 = loop (%a: f64[4,8] = %x, %i: i32 = 0) {
               %b: f64[4,8], %k2: i32 = loop (%c: f64[4,8] = %a, %l: i32 = 0) {
                 %s: f64 = sel %w, [%l] %d: f64[4,8] = update %c, [%i, %l], %s
                 %l1: i32 = add %l, 1 %on: bool = lt %l1, 8 yield %on, %d, %l1 }
               %m: i32 = add %i, 1 %go: bool = lt %m, 4 yield %go, %b, %m }
             %y: f64[8] = sel %z, [2]"
        ));
    }

    #[test]
    fn elements_that_somebody_sees_are_made() {
        let plain = "%b: f64[8] = update %a, [%i], %s";
        // Some elements stay.
        assert!(!found(&counting(1, plain, 1, "8")));
        assert!(!found(&counting(0, plain, 2, "8")));
        assert!(!found(&counting(0, plain, 1, "7")));
        assert!(!found(&counting(0, "%p: i32 = mul %i, 1 %b: f64[8] = update %a, [%p], %s", 1, "8")));
        let branch =
            "%c: bool = gt %s, 0.0 %b: f64[8] = if %c { %u: f64[8] = update %a, [%i], %s yield %u } else { yield %a }";
        assert!(!found(&counting(0, branch, 1, "8")));
        // The loop reads, or somebody else does.
        assert!(!found(&counting(0, "%t: f64 = sel %a, [7] %b: f64[8] = update %a, [%i], %t", 1, "8")));
        let other =
            "%z: f64[8] = with { part [0] <= [%j2] < [8] { %q: f64 = sel %x, [%j2] yield %q } } genarray [8] cell []";
        assert!(!found(&format!("{} {other}", counting(0, plain, 1, "8"))));
        // Only a run would tell how large the array is.
        assert!(!found(&counting(0, plain, 1, "8").replace(FILL, "%x: f64[8] = with { } genarray []")));
        // Making them may fault.
        let checked = counting(0, plain, 1, "8")
            .replace("{ yield 0.5 }", "{ %g: bool = lt %j, %n check %g, index %j, %n, 0 yield 0.5 }");
        assert!(!found(&checked));
    }
}
