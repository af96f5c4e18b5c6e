//! Several looks at one program that share instances: `check` follows `main`, then every function for its declared types.
//!
//! A look finds what it would find alone. It takes an instance of an earlier look only if that one would become the same again: nothing was
//! reported or held back while it was made, and it depended on nothing around the call that led to it but its arguments. With it come the
//! instances that were made inside of it or called from there.
//!
//! What may depend on the surroundings: which functions are active further out (these are not elaborated in place, and their arguments become
//! less known), whether the place is certain to be reached, and whether it is within a version or a copy of a statement. Code that asks for one of
//! these says so: [`Spec::is_active`], [`Spec::note_doubt`], [`Spec::note_version`], [`Spec::note_copies`].

use crate::calls::instance::{Key, MAX_INSTANCES_BY_VALUE};
use crate::spec::{Reported, Spec};
use ravel_core::ir::FunId;
use ravel_types::{HashMap, HashSet};
use std::rc::Rc;

/// What looks share, and which instances are being made.
#[derive(Default)]
pub struct Looks {
    now: u32,
    /// Instances of the looks before.
    earlier: HashMap<Rc<Key>, usize>,
    /// Instances under construction, innermost last.
    building: Vec<Building>,
    /// By function: instances that this look has.
    counts: HashMap<FunId, usize>,
    /// A function has so many instances that values of arguments were forgotten.
    crowded: bool,
}

struct Building {
    index: usize,
    /// Calls that led to it.
    depth: usize,
    /// It is made at a place that may not be reached, in a version, in copies of a statement.
    uncertain: bool,
    in_version: bool,
    in_copies: bool,
    needs: Needs,
    hits: Vec<usize>,
}

/// What the making of an instance depended on, itself or by what was made inside of it.
#[derive(Clone, Copy)]
struct Needs {
    /// The outermost call whose function it asked for.
    call: usize,
    /// The oldest instance it used that is not the same anywhere.
    instance: usize,
    report: bool,
    doubt: bool,
    version: bool,
    copies: bool,
}

impl Needs {
    const NOTHING: Needs =
        Needs { call: usize::MAX, instance: usize::MAX, report: false, doubt: false, version: false, copies: false };

    fn add(&mut self, other: Needs) {
        self.call = self.call.min(other.call);
        self.instance = self.instance.min(other.instance);
        self.report |= other.report;
        self.doubt |= other.doubt;
        self.version |= other.version;
        self.copies |= other.copies;
    }
}

impl Building {
    fn is_same_anywhere(&self) -> bool {
        let needs = self.needs;
        let surroundings = needs.call < self.depth || needs.instance < self.index;
        let place = needs.doubt && self.uncertain || needs.version && self.in_version || needs.copies && self.in_copies;
        !(surroundings || place || needs.report)
    }
}

/// What is known of a finished instance for later looks.
#[derive(Default)]
pub struct History {
    /// The look that has counted it last.
    look: u32,
    /// It would become the same anywhere.
    is_same_anywhere: bool,
    /// Instances up to this number were made inside of it.
    end: usize,
    /// Instances made before it that are called from it.
    hits: Vec<usize>,
}

