//! Which arrays move between host and device, and when, in words: `--explain` shows them.
//!
//! ```text
//!    loop (%a = %x) { %b = with (on the device) reads %a    yield .., %b }   %s = sel %b', [0]
//! => operand: made by the host at 3:5; sent once, before the first iteration of the loop at 4:3
//!    result: stays on the device for 5:9; stays there across the loop at 4:3; single elements are fetched for 7:1
//! ```
//!
//! Values that can be one object at run time (what a loop carries, what branches yield) are one *class*. Every class has makers and readers, on
//! the host or on the device. Nothing is decided here: the runtime moves an array when the other side asks for it and it is not there.

use std::collections::{BTreeMap, BTreeSet};

use ravel_source::Span;
use ravel_types::{Elem, HashMap, HashSet};
use ravel_wir::{Func, Inst, Op, Region, Value};

use crate::facts::any_op;

/// Places that are listed; of more only the first ones.
const MOST_PLACES: usize = 3;

/// Who makes and who reads the arrays of one class.
#[derive(Default)]
struct Class {
    made_on_device: BTreeSet<Inst>,
    /// Instructions of the host, with the loops around them.
    made_on_host: BTreeSet<Inst>,
    /// Arguments of the function.
    given: bool,
    read_on_device: BTreeSet<Inst>,
    /// Whole arrays.
    read_on_host: BTreeSet<Inst>,
    elements_on_host: BTreeSet<Inst>,
    changed_on_host: BTreeSet<Inst>,
    /// Loops that carry it.
    carried: BTreeSet<Inst>,
    returned: bool,
}

struct Transfers<'a> {
    func: &'a Func,
    placed: &'a HashSet<Inst>,
    parent: HashMap<Value, Value>,
    classes: BTreeMap<Value, Class>,
    /// The loops around each instruction of the host, innermost last.
    loops: HashMap<Inst, Vec<Inst>>,
    /// The instructions of the host in the order of the program.
    order: HashMap<Inst, usize>,
    /// Placed with-loops with the arrays that they read, in the order of the program.
    launches: Vec<(Inst, Vec<Value>)>,
}

/// What is to be said of the arrays of every with-loop in `placed`, those that may run on the device. `place` names a place of the source.
pub(crate) fn transfers(func: &Func, placed: &HashSet<Inst>, place: &dyn Fn(Span) -> String) -> Vec<(Inst, String)> {
    if placed.is_empty() {
        return Vec::new();
    }
    let mut all = Transfers {
        func,
        placed,
        parent: HashMap::default(),
        classes: BTreeMap::new(),
        loops: HashMap::default(),
        order: HashMap::default(),
        launches: Vec::new(),
    };
    all.join(func.body);
    for &param in func.params() {
        all.class(param, |class| class.given = true);
    }
    all.visit(func.body, &mut Vec::new());
    for &v in func.results() {
        all.class(v, |class| class.returned = true);
    }
    let mut said = Vec::new();
    for (inst, reads) in std::mem::take(&mut all.launches) {
        let own = place(func.insts[inst].span);
        let near = |of: Inst| nearby(&place(func.insts[of].span), &own);
        for v in reads {
            said.extend(all.sent(inst, v, &near).map(|text| (inst, text)));
        }
        for &v in &func.insts[inst].results {
            said.extend(all.kept(inst, v, &near).map(|text| (inst, text)));
        }
    }
    said
}

/// A place without the name of the file if that is the same as that of `own`.
fn nearby(place: &str, own: &str) -> String {
    let place = place.split(" in ").next().unwrap_or(place);
    let own = own.split(" in ").next().unwrap_or(own);
    let file = |text: &str| text.rsplitn(3, ':').nth(2).map(str::to_string);
    match (file(place), file(own)) {
        (Some(a), Some(b)) if a == b => place[a.len() + 1..].to_string(),
        _ if place.is_empty() => "code without a place".to_string(),
        _ => place.to_string(),
    }
}

