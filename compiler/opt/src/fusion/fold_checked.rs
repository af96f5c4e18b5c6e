//! Folding of with-loops whose bodies hold checks: their only consumer takes the checks over.
//!
//! ```text
//!    b = { [i] -> check(0 <= p[i] < n); a[p[i]] }   c = { [i] -> 2 * b[i] }
//! => c = { [i] -> check(0 <= p[i] < n); 2 * a[p[i]] }
//! ```
//!
//! Every check of the producer must be made exactly as before, once per index. That is so if one with-loop reads the producer's cells, each at its
//! own index, wherever it is itself, over the same index set or over the whole array where the producer leaves defaults, and nobody else needs
//! them. Lines of `Debug::trace` move in the same way. Then the producer goes, and nothing that can be seen from
//! outside may stand between the two: a fault would come after it. Consumers with much work stay without checks, which can keep it from
//! running in vectors.

use crate::edit::{Defs, any_inst, drop_inst, with_of};
use crate::facts::{Places, Use, cost_of_yield, covers_frame, region_has_effect, same_int};
use crate::pass::Context;
use ravel_wir::traverse::has_effect;
use ravel_wir::{Frame, Func, Generator, Inst, Op, Region, Value, WithOp};

/// Most operations of a consumer that takes checks over.
const MOST_WORK: f64 = 4.0;

/// Whether all that can be observed of a region are failing checks.
pub fn only_checks(func: &Func, region: Region, cx: &Context) -> bool {
    only_checks_and(func, region, cx, |_| false)
}

/// The same, but for operations that are allowed beside checks.
fn only_checks_and(func: &Func, region: Region, cx: &Context, allowed: impl Fn(&Op) -> bool) -> bool {
    !any_inst(func, region, |inst| match &func.insts[inst].op {
        Op::Check { .. } => false,
        Op::With(with) => with.ordered,
        Op::Call { func: callee, .. } => cx.has_effects(*callee),
        op => op.is_anchored() && !allowed(op),
    })
}

/// Whether the only consumer of a with-loop can take over its checks.
pub fn moves_with_its_checks(func: &Func, places: &Places, defs: &Defs, producer: Inst, cx: &Context) -> bool {
    consumer_of(func, places, defs, producer, cx).is_some()
}

fn consumer_of(func: &Func, places: &Places, defs: &Defs, producer: Inst, cx: &Context) -> Option<Inst> {
    let with = with_of(func, producer)?;
    let ([part], [WithOp::Genarray { frame: Frame::Known(frame), .. }], &[result]) =
        (&with.parts[..], &with.ops[..], &func.insts[producer].results[..])
    else {
        return None;
    };
    if with.ordered || !only_checks_and(func, part.body, cx, Op::is_trace) {
        return None;
    }
    let mut body: Option<Region> = None;
    for u in places.uses(result) {
        let Use::Operand(inst) = u else { return None };
        let Op::Sel { array, index } = &func.insts[*inst].op else { return None };
        let region = places.home(*inst)?;
        let own =
            *array == result && index.len() >= frame.len() && index[..frame.len()] == func.regions[region].params[..];
        if !own || body.is_some_and(|body| body != region) {
            return None;
        }
        body = Some(region);
    }
    let body = body?;
    let consumer = places.owner_of(body)?;
    let other = with_of(func, consumer)?;
    let [theirs] = &other.parts[..] else { return None };
    let may_stop = other.ops.iter().any(|op| matches!(op, WithOp::Fold { stop: Some(_), .. }));
    // Partitions lie within their frame, so that who reads all of it meets every index once.
    let meets_all = covers_frame(func, defs, theirs, frame)
        || covers_frame(func, defs, part, frame) && same_box(func, defs, &part.generator, &theirs.generator);
    if theirs.body != body || other.ordered || may_stop || !meets_all {
        return None;
    }
    let yields = &func.regions[body].yields;
    if yields.iter().any(|v| cost_of_yield(func, defs, body, *v).arithmetic > MOST_WORK) {
        return None;
    }
    let home = places.home(producer)?;
    let insts = &func.regions[home].insts;
    let at = |inst: Inst| insts.iter().position(|i| *i == inst);
    let between = &insts[at(producer)? + 1..at(consumer)?];
    let hidden = |i: &Inst| {
        let op = &func.insts[*i].op;
        matches!(op, Op::Check { .. }) || op.is_trace() || !has_effect(&|f| cx.has_effects(f), func, *i)
    };
    between.iter().all(hidden).then_some(consumer)
}

fn same_box(func: &Func, defs: &Defs, a: &Generator, b: &Generator) -> bool {
    let same =
        |x: &[Value], y: &[Value]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_int(func, defs, *x, *y));
    match (a, b) {
        (
            Generator::Known { lower: l, upper: u, step: None, .. },
            Generator::Known { lower: l2, upper: u2, step: None, .. },
        ) => same(l, l2) && same(u, u2),
        _ => false,
    }
}

/// Takes a with-loop whose checks are made elsewhere out of the function.
pub fn take_out(func: &mut Func, places: &Places, producer: Inst) {
    if let Some(home) = places.home(producer) {
        drop_inst(func, home, producer);
    }
}

/// Whether a with-loop has checks, or other things that can be observed.
pub fn is_checked(func: &Func, producer: Inst, cx: &Context) -> bool {
    with_of(func, producer).is_some_and(|with| with.parts.iter().any(|p| region_has_effect(func, p.body, cx)))
}