impl Spec<'_> {
    /// Begins another look; what was reported so far is given back by the caller before.
    pub fn begin_look(&mut self) {
        let earlier = std::mem::take(&mut self.index);
        let can_share = !self.exhausted && !self.looks.crowded;
        self.looks = Looks {
            now: self.looks.now + 1,
            earlier: if can_share { earlier } else { HashMap::default() },
            ..Looks::default()
        };
        if !can_share {
            self.instances.clear();
            self.module.funcs = Default::default();
        }
        self.provisional.clear();
        self.fold_loops.clear();
        self.reported = Reported::default();
        self.recursive_builds = 0;
        self.exhausted = false;
    }

    /// Whether values of arguments are forgotten, for the number of instances of the function.
    pub fn is_crowded(&mut self, fun: FunId) -> bool {
        let is_crowded = self.looks.counts.get(&fun).is_some_and(|n| *n > MAX_INSTANCES_BY_VALUE);
        if is_crowded {
            self.looks.crowded = true;
            self.looks.earlier.clear();
        }
        is_crowded
    }

    /// The instance of a key, of this look or of one before.
    pub fn known_instance(&mut self, key: &Key) -> Option<usize> {
        let Some(index) = self.index.get(key).copied() else { return self.adopt(key) };
        let instance = &self.instances[index];
        let depends = instance.under_construction || !instance.history.is_same_anywhere;
        // What is being made around the instance has it inside.
        if let Some(build) = self.looks.building.last_mut().filter(|build| build.index > index) {
            if depends {
                build.needs.instance = build.needs.instance.min(index);
            }
            if !build.hits.contains(&index) {
                build.hits.push(index);
            }
        }
        Some(index)
    }

    /// Takes over an instance of an earlier look, with all that was made for it.
    fn adopt(&mut self, key: &Key) -> Option<usize> {
        let index = *self.looks.earlier.get(key)?;
        if !self.instances[index].history.is_same_anywhere {
            return None;
        }
        let (mut list, mut seen, mut work) = (Vec::new(), HashSet::default(), vec![index]);
        while let Some(first) = work.pop() {
            if self.instances[first].history.look == self.looks.now {
                continue;
            }
            for i in first..self.instances[first].history.end {
                if seen.insert(i) {
                    list.push(i);
                    work.extend(&self.instances[i].history.hits);
                }
            }
        }
        let mut counts = self.looks.counts.clone();
        for i in &list {
            let instance = &self.instances[*i];
            let count = counts.entry(instance.fun).or_insert(0);
            *count += usize::from(instance.history.look != self.looks.now);
            if *count > MAX_INSTANCES_BY_VALUE {
                return None;
            }
            // This look has made it elsewhere.
            let other = self.index.get(&instance.key).filter(|other| *other != i);
            let is_same = |other: usize| self.instances[other].history.is_same_anywhere;
            if other.is_some_and(|other| !is_same(*other) || !is_same(*i)) {
                return None;
            }
        }
        self.looks.counts = counts;
        list.sort_unstable();
        for i in list {
            let instance = &mut self.instances[i];
            instance.history.look = self.looks.now;
            if self.looks.earlier.get(&instance.key) == Some(&i) {
                self.index.entry(instance.key.clone()).or_insert(i);
            }
        }
        Some(index)
    }

    /// An instance with this number is being made from here on.
    pub fn begin_instance(&mut self, index: usize, fun: FunId) {
        *self.looks.counts.entry(fun).or_insert(0) += 1;
        self.looks.building.push(Building {
            index,
            depth: self.stack.len(),
            uncertain: !self.is_certain(),
            in_version: self.in_version,
            in_copies: self.copies > 1,
            needs: Needs::NOTHING,
            hits: Vec::new(),
        });
    }

    /// The innermost instance is done.
    pub fn end_instance(&mut self) {
        let Some(done) = self.looks.building.pop() else { return };
        self.need(done.needs);
        self.instances[done.index].history = History {
            look: self.looks.now,
            is_same_anywhere: done.is_same_anywhere(),
            end: self.instances.len(),
            hits: done.hits,
        };
    }

    /// What the innermost instance depends on, and with it those around.
    fn need(&mut self, needs: Needs) {
        if let Some(build) = self.looks.building.last_mut() {
            build.needs.add(needs);
        }
    }

    /// Something is reported.
    pub fn note_report(&mut self) {
        self.need(Needs { report: true, ..Needs::NOTHING });
    }

    /// Something would be reported if the place were certain to be reached.
    pub fn note_doubt(&mut self) {
        self.need(Needs { doubt: true, ..Needs::NOTHING });
    }

    /// The outcome depends on being within a version.
    pub fn note_version(&mut self) {
        self.need(Needs { version: true, ..Needs::NOTHING });
    }

    /// The outcome depends on how often the statement is there.
    pub fn note_copies(&mut self) {
        self.need(Needs { copies: true, ..Needs::NOTHING });
    }

    /// Whether a function is being elaborated further out.
    pub fn is_active(&mut self, fun: FunId) -> bool {
        let first = self.stack.iter().position(|site| site.fun == fun);
        if let Some(call) = first {
            self.need(Needs { call, ..Needs::NOTHING });
        }
        first.is_some()
    }

    /// How many activations of a function are being elaborated.
    pub fn active(&mut self, fun: FunId) -> usize {
        if self.is_active(fun) { self.stack.iter().filter(|site| site.fun == fun).count() } else { 0 }
    }
}