impl Transfers<'_> {
    fn is_array(&self, v: Value) -> bool {
        let ty = self.func.ty(v);
        !ty.is_scalar() && ty.elem != Elem::Handle
    }

    fn root(&self, mut v: Value) -> Value {
        while let Some(&next) = self.parent.get(&v) {
            v = next;
        }
        v
    }

    fn unite(&mut self, a: Value, b: Value) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parent.insert(b, a);
        }
    }

    fn class(&mut self, v: Value, change: impl FnOnce(&mut Class)) {
        if self.is_array(v) {
            let root = self.root(v);
            change(self.classes.entry(root).or_default());
        }
    }

    /// Puts what can be one object into one class.
    fn join(&mut self, region: Region) {
        let func = self.func;
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            match &data.op {
                Op::Loop { init, body } => {
                    let inner = &func.regions[*body];
                    for (k, &v) in init.iter().enumerate() {
                        self.unite(v, inner.params[k]);
                        self.unite(v, inner.yields[k + 1]);
                        self.unite(v, data.results[k]);
                    }
                    self.join(*body);
                }
                Op::If { then, els, .. } => {
                    for (k, &v) in data.results.iter().enumerate() {
                        self.unite(v, func.regions[*then].yields[k]);
                        self.unite(v, func.regions[*els].yields[k]);
                    }
                    self.join(*then);
                    self.join(*els);
                }
                Op::Opaque(v)
                | Op::Widen(v)
                | Op::Narrow(v)
                | Op::Reshape { array: v, .. }
                | Op::ReshapeDyn { array: v, .. } => self.unite(*v, data.results[0]),
                Op::Update { array, .. } | Op::UpdateDyn { array, .. } => self.unite(*array, data.results[0]),
                Op::Select { then, els, .. } => {
                    self.unite(*then, data.results[0]);
                    self.unite(*els, data.results[0]);
                }
                _ => {}
            }
        }
    }

    fn visit(&mut self, region: Region, around: &mut Vec<Inst>) {
        let func = self.func;
        for &inst in &func.regions[region].insts {
            let data = &func.insts[inst];
            self.loops.insert(inst, around.clone());
            self.order.insert(inst, self.order.len());
            match &data.op {
                Op::With(_) => self.with_loop(inst),
                Op::Loop { body, .. } => {
                    for &v in &func.regions[*body].params {
                        self.class(v, |class| _ = class.carried.insert(inst));
                    }
                    around.push(inst);
                    self.visit(*body, around);
                    around.pop();
                }
                Op::If { then, els, .. } => {
                    self.visit(*then, around);
                    self.visit(*els, around);
                }
                // A loop without launches fetches whole arrays before it starts.
                Op::Sel { array, .. }
                    if !data.results.iter().any(|v| self.is_array(*v))
                        && around.last().is_none_or(|looped| self.has_with_loop(*looped)) =>
                {
                    self.class(*array, |class| _ = class.elements_on_host.insert(inst));
                }
                Op::Update { array, value, .. } => {
                    self.class(*array, |class| _ = class.changed_on_host.insert(inst));
                    self.class(*value, |class| _ = class.read_on_host.insert(inst));
                }
                Op::UpdateDyn { array, .. } => self.class(*array, |class| _ = class.changed_on_host.insert(inst)),
                // These look at the shape alone, or hand the object on.
                Op::Extent { .. }
                | Op::Rank(_)
                | Op::ShapeVec(_)
                | Op::Opaque(_)
                | Op::Widen(_)
                | Op::Narrow(_)
                | Op::Reshape { .. }
                | Op::ReshapeDyn { .. }
                | Op::Select { .. }
                | Op::Check { .. } => {}
                // Arrays go to functions as they are, wherever that is.
                Op::Call { .. } => {
                    for &v in &data.results {
                        self.class(v, |class| class.given = true);
                    }
                }
                op => {
                    op.for_each_operand(|v| self.class(v, |class| _ = class.read_on_host.insert(inst)));
                    for &v in &data.results {
                        self.class(v, |class| _ = class.made_on_host.insert(inst));
                    }
                }
            }
        }
    }

    fn with_loop(&mut self, inst: Inst) {
        let func = self.func;
        let on_device = self.placed.contains(&inst);
        let mut reads: Vec<Value> = Vec::new();
        for region in func.insts[inst].op.regions() {
            for v in ravel_wir::traverse::free_values(func, region) {
                if self.is_array(v) && !reads.iter().any(|w| self.root(*w) == self.root(v)) {
                    reads.push(v);
                }
            }
        }
        for &v in &reads {
            self.class(v, |class| {
                _ = if on_device { class.read_on_device.insert(inst) } else { class.read_on_host.insert(inst) }
            });
        }
        for &v in &func.insts[inst].results {
            self.class(v, |class| {
                _ = if on_device { class.made_on_device.insert(inst) } else { class.made_on_host.insert(inst) }
            });
        }
        if on_device {
            self.launches.push((inst, reads));
        }
    }

    /// The part of an array in a with-loop that reads it: nothing if it is on the device anyway.
    fn sent(&self, inst: Inst, v: Value, near: &dyn Fn(Inst) -> String) -> Option<String> {
        let class = self.classes.get(&self.root(v))?;
        let from_host: BTreeSet<Inst> = class
            .made_on_host
            .union(&class.changed_on_host)
            .copied()
            .filter(|made| self.reaches(*made, inst))
            .collect();
        if from_host.is_empty() {
            return class.given.then(|| {
                "operand: an argument; sent if the host has made it, and then it stays on the device".to_string()
            });
        }
        let around = &self.loops[&inst];
        // Is it made anew in an iteration of the innermost loop?
        let again = around.last().is_some_and(|inner| from_host.iter().any(|made| self.loops[made].contains(inner)));
        let when = match around.last() {
            Some(inner) if again => format!("sent in every iteration of the loop at {}", near(*inner)),
            Some(_) => format!(
                "sent once, before the first iteration of the loop at {}",
                near(around[self.first_without(around, &from_host)])
            ),
            None => "sent".to_string(),
        };
        Some(format!("operand: made by the host at {}; {when}", listed(&from_host, near)))
    }

    /// Whether one instruction can run before another one.
    fn reaches(&self, from: Inst, to: Inst) -> bool {
        self.order[&from] < self.order[&to] || self.loops[&from].iter().any(|looped| self.loops[&to].contains(looped))
    }

    /// The outermost of the loops around a with-loop in which none of these are.
    fn first_without(&self, around: &[Inst], made: &BTreeSet<Inst>) -> usize {
        around.iter().position(|outer| !made.iter().any(|inst| self.loops[inst].contains(outer))).unwrap_or(0)
    }

    fn has_with_loop(&self, looped: Inst) -> bool {
        let bodies = self.func.insts[looped].op.regions();
        bodies.into_iter().any(|body| any_op(self.func, body, |op| matches!(op, Op::With(_))))
    }

    /// What becomes of an array that the device makes.
    fn kept(&self, maker: Inst, v: Value, near: &dyn Fn(Inst) -> String) -> Option<String> {
        let class = self.classes.get(&self.root(v))?;
        let mut parts = Vec::new();
        let later = |of: &BTreeSet<Inst>| -> BTreeSet<Inst> {
            of.iter().copied().filter(|inst| self.reaches(maker, *inst)).collect()
        };
        let on_device = later(&class.read_on_device);
        if !on_device.is_empty() {
            parts.push(format!("stays on the device for {}", listed(&on_device, near)));
        }
        let (elements, whole, changed) =
            (later(&class.elements_on_host), later(&class.read_on_host), later(&class.changed_on_host));
        let in_loop = |of: &BTreeSet<Inst>, looped: Inst| of.iter().any(|inst| self.loops[inst].contains(&looped));
        let stays = |looped: &Inst| {
            let fetched = in_loop(&class.read_on_host, *looped) || in_loop(&class.changed_on_host, *looped);
            in_loop(&class.made_on_device, *looped) && !fetched
        };
        let across: BTreeSet<Inst> = class.carried.iter().copied().filter(stays).collect();
        if !across.is_empty() {
            parts.push(format!("stays there across the loop at {}", listed(&across, near)));
        }
        if !elements.is_empty() {
            parts.push(format!("single elements are fetched for {}", listed(&elements, near)));
        }
        if !whole.is_empty() {
            parts.push(format!("fetched for {}", listed(&whole, near)));
        }
        if !changed.is_empty() {
            parts.push(format!("fetched where the host changes it, at {}", listed(&changed, near)));
        }
        if class.returned && whole.is_empty() && changed.is_empty() {
            parts.push("goes to the caller as it is".to_string());
        }
        (!parts.is_empty()).then(|| format!("result: {}", parts.join("; ")))
    }
}

fn listed(insts: &BTreeSet<Inst>, near: &dyn Fn(Inst) -> String) -> String {
    let mut places: Vec<String> = Vec::new();
    for &inst in insts {
        let place = near(inst);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let more = places.len().saturating_sub(MOST_PLACES);
    places.truncate(MOST_PLACES);
    let text = places.join(", ");
    if more > 0 { format!("{text} and {more} more places") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ravel_source::FileId;

    /// What is said if all with-loops with scalar cells may run on the device but those that mention `host`, a number: lines are places.
    fn said(body: &str) -> Vec<String> {
        let text = format!("func @f0 \"f\" (%x: i32[9], %n: i32) -> (i32[9]) {{\n{body}\n}}");
        let module = ravel_wir::parse::parse_module(&text, FileId(0)).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let func = module.funcs.values().next().expect("the text has a function");
        let line = |span: Span| text[..span.start as usize].matches('\n').count() + 1;
        let place = |span: Span| format!("t:{}:1 in f", line(span));
        let mut placed = HashSet::default();
        ravel_wir::traverse::walk(func, func.body, &mut |_, inst| {
            let host =
                text[func.insts[inst].span.start as usize..].split('\n').next().is_some_and(|l| l.contains("host"));
            if matches!(func.insts[inst].op, Op::With(_)) && !host {
                placed.insert(inst);
            }
        });
        transfers(func, &placed, &place).into_iter().map(|(_, text)| text).collect()
    }

    fn plus_one(to: &str, from: &str) -> String {
        format!(
            "%{to}: i32[9] = with {{ part [0] <= [%i{to}] < [9] {{ %a{to}: i32 = sel %{from}, [%i{to}] %b{to}: i32 = add %a{to}, 1 yield %b{to} }} }} genarray [9] cell [] default 0"
        )
    }

    #[test]
    fn arrays_stay_between_kernels() {
        let said = said(&format!("{}\n{}\n%s: i32 = sel %c, [0]\nyield %c", plus_one("b", "x"), plus_one("c", "b")));
        assert!(said[0].starts_with("operand: an argument"), "{said:?}");
        assert_eq!(said[1], "result: stays on the device for 3:1");
        assert_eq!(said[2], "result: single elements are fetched for 4:1; goes to the caller as it is");
    }

    #[test]
    fn a_loop_keeps_what_it_carries_on_the_device() {
        let body = format!(
            "%h: i32[9] = array [%n, %n, %n, %n, %n, %n, %n, %n, %n]\n%r: i32[9], %m: i32 = loop (%v: i32[9] = %h, %k: i32 = 0) {{\n{}\n%k1: i32 = add %k, 1 %go: bool = lt %k1, 9\nyield %go, %w, %k1 }}\nyield %r",
            plus_one("w", "v")
        );
        let said = said(&body);
        assert_eq!(
            said[0],
            "operand: made by the host at 2:1; sent once, before the first iteration of the loop at 3:1"
        );
        assert_eq!(
            said[1],
            "result: stays on the device for 4:1; stays there across the loop at 3:1; goes to the caller as it is"
        );
    }

    #[test]
    fn what_the_host_changes_moves_in_every_round() {
        let body = format!(
            "%r: i32[9], %m: i32 = loop (%v: i32[9] = %x, %k: i32 = 0) {{\n%u: i32[9] = update %v, [%k], 7\n{}\n%k1: i32 = add %k, 1 %go: bool = lt %k1, 9\nyield %go, %w, %k1 }}\nyield %r",
            plus_one("w", "u")
        );
        let said = said(&body);
        assert_eq!(said[0], "operand: made by the host at 3:1; sent in every iteration of the loop at 2:1");
        assert!(
            said[1].contains("fetched where the host changes it, at 3:1") && !said[1].contains("across"),
            "{said:?}"
        );
    }
}
